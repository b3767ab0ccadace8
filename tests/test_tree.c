/* The whole tree: nothing of it gets away, nothing of it is overlooked, and an ordinary program
   does not notice that it lives in one. */
#include "test.h"

#include <poll.h>

#include <dirent.h>
#include <grp.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#endif

/* ==== Refused where there is none ============================================================= */

#ifndef __linux__
UTEST(tree, nothing_contains_one_here) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("exit", "0");
    config.contain = SBX_CONTAIN_TREE;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ(SBX_STEP_CONTAIN, (int)result.step);
    sbx_free(&result);
}
#endif

#ifdef __linux__
UTEST(tree, refused_where_there_is_none) {
    sbx_config config = {0};
    sbx_result result;
    if (test_tree_is_possible()) UTEST_SKIP("there is one here");
    config.argv = test_child_argv("exit", "0");
    config.contain = SBX_CONTAIN_TREE;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ(SBX_STEP_CONTAIN, (int)result.step);
    EXPECT_NE((char *)NULL, strstr(result.message, "SBX_CONTAIN_TREE"));
    sbx_free(&result);
    config.contain = SBX_CONTAIN_AUTO;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_FALSE(result.enforced & SBX_BY_TREE);
    sbx_free(&result);
}
#endif

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
        EXPECT_TRUE(test_has_tree());
    }
    sbx_free(&result);
}

/* ==== Leaving the group ======================================================================= */

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
                if (i >= 2 && (!tree || !test_has_tree())) continue; /* the next test */
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

/* ==== Signals out of the box ================================================================== */

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

/* A descendant kills all of the tree but pid 1: that is a crash of the program, nothing more. */
UTEST(tree, a28_kill_all_reaches_the_tree_only) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    char space[64];
    ssize_t size;
    NEED_TREE();
    size = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    ASSERT_GT(size, 0);
    space[size] = 0;
    ASSERT_TRUE(test_tether_open(&tether));
    config.argv = test_child_argv("tree_hostile", "all", tether.path, "stay", space);
    config.contain = SBX_CONTAIN_TREE;
    config.timeout_ms = LONG_MS;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CRASHED, result);
    EXPECT_EQ(SIGKILL, result.signal);
    EXPECT_EQ((char *)NULL, strstr(result.out.data, "not here"));
    EXPECT_FALSE(test_tether_held(&tether));
    EXPECT_TRUE(test_tether_close(&tether));
    sbx_free(&result);
}
#endif

/* ==== Leaving, staying, refusing to die ======================================================= */

#ifdef __linux__
static const char *kill_many(void *arg) {
    const char *const *how_many = (const char *const *)arg;
    long long ms = time_to_kill(how_many[0], how_many[1]);
    TEST_MUST(ms >= 0);
    return ms < 5000 ? "" : test_text("took %lld ms", ms); /* a second, and slow machines */
}

static const char *killing(const char *how, const char *many) {
    const char *how_many[2];
    corral c;
    how_many[0] = how;
    how_many[1] = many;
    memset(&c, 0, sizeof c);
    c.host = kill_many;
    c.arg = (void *)how_many;
    return in_corral(&c);
}

UTEST(tree, a04_kills_300_forking_processes) {
    NEED_TREE();
    EXPECT_WELL(killing("relay+setsid", "300"));
    EXPECT_WELL(killing("spin+setsid", "50"));
}

static const char *attacks_in_corral(int number) {
    corral c;
    memset(&c, 0, sizeof c);
    c.host = host_of_attacks;
    c.arg = &number;
    return in_corral(&c);
}

#define TREE_ATTACK(name, number)                                                                  \
    UTEST(tree, name) {                                                                            \
        NEED_TREE();                                                                               \
        EXPECT_WELL(attacks_in_corral(number));                                                    \
    }

TREE_ATTACK(a01_setsid, 1)
TREE_ATTACK(a02_daemon, 2)
TREE_ATTACK(a03_setpgid, 3)
TREE_ATTACK(a04_fork_bomb, 4)
TREE_ATTACK(a05_ignores_signals, 5)
TREE_ATTACK(a06_stops_itself, 6)
TREE_ATTACK(a07_stops_its_children, 7)
TREE_ATTACK(a08_clone_parent, 8)
TREE_ATTACK(a09_closes_its_streams, 9)
TREE_ATTACK(a10_grandchild_with_the_pipes, 10)
TREE_ATTACK(a37_meddles_with_pid_1, 37)
#endif

/* ==== The host dies =========================================================================== */

#ifdef __linux__
static const char *host_dies(const char *how, int death, int kill_after_us, int threads) {
    size_t i;
    int ran = 0;
    for (i = 0; i < doomed_attack_count; i++) {
        const tree_attack *a = &doomed_attacks[i];
        const char *flaw;
        if (how && strcmp(a->how, how) != 0) continue;
        flaw = tree_host_dies(a, death, kill_after_us, threads, NULL);
        if (*flaw) return test_text("%s: %s", a->name, flaw);
        ran++;
    }
    return ran ? "" : "no such attack";
}

#define HOST_IS_KILLED(name, how)                                                                  \
    UTEST(tree, a37_host_is_killed_##name) {                                                       \
        NEED_TREE();                                                                               \
        EXPECT_WELL(host_dies(how, DIES_BY_KILL, -1, 0));                                          \
    }

HOST_IS_KILLED(setsid, "setsid")
HOST_IS_KILLED(daemon, "daemon")
HOST_IS_KILLED(clone_parent, "parent")
HOST_IS_KILLED(clone_parent_setsid, "parent_setsid")
HOST_IS_KILLED(stubborn, "stay+setsid+stubborn")
HOST_IS_KILLED(forking, "relay+setsid")
HOST_IS_KILLED(spinning, "spin+setsid")
HOST_IS_KILLED(stopped, "children")
HOST_IS_KILLED(nested, "nested")

/* Documented: root stays root, and can hold pid 1 or its pipe. */
#define HOST_IS_KILLED_BUT_ROOTS(name, how)                                                        \
    UTEST(tree, a37_host_is_killed_##name) {                                                       \
        NEED_TREE();                                                                               \
        if (geteuid() == 0) UTEST_SKIP("a root program can keep pid 1 alive");                     \
        EXPECT_WELL(host_dies(how, DIES_BY_KILL, -1, 0));                                          \
    }

