/* What users of four older sandboxes rely on, row by row: every test carries the name of its row.
 *
 * C = a function in a child, J = one fresh process per tool call, S = a capped reader with a
 * classifier, A = languages, policy and capabilities. "fails" are the rows on which all of them
 * fail and sbx.h must not. */
#include "test.h"

#include <pthread.h>
#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

/* ==== Helpers ================================================================================= */

/* "" = the part is in the text. */
static const char *lacks(const char *text, const char *part) {
    return strstr(text, part) ? "" : test_text("'%s' is not in: %s", part, text);
}

/* Byte number n of what the child's `write` makes. */
static char pattern(size_t n) { return (char)('a' + (n * 7 + n / 251) % 26); }

/* "" = the output is the first `size` bytes of the pattern, which starts again every `period`. */
static const char *pattern_flaw(const sbx_output *output, size_t size, size_t period) {
    size_t i;
    if (output->size != size) return test_text("%zu bytes, not %zu", output->size, size);
    for (i = 0; i < size; i++)
        if (output->data[i] != pattern(i % period)) return test_text("byte %zu is wrong", i);
    return "";
}

/* One run of the child; the test frees the result. */
static sbx_result run_child(int *utest_result, sbx_config *config, const char *const *argv) {
    sbx_result result;
    const char *flaw;
    config->argv = argv;
    flaw = test_run(config, &result);
    EXPECT_STREQ("", flaw);
    return result;
}
#define RUN_CHILD(config, ...) run_child(utest_result, (config), test_child_argv(__VA_ARGS__))

/* One run of the child that times out as soon as it has said the text. */
static sbx_result run_late(int *utest_result, sbx_config *config, const char *said,
                           const char *const *argv) {
    sbx_result result;
    const char *flaw;
    config->argv = argv;
    flaw = test_run_late(config, said, &result);
    EXPECT_STREQ("", flaw);
    EXPECT_EQ((int)SBX_TIMED_OUT, (int)result.verdict);
    return result;
}
#define RUN_LATE(config, said, ...)                                                                \
    run_late(utest_result, (config), (said), test_child_argv(__VA_ARGS__))
#define SHELL_LATE(config, said, line)                                                             \
    run_late(utest_result, (config), (said), (const char *const[]){"sh", "-c", (line), NULL})

/* ==== C: a function in a child ================================================================ */

typedef struct item {
    int value;
    const struct item *next;
} item;

typedef struct answer {
    long long sum;
    double half;
    int count;
    char text[16];
} answer;

/* Its argument is full of pointers: nothing has to be packed, it is all there in the copy. */
static int add_up(void *arg, void *ret, size_t ret_size) {
    const item *at;
    answer *a = (answer *)ret;
    if (ret_size != sizeof *a) return 1;
    for (at = (const item *)arg; at; at = at->next) a->sum += at->value, a->count++;
    a->half = (double)a->sum / 2;
    snprintf(a->text, sizeof a->text, "%d", a->count);
    return 0;
}

static int does_nothing(void *arg, void *ret, size_t ret_size) {
    (void)arg, (void)ret;
    return ret_size == 0 ? 0 : 1;
}

UTEST(seed, C1_function_with_arguments_returns_its_value) {
    item third = {39, NULL}, second = {2, &third}, first = {1, &second};
    sbx_config config = {0};
    sbx_result result;
    answer got;
    test_host before;
    test_host_save(&before);
    memset(&got, 0x55, sizeof got);
    EXPECT_EQ((int)SBX_OK, (int)sbx_call(&config, add_up, &first, &got, sizeof got, &result));
    EXPECT_STREQ("", test_result_flaw(&config, &result));
    EXPECT_EQ(42LL, got.sum);
    EXPECT_EQ(3, got.count);
    EXPECT_TRUE(got.half > 20.9 && got.half < 21.1);
    EXPECT_STREQ("3", got.text);
    EXPECT_EQ(1, result.certain);
    sbx_free(&result);
    EXPECT_EQ((int)SBX_OK, (int)sbx_call(&config, add_up, NULL, &got, sizeof got, NULL));
    EXPECT_EQ(0LL, got.sum); /* the place for the answer starts out as zeros, not as the last one */
    EXPECT_EQ((int)SBX_OK, (int)sbx_call(&config, does_nothing, NULL, NULL, 0, &result));
    sbx_free(&result);
    EXPECT_STREQ("", test_host_diff(&before));
}

/* Defaults: 30 s, 1 MiB, no other limit; and a config that says nothing else runs everywhere. */
UTEST(seed, C2_defaults) {
    static const char *const names[] = {"cpu", "file", "stack", "open", "space", "processes"};
    static const int which[] = {RLIMIT_CPU,    RLIMIT_FSIZE, RLIMIT_STACK,
                                RLIMIT_NOFILE, RLIMIT_AS,    RLIMIT_NPROC};
    sbx_config config = {0};
    sbx_result result = RUN_CHILD(&config, "limits");
    unsigned i;
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    for (i = 0; i < sizeof which / sizeof *which; i++) { /* none but the host's own */
        struct rlimit own;
        long long soft, hard;
        getrlimit((unsigned)which[i], &own);
        soft = own.rlim_cur == RLIM_INFINITY ? -1 : (long long)own.rlim_cur;
        hard = own.rlim_max == RLIM_INFINITY ? -1 : (long long)own.rlim_max;
        EXPECT_STREQ("", lacks(result.out.data, test_text("%s %lld %lld\n", names[i], soft, hard)));
    }
    EXPECT_STREQ("", lacks(result.out.data, "core 0 0\n"));
    EXPECT_EQ(SBX_BY_SESSION | SBX_BY_RLIMIT_CORE, result.enforced & ~SBX_BY_TREE);
    sbx_free(&result);
    result = RUN_CHILD(&config, "write", "1048576", "0");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_EQ((size_t)1048576, result.out.size);
    sbx_free(&result);
    result = RUN_CHILD(&config, "write", "1048576", "1");
    EXPECT_EQ((int)SBX_OUTPUT_LIMIT, (int)result.verdict);
    EXPECT_STREQ("", lacks(result.message, "1048576"));
    sbx_free(&result);
    config.cwd = NULL;
    result = RUN_CHILD(&config, "pwd");
    {
        char own[PATH_MAX];
        EXPECT_STREQ(getcwd(own, sizeof own), result.out.data);
    }
    sbx_free(&result);
}

/* The clock is moved, nobody waits: 29 s are fine, 31 s are not. */
static const char *default_timeout(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    (void)arg;
    config.argv = test_child_argv("sleep");
    box = sbx_start(&config, &result);
    TEST_MUST(box != NULL);
    TEST_MUST(sbx_poll(box, 0) == 0);
    test_clock_skew_ms = 25000;
    TEST_MUST(sbx_poll(box, 0) == 0);
    test_sleep_ms(20);
    TEST_MUST(sbx_poll(box, 20) == 0);
    test_clock_skew_ms = 31000;
    TEST_MUST(sbx_finish(box, &result) == SBX_TIMED_OUT);
    TEST_MUST(strstr(result.message, "30000 ms") != NULL);
    sbx_free(&result);
    return "";
}

UTEST(seed, C2_default_timeout_is_30_s) {
    if (!test_clock_can_move()) UTEST_SKIP("the clock cannot be moved in this build");
    EXPECT_STREQ("", test_in_copy(default_timeout, NULL));
}

/* --- C3: in force before the program starts, or nothing runs ---------------------------------- */

static long long told_limit(const char *text, const char *name, int hard) {
    const char *at = strstr(text, test_text("%s ", name));
    long long soft = -9, most = -9;
    if (at) sscanf(at + strlen(name), "%lld %lld", &soft, &most);
    return hard ? most : soft;
}

UTEST(seed, C3_limits_are_set_before_the_program_starts) {
    sbx_config config = {0};
    sbx_result result;
    config.address_space_bytes = 3LL << 30;
    config.file_bytes = 12345678;
    config.open_files = 99;
    config.stack_bytes = 1 << 20;
    config.cpu_ms = 7000;
    if (geteuid() != 0) config.processes = 1000;
    result = RUN_CHILD(&config, "limits");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_EQ(3LL << 30, told_limit(result.out.data, "space", 0));
    EXPECT_EQ(3LL << 30, told_limit(result.out.data, "space", 1)); /* it cannot be raised again */
    EXPECT_EQ(12345678LL, told_limit(result.out.data, "file", 1));
    EXPECT_EQ(99LL, told_limit(result.out.data, "open", 1));
    EXPECT_EQ(1LL << 20, told_limit(result.out.data, "stack", 1));
    EXPECT_GE(told_limit(result.out.data, "cpu", 0), 7LL);
    EXPECT_LE(told_limit(result.out.data, "cpu", 0), 8LL);
    if (geteuid() != 0) EXPECT_GE(told_limit(result.out.data, "processes", 1), 1000LL);
    sbx_free(&result);
}

