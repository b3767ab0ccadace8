/* What runs inside the boxes of host.c: program MODE DIRECTORY [CODE]. It leaves a mark in the
 * directory first, so that the host knows whether, and how often, it ran, whatever the box says.
 * Built without a shared libc where that is possible: it has to start fast and need nothing. */
#define _GNU_SOURCE
#include "marks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIFE_SECONDS 25 /* of one that is not stopped: longer than a host may take */

static void nap(long ms) {
    struct timespec t;
    t.tv_sec = ms / 1000;
    t.tv_nsec = ms % 1000 * 1000000;
    nanosleep(&t, NULL);
}

static void print_limit(const char *name, int which) {
    struct rlimit now;
    getrlimit(which, &now);
    printf(" %s=%lld", name, now.rlim_cur == RLIM_INFINITY ? -1 : (long long)now.rlim_cur);
}

/* What a box promises about every program: nothing here depends on how it is contained. */
static void print_state(int limits) {
    struct sigaction old;
    sigset_t mask;
    int i, blocked = 0, ignored = 0, extra = 0;

    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (i = 1; i < 65; i++) {
        blocked += sigismember(&mask, i) == 1;
        if (sigaction(i, NULL, &old) == 0) ignored += old.sa_handler == SIG_IGN;
    }
    for (i = 3; i < 1024; i++) extra += fcntl(i, F_GETFD) >= 0;
    printf("leads=%d blocked=%d ignored=%d extra=%d",
           getsid(0) == getpid() && getpgid(0) == getpid(), blocked, ignored, extra);
    if (limits) {
        print_limit("as", RLIMIT_AS);
        print_limit("fsize", RLIMIT_FSIZE);
        print_limit("nofile", RLIMIT_NOFILE);
        print_limit("stack", RLIMIT_STACK);
    }
    printf("\n");
    fflush(stdout);
}

/* A descendant that left session and group, and holds none of the box's pipes. */
static void leave_daemon(void) {
    int ready[2];
    char byte;
    if (pipe(ready) != 0) _exit(98);
    if (fork() == 0) {
        setsid();
        if (fork() != 0) _exit(0);
        close(0);
        close(1);
        close(2);
        close(ready[0]);
        if (write(ready[1], "", 1) != 1) _exit(0);
        close(ready[1]);
        nap(LIFE_SECONDS * 1000L);
        _exit(0);
    }
    close(ready[1]);
    while (read(ready[0], &byte, 1) < 0 && errno == EINTR) {
    }
    close(ready[0]);
    wait(NULL);
}

/* What a policy takes away; the answers, not the numbers of errors, which may differ. */
static void print_world(const char *dir) {
    char path[600];
    int fd;
    snprintf(path, sizeof path, "%s/../secret", dir);
    fd = open(path, O_RDONLY);
    printf("secret=%d", fd >= 0);
    snprintf(path, sizeof path, "%s/../stray", dir);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    printf(" outside=%d", fd >= 0);
    snprintf(path, sizeof path, "%s/tmp/inside", dir);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    printf(" inside=%d", fd >= 0);
    if (fd >= 0) unlink(path);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    printf(" network=%d", fd >= 0);
    printf(" trace=%d", ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
    printf(" nnp=%d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    fflush(stdout);
}

static int count_input(void) {
    static char buffer[65536];
    unsigned long long size = 0, sum = 0;
    ssize_t n, i;
    while ((n = read(0, buffer, sizeof buffer)) > 0) {
        for (i = 0; i < n; i++) sum = sum * 31 + (unsigned char)buffer[i];
        size += (unsigned long long)n;
    }
    printf("%llu %llu\n", size, sum);
    return fflush(stdout) != 0;
}

static int put(int fd, char letter, long size) {
    char block[1000];
    long done = 0;
    memset(block, letter, sizeof block);
    while (done < size) {
        ssize_t n = write(fd, block, sizeof block);
        if (n <= 0) return 97;
        done += n;
    }
    return 0;
}

static int hog(long megabytes) {
    long i;
    for (i = 0; i < megabytes; i += 4) {
        char *p =
            (char *)mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return 96;
        memset(p, 1, 4 << 20);
        nap(2);
    }
    nap(3000); /* long enough to be seen */
    return 0;
}

static int burn(long ms) {
    struct rusage used;
    volatile long work = 0;
    long spent = 0;
    while (spent < ms) {
        long i;
        for (i = 0; i < 1000000; i++) work += i;
        getrusage(RUSAGE_SELF, &used);
        spent = used.ru_utime.tv_sec * 1000 + used.ru_utime.tv_usec / 1000;
    }
    return 0;
}

static int echo_line(void) {
    char line[100];
    ssize_t n = read(0, line, sizeof line);
    if (n > 0 && write(1, line, (size_t)n) != n) return 95;
    nap(LIFE_SECONDS * 1000L);
    return 0;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "", *dir = argc > 2 ? argv[2] : "";
    int code = argc > 3 ? atoi(argv[3]) : 0;
    if (!leave_mark(dir)) return 99;

    if (strcmp(mode, "state") == 0) print_state(0);
    if (strcmp(mode, "limits") == 0) print_state(1);
    if (strcmp(mode, "user") == 0) {
        gid_t groups[8];
        print_state(0);
        printf("uid=%d/%d gid=%d/%d groups=%d\n", (int)getuid(), (int)geteuid(), (int)getgid(),
               (int)getegid(), getgroups(8, groups));
    }
    if (strcmp(mode, "daemon") == 0) leave_daemon(), print_state(0);
    if (strcmp(mode, "world") == 0) print_state(0), print_world(dir);
    if (strcmp(mode, "count") == 0) return count_input();
    if (strcmp(mode, "loud") == 0) return put(1, 'o', 200000) || put(2, 'e', 100000);
    if (strcmp(mode, "flood") == 0) return put(1, 'x', 32 << 20);
    if (strcmp(mode, "hog") == 0) return hog(48);
    if (strcmp(mode, "burn") == 0) return burn(2000);
    if (strcmp(mode, "echo") == 0) return echo_line();
    if (strcmp(mode, "stubborn") == 0) {
        signal(SIGTERM, SIG_IGN);
        leave_daemon();
        nap(LIFE_SECONDS * 1000L);
    }
    if (strcmp(mode, "denied") == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        puts("survived");
    }
    return code;
}
