/* Trouble on the host's side: its signals, descriptors, memory, processes and threads. The numbers
   are those of the list of attacks. What would spoil the test program runs in a copy of it. */
#include "test.h"

#include <pthread.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#define LONG_MS 15000

/* Runs it and answers with what is wrong; leaves the result to the caller only if all is well. */
static const char *run_well(const sbx_config *config, sbx_result *result, sbx_verdict verdict) {
    const char *flaw = test_run(config, result);
    if (*flaw) return flaw;
    if (result->verdict == verdict) return "";
    return test_text("%s, not %s: %s", sbx_verdict_name(result->verdict),
                     sbx_verdict_name(verdict), result->message);
}

#define MUST_RUN(config, result, verdict)                                                          \
    do {                                                                                           \
        const char *flaw_ = run_well((config), (result), (verdict));                               \
        if (*flaw_) return test_text("%s:%d: %s", __FILE__, __LINE__, flaw_);                      \
    } while (0)

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
    MUST_RUN(&config, &result, SBX_OK);
    TEST_MUST(result.out.size == size && memcmp(result.out.data, bytes, size) == 0);
    sbx_free(&result);
    free(bytes);
    config.input = NULL;
    config.input_size = 0;
    config.argv = test_child_argv("write", "100000", "100000", "7");
    MUST_RUN(&config, &result, SBX_EXITED);
    TEST_MUST(result.exit_code == 7 && result.out.size == 100000 && result.err.size == 100000);
    sbx_free(&result);
    config.err = SBX_MERGE;
    config.argv = test_child_argv("say", "to out,", "to err", "0");
    MUST_RUN(&config, &result, SBX_OK);
    TEST_MUST(strcmp(result.out.data, "to out,to err") == 0);
    sbx_free(&result);
    config.err = SBX_DISCARD;
    config.argv = test_child_argv("fds");
    MUST_RUN(&config, &result, SBX_OK);
    TEST_MUST(strcmp(result.out.data, "0 1 2 ") == 0);
    sbx_free(&result);
    config.err = SBX_DEFAULT;
    config.argv = test_child_argv("raise", "9");
    MUST_RUN(&config, &result, SBX_CRASHED);
    TEST_MUST(result.signal == SIGKILL);
    sbx_free(&result);
    config.argv = test_child_argv("flood", "both", "100");
    config.output_bytes = 5000;
    MUST_RUN(&config, &result, SBX_OUTPUT_LIMIT);
    TEST_MUST(result.out.size + result.err.size == 5000);
    sbx_free(&result);
    config.argv = test_child_argv("ignore");
    config.timeout_ms = 40;
    config.grace_ms = 20;
    MUST_RUN(&config, &result, SBX_TIMED_OUT);
    TEST_MUST(result.wall_us >= 35000);
    sbx_free(&result);
    config.argv = (const char *const[]){"/no/such/program", NULL};
    config.timeout_ms = LONG_MS;
    MUST_RUN(&config, &result, SBX_NOT_STARTED);
    TEST_MUST(result.step == SBX_STEP_EXEC && result.sys_errno == ENOENT);
    sbx_free(&result);
    return "";
}

/* ==== 39: somebody else takes the exit status ================================================= */

static void reap_all(int signal_number) {
    int error = errno;
    (void)signal_number;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    errno = error;
}

static volatile int reaping;
static void *reap_in_thread(void *arg) {
    (void)arg;
    while (reaping)
        if (waitpid(-1, NULL, 0) < 0) test_sleep_ms(1);
    return NULL;
}

enum { IGNORED, NO_ZOMBIES, HANDLER, THREAD };

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
    reaping = 1;
    TEST_MUST(pthread_create(&thread, NULL, reap_in_thread, NULL) == 0);
    flaw = run_all_unreaped(how);
    reaping = 0;
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
    MUST_RUN(&config, &result, SBX_OK);
    sbx_free(&result);
    TEST_MUST(waitpid(dead, &status, 0) == dead && WEXITSTATUS(status) == 5);
    TEST_MUST(waitpid(alive, &status, 0) == alive && WEXITSTATUS(status) == 6);
    return "";
}

