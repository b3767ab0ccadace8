/* Trouble on the host's side: its signals, descriptors, memory, processes, clocks and threads. What
   would spoil the test program runs in a copy of it. */
#include "test.h"

#include <pthread.h>
#ifdef __linux__
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#endif

/* ==== Its signals ============================================================================= */

static volatile sig_atomic_t pipe_signals;
static void count_pipe_signal(int number) {
    (void)number;
    pipe_signals++;
}

static int tells_signals(void *arg, void *ret, size_t ret_size) {
    struct sigaction action;
    sigset_t blocked;
    int i, *count = (int *)ret;
    (void)arg, (void)ret_size;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (i = 1; i < 32; i++) {
        if (sigismember(&blocked, i) == 1) count[0]++;
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL) count[1]++;
    }
    return 0;
}

static const char *signals_of_the_child(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    sigset_t all;
    const char *flaw;
    int i, counts[2] = {0, 0};
    (void)arg;
    for (i = 1; i < 65; i++)
        if (i != SIGALRM) signal(i, i % 3 == 0 ? count_pipe_signal : SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* P13 is about that one */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    config.argv = test_child_argv("signals");
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (strcmp(result.out.data, "seen\n")) return test_text("it has %s", result.out.data);
    sbx_free(&result);
    config.argv = NULL; /* a function starts as fresh as a program */
    if (test_has_call()) {
        TEST_MUST(sbx_call(&config, tells_signals, NULL, counts, sizeof counts, &result) == SBX_OK);
        sbx_free(&result);
    }
    TEST_MUST(counts[0] == 0);
    if (!test_is_asan()) TEST_MUST(counts[1] == 0);
    config.timeout_ms = 200; /* so SIGTERM ends it */
    config.grace_ms = 15000;
    config.argv = test_child_argv("sleep");
    TEST_MUST(sbx_run(&config, &result) == SBX_TIMED_OUT && result.signal == SIGTERM);
    sbx_free(&result);
    return "";
}

UTEST(pitfall, P11_child_starts_with_no_signal_blocked_or_ignored) {
    EXPECT_STREQ("", test_in_copy(signals_of_the_child, NULL));
}

static int no_work(void *arg, void *ret, size_t size) {
    (void)arg, (void)ret, (void)size;
    return 0;
}

/* Somebody signals the host's group all the time: a child belongs to it until it has a session. */
static const char *signalled_all_the_time(void *arg) {
    sbx_config config = {0};
    struct sigaction action;
    sbx_result result;
    struct timespec pause_time = {0, 50000};
    const char *flaw = "";
    pid_t sender;
    int i;
    memset(&action, 0, sizeof action);
    action.sa_handler = count_pipe_signal;
    sigaction(SIGUSR1, &action, NULL);
    TEST_MUST(setpgid(0, 0) == 0);
    sender = fork();
    if (sender == 0) {
        pid_t group = getppid();
        setpgid(0, 0);
        alarm(60);
        while (kill(-group, SIGUSR1) == 0) nanosleep(&pause_time, NULL);
        _exit(0);
    }
    config.contain = *(const sbx_contain *)arg;
    config.timeout_ms = LONG_MS;
    for (i = 0; i < 12 && !*flaw; i++) {
        config.argv = i % 2 || !test_has_call() ? test_child_argv("exit", "0") : NULL;
        if (config.argv) sbx_run(&config, &result);
        else sbx_call(&config, no_work, NULL, NULL, 0, &result);
        if (result.verdict != SBX_OK) flaw = test_text("run %d: %s", i, result.message);
        sbx_free(&result);
    }
    kill(sender, SIGKILL);
    waitpid(sender, NULL, 0);
    return flaw;
}

UTEST(pitfall, P11_signals_of_the_hosts_group_are_not_for_the_child) {
    sbx_contain contain;
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_GROUP;
         contain = (sbx_contain)(contain + 1))
        EXPECT_STREQ("", test_in_copy(signalled_all_the_time, &contain));
}

#ifdef __linux__
static int forbid_new_processes(void) {
    static const int numbers[] = {
        SYS_clone,
#ifdef SYS_clone3
        SYS_clone3,
#endif
#ifdef SYS_fork
        SYS_fork, SYS_vfork,
#endif
    };
    return test_forbid(numbers, (int)(sizeof numbers / sizeof *numbers), EAGAIN);
}
#endif

/* Failures of every kind under a peculiar mask; test_run compares the mask after each. */
static const char *failed_starts(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    static const char *const unknown[] = {"no-such-program-anywhere", NULL};
    static const char *const directory[] = {"/", NULL};
    sbx_config config = {0};
    sbx_result result;
    sigset_t mask;
    const char *flaw;
    int i, spare, ends = 0;
    config.contain = *(const sbx_contain *)arg;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigaddset(&mask, SIGPIPE);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    for (i = 0; i < 3; i++) {
        config.argv = i == 0 ? missing : i == 1 ? unknown : directory;
        if (*(flaw = test_run(&config, &result))) return flaw;
        TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
        sbx_free(&result);
    }
    config.argv = test_child_argv("exit", "0");
    config.cwd = "/nowhere";
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_CWD);
    sbx_free(&result);
    config.cwd = NULL;
    for (spare = 0; spare < 40 && ends < 3; spare++) { /* one descriptor more each time */
        struct rlimit limit, before;
        int lowest = dup(2);
        TEST_MUST(lowest >= 0);
        close(lowest);
        getrlimit(RLIMIT_NOFILE, &before);
        limit = before;
        limit.rlim_cur = (rlim_t)(lowest + spare);
        setrlimit(RLIMIT_NOFILE, &limit);
        if (*(flaw = test_run(&config, &result))) return test_text("%d spare: %s", spare, flaw);
        setrlimit(RLIMIT_NOFILE, &before);
        if (result.verdict == SBX_OK) ends++;
        else TEST_MUST(result.verdict == SBX_NOT_STARTED && result.sys_errno == EMFILE);
        sbx_free(&result);
    }
    TEST_MUST(ends == 3); /* with enough of them it runs */
#ifdef __linux__
    if (!forbid_new_processes()) return "no filter";
    for (i = 0; i < 3; i++) {
        char ret[4];
        config.argv = test_child_argv("exit", "0");
        if (*(flaw = test_run(&config, &result))) return flaw;
        TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_SPAWN);
        TEST_MUST(result.sys_errno == EAGAIN);
        sbx_free(&result);
        config.argv = NULL;
        TEST_MUST(sbx_call(&config, test_fn_length, NULL, ret, 4, &result) == SBX_NOT_STARTED);
        TEST_MUST(result.step == (test_has_call() ? SBX_STEP_SPAWN : SBX_STEP_CONFIG));
        sbx_free(&result);
    }
#endif
    return "";
}

UTEST(pitfall, P12_signal_mask_restored_after_failed_starts) {
    int i;
    for (i = 0; i < 2; i++) {
        const char *flaw = test_in_copy(failed_starts, (void *)(size_t)&test_both[i]);
        if (strcmp(flaw, "no filter") != 0) EXPECT_STREQ("", flaw);
    }
}

static void reap_all(int number) {
    int error = errno;
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    errno = error;
}

static const char *lost_or(const sbx_result *r, sbx_verdict verdict, int exit_code, int signal) {
    if (r->verdict == verdict && r->exit_code == exit_code && r->signal == signal) return "";
    if (r->verdict == SBX_LOST && !test_kernel_keeps_status() && r->exit_code == -1 && !r->signal)
        return "";
    return test_text("exit %d, signal %d: %s", r->exit_code, r->signal, r->message);
}

/* 0 = SIGCHLD ignored, 1 = SA_NOCLDWAIT, 2 = a handler that reaps, 3 = the same with SA_RESTART;
   + 4 = whatever containment there is. */
