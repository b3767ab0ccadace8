/* How a run is ended and how its end is noticed: deadline, grace, kill, cancel,
   what is left behind. */
#include "test.h"

#include <pthread.h>
#ifdef __linux__
#include <sys/fanotify.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#endif

/* ==== The deadline ============================================================================ */

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
    EXPECT_STREQ("", test_pattern_flaw(&result.out, 3000000, 3000000));
    sbx_free(&result);
    if (test_clock_can_move()) EXPECT_STREQ("", test_in_copy(without_a_timeout, NULL));
}

UTEST(pitfall, P17_deadline_covers_writing_stdin) {
    size_t size = 100 << 20;
    char *input = (char *)calloc(1, size);
    sbx_config config = {0};
    sbx_result result;
    ASSERT_TRUE(input != NULL);
    config.input = input;
    config.input_size = size;
    config.timeout_ms = 120;
    config.grace_ms = -1;
    result = RUN_CHILD(&config, "sleep"); /* never reads */
    EXPECT_EQ((int)SBX_TIMED_OUT, (int)result.verdict);
    EXPECT_LT(result.wall_us, 10000000LL);
    sbx_free(&result);
    result = RUN_CHILD(&config, "read_some", "100000", "stay"); /* reads some and stops */
    EXPECT_EQ((int)SBX_TIMED_OUT, (int)result.verdict);
    sbx_free(&result);
    config.timeout_ms = 18000;
    result = RUN_CHILD(&config, "read_some", "100000", "0"); /* leaves most of it */
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    sbx_free(&result);
    free(input);
}

#ifdef __linux__
typedef struct stuck {
    const char *dir;
    int by_fanotify; /* else by a lease */
    sbx_contain contain;
} stuck;

/* Whoever opens the program waits, as for a file server that does not answer, until this process
   has gone. Tells through the pipe whether it could be arranged. */
static void hold_up(const char *program, int by_fanotify, int ready) {
    char word = 'y';
    alarm(30);
    if (by_fanotify) {
        int group = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY);
        const unsigned long long on = FAN_OPEN_EXEC_PERM;
        if (group < 0 || fanotify_mark(group, FAN_MARK_ADD, on, AT_FDCWD, program) < 0) word = 'n';
    } else {
        int fd = open(program, O_RDONLY);
        signal(SIGIO, SIG_IGN); /* the kernel asks for the lease: no answer */
        if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK) < 0) word = 'n';
    }
    if (write(ready, &word, 1) != 1) _exit(1);
    for (;;) pause();
}

static const char *program_that_cannot_be_opened(void *arg) {
    const stuck *how = (const stuck *)arg;
    const char *flaw,
        *program = test_copy_of_child(how->dir, how->by_fanotify ? "asked" : "leased");
    const char *argv[] = {program, "exit", "0", NULL};
    sbx_config config = {0};
    sbx_result result;
    int ready[2], status;
    char word = 'n';
    pid_t holder;
    TEST_MUST(*program && pipe(ready) == 0);
    holder = fork();
    if (holder == 0) hold_up(program, how->by_fanotify, ready[1]);
    if (read(ready[0], &word, 1) != 1 || word != 'y') {
        kill(holder, SIGKILL);
        waitpid(holder, &status, 0);
        return "cannot hold it up";
    }
    config.argv = argv;
    config.contain = how->contain;
    config.timeout_ms = 120;
    config.grace_ms = 50;
    alarm(25);
    flaw = "";
    sbx_run(&config, &result);
    kill(holder, SIGKILL);
    waitpid(holder, &status, 0);
    if (result.verdict != SBX_TIMED_OUT && result.verdict != SBX_NOT_STARTED)
        flaw = test_text("verdict: %s", result.message);
    else if (result.wall_us > 15000000)
        flaw = "it was not the deadline that ended it";
    else if (result.verdict == SBX_TIMED_OUT)
        flaw = test_lacks(result.message, "120 ms");
    sbx_free(&result);
    if (*flaw) return flaw;
    TEST_MUST(!test_has_children());
    config.timeout_ms = 0;
    return test_runs_as(&config, argv, SBX_OK); /* the file itself is fine */
}
#endif

UTEST(pitfall, P18_deadline_covers_the_start) {
#ifdef __linux__
    char dir[PATH_MAX];
    stuck how;
    const char *flaw;
    int i, tried = 0;
    test_tmpdir(dir);
    how.dir = dir;
    for (i = 0; i < 4; i++) {
        how.by_fanotify = i / 2;
        how.contain = test_both[i % 2];
        flaw = test_in_copy(program_that_cannot_be_opened, &how);
        if (strcmp(flaw, "cannot hold it up") == 0) continue;
        tried++;
        EXPECT_STREQ("", flaw);
    }
    test_remove_tree(dir);
    if (!tried) UTEST_SKIP("neither leases nor fanotify here");
#else
    UTEST_SKIP("needs leases or fanotify");
#endif
}

/* The time is over while the child is still being made: timed out, or just done; nothing else. */
UTEST(host, deadline_passes_during_the_start) {
    int round, missing;
    for (round = 0; round < 80; round++)
        for (missing = 0; missing < 2; missing++) {
            sbx_config config = {0};
            sbx_result result;
            const char *const nothing[] = {"/no/such/program", NULL};
            config.argv = test_child_argv("exit", "0");
            if (missing) config.argv = nothing;
            config.contain = round % 2 ? SBX_CONTAIN_AUTO : SBX_CONTAIN_GROUP;
            config.timeout_ms = 1 + round % 4;
            TEST_RUN(&config, &result);
            if (result.verdict != SBX_TIMED_OUT)
                EXPECT_VERDICT(missing ? SBX_NOT_STARTED : SBX_OK, result);
            sbx_free(&result);
            if (*utest_result) return;
        }
}

