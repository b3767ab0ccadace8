/* Why it ended, as the result tells: codes, signals, verdicts, messages. */
#include "test.h"

/* ==== sbx_classify and its names ============================================================== */

UTEST(config, verdict_names) {
    static const char *const names[] = {"ok",        "exited",       "crashed",      "timed-out",
                                        "cpu-limit", "memory-limit", "output-limit", "file-limit",
                                        "denied",    "cancelled",    "no-result",    "not-started",
                                        "lost"};
    static const int outside[] = {13, 14, 99, 1 << 20, INT_MAX, -1, INT_MIN};
    int i, j;
    EXPECT_EQ(13, (int)(sizeof names / sizeof *names));
    EXPECT_EQ(12, (int)SBX_LOST);
    for (i = 0; i < 13; i++) EXPECT_STREQ(names[i], sbx_verdict_name((sbx_verdict)i));
    for (i = 0; i < (int)(sizeof outside / sizeof *outside); i++) {
        const char *name = sbx_verdict_name((sbx_verdict)outside[i]);
        ASSERT_TRUE(name != NULL);
        EXPECT_NE(0, (int)name[0]);
        for (j = 0; j < 13; j++) EXPECT_STRNE(names[j], name);
    }
}

typedef struct classified {
    unsigned saw;
    int exit_code, signal;
    sbx_verdict verdict;
    int certain;
} classified;

static const char *classify_flaw(const classified *row) {
    sbx_evidence evidence, copy;
    int certain = 77;
    sbx_verdict verdict;
    memset(&evidence, 0, sizeof evidence);
    evidence.saw = row->saw;
    evidence.exit_code = row->exit_code;
    evidence.signal = row->signal;
    copy = evidence;
    verdict = sbx_classify(&evidence, &certain);
    if (memcmp(&copy, &evidence, sizeof copy)) return "the evidence was changed";
    if (sbx_classify(&evidence, NULL) != verdict) return "another verdict without certain";
    if (verdict != row->verdict || certain != row->certain)
        return test_text("saw %x, exit %d, signal %d: %s, certain %d", row->saw, row->exit_code,
                         row->signal, sbx_verdict_name(verdict), certain);
    return "";
}

UTEST(config, classify_table) {
    static const classified rows[] = {
        {0, 0, 0, SBX_OK, 1},
        {0, 1, 0, SBX_EXITED, 1},
        {0, 124, 0, SBX_EXITED, 1},
        {0, 137, 0, SBX_EXITED, 1}, /* codes that look like signals are codes */
        {0, 139, 0, SBX_EXITED, 1},
        {0, 255, 0, SBX_EXITED, 1},
        {SBX_SAW_STUCK, 0, 0, SBX_OK, 0}, /* who cannot be killed may go on when it returns */
        {SBX_SAW_STUCK, 3, 0, SBX_EXITED, 0},
        {SBX_SAW_STUCK, -1, SIGSEGV, SBX_CRASHED, 0},
        {SBX_SAW_STUCK | SBX_SAW_DEADLINE, -1, SIGKILL, SBX_TIMED_OUT, 1},
        {0, -1, SIGSEGV, SBX_CRASHED, 1},
        {0, -1, SIGABRT, SBX_CRASHED, 1},
        {0, -1, SIGKILL, SBX_CRASHED, 1}, /* not ours, no limit: somebody else's */
        {0, -1, SIGTERM, SBX_CRASHED, 1},
        {0, -1, SIGXCPU, SBX_CRASHED, 1}, /* raised by itself: no cpu_ms was in force */
        {0, -1, SIGXFSZ, SBX_CRASHED, 1},
        {0, -1, SIGSYS, SBX_CRASHED, 1},
        /* stopped by the host: however it ended then */
        {SBX_SAW_DEADLINE, -1, SIGKILL, SBX_TIMED_OUT, 1},
        {SBX_SAW_DEADLINE, -1, SIGTERM, SBX_TIMED_OUT, 1},
        {SBX_SAW_DEADLINE, 0, 0, SBX_TIMED_OUT, 1},
        {SBX_SAW_DEADLINE, 3, 0, SBX_TIMED_OUT, 1},
        {SBX_SAW_DEADLINE | SBX_SAW_GRACE_OVER, -1, SIGKILL, SBX_TIMED_OUT, 1},
        {SBX_SAW_DEADLINE | SBX_SAW_NO_STATUS, -1, 0, SBX_TIMED_OUT, 1},
        {SBX_SAW_CPU_SUM, -1, SIGKILL, SBX_CPU_LIMIT, 1},
        {SBX_SAW_CPU_SUM, 0, 0, SBX_CPU_LIMIT, 1},
        {SBX_SAW_MEMORY_SUM, -1, SIGKILL, SBX_MEMORY_LIMIT, 1},
        {SBX_SAW_MEMORY_SUM, 1, 0, SBX_MEMORY_LIMIT, 1},
        {SBX_SAW_OUTPUT_CAP, -1, SIGTERM, SBX_OUTPUT_LIMIT, 1},
        {SBX_SAW_OUTPUT_CAP, 0, 0, SBX_OUTPUT_LIMIT, 1},
        {SBX_SAW_OUTPUT_CAP | SBX_SAW_BLIND, 0, 0, SBX_OUTPUT_LIMIT, 0},
        {SBX_SAW_DEADLINE | SBX_SAW_BLIND, -1, SIGKILL, SBX_TIMED_OUT, 0},
        {SBX_SAW_CANCEL, -1, SIGTERM, SBX_CANCELLED, 1},
        {SBX_SAW_CANCEL, 0, 0, SBX_CANCELLED, 1},
        {SBX_SAW_START_FAILED, -1, 0, SBX_NOT_STARTED, 1},
        {SBX_SAW_NO_STATUS, -1, 0, SBX_LOST, 1},
        {SBX_SAW_OOM_KILL, -1, SIGKILL, SBX_MEMORY_LIMIT, 1},
        {SBX_SAW_DENIED, -1, SIGSYS, SBX_DENIED, 1},
        {SBX_SAW_NO_RESULT, 0, 0, SBX_NO_RESULT, 1},
        {SBX_SAW_NO_RESULT, 1, 0, SBX_NO_RESULT, 1},
        {SBX_SAW_NO_RESULT, -1, SIGSEGV, SBX_CRASHED, 1},
        {SBX_SAW_NO_RESULT | SBX_SAW_DEADLINE, -1, SIGKILL, SBX_TIMED_OUT, 1},
        /* the kernel's own limits: likely, not proven */
        {SBX_SAW_CPU_SPENT, -1, SIGXCPU, SBX_CPU_LIMIT, 0},
        {SBX_SAW_CPU_SPENT, -1, SIGKILL, SBX_CPU_LIMIT, 0}, /* soft = hard, or SIGXCPU ignored */
        {SBX_SAW_CPU_SPENT, 0, 0, SBX_OK, 1}, /* close to the limit and done */
        {SBX_SAW_CPU_SPENT, 3, 0, SBX_EXITED, 1},
        {SBX_SAW_CPU_SPENT, -1, SIGSEGV, SBX_CRASHED, 1},
        {SBX_SAW_FILE_LIMIT, -1, SIGXFSZ, SBX_FILE_LIMIT, 0},
        {SBX_SAW_FILE_LIMIT | SBX_SAW_FILE_TEXT, 1, 0, SBX_FILE_LIMIT, 0},
        {SBX_SAW_FILE_LIMIT | SBX_SAW_FILE_TEXT, 0, 0, SBX_OK, 1},
        {SBX_SAW_FILE_LIMIT, 1, 0, SBX_EXITED, 0},
        {SBX_SAW_FILE_LIMIT, -1, SIGSEGV, SBX_CRASHED, 0},
        {SBX_SAW_FILE_TEXT, 1, 0, SBX_EXITED, 1}, /* speaks of it, but there was no such limit */
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_TEXT, 1, 0, SBX_MEMORY_LIMIT, 0},
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_TEXT, -1, SIGABRT, SBX_MEMORY_LIMIT, 0},
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_TEXT, 0, 0, SBX_OK, 1},
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_PEAK, -1, SIGSEGV, SBX_MEMORY_LIMIT, 0},
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_PEAK, 0, 0, SBX_OK, 1},
        {SBX_SAW_MEMORY_LIMIT, 0, 0, SBX_OK, 1},
        {SBX_SAW_MEMORY_LIMIT, 1, 0, SBX_EXITED, 0},
        {SBX_SAW_MEMORY_TEXT, 1, 0, SBX_EXITED, 1},
        {SBX_SAW_MEMORY_TEXT, -1, SIGSEGV, SBX_CRASHED, 1},
        /* words that are no report count only with the limit near */
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_WORDS, 1, 0, SBX_EXITED, 0},
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_NEAR, 1, 0, SBX_EXITED, 0},
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_NEAR, -1, SIGSEGV, SBX_CRASHED, 0},
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_WORDS | SBX_SAW_MEMORY_NEAR, 1, 0, SBX_MEMORY_LIMIT,
         0},
        {SBX_SAW_MEMORY_WORDS | SBX_SAW_MEMORY_NEAR, 1, 0, SBX_EXITED, 1},
        {SBX_SAW_FILE_LIMIT | SBX_SAW_FILE_WORDS, 1, 0, SBX_EXITED, 0},
    };
    int i;
    for (i = 0; i < (int)(sizeof rows / sizeof *rows); i++)
        EXPECT_STREQ("", classify_flaw(&rows[i]));
}

