/* Makes every system call that sbx.h needs fail, one at a time, and looks at what comes of it.
 *
 *     inject DIRECTORY quick K N    every call once, with one of its errors; the K-th part of N
 *     inject DIRECTORY all K N      every call with every error it can give
 *     inject DIRECTORY one SCENARIO BUILD UID [FAULT...]   these alone; without any, the calls
 *
 * DIRECTORY holds host-plain, host-portable and program. A FAULT is ROLE:CALL:N:ERROR (the N-th
 * such call of that process; ERROR may be "short"), or an option of host.c, or noproc, nodev, nons.
 *
 * The host is traced with all its descendants (ptrace), so each process is told apart: the host,
 * pid 1 of a tree, the process that enters it, and the program or function before it begins. A run
 * without a fault lists their calls. Then each run has one fault. After it there must be no crash,
 * no hang, no process, zombie, descriptor, mount, mapping or file that was not there before, the
 * host must be as it was, and what the box said must be true, of which host.c is the judge. */
#define _GNU_SOURCE
#include "errors.h"
#include "filters.h"
#include "marks.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#if !defined(__x86_64__)
int main(void) {
    puts("skipped: faults are injected on x86_64 only");
    return 0;
}
#else

/* From <linux/ptrace.h>, which does not go together with <sys/ptrace.h>. */
#ifndef PTRACE_GET_SYSCALL_INFO
#define PTRACE_GET_SYSCALL_INFO 0x420e
#endif
struct call_info {
    unsigned char op; /* 1 = entry, 2 = exit */
    unsigned char pad[3];
    unsigned arch;
    unsigned long long ip, sp, number, args[6], more[2];
};

#define HANG_MS 11000 /* longer than time-out, grace, and what a box waits for the unkillable */
#define STARVED_MS 4000 /* a flawed run that took so long is repeated: a machine may be that busy */
enum { QUICK_NTH = 20, TASKS = 256, NUMBERS = 512, RECORDS = 6000 };

/* ==== What is done to a run =================================================================== */

typedef enum fault_kind { NONE, ERROR, SHORT, OPTION, PLACE } fault_kind;
static const char *const kind_names[] = {"none", "call", "short", "option", "place"};

typedef struct fault {
    fault_kind kind;
    int role; /* number of birth; 0 = the host */
    long number;
    int nth, error;
    char option[40]; /* of host.c; or noproc, nodev, nons */
} fault;

typedef struct setting {
    const char *scenario, *build;
    unsigned uid;
    char dir[500]; /* of this worker and user */
} setting;

typedef struct record { /* one call of the run without a fault */
    int role;
    long number;
    int nth;
    unsigned long long args[6];
    char target; /* of its descriptor: p pipe, n non-blocking pipe, a anonymous, / proc, f file */
} record;

typedef struct outcome {
    int status; /* of the host, as from wait */
    int hung, hit, begun, ended;
    long verdict, certain, allocations, enforced, size, mappings;
    int births, is_pid1[TASKS], is_program[TASKS], is_function[TASKS];
    char flaws[3000];
    long ms;
} outcome;

static long now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void add_flaw(outcome *o, const char *format, ...) {
    size_t size = strlen(o->flaws);
    va_list args;
    va_start(args, format);
    vsnprintf(o->flaws + size, sizeof o->flaws - size, format, args);
    va_end(args);
    size = strlen(o->flaws);
    if (size + 2 < sizeof o->flaws) strcpy(o->flaws + size, "\n");
}

/* ==== What the kernel knows about a process =================================================== */

static ssize_t read_proc(pid_t pid, const char *name, char *text, size_t room) {
    char path[64];
    size_t size = 0;
    ssize_t n = 1;
    int fd;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && n > 0 && size + 1 < room) {
        n = read(fd, text + size, room - size - 1);
        if (n > 0) size += (size_t)n;
    }
    if (fd >= 0) close(fd);
    text[size] = '\0';
    return fd < 0 ? -1 : (ssize_t)size;
}

static char state_of(pid_t pid, int *session) {
    char text[2000], *p, state = 'X';
    int parent, group, leader = 0;
    if (read_proc(pid, "stat", text, sizeof text) > 0 && (p = strrchr(text, ')')) != NULL)
        sscanf(p + 1, " %c %d %d %d", &state, &parent, &group, &leader);
    if (session) *session = leader;
    return state;
}

static int is_init(pid_t pid) {
    char text[8000], *line, *last;
    int number = 0, level = 0, used = 0;
    if (read_proc(pid, "status", text, sizeof text) < 0) return 0;
    line = strstr(text, "\nNSpid:");
    for (last = line ? line + 7 : text; line && sscanf(last, "%d%n", &number, &used) == 1;
         last += used) {
        level++;
        if (last[used] == '\n') break;
    }
    return level > 1 && number == 1;
}

