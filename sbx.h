/* sbx.h - run a program, or a C function, under limits, and learn truthfully why it ended.
   v0.1.0 - one file, no dependencies - MIT or public domain, your choice (end of file)

   QUICK START

       #define SBX_IMPLEMENTATION        // in exactly one .c file, before any other #include
       #include "sbx.h"
       #include <stdio.h>

       int main(void) {
           const char *argv[] = {"sleep", "60", NULL};
           sbx_config cfg = {0};         // zero is a safe default everywhere
           sbx_result r;
           cfg.argv = argv;
           cfg.timeout_ms = 500;
           sbx_run(&cfg, &r);
           printf("%s: %s\n", sbx_verdict_name(r.verdict), r.message);
           sbx_free(&r);
       }
       // prints: timed-out: 'sleep' ran past its 500 ms limit and was killed

   WHAT IT DOES

   1. Fill in a config: argv or command, input, limits. What is zero has the default that stands
      beside it in the struct; SBX_UNLIMITED is none. A wrong value is refused before anything runs.
   2. sbx_run() runs it and returns one verdict. result.message is a sentence for people, exit_code,
      signal, both outputs and the measurements are there whatever the verdict.
   3. sbx_start(), sbx_poll(), sbx_finish() do the same beside a host that must not block.
   4. sbx_call() runs a C function in a child instead of a program.
   5. cfg.policy takes away files, network, processes and kernel (Linux).
   When a function returns, no process of the tree is left, no zombie, no descriptor, no file. What
   was asked for was in force, or nothing ran and the message says what is missing. The host is
   never changed: no handlers, no threads, no globals, no output; signal mask, dispositions,
   descriptors, directory and environment stay as they were.

   WHAT EACH LEVEL STOPS                                         group   tree   policy
     its own time, output, memory, CPU, files past the limit       x       x       x
     descendants that call setsid or daemonise                     -       x       x
     survivors when the host is killed                             -       x       x
     seeing or signalling the host's processes                     -       x       x
     reading the user's files, writing anywhere, the network       -       -       x
     ptrace, namespaces, mounts, io_uring, bpf, keys, ...          -       -       x
   The group is SBX_CONTAIN_GROUP, the tree is SBX_CONTAIN_AUTO or _TREE, the policy is cfg.policy.

   WHAT IT DOES NOT PROTECT AGAINST
   - Without a policy the program is the user: it reads and deletes what the user can.
   - A kernel bug is a way out of everything here. For code that hunts for those, use a virtual
     machine.
   - Side channels, shared caches, disk space, disk and memory bandwidth; names and sizes of files
     (stat is never denied); system information in /proc; descriptors that the host hands over.
   - A function of sbx_call has a copy of all the host's memory, and its shared mappings.
   - memory_bytes is watched, not reserved: a child can be over it for some milliseconds, longer in
     a crowd of a thousand processes or while the host has no descriptor free; and memory in memfd,
     tmpfs, pipes or unmapped shared pages is nobody's. Only cfg.cgroup counts it all.
   - A process that the host forks, without exec, while a box runs has a copy of its pipes: if the
     host is killed then, the tree lives until that process ends.
   - cpu_ms misses processes that live for less than a clock tick and that nobody waits for.
   - Root stays root: without a policy a root program can do what root can, in any tree: trace pid 1
     and so outlive a killed host. Without a policy any program can change or leave its cgroup.
   - Without a policy, or in a group, a child can keep the host's thread in the kernel past the
     deadline (a splice holds the pipe's lock): a tree (on x86_64 and aarch64) ends all the same
     2 to 3 seconds after timeout_ms and grace_ms, a group when the child does.

   VERDICTS, AND WHAT THEY REST ON (sbx_classify; the first row that fits)
     not-started    a step before the program failed                                 certain
     cancelled      sbx_cancel, or on_output returned non-zero                       certain
     timed-out      the host stopped it at timeout_ms                                certain
     cpu-limit      it used more than cpu_ms, summed over the tree                   certain
     memory-limit   it used more than memory_bytes, summed over the tree             certain
     output-limit   more than output_bytes was written                               certain
     memory-limit   the cgroup counted an out-of-memory kill                         certain
     denied         the filter saw a forbidden system call                           certain
     lost           it ended, but the host collected its status first                certain
     ok             exit code 0 (sbx_call: and a result; else no-result)             certain
     cpu-limit      SIGXCPU or SIGKILL, with 70 % of the kernel's limit spent        likely
     file-limit     SIGXFSZ; or a failure that speaks of a file too large            likely
     memory-limit   under RLIMIT_AS: a failure that speaks of memory, or one with    likely
                    the address space within 5 % of its limit
     crashed        any other signal           certain, unless RLIMIT_AS or file_bytes was in force
     exited         any other exit code        certain, unless RLIMIT_AS or file_bytes was in force
     no-result      sbx_call: the same
   A child that had ended by itself keeps its own verdict, unless it had used more than cpu_ms or
   memory_bytes, or written more than output_bytes.

   COMPILE-TIME OPTIONS
     SBX_IMPLEMENTATION        this unit holds the implementation
     SBX_STATIC                ... and keeps it to itself
     SBX_API                   what stands before every declaration instead of extern
     SBX_REALLOC, SBX_FREE     your allocator; both or neither. SBX_REALLOC(NULL, n) allocates,
                               SBX_FREE(NULL) does nothing
     SBX_NO_LINUX              only the portable POSIX part, as on macOS and the BSDs

   PLATFORMS
     Linux 5.8 and later for trees, 5.13 for a policy; older ones get the group. macOS and the BSDs:
     the process group; cpu_ms and memory_bytes fall back to limits of each process (`enforced`
     tells), cpu_ms in whole seconds, and sbx_start returns late if another thread forks meanwhile
     without exec. Windows is refused. A policy knows x86_64, i386, aarch64, arm
     and riscv64; on i386 glibc's sockets go through a call it cannot look into: none there.

   THREADS
     Different boxes in different threads need no locking. One box belongs to one thread at a time;
     sbx_cancel is for any thread and any signal handler. Config and everything it points to may be
     freed as soon as sbx_start has returned.
     sbx_call forks: in the function only the calling thread exists. With other threads running,
     locks they held stay locked there; malloc and stdio are safe with glibc, musl and macOS, other
     libraries may not be. stdout and stderr are flushed when the function returns, not when it
     crashes. */

/* The feature macros the implementation needs have to be set before any system header. */
#if defined(SBX_IMPLEMENTATION) && defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1
#endif
#if defined(SBX_IMPLEMENTATION) && defined(__APPLE__) && !defined(_DARWIN_UNLIMITED_SELECT)
#define _DARWIN_UNLIMITED_SELECT 1 /* descriptors above 1024 */
#endif

#ifndef SBX_H
#define SBX_H

#define SBX_VERSION "0.1.0"

#if defined(_WIN32)
#error "sbx.h: Windows is not supported (no fork, no rlimits): Linux, macOS and the BSDs are"
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

/* clang-format off */
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

/* Linux. All zero: the system's programs and libraries, and the program itself, can be read and
   run; nothing can be written; no network. */
typedef struct sbx_policy {
    const char *const *read;  /* more trees to read and run, NULL-terminated */
    const char *const *write; /* trees to read, run and write; TMPDIR is the first, unless set */
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
    sbx_output_fn on_output;       /* live, in order, never past the cap; non-zero cancels, and
                                      it is not called again */
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
    const char *cgroup;            /* a delegated cgroup v2 directory; NULL = none. Memory and pids
                                      are switched on for its children, and stay so */
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
#define SBX_SAW_CPU_SUM      0x0004u  /* the tree's CPU time passed cpu_ms */
#define SBX_SAW_MEMORY_SUM   0x0008u  /* the tree's memory passed memory_bytes */
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

/* Runs it, waits for its end, and returns the verdict. The result may be NULL; otherwise it is
   filled anew whatever happens, and the outputs in it are the caller's to give to sbx_free. */
SBX_API sbx_verdict sbx_run(const sbx_config *config, sbx_result *result);
SBX_API void sbx_free(sbx_result *result); /* twice is fine, and so is an all-zero result */

/* Running beside the host. sbx_start returns when the program has started, or NULL, and then the
   result says why. What goes on goes on inside sbx_poll: reading, limits, escalation. A poll waits
   up to wait_ms (0 = never blocks, -1 = until the end), but not longer than until an input that
   sbx_write found full can take more. Every box must be finished: that closes its
   input, waits for its end and frees it. To drop one, cancel it first. */
typedef struct sbx sbx;
SBX_API sbx *sbx_start(const sbx_config *config, sbx_result *result);
SBX_API int sbx_poll(sbx *box, long long wait_ms); /* 1 = ended, 0 = running */
SBX_API int sbx_poll_any(sbx *const *boxes, int count, long long wait_ms); /* NULLs are skipped;
                                                      index of an ended one, -1 = none yet */
SBX_API sbx_verdict sbx_finish(sbx *box, sbx_result *result);
SBX_API void sbx_cancel(sbx *box); /* from any thread and any signal handler, ... */
                                   /* ... but it must have returned before sbx_finish is called */

/* For in = SBX_PIPE: never blocks. Bytes taken, 0 = full for now, -1 = closed. */
SBX_API long long sbx_write(sbx *box, const void *data, size_t size);
SBX_API void sbx_close_input(sbx *box);

/* For a host with a loop of its own: watch these, and call sbx_poll(box, 0) when one is ready or
   wait_ms have passed. Ask again after every poll. */
typedef struct sbx_watch {
    int fd[8];
    int writable[8];      /* 1 = until it can be written, 0 = until it can be read */
    int count;
    long long wait_ms;    /* -1 = as long as you like */
} sbx_watch;
SBX_API void sbx_get_watch(const sbx *box, sbx_watch *watch);

/* A C function in a forked child, under the same config (without argv and command). arg is the
   child's copy; what it writes to ret reaches the caller's ret only if it returns 0 and the verdict
   is SBX_OK. Returning anything else, sbx_fail and exit are SBX_NO_RESULT. As for a program, stdin
   is /dev/null, the environment is cfg.env (empty by default), and descriptors above 2 are closed;
   atexit handlers do not run when it returns. See THREADS above. */
typedef int (*sbx_fn)(void *arg, void *ret, size_t ret_size);
SBX_API sbx_verdict sbx_call(const sbx_config *config, sbx_fn fn, void *arg, void *ret,
                             size_t ret_size, sbx_result *result);
#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
SBX_API void sbx_fail(const char *format, ...); /* in the function: ends it, the text -> message. */
                 /* Elsewhere it just returns; with SBX_STATIC only the unit of the call is "in" */

/* What works here and now: each is tried, to the end, in a child. */
typedef struct sbx_caps {
    int tree;             /* SBX_CONTAIN_TREE: nothing escapes, and all dies with the host */
    int watch;            /* memory_bytes and cpu_ms are summed over the whole tree */
    int address_space;    /* address_space_bytes */
    int processes;        /* `processes` without a cgroup */
    int policy;           /* sbx_policy: files, network, processes, kernel */
    int landlock;         /* its version; 0 = none. 3 guards truncate, 4 TCP, 5 devices */
    char tree_why[256];   /* what was missing; "" = nothing */
    char processes_why[256];
    char policy_why[256];
} sbx_caps;
SBX_API void sbx_probe(sbx_caps *caps);

/* Pure: facts in, verdict out. certain may be NULL. */
SBX_API sbx_verdict sbx_classify(const sbx_evidence *evidence, int *certain);

/* "ok" "exited" "crashed" "timed-out" "cpu-limit" "memory-limit" "output-limit" "file-limit"
   "denied" "cancelled" "no-result" "not-started" "lost" */
SBX_API const char *sbx_verdict_name(sbx_verdict verdict);

/* The longest prefix of at most max bytes that does not end inside a UTF-8 character, also if the
   text was already cut there. Looks at four bytes; what is no UTF-8 may be cut anywhere. */
SBX_API size_t sbx_utf8_prefix(const char *text, size_t size, size_t max);

/* No limit of the config is looser than the ceiling's afterwards; stricter ones stay. The ceiling's
   policy and cgroup, if it has them, replace the config's, and its containment is the least. */
SBX_API void sbx_clamp(sbx_config *config, const sbx_config *ceiling);

/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif /* SBX_H */

/* End of the API. The implementation is below. */

#if defined(SBX_IMPLEMENTATION) && !defined(SBX__IMPLEMENTED)
#define SBX__IMPLEMENTED

/* ==== platform: every question about the system is asked here, once ========================== */

#include <errno.h>
#if defined(__GLIBC__) && !defined(__USE_MISC) /* strict, and latched */
#error "sbx.h: a system header came first under -std=c99: include sbx.h before it, or -D_GNU_SOURCE"
#else
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

#if defined(SBX_REALLOC) != defined(SBX_FREE)
#error "sbx.h: define both SBX_REALLOC(pointer, size) and SBX_FREE(pointer), or neither"
#endif
#ifndef SBX_REALLOC
#define SBX_REALLOC(pointer, size) realloc(pointer, size)
#define SBX_FREE(pointer) free(pointer)
#endif

#ifdef __linux__
#include <stdio_ext.h>
#ifdef __GLIBC__ /* without a call: the function's page would be looked up in every forked child */
#define SBX__UNREAD(file)                                                                          \
    ((file)->_mode > 0 || (file)->_IO_read_ptr < (file)->_IO_read_end || (file)->_IO_save_base)
#define SBX__PENDING(file)                                                                         \
    ((file)->_mode > 0 ? __fpending(file) > 0 : (file)->_IO_write_ptr > (file)->_IO_write_base)
#define SBX__IN_DATA __attribute__((section(".data")))
#else
#define SBX__UNREAD(file) (__fbufsize(file) > 0)
#define SBX__PENDING(file) (__fpending(file) > 0)
#define SBX__IN_DATA
#endif
#define SBX__AT_END(file) (feof_unlocked(file) != 0) /* another thread may be reading */
#define SBX__WALL 0x40000000 /* __WALL: children of any clone */
#else
#define SBX__UNREAD(file) 1
#define SBX__PENDING(file) 1
#define SBX__IN_DATA
#define SBX__AT_END(file) 1
#define SBX__WALL 0
#endif

#ifdef __APPLE__ /* sigprocmask changes every thread there; elsewhere only the calling one */
#include <pthread.h>
#define SBX__SIGMASK pthread_sigmask
#define SBX__MAXRSS_UNIT 1
#else
#define SBX__SIGMASK sigprocmask
#define SBX__MAXRSS_UNIT 1024
#endif

#if defined(RLIMIT_AS) && !defined(__APPLE__) /* macOS accepts it and does nothing */
#define SBX__RLIMIT_AS RLIMIT_AS
#else
#define SBX__RLIMIT_AS (-1)
#endif
#ifdef __GLIBC__ /* takes an enum, under some feature macros */
#define SBX__RLIMIT(which) ((__rlimit_resource_t)(which))
#else
#define SBX__RLIMIT(which) (which)
#endif

/* clang-format off */
#if defined(__linux__) && !defined(SBX_NO_LINUX)
#define SBX__LINUX 1 /* clone, pidfd, /proc, namespaces, ...: each is still tried at run time */
#include <dirent.h>
#include <poll.h>
#ifndef __GLIBC__
#include <pthread.h>
#endif
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
/* Headers may be older than the kernel, musl's have no <linux/...>, and _GNU_SOURCE may have come
   too late for <sched.h>: what is needed of them stands here. */
#define SBX__CLONE_VM 0x00000100
#define SBX__CLONE_PIDFD 0x00001000
#define SBX__CLONE_VFORK 0x00004000
#define SBX__CLONE_PARENT 0x00008000
#define SBX__CLONE_SET_TID 0x01200000 /* CHILD_SETTID, CHILD_CLEARTID */
#define SBX__CLONE_NEWNS 0x00020000
#define SBX__CLONE_NEWUSER 0x10000000
#define SBX__CLONE_NEWPID 0x20000000
#define SBX__P_PIDFD 3
#define SBX__PIDFD_TO_GROUP 4u /* PIDFD_SIGNAL_PROCESS_GROUP */
#define SBX__PIDFD_GET_INFO _IOWR(0xFF, 11, sbx__pidfd_info)
#define SBX__PIDFD_INFO_EXIT 8u
#define SBX__F_SETPIPE_SZ 1031
#define SBX__O_PATH 010000000
#define SBX__AT_EMPTY_PATH 0x1000
#define SBX__AT_RECURSIVE 0x8000
#define SBX__CAP_VERSION 0x20080522u
#define SBX__CAP_SYS_PTRACE 19
#define SBX__PR_CAP_AMBIENT 47
#define SBX__PR_GET_TID_ADDRESS 40
#define SBX__NO_ROOT 0xEF /* securebits: user 0 has no capabilities by being user 0, for good */
#define SBX__SECCOMP_NOTIF_RECV 0xC0502100ul
#define SBX__NS_GET_PARENT 0xB702
enum { /* these numbers are the same on every architecture */
    SBX__NR_pidfd_send_signal = 424, SBX__NR_open_tree = 428, SBX__NR_move_mount = 429,
    SBX__NR_pidfd_open = 434, SBX__NR_close_range = 436, SBX__NR_mount_setattr = 442,
    SBX__NR_landlock_create_ruleset = 444, SBX__NR_landlock_add_rule = 445,
    SBX__NR_landlock_restrict_self = 446
};
enum { /* LANDLOCK_ACCESS_FS_... */
    SBX__EXECUTE = 1 << 0, SBX__WRITE_FILE = 1 << 1, SBX__READ_FILE = 1 << 2,
    SBX__READ_DIR = 1 << 3, SBX__MAKE_CHAR = 1 << 6, SBX__MAKE_BLOCK = 1 << 11,
    SBX__REFER = 1 << 13, SBX__TRUNCATE = 1 << 14, SBX__IOCTL_DEV = 1 << 15,
    SBX__READ_TREE = SBX__EXECUTE | SBX__READ_FILE | SBX__READ_DIR,
    SBX__ON_FILES = SBX__EXECUTE | SBX__WRITE_FILE | SBX__READ_FILE | SBX__TRUNCATE | SBX__IOCTL_DEV
};
#if defined(__x86_64__) && !defined(__ILP32__)
#define SBX__ARCH 0xC000003Eu /* AUDIT_ARCH_... */
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
typedef struct sbx__pidfd_info { /* struct pidfd_info, first version */
    unsigned long long mask, cgroup;
    unsigned int ids[11];
    int exit_status;
} sbx__pidfd_info;
#else
#define SBX__LINUX 0
#define SBX__SIGNALS (NSIG - 1)
#endif

#ifdef __cplusplus
extern "C" {
#endif
extern char **environ;
#if SBX__LINUX && !defined(__cplusplus)
int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#endif

#define SBX__SECOND 1000000LL              /* all times inside are microseconds, monotonic */
#define SBX__NEVER LLONG_MAX
#define SBX__EMPTY_WAIT (5 * SBX__SECOND)  /* for killed leftovers to vanish */
#define SBX__END_WAIT (25 * SBX__SECOND)   /* for pid 1, which waits for all of them */
#define SBX__SAMPLE 10000LL                /* memory and CPU are looked at so often, ... */
#define SBX__PART 20                       /* ... but for one part in so many of a CPU at most */
#define SBX__SAVED 50000LL                 /* once more that for closer looks, which can be saved */
#define SBX__CHUNK 65536                   /* room for one read; a pipe's usual size */
#define SBX__BIG_PIPE (1 << 20)            /* what a pipe grows to once the child has filled it */
#define SBX__STACK 24576                   /* of a vfork child; ... */
#define SBX__STACKS 6                      /* ... a fresh one each: sanitizers remember frames */
#define SBX__MAX_MS 1000000000000LL        /* about 31 years */
#define SBX__MAX_BYTES (1LL << 50)
#define SBX__MAX_COUNT (1LL << 30)
#define SBX__LIMITS 10                     /* rlimits of a child */
#define SBX__RET_AT 512                    /* sbx_call: where ret stands in the shared pages */

/* ==== data: config -> plan -> box -> evidence -> result ====================================== */

/* Descriptors of a box; the loop watches them by index. */
enum { SBX__IN, SBX__OUT, SBX__ERR, SBX__EXIT, SBX__CANCEL, SBX__REPORT, SBX__INIT, SBX__NOTIFY,
       SBX__LIFE, SBX__RESULT, SBX__PROC, SBX__FDS };

typedef struct sbx__failure {        /* from a child that could not start */
    sbx_step step;                   /* NONE: a descriptor comes with it, for fd[which]; */
    int error, which;                /* ... with the program's pidfd, error is its pid */
} sbx__failure;

typedef struct sbx__shared {         /* sbx_call: what the child leaves, before ret */
    unsigned long long done;         /* the plan's token, once the function has returned 0 */
    int failed;                      /* sbx_fail was called: */
    char text[256];
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

typedef struct sbx__limit {
    const char *name;
    int which;
    unsigned long long value[2];     /* soft, hard: struct rlimit64 */
} sbx__limit;

typedef struct sbx__plan {           /* everything a child needs; nothing is allocated after it */
    sbx_config cfg;                  /* with every default filled in; -1 = none */
    const char *path, *cwd;          /* absolute; cwd NULL = stay */
    const char *const *argv;
    char **envp;
    const char *shell[4];            /* argv of cfg.command */
    int fd[3];                       /* become 0, 1, 2; -1 = the host's own stays */
#define SBX__OWN_NULL (-2)           /* ... but for this: the child opens /dev/null */
    int report;                      /* close-on-exec: carries a sbx__failure, or just closes */
    int cgroup;                      /* cgroup.procs of the box's own group; -1 = none */
    sbx__limit limits[SBX__LIMITS];
    int limit_count;
    long long deadline;
    int tree, user_ns;               /* in the PID namespace of init_fd, and its user namespace */
    int init_fd, life, null, image;
    int gate[2];                     /* in a tree: opens when the process that enters it is gone */
    int shares;                      /* the child wrote this: it is no copy of the host */
    const char *init_path;           /* of cat, if image cannot be run; NULL = the forked init */
    char uid_map[48], gid_map[48];
    int ruleset;                     /* Landlock; -1 = no policy */
    sbx__insn *filter;               /* seccomp */
    int filter_size;
    sbx__writable *writable;
    int writable_count;
    int handle;                      /* for sbx_start */
    sbx_fn fn;                       /* sbx_call: instead of path */
    void *arg;
    size_t ret_size, fn_stack;
    int result;                      /* the memory for its result: a memfd; -1 = shared is mapped */
    sbx__shared *shared;
    unsigned long long token;
    char *memory, *free_memory;      /* stacks, then strings */
    int stacks;                      /* handed out */
} sbx__plan;

typedef struct sbx__task {           /* a process of the tree, as /proc shows it */
    int pid, parent, group, session, dead, member;
    int no_exec;                     /* forked, and still the program that forked it */
    long long cpu, reaped;           /* ticks: its own, and of children it waited for */
    long long credit;                /* ticks of vanished descendants */
    int thread;                      /* its first one has ended: this one is asked; 0 = itself */
    long long rss, tables;           /* bytes, at the last look: in use, and for page tables */
    long long share, pss, resident;  /* at the last closer look */
    int host;                        /* its number on the host's side; 0 = not asked for */
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
    pid_t pid, init;                 /* the program; pid 1 of its namespace, 0 = the group only */
    int fd[SBX__FDS], top_fd;
    int cancel_fd;                   /* where sbx_cancel writes */
    const char *input;
    char *input_copy;
    size_t input_left;
    int want_write;                  /* sbx_write found the pipe full */
    sbx_output output[2];
    size_t capacity[2];
    int busy[2];                     /* the stream has filled its pipe once */
    long long kept;                  /* bytes of both */
    long long started, deadline, ended;
    long long kill_at;               /* SIGKILL after the grace */
    long long look_at, look_step;    /* next look at what no descriptor tells */
    long long empty_by;              /* LEAVING: give up waiting for leftovers */
    long long sample_at, sample_step, sampled_at, scan_at;
    long long credit;                /* time for closer looks at memory */
    int crowd;                       /* how many boxes are waited for with it */
    int stopping, killed;            /* a reason is noted; a signal was sent */
    int late;                        /* the deadline was over before the program could start */
    int gone;                        /* the host collected it first */
    long long held;                  /* it has ended, but a tracer holds its status: until when */
    int denied;                      /* number of the forbidden system call */
    sbx_evidence seen;
    unsigned enforced;
    sbx__failure failure;
    struct rusage usage;
    long long host_peak, host_tables, peak, peak_space, used, weighed; /* bytes */
    int doubt, mapped;               /* sizes may count pages twice: shared, or mapped twice */
    long long cpu_us, cpu_gone;      /* of the tree; ticks of tasks that nobody waited for */
    sbx__tasks tasks;
    char *cgroup;                    /* the box's own group; NULL = none */
    int self;                        /* the program's number in the /proc of fd[SBX__PROC] */
    int call;                        /* a function: pages shared with the host are not its memory */
    sbx__shared *shared, left;       /* where no memfd can be had; what it left */
    size_t shared_size;
    unsigned long long token;
};

/* clang-format on */

/* ==== small helpers ========================================================================== */

static long long sbx__clock(clockid_t which) { /* in us */
    struct timespec t;
    clock_gettime(which, &t);
    return (long long)t.tv_sec * SBX__SECOND + t.tv_nsec / 1000;
}

static long long sbx__now(void) { return sbx__clock(CLOCK_MONOTONIC); }

static void *sbx__zalloc(size_t size) {
    void *p = SBX_REALLOC(NULL, size);
    return p ? memset(p, 0, size) : NULL;
}

static void sbx__close(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static void sbx__blank(sbx_result *r) {
    memset(r, 0, sizeof *r);
    r->out.data = r->err.data = (char *)""; /* on the heap only where size > 0: see sbx_free */
    r->exit_code = -1;
    r->peak_bytes = -1;
}

/* Writes why nothing runs. Returns 0, for `return sbx__refuse(...)`. */
#ifdef __GNUC__
static int sbx__refuse(sbx_result *r, sbx_step step, int error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
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

static int sbx__no_memory(sbx_result *r, const char *what) {
    return sbx__refuse(r, SBX_STEP_MEMORY, ENOMEM, "the host has no memory for %s", what);
}

/* Text for a message: control characters would break the sentence, or the terminal it lands on. */
static const char *sbx__plain(char *to, size_t room, const char *from) {
    size_t n = sbx_utf8_prefix(from, strlen(from), room - 1), i;
    for (i = 0; i < n; i++) to[i] = (unsigned char)from[i] < 32 || from[i] == 127 ? ' ' : from[i];
    to[n] = 0;
    return to;
}

/* The host may run with 0, 1 or 2 closed. A descriptor of ours there would be a child's stream. */
static int sbx__move_up(int fd, int least) {
    int up;
    if (fd < 0 || fd >= least) return fd;
    up = fcntl(fd, F_DUPFD_CLOEXEC, least);
    close(fd);
    return up;
}

static int sbx__open_null(void) { return sbx__move_up(open("/dev/null", O_RDWR | O_CLOEXEC), 3); }

/* If it fails, the caller closes what there is. */
static int sbx__pipe(int *read_end, int *write_end) {
    int fd[2];
#if SBX__LINUX
    if (syscall(SYS_pipe2, fd, O_CLOEXEC) != 0) return 0;
#else
    if (pipe(fd) != 0) return 0;
    fcntl(fd[0], F_SETFD, FD_CLOEXEC);
    fcntl(fd[1], F_SETFD, FD_CLOEXEC);
#endif
    *read_end = sbx__move_up(fd[0], 3);
    *write_end = sbx__move_up(fd[1], 3);
    return *read_end >= 0 && *write_end >= 0;
}

#if SBX__LINUX
/* Memory as a file. Past the host's own limit on files, filling it would raise SIGXFSZ. */
static int sbx__memfd(const char *name, unsigned flags, size_t size) {
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < size) return -1;
    return sbx__move_up((int)syscall(SYS_memfd_create, name, flags), 5);
}
#endif

static int sbx__nonblocking(int fd) { return fcntl(fd, F_SETFL, O_NONBLOCK) == 0; }

static long long sbx__maxrss(const struct rusage *usage) {
    return (long long)usage->ru_maxrss * SBX__MAXRSS_UNIT;
}

static long long sbx__time_us(const struct timeval *t) {
    return (long long)t->tv_sec * SBX__SECOND + t->tv_usec;
}

static pid_t sbx__collect(pid_t pid, int flags, struct rusage *usage) {
    pid_t got;
    do got = wait4(pid, NULL, flags | SBX__WALL, usage);
    while (got < 0 && errno == EINTR);
    return got;
}

static const char *sbx__signal_name(int number) {
    /* clang-format off */
    static const struct { int number; const char *name; } names[] = {
        {SIGHUP, "SIGHUP"}, {SIGINT, "SIGINT"}, {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
        {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"},
        {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
        {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
        {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}};
    /* clang-format on */
    size_t i;
    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == number) return names[i].name;
    return "no name";
}

/* ==== defaults and validation ================================================================ */

/* clang-format off */
static const struct sbx__field {
    const char *name;
    size_t offset;
    long long zero, most; /* what 0 means; the largest value that makes sense */
    int rlimit;           /* -1 = not one of the kernel's */
    unsigned by;
} sbx__fields[] = {
    {"timeout_ms", offsetof(sbx_config, timeout_ms), 30000, SBX__MAX_MS, -1, 0},
    {"grace_ms", offsetof(sbx_config, grace_ms), 3000, SBX__MAX_MS, -1, 0},
    {"output_bytes", offsetof(sbx_config, output_bytes), 1 << 20, SBX__MAX_BYTES, -1, 0},
    {"cpu_ms", offsetof(sbx_config, cpu_ms), -1, SBX__MAX_MS, RLIMIT_CPU, SBX_BY_RLIMIT_CPU},
    {"memory_bytes", offsetof(sbx_config, memory_bytes), -1, SBX__MAX_BYTES, -1, 0},
    {"address_space_bytes", offsetof(sbx_config, address_space_bytes), -1, SBX__MAX_BYTES,
     SBX__RLIMIT_AS, SBX_BY_RLIMIT_AS},
    {"file_bytes", offsetof(sbx_config, file_bytes), -1, SBX__MAX_BYTES, RLIMIT_FSIZE,
     SBX_BY_RLIMIT_FSIZE},
    {"stack_bytes", offsetof(sbx_config, stack_bytes), -1, SBX__MAX_BYTES, RLIMIT_STACK,
     SBX_BY_RLIMIT_STACK},
    {"processes", offsetof(sbx_config, processes), -1, SBX__MAX_COUNT, RLIMIT_NPROC,
     SBX_BY_RLIMIT_NPROC},
    {"open_files", offsetof(sbx_config, open_files), -1, SBX__MAX_COUNT, RLIMIT_NOFILE,
     SBX_BY_RLIMIT_NOFILE}};
/* clang-format on */
#define SBX__FIELDS (sizeof sbx__fields / sizeof sbx__fields[0])

static long long *sbx__value(sbx_config *cfg, size_t field) {
    return (long long *)(void *)((char *)cfg + sbx__fields[field].offset);
}

static int sbx__check_limits(sbx_config *cfg, sbx_result *r) {
    size_t i;
    for (i = 0; i < SBX__FIELDS; i++) {
        long long *v = sbx__value(cfg, i), most = sbx__fields[i].most;
        if (*v < SBX_UNLIMITED || *v > most)
            return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL,
                               "%s = %lld is out of range: 0 is the default, -1 is none, %lld is "
                               "the most",
                               sbx__fields[i].name, *v, most);
        if (*v == 0) *v = sbx__fields[i].zero;
    }
    if (cfg->grace_ms < 0) cfg->grace_ms = 0; /* from here on 0 is 0 */
    return 1;
}

static int sbx__check_stream(sbx_result *r, const char *name, sbx_io mode, unsigned allowed, int fd,
                             int own) {
    if ((int)mode < 0 || mode > SBX_PIPE || !(allowed & 1u << mode))
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "%s = %d is not a mode of this stream", name,
                           (int)mode);
    if (mode == SBX_FD && fcntl(fd, F_GETFD) < 0)
        return sbx__refuse(r, SBX_STEP_CONFIG, EBADF, "%s_fd = %d is not open", name, fd);
    if (mode == SBX_INHERIT && fcntl(own, F_GETFD) < 0)
        return sbx__refuse(r, SBX_STEP_CONFIG, EBADF,
                           "%s = SBX_INHERIT, but the host's descriptor %d is closed", name, own);
    return 1;
}

static int sbx__check_io(const sbx_config *cfg, int handle, sbx_result *r) {
    unsigned any = 1u << SBX_DEFAULT | 1u << SBX_DISCARD | 1u << SBX_INHERIT | 1u << SBX_FD;
    unsigned long size = (unsigned long)cfg->input_size;
    if (!sbx__check_stream(r, "in", cfg->in, any | 1u << SBX_PIPE, cfg->in_fd, 0) ||
        !sbx__check_stream(r, "out", cfg->out, any, cfg->out_fd, 1) ||
        !sbx__check_stream(r, "err", cfg->err, any | 1u << SBX_MERGE, cfg->err_fd, 2))
        return 0;
    if (cfg->in == SBX_PIPE && !handle)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL,
                           "in = SBX_PIPE needs sbx_start: here nobody could call sbx_write");
    if ((size && !cfg->input) || size > (size_t)-1 / 4)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "input_size = %lu, but input is %s", size,
                           cfg->input ? "not that large" : "NULL");
    if (cfg->input && cfg->in != SBX_DEFAULT)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "input is set, but in = %d does not read it",
                           (int)cfg->in);
    return 1;
}

static int sbx__check_program(const sbx_config *cfg, sbx_fn fn, sbx_result *r) {
    const char *const *e;
    char shown[80];
    for (e = cfg->env; e && *e; e++)
        if (**e == '=' || !strchr(*e, '='))
            return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "env[%d] = \"%s\" is not NAME=value",
                               (int)(e - cfg->env), sbx__plain(shown, sizeof shown, *e));
    if (fn && (cfg->argv || cfg->command))
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "%s is set, but sbx_call runs a function",
                           cfg->argv ? "argv" : "command");
    if (!fn && !cfg->argv == !cfg->command)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "argv and command are %s: set one of them",
                           cfg->argv ? "both set" : "both NULL");
    if (cfg->argv && (!cfg->argv[0] || !cfg->argv[0][0]))
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "argv[0] = %s: it names the program",
                           cfg->argv[0] ? "\"\"" : "NULL");
    return 1;
}

