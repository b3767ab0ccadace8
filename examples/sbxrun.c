/* sbxrun: a command that runs another one under limits and says why it ended.
   Compile: cc -o sbxrun sbxrun.c          (or: make install)
   Prints what the program prints, as it comes; `sbxrun --help` tells the rest. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
static const char help[] =
"sbxrun " SBX_VERSION ": runs a program under limits, and says why it ended\n"
"\n"
"Usage: sbxrun [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
"       sbxrun [OPTION...] --code LANGUAGE FILE [--] [ARGUMENT...]\n"
"\n"
"Limits (only those that you give; \"none\" takes one back)\n"
"  --timeout TIME      seconds on the clock: 2s, 500ms, 1.5m, 1h; 5 is 5s\n"
"  --grace TIME        time to clean up, from SIGTERM to SIGKILL (3s); 0 is none\n"
"  --cpu TIME          CPU time of all its processes together\n"
"  --memory SIZE       memory of all its processes together: 64M, 1.5G, 500K\n"
"  --output SIZE       bytes written to stdout and stderr together\n"
"  --file-size SIZE    size of any file that it writes\n"
"  --files N           open files of each process; one more cannot be opened\n"
"  --processes N       processes and threads at the same time; one more cannot be\n"
"                      started (root: only with --user)\n"
"\n"
"What it may touch (Linux)\n"
"  --policy            it sees the system's programs and libraries, and an empty\n"
"                      /tmp of its own: no files of yours, no network\n"
"  --read DIR          the same, and it can read what is in DIR (. is this one)\n"
"  --write DIR         the same, and it can read and write what is in DIR\n"
"  --network           the same, and it can use the network\n"
"\n"
"How it runs\n"
"  --env NAME=VALUE    set a variable; NAME alone copies it. Others are not set,\n"
"                      but for PATH. Of two with the same name the last counts\n"
"  --inherit-env       copy all variables\n"
"  --cwd DIR           start in this directory\n"
"  --user NAME         as this user, or USER:GROUP, or numbers; only for root\n"
"  --code LANG FILE    compile and run this source text (- is stdin): c, c++, go,\n"
"                      java, javascript, python, rust, sh, ...\n"
"\n"
"What sbxrun prints\n"
"  --stats             a line on stderr at the end: verdict, time, memory, output\n"
"  --json              only the result, as a line of JSON on stdout; what the\n"
"                      program wrote is in it: without --output, of more than\n"
"                      1 MiB the first half and the last half of a MiB\n"
"  --json=FILE         the result into a file; output is passed on as usual\n"
"  --quiet             sbxrun itself prints nothing, unless an option is wrong or\n"
"                      the JSON cannot be written\n"
"  --direct            the program gets this terminal (and TERM), not a pipe:\n"
"                      for colours and editors. Not with --output or --json.\n"
"                      It cannot open /dev/tty, as programs do to ask for a\n"
"                      password\n"
"  --help, --version\n"
"\n";

static const char more_help[] = /* apart, for C99 promises 4095 characters */
"Output is passed on as it comes. If the program exits by itself, sbxrun says\n"
"nothing; otherwise a line on stderr says what happened. On a terminal a status\n"
"line shows time, CPU, memory and output of a program that runs for longer than a\n"
"second. Ctrl-C, SIGTERM and SIGHUP stop the program; a second one kills it.\n"
"However it ends, the processes that it started end with it.\n"
"\n"
"In the background, with & in a shell, the program does not get the terminal as\n"
"its stdin, but /dev/null. Ctrl-Z stops it too; its time limit goes on. If it has\n"
"the terminal, it goes on when it is in the foreground again (fg), not before.\n"
"\n"
"Exit status, as that of timeout(1):\n"
"  124    a limit was passed: see the line on stderr. (--files and --processes\n"
"         make calls fail; what comes of it is up to the program)\n"
"  125    sbxrun could not do what was asked for, and says why: nothing ran, or\n"
"         the output or the JSON could not be written (a full disk, say)\n"
"  126    the program cannot be executed, or the source text does not compile\n"
"  127    there is no such program\n"
"  128+N  signal N ended the program, or made sbxrun stop it. 141 (SIGPIPE) also\n"
"         if nobody reads the output any more\n"
"  else   the program's own\n"
"\n"
"Examples\n"
"  sbxrun --timeout 2s -- sleep 60\n"
"  sbxrun --memory 64M --cpu 10s --stats -- sort /etc/passwd\n"
"  sbxrun --output 10K --timeout 5s -- yes\n"
"  sbxrun --policy -- sh -c 'echo hello >/etc/motd; ls /home'\n"
"  sbxrun --json --timeout 1s -- echo hello | cut -c 1-40\n"
"  echo 'print(6 * 7)' | sbxrun --timeout 10s --code python -\n"
"  seq 8 | xargs -P 4 -I {} sbxrun --timeout 9s -- sh -c 'echo $((2 * {}))'\n";
/* clang-format on */

