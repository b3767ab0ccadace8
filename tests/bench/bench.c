/* Conducts the measurements and prints them as ratios, each with the budget it has to hold.
   Usage: bench DIRECTORY [--check] [WORD...]
   (where the built programs are; only groups with such a word)

   Machines are noisy, so nothing is measured alone: the operations of a group are done by turns,
   a few milliseconds each, for many rounds, by worker processes (worker.h). The ratio of two
   operations is the median of their ratios in each round; a slow minute slows both. The spread is
   that of the middle half of the rounds.

   --check measures only what has a budget, and a group whose budgets are not all held a second and
   a third time: a budget is missed when it was missed three times.

   To add a measure: an operation in host.c (or a worker of its own), a line in the table below. */
#define _GNU_SOURCE 1
#include "median.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- what is measured ------------------------------------------------------------------------ */

typedef enum kind {
    AT_MOST, /* duration of a / duration of b <= budget */
    AT_LEAST, /* speed of a / speed of b >= budget */
    BELOW, /* duration of a < budget, in microseconds */
    WORST_MB, /* a is in MB: in no round above the budget */
    PERCENT, /* a is in per cent of a CPU: <= budget */
    SHOW /* no budget: for comparison */
} kind;

typedef struct measure {
    const char *name;
    const char *worker, *operation; /* a */
    const char *ref_worker, *ref_operation; /* b */
    kind kind;
    double budget;
    double megabytes; /* moved by the operation; 0 = not a matter of speed */
} measure;

typedef struct measures_group {
    const char *name, *about;
    int rounds;
    double milliseconds; /* for each operation in each round */
    measure measures[16];
} group;

/* Workers: a program of the directory, MB to grow by and, for hosts, CPUs to use (0 = all). */
typedef struct worker_kind {
    const char *name, *program, *megabytes, *cpus;
    int user; /* 1 = as an ordinary user, if this one is root */
} worker_kind;

static const worker_kind workers[] = {
    {"10MB", "host", "10", "0", 0},
    {"64MB", "host", "64", "0", 0},
    {"256MB", "host", "256", "0", 0},
    {"1GB", "host", "1024", "0", 0},
    {"2GB", "host", "2048", "0", 0},
    {"4GB", "host", "4096", "0", 0},
    {"8GB", "host", "8192", "0", 0},
    {"1cpu", "host", "10", "1", 0},
    {"user", "host", "10", "0", 1},
    {"user-1cpu", "host", "10", "1", 1},
#define PEER(name, program)                                                                        \
    {name, program, "10", NULL, 0}, {name "-64MB", program, "64", NULL, 0},                        \
        {name "-256MB", program, "256", NULL, 0}, {                                                \
        name "-1GB", program, "1024", NULL, 0                                                      \
    }
    PEER("uv", "peer_uv"),
    PEER("glib", "peer_glib"),
    PEER("python", "python3"),
    PEER("go", "peer_go"),
    PEER("rust", "peer_rust"),
    PEER("node", "node"),
};
#define WORKER_COUNT (sizeof(workers) / sizeof(workers[0]))

#define END                                                                                        \
    { NULL, NULL, NULL, NULL, NULL, SHOW, 0, 0 }

/* A level of containment against its lower bound (floor.h), wherever it can run. */
#define AGAINST_FLOOR(name, run, floor, budget)                                                    \
    {name, "10MB", run, "10MB", floor, AT_MOST, budget, 0},                                        \
        {name ", one CPU", "1cpu", run, "1cpu", floor, AT_MOST, budget, 0},                        \
        {name ", ordinary user", "user", run, "user", floor, AT_MOST, budget, 0}, {                \
        name ", ordinary user, one CPU", "user-1cpu", run, "user-1cpu", floor, AT_MOST, budget, 0  \
    }