typedef struct snapshot {
    char text[24000];
    long size_kb, mappings;
} snapshot;

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* One line for each open descriptor, and what it is. */
static void list_descriptors(pid_t pid, char *text, size_t room) {
    char path[64], link[300];
    int open_now[1024], count = 0, i;
    struct dirent *entry;
    DIR *dir;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    dir = opendir(path);
    while (dir && count < 1024 && (entry = readdir(dir)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0])) open_now[count++] = atoi(entry->d_name);
    if (dir) closedir(dir);
    qsort(open_now, (size_t)count, sizeof *open_now, by_number);
    for (i = 0; i < count; i++) {
        size_t size = strlen(text);
        ssize_t n;
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, open_now[i]);
        n = readlink(path, link, sizeof link - 1);
        link[n > 0 ? n : 0] = '\0';
        snprintf(text + size, room - size, "descriptor %d %s\n", open_now[i], link);
    }
}

static void take_snapshot(pid_t pid, int storm, snapshot *s) {
    static const char *const lines[] = {
        "Umask:",  "Uid:",    "Gid:",    "Threads:", "SigPnd:",  "ShdPnd:",    "SigBlk:",
        "SigIgn:", "SigCgt:", "CapEff:", "CapPrm:",  "Seccomp:", "NoNewPrivs:"};
    static char text[60000];
    const char *p;
    size_t i, size = 0;
    struct stat st;
    char path[64], link[600];
    ssize_t n;
    memset(s, 0, sizeof *s);
    read_proc(pid, "status", text, sizeof text);
    for (i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (storm && (i == 4 || i == 5)) continue;
        if ((p = strstr(text, lines[i])) != NULL)
            size += (size_t)snprintf(s->text + size, sizeof s->text - size, "%.*s\n",
                                     (int)strcspn(p, "\n"), p);
    }
    if ((p = strstr(text, "VmSize:")) != NULL) s->size_kb = atol(p + 7);
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    n = readlink(path, link, sizeof link - 1);
    link[n > 0 ? n : 0] = '\0';
    size += (size_t)snprintf(s->text + size, sizeof s->text - size, "directory %s\n", link);
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (stat(path, &st) == 0) /* root's, if its memory may not be looked at */
        size +=
            (size_t)snprintf(s->text + size, sizeof s->text - size, "owner %d\n", (int)st.st_uid);
    read_proc(pid, "limits", text, sizeof text);
    size += (size_t)snprintf(s->text + size, sizeof s->text - size, "%s", text);
    list_descriptors(pid, s->text, sizeof s->text);
    size = strlen(s->text);
    read_proc(pid, "mountinfo", text, sizeof text);
    snprintf(s->text + size, sizeof s->text - size, "%s", text);
    read_proc(pid, "maps", text, sizeof text);
    for (p = text; *p; p++) s->mappings += *p == '\n';
}

static void compare(const snapshot *before, const snapshot *after, outcome *o) {
    const char *a = before->text, *b = after->text;
    while (*a || *b) {
        size_t na = strcspn(a, "\n"), nb = strcspn(b, "\n");
        if (na != nb || strncmp(a, b, na) != 0) {
            add_flaw(o, "the host is not as it was [before: %.*s | after: %.*s]", (int)na, a,
                     (int)nb, b);
            return;
        }
        a += na + (a[na] != '\0');
        b += nb + (b[nb] != '\0');
    }
}

/* ==== The run that is traced ================================================================== */

typedef struct task {
    pid_t pid;
    int role, is_silent, is_early, in_function, is_pid1;
    int change; /* at the end of its call: 1 = the call was not made, 2 = it was */
    unsigned short counts[NUMBERS];
} task;

typedef struct session {
    const setting *s;
    const fault *f;
    outcome *o;
    record *records;
    int *record_count;
    task tasks[TASKS];
    int count;
    pid_t host;
    int counting, wanted; /* the host is between its marks; the N-th call that is to fail */
    snapshot before;
} session;

static volatile sig_atomic_t time_is_over;
static void on_alarm(int number) { (void)number, time_is_over = 1; }

static void set_timer(long ms) {
    struct itimerval t;
    memset(&t, 0, sizeof t);
    t.it_value.tv_sec = ms / 1000;
    t.it_value.tv_usec = ms % 1000 * 1000;
    t.it_interval.tv_usec = ms ? 200000 : 0;
    setitimer(ITIMER_REAL, &t, NULL);
}

static task *find(session *x, pid_t pid) {
    int i;
    for (i = 0; i < x->count; i++)
        if (x->tasks[i].pid == pid) return &x->tasks[i];
    return NULL;
}

static task *add(session *x, pid_t pid) {
    task *t;
    if (x->count == TASKS) return NULL;
    t = &x->tasks[x->count++];
    memset(t, 0, sizeof *t);
    t->pid = pid;
    return t;
}

static void resume(const task *t, int number) {
    ptrace(t->is_silent ? PTRACE_CONT : PTRACE_SYSCALL, t->pid, NULL, (void *)(long)number);
}