/* Its own end is not the host's, however late the host asks. */
UTEST(host, asked_after_the_deadline) {
    int contain;
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_GROUP; contain++) {
        sbx_config config = {0};
        sbx_result result;
        sbx *box;
        config.argv = test_child_argv("raise", "9");
        config.contain = (sbx_contain)contain;
        config.timeout_ms = 1500; /* time enough to end in, on a busy machine, too */
        box = sbx_start(&config, &result);
        ASSERT_TRUE(box != NULL);
        test_sleep_ms(1600);
        EXPECT_EQ((int)SBX_CRASHED, (int)sbx_finish(box, &result));
        EXPECT_EQ(9, result.signal);
        sbx_free(&result);
    }
}

/* It ends by itself just when it is to be stopped: a normal race with two right answers. */
UTEST(pitfall, P15_gone_before_the_signal) {
    int i, ended = 0, stopped = 0;
    for (i = 0; i < 16; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.timeout_ms = 12;
        config.grace_ms = i % 2 ? -1 : 50;
        result = RUN_CHILD(&config, "sleep", test_text("%d", 4 + i), "3");
        EXPECT_TRUE(result.verdict == SBX_EXITED || result.verdict == SBX_TIMED_OUT);
        if (result.verdict == SBX_EXITED) EXPECT_EQ(3, result.exit_code);
        if (result.verdict == SBX_EXITED) ended++;
        else stopped++;
        sbx_free(&result);
    }
    EXPECT_GT(stopped, 0);
    EXPECT_EQ(16, ended + stopped);
}

/* It had ended before the reason to stop it came, though nobody had looked: its own verdict. */
static const char *ended_unnoticed(void *arg) {
    sbx_config config = {0};
    int i;
    config.contain = *(const sbx_contain *)arg;
    for (i = 0; i < (test_clock_can_move() ? 2 : 1); i++) {
        sbx_result result;
        siginfo_t info;
        sbx *box;
        config.argv = test_child_argv("say", "out", "err", "5");
        TEST_MUST((box = sbx_start(&config, &result)) != NULL);
        while (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
        }
        if (i == 0) sbx_cancel(box);
        else test_clock_skew_ms += 40000; /* long past its deadline */
        sbx_finish(box, &result);
        if (result.verdict != SBX_EXITED || result.exit_code != 5)
            return test_text("%s: %s", i ? "deadline" : "cancel", result.message);
        TEST_MUST(strcmp(result.out.data, "out") == 0 && strcmp(result.err.data, "err") == 0);
        sbx_free(&result);
    }
    return "";
}

