/* Thousands of runs, failed starts, calls and dropped boxes must leave the host as it was: open
 * descriptors, the header's allocations to the byte, the heap, children, and the signal mask.
 *
 *     soak                10,000 runs and failed starts, 2,000 calls, 1,000 drops in each state
 *     soak MODE [COUNT]   one of: runs, failures, calls, drops
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
#ifdef SBX_NO_LINUX      /* orphans are waited for there until the system has collected them */
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
    if (!old) live_blocks++;
    live_bytes += (long)size - before;
    fresh->size = size;
    return fresh + 1;
}

static void counted_free(void *block) {
    head *old = block ? (head *)block - 1 : NULL;
    if (!old) return;
    live_blocks--;
    live_bytes -= (long)old->size;
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
    static const char *const fine[] = {"true", NULL}, *const wrong_env[] = {"A=1", "wrong", NULL};
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
    static const char *const names[STATES] = {
        "exec sleep 20",       "exec sleep 20", "exec yes", "kill -STOP $$; exec sleep 20",
        "exit 3",              "exec cat",      "sleep 20 & exec sleep 20",
        "trap '' TERM; echo x; exec sleep 20", "exec >&- 2>&-; exec sleep 20"};
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
    check(kind, "open descriptors", before.descriptors, after.descriptors, 0);
    check(kind, "allocated blocks", before.blocks, after.blocks, 0);
    check(kind, "allocated bytes", before.bytes, after.bytes, 0);
    check(kind, "bytes of the heap in use", before.heap, after.heap, HEAP_SLACK);
    check(kind, "children", before.children, after.children, 0);
    check(kind, "blocked signals", before.blocked, after.blocked, 0);
    fflush(stdout);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "all";
    long count = argc > 2 ? atol(argv[2]) : 0;
    int all = strcmp(mode, "all") == 0;
    alarm(HANG_SECONDS);
    if (all || strcmp(mode, "runs") == 0) soak("runs", one_run, count ? count : 10000);
    if (all || strcmp(mode, "failures") == 0) soak("failures", one_failure, count ? count : 10000);
    if (all || strcmp(mode, "calls") == 0) soak("calls", one_call, count ? count : 2000);
    if (all || strcmp(mode, "drops") == 0) soak("drops", one_drop, count ? count : DROPS);
    if (passed + failed == 0) {
        fprintf(stderr, "usage: soak [runs|failures|calls|drops|all [COUNT]]\n");
        return 2;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed ? 1 : 0;
}
