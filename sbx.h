/* sbx.h - draft */
/* The feature macros the implementation needs have to be set before any system header. */
#if defined(SBX_IMPLEMENTATION) && defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1
#endif

#ifndef SBX_H
#define SBX_H

#define SBX_VERSION "0.1.0"

#if defined(_WIN32)
#error "sbx.h: Windows has no fork, rlimits or process groups; sbx.h runs on Linux, macOS and the BSDs"
#endif

#include <stddef.h>

#ifndef SBX_API
#if defined(SBX_STATIC) && defined(__GNUC__)
#define SBX_API static __attribute__((unused))
#elif defined(SBX_STATIC)
#define SBX_API static
#else
#define SBX_API extern
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SBX_UNLIMITED (-1) /* for any limit: none. Other negative values are rejected */

typedef enum sbx_verdict {
    SBX_OK,           /* exited 0, inside every limit */
    SBX_EXITED,       /* exited by itself with a non-zero code */
    SBX_CRASHED,      /* ended by a signal that no limit explains */
    SBX_TIMED_OUT,    /* wall clock: timeout_ms */
    SBX_CPU_LIMIT,    /* cpu_ms, whole tree */
    SBX_MEMORY_LIMIT, /* memory_bytes or address_space_bytes */
    SBX_OUTPUT_LIMIT, /* output_bytes */
    SBX_FILE_LIMIT,   /* file_bytes */
    SBX_DENIED,       /* the policy ended it for a forbidden act */
    SBX_CANCELLED,    /* sbx_cancel, or on_output returned non-zero */
    SBX_NO_RESULT,    /* sbx_call: ended by itself without a result */
    SBX_NOT_STARTED,  /* nothing ran: message, step and sys_errno say why */
    SBX_LOST          /* it ran, but the host took its exit status away */
} sbx_verdict;

typedef enum sbx_step {    /* where a start failed */
    SBX_STEP_NONE,         /* it did not */
    SBX_STEP_CONFIG,       /* a config field: the message names it and its value */
    SBX_STEP_MEMORY,       /* the host's allocator said no */
    SBX_STEP_IO,           /* a pipe, /dev/null, or the descriptors of the child */
    SBX_STEP_SPAWN,        /* no new process */
    SBX_STEP_SESSION,      /* setsid */
    SBX_STEP_LIMITS,       /* setrlimit */
    SBX_STEP_CWD,          /* chdir */
    SBX_STEP_EXEC,         /* program not found, not executable, no interpreter, ... */
    SBX_STEP_CONTAIN,      /* the whole tree cannot be contained here */
    SBX_STEP_CGROUP,
    SBX_STEP_POLICY
} sbx_step;

typedef enum sbx_io {
    SBX_DEFAULT,      /* stdin: input bytes, or /dev/null; stdout, stderr: captured */
    SBX_DISCARD,      /* /dev/null */
    SBX_INHERIT,      /* the host's own */
    SBX_MERGE,        /* stderr only: into stdout, in the order written */
    SBX_FD,           /* in_fd / out_fd / err_fd; the host keeps them open */
    SBX_PIPE          /* stdin only: sbx_write and sbx_close_input */
} sbx_io;

typedef enum sbx_stream { SBX_STDOUT = 1, SBX_STDERR = 2 } sbx_stream;
typedef int (*sbx_output_fn)(void *user, sbx_stream stream, const char *data, size_t size);

typedef enum sbx_contain {
    SBX_CONTAIN_AUTO,  /* the whole tree where the kernel allows it, else the process group */
    SBX_CONTAIN_GROUP, /* the process group: fastest; a setsid descendant can escape */
    SBX_CONTAIN_TREE   /* the whole tree, or nothing runs */
} sbx_contain;

typedef struct sbx_policy { /* Linux. All zero: system programs and libraries can be read and run,
                               nothing written, no network */
    const char *const *read;  /* more trees to read and run, NULL-terminated */
    const char *const *write; /* trees to read, run and write */
    int no_system;            /* 1 = not even the system's trees */
    int allow_network;
    int deny_spawn;           /* 1 = no new processes (threads are fine) */
    int kill_on_denied;       /* 1 = a forbidden system call ends the child: SBX_DENIED */
} sbx_policy;

typedef struct sbx_config {
    const char *const *argv;       /* NULL-terminated; argv[0] is looked up on the host's PATH */
    const char *command;           /* or one line for /bin/sh -c; exactly one of the two */
    const char *cwd;               /* NULL = the host's */
    const char *const *env;        /* "NAME=value", NULL-terminated: all the child sees */
    int inherit_env;               /* 1 = the host's variables first, env on top */

    const void *input;             /* stdin; NULL = /dev/null (not the same as zero bytes) */
    size_t input_size;
    sbx_io in, out, err;
    int in_fd, out_fd, err_fd;     /* read only where the mode is SBX_FD */
    sbx_output_fn on_output;       /* live, in order, never past the cap; non-zero cancels */
    void *user;                    /* for on_output; comes back in the result */

    long long timeout_ms;          /* 0 = 30000 */
    long long grace_ms;            /* between SIGTERM and SIGKILL; 0 = 3000, -1 = kill at once */
    long long output_bytes;        /* stdout + stderr together; 0 = 1 MiB */
    int truncate_output;           /* 1 = past the cap read on and discard, let it finish */
    long long cpu_ms;              /* 0 = none; user + system, whole tree */
    long long memory_bytes;        /* 0 = none; memory in use by the whole tree */
    long long address_space_bytes; /* 0 = none; RLIMIT_AS of each process: malloc fails */
    long long file_bytes;          /* 0 = none; any one file */
    long long open_files;          /* 0 = none; each process */
    long long processes;           /* 0 = none; processes and threads in the tree */
    long long stack_bytes;         /* 0 = none */

    sbx_contain contain;
    const sbx_policy *policy;      /* NULL = limits only */
    const char *cgroup;            /* a delegated cgroup v2 directory; NULL = none */
} sbx_config;

typedef struct sbx_output {
    char *data;               /* never NULL, always followed by a NUL byte */
    size_t size;              /* bytes kept */
    unsigned long long total; /* bytes the child wrote, as far as they were read */
    int truncated;            /* 1 = size < total */
} sbx_output;

/* What was observed: bits of sbx_evidence.saw and sbx_result.evidence. */
#define SBX_SAW_START_FAILED 0x0001u  /* a step before the program failed */
#define SBX_SAW_DEADLINE     0x0002u  /* the host stopped it: timeout_ms was over */
#define SBX_SAW_CPU_SUM      0x0004u  /* the host stopped it: the tree's CPU time passed cpu_ms */
#define SBX_SAW_MEMORY_SUM   0x0008u  /* the host stopped it: the tree's memory passed memory_bytes */
#define SBX_SAW_OUTPUT_CAP   0x0010u  /* more than output_bytes was written */
#define SBX_SAW_CANCEL       0x0020u  /* the host stopped it: sbx_cancel or the callback */
#define SBX_SAW_GRACE_OVER   0x0040u  /* it outlived SIGTERM and got SIGKILL */
#define SBX_SAW_NO_STATUS    0x0080u  /* somebody else collected the exit status */
#define SBX_SAW_NO_RESULT    0x0100u  /* sbx_call: the function did not deliver */
#define SBX_SAW_CPU_SPENT    0x0200u  /* CPU time used is close to cpu_ms, or past it */
#define SBX_SAW_FILE_LIMIT   0x0400u  /* file_bytes was in force */
#define SBX_SAW_FILE_TEXT    0x0800u  /* ... and stderr speaks of a file too large */
#define SBX_SAW_MEMORY_LIMIT 0x1000u  /* a limit was in force under which malloc fails */
#define SBX_SAW_MEMORY_TEXT  0x2000u  /* ... and stderr speaks of missing memory */
#define SBX_SAW_MEMORY_PEAK  0x4000u  /* ... and the peak came within 5 % of it */
#define SBX_SAW_OOM_KILL     0x8000u  /* the cgroup counted an out-of-memory kill */
#define SBX_SAW_DENIED       0x10000u /* the policy's filter ended it */

/* What was really in force: bits of sbx_result.enforced. */
#define SBX_BY_SESSION        0x0001u /* own session and process group */
#define SBX_BY_TREE           0x0002u /* PID namespace: no descendant can leave it */
#define SBX_BY_WATCH          0x0004u /* memory and CPU summed over the tree from /proc */
#define SBX_BY_RLIMIT_CPU     0x0008u /* each process */
#define SBX_BY_RLIMIT_AS      0x0010u /* each process */
#define SBX_BY_RLIMIT_FSIZE   0x0020u
#define SBX_BY_RLIMIT_NOFILE  0x0040u
#define SBX_BY_RLIMIT_NPROC   0x0080u
#define SBX_BY_RLIMIT_STACK   0x0100u
#define SBX_BY_RLIMIT_CORE    0x0200u /* no core dumps; always */
#define SBX_BY_CGROUP         0x0400u
#define SBX_BY_LANDLOCK       0x0800u
#define SBX_BY_SECCOMP        0x1000u
#define SBX_BY_NO_NEW_PRIVS   0x2000u

typedef struct sbx_evidence {
    unsigned saw;                  /* SBX_SAW_... bits */
    int exit_code;                 /* -1 if it did not exit by itself */
    int signal;                    /* 0 if it exited */
} sbx_evidence;

typedef struct sbx_result {
    sbx_verdict verdict;
    int certain;                   /* 1 = proven, 0 = the likeliest reading of the evidence */
    int exit_code;                 /* -1 if it did not exit by itself */
    int signal;                    /* 0 if it exited */
    sbx_output out, err;
    long long wall_us, user_us, system_us;
    long long peak_bytes;          /* most memory in use; -1 = not known. Never the host's */
    unsigned evidence;             /* SBX_SAW_... bits the verdict rests on */
    unsigned enforced;             /* SBX_BY_... bits: what was really in force */
    sbx_step step;                 /* where a start failed: SBX_STEP_CONFIG, ..._EXEC, ... */
    int sys_errno;
    void *user;
    char message[256];             /* one sentence a person can act on; never empty */
} sbx_result;

/* Runs it and waits. The result may be NULL; otherwise give it to sbx_free afterwards. */
SBX_API sbx_verdict sbx_run(const sbx_config *config, sbx_result *result);
SBX_API void sbx_free(sbx_result *result); /* twice is fine, and so is an all-zero result */

/* Running beside the host. */
typedef struct sbx sbx;
SBX_API sbx *sbx_start(const sbx_config *config, sbx_result *result); /* NULL: the result says why */
SBX_API int sbx_poll(sbx *box, long long wait_ms);                   /* 1 = ended, 0 = running */
SBX_API int sbx_poll_any(sbx *const *boxes, int count, long long wait_ms); /* index of an ended one, -1 = none yet */
SBX_API long long sbx_write(sbx *box, const void *data, size_t size); /* bytes taken, 0 = full, -1 = closed */
SBX_API void sbx_close_input(sbx *box);
SBX_API void sbx_cancel(sbx *box);                                   /* any thread, any signal handler */
SBX_API sbx_verdict sbx_finish(sbx *box, sbx_result *result);        /* waits, reaps, frees the box */

/* For a host with a loop of its own: what to watch, and until when at the latest. */
typedef struct sbx_watch {
    int fd[8];                     /* descriptors to watch */
    int writable[8];               /* 1 = until it can be written, 0 = until it can be read */
    int count;
    long long wait_ms;             /* call sbx_poll(box, 0) after this time even if none is ready; -1 = no need */
} sbx_watch;
SBX_API void sbx_get_watch(const sbx *box, sbx_watch *watch);

/* A C function instead of a program. */
typedef int (*sbx_fn)(void *arg, void *ret, size_t ret_size); /* 0 = ret is valid */
SBX_API sbx_verdict sbx_call(const sbx_config *config, sbx_fn fn, void *arg, void *ret, size_t ret_size, sbx_result *result);
SBX_API void sbx_fail(const char *format, ...); /* in the function: ends it, text -> message */

/* Knowing and helping. */
typedef struct sbx_caps { /* 1 = works here and now: it was tried, to the end, in a child */
    int tree;             /* SBX_CONTAIN_TREE: nothing escapes, and all dies with the host */
    int watch;            /* memory_bytes and cpu_ms are summed over the whole tree */
    int address_space;    /* address_space_bytes */
    int processes;        /* `processes` without a cgroup */
    int policy;           /* sbx_policy: files, network, processes and kernel */
    int landlock;         /* its version; 0 = none. 3 guards truncate, 4 TCP, 5 devices, 6 signals */
    int seccomp;          /* system-call filters */
    int exit_status_kept; /* survives a host that ignores SIGCHLD or collects everything */
    char tree_why[256];   /* what was missing; "" = nothing */
    char processes_why[256];
    char policy_why[256];
} sbx_caps;
SBX_API void sbx_probe(sbx_caps *caps);
SBX_API sbx_verdict sbx_classify(const sbx_evidence *evidence, int *certain); /* pure: facts in, verdict out */
SBX_API const char *sbx_verdict_name(sbx_verdict verdict);
SBX_API size_t sbx_utf8_prefix(const char *text, size_t size, size_t max);
SBX_API void sbx_clamp(sbx_config *config, const sbx_config *ceiling);

#ifdef __cplusplus
}
#endif
#endif /* SBX_H */

/* End of the API. The implementation is below. */

#if defined(SBX_IMPLEMENTATION) && !defined(SBX__IMPLEMENTED)
#define SBX__IMPLEMENTED

/* ==== >>platform: every OS question is asked here, once ======================================= */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__GLIBC__) && !defined(__USE_MISC)
#error "sbx.h: a system header came before it under -std=c99; include sbx.h first, or add -D_GNU_SOURCE"
#endif
#if defined(SBX_REALLOC) != defined(SBX_FREE)
#error "sbx.h: define both SBX_REALLOC(pointer, size) and SBX_FREE(pointer), or neither"
#endif
#ifndef SBX_REALLOC
#define SBX_REALLOC(pointer, size) realloc(pointer, size)
#define SBX_FREE(pointer) free(pointer)
#endif

#if defined(__linux__) && !defined(SBX_NO_LINUX)
#define SBX__LINUX 1 /* vfork-style clone, pidfd, /proc, close_range; each still tried at run time */
#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#else
#define SBX__LINUX 0
#endif

#if defined(__linux__)
#define SBX__WALL 0x40000000 /* __WALL: children of any clone */
#else
#define SBX__WALL 0
#endif

#if defined(__linux__)
#include <stdio_ext.h>
#define SBX__PURGE(file) __fpurge(file)
#elif defined(__OpenBSD__)
#define SBX__PURGE(file) ((void)(file))
#else
#define SBX__PURGE(file) fpurge(file)
#endif

/* macOS accepts RLIMIT_AS and ignores it; OpenBSD does not have it. */
#if defined(RLIMIT_AS) && !defined(__APPLE__)
#define SBX__HAS_RLIMIT_AS 1
#else
#define SBX__HAS_RLIMIT_AS 0
#endif

#ifdef __APPLE__ /* sigprocmask changes every thread there; elsewhere it is the calling thread's */
#include <pthread.h>
#define SBX__SIGMASK(how, set, old) pthread_sigmask(how, set, old)
#define SBX__MAXRSS_UNIT 1
#else
#define SBX__SIGMASK(how, set, old) sigprocmask(how, set, old)
#define SBX__MAXRSS_UNIT 1024
#endif

#ifdef __GLIBC__ /* setrlimit takes an enum there, under some feature macros */
#define SBX__RLIMIT(which) ((__rlimit_resource_t)(which))
#else
#define SBX__RLIMIT(which) (which)
#endif

