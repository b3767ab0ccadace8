/* What goes in and what comes out: input, output, the cap, live output, descriptors, terminals. */
#include "test.h"

#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#ifdef __linux__
#include <sys/ptrace.h>
#endif

/* ==== Input =================================================================================== */

UTEST(seed, A9_stdin_piped_if_given_else_null) {
    char dir[PATH_MAX];
    sbx_config config = {0};
    sbx_result result;
    int fd;
    result = RUN_CHILD(&config, "stdin");
    EXPECT_STREQ("null 0\n", result.out.data);
    sbx_free(&result);
    config.input = "";
    result = RUN_CHILD(&config, "stdin");
    EXPECT_STREQ("pipe 0\n", result.out.data); /* zero bytes are not the same as none */
    sbx_free(&result);
    config.input = "a\0b";
    config.input_size = 3;
    result = RUN_CHILD(&config, "stdin");
    EXPECT_STREQ("pipe 3\n", result.out.data);
    sbx_free(&result);
    config.input = NULL;
    config.input_size = 0;
    config.in = SBX_DISCARD;
    result = RUN_CHILD(&config, "stdin");
    EXPECT_STREQ("null 0\n", result.out.data);
    sbx_free(&result);
    test_tmpdir(dir);
    fd = open(test_write_file(dir, "in", "12345", 5, 0600), O_RDONLY | O_CLOEXEC);
    config.in = SBX_FD;
    config.in_fd = fd;
    result = RUN_CHILD(&config, "stdin");
    EXPECT_STREQ("file 5\n", result.out.data);
    EXPECT_TRUE(fcntl(fd, F_GETFD) >= 0); /* the host keeps it */
    sbx_free(&result);
    close(fd);
    test_remove_tree(dir);
}

static char *big_input(size_t size) {
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : (char *)block;
}

UTEST(attack, a11_never_reads_100_mb_of_input) {
    size_t size = (size_t)(100 * MB);
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("sleep");
    config.input = big_input(size);
    config.input_size = size;
    config.timeout_ms = 100;
    config.grace_ms = -1;
    ASSERT_TRUE(config.input != NULL);
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_GE(result.wall_us, 95 * 1000LL);
    EXPECT_LT(result.wall_us, 12 * 1000000LL);
    sbx_free(&result);
    munmap((void *)(size_t)config.input, size);
}

static volatile sig_atomic_t pipe_signals;
static void count_pipe_signal(int signal_number) {
    (void)signal_number;
    pipe_signals++;
}

/* Every way in which the reader can go away, under every way in which a host can treat SIGPIPE. */
static void expect_unread_input(int *utest_result, const char *bytes, const char *then,
                                sbx_verdict verdict) {
    size_t size = (size_t)(4 * MB);
    char *input = big_input(size);
    sigset_t pipe_only, old_mask;
    int round;
    ASSERT_NE((char *)NULL, input);
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    for (round = 0; round < 4; round++) {
        sbx_config config = {0};
        sbx_result result;
        struct sigaction action, old_action;
        memset(&action, 0, sizeof action);
        action.sa_handler = round == 1 ? SIG_IGN : round == 2 ? count_pipe_signal : SIG_DFL;
        pipe_signals = 0;
        sigaction(SIGPIPE, &action, &old_action);
        sigprocmask(SIG_BLOCK, round == 3 ? &pipe_only : NULL, &old_mask);
        config.argv = test_child_argv("read_some", bytes, then, "40");
        config.input = input;
        config.input_size = size;
        config.timeout_ms = LONG_MS;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(verdict, result);
        EXPECT_EQ(0, (int)pipe_signals);
        EXPECT_LT(result.wall_us, 12 * 1000000LL);
        sbx_free(&result);
        sigprocmask(SIG_SETMASK, &old_mask, NULL);
        sigaction(SIGPIPE, &old_action, NULL);
    }
    munmap(input, size);
}

UTEST(attack, a12_reads_half_of_its_input_and_exits) {
    expect_unread_input(utest_result, "2097152", "0", SBX_OK);
    expect_unread_input(utest_result, "2097153", "9", SBX_EXITED);
}

UTEST(attack, a12_closes_its_input_and_runs_on) {
    expect_unread_input(utest_result, "10", "close", SBX_OK);
}

static long long cpu_us(const struct rusage *used) {
    return (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000LL + used->ru_utime.tv_usec +
           used->ru_stime.tv_usec;
}

/* Nothing to read, nothing to write, and yet not over: the host sleeps until something happens. */
UTEST(attack, a12_costs_the_host_nothing_while_it_sleeps) {
    static const char *const modes[][4] = {
        {"sleep", "250", NULL, NULL},
        {"close_out", "250", NULL, NULL},
        {"read_some", "10", "close", "250"}};
    size_t size = (size_t)(4 * MB);
    char *input = big_input(size);
    int i;
    ASSERT_NE((char *)NULL, input);
    for (i = 0; i < 3; i++) {
        sbx_config config = {0};
        sbx_result result;
        struct rusage before, after;
        config.argv = test_child_argv(modes[i][0], modes[i][1], modes[i][2], modes[i][3]);
        config.input = input;
        config.input_size = size;
        config.timeout_ms = LONG_MS;
        getrusage(RUSAGE_SELF, &before);
        TEST_RUN(&config, &result);
        getrusage(RUSAGE_SELF, &after);
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_LT(cpu_us(&after) - cpu_us(&before), result.wall_us / 2);
        sbx_free(&result);
    }
    munmap(input, size);
}

UTEST(attack, a32_dies_while_the_host_is_writing_to_it) {
    expect_unread_input(utest_result, "1", "kill", SBX_CRASHED);
    expect_unread_input(utest_result, "1000000", "kill", SBX_CRASHED);
}

/* A signal that was pending before the run is the host's own and stays pending. */
UTEST(attack, a32_keeps_the_hosts_own_pending_sigpipe) {
    size_t size = (size_t)(4 * MB);
    char *input = big_input(size);
    sbx_config config = {0};
    sbx_result result;
    sigset_t pipe_only, old_mask, pending;
    int got = 0;
    ASSERT_NE((char *)NULL, input);
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigprocmask(SIG_BLOCK, &pipe_only, &old_mask);
    raise(SIGPIPE);
    config.argv = test_child_argv("read_some", "1", "kill");
    config.input = input;
    config.input_size = size;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CRASHED, result);
    sigpending(&pending);
    EXPECT_TRUE(sigismember(&pending, SIGPIPE));
    if (sigismember(&pending, SIGPIPE)) sigwait(&pipe_only, &got);
    sigprocmask(SIG_SETMASK, &old_mask, NULL);
    sbx_free(&result);
    munmap(input, size);
}

/* What the host does about SIGPIPE: 0 default, 1 ignores, 2 handles, 3 blocks, 4 one is pending */
static const char *child_that_closed_stdin(void *arg) {
    static char input[1000000];
    int how = *(int *)arg;
    sbx_config config = {0};
    sbx_result result;
    sigset_t set, pending;
    sbx *box;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    signal(SIGPIPE, how == 1 ? SIG_IGN : how == 2 ? count_pipe_signal : SIG_DFL);
    if (how >= 3) sigprocmask(SIG_BLOCK, &set, NULL);
    if (how == 4) raise(SIGPIPE);
    config.input = input;
    config.input_size = sizeof input;
    MUST_RUN(&config, SBX_OK, "exit", "0"); /* test_run compares mask, dispositions, pending */
    MUST_RUN(&config, SBX_OK, "read_some", "1000", "close", "20");
    MUST_RUN(&config, SBX_EXITED, "read_some", "70000", "3");
    MUST_RUN(&config, SBX_CRASHED, "read_some", "500", "kill");
    config.input = NULL, config.input_size = 0;
    config.in = SBX_PIPE;
    config.argv = test_child_argv("read_some", "0", "close", "40");
    TEST_MUST((box = sbx_start(&config, &result)) != NULL);
    while (sbx_write(box, input, 1000) >= 0) sbx_poll(box, 1);
    TEST_MUST(sbx_write(box, input, 1000) == -1);
    TEST_MUST(sbx_finish(box, &result) == SBX_OK);
    sbx_free(&result);
    sigpending(&pending);
    TEST_MUST(sigismember(&pending, SIGPIPE) == (how == 4));
    TEST_MUST(pipe_signals == 0);
    return "";
}

UTEST(pitfall, P10_writing_to_a_closed_stdin) {
    int how;
    for (how = 0; how < 5; how++)
        EXPECT_STREQ("", test_in_copy(child_that_closed_stdin, &how));
}

static int is_binary(const char *data, size_t size, int inverted) {
    size_t i;
    if (size != 4096) return 0;
    for (i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)(i * 37 + i / 256);
        if ((unsigned char)data[i] != (inverted ? (unsigned char)~byte : byte)) return 0;
    }
    return 1;
}

