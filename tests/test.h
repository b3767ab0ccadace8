/* Helpers that all suites share. Includes the header under test and the test macros.

   The usual shape of a test:

       UTEST(attack, a24_exits_with_137) {
           sbx_config config = {0};
           sbx_result result;
           config.argv = test_child_argv("exit", "137");
           TEST_RUN(&config, &result);
           EXPECT_EQ(SBX_EXITED, result.verdict);
           sbx_free(&result);
       }

   TEST_RUN also checks what has to hold after every run: a result that agrees with itself, and a
   host that is exactly as it was before. */
#ifndef SBX_TEST_H
#define SBX_TEST_H

#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1
#endif
#if defined(__APPLE__) && !defined(_DARWIN_C_SOURCE)
#define _DARWIN_C_SOURCE 1
#endif

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../sbx.h"
#include "utest.h"

/* ==== Which build is this? ==================================================================== */

#if defined(SBX_NO_LINUX) || !defined(__linux__)
#define TEST_PORTABLE 1
#else
#define TEST_PORTABLE 0
#endif

/* What the header was built with: a wing that was taken off is skipped, and the tests of the set
   `wing` see that it is refused. */
#if TEST_PORTABLE || defined(SBX_NO_TREE)
#define TEST_HAS_TREE 0
#else
#define TEST_HAS_TREE 1
#endif
#if TEST_PORTABLE || defined(SBX_NO_WATCH)
#define TEST_HAS_WATCH 0
#else
#define TEST_HAS_WATCH 1
#endif
#if TEST_PORTABLE || defined(SBX_NO_CGROUP)
#define TEST_HAS_CGROUP 0
#else
#define TEST_HAS_CGROUP 1
#endif
#if TEST_PORTABLE || defined(SBX_NO_POLICY) || defined(SBX_NO_TREE) /* it enters the tree */
#define TEST_HAS_POLICY 0
#else
#define TEST_HAS_POLICY 1
#endif
#ifdef SBX_NO_CALL
#define TEST_HAS_CALL 0
#else
#define TEST_HAS_CALL 1
#endif
#ifdef SBX_NO_CODE
#define TEST_HAS_CODE 0
#else
#define TEST_HAS_CODE 1
#endif

static inline int test_is_portable(void) { return TEST_PORTABLE; }
static inline int test_has_tree(void) { return TEST_HAS_TREE; }
static inline int test_has_watch(void) { return TEST_HAS_WATCH; }
static inline int test_has_cgroup(void) { return TEST_HAS_CGROUP; }
static inline int test_has_policy(void) { return TEST_HAS_POLICY; }
static inline int test_has_call(void) { return TEST_HAS_CALL; }
static inline int test_has_code(void) { return TEST_HAS_CODE; }

#define NEED_WATCH()                                                                               \
    do {                                                                                           \
        if (!test_has_watch()) UTEST_SKIP("nobody sums up in this build");                         \
    } while (0)

#define NEED_CALL()                                                                                \
    do {                                                                                           \
        if (!test_has_call()) UTEST_SKIP("built with SBX_NO_CALL");                                \
    } while (0)

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(TEST_ASAN)
#define TEST_ASAN 1
#endif

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) && !defined(TEST_TSAN)
#define TEST_TSAN 1
#endif

static inline int test_is_tsan(void) {
#ifdef TEST_TSAN
    return 1;
#else
    return 0;
#endif
}

static inline int test_is_asan(void) {
#ifdef TEST_ASAN
    return 1;
#else
    return 0;
#endif
}

/* 1 = the kernel keeps the exit status behind a pidfd although the host ignores SIGCHLD. */
int test_kernel_keeps_status(void);

#define MB (1024LL * 1024)
#define LONG_MS 15000 /* longer than anything here takes, shorter than the child's own 20 s */
#define LATE_MS 1900  /* from a program's end to the return: a matter of a few milliseconds */
#define SHORT_MS 50   /* for what is to be timed out; TEST_RUN_READY gives more if need be */

/* ==== Running ================================================================================= */

/* The child program, as an absolute path: $SBX_TEST_CHILD, else "child" in the directory of the
   test program. test_init is for systems where that directory only shows in argv[0]. */
void test_init(const char *argv0);
const char *test_child(void);

/* For config.argv: test_child_argv("exit", "3"). Lives as long as the block it stands in, and the
   body of an if or a loop is a block even without braces. */
#define test_child_argv(...) ((const char *const[]){test_child(), __VA_ARGS__, NULL})

/* sbx_run under the checks named above; "" = all is well, otherwise the text says what is wrong.
   A run that hangs for 30 seconds ends the test program by SIGALRM. */