HOST_IS_KILLED_BUT_ROOTS(pipe_of_pid_1_held, "fds")
HOST_IS_KILLED(descriptors_stolen, "steal")
HOST_IS_KILLED_BUT_ROOTS(pid_1_traced, "seize")
HOST_IS_KILLED_BUT_ROOTS(pid_1_attached, "attach")
HOST_IS_KILLED(pid_1_stopped, "stop")
HOST_IS_KILLED(pid_1_starved, "idle")
HOST_IS_KILLED_BUT_ROOTS(host_reached_for, "host")

UTEST(tree, a37_host_ends_in_other_ways) {
    NEED_TREE();
    EXPECT_WELL(host_dies("setsid", DIES_BY_ABORT, -1, 0));
    EXPECT_WELL(host_dies("setsid", DIES_BY_FAULT, -1, 0));
    EXPECT_WELL(host_dies("setsid", DIES_BY_EXIT, -1, 0));
    EXPECT_WELL(host_dies("setsid", DIES_BY_EXEC, -1, 0));
}

UTEST(tree, a37_host_with_threads_is_killed) {
    NEED_TREE();
    EXPECT_WELL(host_dies("setsid", DIES_BY_KILL, -1, 3));
    EXPECT_WELL(host_dies("relay+setsid", DIES_BY_KILL, -1, 3));
    EXPECT_WELL(host_dies("setsid", DIES_BY_ABORT, -1, 3));
}

UTEST(tree, a37_host_is_killed_while_it_starts) {
    int us;
    NEED_TREE();
    for (us = 0; us < 4000; us += 150) EXPECT_WELL(host_dies("setsid", DIES_BY_KILL, us, us % 2));
}
#endif

/* ==== The thread that started the box ends ==================================================== */

#ifdef __linux__
typedef struct started {
    sbx_config config;
    sbx *box;
    sbx_result result;
} started;

static void *start_and_end(void *arg) {
    started *s = (started *)arg;
    s->box = sbx_start(&s->config, &s->result);
    return NULL;
}

UTEST(tree, a38_starting_thread_ends) {
    static const sbx_contain contain[] = {SBX_CONTAIN_TREE, SBX_CONTAIN_GROUP};
    int i;
    NEED_TREE();
    for (i = 0; i < 2; i++) {
        started s;
        pthread_t thread;
        memset(&s, 0, sizeof s);
        s.config.argv = test_child_argv("sleep", "300", "9");
        s.config.contain = contain[i];
        ASSERT_EQ(0, pthread_create(&thread, NULL, start_and_end, &s));
        ASSERT_EQ(0, pthread_join(thread, NULL));
        ASSERT_TRUE(s.box != NULL);
        EXPECT_EQ(0, sbx_poll(s.box, 100)); /* lives on without that thread */
        EXPECT_EQ(SBX_EXITED, (int)sbx_finish(s.box, &s.result));
        EXPECT_EQ(9, s.result.exit_code);
        EXPECT_FALSE(test_has_children());
        sbx_free(&s.result);
    }
}
#endif

/* ==== Hosts in odd places ===================================================================== */