/* A host under a hard limit of its own: the child gets the lower of the two, or nothing runs. */
static const char *under_a_hard_limit(void *arg) {
    struct rlimit lower = {100, 100};
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    (void)arg;
    TEST_MUST(setrlimit(RLIMIT_NOFILE, &lower) == 0);
    config.argv = test_child_argv("limits");
    config.open_files = 200;
    flaw = test_run(&config, &result);
    if (*flaw) return flaw;
    if (result.verdict == SBX_NOT_STARTED) return lacks(result.message, "open_files");
    TEST_MUST(result.verdict == SBX_OK);
    TEST_MUST(told_limit(result.out.data, "open", 0) <= 200);
    TEST_MUST(told_limit(result.out.data, "open", 1) <= 200);
    sbx_free(&result);
    return "";
}

UTEST(seed, C3_the_hosts_own_limits_are_no_obstacle) {
    EXPECT_STREQ("", test_in_copy(under_a_hard_limit, NULL));
}

typedef struct unsettable {
    int resource;
    const char *field;
} unsettable;

#ifdef __linux__
/* From here on setting this one limit fails, in this process and all it starts. */
static int make_unsettable(int resource) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prlimit64, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)resource, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), /* no new value: only asks */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program;
    program.len = sizeof code / sizeof *code;
    program.filter = code;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

static const char *limit_cannot_be_set(void *arg) {
    const unsettable *which = (const unsettable *)arg;
    sbx_config config = {0};
    sbx_result result;
    struct rlimit now;
    const char *flaw;
    if (!make_unsettable(which->resource)) return "no filter";
    TEST_MUST(getrlimit((unsigned)which->resource, &now) == 0);
    TEST_MUST(setrlimit((unsigned)which->resource, &now) < 0); /* the filter works */
    config.argv = test_child_argv("limits");
    if (which->resource == RLIMIT_AS) config.address_space_bytes = 1LL << 30;
    if (which->resource == RLIMIT_FSIZE) config.file_bytes = 1000;
    if (which->resource == RLIMIT_NOFILE) config.open_files = 50;
    if (which->resource == RLIMIT_STACK) config.stack_bytes = 1 << 20;
    if (which->resource == RLIMIT_NPROC) config.processes = 100;
    if (which->resource == RLIMIT_CPU) config.cpu_ms = 5000;
    flaw = test_run(&config, &result);
    if (*flaw) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED);
    TEST_MUST(result.step == SBX_STEP_LIMITS);
    TEST_MUST(result.sys_errno == EPERM);
    TEST_MUST(result.out.total == 0);
    return lacks(result.message, which->field);
}
#endif

UTEST(seed, C3_a_limit_that_cannot_be_set_starts_nothing) {
#ifdef __linux__
    static unsettable all[] = {{RLIMIT_AS, "address_space_bytes"}, {RLIMIT_FSIZE, "file_bytes"},
                               {RLIMIT_NOFILE, "open_files"},      {RLIMIT_STACK, "stack_bytes"},
                               {RLIMIT_CPU, "cpu_ms"},             {RLIMIT_NPROC, "processes"}};
    unsigned i;
    for (i = 0; i < sizeof all / sizeof *all; i++) {
        const char *flaw;
        if (all[i].resource == RLIMIT_NPROC && geteuid() == 0) continue; /* refused before */
        flaw = test_in_copy(limit_cannot_be_set, &all[i]);
        if (strcmp(flaw, "no filter") == 0) UTEST_SKIP("no seccomp here");
        EXPECT_STREQ("", flaw);
    }
#else
    UTEST_SKIP("needs seccomp");
#endif
}

/* Root is exempt from the kernel's count of processes: refused, or held by other means. */
UTEST(seed, C3_processes_as_root) {
    sbx_config config = {0};
    sbx_result result;
    if (geteuid() != 0) UTEST_SKIP("not root");
    config.processes = 5;
    result = RUN_CHILD(&config, "processes", "50");
    if (result.verdict == SBX_NOT_STARTED)
        EXPECT_STREQ("", lacks(result.message, "processes = 5"));
    else
        EXPECT_STREQ("", lacks(result.out.data, " EAGAIN"));
    sbx_free(&result);
}

UTEST(seed, C4_environment_is_exactly_what_was_asked_for) {
    static const char *const env[] = {"B=2", "A=1", "EMPTY=", "LONG=a=b c\td", NULL};
    static const char *const over[] = {"SBX_SEED=mine", "SBX_NEW=1", NULL};
    static const char *const none[] = {NULL};
    sbx_config config = {0};
    sbx_result result;
    setenv("SBX_SEED", "secret", 1);
    setenv("SBX_SEED_2", "kept", 1);
    result = RUN_CHILD(&config, "env");
    EXPECT_STREQ("", result.out.data); /* nothing given: nothing seen */
    sbx_free(&result);
    config.env = none;
    result = RUN_CHILD(&config, "env");
    EXPECT_STREQ("", result.out.data);
    sbx_free(&result);
    config.env = env;
    result = RUN_CHILD(&config, "env");
    EXPECT_STREQ("B=2\nA=1\nEMPTY=\nLONG=a=b c\td\n", result.out.data);
    sbx_free(&result);
    config.inherit_env = 1;
    config.env = over;
    result = RUN_CHILD(&config, "env");
    EXPECT_STREQ("", lacks(result.out.data, "SBX_SEED=mine\n"));
    EXPECT_STREQ("", lacks(result.out.data, "SBX_NEW=1\n"));
    EXPECT_STREQ("", lacks(result.out.data, "SBX_SEED_2=kept\n"));
    EXPECT_TRUE(strstr(result.out.data, "secret") == NULL); /* not there twice */
    sbx_free(&result);
    config.env = NULL;
    result = RUN_CHILD(&config, "env");
    EXPECT_STREQ("", lacks(result.out.data, "SBX_SEED=secret\n"));
    sbx_free(&result);
    unsetenv("SBX_SEED");
    unsetenv("SBX_SEED_2");
}

UTEST(seed, C5_timeout_names_the_limit) {
    static const char *const argv[] = {"sleep", "20", NULL};
    const char *limit = test_clock_can_move() ? "15000" : "600"; /* what test_run_late takes */
    sbx_config config = {0};
    sbx_result result = run_late(utest_result, &config, "", argv);
    EXPECT_EQ(1, result.certain);
    EXPECT_STREQ(test_text("'sleep' ran past its %s ms limit and was killed", limit),
                 result.message);
    EXPECT_TRUE(result.evidence & SBX_SAW_DEADLINE);
    EXPECT_EQ(SIGTERM, result.signal); /* sleep does not mind the first one */
    EXPECT_EQ(-1, result.exit_code);
    sbx_free(&result);
    config.argv = NULL;
    config.command = "sleep 20; exit 0";
    config.grace_ms = -1;
    EXPECT_STREQ("", test_run_late(&config, "", &result));
    EXPECT_STREQ(test_text("'sh' ran past its %s ms limit and was killed", limit), result.message);
    EXPECT_EQ(SIGKILL, result.signal);
    sbx_free(&result);
    config.timeout_ms = 70; /* and in real time: not earlier than that */
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_TIMED_OUT, (int)result.verdict);
    EXPECT_GE(result.wall_us, 70000LL);
    EXPECT_STREQ("", lacks(result.message, " 70 ms"));
    sbx_free(&result);
}

/* Every limit is named with its number, whatever ended the run. */
UTEST(seed, C5_every_message_names_program_and_number) {
    sbx_config config = {0};
    sbx_result result;
    result = RUN_CHILD(&config, "exit", "3");
    EXPECT_STREQ("'child' exited with code 3", result.message);
    sbx_free(&result);
    result = RUN_CHILD(&config, "raise", test_text("%d", SIGSEGV));
    EXPECT_STREQ("", lacks(result.message, "'child'"));
    EXPECT_STREQ("", lacks(result.message, "SIGSEGV"));
    sbx_free(&result);
    config.output_bytes = 777;
    result = RUN_CHILD(&config, "write", "0", "778");
    EXPECT_STREQ("", lacks(result.message, "'child'"));
    EXPECT_STREQ("", lacks(result.message, "777"));
    sbx_free(&result);
    config.output_bytes = 0;
    config.cpu_ms = 1000; /* whole seconds where nothing finer is watched */
    if (!test_is_portable()) config.cpu_ms = 60;
    result = RUN_CHILD(&config, "burn", "user", "1", "15000");
    EXPECT_EQ((int)SBX_CPU_LIMIT, (int)result.verdict);
    EXPECT_STREQ("", lacks(result.message, "'child'"));
    EXPECT_STREQ("", lacks(result.message, test_is_portable() ? "1000" : "60 ms"));
    sbx_free(&result);
    config.cpu_ms = 0;
    config.memory_bytes = 50000000;
    result = RUN_CHILD(&config, "memory", "own", "200");
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    EXPECT_STREQ("", lacks(result.message, "'child'"));
    EXPECT_STREQ("", lacks(result.message, "50000000"));
    sbx_free(&result);
}

