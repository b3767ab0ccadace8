/* What goes wrong in process libraries, trap by trap: every test carries the number of its trap.
 * P4 (a descendant that leaves the group) is the containment's and tested with the attacks.
 *
 * Traps that concern the host's process are set in a copy of it (test_in_copy), and those about
 * which system calls are made, in a copy that is traced. Nothing here measures how fast it is. */
#include "test.h"

#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#endif

/* ==== Helpers ================================================================================= */

static const char *lacks(const char *text, const char *part) {
    return strstr(text, part) ? "" : test_text("'%s' is not in: %s", part, text);
}

static sbx_result run_child(int *utest_result, sbx_config *config, const char *const *argv) {
    sbx_result result;
    const char *flaw;
    config->argv = argv;
    flaw = test_run(config, &result);
    EXPECT_STREQ("", flaw);
    return result;
}
#define RUN_CHILD(config, ...) run_child(utest_result, (config), test_child_argv(__VA_ARGS__))

/* One run of the child that times out as soon as it has said the text. */
static sbx_result run_late(int *utest_result, sbx_config *config, const char *said,
                           const char *const *argv) {
    sbx_result result;
    const char *flaw;
    config->argv = argv;
    flaw = test_run_late(config, said, &result);
    EXPECT_STREQ("", flaw);
    EXPECT_EQ((int)SBX_TIMED_OUT, (int)result.verdict);
    return result;
}
#define RUN_LATE(config, said, ...)                                                                \
    run_late(utest_result, (config), (said), test_child_argv(__VA_ARGS__))

/* For copies: one run of the child and the verdict it has to get; "" = so it was. */
static const char *runs_as(sbx_config *config, const char *const *argv, sbx_verdict verdict) {
    sbx_result result;
    const char *flaw;
    config->argv = argv;
    if (*(flaw = test_run(config, &result))) return flaw;
    if (result.verdict != verdict)
        flaw = test_text("%s %s: %s", argv[0], argv[1] ? argv[1] : "", result.message);
    sbx_free(&result);
    return flaw;
}

/* Leaves the function unless the run gets this verdict. */
#define MUST_RUN(config, verdict, ...)                                                             \
    do {                                                                                           \
        const char *must_flaw_ = runs_as((config), test_child_argv(__VA_ARGS__), (verdict));       \
        if (*must_flaw_) return must_flaw_;                                                        \
    } while (0)

/* ==== A copy whose system calls are seen ====================================================== */

typedef struct call {
    int child;                  /* 1 = made by a child of the host, before it ran its program */
    long number;
    unsigned long long args[6]; /* of clone3: args[0] holds the flags */
    long long result;           /* what came back; seen = 0: it never did */
    int seen;
} call;

#define CALLS 20000
typedef struct trace {
    int count, lost, reads; /* reads: how many the host made; they are not kept */
    char answer[2048];
    call at[CALLS];
} trace;

#if defined(__linux__)
typedef struct syscall_info { /* struct ptrace_syscall_info */
    unsigned char op, pad[3];
    unsigned arch;
    unsigned long long ip, sp;
    union {
        struct {
            unsigned long long number, args[6];
        } entry;
        struct {
            long long result;
            unsigned char is_error;
        } exit;
    } as;
} syscall_info;
#define GET_SYSCALL_INFO 0x420e

typedef struct traced { /* one process that is traced, and its call that is under way */
    pid_t pid;
    int open_call, child;
} traced;

/* Looking around in /proc takes thousands of calls on a busy machine: none of them matters here. */
static int matters(long number) {
    static const long dull[] = {SYS_read, SYS_close, SYS_openat, SYS_getdents64, SYS_getpid,
#ifdef SYS_clock_gettime
                                SYS_clock_gettime
#endif
    };
    unsigned i;
    for (i = 0; i < sizeof dull / sizeof *dull; i++)
        if (number == dull[i]) return 0;
    return 1;
}

static void note_call(trace *t, traced *who) {
    syscall_info info;
    memset(&info, 0, sizeof info);
    if (syscall(SYS_ptrace, GET_SYSCALL_INFO, who->pid, sizeof info, &info) <= 0) return;
    if (info.op == 1) {
        call *c = &t->at[t->count];
        who->open_call = -1;
        if (info.as.entry.number == SYS_read && !who->child) t->reads++;
        if (!matters((long)info.as.entry.number)) return;
        if (t->count >= CALLS) {
            t->lost++;
            return;
        }
        memset(c, 0, sizeof *c);
        c->child = who->child;
        c->number = (long)info.as.entry.number;
        memcpy(c->args, info.as.entry.args, sizeof c->args);
#ifdef SYS_clone3
        if (c->number == SYS_clone3)
            c->args[0] = (unsigned long long)ptrace(PTRACE_PEEKDATA, who->pid,
                                                    (void *)(size_t)c->args[0], NULL);
#endif
        who->open_call = t->count++;
    } else if (info.op == 2 && who->open_call >= 0) {
        t->at[who->open_call].result = info.as.exit.result;
        t->at[who->open_call].seen = 1;
        who->open_call = -1;
    }
}

#define TRACED 64

static traced *who_is(traced *all, pid_t pid) {
    int i, free_at = -1;
    for (i = 0; i < TRACED; i++) {
        if (all[i].pid == pid) return &all[i];
        if (all[i].pid == 0 && free_at < 0) free_at = i;
    }
    if (free_at < 0) return NULL;
    all[free_at].pid = pid;
    all[free_at].open_call = -1;
    all[free_at].child = 1; /* only the first one is the host */
    return &all[free_at];
}

/* Runs the function in one more copy and notes the host's system calls, and those of its children
   up to their exec. "" = it answered "". */
static const char *traced_copy(trace *t, const char *(*function)(void *), void *arg) {
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK |
                         PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
    static traced all[TRACED];
    int status;
    pid_t host = fork(), pid;
    if (host == 0) {
        struct rlimit few = {256, 256}; /* a loop that closes them all is not worth tracing */
        const char *answer;
        setrlimit(RLIMIT_NOFILE, &few);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0) _exit(97);
        raise(SIGSTOP);
        answer = function(arg);
        snprintf(t->answer, sizeof t->answer, "%s", answer);
        _exit(0);
    }
    TEST_MUST(waitpid(host, &status, 0) == host);
    if (!WIFSTOPPED(status)) return "cannot trace";
    if (ptrace(PTRACE_SETOPTIONS, host, NULL, (void *)(size_t)options) < 0) return "cannot trace";
    memset(all, 0, sizeof all);
    who_is(all, host)->child = 0;
    ptrace(PTRACE_SYSCALL, host, NULL, NULL);
    while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        traced *who = pid > 0 ? who_is(all, pid) : NULL;
        int stop = WIFSTOPPED(status) ? WSTOPSIG(status) : 0, event = status >> 16;
        if (!who) continue;
        if (!stop) {
            who->pid = 0;
            if (pid != host) continue;
            if (WIFSIGNALED(status)) return test_text("killed by signal %d", WTERMSIG(status));
            if (WEXITSTATUS(status)) return test_text("exited with %d", WEXITSTATUS(status));
            break;
        }
        if (stop == (SIGTRAP | 0x80)) note_call(t, who);
        if (event == PTRACE_EVENT_EXEC) { /* from here on it is the program, not the header */
            who->pid = 0;
            ptrace(PTRACE_DETACH, pid, NULL, NULL);
            continue;
        }
        if (stop == (SIGTRAP | 0x80) || event || (stop == SIGSTOP && who->child)) stop = 0;
        ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(size_t)stop);
    }
    return t->answer;
}

static trace *new_trace(void) {
    void *t = mmap(NULL, sizeof(trace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (t == MAP_FAILED) return NULL;
    snprintf(((trace *)t)->answer, sizeof((trace *)t)->answer, "no answer");
    return (trace *)t;
}

/* From here on these calls fail with this error, in this process and all it starts. */
static int forbid(const int *numbers, int count, int error) {
    struct sock_filter code[32];
    struct sock_fprog program;
    int i, n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, nr));
    for (i = 0; i < count; i++)
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i],
                                                 (unsigned char)(count - i), 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
    program.len = (unsigned short)n;
    program.filter = code;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

static int forbid_new_processes(void) {
    static const int numbers[] = {
        SYS_clone,
#ifdef SYS_clone3
        SYS_clone3,
#endif
#ifdef SYS_fork
        SYS_fork, SYS_vfork,
#endif
    };
    return forbid(numbers, (int)(sizeof numbers / sizeof *numbers), EAGAIN);
}
#endif /* __linux__ */

/* Flags between threads. */
static int flag(int *f) { return __sync_add_and_fetch(f, 0); }
static void raise_flag(int *f) { __sync_add_and_fetch(f, 1); }