#ifdef __linux__
#define PLACE(name)                                                                                \
    UTEST(tree, a47_##name) {                                                                      \
        NEED_TREE();                                                                               \
        EXPECT_WELL(tree_place(#name, 0));                                                         \
    }

PLACE(ordinary_host)
PLACE(root_of_a_user_namespace)
PLACE(user_in_a_user_namespace)
PLACE(nobody_in_a_user_namespace)
PLACE(no_user_namespaces)
PLACE(no_pid_namespaces)
PLACE(no_mount_namespaces)
PLACE(no_proc)
PLACE(masked_proc)
PLACE(image_refused)
PLACE(no_memory_files)
PLACE(no_shell)
PLACE(shell_that_is_no_program)
PLACE(chroot_without_proc)
PLACE(chroot_with_proc)
PLACE(pid_namespace)
PLACE(first_of_a_pid_namespace)
PLACE(outer_proc)
PLACE(first_with_outer_proc)
PLACE(undumpable_host)
PLACE(clone_refused)
PLACE(setns_refused)
PLACE(setns_missing)
PLACE(mount_refused)
PLACE(pidfds_missing)
PLACE(close_range_missing)

/* Namespaces that are not given back would soon be missed: only so many are allowed. */
static const char *few_namespaces(void *arg) {
    static const char *const kinds[] = {"user", "pid", "mnt"};
    static const char *const missing[] = {"/no/such/program", NULL};
    static const sbx_verdict wanted[] = {SBX_OK, SBX_OK, SBX_TIMED_OUT, SBX_NOT_STARTED, SBX_OK};
    int i, ret, late = 0;
    long inner = *(const int *)arg;
    if (!own_users(inner, inner, 0)) return "skip: no user namespace";
    for (i = 0; i < 3; i++)
        if (!put_text(test_text("/proc/sys/user/max_%s_namespaces", kinds[i]), "40"))
            return "skip: no such setting";
    for (i = 0; i < 80; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.contain = SBX_CONTAIN_TREE;
        config.timeout_ms = i % 5 == 2 ? 5 : LONG_MS;
        config.grace_ms = -1;
        if (i % 5 == 4 && test_has_call()) {
            sbx_call(&config, test_fn_seven, NULL, &ret, sizeof ret, &result);
        } else {
            config.argv = test_child_argv(i % 5 == 2 ? "sleep" : "exit", i % 5 == 2 ? "9999" : "0");
            if (i % 5 == 3) config.argv = missing;
            sbx_run(&config, &result);
        }
        if (result.sys_errno == ENOSPC && ++late < 200) { /* the kernel takes its time */
            test_sleep_ms(20);
            i--;
            sbx_free(&result);
            continue;
        }
        if (result.verdict != wanted[i % 5] || result.wall_us > 5000000)
            return test_text("run %d: %lld us, %s", i, result.wall_us, result.message);
        sbx_free(&result);
    }
    return "";
}

UTEST(tree, namespaces_are_given_back) {
    NEED_TREE();
    EXPECT_WELL(in_place(few_namespaces, &(int){0}));
    EXPECT_WELL(in_place(few_namespaces, &(int){1000}));
}

/* No process is left in any of the namespaces that the box had. */
UTEST(tree, namespaces_are_empty_afterwards) {
    static const char *const kinds[] = {"pid", "user", "mnt"};
    sbx_config config = {0};
    sbx_result result;
    char path[300], link[64], line[80];
    struct dirent *entry;
    int i, found = 0, tries;
    DIR *dir;
    NEED_TREE();
    /* The kernel gives a number to the next namespace at once, maybe another test's: again. */
    for (tries = 0; tries < 8 && (tries == 0 || found); tries++) {
        found = 0;
        config.argv = test_child_argv("tree_place");
        config.contain = SBX_CONTAIN_TREE;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_OK, result);
        ASSERT_TRUE((dir = opendir("/proc")) != NULL);
        while ((entry = readdir(dir)) != NULL)
            for (i = 0; i < 3 && atoi(entry->d_name) > 0; i++) {
                ssize_t size;
                if (i == 1 && geteuid() == 0) continue; /* root's box has the host's */
                snprintf(path, sizeof path, "/proc/%d/ns/%s", atoi(entry->d_name), kinds[i]);
                size = readlink(path, link, sizeof link - 1);
                link[size < 0 ? 0 : size] = 0;
                snprintf(line, sizeof line, "ns/%s %s\n", kinds[i], link);
                found += size > 0 && strstr(result.out.data, line) != NULL;
            }
        closedir(dir);
        sbx_free(&result);
    }
    EXPECT_EQ(0, found);
}
#endif

/* ==== An ordinary program does not notice ===================================================== */

#ifdef __linux__
/* The same program started by hand, in a session of its own: what it prints. */
static char *output_of(const char *const *argv, char *text, size_t room) {
    int fds[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
    size_t size = 0;
    ssize_t n;
    pid_t pid;
    if (null < 0 || pipe2(fds, O_CLOEXEC) < 0) return NULL;
    pid = fork();
    if (pid == 0) {
        setsid();
        dup2(null, 0);
        dup2(fds[1], 1);
        dup2(fds[1], 2);
        execv(argv[0], (char *const *)(size_t)argv);
        _exit(127);
    }
    close(fds[1]);
    close(null);
    while (size < room - 1 && (n = read(fds[0], text + size, room - 1 - size)) > 0)
        size += (size_t)n;
    text[size] = 0;
    close(fds[0]);
    return pid > 0 && waitpid(pid, NULL, 0) == pid ? text : NULL;
}

static const char *first_difference(const char *a, const char *b) {
    size_t i = 0, line = 0;
    while (a[i] && a[i] == b[i]) {
        if (a[i] == '\n') line = i + 1;
        i++;
    }
    if (a[i] == b[i]) return "";
    return test_text("outside \"%.*s\", inside \"%.*s\"", (int)strcspn(a + line, "\n"), a + line,
                     (int)strcspn(b + line, "\n"), b + line);
}

static const char *compare_facts(void *arg) {
    const char *const *argv = test_child_argv("tree_facts");
    static char outside[65536];
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    (void)arg;
    TEST_MUST(output_of(argv, outside, sizeof outside) && strlen(outside) > 200);
    config.argv = argv;
    config.inherit_env = 1;
    config.contain = SBX_CONTAIN_TREE;
    MUST_BE_WELL(test_run(&config, &result));
    TEST_MUST(result.verdict == SBX_OK && result.err.size == 0);
    flaw = first_difference(outside, result.out.data);
    sbx_free(&result);
    return flaw;
}

/* A host with settings of its own, and a directory that only it may enter. */
static const char *compare_facts_of_a_special_host(void *arg) {
    struct rlimit limit;
    char dir[PATH_MAX];
    cpu_set_t one;
    const char *flaw;
    limit.rlim_cur = limit.rlim_max = 200;
    TEST_MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max = 1 << 30;
    TEST_MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    umask(027);
    TEST_MUST(nice(3) >= 0);
    TEST_MUST(sched_getaffinity(0, sizeof one, &one) == 0);
    prctl(PR_SET_TIMERSLACK, 70000, 0, 0, 0);
    setenv("SBX_TEST_FACT", "a fact\nof two lines", 1);
    test_tmpdir(dir);
    TEST_MUST(chdir(dir) == 0 && chmod(dir, 0700) == 0);
    flaw = compare_facts(arg);
    test_remove_tree(dir);
    return flaw;
}

UTEST(tree, looks_the_same_inside) {
    NEED_TREE();
    EXPECT_WELL(test_in_copy(compare_facts, NULL));
    EXPECT_WELL(test_in_copy(compare_facts_of_a_special_host, NULL));
}

static int field(const char *text, const char *label) {
    const char *at = strstr(text, label);
    return at ? atoi(at + strlen(label)) : -1;
}

UTEST(tree, place_in_the_tree) {
    sbx_config config = {0};
    sbx_result result;
    char own[80], link[64];
    ssize_t size;
    int pid;
    NEED_TREE();
    size = readlink("/proc/self/ns/pid", link, sizeof link - 1);
    ASSERT_GT(size, 0);
    link[size] = 0;
    snprintf(own, sizeof own, "ns/pid %s\n", link);
    config.argv = test_child_argv("tree_place");
    config.contain = SBX_CONTAIN_TREE;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    pid = field(result.out.data, "pid ");
    EXPECT_GT(pid, 1); /* pid 1 ignores the signals that should end it */
    EXPECT_EQ(pid, field(result.out.data, "self "));
    EXPECT_EQ(pid, field(result.out.data, "stat "));
    EXPECT_EQ(0, field(result.out.data, "parent "));
    EXPECT_EQ(1, field(result.out.data, "others ")); /* pid 1, and none of the outside */
    EXPECT_EQ((char *)NULL, strstr(result.out.data, own));
    sbx_free(&result);
}

/* The shell's own number, its /proc, and programs that live on /proc. */
UTEST(tree, proc_is_usable) {
    sbx_config config = {0};
    sbx_result result;
    NEED_TREE();
    config.contain = SBX_CONTAIN_TREE;
    config.inherit_env = 1;
    config.command = "test -d /proc/$$ && test -r /proc/self/status && test -e /proc/self/fd/1 &&"
                     " read pid rest </proc/self/stat && test $pid = $$ && echo usable";
    TEST_RUN(&config, &result);
    EXPECT_STREQ("usable\n", result.out.data);
    EXPECT_STREQ("", result.err.data);
    sbx_free(&result);
    config.command = "command -v ps >/dev/null || { echo none; exit; }; "
                     "test $(ps -o pid= -p $$) = $$ && test $(ps -e -o pid= | wc -l) -lt 8 &&"
                     " echo ps";
    TEST_RUN(&config, &result);
    EXPECT_TRUE(!strcmp(result.out.data, "ps\n") || !strcmp(result.out.data, "none\n"));
    sbx_free(&result);
}

UTEST(tree, exit_codes_are_exact) {
    static const int codes[] = {0, 1, 2, 3, 63, 64, 91, 124, 125, 126, 127, 128, 129, 134, 137, 139,
                                143, 192, 254, 255};
    size_t i;
    NEED_TREE();
    for (i = 0; i < sizeof codes / sizeof *codes; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("exit", test_text("%d", codes[i]));
        config.contain = SBX_CONTAIN_TREE;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(codes[i] ? SBX_EXITED : SBX_OK, result);
        EXPECT_EQ(codes[i], result.exit_code);
        EXPECT_EQ(0, result.signal);
        EXPECT_EQ(1, result.certain);
        sbx_free(&result);
    }
}

UTEST(tree, signals_are_exact) {
    int number;
    NEED_TREE();
    for (number = 1; number < 35; number++) {
        int ignored = number == SIGCHLD || number == SIGCONT || number == SIGURG ||
                      number == SIGWINCH || number == 32 || number == 33; /* the libc's own */
        int stops = number == SIGSTOP || number == SIGTSTP || number == SIGTTIN ||
                    number == SIGTTOU;
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("raise", test_text("%d", number));
        config.contain = SBX_CONTAIN_TREE;
        config.timeout_ms = number == SIGSTOP ? 100 : LONG_MS;
        config.grace_ms = -1;
        TEST_RUN(&config, &result);
        /* in a session without a terminal only SIGSTOP stops: the others find an orphaned group */
        if (number == SIGSTOP) EXPECT_VERDICT(SBX_TIMED_OUT, result);
        else if (stops || ignored) EXPECT_EQ(94, result.exit_code);
        else EXPECT_VERDICT(SBX_CRASHED, result);
        if (!stops && !ignored) EXPECT_EQ(number, result.signal);
        sbx_free(&result);
    }
}

UTEST(tree, crashes_are_exact) {
    static const char *const how[] = {"null", "divide", "abort", "illegal", "bus"};
    static const int signals[] = {SIGSEGV, SIGFPE, SIGABRT, SIGILL, SIGBUS};
    int i;
    NEED_TREE();
    for (i = 0; i < 5; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("crash", how[i]);
        config.contain = SBX_CONTAIN_TREE;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_CRASHED, result);
        EXPECT_EQ(signals[i], result.signal);
        sbx_free(&result);
    }
}

UTEST(tree, sigterm_is_handled) {
    sbx_config config = {0};
    sbx_result result;
    NEED_TREE();
    config.argv = test_child_argv("term", "17");
    config.contain = SBX_CONTAIN_TREE;
    config.timeout_ms = 150;
    config.grace_ms = LONG_MS;
    EXPECT_STREQ("", test_run_ready(&config, "ready\n", &result));
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_EQ(17, result.exit_code);
    sbx_free(&result);
    config.command = "trap 'echo cleaned; exit 4' TERM; echo ready; while :; do sleep 0.05; done";
    config.argv = NULL;
    EXPECT_STREQ("", test_run_ready(&config, "ready\n", &result));
    EXPECT_STREQ("ready\ncleaned\n", result.out.data);
    EXPECT_EQ(4, result.exit_code);
    sbx_free(&result);
}

UTEST(tree, a_terminal_stays_one) {
    sbx_config config = {0};
    sbx_result result;
    int unlock = 0, number = 0, master, slave;
    NEED_TREE();
    master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0 ||
        ioctl(master, TIOCGPTN, &number) < 0)
        UTEST_SKIP("no terminal can be made here");
    slave = open(test_text("/dev/pts/%d", number), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0) {
        close(master);
        UTEST_SKIP("no terminal can be opened here");
    }
    config.argv = test_child_argv("tree_facts");
    config.contain = SBX_CONTAIN_TREE;
    config.in = SBX_FD;
    config.in_fd = slave;
    config.err = SBX_FD;
    config.err_fd = slave;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_NE((char *)NULL, strstr(result.out.data, "terminal 0 1\n"));
    EXPECT_NE((char *)NULL, strstr(result.out.data, "terminal 1 0\n"));
    EXPECT_NE((char *)NULL, strstr(result.out.data, "terminal 2 1\n"));
    sbx_free(&result);
    close(slave);
    close(master);
}