/* The budgets: every line that is not SHOW. */
static const group groups[] = {
    {"floor-group",
     "a tiny program in a process group; against nothing but the kernel's work for it",
     61,
     10,
     {
         AGAINST_FLOOR("sbx_run, group", "run", "floor-group", 1.08),
         {"program without libc", "10MB", "run-bare", "10MB", "floor-group-bare", SHOW, 0, 0},
         {"the same, one CPU", "1cpu", "run-bare", "1cpu", "floor-group-bare", SHOW, 0, 0},
         END,
     }},
    {"floor-tree",
     "the same in a tree: pid 1 and /proc of its own",
     61,
     10,
     {
         AGAINST_FLOOR("sbx_run, tree", "run-auto", "floor-tree", 1.15),
         {"program without libc", "10MB", "run-auto-bare", "10MB", "floor-tree-bare", SHOW, 0, 0},
         {"the same, one CPU", "1cpu", "run-auto-bare", "1cpu", "floor-tree-bare", SHOW, 0, 0},
         END,
     }},
    {"floor-policy",
     "the same with a policy: a root of its own, rules, a filter of the same length",
     61,
     10,
     {
         AGAINST_FLOOR("sbx_run, policy", "run-policy", "floor-policy", 1.12),
         END,
     }},
    {"floor-call",
     "a function with a result of 64 bytes; against a fork with the same streams and limits",
     101,
     10,
     {
         AGAINST_FLOOR("sbx_call", "call", "floor-call", 1.12),
         {"against bare fork + pipe + wait", "10MB", "call", "10MB", "hand-call", SHOW, 0, 0},
         END,
     }},
    {"call-1GB",
     "the same by itself: a fork of that size throws everything else out of the caches",
     11,
     50,
     {
         {"sbx_call, host of 1 GB", "1GB", "call", "1GB", "floor-call", AT_MOST, 1.12, 0},
         END,
     }},
    {"nursery",
     "a function from a nursery; against a bare zygote, which has no streams and no limits",
     61,
     10,
     {
         {"sbx_call, nursery", "10MB", "call-nursery", "10MB", "zygote", AT_MOST, 1.4, 0},
         {"the same, one CPU", "1cpu", "call-nursery", "1cpu", "zygote", AT_MOST, 1.4, 0},
         {"host of 4 GB against 10 MB", "4GB", "call-nursery", "10MB", "call-nursery", AT_MOST, 1.1,
          0},
         {"host of 1 GB against 10 MB", "1GB", "call-nursery", "10MB", "call-nursery", SHOW, 0, 0},
         END,
     }},
    {"spawn",
     "run a program, collect both streams; against a loop written by hand",
     61,
     10,
     {
         {"echo, sbx_run, group", "10MB", "run-echo", "10MB", "hand-echo", AT_MOST, 1.05, 0},
         {"the same, one CPU", "1cpu", "run-echo", "1cpu", "hand-echo", AT_MOST, 1.05, 0},
         {"host of 8 GB against 10 MB", "8GB", "run-echo", "10MB", "run-echo", AT_MOST, 1.05, 0},
         {"tiny, sbx_run, group", "10MB", "run", "10MB", "hand", SHOW, 0, 0},
         {"tiny, one CPU", "1cpu", "run", "1cpu", "hand", SHOW, 0, 0},
         {"tiny, five limits, memory watched", "10MB", "run-limits", "10MB", "hand", SHOW, 0, 0},
         {"bare clone + exec + wait, no pipes", "10MB", "hand-quiet", "10MB", "hand", SHOW, 0, 0},
         END,
     }},
    {"levels",
     "what each level costs, and what others cost; against the loop",
     31,
     10,
     {
         {"sbx_run, group", "10MB", "run", "10MB", "hand", SHOW, 0, 0},
         {"sbx_run, tree", "10MB", "run-auto", "10MB", "hand", SHOW, 0, 0},
         {"sbx_run, policy", "10MB", "run-policy", "10MB", "hand", SHOW, 0, 0},
         {"timeout", "10MB", "timeout", "10MB", "hand", SHOW, 0, 0},
         {"prlimit", "10MB", "prlimit", "10MB", "hand", SHOW, 0, 0},
         {"minijail0 -p -v -n", "10MB", "minijail0", "10MB", "hand", SHOW, 0, 0},
         {"bwrap --unshare-pid", "10MB", "bwrap", "10MB", "hand", SHOW, 0, 0},
         {"bwrap --unshare-all", "10MB", "bwrap-all", "10MB", "hand", SHOW, 0, 0},
         {"firejail", "10MB", "firejail", "10MB", "hand", SHOW, 0, 0},
         END,
     }},
    {"bwrap",
     "trees and policies against bwrap; and from a host of 2 GB",
     31,
     10,
     {
         {"tree, against --unshare-pid", "10MB", "run-auto", "10MB", "bwrap", AT_MOST, 0.5, 0},
         {"tree, 2 GB against 10 MB", "2GB", "run-auto", "10MB", "run-auto", AT_MOST, 1.2, 0},
         {"policy, against --unshare-all", "10MB", "run-policy", "10MB", "bwrap-all", AT_MOST, 0.4,
          0},
         {"policy, 2 GB against 10 MB", "2GB", "run-policy", "10MB", "run-policy", AT_MOST, 1.2, 0},
         END,
     }},
    {"drain",
     "256 MiB from a child; against a blocking read loop on a 1 MiB pipe",
     21,
     1,
     {
         {"read and discard (truncate_output)", "10MB", "drain", "10MB", "hand-drain", AT_LEAST,
          0.97, 268.435},
         {"keep all of it; against doubling", "10MB", "capture", "10MB", "hand-capture", AT_LEAST,
          1 / 1.05, 268.435},
         END,
     }},
    {"capture",
     "1 GiB from a child",
     7,
     1,
     {
         {"keep all of it; against doubling", "10MB", "capture-1g", "10MB", "hand-capture-1g",
          AT_LEAST, 1 / 1.05, 1073.742},
         {"SBX_KEEP_ENDS, against the beginning", "10MB", "keep-ends", "10MB", "keep-first",
          AT_LEAST, 0.9, 1073.742},
         END,
     }},
    {"many",
     "boxes from one thread, time per box",
     7,
     1,
     {
         {"1,000 that end in turn; epoll by hand", "10MB", "turn-1000", "10MB", "hand-turn-1000",
          AT_MOST, 1.3, 0},
         {"4,000", "10MB", "turn-4000", "10MB", "hand-turn-4000", AT_MOST, 1.5, 0},
         {"1,000 that end in turn; ten", "10MB", "turn-1000", "10MB", "turn-10", AT_MOST, 1.3, 0},
         {"4,000", "10MB", "turn-4000", "10MB", "turn-10", AT_MOST, 1.3, 0},
         {"1,000 in a burst, one at a time", "10MB", "many", "10MB", "one", AT_MOST, 1.3, 0},
         {"the same, one CPU", "1cpu", "many", "1cpu", "one", AT_MOST, 1.3, 0},
         END,
     }},
    {"watch",
     "memory of a tree that is watched",
     9,
     1,
     {
         {"20 that grow: past 256 MiB by", "10MB", "overshoot-20", NULL, NULL, WORST_MB, 16, 0},
         {"200 that grow", "10MB", "overshoot-200", NULL, NULL, WORST_MB, 64, 0},
         {"200 that rest: CPU of the host", "10MB", "watch-200", NULL, NULL, PERCENT, 5, 0},
         {"the same in a group: all of /proc", "10MB", "watch-200-group", NULL, NULL, SHOW, 0, 0},
         END,
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
         END,
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
         END,
     }},
#define PEERS(size, suffix)                                                                        \
    {                                                                                              \
        "peers-" size, "a tiny program by others, from a host of " size "; against the loop", 15,  \
            10, {                                                                                  \
            {"sbx_run, group", size, "run", size, "hand", SHOW, 0, 0},                             \
                {"sbx_run, tree", size, "run-auto", size, "hand", SHOW, 0, 0},                     \
                {"posix_spawn", size, "posix_spawn", size, "hand", SHOW, 0, 0},                    \
                {"Rust Command", "rust" suffix, "spawn", size, "hand", SHOW, 0, 0},                \
                {"Go os/exec", "go" suffix, "spawn", size, "hand", SHOW, 0, 0},                    \
                {"Python subprocess.run", "python" suffix, "spawn", size, "hand", SHOW, 0, 0},     \
                {"GSubprocess", "glib" suffix, "spawn", size, "hand", SHOW, 0, 0},                 \
                {"popen, through sh", size, "popen", size, "hand", SHOW, 0, 0},                    \
                {"libuv", "uv" suffix, "spawn", size, "hand", SHOW, 0, 0},                         \
                {"node spawnSync", "node" suffix, "spawn", size, "hand", SHOW, 0, 0},              \
                {"fork + exec", size, "fork", size, "hand", SHOW, 0, 0}, END,                      \
        }                                                                                          \
    }
    PEERS("10MB", ""),
    PEERS("64MB", "-64MB"),
    PEERS("256MB", "-256MB"),
    PEERS("1GB", "-1GB"),
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
    snprintf(script, sizeof script, "%s/%s", directory,
             strcmp(w->program, "node") == 0 ? "peer_node.js" : "peer_python.py");
    snprintf(tiny, sizeof tiny, "%s/tiny", directory);
    snprintf(bare, sizeof bare, "%s/bare", directory);
    if (strcmp(w->program, "python3") == 0 || strcmp(w->program, "node") == 0)
        execlp(w->program, w->program, script, w->megabytes, tiny, (char *)NULL);
    else if (w->cpus != NULL)
        execl(program, program, w->megabytes, w->cpus, tiny, bare, (char *)NULL);
    else execl(program, program, w->megabytes, tiny, (char *)NULL);
    _exit(127);
}

