/* Limits that the kernel keeps for one process (rlimits), and what is measured: CPU time, memory,
   stack, files, processes. */
#include "test.h"

#include <pthread.h>
#include <sys/mman.h>
#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

/* ==== Set before the program starts, and told ================================================= */

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
    EXPECT_EQ((3LL << 30), told_limit(result.out.data, "space", 0));
    EXPECT_EQ((3LL << 30), told_limit(result.out.data, "space", 1)); /* it cannot be raised again */
    EXPECT_EQ(12345678LL, told_limit(result.out.data, "file", 1));
    EXPECT_EQ(99LL, told_limit(result.out.data, "open", 1));
    EXPECT_EQ((1LL << 20), told_limit(result.out.data, "stack", 1));
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
    if (result.verdict == SBX_NOT_STARTED) return test_lacks(result.message, "open_files");
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
    return test_lacks(result.message, which->field);
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
        EXPECT_STREQ("", test_lacks(result.message, "processes = 5"));
    else
        EXPECT_STREQ("", test_lacks(result.out.data, " EAGAIN"));
    sbx_free(&result);
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
        unsigned want = test_has_watch() ? rows[i].linux_bits : rows[i].portable_bits;
        *(long long *)(void *)((char *)&config + rows[i].offset) = rows[i].value;
        result = RUN_CHILD(&config, "exit", "0");
        EXPECT_EQ((int)SBX_OK, (int)result.verdict);
        EXPECT_EQ(want, (result.enforced & want));
        EXPECT_EQ(0u, (result.enforced & limits & ~want & ~SBX_BY_RLIMIT_CPU)); /* nothing more */
        EXPECT_TRUE(result.enforced & SBX_BY_SESSION);
        EXPECT_TRUE(result.enforced & SBX_BY_RLIMIT_CORE);
        sbx_free(&result);
    }
}

/* What was set cannot be unset: the hard limit is the same (for CPU time one second later). */
UTEST(attack, a25_limits_are_hard) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("limits");
    config.open_files = 64;
    config.file_bytes = 100000;
    config.stack_bytes = MB;
    config.address_space_bytes = 512 * MB;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_NE((char *)NULL, strstr(result.out.data, "core 1 1\n"));
    EXPECT_NE((char *)NULL, strstr(result.out.data, "open 64 64\n"));
    EXPECT_NE((char *)NULL, strstr(result.out.data, "file 100000 100000\n"));
    EXPECT_NE((char *)NULL, strstr(result.out.data, "stack 1048576 1048576\n"));
    EXPECT_NE((char *)NULL, strstr(result.out.data, "space 536870912 536870912\n"));
    sbx_free(&result);
}

/* ==== CPU time ================================================================================ */

static void expect_cpu(int *utest_result, const char *how, const char *processes,
                       const char *ignore, sbx_verdict verdict, const char *ms) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("burn", how, processes, ms, ignore);
    config.cpu_ms = 200;
    config.grace_ms = 100;
    config.timeout_ms = 19000;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(verdict, result);
    if (verdict == SBX_CPU_LIMIT && test_has_watch()) {
        EXPECT_EQ(1, result.certain);
        EXPECT_TRUE(result.evidence & SBX_SAW_CPU_SUM);
        EXPECT_TRUE(result.enforced & SBX_BY_WATCH);
        /* By the sum of the tree: a process's own limit of the kernel is 2 s here. */
        EXPECT_LT(result.user_us + result.system_us, 1500000LL);
        EXPECT_NE((char *)NULL, strstr(result.message, "200"));
    }
    sbx_free(&result);
}

UTEST(attack, a16_spends_cpu_in_user_code) {
    expect_cpu(utest_result, "user", "1", NULL, SBX_CPU_LIMIT, "10000");
}

UTEST(attack, a16_spends_cpu_in_system_calls) {
    if (!test_has_watch()) UTEST_SKIP("the kernel's own limit does not tell them apart");
    expect_cpu(utest_result, "system", "1", NULL, SBX_CPU_LIMIT, "10000");
}

/* Each of the four stays below the limit. Portable code cannot stop them, but sees it
   afterwards. */
UTEST(attack, a16_spends_cpu_in_four_processes) {
    expect_cpu(utest_result, "user", "4", NULL, SBX_CPU_LIMIT, "120");
}

/* None of them is there for long, but the sum is. */
UTEST(attack, a16_spends_cpu_in_one_process_after_the_other) {
    expect_cpu(utest_result, "chain", "5", NULL, SBX_CPU_LIMIT, "100");
}

UTEST(attack, a16_inside_the_limit_is_fine) {
    expect_cpu(utest_result, "user", "1", NULL, SBX_OK, "50");
}

