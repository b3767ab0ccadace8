/* What a hostile or broken child tries against a host that set limits and nothing else.
   The numbers are those of the list of attacks; each test names what the child does. */
#include "test.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#ifdef __linux__
#include <sched.h>
#endif

#define MB (1024LL * 1024)
#define LONG_MS 15000 /* longer than anything here takes, shorter than the child's own 20 s */
#define LATE_MS 1900  /* from a program's end to the return: a matter of a few milliseconds */
#define SHORT_MS 50   /* for what is to be timed out; TEST_RUN_READY gives more if need be */

/* ==== 1, 2, 3, 8: leaving the group =========================================================== */

/* One descendant of an otherwise normal program gets out of the group in the given way. The
   verdict is the program's own and comes at once, whatever the other one holds. Where the tree is
   contained nothing is left; a mere group does not hold it, which the header says plainly. */
static void expect_escape(int *utest_result, const char *how, const char *then, const char *act,
                          sbx_verdict verdict) {
    int tree;
    for (tree = 0; tree < 2; tree++) {
        long long late;
        sbx_config config = {0};
        sbx_result result;
        test_tether tether;
        ASSERT_TRUE(test_tether_open(&tether));
        config.argv = test_child_argv("escape", how, tether.path, then, act);
        config.contain = tree ? SBX_CONTAIN_AUTO : SBX_CONTAIN_GROUP;
        config.timeout_ms = verdict == SBX_TIMED_OUT ? SHORT_MS : LONG_MS;
        config.grace_ms = -1;
        config.truncate_output = 1;
        TEST_RUN_READY(&config, strcmp(act, "flood") == 0 ? "" : "away\n", &result);
        late = test_late_ms();
        EXPECT_LT(late, LATE_MS);
        EXPECT_VERDICT(verdict, result);
        if (strcmp(act, "flood") != 0) EXPECT_STREQ("away\n", result.out.data);
        EXPECT_LT(result.wall_us, 12 * 1000000LL);
        EXPECT_GE(test_tether_lines(&tether), 1);
        if (result.enforced & SBX_BY_TREE)
            EXPECT_FALSE(test_tether_held(&tether));
        else if (strcmp(act, "flood") != 0) /* that one ends when its pipe is closed */
            EXPECT_TRUE(test_tether_held(&tether));
        EXPECT_TRUE(test_tether_close(&tether));
        sbx_free(&result);
    }
}

UTEST(attack, a01_setsid_and_run_on) {
    expect_escape(utest_result, "setsid", "0", "hold", SBX_OK);
    expect_escape(utest_result, "setsid", "5", "close", SBX_EXITED);
    expect_escape(utest_result, "setsid", "stay", "hold", SBX_TIMED_OUT);
}

/* The pipes never run dry and never close: the end of the program has to be enough. */
UTEST(attack, a01_setsid_and_flood_the_pipes) {
    expect_escape(utest_result, "setsid", "0", "flood", SBX_OK);
    expect_escape(utest_result, "setsid", "crash", "flood", SBX_CRASHED);
    expect_escape(utest_result, "setsid", "stay", "flood", SBX_TIMED_OUT);
}

UTEST(attack, a02_daemonise) {
    expect_escape(utest_result, "daemon", "0", "hold", SBX_OK);
    expect_escape(utest_result, "daemon", "crash", "close", SBX_CRASHED);
    expect_escape(utest_result, "daemon", "stay", "close", SBX_TIMED_OUT);
}

UTEST(attack, a03_setpgid_away) {
    expect_escape(utest_result, "setpgid", "0", "hold", SBX_OK);
    expect_escape(utest_result, "setpgid", "stay", "hold", SBX_TIMED_OUT);
}

/* Asked for the tree: all of it, or nothing runs. */
UTEST(attack, a01_tree_or_nothing) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("say", "ran");
    config.contain = SBX_CONTAIN_TREE;
    TEST_RUN(&config, &result);
    if (result.verdict == SBX_NOT_STARTED) {
        EXPECT_EQ((int)SBX_STEP_CONTAIN, (int)result.step);
        EXPECT_EQ(0, (int)result.out.size);
    } else {
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_TRUE(result.enforced & SBX_BY_TREE);
        EXPECT_FALSE(test_is_portable());
    }
    sbx_free(&result);
}

#ifdef __linux__
/* The grandchild becomes a child of the host: killed and reaped all the same, in the group as in
   the tree. Once it ends before the program does, once it does not. */