#ifdef __cplusplus
extern "C" {
#endif

extern char **environ;

#if SBX__LINUX
#ifndef __cplusplus /* <sched.h> declares it only with _GNU_SOURCE, which may have come too late */
int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#else
}
#include <sched.h>
extern "C" {
#endif
#define SBX__CLONE_VM 0x00000100
#define SBX__CLONE_PIDFD 0x00001000
#define SBX__CLONE_VFORK 0x00004000
#define SBX__CLONE_PARENT 0x00008000
#define SBX__CLONE_NEWNS 0x00020000
#define SBX__CLONE_NEWUSER 0x10000000
#define SBX__CLONE_NEWPID 0x20000000
#define SBX__P_PIDFD 3
#define SBX__CAP_VERSION 0x20080522u
#define SBX__CAP_SYS_PTRACE 19
#define SBX__PR_CAP_AMBIENT 47
#define SBX__PIDFD_TO_GROUP 4u                  /* pidfd_send_signal: PIDFD_SIGNAL_PROCESS_GROUP */
#define SBX__PIDFD_GET_INFO _IOWR(0xFF, 11, sbx__pidfd_info)
#define SBX__PIDFD_INFO_EXIT 8u
#define SBX__F_SETPIPE_SZ 1031
/* Numbers from 424 on are the same on every architecture; musl and older headers lack some. */
#define SBX__NR_OPEN_TREE 428
#define SBX__NR_MOVE_MOUNT 429
#define SBX__NR_MOUNT_SETATTR 442
#define SBX__NR_LANDLOCK_CREATE_RULESET 444
#define SBX__NR_LANDLOCK_ADD_RULE 445
#define SBX__NR_LANDLOCK_RESTRICT_SELF 446
#define SBX__O_PATH 010000000
#define SBX__AT_RECURSIVE 0x8000
#define SBX__AT_EMPTY_PATH 0x1000
#define SBX__READ_TREE_BITS 13u /* LANDLOCK_ACCESS_FS_: EXECUTE, READ_FILE, READ_DIR */
#define SBX__NOTIF_RECV 0xC0502100ul
#if defined(__x86_64__) && !defined(__ILP32__)
#define SBX__ARCH 0xC000003Eu /* AUDIT_ARCH_... of linux/audit.h */
#elif defined(__i386__)
#define SBX__ARCH 0x40000003u
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#define SBX__ARCH 0xC00000B7u
#elif defined(__arm__) && !defined(__ARMEB__)
#define SBX__ARCH 0x40000028u
#elif defined(__riscv) && __riscv_xlen == 64
#define SBX__ARCH 0xC00000F3u
#else
#define SBX__ARCH 0u /* no filter for it: a policy is refused */
#endif
#ifdef __mips__
#define SBX__SIGNALS 128
#else
#define SBX__SIGNALS 64
#endif
#ifndef SYS_pidfd_send_signal /* one number on every architecture since 5.1 */
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
typedef struct sbx__pidfd_info { /* struct pidfd_info, first version */
    unsigned long long mask, cgroup;
    unsigned int ids[11];
    int exit_status;
} sbx__pidfd_info;
#endif

#define SBX__SECOND 1000000LL        /* all times inside are microseconds, monotonic */
#define SBX__NEVER LLONG_MAX
#define SBX__CHUNK 65536             /* room for one read; a pipe's usual size */
#define SBX__BIG_PIPE (1 << 20)      /* what a pipe grows to once the child has filled it */
#define SBX__STACK 32768             /* of each of two vfork children */
#define SBX__MAX_MS 1000000000000LL  /* about 31 years */
#define SBX__MAX_BYTES (1LL << 50)
#define SBX__MAX_COUNT (1LL << 30)
#define SBX__EMPTY_WAIT (2 * SBX__SECOND)   /* how long killed leftovers may take to vanish */
#define SBX__RET_AT 256                     /* where ret stands in the shared pages */
#define SBX__SAMPLE (10000LL)               /* a box with memory_bytes or cpu_ms is looked at so often */

/* ==== data: config -> plan -> box -> evidence -> result ======================================= */

enum { SBX__IN, SBX__OUT, SBX__ERR, SBX__EXIT, SBX__CANCEL, SBX__REPORT, SBX__INIT, SBX__NOTIFY, SBX__LIFE, SBX__FDS };

typedef struct sbx__shared {         /* sbx_call: a page that host and child both see */
    unsigned long long done;         /* the plan's token, once the function has returned 0 */
    pid_t born;                      /* the function's process, if another one made it */
    int failed;                      /* sbx_fail was called */
    char text[200];
} sbx__shared;

typedef struct sbx__insn {           /* struct sock_filter */
    unsigned short code;
    unsigned char yes, no;
    unsigned k;
} sbx__insn;

typedef struct sbx__writable {       /* a tree of sbx_policy.write */
    char *path;                      /* without symlinks */
    dev_t device;
    ino_t inode;
    int tree;                        /* in the child: its mounts, cloned while still writable */
} sbx__writable;

typedef struct sbx__plan {           /* everything the child needs; nothing is allocated after it */
    sbx_config cfg;                  /* with every default filled in; -1 = none */
    const char *path;                /* resolved program */
    const char *const *argv;
    char *const *envp;
    const char *cwd;                 /* NULL = stay */
    const char *shell[4];            /* argv of cfg.command */
    int fd[3];                       /* become 0, 1, 2; -1 = the host's own stays */
    int report;                      /* close-on-exec: carries a sbx__failure, or just closes */
    struct { int which; struct rlimit value; } limits[8];
    int limit_count;
    int top_fd;                      /* close-all loop, where nothing better exists */
    long long deadline;
    int tree;                        /* enter the PID namespace of init_fd */
    int user_ns;                     /* ... and the user namespace around it */
    int init_fd, life, null;
    const char *init_path;           /* NULL = the forked init */
    int cgroup;                      /* cgroup.procs of the box's own group; -1 = none */
    char uid_map[48], gid_map[48];
    size_t fn_stack;                 /* sbx_call: as large as the host's */
    int ruleset;                     /* Landlock; -1 = no policy */
    sbx__insn *filter;               /* seccomp */
    int filter_size;
    sbx__writable *writable;
    int writable_count;
    pid_t *born;                     /* where the process that enters puts the program's pid */
    sbx_fn fn;                       /* sbx_call: instead of path */
    void *arg;
    size_t ret_size;
    sbx__shared *shared;
    unsigned long long token;
    char *memory;                    /* holds two stacks, path and envp */
} sbx__plan;

typedef struct sbx__failure {        /* from the child before exec */
    sbx_step step;
    int error, which;
} sbx__failure;

typedef struct sbx__task {           /* a process of the tree, as /proc shows it */
    int pid, parent, session, member;
    long long cpu, reaped;           /* ticks: its own, and those of children it waited for */
    long long credit;                /* ticks of vanished descendants */
} sbx__task;

typedef struct sbx__tasks {
    sbx__task *at;
    int count, capacity;
} sbx__tasks;

typedef enum { SBX__RUNNING, SBX__LEAVING, SBX__ENDED } sbx__state;

struct sbx {
    sbx_config cfg;                  /* limits and callback; its pointers may be stale */
    char who[48];                    /* "'sleep'": for messages */
    sbx__state state;
    pid_t pid;
    pid_t init;                      /* pid 1 of the tree's namespace; 0 = the group only */
    int fd[SBX__FDS];
    int cancel_fd;                   /* where sbx_cancel writes */
    int top_fd;
    const char *input;
    size_t input_left;
    char *input_copy;
    int want_write;                  /* sbx_write found the pipe full */
    sbx_output output[2];
    size_t capacity[2];
    int piped_big[2];
    long long kept;                  /* bytes kept of both streams */
    long long started, deadline;
    long long kill_at;               /* SIGKILL after the grace; SBX__NEVER = not stopping */
    long long look_at, look_step;    /* next look at what no descriptor tells */
    long long sample_at, sample_step, scan_at;
    long long empty_by, ended;
    int stopping, late;
    sbx_evidence seen;
    unsigned enforced;
    sbx__failure failure;
    struct rusage usage;
    long long host_peak, peak, peak_space, used; /* bytes */
    long long cpu_gone;              /* ticks of tasks that ended and nobody waited for */
    long long cpu_us;
    sbx__tasks tasks;
    char *cgroup;                    /* path of the box's own group; NULL = none */
    char proc[40];                   /* the tree's own /proc, or the host's */
    int self;                        /* the program's number there */
    sbx__shared *shared;             /* sbx_call */
    size_t shared_size;
    unsigned long long token;
    int denied;                      /* number of the forbidden system call */
    int gone;                        /* the host collected it first */
    int killed;                      /* a signal was sent to it */
    int private_only;                /* sbx_call: pages shared with the host do not count */
};

/* ==== small helpers =========================================================================== */

static long long sbx__now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * SBX__SECOND + t.tv_nsec / 1000;
}

static void *sbx__zalloc(size_t size) {
    void *p = SBX_REALLOC(NULL, size);
    if (p) memset(p, 0, size);
    return p;
}

static void sbx__close(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static void sbx__blank(sbx_result *r) {
    memset(r, 0, sizeof *r);
    r->out.data = r->err.data = (char *)""; /* heap only where size > 0: sbx_free relies on it */
    r->exit_code = -1;
    r->peak_bytes = -1;
}

/* Writes why nothing runs; returns 0 so that callers can `return sbx__refuse(...)`. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static int sbx__refuse(sbx_result *r, sbx_step step, int error, const char *format, ...) {
    va_list args;
    r->verdict = SBX_NOT_STARTED;
    r->certain = 1;
    r->evidence = SBX_SAW_START_FAILED;
    r->step = step;
    r->sys_errno = error;
    va_start(args, format);
    vsnprintf(r->message, sizeof r->message, format, args);
    va_end(args);
    return 0;
}

/* Text for a message: control characters would break the sentence or the terminal it lands on. */
static void sbx__plain(char *to, size_t room, const char *from) {
    size_t n = strlen(from), i;
    n = sbx_utf8_prefix(from, n, room - 1);
    for (i = 0; i < n; i++) to[i] = (unsigned char)from[i] < 32 || from[i] == 127 ? ' ' : from[i];
    to[n] = 0;
}

/* A descriptor of ours at 0, 1 or 2 (the host had it closed) would end up as a child's stream. */
static int sbx__above_stdio(int fd) {
    int up;
    if (fd < 0 || fd > 2) return fd;
    up = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return up;
}

static int sbx__pipe(int *read_end, int *write_end) {
    int fd[2];
#if SBX__LINUX
    if (syscall(SYS_pipe2, fd, O_CLOEXEC) != 0) return 0;
#else
    if (pipe(fd) != 0) return 0;
    fcntl(fd[0], F_SETFD, FD_CLOEXEC);
    fcntl(fd[1], F_SETFD, FD_CLOEXEC);
#endif
    *read_end = sbx__above_stdio(fd[0]);
    *write_end = sbx__above_stdio(fd[1]);
    return *read_end >= 0 && *write_end >= 0; /* the caller closes what there is */
}

static int sbx__nonblocking(int fd) {
    return fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

static const char *sbx__signal_name(int number) {
    static const struct { int number; const char *name; } names[] = {
        {SIGHUP, "SIGHUP"}, {SIGINT, "SIGINT"}, {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
        {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"},
        {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
        {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
        {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}};
    size_t i;
    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == number) return names[i].name;
    return "unnamed";
}

/* ==== defaults and validation ================================================================= */

typedef struct sbx__field {
    const char *name;
    size_t offset;
    long long zero, most; /* what 0 means; the largest value that makes sense */
} sbx__field;

static const sbx__field sbx__fields[] = {
    {"timeout_ms", offsetof(sbx_config, timeout_ms), 30000, SBX__MAX_MS},
    {"grace_ms", offsetof(sbx_config, grace_ms), 3000, SBX__MAX_MS},
    {"output_bytes", offsetof(sbx_config, output_bytes), 1 << 20, SBX__MAX_BYTES},
    {"cpu_ms", offsetof(sbx_config, cpu_ms), -1, SBX__MAX_MS},
    {"memory_bytes", offsetof(sbx_config, memory_bytes), -1, SBX__MAX_BYTES},
    {"address_space_bytes", offsetof(sbx_config, address_space_bytes), -1, SBX__MAX_BYTES},
    {"file_bytes", offsetof(sbx_config, file_bytes), -1, SBX__MAX_BYTES},
    {"open_files", offsetof(sbx_config, open_files), -1, SBX__MAX_COUNT},
    {"processes", offsetof(sbx_config, processes), -1, SBX__MAX_COUNT},
    {"stack_bytes", offsetof(sbx_config, stack_bytes), -1, SBX__MAX_BYTES}};
#define SBX__FIELDS (sizeof sbx__fields / sizeof sbx__fields[0])

static long long *sbx__value(sbx_config *cfg, const sbx__field *field) {
    return (long long *)(void *)((char *)cfg + field->offset);
}

static int sbx__check_limits(sbx_config *cfg, sbx_result *r) {
    size_t i;
    for (i = 0; i < SBX__FIELDS; i++) {
        const sbx__field *f = &sbx__fields[i];
        long long *v = sbx__value(cfg, f);
        if (*v < SBX_UNLIMITED || *v > f->most)
            return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "%s = %lld is out of range: 0 is the default, "
                               "-1 is none, %lld is the most", f->name, *v, f->most);
        if (*v == 0) *v = f->zero;
    }
    if (cfg->grace_ms < 0) cfg->grace_ms = 0; /* from here on 0 is 0 */
    return 1;
}

static int sbx__check_stream(sbx_result *r, const char *name, sbx_io mode, unsigned allowed, int fd, int own) {
    if ((int)mode < 0 || mode > SBX_PIPE || !(allowed & 1u << mode))
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "%s = %d is not a mode for this stream", name, (int)mode);
    if (mode == SBX_FD && fcntl(fd, F_GETFD) < 0)
        return sbx__refuse(r, SBX_STEP_CONFIG, EBADF, "%s_fd = %d is not an open descriptor", name, fd);
    if (mode == SBX_INHERIT && fcntl(own, F_GETFD) < 0)
        return sbx__refuse(r, SBX_STEP_CONFIG, EBADF, "%s = SBX_INHERIT, but the host's descriptor %d is closed",
                           name, own);
    return 1;
}

static int sbx__check_io(const sbx_config *cfg, int can_write, sbx_result *r) {
    unsigned any = 1u << SBX_DEFAULT | 1u << SBX_DISCARD | 1u << SBX_INHERIT | 1u << SBX_FD;
    if (!sbx__check_stream(r, "in", cfg->in, any | 1u << SBX_PIPE, cfg->in_fd, 0) ||
        !sbx__check_stream(r, "out", cfg->out, any, cfg->out_fd, 1) ||
        !sbx__check_stream(r, "err", cfg->err, any | 1u << SBX_MERGE, cfg->err_fd, 2)) return 0;
    if (cfg->in == SBX_PIPE && !can_write)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "in = SBX_PIPE needs sbx_start: nobody could call sbx_write");
    if (cfg->input_size > 0 && !cfg->input)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "input = NULL, but input_size = %lu",
                           (unsigned long)cfg->input_size);
    if (cfg->input_size > (size_t)-1 / 4)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "input_size = %lu is more than memory can hold",
                           (unsigned long)cfg->input_size);
    if (cfg->input && cfg->in != SBX_DEFAULT)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "input is given, but in = %d does not read it", (int)cfg->in);
    return 1;
}

static int sbx__check_env(const sbx_config *cfg, sbx_result *r) {
    const char *const *e;
    char shown[80];
    for (e = cfg->env; e && *e; e++) {
        if (**e != '=' && strchr(*e, '=')) continue;
        sbx__plain(shown, sizeof shown, *e);
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "env[%d] = \"%s\" is not NAME=value", (int)(e - cfg->env), shown);
    }
    return 1;
}

static int sbx__check_cwd(const sbx_config *cfg, sbx_result *r) {
    struct stat st;
    char shown[120];
    int error = 0;
    if (!cfg->cwd) return 1;
    if (stat(cfg->cwd, &st) != 0) error = errno;
    else if (!S_ISDIR(st.st_mode)) error = ENOTDIR;
    if (!error) return 1;
    sbx__plain(shown, sizeof shown, cfg->cwd);
    return sbx__refuse(r, SBX_STEP_CWD, error, "cwd = \"%s\": %s", shown, strerror(error));
}

/* What a later version will do is refused, never ignored. */
static int sbx__check_missing(const sbx_config *cfg, sbx_result *r) {
#if !SBX__LINUX
    if (cfg->policy)
        return sbx__refuse(r, SBX_STEP_POLICY, ENOSYS, "policy is set, but only Linux can enforce one");
    if (cfg->cgroup)
        return sbx__refuse(r, SBX_STEP_CGROUP, ENOSYS, "cgroup is set, but there are none on this system");
#endif
    if (cfg->policy && cfg->contain == SBX_CONTAIN_GROUP)
        return sbx__refuse(r, SBX_STEP_POLICY, EINVAL, "policy is set, but contain = SBX_CONTAIN_GROUP leaves the "
                           "host's processes in reach");
    if ((int)cfg->contain < 0 || cfg->contain > SBX_CONTAIN_TREE)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "contain = %d is not a containment", (int)cfg->contain);
    return 1;
}

static int sbx__check_program(const sbx_config *cfg, sbx_fn fn, sbx_result *r) {
    if (fn) {
        if (!cfg->argv && !cfg->command) return 1;
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "%s is set, but sbx_call runs a function",
                           cfg->argv ? "argv" : "command");
    }
    if (!cfg->argv && !cfg->command)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "argv = NULL and command = NULL: set one of them");
    if (cfg->argv && cfg->command)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "argv and command are both set: set one of them");
    if (cfg->argv && (!cfg->argv[0] || !cfg->argv[0][0]))
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "argv[0] = %s: it names the program to run",
                           cfg->argv[0] ? "\"\"" : "NULL");
    return 1;
}

static int sbx__validate(sbx__plan *p, int can_write, sbx_result *r) {
    return sbx__check_program(&p->cfg, p->fn, r) && sbx__check_limits(&p->cfg, r) &&
           sbx__check_io(&p->cfg, can_write, r) && sbx__check_env(&p->cfg, r) &&
           sbx__check_cwd(&p->cfg, r) && sbx__check_missing(&p->cfg, r);
}

/* ==== prepare: resolve and allocate everything before a process exists ======================== */

/* [base/]dir/name, where an absolute dir makes base moot. */
static const char *sbx__join(char *to, const char *base, const char *dir, size_t dir_size, const char *name) {
    size_t n = 0;
    int absolute = dir_size ? dir[0] == '/' : name[0] == '/';
    if (base && !absolute) {
        n = strlen(base);
        memmove(to, base, n);
        to[n++] = '/';
    }
    if (dir_size) {
        memcpy(to + n, dir, dir_size);
        n += dir_size;
        to[n++] = '/';
    }
    memcpy(to + n, name, strlen(name) + 1);
    return to;
}