static const char *somebody_else_reaps(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    int how = *(int *)arg % 4, i;
    struct sigaction action;
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    memset(&action, 0, sizeof action);
    action.sa_handler = how == 0 ? SIG_IGN : how == 1 ? SIG_DFL : reap_all;
    action.sa_flags = how == 1 ? SA_NOCLDWAIT : how == 3 ? SA_RESTART : 0;
    sigaction(SIGCHLD, &action, NULL);
    config.contain = test_both[*(int *)arg / 4];
    for (i = 0; i < 5; i++) {
        config.argv = test_child_argv("say", "out", "err", "3");
        if (*(flaw = test_run(&config, &result))) return flaw;
        if (*(flaw = lost_or(&result, SBX_EXITED, 3, 0))) return flaw;
        TEST_MUST(strcmp(result.out.data, "out") == 0 && strcmp(result.err.data, "err") == 0);
        sbx_free(&result);
    }
    config.argv = test_child_argv("exit", "0");
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (*(flaw = lost_or(&result, SBX_OK, 0, 0))) return flaw;
    sbx_free(&result);
    config.argv = test_child_argv("crash", "null");
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (*(flaw = lost_or(&result, SBX_CRASHED, -1, SIGSEGV))) return flaw;
    sbx_free(&result);
    config.output_bytes = 100;
    MUST_RUN(&config, SBX_OUTPUT_LIMIT, "flood", "out"); /* the reason is the host's own */
    config.output_bytes = 0;
    config.timeout_ms = 40;
    config.grace_ms = how % 2 ? -1 : 20;
    MUST_RUN(&config, SBX_TIMED_OUT, "ignore", "ignore");
    config.timeout_ms = 0;
    config.argv = missing;
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    sbx_free(&result);
    return "";
}

UTEST(pitfall, P13_host_ignores_or_reaps_sigchld) {
    int how;
    for (how = 0; how < 8; how++) EXPECT_STREQ("", test_in_copy(somebody_else_reaps, &how));
}

/* The host's own children are not ours to collect. */
static const char *children_of_the_host(void *arg) {
    sbx_config config = {0};
    pid_t pids[5];
    int i, status;
    (void)arg;
    for (i = 0; i < 5; i++) {
        pids[i] = fork();
        if (pids[i] == 0) _exit(10 + i);
    }
    MUST_RUN(&config, SBX_EXITED, "exit", "3");
    config.timeout_ms = 100;
    config.grace_ms = -1;
    MUST_RUN(&config, SBX_TIMED_OUT, "sleep");
    for (i = 0; i < 5; i++)
        TEST_MUST(waitpid(pids[i], &status, 0) == pids[i] && WEXITSTATUS(status) == 10 + i);
    return "";
}

UTEST(pitfall, P13_children_of_the_host_are_left_to_it) {
    EXPECT_STREQ("", test_in_copy(children_of_the_host, NULL));
}

enum { IGNORED, NO_ZOMBIES, HANDLER, THREAD };

static pthread_mutex_t reaping = PTHREAD_MUTEX_INITIALIZER; /* locked as long as it is wanted */
static void *reap_in_thread(void *arg) {
    while (pthread_mutex_trylock(&reaping) != 0)
        if (waitpid(-1, NULL, 0) < 0) test_sleep_ms(1);
    pthread_mutex_unlock(&reaping);
    return arg;
}

/* The verdict is exact where the kernel keeps the status, else exact or "lost": never another. */
static const char *run_unreaped(const sbx_config *config, sbx_verdict verdict, int code, int number,
                                int how, test_host *before) {
    sbx_result result;
    const char *flaw;
    int lost = !test_kernel_keeps_status();
    sbx_run(config, &result);
    flaw = test_host_diff(before);
    if (*flaw) return flaw;
    flaw = test_result_flaw(config, &result);
    if (*flaw) return flaw;
    if (result.verdict == SBX_LOST && lost) {
        TEST_MUST(result.exit_code == -1 && result.signal == 0);
    } else if (lost && how <= NO_ZOMBIES && verdict <= SBX_CRASHED) {
        return test_text("%s, but there was no status: %s", sbx_verdict_name(result.verdict),
                         result.message);
    } else {
        if (result.verdict != verdict)
            return test_text("%s, not %s: %s", sbx_verdict_name(result.verdict),
                             sbx_verdict_name(verdict), result.message);
        if (verdict <= SBX_CRASHED) TEST_MUST(result.exit_code == code && result.signal == number);
    }
    if (verdict <= SBX_EXITED) TEST_MUST(strcmp(result.out.data, "some text") == 0);
    sbx_free(&result);
    return "";
}

static const char *run_all_unreaped(int how) {
    static const char *const texts[] = {"0", "3", "127"};
    sbx_config config = {0};
    test_host before;
    const char *flaw;
    int i;
    test_host_save(&before);
    config.timeout_ms = LONG_MS;
    for (i = 0; i < 3; i++) {
        config.argv = test_child_argv("say", "some text", "", texts[i]);
        flaw = run_unreaped(&config, i ? SBX_EXITED : SBX_OK, atoi(texts[i]), 0, how, &before);
        if (*flaw) return flaw;
    }
    config.argv = test_child_argv("raise", "11");
    flaw = run_unreaped(&config, SBX_CRASHED, -1, 11, how, &before);
    if (*flaw) return flaw;
    config.argv = test_child_argv("flood", "out");
    config.output_bytes = 10;
    flaw = run_unreaped(&config, SBX_OUTPUT_LIMIT, 0, 0, how, &before);
    if (*flaw) return flaw;
    config.argv = test_child_argv("sleep");
    config.timeout_ms = 100;
    config.grace_ms = -1;
    return run_unreaped(&config, SBX_TIMED_OUT, 0, 0, how, &before);
}

static const char *run_without_status(void *arg) {
    int how = *(int *)arg;
    struct sigaction action;
    pthread_t thread;
    const char *flaw;
    memset(&action, 0, sizeof action);
    action.sa_handler = how == IGNORED ? SIG_IGN : how == HANDLER ? reap_all : SIG_DFL;
    action.sa_flags = how == NO_ZOMBIES ? SA_NOCLDWAIT : 0;
    if (how != THREAD) sigaction(SIGCHLD, &action, NULL);
    if (how != THREAD) return run_all_unreaped(how);
    pthread_mutex_lock(&reaping);
    TEST_MUST(pthread_create(&thread, NULL, reap_in_thread, NULL) == 0);
    flaw = run_all_unreaped(how);
    pthread_mutex_unlock(&reaping);
    pthread_join(thread, NULL);
    return flaw;
}

static void expect_without_status(int *utest_result, int how) {
    EXPECT_STREQ("", test_in_copy(run_without_status, &how));
}

UTEST(host, a39_sigchld_ignored) { expect_without_status(utest_result, IGNORED); }
UTEST(host, a39_no_zombies_wanted) { expect_without_status(utest_result, NO_ZOMBIES); }
UTEST(host, a39_handler_reaps_everything) { expect_without_status(utest_result, HANDLER); }
UTEST(host, a39_thread_reaps_everything) { expect_without_status(utest_result, THREAD); }

/* The leader is gone without a trace at once: the rest of its group has to go all the same. */
static const char *leave_one_behind(void *arg) {
    test_tether *tether = (test_tether *)arg;
    sbx_config config = {0};
    sbx_result result;
    signal(SIGCHLD, SIG_IGN);
    config.argv = test_child_argv("escape", "stay", tether->path, "0");
    config.timeout_ms = LONG_MS;
    sbx_run(&config, &result);
    TEST_MUST(strcmp(result.out.data, "away\n") == 0);
    TEST_MUST(result.wall_us < 12000000);
    TEST_MUST(!test_tether_held(tether));
    sbx_free(&result);
    return "";
}

UTEST(host, a39_sigchld_ignored_and_one_left_behind) {
    test_tether tether;
    ASSERT_TRUE(test_tether_open(&tether));
    EXPECT_STREQ("", test_in_copy(leave_one_behind, &tether));
    EXPECT_EQ(1, test_tether_lines(&tether));
    EXPECT_TRUE(test_tether_close(&tether));
}

/* Runs it and answers with what is wrong; leaves the result to the caller only if all is well. */
static const char *end_flaw(const sbx_config *config, sbx_result *result, sbx_verdict verdict) {
    const char *flaw = test_run(config, result);
    if (*flaw) return flaw;
    if (result->verdict == verdict) return "";
    return test_text("%s, not %s: %s", sbx_verdict_name(result->verdict),
                     sbx_verdict_name(verdict), result->message);
}

#define MUST_END(config, result, verdict)                                                          \
    do {                                                                                           \
        const char *flaw_ = end_flaw((config), (result), (verdict));                               \
        if (*flaw_) return test_text("%s:%d: %s", __FILE__, __LINE__, flaw_);                      \
    } while (0)

