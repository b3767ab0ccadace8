/* A copy of the host whose system calls are seen, or refused: see test.h. */
#include "test.h"

#ifdef __linux__

#include <sys/mman.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

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

static void note_call(test_trace *t, traced *who) {
    syscall_info info;
    memset(&info, 0, sizeof info);
    if (syscall(SYS_ptrace, GET_SYSCALL_INFO, who->pid, sizeof info, &info) <= 0) return;
    if (info.op == 1) {
        test_traced_call *c = &t->at[t->count];
        who->open_call = -1;
        if (info.as.entry.number == SYS_read && !who->child) t->reads++;
        if (!matters((long)info.as.entry.number)) return;
        if (t->count >= TEST_TRACED_CALLS) {
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
const char *test_traced_copy(test_trace *t, const char *(*function)(void *), void *arg) {
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

test_trace *test_trace_new(void) {
    void *t =
        mmap(NULL, sizeof(test_trace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (t == MAP_FAILED) return NULL;
    snprintf(((test_trace *)t)->answer, sizeof((test_trace *)t)->answer, "no answer");
    return (test_trace *)t;
}

/* From here on these calls fail with this error, in this process and all it starts. */
int test_forbid(const int *numbers, int count, int error) {
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
#endif