static int sbx__runnable(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The host's PATH and the host's directory count, whatever env and cwd say. */
static int sbx__find(sbx__plan *p, const char *name, const char *search, char *room, sbx_result *r) {
    char base[PATH_MAX], shown[80];
    const char *from = NULL, *dir;
    int found = ENOENT;
    if (p->cfg.cwd && !(from = getcwd(base, sizeof base)))
        return sbx__refuse(r, SBX_STEP_CWD, errno, "the host's own directory is gone: %s", strerror(errno));
    if (strchr(name, '/')) {
        p->path = sbx__join(room, from, NULL, 0, name);
        return 1; /* exec itself tells best what is wrong with it */
    }
    for (dir = search;; dir++) {
        size_t n = strcspn(dir, ":");
        p->path = sbx__join(room, from, n ? dir : ".", n ? n : 1, name);
        if (sbx__runnable(p->path)) return 1;
        if (errno == EACCES) found = EACCES;
        dir += n;
        if (!*dir) break;
    }
    sbx__plain(shown, sizeof shown, name);
    return sbx__refuse(r, SBX_STEP_EXEC, found, found == EACCES ? "'%s' is on PATH, but may not be run"
                                                                : "'%s' was not found on PATH", shown);
}

static size_t sbx__count(const char *const *list) {
    size_t n = 0;
    while (list && list[n]) n++;
    return n;
}

static int sbx__overridden(const char *entry, const char *const *env, size_t count) {
    size_t n = strcspn(entry, "=");
    for (; count > 0; env++, count--)
        if (strncmp(*env, entry, n) == 0 && (*env)[n] == '=') return 1;
    return 0;
}

static int sbx__plan_program(sbx__plan *p, sbx_result *r) {
    const sbx_config *cfg = &p->cfg;
    const char *search = getenv("PATH"), *name, *scratch = NULL;
    const char *const *e;
    char **envp;
    size_t env_size, n = 0, given = sbx__count(cfg->env);
    if (!search) search = "/usr/local/bin:/usr/bin:/bin";
    if (cfg->command) {
        p->shell[0] = "sh", p->shell[1] = "-c", p->shell[2] = cfg->command;
        p->argv = p->shell;
    } else {
        p->argv = cfg->argv;
    }
    name = p->fn ? "" : cfg->command ? "/bin/sh" : cfg->argv[0];
    if (cfg->policy && cfg->policy->write && cfg->policy->write[0]) scratch = cfg->policy->write[0];
    env_size = (2 + sbx__count(cfg->env) + sbx__count((const char *const *)environ)) * sizeof *envp;
    p->memory = (char *)SBX_REALLOC(NULL, 2 * SBX__STACK + env_size + strlen(search) + strlen(name) + 2 * PATH_MAX + 16 +
                                    (cfg->cwd ? strlen(cfg->cwd) : 0) +
                                    (scratch ? strlen(scratch) : 0));
    if (!p->memory) return sbx__refuse(r, SBX_STEP_MEMORY, ENOMEM, "no memory to prepare the child");
    envp = (char **)(void *)(p->memory + 2 * SBX__STACK);
    for (e = (const char *const *)environ; cfg->inherit_env && e && *e; e++)
        if (!sbx__overridden(*e, cfg->env, given)) envp[n++] = (char *)*e;
    for (e = cfg->env; e && *e; e++) envp[n++] = (char *)*e;
    if (scratch && !sbx__overridden("TMPDIR=", (const char *const *)envp, n)) {
        envp[n++] = p->memory + 2 * SBX__STACK + env_size;
        env_size += (size_t)sprintf(envp[n - 1], "TMPDIR=%s", scratch) + 1;
    }
    envp[n] = NULL;
    p->envp = envp;
    p->cwd = cfg->cwd;
    if (cfg->policy && (!cfg->cwd || cfg->cwd[0] != '/')) { /* new mounts: the way must be walked anew */
        char *cwd = p->memory + 2 * SBX__STACK + env_size;
        if (!getcwd(cwd, PATH_MAX)) return sbx__refuse(r, SBX_STEP_CWD, errno, "the host's own directory is gone: %s", strerror(errno));
        if (cfg->cwd) strcat(strcat(cwd, "/"), cfg->cwd);
        env_size += strlen(cwd) + 1;
        p->cwd = cwd;
    }
    return p->fn ? 1 : sbx__find(p, name, search, p->memory + 2 * SBX__STACK + env_size, r);
}

static void sbx__limit(sbx__plan *p, int which, long long soft, long long above) {
    struct rlimit now, *set = &p->limits[p->limit_count].value;
    set->rlim_cur = (rlim_t)soft;
    set->rlim_max = (rlim_t)(soft + above);
    if (getrlimit(SBX__RLIMIT(which), &now) == 0 && now.rlim_max != RLIM_INFINITY) {
        if (set->rlim_max > now.rlim_max) set->rlim_max = now.rlim_max; /* stricter already */
        if (set->rlim_cur > now.rlim_max) set->rlim_cur = now.rlim_max;
    }
    p->limits[p->limit_count++].which = which;
}

static long long sbx__user_tasks(void);
static int sbx__can_watch(void);
static int sbx__plan_cgroup(sbx__plan *p, sbx *b, sbx_result *r);
static void sbx__end_cgroup(sbx *b);
static int sbx__plan_policy(sbx__plan *p, sbx *b, sbx_result *r);
static void sbx__plan_policy_free(sbx__plan *p);
static int sbx__start_init(sbx__plan *p, sbx *b);
static void sbx__end_init(sbx *b);

static int sbx__plan_tree(sbx__plan *p, sbx *b, sbx_result *r) {
    if (p->cfg.contain == SBX_CONTAIN_GROUP) return 1;
    p->tree = sbx__start_init(p, b);
    if (p->tree) b->enforced |= SBX_BY_TREE;
    if (p->tree || (p->cfg.contain == SBX_CONTAIN_AUTO && !p->cfg.policy)) return 1;
    if (p->cfg.policy)
        return sbx__refuse(r, SBX_STEP_POLICY, errno, "policy needs a PID namespace, and there is none: %s (run as root, "
                           "or allow user namespaces)", strerror(errno));
    return sbx__refuse(r, SBX_STEP_CONTAIN, errno, "contain = SBX_CONTAIN_TREE needs a PID namespace, and there is none: "
                       "%s (run as root, or allow user namespaces)", strerror(errno));
}

static int sbx__plan_limits(sbx__plan *p, sbx *b, sbx_result *r) {
    const sbx_config *cfg = &p->cfg;
    long long space = cfg->address_space_bytes;
    int watch = !b->cgroup && (cfg->memory_bytes >= 0 || cfg->cpu_ms >= 0) && sbx__can_watch();
    b->enforced |= SBX_BY_SESSION | SBX_BY_RLIMIT_CORE | (watch ? SBX_BY_WATCH : 0);
    if (cfg->memory_bytes >= 0 && !watch && !b->cgroup && (space < 0 || space > cfg->memory_bytes)) space = cfg->memory_bytes;
    sbx__limit(p, RLIMIT_CORE, 0, 0);
    if (cfg->cpu_ms >= 0) { /* hard above soft: SIGXCPU first. Watched, it is only the backstop */
        sbx__limit(p, RLIMIT_CPU, (cfg->cpu_ms + 999) / 1000 + (watch || b->cgroup ? 1 : 0), 1);
        b->enforced |= SBX_BY_RLIMIT_CPU;
    }
    if (space >= 0) {
#if SBX__HAS_RLIMIT_AS
        sbx__limit(p, RLIMIT_AS, space, 0);
        b->enforced |= SBX_BY_RLIMIT_AS;
        b->seen.saw |= SBX_SAW_MEMORY_LIMIT;
        b->cfg.address_space_bytes = space;
#else
        return sbx__refuse(r, SBX_STEP_LIMITS, ENOSYS, "%s = %lld cannot be enforced on this system",
                           cfg->memory_bytes >= 0 ? "memory_bytes" : "address_space_bytes", space);
#endif
    }
    if (cfg->file_bytes >= 0) {
        sbx__limit(p, RLIMIT_FSIZE, cfg->file_bytes, 0);
        b->enforced |= SBX_BY_RLIMIT_FSIZE;
        b->seen.saw |= SBX_SAW_FILE_LIMIT;
    }
    if (cfg->stack_bytes >= 0) {
        sbx__limit(p, RLIMIT_STACK, cfg->stack_bytes, 0);
        b->enforced |= SBX_BY_RLIMIT_STACK;
    }
    if (cfg->processes >= 0 && !b->cgroup) { /* the kernel counts all tasks of the user, and root's not at all */
        long long others = p->tree && p->user_ns ? 1 : sbx__user_tasks(); /* 1: the tree's pid 1 */
        if (getuid() == 0 || geteuid() == 0)
            return sbx__refuse(r, SBX_STEP_LIMITS, EPERM, "processes = %lld cannot be enforced for root: "
                               "give a cgroup, or run as an ordinary user", cfg->processes);
        sbx__limit(p, RLIMIT_NPROC, cfg->processes + others, 0);
        b->enforced |= SBX_BY_RLIMIT_NPROC;
    }
    if (cfg->open_files >= 0) { /* last: the steps before it need descriptors */
        sbx__limit(p, RLIMIT_NOFILE, cfg->open_files, 0);
        b->enforced |= SBX_BY_RLIMIT_NOFILE;
    }
    return 1;
}

static int sbx__plan_stream(sbx__plan *p, sbx *b, int i, sbx_io mode, int fd) {
    int piped = mode == SBX_PIPE || (mode == SBX_DEFAULT && (i > 0 || p->cfg.input));
    p->fd[i] = -1;
    if (mode == SBX_INHERIT || mode == SBX_MERGE) return 1;
    if (mode == SBX_FD) return (p->fd[i] = fcntl(fd, F_DUPFD_CLOEXEC, 3)) >= 0;
    if (!piped) return (p->fd[i] = sbx__above_stdio(open("/dev/null", O_RDWR | O_CLOEXEC))) >= 0;
    if (!(i == 0 ? sbx__pipe(&p->fd[0], &b->fd[SBX__IN]) : sbx__pipe(&b->fd[i], &p->fd[i]))) return 0;
    return sbx__nonblocking(b->fd[i]);
}

/* A pipe; or a socket, if the filter's descriptor has to come back through it. */
static int sbx__report_pair(sbx__plan *p, sbx *b) {
#if SBX__LINUX
    if (p->cfg.policy && p->cfg.policy->kill_on_denied) {
        int fd[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0) return 0;
        b->fd[SBX__REPORT] = sbx__above_stdio(fd[0]);
        p->report = sbx__above_stdio(fd[1]);
        return b->fd[SBX__REPORT] >= 0 && p->report >= 0;
    }
#endif
    return sbx__pipe(&b->fd[SBX__REPORT], &p->report);
}

static int sbx__plan_streams(sbx__plan *p, sbx *b, int with_cancel, sbx_result *r) {
    const sbx_config *cfg = &p->cfg;
    int ok = sbx__plan_stream(p, b, 0, cfg->in, cfg->in_fd) && sbx__plan_stream(p, b, 1, cfg->out, cfg->out_fd) &&
             sbx__plan_stream(p, b, 2, cfg->err, cfg->err_fd) && sbx__report_pair(p, b) &&
             sbx__nonblocking(b->fd[SBX__REPORT]);
    if (ok && with_cancel) {
#if SBX__LINUX
        b->fd[SBX__CANCEL] = sbx__above_stdio((int)syscall(SYS_eventfd2, 0, O_CLOEXEC | O_NONBLOCK));
        b->cancel_fd = b->fd[SBX__CANCEL];
        ok = b->cancel_fd >= 0;
#else
        ok = sbx__pipe(&b->fd[SBX__CANCEL], &b->cancel_fd) && sbx__nonblocking(b->fd[SBX__CANCEL]) &&
             sbx__nonblocking(b->cancel_fd);
#endif
    }
    return ok ? 1 : sbx__refuse(r, SBX_STEP_IO, errno, "no pipe or descriptor for the child: %s", strerror(errno));
}

static int sbx__plan_call(sbx__plan *p, sbx *b, sbx_result *r) {
    size_t size = SBX__RET_AT + p->ret_size;
    struct rlimit stack;
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (shared == MAP_FAILED)
        return sbx__refuse(r, SBX_STEP_MEMORY, errno, "no memory for a result of %lu bytes", (unsigned long)p->ret_size);
    p->fn_stack = 8u << 20;
    if (p->cfg.stack_bytes > 0) p->fn_stack = (size_t)p->cfg.stack_bytes;
    else if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < (rlim_t)(256u << 20)) p->fn_stack = (size_t)stack.rlim_cur;
    p->fn_stack = (p->fn_stack + 2 * 65536) & ~(size_t)65535; /* whole pages, one of them the guard */
    b->shared = p->shared = (sbx__shared *)shared;
    b->shared_size = size;
    /* Not a secret, only a value that no stray write of the function produces. */
    b->token = p->token = ((unsigned long long)sbx__now() << 20 ^ (unsigned long long)(size_t)b) | 1;
    b->private_only = 1;
    return 1;
}

static sbx *sbx__prepare(sbx__plan *p, int with_cancel, int keep_input, sbx_result *r) {
    sbx *b = (sbx *)sbx__zalloc(sizeof *b);
    int i;
    p->report = p->life = p->null = p->cgroup = p->ruleset = -1;
    for (i = 0; i < 3; i++) p->fd[i] = -1;
    if (!b) {
        sbx__refuse(r, SBX_STEP_MEMORY, ENOMEM, "no memory for a box");
        return NULL;
    }
    for (i = 0; i < SBX__FDS; i++) b->fd[i] = -1;
    b->cancel_fd = -1;
    b->cfg = p->cfg;
    b->seen.exit_code = -1;
    b->peak = -1;
    b->kill_at = b->look_at = b->sample_at = SBX__NEVER;
    b->input = (const char *)p->cfg.input;
    b->input_left = p->cfg.input_size;
    if (p->fn) {
        snprintf(b->who, sizeof b->who, "the function");
    } else {
        const char *name = p->cfg.command ? "sh" : p->cfg.argv[0], *slash = strrchr(name, '/');
        char shown[40];
        sbx__plain(shown, sizeof shown, slash && slash[1] ? slash + 1 : name);
        snprintf(b->who, sizeof b->who, "'%s'", shown);
    }
    if (!sbx__plan_program(p, r) || !sbx__plan_tree(p, b, r) || !sbx__plan_cgroup(p, b, r) ||
        !sbx__plan_policy(p, b, r) ||
        !sbx__plan_limits(p, b, r) || !sbx__plan_streams(p, b, with_cancel, r)) return b;
    if (p->fn && !sbx__plan_call(p, b, r)) return b;
    if (keep_input && b->input_left) {
        b->input_copy = (char *)SBX_REALLOC(NULL, b->input_left);
        if (!b->input_copy) {
            sbx__refuse(r, SBX_STEP_MEMORY, ENOMEM, "no memory to keep %lu bytes of input", (unsigned long)b->input_left);
            return b;
        }
        memcpy(b->input_copy, b->input, b->input_left);
        b->input = b->input_copy;
    }
    return b;
}

static void sbx__plan_free(sbx__plan *p) {
    int i;
    for (i = 0; i < 3; i++) sbx__close(&p->fd[i]);
    sbx__close(&p->report);
    sbx__close(&p->cgroup);
    sbx__plan_policy_free(p);
    SBX_FREE(p->memory);
    p->memory = NULL;
}

static void sbx__box_free(sbx *b) {
    int i;
    if (!b) return;
    sbx__end_init(b);
    sbx__end_cgroup(b);
    if (b->cancel_fd != b->fd[SBX__CANCEL]) sbx__close(&b->cancel_fd);
    for (i = 0; i < SBX__FDS; i++) sbx__close(&b->fd[i]);
    for (i = 0; i < 2; i++) SBX_FREE(b->output[i].data);
    if (b->shared) munmap(b->shared, b->shared_size);
    SBX_FREE(b->tasks.at);
    SBX_FREE(b->input_copy);
    SBX_FREE(b);
}

/* ==== child: between fork and exec. Async-signal-safe calls only, no memory, no locks ========= */

/* Ends this process only. On Linux not by _exit, before which sanitizers look at the stack. */
static void sbx__quit(int code) {
#if SBX__LINUX
    syscall(SYS_exit_group, code);
#else
    _exit(code);
#endif
}

static void sbx__quit_with(int report, sbx_step step, int which) {
    sbx__failure failure;
    failure.step = step;
    failure.error = errno;
    failure.which = which;
    sbx__quit(write(report, &failure, sizeof failure) == (ssize_t)sizeof failure ? 127 : 126);
}

#if SBX__LINUX
/* Where close_range is missing: the bare system call lists the descriptors, opendir would allocate. */
static int sbx__close_listed(int from) {
    char list[2048];
    int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY), closed;
    if (dir < 0) return 0;
    do { /* closing while listing may skip some: go round until nothing is left */
        long n, at;
        closed = 0;
        lseek(dir, 0, SEEK_SET);
        while ((n = syscall(SYS_getdents64, dir, list, sizeof list)) > 0) {
            unsigned short size;
            for (at = 0; at < n; at += size) {
                const char *c = list + at + 19;   /* struct linux_dirent64: d_name */
                int fd = 0;
                memcpy(&size, list + at + 16, 2); /* d_reclen */
                for (; *c >= '0' && *c <= '9'; c++) fd = fd * 10 + (*c - '0');
                if (*c || fd < from || fd == dir) continue;
                close(fd);
                closed = 1;
            }
        }
    } while (closed);
    close(dir);
    return 1;
}

/* The parent sleeps until exec, so it cannot enforce the deadline on an exec that hangs. A timer
   of the child's own can: the kernel deletes it when the program starts. */
static void sbx__arm_deadline(long long deadline) {
#if defined(SYS_timer_settime) && !(defined(__x86_64__) && defined(__ILP32__))
    struct sigevent event;
    long when[4]; /* struct itimerspec as this system call has it on 32 and 64 bits */
    int id;
    if (deadline == SBX__NEVER) return;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    when[0] = when[1] = 0;
    when[2] = (long)(deadline / SBX__SECOND);
    when[3] = (long)(deadline % SBX__SECOND) * 1000;
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id) == 0)
        syscall(SYS_timer_settime, id, TIMER_ABSTIME, when, NULL);
#else
    (void)deadline;
#endif
}
#endif

static void sbx__close_from(int from, int top) {
#if SBX__LINUX
    if (syscall(SYS_close_range, (unsigned)from, ~0u, 0) == 0 || sbx__close_listed(from)) return;
#endif
    while (from <= top) close(from++);
}

/* exec resets handlers but keeps ignored signals ignored. All of them go back to the default
   before any is unblocked: until exec this process may share its memory with the host. */
static void sbx__reset_signals(void) {
    int i;
    sigset_t none;
#if SBX__LINUX
    char zero[64]; /* struct sigaction of any architecture: SIG_DFL, no flags, no mask */
    memset(zero, 0, sizeof zero);
    for (i = 1; i <= SBX__SIGNALS; i++) syscall(SYS_rt_sigaction, i, zero, NULL, SBX__SIGNALS / 8L);
#else
    struct sigaction standard;
    memset(&standard, 0, sizeof standard);
    standard.sa_handler = SIG_DFL;
    for (i = 1; i < NSIG; i++) sigaction(i, &standard, NULL);
#endif
    sigemptyset(&none);
    SBX__SIGMASK(SIG_SETMASK, &none, NULL);
}

static sbx_step sbx__become(const sbx__plan *p, int *report, int *which) {
    int i;
    if (setsid() < 0) return SBX_STEP_SESSION;
    for (i = 0; i < 3; i++) { /* every source is above 2, so no dup2 overwrites another's */
        int from = i == 2 && p->cfg.err == SBX_MERGE ? 1 : p->fd[i];
        if (from >= 0 ? dup2(from, i) < 0 : fcntl(i, F_SETFD, 0) < 0) return SBX_STEP_IO;
    }
    if (*report != 3 && dup2(*report, 3) < 0) return SBX_STEP_IO;
    *report = 3;
    if (fcntl(3, F_SETFD, FD_CLOEXEC) < 0) return SBX_STEP_IO;
    if (p->ruleset >= 0 && dup2(p->ruleset, 4) < 0) return SBX_STEP_IO; /* never below 5 */
    sbx__close_from(p->ruleset >= 0 ? 5 : 4, p->top_fd);
    if (p->cwd && chdir(p->cwd) != 0) return SBX_STEP_CWD;
    for (i = 0; i < p->limit_count; i++) {
        *which = p->limits[i].which;
        if (setrlimit(SBX__RLIMIT(*which), &p->limits[i].value) != 0) return SBX_STEP_LIMITS;
    }
    sbx__reset_signals();
    return SBX_STEP_NONE;
}

static sbx_step sbx__exec(const sbx__plan *p) {
    struct timespec pause_time;
    int tries;
    pause_time.tv_sec = 0;
    pause_time.tv_nsec = 1000000;
    for (tries = 0; tries < 200; tries++) { /* a writer that just closes it is worth a moment */
        execve(p->path, (char *const *)p->argv, p->envp);
        if (errno != ETXTBSY) break;
        nanosleep(&pause_time, NULL);
    }
    return SBX_STEP_EXEC;
}

#if SBX__LINUX
/* A view of its own: a /proc that shows the numbers the tree itself knows (refused in some
   containers; without a policy the host's then stays visible, which contains no less), and under a
   policy everything but the writable trees read-only: Landlock does not guard modes, owners and times. */
static int sbx__own_view(const sbx__plan *p, int *which) {
    unsigned long long read_only[4] = {1, 0, 0, 0}; /* struct mount_attr: MOUNT_ATTR_RDONLY */
    unsigned caps[8];                               /* struct __user_cap_header_struct, 2 x data */
    const sbx_policy *policy = p->cfg.policy;
    struct stat st;
    int i, ok = syscall(SYS_unshare, SBX__CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0;
    *which = 5;
    if (ok) ok = mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0 || (policy && policy->no_system);
    if (policy && !ok) return 0;
    for (i = 0; policy && i < p->writable_count; i++) {
        sbx__writable *w = &p->writable[i];
        int fd = open(w->path, SBX__O_PATH | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) != 0) return 0;
        if (st.st_dev != w->device || st.st_ino != w->inode) return (errno = ESTALE), 0; /* swapped meanwhile */
        w->tree = (int)syscall(SBX__NR_OPEN_TREE, fd, "", SBX__AT_EMPTY_PATH | SBX__AT_RECURSIVE | O_CLOEXEC | 1);
        if (w->tree < 0) return 0;
    }
    if (policy && syscall(SBX__NR_MOUNT_SETATTR, AT_FDCWD, "/", SBX__AT_RECURSIVE, read_only, sizeof read_only) != 0) return 0;
    for (i = 0; policy && i < p->writable_count; i++)
        if (syscall(SBX__NR_MOVE_MOUNT, p->writable[i].tree, "", AT_FDCWD, p->writable[i].path, 4) != 0) return 0;
    if (p->user_ns && getuid() != 0) { /* what made the namespaces goes; exec would drop it too */
        memset(caps, 0, sizeof caps);
        caps[0] = SBX__CAP_VERSION;
        syscall(SYS_capset, caps, caps + 2);
    }
    return 1;
}

