/* cfg.cgroup: a group of its own for every box, inside a delegated cgroup v2 directory. Its exact
   limits, its counts as proof, and that nothing of it stays. Most of it needs SBX_TEST_CGROUP, the
   path of such a directory with memory and pids; tests/qemu/run.sh gives one on a second kernel. */
#include "test.h"

#include <dirent.h>

/* ==== Directories that will not do: no cgroup needed ========================================== */

static void expect_refused(int *utest_result, const char *path, int error) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    sbx_contain contain;
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_GROUP; contain++) {
        ASSERT_TRUE(test_tether_open(&tether));
        config.argv = test_child_argv("escape", "stay", tether.path, "0");
        config.cgroup = path;
        config.contain = contain;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_NOT_STARTED, result);
        EXPECT_EQ(SBX_STEP_CGROUP, (int)result.step);
        EXPECT_NE((char *)NULL, strstr(result.message, "cgroup"));
        if (test_has_cgroup()) {
            if (error) EXPECT_EQ(error, result.sys_errno);
            EXPECT_NE(0, result.sys_errno);
            if (strlen(path) < 80) EXPECT_NE((char *)NULL, strstr(result.message, path));
        }
        EXPECT_FALSE(result.enforced & SBX_BY_CGROUP);
        EXPECT_EQ(0, test_tether_lines(&tether)); /* nothing ran */
        EXPECT_TRUE(test_tether_close(&tether));
        sbx_free(&result);
    }
}

UTEST(cgroup, missing_directory) {
    expect_refused(utest_result, "/no/such/cgroup", ENOENT);
    expect_refused(utest_result, "", 0);
}

UTEST(cgroup, not_a_cgroup) {
    char dir[PATH_MAX];
    const char *file;
    test_tmpdir(dir);
    file = test_write_file(dir, "file", "x", 1, 0600);
    expect_refused(utest_result, dir, 0);
    expect_refused(utest_result, file, 0);
    expect_refused(utest_result, "/", 0);
    expect_refused(utest_result, "/proc", 0);
    EXPECT_EQ(0, unlink(file)); /* and nothing was made in there */
    EXPECT_EQ(0, rmdir(dir));
}

/* A directory of version 1 takes processes too, but neither counts nor limits as is promised. */
UTEST(cgroup, of_version_1) {
    char dir[PATH_MAX];
    const char *file;
    test_tmpdir(dir);
    file = test_write_file(dir, "cgroup.procs", "", 0, 0600);
    expect_refused(utest_result, dir, 0);
    if (access("/sys/fs/cgroup/freezer/cgroup.procs", F_OK) == 0)
        expect_refused(utest_result, "/sys/fs/cgroup/freezer", 0);
    EXPECT_EQ(0, unlink(file));
    EXPECT_EQ(0, rmdir(dir));
}

UTEST(cgroup, absurd_path) {
    static char path[2 * PATH_MAX];
    memset(path, 'x', sizeof path - 1);
    path[0] = '/';
    {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("exit", "0");
        config.cgroup = path;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_NOT_STARTED, result);
        EXPECT_FALSE(result.enforced & SBX_BY_CGROUP);
        sbx_free(&result);
    }
}

#ifdef __linux__

#include <pthread.h>
#include <sys/mman.h>
#include <sys/vfs.h>

static const char *delegated(void) {
    const char *path = getenv("SBX_TEST_CGROUP");
    return path && *path ? path : NULL;
}

#define NEED_CGROUP()                                                                              \
    do {                                                                                           \
        if (!test_has_cgroup() || !delegated())                                                    \
            UTEST_SKIP("no delegated cgroup v2 directory in SBX_TEST_CGROUP");                     \
    } while (0)

/* Groups that boxes have made and not removed. */
static int groups_left(void) {
    DIR *dir = opendir(delegated());
    struct dirent *entry;
    int count = 0;
    if (!dir) return -1;
    while ((entry = readdir(dir)) != NULL)
        count += entry->d_type == DT_DIR && strncmp(entry->d_name, "sbx-", 4) == 0;
    closedir(dir);
    return count;
}

