/* Thousands of runs, failed starts, calls and dropped boxes must leave the host as it was: open
 * descriptors, the header's allocations to the byte, the heap, children, and the signal mask.
 *
 *     soak                10,000 runs and failed starts, 2,000 calls, 1,000 drops in each state
 *     soak MODE [COUNT]   one of: runs, failures, calls, drops
 *     soak mixed MINUTES  boxes of every kind at random, from eight threads at once
 *
 * Prints a line for each kind and "N passed, N failed"; exits with 1 if any failed. */
#include <stddef.h>

static void *counted_realloc(void *block, size_t size);
static void counted_free(void *block);

#define SBX_REALLOC counted_realloc
#define SBX_FREE counted_free
#define SBX_IMPLEMENTATION
#include "../sbx.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#define HANG_SECONDS 900 /* a hang ends the program */
#define THREADS 8
#ifdef SBX_NO_LINUX /* orphans are waited for there until the system has collected them */
#define DROPS 1000L
#else
#define DROPS (1000L * STATES)
#endif
#define HEAP_SLACK 65536 /* what the allocator itself may keep; less than 8 bytes a time */

/* ==== What is counted ========================================================================= */

static long live_blocks, live_bytes;

typedef union head { /* in front of every block: its size, and the alignment of malloc */
    size_t size;
    long double alignment;
} head;

static void *counted_realloc(void *block, size_t size) {
    head *old = block ? (head *)block - 1 : NULL;
    long before = old ? (long)old->size : 0;
    head *fresh = (head *)realloc(old, sizeof *fresh + size);
    if (!fresh) return NULL;
    if (!old) __atomic_add_fetch(&live_blocks, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&live_bytes, (long)size - before, __ATOMIC_RELAXED);
    fresh->size = size;
    return fresh + 1;
}

static void counted_free(void *block) {
    head *old = block ? (head *)block - 1 : NULL;
    if (!old) return;
    __atomic_sub_fetch(&live_blocks, 1, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&live_bytes, (long)old->size, __ATOMIC_RELAXED);
    free(old);
}

typedef struct census {
    long descriptors, blocks, bytes, heap, blocked;
    int children;
} census;

static long count_descriptors(void) {
    long count = 0, limit = sysconf(_SC_OPEN_MAX), fd;
    DIR *dir = opendir("/proc/self/fd");
    if (dir) {
        while (readdir(dir)) count++;
        closedir(dir);
        return count;
    }
    for (fd = 0; fd < limit && fd < 65536; fd++) count += fcntl((int)fd, F_GETFD) >= 0;
    return count;
}

static census take_census(void) {
    census now;
    sigset_t mask;
    siginfo_t info;
    int i;
    now.descriptors = count_descriptors();
    now.blocks = live_blocks;
    now.bytes = live_bytes;
    now.heap = 0;
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    now.heap = (long)mallinfo2().uordblks;
#endif
    now.children = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (now.blocked = 0, i = 1; i < 32; i++) now.blocked += sigismember(&mask, i) == 1;
    return now;
}

/* ==== What is done; "" = it went as it should ================================================= */

static char complaint[400];

static const char *judge(const sbx_result *r, sbx_verdict wanted) {
    if (r->verdict == wanted) return "";
    snprintf(complaint, sizeof complaint, "%s: %s", sbx_verdict_name(r->verdict), r->message);
    return complaint;
}

static const char *one_run(long i) {
    static const char *const quiet[] = {"true", NULL}, *const echo[] = {"cat", NULL};
    static const char *const loud[] = {"head", "-c", "100000", "/dev/zero", NULL};
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    config.argv = i % 3 == 0 ? quiet : i % 3 == 1 ? echo : loud;
    config.input = i % 3 == 1 ? "some input" : NULL;
    config.input_size = i % 3 == 1 ? 10 : 0;
    config.contain = i % 2 ? SBX_CONTAIN_GROUP : SBX_CONTAIN_AUTO;
    if (i % 10 == 9) config.output_bytes = 1000;
    if (i % 20 == 7) config.memory_bytes = 1LL << 33, config.cpu_ms = 20000;
    sbx_run(&config, i % 7 == 6 ? NULL : &result);
    if (i % 7 == 6) return "";
    flaw = judge(&result, i % 10 == 9 && i % 3 == 2 ? SBX_OUTPUT_LIMIT : SBX_OK);
    sbx_free(&result);
    return flaw;
}