/* The filter's own descriptor, for the host to hear of forbidden calls. */
static int sbx__send_fd(int report, int fd) {
    union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } control;
    sbx__failure nothing;
    struct msghdr message;
    struct iovec data;
    memset(&nothing, 0, sizeof nothing);
    memset(&message, 0, sizeof message);
    memset(&control, 0, sizeof control);
    data.iov_base = &nothing;
    data.iov_len = sizeof nothing;
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.room;
    message.msg_controllen = sizeof control.room;
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    return sendmsg(report, &message, MSG_NOSIGNAL) == (ssize_t)sizeof nothing;
}

/* The last step, since it forbids the others: privileges, then files, then system calls. */
static sbx_step sbx__confine(const sbx__plan *p, int *which) {
    struct { unsigned short size; const sbx__insn *at; } program; /* struct sock_fprog */
    struct { unsigned access[2]; int fd; } proc;
    unsigned caps[8];
    long listener;
    int i;
    *which = 1;
    for (i = 0; geteuid() == 0 && i < 64; i++)
        if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0 && errno != EINVAL) return SBX_STEP_POLICY;
    memset(caps, 0, sizeof caps);
    caps[0] = SBX__CAP_VERSION;
    if (syscall(SYS_capset, caps, caps + 2) != 0) return SBX_STEP_POLICY;
    *which = 2;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return SBX_STEP_POLICY;
    *which = 3;
    if (!p->cfg.policy->no_system) { /* its own /proc did not exist when the host made the rules */
        proc.access[0] = SBX__READ_TREE_BITS;
        proc.access[1] = 0;
        proc.fd = open("/proc", SBX__O_PATH | O_CLOEXEC);
        if (proc.fd < 0 || syscall(SBX__NR_LANDLOCK_ADD_RULE, 4, 1, &proc, 0) != 0) return SBX_STEP_POLICY;
        close(proc.fd);
    }
    if (syscall(SBX__NR_LANDLOCK_RESTRICT_SELF, 4, 0) != 0) return SBX_STEP_POLICY;
    close(4);
    *which = 4;
    program.size = (unsigned short)p->filter_size;
    program.at = p->filter;
    listener = syscall(SYS_seccomp, 1, p->cfg.policy->kill_on_denied ? 8 : 0, &program);
    if (listener < 0 || (p->cfg.policy->kill_on_denied && !sbx__send_fd(3, (int)listener))) return SBX_STEP_POLICY;
    if (p->cfg.policy->kill_on_denied) close((int)listener);
    return SBX_STEP_NONE;
}
#endif

static int sbx__call_child(const sbx__plan *p);

static int sbx__child(void *arg) {
    const sbx__plan *p = (const sbx__plan *)arg;
    int report = p->report, which = 0;
    sbx_step failed;
#if SBX__LINUX
    if (!p->fn) sbx__arm_deadline(p->deadline);
    if (p->tree && !sbx__own_view(p, &which)) sbx__quit_with(report, SBX_STEP_POLICY, which);
#endif
    if (p->cgroup >= 0 && write(p->cgroup, "0", 1) != 1) sbx__quit_with(report, SBX_STEP_CGROUP, 0);
    failed = sbx__become(p, &report, &which);
#if SBX__LINUX
    if (!failed && p->cfg.policy) failed = sbx__confine(p, &which);
#endif
    if (!failed && p->fn) sbx__quit(sbx__call_child(p));
    if (!failed) failed = sbx__exec(p);
    sbx__quit_with(report, failed, which);
    return 0;
}

/* ==== tree: a PID namespace that dies as a whole (Linux) ====================================== */

#if SBX__LINUX

/* Reads /proc/PID/NAME as text; 0 if the process is gone. */
static size_t sbx__proc_read(const char *proc, int pid, const char *name, char *text, size_t room) {
    char path[96];
    ssize_t n;
    int fd;
    snprintf(path, sizeof path, "%s/%d/%s", proc, pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    do n = read(fd, text, room - 1);
    while (n < 0 && errno == EINTR);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

static long long sbx__proc_number(const char *text, const char *label) {
    const char *at = strstr(text, label);
    return at ? strtoll(at + strlen(label), NULL, 10) : 0;
}

static int sbx__can_watch(void) {
    char text[64];
    return sbx__proc_read("/proc", (int)getpid(), "stat", text, sizeof text) > 0;
}

/* pid (name) state parent group session tty tpgid flags 4x faults utime stime cutime cstime ... */
static int sbx__proc_stat(const char *proc, int pid, sbx__task *t) {
    char text[1024], *at;
    long long field[15];
    int i;
    if (!sbx__proc_read(proc, pid, "stat", text, sizeof text)) return 0;
    at = strrchr(text, ')'); /* the name may hold anything, a parenthesis too */
    if (!at || !at[1] || !at[2]) return 0;
    at += 3;
    for (i = 0; i < 14; i++) field[i] = strtoll(at, &at, 10);
    t->pid = pid;
    t->parent = (int)field[0];
    t->session = (int)field[2];
    t->cpu = field[10] + field[11];
    t->reaped = field[12] + field[13];
    t->member = 0;
    t->credit = 0;
    return 1;
}

static int sbx__put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC), ok = fd >= 0 && write(fd, text, strlen(text)) > 0;
    if (fd >= 0) close(fd);
    return ok;
}

/* The program has the same user, but no capability: one of our own keeps its hands off pid 1. */
static void sbx__keep_out(void) {
    unsigned caps[8];
    memset(caps, 0, sizeof caps);
    caps[0] = SBX__CAP_VERSION;
    caps[2] = caps[3] = caps[4] = 1u << SBX__CAP_SYS_PTRACE; /* effective, permitted, inheritable */
    if (syscall(SYS_capset, caps, caps + 2) == 0) prctl(SBX__PR_CAP_AMBIENT, 2, SBX__CAP_SYS_PTRACE, 0, 0);
}

/* pid 1 of the tree waits at a pipe from the host. When the host closes it, or dies, pid 1 ends
   and the kernel kills everything in its namespace. It is the system's own cat: pid 1 must not
   share the host's memory, and forking the host costs what the host weighs. */
static int sbx__init_child(void *arg) {
    const sbx__plan *p = (const sbx__plan *)arg;
    static const char *const cat[] = {"cat", NULL}; /* no arguments, and an empty environment */
    struct sigaction ignore;
    int report = p->report, ok = 1;
    char byte;
    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    if (p->user_ns) {
        sbx__put("/proc/self/setgroups", "deny");
        ok = sbx__put("/proc/self/uid_map", p->uid_map) && sbx__put("/proc/self/gid_map", p->gid_map);
    }
    ok = ok && setsid() > 0 && dup2(p->life, 0) == 0 && dup2(p->null, 1) == 1 && dup2(p->null, 2) == 2 &&
         dup2(report, 3) == 3;
    if (ok) report = 3;
    ok = ok && fcntl(3, F_SETFD, FD_CLOEXEC) == 0 && chdir("/") == 0; /* keeps no directory busy */
    if (!ok) sbx__quit_with(report, SBX_STEP_CONTAIN, 0);
    sbx__close_from(4, p->top_fd);
    sbx__reset_signals();
    sigaction(SIGCHLD, &ignore, NULL); /* orphans that end here are collected by the kernel */
    if (p->user_ns) sbx__keep_out();
    if (p->init_path) {
        execve(p->init_path, (char *const *)cat, (char *const *)cat + 1);
        sbx__quit_with(report, SBX_STEP_EXEC, 0);
    }
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* a copy of the host: the program must not look inside */
    close(3);
    while (read(0, &byte, 1) > 0) {
    }
    sbx__quit(0);
    return 0;
}