UTEST(attack, a17_ignores_sigxcpu) {
    expect_cpu(utest_result, "user", "1", "ignore", SBX_CPU_LIMIT, "10000");
}

UTEST(pitfall, P27_hard_cpu_limit_is_above_the_soft_one) {
    sbx_config config = {0};
    sbx_result result;
    long long soft = 0, hard = 0;
    const char *at;
    config.cpu_ms = 3500; /* whole seconds for the kernel: rounded up, never down */
    result = RUN_CHILD(&config, "limits");
    at = strstr(result.out.data, "cpu ");
    ASSERT_TRUE(at != NULL);
    ASSERT_EQ(2, sscanf(at, "cpu %lld %lld", &soft, &hard));
    /* the watch is more exact: it comes first, and the kernel a second later */
    EXPECT_EQ(result.enforced & SBX_BY_WATCH ? 5LL : 4LL, soft);
    EXPECT_EQ(soft + 1, hard);
    sbx_free(&result);
    if (test_has_watch()) { /* whole seconds there; the attacks include it */
        config.cpu_ms = 80;
        result = RUN_CHILD(&config, "burn", "user", "1", "15000", "ignore"); /* SIGXCPU, that is */
        EXPECT_EQ((int)SBX_CPU_LIMIT, (int)result.verdict);
        EXPECT_EQ(1, result.certain);
        EXPECT_TRUE(result.evidence & SBX_SAW_CPU_SUM);
        EXPECT_GE(result.user_us + result.system_us, 60000LL);
        EXPECT_LT(result.user_us + result.system_us, 8000000LL);
        sbx_free(&result);
    }
    config.cpu_ms = 5000; /* SIGXCPU of its own is no limit */
    result = RUN_CHILD(&config, "raise", test_text("%d", SIGXCPU));
    EXPECT_EQ((int)SBX_CRASHED, (int)result.verdict);
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

/* ==== Memory of one process: address space, stack, core ======================================= */

static void run_malloc(int *utest_result, const char *how, const char *mb, sbx_result *result) {
    sbx_config config = {0};
    config.argv = test_child_argv("malloc", how, mb);
    config.address_space_bytes = 256 * MB;
    config.timeout_ms = LONG_MS;
    TEST_RUN(&config, result);
    EXPECT_TRUE(result->enforced & SBX_BY_RLIMIT_AS);
    EXPECT_EQ(0, result->certain); /* nobody but the child saw malloc fail */
}

/* Which of the two it was cannot be known: it may not be called certain. */
UTEST(attack, a19_malloc_fails_unchecked) {
    static const char *const sizes[] = {"1", "16", "500"};
    int i;
    for (i = 0; i < 3; i++) {
        sbx_result result;
        run_malloc(utest_result, "unchecked", sizes[i], &result);
        EXPECT_EQ(SIGSEGV, result.signal);
        EXPECT_TRUE(result.verdict == SBX_MEMORY_LIMIT || result.verdict == SBX_CRASHED);
        sbx_free(&result);
    }
}

UTEST(attack, a20_malloc_fails_and_is_handled) {
    sbx_result result;
    run_malloc(utest_result, "handled", "1", &result);
    EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
    EXPECT_EQ(1, result.exit_code);
    EXPECT_TRUE(result.evidence & SBX_SAW_MEMORY_TEXT);
    sbx_free(&result);
}

/* The same words without a limit prove nothing. */
UTEST(attack, a20_talks_of_memory_without_a_limit) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("say", "", "child: out of memory\n", "1");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_EXITED, result);
    EXPECT_EQ(1, result.exit_code);
    EXPECT_EQ(1, result.certain);
    sbx_free(&result);
}

UTEST(attack, a21_recurses_without_end) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("recurse");
    config.timeout_ms = LONG_MS;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CRASHED, result);
    EXPECT_EQ(SIGSEGV, result.signal);
    sbx_free(&result);
    config.stack_bytes = 256 * 1024;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CRASHED, result);
    EXPECT_EQ(SIGSEGV, result.signal);
    EXPECT_TRUE(result.enforced & SBX_BY_RLIMIT_STACK);
    sbx_free(&result);
}

