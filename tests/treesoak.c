/* The attacks on the tree by the hundred, and the numbers: treesoak [REPETITIONS [UID...]].
 *
 * As root it runs twice, as root and as uid 65534, each time in a PID namespace of its own, so that
 * whatever goes wrong goes away with it. Prints one ok or FAILED line per subject; lines with other
 * beginnings are measurements. Linked with test_corral.c, test_util.c,
 * test_clock.c and impl.c, finds `child` beside itself. */
#include "test.h"

UTEST_STATE();

#ifndef __linux__
int main(void) {
    printf("skipped: treesoak (Linux only)\n");
    return 0;
}
#else

#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define OUTER_SECONDS 700
#define LANES 6        /* attacks at the same time: most of them wait for a time-out */
#define IN_ONE_GO 2    /* repetitions in one corral: its patience is bounded */

static long repetitions = 200;
static int failed;

static void report(const char *what, const char *flaw) {
    printf("%s tree, uid %ld: %s%s%s\n", *flaw ? "FAILED " : "ok     ", (long)geteuid(), what,
           *flaw ? ": " : "", flaw);
    fflush(stdout);
    if (*flaw) failed = 1;
}

/* ==== Many jobs in a few lanes ================================================================ */

typedef struct job {
    const char *name;
    const char *(*once)(size_t index, long repetition); /* "" = well */
    size_t index;
    long left, done; /* repetitions */
    int skipped;
    char flaw[600];  /* of the first that failed */
} job;

static void *lane_page(size_t size) {
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) exit(3);
    return page;
}

static void run_lane(job *jobs, size_t count) {
    size_t i;
    for (i = 0; i < count; i++)
        while (!jobs[i].flaw[0] && !jobs[i].skipped) {
            long mine = __sync_fetch_and_sub(&jobs[i].left, 1);
            const char *flaw;
            if (mine <= 0) break;
            flaw = jobs[i].once(jobs[i].index, mine);
            if (strncmp(flaw, "skip: ", 6) == 0) jobs[i].skipped = 1;
            else if (*flaw) snprintf(jobs[i].flaw, sizeof jobs[i].flaw, "%s", flaw);
            __sync_add_and_fetch(&jobs[i].done, 1);
        }
}

/* Runs them all and reports under one heading. */
static void run_jobs(const char *heading, job *jobs, size_t count) {
    pid_t lanes[LANES];
    size_t i, well = 0, skipped = 0;
    int k, status;
    long times = 0;
    long long start = test_now_ms();
    fflush(stdout);
    for (k = 0; k < LANES; k++) {
        lanes[k] = fork();
        if (lanes[k] == 0) {
            run_lane(jobs, count);
            _exit(0);
        }
    }
    for (k = 0; k < LANES; k++)
        if (lanes[k] < 0 || waitpid(lanes[k], &status, 0) != lanes[k] || status != 0)
            report(heading, "a lane of the test broke");
    for (i = 0; i < count; i++) {
        if (jobs[i].flaw[0])
            report(jobs[i].name, test_text("after %ld: %s", jobs[i].done, jobs[i].flaw));
        else if (jobs[i].skipped)
            skipped++;
        else
            well++;
        if (!jobs[i].flaw[0] && !jobs[i].skipped) times = jobs[i].done;
    }
    if (well)
        report(test_text("%s: %lu kinds, %ld times each, %lu not possible here (%lld s)", heading,
                         (unsigned long)well, times, (unsigned long)skipped,
                         (test_now_ms() - start) / 1000), "");
}

/* ==== The jobs ================================================================================ */

typedef struct batch {
    const tree_attack *attack;
    long count;
} batch;

static const char *batch_of_attacks(void *arg) {
    const batch *b = (const batch *)arg;
    const char *flaw = "";
    long i;
    for (i = 0; i < b->count && !*flaw; i++) flaw = tree_attack_once(b->attack);
    return flaw;
}

static const char *attack_once(size_t index, long repetition) {
    batch b;
    corral c;
    (void)repetition;
    memset(&c, 0, sizeof c);
    b.attack = &tree_attacks[index];
    b.count = IN_ONE_GO;
    c.host = batch_of_attacks;
    c.arg = &b;
    return in_corral(&c);
}

