/* Conducts the measurements and prints them as ratios, each with the target it has to hold.
   Usage: bench DIRECTORY [WORD...]   (where the built programs are; only groups with such a word)

   Machines are noisy, so nothing is measured alone: the operations of a group are done by turns,
   a few milliseconds each, for many rounds, by worker processes (worker.h). The ratio of two
   operations is the median of their ratios in each round; a slow minute slows both.

   To add a measure: an operation in host.c (or a worker of its own), a line in the table below. */
#define _GNU_SOURCE 1
#include "median.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what is measured ------------------------------------------------------------------------ */

typedef enum kind {
    AT_MOST, /* duration of a / duration of b <= target */
    AT_LEAST, /* speed of a / speed of b >= target */
    BELOW, /* duration of a < target microseconds */
    SHOW /* no target: for comparison */
} kind;

typedef struct measure {
    const char *name;
    const char *worker, *operation; /* a */
    const char *ref_worker, *ref_operation; /* b */
    kind kind;
    double target;
    double megabytes; /* moved by the operation; 0 = not a matter of speed */
} measure;

typedef struct group {
    const char *name, *about;
    int rounds;
    double milliseconds; /* for each operation in each round */
    measure measures[16];
} group;

/* Workers: a program of the directory, MB to grow by and, for hosts, CPUs to use (0 = all). */
typedef struct worker_kind {
    const char *name, *program, *megabytes, *cpus;
} worker_kind;

static const worker_kind workers[] = {
    {"10MB", "host", "10", "0"},       {"1GB", "host", "1024", "0"},
    {"2GB", "host", "2048", "0"},      {"1cpu", "host", "10", "1"},
    {"uv", "peer_uv", "10", NULL},     {"uv-256MB", "peer_uv", "256", NULL},
    {"glib", "peer_glib", "10", NULL}, {"glib-256MB", "peer_glib", "256", NULL},
    {"python", "python3", "10", NULL}, {"python-256MB", "python3", "256", NULL},
    {"256MB", "host", "256", "0"},
};
#define WORKER_COUNT (sizeof(workers) / sizeof(workers[0]))