UTEST(attack, a31_input_is_bytes_too) {
    char all[4096];
    sbx_config config = {0};
    sbx_result result;
    int i;
    for (i = 0; i < 4096; i++) all[i] = (char)(i * 37 + i / 256);
    config.argv = test_child_argv("cat");
    config.input = all;
    config.input_size = sizeof all;
    TEST_RUN(&config, &result);
    EXPECT_TRUE(is_binary(result.out.data, result.out.size, 0));
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
    ASSERT_TRUE(box != NULL);
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

/* The child fills its output before it reads a byte of a large input. */
UTEST(seed, fails_stdin_is_written_before_output_is_read) {
    static char input[2000000];
    sbx_config config = {0};
    sbx_result result;
    config.input = input;
    config.input_size = sizeof input;
    config.output_bytes = 4 << 20;
    config.timeout_ms = 20000;
    result = RUN_CHILD(&config, "write_first", "2000000");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_STREQ("", test_pattern_flaw(&result.out, 2000000, 2000000));
    EXPECT_STREQ("2000000", result.err.data);
    sbx_free(&result);
}

/* ==== Output: bytes as they come ============================================================== */

UTEST(attack, a31_prints_every_byte_value) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("binary");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_TRUE(is_binary(result.out.data, result.out.size, 0));
    EXPECT_TRUE(is_binary(result.err.data, result.err.size, 1));
    sbx_free(&result);
    config.err = SBX_MERGE;
    TEST_RUN(&config, &result);
    ASSERT_EQ(8192, (int)result.out.size);
    EXPECT_TRUE(is_binary(result.out.data, 4096, 0));
    EXPECT_TRUE(is_binary(result.out.data + 4096, 4096, 1));
    EXPECT_EQ(0, (int)result.err.size);
    sbx_free(&result);
}

UTEST(seed, S14_raw_bytes_with_a_nul_behind_them) {
    sbx_config config = {0};
    sbx_result result = RUN_CHILD(&config, "binary");
    int i, wrong = 0;
    EXPECT_EQ((size_t)4096, result.out.size);
    EXPECT_EQ((size_t)4096, result.err.size);
    for (i = 0; i < 4096 && result.out.size == 4096 && result.err.size == 4096; i++) {
        unsigned char want = (unsigned char)(i * 37 + i / 256);
        wrong += (unsigned char)result.out.data[i] != want;
        wrong += (unsigned char)result.err.data[i] != (unsigned char)~want;
    }
    EXPECT_EQ(0, wrong);
    EXPECT_EQ(0, (int)result.out.data[result.out.size]);
    EXPECT_EQ(0, (int)result.err.data[result.err.size]);
    sbx_free(&result);
    config.output_bytes = 4; /* the cap counts bytes, whatever they stand for */
    config.truncate_output = 1;
    result = RUN_CHILD(&config, "say", "caf\xc3\xa9!");
    EXPECT_STREQ("caf\xc3", result.out.data);
    EXPECT_EQ((size_t)3, sbx_utf8_prefix(result.out.data, result.out.size, result.out.size));
    sbx_free(&result);
}

UTEST(pitfall, P31_nul_bytes_in_output) {
    sbx_config config = {0};
    sbx_result result;
    config.command = "printf 'a\\000b\\000\\000'; printf '\\000' >&2";
    TEST_RUN(&config, &result);
    EXPECT_EQ((size_t)5, result.out.size);
    EXPECT_EQ(0, memcmp(result.out.data, "a\0b\0\0", 6));
    EXPECT_EQ((size_t)1, result.err.size);
    EXPECT_EQ(0, memcmp(result.err.data, "\0\0", 2));
    sbx_free(&result);
    config.address_space_bytes = 1 << 30; /* words behind a NUL are words */
    config.command = "printf '\\000MemoryError\\n' >&2; exit 1";
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    sbx_free(&result);
}

/* The last bytes before the exit are never lost, however the end is noticed. */
UTEST(pitfall, P03_last_bytes_are_read) {
    sbx_config config = {0};
    int i;
    for (i = 0; i < 20; i++) {
        sbx_result result = RUN_CHILD(&config, "write", "60000", "60000", "1");
        EXPECT_EQ((size_t)60000, result.out.size);
        EXPECT_EQ((size_t)60000, result.err.size);
        sbx_free(&result);
    }
}

UTEST(pitfall, P16_output_is_drained_while_waiting) {
    sbx_config config = {0};
    sbx_result result;
    config.output_bytes = 16 << 20;
    config.timeout_ms = 18000;
    result = RUN_CHILD(&config, "write", "6000000", "6000000");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_EQ((size_t)6000000, result.out.size);
    EXPECT_EQ((size_t)6000000, result.err.size);
    sbx_free(&result);
}

UTEST(attack, a14_one_byte_at_a_time) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("flood", "out", "1");
    config.output_bytes = 5000;
    config.timeout_ms = LONG_MS;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OUTPUT_LIMIT, result);
    EXPECT_EQ(5000, (int)result.out.size);
    sbx_free(&result);
    config.output_bytes = SBX_UNLIMITED;
    config.timeout_ms = SHORT_MS;
    config.grace_ms = -1;
    TEST_RUN_READY(&config, "xxxxxxxxxx", &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_TRUE(result.out.size == result.out.total);
    sbx_free(&result);
}

static long drip_calls;
static int count_calls(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)user, (void)stream, (void)data, (void)size;
    drip_calls++;
    return 0;
}

UTEST(pitfall, P38_one_byte_writes) {
    sbx_config config = {0};
    sbx_result result;
    size_t i, wrong = 0;
    config.on_output = count_calls;
    config.timeout_ms = 18000;
    test_fail_allocation(0);
    result = RUN_CHILD(&config, "drip", "60000");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_EQ((size_t)60000, result.out.size);
    for (i = 0; i < result.out.size; i++)
        wrong += result.out.data[i] != (char)('a' + (i * 7 + i / 251) % 26);
    EXPECT_EQ((size_t)0, wrong);
    EXPECT_LT(test_allocations(), 400L); /* growth by doubling: not one for every write */
    sbx_free(&result);
    config.output_bytes = 777;
    config.grace_ms = -1;
    result = RUN_CHILD(&config, "drip", "100000000", "both"); /* would go on for minutes */
    EXPECT_EQ((int)SBX_OUTPUT_LIMIT, (int)result.verdict);
    EXPECT_EQ((size_t)777, result.out.size + result.err.size);
    sbx_free(&result);
    config.truncate_output = 1; /* the deadline holds while it drips */
    config.timeout_ms = 200;
    result = RUN_CHILD(&config, "drip", "100000000", "both");
    EXPECT_EQ((int)SBX_TIMED_OUT, (int)result.verdict);
    EXPECT_LE(result.out.size + result.err.size, (size_t)777);
    sbx_free(&result);
}

UTEST(seed, S15_merged_in_the_order_written) {
    sbx_config config = {0};
    sbx_result result;
    const char *at;
    int i;
    config.err = SBX_MERGE;
    result = RUN_CHILD(&config, "lines", "2000");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    for (at = result.out.data, i = 0; i < 2000 && at && *at; i++) {
        if (atoi(at) != i) break;
        at = strchr(at, '\n');
        if (at) at++;
    }
    EXPECT_EQ(2000, i);
    EXPECT_TRUE(result.err.size == 0 && result.err.total == 0);
    EXPECT_STREQ("", result.err.data);
    sbx_free(&result);
    config.grace_ms = -1;
    result = SHELL_LATE(&config, "three\n",
                        "echo one; echo two >&2; echo three; exec sleep 20");
    EXPECT_STREQ("one\ntwo\nthree\n", result.out.data); /* what was there is kept */
    sbx_free(&result);
    config.argv = NULL;
    config.out = SBX_DISCARD; /* merged into what is thrown away */
    config.command = "echo one; echo two >&2";
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_EQ(0ULL, result.out.total + result.err.total);
    sbx_free(&result);
}