/* TEST_RUN inside the delegated group, and nothing of the box's own group is left. */
#define CGROUP_RUN(config, result)                                                                 \
    do {                                                                                           \
        (config)->cgroup = delegated();                                                            \
        TEST_RUN(config, result);                                                                  \
        EXPECT_EQ(0, groups_left());                                                               \
    } while (0)

UTEST(cgroup, not_writable) {
    struct statfs about;
    NEED_CGROUP();
    if (geteuid() == 0) UTEST_SKIP("root may write everywhere");
    if (statfs("/sys/fs/cgroup", &about) < 0 || access("/sys/fs/cgroup/cgroup.procs", F_OK) < 0)
        UTEST_SKIP("no cgroup of root's here");
    expect_refused(utest_result, "/sys/fs/cgroup", EACCES);
}

UTEST(cgroup, plain_runs) {
    static const char *const codes[] = {"0", "1", "137", "255"};
    sbx_contain contain;
    int i;
    NEED_CGROUP();
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_TREE; contain++)
        for (i = 0; i < 4; i++) {
            sbx_config config = {0};
            sbx_result result;
            config.argv = test_child_argv("write", "100000", "1000", codes[i]);
            config.contain = contain;
            CGROUP_RUN(&config, &result);
            EXPECT_VERDICT(i ? SBX_EXITED : SBX_OK, result);
            EXPECT_EQ(atoi(codes[i]), result.exit_code);
            EXPECT_EQ(1, result.certain);
            EXPECT_TRUE(result.enforced & SBX_BY_CGROUP);
            EXPECT_EQ(100000u, result.out.size);
            EXPECT_GT(result.peak_bytes, 0);
            sbx_free(&result);
        }
}

/* ==== Memory ================================================================================== */

/* The kernel keeps the limit and counts the kill: certain, and never past it. */
static void expect_out_of_memory(int *utest_result, const char *const *argv, sbx_contain contain) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = argv;
    config.contain = contain;
    config.memory_bytes = 64 * MB;
    config.timeout_ms = LONG_MS;
    CGROUP_RUN(&config, &result);
    EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
    EXPECT_EQ(1, result.certain);
    EXPECT_TRUE(result.evidence & SBX_SAW_OOM_KILL);
    EXPECT_TRUE(result.enforced & SBX_BY_CGROUP);
    EXPECT_FALSE(result.enforced & SBX_BY_RLIMIT_AS);
    EXPECT_EQ(SIGKILL, result.signal);
    EXPECT_LT(result.peak_bytes, 68 * MB); /* libraries in use may be on another group's bill */
    EXPECT_GT(result.peak_bytes, 60 * MB);
    EXPECT_STREQ("", test_lacks(result.message, "64 MiB"));
    sbx_free(&result);
}

UTEST(cgroup, memory_of_one_process) {
    NEED_CGROUP();
    expect_out_of_memory(utest_result, test_child_argv("memory", "own", "100"), SBX_CONTAIN_AUTO);
    expect_out_of_memory(utest_result, test_child_argv("memory", "own", "100"), SBX_CONTAIN_GROUP);
}

UTEST(cgroup, memory_of_eight_processes) {
    NEED_CGROUP();
    expect_out_of_memory(utest_result, test_child_argv("memory", "own", "40", "8"),
                         SBX_CONTAIN_AUTO);
}

/* Shared pages are counted as well, once. */
UTEST(cgroup, memory_that_is_shared) {
    NEED_CGROUP();
    expect_out_of_memory(utest_result, test_child_argv("memory", "shared", "100"),
                         SBX_CONTAIN_GROUP);
}

UTEST(cgroup, memory_of_orphans) {
    test_tether tether;
    NEED_CGROUP();
    ASSERT_TRUE(test_tether_open(&tether));
    expect_out_of_memory(utest_result, test_child_argv("tree_memory", tether.path, "40", "8"),
                         SBX_CONTAIN_GROUP);
    EXPECT_FALSE(test_tether_held(&tether));
    EXPECT_TRUE(test_tether_close(&tether));
}

/* From the inside the watch of /proc can be fooled; the group cannot. */
UTEST(cgroup, memory_of_one_that_hides) {
    NEED_CGROUP();
    expect_out_of_memory(utest_result, test_child_argv("tree_hide", "tmpfs", "100"),
                         SBX_CONTAIN_AUTO);
}