static const char *one_failure(long i) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    static const char *const directory[] = {"/", NULL};
    static const char *const unknown[] = {"no-such-program-anywhere", NULL};
    static const char *const fine[] = {"true", NULL}, *const wrong_env[] = {"A=1", "=wrong", NULL};
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    if (i % 6 == 5) { /* in_fd is the wrong one */
        config.in = SBX_FD;
        config.in_fd = 999;
    } else {
        config.input = "kept until it fails";
        config.input_size = 19;
    }
    config.contain = i % 2 ? SBX_CONTAIN_GROUP : SBX_CONTAIN_AUTO;
    config.argv = i % 6 == 0 ? missing : i % 6 == 1 ? directory : i % 6 == 2 ? unknown : fine;
    if (i % 6 == 3) config.cwd = "/nowhere";
    if (i % 6 == 4) config.env = wrong_env;
    if (i % 4 == 3) {
        if (sbx_start(&config, &result)) return "a box that must not be";
    } else {
        sbx_run(&config, &result);
    }
    flaw = judge(&result, SBX_NOT_STARTED);
    sbx_free(&result);
    return flaw;
}

static int one_function(void *arg, void *ret, size_t ret_size) {
    long i = *(long *)arg;
    memset(ret, 7, ret_size);
    if (i % 4 == 1) sbx_fail("no %ld", i);
    if (i % 4 == 2) abort();
    if (i % 4 == 3) _exit(3);
    return 0;
}

static const char *one_call(long i) {
    static const sbx_verdict wanted[] = {SBX_OK, SBX_NO_RESULT, SBX_CRASHED, SBX_NO_RESULT};
    static char ret[100000];
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    config.contain = i % 2 ? SBX_CONTAIN_GROUP : SBX_CONTAIN_AUTO;
    sbx_call(&config, one_function, &i, ret, i % 8 ? 64 : sizeof ret, &result);
    flaw = judge(&result, wanted[i % 4]);
    sbx_free(&result);
    return flaw;
}

enum { STATES = 9 };

static const char *one_drop(long i) {
    static const char *const names[STATES] = {"exec sleep 20",
                                              "exec sleep 20",
                                              "exec yes",
                                              "kill -STOP $$; exec sleep 20",
                                              "exit 3",
                                              "exec cat",
                                              "sleep 20 & exec sleep 20",
                                              "trap '' TERM; echo x; exec sleep 20",
                                              "exec >&- 2>&-; exec sleep 20"};
    int state = (int)(i % STATES), k;
    const char *flaw;
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    config.command = names[state];
    config.truncate_output = 1;
    config.inherit_env = 1;
    config.in = SBX_PIPE;
    config.contain = i % 2 ? SBX_CONTAIN_GROUP : SBX_CONTAIN_AUTO;
    config.grace_ms = state == 7 ? 2 : -1;
    box = sbx_start(&config, &result);
    if (!box) return judge(&result, SBX_OK);
    if (state != 0) sbx_poll(box, 0);
    if (state == 2 || state == 3 || state == 7) sbx_poll(box, 1);
    for (k = 0; state == 4 && k < 10000 && !sbx_poll(box, 10); k++) {
    }
    for (k = 0; state == 5 && k < 100 && sbx_write(box, complaint, sizeof complaint) > 0; k++) {
    }
    if (state == 6) sbx_close_input(box);
    sbx_cancel(box);
    if (state == 7) sbx_poll(box, 0);
    sbx_finish(box, i % 5 ? &result : NULL);
    if (i % 5 == 0) return "";
    flaw = judge(&result, state == 4 ? SBX_EXITED : SBX_CANCELLED);
    sbx_free(&result);
    return flaw;
}

/* ==== Boxes of every kind, from several threads =============================================== */

typedef struct box_kind {
    const char *name, *command;
    sbx_verdict verdict;
    int code; /* of its exit; -1 = whatever */
    void (*set)(sbx_config *config, unsigned *random);
} box_kind;

static unsigned next(unsigned *random) { return *random = *random * 1103515245u + 12345u; }
static unsigned below(unsigned *random, unsigned range) { return (next(random) >> 8) % range; }

static void in_a_moment(sbx_config *c, unsigned *random) {
    c->timeout_ms = 20 + below(random, 200);
    c->grace_ms = (long long)below(random, 100) + 1;
}

static void small_cap(sbx_config *c, unsigned *random) {
    c->output_bytes = 1 + below(random, 90000);
}

static void cut_short(sbx_config *c, unsigned *random) {
    small_cap(c, random);
    c->truncate_output = 1;
}