/* With nothing seen, the status alone decides, for every code and every signal. */
UTEST(config, classify_every_status) {
    classified row = {0, 0, 0, SBX_OK, 1};
    EXPECT_STREQ("", classify_flaw(&row));
    row.verdict = SBX_EXITED;
    for (row.exit_code = 1; row.exit_code < 256; row.exit_code++)
        EXPECT_STREQ("", classify_flaw(&row));
    row.verdict = SBX_CRASHED;
    row.exit_code = -1;
    for (row.signal = 1; row.signal < 65; row.signal++) EXPECT_STREQ("", classify_flaw(&row));
}

/* Every combination of what can be seen: some verdict, never a success that it was not, and never
   a limit that nothing speaks for. */
static const char *combination_flaw(unsigned saw, int exit_code, int signal_number) {
    const unsigned stops = SBX_SAW_DEADLINE | SBX_SAW_CPU_SUM | SBX_SAW_MEMORY_SUM |
                           SBX_SAW_OUTPUT_CAP | SBX_SAW_CANCEL;
    const unsigned memory = SBX_SAW_MEMORY_SUM | SBX_SAW_MEMORY_LIMIT | SBX_SAW_OOM_KILL;
    sbx_evidence evidence;
    sbx_verdict verdict;
    int certain = 77, bad = 0;
    memset(&evidence, 0, sizeof evidence);
    evidence.saw = saw;
    evidence.exit_code = exit_code;
    evidence.signal = signal_number;
    verdict = sbx_classify(&evidence, &certain);
    if (certain != 0 && certain != 1) bad = 1;
    if ((int)verdict < 0 || (int)verdict > (int)SBX_LOST) bad = 2;
    if (verdict == SBX_OK && (exit_code != 0 || signal_number != 0)) bad = 3;
    if (verdict == SBX_OK &&
        (saw & (stops | SBX_SAW_START_FAILED | SBX_SAW_NO_STATUS | SBX_SAW_NO_RESULT)))
        bad = 4;
    if (verdict == SBX_EXITED && exit_code <= 0) bad = 5;
    if (verdict == SBX_CRASHED && signal_number == 0) bad = 6;
    if ((saw & SBX_SAW_START_FAILED) && verdict != SBX_NOT_STARTED) bad = 7;
    if (!(saw & SBX_SAW_START_FAILED) && verdict == SBX_NOT_STARTED) bad = 8;
    if (verdict == SBX_TIMED_OUT && !(saw & SBX_SAW_DEADLINE)) bad = 9;
    if (verdict == SBX_OUTPUT_LIMIT && !(saw & SBX_SAW_OUTPUT_CAP)) bad = 10;
    if (verdict == SBX_CANCELLED && !(saw & SBX_SAW_CANCEL)) bad = 11;
    if (verdict == SBX_MEMORY_LIMIT && !(saw & memory)) bad = 12;
    if (verdict == SBX_CPU_LIMIT && !(saw & (SBX_SAW_CPU_SUM | SBX_SAW_CPU_SPENT))) bad = 13;
    if (verdict == SBX_FILE_LIMIT && !(saw & SBX_SAW_FILE_LIMIT)) bad = 14;
    if (verdict == SBX_LOST && !(saw & SBX_SAW_NO_STATUS)) bad = 15;
    if (verdict == SBX_DENIED && !(saw & SBX_SAW_DENIED)) bad = 16;
    if (verdict == SBX_NO_RESULT && !(saw & SBX_SAW_NO_RESULT)) bad = 17;
    if (!bad) return "";
    return test_text("rule %d: saw %x, exit %d, signal %d: %s, certain %d", bad, saw, exit_code,
                     signal_number, sbx_verdict_name(verdict), certain);
}