UTEST(cgroup, memory_within_the_limit) {
    sbx_config config = {0};
    sbx_result result;
    NEED_CGROUP();
    config.argv = test_child_argv("tree_peak", "children", "30", "50", "2");
    config.memory_bytes = 100 * MB;
    config.timeout_ms = LONG_MS;
    CGROUP_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_FALSE(result.evidence & SBX_SAW_OOM_KILL);
    EXPECT_GT(result.peak_bytes, 60 * MB);
    EXPECT_LT(result.peak_bytes, 70 * MB);
    sbx_free(&result);
}

/* A kill of its own making is not taken for the kernel's. */
UTEST(cgroup, killed_by_itself_under_a_limit) {
    sbx_config config = {0};
    sbx_result result;
    NEED_CGROUP();
    config.argv = test_child_argv("raise", "9");
    config.memory_bytes = 100 * MB;
    CGROUP_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CRASHED, result);
    EXPECT_EQ(1, result.certain);
    sbx_free(&result);
}

UTEST(cgroup, peak_of_20_ms) {
    sbx_config config = {0};
    sbx_result result;
    double truth, off;
    NEED_CGROUP();
    config.argv = test_child_argv("tree_peak", "children", "40", "20", "3", "100");
    config.timeout_ms = LONG_MS;
    CGROUP_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    truth = 3 * 40.0 * (double)MB; /* what the kernel counts beside that is small */
    off = ((double)result.peak_bytes - truth) / truth;
    EXPECT_TRUE(off > -0.01 && off < 0.05);
    sbx_free(&result);
}

/* A limit that not even the program's start fits in. */
UTEST(cgroup, memory_of_nearly_nothing) {
    sbx_config config = {0};
    sbx_result result;
    NEED_CGROUP();
    config.argv = test_child_argv("exit", "0");
    config.memory_bytes = 4096;
    config.timeout_ms = LONG_MS;
    CGROUP_RUN(&config, &result);
    /* if the kernel does not get as far as killing it, exec fails and nothing has started */
    EXPECT_TRUE(result.verdict == SBX_MEMORY_LIMIT ||
                (result.verdict == SBX_NOT_STARTED && result.sys_errno == ENOMEM));
    sbx_free(&result);
}

/* ==== Processes, CPU time ===================================================================== */

UTEST(cgroup, processes_exactly_for_everybody) {
    static const int limits[] = {1, 2, 10, 30};
    sbx_contain contain;
    int i;
    NEED_CGROUP();
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_GROUP; contain++)
        for (i = 0; i < 4; i++) {
            sbx_config config = {0};
            sbx_result result;
            config.argv = test_child_argv("processes", "50");
            config.contain = contain;
            config.processes = limits[i];
            CGROUP_RUN(&config, &result);
            EXPECT_VERDICT(SBX_OK, result);
            EXPECT_STREQ(test_text("%d EAGAIN\n", limits[i] - 1), result.out.data);
            sbx_free(&result);
            config.argv = test_child_argv("tree_threads", "50");
            CGROUP_RUN(&config, &result);
            EXPECT_EQ(limits[i] - 1, atoi(result.out.data));
            sbx_free(&result);
        }
}

UTEST(cgroup, cpu_of_the_tree) {
    static const char *const slices[] = {"0", "4"}; /* 4 ms: gone before anybody looks */
    int i;
    NEED_CGROUP();
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        test_tether tether;
        ASSERT_TRUE(test_tether_open(&tether));
        config.argv = test_child_argv("tree_burn", tether.path, "4", slices[i]);
        config.cpu_ms = 1000;
        config.timeout_ms = LONG_MS;
        config.grace_ms = -1;
        CGROUP_RUN(&config, &result);
        EXPECT_VERDICT(SBX_CPU_LIMIT, result);
        EXPECT_EQ(1, result.certain);
        EXPECT_TRUE(result.evidence & SBX_SAW_CPU_SUM);
        EXPECT_FALSE(test_tether_held(&tether));
        EXPECT_TRUE(test_tether_close(&tether));
        sbx_free(&result);
    }
}

/* ==== The tree, through cgroup.kill =========================================================== */

static int all_collected(void *unused) {
    (void)unused;
    while (waitpid(-1, NULL, WNOHANG | __WALL) > 0) {
    }
    return !test_has_children();
}

