/* Evidence and verdicts: what a user is told, and how sure. */
#include "test.h"

#define MB (1024LL * 1024)

/* ==== Names of signals ======================================================================== */

UTEST(verdict, every_signal_has_its_name_in_the_message) {
#define SIGNAL(name) {SIG##name, "(SIG" #name ")"}
    static const struct {
        int number;
        const char *name;
    } signals[] = {SIGNAL(HUP),  SIGNAL(INT),  SIGNAL(QUIT), SIGNAL(ILL),  SIGNAL(TRAP), SIGNAL(ABRT),
                   SIGNAL(BUS),  SIGNAL(FPE),  SIGNAL(KILL), SIGNAL(USR1), SIGNAL(SEGV), SIGNAL(USR2),
                   SIGNAL(PIPE), SIGNAL(ALRM), SIGNAL(TERM), SIGNAL(XCPU), SIGNAL(XFSZ), SIGNAL(SYS)};
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
    sbx_free(&result);
    config.argv = test_child_argv("say", "", long_after, "1");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_EXITED, result);
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
    TEST_WELL_OR_SKIP(test_as_user(thread_that_cannot_start, NULL));
}

/* ==== How close to a limit is close =========================================================== */

/* A crash with 60 % of the address space in use is a crash. */
UTEST(verdict, crash_far_from_the_address_space_is_a_crash) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("net", "use", "120", "100", "abort");
    config.contain = SBX_CONTAIN_GROUP;
    config.address_space_bytes = 200 * MB;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CRASHED, result);
    EXPECT_EQ(SIGABRT, result.signal);
    EXPECT_FALSE(result.evidence & SBX_SAW_MEMORY_PEAK);
    EXPECT_GT(result.peak_bytes, 100 * MB); /* else this meant nothing */
    sbx_free(&result);
}

/* SIGKILL by itself with half of the kernel's limit spent is somebody's own doing. The kernel's is
   cpu_ms in whole seconds, and one more where the tree is summed. */
UTEST(verdict, kill_far_from_the_cpu_limit_is_a_crash) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("net", "burn_and_raise", test_is_portable() ? "500" : "850",
                                  test_text("%d", SIGKILL));
    config.contain = SBX_CONTAIN_GROUP;
    config.cpu_ms = 1000;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CRASHED, result);
    EXPECT_EQ(SIGKILL, result.signal);
    EXPECT_FALSE(result.evidence & SBX_SAW_CPU_SPENT);
    sbx_free(&result);
}

/* ==== What only the books tell ================================================================ */

static int ended_unseen(void *arg) {
    siginfo_t info;
    (void)arg;
    memset(&info, 0, sizeof info);
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
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
    config.argv = test_child_argv("net", "use", "200", "0");
    config.contain = SBX_CONTAIN_GROUP;
    config.memory_bytes = 100 * MB;
    if (test_is_portable()) UTEST_SKIP("memory_bytes is the address space there");
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
    config.argv = test_child_argv("net", "use", "200", "0");
    config.contain = SBX_CONTAIN_GROUP;
    ASSERT_STREQ("", unwatched(&config, &result));
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_GE(result.peak_bytes, 200 * MB);
    EXPECT_LT(result.peak_bytes, 300 * MB);
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