static const char *doomed_once(size_t index, long repetition) {
    static const char *const roots[] = {"fds", "seize", "attach", "host"};
    int threads = repetition % 4 == 0 ? 2 : 0;
    size_t i;
    for (i = 0; i < 4 && geteuid() == 0; i++) /* documented: root stays root, and can hold pid 1 */
        if (strcmp(doomed_attacks[index].how, roots[i]) == 0) return "skip: not stopped";
    return tree_host_dies(&doomed_attacks[index], DIES_BY_KILL, -1, threads, NULL);
}

static const char *death_once(size_t index, long repetition) {
    static const int deaths[] = {DIES_BY_ABORT, DIES_BY_FAULT, DIES_BY_EXIT, DIES_BY_EXEC};
    return tree_host_dies(&doomed_attacks[0], deaths[index], -1, repetition % 2 ? 3 : 0, NULL);
}

/* Some moment between the host's first step towards a box and a little after its start. */
static const char *start_once(size_t index, long repetition) {
    int us = (int)((unsigned long)repetition * 7919u % 5000u);
    return tree_host_dies(&doomed_attacks[index], DIES_BY_KILL, us, repetition % 3 == 0, NULL);
}

static const char *place_once(size_t index, long repetition) {
    (void)repetition;
    return tree_place(tree_places[index].name, 1);
}

static void *start_box(void *arg) {
    static const char *argv[] = {NULL, "sleep", "20", "9", NULL};
    sbx_config config = {0};
    sbx_result result;
    argv[0] = test_child();
    config.argv = argv;
    config.contain = SBX_CONTAIN_TREE;
    *(sbx **)arg = sbx_start(&config, &result);
    return NULL;
}

static const char *thread_host(void *arg) {
    sbx_result result;
    pthread_t thread;
    sbx *box = NULL;
    (void)arg;
    TEST_MUST(pthread_create(&thread, NULL, start_box, &box) == 0);
    TEST_MUST(pthread_join(thread, NULL) == 0 && box);
    TEST_MUST(sbx_finish(box, &result) == SBX_EXITED && result.exit_code == 9);
    TEST_MUST(!test_has_children());
    sbx_free(&result);
    return "";
}

static const char *thread_once(size_t index, long repetition) {
    corral c;
    (void)index, (void)repetition;
    memset(&c, 0, sizeof c);
    c.host = thread_host;
    return in_corral(&c);
}

/* Codes and signals, one after the other; an index is one of 320. */
static const char *status_once(size_t index, long repetition) {
    sbx_config config = {0};
    sbx_result result;
    int code = (int)(repetition - 1) % 256, number = (int)index;
    (void)index;
    config.argv = number ? test_child_argv("raise", test_text("%d", number))
                         : test_child_argv("exit", test_text("%d", code));
    config.contain = SBX_CONTAIN_TREE;
    config.timeout_ms = LONG_MS;
    MUST_BE_WELL(test_run(&config, &result));
    if (number ? result.verdict != SBX_CRASHED || result.signal != number
               : result.exit_code != code || result.signal != 0)
        return test_text("signal %d or code %d: %s", number, code, result.message);
    sbx_free(&result);
    return "";
}

static size_t add_jobs(job *jobs, size_t count, const char *(*once)(size_t, long), long times) {
    size_t i;
    memset(jobs, 0, count * sizeof *jobs);
    for (i = 0; i < count; i++) {
        jobs[i].once = once;
        jobs[i].index = i;
        jobs[i].left = times;
        jobs[i].name = "a job";
    }
    return count;
}