static void set_register(pid_t pid, size_t offset, unsigned long long value) {
    ptrace(PTRACE_POKEUSER, pid, (void *)offset, (void *)(size_t)value);
}
#define SET(pid, name, value) set_register(pid, offsetof(struct user_regs_struct, name), value)

static char target_of(pid_t pid, unsigned long long fd) {
    char path[64], link[300], text[300], *flags;
    ssize_t n;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, (int)fd);
    n = readlink(path, link, sizeof link - 1);
    link[n > 0 ? n : 0] = '\0';
    if (strncmp(link, "pipe:", 5) == 0 || strncmp(link, "socket:", 7) == 0) {
        snprintf(path, sizeof path, "fdinfo/%d", (int)fd);
        read_proc(pid, path, text, sizeof text);
        flags = strstr(text, "flags:");
        return flags && (strtol(flags + 6, NULL, 8) & O_NONBLOCK) ? 'n' : 'p';
    }
    if (strncmp(link, "anon_inode:", 11) == 0) return 'a';
    if (strncmp(link, "/proc/", 6) == 0 || strncmp(link, "/sys/", 5) == 0) return '/';
    return 'f';
}

/* Signals that a handler of the host could catch are open: only then is there an EINTR. */
static int can_be_interrupted(pid_t pid) {
    unsigned long long mask = 0;
    if (ptrace(PTRACE_GETSIGMASK, pid, (void *)sizeof mask, &mask) != 0) return 1;
    return !(mask & 1u << (SIGALRM - 1));
}

/* What the process itself has made is there, and is its own: a path that is not the system's. */
static int is_own_path(pid_t pid, unsigned long long at) {
    char path[64], mem[40];
    int fd;
    ssize_t n;
    snprintf(mem, sizeof mem, "/proc/%d/mem", (int)pid);
    fd = open(mem, O_RDONLY | O_CLOEXEC);
    n = fd >= 0 ? pread(fd, path, sizeof path - 1, (off_t)at) : -1;
    if (fd >= 0) close(fd);
    path[n > 0 ? n : 0] = '\0';
    return path[0] != '/' || strstr(path, "-of-sbx.") != NULL;
}

/* Some errors need more than the right call. */
static int is_possible(const task *t, long number, const unsigned long long *args, char target,
                       int error) {
    if (error == EINTR && t && (t->role != 0 || !can_be_interrupted(t->pid))) return 0;
    switch (number) {
    case SYS_write:
        if (target == 'a') return 0; /* an eventfd that does not block always takes it */
        if (target == 'p') return error == ENOMEM || error == EINTR;
        if (target == 'n') return error == ENOMEM || (error == EAGAIN && args[2] > 8);
        return error != EAGAIN;
    case SYS_fcntl:
        if (args[1] == F_DUPFD || args[1] == F_DUPFD_CLOEXEC) return error == EMFILE;
        return args[1] == F_SETPIPE_SZ && error != EMFILE;
    case SYS_ioctl: return target == 'a' || error != EINTR;
    case SYS_clone: return (args[0] & 0x7E020000u) || (error != EPERM && error != ENOSPC);
    case SYS_ppoll: return error != ENOMEM || !t || t->role == 0; /* one needs no memory */
    case SYS_openat:
        return (error != ENOENT && error != EACCES) || !t || !is_own_path(t->pid, args[1]);
    case SYS_newfstatat: return !(args[3] & AT_EMPTY_PATH); /* by descriptor it cannot fail */
    case SYS_fstat: return 0;
    case SYS_prlimit64: return args[2] != 0;
    case SYS_waitid: return error != ECHILD || !(args[3] & (WNOWAIT | WNOHANG));
    default: return 1;
    }
}

static void interfere(session *x, task *t, const struct call_info *info) {
    const fault *f = x->f;
    long number = (long)info->number;
    char target = target_of(t->pid, info->args[0]);
    if (f->kind == SHORT) {
        x->o->hit = 1;
        SET(t->pid, rdx, info->args[2] / 2);
        return;
    }
    if (!is_possible(t, number, info->args, target, f->error)) return;
    x->o->hit = 1;
    t->change = 1;
    if (number == SYS_close) t->change = 2;
    if ((number == SYS_wait4 || number == SYS_waitid) && f->error == ECHILD) t->change = 2;
    if (t->change == 1) SET(t->pid, orig_rax, SYS_getpid);
}

static void end_call(session *x, task *t) {
    struct user_regs_struct now;
    int change = t->change;
    if (!change) return;
    t->change = 0;
    if (x->f->number == SYS_wait4 && change == 2) { /* there was nothing to take yet */
        ptrace(PTRACE_GETREGS, t->pid, NULL, &now);
        if ((long long)now.rax <= 0) {
            x->o->hit = 0;
            x->wanted++;
            return;
        }
    }
    SET(t->pid, rax, (unsigned long long)-(long long)x->f->error);
}

static void handle(session *x, pid_t pid, int status);