/* What holds for one containment has to hold for the other: their ways to start differ. */
static const sbx_contain both[] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};

/* ==== P1 to P3: ends and pipes ================================================================ */

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

/* The last bytes before the exit are never lost, however the end is noticed. */
UTEST(pitfall, P03_last_bytes_are_read) {
    sbx_config config = {0};
    int i;
    for (i = 0; i < 20; i++) {
        sbx_result result = RUN_CHILD(&config, "write", "60000", "60000", "1");
        EXPECT_EQ((size_t)60000, result.out.size);
        EXPECT_EQ((size_t)60000, result.err.size);
        sbx_free(&result);
    }
}

/* ==== P5: terminals =========================================================================== */

#ifdef __linux__
/* In a session of its own whose terminal is a new one; the master end is handed in. */
static const char *in_terminal(const char *(*function)(int master), char *answer, size_t room) {
    int status, master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    pid_t pid;
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0) return "no terminal";
    pid = fork(); /* a group leader cannot make a session */
    if (pid == 0) {
        int slave;
        setsid();
        slave = open(ptsname(master), O_RDWR);
        if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0) _exit(96);
        dup2(slave, 0);
        close(slave);
        snprintf(answer, room, "%s", function(master));
        _exit(0);
    }
    TEST_MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
    if (WIFSIGNALED(status)) return test_text("killed by %d", WTERMSIG(status));
    return WEXITSTATUS(status) ? "no terminal" : answer;
}

static const char *reads_a_terminal(int master) {
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    TEST_MUST(isatty(0) && tcgetpgrp(0) == getpgrp()); /* the host is in the foreground */
    config.argv = test_child_argv("terminal");
    config.timeout_ms = 10000;
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (result.verdict != SBX_OK) return test_text("%s", result.message);
    if (strcmp(result.out.data, "stdin 0\ntty -2\n")) return test_text("%s", result.out.data);
    sbx_free(&result);
    config.in = SBX_INHERIT; /* the host's terminal is given: it reads, and is not stopped */
    TEST_MUST(write(master, "hello\n", 6) == 6);
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (result.verdict != SBX_OK) return test_text("%s", result.message);
    if (strcmp(result.out.data, "stdin 6\ntty -2\n")) return test_text("%s", result.out.data);
    sbx_free(&result);
    TEST_MUST(tcgetpgrp(0) == getpgrp()); /* and still is */
    return "";
}

static const char *child_and_terminal(void *arg) {
    char *answer = (char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                                0);
    (void)arg;
    return in_terminal(reads_a_terminal, answer, 2000);
}
#endif

UTEST(pitfall, P05_child_is_not_stopped_by_the_terminal) {
#ifdef __linux__
    const char *flaw = test_in_copy(child_and_terminal, NULL);
    if (strcmp(flaw, "no terminal") == 0) UTEST_SKIP("no pseudo-terminals here");
    EXPECT_STREQ("", flaw);
#else
    UTEST_SKIP("written for Linux");
#endif
}

/* ==== P6 to P9: descriptors =================================================================== */

static const char *above_5000(void *arg) {
    static char input[300000];
    sbx_config config = {0};
    sbx_result result;
    struct rlimit limit;
    sbx_watch watch;
    sbx *boxes[3];
    int fd, i;
    const char *flaw;
    (void)arg;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < 5200) return "too few";
    limit.rlim_cur = 5200;
    TEST_MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    do TEST_MUST((fd = fcntl(2, F_DUPFD_CLOEXEC, 3)) >= 0);
    while (fd < 5000);
    memset(input, 'i', sizeof input);
    config.input = input;
    config.input_size = sizeof input;
    config.argv = test_child_argv("cat");
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_OK && result.out.size == sizeof input);
    TEST_MUST(memcmp(result.out.data, input, sizeof input) == 0);
    sbx_free(&result);
    config.input = NULL, config.input_size = 0;
    config.output_bytes = 1000;
    MUST_RUN(&config, SBX_OUTPUT_LIMIT, "flood", "both");
    config.timeout_ms = 100;
    config.grace_ms = -1;
    MUST_RUN(&config, SBX_TIMED_OUT, "sleep");
    config.timeout_ms = 0;
    config.in = SBX_PIPE;
    for (i = 0; i < 3; i++) { /* several in one select */
        config.argv = test_child_argv("stdin");
        TEST_MUST((boxes[i] = sbx_start(&config, &result)) != NULL);
        sbx_get_watch(boxes[i], &watch);
        TEST_MUST(watch.count > 0 && watch.fd[0] > 5000);
    }
    for (i = 0; i < 3; i++) {
        TEST_MUST(sbx_write(boxes[i], input, 10 + (size_t)i) == 10 + i);
        sbx_close_input(boxes[i]);
    }
    for (i = 0; i < 3; i++) {
        while (sbx_poll_any(boxes + i, 3 - i, 1000) < 0) {
        }
        TEST_MUST(sbx_finish(boxes[i], &result) == SBX_OK);
        TEST_MUST(strcmp(result.out.data, test_text("pipe %d\n", 10 + i)) == 0);
        sbx_free(&result);
    }
    return "";
}

UTEST(pitfall, P06_descriptors_above_5000) {
    const char *flaw = test_in_copy(above_5000, NULL);
    if (strcmp(flaw, "too few") == 0) UTEST_SKIP("the hard limit of open files is below 5200");
    EXPECT_STREQ("", flaw);
}

/* --- P7: a thread forks and execs while another starts boxes ---------------------------------- */

typedef struct forker {
    int stop, forks, failed; /* flags */
    char flaw[500];
} forker;

/* What an unrelated child of this host sees: it must have nothing of the boxes. */
static void *fork_all_the_time(void *arg) {
    forker *f = (forker *)arg;
    char text[400];
    const size_t room = sizeof text - 1;
    while (!flag(&f->stop) && !flag(&f->failed)) {
        int fds[2], status;
        size_t size = 0;
        ssize_t n;
        pid_t pid;
        if (pipe(fds) < 0) {
            snprintf(f->flaw, sizeof f->flaw, "no pipe");
            break;
        }
        fcntl(fds[0], F_SETFD, FD_CLOEXEC);
        fcntl(fds[1], F_SETFD, FD_CLOEXEC);
        pid = fork();
        if (pid == 0) {
            dup2(fds[1], 1);
            execl(test_child(), "child", "fds", (char *)NULL);
            _exit(99);
        }
        close(fds[1]);
        while (size < room && (n = read(fds[0], text + size, room - size)) > 0)
            size += (size_t)n;
        text[size] = 0;
        close(fds[0]);
        waitpid(pid, &status, 0);
        if (strcmp(text, "0 1 2 ") != 0) {
            snprintf(f->flaw, sizeof f->flaw, "sees %s", text);
            raise_flag(&f->failed);
        }
        raise_flag(&f->forks);
    }
    raise_flag(&f->failed);
    return NULL;
}

static const char *beside_a_forking_thread(void *arg) {
    forker f;
    pthread_t thread;
    sbx_config config = {0};
    sbx_result result;
    int i, fd;
    (void)arg;
    for (fd = 3; fd < 4096; fd++) fcntl(fd, F_SETFD, FD_CLOEXEC); /* what the copy itself has */
    memset(&f, 0, sizeof f);
    TEST_MUST(pthread_create(&thread, NULL, fork_all_the_time, &f) == 0);
    config.input = "x";
    config.input_size = 1;
    for (i = 0; (i < 40 || flag(&f.forks) < 20) && !flag(&f.failed); i++) {
        config.argv = test_child_argv("fds");
        TEST_MUST(sbx_run(&config, &result) == SBX_OK);
        if (strcmp(result.out.data, "0 1 2 ")) return test_text("box sees %s", result.out.data);
        sbx_free(&result);
    }
    raise_flag(&f.stop);
    pthread_join(thread, NULL);
    return test_text("%s", f.flaw);
}

/* Portable POSIX has no way to be born close-on-exec: there only the box itself is promised. */
UTEST(pitfall, P07_nothing_leaks_into_children_of_other_threads) {
    if (test_is_portable()) UTEST_SKIP("needs pipe2");
    EXPECT_STREQ("", test_in_copy(beside_a_forking_thread, NULL));
}