static const group groups[] = {
    {"spawn",
     "run a tiny program, collect both streams; against a loop written by hand",
     61,
     10,
     {
         {"sbx_run, process group", "10MB", "run", "10MB", "hand", AT_MOST, 1.15, 0},
         {"sbx_run, host of 2 GB against 10 MB", "2GB", "run", "10MB", "run", AT_MOST, 1.2, 0},
         {"sbx_run, host of 2 GB", "2GB", "run", "2GB", "hand", SHOW, 0, 0},
         {"sbx_run, one CPU", "1cpu", "run", "1cpu", "hand", SHOW, 0, 0},
         {"sbx_run, five limits, memory watched", "10MB", "run-limits", "10MB", "hand", SHOW, 0, 0},
         {"bare clone + exec + wait, no pipes", "10MB", "hand-quiet", "10MB", "hand", SHOW, 0, 0},
         {"sbx_run of a program without libc", "10MB", "run-bare", "10MB", "hand-bare", SHOW, 0, 0},
         {"the same, one CPU", "1cpu", "run-bare", "1cpu", "hand-bare", SHOW, 0, 0},
         {NULL, NULL, NULL, NULL, NULL, SHOW, 0, 0},
     }},
    {"tree",
     "the same with the whole tree contained (AUTO)",
     31,
     10,
     {
         {"sbx_run, AUTO", "10MB", "run-auto", "10MB", "hand", AT_MOST, 5, 0},
         {"sbx_run, AUTO, against bwrap", "10MB", "run-auto", "10MB", "bwrap", AT_MOST, 0.5, 0},
         {"sbx_run, AUTO, 2 GB against 10 MB", "2GB", "run-auto", "10MB", "run-auto", AT_MOST, 1.2,
          0},
         {"program without libc", "10MB", "run-auto-bare", "10MB", "hand-bare", SHOW, 0, 0},
         {NULL, NULL, NULL, NULL, NULL, SHOW, 0, 0},
     }},
    {"policy",
     "the same with a policy: files, network, kernel; bwrap with --unshare-all --ro-bind / /",
     61,
     10,
     {
         {"sbx_run, zero policy, against bwrap", "10MB", "run-policy", "10MB", "bwrap-all", AT_MOST,
          0.4, 0},
         {"sbx_run, policy, 2 GB against 10 MB", "2GB", "run-policy", "10MB", "run-policy", AT_MOST,
          1.2, 0},
         {"sbx_run, zero policy", "10MB", "run-policy", "10MB", "hand", SHOW, 0, 0},
         {NULL, NULL, NULL, NULL, NULL, SHOW, 0, 0},
     }},
    {"peers",
     "the same with others, host of 10 MB and 256 MB; against the loop",
     21,
     10,
     {
         {"sbx_run", "10MB", "run", "10MB", "hand", SHOW, 0, 0},
         {"posix_spawn", "10MB", "posix_spawn", "10MB", "hand", SHOW, 0, 0},
         {"Python subprocess.run", "python", "spawn", "10MB", "hand", SHOW, 0, 0},
         {"libuv", "uv", "spawn", "10MB", "hand", SHOW, 0, 0},
         {"GSubprocess", "glib", "spawn", "10MB", "hand", SHOW, 0, 0},
         {"popen, through sh", "10MB", "popen", "10MB", "hand", SHOW, 0, 0},
         {"fork + exec", "10MB", "fork", "10MB", "hand", SHOW, 0, 0},
         {"sbx_run, 256 MB", "256MB", "run", "256MB", "hand", SHOW, 0, 0},
         {"posix_spawn, 256 MB", "256MB", "posix_spawn", "256MB", "hand", SHOW, 0, 0},
         {"Python subprocess.run, 256 MB", "python-256MB", "spawn", "256MB", "hand", SHOW, 0, 0},
         {"libuv, 256 MB", "uv-256MB", "spawn", "256MB", "hand", SHOW, 0, 0},
         {"GSubprocess, 256 MB", "glib-256MB", "spawn", "256MB", "hand", SHOW, 0, 0},
         {"fork + exec, 256 MB", "256MB", "fork", "256MB", "hand", SHOW, 0, 0},
         {"fork + exec, 2 GB", "2GB", "fork", "2GB", "hand", SHOW, 0, 0},
         {NULL, NULL, NULL, NULL, NULL, SHOW, 0, 0},
     }},
    {"drain",
     "256 MiB from a child; against a blocking read loop on a 1 MiB pipe",
     21,
     1,
     {
         {"read and discard (truncate_output)", "10MB", "drain", "10MB", "hand-drain", AT_LEAST,
          0.8, 268.435},
         {"keep all of it", "10MB", "capture", "10MB", "hand-capture", SHOW, 0, 268.435},
         {NULL, NULL, NULL, NULL, NULL, SHOW, 0, 0},
     }},
    {"many",
     "1,000 boxes from one thread, time per box; against one at a time",
     9,
     1,
     {
         {"started in a burst, all CPUs", "10MB", "many", "10MB", "one", AT_MOST, 1.3, 0},
         {"started in a burst, one CPU", "1cpu", "many", "1cpu", "one", AT_MOST, 1.3, 0},
         {"ending in turn, against 10 boxes", "10MB", "turn-1000", "10MB", "turn-10", AT_MOST, 1.3,
          0},
         {"the same, 4,000 boxes", "10MB", "turn-4000", "10MB", "turn-10", AT_MOST, 1.3, 0},
         {NULL, NULL, NULL, NULL, NULL, SHOW, 0, 0},
     }},
    {"talk",
     "a byte to cat and back; against write, poll, read by hand",
     21,
     1,
     {
         /* In a session of its own, as in a box: on a busy machine the scheduler lets sessions
            take turns, and who shares the host's is woken sooner. */
         {"sbx_write, sbx_poll, sbx_read", "10MB", "ping", "10MB", "hand-ping-session", AT_MOST,
          1.3, 0},
         {"the same, one CPU", "1cpu", "ping", "1cpu", "hand-ping-session", AT_MOST, 1.3, 0},
         {"against a cat in the host's session", "10MB", "ping", "10MB", "hand-ping", SHOW, 0, 0},
         {NULL, NULL, NULL, NULL, NULL, SHOW, 0, 0},
     }},
    {"keep",
     "1 GiB from a child: its two ends are kept; against its beginning",
     9,
     1,
     {
         {"SBX_KEEP_ENDS", "10MB", "keep-ends", "10MB", "keep-first", AT_LEAST, 0.9, 1073.742},
         {NULL, NULL, NULL, NULL, NULL, SHOW, 0, 0},
     }},
    {"poll",
     "asking a quiet box",
     9,
     1,
     {
         {"sbx_poll(box, 0)", "10MB", "poll", NULL, NULL, BELOW, 10, 0},
         {"once a frame, memory watched", "10MB", "poll-frames", NULL, NULL, SHOW, 0, 0},
         {"the same with a group: all of /proc", "10MB", "poll-frames-group", NULL, NULL, SHOW, 0,
          0},
         {NULL, NULL, NULL, NULL, NULL, SHOW, 0, 0},
     }},
    {"call",
     "a function with a result of 64 bytes; against bare fork + pipe + wait",
     201,
     10,
     {
         {"sbx_call, host of 10 MB", "10MB", "call", "10MB", "hand-call", AT_MOST, 1.2, 0},
         {"the same, one CPU", "1cpu", "call", "1cpu", "hand-call", AT_MOST, 1.2, 0},
         {NULL, NULL, NULL, NULL, NULL, SHOW, 0, 0},
     }},
    {"call-1GB",
     "the same by itself: a fork of that size throws everything else out of the caches",
     21,
     50,
     {
         {"sbx_call, host of 1 GB", "1GB", "call", "1GB", "hand-call", AT_MOST, 1.2, 0},
         {NULL, NULL, NULL, NULL, NULL, SHOW, 0, 0},
     }},
};
#define GROUP_COUNT (sizeof(groups) / sizeof(groups[0]))