/* Only a group lets the host read this file: the box must keep that right. */
static const char *file_of_a_group(void *arg) {
    char dir[PATH_MAX];
    const char *path, *flaw;
    gid_t group = 1234;
    sbx_config config = {0};
    sbx_result result;
    (void)arg;
    test_tmpdir(dir);
    path = test_write_file(dir, "secret", "for the group", 13, 0640);
    TEST_MUST(chmod(dir, 0755) == 0 && chown(path, 0, group) == 0);
    TEST_MUST(setgroups(1, &group) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    config.argv = (const char *const[]){"cat", path, NULL};
    config.contain = SBX_CONTAIN_TREE;
    flaw = test_run(&config, &result);
    if (!*flaw && strcmp(result.out.data, "for the group") != 0) flaw = result.err.data;
    return test_text("%s", flaw);
}

UTEST(tree, groups_keep_their_rights) {
    NEED_TREE();
    if (geteuid() != 0) UTEST_SKIP("needs root to set groups");
    EXPECT_WELL(test_in_copy(file_of_a_group, NULL));
}
#endif

/* ==== The host does not notice either ========================================================= */

#ifdef __linux__
static size_t read_whole(const char *path, char *text, size_t room) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t size = 0;
    ssize_t n;
    while (fd >= 0 && size < room - 1 && (n = read(fd, text + size, room - 1 - size)) > 0)
        size += (size_t)n;
    if (fd >= 0) close(fd);
    text[size] = 0;
    return size;
}