UTEST(pitfall, P15_ended_before_there_was_a_reason) {
    int i;
    for (i = 0; i < 2; i++)
        EXPECT_STREQ("", test_in_copy(ended_unnoticed, (void *)(size_t)&test_both[i]));
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

/* ==== Terminate, grace, kill ================================================================== */

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

/* How far from 3,000 ms the grace can have been, as far as the clock could tell; -1 = it failed. */
static long long error_of_the_grace(const char **flaw) {
    sbx_config config = {0};
    sbx_result result;
    long long began, first, last, lived;
    sbx *box;
    int ready = 0;
    *flaw = "it did not stay for its grace, or did not die after it";
    test_clock_skew_ms = 0;
    config.argv = test_child_argv("ignore", "ignore");
    config.timeout_ms = 10000;
    config.on_output = note_that_it_spoke;
    config.user = &ready;
    began = test_now_ms();
    box = sbx_start(&config, &result);
    if (!box) return -1;
    while (!ready)
        if (sbx_poll(box, 2)) return -1;
    test_clock_skew_ms = 11000;
    first = test_now_ms();
    sbx_poll(box, 0); /* SIGTERM goes out between these two moments */
    last = test_now_ms();
    test_clock_skew_ms += 2900;
    if (sbx_poll(box, 50) && test_now_ms() < first + 3000) return -1;
    lived = test_now_ms() - last; /* so long at least */
    test_clock_skew_ms += last + 3001 - test_now_ms();
    if (sbx_finish(box, &result) != SBX_TIMED_OUT || result.signal != SIGKILL) return -1;
    if (!(result.evidence & SBX_SAW_GRACE_OVER)) return -1;
    sbx_free(&result);
    *flaw = "";
    last = began + result.wall_us / 1000 - first; /* so long at most */
    if (lived > 3000) lived = 3000; /* the machine stood still: nobody knows */
    return 3000 - lived > last - 3000 ? 3000 - lived : last - 3000;
}

static const char *default_grace(void *arg) {
    long long least = LLONG_MAX;
    int tries;
    (void)arg;
    for (tries = 0; tries < 5 && least > 200; tries++) {
        const char *flaw;
        long long off = error_of_the_grace(&flaw);
        if (*flaw) return flaw;
        if (off < least) least = off;
    }
    return least <= 200 ? "" : test_text("%lld ms off", least);
}

UTEST(seed, J8_default_grace_is_3_s) {
    if (!test_clock_can_move()) UTEST_SKIP("the clock cannot be moved in this build");
    EXPECT_STREQ("", test_in_copy(default_grace, NULL));
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

/* The leader dies of SIGTERM; the rest of the tree has the whole grace, and is killed then. */
UTEST(attack, a05_leader_leaves_the_stubborn_one_behind) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    ASSERT_TRUE(test_tether_open(&tether));
    config.argv = test_child_argv("ignore", "leave", tether.path);
    config.timeout_ms = SHORT_MS;
    config.grace_ms = 300;
    TEST_RUN_READY(&config, "ready\n", &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_EQ(SIGTERM, result.signal);
    EXPECT_TRUE(result.evidence & SBX_SAW_GRACE_OVER);
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

UTEST(pitfall, P32_child_that_stops_itself) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    config.grace_ms = 15000; /* SIGCONT lets it hear the SIGTERM */
    result = RUN_LATE(&config, "ready\n", "last_words", "4", "stop");
    EXPECT_STREQ("ready\nTERM\n", result.out.data);
    EXPECT_EQ(4, result.exit_code);
    EXPECT_FALSE(result.evidence & SBX_SAW_GRACE_OVER);
    sbx_free(&result);
    config.grace_ms = 100; /* it stops again: SIGKILL reaches it anyway */
    result = RUN_LATE(&config, "ready\n", "stop", "again");
    EXPECT_EQ(SIGKILL, result.signal);
    EXPECT_TRUE(result.evidence & SBX_SAW_GRACE_OVER);
    sbx_free(&result);
    ASSERT_TRUE(test_tether_open(&tether)); /* and its stopped children */
    config.timeout_ms = 0;
    result = RUN_CHILD(&config, "stop", "children", tether.path);
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_FALSE(test_tether_held(&tether));
    sbx_free(&result);
    EXPECT_TRUE(test_tether_close(&tether));
}

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

/* ==== Cancel, and boxes that are dropped ====================================================== */

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

/* However a box is left: the tree is gone, nothing is a zombie, nothing is kept. */
static const char *dropped(int state, const char *tether_path) {
    sbx_config config = {0};
    sbx_result result;
    test_host before;
    sbx *box;
    long blocks = test_live_blocks();
    int i;
    test_host_save(&before);
    config.grace_ms = 100;
    config.in = SBX_PIPE;
    config.argv = state == 3   ? test_child_argv("flood", "both")
                  : state == 4 ? test_child_argv("stop", "self")
                  : state == 5 ? test_child_argv("exit", "3")
                  : state == 6 ? test_child_argv("cat")
                               : test_child_argv("family", tether_path, "2", "stay", "stubborn");
    box = sbx_start(&config, &result);
    if (!box) return test_text("state %d: %s", state, result.message);
    if (state == 1) sbx_poll(box, 0);
    if (state == 2 || state == 4) sbx_poll(box, 60);
    if (state == 3) sbx_poll(box, 1);
    if (state == 5)
        while (!sbx_poll(box, 100)) {
        }
    for (i = 0; state == 6 && i < 100 && sbx_write(box, &config, sizeof config) > 0; i++) {
    }
    if (state != 7) sbx_cancel(box);
    if (state == 7) { /* stopping already: SIGTERM is out, the grace runs */
        sbx_cancel(box);
        sbx_poll(box, 20);
        sbx_close_input(box);
    }
    sbx_finish(box, state % 2 ? NULL : &result);
    if (state % 2 == 0) sbx_free(&result);
    TEST_MUST(test_live_blocks() == blocks);
    return test_host_diff(&before);
}

UTEST(pitfall, P39_dropping_a_box_leaves_nothing) {
    test_tether tether;
    int state;
    ASSERT_TRUE(test_tether_open(&tether));
    for (state = 0; state < 8; state++) {
        EXPECT_STREQ("", dropped(state, tether.path));
        EXPECT_FALSE(test_tether_held(&tether));
    }
    EXPECT_TRUE(test_tether_close(&tether));
}

/* ==== What is left behind ===================================================================== */

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

UTEST(pitfall, P01_grandchild_holds_the_pipe_after_the_kill) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    ASSERT_TRUE(test_tether_open(&tether));
    config.grace_ms = -1;
    result = RUN_LATE(&config, "family\n", "family", tether.path, "4", "stay", "stubborn");
    EXPECT_STREQ("family\n", result.out.data); /* what is there is drained */
    EXPECT_EQ(4L, test_tether_lines(&tether));
    EXPECT_FALSE(test_tether_held(&tether)); /* the tree is gone */
    sbx_free(&result);
    EXPECT_TRUE(test_tether_close(&tether));
}

/* One that left the group and holds the pipe: killed or not, nobody waits for its EOF. */
UTEST(pitfall, P01_escaped_grandchild_holds_the_pipe_after_the_kill) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    long long before;
    ASSERT_TRUE(test_tether_open(&tether));
    config.contain = SBX_CONTAIN_GROUP;
    config.grace_ms = -1;
    before = test_now_ms();
    result = RUN_LATE(&config, "away\n", "escape", "setsid", tether.path, "stay", "hold");
    EXPECT_STREQ("away\n", result.out.data);
    EXPECT_TRUE(test_tether_held(&tether)); /* the group is all that was asked for */
    EXPECT_LT(test_now_ms() - before, 15000LL);
    sbx_free(&result);
    EXPECT_TRUE(test_tether_close(&tether));
}

UTEST(pitfall, P02_child_exits_0_and_leaves_one_behind) {
    static const char *const codes[] = {"0", "3"};
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    int i;
    config.timeout_ms = 18000;
    for (i = 0; i < 2; i++) {
        ASSERT_TRUE(test_tether_open(&tether));
        result = RUN_CHILD(&config, "family", tether.path, "3", codes[i], "stubborn");
        EXPECT_EQ(i ? (int)SBX_EXITED : (int)SBX_OK, (int)result.verdict);
        EXPECT_EQ(i ? 3 : 0, result.exit_code);
        EXPECT_EQ(1, result.certain);
        EXPECT_STREQ("family\n", result.out.data);
        EXPECT_EQ(3L, test_tether_lines(&tether));
        EXPECT_FALSE(test_tether_held(&tether)); /* the leftover is killed */
        EXPECT_LT(result.wall_us, 10000000LL);   /* not the 20 s of its life */
        sbx_free(&result);
        EXPECT_TRUE(test_tether_close(&tether));
    }
    ASSERT_TRUE(test_tether_open(&tether)); /* one that cannot be killed with the group */
    config.contain = SBX_CONTAIN_GROUP;
    result = RUN_CHILD(&config, "escape", "setsid", tether.path, "0", "hold");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_STREQ("away\n", result.out.data);
    EXPECT_LT(result.wall_us, 10000000LL);
    sbx_free(&result);
    EXPECT_TRUE(test_tether_close(&tether));
}

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