/* Ends the namespace and collects pid 1; nothing may be left in it that the host must collect. */
static void sbx__end_init(sbx *b) {
    sbx__close(&b->fd[SBX__LIFE]);
    if (b->init > 0) {
        syscall(SYS_pidfd_send_signal, b->fd[SBX__INIT], SIGKILL, NULL, 0);
        while (waitpid(b->init, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    sbx__close(&b->fd[SBX__INIT]);
    b->init = 0;
}

static int sbx__try_init(sbx__plan *p, sbx *b, sbx__failure *f) {
    int flags = SBX__CLONE_NEWPID | (p->user_ns ? SBX__CLONE_NEWUSER : 0) | SBX__CLONE_PIDFD | SIGCHLD;
    int told = -1, pidfd = -1;
    sigset_t all, before;
    ssize_t n = -1;
    memset(f, 0, sizeof *f);
    sigfillset(&all);
    if (sbx__pipe(&p->life, &b->fd[SBX__LIFE]) && sbx__pipe(&told, &p->report) &&
        (p->null = sbx__above_stdio(open("/dev/null", O_RDWR | O_CLOEXEC))) >= 0) {
        if (p->init_path) flags |= SBX__CLONE_VM | SBX__CLONE_VFORK;
        SBX__SIGMASK(SIG_SETMASK, &all, &before);
        b->init = clone(sbx__init_child, p->memory + SBX__STACK, flags, p, &pidfd);
        f->error = errno;
        SBX__SIGMASK(SIG_SETMASK, &before, NULL);
        b->fd[SBX__INIT] = p->init_fd = sbx__above_stdio(pidfd);
    } else {
        f->error = errno;
        b->init = -1;
    }
    sbx__close(&p->life);
    sbx__close(&p->null);
    sbx__close(&p->report);
    while (b->init > 0 && (n = read(told, f, sizeof *f)) < 0 && errno == EINTR) {
    }
    sbx__close(&told);
    if (b->init > 0 && n == 0 && b->fd[SBX__INIT] >= 0) return 1;
    sbx__end_init(b);
    return 0;
}

static int sbx__start_init(sbx__plan *p, sbx *b) {
    sbx__failure f;
    int tries;
    p->user_ns = geteuid() != 0; /* root needs none, so that its ids stay what they are */
    p->init_path = access("/bin/cat", X_OK) == 0 ? "/bin/cat" : access("/usr/bin/cat", X_OK) == 0 ? "/usr/bin/cat" : NULL;
    snprintf(p->uid_map, sizeof p->uid_map, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(p->gid_map, sizeof p->gid_map, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    for (tries = 0; tries < 4; tries++) {
        if (sbx__try_init(p, b, &f)) return 1;
        if (f.step == SBX_STEP_EXEC) p->init_path = NULL;
        else if (!p->user_ns) p->user_ns = 1;
        else break;
    }
    errno = f.error ? f.error : EPERM;
    return 0;
}

/* Between host and program: enters the namespaces and makes the program there, as a child of the
   host. A program shares the host's memory until exec; a function takes over the copy that this
   process is, and needs a stack as large as it is used to. */
static int sbx__enter_child(void *arg) {
    sbx__plan *p = (sbx__plan *)arg;
    int flags = SBX__CLONE_VM | SBX__CLONE_PARENT | (p->fn ? 0 : SBX__CLONE_VFORK) | SIGCHLD;
    char *stack = p->memory + 2 * SBX__STACK;
    pid_t pid = -1;
    if (p->fn) {
        stack = (char *)mmap(NULL, p->fn_stack, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (stack == MAP_FAILED) sbx__quit_with(p->report, SBX_STEP_MEMORY, 0);
        mprotect(stack, 4096, PROT_NONE);
        stack += p->fn_stack;
    }
    if (syscall(SYS_setns, p->init_fd, SBX__CLONE_NEWPID | (p->user_ns ? SBX__CLONE_NEWUSER : 0)) == 0)
        pid = clone(sbx__child, stack, flags, p);
    if (pid < 0) sbx__quit_with(p->report, SBX_STEP_CONTAIN, 0);
    *p->born = pid;
    sbx__quit(0);
    return 0;
}

/* Grandchildren that clone(CLONE_PARENT) made children of the host keep the namespace alive as
   zombies until the host collects them. They are told by their namespace, not by their number. */
static void sbx__collect_strays(const sbx *b) {
    char path[64], ours[64], theirs[64];
    struct dirent *e;
    ssize_t n;
    DIR *dir;
    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)b->init);
    n = readlink(path, ours, sizeof ours);
    dir = n > 0 ? opendir("/proc") : NULL;
    while (dir && (e = readdir(dir)) != NULL) {
        int pid = atoi(e->d_name);
        sbx__task t;
        if (pid <= 0 || pid == (int)b->init || !sbx__proc_stat("/proc", pid, &t) || t.parent != (int)getpid()) continue;
        snprintf(path, sizeof path, "/proc/%d/ns/pid", pid);
        if (readlink(path, theirs, sizeof theirs) == n && memcmp(ours, theirs, (size_t)n) == 0)
            waitpid((pid_t)pid, NULL, WNOHANG | SBX__WALL);
    }
    if (dir) closedir(dir);
}

#else
static int sbx__start_init(sbx__plan *p, sbx *b) {
    (void)p, (void)b;
    errno = ENOSYS;
    return 0;
}
static void sbx__end_init(sbx *b) { (void)b; }
static int sbx__can_watch(void) { return 0; }
static void sbx__collect_strays(const sbx *b) { (void)b; }
#endif

/* ==== cgroup: exact limits and counts, where the host was given a directory (Linux) =========== */

#if SBX__LINUX

static int sbx__cgroup_put(const char *group, const char *file, const char *text) {
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", group, file) < (int)sizeof path && sbx__put(path, text);
}

/* The number behind a label in a file of the box's group; -1 if there is none. */
static long long sbx__cgroup_get(const sbx *b, const char *file, const char *label) {
    char path[PATH_MAX], text[1024];
    const char *at;
    ssize_t n;
    int fd;
    snprintf(path, sizeof path, "%s/%s", b->cgroup, file);
    if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0) return -1;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    at = strstr(text, label);
    return at && n > 0 ? strtoll(at + strlen(label), NULL, 10) : -1;
}

static int sbx__plan_cgroup(sbx__plan *p, sbx *b, sbx_result *r) {
    const sbx_config *cfg = &p->cfg;
    const char *file = "a new group";
    char shown[100], number[32];
    size_t room;
    if (!cfg->cgroup) return 1;
    sbx__plain(shown, sizeof shown, cfg->cgroup);
    room = strlen(cfg->cgroup) + 64;
    if (room + 32 > PATH_MAX || !(b->cgroup = (char *)SBX_REALLOC(NULL, room)))
        return sbx__refuse(r, SBX_STEP_MEMORY, ENOMEM, "no memory for a cgroup in \"%s\"", shown);
    /* Fails, harmlessly, where it was done already or somebody else has to do it. */
    sbx__cgroup_put(cfg->cgroup, "cgroup.subtree_control", "+memory");
    sbx__cgroup_put(cfg->cgroup, "cgroup.subtree_control", "+pids");
    snprintf(b->cgroup, room, "%s/cgroup.procs", cfg->cgroup); /* only a cgroup has that */
    if (access(b->cgroup, F_OK) != 0) goto fail;
    snprintf(b->cgroup, room, "%s/sbx-%d-%llx", cfg->cgroup, (int)getpid(), (unsigned long long)(size_t)b ^ (unsigned long long)sbx__now() << 16);
    if (mkdir(b->cgroup, 0755) != 0) goto fail;
    if (cfg->memory_bytes >= 0) {
        snprintf(number, sizeof number, "%lld", cfg->memory_bytes);
        if (!sbx__cgroup_put(b->cgroup, file = "memory.max", number)) goto fail;
        sbx__cgroup_put(b->cgroup, "memory.swap.max", "0"); /* where swap is counted at all */
        sbx__cgroup_put(b->cgroup, "memory.oom.group", "1");
    }
    if (cfg->processes >= 0) {
        snprintf(number, sizeof number, "%lld", cfg->processes);
        if (!sbx__cgroup_put(b->cgroup, file = "pids.max", number)) goto fail;
    }
    file = "cgroup.procs";
    {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/cgroup.procs", b->cgroup);
        if ((p->cgroup = sbx__above_stdio(open(path, O_WRONLY | O_CLOEXEC))) < 0) goto fail;
    }
    b->enforced |= SBX_BY_CGROUP;
    return 1;
fail:
    return sbx__refuse(r, SBX_STEP_CGROUP, errno, "cgroup = \"%s\": %s cannot be had: %s", shown, file, strerror(errno));
}

static void sbx__read_cgroup(sbx *b) {
    long long cpu = sbx__cgroup_get(b, "cpu.stat", "usage_usec "), peak = sbx__cgroup_get(b, "memory.peak", "");
    if (peak < 0) peak = sbx__cgroup_get(b, "memory.current", "");
    if (cpu > b->cpu_us) b->cpu_us = cpu;
    if (peak > b->peak) b->peak = peak;
    if (sbx__cgroup_get(b, "memory.events", "oom_kill ") > 0) b->seen.saw |= SBX_SAW_OOM_KILL;
}

/* 1 = the group is empty and removed. */
static int sbx__leave_cgroup(sbx *b) {
    sbx__cgroup_put(b->cgroup, "cgroup.kill", "1");
    sbx__read_cgroup(b);
    return rmdir(b->cgroup) == 0 || errno == ENOENT;
}

static void sbx__end_cgroup(sbx *b) {
    if (b->cgroup) rmdir(b->cgroup);
    SBX_FREE(b->cgroup);
    b->cgroup = NULL;
}

#else
static int sbx__plan_cgroup(sbx__plan *p, sbx *b, sbx_result *r) { return (void)p, (void)b, (void)r, 1; }
static void sbx__end_cgroup(sbx *b) { (void)b; }
static int sbx__leave_cgroup(sbx *b) { return (void)b, 1; }
#endif

static void sbx__stop(sbx *b, unsigned reason);

/* ==== policy: files by Landlock and mounts, system calls by a filter (Linux) ================== */

#if SBX__LINUX

enum { /* LANDLOCK_ACCESS_FS_... */
    SBX__EXECUTE = 1 << 0, SBX__WRITE_FILE = 1 << 1, SBX__READ_FILE = 1 << 2, SBX__READ_DIR = 1 << 3,
    SBX__MAKE_CHAR = 1 << 6, SBX__MAKE_BLOCK = 1 << 11, SBX__REFER = 1 << 13, SBX__TRUNCATE = 1 << 14,
    SBX__IOCTL_DEV = 1 << 15,
    SBX__READ_TREE = SBX__READ_TREE_BITS,
    SBX__ON_FILES = SBX__EXECUTE | SBX__WRITE_FILE | SBX__READ_FILE | SBX__TRUNCATE | SBX__IOCTL_DEV
};

/* What "the system" is: programs, libraries, and the settings that ordinary programs read. Of
   /etc only what is public, because a host that is root may read all of it. /proc is the tree's own. */
static const char *const sbx__system[] = {
    "/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32", "/opt", "/nix/store", "/gnu/store",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
    "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/resolv.conf",
    "/etc/services", "/etc/protocols", "/etc/localtime", "/etc/timezone", "/etc/locale.alias", "/etc/locale.conf",
    "/etc/os-release", "/etc/mime.types", "/etc/magic", "/etc/terminfo", "/etc/inputrc", "/etc/profile",
    "/etc/profile.d", "/etc/bash.bashrc", "/etc/bashrc", "/etc/gitconfig", "/etc/fonts", "/etc/perl",
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/tls/openssl.cnf",
    "/etc/python3", "/etc/python3.11", "/etc/python3.12", "/etc/python3.13", "/etc/java-8-openjdk",
    "/etc/java-11-openjdk", "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/java-25-openjdk", "/etc/java",
    "/sys/devices/system/cpu", "/sys/kernel/mm/transparent_hugepage", NULL};
static const char *const sbx__devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", NULL};

/* The filter: one row a check; what no row names is allowed. Rows of one call must all pass. */
enum { SBX__NEVER_ALLOWED, SBX__UNKNOWN, SBX__ONLY, SBX__NOT, SBX__ALL_OF, SBX__NONE_OF };
enum { SBX__ALWAYS, SBX__NO_NETWORK, SBX__NETWORK, SBX__NO_SPAWN, SBX__OLD_LANDLOCK };

typedef struct sbx__rule {
    int number;
    const char *name;
    unsigned char check, when, arg; /* which argument ... */
    unsigned mask, value[4];        /* ... after the mask is (only, not, all of, none of) these */
} sbx__rule;

#define SBX__DENY(call) {SYS_##call, #call, SBX__NEVER_ALLOWED, SBX__ALWAYS, 0, 0, {0, 0, 0, 0}}
#define SBX__DENY_NR(number, name) {number, name, SBX__NEVER_ALLOWED, SBX__ALWAYS, 0, 0, {0, 0, 0, 0}}
#define SBX__DENY_IF(call, when) {SYS_##call, #call, SBX__NEVER_ALLOWED, when, 0, 0, {0, 0, 0, 0}}
#define SBX__HIDE_NR(number, name) {number, name, SBX__UNKNOWN, SBX__ALWAYS, 0, 0, {0, 0, 0, 0}}
#define SBX__CHECK(call, check, when, arg, mask, a, b, c, d) {SYS_##call, #call, check, when, arg, mask, {a, b, c, d}}

static const sbx__rule sbx__rules[] = {
    /* Would go round the filter, and runtimes do without: they hear that it does not exist. */
    SBX__HIDE_NR(425, "io_uring_setup"), SBX__HIDE_NR(426, "io_uring_enter"), SBX__HIDE_NR(427, "io_uring_register"),
    SBX__HIDE_NR(435, "clone3"), /* its flags are in memory, where a filter cannot look */
    /* Memory that no limit counts: it belongs to no process once unmapped. */
    {SYS_memfd_create, "memfd_create", SBX__UNKNOWN, SBX__ALWAYS, 0, 0, {0, 0, 0, 0}}, SBX__HIDE_NR(447, "memfd_secret"),
    /* Other processes' memory and descriptors. */
    SBX__DENY(ptrace), SBX__DENY(process_vm_readv), SBX__DENY(process_vm_writev), SBX__DENY(kcmp),
    SBX__DENY_NR(438, "pidfd_getfd"), SBX__DENY_NR(440, "process_madvise"), SBX__DENY(userfaultfd),
    /* Files by handle instead of by path. */
    SBX__DENY(name_to_handle_at), SBX__DENY(open_by_handle_at), SBX__DENY(fanotify_init),
    /* Namespaces, mounts, roots. */
    SBX__DENY(unshare), SBX__DENY(setns), SBX__DENY(mount), SBX__DENY(umount2), SBX__DENY(pivot_root),
    SBX__DENY(chroot), SBX__DENY_NR(428, "open_tree"), SBX__DENY_NR(429, "move_mount"), SBX__DENY_NR(430, "fsopen"),
    SBX__DENY_NR(431, "fsconfig"), SBX__DENY_NR(432, "fsmount"), SBX__DENY_NR(433, "fspick"),
    SBX__DENY_NR(442, "mount_setattr"), SBX__DENY_NR(467, "open_tree_attr"),
    /* CLONE_NEW..., and CLONE_PARENT: a child of the host that the host does not know. */
    SBX__CHECK(clone, SBX__NONE_OF, SBX__ALWAYS, 0, 0, 0x7E028000u, 0, 0, 0),
    SBX__CHECK(clone, SBX__ALL_OF, SBX__NO_SPAWN, 0, 0, 0x00010000u, 0, 0, 0), /* CLONE_THREAD */
    /* Kernel interfaces with a history. */
    SBX__DENY(bpf), SBX__DENY(perf_event_open), SBX__DENY(add_key), SBX__DENY(request_key), SBX__DENY(keyctl),
    SBX__CHECK(personality, SBX__ONLY, SBX__ALWAYS, 0, 0, 0xFFFFFFFFu, 0, 0, 0),
    /* The machine. */
    SBX__DENY(init_module), SBX__DENY(finit_module), SBX__DENY(delete_module), SBX__DENY(kexec_load),
    SBX__DENY(reboot), SBX__DENY(swapon), SBX__DENY(swapoff), SBX__DENY(acct), SBX__DENY(quotactl),
    SBX__DENY_NR(443, "quotactl_fd"), SBX__DENY(settimeofday), SBX__DENY(clock_settime), SBX__DENY(clock_adjtime),
    SBX__DENY(adjtimex), SBX__DENY(sethostname), SBX__DENY(setdomainname), SBX__DENY(syslog), SBX__DENY(vhangup),
    /* Typing into a terminal, and what outlives the box: System V and POSIX queues. */
    SBX__CHECK(ioctl, SBX__NOT, SBX__ALWAYS, 1, 0, 0x5412u, 0x541Cu, 0x541Cu, 0x541Cu), /* TIOCSTI, TIOCLINUX */
    SBX__DENY(mq_open), SBX__DENY(mq_unlink),
    /* Priorities of everybody with this user id. */
    SBX__CHECK(setpriority, SBX__NOT, SBX__ALWAYS, 0, 0, 2u, 2u, 2u, 2u),
    SBX__CHECK(ioprio_set, SBX__NOT, SBX__ALWAYS, 0, 0, 3u, 3u, 3u, 3u),
    /* Network. A pair of datagram sockets could still send to any address: streams only. */
    SBX__DENY_IF(connect, SBX__NO_NETWORK), SBX__DENY_IF(bind, SBX__NO_NETWORK), SBX__DENY_IF(listen, SBX__NO_NETWORK),
    SBX__DENY_IF(socket, SBX__NO_NETWORK),
    SBX__CHECK(socketpair, SBX__ONLY, SBX__NO_NETWORK, 0, 0, 1u, 1u, 1u, 1u),     /* AF_UNIX */
    SBX__CHECK(socketpair, SBX__ONLY, SBX__NO_NETWORK, 1, 0xFu, 1u, 5u, 5u, 5u), /* SOCK_STREAM, SOCK_SEQPACKET */
    SBX__CHECK(socket, SBX__ONLY, SBX__NETWORK, 0, 0, 1u, 2u, 10u, 16u), /* unix, IPv4, IPv6, netlink */
    SBX__DENY_IF(truncate, SBX__OLD_LANDLOCK),
#if !defined(__i386__)
    SBX__DENY(shmget), SBX__DENY(shmat), SBX__DENY(shmctl), SBX__DENY(msgget), SBX__DENY(msgctl), SBX__DENY(semget),
    SBX__DENY(semctl),
#else
    SBX__DENY(ipc), SBX__DENY_IF(socketcall, SBX__NO_NETWORK), /* their arguments are in memory */
    SBX__DENY(vm86), SBX__DENY(vm86old), SBX__DENY(stime), SBX__DENY(umount), SBX__DENY_NR(404, "clock_settime64"),
    SBX__DENY_NR(405, "clock_adjtime64"), SBX__DENY_IF(truncate64, SBX__OLD_LANDLOCK),
#endif
#if defined(__x86_64__) || defined(__i386__)
    SBX__DENY(iopl), SBX__DENY(ioperm), SBX__DENY(modify_ldt), SBX__DENY(uselib), SBX__DENY(ustat), SBX__DENY(sysfs),
    SBX__DENY(_sysctl), SBX__DENY(nfsservctl), SBX__DENY(create_module), SBX__DENY(lookup_dcookie),
#endif
#if defined(__x86_64__)
    SBX__DENY(kexec_file_load),
#endif
#if !defined(__aarch64__) && !defined(__riscv)
    SBX__DENY_IF(fork, SBX__NO_SPAWN), SBX__DENY_IF(vfork, SBX__NO_SPAWN),
#endif
};
#define SBX__RULES ((int)(sizeof sbx__rules / sizeof sbx__rules[0]))
#define SBX__FILTER_MOST 600

enum { SBX__LOAD = 0x20, SBX__AND = 0x54, SBX__JEQ = 0x15, SBX__JGE = 0x35, SBX__JSET = 0x45, SBX__RET = 0x06 };
#define SBX__RET_ALLOW 0x7FFF0000u
#define SBX__RET_ERRNO 0x00050000u
#define SBX__RET_NOTIFY 0x7FC00000u

static void sbx__emit(sbx__plan *p, int code, unsigned k, int yes, int no) {
    sbx__insn *i = &p->filter[p->filter_size++];
    i->code = (unsigned short)code;
    i->k = k;
    i->yes = (unsigned char)yes;
    i->no = (unsigned char)no;
}

/* One row: falls through if the call passes. Arguments are compared as the kernel reads them: ints. */
static void sbx__emit_check(sbx__plan *p, const sbx__rule *rule, unsigned denied) {
    const unsigned *v = rule->value;
    if (rule->check == SBX__UNKNOWN) denied = SBX__RET_ERRNO | ENOSYS;
    if (rule->check > SBX__UNKNOWN) sbx__emit(p, SBX__LOAD, 16u + 8u * rule->arg, 0, 0);
    if (rule->mask) sbx__emit(p, SBX__AND, rule->mask, 0, 0);
    if (rule->check == SBX__ONLY || rule->check == SBX__NOT) {
        int pass = rule->check == SBX__ONLY;
        sbx__emit(p, SBX__JEQ, v[0], pass ? 4 : 3, 0); /* jumps count from the next row */
        sbx__emit(p, SBX__JEQ, v[1], pass ? 3 : 2, 0);
        sbx__emit(p, SBX__JEQ, v[2], pass ? 2 : 1, 0);
        sbx__emit(p, SBX__JEQ, v[3], pass ? 1 : 0, pass ? 0 : 1);
    }
    if (rule->check == SBX__NONE_OF) sbx__emit(p, SBX__JSET, v[0], 0, 1);
    if (rule->check == SBX__ALL_OF) sbx__emit(p, SBX__JSET, v[0], 1, 0);
    sbx__emit(p, SBX__RET, denied, 0, 0);
}

/* Rows from..to, sorted by number, as a binary tree: the kernel runs it once for every number. */
static void sbx__emit_rows(sbx__plan *p, const sbx__rule *const *rows, int from, int to, unsigned denied) {
    int mid = (from + to) / 2, at;
    while (mid > from && rows[mid]->number == rows[mid - 1]->number) mid--;
    if (to - from > 4 && mid > from) {
        at = p->filter_size;
        sbx__emit(p, SBX__JGE, (unsigned)rows[mid]->number, 0, 0);
        sbx__emit_rows(p, rows, from, mid, denied);
        p->filter[at].yes = (unsigned char)(p->filter_size - at - 1);
        sbx__emit_rows(p, rows, mid, to, denied);
        return;
    }
    while (from < to) {
        int number = rows[from]->number;
        at = p->filter_size;
        sbx__emit(p, SBX__JEQ, (unsigned)number, 0, 0);
        for (; from < to && rows[from]->number == number; from++) sbx__emit_check(p, rows[from], denied);
        if (rows[from - 1]->check > SBX__UNKNOWN) sbx__emit(p, SBX__RET, SBX__RET_ALLOW, 0, 0); /* passed */
        p->filter[at].no = (unsigned char)(p->filter_size - at - 1);
    }
    sbx__emit(p, SBX__RET, SBX__RET_ALLOW, 0, 0);
}

static void sbx__build_filter(sbx__plan *p, long landlock) {
    const sbx_policy *policy = p->cfg.policy;
    const sbx__rule *rows[sizeof sbx__rules / sizeof sbx__rules[0]];
    unsigned denied = policy->kill_on_denied ? SBX__RET_NOTIFY : SBX__RET_ERRNO | EPERM;
    int i, k, count = 0;
    for (i = 0; i < SBX__RULES; i++) {
        const sbx__rule *rule = &sbx__rules[i];
        if (rule->when == (policy->allow_network ? SBX__NO_NETWORK : SBX__NETWORK)) continue;
        if ((rule->when == SBX__NO_SPAWN && !policy->deny_spawn) || (rule->when == SBX__OLD_LANDLOCK && landlock >= 3)) continue;
        for (k = count++; k > 0 && rows[k - 1]->number > rule->number; k--) rows[k] = rows[k - 1];
        rows[k] = rule;
    }
    sbx__emit(p, SBX__LOAD, 4, 0, 0); /* the architecture: 32-bit calls have other numbers */
    sbx__emit(p, SBX__JEQ, SBX__ARCH, 1, 0);
    sbx__emit(p, SBX__RET, SBX__RET_ERRNO | ENOSYS, 0, 0);
    sbx__emit(p, SBX__LOAD, 0, 0, 0);
#ifdef __x86_64__
    sbx__emit(p, SBX__JGE, 0x40000000u, 0, 1); /* x32: the same calls once more */
    sbx__emit(p, SBX__RET, SBX__RET_ERRNO | ENOSYS, 0, 0);
#endif
    sbx__emit_rows(p, rows, 0, count, denied);
}

static const char *sbx__call_name(int number) {
    int i;
    for (i = 0; i < SBX__RULES; i++)
        if (sbx__rules[i].number == number) return sbx__rules[i].name;
    return "unnamed";
}

/* A rule for what stands at the path now: the kernel keeps the object, not the name. */
static int sbx__allow(int ruleset, const char *path, unsigned long long access_bits, struct stat *st) {
    struct { unsigned access[2]; int fd; } rule; /* packed: 8 bytes and 4 */
    int ok;
    rule.fd = open(path, SBX__O_PATH | O_CLOEXEC);
    if (rule.fd < 0) return 0;
    ok = fstat(rule.fd, st) == 0;
    if (ok && !S_ISDIR(st->st_mode)) access_bits &= SBX__ON_FILES;
    memcpy(rule.access, &access_bits, 8);
    ok = ok && syscall(SBX__NR_LANDLOCK_ADD_RULE, ruleset, 1, &rule, 0) == 0;
    close(rule.fd);
    return ok;
}

static int sbx__allow_trees(sbx__plan *p, const char *const *paths, unsigned long long bits, const char *field, sbx_result *r) {
    char shown[120];
    struct stat st;
    int i;
    for (i = 0; paths && paths[i]; i++) {
        if (sbx__allow(p->ruleset, paths[i], bits, &st)) {
            if (p->writable) {
                sbx__writable *w = &p->writable[p->writable_count];
                w->device = st.st_dev;
                w->inode = st.st_ino;
                if ((w->path = realpath(paths[i], NULL)) != NULL) p->writable_count++;
                else return sbx__refuse(r, SBX_STEP_MEMORY, errno, "no memory for the policy");
            }
            continue;
        }
        if (!field) continue; /* not every system has every tree */
        sbx__plain(shown, sizeof shown, paths[i]);
        return sbx__refuse(r, SBX_STEP_POLICY, errno, "policy.%s[%d] = \"%s\": %s", field, i, shown, strerror(errno));
    }
    return 1;
}

static int sbx__plan_policy(sbx__plan *p, sbx *b, sbx_result *r) {
    const sbx_policy *policy = p->cfg.policy;
    unsigned long long attr[3] = {0, 0, 0}, all = (1u << 13) - 1;
    struct stat st;
    long abi;
    if (!policy) return 1;
    abi = syscall(SBX__NR_LANDLOCK_CREATE_RULESET, NULL, 0, 1);
    if (abi < 1) return sbx__refuse(r, SBX_STEP_POLICY, errno, "policy needs Landlock, which this kernel has not or not switched on: %s", strerror(errno));
    if (!SBX__ARCH) return sbx__refuse(r, SBX_STEP_POLICY, ENOSYS, "policy needs a system-call filter, and there is none for this architecture");
    if (abi >= 2) all |= SBX__REFER;
    if (abi >= 3) all |= SBX__TRUNCATE;
    if (abi >= 5) all |= SBX__IOCTL_DEV;
    attr[0] = all;
    if (abi >= 4 && !policy->allow_network) attr[1] = 3;                /* TCP bind and connect */
    if (abi >= 6) attr[2] = policy->allow_network ? 2 : 3;              /* signals, abstract sockets */
    p->ruleset = (int)syscall(SBX__NR_LANDLOCK_CREATE_RULESET, attr, abi >= 6 ? 24 : abi >= 4 ? 16 : 8, 0);
    if (p->ruleset >= 0 && p->ruleset < 5) { /* the child puts others there */
        int up = fcntl(p->ruleset, F_DUPFD_CLOEXEC, 5);
        close(p->ruleset);
        p->ruleset = up;
    }
    if (p->ruleset < 0) return sbx__refuse(r, SBX_STEP_POLICY, errno, "policy: no Landlock rules: %s", strerror(errno));
    p->filter = (sbx__insn *)SBX_REALLOC(NULL, SBX__FILTER_MOST * sizeof *p->filter);
    if (!p->filter) return sbx__refuse(r, SBX_STEP_MEMORY, ENOMEM, "no memory for the policy");
    sbx__build_filter(p, abi);
    if (!p->fn && stat(p->path, &st) == 0 && S_ISREG(st.st_mode)) /* the host named it: it may run, wherever it is */
        sbx__allow(p->ruleset, p->path, SBX__READ_TREE, &st);
    if (!policy->no_system && (!sbx__allow_trees(p, sbx__system, SBX__READ_TREE, NULL, r) ||
        !sbx__allow_trees(p, sbx__devices, all & ~(unsigned long long)SBX__EXECUTE, NULL, r))) return 0;
    if (!sbx__allow_trees(p, policy->read, SBX__READ_TREE, "read", r)) return 0;
    p->writable = (sbx__writable *)sbx__zalloc((1 + sbx__count(policy->write)) * sizeof *p->writable);
    if (!p->writable) return sbx__refuse(r, SBX_STEP_MEMORY, ENOMEM, "no memory for the policy");
    if (!sbx__allow_trees(p, policy->write, all & ~(unsigned long long)(SBX__MAKE_CHAR | SBX__MAKE_BLOCK), "write", r)) return 0;
    b->enforced |= SBX_BY_LANDLOCK | SBX_BY_SECCOMP | SBX_BY_NO_NEW_PRIVS;
    return 1;
}

static void sbx__plan_policy_free(sbx__plan *p) {
    sbx__close(&p->ruleset);
    while (p->writable_count > 0) free(p->writable[--p->writable_count].path); /* from realpath */
    SBX_FREE(p->writable);
    SBX_FREE(p->filter);
    p->writable = NULL;
    p->filter = NULL;
}

/* The child asked for something forbidden, and waits for an answer that it will not get. */
static void sbx__read_notice(sbx *b) {
    struct { unsigned long long id; unsigned pid, flags; int number; unsigned arch; unsigned long long ip, args[6]; } notice;
    memset(&notice, 0, sizeof notice);
    if (syscall(SYS_ioctl, b->fd[SBX__NOTIFY], SBX__NOTIF_RECV, &notice) == 0) {
        if (!b->stopping) b->denied = notice.number;
        sbx__stop(b, SBX_SAW_DENIED);
    } else if (errno != EINTR) {
        sbx__close(&b->fd[SBX__NOTIFY]); /* nobody is left to ask */
    }
}

#else
static int sbx__plan_policy(sbx__plan *p, sbx *b, sbx_result *r) { return (void)p, (void)b, (void)r, 1; }
static void sbx__plan_policy_free(sbx__plan *p) { (void)p; }
static void sbx__read_notice(sbx *b) { (void)b; }
static const char *sbx__call_name(int number) { return (void)number, ""; }
#endif

/* ==== spawn =================================================================================== */

/* A program is started without copying the host's page tables: the child runs on a stack of its
   own in the host's memory while this thread waits. A function needs the copy: fork. All signals
   stay blocked, so that no handler of the host runs in the child. */
static pid_t sbx__fork(sbx__plan *p, int *pidfd) {
    sigset_t all, before;
    pid_t pid = -1;
    int error;
    *pidfd = -1;
    sigfillset(&all);
    SBX__SIGMASK(SIG_SETMASK, &all, &before);
#if SBX__LINUX
    if (!p->fn) {
        int flags = SBX__CLONE_VM | SBX__CLONE_VFORK;
        void *top = p->memory + SBX__STACK;
        if (p->tree) pid = clone(sbx__enter_child, top, flags, p);
        else pid = clone(sbx__child, top, flags | SBX__CLONE_PIDFD | SIGCHLD, p, pidfd);
        if (pid < 0 && errno == EINVAL) pid = clone(sbx__child, top, flags | SIGCHLD, p); /* qemu-user */
    } else
#endif
    {
        pid = fork();
#if SBX__LINUX
        if (pid == 0 && p->tree) sbx__enter_child(p);
#endif
        if (pid == 0) sbx__child(p);
    }
    error = errno;
    SBX__SIGMASK(SIG_SETMASK, &before, NULL);
    if (p->tree && pid > 0) { /* that one only opened the door */
        while (waitpid(pid, NULL, SBX__WALL) < 0 && errno == EINTR) {
        }
        pid = *p->born;
    }
#if SBX__LINUX
    if (pid > 0 && *pidfd < 0) *pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    *pidfd = sbx__above_stdio(*pidfd);
#endif
    errno = error;
    return pid;
}

static int sbx__spawn(sbx__plan *p, sbx *b, sbx_result *r) {
    struct rusage host;
    int i;
    p->top_fd = (int)sysconf(_SC_OPEN_MAX) - 1;
    b->started = sbx__now();
    b->deadline = b->cfg.timeout_ms < 0 ? SBX__NEVER : b->started + b->cfg.timeout_ms * 1000;
    p->deadline = b->deadline;
    p->born = p->fn ? &p->shared->born : &b->pid;
    b->pid = sbx__fork(p, &b->fd[SBX__EXIT]);
    if (b->pid < 0) return sbx__refuse(r, SBX_STEP_SPAWN, errno, "no new process: %s", strerror(errno));
    b->late = sbx__now() >= b->deadline;
    for (i = 0; i < 3; i++) sbx__close(&p->fd[i]);
    sbx__close(&p->report);
    for (i = 0; i < SBX__FDS; i++)
        if (b->fd[i] > b->top_fd) b->top_fd = b->fd[i];
    if (b->pid == 0) { /* it could not enter; the report says why */
        b->state = SBX__ENDED;
        return 1;
    }
    if (getrusage(RUSAGE_SELF, &host) == 0) b->host_peak = (long long)host.ru_maxrss * SBX__MAXRSS_UNIT;
#if SBX__LINUX
    if (b->fd[SBX__IN] >= 0 && b->input_left > SBX__CHUNK) fcntl(b->fd[SBX__IN], SBX__F_SETPIPE_SZ, SBX__BIG_PIPE);
    b->sample_step = SBX__SAMPLE / 8;
    b->sample_at = b->started + b->sample_step;
#endif
    if (b->fd[SBX__EXIT] < 0) b->look_at = b->started, b->look_step = 100;
    return 1;
}

static void sbx__explain(const sbx__plan *p, const sbx__failure *f, sbx_result *r) {
    char shown[120];
    struct stat st;
    const char *why = strerror(f->error);
    if (f->step == SBX_STEP_CWD) {
        sbx__plain(shown, sizeof shown, p->cfg.cwd);
        sbx__refuse(r, SBX_STEP_CWD, f->error, "cwd = \"%s\": %s", shown, why);
    } else if (f->step == SBX_STEP_EXEC) {
        int exists = stat(p->path, &st) == 0;
        sbx__plain(shown, sizeof shown, p->path);
        if (f->error == ENOENT && exists) why = "the interpreter or loader it names is missing";
        if (f->error == EACCES && exists) why = S_ISDIR(st.st_mode) ? "it is a directory" : "it may not be run";
        if (f->error == ENOEXEC) why = "neither a program for this machine nor a script with a #! line";
        if (f->error == ETXTBSY) why = "somebody has it open for writing";
        sbx__refuse(r, SBX_STEP_EXEC, f->error, "'%s' cannot be run: %s", shown, why);
    } else if (f->step == SBX_STEP_LIMITS) {
        const char *name = f->which == RLIMIT_CPU ? "cpu_ms" : f->which == RLIMIT_FSIZE ? "file_bytes" :
                           f->which == RLIMIT_NOFILE ? "open_files" : f->which == RLIMIT_STACK ? "stack_bytes" :
                           f->which == RLIMIT_NPROC ? "processes" : f->which == RLIMIT_CORE ? "no core dumps" :
                           "address_space_bytes";
        sbx__refuse(r, SBX_STEP_LIMITS, f->error, "%s cannot be set: %s", name, why);
    } else if (f->step == SBX_STEP_POLICY) {
        static const char *const what[] = {"", "dropping capabilities", "no_new_privs", "the Landlock rules",
                                           "the system-call filter", "mounts of its own"};
        sbx__refuse(r, SBX_STEP_POLICY, f->error, "policy cannot be enforced here: %s failed: %s", what[f->which % 6], why);
    } else {
        sbx__refuse(r, f->step, f->error, "%s failed in the child: %s",
                    f->step == SBX_STEP_SESSION ? "a session of its own" :
                    f->step == SBX_STEP_CONTAIN ? "entering the PID namespace" :
                    f->step == SBX_STEP_CGROUP ? "entering the cgroup" :
                    f->step == SBX_STEP_MEMORY ? "its stack" : "setting up its descriptors", why);
    }
}

/* ==== reader and writer ======================================================================= */

/* Room behind the kept bytes for one more read: doubling, at most one chunk past the cap. */
static size_t sbx__room(sbx *b, int i) {
    sbx_output *o = &b->output[i];
    size_t size = b->capacity[i];
    if (size < o->size + 2 || (b->piped_big[i] && size < o->size + SBX__CHUNK)) {
        long long left = b->cfg.output_bytes < 0 ? LLONG_MAX : b->cfg.output_bytes - b->kept;
        size_t most = (size_t)-1 / 2;
        char *data;
        if (left < (long long)(most - o->size - SBX__CHUNK - 1)) most = o->size + (size_t)left + SBX__CHUNK + 1;
        size = size ? 2 * size : 4096;
        if (b->piped_big[i] && size < o->size + SBX__CHUNK + 1) size = o->size + SBX__CHUNK + 1;
        if (size > most) size = most;
        if (size > b->capacity[i] && (data = (char *)SBX_REALLOC(o->data, size)) != NULL) {
            o->data = data;
            b->capacity[i] = size;
        }
    }
    return b->capacity[i] ? b->capacity[i] - o->size - 1 : 0;
}

/* n bytes stand behind the kept ones: keep what the cap allows, tell the callback, judge. */
static void sbx__take(sbx *b, int i, size_t n, size_t room) {
    sbx_output *o = &b->output[i];
    const char *fresh = o->data + o->size;
    size_t keep = room ? n : 0;
    if (b->cfg.output_bytes >= 0 && (long long)keep > b->cfg.output_bytes - b->kept)
        keep = (size_t)(b->cfg.output_bytes - b->kept);
    o->total += n;
    if (keep) {
        o->size += keep;
        b->kept += (long long)keep;
        if (b->cfg.on_output && !(b->seen.saw & SBX_SAW_CANCEL) &&
            b->cfg.on_output(b->cfg.user, i ? SBX_STDERR : SBX_STDOUT, fresh, keep) != 0)
            sbx__stop(b, SBX_SAW_CANCEL);
    }
    if (keep == n) return;
    o->truncated = 1;
    if (!room) b->failure.error = ENOMEM;
    if (!b->cfg.truncate_output) sbx__stop(b, SBX_SAW_OUTPUT_CAP);
}

/* Reads what is there, at most about one full pipe, so that no stream starves the other. */
static void sbx__read(sbx *b, int k) {
    char spare[512];
    int i = k - SBX__OUT;
    size_t budget = SBX__BIG_PIPE;
    while (b->fd[k] >= 0 && budget > 0) {
        size_t room = sbx__room(b, i), want = room ? room : sizeof spare;
        ssize_t n;
        if (want > budget) want = budget;
        n = read(b->fd[k], room ? b->output[i].data + b->output[i].size : spare, want);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) {
            sbx__close(&b->fd[k]);
            if (b->look_at != SBX__NEVER) b->look_at = 0, b->look_step = 50; /* its end is near */
            return;
        }
        sbx__take(b, i, (size_t)n, room);
        budget -= (size_t)n;
#if SBX__LINUX
        if (!b->piped_big[i] && b->output[i].total >= SBX__CHUNK) { /* busy: fewer, larger reads */
            fcntl(b->fd[k], SBX__F_SETPIPE_SZ, SBX__BIG_PIPE);
            b->piped_big[i] = 1;
        }
#endif
        if ((size_t)n < want) return; /* that was all */
    }
}

/* write() to a pipe nobody reads raises SIGPIPE: held back for this thread, and taken away again. */
static ssize_t sbx__write_quietly(int fd, const void *data, size_t size) {
    sigset_t pipe_only, before, pending;
    ssize_t n;
    int error, was_pending, number;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    SBX__SIGMASK(SIG_BLOCK, &pipe_only, &before);
    sigpending(&pending);
    was_pending = sigismember(&pending, SIGPIPE);
    do n = write(fd, data, size);
    while (n < 0 && errno == EINTR);
    error = errno;
    if (n < 0 && error == EPIPE && !was_pending) {
        sigpending(&pending);
        if (sigismember(&pending, SIGPIPE)) sigwait(&pipe_only, &number);
    }
    SBX__SIGMASK(SIG_SETMASK, &before, NULL);
    errno = error;
    return n;
}

static void sbx__feed(sbx *b) {
    ssize_t n = 0;
    b->want_write = 0;
    if (b->cfg.in == SBX_PIPE || b->fd[SBX__IN] < 0) return;
    if (b->input_left > 0) {
        n = sbx__write_quietly(b->fd[SBX__IN], b->input, b->input_left < SBX__BIG_PIPE ? b->input_left : SBX__BIG_PIPE);
        if (n < 0 && errno == EAGAIN) return;
        if (n < 0) b->input_left = 0; /* the child does not want the rest */
        else b->input += n, b->input_left -= (size_t)n;
    }
    if (b->input_left == 0) sbx__close(&b->fd[SBX__IN]);
}

/* ==== watch: memory and CPU time of the tree, from /proc (Linux) ============================== */

#if SBX__LINUX

/* Tasks of this user, for RLIMIT_NPROC. */
static long long sbx__user_tasks(void) {
    char text[2048];
    struct dirent *e;
    long long tasks = 0;
    DIR *dir = opendir("/proc");
    if (!dir) return 0;
    while ((e = readdir(dir)) != NULL) {
        int pid = atoi(e->d_name);
        if (pid > 0 && sbx__proc_read("/proc", pid, "status", text, sizeof text) &&
            sbx__proc_number(text, "\nUid:") == (long long)getuid()) tasks += sbx__proc_number(text, "\nThreads:");
    }
    closedir(dir);
    return tasks;
}

static sbx__task *sbx__task_of(const sbx__tasks *list, int pid) {
    int low = 0, high = list->count; /* /proc lists them in rising order */
    while (low < high) {
        int mid = low + (high - low) / 2;
        if (list->at[mid].pid < pid) low = mid + 1;
        else high = mid;
    }
    return low < list->count && list->at[low].pid == pid ? &list->at[low] : NULL;
}

static int sbx__task_add(sbx__tasks *list, const sbx__task *t) {
    if (list->count == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 64;
        sbx__task *at = (sbx__task *)SBX_REALLOC(list->at, (size_t)capacity * sizeof *at);
        if (!at) return 0;
        list->at = at;
        list->capacity = capacity;
    }
    list->at[list->count++] = *t;
    return 1;
}

/* Where to look, and under which number the program stands there. */
static void sbx__find_proc(sbx *b) {
    struct stat host, own;
    snprintf(b->proc, sizeof b->proc, "/proc/%d/root/proc", (int)b->pid);
    if (b->init && stat("/proc", &host) == 0 && stat(b->proc, &own) == 0 && host.st_dev != own.st_dev) {
        b->self = 2; /* the first after pid 1 */
        return;
    }
    snprintf(b->proc, sizeof b->proc, "/proc");
    b->self = (int)b->pid;
}

/* Everybody in the tree's own /proc is a member. In the host's: the program's session, every
   descendant whose line to it is unbroken, and the orphans of pid 1. */
static int sbx__scan(const sbx *b, sbx__tasks *list) {
    struct dirent *e;
    sbx__task t;
    int i, kept = 0, more = 1, complete = 1, own = b->self != (int)b->pid;
    DIR *dir = opendir(b->proc);
    if (!dir) return 0;
    while ((e = readdir(dir)) != NULL) {
        int pid = atoi(e->d_name);
        if (pid <= own || !sbx__proc_stat(b->proc, pid, &t)) continue;
        t.member = own || t.pid == b->self || t.session == b->self || (b->init && t.parent == (int)b->init);
        complete = complete && sbx__task_add(list, &t);
    }
    closedir(dir);
    while (more) {
        more = 0;
        for (i = 0; i < list->count; i++) {
            sbx__task *parent = list->at[i].member ? NULL : sbx__task_of(list, list->at[i].parent);
            if (parent && parent->member) list->at[i].member = more = 1;
        }
    }
    for (i = 0; i < list->count; i++)
        if (list->at[i].member) list->at[kept++] = list->at[i];
    list->count = kept;
    return complete;
}

/* CPU time of the tree = living tasks + what they waited for + what vanished unwaited. A vanished
   task's ticks are credited to its nearest living ancestor; what that one did not collect is lost
   to the kernel's sums, and kept here. */
static void sbx__settle_cpu(sbx *b, const sbx__tasks *fresh) {
    long long ticks, rate = sysconf(_SC_CLK_TCK);
    int i;
    for (i = 0; i < b->tasks.count; i++) {
        sbx__task *old = &b->tasks.at[i], *heir = NULL, *up = old;
        if (sbx__task_of(fresh, old->pid)) continue;
        while (!heir && (up = sbx__task_of(&b->tasks, up->parent)) != NULL) heir = sbx__task_of(fresh, up->pid);
        if (heir) heir->credit += old->cpu + old->reaped;
        else b->cpu_gone += old->cpu + old->reaped;
    }
    for (ticks = 0, i = 0; i < fresh->count; i++) {
        sbx__task *t = &fresh->at[i], *old = sbx__task_of(&b->tasks, t->pid);
        long long collected = old ? t->reaped - old->reaped : t->reaped;
        if (t->credit > collected) b->cpu_gone += t->credit - collected;
        ticks += t->cpu + t->reaped;
    }
    ticks += b->cpu_gone;
    if (rate > 0 && ticks * SBX__SECOND / rate > b->cpu_us) b->cpu_us = ticks * SBX__SECOND / rate;
}

/* Memory that is the task's own share: pages it shares are divided by the number of sharers
   (Pss), or not counted at all if they may be the host's (Private). Dear: walks the page tables. */
static long long sbx__share(const sbx *b, int pid) {
    char text[2048];
    if (!sbx__proc_read(b->proc, pid, "smaps_rollup", text, sizeof text)) return -1;
    if (!b->private_only) return (sbx__proc_number(text, "\nPss:") + sbx__proc_number(text, "\nSwapPss:")) * 1024;
    return (sbx__proc_number(text, "\nPrivate_Clean:") + sbx__proc_number(text, "\nPrivate_Dirty:") +
            sbx__proc_number(text, "\nSwapPss:")) * 1024;
}

/* Adds up the tree: b->used may count shared pages twice, the returned floor never does. */
static long long sbx__weigh(sbx *b) {
    long long own = 0, shared = 0, sum = 0;
    char text[4096];
    int i;
    for (i = 0; i < b->tasks.count; i++) {
        int pid = b->tasks.at[i].pid;
        long long rss, files, swap, peak;
        if (!sbx__proc_read(b->proc, pid, "status", text, sizeof text)) continue;
        rss = sbx__proc_number(text, "\nVmRSS:") * 1024;
        swap = sbx__proc_number(text, "\nVmSwap:") * 1024;
        files = (sbx__proc_number(text, "\nRssFile:") + sbx__proc_number(text, "\nRssShmem:")) * 1024;
        peak = sbx__proc_number(text, "\nVmHWM:") * 1024;
        if (b->private_only) {
            long long share = sbx__share(b, pid);
            if (share < 0) continue;
            rss = peak = share, files = swap = 0;
        }
        if (pid == b->self) b->peak_space = sbx__proc_number(text, "\nVmPeak:") * 1024;
        sum += rss + swap;
        own += rss - files + swap;
        if (files > shared) shared = files;
        if (peak > b->peak) b->peak = peak;
    }
    b->used = sum;
    return own + shared;
}

static int sbx__over_memory(sbx *b) {
    long long sum = 0;
    int i;
    if (b->cfg.memory_bytes < 0 || !(b->enforced & SBX_BY_WATCH)) return 0;
    if (b->tasks.count == 1) return b->peak > b->cfg.memory_bytes; /* the high-water mark is proof */
    if (b->used <= b->cfg.memory_bytes) return 0;
    for (i = 0; i < b->tasks.count; i++) {
        long long share = sbx__share(b, b->tasks.at[i].pid);
        if (share > 0) sum += share;
    }
    if (sum > b->peak) b->peak = sum;
    return sum > b->cfg.memory_bytes;
}

/* Renews the list of members and, with it, the CPU sum. */
static void sbx__recount(sbx *b, long long now) {
    sbx__tasks fresh;
    memset(&fresh, 0, sizeof fresh);
    if (sbx__scan(b, &fresh)) {
        sbx__settle_cpu(b, &fresh);
        SBX_FREE(b->tasks.at);
        b->tasks = fresh;
    } else {
        SBX_FREE(fresh.at); /* no memory: the old list serves until the next look */
    }
    b->scan_at = now + (sbx__now() - now) * 20; /* never more than 5 % of a CPU */
}

/* One look. Without a limit only the peak is wanted: more rarely as long as it stays the same. */
static void sbx__sample(sbx *b, long long now) {
    int watch = (b->enforced & SBX_BY_WATCH) != 0;
    long long before = b->peak, floor, cost;
    if (!b->self) sbx__find_proc(b);
    if (b->cgroup) {
        sbx__read_cgroup(b);
    } else {
        sbx__task alone;
        if (watch || b->self != (int)b->pid) {
            if (now >= b->scan_at) sbx__recount(b, now);
        } else if (b->tasks.count == 0 && sbx__proc_stat(b->proc, b->self, &alone)) {
            sbx__task_add(&b->tasks, &alone);
        }
        floor = sbx__weigh(b);
        if (floor > b->peak) b->peak = floor;
        if (sbx__over_memory(b)) sbx__stop(b, SBX_SAW_MEMORY_SUM);
    }
    if (b->cfg.cpu_ms >= 0 && b->cpu_us > b->cfg.cpu_ms * 1000) sbx__stop(b, SBX_SAW_CPU_SUM);
    cost = sbx__now() - now;
    if (b->sample_step < SBX__SAMPLE) b->sample_step *= 2;
    else if (watch || b->cfg.cpu_ms >= 0 || b->peak != before) b->sample_step = SBX__SAMPLE;
    else if (b->sample_step < 20 * SBX__SAMPLE) b->sample_step *= 2;
    b->sample_at = now + b->sample_step;
    if (watch && b->cfg.memory_bytes >= 0) { /* near the limit look sooner: it may grow by 4 GB/s */
        long long left = (b->cfg.memory_bytes - b->used) / 4096;
        if (left < b->sample_step) b->sample_at = now + (left > 1000 ? left : 1000);
    }
    if (b->sample_at < now + cost * 10) b->sample_at = now + cost * 10;
}

#else /* without /proc the limits fall back to each process's own, and `enforced` says so */
static long long sbx__user_tasks(void) { return 0; }
static void sbx__sample(sbx *b, long long now) { (void)now; b->sample_at = SBX__NEVER; }
#endif

/* ==== escalation: SIGTERM, grace, SIGKILL; then collect ======================================= */

/* To the whole group. By pidfd the kernel knows which group is meant even if the number were in
   use again; by number it is safe only while the leader has not been collected. */
static void sbx__signal(sbx *b, int number) {
#if SBX__LINUX
    if (b->fd[SBX__EXIT] >= 0 &&
        (syscall(SYS_pidfd_send_signal, b->fd[SBX__EXIT], number, NULL, SBX__PIDFD_TO_GROUP) == 0 || errno == ESRCH)) {
        if (b->fd[SBX__REPORT] >= 0) kill(b->pid, number);
        return;
    }
#endif
    kill(-b->pid, number);
    if (b->fd[SBX__REPORT] >= 0) kill(b->pid, number); /* may not lead its group yet */
}

/* The reason is noted before the signal goes out, and only the first one counts. */
static void sbx__stop(sbx *b, unsigned reason) {
    if (b->stopping) return;
    b->stopping = 1;
    b->seen.saw |= reason;
    if (b->state != SBX__RUNNING) return; /* it ended by itself while its last bytes were read */
    b->killed = 1;
    if (b->cfg.grace_ms == 0 || reason & (SBX_SAW_MEMORY_SUM | SBX_SAW_DENIED)) { /* a hog would use the grace to grow */
        b->kill_at = SBX__NEVER;
        sbx__signal(b, SIGKILL);
    } else {
        b->kill_at = sbx__now() + b->cfg.grace_ms * 1000;
        sbx__signal(b, SIGTERM);
        sbx__signal(b, SIGCONT);
    }
}

/* Has the program ended? Looks without collecting, so that its number stays taken. */
static int sbx__look(sbx *b) {
    siginfo_t info;
    int found;
    memset(&info, 0, sizeof info);
    errno = 0;
#if SBX__LINUX
    found = b->fd[SBX__EXIT] >= 0 ? waitid((idtype_t)SBX__P_PIDFD, (id_t)b->fd[SBX__EXIT], &info, WEXITED | WNOHANG | WNOWAIT)
                                  : -1;
    if (found < 0 && errno != ECHILD) /* no pidfd, or a kernel that cannot wait for one */
#endif
    found = waitid(P_PID, (id_t)b->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    if (found == 0 && info.si_pid == 0) return 0;
    if (found == 0) {
        if (info.si_code == CLD_EXITED) b->seen.exit_code = info.si_status;
        else b->seen.signal = info.si_status;
        return 1;
    }
    if (errno != ECHILD) return 0;
    b->gone = 1;
#if SBX__LINUX
    if (b->fd[SBX__EXIT] >= 0) { /* the host collected it, or ignores SIGCHLD: ask the kernel's memory */
        sbx__pidfd_info kept;
        memset(&kept, 0, sizeof kept);
        kept.mask = SBX__PIDFD_INFO_EXIT;
        if (syscall(SYS_ioctl, b->fd[SBX__EXIT], SBX__PIDFD_GET_INFO, &kept) == 0 && kept.mask & SBX__PIDFD_INFO_EXIT) {
            if (WIFEXITED(kept.exit_status)) b->seen.exit_code = WEXITSTATUS(kept.exit_status);
            else b->seen.signal = WTERMSIG(kept.exit_status);
            return 1;
        }
    }
#endif
    b->seen.saw |= SBX_SAW_NO_STATUS;
    return 1;
}

/* The program has ended. What it left behind is killed while its number is still taken. */
static void sbx__leave(sbx *b, long long now) {
    pid_t got;
    b->state = SBX__LEAVING;
    b->ended = now;
    b->empty_by = now + SBX__EMPTY_WAIT;
    b->look_at = now;
    b->look_step = 100;
    if (b->late && b->seen.signal == SIGKILL && !b->stopping) b->seen.saw |= SBX_SAW_DEADLINE;
    sbx__signal(b, SIGKILL); /* the group first: fewer runners compete with pid 1's end */
#if SBX__LINUX
    if (b->init) syscall(SYS_pidfd_send_signal, b->fd[SBX__INIT], SIGKILL, NULL, 0);
#endif
    if (b->gone) return; /* collected by the host: waiting for that number could hit another child */
    do got = wait4(b->pid, NULL, 0, &b->usage);
    while (got < 0 && errno == EINTR);
}

/* None of the group is left: read what is still in the pipes and let go of them. */
static void sbx__clear(sbx *b, long long now) {
    int k, most = 64, empty;
    while (most-- > 0 && waitpid(-b->pid, NULL, WNOHANG | SBX__WALL) > 0) {
        /* clone(CLONE_PARENT) made a grandchild the host's child; nobody else will collect it */
    }
    if (b->init) { /* gone only when all of its namespace is */
        if (now > b->ended + 5000) sbx__collect_strays(b);
        empty = waitpid(b->init, NULL, WNOHANG) != 0;
        if (empty) b->init = 0;
    } else {
        empty = kill(-b->pid, 0) < 0 && errno == ESRCH;
    }
    if (empty && b->cgroup) empty = sbx__leave_cgroup(b);
    if (!empty && now < b->empty_by) {
        b->look_at = now + b->look_step;
        if (b->look_step < 10000) b->look_step *= 2;
        return;
    }
    for (k = SBX__OUT; k <= SBX__ERR; k++) {
        sbx__read(b, k);
        sbx__close(&b->fd[k]);
    }
    sbx__close(&b->fd[SBX__IN]);
    sbx__close(&b->fd[SBX__REPORT]);
    sbx__close(&b->fd[SBX__NOTIFY]);
    b->state = SBX__ENDED;
}

/* ==== the loop: one turn of a box, and waiting for many ======================================= */

static void sbx__read_report(sbx *b) {
    sbx__failure f;
    ssize_t n;
#if SBX__LINUX
    union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } control;
    struct msghdr message;
    struct iovec data;
    memset(&message, 0, sizeof message);
    memset(&control, 0, sizeof control);
    data.iov_base = &f;
    data.iov_len = sizeof f;
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.room;
    message.msg_controllen = sizeof control.room;
    n = recvmsg(b->fd[SBX__REPORT], &message, MSG_CMSG_CLOEXEC);
    if (n > 0 && message.msg_controllen >= CMSG_LEN(sizeof(int)) && control.header.cmsg_type == SCM_RIGHTS)
        memcpy(&b->fd[SBX__NOTIFY], CMSG_DATA(&control.header), sizeof(int));
    if (n < 0 && errno == ENOTSOCK)
#endif
    n = read(b->fd[SBX__REPORT], &f, sizeof f);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n == (ssize_t)sizeof f && f.step == SBX_STEP_NONE) { /* only the descriptor came */
        b->fd[SBX__NOTIFY] = sbx__above_stdio(b->fd[SBX__NOTIFY]);
        if (b->fd[SBX__NOTIFY] > b->top_fd) b->top_fd = b->fd[SBX__NOTIFY];
        return;
    }
    if (n == (ssize_t)sizeof f) b->failure = f;
    sbx__close(&b->fd[SBX__REPORT]); /* closed by exec: it has started */
}

/* For reasons that come from outside: a program that has ended meanwhile keeps its own verdict. */
static void sbx__stop_running(sbx *b, unsigned reason, long long now) {
    if (b->stopping) return;
    if (sbx__look(b)) sbx__leave(b, now);
    else sbx__stop(b, reason);
}

static void sbx__on_time(sbx *b, long long now) {
    if (now >= b->deadline) sbx__stop_running(b, SBX_SAW_DEADLINE, now);
    if (b->stopping && now >= b->kill_at) {
        b->kill_at = SBX__NEVER;
        b->seen.saw |= SBX_SAW_GRACE_OVER;
        sbx__signal(b, SIGKILL);
    }
    if (b->state == SBX__RUNNING && now >= b->sample_at) sbx__sample(b, now);
}

static void sbx__turn(sbx *b, unsigned ready, long long now) {
    unsigned long long note;
    if (ready & 1u << SBX__REPORT && b->fd[SBX__REPORT] >= 0) sbx__read_report(b);
    if (ready & 1u << SBX__NOTIFY && b->fd[SBX__NOTIFY] >= 0) sbx__read_notice(b);
    if (ready & 1u << SBX__OUT) sbx__read(b, SBX__OUT);
    if (ready & 1u << SBX__ERR) sbx__read(b, SBX__ERR);
    if (ready & 1u << SBX__IN) sbx__feed(b);
    if (b->state == SBX__RUNNING && (ready & 1u << SBX__EXIT || now >= b->look_at)) {
        if (sbx__look(b)) sbx__leave(b, now);
        else if (now >= b->look_at) b->look_at = now + b->look_step;
        if (b->look_step < 10000) b->look_step *= 2;
    }
    if (b->state == SBX__RUNNING && ready & 1u << SBX__CANCEL && b->fd[SBX__CANCEL] >= 0 &&
        read(b->fd[SBX__CANCEL], &note, sizeof note) > 0) sbx__stop_running(b, SBX_SAW_CANCEL, now);
    if (b->state == SBX__RUNNING) sbx__on_time(b, now);
    if (b->state == SBX__LEAVING && (now >= b->look_at || ready & 1u << SBX__INIT)) sbx__clear(b, now);
}

/* When the box needs a turn although no descriptor calls for one. */
static long long sbx__wake(const sbx *b) {
    long long at = b->look_at;
    if (b->state != SBX__RUNNING) return at;
    if (!b->stopping && b->deadline < at) at = b->deadline;
    if (b->stopping && b->kill_at < at) at = b->kill_at;
    return b->sample_at < at ? b->sample_at : at;
}

static int sbx__wants(const sbx *b, int k) {
    if (b->fd[k] < 0 || b->state == SBX__ENDED) return 0;
    if (k == SBX__IN) return b->input_left > 0 || b->want_write;
    if (k == SBX__INIT) return b->state == SBX__LEAVING;
    if (k == SBX__LIFE) return 0;
    return b->state == SBX__RUNNING || k == SBX__OUT || k == SBX__ERR;
}

#define SBX__WORD (8 * (int)sizeof(unsigned long))
#define SBX__BIT(map, fd) ((map)[(fd) / SBX__WORD] & 1ul << (fd) % SBX__WORD)

/* One select() over all boxes, with a bitmap as large as the highest descriptor asks for; then
   a turn for every box that is ready or due. */
static void sbx__select(sbx *const *boxes, int count, int top, long long wait) {
    unsigned long few[2 * 32], *in = few, *out;
    size_t words = (size_t)(top / SBX__WORD + 1);
    struct timeval tv;
    long long now;
    int i, k, n;
    if (2 * words * sizeof *in > sizeof few) in = (unsigned long *)SBX_REALLOC(NULL, 2 * words * sizeof *in);
    if (!in && wait > 1000) wait = 1000; /* no memory to ask: try them all, often */
    if (wait > 1000 * SBX__SECOND) wait = 1000 * SBX__SECOND;
    if (wait < 0) wait = 0;
    tv.tv_sec = (time_t)(wait / SBX__SECOND);
    tv.tv_usec = (suseconds_t)(wait % SBX__SECOND);
    out = in ? in + words : NULL;
    if (in) memset(in, 0, 2 * words * sizeof *in);
    for (i = 0; in && i < count; i++)
        for (k = 0; boxes[i] && k < SBX__FDS; k++)
            if (sbx__wants(boxes[i], k))
                (k == SBX__IN ? out : in)[boxes[i]->fd[k] / SBX__WORD] |= 1ul << boxes[i]->fd[k] % SBX__WORD;
    n = select(in ? top + 1 : 0, (fd_set *)(void *)in, (fd_set *)(void *)out, NULL, &tv);
    now = sbx__now();
    for (i = 0; i < count; i++) {
        unsigned ready = 0;
        if (!boxes[i] || boxes[i]->state == SBX__ENDED) continue;
        for (k = 0; n > 0 && k < SBX__FDS; k++)
            if (sbx__wants(boxes[i], k) && SBX__BIT(k == SBX__IN ? out : in, boxes[i]->fd[k])) ready |= 1u << k;
        if (!in) ready = ~0u;
        if (ready || now >= sbx__wake(boxes[i])) sbx__turn(boxes[i], ready, now);
    }
    if (in != few) SBX_FREE(in);
}

/* Index of a box that has ended, or -1 at `until`, or if there is none to wait for. */
static int sbx__wait(sbx *const *boxes, int count, long long until) {
    for (;;) {
        long long now = sbx__now(), wake = until;
        int i, top = -1;
        for (i = 0; i < count; i++) {
            if (!boxes[i]) continue;
            if (boxes[i]->state == SBX__ENDED) return i;
            if (boxes[i]->top_fd > top) top = boxes[i]->top_fd;
            if (sbx__wake(boxes[i]) < wake) wake = sbx__wake(boxes[i]);
        }
        if (top < 0) return -1;
        sbx__select(boxes, count, top, wake == SBX__NEVER ? SBX__NEVER : wake - now);
        for (i = 0; i < count; i++)
            if (boxes[i] && boxes[i]->state == SBX__ENDED) return i;
        if (sbx__now() >= until) return -1;
    }
}

/* ==== classifier: evidence -> verdict ========================================================= */

/* The rows are tried from top to bottom; the first whose bits are all there decides. */
SBX_API sbx_verdict sbx_classify(const sbx_evidence *e, int *certain) {
    static const struct { unsigned saw; sbx_verdict verdict; } proven[] = {
        {SBX_SAW_START_FAILED, SBX_NOT_STARTED}, {SBX_SAW_CANCEL, SBX_CANCELLED},
        {SBX_SAW_DEADLINE, SBX_TIMED_OUT},       {SBX_SAW_CPU_SUM, SBX_CPU_LIMIT},
        {SBX_SAW_MEMORY_SUM, SBX_MEMORY_LIMIT},  {SBX_SAW_OUTPUT_CAP, SBX_OUTPUT_LIMIT},
        {SBX_SAW_OOM_KILL, SBX_MEMORY_LIMIT},    {SBX_SAW_DENIED, SBX_DENIED},
        {SBX_SAW_NO_STATUS, SBX_LOST}};
    int memory = (e->saw & SBX_SAW_MEMORY_LIMIT) && (e->saw & (SBX_SAW_MEMORY_TEXT | SBX_SAW_MEMORY_PEAK));
    int ignored;
    size_t i;
    if (!certain) certain = &ignored;
    *certain = 1;
    for (i = 0; i < sizeof proven / sizeof proven[0]; i++)
        if (e->saw & proven[i].saw) return proven[i].verdict;
    if (!e->signal && e->exit_code == 0) return e->saw & SBX_SAW_NO_RESULT ? SBX_NO_RESULT : SBX_OK;
    /* From here on a limit may have worked inside the program, where nobody saw it. */
    *certain = !(e->saw & (SBX_SAW_MEMORY_LIMIT | SBX_SAW_FILE_LIMIT));
    if (e->signal) {
        if ((e->signal == SIGXCPU || e->signal == SIGKILL) && e->saw & SBX_SAW_CPU_SPENT) {
            *certain = 0;
            return SBX_CPU_LIMIT;
        }
        if (e->signal == SIGXFSZ && e->saw & SBX_SAW_FILE_LIMIT) return SBX_FILE_LIMIT;
        return memory ? SBX_MEMORY_LIMIT : SBX_CRASHED;
    }
    if (e->saw & SBX_SAW_MEMORY_LIMIT && e->saw & SBX_SAW_MEMORY_TEXT) return SBX_MEMORY_LIMIT;
    if (e->saw & SBX_SAW_FILE_LIMIT && e->saw & SBX_SAW_FILE_TEXT) return SBX_FILE_LIMIT;
    return e->saw & SBX_SAW_NO_RESULT ? SBX_NO_RESULT : SBX_EXITED;
}

/* Does the end of the text contain one of the words, whatever their case? */
static int sbx__speaks_of(const sbx_output *o, const char *const *words) {
    size_t from = o->size > 16384 ? o->size - 16384 : 0, i, k;
    for (; *words; words++)
        for (i = from; i < o->size; i++) {
            for (k = 0; (*words)[k] && i + k < o->size; k++) {
                char c = o->data[i + k];
                if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != (*words)[k]) break;
            }
            if (!(*words)[k]) return 1;
        }
    return 0;
}

