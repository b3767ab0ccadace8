/* sbx.h - run a program, or a C function, under limits, and learn truthfully why it ended.
   v1.0.0 - one file, no dependencies - MIT or public domain, your choice (end of file)

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

   1. Fill in a config: what to run, its input, its limits. A field that is zero has the default
      that is written beside it in the struct; SBX_UNLIMITED means no limit (but the host's own). A
      wrong value is refused before anything runs, and the message names it.
   2. sbx_run() runs the program and returns one verdict. result.message is a sentence for people.
      Exit code, signal, both outputs and the measurements are in the result, whatever the verdict.
   3. sbx_start(), sbx_poll() and sbx_finish() do the same without making you wait. sbx_write() and
      sbx_read() talk with the program while it runs.
   4. sbx_call() runs a C function in a child process. sbx_run_code() runs source text in thirteen
      languages.
   5. cfg.policy (Linux) takes away the user's files, the network, other processes and most of the
      kernel.
   Two words that are used below: the host is your process, which calls these functions; a box is a
   program that runs under them, with everything that it starts.
   When sbx_run or sbx_finish returns, no process of the box is left (of a group: none that stayed
   in it), no zombie, no descriptor and no file. Either everything that you asked for was in force,
   or nothing ran and the message says what is missing. The host is never changed: no signal
   handlers, no threads, no global variables, no output; its signal mask, descriptors, directory and
   environment stay as they were.

   VERDICTS, AND WHAT THEY REST ON (sbx_classify; the first row that fits)
     not-started    a step before the program failed                                 certain
     cancelled      sbx_cancel, sbx_kill, *cfg.stop, or on_output returned non-zero  certain
     timed-out      the host stopped it at timeout_ms                                certain
     cpu-limit      it used more than cpu_ms, summed over the tree                   certain
     memory-limit   it used more than memory_bytes, summed over the tree             certain
     output-limit   more than output_bytes (error_bytes) was written                 certain
     memory-limit   the cgroup counted an out-of-memory kill                         certain
     denied         the filter saw a forbidden system call                           certain
     lost           it ended, but the host collected its status first                certain
     ok             exit code 0 (sbx_call: and a result; else no-result)             certain
     cpu-limit      SIGXCPU or SIGKILL, with 70 % of the kernel's limit spent        likely
     file-limit     SIGXFSZ; or a failure that is reported as a file too large       likely
     memory-limit   under RLIMIT_AS: a failure that is reported as missing memory;   likely
                    words about it with 3/4 of the address space taken; 95 % of it
                    taken and 1/2 in use (1/16 if a signal ended it); or killed in
                    exec, as happens to an image that is larger than the limit
     crashed        any other signal           certain, unless RLIMIT_AS or file_bytes was in force
     exited         any other exit code        certain, unless RLIMIT_AS or file_bytes was in force
     no-result      sbx_call: the same
   A program that had already ended by itself keeps its own verdict, unless it had used more than
   cpu_ms or memory_bytes, or written more than output_bytes. That verdict is not certain
   (SBX_SAW_BLIND) if the host looked too late to know that a limit was kept: for the first time
   after the deadline; or when the program, or children that nobody waited for, were gone before
   anybody looked at them; or when nobody heard whether something forbidden was asked for. With
   that bit timed-out, output-limit and memory-limit are not certain either: pid 1 of a tree had to
   end the program while the host was held up; not all of its input or output could be passed on; or
   processes that hide their pages may share what was counted for each. Nor is a verdict of its own,
   from ok on, if some of it outlived SIGKILL (SBX_SAW_STUCK).

   WHAT EACH LEVEL STOPS
                                                               group  tree  policy  policy
                                                                            in group
     its own time, output, memory, CPU, files past the limit     x      x      x      x
     descendants that call setsid or daemonise                   -      x      -      x
     survivors when the host is killed                           -      x      -      x
     signalling and tracing the host's processes                 -      x      x*     x
     seeing them                                                 -      x      -      x
     reading the user's files, writing anywhere, the network     -      -      x      x
     learning which files exist (stat)                           -      -      -      x
     ptrace, namespaces, mounts, io_uring, bpf, keys, ...        -      -      x      x
   The group is SBX_CONTAIN_GROUP; the tree is SBX_CONTAIN_AUTO or _TREE; the policy is cfg.policy.
   * Signals are stopped from Landlock 6 (Linux 6.12) on.

   UNDER A POLICY
     The program has a root directory of its own. In it are the system's directories (read-only),
     the trees of `read` and `write` under their own names, the program itself, an empty /tmp and
     /dev/shm, the devices null, zero, full, random and urandom, and a /proc that shows only its own
     processes. Nothing else exists. Symbolic links on the way to a tree are there, too. If a tree
     is inside another one, the inner one decides what is allowed in it.
     HOME is the first tree of `write`, else /tmp. TMPDIR is /tmp. What env sets comes before both.
     If cwd is not set, the program starts in the host's directory if that exists in the box, else
     in /tmp.
     If one of the trees is "/", /tmp is the host's; if that cannot be written, HOME and TMPDIR are
     elsewhere. Without a tree of `write` and without /tmp, HOME is "/", and TMPDIR is not set.
     A host that is root cannot have the kernel's settings written: a tree of `write` in which a
     /proc, a /sys or the like is mounted is refused, unless it is "/" or uid is set (in a group
     "/", too). The box's own /proc stays read-only.
     With no_system there are no devices and no /proc, and /tmp and /dev/shm only if scratch_bytes
     is set: else there is nothing but `read` and `write`.
     Landlock is a second lock, where the kernel has it. System calls that would lead out fail with
     EPERM; those that are not in the table of the wing policy fail with ENOSYS. With kill_on_denied
     a forbidden call that no honest program makes by accident ends the program: the table says
     which ones. (A program that installs a filter of its own can keep such a call from being heard
     of. The call still does not run.)
     A function has no /proc there. LeakSanitizer needs ptrace, and fails: programs that are built
     with AddressSanitizer need detect_leaks=0 in ASAN_OPTIONS.

   IN CONTAINERS AND ON HARDENED DISTRIBUTIONS
     an ordinary user often gets no namespaces. A policy is then refused, and the message names the
     setting: user.max_user_namespaces, kernel.unprivileged_userns_clone,
     kernel.apparmor_restrict_unprivileged_userns, or the container's seccomp profile. Change it, or
     set contain = SBX_CONTAIN_GROUP: the policy then consists of Landlock and the filter for system
     calls, and needs no namespaces. In such a box modes, owners, times and attributes of files
     cannot be changed, not even in `write`; stat shows which files exist; there is no private /tmp
     (HOME and TMPDIR are the first tree of `write`, if there is one); if the host is root, the
     program can read what is for root in /proc (kpagecount, slabinfo). A read tree inside a
     writable one is refused, and so is kill_on_denied with a function, uid or gid; with a program,
     its helper process is pid 1's to collect: where that collects nobody, a zombie of each run is
     left. This has to be asked for: SBX_CONTAIN_AUTO never chooses it.
     examples/probe.c shows what works on a machine.

   WHAT IT DOES NOT PROTECT AGAINST
   - Without a policy the program can do what the user can: read and delete the user's files.
   - A bug in the kernel can open every wall here. For code that looks for such bugs, use a virtual
     machine.
   - Side channels; use of caches, disk space, disk and memory bandwidth; what /proc tells about the
     system (the host's mounts, too, in /proc/1); descriptors that the host hands over.
   - Under a policy: the program can lock files that it can read (flock, and fcntl's read locks),
     and so hold up others who lock them. It can use up what the kernel counts for each user: queued
     signals, timers, descriptors in flight. It can write to named pipes (FIFOs) in a tree of `read`
     that is below /tmp, or where there is no Landlock. With allow_network it can take names of
     abstract sockets.
   - A function of sbx_call has a copy of all the host's memory except cfg.secrets, and it shares
     the host's shared mappings. That copy may hold keys on the stack, buffers of libraries and
     requests of other users. Name in cfg.secrets what must not be seen, or make the calls from a
     small process.
   - If the host is killed, the directory with source text stays. Compilers are not made for hostile
     source text: give them a policy.
   - memory_bytes is watched, not reserved. A program can be over it for some milliseconds; longer
     if there are a thousand processes, or while the host has no free descriptor. Memory in memfd,
     tmpfs (a policy's scratch_bytes), pipes, sockets and shared pages that nobody maps is not
     counted: only cfg.cgroup counts it all. A file that other programs map too counts by its share.
     If the limit may have been passed unseen (at 4 GB a second, by a process that lives for a
     millisecond, or by children that are gone and that nobody waited for), `certain` is 0. One case
     shows nowhere: less than 40 MB above the limit (of files that are in the cache already, more),
     in a child that came and went between two looks (10 ms) and whose parent left it, or told the
     kernel to forget it (SA_NOCLDWAIT). To tell what is shared in
     a process of more than 800 MB, if the limit depends on it, takes the host up to 0.1 s, and a
     twentieth of its time at most; of one of more than 8 GB only what is surely its own counts.
   - If the host forks without exec while a box runs, that child has a copy of the box's pipes. If
     the host is killed then, the tree lives until that child ends.
   - cpu_ms misses nothing where the kernel lets the user have perf's task clock: root, and others
     if kernel.perf_event_paranoid is 2 or less; in few containers. Elsewhere it looks every 10 ms,
     and what a process used after the last look is lost if its parent lives and never waits for it.
     Where that may have been the rest of cpu_ms, `certain` is 0, and so it is behind a program that
     the user may run, but not read, which ends that clock.
   - Root stays root: without a policy a root program can do what root can, in any tree. It can
     trace pid 1 and so outlive a killed host. Without a policy any program can change or leave its
     cgroup.
   - Without a policy, or in a group, a child can hold the host's thread in the kernel past the
     deadline (a splice holds the pipe's lock). A tree (on x86_64 and aarch64) still ends 2 to 3
     seconds after timeout_ms and grace_ms; a group ends when the child does. Under a policy, too,
     it can do that for a second or two, with tens of thousands of mappings that it keeps changing,
     or for half a second with gigabytes that it gives back by exec.
   - A process that the kernel cannot kill, because it waits for a dead disk or file server (without
     a policy it may have mounted one that it plays itself): 5 seconds after SIGKILL the functions
     return all the same, with SBX_SAW_STUCK in result.evidence. (One that only waits for a CPU, on
     a machine that is far too busy, has a minute to die.)

   CONFIG BY TASK
     what runs          argv, or command, or program; name for messages; cwd; env, inherit_env;
                        pass_fds; languages, for source text
     talk with it       input, or in = SBX_PIPE with sbx_write; sbx_read; on_output; SBX_STREAM
     keep less of it    output_bytes, error_bytes, truncate_output (SBX_KEEP_FIRST, _LAST, _ENDS)
     stop it            timeout_ms, grace_ms, stop; sbx_cancel, sbx_kill, sbx_set_timeout
     limit it           cpu_ms, memory_bytes, address_space_bytes, file_bytes, open_files,
                        processes, stack_bytes; cgroup for exact memory and processes
     contain it         contain, policy; uid, gid for a host that is root
     functions          secrets; nursery, arg_size

   THREADS AND SIGNALS
     Different boxes can be used in different threads without locks. One box belongs to one thread
     at a time; only sbx_cancel and sbx_kill can be called from any thread and any signal handler.
     The config and everything it points to may be freed as soon as sbx_start has returned, except
     what `stop` points to.
     If a signal handler of the host runs during sbx_run or sbx_poll, these go on waiting. To stop
     an sbx_run from a handler, let cfg.stop point to an int, and set that int in the handler.
     sbx_call forks: in the function only the calling thread exists. Locks that other threads held
     stay locked there. malloc and stdio are safe with glibc, musl and macOS; other libraries may
     not be. stdout and stderr are flushed when the function returns, not when it crashes.

   COMPILE-TIME OPTIONS
     SBX_IMPLEMENTATION        this unit holds the implementation
     SBX_STATIC                ... and keeps it to itself
     SBX_API                   what stands before every declaration instead of extern
     SBX_REALLOC, SBX_FREE     your allocator; both or neither. SBX_REALLOC(NULL, n) allocates,
                               SBX_FREE(NULL) does nothing
     SBX_NO_LINUX              only the portable POSIX part, as on macOS and the BSDs
     SBX_NO_TREE, SBX_NO_WATCH, SBX_NO_CGROUP, SBX_NO_POLICY, SBX_NO_CALL, SBX_NO_CODE
                               leave out one wing. A config that asks for it is refused by name.
                               Without the tree AUTO is the group, and there is no policy; without
                               the watch memory_bytes is RLIMIT_AS, as on other systems

   PLATFORMS
     Linux 5.8 and later has trees, 5.12 and later policies (in a group: 5.13 and Landlock). Older
     Linux, macOS and the BSDs have the process group. On macOS and the BSDs cpu_ms (in whole
     seconds) and memory_bytes are limits of each process, as `enforced` tells, and a program that
     can have used more than that in several processes is not certainly inside it (memory: in
     children that it waited for; of others nothing is known); `processes` counts all that the user
     has, other programs too; and sbx_start returns late if another thread forks meanwhile without
     exec. On Windows it does not compile. A nursery needs Linux.
     A policy knows x86_64, i386, aarch64, arm and riscv64, and programs of the host's own kind:
     under a host of 32 bits programs of 64 bits crash, and the reverse. On i386 glibc opens sockets
     by a system call that the filter cannot look into, so there are no sockets there.

   MAP
     the API, to "End of the API"; then how it works, with the map of the implementation; the core,
     which is a whole portable sandbox by itself and is meant to be read from top to bottom; the
     wings, each for one thing that Linux adds; extras; changes; licence. */

/* The feature macros the implementation needs have to be set before any system header. */
#if defined(SBX_IMPLEMENTATION) && defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1
#endif
#if defined(SBX_IMPLEMENTATION) && defined(__APPLE__) && !defined(_DARWIN_UNLIMITED_SELECT)
#define _DARWIN_UNLIMITED_SELECT 1 /* descriptors above 1024 */
#endif

#ifndef SBX_H
#define SBX_H

#define SBX_VERSION "1.0.0"
#define SBX_VERSION_NUMBER 10000 /* 1.2.3 would be 10203 */

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
    SBX_OUTPUT_LIMIT, /* output_bytes or error_bytes */
    SBX_FILE_LIMIT,   /* file_bytes */
    SBX_DENIED,       /* the policy ended it for a forbidden act */
    SBX_CANCELLED,    /* sbx_cancel, sbx_kill, *stop, or on_output returned non-zero */
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
    SBX_STEP_POLICY,
    SBX_STEP_BUILD         /* source text: it was the compiler that failed, or met a limit */
} sbx_step;

typedef enum sbx_io {
    SBX_DEFAULT,      /* stdin: input bytes, or /dev/null; stdout, stderr: captured */
    SBX_DISCARD,      /* /dev/null */
    SBX_INHERIT,      /* the host's own */
    SBX_MERGE,        /* stderr only: into stdout, in the order written */
    SBX_FD,           /* in_fd / out_fd / err_fd; the host keeps them open */
    SBX_PIPE,         /* stdin only: sbx_write and sbx_close_input */
    SBX_STREAM        /* stdout, stderr: to on_output only; nothing is kept, output_bytes still
                         counts it */
} sbx_io;

/* For truncate_output: which bytes stay when more is written than the cap allows. */
enum { SBX_KEEP_FIRST = 1, SBX_KEEP_LAST, SBX_KEEP_ENDS /* the first half and the last half */ };

typedef enum sbx_stream { SBX_STDOUT = 1, SBX_STDERR = 2 } sbx_stream;
typedef int (*sbx_output_fn)(void *user, sbx_stream stream, const char *data, size_t size);

typedef enum sbx_contain {
    SBX_CONTAIN_AUTO,  /* the whole tree where the kernel allows it, else the process group */
    SBX_CONTAIN_GROUP, /* the process group: fastest; a setsid descendant can escape */
    SBX_CONTAIN_TREE   /* the whole tree, or nothing runs */
} sbx_contain;

/* Linux. All zero: the system's programs and libraries, and the program itself, can be read and
   run; nothing can be written but a private /tmp; no network. See UNDER A POLICY above. */
typedef struct sbx_policy {
    const char *const *read;  /* more trees to read and run, NULL-terminated */
    const char *const *write; /* trees to read, run and write; HOME is the first, unless set */
    int no_system;            /* 1 = not even the system's trees */
    int allow_network;
    int deny_spawn;           /* 1 = no new processes (threads are fine) */
    int kill_on_denied;       /* 1 = a forbidden system call that is no accident ends the child:
                                 SBX_DENIED. Signals cannot dodge it (x86_64, aarch64) */
    long long scratch_bytes;  /* its private /tmp and /dev/shm, gone with the box; 0 = 64 MiB. There
                                 are none in a group */
} sbx_policy;

/* How source text is built and run. In the arguments "{file}", "{program}" and "{dir}" stand for
   the saved text, the program to be made, and the private directory that both are in; "{class}" for
   the Java class that has main: a file that ends in .java is named after its public class. */
typedef struct sbx_language {
    const char *names;             /* "python py": the first is its name */
    const char *file;              /* the text is saved as this: "main.py" */
    const char *const *build;      /* argv of the compiler, NULL = none */
    const char *const *run;        /* argv */
} sbx_language;

typedef struct sbx_program {       /* source text, saved and built: run it as often as you like */
    const char *dir;               /* a private directory; nobody but sbx_discard removes it */
    const char *const *argv;       /* what runs it */
} sbx_program;

typedef struct sbx_range {         /* bytes of the host's memory */
    void *at;
    size_t size;
} sbx_range;

typedef struct sbx_config {
    const char *const *argv;       /* NULL-terminated. argv[0] without a slash is looked up on the
                                      host's PATH; with one it is relative to cwd */
    const char *command;           /* or one line for /bin/sh -c; exactly one of the two */
    const sbx_program *program;    /* or what sbx_build made; argv, if set, are its arguments */
    const char *name;              /* for messages; NULL = the program's name, of a command its
                                      text */
    const char *cwd;               /* NULL = the host's */
    const char *const *env;        /* "NAME=value", NULL-terminated: all the child sees. "NAME"
                                      alone copies the host's, if it has one. NULL = PATH as the
                                      host has it, and nothing else */
    int inherit_env;               /* 1 = the host's variables first, env on top */
    const int *pass_fds;           /* ends with -1, 64 at most: these become 3, 4, 5, ... in the
                                      child */

    const void *input;             /* stdin; NULL = /dev/null (not the same as zero bytes) */
    size_t input_size;
    sbx_io in, out, err;
    int in_fd, out_fd, err_fd;     /* read only where the mode is SBX_FD */
    sbx_output_fn on_output;       /* live, in order, never past the cap; non-zero cancels, and
                                      it is not called again */
    void *user;                    /* for on_output; comes back in the result */
    const volatile int *stop;      /* non-zero cancels; looked at by every run, call and poll. A
                                      signal handler may set it */

    long long timeout_ms;          /* 0 = 30000 */
    long long grace_ms;            /* between SIGTERM and SIGKILL; 0 = 3000, -1 = kill at once */
    long long output_bytes;        /* stdout + stderr together, as far as the host reads them (not
                                      SBX_FD, _INHERIT, _DISCARD); 0 = 1 MiB. What sbx_read took
                                      no longer counts */
    long long error_bytes;         /* a cap of stderr's own, unless it is merged; 0 = it shares
                                      output_bytes */
    int truncate_output;           /* SBX_KEEP_...: past the cap read on and discard, let it
                                      finish */
    long long cpu_ms;              /* 0 = none; user + system, whole tree */
    long long memory_bytes;        /* 0 = none; memory in use by the whole tree */
    long long address_space_bytes; /* 0 = none; RLIMIT_AS of each process: malloc fails */
    long long file_bytes;          /* 0 = none; any one file */
    long long open_files;          /* 0 = none; each process */
    long long processes;           /* 0 = none; processes and threads in the tree. In a group, and
                                      with uid, beside those that the user has at the start */
    long long stack_bytes;         /* 0 = none */
    unsigned uid, gid;             /* 0 = the host's. For a host that is root: the program is this
                                      user, without other groups, and with a uid without
                                      capabilities, and `processes` binds it; the child is a copy
                                      of the host until it begins */

    sbx_contain contain;
    const sbx_policy *policy;      /* NULL = limits only */
    const sbx_range *secrets;      /* sbx_call: bytes of the host that the function finds as zero;
                                      ends with at = NULL */
    const char *cgroup;            /* a delegated cgroup v2 directory; NULL = none. Memory and pids
                                      are switched on for its children, and stay so */
    const sbx_language *languages; /* for sbx_run_code and sbx_build: more, or other, recipes; ends
                                      with names = NULL; looked at first */
    struct sbx_nursery *nursery;   /* sbx_call, sbx_start_call: from there, ... */
    size_t arg_size;               /* ... and so many bytes of arg go with it */
} sbx_config;

/* Every limit, a row each: what has a name, a default, a check, a clamp and maybe a limit of the
   kernel and its `enforced` bit has them from here. `zero` is what 0 means, -1 = none.
   ROW(field, zero, most, RLIMIT_... or -1, SBX_BY_... or 0) */
#define SBX_MAX_MS 1000000000000LL /* about 31 years */
#define SBX_MAX_BYTES (1LL << 50)
#define SBX_MAX_COUNT (1LL << 30)
#define SBX_FOR_EACH_LIMIT(ROW)                                                                    \
    ROW(timeout_ms, 30000, SBX_MAX_MS, -1, 0)                                                      \
    ROW(grace_ms, 3000, SBX_MAX_MS, -1, 0)                                                         \
    ROW(output_bytes, 1 << 20, SBX_MAX_BYTES, -1, 0)                                               \
    ROW(error_bytes, 0, SBX_MAX_BYTES, -1, 0) /* 0 stays: it shares output_bytes */                \
    ROW(cpu_ms, -1, SBX_MAX_MS, RLIMIT_CPU, SBX_BY_RLIMIT_CPU)                                     \
    ROW(memory_bytes, -1, SBX_MAX_BYTES, -1, 0)                                                    \
    ROW(address_space_bytes, -1, SBX_MAX_BYTES, SBX__RLIMIT_AS, SBX_BY_RLIMIT_AS)                  \
    ROW(file_bytes, -1, SBX_MAX_BYTES, RLIMIT_FSIZE, SBX_BY_RLIMIT_FSIZE)                          \
    ROW(stack_bytes, -1, SBX_MAX_BYTES, RLIMIT_STACK, SBX_BY_RLIMIT_STACK)                         \
    ROW(processes, -1, SBX_MAX_COUNT, RLIMIT_NPROC, SBX_BY_RLIMIT_NPROC)                           \
    ROW(open_files, -1, SBX_MAX_COUNT, RLIMIT_NOFILE, SBX_BY_RLIMIT_NOFILE)

typedef struct sbx_output {
    char *data;               /* never NULL, always followed by a NUL byte */
    size_t size;              /* bytes kept */
    unsigned long long total; /* bytes the child wrote, as far as they were read */
    int truncated;            /* 1 = some of them were not kept: past the cap, or lost */
    size_t gap;               /* if truncated: bytes are missing before this one */
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
#define SBX_SAW_FILE_TEXT    0x0800u  /* ... and stderr reports a file too large */
#define SBX_SAW_MEMORY_LIMIT 0x1000u  /* a limit was in force under which malloc fails */
#define SBX_SAW_MEMORY_TEXT  0x2000u  /* ... and stderr reports that memory is missing */
#define SBX_SAW_MEMORY_PEAK  0x4000u  /* ... and the program came within 5 % of it */
#define SBX_SAW_OOM_KILL     0x8000u  /* the cgroup counted an out-of-memory kill */
#define SBX_SAW_DENIED       0x10000u /* the policy's filter ended it */
#define SBX_SAW_STUCK        0x20000u /* processes outlived SIGKILL by 5 seconds, in the kernel */
#define SBX_SAW_BLIND        0x40000u /* the host looked too late to know that a limit was kept */
#define SBX_SAW_MEMORY_NEAR  0x80000u /* a quarter or less of the address space was left */
#define SBX_SAW_MEMORY_WORDS 0x100000u /* stderr speaks of memory, but not as a report would */
#define SBX_SAW_FILE_WORDS   0x200000u /* stderr speaks of large files, likewise */

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
#define SBX_BY_RLIMIT_CORE    0x0200u /* no core dumps; always. (If the host's own hard limit is
                                         0, a program that is given the dumps may still get one) */
#define SBX_BY_CGROUP         0x0400u
#define SBX_BY_LANDLOCK       0x0800u
#define SBX_BY_SECCOMP        0x1000u
#define SBX_BY_NO_NEW_PRIVS   0x2000u
#define SBX_BY_ROOT           0x4000u /* a root directory of its own */

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
    long long wall_us, user_us, system_us; /* of all its processes; without the watch, or if cpu_ms
                                      is not set, not of children that nobody waited for */
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

/* Running beside the host. sbx_start returns when the program has started; or it returns NULL, and
   the result says why. All work is done inside sbx_poll: reading output, feeding input, watching
   limits, stopping. A poll waits for the end, but for wait_ms at most (0 = never waits, -1 = no
   limit). It returns earlier if sbx_write found the input full and there is room again, or if
   sbx_read found nothing and there is something now. Every box must be finished: sbx_finish closes
   its input, waits for its end and frees it. To get rid of one quickly, cancel it first. */
typedef struct sbx sbx;
SBX_API sbx *sbx_start(const sbx_config *config, sbx_result *result);
SBX_API int sbx_poll(sbx *box, long long wait_ms); /* 1 = ended, 0 = running */
SBX_API int sbx_poll_any(sbx *const *boxes, int count, long long wait_ms); /* NULLs are skipped;
                                                      index of an ended one, -1 = none yet */
SBX_API sbx_verdict sbx_finish(sbx *box, sbx_result *result);
SBX_API void sbx_cancel(sbx *box); /* from any thread and any signal handler, ... */
SBX_API void sbx_kill(sbx *box);   /* ... the same without grace; ... */
                                   /* ... both must have returned before sbx_finish is called */

/* Talking to it. For in = SBX_PIPE; never blocks. Bytes taken, 0 = full for now, -1 = closed. */
SBX_API long long sbx_write(sbx *box, const void *data, size_t size);
SBX_API void sbx_close_input(sbx *box);

/* Takes captured bytes out of the box. Returns how many; 0 = none yet; -1 = the stream has ended
   and all were taken. They are not in the result (only in its total), and no longer count for
   output_bytes. Bytes come into the box while it is polled: read until there is nothing, poll, and
   read again. That gives all of any output, and the program writes no faster than you read, if
   output_bytes is 4096 or more. If you poll without reading, the cap is met, and nothing later is
   kept of that stream, so that there is no hole in what you read. The last bytes that SBX_KEEP_LAST
   and SBX_KEEP_ENDS keep are known only at the end of the stream, and come then. */
SBX_API long long sbx_read(sbx *box, sbx_stream stream, void *to, size_t room);

/* Steering it. The answer is 0 if it has ended, or the number makes no sense; else 1. */
SBX_API int sbx_set_timeout(sbx *box, long long ms); /* from now on; SBX_UNLIMITED = none. 0 also if
                                                        it is being stopped */
SBX_API int sbx_signal(sbx *box, int number);        /* to the program's group */
SBX_API int sbx_pid(const sbx *box);                 /* on the host's side; 0 = it has ended */

typedef struct sbx_usage {
    long long wall_us, cpu_us;     /* so far, of the whole tree; -1 = not known, ... */
    long long memory_bytes, peak_bytes; /* ... as here */
    long long output_bytes;        /* written so far, both streams */
    int processes;                 /* -1 = not known */
} sbx_usage;
SBX_API void sbx_get_usage(sbx *box, sbx_usage *usage); /* looks now; cheap enough for each frame */

/* For a host with a loop of its own: watch these, and call sbx_poll(box, 0) when one is ready or
   wait_ms have passed. Ask again after every poll. */
typedef struct sbx_watch {
    int fd[8];
    int writable[8];      /* 1 = until it can be written, 0 = until it can be read */
    int count;
    long long wait_ms;    /* -1 = as long as you like */
} sbx_watch;
SBX_API void sbx_get_watch(const sbx *box, sbx_watch *watch);

/* The same for many boxes with one descriptor (Linux; -1 = there is none here): it can be read when
   sbx_poll_any(boxes, count, 0) has something to do. Ask again after every poll, start and finish:
   it may be another one then, even under the same number. (To an epoll of your own, add it each
   time; EEXIST says that it is the same one.) It belongs to the boxes: do not close it. */
SBX_API int sbx_get_watch_any(sbx *const *boxes, int count, long long *wait_ms);

/* A C function in a forked child, under the same config (without argv and command). arg is the
   child's copy; what it writes to ret reaches the caller's ret only if it returns 0 and the verdict
   is SBX_OK. Returning anything else, sbx_fail and exit are SBX_NO_RESULT. As for a program, stdin
   is /dev/null, the environment is cfg.env, and descriptors above 2 are closed; atexit handlers do
   not run when it returns. See THREADS above. */
typedef int (*sbx_fn)(void *arg, void *ret, size_t ret_size);
SBX_API sbx_verdict sbx_call(const sbx_config *config, sbx_fn fn, void *arg, void *ret,
                             size_t ret_size, sbx_result *result);
SBX_API sbx *sbx_start_call(const sbx_config *config, sbx_fn fn, void *arg, void *ret,
                            size_t ret_size, sbx_result *result); /* sbx_finish fills in ret */
#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
SBX_API void sbx_fail(const char *format, ...); /* in the function: ends it with this message. */
        /* Elsewhere it does nothing. With SBX_STATIC: only in the .c file that made the call */

/* Source text instead of a program, under the same config; argv, if set, are its arguments. Known
   are python, javascript, typescript, rust, c, c++, go, java, sh, bash, perl, ruby, lua, and what
   cfg.languages adds. The text is saved in a private directory under TMPDIR or /tmp, which is gone
   afterwards. timeout_ms, cpu_ms and output_bytes hold for build and run together, the other limits
   for the run. Under a policy the build can write in that directory alone, and the program can read
   it. What the compiler has against the text is SBX_EXITED with step SBX_STEP_BUILD, and its words
   are in err. on_output is called for the program only. */
SBX_API sbx_verdict sbx_run_code(const sbx_config *config, const char *language, const char *code,
                                 size_t size, sbx_result *result);

/* The same in two steps, to run a program more than once: SBX_OK = it can be run, as cfg.program.
   sbx_discard removes it; twice is fine. If it cannot be removed, dir still says where it is. */
SBX_API sbx_verdict sbx_build(const sbx_config *config, const char *language, const char *code,
                              size_t size, sbx_program *program, sbx_result *result);
SBX_API void sbx_discard(sbx_program *program);

/* Linux. Functions from a process that was forked early: as cheap in a large host as in a small
   one, and what the host has learned since is not in reach. With cfg.nursery set, arg is a copy of
   arg_size bytes, in which pointers mean nothing; the function has to stand in the program itself,
   or in a library that was loaded before. One nursery serves many threads. It dies with the host.
   If it was killed, calls are refused, and another can be opened. */
typedef struct sbx_nursery sbx_nursery;
SBX_API sbx_nursery *sbx_nursery_open(sbx_result *result); /* early in main; NULL: it says why */
SBX_API void sbx_nursery_close(sbx_nursery *nursery);

/* What works here and now: each is tried, to the end, in a child. */
typedef struct sbx_caps {
    int tree;             /* SBX_CONTAIN_TREE: nothing escapes, and all dies with the host */
    int watch;            /* memory_bytes and cpu_ms are summed over the whole tree */
    int address_space;    /* address_space_bytes */
    int processes;        /* `processes` without a cgroup */
    int policy;           /* sbx_policy: files, network, processes, kernel */
    int group_policy;     /* the same with SBX_CONTAIN_GROUP, where there are no namespaces */
    int landlock;         /* its version; 0 = none. 3 guards truncate, 4 TCP, 6 signals */
    char tree_why[256];   /* what was missing; "" = nothing */
    char processes_why[256];
    char policy_why[256];
    char group_policy_why[256];
} sbx_caps;
SBX_API void sbx_probe(sbx_caps *caps);

/* Pure: facts in, verdict out. certain may be NULL. */
SBX_API sbx_verdict sbx_classify(const sbx_evidence *evidence, int *certain);

/* "ok" "exited" "crashed" "timed-out" "cpu-limit" "memory-limit" "output-limit" "file-limit"
   "denied" "cancelled" "no-result" "not-started" "lost" */
SBX_API const char *sbx_verdict_name(sbx_verdict verdict);
SBX_API const char *sbx_step_name(sbx_step step); /* "none" "config" "memory" "io" "spawn" ... */

/* The whole result as one line of JSON, outputs included: valid whatever the bytes; what is no
   UTF-8 becomes U+FFFD. Returns the length that it has or would have, as snprintf does. */
SBX_API size_t sbx_json(const sbx_result *result, char *to, size_t room);

/* How many bytes of the text, max at most, can be shown without cutting a UTF-8 character in two. A
   piece of a character at the end of the text is left out as well. Bytes that are no UTF-8 may be
   cut anywhere. */
SBX_API size_t sbx_utf8_prefix(const char *text, size_t size, size_t max);

/* For a host that takes limits from others: afterwards no limit of the config is looser than the
   ceiling's; stricter ones stay. If the ceiling has a policy, a cgroup, a uid or a gid, the config
   gets them. Its containment is at least the ceiling's. */
SBX_API void sbx_clamp(sbx_config *config, const sbx_config *ceiling);

/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif /* SBX_H */

/* End of the API. The implementation is below. */

#if defined(SBX_IMPLEMENTATION) && !defined(SBX__IMPLEMENTED)
#define SBX__IMPLEMENTED

/* ==== how it works ===========================================================================

   One run, and the data that flows through it, in one direction:

     config -> check -> plan -> spawn -> box, turned by the loop -> evidence -> verdict -> result

   The processes of a run, and the descriptors between them:

     host  --- stdin pipe ------------------------->  0  program
           <-- stdout pipe --------------------------  1
           <-- stderr pipe --------------------------  2
           <-- report: why it could not start -------  in memory that both have until exec, or
                                                       a pipe that exec closes
           <-- pidfd: it has ended
     and in a tree, which is a PID namespace (Linux):
           --- life pipe: a signal for everybody -->  0  pid 1: when the host closes the pipe,
           --- timer: the deadline --------------->   4          or dies, pid 1 ends, and the
           <-- pidfd: all of the tree is gone                    kernel kills the whole tree
     A short-lived entering process stands between host and tree: it makes the namespaces, starts
     pid 1 in them, then the program, both as children of the host, and goes. Programs are started
     without a copy of the host's memory (as vfork does); functions are forked.

   The map. The core is a whole sandbox and can be read alone, from top to bottom:
     platform   what differs between systems, each question in one small function
     data       limits, streams, plan, box; what the wings have in them
     helpers    small things that everybody uses, and where systems differ
     run        the public functions, as the story of a run
     check      config -> refused by name, or with every default filled in
     plan       everything resolved and allocated, before a process exists
     child      from fork to exec: async-signal-safe calls only
     spawn      a process; why it could not start
     loop       one turn: read, feed, stop, leave; waiting for many boxes
     verdict    observe, classify, describe
   The wings, each for one thing, entered only through functions named sbx__<wing>_<moment>:
     call       a C function instead of a program; the nursery, which forks for a large host
     linux base /proc
     tree       a PID namespace that dies as a whole
     watch      memory and CPU time of the tree, from /proc
     cgroup     exact limits, where the host was given a directory
     policy     files, network and system calls denied
     code       source text: uses the public functions only
   The moments, of which each wing has those that it needs: plan (may refuse), spawn, child (before
   exec), begin (it runs), turn (something is ready or due), signal, kill, alone (has everybody
   ended?), gone (... and been collected?), observe (adds evidence), describe, free. Only the wing
   itself sets its `enforced` bits, when it has done the work. A wing that is compiled out leaves
   stubs behind that refuse.

   To add ...
     a limit        a row of SBX_FOR_EACH_LIMIT with its field in sbx_config: range, default,
                    clamp, the kernel's limit and the `enforced` bit come from there. What is to be
                    summed over the tree goes to the wings watch and cgroup, what the host itself
                    counts to the loop; both say so by sbx__stop with a SBX_SAW_... bit, for which
                    sbx_classify needs a row and sbx__describe a sentence
     a verdict      sbx_verdict, sbx_verdict_name, a row of sbx_classify, sbx__describe
     a filter row   sbx__rules, in the wing policy
     a language     a row of sbx__recipes, in the wing code
     a wing         its structs in "data", its moments where the others stand, one #if, stubs */

/* ==== platform: every question about the system is asked here, once ========================== */

#include <errno.h>
#if defined(__GLIBC__) && !defined(__USE_MISC) /* strict, and latched */
#error "sbx.h: a system header came first under -std=c99: include sbx.h before it, or -D_GNU_SOURCE"
#else
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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
#ifdef __linux__
#define SBX__WALL 0x40000000 /* __WALL: children of any clone */
#else
#define SBX__WALL 0
#endif

#if defined(__linux__) && !defined(SBX_NO_LINUX)
#define SBX__LINUX 1 /* clone, pidfd, /proc, namespaces, ...: each is still tried at run time */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
/* Headers may be older than the kernel, musl's have no <linux/...>, and _GNU_SOURCE may have come
   too late for <sched.h>: what is needed of them stands here. */
#define SBX__CLONE_VM 0x00000100
#define SBX__CLONE_FILES 0x00000400
#define SBX__CLONE_PIDFD 0x00001000
#define SBX__CLONE_VFORK 0x00004000
#define SBX__CLONE_PARENT 0x00008000
#define SBX__CLONE_NEWNS 0x00020000
#define SBX__CLONE_PARENT_SETTID 0x00100000
#define SBX__CLONE_CLEARTID 0x00200000 /* CLONE_CHILD_CLEARTID */
#define SBX__CLONE_SETTID 0x01000000   /* CLONE_CHILD_SETTID */
#define SBX__CLONE_NEWUSER 0x10000000
#define SBX__CLONE_NEWPID 0x20000000
#define SBX__P_PIDFD 3
#define SBX__PIDFD_TO_GROUP 4u /* PIDFD_SIGNAL_PROCESS_GROUP */
#define SBX__PIDFD_GET_INFO _IOWR(0xFF, 11, sbx__pidfd_info)
#define SBX__PIDFD_INFO_EXIT 8u
#define SBX__F_SETPIPE_SZ 1031
#define SBX__RWF_NOSIGNAL 0x100
#define SBX__O_PATH 010000000
#define SBX__AT_EMPTY_PATH 0x1000
#define SBX__AT_RECURSIVE 0x8000
#define SBX__RESOLVE_NO_SYMLINKS 4
#define SBX__OPEN_TREE_CLONE 1
#define SBX__MOVE_MOUNT_FROM_FD 4 /* MOVE_MOUNT_F_EMPTY_PATH */
#define SBX__MOUNT_RDONLY 1u
#define SBX__MOUNT_NOSUID 2u
#define SBX__MOUNT_NODEV 4u
#define SBX__MFD_CLOEXEC 1u
#define SBX__MFD_EXEC 0x10u
#define SBX__TFD_ABSOLUTE 1 /* TFD_TIMER_ABSTIME */
#define SBX__CAP_VERSION 0x20080522u
#define SBX__KEYCTL_JOIN_SESSION 1
#define SBX__CAP_SETPCAP 8
#define SBX__CAP_SYS_PTRACE 19
#define SBX__PR_CAP_AMBIENT 47
#define SBX__PR_CAP_AMBIENT_RAISE 2
#define SBX__PR_GET_TID_ADDRESS 40
#define SBX__NO_ROOT 0xEF /* securebits: user 0 has no capabilities by being user 0, for good */
#define SBX__SECCOMP_SET_FILTER 1
#define SBX__SECCOMP_NEW_LISTENER 8
#define SBX__SECCOMP_NOTIF_RECV 0xC0502100ul
#define SBX__SECCOMP_NOTIF_SET_FLAGS 0x40082104ul
#define SBX__KCMP_VM 1
#define SBX__NS_GET_PARENT 0xB702
#define SBX__FUTEX_WAIT 0
#define SBX__MADV_DONTFORK 10
#define SBX__F_SETSIG 10
#define SBX__O_ASYNC 0x2000 /* where the ear has a program */
#define SBX__MREMAP_ONTO 3 /* MREMAP_MAYMOVE, MREMAP_FIXED */
enum { /* these numbers are the same on every architecture */
    SBX__NR_pidfd_send_signal = 424, SBX__NR_open_tree = 428, SBX__NR_move_mount = 429,
    SBX__NR_pidfd_open = 434, SBX__NR_close_range = 436, SBX__NR_openat2 = 437,
    SBX__NR_pidfd_getfd = 438, SBX__NR_epoll_pwait2 = 441, SBX__NR_mount_setattr = 442,
    SBX__NR_landlock_create_ruleset = 444,
    SBX__NR_landlock_add_rule = 445, SBX__NR_landlock_restrict_self = 446
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

/* Which wings are there. */
#ifdef SBX_NO_CALL
#define SBX__HAS_CALL 0
#else
#define SBX__HAS_CALL 1
#endif
#ifdef SBX_NO_CODE
#define SBX__HAS_CODE 0
#else
#define SBX__HAS_CODE 1
#endif
#if SBX__LINUX && !defined(SBX_NO_TREE)
#define SBX__HAS_TREE 1
#else
#define SBX__HAS_TREE 0
#endif
#if SBX__LINUX && !defined(SBX_NO_WATCH)
#define SBX__HAS_WATCH 1
#else
#define SBX__HAS_WATCH 0
#endif
#if SBX__LINUX && !defined(SBX_NO_CGROUP)
#define SBX__HAS_CGROUP 1
#else
#define SBX__HAS_CGROUP 0
#endif
#if SBX__LINUX && !defined(SBX_NO_POLICY) && !defined(SBX_NO_TREE)
#define SBX__HAS_POLICY 1
#else
#define SBX__HAS_POLICY 0
#endif

/* Many boxes are waited for with epoll; the compiler has to count references atomically. */
#if SBX__LINUX && defined(__ATOMIC_ACQ_REL)
#define SBX__HAS_SET 1
#else
#define SBX__HAS_SET 0
#endif

#ifdef __ATOMIC_RELAXED /* *cfg.stop, which another thread may have set meanwhile */
#define SBX__LOAD(word) __atomic_load_n(word, __ATOMIC_RELAXED)
#else
#define SBX__LOAD(word) (*(word))
#endif

/* APART: its large buffers stay off the stack of who forks, which is copied page by page. */
#ifdef __GNUC__
#define SBX__SOMETIMES static __attribute__((unused)) /* by which wings are there */
#define SBX__APART static __attribute__((noinline))
#else
#define SBX__SOMETIMES static
#define SBX__APART static
#endif

/* ThreadSanitizer takes any clone for a fork and forgets the other threads, though this is their
   memory: it then reports races that are none, or crashes. It does not know the name __clone. Nor
   does it know that a child has descriptors of its own: what a child does is not looked at. */
#if defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define SBX__TSAN 1
#elif defined(__has_feature) && defined(__GLIBC__)
#if __has_feature(thread_sanitizer)
#define SBX__TSAN 1
#endif
#endif
#ifndef SBX__TSAN
#define SBX__TSAN 0
#endif

#ifdef __cplusplus
extern "C" {
#endif
extern char **environ;
#if SBX__LINUX && !defined(__cplusplus)
int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#endif
#if SBX__LINUX && SBX__TSAN
int sbx__clone(int (*fn)(void *), void *stack, int flags, void *arg, ...) __asm__("__clone");
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#define SBX__TSAN_IGNORE(what)                                                                     \
    (AnnotateIgnoreReads##what(__FILE__, __LINE__), AnnotateIgnoreWrites##what(__FILE__, __LINE__))
#else
#define sbx__clone clone
#define SBX__TSAN_IGNORE(what) ((void)0)
#endif

#define SBX__SECOND 1000000LL              /* all times inside are microseconds, monotonic */
#define SBX__NEVER LLONG_MAX
#define SBX__STUCK_WAIT (5 * SBX__SECOND)  /* after SIGKILL: who is still there is stuck, ... */
#define SBX__STARVE_WAIT (60 * SBX__SECOND) /* ... but who only waits for the CPU */
#define SBX__LOOK 10000LL                  /* what no descriptor tells is looked at so often */
#define SBX__BEGIN_LOOK 1000LL             /* ... and whether who is to be told has begun */
#define SBX__FASTEST 4096LL                /* bytes in a us: memory is not filled faster */
#define SBX__SHORT 1000LL                  /* lives that are shorter are not looked at: the cost */
#define SBX__CHUNK 65536                   /* room for one read; a pipe's usual size */
#define SBX__PAGE 4096                     /* the least room for one read: see sbx__read */
#define SBX__BIG_PIPE (1 << 20)            /* what a pipe grows to once the child has filled it */
#define SBX__STACK 24576                   /* of a vfork child; ... */
#define SBX__STACKS 12                     /* ... a fresh one each: sanitizers remember frames */
#define SBX__SAID 16384u                   /* so much of the end of stderr is read for words */
#define SBX__SCRATCH (64LL << 20)          /* scratch_bytes of a policy, if it does not say */
#define SBX__LIMITS 12                     /* rlimits of a child, at the most */

/* ==== data: config -> plan -> box -> evidence -> result ====================================== */

/* Descriptors that the loop waits for, by index. The last two belong to wings. */
enum { SBX__IN, SBX__OUT, SBX__ERR, SBX__EXIT, SBX__CANCEL, SBX__REPORT, SBX__PID1, SBX__NOTICE,
       SBX__FDS };

typedef struct sbx__failure {        /* from a child that could not start */
    sbx_step step;
    int error, which;                /* errno; which limit, or which part of the step */
} sbx__failure;

typedef struct sbx__limit {          /* a limit of the kernel */
    const char *name;
    int which;
    unsigned long long value[2];     /* soft, hard: struct rlimit64 */
} sbx__limit;

typedef struct sbx__stream {         /* stdout or stderr, as far as they are kept */
    char *data;
    size_t taken, size, capacity;    /* kept: size bytes from data + taken; sbx_read takes them */
    unsigned long long total;        /* written so far */
    long long counted;               /* bytes that count for the cap */
    int truncated, busy;             /* bytes were dropped; it has filled its pipe once */
    int failed;                      /* errno of a read, or ENOMEM: from here on nothing is kept */
    size_t ring_size, ring_at, ring_end; /* SBX_KEEP_LAST, _ENDS: later bytes go round behind the
                                        kept ones; newest before ring_at, oldest up to ring_end */
    unsigned long long ring_total;   /* bytes that went there */
    int unrolled;                    /* sbx_read has come to the last bytes */
    long long announced;             /* bytes that on_output got */
} sbx__stream;

/* ---- what the wings have in the plan and in the box; touched by nobody else ---- */

#define SBX__TRIES 4                 /* ways into a tree */

typedef struct sbx__shared {         /* what a function leaves, before ret */
    unsigned long long done;         /* the plan's token, once the function has returned 0 */
    int failed;                      /* sbx_fail was called: */
    char text[256];
    int begun;                       /* the function is next */
    struct { int init, pid; } made[SBX__TRIES]; /* in each try to enter a tree: by the kernel */
} sbx__shared;

typedef struct sbx__common {         /* memory that the host has in common with a copy of itself */
    int file;                        /* a memfd, which the copy maps; -1 = none can be had, ... */
    sbx__shared *mapped;             /* ... and the host has mapped it */
    size_t size;
} sbx__common;

typedef struct sbx__plan_call {
    void *arg, *ret;
    size_t ret_size, stack;
    unsigned long long token;
} sbx__plan_call;

typedef struct sbx__box_call {
    int reports;                     /* a failed start stands behind the result */
    int begun;                       /* the function has said so */
    sbx__shared left;                /* what it left */
    size_t ret_size;
    void *ret;
    unsigned long long token;
} sbx__box_call;

typedef struct sbx__plan_tree {
    int user_ns;                     /* with a user namespace, which only root can do without */
    char uid_map[48], gid_map[48];
    int life, null, timer, children; /* pid 1: its pipe, /dev/null, the deadline, SIGCHLD, ... */
    int image;                       /* ... its program, or ... */
    const char *shell;               /* ... a shell that does less; neither: a copy of the host */
    int gate[2];                     /* opens for the program when the entering process is gone */
    int host;                        /* a pidfd: who waits at the gate must see the host die */
    int init, init_fd, pid, pid_fd, proc; /* what the entering process has made */
    int tries;                       /* which one this is */
    int ready;                       /* the function has told all, and waits at the gate */
    int before_exec;                 /* not 0 while the program shares the host's memory */
    sbx__failure failure;
} sbx__plan_tree;

typedef struct sbx__box_tree {
    pid_t init;                      /* pid 1 of the tree; 0 = the group only, or gone */
    int life, timer, lines;          /* lines: pid 1 is a shell and reads text */
    int proc;                        /* the tree's own /proc, which the watch looks at, too */
    struct rusage usage;             /* of pid 1: its own, and that of orphans it waited for */
} sbx__box_tree;

typedef struct sbx__memory {         /* of a process, at the last look; in bytes */
    int asked, ended;                /* there was one; it has none left */
    int maps;                        /* its files may once have counted twice */
    long long faults, pages, space;  /* while these stay, nothing has changed */
    long long rss, most, anon, files, tables; /* in use, its high-water mark; parts of it */
    long long inherited;             /* anonymous pages that it may have from its parent */
    long long cleared;               /* so much of files was weighed, and counts once */
    int weighed;                     /* a first time, with this share: */
    long long share, fresh;          /* its own; shared, but not with the host of a function */
    int unlike;                      /* its parent was found to have other memory */
    int twin, host;                  /* who has the same memory (-1 = nobody, 0 = not asked); its
                                        number on the host's side */
} sbx__memory;

typedef struct sbx__task {           /* a process of the tree, as /proc shows it */
    int pid, parent, group, session, dead, member;
    int waits;                       /* for the CPU, or has it */
    int no_exec;                     /* forked, and still the program that forked it */
    int ending;                      /* on its way out */
    int forgets;                     /* it ignores SIGCHLD: no books tell of its children */
    int opaque;                      /* it runs a program that it may not read */
    int threads, thread;             /* if its first one has ended, one that can be asked; or 0 */
    long long cpu, reaped;           /* ticks: its own, and of children it waited for */
    long long owed;                  /* ticks of vanished descendants */
    long long faults, waited;        /* page faults: its own, and of children it waited for */
    long long pages, space;          /* roughly in use; its address space */
    sbx__memory memory;
} sbx__task;

typedef struct sbx__tasks {
    sbx__task *at;
    int count, capacity;
} sbx__tasks;

typedef struct sbx__plan_watch { int clock; } sbx__plan_watch; /* as below, made in the child */
typedef struct sbx__box_watch {
    int on;                          /* limits rest on it */
    int clock;                       /* the kernel's own sum of the tree's CPU time; -1 = none */
    int proc, self;                  /* a /proc, and the program's number there */
    long long step, looked_at, list_at;
    long long budget;                /* CPU time for closer looks at memory */
    long long host_anon, host_tables; /* bytes */
    long long used, peak, peak_space; /* now, if shared pages are taken twice; surely at once */
    long long base, least;           /* now: with who has just ended; surely in use */
    long long maybe, most;           /* ever: in doubt; nothing was above it */
    long long faults, waited;        /* of all, at the last look */
    long long listed, at;            /* when everybody was listed; ... at the last look */
    int mapped, crowd;               /* files may count twice; most processes at once */
    int others, parent;              /* others may have been born; the program waited for some */
    int births;                      /* numbers behind the program's that were given to ours */
    int forgets;                     /* somebody has children that nobody has to wait for */
    int opaque;                      /* somebody may have shaken the clock off */
    long long first;                 /* from the start to the first look */
    int pass, next;                  /* of a weighing: first or second time; who comes next */
    long long sum, fresh, begun_at;  /* ... so far; page faults when it began */
    long long weighed, weighed_at;   /* of the last one: its result, and begun_at; 0 = in doubt */
    int torn, suspect;               /* it missed somebody; it is about the limit */
    int hidden, guessed;             /* somebody hides its pages; so the peak may be too high */
    long long large_at, large;       /* when very large ones may be weighed again; so many us */
    long long huge_base;             /* huge pages that the machine had given out before; 0 = ? */
    long long huge, huge_at, huge_weighed; /* bytes since: now, at the last look, at the last ... */
    long long cpu_us, cpu_gone;      /* of the tree; ticks of tasks that nobody waited for */
    sbx__tasks tasks;
} sbx__box_watch;

typedef struct sbx__plan_cgroup { int procs; } sbx__plan_cgroup; /* cgroup.procs; -1 = none */
typedef struct sbx__box_cgroup {
    char *path;                      /* the box's own group; NULL = none */
    long long cpu_us, peak;
} sbx__box_cgroup;

typedef struct sbx__insn {           /* struct sock_filter */
    unsigned short code;
    unsigned char yes, no;
    unsigned k;
} sbx__insn;

typedef enum { /* what a spot is; of two at one path the later kind counts */
    SBX__SPOT_DIR,
    SBX__SPOT_LINK,
    SBX__SPOT_SCRATCH, /* private, writable, gone with the box */
    SBX__SPOT_TREE,    /* a directory or a file of the host */
    SBX__SPOT_DEVICE,
    SBX__SPOT_PROC
} sbx__spot_kind;

typedef struct sbx__spot {          /* what stands in the root directory of a box */
    sbx__spot_kind kind;
    char *at;                        /* its path, without symlinks and the first slash */
    char *link;                      /* a symlink's text */
    int write, file;                 /* it may be changed; it is no directory */
    int named, program;              /* by the policy, or as the program: held by fd */
    int there;                       /* something around it has this path already */
    int fd;
    dev_t device;                    /* it is on; or, of a device, its own number */
    ino_t inode;
} sbx__spot;

typedef struct sbx__texts {          /* a block of texts, which stand behind this */
    struct sbx__texts *before;
    size_t used, room;
} sbx__texts;

typedef struct sbx__plan_policy {
    sbx__spot *spots;               /* in the order in which they are made */
    sbx__texts *texts;               /* their paths */
    int count, used, room;           /* those from `used` on are not needed */
    int no_memory;
    int whole, proc;                 /* "/" of the host is the first spot; it sees a /proc */
    int nodes;                       /* devices can be made; else the host's are attached */
    char *home, *tmp;                /* "HOME=...", "TMPDIR=..." */
    char options[80];                /* of its tmpfs */
    int ruleset;                     /* Landlock; -1 = none */
    unsigned rights;                 /* Landlock's, all that it can give on a directory */
    int notice;                      /* the filter's own descriptor, made in the child */
    int ear, ear_fd;                 /* who listens there, by its number inside and by pidfd */
    int ear_pipe, ear_image;         /* ... where it tells, and its program */
    unsigned password;               /* with which it may be made although spawning is denied */
    sbx__insn *filter;               /* seccomp */
    int filter_size, too_far;        /* too_far: a jump in it does not fit into a byte */
    unsigned enforced;
} sbx__plan_policy;

typedef struct sbx__box_policy {
    int denied;                      /* the forbidden system call, ... */
    unsigned arch;                   /* ... and whose number that is */
    int nameless;                    /* it was taken back before anybody could read its number */
    int ear, ear_fd;                 /* who listens, by its number inside and by pidfd; 0 = none */
    int unread;                      /* so often its word could not be read */
    int listener;                    /* as long as it is open, nobody gets past a forbidden call */
} sbx__box_policy;

/* ---- the plan and the box ---- */

typedef struct sbx__plan {           /* everything a child needs; nothing is allocated after it */
    sbx_config cfg;                  /* with every default filled in; -1 = none */
    const char *path, *cwd;          /* absolute; cwd NULL = stay */
    const char *const *argv;
    char **envp;
    const char *shell[4];            /* argv of cfg.command */
    int fd[3];                       /* become 0, 1, 2; -1 = the host's own stays */
#define SBX__OWN_NULL (-2)           /* in fd[]: `null`, which the child opens in its own view */
    int null;
    int *pass, passed;               /* copies of pass_fds; how many */
    int low;                         /* first number behind those: the child's own use from here */
    int report;                      /* close-on-exec: carries a sbx__failure, or just closes; */
    sbx__failure failure;            /* ... -1: it stands here, in memory that both share */
    sbx__limit limits[SBX__LIMITS];
    int limit_count;
    long long deadline;
    sbx_fn fn;                       /* a function instead of a program; NULL = none */
    int handle;                      /* for sbx_start */
    int in_tree;                     /* it will be contained as a tree */
    int shares;                      /* the child wrote this: it is no copy of the host */
    int one_table;                   /* it shares the host's descriptors until it parts */
    int apart;                       /* it does not share the host's memory: a copy, like fork */
    char *memory, *free_text;        /* stacks, then the environment's pointers, then text */
    int stacks;                      /* handed out */
    sbx__common common;              /* if it is a copy that has something to tell */
    sbx__plan_call call;
    sbx__plan_tree tree;
    sbx__plan_watch watch;
    sbx__plan_cgroup cgroup;
    sbx__plan_policy policy;
} sbx__plan;

/* LINGERING: the program has ended, but not the grace of those it left behind. LEAVING: everybody
   was sent SIGKILL, and the last ones are collected. */
typedef enum { SBX__RUNNING, SBX__LINGERING, SBX__LEAVING, SBX__ENDED } sbx__state;

struct sbx {
    /* What a look at every one of many boxes reads stands together: a cache line or two of each. */
    sbx__state state;
    int stopping;                    /* a reason is noted */
    long long deadline;
    long long kill_at;               /* SIGKILL after the grace */
    long long stuck_at;              /* SIGKILL was sent: when to give up, ... */
    long long starve_at;             /* ... and when to give up those who wait for the CPU */
    long long look_at;               /* next look at what no descriptor tells */
    long long wing_at;               /* next turn of the watch */
    struct sbx__set *set;            /* it is waited for with others there; NULL = alone */
    int slot;                        /* its place among the boxes that are waited for */
    unsigned asked;                  /* what the host found full or empty: bits by descriptor */
    unsigned rest;                   /* what was left in a pipe for the next turn: bits, too */
    int pressed;                     /* the host polls, and does not take what there is to read */

    sbx_config cfg;                  /* limits and callback; its pointers may be stale */
    char who[64];                    /* "'sleep'": for messages */
    int is_call, in_tree;            /* a function; contained as a tree */
    pid_t pid;
    int fd[SBX__FDS], top_fd;
    int door;                        /* where sbx_cancel and sbx_kill knock; ... */
    volatile sig_atomic_t unheard;   /* ... or left word: 1 = cancel, 2 = kill */
    const char *input;
    char *input_copy;
    char *said;                      /* the last bytes of stderr, if they may tell of a limit */
    size_t said_size;
    size_t input_left;
    int input_failed;                /* errno: not all of the input could be fed */
    int number;                      /* in the set */
    unsigned listed, ready;          /* descriptors: the set has them; they are ready. Bits */
    sbx__stream stream[2];
    long long started, begun, ended; /* begun: there is a program, or a function */
    long long timeout_ms;
    long long last_seen;             /* when it was last seen alive */
    long long left_at, away;         /* when the host last waited for it; the longest it did not */
    long long look_step;             /* from look to look */
    int heard;                       /* it has said something */
    int killed;                      /* a signal was sent, ... */
    int untold;                      /* ... or SIGTERM waits until the program has begun */
    int unable;                      /* so often nobody was found who could still die */
    int late;                        /* the deadline was over before the program could start */
    int crowd;                       /* how many boxes are waited for with this one */
    int unowned;                     /* so often the host's wait found no such child */
    int collected;                   /* it has been waited for */
    int alone;                       /* ... and its group is known to be empty */
    int emptied;                     /* nobody is left; only bytes may be */
    long long held_until;            /* it has ended, but a tracer holds its status */
    sbx_evidence seen;
    unsigned enforced;
    sbx__failure failure;
    struct rusage usage;
    sbx__common common;
    sbx__box_call call;
    sbx__box_tree tree;
    sbx__box_watch watch;
    sbx__box_cgroup cgroup;
    sbx__box_policy policy;
};

/* ---- the seam: the wings' moments ---- */

static int sbx__call_owns(const struct sbx_nursery *n); /* is it this process's own? */
static void sbx__call_plan(sbx__plan *p, sbx *b);
static sbx_step sbx__call_child(sbx__plan *p);
static pid_t sbx__call_fork(sbx__plan *p, int (*first)(void *)); /* a copy of the host, or of
                                                                  its nursery */
static int sbx__call_run(sbx__plan *p);         /* the function itself; its exit code */
static void sbx__call_failure(sbx *b);          /* why it could not begin, if so */
static int sbx__call_begun(const sbx *b);       /* a function of which no report tells */
static void sbx__call_observe(sbx *b);
static const char *sbx__call_said(const sbx *b); /* the text of sbx_fail, or "" */
static void sbx__call_result(sbx *b, sbx_result *r);

static int sbx__tree_plan(sbx__plan *p, sbx *b, sbx_result *r);
static long long sbx__tree_tasks(const sbx__plan *p); /* that RLIMIT_NPROC counts besides */
static pid_t sbx__tree_spawn(sbx__plan *p, sbx *b);
static sbx_step sbx__tree_child(sbx__plan *p, int *which); /* a /proc or a root of its own */
static sbx_step sbx__tree_part(sbx__plan *p);   /* who is a copy of the host tells what it opened */
static void sbx__tree_refuse(const sbx__plan *p, const sbx__failure *f, sbx_result *r);
static int sbx__tree_signal(sbx *b, int number); /* to everybody; 0 = it cannot */
static void sbx__tree_set_deadline(sbx *b);
static int sbx__tree_timed_out(sbx *b);
static void sbx__tree_kill(sbx *b);
static int sbx__tree_alone(sbx *b);              /* has everybody ended? */
static int sbx__tree_gone(sbx *b, long long now); /* ... and been collected? */
static void sbx__tree_observe(sbx *b, sbx_result *r);
SBX__SOMETIMES int sbx__tree_proc(const sbx *b); /* its own /proc, or -1 */
static void sbx__tree_free_plan(sbx__plan *p);
static void sbx__tree_free(sbx *b);

static int sbx__watch_plan(sbx__plan *p, sbx *b, sbx_result *r);
static void sbx__watch_child(sbx__plan *p);
static void sbx__watch_begin(sbx__plan *p, sbx *b);
static void sbx__watch_turn(sbx *b, long long now);
static void sbx__watch_end(sbx *b); /* the program has ended, and is not yet collected */
static void sbx__watch_observe(sbx *b, sbx_result *r);
static void sbx__watch_usage(sbx *b, sbx_usage *u);
static void sbx__cgroup_usage(sbx *b, sbx_usage *u);
static void sbx__watch_free(sbx *b);

static int sbx__cgroup_plan(sbx__plan *p, sbx *b, sbx_result *r);
static sbx_step sbx__cgroup_child(sbx__plan *p);
static void sbx__cgroup_turn(sbx *b, long long now);
static void sbx__cgroup_observe(sbx *b, sbx_result *r);
static int sbx__cgroup_gone(sbx *b);
static void sbx__cgroup_free_plan(sbx__plan *p);
static void sbx__cgroup_free(sbx *b);

static int sbx__policy_plan(sbx__plan *p, sbx *b, sbx_result *r);
SBX__SOMETIMES sbx_step sbx__policy_view(sbx__plan *p, int *which); /* a root of its own */
static sbx_step sbx__policy_child(sbx__plan *p, int *which);
static void sbx__policy_begin(sbx__plan *p, sbx *b);
static void sbx__policy_turn(sbx *b);
static int sbx__policy_settled(sbx *b); /* the program has ended: is all heard? -1 = who knows */
SBX__SOMETIMES int sbx__policy_ear(const sbx *b); /* our own process in the box, or 0 */
static const char *sbx__policy_part(const sbx__plan *p, int which, char *text, size_t room);
static void sbx__policy_describe(const sbx *b, char *to, size_t room); /* what was forbidden */
static void sbx__policy_free_plan(sbx__plan *p);
static void sbx__policy_free(sbx *b);
/* clang-format on */

/* Nothing is open yet: -1 where a descriptor will stand. */
static void sbx__nothing_yet(sbx__plan *p, sbx *b) {
    int i;
    for (i = 0; i < SBX__FDS; i++) b->fd[i] = -1;
    p->fd[0] = p->fd[1] = p->fd[2] = p->null = p->report = p->common.file = p->cgroup.procs = -1;
    p->tree.life = p->tree.null = p->tree.timer = p->tree.children = p->tree.image = -1;
    p->tree.gate[0] = p->tree.gate[1] = p->tree.init_fd = p->tree.pid_fd = p->tree.proc = -1;
    p->tree.host = -1;
    p->policy.ruleset = p->policy.notice = -1;
    p->policy.ear_fd = p->policy.ear_pipe = p->policy.ear_image = -1;
    b->policy.listener = b->policy.ear_fd = -1;
    b->door = b->common.file = b->tree.life = b->tree.timer = b->tree.proc = -1;
    p->watch.clock = b->watch.clock = b->watch.proc = -1;
    b->seen.exit_code = -1;
    b->watch.peak = b->cgroup.peak = -1;
    b->kill_at = b->stuck_at = b->look_at = b->wing_at = SBX__NEVER;
}

/* ==== helpers ================================================================================ */

static long long sbx__clock(clockid_t which) { /* in us */
    struct timespec t;
    clock_gettime(which, &t);
    return (long long)t.tv_sec * SBX__SECOND + t.tv_nsec / 1000;
}

static long long sbx__now(void) { return sbx__clock(CLOCK_MONOTONIC); }

static void *sbx__zalloc(size_t size) {
    void *p = SBX_REALLOC(NULL, size);
    if (p) memset(p, 0, size);
    return p;
}

SBX__SOMETIMES char *sbx__paste(const char *one, const char *two) {
    char *text = (char *)SBX_REALLOC(NULL, strlen(one) + strlen(two) + 1);
    return text ? strcat(strcpy(text, one), two) : NULL;
}

static void sbx__close(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static void sbx__blank(sbx_result *r, const sbx_config *config) {
    memset(r, 0, sizeof *r);
    if (config) r->user = config->user;
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

/* The length of the valid UTF-8 character at the front, 0 = it is none. */
static size_t sbx__utf8_length(const unsigned char *c, size_t left) {
    size_t n = c[0] < 0x80 ? 1 : c[0] < 0xC2 ? 0 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : 4, i;
    if (c[0] > 0xF4 || n == 0 || n > left) return 0;
    for (i = 1; i < n; i++)
        if ((c[i] & 0xC0) != 0x80) return 0;
    if (c[0] == 0xE0 && c[1] < 0xA0) return 0; /* too long for what it says */
    if (c[0] == 0xED && c[1] >= 0xA0) return 0; /* half of a pair */
    if (c[0] == 0xF0 && c[1] < 0x90) return 0;
    if (c[0] == 0xF4 && c[1] >= 0x90) return 0; /* past the last one */
    return n;
}

/* How many of these bytes are a control character, which would break the sentence of a message or
   the terminal it lands on: C0 and DEL; in UTF-8 C1 and those that turn the writing round. */
static size_t sbx__control(const char *text) {
    const unsigned char *c = (const unsigned char *)text;
    if (c[0] < 32 || c[0] == 127) return 1;
    if (c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0) return 2;
    if (c[0] == 0xD8 && c[1] == 0x9C) return 2;
    if (c[0] == 0xE2 && c[1] == 0x80 && (c[2] == 0x8E || c[2] == 0x8F)) return 3;
    if (c[0] == 0xE2 && c[1] == 0x80 && c[2] >= 0xA8 && c[2] <= 0xAE) return 3;
    if (c[0] == 0xE2 && c[1] == 0x81 && c[2] >= 0xA6 && c[2] <= 0xA9) return 3;
    return 0;
}

/* Text for a message: UTF-8 without control characters, cut where it does not fit. */
static const char *sbx__plain(char *to, size_t room, const char *from) {
    size_t n = sbx_utf8_prefix(from, strlen(from), room - 1), i, k, length;
    memcpy(to, from, n);
    to[n] = 0;
    for (i = 0; i < n; i += length) {
        length = sbx__utf8_length((unsigned char *)to + i, n - i);
        if (length == 0) to[i] = '?';
        for (k = sbx__control(to + i); k > 0; k--) to[i + k - 1] = ' ';
        if (length == 0) length = 1;
    }
    return to;
}

/* "64 MiB" where that is the whole truth, else "1000 bytes". */
static const char *sbx__size(char to[32], long long bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    while (unit < 4 && bytes > 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(to, 32, "%lld %s", bytes, unit == 0 && bytes == 1 ? "byte" : units[unit]);
    return to;
}

/* A limit as a person would say it: from a minute on, 10 min and not 600000 ms. */
static const char *sbx__duration(char to[32], long long ms) {
    if (ms >= 60000 && ms % 60000 == 0) snprintf(to, 32, "%lld min", ms / 60000);
    else if (ms >= 60000 && ms % 1000 == 0) snprintf(to, 32, "%lld s", ms / 1000);
    else snprintf(to, 32, "%lld ms", ms);
    return to;
}

static int sbx__copy_up(int fd, int least) {
    int up = fcntl(fd, F_DUPFD_CLOEXEC, least);
    if (up < 0 && errno == EINVAL) errno = EMFILE; /* even the least is past the limit */
    return up;
}

/* The host may run with 0, 1 or 2 closed, and the child needs some numbers for itself: a descriptor
   of ours there moves up. */
static int sbx__move_up(int fd, int least) {
    int up;
    if (fd < 0 || fd >= least) return fd;
    up = sbx__copy_up(fd, least);
    close(fd);
    return up;
}

static int sbx__open_null(int least) {
    return sbx__move_up(open("/dev/null", O_RDWR | O_CLOEXEC), least);
}

static int sbx__nonblocking(int fd) { return fcntl(fd, F_SETFL, O_NONBLOCK) == 0; }

static long long sbx__maxrss(const struct rusage *usage) {
    return (long long)usage->ru_maxrss * SBX__MAXRSS_UNIT;
}

/* The most that the host itself has had in memory. */
static long long sbx__host_peak(void) {
    struct rusage host;
    return getrusage(RUSAGE_SELF, &host) == 0 ? sbx__maxrss(&host) : LLONG_MAX / 2;
}

static long long sbx__time_us(const struct timeval *t) {
    return (long long)t->tv_sec * SBX__SECOND + t->tv_usec;
}

static long long sbx__cpu_us(const struct rusage *usage) {
    return sbx__time_us(&usage->ru_utime) + sbx__time_us(&usage->ru_stime);
}

static void sbx__nap(void) {
    struct timespec moment = {0, 1000000};
    nanosleep(&moment, NULL);
}

static pid_t sbx__collect(pid_t pid, int flags, struct rusage *usage) {
    pid_t got;
    do got = wait4(pid, NULL, flags | SBX__WALL, usage);
    while (got < 0 && errno == EINTR);
    return got;
}

static size_t sbx__count(const char *const *list) {
    size_t n = 0;
    while (list && list[n]) n++;
    return n;
}

/* Both lists, one behind the other, where there is room for them. */
static const char *const *sbx__join(const char **to, const char *const *a, const char *const *b) {
    size_t n = 0;
    for (; a && *a; a++) to[n++] = *a;
    for (; b && *b; b++) to[n++] = *b;
    to[n] = NULL;
    return to;
}

SBX__SOMETIMES char *sbx__stack_top(sbx__plan *p) { return p->memory + ++p->stacks * SBX__STACK; }

static const char *sbx__signal_name(int number) {
    /* clang-format off */
    static const struct { int number; const char *name; } names[] = {
        {SIGHUP, "SIGHUP"}, {SIGINT, "SIGINT"}, {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
        {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"},
        {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
        {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
        {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}, {SIGVTALRM, "SIGVTALRM"}, {SIGPROF, "SIGPROF"},
#ifdef SIGIO
        {SIGIO, "SIGIO"},
#endif
#ifdef SIGSTKFLT
        {SIGSTKFLT, "SIGSTKFLT"},
#endif
#ifdef SIGPWR
        {SIGPWR, "SIGPWR"},
#endif
        {SIGCHLD, "SIGCHLD"}};
    /* clang-format on */
    size_t i;
    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == number) return names[i].name;
    return "no name";
}

/* What was sent to the host's group while the child still belonged to it is not for the child. To
   ignore a signal is to forget it. */
static int sbx__pending(sigset_t *set);
static void sbx__ignore(int number);
static void sbx__drop_pending(int most) {
    sigset_t set;
    size_t byte;
    int i, any = 0;
    memset(&set, 0, sizeof set);
    if (!sbx__pending(&set)) return;
    for (byte = 0; byte < sizeof set; byte++) any |= ((const char *)&set)[byte];
    for (i = 1; any && i <= most; i++)
        if (sigismember(&set, i) == 1) sbx__ignore(i);
}

/* ---- where systems differ ---- */

#if SBX__LINUX

static int sbx__raw_pipe(int fd[2]) { return (int)syscall(SYS_pipe2, fd, O_CLOEXEC); }

static void sbx__grow_pipe(int fd) { fcntl(fd, SBX__F_SETPIPE_SZ, SBX__BIG_PIPE); }

/* write() that raises no SIGPIPE; EOPNOTSUPP before Linux 6.18. */
static ssize_t sbx__write_unsignalled(int fd, const void *data, size_t size) {
#ifdef SYS_pwritev2
    struct iovec all;
    all.iov_base = (void *)(size_t)data;
    all.iov_len = size;
    return (ssize_t)syscall(SYS_pwritev2, fd, &all, 1, -1L, -1L, SBX__RWF_NOSIGNAL);
#else
    (void)fd, (void)data, (void)size;
    errno = EOPNOTSUPP;
    return -1;
#endif
}

/* Where sbx_cancel knocks: an eventfd, both ends in one. */
static int sbx__open_door(int *listen, int *knock) {
    *knock = sbx__move_up((int)syscall(SYS_eventfd2, 0, O_CLOEXEC | O_NONBLOCK), 3);
    return (*listen = *knock) >= 0;
}

/* Ends this process only. Not by _exit, before which sanitizers inspect the stack. */
static void sbx__quit(int code) { syscall(SYS_exit_group, code); }

static int sbx__new_session(void) { return syscall(SYS_setsid) >= 0; }

static int sbx__dup(int from, int to, int flags) {
    return from == to ? to : (int)syscall(SYS_dup3, from, to, flags);
}

static int sbx__set_limit(const sbx__limit *limit) {
    return syscall(SYS_prlimit64, 0, limit->which, limit->value, NULL) == 0;
}

static int sbx__pending(sigset_t *set) {
    return syscall(SYS_rt_sigpending, set, SBX__SIGNALS / 8L) == 0;
}

static void sbx__ignore(int number) {
    size_t action[8]; /* the kernel's struct sigaction: the handler, on mips behind the flags */
    memset(action, 0, sizeof action);
#ifdef __mips__
    action[1] = (size_t)SIG_IGN;
#else
    action[0] = (size_t)SIG_IGN;
#endif
    syscall(SYS_rt_sigaction, number, action, NULL, SBX__SIGNALS / 8L);
}

/* exec resets handlers but keeps ignored signals ignored. All go back to the default before any is
   unblocked: until exec this process may share its memory with the host. */
static void sbx__reset_signals(int most) {
    char zero[64]; /* the kernel's struct sigaction: SIG_DFL, no flags, no mask */
    int i;
    sbx__drop_pending(most);
    memset(zero, 0, sizeof zero);
    for (i = 1; i <= most; i++) syscall(SYS_rt_sigaction, i, zero, NULL, SBX__SIGNALS / 8L);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, zero, NULL, SBX__SIGNALS / 8L);
}

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

static int sbx__close_quickly(int from) {
    return syscall(SBX__NR_close_range, (unsigned)from, ~0u, 0) == 0 || sbx__close_listed(from);
}

/* From here on the descriptors that were the host's too are this process's own. A policy's filter
   would take the older call for one of the program's. */
static int sbx__own_table(int filtered) {
    unsigned unshare_only = 2; /* CLOSE_RANGE_UNSHARE, and a number that nobody has */
    return syscall(SBX__NR_close_range, INT_MAX, INT_MAX, unshare_only) == 0 ||
           (!filtered && syscall(SYS_unshare, SBX__CLONE_FILES) == 0);
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

/* Another user, by system calls: the libc's functions would tell other threads, which this process
   does not have. The old calls of 32-bit machines know only 16 bits. */
#ifdef SYS_setresuid32
#define SBX__SETGROUPS SYS_setgroups32
#define SBX__SETRESGID SYS_setresgid32
#define SBX__SETRESUID SYS_setresuid32
#else
#define SBX__SETGROUPS SYS_setgroups
#define SBX__SETRESGID SYS_setresgid
#define SBX__SETRESUID SYS_setresuid
#endif
static int sbx__set_user(unsigned uid, unsigned gid) {
    unsigned caps[8]; /* struct __user_cap_header_struct, then twice the data */
    memset(caps, 0, sizeof caps);
    caps[0] = SBX__CAP_VERSION;
    if (syscall(SYS_keyctl, SBX__KEYCTL_JOIN_SESSION, NULL) < 0 && errno != ENOSYS &&
        errno != EPERM)
        return 0; /* root's keys */
    if (syscall(SBX__SETGROUPS, 0, NULL) != 0) return 0;
    if (gid && syscall(SBX__SETRESGID, gid, gid, gid) != 0) return 0;
    if (!uid) return 1;
    return syscall(SBX__SETRESUID, uid, uid, uid) == 0 && syscall(SYS_capset, caps, caps + 2) == 0;
}

/* A program is started without copying the host's page tables: the child runs on a stack of its own
   in the host's memory while this thread waits for its exec. */
static pid_t sbx__start_child(sbx__plan *p, int (*first)(void *), int *pidfd) {
    int flags = SBX__CLONE_VM | SBX__CLONE_VFORK | SIGCHLD;
    char *top = sbx__stack_top(p);
    pid_t pid;
    if (p->one_table) flags |= SBX__CLONE_FILES;
    SBX__TSAN_IGNORE(Begin);
    pid = sbx__clone(first, top, flags | SBX__CLONE_PIDFD, p, pidfd);
    if (pid < 0 && errno == EINVAL) pid = sbx__clone(first, top, flags, p); /* qemu-user */
    SBX__TSAN_IGNORE(End);
    return pid;
}

/* Under an emulator (qemu-user, valgrind) a child that should share the host's memory may have only
   a copy of it: what it writes there nobody reads. So it also puts its failure into its name. */
static void sbx__name_failure(const sbx__failure *f) {
    const unsigned part[3] = {(unsigned)f->step, (unsigned)f->error, (unsigned)f->which};
    char name[16] = "sbx";
    int i;
    for (i = 0; i < 12; i++) name[3 + i] = "0123456789abcdef"[part[i / 4] >> 4 * (3 - i % 4) & 15];
    syscall(SYS_prctl, PR_SET_NAME, name, 0, 0, 0);
}

static int sbx__open_pidfd(pid_t pid) { return (int)syscall(SBX__NR_pidfd_open, pid, 0); }

/* By pidfd the kernel knows which process, or which group, is meant even if the number were in use
   again. 1 = sent, 0 = there is nobody, -1 = this way is not there. */
static int sbx__pidfd_signal(int pidfd, int number, unsigned flags) {
    if (pidfd < 0) return -1;
    if (syscall(SBX__NR_pidfd_send_signal, pidfd, number, NULL, flags) == 0) return 1;
    return errno == ESRCH ? 0 : -1;
}

static int sbx__signal_group_by_pidfd(int pidfd, int number) {
    return sbx__pidfd_signal(pidfd, number, SBX__PIDFD_TO_GROUP);
}

/* Without collecting the process, too, the kernel tells what it has used; the C library does not
   ask. Its struct rusage: two times, then numbers in the libc's order. */
static int sbx__wait_by_pidfd(int pidfd, siginfo_t *info, int flags, struct rusage *usage) {
    long told[18];
    memset(told, 0, sizeof told);
    if (syscall(SYS_waitid, SBX__P_PIDFD, pidfd, info, flags, told) != 0) return -1;
    usage->ru_utime.tv_sec = told[0];
    usage->ru_utime.tv_usec = told[1];
    usage->ru_stime.tv_sec = told[2];
    usage->ru_stime.tv_usec = told[3];
    usage->ru_maxrss = told[4];
    usage->ru_minflt = told[8];
    usage->ru_majflt = told[9];
    return 0;
}

/* Newer kernels remember the status for who holds a pidfd, if not at once. 1 = here it is, 0 = ask
   again, -1 = nobody knows it. */
static int sbx__status_by_pidfd(int pidfd, int *status) {
    sbx__pidfd_info kept;
    memset(&kept, 0, sizeof kept);
    kept.mask = SBX__PIDFD_INFO_EXIT;
    if (pidfd < 0) return -1;
    if (syscall(SYS_ioctl, pidfd, SBX__PIDFD_GET_INFO, &kept) != 0) return errno == ESRCH ? 0 : -1;
    *status = kept.exit_status;
    return kept.mask & SBX__PIDFD_INFO_EXIT ? 1 : 0;
}

#else

static int sbx__raw_pipe(int fd[2]) {
    if (pipe(fd) != 0) return -1;
    fcntl(fd[0], F_SETFD, FD_CLOEXEC);
    fcntl(fd[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

static void sbx__grow_pipe(int fd) { (void)fd; }

static ssize_t sbx__write_unsignalled(int fd, const void *data, size_t size) {
    (void)fd, (void)data, (void)size;
    errno = EOPNOTSUPP;
    return -1;
}

static int sbx__pipe(int *read_end, int *write_end, int least);
static int sbx__open_door(int *listen, int *knock) {
    return sbx__pipe(listen, knock, 3) && sbx__nonblocking(*listen) && sbx__nonblocking(*knock);
}

static void sbx__quit(int code) { _exit(code); }

static int sbx__new_session(void) { return setsid() >= 0; }

static int sbx__dup(int from, int to, int flags) {
    if (dup2(from, to) != to) return -1;
    return !flags || fcntl(to, F_SETFD, FD_CLOEXEC) == 0 ? to : -1;
}

static int sbx__set_limit(const sbx__limit *limit) {
    struct rlimit value;
    value.rlim_cur = (rlim_t)limit->value[0];
    value.rlim_max = (rlim_t)limit->value[1];
    return setrlimit(SBX__RLIMIT(limit->which), &value) == 0;
}

static int sbx__pending(sigset_t *set) { return sigpending(set) == 0; }
static void sbx__ignore(int number) { signal(number, SIG_IGN); }

static void sbx__reset_signals(int most) {
    struct sigaction standard;
    sigset_t none;
    int i;
    sbx__drop_pending(most);
    memset(&standard, 0, sizeof standard);
    standard.sa_handler = SIG_DFL;
    for (i = 1; i <= most; i++) sigaction(i, &standard, NULL);
    sigemptyset(&none);
    SBX__SIGMASK(SIG_SETMASK, &none, NULL);
}

static int sbx__close_quickly(int from) { return from < 0; }
static int sbx__own_table(int filtered) { return filtered >= 0; }
static void sbx__arm_deadline(long long deadline) { (void)deadline; }

static int sbx__set_user(unsigned uid, unsigned gid) {
    return setgroups(0, NULL) == 0 && (!gid || setgid((gid_t)gid) == 0) &&
           (!uid || setuid((uid_t)uid) == 0);
}

static pid_t sbx__start_child(sbx__plan *p, int (*first)(void *), int *pidfd) {
    pid_t pid = fork();
    if (pid == 0) first(p);
    *pidfd = -1;
    return pid;
}

static void sbx__name_failure(const sbx__failure *f) { (void)f; }
static int sbx__open_pidfd(pid_t pid) { return pid > 0 ? -1 : -2; }
static int sbx__pidfd_signal(int pidfd, int number, unsigned flags) {
    (void)pidfd;
    (void)number;
    (void)flags;
    return -1;
}
static int sbx__signal_group_by_pidfd(int pidfd, int number) {
    return sbx__pidfd_signal(pidfd, number, 0);
}
static int sbx__wait_by_pidfd(int pidfd, siginfo_t *info, int flags, struct rusage *usage) {
    (void)pidfd, (void)info, (void)flags, (void)usage;
    errno = ENOSYS;
    return -1;
}
static int sbx__status_by_pidfd(int pidfd, int *status) {
    (void)pidfd;
    (void)status;
    return -1;
}
#endif

/* If it fails, the caller closes what there is. */
static int sbx__pipe(int *read_end, int *write_end, int least) {
    int fd[2];
    if (sbx__raw_pipe(fd) != 0) return 0;
    *read_end = sbx__move_up(fd[0], least);
    *write_end = sbx__move_up(fd[1], least);
    return *read_end >= 0 && *write_end >= 0;
}

static void sbx__close_from(int from) {
    long top;
    if (sbx__close_quickly(from)) return;
    for (top = sysconf(_SC_OPEN_MAX); from < top; from++) close(from);
}

/* ---- memory in common with a copy of the host ---- */

/* It is a file in memory, which only the copy maps: another thread's child would inherit a mapping
   of ours. What a function leaves there is copied, never looked at in place. Past the host's own
   limit on files, filling it would raise SIGXFSZ. Behind its end there is place for a failure:
   without a descriptor a function cannot make it longer. */

#define SBX__RET_AT 512 /* where ret stands in it */

#if SBX__LINUX
static int sbx__common_file(size_t size) {
    struct rlimit most;
    int fd;
    if (getrlimit(RLIMIT_FSIZE, &most) != 0) return -1;
    if (most.rlim_cur < size + sizeof(sbx__failure)) return -1;
    fd = sbx__move_up((int)syscall(SYS_memfd_create, "sbx", SBX__MFD_CLOEXEC), 3);
    if (fd < 0) return -1;
    if (ftruncate(fd, (off_t)size) == 0 && lseek(fd, 0, SEEK_END) == (off_t)size) return fd;
    close(fd);
    return -1;
}
#else
static int sbx__common_file(size_t size) { return size ? -1 : -2; }
#endif

static int sbx__common_open(sbx__common *c, size_t size) {
    void *all;
    c->size = size;
    c->file = sbx__common_file(size);
    if (c->file >= 0) return 1;
    all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (all != MAP_FAILED) c->mapped = (sbx__shared *)all;
    return all != MAP_FAILED;
}

/* In the copy. */
SBX__SOMETIMES int sbx__common_map(sbx__common *c) {
    void *(*volatile map)(void *, size_t, int, int, int, off_t) = mmap;
    void *all;
    if (c->mapped) return 1;
    all = map(NULL, c->size, PROT_READ | PROT_WRITE, MAP_SHARED, c->file, 0);
    if (all != MAP_FAILED) c->mapped = (sbx__shared *)all;
    return all != MAP_FAILED;
}

/* In the host. 0 = it is not there (errno 0), or cannot be read. */
SBX__SOMETIMES int sbx__common_fetch(const sbx__common *c, void *to, size_t from, size_t size) {
    size_t got = 0;
    int tries = 0;
    if (c->mapped) return memcpy(to, (const char *)c->mapped + from, size) != NULL;
    while (got < size) {
        ssize_t n = pread(c->file, (char *)to + got, size - got, (off_t)(from + got));
        if (n == 0) errno = 0;
        if (n == 0 || (n < 0 && errno != EINTR && ++tries == 100)) return 0;
        if (n > 0) got += (size_t)n;
    }
    return 1;
}

static void sbx__common_free(sbx__common *c) {
    sbx__close(&c->file);
    if (c->mapped) munmap(c->mapped, c->size);
}

/* ==== run: the public functions, as the story of a run ======================================= */

static int sbx__check(sbx__plan *p, sbx_result *r);
SBX__APART sbx *sbx__plan_box(sbx__plan *p, sbx_result *r);
static void sbx__free_plan(sbx__plan *p);
static void sbx__free_box(sbx *b);
static int sbx__spawn(sbx__plan *p, sbx *b, sbx_result *r);
static int sbx__has_begun(sbx__plan *p, sbx *b, sbx_result *r);
static int sbx__wait(sbx *const *boxes, int count, long long until);
static int sbx__send(sbx *b, int number);
static ssize_t sbx__write_quietly(int fd, const void *data, size_t size);
static size_t sbx__take_out(sbx__stream *s, void *to, size_t room);
static void sbx__unroll(sbx *b, int i);
static int sbx__wants(const sbx *b, int k);
static int sbx__sees_end(sbx *b, long long now);
static long long sbx__wake(const sbx *b);
static sbx_verdict sbx__conclude(sbx *b, sbx_result *r);
static void sbx__turn(sbx *b, unsigned ready, long long now);
static void sbx__wait_for_begin(sbx *b);
static void sbx__enrol(sbx *b);
static void sbx__drop(sbx *b, int k);
static int sbx__look(sbx *b);
static int sbx__is_end(int code);
static int sbx__readable(const sbx *b);
static void sbx__stop(sbx *b, unsigned reason);
static void sbx__kill_all(sbx *b);
static int sbx__proc_group_dead(const sbx *b);
static int sbx__proc_starved(const sbx *b);
static void sbx__proc_await_copy(const sbx *b, sbx__failure *f);

/* Config -> plan -> running box. NULL: the result says why, and nothing is left. */
static sbx *sbx__open_once(const sbx_config *config, const sbx__plan *kind, sbx_result *r) {
    sbx__plan p = *kind;
    sbx *b;
    int ok;
    sbx__blank(r, config);
    p.cfg = *config;
    if (!sbx__check(&p, r)) return NULL;

    b = sbx__plan_box(&p, r);
    if (!b) return NULL;
    ok = r->step == SBX_STEP_NONE;
    ok = ok && sbx__spawn(&p, b, r) && sbx__has_begun(&p, b, r);

    sbx__free_plan(&p);
    if (ok) snprintf(r->message, sizeof r->message, "%s has started", b->who);
    if (ok) return b;
    sbx__free_box(b);
    return NULL;
}

/* AUTO is the tree; where the kernel says that there is none, it is the group. */
static sbx *sbx__open(const sbx_config *config, const sbx__plan *kind, sbx_result *r) {
    sbx_config group;
    sbx *b;
    if (!config) {
        sbx__blank(r, NULL);
        sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "config = NULL: nothing to run");
        return NULL;
    }

    b = sbx__open_once(config, kind, r);
    if (b || r->step != SBX_STEP_CONTAIN || config->contain != SBX_CONTAIN_AUTO) return b;
    if (config->policy) return NULL;
    group = *config;
    group.contain = SBX_CONTAIN_GROUP;
    return sbx__open_once(&group, kind, r);
}

SBX_API sbx_verdict sbx_run(const sbx_config *config, sbx_result *result) {
    sbx_result ignored;
    sbx__plan kind;
    sbx *box;
    memset(&kind, 0, sizeof kind);
    box = sbx__open(config, &kind, result ? result : &ignored);
    return box ? sbx_finish(box, result) : SBX_NOT_STARTED;
}

SBX_API sbx *sbx_start(const sbx_config *config, sbx_result *result) {
    sbx_result ignored;
    sbx__plan kind;
    memset(&kind, 0, sizeof kind);
    kind.handle = 1;
    return sbx__open(config, &kind, result ? result : &ignored);
}

SBX_API int sbx_poll_any(sbx *const *boxes, int count, long long wait_ms) {
    int forever = wait_ms < 0 || wait_ms > SBX_MAX_MS;
    if (!boxes) return -1;
    return sbx__wait(boxes, count, forever ? SBX__NEVER : sbx__now() + wait_ms * 1000);
}

SBX_API int sbx_poll(sbx *box, long long wait_ms) {
    return !box || sbx_poll_any(&box, 1, wait_ms) == 0;
}

SBX_API sbx_verdict sbx_finish(sbx *box, sbx_result *result) {
    sbx_result ignored, *r = result ? result : &ignored;
    sbx_verdict verdict = SBX_NOT_STARTED;
    if (!box) {
        sbx__blank(r, NULL);
        sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "box = NULL: nothing to finish");
        return verdict;
    }

    if (box->cfg.in == SBX_PIPE) {
        sbx_poll(box, 0); /* a cancel comes before the end of input */
        sbx__drop(box, SBX__IN);
    }
    box->asked = 0;
    while (box->state != SBX__ENDED) sbx__wait(&box, 1, SBX__NEVER);

    verdict = sbx__conclude(box, r);
    sbx__free_box(box);
    if (!result) sbx_free(r);
    return verdict;
}

SBX_API void sbx_free(sbx_result *result) {
    if (!result) return;
    if (result->out.size) SBX_FREE(result->out.data);
    if (result->err.size) SBX_FREE(result->err.data);
    result->out.data = result->err.data = (char *)"";
    result->out.size = result->err.size = 0;
}

/* ---- talking to a running box ---- */

/* Notes, or takes back, that the host waits for this descriptor: sbx_poll returns for it. */
static void sbx__ask(sbx *b, int k, int yes) {
    b->asked &= ~(1u << k);
    if (yes) b->asked |= 1u << k;
}

#define SBX__KNOCK_CANCEL 1ull
#define SBX__KNOCK_KILL (1ull << 32) /* an eventfd adds up what is written */

static void sbx__knock(sbx *b, unsigned long long what) {
    int error = errno, tries = 0;
    ssize_t n = -1;
    if (!b || b->door < 0) return;
    while (n < 0 && tries++ < 100) n = write(b->door, &what, sizeof what);
    if (n < 0 && !b->unheard) b->unheard = 1; /* a pipe that is full, or no memory for one */
    if (n < 0 && what == SBX__KNOCK_KILL) b->unheard = 2;
    errno = error;
}

SBX_API void sbx_cancel(sbx *box) { sbx__knock(box, SBX__KNOCK_CANCEL); }
SBX_API void sbx_kill(sbx *box) { sbx__knock(box, SBX__KNOCK_KILL); }

SBX_API long long sbx_write(sbx *box, const void *data, size_t size) {
    ssize_t n;
    if (!box || box->cfg.in != SBX_PIPE || box->fd[SBX__IN] < 0) return -1;
    n = size ? sbx__write_quietly(box->fd[SBX__IN], data, size) : 0;
    if (n < 0 && errno != EAGAIN && errno != ENOMEM) {
        sbx__drop(box, SBX__IN);
        return -1;
    }
    sbx__ask(box, SBX__IN, n < (ssize_t)size);
    sbx__enrol(box);
    return n < 0 ? 0 : (long long)n;
}

SBX_API void sbx_close_input(sbx *box) {
    if (box && box->cfg.in == SBX_PIPE) sbx__drop(box, SBX__IN);
}

SBX_API long long sbx_read(sbx *box, sbx_stream stream, void *to, size_t room) {
    int i = stream == SBX_STDERR;
    sbx__stream *s;
    size_t n;
    if (!box || (stream != SBX_STDOUT && stream != SBX_STDERR)) return -1;
    s = &box->stream[i];
    if (!to) room = 0;
    if (box->fd[SBX__OUT + i] < 0) sbx__unroll(box, i);
    n = sbx__take_out(s, to, room);
    box->pressed = 0;
    sbx__ask(box, SBX__OUT + i, n == 0 && room > 0 && box->fd[SBX__OUT + i] >= 0);
    if (n > 0 || s->size > 0) return (long long)n;
    return box->fd[SBX__OUT + i] >= 0 ? 0 : -1;
}

SBX_API int sbx_set_timeout(sbx *box, long long ms) {
    if (!box || box->state != SBX__RUNNING || box->stopping) return 0;
    if (ms < SBX_UNLIMITED || ms > SBX_MAX_MS) return 0;
    if (sbx__sees_end(box, sbx__now())) return 0; /* perhaps by its own timer, for the old limit */
    box->timeout_ms = ms;
    box->deadline = ms < 0 ? SBX__NEVER : sbx__now() + ms * 1000;
    if (box->in_tree) sbx__tree_set_deadline(box);
    return 1;
}

SBX_API int sbx_signal(sbx *box, int number) {
    if (!box || box->state != SBX__RUNNING || number <= 0) return 0;
    return !sbx__sees_end(box, sbx__now()) && sbx__send(box, number);
}

SBX_API int sbx_pid(const sbx *box) {
    int flags = WEXITED | WNOHANG | WNOWAIT | SBX__WALL;
    siginfo_t info;
    memset(&info, 0, sizeof info);
    if (!box || box->state != SBX__RUNNING) return 0;
    if (waitid(P_PID, (id_t)box->pid, &info, flags) != 0) return 0;
    return info.si_pid == 0 || !sbx__is_end(info.si_code) ? (int)box->pid : 0;
}

SBX_API void sbx_get_usage(sbx *box, sbx_usage *usage) {
    if (!usage) return;
    memset(usage, 0, sizeof *usage);
    usage->memory_bytes = usage->peak_bytes = usage->processes = -1;
    if (!box) return;
    usage->cpu_us = -1;
    usage->wall_us = (box->state == SBX__RUNNING ? sbx__now() : box->ended) - box->started;
    usage->output_bytes = (long long)(box->stream[0].total + box->stream[1].total);
    if (box->enforced & SBX_BY_CGROUP) sbx__cgroup_usage(box, usage);
    else sbx__watch_usage(box, usage);
    if (box->collected && usage->cpu_us < sbx__cpu_us(&box->usage))
        usage->cpu_us = sbx__cpu_us(&box->usage);
}

static long long sbx__until_ms(long long wake) {
    long long wait = wake == SBX__NEVER ? -1000 : wake - sbx__now();
    if (wake != SBX__NEVER && wait < 0) wait = 0;
    return wait < 0 ? -1 : (wait + 999) / 1000;
}

SBX_API void sbx_get_watch(const sbx *box, sbx_watch *watch) {
    int k;
    if (!watch) return;
    memset(watch, 0, sizeof *watch);
    if (!box || box->state == SBX__ENDED) return;

    for (k = 0; k < SBX__FDS; k++)
        if (sbx__wants(box, k)) {
            watch->writable[watch->count] = k == SBX__IN;
            watch->fd[watch->count++] = box->fd[k];
        }

    watch->wait_ms = sbx__until_ms(sbx__wake(box));
}

/* ==== check: the config is refused by name, or every default is filled in ==================== */

/* clang-format off */
static const struct sbx__field {
    const char *name;
    size_t offset;
    long long zero, most;
    int rlimit;
    unsigned by;
} sbx__fields[] = {
#define SBX__FIELD(field, zero, most, rlimit, by) \
    {#field, offsetof(sbx_config, field), zero, most, rlimit, by},
    SBX_FOR_EACH_LIMIT(SBX__FIELD)
#undef SBX__FIELD
};
/* clang-format on */
#define SBX__FIELDS (sizeof sbx__fields / sizeof sbx__fields[0])

static long long *sbx__value(sbx_config *cfg, size_t field) {
    return (long long *)(void *)((char *)cfg + sbx__fields[field].offset);
}

static int sbx__check_range(const char *name, long long v, long long most, sbx_result *r) {
    const char *least = strcmp(name, "grace_ms") == 0 ? "to kill at once" : "none";
    char text[32];
    if (v >= SBX_UNLIMITED && v <= most) return 1;
    if (most == SBX_MAX_BYTES) sbx__size(text, most);
    else snprintf(text, sizeof text, "%lld", most);
    return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL,
                       "%s = %lld is out of range: 0 is the default, -1 is %s, %s is the most",
                       name, v, least, text);
}

static int sbx__check_limits(sbx_config *cfg, sbx_result *r) {
    size_t i;
    for (i = 0; i < SBX__FIELDS; i++)
        if (!sbx__check_range(sbx__fields[i].name, *sbx__value(cfg, i), sbx__fields[i].most, r))
            return 0;
    if (cfg->truncate_output < 0 || cfg->truncate_output > SBX_KEEP_ENDS)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL,
                           "truncate_output = %d is none of SBX_KEEP_FIRST, _LAST, _ENDS",
                           cfg->truncate_output);
    return 1;
}

static void sbx__fill_in(sbx_config *cfg) {
    size_t i;
    for (i = 0; i < SBX__FIELDS; i++) {
        long long *v = sbx__value(cfg, i);
        if (*v == 0) *v = sbx__fields[i].zero;
    }
    if (cfg->grace_ms < 0) cfg->grace_ms = 0; /* from here on 0 is 0 */
}

static const char *sbx__io_name(sbx_io mode) {
    static const char *const names[] = {"SBX_DEFAULT", "SBX_DISCARD", "SBX_INHERIT", "SBX_MERGE",
                                        "SBX_FD",      "SBX_PIPE",    "SBX_STREAM"};
    return names[mode];
}

static int sbx__check_stream(sbx_result *r, const char *name, sbx_io mode, unsigned allowed, int fd,
                             int own) {
    if ((int)mode < 0 || mode > SBX_STREAM)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "%s = %d is not a mode of this stream", name,
                           (int)mode);
    if (!(allowed & 1u << mode))
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "%s = %s is not a mode of this stream", name,
                           sbx__io_name(mode));
    if (mode == SBX_FD && fcntl(fd, F_GETFD) < 0)
        return sbx__refuse(r, SBX_STEP_CONFIG, EBADF, "%s_fd = %d is not open", name, fd);
    if (mode == SBX_INHERIT && fcntl(own, F_GETFD) < 0)
        return sbx__refuse(r, SBX_STEP_CONFIG, EBADF,
                           "%s = SBX_INHERIT, but the host's descriptor %d is closed", name, own);
    return 1;
}

static int sbx__check_io(const sbx_config *cfg, int handle, sbx_result *r) {
    unsigned any = 1u << SBX_DEFAULT | 1u << SBX_DISCARD | 1u << SBX_INHERIT | 1u << SBX_FD;
    unsigned out = any | 1u << SBX_STREAM;
    unsigned long size = (unsigned long)cfg->input_size;
    int i;
    if (!sbx__check_stream(r, "in", cfg->in, any | 1u << SBX_PIPE, cfg->in_fd, 0) ||
        !sbx__check_stream(r, "out", cfg->out, out, cfg->out_fd, 1) ||
        !sbx__check_stream(r, "err", cfg->err, out | 1u << SBX_MERGE, cfg->err_fd, 2))
        return 0;

    if (cfg->in == SBX_PIPE && !handle)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL,
                           "in = SBX_PIPE needs sbx_start: here nobody could call sbx_write");
    if ((size && !cfg->input) || size > (size_t)-1 / 4)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "input_size = %lu, but input is %s", size,
                           cfg->input ? "not that large" : "NULL");
    if (cfg->input && cfg->in != SBX_DEFAULT)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "input is set, but in = %s does not read it",
                           sbx__io_name(cfg->in));

    for (i = 0; cfg->pass_fds && cfg->pass_fds[i] != -1; i++) {
        if (i == 64)
            return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL,
                               "pass_fds: more than 64; does it end with -1?");
        if (fcntl(cfg->pass_fds[i], F_GETFD) < 0)
            return sbx__refuse(r, SBX_STEP_CONFIG, EBADF, "pass_fds[%d] = %d is not open", i,
                               cfg->pass_fds[i]);
    }
    return 1;
}

static int sbx__check_made(const sbx_config *cfg, sbx_result *r) {
    if (cfg->command)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL,
                           "program and command are both set: set one of them");
    if (!cfg->program->dir || !cfg->program->argv || !cfg->program->argv[0])
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL,
                           "program is empty: sbx_build fills it in, sbx_discard empties it");
    return 1;
}

static int sbx__check_program(const sbx_config *cfg, sbx_fn fn, sbx_result *r) {
    const char *const *e;
    char shown[80];
    for (e = cfg->env; e && *e; e++)
        if (**e == '=' || !**e)
            return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL,
                               "env[%d] = \"%s\" is neither NAME=value nor NAME",
                               (int)(e - cfg->env), sbx__plain(shown, sizeof shown, *e));

    if (fn && (cfg->argv || cfg->command || cfg->program))
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "%s is set, but sbx_call runs a function",
                           cfg->argv      ? "argv"
                           : cfg->command ? "command"
                                          : "program");
    if (cfg->program) return sbx__check_made(cfg, r);
    if (!fn && !cfg->argv == !cfg->command)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "argv and command are %s: set one of them",
                           cfg->argv ? "both set" : "both NULL");
    if (cfg->argv && (!cfg->argv[0] || !cfg->argv[0][0]))
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "argv[0] = %s: it names the program",
                           cfg->argv[0] ? "\"\"" : "NULL");
    return 1;
}

static int sbx__check_nursery(const sbx__plan *p, sbx_result *r) {
    const char *why = NULL;
    if (!p->cfg.nursery) return 1;
    if (!sbx__call_owns(p->cfg.nursery))
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL,
                           "nursery was opened by another process, of which this one is a copy");
    if (!p->fn) why = "is for functions: sbx_call, sbx_start_call";
    else if (p->cfg.secrets) why = "cannot forget secrets: open it before there are any";
    else if (p->call.arg && !p->cfg.arg_size) why = "needs arg_size: arg is copied";
    else if (!p->call.arg && p->cfg.arg_size) why = "has arg_size, but arg is NULL";
    return why ? sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "nursery %s", why) : 1;
}

static int sbx__check_places(const sbx_config *cfg, sbx_result *r) {
    struct stat st;
    char shown[120];
    int error = 0;
    if (cfg->cwd && stat(cfg->cwd, &st) != 0) error = errno;
    else if (cfg->cwd && !S_ISDIR(st.st_mode)) error = ENOTDIR;
    if (error)
        return sbx__refuse(r, SBX_STEP_CWD, error, "cwd = \"%s\": %s",
                           sbx__plain(shown, sizeof shown, cfg->cwd), strerror(error));
    if ((int)cfg->contain < 0 || cfg->contain > SBX_CONTAIN_TREE)
        return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "contain = %d is not a containment",
                           (int)cfg->contain);
    return 1;
}

/* Changing the user of a process clears the dumpable flag of its memory: such a child must not
   share the host's. */
static int sbx__check_user(sbx__plan *p, sbx_result *r) {
    unsigned uid = p->cfg.uid, gid = p->cfg.gid;
    if (uid == (unsigned)geteuid()) uid = p->cfg.uid = 0;
    if (gid == (unsigned)getegid()) gid = p->cfg.gid = 0;
    p->apart = p->fn || uid || gid;
    if (!uid && !gid) return 1;
    if (geteuid() == 0 && uid != ~0u && gid != ~0u) return 1;
    return sbx__refuse(r, SBX_STEP_CONFIG, geteuid() == 0 ? EINVAL : EPERM, "%s = %u: %s",
                       uid ? "uid" : "gid", uid ? uid : gid,
                       geteuid() == 0 ? "no such number can be had"
                                      : "only a host that is root can become another user");
}

static int sbx__check(sbx__plan *p, sbx_result *r) {
    if (!sbx__check_program(&p->cfg, p->fn, r) || !sbx__check_limits(&p->cfg, r) ||
        !sbx__check_io(&p->cfg, p->handle, r) || !sbx__check_places(&p->cfg, r) ||
        !sbx__check_nursery(p, r))
        return 0;
    sbx__fill_in(&p->cfg);
    return sbx__check_user(p, r);
}

/* ==== plan: everything is resolved and allocated before a process exists ===================== */

/* Text that was put into the plan's memory, whose size sbx__plan_program knows, stays there. */
static const char *sbx__stays(sbx__plan *p) {
    const char *text = p->free_text;
    p->free_text += strlen(text) + 1;
    return text;
}

/* A relative path starts from the host's directory. NULL: that one is gone. */
static const char *sbx__absolute(sbx__plan *p, const char *path) {
    if (path[0] == '/') return path;
    if (!getcwd(p->free_text, PATH_MAX)) return NULL;
    strcat(strcat(p->free_text, "/"), path);
    return sbx__stays(p);
}

static int sbx__gone_cwd(sbx_result *r) {
    return sbx__refuse(r, SBX_STEP_CWD, errno, "the host's own directory cannot be named: %s",
                       strerror(errno));
}

/* A name with a slash is meant as a shell would that went to cwd first. */
static int sbx__find_from_cwd(sbx__plan *p, const char *name, sbx_result *r) {
    const char *from = name[0] != '/' && p->cfg.cwd ? sbx__absolute(p, p->cfg.cwd) : NULL;
    if (from) {
        strcat(strcat(strcpy(p->free_text, from), "/"), name);
        p->path = sbx__stays(p);
    } else if (name[0] == '/' || !p->cfg.cwd) {
        p->path = sbx__absolute(p, name);
    }
    return p->path ? 1 : sbx__gone_cwd(r);
}

/* The host's PATH counts, not the child's. Of a name with a slash exec itself tells best what is
   wrong with it. */
static int sbx__find(sbx__plan *p, const char *name, const char *search, sbx_result *r) {
    char shown[80];
    struct stat st;
    int error = ENOENT;
    if (strchr(name, '/')) return sbx__find_from_cwd(p, name, r);

    for (;; search++) {
        size_t n = strcspn(search, ":");
        memcpy(p->free_text, n ? search : ".", n ? n : 1);
        strcpy(p->free_text + (n ? n : 1), "/");
        strcat(p->free_text, name);
        if (stat(p->free_text, &st) == 0 && S_ISREG(st.st_mode)) {
            if (access(p->free_text, X_OK) == 0) {
                p->path = sbx__absolute(p, sbx__stays(p));
                return p->path ? 1 : sbx__gone_cwd(r);
            }
            error = EACCES;
        }
        search += n;
        if (!*search) break;
    }

    sbx__plain(shown, sizeof shown, name);
    return sbx__refuse(r, SBX_STEP_EXEC, error,
                       error == EACCES ? "'%s' is on PATH, but is not executable"
                                       : "'%s' was not found on PATH",
                       shown);
}

/* The entry of a list that sets the same name; NULL = none. */
static const char *sbx__find_name(const char *const *list, size_t count, const char *entry) {
    size_t n = strcspn(entry, "="), i;
    for (i = 0; list && i < count; i++)
        if (strncmp(list[i], entry, n) == 0 && (list[i][n] == '=' || !list[i][n])) return list[i];
    return NULL;
}

/* The host's variables if wanted, env on top; a bare name stands for the host's value. */
static void sbx__plan_env(sbx__plan *p) {
    static const char *const path_only[] = {"PATH", NULL};
    const char *const *host = (const char *const *)environ;
    const char *const *env = p->cfg.env;
    size_t inherited = p->cfg.inherit_env ? sbx__count(host) : 0, given, i, n = 0;
    if (!env && !p->cfg.inherit_env) env = path_only;
    given = sbx__count(env);

    for (i = 0; i < inherited; i++)
        if (!sbx__find_name(env, given, host[i])) p->envp[n++] = (char *)host[i];
    for (i = 0; env && i < given; i++) {
        const char *entry = env[i];
        if (!strchr(entry, '=')) entry = sbx__find_name(host, sbx__count(host), entry);
        if (entry) p->envp[n++] = (char *)entry;
    }
    p->envp[n] = NULL;
}

/* "'sleep'", "'make all'", "the function" */
static void sbx__plan_name(const sbx__plan *p, sbx *b) {
    const char *name = p->cfg.name, *slash;
    char shown[56];
    if (!name) name = p->cfg.command;
    if (!name && p->fn) {
        snprintf(b->who, sizeof b->who, "the function");
        return;
    }
    if (!name) {
        slash = strrchr(p->argv[0], '/');
        name = slash && slash[1] ? slash + 1 : p->argv[0];
    }
    sbx__plain(shown, sizeof shown, name);
    if (strlen(name) >= sizeof shown)
        strcpy(shown + sbx_utf8_prefix(shown, strlen(shown), strlen(shown) - 3), "...");
    snprintf(b->who, sizeof b->who, "'%s'", shown);
}

static int sbx__plan_program(sbx__plan *p, sbx *b, sbx_result *r) {
    const sbx_config *cfg = &p->cfg;
    const char *search = getenv("PATH");
    const char *const *words = cfg->program ? cfg->program->argv : cfg->argv;
    const char *name = p->fn ? "" : cfg->command ? "/bin/sh" : words[0];
    size_t stacks = p->fn && cfg->contain == SBX_CONTAIN_GROUP ? 0 : SBX__STACKS * SBX__STACK;
    size_t entries = sbx__count(cfg->env) + sbx__count((const char *const *)environ) + 4, room;
    size_t joined = cfg->program ? sbx__count(words) + sbx__count(cfg->argv) + 1 : 0;
    if (!search) search = "/usr/local/bin:/usr/bin:/bin";
    room = stacks + (entries + joined) * sizeof *p->envp + 4 * PATH_MAX + 2 * strlen(search) +
           3 * strlen(name) + (cfg->cwd ? 3 * strlen(cfg->cwd) : 0) + 64;
    p->memory = (char *)SBX_REALLOC(NULL, room);
    if (!p->memory) return sbx__no_memory(r, "a child");
    p->envp = (char **)(void *)(p->memory + stacks);
    p->free_text = (char *)(p->envp + entries + joined);

    p->shell[0] = "sh";
    p->shell[1] = "-c";
    p->shell[2] = cfg->command;
    p->argv = cfg->command ? p->shell : words;
    if (joined) p->argv = sbx__join((const char **)(p->envp + entries), words, cfg->argv);
    sbx__plan_env(p);
    sbx__plan_name(p, b);

    p->cwd = cfg->cwd;
    return p->fn ? 1 : sbx__find(p, name, search, r);
}

/* Returns what is in force: the host's own hard limit, if that is lower. */
static long long sbx__add_limit(sbx__plan *p, const char *name, int which, long long soft,
                                int above) {
    sbx__limit *limit = &p->limits[p->limit_count++];
    struct rlimit now;
    limit->name = name;
    limit->which = which;
    limit->value[0] = (unsigned long long)soft;
    limit->value[1] = (unsigned long long)(soft + above);
    if (getrlimit(SBX__RLIMIT(which), &now) != 0 || now.rlim_max == RLIM_INFINITY) return soft;
    if (limit->value[1] > now.rlim_max) limit->value[1] = now.rlim_max;
    if (limit->value[0] > now.rlim_max) limit->value[0] = now.rlim_max;
    return (long long)limit->value[0];
}

/* Memory of the tree is summed by the watch or a cgroup. Where there is neither, the address space
   of each process is limited instead. */
static int sbx__plan_memory(sbx_config *set, const sbx *b, sbx_result *r) {
    int summed = (b->enforced & (SBX_BY_WATCH | SBX_BY_CGROUP)) != 0;
    if (set->memory_bytes >= 0 && !summed &&
        (set->address_space_bytes < 0 || set->address_space_bytes > set->memory_bytes))
        set->address_space_bytes = set->memory_bytes;
    if (set->address_space_bytes < 0 || SBX__RLIMIT_AS >= 0) return 1;
    return sbx__refuse(
        r, SBX_STEP_LIMITS, ENOSYS, "%s = %lld: this system cannot limit a process's memory",
        set->memory_bytes >= 0 ? "memory_bytes" : "address_space_bytes", set->address_space_bytes);
}

/* The kernel counts all tasks of the user: those that are there already come on top. */
static int sbx__plan_processes(sbx_config *set, const sbx__plan *p, const sbx *b, sbx_result *r) {
    if (set->processes < 0) return 1;
    if (b->enforced & SBX_BY_CGROUP) {
        set->processes = -1;
        return 1;
    }
    if ((getuid() == 0 || geteuid() == 0) && !set->uid)
        return sbx__refuse(r, SBX_STEP_LIMITS, EPERM,
                           "processes = %lld does not bind root: give a cgroup, a uid, or run as "
                           "an ordinary user",
                           set->processes);
    set->processes += sbx__tree_tasks(p);
    if (p->cfg.policy && p->cfg.policy->kill_on_denied) set->processes++; /* who listens */
    return 1;
}

static int sbx__plan_limits(sbx__plan *p, sbx *b, sbx_result *r) {
    int summed = (b->enforced & (SBX_BY_WATCH | SBX_BY_CGROUP)) != 0;
    sbx_config set = p->cfg; /* what the kernel is told */
    size_t i;
    if (!sbx__plan_memory(&set, b, r) || !sbx__plan_processes(&set, p, b, r)) return 0;
    b->cfg.address_space_bytes = set.address_space_bytes;
    if (set.cpu_ms >= 0) /* of each process, in seconds: the backstop where the tree is summed */
        set.cpu_ms = (set.cpu_ms + 999) / 1000 + (summed ? 1 : 0);

    /* Not 0: under that a core_pattern that starts a program would still get the dump. */
    sbx__add_limit(p, "no core dumps", RLIMIT_CORE, 1, 0);
    for (i = 0; i < SBX__FIELDS; i++) {
        long long v = *sbx__value(&set, i), got;
        int which = sbx__fields[i].rlimit, is_cpu = which == RLIMIT_CPU;
        if (which < 0 || v < 0) continue;
        /* CPU time: the hard limit above the soft one, so that SIGXCPU comes first. */
        got = sbx__add_limit(p, sbx__fields[i].name, which, v, is_cpu);
        if (got < v && which != RLIMIT_NPROC && !is_cpu) *sbx__value(&b->cfg, i) = got;
        b->enforced |= sbx__fields[i].by;
    }

    b->enforced |= SBX_BY_SESSION | SBX_BY_RLIMIT_CORE;
    if (b->enforced & SBX_BY_RLIMIT_AS) b->seen.saw |= SBX_SAW_MEMORY_LIMIT;
    if (b->enforced & SBX_BY_RLIMIT_FSIZE) b->seen.saw |= SBX_SAW_FILE_LIMIT;
    return 1;
}

static int sbx__plan_stream(sbx__plan *p, sbx *b, int i, sbx_io mode, int fd) {
    int piped = mode == SBX_PIPE || mode == SBX_STREAM, *ours = &b->fd[i], *theirs = &p->fd[i];
    if (mode == SBX_DEFAULT && (i > 0 || p->cfg.input)) piped = 1;
    if (mode == SBX_INHERIT || mode == SBX_MERGE) return 1;
    if (mode == SBX_FD) return (p->fd[i] = sbx__copy_up(fd, p->low)) >= 0;
    if (!piped && p->cfg.policy)
        return (p->fd[i] = SBX__OWN_NULL) < 0; /* not on the host's mount */
    if (!piped) return (p->fd[i] = sbx__open_null(p->low)) >= 0;

    if (i == 0 && !sbx__pipe(theirs, ours, p->low)) return 0;
    if (i != 0 && !sbx__pipe(ours, theirs, p->low)) return 0;
    return sbx__nonblocking(*ours);
}

/* Copies, high enough that no number which the child hands out is taken. */
static int sbx__plan_passed(sbx__plan *p) {
    const int *from = p->cfg.pass_fds;
    int i, count = 0;
    while (from && from[count] != -1) count++;
    p->low = 3 + count;
    if (count == 0) return 1;
    p->pass = (int *)sbx__zalloc((size_t)count * sizeof *p->pass);
    if (!p->pass) {
        errno = ENOMEM;
        return 0;
    }
    for (i = 0; i < count; i++) {
        p->pass[i] = sbx__copy_up(from[i], p->low);
        if (p->pass[i] < 0) return 0;
        p->passed++;
    }
    return 1;
}

/* Who fails before exec says so here. An sbx_call has a way of its own already, and who shares the
   host's memory needs none. */
static int sbx__plan_report(sbx__plan *p, sbx *b) {
    if (p->report >= 0 || (SBX__LINUX && !p->apart)) return 1;
    return sbx__pipe(&b->fd[SBX__REPORT], &p->report, p->low) &&
           sbx__nonblocking(b->fd[SBX__REPORT]);
}

static int sbx__plan_streams(sbx__plan *p, sbx *b, sbx_result *r) {
    const sbx_config *cfg = &p->cfg;
    if (sbx__plan_stream(p, b, 0, cfg->in, cfg->in_fd) &&
        sbx__plan_stream(p, b, 1, cfg->out, cfg->out_fd) &&
        sbx__plan_stream(p, b, 2, cfg->err, cfg->err_fd) && sbx__plan_report(p, b) &&
        (!p->handle || sbx__open_door(&b->fd[SBX__CANCEL], &b->door)))
        return 1;
    return sbx__refuse(r, SBX_STEP_IO, errno, "no pipe, or no /dev/null, for the child: %s",
                       strerror(errno));
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

/* For the result of a function, and for the numbers of who enters a tree. */
static int sbx__plan_common(sbx__plan *p, sbx *b, sbx_result *r) {
    int ok = sbx__common_open(&b->common, SBX__RET_AT + p->call.ret_size);
    p->common = b->common;
    if (ok && (!p->cfg.nursery || b->common.file >= 0)) return 1; /* it has no mapping of ours */
    if (!ok) return sbx__no_memory(r, "the function's result");
    return sbx__refuse(r, SBX_STEP_IO, errno, "no file in memory for the function's result: %s",
                       strerror(errno));
}

/* A wing is asked only for what it is for. */
static int sbx__plan_all(sbx__plan *p, sbx *b, sbx_result *r) {
    const sbx_config *cfg = &p->cfg;
    int summed = cfg->memory_bytes >= 0 || cfg->cpu_ms >= 0;
    if (!sbx__plan_passed(p))
        return sbx__refuse(r, SBX_STEP_IO, errno, "no descriptors for pass_fds: %s",
                           strerror(errno));
    if (!sbx__plan_program(p, b, r)) return 0;
    if (cfg->contain != SBX_CONTAIN_GROUP && !sbx__tree_plan(p, b, r)) return 0;
    if (cfg->cgroup && !sbx__cgroup_plan(p, b, r)) return 0;
    if (cfg->policy && !sbx__policy_plan(p, b, r)) return 0;
    if (summed && !sbx__watch_plan(p, b, r)) return 0;
    if (!sbx__plan_limits(p, b, r)) return 0;
    if ((p->fn || (p->apart && p->in_tree)) && !sbx__plan_common(p, b, r)) return 0;
    if (p->fn) sbx__call_plan(p, b);
    return sbx__plan_streams(p, b, r) && sbx__plan_input(p, b, r);
}

/* Returns a box that may be half made if r->step says so; sbx__free_box takes either. */
SBX__APART sbx *sbx__plan_box(sbx__plan *p, sbx_result *r) {
    sbx *b = (sbx *)sbx__zalloc(sizeof *b);
    if (!b) {
        sbx__no_memory(r, "a box");
        return NULL;
    }
    b->cfg = p->cfg;
    b->timeout_ms = p->cfg.timeout_ms;
    b->is_call = p->fn != NULL;
    sbx__nothing_yet(p, b);
    sbx__plan_all(p, b, r);
    b->in_tree = p->in_tree;
    return b;
}

/* ==== child: before exec. Async-signal-safe calls only: no memory, no locks, no stdio ======== */

/* On Linux mostly by syscall(), or through a pointer: functions that the host has not called yet
   the dynamic linker would look up in every forked child anew, for 10 us each. */

static void sbx__fill_failure(sbx__failure *f, sbx_step step, int which) {
    memset(f, 0, sizeof *f);
    f->step = step;
    f->error = errno;
    f->which = which;
}

static void sbx__quit_with(int report, sbx_step step, int which) {
    sbx__failure failure;
    sbx__fill_failure(&failure, step, which);
    sbx__quit(write(report, &failure, sizeof failure) == (ssize_t)sizeof failure ? 127 : 126);
}

/* /dev/null as the child sees it, opened before a policy may forbid that. */
static sbx_step sbx__own_null(sbx__plan *p) {
    int i, wanted = 0;
    for (i = 0; i < 3; i++) wanted |= p->fd[i] == SBX__OWN_NULL;
    if (wanted && p->null < 0) p->null = sbx__open_null(p->low);
    return wanted && p->null < 0 ? SBX_STEP_IO : SBX_STEP_NONE;
}

/* When nothing is left to do that only root can. */
static sbx_step sbx__change_user(const sbx__plan *p, int *which) {
    if (!p->cfg.uid && !p->cfg.gid) return SBX_STEP_NONE;
    *which = 1;
    if (!sbx__set_user(p->cfg.uid, p->cfg.gid)) return SBX_STEP_SESSION;
    *which = 0;
    return SBX_STEP_NONE;
}

/* Session, descriptors, directory. No source is below p->low, so that none is overwritten before it
   is handed out: the report goes to p->low last. */
static sbx_step sbx__become(const sbx__plan *p, int *report) {
    int i;
    if (!sbx__new_session()) return SBX_STEP_SESSION;

    for (i = 0; i < 3; i++) {
        int from = i == 2 && p->cfg.err == SBX_MERGE ? 1 : p->fd[i];
        if (from == SBX__OWN_NULL) from = p->null;
        if (from >= 0 && sbx__dup(from, i, 0) < 0) return SBX_STEP_IO;
        if (from < 0 && fcntl(i, F_SETFD, 0) < 0) return SBX_STEP_IO;
    }
    for (i = 0; i < p->passed; i++)
        if (sbx__dup(p->pass[i], 3 + i, 0) < 0) return SBX_STEP_IO;
    if (*report >= 0 && sbx__dup(*report, p->low, O_CLOEXEC) < 0) return SBX_STEP_IO;
    if (*report >= 0) *report = p->low;
    sbx__close_from(*report < 0 ? p->low : p->low + 1);

    return p->cwd && chdir(p->cwd) != 0 ? SBX_STEP_CWD : SBX_STEP_NONE;
}

/* After the steps that need descriptors and processes themselves. The threads of a function may
   need the signals 32 and 33, which belong to the libc. */
static sbx_step sbx__limit_self(const sbx__plan *p, int *which) {
    for (*which = 0; *which < p->limit_count; ++*which)
        if (!sbx__set_limit(&p->limits[*which])) return SBX_STEP_LIMITS;
    sbx__reset_signals(p->fn ? 31 : SBX__SIGNALS);
    return SBX_STEP_NONE;
}

static sbx_step sbx__exec(const sbx__plan *p) {
    int tries;
    for (tries = 0; tries < 500; tries++) {
        execve(p->path, (char *const *)p->argv, p->envp);
        if (errno != ETXTBSY) break;
        sbx__nap(); /* somebody has just written it, and is about to close it */
    }
    return SBX_STEP_EXEC;
}

static int sbx__child(void *arg) {
    sbx__plan *p = (sbx__plan *)arg;
    int report = p->report, which = 0;
    sbx_step failed = SBX_STEP_NONE;
    p->shares = 1;
    if (p->in_tree) failed = sbx__tree_child(p, &which);
    if (!failed) failed = sbx__own_null(p);
    if (!failed && p->cfg.cgroup) failed = sbx__cgroup_child(p);
    if (!failed && p->cfg.cpu_ms >= 0) sbx__watch_child(p);
    if (!failed) failed = sbx__change_user(p, &which);
    if (!failed && p->cfg.policy) failed = sbx__policy_child(p, &which);
    if (!failed && p->one_table && !sbx__own_table(p->cfg.policy != NULL)) failed = SBX_STEP_IO;
    if (!failed && p->in_tree && p->apart) failed = sbx__tree_part(p);
    if (!p->fn) sbx__arm_deadline(p->deadline); /* killed earlier it could leave something open */
    if (!failed && p->fn) failed = sbx__call_child(p);
    if (!failed) failed = sbx__become(p, &report);
    if (!failed) failed = sbx__limit_self(p, &which);

    if (!failed && p->fn) sbx__quit(sbx__call_run(p));
    if (!failed) failed = sbx__exec(p);
    if (report >= 0) sbx__quit_with(report, failed, which);
    sbx__fill_failure(&p->failure, failed, which);
    sbx__name_failure(&p->failure);
    sbx__quit(127);
    return 0;
}

/* ==== spawn: a process, and why it could not start =========================================== */

/* All signals are blocked meanwhile, so that no handler of the host runs in the child. */
static pid_t sbx__fork(sbx__plan *p, sbx *b) {
    sigset_t all, before;
    pid_t pid;
    int error;
    sigfillset(&all);
    SBX__SIGMASK(SIG_SETMASK, &all, &before);

    if (p->in_tree) {
        pid = sbx__tree_spawn(p, b);
    } else if (p->apart) {
        pid = sbx__call_fork(p, sbx__child);
    } else {
        pid = sbx__start_child(p, sbx__child, &b->fd[SBX__EXIT]);
    }

    error = errno;
    SBX__SIGMASK(SIG_SETMASK, &before, NULL);
    if (pid > 0 && b->fd[SBX__EXIT] < 0) b->fd[SBX__EXIT] = sbx__open_pidfd(pid);
    b->fd[SBX__EXIT] = sbx__move_up(b->fd[SBX__EXIT], 3);
    if (pid < 0) errno = error;
    return pid;
}

static void sbx__find_top(sbx *b) {
    int i;
    for (i = 0; i < SBX__FDS; i++)
        if (b->fd[i] > b->top_fd) b->top_fd = b->fd[i];
}

static int sbx__no_process(const sbx__plan *p, int error, sbx_result *r) {
    if (p->cfg.nursery && error == ESRCH)
        return sbx__refuse(r, SBX_STEP_SPAWN, error, "the nursery has ended: open another one");
    return sbx__refuse(r, SBX_STEP_SPAWN, error, "no new process: %s", strerror(error));
}

static int sbx__spawn(sbx__plan *p, sbx *b, sbx_result *r) {
    int i;
    b->started = b->ended = b->last_seen = sbx__now();
    b->deadline = b->cfg.timeout_ms < 0 ? SBX__NEVER : b->started + b->cfg.timeout_ms * 1000;
    p->deadline = b->deadline;
    b->pid = sbx__fork(p, b);
    if (b->pid < 0 && !b->failure.step) return sbx__no_process(p, errno, r);

    b->begun = b->left_at = sbx__now();
    b->late = b->begun >= b->deadline;
    for (i = 0; i < 3; i++) sbx__close(&p->fd[i]);
    sbx__close(&p->report);
    if (p->cfg.policy) sbx__policy_begin(p, b);
    if (p->cfg.cpu_ms >= 0) sbx__watch_begin(p, b);
    if (b->wing_at == SBX__NEVER) b->wing_at = b->begun + SBX__SHORT;
    sbx__find_top(b);
    if (b->pid <= 0) { /* it could not enter the tree: b->failure says why */
        b->pid = 0;
        b->state = SBX__ENDED;
        return 1;
    }

    if (b->fd[SBX__IN] >= 0 && b->input_left > SBX__CHUNK) sbx__grow_pipe(b->fd[SBX__IN]);
    if (b->fd[SBX__EXIT] < 0) {
        b->look_at = b->started;
        b->look_step = 100;
    }
    return 1;
}

/* A record that a child has written, in one piece, before it began. 1 = here it is, 0 = there is
   none yet, -1 = there will be none. */
static int sbx__get_record(int fd, sbx__failure *f) {
    size_t got = 0;
    int tries = 0;
    while (got < sizeof *f) {
        ssize_t n = read(fd, (char *)f + got, sizeof *f - got);
        if (n < 0 && errno == EAGAIN && got == 0) return 0;
        if (n == 0 || (n < 0 && errno != EINTR && ++tries == 100)) return -1;
        if (n > 0) got += (size_t)n;
    }
    return 1;
}

/* A failure, an empty record if a function has begun, or the end: exec closes the other end. */
static void sbx__read_report(sbx *b) {
    sbx__failure f;
    int got = b->fd[SBX__REPORT] < 0 ? 0 : sbx__get_record(b->fd[SBX__REPORT], &f);
    if (got == 0) return;
    if (got > 0 && f.step) b->failure = f;
    b->call.begun = got > 0 && !f.step;
    sbx__drop(b, SBX__REPORT);
}

static void sbx__explain_exec(const sbx__plan *p, const sbx__failure *f, sbx_result *r) {
    const char *why = strerror(f->error);
    char shown[120];
    struct stat st;
    int exists = stat(p->path, &st) == 0;
    if (f->error == ENOENT && exists) why = "the interpreter or loader it names is missing";
    if (f->error == EACCES && exists) why = "there is no permission to execute it";
    if (f->error == EACCES && exists && S_ISDIR(st.st_mode)) why = "it is a directory";
    if (f->error == ENOEXEC) why = "no program for this machine, and no script with a #! line";
    if (f->error == ETXTBSY) why = "somebody has it open for writing";
    sbx__refuse(r, f->step, f->error, "'%s' cannot be run: %s",
                sbx__plain(shown, sizeof shown, p->path), why);
}

SBX__APART void sbx__explain(const sbx__plan *p, const sbx__failure *f, sbx_result *r) {
    const char *why = strerror(f->error), *what = "its descriptors", *where = "", *way = "";
    char shown[120], part[160];
    switch (f->step) {
    case SBX_STEP_CWD:
        sbx__refuse(r, f->step, f->error, "cwd = \"%s\": %s",
                    sbx__plain(shown, sizeof shown, p->cwd), why);
        return;
    case SBX_STEP_EXEC: sbx__explain_exec(p, f, r); return;
    case SBX_STEP_SPAWN: sbx__no_process(p, f->error, r); return;
    case SBX_STEP_CONTAIN: sbx__tree_refuse(p, f, r); return;
    case SBX_STEP_SESSION: what = f->which ? "its user" : "a session of its own"; break;
    case SBX_STEP_LIMITS: what = p->limits[(unsigned)f->which % SBX__LIMITS].name; break;
    case SBX_STEP_CGROUP: what = "the cgroup"; break;
    case SBX_STEP_MEMORY: what = "memory for the function"; break;
    case SBX_STEP_POLICY:
        what = sbx__policy_part(p, f->which, part, sizeof part);
        if (f->error == ESTALE) why = "it was replaced meanwhile";
        else if (p->in_tree && strncmp(what, "mounts", 6) == 0) {
            way = "; contain = SBX_CONTAIN_GROUP needs none";
            if (f->error == ENOSPC && f->which == 0) why = "user.max_mnt_namespaces allows no more";
            if (f->error == EPERM && strstr(what, "(/proc)"))
                why = "parts of the host's /proc are hidden, as in containers";
        }
        where = "policy: ";
        break;
    default: break;
    }

    sbx__refuse(r, f->step, f->error, "%s%s could not be set up in the child: %s%s", where, what,
                why, way);
}

static void sbx__free_plan(sbx__plan *p) {
    int i;
    for (i = 0; i < 3; i++) sbx__close(&p->fd[i]);
    for (i = 0; i < p->passed; i++) sbx__close(&p->pass[i]);
    if (p->one_table) sbx__close(&p->null); /* else it is a number of the child's own table */
    sbx__close(&p->report);
    if (p->cfg.contain != SBX_CONTAIN_GROUP) sbx__tree_free_plan(p);
    if (p->cfg.cgroup) sbx__cgroup_free_plan(p);
    if (p->cfg.policy) sbx__policy_free_plan(p);
    SBX_FREE(p->pass);
    SBX_FREE(p->memory);
}

/* Waits until the program has begun, or is known not to. */
static int sbx__has_begun(sbx__plan *p, sbx *b, sbx_result *r) {
    int whole = p->fn && !p->handle; /* how it began an sbx_call tells only at its end */
    if (b->state != SBX__ENDED) {
        sbx__read_report(b);
        if (!p->apart && !p->shares) sbx__proc_await_copy(b, &p->failure);
        if (p->failure.step) b->failure = p->failure;
        sbx__turn(b, 1u << SBX__IN, b->begun);
    }
    if (p->handle) b->asked = 1u << SBX__OUT | 1u << SBX__ERR; /* no host could have read yet */
    while (b->state != SBX__ENDED && (whole || b->fd[SBX__REPORT] >= 0) && !b->failure.step)
        sbx__wait_for_begin(b);
    b->asked = 0;
    if (whole) sbx__call_failure(b);
    if (p->fn && p->handle && !b->call.begun && !b->failure.step && !b->stopping) {
        b->failure.step = SBX_STEP_SPAWN; /* it ended without a word, and before it began */
        b->failure.error = ECHILD;
    }
    if (!b->failure.step) return 1;

    if (b->state == SBX__RUNNING) sbx__kill_all(b);
    while (b->state != SBX__ENDED) sbx__wait(&b, 1, SBX__NEVER);
    sbx__explain(p, &b->failure, r);
    return 0;
}

/* ==== loop: one turn of a box; read, feed, stop, leave; waiting for many ===================== */

/* ---- read: what the child writes, up to a cap ---- */

static int sbx__is_streamed(const sbx *b, int i) {
    return (i ? b->cfg.err : b->cfg.out) == SBX_STREAM;
}

/* The bytes that count for the cap of a stream. stderr shares it unless it has its own. Those in a
   ring count at the end only: beside one, on_output has had what was announced. */
static long long sbx__counts(const sbx *b, int i) {
    const sbx__stream *s = &b->stream[i], *other = &b->stream[!i];
    int announced = sbx__is_streamed(b, i) && b->cfg.truncate_output >= SBX_KEEP_LAST;
    if (announced) return s->announced + (b->cfg.error_bytes ? 0 : other->announced);
    return s->counted + (b->cfg.error_bytes ? 0 : other->counted);
}

/* How many more bytes of this stream may be kept; past that they are dropped, or go round in the
   ring. */
static long long sbx__left(const sbx *b, int i) {
    int own = b->cfg.error_bytes != 0;
    long long cap = i == 1 && own ? b->cfg.error_bytes : b->cfg.output_bytes;
    long long used = sbx__counts(b, i);
    if (cap < 0) return SBX_MAX_BYTES;
    if (b->cfg.truncate_output == SBX_KEEP_LAST && !sbx__is_streamed(b, i)) cap = 0;
    if (b->cfg.truncate_output == SBX_KEEP_ENDS && !sbx__is_streamed(b, i)) cap /= 2;
    return cap > used ? cap - used : 0;
}

/* How many of the last bytes are kept in the ring; 0 = none are. */
static size_t sbx__ring_cap(const sbx *b, int i) {
    long long cap = i == 1 && b->cfg.error_bytes != 0 ? b->cfg.error_bytes : b->cfg.output_bytes;
    if (cap < 0 || b->cfg.truncate_output < SBX_KEEP_LAST || sbx__is_streamed(b, i)) return 0;
    if (b->cfg.truncate_output == SBX_KEEP_ENDS) cap -= cap / 2;
    return cap < (long long)((size_t)-1 / 4) ? (size_t)cap : (size_t)-1 / 4;
}

/* Room behind the kept bytes for one more read: doubling, at most one chunk past the cap. */
static size_t sbx__room(sbx *b, int i, size_t want) {
    sbx__stream *s = &b->stream[i];
    long long left = sbx__left(b, i);
    size_t end = s->taken + s->size, least = s->busy || !left ? SBX__CHUNK : SBX__PAGE;
    size_t size = s->capacity;
    char *data;
    if (least < want) least = want < SBX__CHUNK ? want : SBX__CHUNK;
    least += end + 1;
    if (s->failed) return 0;
    if (s->taken > 0 && (s->size == 0 || (s->taken >= s->size && size < least))) {
        memmove(s->data, s->data + s->taken, s->size); /* sbx_read has made room at the front */
        least -= s->taken;
        end -= s->taken;
        s->taken = 0;
    }
    if (size >= least) return size - end - 1;

    size = size ? 2 * size : 2 * SBX__PAGE;
    if (size < least) size = least;
    if (left < (long long)(size - end)) size = end + (size_t)left + SBX__CHUNK + 1;
    if (size < least) size = least;
    data = (char *)SBX_REALLOC(s->data, size);
    if (!data) return 0;
    s->data = data;
    s->capacity = size;
    return size - end - 1;
}

static char *sbx__ring_start(const sbx__stream *s) { return s->data + s->taken + s->size; }

/* Room in the ring, always a chunk in one piece. It grows to the cap and some chunks; then the
   oldest bytes are written over. Between ring_at and ring_end stand those of the last round. */
static size_t sbx__ring_room(sbx *b, int i) {
    sbx__stream *s = &b->stream[i];
    size_t most = sbx__ring_cap(b, i) + 4 * SBX__CHUNK, size = 2 * s->ring_size;
    char *data;
    if (s->failed) return 0;
    if (s->ring_size >= s->ring_at + SBX__CHUNK) return s->ring_size - s->ring_at;

    if (s->ring_size < most && s->ring_end == 0) {
        if (size < 2 * SBX__CHUNK) size = 2 * SBX__CHUNK;
        if (size > most) size = most;
        data = (char *)SBX_REALLOC(s->data, s->taken + s->size + size + 1);
        if (!data) return 0;
        s->data = data;
        s->capacity = s->taken + s->size + size + 1;
        s->ring_size = size;
        if (size >= s->ring_at + SBX__CHUNK) return size - s->ring_at;
    }
    s->ring_end = s->ring_at;
    s->ring_at = 0;
    return s->ring_size;
}

/* How many bytes the ring still knows. */
static size_t sbx__ring_holds(const sbx__stream *s) {
    return s->ring_end > s->ring_at ? s->ring_end : s->ring_at;
}

static void sbx__reverse(char *text, size_t n) {
    size_t i;
    for (i = 0; i < n / 2; i++) {
        char c = text[i];
        text[i] = text[n - 1 - i];
        text[n - 1 - i] = c;
    }
}

/* The last n bytes of the ring, in order and in place: there is no memory for a second copy. */
static void sbx__ring_straighten(sbx__stream *s, size_t n) {
    char *ring = sbx__ring_start(s);
    size_t fresh = n < s->ring_at ? n : s->ring_at, old = n - fresh;
    if (n == 0) return;
    memmove(ring, ring + s->ring_at - fresh, fresh);
    if (old == 0) return;
    memmove(ring + fresh, ring + s->ring_end - old, old);
    sbx__reverse(ring, fresh);
    sbx__reverse(ring + fresh, old);
    sbx__reverse(ring, n);
}

/* For on_output. Never past the cap, which a ring does not know: what was announced counts. */
static void sbx__announce(sbx *b, int i, const char *data, size_t n) {
    long long cap = i == 1 && b->cfg.error_bytes != 0 ? b->cfg.error_bytes : b->cfg.output_bytes;
    long long left = cap - b->stream[i].announced;
    if (!b->cfg.error_bytes) left -= b->stream[!i].announced;
    if (sbx__ring_cap(b, i) && (long long)n > left) n = (size_t)left;
    b->stream[i].announced += (long long)n;
    if (n == 0 || !b->cfg.on_output || b->seen.saw & SBX_SAW_CANCEL) return;
    if (b->cfg.on_output(b->cfg.user, i ? SBX_STDERR : SBX_STDOUT, data, n) == 0) return;
    b->cfg.on_output = NULL;
    sbx__stop(b, SBX_SAW_CANCEL);
}

/* The host has no memory, or a read failed: from here on nothing is kept, so that there is no hole
   that nobody knows of. */
static void sbx__fail_stream(sbx *b, sbx__stream *s, int error) {
    s->failed = error;
    s->truncated = 1;
    b->seen.saw |= SBX_SAW_BLIND;
}

/* Where fresh bytes stand: behind the kept ones; in the ring; where they are announced and not kept
   (SBX_STREAM); or nowhere, because the host has no memory. */
enum { SBX__BEHIND, SBX__IN_RING, SBX__PASSING, SBX__NOWHERE };

/* What the program says last may tell which limit it met, wherever the bytes go. Between one and
   two times SBX__SAID are kept. */
static void sbx__listen(sbx *b, const char *data, size_t n) {
    if (!(b->seen.saw & (SBX_SAW_MEMORY_LIMIT | SBX_SAW_FILE_LIMIT))) return;
    if (!b->said) b->said = (char *)SBX_REALLOC(NULL, 2 * SBX__SAID);
    if (!b->said) return;
    if (n > SBX__SAID) data += n - SBX__SAID;
    if (n > SBX__SAID) n = SBX__SAID;
    if (b->said_size + n > 2 * SBX__SAID) {
        memmove(b->said, b->said + b->said_size - SBX__SAID, SBX__SAID);
        b->said_size = SBX__SAID;
    }
    memcpy(b->said + b->said_size, data, n);
    b->said_size += n;
}

/* n fresh bytes: keep what the cap allows, tell the callback, judge. */
static void sbx__take(sbx *b, int i, const char *data, size_t n, int kind) {
    sbx__stream *s = &b->stream[i];
    size_t keep = n;
    long long left = s->truncated ? 0 : sbx__left(b, i); /* nothing is kept behind a hole */
    s->total += n;
    if (i == (b->cfg.err != SBX_MERGE)) sbx__listen(b, data, n);
    if (kind == SBX__IN_RING) {
        s->ring_at += n;
        s->ring_total += n;
        sbx__announce(b, i, data, n);
        return;
    }
    if (kind == SBX__NOWHERE) {
        sbx__fail_stream(b, s, ENOMEM);
        left = 0;
    }

    if ((long long)keep > left) keep = (size_t)left;
    s->counted += (long long)keep;
    if (kind == SBX__BEHIND) s->size += keep;
    if (kind == SBX__BEHIND && keep < n && sbx__ring_cap(b, i)) { /* the rest begins the ring */
        s->ring_size = s->capacity - s->taken - s->size - 1;
        s->ring_at = n - keep;
        s->ring_total = n - keep;
    }
    sbx__announce(b, i, data, sbx__ring_cap(b, i) ? n : keep); /* which may call sbx_read */
    if (keep == n || s->ring_size) return;

    s->truncated = 1;
    if (!b->cfg.truncate_output) sbx__stop(b, SBX_SAW_OUTPUT_CAP);
}

/* Where the next bytes go. Of a pipe in packet mode (O_DIRECT, which the child can set) the kernel
   throws away what does not fit in the read: so there is room for all that waits, or a page at the
   least. For a stream that has not said anything yet nothing is allocated. */
static char *sbx__place(sbx *b, int i, size_t want, char spare[SBX__PAGE], size_t *room,
                        int *kind) {
    sbx__stream *s = &b->stream[i];
    int streamed = sbx__is_streamed(b, i);
    if (!streamed && (s->ring_size || (sbx__ring_cap(b, i) && sbx__left(b, i) == 0))) {
        *kind = SBX__IN_RING;
        *room = sbx__ring_room(b, i);
        if (*room) return sbx__ring_start(s) + s->ring_at;
    } else if (s->total > 0 || want > SBX__PAGE) {
        *kind = streamed ? SBX__PASSING : SBX__BEHIND;
        *room = sbx__room(b, i, want);
        if (*room) return s->data + s->taken + s->size;
    }
    *kind = streamed ? SBX__PASSING : SBX__NOWHERE;
    *room = SBX__PAGE;
    return spare;
}

/* The first bytes of a stream came before there was room for them. */
static char *sbx__adopt(sbx *b, int i, char *data, size_t n, int *kind) {
    sbx__stream *s = &b->stream[i];
    if (*kind != SBX__NOWHERE || s->failed || sbx__room(b, i, n) < n) return data;
    *kind = SBX__BEHIND;
    return (char *)memcpy(s->data + s->taken + s->size, data, n);
}

static void sbx__end_stream(sbx *b, int k) {
    sbx__drop(b, k);
    if (b->look_at == SBX__NEVER) return;
    b->look_at = 0; /* the end of the program is near */
    b->look_step = 50;
}

static size_t sbx__waiting(int fd) {
    int bytes = 0;
    return fd >= 0 && ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0 ? (size_t)bytes : 0;
}

/* Reads what is there, at most about one full pipe, so that no stream starves the other. A reader
   that has taken everything and asks for more gets what the cap allows. It is about to take that,
   too: the rest, and the other stream if it shares the cap, waits in the pipe for the next poll. If
   the cap was filled by a stream that nobody asks for, that would be for ever. */
static void sbx__read(sbx *b, int k) {
    size_t budget = b->state < SBX__LEAVING ? SBX__BIG_PIPE : 16 * SBX__BIG_PIPE, room;
    int i = k - SBX__OUT, kind;
    sbx__stream *s = &b->stream[i];
    int patient = b->asked & (1u << SBX__OUT | 1u << SBX__ERR) && !b->pressed;
    char spare[SBX__PAGE];
    b->rest &= ~(1u << k);
    if (b->state >= SBX__LEAVING && sbx__waiting(b->fd[k]) > budget)
        budget = sbx__waiting(b->fd[k]); /* the child has made the pipe that large */
    while (b->fd[k] >= 0) {
        size_t waiting = s->truncated ? 0 : sbx__waiting(b->fd[k]); /* 0: what comes is dropped */
        char *place = sbx__place(b, i, waiting, spare, &room, &kind);
        long long left = patient ? sbx__left(b, i) : SBX_MAX_BYTES;
        int cut;
        ssize_t n;
        if (left < SBX__PAGE && sbx__counts(b, i) > 0 && sbx__readable(b)) {
            b->rest |= 1u << k;
            return;
        }
        if (room > budget && budget >= SBX__PAGE) room = budget;
        if ((long long)room > left && left >= SBX__PAGE) room = (size_t)left;
        n = read(b->fd[k], place, waiting && waiting < room ? waiting : room);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        cut = n > 0 && waiting > room && sbx__waiting(b->fd[k]) < waiting - (size_t)n;
        if (n < 0) sbx__fail_stream(b, s, errno);
        if (n <= 0) {
            sbx__end_stream(b, k);
            return;
        }

        place = sbx__adopt(b, i, place, (size_t)n, &kind);
        sbx__take(b, i, place, (size_t)n, kind);
        if (cut) sbx__fail_stream(b, s, EMSGSIZE); /* a packet, of which the rest is lost */
        if (!s->busy && s->total >= SBX__CHUNK) { /* fewer, larger reads */
            sbx__grow_pipe(b->fd[k]);
            s->busy = 1;
        }
        /* That was all, unless the pipe is in packet mode: at the end it is read to the last. */
        if ((size_t)n < room && b->state < SBX__LEAVING) return;
        budget -= (size_t)n < budget ? (size_t)n : budget;
        if (budget == 0) return;
    }
}

/* For sbx_read, when the stream has ended and the first bytes are taken: the last ones. */
static void sbx__unroll(sbx *b, int i) {
    sbx__stream *s = &b->stream[i];
    size_t tail = sbx__ring_holds(s), most = sbx__ring_cap(b, i);
    if (!s->ring_size || s->size > 0) return;
    if (tail > most) tail = most;
    sbx__ring_straighten(s, tail);
    if (s->ring_total > tail) s->truncated = 1;
    s->size = tail;
    s->ring_size = s->ring_at = s->ring_end = 0;
    s->ring_total = 0;
    s->unrolled = 1;
}

/* For sbx_read: the oldest bytes that are kept leave the box. */
static size_t sbx__take_out(sbx__stream *s, void *to, size_t room) {
    size_t n = s->size < room ? s->size : room;
    if (n) memcpy(to, s->data + s->taken, n);
    s->taken += n;
    s->size -= n;
    s->counted -= s->counted < (long long)n ? s->counted : (long long)n;
    if (s->size == 0 && !s->ring_size) s->taken = 0;
    return n;
}

/* ---- feed ---- */

/* write() to a pipe nobody reads raises SIGPIPE: held back in this thread, and taken away again. */
static ssize_t sbx__write_held(int fd, const void *data, size_t size) {
    sigset_t only, before, pending;
    int error, was_pending, number;
    ssize_t n;
    sigemptyset(&only);
    sigaddset(&only, SIGPIPE);
    SBX__SIGMASK(SIG_BLOCK, &only, &before);
    was_pending = sigismember(&before, SIGPIPE); /* if it was not blocked, it cannot be pending */
    if (was_pending) {
        sigpending(&pending);
        was_pending = sigismember(&pending, SIGPIPE);
    }

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

static ssize_t sbx__write_quietly(int fd, const void *data, size_t size) {
    ssize_t n;
    do n = sbx__write_unsignalled(fd, data, size);
    while (n < 0 && errno == EINTR);
    if (n >= 0 || errno == EAGAIN || errno == EPIPE || errno == ENOMEM) return n;
    return sbx__write_held(fd, data, size);
}

static void sbx__feed(sbx *b) {
    size_t size = b->input_left < SBX__BIG_PIPE ? b->input_left : SBX__BIG_PIPE;
    ssize_t n = 0;
    b->asked &= ~(1u << SBX__IN);
    if (b->cfg.in == SBX_PIPE || b->fd[SBX__IN] < 0) return;
    if (size) n = sbx__write_quietly(b->fd[SBX__IN], b->input, size);
    if (n < 0 && errno == EAGAIN) return;

    if (n < 0 && errno != EPIPE) { /* the child waits for bytes that will not come */
        b->input_failed = errno;
        b->seen.saw |= SBX_SAW_BLIND;
    }
    if (n < 0) n = (ssize_t)b->input_left; /* EPIPE: the child does not want the rest */
    b->input += n;
    b->input_left -= (size_t)n;
    if (b->input_left == 0) sbx__drop(b, SBX__IN);
}

/* ---- stop: SIGTERM, grace, SIGKILL ---- */

/* To the program's group. By number that is sure while somebody of the group is left. */
static int sbx__send(sbx *b, int number) {
    int sent = sbx__signal_group_by_pidfd(b->fd[SBX__EXIT], number);
    if (sent < 0 && !b->alone) sent = kill(-b->pid, number) == 0;
    if (sent > 0 || b->state != SBX__RUNNING || b->collected) return sent > 0;
    if (sbx__pidfd_signal(b->fd[SBX__EXIT], number, 0) > 0) return 1; /* it has no group yet */
    return kill(b->pid, number) == 0;
}

/* The group first: fewer runners compete with the end of pid 1. */
static void sbx__kill_all(sbx *b) {
    sbx__send(b, SIGKILL);
    if (b->in_tree) sbx__tree_kill(b);
    b->kill_at = SBX__NEVER;
    if (b->stuck_at != SBX__NEVER) return;
    b->stuck_at = sbx__now() + SBX__STUCK_WAIT;
    b->starve_at = sbx__now() + SBX__STARVE_WAIT;
}

static int sbx__is_begun(sbx *b) {
    if (b->fd[SBX__REPORT] < 0) return !b->is_call || sbx__call_begun(b);
    sbx__read_report(b);
    return b->fd[SBX__REPORT] < 0;
}

/* Everybody gets it. A stopped process takes no SIGTERM: SIGCONT goes with it. A child that has not
   begun would forget it with the signals of the host's group (sbx__drop_pending): it waits. */
static void sbx__tell(sbx *b) {
    b->untold = !sbx__is_begun(b);
    if (b->untold) {
        b->look_at = sbx__now() + SBX__BEGIN_LOOK;
        return;
    }
    if (b->in_tree && sbx__tree_signal(b, SIGTERM) && sbx__tree_signal(b, SIGCONT)) return;
    sbx__send(b, SIGTERM);
    sbx__send(b, SIGCONT);
}

/* The reason is noted before the signal goes out, and only the first one counts. */
static void sbx__stop(sbx *b, unsigned reason) {
    if (b->stopping && reason & (SBX_SAW_MEMORY_SUM | SBX_SAW_DENIED) && b->kill_at != SBX__NEVER)
        b->kill_at = 0; /* no more grace */
    if (b->stopping) return;
    b->stopping = 1;
    b->seen.saw |= reason;
    if (b->state != SBX__RUNNING) return; /* it ended by itself while its last bytes were read */
    b->killed = !sbx__look(b); /* it may have ended by itself, and nobody has seen that yet */
    if (b->cfg.grace_ms == 0 || reason & (SBX_SAW_MEMORY_SUM | SBX_SAW_DENIED)) {
        sbx__kill_all(b); /* a hog would use the grace to grow */
        return;
    }

    b->kill_at = sbx__now() + b->cfg.grace_ms * 1000;
    sbx__tell(b);
}

/* ---- leave: the program has ended; collect what it left behind ---- */

static void sbx__note_status(sbx *b, int exited, int value) {
    if (exited) b->seen.exit_code = value;
    else b->seen.signal = value;
}

/* The host collected the program, or ignores SIGCHLD. 1 = its status is known all the same, or will
   never be. */
static int sbx__look_behind(sbx *b) {
    int status = 0, known = sbx__status_by_pidfd(b->fd[SBX__EXIT], &status);
    b->unowned++;
    b->collected = 1;
    if (known == 0 && b->unowned < 20) return 0; /* not at once */
    if (known <= 0) b->seen.saw |= SBX_SAW_NO_STATUS;
    else if (WIFEXITED(status)) sbx__note_status(b, 1, WEXITSTATUS(status));
    else sbx__note_status(b, 0, WTERMSIG(status));
    return 1;
}

/* Not that it stopped, which shows if PTRACE_TRACEME had made the host its tracer. */
static int sbx__is_end(int code) {
    return code == CLD_EXITED || code == CLD_KILLED || code == CLD_DUMPED;
}

/* Has the program ended? Looks without collecting, so that its number stays taken. */
static int sbx__look(sbx *b) {
    int flags = WEXITED | WNOHANG | WNOWAIT | SBX__WALL, found = -1;
    siginfo_t info;
    memset(&info, 0, sizeof info);
    if (b->fd[SBX__EXIT] >= 0)
        found = sbx__wait_by_pidfd(b->fd[SBX__EXIT], &info, flags, &b->usage);
    else errno = 0;
    if (found < 0 && errno != ECHILD) found = waitid(P_PID, (id_t)b->pid, &info, flags);
    if (found < 0) return errno == ECHILD && sbx__look_behind(b);

    if (info.si_pid == 0 || !sbx__is_end(info.si_code)) return 0;
    sbx__note_status(b, info.si_code == CLD_EXITED, info.si_status);
    return 1;
}

/* Nobody gets more time: everybody is killed while the program's number is still taken. */
static void sbx__leave(sbx *b, long long now) {
    b->state = SBX__LEAVING;
    b->look_at = now;
    b->look_step = 100;
    sbx__kill_all(b);
    if (b->seen.saw & SBX_SAW_STUCK) return;
    if (!b->collected) sbx__collect(b->pid, 0, &b->usage); /* else it may be another child's */
    b->collected = 1;
}

/* The program has ended. If it was asked to, the others have the rest of the grace. */
static void sbx__on_end(sbx *b, long long now) {
    int settled;
    b->ended = now;
    sbx__watch_end(b);
    settled = b->stopping || !b->cfg.policy || sbx__policy_settled(b) > 0;
    if (!b->stopping && b->deadline != SBX__NEVER && now >= b->deadline) {
        if (b->late && b->seen.signal == SIGKILL) b->seen.saw |= SBX_SAW_DEADLINE; /* own timer */
        else if (b->in_tree && sbx__tree_timed_out(b))
            b->seen.saw |= SBX_SAW_DEADLINE | SBX_SAW_BLIND; /* pid 1's timer; or, before, itself */
        else b->seen.saw |= SBX_SAW_BLIND; /* nobody looked in time */
    }
    b->late = b->late && b->seen.saw & SBX_SAW_DEADLINE;
    if (b->kill_at == SBX__NEVER && settled) {
        sbx__leave(b, now);
        return;
    }
    b->state = SBX__LINGERING;
    b->look_at = now;
    b->look_step = 100;
}

/* Is nobody of the group alive but the program's own zombie? -1 = nobody can tell. */
static int sbx__group_alone(sbx *b) {
    int dead = sbx__proc_group_dead(b);
    if (dead >= 0) return dead;
    if (!b->collected) sbx__collect(b->pid, 0, &b->usage); /* it would count as somebody */
    b->collected = 1;
    b->alone = kill(-b->pid, 0) < 0 && errno == ESRCH;
    return b->alone;
}

/* Until nobody else is left, or the grace is over; or until all is heard of what was forbidden. */
static void sbx__linger(sbx *b, long long now) {
    int graced = b->kill_at != SBX__NEVER, done = 1;
    long long until = b->kill_at;
    if (graced) done = b->in_tree ? sbx__tree_alone(b) : sbx__group_alone(b);
    else if (!b->stopping) {
        done = sbx__policy_settled(b);
        until = b->ended + (done < 0 ? 10 * SBX__LOOK : SBX__STUCK_WAIT);
    }
    if (done <= 0 && now < until) {
        b->look_at = now + b->look_step;
        if (b->look_step < SBX__LOOK) b->look_step *= 2;
        return;
    }
    if (done <= 0) b->seen.saw |= graced ? SBX_SAW_GRACE_OVER : SBX_SAW_BLIND;
    sbx__leave(b, now);
}

/* Is anybody left? clone(CLONE_PARENT) may have made grandchildren the host's to collect. */
static int sbx__is_empty(sbx *b, long long now) {
    int most = 64, empty = kill(-b->pid, 0) < 0 && errno == ESRCH;
    while (!empty && most-- > 0 && sbx__collect(-b->pid, WNOHANG, NULL) > 0) {
    }
    if (b->in_tree) empty = sbx__tree_gone(b, now);
    else if (!empty) empty = sbx__proc_group_dead(b) > 0;
    return empty && (!b->cfg.cgroup || sbx__cgroup_gone(b));
}

/* Somebody is left after SIGKILL: for too long? On a machine that is too busy nobody gets to die;
   stuck is who was found unable to three times in a row. */
static int sbx__is_stuck(sbx *b, long long now) {
    if (now < b->stuck_at) return 0;
    b->unable = sbx__proc_starved(b) ? 0 : b->unable + 1;
    b->stuck_at = now + 20 * SBX__LOOK;
    return b->unable >= 3 || now >= b->starve_at;
}

/* Then read what is still in the pipes, and let go of them. */
static void sbx__clear(sbx *b, long long now) {
    int k, empty = b->emptied || sbx__is_empty(b, now);
    if (!empty && !sbx__is_stuck(b, now)) {
        if (!b->in_tree) /* one who left may have put others into the group */
            sbx__signal_group_by_pidfd(b->fd[SBX__EXIT], SIGKILL);
        b->look_at = now + b->look_step;
        if (b->look_step < SBX__LOOK) b->look_step *= 2;
        return;
    }
    if (!empty) b->seen.saw |= SBX_SAW_STUCK;
    b->emptied = 1;

    sbx__read(b, SBX__OUT);
    sbx__read(b, SBX__ERR);
    if (b->rest) return;
    sbx__read_report(b);
    for (k = 0; k < SBX__FDS; k++)
        if (k != SBX__CANCEL && k != SBX__EXIT) sbx__drop(b, k);
    b->state = SBX__ENDED;
}

/* It is dead, but somebody traces it, and only to its tracer a dead process shows. In a tree the
   tracer dies with pid 1; one that left a group can hold the status for ever. */
static void sbx__unhide(sbx *b, long long now) {
    b->held_until = now + SBX__STUCK_WAIT;
    b->look_step = 100;
    if (b->in_tree) sbx__tree_kill(b);
    else sbx__send(b, SIGKILL);
}

/* Its status will not come: a tracer holds it, or it is stuck in the kernel. */
static void sbx__give_up(sbx *b, unsigned saw, long long now) {
    b->collected = 1;
    b->seen.saw |= saw;
    b->ended = now;
    sbx__leave(b, now);
}

/* ---- a turn ---- */

#define SBX__ANY (~0u) /* nobody knows which descriptors are ready: try them all */

static void sbx__check_end(sbx *b, unsigned ready, long long now) {
    if (sbx__sees_end(b, now)) return;
    b->last_seen = now;
    if (ready & 1u << SBX__EXIT && ready != SBX__ANY && !b->held_until) sbx__unhide(b, now);
    if (b->held_until && now >= b->held_until) sbx__give_up(b, SBX_SAW_NO_STATUS, now);
    else if (b->fd[SBX__EXIT] < 0 || b->held_until) b->look_at = now + b->look_step;
    else b->look_at = SBX__NEVER;
    if (b->look_step < SBX__LOOK) b->look_step *= 2;
}

static int sbx__sees_end(sbx *b, long long now) {
    if (!sbx__look(b)) return 0;
    sbx__on_end(b, now);
    return 1;
}

/* For reasons that come from outside: a program that has ended meanwhile keeps its own verdict. */
static void sbx__stop_running(sbx *b, unsigned reason, long long now) {
    if (!b->stopping && !sbx__sees_end(b, now)) sbx__stop(b, reason);
}

static void sbx__answer(sbx *b, long long now) {
    unsigned long long what = 0;
    int unheard = b->unheard, kill_it = unheard == 2;
    int cancelled = unheard || (b->cfg.stop && SBX__LOAD(b->cfg.stop));
    if (unheard) b->unheard = 0;
    while (b->fd[SBX__CANCEL] >= 0 && read(b->fd[SBX__CANCEL], &what, sizeof what) > 0) {
        cancelled = 1;
        if (what >= SBX__KNOCK_KILL) kill_it = 1;
    }
    if (!cancelled) return;
    if (kill_it) b->cfg.grace_ms = 0;
    if (b->state == SBX__LINGERING && b->kill_at == SBX__NEVER) { /* it has ended: no waiting */
        b->seen.saw |= SBX_SAW_BLIND;
        sbx__leave(b, now);
    }
    if (b->state == SBX__RUNNING) sbx__stop_running(b, SBX_SAW_CANCEL, now);
    if (kill_it && b->kill_at != SBX__NEVER) b->kill_at = now;
}

/* A look at memory and CPU time: also while others have the rest of the grace. */
static void sbx__on_wing(sbx *b, long long now) {
    if (b->cfg.cgroup) sbx__cgroup_turn(b, now);
    else sbx__watch_turn(b, now);
}

static void sbx__on_time(sbx *b, long long now) {
    if (now >= b->deadline && !b->held_until) sbx__stop_running(b, SBX_SAW_DEADLINE, now);
    if (b->state == SBX__RUNNING && b->untold) sbx__tell(b);
    if (b->state == SBX__RUNNING && now >= b->kill_at) {
        b->seen.saw |= SBX_SAW_GRACE_OVER;
        sbx__kill_all(b);
    }
    if (b->state == SBX__RUNNING && sbx__is_stuck(b, now)) {
        sbx__give_up(b, SBX_SAW_STUCK, now);
        return;
    }
    if (b->state == SBX__RUNNING && now >= b->wing_at) sbx__on_wing(b, now);
}

/* Its first output is near the end of many a short life, and nothing else tells of that: a reason
   to look at its memory now. */
static void sbx__first_words(sbx *b, long long now) {
    b->heard = b->stream[0].total || b->stream[1].total;
    if (b->heard && now >= b->begun + SBX__SHORT && b->wing_at > now) b->wing_at = now;
}

static void sbx__turn(sbx *b, unsigned ready, long long now) {
    if (ready & 1u << SBX__REPORT) sbx__read_report(b);
    if (ready & 1u << SBX__NOTICE && sbx__wants(b, SBX__NOTICE)) sbx__policy_turn(b);
    if (ready & 1u << SBX__OUT) sbx__read(b, SBX__OUT);
    if (ready & 1u << SBX__ERR) sbx__read(b, SBX__ERR);
    if (ready & 1u << SBX__IN) sbx__feed(b);
    if (!b->heard) sbx__first_words(b, now);

    if (b->state == SBX__RUNNING && (ready & 1u << SBX__EXIT || now >= b->look_at))
        sbx__check_end(b, ready, now);
    if (b->state <= SBX__LINGERING && (ready & 1u << SBX__CANCEL || b->unheard || b->cfg.stop))
        sbx__answer(b, now);
    if (b->state == SBX__RUNNING) sbx__on_time(b, now);
    if (b->state == SBX__LINGERING && now >= b->wing_at) sbx__on_wing(b, now);
    if (b->state == SBX__LINGERING &&
        (now >= b->look_at || now >= b->kill_at || ready & 1u << SBX__PID1))
        sbx__linger(b, now);
    if (b->state == SBX__LEAVING && (now >= b->look_at || ready & 1u << SBX__PID1))
        sbx__clear(b, now);
}

/* When the box needs a turn although no descriptor calls for one. */
static long long sbx__wake(const sbx *b) {
    long long at = b->unheard && b->state <= SBX__LINGERING ? 0 : b->look_at;
    if (b->kill_at < at) at = b->kill_at;
    if (b->state == SBX__LINGERING && b->wing_at < at) at = b->wing_at;
    if (b->state != SBX__RUNNING) return at;
    if (!b->stopping && !b->held_until && b->deadline < at) at = b->deadline;
    if (b->stuck_at < at) at = b->stuck_at;
    if (b->cfg.stop && !b->stopping && SBX__LOAD(b->cfg.stop)) return 0;
    if (b->cfg.stop && at > sbx__now() + 2 * SBX__LOOK) at = sbx__now() + 2 * SBX__LOOK;
    return b->wing_at < at ? b->wing_at : at;
}

static int sbx__wants(const sbx *b, int k) {
    if (b->fd[k] < 0 || b->state == SBX__ENDED) return 0;
    switch (k) {
    case SBX__IN: return b->input_left > 0 || b->asked & 1u << SBX__IN;
    case SBX__OUT:
    case SBX__ERR: return 1;
    case SBX__EXIT: return b->state == SBX__RUNNING && !b->held_until;
    case SBX__CANCEL: return b->state <= SBX__LINGERING;
    case SBX__PID1: return b->state != SBX__RUNNING;
    default: return b->state == SBX__RUNNING;
    }
}

/* Is there what an sbx_read that found nothing waits for? The end of the stream is something. */
static int sbx__readable(const sbx *b) {
    int i;
    for (i = 0; i < 2; i++)
        if (b->asked & 1u << (SBX__OUT + i) && (b->stream[i].size > 0 || b->fd[SBX__OUT + i] < 0))
            return 1;
    return 0;
}

/* ---- waiting ---- */

#define SBX__FEW 16 /* so many boxes, or less, are waited for with select() */

/* One call that waits, and what it has found so far. */
typedef struct sbx__round {
    sbx *const *boxes;
    int count;
    int there, in_set; /* boxes; those that are in the set */
    struct sbx__set *set; /* where they are waited for; NULL = with select() */
    long long wake; /* when the first of them needs a turn */
    int ended; /* index of a box that has ended; -1 = none yet */
    int called; /* there is what the host has asked for */
    int more; /* so often the set may be asked for more that is ready */
} sbx__round;

/* One look at every box. */
static void sbx__survey(sbx__round *w) {
    int i;
    w->set = NULL;
    w->wake = SBX__NEVER;
    w->ended = -1;
    w->there = w->in_set = w->called = 0;
    for (i = 0; i < w->count; i++) {
        sbx *b = w->boxes[i];
        if (b && b->state == SBX__ENDED && w->ended < 0) w->ended = i;
        if (!b || b->state == SBX__ENDED) continue;
        if (w->count > SBX__FEW) b->slot = i;
        if (!w->set) w->set = b->set;
        if (w->set && w->set == b->set) w->in_set++;
        if (b->asked && sbx__readable(b)) w->called = b->pressed = 1;
        if (sbx__wake(b) < w->wake) w->wake = sbx__wake(b);
        w->there++;
    }
}

static void sbx__give_turn(sbx__round *w, int i, unsigned ready, long long now) {
    sbx *b = w->boxes[i];
    unsigned full = b->asked & 1u << SBX__IN;
    b->crowd = w->count;
    sbx__turn(b, ready, now);
    sbx__enrol(b);

    if ((full && !(b->asked & 1u << SBX__IN)) || sbx__readable(b)) w->called = 1;
    if (b->state == SBX__ENDED) w->ended = i;
    else if (sbx__wake(b) < w->wake) w->wake = sbx__wake(b);
}

#define SBX__BITS (8 * (int)sizeof(unsigned long))

/* The word of a bitmap that holds a descriptor, and its bit there. map[1] is for writing. */
static unsigned long *sbx__word(unsigned long *const *map, const sbx *b, int k) {
    return &map[k == SBX__IN][b->fd[k] / SBX__BITS];
}
static unsigned long sbx__bit(const sbx *b, int k) { return 1ul << b->fd[k] % SBX__BITS; }

/* select() with a bitmap of our own. If cfg.stop is used, signals are blocked while it is looked
   at, and only select() itself lets them in: a handler that sets it is never missed. */
static int sbx__select_once(int top, unsigned long *const *map, const volatile int *stop,
                            long long wait) {
    struct timespec time;
    sigset_t all, before;
    int n;
    if (wait < 0) wait = 0;
    if (wait > 1000 * SBX__SECOND) wait = 1000 * SBX__SECOND;
    if (stop) {
        sigfillset(&all);
        SBX__SIGMASK(SIG_SETMASK, &all, &before);
        if (SBX__LOAD(stop)) wait = 0;
    }
    time.tv_sec = (time_t)(wait / SBX__SECOND);
    time.tv_nsec = (long)(wait % SBX__SECOND) * 1000;

    n = pselect(top + 1, (fd_set *)(void *)map[0], (fd_set *)(void *)map[1], NULL, &time,
                stop ? &before : NULL);
    if (stop) {
        int error = errno;
        SBX__SIGMASK(SIG_SETMASK, &before, NULL);
        errno = error;
    }
    return n;
}

static void sbx__sleep(const volatile int *stop, long long wait) {
    unsigned long *none[2] = {NULL, NULL};
    sbx__select_once(-1, none, stop, wait);
}

/* One select() over all boxes, with a bitmap as large as the highest descriptor asks for; then a
   turn for every box that is ready or due. */
static void sbx__select(sbx__round *w, long long wait) {
    unsigned long few[64], *map[2]; /* to read, to write */
    const volatile int *stop = w->count == 1 && w->boxes[0] ? w->boxes[0]->cfg.stop : NULL;
    size_t words;
    long long now;
    int i, k, top = 0, n = -1, blind = 0;
    for (i = 0; i < w->count; i++)
        if (w->boxes[i] && w->boxes[i]->top_fd > top) top = w->boxes[i]->top_fd;
    words = (size_t)(top / SBX__BITS + 1);
    map[0] = few;
    if (2 * words * sizeof *few > sizeof few)
        map[0] = (unsigned long *)SBX_REALLOC(NULL, 2 * words * sizeof *few);
    map[1] = map[0] ? map[0] + words : NULL;
    if (map[0]) memset(map[0], 0, 2 * words * sizeof *few);

    for (i = 0; map[0] && i < w->count; i++)
        for (k = 0; w->boxes[i] && k < SBX__FDS; k++)
            if (sbx__wants(w->boxes[i], k))
                *sbx__word(map, w->boxes[i], k) |= sbx__bit(w->boxes[i], k);
    if (map[0]) n = sbx__select_once(top, map, stop, wait);
    if (!map[0] || (n < 0 && errno != EINTR)) { /* no memory, or the host closed one: try often */
        blind = 1;
        sbx__sleep(stop, wait < 1000 ? wait : 1000);
    }

    now = sbx__now();
    for (i = 0; i < w->count; i++) {
        unsigned ready = blind ? SBX__ANY : 0;
        sbx *b = w->boxes[i];
        if (!b || b->state == SBX__ENDED) continue;
        for (k = 0; n > 0 && k < SBX__FDS; k++)
            if (sbx__wants(b, k) && *sbx__word(map, b, k) & sbx__bit(b, k)) ready |= 1u << k;
        if (ready || b->cfg.stop || now >= sbx__wake(b)) sbx__give_turn(w, i, ready, now);
    }
    if (map[0] != few) SBX_FREE(map[0]);
}

static void sbx__wait_for_begin(sbx *b) {
    sbx__round w;
    memset(&w, 0, sizeof w);
    w.boxes = &b;
    w.count = 1;
    w.wake = SBX__NEVER;
    sbx__select(&w, sbx__wake(b) - sbx__now());
}

/* ---- waiting for many: on Linux a set, so that a turn costs what is ready ----

   The boxes that are polled together share an epoll descriptor. Nobody else owns it: each box in it
   counts as one reference, and so does the call that waits. A call uses a set only if all the boxes
   in it are its own, so that no other thread does at the same time; otherwise it makes a new one.
   What the kernel gives back is a box's number in the set, which is empty as soon as the box has
   left: an event that comes late cannot reach a box that is gone. */

#if SBX__HAS_SET

#define SBX__BATCH 256 /* events that are fetched at a time */

typedef struct sbx__set {
    int fd;
    int users; /* boxes in it, and calls that wait; atomic */
    int failed; /* it could not take a descriptor: select() has to do */
    int room, next;
    sbx **box; /* by number, at least half of them free */
} sbx__set;

static void sbx__release(sbx__set *set) {
    if (!set || __atomic_sub_fetch(&set->users, 1, __ATOMIC_ACQ_REL) > 0) return;
    sbx__close(&set->fd);
    SBX_FREE(set->box);
    SBX_FREE(set);
}

/* For the call that makes it; NULL = no memory, or no descriptor. */
static sbx__set *sbx__new_set(void) {
    sbx__set *set = (sbx__set *)sbx__zalloc(sizeof *set);
    if (!set) return NULL;
    set->users = 1;
    set->fd = sbx__move_up(epoll_create1(EPOLL_CLOEXEC), 3);
    if (set->fd >= 0) return set;
    sbx__release(set);
    return NULL;
}

static int sbx__enlist(sbx *b, int k, int operation) {
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    event.events = k == SBX__IN ? EPOLLOUT : EPOLLIN;
    event.data.u64 = (unsigned long long)b->number << 3 | (unsigned)k;
    b->listed ^= 1u << k;
    return epoll_ctl(b->set->fd, operation, b->fd[k], &event) == 0;
}

/* A forked copy of the host may keep the open file alive: closing alone would not take it out. */
static void sbx__drop(sbx *b, int k) {
    if (b->listed & 1u << k) sbx__enlist(b, k, EPOLL_CTL_DEL);
    sbx__close(&b->fd[k]);
}

static void sbx__leave_set(sbx *b) {
    int k;
    if (!b->set) return;
    for (k = 0; k < SBX__FDS; k++)
        if (b->listed & 1u << k) sbx__enlist(b, k, EPOLL_CTL_DEL);
    b->set->box[b->number] = NULL;
    sbx__release(b->set);
    b->set = NULL;
    b->ready = 0;
}

/* After everything that can change what a box waits for. */
static void sbx__enrol(sbx *b) {
    int k;
    if (!b->set) return;
    for (k = 0; k < SBX__FDS; k++) {
        int wants = sbx__wants(b, k), has = (b->listed & 1u << k) != 0;
        if (has && !wants) sbx__enlist(b, k, EPOLL_CTL_DEL);
        if (wants && !has && !sbx__enlist(b, k, EPOLL_CTL_ADD)) {
            b->listed &= ~(1u << k);
            b->set->failed = 1;
        }
    }
    if (b->state == SBX__ENDED) sbx__leave_set(b);
}

static void sbx__join_set(sbx__set *set, sbx *b) {
    if (b->set == set || set->failed) return;
    if (2 * set->users >= set->room) {
        int room = 2 * set->room + 64;
        sbx **box = (sbx **)SBX_REALLOC(set->box, (size_t)room * sizeof *box);
        set->failed = !box;
        if (!box) return;
        memset(box + set->room, 0, (size_t)(room - set->room) * sizeof *box);
        set->box = box;
        set->room = room;
    }
    while (set->box[set->next]) set->next = (set->next + 1) % set->room;

    sbx__leave_set(b);
    __atomic_add_fetch(&set->users, 1, __ATOMIC_ACQ_REL);
    set->box[set->next] = b;
    b->number = set->next;
    b->set = set;
    sbx__enrol(b);
}

/* Are all that use the set of this round in it? The call itself is one user, once it waits. */
static int sbx__is_ours(const sbx__round *w, int calls) {
    int users = __atomic_load_n(&w->set->users, __ATOMIC_ACQUIRE);
    return users == w->in_set + calls && !w->set->failed;
}

/* All boxes of this round come together in one set. Where that cannot be had, w->set is NULL. */
static void sbx__gather(sbx__round *w) {
    int i;
    if (w->set && !sbx__is_ours(w, 0)) w->set = NULL;
    if (w->set) __atomic_add_fetch(&w->set->users, 1, __ATOMIC_ACQ_REL);
    else {
        w->set = sbx__new_set();
        w->in_set = 0;
    }
    for (i = 0; w->set && w->in_set < w->there && i < w->count; i++)
        if (w->boxes[i]) sbx__join_set(w->set, w->boxes[i]);
    w->in_set = w->there;
    if (!w->set || !w->set->failed) return;

    for (i = 0; i < w->count; i++)
        if (w->boxes[i]) sbx__leave_set(w->boxes[i]);
    sbx__release(w->set);
    w->set = NULL;
}

static int sbx__set_fd(const sbx__set *set) { return set ? set->fd : -1; }

static sbx *sbx__found(const sbx__round *w, const struct epoll_event *event) {
    sbx *b = w->set->box[event->data.u64 >> 3];
    return b && w->boxes[b->slot] == b ? b : NULL;
}

/* A turn for every box whose time has come. */
static void sbx__turn_due(sbx__round *w, long long now) {
    int i;
    w->wake = SBX__NEVER;
    for (i = 0; i < w->count; i++) {
        sbx *b = w->boxes[i];
        if (!b || b->state == SBX__ENDED) continue;
        if (now >= sbx__wake(b) || b->cfg.stop) sbx__give_turn(w, i, 0, now);
        else if (sbx__wake(b) < w->wake) w->wake = sbx__wake(b);
    }
}

/* Older kernels, and some filters around containers, know only epoll_wait(), which counts in
   milliseconds. */
static int sbx__fetch_events(int fd, struct epoll_event *events, long long wait) {
    long long time[2]; /* struct __kernel_timespec */
    int n;
    if (wait < 0) wait = 0;
    if (wait > 1000 * SBX__SECOND) wait = 1000 * SBX__SECOND;
    time[0] = wait / SBX__SECOND;
    time[1] = wait % SBX__SECOND * 1000;
    n = (int)syscall(SBX__NR_epoll_pwait2, fd, events, SBX__BATCH, time, NULL, 0L);
    if (n >= 0 || errno == EINTR) return n;
    return epoll_wait(fd, events, SBX__BATCH, (int)((wait + 999) / 1000));
}

static void sbx__wait_in_set(sbx__round *w, long long wait) {
    struct epoll_event events[SBX__BATCH];
    int i, n = sbx__fetch_events(w->set->fd, events, wait);
    long long now;
    if (n < 0 && errno != EINTR) w->set->failed = 1;

    now = sbx__now();
    for (i = 0; i < n; i++) {
        sbx *b = sbx__found(w, &events[i]);
        if (b) b->ready |= 1u << (events[i].data.u64 & 7);
    }
    for (i = 0; i < n; i++) {
        sbx *b = sbx__found(w, &events[i]);
        unsigned ready = b ? b->ready : 0;
        if (b) b->ready = 0;
        if (ready) sbx__give_turn(w, b->slot, ready, now);
    }
    if (now >= w->wake || n < 0) sbx__turn_due(w, now);
    w->more = n == SBX__BATCH ? w->more - 1 : 0;
}

#else
static void sbx__drop(sbx *b, int k) { sbx__close(&b->fd[k]); }
static void sbx__enrol(sbx *b) { (void)b; }
static void sbx__leave_set(sbx *b) { (void)b; }
static void sbx__release(struct sbx__set *set) { (void)set; }
static void sbx__gather(sbx__round *w) { w->set = NULL; }
static int sbx__set_fd(const struct sbx__set *set) { return set ? 0 : -1; }
static int sbx__is_ours(const sbx__round *w, int calls) { return w->count < calls; }
static void sbx__wait_in_set(sbx__round *w, long long wait) { sbx__select(w, wait); }
#endif

/* A host that is busy with something else sees less of a box than one that waits for it. Of many
   boxes that is not asked: it would cost more than their turns. */
static void sbx__note_absence(sbx *const *boxes, int count, int comes) {
    long long now = count <= SBX__FEW ? sbx__now() : 0;
    int i;
    for (i = 0; count <= SBX__FEW && i < count; i++) {
        sbx *b = boxes[i];
        if (b && comes && now - b->left_at > b->away) b->away = now - b->left_at;
        if (b) b->left_at = now;
    }
}

/* Index of a box that has ended; -1 at `until`, if there is none to wait for, when an input that
   was full can take more, or when there is something to read. */
static int sbx__wait_for(sbx *const *boxes, int count, long long until) {
    sbx__round w;
    long long now, wait;
    int over;
    w.boxes = boxes;
    w.count = count;
    for (;;) {
        sbx__survey(&w);
        if (w.there == 0) return w.ended;
        if (w.ended >= 0) until = 0; /* the others get their turn all the same */
        if (count <= SBX__FEW) w.set = NULL;
        else sbx__gather(&w);
        w.more = w.set ? count : 0;

        do {
            now = sbx__now();
            wait = w.wake < until ? w.wake : until;
            if (wait != SBX__NEVER) wait -= now;
            if (w.called) wait = 0;
            if (w.set) sbx__wait_in_set(&w, wait);
            else sbx__select(&w, wait);
            over = w.ended >= 0 || w.called || (w.more <= 0 && sbx__now() >= until);
        } while (!over && w.set && sbx__is_ours(&w, 1));

        sbx__release(w.set);
        if (over) return w.ended;
    }
}

static int sbx__wait(sbx *const *boxes, int count, long long until) {
    int ended;
    sbx__note_absence(boxes, count, 1);
    ended = sbx__wait_for(boxes, count, until);
    sbx__note_absence(boxes, count, 0);
    return ended;
}

SBX_API int sbx_get_watch_any(sbx *const *boxes, int count, long long *wait_ms) {
    sbx__round w;
    int fd;
    memset(&w, 0, sizeof w);
    w.boxes = boxes;
    w.count = boxes ? count : 0;
    sbx__survey(&w);
    if (wait_ms) *wait_ms = w.ended >= 0 || w.called ? 0 : sbx__until_ms(w.wake);
    if (w.there == 0) return -1;

    sbx__gather(&w);
    fd = sbx__set_fd(w.set);
    sbx__release(w.set);
    return fd;
}

/* ==== verdict: observe, classify, describe =================================================== */

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
    unsigned memory, file;
    int ignored;
    size_t i;
    if (!certain) certain = &ignored;
    *certain = e != NULL;
    if (!e) return SBX_NOT_STARTED; /* of nothing nothing is known */
    if (e->saw & (SBX_SAW_DEADLINE | SBX_SAW_OUTPUT_CAP | SBX_SAW_MEMORY_SUM))
        *certain = !(e->saw & SBX_SAW_BLIND); /* nobody saw who killed it, or why */
    for (i = 0; i < sizeof proven / sizeof proven[0]; i++)
        if (e->saw & proven[i].saw) return proven[i].verdict;

    memory = e->saw & SBX_SAW_MEMORY_LIMIT;
    file = e->saw & SBX_SAW_FILE_LIMIT;
    *certain = !(e->saw & (SBX_SAW_BLIND | SBX_SAW_STUCK));
    if (!e->signal && e->exit_code == 0) return e->saw & SBX_SAW_NO_RESULT ? SBX_NO_RESULT : SBX_OK;

    /* From here on a limit may have worked inside the program, where nobody saw it. */
    *certain = *certain && !memory && !file;
    if ((e->signal == SIGXCPU || e->signal == SIGKILL) && e->saw & SBX_SAW_CPU_SPENT) {
        *certain = 0;
        return SBX_CPU_LIMIT;
    }
    if (file && (e->signal == SIGXFSZ || (!e->signal && e->saw & SBX_SAW_FILE_TEXT)))
        return SBX_FILE_LIMIT;
    if (memory && e->saw & (SBX_SAW_MEMORY_TEXT | SBX_SAW_MEMORY_PEAK)) return SBX_MEMORY_LIMIT;
    if (memory && e->saw & SBX_SAW_MEMORY_WORDS && e->saw & SBX_SAW_MEMORY_NEAR)
        return SBX_MEMORY_LIMIT;
    if (e->signal) return SBX_CRASHED;
    return e->saw & SBX_SAW_NO_RESULT ? SBX_NO_RESULT : SBX_EXITED;
}

/* ---- what a program says of its end: a report, or words that happen to be there ---- */

enum { SBX__SILENT, SBX__MENTIONS, SBX__REPORTS };

typedef struct sbx__text {
    const char *data;
    size_t size;
    size_t trace; /* a line behind this place is indented, as in the trace of a stack */
    size_t tail; /* behind this place come three more lines at most */
} sbx__text;

static sbx__text sbx__text_of(const char *data, size_t size) {
    size_t cut = size > SBX__SAID ? size - SBX__SAID : 0, at;
    int lines = 0, next;
    sbx__text t;
    t.data = data + cut;
    t.size = size - cut;
    t.trace = t.tail = 0;
    for (at = t.size; at-- > 1;) {
        next = (unsigned char)t.data[at];
        if (t.data[at - 1] != '\n' || next == '\n') continue;
        if (!t.trace && (next == ' ' || next == '\t' || next == '#')) t.trace = at;
        if (++lines == 4) t.tail = at;
    }
    return t;
}

/* The character at that place, without its case; 0 where the text does not reach. */
static int sbx__letter(const sbx__text *t, size_t at) {
    int c = at < t->size ? (unsigned char)t->data[at] : 0;
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

static int sbx__is_at(const sbx__text *t, size_t at, const char *word) {
    for (; *word; word++, at++)
        if (sbx__letter(t, at) != *word) return 0;
    return 1;
}

static int sbx__is_one_at(const sbx__text *t, size_t at, const char *const *words) {
    for (; *words; words++)
        if (sbx__is_at(t, at, *words)) return 1;
    return 0;
}

/* A report begins its line, or stands behind "name: ", "[Errno 12] ", "(27) ", "Exception. ",
   "stepping, ", "- ", "# ". */
static int sbx__opens(const sbx__text *t, size_t at) {
    size_t first = at;
    int c;
    while (first > 0 && t->data[first - 1] == ' ') first--;
    c = first > 0 ? (unsigned char)t->data[first - 1] : '\n';
    return c == '\n' || c == 0 || (first < at && c != 0 && strchr(":].-#,)", c) != NULL);
}

/* A number of bytes: "4096 bytes", "1048576-byte block", "7.45 GiB". */
static int sbx__is_size(const sbx__text *t, size_t at) {
    static const char *const units[] = {"byte", "kb", "kib", "mb", "mib", "gb", "gib", NULL};
    int c = sbx__letter(t, at);
    if (c < '0' || c > '9') return 0;
    while ((c >= '0' && c <= '9') || c == '.') c = sbx__letter(t, ++at);
    return sbx__is_one_at(t, c == ' ' || c == '-' ? at + 1 : at, units);
}

/* Behind a report its sentence ends, or goes on as such messages do: "(errno 12)", "- fork", "at
   x.pl line 1". What ends with a blank wants a number of bytes. */
static int sbx__closes(const sbx__text *t, size_t at) {
    static const char *const more[] = {" - ", " @ ", " at ", " by ", " during ", " in perl", NULL};
    static const char *const purpose[] = {" for ", " while ", " to ", NULL};
    int c = sbx__letter(t, at), last = sbx__letter(t, at - 1);
    if (last == ' ') return sbx__is_size(t, at);
    if (c == 0 || strchr("\r\n:!,.;()'", c)) return 1;
    if (last == 'y' && sbx__is_one_at(t, at, purpose)) return 1; /* "memory for the index" */
    if (sbx__is_at(t, at, " ("))
        return sbx__letter(t, at + 2) > '9' || sbx__letter(t, at + 3) == ')';
    if (sbx__is_one_at(t, at, more)) return 1;
    while (sbx__letter(t, at) == ' ') at++; /* a blank before the end of the line */
    return at == t->size || sbx__letter(t, at) == '\n';
}

/* How the text speaks of one of these: SBX__SILENT, ... */
static int sbx__speaks_of(const sbx__text *t, const char *const *words) {
    unsigned long first = 0; /* with which letters they begin */
    int how = SBX__SILENT, c;
    size_t i, k, end;
    for (k = 0; words[k]; k++) first |= 1ul << (words[k][0] - 'a');
    for (i = 0; i < t->size; i++) {
        c = sbx__letter(t, i);
        if (c < 'a' || c > 'z' || !(first >> (c - 'a') & 1)) continue;
        for (k = 0; words[k]; k++) {
            if (words[k][0] != c || !sbx__is_at(t, i, words[k])) continue;
            how = SBX__MENTIONS;
            end = i + strlen(words[k]);
            if (!sbx__opens(t, i) || !sbx__closes(t, end)) continue;
            if (end < t->trace || end >= t->tail) return SBX__REPORTS;
        }
    }
    return how;
}

/* How stderr, or sbx_fail, speaks of missing memory. */
static int sbx__speaks_of_memory(const sbx *b, const sbx__text *said, const sbx__text *out,
                                 const sbx__text *told) {
    /* clang-format off */
    static const char *const memory[] = {
        "memoryerror", "std::bad_alloc", "out of memory", "cannot allocate memory",
        "virtual memory exhausted",
        "terminate called after throwing an instance of 'std::bad_alloc",
        "memory exhausted", "not enough memory", "insufficient memory", "no more memory",
        "there is insufficient memory", "failed to allocate memory", "unable to allocate memory",
        "could not allocate memory", "memory allocation failed", "array buffer allocation failed",
        "outofmemoryerror", "system.outofmemoryexception", "exception out_of_memory",
        "javascript heap out of memory", "process out of memory", "fatal process out of memory",
        "fatal process oom in failed to reserve virtual memory",
        "failed to map segment from shared object", "failed to reserve page summary memory",
        "addresssanitizer failed to allocate", "perhaps you're using ulimit -v",
        "cannot allocate ", "could not allocate ", "failed to allocate ", "unable to allocate ",
        "cannot allocate vector of size ", "memory allocation of ", "out of memory allocating ",
        "error allocating ", NULL};
    static const char *const vague[] = {
        "bad_alloc", "outofmemory", "allocation fail", "cannot allocate", "failed to allocate",
        "could not allocate", "unable to allocate", "could not reserve", "failed to reserve",
        "process oom", "resource temporarily unavailable", NULL};
    /* A thread that cannot start lacks a stack, if the number of tasks is not limited. */
    static const char *const thread[] = {
        "unable to create native thread", "can't start new thread", "failed to spawn thread",
        "pthread_create: resource temporarily unavailable",
        "thread: resource temporarily unavailable", "what():  resource temporarily unavailable",
        NULL};
    static const char *const java[] = {"error occurred during initialization of vm", NULL};
    /* A heap whose size the program itself was told. */
    static const char *const heap[] = {
        "java heap space", "heap limit", "gc overhead limit", "metaspace", "direct buffer memory",
        NULL};
    /* clang-format on */
    int how = sbx__speaks_of(said, memory);
    if (sbx__speaks_of(said, heap)) return SBX__SILENT;
    if (sbx__speaks_of(told, memory) == SBX__REPORTS || sbx__speaks_of(out, java))
        return SBX__REPORTS;
    if (b->cfg.processes < 0 && sbx__speaks_of(said, thread) == SBX__REPORTS) return SBX__REPORTS;
    if (how == SBX__SILENT && sbx__speaks_of(said, vague)) how = SBX__MENTIONS;
    return how;
}

/* What was said of memory and files, where a limit on them was in force. */
static void sbx__observe_words(sbx *b, const sbx_result *r) {
    static const char *const large[] = {"file too large", NULL};
    static const char *const signalled[] = {"file size limit exceeded", NULL}; /* by a shell */
    const sbx_output *from = b->cfg.err == SBX_MERGE ? &r->out : &r->err;
    unsigned *saw = &b->seen.saw;
    sbx__text said, first, told;
    int how, idle = r->peak_bytes >= 0 && r->peak_bytes < b->cfg.address_space_bytes / 16;
    if (!(*saw & (SBX_SAW_MEMORY_LIMIT | SBX_SAW_FILE_LIMIT))) return;
    if (!b->seen.signal && b->seen.exit_code == 0) return; /* nothing has to be explained */
    said = sbx__text_of(b->said ? b->said : from->data, b->said ? b->said_size : from->size);
    first = sbx__text_of(r->out.data, r->out.size);
    told = sbx__text_of(sbx__call_said(b), strlen(sbx__call_said(b)));

    if (*saw & SBX_SAW_MEMORY_LIMIT) {
        how = sbx__speaks_of_memory(b, &said, &first, &told);
        if (how == SBX__REPORTS) *saw |= SBX_SAW_MEMORY_TEXT;
        if (how == SBX__MENTIONS && !(idle && *saw & SBX_SAW_MEMORY_NEAR)) /* only reserved */
            *saw |= SBX_SAW_MEMORY_WORDS;
    }
    if (*saw & SBX_SAW_FILE_LIMIT) {
        how = sbx__speaks_of(&said, large);
        if (how == SBX__REPORTS || sbx__speaks_of(&said, signalled)) *saw |= SBX_SAW_FILE_TEXT;
        else if (how == SBX__MENTIONS) *saw |= SBX_SAW_FILE_WORDS;
    }
}

/* An image that is larger than the address space ends in exec, which by then can only kill: the
   program has hardly touched a page. With less than 4 MB hardly any starts without a crash. */
static int sbx__had_no_space(const sbx *b, const sbx_result *r) {
    long long space = b->cfg.address_space_bytes;
    long faults = b->usage.ru_minflt + b->usage.ru_majflt;
    int signal = b->seen.signal;
    if (r->peak_bytes > space / 100 * 95 || (signal && space < 4 << 20)) return 1;
    return (signal == SIGSEGV || signal == SIGKILL) && !b->is_call && faults < 12;
}

/* Where RLIMIT_AS stands for memory_bytes: can several processes that were waited for have passed
   it together, or a function in memory that was there before? Each page, or few of a file, takes a
   page fault. */
static int sbx__may_have_more(const sbx *b, const sbx_result *r) {
    long long faults = (long long)(b->usage.ru_minflt + b->usage.ru_majflt);
    long long bytes = faults * 16 * sysconf(_SC_PAGESIZE), filled = r->wall_us * SBX__FASTEST;
    return filled > b->cfg.memory_bytes && (b->is_call || bytes > b->cfg.memory_bytes);
}

/* The last facts, which only show when all is over. */
static void sbx__observe(sbx *b, sbx_result *r) {
    int summed = (b->enforced & (SBX_BY_WATCH | SBX_BY_CGROUP)) != 0;
    long long cpu, limit = b->cfg.cpu_ms;
    r->user_us = sbx__time_us(&b->usage.ru_utime);
    r->system_us = sbx__time_us(&b->usage.ru_stime);
    if (b->enforced & SBX_BY_TREE) sbx__tree_observe(b, r);
    sbx__watch_observe(b, r);
    if (b->cfg.cgroup) sbx__cgroup_observe(b, r);
    if (b->is_call) sbx__call_observe(b);
    sbx__observe_words(b, r);

    cpu = r->user_us + r->system_us;
    /* The kernel's limit counts whole seconds, one more where it is the backstop. */
    if (limit >= 0 && cpu >= ((limit + 999) / 1000 + summed) * 700000)
        b->seen.saw |= SBX_SAW_CPU_SPENT;
    if (limit >= 0 && !summed && !b->stopping &&
        r->wall_us > limit * 1000 / sysconf(_SC_NPROCESSORS_ONLN))
        b->seen.saw |= SBX_SAW_BLIND; /* there may have been many, each inside the kernel's limit */
    if (b->cfg.memory_bytes >= 0 && !summed && !b->stopping && sbx__may_have_more(b, r))
        b->seen.saw |= SBX_SAW_BLIND;
    if (limit >= 0 && !b->stopping && cpu > limit * 1000)
        b->seen.saw |= SBX_SAW_CPU_SUM; /* it ended before the next look, but it is in the books */
    if (b->seen.saw & SBX_SAW_MEMORY_LIMIT && sbx__had_no_space(b, r))
        b->seen.saw |= SBX_SAW_MEMORY_PEAK;
}

/* ---- describe ---- */

static const char *sbx__killed(const sbx *b, const sbx_result *r) {
    if (b->seen.saw & SBX_SAW_OOM_KILL) return " and was killed";
    if (!b->killed) return "";
    return r->signal ? " and was killed" : " and was stopped";
}

static void sbx__describe_memory(const sbx *b, sbx_result *r) {
    const sbx_config *c = &b->cfg;
    char size[32];
    if (r->certain && c->memory_bytes < 0)
        snprintf(r->message, sizeof r->message,
                 "%s was killed because its cgroup had no memory left", b->who);
    else if (r->certain)
        snprintf(r->message, sizeof r->message, "%s used more than its %s of memory%s", b->who,
                 sbx__size(size, c->memory_bytes), sbx__killed(b, r));
    else if (b->seen.saw & SBX_SAW_MEMORY_SUM)
        snprintf(r->message, sizeof r->message,
                 "%s seems to have used more than its %s of memory%s", b->who,
                 sbx__size(size, c->memory_bytes), sbx__killed(b, r));
    else
        snprintf(r->message, sizeof r->message, "%s seems to have run out of its %s of memory",
                 b->who, sbx__size(size, c->address_space_bytes));
}

static void sbx__describe_output(const sbx *b, sbx_result *r) {
    int own = b->cfg.error_bytes > 0 && b->stream[1].truncated;
    char size[32];
    r->sys_errno = b->stream[0].failed ? b->stream[0].failed : b->stream[1].failed;
    if (r->sys_errno == ENOMEM)
        snprintf(r->message, sizeof r->message,
                 "%s wrote more output than the host had memory for%s", b->who, sbx__killed(b, r));
    else if (r->sys_errno)
        snprintf(r->message, sizeof r->message, "not all that %s wrote could be read: %s", b->who,
                 r->sys_errno == EMSGSIZE ? "some of it was lost on the way"
                                          : strerror(r->sys_errno));
    else
        snprintf(r->message, sizeof r->message, "%s wrote more than its %s of %s%s", b->who,
                 sbx__size(size, own ? b->cfg.error_bytes : b->cfg.output_bytes),
                 own ? "stderr" : "output", sbx__killed(b, r));
}

static void sbx__describe_time(const sbx *b, sbx_result *r) {
    char span[32];
    sbx__duration(span, b->timeout_ms);
    if (b->late)
        snprintf(r->message, sizeof r->message, "%s had not started when its %s limit was over",
                 b->who, span);
    else
        snprintf(r->message, sizeof r->message, "%s %s past its %s limit%s", b->who,
                 r->certain ? "ran" : "seems to have run", span, sbx__killed(b, r));
}

static void sbx__describe(const sbx *b, sbx_result *r) {
    char *to = r->message, size[32];
    size_t n = sizeof r->message;

    switch (r->verdict) {
    case SBX_TIMED_OUT: sbx__describe_time(b, r); break;
    case SBX_CPU_LIMIT:
        snprintf(to, n, "%s %s its %s of CPU time%s", b->who,
                 r->certain ? "used up" : "seems to have used up",
                 sbx__duration(size, b->cfg.cpu_ms), sbx__killed(b, r));
        break;
    case SBX_MEMORY_LIMIT: sbx__describe_memory(b, r); break;
    case SBX_OUTPUT_LIMIT: sbx__describe_output(b, r); break;
    case SBX_FILE_LIMIT:
        snprintf(to, n, "%s seems to have reached its limit of %s in a file", b->who,
                 sbx__size(size, b->cfg.file_bytes));
        break;
    case SBX_DENIED: sbx__policy_describe(b, to, n); break;
    case SBX_CANCELLED: snprintf(to, n, "%s was cancelled%s", b->who, sbx__killed(b, r)); break;
    case SBX_LOST:
        snprintf(to, n, "%s ran, but %s", b->who,
                 b->held_until && !b->unowned ? "a process that traces it keeps its exit status"
                                              : "the host took its exit status away");
        break;
    case SBX_CRASHED:
        snprintf(to, n, "%s was ended by signal %d (%s)", b->who, r->signal,
                 sbx__signal_name(r->signal));
        break;
    case SBX_NO_RESULT:
        sbx__plain(to, n, sbx__call_said(b));
        if (!*to) snprintf(to, n, "%s ended with code %d and left no result", b->who, r->exit_code);
        break;
    default: snprintf(to, n, "%s exited with code %d", b->who, r->exit_code); break;
    }
}

/* A program that gets no more processes or descriptors goes on or gives up as it likes. If it gave
   up and speaks of that, the limit is worth a word. */
static void sbx__describe_count(const sbx *b, const sbx_result *r, char *to, size_t n) {
    static const char *const no_process[] = {"cannot fork", "resource temporarily unavailable",
                                             "start new thread", NULL};
    static const char *const no_file[] = {"too many open files", NULL};
    const sbx_output *from = b->cfg.err == SBX_MERGE ? &r->out : &r->err;
    sbx__text said = sbx__text_of(from->data, from->size);
    if (b->cfg.processes > 0 && sbx__speaks_of(&said, no_process))
        snprintf(to, n, "; it may have reached its limit of %lld processes", b->cfg.processes);
    else if (b->cfg.open_files > 0 && sbx__speaks_of(&said, no_file))
        snprintf(to, n, "; it may have reached its limit of %lld open files", b->cfg.open_files);
}

/* What the sentence leaves out, where there is room for it. */
static void sbx__describe_more(const sbx *b, sbx_result *r) {
    size_t used = strlen(r->message), n = sizeof r->message - used;
    int own = r->verdict == SBX_EXITED || r->verdict == SBX_CRASHED || r->verdict == SBX_NO_RESULT;
    char *to = r->message + used, size[32];
    if (own && b->seen.saw & (SBX_SAW_MEMORY_NEAR | SBX_SAW_MEMORY_WORDS))
        snprintf(to, n, "; it may have run out of its %s of address space",
                 sbx__size(size, b->cfg.address_space_bytes));
    else if (own && b->seen.saw & SBX_SAW_FILE_WORDS)
        snprintf(to, n, "; it may have reached its limit of %s in a file",
                 sbx__size(size, b->cfg.file_bytes));
    else if (own && r->signal == SIGSEGV && b->cfg.stack_bytes > 0)
        snprintf(to, n, "; it may have run out of its %s of stack",
                 sbx__size(size, b->cfg.stack_bytes));
    else if (own) sbx__describe_count(b, r, to, n);
    if (b->seen.saw & SBX_SAW_STUCK)
        snprintf(to, n, "; processes of it are stuck in the kernel and could not be killed");
    else if (b->input_failed)
        snprintf(to, n, "; not all of its input could be fed: %s", strerror(b->input_failed));
    else if (r->verdict != SBX_OUTPUT_LIMIT && (b->stream[0].failed || b->stream[1].failed))
        snprintf(to, n, "; not all of its output could be kept");
    if (b->input_failed) r->sys_errno = b->input_failed;
}

/* ---- the result ---- */

/* How much of each ring is kept, if both streams share one cap: what the other leaves over, and at
   least half. Of one that is streamed, that is what on_output got beyond the first half. */
static void sbx__share_rings(const sbx *b, size_t keep[2]) {
    size_t most[2], cap;
    long long over = b->stream[0].counted + b->stream[1].counted - b->cfg.output_bytes;
    int i;
    for (i = 0; i < 2; i++) {
        most[i] = sbx__ring_cap(b, i);
        keep[i] = sbx__ring_holds(&b->stream[i]);
        if (keep[i] > most[i]) keep[i] = most[i];
    }
    cap = most[0] > most[1] ? most[0] : most[1];
    if (b->cfg.error_bytes != 0 || cap == 0) return;
    over += (long long)cap;
    for (i = 0; i < 2; i++)
        if (sbx__is_streamed(b, i) && over > 0) keep[i] = (size_t)over;

    for (i = 0; i < 2 && keep[0] + keep[1] > cap; i++) {
        size_t rest = cap - (keep[!i] < cap ? keep[!i] : cap), half = cap / 2;
        if (keep[i] > half && keep[!i] <= half) keep[i] = rest;
    }
    if (keep[0] + keep[1] > cap) {
        keep[0] = cap - cap / 2;
        keep[1] = cap / 2;
    }
    for (i = 0; i < 2; i++)
        if (!most[i]) keep[i] = 0;
}

/* The kept bytes, and behind them the last ones from the ring, become the result's. */
static void sbx__hand_over(sbx *b, sbx__stream *s, size_t tail, sbx_output *to) {
    size_t size = s->size + tail;
    char *data = NULL;
    to->total = s->total;
    to->truncated = s->truncated;
    to->gap = s->unrolled ? 0 : s->size;
    if (s->ring_total > tail) to->truncated = 1;
    if (!to->truncated) to->gap = 0;
    if (size == 0) return;

    sbx__ring_straighten(s, tail);
    if (s->taken) memmove(s->data, s->data + s->taken, size);
    s->taken = 0;
    data = (char *)SBX_REALLOC(s->data, size + 1);
    if (!data && s->capacity > size) data = s->data; /* shrinking failed: it fits all the same */
    if (!data) {
        sbx__fail_stream(b, s, ENOMEM);
        to->truncated = 1;
        return;
    }
    data[size] = 0;
    to->data = data;
    to->size = size;
    s->data = NULL;
}

static sbx_verdict sbx__conclude(sbx *b, sbx_result *r) {
    size_t tail[2] = {0, 0};
    sbx__blank(r, &b->cfg);
    r->wall_us = b->ended - b->started;
    if (b->cfg.truncate_output >= SBX_KEEP_LAST) sbx__share_rings(b, tail);
    sbx__hand_over(b, &b->stream[0], tail[0], &r->out);
    sbx__hand_over(b, &b->stream[1], tail[1], &r->err);
    sbx__observe(b, r);

    r->enforced = b->enforced;
    r->evidence = b->seen.saw;
    r->exit_code = b->seen.exit_code;
    r->signal = b->seen.signal;
    r->verdict = sbx_classify(&b->seen, &r->certain);
    sbx__describe(b, r);
    sbx__describe_more(b, r);
    if (b->is_call) sbx__call_result(b, r);
    return r->verdict;
}

static void sbx__free_box(sbx *b) {
    int i;
    if (!b) return;
    sbx__watch_free(b);
    if (b->cfg.contain != SBX_CONTAIN_GROUP) sbx__tree_free(b);
    if (b->cfg.policy) sbx__policy_free(b);
    if (b->cfg.cgroup) sbx__cgroup_free(b);
    sbx__common_free(&b->common);
    if (b->door != b->fd[SBX__CANCEL]) sbx__close(&b->door);
    for (i = 0; i < SBX__FDS; i++) sbx__drop(b, i);
    if (b->set) sbx__leave_set(b);
    for (i = 0; i < 2; i++) SBX_FREE(b->stream[i].data);
    SBX_FREE(b->input_copy);
    SBX_FREE(b->said);
    SBX_FREE(b);
}

/* ==== wing: call. A C function in a forked child, its result in memory that the host owns ==== */

#if SBX__HAS_CALL

/* ---- what rests on the insides of a libc, and what it gains ----
   Each function that is first called in a forked child costs a look-up by the dynamic linker and a
   page that is copied: 10 to 20 us each, of about 250 for a whole call. So the buffers of stdio are
   asked about without a call where the libc is known, and sbx__current stands in the same page as
   `environ`, which is written anyway. */
#ifdef __linux__
#include <stdio_ext.h>
#define SBX__AT_END(file) (feof_unlocked(file) != 0) /* another thread may be reading */
#else
#define SBX__AT_END(file) 1
#endif
#if defined(__GLIBC__)
#define SBX__UNREAD(file)                                                                          \
    ((file)->_mode > 0 || (file)->_IO_read_ptr < (file)->_IO_read_end || (file)->_IO_save_base)
#define SBX__PENDING(file)                                                                         \
    ((file)->_mode > 0 ? __fpending(file) > 0 : (file)->_IO_write_ptr > (file)->_IO_write_base)
#define SBX__IN_DATA __attribute__((section(".data")))
#elif defined(__linux__)
#define SBX__UNREAD(file) (__fbufsize(file) > 0)
#define SBX__PENDING(file) (__fpending(file) > 0)
#define SBX__IN_DATA
#else
#define SBX__UNREAD(file) 1
#define SBX__PENDING(file) 1
#define SBX__IN_DATA
#endif

/* Only ever set in the child of an sbx_call; in every host it stays NULL. */
static SBX__IN_DATA sbx__shared *sbx__current = NULL;

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

/* ---- the end of that paragraph ---- */

/* How large a stack the function is used to, where it gets one of its own: with a guard page. */
static size_t sbx__call_stack(const sbx__plan *p) {
    struct rlimit now;
    size_t size = 8u << 20;
    if (p->cfg.stack_bytes > 0) size = (size_t)p->cfg.stack_bytes;
    else if (getrlimit(RLIMIT_STACK, &now) == 0 && now.rlim_cur < (rlim_t)(1u << 28))
        size = (size_t)now.rlim_cur;
    return (size + 2 * 65536) & ~(size_t)65535;
}

static void sbx__call_plan(sbx__plan *p, sbx *b) {
    b->call.ret = p->call.ret;
    b->call.ret_size = p->call.ret_size;
    if (p->common.file >= 0 && !p->in_tree && !p->handle) {
        p->report = sbx__copy_up(p->common.file, p->low); /* no pipe is needed */
        b->call.reports = p->report >= 0;
    }

    /* The token is not a secret, only a value that no stray write of the function produces. */
    p->call.token = ((unsigned long long)sbx__now() << 20 ^ (unsigned long long)(size_t)b) | 1;
    b->call.token = p->call.token;
    if (p->in_tree) p->call.stack = sbx__call_stack(p);
}

static void sbx__flush(void) {
    if (SBX__PENDING(stdout)) fflush(stdout);
    if (SBX__PENDING(stderr)) fflush(stderr);
}

/* A crash must not hand the copy of the host's memory to whoever gets core dumps. RLIMIT_CORE sees
   to that, unless the host's own hard limit is 0. Root reads its children's memory figures all the
   same; an ordinary host could not. */
static void sbx__call_hide(void) {
#if SBX__LINUX
    struct rlimit core;
    if (geteuid() == 0 || (getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 0))
        syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

/* One page, or many whole ones, of which the function gets zeros instead of what `secret` covers. A
   page is replaced, not written to: it may be shared with the host, or hold this very stack. (Only
   Linux can replace that; elsewhere it is written to, and so is what nobody may replace.) */
static int sbx__forget_pages(char *page, size_t size, char *secret, size_t secret_size) {
    int whole = secret == page && secret_size == size, rights = PROT_READ | PROT_WRITE;
    int flags = MAP_PRIVATE | MAP_ANON;
    char *copy =
        (char *)mmap(whole ? page : NULL, size, rights, flags | (whole ? MAP_FIXED : 0), -1, 0);
    if (whole && copy == page) return 1;
#if !SBX__LINUX
    if (((char *)&copy >= page && (char *)&copy < page + size) ||
        (copy == (char *)MAP_FAILED && errno == EPERM) ||
        (mprotect(page, size, rights) != 0 && errno == EPERM)) {
        memset(secret, 0, secret_size);
        return 1;
    }
#endif
    if (copy == (char *)MAP_FAILED) return 0;
    if (mprotect(page, size, rights) != 0 && mprotect(page, size, PROT_READ) != 0) {
        errno = EFAULT; /* that is no memory */
        return 0;
    }

    memcpy(copy, page, size);
    memset(copy + (secret - page), 0, secret_size);
#if SBX__LINUX
    return syscall(SYS_mremap, copy, size, size, SBX__MREMAP_ONTO, page) != -1;
#else
    if (mmap(page, size, rights, flags | MAP_FIXED, -1, 0) == MAP_FAILED) return 0;
    while (size-- > 0) ((volatile char *)page)[size] = copy[size]; /* a call may need this page */
    return 1;
#endif
}

/* 0 = it cannot be done, and the function must not begin. */
static int sbx__call_forget(const sbx_range *range) {
    size_t unit = range ? (size_t)sysconf(_SC_PAGESIZE) : 0;
    for (; range && range->at; range++) {
        char *at = (char *)range->at, *end = at + range->size;
        while (at < end) {
            char *page = at - (size_t)at % unit, *next = page + unit;
            if (at == page && end - at >= (ptrdiff_t)unit) next = end - (size_t)end % unit;
            if (!sbx__forget_pages(page, (size_t)(next - page), at,
                                   (size_t)((next < end ? next : end) - at)))
                return 0;
            at = next;
        }
    }
    return 1;
}

/* Before there are limits, which could make that fail. */
static sbx_step sbx__call_child(sbx__plan *p) {
    int ok = sbx__common_map(&p->common) && sbx__call_forget(p->cfg.secrets);
    return ok ? SBX_STEP_NONE : SBX_STEP_MEMORY;
}

/* As the kernel has it: the function may have forked without the libc. */
static int sbx__own_pid(void) {
#if SBX__LINUX
    return (int)syscall(SYS_getpid);
#else
    return (int)getpid();
#endif
}

static int sbx__call_run(sbx__plan *p) {
    sbx__failure begun;
    int code, self;
    sbx__current = p->common.mapped;
    sbx__current->begun = 1;
    environ = p->envp;
    if (p->handle) { /* the host waits for this word */
        memset(&begun, 0, sizeof begun);
        if (write(p->low, &begun, sizeof begun) != (ssize_t)sizeof begun) return 126;
    }
    sbx__close_from(p->low); /* the report */
    sbx__call_hide();
    if (SBX__UNREAD(stdin)) sbx__purge(stdin); /* what the host has buffered is the host's */
    if (SBX__AT_END(stdin)) clearerr(stdin);
    if (SBX__PENDING(stdout)) sbx__purge(stdout);
    if (SBX__PENDING(stderr)) sbx__purge(stderr);

    self = sbx__own_pid();
    code = p->fn(p->call.arg, (char *)sbx__current + SBX__RET_AT, p->call.ret_size);
    sbx__flush();
    if (code == 0 && sbx__own_pid() == self) sbx__current->done = p->call.token; /* no copy of it */
    return code == 0 || (code & 255) != 0 ? code & 255 : 1;
}

static void sbx__call_failure(sbx *b) {
    sbx__failure f;
    if (b->call.reports && sbx__common_fetch(&b->common, &f, b->common.size, sizeof f))
        b->failure = f;
}

static int sbx__call_begun(const sbx *b) {
    sbx__shared now;
    return b->call.begun || !sbx__common_fetch(&b->common, &now, 0, sizeof now) || now.begun;
}

static void sbx__call_observe(sbx *b) {
    sbx__shared *left = &b->call.left;
    if (!sbx__common_fetch(&b->common, left, 0, sizeof *left)) {
        memset(left, 0, sizeof *left);
        if (errno) b->seen.saw |= SBX_SAW_BLIND;
    }
    left->text[sizeof left->text - 1] = 0;
    if (b->seen.exit_code != 0 || left->done != b->call.token) b->seen.saw |= SBX_SAW_NO_RESULT;
}

static const char *sbx__call_said(const sbx *b) {
    return b->call.left.failed ? b->call.left.text : "";
}

static void sbx__call_result(sbx *b, sbx_result *r) {
    if (r->verdict != SBX_OK || !b->call.ret_size) return;
    if (sbx__common_fetch(&b->common, b->call.ret, SBX__RET_AT, b->call.ret_size)) return;
    r->verdict = SBX_NO_RESULT;
    r->evidence |= SBX_SAW_NO_RESULT;
    r->certain = errno == 0;
    r->sys_errno = errno;
    if (errno == 0) /* it took the memory away */
        snprintf(r->message, sizeof r->message, "%s destroyed its result", b->who);
    else
        snprintf(r->message, sizeof r->message, "the result of %s cannot be read: %s", b->who,
                 strerror(errno));
}

/* ---- public ---- */

/* While one is forgotten, the list of them has to stay what it is. */
static int sbx__check_secrets(const sbx_range *list, sbx_result *r) {
    size_t from = (size_t)list, to = from, i;
    const char *why = NULL;
    for (i = 0; list && list[i].at; i++) to = (size_t)(list + i + 2);
    for (i = 0; list && list[i].at && !why; i++) {
        size_t at = (size_t)list[i].at, end = at + list[i].size;
        if (end < at) why = "at + size is past the end of memory";
        else if (at < to && from < end) why = "the list itself is in it";
    }
    if (!why) return 1;
    return sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "secrets[%d]: %s", (int)i - 1, why);
}

static sbx *sbx__open_call(const sbx_config *config, const sbx__plan *kind, sbx_result *r) {
    sbx__blank(r, config);
    if (!kind->fn) {
        sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "fn = NULL: there is no function to call");
        return NULL;
    }
    if ((kind->call.ret_size && !kind->call.ret) || kind->call.ret_size > (size_t)-1 / 4) {
        sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "ret_size = %lu, but ret is %s",
                    (unsigned long)kind->call.ret_size, kind->call.ret ? "not that large" : "NULL");
        return NULL;
    }
    if (config && !sbx__check_secrets(config->secrets, r)) return NULL;
    return sbx__open(config, kind, r);
}

SBX_API sbx *sbx_start_call(const sbx_config *config, sbx_fn fn, void *arg, void *ret,
                            size_t ret_size, sbx_result *result) {
    sbx_result ignored;
    sbx__plan kind;
    memset(&kind, 0, sizeof kind);
    kind.handle = 1;
    kind.fn = fn;
    kind.call.arg = arg;
    kind.call.ret = ret;
    kind.call.ret_size = ret_size;
    return sbx__open_call(config, &kind, result ? result : &ignored);
}

SBX_API sbx_verdict sbx_call(const sbx_config *config, sbx_fn fn, void *arg, void *ret,
                             size_t ret_size, sbx_result *result) {
    sbx_result ignored;
    sbx__plan kind;
    sbx *box;
    memset(&kind, 0, sizeof kind);
    kind.fn = fn;
    kind.call.arg = arg;
    kind.call.ret = ret;
    kind.call.ret_size = ret_size;
    box = sbx__open_call(config, &kind, result ? result : &ignored);
    return box ? sbx_finish(box, result) : SBX_NOT_STARTED;
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

#else

static void sbx__call_plan(sbx__plan *p, sbx *b) { (void)p, (void)b; }
static sbx_step sbx__call_child(sbx__plan *p) { return p ? SBX_STEP_NONE : SBX_STEP_MEMORY; }
static int sbx__call_run(sbx__plan *p) { return p ? 126 : 0; }
static pid_t sbx__call_fork(sbx__plan *p, int (*first)(void *)) {
    pid_t pid = fork();
    if (pid == 0) first(p);
    return pid;
}
static void sbx__call_failure(sbx *b) { (void)b; }
static int sbx__call_begun(const sbx *b) { return b != NULL; }
static void sbx__call_observe(sbx *b) { (void)b; }
static const char *sbx__call_said(const sbx *b) { return b ? "" : NULL; }
static void sbx__call_result(sbx *b, sbx_result *r) { (void)b, (void)r; }

static void sbx__call_off(const sbx_config *config, sbx_result *result) {
    sbx_result ignored, *r = result ? result : &ignored;
    sbx__blank(r, config);
    sbx__refuse(r, SBX_STEP_CONFIG, ENOSYS, "sbx_call was compiled out: SBX_NO_CALL");
}
SBX_API sbx *sbx_start_call(const sbx_config *config, sbx_fn fn, void *arg, void *ret,
                            size_t ret_size, sbx_result *result) {
    (void)fn, (void)arg, (void)ret, (void)ret_size;
    sbx__call_off(config, result);
    return NULL;
}
SBX_API sbx_verdict sbx_call(const sbx_config *config, sbx_fn fn, void *arg, void *ret,
                             size_t ret_size, sbx_result *result) {
    (void)fn, (void)arg, (void)ret, (void)ret_size;
    sbx__call_off(config, result);
    return SBX_NOT_STARTED;
}
SBX_API void sbx_fail(const char *format, ...) { (void)format; }
#endif

/* ---- nursery: a process that was forked early, and forks for the host ---- */

/* The host lays out the plan of a call in a file in memory, as if it stood at an address that was
   reserved before the nursery was forked, and sends it with its descriptors. The nursery forks; the
   copy becomes the host's own child (CLONE_PARENT), maps the plan there, and goes on like any other
   copy of the host. */

#if SBX__HAS_CALL && SBX__LINUX

#include <sys/socket.h>

#define SBX__COT_SIZE (4u << 20) /* the reserved addresses: stacks first, then the plan */
#define SBX__COT_PLAN ((SBX__STACKS * SBX__STACK + 65535) / 65536 * 65536) /* whole pages */
#define SBX__COT_FDS 240 /* the kernel passes 253 at once */
#define SBX__COT_FIXED 0x10 /* MAP_FIXED */

struct sbx_nursery {
    pid_t owner; /* who opened it: only there its children arrive */
    int line; /* a socket, on which the nursery listens */
    int pidfd;
    pid_t pid;
    char *cot;
};

typedef struct sbx__order { /* what is sent with the descriptors */
    size_t size, arg_at, arg_size; /* of the plan; where arg stands in the file */
    int fds;
} sbx__order;

typedef struct sbx__cradle { /* the beginning of the file */
    int born; /* the number of the new child, by the kernel */
    sbx__plan plan;
    int (*first)(void *);
    size_t where[SBX__COT_FDS]; /* which int of the file takes the descriptor of that index */
} sbx__cradle;

typedef struct sbx__layout { /* the file, while the host builds it */
    char *data, *at; /* its bytes; the address that they will have */
    size_t size, room;
    int fd[SBX__COT_FDS], fds, failed;
} sbx__layout;

/* Adds bytes; the answer is the address that they will have. */
static void *sbx__lay(sbx__layout *l, const void *bytes, size_t size) {
    size_t at = (l->size + 15) & ~(size_t)15;
    if (at + size > l->room) {
        size_t room = 2 * (at + size);
        char *data = (char *)SBX_REALLOC(l->data, room);
        if (!data) l->failed = ENOMEM;
        if (!data) return NULL;
        l->data = data;
        l->room = room;
    }
    if (size) memcpy(l->data + at, bytes, size);
    l->size = at + size;
    return l->at + at;
}

static char *sbx__lay_text(sbx__layout *l, const char *text) {
    return text ? (char *)sbx__lay(l, text, strlen(text) + 1) : NULL;
}

/* Notes that the int at that place of the file stands for a descriptor. */
static void sbx__lay_fd(sbx__layout *l, const void *place, int fd) {
    sbx__cradle *c = (sbx__cradle *)(void *)l->data;
    if (fd < 0 || l->failed) return;
    if (l->fds == SBX__COT_FDS) {
        l->failed = EMFILE;
        return;
    }
    c->where[l->fds] = (size_t)((const char *)place - l->at);
    l->fd[l->fds++] = fd;
}

/* The address in the file of a field of the plan. */
#define SBX__AT(l, field) ((l)->at + offsetof(sbx__cradle, plan) + offsetof(sbx__plan, field))
#define SBX__LAID(l) (&((sbx__cradle *)(void *)(l)->data)->plan)

static void sbx__lay_policy(sbx__layout *l, const sbx__plan *p) {
    const sbx__plan_policy *q = &p->policy;
    size_t size = (size_t)q->used * sizeof *q->spots;
    void *filter = sbx__lay(l, q->filter, (size_t)q->filter_size * sizeof *q->filter);
    void *policy = sbx__lay(l, p->cfg.policy, sizeof *p->cfg.policy);
    char *spots = (char *)sbx__lay(l, q->spots, size);
    int i;

    for (i = 0; i < q->used && !l->failed; i++) {
        char *at = sbx__lay_text(l, q->spots[i].at), *link = sbx__lay_text(l, q->spots[i].link);
        sbx__spot *spot = (sbx__spot *)(void *)(l->data + (spots - l->at)) + i;
        spot->at = at;
        spot->link = link;
        sbx__lay_fd(l, spots + (size_t)i * sizeof *spot + offsetof(sbx__spot, fd), spot->fd);
    }
    if (l->failed) return;
    SBX__LAID(l)->policy.filter = (sbx__insn *)filter;
    SBX__LAID(l)->policy.spots = (sbx__spot *)(void *)spots;
    SBX__LAID(l)->cfg.policy = (const sbx_policy *)policy;
    sbx__lay_fd(l, SBX__AT(l, policy.ruleset), q->ruleset);
    sbx__lay_fd(l, SBX__AT(l, policy.ear_pipe), q->ear_pipe);
    sbx__lay_fd(l, SBX__AT(l, policy.ear_image), q->ear_image);
}

static void sbx__lay_fds(sbx__layout *l, const sbx__plan *p, char *pass) {
    const sbx_io mode[3] = {p->cfg.in, p->cfg.out, p->cfg.err};
    int i;
    sbx__lay_fd(l, SBX__AT(l, report), p->report); /* the first: see sbx__hatch */
    for (i = 0; i < 3; i++)
        sbx__lay_fd(l, SBX__AT(l, fd[0]) + (size_t)i * sizeof(int),
                    mode[i] == SBX_INHERIT ? i : p->fd[i]);
    for (i = 0; i < p->passed; i++) sbx__lay_fd(l, pass + (size_t)i * sizeof(int), p->pass[i]);
    sbx__lay_fd(l, SBX__AT(l, common.file), p->common.file);
    sbx__lay_fd(l, SBX__AT(l, cgroup.procs), p->cgroup.procs);
    sbx__lay_fd(l, SBX__AT(l, tree.life), p->tree.life);
    sbx__lay_fd(l, SBX__AT(l, tree.null), p->tree.null);
    sbx__lay_fd(l, SBX__AT(l, tree.timer), p->tree.timer);
    sbx__lay_fd(l, SBX__AT(l, tree.children), p->tree.children);
    sbx__lay_fd(l, SBX__AT(l, tree.image), p->tree.image);
    sbx__lay_fd(l, SBX__AT(l, tree.gate[0]), p->tree.gate[0]);
    sbx__lay_fd(l, SBX__AT(l, tree.host), p->tree.host);
}

static void sbx__lay_plan(sbx__layout *l, const sbx__plan *p, int (*first)(void *)) {
    size_t count = sbx__count((const char *const *)p->envp), i;
    sbx__cradle cradle;
    char *cwd, *pass, **envp;
    memset(&cradle, 0, sizeof cradle);
    cradle.plan = *p;
    cradle.first = first;
    sbx__lay(l, &cradle, sizeof cradle);
    cwd = sbx__lay_text(l, p->cwd);
    pass = (char *)sbx__lay(l, p->pass, (size_t)p->passed * sizeof *p->pass);
    envp = (char **)sbx__lay(l, p->envp, (count + 1) * sizeof *envp);
    for (i = 0; i < count && !l->failed; i++) {
        char *text = sbx__lay_text(l, p->envp[i]);
        if (text) ((char **)(void *)(l->data + ((char *)envp - l->at)))[i] = text;
    }
    if (l->failed) return;

    SBX__LAID(l)->cwd = cwd;
    SBX__LAID(l)->pass = (int *)(void *)pass;
    SBX__LAID(l)->envp = envp;
    SBX__LAID(l)->memory = l->at - SBX__COT_PLAN;
    sbx__lay_fds(l, p, pass);
    if (p->cfg.policy) sbx__lay_policy(l, p);
}

/* The file with the plan, and behind it arg. -1: errno says why. */
static int sbx__lay_out(const sbx__plan *p, sbx__layout *l, sbx__order *order) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct rlimit most;
    int fd;
    errno = l->failed ? l->failed : EFBIG;
    order->size = l->size;
    order->arg_at = (l->size + page - 1) / page * page;
    order->arg_size = p->cfg.arg_size;
    order->fds = l->fds;
    if (l->failed || l->size > SBX__COT_SIZE - SBX__COT_PLAN) return -1;
    if (getrlimit(RLIMIT_FSIZE, &most) != 0) return -1;
    if (most.rlim_cur < order->arg_at + order->arg_size) return -1; /* else SIGXFSZ */

    fd = (int)syscall(SYS_memfd_create, "sbx-plan", SBX__MFD_CLOEXEC);
    if (fd < 0) return -1;
    if (pwrite(fd, l->data, l->size, 0) == (ssize_t)l->size &&
        (!order->arg_size || pwrite(fd, p->call.arg, order->arg_size, (off_t)order->arg_at) ==
                                 (ssize_t)order->arg_size))
        return fd;
    sbx__close(&fd);
    return -1;
}

/* A message with descriptors: the file, where the answer goes, then those of the plan. */
typedef struct sbx__parcel {
    struct msghdr head;
    struct iovec data;
    union {
        size_t align;
        char bytes[CMSG_SPACE((SBX__COT_FDS + 2) * sizeof(int))];
    } control;
} sbx__parcel;

static void sbx__wrap(sbx__parcel *parcel, sbx__order *order) {
    memset(parcel, 0, sizeof *parcel);
    parcel->data.iov_base = order;
    parcel->data.iov_len = sizeof *order;
    parcel->head.msg_iov = &parcel->data;
    parcel->head.msg_iovlen = 1;
    parcel->head.msg_control = parcel->control.bytes;
    parcel->head.msg_controllen = sizeof parcel->control.bytes;
}

/* The host asks. The answer is an error, or just comes; the number of its new child stands in the
   file, even if the nursery did not live to answer. */
static pid_t sbx__order_child(const sbx_nursery *n, sbx__layout *l, int file, sbx__order *order) {
    struct cmsghdr *control;
    sbx__parcel parcel;
    int answer[2] = {-1, -1}, all[SBX__COT_FDS + 2], error = 0, born = 0, tries = 0;
    size_t size = (size_t)(l->fds + 2) * sizeof(int);
    ssize_t sent = -1;
    void *cradle = mmap(NULL, sizeof(int), PROT_READ, MAP_SHARED, file, 0);
    if (cradle == MAP_FAILED) return -1;
    if (!sbx__pipe(&answer[0], &answer[1], 3)) {
        munmap(cradle, sizeof(int));
        return -1;
    }
    all[0] = file;
    all[1] = answer[1];
    memcpy(all + 2, l->fd, (size_t)l->fds * sizeof(int));
    sbx__wrap(&parcel, order);
    parcel.head.msg_controllen = (socklen_t)CMSG_SPACE(size); /* a size_t in glibc */
    control = CMSG_FIRSTHDR(&parcel.head);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = (socklen_t)CMSG_LEN(size);
    memcpy(CMSG_DATA(control), all, size);

    do sent = sendmsg(n->line, &parcel.head, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    sbx__close(&answer[1]);
    if (sent == (ssize_t)sizeof *order) {
        while (read(answer[0], &error, sizeof error) < 0 && tries++ < 1000) {
            if (errno != EINTR) sbx__nap();
        }
        born = *(volatile int *)cradle;
        errno = error > 0 ? error : ESRCH; /* it ended instead of answering */
    }
    munmap(cradle, sizeof(int));
    sbx__close(&answer[0]);
    return born > 0 ? (pid_t)born : -1;
}

SBX__APART pid_t sbx__nursery_spawn(sbx__plan *p, int (*first)(void *)) {
    const sbx_nursery *n = p->cfg.nursery;
    sbx__layout l;
    sbx__order order;
    pid_t pid = -1;
    int file;
    memset(&l, 0, sizeof l);
    memset(&order, 0, sizeof order);
    l.at = n->cot + SBX__COT_PLAN;
    sbx__lay_plan(&l, p, first);
    file = sbx__lay_out(p, &l, &order);
    if (file >= 0) pid = sbx__order_child(n, &l, file, &order);
    if (pid < 0 && (errno == EPIPE || errno == ECONNRESET || errno == ECONNREFUSED)) errno = ESRCH;
    sbx__close(&file);
    SBX_FREE(l.data);
    return pid;
}

static pid_t sbx__call_fork(sbx__plan *p, int (*first)(void *)) {
    pid_t pid;
    if (p->cfg.nursery) return sbx__nursery_spawn(p, first);
    pid = fork();
    if (pid == 0) first(p);
    return pid;
}

/* In the new child: the plan takes its place, with the descriptors that came with it. */
static void sbx__hatch(char *cot, const sbx__order *order, const int *fd) {
    sbx__cradle *c = (sbx__cradle *)(void *)(cot + SBX__COT_PLAN);
    int flags = MAP_PRIVATE | SBX__COT_FIXED, report = fd[2], i;
    void *arg = NULL;
    if (mmap(cot, SBX__COT_PLAN, PROT_READ | PROT_WRITE, flags | MAP_ANON, -1, 0) == MAP_FAILED ||
        mmap(c, order->size, PROT_READ | PROT_WRITE, flags, fd[0], 0) == MAP_FAILED)
        sbx__quit_with(fd[2], SBX_STEP_MEMORY, 0);
    if (order->arg_size)
        arg = mmap(NULL, order->arg_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd[0],
                   (off_t)order->arg_at);
    if (arg == MAP_FAILED) sbx__quit_with(fd[2], SBX_STEP_MEMORY, 0);

    close(fd[0]);
    close(fd[1]);
    for (i = 0; i < order->fds; i++) {
        int moved = sbx__move_up(fd[2 + i], c->plan.low);
        if (moved < 0) sbx__quit_with(report, SBX_STEP_IO, 0);
        if (i == 0) report = moved;
        memcpy(cot + SBX__COT_PLAN + c->where[i], &moved, sizeof moved);
    }
    c->plan.call.arg = arg;
    c->first(&c->plan);
}

/* A fork whose child is the host's. The libc's own number of the thread is renewed by the kernel,
   as its fork does it; the last two arguments of the call have no order that all machines share. */
static pid_t sbx__fork_for_parent(int *born) {
    unsigned long flags = SBX__CLONE_PARENT | SBX__CLONE_PARENT_SETTID | SIGCHLD;
    unsigned long long address = 0;
    void *word = NULL;
    if (prctl(SBX__PR_GET_TID_ADDRESS, &address, 0, 0, 0) == 0) word = (void *)(size_t)address;
    if (word) flags |= SBX__CLONE_SETTID | SBX__CLONE_CLEARTID;
#ifdef __s390x__
    return (pid_t)syscall(SYS_clone, 0ul, flags, born, word, word);
#else
    return (pid_t)syscall(SYS_clone, flags, 0ul, born, word, word);
#endif
}

/* The kernel notes the number of the child in the host's file. The child does not have that
   mapping. Returns 0 in the child, else an error or -1. */
static int sbx__nursery_fork(int file) {
    void *born = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    int error = -1;
    pid_t pid = -1;
    if (born == MAP_FAILED) return errno;
    if (syscall(SYS_madvise, born, sizeof(int), SBX__MADV_DONTFORK) == 0)
        pid = sbx__fork_for_parent((int *)born);
    if (pid == 0) return 0;
    if (pid < 0) error = errno;
    munmap(born, sizeof(int));
    return error;
}

/* The nursery's life: an order, a child, the answer. It ends when the host closes the line. */
static void sbx__nursery_live(int line, char *cot) {
    int fd[SBX__COT_FDS + 2], count, i, answer;
    struct cmsghdr *control;
    sbx__parcel parcel;
    sbx__order order;
    for (;;) {
        ssize_t n;
        memset(&order, 0, sizeof order);
        memset(fd, 255, sizeof fd); /* -1 each */
        sbx__wrap(&parcel, &order);
        n = recvmsg(line, &parcel.head, MSG_CMSG_CLOEXEC);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;

        control = CMSG_FIRSTHDR(&parcel.head);
        count = control ? (int)((control->cmsg_len - CMSG_LEN(0)) / sizeof(int)) : 0;
        if (count > 0) memcpy(fd, CMSG_DATA(control), (size_t)count * sizeof(int));
        if (n == (ssize_t)sizeof order && count == order.fds + 2) {
            answer = sbx__nursery_fork(fd[0]);
            if (answer == 0) sbx__hatch(cot, &order, fd);
        } else {
            answer = EMFILE; /* not all descriptors came through */
        }
        if (count > 1 && write(fd[1], &answer, sizeof answer) < 0) answer = 0;
        for (i = 0; i < count; i++) close(fd[i]);
    }
}

static void sbx__nursery_begin(int line, char *cot) {
    sigset_t all;
    int null = sbx__open_null(4), i;
    sigfillset(&all);
    SBX__SIGMASK(SIG_SETMASK, &all, NULL);
    if (!sbx__new_session() || null < 0) sbx__quit(1);
    line = sbx__move_up(line, 4);
    for (i = 0; i < 3; i++) sbx__dup(null, i, 0);
    if (sbx__dup(line, 3, O_CLOEXEC) < 0) sbx__quit(1);
    sbx__close_from(4);
    sbx__nursery_live(3, cot);
    sbx__quit(0);
}

SBX_API sbx_nursery *sbx_nursery_open(sbx_result *result) {
    sbx_result ignored, *r = result ? result : &ignored;
    sbx_nursery *n = (sbx_nursery *)sbx__zalloc(sizeof *n);
    int line[2] = {-1, -1};
    void *cot = mmap(NULL, SBX__COT_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
    sbx__blank(r, NULL);
    if (!n || cot == MAP_FAILED) sbx__no_memory(r, "a nursery");
    else if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0)
        sbx__refuse(r, SBX_STEP_IO, errno, "no socket for a nursery: %s", strerror(errno));
    else if ((n->pid = fork()) == 0) sbx__nursery_begin(line[1], (char *)cot);
    else if (n->pid < 0)
        sbx__refuse(r, SBX_STEP_SPAWN, errno, "no process for a nursery: %s", strerror(errno));

    sbx__close(&line[1]);
    if (n && n->pid > 0) {
        n->line = sbx__move_up(line[0], 3); /* -1: calls are refused */
        n->pidfd = sbx__move_up(sbx__open_pidfd(n->pid), 3);
        n->cot = (char *)cot;
        n->owner = getpid();
        snprintf(r->message, sizeof r->message, "the nursery is open");
        return n;
    }
    sbx__close(&line[0]);
    if (cot != MAP_FAILED) munmap(cot, SBX__COT_SIZE);
    SBX_FREE(n);
    return NULL;
}

static int sbx__call_owns(const struct sbx_nursery *n) { return n->owner == getpid(); }

SBX_API void sbx_nursery_close(sbx_nursery *nursery) {
    if (!nursery) return;
    sbx__close(&nursery->line); /* it ends by itself; a copy of the host may hold the line */
    if (sbx__call_owns(nursery)) {
        sbx__pidfd_signal(nursery->pidfd, SIGKILL, 0);
        sbx__collect(nursery->pid, 0, NULL);
    }
    sbx__close(&nursery->pidfd);
    munmap(nursery->cot, SBX__COT_SIZE);
    SBX_FREE(nursery);
}

#else

#if SBX__HAS_CALL
static pid_t sbx__call_fork(sbx__plan *p, int (*first)(void *)) {
    pid_t pid = fork();
    if (pid == 0) first(p);
    return pid;
}
#endif
SBX_API sbx_nursery *sbx_nursery_open(sbx_result *result) {
    sbx_result ignored, *r = result ? result : &ignored;
    sbx__blank(r, NULL);
    sbx__refuse(r, SBX_STEP_CONFIG, ENOSYS, "a nursery %s",
                SBX__HAS_CALL ? "is for Linux only" : "was compiled out: SBX_NO_CALL");
    return NULL;
}
static int sbx__call_owns(const struct sbx_nursery *n) { return n != NULL; }
SBX_API void sbx_nursery_close(sbx_nursery *nursery) { (void)nursery; }
#endif

/* ==== linux base: /proc ====================================================================== */

#if SBX__LINUX

/* Reads a text file whole, as far as there is room. Root may have put a FIFO there. */
static size_t sbx__read_file(int dir, const char *path, char *text, size_t room) {
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t size = 0;
    ssize_t n = 1;
    while (fd >= 0 && n > 0 && size < room - 1) {
        n = read(fd, text + size, room - 1 - size);
        if (n < 0 && errno == EINTR) n = 1;
        else if (n > 0) size += (size_t)n;
    }
    if (fd >= 0) {
        int error = errno;
        close(fd);
        errno = error;
    }
    text[size] = 0;
    return size;
}

/* 0 if the process is gone. */
static size_t sbx__proc_read(int proc, int pid, const char *name, char *text, size_t room) {
    char path[80];
    snprintf(path, sizeof path, "%d/%s", pid, name);
    return sbx__read_file(proc, path, text, room);
}

#define SBX__MOST_COUNTED 10000000000LL

/* pid (name) state parent group session tty tpgid flags minor, of-waited, major, of-waited faults,
   utime stime cutime cstime priority nice threads 0 start space pages most code code stack sp ip
   pending blocked ignored ... */
static int sbx__proc_stat(int proc, int pid, sbx__task *t) {
    char text[1024], *at;
    long long field[30];
    int i, ended;
    memset(t, 0, sizeof *t);
    if (!sbx__proc_read(proc, pid, "stat", text, sizeof text)) return 0;
    at = strrchr(text, ')'); /* the name may hold anything, a parenthesis too */
    if (!at || !at[1] || !at[2]) return 0;
    ended = at[2] == 'Z' || at[2] == 'X';
    t->waits = at[2] == 'R';
    for (at += 3, i = 0; i < 30; i++) field[i] = (long long)strtoull(at, &at, 10);
    for (i = 6; i < 14; i++) /* faults and ticks, of which nobody has so many */
        if (field[i] < 0 || field[i] > SBX__MOST_COUNTED) field[i] = SBX__MOST_COUNTED;

    t->pid = pid;
    t->parent = (int)field[0];
    t->group = (int)field[1];
    t->session = (int)field[2];
    t->no_exec = (field[5] & 0x40) != 0; /* PF_FORKNOEXEC */
    t->ending = (field[5] & 4) != 0; /* PF_EXITING */
    t->faults = field[6] + field[8];
    t->waited = field[7] + field[9];
    t->cpu = field[10] + field[11];
    t->reaped = field[12] + field[13];
    t->threads = (int)field[16];
    t->space = field[19];
    t->pages = field[20];
    t->forgets = (field[29] >> (SIGCHLD - 1) & 1) != 0;
    t->opaque = field[22] == 1 && !ended && !t->ending; /* its code is not shown */
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

/* Does nobody of the group run any more? Zombies are pid 1's to collect, or their parents'. -1 = it
   cannot be seen: what is listed has to hold the host itself, and pid 1, which hidepid hides. */
static int sbx__proc_group_dead(const sbx *b) {
    int pid, proc = sbx__open_proc(), alive = 0, sighted = 0;
    DIR *dir = proc >= 0 ? sbx__list(proc, ".") : NULL;
    sbx__task t;
    while (dir && (pid = sbx__next_pid(dir)) != 0) {
        if (pid == (int)getpid() || pid == 1) sighted |= pid == 1 ? 1 : 2;
        if (!sbx__proc_stat(proc, pid, &t) || t.group != (int)b->pid) continue;
        if (!t.dead) alive = 1;
        else if (b->collected && !b->held_until && t.parent == (int)getpid())
            alive = 1; /* the host's to collect */
    }
    if (dir) closedir(dir);
    sbx__close(&proc);
    if (alive) return 0;
    return sighted == 3 || (sighted && getpid() == 1) ? 1 : -1;
}

/* Is there somebody of the tree, or of the group, who would die if there was a CPU to do it on? */
static int sbx__proc_starved(const sbx *b) {
    int pid, own = sbx__tree_proc(b), proc = own >= 0 ? own : sbx__open_proc(), found = 0;
    DIR *dir = proc >= 0 ? sbx__list(proc, ".") : NULL;
    sbx__task t;
    while (dir && !found && (pid = sbx__next_pid(dir)) != 0)
        found = sbx__proc_stat(proc, pid, &t) && (own >= 0 || t.group == (int)b->pid) && t.waits;
    if (dir) closedir(dir);
    if (own < 0) sbx__close(&proc);
    return found;
}

/* Waits for the exec, or the end, of a child that has only a copy of the host's memory. If it could
   not start, its name says why: nobody who has run a program shows as one that has not. */
static void sbx__proc_await_copy(const sbx *b, sbx__failure *f) {
    int proc = sbx__open_proc(), there;
    unsigned step, error, which;
    char name[32];
    sbx__task t;
    while ((there = sbx__proc_stat(proc, (int)b->pid, &t)) && t.no_exec && !t.dead) sbx__nap();
    if (there && t.no_exec && sbx__proc_read(proc, (int)b->pid, "comm", name, sizeof name) &&
        sscanf(name, "sbx%4x%4x%4x", &step, &error, &which) == 3) {
        f->step = (sbx_step)step;
        f->error = (int)error;
        f->which = (int)which;
    }
    sbx__close(&proc);
}

/* A text file of /proc line by line, however long it is. Lines that do not fit are left out. */
typedef struct sbx__lines {
    int fd, skip;
    size_t at, end;
    char text[2048];
} sbx__lines;

SBX__SOMETIMES int sbx__open_lines(sbx__lines *l, int proc, int pid, const char *name) {
    char path[80];
    snprintf(path, sizeof path, "%d/%s", pid, name);
    l->skip = 0;
    l->at = l->end = 0;
    l->fd = openat(proc, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return l->fd >= 0;
}

SBX__SOMETIMES const char *sbx__next_line(sbx__lines *l) {
    for (;;) {
        char *line = l->text + l->at, *end = (char *)memchr(line, '\n', l->end - l->at);
        ssize_t n;
        if (end) {
            int whole = !l->skip;
            *end = 0;
            l->at = (size_t)(end + 1 - l->text);
            l->skip = 0;
            if (whole) return line;
            continue;
        }

        l->end -= l->at;
        memmove(l->text, line, l->end);
        l->at = 0;
        if (l->end == sizeof l->text) {
            l->end = 0;
            l->skip = 1;
        }

        n = read(l->fd, l->text + l->end, sizeof l->text - l->end);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return NULL;
        l->end += (size_t)n;
    }
}

/* The last number of a line, if it begins with the label. */
SBX__SOMETIMES int sbx__line_number(const char *line, const char *label, long long *number) {
    size_t size = strlen(label);
    char *end = NULL;
    if (strncmp(line, label, size) != 0) return 0;
    for (line += size;; line = end) {
        long long next = strtoll(line, &end, 10);
        if (end == line) return 1;
        *number = next;
    }
}

/* Numbers of a file of /proc, by label; 0 where there is none. Returns 0 if it cannot be read. */
SBX__SOMETIMES int sbx__proc_numbers(int proc, int pid, const char *name, const char *const *labels,
                                     long long *numbers, int count) {
    const char *line;
    sbx__lines l;
    int i, found = 0;
    memset(numbers, 0, (size_t)count * sizeof *numbers);
    if (!sbx__open_lines(&l, proc, pid, name)) return 0;
    while ((line = sbx__next_line(&l)) != NULL)
        for (i = 0; i < count; i++) found += sbx__line_number(line, labels[i], &numbers[i]);
    close(l.fd);
    return found > 0;
}

static long long sbx__number_after(const char *text, const char *label, long long none) {
    const char *at = strstr(text, label);
    return at ? strtoll(at + strlen(label), NULL, 10) : none;
}

/* Tasks of this user, for RLIMIT_NPROC. */
static long long sbx__user_tasks(unsigned user) {
    char text[1024];
    long long tasks = 0;
    int pid, proc = sbx__open_proc();
    DIR *dir = proc >= 0 ? sbx__list(proc, ".") : NULL;
    sbx__task t;
    while (dir && (pid = sbx__next_pid(dir)) != 0)
        if (sbx__proc_read(proc, pid, "status", text, sizeof text) &&
            sbx__number_after(text, "\nUid:", -1) == (long long)user &&
            sbx__proc_stat(proc, pid, &t)) /* in status it may stand far behind the groups */
            tasks += t.threads;
    if (dir) closedir(dir);
    sbx__close(&proc);
    return tasks;
}

/* What follows is used by some of the wings. */

/* Is there a /proc, and does it speak of this PID namespace? If not, errno says why. */
SBX__SOMETIMES int sbx__has_proc(void) {
    char self[16];
    ssize_t n = readlink("/proc/self", self, sizeof self - 1);
    if (n >= 0) errno = ESRCH;
    self[n > 0 ? n : 0] = 0;
    return atoi(self) == (int)getpid();
}

/* Valgrind ends a host whose child shares its descriptors. It shows by what it preloads. */
SBX__SOMETIMES int sbx__in_valgrind(void) {
    const char *preload = getenv("LD_PRELOAD");
    return preload && strstr(preload, "/vgpreload_") != NULL;
}

SBX__SOMETIMES int sbx__put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC), ok = fd >= 0 && write(fd, text, strlen(text)) > 0;
    if (fd >= 0) {
        int error = errno;
        close(fd);
        errno = error;
    }
    return ok;
}

/* Which PID namespace a process is in, or the one above that by so many levels; 0 = gone. */
SBX__SOMETIMES unsigned long long sbx__pid_ns(int proc, int pid, int level) {
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

#else
static int sbx__proc_group_dead(const sbx *b) { return b ? -1 : 0; }
static int sbx__proc_starved(const sbx *b) { return !b; }
static void sbx__proc_await_copy(const sbx *b, sbx__failure *f) { (void)b, (void)f; }
static long long sbx__user_tasks(unsigned user) { return (void)user, 0; }
#endif

/* ==== wing: tree. A PID namespace: no process can leave it, and it dies as a whole =========== */

/* The kernel kills everybody in a PID namespace when its pid 1 ends, wherever they have moved by
   setsid or double forks. So pid 1 is a little program of ours that waits at a pipe from the host:
   when the host closes the pipe, or dies, pid 1 ends. A signal number in the pipe goes to everybody
   (kill(-1), as only somebody inside can do it). It waits for orphans, so that their CPU time is
   not lost, and it has the deadline too, for a child may find a way to keep the host's thread in
   the kernel. It is a program of its own, because it must not share the host's memory, and because
   forking the host costs what the host weighs. */

#if SBX__HAS_TREE

/* The numbers that pid 1 has its descriptors at. */
enum { SBX__INIT_LIFE = 0, SBX__INIT_CHILDREN = 3, SBX__INIT_TIMER = 4, SBX__INIT_IMAGE = 5 };

/* clang-format off */
#if SBX__ARCH == 0xC000003Eu || SBX__ARCH == 0xC00000B7u
#define SBX__HAS_IMAGE 1
/* The whole program: an ELF header, one segment, and this loop, which sbx__init_loop has in C. */
static const struct sbx__image {
    unsigned char ident[16]; unsigned short type, machine; unsigned version;
    unsigned long long entry, segments, sections;
    unsigned flags; unsigned short size, segment_size, segment_count, none[3];
    unsigned kind, access; unsigned long long offset, address, physical, in_file, in_memory, align;
#ifdef __x86_64__
    unsigned char code[208];
#else
    unsigned code[52];
#endif
} sbx__image = {
    {0x7F, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 2, SBX__ARCH & 0xFFFFu, 1,
    0x400078, 64, 0, 0, 64, 56, 1, {0, 0, 0}, 1, 5, 0, 0x400000, 0x400000, 328, 328, 4096,
#ifdef __x86_64__
    {0x48, 0x81, 0xEC, 168, 0, 0, 0, 0x31, 0xDB,          /* sub rsp, 168; xor ebx, ebx */
     /* again: pollfd {0, POLLIN}, {3, POLLIN}, {4, POLLIN}, timespec {0, 0} */
     0x48, 0xB8, 0, 0, 0, 0, 1, 0, 0, 0, 0x48, 0x89, 0x04, 0x24, 0x48, 0x83, 0xC0, 3,
     0x48, 0x89, 0x44, 0x24, 8, 0x48, 0xFF, 0xC0, 0x48, 0x89, 0x44, 0x24, 16,
     0x31, 0xD2, 0x48, 0x89, 0x54, 0x24, 24, 0x48, 0x89, 0x54, 0x24, 32,
     /* ppoll(fds, 3, ebx ? &zero : NULL, NULL) */
     0x85, 0xDB, 0x74, 5, 0x48, 0x8D, 0x54, 0x24, 24, 0x48, 0x89, 0xE7, 0xBE, 3, 0, 0, 0,
     0x45, 0x31, 0xD2, 0xB8, 0x0F, 1, 0, 0, 0x0F, 0x05,
     0x83, 0xF8, 0xEA, 0x74, 0x69,                        /* EINVAL: somebody blinds it: quit */
     0x66, 0x83, 0x7C, 0x24, 22, 0, 0x75, 0x61,           /* if (fds[2].revents) quit */
     0x48, 0x8D, 0x74, 0x24, 40,                          /* buffer */
     0x66, 0x83, 0x7C, 0x24, 6, 0, 0x74, 0x21,            /* if (!fds[0].revents) children */
     0x31, 0xFF, 0xBA, 1, 0, 0, 0, 0x31, 0xC0, 0x0F, 0x05, 0xFF, 0xC8, 0x75, 0x45, /* read(0) */
     0x0F, 0xB6, 0x74, 0x24, 40, 0x48, 0x83, 0xCF, 0xFF, 0xB8, 62, 0, 0, 0, 0x0F, 0x05, /* kill */
     0xEB, 0x2E,                                          /* again, by way of the end */
     /* children: if (!ebx) read(3, buffer, 128) */
     0x85, 0xDB, 0x75, 14, 0xBF, 3, 0, 0, 0, 0xBA, 128, 0, 0, 0, 0x31, 0xC0, 0x0F, 0x05,
     /* ebx = wait4(-1, NULL, __WALL | WNOHANG, NULL) > 0; again */
     0x48, 0x83, 0xCF, 0xFF, 0x31, 0xF6, 0xBA, 1, 0, 0, 0x40, 0x45, 0x31, 0xD2,
     0xB8, 61, 0, 0, 0, 0x0F, 0x05, 0x31, 0xDB, 0x85, 0xC0, 0x0F, 0x9F, 0xC3,
     0xE9, 0x4C, 0xFF, 0xFF, 0xFF,
     0x31, 0xFF, 0xB8, 231, 0, 0, 0, 0x0F, 0x05}          /* quit: exit_group(0) */
#else
    {0xD102C3FFu, 0xD2800013u, 0xD2C00029u, 0x91000D2Au, 0xA9002BE9u, 0x9100112Au, 0xA9017FEAu,
     0xF90013FFu, 0x910063E9u, 0xF100027Fu, 0x9A9F1122u, 0x910003E0u, 0xD2800061u, 0xD2800003u,
     0xD2800928u, 0xD4000001u,                            /* ppoll, as above */
     0x3100581Fu, 0x54000400u,                            /* EINVAL: quit */
     0x79402FE9u, 0x350003C9u, 0x9100A3E1u, 0x79400FE9u, 0x34000189u,
     0xD2800000u, 0xD2800022u, 0xD28007E8u, 0xD4000001u, 0xF100041Fu, 0x540002A1u, /* read(0) */
     0x3940A3E1u, 0x92800000u, 0xD2801028u, 0xD4000001u, 0x17FFFFE1u,              /* kill */
     0xB50000B3u, 0xD2800060u, 0xD2801002u, 0xD28007E8u, 0xD4000001u,              /* read(3) */
     0x92800000u, 0xD2800001u, 0xD2800022u, 0xF2A80002u, 0xD2800003u, 0xD2802088u, 0xD4000001u,
     0x7100001Fu, 0x9A9FD7F3u, 0x17FFFFD2u,               /* wait4; again */
     0xD2800000u, 0xD2800BC8u, 0xD4000001u}               /* exit_group(0) */
#endif
};
#else
#define SBX__HAS_IMAGE 0
#endif
/* clang-format on */

/* In memory of its own; -1 where that cannot be. Newer kernels want to hear that it will be run. */
static int sbx__open_image(int least) {
    int fd = -1;
#if SBX__HAS_IMAGE
    struct rlimit most; /* past the host's own limit on files writing would raise SIGXFSZ */
    if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < sizeof sbx__image) return -1;
    fd = (int)syscall(SYS_memfd_create, "sbx-init", SBX__MFD_CLOEXEC | SBX__MFD_EXEC);
    if (fd < 0 && errno == EINVAL)
        fd = (int)syscall(SYS_memfd_create, "sbx-init", SBX__MFD_CLOEXEC);
    fd = sbx__move_up(fd, least);
    if (fd >= 0 && write(fd, &sbx__image, sizeof sbx__image) != (ssize_t)sizeof sbx__image)
        sbx__close(&fd);
#endif
    (void)least;
    return fd;
}

/* ---- plan ---- */

/* The deadline of pid 1 is later than the host's: it has to act only if the host cannot. */
static long long sbx__tree_late(const sbx *b) {
    if (b->deadline == SBX__NEVER) return SBX__NEVER;
    return b->deadline + b->cfg.grace_ms * 1000 + 2 * SBX__SECOND;
}

static void sbx__tree_set_deadline(sbx *b) {
    long when[4]; /* struct itimerspec; all zero = never */
    long long at = sbx__tree_late(b);
    if (b->tree.timer < 0) return;
    memset(when, 0, sizeof when);
    if (at != SBX__NEVER) {
        when[2] = (long)(at / SBX__SECOND);
        when[3] = (long)(at % SBX__SECOND) * 1000;
    }
    syscall(SYS_timerfd_settime, b->tree.timer, SBX__TFD_ABSOLUTE, when, NULL);
}

/* The descriptors of pid 1. Those that stay in the host with other numbers are b's. pid 1 hands out
   the numbers 3, 4 and 5 in this order, so what goes there or later must not be there already. */
static int sbx__tree_open(sbx__plan *p, sbx *b) {
    unsigned long chld[128 / (8 * sizeof(unsigned long)) + 1]; /* the kernel's sigset_t */
    memset(chld, 0, sizeof chld);
    chld[(SIGCHLD - 1) / (8 * sizeof(unsigned long))] |=
        1ul << (SIGCHLD - 1) % (8 * sizeof(unsigned long));
    if (!sbx__pipe(&p->tree.life, &b->tree.life, 3)) return 0;
    if (!sbx__nonblocking(b->tree.life)) return 0;
    p->tree.null = sbx__open_null(3);
    if (p->tree.null < 0) return 0;

    b->tree.timer =
        sbx__move_up((int)syscall(SYS_timerfd_create, CLOCK_MONOTONIC, O_CLOEXEC | O_NONBLOCK),
                     SBX__INIT_TIMER + 1);
    p->tree.children = sbx__move_up(
        (int)syscall(SYS_signalfd4, -1, chld, SBX__SIGNALS / 8L, O_CLOEXEC | O_NONBLOCK),
        SBX__INIT_CHILDREN + 1);
    if (b->tree.timer < 0 || p->tree.children < 0) return 0;
    p->tree.timer = b->tree.timer;
    p->tree.image = sbx__open_image(SBX__INIT_IMAGE);
    return 1;
}

static int sbx__tree_open_host(sbx__plan *p) {
    p->tree.host = sbx__move_up(sbx__open_pidfd(getpid()), p->low);
    return p->tree.host >= 0 || errno == ENOSYS || errno == EPERM;
}

/* A program behind the gate is started when the entering process is gone, and no longer counts
   among the `processes` of the tree; a function, because it shares that process's memory. */
static int sbx__tree_plan(sbx__plan *p, sbx *b, sbx_result *r) {
    const char *why = NULL;
    if (!sbx__has_proc()) why = "/proc is missing, or speaks of other processes"; /* who is left? */
    else if (sbx__in_valgrind()) why = "valgrind does not let the host make one";
    if (why && errno == ENOMEM) return sbx__no_memory(r, "the tree");
    if (why && p->cfg.contain == SBX_CONTAIN_AUTO && !p->cfg.policy) return 1;
    if (why)
        return sbx__refuse(r, p->cfg.policy ? SBX_STEP_POLICY : SBX_STEP_CONTAIN, ESRCH,
                           "%s needs a PID namespace, and none can be had: %s%s",
                           p->cfg.policy ? "policy" : "contain = SBX_CONTAIN_TREE", why,
                           p->cfg.policy ? "; contain = SBX_CONTAIN_GROUP needs none" : "");

    p->in_tree = 1;
    p->one_table = !p->apart;
    p->tree.user_ns = geteuid() != 0; /* root needs none, so that ids stay what they are */
    snprintf(p->tree.uid_map, sizeof p->tree.uid_map, "%u %u 1", (unsigned)geteuid(),
             (unsigned)geteuid());
    snprintf(p->tree.gid_map, sizeof p->tree.gid_map, "%u %u 1", (unsigned)getegid(),
             (unsigned)getegid());
    if (sbx__tree_open(p, b) &&
        ((!p->apart && (p->cfg.processes < 0 || !p->tree.user_ns)) ||
         (sbx__pipe(&p->tree.gate[0], &p->tree.gate[1], p->low) && sbx__tree_open_host(p))))
        return 1;
    return sbx__refuse(r, SBX_STEP_IO, errno, "no descriptors for the tree: %s", strerror(errno));
}

/* In a user namespace of its own pid 1 is the only one. */
static long long sbx__tree_tasks(const sbx__plan *p) {
    unsigned user = p->cfg.uid ? p->cfg.uid : (unsigned)getuid();
    return p->in_tree && p->tree.user_ns ? 1 : sbx__user_tasks(user);
}

/* ---- pid 1, from clone to its program. Async-signal-safe, as everything up to exec ---- */

/* The program has the same user, but no capability: one keeps pid 1 from being traced by it. */
static void sbx__guard_init(void) {
    unsigned caps[8]; /* struct __user_cap_header_struct, then twice the data */
    memset(caps, 0, sizeof caps);
    caps[0] = SBX__CAP_VERSION;
    caps[2] = caps[3] = caps[4] = 1u << SBX__CAP_SYS_PTRACE; /* effective, permitted, inheritable */
    if (syscall(SYS_capset, caps, caps + 2) == 0)
        prctl(SBX__PR_CAP_AMBIENT, SBX__PR_CAP_AMBIENT_RAISE, SBX__CAP_SYS_PTRACE, 0, 0);
}

/* The same as the image above, for a pid 1 that is a copy of the host. */
static void sbx__init_loop(void) {
    struct pollfd fds[3];
    char text[128];
    int more = 0, i;
    for (;;) {
        for (i = 0; i < 3; i++) {
            fds[i].fd = i == 0 ? SBX__INIT_LIFE : i == 1 ? SBX__INIT_CHILDREN : SBX__INIT_TIMER;
            fds[i].events = POLLIN;
            fds[i].revents = 0;
        }

        if (poll(fds, 3, more ? 0 : -1) < 0 && errno == EINVAL) return; /* blinded by prlimit */
        if (fds[2].revents) return;
        if (fds[0].revents) {
            if (read(SBX__INIT_LIFE, text, 1) != 1) return;
            kill(-1, text[0]);
            continue;
        }
        if (!more && read(SBX__INIT_CHILDREN, text, sizeof text) < 0) {
        } /* only to be told of the next */
        more = wait4(-1, NULL, SBX__WALL | WNOHANG, NULL) > 0;
    }
}

static void sbx__tree_failed(sbx__plan *p, int which) {
    p->tree.failure.step = SBX_STEP_CONTAIN;
    p->tree.failure.error = errno;
    p->tree.failure.which = which;
}

enum { SBX__TREE_ENTER, SBX__TREE_INIT, SBX__TREE_EXEC }; /* what failed */

/* Every signal stays blocked: none concerns pid 1 but SIGKILL, which cannot be. */
static int sbx__tree_init(void *arg) {
    /* $0 of the shell is its name; it reads signals as words, and does not wait for orphans. */
    static const char *const shell[] = {"sh", "-c", "while read n; do kill -s \"$n\" -- -1; done",
                                        NULL};
    static const char *const name[] = {"sbx-init", NULL};
    sbx__plan *p = (sbx__plan *)arg;
    struct sigaction ignore;
    int ok = sbx__new_session() && sbx__dup(p->tree.life, SBX__INIT_LIFE, 0) >= 0 &&
             sbx__dup(p->tree.null, 1, 0) >= 0 && sbx__dup(p->tree.null, 2, 0) >= 0 &&
             sbx__dup(p->tree.children, SBX__INIT_CHILDREN, 0) >= 0 &&
             sbx__dup(p->tree.timer, SBX__INIT_TIMER, 0) >= 0 &&
             (p->tree.image < 0 || sbx__dup(p->tree.image, SBX__INIT_IMAGE, O_CLOEXEC) >= 0) &&
             chdir("/") == 0; /* no directory is kept busy */
    if (!ok) {
        sbx__tree_failed(p, SBX__TREE_INIT);
        sbx__quit(126);
    }

    sbx__close_from(p->tree.image < 0 ? SBX__INIT_IMAGE : SBX__INIT_IMAGE + 1);
    if (p->tree.user_ns) sbx__guard_init();
    if (p->tree.image >= 0)
        syscall(SYS_execveat, SBX__INIT_IMAGE, "", name, name + 1, SBX__AT_EMPTY_PATH);
    else if (p->tree.shell) {
        memset(&ignore, 0, sizeof ignore); /* orphans that end are collected by the kernel */
        ignore.sa_handler = SIG_IGN;
        sigaction(SIGCHLD, &ignore, NULL);
        execve(p->tree.shell, (char *const *)shell, (char *const *)name + 1);
    } else {
        sbx__init_loop();
        sbx__quit(0);
    }
    sbx__tree_failed(p, SBX__TREE_EXEC);
    sbx__quit(126);
    return 0;
}

/* ---- the entering process ---- */

static int sbx__tree_spaces(const sbx__plan *p) {
    return SBX__CLONE_NEWPID | (p->tree.user_ns ? SBX__CLONE_NEWUSER : 0);
}

static int sbx__map_ids(const sbx__plan *p) {
    if (!p->tree.user_ns) return 1;
    if (!sbx__put("/proc/self/setgroups", "deny") && errno != ENOENT) return 0;
    return sbx__put("/proc/self/uid_map", p->tree.uid_map) &&
           sbx__put("/proc/self/gid_map", p->tree.gid_map);
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

/* What a function's processes, which share nothing with the host, tell it about themselves. */
enum { SBX__TOLD_PROC = 1, SBX__TOLD_CLOCK, SBX__TOLD_NOTICE, SBX__TOLD_EAR, SBX__TOLD_READY };

static void sbx__tell_host(const sbx__plan *p, int what, int value) {
    sbx__failure record;
    memset(&record, 0, sizeof record);
    record.which = what;
    record.error = value;
    if (write(p->report, &record, sizeof record) != (ssize_t)sizeof record) sbx__quit(126);
}

/* The program shares the host's memory until exec, and its descriptors until it parts. */
static void sbx__tree_make_program(sbx__plan *p) {
    int flags = SBX__CLONE_PARENT | SBX__CLONE_PIDFD | SBX__CLONE_VM | SBX__CLONE_FILES |
                SBX__CLONE_CLEARTID;
    pid_t pid;
    p->tree.before_exec = 1;
    if (p->tree.gate[0] < 0) flags |= SBX__CLONE_VFORK;
    pid = sbx__clone(sbx__child, sbx__stack_top(p), flags | SIGCHLD, p, &p->tree.pid_fd,
                     (void *)NULL, &p->tree.before_exec);
    if (pid < 0) sbx__tree_failed(p, SBX__TREE_ENTER);
    else p->tree.pid = (int)pid;
}

/* A function takes over the copy of the host that the entering process is, and needs a stack as
   large as it is used to, with a page below that ends it. */
static void sbx__tree_make_function(sbx__plan *p) {
    int flags = SBX__CLONE_VM | SBX__CLONE_PARENT | SBX__CLONE_PARENT_SETTID | SIGCHLD;
    int *tid = sbx__tid_word();
    size_t size = p->fn ? p->call.stack : 4 * SBX__STACK;
    char *room = (char *)mmap(NULL, size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | MAP_STACK, -1, 0);
    pid_t pid;
    if (room == (char *)MAP_FAILED) sbx__quit_with(p->report, SBX_STEP_MEMORY, 0);
    mprotect(room, 4096, PROT_NONE);
    syscall(SYS_set_tid_address, NULL); /* else the end of this process would clear the word */
    if (tid) flags |= SBX__CLONE_SETTID | SBX__CLONE_CLEARTID;
    pid = sbx__clone(sbx__child, room + size, flags, p, &p->common.mapped->made[p->tree.tries].pid,
                     (void *)NULL, tid);
    if (pid < 0) sbx__quit_with(p->report, SBX_STEP_SPAWN, 0);
}

/* For a program the entering process runs in the host's memory and with its descriptor table, while
   the host waits: so what it makes shows up there, a pidfd too, and no other process can use up
   what passing descriptors needs. For a function it is a copy of the host, and the kernel notes the
   numbers of those whom it makes in memory that the host can read. pid 1 and the program are the
   host's children, not its own. */
static int sbx__tree_enter(void *arg) {
    sbx__plan *p = (sbx__plan *)arg;
    int own = p->tree.image >= 0 || p->tree.shell; /* pid 1 has a program of its own */
    int flags = SBX__CLONE_PARENT | SIGCHLD, *made = &p->tree.init_fd;
    pid_t pid = -1;
    if (p->apart && !sbx__common_map(&p->common)) sbx__quit_with(p->report, SBX_STEP_MEMORY, 0);
    if (p->apart) made = &p->common.mapped->made[p->tree.tries].init;
    flags |= p->apart ? SBX__CLONE_PARENT_SETTID : SBX__CLONE_PIDFD;
    if (own) flags |= SBX__CLONE_VM | SBX__CLONE_VFORK;
    if (syscall(SYS_unshare, sbx__tree_spaces(p)) == 0 && sbx__map_ids(p))
        pid = sbx__clone(sbx__tree_init, sbx__stack_top(p), flags, p, made);
    if (pid < 0) sbx__tree_failed(p, SBX__TREE_ENTER);
    else p->tree.init = (int)pid;

    if (p->apart && p->tree.failure.step) {
        errno = p->tree.failure.error;
        sbx__quit_with(p->report, SBX_STEP_CONTAIN, p->tree.failure.which);
    }
    if (p->apart) sbx__tree_make_function(p);
    else if (!p->tree.failure.step) sbx__tree_make_program(p);
    sbx__quit(0);
    return 0;
}

/* ---- spawn ---- */

/* Ends the namespace: two ways, since pid 1 may be stopped, and the call may be missing. pid 1 has
   to get the CPU once more to die, and a root program may have put it behind everybody else
   (SCHED_IDLE): so it is made an ordinary process again. */
static void sbx__tree_end_init(pid_t init, int pidfd, int *life) {
    int ordinary = 0; /* struct sched_param */
    sbx__close(life);
    if (syscall(SYS_sched_setscheduler, init, 0, &ordinary) == 0)
        setpriority(PRIO_PROCESS, (id_t)init, 0);
    if (sbx__pidfd_signal(pidfd, SIGKILL, 0) < 0) kill(init, SIGKILL);
}

/* What one try has made goes again. */
static void sbx__tree_undo(sbx__plan *p) {
    long long limit = sbx__now() + SBX__STUCK_WAIT;
    int none = -1;
    if (p->tree.init > 0) {
        sbx__tree_end_init((pid_t)p->tree.init, p->tree.init_fd, &none);
        while (sbx__collect((pid_t)p->tree.init, WNOHANG, NULL) == 0 && sbx__now() < limit)
            sbx__nap();
    }
    p->tree.init = 0;
    sbx__close(&p->tree.init_fd);
}

/* Only "not available here" makes AUTO the group (step CONTAIN); a shortage is an error. */
static int sbx__is_shortage(int error) {
    char most[32];
    if (error == ENOSPC) { /* no more namespaces; 0 allowed means that there are none at all */
        if (sbx__read_file(AT_FDCWD, "/proc/sys/user/max_user_namespaces", most, sizeof most) &&
            atoi(most) == 0)
            return 0;
        return !sbx__read_file(AT_FDCWD, "/proc/sys/user/max_pid_namespaces", most, sizeof most) ||
               atoi(most) > 0;
    }
    return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE ||
           error == ECHILD || error == EINTR;
}

static void sbx__tree_enter_program(sbx__plan *p) {
    pid_t entering;
    SBX__TSAN_IGNORE(Begin);
    entering = sbx__clone(sbx__tree_enter, sbx__stack_top(p),
                          SBX__CLONE_VM | SBX__CLONE_VFORK | SBX__CLONE_FILES, p);
    SBX__TSAN_IGNORE(End);
    if (entering < 0) sbx__tree_failed(p, SBX__TREE_ENTER);
    else sbx__collect(entering, 0, NULL);
    if (p->tree.pid == 0 && !p->tree.failure.step) { /* somebody killed it */
        errno = ECHILD;
        sbx__tree_failed(p, SBX__TREE_ENTER);
    }
}

/* One record of a function's processes. 0 = there is none now. */
static int sbx__tree_hear(sbx__plan *p, sbx *b) {
    sbx__failure f;
    if (sbx__get_record(b->fd[SBX__REPORT], &f) <= 0) return 0;
    if (f.step == SBX_STEP_CONTAIN) p->tree.failure = f;
    else if (f.step) b->failure = f;
    else if (f.which == SBX__TOLD_PROC) p->tree.proc = f.error;
    else if (f.which == SBX__TOLD_CLOCK) p->watch.clock = f.error;
    else if (f.which == SBX__TOLD_NOTICE) p->policy.notice = f.error;
    else if (f.which == SBX__TOLD_EAR) p->policy.ear = f.error;
    else p->tree.ready = 1;
    return 1;
}

static int sbx__has_ended(pid_t pid) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT | SBX__WALL) != 0 ||
           info.si_pid != 0;
}

/* Waits until the function is ready to begin, or has ended: of the latter its pidfd tells. */
static void sbx__tree_await(sbx__plan *p, sbx *b) {
    struct pollfd fds[2];
    int ended = 0;
    for (;;) {
        while (sbx__tree_hear(p, b)) {
        }
        if (p->tree.ready || b->failure.step || ended) return;
        fds[0].fd = b->fd[SBX__REPORT];
        fds[1].fd = p->tree.pid_fd;
        fds[0].events = fds[1].events = POLLIN;
        fds[0].revents = fds[1].revents = 0;
        ended = poll(fds, 2, fds[1].fd < 0 ? 1 : -1) > 0 && fds[1].revents;
        if (fds[1].fd < 0) ended = sbx__has_ended((pid_t)p->tree.pid);
    }
}

/* A descriptor that the function has opened, before it begins. */
static int sbx__tree_fetch(int pidfd, int number) {
    return number < 0 ? -1 : sbx__move_up((int)syscall(SBX__NR_pidfd_getfd, pidfd, number, 0), 3);
}

static void sbx__tree_enter_function(sbx__plan *p, sbx *b) {
    pid_t entering = sbx__call_fork(p, sbx__tree_enter);
    sbx__shared shared;
    if (entering < 0) {
        b->failure.step = SBX_STEP_SPAWN;
        b->failure.error = errno;
        return;
    }
    sbx__collect(entering, 0, NULL);

    memset(&shared, 0, sizeof shared);
    sbx__common_fetch(&b->common, &shared, 0, sizeof shared);
    p->tree.init = shared.made[p->tree.tries].init;
    p->tree.pid = shared.made[p->tree.tries].pid;
    while (sbx__tree_hear(p, b)) { /* all that it has said is there */
    }
    if (p->tree.init) p->tree.init_fd = sbx__open_pidfd((pid_t)p->tree.init);
    if (p->tree.pid) p->tree.pid_fd = sbx__open_pidfd((pid_t)p->tree.pid);
    if (p->tree.failure.step || b->failure.step) return;
    if (p->tree.pid == 0) errno = ECHILD; /* somebody killed it */
    if (p->tree.pid == 0 || (p->tree.pid_fd < 0 && sbx__is_shortage(errno)))
        sbx__tree_failed(p, SBX__TREE_ENTER);
    else sbx__tree_await(p, b);
    if (!p->tree.ready && !b->failure.step && !p->tree.failure.step) {
        b->failure.step = SBX_STEP_SPAWN;
        b->failure.error = ECHILD;
    }
    p->tree.proc = sbx__tree_fetch(p->tree.pid_fd, p->tree.proc);
    p->watch.clock = sbx__tree_fetch(p->tree.pid_fd, p->watch.clock);
    p->policy.notice = sbx__tree_fetch(p->tree.pid_fd, p->policy.notice);
}

/* Another way in, if there is one: pid 1 as a shell or as a copy; root with a user namespace. */
static int sbx__tree_other_way(sbx__plan *p) {
    if (sbx__is_shortage(p->tree.failure.error)) return 0;
    if (p->tree.failure.which == SBX__TREE_EXEC) {
        if (p->tree.image >= 0 && access("/bin/sh", X_OK) == 0) p->tree.shell = "/bin/sh";
        else p->tree.shell = NULL;
        sbx__close(&p->tree.image);
        return 1;
    }
    if (p->tree.user_ns || p->tree.failure.which != SBX__TREE_ENTER) return 0;
    return p->tree.user_ns = 1;
}

/* The program waits at the gate until the entering process is gone. It still shares our memory,
   plan and all: this thread waits for its exec, as it would for a vfork, and changes nothing
   meanwhile. The kernel clears the word when the program lets go of the memory. */
static void sbx__tree_open_gate(sbx__plan *p, sbx *b) {
    volatile int *word = &p->tree.before_exec;
    ssize_t n;
    int value;
    do n = write(p->tree.gate[1], "", 1);
    while (n < 0 && errno == EINTR);
    if (n != 1 && !b->failure.step) { /* it would wait for ever */
        b->failure.step = SBX_STEP_IO;
        b->failure.error = errno;
    }
    if (b->failure.step && sbx__pidfd_signal(p->tree.pid_fd, SIGKILL, 0) < 0 && p->tree.pid > 0)
        kill((pid_t)p->tree.pid, SIGKILL);
    while (!p->apart && (value = *word) != 0)
        syscall(SYS_futex, word, SBX__FUTEX_WAIT, value, NULL, NULL, 0);
}

static pid_t sbx__tree_spawn(sbx__plan *p, sbx *b) {
    sbx__tree_set_deadline(b);
    if (p->tree.image < 0 && access("/bin/sh", X_OK) == 0) p->tree.shell = "/bin/sh";
    for (p->tree.tries = 0; p->tree.tries < SBX__TRIES; p->tree.tries++) {
        memset(&p->tree.failure, 0, sizeof p->tree.failure);
        if (p->apart) sbx__tree_enter_function(p, b);
        else sbx__tree_enter_program(p);
        if (!p->tree.failure.step || p->tree.pid > 0 || p->tree.pid_fd >= 0) break;
        sbx__tree_undo(p);
        if (!sbx__tree_other_way(p)) break;
    }
    if (p->tree.failure.step) b->failure = p->tree.failure;

    b->tree.init = (pid_t)p->tree.init;
    b->fd[SBX__PID1] = sbx__move_up(p->tree.init_fd, 3);
    b->tree.lines = p->tree.shell != NULL;
    if (p->tree.pid > 0) b->enforced |= SBX_BY_TREE;
    if (p->tree.gate[1] >= 0 && (p->tree.pid > 0 || p->tree.pid_fd >= 0)) sbx__tree_open_gate(p, b);
    b->tree.proc = sbx__move_up(p->tree.proc, 3);
    b->fd[SBX__EXIT] = p->tree.pid_fd;
    p->tree.init_fd = p->tree.pid_fd = p->tree.proc = -1;
    sbx__tree_free_plan(p); /* those inside have theirs */
    return (pid_t)p->tree.pid;
}

/* Namespaces were tried and refused. Which setting stands in the way? */
static const char *sbx__tree_hint(void) {
    static const char *const settings[][3] = {
        {"/proc/sys/user/max_pid_namespaces", "0", "user.max_pid_namespaces = 0"},
        {"/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces = 0"},
        {"/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone = 0"},
        {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
         "kernel.apparmor_restrict_unprivileged_userns = 1"}};
    char text[4096];
    size_t i;
    for (i = 0; i < 4; i++) /* the last two do not concern root */
        if (sbx__read_file(AT_FDCWD, settings[i][0], text, sizeof text) &&
            text[0] == settings[i][1][0] && (i < 2 || geteuid() != 0) && atoi(text) < 2)
            return settings[i][2];
    if (sbx__read_file(AT_FDCWD, "/proc/self/status", text, sizeof text) &&
        sbx__number_after(text, "\nSeccomp:", 0) == 2)
        return "a seccomp profile around the host forbids it, as a container's does";
    if (geteuid() != 0 && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1)
        return "the host is not dumpable (PR_SET_DUMPABLE), and may not map its own user";
    return geteuid() == 0 ? "root lacks CAP_SYS_ADMIN" : "allow user namespaces, or run as root";
}

static void sbx__tree_refuse(const sbx__plan *p, const sbx__failure *f, sbx_result *r) {
    const char *what = p->cfg.policy ? "policy" : "contain = SBX_CONTAIN_TREE", *way = "";
    if (sbx__is_shortage(f->error)) {
        sbx__refuse(r, f->error == EMFILE || f->error == ENFILE ? SBX_STEP_IO : SBX_STEP_SPAWN,
                    f->error, "the tree could not be made: %s", strerror(f->error));
        return;
    }
    if (p->cfg.policy) way = "; contain = SBX_CONTAIN_GROUP needs none";
    sbx__refuse(r, p->cfg.policy ? SBX_STEP_POLICY : SBX_STEP_CONTAIN, f->error,
                "%s needs a PID namespace, and none can be had: %s (%s)%s", what,
                strerror(f->error), sbx__tree_hint(), way);
}

/* ---- child: in the program's process, before exec ---- */

static int sbx__drop_caps(void) {
    unsigned caps[8]; /* struct __user_cap_header_struct, then twice the data */
    memset(caps, 0, sizeof caps);
    caps[0] = SBX__CAP_VERSION;
    return syscall(SYS_capset, caps, caps + 2) == 0;
}

/* A /proc that shows the numbers the tree itself knows; it is also the host's eye, which cannot be
   put out. Some containers refuse that; without a policy the host's then stays visible, which
   contains no less. */
static void sbx__tree_own_proc(sbx__plan *p) {
    unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    if (syscall(SYS_unshare, SBX__CLONE_NEWNS) != 0) return;
    if (mount("none", "/", "none", MS_REC | MS_SLAVE, "") != 0) return;
    if (mount("proc", "/proc", "proc", flags, "") == 0)
        p->tree.proc = open("/proc", SBX__O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The kernel wakes who waits for an exec a moment before the old memory is gone, and with it the
   old name: /proc/1 would tell the program of the host. To compare is to wait for the exec. */
static void sbx__tree_await_init(void) {
#ifdef SYS_kcmp
    long self = syscall(SYS_getpid);
    int tries = 0;
    while (syscall(SYS_kcmp, self, 1L, SBX__KCMP_VM, 0L, 0L) == 0 && tries++ < 1000) sbx__nap();
#endif
}

/* Its own copies of the other ends keep the pipes open: a pidfd tells that the host is gone. */
static int sbx__tree_await_gate(const sbx__plan *p) {
    struct pollfd two[2];
    char byte;
    ssize_t n;
    two[0].fd = p->tree.gate[0];
    two[1].fd = p->tree.host;
    two[0].events = two[1].events = POLLIN;
    two[0].revents = two[1].revents = 0;
    while (p->tree.host >= 0 && poll(two, 2, -1) < 0 && errno == EINTR) {
    }
    if (two[1].revents && !two[0].revents) sbx__quit(126);
    do n = read(p->tree.gate[0], &byte, 1);
    while (n < 0 && errno == EINTR);
    return n == 1;
}

static sbx_step sbx__tree_child(sbx__plan *p, int *which) {
    if (!p->apart && p->tree.gate[0] >= 0) sbx__tree_await_gate(p);
    if (p->tree.image >= 0 || p->tree.shell) sbx__tree_await_init();
    if (p->cfg.policy) return sbx__policy_view(p, which);
    sbx__tree_own_proc(p);
    if (p->tree.user_ns && getuid() != 0) sbx__drop_caps(); /* exec would drop them too */
    return SBX_STEP_NONE;
}

/* Who has no table in common with the host tells it what it has opened, and waits until the
   process that entered with it is gone. A byte tells that, not the end of the pipe: a copy of
   the host, from another thread, may hold it open. */
static sbx_step sbx__tree_part(sbx__plan *p) {
    sbx__tell_host(p, SBX__TOLD_PROC, p->tree.proc);
    sbx__tell_host(p, SBX__TOLD_CLOCK, p->watch.clock);
    sbx__tell_host(p, SBX__TOLD_NOTICE, p->policy.notice);
    sbx__tell_host(p, SBX__TOLD_EAR, p->policy.ear);
    sbx__tell_host(p, SBX__TOLD_READY, 0);
    return sbx__tree_await_gate(p) ? SBX_STEP_NONE : SBX_STEP_IO;
}

/* ---- while it runs, and its end ---- */

static int sbx__tree_proc(const sbx *b) { return b->tree.proc; }

static int sbx__tree_signal(sbx *b, int number) {
    const char *text = number == SIGTERM ? "TERM\n" : "CONT\n";
    char byte = (char)number;
    if (!b->tree.init || b->tree.life < 0) return 0;
    if (b->tree.lines) return sbx__write_quietly(b->tree.life, text, 5) == 5;
    return sbx__write_quietly(b->tree.life, &byte, 1) == 1;
}

/* Did pid 1's own timer end the tree? It may have done so after this turn began: a crowd in the
   tree leaves the host little of the CPU. */
static int sbx__tree_timed_out(sbx *b) {
    sbx__task t;
    int proc, ending;
    if (!b->tree.init || b->seen.signal != SIGKILL) return 0;
    if (sbx__now() < sbx__tree_late(b)) return 0;
    proc = sbx__open_proc(); /* it waits for the program to be collected before it is gone */
    ending = !sbx__proc_stat(proc, (int)b->tree.init, &t) || t.ending || t.dead;
    sbx__close(&proc);
    if (!ending) return 0;
    if (b->ended > sbx__tree_late(b)) b->ended = sbx__tree_late(b);
    return 1;
}

static void sbx__tree_kill(sbx *b) {
    if (b->tree.init) sbx__tree_end_init(b->tree.init, b->fd[SBX__PID1], &b->tree.life);
}

/* Whoever is alive besides pid 1, in the tree's own /proc, or by namespace in the host's. */
static int sbx__tree_alone(sbx *b) {
    int pid, own = b->tree.proc >= 0, proc = own ? b->tree.proc : sbx__open_proc(), alive = 0;
    unsigned long long ours = own ? 0 : sbx__pid_ns(proc, (int)b->tree.init, 0);
    DIR *dir = sbx__list(proc, ".");
    sbx__task t;
    if (!dir) alive = 1; /* what cannot be seen is not nobody */
    while (dir && alive == 0 && (pid = sbx__next_pid(dir)) != 0) {
        if (pid == (own ? 1 : (int)b->tree.init) || (own && pid == sbx__policy_ear(b))) continue;
        if (!sbx__proc_stat(proc, pid, &t) || t.dead) continue;
        if (own || sbx__pid_ns(proc, pid, 0) == ours) alive = 1;
    }
    if (dir) closedir(dir);
    if (!own) sbx__close(&proc);
    return !alive;
}

/* Is a process in that namespace, or in one below it? */
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
    int pid, proc;
    unsigned long long ours;
    siginfo_t info;
    DIR *dir;
    sbx__task t;
    memset(&info, 0, sizeof info);
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | SBX__WALL) != 0 || info.si_pid == 0)
        return; /* nobody is to be collected: /proc is long on a busy machine */
    proc = sbx__open_proc();
    ours = sbx__pid_ns(proc, (int)b->tree.init, 0);
    dir = ours ? sbx__list(proc, ".") : NULL;
    while (dir && (pid = sbx__next_pid(dir)) != 0)
        if (pid != (int)b->tree.init && pid != (int)b->pid && sbx__proc_stat(proc, pid, &t) &&
            t.parent == (int)getpid() && sbx__is_inside(proc, pid, ours))
            sbx__collect((pid_t)pid, WNOHANG, NULL);
    if (dir) closedir(dir);
    sbx__close(&proc);
}

/* pid 1 is gone only when all of its namespace is. */
static int sbx__tree_gone(sbx *b, long long now) {
    if (!b->tree.init) return 1;
    if (now > b->ended + 5000) sbx__collect_strays(b);
    if (sbx__collect(b->tree.init, WNOHANG, &b->tree.usage) == 0) return 0;
    b->tree.init = 0;
    return 1;
}

/* What pid 1 waited for: orphans. Its own part is well below a millisecond, and does not count. */
static void sbx__tree_observe(sbx *b, sbx_result *r) {
    long long user = sbx__time_us(&b->tree.usage.ru_utime);
    long long system = sbx__time_us(&b->tree.usage.ru_stime);
    if (user + system >= SBX__SECOND / 1000) {
        r->user_us += user;
        r->system_us += system;
    }
    sbx__tree_free(b);
}

static void sbx__tree_free_plan(sbx__plan *p) {
    sbx__close(&p->tree.life);
    sbx__close(&p->tree.null);
    sbx__close(&p->tree.children);
    sbx__close(&p->tree.image);
    sbx__close(&p->tree.gate[0]);
    sbx__close(&p->tree.gate[1]);
    sbx__close(&p->tree.host);
    sbx__close(&p->tree.proc);
}

static void sbx__tree_free(sbx *b) {
    long long limit = sbx__now() + SBX__STUCK_WAIT;
    if (b->tree.init > 0) sbx__tree_kill(b);
    while (b->tree.init > 0 && !(b->seen.saw & SBX_SAW_STUCK) &&
           sbx__collect(b->tree.init, WNOHANG, NULL) == 0 && sbx__now() < limit)
        sbx__nap();
    sbx__close(&b->tree.life);
    sbx__close(&b->tree.timer);
    sbx__close(&b->tree.proc);
}

#else

static int sbx__tree_plan(sbx__plan *p, sbx *b, sbx_result *r) {
    (void)b;
    if (p->cfg.contain != SBX_CONTAIN_TREE) return 1;
    return sbx__refuse(r, SBX_STEP_CONTAIN, ENOSYS,
                       "contain = SBX_CONTAIN_TREE needs a PID namespace: %s",
                       SBX__LINUX ? "compiled out by SBX_NO_TREE" : "only Linux has them");
}
static long long sbx__tree_tasks(const sbx__plan *p) {
    return sbx__user_tasks(p->cfg.uid ? p->cfg.uid : (unsigned)getuid());
}
static pid_t sbx__tree_spawn(sbx__plan *p, sbx *b) { return p && b ? -1 : 0; }
static sbx_step sbx__tree_child(sbx__plan *p, int *which) {
    return p && which ? SBX_STEP_NONE : SBX_STEP_CONTAIN;
}
static sbx_step sbx__tree_part(sbx__plan *p) { return p ? SBX_STEP_NONE : SBX_STEP_CONTAIN; }
static void sbx__tree_refuse(const sbx__plan *p, const sbx__failure *f, sbx_result *r) {
    (void)p, (void)f, (void)r;
}
static int sbx__tree_signal(sbx *b, int number) { return !b && number; }
static void sbx__tree_set_deadline(sbx *b) { (void)b; }
static int sbx__tree_timed_out(sbx *b) { return !b; }
static void sbx__tree_kill(sbx *b) { (void)b; }
static int sbx__tree_alone(sbx *b) { return b ? -1 : 0; }
static int sbx__tree_gone(sbx *b, long long now) { return b && now ? -1 : 0; }
static void sbx__tree_observe(sbx *b, sbx_result *r) { (void)b, (void)r; }
static int sbx__tree_proc(const sbx *b) { return b ? -1 : 0; }
static void sbx__tree_free_plan(sbx__plan *p) { (void)p; }
static void sbx__tree_free(sbx *b) { (void)b; }
#endif

/* ==== wing: watch. Memory and CPU time of the whole tree, from /proc ========================= */

/* The kernel's own limits bind one process each. Here everybody of the tree is looked at, some
   hundred times a second, and added up: what they use, and what those have used that are gone. */

#if SBX__HAS_WATCH

#define SBX__PART 20 /* looks take at most one part in so many of a CPU */
#define SBX__SAVED 50000LL /* as much again for closer looks, which can be saved up, in us */
#define SBX__LONGEST (10 * SBX__LOOK) /* so long at most a task is weighed */
#define SBX__RARE (3 * SBX__LOOK) /* a host that looks so rarely misses orphans */
#define SBX__LATE (10 * SBX__LOOK) /* a host that looks so rarely misses whole lives */

/* A huge page takes one page fault, as a small one does. How many the machine has given out since
   the first time that this was asked is all that can be in them. (Those of sizes in between, which
   few machines have switched on, are not in these counts.) */
static void sbx__count_huge(sbx *b) {
    static const char *const labels[] = {"\nthp_fault_alloc ", "\nthp_collapse_alloc ",
                                         "\nthp_file_alloc ", "\nthp_file_mapped "};
    long long page = sysconf(_SC_PAGESIZE), count = 1;
    sbx__box_watch *w = &b->watch;
    char text[12288];
    int i;
    if (!sbx__read_file(AT_FDCWD, "/proc/vmstat", text, sizeof text)) return;
    for (i = 0; i < 4; i++) count += sbx__number_after(text, labels[i], 0);
    if (!w->huge_base) w->huge_base = count;
    w->huge = (count - w->huge_base) * (page / 8 * page);
}

static int sbx__watch_plan(sbx__plan *p, sbx *b, sbx_result *r) {
    if (b->enforced & SBX_BY_CGROUP) return 1;
    if (!sbx__has_proc()) return errno == ENOMEM ? sbx__no_memory(r, "the watch") : 1;
    b->watch.on = 1;
    b->enforced |= SBX_BY_WATCH;
    if (p->cfg.memory_bytes >= 0) sbx__count_huge(b);
    if (!p->in_tree && access("/proc/1", F_OK) != 0) b->watch.forgets = 1; /* hidepid */
    if (p->cfg.cpu_ms >= 0 && !p->in_tree && !p->apart) p->one_table = !sbx__in_valgrind();
    return 1;
}

/* The clock of a process, and of all descendants that it will ever have, also of
   those that nobody waits for. Often not allowed (-1); and a process can shake it off, by running a
   program that it may not read. */
static int sbx__open_clock(pid_t pid) {
    int fd = -1;
#if defined(SYS_perf_event_open) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    unsigned long long attr[8]; /* struct perf_event_attr, first version */
    memset(attr, 0, sizeof attr);
    attr[0] = 1ull | sizeof attr * 1ull << 32; /* type: SOFTWARE; size */
    attr[1] = 1; /* config: TASK_CLOCK */
    attr[5] = 1ull << 1 | 1ull << 5 | 1ull << 6; /* inherit, exclude_kernel, exclude_hv */
    fd = (int)syscall(SYS_perf_event_open, attr, pid, -1, -1, 8ul); /* close-on-exec */
#endif
    (void)pid;
    return fd;
}

/* For a program it is opened before it begins, in a table that is still the host's too: so nothing
   is missed. Who opened it could stop it: that is a process which ends at once. Not for every run:
   the first on an idle machine waits for some milliseconds. */
static int sbx__clock_child(void *arg) {
    sbx__plan *p = (sbx__plan *)arg;
    p->watch.clock = sbx__open_clock((pid_t)syscall(SYS_getppid));
    sbx__quit(0);
    return 0;
}

static int sbx__opens_clock(const sbx__plan *p) { return p->apart ? p->in_tree : p->one_table; }

static void sbx__watch_child(sbx__plan *p) {
    int flags = SBX__CLONE_VM | SBX__CLONE_VFORK | SBX__CLONE_FILES;
    pid_t opener;
    char *top;
    if (!sbx__opens_clock(p)) return;
    top = sbx__stack_top(p);
    top[-1] = top[-4096] = 0; /* no page fault of a child's own: it would show that there was one */
    opener = sbx__clone(sbx__clock_child, top, flags, p);
    if (opener > 0) sbx__collect(opener, 0, NULL);
}

/* The clock of a function, which is a copy of the host, is opened from outside. */
static void sbx__watch_begin(sbx__plan *p, sbx *b) {
    if (p->apart && !p->in_tree && b->pid > 0) p->watch.clock = sbx__open_clock(b->pid);
    b->watch.clock = sbx__move_up(p->watch.clock, 3);
    b->watch.births = sbx__opens_clock(p);
}

/* ---- who belongs to it ---- */

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

/* A thread that has ended may stay, if somebody traces it. */
static int sbx__thread_lives(int proc, int pid, int thread) {
    char path[40], text[1024], *at = NULL;
    snprintf(path, sizeof path, "task/%d/stat", thread);
    if (sbx__proc_read(proc, pid, path, text, sizeof text)) at = strrchr(text, ')');
    return at && at[1] && at[2] != 'Z' && at[2] != 'X';
}

/* A thread of the process that is not its first one; 0 = none. */
static int sbx__other_thread(int proc, int pid) {
    char path[32];
    DIR *dir;
    int thread = pid;
    snprintf(path, sizeof path, "%d/task", pid);
    dir = sbx__list(proc, path);
    while (dir && (thread = sbx__next_pid(dir)) != 0)
        if (thread != pid && sbx__thread_lives(proc, pid, thread)) break;
    if (dir) closedir(dir);
    return thread == pid ? 0 : thread;
}

/* A file of the process, or of a thread that can be asked. */
static const char *sbx__task_file(const sbx__task *t, const char *name, char path[60]) {
    if (!t->thread) return name;
    snprintf(path, 60, "task/%d/%s", t->thread, name);
    return path;
}

/* Descendants of members are members. */
static void sbx__follow_lines(sbx__tasks *list) {
    int i, kept = 0, more = 1;
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
}

/* Everybody in the tree's own /proc is a member. In the host's: the program's session, every
   descendant whose line to it is unbroken, and the orphans of pid 1. */
static int sbx__scan(const sbx *b, sbx__tasks *list) {
    int pid, proc = b->watch.proc, own = b->watch.self != (int)b->pid, complete = 1;
    DIR *dir = sbx__list(proc, ".");
    sbx__task t;
    while (dir && (pid = sbx__next_pid(dir)) != 0) {
        if (own && (pid == 1 || pid == sbx__policy_ear(b))) continue;
        if (!sbx__proc_stat(proc, pid, &t)) continue;
        if (t.thread) t.thread = sbx__other_thread(proc, pid);
        t.member = own || t.pid == b->watch.self || t.session == b->watch.self;
        if (b->tree.init && t.parent == (int)b->tree.init) t.member = 1;
        complete = complete && sbx__task_add(list, &t);
    }
    if (!dir || closedir(dir) != 0) return 0;
    sbx__follow_lines(list);
    return complete;
}

/* In a group without limits only descendants are looked for: each thread lists its children. */
static void sbx__add_children(const sbx *b, int pid, int thread, sbx__tasks *list) {
    char path[80], text[4096];
    int fd, child = 0, i, n;
    sbx__task t;
    snprintf(path, sizeof path, "%d/task/%d/children", pid, thread);
    fd = openat(b->watch.proc, path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (n = (int)read(fd, text, sizeof text)) > 0)
        for (i = 0; i < n; i++) {
            int digit = text[i] - '0';
            if (digit >= 0) child = 10 * child + digit; /* else a blank */
            if (digit >= 0) continue;
            if (sbx__proc_stat(b->watch.proc, child, &t)) sbx__task_add(list, &t);
            child = 0;
        }
    sbx__close(&fd);
}

static int sbx__by_pid(const void *one, const void *two) {
    return ((const sbx__task *)one)->pid - ((const sbx__task *)two)->pid;
}

static int sbx__descend(const sbx *b, sbx__tasks *list) {
    char path[32];
    sbx__task t;
    int i, thread;
    if (!sbx__proc_stat(b->watch.proc, b->watch.self, &t) || !sbx__task_add(list, &t)) return 0;
    for (i = 0; i < list->count && i < 4096; i++) {
        int pid = list->at[i].pid;
        DIR *dir = NULL;
        snprintf(path, sizeof path, "%d/task", pid);
        if (list->at[i].threads > 1) dir = sbx__list(b->watch.proc, path);
        if (!dir) sbx__add_children(b, pid, pid, list);
        while (dir && (thread = sbx__next_pid(dir)) != 0) sbx__add_children(b, pid, thread, list);
        if (dir) closedir(dir);
    }
    qsort(list->at, (size_t)list->count, sizeof *list->at, sbx__by_pid);
    return 1;
}

/* ---- CPU time ---- */

static long long sbx__ticks_us(long long ticks) {
    long long rate = sysconf(_SC_CLK_TCK);
    return ticks * (SBX__SECOND / (rate > 0 ? rate : 100));
}

/* CPU time of the tree = the living, what they waited for, and what vanished unwaited. The ticks of
   a vanished task are owed to its nearest living ancestor; what that one did not collect, the
   kernel has forgotten, and it is kept here. */
static void sbx__settle_cpu(sbx *b, const sbx__tasks *fresh) {
    long long ticks = 0;
    sbx__tasks *last = &b->watch.tasks;
    int i;
    for (i = 0; i < last->count; i++) {
        sbx__task *old = &last->at[i], *heir = NULL, *up = old;
        if (sbx__task_of(fresh, old->pid)) continue;
        while (!heir && (up = sbx__task_of(last, up->parent)) != NULL)
            heir = sbx__task_of(fresh, up->pid);
        if (heir) heir->owed += old->cpu + old->reaped;
        else b->watch.cpu_gone += old->cpu + old->reaped;
    }

    for (i = 0; i < fresh->count; i++) {
        sbx__task *t = &fresh->at[i], *old = sbx__task_of(last, t->pid), again;
        long long before = old ? old->reaped : 0;
        /* It may have collected them after it was asked, and before they were looked for. */
        if (t->owed > t->reaped - before && sbx__proc_stat(b->watch.proc, t->pid, &again))
            t->reaped = again.reaped;
        if (t->owed > t->reaped - before) b->watch.cpu_gone += t->owed - (t->reaped - before);
        ticks += t->cpu + t->reaped;
    }
    ticks = sbx__ticks_us(ticks + b->watch.cpu_gone);
    if (ticks > b->watch.cpu_us) b->watch.cpu_us = ticks;
}

/* Where nobody keeps those books: what those have used who are there now. */
static long long sbx__living_cpu(const sbx *b) {
    long long ticks = 0;
    int i;
    for (i = 0; i < b->watch.tasks.count; i++)
        ticks += b->watch.tasks.at[i].cpu + b->watch.tasks.at[i].reaped;
    return sbx__ticks_us(ticks);
}

static void sbx__read_clock(sbx *b) {
    unsigned long long ns = 0;
    if (read(b->watch.clock, &ns, sizeof ns) != (ssize_t)sizeof ns) return;
    if ((long long)(ns / 1000) < b->watch.cpu_us - 5 * SBX__LOOK) b->watch.opaque = 1;
    if ((long long)(ns / 1000) > b->watch.cpu_us) b->watch.cpu_us = (long long)(ns / 1000);
}

static long long sbx__cpu_time(void) { return sbx__clock(CLOCK_THREAD_CPUTIME_ID); }

/* So long there is no other look, after one of this price. The clock of a virtual machine that was
   paused can show any price: a second is the most. */
static long long sbx__pause(long long cpu, int part) {
    return cpu * part < SBX__SECOND ? cpu * part : SBX__SECOND;
}

static int sbx__in_own_proc(const sbx *b) { return b->watch.self != (int)b->pid; }

/* A new list of the members, with what is known of them. Whoever was born since may be missing. */
static void sbx__relist(sbx *b, sbx__tasks *fresh, long long since) {
    int i;
    b->watch.listed = since;
    for (i = 0; i < fresh->count; i++) {
        const sbx__task *old = sbx__task_of(&b->watch.tasks, fresh->at[i].pid);
        if (old) fresh->at[i].memory = old->memory;
        b->watch.forgets |= fresh->at[i].forgets;
        b->watch.opaque |= fresh->at[i].opaque;
    }
    SBX_FREE(b->watch.tasks.at);
    b->watch.tasks = *fresh;
    if (fresh->count > b->watch.crowd) b->watch.crowd = fresh->count;
}

/* Renews the list of members and, with it, the CPU sum. */
static void sbx__recount(sbx *b, long long now) {
    long long begun = sbx__cpu_time(), since = sbx__now();
    sbx__tasks fresh;
    memset(&fresh, 0, sizeof fresh);
    if (sbx__scan(b, &fresh)) {
        sbx__settle_cpu(b, &fresh);
        sbx__relist(b, &fresh, since);
    } else {
        SBX_FREE(fresh.at); /* no memory: the old list serves until the next look */
    }
    b->watch.list_at = now;
    if (!sbx__in_own_proc(b)) b->watch.list_at += sbx__pause(sbx__cpu_time() - begun, SBX__PART);
}

static void sbx__follow(sbx *b) {
    long long since = sbx__now();
    sbx__tasks fresh;
    memset(&fresh, 0, sizeof fresh);
    if (sbx__descend(b, &fresh)) sbx__relist(b, &fresh, since);
    else SBX_FREE(fresh.at);
}

/* Who is known is asked again; who is gone has nothing. */
static void sbx__refresh(sbx *b) {
    int i;
    for (i = 0; i < b->watch.tasks.count; i++) {
        sbx__task *t = &b->watch.tasks.at[i], now;
        if (!sbx__proc_stat(b->watch.proc, t->pid, &now)) {
            memset(&t->memory, 0, sizeof t->memory);
            continue;
        }
        b->watch.opaque |= now.opaque;
        t->faults = now.faults;
        t->waited = now.waited;
        t->pages = now.pages;
        t->space = now.space;
        t->no_exec = now.no_exec;
    }
}

/* The members. A short life is over before all processes were listed, and in a group, where those
   are all of the host's, only limits ask for that. */
static void sbx__list_members(sbx *b, long long now) {
    int own = sbx__in_own_proc(b), early = now < b->started + SBX__LOOK && !b->watch.list_at;
    if (early || (!own && !b->watch.on)) sbx__follow(b);
    else if (now >= b->watch.list_at) sbx__recount(b, now);
    else sbx__refresh(b);
}

/* ---- memory: the sizes ---- */

/* Three figures of one thing. `used` may count pages twice that are shared; `least` is surely in
   use, and only that ends a program; nothing was ever above `most`, and only that clears one. */

#define SBX__SMALL (4LL << 20) /* files of this size that a program maps do not matter */

static long long sbx__page_size(void) { return sysconf(_SC_PAGESIZE); }

/* What it has from its parent, and may share with it, is not more than that one ever had, nor than
   it had itself when it was first seen. */
static long long sbx__inherited(const sbx *b, const sbx__task *t) {
    const sbx__task *parent = sbx__task_of(&b->watch.tasks, t->parent);
    if (b->is_call && t->pid == b->watch.self) return b->watch.host_anon;
    if (!t->no_exec) return 0;
    if (!parent || !parent->memory.asked || parent->memory.most > t->memory.anon)
        return t->memory.anon;
    return parent->memory.most;
}

static void sbx__measure(sbx *b, sbx__task *t) {
    enum {
        SBX__KB_SPACE,
        SBX__KB_MOST,
        SBX__KB_RSS,
        SBX__KB_ANON,
        SBX__KB_FILES,
        SBX__KB_SHMEM,
        SBX__KB_TABLES,
        SBX__KB_SWAP,
        SBX__KB_HUGE_PAGES,
        SBX__KB_NUMBERS
    };
    static const char *const labels[SBX__KB_NUMBERS] = {
        "VmPeak:",   "VmHWM:", "VmRSS:",  "RssAnon:",     "RssFile:",
        "RssShmem:", "VmPTE:", "VmSwap:", "HugetlbPages:"};
    long long kib[SBX__KB_NUMBERS], more;
    sbx__memory *m = &t->memory;
    int first = !m->asked;
    char path[60];
    if (!first && !t->thread && m->faults == t->faults && m->pages == t->pages &&
        m->space == t->space)
        return;

    sbx__proc_numbers(b->watch.proc, t->pid, sbx__task_file(t, "status", path), labels, kib,
                      SBX__KB_NUMBERS);
    m->ended = !kib[SBX__KB_MOST] && !kib[SBX__KB_TABLES];
    if (m->ended) return; /* it has none left */
    m->asked = 1;
    m->faults = t->faults;
    m->pages = t->pages;
    m->space = t->space;
    more = (kib[SBX__KB_TABLES] + kib[SBX__KB_SWAP] + kib[SBX__KB_HUGE_PAGES]) * 1024;
    m->tables = kib[SBX__KB_TABLES] * 1024;
    m->rss = kib[SBX__KB_RSS] * 1024 + more;
    m->most = kib[SBX__KB_MOST] * 1024 + more;
    m->anon = (kib[SBX__KB_ANON] + kib[SBX__KB_SWAP]) * 1024;
    m->files = (kib[SBX__KB_FILES] + kib[SBX__KB_SHMEM]) * 1024;
    if (m->files > SBX__SMALL && m->files > m->rss / 16) m->maps = 1;
    if (first || !t->no_exec) m->inherited = sbx__inherited(b, t);
    if (m->inherited > m->anon) m->inherited = m->anon; /* it gave some back: they do not return */
    if (kib[SBX__KB_SPACE] * 1024 > b->watch.peak_space)
        b->watch.peak_space = kib[SBX__KB_SPACE] * 1024;
}

/* Anonymous pages that it surely shares with no ancestor: more than it can have from there, and
   each of them took a fault. */
static long long sbx__own_pages(const sbx *b, const sbx__task *t) {
    const sbx__memory *m = &t->memory;
    long long own = m->anon - m->inherited, tables = m->tables;
    if (b->is_call) tables -= tables > b->watch.host_tables ? b->watch.host_tables : tables;
    if (m->inherited && own > t->faults * sbx__page_size()) own = t->faults * sbx__page_size();
    if (own < 0) own = 0;
    if (own == 0 && t->no_exec && t->pid != b->watch.self) tables = 0; /* maybe another's, too */
    return own + tables;
}

/* What one process surely had at once. The high-water mark is proof as far as page faults bear it
   out: files that were mapped several times come with few. */
static long long sbx__burst(const sbx *b, const sbx__task *t) {
    const sbx__memory *m = &t->memory;
    long long most = t->faults * sbx__page_size() + SBX__SMALL;
    if (b->is_call || m->maps) return 0;
    if (most > m->most) most = m->most;
    return m->rss > most ? m->rss : most;
}

/* Nothing of it was ever above this. Who was forked begins with all of its parent's pages, a
   function with the host's: each that became its own took a fault. */
static long long sbx__ceiling(const sbx *b, const sbx__task *t) {
    const sbx__task *parent = sbx__task_of(&b->watch.tasks, t->parent);
    long long small = t->faults * sbx__page_size();
    long long own = small + b->watch.huge + t->memory.files + t->memory.tables;
    int forked = b->is_call || (t->no_exec && parent && parent->memory.asked);
    return forked && own < t->memory.most ? own : t->memory.most;
}

typedef struct sbx__sums {
    long long used, least, likely; /* `likely`: if nothing is shared but files */
    long long files; /* of those who may map them several times, or others than the rest */
    long long base, ceiling, faults, waited; /* `base`: with those who have just ended */
} sbx__sums;

/* Does somebody who is counted have the same memory? */
static int sbx__is_twin(const sbx *b, const sbx__task *t) {
    return t->memory.twin > 0 && sbx__task_of(&b->watch.tasks, t->memory.twin) != NULL;
}

static int sbx__same_memory(sbx *b, const sbx__task *one, const sbx__task *two);

/* The same, and in *differ that they surely are not: who hides its pages is asked again. */
static int sbx__are_same(sbx *b, const sbx__task *one, const sbx__task *two, int *differ) {
    int hidden = b->watch.hidden, same;
    b->watch.hidden = 0;
    same = sbx__same_memory(b, one, two);
    *differ = !same && !b->watch.hidden;
    b->watch.hidden |= hidden;
    return same;
}

/* An exec parts them. */
static void sbx__part_twins(sbx *b, sbx__task *t) {
    const sbx__task *other = sbx__task_of(&b->watch.tasks, t->memory.twin);
    if (!other || sbx__same_memory(b, other, t)) return;
    t->memory.twin = t->memory.asked = 0; /* what was read of it may be from before */
    sbx__measure(b, t);
}

static void sbx__add_up(sbx *b, sbx__sums *sums) {
    long long files = 0, once = 0, own = 0, burst = 0;
    int i, ended = 0;
    memset(sums, 0, sizeof *sums);
    for (i = 0; i < b->watch.tasks.count; i++) {
        sbx__task *t = &b->watch.tasks.at[i];
        const sbx__memory *m = &t->memory;
        sbx__measure(b, t);
        if (m->twin > 0) sbx__part_twins(b, t);
        sums->faults += m->faults + t->waited;
        sums->waited += t->waited;
        if (sbx__is_twin(b, t)) continue;
        sums->base += m->ended ? m->most : m->rss;
        if (m->ended) ended = 1;
        if (m->ended) continue;

        sums->used += m->rss;
        sums->likely += b->is_call ? sbx__ceiling(b, t) - m->files : m->rss - m->files;
        sums->ceiling += sbx__ceiling(b, t);
        own += sbx__own_pages(b, t);
        if (m->files > files) files = m->files;
        if (!m->maps && m->files > once) once = m->files;
        if (sbx__burst(b, t) > burst) burst = sbx__burst(b, t);
        if (m->maps) sums->files += m->files;
        if (m->maps && m->files > m->cleared + SBX__SMALL) b->watch.mapped = 1;
    }

    if (ended) sums->base += b->watch.huge - b->watch.huge_at; /* it may have had these as well */
    if (b->is_call)
        files = once = files > SBX__SMALL ? files : 0; /* else they are the host's, too */
    sums->likely += files;
    sums->least = own + (b->is_call ? 0 : once);
    if (burst > sums->least) sums->least = burst;
}

/* ---- memory: weighing, where the sizes leave room for doubt ---- */

/* The members' numbers on the host's side, where those in the tree's own /proc are others. The
   last number of the line NSpid is the innermost namespace's. */
static void sbx__find_hosts(sbx *b) {
    static const char *const label[] = {"NSpid:"};
    int host, i, proc = sbx__open_proc();
    unsigned long long ours = sbx__pid_ns(proc, (int)b->pid, 0);
    DIR *dir = ours ? sbx__list(proc, ".") : NULL;
    long long number;
    sbx__task *t;
    while (dir && (host = sbx__next_pid(dir)) != 0) {
        if (sbx__pid_ns(proc, host, 0) != ours) continue;
        if (!sbx__proc_numbers(proc, host, "status", label, &number, 1)) continue;
        if ((t = sbx__task_of(&b->watch.tasks, (int)number)) != NULL) t->memory.host = host;
    }
    for (i = 0; i < b->watch.tasks.count; i++)
        if (!b->watch.tasks.at[i].memory.host) b->watch.tasks.at[i].memory.host = -1;
    if (dir) closedir(dir);
    sbx__close(&proc);
}

/* A file of it could not be opened: does it hide its pages? Who has none any more, because it is
   ending, looks the same, but has no size either. */
static int sbx__hides(const sbx *b, const sbx__task *t) {
    char path[60], text[64];
    if (errno != EACCES && errno != EPERM) return 0;
    return sbx__proc_read(b->watch.proc, t->pid, sbx__task_file(t, "statm", path), text,
                          sizeof text) &&
           text[0] != '0';
}

/* Where nobody may ask the kernel, a setting that belongs to the memory tells: what is written for
   one shows for the other. It is what a core dump would hold, and there are none. */
static int sbx__share_setting(sbx *b, const sbx__task *one, const sbx__task *two) {
    static const char setting[] = "coredump_filter";
    char path[48], was[24] = "", is[24] = "", text[24];
    unsigned long value, other;
    int fd, same;
    snprintf(path, sizeof path, "%d/%s", one->pid, setting);
    fd = openat(b->watch.proc, path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && sbx__hides(b, one)) b->watch.hidden = 1;
    if (fd < 0) return 0; /* then it counts */
    same = read(fd, was, sizeof was - 1) > 0;
    value = strtoul(was, NULL, 16);
    snprintf(text, sizeof text, "%#lx", value ^ 1);
    same = same && write(fd, text, strlen(text)) > 0;
    sbx__proc_read(b->watch.proc, two->pid, setting, is, sizeof is);
    other = strtoul(is, NULL, 16);
    snprintf(text, sizeof text, "%#lx", value);
    same = same && write(fd, text, strlen(text)) > 0 && other == (value ^ 1);
    close(fd);
    if (!same) return 0;
    sbx__proc_read(b->watch.proc, two->pid, setting, is, sizeof is);
    return strtoul(is, NULL, 16) == value;
}

static int sbx__same_memory(sbx *b, const sbx__task *one, const sbx__task *two) {
    int own = sbx__in_own_proc(b), same;
    if (own && (!one->memory.host || !two->memory.host)) sbx__find_hosts(b);
    same = (int)syscall(SYS_kcmp, own ? one->memory.host : one->pid,
                        own ? two->memory.host : two->pid, SBX__KCMP_VM, 0, 0);
    return same >= 0 ? same == 0 : sbx__share_setting(b, one, two);
}

/* Between vfork and exec, or for good after clone(CLONE_VM), a task lives in another's memory,
   which /proc then shows twice. Only large ones of about the same size are worth the question. */
static void sbx__find_twin(sbx *b, sbx__task *t) {
    sbx__memory *m = &t->memory;
    sbx__task *other;
    int asked = 0, sure = 1, unlike;
    if (m->twin < 0 || m->rss <= SBX__SMALL || sbx__is_twin(b, t)) return;
    m->twin = 0;
    for (other = b->watch.tasks.at; other < b->watch.tasks.at + b->watch.tasks.count; other++) {
        long long apart = other->memory.rss - m->rss;
        if (other == t || (!t->no_exec && !other->no_exec) || sbx__is_twin(b, other)) continue;
        if (apart > m->rss / 16 || apart < -m->rss / 16) continue;
        if (!sbx__are_same(b, other, t, &unlike)) {
            sure = sure && unlike;
            asked = 1;
            continue;
        }
        m->twin = other->pid;
        return;
    }
    if (asked && sure) m->twin = -1;
}

/* What a function has in its mappings that is not the host's: of a file its share, of the rest what
   is private. */
static long long sbx__function_share(sbx *b, const sbx__task *t) {
    enum {
        SBX__KB_RSS,
        SBX__KB_PSS,
        SBX__KB_CLEAN,
        SBX__KB_DIRTY,
        SBX__KB_ANON,
        SBX__KB_END,
        SBX__KB_NUMBERS
    };
    static const char *const labels[SBX__KB_NUMBERS] = {
        "Rss:", "Pss:", "Private_Clean:", "Private_Dirty:", "Anonymous:", "VmFlags:"};
    long long n[SBX__KB_NUMBERS], sum = 0, own;
    const char *line;
    char path[60];
    sbx__lines l;
    int i;
    memset(n, 0, sizeof n);
    if (!sbx__open_lines(&l, b->watch.proc, t->pid, sbx__task_file(t, "smaps", path))) return 0;

    while ((line = sbx__next_line(&l)) != NULL) {
        for (i = 0; i < SBX__KB_NUMBERS; i++)
            if (sbx__line_number(line, labels[i], &n[i])) break;
        if (i != SBX__KB_END) continue;
        own = n[SBX__KB_ANON] == 0
                  ? n[SBX__KB_PSS]
                  : n[SBX__KB_CLEAN] + n[SBX__KB_DIRTY] - (n[SBX__KB_RSS] - n[SBX__KB_ANON]);
        if (own > 0) sum += own;
    }
    close(l.fd);
    return sum * 1024;
}

/* A task's share of its pages: divided by the number of sharers; of a function only what the host
   does not have too, and what it shares with its own forks. This walks through the page tables,
   about 12 us for each MB and 1 us for each table; where that were too long the sizes have to do,
   unless it is about the limit. A task can hide its pages, not its size. */
static void sbx__ask_share(sbx *b, const sbx__task *t, long long *share, long long *fresh) {
    enum {
        SBX__KB_PSS,
        SBX__KB_SWAP,
        SBX__KB_CLEAN,
        SBX__KB_DIRTY,
        SBX__KB_HUGE_OWN,
        SBX__KB_HUGE_SHARED,
        SBX__KB_NUMBERS
    };
    static const char *const labels[SBX__KB_NUMBERS] = {
        "Pss:",           "SwapPss:",         "Private_Clean:",
        "Private_Dirty:", "Private_Hugetlb:", "Shared_Hugetlb:"};
    const sbx__memory *m = &t->memory;
    long long kib[SBX__KB_NUMBERS], own, price = m->rss / (1 << 20) * 12 + m->tables / 4096;
    sbx__box_watch *w = &b->watch;
    char path[60];
    *share = sbx__own_pages(b, t);
    *fresh = 0;
    if (price > SBX__LOOK && (!w->suspect || price > SBX__LONGEST || sbx__now() < w->large_at)) {
        w->torn = 1;
        return;
    }
    if (price > SBX__LOOK) w->large += price;

    errno = 0;
    if (!sbx__proc_numbers(b->watch.proc, t->pid, sbx__task_file(t, "smaps_rollup", path), labels,
                           kib, SBX__KB_NUMBERS)) {
        if (sbx__hides(b, t)) {
            if (!b->is_call) *share = m->rss;
            if (!b->is_call) w->hidden = 1;
            else w->torn = 1; /* at least so much */
        } else { /* it has ended meanwhile */
            w->torn = 1;
            *share = 0;
        }
        return;
    }
    own = (kib[SBX__KB_SWAP] + kib[SBX__KB_HUGE_OWN] +
           kib[SBX__KB_HUGE_SHARED] / b->watch.tasks.count) *
          1024;
    if (!b->is_call) {
        *share = own + kib[SBX__KB_PSS] * 1024 + m->tables;
        return;
    }
    own += (kib[SBX__KB_CLEAN] + kib[SBX__KB_DIRTY]) * 1024;
    *fresh = m->anon - m->inherited - own;
    if (m->files > SBX__SMALL) own = sbx__function_share(b, t);
    *share = own + (m->tables > b->watch.host_tables ? m->tables - b->watch.host_tables : 0);
}

static void sbx__weigh_task(sbx *b, sbx__task *t) {
    sbx__box_watch *w = &b->watch;
    sbx__memory *m = &t->memory;
    long long share, fresh;
    if (w->pass == 0) {
        sbx__find_twin(b, t);
        m->weighed = !sbx__is_twin(b, t);
        if (m->weighed) sbx__ask_share(b, t, &m->share, &m->fresh);
        return;
    }
    if (!m->weighed) return; /* a new one, or a twin */
    sbx__ask_share(b, t, &share, &fresh);
    m->weighed = 0;
    w->sum += share < m->share ? share : m->share;
    if (fresh > m->fresh) fresh = m->fresh;
    if (fresh > w->fresh) w->fresh = fresh;
    if (share > m->rss - m->files / 4) m->cleared = m->files;
}

/* While one after the other is asked, pages move from the share of one to another's. So everybody
   is asked twice, and the smaller share counts: the sum is exact, or too small. For 10 ms at a
   time; then it goes on in the next turn. 1 = done. */
static int sbx__weigh(sbx *b) {
    sbx__box_watch *w = &b->watch;
    long long begun = sbx__cpu_time(), spent = 0;
    int i;
    if (w->pass == 0 && w->next == 0) {
        w->sum = w->fresh = w->large = 0;
        w->torn = 0;
        w->begun_at = w->faults;
        w->huge_weighed = w->huge;
    }

    while (w->pass < 2 && spent < SBX__LOOK) {
        for (i = 0; i < w->tasks.count && spent < SBX__LOOK; i++) {
            if (w->tasks.at[i].pid < w->next) continue;
            sbx__weigh_task(b, &w->tasks.at[i]);
            w->next = w->tasks.at[i].pid + 1;
            spent = sbx__cpu_time() - begun;
        }
        if (i < w->tasks.count) break;
        w->next = 0;
        w->pass++;
    }

    w->budget -= spent;
    if (w->pass < 2) return 0;
    w->pass = 0;
    w->weighed = w->sum + w->fresh;
    w->weighed_at = w->torn ? 0 : w->begun_at;
    if (w->large) w->large_at = sbx__now() + SBX__PART * w->large;
    return 1;
}

/* Page faults tell that pages were copied, which no size does. */
static int sbx__weighing_is_due(const sbx *b, const sbx__sums *sums) {
    const sbx__box_watch *w = &b->watch;
    long long page = sbx__page_size(), limit = b->cfg.memory_bytes;
    if (w->pass || w->next) return 1;
    if (w->on && limit >= 0 && sums->least <= limit && sums->likely > limit) return 1;
    if (w->on && limit >= 0 && sums->least <= limit && sums->likely + sums->files > limit &&
        !b->is_call)
        return 1;
    if (w->budget < 0 || sums->likely - sums->least <= sums->likely / 20) return 0;
    if (sums->likely <= w->peak) return 0;
    return (sums->faults - w->weighed_at) * page + w->huge - w->huge_weighed > w->peak / 50;
}

/* Numbers are given out in turn: if the program's own is still the last one, no process or thread
   was born after it. Otherwise nobody knows whose child that was: one that nobody waits for leaves
   no trace between two looks. In a second the numbers may have gone round. */
static void sbx__look_for_births(sbx *b, long long since) {
    char text[32];
    if (b->watch.others) return;
    sbx__read_file(AT_FDCWD, "/proc/sys/kernel/ns_last_pid", text, sizeof text);
    if (atoi(text) != (int)b->pid + b->watch.births || since > SBX__SECOND) b->watch.others = 1;
}

/* Do limits rest on what the watch could miss? */
static int sbx__is_limited(const sbx *b) {
    return b->watch.on && (b->cfg.memory_bytes >= 0 || (b->cfg.cpu_ms >= 0 && b->watch.clock < 0));
}

/* Nobody else was ever seen, and the host has looked as often as it got the CPU. */
static int sbx__is_single(const sbx *b) { return b->watch.crowd <= 1 && b->away <= SBX__RARE; }

/* What can have come since the last look: small pages by page faults, each of which maps at most 16
   of a file; huge ones, of which the machine has a count; and of those whom nobody saw as much as
   can be filled. */
static long long sbx__by_faults(const sbx__box_watch *w, long long faults) {
    return (faults > 0 ? faults : 0) * 16 * sbx__page_size() + w->huge - w->huge_at;
}
static long long sbx__by_time(long long us) { return (us > 0 ? us : 0) * SBX__FASTEST; }

/* Nothing since the last look was above this: everybody's own ceiling, and whoever came and went
   meanwhile; or what there was then, and all that can have come. */
static void sbx__raise_ceiling(sbx *b, const sbx__sums *sums) {
    sbx__box_watch *w = &b->watch;
    long long now = sbx__now(), since = now - (w->at ? w->at : b->started), ceiling, other;
    if (sbx__is_limited(b)) sbx__look_for_births(b, since);
    ceiling = sums->ceiling + sbx__by_faults(w, sums->waited - w->waited);
    if (w->others && (w->forgets || (since > SBX__RARE && !sbx__is_single(b))))
        ceiling += sbx__by_time(since);
    other = w->base + sbx__by_faults(w, sums->faults - w->faults) + sbx__by_time(since);
    if (ceiling > other) ceiling = other;
    if (ceiling > w->most) w->most = ceiling;
    if (!w->at) w->first = since;
    w->at = w->listed;
}

/* There may have been so much at once, but it was not weighed: then the peak is not known. */
static void sbx__doubt(sbx__box_watch *w, const sbx__sums *sums, long long gone) {
    long long maybe = sums->likely, since = sums->faults - w->weighed_at;
    long long came = since * sbx__page_size() + w->huge - w->huge_weighed;
    if (maybe > sums->ceiling) maybe = sums->ceiling; /* after a vfork both show the same pages */
    if (w->weighed_at && maybe > w->weighed + came) maybe = w->weighed + came;
    if (gone) maybe += sbx__by_faults(w, gone);
    if (maybe > w->maybe) w->maybe = maybe;
}

static int sbx__is_doubtful(long long maybe, long long peak) {
    long long slack = peak / 20 > 256 * 1024 ? peak / 20 : 256 * 1024;
    return maybe > peak + slack;
}

/* Who was forked is asked before its pages count as its own: is that the parent's memory? */
static int sbx__ask_twins(sbx *b) {
    sbx__tasks *list = &b->watch.tasks;
    int i, found = 0;
    for (i = 0; i < list->count; i++) {
        sbx__task *t = &list->at[i], *parent = sbx__task_of(list, t->parent);
        sbx__memory *m = &t->memory;
        if (!t->no_exec || m->ended || m->twin || m->unlike || m->rss <= SBX__SMALL) continue;
        while (parent && parent != t && sbx__is_twin(b, parent))
            parent = sbx__task_of(list, parent->memory.twin); /* who counts for it */
        if (!parent || parent == t) continue;
        if (!sbx__are_same(b, parent, t, &m->unlike)) continue;
        m->twin = parent->pid;
        found = 1;
    }
    return found;
}

static void sbx__look_at_memory(sbx *b) {
    sbx__box_watch *w = &b->watch;
    long long gone, before = w->at ? w->at : b->started;
    sbx__sums sums;
    int alone = w->tasks.count == 1 && !b->is_call;
    if (!w->pass && !w->next) w->hidden = 0;
    sbx__count_huge(b);
    sbx__add_up(b, &sums);
    if (sums.least > w->peak && sbx__ask_twins(b)) sbx__add_up(b, &sums);
    sbx__raise_ceiling(b, &sums);
    w->suspect = w->on && b->cfg.memory_bytes >= 0 && sums.likely > b->cfg.memory_bytes;
    gone = w->at - before > SBX__LATE ? sums.waited - w->waited : 0; /* unseen for too long */
    w->faults = sums.faults;
    w->waited = sums.waited;
    w->used = sums.used;
    if (b->is_call) w->used = sums.likely;
    w->base = b->is_call ? sums.likely : sums.base;
    w->least = sums.least;
    if (sums.likely - sums.least <= sums.likely / 20 && !w->mapped) w->least = sums.likely;
    if (alone && !w->mapped) w->least = sums.likely = w->tasks.at[0].memory.most;

    if (sbx__weighing_is_due(b, &sums) && sbx__weigh(b)) {
        if (w->weighed > sums.least) sums.least = w->weighed;
        if (sums.least > w->least) w->least = sums.least;
        if (w->used > w->least) w->used = w->base = w->least;
    }
    if (w->least > w->peak && w->hidden) w->guessed = 1;
    if (w->least > w->peak && w->least > 0) w->peak = w->least;
    sbx__doubt(w, &sums, gone);
    w->huge_at = w->huge;
    if (!w->on || b->cfg.memory_bytes < 0 || sums.least <= b->cfg.memory_bytes) return;
    if (sums.least > w->peak) w->peak = sums.least;
    if (b->stopping) w->hidden = 0; /* the reason is known already */
    sbx__stop(b, SBX_SAW_MEMORY_SUM);
    if (!w->hidden) return;
    b->seen.saw |= SBX_SAW_BLIND; /* some of it may have been counted twice */
    w->guessed = 1;
}

/* ---- a look ---- */

/* In the tree's own /proc the program is the first after pid 1. */
static void sbx__watch_open(sbx *b) {
    static const char *const labels[] = {"RssAnon:", "VmPTE:"};
    sbx__box_watch *w = &b->watch;
    long long host[2];
    int proc;
    if (w->self) return;
    w->step = SBX__SHORT;
    w->budget = SBX__SAVED;
    w->self = sbx__tree_proc(b) >= 0 ? 2 : (int)b->pid;
    w->proc = sbx__tree_proc(b);
    if (w->proc < 0) w->proc = sbx__open_proc();
    if (w->proc < 0) w->self = 0; /* no descriptor is free: next time */
    if (!b->is_call) return;

    proc = sbx__open_proc();
    sbx__proc_numbers(proc, (int)getpid(), "status", labels, host, 2);
    sbx__close(&proc);
    w->host_anon = host[0] * 1024;
    w->host_tables = host[1] * 1024;
}

/* When to look again: more rarely as long as nothing changes, sooner near a limit, for it may grow
   as fast as that. Without a limit only the peak is wanted: the more rarely, the more boxes. */
static void sbx__watch_next(sbx *b, long long now, int grows) {
    sbx__box_watch *w = &b->watch;
    int space = (b->seen.saw & SBX_SAW_MEMORY_LIMIT) != 0, crowd = 1 + b->crowd / 16;
    long long most = w->on || space ? SBX__LOOK : 2 * SBX__LOOK * crowd, left;
    if (!w->on && !space && w->step < SBX__SHORT * crowd) w->step = SBX__SHORT * crowd;
    left = w->step;
    if (w->step < most) w->step *= 2;
    if (grows && w->step > SBX__LOOK / 4) left = w->step = SBX__LOOK / 4;
    if (space && left > (b->cfg.address_space_bytes - w->peak_space) / SBX__FASTEST)
        left = (b->cfg.address_space_bytes - w->peak_space) / SBX__FASTEST;
    if (w->on && b->cfg.memory_bytes >= 0 && left > (b->cfg.memory_bytes - w->used) / SBX__FASTEST)
        left = (b->cfg.memory_bytes - w->used) / SBX__FASTEST;
    b->wing_at = now + (left > 1000 ? left : 1000);
}

static void sbx__watch_turn(sbx *b, long long now) {
    sbx__box_watch *w = &b->watch;
    long long before = w->faults, page = sbx__page_size(), budget, spent, closer;
    int grows;
    if (b->enforced & SBX_BY_CGROUP) return;
    sbx__watch_open(b);
    budget = w->budget + (now - w->looked_at) / SBX__PART;
    w->budget = budget = budget < SBX__SAVED ? budget : SBX__SAVED;
    w->looked_at = now;
    spent = sbx__cpu_time();
    sbx__list_members(b, now);
    if (!sbx__in_own_proc(b)) spent = sbx__cpu_time(); /* list_at holds that down */
    sbx__look_at_memory(b);
    if (w->clock >= 0) sbx__read_clock(b);
    if (b->cfg.cpu_ms >= 0 && w->cpu_us > b->cfg.cpu_ms * 1000) sbx__stop(b, SBX_SAW_CPU_SUM);

    grows = (w->faults - before) * page > w->used / 64;
    sbx__watch_next(b, now, grows);
    spent = sbx__cpu_time() - spent;
    closer = budget - w->budget;
    spent = sbx__pause(spent - closer, grows ? 4 : SBX__PART) + sbx__pause(closer, 4);
    if (b->wing_at < now + spent) b->wing_at = now + spent;
    if (w->budget < -SBX__SAVED) w->budget = -SBX__SAVED;
}

/* How near its address space came to the limit. Some programs reserve nearly all of it at once: so
   what was in use has to be considerable as well, the less so if a signal speaks for the limit. */
static void sbx__watch_space(sbx *b, long long used) {
    long long space = b->cfg.address_space_bytes, most = b->watch.peak_space;
    if (most > space / 4 * 3) b->seen.saw |= SBX_SAW_MEMORY_NEAR;
    if (most > space / 100 * 95 && used > space / (b->seen.signal ? 16 : 2))
        b->seen.saw |= SBX_SAW_MEMORY_PEAK;
}

/* ru_maxrss starts at the host's own size, which the kernel knows within some per cent: only what
   is clearly above that is the child's. Nor does it count if pages were mapped several times, which
   takes fewer page faults than pages. */
static int sbx__is_own(const sbx *b, const struct rusage *usage) {
    long long host, most = sbx__maxrss(usage), faults = usage->ru_minflt + usage->ru_majflt;
    if (b->is_call || b->watch.mapped || most > faults * sbx__page_size() + SBX__SMALL) return 0;
    host = sbx__host_peak();
    return most > host + host / 16;
}

/* Would it matter whether the program waited for children? For a limit, and for a peak in doubt. */
static int sbx__asks_for_parent(const sbx *b) {
    const sbx__box_watch *w = &b->watch;
    long long peak = w->peak, maybe = w->maybe, most = sbx__maxrss(&b->usage);
    long long came = sbx__by_faults(w, b->usage.ru_minflt + b->usage.ru_majflt - w->faults);
    if (sbx__is_limited(b)) return 1;
    if (w->crowd > 1 || !sbx__is_own(b, &b->usage)) return 0;
    if (w->least + came > maybe) maybe = w->least + came;
    return sbx__is_doubtful(maybe, most > peak ? most : peak);
}

/* While its number is still taken: did it wait for children? Then its books are those of many. */
static void sbx__watch_end(sbx *b) {
    sbx__box_watch *w = &b->watch;
    sbx__task t;
    w->parent = 1;
    if (b->enforced & SBX_BY_CGROUP) return;
    if (w->huge_base && b->ended > b->started + 2 * SBX__SHORT) sbx__count_huge(b);
    if (b->ended < b->begun + SBX__SHORT) return;
    if (!sbx__asks_for_parent(b)) return;
    sbx__watch_open(b);
    if (sbx__proc_stat(w->proc, w->self, &t) && t.waited == 0) w->parent = 0;
}

/* May others have been born, whom nobody saw? */
static int sbx__has_others(sbx *b) {
    sbx__look_for_births(b, b->ended - (b->watch.at ? b->watch.at : b->started));
    return b->watch.others;
}

/* ... and whom no books tell of? The kernel forgets those whose parent ignores SIGCHLD, which shows
   when the parent is looked at; and orphans, if there is no pid 1 of ours. */
static int sbx__may_hide(sbx *b) {
    const sbx__box_watch *w = &b->watch;
    int rare = !w->at || b->ended - w->at > SBX__RARE;
    if (rare && sbx__is_single(b) && !w->parent) rare = 0;
    return (w->forgets || rare) && sbx__has_others(b);
}

/* Was there never anybody but the program? */
static int sbx__was_alone(sbx *b) {
    const sbx__box_watch *w = &b->watch;
    if (sbx__is_single(b) && !w->parent && !w->forgets) return 1;
    return !sbx__has_others(b);
}

/* Pages that are in no books but a task's own, if the machine has any. */
static int sbx__has_huge_pages(void) {
    char text[4096];
    if (!sbx__read_file(AT_FDCWD, "/proc/meminfo", text, sizeof text)) return 1;
    return sbx__number_after(text, "\nHugetlb:", 0) > 0;
}

/* The books at the end: what can have come after the last look, and ru_maxrss, which no process was
   above. */
static void sbx__close_books(sbx *b, sbx_result *r) {
    sbx__box_watch *w = &b->watch;
    long long most = sbx__maxrss(&b->usage), limit = b->cfg.memory_bytes;
    long long orphans = b->in_tree ? sbx__maxrss(&b->tree.usage) : 0;
    long long unsure = orphans > most ? orphans : most;
    long long since = b->ended - (w->at ? w->at : b->started);
    long long came = sbx__by_faults(w, b->usage.ru_minflt + b->usage.ru_majflt - w->faults);
    int own = sbx__is_own(b, &b->usage), limited = w->on && limit >= 0;
    int alone = own && w->crowd <= 1 && (!w->parent || !sbx__has_others(b));
    int seen, late, over = 0;
    if (limited && !b->stopping && own && most > limit)
        b->seen.saw |= SBX_SAW_MEMORY_SUM; /* between two looks */
    if (limited && !b->is_call && (own ? orphans : unsure) > limit)
        over = unsure > sbx__host_peak() + sbx__host_peak() / 16; /* perhaps by mapping it twice */
    r->peak_bytes = w->guessed ? -1 : w->peak;
    if (own && !w->guessed && most > r->peak_bytes) r->peak_bytes = most;
    if (w->least + came > w->maybe) w->maybe = w->least + came;
    if (!alone && !(b->seen.saw & SBX_SAW_MEMORY_SUM) && sbx__is_doubtful(w->maybe, r->peak_bytes))
        r->peak_bytes = -1; /* too much has happened that nobody saw */

    if (!limited || b->stopping || b->seen.saw & SBX_SAW_MEMORY_SUM) return;
    if (w->base + came > w->most) w->most = w->base + came;
    seen = w->most <= limit;
    if (seen && !over && w->base + came + sbx__by_time(since) <= limit) return;
    seen = seen ? !sbx__may_hide(b) : sbx__was_alone(b);
    if (seen && most > 0 && most <= limit && !over && !sbx__has_huge_pages()) return;
    b->seen.saw |= SBX_SAW_BLIND; /* nobody saw that it was kept */
    if (!w->at) w->first = since;
    late = w->first > 2 * SBX__LOOK && 2 * w->first > b->ended - b->started;
    if (late && sbx__has_others(b)) r->peak_bytes = -1;
}

/* CPU time that may have been used by those who leave no trace, where the kernel has no clock for
   all of them; or by anybody, if the host took the books away. */
static void sbx__doubt_cpu(sbx *b) {
    long long all = b->ended - b->started;
    int lost = sbx__maxrss(&b->usage) == 0;
    if (b->watch.clock >= 0 && !b->watch.opaque) return;
    if (b->cfg.cpu_ms < 0 || b->stopping || !b->watch.on) return;
    if (all > b->cfg.cpu_ms * 1000 / sysconf(_SC_NPROCESSORS_ONLN) && (lost || sbx__may_hide(b)))
        b->seen.saw |= SBX_SAW_BLIND;
}

static void sbx__watch_observe(sbx *b, sbx_result *r) {
    long long cpu;
    if (b->watch.clock >= 0) sbx__read_clock(b);
    cpu = b->watch.cpu_us;
    if (cpu > r->user_us + r->system_us) r->user_us = cpu - r->system_us; /* orphans */
    if (!(b->enforced & SBX_BY_CGROUP)) sbx__close_books(b, r);
    sbx__doubt_cpu(b);
    if (b->seen.saw & SBX_SAW_MEMORY_LIMIT) sbx__watch_space(b, r->peak_bytes);
    sbx__watch_free(b); /* it has told all */
}

static void sbx__watch_usage(sbx *b, sbx_usage *u) {
    sbx__box_watch *w = &b->watch;
    long long now = sbx__now(), cpu;
    if (b->state == SBX__RUNNING) {
        sbx__watch_open(b);
        if (!w->self) return; /* nothing can be seen now */
        sbx__list_members(b, now);
        sbx__look_at_memory(b);
        if (w->clock >= 0) sbx__read_clock(b);
        cpu = sbx__living_cpu(b);
        if (cpu > w->cpu_us) w->cpu_us = cpu;
        u->processes = w->tasks.count;
    }
    u->cpu_us = w->cpu_us;
    u->memory_bytes = b->state == SBX__RUNNING ? w->least : 0;
    u->peak_bytes = w->guessed || sbx__is_doubtful(w->maybe, w->peak) ? -1 : w->peak;
}

static void sbx__watch_free(sbx *b) {
    sbx__close(&b->watch.clock);
    if (b->watch.self == (int)b->pid) sbx__close(&b->watch.proc); /* else it is the tree's */
    SBX_FREE(b->watch.tasks.at);
    b->watch.tasks.at = NULL;
}

#else /* without /proc the limits fall back to each process's own, and `enforced` says so */

static int sbx__watch_plan(sbx__plan *p, sbx *b, sbx_result *r) { return p && b && r; }
static void sbx__watch_child(sbx__plan *p) { (void)p; }
static void sbx__watch_begin(sbx__plan *p, sbx *b) { (void)p, (void)b; }
static void sbx__watch_turn(sbx *b, long long now) {
    if (!(b->enforced & SBX_BY_CGROUP)) b->wing_at = now ? SBX__NEVER : 0;
}
static void sbx__watch_end(sbx *b) { (void)b; }
static void sbx__watch_observe(sbx *b, sbx_result *r) {
    long long most = sbx__maxrss(&b->usage), host = sbx__host_peak();
    if (!b->is_call && most > host + host / 16) r->peak_bytes = most;
}
static void sbx__watch_usage(sbx *b, sbx_usage *u) { (void)b, (void)u; }
static void sbx__watch_free(sbx *b) { (void)b; }
#endif

/* ==== wing: cgroup. Exact limits and counts, where the host was given a directory ============ */

#if SBX__HAS_CGROUP

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
    if (!sbx__read_file(AT_FDCWD, sbx__cgroup_file(b->cgroup.path, file, path), text, sizeof text))
        return -1;
    return sbx__number_after(text, label, -1);
}

/* Makes the box's own group. Returns the file that failed, or NULL. */
static const char *sbx__cgroup_make(sbx__plan *p, sbx *b, size_t room) {
    const sbx_config *cfg = &p->cfg;
    char path[PATH_MAX], number[32], *own = b->cgroup.path;
    if (access(sbx__cgroup_file(cfg->cgroup, "cgroup.controllers", path), F_OK) != 0)
        return "cgroup.controllers"; /* which version 1 does not have */
    /* Fails, harmlessly, where it was done already or somebody else has to do it. */
    sbx__cgroup_put(cfg->cgroup, "cgroup.subtree_control", "+memory");
    sbx__cgroup_put(cfg->cgroup, "cgroup.subtree_control", "+pids");
    snprintf(own, room, "%s/sbx-%d-%llx", cfg->cgroup, (int)getpid(),
             (unsigned long long)sbx__now() << 16 ^ (unsigned long long)(size_t)b);
    if (mkdir(own, 0755) != 0) return "a new group";

    snprintf(number, sizeof number, "%lld", cfg->memory_bytes);
    if (cfg->memory_bytes >= 0 && !sbx__cgroup_put(own, "memory.max", number)) return "memory.max";
    sbx__cgroup_put(own, "memory.swap.max", "0"); /* where swap is counted at all */
    sbx__cgroup_put(own, "memory.oom.group", "1");
    snprintf(number, sizeof number, "%lld", cfg->processes);
    if (cfg->processes >= 0 && !sbx__cgroup_put(own, "pids.max", number)) return "pids.max";
    p->cgroup.procs = open(sbx__cgroup_file(own, "cgroup.procs", path), O_WRONLY | O_CLOEXEC);
    p->cgroup.procs = sbx__move_up(p->cgroup.procs, p->low);
    return p->cgroup.procs < 0 ? "its cgroup.procs" : NULL;
}

static int sbx__cgroup_plan(sbx__plan *p, sbx *b, sbx_result *r) {
    const char *missing;
    char shown[100], *parent;
    size_t room;
    p->cfg.cgroup = parent = realpath(p->cfg.cgroup, NULL); /* the host may change its directory */
    room = parent ? strlen(parent) + 64 : 0;
    if (room + 32 > PATH_MAX) errno = ENAMETOOLONG;
    if (!parent || room + 32 > PATH_MAX) {
        free(parent);
        return sbx__refuse(r, SBX_STEP_CGROUP, errno, "cgroup = \"%s\": %s",
                           sbx__plain(shown, sizeof shown, b->cfg.cgroup), strerror(errno));
    }
    b->cgroup.path = (char *)sbx__zalloc(room);
    if (!b->cgroup.path) {
        free(parent);
        return sbx__no_memory(r, "the name of a cgroup");
    }

    missing = sbx__cgroup_make(p, b, room);
    if (!missing) b->enforced |= SBX_BY_CGROUP;
    else
        sbx__refuse(r, SBX_STEP_CGROUP, errno, "cgroup = \"%s\": %s cannot be had: %s",
                    sbx__plain(shown, sizeof shown, b->cfg.cgroup), missing, strerror(errno));
    free(parent);
    if (!missing) b->wing_at = 0;
    return !missing;
}

static sbx_step sbx__cgroup_child(sbx__plan *p) {
    return write(p->cgroup.procs, "0", 1) == 1 ? SBX_STEP_NONE : SBX_STEP_CGROUP;
}

static void sbx__cgroup_read(sbx *b) {
    long long cpu = sbx__cgroup_get(b, "cpu.stat", "usage_usec ");
    long long peak = sbx__cgroup_get(b, "memory.peak", "");
    if (peak < 0) peak = sbx__cgroup_get(b, "memory.current", "");
    if (cpu > b->cgroup.cpu_us) b->cgroup.cpu_us = cpu;
    if (peak > 0 && peak > b->cgroup.peak) b->cgroup.peak = peak;
    if (sbx__cgroup_get(b, "memory.events", "oom_kill ") > 0) b->seen.saw |= SBX_SAW_OOM_KILL;
}

static void sbx__cgroup_turn(sbx *b, long long now) {
    sbx__cgroup_read(b);
    if (b->cfg.cpu_ms >= 0 && b->cgroup.cpu_us > b->cfg.cpu_ms * 1000)
        sbx__stop(b, SBX_SAW_CPU_SUM);
    b->wing_at = now + SBX__LOOK;
}

static void sbx__cgroup_usage(sbx *b, sbx_usage *u) {
    int running = b->state == SBX__RUNNING;
    if (running) sbx__cgroup_read(b);
    u->cpu_us = b->cgroup.cpu_us;
    u->peak_bytes = b->cgroup.peak > 0 ? b->cgroup.peak : -1;
    u->memory_bytes = running ? sbx__cgroup_get(b, "memory.current", "") : 0;
    if (running) u->processes = (int)sbx__cgroup_get(b, "pids.current", "");
}

/* With the groups that a program may have made inside. 1 = it is empty and removed. */
static int sbx__cgroup_remove(int at, const char *group) {
    struct dirent *e;
    DIR *dir;
    if (unlinkat(at, group, AT_REMOVEDIR) == 0 || errno == ENOENT) return 1;
    dir = sbx__list(at, group);
    while (dir && (e = readdir(dir)) != NULL)
        if (e->d_name[0] != '.' && e->d_type == DT_DIR) sbx__cgroup_remove(dirfd(dir), e->d_name);
    if (dir) closedir(dir);
    return unlinkat(at, group, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

static int sbx__cgroup_gone(sbx *b) {
    sbx__cgroup_put(b->cgroup.path, "cgroup.kill", "1");
    sbx__cgroup_read(b);
    return sbx__cgroup_remove(AT_FDCWD, b->cgroup.path);
}

static void sbx__cgroup_observe(sbx *b, sbx_result *r) {
    long long cpu = b->cgroup.cpu_us;
    if (cpu > r->user_us + r->system_us) r->user_us = cpu - r->system_us; /* orphans */
    if (b->cgroup.peak > r->peak_bytes) r->peak_bytes = b->cgroup.peak;
}

static void sbx__cgroup_free_plan(sbx__plan *p) { sbx__close(&p->cgroup.procs); }

static void sbx__cgroup_free(sbx *b) {
    if (b->cgroup.path && *b->cgroup.path) sbx__cgroup_remove(AT_FDCWD, b->cgroup.path);
    SBX_FREE(b->cgroup.path);
}

#else

static int sbx__cgroup_plan(sbx__plan *p, sbx *b, sbx_result *r) {
    (void)p, (void)b;
    return sbx__refuse(r, SBX_STEP_CGROUP, ENOSYS, "cgroup is set, but %s",
                       SBX__LINUX ? "was compiled out: SBX_NO_CGROUP"
                                  : "only Linux can enforce it");
}
static sbx_step sbx__cgroup_child(sbx__plan *p) { return p ? SBX_STEP_NONE : SBX_STEP_CGROUP; }
static void sbx__cgroup_turn(sbx *b, long long now) { (void)b, (void)now; }
static void sbx__cgroup_usage(sbx *b, sbx_usage *u) { (void)b, (void)u; }
static void sbx__cgroup_observe(sbx *b, sbx_result *r) { (void)b, (void)r; }
static int sbx__cgroup_gone(sbx *b) { return b != NULL; }
static void sbx__cgroup_free_plan(sbx__plan *p) { (void)p; }
static void sbx__cgroup_free(sbx *b) { (void)b; }
#endif

/* ==== wing: policy. A root of its own, Landlock, and a filter for system calls =============== */

/* Three locks. In a tree the box gets a root directory that holds only what it may see: an empty
   file system in memory, to which the host's trees are attached, most of them read-only; what is
   not there cannot be named. Landlock knows the same rules once more, by what was opened and not by
   its name; in a group it is the only lock for files. A seccomp filter is a program that the kernel
   asks about every system call. None of them needs privileges, and none can be taken off again. */

#if SBX__HAS_POLICY

#define SBX__AT_SPOT 4 /* of a failed start: which part, or from here on which place */

enum { /* LANDLOCK_ACCESS_FS_... */
       SBX__EXECUTE = 1 << 0,
       SBX__WRITE_FILE = 1 << 1,
       SBX__READ_FILE = 1 << 2,
       SBX__READ_DIR = 1 << 3,
       SBX__MAKE_CHAR = 1 << 6,
       SBX__MAKE_BLOCK = 1 << 11,
       SBX__REFER = 1 << 13,
       SBX__TRUNCATE = 1 << 14,
       SBX__IOCTL_DEV = 1 << 15,
       SBX__READ_TREE = SBX__EXECUTE | SBX__READ_FILE | SBX__READ_DIR,
       SBX__ON_FILES =
           SBX__EXECUTE | SBX__WRITE_FILE | SBX__READ_FILE | SBX__TRUNCATE | SBX__IOCTL_DEV
};

static int sbx__add_rule(int ruleset, int fd, unsigned access) {
    unsigned rule[3]; /* struct landlock_path_beneath_attr, packed: 64 bits and 32 */
    rule[0] = access;
    rule[1] = 0;
    rule[2] = (unsigned)fd;
    return syscall(SBX__NR_landlock_add_rule, ruleset, 1, rule, 0) == 0;
}

/* ---- the filter ---- */

/* clang-format off */
/* What "the system" is: programs, libraries, and the settings that ordinary programs read. Of /etc
   only what is public: a host that is root could read all of it. /proc is the tree's own. */
static const char *const sbx__system[] = {
    "/", "usr", "bin", "sbin", "lib", "lib64", "lib32", "libx32", "opt", "nix/store", "gnu/store",
    "sys/devices/system/cpu",
    "/etc/", "ld.so.cache", "ld-musl-x86_64.path", "ld-musl-aarch64.path", "alternatives",
    "passwd", "group", "nsswitch.conf", "localtime", "os-release", "gitconfig", "fonts",
    "java", "java-8-openjdk", "java-11-openjdk", "java-17-openjdk", "java-21-openjdk",
    "java-25-openjdk", NULL};
static const char *const sbx__network[] = { /* and these, if it is allowed */
    "/etc/", "hosts", "host.conf", "resolv.conf", "gai.conf", "services", "protocols",
    "ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs", "pki/tls/openssl.cnf",
    "pki/ca-trust", NULL};
/* In a group these always: a program that cannot read them does not take them for missing. */
static const char *const sbx__there[] = {"/etc/", "ssl/openssl.cnf", "pki/tls/openssl.cnf", NULL};
static const char *const sbx__devices[] = {"/dev/", "null", "zero", "full", "random", "urandom",
                                           NULL};

/* The filter: a row a check. What no row names is allowed; rows of one call must all pass, in this
   order. Under kill_on_denied a call that fails a row marked KILL ends the box, because no honest
   program makes it by accident. SOFT ones just fail, always: libraries and tools try them. */
enum { /* what to check */
       SBX__FORBIDDEN, SBX__HIDDEN, SBX__ONLY, SBX__NOT, SBX__WITH, SBX__WITHOUT,
       SBX__IF,   /* without the bits the call's other rows do not matter */
       SBX__OURS }; /* ... nor with our password in the upper half, which the kernel ignores */
enum { SBX__ALWAYS, SBX__NO_NETWORK, SBX__NETWORK, SBX__NO_SPAWN, /* when */
       SBX__IN_GROUP, SBX__IN_GROUP_2 }; /* without a root of its own; and with Landlock 1 or 2 */
enum { SBX__SOFT, SBX__KILL };

typedef struct sbx__rule {
    int number;
    const char *name;
    unsigned char check, when, kill, arg; /* the argument, ... */
    unsigned mask, value[4];              /* ... after the mask, is one of these, or has the bits */
} sbx__rule;

#define SBX__ROW(check, when, kill, call) \
    {SYS_##call, #call, check, when, kill, 0, 0, {0, 0, 0, 0}}
#define SBX__ROW_NR(check, when, kill, number, name) \
    {number, name, check, when, kill, 0, 0, {0, 0, 0, 0}}
#define SBX__DENY(call) SBX__ROW(SBX__FORBIDDEN, SBX__ALWAYS, SBX__KILL, call)
#define SBX__DENY_SOFT(call) SBX__ROW(SBX__FORBIDDEN, SBX__ALWAYS, SBX__SOFT, call)
#define SBX__DENY_IF(when, call) SBX__ROW(SBX__FORBIDDEN, when, SBX__KILL, call)
#define SBX__DENY_NR(number, name) SBX__ROW_NR(SBX__FORBIDDEN, SBX__ALWAYS, SBX__KILL, number, name)
#define SBX__HIDE(call) SBX__ROW(SBX__HIDDEN, SBX__ALWAYS, SBX__SOFT, call)
#define SBX__HIDE_NR(kill, number, name) SBX__ROW_NR(SBX__HIDDEN, SBX__ALWAYS, kill, number, name)
#define SBX__FIXED(call) SBX__ROW(SBX__FORBIDDEN, SBX__IN_GROUP, SBX__SOFT, call)
#define SBX__FIXED_NR(number, name) \
    SBX__ROW_NR(SBX__FORBIDDEN, SBX__IN_GROUP, SBX__SOFT, number, name)
#define SBX__CHECK(when, kill, call, check, arg, mask, a, b, c, d) \
    {SYS_##call, #call, check, when, kill, arg, mask, {a, b, c, d}}

static const sbx__rule sbx__rules[] = {
    /* They would go round the filter. */
    SBX__HIDE_NR(SBX__KILL, 425, "io_uring_setup"), SBX__HIDE_NR(SBX__KILL, 426, "io_uring_enter"),
    SBX__HIDE_NR(SBX__KILL, 427, "io_uring_register"),
    /* Their flags are in memory, where a filter cannot look. The libc tries them, then others. */
    SBX__HIDE_NR(SBX__SOFT, 435, "clone3"), SBX__HIDE_NR(SBX__SOFT, 437, "openat2"),
    /* Memory that no process owns once it is unmapped, so that no limit counts it. */
    SBX__HIDE(memfd_create), SBX__HIDE_NR(SBX__SOFT, 447, "memfd_secret"),
    /* Other processes' memory and descriptors. */
    SBX__DENY(ptrace), SBX__DENY(process_vm_readv), SBX__DENY(process_vm_writev), SBX__DENY(kcmp),
    SBX__DENY_NR(438, "pidfd_getfd"), SBX__DENY_NR(440, "process_madvise"), SBX__DENY(userfaultfd),
    /* Files by handle instead of by path; news of files that cannot be read. */
    SBX__DENY(name_to_handle_at), SBX__DENY(open_by_handle_at), SBX__DENY(fanotify_init),
    SBX__HIDE(inotify_init1),
    /* Before version 3 Landlock lets an open for nothing but reading, or for nothing at all,
       truncate a file: O_TRUNC with these modes. */
    SBX__CHECK(SBX__IN_GROUP_2, SBX__SOFT, openat, SBX__NOT, 2, 0x203u, 0x200u, 0x203u,
               0x203u, 0x203u),
    /* Set-user-id files, which would outlive the box with the host's user in them. An open counts
       if it makes a file: O_CREAT, O_TMPFILE. */
    SBX__CHECK(SBX__ALWAYS, SBX__SOFT, fchmod, SBX__WITHOUT, 1, 0, 06000u, 0, 0, 0),
    SBX__CHECK(SBX__ALWAYS, SBX__SOFT, fchmodat, SBX__WITHOUT, 2, 0, 06000u, 0, 0, 0),
    {452, "fchmodat2", SBX__WITHOUT, SBX__ALWAYS, SBX__SOFT, 2, 0, {06000u, 0, 0, 0}},
    SBX__CHECK(SBX__ALWAYS, SBX__SOFT, openat, SBX__IF, 2, 0, 0x400040u, 0, 0, 0),
    SBX__CHECK(SBX__ALWAYS, SBX__SOFT, openat, SBX__WITHOUT, 3, 0, 06000u, 0, 0, 0),
    SBX__CHECK(SBX__ALWAYS, SBX__SOFT, mknodat, SBX__WITHOUT, 2, 0, 06000u, 0, 0, 0),
    /* Namespaces, mounts, roots. */
    SBX__DENY(unshare), SBX__DENY(setns), SBX__DENY(mount), SBX__DENY(umount2), SBX__DENY(chroot),
    SBX__DENY(pivot_root), SBX__DENY_NR(428, "open_tree"), SBX__DENY_NR(429, "move_mount"),
    SBX__DENY_NR(430, "fsopen"), SBX__DENY_NR(431, "fsconfig"), SBX__DENY_NR(432, "fsmount"),
    SBX__DENY_NR(433, "fspick"), SBX__DENY_NR(442, "mount_setattr"),
    SBX__DENY_NR(467, "open_tree_attr"),
    /* CLONE_NEW..., and CLONE_PARENT: a child of the host. Threads have CLONE_THREAD. */
    SBX__CHECK(SBX__ALWAYS, SBX__KILL, clone, SBX__WITHOUT, 0, 0, 0x7E028000u, 0, 0, 0),
    SBX__CHECK(SBX__NO_SPAWN, SBX__KILL, clone, SBX__OURS, 0, 0, 0, 0, 0, 0),
    SBX__CHECK(SBX__NO_SPAWN, SBX__KILL, clone, SBX__WITH, 0, 0, 0x00010000u, 0, 0, 0),
    /* Kernel interfaces with a history. */
    SBX__DENY(bpf), SBX__DENY(perf_event_open), SBX__DENY(add_key), SBX__DENY(request_key),
    SBX__DENY(keyctl), SBX__DENY_NR(460, "lsm_set_self_attr"),
    /* A filter that asks somebody else: if ours has nobody left to ask, the newer one's answer
       would count. */
    SBX__CHECK(SBX__ALWAYS, SBX__SOFT, seccomp, SBX__WITHOUT, 1, 0, 8u, 0, 0, 0),
    /* Asking is harmless; Lisp systems also set it. */
    SBX__CHECK(SBX__ALWAYS, SBX__SOFT, personality, SBX__ONLY, 0, 0, 0xFFFFFFFFu, 0, 0, 0),
    /* The machine: modules, power, swap, accounting, clocks, names, log. */
    SBX__DENY(init_module), SBX__DENY(finit_module), SBX__DENY(delete_module),
    SBX__DENY(kexec_load), SBX__DENY(reboot), SBX__DENY(swapon), SBX__DENY(swapoff),
    SBX__DENY(acct), SBX__DENY(quotactl),
    SBX__DENY_NR(443, "quotactl_fd"), SBX__DENY(settimeofday), SBX__DENY(clock_settime),
    SBX__DENY(clock_adjtime), SBX__DENY(adjtimex), SBX__DENY(sethostname), SBX__DENY(setdomainname),
    SBX__DENY(syslog), SBX__DENY(vhangup),
    /* They hold a pipe's lock while they wait, and with it the host that wants to read it. So does
       a write by a process that hardly ever gets the CPU: none can make itself one. */
    SBX__HIDE(splice), SBX__HIDE(tee), SBX__HIDE(vmsplice), SBX__HIDE(sendfile),
    SBX__DENY_SOFT(setpriority), SBX__DENY_SOFT(ioprio_set), SBX__DENY_SOFT(sched_setattr),
    SBX__CHECK(SBX__ALWAYS, SBX__SOFT, sched_setscheduler, SBX__ONLY, 1, ~0x40000000u, 0, 0, 0, 0),
    /* F_SETLEASE, F_NOTIFY: a lease on a readable file stops whoever else opens it. */
    SBX__CHECK(SBX__ALWAYS, SBX__SOFT, fcntl, SBX__NOT, 1, 0, 1024u, 1026u, 1026u, 1026u),
    /* Typing into a terminal: TIOCSTI, TIOCLINUX. */
    SBX__CHECK(SBX__ALWAYS, SBX__KILL, ioctl, SBX__NOT, 1, 0, 0x5412u, 0x541Cu, 0x5412u, 0x5412u),
    /* The machine has so many contexts (fs.aio-max-nr), and one user can take them all. */
    SBX__HIDE(io_setup),
    /* What would outlive the box: POSIX queues, and System V's below. */
    SBX__DENY(mq_open), SBX__DENY(mq_unlink),
    /* Network: IPv4, IPv6, netlink. Unix sockets, with or without it: pairs of connected streams
       (SOCK_STREAM, SEQPACKET) only, because a pair of datagram sockets can still send to any
       address. By itself the libc asks for unix sockets (nscd, syslog), for netlink, and for
       datagrams to a name server. */
    SBX__CHECK(SBX__NETWORK, SBX__SOFT, socket, SBX__NOT, 0, 0, 1u, 1u, 1u, 1u),
    SBX__CHECK(SBX__NETWORK, SBX__KILL, socket, SBX__ONLY, 0, 0, 2u, 10u, 16u, 16u),
    SBX__CHECK(SBX__NO_NETWORK, SBX__SOFT, socket, SBX__NOT, 0, 0, 1u, 16u, 16u, 16u),
    SBX__CHECK(SBX__NO_NETWORK, SBX__SOFT, socket, SBX__NOT, 1, 0xFu, 2u, 2u, 2u, 2u), /* DGRAM */
    SBX__DENY_IF(SBX__NO_NETWORK, socket), SBX__DENY_IF(SBX__NO_NETWORK, connect),
    SBX__DENY_IF(SBX__NO_NETWORK, bind), SBX__DENY_IF(SBX__NO_NETWORK, listen),
    SBX__CHECK(SBX__ALWAYS, SBX__KILL, socketpair, SBX__ONLY, 0, 0, 1u, 1u, 1u, 1u), /* AF_UNIX */
    SBX__CHECK(SBX__ALWAYS, SBX__KILL, socketpair, SBX__ONLY, 1, 0xFu, 1u, 5u, 5u, 5u),
    /* What Landlock does not guard and no read-only mount protects in a group: modes, owners,
       times, attributes; before version 3 also truncate. */
    SBX__FIXED(fchmod), SBX__FIXED(fchmodat), SBX__FIXED_NR(452, "fchmodat2"), SBX__FIXED(fchown),
    SBX__FIXED(fchownat), SBX__FIXED(utimensat), SBX__FIXED(setxattr), SBX__FIXED(lsetxattr),
    SBX__FIXED(fsetxattr), SBX__FIXED(removexattr), SBX__FIXED(lremovexattr),
    SBX__FIXED(fremovexattr), SBX__FIXED_NR(463, "setxattrat"), SBX__FIXED_NR(466, "removexattrat"),
    SBX__FIXED_NR(469, "file_setattr"),
    SBX__CHECK(SBX__IN_GROUP, SBX__SOFT, ioctl, SBX__NOT, 1, 0, 0x40086602u, 0x40046602u,
               0x401C5820u, 0x40087602u), /* FS_IOC_SETFLAGS (two sizes), FSSETXATTR, SETVERSION */
    SBX__CHECK(SBX__IN_GROUP, SBX__SOFT, ioctl, SBX__NOT, 1, 0, 0x40086604u, 0x40046604u,
               0x40047602u, 0x40806685u), /* other SETVERSIONs, FS_IOC_ENABLE_VERITY */
    SBX__CHECK(SBX__IN_GROUP, SBX__SOFT, ioctl, SBX__NOT, 1, 0, 0x40047211u, 0x800C6613u,
               0x5000940Eu, 0x5000940Fu), /* FAT's attributes, encryption, btrfs' volumes */
    SBX__CHECK(SBX__IN_GROUP_2, SBX__SOFT, truncate, SBX__FORBIDDEN, 0, 0, 0, 0, 0, 0),
    /* In a group the host's processes have numbers too: limits and signals only for itself. */
    SBX__CHECK(SBX__IN_GROUP, SBX__SOFT, prlimit64, SBX__ONLY, 0, 0, 0, 0, 0, 0),
    SBX__CHECK(SBX__IN_GROUP, SBX__SOFT, sched_setscheduler, SBX__ONLY, 0, 0, 0, 0, 0, 0),
    SBX__CHECK(SBX__IN_GROUP, SBX__SOFT, sched_setparam, SBX__ONLY, 0, 0, 0, 0, 0, 0),
    SBX__CHECK(SBX__IN_GROUP, SBX__SOFT, sched_setaffinity, SBX__ONLY, 0, 0, 0, 0, 0, 0),
#if defined(__i386__)
    /* Their arguments are in memory. By socketcall the libc also asks what it can do without. */
    SBX__DENY(ipc), SBX__DENY_SOFT(socketcall),
    SBX__DENY_NR(393, "semget"), SBX__DENY_NR(394, "semctl"), SBX__DENY_NR(395, "shmget"),
    SBX__DENY_NR(396, "shmctl"), SBX__DENY_NR(397, "shmat"), SBX__DENY_NR(399, "msgget"),
    SBX__DENY_NR(400, "msgsnd"), SBX__DENY_NR(401, "msgrcv"), SBX__DENY_NR(402, "msgctl"),
    SBX__DENY(vm86), SBX__DENY(vm86old), SBX__DENY(stime), SBX__DENY(umount),
#else
    SBX__DENY(shmget), SBX__DENY(shmat), SBX__DENY(shmctl), SBX__DENY(msgget), SBX__DENY(msgctl),
    SBX__DENY(msgsnd), SBX__DENY(msgrcv), SBX__DENY(semget), SBX__DENY(semctl),
    SBX__DENY(semtimedop),
#endif
#ifdef SYS_semop
    SBX__DENY(semop),
#endif
#if defined(__i386__) || defined(__arm__)
    SBX__HIDE(sendfile64), SBX__FIXED(fchown32), SBX__FIXED(chown32), SBX__FIXED(lchown32),
    SBX__FIXED_NR(412, "utimensat_time64"),
    SBX__CHECK(SBX__ALWAYS, SBX__SOFT, fcntl64, SBX__NOT, 1, 0, 1024u, 1026u, 1026u, 1026u),
    SBX__DENY_NR(404, "clock_settime64"), SBX__DENY_NR(405, "clock_adjtime64"),
    SBX__DENY_NR(420, "semtimedop_time64"),
    SBX__CHECK(SBX__IN_GROUP_2, SBX__SOFT, truncate64, SBX__FORBIDDEN, 0, 0, 0, 0, 0, 0),
#endif
#if defined(__x86_64__) || defined(__i386__)
    SBX__DENY(iopl), SBX__DENY(ioperm), SBX__DENY(modify_ldt), SBX__DENY(uselib), SBX__DENY(ustat),
    SBX__DENY(sysfs), SBX__DENY(_sysctl), SBX__DENY(nfsservctl), SBX__DENY(create_module),
    SBX__DENY(lookup_dcookie), SBX__FIXED(utime),
#endif
#if defined(__x86_64__)
    SBX__DENY(kexec_file_load),
#endif
#if !defined(__aarch64__) && !defined(__riscv) /* the older forms */
    SBX__HIDE(inotify_init),
    SBX__CHECK(SBX__ALWAYS, SBX__SOFT, chmod, SBX__WITHOUT, 1, 0, 06000u, 0, 0, 0),
    SBX__CHECK(SBX__ALWAYS, SBX__SOFT, creat, SBX__WITHOUT, 1, 0, 06000u, 0, 0, 0),
    SBX__CHECK(SBX__IN_GROUP_2, SBX__SOFT, open, SBX__NOT, 1, 0x203u, 0x200u, 0x203u,
               0x203u, 0x203u),
    SBX__CHECK(SBX__ALWAYS, SBX__SOFT, open, SBX__IF, 1, 0, 0x400040u, 0, 0, 0),
    SBX__CHECK(SBX__ALWAYS, SBX__SOFT, open, SBX__WITHOUT, 2, 0, 06000u, 0, 0, 0),
    SBX__CHECK(SBX__ALWAYS, SBX__SOFT, mknod, SBX__WITHOUT, 1, 0, 06000u, 0, 0, 0),
    SBX__FIXED(chmod), SBX__FIXED(chown), SBX__FIXED(lchown), SBX__FIXED(utimes),
    SBX__FIXED(futimesat),
    SBX__DENY_IF(SBX__NO_SPAWN, fork), SBX__DENY_IF(SBX__NO_SPAWN, vfork),
#endif
};
/* clang-format on */
#define SBX__RULES ((int)(sizeof sbx__rules / sizeof sbx__rules[0]))

/* The last call that the table's author has looked at (Linux 6.17). Later ones do not exist, and
   neither does what a kernel might one day put into the gap of x86_64. */
#define SBX__LAST_CALL 469u

/* clang-format off */
enum { SBX__LOAD = 0x20, SBX__AND = 0x54, SBX__JEQ = 0x15, SBX__JGE = 0x35, SBX__JSET = 0x45,
       SBX__RET = 0x06 };
#define SBX__RET_ALLOW 0x7FFF0000u
#define SBX__RET_ERRNO 0x00050000u
#define SBX__RET_NOTIFY 0x7FC00000u
/* clang-format on */

/* The filter is built from its end, so that every jump knows where it goes. Returns its place. */
static int sbx__emit_jump(sbx__plan *p, int code, unsigned k, int yes, int no) {
    sbx__insn *i = &p->policy.filter[p->policy.filter_size];
    i->code = (unsigned short)code;
    i->k = k;
    yes = p->policy.filter_size - yes - 1; /* how many instructions to skip */
    no = p->policy.filter_size - no - 1;
    i->yes = (unsigned char)yes;
    i->no = (unsigned char)no;
    p->policy.too_far |= yes > 255 || no > 255;
    return p->policy.filter_size++;
}

static int sbx__emit(sbx__plan *p, int code, unsigned k) {
    return sbx__emit_jump(p, code, k, p->policy.filter_size - 1, p->policy.filter_size - 1);
}

/* The check of one row. Of an argument the lower half counts, as in the kernel. */
static int sbx__emit_check(sbx__plan *p, const sbx__rule *rule, int pass, int deny) {
    int no = rule->check == SBX__NOT || rule->check == SBX__WITHOUT; /* what matches is denied */
    int match = no ? deny : pass, other = no ? pass : deny, i = rule->check < SBX__WITH ? 4 : 1;
    if (rule->check == SBX__OURS) {
        sbx__emit_jump(p, SBX__JEQ, p->policy.password, deny, pass);
        return sbx__emit(p, SBX__LOAD, 16u + 8u * rule->arg + 4u);
    }
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
   the filter once for every number when it is set. The higher numbers come last, as in the checks,
   so that no jump has to go all the way. */
static int sbx__emit_spans(sbx__plan *p, const sbx__span *from, const sbx__span *to, unsigned end) {
    const sbx__span *mid = from + 1;
    int more;
    if (to == mid) return from->to;
    while (mid + 1 < to && mid->from < from->from + (end - from->from) / 2) mid++;
    more = sbx__emit_spans(p, mid, to, end);
    return sbx__emit_jump(p, SBX__JGE, mid->from, more, sbx__emit_spans(p, from, mid, mid->from));
}

/* Adds a span behind the last one, unless it leads to the same place: then that one goes on. */
static sbx__span *sbx__add_span(sbx__span *last, unsigned from, int to) {
    if (last->to == to) return last;
    last++;
    last->from = from;
    last->to = to;
    return last;
}

/* Where a row that is not passed leads to. */
typedef struct sbx__ends {
    int allow, deny, hide, kill; /* places of the returns; without kill_on_denied kill is -1 */
} sbx__ends;

static void sbx__emit_ends(sbx__plan *p, sbx__ends *ends) {
    ends->hide = sbx__emit(p, SBX__RET, SBX__RET_ERRNO | ENOSYS);
    ends->deny = sbx__emit(p, SBX__RET, SBX__RET_ERRNO | EPERM);
    ends->kill = p->cfg.policy->kill_on_denied ? sbx__emit(p, SBX__RET, SBX__RET_NOTIFY) : -1;
    ends->allow = sbx__emit(p, SBX__RET, SBX__RET_ALLOW);
}

static int sbx__end_of(const sbx__ends *ends, const sbx__rule *rule) {
    if (rule->kill && ends->kill >= 0) return ends->kill;
    return rule->check == SBX__HIDDEN ? ends->hide : ends->deny;
}

/* The rows that matter to this policy, in the order of their numbers. */
static int sbx__pick_rules(const sbx__plan *p, long landlock, const sbx__rule **rows) {
    const sbx_policy *policy = p->cfg.policy;
    int group = p->cfg.contain == SBX_CONTAIN_GROUP, i, k, count = 0;
    int matters[6];
    matters[SBX__ALWAYS] = 1;
    matters[SBX__NO_NETWORK] = !policy->allow_network;
    matters[SBX__NETWORK] = policy->allow_network;
    matters[SBX__NO_SPAWN] = policy->deny_spawn;
    matters[SBX__IN_GROUP] = group;
    matters[SBX__IN_GROUP_2] = group && landlock < 3;
    for (i = 0; i < SBX__RULES; i++) {
        const sbx__rule *rule = &sbx__rules[i];
        if (!matters[rule->when] || (rule->check == SBX__OURS && !p->policy.password)) continue;
        for (k = count++; k > 0 && rows[k - 1]->number > rule->number; k--) rows[k] = rows[k - 1];
        rows[k] = rule;
    }
    return count;
}

/* Numbers beyond the table: they do not exist. */
static sbx__span *sbx__add_unknown(sbx__span *last, const sbx__ends *ends) {
    last = sbx__add_span(last, SBX__LAST_CALL + 1, ends->hide);
#if defined(__x86_64__) /* x32: the same calls once more */
    last = sbx__add_span(last, 0x40000000u, ends->kill >= 0 ? ends->kill : ends->hide);
    last = sbx__add_span(last, 0x80000000u, ends->hide);
#elif defined(__arm__) /* breakpoint, cacheflush, set_tls, ... */
    last = sbx__add_span(last, 0xF0001u, ends->allow);
    last = sbx__add_span(last, 0xF0007u, ends->hide);
#endif
    return last;
}

static void sbx__build_filter(sbx__plan *p, long landlock) {
    const sbx__rule *rows[SBX__RULES];
    sbx__span spans[2 * SBX__RULES + 8], *last = spans; /* the first one is none */
    int i, to[SBX__RULES], count = sbx__pick_rules(p, landlock, rows);
    unsigned next = 0;
    sbx__ends ends;

    sbx__emit_ends(p, &ends);
    for (i = count; i-- > 0;) { /* rows of one number are passed through from the first on */
        int more = i + 1 < count && rows[i + 1]->number == rows[i]->number;
        const sbx__rule *rule = rows[i];
        to[i] = sbx__end_of(&ends, rule);
        if (rule->check > SBX__HIDDEN)
            to[i] = sbx__emit_check(p, rule, more ? to[i + 1] : ends.allow,
                                    rule->check >= SBX__IF ? ends.allow : to[i]);
    }

    sbx__emit_ends(p, &ends); /* once more, near those who go there straight from the number */
    spans->to = -1;
    for (i = 0; i < count; i++) {
        unsigned number = (unsigned)rows[i]->number;
        if (number < next) continue;
        if (number > next) last = sbx__add_span(last, next, ends.allow);
#ifdef __x86_64__ /* 335 and 336 belong to the kernel's own probes, then comes the gap */
        if (next <= 337 && number > 337) last = sbx__add_span(last, 337, ends.hide);
        if (next <= 337 && number > 424) last = sbx__add_span(last, 424, ends.allow);
#endif
        if (rows[i]->check <= SBX__HIDDEN) to[i] = sbx__end_of(&ends, rows[i]);
        last = sbx__add_span(last, number, to[i]);
        next = number + 1;
    }
    last = sbx__add_span(last, next, ends.allow);
    last = sbx__add_unknown(last, &ends);

    sbx__emit_spans(p, spans + 1, last + 1, SBX__LAST_CALL + 1);
    i = sbx__emit(p, SBX__LOAD, 0); /* the number */
    sbx__emit_jump(p, SBX__JEQ, SBX__ARCH, i, ends.kill >= 0 ? ends.kill : ends.hide);
    sbx__emit(p, SBX__LOAD, 4); /* the architecture: 32-bit calls have other numbers */
    for (i = 0; i < p->policy.filter_size / 2; i++) {
        sbx__insn other = p->policy.filter[i];
        p->policy.filter[i] = p->policy.filter[p->policy.filter_size - 1 - i];
        p->policy.filter[p->policy.filter_size - 1 - i] = other;
    }
}

static void sbx__policy_describe(const sbx *b, char *to, size_t room) {
    const char *name = "no name";
    int i;
    for (i = 0; i < SBX__RULES; i++)
        if (sbx__rules[i].number == b->policy.denied) name = sbx__rules[i].name;
    if (b->policy.arch != SBX__ARCH) name = "one for another kind of processor";
    else if ((unsigned)b->policy.denied > SBX__LAST_CALL) name = "one of the x32 table";
    if (b->policy.nameless)
        snprintf(to, room,
                 "%s was killed for a forbidden system call that it took back by a signal", b->who);
    else
        snprintf(to, room, "%s was killed for a forbidden system call: %s (number %d)", b->who,
                 name, b->policy.denied);
}

/* ---- plan: what stands in the root ---- */

/* A copy of the text that lives as long as the plan; NULL = no memory. */
static char *sbx__save_text(sbx__plan_policy *q, const char *text) {
    size_t size = strlen(text) + 1, room = size > SBX__PAGE ? size : SBX__PAGE;
    sbx__texts *block = q->texts;
    if (!block || block->room - block->used < size) {
        block = (sbx__texts *)SBX_REALLOC(NULL, sizeof *block + room);
        q->no_memory |= !block;
        if (!block) return NULL;
        block->before = q->texts;
        block->used = 0;
        block->room = room;
        q->texts = block;
    }
    block->used += size;
    return (char *)memcpy((char *)(block + 1) + block->used - size, text, size);
}

static void sbx__note(sbx__plan_policy *q, sbx__spot_kind kind, const char *at, const char *link) {
    char *path = sbx__save_text(q, at), *text = link ? sbx__save_text(q, link) : NULL;
    sbx__spot *spot;
    if (q->no_memory) return;
    if (q->count == q->room) {
        size_t size = (size_t)(q->room + 64) * sizeof *q->spots;
        spot = (sbx__spot *)SBX_REALLOC(q->spots, size);
        q->no_memory |= !spot;
        if (!spot) return;
        q->spots = spot;
        q->room += 64;
    }

    spot = &q->spots[q->count++];
    memset(spot, 0, sizeof *spot);
    spot->kind = kind;
    spot->fd = -1;
    spot->at = path;
    spot->link = text;
}

typedef struct sbx__walk { /* on the way along a path */
    int at; /* where it is; -1 = nowhere yet */
    char real[PATH_MAX]; /* ... as a path, without symlinks and the first slash */
    char rest[PATH_MAX]; /* what is still to go */
    int links;
} sbx__walk;

/* A symlink is made anew in the box, and its text comes before the rest of the way. */
static int sbx__walk_link(sbx__plan_policy *q, sbx__walk *w, int link, size_t used) {
    char text[PATH_MAX];
    ssize_t n = readlinkat(link, "", text, sizeof text - 1);
    size_t left = strlen(w->rest), size = n > 0 ? (size_t)n : 0;
    if (n < 0) return errno;
    if (size == 0 || ++w->links > 40) return ELOOP;
    if (size + left + 1 >= sizeof w->rest) return ENAMETOOLONG;

    text[size] = 0;
    sbx__note(q, SBX__SPOT_LINK, w->real, text);
    memmove(w->rest + size + 1, w->rest, left + 1);
    memcpy(w->rest, text, size);
    w->rest[size] = '/';
    w->real[used] = 0;
    if (text[0] != '/') return 0;

    w->real[0] = 0;
    sbx__close(&w->at);
    w->at = open("/", SBX__O_PATH | O_CLOEXEC);
    return w->at < 0 ? errno : 0;
}

/* One name further along the path. Returns 0, or an error. */
static int sbx__walk_step(sbx__plan_policy *q, sbx__walk *w) {
    size_t used = strlen(w->real), size = strcspn(w->rest, "/");
    char name[NAME_MAX + 1], *slash = strrchr(w->real, '/');
    struct stat st;
    int next, error;
    if (size > NAME_MAX || used + size + 2 > sizeof w->real) return ENAMETOOLONG;
    memcpy(name, w->rest, size);
    name[size] = 0;
    size += strspn(w->rest + size, "/");
    memmove(w->rest, w->rest + size, strlen(w->rest + size) + 1);
    if (!*name || strcmp(name, ".") == 0) return 0;

    next = openat(w->at, name, SBX__O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) return errno;
    error = fstat(next, &st) != 0 ? errno : 0;
    if (strcmp(name, "..") == 0) *(slash ? slash : w->real) = 0;
    else sprintf(w->real + used, "%s%s", used ? "/" : "", name);

    if (!error && S_ISLNK(st.st_mode)) {
        error = sbx__walk_link(q, w, next, used);
        close(next);
        return error;
    }
    if (*w->real && S_ISDIR(st.st_mode)) sbx__note(q, SBX__SPOT_DIR, w->real, NULL);
    close(w->at);
    w->at = next;
    return error;
}

/* All of the way at once, where there is no symlink and no dot on it. 0 = it has to be walked. */
static int sbx__walk_at_once(sbx__plan_policy *q, sbx__walk *w) {
    size_t used = strlen(w->real), skip = strspn(w->rest, "/"), size = strlen(w->rest + skip), i;
    unsigned long long how[3]; /* struct open_how: flags, mode, resolve */
    char *added = w->real + used;
    struct stat st;
    int next;
    if (size == 0 || used + size + 2 > sizeof w->real) return 0;
    if (w->rest[skip] == '.' || strstr(w->rest, "/.") || strstr(w->rest + skip, "//")) return 0;
    how[0] = SBX__O_PATH | O_CLOEXEC;
    how[1] = 0;
    how[2] = SBX__RESOLVE_NO_SYMLINKS;
    next = (int)syscall(SBX__NR_openat2, w->at, w->rest + skip, how, sizeof how);
    if (next < 0 || fstat(next, &st) != 0) {
        sbx__close(&next);
        return 0;
    }

    if (used) *added++ = '/';
    memcpy(added, w->rest + skip, size + 1);
    if (added[size - 1] == '/') added[--size] = 0;
    for (i = 0; i <= size; i++) { /* the directories on the way, and what it leads to */
        if ((i < size || !S_ISDIR(st.st_mode)) && added[i] != '/') continue;
        added[i] = 0;
        sbx__note(q, SBX__SPOT_DIR, w->real, NULL);
        if (i < size) added[i] = '/';
    }
    close(w->at);
    w->at = next;
    w->rest[0] = 0;
    return 1;
}

/* Follows a path as the kernel would, from the root or from where the walk is, and notes what it
   passes: these directories and symlinks the box gets, too. Whatever happens to the path later,
   w->at is what it led to. */
static int sbx__walk_path(sbx__plan_policy *q, sbx__walk *w, const char *path) {
    int error = *path ? 0 : ENOENT;
    if (*path == '/') {
        sbx__close(&w->at);
        w->at = open("/", SBX__O_PATH | O_CLOEXEC);
        w->real[0] = 0;
    }
    if (w->at < 0) return 0;
    if (strlen(path) >= sizeof w->rest) error = ENAMETOOLONG;
    else strcpy(w->rest, path);
    w->links = 0;
    if (!error && sbx__walk_at_once(q, w)) return 1;
    while (!error && *w->rest) error = sbx__walk_step(q, w);
    if (error) errno = error;
    return !error;
}

/* A relative path starts from the host's directory. */
static int sbx__walk_from_here(sbx__plan_policy *q, sbx__walk *w, const char *path) {
    char here[PATH_MAX];
    errno = ENOENT;
    if (!*path) return 0;
    if (*path != '/' && (!getcwd(here, sizeof here) || !sbx__walk_path(q, w, here))) return 0;
    return sbx__walk_path(q, w, path);
}

/* What the walk has led to becomes a spot, which keeps the descriptor. */
static sbx__spot *sbx__add_tree(sbx__plan *p, sbx__walk *w) {
    sbx__plan_policy *q = &p->policy;
    sbx__spot *spot;
    struct stat st;
    int fd;
    if (fstat(w->at, &st) != 0) return NULL;
    fd = sbx__move_up(w->at, p->low + 2);
    w->at = -1;
    if (fd < 0) return NULL;
    sbx__note(q, SBX__SPOT_TREE, w->real, NULL);
    if (q->no_memory) {
        close(fd);
        errno = ENOMEM;
        return NULL;
    }

    spot = &q->spots[q->count - 1];
    spot->file = !S_ISDIR(st.st_mode);
    spot->named = 1;
    spot->device = st.st_dev;
    spot->inode = st.st_ino;
    spot->fd = fd;
    return spot;
}

/* The trees of `read` or `write`. The first writable directory is HOME. */
static int sbx__add_named(sbx__plan *p, const char *const *paths, int write, sbx_result *r) {
    sbx__plan_policy *q = &p->policy;
    sbx__spot *spot;
    char shown[120];
    sbx__walk w;
    int i, error;
    w.at = -1;
    for (i = 0; paths && paths[i]; i++) {
        spot = sbx__walk_from_here(q, &w, paths[i]) ? sbx__add_tree(p, &w) : NULL;
        error = errno;
        sbx__close(&w.at);
        if (q->no_memory) return sbx__no_memory(r, "the policy");
        if (!spot)
            return sbx__refuse(r, SBX_STEP_POLICY, error, "policy.%s[%d] = \"%s\": %s",
                               write ? "write" : "read", i,
                               sbx__plain(shown, sizeof shown, paths[i]), strerror(error));
        spot->write = write;
        if (write && !spot->file && !q->home) {
            q->home = sbx__paste("HOME=/", spot->at);
            q->no_memory |= !q->home;
        }
    }
    return 1;
}

/* The program may stand anywhere, because the host named it. If it is no file, exec will say so. */
static void sbx__add_program(sbx__plan *p) {
    sbx__spot *spot;
    struct stat st;
    sbx__walk w;
    w.at = -1;
    if (sbx__walk_path(&p->policy, &w, p->path) && fstat(w.at, &st) == 0 && S_ISREG(st.st_mode)) {
        spot = sbx__add_tree(p, &w);
        if (spot) spot->program = 1;
    }
    sbx__close(&w.at);
}

static int sbx__add_program_dir(sbx__plan *p, sbx_result *r) {
    const char *dir = p->cfg.program->dir;
    char shown[120];
    sbx__walk w;
    int ok;
    w.at = -1;
    ok = sbx__walk_from_here(&p->policy, &w, dir) && sbx__add_tree(p, &w);
    if (!ok)
        sbx__refuse(r, SBX_STEP_POLICY, errno, "program.dir = \"%s\": %s",
                    sbx__plain(shown, sizeof shown, dir), strerror(errno));
    sbx__close(&w.at);
    return ok;
}

/* On many systems /bin and /lib are symlinks into /usr, which the box has anyway. */
static int sbx__leads_to_usr(int dir, const char *name, char *link, size_t room) {
    ssize_t n = readlinkat(dir, name, link, room - 1);
    link[n > 0 ? n : 0] = 0;
    return strncmp(link + strspn(link, "./"), "usr/", 4) == 0;
}

/* In a group there is no root to put it in: it gets its rule at once. A file takes only the rights
   of files. */
static void sbx__allow_system_path(sbx__plan *p, const sbx__walk *dir, const char *name,
                                   unsigned access) {
    char link[PATH_MAX];
    int fd;
    if (!*dir->real && sbx__leads_to_usr(dir->at, name, link, sizeof link)) return;
    fd = openat(dir->at, name, SBX__O_PATH | O_CLOEXEC);
    if (fd < 0) return;
    if (!sbx__add_rule(p->policy.ruleset, fd, access) && errno == EINVAL)
        sbx__add_rule(p->policy.ruleset, fd, access & SBX__ON_FILES);
    close(fd);
}

static void sbx__note_system(sbx__plan_policy *q, sbx__spot_kind kind, const char *at,
                             const struct stat *st) {
    sbx__spot *spot;
    sbx__note(q, kind, at, NULL);
    if (q->no_memory) return;
    spot = &q->spots[q->count - 1];
    spot->file = !S_ISDIR(st->st_mode);
    if (S_ISCHR(st->st_mode)) spot->device = st->st_rdev;
}

/* One of the system's paths, from the directory where the walk `dir` is. Most are plain names, and
   links into /usr, for which one look is enough. */
static void sbx__add_system_path(sbx__plan *p, const sbx__walk *dir, const char *name,
                                 sbx__spot_kind kind) {
    sbx__plan_policy *q = &p->policy;
    struct stat st;
    sbx__walk w;
    if (fstatat(dir->at, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (strlen(dir->real) + strlen(name) + 2 > sizeof w.real) return;
    strcat(strcat(strcpy(w.real, dir->real), *dir->real ? "/" : ""), name);
    if (!S_ISLNK(st.st_mode) && !strchr(name, '/')) {
        sbx__note_system(q, kind, w.real, &st);
        return;
    }
    if (!strchr(name, '/') && sbx__leads_to_usr(dir->at, name, w.rest, sizeof w.rest)) {
        sbx__note(q, SBX__SPOT_LINK, w.real, w.rest);
        return;
    }

    strcpy(w.real, dir->real);
    w.at = fcntl(dir->at, F_DUPFD_CLOEXEC, 3);
    if (sbx__walk_path(q, &w, name) && fstat(w.at, &st) == 0)
        sbx__note_system(q, kind, w.real, &st);
    sbx__close(&w.at);
}

/* Of the system what there is. Names are in the directory before them. */
static void sbx__add_system(sbx__plan *p, const char *const *list, sbx__spot_kind kind,
                            unsigned access) {
    sbx__walk dir;
    int i;
    dir.at = -1;
    for (i = 0; list[i]; i++) {
        if (*list[i] != '/' && dir.at >= 0) {
            if (p->in_tree) sbx__add_system_path(p, &dir, list[i], kind);
            else sbx__allow_system_path(p, &dir, list[i], access);
        } else if (*list[i] == '/' && !sbx__walk_path(&p->policy, &dir, list[i])) {
            sbx__close(&dir.at);
        }
    }
    sbx__close(&dir.at);
}

/* What every box has, unless there is to be nothing but `read` and `write`. */
static void sbx__add_own(sbx__plan *p) {
    static const char *const links[][2] = {{"dev/fd", "/proc/self/fd"},
                                           {"dev/stdin", "/proc/self/fd/0"},
                                           {"dev/stdout", "/proc/self/fd/1"},
                                           {"dev/stderr", "/proc/self/fd/2"}};
    const sbx_policy *policy = p->cfg.policy;
    sbx__plan_policy *q = &p->policy;
    long long bytes = policy->scratch_bytes ? policy->scratch_bytes : SBX__SCRATCH;
    int i;
    for (i = 0; i < q->count; i++) q->whole |= !*q->spots[i].at;
    if (!policy->no_system || q->whole) sbx__add_system(p, sbx__devices, SBX__SPOT_DEVICE, 0);
    if (!policy->no_system) {
        sbx__add_system(p, sbx__system, SBX__SPOT_TREE, 0);
        if (policy->allow_network) sbx__add_system(p, sbx__network, SBX__SPOT_TREE, 0);
        for (i = 0; i < 4; i++) sbx__note(q, SBX__SPOT_LINK, links[i][0], links[i][1]);
    }

    q->proc = !policy->no_system && !p->fn;
    if (q->proc || q->whole) sbx__note(q, SBX__SPOT_PROC, "proc", NULL);
    if (!policy->no_system || policy->scratch_bytes) {
        sbx__note(q, SBX__SPOT_DIR, "dev", NULL);
        sbx__note(q, SBX__SPOT_SCRATCH, "tmp", NULL);
        sbx__note(q, SBX__SPOT_SCRATCH, "dev/shm", NULL);
    }
    sprintf(q->options, "mode=755,size=%lld,nr_inodes=%lld", bytes, bytes / 4096 + 1024);
    if (bytes < 0) strcpy(q->options, "mode=755");
}

/* ---- plan: which of the places are needed, and in which order ---- */

static int sbx__compare_spots(const void *one, const void *two) {
    const sbx__spot *a = (const sbx__spot *)one, *b = (const sbx__spot *)two;
    int order = strcmp(a->at, b->at);
    return order ? order : (int)b->kind - (int)a->kind;
}

static int sbx__is_in(const char *inner, const char *outer) {
    size_t size = strlen(outer);
    return size == 0 || (strncmp(inner, outer, size) == 0 && (!inner[size] || inner[size] == '/'));
}

/* The innermost of the first places that has others in it, and this path. */
static sbx__spot *sbx__around(const sbx__plan_policy *q, int count, const char *at) {
    while (count-- > 0) {
        sbx__spot *spot = &q->spots[count];
        int holds = spot->kind == SBX__SPOT_SCRATCH || spot->kind == SBX__SPOT_PROC ||
                    (spot->kind == SBX__SPOT_TREE && !spot->file);
        if (holds && sbx__is_in(at, spot->at)) return spot;
    }
    return NULL;
}

/* Of the named ones the innermost wins. Who names "/" wants the /tmp that is there. */
static int sbx__is_needed(const sbx__spot *spot, const sbx__spot *around) {
    if (spot->kind == SBX__SPOT_PROC || spot->kind == SBX__SPOT_DEVICE) return 1;
    if (spot->kind == SBX__SPOT_SCRATCH) return !around->write && strcmp(spot->at, "tmp") != 0;
    if (around->kind == SBX__SPOT_SCRATCH) return 1;
    if (around->kind == SBX__SPOT_PROC || spot->kind != SBX__SPOT_TREE) return 0;
    return spot->named && !spot->program && spot->write != around->write;
}

/* The same path twice: what is named counts more than what is the system's. */
static void sbx__merge(sbx__spot *kept, sbx__spot *spot) {
    sbx__spot other = *kept;
    int write = kept->write | spot->write;
    if (kept->kind != SBX__SPOT_TREE || spot->kind != SBX__SPOT_TREE) return;
    if (spot->named && !kept->named) {
        *kept = *spot;
        *spot = other;
    }
    kept->write = write;
    kept->program &= spot->program;
}

/* Sorts the places, so that what is inside comes after what is around it, and moves those that are
   there anyway behind the others. */
static void sbx__sort_spots(sbx__plan_policy *q) {
    int i;
    if (q->count > 0) qsort(q->spots, (size_t)q->count, sizeof *q->spots, sbx__compare_spots);
    for (i = 0; i < q->count; i++) {
        sbx__spot *spot = &q->spots[i], *around, other;
        if (q->used > 0 && strcmp(q->spots[q->used - 1].at, spot->at) == 0) {
            sbx__merge(&q->spots[q->used - 1], spot);
            continue;
        }
        around = sbx__around(q, q->used, spot->at);
        if (around && !sbx__is_needed(spot, around)) continue;
        spot->there = around && around->kind != SBX__SPOT_SCRATCH;
        other = q->spots[q->used];
        q->spots[q->used++] = *spot;
        q->spots[i] = other;
    }
}

static int sbx__has_spot(const sbx__plan_policy *q, sbx__spot_kind kind, const char *at) {
    int i;
    for (i = 0; i < q->used; i++)
        if (q->spots[i].kind == kind && strcmp(q->spots[i].at, at) == 0) return 1;
    return 0;
}

/* Does the box show this path? */
static int sbx__shows(const sbx__plan_policy *q, const char *at) {
    const sbx__spot *around = sbx__around(q, q->used, at);
    int i;
    for (i = 0; i < q->used; i++)
        if (strcmp(q->spots[i].at, at) == 0) return 1;
    return *at == 0 || (around && around->kind == SBX__SPOT_TREE);
}

/* ---- plan: HOME, TMPDIR, and where it starts ---- */

/* Instead of the host's value, unless the config has one. */
static void sbx__policy_variable(sbx__plan *p, const char *name, char *entry) {
    size_t from, to = 0, size = strlen(name);
    if (sbx__find_name(p->cfg.env, sbx__count(p->cfg.env), name)) return;
    for (from = 0; p->envp[from]; from++)
        if (strncmp(p->envp[from], name, size) != 0) p->envp[to++] = p->envp[from];
    if (entry) p->envp[to++] = entry;
    p->envp[to] = NULL;
}

static void sbx__policy_env(sbx__plan *p) {
    sbx__plan_policy *q = &p->policy;
    const sbx__spot *around = sbx__around(q, q->used, "tmp");
    int shm = sbx__has_spot(q, SBX__SPOT_SCRATCH, "dev/shm");
    const char *tmp = q->home ? q->home + strlen("HOME=") : NULL;
    if (!p->in_tree) around = NULL;
    if (around && (around->write || around->kind == SBX__SPOT_SCRATCH)) tmp = "/tmp";
    else if (!tmp && shm && p->in_tree) tmp = "/dev/shm";
    q->tmp = tmp ? sbx__paste("TMPDIR=", tmp) : NULL;
    if (!q->home) q->home = sbx__paste("HOME=", tmp ? tmp : "/");
    q->no_memory |= !q->home || (tmp && !q->tmp);
    sbx__policy_variable(p, "HOME=", q->home);
    sbx__policy_variable(p, "TMPDIR=", q->tmp);
}

/* The host's directory may not be in the box; one that the config names has to be. */
static int sbx__policy_start(sbx__plan *p, sbx_result *r) {
    sbx__plan_policy *q = &p->policy;
    const char *cwd = p->cfg.cwd;
    char shown[120];
    sbx__walk w;
    int shows;
    w.at = -1;
    if (cwd) shows = sbx__walk_from_here(q, &w, cwd) && sbx__shows(q, w.real);
    else shows = getcwd(w.rest, sizeof w.rest) && w.rest[0] == '/' && sbx__shows(q, w.rest + 1);
    sbx__close(&w.at);
    p->cwd = sbx__shows(q, "tmp") ? "/tmp" : "/";
    if (shows) {
        strcat(strcpy(p->free_text, "/"), cwd ? w.real : w.rest + 1);
        p->cwd = sbx__stays(p);
    }
    if (shows || !cwd) return 1;
    return sbx__refuse(r, SBX_STEP_CWD, ENOENT, "cwd = \"%s\": the policy does not show it",
                       sbx__plain(shown, sizeof shown, cwd));
}

static int sbx__plan_root(sbx__plan *p, sbx_result *r) {
    const sbx_policy *policy = p->cfg.policy;
    if (!sbx__add_named(p, policy->write, 1, r) || !sbx__add_named(p, policy->read, 0, r)) return 0;
    if (p->cfg.program && !sbx__add_program_dir(p, r)) return 0;
    if (!p->fn) sbx__add_program(p);
    if (p->in_tree) sbx__add_own(p);
    if (p->policy.no_memory) return sbx__no_memory(r, "the policy");
    sbx__sort_spots(&p->policy);
    sbx__policy_env(p);
    if (p->policy.no_memory) return sbx__no_memory(r, "the policy");
    return !p->in_tree || sbx__policy_start(p, r);
}

/* ---- plan: Landlock, the second lock in a tree, and the only one for files in a group ---- */

/* The version of Landlock, which tells what it guards; 0 = none. */
static int sbx__landlock_version(void) {
    long version = syscall(SBX__NR_landlock_create_ruleset, NULL, 0, 1);
    return version > 0 ? (int)version : 0;
}

/* An empty ruleset over everything that this kernel's Landlock can guard. */
static int sbx__make_ruleset(sbx__plan *p, int version) {
    unsigned all = (1u << 13) - 1;
    unsigned long long attr[3];
    int size = 8;
    if (version >= 2) all |= SBX__REFER;
    if (version >= 3) all |= SBX__TRUNCATE;
    if (version >= 4) size = 16;
    if (version >= 5) all |= SBX__IOCTL_DEV;
    if (version >= 6) size = 24;
    attr[0] = all;
    attr[1] = version >= 4 && !p->cfg.policy->allow_network ? 3 : 0; /* TCP: bind, connect */
    attr[2] = 3; /* to the outside: abstract sockets, signals */
    p->policy.rights = all & ~(unsigned)(SBX__MAKE_CHAR | SBX__MAKE_BLOCK);
    p->policy.ruleset = (int)syscall(SBX__NR_landlock_create_ruleset, attr, size, 0);
    p->policy.ruleset = sbx__move_up(p->policy.ruleset, p->low + 2);
    return p->policy.ruleset >= 0;
}

static unsigned sbx__device_rights(const sbx__plan *p) {
    return p->policy.rights & SBX__ON_FILES & ~(unsigned)SBX__EXECUTE;
}

/* What was named gets its rule here, on what was found and not on its name. What else stands in a
   root is known only in the child. */
static int sbx__allow_named(sbx__plan *p) {
    static const char *const proc[] = {"/", "proc", NULL};
    const sbx__plan_policy *q = &p->policy;
    const sbx_policy *policy = p->cfg.policy;
    int i;
    for (i = 0; i < q->used; i++) {
        const sbx__spot *spot = &q->spots[i];
        unsigned rights = spot->write ? q->rights : (unsigned)SBX__READ_TREE;
        if (spot->file) rights &= SBX__ON_FILES;
        if (spot->fd >= 0 && !sbx__add_rule(q->ruleset, spot->fd, rights)) return 0;
    }
    if (p->in_tree || policy->no_system) return 1;
    sbx__add_system(p, sbx__system, SBX__SPOT_TREE, SBX__READ_TREE);
    sbx__add_system(p, sbx__there, SBX__SPOT_TREE, SBX__READ_TREE);
    sbx__add_system(p, proc, SBX__SPOT_TREE, SBX__READ_TREE);
    sbx__add_system(p, sbx__devices, SBX__SPOT_DEVICE, sbx__device_rights(p));
    if (policy->allow_network) sbx__add_system(p, sbx__network, SBX__SPOT_TREE, SBX__READ_TREE);
    return 1;
}

static int sbx__plan_rules(sbx__plan *p, int version, sbx_result *r) {
    if (!p->in_tree && !version)
        return sbx__refuse(r, SBX_STEP_POLICY, ENOSYS,
                           "policy with contain = SBX_CONTAIN_GROUP needs Landlock (Linux 5.13, "
                           "and in the kernel's lsm= list)");
    if (!version) return 1;
    if (sbx__make_ruleset(p, version) && sbx__allow_named(p)) {
        p->policy.enforced |= SBX_BY_LANDLOCK;
        return 1;
    }
    return sbx__refuse(r, SBX_STEP_POLICY, errno, "policy: no rules of Landlock: %s",
                       strerror(errno));
}

/* ---- kill_on_denied ---- */

/* A forbidden call waits in the kernel until somebody receives the notice of it. A signal takes the
   notice back, and with a fast timer a program could ask unheard by a host that only looks whether
   there is one. Who sleeps in the kernel until it can receive one hears of each, if only that it
   was there. That is the ear: a little program of ours that passes on what it hears. The program's
   own process starts it, so that it is under the same filter: the kernel forgets what was asked
   when nobody is left under that. It is nobody's child, and its descriptors are out of reach. It
   takes no signals but those that end or stop it, and where Landlock guards signals not even these
   from the box. */

typedef struct sbx__notice { /* struct seccomp_notif */
    unsigned long long id;
    unsigned pid, flags; /* pid 0: it was taken back */
    int number;
    unsigned arch, rest[14];
} sbx__notice;

enum { SBX__EAR_LISTENER = 0, SBX__EAR_PIPE = 1, SBX__EAR_IMAGE = 3 }; /* its descriptors */

/* clang-format off */
#if SBX__HAS_IMAGE
#ifdef __x86_64__
static const unsigned char sbx__ear_code[] = {
    0x48, 0x83, 0xEC, 96, 0x48, 0x89, 0xE7, 0x31, 0xC0,    /* again: memset(notice, 0, 96) */
    0xB9, 12, 0, 0, 0, 0xF3, 0x48, 0xAB,
    0xB0, 16, 0x31, 0xFF, 0xBE, 0, 0x21, 0x50, 0xC0,       /* ioctl(0, NOTIF_RECV, notice) */
    0x48, 0x89, 0xE2, 0x0F, 0x05,
    0x83, 0xF8, 0xFC, 0x74, 0xE0, 0x85, 0xC0, 0x74, 0x1F,  /* EINTR: again; 0: tell */
    0x83, 0xF8, 0xFE, 0x75, 0x2B,                          /* not ENOENT: quit */
    0x48, 0x8D, 0x7C, 0x24, 80, 0xBE, 1, 0, 0, 0,          /* poll(0): */
    0x31, 0xD2, 0xB8, 7, 0, 0, 0, 0x0F, 0x05,
    0xF6, 0x44, 0x24, 86, 0x10, 0x75, 0x11,                /* POLLHUP: nobody is left: quit */
    0xB8, 1, 0, 0, 0, 0x89, 0xC7, 0x48, 0x89, 0xE6,        /* tell: write(1, notice, 80) */
    0xBA, 80, 0, 0, 0, 0x0F, 0x05,
    0xB8, 0xE7, 0, 0, 0, 0x31, 0xFF, 0x0F, 0x05};          /* quit: exit_group(0) */
#else
static const unsigned sbx__ear_code[] = {
    0xD101C3FFu, 0xA9007FFFu, 0xA9017FFFu, 0xA9027FFFu, 0xA9037FFFu, 0xA9047FFFu, 0xA9057FFFu,
    0xD2800000u, 0xD2842001u, 0xF2B80A01u, 0x910003E2u, 0xD28003A8u, 0xD4000001u, /* ioctl */
    0x3100101Fu, 0x54FFFE60u, 0x34000180u, 0x3100081Fu, 0x540001E1u,
    0x910143E0u, 0xD2800021u, 0x910183E2u, 0xA9067FFFu, 0xD2800003u, 0xD2800928u, 0xD4000001u,
    0x7940AFE9u, 0x372000C9u,                                                     /* ppoll */
    0xD2800020u, 0x910003E1u, 0xD2800A02u, 0xD2800808u, 0xD4000001u,              /* write */
    0xD2800000u, 0xD2800BC8u, 0xD4000001u};                                       /* exit_group */
#endif
#endif
/* clang-format on */

/* The header of pid 1's image, and this code. -1 = none for this architecture. */
static int sbx__open_ear(int least) {
    int fd = -1;
#if SBX__HAS_IMAGE
    size_t head = offsetof(struct sbx__image, code), size = sizeof sbx__ear_code;
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < head + size) return -1;
    fd = (int)syscall(SYS_memfd_create, "sbx-ear", SBX__MFD_CLOEXEC | SBX__MFD_EXEC);
    if (fd < 0 && errno == EINVAL) fd = (int)syscall(SYS_memfd_create, "sbx-ear", SBX__MFD_CLOEXEC);
    fd = sbx__move_up(fd, least > SBX__EAR_IMAGE ? least : SBX__EAR_IMAGE + 1);
    if (fd >= 0 && (write(fd, &sbx__image, head) != (ssize_t)head ||
                    write(fd, sbx__ear_code, size) != (ssize_t)size ||
                    fchmod(fd, 0111) != 0)) /* who cannot read it cannot look into its process */
        sbx__close(&fd);
#endif
    (void)least;
    return fd;
}

/* Whoever closes the other end of the pipe, and be it by dying, kills the caller; and so does who
   reads from it. */
static int sbx__ends_with_host(int pipe_end) {
    struct pollfd one; /* an error, if it is closed already */
    one.fd = pipe_end;
    one.events = 0;
    one.revents = 0;
    return fcntl(pipe_end, SBX__F_SETSIG, SIGKILL) == 0 &&
           fcntl(pipe_end, F_SETOWN, (int)syscall(SYS_getpid)) == 0 &&
           fcntl(pipe_end, F_SETFL, O_WRONLY | SBX__O_ASYNC) == 0 && poll(&one, 1, 0) == 0;
}

/* In the program's memory until exec. */
static int sbx__ear_child(void *arg) {
    static const char *const name[] = {"sbx-ear", NULL};
    const sbx__plan_policy *q = (const sbx__plan_policy *)arg;
    int pipe_end = q->ear_pipe;
    if (sbx__new_session() && sbx__dup(q->notice, SBX__EAR_LISTENER, 0) >= 0 &&
        sbx__dup(q->ear_pipe, SBX__EAR_PIPE, 0) >= 0 && sbx__dup(q->ear_pipe, 2, 0) >= 0 &&
        sbx__dup(q->ear_image, SBX__EAR_IMAGE, O_CLOEXEC) >= 0 && chdir("/") == 0 &&
        sbx__ends_with_host(SBX__EAR_PIPE)) {
        pipe_end = SBX__EAR_PIPE;
        sbx__close_from(SBX__EAR_IMAGE + 1);
        syscall(SYS_execveat, SBX__EAR_IMAGE, "", name, name + 1, SBX__AT_EMPTY_PATH);
    }
    sbx__quit(write(pipe_end, "", 1) == 1 ? 126 : 127);
    return 0;
}

/* The clone returns when it has begun, or has said that it cannot. */
static int sbx__ear_listens(const sbx__plan_policy *q) {
    int said = 0;
    return q->ear > 0 && ioctl(q->ear_pipe, FIONREAD, &said) == 0 && said == 0;
}

/* Starts the ear and ends, so that it is nobody's child in the box: who waits for all its children
   would wait for ever. */
static int sbx__ear_parent(void *arg) {
    sbx__plan *p = (sbx__plan *)arg;
    int flags = SBX__CLONE_VM | SBX__CLONE_VFORK | SBX__CLONE_PIDFD;
    p->policy.ear =
        sbx__clone(sbx__ear_child, sbx__stack_top(p), flags, &p->policy, &p->policy.ear_fd);
    sbx__quit(0);
    return 0;
}

/* The filter may deny new processes already: then as a copy, by a call that has the password, and a
   child of the program, which cannot have others to wait for. */
static int sbx__start_ear(sbx__plan *p) {
    int flags = SBX__CLONE_VM | SBX__CLONE_VFORK | SBX__CLONE_FILES;
    unsigned long long copy = SBX__CLONE_VFORK | SBX__CLONE_PIDFD;
    pid_t parent;
    unsigned long sync = 1; /* SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP: it runs as soon as one asks */
    if (!p->cfg.policy->kill_on_denied || p->policy.ear_image < 0) return 1;
    syscall(SYS_ioctl, p->policy.notice, SBX__SECCOMP_NOTIF_SET_FLAGS, sync);
    if (!p->cfg.policy->deny_spawn) {
        parent = sbx__clone(sbx__ear_parent, sbx__stack_top(p), flags, p);
        if (parent > 0) sbx__collect(parent, 0, NULL);
        return sbx__ear_listens(&p->policy);
    }

    copy |= (unsigned long long)p->policy.password << 32;
    p->policy.ear = (int)syscall(SYS_clone, (unsigned long)copy, 0L, &p->policy.ear_fd, 0L, 0L, 0L);
    if (p->policy.ear == 0) sbx__ear_child(&p->policy);
    p->policy.password = 0; /* a function could read it */
    if (p->fn) memset(p->policy.filter, 0, (size_t)p->policy.filter_size * sizeof(sbx__insn));
    return sbx__ear_listens(&p->policy);
}

/* What it needs. Where there is no program for it, the host listens as well as it can. */
static int sbx__plan_ear(sbx__plan *p, sbx *b) {
    if (!p->cfg.policy->kill_on_denied || !SBX__HAS_IMAGE) return 1;
    if (syscall(SYS_getrandom, &p->policy.password, sizeof p->policy.password, 0) < 4) return 0;
    p->policy.password |= 1; /* 0 = none */
    p->policy.ear_image = sbx__open_ear(p->low + 2);
    return p->policy.ear_image >= 0 &&
           sbx__pipe(&b->fd[SBX__NOTICE], &p->policy.ear_pipe, p->low + 2) &&
           sbx__nonblocking(b->fd[SBX__NOTICE]);
}

/* In a group nothing but Landlock stands before the files: what it cannot express is refused. */
static int sbx__check_group(const sbx__plan *p, sbx_result *r) {
    const sbx__plan_policy *q = &p->policy;
    char shown[120];
    int i;
    if (!p->in_tree && p->apart && p->cfg.policy->kill_on_denied)
        return sbx__refuse(r, SBX_STEP_POLICY, EINVAL,
                           "policy.kill_on_denied: for a function, or with uid or gid, only where "
                           "it is contained as a tree");
    for (i = 0; i < q->used && !p->in_tree; i++) {
        const sbx__spot *spot = &q->spots[i], *around = sbx__around(q, i, spot->at);
        if (spot->kind != SBX__SPOT_TREE || !spot->named) continue;
        sbx__plain(shown, sizeof shown, spot->at);
        if (!spot->write && !spot->program && around && around->write)
            return sbx__refuse(r, SBX_STEP_POLICY, EINVAL,
                               "policy.read = \"/%s\" is inside a tree of policy.write: in a "
                               "group it could be written all the same",
                               shown);
    }
    return 1;
}

/* A line of mountinfo: where a file system of the kernel's own is mounted, without the first slash;
   NULL = it is another one. */
static const char *sbx__settings_at(char *line) {
    static const char *const types[] = {"proc",      "sysfs",       "cgroup",   "cgroup2",
                                        "debugfs",   "tracefs",     "configfs", "securityfs",
                                        "bpf",       "binfmt_misc", "efivarfs", "pstore",
                                        "selinuxfs", "smackfs",     "fusectl",  "nfsd"};
    char *type = strstr(line, " - "), *at = line, *from, *to;
    size_t i;
    int field;
    for (field = 0; at && field < 4; field++) {
        at = strchr(at, ' ');
        if (at) at++;
    }
    if (!type || !at || *at != '/') return NULL;
    type += 3;
    for (i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strncmp(type, types[i], strlen(types[i])) == 0 && type[strlen(types[i])] == ' ') break;
    if (i == sizeof types / sizeof types[0]) return NULL;

    for (from = to = ++at; *from && *from != ' '; to++) { /* a space is \040 */
        int coded = *from == '\\' && from[1] && from[2] && from[3];
        *to = coded ? (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + from[3] - '0') : *from;
        from += coded ? 4 : 1;
    }
    *to = 0;
    return at;
}

/* Settings of the kernel are no files, and for a root who stays root a way out. In the host's own
   root /proc is hidden, and /sys made read-only. */
static int sbx__check_settings(const sbx__plan *p, sbx_result *r) {
    const sbx__plan_policy *q = &p->policy;
    char shown[120], where[120];
    sbx__lines l;
    char *line;
    int i, proc, writes = 0, good = 1;
    for (i = 0; i < q->used; i++) writes |= q->spots[i].named && q->spots[i].write;
    if (!writes || geteuid() != 0 || p->cfg.uid) return 1;
    proc = sbx__open_proc();
    if (!sbx__open_lines(&l, proc, (int)getpid(), "mountinfo"))
        good = sbx__refuse(r, SBX_STEP_POLICY, errno,
                           "policy.write: a host that is root needs /proc/self/mountinfo, to keep "
                           "the kernel's settings out: %s",
                           strerror(errno));
    while (good && (line = (char *)(size_t)sbx__next_line(&l)) != NULL) {
        const char *at = sbx__settings_at(line);
        for (i = 0; at && good && i < q->used; i++) {
            const sbx__spot *spot = &q->spots[i];
            if (!spot->named || !spot->write) continue;
            if (!sbx__is_in(at, spot->at) && !sbx__is_in(spot->at, at)) continue;
            if (!*spot->at && p->in_tree && (sbx__is_in(at, "proc") || sbx__is_in(at, "sys")))
                continue;
            sbx__plain(shown, sizeof shown, spot->at);
            good = sbx__refuse(r, SBX_STEP_POLICY, EINVAL,
                               "policy.write = \"/%s\": root could change the kernel's settings "
                               "at /%s; cfg.uid makes it an ordinary user",
                               shown, sbx__plain(where, sizeof where, at));
        }
    }
    sbx__close(&l.fd);
    sbx__close(&proc);
    return good;
}

static int sbx__policy_plan(sbx__plan *p, sbx *b, sbx_result *r) {
    sbx__plan_policy *q = &p->policy;
    const sbx_policy *policy = p->cfg.policy;
    int version;
    if (!sbx__check_range("policy.scratch_bytes", policy->scratch_bytes, SBX_MAX_BYTES, r))
        return 0;
    if (!SBX__ARCH)
        return sbx__refuse(r, SBX_STEP_POLICY, ENOSYS,
                           "policy needs a system-call filter, which this architecture lacks here");

    version = sbx__landlock_version();
    if (!sbx__plan_root(p, r) || !sbx__check_group(p, r) || !sbx__check_settings(p, r) ||
        !sbx__plan_rules(p, version, r))
        return 0;

    if (!sbx__plan_ear(p, b))
        return sbx__refuse(r, SBX_STEP_IO, errno,
                           "no pipe, or no file in memory, for kill_on_denied: %s",
                           strerror(errno));
    q->filter = (sbx__insn *)SBX_REALLOC(NULL, (16 + 9 * SBX__RULES) * sizeof *q->filter);
    if (!q->filter) return sbx__no_memory(r, "the policy");
    sbx__build_filter(p, version);
    if (q->too_far)
        return sbx__refuse(r, SBX_STEP_POLICY, E2BIG, "policy: its filter has grown too long");
    p->one_table |=
        policy->kill_on_denied && !p->apart; /* the host needs the filter's descriptor */
    q->enforced |= SBX_BY_SECCOMP | SBX_BY_NO_NEW_PRIVS | (p->in_tree ? SBX_BY_ROOT : 0);
    return 1;
}

static void sbx__policy_free_plan(sbx__plan *p) {
    sbx__plan_policy *q = &p->policy;
    sbx__close(&q->ruleset);
    sbx__close(&q->notice);
    sbx__close(&q->ear_fd);
    sbx__close(&q->ear_pipe);
    sbx__close(&q->ear_image);
    while (q->count > 0) sbx__close(&q->spots[--q->count].fd);
    while (q->texts) {
        sbx__texts *block = q->texts;
        q->texts = block->before;
        SBX_FREE(block);
    }
    SBX_FREE(q->spots);
    SBX_FREE(q->home);
    SBX_FREE(q->tmp);
    SBX_FREE(q->filter);
}

/* ---- child: the root. The descriptor table is the host's: nothing may stay open in it ---- */

/* errno stays as it was. Returns -1. */
static int sbx__close_quietly(int fd) {
    int error = errno;
    if (fd >= 0) close(fd);
    errno = error;
    return -1;
}

static int sbx__set_mount(int at, const char *path, int flags, unsigned set, unsigned clear) {
    unsigned long long attr[4]; /* struct mount_attr: set, clear, propagation, user namespace */
    memset(attr, 0, sizeof attr);
    attr[0] = set;
    attr[1] = clear;
    attr[2] = MS_PRIVATE; /* no later mount of the host shows up in it */
    return syscall(SBX__NR_mount_setattr, at, path, flags, attr, sizeof attr) == 0;
}

static int sbx__move_mount(int mounts, int root, const char *at) {
    long moved = syscall(SBX__NR_move_mount, mounts, "", root, at, SBX__MOVE_MOUNT_FROM_FD);
    sbx__close_quietly(mounts);
    return moved == 0;
}

/* What was named is opened anew, because the host's descriptor belongs to the host's mounts. If it
   was replaced since the host looked, there is an error and no box. */
static int sbx__open_named(const sbx__spot *spot, const char *path) {
    int fd = open(path, SBX__O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) return sbx__close_quietly(fd);
    if (st.st_dev == spot->device && st.st_ino == spot->inode) return fd;
    errno = ESTALE;
    return sbx__close_quietly(fd);
}

/* A tree or a file that was named, or a device, with all that is mounted in it: mounts of its own,
   which are in no directory yet. */
static int sbx__clone_mounts(const sbx__spot *spot) {
    int mounts, fd = AT_FDCWD, flags = SBX__OPEN_TREE_CLONE | SBX__AT_RECURSIVE | O_CLOEXEC;
    unsigned attr = SBX__MOUNT_NOSUID;
    char path[PATH_MAX + 1];
    strcat(strcpy(path, "/"), spot->at);
    if (spot->named) {
        fd = sbx__open_named(spot, path);
        if (fd < 0) return -1;
        path[0] = 0;
    }
    flags |= spot->named ? SBX__AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW;
    mounts = (int)syscall(SBX__NR_open_tree, fd, path, flags);
    if (spot->named) sbx__close_quietly(fd);
    if (mounts < 0) return -1;

    if (!spot->write) attr |= SBX__MOUNT_RDONLY; /* devices can be written all the same */
    if (spot->kind != SBX__SPOT_DEVICE) attr |= SBX__MOUNT_NODEV;
    flags = SBX__AT_EMPTY_PATH | SBX__AT_RECURSIVE;
    return sbx__set_mount(mounts, "", flags, attr, 0) ? mounts : sbx__close_quietly(mounts);
}

/* A directory of the root's own tmpfs that becomes writable again, so that all of them share its
   size. In somebody else's tree it is a tmpfs for itself. */
static int sbx__open_scratch(const sbx__plan *p, const sbx__spot *spot, int root) {
    int mounts, empty = SBX__AT_EMPTY_PATH;
    if (spot->there)
        return mount("none", spot->at, "tmpfs", MS_NOSUID | MS_NODEV, p->policy.options) == 0 &&
               syscall(SYS_fchmodat, root, spot->at, 01777) == 0;
    mounts = (int)syscall(SBX__NR_open_tree, root, spot->at, SBX__OPEN_TREE_CLONE | O_CLOEXEC);
    if (mounts >= 0 && sbx__set_mount(mounts, "", empty, SBX__MOUNT_NODEV, SBX__MOUNT_RDONLY))
        return sbx__move_mount(mounts, root, spot->at);
    sbx__close_quietly(mounts);
    return 0;
}

/* Root may read these although it has no capability left: the kernel's memory in figures, the
   timers of everybody, and the key of the host's TCP cookies. */
static void sbx__mask_proc(void) {
    static const char *const names[] = {"proc/kpagecount",   "proc/kpageflags",
                                        "proc/kpagecgroup",  "proc/slabinfo",
                                        "proc/vmallocinfo",  "proc/timer_list",
                                        "proc/pagetypeinfo", "proc/sys/net/ipv4/tcp_fastopen_key"};
    int i, masked;
    for (i = 0; i < 8; i++) {
        masked = mount("dev/null", names[i], "", MS_BIND, "");
        (void)masked; /* not every kernel has each of them */
    }
    masked = mount("none", "proc/sys/net/ipv6/conf", "tmpfs", MS_RDONLY, ""); /* stable_secret */
    (void)masked;
}

/* A /proc that shows the numbers which the tree itself knows. It is also the host's eye, which
   cannot be put out, so the host gets it even where the box does not: a function sees none, because
   its link /proc/self/exe leads to the host's file, past all mounts. */
static int sbx__make_proc(sbx__plan *p, int there, int root) {
    unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;
    int mounted;
    if (!there && syscall(SYS_mkdirat, root, "proc", 0555) != 0) return 0;
    mounted = mount("proc", "proc", "proc", flags, "") == 0;
    if (mounted) p->tree.proc = openat(root, "proc", SBX__O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (p->policy.proc) {
        if (p->tree.proc < 0) return 0;
        if (geteuid() == 0 && !p->tree.user_ns && !p->cfg.uid) sbx__mask_proc();
        return 1;
    }

    if (there) return mount("none", "proc", "tmpfs", flags, "") == 0;
    if (mounted && umount2("proc", MNT_DETACH) != 0) return 0;
    return syscall(SYS_unlinkat, root, "proc", AT_REMOVEDIR) == 0;
}

/* A device is made anew where that is allowed, else the host's is attached later. */
static int sbx__make_file(sbx__plan *p, const sbx__spot *spot, int root) {
    long device = (long)spot->device;
    if (spot->kind == SBX__SPOT_DEVICE && p->policy.nodes) {
        if (device && syscall(SYS_mknodat, root, spot->at, S_IFCHR | 0666, device) == 0) return 1;
        p->policy.nodes = 0;
    }
    return syscall(SYS_mknodat, root, spot->at, S_IFREG | 0444, 0) == 0;
}

/* Directories, symlinks, places for what comes later; and the system's trees, which only root can
   exchange, by their names: that is the fastest way. */
static int sbx__make_spot(sbx__plan *p, const sbx__spot *spot, int root) {
    unsigned mode = spot->kind == SBX__SPOT_SCRATCH ? 01777 : 0755;
    char path[PATH_MAX + 1];
    if (spot->kind == SBX__SPOT_PROC) return sbx__make_proc(p, spot->there, root);
    if (spot->kind == SBX__SPOT_LINK)
        return syscall(SYS_symlinkat, spot->link, root, spot->at) == 0;
    if (spot->there) return 1;
    if (spot->file && !sbx__make_file(p, spot, root)) return 0;
    if (!spot->file && syscall(SYS_mkdirat, root, spot->at, mode) != 0) return 0;
    if (spot->kind != SBX__SPOT_TREE || spot->named) return 1;
    strcat(strcpy(path, "/"), spot->at);
    return mount(path, spot->at, "", MS_BIND | MS_REC, "") == 0;
}

/* What differs from the system's trees: it can be written, or it is a device, or had to be held by
   its descriptor. */
static int sbx__fill_spot(sbx__plan *p, const sbx__spot *spot, int root) {
    int mounts;
    if (spot->kind == SBX__SPOT_SCRATCH) return sbx__open_scratch(p, spot, root);
    if (spot->kind == SBX__SPOT_DEVICE && p->policy.nodes && !spot->there) return 1;
    if (spot->kind != SBX__SPOT_DEVICE && !spot->named) return 1;
    mounts = sbx__clone_mounts(spot);
    return mounts >= 0 && sbx__move_mount(mounts, root, spot->at);
}

/* A stream's /dev/null must not be on a mount of the host's, where root could change its mode. If
   the box has none, it is opened here and taken away again. */
static int sbx__open_own_null(sbx__plan *p, int root) {
    char at[] = "dev/null";
    sbx__spot null;
    int mounts;
    if (sbx__has_spot(&p->policy, SBX__SPOT_DEVICE, at)) return 1; /* sbx__own_null will find it */
    memset(&null, 0, sizeof null);
    null.at = at;
    null.kind = SBX__SPOT_DEVICE;
    mounts = sbx__clone_mounts(&null);
    if (mounts < 0) return 0;
    if (syscall(SYS_mknodat, root, "null", S_IFREG | 0444, 0) != 0) {
        sbx__close_quietly(mounts);
        return 0;
    }
    if (!sbx__move_mount(mounts, root, "null")) return 0;
    p->null = sbx__move_up(openat(root, "null", O_RDWR | O_CLOEXEC), p->low + 2);
    return p->null >= 0 && umount2("null", MNT_DETACH) == 0 &&
           syscall(SYS_unlinkat, root, "null", 0) == 0;
}

/* An empty directory in memory, or the host's own root if that is one of the trees, put above the
   root that there is. ".." goes up to it. */
static int sbx__begin_root(const sbx__plan *p) {
    int root = -1, from = SBX__MOVE_MOUNT_FROM_FD;
    if (p->policy.whole) {
        root = sbx__clone_mounts(&p->policy.spots[0]);
        if (root >= 0 && syscall(SBX__NR_move_mount, root, "", AT_FDCWD, "/", from) != 0)
            return sbx__close_quietly(root);
    } else if (mount("none", "/", "tmpfs", MS_NOSUID, p->policy.options) == 0) {
        root = open("/..", SBX__O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    return root >= 0 && fchdir(root) == 0 ? root : sbx__close_quietly(root);
}

/* All that is in it so far cannot be changed, and holds neither devices nor set-user-id programs,
   but for the devices of our own. */
static int sbx__seal_root(const sbx__plan *p, int root) {
    unsigned all = SBX__MOUNT_RDONLY | SBX__MOUNT_NOSUID | SBX__MOUNT_NODEV;
    int empty = SBX__AT_EMPTY_PATH;
    if (p->policy.whole) return 1;
    if (!sbx__set_mount(root, "", empty | SBX__AT_RECURSIVE, all, 0)) return 0;
    return !p->policy.nodes || sbx__set_mount(root, "", empty, 0, SBX__MOUNT_NODEV);
}

static int sbx__make_root(sbx__plan *p, int root, int *which) {
    const sbx__plan_policy *q = &p->policy;
    int i;
    for (i = q->whole; i < q->used; i++) {
        *which = SBX__AT_SPOT + i;
        if (!sbx__make_spot(p, &q->spots[i], root)) return 0;
    }
    *which = 0;
    if (!sbx__has_spot(q, SBX__SPOT_PROC, "proc") && !sbx__make_proc(p, 0, root)) return 0;
    if (!sbx__open_own_null(p, root) || !sbx__seal_root(p, root)) return 0;

    for (i = q->whole; i < q->used; i++) {
        *which = SBX__AT_SPOT + i;
        if (!sbx__fill_spot(p, &q->spots[i], root)) return 0;
    }
    *which = 0;
    if (q->whole) /* settings of the kernel are no files, and for root a way out */
        sbx__set_mount(root, "sys", SBX__AT_RECURSIVE, SBX__MOUNT_RDONLY, 0);

    /* The old root is under this one for good: only who may unmount gets there, and nobody in the
       box can. To unmount it here would be to wait for every CPU, longer than all of the above. */
    return syscall(SYS_chroot, ".") == 0;
}

/* The copies of the host's mounts that stay under the root follow the host's, so that what the host
   unmounts is not kept busy. */
static sbx_step sbx__policy_view(sbx__plan *p, int *which) {
    mode_t mask = umask(0);
    int root = -1, ok;
    p->policy.nodes = !p->tree.user_ns;
    if (syscall(SYS_unshare, SBX__CLONE_NEWNS) == 0 &&
        mount("none", "/", "none", MS_REC | MS_SLAVE, "") == 0)
        root = sbx__begin_root(p);
    ok = root >= 0 && sbx__make_root(p, root, which);
    sbx__close_quietly(root);
    umask(mask);
    return ok ? SBX_STEP_NONE : SBX_STEP_POLICY;
}

static const char *sbx__policy_part(const sbx__plan *p, int which, char *text, size_t room) {
    static const char *const parts[SBX__AT_SPOT] = {"mounts of its own", "dropping privileges",
                                                    "Landlock's rules", "the system-call filter"};
    char shown[120];
    if (which < SBX__AT_SPOT || which - SBX__AT_SPOT >= p->policy.used)
        return parts[(unsigned)which % SBX__AT_SPOT];
    sbx__plain(shown, sizeof shown, p->policy.spots[which - SBX__AT_SPOT].at);
    snprintf(text, room, "mounts of its own (/%s)", shown);
    return text;
}

/* ---- child: privileges, system calls, files; in this order the ear is not under Landlock ---- */

/* Root's programs are not to get capabilities by exec. A root who lacks the one to say so, as in a
   container without any, has to rely on no_new_privs, which keeps them away as well. */
static int sbx__disarm_root(void) {
    unsigned caps[8]; /* struct __user_cap_header_struct, then twice the data, effective first */
    if (geteuid() != 0 || prctl(PR_SET_SECUREBITS, SBX__NO_ROOT, 0, 0, 0) == 0) return 1;
    memset(caps, 0, sizeof caps);
    caps[0] = SBX__CAP_VERSION;
    return syscall(SYS_capget, caps, caps + 2) == 0 && !(caps[2] >> SBX__CAP_SETPCAP & 1);
}

static int sbx__drop_privileges(void) {
    return sbx__disarm_root() && sbx__drop_caps() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static int sbx__allow(const sbx__plan *p, const char *path, unsigned access) {
    int fd = open(path, SBX__O_PATH | O_CLOEXEC);
    int ok = fd >= 0 && sbx__add_rule(p->policy.ruleset, fd, access);
    sbx__close_quietly(fd);
    return ok;
}

/* What stands in the root can be read; what was named has its rule already. */
static int sbx__allow_root(const sbx__plan *p) {
    const sbx__plan_policy *q = &p->policy;
    if (!p->cfg.policy->no_system && !sbx__allow(p, "/", SBX__READ_TREE)) return 0;
    if (sbx__has_spot(q, SBX__SPOT_DEVICE, "dev/null") &&
        !sbx__allow(p, "/dev", sbx__device_rights(p)))
        return 0;
    if (sbx__has_spot(q, SBX__SPOT_SCRATCH, "tmp") && !sbx__allow(p, "/tmp", q->rights)) return 0;
    return !sbx__has_spot(q, SBX__SPOT_SCRATCH, "dev/shm") || sbx__allow(p, "/dev/shm", q->rights);
}

static int sbx__confine_files(const sbx__plan *p) {
    if (p->policy.ruleset < 0) return 1;
    if (p->in_tree && !sbx__allow_root(p)) return 0;
    return syscall(SBX__NR_landlock_restrict_self, p->policy.ruleset, 0) == 0;
}

static int sbx__set_filter(sbx__plan *p) {
    struct {
        unsigned short size;
        const sbx__insn *at;
    } program; /* struct sock_fprog */
    int listen = p->cfg.policy->kill_on_denied, fd;
    program.size = (unsigned short)p->policy.filter_size;
    program.at = p->policy.filter;
    fd = (int)syscall(SYS_seccomp, SBX__SECCOMP_SET_FILTER, listen ? SBX__SECCOMP_NEW_LISTENER : 0,
                      &program);
    if (fd >= 0 && listen) p->policy.notice = fd;
    return fd >= 0;
}

static sbx_step sbx__policy_child(sbx__plan *p, int *which) {
    *which = 1;
    if (!sbx__drop_privileges()) return SBX_STEP_POLICY;
    *which = 3;
    if (!sbx__set_filter(p) || !sbx__start_ear(p)) return SBX_STEP_POLICY;
    *which = 2;
    if (!sbx__confine_files(p)) return SBX_STEP_POLICY;
    *which = 0;
    return SBX_STEP_NONE;
}

/* ---- kill_on_denied: the host's side ---- */

/* The filter's descriptor was made in the child. Without it forbidden calls would just fail. */
static void sbx__policy_begin(sbx__plan *p, sbx *b) {
    int error = errno;
    if (b->pid > 0) b->enforced |= p->policy.enforced;
    if (!p->cfg.policy->kill_on_denied) return;
    b->policy.listener = sbx__move_up(p->policy.notice, 3);
    b->policy.ear_fd = sbx__move_up(p->policy.ear_fd, 3);
    b->policy.ear = p->policy.ear;
    p->policy.notice = p->policy.ear_fd = -1;
    sbx__close(&p->policy.ear_pipe);
    if (p->policy.ear_image < 0) { /* then only as well as a poll can */
        b->fd[SBX__NOTICE] = b->policy.listener;
        b->policy.listener = -1;
    }
    if (b->policy.listener >= 0 || b->fd[SBX__NOTICE] >= 0 || b->failure.step || b->pid <= 0)
        return;
    b->failure.step = SBX_STEP_POLICY;
    b->failure.error = error;
    b->failure.which = 3;
}

static void sbx__policy_heard(sbx *b, const sbx__notice *notice) {
    if (b->stopping) return;
    b->policy.denied = notice->number;
    b->policy.arch = notice->arch;
    b->policy.nameless = notice->pid == 0;
    sbx__stop(b, SBX_SAW_DENIED);
}

/* Without an ear. */
static void sbx__policy_look(sbx *b) {
    struct pollfd one;
    sbx__notice notice;
    memset(&notice, 0, sizeof notice);
    one.fd = b->fd[SBX__NOTICE];
    one.events = POLLIN;
    one.revents = 0;
    if (poll(&one, 1, 0) <= 0) return;
    if (!(one.revents & POLLIN)) { /* only hung up: older kernels would wait here for ever */
        sbx__drop(b, SBX__NOTICE);
        return;
    }
    if (syscall(SYS_ioctl, b->fd[SBX__NOTICE], SBX__SECCOMP_NOTIF_RECV, &notice) == 0)
        sbx__policy_heard(b, &notice);
    else if (errno != EINTR && errno != ENOENT)
        sbx__drop(b, SBX__NOTICE); /* nobody is left to ask */
}

/* Who asked for something forbidden waits for an answer that it will not get. An ear that has ended
   without a word was killed, which only the box could do, or died with the tree. */
static void sbx__policy_turn(sbx *b) {
    sbx__notice notice;
    struct pollfd one;
    ssize_t n;
    if (b->policy.ear <= 0) {
        sbx__policy_look(b);
        return;
    }
    one.fd = b->fd[SBX__NOTICE];
    one.events = POLLIN;
    one.revents = 0;
    if (poll(&one, 1, 0) <= 0) return; /* to read from an empty pipe would kill it, too */
    memset(&notice, 0, sizeof notice);
    n = read(b->fd[SBX__NOTICE], &notice, sizeof notice);
    if (n < 0 && (errno == EAGAIN || errno == EINTR || b->policy.unread++ < 100)) return;
    one.fd = b->fd[SBX__PID1];
    one.events = POLLIN;
    one.revents = 0;
    if (n < 0) b->seen.saw |= SBX_SAW_BLIND; /* the host cannot hear it, however often it tries */
    else if (n == (ssize_t)sizeof notice || poll(&one, 1, 0) == 0) sbx__policy_heard(b, &notice);
    sbx__drop(b, SBX__NOTICE);
    b->policy.ear = 0;
}

/* The number of a process in the host's own /proc; 0 = it cannot be seen. */
static int sbx__number_of(int pidfd) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pidfd);
    if (!sbx__read_file(AT_FDCWD, path, text, sizeof text)) return 0;
    return (int)sbx__number_after(text, "\nPid:", 0);
}

/* The program has ended by itself. What the ear was told it has passed on when it sleeps again; who
   stopped it has not kept it from being told. */
static int sbx__policy_settled(sbx *b) {
    int own = sbx__tree_proc(b) >= 0, proc, pid;
    char text[1024], *at = NULL;
    if (b->policy.ear <= 0) return 1;
    proc = own ? sbx__tree_proc(b) : sbx__open_proc();
    pid = own ? b->policy.ear : sbx__number_of(b->policy.ear_fd);
    if (pid > 0 && sbx__proc_read(proc, pid, "stat", text, sizeof text)) at = strrchr(text, ')');
    if (!own) sbx__close(&proc);
    sbx__policy_turn(b);
    if (b->stopping || b->policy.ear <= 0) return 1;
    if (!at || !at[1]) return -1;
    if (at[2] == 'T') sbx__pidfd_signal(b->policy.ear_fd, SIGCONT, 0);
    return at[2] == 'S';
}

static int sbx__policy_ear(const sbx *b) { return b->policy.ear; }

/* In a group the ear becomes a child of the host if that is a pid 1, or adopts orphans. */
static void sbx__policy_free(sbx *b) {
    struct pollfd one;
    struct rusage used;
    siginfo_t info;
    long long until = sbx__now() + SBX__SECOND;
    one.fd = b->policy.ear_fd;
    one.events = POLLIN;
    if (sbx__pidfd_signal(b->policy.ear_fd, SIGKILL, 0) > 0)
        while (poll(&one, 1, 1000) < 0 && errno == EINTR && sbx__now() < until) {
        }
    if (one.fd >= 0) sbx__wait_by_pidfd(one.fd, &info, WEXITED | WNOHANG | SBX__WALL, &used);
    sbx__close(&b->policy.ear_fd);
    sbx__close(&b->policy.listener);
}

#else

static int sbx__policy_plan(sbx__plan *p, sbx *b, sbx_result *r) {
    (void)p, (void)b;
    return sbx__refuse(r, SBX_STEP_POLICY, ENOSYS, "policy is set, but %s",
                       SBX__LINUX ? "was compiled out: SBX_NO_POLICY or SBX_NO_TREE"
                                  : "only Linux can enforce it");
}
static sbx_step sbx__policy_view(sbx__plan *p, int *which) {
    return p && which ? SBX_STEP_NONE : SBX_STEP_POLICY;
}
static const char *sbx__policy_part(const sbx__plan *p, int which, char *text, size_t room) {
    return p && which && text && room ? text : "";
}
static sbx_step sbx__policy_child(sbx__plan *p, int *which) {
    return p && which ? SBX_STEP_NONE : SBX_STEP_POLICY;
}
static void sbx__policy_begin(sbx__plan *p, sbx *b) { (void)p, (void)b; }
static void sbx__policy_turn(sbx *b) { (void)b; }
static int sbx__policy_settled(sbx *b) { return b != NULL; }
static int sbx__policy_ear(const sbx *b) { return b ? 0 : 1; }
static void sbx__policy_free(sbx *b) { (void)b; }
static void sbx__policy_describe(const sbx *b, char *to, size_t room) {
    (void)b, (void)to, (void)room;
}
static void sbx__policy_free_plan(sbx__plan *p) { (void)p; }
static int sbx__landlock_version(void) { return 0; }
#endif

/* ==== wing: code. Source text: saved, built by its compiler, run, removed ===================== */

/* It stands on the public functions alone: a text becomes a file in a private directory, the file
   by one sbx_run (the compiler's) a program, and that by the next one a verdict. */

#if SBX__HAS_CODE

/* clang-format off */
/* A row a language, or one more way to run it: of rows with the same names the first is taken whose
   tools are on the host's PATH, and whose probe (if it has one) does not fail.
   - Build and run share one timeout_ms, cpu_ms and output_bytes: the run gets what the build left.
   - The other limits are the run's. If memory_bytes or address_space_bytes is set, the build may
     use 4 GiB (rustc, javac and go need several hundred MiB); if file_bytes or a policy is set, it
     may write files of 1 GiB; or as much as the run may, if that is more. Under no_system it has
     no more than the run, so that it finds no compiler: build with another policy.
   - Compilers are told to keep warnings to themselves, since their output counts. They do not
     optimise: that is quick, and what is wrong in the text goes wrong as it is written.
   - python is unbuffered, so that what it printed is there after a kill. java writes UTF-8 even in
     an empty environment, and not the file in /tmp that would outlive a kill. */
typedef struct sbx__recipe {
    const char *names, *file;
    const char *build, *run, *probe; /* NULL = none */
    const char *install;             /* what to do if a tool is missing; NULL = see the row above */
} sbx__recipe;

#define SBX__C " -w -o {program} {file} -lm -pthread"
#define SBX__JAVAC "javac -J-XX:-UsePerfData -J-Xmx512m -encoding UTF-8 -nowarn -proc:none"
#define SBX__JAVA "java -XX:-UsePerfData -XX:+UseSerialGC -Dfile.encoding=UTF-8 " \
                  "-Dstdout.encoding=UTF-8 -Dstderr.encoding=UTF-8"
#define SBX__NODE_TS "node --experimental-strip-types --disable-warning=ExperimentalWarning"
#define SBX__DENO "deno run --quiet --no-prompt --no-config --no-lock --allow-all"

static const sbx__recipe sbx__recipes[] = {
    {"python py python3", "main.py", NULL, "python3 -u {file}", NULL, "Python 3"},
    {"javascript js node", "main.js", NULL, "node {file}", NULL, "Node.js"},
    {"typescript ts", "main.ts", NULL, SBX__NODE_TS " {file}",
     "node --version --experimental-strip-types", "Node.js 22.6 or later, deno, bun or tsx"},
    {"typescript ts", "main.ts", NULL, "node {file}", "node --version --no-strip-types", NULL},
    {"typescript ts", "main.ts", NULL, SBX__DENO " {file}", NULL, NULL},
    {"typescript ts", "main.ts", NULL, "bun run {file}", NULL, NULL},
    {"typescript ts", "main.ts", NULL, "tsx {file}", NULL, NULL},
    {"rust rs", "main.rs", "rustc --edition=2021 --cap-lints=allow -o {program} {file}",
     "{program}", NULL, "Rust (rustc)"},
    {"c", "main.c", "cc" SBX__C, "{program}", NULL, "a C compiler (gcc or clang)"},
    {"c", "main.c", "gcc" SBX__C, "{program}", NULL, NULL},
    {"c", "main.c", "clang" SBX__C, "{program}", NULL, NULL},
    {"c++ cpp cxx", "main.cpp", "c++" SBX__C, "{program}", NULL,
     "a C++ compiler (g++ or clang++)"},
    {"c++ cpp cxx", "main.cpp", "g++" SBX__C, "{program}", NULL, NULL},
    {"c++ cpp cxx", "main.cpp", "clang++" SBX__C, "{program}", NULL, NULL},
    {"go golang", "main.go", "go build -o {program} {file}", "{program}", NULL, "Go"},
    {"java", "Main.java", SBX__JAVAC " -d {dir} {file}", SBX__JAVA " -cp {dir} {class}", NULL,
     "a JDK (javac and java)"},
    {"sh shell", "main.sh", NULL, "sh {file}", NULL, "a POSIX shell"},
    {"bash", "main.sh", NULL, "bash {file}", NULL, "bash"},
    {"perl pl", "main.pl", NULL, "perl {file}", NULL, "Perl"},
    {"ruby rb", "main.rb", NULL, "ruby -EUTF-8 {file}", NULL, "Ruby"},
    {"lua", "main.lua", NULL, "lua {file}", NULL, "Lua"},
};
#define SBX__RECIPES (sizeof sbx__recipes / sizeof sbx__recipes[0])
enum { SBX__BUILD_MEMORY = 4, SBX__BUILD_FILE = 1 }; /* in GiB */

/* All that a tool of the build sees: what it needs to find its parts, and places of its own. */
static const char *const sbx__tool_env[] = {
    "PATH={path}", "HOME={dir}", "TMPDIR={dir}", "LC_ALL=C.UTF-8", "RUSTUP_HOME={rustup}",
    "XDG_CACHE_HOME={dir}/.cache", "GOCACHE={dir}/.cache/go", "GOPATH={dir}/.go", "GOENV=off",
    "GO111MODULE=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0", NULL};

enum { SBX__DIR, SBX__FILE, SBX__PROGRAM, SBX__CLASS, SBX__PATH, SBX__RUSTUP, SBX__WORDS };
static const char *const sbx__words[] = {"{dir}", "{file}", "{program}", "{class}", "{path}",
                                         "{rustup}"};
/* clang-format on */

/* What a sbx_program points into. The directory is known by its numbers too: if something else has
   its name one day, that is not removed. */
typedef struct sbx__made {
    dev_t device;
    ino_t inode;
    const char **argv;
    char dir[PATH_MAX], file[PATH_MAX + 256], program[PATH_MAX + 256];
} sbx__made;

typedef struct sbx__line { /* of a built-in recipe, cut into words */
    char text[200];
    const char *argv[16];
} sbx__line;

typedef struct sbx__job {
    const sbx_config *cfg;
    sbx_config full; /* the same with every default filled in */
    sbx_result *r;
    sbx_language how;
    sbx__line build, run, probe; /* what it points to, if it is built in */
    const char *word[SBX__WORDS]; /* what the {words} stand for */
    char file[256], java[512], rustup[PATH_MAX];
    sbx__made *made;
    int dir; /* the directory; -1 = not open */
    long long wall_us, user_us, system_us; /* of tools so far */
    long long output;
} sbx__job;

/* ---- removing a directory ---- */

/* A directory without permissions for its owner gets them. A link in its place is not followed. */
static int sbx__unlock(int at, const char *name) {
#if SBX__LINUX /* where fchmodat cannot do it in every libc and kernel */
    int fd = openat(at, name, SBX__O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), ok;
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ok = fd >= 0 && chmod(path, 0700) == 0;
    sbx__close(&fd);
    return ok;
#else
    return fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW) == 0;
#endif
}

/* For listing and emptying it. -1 = it is none, or not ours. */
static int sbx__open_dir(int at, const char *name) {
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(at, name, flags);
    if (fd < 0 && errno == EACCES && sbx__unlock(at, name)) fd = openat(at, name, flags);
    if (fd >= 0) fchmod(fd, 0700);
    return fd;
}

/* One name less: a file, a link, or an empty directory. */
static int sbx__remove_name(int at, const char *name) {
    return unlinkat(at, name, 0) == 0 || unlinkat(at, name, AT_REMOVEDIR) == 0;
}

/* A directory that is not empty moves up into the top one, under a name that is free there. */
static int sbx__lift(int from, const char *name, int top, unsigned long *count) {
    char to[40];
    int tries, unlocked = 0;
    for (tries = 0; tries < 1000; tries++) {
        snprintf(to, sizeof to, "sbx-%lu", ++*count);
        if (renameat(from, name, top, to) == 0) return 1;
        if (errno == EACCES && !unlocked++ && sbx__unlock(from, name)) continue;
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) break;
    }
    return 0;
}

/* Takes away what one directory of the top one, or that itself (depth 0), holds. So three
   descriptors reach any depth. Closes fd; 1 = something was done. */
static int sbx__sweep(int fd, int top, int depth, unsigned long *count, long long deadline) {
    DIR *dir = fdopendir(fd);
    struct dirent *e;
    int done = 0, sub;
    if (!dir) close(fd);
    while (dir && sbx__now() < deadline && (e = readdir(dir)) != NULL) {
        const char *name = e->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (sbx__remove_name(fd, name)) done = 1;
        else if (depth > 0) done |= sbx__lift(fd, name, top, count);
        else if ((sub = sbx__open_dir(top, name)) >= 0)
            done |= sbx__sweep(sub, top, 1, count, deadline) | sbx__remove_name(top, name);
    }
    if (dir) closedir(dir);
    return done;
}

/* Removes the directory with all that is in it, and follows no link. 1 = it is gone, else errno
   tells. Somebody who goes on filling it can win: after a minute it stays. */
static int sbx__remove_dir(const sbx__made *m) {
    long long deadline = sbx__now() + 60 * SBX__SECOND;
    unsigned long count = 0;
    struct stat st;
    int fd, done, tries = 20; /* rounds in vain: the host may lack something for a moment */
    while (rmdir(m->dir) != 0) {
        if (errno == ENOENT) return 1;
        if ((errno != ENOTEMPTY && errno != EEXIST) || sbx__now() > deadline) return 0;

        fd = sbx__open_dir(AT_FDCWD, m->dir);
        if (fd < 0 && --tries == 0) return 0;
        if (fd < 0) {
            sbx__nap();
            continue;
        }
        if (fstat(fd, &st) != 0 || st.st_dev != m->device || st.st_ino != m->inode) {
            close(fd);
            errno = ENOTDIR; /* something else took its place */
            return 0;
        }
        done = sbx__sweep(fd, fd, 0, &count, deadline);
        if (!done && --tries == 0) return 0;
        if (!done) sbx__nap();
    }
    return 1;
}

/* ---- making the directory, and the file in it ---- */

/* Under TMPDIR or /tmp, for this user only, with a name that cannot be guessed. */
static int sbx__make_dir(sbx__job *j) {
    const char *tmp = getenv("TMPDIR"), *real;
    char *path = j->made->dir, *name, shown[100];
    unsigned char random[20] = {0};
    struct stat st;
    size_t i;
    int fd;
    if (!tmp || !*tmp) tmp = "/tmp";
    sbx__plain(shown, sizeof shown, tmp);
    real = realpath(tmp, path);
    if (real && strlen(path) + sizeof random + 8 > PATH_MAX) {
        errno = ENAMETOOLONG;
        real = NULL;
    }
    if (!real)
        return sbx__refuse(j->r, SBX_STEP_IO, errno, "TMPDIR = \"%s\": %s", shown, strerror(errno));

    fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, random, sizeof random) != (ssize_t)sizeof random)
        sbx__refuse(j->r, SBX_STEP_IO, errno, "/dev/urandom cannot be read: %s", strerror(errno));
    sbx__close(&fd);
    if (j->r->step != SBX_STEP_NONE) return 0;
    strcat(path, "/sbx-");
    name = path + strlen(path);
    for (i = 0; i < sizeof random; i++) name[i] = (char)('a' + random[i] % 26);
    name[i] = 0;

    if (mkdir(path, 0700) == 0) {
        j->dir = sbx__open_dir(AT_FDCWD, path);
        if (j->dir >= 0 && fstat(j->dir, &st) == 0 && st.st_uid == geteuid()) {
            j->made->device = st.st_dev;
            j->made->inode = st.st_ino;
            return 1;
        }
        if (j->dir >= 0) errno = EPERM; /* somebody was quick to replace it */
        rmdir(path);
    }
    return sbx__refuse(j->r, SBX_STEP_IO, errno, "no directory in \"%s\" for the source text: %s",
                       shown, strerror(errno));
}

/* What the host has made becomes the property of the user that builds and runs it. */
static int sbx__give(const sbx__job *j, int fd) {
    uid_t uid = j->full.uid ? (uid_t)j->full.uid : (uid_t)-1;
    gid_t gid = j->full.gid ? (gid_t)j->full.gid : (gid_t)-1;
    return (!j->full.uid && !j->full.gid) || fchown(fd, uid, gid) == 0;
}

/* The bytes as they are. Past the host's own limit on files, writing would raise SIGXFSZ. */
static int sbx__save(sbx__job *j, const char *code, size_t size) {
    int fd = openat(j->dir, j->file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int ok = fd >= 0 && fchmod(fd, 0600) == 0;
    struct rlimit most;
    if (ok && getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < size) {
        errno = EFBIG;
        ok = 0;
    }

    while (ok && size > 0) {
        ssize_t n = write(fd, code, size);
        if (n < 0 && errno == EINTR) continue;
        ok = n > 0;
        if (!ok) break;
        code += n;
        size -= (size_t)n;
    }
    ok = ok && sbx__give(j, fd) && sbx__give(j, j->dir);
    if (fd >= 0 && close(fd) != 0) ok = 0;
    if (ok) return 1;
    return sbx__refuse(j->r, SBX_STEP_IO, errno,
                       "the source text cannot be saved in \"%.100s\": %s", j->made->dir,
                       strerror(errno));
}

/* ---- Java: a public class gives the file its name, and the one with main is run ---- */

typedef struct sbx__java {
    const char *at, *end; /* the rest of the text */
    const char *token; /* a word, or one character */
    size_t size;
} sbx__java;

static int sbx__is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 128;
}

static int sbx__looks_at(const sbx__java *s, const char *text) {
    size_t n = strlen(text);
    return (size_t)(s->end - s->at) >= n && memcmp(s->at, text, n) == 0;
}

/* Past what begins and ends with these, if it begins here. A backslash takes the next character
   with it where there are such. */
static int sbx__skip(sbx__java *s, const char *from, const char *to, int backslashes) {
    if (!sbx__looks_at(s, from)) return 0;
    s->at += strlen(from);
    while (s->at < s->end && !sbx__looks_at(s, to)) {
        if (backslashes && *s->at == '\\' && s->end - s->at > 1) s->at++;
        s->at++;
    }
    if (s->at < s->end) s->at += strlen(to);
    return 1;
}

/* The next word or sign outside comments and quotes. 0 = the end. */
static int sbx__next_token(sbx__java *s) {
    while (s->at < s->end) {
        if (sbx__skip(s, "//", "\n", 0) || sbx__skip(s, "/*", "*/", 0)) continue;
        if (sbx__skip(s, "\"\"\"", "\"\"\"", 1) || sbx__skip(s, "\"", "\"", 1)) continue;
        if (sbx__skip(s, "'", "'", 1)) continue;
        if ((unsigned char)*s->at > ' ') break;
        s->at++;
    }
    s->token = s->at;
    while (s->at < s->end && sbx__is_word(*s->at)) s->at++;
    if (s->at < s->end && s->at == s->token) s->at++;
    s->size = (size_t)(s->at - s->token);
    return s->size > 0;
}

static int sbx__token_is(const sbx__java *s, const char *word) {
    return s->size == strlen(word) && memcmp(s->token, word, s->size) == 0;
}

enum { SBX__NAME = 200 }; /* what is longer cannot be the name of a file */

static void sbx__add_token(const sbx__java *s, char to[SBX__NAME]) {
    size_t n = strlen(to);
    if (n + s->size >= SBX__NAME) return;
    memcpy(to + n, s->token, s->size);
    to[n + s->size] = 0;
}

typedef struct sbx__types { /* "" = none so far */
    char package[SBX__NAME], now[SBX__NAME]; /* the type that the text is in */
    char first[SBX__NAME], exported[SBX__NAME], main[SBX__NAME]; /* exported: public */
} sbx__types;

static void sbx__found_main(sbx__types *t, int depth) {
    const char *type = depth == 0 ? "Main" : t->now; /* without a class it is the file's */
    if (!t->main[0] || strcmp(type, t->exported) == 0) strcpy(t->main, type);
}

static void sbx__found_type(sbx__types *t, const sbx__java *s, int is_public) {
    t->now[0] = 0;
    sbx__add_token(s, t->now);
    if (!t->first[0]) strcpy(t->first, t->now);
    if (is_public) strcpy(t->exported, t->now);
}

static void sbx__scan_java(sbx__java *s, sbx__types *t) {
    int depth = 0, is_public = 0, in_package = 0, names_type = 0, after_void = 0, after_main = 0;
    while (sbx__next_token(s)) {
        char c = *s->token;
        if (c == '(' && after_main && depth <= 1) sbx__found_main(t, depth);
        after_main = after_void && sbx__token_is(s, "main");
        after_void = sbx__token_is(s, "void");

        if (c == '(' || c == '{' || c == '[') depth++;
        if ((c == ')' || c == '}' || c == ']') && depth > 0) depth--;
        if (depth > 0) continue;
        if (c == ';' || c == '}') is_public = in_package = 0;
        if (in_package) sbx__add_token(s, t->package);
        else if (names_type && sbx__is_word(c)) sbx__found_type(t, s, is_public);
        if (sbx__token_is(s, "package")) in_package = 1;
        if (sbx__token_is(s, "public")) is_public = 1;
        names_type = sbx__token_is(s, "class") || sbx__token_is(s, "interface") ||
                     sbx__token_is(s, "enum") || sbx__token_is(s, "record");
    }
}

static void sbx__name_java(sbx__job *j, const char *code, size_t size) {
    const char *file, *type;
    sbx__types t;
    sbx__java s;
    memset(&t, 0, sizeof t);
    memset(&s, 0, sizeof s);
    s.at = code;
    s.end = code + size;
    if (size > 0) sbx__scan_java(&s, &t);

    type = t.first[0] ? t.first : "Main";
    if (t.exported[0]) type = t.exported;
    file = t.exported[0] || !t.main[0] ? type : t.main;
    if (t.main[0]) type = t.main;
    snprintf(j->file, sizeof j->file, "%s.java", file);
    snprintf(j->java, sizeof j->java, "%s%s%s", t.package, t.package[0] ? "." : "", type);
}

/* ---- tools ---- */

/* What is left of a limit; never 0, which would be the default again. */
static long long sbx__rest(long long limit, long long used) {
    if (limit < 0) return limit;
    return limit > used ? limit - used : 1;
}

/* The limits that build and run share. */
static void sbx__share_limits(const sbx__job *j, sbx_config *cfg) {
    cfg->timeout_ms = sbx__rest(j->full.timeout_ms, j->wall_us / 1000);
    cfg->cpu_ms = sbx__rest(j->full.cpu_ms, (j->user_us + j->system_us) / 1000);
    cfg->output_bytes = sbx__rest(j->full.output_bytes, j->output);
}

static void sbx__add_cost(sbx__job *j, const sbx_result *r) {
    j->wall_us += r->wall_us;
    j->user_us += r->user_us;
    j->system_us += r->system_us;
    j->output += (long long)(r->out.total + r->err.total);
}

static sbx_verdict sbx__run_tool(sbx__job *j, sbx_config *tool, sbx_result *r) {
    sbx_verdict verdict;
    tool->stop = j->cfg->stop;
    tool->grace_ms = j->cfg->grace_ms;
    tool->truncate_output = j->cfg->truncate_output;
    tool->contain = j->cfg->contain;
    tool->cgroup = j->cfg->cgroup;
    tool->user = j->cfg->user;
    tool->uid = j->cfg->uid;
    tool->gid = j->cfg->gid;
    sbx__share_limits(j, tool);
    verdict = sbx_run(tool, r);
    sbx__add_cost(j, r);
    return verdict;
}

/* 1 = there is one on PATH, or only exec can tell. */
static int sbx__has_tool(const sbx__job *j, const char *tool) {
    const char *search = j->word[SBX__PATH];
    char path[PATH_MAX];
    struct stat st;
    if (strchr(tool, '/') || strchr(tool, '{')) return 1;
    for (;; search++) {
        int n = (int)strcspn(search, ":");
        snprintf(path, sizeof path, "%.*s/%s", n ? n : 1, n ? search : ".", tool);
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0) return 1;
        search += n;
        if (!*search) return 0;
    }
}

/* 1 = this is how it is done. 0 = something is missing; the result says what, of the first row. */
static int sbx__try_recipe(sbx__job *j, const sbx_language *how, const char *const *probe,
                           const char *install) {
    const char *missing = NULL;
    char shown[80];
    sbx_config tool;
    sbx_result r;
    int ok = 1;
    if (!sbx__has_tool(j, how->run[0])) missing = how->run[0];
    if (how->build && !sbx__has_tool(j, how->build[0])) missing = how->build[0];
    j->how = *how;

    if (!missing && probe) { /* whatever else may happen to it, happens to the run as well */
        memset(&tool, 0, sizeof tool);
        tool.argv = probe;
        tool.out = tool.err = SBX_DISCARD;
        ok = sbx__run_tool(j, &tool, &r) != SBX_EXITED;
        sbx_free(&r);
    }
    if (!missing && ok) return 1;

    if (j->r->step != SBX_STEP_NONE) return 0;
    sbx__plain(shown, sizeof shown, missing ? missing : how->run[0]);
    return sbx__refuse(j->r, SBX_STEP_EXEC, missing ? ENOENT : ENOSYS, "'%s' %s%s%s", shown,
                       missing ? "was not found on PATH" : "is too old for this language",
                       install ? ": install " : "", install ? install : "");
}

/* ---- which recipe ---- */

static char sbx__lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* Is it one of the names? "Python" is python. */
static int sbx__is_named(const char *names, const char *language) {
    size_t n, i;
    for (; *names; names += n) {
        names += strspn(names, " ");
        n = strcspn(names, " ");
        for (i = 0; i < n && sbx__lower(language[i]) == sbx__lower(names[i]); i++) continue;
        if (n > 0 && i == n && !language[n]) return 1;
    }
    return 0;
}

static int sbx__check_recipe(const sbx__job *j, const sbx_language *how) {
    int row = (int)(how - j->cfg->languages);
    const char *file = how->file ? how->file : "";
    char shown[80];
    if (!*file || strchr(".-", *file) || strchr(file, '/') || strlen(file) > SBX__NAME)
        return sbx__refuse(j->r, SBX_STEP_CONFIG, EINVAL,
                           "languages[%d].file = \"%s\" is not the name of a file", row,
                           sbx__plain(shown, sizeof shown, file));
    if (!how->run || !how->run[0] || (how->build && !how->build[0]))
        return sbx__refuse(j->r, SBX_STEP_CONFIG, EINVAL, "languages[%d].%s is empty", row,
                           how->build && !how->build[0] ? "build" : "run");
    return 1;
}

static void sbx__add_name(char *to, size_t room, const char *names) {
    size_t n = strlen(to);
    snprintf(to + n, room - n, "%s%.*s", n ? ", " : "", (int)strcspn(names, " "), names);
}

static int sbx__unknown(sbx__job *j, const char *language) {
    const sbx_language *own;
    char shown[40], known[180] = "";
    size_t i;
    for (own = j->cfg->languages; own && own->names; own++)
        sbx__add_name(known, sizeof known, own->names);
    for (i = 0; i < SBX__RECIPES; i++)
        if (i == 0 || strcmp(sbx__recipes[i].names, sbx__recipes[i - 1].names) != 0)
            sbx__add_name(known, sizeof known, sbx__recipes[i].names);
    return sbx__refuse(j->r, SBX_STEP_CONFIG, EINVAL, "language = \"%s\" is not known: %s are",
                       sbx__plain(shown, sizeof shown, language), known);
}

static const char *const *sbx__cut(const char *text, sbx__line *line) {
    size_t n = 0;
    char *at = line->text;
    if (!text) return NULL;
    snprintf(line->text, sizeof line->text, "%s", text);
    for (; *at; at += strspn(at, " ")) {
        line->argv[n++] = at;
        at += strcspn(at, " ");
        if (*at) *at++ = 0;
    }
    line->argv[n] = NULL;
    return line->argv;
}

/* Where the caller has a recipe, the built-in ones do not count, even if its tool is missing. */
static int sbx__choose(sbx__job *j, const char *language) {
    const sbx_language *own;
    sbx_language how;
    int named = 0;
    size_t i;
    for (own = j->cfg->languages; own && own->names; own++) {
        if (!sbx__is_named(own->names, language)) continue;
        named = 1;
        if (!sbx__check_recipe(j, own)) return 0;
        if (sbx__try_recipe(j, own, NULL, NULL)) return 1;
    }

    for (i = 0; !named && i < SBX__RECIPES; i++) {
        const sbx__recipe *row = &sbx__recipes[i];
        if (!sbx__is_named(row->names, language)) continue;
        how.names = row->names;
        how.file = row->file;
        how.build = sbx__cut(row->build, &j->build);
        how.run = sbx__cut(row->run, &j->run);
        if (sbx__try_recipe(j, &how, sbx__cut(row->probe, &j->probe), row->install)) return 1;
    }
    return j->r->step != SBX_STEP_NONE ? 0 : sbx__unknown(j, language);
}

/* ---- filling in a recipe ---- */

/* Writes the text with its {words} filled in, if there is a place for it. Returns its size. */
static size_t sbx__expand(const sbx__job *j, const char *text, char *to) {
    size_t size = 0, length, step;
    const char *from;
    int i;
    for (; *text; text += step) {
        from = text;
        length = step = 1;

        for (i = 0; i < SBX__WORDS; i++)
            if (strncmp(text, sbx__words[i], strlen(sbx__words[i])) == 0) {
                from = j->word[i];
                length = strlen(from);
                step = strlen(sbx__words[i]);
                break;
            }

        if (to) memcpy(to + size, from, length);
        size += length;
    }
    if (to) to[size] = 0;
    return size + 1;
}

/* A whole list, in one block. */
static const char **sbx__expand_all(const sbx__job *j, const char *const *list) {
    size_t count = sbx__count(list), room = (count + 1) * sizeof *list, i;
    const char **filled;
    char *text;
    for (i = 0; i < count; i++) room += sbx__expand(j, list[i], NULL);
    filled = (const char **)SBX_REALLOC(NULL, room);
    if (!filled) return NULL;
    text = (char *)(filled + count + 1);
    for (i = 0; i < count; i++) {
        filled[i] = text;
        text += sbx__expand(j, list[i], text);
    }
    filled[count] = NULL;
    return filled;
}

/* ---- the build ---- */

/* Puts something short before and behind the message. */
static void sbx__frame(sbx_result *r, const char *before, const char *behind) {
    char text[sizeof r->message];
    size_t room = sizeof text - 1 - strlen(before) - strlen(behind);
    int n = (int)sbx_utf8_prefix(r->message, strlen(r->message), room);
    snprintf(text, sizeof text, "%s%.*s%s", before, n, r->message, behind);
    memcpy(r->message, text, sizeof text);
}

/* What the limit is for a build: the run's, but at least so many GiB if there is any at all. */
static long long sbx__generous(long long limit, int set, int gib) {
    long long least = (long long)gib << 30;
    if (!set || limit == SBX_UNLIMITED) return limit;
    return limit > least ? limit : least;
}

/* Under a policy it can write in its directory and nowhere else, and start processes. The lists
   have room for all the policy's trees. */
static sbx_verdict sbx__compile(sbx__job *j, const char **argv, const char **env,
                                const char **lists) {
    const sbx_config *cfg = j->cfg;
    int memory = cfg->memory_bytes > 0 || cfg->address_space_bytes > 0;
    sbx_policy policy;
    sbx_config tool;
    memset(&tool, 0, sizeof tool);
    tool.argv = argv;
    tool.env = env;
    tool.cwd = j->made->dir;
    tool.memory_bytes = sbx__generous(cfg->memory_bytes, memory, SBX__BUILD_MEMORY);
    tool.file_bytes =
        sbx__generous(cfg->file_bytes, cfg->file_bytes > 0 || cfg->policy, SBX__BUILD_FILE);

    if (cfg->policy) {
        policy = *cfg->policy;
        lists[0] = j->made->dir;
        lists[1] = NULL;
        policy.write = lists;
        policy.read = sbx__join(lists + 2, cfg->policy->read, cfg->policy->write);
        policy.deny_spawn = 0;
        policy.kill_on_denied = 0; /* javac asks for sockets, and goes on without */
        tool.policy = &policy;
    }
    return sbx__run_tool(j, &tool, j->r);
}

/* Has the build made a program, and not a Go package, say? In a group the policy keeps the linker
   from setting the mode: the host does that. */
static int sbx__is_program(const sbx__job *j) {
    int fd = open(j->made->program, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), is = 0;
    char magic[4];
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        is = (st.st_mode & 0100) != 0;
        if (!is && j->cfg->policy && st.st_nlink == 1 && read(fd, magic, 4) == 4)
            is = memcmp(magic, "\177ELF", 4) == 0 && fchmod(fd, 0700) == 0;
    }
    if (fd < 0 && lstat(j->made->program, &st) == 0) /* it may be there to be run, not read */
        is = S_ISREG(st.st_mode) && (st.st_mode & 0100);
    sbx__close(&fd);
    return is;
}

static int sbx__run_build(sbx__job *j) {
    const sbx_policy *policy = j->cfg->policy;
    size_t trees = policy ? sbx__count(policy->read) + sbx__count(policy->write) : 0;
    const char **argv, **env = sbx__expand_all(j, sbx__tool_env);
    const char **lists = (const char **)SBX_REALLOC(NULL, (trees + 3) * sizeof *lists);
    int ok;
    j->word[SBX__FILE] = j->file; /* it runs there: diagnostics speak of main.c */
    argv = sbx__expand_all(j, j->how.build);

    ok = argv && env && lists;
    if (ok) ok = sbx__compile(j, argv, env, lists) == SBX_OK;
    else sbx__no_memory(j->r, "the compiler's arguments");
    SBX_FREE(argv);
    SBX_FREE(env);
    SBX_FREE(lists);

    if (!ok && j->r->verdict != SBX_NOT_STARTED) {
        j->r->step = SBX_STEP_BUILD;
        sbx__frame(j->r, "the build failed: ", "");
    }
    if (ok && strcmp(j->how.run[0], "{program}") == 0 && !sbx__is_program(j)) {
        j->r->exit_code = -1;
        ok = sbx__refuse(j->r, SBX_STEP_BUILD, ENOEXEC,
                         "the build went well, but what it made is no program");
    }
    return ok;
}

/* ---- jobs ---- */

/* What is wrong with the run is known before the build. */
static int sbx__check_job(sbx__job *j, const char *language, const char *code, size_t size,
                          int handle) {
    static const char *const later[] = {"/", NULL};
    sbx_program program;
    sbx__plan p;
    if (j->cfg->command || j->cfg->program)
        return sbx__refuse(j->r, SBX_STEP_CONFIG, EINVAL,
                           "%s is set, but what runs here is the source text",
                           j->cfg->command ? "command" : "program");
    if (!language || (size && !code))
        return sbx__refuse(j->r, SBX_STEP_CONFIG, EINVAL, "%s = NULL: there is nothing to run",
                           language ? "code" : "language");

    program.dir = later[0];
    program.argv = later;
    memset(&p, 0, sizeof p);
    p.cfg = *j->cfg;
    p.cfg.program = &program;
    p.handle = handle;
    if (!sbx__check(&p, j->r)) return 0;
    j->full = p.cfg;
    return 1;
}

/* What the {words} stand for, as far as the host decides. HOME will be another one, so rustup's
   compilers have to be told where they are. */
static void sbx__set_words(sbx__job *j) {
    const char *path = getenv("PATH"), *home = getenv("HOME"), *rustup = getenv("RUSTUP_HOME");
    if (rustup) snprintf(j->rustup, sizeof j->rustup, "%s", rustup);
    else if (home) snprintf(j->rustup, sizeof j->rustup, "%s/.rustup", home);
    j->word[SBX__PATH] = path ? path : "/usr/local/bin:/usr/bin:/bin";
    j->word[SBX__RUSTUP] = j->rustup;
    j->word[SBX__CLASS] = j->java;
}

/* The directory, the names of what will be in it, and what will run it. */
static int sbx__make_place(sbx__job *j) {
    sbx__made *m = (sbx__made *)sbx__zalloc(sizeof *m);
    if (!m) return sbx__no_memory(j->r, "the source text's directory");
    j->made = m;
    if (!sbx__make_dir(j)) {
        SBX_FREE(m);
        j->made = NULL;
        return 0;
    }
    snprintf(m->file, sizeof m->file, "%s/%s", m->dir, j->file);
    snprintf(m->program, sizeof m->program, "%s/program", m->dir);
    j->word[SBX__DIR] = m->dir;
    j->word[SBX__FILE] = m->file;
    j->word[SBX__PROGRAM] = m->program;
    m->argv = sbx__expand_all(j, j->how.run);
    return m->argv ? 1 : sbx__no_memory(j->r, "the program's arguments");
}

/* Removes it, or says in the result that it is still there. */
static void sbx__drop_made(sbx__made *m, sbx_result *r) {
    char text[200];
    if (!m) return;
    if (!sbx__remove_dir(m)) {
        snprintf(text, sizeof text, "; its directory %.120s could not be removed: %s", m->dir,
                 strerror(errno));
        sbx__frame(r, "", text);
    }
    SBX_FREE(m->argv);
    SBX_FREE(m);
}

/* From the text to what can be run. NULL = the result says why not, and nothing is left. */
static sbx__made *sbx__do_build(sbx__job *j, const sbx_config *cfg, const char *language,
                                const char *code, size_t size, int handle, sbx_result *r) {
    size_t n;
    int ok;
    memset(j, 0, sizeof *j);
    j->cfg = cfg;
    j->r = r;
    j->dir = -1;
    sbx__blank(r, cfg);
    if (!cfg) {
        sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "config = NULL: nothing to run");
        return NULL;
    }
    sbx__set_words(j);
    if (!sbx__check_job(j, language, code, size, handle) || !sbx__choose(j, language)) return NULL;

    sbx__blank(r, cfg); /* of tools that were not there, but others were */
    n = strlen(j->how.file);
    snprintf(j->file, sizeof j->file, "%s", j->how.file);
    if (n > 5 && strcmp(j->how.file + n - 5, ".java") == 0) sbx__name_java(j, code, size);
    ok = sbx__make_place(j) && sbx__save(j, code, size) && (!j->how.build || sbx__run_build(j));
    sbx__close(&j->dir);
    if (ok) return j->made;
    sbx__drop_made(j->made, r);
    return NULL;
}

SBX_API sbx_verdict sbx_build(const sbx_config *config, const char *language, const char *code,
                              size_t size, sbx_program *program, sbx_result *result) {
    sbx_result ignored, *r = result ? result : &ignored;
    sbx__made *made;
    sbx__job j;
    if (!program) {
        sbx__blank(r, config);
        sbx__refuse(r, SBX_STEP_CONFIG, EINVAL, "program = NULL: nobody could run it");
        return SBX_NOT_STARTED;
    }

    memset(program, 0, sizeof *program);
    made = sbx__do_build(&j, config, language, code, size, 1, r);
    if (made) {
        program->dir = made->dir;
        program->argv = made->argv;
        if (!j.how.build) r->exit_code = 0;
        r->verdict = SBX_OK;
        r->certain = 1;
        snprintf(r->message, sizeof r->message, "the program can be run");
    }
    if (!result) sbx_free(r);
    return r->verdict;
}

SBX_API void sbx_discard(sbx_program *program) {
    sbx__made *m;
    if (!program || !program->dir) return;
    m = (sbx__made *)(void *)((char *)(size_t)program->dir - offsetof(sbx__made, dir));
    if (!sbx__remove_dir(m)) return; /* dir still names it, and this can be tried again */
    SBX_FREE(m->argv);
    SBX_FREE(m);
    memset(program, 0, sizeof *program);
}

/* The limit that a run met was smaller than the caller's by what the build took. */
static void sbx__tell_share(const sbx__job *j, sbx_result *r) {
    long long used = 0, limit = 0;
    char text[120];
    if (r->verdict == SBX_TIMED_OUT) {
        used = j->wall_us;
        limit = j->full.timeout_ms;
    } else if (r->verdict == SBX_CPU_LIMIT) {
        used = j->user_us + j->system_us;
        limit = j->full.cpu_ms;
    }
    snprintf(text, sizeof text, " (the build had used %lld of %lld ms)", used / 1000, limit);
    if (used >= 1000) sbx__frame(r, "", text);
}

SBX_API sbx_verdict sbx_run_code(const sbx_config *config, const char *language, const char *code,
                                 size_t size, sbx_result *result) {
    sbx_result ignored, *r = result ? result : &ignored;
    sbx_program program;
    sbx_config run;
    sbx__job j;
    sbx__made *made = sbx__do_build(&j, config, language, code, size, 0, r);
    if (made) {
        sbx_free(r); /* what the compiler said */
        program.dir = made->dir;
        program.argv = made->argv;
        run = *config;
        run.program = &program;
        sbx__share_limits(&j, &run);
        sbx_run(&run, r);
        if (r->step == SBX_STEP_EXEC && r->sys_errno == EACCES && j.how.build)
            sbx__frame(r, "", " (is TMPDIR mounted noexec?)");

        r->wall_us += j.wall_us;
        r->user_us += j.user_us;
        r->system_us += j.system_us;
        sbx__tell_share(&j, r);
        sbx__drop_made(made, r);
    }
    if (!result) sbx_free(r);
    return r->verdict;
}

#else

static sbx_verdict sbx__no_code(const sbx_config *config, sbx_result *result) {
    sbx_result ignored, *r = result ? result : &ignored;
    sbx__blank(r, config);
    sbx__refuse(r, SBX_STEP_CONFIG, ENOSYS, "source text was compiled out: SBX_NO_CODE");
    return SBX_NOT_STARTED;
}
SBX_API sbx_verdict sbx_build(const sbx_config *config, const char *language, const char *code,
                              size_t size, sbx_program *program, sbx_result *result) {
    (void)language, (void)code, (void)size;
    if (program) memset(program, 0, sizeof *program);
    return sbx__no_code(config, result);
}
SBX_API void sbx_discard(sbx_program *program) { (void)program; }
SBX_API sbx_verdict sbx_run_code(const sbx_config *config, const char *language, const char *code,
                                 size_t size, sbx_result *result) {
    (void)language, (void)code, (void)size;
    return sbx__no_code(config, result);
}
#endif

/* ==== extras: probe, names, JSON, clamp ================================================= */

/* The real thing, once, under that config: a program that does nothing. */
static int sbx__works(sbx_config *cfg, unsigned by, char *why) {
    static const char *const nothing[] = {"/bin/sh", "-c", ":", NULL};
    sbx_result r;
    int works;
    cfg->argv = nothing;
    works = sbx_run(cfg, &r) == SBX_OK && (r.enforced & by) == by;
    if (!works && why) memcpy(why, r.message, sizeof r.message);
    sbx_free(&r);
    return works;
}

SBX_API void sbx_probe(sbx_caps *caps) {
    sbx_config cfg;
    sbx_policy policy;
    if (!caps) return;
    memset(caps, 0, sizeof *caps);
    memset(&cfg, 0, sizeof cfg);
    memset(&policy, 0, sizeof policy);
    cfg.timeout_ms = 5000;
    cfg.contain = SBX_CONTAIN_GROUP;
    cfg.address_space_bytes = SBX_MAX_BYTES; /* no more than it has anyway */
    caps->address_space = sbx__works(&cfg, SBX_BY_RLIMIT_AS, NULL);

    cfg.address_space_bytes = 0;
    cfg.cpu_ms = SBX_MAX_MS;
    caps->watch = sbx__works(&cfg, SBX_BY_WATCH, NULL);

    cfg.cpu_ms = 0;
    cfg.contain = SBX_CONTAIN_TREE;
    caps->tree = sbx__works(&cfg, SBX_BY_TREE, caps->tree_why);

    cfg.contain = SBX_CONTAIN_AUTO;
    cfg.processes = 100000;
    caps->processes = sbx__works(&cfg, SBX_BY_RLIMIT_NPROC, caps->processes_why);

    cfg.processes = 0;
    cfg.policy = &policy;
    caps->policy = sbx__works(&cfg, SBX_BY_ROOT | SBX_BY_SECCOMP, caps->policy_why);
    cfg.contain = SBX_CONTAIN_GROUP;
    caps->group_policy = sbx__works(&cfg, SBX_BY_LANDLOCK | SBX_BY_SECCOMP, caps->group_policy_why);
    caps->landlock = sbx__landlock_version();
}

SBX_API const char *sbx_verdict_name(sbx_verdict verdict) {
    /* clang-format off */
    static const char *const names[] = {"ok", "exited", "crashed", "timed-out", "cpu-limit",
                                        "memory-limit", "output-limit", "file-limit", "denied",
                                        "cancelled", "no-result", "not-started", "lost"};
    /* clang-format on */
    return (int)verdict >= 0 && verdict <= SBX_LOST ? names[verdict] : "unknown";
}

SBX_API const char *sbx_step_name(sbx_step step) {
    /* clang-format off */
    static const char *const names[] = {"none", "config", "memory", "io", "spawn", "session",
                                        "limits", "cwd", "exec", "contain", "cgroup", "policy",
                                        "build"};
    /* clang-format on */
    return (int)step >= 0 && step <= SBX_STEP_BUILD ? names[step] : "unknown";
}

/* ---- JSON: text that is counted on, and kept as far as there is room ---- */

typedef struct sbx__json {
    char *to;
    size_t room, length;
} sbx__json;

static void sbx__json_put(sbx__json *j, const char *text, size_t n) {
    size_t free_room = j->length < j->room ? j->room - j->length : 0;
    if (free_room) memcpy(j->to + j->length, text, n < free_room ? n : free_room);
    j->length += n;
}

static void sbx__json_text(sbx__json *j, const char *text) { sbx__json_put(j, text, strlen(text)); }

static void sbx__json_number(sbx__json *j, const char *name, long long value) {
    char text[64];
    snprintf(text, sizeof text, ",\"%s\":%lld", name, value);
    sbx__json_text(j, text);
}

/* A character that JSON does not take as it is: "\n" for a newline, "\u0001" for most others. */
static void sbx__json_escape(sbx__json *j, unsigned char c) {
    static const char from[] = "\"\\\n\r\t", to[] = "\"\\nrt";
    const char *found = (const char *)memchr(from, c, sizeof from - 1);
    char escape[8];
    if (found) snprintf(escape, sizeof escape, "\\%c", to[found - from]);
    else snprintf(escape, sizeof escape, "\\u%04x", c);
    sbx__json_text(j, escape);
}

static void sbx__json_string(sbx__json *j, const char *text, size_t size) {
    const unsigned char *c = (const unsigned char *)text, *end = c + size;
    sbx__json_put(j, "\"", 1);
    while (c < end) {
        size_t n = sbx__utf8_length(c, (size_t)(end - c));
        if (n == 0) {
            sbx__json_put(j, "\\ufffd", 6);
            n = 1;
        } else if (*c < 32 || *c == '"' || *c == '\\' || *c == 127) {
            sbx__json_escape(j, *c);
        } else {
            sbx__json_put(j, (const char *)c, n);
        }
        c += n;
    }
    sbx__json_put(j, "\"", 1);
}

static void sbx__json_output(sbx__json *j, const char *name, const sbx_output *o) {
    char more[160];
    sbx__json_text(j, ",\"");
    sbx__json_text(j, name);
    sbx__json_text(j, "\":");
    sbx__json_string(j, o->data ? o->data : "", o->size);
    snprintf(more, sizeof more, ",\"%s_total\":%llu,\"%s_truncated\":%s,\"%s_gap\":%llu", name,
             o->total, name, o->truncated ? "true" : "false", name, (unsigned long long)o->gap);
    sbx__json_text(j, more);
}

SBX_API size_t sbx_json(const sbx_result *result, char *to, size_t room) {
    const sbx_result *r = result;
    sbx_result none;
    sbx__json j;
    if (!r) {
        sbx__blank(&none, NULL);
        sbx__refuse(&none, SBX_STEP_CONFIG, EINVAL, "result = NULL: there is none");
        r = &none;
    }

    j.to = to;
    j.room = to && room ? room - 1 : 0; /* a NUL goes behind */
    j.length = 0;
    sbx__json_text(&j, "{\"verdict\":\"");
    sbx__json_text(&j, sbx_verdict_name(r->verdict));
    sbx__json_text(&j, r->certain ? "\",\"certain\":true" : "\",\"certain\":false");
    sbx__json_text(&j, ",\"message\":");
    sbx__json_string(&j, r->message, strlen(r->message));

    sbx__json_number(&j, "exit_code", r->exit_code);
    sbx__json_number(&j, "signal", r->signal);
    sbx__json_number(&j, "wall_us", r->wall_us);
    sbx__json_number(&j, "user_us", r->user_us);
    sbx__json_number(&j, "system_us", r->system_us);
    sbx__json_number(&j, "peak_bytes", r->peak_bytes);
    sbx__json_number(&j, "evidence", (long long)r->evidence);
    sbx__json_number(&j, "enforced", (long long)r->enforced);
    sbx__json_text(&j, ",\"step\":\"");
    sbx__json_text(&j, sbx_step_name(r->step));
    sbx__json_text(&j, "\"");
    sbx__json_number(&j, "errno", r->sys_errno);
    sbx__json_output(&j, "stdout", &r->out);
    sbx__json_output(&j, "stderr", &r->err);
    sbx__json_text(&j, "}");
    if (to && room) to[j.length < room ? j.length : room - 1] = 0;
    return j.length;
}

/* ---- clamp ---- */

/* The stricter one of two limits, of which -1 is none. */
static long long sbx__stricter(long long a, long long b) {
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static long long sbx__output_cap(const sbx_config *c) {
    return c->output_bytes ? c->output_bytes : 1 << 20;
}

/* error_bytes, behind output_bytes. 0 = both streams share output_bytes: then neither is above
   that, nor are both together. */
static void sbx__clamp_error(sbx_config *config, const sbx_config *asked, const sbx_config *top) {
    long long shared = sbx__output_cap(asked), most = sbx__output_cap(top);
    long long out = sbx__output_cap(config);
    long long *err = &config->error_bytes;
    if (top->error_bytes && *err) {
        *err = *err < SBX_UNLIMITED ? *err : sbx__stricter(*err, top->error_bytes);
    } else if (top->error_bytes) { /* unless its share is less anyway */
        int fits = top->error_bytes < 0 || (shared >= 0 && shared <= top->error_bytes);
        if (!fits && shared >= SBX_UNLIMITED) *err = top->error_bytes;
    } else if (*err && *err >= SBX_UNLIMITED && most >= 0) { /* both have to fit into one */
        if (*err > 0 && *err <= most - out) return;
        if (*err > 0 && *err < out) config->output_bytes = most - *err;
        else *err = 0;
    }
}

SBX_API void sbx_clamp(sbx_config *config, const sbx_config *ceiling) {
    sbx_config top, asked;
    size_t i;
    if (!config || !ceiling) return;
    top = *ceiling;
    asked = *config;
    for (i = 0; i < SBX__FIELDS; i++) {
        long long *mine = sbx__value(config, i), *most = sbx__value(&top, i);
        long long want = *mine ? *mine : sbx__fields[i].zero;
        long long limit = *most ? *most : sbx__fields[i].zero;
        int grace = sbx__fields[i].offset == offsetof(sbx_config, grace_ms);
        if (limit < SBX_UNLIMITED) *mine = limit; /* nonsense: let the run refuse it */
        else if (mine == &config->error_bytes) sbx__clamp_error(config, &asked, &top);
        else if (grace && limit == SBX_UNLIMITED) *mine = limit; /* there -1 is the least */
        else if (limit >= 0 && (want > limit || (want == SBX_UNLIMITED && !grace))) *mine = limit;
    }

    if (ceiling->contain == SBX_CONTAIN_TREE ||
        (ceiling->contain == SBX_CONTAIN_AUTO && config->contain == SBX_CONTAIN_GROUP))
        config->contain = ceiling->contain;
    if (ceiling->policy) config->policy = ceiling->policy;
    if (ceiling->cgroup) config->cgroup = ceiling->cgroup;
    if (ceiling->uid) config->uid = ceiling->uid;
    if (ceiling->gid) config->gid = ceiling->gid;
}

#ifdef __cplusplus
}
#endif
#endif /* not too late */
#endif /* SBX_IMPLEMENTATION */

/* CHANGES
   1.0.0  new: source text (sbx_run_code, sbx_build, sbx_discard); a policy is a root directory of
          its own; reading and steering (sbx_read, SBX_STREAM, SBX_KEEP_..., error_bytes, sbx_kill,
          sbx_signal, sbx_pid, sbx_set_timeout, sbx_get_usage, sbx_get_watch_any); functions beside
          the host (sbx_start_call), from a nursery, without its secrets; name, stop, pass_fds, uid
          and gid; sbx_json, sbx_step_name; the command sbxrun
          changed: env NULL is PATH alone; a relative argv[0] starts from cwd; the grace is that of
          the whole tree; a verdict is certain only if it is proven
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