/* The other direction: what the host has open, wherever and however, is not in the box. */
static const char *with_many_descriptors(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    struct rlimit limit;
    long top;
    int i;
    const char *flaw;
    (void)arg;
    getrlimit(RLIMIT_NOFILE, &limit);
#ifdef __linux__
    if (geteuid() == 0) limit.rlim_max = 1 << 20; /* fs.nr_open, unless somebody lowered it */
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) getrlimit(RLIMIT_NOFILE, &limit);
#endif
    if (limit.rlim_max == RLIM_INFINITY) limit.rlim_max = 10240;
    limit.rlim_cur = limit.rlim_max;
    TEST_MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    top = (long)limit.rlim_cur;
    for (i = 0; i < 30; i++) TEST_MUST(fcntl(2, F_DUPFD, 3) >= 0); /* none is close-on-exec */
    TEST_MUST(dup2(2, 500) == 500);
    TEST_MUST(dup2(2, (int)top - 1) == (int)top - 1);
    for (i = 0; i < 3; i++) {
        config.argv = test_child_argv("fds");
        config.open_files = i == 1 ? 20 : 0; /* a lower limit must not hide what is above it */
        config.cwd = i == 2 ? "/" : NULL;
        if (*(flaw = test_run(&config, &result))) return flaw;
        if (result.verdict != SBX_OK) return test_text("%s", result.message);
        if (strcmp(result.out.data, "0 1 2 ")) return test_text("box sees %s", result.out.data);
        sbx_free(&result);
    }
    config.open_files = 0;
    /* with `fds` limited to 65536 numbers, ask for the highest one by hand */
    config.argv = NULL;
    config.command = test_text("if [ -e /proc/self/fd/%ld ]; then echo open; fi", top - 1);
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_OK && result.out.size == 0);
    sbx_free(&result);
    return "";
}

UTEST(pitfall, P08_all_descriptors_closed_at_the_highest_limit) {
    EXPECT_STREQ("", test_in_copy(with_many_descriptors, NULL));
}

#ifdef __linux__
/* An older kernel: close_range is not there. */
static const char *without_close_range(void *arg) {
    static const int numbers[] = {436}; /* one number everywhere */
    if (!forbid(numbers, 1, ENOSYS)) return "no filter";
    return with_many_descriptors(arg);
}
#endif

UTEST(pitfall, P08_all_descriptors_closed_without_close_range) {
#ifdef __linux__
    const char *flaw = test_in_copy(without_close_range, NULL);
    if (strcmp(flaw, "no filter") == 0) UTEST_SKIP("no seccomp here");
    EXPECT_STREQ("", flaw);
#else
    UTEST_SKIP("needs seccomp");
#endif
}

static int echo_length(void *arg, void *ret, size_t ret_size) {
    char text[8];
    (void)arg, (void)ret_size;
    *(int *)ret = (int)read(0, text, sizeof text);
    return write(1, "out", 3) == 3 && write(2, "err", 3) == 3 ? 0 : 1;
}

static const char *with_closed_streams(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    int mask = *(int *)arg, fd, length = 0;
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    for (fd = 0; fd < 3; fd++)
        if (mask & 1 << fd) close(fd);
    config.input = "input";
    config.input_size = 5;
    config.argv = test_child_argv("cat");
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_OK && strcmp(result.out.data, "input") == 0);
    sbx_free(&result);
    config.argv = test_child_argv("fds");
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(strcmp(result.out.data, "0 1 2 ") == 0); /* all three are there for the child */
    sbx_free(&result);
    config.argv = test_child_argv("say", "out", "err", "3");
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(strcmp(result.out.data, "out") == 0 && strcmp(result.err.data, "err") == 0);
    sbx_free(&result);
    config.err = SBX_MERGE;
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(strcmp(result.out.data, "outerr") == 0);
    sbx_free(&result);
    config.err = SBX_DISCARD;
    config.input = NULL, config.input_size = 0;
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(strcmp(result.out.data, "out") == 0 && result.exit_code == 3);
    sbx_free(&result);
    config.err = SBX_DEFAULT;
    config.argv = missing;
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    sbx_free(&result);
    config.argv = NULL;
    config.input = "four";
    config.input_size = 4;
    TEST_MUST(sbx_call(&config, echo_length, NULL, &length, sizeof length, &result) == SBX_OK);
    TEST_MUST(length == 4);
    TEST_MUST(strcmp(result.out.data, "out") == 0 && strcmp(result.err.data, "err") == 0);
    sbx_free(&result);
    for (fd = 0; fd < 3; fd++) TEST_MUST((fcntl(fd, F_GETFD) < 0) == ((mask & 1 << fd) != 0));
    return "";
}

UTEST(pitfall, P09_streams_of_the_host_closed_in_every_combination) {
    int mask;
    for (mask = 0; mask < 8; mask++) EXPECT_STREQ("", test_in_copy(with_closed_streams, &mask));
}

/* The ends that a host gives may be any, each other's too: 0 as out_fd, 1 as in_fd, one for all. */
static const char *with_crossed_streams(void *arg) {
    char text[32] = "";
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    int in = open(test_write_file((const char *)arg, "in", "from file", 9, 0600), O_RDONLY), out;
    out = open(test_text("%s/out", (const char *)arg), O_RDWR | O_CREAT, 0600);
    TEST_MUST(in >= 0 && out >= 0);
    TEST_MUST(dup2(in, 1) == 1 && dup2(out, 0) == 0); /* stdin is for writing, stdout for reading */
    config.argv = test_child_argv("cat");
    config.in = config.out = SBX_FD;
    config.in_fd = 1;
    config.out_fd = 0;
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_OK);
    sbx_free(&result);
    TEST_MUST(pread(out, text, 20, 0) == 9 && strcmp(text, "from file") == 0);
    config.argv = test_child_argv("say", "one", "two", "0");
    config.in = SBX_DEFAULT;
    config.err = SBX_FD;
    config.err_fd = 0;
    TEST_MUST(lseek(0, 0, SEEK_SET) == 0 && ftruncate(0, 0) == 0);
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_OK && pread(out, text, 20, 0) == 6);
    sbx_free(&result);
    config.out = config.err = SBX_INHERIT; /* 1 is for reading: the child cannot write */
    config.argv = test_child_argv("say", "x");
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_EXITED && result.exit_code == 90);
    sbx_free(&result);
    return "";
}

UTEST(pitfall, P09_streams_crossed) {
    char dir[PATH_MAX];
    test_tmpdir(dir);
    EXPECT_STREQ("", test_in_copy(with_crossed_streams, dir));
    test_remove_tree(dir);
}

/* ==== P10 to P13: signals of the host ========================================================= */

static volatile sig_atomic_t pipe_signals;
static void count_pipe_signal(int number) {
    (void)number;
    pipe_signals++;
}

/* What the host does about SIGPIPE: 0 default, 1 ignores, 2 handles, 3 blocks, 4 one is pending */
static const char *child_that_closed_stdin(void *arg) {
    static char input[1000000];
    int how = *(int *)arg;
    sbx_config config = {0};
    sbx_result result;
    sigset_t set, pending;
    sbx *box;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    signal(SIGPIPE, how == 1 ? SIG_IGN : how == 2 ? count_pipe_signal : SIG_DFL);
    if (how >= 3) sigprocmask(SIG_BLOCK, &set, NULL);
    if (how == 4) raise(SIGPIPE);
    config.input = input;
    config.input_size = sizeof input;
    MUST_RUN(&config, SBX_OK, "exit", "0"); /* test_run compares mask, dispositions, pending */
    MUST_RUN(&config, SBX_OK, "read_some", "1000", "close", "20");
    MUST_RUN(&config, SBX_EXITED, "read_some", "70000", "3");
    MUST_RUN(&config, SBX_CRASHED, "read_some", "500", "kill");
    config.input = NULL, config.input_size = 0;
    config.in = SBX_PIPE;
    config.argv = test_child_argv("read_some", "0", "close", "40");
    TEST_MUST((box = sbx_start(&config, &result)) != NULL);
    while (sbx_write(box, input, 1000) >= 0) sbx_poll(box, 1);
    TEST_MUST(sbx_write(box, input, 1000) == -1);
    TEST_MUST(sbx_finish(box, &result) == SBX_OK);
    sbx_free(&result);
    sigpending(&pending);
    TEST_MUST(sigismember(&pending, SIGPIPE) == (how == 4));
    TEST_MUST(pipe_signals == 0);
    return "";
}

UTEST(pitfall, P10_writing_to_a_closed_stdin) {
    int how;
    for (how = 0; how < 5; how++)
        EXPECT_STREQ("", test_in_copy(child_that_closed_stdin, &how));
}

static int tells_signals(void *arg, void *ret, size_t ret_size) {
    struct sigaction action;
    sigset_t blocked;
    int i, *count = (int *)ret;
    (void)arg, (void)ret_size;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (i = 1; i < 32; i++) {
        if (sigismember(&blocked, i) == 1) count[0]++;
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL) count[1]++;
    }
    return 0;
}