/* Both streams and the code or the signal, whatever happened. */
UTEST(seed, C6_code_signal_and_both_streams_always) {
    static const int codes[] = {1, 2, 42, 124, 126, 127, 128, 137, 255};
    static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGSEGV, SIGPIPE, SIGUSR1};
    sbx_config config = {0};
    sbx_result result;
    unsigned i;
    for (i = 0; i < sizeof codes / sizeof *codes; i++) {
        result = RUN_CHILD(&config, "say", "out", " err \n", test_text("%d", codes[i]));
        EXPECT_EQ((int)SBX_EXITED, (int)result.verdict);
        EXPECT_EQ(codes[i], result.exit_code);
        EXPECT_EQ(0, result.signal);
        EXPECT_EQ(1, result.certain);
        EXPECT_STREQ("out", result.out.data);
        EXPECT_STREQ(" err \n", result.err.data); /* as it was written: nothing is stripped */
        sbx_free(&result);
    }
    for (i = 0; i < sizeof signals / sizeof *signals; i++) {
        config.argv = NULL;
        config.command = test_text("echo out; echo err >&2; kill -%d $$", signals[i]);
        TEST_RUN(&config, &result);
        EXPECT_EQ((int)SBX_CRASHED, (int)result.verdict);
        EXPECT_EQ(signals[i], result.signal);
        EXPECT_EQ(-1, result.exit_code);
        EXPECT_STREQ("out\n", result.out.data);
        EXPECT_STREQ("err\n", result.err.data);
        sbx_free(&result);
    }
    config.command = NULL;
    config.grace_ms = -1;
    result = SHELL_LATE(&config, "out\n", "echo err >&2; echo out; exec sleep 20");
    EXPECT_STREQ("out\n", result.out.data);
    EXPECT_STREQ("err\n", result.err.data);
    sbx_free(&result);
}

/* --- C7, C8: results and errors of functions ------------------------------------------------- */

static int leaves_early(void *arg, void *ret, size_t ret_size) {
    memset(ret, 'x', ret_size / 2);
    switch (*(int *)arg) {
    case 0: _exit(0);
    case 1: _exit(7);
    case 2: return 5;
    case 3: exit(9);
    case 4: return -1;
    case 5: return 256; /* a code of which nothing is left in a byte */
    case 6: raise(SIGKILL); return 0;
    case 7: abort();
    default: break;
    }
    return 0;
}

UTEST(seed, C7_incomplete_result_is_no_result) {
    static const int codes[] = {0, 7, 5, 9, -2, -2}; /* -2 = some code that is not 0 */
    sbx_config config = {0};
    sbx_result result;
    char ret[64];
    int how;
    for (how = 0; how < 6; how++) {
        memset(ret, 0x55, sizeof ret);
        EXPECT_EQ((int)SBX_NO_RESULT,
                  (int)sbx_call(&config, leaves_early, &how, ret, sizeof ret, &result));
        EXPECT_STREQ("", test_result_flaw(&config, &result));
        if (codes[how] >= 0) EXPECT_EQ(codes[how], result.exit_code);
        if (codes[how] == -2) EXPECT_GT(result.exit_code, 0);
        EXPECT_EQ(0, result.signal);
        EXPECT_EQ(0x55, (int)ret[0]); /* half an answer never arrives */
        EXPECT_EQ(0x55, (int)ret[63]);
        sbx_free(&result);
    }
    for (; how < 8; how++) {
        memset(ret, 0x55, sizeof ret);
        EXPECT_EQ((int)SBX_CRASHED,
                  (int)sbx_call(&config, leaves_early, &how, ret, sizeof ret, &result));
        EXPECT_EQ(how == 6 ? SIGKILL : SIGABRT, result.signal);
        EXPECT_EQ(0x55, (int)ret[0]);
        sbx_free(&result);
    }
}

static int fails_with_text(void *arg, void *ret, size_t ret_size) {
    memset(ret, 'x', ret_size);
    sbx_fail("%s", (const char *)arg);
    return 0;
}

static int fails_with_numbers(void *arg, void *ret, size_t ret_size) {
    (void)arg, (void)ret, (void)ret_size;
    sbx_fail("ValueError: %d of %lld is %s (%c, 100%%)", 7, 1LL << 40, "odd", 'x');
    return 0;
}

UTEST(seed, C8_failure_text_arrives_in_the_message) {
    sbx_config config = {0};
    sbx_result result;
    char ret[8];
    memset(ret, 0x55, sizeof ret);
    EXPECT_EQ((int)SBX_NO_RESULT,
              (int)sbx_call(&config, fails_with_numbers, NULL, ret, sizeof ret, &result));
    EXPECT_STREQ("", test_result_flaw(&config, &result));
    EXPECT_STREQ("", lacks(result.message, "ValueError: 7 of 1099511627776 is odd (x, 100%)"));
    EXPECT_EQ(0x55, (int)ret[0]);
    sbx_free(&result);
    sbx_call(&config, fails_with_text, (void *)(size_t) "no such key", ret, sizeof ret, &result);
    EXPECT_EQ((int)SBX_NO_RESULT, (int)result.verdict);
    EXPECT_STREQ("", lacks(result.message, "no such key"));
    EXPECT_EQ(0x55, (int)ret[0]);
    sbx_free(&result);
}

/* Crash and overflow of the child spare the host: a program and a function. */
static long long host_data[4] = {1, 2, 3, 4};

static int ruins_everything(void *arg, void *ret, size_t ret_size) {
    volatile int *volatile nowhere = NULL;
    (void)ret, (void)ret_size;
    memset(host_data, 0xff, sizeof host_data);
    memset(arg, 0xff, 4);
    close(0), close(1), close(2);
    *nowhere = 1;
    return 0;
}

static char *volatile taken; /* or a compiler finds out that nobody needs the memory */

static int takes_all_memory(void *arg, void *ret, size_t ret_size) {
    int i;
    (void)arg, (void)ret, (void)ret_size;
    alarm(20);
    for (i = 0; i < 300; i++) { /* 300 MB at most */
        char *block = (char *)malloc(1 << 20);
        if (!block) {
            static const char text[] = "out of memory\n";
            if (write(2, text, sizeof text - 1) < 0) _exit(2);
            _exit(1);
        }
        taken = (char *)memset(block, i + 1, 1 << 20);
    }
    test_sleep_ms(1000);
    return 0;
}

UTEST(seed, C11_crash_and_overflow_spare_the_host) {
    sbx_config config = {0};
    sbx_result result;
    char mine[4] = "abc", ret[4] = "def";
    test_host before;
    result = RUN_CHILD(&config, "crash", "null");
    EXPECT_EQ((int)SBX_CRASHED, (int)result.verdict);
    EXPECT_EQ(SIGSEGV, result.signal);
    sbx_free(&result);
    config.argv = NULL;
    test_host_save(&before);
    sbx_call(&config, ruins_everything, mine, ret, sizeof ret, &result);
    if (test_is_asan()) { /* which makes an exit of the signal */
        EXPECT_EQ((int)SBX_NO_RESULT, (int)result.verdict);
    } else {
        EXPECT_EQ((int)SBX_CRASHED, (int)result.verdict);
        EXPECT_EQ(SIGSEGV, result.signal);
    }
    EXPECT_STREQ("abc", mine);
    EXPECT_STREQ("def", ret);
    EXPECT_EQ(4LL, host_data[3]);
    sbx_free(&result);
    config.memory_bytes = 64 << 20;
    EXPECT_NE((int)SBX_OK,
              (int)sbx_call(&config, takes_all_memory, NULL, ret, sizeof ret, &result));
    if (!test_is_portable() || !test_is_asan()) /* there RLIMIT_AS stops the sanitizer itself */
        EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    EXPECT_STREQ("def", ret);
    sbx_free(&result);
    EXPECT_STREQ("", test_host_diff(&before));
    result = RUN_CHILD(&config, "memory", "own", "300");
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    EXPECT_EQ(test_is_portable() ? 0 : 1, result.certain);
    sbx_free(&result);
}

/* Asked for is in force, or nothing runs; never the next best thing. */
UTEST(seed, C13_nothing_falls_back_to_less) {
    static const sbx_policy policy;
    sbx_config config = {0};
    sbx_result result;
    config.contain = SBX_CONTAIN_TREE;
    result = RUN_CHILD(&config, "say", "ran");
    EXPECT_TRUE(result.verdict == SBX_NOT_STARTED ? result.out.total == 0
                                                  : (result.enforced & SBX_BY_TREE) != 0);
    sbx_free(&result);
    config.contain = SBX_CONTAIN_AUTO;
    config.policy = &policy;
    result = RUN_CHILD(&config, "say", "ran");
    EXPECT_TRUE(result.verdict == SBX_NOT_STARTED ? result.out.total == 0
                                                  : (result.enforced & SBX_BY_SECCOMP) != 0);
    sbx_free(&result);
    config.policy = NULL;
    config.cgroup = "/nowhere";
    result = RUN_CHILD(&config, "say", "ran");
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)result.verdict);
    EXPECT_EQ((int)SBX_STEP_CGROUP, (int)result.step);
    sbx_free(&result);
    config.cgroup = NULL; /* a limit that cannot be watched is in force in another way, and said */
    config.memory_bytes = 1 << 30;
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_EQ(test_is_portable() ? SBX_BY_RLIMIT_AS : SBX_BY_WATCH,
              result.enforced & (SBX_BY_RLIMIT_AS | SBX_BY_WATCH));
    sbx_free(&result);
}