/* The header has returned: whoever is left was forgotten. */
static void look_for_the_forgotten(session *x) {
    char text[4000], *p, state;
    int status, i, leader, number, used;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) handle(x, pid, status);
    for (i = 0; i < x->count; i++) {
        task *t = &x->tasks[i];
        int excused = 0, k;
        if (t->pid == x->host || t->pid == 0) continue;
        state = state_of(t->pid, &leader);
        if (state == 'X' || state == 'Z') continue;
        /* A group can be left by whoever makes a session of its own; a tree cannot. */
        if (!(x->o->enforced & 2)) {
            excused = 1;
            for (k = 0; k < x->count; k++)
                if (x->tasks[k].pid == leader && x->o->is_program[x->tasks[k].role] &&
                    x->tasks[k].role)
                    excused = 0;
            if (t->role && !t->is_silent) excused = 0;
        }
        if (!excused)
            add_flaw(x->o, "a process is left [state %c, %s]", state,
                     t->is_pid1     ? "pid 1"
                     : t->is_silent ? "of the program"
                                    : "before exec");
    }
    snprintf(text, sizeof text, "task/%d/children", (int)x->host);
    if (read_proc(x->host, text, text, sizeof text) <= 0) return;
    for (p = text; sscanf(p, "%d%n", &number, &used) == 1; p += used)
        if (state_of(number, NULL) == 'Z') add_flaw(x->o, "a zombie is left");
}

static void on_marker(session *x, task *t, const unsigned long long *args) {
    static snapshot after;
    int storm = x->f->kind == OPTION && strncmp(x->f->option, "storm", 5) == 0;
    outcome *o = x->o;
    if (args[0] == MARK_FUNCTION) t->in_function = 1, o->is_function[t->role] = 1;
    if (args[0] == MARK_FUNCTION_END) t->in_function = 0;
    if (args[0] == MARK_BEGIN) {
        o->begun = x->counting = 1;
        take_snapshot(x->host, storm, &x->before);
        o->size = x->before.size_kb;
    }
    if (args[0] == MARK_END) {
        x->counting = 0;
        o->ended = 1;
        o->verdict = (long)args[1];
        o->certain = (long)args[2];
        o->allocations = (long)args[3];
        o->enforced = (long)args[4];
        look_for_the_forgotten(x);
        take_snapshot(x->host, storm, &after);
        compare(&x->before, &after, o);
        o->mappings = after.mappings - x->before.mappings;
    }
    SET(t->pid, orig_rax, SYS_getpid);
}

static void on_call(session *x, task *t) {
    struct call_info info;
    long number;
    memset(&info, 0, sizeof info);
    if (ptrace((enum __ptrace_request)PTRACE_GET_SYSCALL_INFO, t->pid, (void *)sizeof info, &info) <
        0)
        return;
    if (info.op == 2) end_call(x, t);
    if (info.op != 1) return;
    number = (long)info.number;
    if (number == MARKER) on_marker(x, t, info.args);
    if (number < 0 || number >= NUMBERS || t->in_function) return;
    if (t->role == 0 && !x->counting) return;
    t->counts[number]++;
    if (x->records && *x->record_count < RECORDS && row_of(number) >= 0) {
        record *r = &x->records[(*x->record_count)++];
        r->role = t->role;
        r->number = number;
        r->nth = t->counts[number];
        memcpy(r->args, info.args, sizeof r->args);
        r->target = target_of(t->pid, info.args[0]);
    }
    if ((x->f->kind == ERROR || x->f->kind == SHORT) && x->f->role == t->role &&
        x->f->number == number && t->counts[number] == x->wanted && !x->o->hit)
        interfere(x, t, &info);
}

static void on_birth(session *x, task *parent) {
    unsigned long message = 0;
    task *t;
    ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &message);
    t = find(x, (pid_t)message);
    if (!t) t = add(x, (pid_t)message);
    if (!t) return;
    t->is_silent = parent->is_silent;
    if (!t->is_silent && x->o->births + 1 < TASKS) t->role = ++x->o->births;
    if (!t->is_silent) t->is_pid1 = x->o->is_pid1[t->role] = is_init(t->pid);
    if (t->is_early) resume(t, 0);
    t->is_early = 0;
}

static void on_exec(session *x, task *t) {
    if (t->pid == x->host || t->is_pid1 || t->is_silent) return;
    t->is_silent = 1;
    x->o->is_program[t->role] = 1;
}

/* One stop, or end, of one process. */
static void handle(session *x, pid_t pid, int status) {
    task *t = find(x, pid);
    int number, event;
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
        if (pid == x->host) x->o->status = status;
        if (pid == x->host) x->host = 0;
        if (t) t->pid = 0;
        return;
    }
    if (!WIFSTOPPED(status)) return;
    number = WSTOPSIG(status);
    event = status >> 16;
    if (!t) { /* its parent has not told of it yet */
        t = add(x, pid);
        if (t) t->is_early = 1;
        else ptrace(PTRACE_CONT, pid, NULL, NULL);
        return;
    }
    if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK)
        on_birth(x, t);
    if (event == PTRACE_EVENT_EXEC) on_exec(x, t);
    if (event == PTRACE_EVENT_STOP && number != SIGTRAP) {
        ptrace((enum __ptrace_request)PTRACE_LISTEN, pid, NULL, NULL);
        return;
    }
    if (number == (SIGTRAP | 0x80)) on_call(x, t);
    resume(t, event || number == (SIGTRAP | 0x80) ? 0 : number);
}