const char *test_run(const sbx_config *config, sbx_result *result);
#define TEST_RUN(config, result)                                                                   \
    do {                                                                                           \
        const char *test_flaw_ = test_run((config), (result));                                     \
        EXPECT_STREQ("", test_flaw_);                                                              \
    } while (0)

/* A host that got the CPU too late to be certain says so (SBX_SAW_BLIND), and so does one that
   cannot know the peak, if it is to be weighed: then once more. */
const char *test_run_in_sight(const sbx_config *config, sbx_result *result, int weighed);
#define TEST_RUN_IN_SIGHT(config, result)                                                          \
    do {                                                                                           \
        const char *test_flaw_ = test_run_in_sight((config), (result), 0);                         \
        EXPECT_STREQ("", test_flaw_);                                                              \
    } while (0)
#define TEST_RUN_WEIGHED(config, result)                                                           \
    do {                                                                                           \
        const char *test_flaw_ = test_run_in_sight((config), (result), 1);                         \
        EXPECT_STREQ("", test_flaw_);                                                              \
    } while (0)

/* How long after the end of the program, by its wall_us, the last test_run returned. */
long long test_late_ms(void);

/* For a child that says a word when it is ready and is then timed out: as TEST_RUN, but again with
   more time if the word has not come ("" = anything). So the time can be short where the machine
   is fast. */
const char *test_run_ready(sbx_config *config, const char *word, sbx_result *result);
#define TEST_RUN_READY(config, word, result)                                                       \
    do {                                                                                           \
        const char *test_flaw_ = test_run_ready((config), (word), (result));                       \
        EXPECT_STREQ("", test_flaw_);                                                              \
    } while (0)

/* Shows names, and the message if it is another one. */
#define EXPECT_VERDICT(wanted, result)                                                             \
    EXPECT_STREQ_MSG(sbx_verdict_name(wanted), sbx_verdict_name((result).verdict),                 \
                     (result).message)

/* Does the result agree with itself and the config? "" = yes. config may be NULL. */
const char *test_result_flaw(const sbx_config *config, const sbx_result *result);