static const char *signals_of_the_child(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    sigset_t all;
    const char *flaw;
    int i, counts[2] = {0, 0};
    (void)arg;
    for (i = 1; i < 65; i++)
        if (i != SIGALRM) signal(i, i % 3 == 0 ? count_pipe_signal : SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* P13 is about that one */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    config.argv = test_child_argv("signals");
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (strcmp(result.out.data, "seen\n")) return test_text("it has %s", result.out.data);
    sbx_free(&result);
    config.argv = NULL; /* a function starts as fresh as a program */
    TEST_MUST(sbx_call(&config, tells_signals, NULL, counts, sizeof counts, &result) == SBX_OK);
    sbx_free(&result);
    TEST_MUST(counts[0] == 0);
    if (!test_is_asan()) TEST_MUST(counts[1] == 0);
    config.timeout_ms = 200; /* so SIGTERM ends it */
    config.grace_ms = 15000;
    config.argv = test_child_argv("sleep");
    TEST_MUST(sbx_run(&config, &result) == SBX_TIMED_OUT && result.signal == SIGTERM);
    sbx_free(&result);
    return "";
}

UTEST(pitfall, P11_child_starts_with_no_signal_blocked_or_ignored) {
    EXPECT_STREQ("", test_in_copy(signals_of_the_child, NULL));
}

/* Failures of every kind under a peculiar mask; test_run compares the mask after each. */
static const char *failed_starts(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    static const char *const unknown[] = {"no-such-program-anywhere", NULL};
    static const char *const directory[] = {"/", NULL};
    sbx_config config = {0};
    sbx_result result;
    sigset_t mask;
    const char *flaw;
    int i, spare, ends = 0;
    config.contain = *(const sbx_contain *)arg;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigaddset(&mask, SIGPIPE);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    for (i = 0; i < 3; i++) {
        config.argv = i == 0 ? missing : i == 1 ? unknown : directory;
        if (*(flaw = test_run(&config, &result))) return flaw;
        TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
        sbx_free(&result);
    }
    config.argv = test_child_argv("exit", "0");
    config.cwd = "/nowhere";
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_CWD);
    sbx_free(&result);
    config.cwd = NULL;
    for (spare = 0; spare < 40 && ends < 3; spare++) { /* one descriptor more each time */
        struct rlimit limit, before;
        int lowest = dup(2);
        TEST_MUST(lowest >= 0);
        close(lowest);
        getrlimit(RLIMIT_NOFILE, &before);
        limit = before;
        limit.rlim_cur = (rlim_t)(lowest + spare);
        setrlimit(RLIMIT_NOFILE, &limit);
        if (*(flaw = test_run(&config, &result))) return test_text("%d spare: %s", spare, flaw);
        setrlimit(RLIMIT_NOFILE, &before);
        if (result.verdict == SBX_OK) ends++;
        else TEST_MUST(result.verdict == SBX_NOT_STARTED && result.sys_errno == EMFILE);
        sbx_free(&result);
    }
    TEST_MUST(ends == 3); /* with enough of them it runs */
#ifdef __linux__
    if (!forbid_new_processes()) return "no filter";
    for (i = 0; i < 3; i++) {
        char ret[4];
        config.argv = test_child_argv("exit", "0");
        if (*(flaw = test_run(&config, &result))) return flaw;
        TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_SPAWN);
        TEST_MUST(result.sys_errno == EAGAIN);
        sbx_free(&result);
        config.argv = NULL;
        TEST_MUST(sbx_call(&config, echo_length, NULL, ret, 4, &result) == SBX_NOT_STARTED);
        TEST_MUST(result.step == SBX_STEP_SPAWN);
        sbx_free(&result);
    }
#endif
    return "";
}

UTEST(pitfall, P12_signal_mask_restored_after_failed_starts) {
    int i;
    for (i = 0; i < 2; i++) {
        const char *flaw = test_in_copy(failed_starts, (void *)(size_t)&both[i]);
        if (strcmp(flaw, "no filter") != 0) EXPECT_STREQ("", flaw);
    }
}

static void reap_all(int number) {
    int error = errno;
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    errno = error;
}

static const char *lost_or(const sbx_result *r, sbx_verdict verdict, int exit_code, int signal) {
    if (r->verdict == verdict && r->exit_code == exit_code && r->signal == signal) return "";
    if (r->verdict == SBX_LOST && !test_kernel_keeps_status() && r->exit_code == -1 && !r->signal)
        return "";
    return test_text("exit %d, signal %d: %s", r->exit_code, r->signal, r->message);
}

/* 0 = SIGCHLD ignored, 1 = SA_NOCLDWAIT, 2 = a handler that reaps, 3 = the same with SA_RESTART;
   + 4 = whatever containment there is. */
static const char *somebody_else_reaps(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    int how = *(int *)arg % 4, i;
    struct sigaction action;
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    memset(&action, 0, sizeof action);
    action.sa_handler = how == 0 ? SIG_IGN : how == 1 ? SIG_DFL : reap_all;
    action.sa_flags = how == 1 ? SA_NOCLDWAIT : how == 3 ? SA_RESTART : 0;
    sigaction(SIGCHLD, &action, NULL);
    config.contain = both[*(int *)arg / 4];
    for (i = 0; i < 5; i++) {
        config.argv = test_child_argv("say", "out", "err", "3");
        if (*(flaw = test_run(&config, &result))) return flaw;
        if (*(flaw = lost_or(&result, SBX_EXITED, 3, 0))) return flaw;
        TEST_MUST(strcmp(result.out.data, "out") == 0 && strcmp(result.err.data, "err") == 0);
        sbx_free(&result);
    }
    config.argv = test_child_argv("exit", "0");
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (*(flaw = lost_or(&result, SBX_OK, 0, 0))) return flaw;
    sbx_free(&result);
    config.argv = test_child_argv("crash", "null");
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (*(flaw = lost_or(&result, SBX_CRASHED, -1, SIGSEGV))) return flaw;
    sbx_free(&result);
    config.output_bytes = 100;
    MUST_RUN(&config, SBX_OUTPUT_LIMIT, "flood", "out"); /* the reason is the host's own */
    config.output_bytes = 0;
    config.timeout_ms = 40;
    config.grace_ms = how % 2 ? -1 : 20;
    MUST_RUN(&config, SBX_TIMED_OUT, "ignore", "ignore");
    config.timeout_ms = 0;
    config.argv = missing;
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    sbx_free(&result);
    return "";
}

UTEST(pitfall, P13_host_ignores_or_reaps_sigchld) {
    int how;
    for (how = 0; how < 8; how++) EXPECT_STREQ("", test_in_copy(somebody_else_reaps, &how));
}

/* The host's own children are not ours to collect. */
static const char *children_of_the_host(void *arg) {
    sbx_config config = {0};
    pid_t pids[5];
    int i, status;
    (void)arg;
    for (i = 0; i < 5; i++) {
        pids[i] = fork();
        if (pids[i] == 0) _exit(10 + i);
    }
    MUST_RUN(&config, SBX_EXITED, "exit", "3");
    config.timeout_ms = 100;
    config.grace_ms = -1;
    MUST_RUN(&config, SBX_TIMED_OUT, "sleep");
    for (i = 0; i < 5; i++)
        TEST_MUST(waitpid(pids[i], &status, 0) == pids[i] && WEXITSTATUS(status) == 10 + i);
    return "";
}

UTEST(pitfall, P13_children_of_the_host_are_left_to_it) {
    EXPECT_STREQ("", test_in_copy(children_of_the_host, NULL));
}

