/* How a box is stopped: reasons, grace, and what waiting costs. */
#include "test.h"

#define MB (1024LL * 1024)

/* ==== Grace =================================================================================== */

/* Who uses too much memory would use the grace to use more. */
UTEST(stop, memory_hog_gets_no_grace) {
    sbx_config config = {0};
    sbx_result result;
    if (test_is_portable()) UTEST_SKIP("memory_bytes is the address space there");
    config.argv = test_child_argv("net", "grow", "400", "4", "5");
    config.contain = SBX_CONTAIN_GROUP;
    config.memory_bytes = 64 * MB;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
    EXPECT_EQ(SIGKILL, result.signal);
    EXPECT_STREQ("ready\n", result.out.data); /* it was not told */
    EXPECT_FALSE(result.evidence & SBX_SAW_GRACE_OVER);
    EXPECT_LT(result.peak_bytes, 250 * MB);
    sbx_free(&result);
}

static int has_policy(void) {
    static int known = -1;
    if (known < 0) {
        sbx_caps caps;
        sbx_probe(&caps);
        known = caps.policy;
    }
    return known;
}

/* Who tried what is forbidden does nothing more, not even in a handler. */
UTEST(stop, denied_one_gets_no_grace) {
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    if (!has_policy()) UTEST_SKIP("no policy can be had here");
    policy.kill_on_denied = 1;
    config.argv = test_child_argv("net", "forbidden");
    config.policy = &policy;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_DENIED, result);
    EXPECT_EQ(SIGKILL, result.signal);
    EXPECT_STREQ("ready\n", result.out.data);
    EXPECT_TRUE_MSG(strstr(result.message, "ptrace") != NULL, result.message);
    sbx_free(&result);
}

/* ==== Reasons ================================================================================= */

/* It wrote too much, and in the grace it used too much CPU time: the first reason is the reason. */
UTEST(stop, first_reason_counts) {
    sbx_config config = {0};
    sbx_result result;
    int grace;
    for (grace = 500; grace < 10000; grace *= 3) { /* longer, if it did not get that far */
        config.argv = test_child_argv("net", "flood_and_burn", "5000");
        config.contain = SBX_CONTAIN_GROUP;
        config.output_bytes = 1000;
        config.cpu_ms = 150;
        config.grace_ms = grace;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_OUTPUT_LIMIT, result);
        EXPECT_FALSE(result.evidence & SBX_SAW_CPU_SUM);
        sbx_free(&result);
        if (result.user_us + result.system_us > 250000) break;
    }
    EXPECT_GT(result.user_us + result.system_us, 250000LL); /* else this meant nothing */
}

/* ==== Waiting ================================================================================= */

/* In the grace there is nothing to do but to wait. */
UTEST(stop, grace_costs_the_host_nothing) {
    long long least = LLONG_MAX;
    int tries;
    for (tries = 0; tries < 3 && least > 80000; tries++) {
        sbx_config config = {0};
        sbx_result result;
        long long used;
        config.argv = test_child_argv("ignore", "ignore");
        config.contain = SBX_CONTAIN_GROUP;
        config.timeout_ms = 100;
        config.grace_ms = 700;
        used = test_host_cpu_us();
        sbx_run(&config, &result);
        used = test_host_cpu_us() - used;
        EXPECT_VERDICT(SBX_TIMED_OUT, result);
        sbx_free(&result);
        if (used < least) least = used;
    }
    EXPECT_LE(least, 80000LL); /* of 800,000 */
}

/* A poll waits as long as it was told, on a machine that lets it. */
UTEST(stop, poll_waits_as_long_as_it_is_told) {
    sbx_config config = {0};
    sbx_result result;
    long long least = LLONG_MAX;
    int tries;
    sbx *box;
    config.argv = test_child_argv("sleep", "10000");
    config.contain = SBX_CONTAIN_GROUP;
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    for (tries = 0; tries < 5 && least > 230; tries++) {
        long long from = test_now_ms();
        EXPECT_EQ(tries % 2 ? -1 : 0, tries % 2 ? sbx_poll_any(&box, 1, 150) : sbx_poll(box, 150));
        from = test_now_ms() - from;
        EXPECT_GE(from, 149LL);
        if (from < least) least = from;
    }
    EXPECT_LE(least, 230LL);
    sbx_cancel(box);
    sbx_finish(box, &result);
    sbx_free(&result);
}
