/* Hosts that do something else meanwhile, or have little of something. */
#include "test.h"

#include <pthread.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#define MB (1024LL * 1024)

/* ==== A child that could not exec is no second host =========================================== */

static int exit_note = -1;
static void note_the_exit(void) {
    if (write(exit_note, "x", 1) < 0) _exit(97);
}

static const char *with_an_exit_handler(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    static const sbx_contain contain[] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};
    int fds[2], i;
    char byte;
    (void)arg;
    TEST_MUST(pipe(fds) == 0 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
    exit_note = fcntl(fds[1], F_DUPFD, 200);
    TEST_MUST(exit_note >= 0 && atexit(note_the_exit) == 0);
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = missing;
        config.contain = contain[i];
        TEST_MUST(sbx_run(&config, &result) == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
        sbx_free(&result);
        TEST_MUST(read(fds[0], &byte, 1) < 0 && errno == EAGAIN);
    }
    return "";
}

/* Descriptors are closed before exec, so that the handler's note would be lost: it is put where the
   child has its own streams. */
static const char *with_a_loud_exit_handler(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    sbx_config config = {0};
    sbx_result result;
    char name[] = "/tmp/sbx-net-XXXXXX";
    int fd = mkstemp(name);
    (void)arg;
    TEST_MUST(fd >= 0 && unlink(name) == 0);
    exit_note = 1;
    TEST_MUST(atexit(note_the_exit) == 0);
    config.argv = missing;
    config.out = SBX_FD;
    config.out_fd = fd;
    config.contain = SBX_CONTAIN_GROUP;
    TEST_MUST(sbx_run(&config, &result) == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    sbx_free(&result);
    TEST_MUST(lseek(fd, 0, SEEK_END) == 0);
    close(fd);
    return "";
}

UTEST(host, failed_exec_runs_no_handler_of_the_host) {
    EXPECT_STREQ("", test_in_copy(with_an_exit_handler, NULL));
    EXPECT_STREQ("", test_in_copy(with_a_loud_exit_handler, NULL));
}

/* ==== Memory that runs out while it watches =================================================== */

#ifdef __linux__
static const char *watches_without_memory(void *arg) {
    static const sbx_contain contain[] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};
    long nth, failed = 0;
    int i;
    (void)arg;
    for (i = 0; i < 2; i++)
        for (nth = 1; nth < 12; nth++) {
            sbx_config config = {0};
            sbx_result result;
            config.argv = test_child_argv("memory", "own", "80", "2", "3000");
            config.out = config.err = SBX_DISCARD;
            config.contain = contain[i];
            config.memory_bytes = 64 * MB;
            test_fail_allocation(nth);
            sbx_run(&config, &result);
            if (test_allocations() < nth) nth = 12;
            test_fail_allocation(0);
            failed += result.verdict == SBX_MEMORY_LIMIT;
            if (result.verdict != SBX_MEMORY_LIMIT &&
                !(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_MEMORY))
                return test_text("allocation %ld: %s", nth, result.message);
            sbx_free(&result);
        }
    TEST_MUST(failed > 1 && test_live_blocks() == 0);
    return "";
}

UTEST(host, limit_of_memory_holds_although_an_allocation_fails) {
    if (test_is_portable()) UTEST_SKIP("memory_bytes is the address space there");
    EXPECT_STREQ("", test_in_copy(watches_without_memory, NULL));
}

UTEST(host, no_memory_for_the_name_of_a_cgroup) {
    long nth;
    int told = 0;
    if (test_is_portable()) UTEST_SKIP("no cgroups there");
    for (nth = 1; nth < 12; nth++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("exit", "0");
        config.contain = SBX_CONTAIN_GROUP;
        config.cgroup = "/";
        test_fail_allocation(nth);
        sbx_run(&config, &result);
        test_fail_allocation(0);
        EXPECT_VERDICT(SBX_NOT_STARTED, result);
        told += result.step == SBX_STEP_MEMORY && strstr(result.message, "cgroup") != NULL;
        sbx_free(&result);
    }
    EXPECT_EQ(1, told);
}