/* ==== J: one fresh process per tool call ====================================================== */

UTEST(seed, J1_timeout_values) {
    static const long long wrong[] = {-2, -1000, LLONG_MIN, 1LL << 62};
    sbx_config config = {0};
    sbx_result result;
    unsigned i;
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        config.timeout_ms = wrong[i];
        result = RUN_CHILD(&config, "say", "ran");
        EXPECT_EQ((int)SBX_NOT_STARTED, (int)result.verdict);
        EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
        EXPECT_STREQ("", lacks(result.message, "timeout_ms"));
        EXPECT_STREQ("", lacks(result.message, test_text("%lld", wrong[i])));
        EXPECT_EQ(0ULL, result.out.total);
        sbx_free(&result);
    }
    config.timeout_ms = SBX_UNLIMITED;
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    sbx_free(&result);
    config.timeout_ms = 0;
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    sbx_free(&result);
    config.timeout_ms = 1; /* too short for anything, but a limit like any other */
    config.grace_ms = -1;
    result = RUN_CHILD(&config, "sleep");
    EXPECT_EQ((int)SBX_TIMED_OUT, (int)result.verdict);
    EXPECT_STREQ("", lacks(result.message, "1 ms"));
    sbx_free(&result);
}

UTEST(seed, J2_no_function_and_no_program) {
    sbx_config config = {0};
    sbx_result result;
    test_host before;
    test_host_save(&before);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_call(&config, NULL, NULL, NULL, 0, &result));
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    sbx_free(&result);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_call(NULL, does_nothing, NULL, NULL, 0, &result));
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    sbx_free(&result);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_run(&config, &result));
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    sbx_free(&result);
    config.command = "exit 0"; /* a function and a program at once */
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_call(&config, does_nothing, NULL, NULL, 0, &result));
    EXPECT_STREQ("", lacks(result.message, "command"));
    sbx_free(&result);
    EXPECT_STREQ("", test_host_diff(&before));
}

UTEST(seed, J4_user_comes_back_always) {
    int id;
    sbx_config config = {0};
    sbx_result result;
    config.user = &id;
    config.timeout_ms = 100;
    config.grace_ms = -1;
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_TRUE(result.user == &id);
    sbx_free(&result);
    result = RUN_CHILD(&config, "crash", "abort");
    EXPECT_TRUE(result.user == &id);
    sbx_free(&result);
    result = RUN_CHILD(&config, "sleep");
    EXPECT_TRUE(result.verdict == SBX_TIMED_OUT && result.user == &id);
    sbx_free(&result);
    config.timeout_ms = -7;
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_TRUE(result.verdict == SBX_NOT_STARTED && result.user == &id);
    sbx_free(&result);
    config.timeout_ms = 0;
    config.argv = (const char *const[]){"/nowhere/at/all", NULL};
    TEST_RUN(&config, &result);
    EXPECT_TRUE(result.verdict == SBX_NOT_STARTED && result.user == &id);
    sbx_free(&result);
    EXPECT_TRUE(sbx_start(&config, &result) == NULL && result.user == &id);
    sbx_free(&result);
    config.argv = NULL;
    sbx_call(&config, does_nothing, NULL, NULL, 0, &result);
    EXPECT_TRUE(result.verdict == SBX_OK && result.user == &id);
    sbx_free(&result);
    sbx_call(&config, NULL, NULL, NULL, 0, &result);
    EXPECT_TRUE(result.verdict == SBX_NOT_STARTED && result.user == &id);
    sbx_free(&result);
}

/* Errors are returned: nothing on the host's streams, no abort, no exit. */
static const char *nothing_on_the_streams(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    char ret[4];
    sbx_config config = {0};
    sbx_result result;
    struct stat about;
    const char *path = test_write_file((const char *)arg, "streams", "", 0, 0600);
    int fd = open(path, O_RDWR | O_APPEND), how;
    TEST_MUST(fd >= 0 && dup2(fd, 1) == 1 && dup2(fd, 2) == 2);
    setvbuf(stdout, NULL, _IONBF, 0);
    config.grace_ms = -1;
    sbx_run(NULL, NULL);
    sbx_run(&config, NULL);
    config.argv = missing;
    sbx_run(&config, NULL);
    config.argv = test_child_argv("say", "out", "err", "3");
    TEST_MUST(sbx_run(&config, &result) == SBX_EXITED);
    sbx_free(&result);
    config.cwd = "/nowhere";
    TEST_MUST(sbx_run(&config, NULL) == SBX_NOT_STARTED);
    config.cwd = NULL;
    config.argv = test_child_argv("crash", "null");
    TEST_MUST(sbx_run(&config, NULL) == SBX_CRASHED);
    config.argv = test_child_argv("flood", "both");
    TEST_MUST(sbx_run(&config, NULL) == SBX_OUTPUT_LIMIT);
    config.argv = test_child_argv("ignore", "ignore");
    config.timeout_ms = 60;
    TEST_MUST(sbx_run(&config, NULL) == SBX_TIMED_OUT);
    config.timeout_ms = 0;
    config.out = SBX_DISCARD;
    config.err = SBX_DISCARD;
    config.argv = test_child_argv("say", "out", "err", "0");
    TEST_MUST(sbx_run(&config, NULL) == SBX_OK);
    config.out = SBX_DEFAULT;
    config.err = SBX_DEFAULT;
    config.argv = NULL;
    for (how = 0; how < 8; how++) sbx_call(&config, leaves_early, &how, ret, sizeof ret, NULL);
    sbx_call(&config, fails_with_numbers, NULL, NULL, 0, NULL);
    sbx_fail("outside of a call %d", 1); /* harmless there */
    TEST_MUST(fstat(fd, &about) == 0);
    if (about.st_size) {
        char text[500];
        ssize_t size = pread(fd, text, sizeof text - 1, 0);
        text[size > 0 ? size : 0] = 0;
        return test_text("on the host's streams: %s", text);
    }
    return "";
}

UTEST(seed, J5_errors_are_returned_and_nothing_is_printed) {
    char dir[PATH_MAX];
    test_tmpdir(dir);
    EXPECT_STREQ("", test_in_copy(nothing_on_the_streams, dir));
    test_remove_tree(dir);
}

/* Whatever text a function fails with: it arrives as one line that fits, or as a fair beginning. */
UTEST(seed, J7_any_failure_text_arrives) {
    static char longest[100000];
    static const char *const texts[] = {"", "x", "%s%n%d", "caf\xc3\xa9", "tab\tbell\a"};
    sbx_config config = {0};
    sbx_result result;
    char ret[4];
    size_t i;
    for (i = 0; i < sizeof texts / sizeof *texts; i++) {
        sbx_call(&config, fails_with_text, (void *)(size_t)texts[i], ret, sizeof ret, &result);
        EXPECT_EQ((int)SBX_NO_RESULT, (int)result.verdict);
        EXPECT_STREQ("", test_result_flaw(&config, &result));
        if (i < 4) EXPECT_STREQ("", lacks(result.message, texts[i]));
        sbx_free(&result);
    }
    sbx_call(&config, fails_with_text, (void *)(size_t) "first\nsecond\r\nthird", ret, sizeof ret,
             &result);
    EXPECT_STREQ("", test_result_flaw(&config, &result)); /* one line */
    EXPECT_STREQ("", lacks(result.message, "first"));
    EXPECT_STREQ("", lacks(result.message, "third"));
    sbx_free(&result);
    for (i = 0; i + 3 < sizeof longest; i += 2) memcpy(longest + i, "\xc3\xa9", 2);
    sbx_call(&config, fails_with_text, longest, ret, sizeof ret, &result);
    EXPECT_EQ((int)SBX_NO_RESULT, (int)result.verdict);
    EXPECT_STREQ("", test_result_flaw(&config, &result));
    EXPECT_GE(strlen(result.message), (size_t)100);
    EXPECT_EQ(strlen(result.message),
              sbx_utf8_prefix(result.message, strlen(result.message), (size_t)-1));
    sbx_free(&result);
}