UTEST(cgroup, group_that_cannot_be_left) {
    static const char *const how[] = {"setsid", "daemon", "setpgid", "parent_setsid"};
    static const char *const then[] = {"0", "stay", "crash"};
    static const sbx_verdict verdicts[] = {SBX_OK, SBX_TIMED_OUT, SBX_CRASHED};
    int i, j;
    NEED_CGROUP();
    for (i = 0; i < 4; i++)
        for (j = 0; j < 3; j++) {
            sbx_config config = {0};
            sbx_result result;
            test_tether tether;
            ASSERT_TRUE(test_tether_open(&tether));
            config.argv = test_child_argv("escape", how[i], tether.path, then[j], "close");
            config.contain = SBX_CONTAIN_GROUP;
            config.timeout_ms = j == 1 ? 1000 : LONG_MS;
            config.grace_ms = -1;
            config.cgroup = delegated();
            if (i == 3) { /* that one is a child of the host: killed, but the host's to collect */
                sbx_run(&config, &result);
                EXPECT_EQ(0, groups_left());
                EXPECT_TRUE(test_wait_until(all_collected, NULL, 0));
            } else {
                CGROUP_RUN(&config, &result);
            }
            EXPECT_VERDICT(verdicts[j], result);
            EXPECT_FALSE(test_tether_held(&tether));
            EXPECT_TRUE(test_tether_close(&tether));
            EXPECT_FALSE(test_has_children());
            sbx_free(&result);
        }
}

UTEST(cgroup, fork_bomb) {
    static const char *const how[] = {"relay+setsid", "stay+setsid+stubborn"};
    int i;
    NEED_CGROUP();
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        test_tether tether;
        ASSERT_TRUE(test_tether_open(&tether));
        config.argv = test_child_argv("tree_bomb", how[i], tether.path, "60", "3000");
        config.contain = SBX_CONTAIN_GROUP;
        config.timeout_ms = 1000;
        config.grace_ms = -1;
        CGROUP_RUN(&config, &result);
        EXPECT_VERDICT(SBX_TIMED_OUT, result);
        EXPECT_FALSE(test_tether_held(&tether));
        EXPECT_TRUE(test_tether_close(&tether));
        sbx_free(&result);
    }
}

/* The group belongs to the user that the program is: it can raise its own limit, and walk out into
   another group. Under a policy it cannot. */
UTEST(cgroup, policy_keeps_it_in) {
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    char away[PATH_MAX];
    NEED_CGROUP();
    snprintf(away, sizeof away, "%s/away-%ld", delegated(), (long)getpid());
    config.command = test_text("g=$(cat /proc/self/cgroup) && echo max >%s/${g##*/}/memory.max && "
                               "echo raised; mkdir %s && echo made; echo 0 >%s/cgroup.procs && "
                               "echo left; :",
                               delegated(), away, away);
    config.memory_bytes = 64 * MB;
    config.timeout_ms = LONG_MS;
    config.contain = SBX_CONTAIN_GROUP;
    CGROUP_RUN(&config, &result);
    EXPECT_STREQ_MSG("raised\nmade\nleft\n", result.out.data, result.err.data);
    sbx_free(&result);
    rmdir(away);
    config.contain = SBX_CONTAIN_AUTO;
    config.policy = &policy;
    CGROUP_RUN(&config, &result);
    if (result.step == SBX_STEP_POLICY || result.step == SBX_STEP_CONTAIN) {
        sbx_free(&result);
        UTEST_SKIP("no policy can be had here");
    }
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_STREQ("", result.out.data);
    EXPECT_STREQ("", test_lacks(result.err.data, "memory.max: Directory nonexistent|"
                                                 "memory.max: No such file"));
    sbx_free(&result);
    config.command = NULL;
    config.argv = test_child_argv("memory", "own", "100");
    CGROUP_RUN(&config, &result);
    EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
    EXPECT_EQ(1, result.certain);
    EXPECT_TRUE(result.evidence & SBX_SAW_OOM_KILL);
    sbx_free(&result);
    EXPECT_LT(rmdir(away), 0); /* it was not made again */
}

/* ==== Nothing is left, whatever the end ======================================================= */

static int first_byte_cancels(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)user, (void)stream, (void)data;
    return size > 0;
}