static void become_nobody(void) {
    if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0) _exit(127);
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
        if (as->user && geteuid() == 0) become_nobody();
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

static int checking; /* only what has a budget, and is not held yet */

static int is_due(const measure *m, int held) {
    return !checking || (m->kind != SHOW && held == 0);
}

static void do_rounds(const group *g, const int held[]) {
    int round, i;

    cell_count = 0;
    for (i = 0; g->measures[i].name != NULL; i++) {
        const measure *m = &g->measures[i];
        if (!is_due(m, held[i])) continue;
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

/* What the rounds of a measure give. */
typedef struct finding {
    double us, reference; /* medians */
    double ratio,
        spread; /* of the rounds; the spread of their middle half, in parts of the median */
    double worst;
    int held;
} finding;

static double middle(double *values, int count, double *spread) {
    double m = median(values, count);
    if (spread != NULL) *spread = m > 0 ? (values[3 * count / 4] - values[count / 4]) / m : 0;
    return m;
}

static void find(const measure *m, const cell *a, const cell *b, int rounds, finding *f) {
    double us[MAX_ROUNDS], reference[MAX_ROUNDS], ratio[MAX_ROUNDS];
    int i;

    memset(f, 0, sizeof *f);
    for (i = 0; i < rounds; i++) {
        us[i] = a->us[i];
        if (us[i] > f->worst) f->worst = us[i];
        if (b == NULL) continue;
        reference[i] = b->us[i];
        ratio[i] = m->megabytes > 0 ? reference[i] / us[i] : us[i] / reference[i];
    }
    f->us = middle(us, rounds, &f->spread);
    if (b != NULL) f->reference = middle(reference, rounds, NULL);
    if (b != NULL) f->ratio = middle(ratio, rounds, &f->spread);
    switch (m->kind) {
    case AT_MOST: f->held = f->ratio <= m->budget; break;
    case AT_LEAST: f->held = f->ratio >= m->budget; break;
    case BELOW: f->held = f->us < m->budget; break;
    case WORST_MB: f->held = f->worst <= m->budget; break;
    case PERCENT: f->held = f->us <= m->budget; break;
    default: f->held = 1; break;
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

static FILE *lines; /* the same as JSON, a measure a line */

static void format_cell(char *to, size_t size, const measure *m, double value) {
    if (m->kind == WORST_MB) snprintf(to, size, "%.1f MB", value);
    else if (m->kind == PERCENT || strstr(m->operation, "watch-") != NULL)
        snprintf(to, size, "%.1f %%", value);
    else if (m->megabytes > 0) snprintf(to, size, "%.2f GB/s", m->megabytes * 1e3 / value);
    else if (value < 1000) snprintf(to, size, "%.1f us", value);
    else snprintf(to, size, "%.2f ms", value / 1000);
}

static void format_budget(char *to, size_t size, const measure *m) {
    const char *sign[] = {"<= %.2f", ">= %.2f", "< %.0f us", "<= %.0f MB", "<= %.0f %%", ""};
    snprintf(to, size, sign[m->kind], m->budget);
}

static void print_json(const group *g, const measure *m, const finding *f) {
    if (lines == NULL) return;
    fprintf(lines, "{\"group\":\"%s\",\"name\":\"%s\",\"operation\":\"%s %s\",\"value\":%.2f",
            g->name, m->name, m->worker, m->operation, m->kind == WORST_MB ? f->worst : f->us);
    if (f->ratio > 0)
        fprintf(lines, ",\"reference\":\"%s %s\",\"reference_value\":%.2f,\"ratio\":%.4f",
                m->ref_worker, m->ref_operation, f->reference, f->ratio);
    fprintf(lines, ",\"spread\":%.3f", f->spread);
    if (m->kind != SHOW)
        fprintf(lines, ",\"budget\":%.3f,\"held\":%s", m->budget, f->held ? "true" : "false");
    fprintf(lines, "}\n");
}

static void print_measure(const group *g, const measure *m, const finding *f) {
    char mine[32], theirs[32] = "", ratio[32] = "", budget[32];

    format_cell(mine, sizeof mine, m, m->kind == WORST_MB ? f->worst : f->us);
    if (m->ref_worker != NULL) {
        format_cell(theirs, sizeof theirs, m, f->reference);
        snprintf(ratio, sizeof ratio, "%.3f", f->ratio);
    }
    format_budget(budget, sizeof budget, m);
    printf("  %-38s %10s %10s %7s %4.0f %%  %-9s %s\n", m->name, mine, theirs, ratio,
           100 * f->spread, budget,
           m->kind == SHOW ? ""
           : f->held       ? "ok"
                           : "MISSED");
    print_json(g, m, f);
}

static int budgets, held_budgets, skipped_budgets;

/* Prints what has been measured, and notes which budgets are held; returns how many are not. */
static int print_group(const group *g, int held[]) {
    int missed = 0, i;

    printf("  %-38s %10s %10s %7s %6s  %s\n", "", "this", "reference", "ratio", "spread", "budget");
    for (i = 0; g->measures[i].name != NULL; i++) {
        const measure *m = &g->measures[i];
        const cell *a, *b;
        double error;
        finding f;
        if (!is_due(m, held[i])) continue;
        a = find_cell(m->worker, m->operation);
        b = find_cell(m->ref_worker, m->ref_operation);
        error = a->error < 0 || b == NULL ? a->error : b->error;
        if (error < 0) {
            printf("  %-38s %s\n", m->name,
                   error == MISSING ? "skipped: not available here" : "FAILED");
            if (error == MISSING) held[i] = -1;
            else missed += m->kind != SHOW;
            continue;
        }
        find(m, a, b, g->rounds, &f);
        print_measure(g, m, &f);
        held[i] = f.held;
        missed += !f.held;
    }
    fflush(stdout);
    return missed;
}

static void do_group(const group *g) {
    int held[16] = {0}, tries, i;

    printf("\n%s: %s\n", g->name, g->about);
    fflush(stdout);
    for (tries = 0; tries < (checking ? 3 : 1); tries++) {
        do_rounds(g, held);
        if (print_group(g, held) == 0) break;
    }
    for (i = 0; g->measures[i].name != NULL; i++) {
        if (g->measures[i].kind == SHOW) continue;
        budgets++;
        held_budgets += held[i] > 0;
        skipped_budgets += held[i] < 0;
    }
}

static int has_budget(const group *g) {
    const measure *m;
    for (m = g->measures; m->name != NULL; m++)
        if (m->kind != SHOW) return 1;
    return 0;
}

static int wanted(const group *g, int argc, char **argv) {
    int i;
    if (checking && !has_budget(g)) return 0;
    for (i = 0; i < argc; i++)
        if (strstr(g->name, argv[i]) != NULL) return 1;
    return argc <= 0;
}

static void describe_machine(void) {
    struct utsname system_name;
    char cpu[128] = "", line[384], date[32];
    FILE *file = fopen("/proc/cpuinfo", "r");
    time_t now = time(NULL);

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "model name : %127[^\n]", cpu) == 1) break;
    if (file != NULL) fclose(file);
    uname(&system_name);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    snprintf(line, sizeof line, "%s %s, %ld CPUs (%s), %s", system_name.sysname,
             system_name.release, sysconf(_SC_NPROCESSORS_ONLN), cpu[0] ? cpu : system_name.machine,
             date);
    printf("%s; medians of interleaved rounds\n", line);
    if (lines != NULL) fprintf(lines, "{\"machine\":\"%s\"}\n", line);
}

int main(int argc, char **argv) {
    char path[512];
    int from = 2;
    size_t i;

    if (argc < 2) {
        fprintf(stderr, "usage: bench DIRECTORY [--check] [GROUP...]\n");
        return 2;
    }
    directory = argv[1];
    checking = argc > 2 && strcmp(argv[2], "--check") == 0;
    from += checking;
    signal(SIGPIPE, SIG_IGN);
    snprintf(path, sizeof path, "%s/results.jsonl", directory);
    lines = fopen(path, "w");
    describe_machine();
    for (i = 0; i < GROUP_COUNT; i++)
        if (wanted(&groups[i], argc - from, argv + from)) do_group(&groups[i]);
    stop_workers();
    printf("\n%d of %d budgets held", held_budgets, budgets);
    if (skipped_budgets > 0) printf(", %d skipped", skipped_budgets);
    printf("; all of it in %s.\n", path);
    if (lines != NULL) fclose(lines);
    return held_budgets + skipped_budgets == budgets ? 0 : 1;
}