UTEST(host, a39_own_children_are_left_alone) {
    EXPECT_STREQ("", test_in_copy(keep_own_children, NULL));
}

/* ==== 40: no descriptors ====================================================================== */

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
            if (enough || result.step != SBX_STEP_IO || result.sys_errno != EMFILE)
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
        } else if (ran || result.step != SBX_STEP_IO) {
            return test_text("start, %d free: %s", count, result.message);
        }
        sbx_free(&result);
        config.argv = NULL;
        if (sbx_call(&config, add_one, &one, &two, sizeof two, &result) == SBX_OK) {
            if (two != 2 || strcmp(result.out.data, "adding\n") != 0) return "no result";
            called = 1;
        } else if (called || result.step != SBX_STEP_IO) {
            return test_text("call, %d free: %s", count, result.message);
        }
        sbx_free(&result);
        if (*test_host_diff(&before)) return test_host_diff(&before);
        close(63 - count);
    }
    return ran && called ? "" : "20 descriptors were not enough";
}

UTEST(host, a40_descriptors_used_up_for_a_box_or_a_call) {
    EXPECT_STREQ("", test_in_copy(start_with_few_fds, NULL));
}

/* ==== 41: no memory =========================================================================== */

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

enum { BY_RUN, BY_HANDLE, BY_CALL };

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
        config.memory_bytes = test_is_portable() ? 0 : 400LL << 20;
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

UTEST(host, a41_every_allocation_fails_once) { expect_without_memory(utest_result, BY_RUN, 0); }
UTEST(host, a41_every_allocation_fails_once_truncating) {
    expect_without_memory(utest_result, BY_RUN, 1);
}
UTEST(host, a41_every_allocation_of_a_handle_fails_once) {
    expect_without_memory(utest_result, BY_HANDLE, 0);
}
UTEST(host, a41_every_allocation_of_a_call_fails_once) {
    expect_without_memory(utest_result, BY_CALL, 0);
}

/* ==== 42: no process slot ===================================================================== */

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
    MUST_RUN(&config, &result, SBX_NOT_STARTED);
    TEST_MUST(result.step == SBX_STEP_SPAWN && result.sys_errno == EAGAIN);
    sbx_free(&result);
    config.argv = NULL;
    TEST_MUST(sbx_call(&config, add_one, &one, &two, sizeof two, &result) == SBX_NOT_STARTED);
    TEST_MUST(result.step == SBX_STEP_SPAWN && result.sys_errno == EAGAIN && two == 0);
    sbx_free(&result);
    return "";
}

UTEST(host, a42_no_process_slot) { EXPECT_STREQ("", test_in_copy(run_without_processes, NULL)); }

/* ==== 43: a timer that interrupts everything ================================================== */

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

/* ==== 44: threads ============================================================================= */

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

/* ==== 45: standard streams closed ============================================================= */

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
        else
            TEST_MUST(result.verdict == SBX_OK);
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

/* ==== 46: descriptors with large numbers ====================================================== */

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

/* ==== And more ================================================================================ */

/* The time is over while the child is still being made: timed out, or just done; nothing else. */
UTEST(host, deadline_passes_during_the_start) {
    int round, missing;
    for (round = 0; round < 80; round++)
        for (missing = 0; missing < 2; missing++) {
            sbx_config config = {0};
            sbx_result result;
            const char *const nothing[] = {"/no/such/program", NULL};
            config.argv = test_child_argv("exit", "0");
            if (missing) config.argv = nothing;
            config.contain = round % 2 ? SBX_CONTAIN_AUTO : SBX_CONTAIN_GROUP;
            config.timeout_ms = 1 + round % 4;
            TEST_RUN(&config, &result);
            if (result.verdict != SBX_TIMED_OUT)
                EXPECT_VERDICT(missing ? SBX_NOT_STARTED : SBX_OK, result);
            sbx_free(&result);
            if (*utest_result) return;
        }
}

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

/* ==== Copies of the host, threads, limits of its own ========================================== */