/* The other way round: children of the host's own are the host's to reap. */
static const char *keep_own_children(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    int status = 0;
    pid_t dead = fork(), alive;
    (void)arg;
    if (dead == 0) _exit(5);
    alive = fork();
    if (alive == 0) {
        test_sleep_ms(30);
        _exit(6);
    }
    config.argv = test_child_argv("sleep", "60");
    MUST_END(&config, &result, SBX_OK);
    sbx_free(&result);
    TEST_MUST(waitpid(dead, &status, 0) == dead && WEXITSTATUS(status) == 5);
    TEST_MUST(waitpid(alive, &status, 0) == alive && WEXITSTATUS(status) == 6);
    return "";
}

UTEST(host, a39_own_children_are_left_alone) {
    EXPECT_STREQ("", test_in_copy(keep_own_children, NULL));
}

/* ==== No descriptors, no memory, no processes ================================================= */

/* No descriptor for a stream, or for the new process itself. */
static int lacked_a_descriptor(const sbx_result *r) {
    return r->verdict == SBX_NOT_STARTED && r->sys_errno == EMFILE &&
           (r->step == SBX_STEP_IO || r->step == SBX_STEP_SPAWN);
}

/* The one descriptor that is free is one of the child's own: too few, and not "invalid". */
static const char *run_with_stdin_only(void *arg) {
    struct rlimit limit;
    sbx_config config = {0};
    sbx_result result;
    (void)arg;
    config.argv = test_child_argv("exit", "0");
    close(0);
    close(1);
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 3;
    TEST_MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    sbx_run(&config, &result);
    if (!lacked_a_descriptor(&result)) return test_text("%d: %s", result.sys_errno, result.message);
    sbx_free(&result);
    return "";
}

UTEST(host, a40_numbers_of_the_child_alone_are_too_few) {
    EXPECT_STREQ("", test_in_copy(run_with_stdin_only, NULL));
}

/* With ever more descriptors free: a clean refusal until there are enough, then a clean run. */
static const char *run_with_few_fds(void *arg) {
    struct rlimit limit;
    sbx_config config = {0};
    sbx_result result;
    int enough = 0, count, null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)arg;
    limit.rlim_cur = limit.rlim_max = 64;
    TEST_MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (dup(null) >= 0) {
    }
    config.argv = test_child_argv("cat");
    config.input = "text";
    config.input_size = 4;
    for (count = 0; count <= 20; count++) {
        const char *flaw = test_run(&config, &result);
        if (*flaw) return test_text("%d free: %s", count, flaw);
        if (result.verdict == SBX_NOT_STARTED) {
            if (enough || !lacked_a_descriptor(&result))
                return test_text("%d free: step %d, errno %d: %s", count, (int)result.step,
                                 result.sys_errno, result.message);
        } else if (result.verdict != SBX_OK || strcmp(result.out.data, "text") != 0) {
            return test_text("%d free: %s", count, result.message);
        } else {
            if (count == 0) return "it ran without a descriptor";
            enough = 1;
        }
        sbx_free(&result);
        close(63 - count); /* one more for the next round */
    }
    return enough ? "" : "20 descriptors were not enough";
}

UTEST(host, a40_descriptors_used_up) { EXPECT_STREQ("", test_in_copy(run_with_few_fds, NULL)); }

static int add_one(void *arg, void *ret, size_t ret_size) {
    (void)ret_size;
    *(int *)ret = *(int *)arg + 1;
    printf("adding\n");
    return 0;
}

/* The same for a box beside the host and for a function. */
static const char *start_with_few_fds(void *arg) {
    struct rlimit limit;
    int ran = 0, called = 0, count, null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)arg;
    limit.rlim_cur = limit.rlim_max = 64;
    TEST_MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (dup(null) >= 0) {
    }
    for (count = 0; count <= 20; count++) {
        sbx_config config = {0};
        sbx_result result;
        test_host before;
        int one = 1, two = 0;
        sbx *box;
        test_host_save(&before);
        config.argv = test_child_argv("say", "text");
        box = sbx_start(&config, &result);
        if (box) {
            if (sbx_finish(box, &result) != SBX_OK) return test_text("%s", result.message);
            ran = 1;
        } else if (ran || !lacked_a_descriptor(&result)) {
            return test_text("start, %d free: %s", count, result.message);
        }
        sbx_free(&result);
        config.argv = NULL;
        if (sbx_call(&config, add_one, &one, &two, sizeof two, &result) == SBX_OK) {
            if (two != 2 || strcmp(result.out.data, "adding\n") != 0) return "no result";
            called = 1;
        } else if (called || !lacked_a_descriptor(&result)) {
            return test_text("call, %d free: %s", count, result.message);
        }
        sbx_free(&result);
        if (*test_host_diff(&before)) return test_host_diff(&before);
        close(63 - count);
    }
    return ran && called ? "" : "20 descriptors were not enough";
}

UTEST(host, a40_descriptors_used_up_for_a_box_or_a_call) {
    NEED_CALL();
    EXPECT_STREQ("", test_in_copy(start_with_few_fds, NULL));
}

enum { BY_RUN, BY_HANDLE, BY_CALL };

static int is_pattern(const sbx_output *output) {
    size_t n;
    for (n = 0; n < output->size; n++)
        if (output->data[n] != (char)('a' + (n * 7 + n / 251) % 26)) return 0;
    return 1;
}

/* Whatever could not be kept must show, and what was kept is the beginning, without holes. */
static const char *output_without_memory(const sbx_result *result, size_t size) {
    if (!is_pattern(&result->out) || !is_pattern(&result->err)) return "a hole in the output";
    if (result->out.size < size && !result->out.truncated) return "stdout lost bytes silently";
    if (result->err.size < size && !result->err.truncated) return "stderr lost bytes silently";
    return "";
}

static int write_both(void *arg, void *ret, size_t ret_size) {
    char bytes[50000];
    size_t n;
    (void)arg, (void)ret_size;
    for (n = 0; n < sizeof bytes; n++) bytes[n] = (char)('a' + (n * 7 + n / 251) % 26);
    *(int *)ret = 77;
    return write(1, bytes, sizeof bytes) == (ssize_t)sizeof bytes &&
           write(2, bytes, sizeof bytes) == (ssize_t)sizeof bytes ? 0 : 1;
}

static sbx_verdict run_by(int how, sbx_config *config, sbx_result *result, int *value) {
    sbx *box;
    if (how == BY_RUN) return sbx_run(config, result);
    if (how == BY_CALL) return sbx_call(config, write_both, NULL, value, sizeof *value, result);
    box = sbx_start(config, result);
    if (!box) return result->verdict;
    while (!sbx_poll(box, 1000)) {
    }
    return sbx_finish(box, result);
}

static void expect_without_memory(int *utest_result, int how, int truncate) {
    static const char *const env[] = {"NAME=value", NULL};
    long blocks = test_live_blocks(), nth, refused = 0, done = 0;
    for (nth = 1; nth < 500 && !done; nth++) {
        sbx_config config = {0};
        sbx_result result;
        test_host before;
        sbx_verdict verdict;
        int value = 0;
        config.argv = test_child_argv("write", "50000", "50000");
        if (how == BY_CALL) config.argv = NULL;
        config.env = env;
        config.inherit_env = 1;
        config.input = "0123456789";
        config.input_size = 10;
        config.timeout_ms = LONG_MS;
        config.memory_bytes = test_has_watch() ? 400LL << 20 : 0;
        config.truncate_output = truncate;
        config.grace_ms = -1;
        test_host_save(&before);
        alarm(60);
        test_fail_allocation(nth);
        verdict = run_by(how, &config, &result, &value);
        done = test_allocations() < nth; /* this one needed fewer: every one has failed once */
        test_fail_allocation(0);
        alarm(0);
        EXPECT_STREQ("", test_host_diff(&before));
        EXPECT_STREQ("", test_result_flaw(&config, &result));
        EXPECT_EQ((int)verdict, (int)result.verdict);
        if (verdict == SBX_NOT_STARTED) {
            EXPECT_EQ((int)SBX_STEP_MEMORY, (int)result.step);
            EXPECT_EQ(ENOMEM, result.sys_errno);
            refused++;
        } else {
            EXPECT_TRUE(verdict == SBX_OK || (verdict == SBX_OUTPUT_LIMIT && !truncate));
            if (verdict == SBX_OUTPUT_LIMIT) EXPECT_EQ(ENOMEM, result.sys_errno);
            if (verdict == SBX_OK) EXPECT_STREQ("", output_without_memory(&result, 50000));
            if (verdict == SBX_OK && how == BY_CALL) EXPECT_EQ(77, value);
            EXPECT_TRUE(is_pattern(&result.out) && is_pattern(&result.err));
        }
        if (done) EXPECT_EQ(50000, (int)result.out.size);
        sbx_free(&result);
        EXPECT_EQ(blocks, test_live_blocks());
        if (*utest_result) break; /* one report is enough */
    }
    EXPECT_TRUE(done);
    EXPECT_GT(refused, 0);
}