static int sbx__check_places(const sbx_config *cfg, sbx_result *r) {
    struct stat st;
    char shown[120];
    int error = !cfg->cwd                  ? 0
                : stat(cfg->cwd, &st) != 0 ? errno
                : S_ISDIR(st.st_mode)      ? 0
                                           : ENOTDIR;
    if (error)
        return sbx__refuse(r, SBX_STEP_CWD, error, "cwd = \"%s\": %s",
                           sbx__plain(shown, sizeof shown, cfg->cwd), strerror(error));
    if ((int)cfg->contain < 0 || cfg->contain > SBX_CONTAIN_TREE)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "contain = %d is not a containment",
                           (int)cfg->contain);
    if (cfg->policy && cfg->contain == SBX_CONTAIN_GROUP)
        return sbx__refuse(r, SBX_STEP_POLICY, EINVAL,
                           "policy is set, but contain = SBX_CONTAIN_GROUP leaves the host's "
                           "processes in reach");
    if (!SBX__LINUX && (cfg->policy || cfg->cgroup))
        return sbx__refuse(r, cfg->policy ? SBX_STEP_POLICY : SBX_STEP_CGROUP, ENOSYS,
                           "%s is set, but only Linux can enforce it",
                           cfg->policy ? "policy" : "cgroup");
    return 1;
}

/* ==== prepare: resolve and allocate everything before a process exists ======================= */

static int sbx__start_init(sbx__plan *p, sbx *b);
static void sbx__end_init(sbx *b);
static int sbx__plan_cgroup(sbx__plan *p, sbx *b, sbx_result *r);
static void sbx__end_cgroup(sbx *b);
static int sbx__plan_policy(sbx__plan *p, sbx *b, sbx_result *r);
static void sbx__plan_policy_free(sbx__plan *p);
static int sbx__can_watch(void);
static long long sbx__user_tasks(void);

/* Text that was put into the plan's memory, whose size sbx__plan_program knows, stays. */
static const char *sbx__keep(sbx__plan *p) {
    const char *text = p->free_memory;
    p->free_memory += strlen(text) + 1;
    return text;
}

/* A relative path starts from the host's directory, whatever cwd says. NULL: that one is gone. */
static const char *sbx__absolute(sbx__plan *p, const char *path) {
    if (path[0] == '/') return path;
    if (!getcwd(p->free_memory, PATH_MAX)) return NULL;
    strcat(strcat(p->free_memory, "/"), path);
    return sbx__keep(p);
}

static int sbx__gone_cwd(sbx_result *r) {
    return sbx__refuse(r, SBX_STEP_CWD, errno, "the host's own directory cannot be named: %s",
                       strerror(errno));
}

/* The host's PATH counts, not the child's. */
static int sbx__find(sbx__plan *p, const char *name, const char *search, sbx_result *r) {
    char shown[80];
    struct stat st;
    int error = ENOENT;
    if (strchr(name, '/')) { /* exec itself tells best what is wrong with it */
        p->path = sbx__absolute(p, name);
        return p->path ? 1 : sbx__gone_cwd(r);
    }
    for (;; search++) {
        size_t n = strcspn(search, ":");
        memcpy(p->free_memory, n ? search : ".", n ? n : 1);
        strcpy(p->free_memory + (n ? n : 1), "/");
        strcat(p->free_memory, name);
        if (stat(p->free_memory, &st) == 0 && S_ISREG(st.st_mode)) {
            if (access(p->free_memory, X_OK) == 0) {
                p->path = sbx__absolute(p, sbx__keep(p));
                return p->path ? 1 : sbx__gone_cwd(r);
            }
            error = EACCES;
        }
        search += n;
        if (!*search) break;
    }
    sbx__plain(shown, sizeof shown, name);
    return sbx__refuse(r, SBX_STEP_EXEC, error,
                       error == EACCES ? "'%s' is on PATH, but may not be run"
                                       : "'%s' was not found on PATH",
                       shown);
}

static size_t sbx__count(const char *const *list) {
    size_t n = 0;
    while (list && list[n]) n++;
    return n;
}

static int sbx__has_name(const char *const *env, size_t count, const char *entry) {
    size_t n = strcspn(entry, "="), i;
    for (i = 0; i < count; i++)
        if (strncmp(env[i], entry, n) == 0 && env[i][n] == '=') return 1;
    return 0;
}

static void sbx__name(sbx *b, const sbx__plan *p) {
    const char *name = p->cfg.command ? "sh" : p->fn ? "" : p->cfg.argv[0];
    const char *slash = strrchr(name, '/');
    char shown[40];
    sbx__plain(shown, sizeof shown, slash && slash[1] ? slash + 1 : name);
    snprintf(b->who, sizeof b->who, p->fn ? "the function" : "'%s'", shown);
}

static int sbx__plan_program(sbx__plan *p, sbx *b, sbx_result *r) {
    const sbx_config *cfg = &p->cfg;
    const sbx_policy *policy = cfg->policy;
    const char *const *host = (const char *const *)environ;
    const char *search = getenv("PATH"), *tmp = policy && policy->write ? policy->write[0] : NULL;
    const char *name = p->fn ? "" : cfg->command ? "/bin/sh" : cfg->argv[0];
    size_t stacks = p->fn && cfg->contain == SBX_CONTAIN_GROUP ? 0 : SBX__STACKS * SBX__STACK;
    size_t given = sbx__count(cfg->env), inherited = cfg->inherit_env ? sbx__count(host) : 0;
    size_t room, i, n = 0;
    if (!search) search = "/usr/local/bin:/usr/bin:/bin";
    room = stacks + (given + inherited + 2) * sizeof *p->envp + 4 * PATH_MAX + 2 * strlen(search) +
           2 * strlen(name) + (tmp ? strlen(tmp) : 0) + (cfg->cwd ? strlen(cfg->cwd) : 0) + 64;
    p->memory = (char *)SBX_REALLOC(NULL, room);
    if (!p->memory) return sbx__no_memory(r, "a child");
    p->shell[0] = "sh";
    p->shell[1] = "-c";
    p->shell[2] = cfg->command;
    p->argv = cfg->command ? p->shell : cfg->argv;
    p->envp = (char **)(void *)(p->memory + stacks);
    p->free_memory = (char *)(p->envp + given + inherited + 2);
    for (i = 0; i < inherited; i++)
        if (!sbx__has_name(cfg->env, given, host[i])) p->envp[n++] = (char *)host[i];
    for (i = 0; i < given; i++) p->envp[n++] = (char *)cfg->env[i];
    if (tmp && !sbx__has_name((const char *const *)p->envp, n, "TMPDIR=")) {
        strcpy(p->free_memory, "TMPDIR=");
        /* The policy will say why. */
        if (!realpath(tmp, p->free_memory + 7)) strcpy(p->free_memory + 7, tmp);
        p->envp[n++] = (char *)sbx__keep(p);
    }
    p->envp[n] = NULL;
    p->cwd = cfg->cwd;
    if (policy) p->cwd = sbx__absolute(p, cfg->cwd ? cfg->cwd : "."); /* under its own mounts */
    if (policy && !p->cwd) return sbx__gone_cwd(r);
    sbx__name(b, p);
    return p->fn ? 1 : sbx__find(p, name, search, r);
}

static int sbx__plan_tree(sbx__plan *p, sbx *b, sbx_result *r) {
    const char *what = p->cfg.policy ? "policy" : "contain = SBX_CONTAIN_TREE", *hint = "";
    if (p->cfg.contain == SBX_CONTAIN_GROUP) return 1;
    p->tree = sbx__start_init(p, b);
    if (p->tree) b->enforced |= SBX_BY_TREE;
    if (p->tree) return 1;
    if (errno == EMFILE || errno == ENFILE) /* no reason to contain less */
        return sbx__refuse(r, SBX_STEP_IO, errno, "no descriptors for the tree: %s",
                           strerror(errno));
    if (p->cfg.contain == SBX_CONTAIN_AUTO && !p->cfg.policy) return 1;
    if (SBX__LINUX && (errno == EPERM || errno == ENOSPC || errno == EACCES) && geteuid() != 0)
        hint = " (allow user namespaces, or run as root)";
    if (errno == ESRCH) hint = " (/proc is missing, or speaks of other processes)";
    return sbx__refuse(r, p->cfg.policy ? SBX_STEP_POLICY : SBX_STEP_CONTAIN, errno,
                       "%s needs a PID namespace, and none can be had: %s%s", what, strerror(errno),
                       hint);
}

static void sbx__add_limit(sbx__plan *p, const char *name, int which, long long soft, int above) {
    sbx__limit *limit = &p->limits[p->limit_count++];
    struct rlimit now;
    limit->name = name;
    limit->which = which;
    limit->value[0] = (unsigned long long)soft;
    limit->value[1] = (unsigned long long)(soft + above);
    if (soft == 0 || getrlimit(SBX__RLIMIT(which), &now) != 0 || now.rlim_max == RLIM_INFINITY)
        return;
    if (limit->value[1] > now.rlim_max) limit->value[1] = now.rlim_max; /* stricter yet */
    if (limit->value[0] > now.rlim_max) limit->value[0] = now.rlim_max;
}

static int sbx__plan_limits(sbx__plan *p, sbx *b, sbx_result *r) {
    sbx_config set = p->cfg; /* what the kernel is told */
    int watch = !b->cgroup && (set.memory_bytes >= 0 || set.cpu_ms >= 0) && sbx__can_watch();
    size_t i;
    b->enforced |= SBX_BY_SESSION | SBX_BY_RLIMIT_CORE | (watch ? SBX_BY_WATCH : 0);
    if (set.memory_bytes >= 0 && !watch && !b->cgroup &&
        (set.address_space_bytes < 0 || set.address_space_bytes > set.memory_bytes))
        set.address_space_bytes = set.memory_bytes; /* nothing better here */
    if (set.address_space_bytes >= 0 && SBX__RLIMIT_AS < 0)
        return sbx__refuse(r, SBX_STEP_LIMITS, ENOSYS,
                           "%s = %lld: this system cannot limit a process's memory",
                           set.memory_bytes >= 0 ? "memory_bytes" : "address_space_bytes",
                           set.address_space_bytes);
    b->cfg.address_space_bytes = set.address_space_bytes;
    if (set.cpu_ms >= 0) /* of each process, in seconds: the backstop where the tree is summed */
        set.cpu_ms = (set.cpu_ms + 999) / 1000 + (watch || b->cgroup ? 1 : 0);
    if (set.processes >= 0 && b->cgroup) set.processes = -1;
    if (set.processes >= 0) { /* counts all of the user's tasks, unless there is a user namespace */
        if (getuid() == 0 || geteuid() == 0)
            return sbx__refuse(r, SBX_STEP_LIMITS, EPERM,
                               "processes = %lld does not bind root: give a cgroup, or run as an "
                               "ordinary user",
                               set.processes);
        set.processes += p->tree && p->user_ns ? 1 : sbx__user_tasks(); /* with pid 1 of the tree */
    }
    sbx__add_limit(p, "no core dumps", RLIMIT_CORE, 0, 0);
    for (i = 0; i < SBX__FIELDS; i++) {
        long long v = *sbx__value(&set, i);
        if (sbx__fields[i].rlimit < 0 || v < 0) continue;
        sbx__add_limit(p, sbx__fields[i].name, sbx__fields[i].rlimit, v,
                       sbx__fields[i].rlimit == RLIMIT_CPU); /* hard above soft: SIGXCPU first */
        b->enforced |= sbx__fields[i].by;
    }
    if (b->enforced & SBX_BY_RLIMIT_AS) b->seen.saw |= SBX_SAW_MEMORY_LIMIT;
    if (b->enforced & SBX_BY_RLIMIT_FSIZE) b->seen.saw |= SBX_SAW_FILE_LIMIT;
    return 1;
}