UTEST(seed, J8_terminate_grace_kill) {
    sbx_config config = {0};
    sbx_result result;
    long long before;
    config.grace_ms = 15000; /* not used up: the child goes when asked */
    result = RUN_LATE(&config, "ready\n", "last_words", "7");
    EXPECT_STREQ("ready\nTERM\n", result.out.data); /* output of the grace counts */
    EXPECT_EQ(7, result.exit_code);
    EXPECT_EQ(0, result.signal);
    EXPECT_FALSE(result.evidence & SBX_SAW_GRACE_OVER);
    sbx_free(&result);
    config.grace_ms = 150;
    before = test_now_ms();
    result = RUN_LATE(&config, "ready\n", "last_words", "-1");
    EXPECT_GE(test_now_ms() - before, 149LL); /* the grace it was given */
    EXPECT_STREQ("ready\nTERM\n", result.out.data);
    EXPECT_EQ(SIGKILL, result.signal);
    EXPECT_TRUE(result.evidence & SBX_SAW_GRACE_OVER);
    sbx_free(&result);
    config.grace_ms = -1; /* at once: no SIGTERM before */
    result = RUN_LATE(&config, "ready\n", "last_words", "7");
    EXPECT_STREQ("ready\n", result.out.data);
    EXPECT_EQ(SIGKILL, result.signal);
    sbx_free(&result);
}

static int note_that_it_spoke(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)stream, (void)data;
    *(int *)user = size > 0;
    return 0;
}

static const char *default_grace(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    int ready = 0;
    (void)arg;
    config.argv = test_child_argv("ignore", "ignore");
    config.timeout_ms = 10000;
    config.on_output = note_that_it_spoke;
    config.user = &ready;
    box = sbx_start(&config, &result);
    TEST_MUST(box != NULL);
    while (!ready) TEST_MUST(sbx_poll(box, 2) == 0);
    test_clock_skew_ms = 11000; /* SIGTERM goes out */
    TEST_MUST(sbx_poll(box, 20) == 0);
    test_clock_skew_ms = 13000;
    TEST_MUST(sbx_poll(box, 20) == 0); /* 2 s later it is still there */
    test_clock_skew_ms = 14500;
    TEST_MUST(sbx_finish(box, &result) == SBX_TIMED_OUT);
    TEST_MUST(result.signal == SIGKILL && (result.evidence & SBX_SAW_GRACE_OVER));
    TEST_MUST(result.wall_us < 16000000); /* on the moved clock: it did not sit out its life */
    sbx_free(&result);
    return "";
}

UTEST(seed, J8_default_grace_is_3_s) {
    if (!test_clock_can_move()) UTEST_SKIP("the clock cannot be moved in this build");
    EXPECT_STREQ("", test_in_copy(default_grace, NULL));
}

UTEST(seed, J9_ended_without_a_result) {
    sbx_config config = {0};
    sbx_result result;
    char ret[8];
    int how = 0;
    sbx_call(&config, leaves_early, &how, ret, sizeof ret, &result);
    EXPECT_EQ((int)SBX_NO_RESULT, (int)result.verdict); /* although it exited with 0 */
    EXPECT_EQ(0, result.exit_code);
    EXPECT_EQ(1, result.certain);
    EXPECT_TRUE(result.evidence & SBX_SAW_NO_RESULT);
    EXPECT_STREQ("", lacks(result.message, "result"));
    sbx_free(&result);
    how = 1;
    sbx_call(&config, leaves_early, &how, ret, sizeof ret, &result);
    EXPECT_EQ((int)SBX_NO_RESULT, (int)result.verdict);
    EXPECT_STREQ("", lacks(result.message, "7"));
    sbx_free(&result);
    how = 6;
    sbx_call(&config, leaves_early, &how, ret, sizeof ret, &result);
    EXPECT_EQ(SIGKILL, result.signal);
    sbx_free(&result);
}

UTEST(seed, J10_bad_config_detected_before_spawn) {
    static const char *const bad_env[] = {"NAME", NULL};
    sbx_config good = {0}, config;
    sbx_result result;
    config = good;
    config.env = bad_env;
    result = RUN_CHILD(&config, "say", "ran");
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    sbx_free(&result);
    config = good;
    config.input_size = 10;
    result = RUN_CHILD(&config, "say", "ran");
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    sbx_free(&result);
    config = good;
    config.out = SBX_MERGE;
    result = RUN_CHILD(&config, "say", "ran");
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    EXPECT_EQ(0ULL, result.out.total);
    sbx_free(&result);
}

static int counter;
static char *heap_text;

static int counts(void *arg, void *ret, size_t ret_size) {
    (void)arg, (void)ret_size;
    *(int *)ret = ++counter;
    strcpy(heap_text, "changed");
    free(heap_text);
    return 0;
}

UTEST(seed, J11_every_call_has_a_heap_of_its_own) {
    sbx_config config = {0};
    int i, seen;
    heap_text = (char *)malloc(16);
    strcpy(heap_text, "host's");
    counter = 10;
    for (i = 0; i < 3; i++) {
        seen = 0;
        EXPECT_EQ((int)SBX_OK, (int)sbx_call(&config, counts, NULL, &seen, sizeof seen, NULL));
        EXPECT_EQ(11, seen); /* nobody sees what the one before did */
        EXPECT_EQ(10, counter);
        EXPECT_STREQ("host's", heap_text);
    }
    free(heap_text);
}

UTEST(seed, J13_what_was_in_force_is_told) {
    static const struct {
        size_t offset;
        long long value;
        unsigned linux_bits, portable_bits;
    } rows[] = {
        {offsetof(sbx_config, cpu_ms), 9000, SBX_BY_WATCH, SBX_BY_RLIMIT_CPU},
        {offsetof(sbx_config, memory_bytes), 1 << 30, SBX_BY_WATCH, SBX_BY_RLIMIT_AS},
        {offsetof(sbx_config, address_space_bytes), 1 << 30, SBX_BY_RLIMIT_AS, SBX_BY_RLIMIT_AS},
        {offsetof(sbx_config, file_bytes), 1 << 20, SBX_BY_RLIMIT_FSIZE, SBX_BY_RLIMIT_FSIZE},
        {offsetof(sbx_config, open_files), 64, SBX_BY_RLIMIT_NOFILE, SBX_BY_RLIMIT_NOFILE},
        {offsetof(sbx_config, stack_bytes), 1 << 20, SBX_BY_RLIMIT_STACK, SBX_BY_RLIMIT_STACK},
        {offsetof(sbx_config, timeout_ms), 20000, 0, 0},
    };
    const unsigned limits = SBX_BY_WATCH | SBX_BY_RLIMIT_CPU | SBX_BY_RLIMIT_AS |
                            SBX_BY_RLIMIT_FSIZE | SBX_BY_RLIMIT_NOFILE | SBX_BY_RLIMIT_STACK |
                            SBX_BY_RLIMIT_NPROC;
    unsigned i;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        sbx_config config = {0};
        sbx_result result;
        unsigned want = test_is_portable() ? rows[i].portable_bits : rows[i].linux_bits;
        *(long long *)(void *)((char *)&config + rows[i].offset) = rows[i].value;
        result = RUN_CHILD(&config, "exit", "0");
        EXPECT_EQ((int)SBX_OK, (int)result.verdict);
        EXPECT_EQ(want, result.enforced & want);
        EXPECT_EQ(0u, result.enforced & limits & ~want & ~SBX_BY_RLIMIT_CPU); /* nothing more */
        EXPECT_TRUE(result.enforced & SBX_BY_SESSION);
        EXPECT_TRUE(result.enforced & SBX_BY_RLIMIT_CORE);
        sbx_free(&result);
    }
}

/* ==== S: a capped reader and a classifier ===================================================== */

UTEST(seed, S1_all_settings_at_once) {
    sbx_config config = {0};
    sbx_result result;
    config.timeout_ms = 20000;
    config.grace_ms = 1000;
    config.output_bytes = 100000;
    config.cpu_ms = 10000;
    config.memory_bytes = 1LL << 30;
    config.address_space_bytes = 2LL << 30;
    config.file_bytes = 1 << 20;
    config.open_files = 64;
    config.stack_bytes = 4 << 20;
    if (geteuid() != 0) config.processes = 500;
    config.input = "some input";
    config.input_size = 10;
    config.contain = SBX_CONTAIN_GROUP;
    result = RUN_CHILD(&config, "cat");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_STREQ("some input", result.out.data);
    sbx_free(&result);
}

UTEST(seed, S2_overrides_are_a_struct_copy) {
    sbx_config global = {0}, own;
    sbx_result result;
    global.output_bytes = 10;
    global.truncate_output = 1;
    own = global;
    own.output_bytes = 4;
    result = RUN_CHILD(&own, "say", "0123456789abcdef");
    EXPECT_STREQ("0123", result.out.data);
    sbx_free(&result);
    result = RUN_CHILD(&global, "say", "0123456789abcdef");
    EXPECT_STREQ("0123456789", result.out.data);
    sbx_free(&result);
}

