/* What the C, C++ and sbx_call cases of the corpus do: each act in a few lines, bounded by itself.
   C99 and C++11 in common. */
#ifndef CORPUS_ACTS_H
#define CORPUS_ACTS_H

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KB 1024LL
#define MB (1024LL * 1024)
#define LIFE 150 /* seconds after which an alarm ends whatever was forgotten */

#if defined(__GNUC__)
#define ACT static __attribute__((unused))
#else
#define ACT static
#endif

/* ==== Time ==================================================================================== */

ACT long long clock_ms(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

ACT void nap_once(long ms) { /* a signal ends it */
    struct timespec t;
    t.tv_sec = ms / 1000;
    t.tv_nsec = ms % 1000 * 1000000;
    nanosleep(&t, NULL);
}

ACT void nap(long ms) {
    long long end = clock_ms(CLOCK_MONOTONIC) + ms;
    while (clock_ms(CLOCK_MONOTONIC) < end) nap_once((long)(end - clock_ms(CLOCK_MONOTONIC)) + 1);
}

ACT void burn(long ms) { /* of CPU time, however long that takes */
    while (clock_ms(CLOCK_PROCESS_CPUTIME_ID) < ms) {
    }
}

ACT void spin(void) { burn(100000); }

ACT void spin_in_kernel(void) {
    char buffer[65536];
    int zero = open("/dev/zero", O_RDONLY);
    while (clock_ms(CLOCK_PROCESS_CPUTIME_ID) < 100000)
        if (read(zero, buffer, sizeof buffer) <= 0) _exit(91);
}

/* ==== Processes and threads =================================================================== */

ACT pid_t forked(void) {
    pid_t pid = fork();
    if (pid < 0) {
        perror("fork");
        exit(1);
    }
    if (pid == 0) alarm(LIFE); /* alarms are not inherited */
    return pid;
}

ACT void in_thread(void *(*act)(void *)) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, act, NULL) != 0) _exit(92);
    pthread_join(thread, NULL);
}

ACT void *sleeping_thread(void *arg) {
    nap(100000);
    return arg;
}

ACT int many_threads(int count) { /* the error that ended it, or 0 */
    pthread_t thread;
    int error = 0;
    while (count-- > 0 && !error) error = pthread_create(&thread, NULL, sleeping_thread, NULL);
    return error;
}

ACT void limit(int which, long long value) {
    struct rlimit r;
    r.rlim_cur = (rlim_t)value;
    r.rlim_max = (rlim_t)value + 1;
    setrlimit(which == RLIMIT_CPU ? RLIMIT_CPU : RLIMIT_AS, &r); /* an enum in glibc's C++ */
}

/* A grandchild whose parent is gone burns so many ms; returns when it has ended. */
ACT void orphan(long ms) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0) _exit(89);
    if (forked() == 0) {
        if (forked() == 0) burn(ms);
        _exit(0);
    }
    close(ends[1]);
    while (wait(NULL) > 0) {
    }
    while (read(ends[0], &byte, 1) > 0) {
    }
    close(ends[0]);
}

/* ==== Memory ================================================================================== */

ACT char *map(long long mb, int flags) {
    char *p = (char *)mmap(NULL, (size_t)(mb * MB), PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS,
                           -1, 0);
    if (p == MAP_FAILED) _exit(93);
    return p;
}

ACT char *touched(char *p, long long mb) {
    long long i;
    for (i = 0; i < mb * MB; i += 4096) p[i] = 1;
    return p;
}

ACT char *use(long long mb) { return touched(map(mb, MAP_PRIVATE), mb); }

ACT char *use_shared(long long mb) { return touched(map(mb, MAP_SHARED), mb); }

ACT void look(const char *p, long long mb) {
    volatile char seen = 0;
    long long i;
    for (i = 0; i < mb * MB; i += 4096) seen = p[i];
    (void)seen;
}

/* Forks processes that read the memory, or (ms > 0) write to it and stay for so long. */
ACT void workers(int count, char *p, long long mb, long ms) {
    while (count-- > 0) {
        if (forked() != 0) continue;
        if (ms > 0) touched(p, mb);
        else look(p, mb);
        nap(ms);
        _exit(0);
    }
}

ACT int file_of(const char *path, long long mb) { /* a descriptor; the file has no name any more */
    static const char block[65536] = "x";
    int f = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    long long i;
    unlink(path);
    for (i = 0; i < mb * 16; i++)
        if (write(f, block, sizeof block) != (ssize_t)sizeof block) _exit(90);
    return f;
}