/* Of stderr alone, and what is said of it: where it ends the run, and where it does not. */
UTEST(host, a41_no_memory_for_stderr_is_told) {
    int truncate;
    for (truncate = 0; truncate < 2; truncate++) {
        long nth, told = 0; /* whether there is a look at it, and so the order, may differ */
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("write", "0", "3000");
        config.contain = SBX_CONTAIN_GROUP;
        config.truncate_output = truncate;
        config.grace_ms = -1;
        for (nth = 1; told == 0 && nth < 500; nth++) {
            test_fail_allocation(1 + nth % 20);
            sbx_run(&config, &result);
            test_fail_allocation(0);
            if (result.verdict != SBX_NOT_STARTED && result.err.size == 0) {
                EXPECT_VERDICT(truncate ? SBX_OK : SBX_OUTPUT_LIMIT, result);
                EXPECT_TRUE(result.err.truncated && result.err.total == 3000 && !result.certain);
                EXPECT_EQ(truncate ? 0 : ENOMEM, result.sys_errno);
                EXPECT_STREQ("", test_lacks(result.message,
                                            truncate ? "; not all of its output could be kept"
                                                     : "more output than the host had memory for"));
                told++;
            }
            sbx_free(&result);
        }
        EXPECT_GT(told, 0L);
    }
}

UTEST(host, a41_every_allocation_fails_once) { expect_without_memory(utest_result, BY_RUN, 0); }
UTEST(host, a41_every_allocation_fails_once_truncating) {
    expect_without_memory(utest_result, BY_RUN, 1);
}

UTEST(host, a41_every_allocation_of_a_handle_fails_once) {
    expect_without_memory(utest_result, BY_HANDLE, 0);
}

UTEST(host, a41_every_allocation_of_a_call_fails_once) {
    NEED_CALL();
    expect_without_memory(utest_result, BY_CALL, 0);
}

static const char *run_without_processes(void *arg) {
    struct rlimit limit;
    sbx_config config = {0};
    sbx_result result;
    int one = 1, two = 0;
    (void)arg;
    if (geteuid() == 0) { /* the limit does not bind root */
        TEST_MUST(setgid(65534) == 0 && setuid(65534) == 0);
#ifdef __linux__
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* else /proc/self/fd belongs to root */
#endif
    }
    getrlimit(RLIMIT_NPROC, &limit);
    limit.rlim_cur = 0;
    TEST_MUST(setrlimit(RLIMIT_NPROC, &limit) == 0);
    config.argv = test_child_argv("exit", "0");
    MUST_END(&config, &result, SBX_NOT_STARTED);
    TEST_MUST(result.step == SBX_STEP_SPAWN && result.sys_errno == EAGAIN);
    sbx_free(&result);
    config.argv = NULL;
    if (!test_has_call()) return "";
    TEST_MUST(sbx_call(&config, add_one, &one, &two, sizeof two, &result) == SBX_NOT_STARTED);
    TEST_MUST(result.step == SBX_STEP_SPAWN && result.sys_errno == EAGAIN && two == 0);
    sbx_free(&result);
    return "";
}

UTEST(host, a42_no_process_slot) { EXPECT_STREQ("", test_in_copy(run_without_processes, NULL)); }

static const char *fail_often(int times) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    static const char *const unknown[] = {"no-such-program-anywhere", NULL};
    sbx_config config = {0};
    test_host before;
    long blocks = test_live_blocks();
    int i;
    test_host_save(&before);
    for (i = 0; i < times; i++) {
        memset(&config, 0, sizeof config);
        config.input = "some input that is kept";
        config.input_size = 23;
        config.argv = i % 2 ? missing : unknown;
        if (i % 5 == 1) config.timeout_ms = -i - 2;
        if (i % 5 == 2) config.cwd = "/nowhere";
        if (i % 5 == 3) config.cwd = "/";
        if (i % 7 == 6) TEST_MUST(sbx_start(&config, NULL) == NULL);
        else TEST_MUST(sbx_run(&config, NULL) == SBX_NOT_STARTED);
    }
    if (test_live_blocks() != blocks)
        return test_text("%ld blocks after %d failures", test_live_blocks() - blocks, times);
    return test_host_diff(&before);
}

/* A few hundred here; `make check` does ten thousand. */
UTEST(pitfall, P40_failed_starts_leave_nothing) { EXPECT_STREQ("", fail_often(300)); }

/* Every allocation of a start fails once: refused with a message, or done without it. */
UTEST(pitfall, P40_failed_allocations_leave_nothing) {
    sbx_config config = {0};
    long nth, blocks = test_live_blocks();
    int refused = 0, ran = 0;
    config.input = "input";
    config.input_size = 5;
    config.argv = test_child_argv("cat");
    for (nth = 1; nth < 60 && ran < 3; nth++) {
        sbx_result result;
        const char *flaw;
        test_fail_allocation(nth);
        flaw = test_run(&config, &result);
        if (test_allocations() < nth) ran++; /* it was never asked for that many */
        test_fail_allocation(0);
        EXPECT_STREQ("", flaw);
        if (result.verdict == SBX_NOT_STARTED) {
            refused++;
            EXPECT_EQ((int)SBX_STEP_MEMORY, (int)result.step);
            EXPECT_STREQ("", test_lacks(result.message, "memory"));
        }
        sbx_free(&result);
        EXPECT_EQ(blocks, test_live_blocks());
    }
    EXPECT_GT(refused, 0);
    EXPECT_EQ(3, ran);
}

/* ==== Clocks and timers ======================================================================= */

/* Bytes that the child's `cat` has to bring back. */
static char *make_bytes(size_t size, unsigned seed) {
    char *bytes = (char *)malloc(size);
    size_t i;
    for (i = 0; bytes && i < size; i++) {
        seed = seed * 1103515245u + 12345u;
        bytes[i] = (char)(seed >> 16);
    }
    return bytes;
}

/* A bit of everything: input and output at once, both streams, codes, signals, limits, failures. */
static const char *run_a_bit_of_everything(void) {
    size_t size = 300000;
    char *bytes = make_bytes(size, 1);
    sbx_config config = {0};
    sbx_result result;
    config.timeout_ms = LONG_MS;
    config.argv = test_child_argv("cat");
    config.input = bytes;
    config.input_size = size;
    MUST_END(&config, &result, SBX_OK);
    TEST_MUST(result.out.size == size && memcmp(result.out.data, bytes, size) == 0);
    sbx_free(&result);
    free(bytes);
    config.input = NULL;
    config.input_size = 0;
    config.argv = test_child_argv("write", "100000", "100000", "7");
    MUST_END(&config, &result, SBX_EXITED);
    TEST_MUST(result.exit_code == 7 && result.out.size == 100000 && result.err.size == 100000);
    sbx_free(&result);
    config.err = SBX_MERGE;
    config.argv = test_child_argv("say", "to out,", "to err", "0");
    MUST_END(&config, &result, SBX_OK);
    TEST_MUST(strcmp(result.out.data, "to out,to err") == 0);
    sbx_free(&result);
    config.err = SBX_DISCARD;
    config.argv = test_child_argv("fds");
    MUST_END(&config, &result, SBX_OK);
    TEST_MUST(strcmp(result.out.data, "0 1 2 ") == 0);
    sbx_free(&result);
    config.err = SBX_DEFAULT;
    config.argv = test_child_argv("raise", "9");
    MUST_END(&config, &result, SBX_CRASHED);
    TEST_MUST(result.signal == SIGKILL);
    sbx_free(&result);
    config.argv = test_child_argv("flood", "both", "100");
    config.output_bytes = 5000;
    MUST_END(&config, &result, SBX_OUTPUT_LIMIT);
    TEST_MUST(result.out.size + result.err.size == 5000);
    sbx_free(&result);
    config.argv = test_child_argv("ignore");
    config.timeout_ms = 40;
    config.grace_ms = 20;
    MUST_END(&config, &result, SBX_TIMED_OUT);
    TEST_MUST(result.wall_us >= 35000);
    sbx_free(&result);
    config.argv = (const char *const[]){"/no/such/program", NULL};
    config.timeout_ms = LONG_MS;
    MUST_END(&config, &result, SBX_NOT_STARTED);
    TEST_MUST(result.step == SBX_STEP_EXEC && result.sys_errno == ENOENT);
    sbx_free(&result);
    return "";
}

