/* What a config is checked for and turned into: the edges. */
#include "test.h"

/* ==== Messages ================================================================================ */

UTEST(config, control_characters_do_not_reach_a_message) {
    static const char *const argv[] = {"no\x7Fsuch\x1Bprogram\n", NULL};
    sbx_config config = {0};
    sbx_result result;
    config.argv = argv;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_TRUE_MSG(strstr(result.message, "no such program") != NULL, result.message);
    sbx_free(&result);
}

/* ==== The largest value of every limit ======================================================== */

static const struct {
    const char *name;
    size_t offset;
    long long most;
} largest[] = {
    {"timeout_ms", offsetof(sbx_config, timeout_ms), 1000000000000LL},
    {"grace_ms", offsetof(sbx_config, grace_ms), 1000000000000LL},
    {"cpu_ms", offsetof(sbx_config, cpu_ms), 1000000000000LL},
    {"output_bytes", offsetof(sbx_config, output_bytes), 1LL << 50},
    {"memory_bytes", offsetof(sbx_config, memory_bytes), 1LL << 50},
    {"address_space_bytes", offsetof(sbx_config, address_space_bytes), 1LL << 50},
    {"file_bytes", offsetof(sbx_config, file_bytes), 1LL << 50},
    {"stack_bytes", offsetof(sbx_config, stack_bytes), 1LL << 50},
    {"open_files", offsetof(sbx_config, open_files), 1LL << 30},
    {"processes", offsetof(sbx_config, processes), 1LL << 30},
};

UTEST(config, largest_values_are_exact) {
    size_t i;
    for (i = 0; i < sizeof largest / sizeof *largest; i++) {
        sbx_config config = {0};
        sbx_result result;
        long long *value = (long long *)(void *)((char *)&config + largest[i].offset);
        config.argv = test_child_argv("exit", "0");
        *value = largest[i].most;
        TEST_RUN(&config, &result);
        /* What this system cannot limit, or not for this user, is another refusal. */
        if (result.verdict != SBX_OK) EXPECT_EQ_MSG((int)SBX_STEP_LIMITS, (int)result.step, result.message);
        sbx_free(&result);
        ++*value;
        TEST_RUN(&config, &result);
        EXPECT_EQ_MSG((int)SBX_STEP_CONFIG, (int)result.step, largest[i].name);
        EXPECT_TRUE_MSG(strstr(result.message, largest[i].name) != NULL, result.message);
        sbx_free(&result);
    }
}

/* ==== Environment and PATH ==================================================================== */

static const char *names_that_begin_alike(void *arg) {
    const char *env[] = {"SBX_NETX=child", NULL};
    sbx_config config = {0};
    sbx_result result;
    (void)arg;
    setenv("SBX_NET", "host", 1);
    setenv("SBX_NETXY", "host", 1);
    config.argv = test_child_argv("env");
    config.inherit_env = 1;
    config.env = env;
    TEST_MUST(sbx_run(&config, &result) == SBX_OK);
    TEST_MUST(strstr(result.out.data, "SBX_NET=host\n") != NULL);
    TEST_MUST(strstr(result.out.data, "SBX_NETXY=host\n") != NULL);
    TEST_MUST(strstr(result.out.data, "SBX_NETX=child\n") != NULL);
    sbx_free(&result);
    return "";
}

UTEST(config, names_of_variables_match_as_a_whole) {
    EXPECT_STREQ("", test_in_copy(names_that_begin_alike, NULL));
}

/* An empty element of PATH is the current directory, at the beginning, at the end and alone. */
static const char *program_here(void *arg) {
    static const char *const paths[] = {"", ":/bin:/usr/bin", "/bin:/usr/bin:", "/nowhere::/bin"};
    static const char text[] = "#!/bin/sh\necho here\n";
    static const char *const argv[] = {"sbx-net-here", NULL};
    char dir[PATH_MAX];
    size_t i;
    (void)arg;
    test_write_file(test_tmpdir(dir), argv[0], text, sizeof text - 1, 0755);
    TEST_MUST(chdir(dir) == 0);
    for (i = 0; i < sizeof paths / sizeof *paths; i++) {
        sbx_config config = {0};
        sbx_result result;
        int found;
        setenv("PATH", paths[i], 1);
        config.argv = argv;
        sbx_run(&config, &result);
        found = result.verdict == SBX_OK && strcmp(result.out.data, "here\n") == 0;
        if (!found) test_remove_tree(dir);
        if (!found) return test_text("PATH=%s: %s", paths[i], result.message);
        sbx_free(&result);
    }
    test_remove_tree(dir);
    return "";
}

