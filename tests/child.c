/* One program with many ways to misbehave: `child MODE [arguments]`; `child list` names them all.

   Every mode ends by itself within about 20 seconds, whatever the host does or fails to do: an
   alarm, a deadline of its own where signals are ignored, and counts for everything that grows.

   A "tether" argument is the path of a named pipe of the test (see test.h): a process that has it
   open is seen to be alive by the test, and one that lingers leaves when the path is gone. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1
#endif
#if defined(__APPLE__) && !defined(_DARWIN_C_SOURCE)
#define _DARWIN_C_SOURCE 1
#endif

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

extern char **environ;

#define LIFE_SECONDS 20 /* no process of this program gets older */

/* ==== Small things ============================================================================ */

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void sleep_ms(long long ms) {
    struct timespec time;
    time.tv_sec = (time_t)(ms / 1000);
    time.tv_nsec = (long)(ms % 1000) * 1000000;
    while (nanosleep(&time, &time) < 0 && errno == EINTR) {
    }
}

/* Sleeps whatever signals come: for modes that ignore the alarm. */
static int sleep_out_life(void) {
    long long end = now_ms() + LIFE_SECONDS * 1000;
    while (now_ms() < end) sleep_ms(20);
    return 0;
}

/* All of it, or death with a telling code. */
static void write_all(int fd, const void *data, size_t size) {
    const char *at = (const char *)data;
    while (size > 0) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) _exit(90);
        at += n;
        size -= (size_t)n;
    }
}

static void say(const char *text) { write_all(1, text, strlen(text)); }

/* Byte number n of the stream that `write` makes: no period that divides a buffer size. */
static char pattern(size_t n) { return (char)('a' + (n * 7 + n / 251) % 26); }

static void write_pattern(int fd, size_t size) {
    char chunk[8192];
    size_t done = 0;
    while (done < size) {
        size_t n = size - done < sizeof chunk ? size - done : sizeof chunk, i;
        for (i = 0; i < n; i++) chunk[i] = pattern(done + i);
        write_all(fd, chunk, n);
        done += n;
    }
}

static long long number(int argc, char **argv, int index, long long otherwise) {
    return index < argc ? atoll(argv[index]) : otherwise;
}

static const char *word(int argc, char **argv, int index, const char *otherwise) {
    return index < argc ? argv[index] : otherwise;
}

/* fork with a life of its own: alarms are not inherited. */
static pid_t spawn(void) {
    pid_t pid = fork();
    if (pid < 0) {
        perror("fork");
        _exit(91);
    }
    if (pid == 0) alarm(LIFE_SECONDS);
    return pid;
}

/* Holds the tether of the test and tells it one more process is there. */
static int tether_fd = -1;
static const char *tether_path;

static void tether(const char *path) {
    char line[32];
    int size = snprintf(line, sizeof line, "%ld\n", (long)getpid());
    if (tether_fd < 0) tether_fd = open(path, O_WRONLY | O_NONBLOCK);
    if (tether_fd < 0) {
        perror(path);
        _exit(92);
    }
    tether_path = path;
    if (write(tether_fd, line, (size_t)size) != size) _exit(92);
}

/* Stays until the test takes the tether away. */
static int linger(void) {
    long long end = now_ms() + LIFE_SECONDS * 1000;
    while (now_ms() < end && (!tether_path || access(tether_path, F_OK) == 0)) sleep_ms(10);
    return 0;
}

/* A stopped process cannot count its seconds: it dies with its parent instead. */
static void die_with_parent(void) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

/* ==== Well-behaved ============================================================================ */

static int mode_exit(int argc, char **argv) { return (int)number(argc, argv, 0, 0); }

static int mode_write(int argc, char **argv) {
    write_pattern(1, (size_t)number(argc, argv, 0, 0));
    write_pattern(2, (size_t)number(argc, argv, 1, 0));
    return (int)number(argc, argv, 2, 0);
}

static int mode_args(int argc, char **argv) {
    int i;
    for (i = 0; i < argc; i++) {
        say("[");
        say(argv[i]);
        say("]\n");
    }
    return 0;
}

static int mode_env(int argc, char **argv) {
    char **at;
    (void)argc, (void)argv;
    for (at = environ; *at; at++) {
        say(*at);
        say("\n");
    }
    return 0;
}

static int mode_cat(int argc, char **argv) {
    char chunk[65536];
    ssize_t n;
    (void)argc, (void)argv;
    while ((n = read(0, chunk, sizeof chunk)) > 0) write_all(1, chunk, (size_t)n);
    return n < 0 ? 93 : 0;
}

static int mode_sleep(int argc, char **argv) {
    sleep_ms(number(argc, argv, 0, LIFE_SECONDS * 1000));
    return (int)number(argc, argv, 1, 0);
}

static int mode_say(int argc, char **argv) {
    say(word(argc, argv, 0, "hello\n"));
    write_all(2, word(argc, argv, 1, ""), strlen(word(argc, argv, 1, "")));
    return (int)number(argc, argv, 2, 0);
}

static int mode_pwd(int argc, char **argv) {
    char path[PATH_MAX];
    (void)argc, (void)argv;
    say(getcwd(path, sizeof path) ? path : "?");
    return 0;
}

/* ==== Modes of test_attacks.c and test_host.c ================================================= */

/* ==== Modes of test_seeds.c and test_pitfalls.c =============================================== */

/* ==== The table =============================================================================== */

static int mode_list(int argc, char **argv);

static const struct mode {
    const char *name;
    int (*run)(int argc, char **argv); /* arguments after the mode; returns the exit code */
    const char *what;
} modes[] = {
    {"list", mode_list, "this list"},
    {"exit", mode_exit, "CODE: exits with it"},
    {"write", mode_write, "OUT ERR [CODE]: so many patterned bytes to each stream, then exits"},
    {"args", mode_args, "...: its arguments, each in brackets on a line"},
    {"env", mode_env, "its environment, one variable a line"},
    {"cat", mode_cat, "stdin to stdout"},
    {"sleep", mode_sleep, "[MS [CODE]]: sleeps, then exits"},
    {"say", mode_say, "OUT [ERR [CODE]]: the two texts"},
    {"pwd", mode_pwd, "its directory"},
    /* test_attacks.c, test_host.c */
    /* test_seeds.c, test_pitfalls.c */
    {NULL, NULL, NULL},
};

static int mode_list(int argc, char **argv) {
    const struct mode *mode;
    (void)argc, (void)argv;
    for (mode = modes; mode->name; mode++) printf("%-16s %s\n", mode->name, mode->what);
    return 0;
}

int main(int argc, char **argv) {
    const struct mode *mode;
    alarm(LIFE_SECONDS);
    for (mode = modes; argc > 1 && mode->name; mode++)
        if (strcmp(mode->name, argv[1]) == 0) return mode->run(argc - 2, argv + 2);
    fprintf(stderr, "usage: child MODE [arguments]; `child list` names the modes\n");
    return 99;
}