static volatile sig_atomic_t ticks;
static void tick(int signal_number) {
    (void)signal_number;
    ticks++;
}

static const char *run_under_a_timer(void *arg) {
    struct sigaction action;
    struct itimerval timer;
    const char *flaw;
    memset(&action, 0, sizeof action);
    action.sa_handler = tick; /* without SA_RESTART: every blocking call is interrupted */
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
    sigaction(SIGCHLD, &action, NULL);
    timer.it_interval.tv_sec = timer.it_value.tv_sec = 0;
    timer.it_interval.tv_usec = timer.it_value.tv_usec = 1000;
    (void)arg;
    setitimer(ITIMER_REAL, &timer, NULL);
    flaw = run_a_bit_of_everything();
    if (*flaw) return flaw;
    TEST_MUST(ticks > 10); /* else this meant nothing */
    return "";
}

UTEST(host, a43_timer_of_1_khz) { EXPECT_STREQ("", test_in_copy(run_under_a_timer, NULL)); }

static const char *with_a_1_khz_timer(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    static char input[2000000];
    struct itimerval every;
    struct sigaction action;
    sbx_config config = {0};
    sbx_result result;
    char ret[8];
    int i, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = tick;
    action.sa_flags = *(int *)arg ? SA_RESTART : 0;
    sigaction(SIGALRM, &action, NULL);
    every.it_interval.tv_sec = every.it_value.tv_sec = 0;
    every.it_interval.tv_usec = every.it_value.tv_usec = 1000;
    TEST_MUST(setitimer(ITIMER_REAL, &every, NULL) == 0);
    config.timeout_ms = 18000;
    config.output_bytes = 4 << 20;
    config.input = input;
    config.input_size = sizeof input;
    config.argv = test_child_argv("cat");
    TEST_MUST(sbx_run(&config, &result) == SBX_OK && result.out.size == sizeof input);
    sbx_free(&result);
    config.input = NULL, config.input_size = 0;
    for (i = 0; i < 10; i++) {
        config.argv = test_child_argv("say", "out", "err", "3");
        TEST_MUST(sbx_run(&config, &result) == SBX_EXITED && result.exit_code == 3);
        TEST_MUST(strcmp(result.out.data, "out") == 0 && strcmp(result.err.data, "err") == 0);
        sbx_free(&result);
        config.argv = missing;
        TEST_MUST(sbx_run(&config, &result) == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
        TEST_MUST(result.sys_errno == ENOENT);
        sbx_free(&result);
    }
    config.timeout_ms = 150;
    config.grace_ms = 100;
    config.argv = test_child_argv("last_words", "-1");
    before = ticks;
    TEST_MUST(sbx_run(&config, &result) == SBX_TIMED_OUT);
    TEST_MUST(result.wall_us >= 150000); /* the deadline did not come early */
    TEST_MUST(result.wall_us < 15000000);
    TEST_MUST(ticks - before > 2); /* nor was the host deaf meanwhile */
    sbx_free(&result);
    config.argv = NULL;
    config.timeout_ms = 18000;
    if (!test_has_call()) return "";
    TEST_MUST(sbx_call(&config, test_fn_length, NULL, ret, sizeof(int), &result) == SBX_OK);
    sbx_free(&result);
    return "";
}

UTEST(pitfall, P24_a_1_khz_timer_of_the_host) {
    int restart;
    for (restart = 0; restart < 2; restart++)
        EXPECT_STREQ("", test_in_copy(with_a_1_khz_timer, &restart));
}

static const char *with_a_jumping_clock(void *arg) {
    sbx_config config = {0};
    test_wall_clock_jump(*(long long *)arg);
    config.timeout_ms = 15000;
    MUST_RUN(&config, SBX_OK, "sleep", "50");
    config.timeout_ms = 80;
    config.grace_ms = 40;
    MUST_RUN(&config, SBX_TIMED_OUT, "ignore", "ignore");
    return "";
}

UTEST(pitfall, P25_jumps_of_the_wall_clock_do_not_matter) {
    long long seconds;
    if (!test_clock_can_move()) UTEST_SKIP("the clock cannot be moved in this build");
    for (seconds = -3600; seconds <= 3600; seconds += 7200)
        EXPECT_STREQ("", test_in_copy(with_a_jumping_clock, &seconds));
}

/* ==== Threads, and copies of the host ========================================================= */

typedef struct worker {
    pthread_t thread;
    unsigned seed;
    char flaw[512];
} worker;

static void worker_run(worker *w, const sbx_config *config, sbx_result *result,
                       sbx_verdict verdict) {
    const char *flaw;
    sbx_verdict got = sbx_run(config, result);
    if (got != verdict || result->verdict != got)
        snprintf(w->flaw, sizeof w->flaw, "%s, not %s: %s", sbx_verdict_name(got),
                 sbx_verdict_name(verdict), result->message);
    flaw = test_result_flaw(config, result);
    if (*flaw) snprintf(w->flaw, sizeof w->flaw, "%s", flaw);
}

static void *work(void *arg) {
    worker *w = (worker *)arg;
    size_t size = 60000 + w->seed * 1000;
    char *bytes = make_bytes(size, w->seed), code[16];
    int round, i;
    snprintf(code, sizeof code, "%u", 10 + w->seed);
    for (round = 0; round < 8 && !w->flaw[0]; round++) {
        sbx_config config = {0};
        sbx_result result;
        config.timeout_ms = LONG_MS;
        config.argv = test_child_argv("cat");
        config.input = bytes;
        config.input_size = size;
        worker_run(w, &config, &result, SBX_OK);
        if (result.out.size != size || memcmp(result.out.data, bytes, size) != 0)
            snprintf(w->flaw, sizeof w->flaw, "somebody else's output");
        sbx_free(&result);
        config.input = NULL;
        config.input_size = 0;
        config.argv = test_child_argv("fds");
        worker_run(w, &config, &result, SBX_OK);
        if (strcmp(result.out.data, "0 1 2 ") != 0)
            snprintf(w->flaw, sizeof w->flaw, "open in the child: %s", result.out.data);
        sbx_free(&result);
        config.argv = test_child_argv("exit", code);
        worker_run(w, &config, &result, SBX_EXITED);
        if (result.exit_code != (int)(10 + w->seed))
            snprintf(w->flaw, sizeof w->flaw, "somebody else's code");
        sbx_free(&result);
        config.argv = (const char *const[]){"/no/such/program", NULL};
        for (i = 0; i < 4; i++) {
            worker_run(w, &config, &result, SBX_NOT_STARTED);
            sbx_free(&result);
        }
        config.argv = test_child_argv("sleep");
        config.timeout_ms = 20 + w->seed;
        config.grace_ms = -1;
        worker_run(w, &config, &result, SBX_TIMED_OUT);
        sbx_free(&result);
    }
    free(bytes);
    return NULL;
}

UTEST(host, a44_eight_threads) {
    worker workers[8];
    test_host before;
    long blocks = test_live_blocks();
    int i;
    test_child(); /* found before the threads ask for it */
    memset(workers, 0, sizeof workers);
    test_host_save(&before);
    alarm(60);
    for (i = 0; i < 8; i++) {
        workers[i].seed = (unsigned)i;
        ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    for (i = 0; i < 8; i++) pthread_join(workers[i].thread, NULL);
    alarm(0);
    for (i = 0; i < 8; i++) EXPECT_STREQ("", workers[i].flaw);
    EXPECT_STREQ("", test_host_diff(&before));
    EXPECT_EQ(blocks, test_live_blocks());
}

static volatile int copying, copies;

/* Copies without exec, as a worker would be: whatever pipes are open in the host, they hold. */
static void *copy_the_host(void *arg) {
    int *gate = (int *)arg;
    while (copying) {
        pid_t pid = copies < 60 ? fork() : -1;
        char byte;
        if (pid == 0) {
            alarm(30);
            close(gate[1]);
            while (read(gate[0], &byte, 1) > 0) {
            }
            _exit(0);
        }
        if (pid > 0) copies++;
        test_sleep_ms(1);
    }
    return NULL;
}

static const char *run_beside_copies(void *arg) {
    long long before = test_now_ms();
    pthread_t thread;
    int gate[2], i;
    (void)arg;
    TEST_MUST(pipe(gate) == 0);
    copying = 1;
    TEST_MUST(pthread_create(&thread, NULL, copy_the_host, gate) == 0);
    for (i = 0; i < 60; i++) {
        sbx_config config = {0};
        sbx_result result;
        sbx *box;
        config.argv = test_child_argv("exit", "0");
        config.processes = geteuid() && i % 2 ? 500 : 0; /* then it is waited for in another way */
        if (sbx_run(&config, &result) != SBX_OK) return test_text("%s", result.message);
        sbx_free(&result);
        if (test_is_portable()) continue; /* there only the end of the pipe tells of a start */
        config.argv = test_child_argv("sleep", "60000"); /* has begun long before it ends */
        config.contain = i % 2 ? SBX_CONTAIN_GROUP : SBX_CONTAIN_AUTO;
        config.processes = 0;
        box = sbx_start(&config, &result);
        if (!box) return test_text("%s", result.message);
        sbx_cancel(box);
        if (sbx_finish(box, &result) != SBX_CANCELLED) return test_text("%s", result.message);
        sbx_free(&result);
    }
    copying = 0;
    pthread_join(thread, NULL);
    close(gate[1]);
    while (wait(NULL) > 0) {
    }
    return test_now_ms() - before < 25000 ? "" : "a copy of the host held it up";
}

UTEST(host, copies_that_hold_its_pipes_do_not_matter) {
    EXPECT_STREQ("", test_in_copy(run_beside_copies, NULL));
}

static int locks_held, let_go; /* flags */

static void *hold_locks(void *arg) {
    (void)arg;
    flockfile(stdout);
    flockfile(stderr);
    flockfile(stdin);
    test_raise_flag(&locks_held);
    while (!test_flag(&let_go)) {
        free(malloc(1000)); /* and the allocator's, most of the time */
    }
    funlockfile(stdin);
    funlockfile(stderr);
    funlockfile(stdout);
    return NULL;
}

/* A lock that another thread holds stays locked for ever in the child. */
static const char *threaded_host(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    static const char *const env[] = {"A=1", NULL};
    sbx_config config = {0};
    pthread_t thread;
    int i;
    (void)arg;
    TEST_MUST(pthread_create(&thread, NULL, hold_locks, NULL) == 0);
    while (!test_flag(&locks_held)) test_sleep_ms(1);
    config.env = env;
    for (i = 0; i < 20; i++) {
        config.contain = test_both[i % 2];
        config.cwd = i % 5 == 4 ? "/" : NULL;
        MUST_RUN(&config, SBX_EXITED, "exit", "3");
        config.cwd = NULL;
        config.argv = missing;
        TEST_MUST(sbx_run(&config, NULL) == SBX_NOT_STARTED);
    }
    test_raise_flag(&let_go);
    pthread_join(thread, NULL);
    return "";
}

UTEST(pitfall, P19_other_threads_hold_locks) {
    EXPECT_STREQ("", test_in_copy(threaded_host, NULL));
}

#ifdef __linux__
static const char *one_run(void *arg) {
    sbx_config config = *(const sbx_config *)arg;
    config.argv = test_child_argv("exit", "3");
    TEST_MUST(sbx_run(&config, NULL) == SBX_EXITED);
    config.argv = (const char *const[]){"/nowhere/at/all", NULL};
    TEST_MUST(sbx_run(&config, NULL) == SBX_NOT_STARTED);
    return "";
}

static const char *watch_the_child(void *arg) {
#ifdef SYS_mmap2 /* 32 bits */
    static const long never[] = {SYS_brk, SYS_mmap2, SYS_munmap, SYS_mremap, SYS_futex};
#else
    static const long never[] = {SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_futex};
#endif
    test_trace *t = test_trace_new();
    const char *flaw;
    int i, seen = 0;
    unsigned k;
    TEST_MUST(t != NULL);
    flaw = test_traced_copy(t, one_run, arg);
    if (*flaw) return flaw;
    for (i = 0; i < t->count; i++) {
        if (!t->at[i].child) continue;
        seen++;
        for (k = 0; k < sizeof never / sizeof *never; k++)
            if (t->at[i].number == never[k])
                return test_text("the child made system call %ld before exec", never[k]);
    }
    return seen < 4 ? "the child was not seen" : "";
}
#endif

/* Nothing that allocates or locks: those calls would show. */
UTEST(pitfall, P19_child_makes_plain_system_calls_only) {
#ifdef __linux__
    sbx_config config = {0};
    const char *flaw;
    if (test_is_asan()) UTEST_SKIP("the sanitizer adds calls of its own");
    config.cwd = "/";
    config.open_files = 50;
    config.contain = SBX_CONTAIN_GROUP;
    flaw = test_in_copy(watch_the_child, &config);
    if (strcmp(flaw, "cannot trace") == 0) UTEST_SKIP("no ptrace here");
    EXPECT_STREQ("", flaw);
#else
    UTEST_SKIP("needs ptrace");
#endif
}

#ifdef __linux__
static const char *watch_the_fork(void *arg) {
    const unsigned long long wanted = 0x100 | 0x4000; /* CLONE_VM, CLONE_VFORK */
    test_trace *t = test_trace_new();
    const char *flaw;
    int i, seen = 0;
    TEST_MUST(t != NULL);
    flaw = test_traced_copy(t, one_run, arg);
    if (*flaw) return flaw;
    for (i = 0; i < t->count; i++) {
        const test_traced_call *c = &t->at[i];
        int plain_fork = 0, clone = c->number == SYS_clone;
        if (c->child) continue;
#ifdef SYS_clone3
        clone |= c->number == SYS_clone3;
#endif
#ifdef SYS_fork
        plain_fork = c->number == SYS_fork;
        seen += c->number == SYS_vfork;
#endif
        if (plain_fork || (clone && (c->args[0] & wanted) != wanted))
            return test_text("a fork that copies the host: flags %llx", c->args[0]);
        seen += clone;
    }
    return seen < 2 ? "no fork was seen" : "";
}
#endif

/* Its cost cannot grow with the host's memory if that memory is never copied. */
UTEST(pitfall, P20_memory_of_the_host_is_not_copied) {
#if defined(__linux__) && !defined(__s390x__)
    sbx_config config = {0};
    const char *flaw;
    if (test_is_portable()) UTEST_SKIP("portable POSIX has fork only");
    flaw = test_in_copy(watch_the_fork, &config);
    if (strcmp(flaw, "cannot trace") == 0) UTEST_SKIP("no ptrace here");
    EXPECT_STREQ("", flaw);
#else
    UTEST_SKIP("needs ptrace");
#endif
}

typedef struct starter {
    sbx_config config;
    sbx *box;
} starter;

static void *start_and_leave(void *arg) {
    starter *s = (starter *)arg;
    s->box = sbx_start(&s->config, NULL);
    return NULL;
}

UTEST(pitfall, P22_thread_that_started_it_ends) {
    int i;
    for (i = 0; i < 2; i++) {
        starter s;
        pthread_t thread;
        sbx_result result;
        memset(&s, 0, sizeof s);
        s.config.argv = test_child_argv("cat");
        s.config.in = SBX_PIPE;
        s.config.contain = test_both[i];
        ASSERT_EQ(0, pthread_create(&thread, NULL, start_and_leave, &s));
        pthread_join(thread, NULL);
        ASSERT_TRUE(s.box != NULL);
        EXPECT_EQ(0, sbx_poll(s.box, 60)); /* it lives on, and works */
        EXPECT_EQ(5LL, sbx_write(s.box, "hello", 5));
        EXPECT_EQ((int)SBX_OK, (int)sbx_finish(s.box, &result));
        EXPECT_STREQ("hello", result.out.data);
        sbx_free(&result);
    }
}

/* ==== Streams and descriptors in odd places =================================================== */

static const char *run_with_closed_streams(void *arg) {
    int closed = *(int *)arg, i;
    const char *flaw;
    sbx_config config = {0};
    sbx_result result;
    for (i = 0; i < 3; i++)
        if (closed & 1 << i) close(i);
    flaw = run_a_bit_of_everything();
    if (*flaw) return flaw;
    config.argv = test_child_argv("say", "x");
    for (i = 0; i < 3; i++) {
        config.in = i == 0 ? SBX_INHERIT : SBX_DEFAULT;
        config.out = i == 1 ? SBX_INHERIT : SBX_DISCARD;
        config.err = i == 2 ? SBX_INHERIT : SBX_DEFAULT;
        if (i == 1 && !(closed & 2)) continue; /* would print among the results of the tests */
        flaw = test_run(&config, &result);
        if (*flaw) return flaw;
        if (closed & 1 << i) /* there is nothing to inherit: say so, do not guess */
            TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_CONFIG);
        else TEST_MUST(result.verdict == SBX_OK);
        sbx_free(&result);
    }
    return "";
}

UTEST(host, a45_standard_streams_closed) {
    int closed;
    for (closed = 0; closed < 8; closed++)
        EXPECT_STREQ_MSG("", test_in_copy(run_with_closed_streams, &closed),
                         test_text("closed: %d", closed));
}

static const char *run_with_high_fds(void *arg) {
    int above = *(int *)arg, null = open("/dev/null", O_RDWR | O_CLOEXEC), fd;
    struct rlimit limit;
    sbx_config config = {0};
    sbx_result result;
    sbx *boxes[3];
    int i;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < (rlim_t)above + 100) return "skip";
    do fd = dup(null);
    while (fd >= 0 && fd < above);
    TEST_MUST(fd == above);
    if (*run_a_bit_of_everything()) return run_a_bit_of_everything();
    config.argv = test_child_argv("sleep", "30", "3");
    for (i = 0; i < 2; i++) { /* once there is no memory to ask which of them is ready */
        config.contain = i ? SBX_CONTAIN_GROUP : SBX_CONTAIN_AUTO;
        TEST_MUST((boxes[i] = sbx_start(&config, &result)) != NULL);
        test_fail_allocation(1);
        sbx_poll(boxes[i], 0);
        test_fail_allocation(0);
        if (sbx_finish(boxes[i], &result) != SBX_EXITED || result.exit_code != 3)
            return test_text("no memory for select(): %s", result.message);
        sbx_free(&result);
    }
    config.argv = test_child_argv("say", "one of three");
    for (i = 0; i < 3; i++) TEST_MUST((boxes[i] = sbx_start(&config, &result)) != NULL);
    for (i = 0; i < 3; i++) {
        int ended = sbx_poll_any(boxes, 3, 60000);
        TEST_MUST(ended >= 0 && ended < 3);
        TEST_MUST(sbx_finish(boxes[ended], &result) == SBX_OK);
        TEST_MUST(strcmp(result.out.data, "one of three") == 0);
        sbx_free(&result);
        boxes[ended] = NULL;
    }
    return "";
}