ACT void map_file(int f, long long mb) {
    char *p = (char *)mmap(NULL, (size_t)(mb * MB), PROT_READ, MAP_SHARED, f, 0);
    if (p == MAP_FAILED) _exit(93);
    look(p, mb);
}

#if defined(__linux__) && defined(CLONE_VM)
ACT int stay(void *ms) {
    nap(*(long *)ms);
    _exit(0);
}

ACT int leave_one(void *ms) {
    static char stack[65536];
    clone(stay, stack + sizeof stack / 2, CLONE_VM, ms);
    _exit(0);
}

/* A task without a parent here lives in this memory for so long. */
ACT void same_memory(long ms) {
    static char stack[65536];
    static long span;
    pid_t pid;
    span = ms;
    pid = clone(leave_one, stack + sizeof stack / 2, CLONE_VM | SIGCHLD, &span);
    if (pid < 0) _exit(88);
    waitpid(pid, NULL, 0);
}
#else
ACT void same_memory(long ms) { (void)ms; }
#endif

ACT void reserve_up_to(long mb) { /* address space in all, nothing of it used */
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld", &pages) != 1) _exit(94);
    fclose(f);
    map(mb - pages * 4096 / MB - 1, MAP_PRIVATE | MAP_NORESERVE);
}

ACT void grow(long long mb) { /* until malloc says no; 4 GB at most */
    char *p;
    int i;
    for (i = 0; i < 4096 / mb; i++) {
        p = (char *)malloc((size_t)(mb * MB));
        if (!p) return;
        touched(p, mb);
    }
    _exit(95);
}

ACT void grow_small(void) {
    int i;
    for (i = 0; i < 4000000 && malloc(1000); i++) {
    }
}

ACT void grow_blindly(void) {
    int i;
    for (i = 0; i < 4096; i++) touched((char *)malloc(MB), 1);
    _exit(96);
}

ACT int recurse(long mb_left) { /* eats a stack of so many MB, in frames of about 4 KB */
    volatile char frame[4000];
    static long long depth;
    int below;
    frame[0] = (char)++depth;
    below = depth / 256 < mb_left ? recurse(mb_left) : 0;
    return below + frame[0] * 0;
}

/* ==== Crashes ================================================================================= */

ACT void crash_null(void) {
    volatile int *volatile p = NULL;
    *p = 1;
}

ACT void crash_divide(void) {
    volatile int zero = 0;
    zero = 1 / zero;
    raise(SIGFPE); /* where the processor shrugs */
}

ACT void crash_illegal(void) { __builtin_trap(); }

ACT void crash_bus(void) { /* a mapping longer than its file */
    char name[] = "bus_XXXXXX";
    int f = mkstemp(name);
    char *p = (char *)mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
    unlink(name);
    p[40000] = 1;
}

ACT void crash_double_free(void) {
    void *volatile p = malloc(100), *volatile same = p;
    free(p);
    free(same);
}

/* ==== Output and files ======================================================================== */

ACT void out(int fd, long long bytes) {
    static char block[4096];
    memset(block, 'x', sizeof block);
    while (bytes > 0) {
        ssize_t n = write(fd, block, (size_t)(bytes < 4096 ? bytes : 4096));
        if (n < 0 && errno != EINTR) _exit(97);
        if (n > 0) bytes -= n;
    }
}

ACT int fill(const char *path, long long bytes) { /* -1 and errno if not all could be written */
    static const char block[1024] = "x";
    int f = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600), error = 0;
    if (f < 0) _exit(98);
    for (; bytes > 0 && !error; bytes -= 1024)
        if (write(f, block, sizeof block) < 0) error = errno;
    close(f);
    unlink(path);
    errno = error;
    return error ? -1 : 0;
}

ACT int open_many(int count) { /* how many could be opened */
    int i;
    for (i = 0; i < count; i++)
        if (open("/dev/null", O_RDONLY) < 0) break;
    return i;
}

/* ==== Handlers ================================================================================ */

ACT void exit_0(int number) {
    (void)number;
    _exit(0);
}
ACT void exit_3(int number) {
    (void)number;
    _exit(3);
}
ACT void crash_on(int number) {
    (void)number;
    crash_null();
}
ACT void flood_on(int number) {
    (void)number;
    for (;;) out(1, 4096);
}
ACT void nap_on(int number) {
    (void)number;
    nap(100000);
}
ACT void nothing(int number) { (void)number; }
ACT void sleep_on(void) { nap(100000); }
ACT void *spin_on(void *arg) {
    spin();
    return arg;
}
ACT void *use_300(void *arg) {
    use(300);
    return arg;
}
ACT void *recurse_forever(void *arg) {
    recurse(1 << 30);
    return arg;
}

#endif