UTEST(config, classify_combinations) {
    static const int status[][2] = {{0, 0},        {1, 0},        {137, 0},      {-1, SIGKILL},
                                    {-1, SIGSEGV}, {-1, SIGXCPU}, {-1, SIGXFSZ}, {-1, SIGSYS}};
    unsigned saw;
    int i, flaws = 0;
    for (saw = 0; saw < 0x20000u && flaws < 5; saw++)
        for (i = 0; i < (int)(sizeof status / sizeof *status); i++) {
            const char *text = combination_flaw(saw, status[i][0], status[i][1]);
            if (*text) flaws++;
            if (*text) EXPECT_STREQ("", text);
        }
    EXPECT_EQ(0, flaws);
}

/* ==== Codes and signals ======================================================================= */

/* Limits that are in force but have nothing to do with how it ends. */
static void set_wide_limits(sbx_config *config, int wide) {
    config->timeout_ms = LONG_MS;
    if (!wide) return;
    config->cpu_ms = 15000;
    config->output_bytes = 1000;
    config->open_files = 100;
    config->stack_bytes = 4 * MB;
    if (test_has_watch()) config->memory_bytes = 256 * MB; /* else it is RLIMIT_AS */
}

UTEST(attack, a22_crashes) {
    static const struct {
        const char *how;
        int signal;
    } ends[] = {{"null", SIGSEGV},
                {"divide", SIGFPE},
                {"abort", SIGABRT},
                {"illegal", SIGILL},
                {"bus", SIGBUS}};
    int i, wide;
    for (i = 0; i < 5; i++)
        for (wide = 0; wide < 2; wide++) {
            sbx_config config = {0};
            sbx_result result;
            config.argv = test_child_argv("crash", ends[i].how);
            set_wide_limits(&config, wide);
            TEST_RUN_IN_SIGHT(&config, &result);
            EXPECT_VERDICT(SBX_CRASHED, result);
            EXPECT_EQ(ends[i].signal, result.signal);
            EXPECT_EQ(-1, result.exit_code);
            EXPECT_EQ(1, result.certain);
            sbx_free(&result);
        }
}

UTEST(attack, a23_signals_itself) {
    static const int signals[] = {SIGKILL, SIGTERM, SIGSEGV, SIGXCPU, SIGXFSZ, SIGHUP, SIGINT,
                                  SIGALRM, SIGPIPE, SIGUSR1, SIGABRT, SIGSYS,  SIGBUS, SIGVTALRM,
                                  SIGQUIT, SIGTRAP, SIGILL,  SIGFPE,  SIGUSR2, SIGPROF};
    size_t i;
    int wide;
    for (i = 0; i < sizeof signals / sizeof *signals; i++)
        for (wide = 0; wide < 2; wide++) {
            sbx_config config = {0};
            sbx_result result;
            const char *number = test_text("%d", signals[i]);
            config.argv = test_child_argv("raise", number);
            set_wide_limits(&config, wide);
            TEST_RUN_IN_SIGHT(&config, &result);
            EXPECT_VERDICT(SBX_CRASHED, result);
            EXPECT_EQ(signals[i], result.signal);
            EXPECT_EQ(-1, result.exit_code);
            EXPECT_EQ(1, result.certain);
            EXPECT_STREQ("", test_lacks(result.message, "(SIG")); /* it has a name */
            sbx_free(&result);
        }
}

/* Where the limit that uses the signal is in force, the signal is evidence, not proof. */
UTEST(attack, a23_raises_sigxfsz_under_a_file_limit) {
    sbx_config config = {0};
    sbx_result result;
    const char *number = test_text("%d", SIGXFSZ);
    config.argv = test_child_argv("raise", number);
    config.file_bytes = MB;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_FILE_LIMIT, result);
    EXPECT_EQ(0, result.certain);
    sbx_free(&result);
}

UTEST(attack, a24_exits_with_codes_that_look_like_signals) {
    static const char *const codes[] = {"1",   "2",   "124", "125", "126", "127", "128", "129",
                                        "130", "134", "136", "137", "139", "143", "153", "255"};
    size_t i;
    int wide;
    for (i = 0; i < sizeof codes / sizeof *codes; i++)
        for (wide = 0; wide < 2; wide++) {
            sbx_config config = {0};
            sbx_result result;
            config.argv = test_child_argv("exit", codes[i]);
            set_wide_limits(&config, wide);
            TEST_RUN_IN_SIGHT(&config, &result);
            EXPECT_VERDICT(SBX_EXITED, result);
            EXPECT_EQ(atoi(codes[i]), result.exit_code);
            EXPECT_EQ(0, result.signal);
            EXPECT_EQ(1, result.certain);
            sbx_free(&result);
        }
}

/* A shell turns a missing program, or the death of its child, into a code. That is the shell's. */
UTEST(attack, a24_codes_through_a_shell) {
    static const struct {
        const char *command;
        int code;
    } lines[] = {{"exit 137", 137},
                 {"no-such-program-anywhere", 127},
                 {"sh -c 'kill -9 $$'; exit $?", 137},
                 {"sh -c 'kill -11 $$'; exit $?", 139}};
    int i;
    for (i = 0; i < 4; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.command = lines[i].command;
        config.inherit_env = 1;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_EXITED, result);
        EXPECT_EQ(lines[i].code, result.exit_code);
        sbx_free(&result);
    }
}

/* The first thread is gone, or replaced by exec from another one: neither is the end. */
UTEST(attack, a24_ends_in_another_thread) {
    static const char *const how[] = {"exit", "exec", "exec"};
    int i;
    for (i = 0; i < 3; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("thread", how[i], i == 2 ? "stay" : NULL);
        config.timeout_ms = LONG_MS;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_EXITED, result);
        EXPECT_EQ(i == 0 ? 5 : 6, result.exit_code);
        EXPECT_STREQ("thread\n", result.out.data);
        sbx_free(&result);
    }
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

/* The end is what the kernel says, not what somebody writes into a pipe. */
UTEST(attack, a35_forges_records) {
    static const char *const values[] = {"0", "1", "2", "8", "-1", "1000000"};
    size_t i;
    int code, input;
    for (i = 0; i < sizeof values / sizeof *values; i++)
        for (code = 0; code < 4; code += 3)
            for (input = 0; input < 2; input++) {
                sbx_config config = {0};
                sbx_result result;
                config.argv = test_child_argv("forge", code ? "3" : "0", values[i]);
                if (input) config.input = "x", config.input_size = 1;
                TEST_RUN(&config, &result);
                EXPECT_VERDICT(code ? SBX_EXITED : SBX_OK, result);
                EXPECT_EQ(code, result.exit_code);
                EXPECT_STREQ("0 taken\n", result.out.data);
                sbx_free(&result);
            }
}

/* ==== Each end has its own verdict ============================================================ */

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