UTEST(host, a46_descriptors_above_1024_and_4096) {
    static const int above[] = {1022, 1024, 4096, 9000};
    int i;
    for (i = 0; i < 4; i++) {
        int number = above[i];
        const char *got = test_in_copy(run_with_high_fds, &number);
        if (strcmp(got, "skip") == 0) UTEST_SKIP("the system does not allow so many descriptors");
        EXPECT_STREQ_MSG("", got, test_text("above %d", number));
    }
}

/* ==== The directory is gone, no right to write ================================================ */

static const char *run_in_a_lost_directory(void *arg) {
    const char *dir = (const char *)arg;
    TEST_MUST(chdir(dir) == 0 && rmdir(dir) == 0);
    umask(0777);
    return run_a_bit_of_everything();
}

UTEST(host, directory_is_gone_and_umask_is_strict) {
    char dir[PATH_MAX];
    EXPECT_STREQ("", test_in_copy(run_in_a_lost_directory, (void *)(size_t)test_tmpdir(dir)));
    test_remove_tree(dir);
}

static const char *run_without_files(void *arg) {
    struct rlimit none = {0, 0};
    sbx_config config = {0}, call = {0};
    sbx_result result;
    char seven[100];
    (void)arg;
    TEST_MUST(setrlimit(RLIMIT_FSIZE, &none) == 0);
    config.argv = test_child_argv("exit", "3");
    TEST_MUST(sbx_run(&config, &result) == SBX_EXITED);
    sbx_free(&result);
    if (!test_has_call()) return "";
    TEST_MUST(sbx_call(&call, test_fn_sevens, NULL, seven, sizeof seven, &result) == SBX_OK);
    TEST_MUST(seven[99] == 7);
    sbx_free(&result);
    return "";
}