static int fn_seven(void *arg, void *ret, size_t size) {
    (void)arg;
    memset(ret, 7, size);
    return 0;
}

static void *call_often(void *arg) {
    int i;
    for (i = 0; i < 40; i++) {
        sbx_config config = {0};
        sbx_result result;
        char seven = 0;
        config.timeout_ms = 20000;
        if (sbx_call(&config, fn_seven, NULL, &seven, 1, &result) != SBX_OK || seven != 7)
            ++*(int *)arg;
        sbx_free(&result);
    }
    return NULL;
}

static int fn_endless(void *arg, void *ret, size_t ret_size) {
    volatile int on = 1;
    (void)arg, (void)ret, (void)ret_size;
    alarm(20);
    while (on) {
    }
    return 0;
}

/* In a large host a function begins late: its time may be over before it has a group of its own. */
static const char *call_in_a_hurry(void *arg) {
    static const size_t size = 200u << 20;
    char *large = (char *)malloc(size);
    int i;
    (void)arg;
    TEST_MUST(large != NULL);
    memset(large, 1, size);
    for (i = 0; i < 20; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.contain = SBX_CONTAIN_GROUP;
        config.timeout_ms = 1 + i % 3;
        config.grace_ms = i % 2 ? -1 : 5;
        if (sbx_call(&config, fn_endless, NULL, NULL, 0, &result) != SBX_TIMED_OUT)
            return test_text("%s", result.message);
        sbx_free(&result);
    }
    free(large);
    return "";
}

UTEST(host, call_whose_time_is_over_at_once) {
    EXPECT_STREQ("", test_in_copy(call_in_a_hurry, NULL));
}

/* Its own end is not the host's, however late the host asks. */
UTEST(host, asked_after_the_deadline) {
    int contain;
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_GROUP; contain++) {
        sbx_config config = {0};
        sbx_result result;
        sbx *box;
        config.argv = test_child_argv("raise", "9");
        config.contain = (sbx_contain)contain;
        config.timeout_ms = 100;
        box = sbx_start(&config, &result);
        ASSERT_TRUE(box != NULL);
        test_sleep_ms(200);
        EXPECT_EQ((int)SBX_CRASHED, (int)sbx_finish(box, &result));
        EXPECT_EQ(9, result.signal);
        sbx_free(&result);
    }
}

/* The host has room for the result once, the child for a second time not. */
static const char *call_without_room(void *arg) {
    static const size_t size = 256u << 20;
    char *ret = (char *)calloc(1, size);
    struct rlimit room;
    int contain, count;
    (void)arg;
    TEST_MUST(ret != NULL);
    room.rlim_cur = room.rlim_max = size + (128u << 20);
    TEST_MUST(setrlimit(RLIMIT_AS, &room) == 0);
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_GROUP; contain++) {
        sbx_config config = {0};
        sbx_result result;
        config.contain = (sbx_contain)contain;
        count = test_count_fds();
        if (sbx_call(&config, fn_seven, NULL, ret, size, &result) != SBX_NOT_STARTED ||
            result.step != SBX_STEP_MEMORY || result.sys_errno != ENOMEM || *ret)
            return test_text("%d: %s", contain, result.message);
        if (test_count_fds() != count) return "descriptors are left";
        sbx_free(&result);
    }
    free(ret);
    return "";
}

UTEST(host, call_that_cannot_begin) {
    if (test_is_asan()) UTEST_SKIP("sanitizers need much address space");
    EXPECT_STREQ("", test_in_copy(call_without_room, NULL));
}

/* Each child is a copy that holds the descriptors of the other threads' calls. ThreadSanitizer does
   not support copies of a host with threads, so its run, which goes by names, leaves them out. */
UTEST(host, calls_side_by_side) {
    pthread_t threads[4];
    int wrong[4] = {0, 0, 0, 0}, i;
    for (i = 0; i < 4; i++) ASSERT_EQ(0, pthread_create(&threads[i], NULL, call_often, &wrong[i]));
    for (i = 0; i < 4; i++) {
        ASSERT_EQ(0, pthread_join(threads[i], NULL));
        EXPECT_EQ(0, wrong[i]);
    }
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
    TEST_MUST(sbx_call(&call, fn_seven, NULL, seven, sizeof seven, &result) == SBX_OK);
    TEST_MUST(seven[99] == 7);
    sbx_free(&result);
    return "";
}