UTEST(cgroup, removed_after_every_end) {
    static const char *const missing[] = {"/no/such/program", NULL};
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    NEED_CGROUP();
    config.argv = missing;
    CGROUP_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ(SBX_STEP_EXEC, (int)result.step);
    sbx_free(&result);
    config.argv = test_child_argv("sleep");
    config.cwd = "/no/such/directory";
    CGROUP_RUN(&config, &result);
    EXPECT_EQ(SBX_STEP_CWD, (int)result.step);
    sbx_free(&result);
    config.cwd = NULL;
    config.timeout_ms = 300;
    config.grace_ms = 50;
    CGROUP_RUN(&config, &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    sbx_free(&result);
    config.timeout_ms = 1; /* before it has started */
    CGROUP_RUN(&config, &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    sbx_free(&result);
    config.timeout_ms = LONG_MS;
    config.argv = test_child_argv("flood", "out");
    config.output_bytes = 1000;
    CGROUP_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OUTPUT_LIMIT, result);
    sbx_free(&result);
    config.on_output = first_byte_cancels;
    CGROUP_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CANCELLED, result);
    sbx_free(&result);
    config.on_output = NULL;
    config.argv = test_child_argv("crash", "null");
    CGROUP_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CRASHED, result);
    sbx_free(&result);
    config.argv = test_child_argv("sleep");
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    EXPECT_EQ(1, groups_left());
    sbx_cancel(box);
    EXPECT_EQ(SBX_CANCELLED, (int)sbx_finish(box, &result));
    EXPECT_EQ(0, groups_left());
    sbx_free(&result);
}

static int fills_memory(void *arg, void *ret, size_t size) {
    size_t i, most = 256u << 20;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *block = (char *)mmap(NULL, most, PROT_READ | PROT_WRITE, flags, -1, 0);
    (void)arg, (void)ret, (void)size;
    if (block == (char *)MAP_FAILED) return 1;
    for (i = 0; i < most; i += 4096) block[i] = 1;
    return 0;
}

UTEST(cgroup, calls) {
    sbx_config config = {0};
    sbx_result result;
    int ret = 0;
    NEED_CALL();
    NEED_CGROUP();
    config.cgroup = delegated();
    config.memory_bytes = 64 * MB;
    config.timeout_ms = LONG_MS;
    EXPECT_EQ(SBX_OK, (int)sbx_call(&config, test_fn_seven, NULL, &ret, sizeof ret, &result));
    EXPECT_EQ(7, ret);
    EXPECT_TRUE(result.enforced & SBX_BY_CGROUP);
    EXPECT_EQ(0, groups_left());
    sbx_free(&result);
    EXPECT_EQ(SBX_MEMORY_LIMIT, (int)sbx_call(&config, fills_memory, NULL, NULL, 0, &result));
    EXPECT_EQ(1, result.certain);
    EXPECT_TRUE(result.evidence & SBX_SAW_OOM_KILL);
    EXPECT_EQ(0, groups_left());
    EXPECT_FALSE(test_has_children());
    sbx_free(&result);
}

/* Every box has limits of its own. */
UTEST(cgroup, many_at_once) {
    enum { BOXES = 8 };
    sbx *boxes[BOXES];
    sbx_result result;
    int i;
    NEED_CGROUP();
    for (i = 0; i < BOXES; i++) {
        sbx_config config = {0};
        config.argv = test_child_argv("memory", "own", i % 2 ? "30" : "4", "1", "500");
        config.memory_bytes = 16 * MB;
        config.timeout_ms = 60000; /* all at once on an emulated machine */
        config.cgroup = delegated();
        boxes[i] = sbx_start(&config, &result);
        ASSERT_TRUE(boxes[i] != NULL);
    }
    for (i = 0; i < BOXES; i++) {
        sbx_verdict verdict = sbx_finish(boxes[i], &result);
        EXPECT_EQ(i % 2 ? SBX_MEMORY_LIMIT : SBX_OK, (int)verdict);
        EXPECT_EQ(1, result.certain);
        sbx_free(&result);
    }
    EXPECT_EQ(0, groups_left());
}