/* The last facts, which only show when all is over. */
static void sbx__observe(sbx *b, const sbx_result *r) {
    static const char *const memory[] = {
        "memoryerror", "bad_alloc", "out of memory", "outofmemory", "cannot allocate memory", "memory exhausted",
        "allocation fail", "failed to allocate", "could not allocate", "not enough memory", "insufficient memory",
        "could not reserve", NULL};
    static const char *const file[] = {"file too large", "file size limit", "efbig", NULL};
    const sbx_output *said = &b->output[b->cfg.err == SBX_MERGE ? 0 : 1];
    long long cpu = r->user_us + r->system_us;
    if (b->cfg.cpu_ms >= 0 && cpu >= b->cfg.cpu_ms * 700) b->seen.saw |= SBX_SAW_CPU_SPENT; /* 70 % */
    if (b->seen.saw & SBX_SAW_MEMORY_LIMIT) {
        if (sbx__speaks_of(said, memory)) b->seen.saw |= SBX_SAW_MEMORY_TEXT;
        if (b->peak_space > b->cfg.address_space_bytes / 100 * 95) b->seen.saw |= SBX_SAW_MEMORY_PEAK;
    }
    if (b->seen.saw & SBX_SAW_FILE_LIMIT && sbx__speaks_of(said, file)) b->seen.saw |= SBX_SAW_FILE_TEXT;
    if (b->shared && (b->seen.exit_code != 0 || b->shared->done != b->token)) b->seen.saw |= SBX_SAW_NO_RESULT;
}