UTEST(seed, S15_merged_into_a_descriptor) {
    char dir[PATH_MAX], text[64];
    sbx_config config = {0};
    sbx_result result;
    ssize_t size;
    int fd;
    test_tmpdir(dir);
    fd = open(test_text("%s/merged", dir), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    config.command = "echo one; echo two >&2; echo three";
    config.out = SBX_FD;
    config.out_fd = fd;
    config.err = SBX_MERGE;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    size = pread(fd, text, sizeof text - 1, 0); /* still open for the host */
    text[size > 0 ? size : 0] = 0;
    EXPECT_STREQ("one\ntwo\nthree\n", text);
    sbx_free(&result);
    close(fd);
    test_remove_tree(dir);
}

/* ==== Output: both streams and the input at once ============================================== */

UTEST(seed, S6_both_streams_and_stdin_at_once) {
    static char input[3000000];
    sbx_config config = {0};
    sbx_result result;
    size_t i;
    for (i = 0; i < sizeof input; i++) input[i] = test_pattern(i);
    config.output_bytes = 8 << 20;
    config.timeout_ms = 20000;
    result = RUN_CHILD(&config, "interleave", "5");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_STREQ("", test_pattern_flaw(&result.out, 1000000, 200000));
    EXPECT_STREQ("", test_pattern_flaw(&result.err, 1000000, 200000));
    sbx_free(&result);
    config.input = input;
    config.input_size = sizeof input;
    result = RUN_CHILD(&config, "cat"); /* blocks on its output unless it is read meanwhile */
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_STREQ("", test_pattern_flaw(&result.out, sizeof input, sizeof input));
    sbx_free(&result);
}

/* ==== The cap ================================================================================= */

UTEST(attack, a13_floods) {
    static const char *const where[] = {"out", "err", "both"};
    static const char *const chunks[] = {"65536", "4096", "7"};
    static const long long caps[] = {1, 4096, 100001, 0};
    int i, j, k;
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++)
            for (k = 0; k < 4; k++) {
                sbx_config config = {0};
                sbx_result result;
                unsigned long long cap = caps[k] ? (unsigned long long)caps[k] : 1024 * 1024;
                if (j == 2 && k == 3) continue; /* a million tiny writes take their time */
                config.argv = test_child_argv("flood", where[i], chunks[j]);
                config.output_bytes = caps[k];
                config.timeout_ms = LONG_MS;
                TEST_RUN(&config, &result);
                EXPECT_VERDICT(SBX_OUTPUT_LIMIT, result);
                EXPECT_EQ(1, result.certain);
                EXPECT_TRUE(result.evidence & SBX_SAW_OUTPUT_CAP);
                EXPECT_TRUE(result.out.size + result.err.size == cap);
                EXPECT_TRUE(result.out.total + result.err.total > cap);
                EXPECT_LT(result.wall_us, 12 * 1000000LL);
                sbx_free(&result);
            }
}

/* One stream floods, the other says nothing; the flood does not stop for SIGTERM either. */
UTEST(attack, a13_floods_on_after_sigterm) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("flood", "err", "65536", "stubborn");
    config.output_bytes = 1000;
    config.timeout_ms = LONG_MS;
    config.grace_ms = 100;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OUTPUT_LIMIT, result);
    EXPECT_EQ(1000, (int)result.err.size);
    EXPECT_LT(result.wall_us, 12 * 1000000LL);
    sbx_free(&result);
}

UTEST(attack, a13_flood_is_truncated_and_ends_at_the_deadline) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("flood", "both", "7");
    config.output_bytes = 1000;
    config.truncate_output = 1;
    config.grace_ms = -1;
    for (config.timeout_ms = SHORT_MS;; config.timeout_ms *= 3) { /* until it has begun in time */
        TEST_RUN(&config, &result);
        if (result.out.total + result.err.total > 2000 || config.timeout_ms > 5000) break;
        sbx_free(&result);
    }
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_EQ(1000, (int)(result.out.size + result.err.size));
    EXPECT_TRUE(result.out.total + result.err.total > 2000);
    sbx_free(&result);
}

/* What is thrown away is still read in large pieces: 8 MB byte by byte would take seconds of the
   host's CPU time instead of a few milliseconds. */
UTEST(attack, a13_truncating_is_cheap) {
    int both;
    for (both = 0; both < 2; both++) {
        sbx_config config = {0};
        sbx_result result;
        struct rusage before, after;
        config.argv = test_child_argv("write", "8000000", both ? "8000000" : "0");
        config.output_bytes = 1000;
        config.truncate_output = 1;
        config.timeout_ms = LONG_MS;
        getrusage(RUSAGE_SELF, &before);
        TEST_RUN(&config, &result);
        getrusage(RUSAGE_SELF, &after);
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_TRUE(result.out.total == 8000000);
        EXPECT_LT(cpu_us(&after) - cpu_us(&before), 700 * 1000LL);
        sbx_free(&result);
    }
}

static int is_pattern(const char *data, size_t size) {
    size_t n;
    for (n = 0; n < size; n++)
        if (data[n] != (char)('a' + (n * 7 + n / 251) % 26)) return 0;
    return 1;
}

typedef struct live_log {
    unsigned long long bytes[3];
    int bad;
} live_log;

static int log_live(void *user, sbx_stream stream, const char *data, size_t size) {
    live_log *log = (live_log *)user;
    size_t n;
    for (n = 0; n < size; n++) {
        unsigned long long at = log->bytes[stream] + n;
        if (data[n] != (char)('a' + (at * 7 + at / 251) % 26)) log->bad = 1;
    }
    log->bytes[stream] += size;
    return 0;
}

/* `out` bytes, then `err` bytes, under the cap: what is kept is exact to the byte. */
static void expect_cap(int *utest_result, long long out, long long err, long long cap,
                       int truncate) {
    sbx_config config = {0};
    sbx_result result;
    live_log log = {{0, 0, 0}, 0};
    int over = out + err > cap;
    const char *out_text = test_text("%lld", out), *err_text = test_text("%lld", err);
    config.argv = test_child_argv("write", out_text, err_text);
    config.output_bytes = cap;
    config.truncate_output = truncate;
    config.timeout_ms = LONG_MS;
    config.on_output = log_live;
    config.user = &log;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(over && !truncate ? SBX_OUTPUT_LIMIT : SBX_OK, result);
    EXPECT_TRUE((long long)(result.out.size + result.err.size) == (over ? cap : out + err));
    EXPECT_TRUE(is_pattern(result.out.data, result.out.size));
    EXPECT_TRUE(is_pattern(result.err.data, result.err.size));
    EXPECT_TRUE(log.bytes[SBX_STDOUT] == result.out.size);
    EXPECT_TRUE(log.bytes[SBX_STDERR] == result.err.size);
    EXPECT_FALSE(log.bad);
    if (!over || truncate) {
        EXPECT_TRUE((long long)result.out.total == out);
        EXPECT_TRUE((long long)result.err.total == err);
        EXPECT_EQ(over, result.out.truncated || result.err.truncated);
    } else {
        EXPECT_TRUE((long long)(result.out.total + result.err.total) > cap);
    }
    sbx_free(&result);
}

UTEST(attack, a15_exactly_the_cap_one_less_one_more) {
    static const long long caps[] = {1, 10, 65536, 300000};
    int i, d, truncate;
    for (i = 0; i < 4; i++)
        for (d = -1; d <= 1; d++)
            for (truncate = 0; truncate < 2; truncate++) {
                long long all = caps[i] + d;
                expect_cap(utest_result, all, 0, caps[i], truncate);
                expect_cap(utest_result, 0, all, caps[i], truncate);
                expect_cap(utest_result, all / 2, all - all / 2, caps[i], truncate);
            }
}

UTEST(attack, a15_default_cap_is_one_mebibyte) {
    int d;
    for (d = -1; d <= 1; d++) {
        sbx_config config = {0};
        sbx_result result;
        const char *size = test_text("%lld", MB + d);
        config.argv = test_child_argv("write", size, "0", "4");
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(d > 0 ? SBX_OUTPUT_LIMIT : SBX_EXITED, result);
        EXPECT_TRUE((long long)result.out.size == (d > 0 ? MB : MB + d));
        sbx_free(&result);
    }
}

/* More than the cap, all in the pipe before the host looks: it was written, so it counts. */
UTEST(attack, a15_one_more_and_already_gone) {
    int round;
    for (round = 0; round < 20; round++) expect_cap(utest_result, 11, 0, 10, 0);
}

/* One cap for both streams, exact to the byte, wherever it falls. */
static const char *cap_flaw(long long cap, long long out, long long err, int truncate) {
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    unsigned long long kept;
    config.argv = test_child_argv("write", test_text("%lld", out), test_text("%lld", err));
    config.output_bytes = cap;
    config.truncate_output = truncate;
    if (*(flaw = test_run(&config, &result))) return flaw;
    kept = result.out.size + result.err.size;
    if (out + err <= cap || truncate) {
        if (result.verdict != SBX_OK) return test_text("verdict %s", result.message);
        if ((long long)result.out.total != out || (long long)result.err.total != err)
            return test_text("totals %llu and %llu", result.out.total, result.err.total);
    } else if (result.verdict != SBX_OUTPUT_LIMIT || !result.certain) {
        return test_text("verdict %s", result.message);
    }
    if (kept != (unsigned long long)(out + err < cap ? out + err : cap))
        return test_text("%llu bytes kept", kept);
    if (*(flaw = test_pattern_flaw(&result.out, result.out.size, (size_t)-1))) return flaw;
    if (*(flaw = test_pattern_flaw(&result.err, result.err.size, (size_t)-1))) return flaw;
    sbx_free(&result);
    return "";
}