UTEST(config, empty_element_of_path_is_the_current_directory) {
    EXPECT_STREQ("", test_in_copy(program_here, NULL));
}

/* A relative name cannot be found from a directory that is gone. */
static const char *program_of_nowhere(void *arg) {
    static const char *const argv[] = {"./x", NULL};
    sbx_config config = {0};
    sbx_result result;
    char dir[PATH_MAX];
    (void)arg;
    TEST_MUST(chdir(test_tmpdir(dir)) == 0 && rmdir(dir) == 0);
    config.argv = argv;
    TEST_MUST(sbx_run(&config, &result) == SBX_NOT_STARTED);
    TEST_MUST(result.sys_errno == ENOENT && !test_has_children());
    sbx_free(&result);
    setenv("PATH", "", 1);
    config.argv = (const char *const[]){"x", NULL};
    TEST_MUST(sbx_run(&config, &result) == SBX_NOT_STARTED);
    sbx_free(&result);
    return "";
}

UTEST(config, relative_program_in_a_directory_that_is_gone) {
    EXPECT_STREQ("", test_in_copy(program_of_nowhere, NULL));
}

/* ==== sbx_clamp =============================================================================== */

UTEST(config, clamp_raises_the_containment) {
    static const struct {
        sbx_contain own, ceiling, wanted;
    } rows[] = {
        {SBX_CONTAIN_AUTO, SBX_CONTAIN_AUTO, SBX_CONTAIN_AUTO},
        {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO, SBX_CONTAIN_AUTO},
        {SBX_CONTAIN_TREE, SBX_CONTAIN_AUTO, SBX_CONTAIN_TREE},
        {SBX_CONTAIN_AUTO, SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO},
        {SBX_CONTAIN_GROUP, SBX_CONTAIN_GROUP, SBX_CONTAIN_GROUP},
        {SBX_CONTAIN_TREE, SBX_CONTAIN_GROUP, SBX_CONTAIN_TREE},
        {SBX_CONTAIN_AUTO, SBX_CONTAIN_TREE, SBX_CONTAIN_TREE},
        {SBX_CONTAIN_GROUP, SBX_CONTAIN_TREE, SBX_CONTAIN_TREE},
        {SBX_CONTAIN_TREE, SBX_CONTAIN_TREE, SBX_CONTAIN_TREE},
    };
    size_t i;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        sbx_config config = {0}, ceiling = {0};
        config.contain = rows[i].own;
        ceiling.contain = rows[i].ceiling;
        sbx_clamp(&config, &ceiling);
        EXPECT_EQ_MSG((int)rows[i].wanted, (int)config.contain,
                      test_text("%d under %d", (int)rows[i].own, (int)rows[i].ceiling));
    }
}

UTEST(config, clamp_puts_the_policy_and_the_cgroup_of_the_ceiling) {
    sbx_policy own = {0}, wanted = {0};
    sbx_config config = {0}, ceiling = {0};
    config.policy = &own;
    config.cgroup = "own";
    sbx_clamp(&config, &ceiling); /* it has none: the config keeps its own */
    EXPECT_TRUE(config.policy == &own);
    EXPECT_STREQ("own", config.cgroup);
    ceiling.policy = &wanted;
    ceiling.cgroup = "ceiling";
    sbx_clamp(&config, &ceiling);
    EXPECT_TRUE(config.policy == &wanted);
    EXPECT_STREQ("ceiling", config.cgroup);
    config.policy = NULL;
    config.cgroup = NULL;
    sbx_clamp(&config, &ceiling);
    EXPECT_TRUE(config.policy == &wanted);
    EXPECT_STREQ("ceiling", config.cgroup);
}