/* ==== result ================================================================================== */

static void sbx__describe(const sbx *b, sbx_result *r) {
    const sbx_config *c = &b->cfg;
    const char *killed = b->killed ? " and was killed" : "";
    char *to = r->message;
    size_t n = sizeof r->message;
    switch (r->verdict) {
    case SBX_TIMED_OUT:
        if (b->late) snprintf(to, n, "%s had not started when its %lld ms limit was over", b->who, c->timeout_ms);
        else snprintf(to, n, "%s ran past its %lld ms limit%s", b->who, c->timeout_ms, killed);
        break;
    case SBX_CPU_LIMIT:
        snprintf(to, n, "%s used up its %lld ms of CPU time%s", b->who, c->cpu_ms, killed);
        break;
    case SBX_MEMORY_LIMIT:
        if (b->seen.saw & (SBX_SAW_MEMORY_SUM | SBX_SAW_OOM_KILL))
            snprintf(to, n, "%s used more than its %lld bytes of memory%s", b->who, c->memory_bytes, killed);
        else
            snprintf(to, n, "%s seems to have run out of its %lld bytes of memory", b->who, c->address_space_bytes);
        break;
    case SBX_OUTPUT_LIMIT:
        if (b->failure.error == ENOMEM)
            snprintf(to, n, "%s wrote more output than the host had memory for%s", b->who, killed);
        else
            snprintf(to, n, "%s wrote more than its %lld bytes of output%s", b->who, c->output_bytes, killed);
        break;
    case SBX_FILE_LIMIT:
        snprintf(to, n, "%s wrote a file up to its limit of %lld bytes", b->who, c->file_bytes);
        break;
    case SBX_DENIED:
        snprintf(to, n, "%s was killed for a forbidden system call: %s (number %d)", b->who, sbx__call_name(b->denied), b->denied);
        break;
    case SBX_CANCELLED: snprintf(to, n, "%s was cancelled%s", b->who, killed); break;
    case SBX_LOST: snprintf(to, n, "%s ran, but the host took its exit status away", b->who); break;
    case SBX_CRASHED:
        snprintf(to, n, "%s was ended by signal %d (%s)", b->who, r->signal, sbx__signal_name(r->signal));
        break;
    case SBX_NO_RESULT:
        if (b->shared->failed) {
            char text[sizeof b->shared->text];
            memcpy(text, b->shared->text, sizeof text);
            text[sizeof text - 1] = 0;
            sbx__plain(to, n, text);
        }
        if (!*to) snprintf(to, n, "%s ended with code %d and left no result", b->who, r->exit_code);
        break;
    default: snprintf(to, n, "%s exited with code %d", b->who, r->exit_code); break;
    }
}

