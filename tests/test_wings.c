/* Wings that were taken off (SBX_NO_TREE, ...; SBX_NO_LINUX takes off all that Linux adds): whoever
   asks for one is refused by name and nothing runs, or gets what other systems have, and is told.
   A build with every wing has nothing to test here but what it says of itself. */
#include "test.h"

/* What a build has is what it tells: a probe finds nothing that was taken off. */
UTEST(wing, probe_finds_none_that_is_off) {
    sbx_caps caps;
    sbx_probe(&caps);
    if (!test_has_tree()) EXPECT_EQ(0, caps.tree);
    if (!test_has_watch()) EXPECT_EQ(0, caps.watch);
    if (!test_has_policy()) EXPECT_EQ(0, caps.policy);
    if (!test_has_policy()) EXPECT_EQ(0, caps.landlock);
    if (!test_has_tree()) EXPECT_TRUE(caps.tree_why[0] != '\0');
    if (!test_has_policy()) EXPECT_TRUE(caps.policy_why[0] != '\0');
}

#if !TEST_HAS_TREE || !TEST_HAS_POLICY || !TEST_HAS_CGROUP

/* By sbx_run and sbx_start: at this step, with these words, and the program never begins. */
static void expect_off(int *utest_result, sbx_config *config, sbx_step step, const char *words) {
    char dir[PATH_MAX], mark[PATH_MAX + 16];
    sbx_result result;
    test_tmpdir(dir);
    snprintf(mark, sizeof mark, "%s/mark", dir);
    config->argv = test_child_argv("touch", mark);
    TEST_RUN(config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ((int)step, (int)result.step);
    EXPECT_STREQ("", test_lacks(result.message, words));
    EXPECT_EQ(ENOSYS, result.sys_errno); /* not "here it does not work" */
    EXPECT_EQ(0u, result.enforced);
    EXPECT_EQ(1, result.certain);
    sbx_free(&result);
    EXPECT_TRUE(sbx_start(config, &result) == NULL);
    EXPECT_EQ((int)step, (int)result.step);
    EXPECT_STREQ("", test_lacks(result.message, words));
    sbx_free(&result);
    EXPECT_NE(0, access(mark, F_OK));
    test_remove_tree(dir);
}

#endif

#if !TEST_HAS_TREE
UTEST(wing, tree_off_is_refused_and_auto_is_the_group) {
    sbx_config config = {0};
    sbx_result result;
    config.contain = SBX_CONTAIN_TREE;
    expect_off(utest_result, &config, SBX_STEP_CONTAIN, "SBX_CONTAIN_TREE");
    config.contain = SBX_CONTAIN_AUTO;
    config.argv = test_child_argv("ids");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_FALSE(result.enforced & SBX_BY_TREE);
    EXPECT_TRUE(result.enforced & SBX_BY_SESSION);
    EXPECT_GT(atol(result.out.data), 2L); /* a number of the host's, not one in a tree */
    sbx_free(&result);
}
#endif

#if !TEST_HAS_WATCH
/* Memory is the address space of each process there, CPU time the kernel's; `enforced` says so. */
UTEST(wing, watch_off_is_the_limit_of_each_process) {
    sbx_config config = {0};
    sbx_result result;
    config.memory_bytes = 64 * MB;
    config.argv = test_child_argv("limits");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_TRUE(result.enforced & SBX_BY_RLIMIT_AS);
    EXPECT_FALSE(result.enforced & SBX_BY_WATCH);
    EXPECT_STREQ("", test_lacks(result.out.data, "space 67108864 67108864\n"));
    sbx_free(&result);
    config.argv = test_child_argv("reserve", "200", "1", "1");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
    EXPECT_EQ(0, result.certain);
    sbx_free(&result);
    config.memory_bytes = 0;
    config.cpu_ms = 5000;
    config.argv = test_child_argv("limits");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_TRUE(result.enforced & SBX_BY_RLIMIT_CPU);
    EXPECT_FALSE(result.enforced & SBX_BY_WATCH);
    EXPECT_STREQ("", test_lacks(result.out.data, "cpu 5 "));
    sbx_free(&result);
}
#endif

#if !TEST_HAS_CGROUP
UTEST(wing, cgroup_off_is_refused) {
    sbx_config config = {0};
    config.cgroup = "/sys/fs/cgroup";
    expect_off(utest_result, &config, SBX_STEP_CGROUP, "cgroup");
    config.contain = SBX_CONTAIN_GROUP;
    expect_off(utest_result, &config, SBX_STEP_CGROUP, "cgroup");
}
#endif

#if !TEST_HAS_POLICY
UTEST(wing, policy_off_is_refused) {
    sbx_policy policy = {0};
    sbx_config config = {0};
    config.policy = &policy;
    expect_off(utest_result, &config, SBX_STEP_POLICY, "policy");
    policy.kill_on_denied = 1;
    expect_off(utest_result, &config, SBX_STEP_POLICY, "policy");
}
#endif

#if !TEST_HAS_CALL
static int ran;

static int fn_runs(void *arg, void *ret, size_t ret_size) {
    (void)arg, (void)ret, (void)ret_size;
    ran = 1;
    return 0;
}

UTEST(wing, call_off_is_refused) {
    sbx_config config = {0};
    sbx_result result;
    test_host before;
    char ret[4] = "abc";
    test_host_save(&before);
    EXPECT_EQ((int)SBX_NOT_STARTED,
              (int)sbx_call(&config, fn_runs, NULL, ret, sizeof ret, &result));
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    EXPECT_EQ(ENOSYS, result.sys_errno);
    EXPECT_STREQ("", test_lacks(result.message, "SBX_NO_CALL"));
    EXPECT_STREQ("", test_result_flaw(&config, &result));
    sbx_free(&result);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_call(&config, fn_runs, NULL, NULL, 0, NULL));
    EXPECT_STREQ("abc", ret);
    EXPECT_EQ(0, ran);
    EXPECT_STREQ("", test_host_diff(&before));
}
#endif