UTEST(seed, S7_one_cap_exact_to_the_byte) {
    static const long long caps[] = {1, 2, 1000, 4096, 65535, 65536, 65537, 150001};
    unsigned i;
    int truncate;
    for (i = 0; i < sizeof caps / sizeof *caps; i++)
        for (truncate = 0; truncate < 2; truncate++) {
            long long cap = caps[i];
            EXPECT_STREQ("", cap_flaw(cap, cap, 0, truncate));
            EXPECT_STREQ("", cap_flaw(cap, cap + 1, 0, truncate));
            EXPECT_STREQ("", cap_flaw(cap, 0, cap, truncate));
            EXPECT_STREQ("", cap_flaw(cap, 0, cap + 1, truncate));
            EXPECT_STREQ("", cap_flaw(cap, cap / 2, cap - cap / 2, truncate));
            EXPECT_STREQ("", cap_flaw(cap, cap / 2 + 1, cap - cap / 2, truncate));
            EXPECT_STREQ("", cap_flaw(cap, cap, 1, truncate));
            EXPECT_STREQ("", cap_flaw(cap, cap + 100000, cap + 100000, truncate));
        }
    EXPECT_STREQ("", cap_flaw(5, 0, 0, 0));
    EXPECT_STREQ("", cap_flaw(1000, 999, 0, 0));
}

/* The cap falls on the read that crosses it, though the child then says nothing more. */
UTEST(seed, S8_cap_stops_at_once_while_the_other_stream_is_quiet) {
    static const char *const commands[] = {"head -c 2000 /dev/zero; exec sleep 20",
                                           "head -c 2000 /dev/zero >&2; exec sleep 20",
                                           "exec 2>&-; head -c 2000 /dev/zero; exec sleep 20"};
    unsigned i;
    for (i = 0; i < 3; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.command = commands[i];
        config.output_bytes = 1024;
        config.timeout_ms = 15000;
        TEST_RUN(&config, &result);
        EXPECT_EQ((int)SBX_OUTPUT_LIMIT, (int)result.verdict);
        EXPECT_EQ((size_t)1024, result.out.size + result.err.size);
        EXPECT_FALSE(result.evidence & SBX_SAW_DEADLINE);
        EXPECT_LT(result.wall_us, 10000000LL);
        sbx_free(&result);
    }
}

UTEST(seed, fails_cap_needs_the_other_stream) {
    sbx_config config = {0};
    sbx_result result;
    config.output_bytes = 1024;
    config.timeout_ms = 15000;
    config.grace_ms = -1;
    result = RUN_CHILD(&config, "flood", "out", "1", "stubborn");
    EXPECT_EQ((int)SBX_OUTPUT_LIMIT, (int)result.verdict);
    EXPECT_EQ((size_t)1024, result.out.size);
    EXPECT_FALSE(result.evidence & SBX_SAW_DEADLINE);
    sbx_free(&result);
}

UTEST(seed, A11_truncate_reads_on_and_lets_it_finish) {
    sbx_config config = {0};
    sbx_result result;
    config.truncate_output = 1;
    config.output_bytes = 1000;
    result = RUN_CHILD(&config, "write", "3000000", "2000000", "5");
    EXPECT_EQ((int)SBX_EXITED, (int)result.verdict); /* it ended by itself, with its own code */
    EXPECT_EQ(5, result.exit_code);
    EXPECT_EQ((size_t)1000, result.out.size + result.err.size);
    EXPECT_EQ(3000000ULL, result.out.total);
    EXPECT_EQ(2000000ULL, result.err.total);
    EXPECT_EQ(1, result.out.truncated);
    EXPECT_EQ(1, result.err.truncated);
    EXPECT_STREQ("",
                 test_pattern_flaw(&result.out, result.out.size, 3000000)); /* no note mixed in */
    EXPECT_FALSE(result.evidence & SBX_SAW_OUTPUT_CAP);
    sbx_free(&result);
    result = RUN_CHILD(&config, "write", "1000", "0");
    EXPECT_FALSE(result.out.truncated || result.err.truncated);
    sbx_free(&result);
    config.grace_ms = -1; /* the other limits go on */
    result = SHELL_LATE(&config, "start", "printf 'start%4995s' x; exec sleep 20");
    EXPECT_EQ((size_t)1000, result.out.size);
    EXPECT_EQ(5000ULL, result.out.total);
    sbx_free(&result);
}

static long own_peak_kb(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
}

static const char *flooded_host(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    long before = own_peak_kb(), blocks = test_live_blocks();
    (void)arg;
    config.argv = test_child_argv("write", "20000000", "20000000");
    config.output_bytes = 1 << 20;
    config.truncate_output = 1; /* all of it passes through */
    sbx_run(&config, &result);
    TEST_MUST(result.verdict == SBX_OK);
    TEST_MUST(result.out.total + result.err.total == 40000000);
    TEST_MUST(result.out.size + result.err.size == 1 << 20);
    sbx_free(&result);
    TEST_MUST(test_live_blocks() == blocks);
    if (own_peak_kb() - before > 12 << 10)
        return test_text("the host grew by %ld KB", own_peak_kb() - before);
    return "";
}

UTEST(pitfall, P23_memory_stays_below_cap_and_a_chunk) {
    EXPECT_STREQ("", test_in_copy(flooded_host, NULL));
}

#ifdef __linux__
static const char *truncated_runs(void *arg) {
    static const long long caps[] = {1, 1000, 4095, 65536};
    unsigned i;
    (void)arg;
    for (i = 0; i < sizeof caps / sizeof *caps; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("write", "400000", "200000");
        config.output_bytes = caps[i];
        config.truncate_output = 1;
        TEST_MUST(sbx_run(&config, &result) == SBX_OK && result.out.total == 400000);
        sbx_free(&result);
    }
    return "";
}

static const char *watch_truncated_runs(void *arg) {
    test_trace *t = test_trace_new();
    const char *flaw;
    TEST_MUST(t != NULL);
    flaw = test_traced_copy(t, truncated_runs, arg);
    if (*flaw) return flaw;
    if (t->reads > 30000) return test_text("%d reads for 2.4 MB", t->reads);
    return t->reads < 10 ? "the reads were not seen" : "";
}
#endif

/* Past the cap nothing is kept, but it is still read in large pieces. */
UTEST(pitfall, P38_reads_past_the_cap_stay_large) {
#ifdef __linux__
    const char *flaw = test_in_copy(watch_truncated_runs, NULL);
    if (strcmp(flaw, "cannot trace") == 0) UTEST_SKIP("no ptrace here");
    EXPECT_STREQ("", flaw);
#else
    UTEST_SKIP("needs ptrace");
#endif
}

/* ==== Live output ============================================================================= */

typedef struct live {
    char data[2][300000];
    size_t size[3];
    long calls, stop_after, calls_after_stop, wrong;
} live;

static int collect(void *user, sbx_stream stream, const char *data, size_t size) {
    live *l = (live *)user;
    if (l->stop_after && l->calls >= l->stop_after) l->calls_after_stop++;
    l->calls++;
    if ((stream != SBX_STDOUT && stream != SBX_STDERR) || size == 0 || !data ||
        l->size[stream] + size > sizeof l->data[0]) {
        l->wrong++;
        return 0;
    }
    memcpy(l->data[stream - 1] + l->size[stream], data, size);
    l->size[stream] += size;
    return l->stop_after && l->calls >= l->stop_after;
}

/* "" = what the callback got is what the result has, byte for byte. */
static const char *live_flaw(const live *l, const sbx_result *r) {
    if (l->wrong) return "a call with a wrong stream, no bytes or too many";
    if (l->calls_after_stop) return "called again after it had said stop";
    if (l->size[1] != r->out.size || memcmp(l->data[0], r->out.data, r->out.size))
        return test_text("stdout: %zu bytes live, %zu kept", l->size[1], r->out.size);
    if (l->size[2] != r->err.size || memcmp(l->data[1], r->err.data, r->err.size))
        return test_text("stderr: %zu bytes live, %zu kept", l->size[2], r->err.size);
    return "";
}

