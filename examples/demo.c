/* demo: well- and ill-behaved children, each in a box, and what the host learns about them.
   Compile: cc -o demo demo.c     (or: make demo)
   Prints a table, in colour on a terminal (unless NO_COLOR is set) and plain into a pipe, and in
   the end what is left of it all in the host. The worst children are this same program, started
   again with the name of a misbehaviour; each of them ends by itself within seconds. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KB 1024LL
#define MB (1024 * KB)

/* ---- the misbehaviours, in the child --------------------------------------------------------- */

static void be_segfault(void) {
    int *volatile nowhere = NULL;
    *(volatile int *)nowhere = 1;
}

static void be_stubborn(void) {
    int s;
    for (s = 1; s < 32; s++) signal(s, SIG_IGN);
    signal(SIGALRM, SIG_DFL);
    for (;;) pause();
}

static void be_burner(void) {
    volatile unsigned n = 0;
    if (fork() == 0) alarm(10); /* alarms are not inherited */
    for (;;) n++;
}

static void be_hungry(void) {
    int i;
    for (i = 0; i < 1024; i++) {
        char *piece = malloc(1 << 20);
        if (piece == NULL) abort();
        memset(piece, 1, 1 << 20);
    }
}

/* Leaves session, process group and parent, and lives while the host reads its stderr. */
static void be_daemon(void) {
    pid_t first = fork();
    if (first != 0) {
        waitpid(first, NULL, 0); /* until the daemon is on its own */
        return;
    }
    setsid();
    if (fork() != 0) _exit(0);
    alarm(10);
    while (write(2, ".", 1) == 1) usleep(20000);
}

static const struct {
    const char *name;
    void (*be)(void);
} behaviours[] = {
    {"segfault", be_segfault}, {"stubborn", be_stubborn}, {"burner", be_burner},
    {"hungry", be_hungry},     {"daemon", be_daemon},
};

static int misbehave(const char *name) {
    size_t i;
    alarm(10); /* even if nobody stops it */
    for (i = 0; i < sizeof(behaviours) / sizeof(behaviours[0]); i++)
        if (strcmp(behaviours[i].name, name) == 0) behaviours[i].be();
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

enum { WHAT = 21, VERDICT = 12, TIME = 8, MEMORY = 8, OUTPUT = 24, WIDTH = 79 };
static int colour;

static const char *paint(const char *code) { return colour ? code : ""; }

static const char *verdict_colour(sbx_verdict v) {
    if (v == SBX_OK) return paint("\033[32m"); /* green: well */
    if (v == SBX_EXITED || v == SBX_CRASHED || v == SBX_NO_RESULT)
        return paint("\033[33m"); /* yellow: its own fault */
    if (v == SBX_CANCELLED || v == SBX_NOT_STARTED || v == SBX_LOST)
        return paint("\033[36m"); /* cyan: the host's doing */
    return paint("\033[31m"); /* red: a limit */
}

/* How much of the text fits, cut at a space if it has to be cut. */
static int fit(const char *text, int width) {
    int n = (int)strlen(text), cut = width;
    if (n <= width) return n;
    while (cut > 0 && text[cut] != ' ') cut--;
    return cut > 0 ? cut : width;
}

static void format_time(char *to, size_t size, long long us) {
    if (us < 1000000) snprintf(to, size, "%.1f ms", (double)us / 1000);
    else snprintf(to, size, "%.2f s", (double)us / 1000000);
}

static void format_memory(char *to, size_t size, long long bytes) {
    if (bytes < 0) snprintf(to, size, "-");
    else snprintf(to, size, "%.1f MB", (double)bytes / (double)MB);
}

/* The first bytes of stdout, or else of stderr, as one line that a terminal can take. */
static void format_output(char *to, const sbx_result *r) {
    const sbx_output *o = r->out.size ? &r->out : &r->err;
    size_t size = o->size, n, i;

    while (size > 0 && (o->data[size - 1] == '\n' || o->data[size - 1] == ' ')) size--;
    n = sbx_utf8_prefix(o->data, size, size <= OUTPUT ? OUTPUT : OUTPUT - 2);
    for (i = 0; i < n; i++)
        to[i] = (unsigned char)o->data[i] < ' ' || o->data[i] == 127 ? ' ' : o->data[i];
    strcpy(to + n, size > n ? ".." : "");
}

static void print_head(void) {
    int i;
    printf("%s%-*s %-*s %*s %*s  %-*s%s\n", paint("\033[1;4m"), WHAT, "program", VERDICT, "verdict",
           TIME, "time", MEMORY, "memory", colour ? OUTPUT : 0, "output", paint("\033[0m"));
    for (i = 0; i < WIDTH && !colour; i++) putchar('-');
    if (!colour) putchar('\n');
}

/* What it was and how it went; below, in one sentence or two lines, why. */
static void print_row(const char *what, const sbx_result *r) {
    char took[32], memory[32], output[OUTPUT + 8];
    const char *why = r->message;

    format_time(took, sizeof took, r->wall_us);
    format_memory(memory, sizeof memory, r->peak_bytes);
    format_output(output, r);
    printf("%s%-*s %s%-*s%s %*s %*s", paint("\r\033[K"), WHAT, what, verdict_colour(r->verdict),
           VERDICT, sbx_verdict_name(r->verdict), paint("\033[0m"), TIME, took, MEMORY, memory);
    printf(*output ? "  %s\n" : "\n", output);
    while (*why) {
        int n = fit(why, WIDTH - 4);
        printf("    %s%.*s%s\n", paint("\033[2m"), n, why, paint("\033[0m"));
        why += n + (why[n] == ' ');
    }
}

/* ---- the children ---------------------------------------------------------------------------- */

static int stop_at_once(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)user, (void)stream, (void)data, (void)size;
    return 1;
}