/* Timeout, memory, failed, invalid, unavailable: none can be taken for another. */
UTEST(seed, A12_error_kinds_are_distinct) {
    static const char *const missing[] = {"no-such-program-anywhere", NULL};
    sbx_config config = {0};
    sbx_result result;
    config.argv = missing;
    TEST_RUN(&config, &result);
    EXPECT_TRUE(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    EXPECT_NE(0, result.sys_errno);
    EXPECT_STREQ("", test_lacks(result.message, "no-such-program-anywhere"));
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
        "sh: Cannot allocate memory\n", "fatal error: out of memory\n"};
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
    config.argv = test_child_argv("crash", "null"); /* a plain segfault under a limit as well */
    TEST_RUN_IN_SIGHT(&config, &result);
    EXPECT_EQ((int)SBX_CRASHED, (int)result.verdict);
    EXPECT_EQ(SIGSEGV, result.signal);
    if (test_has_watch()) EXPECT_EQ(1, result.certain);
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

/* ==== What the result tells =================================================================== */

UTEST(verdict, long_limits_are_told_in_minutes) {
    static const struct {
        long long ms;
        const char *text;
    } rows[] = {{600000, " 10 min "},  {60000, " 1 min "},    {61000, " 61 s "},
                {61001, " 61001 ms "}, {59999, " 59999 ms "}, {30000, " 30000 ms "}};
    static const char *const argv[] = {"sleep", "20", NULL};
    size_t i;
    if (!test_clock_can_move()) UTEST_SKIP("the clock cannot be moved in this build");
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sbx_config config = {0};
        sbx_result result;
        sbx *box;
        config.argv = argv;
        config.timeout_ms = rows[i].ms;
        box = sbx_start(&config, &result);
        ASSERT_TRUE(box != NULL);
        test_clock_skew_ms = rows[i].ms;
        sbx_finish(box, &result);
        test_clock_skew_ms = 0;
        EXPECT_VERDICT(SBX_TIMED_OUT, result);
        EXPECT_STREQ("", test_lacks(result.message, rows[i].text));
        sbx_free(&result);
    }
}

/* These limits end nobody: the program is told "no", and what it makes of that is its own matter. */
UTEST(verdict, a_hint_if_processes_or_open_files_may_have_run_out) {
    static const struct {
        const char *command;
        long long processes, files;
        const char *message;
    } rows[] = {
        {"echo 'x: Too many open files' >&2; exit 1", 0, 40,
         "'it' exited with code 1; it may have reached its limit of 40 open files"},
        {"echo 'x: Too many open files' >&2; exit 1", 0, 0, "'it' exited with code 1"},
        {"echo 'x: Too many open files' >&2; exit 0", 0, 40, "'it' exited with code 0"},
        {"echo 'sh: 0: Cannot fork' >&2; exit 2", 0, 40, "'it' exited with code 2"},
        {"echo 'sh: 0: Cannot fork' >&2; exit 2", 1000, 0,
         "'it' exited with code 2; it may have reached its limit of 1000 processes"},
        {"echo 'fork: Resource temporarily unavailable' >&2; exit 1", 1000, 0,
         "'it' exited with code 1; it may have reached its limit of 1000 processes"},
    };
    size_t i;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.command = rows[i].command;
        config.name = "it";
        config.open_files = rows[i].files;
        config.processes = rows[i].processes;
        if (config.processes && geteuid() == 0) continue; /* it does not bind root, and is refused */
        TEST_RUN(&config, &result);
        EXPECT_STREQ(rows[i].message, result.message);
        sbx_free(&result);
    }
}

UTEST(seed, C5_timeout_names_the_limit) {
    static const char *const argv[] = {"sleep", "20", NULL};
    const char *limit = test_clock_can_move() ? "15000" : "600"; /* what test_run_late takes */
    sbx_config config = {0};
    sbx_result result = test_run_child_late(utest_result, &config, "", argv);
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
    EXPECT_STREQ(test_text("'sleep 20; exit 0' ran past its %s ms limit and was killed", limit),
                 result.message);
    EXPECT_EQ(SIGKILL, result.signal);
    sbx_free(&result);
    config.timeout_ms = 70; /* and in real time: not earlier than that */
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_TIMED_OUT, (int)result.verdict);
    EXPECT_GE(result.wall_us, 70000LL);
    EXPECT_STREQ("", test_lacks(result.message, " 70 ms"));
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
    EXPECT_STREQ("", test_lacks(result.message, "'child'"));
    EXPECT_STREQ("", test_lacks(result.message, "SIGSEGV"));
    sbx_free(&result);
    config.output_bytes = 777;
    result = RUN_CHILD(&config, "write", "0", "778");
    EXPECT_STREQ("", test_lacks(result.message, "'child'"));
    EXPECT_STREQ("", test_lacks(result.message, "777"));
    sbx_free(&result);
    config.output_bytes = 1;
    result = RUN_CHILD(&config, "write", "2", "0");
    EXPECT_STREQ("", test_lacks(result.message, "more than its 1 byte of output"));
    sbx_free(&result);
    config.output_bytes = 0;
    config.cpu_ms = 1000; /* whole seconds where nothing finer is watched */
    if (test_has_watch()) config.cpu_ms = 60;
    result = RUN_CHILD(&config, "burn", "user", "1", "15000");
    EXPECT_EQ((int)SBX_CPU_LIMIT, (int)result.verdict);
    EXPECT_STREQ("", test_lacks(result.message, "'child'"));
    EXPECT_STREQ("", test_lacks(result.message,
                                test_text("'child' %s its %s ms of CPU time",
                                          result.certain ? "used up" : "seems to have used up",
                                          test_has_watch() ? "60" : "1000")));
    sbx_free(&result);
    config.cpu_ms = 0;
    config.memory_bytes = 50000000;
    result = RUN_CHILD(&config, "memory", "own", "200");
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    EXPECT_STREQ("", test_lacks(result.message, "'child'"));
    EXPECT_STREQ("", test_lacks(result.message, "50000000"));
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

/* ==== Names of signals ======================================================================== */

UTEST(verdict, every_signal_has_its_name_in_the_message) {
#define SIGNAL(name)                                                                               \
    { SIG##name, "(SIG" #name ")" }
    static const struct {
        int number;
        const char *name;
    } signals[] = {SIGNAL(HUP),  SIGNAL(INT),  SIGNAL(QUIT), SIGNAL(ILL),  SIGNAL(TRAP),
                   SIGNAL(ABRT), SIGNAL(BUS),  SIGNAL(FPE),  SIGNAL(KILL), SIGNAL(USR1),
                   SIGNAL(SEGV), SIGNAL(USR2), SIGNAL(PIPE), SIGNAL(ALRM), SIGNAL(TERM),
                   SIGNAL(XCPU), SIGNAL(XFSZ), SIGNAL(SYS)};
#undef SIGNAL
    size_t i;
    for (i = 0; i < sizeof signals / sizeof *signals; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("raise", test_text("%d", signals[i].number));
        config.contain = SBX_CONTAIN_GROUP;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_CRASHED, result);
        EXPECT_EQ(signals[i].number, result.signal);
        EXPECT_TRUE_MSG(strstr(result.message, signals[i].name) != NULL, result.message);
        sbx_free(&result);
    }
}