UTEST(attack, a08_clone_parent) {
    static const char *const how[] = {"parent", "parent_exits", "parent_setsid",
                                      "parent_setsid_exits"};
    static const char *const then[] = {"0", "stay", "crash"};
    static const sbx_verdict verdicts[] = {SBX_OK, SBX_TIMED_OUT, SBX_CRASHED};
    int i, j, tree;
    for (tree = 0; tree < 2; tree++)
        for (i = 0; i < 4; i++)
            for (j = 0; j < 3; j++) {
                sbx_config config = {0};
                sbx_result result;
                test_tether tether;
                if (i >= 2 && (!tree || test_is_portable())) continue; /* the next test */
                ASSERT_TRUE(test_tether_open(&tether));
                config.argv = test_child_argv("escape", how[i], tether.path, then[j]);
                config.contain = tree ? SBX_CONTAIN_AUTO : SBX_CONTAIN_GROUP;
                config.timeout_ms = j == 1 ? SHORT_MS : LONG_MS;
                config.grace_ms = -1;
                TEST_RUN_READY(&config, "away\n", &result); /* checks for children of the host */
                EXPECT_VERDICT(verdicts[j], result);
                EXPECT_GE(test_tether_lines(&tether), 1);
                EXPECT_FALSE(test_tether_held(&tether));
                EXPECT_TRUE(test_tether_close(&tether));
                sbx_free(&result);
            }
}

/* Out of the group as well: nothing that a group can do. It stays a child of the host. */
UTEST(attack, a08_clone_parent_and_setsid) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    int status;
    ASSERT_TRUE(test_tether_open(&tether));
    config.argv = test_child_argv("escape", "parent_setsid", tether.path, "0", "close");
    config.contain = SBX_CONTAIN_GROUP;
    EXPECT_EQ(SBX_OK, (int)sbx_run(&config, &result));
    EXPECT_EQ(1, test_tether_lines(&tether));
    EXPECT_TRUE(test_tether_held(&tether));
    EXPECT_TRUE(test_tether_close(&tether));
    EXPECT_GT(waitpid(-1, &status, 0), 0);
    EXPECT_FALSE(test_has_children());
    sbx_free(&result);
}
#endif

/* ==== 4 to 7: refusing to die ================================================================= */

/* Its first process stays and is timed out, or leaves in the middle of it all: either way
   everybody is killed while forking. */
static void expect_bomb(int *utest_result, const char *then, long long grace_ms,
                        const char *scatter) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    int stay = strcmp(then, "stay") == 0;
    ASSERT_TRUE(test_tether_open(&tether));
    config.argv = test_child_argv("fork_bomb", tether.path, "200", then, scatter);
    config.contain = scatter ? SBX_CONTAIN_AUTO : SBX_CONTAIN_GROUP;
    config.timeout_ms = stay ? SHORT_MS : LONG_MS;
    config.grace_ms = grace_ms;
    TEST_RUN_READY(&config, "ready\n", &result);
    EXPECT_VERDICT(stay ? SBX_TIMED_OUT : SBX_OK, result);
    EXPECT_LT(result.wall_us, 12 * 1000000LL);
    if (!scatter || result.enforced & SBX_BY_TREE) EXPECT_FALSE(test_tether_held(&tether));
    EXPECT_TRUE(test_tether_close(&tether));
    sbx_free(&result);
}

UTEST(attack, a04_fork_bomb) {
    expect_bomb(utest_result, "stay", -1, NULL);
    expect_bomb(utest_result, "stay", 20, NULL);
    expect_bomb(utest_result, "leave", -1, NULL);
}

UTEST(attack, a04_fork_bomb_that_scatters) {
    expect_bomb(utest_result, "stay", -1, "scatter");
    expect_bomb(utest_result, "leave", -1, "scatter");
}

UTEST(attack, a05_ignores_every_signal) {
    static const char *const how[] = {"ignore", "catch", "block"};
    int i;
    for (i = 0; i < 3; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("ignore", how[i]);
        config.timeout_ms = SHORT_MS;
        config.grace_ms = 100;
        TEST_RUN_READY(&config, "ready\n", &result);
        EXPECT_VERDICT(SBX_TIMED_OUT, result);
        EXPECT_STREQ("ready\n", result.out.data);
        EXPECT_EQ(SIGKILL, result.signal);
        EXPECT_EQ(-1, result.exit_code);
        EXPECT_EQ(1, result.certain);
        EXPECT_TRUE(result.evidence & SBX_SAW_DEADLINE);
        EXPECT_TRUE(result.evidence & SBX_SAW_GRACE_OVER);
        EXPECT_GE(result.wall_us, (SHORT_MS + 95) * 1000LL);
        EXPECT_LT(result.wall_us, 12 * 1000000LL);
        EXPECT_NE((char *)NULL, strstr(result.message, test_text("%lld ms", config.timeout_ms)));
        sbx_free(&result);
    }
}

/* The leader dies of SIGTERM; the rest of the group does not wait for the grace to end. */
UTEST(attack, a05_leader_leaves_the_stubborn_one_behind) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    ASSERT_TRUE(test_tether_open(&tether));
    config.argv = test_child_argv("ignore", "leave", tether.path);
    config.timeout_ms = SHORT_MS;
    config.grace_ms = LONG_MS;
    TEST_RUN_READY(&config, "ready\n", &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_EQ(SIGTERM, result.signal);
    EXPECT_FALSE(result.evidence & SBX_SAW_GRACE_OVER);
    EXPECT_LT(result.wall_us, 12 * 1000000LL);
    EXPECT_FALSE(test_tether_held(&tether));
    EXPECT_TRUE(test_tether_close(&tether));
    sbx_free(&result);
}