static void soak(void) {
    static const int signals[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,
                                  15, 16, 24, 25, 26, 27, 29, 30, 31, 34, 35, 50, 63, 64};
    static const char *const deaths[] = {"37 host aborts", "37 host crashes", "37 host exits",
                                         "37 host becomes another program"};
    job *jobs = (job *)lane_page(64 * sizeof *jobs);
    size_t i, n;
    n = add_jobs(jobs, tree_attack_count, attack_once, (repetitions + IN_ONE_GO - 1) / IN_ONE_GO);
    for (i = 0; i < n; i++) jobs[i].name = tree_attacks[i].name;
    run_jobs(test_text("attacks 1 to 10 and on pid 1, by %d", IN_ONE_GO), jobs, n);
    n = add_jobs(jobs, doomed_attack_count, doomed_once, repetitions);
    for (i = 0; i < n; i++) jobs[i].name = doomed_attacks[i].name;
    run_jobs("37, the host is killed", jobs, n);
    n = add_jobs(jobs, 4, death_once, repetitions);
    for (i = 0; i < n; i++) jobs[i].name = deaths[i];
    run_jobs("37, the host dies", jobs, n);
    n = add_jobs(jobs, 2, start_once, 2 * repetitions);
    for (i = 0; i < n; i++) jobs[i].name = "37 host is killed while it starts";
    run_jobs("37, the host is killed while it starts", jobs, n);
    n = add_jobs(jobs, 1, thread_once, repetitions);
    run_jobs("38, the thread that started it ends", jobs, n);
    n = add_jobs(jobs, tree_place_count, place_once, (repetitions + 7) / 8);
    for (i = 0; i < n; i++) jobs[i].name = tree_places[i].name;
    run_jobs("47, odd places with 8 escapes", jobs, n);
    n = add_jobs(jobs, 1 + sizeof signals / sizeof *signals, status_once, 1);
    jobs[0].left = 256;
    for (i = 1; i < n; i++) jobs[i].index = (size_t)signals[i - 1];
    run_jobs("every exit code and signal", jobs, n);
    munmap(jobs, 64 * sizeof *jobs);
}

/* ==== Numbers ================================================================================= */

static int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Prints median and worst, and fails if more than one in twenty is past the bound: that one may be
   the machine's. */
static void numbers(const char *what, double *values, int count, const char *unit, double bound) {
    const char *flaw = "";
    int i, past = 0;
    if (count == 0) return;
    qsort(values, (size_t)count, sizeof *values, compare_numbers);
    for (i = 0; i < count; i++) past += values[i] > bound;
    if (past * 20 > count) flaw = test_text("too many past %g %s", bound, unit);
    report(test_text("%s: median %.1f %s, worst %.1f; %d of %d past %g", what, values[count / 2],
                     unit, values[count - 1], past, count, bound), flaw);
}

static void measure_kill(const char *how, double bound) {
    double ms[20];
    int i, n = 0;
    for (i = 0; i < 10; i++) {
        long long time = time_to_kill(how, "300");
        if (time < 0) report(test_text("killing 300 (%s)", how), "went wrong");
        else ms[n++] = (double)time;
    }
    numbers(test_text("time to kill 300 processes (%s)", how), ms, n, "ms", bound);
}

static void measure_overshoot(long long limit, const char *how) {
    double mb[20], most = limit / 10 > 16 * MB ? (double)limit / 10 : 16.0 * MB;
    int i, n = 0;
    for (i = 0; i < 20; i++) {
        long long over = 0;
        const char *flaw = tree_overshoot(limit, how, &over);
        if (*flaw) report("overshoot", flaw);
        else mb[n++] = (double)over / MB;
    }
    numbers(test_text("memory past a limit of %lld MB (%s)", limit / MB, how), mb, n, "MB",
            most / MB);
}

static void measure_peak(const char *who, const char *mb, const char *processes, const char *before,
                         long long limit) {
    double percent[20], off = 0;
    int i, n = 0;
    for (i = 0; i < 20; i++) {
        const char *flaw = tree_peak_error(who, mb, processes, before, limit, &off);
        if (*flaw) report("peak", flaw);
        else percent[n++] = off * 100;
    }
    numbers(test_text("error of a 20 ms peak (%s of %s MB after %s ms, limit %lld MB)", who, mb,
                      before, limit / MB), percent, n, "%", 5);
}