static void little_memory(sbx_config *c, unsigned *random) {
    c->memory_bytes = (20 + (long long)below(random, 20)) << 20;
    c->grace_ms = -1;
}

static void little_cpu(sbx_config *c, unsigned *random) { c->cpu_ms = 50 + below(random, 100); }

static void far_limits(sbx_config *c, unsigned *random) {
    c->memory_bytes = 1LL << 32;
    c->cpu_ms = 20000 + below(random, 1000);
    c->open_files = 100;
    c->stack_bytes = 1 << 23;
}

static void nowhere(sbx_config *c, unsigned *random) {
    (void)random;
    c->cwd = "/nowhere";
}

static const box_kind kinds[] = {
    {"quiet", "exit 0", SBX_OK, 0, NULL},
    {"code", "exit 3", SBX_EXITED, 3, NULL},
    {"limits", "echo x; exit 4", SBX_EXITED, 4, far_limits},
    {"crash", "kill -SEGV $$; sleep 1", SBX_CRASHED, -1, NULL},
    {"late", "exec sleep 60", SBX_TIMED_OUT, -1, in_a_moment},
    {"stubborn", "trap '' TERM; while :; do sleep 1; done", SBX_TIMED_OUT, -1, in_a_moment},
    {"orphan", "sleep 60 & exit 5", SBX_EXITED, 5, NULL},
    {"flood", "exec head -c 300000 /dev/zero", SBX_OUTPUT_LIMIT, -1, small_cap},
    {"cut", "head -c 300000 /dev/zero; exit 0", SBX_OK, 0, cut_short},
    {"hog", "head -c 200000000 /dev/zero | tail >/dev/null", SBX_MEMORY_LIMIT, -1, little_memory},
    {"busy", "while :; do :; done", SBX_CPU_LIMIT, -1, little_cpu},
    {"lost way", "exit 0", SBX_NOT_STARTED, -1, nowhere},
};
enum { KINDS = sizeof kinds / sizeof *kinds, OTHERS = 6, ALL = KINDS + OTHERS };
static const char *const other_names[OTHERS] = {"echo", "cancelled", "function",
                                                "read", "code",      "policy"};

static long mixed_count[ALL], mixed_wrong[ALL];
static long long mixed_end; /* by the clock that only goes forward */
static int has_policy;

static long long seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec;
}

static int is_wrong(const sbx_result *r, sbx_verdict verdict, int code, char *why, size_t room) {
    if (r->verdict == verdict && (code < 0 || r->exit_code == code) && r->message[0]) return 0;
    snprintf(why, room, "%s (%d): %s", sbx_verdict_name(r->verdict), r->exit_code, r->message);
    return 1;
}

static int mixed_run(const box_kind *k, sbx_config *c, unsigned *random, char *why, size_t room) {
    sbx_result r;
    int wrong;
    c->command = k->command;
    if (k->set) k->set(c, random);
    sbx_run(c, &r);
    wrong = is_wrong(&r, k->verdict, k->code, why, room);
    sbx_free(&r);
    return wrong;
}

/* Bytes in, the same bytes out. */
static int mixed_echo(sbx_config *c, unsigned *random, char *why, size_t room) {
    static const char *const argv[] = {"cat", NULL};
    size_t size = below(random, 200000), i;
    char *bytes = (char *)malloc(size + 1);
    static const int passed[] = {0, 2, -1};
    sbx_result r;
    sbx *box;
    int wrong;
    for (i = 0; i < size; i++) bytes[i] = (char)(i * 7 + size);
    c->argv = argv;
    c->input = bytes;
    c->input_size = size;
    c->pass_fds = below(random, 2) ? passed : NULL;
    if (below(random, 2)) {
        box = sbx_start(c, &r);
        memset(bytes, 0, size); /* a box beside the host has its own copy */
        if (box) sbx_finish(box, &r);
        for (i = 0; i < size; i++) bytes[i] = (char)(i * 7 + size);
    } else {
        sbx_run(c, &r);
    }
    wrong = is_wrong(&r, SBX_OK, 0, why, room);
    if (!wrong && (r.out.size != size || memcmp(r.out.data, bytes, size) != 0)) {
        wrong = 1;
        snprintf(why, room, "%lu bytes came back of %lu", (unsigned long)r.out.size,
                 (unsigned long)size);
    }
    sbx_free(&r);
    free(bytes);
    return wrong;
}