/* ==== sbx_classify ============================================================================ */

/* Two reasons at once: the table at the top of the header, where the first row that fits counts. */
UTEST(verdict, of_two_reasons_the_first_of_the_table_counts) {
    static const struct {
        unsigned saw;
        sbx_verdict verdict;
    } rows[] = {
        {SBX_SAW_START_FAILED, SBX_NOT_STARTED}, {SBX_SAW_CANCEL, SBX_CANCELLED},
        {SBX_SAW_DEADLINE, SBX_TIMED_OUT},       {SBX_SAW_CPU_SUM, SBX_CPU_LIMIT},
        {SBX_SAW_MEMORY_SUM, SBX_MEMORY_LIMIT},  {SBX_SAW_OUTPUT_CAP, SBX_OUTPUT_LIMIT},
        {SBX_SAW_OOM_KILL, SBX_MEMORY_LIMIT},    {SBX_SAW_DENIED, SBX_DENIED},
        {SBX_SAW_NO_STATUS, SBX_LOST},
    };
    static const int ends[][2] = {{0, 0}, {1, 0}, {-1, SIGKILL}, {-1, SIGTERM}, {-1, 0}};
    size_t first, second, i;
    for (first = 0; first < sizeof rows / sizeof *rows; first++)
        for (second = first; second < sizeof rows / sizeof *rows; second++)
            for (i = 0; i < sizeof ends / sizeof *ends; i++) {
                sbx_evidence evidence;
                int certain = 77;
                memset(&evidence, 0, sizeof evidence);
                evidence.saw = rows[first].saw | rows[second].saw;
                evidence.exit_code = ends[i][0];
                evidence.signal = ends[i][1];
                EXPECT_STREQ_MSG(sbx_verdict_name(rows[first].verdict),
                                 sbx_verdict_name(sbx_classify(&evidence, &certain)),
                                 test_text("saw %x, exit %d, signal %d", evidence.saw,
                                           evidence.exit_code, evidence.signal));
                EXPECT_EQ(1, certain);
            }
}

/* What is only likely is never said to be certain. */
UTEST(verdict, likely_is_not_certain) {
    static const struct {
        unsigned saw;
        int exit_code, signal;
        sbx_verdict verdict;
    } rows[] = {
        {SBX_SAW_CPU_SPENT, -1, SIGXCPU, SBX_CPU_LIMIT},
        {SBX_SAW_CPU_SPENT, -1, SIGKILL, SBX_CPU_LIMIT},
        {SBX_SAW_FILE_LIMIT, -1, SIGXFSZ, SBX_FILE_LIMIT},
        {SBX_SAW_FILE_LIMIT | SBX_SAW_FILE_TEXT, 1, 0, SBX_FILE_LIMIT},
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_TEXT, 1, 0, SBX_MEMORY_LIMIT},
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_TEXT, -1, SIGABRT, SBX_MEMORY_LIMIT},
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_PEAK, -1, SIGSEGV, SBX_MEMORY_LIMIT},
        /* these limits may have worked inside, where nobody saw it */
        {SBX_SAW_MEMORY_LIMIT, 1, 0, SBX_EXITED},
        {SBX_SAW_MEMORY_LIMIT, -1, SIGSEGV, SBX_CRASHED},
        {SBX_SAW_FILE_LIMIT, 1, 0, SBX_EXITED},
        {SBX_SAW_FILE_LIMIT, -1, SIGSEGV, SBX_CRASHED},
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_NO_RESULT, 1, 0, SBX_NO_RESULT},
        /* a text about files explains a failure, not a signal */
        {SBX_SAW_FILE_LIMIT | SBX_SAW_FILE_TEXT, -1, SIGSEGV, SBX_CRASHED},
        {SBX_SAW_FILE_LIMIT | SBX_SAW_FILE_TEXT, -1, SIGKILL, SBX_CRASHED},
    };
    size_t i;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        sbx_evidence evidence;
        int certain = 77;
        memset(&evidence, 0, sizeof evidence);
        evidence.saw = rows[i].saw;
        evidence.exit_code = rows[i].exit_code;
        evidence.signal = rows[i].signal;
        EXPECT_STREQ_MSG(sbx_verdict_name(rows[i].verdict),
                         sbx_verdict_name(sbx_classify(&evidence, &certain)),
                         test_text("saw %x", rows[i].saw));
        EXPECT_EQ_MSG(0, certain, test_text("saw %x, signal %d", rows[i].saw, rows[i].signal));
    }
}

/* ==== What stderr says ======================================================================== */

/* The last words count, however much was said before; what is far back does not. */
UTEST(verdict, words_are_sought_at_the_end_of_stderr) {
    static char before[20001], text[24001], long_after[24001];
    sbx_config config = {0};
    sbx_result result;
    memset(before, '.', sizeof before - 1);
    memset(long_after, '.', sizeof long_after - 1);
    memcpy(long_after, "MemoryError", 11);
    snprintf(text, sizeof text, "%s\nMemoryError\n", before);
    config.contain = SBX_CONTAIN_GROUP;
    config.address_space_bytes = 4096 * MB;
    config.argv = test_child_argv("say", "", text, "1");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
    EXPECT_TRUE(result.evidence & SBX_SAW_MEMORY_TEXT);
    EXPECT_EQ(0, result.certain);
    EXPECT_STREQ("'child' seems to have run out of its 4 GiB of memory", result.message);
    sbx_free(&result);
    config.argv = test_child_argv("say", "", long_after, "1");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_EXITED, result);
    sbx_free(&result);
}

/* The last words of a merged stderr count, too, if they are not among the bytes that are kept. */
UTEST(verdict, words_of_merged_stderr_are_heard_past_the_cap) {
    static char before[20001];
    sbx_config config = {0};
    sbx_result result;
    memset(before, '.', sizeof before - 1);
    config.contain = SBX_CONTAIN_GROUP;
    config.address_space_bytes = 4096 * MB;
    config.err = SBX_MERGE;
    config.output_bytes = 1000;
    config.truncate_output = SBX_KEEP_FIRST;
    config.argv = test_child_argv("say", before, "\nMemoryError\n", "1");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
    EXPECT_EQ((size_t)1000, result.out.size);
    sbx_free(&result);
    config.err = SBX_DEFAULT; /* of stdout nobody asks */
    config.argv = test_child_argv("say", "MemoryError\n", "", "1");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_EXITED, result);
    sbx_free(&result);
}