/* Mounts that are shared pass on what happens below them, unless somebody cuts the line. */
static const char *mounts_stay(void *shared) {
    static char before[65536], during[65536], after[65536];
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    if (*(const int *)shared) {
        if (!own_mounts()) return "skip: no mount namespace";
        TEST_MUST(mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL) == 0);
    }
    TEST_MUST(read_whole("/proc/self/mountinfo", before, sizeof before) > 0);
    config.argv = test_child_argv("sleep", "200");
    config.contain = SBX_CONTAIN_TREE;
    box = sbx_start(&config, &result);
    TEST_MUST(box != NULL);
    TEST_MUST(sbx_poll(box, 30) == 0);
    read_whole("/proc/self/mountinfo", during, sizeof during);
    TEST_MUST(sbx_finish(box, &result) == SBX_OK);
    read_whole("/proc/self/mountinfo", after, sizeof after);
    TEST_MUST(strcmp(before, during) == 0 && strcmp(before, after) == 0);
    sbx_free(&result);
    return "";
}

UTEST(tree, mounts_of_the_host_stay) {
    NEED_TREE();
    EXPECT_WELL(test_in_copy(mounts_stay, &(int){0}));
    EXPECT_WELL(test_in_copy(mounts_stay, &(int){1}));
}
#endif

/* ==== Functions in a tree ===================================================================== */

#ifdef __linux__
static int fn_escapes(void *arg, void *ret, size_t size) {
    const char *path = (const char *)arg;
    int ready[2];
    char byte;
    (void)size;
    if (pipe(ready) < 0) return 1;
    if (fork() == 0) {
        int fd;
        close(ready[0]);
        alarm(20);
        setsid();
        if (fork() > 0) _exit(0);
        alarm(20);
        fd = open(path, O_WRONLY | O_NONBLOCK);
        if (fd < 0 || write(fd, "1\n", 2) != 2) _exit(1);
        close(ready[1]);
        while (access(path, F_OK) == 0) test_sleep_ms(10);
        _exit(0);
    }
    close(ready[1]);
    while (read(ready[0], &byte, 1) > 0) {
    }
    *(int *)ret = 11;
    return 0;
}

/* sbx_call with the checks that TEST_RUN makes for sbx_run. */
static const char *call(sbx_fn fn, void *arg, void *ret, size_t size, sbx_result *result) {
    sbx_config config = {0};
    test_host before;
    const char *flaw;
    config.contain = SBX_CONTAIN_TREE;
    config.timeout_ms = LONG_MS;
    test_host_save(&before);
    sbx_call(&config, fn, arg, ret, size, result);
    flaw = test_host_diff(&before);
    if (*flaw) return flaw;
    if (result->verdict != SBX_NOT_STARTED && !(result->enforced & SBX_BY_TREE)) return "no tree";
    return test_result_flaw(&config, result);
}

UTEST(tree, call_that_leaves_a_daemon) {
    sbx_result result;
    test_tether tether;
    int ret = 0;
    NEED_CALL();
    NEED_TREE();
    ASSERT_TRUE(test_tether_open(&tether));
    EXPECT_STREQ("", call(fn_escapes, tether.path, &ret, sizeof ret, &result));
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ(11, ret);
    EXPECT_EQ(1, test_tether_lines(&tether));
    EXPECT_FALSE(test_tether_held(&tether));
    EXPECT_TRUE(test_tether_close(&tether));
    sbx_free(&result);
}

static int deep(int level) {
    volatile char frame[16384];
    frame[0] = (char)level;
    return level <= 0 ? 0 : deep(level - 1) + frame[0] * 0 + 1;
}

static int fn_uses_stack(void *arg, void *ret, size_t size) {
    volatile char block[4 << 20];
    size_t i;
    (void)arg, (void)size;
    for (i = 0; i < sizeof block; i += 1024) block[i] = (char)i;
    *(int *)ret = deep(150) + block[1024] * 0; /* 2.4 MB more, far from 8 */
    return 0;
}

static int fn_overflows(void *arg, void *ret, size_t size) {
    struct rlimit limit;
    (void)arg, (void)size;
    getrlimit(RLIMIT_STACK, &limit);
    *(int *)ret = deep(1 << 20);
    return 0;
}

UTEST(tree, call_has_an_ordinary_stack) {
    sbx_result result;
    struct rlimit limit;
    int ret = 0;
    NEED_CALL();
    NEED_TREE();
    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur < 8u << 20)
        UTEST_SKIP("the stack is limited here");
    EXPECT_STREQ("", call(fn_uses_stack, NULL, &ret, sizeof ret, &result));
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ(150, ret);
    sbx_free(&result);
    EXPECT_STREQ("", call(fn_overflows, NULL, &ret, sizeof ret, &result));
    if (!test_is_asan()) EXPECT_VERDICT(SBX_CRASHED, result); /* which reports it in its own way */
    EXPECT_NE(SBX_OK, (int)result.verdict);
    sbx_free(&result);
}

enum { FN_ABORT, FN_TERM, FN_KILL, FN_EXIT, FN_QUIT, FN_QUIT_0, FN_RETURN, FN_FAIL, FNS };

static int fn_ends(void *arg, void *ret, size_t size) {
    (void)ret, (void)size;
    signal(SIGABRT, SIG_DFL); /* a sanitizer would catch it */
    if (getpid() == 1) return 99;
    switch (*(const int *)arg) {
    case FN_ABORT: abort();
    case FN_TERM: raise(SIGTERM); break;
    case FN_KILL: raise(SIGKILL); break;
    case FN_EXIT: exit(3);
    case FN_QUIT: _exit(4);
    case FN_QUIT_0: _exit(0);
    case FN_FAIL: sbx_fail("no luck today: %d", 13); break;
    default: return 5;
    }
    return 98;
}

UTEST(tree, call_that_ends_in_all_ways) {
    static const struct {
        sbx_verdict verdict;
        int code, signal;
    } wanted[FNS] = {{SBX_CRASHED, -1, SIGABRT}, {SBX_CRASHED, -1, SIGTERM},
                     {SBX_CRASHED, -1, SIGKILL}, {SBX_NO_RESULT, 3, 0},
                     {SBX_NO_RESULT, 4, 0},      {SBX_NO_RESULT, 0, 0},
                     {SBX_NO_RESULT, 5, 0},      {SBX_NO_RESULT, 1, 0}};
    int how;
    NEED_CALL();
    NEED_TREE();
    for (how = 0; how < FNS; how++) {
        sbx_result result;
        int ret = 77;
        EXPECT_STREQ("", call(fn_ends, &how, &ret, sizeof ret, &result));
        EXPECT_VERDICT(wanted[how].verdict, result);
        EXPECT_EQ(wanted[how].code, result.exit_code);
        EXPECT_EQ(wanted[how].signal, result.signal);
        EXPECT_EQ(77, ret);
        if (how == FN_FAIL) EXPECT_STREQ("no luck today: 13", result.message);
        sbx_free(&result);
    }
}