UTEST(host, may_have_no_right_to_write_files) {
    EXPECT_STREQ("", test_in_copy(run_without_files, NULL));
}

static int fn_tells_its_environment(void *arg, void *ret, size_t size) {
    const char *one = getenv("SBX_ONE"), *path = getenv("PATH");
    (void)arg;
    snprintf((char *)ret, size, "%s %s", one ? one : "none", path ? "path" : "none");
    return 0;
}

UTEST(host, call_sees_the_environment_of_the_config) {
    const char *env[] = {"SBX_ONE=1", NULL};
    sbx_config config = {0};
    sbx_result result;
    char text[32];
    EXPECT_EQ(SBX_OK, (int)sbx_call(&config, fn_tells_its_environment, NULL, text, 32, &result));
    EXPECT_STREQ("none none", text);
    sbx_free(&result);
    config.env = env;
    EXPECT_EQ(SBX_OK, (int)sbx_call(&config, fn_tells_its_environment, NULL, text, 32, &result));
    EXPECT_STREQ("1 none", text);
    sbx_free(&result);
    config.inherit_env = 1;
    EXPECT_EQ(SBX_OK, (int)sbx_call(&config, fn_tells_its_environment, NULL, text, 32, &result));
    EXPECT_STREQ("1 path", text);
    sbx_free(&result);
}

static int fn_locks_twice(void *arg, void *ret, size_t size) {
    pthread_mutexattr_t strict;
    pthread_mutex_t mutex;
    (void)arg, (void)size;
    pthread_mutexattr_init(&strict);
    pthread_mutexattr_settype(&strict, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&mutex, &strict);
    ((int *)ret)[0] = pthread_mutex_lock(&mutex);
    ((int *)ret)[1] = pthread_mutex_lock(&mutex);
    return 0;
}

static int fn_raises(void *arg, void *ret, size_t size) {
    (void)ret, (void)size;
    raise(*(int *)arg);
    return 0;
}

/* The libc keeps the number of the thread, which is another one in a tree. */
UTEST(host, call_knows_its_own_number) {
    sbx_config config = {0};
    sbx_result result;
    int number = SIGUSR1, codes[2] = {-1, -1};
    EXPECT_EQ(SBX_OK, (int)sbx_call(&config, fn_locks_twice, NULL, codes, sizeof codes, &result));
    EXPECT_EQ(0, codes[0]);
    EXPECT_EQ(EDEADLK, codes[1]);
    sbx_free(&result);
    EXPECT_EQ(SBX_CRASHED, (int)sbx_call(&config, fn_raises, &number, NULL, 0, &result));
    EXPECT_EQ(SIGUSR1, result.signal);
    sbx_free(&result);
}

/* More CPU time than allowed is no SBX_OK, also if it was spent before anybody looked. */
UTEST(host, cpu_time_past_the_limit_is_never_ok) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("burn", "user", "1", "60");
    config.cpu_ms = 10;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CPU_LIMIT, result);
    sbx_free(&result);
}

/* A full input wakes the poll when it can take more, however long that was to last. */
UTEST(host, poll_returns_when_input_can_be_written) {
    static char block[300000];
    size_t left = sizeof block;
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    config.argv = test_child_argv("cat");
    config.in = SBX_PIPE;
    box = sbx_start(&config, &result);
    ASSERT_NE((sbx *)NULL, box);
    EXPECT_NE('\0', result.message[0]);
    while (left > 0) {
        long long n = sbx_write(box, block, left);
        ASSERT_GE(n, 0);
        left -= (size_t)n;
        if (left > 0) ASSERT_EQ(0, sbx_poll(box, -1));
    }
    EXPECT_EQ(SBX_OK, (int)sbx_finish(box, &result));
    EXPECT_EQ(sizeof block, result.out.size);
    sbx_free(&result);
}