static int sbx__plan_stream(sbx__plan *p, sbx *b, int i, sbx_io mode, int fd) {
    int piped = mode == SBX_PIPE || (mode == SBX_DEFAULT && (i > 0 || p->cfg.input));
    if (mode == SBX_INHERIT || mode == SBX_MERGE) return 1;
    if (mode == SBX_FD) return (p->fd[i] = fcntl(fd, F_DUPFD_CLOEXEC, 3)) >= 0;
    if (!piped && p->cfg.policy)
        return (p->fd[i] = SBX__OWN_NULL) < 0; /* not on the host's mount */
    if (!piped) return (p->fd[i] = sbx__open_null()) >= 0;
    return (i == 0 ? sbx__pipe(&p->fd[0], &b->fd[SBX__IN]) : sbx__pipe(&b->fd[i], &p->fd[i])) &&
           sbx__nonblocking(b->fd[i]);
}

/* A pipe; in a tree a socket, because descriptors come back through it. What a function leaves
   stands behind its result, in the same file: without a descriptor it cannot make that longer. */
static int sbx__plan_report(sbx__plan *p, sbx *b) {
#if SBX__LINUX
    int gated = p->fn || (p->user_ns && b->enforced & SBX_BY_RLIMIT_NPROC), fd[2];
    if (p->result >= 0 && !p->tree) return 1;
    if (p->tree) {
        if (gated && !sbx__pipe(&p->gate[0], &p->gate[1])) return 0;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0) return 0;
        b->fd[SBX__REPORT] = sbx__move_up(fd[0], 3);
        p->report = sbx__move_up(fd[1], 3);
        return p->report >= 0 && sbx__nonblocking(b->fd[SBX__REPORT]);
    }
#endif
    return sbx__pipe(&b->fd[SBX__REPORT], &p->report) && sbx__nonblocking(b->fd[SBX__REPORT]);
}

static int sbx__plan_cancel(sbx *b) {
#if SBX__LINUX
    b->cancel_fd = sbx__move_up((int)syscall(SYS_eventfd2, 0, O_CLOEXEC | O_NONBLOCK), 3);
    return (b->fd[SBX__CANCEL] = b->cancel_fd) >= 0;
#else
    return sbx__pipe(&b->fd[SBX__CANCEL], &b->cancel_fd) && sbx__nonblocking(b->cancel_fd) &&
           sbx__nonblocking(b->fd[SBX__CANCEL]);
#endif
}

static int sbx__plan_streams(sbx__plan *p, sbx *b, sbx_result *r) {
    const sbx_config *cfg = &p->cfg;
    if (sbx__plan_stream(p, b, 0, cfg->in, cfg->in_fd) &&
        sbx__plan_stream(p, b, 1, cfg->out, cfg->out_fd) &&
        sbx__plan_stream(p, b, 2, cfg->err, cfg->err_fd) && sbx__plan_report(p, b) &&
        (!p->handle || sbx__plan_cancel(b)))
        return 1;
    return sbx__refuse(r, SBX_STEP_IO, errno, "no pipe, or no /dev/null, for the child: %s",
                       strerror(errno));
}

static int sbx__plan_call(sbx__plan *p, sbx *b, sbx_result *r) {
    struct rlimit stack;
    if (!p->fn) return 1;
    b->call = 1;
    b->shared_size = SBX__RET_AT + p->ret_size;
#if SBX__LINUX /* only the child maps it: another thread's child would inherit a mapping of ours */
    b->fd[SBX__RESULT] = sbx__memfd("sbx", 1, b->shared_size + sizeof(sbx__failure));
    if (b->fd[SBX__RESULT] >= 0 && ftruncate(b->fd[SBX__RESULT], (off_t)b->shared_size) == 0 &&
        lseek(b->fd[SBX__RESULT], 0, SEEK_END) == (off_t)b->shared_size)
        p->result = b->fd[SBX__RESULT];
#endif
    if (p->result < 0) {
        void *all =
            mmap(NULL, b->shared_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
        if (all == MAP_FAILED) return sbx__no_memory(r, "the function's result");
        b->shared = p->shared = (sbx__shared *)all;
    }
    /* Not a secret, only a value that no stray write of the function produces. */
    p->token = ((unsigned long long)sbx__now() << 20 ^ (unsigned long long)(size_t)b) | 1;
    b->token = p->token;
    p->fn_stack = 8u << 20; /* in a tree: what it is used to, plus a guard page */
    if (p->cfg.stack_bytes > 0) p->fn_stack = (size_t)p->cfg.stack_bytes;
    else if (p->tree && getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < (rlim_t)(1u << 28))
        p->fn_stack = (size_t)stack.rlim_cur;
    p->fn_stack = (p->fn_stack + 2 * 65536) & ~(size_t)65535;
    return 1;
}

static int sbx__plan_input(sbx__plan *p, sbx *b, sbx_result *r) {
    b->input = (const char *)b->cfg.input;
    b->input_left = b->cfg.input_size;
    if (!p->handle || !b->input_left) return 1;
    /* The caller's may go before it is read. */
    b->input_copy = (char *)SBX_REALLOC(NULL, b->input_left);
    if (!b->input_copy) return sbx__no_memory(r, "a copy of the input");
    b->input = (const char *)memcpy(b->input_copy, b->input, b->input_left);
    return 1;
}

/* Returns a box that may be half made; ok tells, and sbx__free_box takes either. */
static sbx *sbx__prepare(sbx__plan *p, int *ok, sbx_result *r) {
    static int (*const steps[])(sbx__plan *, sbx *, sbx_result *) = {
        sbx__plan_program, sbx__plan_tree, sbx__plan_cgroup,  sbx__plan_policy,
        sbx__plan_limits,  sbx__plan_call, sbx__plan_streams, sbx__plan_input};
    sbx *b = (sbx *)sbx__zalloc(sizeof *b);
    int i;
    p->fd[0] = p->fd[1] = p->fd[2] = p->report = p->life = p->null = p->cgroup = p->ruleset = -1;
    p->gate[0] = p->gate[1] = p->result = -1;
    *ok = b ? 1 : sbx__no_memory(r, "a box");
    if (!b) return NULL;
    for (i = 0; i < SBX__FDS; i++) b->fd[i] = -1;
    b->cfg = p->cfg;
    b->cancel_fd = b->seen.exit_code = -1;
    b->peak = -1;
    b->kill_at = b->look_at = b->sample_at = SBX__NEVER;
    for (i = 0; *ok && i < (int)(sizeof steps / sizeof steps[0]); i++) *ok = steps[i](p, b, r);
    return b;
}

static void sbx__free_plan(sbx__plan *p) {
    int i;
    for (i = 0; i < 3; i++) sbx__close(&p->fd[i]);
    sbx__close(&p->report);
    sbx__close(&p->gate[0]);
    sbx__close(&p->gate[1]);
    sbx__close(&p->cgroup);
    sbx__plan_policy_free(p);
    SBX_FREE(p->memory);
}

static void sbx__free_box(sbx *b) {
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

/* ==== child: before exec. Async-signal-safe calls only: no memory, no locks, no stdio ======== */

/* On Linux mostly by syscall(), or through a pointer: functions that the host has not called yet
   the dynamic linker would look up in every forked child anew, for 10 us each. */

/* Ends this process only. On Linux not by _exit, before which sanitizers inspect the stack. */
static void sbx__quit(int code) {
#if SBX__LINUX
    syscall(SYS_exit_group, code);
#else
    _exit(code);
#endif
}

static void sbx__quit_with(int report, sbx_step step, int which) {
    sbx__failure failure;
    memset(&failure, 0, sizeof failure);
    failure.step = step;
    failure.error = errno;
    failure.which = which;
    sbx__quit(write(report, &failure, sizeof failure) == (ssize_t)sizeof failure ? 127 : 126);
}

#if SBX__LINUX
/* Where close_range is missing. The bare system call lists them: opendir would allocate. */
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
                const char *c = list + at + 19; /* struct linux_dirent64: d_name */
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

/* The parent sleeps until exec, so it cannot hold an exec that hangs to the deadline. A timer of
   the child's own can: the kernel deletes it when the program starts. */
static void sbx__arm_deadline(long long deadline) {
#if defined(SYS_timer_settime) && !(defined(__x86_64__) && defined(__ILP32__))
    struct sigevent event;
    long when[4]; /* struct itimerspec of this system call, on 32 and 64 bits */
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

static void sbx__close_from(int from) {
    long top;
#if SBX__LINUX
    if (syscall(SBX__NR_close_range, (unsigned)from, ~0u, 0) == 0 || sbx__close_listed(from))
        return;
#endif
    for (top = sysconf(_SC_OPEN_MAX); from < top; from++) close(from);
}

static int sbx__dup(int from, int to, int flags) {
#if SBX__LINUX
    return from == to ? to : (int)syscall(SYS_dup3, from, to, flags);
#else
    return dup2(from, to) == to && (!flags || fcntl(to, F_SETFD, FD_CLOEXEC) == 0) ? to : -1;
#endif
}

/* exec resets handlers but keeps ignored signals ignored. All go back to the default before any is
   unblocked: until exec this process may share its memory with the host. */
static void sbx__reset_signals(int most) {
    int i;
#if SBX__LINUX
    char zero[64]; /* the kernel's struct sigaction: SIG_DFL, no flags, no mask */
    memset(zero, 0, sizeof zero);
    for (i = 1; i <= most; i++) syscall(SYS_rt_sigaction, i, zero, NULL, SBX__SIGNALS / 8L);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, zero, NULL, SBX__SIGNALS / 8L);
#else
    struct sigaction standard;
    sigset_t none;
    memset(&standard, 0, sizeof standard);
    standard.sa_handler = SIG_DFL;
    for (i = 1; i <= most; i++) sigaction(i, &standard, NULL);
    sigemptyset(&none);
    SBX__SIGMASK(SIG_SETMASK, &none, NULL);
#endif
}

static sbx_step sbx__become(const sbx__plan *p, int *report) {
    int i, first = 4;
#if SBX__LINUX
    if (syscall(SYS_setsid) < 0) return SBX_STEP_SESSION;
#else
    if (setsid() < 0) return SBX_STEP_SESSION;
#endif
    for (i = 0; i < 3; i++) { /* every source is above 2, so that none is overwritten */
        int from = i == 2 && p->cfg.err == SBX_MERGE ? 1 : p->fd[i];
        if (from == SBX__OWN_NULL && (from = sbx__open_null()) < 0) return SBX_STEP_IO;
        if (from >= 0 ? sbx__dup(from, i, 0) < 0 : fcntl(i, F_SETFD, 0) < 0) return SBX_STEP_IO;
    }
    if (sbx__dup(*report, 3, O_CLOEXEC) < 0) return SBX_STEP_IO;
    *report = 3;
    if (p->ruleset >= 0 && sbx__dup(p->ruleset, first++, 0) < 0) return SBX_STEP_IO;
    sbx__close_from(first);
    return p->cwd && chdir(p->cwd) != 0 ? SBX_STEP_CWD : SBX_STEP_NONE;
}

/* After the steps that need descriptors and processes themselves. */
static sbx_step sbx__limit_self(const sbx__plan *p, int *which) {
    for (*which = 0; *which < p->limit_count; ++*which) {
        const sbx__limit *limit = &p->limits[*which];
#if SBX__LINUX
        if (syscall(SYS_prlimit64, 0, limit->which, limit->value, NULL) != 0)
            return SBX_STEP_LIMITS;
#else
        struct rlimit value;
        value.rlim_cur = (rlim_t)limit->value[0];
        value.rlim_max = (rlim_t)limit->value[1];
        if (setrlimit(SBX__RLIMIT(limit->which), &value) != 0) return SBX_STEP_LIMITS;
#endif
    }
    /* 32 and 33 the threads of a function may need. */
    sbx__reset_signals(p->fn ? 31 : SBX__SIGNALS);
    return SBX_STEP_NONE;
}

static sbx_step sbx__exec(const sbx__plan *p) {
    struct timespec moment = {0, 1000000};
    int tries;
    for (tries = 0; tries < 500; tries++) {
        execve(p->path, (char *const *)p->argv, p->envp);
        if (errno != ETXTBSY) break;
        nanosleep(&moment, NULL); /* somebody has just written it, and is about to close it */
    }
    return SBX_STEP_EXEC;
}

#if SBX__LINUX
static int sbx__drop_caps(void) {
    unsigned caps[8]; /* struct __user_cap_header_struct, then twice the data */
    memset(caps, 0, sizeof caps);
    caps[0] = SBX__CAP_VERSION;
    return syscall(SYS_capset, caps, caps + 2) == 0;
}

/* A record with a descriptor: how the program's pidfd and the filter's own reach the host. */
typedef struct sbx__packet {
    struct msghdr head;
    struct iovec data;
    size_t control[CMSG_SPACE(sizeof(int)) / sizeof(size_t) + 1];
} sbx__packet;

static void sbx__pack(sbx__packet *k, sbx__failure *record) {
    memset(k, 0, sizeof *k);
    k->data.iov_base = record;
    k->data.iov_len = sizeof *record;
    k->head.msg_iov = &k->data;
    k->head.msg_iovlen = 1;
    k->head.msg_control = k->control;
    k->head.msg_controllen = CMSG_SPACE(sizeof(int));
}

static int sbx__send_fd(int report, int fd, int which, int pid) {
    struct cmsghdr *control;
    sbx__failure record;
    sbx__packet packet;
    memset(&record, 0, sizeof record);
    record.which = which;
    record.error = pid;
    sbx__pack(&packet, &record);
    control = CMSG_FIRSTHDR(&packet.head);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(control), &fd, sizeof fd);
    return syscall(SYS_sendmsg, report, &packet.head, MSG_NOSIGNAL) == (long)sizeof record;
}

static int sbx__set_read_only(const char *path) {
    unsigned long long attr[4] = {1, 0, 0, 0}; /* struct mount_attr: MOUNT_ATTR_RDONLY */
    return !syscall(SBX__NR_mount_setattr, AT_FDCWD, path, SBX__AT_RECURSIVE, attr, sizeof attr);
}

/* Writable trees are cloned before everything becomes read-only, and put back afterwards. With "/"
   among them that is everything, but not the kernel's settings. */
static int sbx__read_only_but(const sbx__plan *p) {
    int i, flags = SBX__AT_EMPTY_PATH | SBX__AT_RECURSIVE | O_CLOEXEC | 1; /* OPEN_TREE_CLONE */
    struct stat st;
    for (i = 0; i < p->writable_count; i++)
        if (strcmp(p->writable[i].path, "/") == 0)
            return (sbx__set_read_only("/proc") || errno == ENOENT || errno == EINVAL) &&
                   (sbx__set_read_only("/sys") || errno == ENOENT || errno == EINVAL);
    for (i = 0; i < p->writable_count; i++) {
        sbx__writable *w = &p->writable[i];
        int fd = open(w->path, SBX__O_PATH | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) != 0) return 0;
        if (st.st_dev != w->device || st.st_ino != w->inode) {
            errno = ESTALE; /* swapped since the host opened it */
            return 0;
        }
        w->tree = (int)syscall(SBX__NR_open_tree, fd, "", flags);
        if (w->tree < 0) return 0;
    }
    if (!sbx__set_read_only("/")) return 0;
    for (i = 0; i < p->writable_count; i++) {
        const sbx__writable *w = &p->writable[i]; /* MOVE_MOUNT_F_EMPTY_PATH: */
        if (syscall(SBX__NR_move_mount, w->tree, "", AT_FDCWD, w->path, 4) != 0) return 0;
    }
    return 1;
}

/* In a tree: a /proc that shows the numbers the tree itself knows; it is also the host's eye, which
   cannot be put out. Some containers refuse that; without a policy the host's then stays visible,
   which contains no less. A function under a policy sees none: /proc/self/exe leads to the host's
   file, past all mounts. Under a policy no later mount shows up, and everything but the writable
   trees becomes read-only, because Landlock does not guard modes, owners and times. */