/* It had its chance and took it: still a time-out, and the grace is not waited out. */
UTEST(attack, a05_exits_cleanly_on_sigterm) {
    int code;
    for (code = 0; code < 4; code += 3) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("term", code ? "3" : "0");
        config.timeout_ms = SHORT_MS;
        config.grace_ms = LONG_MS;
        TEST_RUN_READY(&config, "ready\n", &result);
        EXPECT_VERDICT(SBX_TIMED_OUT, result);
        EXPECT_EQ(0, result.signal);
        EXPECT_EQ(code, result.exit_code);
        EXPECT_FALSE(result.evidence & SBX_SAW_GRACE_OVER);
        EXPECT_LT(result.wall_us, 12 * 1000000LL);
        sbx_free(&result);
    }
}

UTEST(attack, a05_killed_at_once_without_grace) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("term", "3");
    config.timeout_ms = SHORT_MS;
    config.grace_ms = -1;
    TEST_RUN_READY(&config, "ready\n", &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_EQ(SIGKILL, result.signal);
    sbx_free(&result);
}

/* SIGTERM reaches a stopped process only together with SIGCONT. */
UTEST(attack, a06_stops_itself) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("stop", "self");
    config.timeout_ms = SHORT_MS;
    config.grace_ms = LONG_MS;
    TEST_RUN_READY(&config, "ready\n", &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_EQ(SIGTERM, result.signal);
    EXPECT_GE(result.wall_us, (SHORT_MS - 5) * 1000LL); /* a stop is not an end */
    EXPECT_LT(result.wall_us, 12 * 1000000LL);
    sbx_free(&result);
}

UTEST(attack, a06_stops_itself_again_and_again) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("stop", "again");
    config.timeout_ms = SHORT_MS;
    config.grace_ms = 100;
    TEST_RUN_READY(&config, "ready\n", &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_EQ(SIGKILL, result.signal);
    EXPECT_STREQ("ready\n", result.out.data);
    EXPECT_LT(result.wall_us, 12 * 1000000LL);
    sbx_free(&result);
}

UTEST(attack, a07_stops_its_children) {
    int stay;
    for (stay = 0; stay < 2; stay++) {
        sbx_config config = {0};
        sbx_result result;
        test_tether tether;
        ASSERT_TRUE(test_tether_open(&tether));
        config.argv = test_child_argv("stop", "children", tether.path, stay ? "stay" : "leave");
        config.timeout_ms = stay ? SHORT_MS : LONG_MS;
        config.grace_ms = 100;
        TEST_RUN_READY(&config, "ready\n", &result);
        EXPECT_VERDICT(stay ? SBX_TIMED_OUT : SBX_OK, result);
        EXPECT_GE(test_tether_lines(&tether), 3);
        EXPECT_FALSE(test_tether_held(&tether));
        EXPECT_TRUE(test_tether_close(&tether));
        sbx_free(&result);
    }
}

/* ==== 9, 10: pipes that say nothing about the end ============================================= */

UTEST(attack, a09_closes_its_streams_and_sleeps) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("close_out");
    config.timeout_ms = SHORT_MS;
    config.grace_ms = -1;
    TEST_RUN_READY(&config, "before\n", &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_STREQ("before\n", result.out.data);
    EXPECT_GE(result.wall_us, (SHORT_MS - 5) * 1000LL);
    EXPECT_LT(result.wall_us, 12 * 1000000LL);
    sbx_free(&result);
}

UTEST(attack, a09_closes_its_streams_and_exits_later) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("close_out", "60", "6");
    config.timeout_ms = LONG_MS;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_EXITED, result);
    EXPECT_EQ(6, result.exit_code);
    EXPECT_GE(result.wall_us, 55 * 1000LL);
    sbx_free(&result);
}

/* The program's own end counts; what it leaves in the group is killed, not waited for. */
UTEST(attack, a10_leaves_a_grandchild_with_the_pipes) {
    static const char *const then[] = {"0", "5", "crash"};
    static const char *const act[] = {"hold", "flood"};
    static const sbx_verdict verdicts[] = {SBX_OK, SBX_EXITED, SBX_CRASHED};
    int i, j;
    for (i = 0; i < 3; i++)
        for (j = 0; j < 2; j++) {
            sbx_config config = {0};
            sbx_result result;
            test_tether tether;
            ASSERT_TRUE(test_tether_open(&tether));
            config.argv = test_child_argv("escape", "stay", tether.path, then[i], act[j]);
            config.timeout_ms = LONG_MS;
            config.truncate_output = 1;
            TEST_RUN(&config, &result);
            EXPECT_VERDICT(verdicts[i], result);
            EXPECT_LT(result.wall_us, 12 * 1000000LL);
            EXPECT_LT(test_late_ms(), LATE_MS);
            if (j == 0) EXPECT_STREQ("away\n", result.out.data);
            EXPECT_EQ(1, test_tether_lines(&tether));
            EXPECT_FALSE(test_tether_held(&tether));
            EXPECT_TRUE(test_tether_close(&tether));
            sbx_free(&result);
        }
}