static void kill_all(session *x) {
    int i;
    for (i = 0; i < x->count; i++)
        if (x->tasks[i].pid) kill(x->tasks[i].pid, SIGKILL);
}

static void trace(session *x) {
    long start = now_ms();
    int status, over = 0;
    pid_t pid;
    time_is_over = 0;
    set_timer(HANG_MS);
    for (;;) {
        pid = waitpid(-1, &status, __WALL);
        if (pid < 0 && errno == ECHILD) break;
        if (pid > 0) handle(x, pid, status);
        if (x->host == 0 && !over) over = 1, kill_all(x);
        if (time_is_over && !x->o->hung && x->host) x->o->hung = 1;
        if (time_is_over) kill_all(x);
        if (time_is_over && now_ms() - start > HANG_MS + 10000) break;
    }
    set_timer(0);
    x->o->ms = now_ms() - start;
}

/* ==== Places where a host may find itself ===================================================== */

static void put(const char *path, const char *format, ...) {
    char text[100];
    va_list args;
    int fd = open(path, O_WRONLY | O_CLOEXEC), n;
    va_start(args, format);
    n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (fd < 0 || write(fd, text, (size_t)n) != n) _exit(77);
    close(fd);
}

static void go_to(const char *place, unsigned uid, unsigned gid) {
    int outer = strcmp(place, "nons") == 0;
    if (strcmp(place, "noproc") == 0 || strcmp(place, "nodev") == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("none", place[2] == 'p' ? "/proc" : "/dev", "tmpfs", 0, NULL) != 0)
            _exit(77);
    }
    if (outer) { /* a user namespace in which nobody can make another one */
        if (uid && (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 ||
                    setresuid(uid, uid, uid) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0))
            _exit(76);
        if (unshare(CLONE_NEWUSER) != 0) _exit(77);
        put("/proc/self/setgroups", "deny");
        put("/proc/self/uid_map", "%u %u 1", uid ? uid : 1000, uid);
        put("/proc/self/gid_map", "%u %u 1", gid ? gid : 1000, gid);
        put("/proc/sys/user/max_user_namespaces", "0");
        return;
    }
    if (uid &&
        (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0))
        _exit(76);
}

static void be_the_host(const setting *s, const fault *f, int learning, int go, int out) {
    char path[600], *argv[8], tmp[600];
    char *envp[3];
    struct rlimit files = {120, 120}; /* the portable build closes each number that can be */
    int n = 0;
    char byte;
    const char *cgroup = getenv("SBX_TEST_CGROUP");
    char given[600];
    while (read(go, &byte, 1) < 0 && errno == EINTR) {
    }
    signal(SIGALRM, SIG_DFL);
    dup2(open("/dev/null", O_RDWR), 0);
    dup2(out, 1);
    dup2(out, 2);
    syscall(CALL_close_range, 3, ~0u, 0);
    setrlimit(RLIMIT_NOFILE, &files);
    if (chdir(s->dir) != 0) _exit(76);
    go_to(f->kind == PLACE ? f->option : "", s->uid && geteuid() == 0 ? s->uid : 0, s->uid);
    snprintf(path, sizeof path, "%s/../host-%s", s->dir, s->build);
    snprintf(tmp, sizeof tmp, "TMPDIR=%s/tmp", s->dir);
    snprintf(given, sizeof given, "SBX_TEST_CGROUP=%s", cgroup ? cgroup : "");
    envp[0] = tmp;
    envp[1] = given;
    envp[2] = NULL;
    argv[n++] = (char *)"host";
    argv[n++] = (char *)s->scenario;
    argv[n++] = (char *)s->dir;
    if (f->kind == OPTION) argv[n++] = (char *)f->option;
    if (f->kind == ERROR && (f->error == EAGAIN || f->error == ENOMEM || f->error == EMFILE ||
                             f->error == ENFILE || f->error == ENOBUFS || f->error == ETOOMANYREFS))
        argv[n++] = (char *)"short=1";
    if (f->kind == ERROR && f->error == ECHILD) argv[n++] = (char *)"taken=1";
    if (learning) argv[n++] = (char *)"learn=1";
    argv[n] = NULL;
    execve(path, argv, envp);
    _exit(76);
}

static void take_text(int fd, outcome *o) {
    char text[1500], *line, *next;
    ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    for (line = text; *line; line = next) {
        size_t size = strcspn(line, "\n");
        next = line + size + (line[size] == '\n');
        line[size] = '\0';
        if (*line) add_flaw(o, "%s", line);
    }
}