/* CPU time of the host per second of a quiet tree. */
static void measure_watch(const char *live, int memory, int cpu) {
    sbx_config config = {0};
    sbx_result result;
    struct rusage before, after;
    test_tether tether;
    double percent;
    int full = 0;
    sbx *box;
    if (!test_tether_open(&tether)) return;
    config.argv = test_child_argv("tree_bomb", "stay", tether.path, live, "0");
    config.contain = SBX_CONTAIN_TREE;
    config.timeout_ms = LONG_MS;
    config.grace_ms = -1;
    config.memory_bytes = memory ? 4096 * MB : 0;
    config.cpu_ms = cpu ? 100000 : 0;
    config.on_output = saw_full;
    config.user = &full;
    box = sbx_start(&config, &result);
    while (box && !full && !sbx_poll(box, 10)) {
    }
    getrusage(RUSAGE_SELF, &before);
    if (box) sbx_poll(box, 2000);
    getrusage(RUSAGE_SELF, &after);
    if (box) sbx_cancel(box);
    if (box) sbx_finish(box, &result);
    sbx_free(&result);
    test_tether_close(&tether);
    percent = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec -
                       before.ru_stime.tv_sec) * 100 / 2 +
              (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec -
                       before.ru_stime.tv_usec) / 10000 / 2;
    report(test_text("watching %s processes%s%s costs %.2f %% of a CPU", live,
                     memory ? ", memory_bytes" : "", cpu ? ", cpu_ms" : "", percent),
           percent > 15 ? "too much" : "");
}

static void measure(void) {
    measure_kill("relay", 1000);
    measure_kill("relay+setsid", 1000);
    measure_kill("spin+setsid", 2000); /* each must win CPU time before it can die */
    measure_overshoot(64 * MB, "self");
    measure_overshoot(256 * MB, "self");
    measure_overshoot(64 * MB, "orphan");
    measure_peak("self", "100", "1", "300", 400 * MB);
    measure_peak("children", "40", "4", "300", 400 * MB);
    measure_peak("self", "100", "1", "600", 0);
    measure_peak("children", "60", "1", "600", 0);
    measure_watch("1", 0, 0);
    measure_watch("1", 1, 1);
    measure_watch("20", 1, 1);
    measure_watch("200", 1, 1);
}

/* ==== Outer bounds ============================================================================ */

static int soak_as(long uid) {
    if (uid >= 0) {
        if (setgroups(0, NULL) < 0 || setgid((gid_t)uid) < 0 || setuid((uid_t)uid) < 0) {
            perror("treesoak: setuid");
            return 1;
        }
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    }
    if (!test_tree_is_possible()) {
        printf("skipped: tree, uid %ld (no PID namespace can be had here)\n", (long)geteuid());
        return 0;
    }
    if (repetitions > 0) soak();
    measure();
    return failed;
}

/* The first process of a namespace: collects what is orphaned, and takes all with it at the end. */
static int first_process(long uid) {
    int status = 0, result = 1;
    pid_t worker, pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("proc", "/proc", "proc", 0, NULL) < 0) perror("treesoak: /proc");
    worker = fork();
    if (worker == 0) exit(soak_as(uid));
    while ((pid = waitpid(-1, &status, 0)) > 0)
        if (pid == worker) result = !WIFEXITED(status) || WEXITSTATUS(status);
    return result; /* no children: nobody is left */
}

static int bounded(pid_t pid) {
    long long end = test_now_ms() + OUTER_SECONDS * 1000LL;
    int status;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (test_now_ms() > end) {
            printf("FAILED  tree: not done after %d s: killed\n", OUTER_SECONDS);
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return 1;
        }
        test_sleep_ms(20);
    }
    return !WIFEXITED(status) || WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    static const long both[] = {0, 65534};
    const long flags = CLONE_NEWPID | CLONE_NEWNS | SIGCHLD;
    int i, wrong = 0, count = argc > 2 ? argc - 2 : 2;
    test_init(argv[0]);
    if (argc > 1) repetitions = atol(argv[1]);
    if (geteuid() != 0) {
        pid_t pid = fork();
        if (pid == 0) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        return pid == 0 ? soak_as(-1) : bounded(pid);
    }
    for (i = 0; i < count; i++) {
        long uid = argc > 2 ? atol(argv[2 + i]) : both[i];
        pid_t outer;
        fflush(stdout);
        outer = (pid_t)syscall(SYS_clone, flags, 0L, 0L, 0L, 0L);
        if (outer == 0) _exit(first_process(uid ? uid : -1));
        wrong |= outer < 0 || bounded(outer);
    }
    return wrong;
}
#endif