UTEST(host, may_have_no_right_to_write_files) {
    EXPECT_STREQ("", test_in_copy(run_without_files, NULL));
}

/* ==== A child that could not exec is no second host =========================================== */

static int exit_note = -1;
static void note_the_exit(void) {
    if (write(exit_note, "x", 1) < 0) _exit(97);
}

static const char *with_an_exit_handler(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    static const sbx_contain contain[] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};
    int fds[2], i;
    char byte;
    (void)arg;
    TEST_MUST(pipe(fds) == 0 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
    exit_note = fcntl(fds[1], F_DUPFD, 200);
    TEST_MUST(exit_note >= 0 && atexit(note_the_exit) == 0);
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = missing;
        config.contain = contain[i];
        TEST_MUST(sbx_run(&config, &result) == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
        sbx_free(&result);
        TEST_MUST(read(fds[0], &byte, 1) < 0 && errno == EAGAIN);
    }
    return "";
}

/* Descriptors are closed before exec, so that the handler's note would be lost: it is put where the
   child has its own streams. The host may be faster and kill the child: many tries. */
static const char *with_a_loud_exit_handler(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    sbx_config config = {0};
    sbx_result result;
    char name[] = "/tmp/sbx-net-XXXXXX";
    int i, fd = mkstemp(name);
    (void)arg;
    TEST_MUST(fd >= 0 && unlink(name) == 0);
    exit_note = 1;
    TEST_MUST(atexit(note_the_exit) == 0);
    config.argv = missing;
    config.out = SBX_FD;
    config.out_fd = fd;
    config.contain = SBX_CONTAIN_GROUP;
    for (i = 0; i < 30; i++) {
        TEST_MUST(sbx_run(&config, &result) == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
        sbx_free(&result);
        TEST_MUST(lseek(fd, 0, SEEK_END) == 0);
    }
    close(fd);
    return "";
}

UTEST(host, failed_exec_runs_no_handler_of_the_host) {
    EXPECT_STREQ("", test_in_copy(with_an_exit_handler, NULL));
    EXPECT_STREQ("", test_in_copy(with_a_loud_exit_handler, NULL));
}

/* ==== Memory that runs out while it watches =================================================== */

#ifdef __linux__
static const char *watches_without_memory(void *arg) {
    static const sbx_contain contain[] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};
    long nth, failed = 0;
    int i;
    (void)arg;
    for (i = 0; i < 2; i++)
        for (nth = 1; nth < 12; nth++) {
            sbx_config config = {0};
            sbx_result result;
            config.argv = test_child_argv("memory", "own", "25", "2", "15000"); /* until seen */
            config.out = config.err = SBX_DISCARD;
            config.contain = contain[i];
            config.memory_bytes = 32 * MB;
            test_fail_allocation(nth);
            sbx_run(&config, &result);
            if (test_allocations() < nth) nth = 12;
            test_fail_allocation(0);
            failed += result.verdict == SBX_MEMORY_LIMIT;
            if (result.verdict != SBX_MEMORY_LIMIT &&
                !(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_MEMORY))
                return test_text("allocation %ld: %s", nth, result.message);
            sbx_free(&result);
        }
    TEST_MUST(failed > 1 && test_live_blocks() == 0);
    return "";
}

UTEST(host, limit_of_memory_holds_although_an_allocation_fails) {
    if (!test_has_watch()) UTEST_SKIP("memory_bytes is the address space there");
    EXPECT_STREQ("", test_in_copy(watches_without_memory, NULL));
}