UTEST(attack, a10_background_job_of_a_shell) {
    sbx_config config = {0};
    sbx_result result;
    config.command = "sleep 19 & echo done";
    config.timeout_ms = LONG_MS;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_STREQ("done\n", result.out.data);
    EXPECT_LT(result.wall_us, 12 * 1000000LL);
    sbx_free(&result);
}

/* ==== 11, 12, 32: input that nobody wants ===================================================== */

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
    ASSERT_NE((const void *)NULL, config.input);
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_GE(result.wall_us, 95 * 1000LL);
    EXPECT_LT(result.wall_us, 12 * 1000000LL);
    sbx_free(&result);
    munmap((void *)(size_t)config.input, size);
}

static long long cpu_us(const struct rusage *used) {
    return (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000LL + used->ru_utime.tv_usec +
           used->ru_stime.tv_usec;
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

/* ==== 13, 14, 15: output ====================================================================== */

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
    config.timeout_ms = SHORT_MS;
    config.grace_ms = -1;
    TEST_RUN_READY(&config, "xxxxxxxxxxxxxx", &result);
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

/* ==== 16, 17: CPU time ======================================================================== */

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
    if (verdict == SBX_CPU_LIMIT && !test_is_portable()) {
        EXPECT_EQ(1, result.certain);
        EXPECT_TRUE(result.evidence & SBX_SAW_CPU_SUM);
        EXPECT_TRUE(result.enforced & SBX_BY_WATCH);
        EXPECT_NE((char *)NULL, strstr(result.message, "200"));
    }
    sbx_free(&result);
}

UTEST(attack, a16_spends_cpu_in_user_code) {
    expect_cpu(utest_result, "user", "1", NULL, SBX_CPU_LIMIT, "10000");
}

UTEST(attack, a16_spends_cpu_in_system_calls) {
    if (test_is_portable()) UTEST_SKIP("the kernel's own limit does not tell them apart");
    expect_cpu(utest_result, "system", "1", NULL, SBX_CPU_LIMIT, "10000");
}

/* Each of the four stays below the limit. Portable code cannot stop them, but sees it afterwards. */
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

/* ==== 18 to 21: memory ======================================================================== */

/* In portable mode the limit is RLIMIT_AS: asking fails, and the child says so. */
static void expect_memory(int *utest_result, const char *how, const char *mb,
                          const char *processes, long long limit_mb, sbx_verdict verdict) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("memory", how, mb, processes, verdict == SBX_OK ? "200" : "5000");
    config.memory_bytes = limit_mb * MB;
    config.timeout_ms = LONG_MS;
    config.grace_ms = -1;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(verdict, result);
    EXPECT_TRUE(result.enforced & (test_is_portable() ? SBX_BY_RLIMIT_AS : SBX_BY_WATCH));
    if (verdict == SBX_MEMORY_LIMIT) {
        EXPECT_EQ(test_is_portable() ? 0 : 1, result.certain);
        if (!test_is_portable()) EXPECT_TRUE(result.evidence & SBX_SAW_MEMORY_SUM);
        if (!test_is_portable()) EXPECT_EQ(SIGKILL, result.signal); /* at once, not afterwards */
        EXPECT_NE((char *)NULL, strstr(result.message, "memory"));
    }
    if (result.peak_bytes >= 0 && !test_is_portable()) {
        if (verdict == SBX_MEMORY_LIMIT) EXPECT_GT(result.peak_bytes, limit_mb * MB);
        if (verdict == SBX_OK) EXPECT_LT(result.peak_bytes, limit_mb * MB);
        EXPECT_LT(result.peak_bytes, 512 * MB); /* all that the child ever uses */
    }
    sbx_free(&result);
}

UTEST(attack, a18_memory_in_one_process) {
    expect_memory(utest_result, "own", "200", "1", 64, SBX_MEMORY_LIMIT);
    expect_memory(utest_result, "shared", "200", "1", 64, SBX_MEMORY_LIMIT);
}

UTEST(attack, a18_memory_in_eight_processes) {
    if (test_is_portable()) /* each is far from the limit, and only that is seen */
        expect_memory(utest_result, "own", "20", "8", 64, SBX_OK);
    else
        expect_memory(utest_result, "own", "20", "8", 64, SBX_MEMORY_LIMIT);
}

UTEST(attack, a18_memory_inside_the_limit) {
    expect_memory(utest_result, "own", "15", "4", 128, SBX_OK);
}

/* Eight processes that share 30 MB use 30 MB, not 240; also while they come and go. */
UTEST(attack, a18_shared_pages_count_once) {
    expect_memory(utest_result, "once", "30", "8", 96, SBX_OK);
    expect_memory(utest_result, "churn", "30", "8", 96, SBX_OK);
    expect_memory(utest_result, "relay", "60", "1", 80, SBX_OK);
}

/* What the sizes in /proc do not show: a process whose first thread has ended, one that came while
   all looked too large anyway, and pages that are there once, but at three addresses. */