/* ==== P14, P15: whom signals go to ============================================================ */

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
static const char *signals_flaw(const trace *t) {
    static known all[PIDS];
    int i, count = 0, signals = 0, reaped = 0;
    for (i = 0; i < t->count; i++) {
        const call *c = &t->at[i];
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
    trace *t = new_trace();
    const char *flaw;
    TEST_MUST(t != NULL);
    flaw = traced_copy(t, many_ends, arg);
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
        EXPECT_STREQ("", test_in_copy(ended_unnoticed, (void *)(size_t)&both[i]));
}

/* ==== P16 to P18: what the deadline covers ==================================================== */

UTEST(pitfall, P16_output_is_drained_while_waiting) {
    sbx_config config = {0};
    sbx_result result;
    config.output_bytes = 16 << 20;
    config.timeout_ms = 18000;
    result = RUN_CHILD(&config, "write", "6000000", "6000000");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_EQ((size_t)6000000, result.out.size);
    EXPECT_EQ((size_t)6000000, result.err.size);
    sbx_free(&result);
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

static const char *copy_of_child(const char *dir, const char *name) {
    static char chunk[1 << 16];
    const char *path = test_text("%s/%s", dir, name);
    int from = open(test_child(), O_RDONLY | O_CLOEXEC);
    int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    ssize_t n;
    while ((n = read(from, chunk, sizeof chunk)) > 0)
        if (write(to, chunk, (size_t)n) != n) return "";
    close(from);
    close(to);
    return n == 0 ? path : "";
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
    const char *flaw, *program = copy_of_child(how->dir, how->by_fanotify ? "asked" : "leased");
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
        flaw = lacks(result.message, "120 ms");
    sbx_free(&result);
    if (*flaw) return flaw;
    TEST_MUST(!test_has_children());
    config.timeout_ms = 0;
    return runs_as(&config, argv, SBX_OK); /* the file itself is fine */
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
        how.contain = both[i % 2];
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

/* ==== P19, P20: between fork and exec ========================================================= */

static int locks_held, let_go; /* flags */

static void *hold_locks(void *arg) {
    (void)arg;
    flockfile(stdout);
    flockfile(stderr);
    flockfile(stdin);
    raise_flag(&locks_held);
    while (!flag(&let_go)) {
        free(malloc(1000)); /* and the allocator's, most of the time */
    }
    funlockfile(stdin);
    funlockfile(stderr);
    funlockfile(stdout);
    return NULL;
}

/* A lock that another thread holds stays locked for ever in the child. */
static const char *threaded_host(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    static const char *const env[] = {"A=1", NULL};
    sbx_config config = {0};
    pthread_t thread;
    int i;
    (void)arg;
    TEST_MUST(pthread_create(&thread, NULL, hold_locks, NULL) == 0);
    while (!flag(&locks_held)) test_sleep_ms(1);
    config.env = env;
    for (i = 0; i < 20; i++) {
        config.contain = both[i % 2];
        config.cwd = i % 5 == 4 ? "/" : NULL;
        MUST_RUN(&config, SBX_EXITED, "exit", "3");
        config.cwd = NULL;
        config.argv = missing;
        TEST_MUST(sbx_run(&config, NULL) == SBX_NOT_STARTED);
    }
    raise_flag(&let_go);
    pthread_join(thread, NULL);
    return "";
}

UTEST(pitfall, P19_other_threads_hold_locks) {
    EXPECT_STREQ("", test_in_copy(threaded_host, NULL));
}

#ifdef __linux__
static const char *one_run(void *arg) {
    sbx_config config = *(const sbx_config *)arg;
    config.argv = test_child_argv("exit", "3");
    TEST_MUST(sbx_run(&config, NULL) == SBX_EXITED);
    config.argv = (const char *const[]){"/nowhere/at/all", NULL};
    TEST_MUST(sbx_run(&config, NULL) == SBX_NOT_STARTED);
    return "";
}

static const char *watch_the_child(void *arg) {
    static const long never[] = {SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_futex};
    trace *t = new_trace();
    const char *flaw;
    int i, seen = 0;
    unsigned k;
    TEST_MUST(t != NULL);
    flaw = traced_copy(t, one_run, arg);
    if (*flaw) return flaw;
    for (i = 0; i < t->count; i++) {
        if (!t->at[i].child) continue;
        seen++;
        for (k = 0; k < sizeof never / sizeof *never; k++)
            if (t->at[i].number == never[k])
                return test_text("the child made system call %ld before exec", never[k]);
    }
    return seen < 4 ? "the child was not seen" : "";
}

static const char *watch_the_fork(void *arg) {
    const unsigned long long wanted = 0x100 | 0x4000; /* CLONE_VM, CLONE_VFORK */
    trace *t = new_trace();
    const char *flaw;
    int i, seen = 0;
    TEST_MUST(t != NULL);
    flaw = traced_copy(t, one_run, arg);
    if (*flaw) return flaw;
    for (i = 0; i < t->count; i++) {
        const call *c = &t->at[i];
        int plain_fork = 0, clone = c->number == SYS_clone;
        if (c->child) continue;
#ifdef SYS_clone3
        clone |= c->number == SYS_clone3;
#endif
#ifdef SYS_fork
        plain_fork = c->number == SYS_fork;
        seen += c->number == SYS_vfork;
#endif
        if (plain_fork || (clone && (c->args[0] & wanted) != wanted))
            return test_text("a fork that copies the host: flags %llx", c->args[0]);
        seen += clone;
    }
    return seen < 2 ? "no fork was seen" : "";
}
#endif

/* Nothing that allocates or locks: those calls would show. */
UTEST(pitfall, P19_child_makes_plain_system_calls_only) {
#ifdef __linux__
    sbx_config config = {0};
    const char *flaw;
    if (test_is_asan()) UTEST_SKIP("the sanitizer adds calls of its own");
    config.cwd = "/";
    config.open_files = 50;
    config.contain = SBX_CONTAIN_GROUP;
    flaw = test_in_copy(watch_the_child, &config);
    if (strcmp(flaw, "cannot trace") == 0) UTEST_SKIP("no ptrace here");
    EXPECT_STREQ("", flaw);
#else
    UTEST_SKIP("needs ptrace");
#endif
}

/* Its cost cannot grow with the host's memory if that memory is never copied. */
UTEST(pitfall, P20_memory_of_the_host_is_not_copied) {
#if defined(__linux__) && !defined(__s390x__)
    sbx_config config = {0};
    const char *flaw;
    if (test_is_portable()) UTEST_SKIP("portable POSIX has fork only");
    flaw = test_in_copy(watch_the_fork, &config);
    if (strcmp(flaw, "cannot trace") == 0) UTEST_SKIP("no ptrace here");
    EXPECT_STREQ("", flaw);
#else
    UTEST_SKIP("needs ptrace");
#endif
}

/* ==== P21: a program that is being written ==================================================== */

typedef struct writer {
    int fd, ms;
} writer;

static void *close_later(void *arg) {
    writer *w = (writer *)arg;
    test_sleep_ms(w->ms);
    close(w->fd);
    return NULL;
}

static void busy_program(int *utest_result, const char *program, sbx_contain contain) {
    sbx_config config = {0};
    sbx_result result;
    const char *argv[] = {NULL, "exit", "3", NULL};
    writer w;
    pthread_t thread;
    long long before;
    argv[0] = program;
    config.argv = argv;
    config.contain = contain;
    w.ms = 30;
    w.fd = open(program, O_WRONLY | O_APPEND | O_CLOEXEC);
    ASSERT_TRUE(w.fd >= 0);
    ASSERT_EQ(0, pthread_create(&thread, NULL, close_later, &w)); /* the writer soon ends */
    sbx_run(&config, &result);
    pthread_join(thread, NULL);
    EXPECT_STREQ("'child' exited with code 3", result.message);
    sbx_free(&result);
    w.fd = open(program, O_WRONLY | O_APPEND | O_CLOEXEC);
    before = test_now_ms();
    TEST_RUN(&config, &result); /* it never does */
    if (result.verdict == SBX_EXITED) { /* newer kernels let a program that is written to run */
        EXPECT_EQ(3, result.exit_code);
    } else {
        EXPECT_EQ((int)SBX_NOT_STARTED, (int)result.verdict);
        EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
        EXPECT_EQ(ETXTBSY, result.sys_errno);
        EXPECT_STREQ("", lacks(result.message, program));
        EXPECT_STREQ("", lacks(result.message, "writ"));
        EXPECT_LT(test_now_ms() - before, 15000LL);
    }
    sbx_free(&result);
    config.timeout_ms = 20; /* the retries end with the deadline */
    TEST_RUN(&config, &result);
    EXPECT_NE((int)SBX_OK, (int)result.verdict);
    sbx_free(&result);
    close(w.fd);
}

UTEST(pitfall, P21_text_file_busy) {
    char dir[PATH_MAX];
    const char *program;
    int i;
    test_tmpdir(dir);
    program = copy_of_child(dir, "child");
    for (i = 0; i < 2; i++) busy_program(utest_result, program, both[i]);
    test_remove_tree(dir);
}

/* ==== P22: the thread that started it ========================================================= */

typedef struct starter {
    sbx_config config;
    sbx *box;
} starter;

static void *start_and_leave(void *arg) {
    starter *s = (starter *)arg;
    s->box = sbx_start(&s->config, NULL);
    return NULL;
}

UTEST(pitfall, P22_thread_that_started_it_ends) {
    int i;
    for (i = 0; i < 2; i++) {
        starter s;
        pthread_t thread;
        sbx_result result;
        memset(&s, 0, sizeof s);
        s.config.argv = test_child_argv("cat");
        s.config.in = SBX_PIPE;
        s.config.contain = both[i];
        ASSERT_EQ(0, pthread_create(&thread, NULL, start_and_leave, &s));
        pthread_join(thread, NULL);
        ASSERT_TRUE(s.box != NULL);
        EXPECT_EQ(0, sbx_poll(s.box, 60)); /* it lives on, and works */
        EXPECT_EQ(5LL, sbx_write(s.box, "hello", 5));
        EXPECT_EQ((int)SBX_OK, (int)sbx_finish(s.box, &result));
        EXPECT_STREQ("hello", result.out.data);
        sbx_free(&result);
    }
}

/* ==== P23 to P25 ============================================================================== */

static long own_peak_kb(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
}

static const char *flooded_host(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    long before = own_peak_kb(), blocks = test_live_blocks();
    (void)arg;
    config.argv = test_child_argv("write", "20000000", "20000000");
    config.output_bytes = 1 << 20;
    config.truncate_output = 1; /* all of it passes through */
    sbx_run(&config, &result);
    TEST_MUST(result.verdict == SBX_OK);
    TEST_MUST(result.out.total + result.err.total == 40000000);
    TEST_MUST(result.out.size + result.err.size == 1 << 20);
    sbx_free(&result);
    TEST_MUST(test_live_blocks() == blocks);
    if (own_peak_kb() - before > 12 << 10)
        return test_text("the host grew by %ld KB", own_peak_kb() - before);
    return "";
}

UTEST(pitfall, P23_memory_stays_below_cap_and_a_chunk) {
    EXPECT_STREQ("", test_in_copy(flooded_host, NULL));
}

static volatile sig_atomic_t ticks;
static void tick(int number) {
    (void)number;
    ticks++;
}

static const char *with_a_1_khz_timer(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    static char input[2000000];
    struct itimerval every;
    struct sigaction action;
    sbx_config config = {0};
    sbx_result result;
    char ret[8];
    int i, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = tick;
    action.sa_flags = *(int *)arg ? SA_RESTART : 0;
    sigaction(SIGALRM, &action, NULL);
    every.it_interval.tv_sec = every.it_value.tv_sec = 0;
    every.it_interval.tv_usec = every.it_value.tv_usec = 1000;
    TEST_MUST(setitimer(ITIMER_REAL, &every, NULL) == 0);
    config.timeout_ms = 18000;
    config.output_bytes = 4 << 20;
    config.input = input;
    config.input_size = sizeof input;
    config.argv = test_child_argv("cat");
    TEST_MUST(sbx_run(&config, &result) == SBX_OK && result.out.size == sizeof input);
    sbx_free(&result);
    config.input = NULL, config.input_size = 0;
    for (i = 0; i < 10; i++) {
        config.argv = test_child_argv("say", "out", "err", "3");
        TEST_MUST(sbx_run(&config, &result) == SBX_EXITED && result.exit_code == 3);
        TEST_MUST(strcmp(result.out.data, "out") == 0 && strcmp(result.err.data, "err") == 0);
        sbx_free(&result);
        config.argv = missing;
        TEST_MUST(sbx_run(&config, &result) == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
        TEST_MUST(result.sys_errno == ENOENT);
        sbx_free(&result);
    }
    config.timeout_ms = 150;
    config.grace_ms = 100;
    config.argv = test_child_argv("last_words", "-1");
    before = ticks;
    TEST_MUST(sbx_run(&config, &result) == SBX_TIMED_OUT);
    TEST_MUST(result.wall_us >= 150000); /* the deadline did not come early */
    TEST_MUST(result.wall_us < 15000000);
    TEST_MUST(ticks - before > 2); /* nor was the host deaf meanwhile */
    sbx_free(&result);
    config.argv = NULL;
    config.timeout_ms = 18000;
    TEST_MUST(sbx_call(&config, echo_length, NULL, ret, sizeof(int), &result) == SBX_OK);
    sbx_free(&result);
    return "";
}

UTEST(pitfall, P24_a_1_khz_timer_of_the_host) {
    int restart;
    for (restart = 0; restart < 2; restart++)
        EXPECT_STREQ("", test_in_copy(with_a_1_khz_timer, &restart));
}

static const char *with_a_jumping_clock(void *arg) {
    sbx_config config = {0};
    test_wall_clock_jump(*(long long *)arg);
    config.timeout_ms = 15000;
    MUST_RUN(&config, SBX_OK, "sleep", "50");
    config.timeout_ms = 80;
    config.grace_ms = 40;
    MUST_RUN(&config, SBX_TIMED_OUT, "ignore", "ignore");
    return "";
}

UTEST(pitfall, P25_jumps_of_the_wall_clock_do_not_matter) {
    long long seconds;
    if (!test_clock_can_move()) UTEST_SKIP("the clock cannot be moved in this build");
    for (seconds = -3600; seconds <= 3600; seconds += 7200)
        EXPECT_STREQ("", test_in_copy(with_a_jumping_clock, &seconds));
}

/* ==== P26 to P30: limits ====================================================================== */

static const char *big_host(void *arg) {
    size_t size = (size_t)400 << 20;
    char *block = (char *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                               0);
    static const char *const argv[] = {"true", NULL};
    sbx_config config = {0};
    sbx_result result;
    int i;
    (void)arg;
    TEST_MUST(block != (char *)MAP_FAILED);
    memset(block, 1, size);
    config.argv = argv;
    for (i = 0; i < 4; i++) {
        const char *flaw;
        config.memory_bytes = i & 1 ? (100 << 20) : 0; /* what the host has is not the child's */
        if (test_is_portable()) config.memory_bytes = 0;
        config.argv = i & 2 ? test_child_argv("sleep", "60") : argv;
        if (*(flaw = test_run(&config, &result))) return flaw;
        TEST_MUST(result.verdict == SBX_OK);
        if (result.peak_bytes > 100LL << 20)
            return test_text("/bin/true used %lld MB", result.peak_bytes >> 20);
        sbx_free(&result);
    }
    config.argv = NULL;
    config.memory_bytes = test_is_portable() ? 0 : 100 << 20;
    config.input = "x";
    config.input_size = 1;
    i = 0;
    TEST_MUST(sbx_call(&config, echo_length, NULL, &i, sizeof i, &result) == SBX_OK && i == 1);
    TEST_MUST(result.peak_bytes < 100LL << 20);
    sbx_free(&result);
    return "";
}

UTEST(pitfall, P26_peak_is_never_the_hosts) {
    EXPECT_STREQ("", test_in_copy(big_host, NULL));
}

/* ... and it is the child's own, also when that is larger than the host. */
UTEST(pitfall, P26_peak_is_the_childs_own) {
    sbx_config config = {0};
    sbx_result result = RUN_CHILD(&config, "memory", "own", "120", "1", "150");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    if (result.peak_bytes != -1) {
        EXPECT_GE(result.peak_bytes, 114LL << 20);
        EXPECT_LT(result.peak_bytes, 200LL << 20);
    }
    if (!test_is_portable()) EXPECT_NE(-1LL, result.peak_bytes);
    sbx_free(&result);
}

UTEST(pitfall, P27_hard_cpu_limit_is_above_the_soft_one) {
    sbx_config config = {0};
    sbx_result result;
    long long soft = 0, hard = 0;
    const char *at;
    config.cpu_ms = 3500; /* whole seconds for the kernel: rounded up, never down */
    result = RUN_CHILD(&config, "limits");
    at = strstr(result.out.data, "cpu ");
    ASSERT_TRUE(at != NULL);
    ASSERT_EQ(2, sscanf(at, "cpu %lld %lld", &soft, &hard));
    EXPECT_GE(soft, 4LL);
    EXPECT_LE(soft, 5LL);
    EXPECT_GT(hard, soft);
    sbx_free(&result);
    if (!test_is_portable()) { /* whole seconds there; the attacks include it */
        config.cpu_ms = 80;
        result = RUN_CHILD(&config, "burn", "user", "1", "15000", "ignore"); /* SIGXCPU, that is */
        EXPECT_EQ((int)SBX_CPU_LIMIT, (int)result.verdict);
        EXPECT_EQ(1, result.certain);
        EXPECT_TRUE(result.evidence & SBX_SAW_CPU_SUM);
        EXPECT_GE(result.user_us + result.system_us, 60000LL);
        EXPECT_LT(result.user_us + result.system_us, 8000000LL);
        sbx_free(&result);
    }
    config.cpu_ms = 5000; /* SIGXCPU of its own is no limit */
    result = RUN_CHILD(&config, "raise", test_text("%d", SIGXCPU));
    EXPECT_EQ((int)SBX_CRASHED, (int)result.verdict);
    sbx_free(&result);
}

UTEST(pitfall, P28_processes_are_limited_or_refused) {
    sbx_config config = {0};
    sbx_result result;
    config.processes = 6;
    result = RUN_CHILD(&config, "processes", "250");
    if (result.verdict == SBX_NOT_STARTED) {
        EXPECT_EQ(0, (int)geteuid()); /* only root is out of reach, and that is said */
        EXPECT_STREQ("", lacks(result.message, "processes"));
        EXPECT_STREQ("", lacks(result.message, "root"));
    } else {
        EXPECT_EQ((int)SBX_OK, (int)result.verdict);
        EXPECT_STREQ("", lacks(result.out.data, " EAGAIN")); /* other tasks of the user count */
        EXPECT_LT(atoi(result.out.data), 250);
        EXPECT_TRUE(result.enforced & SBX_BY_RLIMIT_NPROC);
    }
    sbx_free(&result);
}

/* In use, not reserved: what node, Go, Java and sanitizers do is fine under memory_bytes. */
UTEST(pitfall, P29_reserved_memory_is_not_used_memory) {
    sbx_config config = {0};
    sbx_result result;
    config.memory_bytes = 100 << 20;
    result = RUN_CHILD(&config, "reserve", "4000", "20", "60");
    if (test_is_portable()) { /* documented there: each process's address space */
        EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
        EXPECT_TRUE(result.enforced & SBX_BY_RLIMIT_AS);
        EXPECT_EQ(0, result.certain);
    } else {
        EXPECT_EQ((int)SBX_OK, (int)result.verdict);
        EXPECT_LT(result.peak_bytes, 100LL << 20);
        EXPECT_GE(result.peak_bytes, 20LL << 20);
    }
    sbx_free(&result);
    if (test_is_portable()) return;
    result = RUN_CHILD(&config, "reserve", "4000", "300", "2000");
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    EXPECT_EQ(1, result.certain);
    EXPECT_GT(result.peak_bytes, 100LL << 20);
    sbx_free(&result);
}

UTEST(pitfall, P30_memory_breach_that_is_only_exit_1) {
    sbx_config config = {0};
    sbx_result result;
    config.address_space_bytes = 100 << 20;
    result = RUN_CHILD(&config, "malloc", "handled");
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    EXPECT_EQ(0, result.certain); /* likely, not proven */
    EXPECT_EQ(1, result.exit_code);
    EXPECT_TRUE(result.evidence & SBX_SAW_MEMORY_TEXT);
    sbx_free(&result);
    config.err = SBX_MERGE; /* the words count wherever stderr went to */
    result = RUN_CHILD(&config, "malloc", "handled");
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    sbx_free(&result);
    config.err = SBX_DEFAULT;
    config.address_space_bytes = 0;
    result = RUN_CHILD(&config, "say", "", "child: out of memory\n", "1");
    EXPECT_EQ((int)SBX_EXITED, (int)result.verdict); /* no limit: its own affair */
    EXPECT_EQ(1, result.certain);
    sbx_free(&result);
}

/* ==== P31 to P33 ============================================================================== */

UTEST(pitfall, P31_nul_bytes_in_output) {
    sbx_config config = {0};
    sbx_result result;
    config.command = "printf 'a\\000b\\000\\000'; printf '\\000' >&2";
    TEST_RUN(&config, &result);
    EXPECT_EQ((size_t)5, result.out.size);
    EXPECT_EQ(0, memcmp(result.out.data, "a\0b\0\0", 6));
    EXPECT_EQ((size_t)1, result.err.size);
    EXPECT_EQ(0, memcmp(result.err.data, "\0\0", 2));
    sbx_free(&result);
    config.address_space_bytes = 1 << 30; /* words behind a NUL are words */
    config.command = "printf '\\000MemoryError\\n' >&2; exit 1";
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    sbx_free(&result);
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
    trace *t = new_trace();
    const char *flaw;
    int i, calls = 0;
    (void)arg;
    TEST_MUST(t != NULL);
    flaw = traced_copy(t, quiet_runs, NULL);
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

/* ==== P34 to P37: program, directory, arguments =============================================== */

static const char *relative_program(void *arg) {
    const char *dir = (const char *)arg;
    static const char *const names[] = {"./prog", "sub/prog", "../host/prog", "prog"};
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    unsigned i;
    TEST_MUST(mkdir(test_text("%s/host", dir), 0700) == 0);
    TEST_MUST(mkdir(test_text("%s/host/sub", dir), 0700) == 0);
    TEST_MUST(mkdir(test_text("%s/there", dir), 0700) == 0);
    TEST_MUST(mkdir(test_text("%s/there/sub", dir), 0700) == 0);
    test_write_file(test_text("%s/host", dir), "prog", "#!/bin/sh\necho host; pwd\n", 25, 0700);
    test_write_file(test_text("%s/host/sub", dir), "prog", "#!/bin/sh\necho host; pwd\n", 25, 0700);
    test_write_file(test_text("%s/there", dir), "prog", "#!/bin/sh\necho there; pwd\n", 26, 0700);
    test_write_file(test_text("%s/there/sub", dir), "prog", "#!/bin/sh\necho there; pwd\n", 26,
                    0700);
    TEST_MUST(chdir(test_text("%s/host", dir)) == 0);
    setenv("PATH", ".:/usr/bin:/bin", 1); /* a relative entry: the host's directory as well */
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        const char *argv[] = {names[i], NULL};
        config.argv = argv;
        config.cwd = test_text("%s/there", dir);
        if (*(flaw = test_run(&config, &result))) return flaw;
        if (strcmp(result.out.data, test_text("host\n%s/there\n", dir)))
            return test_text("%s: %s %s", names[i], result.message, result.out.data);
        sbx_free(&result);
        config.cwd = "../there"; /* relative to the host, too */
        if (*(flaw = test_run(&config, &result))) return flaw;
        if (strcmp(result.out.data, test_text("host\n%s/there\n", dir)))
            return test_text("%s: %s %s", names[i], result.message, result.out.data);
        sbx_free(&result);
    }
    TEST_MUST(unlink("prog") == 0); /* it is only in the other directory: not found */
    config.argv = (const char *const[]){"./prog", NULL};
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    sbx_free(&result);
    return "";
}

UTEST(pitfall, P34_relative_program_counts_from_the_hosts_directory) {
    char dir[PATH_MAX];
    test_tmpdir(dir);
    EXPECT_STREQ("", test_in_copy(relative_program, dir));
    test_remove_tree(dir);
}

UTEST(pitfall, P35_missing_program_and_missing_directory_differ) {
    static const char *const missing[] = {"/nowhere/program", NULL};
    static const char *const unknown[] = {"no-such-program-anywhere", NULL};
    sbx_config config = {0};
    sbx_result result;
    config.argv = missing;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
    EXPECT_EQ(ENOENT, result.sys_errno);
    EXPECT_STREQ("", lacks(result.message, "/nowhere/program"));
    EXPECT_TRUE(strstr(result.message, "cwd") == NULL);
    sbx_free(&result);
    config.argv = unknown;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
    EXPECT_STREQ("", lacks(result.message, "no-such-program-anywhere"));
    EXPECT_STREQ("", lacks(result.message, "PATH"));
    sbx_free(&result);
    config.cwd = "/nowhere/directory";
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_EQ((int)SBX_STEP_CWD, (int)result.step);
    EXPECT_EQ(ENOENT, result.sys_errno);
    EXPECT_STREQ("", lacks(result.message, "/nowhere/directory"));
    EXPECT_STREQ("", lacks(result.message, "cwd"));
    sbx_free(&result);
}

UTEST(pitfall, P35_missing_interpreter_and_missing_program_differ) {
    char dir[PATH_MAX];
    const char *argv[] = {NULL, NULL};
    sbx_config config = {0};
    sbx_result result;
    test_tmpdir(dir);
    argv[0] = test_write_file(dir, "script", "#!/nowhere/interpreter\n", 23, 0700);
    config.argv = argv;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)result.verdict);
    EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
    EXPECT_STREQ("", lacks(result.message, "interpreter"));
    sbx_free(&result);
    argv[0] = test_write_file(dir, "plain", "x", 1, 0600);
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
    EXPECT_EQ(EACCES, result.sys_errno);
    sbx_free(&result);
    argv[0] = dir;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
    EXPECT_STREQ("", lacks(result.message, "directory"));
    sbx_free(&result);
    test_remove_tree(dir);
}

/* A directory on PATH that may not be searched says nothing about a program nobody has. */
static const char *path_that_cannot_be_searched(void *arg) {
    const char *dir = (const char *)arg, *flaw;
    static const char *const unknown[] = {"no-such-program-anywhere", NULL};
    sbx_config config = {0};
    sbx_result result;
    TEST_MUST(mkdir(test_text("%s/locked", dir), 0) == 0);
    setenv("PATH", test_text("%s/locked:/usr/bin:/bin", dir), 1);
    MUST_RUN(&config, SBX_OK, "exit", "0");
    config.argv = (const char *const[]){"sh", "-c", "exit 5", NULL}; /* found further on */
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_EXITED && result.exit_code == 5);
    sbx_free(&result);
    config.argv = unknown;
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (result.step != SBX_STEP_EXEC || result.sys_errno != ENOENT)
        return test_text("errno %d: %s", result.sys_errno, result.message);
    return lacks(result.message, "not found");
}

UTEST(pitfall, P35_unsearchable_path_is_not_a_program) {
    char dir[PATH_MAX];
    test_tmpdir(dir);
    EXPECT_STREQ("", test_in_copy(path_that_cannot_be_searched, dir));
    test_remove_tree(dir);
}

static const char *script_without_a_first_line(void *arg) {
    const char *dir = (const char *)arg;
    const char *text = test_text("touch %s/ran\n", dir);
    const char *path = test_write_file(dir, "script", text, strlen(text), 0700);
    const char *ways[3];
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    int i;
    ways[0] = path;
    ways[1] = "script"; /* found on PATH */
    ways[2] = test_write_file(dir, "empty", "", 0, 0700);
    setenv("PATH", test_text("%s:/usr/bin:/bin", dir), 1);
    for (i = 0; i < 3; i++) {
        const char *argv[] = {ways[i], NULL};
        config.argv = argv;
        if (*(flaw = test_run(&config, &result))) return flaw;
        TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
        TEST_MUST(result.sys_errno == ENOEXEC);
        if (*(flaw = lacks(result.message, "#!"))) return flaw;
        sbx_free(&result);
        TEST_MUST(access(test_text("%s/ran", dir), F_OK) != 0);
    }
    return "";
}

UTEST(pitfall, P36_script_without_interpreter_line_is_an_error) {
    char dir[PATH_MAX];
    test_tmpdir(dir);
    EXPECT_STREQ("", test_in_copy(script_without_a_first_line, dir));
    test_remove_tree(dir);
}

UTEST(pitfall, P37_arguments_arrive_unchanged) {
    static const char *const odd[] = {"",     " ",      "a b",       "\"",      "'",  "\\",   "\n",
                                      "$HOME", "`id`",  "*",         "-c",      "--", "a\tb", ";",
                                      "&& x",  "%s%n",  "\xc3\xa9\xff", "\x01\x7f", "#!", "=",  ""};
    enum { ODD = sizeof odd / sizeof *odd, MANY = 2000 };
    static const char *argv[MANY + 3];
    static char expected[ODD * 20], longest[100001];
    sbx_config config = {0};
    sbx_result result;
    int i;
    argv[0] = test_child();
    argv[1] = "args";
    for (i = 0; i < ODD; i++) {
        argv[i + 2] = odd[i];
        strcat(strcat(strcat(expected, "["), odd[i]), "]\n");
    }
    argv[ODD + 2] = NULL;
    config.argv = argv;
    TEST_RUN(&config, &result);
    EXPECT_STREQ(expected, result.out.data);
    sbx_free(&result);
    memset(longest, 'l', sizeof longest - 1);
    for (i = 0; i < MANY; i++) argv[i + 2] = "many";
    argv[2] = longest;
    argv[MANY + 2] = NULL;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_EQ((size_t)(100003 + (MANY - 1) * 7), result.out.size);
    sbx_free(&result);
}

/* More than the kernel takes: an error that says so, not a truncated list. */
UTEST(pitfall, P37_too_many_arguments) {
    static char longest[1 << 20];
    static const char *argv[40];
    sbx_config config = {0};
    sbx_result result;
    int i;
    memset(longest, 'l', sizeof longest - 1);
    argv[0] = test_child();
    argv[1] = "args";
    for (i = 2; i < 39; i++) argv[i] = longest;
    config.argv = argv;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)result.verdict);
    EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
    EXPECT_EQ(E2BIG, result.sys_errno);
    sbx_free(&result);
}