static void *add_in_thread(void *arg) {
    ++*(int *)arg;
    return NULL;
}

static int fn_uses_libc(void *arg, void *ret, size_t size) {
    pthread_mutexattr_t recursive;
    pthread_mutex_t mutex;
    pthread_t thread;
    int i, sum = 0, status;
    pid_t pid;
    (void)arg, (void)size;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    if (pthread_mutex_init(&mutex, &recursive) || pthread_mutex_lock(&mutex)) return 1;
    if (pthread_mutex_lock(&mutex) || pthread_mutex_unlock(&mutex)) return 2;
    for (i = 0; i < 4; i++)
        if (pthread_create(&thread, NULL, add_in_thread, &sum) || pthread_join(thread, NULL))
            return 3;
    pid = fork();
    if (pid == 0) {
        raise(SIGUSR1);
        _exit(9);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status)) return 4;
    free(malloc(1 << 22));
    printf("printed\n");
    *(int *)ret = sum;
    return system("exit 6") == 6 * 256 ? 0 : 5;
}

UTEST(tree, call_that_uses_the_libc) {
    sbx_result result;
    int ret = 0;
    NEED_CALL();
    NEED_TREE();
    EXPECT_STREQ("", call(fn_uses_libc, NULL, &ret, sizeof ret, &result));
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ(4, ret);
    EXPECT_STREQ("printed\n", result.out.data);
    sbx_free(&result);
}
#endif

/* ==== Children that hold the host: its thread, its child's status, the namespace ============== */

#if defined(__linux__) && !defined(SBX_NO_LINUX)
static volatile int *holder; /* in shared memory: who holds, so that the test can end it */

static void hold(sbx_fn fn, sbx_contain contain, long long timeout_ms, sbx_result *result) {
    sbx_config config = {0};
    if (!holder)
        holder = (volatile int *)mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *holder = 0;
    config.contain = contain;
    config.timeout_ms = timeout_ms;
    config.grace_ms = 100;
    sbx_call(&config, fn, NULL, NULL, 0, result);
}

/* A grandchild in a session of its own traces the function: only to it the dead one shows. */
static int fn_is_traced(void *arg, void *ret, size_t size) {
    pid_t me = getpid();
    int ready[2];
    char byte = 0;
    (void)arg, (void)ret, (void)size;
    if (pipe(ready) < 0) return 1;
    if (fork() == 0) {
        alarm(30);
        setsid();
        signal(SIGTERM, SIG_IGN);
        if (ptrace(PTRACE_SEIZE, me, NULL, NULL) == 0) *holder = (int)getpid();
        if (write(ready[1], "", 1) < 0) _exit(1);
        for (;;) pause();
    }
    return read(ready[0], &byte, 1) == 1 && *holder ? 0 : 1;
}

UTEST(tree, hold_by_a_tracer_of_the_dead) {
    sbx_result result;
    NEED_CALL();
    NEED_TREE();
    hold(fn_is_traced, SBX_CONTAIN_TREE, LONG_MS, &result);
    if (!*holder) UTEST_SKIP("nobody may trace here");
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_FALSE(test_has_children());
    sbx_free(&result);
}

/* Out of a group it can hold the status for ever: after some seconds that is said. */
UTEST(tree, hold_by_a_tracer_outside_the_group) {
    sbx_result result;
    NEED_CALL();
    NEED_TREE();
    hold(fn_is_traced, SBX_CONTAIN_GROUP, LONG_MS, &result);
    if (!*holder) UTEST_SKIP("nobody may trace here");
    EXPECT_VERDICT(SBX_LOST, result);
    EXPECT_STREQ("", test_lacks(result.message, "a process that traces it keeps its exit status"));
    EXPECT_EQ(0, kill(*holder, SIGKILL));
    while (waitpid(-1, NULL, 0) > 0) {
    }
    sbx_free(&result);
}

/* The host becomes the tracer, and a stop looks like an end. */
static int fn_stops_for_a_tracer(void *arg, void *ret, size_t size) {
    (void)arg, (void)ret, (void)size;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) return 1;
    raise(SIGWINCH);
    for (;;) pause();
}

UTEST(tree, hold_a_stop_is_not_an_end) {
    static const sbx_contain contain[] = {SBX_CONTAIN_TREE, SBX_CONTAIN_GROUP};
    sbx_result result;
    int i;
    NEED_CALL();
    NEED_TREE();
    for (i = 0; i < 2; i++) {
        hold(fn_stops_for_a_tracer, contain[i], 200, &result);
        if (result.verdict == SBX_NO_RESULT) UTEST_SKIP("nobody may trace here");
        EXPECT_VERDICT(SBX_TIMED_OUT, result);
        EXPECT_FALSE(test_has_children());
        sbx_free(&result);
    }
}

/* A child of the host in a PID namespace below the tree's. */
static int fn_leaves_a_nested_child(void *arg, void *ret, size_t size) {
    long flags = CLONE_PARENT | CLONE_NEWPID | SIGCHLD | (geteuid() ? CLONE_NEWUSER : 0), pid;
    (void)arg, (void)ret, (void)size;
    pid = syscall(SYS_clone, flags, 0L, 0L, 0L, 0L);
    if (pid == 0) {
        alarm(30);
        setsid(); /* out of the group, by which it would be found */
        if (write(1, "", 1) < 0) _exit(1);
        for (;;) pause();
    }
    if (pid > 0) test_sleep_ms(50);
    return pid < 0;
}

UTEST(tree, hold_by_a_nested_child_of_the_host) {
    sbx_result result;
    NEED_CALL();
    NEED_TREE();
    hold(fn_leaves_a_nested_child, SBX_CONTAIN_TREE, LONG_MS, &result);
    if (result.verdict == SBX_NO_RESULT) UTEST_SKIP("no nested namespace here");
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_FALSE(test_has_children());
    sbx_free(&result);
}

static int sockets[2];
static volatile int splicer;