static int mixed_cancel(sbx_config *c, unsigned *random, char *why, size_t room) {
    sbx_result r;
    sbx *box;
    int wrong;
    c->command = "while :; do read line; echo $line; done";
    c->in = SBX_PIPE;
    c->grace_ms = 50;
    c->truncate_output = 1;
    box = sbx_start(c, &r);
    if (box) {
        sbx_write(box, "a line\n", 7);
        sbx_poll(box, (long long)below(random, 30));
        sbx_cancel(box);
        sbx_finish(box, &r);
    }
    wrong = is_wrong(&r, SBX_CANCELLED, -1, why, room);
    sbx_free(&r);
    return wrong;
}

/* What it writes is taken out while it runs. */
static int mixed_read(sbx_config *c, unsigned *random, char *why, size_t room) {
    char bytes[5000];
    long long n = 0, taken = 0;
    sbx_result r;
    sbx *box;
    int wrong;
    c->command = "head -c 6000000 /dev/zero; exit 6";
    c->output_bytes =
        3000000 + below(random, 1000); /* less than all: what is taken counts no more */
    box = sbx_start(c, &r);
    while (box && n >= 0) {
        n = sbx_read(box, SBX_STDOUT, bytes, sizeof bytes);
        if (n > 0) taken += n;
        if (n == 0) sbx_poll(box, 100);
    }
    if (box) sbx_finish(box, &r);
    wrong = is_wrong(&r, SBX_EXITED, 6, why, room);
    if (!wrong && taken != 6000000) {
        wrong = 1;
        snprintf(why, room, "%lld bytes were read", taken);
    }
    sbx_free(&r);
    return wrong;
}

static int mixed_code(sbx_config *c, unsigned *random, char *why, size_t room) {
    static const char text[] = "echo it runs\nexit 9\n";
    sbx_result r;
    int wrong;
    (void)random;
    sbx_run_code(c, "sh", text, sizeof text - 1, &r);
    wrong = is_wrong(&r, SBX_EXITED, 9, why, room);
    sbx_free(&r);
    return wrong;
}

static int mixed_function(void *arg, void *ret, size_t size) {
    int how = *(int *)arg;
    memset(ret, 7, size);
    if (how == 1) sbx_fail("no");
    if (how == 2) raise(SIGKILL);
    return 0;
}

static int mixed_call(sbx_config *c, unsigned *random, char *why, size_t room) {
    static const sbx_verdict wanted[] = {SBX_OK, SBX_NO_RESULT, SBX_CRASHED};
    int how = (int)below(random, 3), wrong;
    char ret[64];
    sbx_result r;
    sbx *box;
    if (below(random, 2)) {
        box = sbx_start_call(c, mixed_function, &how, ret, sizeof ret, &r);
        if (box) sbx_finish(box, &r);
    } else {
        sbx_call(c, mixed_function, &how, ret, sizeof ret, &r);
    }
    wrong = is_wrong(&r, wanted[how], -1, why, room);
    sbx_free(&r);
    return wrong;
}

static int mixed_policy(sbx_config *c, unsigned *random, char *why, size_t room) {
    static const sbx_policy strict; /* nothing but the system's own */
    sbx_result r;
    int wrong;
    (void)random;
    c->contain = SBX_CONTAIN_AUTO;
    c->command = "echo x >/var/tmp/sbx-soak && exit 1; ls /root >/dev/null 2>&1 && exit 2; exit 0";
    c->policy = &strict;
    sbx_run(c, &r);
    wrong = is_wrong(&r, SBX_OK, 0, why, room);
    sbx_free(&r);
    return wrong;
}

static void *mixed_thread(void *arg) {
    unsigned random = 2463534242u * ((unsigned)*(int *)arg + 1);
    char why[400];
    while (seconds_now() < mixed_end) {
        unsigned which = below(&random, ALL);
        sbx_config c = {0};
        int wrong = 0;
        c.inherit_env = 1;
        c.timeout_ms = 60000;
        c.contain = (sbx_contain)below(&random, 2); /* the tree where it can be, or the group */
        if (which < KINDS) wrong = mixed_run(&kinds[which], &c, &random, why, sizeof why);
        else if (which == KINDS) wrong = mixed_echo(&c, &random, why, sizeof why);
        else if (which == KINDS + 1) wrong = mixed_cancel(&c, &random, why, sizeof why);
        else if (which == KINDS + 2) wrong = mixed_call(&c, &random, why, sizeof why);
        else if (which == KINDS + 3) wrong = mixed_read(&c, &random, why, sizeof why);
        else if (which == KINDS + 4) wrong = mixed_code(&c, &random, why, sizeof why);
        else if (has_policy) wrong = mixed_policy(&c, &random, why, sizeof why);
        else continue;
        __atomic_add_fetch(&mixed_count[which], 1, __ATOMIC_RELAXED);
        if (wrong && __atomic_add_fetch(&mixed_wrong[which], 1, __ATOMIC_RELAXED) <= 5)
            fprintf(stderr, "    %s: %s\n",
                    which < KINDS ? kinds[which].name : other_names[which - KINDS], why);
    }
    return NULL;
}