/* ---- workers --------------------------------------------------------------------------------- */

typedef struct worker {
    pid_t pid; /* 0 = not started yet, -1 = not to be had */
    FILE *ask, *answer;
} worker;

static worker running[WORKER_COUNT];
static const char *directory;

static long available_mb(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    long kb = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %ld", &kb) == 1) break;
    if (file != NULL) fclose(file);
    return kb / 1024;
}

static void exec_worker(const worker_kind *w) {
    char program[512], script[512], tiny[512], bare[512];

    snprintf(program, sizeof program, "%s/%s", directory, w->program);
    snprintf(script, sizeof script, "%s/peer_python.py", directory);
    snprintf(tiny, sizeof tiny, "%s/tiny", directory);
    snprintf(bare, sizeof bare, "%s/bare", directory);
    if (strcmp(w->program, "python3") == 0)
        execlp("python3", "python3", script, w->megabytes, tiny, (char *)NULL);
    else if (w->cpus != NULL)
        execl(program, program, w->megabytes, w->cpus, tiny, bare, (char *)NULL);
    else execl(program, program, w->megabytes, tiny, (char *)NULL);
    _exit(127);
}

static void start_worker(worker *w, const worker_kind *as) {
    int ask[2], answer[2];

    w->pid = -1;
    if (available_mb() < atol(as->megabytes) + 512 || pipe2(ask, O_CLOEXEC) != 0 ||
        pipe2(answer, O_CLOEXEC) != 0)
        return;
    fflush(stdout);
    w->pid = fork();
    if (w->pid == 0) {
        dup2(ask[0], 0);
        dup2(answer[1], 1);
        exec_worker(as);
    }
    close(ask[0]);
    close(answer[1]);
    w->ask = fdopen(ask[1], "w");
    w->answer = fdopen(answer[0], "r");
}

enum { FAILED = -1, MISSING = -2 };

/* Microseconds, or FAILED, or MISSING: there is no such worker here. */
static double ask(const char *name, const char *operation_name, double ms) {
    double us = MISSING;
    worker *w;
    size_t i;

    for (i = 0; i < WORKER_COUNT && strcmp(workers[i].name, name) != 0; i++) {
    }
    if (i == WORKER_COUNT) return MISSING;
    w = &running[i];
    if (w->pid == 0) start_worker(w, &workers[i]);
    if (w->pid < 0) return MISSING;
    fprintf(w->ask, "%s %f\n", operation_name, ms);
    fflush(w->ask);
    if (fscanf(w->answer, "%lf", &us) != 1) w->pid = -1; /* it could not be started, or died */
    return us;
}