/* ==== The end is noticed, and nobody spins until then ========================================= */

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

/* No pipe tells of the end: there is none, or it closed long ago, or somebody else holds it. */
UTEST(pitfall, P03_exit_is_noticed_without_pipes) {
    sbx_config config = {0};
    sbx_result result;
    config.timeout_ms = 18000;
    config.out = config.err = SBX_DISCARD;
    result = RUN_CHILD(&config, "sleep", "50", "3");
    EXPECT_EQ(3, result.exit_code);
    EXPECT_LT(result.wall_us, 10000000LL);
    sbx_free(&result);
    config.out = config.err = SBX_DEFAULT;
    result = RUN_CHILD(&config, "close_out", "50", "4");
    EXPECT_EQ(4, result.exit_code);
    EXPECT_STREQ("before\n", result.out.data);
    EXPECT_LT(result.wall_us, 10000000LL);
    sbx_free(&result);
    config.in = SBX_PIPE;
    {
        sbx *box;
        config.argv = test_child_argv("sleep", "50", "5");
        box = sbx_start(&config, &result);
        ASSERT_TRUE(box != NULL);
        EXPECT_EQ(1, sbx_poll(box, 15000)); /* with its stdin open all the time */
        EXPECT_EQ((int)SBX_EXITED, (int)sbx_finish(box, &result));
        EXPECT_EQ(5, result.exit_code);
        sbx_free(&result);
    }
}

UTEST(pitfall, P33_child_closes_its_streams_and_runs_on) {
    sbx_config config = {0};
    sbx_result result;
    config.grace_ms = -1;
    result = RUN_LATE(&config, "before\n", "close_out");
    EXPECT_STREQ("before\n", result.out.data);
    sbx_free(&result);
    config.argv = NULL;
    config.timeout_ms = 150;
    config.command = "exec <&- >&- 2>&-; exec sleep 15";
    config.input = "never read";
    config.input_size = 10;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_TIMED_OUT, (int)result.verdict);
    sbx_free(&result);
}

#ifdef __linux__
static const char *quiet_runs(void *arg) {
    static char input[300000];
    sbx_config config = {0};
    (void)arg;
    config.timeout_ms = 150;
    config.grace_ms = -1;
    config.argv = test_child_argv("close_out"); /* closed pipes are "ready" for ever */
    TEST_MUST(sbx_run(&config, NULL) == SBX_TIMED_OUT);
    config.input = input;
    config.input_size = sizeof input;
    config.argv = test_child_argv("sleep"); /* a full stdin is not */
    TEST_MUST(sbx_run(&config, NULL) == SBX_TIMED_OUT);
    config.argv = test_child_argv("read_some", "1", "close"); /* one that is gone, neither */
    TEST_MUST(sbx_run(&config, NULL) == SBX_TIMED_OUT);
    return "";
}

static const char *watch_quiet_runs(void *arg) {
    test_trace *t = test_trace_new();
    const char *flaw;
    int i, calls = 0;
    (void)arg;
    TEST_MUST(t != NULL);
    flaw = test_traced_copy(t, quiet_runs, NULL);
    if (*flaw) return flaw;
    for (i = 0; i < t->count; i++) {
        calls += !t->at[i].child && t->at[i].number == SYS_pselect6;
#ifdef SYS_select
        calls += !t->at[i].child && t->at[i].number == SYS_select;
#endif
    }
    if (t->lost || calls > 1000) return test_text("%d times round in half a second", calls);
    return calls < 6 ? "nothing was seen" : "";
}
#endif

/* Waiting is not spinning: a loop that asks the same question again would show in the calls. */
UTEST(pitfall, P33_waiting_does_not_spin) {
#ifdef __linux__
    const char *flaw = test_in_copy(watch_quiet_runs, NULL);
    if (strcmp(flaw, "cannot trace") == 0) UTEST_SKIP("no ptrace here");
    EXPECT_STREQ("", flaw);
#else
    UTEST_SKIP("needs ptrace");
#endif
}

/* ==== Signals reach nobody else =============================================================== */