/* ==== P38 to P40: cost and leaks ============================================================== */

static long drip_calls;
static int count_calls(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)user, (void)stream, (void)data, (void)size;
    drip_calls++;
    return 0;
}

UTEST(pitfall, P38_one_byte_writes) {
    sbx_config config = {0};
    sbx_result result;
    size_t i, wrong = 0;
    config.on_output = count_calls;
    config.timeout_ms = 18000;
    test_fail_allocation(0);
    result = RUN_CHILD(&config, "drip", "60000");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_EQ((size_t)60000, result.out.size);
    for (i = 0; i < result.out.size; i++)
        wrong += result.out.data[i] != (char)('a' + (i * 7 + i / 251) % 26);
    EXPECT_EQ((size_t)0, wrong);
    EXPECT_LT(test_allocations(), 400L); /* growth by doubling: not one for every write */
    sbx_free(&result);
    config.output_bytes = 777;
    config.grace_ms = -1;
    result = RUN_CHILD(&config, "drip", "100000000", "both"); /* would go on for minutes */
    EXPECT_EQ((int)SBX_OUTPUT_LIMIT, (int)result.verdict);
    EXPECT_EQ((size_t)777, result.out.size + result.err.size);
    sbx_free(&result);
    config.truncate_output = 1; /* the deadline holds while it drips */
    config.timeout_ms = 200;
    result = RUN_CHILD(&config, "drip", "100000000", "both");
    EXPECT_EQ((int)SBX_TIMED_OUT, (int)result.verdict);
    EXPECT_LE(result.out.size + result.err.size, (size_t)777);
    sbx_free(&result);
}