static void stop_workers(void) {
    size_t i;
    for (i = 0; i < WORKER_COUNT; i++)
        if (running[i].ask != NULL) {
            fclose(running[i].ask);
            fclose(running[i].answer);
        }
    while (wait(NULL) > 0 || errno == EINTR) {
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

#define MAX_ROUNDS 201
#define MAX_CELLS 32

typedef struct cell { /* one operation of one worker; measures share them */
    const char *worker, *operation;
    double us[MAX_ROUNDS];
    double error; /* 0, FAILED or MISSING */
} cell;

static cell cells[MAX_CELLS];
static int cell_count;

static cell *find_cell(const char *worker_name, const char *operation_name) {
    int i;
    if (worker_name == NULL) return NULL;
    for (i = 0; i < cell_count; i++)
        if (strcmp(cells[i].worker, worker_name) == 0 &&
            strcmp(cells[i].operation, operation_name) == 0)
            return &cells[i];
    if (cell_count == MAX_CELLS) return NULL;
    cells[cell_count].worker = worker_name;
    cells[cell_count].operation = operation_name;
    cells[cell_count].error = 0;
    return &cells[cell_count++];
}

static void do_rounds(const group *g) {
    const measure *m;
    int round, i;

    cell_count = 0;
    for (m = g->measures; m->name != NULL; m++) {
        find_cell(m->worker, m->operation);
        find_cell(m->ref_worker, m->ref_operation);
    }
    for (round = -1; round < g->rounds; round++) /* the first one only warms up */
        for (i = 0; i < cell_count; i++) {
            /* backwards every other time: nobody always comes after the same neighbour */
            cell *c = &cells[round % 2 ? cell_count - 1 - i : i];
            double us = c->error < 0 ? c->error : ask(c->worker, c->operation, g->milliseconds);
            if (us < 0) c->error = us;
            else if (round >= 0) c->us[round] = us;
        }
}

static double median_us(const cell *c, int rounds) {
    double copy[MAX_ROUNDS];
    memcpy(copy, c->us, sizeof(double) * (size_t)rounds);
    return median(copy, rounds);
}

static double median_ratio(const cell *a, const cell *b, int rounds) {
    double ratio[MAX_ROUNDS];
    int i;
    for (i = 0; i < rounds; i++) ratio[i] = a->us[i] / b->us[i];
    return median(ratio, rounds);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void format_cell(char *to, size_t size, double us, double megabytes) {
    if (megabytes > 0) snprintf(to, size, "%.2f GB/s", megabytes * 1e3 / us);
    else if (us < 1000) snprintf(to, size, "%.1f us", us);
    else snprintf(to, size, "%.2f ms", us / 1000);
}

static int targets, held_targets, skipped_targets;

static int print_trouble(const measure *m, const cell *c) {
    if (c == NULL || c->error == 0) return 0;
    printf("  %-42s %s\n", m->name, c->error == MISSING ? "skipped: not available here" : "FAILED");
    skipped_targets += c->error == MISSING && m->kind != SHOW;
    return 1;
}

static void print_measure(const measure *m, int rounds) {
    const cell *a = find_cell(m->worker, m->operation);
    const cell *b = find_cell(m->ref_worker, m->ref_operation);
    char mine[32], theirs[32] = "", ratio_text[32] = "", target[32] = "";
    double us, ratio = 0;
    int held = 1;

    targets += m->kind != SHOW;
    if (print_trouble(m, a) || print_trouble(m, b)) return;
    us = median_us(a, rounds);
    format_cell(mine, sizeof mine, us, m->megabytes);
    if (b != NULL) {
        format_cell(theirs, sizeof theirs, median_us(b, rounds), m->megabytes);
        ratio = median_ratio(a, b, rounds);
        if (m->megabytes > 0) ratio = 1 / ratio;
        snprintf(ratio_text, sizeof ratio_text, "%.3f", ratio);
    }
    if (m->kind == AT_MOST) {
        held = ratio <= m->target;
        snprintf(target, sizeof target, "<= %.2f", m->target);
    } else if (m->kind == AT_LEAST) {
        held = ratio >= m->target;
        snprintf(target, sizeof target, ">= %.2f", m->target);
    } else if (m->kind == BELOW) {
        held = us < m->target;
        snprintf(target, sizeof target, "< %.0f us", m->target);
    }
    printf("  %-42s %10s %10s %7s  %-8s %s\n", m->name, mine, theirs, ratio_text, target,
           m->kind == SHOW ? ""
           : held          ? "ok"
                           : "MISSED");
    held_targets += m->kind != SHOW && held;
}

static int wanted(const group *g, int argc, char **argv) {
    int i;
    for (i = 2; i < argc; i++)
        if (strstr(g->name, argv[i]) != NULL) return 1;
    return argc <= 2;
}

int main(int argc, char **argv) {
    struct utsname system_name;
    const measure *m;
    size_t i;

    if (argc < 2) {
        fprintf(stderr, "usage: bench DIRECTORY [GROUP...]\n");
        return 2;
    }
    directory = argv[1];
    signal(SIGPIPE, SIG_IGN);
    uname(&system_name);
    printf("%s %s, %ld CPUs; medians of interleaved rounds\n", system_name.sysname,
           system_name.release, sysconf(_SC_NPROCESSORS_ONLN));
    for (i = 0; i < GROUP_COUNT; i++) {
        const group *g = &groups[i];
        if (!wanted(g, argc, argv)) continue;
        printf("\n%s: %s\n", g->name, g->about);
        printf("  %-42s %10s %10s %7s  %s\n", "", "this", "reference", "ratio", "target");
        fflush(stdout);
        do_rounds(g);
        for (m = g->measures; m->name != NULL; m++) print_measure(m, g->rounds);
        fflush(stdout);
    }
    stop_workers();
    printf("\n%d of %d targets held", held_targets, targets);
    if (skipped_targets > 0) printf(", %d skipped", skipped_targets);
    printf(".\n");
    return held_targets + skipped_targets == targets ? 0 : 1;
}