/* ==== Descriptors that run out at any moment of a start ======================================= */

static int fn_nothing(void *arg, void *ret, size_t size) {
    (void)arg, (void)ret;
    return size != 0;
}

/* So many descriptors are free, and no more. */
static int leave_free(int count) {
    struct rlimit limit;
    int fd, top = 80;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = (rlim_t)top;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) return 0;
    do fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0);
    limit.rlim_cur = (rlim_t)(top + count);
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/* Where a tree can be had, a lack of descriptors is no reason to contain less. */
static const char *contained_or_refused(void *arg) {
    int count, ran = 0, refused = 0;
    for (count = 0; count < 40; count++) {
        sbx_config config = {0};
        sbx_result result;
        TEST_MUST(leave_free(count));
        config.argv = test_child_argv("exit", "0");
        if (*(int *)arg) config.argv = NULL;
        if (*(int *)arg) sbx_call(&config, fn_nothing, NULL, NULL, 0, &result);
        else sbx_run(&config, &result);
        if (result.verdict == SBX_OK && !(result.enforced & SBX_BY_TREE))
            return test_text("with %d descriptors it ran in a mere group", count);
        if (result.verdict != SBX_OK && result.step != SBX_STEP_IO)
            return test_text("with %d descriptors: step %d, %s", count, (int)result.step,
                             result.message);
        ran += result.verdict == SBX_OK;
        refused += result.verdict == SBX_NOT_STARTED;
        sbx_free(&result);
    }
    TEST_MUST(ran > 3 && refused > 3);
    return "";
}

UTEST(host, lack_of_descriptors_is_no_reason_to_contain_less) {
    sbx_caps caps;
    int call;
    sbx_probe(&caps);
    if (!caps.tree) UTEST_SKIP(caps.tree_why);
    for (call = 0; call < 2; call++) EXPECT_STREQ("", test_in_copy(contained_or_refused, &call));
}

/* Forbidden calls are heard, or the program does not start. */
static const char *heard_or_refused(void *arg) {
    int count, heard = 0, refused = 0;
    (void)arg;
    for (count = 0; count < 50; count++) {
        sbx_policy policy = {0};
        sbx_config config = {0};
        sbx_result result;
        TEST_MUST(leave_free(count));
        policy.kill_on_denied = 1;
        config.argv = test_child_argv("net", "forbidden");
        config.policy = &policy;
        config.timeout_ms = 5000;
        sbx_run(&config, &result);
        if (result.verdict != SBX_DENIED && result.verdict != SBX_NOT_STARTED)
            return test_text("with %d descriptors: %s", count, result.message);
        heard += result.verdict == SBX_DENIED;
        refused += result.verdict == SBX_NOT_STARTED;
        sbx_free(&result);
    }
    TEST_MUST(heard > 3 && refused > 3);
    return "";
}

UTEST(host, forbidden_calls_are_heard_or_nothing_starts) {
    sbx_caps caps;
    sbx_probe(&caps);
    if (!caps.policy) UTEST_SKIP(caps.policy_why);
    EXPECT_STREQ("", test_in_copy(heard_or_refused, NULL));
}

/* ==== Handlers of the host run in the host ==================================================== */

typedef struct shared_note {
    volatile int here, elsewhere;
    volatile pid_t host;
} shared_note;
static shared_note *noted;

static void note_where(int number) {
    (void)number;
    if ((pid_t)syscall(SYS_getpid) == noted->host) noted->here++;
    else noted->elsewhere = (int)syscall(SYS_getpid);
}

/* A signal to the host's group reaches what the host has just forked, too, and until exec that has
   the host's handlers, and may have its memory. A timer is not inherited, and would show nothing.
   The signal is one that a program does not mind. */