/* Ends of every kind, for whoever watches the calls. */
static const char *many_ends(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    config.contain = *(sbx_contain *)arg;
    config.grace_ms = 50;
    config.argv = test_child_argv("exit", "0");
    TEST_MUST(sbx_run(&config, NULL) == SBX_OK);
    config.argv = test_child_argv("raise", "9");
    TEST_MUST(sbx_run(&config, NULL) == SBX_CRASHED);
    config.argv = missing;
    TEST_MUST(sbx_run(&config, NULL) == SBX_NOT_STARTED);
    config.argv = NULL;
    config.command = "sleep 15 & exit 0";
    TEST_MUST(sbx_run(&config, NULL) == SBX_OK);
    config.command = NULL;
    config.timeout_ms = 100;
    config.argv = test_child_argv("sleep");
    TEST_MUST(sbx_run(&config, NULL) == SBX_TIMED_OUT);
    config.argv = test_child_argv("ignore", "ignore");
    TEST_MUST(sbx_run(&config, NULL) == SBX_TIMED_OUT);
    config.grace_ms = -1;
    TEST_MUST(sbx_run(&config, NULL) == SBX_TIMED_OUT);
    config.timeout_ms = 0;
    config.output_bytes = 10;
    config.argv = test_child_argv("flood", "out");
    TEST_MUST(sbx_run(&config, NULL) == SBX_OUTPUT_LIMIT);
    config.argv = test_child_argv("sleep");
    TEST_MUST((box = sbx_start(&config, &result)) != NULL);
    sbx_cancel(box);
    TEST_MUST(sbx_finish(box, NULL) == SBX_CANCELLED);
    config.argv = test_child_argv("exit", "1");
    TEST_MUST((box = sbx_start(&config, &result)) != NULL);
    while (!sbx_poll(box, 100)) {
    }
    sbx_cancel(box); /* too late: nobody may be signalled */
    TEST_MUST(sbx_poll(box, 0) == 1);
    TEST_MUST(sbx_finish(box, NULL) == SBX_EXITED);
    return "";
}

#ifdef __linux__
#define PIDS 200
typedef struct known {
    long pid;
    int reaped;
} known;

static known *known_pid(known *all, int count, long pid) {
    int i;
    for (i = count - 1; i >= 0; i--)
        if (all[i].pid == pid) return &all[i];
    return NULL;
}

/* "" = every signal went to a child that nobody had collected yet, and never to 0, 1 or -1. */
static const char *signals_flaw(const test_trace *t) {
    static known all[PIDS];
    int i, count = 0, signals = 0, reaped = 0;
    for (i = 0; i < t->count; i++) {
        const test_traced_call *c = &t->at[i];
        int made = c->number == SYS_clone;
        if (c->child || !c->seen) continue;
#ifdef SYS_clone3
        made |= c->number == SYS_clone3;
#endif
#ifdef SYS_fork
        made |= c->number == SYS_fork || c->number == SYS_vfork;
#endif
        if (made && c->result > 0 && count < PIDS) {
            all[count].pid = (long)c->result;
            all[count++].reaped = 0;
        }
        if (c->number == SYS_wait4 && c->result > 0) {
            known *who = known_pid(all, count, (long)c->result);
            if (who) who->reaped = 1, reaped++;
        }
        if (c->number == SYS_kill && (int)c->args[1] != 0) {
            int target = (int)c->args[0];
            known *who = known_pid(all, count, target < 0 ? -(long)target : target);
            signals++;
            if (target >= -1 && target <= 1) return test_text("kill(%d)", target);
            if (!who) return test_text("kill(%d), who is none of ours", target);
            if (who->reaped) return test_text("kill(%d) after it was collected", target);
        }
        if (c->number == 424) signals++; /* pidfd_send_signal: cannot miss */
    }
    if (t->lost) return "too many calls to see them all";
    return signals < 5 || reaped < 5 ? test_text("only %d signals, %d ends", signals, reaped) : "";
}

static const char *watch_signals(void *arg) {
    test_trace *t = test_trace_new();
    const char *flaw;
    TEST_MUST(t != NULL);
    flaw = test_traced_copy(t, many_ends, arg);
    return *flaw ? flaw : signals_flaw(t);
}
#endif

UTEST(pitfall, P14_signals_go_to_uncollected_children_only) {
#ifdef __linux__
    sbx_contain contain = SBX_CONTAIN_GROUP;
    const char *flaw = test_in_copy(watch_signals, &contain);
    if (strcmp(flaw, "cannot trace") == 0) UTEST_SKIP("no ptrace here");
    EXPECT_STREQ("", flaw);
#else
    UTEST_SKIP("needs ptrace");
#endif
}

static volatile sig_atomic_t stray_signals;
static void count_stray(int number) {
    (void)number;
    stray_signals++;
}

/* The host, and somebody in its group and session, see none of the signals. */
static const char *bystanders(void *arg) {
    static const int watched[] = {SIGTERM, SIGCONT, SIGHUP, SIGINT, SIGPIPE};
    int ready[2], go[2], status;
    unsigned i;
    char byte;
    pid_t other;
    const char *flaw;
    TEST_MUST(pipe(ready) == 0 && pipe(go) == 0);
    for (i = 0; i < sizeof watched / sizeof *watched; i++) signal(watched[i], count_stray);
    other = fork();
    if (other == 0) {
        close(go[1]);
        if (write(ready[1], "r", 1) != 1) _exit(99);
        while (read(go[0], &byte, 1) < 0 && errno == EINTR) {
        }
        _exit(stray_signals ? 1 : 0);
    }
    TEST_MUST(read(ready[0], &byte, 1) == 1);
    flaw = many_ends(arg);
    close(go[1]);
    TEST_MUST(waitpid(other, &status, 0) == other);
    if (*flaw) return flaw;
    TEST_MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    TEST_MUST(stray_signals == 0);
    return "";
}

UTEST(pitfall, P14_bystanders_get_no_signal) {
    sbx_contain contain = SBX_CONTAIN_GROUP;
    EXPECT_STREQ("", test_in_copy(bystanders, &contain));
    contain = SBX_CONTAIN_AUTO;
    EXPECT_STREQ("", test_in_copy(bystanders, &contain));
}

/* ==== Grace =================================================================================== */