static int sbx__own_view(const sbx__plan *p) {
    const sbx_policy *policy = p->cfg.policy;
    unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    int ok = syscall(SYS_unshare, SBX__CLONE_NEWNS) == 0 &&
             mount("none", "/", "none", MS_REC | (policy ? MS_PRIVATE : MS_SLAVE), "") == 0;
    int proc = -1;
    if (ok && mount("proc", "/proc", "proc", flags, "") == 0)
        proc = open("/proc", SBX__O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (proc >= 0) sbx__send_fd(p->report, proc, SBX__PROC, 0);
    ok = ok && (proc >= 0 || (policy && policy->no_system));
    if (ok && policy && (p->fn || proc < 0)) ok = mount("none", "/proc", "tmpfs", flags, "") == 0;
    if (policy && (!ok || !sbx__read_only_but(p))) return 0;
    if (p->user_ns && getuid() != 0 && !sbx__drop_caps()) ok = 0; /* exec would drop them too */
    return ok || !policy;
}

static int sbx__add_rule(int ruleset, int fd, unsigned access) {
    unsigned rule[3]; /* struct landlock_path_beneath_attr, packed: 64 bits and 32 */
    rule[0] = access;
    rule[1] = 0;
    rule[2] = (unsigned)fd;
    return syscall(SBX__NR_landlock_add_rule, ruleset, 1, rule, 0) == 0;
}

/* The last step, since it forbids the others: privileges, then files, then system calls. */
static sbx_step sbx__confine(const sbx__plan *p, int *which) {
    struct {
        unsigned short size;
        const sbx__insn *at;
    } program; /* struct sock_fprog */
    const sbx_policy *policy = p->cfg.policy;
    int i, proc;
    *which = 1;
    if (geteuid() == 0 && prctl(PR_SET_SECUREBITS, SBX__NO_ROOT, 0, 0, 0) != 0)
        return SBX_STEP_POLICY;
    if (!sbx__drop_caps() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return SBX_STEP_POLICY;
    *which = 2;
    if (!policy->no_system) { /* its own /proc did not exist when the host made the rules */
        proc = open("/proc", SBX__O_PATH | O_CLOEXEC);
        if (proc < 0 || !sbx__add_rule(4, proc, SBX__READ_TREE)) return SBX_STEP_POLICY;
        close(proc);
    }
    if (syscall(SBX__NR_landlock_restrict_self, 4, 0) != 0) return SBX_STEP_POLICY;
    close(4);
    *which = 3;
    program.size = (unsigned short)p->filter_size;
    program.at = p->filter;
    i = (int)syscall(SYS_seccomp, 1, policy->kill_on_denied ? 8 : 0, &program);
    if (i < 0 || (policy->kill_on_denied && !sbx__send_fd(3, i, SBX__NOTIFY, 0)))
        return SBX_STEP_POLICY;
    if (policy->kill_on_denied) close(i);
    return SBX_STEP_NONE;
}
#endif

static int sbx__call_child(const sbx__plan *p);

static int sbx__child(void *arg) {
    sbx__plan *p = (sbx__plan *)arg;
    int report = p->report < 0 ? p->result : p->report, which = 0;
    sbx_step failed;
#if SBX__LINUX
    char byte;
    p->shares = 1;
    if (!p->fn) sbx__arm_deadline(p->deadline);
    /* Until then that process shares a function's memory, or counts as one of the tree. A byte
       tells, not the end of the pipe: a copy of the host, from another thread, may hold it open. */
    while (p->gate[0] >= 0 && read(p->gate[0], &byte, 1) < 0 && errno == EINTR) {
    }
    if (p->tree && !sbx__own_view(p)) sbx__quit_with(report, SBX_STEP_POLICY, 0);
#endif
    if (p->cgroup >= 0 && write(p->cgroup, "0", 1) != 1) sbx__quit_with(report, SBX_STEP_CGROUP, 0);
    if (p->fn && p->result >= 0) {
        void *(*volatile map)(void *, size_t, int, int, int, off_t) = mmap;
        void *all =
            map(NULL, SBX__RET_AT + p->ret_size, PROT_READ | PROT_WRITE, MAP_SHARED, p->result, 0);
        if (all == MAP_FAILED) sbx__quit_with(report, SBX_STEP_MEMORY, 0);
        p->shared = (sbx__shared *)all;
    }
    failed = sbx__become(p, &report);
#if SBX__LINUX
    if (!failed && p->cfg.policy) failed = sbx__confine(p, &which);
#endif
    if (!failed) failed = sbx__limit_self(p, &which);
    if (!failed && p->fn) sbx__quit(sbx__call_child(p));
    if (!failed) failed = sbx__exec(p);
    sbx__quit_with(report, failed, which);
    return 0;
}

/* ==== /proc, as far as it is read (Linux) ==================================================== */

#if SBX__LINUX

static size_t sbx__read_file(int dir, const char *path, char *text, size_t room) {
    int fd =
        openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* root may have put a FIFO there */
    ssize_t n = 0;
    if (fd >= 0) {
        do n = read(fd, text, room - 1);
        while (n < 0 && errno == EINTR);
        close(fd);
    }
    text[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

/* 0 if the process is gone. */
static size_t sbx__proc_read(int proc, int pid, const char *name, char *text, size_t room) {
    char path[80];
    snprintf(path, sizeof path, "%d/%s", pid, name);
    return sbx__read_file(proc, path, text, room);
}

static long long sbx__number_after(const char *text, const char *label, long long none) {
    const char *at = strstr(text, label);
    return at ? strtoll(at + strlen(label), NULL, 10) : none;
}

/* pid (name) state parent group session tty tpgid flags 4x faults utime stime cutime cstime
   priority nice threads ... */
static int sbx__proc_stat(int proc, int pid, sbx__task *t) {
    char text[1024], *at;
    long long field[17];
    int i, ended;
    memset(t, 0, sizeof *t);
    if (!sbx__proc_read(proc, pid, "stat", text, sizeof text)) return 0;
    at = strrchr(text, ')'); /* the name may hold anything, a parenthesis too */
    if (!at || !at[1] || !at[2]) return 0;
    ended = at[2] == 'Z' || at[2] == 'X';
    for (at += 3, i = 0; i < 17; i++) field[i] = strtoll(at, &at, 10);
    t->pid = pid;
    t->parent = (int)field[0];
    t->group = (int)field[1];
    t->session = (int)field[2];
    t->no_exec = (field[5] & 0x40) != 0; /* PF_FORKNOEXEC */
    t->cpu = field[10] + field[11];
    t->reaped = field[12] + field[13];
    t->dead = ended && field[16] <= 1; /* else only its first thread has ended, ... */
    t->thread = ended && !t->dead; /* ... which shows no memory any more */
    return 1;
}

static DIR *sbx__list(int at, const char *path) {
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !dir) close(fd);
    return dir;
}

static int sbx__open_proc(void) {
    return sbx__move_up(open("/proc", SBX__O_PATH | O_DIRECTORY | O_CLOEXEC), 3);
}

/* The next process in a listing of /proc; 0 = no more. */
static int sbx__next_pid(DIR *dir) {
    struct dirent *e;
    while ((e = readdir(dir)) != NULL)
        if (e->d_name[0] > '0' && e->d_name[0] <= '9') return atoi(e->d_name);
    return 0;
}

/* Is there a /proc, and does it speak of this PID namespace? */
static int sbx__can_watch(void) {
    char self[16];
    ssize_t n = readlink("/proc/self", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    return atoi(self) == (int)getpid();
}

/* Tasks of this user, for RLIMIT_NPROC. */
static long long sbx__user_tasks(void) {
    char text[2048];
    long long tasks = 0;
    int pid, proc = sbx__open_proc();
    DIR *dir = sbx__list(proc, ".");
    while (dir && (pid = sbx__next_pid(dir)) != 0)
        if (sbx__proc_read(proc, pid, "status", text, sizeof text) &&
            sbx__number_after(text, "\nUid:", -1) == (long long)getuid())
            tasks += sbx__number_after(text, "\nThreads:", 0);
    if (dir) closedir(dir);
    sbx__close(&proc);
    return tasks;
}

/* ==== tree: a PID namespace that dies as a whole (Linux) ===================================== */

static char *sbx__stack_top(sbx__plan *p) { return p->memory + ++p->stacks * SBX__STACK; }

static int sbx__put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC), ok = fd >= 0 && write(fd, text, strlen(text)) > 0;
    if (fd >= 0) close(fd);
    return ok;
}

/* The program has the same user, but no capability: one keeps pid 1 from being traced by it. */
static void sbx__keep_out(void) {
    unsigned caps[8];
    memset(caps, 0, sizeof caps);
    caps[0] = SBX__CAP_VERSION;
    caps[2] = caps[3] = caps[4] = 1u << SBX__CAP_SYS_PTRACE; /* effective, permitted, inheritable */
    if (syscall(SYS_capset, caps, caps + 2) == 0)
        prctl(SBX__PR_CAP_AMBIENT, 2, SBX__CAP_SYS_PTRACE, 0, 0);
}

/* clang-format off */
#if SBX__ARCH == 0xC000003Eu || SBX__ARCH == 0xC00000B7u
/* A whole program for pid 1: ppoll() until the end of the pipe at 0, or a time; exit_group(0). */
static const struct sbx__image {
    unsigned char ident[16]; unsigned short type, machine; unsigned version;
    unsigned long long entry, segments, sections;
    unsigned flags; unsigned short size, segment_size, segment_count, none[3];
    unsigned kind, access; unsigned long long offset, address, physical, in_file, in_memory, align;
#ifdef __x86_64__
    unsigned char code[48];
#else
    unsigned code[12];
#endif
    long long seconds, nanoseconds;
} sbx__image = {
    {0x7F, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 2, SBX__ARCH & 0xFFFFu, 1,
    0x400078, 64, 0, 0, 64, 56, 1, {0, 0, 0}, 1, 5, 0, 0x400000, 0x400000, 184, 184, 4096,
#ifdef __x86_64__
    {0xB8, 1, 0, 0, 0, 0x48, 0xC1, 0xE0, 32, 0x50,      /* mov eax, 1; shl rax, 32; push rax: */
     0x48, 0x89, 0xE7, 0xBE, 1, 0, 0, 0,                /* mov rdi, rsp; mov esi, 1: POLLIN at 0 */
     0x48, 0x8D, 0x15, 23, 0, 0, 0, 0x45, 0x31, 0xD2,   /* lea rdx, [rip + 23]; xor r10d, r10d */
     0xB8, 0x0F, 1, 0, 0, 0x0F, 0x05,                   /* mov eax, 271; syscall */
     0xB8, 231, 0, 0, 0, 0x31, 0xFF, 0x0F, 0x05, 0, 0, 0, 0}, /* mov eax, 231; xor edi, edi; ... */
#else
    {0xD2C00029u, 0xF81F0FE9u, 0x910003E0u,             /* mov x9, 1 << 32; str x9, [sp, -16]!; */
     0xD2800021u, 0x10000102u, 0xD2800003u,             /* mov x0, sp; mov x1, 1; adr x2, seconds */
     0xD2800928u, 0xD4000001u,                          /* mov x3, 0; mov x8, 73; svc 0 */
     0xD2800BC8u, 0xD2800000u, 0xD4000001u, 0xD503201Fu}, /* mov x8, 94; mov x0, 0; svc 0; nop */
#endif
    0, 0};
#endif
/* clang-format on */

/* In memory of its own; -1 where that cannot be. Newer kernels want to hear that it will be run. It
   also holds the deadline, for a child may find a way to keep the host's thread in the kernel. */
static int sbx__open_image(const sbx_config *cfg) {
    int fd = -1;
#if SBX__ARCH == 0xC000003Eu || SBX__ARCH == 0xC00000B7u
    struct sbx__image image = sbx__image;
    image.seconds = (cfg->timeout_ms + cfg->grace_ms) / 1000 + 2;
    if (cfg->timeout_ms < 0) image.seconds = SBX__MAX_MS;
    fd = sbx__memfd("sbx-init", 0x11, sizeof image);
    if (fd < 0 && errno == EINVAL) fd = sbx__memfd("sbx-init", 1, sizeof image);
    if (fd >= 0 && write(fd, &image, sizeof image) != (ssize_t)sizeof image) sbx__close(&fd);
#endif
    (void)cfg;
    return fd;
}

/* pid 1 of the tree waits at a pipe from the host. When the host closes it, or dies, pid 1 ends and
   the kernel kills everything in its namespace. It is a program of its own, the one above or the
   system's cat: pid 1 must not share the host's memory, and forking the host costs what the host
   weighs. Async-signal-safe, as above. */
static int sbx__init_child(void *arg) {
    static const char *const name[] = {"cat", NULL}; /* no arguments, and an empty environment */
    const sbx__plan *p = (const sbx__plan *)arg;
    struct sigaction ignore;
    sbx__failure ready;
    int report = p->report, ok = 1;
    char byte;
    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    if (p->user_ns) {
        sbx__put("/proc/self/setgroups", "deny");
        ok = sbx__put("/proc/self/uid_map", p->uid_map) &&
             sbx__put("/proc/self/gid_map", p->gid_map);
    }
    ok = ok && setsid() > 0 && sbx__dup(p->life, 0, 0) == 0 && sbx__dup(p->null, 1, 0) == 1 &&
         sbx__dup(p->null, 2, 0) == 2 && sbx__dup(report, 3, O_CLOEXEC) == 3;
    if (ok) report = 3;
    ok = ok && (p->image < 0 || sbx__dup(p->image, 4, O_CLOEXEC) == 4);
    /* No directory is kept busy. */
    if (!ok || chdir("/") != 0) sbx__quit_with(report, SBX_STEP_CONTAIN, 0);
    sbx__close_from(p->image < 0 ? 4 : 5);
    /* Every signal stays blocked: none concerns it, but the one that cannot be. */
    sigaction(SIGCHLD, &ignore, NULL); /* orphans that end here are collected by the kernel */
    if (p->user_ns) sbx__keep_out();
    if (p->image >= 0) syscall(SYS_execveat, 4, "", name, name + 1, SBX__AT_EMPTY_PATH);
    else if (p->init_path) execve(p->init_path, (char *const *)name, (char *const *)name + 1);
    if (p->image >= 0 || p->init_path) sbx__quit_with(report, SBX_STEP_EXEC, 0);
    /* A copy of the host; the same capability keeps the program from looking inside. */
    memset(&ready, 0, sizeof ready);
    if (write(3, &ready, sizeof ready) < 0) sbx__quit(126);
    close(3);
    while (read(0, &byte, 1) > 0) {
    }
    sbx__quit(0);
    return 0;
}

/* Ends the namespace: two ways, since pid 1 may be stopped, and the call may be missing. */
static void sbx__kill_init(sbx *b) {
    int usual = 0; /* struct sched_param */
    sbx__close(&b->fd[SBX__LIFE]);
    /* Root may have put it behind everybody: it has to run to die. */
    if (syscall(SYS_sched_setscheduler, b->init, 0, &usual) == 0)
        setpriority(PRIO_PROCESS, (id_t)b->init, 0);
    if (syscall(SBX__NR_pidfd_send_signal, b->fd[SBX__INIT], SIGKILL, NULL, 0) != 0 &&
        errno != ESRCH)
        kill(b->init, SIGKILL);
}

static void sbx__end_init(sbx *b) {
    long long limit = sbx__now() + SBX__END_WAIT;
    struct timespec moment = {0, 1000000};
    if (b->init > 0) sbx__kill_init(b);
    while (b->init > 0 && sbx__collect(b->init, WNOHANG, NULL) == 0 && sbx__now() < limit)
        nanosleep(&moment, NULL);
    sbx__close(&b->fd[SBX__LIFE]);
    sbx__close(&b->fd[SBX__INIT]);
    b->init = 0;
}

static int sbx__namespaces(const sbx__plan *p) {
    return SBX__CLONE_NEWPID | (p->user_ns ? SBX__CLONE_NEWUSER : 0);
}

static int sbx__try_init(sbx__plan *p, sbx *b, sbx__failure *f) {
    int flags = sbx__namespaces(p) | SBX__CLONE_PIDFD | SIGCHLD, told = -1, pidfd = -1, ok;
    sigset_t all, before;
    ssize_t n = -1;
    memset(f, 0, sizeof *f);
    sigfillset(&all);
    if (p->image >= 0 || p->init_path) flags |= SBX__CLONE_VM | SBX__CLONE_VFORK;
    if (sbx__pipe(&p->life, &b->fd[SBX__LIFE]) && sbx__pipe(&told, &p->report) &&
        (p->null = sbx__open_null()) >= 0) {
        SBX__SIGMASK(SIG_SETMASK, &all, &before);
        b->init = clone(sbx__init_child, sbx__stack_top(p), flags, p, &pidfd);
        f->error = errno;
        SBX__SIGMASK(SIG_SETMASK, &before, NULL);
        b->fd[SBX__INIT] = p->init_fd = sbx__move_up(pidfd, 3);
    } else {
        f->error = errno;
    }
    sbx__close(&p->life);
    sbx__close(&p->null);
    sbx__close(&p->report);
    /* After a vfork a record is there, or never comes; a copy sends an empty one when it is ready.
       The end of the pipe may come late: a copy forked by another thread holds it open, too. */
    if (flags & SBX__CLONE_VFORK) sbx__nonblocking(told);
    while (b->init > 0 && (n = read(told, f, sizeof *f)) < 0 && errno == EINTR) {
    }
    ok = flags & SBX__CLONE_VFORK ? n <= 0 : n > 0 && !f->step;
    sbx__close(&told);
    if (b->init > 0 && ok && b->fd[SBX__INIT] >= 0) return 1;
    sbx__end_init(b);
    return 0;
}

static const char *sbx__cat(void) {
    if (access("/bin/cat", X_OK) == 0) return "/bin/cat";
    return access("/usr/bin/cat", X_OK) == 0 ? "/usr/bin/cat" : NULL;
}

static int sbx__start_init(sbx__plan *p, sbx *b) {
    sbx__failure f;
    int tries, ok;
    errno = ESRCH;
    if (!sbx__can_watch()) return 0; /* whoever is left behind could not be found */
    p->user_ns = geteuid() != 0; /* root needs none, so that ids stay what they are */
    snprintf(p->uid_map, sizeof p->uid_map, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(p->gid_map, sizeof p->gid_map, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    p->image = sbx__open_image(&p->cfg);
    if (p->image < 0) p->init_path = sbx__cat();
    for (tries = ok = 0; tries < 4 && !(ok = sbx__try_init(p, b, &f)); tries++) {
        if (f.step == SBX_STEP_EXEC && p->image >= 0) {
            sbx__close(&p->image);
            p->init_path = sbx__cat();
        } else if (f.step == SBX_STEP_EXEC) p->init_path = NULL;
        else if (!p->user_ns) p->user_ns = 1;
        else break;
    }
    sbx__close(&p->image);
    errno = f.error ? f.error : EPERM;
    return ok;
}

static void sbx__keep_only(const sbx__plan *p) {
    int keep[8], i, from, next = 2;
    for (i = 0; i < 3; i++) keep[i] = p->fd[i];
    keep[3] = p->report;
    keep[4] = p->init_fd;
    keep[5] = p->cgroup;
    keep[6] = p->ruleset;
    keep[7] = p->gate[0];
    while (next < INT_MAX) { /* close what is between two of them */
        from = next + 1;
        for (next = INT_MAX, i = 0; i < 8; i++)
            if (keep[i] >= from && keep[i] < next) next = keep[i];
        if (next > from) syscall(SBX__NR_close_range, from, next - 1, 0);
    }
}

/* Where the libc keeps the number of this thread, which will be another one in the tree: the kernel
   knows with glibc; musl has it somewhere in the thread's struct. NULL = not found. */
static int *sbx__tid_word(void) {
    unsigned long long address = 0; /* 64 bits also from a 64-bit kernel to a 32-bit program */
    int mine = (int)syscall(SYS_gettid), *word = NULL;
    if (prctl(SBX__PR_GET_TID_ADDRESS, &address, 0, 0, 0) == 0) word = (int *)(size_t)address;
    if (word && *word == mine) return word;
#ifndef __GLIBC__
    for (word = (int *)(size_t)pthread_self(); word < (int *)(size_t)pthread_self() + 64; word++)
        if (*word == mine) return word;
#endif
    return NULL;
}

/* Between host and program: enters the namespaces and makes the program there, as a child of the
   host. A program shares the host's memory until exec. A function takes over the copy that this
   process is, and needs a stack as large as it is used to. */
static int sbx__enter_child(void *arg) {
    sbx__plan *p = (sbx__plan *)arg;
    int flags = SBX__CLONE_VM | SBX__CLONE_PARENT | SBX__CLONE_PIDFD;
    char *stack = sbx__stack_top(p);
    int pidfd = -1, *tid = NULL;
    pid_t pid = -1;
    if (!p->fn) {
        sbx__keep_only(p); /* else it would hold the host's open files while it waits */
    } else {
        void *room = mmap(NULL, p->fn_stack, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (room == MAP_FAILED) sbx__quit_with(p->report, SBX_STEP_MEMORY, 0);
        mprotect(room, 4096, PROT_NONE);
        stack = (char *)room + p->fn_stack;
        tid = sbx__tid_word();
        syscall(SYS_set_tid_address, NULL); /* else the end of this process would clear it */
        if (tid) flags |= SBX__CLONE_SET_TID;
    }
    if (p->gate[0] < 0) flags |= SBX__CLONE_VFORK;
    if (syscall(SYS_setns, p->init_fd, sbx__namespaces(p)) == 0)
        pid = clone(sbx__child, stack, flags | SIGCHLD, p, &pidfd, (void *)NULL, tid);
    if (pid < 0) sbx__quit_with(p->report, SBX_STEP_CONTAIN, 0);
    sbx__send_fd(p->report, pidfd, SBX__EXIT, (int)pid);
    sbx__quit(0);
    return 0;
}

/* Which PID namespace a process is in, or the one above that by so many levels; 0 = gone. */
static unsigned long long sbx__pid_ns(int proc, int pid, int level) {
    struct stat st;
    char path[32];
    int fd, up;
    snprintf(path, sizeof path, "%d/ns/pid", pid);
    fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    for (; fd >= 0 && level > 0; level--) {
        up = ioctl(fd, SBX__NS_GET_PARENT);
        close(fd);
        fd = up;
    }
    st.st_ino = 0;
    if (fd >= 0 && fstat(fd, &st) != 0) st.st_ino = 0;
    if (fd >= 0) close(fd);
    return (unsigned long long)st.st_ino;
}

/* In that one, or in one below it? */
static int sbx__is_inside(int proc, int pid, unsigned long long ns) {
    unsigned long long of = 1;
    int level;
    for (level = 0; of && level < 32; level++)
        if ((of = sbx__pid_ns(proc, pid, level)) == ns) return 1;
    return 0;
}

/* Grandchildren that clone(CLONE_PARENT) made children of the host hold the namespace, as zombies,
   until the host collects them. They are told by their namespace, not by their number. */
static void sbx__collect_strays(const sbx *b) {
    int pid, proc = sbx__open_proc();
    unsigned long long ours = sbx__pid_ns(proc, (int)b->init, 0);
    DIR *dir = ours ? sbx__list(proc, ".") : NULL;
    sbx__task t;
    while (dir && (pid = sbx__next_pid(dir)) != 0)
        if (pid != (int)b->init && sbx__proc_stat(proc, pid, &t) && t.parent == (int)getpid() &&
            sbx__is_inside(proc, pid, ours))
            sbx__collect((pid_t)pid, WNOHANG, NULL);
    if (dir) closedir(dir);
    sbx__close(&proc);
}

#else
static int sbx__can_watch(void) { return 0; }
static long long sbx__user_tasks(void) { return 0; }
static int sbx__start_init(sbx__plan *p, sbx *b) {
    (void)p;
    (void)b;
    errno = ENOSYS;
    return 0;
}
static void sbx__kill_init(sbx *b) { (void)b; }
static void sbx__end_init(sbx *b) { (void)b; }
static void sbx__collect_strays(const sbx *b) { (void)b; }
#endif

/* ==== cgroup: exact limits and counts, where the host was given a directory (Linux) ========== */

#if SBX__LINUX

static const char *sbx__cgroup_file(const char *group, const char *file, char path[PATH_MAX]) {
    if (snprintf(path, PATH_MAX, "%s/%s", group, file) >= PATH_MAX) path[0] = 0;
    return path;
}

static int sbx__cgroup_put(const char *group, const char *file, const char *text) {
    char path[PATH_MAX];
    return sbx__put(sbx__cgroup_file(group, file, path), text);
}

static long long sbx__cgroup_get(const sbx *b, const char *file, const char *label) {
    char path[PATH_MAX], text[1024];
    if (!sbx__read_file(AT_FDCWD, sbx__cgroup_file(b->cgroup, file, path), text, sizeof text))
        return -1;
    return sbx__number_after(text, label, -1);
}

/* Returns the file that failed, or NULL. */
static const char *sbx__make_cgroup(sbx__plan *p, sbx *b, size_t room) {
    const sbx_config *cfg = &p->cfg;
    char path[PATH_MAX], number[32];
    /* Fails, harmlessly, where it was done already or somebody else has to do it. */
    sbx__cgroup_put(cfg->cgroup, "cgroup.subtree_control", "+memory");
    sbx__cgroup_put(cfg->cgroup, "cgroup.subtree_control", "+pids");
    if (access(sbx__cgroup_file(cfg->cgroup, "cgroup.procs", path), F_OK) != 0)
        return "cgroup.procs";
    snprintf(b->cgroup, room, "%s/sbx-%d-%llx", cfg->cgroup, (int)getpid(),
             (unsigned long long)sbx__now() << 16 ^ (unsigned long long)(size_t)b);
    if (mkdir(b->cgroup, 0755) != 0) return "a new group";
    snprintf(number, sizeof number, "%lld", cfg->memory_bytes);
    if (cfg->memory_bytes >= 0 && !sbx__cgroup_put(b->cgroup, "memory.max", number))
        return "memory.max";
    sbx__cgroup_put(b->cgroup, "memory.swap.max", "0"); /* where swap is counted at all */
    sbx__cgroup_put(b->cgroup, "memory.oom.group", "1");
    snprintf(number, sizeof number, "%lld", cfg->processes);
    if (cfg->processes >= 0 && !sbx__cgroup_put(b->cgroup, "pids.max", number)) return "pids.max";
    p->cgroup = open(sbx__cgroup_file(b->cgroup, "cgroup.procs", path), O_WRONLY | O_CLOEXEC);
    p->cgroup = sbx__move_up(p->cgroup, 3);
    return p->cgroup < 0 ? "its cgroup.procs" : NULL;
}

static int sbx__plan_cgroup(sbx__plan *p, sbx *b, sbx_result *r) {
    const char *missing;
    char shown[100], *parent;
    size_t room;
    if (!p->cfg.cgroup) return 1;
    p->cfg.cgroup = parent = realpath(p->cfg.cgroup, NULL); /* the host may change its directory */
    room = parent ? strlen(parent) + 64 : 0;
    if (room + 32 > PATH_MAX) errno = ENAMETOOLONG;
    if (!parent || room + 32 > PATH_MAX) {
        free(parent);
        return sbx__refuse(r, SBX_STEP_CGROUP, errno, "cgroup = \"%s\": %s",
                           sbx__plain(shown, sizeof shown, b->cfg.cgroup), strerror(errno));
    }
    b->cgroup = (char *)sbx__zalloc(room);
    if (!b->cgroup) {
        free(parent);
        return sbx__no_memory(r, "the name of a cgroup");
    }
    missing = sbx__make_cgroup(p, b, room);
    if (!missing) b->enforced |= SBX_BY_CGROUP;
    else
        sbx__refuse(r, SBX_STEP_CGROUP, errno, "cgroup = \"%s\": %s cannot be had: %s",
                    sbx__plain(shown, sizeof shown, b->cfg.cgroup), missing, strerror(errno));
    free(parent);
    return !missing;
}

static void sbx__read_cgroup(sbx *b) {
    long long cpu = sbx__cgroup_get(b, "cpu.stat", "usage_usec ");
    long long peak = sbx__cgroup_get(b, "memory.peak", "");
    if (peak < 0) peak = sbx__cgroup_get(b, "memory.current", "");
    if (cpu > b->cpu_us) b->cpu_us = cpu;
    if (peak > 0 && peak > b->peak) b->peak = peak;
    if (sbx__cgroup_get(b, "memory.events", "oom_kill ") > 0) b->seen.saw |= SBX_SAW_OOM_KILL;
}

/* With the groups that a program may have made inside. 1 = it is empty and removed. */
static int sbx__remove_cgroup(int at, const char *group) {
    struct dirent *e;
    DIR *dir;
    if (unlinkat(at, group, AT_REMOVEDIR) == 0 || errno == ENOENT) return 1;
    dir = sbx__list(at, group);
    while (dir && (e = readdir(dir)) != NULL)
        if (e->d_name[0] != '.' && e->d_type == DT_DIR) sbx__remove_cgroup(dirfd(dir), e->d_name);
    if (dir) closedir(dir);
    return unlinkat(at, group, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

static int sbx__leave_cgroup(sbx *b) {
    sbx__cgroup_put(b->cgroup, "cgroup.kill", "1");
    sbx__read_cgroup(b);
    return sbx__remove_cgroup(AT_FDCWD, b->cgroup);
}

static void sbx__end_cgroup(sbx *b) {
    if (b->cgroup && *b->cgroup) sbx__remove_cgroup(AT_FDCWD, b->cgroup);
    SBX_FREE(b->cgroup);
}

#else
static int sbx__plan_cgroup(sbx__plan *p, sbx *b, sbx_result *r) { return p && b && r; }
static int sbx__leave_cgroup(sbx *b) { return b != NULL; }
static void sbx__end_cgroup(sbx *b) { (void)b; }
#endif

/* ==== policy: files by Landlock and mounts, system calls by a filter (Linux) ================= */

static void sbx__stop(sbx *b, unsigned reason);

#if SBX__LINUX

/* clang-format off */
/* What "the system" is: programs, libraries, and the settings that ordinary programs read. Of /etc
   only what is public: a host that is root could read all of it. /proc is the tree's own. */
static const char *const sbx__system[] = {
    "/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32", "/opt", "/nix/store",
    "/gnu/store", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload",
    "/etc/alternatives", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/localtime",
    "/etc/timezone", "/etc/locale.alias", "/etc/locale.conf", "/etc/os-release", "/etc/mime.types",
    "/etc/magic", "/etc/terminfo", "/etc/inputrc", "/etc/profile", "/etc/profile.d",
    "/etc/bash.bashrc", "/etc/bashrc", "/etc/gitconfig", "/etc/fonts", "/etc/perl",
    "/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf", "/etc/java",
    "/etc/python3", "/etc/python3.11", "/etc/python3.12", "/etc/python3.13", "/etc/python3.14",
    "/etc/java-8-openjdk", "/etc/java-11-openjdk", "/etc/java-17-openjdk", "/etc/java-21-openjdk",
    "/etc/java-25-openjdk", "/sys/devices/system/cpu", "/sys/kernel/mm/transparent_hugepage", NULL};
static const char *const sbx__network[] = { /* and these, if it is allowed */
    "/etc/hosts", "/etc/host.conf", "/etc/resolv.conf", "/etc/services", "/etc/protocols",
    "/etc/ssl/certs", "/etc/ca-certificates", "/etc/pki/tls/certs", NULL};
static const char *const sbx__devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                           "/dev/urandom", NULL};

/* The filter: a row a check. What no row names is allowed; rows of one call must all pass. */
enum { SBX__DENIED, SBX__HIDDEN, SBX__ONLY, SBX__NOT, SBX__WITH, SBX__WITHOUT, /* what to check */
       SBX__IF }; /* without the bits the call's other rows do not matter */
enum { SBX__ALWAYS, SBX__NO_NETWORK, SBX__NETWORK, SBX__NO_SPAWN, SBX__LANDLOCK_2 }; /* when */

typedef struct sbx__rule {
    int number;
    const char *name;
    unsigned char check, when, arg; /* the argument, ... */
    unsigned mask, value[4];        /* ... after the mask, is one of these, or has the bits */
} sbx__rule;

#define SBX__DENY(call) {SYS_##call, #call, SBX__DENIED, SBX__ALWAYS, 0, 0, {0, 0, 0, 0}}
#define SBX__DENY_IF(when, call) {SYS_##call, #call, SBX__DENIED, when, 0, 0, {0, 0, 0, 0}}
#define SBX__DENY_NR(number, name) {number, name, SBX__DENIED, SBX__ALWAYS, 0, 0, {0, 0, 0, 0}}
#define SBX__HIDE_NR(number, name) {number, name, SBX__HIDDEN, SBX__ALWAYS, 0, 0, {0, 0, 0, 0}}
#define SBX__CHECK(when, call, check, arg, mask, a, b, c, d) \
    {SYS_##call, #call, check, when, arg, mask, {a, b, c, d}}

static const sbx__rule sbx__rules[] = {
    /* They would go round the filter, and runtimes do without: to them they do not exist. */
    SBX__HIDE_NR(425, "io_uring_setup"), SBX__HIDE_NR(426, "io_uring_enter"),
    SBX__HIDE_NR(427, "io_uring_register"),
    SBX__HIDE_NR(435, "clone3"), SBX__HIDE_NR(437, "openat2"), /* their flags are in memory */
    /* Memory that no process owns once it is unmapped, so that no limit counts it. */
    SBX__HIDE_NR(SYS_memfd_create, "memfd_create"), SBX__HIDE_NR(447, "memfd_secret"),
    /* Other processes' memory and descriptors. */
    SBX__DENY(ptrace), SBX__DENY(process_vm_readv), SBX__DENY(process_vm_writev), SBX__DENY(kcmp),
    SBX__DENY_NR(438, "pidfd_getfd"), SBX__DENY_NR(440, "process_madvise"), SBX__DENY(userfaultfd),
    /* Files by handle instead of by path; news of files that cannot be read. */
    SBX__DENY(name_to_handle_at), SBX__DENY(open_by_handle_at), SBX__DENY(fanotify_init),
    SBX__HIDE_NR(SYS_inotify_init1, "inotify_init1"),
    /* Set-user-id files, which would outlive the box with the host's user in them. */
    SBX__CHECK(SBX__ALWAYS, fchmod, SBX__WITHOUT, 1, 0, 06000u, 0, 0, 0),
    SBX__CHECK(SBX__ALWAYS, fchmodat, SBX__WITHOUT, 2, 0, 06000u, 0, 0, 0),
    {452, "fchmodat2", SBX__WITHOUT, SBX__ALWAYS, 2, 0, {06000u, 0, 0, 0}},
    SBX__CHECK(SBX__ALWAYS, openat, SBX__IF, 2, 0, 0x400040u, 0, 0, 0), /* O_CREAT, O_TMPFILE */
    SBX__CHECK(SBX__ALWAYS, openat, SBX__WITHOUT, 3, 0, 06000u, 0, 0, 0),
    SBX__CHECK(SBX__ALWAYS, mknodat, SBX__WITHOUT, 2, 0, 06000u, 0, 0, 0),
    /* Namespaces, mounts, roots. */
    SBX__DENY(unshare), SBX__DENY(setns), SBX__DENY(mount), SBX__DENY(umount2), SBX__DENY(chroot),
    SBX__DENY(pivot_root), SBX__DENY_NR(428, "open_tree"), SBX__DENY_NR(429, "move_mount"),
    SBX__DENY_NR(430, "fsopen"), SBX__DENY_NR(431, "fsconfig"), SBX__DENY_NR(432, "fsmount"),
    SBX__DENY_NR(433, "fspick"), SBX__DENY_NR(442, "mount_setattr"),
    SBX__DENY_NR(467, "open_tree_attr"),
    /* CLONE_NEW..., and CLONE_PARENT: a child of the host. Threads have CLONE_THREAD. */
    SBX__CHECK(SBX__ALWAYS, clone, SBX__WITHOUT, 0, 0, 0x7E028000u, 0, 0, 0),
    SBX__CHECK(SBX__NO_SPAWN, clone, SBX__WITH, 0, 0, 0x00010000u, 0, 0, 0),
    /* Kernel interfaces with a history. */
    SBX__DENY(bpf), SBX__DENY(perf_event_open), SBX__DENY(add_key), SBX__DENY(request_key),
    SBX__DENY(keyctl),
    SBX__CHECK(SBX__ALWAYS, personality, SBX__ONLY, 0, 0, 0xFFFFFFFFu, 0, 0, 0), /* it asks */
    /* The machine: modules, power, swap, accounting, clocks, names, log. */
    SBX__DENY(init_module), SBX__DENY(finit_module), SBX__DENY(delete_module),
    SBX__DENY(kexec_load), SBX__DENY(reboot), SBX__DENY(swapon), SBX__DENY(swapoff),
    SBX__DENY(acct), SBX__DENY(quotactl),
    SBX__DENY_NR(443, "quotactl_fd"), SBX__DENY(settimeofday), SBX__DENY(clock_settime),
    SBX__DENY(clock_adjtime), SBX__DENY(adjtimex), SBX__DENY(sethostname), SBX__DENY(setdomainname),
    SBX__DENY(syslog), SBX__DENY(vhangup),
    /* They hold a pipe's lock while they wait, and with it the host that wants to read it. */
    SBX__HIDE_NR(SYS_splice, "splice"), SBX__HIDE_NR(SYS_tee, "tee"),
    SBX__HIDE_NR(SYS_vmsplice, "vmsplice"), SBX__HIDE_NR(SYS_sendfile, "sendfile"),
    /* F_SETLEASE, F_NOTIFY: a lease on a readable file stops whoever else opens it. */
    SBX__CHECK(SBX__ALWAYS, fcntl, SBX__NOT, 1, 0, 1024u, 1026u, 1026u, 1026u),
    /* Typing into a terminal: TIOCSTI, TIOCLINUX. */
    SBX__CHECK(SBX__ALWAYS, ioctl, SBX__NOT, 1, 0, 0x5412u, 0x541Cu, 0x5412u, 0x5412u),
    /* What would outlive the box: POSIX queues, and System V's below. */
    SBX__DENY(mq_open), SBX__DENY(mq_unlink),
    /* Priorities of everybody with this user id: PRIO_USER, IOPRIO_WHO_USER. */
    SBX__CHECK(SBX__ALWAYS, setpriority, SBX__NOT, 0, 0, 2u, 2u, 2u, 2u),
    SBX__CHECK(SBX__ALWAYS, ioprio_set, SBX__NOT, 0, 0, 3u, 3u, 3u, 3u),
    /* Network: IPv4, IPv6, netlink. Unix sockets, with or without it: pairs of connected streams
       only, because a pair of datagram sockets can still send to any address. */
    SBX__CHECK(SBX__NETWORK, socket, SBX__ONLY, 0, 0, 2u, 10u, 16u, 16u),
    SBX__DENY_IF(SBX__NO_NETWORK, socket), SBX__DENY_IF(SBX__NO_NETWORK, connect),
    SBX__DENY_IF(SBX__NO_NETWORK, bind), SBX__DENY_IF(SBX__NO_NETWORK, listen),
    SBX__CHECK(SBX__ALWAYS, socketpair, SBX__ONLY, 0, 0, 1u, 1u, 1u, 1u),    /* AF_UNIX */
    SBX__CHECK(SBX__ALWAYS, socketpair, SBX__ONLY, 1, 0xFu, 1u, 5u, 5u, 5u), /* STREAM, SEQPACKET */
    SBX__DENY_IF(SBX__LANDLOCK_2, truncate), /* before version 3 Landlock did not guard it */
#if defined(__i386__)
    SBX__DENY(ipc), SBX__DENY(socketcall), /* their arguments are in memory */
    SBX__DENY_NR(393, "semget"), SBX__DENY_NR(394, "semctl"), SBX__DENY_NR(395, "shmget"),
    SBX__DENY_NR(396, "shmctl"), SBX__DENY_NR(397, "shmat"), SBX__DENY_NR(399, "msgget"),
    SBX__DENY_NR(400, "msgsnd"), SBX__DENY_NR(401, "msgrcv"), SBX__DENY_NR(402, "msgctl"),
    SBX__DENY(vm86), SBX__DENY(vm86old), SBX__DENY(stime), SBX__DENY(umount),
#else
    SBX__DENY(shmget), SBX__DENY(shmat), SBX__DENY(shmctl), SBX__DENY(msgget), SBX__DENY(msgctl),
    SBX__DENY(msgsnd), SBX__DENY(msgrcv), SBX__DENY(semget), SBX__DENY(semctl), SBX__DENY(semop),
    SBX__DENY(semtimedop),
#endif
#if defined(__i386__) || defined(__arm__)
    SBX__HIDE_NR(SYS_sendfile64, "sendfile64"),
    SBX__CHECK(SBX__ALWAYS, fcntl64, SBX__NOT, 1, 0, 1024u, 1026u, 1026u, 1026u),
    SBX__DENY_NR(404, "clock_settime64"), SBX__DENY_NR(405, "clock_adjtime64"),
    SBX__DENY_NR(420, "semtimedop_time64"), SBX__DENY_IF(SBX__LANDLOCK_2, truncate64),
#endif
#if defined(__x86_64__) || defined(__i386__)
    SBX__DENY(iopl), SBX__DENY(ioperm), SBX__DENY(modify_ldt), SBX__DENY(uselib), SBX__DENY(ustat),
    SBX__DENY(sysfs), SBX__DENY(_sysctl), SBX__DENY(nfsservctl), SBX__DENY(create_module),
    SBX__DENY(lookup_dcookie),
#endif
#if defined(__x86_64__)
    SBX__DENY(kexec_file_load),
#endif
#if !defined(__aarch64__) && !defined(__riscv) /* the older forms */
    SBX__HIDE_NR(SYS_inotify_init, "inotify_init"),
    SBX__CHECK(SBX__ALWAYS, chmod, SBX__WITHOUT, 1, 0, 06000u, 0, 0, 0),
    SBX__CHECK(SBX__ALWAYS, creat, SBX__WITHOUT, 1, 0, 06000u, 0, 0, 0),
    SBX__CHECK(SBX__ALWAYS, open, SBX__IF, 1, 0, 0x400040u, 0, 0, 0),
    SBX__CHECK(SBX__ALWAYS, open, SBX__WITHOUT, 2, 0, 06000u, 0, 0, 0),
    SBX__CHECK(SBX__ALWAYS, mknod, SBX__WITHOUT, 1, 0, 06000u, 0, 0, 0),
    SBX__DENY_IF(SBX__NO_SPAWN, fork), SBX__DENY_IF(SBX__NO_SPAWN, vfork),
#endif
};
/* clang-format on */
#define SBX__RULES ((int)(sizeof sbx__rules / sizeof sbx__rules[0]))

/* clang-format off */
enum { SBX__LOAD = 0x20, SBX__AND = 0x54, SBX__JEQ = 0x15, SBX__JGE = 0x35, SBX__JSET = 0x45,
       SBX__RET = 0x06 };
#define SBX__RET_ALLOW 0x7FFF0000u
#define SBX__RET_ERRNO 0x00050000u
#define SBX__RET_NOTIFY 0x7FC00000u
/* clang-format on */

/* The filter is built from its end, so that every jump knows where it goes. Returns its place. */
static int sbx__emit_jump(sbx__plan *p, int code, unsigned k, int yes, int no) {
    sbx__insn *i = &p->filter[p->filter_size];
    i->code = (unsigned short)code;
    i->k = k;
    i->yes = (unsigned char)(p->filter_size - yes - 1); /* how many instructions to skip */
    i->no = (unsigned char)(p->filter_size - no - 1);
    return p->filter_size++;
}

static int sbx__emit(sbx__plan *p, int code, unsigned k) {
    return sbx__emit_jump(p, code, k, p->filter_size - 1, p->filter_size - 1);
}

/* The check of one row. Of an argument the lower half counts, as in the kernel. */
static int sbx__emit_check(sbx__plan *p, const sbx__rule *rule, int pass, int deny) {
    int no = rule->check == SBX__NOT || rule->check == SBX__WITHOUT; /* what matches is denied */
    int match = no ? deny : pass, other = no ? pass : deny, i = rule->check < SBX__WITH ? 4 : 1;
    while (i-- > 0)
        if (i == 0 || rule->value[i] != rule->value[i - 1])
            other = sbx__emit_jump(p, rule->check < SBX__WITH ? SBX__JEQ : SBX__JSET,
                                   rule->value[i], match, other);
    if (rule->mask) sbx__emit(p, SBX__AND, rule->mask);
    return sbx__emit(p, SBX__LOAD, 16u + 8u * rule->arg);
}

typedef struct sbx__span { /* the numbers from here to the next span go there */
    unsigned from;
    int to;
} sbx__span;

/* One question per boundary, the one nearest to the middle of the numbers first: the kernel runs
   the filter once for every number when it is set. */
static int sbx__emit_spans(sbx__plan *p, const sbx__span *from, const sbx__span *to, unsigned end) {
    const sbx__span *mid = from + 1;
    int less;
    if (to == mid) return from->to;
    while (mid + 1 < to && mid->from < from->from + (end - from->from) / 2) mid++;
    less = sbx__emit_spans(p, from, mid, mid->from);
    return sbx__emit_jump(p, SBX__JGE, mid->from, sbx__emit_spans(p, mid, to, end), less);
}

/* Behind the last one, unless that one just goes on. */
static sbx__span *sbx__add_span(sbx__span *last, unsigned from, int to) {
    if (last->to == to) return last;
    last++;
    last->from = from;
    last->to = to;
    return last;
}

static void sbx__build_filter(sbx__plan *p, long landlock) {
    const sbx_policy *policy = p->cfg.policy;
    unsigned denied = policy->kill_on_denied ? SBX__RET_NOTIFY : SBX__RET_ERRNO | EPERM;
    int hide = sbx__emit(p, SBX__RET, SBX__RET_ERRNO | ENOSYS);
    int deny = sbx__emit(p, SBX__RET, denied), allow = sbx__emit(p, SBX__RET, SBX__RET_ALLOW);
    const sbx__rule *rows[SBX__RULES];
    sbx__span spans[2 * SBX__RULES + 3], *last = spans; /* the first one is none */
    unsigned next = 0;
    int i, k, to[SBX__RULES], count = 0;
    for (i = 0; i < SBX__RULES; i++) {
        const sbx__rule *rule = &sbx__rules[i];
        if (rule->when == (policy->allow_network ? SBX__NO_NETWORK : SBX__NETWORK) ||
            (rule->when == SBX__NO_SPAWN && !policy->deny_spawn) ||
            (rule->when == SBX__LANDLOCK_2 && landlock > 2))
            continue;
        for (k = count++; k > 0 && rows[k - 1]->number > rule->number; k--) rows[k] = rows[k - 1];
        rows[k] = rule;
    }
    for (i = count; i-- > 0;) { /* rows of one number are passed through from the first on */
        int more = i + 1 < count && rows[i + 1]->number == rows[i]->number;
        const sbx__rule *rule = rows[i];
        if (rule->check == SBX__DENIED) to[i] = deny;
        else if (rule->check == SBX__HIDDEN) to[i] = hide;
        else
            to[i] = sbx__emit_check(p, rule, more ? to[i + 1] : allow,
                                    rule->check == SBX__IF ? allow : deny);
    }
    spans->to = -1;
    for (i = 0; i < count; i++) {
        unsigned number = (unsigned)rows[i]->number;
        if (number < next) continue;
        if (number > next) last = sbx__add_span(last, next, allow);
        last = sbx__add_span(last, number, to[i]);
        next = number + 1;
    }
    last = sbx__add_span(last, next, allow);
#ifdef __x86_64__
    last = sbx__add_span(last, 0x40000000u, hide); /* x32: the same calls once more */
#endif
    sbx__emit_spans(p, spans + 1, last + 1, next);
    i = sbx__emit(p, SBX__LOAD, 0); /* the number */
    sbx__emit_jump(p, SBX__JEQ, SBX__ARCH, i, hide);
    sbx__emit(p, SBX__LOAD, 4); /* the architecture: 32-bit calls have other numbers */
    for (i = 0; i < p->filter_size / 2; i++) {
        sbx__insn other = p->filter[i];
        p->filter[i] = p->filter[p->filter_size - 1 - i];
        p->filter[p->filter_size - 1 - i] = other;
    }
}

static const char *sbx__call_name(int number) {
    int i;
    for (i = 0; i < SBX__RULES; i++)
        if (sbx__rules[i].number == number) return sbx__rules[i].name;
    return "no name";
}

/* A rule for what stands at the path now: the kernel keeps the object, not the name. */
static int sbx__allow(int ruleset, const char *path, unsigned access, struct stat *st) {
    int fd = open(path, SBX__O_PATH | O_CLOEXEC), ok = fd >= 0 && (!st || fstat(fd, st) == 0);
    ok = ok && (sbx__add_rule(ruleset, fd, access) || /* a file takes only the rights of files */
                (errno == EINVAL && sbx__add_rule(ruleset, fd, access & SBX__ON_FILES)));
    if (fd >= 0) close(fd);
    return ok;
}

static int sbx__allow_trees(sbx__plan *p, const char *const *paths, unsigned access,
                            const char *field, sbx_result *r) {
    char shown[120];
    struct stat st;
    int i;
    for (i = 0; paths && paths[i]; i++) {
        sbx__writable *w = p->writable ? &p->writable[p->writable_count] : NULL;
        int ok = sbx__allow(p->ruleset, paths[i], access, w ? &st : NULL);
        if (ok && w) {
            w->path = realpath(paths[i], NULL);
            w->device = st.st_dev;
            w->inode = st.st_ino;
            ok = w->path != NULL;
            p->writable_count += ok;
        }
        if (!ok && field) /* but not every system has all of the system's trees */
            return sbx__refuse(r, SBX_STEP_POLICY, errno, "policy.%s[%d] = \"%s\": %s", field, i,
                               sbx__plain(shown, sizeof shown, paths[i]), strerror(errno));
    }
    return 1;
}

/* An empty ruleset over everything this kernel's Landlock can guard. Returns its version. */
static long sbx__make_ruleset(sbx__plan *p, unsigned *all) {
    long version = syscall(SBX__NR_landlock_create_ruleset, NULL, 0, 1);
    int network = p->cfg.policy->allow_network;
    unsigned long long attr[3];
    int size;
    *all = (1u << 13) - 1;
    if (version >= 2) *all |= SBX__REFER;
    if (version >= 3) *all |= SBX__TRUNCATE;
    if (version >= 5) *all |= SBX__IOCTL_DEV;
    attr[0] = *all;
    attr[1] = version >= 4 && !network ? 3 : 0; /* TCP: bind, connect */
    attr[2] = 3; /* to the outside: abstract sockets, signals */
    size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    if (version > 0) p->ruleset = (int)syscall(SBX__NR_landlock_create_ruleset, attr, size, 0);
    p->ruleset = sbx__move_up(p->ruleset, 5); /* the child puts others below */
    return version;
}

static int sbx__plan_policy(sbx__plan *p, sbx *b, sbx_result *r) {
    const sbx_policy *policy = p->cfg.policy;
    unsigned all, most;
    size_t writable;
    struct stat st;
    long version;
    if (!policy) return 1;
    if (!SBX__ARCH)
        return sbx__refuse(r, SBX_STEP_POLICY, ENOSYS,
                           "policy needs a system-call filter, which this architecture lacks here");
    version = sbx__make_ruleset(p, &all);
    if (p->ruleset < 0)
        return sbx__refuse(r, SBX_STEP_POLICY, errno,
                           "policy needs Landlock (Linux 5.13, and switched on): %s",
                           strerror(errno));
    p->filter = (sbx__insn *)SBX_REALLOC(NULL, (8 + 9 * SBX__RULES) * sizeof *p->filter);
    if (!p->filter) return sbx__no_memory(r, "the policy");
    sbx__build_filter(p, version);
    if (p->filter_size > 256) /* jumps are bytes */
        return sbx__refuse(r, SBX_STEP_POLICY, E2BIG, "policy: its filter has grown too long");
    if (!p->fn && stat(p->path, &st) == 0 && S_ISREG(st.st_mode))
        sbx__allow(p->ruleset, p->path, SBX__READ_TREE, NULL); /* the host named it: it may run */
    most = all & ~(unsigned)(SBX__MAKE_CHAR | SBX__MAKE_BLOCK);
    if (!policy->no_system) {
        sbx__allow_trees(p, sbx__system, SBX__READ_TREE, NULL, r);
        if (policy->allow_network) sbx__allow_trees(p, sbx__network, SBX__READ_TREE, NULL, r);
        sbx__allow_trees(p, sbx__devices, most & ~(unsigned)SBX__EXECUTE, NULL, r);
    }
    if (!sbx__allow_trees(p, policy->read, SBX__READ_TREE, "read", r)) return 0;
    writable = (1 + sbx__count(policy->write)) * sizeof *p->writable;
    p->writable = (sbx__writable *)sbx__zalloc(writable);
    if (!p->writable) return sbx__no_memory(r, "the policy");
    if (!sbx__allow_trees(p, policy->write, most, "write", r)) return 0;
    b->enforced |= SBX_BY_LANDLOCK | SBX_BY_SECCOMP | SBX_BY_NO_NEW_PRIVS;
    return 1;
}

static void sbx__plan_policy_free(sbx__plan *p) {
    sbx__close(&p->ruleset);
    while (p->writable_count > 0) free(p->writable[--p->writable_count].path); /* from realpath */
    SBX_FREE(p->writable);
    SBX_FREE(p->filter);
}

/* The child asked for something forbidden, and waits for an answer that it will not get. */
static void sbx__read_notice(sbx *b) {
    struct {
        unsigned long long id;
        unsigned pid, flags;
        int number;
        unsigned rest[15];
    } notice;
    struct pollfd one;
    memset(&notice, 0, sizeof notice); /* struct seccomp_notif */
    one.fd = b->fd[SBX__NOTIFY];
    one.events = POLLIN;
    one.revents = 0;
    if (poll(&one, 1, 0) <= 0) return;
    if (!(one.revents & POLLIN)) { /* only hung up: older kernels would wait here for ever */
        sbx__close(&b->fd[SBX__NOTIFY]);
        return;
    }
    if (syscall(SYS_ioctl, b->fd[SBX__NOTIFY], SBX__SECCOMP_NOTIF_RECV, &notice) == 0) {
        if (!b->stopping) b->denied = notice.number;
        sbx__stop(b, SBX_SAW_DENIED);
    } else if (errno != EINTR && errno != ENOENT) {
        sbx__close(&b->fd[SBX__NOTIFY]); /* nobody is left to ask */
    }
}

#else
static int sbx__plan_policy(sbx__plan *p, sbx *b, sbx_result *r) { return p && b && r; }
static void sbx__plan_policy_free(sbx__plan *p) { (void)p; }
static void sbx__read_notice(sbx *b) { (void)b; }
static const char *sbx__call_name(int number) { return number ? "no name" : ""; }
#endif

/* ==== spawn ================================================================================== */

#if SBX__LINUX
/* One record. A descriptor that comes with it takes its place in the box. */
static ssize_t sbx__receive(sbx *b, sbx__failure *f) {
    sbx__packet packet;
    ssize_t n;
    int *fd;
    if (!(b->enforced & SBX_BY_TREE)) return read(b->fd[SBX__REPORT], f, sizeof *f);
    sbx__pack(&packet, f);
    n = recvmsg(b->fd[SBX__REPORT], &packet.head, MSG_CMSG_CLOEXEC);
    if (n != (ssize_t)sizeof *f || f->step || f->which < 0 || f->which >= SBX__FDS) return n;
    fd = &b->fd[f->which];
    sbx__close(fd);
    if (packet.head.msg_controllen >= CMSG_LEN(sizeof *fd)) /* else no number was free */
        memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&packet.head)), sizeof *fd);
    *fd = sbx__move_up(*fd, 3);
    if (*fd > b->top_fd) b->top_fd = *fd;
    if (f->which == SBX__EXIT) b->pid = (pid_t)f->error;
    if (*fd < 0 && f->which == SBX__NOTIFY) { /* forbidden calls would go unheard */
        f->step = SBX_STEP_POLICY;
        f->error = EMFILE;
        f->which = 3;
    }
    return n;
}
#else
static ssize_t sbx__receive(sbx *b, sbx__failure *f) {
    return read(b->fd[SBX__REPORT], f, sizeof *f);
}
#endif

/* Records until the end: descriptors, maybe a failure. Exec closes the other end: it has begun. */
static void sbx__read_report(sbx *b) {
    sbx__failure f;
    ssize_t n = 1;
    while (n > 0) {
        n = sbx__receive(b, &f);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n == (ssize_t)sizeof f && f.step) b->failure = f;
    }
    sbx__close(&b->fd[SBX__REPORT]);
}

/* Behind the gate a program shares our memory, plan and all: this thread waits for its exec, as it
   would for a vfork, and changes nothing meanwhile. */
static void sbx__open_gate(const sbx__plan *p, sbx *b) {
#if SBX__LINUX
    int proc;
    struct pollfd one;
    sbx__task t;
    if (write(p->gate[1], "", 1) != 1) return; /* it cannot be full */
    proc = sbx__open_proc();
    close(p->gate[0]);
    close(p->gate[1]);
    close(p->report);
    while (!p->fn && sbx__proc_stat(proc, (int)b->pid, &t) && t.no_exec && !t.dead) {
        one.fd = b->fd[SBX__REPORT];
        one.events = POLLIN;
        poll(&one, 1, 1);
        if (b->fd[SBX__REPORT] >= 0) sbx__read_report(b);
    }
    sbx__close(&proc);
#endif
    (void)p;
    (void)b;
}

/* A program is started without copying the host's page tables: the child runs on a stack of its own
   in the host's memory while this thread waits. A function needs the copy: fork. All signals are
   blocked meanwhile, so that no handler of the host runs in the child. */
static pid_t sbx__fork(sbx__plan *p, sbx *b) {
    int (*first)(void *) = sbx__child, error;
    sigset_t all, before;
    pid_t pid = -1;
    sigfillset(&all);
    SBX__SIGMASK(SIG_SETMASK, &all, &before);
#if SBX__LINUX
    if (p->tree) first = sbx__enter_child;
    if (!p->fn) {
        int flags = SBX__CLONE_VM | SBX__CLONE_VFORK;
        char *top = sbx__stack_top(p);
        if (p->tree) pid = clone(first, top, flags, p);
        else pid = clone(first, top, flags | SIGCHLD | SBX__CLONE_PIDFD, p, &b->fd[SBX__EXIT]);
        /* qemu-user does not know CLONE_PIDFD. */
        if (pid < 0 && errno == EINVAL && !p->tree) pid = clone(first, top, flags | SIGCHLD, p);
    }
#endif
    if (p->fn || !SBX__LINUX) {
        pid = fork();
        if (pid == 0) first(p);
    }
    error = errno;
    if (p->tree && pid > 0) { /* that one only opened the door; the program is in the report */
        sbx__collect(pid, 0, NULL);
        sbx__read_report(b);
        if (p->gate[0] >= 0) {
            sbx__open_gate(p, b);
            p->gate[0] = p->gate[1] = p->report = -1;
        }
        pid = b->pid;
    }
    SBX__SIGMASK(SIG_SETMASK, &before, NULL);
#if SBX__LINUX
    if (pid > 0 && b->fd[SBX__EXIT] < 0)
        b->fd[SBX__EXIT] = (int)syscall(SBX__NR_pidfd_open, pid, 0);
    b->fd[SBX__EXIT] = sbx__move_up(b->fd[SBX__EXIT], 3);
#endif
    if (pid < 0) errno = error; /* else its page need not be copied: the child shares it */
    return pid;
}

static int sbx__spawn(sbx__plan *p, sbx *b, sbx_result *r) {
    struct rusage host;
    int i;
    b->started = b->ended = sbx__now();
    b->deadline = b->cfg.timeout_ms < 0 ? SBX__NEVER : b->started + b->cfg.timeout_ms * 1000;
    p->deadline = b->deadline;
    b->pid = sbx__fork(p, b);
    if (b->pid < 0)
        return sbx__refuse(r, SBX_STEP_SPAWN, errno, "no new process: %s", strerror(errno));
    b->late = sbx__now() >= b->deadline;
    for (i = 0; i < 3; i++) sbx__close(&p->fd[i]);
    sbx__close(&p->report);
    for (i = 0; i < SBX__FDS; i++)
        if (b->fd[i] > b->top_fd) b->top_fd = b->fd[i];
    if (b->pid == 0) { /* it could not enter */
        b->state = SBX__ENDED;
        if (!b->failure.step) b->failure.error = ECHILD;
        if (!b->failure.step) b->failure.step = SBX_STEP_CONTAIN;
    }
    if (getrusage(RUSAGE_SELF, &host) == 0) b->host_peak = sbx__maxrss(&host);
#if SBX__LINUX
    if (b->fd[SBX__IN] >= 0 && b->input_left > SBX__CHUNK)
        fcntl(b->fd[SBX__IN], SBX__F_SETPIPE_SZ, SBX__BIG_PIPE);
    b->sample_step = SBX__SAMPLE / 2; /* a shorter select() costs more than it tells */
    b->sample_at = sbx__now() + b->sample_step;
    b->sampled_at = b->started;
    b->credit = SBX__SAVED;
#endif
    if (b->fd[SBX__EXIT] < 0) {
        b->look_at = b->started;
        b->look_step = 100;
    }
    return 1;
}

static void sbx__explain(const sbx__plan *p, const sbx__failure *f, sbx_result *r) {
    static const char *const policy[] = {"mounts of its own", "dropping privileges",
                                         "Landlock's rules", "the system-call filter"};
    const char *why = strerror(f->error), *what = "its descriptors";
    char shown[120];
    struct stat st;
    int exists;
    if (f->step == SBX_STEP_CWD) {
        sbx__refuse(r, f->step, f->error, "cwd = \"%s\": %s",
                    sbx__plain(shown, sizeof shown, p->cwd), why);
    } else if (f->step == SBX_STEP_EXEC) {
        exists = stat(p->path, &st) == 0;
        if (f->error == ENOENT && exists) why = "the interpreter or loader it names is missing";
        if (f->error == EACCES && exists) why = "it may not be run";
        if (f->error == EACCES && exists && S_ISDIR(st.st_mode)) why = "it is a directory";
        if (f->error == ENOEXEC) why = "no program for this machine, and no script with a #! line";
        if (f->error == ETXTBSY) why = "somebody has it open for writing";
        sbx__refuse(r, f->step, f->error, "'%s' cannot be run: %s",
                    sbx__plain(shown, sizeof shown, p->path), why);
    } else {
        sbx_step step = f->step == SBX_STEP_CONTAIN && p->cfg.policy ? SBX_STEP_POLICY : f->step;
        if (step == SBX_STEP_CONTAIN && (f->error == EMFILE || f->error == ENFILE))
            step = SBX_STEP_IO; /* no reason to contain less */
        if (f->step == SBX_STEP_SESSION) what = "a session of its own";
        if (f->step == SBX_STEP_LIMITS) what = p->limits[(unsigned)f->which % SBX__LIMITS].name;
        if (f->step == SBX_STEP_CONTAIN) what = "the PID namespace";
        if (f->step == SBX_STEP_CGROUP) what = "the cgroup";
        if (f->step == SBX_STEP_MEMORY) what = "memory for the function";
        if (f->step == SBX_STEP_POLICY) what = policy[(unsigned)f->which % 4];
        sbx__refuse(r, step, f->error, "%s%s could not be set up in the child: %s",
                    step == SBX_STEP_POLICY ? "policy: " : "", what, why);
    }
}

/* ==== reader and writer ====================================================================== */

/* Room behind the kept bytes for one more read: doubling, at most one chunk past the cap. */
static size_t sbx__room(sbx *b, int i) {
    sbx_output *o = &b->output[i];
    long long left = b->cfg.output_bytes < 0 ? SBX__MAX_BYTES : b->cfg.output_bytes - b->kept;
    size_t size = b->capacity[i], least = o->size + (b->busy[i] || !left ? SBX__CHUNK : 1) + 1;
    if (size < least) {
        char *data;
        size = size ? 2 * size : 4096;
        if (size < least) size = least;
        if (left < (long long)(size - o->size)) size = o->size + (size_t)left + SBX__CHUNK + 1;
        data = (char *)SBX_REALLOC(o->data, size);
        if (data) {
            o->data = data;
            b->capacity[i] = size;
        }
    }
    return b->capacity[i] > o->size ? b->capacity[i] - o->size - 1 : 0;
}

/* n bytes stand behind the kept ones: keep what the cap allows, tell the callback, judge. */
static void sbx__take(sbx *b, int i, size_t n, size_t room) {
    sbx_output *o = &b->output[i];
    const char *fresh = o->data ? o->data + o->size : NULL;
    size_t keep = room ? n : 0;
    if (b->cfg.output_bytes >= 0 && (long long)keep > b->cfg.output_bytes - b->kept)
        keep = (size_t)(b->cfg.output_bytes - b->kept);
    o->total += n;
    o->size += keep;
    b->kept += (long long)keep;
    if (keep && b->cfg.on_output && !(b->seen.saw & SBX_SAW_CANCEL) &&
        b->cfg.on_output(b->cfg.user, i ? SBX_STDERR : SBX_STDOUT, fresh, keep) != 0) {
        b->cfg.on_output = NULL;
        sbx__stop(b, SBX_SAW_CANCEL);
    }
    if (keep == n) return;
    o->truncated = 1;
    /* The host is out of memory: from here on nothing is kept, so that there is no hole. */
    if (!room) {
        b->failure.error = ENOMEM;
        b->cfg.output_bytes = b->kept;
    }
    if (!b->cfg.truncate_output) sbx__stop(b, SBX_SAW_OUTPUT_CAP);
}

/* Reads what is there, at most about one full pipe, so that no stream starves the other. */
static void sbx__read(sbx *b, int k) {
    size_t budget = SBX__BIG_PIPE;
    int i = k - SBX__OUT;
    char spare[512]; /* nothing is allocated for what says nothing, or if the host has no memory */
    while (b->fd[k] >= 0 && budget > 0) {
        size_t room = b->capacity[i] ? sbx__room(b, i) : 0, want = room ? room : sizeof spare;
        ssize_t n;
        if (want > budget) want = budget;
        n = read(b->fd[k], room ? b->output[i].data + b->output[i].size : spare, want);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) {
            sbx__close(&b->fd[k]);
            if (b->look_at != SBX__NEVER) { /* its end is near */
                b->look_at = 0;
                b->look_step = 50;
            }
            return;
        }
        if (!room && sbx__room(b, i) >= (size_t)n) {
            memcpy(b->output[i].data + b->output[i].size, spare, (size_t)n);
            room = (size_t)n;
        }
        sbx__take(b, i, (size_t)n, room);
        budget -= (size_t)n;
#if SBX__LINUX
        if (!b->busy[i] && b->output[i].total >= SBX__CHUNK) { /* fewer, larger reads */
            fcntl(b->fd[k], SBX__F_SETPIPE_SZ, SBX__BIG_PIPE);
            b->busy[i] = 1;
        }
#endif
        if ((size_t)n < want) return; /* that was all */
    }
}

/* write() to a pipe nobody reads raises SIGPIPE: held back in this thread, and taken away again. */
static ssize_t sbx__write_quietly(int fd, const void *data, size_t size) {
    sigset_t only, before, pending;
    int error, was_pending, number;
    ssize_t n;
    sigemptyset(&only);
    sigaddset(&only, SIGPIPE);
    SBX__SIGMASK(SIG_BLOCK, &only, &before);
    sigpending(&pending);
    was_pending = sigismember(&pending, SIGPIPE);
    do n = write(fd, data, size);
    while (n < 0 && errno == EINTR);
    error = errno;
    if (n < 0 && error == EPIPE && !was_pending) {
        sigpending(&pending);
        if (sigismember(&pending, SIGPIPE)) sigwait(&only, &number);
    }
    SBX__SIGMASK(SIG_SETMASK, &before, NULL);
    errno = error;
    return n;
}

static void sbx__feed(sbx *b) {
    size_t size = b->input_left < SBX__BIG_PIPE ? b->input_left : SBX__BIG_PIPE;
    ssize_t n = 0;
    b->want_write = 0;
    if (b->cfg.in == SBX_PIPE || b->fd[SBX__IN] < 0) return;
    if (size) n = sbx__write_quietly(b->fd[SBX__IN], b->input, size);
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) n = (ssize_t)b->input_left; /* the child does not want the rest */
    b->input += n;
    b->input_left -= (size_t)n;
    if (b->input_left == 0) sbx__close(&b->fd[SBX__IN]);
}

/* ==== watch: memory and CPU time of the tree, from /proc (Linux) ============================= */

#if SBX__LINUX

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

/* 0 = none. */
static int sbx__other_thread(int proc, int pid) {
    char path[32];
    DIR *dir;
    int thread = pid;
    snprintf(path, sizeof path, "%d/task", pid);
    dir = sbx__list(proc, path);
    while (dir && thread == pid) thread = sbx__next_pid(dir);
    if (dir) closedir(dir);
    return thread == pid ? 0 : thread;
}

static size_t sbx__task_read(const sbx *b, const sbx__task *t, const char *name, char *text,
                             size_t room) {
    char path[60];
    if (!t->thread) return sbx__proc_read(b->fd[SBX__PROC], t->pid, name, text, room);
    snprintf(path, sizeof path, "task/%d/%s", t->thread, name);
    return sbx__proc_read(b->fd[SBX__PROC], t->pid, path, text, room);
}

/* Everybody in the tree's own /proc is a member. In the host's: the program's session, every
   descendant whose line to it is unbroken, and the orphans of pid 1. */
static int sbx__scan(const sbx *b, sbx__tasks *list) {
    int i, pid, kept = 0, more = 1, complete = 1, own = b->self != (int)b->pid;
    DIR *dir = sbx__list(b->fd[SBX__PROC], ".");
    sbx__task t;
    while (dir && (pid = sbx__next_pid(dir)) != 0) {
        if ((own && pid == 1) || !sbx__proc_stat(b->fd[SBX__PROC], pid, &t)) continue;
        if (t.thread) t.thread = sbx__other_thread(b->fd[SBX__PROC], pid);
        t.member = own || t.pid == b->self || t.session == b->self ||
                   (b->init && t.parent == (int)b->init);
        complete = complete && sbx__task_add(list, &t);
    }
    if (!dir || closedir(dir) != 0) return 0;
    while (more) {
        more = 0;
        for (i = 0; i < list->count; i++) {
            sbx__task *parent = sbx__task_of(list, list->at[i].parent);
            if (!list->at[i].member && parent && parent->member) list->at[i].member = more = 1;
        }
    }
    for (i = 0; i < list->count; i++)
        if (list->at[i].member) list->at[kept++] = list->at[i];
    list->count = kept;
    return complete;
}

/* CPU time of the tree = the living, what they waited for, and what vanished unwaited. The ticks of
   a vanished task are credited to its nearest living ancestor; what that one did not collect, the
   kernel has forgotten, and it is kept here. */
static void sbx__settle_cpu(sbx *b, const sbx__tasks *fresh) {
    long long ticks = 0, rate = sysconf(_SC_CLK_TCK);
    int i;
    for (i = 0; i < b->tasks.count; i++) {
        sbx__task *old = &b->tasks.at[i], *heir = NULL, *up = old;
        if (sbx__task_of(fresh, old->pid)) continue;
        while (!heir && (up = sbx__task_of(&b->tasks, up->parent)) != NULL)
            heir = sbx__task_of(fresh, up->pid);
        if (heir) heir->credit += old->cpu + old->reaped;
        else b->cpu_gone += old->cpu + old->reaped;
    }
    for (i = 0; i < fresh->count; i++) {
        sbx__task *t = &fresh->at[i], *old = sbx__task_of(&b->tasks, t->pid);
        long long collected = t->reaped - (old ? old->reaped : 0);
        if (t->credit > collected) b->cpu_gone += t->credit - collected;
        ticks += t->cpu + t->reaped;
    }
    ticks = (ticks + b->cpu_gone) * (SBX__SECOND / (rate > 0 ? rate : 100));
    if (ticks > b->cpu_us) b->cpu_us = ticks;
}

static long long sbx__cpu_time(void) { return sbx__clock(CLOCK_THREAD_CPUTIME_ID); }

/* Renews the list of members and, with it, the CPU sum. */
static void sbx__recount(sbx *b, long long now) {
    long long begun = sbx__cpu_time();
    sbx__tasks fresh;
    memset(&fresh, 0, sizeof fresh);
    if (sbx__scan(b, &fresh)) {
        sbx__settle_cpu(b, &fresh);
        SBX_FREE(b->tasks.at);
        b->tasks = fresh;
    } else {
        SBX_FREE(fresh.at); /* no memory: the old list serves until the next look */
    }
    b->scan_at = now + (sbx__cpu_time() - begun) * SBX__PART;
}

static long long sbx__kib(const char *text, const char *label) {
    return sbx__number_after(text, label, 0) * 1024;
}

/* Of the host itself: a function begins with a copy of them. */
static long long sbx__own_tables(void) {
    char text[4096];
    sbx__read_file(AT_FDCWD, "/proc/self/status", text, sizeof text);
    return sbx__kib(text, "\nVmPTE:");
}

static long long sbx__resident(const sbx *b, const sbx__task *t) {
    char text[128], *at = text;
    if (!sbx__task_read(b, t, "statm", text, sizeof text)) return 0;
    strtoll(at, &at, 10);
    return strtoll(at, NULL, 10) * sysconf(_SC_PAGESIZE);
}

/* A task's own share of its pages: divided by the number of sharers; of a function only what the
   host does not have too. Dear: it walks the page tables. A task can hide that, not its size. */
static void sbx__ask_share(const sbx *b, sbx__task *t) {
    char text[2048];
    t->resident = sbx__resident(b, t);
    t->share = t->pss = errno = 0;
    if (sbx__task_read(b, t, "smaps_rollup", text, sizeof text)) {
        t->pss = sbx__kib(text, "\nPss:") + sbx__kib(text, "\nSwapPss:");
        t->share = t->pss;
        if (b->call)
            t->share = sbx__kib(text, "\nPrivate_Clean:") + sbx__kib(text, "\nPrivate_Dirty:") +
                       sbx__kib(text, "\nSwapPss:");
    } else if (errno == EACCES || errno == EPERM) { /* else it has ended meanwhile */
        t->share = t->rss;
        if (b->call) t->share = t->rss > b->host_peak ? t->rss - b->host_peak : 0;
    }
}

/* The members' numbers on the host's side, where those in the tree's own /proc are others. */
static void sbx__find_hosts(sbx *b) {
    char text[4096], *at;
    int host, proc = sbx__open_proc();
    unsigned long long ours = sbx__pid_ns(proc, (int)b->pid, 0);
    DIR *dir = ours ? sbx__list(proc, ".") : NULL;
    sbx__task *t;
    while (dir && (host = sbx__next_pid(dir)) != 0) {
        long long number = 0;
        if (sbx__pid_ns(proc, host, 0) != ours ||
            !sbx__proc_read(proc, host, "status", text, sizeof text) ||
            !(at = strstr(text, "\nNSpid:")))
            continue;
        for (at += 7; *at == '\t';) number = strtoll(at, &at, 10); /* the innermost is the last */
        if ((t = sbx__task_of(&b->tasks, (int)number)) != NULL) t->host = host;
    }
    if (dir) closedir(dir);
    sbx__close(&proc);
}

/* Between vfork and exec a task lives in its parent's memory, which /proc then shows twice. Only
   twins are worth the question, and only large ones the search for their numbers. */
static int sbx__borrows(sbx *b, const sbx__task *t) {
    const sbx__task *parent = sbx__task_of(&b->tasks, t->parent);
    long long apart = parent ? parent->rss - t->rss : 0;
    if (!t->no_exec || t->rss <= 4 << 20 || !parent) return 0;
    if (apart > t->rss / 16 || apart < -t->rss / 16) return 0;
    if (b->self == (int)b->pid) return syscall(SYS_kcmp, t->pid, t->parent, 1, 0, 0) == 0;
    if (!t->host || !parent->host) sbx__find_hosts(b);
    return syscall(SYS_kcmp, t->host, parent->host, 1, 0, 0) == 0; /* KCMP_VM: the same memory */
}

/* The exact sum, or less: what somebody gives up meanwhile may be in the share of another who was
   asked later. */
static long long sbx__weigh_shares(sbx *b) {
    long long sum = 0, whole = -b->host_peak, tables = 0, begun = sbx__cpu_time(), fell;
    sbx__task *t = b->tasks.at, *end = t + b->tasks.count;
    for (; t < end; t++) { /* asked first: only exec ends the borrowing */
        t->share = t->pss = t->resident = 0;
        if (sbx__borrows(b, t)) continue;
        sbx__ask_share(b, t);
        if (t->tables > b->host_tables) tables += t->tables - b->host_tables;
    }
    for (t = b->tasks.at; t < end; t++) {
        fell = t->resident ? t->resident - sbx__resident(b, t) : 0;
        if (fell < 0) fell = 0;
        if (t->share > fell) sum += t->share - fell;
        if (t->pss > fell) whole += t->pss - fell;
    }
    if (b->call && whole > sum) sum = whole; /* shared among its own forks */
    sum += tables;
    if (sum > b->peak) b->peak = sum;
    b->credit -= sbx__cpu_time() - begun;
    return sum;
}

/* Adds up the tree. b->used may count shared pages twice; what goes into b->peak never does. */
static void sbx__weigh(sbx *b) {
    long long own = 0, shared = 0;
    char text[4096];
    int i;
    b->used = 0;
    if (b->tasks.count > 1 || b->call) b->doubt = 1;
    for (i = 0; i < b->tasks.count; i++) {
        sbx__task *t = &b->tasks.at[i];
        long long rss, files, swap, peak, space, shmem;
        if (!sbx__task_read(b, t, "status", text, sizeof text)) continue;
        t->tables = sbx__kib(text, "\nVmPTE:");
        rss = sbx__kib(text, "\nVmRSS:") + t->tables;
        swap = sbx__kib(text, "\nVmSwap:");
        peak = sbx__kib(text, "\nVmHWM:") + t->tables;
        shmem = sbx__kib(text, "\nRssShmem:");
        files = sbx__kib(text, "\nRssFile:") + shmem;
        space = sbx__kib(text, "\nVmPeak:");
        if (space > b->peak_space) b->peak_space = space;
        if (shmem > rss / 16) b->doubt = b->mapped = 1; /* maybe the same pages several times */
        t->rss = rss + swap;
        b->used += rss + swap;
        own += rss - files + swap;
        if (files > shared) shared = files;
        if (peak > b->peak && !b->mapped && !b->call) b->peak = peak;
    }
    /* Forks share pages that look like their own: ask again, but rarely. */
    if (b->call) {
        b->used = sbx__weigh_shares(b);
    } else if (b->doubt && own + shared > b->peak && own + shared > b->weighed / 100 * 102 &&
               b->credit >= 0) {
        b->weighed = own + shared;
        sbx__weigh_shares(b);
    }
    if (b->peak == 0) b->peak = -1; /* it had ended already */
}

static int sbx__over_memory(sbx *b) {
    if (b->cfg.memory_bytes < 0 || !(b->enforced & SBX_BY_WATCH)) return 0;
    if (b->peak > b->cfg.memory_bytes) return 1; /* the high-water mark is proof */
    return b->doubt && !b->call && b->used > b->cfg.memory_bytes &&
           sbx__weigh_shares(b) > b->cfg.memory_bytes;
}

/* In a group without limits only the program itself is looked at. */
static void sbx__list_alone(sbx *b) {
    sbx__task t;
    if (b->tasks.count == 0 && sbx__proc_stat(b->fd[SBX__PROC], b->self, &t))
        sbx__task_add(&b->tasks, &t);
}

/* One look; more rarely as long as nothing changes. */
static void sbx__sample(sbx *b, long long now) {
    int watch = (b->enforced & SBX_BY_WATCH) != 0;
    int space = (b->seen.saw & SBX_SAW_MEMORY_LIMIT) != 0;
    long long before = b->peak, credit = b->credit + (now - b->sampled_at) / SBX__PART, left;
    long long spent, closer;
    /* Without a limit only the peak is wanted: more rarely, the more boxes there are. */
    long long most = watch || space ? SBX__SAMPLE : 2 * SBX__SAMPLE * (1 + b->crowd / 16);
    b->credit = credit = credit < SBX__SAVED ? credit : SBX__SAVED;
    b->sampled_at = now;
    /* The tree's own /proc comes with the report; there the program is the first after pid 1. */
    if (b->fd[SBX__REPORT] >= 0) sbx__read_report(b);
    if (!b->self) b->self = b->fd[SBX__PROC] >= 0 ? 2 : (int)b->pid;
    if (b->fd[SBX__PROC] < 0) b->fd[SBX__PROC] = sbx__open_proc();
    if (b->call && !b->host_tables) b->host_tables = sbx__own_tables();
    if (!b->cgroup && !watch && b->self == (int)b->pid) sbx__list_alone(b);
    else if (!b->cgroup && now >= b->scan_at) sbx__recount(b, now);
    spent = sbx__cpu_time();
    if (b->cgroup) {
        sbx__read_cgroup(b);
    } else {
        sbx__weigh(b);
        if (sbx__over_memory(b)) sbx__stop(b, SBX_SAW_MEMORY_SUM);
    }
    if (b->cfg.cpu_ms >= 0 && b->cpu_us > b->cfg.cpu_ms * 1000) sbx__stop(b, SBX_SAW_CPU_SUM);
    if (b->peak > before + before / 64) b->sample_step = SBX__SAMPLE / 4;
    else if (b->sample_step < most) b->sample_step *= 2;
    left = b->sample_step; /* near a limit sooner: it may grow by 4 GB a second */
    if (space) left = (b->cfg.address_space_bytes - b->peak_space) / 4096;
    if (watch && b->cfg.memory_bytes >= 0) left = (b->cfg.memory_bytes - b->used) / 4096;
    if (left > b->sample_step) left = b->sample_step;
    b->sample_at = now + (left > 1000 ? left : 1000);
    spent = sbx__cpu_time() - spent;
    closer = credit - b->credit;
    spent = (spent - closer) * SBX__PART + closer * 4; /* a limit has to be watched in any case */
    if (b->sample_at < now + spent) b->sample_at = now + spent;
    if (b->credit < -SBX__SAVED) b->credit = -SBX__SAVED;
}

#else /* without /proc the limits fall back to each process's own, and `enforced` says so */
static void sbx__sample(sbx *b, long long now) { b->sample_at = now ? SBX__NEVER : 0; }
#endif

/* ==== escalation: SIGTERM, grace, SIGKILL; then collect ====================================== */

/* To the whole group. By pidfd the kernel knows which group is meant even if the number were in use
   again; by number that is sure only while the leader has not been collected. */
static void sbx__signal(sbx *b, int number) {
    int sent = 0, gone = 0;
#if SBX__LINUX
    int fd = b->fd[SBX__EXIT];
    sent = syscall(SBX__NR_pidfd_send_signal, fd, number, NULL, SBX__PIDFD_TO_GROUP) == 0;
    gone = !sent && fd >= 0 && errno == ESRCH;
#endif
    if (!sent && !gone) sent = kill(-b->pid, number) == 0;
    if (number == SIGKILL && b->init) sbx__kill_init(b);
    if (sent || b->state != SBX__RUNNING) return;
#if SBX__LINUX /* it may not have its group yet */
    if (syscall(SBX__NR_pidfd_send_signal, fd, number, NULL, 0) == 0) return;
#endif
    kill(b->pid, number);
}

/* The reason is noted before the signal goes out, and only the first one counts. */
static void sbx__stop(sbx *b, unsigned reason) {
    if (b->stopping) return;
    b->stopping = 1;
    b->seen.saw |= reason;
    if (b->state != SBX__RUNNING) return; /* it ended by itself while its last bytes were read */
    b->killed = 1;
    if (b->cfg.grace_ms == 0 || reason & (SBX_SAW_MEMORY_SUM | SBX_SAW_DENIED)) {
        sbx__signal(b, SIGKILL); /* a hog would use the grace to grow */
    } else {
        b->kill_at = sbx__now() + b->cfg.grace_ms * 1000;
        sbx__signal(b, SIGTERM);
        sbx__signal(b, SIGCONT); /* a stopped process takes no SIGTERM */
    }
}

static void sbx__note_status(sbx *b, int exited, int value) {
    if (exited) b->seen.exit_code = value;
    else b->seen.signal = value;
}

/* Has the program ended? Looks without collecting, so that its number stays taken. */
static int sbx__look(sbx *b) {
    int flags = WEXITED | WNOHANG | WNOWAIT | SBX__WALL, found = -1;
    siginfo_t info;
    memset(&info, 0, sizeof info);
    if (b->fd[SBX__EXIT] < 0) errno = 0;
#if SBX__LINUX
    if (b->fd[SBX__EXIT] >= 0)
        found = waitid((idtype_t)SBX__P_PIDFD, (id_t)b->fd[SBX__EXIT], &info, flags);
#endif
    if (found < 0 && errno != ECHILD) found = waitid(P_PID, (id_t)b->pid, &info, flags);
    if (found == 0 && info.si_code != CLD_EXITED && info.si_code != CLD_KILLED &&
        info.si_code != CLD_DUMPED)
        return 0; /* nothing; or it stopped, and PTRACE_TRACEME had made the host its tracer */
    if (found == 0 && info.si_pid) sbx__note_status(b, info.si_code == CLD_EXITED, info.si_status);
    if (found == 0) return info.si_pid != 0;
    if (errno != ECHILD) return 0;
    b->gone++; /* the host collected it, or ignores SIGCHLD */
#if SBX__LINUX
    if (b->fd[SBX__EXIT] >= 0) { /* newer kernels remember for who holds a pidfd, if not at once */
        sbx__pidfd_info kept;
        int status, known;
        memset(&kept, 0, sizeof kept);
        kept.mask = SBX__PIDFD_INFO_EXIT;
        known = syscall(SYS_ioctl, b->fd[SBX__EXIT], SBX__PIDFD_GET_INFO, &kept) == 0;
        if ((known ? !(kept.mask & SBX__PIDFD_INFO_EXIT) : errno == ESRCH) && b->gone < 20)
            return 0;
        status = kept.exit_status;
        known = known && kept.mask & SBX__PIDFD_INFO_EXIT;
        if (known && WIFEXITED(status)) sbx__note_status(b, 1, WEXITSTATUS(status));
        else if (known) sbx__note_status(b, 0, WTERMSIG(status));
        if (known) return 1;
    }
#endif
    b->seen.saw |= SBX_SAW_NO_STATUS;
    return 1;
}

/* The program has ended. What it left behind is killed while its number is still taken. */
static void sbx__leave(sbx *b, long long now) {
    long long init_end = b->deadline == SBX__NEVER
                             ? SBX__NEVER
                             : b->deadline + b->cfg.grace_ms * 1000 + SBX__SECOND / 2;
    b->state = SBX__LEAVING;
    b->ended = b->look_at = now;
    b->empty_by = now + SBX__EMPTY_WAIT;
    b->look_step = 100;
    b->late = b->late && b->seen.signal == SIGKILL && !b->stopping; /* by its own timer, ... */
    if (b->late || (b->init && b->seen.signal == SIGKILL && !b->stopping && now >= init_end))
        b->seen.saw |= SBX_SAW_DEADLINE; /* ... or by pid 1's, which comes later */
    sbx__signal(b, SIGKILL); /* the group first: fewer runners compete with the end of pid 1 */
    if (!b->gone) sbx__collect(b->pid, 0, &b->usage); /* else the number may be another child's */
}

/* Nobody of the group runs any more: what is there are zombies, which are pid 1's to collect. */
#if SBX__LINUX
static int sbx__all_dead(const sbx *b) {
    int pid, proc = sbx__open_proc();
    DIR *dir = sbx__list(proc, ".");
    int alive = !dir;
    sbx__task t;
    while (dir && (pid = sbx__next_pid(dir)) != 0)
        if (sbx__proc_stat(proc, pid, &t) && t.group == (int)b->pid &&
            (!t.dead || t.parent == (int)getpid()))
            alive = 1;
    if (dir) closedir(dir);
    sbx__close(&proc);
    return !alive;
}
#else
static int sbx__all_dead(const sbx *b) { return b == NULL; } /* nobody can tell */
#endif

/* Is anybody left? clone(CLONE_PARENT) may have made grandchildren the host's to collect. */
static int sbx__is_empty(sbx *b, long long now) {
    int most = 64, empty;
    empty = kill(-b->pid, 0) < 0 && errno == ESRCH;
    while (!empty && most-- > 0 && sbx__collect(-b->pid, WNOHANG, NULL) > 0) {
    }
    if (b->init) { /* pid 1 is gone only when all of its namespace is */
        if (now > b->ended + 5000) sbx__collect_strays(b);
        empty = sbx__collect(b->init, WNOHANG, NULL) != 0;
        if (empty) b->init = 0;
    } else {
        empty = empty || sbx__all_dead(b);
    }
    return empty && (!b->cgroup || sbx__leave_cgroup(b));
}

/* Then read what is still in the pipes, and let go of them. */
static void sbx__clear(sbx *b, long long now) {
    static const int done[] = {SBX__IN,     SBX__OUT,  SBX__ERR, SBX__REPORT,
                               SBX__NOTIFY, SBX__LIFE, SBX__PROC};
    size_t i;
    if (!sbx__is_empty(b, now) && now < b->empty_by) {
        b->look_at = now + b->look_step;
        if (b->look_step < SBX__SAMPLE) b->look_step *= 2;
        return;
    }
    sbx__read(b, SBX__OUT);
    sbx__read(b, SBX__ERR);
    if (b->fd[SBX__REPORT] >= 0) sbx__read_report(b);
    for (i = 0; i < sizeof done / sizeof done[0]; i++) sbx__close(&b->fd[done[i]]);
    b->state = SBX__ENDED;
}

/* ==== the loop: one turn of a box, and waiting for many ====================================== */

/* For reasons that come from outside: a program that has ended meanwhile keeps its own verdict. */
static void sbx__stop_running(sbx *b, unsigned reason, long long now) {
    if (b->stopping) return;
    if (sbx__look(b)) sbx__leave(b, now);
    else sbx__stop(b, reason);
}

static void sbx__on_time(sbx *b, long long now) {
    if (now >= b->deadline) sbx__stop_running(b, SBX_SAW_DEADLINE, now);
    if (b->state == SBX__RUNNING && now >= b->kill_at) {
        b->kill_at = SBX__NEVER;
        b->seen.saw |= SBX_SAW_GRACE_OVER;
        sbx__signal(b, SIGKILL);
    }
    if (b->state == SBX__RUNNING && now >= b->sample_at) sbx__sample(b, now);
}

/* It is dead, but somebody traces it, and only to its tracer a dead process shows. In a tree the
   tracer dies with pid 1; one that left a group can hold the status for ever. */
static void sbx__unhide(sbx *b, long long now) {
    b->held = now + SBX__EMPTY_WAIT;
    b->look_step = 100;
    if (b->init) sbx__kill_init(b);
}

static void sbx__give_up(sbx *b, long long now) {
    b->gone = 1;
    b->seen.saw |= SBX_SAW_NO_STATUS;
    sbx__leave(b, now);
}

#define SBX__ANY (~0u) /* nobody knows which descriptors are ready: try them all */

static void sbx__turn(sbx *b, unsigned ready, long long now) {
    unsigned long long note;
    if (ready & 1u << SBX__REPORT && b->fd[SBX__REPORT] >= 0) sbx__read_report(b);
    if (ready & 1u << SBX__NOTIFY && b->fd[SBX__NOTIFY] >= 0) sbx__read_notice(b);
    if (ready & 1u << SBX__OUT) sbx__read(b, SBX__OUT);
    if (ready & 1u << SBX__ERR) sbx__read(b, SBX__ERR);
    if (ready & 1u << SBX__IN) sbx__feed(b);
    if (b->state == SBX__RUNNING && (ready & 1u << SBX__EXIT || now >= b->look_at)) {
        if (sbx__look(b)) {
            sbx__leave(b, now);
        } else {
            if (ready & 1u << SBX__EXIT && ready != SBX__ANY && !b->held) sbx__unhide(b, now);
            if (b->held && now >= b->held) sbx__give_up(b, now);
            b->look_at = b->fd[SBX__EXIT] < 0 || b->held ? now + b->look_step : SBX__NEVER;
            if (b->look_step < SBX__SAMPLE) b->look_step *= 2;
        }
    }
    if (b->state == SBX__RUNNING && ready & 1u << SBX__CANCEL && b->fd[SBX__CANCEL] >= 0 &&
        read(b->fd[SBX__CANCEL], &note, sizeof note) > 0)
        sbx__stop_running(b, SBX_SAW_CANCEL, now);
    if (b->state == SBX__RUNNING) sbx__on_time(b, now);
    if (b->state == SBX__LEAVING && (now >= b->look_at || ready & 1u << SBX__INIT))
        sbx__clear(b, now);
}

/* When the box needs a turn although no descriptor calls for one. */
static long long sbx__wake(const sbx *b) {
    long long at = b->look_at;
    if (b->state != SBX__RUNNING) return at;
    if (!b->stopping && b->deadline < at) at = b->deadline;
    if (b->kill_at < at) at = b->kill_at;
    return b->sample_at < at ? b->sample_at : at;
}

static int sbx__wants(const sbx *b, int k) {
    if (b->fd[k] < 0 || b->state == SBX__ENDED || k >= SBX__LIFE) return 0;
    if (k == SBX__IN) return b->input_left > 0 || b->want_write;
    if (k == SBX__INIT) return b->state == SBX__LEAVING;
    if (k == SBX__EXIT) return b->state == SBX__RUNNING && !b->held;
    if (k == SBX__REPORT && b->call && !b->cfg.policy) return 0; /* a function: read at the end */
    return b->state == SBX__RUNNING || k == SBX__OUT || k == SBX__ERR;
}

#define SBX__BITS (8 * (int)sizeof(unsigned long))

/* The word of a bitmap that holds a descriptor, and its bit there. map[1] is for writing. */
static unsigned long *sbx__word(unsigned long *const *map, const sbx *b, int k) {
    return &map[k == SBX__IN][b->fd[k] / SBX__BITS];
}
static unsigned long sbx__bit(const sbx *b, int k) { return 1ul << b->fd[k] % SBX__BITS; }

static void sbx__timeval(long long us, struct timeval *tv) {
    if (us < 0) us = 0;
    if (us > 1000 * SBX__SECOND) us = 1000 * SBX__SECOND;
    tv->tv_sec = (time_t)(us / SBX__SECOND);
    tv->tv_usec = (suseconds_t)(us % SBX__SECOND);
}

/* One select() over all boxes, with a bitmap as large as the highest descriptor asks for; then a
   turn for every box that is ready or due. */
static void sbx__select(sbx *const *boxes, int count, int top, long long wait) {
    unsigned long few[64], *map[2]; /* to read, to write */
    size_t words = (size_t)(top / SBX__BITS + 1);
    struct timeval tv;
    long long now;
    int i, k, n, blind = 0;
    map[0] = few;
    if (2 * words * sizeof *few > sizeof few)
        map[0] = (unsigned long *)SBX_REALLOC(NULL, 2 * words * sizeof *few);
    map[1] = map[0] ? map[0] + words : NULL;
    if (map[0]) memset(map[0], 0, 2 * words * sizeof *few);
    for (i = 0; map[0] && i < count; i++)
        for (k = 0; boxes[i] && k < SBX__FDS; k++)
            if (sbx__wants(boxes[i], k)) *sbx__word(map, boxes[i], k) |= sbx__bit(boxes[i], k);
    sbx__timeval(wait, &tv);
    n = map[0] ? select(top + 1, (fd_set *)(void *)map[0], (fd_set *)(void *)map[1], NULL, &tv)
               : -1;
    if (!map[0] || (n < 0 && errno != EINTR)) { /* no memory, or the host closed one: try often */
        blind = 1;
        sbx__timeval(wait < 1000 ? wait : 1000, &tv);
        select(0, NULL, NULL, NULL, &tv);
    }
    now = sbx__now();
    for (i = 0; i < count; i++) {
        unsigned ready = blind ? SBX__ANY : 0;
        sbx *b = boxes[i];
        if (!b || b->state == SBX__ENDED) continue;
        b->crowd = count;
        for (k = 0; n > 0 && k < SBX__FDS; k++)
            if (sbx__wants(b, k) && *sbx__word(map, b, k) & sbx__bit(b, k)) ready |= 1u << k;
        if (ready || now >= sbx__wake(b)) sbx__turn(b, ready, now);
    }
    if (map[0] != few) SBX_FREE(map[0]);
}

/* Index of a box that has ended; -1 at `until`, if there is none to wait for, or when an input that
   was full can take more. */
static int sbx__wait(sbx *const *boxes, int count, long long until) {
    for (;;) {
        long long now = sbx__now(), wake = until;
        int i, top = -1, full = 0;
        for (i = 0; i < count; i++) {
            if (!boxes[i]) continue;
            full += boxes[i]->want_write;
            if (boxes[i]->state == SBX__ENDED) return i;
            if (boxes[i]->top_fd > top) top = boxes[i]->top_fd;
            if (sbx__wake(boxes[i]) < wake) wake = sbx__wake(boxes[i]);
        }
        if (top < 0) return -1;
        sbx__select(boxes, count, top, wake == SBX__NEVER ? SBX__NEVER : wake - now);
        for (i = 0; i < count; i++) {
            if (boxes[i] && boxes[i]->state == SBX__ENDED) return i;
            if (boxes[i]) full -= boxes[i]->want_write;
        }
        if (full > 0 || sbx__now() >= until) return -1;
    }
}

/* ==== classifier: evidence -> verdict ======================================================== */

/* The table at the top of the file, row by row. */
SBX_API sbx_verdict sbx_classify(const sbx_evidence *e, int *certain) {
    /* clang-format off */
    static const struct { unsigned saw; sbx_verdict verdict; } proven[] = {
        {SBX_SAW_START_FAILED, SBX_NOT_STARTED}, {SBX_SAW_CANCEL, SBX_CANCELLED},
        {SBX_SAW_DEADLINE, SBX_TIMED_OUT},       {SBX_SAW_CPU_SUM, SBX_CPU_LIMIT},
        {SBX_SAW_MEMORY_SUM, SBX_MEMORY_LIMIT},  {SBX_SAW_OUTPUT_CAP, SBX_OUTPUT_LIMIT},
        {SBX_SAW_OOM_KILL, SBX_MEMORY_LIMIT},    {SBX_SAW_DENIED, SBX_DENIED},
        {SBX_SAW_NO_STATUS, SBX_LOST}};
    /* clang-format on */
    unsigned memory = e->saw & SBX_SAW_MEMORY_LIMIT, file = e->saw & SBX_SAW_FILE_LIMIT;
    int ignored;
    size_t i;
    if (!certain) certain = &ignored;
    *certain = 1;
    for (i = 0; i < sizeof proven / sizeof proven[0]; i++)
        if (e->saw & proven[i].saw) return proven[i].verdict;
    if (!e->signal && e->exit_code == 0) return e->saw & SBX_SAW_NO_RESULT ? SBX_NO_RESULT : SBX_OK;
    /* From here on a limit may have worked inside the program, where nobody saw it. */
    *certain = !memory && !file;
    if ((e->signal == SIGXCPU || e->signal == SIGKILL) && e->saw & SBX_SAW_CPU_SPENT) {
        *certain = 0;
        return SBX_CPU_LIMIT;
    }
    if (file && (e->signal == SIGXFSZ || (!e->signal && e->saw & SBX_SAW_FILE_TEXT)))
        return SBX_FILE_LIMIT;
    if (memory && e->saw & (SBX_SAW_MEMORY_TEXT | SBX_SAW_MEMORY_PEAK)) return SBX_MEMORY_LIMIT;
    return e->signal ? SBX_CRASHED : e->saw & SBX_SAW_NO_RESULT ? SBX_NO_RESULT : SBX_EXITED;
}

/* Does the end of the text hold one of the words, whatever its case? */
static int sbx__speaks_of(const sbx_output *o, const char *const *words) {
    size_t i, k;
    for (; *words; words++)
        for (i = o->size > 16384 ? o->size - 16384 : 0; i < o->size; i++) {
            for (k = 0; (*words)[k] && i + k < o->size; k++) {
                char c = o->data[i + k];
                if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != (*words)[k]) break;
            }
            if (!(*words)[k]) return 1;
        }
    return 0;
}

/* What the function left. Its bytes are copied, never looked at in place. */
static int sbx__fetch(const sbx *b, void *to, size_t from, size_t size) {
    size_t got = 0;
    ssize_t n = 1;
    if (b->shared) return memcpy(to, (const char *)b->shared + from, size) != NULL;
    while (got < size && n > 0) {
        n = pread(b->fd[SBX__RESULT], (char *)to + got, size - got, (off_t)(from + got));
        if (n > 0) got += (size_t)n;
    }
    return got == size;
}

/* ru_maxrss starts at the host's own size, which the kernel knows within some per cent: only what
   is clearly above that is the child's. Nor does it count if pages were mapped several times. */
static int sbx__is_own(const sbx *b, long long bytes) {
    return !b->mapped && bytes > b->host_peak + b->host_peak / 16;
}

/* The last facts, which only show when all is over. */
static void sbx__observe(sbx *b, const sbx_result *r) {
    /* clang-format off */
    static const char *const memory[] = {
        "memoryerror", "bad_alloc", "out of memory", "outofmemory", "cannot allocate memory",
        "memory exhausted", "allocation fail", "failed to allocate", "could not allocate",
        "not enough memory", "insufficient memory", "could not reserve", "failed to reserve",
        "no more memory", "process oom", "failed to map segment", "cannot allocate", NULL};
    /* clang-format on */
    /* A thread that cannot start lacks a stack, if the number of tasks is not limited. */
    static const char *const thread[] = {"resource temporarily unavailable", "start new thread",
                                         "native thread", NULL};
    static const char *const java[] = {"error occurred during initialization of vm", NULL};
    static const char *const file[] = {"file too large", "file size limit", "efbig", NULL};
    const sbx_output *said = &b->output[b->cfg.err == SBX_MERGE ? 0 : 1];
    sbx_evidence *e = &b->seen;
    long long space = b->cfg.address_space_bytes, most = sbx__maxrss(&b->usage);
    int summed = b->enforced & SBX_BY_WATCH || b->cgroup; /* the kernel's limit is a second above */
    sbx_output told; /* by sbx_fail */
    memset(&told, 0, sizeof told);
    if (b->call && sbx__fetch(b, &b->left, 0, sizeof b->left) && b->left.failed) {
        b->left.text[sizeof b->left.text - 1] = 0;
        told.data = b->left.text;
        told.size = strlen(told.data);
    }
    if (b->cfg.cpu_ms >= 0 &&
        r->user_us + r->system_us >= ((b->cfg.cpu_ms + 999) / 1000 + summed) * 700000)
        e->saw |= SBX_SAW_CPU_SPENT;
    if (b->cfg.cpu_ms >= 0 && !b->stopping && r->user_us + r->system_us > b->cfg.cpu_ms * 1000)
        e->saw |= SBX_SAW_CPU_SUM; /* it ended before the next look, but it is in the books */
    if (b->cfg.memory_bytes >= 0 && b->enforced & SBX_BY_WATCH && !b->call && !b->stopping &&
        sbx__is_own(b, most) && most > b->cfg.memory_bytes)
        e->saw |= SBX_SAW_MEMORY_SUM; /* a burst between two looks is still in the books */
    if (e->saw & SBX_SAW_MEMORY_LIMIT) {
        if (sbx__speaks_of(said, memory) || sbx__speaks_of(&told, memory) ||
            sbx__speaks_of(&b->output[0], java) ||
            (b->cfg.processes < 0 && sbx__speaks_of(said, thread)))
            e->saw |= SBX_SAW_MEMORY_TEXT;
        if (b->peak_space > space / 100 * 95 || r->peak_bytes > space / 100 * 95 || space < 4 << 20)
            e->saw |= SBX_SAW_MEMORY_PEAK; /* with less than 4 MB hardly a program starts */
    }
    if (e->saw & SBX_SAW_FILE_LIMIT && sbx__speaks_of(said, file)) e->saw |= SBX_SAW_FILE_TEXT;
    if (b->call && (e->exit_code != 0 || b->left.done != b->token)) e->saw |= SBX_SAW_NO_RESULT;
}

/* ==== result ================================================================================= */

static void sbx__describe(const sbx *b, sbx_result *r) {
    const sbx_config *c = &b->cfg;
    const char *who = b->who, *killed = !b->killed  ? ""
                                        : r->signal ? " and was killed"
                                                    : " and was stopped";
    char *to = r->message;
    size_t n = sizeof r->message;
    switch (r->verdict) {
    case SBX_TIMED_OUT:
        if (b->late)
            snprintf(to, n, "%s had not started when its %lld ms limit was over", who,
                     c->timeout_ms);
        else snprintf(to, n, "%s ran past its %lld ms limit%s", who, c->timeout_ms, killed);
        break;
    case SBX_CPU_LIMIT:
        snprintf(to, n, "%s %s its %lld ms of CPU time%s", who,
                 r->certain ? "used up" : "seems to have used up", c->cpu_ms, killed);
        break;
    case SBX_MEMORY_LIMIT:
        if (b->seen.saw & SBX_SAW_OOM_KILL) killed = " and was killed";
        if (r->certain && c->memory_bytes < 0)
            snprintf(to, n, "%s was killed because its cgroup had no memory left", who);
        else if (r->certain)
            snprintf(to, n, "%s used more than its %lld bytes of memory%s", who, c->memory_bytes,
                     killed);
        else
            snprintf(to, n, "%s seems to have run out of its %lld bytes of memory", who,
                     c->address_space_bytes);
        break;
    case SBX_OUTPUT_LIMIT:
        r->sys_errno = b->failure.error;
        if (r->sys_errno)
            snprintf(to, n, "%s wrote more output than the host had memory for%s", who, killed);
        else
            snprintf(to, n, "%s wrote more than its %lld bytes of output%s", who, c->output_bytes,
                     killed);
        break;
    case SBX_FILE_LIMIT:
        snprintf(to, n, "%s seems to have reached its limit of %lld bytes in a file", who,
                 c->file_bytes);
        break;
    case SBX_DENIED:
        snprintf(to, n, "%s was killed for a forbidden system call: %s (number %d)", who,
                 sbx__call_name(b->denied), b->denied);
        break;
    case SBX_CANCELLED: snprintf(to, n, "%s was cancelled%s", who, killed); break;
    case SBX_LOST: snprintf(to, n, "%s ran, but the host took its exit status away", who); break;
    case SBX_CRASHED:
        snprintf(to, n, "%s was ended by signal %d (%s)", who, r->signal,
                 sbx__signal_name(r->signal));
        break;
    case SBX_NO_RESULT:
        if (b->left.failed) sbx__plain(to, n, b->left.text);
        if (!*to) snprintf(to, n, "%s ended with code %d and left no result", who, r->exit_code);
        break;
    default: snprintf(to, n, "%s exited with code %d", who, r->exit_code); break;
    }
}

static void sbx__hand_over(sbx_output *from, sbx_output *to) {
    char *fit = from->size ? (char *)SBX_REALLOC(from->data, from->size + 1) : NULL;
    *to = *from;
    if (fit) to->data = fit;
    if (to->size == 0) {
        SBX_FREE(to->data);
        to->data = (char *)"";
    } else {
        to->data[to->size] = 0;
    }
    from->data = NULL;
}

static sbx_verdict sbx__conclude(sbx *b, sbx_result *r) {
    long long peak = sbx__maxrss(&b->usage);
    sbx__blank(r);
    r->user = b->cfg.user;
    r->wall_us = b->ended - b->started;
    r->user_us = sbx__time_us(&b->usage.ru_utime);
    r->system_us = sbx__time_us(&b->usage.ru_stime);
    if (b->cpu_us > r->user_us + r->system_us) r->user_us = b->cpu_us - r->system_us; /* orphans */
    r->peak_bytes = sbx__is_own(b, peak) && !b->call && peak > b->peak ? peak : b->peak;
    sbx__observe(b, r);
    r->enforced = b->enforced;
    r->evidence = b->seen.saw;
    r->exit_code = b->seen.exit_code;
    r->signal = b->seen.signal;
    r->verdict = sbx_classify(&b->seen, &r->certain);
    sbx__describe(b, r);
    sbx__hand_over(&b->output[0], &r->out);
    sbx__hand_over(&b->output[1], &r->err);
    return r->verdict;
}

/* ==== public functions ======================================================================= */

/* Config -> plan -> running box. NULL: the result says why, and nothing is left. */
static sbx *sbx__open(const sbx_config *config, const sbx__plan *plan, sbx_result *r) {
    sbx__plan p = *plan;
    sbx__failure f;
    sbx *b;
    int ok;
    sbx__blank(r);
    if (!config) {
        sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "config = NULL: nothing to run");
        return NULL;
    }
    p.cfg = *config;
    r->user = config->user;
    if (!sbx__check_program(config, p.fn, r) || !sbx__check_limits(&p.cfg, r) ||
        !sbx__check_io(config, p.handle, r) || !sbx__check_places(config, r))
        return NULL;
    b = sbx__prepare(&p, &ok, r);
    ok = ok && sbx__spawn(&p, b, r);
    if (ok) {
        sbx__turn(b, (p.fn ? 0 : 1u << SBX__REPORT) | 1u << SBX__IN, b->started);
        /* A vfork returns after exec: nobody but a copy of the host can hold the report open. */
        if (p.shares && !b->failure.step) sbx__close(&b->fd[SBX__REPORT]);
        /* A function: all of it. */
        while (b->state != SBX__ENDED && (p.fn || b->fd[SBX__REPORT] >= 0))
            sbx__select(&b, 1, b->top_fd, sbx__wake(b) - sbx__now());
        if (p.fn && !p.tree && !b->shared && sbx__fetch(b, &f, b->shared_size, sizeof f))
            b->failure = f;
        if (b->failure.step) {
            if (b->state == SBX__RUNNING) sbx__signal(b, SIGKILL);
            sbx__wait(&b, 1, SBX__NEVER);
            sbx__explain(&p, &b->failure, r);
            ok = 0;
        }
    }
    sbx__free_plan(&p);
    if (ok) snprintf(r->message, sizeof r->message, "%s has started", b->who);
    if (ok) return b;
    sbx__free_box(b);
    /* No way in: the group. */
    if (r->step == SBX_STEP_CONTAIN && config->contain == SBX_CONTAIN_AUTO) {
        sbx_config group = *config;
        group.contain = SBX_CONTAIN_GROUP;
        return sbx__open(&group, plan, r);
    }
    return NULL;
}