static void look_for_files(const setting *s, outcome *o) {
    char path[600];
    struct dirent *entry;
    int left = 0;
    DIR *dir;
    snprintf(path, sizeof path, "%s/tmp", s->dir);
    dir = opendir(path);
    while (dir && (entry = readdir(dir)) != NULL) /* "inside" is the program's, if it was killed */
        left += entry->d_name[0] != '.' && strcmp(entry->d_name, "inside") != 0;
    if (dir) closedir(dir);
    snprintf(path, sizeof path, "%s/tmp/inside", s->dir);
    unlink(path);
    if (left == 0) return;
    add_flaw(o, "a file is left");
    snprintf(path, sizeof path, "rm -rf '%s'/tmp/*", s->dir);
    if (system(path) != 0) exit(3);
}

/* One run of one scenario with one fault. Records, if given, take its calls. */
static void run(const setting *s, const fault *f, outcome *o, record *records, int *record_count) {
    static session x;
    int go[2], out[2];
    pid_t pid;
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                   PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    memset(o, 0, sizeof *o);
    memset(&x, 0, sizeof x);
    x.s = s;
    x.f = f;
    x.o = o;
    x.records = records;
    x.record_count = record_count;
    x.wanted = f->nth;
    take_marks(s->dir);
    if (pipe2(go, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC | O_NONBLOCK) != 0) exit(3);
    pid = fork();
    if (pid == 0) be_the_host(s, f, records != NULL, go[0], out[1]);
    x.host = pid;
    add(&x, pid);
    if (ptrace((enum __ptrace_request)PTRACE_SEIZE, pid, NULL, (void *)options) != 0) {
        perror("ptrace");
        exit(3);
    }
    if (write(go[1], "", 1) != 1) exit(3);
    trace(&x);
    close(go[0]);
    close(go[1]);
    close(out[1]);
    if (o->hung) add_flaw(o, "it hangs");
    else if (WIFSIGNALED(o->status))
        add_flaw(o, "the host crashed [signal %d]", WTERMSIG(o->status));
    else if (WEXITSTATUS(o->status) != 77 && (WEXITSTATUS(o->status) > 1 || !o->ended))
        add_flaw(o, "the host ended early [status %d]", WEXITSTATUS(o->status));
    take_text(out[0], o);
    close(out[0]);
    look_for_files(s, o);
}

/* ==== All faults of a setting ================================================================= */

typedef struct totals {
    long same, refused, uncertain, other, failed, missed;
} totals;

static int is_all, my_share, shares;
static FILE *report;

static const char *role_name(const outcome *o, int role) {
    if (role == 0) return "host";
    if (o->is_pid1[role]) return "pid1";
    if (o->is_function[role]) return "function";
    if (o->is_program[role]) return "program";
    return "enter";
}

static void name_of(const fault *f, const outcome *plain, char *text, size_t room) {
    int row = row_of(f->number);
    if (f->kind == OPTION || f->kind == PLACE) snprintf(text, room, "%s", f->option);
    else
        snprintf(text, room, "%s.%d:%s:%d:%s", role_name(plain, f->role), f->role,
                 row >= 0 ? calls[row].name : "?", f->nth,
                 f->kind == SHORT ? "short" : error_name(f->error));
}

/* One line for whoever adds them up: kind, outcome, where, fault, flaws. */
static void tell(const setting *s, const fault *f, const outcome *plain, const outcome *o) {
    char name[200], flaws[sizeof o->flaws], *p;
    const char *what = "same";
    name_of(f, plain, name, sizeof name);
    if (o->verdict == 11) what = "refused";
    else if (!o->certain) what = "uncertain";
    else if (o->verdict != plain->verdict) what = "other";
    if ((f->kind == ERROR || f->kind == SHORT) && !o->hit) what = "missed";
    if (WIFEXITED(o->status) && WEXITSTATUS(o->status) == 77 && !o->begun) what = "missed";
    if (o->flaws[0] && strcmp(what, "missed") != 0) what = "FAILED";
    snprintf(flaws, sizeof flaws, "%s", o->flaws);
    for (p = flaws; *p; p++)
        if (*p == '\n' || *p == '\t') *p = ';';
    fprintf(report, "%s\t%s\t%s %s %u\t%s\t%ld\t%s\n", kind_names[f->kind], what, s->scenario,
            s->build, s->uid, name, o->ms, flaws);
    fflush(report);
}

/* Whose fault it is depends on nothing but the fault: the lists of the workers may differ a bit. */
static int is_mine(const fault *f) {
    unsigned sum = (unsigned)f->role * 31 + (unsigned)f->number * 7 + (unsigned)f->nth;
    const char *c;
    sum += (unsigned)f->error * 5 + (unsigned)f->kind;
    for (c = f->option; *c; c++) sum = sum * 31 + (unsigned char)*c;
    return (int)((sum * 2654435761u >> 16) % (unsigned)shares) == my_share;
}