UTEST(seed, S12_live_output_in_order_within_the_cap) {
    live *l = (live *)calloc(1, sizeof *l);
    sbx_config config = {0};
    sbx_result result;
    config.on_output = collect;
    config.user = l;
    result = RUN_CHILD(&config, "write", "200000", "100000");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_STREQ("", live_flaw(l, &result));
    EXPECT_STREQ("", test_pattern_flaw(&result.out, 200000, 200000));
    sbx_free(&result);
    memset(l, 0, sizeof *l);
    config.output_bytes = 70001;
    result = RUN_CHILD(&config, "write", "100000", "100000");
    EXPECT_EQ((int)SBX_OUTPUT_LIMIT, (int)result.verdict);
    EXPECT_STREQ("", live_flaw(l, &result));
    EXPECT_EQ((size_t)70001, l->size[1] + l->size[2]); /* never past the cap, never short of it */
    sbx_free(&result);
    memset(l, 0, sizeof *l);
    config.truncate_output = 1;
    result = RUN_CHILD(&config, "interleave", "2");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_STREQ("", live_flaw(l, &result));
    EXPECT_EQ((size_t)70001, l->size[1] + l->size[2]);
    sbx_free(&result);
    memset(l, 0, sizeof *l);
    config.output_bytes = 0;
    config.err = SBX_MERGE;
    result = RUN_CHILD(&config, "lines", "500");
    EXPECT_STREQ("", live_flaw(l, &result));
    EXPECT_EQ((size_t)0, l->size[2]); /* merged bytes are stdout's */
    sbx_free(&result);
    memset(l, 0, sizeof *l);
    config.out = config.err = SBX_DISCARD;
    result = RUN_CHILD(&config, "write", "1000", "1000");
    EXPECT_EQ(0L, l->calls); /* nothing is read, so there is nothing to tell */
    sbx_free(&result);
    free(l);
}

/* It is live: the child goes on only when the callback has answered what it wrote. */
typedef struct dialogue {
    sbx *box;
    int asked;
} dialogue;

static int reply(void *user, sbx_stream stream, const char *data, size_t size) {
    dialogue *d = (dialogue *)user;
    (void)stream;
    if (size && data[size - 1] == '?') d->asked++;
    return 0;
}

UTEST(seed, S12_output_is_told_while_the_child_runs) {
    sbx_config config = {0};
    sbx_result result;
    dialogue d = {NULL, 0};
    int turns = 0;
    config.command = "printf 'one?'; read a; printf 'two?'; read b; echo \"$a$b\"";
    config.in = SBX_PIPE;
    config.on_output = reply;
    config.user = &d;
    config.timeout_ms = 15000;
    d.box = sbx_start(&config, &result);
    ASSERT_TRUE(d.box != NULL);
    while (!sbx_poll(d.box, 5)) {
        if (d.asked == turns) continue;
        turns = d.asked;
        EXPECT_EQ(2LL, sbx_write(d.box, turns == 1 ? "x\n" : "y\n", 2));
    }
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(d.box, &result));
    EXPECT_STREQ("one?two?xy\n", result.out.data);
    EXPECT_EQ(2, d.asked);
    sbx_free(&result);
}

UTEST(seed, S12_callback_that_says_stop_cancels) {
    live *l = (live *)calloc(1, sizeof *l);
    sbx_config config = {0};
    sbx_result result;
    config.on_output = collect;
    config.user = l;
    config.grace_ms = 100;
    config.timeout_ms = 15000;
    l->stop_after = 1;
    result = RUN_CHILD(&config, "ignore", "ignore");
    EXPECT_EQ((int)SBX_CANCELLED, (int)result.verdict);
    EXPECT_EQ(1, result.certain);
    EXPECT_TRUE(result.evidence & SBX_SAW_CANCEL);
    EXPECT_STREQ("ready\n", result.out.data);
    EXPECT_EQ(0L, l->calls_after_stop);
    EXPECT_EQ(SIGKILL, result.signal); /* it did not go when asked */
    EXPECT_STREQ("", test_lacks(result.message, "cancel"));
    sbx_free(&result);
    memset(l, 0, sizeof *l);
    l->stop_after = 3;
    result = RUN_CHILD(&config, "flood", "both", "1000");
    EXPECT_EQ((int)SBX_CANCELLED, (int)result.verdict);
    EXPECT_EQ(3L, l->calls);
    sbx_free(&result);
    free(l);
}

/* ==== Descriptors: the three streams and no other ============================================= */

static const char *open_many_and_run(void *arg) {
    static const char *const modes[] = {"default", "discard", "merge", "fd"};
    sbx_config config = {0};
    sbx_result result;
    struct rlimit limit;
    const char *flaw;
    int i, fd, null;
    (void)arg;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max >= 4096) limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    null = open("/dev/null", O_RDWR);
    for (fd = 3; fd <= 1024; fd++)
        if (fcntl(fd, F_GETFD) < 0) dup2(null, fd); /* dup2: not close-on-exec */
    if (limit.rlim_cur > 4000) dup2(null, 4000);
    for (i = 0; i < 4; i++) {
        memset(&config, 0, sizeof config);
        config.argv = test_child_argv("fds");
        if (i == 1) config.in = config.err = SBX_DISCARD;
        if (i == 2) config.err = SBX_MERGE;
        if (i == 3) config.in = config.err = SBX_FD, config.in_fd = 7, config.err_fd = 1024;
        if (i == 3) config.input = NULL;
        flaw = test_run(&config, &result);
        if (*flaw) return test_text("%s: %s", modes[i], flaw);
        if (strcmp(result.out.data, "0 1 2 ") != 0)
            return test_text("%s: open in the child: %s", modes[i], result.out.data);
        sbx_free(&result);
    }
    return "";
}

UTEST(attack, a29_uses_descriptors_it_should_not_have) {
    EXPECT_STREQ("", test_in_copy(open_many_and_run, NULL));
}

static const char *above_5000(void *arg) {
    static char input[300000];
    sbx_config config = {0};
    sbx_result result;
    struct rlimit limit;
    sbx_watch watch;
    sbx *boxes[3];
    int fd, i;
    const char *flaw;
    (void)arg;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < 5200) return "too few";
    limit.rlim_cur = 5200;
    TEST_MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    do TEST_MUST((fd = fcntl(2, F_DUPFD_CLOEXEC, 3)) >= 0);
    while (fd < 5000);
    memset(input, 'i', sizeof input);
    config.input = input;
    config.input_size = sizeof input;
    config.argv = test_child_argv("cat");
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_OK && result.out.size == sizeof input);
    TEST_MUST(memcmp(result.out.data, input, sizeof input) == 0);
    sbx_free(&result);
    config.input = NULL, config.input_size = 0;
    config.output_bytes = 1000;
    MUST_RUN(&config, SBX_OUTPUT_LIMIT, "flood", "both");
    config.timeout_ms = 100;
    config.grace_ms = -1;
    MUST_RUN(&config, SBX_TIMED_OUT, "sleep");
    config.timeout_ms = 0;
    config.in = SBX_PIPE;
    for (i = 0; i < 3; i++) { /* several in one select */
        config.argv = test_child_argv("stdin");
        TEST_MUST((boxes[i] = sbx_start(&config, &result)) != NULL);
        sbx_get_watch(boxes[i], &watch);
        TEST_MUST(watch.count > 0 && watch.fd[0] > 5000);
    }
    for (i = 0; i < 3; i++) {
        TEST_MUST(sbx_write(boxes[i], input, 10 + (size_t)i) == 10 + i);
        sbx_close_input(boxes[i]);
    }
    for (i = 0; i < 3; i++) {
        while (sbx_poll_any(boxes + i, 3 - i, 1000) < 0) {
        }
        TEST_MUST(sbx_finish(boxes[i], &result) == SBX_OK);
        TEST_MUST(strcmp(result.out.data, test_text("pipe %d\n", 10 + i)) == 0);
        sbx_free(&result);
    }
    return "";
}

UTEST(pitfall, P06_descriptors_above_5000) {
    const char *flaw = test_in_copy(above_5000, NULL);
    if (strcmp(flaw, "too few") == 0) UTEST_SKIP("the hard limit of open files is below 5200");
    EXPECT_STREQ("", flaw);
}

typedef struct forker {
    int stop, forks, failed; /* flags */
    char flaw[500];
} forker;

/* What an unrelated child of this host sees: it must have nothing of the boxes. */
static void *fork_all_the_time(void *arg) {
    forker *f = (forker *)arg;
    char text[400];
    const size_t room = sizeof text - 1;
    while (!test_flag(&f->stop) && !test_flag(&f->failed)) {
        int fds[2], status;
        size_t size = 0;
        ssize_t n;
        pid_t pid;
        if (pipe(fds) < 0) {
            snprintf(f->flaw, sizeof f->flaw, "no pipe");
            break;
        }
        fcntl(fds[0], F_SETFD, FD_CLOEXEC);
        fcntl(fds[1], F_SETFD, FD_CLOEXEC);
        pid = fork();
        if (pid == 0) {
            dup2(fds[1], 1);
            execl(test_child(), "child", "fds", (char *)NULL);
            _exit(99);
        }
        close(fds[1]);
        while (size < room && (n = read(fds[0], text + size, room - size)) > 0)
            size += (size_t)n;
        text[size] = 0;
        close(fds[0]);
        waitpid(pid, &status, 0);
        if (strcmp(text, "0 1 2 ") != 0) {
            snprintf(f->flaw, sizeof f->flaw, "sees %s", text);
            test_raise_flag(&f->failed);
        }
        test_raise_flag(&f->forks);
    }
    test_raise_flag(&f->failed);
    return NULL;
}