SBX_API sbx *sbx_start(const sbx_config *config, sbx_result *result) {
    sbx_result ignored;
    sbx__plan plan;
    memset(&plan, 0, sizeof plan);
    plan.handle = 1;
    return sbx__open(config, &plan, result ? result : &ignored);
}

SBX_API sbx_verdict sbx_run(const sbx_config *config, sbx_result *result) {
    sbx_result ignored;
    sbx__plan plan;
    sbx *box;
    memset(&plan, 0, sizeof plan);
    box = sbx__open(config, &plan, result ? result : &ignored);
    return box ? sbx_finish(box, result) : SBX_NOT_STARTED;
}

SBX_API void sbx_free(sbx_result *result) {
    if (!result) return;
    if (result->out.size) SBX_FREE(result->out.data);
    if (result->err.size) SBX_FREE(result->err.data);
    result->out.data = result->err.data = (char *)"";
    result->out.size = result->err.size = 0;
}

SBX_API int sbx_poll_any(sbx *const *boxes, int count, long long wait_ms) {
    int forever = wait_ms < 0 || wait_ms > SBX__MAX_MS;
    return sbx__wait(boxes, count, forever ? SBX__NEVER : sbx__now() + wait_ms * 1000);
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
    n = size ? sbx__write_quietly(box->fd[SBX__IN], data, size) : 0;
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
    sbx_result ignored, *r = result ? result : &ignored;
    sbx_verdict verdict = SBX_NOT_STARTED;
    if (!box) {
        sbx__blank(r);
        sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "box = NULL: nothing to finish");
        return verdict;
    }
    sbx_poll(box, 0); /* a cancel comes before the end of input */
    sbx_close_input(box);
    sbx__wait(&box, 1, SBX__NEVER);
    verdict = sbx__conclude(box, r);
    sbx__free_box(box);
    if (!result) sbx_free(r);
    return verdict;
}