UTEST(attack, a18_sizes_that_mislead) {
    if (test_is_portable()) UTEST_SKIP("nobody looks");
    expect_memory(utest_result, "leaderless", "200", "1", 64, SBX_MEMORY_LIMIT);
    expect_memory(utest_result, "late", "40", "1", 64, SBX_MEMORY_LIMIT);
    expect_memory(utest_result, "mapped", "30", "1", 64, SBX_OK);
}

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

/* ==== 22, 23, 24: ends that look like something else ========================================== */

/* Limits that are in force but have nothing to do with how it ends. */
static void set_wide_limits(sbx_config *config, int wide) {
    config->timeout_ms = LONG_MS;
    if (!wide) return;
    config->cpu_ms = 15000;
    config->output_bytes = 1000;
    config->open_files = 100;
    config->stack_bytes = 4 * MB;
    if (!test_is_portable()) config->memory_bytes = 256 * MB; /* else it is RLIMIT_AS */
}

UTEST(attack, a22_crashes) {
    static const struct {
        const char *how;
        int signal;
    } ends[] = {{"null", SIGSEGV}, {"divide", SIGFPE}, {"abort", SIGABRT},
                {"illegal", SIGILL}, {"bus", SIGBUS}};
    int i, wide;
    for (i = 0; i < 5; i++)
        for (wide = 0; wide < 2; wide++) {
            sbx_config config = {0};
            sbx_result result;
            config.argv = test_child_argv("crash", ends[i].how);
            set_wide_limits(&config, wide);
            TEST_RUN(&config, &result);
            EXPECT_VERDICT(SBX_CRASHED, result);
            EXPECT_EQ(ends[i].signal, result.signal);
            EXPECT_EQ(-1, result.exit_code);
            EXPECT_EQ(1, result.certain);
            sbx_free(&result);
        }
}

UTEST(attack, a23_signals_itself) {
    static const int signals[] = {SIGKILL, SIGTERM, SIGSEGV, SIGXCPU, SIGXFSZ, SIGHUP,
                                  SIGINT,  SIGALRM, SIGPIPE, SIGUSR1, SIGABRT, SIGSYS,
                                  SIGBUS,  SIGVTALRM, SIGQUIT, SIGTRAP};
    size_t i;
    int wide;
    for (i = 0; i < sizeof signals / sizeof *signals; i++)
        for (wide = 0; wide < 2; wide++) {
            sbx_config config = {0};
            sbx_result result;
            const char *number = test_text("%d", signals[i]);
            config.argv = test_child_argv("raise", number);
            set_wide_limits(&config, wide);
            TEST_RUN(&config, &result);
            EXPECT_VERDICT(SBX_CRASHED, result);
            EXPECT_EQ(signals[i], result.signal);
            EXPECT_EQ(-1, result.exit_code);
            EXPECT_EQ(1, result.certain);
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
            TEST_RUN(&config, &result);
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

/* ==== 25, 26, 27: files ======================================================================= */

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
    EXPECT_NE((char *)NULL, strstr(result.out.data, "core 0 0\n"));
    EXPECT_NE((char *)NULL, strstr(result.out.data, "open 64 64\n"));
    EXPECT_NE((char *)NULL, strstr(result.out.data, "file 100000 100000\n"));
    EXPECT_NE((char *)NULL, strstr(result.out.data, "stack 1048576 1048576\n"));
    EXPECT_NE((char *)NULL, strstr(result.out.data, "space 536870912 536870912\n"));
    sbx_free(&result);
}

static void run_fill_file(int *utest_result, const char *bytes, const char *how,
                          sbx_result *result, long long *left) {
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
    TEST_MUST(strncmp(result.out.data, "core 0 0\n", 9) == 0);
    sbx_free(&result);
    return "";
}

UTEST(attack, a27_dumps_core) {
    char dir[PATH_MAX];
    EXPECT_STREQ("", test_in_copy(crash_in_dir, (void *)(size_t)test_tmpdir(dir)));
    test_remove_tree(dir);
}

/* ==== 28: signals at the host ================================================================= */

/* kill(0): its group is its own. */
UTEST(attack, a28_signals_its_group) {
    sbx_config config = {0};
    sbx_result result;
    const char *number = test_text("%d", SIGUSR1);
    config.argv = test_child_argv("signal", "group", number);
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CRASHED, result);
    EXPECT_EQ(SIGUSR1, result.signal);
    sbx_free(&result);
}

UTEST(attack, a28_has_a_session_and_group_of_its_own) {
    sbx_config config = {0};
    sbx_result result;
    long pid = 0, parent = 0, group = 0, session = 0;
    config.argv = test_child_argv("ids");
    TEST_RUN(&config, &result);
    EXPECT_EQ(4, sscanf(result.out.data, "%ld %ld %ld %ld", &pid, &parent, &group, &session));
    EXPECT_EQ(pid, group);
    EXPECT_EQ(pid, session);
    EXPECT_NE((long)getpgrp(), group);
    EXPECT_TRUE(result.enforced & SBX_BY_SESSION);
    sbx_free(&result);
}

#ifdef __linux__
/* Limits do not take away a user's right to signal his own processes, the host among them. The
   header says so; this shows it, on a copy of the host. */