/* Once each way that has descriptors of its own: input and captured streams, the host's files, a
   handle with an input to write to, a cgroup. "" = the box itself had three. */
static const char *run_with_descriptors(int way, int file) {
    const char *group = getenv("SBX_TEST_CGROUP");
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("fds");
    if (way == 0) config.input = "x", config.input_size = 1;
    if (way == 1) config.in = config.out = config.err = SBX_FD;
    config.in_fd = config.out_fd = config.err_fd = file;
    if (way == 2) config.in = SBX_PIPE;
    if (way == 3 && group && test_has_cgroup()) config.cgroup = group;
    if (way == 2) {
        sbx *box = sbx_start(&config, &result);
        TEST_MUST(box != NULL);
        sbx_finish(box, &result);
    } else {
        sbx_run(&config, &result);
    }
    if (result.verdict != SBX_OK || (way != 1 && strcmp(result.out.data, "0 1 2 ")))
        return test_text("way %d: box sees %s; %s", way, result.out.data, result.message);
    sbx_free(&result);
    return "";
}

static const char *beside_a_forking_thread(void *arg) {
    forker f;
    pthread_t thread;
    int i, fd, file = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)arg;
    for (fd = 3; fd < 4096; fd++) fcntl(fd, F_SETFD, FD_CLOEXEC); /* what the copy itself has */
    memset(&f, 0, sizeof f);
    TEST_MUST(pthread_create(&thread, NULL, fork_all_the_time, &f) == 0);
    for (i = 0; (i < 64 || test_flag(&f.forks) < 25) && !test_flag(&f.failed); i++)
        MUST_BE_WELL(run_with_descriptors(i % 4, file));
    test_raise_flag(&f.stop);
    pthread_join(thread, NULL);
    return test_text("%s", f.flaw);
}

/* Portable POSIX has no way to be born close-on-exec: there only the box itself is promised. */
UTEST(pitfall, P07_nothing_leaks_into_children_of_other_threads) {
    if (test_is_portable()) UTEST_SKIP("needs pipe2");
    EXPECT_STREQ("", test_in_copy(beside_a_forking_thread, NULL));
}

/* In a host without stdin and stdout descriptors of a box get these numbers, and move up. */
static const char *without_streams(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    const char *flaw = "";
    int fd, count = 0;
    sbx *box;
    (void)arg;
    for (fd = 0; fd < 4096; fd++)
        if (fd < 2) close(fd);
        else fcntl(fd, F_SETFD, FD_CLOEXEC); /* what the copy itself has */
    config.argv = test_child_argv("sleep", "10000");
    config.grace_ms = -1;
    config.in = SBX_PIPE;
    box = sbx_start(&config, &result);
    TEST_MUST(box != NULL);
    for (fd = 0; fd < 4096; fd++) {
        int flags = fcntl(fd, F_GETFD);
        count += flags >= 0;
        if (flags >= 0 && !(flags & FD_CLOEXEC)) flaw = test_text("%d stays open in exec", fd);
    }
    sbx_kill(box);
    sbx_finish(box, NULL);
    TEST_MUST(count > 4);
    return flaw;
}

UTEST(pitfall, P07_what_moves_up_is_closed_by_exec_too) {
    EXPECT_STREQ("", test_in_copy(without_streams, NULL));
}

/* The other direction: what the host has open, wherever and however, is not in the box. */
static const char *with_many_descriptors(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    struct rlimit limit;
    long top;
    int i;
    const char *flaw;
    (void)arg;
    getrlimit(RLIMIT_NOFILE, &limit);
#ifdef __linux__
    if (geteuid() == 0) limit.rlim_max = 1 << 20; /* fs.nr_open, unless somebody lowered it */
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) getrlimit(RLIMIT_NOFILE, &limit);
#endif
    if (limit.rlim_max == RLIM_INFINITY) limit.rlim_max = 10240;
    limit.rlim_cur = limit.rlim_max;
    TEST_MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    top = (long)limit.rlim_cur;
    for (i = 0; i < 30; i++) TEST_MUST(fcntl(2, F_DUPFD, 3) >= 0); /* none is close-on-exec */
    TEST_MUST(dup2(2, 500) == 500);
    TEST_MUST(dup2(2, (int)top - 1) == (int)top - 1);
    for (i = 0; i < 3; i++) {
        config.argv = test_child_argv("fds");
        config.open_files = i == 1 ? 20 : 0; /* a lower limit must not hide what is above it */
        config.cwd = i == 2 ? "/" : NULL;
        if (*(flaw = test_run(&config, &result))) return flaw;
        if (result.verdict != SBX_OK) return test_text("%s", result.message);
        if (strcmp(result.out.data, "0 1 2 ")) return test_text("box sees %s", result.out.data);
        sbx_free(&result);
    }
    config.open_files = 0;
    /* with `fds` limited to 65536 numbers, ask for the highest one by hand */
    config.argv = NULL;
    config.command = test_text("if [ -e /proc/self/fd/%ld ]; then echo open; fi", top - 1);
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_OK && result.out.size == 0);
    sbx_free(&result);
    return "";
}

UTEST(pitfall, P08_all_descriptors_closed_at_the_highest_limit) {
    EXPECT_STREQ("", test_in_copy(with_many_descriptors, NULL));
}

#ifdef __linux__
/* An older kernel: close_range is not there. */
static const char *without_close_range(void *arg) {
    static const int numbers[] = {436}; /* one number everywhere */
    if (!test_forbid(numbers, 1, ENOSYS)) return "no filter";
    return with_many_descriptors(arg);
}
#endif

UTEST(pitfall, P08_all_descriptors_closed_without_close_range) {
#ifdef __linux__
    const char *flaw = test_in_copy(without_close_range, NULL);
    if (strcmp(flaw, "no filter") == 0) UTEST_SKIP("no seccomp here");
    EXPECT_STREQ("", flaw);
#else
    UTEST_SKIP("needs seccomp");
#endif
}

static const char *with_closed_streams(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    int mask = *(int *)arg, fd, length = 0;
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    for (fd = 0; fd < 3; fd++)
        if (mask & 1 << fd) close(fd);
    config.input = "input";
    config.input_size = 5;
    config.argv = test_child_argv("cat");
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_OK && strcmp(result.out.data, "input") == 0);
    sbx_free(&result);
    config.argv = test_child_argv("fds");
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(strcmp(result.out.data, "0 1 2 ") == 0); /* all three are there for the child */
    sbx_free(&result);
    config.argv = test_child_argv("say", "out", "err", "3");
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(strcmp(result.out.data, "out") == 0 && strcmp(result.err.data, "err") == 0);
    sbx_free(&result);
    config.err = SBX_MERGE;
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(strcmp(result.out.data, "outerr") == 0);
    sbx_free(&result);
    config.err = SBX_DISCARD;
    config.input = NULL, config.input_size = 0;
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(strcmp(result.out.data, "out") == 0 && result.exit_code == 3);
    sbx_free(&result);
    config.err = SBX_DEFAULT;
    config.argv = missing;
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    sbx_free(&result);
    config.argv = NULL;
    config.input = "four";
    config.input_size = 4;
    if (test_has_call()) {
        TEST_MUST(sbx_call(&config, test_fn_length, NULL, &length, sizeof length, &result) ==
                  SBX_OK);
        TEST_MUST(length == 4);
        TEST_MUST(strcmp(result.out.data, "out") == 0 && strcmp(result.err.data, "err") == 0);
        sbx_free(&result);
    }
    for (fd = 0; fd < 3; fd++) TEST_MUST((fcntl(fd, F_GETFD) < 0) == ((mask & 1 << fd) != 0));
    return "";
}

UTEST(pitfall, P09_streams_of_the_host_closed_in_every_combination) {
    int mask;
    for (mask = 0; mask < 8; mask++) EXPECT_STREQ("", test_in_copy(with_closed_streams, &mask));
}

