/* What a run costs in system calls and allocations: numbers that are the same on a busy machine, so
   that one call too many is noticed without any timing.

       cost            prints them by kind, for this user and, if that is root, for an ordinary one
       cost --check    also fails if a level has more than its budget below

   The host is a traced copy of this process (ptrace) that makes each run twice; the second one is
   counted, in the host and, up to exec or the function itself, in its children. Left out is what
   depends on the moment: waiting, the clock (which stands still here, so that no look at /proc is
   due), and memory, whose requests are counted as allocations. */
#define _GNU_SOURCE 1
#include <stdlib.h>

static void *count_realloc(void *block, size_t size);
#define SBX_REALLOC count_realloc
#define SBX_FREE free
#define SBX_IMPLEMENTATION
#include "../../sbx.h"

#include <grp.h>
#include <stdio.h>
#include <sys/ptrace.h>

/* ---- the levels, and what each may cost ------------------------------------------------------ */

typedef enum { GROUP, LIMITS, TREE, POLICY, CALL, NURSERY, LEVELS } level;

static const struct {
    const char *name;
    int calls[2]; /* as root, as an ordinary user */
    int allocations;
    int per_mount, per_place; /* calls more for each tree, and each file or link: a root has what
                                 the host has */
} budgets[LEVELS] = {
    {"group", {100, 100}, 2, 0, 0},    {"group, five limits", {121, 121}, 2, 0, 0},
    {"tree", {147, 160}, 2, 0, 0},   {"policy", {226, 221}, 8, 7, 3},
    {"function", {78, 78}, 2, 0, 0}, {"function, nursery", {101, 101}, 3, 0, 0},
};

/* ---- counts, in memory that the tracer and the traced share ---------------------------------- */

#define NUMBERS 512

typedef struct counts {
    int made[2][NUMBERS]; /* by the host; by its children */
    long allocations;
    int done; /* the run that counts has ended as it should */
    char message[256];
} counts;

static counts *shared;

static void *count_realloc(void *block, size_t size) {
    if (shared != NULL) shared->allocations++;
    return realloc(block, size);
}

/* The header's clock: it stands still, but for a run that keeps asking because somebody is slow to
   die: it must not wait for ever. */
#define PATIENCE 100
static long asked;

int clock_gettime(clockid_t id, struct timespec *time) {
    long late;
    if (id != CLOCK_MONOTONIC) return (int)syscall(SYS_clock_gettime, id, time);
    late = ++asked > PATIENCE ? asked - PATIENCE : 0; /* in ms */
    time->tv_sec = 1000000 + late / 1000;
    time->tv_nsec = late % 1000 * 1000000;
    return 0;
}