/* Only ever set in the child of an sbx_call; in every host it stays NULL. There it stands near to
   `environ`, and both are written: one page to copy instead of two. */
static SBX__IN_DATA sbx__shared *sbx__current = NULL;

static void sbx__flush(void) {
    if (SBX__PENDING(stdout)) fflush(stdout);
    if (SBX__PENDING(stderr)) fflush(stderr);
}

static void sbx__purge(FILE *file) {
#if defined(__GLIBC__)
    void (*volatile purge)(FILE *) = __fpurge;
    purge(file);
#elif defined(__linux__)
    __fpurge(file);
#elif !defined(__OpenBSD__)
    fpurge(file);
#else
    (void)file;
#endif
}

static int sbx__call_child(const sbx__plan *p) {
    int code;
    sbx__current = p->shared;
    environ = p->envp;
    sbx__close_from(3); /* the report: it has started */
    if (SBX__UNREAD(stdin)) sbx__purge(stdin); /* what the host has buffered is the host's */
    if (SBX__AT_END(stdin)) clearerr(stdin);
    if (SBX__PENDING(stdout)) sbx__purge(stdout);
    if (SBX__PENDING(stderr)) sbx__purge(stderr);
    code = p->fn(p->arg, (char *)p->shared + SBX__RET_AT, p->ret_size);
    sbx__flush();
    if (code == 0) p->shared->done = p->token;
    return code == 0 || (code & 255) != 0 ? code & 255 : 1;
}