/* The ends that a host gives may be any, each other's too: 0 as out_fd, 1 as in_fd, one for all. */
static const char *with_crossed_streams(void *arg) {
    char text[32] = "";
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    int in = open(test_write_file((const char *)arg, "in", "from file", 9, 0600), O_RDONLY), out;
    out = open(test_text("%s/out", (const char *)arg), O_RDWR | O_CREAT, 0600);
    TEST_MUST(in >= 0 && out >= 0);
    TEST_MUST(dup2(in, 1) == 1 && dup2(out, 0) == 0); /* stdin is for writing, stdout for reading */
    config.argv = test_child_argv("cat");
    config.in = config.out = SBX_FD;
    config.in_fd = 1;
    config.out_fd = 0;
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_OK);
    sbx_free(&result);
    TEST_MUST(pread(out, text, 20, 0) == 9 && strcmp(text, "from file") == 0);
    config.argv = test_child_argv("say", "one", "two", "0");
    config.in = SBX_DEFAULT;
    config.err = SBX_FD;
    config.err_fd = 0;
    TEST_MUST(lseek(0, 0, SEEK_SET) == 0 && ftruncate(0, 0) == 0);
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_OK && pread(out, text, 20, 0) == 6);
    sbx_free(&result);
    config.out = config.err = SBX_INHERIT; /* 1 is for reading: the child cannot write */
    config.argv = test_child_argv("say", "x");
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_EXITED && result.exit_code == 90);
    sbx_free(&result);
    return "";
}

UTEST(pitfall, P09_streams_crossed) {
    char dir[PATH_MAX];
    test_tmpdir(dir);
    EXPECT_STREQ("", test_in_copy(with_crossed_streams, dir));
    test_remove_tree(dir);
}

/* ==== Terminals =============================================================================== */

#ifdef __linux__
/* In a session of its own whose terminal is a new one; the master end is handed in. */
static const char *in_terminal(const char *(*function)(int master), char *answer, size_t room) {
    int status, master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    pid_t pid;
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0) return "no terminal";
    pid = fork(); /* a group leader cannot make a session */
    if (pid == 0) {
        int slave;
        setsid();
        slave = open(ptsname(master), O_RDWR);
        if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0) _exit(96);
        dup2(slave, 0);
        close(slave);
        snprintf(answer, room, "%s", function(master));
        _exit(0);
    }
    TEST_MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
    if (WIFSIGNALED(status)) return test_text("killed by %d", WTERMSIG(status));
    return WEXITSTATUS(status) ? "no terminal" : answer;
}

static const char *reads_a_terminal(int master) {
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    TEST_MUST(isatty(0) && tcgetpgrp(0) == getpgrp()); /* the host is in the foreground */
    config.argv = test_child_argv("terminal");
    config.timeout_ms = 10000;
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (result.verdict != SBX_OK) return test_text("%s", result.message);
    if (strcmp(result.out.data, "stdin 0\ntty -2\n")) return test_text("%s", result.out.data);
    sbx_free(&result);
    config.in = SBX_INHERIT; /* the host's terminal is given: it reads, and is not stopped */
    TEST_MUST(write(master, "hello\n", 6) == 6);
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (result.verdict != SBX_OK) return test_text("%s", result.message);
    if (strcmp(result.out.data, "stdin 6\ntty -2\n")) return test_text("%s", result.out.data);
    sbx_free(&result);
    TEST_MUST(tcgetpgrp(0) == getpgrp()); /* and still is */
    return "";
}

static const char *child_and_terminal(void *arg) {
    char *answer = (char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                                0);
    (void)arg;
    return in_terminal(reads_a_terminal, answer, 2000);
}
#endif

UTEST(pitfall, P05_child_is_not_stopped_by_the_terminal) {
#ifdef __linux__
    const char *flaw = test_in_copy(child_and_terminal, NULL);
    if (strcmp(flaw, "no terminal") == 0) UTEST_SKIP("no pseudo-terminals here");
    EXPECT_STREQ("", flaw);
#else
    UTEST_SKIP("written for Linux");
#endif
}

#if defined(__linux__) && defined(TIOCSTI)
/* A host that has a terminal and hands it on. The child is not in its session: it has no terminal
   of its own, and cannot type into this one, unless it is root, who may type into any. */
static const char *run_on_terminal(void *arg) {
    int inherit = *(int *)arg, main_end, terminal, fd;
    sbx_config config = {0};
    sbx_result result;
    const char *flaw, *wanted;
    main_end = posix_openpt(O_RDWR | O_NOCTTY);
    if (main_end < 0 || grantpt(main_end) < 0 || unlockpt(main_end) < 0) return "no terminal";
    /* the copy leads its group, so it cannot start a session: its child does */
    fd = (int)fork();
    if (fd > 0) {
        int status = 0;
        waitpid(fd, &status, 0);
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "" : test_text("%d", status);
    }
    setsid();
    terminal = open(ptsname(main_end), O_RDWR);
    if (terminal < 0 || ioctl(terminal, TIOCSCTTY, 0) < 0) _exit(10);
    if (open("/dev/tty", O_RDWR) < 0) _exit(10); /* the test would mean nothing */
    if (inherit) {
        dup2(terminal, 0);
        dup2(terminal, 2);
        config.in = config.err = SBX_INHERIT;
    }
    config.argv = test_child_argv("tiocsti");
    flaw = test_run(&config, &result);
    if (*flaw) _exit(11);
    wanted = inherit && geteuid() == 0 ? "0 yes\n1 no\n2 yes\ntty no\n"
                                       : "0 no\n1 no\n2 no\ntty no\n";
    if (strcmp(result.out.data, wanted) != 0) _exit(12);
    sbx_free(&result);
    _exit(0);
}

UTEST(attack, a33_types_into_the_terminal) {
    int inherit;
    for (inherit = 0; inherit < 2; inherit++) {
        const char *got = test_in_copy(run_on_terminal, &inherit);
        if (strcmp(got, "no terminal") == 0) UTEST_SKIP("no pseudo-terminals here");
        EXPECT_STREQ("", got);
    }
}
#endif

/* ==== Input =================================================================================== */

/* The caller's bytes may go as soon as sbx_start has returned. */
UTEST(streams, input_of_a_handle_is_a_copy) {
    size_t size = 4 << 20, i, wrong = 0;
    char *input = (char *)malloc(size);
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    ASSERT_TRUE(input != NULL);
    memset(input, 'a', size);
    config.argv = test_child_argv("cat");
    config.input = input;
    config.input_size = size;
    config.output_bytes = 8 << 20;
    box = sbx_start(&config, &result);
    memset(input, 'b', size);
    free(input);
    ASSERT_TRUE(box != NULL);
    EXPECT_EQ(SBX_OK, (int)sbx_finish(box, &result));
    EXPECT_EQ(size, result.out.size);
    for (i = 0; i < result.out.size; i++) wrong += result.out.data[i] != 'a';
    EXPECT_EQ((size_t)0, wrong);
    sbx_free(&result);
}

/* How many of the descriptors are to be written; each must be of its kind. -1 = one is not. */
static int writable_ones(const sbx *box) {
    sbx_watch watch;
    int i, count = 0;
    sbx_get_watch(box, &watch);
    for (i = 0; i < watch.count; i++) {
        int mode = fcntl(watch.fd[i], F_GETFL);
        if (mode < 0 || watch.writable[i] != ((mode & O_ACCMODE) == O_WRONLY)) return -1;
        count += watch.writable[i];
    }
    return count;
}

/* A program that does not want its input is as good as any: that is no failure, and no doubt. */
UTEST(streams, input_that_nobody_wants_leaves_no_doubt) {
    static char input[3000000];
    sbx_config config = {0};
    sbx_result result;
    config.input = input;
    config.input_size = sizeof input;
    config.argv = test_child_argv("read_some", "10", "close", "100");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ(1, result.certain);
    EXPECT_EQ(0, result.sys_errno);
    EXPECT_STREQ("'child' exited with code 0", result.message);
    sbx_free(&result);
}