typedef struct {
    sbx_config config;
    sbx_policy policy;
    const char **env, **read, **write; /* NULL-terminated, as long as argv */
    int envs, reads, writes;
    const char *language, *file; /* --code */
    const char *json; /* NULL = none, "" = stdout */
    FILE *json_file;
    int stats, quiet, direct;
    char build_used[64]; /* --code: what the build took of a limit, for people; "" = nothing */
} options;

/* ---- options --------------------------------------------------------------------------------- */

static void fail(const char *what, const char *value) {
    fprintf(stderr, "sbxrun: %s%s\nTry 'sbxrun --help'.\n", what, value);
    exit(125);
}

static void fail_value(const char *name, const char *value, const char *wanted) {
    fprintf(stderr, "sbxrun: --%s %s: %s\n", name, value, wanted);
    exit(125);
}

typedef struct {
    const char *name;
    double factor;
} unit;

static const unit times[] = {{"ms", 1},    {"s", 1e3},    {"", 1e3}, {"m", 6e4},
                             {"h", 3.6e6}, {"d", 8.64e7}, {NULL, 0}};
static const unit sizes[] = {{"", 1},        {"B", 1},           {"K", 1024},      {"KiB", 1024},
                             {"KB", 1e3},    {"M", 1 << 20},     {"MiB", 1 << 20}, {"MB", 1e6},
                             {"G", 1 << 30}, {"GiB", 1 << 30},   {"GB", 1e9},      {"T", 1LL << 40},
                             {"TB", 1e12},   {"TiB", 1LL << 40}, {NULL, 0}};
static const unit counts[] = {{"", 1}, {NULL, 0}};

/* "1.5m" in the units of the table. A number, then a unit in any case, and nothing else. */
static long long number(const char *name, const char *text, const unit *u, const char *wanted) {
    size_t digits = strspn(text, "0123456789.");
    char *end;
    double value;

    if (strcmp(text, "none") == 0) return SBX_UNLIMITED;
    if (!isdigit((unsigned char)text[text[0] == '.'])) fail_value(name, text, wanted);
    value = strtod(text, &end);
    while (u->name && strcasecmp(u->name, text + digits) != 0) u++;
    if (end != text + digits || u->name == NULL) fail_value(name, text, wanted);
    value *= u->factor;
    if (strcmp(name, "grace") == 0 && value < 1) {
        if (value > 0) fail_value(name, text, "is too little; 0 is no time at all");
        return SBX_UNLIMITED; /* which for grace_ms means: kill at once */
    }
    if (value < 1) fail_value(name, text, "is too little; \"none\" is no limit");
    if (value > 1e15) fail_value(name, text, "is too much; \"none\" is no limit");
    return (long long)value;
}