static void sbx__hand_over(sbx_output *from, sbx_output *to) {
    *to = *from;
    from->data = NULL;
    if (to->size == 0) {
        SBX_FREE(to->data);
        to->data = (char *)"";
    } else {
        char *fit = (char *)SBX_REALLOC(to->data, to->size + 1);
        if (fit) to->data = fit;
        to->data[to->size] = 0;
    }
}

static sbx_verdict sbx__conclude(sbx *b, sbx_result *r) {
    long long peak = (long long)b->usage.ru_maxrss * SBX__MAXRSS_UNIT;
    sbx__blank(r);
    r->user = b->cfg.user;
    r->wall_us = b->ended - b->started;
    r->user_us = (long long)b->usage.ru_utime.tv_sec * SBX__SECOND + b->usage.ru_utime.tv_usec;
    r->system_us = (long long)b->usage.ru_stime.tv_sec * SBX__SECOND + b->usage.ru_stime.tv_usec;
    if (b->gone) r->user_us = b->cpu_us;
    /* ru_maxrss starts at the host's own size: only what is above that is the child's. */
    r->peak_bytes = peak > b->host_peak && !b->private_only && peak > b->peak ? peak : b->peak;
    sbx__observe(b, r);
    r->enforced = b->enforced;
    r->evidence = b->seen.saw;
    r->exit_code = b->seen.exit_code;
    r->signal = b->seen.signal;
    r->verdict = sbx_classify(&b->seen, &r->certain);
    if (r->verdict == SBX_OUTPUT_LIMIT) r->sys_errno = b->failure.error;
    sbx__describe(b, r);
    sbx__hand_over(&b->output[0], &r->out);
    sbx__hand_over(&b->output[1], &r->err);
    return r->verdict;
}

/* ==== public functions ======================================================================== */

/* Config -> plan -> running box. NULL: the result says why, and nothing is left. */
static sbx *sbx__open(const sbx_config *config, sbx__plan *p, int handle, sbx_result *r) {
    sbx *b = NULL;
    int ok;
    sbx__blank(r);
    if (!config) {
        sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "config = NULL: there is nothing to run");
        return NULL;
    }
    p->cfg = *config;
    r->user = config->user;
    if (!sbx__validate(p, handle, r)) return NULL;
    b = sbx__prepare(p, handle, handle, r);
    ok = r->verdict != SBX_NOT_STARTED && sbx__spawn(p, b, r);
    if (ok) {
        sbx__turn(b, 1u << SBX__REPORT | 1u << SBX__IN, b->started);
        while (b->fd[SBX__REPORT] >= 0 && b->state != SBX__ENDED)
            sbx__select(&b, 1, b->top_fd, sbx__wake(b) - sbx__now());
        if (b->failure.step) {
            sbx__wait(&b, 1, SBX__NEVER);
            sbx__explain(p, &b->failure, r);
            ok = 0;
        }
    }
    sbx__plan_free(p);
    if (ok) return b;
    sbx__box_free(b);
    if (r->step == SBX_STEP_CONTAIN && config->contain == SBX_CONTAIN_AUTO) { /* no way in: the group */
        sbx_config group = *config;
        group.contain = SBX_CONTAIN_GROUP;
        p->tree = 0;
        p->limit_count = 0;
        return sbx__open(&group, p, handle, r);
    }
    return NULL;
}

SBX_API sbx_verdict sbx_run(const sbx_config *config, sbx_result *result) {
    sbx_result ignored;
    sbx__plan plan;
    sbx *box;
    memset(&plan, 0, sizeof plan);
    box = sbx__open(config, &plan, 0, result ? result : &ignored);
    return box ? sbx_finish(box, result) : SBX_NOT_STARTED;
}

SBX_API void sbx_free(sbx_result *result) {
    if (!result) return;
    if (result->out.size) SBX_FREE(result->out.data);
    if (result->err.size) SBX_FREE(result->err.data);
    result->out.data = result->err.data = (char *)"";
    result->out.size = result->err.size = 0;
}

SBX_API sbx *sbx_start(const sbx_config *config, sbx_result *result) {
    sbx_result ignored;
    sbx__plan plan;
    memset(&plan, 0, sizeof plan);
    return sbx__open(config, &plan, 1, result ? result : &ignored);
}

SBX_API int sbx_poll_any(sbx *const *boxes, int count, long long wait_ms) {
    long long until = wait_ms < 0 || wait_ms > SBX__MAX_MS ? SBX__NEVER : sbx__now() + wait_ms * 1000;
    return sbx__wait(boxes, count, until);
}

SBX_API int sbx_poll(sbx *box, long long wait_ms) {
    return !box || sbx_poll_any(&box, 1, wait_ms) == 0;
}

SBX_API void sbx_get_watch(const sbx *box, sbx_watch *watch) {
    long long wake;
    int k;
    memset(watch, 0, sizeof *watch);
    if (!box || box->state == SBX__ENDED) return;
    for (k = 0; k < SBX__FDS; k++)
        if (sbx__wants(box, k)) {
            watch->writable[watch->count] = k == SBX__IN;
            watch->fd[watch->count++] = box->fd[k];
        }
    wake = sbx__wake(box);
    watch->wait_ms = wake == SBX__NEVER ? -1 : (wake - sbx__now() + 999) / 1000;
    if (wake != SBX__NEVER && watch->wait_ms < 0) watch->wait_ms = 0;
}

SBX_API long long sbx_write(sbx *box, const void *data, size_t size) {
    ssize_t n;
    if (!box || box->cfg.in != SBX_PIPE || box->fd[SBX__IN] < 0) return -1;
    if (size == 0) return 0;
    n = sbx__write_quietly(box->fd[SBX__IN], data, size);
    if (n < 0 && errno != EAGAIN) {
        sbx__close(&box->fd[SBX__IN]);
        return -1;
    }
    box->want_write = n < (ssize_t)size;
    return n < 0 ? 0 : (long long)n;
}

SBX_API void sbx_close_input(sbx *box) {
    if (box && box->cfg.in == SBX_PIPE) sbx__close(&box->fd[SBX__IN]);
}

SBX_API void sbx_cancel(sbx *box) {
    unsigned long long one = 1;
    int error = errno;
    ssize_t n = box && box->cancel_fd >= 0 ? write(box->cancel_fd, &one, sizeof one) : 0;
    (void)n; /* full means that it is cancelled already */
    errno = error;
}

SBX_API sbx_verdict sbx_finish(sbx *box, sbx_result *result) {
    sbx_result ignored;
    sbx_verdict verdict;
    sbx_result *r = result ? result : &ignored;
    if (!box) {
        sbx__blank(r);
        sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "box = NULL: there is nothing to finish");
        return SBX_NOT_STARTED;
    }
    sbx_close_input(box);
    sbx__wait(&box, 1, SBX__NEVER);
    verdict = sbx__conclude(box, r);
    sbx__box_free(box);
    if (!result) sbx_free(r);
    return verdict;
}

/* Only ever set in the child of an sbx_call; in every host it stays NULL. */
static sbx__shared *sbx__current;

static int sbx__call_child(const sbx__plan *p) {
    int code;
    sbx__current = p->shared;
    SBX__PURGE(stdin); /* what the host has buffered is the host's to write */
    SBX__PURGE(stdout);
    SBX__PURGE(stderr);
    clearerr(stdin);
    close(3); /* the report: it has started */
    code = p->fn(p->arg, (char *)p->shared + SBX__RET_AT, p->ret_size);
    fflush(stdout);
    fflush(stderr);
    if (code == 0) p->shared->done = p->token;
    return code == 0 || (code & 255) != 0 ? code & 255 : 1;
}

SBX_API sbx_verdict sbx_call(const sbx_config *config, sbx_fn fn, void *arg, void *ret, size_t ret_size,
                             sbx_result *result) {
    sbx_result ignored, *r = result ? result : &ignored;
    sbx__plan plan;
    sbx_verdict verdict;
    sbx *box;
    memset(&plan, 0, sizeof plan);
    plan.fn = fn;
    plan.arg = arg;
    plan.ret_size = ret_size;
    sbx__blank(r);
    if (!fn) return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "fn = NULL: there is no function to call"), SBX_NOT_STARTED;
    if ((ret_size > 0 && !ret) || ret_size > (size_t)-1 / 4) {
        sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "ret_size = %lu, but ret cannot hold that", (unsigned long)ret_size);
        return SBX_NOT_STARTED;
    }
    box = sbx__open(config, &plan, 0, r);
    if (!box) return SBX_NOT_STARTED;
    sbx__wait(&box, 1, SBX__NEVER);
    verdict = sbx__conclude(box, r);
    if (verdict == SBX_OK && ret_size) memcpy(ret, (char *)box->shared + SBX__RET_AT, ret_size);
    sbx__box_free(box);
    if (!result) sbx_free(r);
    return verdict;
}

SBX_API void sbx_fail(const char *format, ...) {
    va_list args;
    if (!sbx__current) return; /* not inside an sbx_call: the host goes on */
    va_start(args, format);
    vsnprintf(sbx__current->text, sizeof sbx__current->text, format, args);
    va_end(args);
    sbx__current->failed = 1;
    fflush(stdout);
    fflush(stderr);
    sbx__quit(1);
}

static int sbx__probe_fn(void *arg, void *ret, size_t ret_size) {
    (void)arg, (void)ret, (void)ret_size;
    return 0;
}

/* The real thing, once: a function in a child under that config. */
static int sbx__probe(const sbx_config *cfg, unsigned *enforced, char *why) {
    sbx_result r;
    int works = sbx_call(cfg, sbx__probe_fn, NULL, NULL, 0, &r) == SBX_OK;
    *enforced |= r.enforced;
    if (!works && why) memcpy(why, r.message, sizeof r.message);
    sbx_free(&r);
    return works;
}

SBX_API void sbx_probe(sbx_caps *caps) {
    sbx_config cfg;
    sbx_policy policy;
    unsigned enforced = 0;
    memset(caps, 0, sizeof *caps);
    memset(&cfg, 0, sizeof cfg);
    memset(&policy, 0, sizeof policy);
    cfg.timeout_ms = 5000;
    cfg.contain = SBX_CONTAIN_GROUP;
    cfg.address_space_bytes = SBX__MAX_BYTES; /* no more than it has anyway */
    caps->address_space = sbx__probe(&cfg, &enforced, NULL) && (enforced & SBX_BY_RLIMIT_AS) != 0;
    cfg.address_space_bytes = 0;
    cfg.memory_bytes = SBX__MAX_BYTES;
    caps->watch = sbx__probe(&cfg, &enforced, NULL) && (enforced & SBX_BY_WATCH) != 0;
    cfg.memory_bytes = 0;
    cfg.contain = SBX_CONTAIN_TREE;
    caps->tree = sbx__probe(&cfg, &enforced, caps->tree_why);
    cfg.contain = SBX_CONTAIN_AUTO;
    cfg.processes = SBX__MAX_COUNT;
    caps->processes = sbx__probe(&cfg, &enforced, caps->processes_why);
    cfg.processes = 0;
    cfg.policy = &policy;
    caps->policy = sbx__probe(&cfg, &enforced, caps->policy_why);
#if SBX__LINUX
    {
        sbx__pidfd_info kept;
        pid_t pid = fork();
        int fd = -1;
        long abi = syscall(SBX__NR_LANDLOCK_CREATE_RULESET, NULL, 0, 1);
        caps->landlock = abi > 0 ? (int)abi : 0;
        caps->seccomp = syscall(SYS_seccomp, 1, 0, NULL) != 0 && errno == EFAULT; /* it looked for a filter */
        if (pid == 0) sbx__quit(7);
        if (pid > 0) {
            fd = (int)syscall(SYS_pidfd_open, pid, 0);
            while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
            }
        }
        memset(&kept, 0, sizeof kept);
        kept.mask = SBX__PIDFD_INFO_EXIT;
        caps->exit_status_kept = fd >= 0 && syscall(SYS_ioctl, fd, SBX__PIDFD_GET_INFO, &kept) == 0 &&
                                 (kept.mask & SBX__PIDFD_INFO_EXIT) != 0 && WEXITSTATUS(kept.exit_status) == 7;
        if (fd >= 0) close(fd);
    }
#endif
}

SBX_API const char *sbx_verdict_name(sbx_verdict verdict) {
    static const char *const names[] = {"ok", "exited", "crashed", "timed-out", "cpu-limit", "memory-limit",
                                        "output-limit", "file-limit", "denied", "cancelled", "no-result",
                                        "not-started", "lost"};
    return (int)verdict >= 0 && verdict <= SBX_LOST ? names[verdict] : "unknown";
}

/* The longest prefix of at most max bytes that does not end inside a UTF-8 character. Looks at
   the last four bytes only; bytes that are no UTF-8 at all may be cut anywhere. */
SBX_API size_t sbx_utf8_prefix(const char *text, size_t size, size_t max) {
    size_t n = size < max ? size : max, back;
    if (n < size && ((unsigned char)text[n] & 0xC0) != 0x80) return n; /* a character starts here */
    for (back = 1; back <= 4 && back <= n; back++) {
        unsigned char c = (unsigned char)text[n - back];
        size_t length = c >= 0xF0 && c < 0xF8 ? 4 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xC0 && c < 0xE0 ? 2 : 1;
        if ((c & 0xC0) == 0x80) continue;
        return length > back ? n - back : n;
    }
    return n;
}

/* A limit of the ceiling holds whatever the config says; a config may only be stricter. */
SBX_API void sbx_clamp(sbx_config *config, const sbx_config *ceiling) {
    sbx_config top = *ceiling;
    size_t i;
    for (i = 0; i < SBX__FIELDS; i++) {
        const sbx__field *f = &sbx__fields[i];
        long long *mine = sbx__value(config, f), *most = sbx__value(&top, f);
        long long want = *mine ? *mine : f->zero, limit = *most ? *most : f->zero;
        int grace = f->offset == offsetof(sbx_config, grace_ms); /* there -1 is the least, not the most */
        if (grace && limit == SBX_UNLIMITED) *mine = SBX_UNLIMITED;
        else if (limit != SBX_UNLIMITED && (want > limit || (want == SBX_UNLIMITED && !grace))) *mine = limit;
    }
    if (ceiling->contain == SBX_CONTAIN_TREE) config->contain = SBX_CONTAIN_TREE;
    if (ceiling->contain == SBX_CONTAIN_AUTO && config->contain == SBX_CONTAIN_GROUP) config->contain = SBX_CONTAIN_AUTO;
    if (ceiling->policy) config->policy = ceiling->policy;
    if (ceiling->cgroup) config->cgroup = ceiling->cgroup;
}

#ifdef __cplusplus
}
#endif
#endif /* SBX_IMPLEMENTATION */