static const char *run_host_killer(void *arg) {
    sbx_config config = {0};
    const char *host = test_text("%ld", (long)getpid()), *number = test_text("%d", SIGUSR1);
    (void)arg;
    config.argv = test_child_argv("signal", "host", number, host);
    config.contain = SBX_CONTAIN_GROUP;
    sbx_run(&config, NULL);
    return "still alive";
}

UTEST(attack, a28_kills_the_host) {
    const char *wanted = test_text("killed by signal %d", SIGUSR1);
    EXPECT_STREQ(wanted, test_in_copy(run_host_killer, NULL));
}

/* In a tree of its own it does not even see the host, nor anybody else. */
static const char *run_killer_in_tree(void *arg) {
    static const char *const whom[] = {"host", "all"};
    const char *host = test_text("%ld", (long)getpid()), *number = test_text("%d", SIGUSR1), *flaw;
    int i;
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("signal", whom[i], number, i ? (const char *)arg : host);
        config.contain = SBX_CONTAIN_TREE;
        flaw = test_run(&config, &result);
        if (*flaw) return flaw;
        if (result.verdict == SBX_NOT_STARTED) return "no tree";
        if (result.exit_code != 1) return test_text("%s: %s", whom[i], result.message);
        sbx_free(&result);
    }
    return "";
}

UTEST(attack, a28_cannot_signal_out_of_its_tree) {
    char space[64];
    ssize_t size = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    const char *got;
    space[size < 0 ? 0 : size] = 0;
    if (size <= 0) UTEST_SKIP("no /proc");
    got = test_in_copy(run_killer_in_tree, space);
    if (strcmp(got, "no tree") == 0) UTEST_SKIP("no tree can be contained here");
    EXPECT_STREQ("", got);
}

/* The same with kill(-1), in a PID namespace where nobody else lives. */
static const char *run_killer_of_all(void *arg) {
    sbx_config config = {0};
    const char *number = test_text("%d", SIGUSR1);
    config.argv = test_child_argv("signal", "all", number, (const char *)arg);
    config.contain = SBX_CONTAIN_GROUP;
    sbx_run(&config, NULL);
    return "still alive";
}

/* A PID namespace for the copy of the host: nobody else is there, and /proc is that of outside. */
typedef struct in_namespace {
    const char *(*function)(void *arg);
    void *arg;
    char *answer; /* shared with the process that gives it */
} in_namespace;

static const char *enter_namespace(void *arg) {
    in_namespace *in = (in_namespace *)arg;
    int status = 0;
    pid_t first;
    if (unshare(CLONE_NEWPID | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) < 0) return "no namespace";
    first = fork(); /* the first process of a namespace minds no signal from inside */
    if (first == 0) {
        pid_t unused = fork(); /* the next one is not 2, a number with children in most of /proc */
        if (unused == 0) _exit(0);
        waitpid(unused, NULL, 0);
        snprintf(in->answer, 2000, "%s", test_in_copy(in->function, in->arg));
        _exit(0);
    }
    if (first < 0) return "no namespace";
    waitpid(first, &status, 0);
    return test_text("%s", in->answer);
}

static const char *test_in_namespace(const char *(*function)(void *arg), void *arg) {
    in_namespace in;
    const char *got;
    in.function = function;
    in.arg = arg;
    in.answer = (char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (in.answer == MAP_FAILED) return "no memory";
    got = test_in_copy(enter_namespace, &in);
    munmap(in.answer, 4096);
    return got;
}

UTEST(attack, a28_kills_all_it_can) {
    char space[64];
    ssize_t size = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    const char *got;
    space[size < 0 ? 0 : size] = 0;
    if (size <= 0) UTEST_SKIP("no /proc");
    got = test_in_namespace(run_killer_of_all, space);
    if (strcmp(got, "no namespace") == 0) UTEST_SKIP("no PID namespaces here");
    EXPECT_STREQ(test_text("killed by signal %d", SIGUSR1), got);
}

/* The numbers in /proc are not the host's, so it cannot find a stray by them. */
static const char *run_strays(void *arg) {
    static const char *const how[] = {"parent_setsid", "parent_setsid_exits"};
    const char *path = (const char *)arg;
    int i;
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        const char *flaw;
        config.argv = test_child_argv("escape", how[i], path, "0", "close");
        flaw = test_run(&config, &result);
        if (*flaw && result.enforced & SBX_BY_TREE) return test_text("%s: %s", how[i], flaw);
        TEST_MUST(result.verdict == SBX_OK && strcmp(result.out.data, "away\n") == 0);
        if (!(result.enforced & SBX_BY_TREE)) return ""; /* a group need not hold it */
        sbx_free(&result);
    }
    return "";
}

UTEST(attack, a08_clone_parent_under_a_foreign_proc) {
    test_tether tether;
    const char *got;
    ASSERT_TRUE(test_tether_open(&tether));
    got = test_in_namespace(run_strays, tether.path);
    EXPECT_TRUE(test_tether_close(&tether));
    if (strcmp(got, "no namespace") == 0) UTEST_SKIP("no PID namespaces here");
    EXPECT_STREQ("", got);
}
#endif