static int divide(void *arg, void *ret, size_t ret_size) {
    int *numbers = arg;
    (void)ret_size;
    if (numbers[1] == 0) sbx_fail("%d cannot be divided by %d", numbers[0], numbers[1]);
    *(int *)ret = numbers[0] / numbers[1];
    return 0;
}

typedef struct child {
    const char *what;
    const char *behaviour; /* of this program; NULL = as the config says */
    sbx_fn fn; /* or a function of this program */
    const char *language; /* or source text: */
    const char *code;
    sbx_config config;
} child;

static void run(const child *c, const char *self) {
    const char *argv[] = {self, "--be", c->behaviour, NULL};
    int numbers[] = {42, 0}, quotient;
    sbx_config config = c->config;
    sbx_result result;

    if (colour) {
        printf("%-*s %srunning%s", WHAT, c->what, paint("\033[2m"), paint("\033[0m"));
        fflush(stdout);
    }
    if (c->code != NULL) {
        sbx_run_code(&config, c->language, c->code, strlen(c->code), &result);
    } else if (c->fn != NULL) {
        sbx_call(&config, c->fn, numbers, &quotient, sizeof quotient, &result);
    } else {
        if (c->behaviour != NULL) config.argv = argv;
        sbx_run(&config, &result);
    }
    print_row(c->what, &result);
    fflush(stdout);
    sbx_free(&result);
}