UTEST(seed, S3_a_caller_may_shorten_but_never_exceed) {
    static const long long wishes[] = {SBX_UNLIMITED, 0, 60000, 80};
    sbx_config ceiling = {0};
    unsigned i;
    ceiling.timeout_ms = 80;
    ceiling.grace_ms = -1;
    for (i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.timeout_ms = wishes[i];
        sbx_clamp(&config, &ceiling);
        result = RUN_CHILD(&config, "sleep");
        EXPECT_EQ((int)SBX_TIMED_OUT, (int)result.verdict);
        EXPECT_STREQ("", lacks(result.message, " 80 ms"));
        sbx_free(&result);
    }
    {
        sbx_config config = {0};
        sbx_result result;
        config.timeout_ms = 50;
        sbx_clamp(&config, &ceiling);
        result = RUN_CHILD(&config, "sleep");
        EXPECT_STREQ("", lacks(result.message, " 50 ms"));
        sbx_free(&result);
    }
}

static const char *without_a_timeout(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    (void)arg;
    config.argv = test_child_argv("cat");
    config.in = SBX_PIPE;
    config.timeout_ms = SBX_UNLIMITED;
    box = sbx_start(&config, &result);
    TEST_MUST(box != NULL && sbx_poll(box, 0) == 0);
    test_clock_skew_ms = 400LL * 24 * 3600 * 1000; /* a year and more later */
    TEST_MUST(sbx_poll(box, 20) == 0);
    TEST_MUST(sbx_write(box, "x", 1) == 1);
    TEST_MUST(sbx_finish(box, &result) == SBX_OK);
    TEST_MUST(strcmp(result.out.data, "x") == 0);
    sbx_free(&result);
    return "";
}

UTEST(seed, S4_no_timeout_is_possible) {
    sbx_config config = {0};
    sbx_result result;
    config.timeout_ms = config.output_bytes = SBX_UNLIMITED;
    result = RUN_CHILD(&config, "write", "3000000", "0");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_STREQ("", pattern_flaw(&result.out, 3000000, 3000000));
    sbx_free(&result);
    if (test_clock_can_move()) EXPECT_STREQ("", test_in_copy(without_a_timeout, NULL));
}

UTEST(seed, S5_each_violation_has_its_verdict) {
    sbx_config config = {0};
    sbx_result result;
    char dir[PATH_MAX];
    config.grace_ms = -1;
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    sbx_free(&result);
    config.timeout_ms = 150;
    result = RUN_CHILD(&config, "sleep");
    EXPECT_EQ((int)SBX_TIMED_OUT, (int)result.verdict);
    sbx_free(&result);
    config.timeout_ms = 0;
    config.output_bytes = 10;
    result = RUN_CHILD(&config, "flood", "out");
    EXPECT_EQ((int)SBX_OUTPUT_LIMIT, (int)result.verdict);
    sbx_free(&result);
    config.output_bytes = 0;
    config.memory_bytes = 40 << 20;
    result = RUN_CHILD(&config, "memory", "own", "200");
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    sbx_free(&result);
    config.memory_bytes = 0;
    config.file_bytes = 1000;
    test_tmpdir(dir);
    result = RUN_CHILD(&config, "fill_file", test_text("%s/file", dir), "5000");
    EXPECT_EQ((int)SBX_FILE_LIMIT, (int)result.verdict);
    EXPECT_EQ(0, result.certain); /* SIGXFSZ is what one would raise to look like it */
    sbx_free(&result);
    result = RUN_CHILD(&config, "fill_file", test_text("%s/file", dir), "1000");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict); /* exactly the limit is fine */
    sbx_free(&result);
    test_remove_tree(dir);
}

UTEST(seed, S6_both_streams_and_stdin_at_once) {
    static char input[3000000];
    sbx_config config = {0};
    sbx_result result;
    size_t i;
    for (i = 0; i < sizeof input; i++) input[i] = pattern(i);
    config.output_bytes = 8 << 20;
    config.timeout_ms = 20000;
    result = RUN_CHILD(&config, "interleave", "5");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_STREQ("", pattern_flaw(&result.out, 1000000, 200000));
    EXPECT_STREQ("", pattern_flaw(&result.err, 1000000, 200000));
    sbx_free(&result);
    config.input = input;
    config.input_size = sizeof input;
    result = RUN_CHILD(&config, "cat"); /* blocks on its output unless it is read meanwhile */
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_STREQ("", pattern_flaw(&result.out, sizeof input, sizeof input));
    sbx_free(&result);
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
    if (*(flaw = pattern_flaw(&result.out, result.out.size, (size_t)-1))) return flaw;
    if (*(flaw = pattern_flaw(&result.err, result.err.size, (size_t)-1))) return flaw;
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

UTEST(seed, S9_terminate_and_kill_the_group_and_reap) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    config.contain = SBX_CONTAIN_GROUP;
    config.grace_ms = 100;
    ASSERT_TRUE(test_tether_open(&tether));
    result = RUN_LATE(&config, "family\n", "family", tether.path, "3", "stay");
    EXPECT_EQ(3L, test_tether_lines(&tether));
    EXPECT_FALSE(test_tether_held(&tether)); /* at the moment of return none is left */
    sbx_free(&result);
    result = RUN_LATE(&config, "family\n", "family", tether.path, "3", "stay", "stubborn");
    EXPECT_EQ(3L, test_tether_lines(&tether));
    EXPECT_FALSE(test_tether_held(&tether));
    sbx_free(&result);
    result = RUN_LATE(&config, "ready\n", "ignore", "leave", tether.path); /* the leader goes */
    EXPECT_EQ(1L, test_tether_lines(&tether));
    EXPECT_FALSE(test_tether_held(&tether));
    sbx_free(&result);
    EXPECT_TRUE(test_tether_close(&tether));
    config.timeout_ms = 0; /* already dead is fine: nothing to signal */
    result = RUN_CHILD(&config, "raise", test_text("%d", SIGKILL));
    EXPECT_EQ((int)SBX_CRASHED, (int)result.verdict);
    sbx_free(&result);
}

static const char *likely(const char *text, int code, long long space, sbx_verdict verdict,
                          int certain) {
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    config.argv = test_child_argv("say", "", text, test_text("%d", code));
    config.address_space_bytes = space;
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (result.verdict != verdict || (certain >= 0 && result.certain != certain))
        return test_text("%s / %lld: %s, certain %d", text, space, result.message, result.certain);
    sbx_free(&result);
    return "";
}

UTEST(seed, S10_memory_is_judged_by_evidence) {
    static const char *const texts[] = {
        "MemoryError\n", "terminate called after throwing an instance of 'std::bad_alloc'\n",
        "java.lang.OutOfMemoryError: Java heap space\n", "sh: Cannot allocate memory\n",
        "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n",
        "fatal error: out of memory\n"};
    sbx_config config = {0};
    sbx_result result;
    unsigned i;
    for (i = 0; i < sizeof texts / sizeof *texts; i++) {
        EXPECT_STREQ("", likely(texts[i], 1, 1 << 30, SBX_MEMORY_LIMIT, 0));
        EXPECT_STREQ("", likely(texts[i], 1, 0, SBX_EXITED, 1)); /* no limit to blame */
        EXPECT_STREQ("", likely(texts[i], 0, 1 << 30, SBX_OK, -1));
    }
    EXPECT_STREQ("", likely("all is well\n", 1, 1 << 30, SBX_EXITED, -1));
    result = RUN_CHILD(&config, "crash", "null");
    EXPECT_TRUE(result.verdict == SBX_CRASHED && result.certain);
    sbx_free(&result);
    config.memory_bytes = 1 << 30;
    result = RUN_CHILD(&config, "crash", "null"); /* a plain segfault under a limit as well */
    EXPECT_EQ((int)SBX_CRASHED, (int)result.verdict);
    EXPECT_EQ(SIGSEGV, result.signal);
    if (!test_is_portable()) EXPECT_EQ(1, result.certain);
    sbx_free(&result);
    config.memory_bytes = 0;
    config.address_space_bytes = 1 << 30;
    result = RUN_CHILD(&config, "crash", "null");
    EXPECT_EQ((int)SBX_CRASHED, (int)result.verdict);
    sbx_free(&result);
    result = RUN_CHILD(&config, "exit", "139"); /* looks like a segfault in a shell */
    EXPECT_EQ((int)SBX_EXITED, (int)result.verdict);
    sbx_free(&result);
    result = RUN_CHILD(&config, "raise", test_text("%d", SIGKILL));
    EXPECT_EQ((int)SBX_CRASHED, (int)result.verdict);
    sbx_free(&result);
    config.address_space_bytes = 100 << 20;
    result = RUN_CHILD(&config, "malloc", "handled");
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    EXPECT_EQ(0, result.certain);
    sbx_free(&result);
}