/* ==== Doing it often ========================================================================== */

static int failed, passed;

static void check(const char *kind, const char *what, long before, long after, long slack) {
    if (after >= before - slack && after <= before + slack) {
        passed++;
        return;
    }
    failed++;
    printf("FAILED  %s: %s %ld, before %ld\n", kind, what, after, before);
}

static void compare(const char *kind, const census *before, const census *after) {
    check(kind, "open descriptors", before->descriptors, after->descriptors, 0);
    check(kind, "allocated blocks", before->blocks, after->blocks, 0);
    check(kind, "allocated bytes", before->bytes, after->bytes, 0);
    check(kind, "bytes of the heap in use", before->heap, after->heap, HEAP_SLACK);
    check(kind, "children", before->children, after->children, 0);
    check(kind, "blocked signals", before->blocked, after->blocked, 0);
}

static void soak(const char *kind, const char *(*once)(long i), long count) {
    long i, wrong = 0;
    census before, after;
    for (i = 0; i < 60; i++) once(i); /* whatever is made once is made now */
    before = take_census();
    for (i = 0; i < count; i++) {
        const char *flaw = once(i);
        if (*flaw && wrong++ < 5) printf("    %s %ld: %s\n", kind, i, flaw);
    }
    after = take_census();
    printf("        %s: %ld\n", kind, count);
    check(kind, "unexpected results", 0, wrong, 0);
    compare(kind, &before, &after);
    fflush(stdout);
}

/* All of it twice: whatever is made once for a thread is made in the first seconds. */
static void soak_mixed(long minutes) {
    static int numbers[THREADS];
    pthread_t threads[THREADS];
    census before, after;
    sbx_caps caps;
    long total = 0, wrong = 0;
    int round, i;
    sbx_probe(&caps);
    has_policy = caps.policy;
    memset(&before, 0, sizeof before);
    for (round = 0; round < 2; round++) {
        mixed_end = seconds_now() + (round ? minutes * 60 : 3);
        for (i = 0; i < THREADS; i++) numbers[i] = i + round * THREADS;
        for (i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, mixed_thread, &numbers[i]) != 0) exit(2);
        for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        if (round == 0) before = take_census();
    }
    after = take_census();
    for (i = 0; i < ALL; i++) {
        const char *name = i < KINDS ? kinds[i].name : other_names[i - KINDS];
        printf("        %-10s %7ld, %ld wrong\n", name, mixed_count[i], mixed_wrong[i]);
        if (mixed_count[i]) check(name, "wrong verdicts", 0, mixed_wrong[i], 0);
        total += mixed_count[i];
        wrong += mixed_wrong[i];
    }
    if (!has_policy) printf("skipped: boxes under a policy: %s\n", caps.policy_why);
    printf("        %ld boxes from %d threads in %ld minutes, %ld wrong\n", total, THREADS, minutes,
           wrong);
    compare("mixed", &before, &after);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "all";
    long count = argc > 2 ? atol(argv[2]) : 0;
    int all = strcmp(mode, "all") == 0;
    alarm(HANG_SECONDS + (unsigned)(strcmp(mode, "mixed") == 0 ? count * 60 : 0));
    if (strcmp(mode, "mixed") == 0) soak_mixed(count ? count : 1);
    if (all || strcmp(mode, "runs") == 0) soak("runs", one_run, count ? count : 10000);
    if (all || strcmp(mode, "failures") == 0) soak("failures", one_failure, count ? count : 10000);
    if (all || strcmp(mode, "calls") == 0) soak("calls", one_call, count ? count : 2000);
    if (all || strcmp(mode, "drops") == 0) soak("drops", one_drop, count ? count : DROPS);
    if (passed + failed == 0) {
        fprintf(stderr,
                "usage: soak [runs|failures|calls|drops|all [COUNT]], soak mixed MINUTES\n");
        return 2;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed ? 1 : 0;
}