/* Who uses too much memory would use the grace to use more. */
UTEST(stop, memory_hog_gets_no_grace) {
    sbx_config config = {0};
    sbx_result result;
    if (!test_has_watch()) UTEST_SKIP("memory_bytes is the address space there");
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

/* Nor does who begins with it while he has the grace for something else. */
UTEST(stop, memory_hog_loses_the_grace_it_has) {
    sbx_config config = {0};
    sbx_result result;
    char word[8];
    sbx *box;
    if (!test_has_watch()) UTEST_SKIP("memory_bytes is the address space there");
    config.argv = (const char *const[]){
        "sh", "-c", "trap '' TERM; echo r; read go; exec \"$0\" memory own 300 1 6000",
        test_child(), NULL};
    config.contain = SBX_CONTAIN_GROUP;
    config.memory_bytes = 100 * MB;
    config.grace_ms = 20000;
    config.timeout_ms = LONG_MS;
    config.in = SBX_PIPE;
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    while (sbx_read(box, SBX_STDOUT, word, 2) == 0) sbx_poll(box, 100);
    sbx_cancel(box);
    EXPECT_EQ(0, sbx_poll(box, 1));
    EXPECT_EQ(3LL, sbx_write(box, "go\n", 3));
    EXPECT_EQ((int)SBX_CANCELLED, (int)sbx_finish(box, &result));
    EXPECT_EQ_MSG(SIGKILL, result.signal, result.message); /* it would end by itself after 6 s */
    sbx_free(&result);
}

/* Who tried what is forbidden does nothing more, not even in a handler. */
UTEST(stop, denied_one_gets_no_grace) {
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    sbx_caps caps;
    sbx_probe(&caps);
    if (!caps.policy) UTEST_SKIP(caps.policy_why);
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
    for (grace = 250; grace < 10000; grace *= 3) { /* longer, if it did not get that far */
        config.argv = test_child_argv("net", "flood_and_burn", "5000");
        config.contain = SBX_CONTAIN_GROUP;
        config.output_bytes = 1000;
        config.cpu_ms = 100;
        config.grace_ms = grace;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_OUTPUT_LIMIT, result);
        EXPECT_FALSE(result.evidence & SBX_SAW_CPU_SUM);
        sbx_free(&result);
        if (result.user_us + result.system_us > 150000) break;
    }
    EXPECT_GT(result.user_us + result.system_us, 150000LL); /* else this meant nothing */
}

/* ==== Waiting ================================================================================= */

/* In the grace there is nothing to do but to wait. */
UTEST(stop, grace_costs_the_host_nothing) {
    long long least = LLONG_MAX;
    int tries;
    for (tries = 0; tries < 3 && least > 40000; tries++) {
        sbx_config config = {0};
        sbx_result result;
        long long used;
        config.argv = test_child_argv("ignore", "ignore");
        config.contain = SBX_CONTAIN_GROUP;
        config.timeout_ms = 50;
        config.grace_ms = 350;
        used = test_host_cpu_us();
        sbx_run(&config, &result);
        used = test_host_cpu_us() - used;
        EXPECT_VERDICT(SBX_TIMED_OUT, result);
        sbx_free(&result);
        if (used < least) least = used;
    }
    EXPECT_LE(least, 40000LL); /* of 400,000 */
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

/* ==== The grace is the tree's ================================================================= */

/* The shell dies of SIGTERM at once; its program has the grace all the same. */
static void grace_of(sbx_contain contain, const char *how, sbx_result *result) {
    sbx_config config = {0};
    config.command = test_text("%s tidy %s & %s sleep 20000; exit 0", test_child(), how,
                               test_child());
    config.contain = contain;
    config.grace_ms = 20000;
    config.timeout_ms = SHORT_MS;
    if (*test_run_ready(&config, "ready\n", result)) result->verdict = SBX_LOST;
}

UTEST(pitfall, P41_the_programs_of_a_command_have_their_grace) {
    static const sbx_contain contain[] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};
    static const char *const how[] = {"plain", "stopped"};
    int i;
    for (i = 0; i < 4; i++) {
        sbx_result result;
        grace_of(contain[i % 2], how[i / 2], &result);
        EXPECT_VERDICT(SBX_TIMED_OUT, result);
        EXPECT_STREQ("ready\ntidied\n", result.out.data);
        EXPECT_FALSE(result.evidence & SBX_SAW_GRACE_OVER); /* nobody was left before it was over */
        sbx_free(&result);
    }
}

/* Waits for a signal: no time is over, and nothing is said. */
static int waits_in_call(void *arg, void *ret, size_t ret_size) {
    (void)arg, (void)ret, (void)ret_size;
    for (;;) pause();
    return 0;
}

/* The time is over while the child still prepares itself: what it is told then is not forgotten
   with the signals of the host's group. */
UTEST(stop, the_grace_is_not_lost_on_a_child_that_has_not_begun) {
    int i;
    for (i = 0; i < 120; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.contain = i % 2 ? SBX_CONTAIN_AUTO : SBX_CONTAIN_GROUP;
        config.timeout_ms = 1 + i / 4 % 2;
        config.grace_ms = 20000;
        if (i / 2 % 2) {
            sbx_call(&config, waits_in_call, NULL, NULL, 0, &result);
        } else {
            config.argv = test_child_argv("sleep", "60000");
            sbx_run(&config, &result);
        }
        if (result.verdict == SBX_NOT_STARTED && strstr(result.message, "SBX_NO_CALL")) continue;
        ASSERT_EQ_MSG((int)SBX_TIMED_OUT, (int)result.verdict, result.message);
        ASSERT_FALSE_MSG(result.evidence & SBX_SAW_GRACE_OVER, i % 4 < 2 ? "program" : "function");
        sbx_free(&result);
    }
}