/* ==== 29, 30, 35: what it should not have ===================================================== */

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

static const char *run_with_secrets(void *arg) {
    static const char *const some[] = {"A=1", "B=", "C=x=y", NULL};
    static const char *const none[] = {NULL};
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    int i;
    (void)arg;
    setenv("SBX_TEST_SECRET", "hunter2", 1);
    config.argv = test_child_argv("env");
    for (i = 0; i < 3; i++) {
        config.env = i == 0 ? NULL : i == 1 ? none : some;
        flaw = test_run(&config, &result);
        if (*flaw) return flaw;
        TEST_MUST(result.verdict == SBX_OK);
        if (strcmp(result.out.data, i == 2 ? "A=1\nB=\nC=x=y\n" : "") != 0)
            return test_text("environment of the child: %s", result.out.data);
        sbx_free(&result);
    }
    config.inherit_env = 1; /* the test can see what it looks for */
    flaw = test_run(&config, &result);
    if (*flaw) return flaw;
    TEST_MUST(strstr(result.out.data, "SBX_TEST_SECRET=hunter2\n") != NULL);
    sbx_free(&result);
    return "";
}

UTEST(attack, a30_reads_secrets_from_its_environment) {
    EXPECT_STREQ("", test_in_copy(run_with_secrets, NULL));
}

#ifdef __linux__
/* Documented: without a policy, what the user may read the child may read, and /proc shows a
   user the environment his processes started with. */
UTEST(attack, a30_reads_the_hosts_environment_from_proc) {
    sbx_config config = {0};
    sbx_result result;
    char bytes[16];
    int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
    if (fd >= 0) close(fd);
    if (size < (ssize_t)sizeof bytes) UTEST_SKIP("/proc does not show the environment");
    config.argv = test_child_argv("parent_env");
    config.contain = SBX_CONTAIN_GROUP;
    config.truncate_output = 1;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ(0, memcmp(bytes, result.out.data, sizeof bytes));
    sbx_free(&result);
}
#endif

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

/* The function runs in a copy of the host: it may find descriptors there, but no way to lie. */
static int forge_in_call(void *arg, void *ret, size_t ret_size) {
    int record[64], fd, i;
    (void)ret, (void)ret_size;
    for (i = 0; i < 64; i++) record[i] = 0;
    signal(SIGPIPE, SIG_IGN);
    for (fd = 0; fd < 256; fd++)
        if (fd != 1 && fd != 2 && fcntl(fd, F_GETFD) >= 0) {
            fcntl(fd, F_SETFL, O_NONBLOCK);
            for (i = 1; i <= 64; i *= 2)
                if (write(fd, record, (size_t)i * sizeof *record) < 0) break;
        }
    _exit(*(int *)arg);
}

UTEST(attack, a35_forges_a_result_in_a_call) {
    int code;
    for (code = 0; code < 4; code += 3) {
        sbx_config config = {0};
        sbx_result result;
        int value = 12345;
        sbx_call(&config, forge_in_call, &code, &value, sizeof value, &result);
        EXPECT_VERDICT(SBX_NO_RESULT, result);
        EXPECT_EQ(code, result.exit_code);
        EXPECT_EQ(12345, value);
        EXPECT_STREQ("", test_result_flaw(&config, &result));
        sbx_free(&result);
    }
}

#if defined(__linux__) && !defined(SBX_NO_LINUX)
/* Other pages of the file that the result lies in, and records of a failed start there: as long as
   it has no descriptor, the file does not get longer. */
static int forge_in_memory(void *arg, void *ret, size_t ret_size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), i, k;
    char *start = (char *)((size_t)ret / page * page);
    (void)ret_size;
    for (k = 0; k < 3; k++) {
        if (remap_file_pages(start, page, 0, k, 0) != 0) break;
        signal(SIGBUS, _exit); /* behind the end */
        for (i = 0; i < page; i += sizeof(int)) *(volatile int *)(void *)(start + i) = 5;
    }
    _exit(*(int *)arg);
}

UTEST(attack, a35_forges_a_failed_start_in_a_call) {
    int code = 3, contain;
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_GROUP; contain++) {
        sbx_config config = {0};
        sbx_result result;
        int value = 12345;
        config.contain = (sbx_contain)contain;
        sbx_call(&config, forge_in_memory, &code, &value, sizeof value, &result);
        EXPECT_VERDICT(SBX_NO_RESULT, result);
        EXPECT_EQ(12345, value);
        sbx_free(&result);
    }
}
#endif

/* ==== 31: bytes =============================================================================== */

static int is_binary(const char *data, size_t size, int inverted) {
    size_t i;
    if (size != 4096) return 0;
    for (i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)(i * 37 + i / 256);
        if ((unsigned char)data[i] != (inverted ? (unsigned char)~byte : byte)) return 0;
    }
    return 1;
}

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

/* ==== 33: the terminal ======================================================================== */

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

/* ==== 34: programs that are none ============================================================== */