static void try_fault(const setting *s, const fault *f, const outcome *plain) {
    static outcome o;
    int tries = 0;
    if (!is_mine(f)) return;
    do {
        run(s, f, &o, NULL, NULL);
        if (o.ended && o.mappings > plain->mappings)
            add_flaw(&o, "memory stays mapped [%ld more]", o.mappings - plain->mappings);
    } while (o.flaws[0] && o.ms > STARVED_MS && tries++ < 2);
    if (tries > 0) fprintf(report, "none\tagain\t%s\t%d\t%ld\t\n", s->scenario, tries, o.ms);
    tell(s, f, plain, &o);
}

static void try_option(const setting *s, const outcome *plain, fault_kind kind, const char *format,
                       long value) {
    fault f;
    memset(&f, 0, sizeof f);
    f.kind = kind;
    snprintf(f.option, sizeof f.option, format, value);
    try_fault(s, &f, plain);
}

static void try_options(const setting *s, const outcome *plain) {
    static const long kilobytes[] = {0, 8, 64, 132, 300, 1024, 2048, 4096, 9000, 20000, 70000};
    static const long sizes[] = {0, 1, 100, 4095, 65536};
    size_t i;
    int odd = !is_all && s->uid != 0; /* every second one as the user */
    long k, step = is_all ? 1 : 8;
    for (k = 1; k <= plain->allocations; k++) try_option(s, plain, OPTION, "alloc=%ld", k);
    for (k = 3 + odd; k <= 60; k += k < 24 ? 1 + odd : step)
        try_option(s, plain, OPTION, "nofile=%ld", k);
    for (k = 0; s->uid && k < (is_all ? 8 : 4); k++) try_option(s, plain, OPTION, "nproc=%ld", k);
    for (i = 0; i < sizeof kilobytes / sizeof *kilobytes; i += is_all ? 1 : 2)
        try_option(s, plain, OPTION, "as=%ld", (plain->size + kilobytes[i]) * 1024);
    for (i = 0; i < sizeof sizes / sizeof *sizes; i += is_all ? 1 : 2)
        try_option(s, plain, OPTION, "fsize=%ld", sizes[i]);
    for (k = 0; k < (is_all ? 20 : 2); k++) try_option(s, plain, OPTION, "storm=%ld", k + 1);
    for (k = 0; k < FILTERS; k++) try_option(s, plain, OPTION, "filter=%ld", k);
    if (geteuid() != 0) return;
    try_option(s, plain, PLACE, "noproc", 0);
    try_option(s, plain, PLACE, "nodev", 0);
    try_option(s, plain, PLACE, "nons", 0);
}

/* The quick sweep takes one error of each call, as root or as the user; and what was once wrong. */
static int is_chosen(const setting *s, const record *r, int i, int choice, int choices, int error) {
    size_t k;
    if (is_all) return 1;
    for (k = 0; k < sizeof once_wrong / sizeof *once_wrong; k++)
        if (strcmp(once_wrong[k].scenario, s->scenario) == 0 && once_wrong[k].number == r->number &&
            once_wrong[k].error == error)
            return 1;
    if (geteuid() == 0 && i % 2 == (s->uid == 0)) return 0;
    return choice == i / 2 % choices;
}

static void try_calls(const setting *s, const outcome *plain, const record *records, int count) {
    int i, k;
    for (i = 0; i < count; i++) {
        const record *r = &records[i];
        int row = row_of(r->number), possible[6], choices = 0;
        fault f;
        if (!is_all && r->nth > QUICK_NTH) continue; /* the same place again, most likely */
        memset(&f, 0, sizeof f);
        f.role = r->role;
        f.number = r->number;
        f.nth = r->nth;
        f.kind = ERROR;
        for (k = 0; calls[row].errors[k]; k++) {
            int error = calls[row].errors[k];
            if (error == EINTR && r->role != 0) continue;
            if (is_possible(NULL, r->number, r->args, r->target, error))
                possible[choices++] = error;
        }
        for (k = 0; k < choices; k++) {
            f.error = possible[k];
            if (is_chosen(s, r, i, k, choices, f.error)) try_fault(s, &f, plain);
        }
        f.kind = SHORT;
        if ((r->number == SYS_read || r->number == SYS_write || r->number == SYS_pread64) &&
            (r->target == 'p' || r->target == 'n' || r->target == 'f') && r->args[2] > 1 &&
            (is_all || i % 6 == (s->uid == 0 ? 0 : 3)))
            try_fault(s, &f, plain);
    }
}

/* The run without a fault, and then all with one. */
static void try_setting(const setting *s) {
    static outcome plain;
    static record records[RECORDS];
    fault none;
    int count = 0;
    char *p;
    memset(&none, 0, sizeof none);
    run(s, &none, &plain, records, &count);
    if (WIFEXITED(plain.status) && WEXITSTATUS(plain.status) == 77) return;
    for (p = plain.flaws; *p; p++)
        if (*p == '\n') *p = ';';
    if (my_share == 0 || plain.flaws[0])
        fprintf(report, "none\t%s\t%s %s %u\t%d calls of %d processes\t%ld\t%s\n",
                plain.verdict == 11 ? "skipped"
                : plain.flaws[0]    ? "FAILED"
                                    : "same",
                s->scenario, s->build, s->uid, count, plain.births + 1, plain.ms, plain.flaws);
    if (plain.flaws[0] || plain.verdict == 11) return;
    try_calls(s, &plain, records, count);
    try_options(s, &plain);
}