SBX_API sbx_verdict sbx_call(const sbx_config *config, sbx_fn fn, void *arg, void *ret,
                             size_t ret_size, sbx_result *result) {
    sbx_result ignored, *r = result ? result : &ignored;
    sbx_verdict verdict = SBX_NOT_STARTED;
    sbx__plan plan;
    sbx *box = NULL;
    memset(&plan, 0, sizeof plan);
    plan.fn = fn;
    plan.arg = arg;
    plan.ret_size = ret_size;
    sbx__blank(r);
    r->user = config ? config->user : NULL;
    if (!fn) sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "fn = NULL: there is no function to call");
    else if ((ret_size && !ret) || ret_size > (size_t)-1 / 4)
        sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "ret_size = %lu, but ret is %s",
                    (unsigned long)ret_size, ret ? "not that large" : "NULL");
    else box = sbx__open(config, &plan, r);
    if (!box) return verdict;
    verdict = sbx__conclude(box, r);
    if (verdict == SBX_OK && ret_size && !sbx__fetch(box, ret, SBX__RET_AT, ret_size)) {
        verdict = r->verdict = SBX_NO_RESULT; /* it took the memory away */
        snprintf(r->message, sizeof r->message, "%s destroyed its result", box->who);
    }
    sbx__free_box(box);
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
    sbx__flush();
    sbx__quit(1);
}