#define NAMED(call)                                                                                \
    { SYS_##call, #call }
static const struct {
    long number;
    const char *name;
} names[] = {
    NAMED(pipe2),
    NAMED(close),
    NAMED(fcntl),
    NAMED(openat),
    NAMED(read),
    NAMED(write),
    NAMED(dup3),
    NAMED(clone),
    NAMED(wait4),
    NAMED(waitid),
    NAMED(pselect6),
    NAMED(kill),
    NAMED(setsid),
    NAMED(rt_sigaction),
    NAMED(rt_sigprocmask),
    NAMED(prlimit64),
    NAMED(getrusage),
    NAMED(execve),
    NAMED(execveat),
    NAMED(timer_create),
    NAMED(timer_settime),
    NAMED(timerfd_create),
    NAMED(timerfd_settime),
    NAMED(signalfd4),
    NAMED(memfd_create),
    NAMED(ftruncate),
    NAMED(lseek),
    NAMED(pread64),
    NAMED(pwrite64),
    NAMED(mount),
    NAMED(umount2),
    NAMED(unshare),
    NAMED(chdir),
    NAMED(fchdir),
    NAMED(mkdirat),
    NAMED(mknodat),
    NAMED(symlinkat),
    NAMED(readlinkat),
    NAMED(getpid),
    NAMED(geteuid),
    NAMED(getegid),
    NAMED(getuid),
    NAMED(exit_group),
    NAMED(brk),
    NAMED(mmap),
    NAMED(munmap),
    NAMED(prctl),
    NAMED(capset),
    NAMED(seccomp),
    NAMED(umask),
    NAMED(pivot_root),
    NAMED(getcwd),
    NAMED(sendmsg),
    NAMED(recvmsg),
    NAMED(set_robust_list),
    NAMED(sched_setscheduler),
    NAMED(setpriority),
    NAMED(ppoll),
    NAMED(getdents64),
#ifdef SYS_newfstatat
    NAMED(newfstatat),
#endif
#ifdef SYS_readlink
    NAMED(readlink),
    NAMED(open),
    NAMED(stat),
    NAMED(poll),
    NAMED(fork),
    NAMED(select),
#endif
    {SBX__NR_pidfd_send_signal, "pidfd_send_signal"},
    {SBX__NR_open_tree, "open_tree"},
    {SBX__NR_move_mount, "move_mount"},
    {SBX__NR_pidfd_open, "pidfd_open"},
    {SBX__NR_close_range, "close_range"},
    {SBX__NR_mount_setattr, "mount_setattr"},
    {435, "clone3"},
    {SBX__NR_landlock_create_ruleset, "landlock_create_ruleset"},
    {SBX__NR_landlock_add_rule, "landlock_add_rule"},
    {SBX__NR_landlock_restrict_self, "landlock_restrict_self"},
};

/* How often it is called depends on when things happen, or on the libc. */
static int depends(long number) {
    static const long list[] = {SYS_wait4,      SYS_waitid, SYS_pselect6,        SYS_kill,
                                SYS_brk,        SYS_mmap,   SYS_munmap,          SYS_madvise,
                                SYS_mprotect,   SYS_ppoll,  SYS_futex,           SYS_clock_gettime,
                                SYS_exit_group, SYS_exit,   SYS_set_robust_list, SYS_rt_sigreturn,
                                SYS_getrandom};
    size_t i;
    for (i = 0; i < sizeof list / sizeof list[0]; i++)
        if (list[i] == number) return 1;
    return 0;
}

/* ---- the host -------------------------------------------------------------------------------- */

static int fill(void *arg, void *ret, size_t size) {
    memset(ret, *(const int *)arg, size);
    return 0;
}

static sbx_verdict run_level(level which, sbx_nursery *nursery, sbx_result *result) {
    static const char *const argv[] = {"/bin/true", NULL};
    sbx_config config;
    sbx_policy policy;
    char ret[64];
    int value = 7;

    memset(&config, 0, sizeof config);
    memset(&policy, 0, sizeof policy);
    config.contain = which == TREE || which == POLICY ? SBX_CONTAIN_TREE : SBX_CONTAIN_GROUP;
    if (which == CALL || which == NURSERY) {
        config.nursery = nursery;
        config.arg_size = nursery != NULL ? sizeof value : 0;
        return sbx_call(&config, fill, &value, ret, sizeof ret, result);
    }
    config.argv = argv;
    if (which == POLICY) config.policy = &policy;
    if (which == LIMITS) {
        config.cpu_ms = 10000;
        config.memory_bytes = 256 << 20;
        config.file_bytes = 1 << 20;
        config.open_files = 64;
        config.stack_bytes = 8 << 20;
    }
    return sbx_run(&config, result);
}

static void be_host(level which, unsigned uid) {
    sbx_nursery *nursery = NULL;
    sbx_result result;

    if (uid != 0 && (setgroups(0, NULL) != 0 || setgid(uid) != 0 || setuid(uid) != 0)) _exit(98);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* changing the user took it away */
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(97);
    raise(SIGSTOP);
    if (which == NURSERY) nursery = sbx_nursery_open(NULL);
    run_level(which, nursery, &result);
    sbx_free(&result);

    memset(shared->made, 0, sizeof shared->made);
    shared->allocations = 0;
    asked = 0;
    shared->done = run_level(which, nursery, &result) == SBX_OK;
    syscall(SYS_getppid); /* no more of it counts */
    memcpy(shared->message, result.message, sizeof shared->message);
    _exit(0);
}

/* ---- the tracer ------------------------------------------------------------------------------ */

typedef struct call_info { /* struct ptrace_syscall_info, its beginning */
    unsigned char op, pad[3];
    unsigned arch;
    unsigned long long ip, sp, number, args[6];
} call_info;

static void note_call(pid_t pid, int child) {
    call_info info;
    memset(&info, 0, sizeof info);
    if (syscall(SYS_ptrace, 0x420e, pid, sizeof info, &info) <= 0 || info.op != 1) return;
    if (info.number >= NUMBERS || shared->made[0][SYS_getppid]) return;
    shared->made[child][info.number]++;
}

/* 0 = it was traced to its end. */
static int trace(level which, unsigned uid) {
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK |
                         PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
    pid_t host, pid;
    int status;

    memset(shared, 0, sizeof *shared);
    host = fork();
    if (host == 0) be_host(which, uid);
    if (waitpid(host, &status, 0) != host || !WIFSTOPPED(status)) return -1;
    ptrace(PTRACE_SETOPTIONS, host, NULL, (void *)(size_t)options);
    ptrace(PTRACE_SYSCALL, host, NULL, NULL);
    while ((pid = waitpid(-1, &status, __WALL)) > 0) {
        int stop = WIFSTOPPED(status) ? WSTOPSIG(status) : 0, event = status >> 16;
        if (!stop) continue; /* one has ended; a nursery ends after the host */
        if (stop == (SIGTRAP | 0x80)) note_call(pid, pid != host);
        if (event == PTRACE_EVENT_EXEC) {
            ptrace(PTRACE_DETACH, pid, NULL, NULL);
            continue;
        }
        if (stop == (SIGTRAP | 0x80) || event || (stop == SIGSTOP && pid != host)) stop = 0;
        ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(size_t)stop);
    }
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

static int total(int child) {
    int number, sum = 0;
    for (number = 0; number < NUMBERS; number++)
        if (!depends(number)) sum += shared->made[child][number];
    return sum;
}

static void print_kinds(const char *who, int child) {
    int number, most, most_at;
    size_t i;

    printf("    %-9s%3d:", who, total(child));
    do { /* the most frequent first */
        most = 0;
        for (number = 0; number < NUMBERS; number++)
            if (shared->made[child][number] > most && number != SYS_getppid && !depends(number))
                most = shared->made[child][most_at = number];
        if (most == 0) break;
        for (i = 0; i < sizeof names / sizeof names[0] && names[i].number != most_at; i++) {
        }
        if (i < sizeof names / sizeof names[0]) printf(" %s", names[i].name);
        else printf(" %d", most_at);
        if (most > 1) printf(" %d", most);
        shared->made[child][most_at] = 0;
    } while (most > 0);
    printf("\n");
}

static int failures;

/* How much the run that was traced costs, and may cost. */
static int is_over(level which, int user, int *calls, int *most) {
    const int *made = shared->made[1];
    *most = budgets[which].calls[user] + budgets[which].per_mount * made[SBX__NR_mount_setattr] +
            budgets[which].per_place * (made[SYS_mknodat] + made[SYS_symlinkat]);
    *calls = total(0) + total(1) - shared->made[0][SYS_getppid];
    return *calls > *most || shared->allocations > budgets[which].allocations;
}

/* On a busy machine a run may have to look twice for the end of a process: the best of twenty. */
static void measure(level which, unsigned uid, int check) {
    const char *name = budgets[which].name, *why = NULL;
    int user = uid != 0 || geteuid() != 0, calls = 0, most = 0, tries, over, traced;

    for (tries = 0, over = 1; tries < 20 && over; tries++) {
        traced = trace(which, uid) == 0;
        over = traced && shared->done && is_over(which, user, &calls, &most);
    }
    if (!traced) why = "no ptrace here";
    else if (!shared->done) why = shared->message; /* what cannot be had here costs nothing */
    else if (total(0) == 0) why = "this kernel does not say which calls it traces";
    if (why != NULL) {
        printf("skipped: cost of %s (%s)\n", name, why);
        return;
    }

    failures += over;
    if (check) printf("%s", over ? "FAILED  cost of " : "ok      ");
    printf("%s%s: %d system calls, at most %d; %ld allocations, at most %d\n", name,
           user ? ", ordinary user" : "", calls, most, shared->allocations,
           budgets[which].allocations);
    if (check && !over) return;
    print_kinds("host", 0);
    print_kinds("children", 1);
}

int main(int argc, char **argv) {
    int check = argc > 1 && strcmp(argv[1], "--check") == 0, which;

    setvbuf(stdout, NULL, _IOLBF, 0); /* nothing waits in a buffer that is forked */
    shared =
        (counts *)mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (shared == (counts *)MAP_FAILED) return 1;
    for (which = 0; which < LEVELS; which++) measure((level)which, 0, check);
    for (which = 0; geteuid() == 0 && which < LEVELS; which++) measure((level)which, 65534, check);
    return check && failures > 0;
}
