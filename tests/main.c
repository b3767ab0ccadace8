/* The test program's main: outer bounds first, then the tests.
 *
 * The tests run in a child of this process. The parent only watches: if they take too long, or if
 * it is told to stop, it kills them and every process they left, so that even a broken sbx.h cannot
 * hang or litter the machine. A process that outlives the tests is a failure. Nothing of this is
 * visible in the child but a process group of its own and a parent-death signal.
 *
 *     SBX_TEST_AS_UID=N      as root: run the tests as user and group N
 *     SBX_TEST_SECONDS=N     the outer limit; 0 = no limit and no second process (for debuggers)
 */
#include "test.h"

#include <dirent.h>
#include <grp.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

UTEST_STATE();

#define DEFAULT_SECONDS 900
#define STATUS_OUT_OF_BOUNDS 70 /* too slow, or left a process behind */

static long env_number(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtol(text, NULL, 10) : otherwise;
}

static void drop_root(void) {
    long id = env_number("SBX_TEST_AS_UID", -1);
    if (id < 0 || geteuid() != 0) return;
    if (setgroups(0, NULL) < 0 || setgid((gid_t)id) < 0 || setuid((uid_t)id) < 0 ||
        setuid(0) == 0) {
        fprintf(stderr, "tests: cannot become user %ld: %s\n", id, strerror(errno));
        exit(STATUS_OUT_OF_BOUNDS);
    }
#ifdef __linux__
    /* Losing root hides /proc/self/fd from the process itself, and leak checkers need to look. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
#endif
}

/* Shells and CI runners leave some of these ignored; the tests mean the ordinary case. */
static void known_signals(void) {
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
#ifdef __linux__
    { /* the two that glibc keeps to itself: under make, posix_spawn leaves them ignored */
        static const unsigned long by_default[16]; /* the kernel's struct sigaction, all zero */
        syscall(SYS_rt_sigaction, 32, by_default, NULL, 8);
        syscall(SYS_rt_sigaction, 33, by_default, NULL, 8);
    }
#endif
}

static int run_tests(int argc, char **argv) {
    drop_root();
#ifdef __linux__
    if (env_number("SBX_TEST_SECONDS", DEFAULT_SECONDS) > 0) {
        pid_t parent = getppid(); /* after setuid, which clears the setting below */
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() != parent) _exit(STATUS_OUT_OF_BOUNDS);
    }
#endif
    return utest_main(argc, (const char *const *)argv);
}

/* ==== The parent ============================================================================== */

/* Collects what has ended. 1 = `tests` is among it, with its exit status. */
static int reap(pid_t tests, int *status) {
    int seen = 0, word;
    pid_t pid;
    while ((pid = waitpid(-1, &word, WNOHANG)) > 0) {
        if (pid != tests) continue;
        seen = 1;
        if (WIFEXITED(word)) {
            *status = WEXITSTATUS(word);
        } else {
            fprintf(stderr, "tests: the test program was killed by signal %d\n", WTERMSIG(word));
            *status = 128 + WTERMSIG(word);
        }
    }
    return seen;
}

static int has_children(void) {
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Kills every child that is left, as /proc shows them; a subreaper inherits all orphans. */
static void kill_children(int tell) {
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char path[300], line[512], *end;
        int pid = atoi(entry->d_name), parent = 0;
        FILE *file;
        if (pid <= 1) continue;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        if ((file = fopen(path, "r")) == NULL) continue;
        end = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
        fclose(file);
        if (end == NULL || sscanf(end + 1, " %*c %d", &parent) != 1 || parent != getpid()) continue;
        end[1] = '\0';
        if (tell) fprintf(stderr, "tests: left behind and killed: %s\n", line);
        kill(pid, SIGKILL);
    }
    if (dir != NULL) closedir(dir);
}

/* After the tests: orphans that are ending get a moment; the rest is killed. 1 = there was one. */
static int sweep(int patience_ms, int tell) {
    int unused, waited, guilty = 0;
    for (waited = 0; reap(-1, &unused), has_children(); waited += 20) {
        if (waited >= patience_ms) {
            kill_children(tell && !guilty);
            guilty = 1;
            if (waited >= patience_ms + 10000) break;
        }
        test_sleep_ms(20);
    }
    return guilty;
}

/* A stop signal is blocked here, so it stays pending and can be looked up without a handler. */
static int told_to_stop(void) {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
           sigismember(&pending, SIGHUP) == 1;
}

static int watch(pid_t tests, long seconds, const sigset_t *mask) {
    long long deadline = test_now_ms() + 1000LL * seconds;
    int status = STATUS_OUT_OF_BOUNDS;
    while (!reap(tests, &status)) {
        if (told_to_stop() || test_now_ms() > deadline) {
            if (!told_to_stop()) fprintf(stderr, "tests: not done after %ld s: killed\n", seconds);
            kill(-tests, SIGKILL);
            kill(tests, SIGKILL);
            sweep(0, 0);
            sigprocmask(SIG_SETMASK, mask, NULL); /* ends here if a signal is pending */
            return STATUS_OUT_OF_BOUNDS;
        }
        test_sleep_ms(10);
    }
    if (sweep(3000, 1) && status == 0) status = STATUS_OUT_OF_BOUNDS;
    sigprocmask(SIG_SETMASK, mask, NULL);
    return status;
}

int main(int argc, char **argv) {
    long seconds = env_number("SBX_TEST_SECONDS", DEFAULT_SECONDS);
    sigset_t stops, mask;
    pid_t tests;
    test_init(argc > 0 ? argv[0] : "tests");
    known_signals();
    if (seconds <= 0) return run_tests(argc, argv);
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGHUP);
    sigprocmask(SIG_BLOCK, &stops, &mask);
#ifdef __linux__
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* not inherited by the tests */
#endif
    tests = fork();
    if (tests < 0) {
        perror("tests: fork");
        return STATUS_OUT_OF_BOUNDS;
    }
    if (tests == 0) {
        setpgid(0, 0);
        sigprocmask(SIG_SETMASK, &mask, NULL);
        exit(run_tests(argc, argv));
    }
    setpgid(tests, tests);
    _exit(watch(tests, seconds, &mask)); /* past the leak check, which is the tests' own */
}