static int sbx__nothing(void *arg, void *ret, size_t ret_size) {
    (void)arg;
    (void)ret;
    return ret_size != 0;
}

/* The real thing, once: a function in a child under that config. */
static int sbx__works(const sbx_config *cfg, unsigned by, char *why) {
    sbx_result r;
    int works = sbx_call(cfg, sbx__nothing, NULL, NULL, 0, &r) == SBX_OK && (r.enforced & by) == by;
    if (!works && why) memcpy(why, r.message, sizeof r.message);
    sbx_free(&r);
    return works;
}

SBX_API void sbx_probe(sbx_caps *caps) {
    sbx_config cfg;
    sbx_policy policy;
    memset(caps, 0, sizeof *caps);
    memset(&cfg, 0, sizeof cfg);
    memset(&policy, 0, sizeof policy);
    cfg.timeout_ms = 5000;
    cfg.contain = SBX_CONTAIN_GROUP;
    cfg.address_space_bytes = SBX__MAX_BYTES; /* no more than it has anyway */
    caps->address_space = sbx__works(&cfg, SBX_BY_RLIMIT_AS, NULL);
    cfg.address_space_bytes = 0;
    cfg.cpu_ms = SBX__MAX_MS;
    caps->watch = sbx__works(&cfg, SBX_BY_WATCH, NULL);
    cfg.cpu_ms = 0;
    cfg.contain = SBX_CONTAIN_TREE;
    caps->tree = sbx__works(&cfg, SBX_BY_TREE, caps->tree_why);
    cfg.contain = SBX_CONTAIN_AUTO;
    cfg.processes = SBX__MAX_COUNT;
    caps->processes = sbx__works(&cfg, SBX_BY_RLIMIT_NPROC, caps->processes_why);
    cfg.processes = 0;
    cfg.policy = &policy;
    caps->policy = sbx__works(&cfg, SBX_BY_LANDLOCK | SBX_BY_SECCOMP, caps->policy_why);
#if SBX__LINUX
    caps->landlock = (int)syscall(SBX__NR_landlock_create_ruleset, NULL, 0, 1);
    if (caps->landlock < 0) caps->landlock = 0;
#endif
}

SBX_API const char *sbx_verdict_name(sbx_verdict verdict) {
    /* clang-format off */
    static const char *const names[] = {"ok", "exited", "crashed", "timed-out", "cpu-limit",
                                        "memory-limit", "output-limit", "file-limit", "denied",
                                        "cancelled", "no-result", "not-started", "lost"};
    /* clang-format on */
    return (int)verdict >= 0 && verdict <= SBX_LOST ? names[verdict] : "unknown";
}

SBX_API size_t sbx_utf8_prefix(const char *text, size_t size, size_t max) {
    size_t n = size < max ? size : max, back;
    if (n < size && ((unsigned char)text[n] & 0xC0) != 0x80) return n; /* a character starts here */
    for (back = 1; back <= 4 && back <= n; back++) {
        unsigned char c = (unsigned char)text[n - back];
        size_t length = c >= 0xF8 ? 1 : c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
        if ((c & 0xC0) != 0x80) return length > back ? n - back : n;
    }
    return n;
}

SBX_API void sbx_clamp(sbx_config *config, const sbx_config *ceiling) {
    sbx_config top;
    size_t i;
    if (!config || !ceiling) return;
    top = *ceiling;
    for (i = 0; i < SBX__FIELDS; i++) {
        long long *mine = sbx__value(config, i), *most = sbx__value(&top, i);
        long long want = *mine ? *mine : sbx__fields[i].zero;
        long long limit = *most ? *most : sbx__fields[i].zero;
        int grace = sbx__fields[i].offset == offsetof(sbx_config, grace_ms);
        /* There -1 is the least, not the most. */
        if (limit < SBX_UNLIMITED) *mine = limit; /* nonsense: let the run refuse it */
        else if (grace && limit == SBX_UNLIMITED) *mine = limit;
        else if (limit >= 0 && (want > limit || (want == SBX_UNLIMITED && !grace))) *mine = limit;
    }
    if (ceiling->contain == SBX_CONTAIN_TREE ||
        (ceiling->contain == SBX_CONTAIN_AUTO && config->contain == SBX_CONTAIN_GROUP))
        config->contain = ceiling->contain;
    if (ceiling->policy) config->policy = ceiling->policy;
    if (ceiling->cgroup) config->cgroup = ceiling->cgroup;
}

#ifdef __cplusplus
}
#endif
#endif /* not too late */
#endif /* SBX_IMPLEMENTATION */

/* CHANGES
   0.1.0  first version

   LICENCE: take your choice of MIT or public domain.

   ---- MIT ----
   Copyright (c) 2026 the sbx.h authors

   Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
   associated documentation files (the "Software"), to deal in the Software without restriction,
   including without limitation the rights to use, copy, modify, merge, publish, distribute,
   sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
   furnished to do so, subject to the following conditions:

   The above copyright notice and this permission notice shall be included in all copies or
   substantial portions of the Software.

   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING
   BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
   NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
   DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
   OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.

   ---- Public domain ----
   This is free and unencumbered software released into the public domain. Anyone is free to copy,
   modify, publish, use, compile, sell, or distribute this software, either in source code form or
   as a compiled binary, for any purpose, commercial or non-commercial, and by any means. */