static void *splice_all_the_time(void *arg) {
    splicer = (int)syscall(SYS_gettid);
    while (arg)
        if (write(1, "0123456789", 10) < 0 || splice(sockets[0], NULL, 1, NULL, 4096, 0) == 0)
            break;
    return NULL;
}

static void do_nothing(int number) { (void)number; }

/* A splice that waits for a socket has the lock of the pipe: caught with bytes in the pipe, it
   keeps the host's read() in the kernel, and no signal gets it out. */
static int fn_locks_its_output(void *arg, void *ret, size_t size) {
    struct sigaction action;
    struct pollfd out;
    pthread_t thread;
    int tries;
    (void)arg, (void)ret, (void)size;
    alarm(30);
    memset(&action, 0, sizeof action);
    action.sa_handler = do_nothing;
    sigaction(SIGUSR1, &action, NULL);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 1;
    out.fd = open("/proc/self/fd/1", O_RDONLY | O_NONBLOCK);
    out.events = POLLIN;
    if (out.fd < 0 || pthread_create(&thread, NULL, splice_all_the_time, &out) != 0) return 1;
    for (tries = 0; tries < 3000; tries++) {
        test_sleep_ms(1);
        if (poll(&out, 1, 0) == 1) test_sleep_ms(5);
        if (poll(&out, 1, 0) == 1) break; /* they stay: nobody can read them */
        if (splicer) syscall(SYS_tkill, splicer, SIGUSR1);
    }
    for (;;) pause();
}

/* Not cat, and not the copy of the host? */
static int fn_sees_the_image(void *arg, void *ret, size_t size) {
    char name[64] = "", own[64] = "";
    int pid_1 = open("/proc/1/comm", O_RDONLY), self = open("/proc/self/comm", O_RDONLY);
    (void)arg, (void)ret, (void)size;
    if (read(pid_1, name, sizeof name - 1) <= 0 || read(self, own, sizeof own - 1) <= 0) return 1;
    return strcmp(name, "cat\n") == 0 || strcmp(name, own) == 0;
}

static int has_image(void) {
    sbx_result result;
    hold(fn_sees_the_image, SBX_CONTAIN_TREE, LONG_MS, &result);
    sbx_free(&result);
    return result.verdict == SBX_OK;
}