static const char *under_signals_to_its_group(void *arg) {
    static const sbx_contain contain[] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};
    struct sigaction action;
    pid_t pest;
    int i;
    (void)arg;
    noted = (shared_note *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    TEST_MUST(noted != (shared_note *)MAP_FAILED);
    noted->host = getpid();
    memset(&action, 0, sizeof action);
    action.sa_handler = note_where;
    action.sa_flags = SA_RESTART;
    sigaction(SIGURG, &action, NULL);
    pest = fork();
    TEST_MUST(pest >= 0);
    if (pest == 0) {
        struct timespec moment = {0, 1000};
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        signal(SIGURG, SIG_IGN);
        while (getppid() == noted->host) {
            kill(0, SIGURG);
            nanosleep(&moment, NULL);
        }
        _exit(0);
    }
    for (i = 0; i < 120 && !noted->elsewhere; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.contain = contain[i % 2];
        config.argv = test_child_argv("exit", "0");
        if (i % 4 >= 2) config.argv = NULL;
        if (i % 4 < 2) sbx_run(&config, &result);
        else sbx_call(&config, fn_nothing, NULL, NULL, 0, &result);
        if (result.verdict != SBX_OK) return test_text("run %d: %s", i, result.message);
        sbx_free(&result);
    }
    kill(pest, SIGKILL);
    waitpid(pest, NULL, 0);
    TEST_MUST(noted->here > 100); /* else this meant nothing */
    if (noted->elsewhere) return test_text("the handler ran in process %d", noted->elsewhere);
    return "";
}

UTEST(host, handlers_of_the_host_do_not_run_in_a_child) {
    EXPECT_STREQ("", test_in_copy(under_signals_to_its_group, NULL));
}

/* ==== sbx_probe =============================================================================== */

static int put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : write(fd, text, strlen(text));
    if (fd >= 0) close(fd);
    return size > 0;
}

static const char *probe_without_proc(void *arg) {
    unsigned uid = (unsigned)geteuid(), gid = (unsigned)getegid();
    sbx_caps caps;
    (void)arg;
    sbx_probe(&caps);
    TEST_MUST(caps.watch == 1);
    if (syscall(SYS_unshare, (long)(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0))) < 0)
        return "skip: no mount namespace can be had here";
    if (uid) {
        put("/proc/self/setgroups", "deny");
        put("/proc/self/uid_map", test_text("%u %u 1", uid, uid));
        put("/proc/self/gid_map", test_text("%u %u 1", gid, gid));
    }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", "/proc", "tmpfs", 0, NULL) < 0)
        return "skip: /proc cannot be covered here";
    sbx_probe(&caps);
    TEST_MUST(caps.watch == 0);
    TEST_MUST(caps.tree == 0 && caps.tree_why[0]);
    return "";
}

UTEST(host, probe_without_proc_has_no_watch) {
    if (test_is_portable()) UTEST_SKIP("there is no watch in this build");
    TEST_WELL_OR_SKIP(test_in_copy(probe_without_proc, NULL));
}
#endif

/* ==== Portable: the end is looked for ========================================================= */

/* Where no descriptor tells of the end, the host asks when to look next: not much later than in
   10 ms, however long it has been running. */
UTEST(host, end_is_looked_for_often_enough) {
    sbx_config config = {0};
    sbx_result result;
    long long most = 0;
    int i;
    sbx *box;
    if (!test_is_portable()) UTEST_SKIP("a descriptor tells of the end");
    config.argv = test_child_argv("sleep", "10000");
    config.out = config.err = SBX_DISCARD;
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    for (i = 0; i < 30; i++) {
        sbx_watch watch;
        sbx_get_watch(box, &watch);
        if (watch.wait_ms > most) most = watch.wait_ms;
        test_sleep_ms(watch.wait_ms);
        EXPECT_EQ(0, sbx_poll(box, 0));
    }
    EXPECT_GE(most, 1LL);
    EXPECT_LE(most, 20LL);
    sbx_cancel(box);
    sbx_finish(box, &result);
    sbx_free(&result);
}