/* In small pieces a report goes through the place where the last 16 KiB are kept: it is there
   still when older bytes make room. */
UTEST(verdict, words_stay_heard_while_more_is_said) {
    static const char *const pieces[] = {"\nMemoryError\n", "this is the end of it\n"};
    static char bytes[4096], back[8192];
    sbx_config config = {0};
    sbx_result result;
    size_t sent = 0, got = 0, i;
    sbx *box;
    memset(bytes, '.', sizeof bytes);
    config.contain = SBX_CONTAIN_GROUP;
    config.address_space_bytes = 4096 * MB;
    config.timeout_ms = LONG_MS;
    config.in = SBX_PIPE;
    config.err = SBX_MERGE;
    config.argv = test_child_argv("cat");
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    for (i = 0; i < 10; i++) { /* eight pages but 22 bytes, then the report, then one line */
        const char *piece = i < 8 ? bytes : pieces[i - 8];
        size_t n = i < 7 ? sizeof bytes : i == 7 ? sizeof bytes - 22 : strlen(piece);
        EXPECT_EQ((long long)n, sbx_write(box, piece, n));
        for (sent += n; got < sent;) {
            long long more = sbx_read(box, SBX_STDOUT, back, sizeof back);
            if (more < 0) break;
            got += (size_t)more;
            if (more == 0) sbx_poll(box, 1000);
        }
        ASSERT_EQ(sent, got);
    }
    EXPECT_EQ(1, sbx_signal(box, SIGUSR1));
    sbx_finish(box, &result);
    EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
    EXPECT_TRUE(result.evidence & SBX_SAW_MEMORY_TEXT);
    sbx_free(&result);
}

/* What a program with limits far away says, and whether that is a report of its end. */
UTEST(verdict, reports_and_words) {
    static const struct {
        const char *text;
        sbx_verdict verdict;
    } rows[] = {
        /* what languages and tools say when malloc has failed */
        {"x: Cannot allocate memory\n", SBX_MEMORY_LIMIT},
        {"x: Cannot allocate memory\na\nb\nc\n", SBX_MEMORY_LIMIT}, /* near its end */
        {"x: Cannot allocate memory\na\nb\nc\nd\n", SBX_EXITED},
        {"Traceback (most recent call last):\n  File \"x\"\nMemoryError", SBX_MEMORY_LIMIT},
        {"numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array\n",
         SBX_MEMORY_LIMIT},
        {"terminate called after throwing an instance of 'std::bad_alloc'\n"
         "  what():  std::bad_alloc\n",
         SBX_MEMORY_LIMIT},
        {"runtime: out of memory: cannot allocate 4294967296-byte block (66748416 in use)\n"
         "fatal error: out of memory\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:1\n"
         "exit status 2\na\nb\nc\n",
         SBX_MEMORY_LIMIT},
        {"memory allocation of 1048576 bytes failed\nstack backtrace:\nnote: x\n",
         SBX_MEMORY_LIMIT},
        {"cc1: out of memory allocating 65536 bytes after a total of 3000 bytes\n",
         SBX_MEMORY_LIMIT},
        {"fatal: Out of memory, malloc failed (tried to allocate 12 bytes)\n", SBX_MEMORY_LIMIT},
        {"Out of memory!\n", SBX_MEMORY_LIMIT},
        {"sort: memory exhausted\n", SBX_MEMORY_LIMIT},
        {"xrealloc: cannot allocate 18446744071562067968 bytes (9 bytes allocated)\n",
         SBX_MEMORY_LIMIT},
        {"OSError: [Errno 12] Cannot allocate memory\n", SBX_MEMORY_LIMIT},
        {"error: could not allocate memory for the index\n", SBX_MEMORY_LIMIT},
        {"-e: failed to allocate memory (NoMemoryError)\n", SBX_MEMORY_LIMIT},
        {"lua: not enough memory\n", SBX_MEMORY_LIMIT},
        {"Exception in thread \"main\" java.lang.OutOfMemoryError: unable to create native thread: "
         "possibly out of memory\n\tat x\n\tat y\n\tat z\n\tat a\n",
         SBX_MEMORY_LIMIT},
        /* what is about something else */
        {"cannot allocate seat 12\n", SBX_EXITED},
        {"lua: x.lua:1: not enough memory cards\nstack traceback:\n\t[C]: in ?\n", SBX_EXITED},
        {"-e:1:in `<main>': MemoryError in test 5 (RuntimeError)\n", SBX_EXITED},
        {"booking: failed to allocate 3 seats\n", SBX_EXITED},
        {"FAIL: test_memoryerror (x.T)\n", SBX_EXITED},
        {"AssertionError: expected MemoryError\n", SBX_EXITED},
        {"x.c:1:2: error: #error \"out of memory\"\n", SBX_EXITED},
        {"BlockingIOError: [Errno 11] Resource temporarily unavailable\n", SBX_EXITED},
        {"java.lang.OutOfMemoryError: Java heap space\n\tat x\n", SBX_EXITED},
        {"FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n",
         SBX_EXITED},
        {"cache: out of memory\n1\n2\n3\n4\nno such user\n", SBX_EXITED},
        {"write: File too large\n", SBX_FILE_LIMIT},
        {"OSError: [Errno 27] File too large: 'x'\n", SBX_FILE_LIMIT},
        {"Error: EFBIG: file too large, write\n    at x\n", SBX_FILE_LIMIT},
        {"File too large at x.pl line 1.\n", SBX_FILE_LIMIT},
        {"-e:1:in `write': File too large @ io_write - x (Errno::EFBIG)\n\tfrom -e:1\n",
         SBX_FILE_LIMIT},
        {"cc: error: File size limit exceeded signal terminated program cc1\n", SBX_FILE_LIMIT},
        {"upload rejected: file too large (413)\n", SBX_EXITED},
        {"settings.json: file too large to parse\n", SBX_EXITED},
        {"report.pdf: file too large for mail\n", SBX_EXITED},
        {"cat: 'file too large': No such file or directory\n", SBX_EXITED},
    };
    sbx_config config = {0};
    sbx_result result;
    size_t i;
    config.contain = SBX_CONTAIN_GROUP;
    config.address_space_bytes = 4096 * MB;
    config.file_bytes = 1024 * MB;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        config.argv = test_child_argv("say", "", rows[i].text, "1");
        TEST_RUN(&config, &result);
        EXPECT_STREQ_MSG(sbx_verdict_name(rows[i].verdict), sbx_verdict_name(result.verdict),
                         rows[i].text);
        EXPECT_EQ_MSG(0, result.certain, rows[i].text);
        sbx_free(&result);
    }
}