/* Where the controllers are not there, the limit cannot be kept: said, not ignored. */
UTEST(cgroup, without_controllers) {
    char outer[PATH_MAX], inner[PATH_MAX + 16];
    sbx_config config = {0};
    sbx_result result;
    NEED_CGROUP();
    snprintf(outer, sizeof outer, "%s/outer-%ld", delegated(), (long)getpid());
    snprintf(inner, sizeof inner, "%s/inner", outer);
    ASSERT_EQ(0, mkdir(outer, 0755));
    ASSERT_EQ(0, mkdir(inner, 0755));
    config.argv = test_child_argv("exit", "0");
    config.cgroup = inner;
    config.memory_bytes = 64 * MB;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ(SBX_STEP_CGROUP, (int)result.step);
    EXPECT_NE((char *)NULL, strstr(result.message, "memory.max"));
    sbx_free(&result);
    config.memory_bytes = 0;
    config.processes = 5;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_NE((char *)NULL, strstr(result.message, "pids.max"));
    sbx_free(&result);
    EXPECT_EQ(0, rmdir(inner)); /* nothing was left in there */
    EXPECT_EQ(0, rmdir(outer));
}

/* A program may make groups inside its own: they go with it. */
UTEST(cgroup, groups_inside_are_removed) {
    static const char *const codes[] = {"0", "9"};
    int i;
    NEED_CGROUP();
    for (i = 0; i < 4; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.command = test_text("for d in %s/sbx-*; do mkdir $d/a $d/a/b $d/a/b/c $d/x && "
                                   "echo $$ >$d/a/b/cgroup.procs; done; echo made; exit %s",
                                   delegated(), codes[i / 2]);
        config.contain = test_both[i % 2];
        config.inherit_env = 1;
        CGROUP_RUN(&config, &result);
        EXPECT_EQ_MSG(atoi(codes[i / 2]), result.exit_code, result.err.data);
        EXPECT_STREQ("made\n", result.out.data);
        sbx_free(&result);
    }
}

/* In a group of threads no process can be put: what cannot enter its group does not start. */
UTEST(cgroup, program_that_cannot_enter_does_not_start) {
    char outer[PATH_MAX], inner[PATH_MAX + 16], type[PATH_MAX + 32];
    int i, fd, threaded;
    NEED_CGROUP();
    snprintf(outer, sizeof outer, "%s/outer-%ld", delegated(), (long)getpid());
    snprintf(inner, sizeof inner, "%s/inner", outer);
    snprintf(type, sizeof type, "%s/cgroup.type", inner);
    ASSERT_EQ(0, mkdir(outer, 0755));
    ASSERT_EQ(0, mkdir(inner, 0755));
    fd = open(type, O_WRONLY);
    threaded = fd >= 0 && write(fd, "threaded", 8) == 8;
    if (fd >= 0) close(fd);
    for (i = 0; i < 2 && threaded; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("say", "started");
        config.contain = test_both[i];
        config.cgroup = inner;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_NOT_STARTED, result);
        EXPECT_EQ((int)SBX_STEP_CGROUP, (int)result.step);
        EXPECT_EQ(EOPNOTSUPP, result.sys_errno);
        sbx_free(&result);
    }
    EXPECT_EQ(0, rmdir(inner)); /* nothing was left in there */
    EXPECT_EQ(0, rmdir(outer));
    if (!threaded) UTEST_SKIP("no groups of threads here");
}

static int ended_unseen(void *arg) {
    siginfo_t info;
    (void)arg;
    memset(&info, 0, sizeof info);
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

/* Nobody looks while the two of them use memory; what they used together the group remembers. */
UTEST(cgroup, peak_that_nobody_saw) {
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    NEED_CGROUP();
    config.argv = test_child_argv("memory", "own", "40", "2", "300");
    config.contain = SBX_CONTAIN_GROUP;
    config.cgroup = delegated();
    config.memory_bytes = 1LL << 40;
    box = sbx_start(&config, &result);
    ASSERT_TRUE_MSG(box != NULL, result.message);
    EXPECT_TRUE(test_wait_until(ended_unseen, NULL, 0));
    EXPECT_EQ(SBX_OK, (int)sbx_finish(box, &result));
    EXPECT_GE(result.peak_bytes, 80 * MB);
    EXPECT_EQ(0, groups_left());
    sbx_free(&result);
}

#endif /* __linux__ */