UTEST(host, no_memory_for_the_name_of_a_cgroup) {
    long nth;
    int told = 0;
    if (!test_has_cgroup()) UTEST_SKIP("no cgroups there");
    for (nth = 1; nth < 12; nth++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("exit", "0");
        config.contain = SBX_CONTAIN_GROUP;
        config.cgroup = "/";
        test_fail_allocation(nth);
        sbx_run(&config, &result);
        test_fail_allocation(0);
        EXPECT_VERDICT(SBX_NOT_STARTED, result);
        told += result.step == SBX_STEP_MEMORY && strstr(result.message, "cgroup") != NULL;
        sbx_free(&result);
    }
    EXPECT_EQ(1, told);
}

/* ==== Descriptors that run out at any moment of a start ======================================= */

/* So many descriptors are free, and no more. */
static int leave_free(int count) {
    struct rlimit limit;
    int fd, top = 80;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = (rlim_t)top;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) return 0;
    do fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0);
    limit.rlim_cur = (rlim_t)(top + count);
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/* Where a tree can be had, a lack of descriptors is no reason to contain less. */
static const char *contained_or_refused(void *arg) {
    int count, ran = 0, refused = 0;
    for (count = 0; count < 40; count++) {
        sbx_config config = {0};
        sbx_result result;
        TEST_MUST(leave_free(count));
        config.argv = test_child_argv("exit", "0");
        if (*(int *)arg) config.argv = NULL;
        if (*(int *)arg) sbx_call(&config, test_fn_nothing, NULL, NULL, 0, &result);
        else sbx_run(&config, &result);
        if (result.verdict == SBX_OK && !(result.enforced & SBX_BY_TREE))
            return test_text("with %d descriptors it ran in a mere group", count);
        if (result.verdict != SBX_OK && result.step != SBX_STEP_IO)
            return test_text("with %d descriptors: step %d, %s", count, (int)result.step,
                             result.message);
        ran += result.verdict == SBX_OK;
        refused += result.verdict == SBX_NOT_STARTED;
        sbx_free(&result);
    }
    TEST_MUST(ran > 3 && refused > 3);
    return "";
}

UTEST(host, lack_of_descriptors_is_no_reason_to_contain_less) {
    sbx_caps caps;
    int call;
    sbx_probe(&caps);
    if (!caps.tree) UTEST_SKIP(caps.tree_why);
    for (call = 0; call <= test_has_call(); call++)
        EXPECT_STREQ("", test_in_copy(contained_or_refused, &call));
}

static int fn_forbidden(void *arg, void *ret, size_t size) {
    (void)arg, (void)ret, (void)size;
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 12345; /* whatever it answers */
}

/* Forbidden calls are heard, or neither program nor function starts. */
static const char *heard_or_refused(void *arg) {
    int count, heard = 0, refused = 0;
    for (count = 0; count < 50; count++) {
        sbx_policy policy = {0};
        sbx_config config = {0};
        sbx_result result;
        TEST_MUST(leave_free(count));
        policy.kill_on_denied = 1;
        config.argv = test_child_argv("net", "forbidden");
        config.policy = &policy;
        config.timeout_ms = 5000;
        if (*(int *)arg) config.argv = NULL;
        if (*(int *)arg) sbx_call(&config, fn_forbidden, NULL, NULL, 0, &result);
        else sbx_run(&config, &result);
        if (result.verdict != SBX_DENIED && result.verdict != SBX_NOT_STARTED)
            return test_text("with %d descriptors: %s", count, result.message);
        heard += result.verdict == SBX_DENIED;
        refused += result.verdict == SBX_NOT_STARTED;
        sbx_free(&result);
    }
    TEST_MUST(heard > 3 && refused > 3);
    return "";
}

UTEST(host, forbidden_calls_are_heard_or_nothing_starts) {
    sbx_caps caps;
    int call;
    sbx_probe(&caps);
    if (!caps.policy) UTEST_SKIP(caps.policy_why);
    for (call = 0; call <= test_has_call(); call++)
        EXPECT_STREQ("", test_in_copy(heard_or_refused, &call));
}

/* ==== Handlers of the host run in the host ==================================================== */

typedef struct shared_note {
    volatile int here, elsewhere;
    volatile pid_t host;
} shared_note;
static shared_note *noted;

static void note_where(int number) {
    (void)number;
    if ((pid_t)syscall(SYS_getpid) == noted->host) noted->here++;
    else noted->elsewhere = (int)syscall(SYS_getpid);
}

/* A signal to the host's group reaches what the host has just forked, too, and until exec that has
   the host's handlers, and may have its memory. A timer is not inherited, and would show nothing.
   The signal is one that a program does not mind. */
static const char *under_signals_to_its_group(void *arg) {
    static const sbx_contain contain[] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};
    struct sigaction action;
    pid_t pest;
    int i, runs = test_is_portable() ? 40 : 120; /* in a tree the moment is short */
    (void)arg;
    noted =
        (shared_note *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    TEST_MUST(noted != (shared_note *)MAP_FAILED);
    noted->host = getpid();
    memset(&action, 0, sizeof action);
    action.sa_handler = note_where;
    action.sa_flags = SA_RESTART;
    sigaction(SIGURG, &action, NULL);
    pest = fork();
    TEST_MUST(pest >= 0);
    if (pest == 0) {
        struct timespec moment = {0, 1000};
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        signal(SIGURG, SIG_IGN);
        while (getppid() == noted->host) {
            kill(0, SIGURG);
            nanosleep(&moment, NULL);
        }
        _exit(0);
    }
    for (i = 0; i < runs && !noted->elsewhere; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.contain = contain[i % 2];
        config.argv = test_child_argv("exit", "0");
        if (i % 4 >= 2 && test_has_call()) config.argv = NULL;
        if (config.argv) sbx_run(&config, &result);
        else sbx_call(&config, test_fn_nothing, NULL, NULL, 0, &result);
        if (result.verdict != SBX_OK) return test_text("run %d: %s", i, result.message);
        sbx_free(&result);
    }
    kill(pest, SIGKILL);
    waitpid(pest, NULL, 0);
    TEST_MUST(noted->here > 100); /* else this meant nothing */
    if (noted->elsewhere) return test_text("the handler ran in process %d", noted->elsewhere);
    return "";
}

UTEST(host, handlers_of_the_host_do_not_run_in_a_child) {
    EXPECT_STREQ("", test_in_copy(under_signals_to_its_group, NULL));
}

/* ==== sbx_probe =============================================================================== */

static const char *probe_without_proc(void *arg) {
    sbx_caps caps;
    (void)arg;
    sbx_probe(&caps);
    TEST_MUST(caps.watch == 1);
    if (!own_mounts()) return "skip: no mount namespace can be had here";
    if (mount("none", "/proc", "tmpfs", 0, NULL) < 0) return "skip: /proc cannot be covered here";
    sbx_probe(&caps);
    TEST_MUST(caps.watch == 0);
    TEST_MUST(caps.tree == 0 && caps.tree_why[0]);
    return "";
}

UTEST(host, probe_without_proc_has_no_watch) {
    if (!test_has_watch()) UTEST_SKIP("there is no watch in this build");
    EXPECT_WELL(test_in_copy(probe_without_proc, NULL));
}
#endif

/* ==== Portable: the end is looked for ========================================================= */

/* Where no descriptor tells of the end, the host asks when to look next: not much later than in
   10 ms, however long it has been running. */
UTEST(host, end_is_looked_for_often_enough) {
    sbx_config config = {0};
    sbx_result result;
    long long most = 0;
    int i;
    sbx *box;
    if (!test_is_portable()) UTEST_SKIP("a descriptor tells of the end");
    config.argv = test_child_argv("sleep", "10000");
    config.out = config.err = SBX_DISCARD;
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    for (i = 0; i < 30; i++) {
        sbx_watch watch;
        sbx_get_watch(box, &watch);
        if (watch.wait_ms > most) most = watch.wait_ms;
        test_sleep_ms(watch.wait_ms);
        EXPECT_EQ(0, sbx_poll(box, 0));
    }
    EXPECT_GE(most, 1LL);
    EXPECT_LE(most, 20LL);
    sbx_cancel(box);
    sbx_finish(box, &result);
    sbx_free(&result);
}