/* Where it stays a toss-up, the message names the limit that may have been met. */
UTEST(verdict, a_toss_up_names_the_limit) {
    sbx_config config = {0};
    sbx_result result;
    config.contain = SBX_CONTAIN_GROUP;
    config.address_space_bytes = 4096 * MB;
    config.argv = test_child_argv("say", "", "cannot allocate seat 12\n", "1");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_EXITED, result);
    EXPECT_EQ(0, result.certain);
    EXPECT_TRUE(strstr(result.message, "4 GiB of address space") != NULL);
    sbx_free(&result);
    config.address_space_bytes = 0;
    config.file_bytes = 64 * MB;
    config.argv = test_child_argv("say", "", "upload rejected: file too large (413)\n", "1");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_EXITED, result);
    EXPECT_EQ(0, result.certain);
    EXPECT_TRUE(strstr(result.message, "64 MiB in a file") != NULL);
    sbx_free(&result);
}

/* A thread that cannot start lacks a stack, unless their number is limited. */
static const char *thread_that_cannot_start(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    (void)arg;
    config.argv = test_child_argv("say", "", "thread: Resource temporarily unavailable\n", "1");
    config.contain = SBX_CONTAIN_GROUP;
    config.address_space_bytes = 4096 * MB;
    TEST_MUST(sbx_run(&config, &result) == SBX_MEMORY_LIMIT);
    sbx_free(&result);
    config.processes = 10000;
    TEST_MUST(sbx_run(&config, &result) == SBX_EXITED);
    TEST_MUST(result.exit_code == 1 && !(result.evidence & SBX_SAW_MEMORY_TEXT));
    sbx_free(&result);
    return "";
}

UTEST(verdict, thread_text_is_no_memory_text_where_processes_are_limited) {
    EXPECT_WELL(test_as_user(thread_that_cannot_start, NULL));
}

/* ==== How close to a limit is close =========================================================== */

/* A crash with 60 % of the address space in use is a crash. */
UTEST(verdict, crash_far_from_the_address_space_is_a_crash) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("net", "use", "60", "60", "abort");
    config.contain = SBX_CONTAIN_GROUP;
    config.address_space_bytes = 100 * MB;
    if (test_has_watch()) TEST_RUN_WEIGHED(&config, &result);
    else TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CRASHED, result);
    EXPECT_EQ(SIGABRT, result.signal);
    EXPECT_FALSE(result.evidence & SBX_SAW_MEMORY_PEAK);
    EXPECT_GT(result.peak_bytes, 50 * MB); /* else this meant nothing */
    sbx_free(&result);
}

/* Java, Go and node reserve nearly all of a loose limit at once: that alone is no reason. */
UTEST(verdict, reserved_but_not_used_is_no_reason) {
    sbx_config config = {0};
    sbx_result result;
    if (!test_has_watch()) UTEST_SKIP("nobody looks at the address space here");
    config.argv = test_child_argv("reserve", "980", "1", "400", "3");
    config.contain = SBX_CONTAIN_GROUP;
    config.address_space_bytes = 1000 * MB;
    TEST_RUN_WEIGHED(&config, &result);
    EXPECT_VERDICT(SBX_EXITED, result);
    EXPECT_EQ(3, result.exit_code);
    EXPECT_EQ(0, result.certain);
    EXPECT_TRUE(result.evidence & SBX_SAW_MEMORY_NEAR); /* else this meant nothing */
    EXPECT_TRUE(strstr(result.message, "address space") != NULL);
    sbx_free(&result);
    config.argv = NULL; /* nor is it with words about something else */
    config.command = test_text("'%s' reserve 980 1 400 0; "
                               "echo 'booking: cannot allocate seat 12' >&2; exit 3",
                               test_child());
    TEST_RUN_WEIGHED(&config, &result);
    EXPECT_VERDICT(SBX_EXITED, result);
    EXPECT_TRUE(result.evidence & SBX_SAW_MEMORY_NEAR);
    sbx_free(&result);
}

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <elf.h>

/* A program of a page whose image, with all its zeros, is 1 GB; returns its path, or "". */
static const char *large_image(const char *dir) {
    static char page[4096];
    Elf64_Ehdr *head = (Elf64_Ehdr *)page;
    Elf64_Phdr *part = (Elf64_Phdr *)(page + sizeof *head);
    int self = open("/proc/self/exe", O_RDONLY);
    if (self < 0 || read(self, head, sizeof *head) != (ssize_t)sizeof *head) return "";
    close(self);
    head->e_type = ET_EXEC;
    head->e_entry = part->p_vaddr = part->p_paddr = 0x10000000;
    head->e_phoff = sizeof *head;
    head->e_phnum = 1;
    head->e_shoff = head->e_shnum = head->e_shstrndx = 0;
    part->p_type = PT_LOAD;
    part->p_flags = PF_R | PF_W | PF_X;
    part->p_filesz = sizeof page;
    part->p_memsz = 1024 * MB;
    part->p_align = 0x10000;
    return test_write_file(dir, "large", page, sizeof page, 0755);
}

/* exec finds out when the old program is gone already, and can only kill. */
UTEST(verdict, image_larger_than_the_address_space_is_a_memory_limit) {
    static const sbx_contain ways[] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};
    char dir[PATH_MAX];
    const char *argv[2] = {NULL, NULL};
    sbx_config config = {0};
    sbx_result result;
    int i;
    if (test_is_portable()) UTEST_SKIP("a forked child has faults of its own before exec");
    argv[0] = large_image(test_tmpdir(dir));
    ASSERT_STRNE("", argv[0]);
    config.argv = argv;
    for (i = 0; i < 2; i++) {
        config.contain = ways[i];
        config.address_space_bytes = 64 * MB;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
        EXPECT_EQ(0, result.certain);
        EXPECT_NE(0, result.signal);
        sbx_free(&result);
        config.address_space_bytes = 0; /* without the limit it begins, and crashes */
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_CRASHED, result);
        sbx_free(&result);
    }
    test_remove_tree(dir);
}
#endif

/* SIGKILL by itself with half of the kernel's limit spent is somebody's own doing. The kernel's is
   cpu_ms in whole seconds, and one more where the tree is summed. */
static void expect_own_kill(int *utest_result, const char *burnt_ms) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("net", "burn_and_raise", burnt_ms, test_text("%d", SIGKILL));
    config.contain = SBX_CONTAIN_GROUP;
    config.cpu_ms = 1000;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CRASHED, result);
    EXPECT_EQ(SIGKILL, result.signal);
    EXPECT_FALSE(result.evidence & SBX_SAW_CPU_SPENT);
    sbx_free(&result);
}