static void run_all(const char *self, int disk, int leash) {
    const char *hello[] = {"echo", "hello, world", NULL};
    const char *sort[] = {"sort", NULL};
    const char *nap[] = {"sleep", "60", NULL};
    const char *yes[] = {"yes", NULL};
    const char *missing[] = {"no-such-program", NULL};
    const char *chatty = "awk 'BEGIN { while (n < 1e5) print n++ }'";
    const char *c_text = "#include <stdio.h>\n"
                         "int main(void) { puts(\"hello from C\"); return 0; }\n";
    const sbx_policy strict = {.no_system = 0}, deadly = {.kill_on_denied = 1};
    const char *waits = "echo wait for me; sleep 60";
    const char *fruit = "pear\nfig\napple\n";
    const child children[] = {
        {"says hello", .config = {.argv = hello}},
        {"sorts its input", .config = {.argv = sort, .input = fruit, .input_size = strlen(fruit)}},
        {"talks too much, cut",
         .config = {.command = chatty, .truncate_output = 1, .output_bytes = 4 * KB}},
        {"leaves one behind", .config = {.command = "sleep 60 & echo I am done"}},
        {"fails", .config = {.command = "echo no such luck >&2; exit 3"}},
        {"writes to address 0", .behaviour = "segfault"},
        {"sleeps a minute", .config = {.argv = nap, .timeout_ms = 500}},
        {"ignores every signal", "stubborn", .config = {.timeout_ms = 500, .grace_ms = 300}},
        {"burns CPU, twice", "burner", .config = {.cpu_ms = 600}},
        {"eats memory", "hungry", .config = {.memory_bytes = 64 * MB}},
        {"floods stdout", .config = {.argv = yes, .output_bytes = 64 * KB}},
        {"fills the disk",
         .config = {.argv = yes, .out = SBX_FD, .out_fd = disk, .file_bytes = MB}},
        {"is no longer wanted", .config = {.command = waits, .on_output = stop_at_once}},
        {"is not there", .config = {.argv = missing}},
        {"C function: 42 / 0", .fn = divide},
        {"C source text", .language = "c", .code = c_text},
        {"C with an error", .language = "c", .code = "int main(void) { return oops; }"},
        {"policy: a spy", .config = {.command = "cat /etc/shadow", .policy = &strict}},
        {"policy: mounts", .config = {.command = "mount -t tmpfs x /mnt", .policy = &deadly}},
        {"becomes a daemon", "daemon", .config = {.err = SBX_FD, .err_fd = leash}},
    };
    size_t i;

    print_head();
    for (i = 0; i < sizeof(children) / sizeof(children[0]); i++) run(&children[i], self);
}

/* ---- what is left ---------------------------------------------------------------------------- */

static int open_descriptors(void) {
    int fd, n = 0;
    for (fd = 0; fd < 1024; fd++) n += fcntl(fd, F_GETFD) != -1;
    return n;
}

/* The daemon holds the pipe's other end, so the end of file tells that nobody is left. */
static int daemon_lives(int leash) {
    struct pollfd p = {leash, POLLIN, 0};
    char dots[256];
    int tries;
    for (tries = 0; tries < 20 && poll(&p, 1, 100) > 0; tries++)
        if (read(leash, dots, sizeof dots) == 0) return 0;
    return 1;
}

int main(int argc, char **argv) {
    const char *no_colour = getenv("NO_COLOR");
    time_t start = time(NULL);
    int leash[2], before, after;
    FILE *disk;

    if (argc == 3 && strcmp(argv[1], "--be") == 0) return misbehave(argv[2]);
    disk = tmpfile();
    if (disk == NULL || pipe(leash) != 0) {
        perror("demo");
        return 1;
    }
    colour = isatty(1) && (no_colour == NULL || *no_colour == '\0');
    before = open_descriptors();
    run_all(argv[0], fileno(disk), leash[1]);
    after = open_descriptors();
    close(leash[1]);
    printf("\nThe host after %d s: ", (int)(time(NULL) - start));
    printf("%s, ", waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? "no child left"
                                                                       : "A CHILD IS LEFT");
    printf("%d descriptors open as before%s,\n", before, after == before ? "" : ": NO");
    printf("%s.\n", daemon_lives(leash[0])
                        ? "but the daemon got away (a process group cannot hold it)"
                        : "and the daemon is gone too");
    close(leash[0]); /* if it lives, this ends it: its next write fails */
    fclose(disk);
    return 0;
}