/* Options with a value that is a limit: their place in the config. */
static int set_limit(options *o, const char *name, const char *value) {
    static const char time_wanted[] = "is no time like 2s, 500ms, 1.5m";
    static const char size_wanted[] = "is no size like 64M, 500K, 1.5G";
    static const char count_wanted[] = "is no whole number";
    sbx_config *c = &o->config;
    const struct {
        const char *name;
        long long *to;
        const unit *units;
        const char *wanted;
    } rows[] = {
        {"timeout", &c->timeout_ms, times, time_wanted},
        {"grace", &c->grace_ms, times, time_wanted},
        {"cpu", &c->cpu_ms, times, time_wanted},
        {"memory", &c->memory_bytes, sizes, size_wanted},
        {"output", &c->output_bytes, sizes, size_wanted},
        {"file-size", &c->file_bytes, sizes, size_wanted},
        {"files", &c->open_files, counts, count_wanted},
        {"processes", &c->processes, counts, count_wanted},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) != 0) continue;
        if (value == NULL) return 1;
        if (rows[i].units == counts && strchr(value, '.')) fail_value(name, value, count_wanted);
        *rows[i].to = number(name, value, rows[i].units, rows[i].wanted);
        return 1;
    }
    return 0;
}

/* A number of 1 to 9 digits that ends there, or -1. */
static long id_number(const char *text) {
    size_t n = strlen(text);
    return n > 0 && n < 10 && strspn(text, "0123456789") == n ? atol(text) : -1;
}

/* "name", "1000", "name:group", "1000:1000". Without a group: the user's own, or, if nobody has that
   number here, the same number. */
static void set_user(options *o, const char *value) {
    char name[64];
    const char *colon = strchr(value, ':');
    size_t n = colon ? (size_t)(colon - value) : strlen(value);
    const struct passwd *user;
    const struct group *group;
    long uid, gid;

    snprintf(name, sizeof name, "%.*s", (int)n, value);
    user = getpwnam(name);
    uid = user ? (long)user->pw_uid : id_number(name);
    if (user == NULL && uid >= 0) user = getpwuid((uid_t)uid);
    gid = user ? (long)user->pw_gid : uid;
    if (colon) {
        group = getgrnam(colon + 1);
        gid = group ? (long)group->gr_gid : id_number(colon + 1);
    }
    if (uid < 0 || gid < 0) fail_value("user", value, "is not known here");
    if (uid == 0 && geteuid() != 0) fail_value("user", value, "only root can do that");
    o->config.uid = (unsigned)uid;
    o->config.gid = (unsigned)gid;
}

/* The place of the variable "NAME=VALUE" or "NAME" in the list, or that behind the last one. */
static int find_variable(const options *o, const char *text) {
    size_t n = strcspn(text, "=");
    int i = 0;

    while (i < o->envs && (strncmp(o->env[i], text, n) != 0 || !strchr("=", o->env[i][n]))) i++;
    return i;
}

static void set_variable(options *o, const char *text) {
    int i = find_variable(o, text);

    o->env[i] = text;
    if (i == o->envs) o->envs++;
}

/* The other options with a value. A value of NULL asks whether there is such an option. */
static int set_text(options *o, const char *name, const char *value) {
    if (strcmp(name, "env") == 0) {
        if (value) set_variable(o, value);
    } else if (strcmp(name, "read") == 0) {
        if (value) o->read[o->reads++] = value;
    } else if (strcmp(name, "write") == 0) {
        if (value) o->write[o->writes++] = value;
    } else if (strcmp(name, "cwd") == 0) {
        if (value) o->config.cwd = value;
    } else if (strcmp(name, "user") == 0) {
        if (value) set_user(o, value);
    } else if (strcmp(name, "code") == 0) {
        if (value) o->language = value;
    } else {
        return 0;
    }
    return 1;
}

static void print_and_exit(const char *text, const char *more) {
    if (printf("%s%s", text, more) < 0 || fflush(stdout) != 0) fail("stdout: ", strerror(errno));
    exit(0);
}

/* Those without. */
static int set_flag(options *o, const char *name) {
    if (strcmp(name, "help") == 0) print_and_exit(help, more_help);
    if (strcmp(name, "version") == 0) print_and_exit("sbxrun " SBX_VERSION, "\n");
    if (strcmp(name, "policy") == 0) o->config.policy = &o->policy;
    else if (strcmp(name, "network") == 0) o->policy.allow_network = 1;
    else if (strcmp(name, "inherit-env") == 0) o->config.inherit_env = 1;
    else if (strcmp(name, "stats") == 0) o->stats = 1;
    else if (strcmp(name, "quiet") == 0) o->quiet = 1;
    else if (strcmp(name, "direct") == 0) o->direct = 1;
    else if (strcmp(name, "json") == 0) o->json = "";
    else return 0;
    return 1;
}