/* The peak is this child's: not the host's, and not that of an earlier, bigger child. */
UTEST(seed, S10_peak_is_not_shared_by_all_children) {
    sbx_config config = {0};
    sbx_result big, small;
    if (!test_is_portable()) config.memory_bytes = 300 << 20; /* looks more often */
    big = RUN_CHILD(&config, "memory", "own", "150", "1", "100");
    EXPECT_EQ((int)SBX_OK, (int)big.verdict);
    small = RUN_CHILD(&config, "memory", "own", "1", "1", "100");
    EXPECT_EQ((int)SBX_OK, (int)small.verdict);
    if (!test_is_portable()) EXPECT_GE(big.peak_bytes, 150LL << 20);
    EXPECT_LT(small.peak_bytes, 80LL << 20);
    sbx_free(&big);
    sbx_free(&small);
    if (!test_is_portable()) config.memory_bytes = 155 << 20;
    small = RUN_CHILD(&config, "crash", "null");
    EXPECT_EQ((int)SBX_CRASHED, (int)small.verdict);
    sbx_free(&small);
}

UTEST(seed, S11_address_space_is_told_and_holds) {
    sbx_config config = {0};
    sbx_result result;
    config.address_space_bytes = 200 << 20;
    result = RUN_CHILD(&config, "reserve", "100", "1", "0");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_TRUE(result.enforced & SBX_BY_RLIMIT_AS);
    sbx_free(&result);
    result = RUN_CHILD(&config, "reserve", "300", "1", "0"); /* reserved, not even used */
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    EXPECT_EQ(0, result.certain);
    EXPECT_EQ(1, result.exit_code);
    EXPECT_TRUE(result.evidence & SBX_SAW_MEMORY_LIMIT);
    EXPECT_TRUE(result.evidence & SBX_SAW_MEMORY_TEXT);
    sbx_free(&result);
}

/* --- S12: the callback ------------------------------------------------------------------------ */

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
    EXPECT_STREQ("", pattern_flaw(&result.out, 200000, 200000));
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
    EXPECT_STREQ("", lacks(result.message, "cancel"));
    sbx_free(&result);
    memset(l, 0, sizeof *l);
    l->stop_after = 3;
    result = RUN_CHILD(&config, "flood", "both", "1000");
    EXPECT_EQ((int)SBX_CANCELLED, (int)result.verdict);
    EXPECT_EQ(3L, l->calls);
    sbx_free(&result);
    free(l);
}

/* --- S13: cancel ------------------------------------------------------------------------------ */

static void *cancel_soon(void *box) {
    test_sleep_ms(100);
    sbx_cancel((sbx *)box);
    sbx_cancel((sbx *)box); /* twice is fine */
    return NULL;
}

UTEST(seed, S13_cancel_from_a_thread_orphans_nobody) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    pthread_t thread;
    test_host before;
    sbx *box;
    ASSERT_TRUE(test_tether_open(&tether));
    test_host_save(&before);
    config.argv = test_child_argv("family", tether.path, "2", "stay");
    config.grace_ms = 100;
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    ASSERT_EQ(0, pthread_create(&thread, NULL, cancel_soon, box));
    EXPECT_EQ(1, sbx_poll(box, 15000));
    pthread_join(thread, NULL);
    EXPECT_EQ((int)SBX_CANCELLED, (int)sbx_finish(box, &result));
    EXPECT_EQ(1, result.certain);
    EXPECT_STREQ("", test_result_flaw(&config, &result));
    EXPECT_FALSE(test_tether_held(&tether));
    EXPECT_STREQ("", test_host_diff(&before));
    sbx_free(&result);
    EXPECT_TRUE(test_tether_close(&tether));
}

static sbx *volatile box_of_the_handler;
static void cancel_in_handler(int number) {
    int error = errno;
    (void)number;
    errno = 4711;
    if (box_of_the_handler) sbx_cancel(box_of_the_handler);
    if (errno != 4711) _exit(55); /* a handler must leave errno alone */
    errno = error;
}

static const char *cancelled_by_a_handler(void *arg) {
    struct sigaction action;
    sbx_config config = {0};
    sbx_result result;
    memset(&action, 0, sizeof action);
    action.sa_handler = cancel_in_handler;
    sigaction(SIGUSR1, &action, NULL);
    config.argv = test_child_argv("family", (const char *)arg, "2", "stay", "stubborn");
    config.grace_ms = 100;
    box_of_the_handler = sbx_start(&config, &result);
    TEST_MUST(box_of_the_handler != NULL);
    if (fork() == 0) { /* somebody who sends the signal while sbx_finish waits */
        test_sleep_ms(150);
        kill(getppid(), SIGUSR1);
        _exit(0);
    }
    TEST_MUST(sbx_finish(box_of_the_handler, &result) == SBX_CANCELLED);
    TEST_MUST(result.certain == 1);
    sbx_free(&result);
    return "";
}

UTEST(seed, S13_cancel_from_a_signal_handler) {
    test_tether tether;
    ASSERT_TRUE(test_tether_open(&tether));
    EXPECT_STREQ("", test_in_copy(cancelled_by_a_handler, tether.path));
    EXPECT_EQ(2L, test_tether_lines(&tether));
    EXPECT_TRUE(test_tether_close(&tether));
}

UTEST(seed, S13_cancel_at_any_time) {
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    config.grace_ms = 100;
    config.argv = test_child_argv("sleep");
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    sbx_cancel(box); /* before the first poll */
    sbx_cancel(box);
    EXPECT_EQ((int)SBX_CANCELLED, (int)sbx_finish(box, &result));
    sbx_free(&result);
    config.argv = test_child_argv("exit", "5");
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    while (!sbx_poll(box, 1000)) {
    }
    sbx_cancel(box); /* after the end: the verdict is its own */
    EXPECT_EQ((int)SBX_EXITED, (int)sbx_finish(box, &result));
    EXPECT_EQ(5, result.exit_code);
    sbx_free(&result);
}

/* --- S14 to S16 ------------------------------------------------------------------------------- */

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

UTEST(seed, S16_status_words) {
    sbx_config config = {0};
    sbx_result result;
    config.grace_ms = -1;
    result = RUN_LATE(&config, "", "sleep");
    EXPECT_STREQ("timed-out", sbx_verdict_name(result.verdict));
    sbx_free(&result);
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_STREQ("ok", sbx_verdict_name(result.verdict));
    sbx_free(&result);
    EXPECT_STREQ("not-started", sbx_verdict_name(sbx_run(NULL, NULL)));
}

/* ==== A: languages, policy, capabilities ====================================================== */

UTEST(seed, A1_code_with_stdin_timeout_memory_and_environment) {
    static const char *const env[] = {"WHO=world", NULL};
    sbx_config config = {0};
    sbx_result result;
    config.command = "read line; echo \"$line, $WHO\"; echo done >&2; exit 4";
    config.input = "hello\n";
    config.input_size = 6;
    config.timeout_ms = 15000;
    config.memory_bytes = 256 << 20;
    config.env = env;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_EXITED, (int)result.verdict);
    EXPECT_EQ(4, result.exit_code);
    EXPECT_STREQ("hello, world\n", result.out.data);
    EXPECT_STREQ("done\n", result.err.data);
    sbx_free(&result);
}

UTEST(seed, A2_result_tells_times_and_totals) {
    sbx_config config = {0};
    sbx_result result;
    result = RUN_CHILD(&config, "sleep", "120", "9");
    EXPECT_EQ((int)SBX_EXITED, (int)result.verdict); /* no error of the sandbox */
    EXPECT_EQ((int)SBX_STEP_NONE, (int)result.step);
    EXPECT_EQ(0, result.sys_errno);
    EXPECT_EQ(9, result.exit_code);
    EXPECT_GE(result.wall_us, 120000LL);
    EXPECT_LT(result.wall_us, 20000000LL);
    sbx_free(&result);
    result = RUN_CHILD(&config, "burn", "user", "1", "150");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_GE(result.user_us + result.system_us, 140000LL);
    EXPECT_LT(result.user_us + result.system_us, 10000000LL);
    sbx_free(&result);
    result = RUN_CHILD(&config, "burn", "system", "1", "150");
    EXPECT_GE(result.system_us, 30000LL);
    EXPECT_GE(result.user_us + result.system_us, 140000LL);
    sbx_free(&result);
    result = RUN_CHILD(&config, "write", "1234", "567");
    EXPECT_EQ(1234ULL, result.out.total);
    EXPECT_EQ(567ULL, result.err.total);
    EXPECT_FALSE(result.out.truncated || result.err.truncated);
    sbx_free(&result);
}

UTEST(seed, A5_command_goes_through_the_shell) {
    static const char *const env[] = {"X=a  b", NULL};
    sbx_config config = {0};
    sbx_result result;
    config.command = "echo $((6 * 7)) | tr 2 3 && printf '%s|' \"$X\" $X; exit 6";
    config.env = env;
    config.inherit_env = 1; /* tr has to be found */
    TEST_RUN(&config, &result);
    EXPECT_STREQ("43\na  b|a|b|", result.out.data);
    EXPECT_EQ(6, result.exit_code);
    EXPECT_STREQ("'sh' exited with code 6", result.message);
    sbx_free(&result);
    config.command = "nonsense-that-is-no-command"; /* the shell ran: its code, its words */
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_EXITED, (int)result.verdict);
    EXPECT_EQ(127, result.exit_code);
    EXPECT_TRUE(result.err.size > 0);
    sbx_free(&result);
    config.command = "";
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    sbx_free(&result);
    config.command = "if then fi (";
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_EXITED, (int)result.verdict);
    sbx_free(&result);
}