/* Where a write fails, the program does not get the rest: that is told, with the reason. */
UTEST(streams, input_that_cannot_be_fed_is_told) {
    static char input[2000000];
    sbx_config config = {0};
    sbx_result result;
    sbx_watch watch;
    int i, null = open("/dev/null", O_RDONLY), replaced = 0;
    sbx *box;
    config.argv = test_child_argv("cat");
    config.out = SBX_DISCARD;
    config.timeout_ms = LONG_MS;
    config.input = input;
    config.input_size = sizeof input;
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    sbx_get_watch(box, &watch);
    for (i = 0; i < watch.count; i++)
        if (watch.writable[i]) replaced += dup2(null, watch.fd[i]) == watch.fd[i];
    close(null);
    EXPECT_EQ(1, replaced);
    sbx_finish(box, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ(0, result.certain);
    EXPECT_EQ(EBADF, result.sys_errno);
    EXPECT_STREQ("", test_lacks(result.message, "not all of its input could be fed"));
    sbx_free(&result);
}

/* A host that closes what is not its own: no output from there on, which is told; and the end is
   seen all the same. */
UTEST(streams, host_that_closes_a_descriptor_of_a_box) {
    sbx_config config = {0};
    sbx_result result;
    sbx_watch watch;
    struct stat st;
    int i, closed = 0;
    sbx *box;
    config.argv = test_child_argv("sleep", "100", "3");
    config.timeout_ms = 8000;
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    sbx_get_watch(box, &watch);
    for (i = 0; i < watch.count && !closed; i++)
        if (fstat(watch.fd[i], &st) == 0 && S_ISFIFO(st.st_mode)) closed = close(watch.fd[i]) == 0;
    EXPECT_EQ(1, closed);
    sbx_finish(box, &result);
    EXPECT_VERDICT(SBX_EXITED, result);
    EXPECT_EQ(3, result.exit_code);
    EXPECT_EQ(0, result.certain);
    EXPECT_STREQ("", test_lacks(result.message, "not all of its output could be kept"));
    sbx_free(&result);
}

/* How long to wait is told so that nobody wakes in vain, nor for ever. */
UTEST(streams, watch_tells_how_long_to_wait) {
    sbx_config config = {0};
    sbx_result result;
    sbx_watch watch;
    int round, turns = 0;
    sbx *box;
    config.argv = test_child_argv("sleep", "10000");
    config.contain = SBX_CONTAIN_GROUP;
    config.grace_ms = -1;
    for (round = 0; round < 10; round++) {
        config.timeout_ms = 20 + round;
        box = sbx_start(&config, &result);
        ASSERT_TRUE(box != NULL);
        do {
            struct pollfd wait[8];
            int i;
            sbx_get_watch(box, &watch);
            for (i = 0; i < watch.count; i++) {
                wait[i].fd = watch.fd[i];
                wait[i].events = watch.writable[i] ? POLLOUT : POLLIN;
            }
            poll(wait, (nfds_t)watch.count, (int)watch.wait_ms);
            turns++;
        } while (!sbx_poll(box, 0));
        sbx_get_watch(box, &watch);
        EXPECT_TRUE(watch.count == 0 && watch.wait_ms == 0);
        EXPECT_EQ((int)SBX_TIMED_OUT, (int)sbx_finish(box, &result));
        sbx_free(&result);
    }
    EXPECT_LT(turns, 400);
}

/* A full input is to be waited for until it can be written, and only a full one. */
UTEST(streams, watch_tells_what_is_to_be_written) {
    static char chunk[65536];
    sbx_config config = {0};
    sbx_result result;
    long long n;
    sbx *box;
    config.argv = test_child_argv("sleep", "10000");
    config.in = SBX_PIPE;
    config.contain = SBX_CONTAIN_GROUP;
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    EXPECT_EQ(0, writable_ones(box));
    while ((n = sbx_write(box, chunk, sizeof chunk)) == (long long)sizeof chunk) {
    }
    EXPECT_EQ(0LL, n);
    EXPECT_EQ(1, writable_ones(box));
    sbx_close_input(box);
    EXPECT_EQ(0, writable_ones(box));
    sbx_cancel(box);
    sbx_finish(box, &result);
    sbx_free(&result);
}

/* ==== Output ================================================================================== */

/* A stream that the child inherits is open in it, whatever the host does with its own programs. */
static const char *inherited_and_close_on_exec(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    char text[64];
    ssize_t size;
    int fds[2], i;
    (void)arg;
    TEST_MUST(pipe(fds) == 0);
    for (i = 1; i < 3; i++) {
        TEST_MUST(dup2(fds[1], i) == i && fcntl(i, F_SETFD, FD_CLOEXEC) == 0);
    }
    config.argv = test_child_argv("say", "out ", "err ");
    config.out = config.err = SBX_INHERIT;
    TEST_MUST(sbx_run(&config, &result) == SBX_OK);
    sbx_free(&result);
    size = read(fds[0], text, sizeof text - 1);
    TEST_MUST(size > 0);
    text[size] = 0;
    TEST_MUST(strcmp(text, "out err ") == 0);
    TEST_MUST(fcntl(1, F_GETFD) == FD_CLOEXEC && fcntl(2, F_GETFD) == FD_CLOEXEC);
    return "";
}

UTEST(streams, inherited_stream_is_open_in_the_child) {
    EXPECT_STREQ("", test_in_copy(inherited_and_close_on_exec, NULL));
}

/* Room is doubled, but not far past a cap that stands just above a power of two. */
UTEST(streams, memory_for_output_is_bounded_by_the_cap) {
    static const long long caps[] = {(1 << 20) + 1, (1 << 20) + 70000, (2 << 20) + 1};
    int i, truncate;
    for (truncate = 0; truncate < 2; truncate++)
        for (i = 0; i < 3; i++) {
            sbx_config config = {0};
            sbx_result result;
            config.argv = test_child_argv("write", "4000000");
            config.contain = SBX_CONTAIN_GROUP;
            config.output_bytes = caps[i];
            config.truncate_output = truncate;
            test_fail_allocation(0);
            TEST_RUN(&config, &result);
            EXPECT_EQ((size_t)caps[i], result.out.size);
            EXPECT_LE(test_largest_block(), (size_t)caps[i] + 65536 + 4096);
            sbx_free(&result);
        }
}

/* ==== The host sleeps while nothing happens =================================================== */

/* The CPU time of this thread while it waits for MS, the least of three tries. */
UTEST(streams, idle_input_costs_the_host_nothing) {
    long long least = LLONG_MAX;
    int tries;
    for (tries = 0; tries < 3 && least > 30000; tries++) {
        sbx_config config = {0};
        sbx_result result;
        long long used;
        sbx *box;
        config.argv = test_child_argv("cat");
        config.in = SBX_PIPE;
        config.contain = SBX_CONTAIN_GROUP;
        box = sbx_start(&config, &result);
        ASSERT_TRUE(box != NULL);
        used = test_host_cpu_us();
        EXPECT_EQ(0, sbx_poll(box, 300));
        used = test_host_cpu_us() - used;
        if (used < least) least = used;
        EXPECT_EQ(SBX_OK, (int)sbx_finish(box, &result));
        sbx_free(&result);
    }
    EXPECT_LE(least, 30000LL); /* of 300,000 */
}

/* ==== Other children of the host ============================================================== */

/* What a child that the host itself forks and execs has open: "0 1 2 " if all is well. */
static const char *fds_of_another_child(void) {
    static char text[400];
    size_t size = 0;
    int fds[2];
    ssize_t n;
    pid_t pid;
    if (pipe(fds) < 0) return "no pipe";
    fcntl(fds[0], F_SETFD, FD_CLOEXEC);
    fcntl(fds[1], F_SETFD, FD_CLOEXEC);
    pid = fork();
    if (pid == 0) {
        dup2(fds[1], 1);
        execl(test_child(), "child", "fds", (char *)NULL);
        _exit(99);
    }
    close(fds[1]);
    while (size < sizeof text - 1 && (n = read(fds[0], text + size, sizeof text - 1 - size)) > 0)
        size += (size_t)n;
    text[size] = 0;
    close(fds[0]);
    waitpid(pid, NULL, 0);
    return text;
}

/* A program that the host starts by itself, while a box runs, has nothing of it: pipes that it held
   open would never end. */
static const char *beside_running_boxes(void *arg) {
    static const sbx_contain contain[] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};
    const char *seen;
    int i, fd, null;
    (void)arg;
    for (fd = 3; fd < 4096; fd++) fcntl(fd, F_SETFD, FD_CLOEXEC); /* what the copy itself has */
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (i = 0; i < 6; i++) {
        sbx_config config = {0};
        sbx_result result;
        sbx *box;
        config.argv = test_child_argv("sleep", "10000");
        config.contain = contain[i % 2];
        config.in = i / 2 == 0 ? SBX_PIPE : i / 2 == 1 ? SBX_DEFAULT : SBX_FD;
        config.in_fd = config.out_fd = null;
        if (i / 2 == 2) config.out = SBX_FD;
        if (i / 2 == 1) config.memory_bytes = 1LL << 40;
        box = sbx_start(&config, &result);
        TEST_MUST(box != NULL);
        sbx_poll(box, 30); /* it has looked at /proc */
        seen = fds_of_another_child();
        sbx_cancel(box);
        sbx_finish(box, &result);
        sbx_free(&result);
        if (strcmp(seen, "0 1 2 ")) return test_text("box %d: another child has %s", i, seen);
    }
    return "";
}

UTEST(streams, other_programs_of_the_host_have_nothing_of_a_box) {
    EXPECT_STREQ("", test_in_copy(beside_running_boxes, NULL));
}