/* Under a policy a compiler or interpreter in somebody's home (pyenv, nvm, rustup) is not there, so
   that of the system is taken, if there is one. */
static void system_tools_first(void) {
    const char *path = getenv("PATH");
    char *longer = malloc((path ? strlen(path) : 0) + 40);

    if (longer == NULL) fail("no memory", "");
    sprintf(longer, "/usr/local/bin:/usr/bin:/bin%s%s", path ? ":" : "", path ? path : "");
    setenv("PATH", longer, 1);
    free(longer);
}

/* As it is here, unless --env says otherwise. */
static void copy_variable(options *o, const char *name) {
    if (find_variable(o, name) == o->envs) set_variable(o, name);
}

static void finish_options(options *o, char **rest) {
    sbx_config *c = &o->config;

    if (o->language == NULL && rest[0] == NULL) fail("which program?", "");
    if (o->direct && (c->output_bytes || (o->json && !*o->json)))
        fail("--direct: what the program writes is not seen by sbxrun, so no --output or --json",
             "");
    if (o->language == NULL || rest[0]) c->argv = (const char *const *)rest;
    if (!c->inherit_env) copy_variable(o, "PATH");
    if (!c->inherit_env && o->direct) copy_variable(o, "TERM"); /* for colours and editors */
    c->env = o->env;
    o->policy.read = o->read;
    o->policy.write = o->write;
    if (o->reads || o->writes || o->policy.allow_network) c->policy = &o->policy;
    if (o->json) o->json_file = *o->json ? fopen(o->json, "w") : stdout;
    if (o->json && !o->json_file) fail_value("json", o->json, strerror(errno));
    if (o->language && c->policy) system_tools_first();
    if (c->timeout_ms == 0) c->timeout_ms = SBX_UNLIMITED;
    if (c->output_bytes == 0 && o->json && !*o->json) c->truncate_output = SBX_KEEP_ENDS;
    else if (c->output_bytes == 0) c->output_bytes = SBX_UNLIMITED;
}

static void parse(options *o, int argc, char **argv) {
    size_t room = (size_t)argc + 4; /* PATH, TERM, NULL */
    int i;

    o->env = calloc(room, sizeof *o->env);
    o->read = calloc(room, sizeof *o->read);
    o->write = calloc(room, sizeof *o->write);
    if (!o->env || !o->read || !o->write) fail("no memory", "");
    if (argc > 1 && strcmp(argv[1], "-h") == 0) set_flag(o, "help");
    for (i = 1; i < argc && strncmp(argv[i], "--", 2) == 0 && argv[i][2]; i++) {
        char *name = argv[i] + 2, *value = strchr(name, '=');

        if (strncmp(name, "json=", 5) == 0 && name[5]) {
            o->json = name + 5;
            continue;
        }
        if (value) *value++ = '\0';
        if (!value && set_flag(o, name)) continue;
        if (!set_limit(o, name, NULL) && !set_text(o, name, NULL))
            fail("there is no option --", name);
        if (!value) value = argv[++i];
        if (!value) fail("a value is missing after --", name);
        if (!set_limit(o, name, value)) set_text(o, name, value);
        if (strcmp(name, "code") != 0) continue;
        o->file = argv[++i];
        if (!o->file) fail("--code: LANGUAGE and FILE, please", "");
    }
    if (i < argc && strcmp(argv[i], "--") == 0) i++;
    else if (i < argc && argv[i][0] == '-') fail("there is no option ", argv[i]);
    finish_options(o, argv + i);
}

/* ---- the terminal ---------------------------------------------------------------------------- */

static volatile int stopped; /* the signal that asked for it */
static sbx *volatile the_box;

static void on_signal(int number) {
    if (stopped && the_box) sbx_kill(the_box); /* asked twice: without grace */
    stopped = number;
}