/* Not even PATH, HOME or what the dynamic loader reads. */
UTEST(seed, A8_environment_is_cleared) {
    static const char *const env[] = {"ONLY=this", NULL};
    sbx_config config = {0};
    sbx_result result;
    config.env = env;
    result = RUN_CHILD(&config, "env");
    EXPECT_STREQ("ONLY=this\n", result.out.data);
    sbx_free(&result);
    config.argv = NULL;
    config.env = NULL;
    config.command = "echo \"[$HOME][$USER][$LD_PRELOAD]\"";
    TEST_RUN(&config, &result);
    EXPECT_STREQ("[][][]\n", result.out.data);
    sbx_free(&result);
}

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

UTEST(seed, A10_text_is_cut_between_characters) {
    EXPECT_EQ((size_t)3, sbx_utf8_prefix("caf\xc3\xa9", 5, 4));
    EXPECT_EQ((size_t)5, sbx_utf8_prefix("caf\xc3\xa9", 5, 5));
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
    EXPECT_STREQ("", pattern_flaw(&result.out, result.out.size, 3000000)); /* no note mixed in */
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

/* Timeout, memory, failed, invalid, unavailable: none can be taken for another. */
UTEST(seed, A12_error_kinds_are_distinct) {
    static const char *const missing[] = {"no-such-program-anywhere", NULL};
    sbx_config config = {0};
    sbx_result result;
    config.argv = missing;
    TEST_RUN(&config, &result);
    EXPECT_TRUE(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    EXPECT_NE(0, result.sys_errno);
    EXPECT_STREQ("", lacks(result.message, "no-such-program-anywhere"));
    sbx_free(&result);
    config.timeout_ms = -5;
    TEST_RUN(&config, &result);
    EXPECT_TRUE(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_CONFIG);
    sbx_free(&result);
    config.timeout_ms = 0;
    config.cwd = "/nowhere";
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_TRUE(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_CWD);
    sbx_free(&result);
    config.cwd = NULL;
    result = RUN_CHILD(&config, "exit", "1");
    EXPECT_TRUE(result.verdict == SBX_EXITED && result.step == SBX_STEP_NONE);
    sbx_free(&result);
}

/* --- A22: the host's PATH --------------------------------------------------------------------- */

static const char *found_on_the_hosts_path(void *arg) {
    static const char *const argv[] = {"sbx-seed-program", NULL};
    const char *dir = (const char *)arg;
    const char *env[] = {NULL, NULL};
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    TEST_MUST(mkdir(test_text("%s/first", dir), 0700) == 0);
    TEST_MUST(mkdir(test_text("%s/second", dir), 0700) == 0);
    TEST_MUST(mkdir(test_text("%s/decoy", dir), 0700) == 0);
    TEST_MUST(mkdir(test_text("%s/dirs", dir), 0700) == 0);
    TEST_MUST(mkdir(test_text("%s/dirs/sbx-seed-program", dir), 0700) == 0);
    test_write_file(test_text("%s/first", dir), argv[0], "#!/bin/sh\necho first\n", 21, 0600);
    test_write_file(test_text("%s/second", dir), argv[0], "#!/bin/sh\necho second $PATH\n", 28,
                    0700);
    test_write_file(test_text("%s/decoy", dir), argv[0], "#!/bin/sh\necho decoy\n", 21, 0700);
    /* not there, a directory of that name, not executable, and then the right one */
    setenv("PATH", test_text("%s/none:%s/dirs:%s/first:%s/second", dir, dir, dir, dir), 1);
    config.argv = argv;
    env[0] = test_text("PATH=%s/decoy", dir); /* what the child sees is not where it is sought */
    config.env = env;
    config.cwd = test_text("%s/decoy", dir);
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (result.verdict != SBX_OK) return test_text("verdict: %s", result.message);
    if (strcmp(result.out.data, test_text("second %s/decoy\n", dir)))
        return test_text("out: %s", result.out.data);
    sbx_free(&result);
    config.env = NULL;
    config.cwd = NULL;
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_OK && strncmp(result.out.data, "second", 6) == 0);
    sbx_free(&result);
    setenv("PATH", test_text("%s/none:%s/first", dir, dir), 1); /* only one that may not run */
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    if (geteuid() != 0) TEST_MUST(result.sys_errno == EACCES);
    sbx_free(&result);
    unsetenv("PATH"); /* some default has to do */
    config.argv = (const char *const[]){"sh", "-c", "exit 7", NULL};
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_EXITED && result.exit_code == 7);
    sbx_free(&result);
    setenv("PATH", "", 1); /* empty: nothing to be found, and no crash */
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    sbx_free(&result);
    return "";
}

UTEST(seed, A22_program_is_found_on_the_hosts_path) {
    char dir[PATH_MAX];
    test_tmpdir(dir);
    EXPECT_STREQ("", test_in_copy(found_on_the_hosts_path, dir));
    test_remove_tree(dir);
}

/* ==== Where each of them fails ================================================================ */

UTEST(seed, fails_timeout_leaves_grandchildren) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    ASSERT_TRUE(test_tether_open(&tether));
    config.grace_ms = 100;
    result = RUN_LATE(&config, "family\n", "family", tether.path, "5", "stay", "stubborn");
    EXPECT_EQ(5L, test_tether_lines(&tether));
    EXPECT_FALSE(test_tether_held(&tether));
    EXPECT_STREQ("family\n", result.out.data);
    sbx_free(&result);
    EXPECT_TRUE(test_tether_close(&tether));
}

/* The result does not travel through anything the function can print to, and is never decoded. */
static int prints_a_lot(void *arg, void *ret, size_t ret_size) {
    char forged[256];
    size_t i;
    (void)arg;
    memset(forged, 0x41, sizeof forged);
    printf("a print in the tool\n");
    fprintf(stderr, "and a warning\n");
    fflush(stdout);
    for (i = 0; i < 20; i++)
        if (write(1, forged, sizeof forged) < 0) return 1;
    memset(ret, 0x17, ret_size);
    return 0;
}

UTEST(seed, fails_result_mixed_with_output) {
    sbx_config config = {0};
    sbx_result result;
    char ret[32];
    EXPECT_EQ((int)SBX_OK, (int)sbx_call(&config, prints_a_lot, NULL, ret, sizeof ret, &result));
    EXPECT_EQ(0x17, (int)ret[0]);
    EXPECT_EQ(0x17, (int)ret[31]);
    EXPECT_EQ(20ULL + 20 * 256, result.out.total);
    EXPECT_EQ(0, strncmp(result.out.data, "a print in the tool\n", 20));
    EXPECT_STREQ("and a warning\n", result.err.data);
    sbx_free(&result);
}

static int big_result(void *arg, void *ret, size_t ret_size) {
    memset(ret, *(const char *)arg, ret_size);
    return 0;
}

UTEST(seed, fails_large_result_times_out) {
    static const size_t sizes[] = {1, 4095, 4096, 4097, 1 << 20, 16 << 20};
    sbx_config config = {0};
    unsigned i;
    config.timeout_ms = 20000;
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *ret = (char *)malloc(sizes[i] + 1), fill = (char)(i + 1);
        size_t at, wrong = 0;
        memset(ret, 0x55, sizes[i] + 1);
        EXPECT_EQ((int)SBX_OK, (int)sbx_call(&config, big_result, &fill, ret, sizes[i], NULL));
        for (at = 0; at < sizes[i]; at++) wrong += ret[at] != fill;
        EXPECT_EQ((size_t)0, wrong);
        EXPECT_EQ(0x55, (int)ret[sizes[i]]); /* and not a byte more */
        free(ret);
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

UTEST(seed, fails_background_process_turns_success_into_timeout) {
    sbx_config config = {0};
    sbx_result result;
    config.command = "sleep 20 & echo done; exit 0";
    config.timeout_ms = 15000;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_STREQ("done\n", result.out.data);
    EXPECT_LT(result.wall_us, 10000000LL);
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
    EXPECT_STREQ("", pattern_flaw(&result.out, 2000000, 2000000));
    EXPECT_STREQ("2000000", result.err.data);
    sbx_free(&result);
}

UTEST(seed, fails_partial_output_and_signal_lost_on_timeout) {
    sbx_config config = {0};
    sbx_result result;
    config.grace_ms = -1;
    result = SHELL_LATE(&config, "partial", "printf wrong >&2; printf partial; exec sleep 20");
    EXPECT_STREQ("partial", result.out.data);
    EXPECT_STREQ("wrong", result.err.data);
    EXPECT_EQ(SIGKILL, result.signal);
    EXPECT_EQ(-1, result.exit_code);
    sbx_free(&result);
}