#ifdef __linux__
static const char *truncated_runs(void *arg) {
    static const long long caps[] = {1, 1000, 4095, 65536};
    unsigned i;
    (void)arg;
    for (i = 0; i < sizeof caps / sizeof *caps; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("write", "400000", "200000");
        config.output_bytes = caps[i];
        config.truncate_output = 1;
        TEST_MUST(sbx_run(&config, &result) == SBX_OK && result.out.total == 400000);
        sbx_free(&result);
    }
    return "";
}

static const char *watch_truncated_runs(void *arg) {
    trace *t = new_trace();
    const char *flaw;
    TEST_MUST(t != NULL);
    flaw = traced_copy(t, truncated_runs, arg);
    if (*flaw) return flaw;
    if (t->reads > 30000) return test_text("%d reads for 2.4 MB", t->reads);
    return t->reads < 10 ? "the reads were not seen" : "";
}
#endif

/* Past the cap nothing is kept, but it is still read in large pieces. */
UTEST(pitfall, P38_reads_past_the_cap_stay_large) {
#ifdef __linux__
    const char *flaw = test_in_copy(watch_truncated_runs, NULL);
    if (strcmp(flaw, "cannot trace") == 0) UTEST_SKIP("no ptrace here");
    EXPECT_STREQ("", flaw);
#else
    UTEST_SKIP("needs ptrace");
#endif
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

static const char *fail_often(int times) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    static const char *const unknown[] = {"no-such-program-anywhere", NULL};
    sbx_config config = {0};
    test_host before;
    long blocks = test_live_blocks();
    int i;
    test_host_save(&before);
    for (i = 0; i < times; i++) {
        memset(&config, 0, sizeof config);
        config.input = "some input that is kept";
        config.input_size = 23;
        config.argv = i % 2 ? missing : unknown;
        if (i % 5 == 1) config.timeout_ms = -i - 2;
        if (i % 5 == 2) config.cwd = "/nowhere";
        if (i % 5 == 3) config.cwd = "/";
        if (i % 7 == 6) TEST_MUST(sbx_start(&config, NULL) == NULL);
        else TEST_MUST(sbx_run(&config, NULL) == SBX_NOT_STARTED);
    }
    if (test_live_blocks() != blocks)
        return test_text("%ld blocks after %d failures", test_live_blocks() - blocks, times);
    return test_host_diff(&before);
}