UTEST(pitfall, P42_a_worker_in_its_own_session_is_told) {
    sbx_config config = {0};
    sbx_result result;
    sbx_caps caps;
    sbx_probe(&caps);
    if (!caps.tree) UTEST_SKIP("needs a tree");
    config.argv = test_child_argv("tidy", "setsid");
    config.contain = SBX_CONTAIN_TREE;
    config.grace_ms = 20000;
    config.timeout_ms = SHORT_MS;
    TEST_RUN_READY(&config, "ready\n", &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_STREQ("ready\ntidied\n", result.out.data);
    EXPECT_EQ(SIGTERM, result.signal);
    sbx_free(&result);
}

/* The time is over before the program can begin, and then the host gives it more: it was too late.
   What its own timer did is no crash. */
UTEST(stop, more_time_after_the_end_is_no_crash) {
    sbx_policy policy = {0};
    sbx_caps caps;
    int i;
    sbx_probe(&caps);
    for (i = 0; i < 60; i++) {
        sbx_config config = {0};
        sbx_result result;
        sbx *box;
        config.argv = test_child_argv("sleep", "3");
        config.contain = i % 2 ? SBX_CONTAIN_AUTO : SBX_CONTAIN_GROUP;
        config.timeout_ms = 1 + i % 3;
        if (caps.policy && i % 2) config.policy = &policy; /* its start takes longer */
        box = sbx_start(&config, &result);
        ASSERT_TRUE_MSG(box != NULL, result.message);
        sbx_set_timeout(box, LONG_MS);
        sbx_finish(box, &result);
        EXPECT_TRUE_MSG(result.verdict == SBX_TIMED_OUT || result.verdict == SBX_OK,
                        result.message);
        sbx_free(&result);
    }
}

/* A program that has ended gets no more time, also if nobody has looked yet. */
UTEST(stop, an_ended_program_gets_no_more_time) {
    sbx_config config = {0};
    sbx_result result;
    siginfo_t info;
    int pid;
    sbx *box;
    config.argv = test_child_argv("exit", "0");
    box = sbx_start(&config, &result);
    ASSERT_TRUE_MSG(box != NULL, result.message);
    pid = sbx_pid(box); /* 0 = sbx_start has seen the end */
    if (pid > 0) EXPECT_EQ(0, waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
    EXPECT_EQ(0, sbx_set_timeout(box, LONG_MS));
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    sbx_free(&result);
}

/* It wrote too much and had ended when the host read that: nobody stopped it. */
UTEST(stop, an_ended_program_was_not_stopped) {
    int i;
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        siginfo_t info;
        sbx *box;
        int pid;
        config.argv = test_child_argv("cat"); /* sbx_start reads, too: nothing comes before it is over */
        config.in = SBX_PIPE;
        config.contain = test_both[i];
        config.output_bytes = 11;
        box = sbx_start(&config, &result);
        ASSERT_TRUE_MSG(box != NULL, result.message);
        pid = sbx_pid(box);
        EXPECT_EQ(12, sbx_write(box, "twelve bytes", 12));
        sbx_close_input(box);
        EXPECT_EQ(0, waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
        EXPECT_EQ((int)SBX_OUTPUT_LIMIT, (int)sbx_finish(box, &result));
        EXPECT_EQ(0, result.exit_code);
        EXPECT_EQ(1, result.certain);
        EXPECT_TRUE_MSG(strstr(result.message, "stopped") == NULL, result.message);
        sbx_free(&result);
    }
}

/* A program that has ended keeps its verdict, although only its tracer can see the end. */
UTEST(stop, end_that_a_tracer_holds_is_no_time_out) {
    sbx_config config = {0};
    sbx_result result;
#if defined(SBX_NO_LINUX) || !defined(__linux__)
    UTEST_SKIP("needs a pidfd: nothing else shows an end that the parent cannot see");
#endif
    config.contain = SBX_CONTAIN_GROUP;
    config.timeout_ms = LONG_MS / 2;
    config.argv = test_child_argv("held", "7");
    TEST_RUN(&config, &result);
    if (result.exit_code == 93) UTEST_SKIP("nobody can be traced here");
    EXPECT_VERDICT(SBX_EXITED, result);
    EXPECT_EQ(7, result.exit_code);
    sbx_free(&result);
}

/* ==== Output in packets ======================================================================= */

/* A packet behind ordinary bytes: a read that takes both must have room for both. */
UTEST(stop, packets_behind_bytes_are_not_cut_unnoticed) {
    int i;
    for (i = 0; i < 6; i++) {
        sbx_config config = {0};
        sbx_result result;
        sbx *box;
        config.argv = test_child_argv("packets", "1", "4096", "4095");
        config.contain = i % 2 ? SBX_CONTAIN_AUTO : SBX_CONTAIN_GROUP;
        config.output_bytes = i < 3 ? 6000 : 10000;
        box = sbx_start(&config, &result);
        ASSERT_TRUE_MSG(box != NULL, result.message);
        test_sleep_ms(50); /* so that all of it is in the pipe, if the machine lets it */
        sbx_finish(box, &result);
        if (result.exit_code == 9) UTEST_SKIP("no pipes of packets here");
        EXPECT_TRUE_MSG(result.out.total == 8191 || !result.certain, result.message);
        EXPECT_TRUE_MSG(i >= 3 || result.verdict == SBX_OUTPUT_LIMIT || !result.certain,
                        result.message);
        sbx_free(&result);
    }
}

UTEST(pitfall, P46_packets_neither_lose_bytes_nor_dodge_the_cap) {
    sbx_config config = {0};
    sbx_result result;
#ifndef __linux__
    UTEST_SKIP("packet mode is Linux's");
#endif
    config.argv = test_child_argv("packets", "40", "4096");
    TEST_RUN(&config, &result);
    if (result.exit_code == 9) UTEST_SKIP("no packet mode");
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ((size_t)(40 * 4096), result.out.size);
    sbx_free(&result);
    config.argv = test_child_argv("packets", "12", "4097");
    config.output_bytes = 100;
    config.truncate_output = SBX_KEEP_FIRST;
    TEST_RUN(&config, &result);
    sbx_free(&result);
    config.argv = test_child_argv("packets", "12", "4096");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ((size_t)100, result.out.size);
    EXPECT_EQ(12 * 4096, (int)result.out.total);
    EXPECT_TRUE(result.out.truncated);
    sbx_free(&result);
    config.truncate_output = 0;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OUTPUT_LIMIT, result);
    sbx_free(&result);
}

/* ==== Looking too late ======================================================================== */

/* The program ended by itself, but nobody looked until the deadline was over. */
UTEST(stop, a_late_look_is_not_certain) {
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    siginfo_t info;
    config.argv = test_child_argv("sleep", "200", "0"); /* it is still there when it has started */
    config.contain = SBX_CONTAIN_GROUP;
    config.timeout_ms = 1500;
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL && sbx_pid(box) > 0);
    waitid(P_PID, (id_t)sbx_pid(box), &info, WEXITED | WNOWAIT);
    test_sleep_ms(1600);
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    EXPECT_FALSE(result.certain);
    EXPECT_TRUE(result.evidence & SBX_SAW_BLIND);
    sbx_free(&result);
    config.timeout_ms = 20000; /* in time it is */
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    EXPECT_TRUE(result.certain);
    sbx_free(&result);
}