static void expect_no_exec(int *utest_result, const char *path, const char *name, int error,
                           int other_error) {
    const char *argv[2];
    sbx_config config = {0};
    sbx_result result;
    argv[0] = path;
    argv[1] = NULL;
    config.argv = argv;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
    if (result.sys_errno != other_error) EXPECT_EQ(error, result.sys_errno);
    EXPECT_NE_MSG((char *)NULL, strstr(result.message, name), result.message);
    EXPECT_EQ(0, (int)result.out.size);
    EXPECT_EQ(-1, result.exit_code);
    sbx_free(&result);
}

UTEST(attack, a34_programs_that_cannot_run) {
    static const char elf[] = "\177ELF\2\1\1\0 and nothing of what should follow";
    char dir[PATH_MAX], long_name[600];
    const char *path;
    test_tmpdir(dir);
    expect_no_exec(utest_result, dir, "sbx-test-", EACCES, EISDIR);
    path = test_text("%s/missing", dir);
    expect_no_exec(utest_result, path, "missing", ENOENT, ENOENT);
    path = test_write_file(dir, "plain", "#!/bin/sh\n", 10, 0644);
    expect_no_exec(utest_result, path, "plain", EACCES, EACCES);
    path = test_write_file(dir, "lost", "#!/no/such/interpreter\n", 23, 0755);
    expect_no_exec(utest_result, path, "lost", ENOENT, ENOENT);
    path = test_write_file(dir, "dirint", "#!/\n", 4, 0755);
    expect_no_exec(utest_result, path, "dirint", EACCES, EISDIR);
    path = test_write_file(dir, "empty", "", 0, 0755);
    expect_no_exec(utest_result, path, "empty", ENOEXEC, ENOEXEC);
    path = test_write_file(dir, "nobang", "echo hello\n", 11, 0755);
    expect_no_exec(utest_result, path, "nobang", ENOEXEC, ENOEXEC);
    path = test_write_file(dir, "broken", elf, sizeof elf, 0755);
    expect_no_exec(utest_result, path, "broken", ENOEXEC, ENOEXEC);
    path = test_write_file(dir, "binary", "\0\1\2\3\377\376", 6, 0755);
    expect_no_exec(utest_result, path, "binary", ENOEXEC, ENOEXEC);
    path = test_text("%s/plain/inside", dir);
    expect_no_exec(utest_result, path, "inside", ENOTDIR, ENOTDIR);
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[0] = '/';
    long_name[sizeof long_name - 1] = 0;
    expect_no_exec(utest_result, long_name, "nnnn", ENAMETOOLONG, ENAMETOOLONG);
    test_remove_tree(dir);
}

/* A loop of links, and a link to nowhere. */
UTEST(attack, a34_links_that_lead_nowhere) {
    char dir[PATH_MAX];
    const char *loop, *gone;
    test_tmpdir(dir);
    loop = test_text("%s/loop", dir);
    gone = test_text("%s/gone", dir);
    EXPECT_EQ(0, symlink("loop", loop));
    EXPECT_EQ(0, symlink("nowhere", gone));
    expect_no_exec(utest_result, loop, "loop", ELOOP, ELOOP);
    expect_no_exec(utest_result, gone, "gone", ENOENT, ENOENT);
    test_remove_tree(dir);
}

/* On the PATH, a directory or a plain file of that name does not hide the program behind it. */
static const char *run_with_path(void *arg) {
    const char *dir = (const char *)arg, *flaw;
    const char *const argv[] = {"prog", NULL};
    sbx_config config = {0};
    sbx_result result;
    config.argv = argv;
    setenv("PATH", test_text("%s/none:%s", dir, dir), 1);
    flaw = test_run(&config, &result);
    if (*flaw) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    TEST_MUST(result.sys_errno == ENOENT && strstr(result.message, "prog") != NULL);
    sbx_free(&result);
    TEST_MUST(mkdir(test_text("%s/a", dir), 0755) == 0);
    TEST_MUST(mkdir(test_text("%s/b", dir), 0755) == 0);
    TEST_MUST(mkdir(test_text("%s/c", dir), 0755) == 0);
    TEST_MUST(mkdir(test_text("%s/a/prog", dir), 0755) == 0);
    test_write_file(test_text("%s/b", dir), "prog", "#!/bin/sh\necho b\n", 17, 0644);
    setenv("PATH", test_text("%s/none:%s/a:%s/b:%s/c", dir, dir, dir, dir), 1);
    flaw = test_run(&config, &result);
    if (*flaw) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    TEST_MUST(strstr(result.message, "prog") != NULL);
    sbx_free(&result);
    test_write_file(test_text("%s/c", dir), "prog", "#!/bin/sh\necho c\n", 17, 0755);
    flaw = test_run(&config, &result);
    if (*flaw) return flaw;
    if (result.verdict != SBX_OK || strcmp(result.out.data, "c\n") != 0)
        return test_text("%s: %s", result.message, result.out.data);
    sbx_free(&result);
    return "";
}

UTEST(attack, a34_wrong_files_on_the_path) {
    char dir[PATH_MAX];
    EXPECT_STREQ("", test_in_copy(run_with_path, (void *)(size_t)test_tmpdir(dir)));
    test_remove_tree(dir);
}