/* printf into a buffer that lives until the 16th call after this one. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
const char *test_text(const char *format, ...);

/* For functions that answer with a text, "" = well: leave with the reason unless it holds. */
#define TEST_MUST(condition)                                                                       \
    do {                                                                                           \
        if (!(condition)) return test_text("%s:%d: not so: %s (errno %d)", __FILE__, __LINE__,     \
                                           #condition, errno);                                     \
    } while (0)

/* "" = the part is in the text; "a|b" = one of the two is. A part that is NULL always is. */
const char *test_lacks(const char *text, const char *part);

/* For functions that answer with a text: leave with it unless it is "". */
#define MUST_BE_WELL(text)                                                                         \
    do {                                                                                           \
        const char *text_ = (text);                                                                \
        if (*text_) return text_;                                                                  \
    } while (0)

/* For a text that came back from such a function; "skip: why" skips the test. */
#define EXPECT_WELL(text)                                                                          \
    do {                                                                                           \
        const char *text_ = (text);                                                                \
        if (strncmp(text_, "skip: ", 6) == 0) UTEST_SKIP(text_ + 6);                               \
        EXPECT_STREQ("", text_);                                                                   \
    } while (0)

/* One run of the child; the test frees the result. */
sbx_result test_run_child(int *utest_result, sbx_config *config, const char *const *argv);
#define RUN_CHILD(config, ...) test_run_child(utest_result, (config), test_child_argv(__VA_ARGS__))

/* One run of the child, or of a shell, that times out as soon as it has said the text. */
sbx_result test_run_child_late(int *utest_result, sbx_config *config, const char *said,
                               const char *const *argv);
#define RUN_LATE(config, said, ...)                                                                \
    test_run_child_late(utest_result, (config), (said), test_child_argv(__VA_ARGS__))
#define SHELL_LATE(config, said, line)                                                             \
    test_run_child_late(utest_result, (config), (said),                                            \
                        (const char *const[]){"sh", "-c", (line), NULL})

/* For copies: one run of the child and the verdict it has to get; "" = so it was. */
const char *test_runs_as(sbx_config *config, const char *const *argv, sbx_verdict verdict);

/* Leaves the function unless the run gets this verdict. */
#define MUST_RUN(config, verdict, ...)                                                             \
    MUST_BE_WELL(test_runs_as((config), test_child_argv(__VA_ARGS__), (verdict)))

/* What holds for one containment has to hold for the other: their ways to start differ. */
extern const sbx_contain test_both[2];

/* Byte number n of what the child's `write` makes; and "" = the output is the first `size` bytes of
   it, which starts again every `period`. */
char test_pattern(size_t n);
const char *test_pattern_flaw(const sbx_output *output, size_t size, size_t period);

/* For sbx_call: one that fails if there is room for a result; a 7; as many bytes 7 as there is room
   for; how much could be read from stdin, with a word on both streams. */
int test_fn_nothing(void *arg, void *ret, size_t ret_size);
int test_fn_seven(void *arg, void *ret, size_t ret_size);
int test_fn_sevens(void *arg, void *ret, size_t ret_size);
int test_fn_length(void *arg, void *ret, size_t ret_size);

/* ==== The host ================================================================================ */

#define TEST_FDS 1024
#define TEST_SIGNALS 65

typedef struct test_fd {
    int fd, fd_flags, file_flags;
    dev_t device;
    ino_t inode;
} test_fd;

/* All that a run must leave alone. */
typedef struct test_host {
    sigset_t mask, pending;
    struct sigaction actions[TEST_SIGNALS];
    int fd_count;            /* all open descriptors; the first TEST_FDS of them in detail */
    test_fd fds[TEST_FDS];
    char cwd[PATH_MAX];
    char **env;
    unsigned long env_hash;
    mode_t umask_bits;
    pid_t group, session;
    uid_t uid;
    gid_t gid;
    int dumpable, subreaper, parent_death, no_new_privs; /* Linux, else 0 */
    struct rlimit limits[8];
    int has_children;        /* live, stopped or zombie */
} test_host;

void test_host_save(test_host *host);
const char *test_host_diff(const test_host *before); /* "" = unchanged, else what changed */
int test_count_fds(void);
int test_has_children(void); /* 1 = some child, live or zombie */
long long test_host_cpu_us(void); /* CPU time of this thread */

/* A piece of test in a forked copy of the host, for what would spoil the host itself: closed
   descriptors, limits, dispositions. The function answers "" or what went wrong. The copy is in a
   process group of its own and is killed after 30 seconds. What comes back is the function's text,
   or "killed by signal N", "exited with N", "hung". EXPECT_… does not work inside. */
const char *test_in_copy(const char *(*function)(void *arg), void *arg);

/* The same as an ordinary user: of a host that is root, one whom nobody else is, so that limits of
   a user count nobody but the copy. Where that cannot be: "skip: ", and why. */
const char *test_as_user(const char *(*function)(void *arg), void *arg);

/* ==== Waiting, time, files ==================================================================== */

long long test_now_ms(void);
void test_sleep_ms(long long ms);

/* 1 as soon as the condition holds, 0 if it did not within the time (default for 0: 20 s). */
int test_wait_until(int (*condition)(void *arg), void *arg, long long ms);

int test_alive(pid_t pid); /* 0 = no such process, or only its zombie */

/* Flags between threads. */
int test_flag(int *flag);
void test_raise_flag(int *flag);

/* An empty directory of this user's; the path has to be PATH_MAX long. Returns path. */
const char *test_tmpdir(char *path);
void test_remove_tree(const char *path);
const char *test_write_file(const char *dir, const char *name, const void *data, size_t size,
                            mode_t mode); /* the full path, as test_text */

/* The child program once more, under this path; "" = could not be made. */
const char *test_copy_of_child(const char *dir, const char *name);

/* A tether tells whether anybody of a tree is still there, in whatever session, group or namespace:
   it is a named pipe. Processes of the tree open the path, write a line and keep it open as long as
   they live; those that linger on purpose leave when the path is gone. */
typedef struct test_tether {
    char dir[PATH_MAX], path[PATH_MAX + 16];
    int fd;
} test_tether;

int test_tether_open(test_tether *tether);         /* 1 = made */
int test_tether_held(const test_tether *tether);   /* 1 = some process has it open now */
long test_tether_lines(const test_tether *tether); /* how many lines came since the last call */
int test_tether_close(test_tether *tether);        /* asks all to leave; 1 = all are gone */

/* ==== Allocations of the header (tests/impl.c hooks these in) ================================= */

void *test_realloc(void *block, size_t size);
void test_free(void *block);
void test_fail_allocation(long nth); /* the nth from now on fails, once; 0 = none */
long test_allocations(void);         /* since the last test_fail_allocation */
long test_live_blocks(void);
size_t test_largest_block(void); /* asked for since the last test_fail_allocation */

/* ==== A clock that can be moved (tests/test_clock.c) ========================================== */

/* The header reads the clocks through functions of the test program. A test moves the monotonic
   clock instead of waiting, and makes the wall clock jump, which must not matter at all. */
extern long long test_clock_skew_ms;          /* added to the monotonic clock */
void test_wall_clock_jump(long long seconds); /* every look at the wall clock is so much later */
void test_cpu_clock_jump(long long seconds);  /* the same for the CPU time of a thread */
int test_clock_can_move(void);                /* 0 = none of it works in this build */

/* A run that times out as soon as it has said the text on stdout, not earlier and hardly later:
   with the checks of test_run, and a timeout_ms and on_output of its own. "" = all is well. */
const char *test_run_late(const sbx_config *config, const char *said, sbx_result *result);

#ifdef __linux__

/* ==== A copy whose system calls are seen, or refused (tests/test_trace.c) ===================== */

typedef struct test_traced_call {
    int child;                  /* 1 = made by a child of the host, before it ran its program */
    long number;
    unsigned long long args[6]; /* of clone3: args[0] holds the flags */
    long long result;           /* what came back; seen = 0: it never did */
    int seen;
} test_traced_call;

#define TEST_TRACED_CALLS 20000
typedef struct test_trace {
    int count, lost, reads; /* reads: how many the host made; they are not kept */
    char answer[2048];
    test_traced_call at[TEST_TRACED_CALLS];
} test_trace;

test_trace *test_trace_new(void); /* NULL = no memory */

/* Runs the function in one more copy and notes the host's system calls, and those of its children
   up to their exec. "" = it answered "". */
const char *test_traced_copy(test_trace *t, const char *(*function)(void *), void *arg);

/* From here on these calls fail with this error, in this process and all it starts. 1 = done */
int test_forbid(const int *numbers, int count, int error);

/* ==== The tree: a corral, attacks, odd places (tests/test_corral.c) =========================== */

#define NEED_TREE()                                                                                \
    do {                                                                                           \
        if (!test_tree_is_possible()) UTEST_SKIP("no PID namespace can be had here");              \
    } while (0)

/* A process in between becomes the parent of every orphan below it, whatever session, group or
   namespace that one is in. It runs the host, kills it if it is told to, and afterwards waits until
   nobody is left. Whoever is left after that is a survivor: killed by its number, and reported. */
typedef struct corral {
    const char *(*host)(void *arg); /* runs boxes; answers "" or what is wrong */
    void *arg;
    int (*kill_when)(void *arg);    /* NULL = the host ends by itself */
    int patience_ms;                /* how long orphans may take to be gone; 0 = not at all */
    volatile long long *gone_ms;    /* out: how long it took; in shared memory */
} corral;

const char *in_corral(corral *c);

typedef struct tree_attack {
    const char *name;
    const char *mode, *how;     /* child MODE HOW TETHER THEN ACT, or MODE TETHER for how = NULL */
    const char *then, *act;
    sbx_verdict verdict;
    int timeout_ms;             /* 0 = it ends by itself */
} tree_attack;

extern const tree_attack tree_attacks[];
extern const size_t tree_attack_count;

/* One run of an attack, as the host sees it: nobody is left when sbx_run returns. */
const char *tree_attack_once(const tree_attack *a);

/* All attacks of one number. */
const char *host_of_attacks(void *number);

enum { DIES_BY_KILL, DIES_BY_ABORT, DIES_BY_FAULT, DIES_BY_EXIT, DIES_BY_EXEC };

/* In these the program stays until its tree is ended, and says something when its trick is done. */
extern const tree_attack doomed_attacks[];
extern const size_t doomed_attack_count;

/* A host that dies with a box in it: nothing of the tree is left shortly afterwards. */
const char *tree_host_dies(const tree_attack *a, int death, int kill_after_us, int threads,
                           long long *gone_ms);

int put_text(const char *path, const char *text);

/* A user namespace for this process. inner = its number in there; -1 = none is mapped. */
int own_users(long inner_uid, long inner_gid, int more);

/* A mount namespace of its own; as an ordinary user inside a user namespace with the same ids. */
int own_mounts(void);

int test_tree_is_possible(void);

/* The number, on this side, of the pid 1 that this process has made for a tree; 0 = there is none.
   And its name, as test_text. */
int tree_pid_1(void);
const char *tree_name_of_pid_1(void);

/* Orphans in sessions of their own, 8 x 40 MB under 64 MB. */
const char *memory_holds(sbx_contain contain);

const char *in_place(const char *(*place)(void *), void *arg);

typedef struct tree_place_row {
    const char *name;
    const char *(*host)(void *arg);
    void *arg;
} tree_place_row;

extern const tree_place_row tree_places[];
extern const size_t tree_place_count;

const char *tree_place(const char *name, int lightly);

int saw_full(void *user, sbx_stream stream, const char *data, size_t size);

/* From the cancel to the return of sbx_finish, in ms; -1 = it did not come to that. */
long long time_to_kill(const char *how, const char *live);

/* How far past its limit a child comes that touches memory at full speed. */
const char *tree_overshoot(long long limit, const char *how, long long *over);

/* How far peak_bytes is from what the processes themselves say, for a peak of 20 ms. */
const char *tree_peak_error(const char *who, const char *mb, const char *processes,
                            const char *before, long long limit, double *off);

#endif /* __linux__ */
#endif /* SBX_TEST_H */