UTEST(verdict, kill_far_from_the_cpu_limit_is_a_crash) {
    if (test_has_watch()) UTEST_SKIP("where the tree is summed it takes longer");
    expect_own_kill(utest_result, "450");
}

UTEST(verdict, slow_kill_far_from_the_cpu_limit_is_a_crash) {
    if (!getenv("SBX_TEST_SLOW")) UTEST_SKIP("takes a second of CPU time: only with SBX_TEST_SLOW");
    if (!test_has_watch()) UTEST_SKIP("the other one is for this build");
    expect_own_kill(utest_result, "850");
}

/* ==== What only the books tell ================================================================ */

static int ended_unseen(void *arg) {
    siginfo_t info;
    (void)arg;
    memset(&info, 0, sizeof info);
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

/* So much more than the host itself that it must be the child's, in MB. */
static int clearly_its_own(void) {
    struct rusage host;
    getrusage(RUSAGE_SELF, &host);
    return 64 + (int)(host.ru_maxrss / 1024 * 5 / 4);
}

/* The host does not look while it runs: what it used is known all the same. */
static const char *unwatched(sbx_config *config, sbx_result *result) {
    sbx *box = sbx_start(config, result);
    TEST_MUST(box != NULL);
    TEST_MUST(test_wait_until(ended_unseen, NULL, 0));
    sbx_finish(box, result);
    return "";
}

UTEST(verdict, burst_of_memory_between_two_looks_is_over_the_limit) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("net", "use", test_text("%d", clearly_its_own()), "0");
    config.contain = SBX_CONTAIN_GROUP;
    config.memory_bytes = 40 * MB;
    if (!test_has_watch()) UTEST_SKIP("memory_bytes is the address space there");
    ASSERT_STREQ("", unwatched(&config, &result));
    EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
    EXPECT_EQ(1, result.certain);
    EXPECT_EQ(0, result.exit_code); /* it was gone before anybody knew */
    EXPECT_TRUE(result.evidence & SBX_SAW_MEMORY_SUM);
    sbx_free(&result);
}

UTEST(verdict, peak_that_nobody_saw_is_in_the_books) {
    sbx_config config = {0};
    sbx_result result;
    long long mb = clearly_its_own();
    config.argv = test_child_argv("net", "use", test_text("%lld", mb), "0");
    config.contain = SBX_CONTAIN_GROUP;
    ASSERT_STREQ("", unwatched(&config, &result));
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_GE(result.peak_bytes, mb * MB);
    EXPECT_LT(result.peak_bytes, (mb + 50) * MB);
    sbx_free(&result);
}

/* ==== Messages ================================================================================ */

UTEST(verdict, message_tells_stopped_from_killed) {
    sbx_config config = {0};
    sbx_result result;
    config.contain = SBX_CONTAIN_GROUP;
    config.argv = test_child_argv("term", "0"); /* SIGTERM is enough, and it exits by itself */
    EXPECT_STREQ("", test_run_late(&config, "ready", &result));
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_EQ(0, result.exit_code);
    EXPECT_TRUE_MSG(strstr(result.message, "stopped") != NULL, result.message);
    EXPECT_TRUE_MSG(strstr(result.message, "killed") == NULL, result.message);
    sbx_free(&result);
    config.argv = test_child_argv("ignore", "ignore");
    config.grace_ms = -1;
    EXPECT_STREQ("", test_run_late(&config, "ready", &result));
    EXPECT_EQ(SIGKILL, result.signal);
    EXPECT_TRUE_MSG(strstr(result.message, "killed") != NULL, result.message);
    sbx_free(&result);
}

/* Without a watch each process has its own CPU time, and nobody adds them up. */
UTEST(verdict, cpu_time_that_nobody_adds_up_is_not_certainly_inside) {
    sbx_config config = {0};
    sbx_result result;
    if (test_has_watch()) UTEST_SKIP("the watch adds them up");
    config.argv = test_child_argv("net", "burners", "6", "150", "ignored");
    config.cpu_ms = 400;
    config.contain = SBX_CONTAIN_GROUP;
    TEST_RUN(&config, &result);
    EXPECT_TRUE(result.verdict == SBX_CPU_LIMIT || !result.certain);
    sbx_free(&result);
    config.argv = test_child_argv("exit", "0");
    config.cpu_ms = 60000;
    TEST_RUN(&config, &result);
    EXPECT_EQ(1, result.certain);
    sbx_free(&result);
}

static int swallow(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)user, (void)stream, (void)data, (void)size;
    return 0;
}

/* What it said last counts, whether it is captured, streamed, read meanwhile or cut off. */
UTEST(verdict, words_count_wherever_they_go) {
    int way;
    for (way = 0; way < 5; way++) {
        sbx_config config = {0};
        sbx_result result;
        char taken[256];
        sbx *box;
        config.argv = test_child_argv("say", "", "child: Cannot allocate memory\n", "1");
        config.address_space_bytes = 1 << 30;
        config.on_output = way == 1 ? swallow : NULL;
        if (way == 1) config.err = SBX_STREAM;
        if (way == 2) config.error_bytes = 3;
        if (way == 2) config.truncate_output = 1;
        if (way == 3) config.err = SBX_MERGE;
        box = sbx_start(&config, &result);
        ASSERT_TRUE(box != NULL);
        while (way == 4 && sbx_read(box, SBX_STDERR, taken, sizeof taken) >= 0) sbx_poll(box, 10);
        EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)sbx_finish(box, &result));
        sbx_free(&result);
    }
}

/* Reports as real tools write them. */
UTEST(verdict, reports_of_real_tools) {
    static const char *const texts[] = {
        "Error: stepping, out of memory (7)\n", "curl: (27) Out of memory\n",
        "dd: memory exhausted by input buffer of size 2147483648 bytes (2.0 GiB)\n",
        "zstd: error 31 : allocation error : not enough memory \n",
        "cc1: virtual memory exhausted\n"};
    size_t i;
    for (i = 0; i < sizeof texts / sizeof *texts; i++)
        EXPECT_STREQ("", likely(texts[i], 1, 1 << 30, SBX_MEMORY_LIMIT, 0));
}

UTEST(verdict, a_stack_that_may_have_run_out_is_named) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("crash", "null");
    config.stack_bytes = 1 << 20;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CRASHED, result);
    EXPECT_STREQ("", test_lacks(result.message, "1 MiB of stack"));
    sbx_free(&result);
    config.argv = test_child_argv("crash", "abort"); /* that is no end of a stack */
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CRASHED, result);
    EXPECT_TRUE_MSG(strstr(result.message, "stack") == NULL, result.message);
    sbx_free(&result);
    config.argv = test_child_argv("exit", "3");
    TEST_RUN(&config, &result);
    EXPECT_STREQ("'child' exited with code 3", result.message);
    sbx_free(&result);
}