static volatile int pausing; /* Ctrl-Z */
static void on_pause(int number) { pausing = number; }

typedef struct {
    int on, shown; /* is there a terminal; is the status line on it */
    int inside_line; /* the program is in the middle of a line: no place for a status */
    int broken, broken_fd; /* errno of a write that failed, EPIPE = nobody reads; and where */
    int has_terminal; /* the program can read it */
    long long deadline;
} screen;

static long long now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void clear_status(screen *s) {
    if (s->shown) fputs("\r\033[K", stderr);
    s->shown = 0;
}

static void human_size(char *to, size_t room, long long bytes) {
    static const char *const names[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    int i = 0;

    while (value >= 1024 && i < 4) value /= 1024, i++;
    if (bytes < 0) snprintf(to, room, "unknown");
    else snprintf(to, room, i && value < 100 ? "%.1f %s" : "%.0f %s", value, names[i]);
}

/* Is there a person who looks? Not where several share the terminal, as under xargs -P: there stdin
   is /dev/null, and who started us is in our process group, as an interactive shell never is. */
static int has_audience(void) {
    return isatty(2) && (isatty(0) || getpgid(getppid()) != getpgrp());
}

/* Is it another job that the shell shows now? The program is in a session of its own, where the
   kernel keeps nobody from the terminal; so we have to. */
static int in_background(int fd) {
    pid_t front = tcgetpgrp(fd); /* -1 = this is no terminal, or not ours */
    return front != -1 && front != getpgrp();
}

static int is_over(const screen *s) { return stopped || (s->deadline && now_ms() >= s->deadline); }

/* Stops this process as the signal does by itself; returns when it is continued. */
static void stop_here(int number) {
    signal(number, SIG_DFL);
    raise(number);
}

/* After Ctrl-Z: first the program stops, then we do. Where the shell continues us in the background,
   and the program might read what is typed for others, both stop again, as any job that reads. */
static void pause_together(screen *s) {
    struct timespec pause = {0, 50000000};

    if (!pausing) return;
    clear_status(s);
    if (the_box) sbx_signal(the_box, SIGSTOP);
    stop_here(SIGTSTP);
    while (s->has_terminal && in_background(0) && !is_over(s)) {
        stop_here(SIGTTIN);
        nanosleep(&pause, NULL); /* for a job that no shell looks after: it cannot stop */
    }
    pausing = 0;
    signal(SIGTSTP, on_pause);
    if (the_box) sbx_signal(the_box, SIGCONT);
}

static void show_status(screen *s, sbx *box) {
    char memory[32], output[32], text[160], left[64] = "";
    struct winsize size = {0, 80, 0, 0};
    sbx_usage u;

    sbx_get_usage(box, &u);
    if (!s->on || s->inside_line || u.wall_us < 1000000 || in_background(2)) return;
    if (stopped) snprintf(left, sizeof left, ", stopping; once more kills it");
    else if (s->deadline)
        snprintf(left, sizeof left, ", %lld s left", (s->deadline - now_ms() + 999) / 1000);
    human_size(memory, sizeof memory, u.memory_bytes);
    human_size(output, sizeof output, u.output_bytes);
    snprintf(text, sizeof text, "[%.0f s%s]  CPU %.1f s  memory %s  output %s",
             (double)u.wall_us / 1e6, left, (double)u.cpu_us / 1e6, memory, output);
    if (ioctl(2, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size.ws_col = 80;
    fprintf(stderr, "\r\033[2m%.*s\033[0m\033[K", size.ws_col - 1, text);
    s->shown = 1;
}

/* Passes output on. If nobody takes it, this waits, but not past the deadline or a signal. */
static int on_output(void *user, sbx_stream stream, const char *data, size_t size) {
    screen *s = user;
    int fd = (int)stream; /* SBX_STDOUT is 1, SBX_STDERR is 2 */

    clear_status(s);
    if (size > 0) s->inside_line = data[size - 1] != '\n' && isatty(fd);
    while (size > 0 && !is_over(s)) {
        struct pollfd p = {fd, POLLOUT, 0};
        ssize_t n = 0;

        pause_together(s);
        if (poll(&p, 1, 50) > 0) n = write(fd, data, size < 4096 ? size : 4096);
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            s->broken_fd = fd;
            return s->broken = errno;
        }
        if (n < 0) n = 0;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

/* ---- running --------------------------------------------------------------------------------- */

static char *read_source(const char *path, size_t *size) {
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char *text = NULL;
    size_t room = 0, n = 1;

    if (file == NULL) fail_value("code", path, strerror(errno));
    for (*size = 0; n > 0; *size += n) {
        if (*size == room) text = realloc(text, room = 2 * room + 4096);
        if (text == NULL) fail("no memory", "");
        n = fread(text + *size, 1, room - *size, file);
    }
    if (ferror(file)) fail_value("code", path, "cannot be read");
    if (file != stdin) fclose(file);
    return text;
}

/* Source text becomes a program; the result is that of the compiler. */
static int build(const options *o, sbx_program *program, sbx_result *result) {
    sbx_config config = o->config;
    size_t size;
    char *code = read_source(o->file, &size);

    config.argv = NULL;
    config.output_bytes = 0;
    config.truncate_output = SBX_KEEP_ENDS; /* of what the compiler says */
    config.stop = &stopped;
    sbx_build(&config, o->language, code, size, program, result);
    free(code);
    return result->verdict == SBX_OK;
}

/* Build and run share --timeout and --cpu: what the first used the second does not get again. */
static void share_limits(options *o, const sbx_result *build) {
    long long used[] = {build->wall_us / 1000, (build->user_us + build->system_us) / 1000};
    long long *limit[] = {&o->config.timeout_ms, &o->config.cpu_ms};

    for (int i = 0; i < 2; i++)
        if (*limit[i] > 0) *limit[i] = *limit[i] > used[i] ? *limit[i] - used[i] : 1;
    snprintf(o->build_used, sizeof o->build_used, "; the build before it took %.2f s, CPU %.2f s",
             (double)build->wall_us / 1e6, (double)used[1] / 1e3);
}

static void connect_streams(const options *o, sbx_config *c) {
    int taken = o->file && strcmp(o->file, "-") == 0; /* stdin was the source text */
    struct stat out, err;

    c->in = taken || in_background(0) ? SBX_DISCARD : SBX_INHERIT;
    if (o->direct) {
        c->out = c->err = SBX_INHERIT;
    } else if (o->json == NULL || *o->json) {
        c->out = c->err = SBX_STREAM;
        c->on_output = on_output;
        if (fstat(1, &out) == 0 && fstat(2, &err) == 0 && out.st_dev == err.st_dev &&
            out.st_ino == err.st_ino)
            c->err = SBX_MERGE; /* both go to the same place: in the order written */
    }
}

/* A signal that is ignored, as under nohup, stays so. */
static void handle(int number, void (*handler)(int)) {
    if (signal(number, handler) == SIG_IGN) signal(number, SIG_IGN);
}

static void run(const options *o, screen *s, const sbx_program *program, sbx_result *result) {
    sbx_config c = o->config;
    sbx *box;

    connect_streams(o, &c);
    s->has_terminal = c.in == SBX_INHERIT && isatty(0);
    c.program = program;
    c.user = s;
    c.stop = &stopped;
    s->on = has_audience() && !o->quiet && !o->direct;
    if (c.timeout_ms > 0) s->deadline = now_ms() + c.timeout_ms;
    handle(SIGTSTP, on_pause); /* not for the build before: that reads no terminal */
    the_box = box = sbx_start(&c, result);
    if (box == NULL) return;
    while (!sbx_poll(box, 200)) {
        pause_together(s);
        show_status(s, box);
    }
    clear_status(s);
    the_box = NULL; /* from here on the handler keeps away from it */
    sbx_finish(box, result);
}

/* The same, and a program that did not end by itself leaves the terminal as it was: not raw, and
   not without an echo. */
static void run_on_terminal(const options *o, screen *s, const sbx_program *program,
                            sbx_result *result) {
    struct termios before;
    int fd = 0;

    while (fd <= 2 && tcgetattr(fd, &before) != 0) fd++;
    run(o, s, program, result);
    if (fd > 2 || in_background(fd)) return;
    if (result->verdict != SBX_OK && result->verdict != SBX_EXITED)
        tcsetattr(fd, TCSADRAIN, &before);
}

static void report(const options *o, const screen *s, const sbx_result *r) {
    char memory[32], output[32];

    if (o->quiet || s->broken == EPIPE) return;
    if (s->broken) {
        fprintf(stderr, "sbxrun: %s cannot be written: %s. The program was stopped\n",
                s->broken_fd == 1 ? "stdout" : "stderr", strerror(s->broken));
        return;
    }
    if (r->step == SBX_STEP_BUILD) fputs(r->err.data, stderr);
    if (!o->stats && (r->verdict == SBX_OK || r->verdict == SBX_EXITED) && !r->step) return;
    if (s->inside_line) fputc('\n', stderr);
    fprintf(stderr, "sbxrun: %s: %s", sbx_verdict_name(r->verdict), r->message);
    if (o->stats || r->verdict == SBX_TIMED_OUT || r->verdict == SBX_CPU_LIMIT)
        fputs(o->build_used, stderr);
    human_size(memory, sizeof memory, r->peak_bytes);
    human_size(output, sizeof output, (long long)(r->out.total + r->err.total));
    if (o->stats)
        fprintf(stderr, " (%.2f s, CPU %.2f s, memory %s, output %s)", (double)r->wall_us / 1e6,
                (double)(r->user_us + r->system_us) / 1e6, memory, output);
    fputc('\n', stderr);
}

static void report_json(const options *o, const sbx_result *r) {
    size_t size = sbx_json(r, NULL, 0);
    char *text = malloc(size + 1);

    if (text == NULL) fail("no memory", "");
    sbx_json(r, text, size + 1);
    errno = 0;
    if (fprintf(o->json_file, "%s\n", text) < 0 || fflush(o->json_file) != 0) {
        if (errno == EPIPE && !*o->json) exit(128 + SIGPIPE);
        fail_value("json", *o->json ? o->json : "(stdout)", strerror(errno));
    }
    free(text);
}

static int exit_status(const screen *s, const sbx_result *r) {
    int built = r->step != SBX_STEP_BUILD; /* else it was the compiler */

    if (s->broken && s->broken != EPIPE) return 125;
    switch (r->verdict) {
    case SBX_OK: return 0;
    case SBX_EXITED: return built ? r->exit_code : 126;
    case SBX_CRASHED: return built ? 128 + r->signal : 126;
    case SBX_CANCELLED: return 128 + (s->broken ? SIGPIPE : stopped);
    case SBX_NOT_STARTED:
        if (!built) return 126;
        if (r->step != SBX_STEP_EXEC) return 125;
        return r->sys_errno == ENOENT || r->sys_errno == ENOTDIR ? 127 : 126;
    case SBX_LOST:
    case SBX_NO_RESULT: return 125;
    default: return 124; /* a limit */
    }
}

/* Where the shell closed one of 0, 1 and 2 (>&-), a file that is opened later would get its number,
   and the program's output. */
static void open_standard_streams(void) {
    int fd;

    do fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= 2);
    if (fd >= 0) close(fd);
}

int main(int argc, char **argv) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    static options o;
    static screen s;
    sbx_program program;
    sbx_result result;
    int status;

    open_standard_streams();
    parse(&o, argc, argv);
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) handle(signals[i], on_signal);
    if (o.language == NULL) {
        run_on_terminal(&o, &s, NULL, &result);
    } else if (build(&o, &program, &result)) {
        share_limits(&o, &result);
        sbx_free(&result);
        run_on_terminal(&o, &s, &program, &result);
        sbx_discard(&program);
    }
    if (o.json) report_json(&o, &result);
    report(&o, &s, &result);
    status = exit_status(&s, &result);
    sbx_free(&result);
    return status;
}