/* A few hundred here; `make check` does ten thousand. */
UTEST(pitfall, P40_failed_starts_leave_nothing) { EXPECT_STREQ("", fail_often(300)); }

/* Every allocation of a start fails once: refused with a message, or done without it. */
UTEST(pitfall, P40_failed_allocations_leave_nothing) {
    sbx_config config = {0};
    long nth, blocks = test_live_blocks();
    int refused = 0, ran = 0;
    config.input = "input";
    config.input_size = 5;
    config.argv = test_child_argv("cat");
    for (nth = 1; nth < 60 && ran < 3; nth++) {
        sbx_result result;
        const char *flaw;
        test_fail_allocation(nth);
        flaw = test_run(&config, &result);
        if (test_allocations() < nth) ran++; /* it was never asked for that many */
        test_fail_allocation(0);
        EXPECT_STREQ("", flaw);
        if (result.verdict == SBX_NOT_STARTED) {
            refused++;
            EXPECT_EQ((int)SBX_STEP_MEMORY, (int)result.step);
            EXPECT_STREQ("", lacks(result.message, "memory"));
        }
        sbx_free(&result);
        EXPECT_EQ(blocks, test_live_blocks());
    }
    EXPECT_GT(refused, 0);
    EXPECT_EQ(3, ran);
}