/* ==== What cannot be killed =================================================================== */

#ifdef __linux__
#include <sys/mount.h>

/* A file system whose server takes a request and never answers: who asked cannot be killed. The
   server is this process; it ends the wait by closing its descriptor. */
static const char *stuck_in_the_kernel(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    char dir[PATH_MAX], options[128], request[65536];
    const char *answer = "";
    long long begun;
    sbx *box;
    int fuse, contain = *(const int *)arg, i, taken = 0;
    fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fuse < 0) return "skip: no /dev/fuse";
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
    test_tmpdir(dir);
    if (mount("sbx-test", dir, "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
        close(fuse);
        test_remove_tree(dir);
        return "skip: fuse cannot be mounted";
    }
    config.command = NULL;
    config.contain = (sbx_contain)contain;
    config.timeout_ms = 500;
    config.grace_ms = -1;
    begun = test_now_ms();
    config.argv = (const char *const[]){"/bin/ls", dir, NULL};
    box = sbx_start(&config, &result);
    if (box == NULL) answer = test_text("not started: %s", result.message);
    for (i = 0; box && i < 400 && taken < 2; i++) { /* the first question is answered: it begins */
        unsigned opcode, reply[10] = {40, 0, 0, 0, 7, 19, 0, 0, 0, 4096};
        if (read(fuse, request, sizeof request) <= 0) {
            if (sbx_poll(box, 5)) break;
            continue;
        }
        memcpy(&opcode, request + 4, 4);
        memcpy(reply + 2, request + 8, 8); /* the number of the question */
        if (opcode == 26 && write(fuse, reply, sizeof reply) < 0) break; /* FUSE_INIT */
        taken++;
    }
    if (box) {
        sbx_finish(box, &result);
        if (!(result.evidence & SBX_SAW_STUCK) && test_now_ms() - begun > 4000)
            answer = test_text("late, and no word of it: %s", result.message);
        else if (test_now_ms() - begun > 20000) answer = "it took too long";
        else if (result.evidence & SBX_SAW_STUCK && !strstr(result.message, "stuck"))
            answer = test_text("the message: %s", result.message);
        else if (!(result.evidence & SBX_SAW_STUCK)) answer = "skip: it could be killed";
        sbx_free(&result);
    }
    umount2(dir, MNT_DETACH);
    close(fuse); /* those who wait get an error, and die */
    for (i = 0; i < 400 && waitpid(-1, NULL, WNOHANG | 0x40000000) >= 0; i++) test_sleep_ms(10);
    test_remove_tree(dir);
    return answer;
}
#endif

UTEST(pitfall, P50_a_process_stuck_in_the_kernel_does_not_hold_the_host_slow) {
#ifdef __linux__
    int contain;
    if (!getenv("SBX_TEST_SLOW")) UTEST_SKIP("takes 12 s: make check");
    if (geteuid() != 0) UTEST_SKIP("only root can mount such a file system");
    for (contain = 0; contain < 2; contain++) {
        const char *answer = test_in_copy(stuck_in_the_kernel, &contain);
        if (strncmp(answer, "skip: ", 6) == 0) UTEST_SKIP("no way to get stuck here");
        EXPECT_STREQ("", answer);
    }
#else
    UTEST_SKIP("FUSE is Linux's");
#endif
}

/* ==== Found from outside ====================================================================== */

/* Nobody has polled since it ended. */
UTEST(stop, who_has_ended_gets_no_signal_and_has_no_number) {
    int i;
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        sbx *box;
        int tries;
        config.argv = test_child_argv("exit", "3");
        config.contain = test_both[i];
        box = sbx_start(&config, &result);
        ASSERT_TRUE(box != NULL);
        for (tries = 0; tries < 2000 && sbx_pid(box) != 0; tries++) test_sleep_ms(5);
        EXPECT_EQ(0, sbx_pid(box));
        EXPECT_EQ(0, sbx_signal(box, SIGTERM));
        EXPECT_EQ((int)SBX_EXITED, (int)sbx_finish(box, &result));
        EXPECT_EQ(3, result.exit_code);
        sbx_free(&result);
    }
}