UTEST(pitfall, P30_memory_breach_that_is_only_exit_1) {
    sbx_config config = {0};
    sbx_result result;
    config.address_space_bytes = 100 << 20;
    result = RUN_CHILD(&config, "malloc", "handled");
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    EXPECT_EQ(0, result.certain); /* likely, not proven */
    EXPECT_EQ(1, result.exit_code);
    EXPECT_TRUE(result.evidence & SBX_SAW_MEMORY_TEXT);
    sbx_free(&result);
    config.err = SBX_MERGE; /* the words count wherever stderr went to */
    result = RUN_CHILD(&config, "malloc", "handled");
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    sbx_free(&result);
    config.err = SBX_DEFAULT;
    config.address_space_bytes = 0;
    result = RUN_CHILD(&config, "say", "", "child: out of memory\n", "1");
    EXPECT_EQ((int)SBX_EXITED, (int)result.verdict); /* no limit: its own affair */
    EXPECT_EQ(1, result.certain);
    sbx_free(&result);
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

/* In a copy of the host that would dump core itself: the limit has to come from the run. */
static const char *crash_in_dir(void *arg) {
    const char *dir = (const char *)arg;
    struct rlimit limit;
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_CORE, &limit);
    config.argv = test_child_argv("crash", "abort");
    config.cwd = dir;
    flaw = test_run(&config, &result);
    if (*flaw) return flaw;
    TEST_MUST(result.verdict == SBX_CRASHED && result.signal == SIGABRT);
    TEST_MUST(result.enforced & SBX_BY_RLIMIT_CORE);
    sbx_free(&result);
    TEST_MUST(rmdir(dir) == 0); /* fails if a file is in it */
    config.argv = test_child_argv("limits");
    config.cwd = NULL;
    flaw = test_run(&config, &result);
    if (*flaw) return flaw;
    TEST_MUST(strncmp(result.out.data, "core 1 1\n", 9) == 0);
    sbx_free(&result);
    return "";
}

UTEST(attack, a27_dumps_core) {
    char dir[PATH_MAX];
    EXPECT_STREQ("", test_in_copy(crash_in_dir, (void *)(size_t)test_tmpdir(dir)));
    test_remove_tree(dir);
}

/* ==== Peak ==================================================================================== */

static const char *big_host(void *arg) {
    size_t size = (size_t)400 << 20;
    char *block = (char *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                               0);
    static const char *const argv[] = {"true", NULL};
    sbx_config config = {0};
    sbx_result result;
    int i;
    (void)arg;
    TEST_MUST(block != (char *)MAP_FAILED);
    memset(block, 1, size);
    config.argv = argv;
    for (i = 0; i < 4; i++) {
        const char *flaw;
        config.memory_bytes = i & 1 ? (100 << 20) : 0; /* what the host has is not the child's */
        if (!test_has_watch()) config.memory_bytes = 0;
        config.argv = i & 2 ? test_child_argv("sleep", "60") : argv;
        if (*(flaw = test_run(&config, &result))) return flaw;
        TEST_MUST(result.verdict == SBX_OK);
        if (result.peak_bytes > 100LL << 20)
            return test_text("/bin/true used %lld MB", result.peak_bytes >> 20);
        sbx_free(&result);
    }
    config.argv = NULL;
    config.memory_bytes = test_has_watch() ? 100 << 20 : 0;
    config.input = "x";
    config.input_size = 1;
    i = 0;
    if (!test_has_call()) return "";
    TEST_MUST(sbx_call(&config, test_fn_length, NULL, &i, sizeof i, &result) == SBX_OK && i == 1);
    TEST_MUST(result.peak_bytes < 100LL << 20);
    sbx_free(&result);
    return "";
}

UTEST(pitfall, P26_peak_is_never_the_hosts) {
    EXPECT_STREQ("", test_in_copy(big_host, NULL));
}

/* ... and it is the child's own, also when that is larger than the host. */
UTEST(pitfall, P26_peak_is_the_childs_own) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("memory", "own", "120", "1", "150");
    if (test_has_watch()) TEST_RUN_WEIGHED(&config, &result);
    else TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    if (result.peak_bytes != -1) {
        EXPECT_GE(result.peak_bytes, (114LL << 20));
        EXPECT_LT(result.peak_bytes, (200LL << 20));
    }
    if (test_has_watch()) EXPECT_NE(-1LL, result.peak_bytes);
    sbx_free(&result);
}

/* The peak is this child's: not the host's, and not that of an earlier, bigger child. */
UTEST(seed, S10_peak_is_not_shared_by_all_children) {
    sbx_config config = {0};
    sbx_result big, small;
    if (test_has_watch()) config.memory_bytes = 300 << 20; /* looks more often */
    config.argv = test_child_argv("memory", "own", "150", "1", "100");
    if (test_has_watch()) TEST_RUN_WEIGHED(&config, &big);
    else TEST_RUN(&config, &big);
    EXPECT_EQ((int)SBX_OK, (int)big.verdict);
    small = RUN_CHILD(&config, "memory", "own", "1", "1", "100");
    EXPECT_EQ((int)SBX_OK, (int)small.verdict);
    if (test_has_watch()) EXPECT_GE(big.peak_bytes, (150LL << 20));
    EXPECT_LT(small.peak_bytes, (80LL << 20));
    sbx_free(&big);
    sbx_free(&small);
    if (test_has_watch()) config.memory_bytes = 155 << 20;
    small = RUN_CHILD(&config, "crash", "null");
    EXPECT_EQ((int)SBX_CRASHED, (int)small.verdict);
    sbx_free(&small);
}

