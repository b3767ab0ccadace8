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

static inline int test_is_portable(void) {
#if defined(SBX_NO_LINUX) || !defined(__linux__)
    return 1;
#else
    return 0;
#endif
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(TEST_ASAN)
#define TEST_ASAN 1
#endif

static inline int test_is_asan(void) {
#ifdef TEST_ASAN
    return 1;
#else
    return 0;
#endif
}

/* 1 = the kernel keeps the exit status behind a pidfd although the host ignores SIGCHLD. */
int test_kernel_keeps_status(void);

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

/* A piece of test in a forked copy of the host, for what would spoil the host itself: closed
   descriptors, limits, dispositions. The function answers "" or what went wrong. The copy is in a
   process group of its own and is killed after 30 seconds. What comes back is the function's text,
   or "killed by signal N", "exited with N", "hung". EXPECT_… does not work inside. */
const char *test_in_copy(const char *(*function)(void *arg), void *arg);

/* ==== Waiting, time, files ==================================================================== */

long long test_now_ms(void);
void test_sleep_ms(long long ms);

/* 1 as soon as the condition holds, 0 if it did not within the time (default for 0: 20 s). */
int test_wait_until(int (*condition)(void *arg), void *arg, long long ms);

int test_alive(pid_t pid); /* 0 = no such process, or only its zombie */

/* An empty directory of this user's; the path has to be PATH_MAX long. Returns path. */
const char *test_tmpdir(char *path);
void test_remove_tree(const char *path);
const char *test_write_file(const char *dir, const char *name, const void *data, size_t size,
                            mode_t mode); /* the full path, as test_text */

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

/* ==== A clock that can be moved (tests/test_clock.c) ========================================== */

/* The header reads the clocks through functions of the test program. A test moves the monotonic
   clock instead of waiting, and makes the wall clock jump, which must not matter at all. */
extern long long test_clock_skew_ms;          /* added to the monotonic clock */
void test_wall_clock_jump(long long seconds); /* every look at the wall clock is so much later */
int test_clock_can_move(void);                /* 0 = neither works in this build */

/* A run that times out as soon as it has said the text on stdout, not earlier and hardly later:
   with the checks of test_run, and a timeout_ms and on_output of its own. "" = all is well. */
const char *test_run_late(const sbx_config *config, const char *said, sbx_result *result);

#endif /* SBX_TEST_H */