UTEST(tree, hold_the_lock_of_the_output) {
    sbx_result result;
    NEED_CALL();
    NEED_TREE();
    if (!has_image()) UTEST_SKIP("pid 1 has no clock of its own here");
    hold(fn_locks_its_output, SBX_CONTAIN_TREE, 500, &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_LT(result.wall_us, 15 * 1000000LL); /* it would take 30 s */
    sbx_free(&result);
}
#endif

/* ==== Pid 1 of the tree ======================================================================= */

#if defined(__linux__) && !defined(SBX_NO_LINUX)

/* It is the host's child, and would keep the host's directory from being unmounted. */
static const char *directory_of_pid_1(void *arg) {
    char dir[PATH_MAX], link[64], place[PATH_MAX];
    sbx_config config = {0};
    sbx_result result;
    ssize_t size;
    int pid;
    sbx *box;
    (void)arg;
    TEST_MUST(chdir(test_tmpdir(dir)) == 0);
    config.argv = test_child_argv("sleep", "10000");
    config.contain = SBX_CONTAIN_TREE;
    box = sbx_start(&config, &result);
    TEST_MUST(box != NULL);
    pid = tree_pid_1();
    snprintf(link, sizeof link, "/proc/%d/cwd", pid);
    size = readlink(link, place, sizeof place - 1);
    place[size < 0 ? 0 : size] = 0;
    sbx_cancel(box);
    sbx_finish(box, &result);
    sbx_free(&result);
    test_remove_tree(dir);
    TEST_MUST(pid > 0);
    return size > 0 && strcmp(place, "/") ? test_text("pid 1 is in %s", place) : "";
}

UTEST(tree, pid_1_keeps_no_directory_busy) {
    NEED_TREE();
    EXPECT_WELL(test_in_copy(directory_of_pid_1, NULL));
}

/* A program that takes pid 1 its limit of descriptors would be alone with it, whoever dies. */
UTEST(tree, pid_1_that_is_blinded_ends) {
    sbx_config config = {0};
    sbx_result result;
    NEED_TREE();
    config.argv = test_child_argv("net", "blind");
    config.contain = SBX_CONTAIN_TREE;
    config.timeout_ms = LONG_MS;
    TEST_RUN(&config, &result);
    if (result.exit_code == 90) UTEST_SKIP("pid 1 cannot be reached here");
    EXPECT_VERDICT(SBX_CRASHED, result);
    EXPECT_EQ(SIGKILL, result.signal);
    sbx_free(&result);
}

/* A host that dies while its child waits at the gate: whoever is left holds the line. */
static int fn_stays(void *arg, void *ret, size_t size) {
    (void)arg, (void)ret, (void)size;
    test_sleep_ms(10000);
    return 0;
}

static const char *die_at_the_gate(void *arg) {
    int i, line[2], user = geteuid() != 0;
    struct pollfd ends;
    char byte;
    (void)arg;
    for (i = 0; i < 24; i++) {
        pid_t host;
        TEST_MUST(pipe(line) == 0);
        host = fork();
        if (host == 0) {
            sbx_config config = {0};
            sbx_result result;
            close(line[0]);
            config.contain = SBX_CONTAIN_TREE;
            config.timeout_ms = SBX_UNLIMITED;
            if (user && i % 2) config.processes = 50;
            if (!user && i % 2) config.uid = 65533;
            config.command = "exec sleep 10";
            if (i % 2) sbx_run(&config, &result);
            config.command = NULL;
            config.uid = 0;
            config.processes = 0;
            if (test_has_call()) sbx_call(&config, fn_stays, NULL, NULL, 0, &result);
            _exit(0);
        }
        close(line[1]);
        usleep((useconds_t)(500 + 350 * i));
        kill(host, SIGKILL);
        waitpid(host, NULL, 0);
        ends.fd = line[0];
        ends.events = POLLIN;
        TEST_MUST(poll(&ends, 1, 8000) == 1 && read(line[0], &byte, 1) == 0);
        close(line[0]);
    }
    return "";
}

UTEST(tree, host_that_dies_at_the_gate_leaves_nobody) {
    NEED_TREE();
    EXPECT_WELL(test_in_copy(die_at_the_gate, NULL));
}

/* Orphans that end have pid 1 for a parent, which nobody taught to wait. */
UTEST(tree, orphans_that_end_are_collected) {
    sbx_config config = {0};
    sbx_result result;
    NEED_TREE();
    config.argv = test_child_argv("net", "orphans", "300");
    config.contain = SBX_CONTAIN_TREE;
    TEST_RUN(&config, &result);
    if (strcmp(result.out.data, "no /proc\n") == 0) UTEST_SKIP("no /proc of its own here");
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_STREQ("0 zombies\n", result.out.data);
    sbx_free(&result);
}

/* Who ends among the host's own children while strays of a tree are collected is the host's. */
static const char *with_a_zombie_of_its_own(void *arg) {
    static const char *const how[] = {"parent_exits", "parent_setsid_exits", "parent_setsid"};
    test_tether tether;
    siginfo_t info;
    pid_t own;
    int i, status = 0;
    (void)arg;
    TEST_MUST(test_tether_open(&tether));
    own = fork();
    if (own == 0) _exit(42);
    TEST_MUST(own > 0 && waitid(P_PID, (id_t)own, &info, WEXITED | WNOWAIT) == 0);
    for (i = 0; i < 3; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("escape", how[i], tether.path, "0", "close");
        config.contain = SBX_CONTAIN_TREE;
        TEST_MUST(sbx_run(&config, &result) == SBX_OK);
        sbx_free(&result);
    }
    TEST_MUST(test_tether_close(&tether));
    TEST_MUST(waitpid(own, &status, WNOHANG) == own);
    TEST_MUST(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    return "";
}

UTEST(tree, strays_are_told_from_children_of_the_host) {
    NEED_TREE();
    EXPECT_STREQ("", test_in_copy(with_a_zombie_of_its_own, NULL));
}

/* Pid 1 itself ends only when all others of its namespace have been collected. */
static int a_child_has_ended(void *arg) {
    siginfo_t info;
    (void)arg;
    memset(&info, 0, sizeof info);
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

/* The host is held up, and pid 1 ends the tree: after the deadline and the grace that is a
   time-out, before it is somebody else's doing. */
static const char *pid_1_ended_it(void *arg) {
    int late = *(int *)arg;
    sbx_config config = {0};
    sbx_result result;
    int wanted = late ? SBX_TIMED_OUT : SBX_CRASHED;
    sbx *box;
    config.argv = test_child_argv("sleep", "15000");
    config.contain = SBX_CONTAIN_TREE;
    config.timeout_ms = 10000;
    config.grace_ms = 1000;
    box = sbx_start(&config, &result);
    TEST_MUST(box != NULL && tree_pid_1() > 0);
    TEST_MUST(kill((pid_t)tree_pid_1(), SIGKILL) == 0);
    TEST_MUST(test_wait_until(a_child_has_ended, NULL, 0));
    if (late) test_clock_skew_ms = 14000; /* its clock is two seconds behind the grace */
    sbx_finish(box, &result);
    test_clock_skew_ms = 0;
    if ((int)result.verdict != wanted) return test_text("%s", result.message);
    TEST_MUST(result.signal == SIGKILL);
    TEST_MUST(!late || !result.certain); /* it may have killed itself before */
    if (late) MUST_BE_WELL(test_lacks(result.message, "seems to have run past its 10000 ms limit"));
    sbx_free(&result);
    return "";
}

UTEST(tree, end_by_the_clock_of_pid_1_is_a_timeout) {
    int late;
    NEED_TREE();
    if (!test_clock_can_move()) UTEST_SKIP("the clock cannot be moved in this build");
    for (late = 0; late < 2; late++) EXPECT_STREQ("", test_in_copy(pid_1_ended_it, &late));
}

/* A moment without memory is no reason to contain less, or to watch less. */
static const char *proc_without_memory(void *arg) {
#ifdef SYS_readlink
    static const int numbers[] = {SYS_readlink, SYS_readlinkat};
#else
    static const int numbers[] = {SYS_readlinkat, SYS_readlinkat};
#endif
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    if (!test_forbid(numbers, 2, ENOMEM)) return "skip: no filter";
    config.argv = test_child_argv("exit", "0");
    if (*(int *)arg) config.contain = SBX_CONTAIN_GROUP, config.memory_bytes = 1 << 30;
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (result.verdict != SBX_NOT_STARTED || result.step != SBX_STEP_MEMORY)
        flaw = test_text("%s", result.message);
    sbx_free(&result);
    return flaw;
}

UTEST(tree, is_not_given_up_for_a_shortage) {
    int watch;
    NEED_TREE();
    for (watch = 0; watch <= test_has_watch(); watch++)
        EXPECT_WELL(test_in_copy(proc_without_memory, &watch));
}

/* Pid 1 has a clock of its own, for a host whose thread is held in the kernel: it must not end a
   tree that has no deadline, nor one that is still in its grace. Both at once, in real time. */
UTEST(tree, slow_clock_of_pid_1_leaves_time) {
    sbx_config without = {0}, grace = {0};
    sbx_result result;
    sbx *boxes[2];
    NEED_TREE();
    if (!getenv("SBX_TEST_SLOW")) UTEST_SKIP("takes 3 s: only with SBX_TEST_SLOW set");
    without.argv = test_child_argv("sleep", "2700");
    without.contain = SBX_CONTAIN_TREE;
    without.timeout_ms = SBX_UNLIMITED;
    without.grace_ms = -1;
    boxes[0] = sbx_start(&without, &result);
    ASSERT_TRUE_MSG(boxes[0] != NULL, result.message);
    grace.argv = test_child_argv("net", "clean_up", "2600");
    grace.contain = SBX_CONTAIN_TREE;
    grace.timeout_ms = 100;
    boxes[1] = sbx_start(&grace, &result);
    ASSERT_TRUE_MSG(boxes[1] != NULL, result.message);
    while (sbx_poll_any(boxes + 1, 1, 10000) < 0) {
    }
    EXPECT_EQ(SBX_TIMED_OUT, (int)sbx_finish(boxes[1], &result));
    EXPECT_STREQ("ready\ncleaned up\n", result.out.data);
    EXPECT_EQ(0, result.exit_code);
    sbx_free(&result);
    EXPECT_EQ(SBX_OK, (int)sbx_finish(boxes[0], &result));
    sbx_free(&result);
}
#endif