/* ==== Files =================================================================================== */

UTEST(attack, a25_opens_a_thousand_files) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("open_many", "1000");
    config.open_files = 64;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_STREQ("61 EMFILE\n", result.out.data); /* 64 with the three streams */
    EXPECT_TRUE(result.enforced & SBX_BY_RLIMIT_NOFILE);
    sbx_free(&result);
    config.open_files = 0;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_FALSE(result.enforced & SBX_BY_RLIMIT_NOFILE);
    sbx_free(&result);
}

static void run_fill_file(int *utest_result, const char *bytes, const char *how, sbx_result *result,
                          long long *left) {
    char dir[PATH_MAX];
    struct stat about;
    const char *path;
    sbx_config config = {0};
    path = test_text("%s/filled", test_tmpdir(dir));
    config.argv = test_child_argv("fill_file", path, bytes, how);
    config.file_bytes = 100000;
    TEST_RUN(&config, result);
    EXPECT_TRUE(result->enforced & SBX_BY_RLIMIT_FSIZE);
    *left = stat(path, &about) == 0 ? (long long)about.st_size : -1;
    test_remove_tree(dir);
}

UTEST(attack, a26_writes_a_file_past_the_limit) {
    sbx_result result;
    long long size;
    run_fill_file(utest_result, "5000000", "default", &result, &size);
    EXPECT_VERDICT(SBX_FILE_LIMIT, result);
    EXPECT_EQ(SIGXFSZ, result.signal);
    EXPECT_EQ(0, result.certain);
    EXPECT_STREQ("", test_lacks(result.message, "its limit of 100000 bytes in a file"));
    EXPECT_EQ(100000, size);
    sbx_free(&result);
    run_fill_file(utest_result, "100001", "default", &result, &size);
    EXPECT_VERDICT(SBX_FILE_LIMIT, result);
    sbx_free(&result);
}

UTEST(attack, a26_writes_a_file_past_the_limit_and_ignores_sigxfsz) {
    sbx_result result;
    long long size;
    run_fill_file(utest_result, "5000000", "ignore", &result, &size);
    EXPECT_VERDICT(SBX_FILE_LIMIT, result);
    EXPECT_EQ(1, result.exit_code);
    EXPECT_EQ(0, result.certain);
    EXPECT_TRUE(result.evidence & SBX_SAW_FILE_TEXT);
    EXPECT_EQ(100000, size);
    sbx_free(&result);
    run_fill_file(utest_result, "5000000", "quiet", &result, &size); /* no evidence at all */
    EXPECT_VERDICT(SBX_EXITED, result);
    EXPECT_EQ(100000, size);
    sbx_free(&result);
}

UTEST(attack, a26_exactly_the_file_limit_is_fine) {
    sbx_result result;
    long long size;
    run_fill_file(utest_result, "100000", "default", &result, &size);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ(100000, size);
    sbx_free(&result);
}

/* The one that hits the limit is not the program itself, and only its shell tells. */
UTEST(attack, a26_a_child_of_its_shell_writes_past_the_limit) {
    char dir[PATH_MAX];
    sbx_config config = {0};
    sbx_result result;
    config.command = "head -c 1000000 /dev/zero > filled; exit $?";
    config.cwd = test_tmpdir(dir);
    config.inherit_env = 1;
    config.file_bytes = 100000;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_FILE_LIMIT, result);
    EXPECT_EQ(0, result.certain);
    EXPECT_GT(result.exit_code, 0);
    sbx_free(&result);
    test_remove_tree(dir);
}

/* A pipe is no file: a file limit is none for the output. */
UTEST(attack, a26_output_is_not_a_file) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("write", "200000", "200000");
    config.file_bytes = 1000;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ(200000, (int)result.out.size);
    sbx_free(&result);
}

/* ==== Processes =============================================================================== */