/* ==== One fault by name ======================================================================= */

static void parse(const char *text, fault *f) {
    char role[40], call[60], error[40];
    int i;
    size_t k;
    memset(f, 0, sizeof *f);
    if (sscanf(text, "%39[^.].%d:%59[^:]:%d:%39s", role, &f->role, call, &f->nth, error) == 5) {
        f->kind = strcmp(error, "short") == 0 ? SHORT : ERROR;
        for (i = 0; i < CALLS; i++)
            if (strcmp(calls[i].name, call) == 0) f->number = calls[i].number;
        for (k = 0; k < sizeof error_names / sizeof *error_names; k++)
            if (strcmp(error_names[k].name, error) == 0) f->error = error_names[k].number;
        return;
    }
    f->kind = strchr(text, '=') ? OPTION : PLACE;
    snprintf(f->option, sizeof f->option, "%s", text);
}

static void try_one(const setting *s, char **texts, int count) {
    static outcome plain, o;
    static record records[RECORDS];
    fault f;
    int i, n = 0;
    memset(&f, 0, sizeof f);
    run(s, &f, &plain, records, &n);
    printf("without a fault: verdict %ld, certain %ld, %ld ms\n%s", plain.verdict, plain.certain,
           plain.ms, plain.flaws);
    if (count == 0)
        for (i = 0; i < n; i++)
            printf("%s.%d:%s:%d (%llx, %llx, %llx) %c\n", role_name(&plain, records[i].role),
                   records[i].role, calls[row_of(records[i].number)].name, records[i].nth,
                   records[i].args[0], records[i].args[1], records[i].args[2], records[i].target);
    for (i = 0; i < count; i++) {
        parse(texts[i], &f);
        run(s, &f, &o, NULL, NULL);
        if (o.ended && o.mappings > plain.mappings)
            add_flaw(&o, "memory stays mapped [%ld more]", o.mappings - plain.mappings);
        printf("%s: %sverdict %ld, certain %ld, %ld ms\n%s", texts[i], o.hit ? "hit, " : "",
               o.verdict, o.certain, o.ms, o.flaws);
    }
}

/* ==== Main ==================================================================================== */

static void make_place(setting *s, const char *dir, int worker) {
    char path[600];
    snprintf(s->dir, sizeof s->dir, "%s/w%d.%u", dir, worker, s->uid);
    snprintf(path, sizeof path, "%s/tmp", s->dir);
    mkdir(s->dir, 0755);
    mkdir(path, 0755);
    if (geteuid() == 0 && (chown(s->dir, s->uid, s->uid) != 0 || chown(path, s->uid, s->uid) != 0))
        exit(3);
}

/* A process table of its own keeps the rest of the machine out of what the header looks at, so that
 * a run makes the same calls each time. Without the right to that it goes without. */
static void stand_apart(void) {
    int status = 0;
    pid_t pid;
    if (geteuid() != 0 || unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) return;
    pid = fork();
    if (pid > 0) {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
    }
    if (pid < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) _exit(3);
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", 0, NULL) != 0)
        _exit(3);
}

int main(int argc, char **argv) {
    static char list[100][30];
    char path[600];
    const char *only = getenv("SCENARIO");
    int count = 0, k, user, build;
    FILE *names;
    struct sigaction action;
    setting s;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
    memset(&s, 0, sizeof s);
    report = stdout;
    if (argc < 3) return 2;
    stand_apart();
    if (strcmp(argv[2], "one") == 0 && argc >= 6) {
        s.scenario = argv[3];
        s.build = argv[4];
        s.uid = (unsigned)atoi(argv[5]);
        make_place(&s, argv[1], 9);
        try_one(&s, argv + 6, argc - 6);
        return 0;
    }
    is_all = strcmp(argv[2], "all") == 0;
    my_share = argc > 3 ? atoi(argv[3]) : 0;
    shares = argc > 4 ? atoi(argv[4]) : 1;
    snprintf(path, sizeof path, "%s/host-plain list x", argv[1]);
    names = popen(path, "r");
    while (names && count < 100 && fscanf(names, "%29s", list[count]) == 1) count++;
    if (names) pclose(names);
    for (user = 0; user < 2; user++)
        for (build = 0; build < 2; build++)
            for (k = 0; k < count; k++) {
                s.uid = geteuid() == 0 ? (user ? 64100u + (unsigned)my_share : 0) : geteuid();
                if (user && geteuid() != 0) continue;
                s.build = build ? "portable" : "plain";
                s.scenario = list[k];
                if (only && *only && strcmp(only, list[k]) != 0) continue;
                make_place(&s, argv[1], my_share);
                try_setting(&s);
            }
    return 0;
}
#endif