UTEST(pitfall, P28_processes_are_limited_or_refused) {
    sbx_config config = {0};
    sbx_result result;
    config.processes = 6;
    result = RUN_CHILD(&config, "processes", "250");
    if (result.verdict == SBX_NOT_STARTED) {
        EXPECT_EQ(0, (int)geteuid()); /* only root is out of reach, and that is said */
        EXPECT_STREQ("", test_lacks(result.message, "processes"));
        EXPECT_STREQ("", test_lacks(result.message, "root"));
    } else {
        EXPECT_EQ((int)SBX_OK, (int)result.verdict);
        EXPECT_STREQ("",
                     test_lacks(result.out.data, " EAGAIN")); /* other tasks of the user count */
        EXPECT_LT(atoi(result.out.data), 250);
        EXPECT_TRUE(result.enforced & SBX_BY_RLIMIT_NPROC);
    }
    sbx_free(&result);
}

#ifdef __linux__
static void expect_tasks(int *utest_result, const char *const *argv, int limit, int wanted) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = argv;
    config.contain = SBX_CONTAIN_TREE;
    config.processes = limit;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_TRUE(result.enforced & SBX_BY_RLIMIT_NPROC);
    EXPECT_EQ(wanted, atoi(result.out.data));
    sbx_free(&result);
}

UTEST(tree, processes_exactly) {
    static const int limits[] = {1, 2, 5, 20};
    int i;
    NEED_TREE();
    if (geteuid() == 0) UTEST_SKIP("root is not bound by it");
    for (i = 0; i < 4; i++) {
        int limit = limits[i];
        expect_tasks(utest_result, test_child_argv("processes", "40"), limit, limit - 1);
        expect_tasks(utest_result, test_child_argv("tree_threads", "40"), limit, limit - 1);
        expect_tasks(utest_result, test_child_argv("tree_threads", "40", "nested"), limit,
                     limit - 1);
    }
}

UTEST(tree, processes_for_root_are_refused) {
    sbx_config config = {0};
    sbx_result result;
    NEED_TREE();
    if (geteuid() != 0) UTEST_SKIP("needs root");
    config.argv = test_child_argv("exit", "0");
    config.contain = SBX_CONTAIN_TREE;
    config.processes = 5;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ(SBX_STEP_LIMITS, (int)result.step);
    EXPECT_NE((char *)NULL, strstr(result.message, "processes"));
    EXPECT_NE((char *)NULL, strstr(result.message, "5"));
    sbx_free(&result);
}
#endif

static void *wait_for_the_end(void *arg) {
    while (arg) test_sleep_ms(50);
    return NULL;
}

/* The kernel counts all tasks of the user, threads too: those of the host are not the program's.
   Others of this user may come and go; if nobody else is this user, the first try is it. */
static const char *processes_in_a_group(void *arg) {
    pthread_t thread;
    int i, tries, exact = 0;
    char said[64] = "";
    (void)arg;
    for (i = 0; i < 3; i++) TEST_MUST(pthread_create(&thread, NULL, wait_for_the_end, said) == 0);
    for (tries = 0; tries < 200 && !exact; tries++) {
        sbx_config config = {0};
        sbx_result result;
        if (tries > 0) test_sleep_ms(20);
        config.argv = test_child_argv("processes", "20");
        config.contain = SBX_CONTAIN_GROUP;
        config.processes = 6;
        TEST_MUST(sbx_run(&config, &result) == SBX_OK);
        snprintf(said, sizeof said, "%.60s", result.out.data);
        exact = strcmp(said, "5 EAGAIN\n") == 0;
        sbx_free(&result);
    }
    return exact ? "" : test_text("beside itself it had %s", said);
}

UTEST(limits, processes_are_exact_in_a_group_too) {
    if (test_is_portable()) UTEST_SKIP("nobody can count the user's tasks there");
    EXPECT_WELL(test_as_user(processes_in_a_group, NULL));
}

#ifdef __linux__
#include <grp.h>

/* The same for a user of so many groups that the line with the threads stands far behind. */
static const char *processes_beside_many_groups(void *arg) {
    gid_t groups[3000];
    int i;
    for (i = 0; i < 3000; i++) groups[i] = (gid_t)(100000 + i);
    TEST_MUST(setgroups(3000, groups) == 0);
    TEST_MUST(setgid(65533) == 0 && setuid(65533) == 0); /* nobody else is this user */
    TEST_MUST(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0); /* /proc/self is its own again */
    if (access(test_child(), X_OK) < 0) return "skip: the child is out of reach of others";
    return processes_in_a_group(arg);
}

UTEST(limits, processes_are_exact_for_a_user_of_many_groups) {
    if (test_is_portable()) UTEST_SKIP("nobody can count the user's tasks there");
    if (geteuid() != 0) UTEST_SKIP("only root can have so many groups");
    EXPECT_WELL(test_in_copy(processes_beside_many_groups, NULL));
}
#endif
