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
#include <pthread.h>
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
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#endif

extern char **environ;

static const char *program; /* argv[0] */

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

static void *map(size_t size, int flags) {
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
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

/* ==== Misbehaviour ============================================================================ */

#ifdef __linux__
/* The new process is a child of our parent, not of us. */
static pid_t clone_beside_us(void) {
    pid_t pid = (pid_t)syscall(SYS_clone, (long)(CLONE_PARENT | SIGCHLD), 0L, 0L, 0L, 0L);
    if (pid < 0) {
        perror("clone");
        _exit(91);
    }
    if (pid == 0) alarm(LIFE_SECONDS);
    return pid;
}
#else
static pid_t clone_beside_us(void) { return spawn(); }
#endif

static void daemonise(void) {
    setsid();
    if (spawn() > 0) _exit(0);
    signal(SIGHUP, SIG_IGN);
    umask(0);
    if (chdir("/") < 0) _exit(95);
}

/* What the one that got away does with the streams it has inherited. */
static void use_streams(const char *how) {
    if (strcmp(how, "close") == 0) {
        close(0);
        close(1);
        close(2);
    } else if (strcmp(how, "flood") == 0) {
        long long end = now_ms() + LIFE_SECONDS * 1000;
        char chunk[4096];
        memset(chunk, 'f', sizeof chunk);
        signal(SIGPIPE, SIG_IGN);
        while (now_ms() < end && access(tether_path, F_OK) == 0 &&
               write(1, chunk, sizeof chunk) > 0) {
        }
    }
}

/* Leaves only when the other one has done its trick and holds the tether. */
static int mode_escape(int argc, char **argv) {
    const char *how = word(argc, argv, 0, "");
    const char *then = word(argc, argv, 2, "0");
    int ready[2], beside = strncmp(how, "parent", 6) == 0;
    char byte;
    if (pipe(ready) < 0) return 91;
    if ((beside ? clone_beside_us() : spawn()) == 0) {
        close(ready[0]);
        if (strcmp(how, "daemon") == 0) daemonise();
        if (strstr(how, "setsid") && setsid() < 0) _exit(95);
        if (strstr(how, "setpgid") && setpgid(0, 0) < 0) _exit(95);
        tether(argv[1]);
        close(ready[1]);
        if (strstr(how, "exits")) _exit(7); /* a zombie for somebody */
        use_streams(word(argc, argv, 3, "hold"));
        _exit(linger());
    }
    close(ready[1]);
    while (read(ready[0], &byte, 1) > 0) {
    }
    say("away\n");
    if (strcmp(then, "stay") == 0) return sleep_out_life();
    if (strcmp(then, "crash") == 0) abort();
    return atoi(then);
}

/* Everyone forks three more and leaves when it is crowded; the first one stays, or leaves when
   150 were made. Never more than LIVE at a time or 20,000 in all. To scatter, each starts a
   session of its own. */
static int mode_fork_bomb(int argc, char **argv) {
    long max_live = (long)number(argc, argv, 1, 300);
    long long end = now_ms() + LIFE_SECONDS * 1000 / 2;
    long *count = (long *)map(4096, MAP_SHARED); /* live now, made so far */
    int made = 0, first = 1, told = 0, scatter = argc > 3;
    int stay = strcmp(word(argc, argv, 2, ""), "stay") == 0;
    if (!count) return 91;
    signal(SIGCHLD, SIG_IGN);
    tether(argv[0]);
    count[0] = count[1] = 1;
    while (now_ms() < end && count[1] < 20000 && access(tether_path, F_OK) == 0) {
        if (first && count[1] > 150 && !told) say("ready\n"), told = 1;
        if (first && count[1] > 150 && !stay) _exit(0);
        if (count[0] < max_live) {
            pid_t pid;
            __sync_add_and_fetch(&count[0], 1);
            __sync_add_and_fetch(&count[1], 1);
            pid = fork();
            if (pid == 0) {
                made = first = 0;
                alarm(LIFE_SECONDS);
                if (scatter) setsid();
            } else if (pid < 0) {
                __sync_sub_and_fetch(&count[0], 1);
                sleep_ms(1);
            } else if (++made >= 3 && !first && count[0] > max_live / 2) {
                __sync_sub_and_fetch(&count[0], 1);
                _exit(0);
            }
        } else {
            sleep_ms(1);
        }
    }
    return 0;
}

static void do_nothing(int number_of_signal) { (void)number_of_signal; }

static int mode_ignore(int argc, char **argv) {
    const char *how = word(argc, argv, 0, "ignore");
    sigset_t all;
    int i;
    if (argc > 1 && spawn() == 0) { /* a stubborn one behind a leader that leaves */
        tether(argv[1]);
        for (i = 1; i < 65; i++) signal(i, SIG_IGN);
        say("ready\n");
        _exit(linger());
    }
    if (strcmp(how, "leave") == 0) return sleep_out_life();
    for (i = 1; i < 65; i++) signal(i, strcmp(how, "catch") == 0 ? do_nothing : SIG_IGN);
    sigfillset(&all);
    if (strcmp(how, "block") == 0) sigprocmask(SIG_BLOCK, &all, NULL);
    say("ready\n");
    return sleep_out_life();
}

static volatile sig_atomic_t exit_code_on_term;
static void exit_on_term(int number_of_signal) {
    (void)number_of_signal;
    _exit(exit_code_on_term);
}

static int mode_term(int argc, char **argv) {
    exit_code_on_term = (int)number(argc, argv, 0, 0);
    signal(SIGTERM, exit_on_term);
    say("ready\n");
    return sleep_out_life();
}

static void stop_again(int number_of_signal) {
    (void)number_of_signal;
    raise(SIGSTOP);
}

static int mode_stop(int argc, char **argv) {
    const char *how = word(argc, argv, 0, "self");
    int i;
    die_with_parent();
    if (strcmp(how, "children") == 0) {
        for (i = 0; i < 3; i++) {
            pid_t pid = spawn();
            int status;
            if (pid == 0) {
                die_with_parent();
                tether(argv[1]);
                raise(SIGSTOP);
                _exit(linger());
            }
            waitpid(pid, &status, WUNTRACED);
        }
        say("ready\n");
        return strcmp(word(argc, argv, 2, "leave"), "stay") == 0 ? sleep_out_life() : 0;
    }
    if (strcmp(how, "again") == 0) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGCONT, stop_again);
    }
    say("ready\n");
    raise(SIGSTOP);
    return sleep_out_life();
}

static int mode_close_out(int argc, char **argv) {
    say("before\n");
    close(1);
    close(2);
    sleep_ms(number(argc, argv, 0, LIFE_SECONDS * 1000));
    return (int)number(argc, argv, 1, 0);
}

static int mode_read_some(int argc, char **argv) {
    long long left = number(argc, argv, 0, 0);
    const char *then = word(argc, argv, 1, "0");
    char chunk[4096];
    while (left > 0) {
        ssize_t n = read(0, chunk, left < 4096 ? (size_t)left : sizeof chunk);
        if (n <= 0) return 93;
        left -= n;
    }
    if (strcmp(then, "kill") == 0) raise(SIGKILL);
    if (strcmp(then, "close") == 0) {
        close(0);
        sleep_ms(number(argc, argv, 2, LIFE_SECONDS * 1000));
        return 0;
    }
    if (strcmp(then, "stay") == 0) return sleep_out_life();
    return atoi(then);
}

static int mode_flood(int argc, char **argv) {
    const char *where = word(argc, argv, 0, "out");
    static char chunk[65536];
    size_t size = (size_t)number(argc, argv, 1, sizeof chunk), done = 0;
    if (size > sizeof chunk) size = sizeof chunk;
    memset(chunk, 'x', sizeof chunk);
    signal(SIGTERM, argc > 2 ? SIG_IGN : SIG_DFL);
    while (done < (size_t)256 * 1024 * 1024) {
        if (strcmp(where, "err") != 0) write_all(1, chunk, size);
        if (strcmp(where, "out") != 0) write_all(2, chunk, size);
        done += size;
    }
    return 0;
}

/* User time in a loop, or system time in calls that do nothing. */
static void burn(const char *how, long long ms) {
    volatile unsigned long sum = 0;
    struct rusage used;
    int fd = open("/dev/zero", O_RDONLY);
    static char chunk[65536];
    long i;
    do {
        if (strcmp(how, "system") == 0) {
            for (i = 0; i < 20; i++)
                if (read(fd, chunk, sizeof chunk) < 0) sum++;
        } else {
            for (i = 0; i < 200000; i++) sum += (unsigned long)i;
        }
        getrusage(RUSAGE_SELF, &used);
    } while ((used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000LL +
                 (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000 < ms);
    close(fd);
}

static int mode_burn(int argc, char **argv) {
    const char *how = word(argc, argv, 0, "user");
    long long processes = number(argc, argv, 1, 1), ms = number(argc, argv, 2, 10000), i;
    if (argc > 3) signal(SIGXCPU, SIG_IGN);
    if (processes > 16) return 96;
    for (i = 0; strcmp(how, "chain") == 0 && i < processes; i++) {
        pid_t pid = spawn(); /* one after the other, each gone when the next begins */
        if (pid == 0) {
            burn("user", ms);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    if (strcmp(how, "chain") == 0) return 0;
    for (i = 1; i < processes; i++)
        if (spawn() == 0) {
            burn(how, ms);
            _exit(0);
        }
    burn(how, ms);
    while (wait(NULL) > 0) {
    }
    return 0;
}

static int out_of_memory(void) {
    fprintf(stderr, "child: out of memory\n");
    return 1;
}

static int touch_memory(long long mb, int flags) {
    long long i;
    for (i = 0; i < mb; i++) {
        void *block = map(1 << 20, flags);
        if (!block) return out_of_memory();
        memset(block, 1, 1 << 20);
    }
    return 0;
}

/* Processes that share all they have with their parent, and never live long. */
static int churn(long long mb, long long processes, long long ms) {
    long long end = now_ms() + ms, i;
    if (touch_memory(mb, MAP_PRIVATE) != 0) return 1;
    while (now_ms() < end) {
        for (i = 1; i < processes; i++)
            if (spawn() == 0) {
                sleep_ms(1 + i % 4);
                _exit(0);
            }
        while (wait(NULL) > 0) {
        }
    }
    return 0;
}

/* First it has as much as looks like twice as much, and later really twice. */
static int late_memory(long long mb, long long ms) {
    if (touch_memory(mb, MAP_PRIVATE) != 0) return 1;
    if (spawn() == 0) {
        sleep_ms(3 * ms);
        _exit(0);
    }
    sleep_ms(ms);
    if (spawn() == 0) {
        if (touch_memory(mb, MAP_PRIVATE) == 0) sleep_ms(2 * ms);
        _exit(0);
    }
    while (wait(NULL) > 0) {
    }
    return 0;
}

/* One has it, and hands it on: it forks, and ends while the next one has the same pages. */
static int relayed_memory(long long mb, long long ms) {
    long long end = now_ms() + ms;
    int over[2], k;
    char byte;
    if (pipe(over) < 0) return 91;
    if (spawn() == 0) {
        close(over[0]);
        for (k = touch_memory(mb, MAP_PRIVATE); now_ms() < end; k++) {
            if (spawn() != 0) {
                sleep_ms(12 + k * 7 % 9);
                _exit(0);
            }
            sleep_ms(30);
        }
        _exit(0);
    }
    close(over[1]);
    while (read(over[0], &byte, 1) > 0) {
    }
    return 0;
}

typedef struct memory_order {
    long long mb, ms;
} memory_order;

static void *memory_of_a_thread(void *arg) {
    const memory_order *order = (const memory_order *)arg;
    sleep_ms(50); /* until the first thread has ended */
    if (touch_memory(order->mb, MAP_PRIVATE) == 0) sleep_ms(order->ms);
    exit(0);
}

static int leaderless_memory(long long mb, long long ms) {
    static memory_order order;
    pthread_t thread;
    order.mb = mb;
    order.ms = ms;
    if (pthread_create(&thread, NULL, memory_of_a_thread, &order) != 0) return 91;
    pthread_exit(NULL);
}

/* The same pages at three addresses. */
static int mapped_memory(long long mb, long long ms) {
#ifdef __linux__
    size_t size = (size_t)mb << 20;
    char *block = (char *)map(size, MAP_SHARED);
    int i;
    if (!block) return 91;
    memset(block, 1, size);
    for (i = 0; i < 2; i++) {
        char *again = (char *)mremap(block, 0, size, MREMAP_MAYMOVE);
        if (again == (char *)MAP_FAILED) return 92;
        memset(again, 2, size);
    }
#endif
    sleep_ms(ms);
    return mb < 0;
}

/* Holds what it has for a while, so that whoever watches must see it. */
static int mode_memory(int argc, char **argv) {
    const char *how = word(argc, argv, 0, "own");
    long long mb = number(argc, argv, 1, 1), processes = number(argc, argv, 2, 1), i;
    long long hold = number(argc, argv, 3, 5000);
    int status, worst = 0, once = strcmp(how, "once") == 0;
    if (strcmp(how, "churn") == 0) return churn(mb, processes, hold);
    if (strcmp(how, "late") == 0) return late_memory(mb, hold / 10);
    if (strcmp(how, "relay") == 0) return relayed_memory(mb, hold * 6);
    if (strcmp(how, "leaderless") == 0) return leaderless_memory(mb, hold);
    if (strcmp(how, "mapped") == 0) return mapped_memory(mb, hold);
    if (mb * (once ? 1 : processes) > 512) return 96;
    if (once && touch_memory(mb, MAP_PRIVATE) != 0) return 1; /* all have the same pages */
    for (i = 1; i < processes; i++)
        if (spawn() == 0) {
            int code = once ? 0 : touch_memory(mb, MAP_PRIVATE);
            if (code == 0) sleep_ms(hold);
            _exit(code);
        }
    if (!once) worst = touch_memory(mb, strcmp(how, "shared") == 0 ? MAP_SHARED : MAP_PRIVATE);
    if (worst == 0) sleep_ms(hold);
    while (wait(&status) > 0)
        if (WIFEXITED(status) && WEXITSTATUS(status) > worst) worst = WEXITSTATUS(status);
    return worst;
}

/* Asks for memory until there is none; up to 4 GB, and uses none of it. */
static int mode_malloc(int argc, char **argv) {
    const char *how = word(argc, argv, 0, "handled");
    size_t size = (size_t)number(argc, argv, 1, 1) << 20, all = 0;
    volatile char *volatile block;
    do {
        block = (volatile char *)malloc(size);
        all += size;
    } while (block && all < (size_t)2048 << 20);
    if (block) return 0;
    if (strcmp(how, "handled") == 0) return out_of_memory();
    if (strcmp(how, "quiet") == 0) return 1;
    block[0] = 1;
    return 94;
}

static volatile int depth_wanted;
static int recurse(int depth) {
    volatile char frame[4096];
    frame[0] = (char)depth;
    if (depth >= depth_wanted) return frame[0];
    return recurse(depth + 1) + frame[0];
}

static int mode_recurse(int argc, char **argv) {
    struct rlimit limit;
    (void)argc, (void)argv;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur > (64u << 20)) {
        limit.rlim_cur = 64u << 20;
        setrlimit(RLIMIT_STACK, &limit);
    }
    depth_wanted = 1 << 20;
    return recurse(0) ? 0 : 94;
}

static volatile int zero;
static void illegal_instruction(void) {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
    __asm__ volatile("ud2");
#else
    raise(SIGILL);
#endif
}

static void bus_error(void) {
    char path[] = "/tmp/sbx-child-XXXXXX";
    int fd = mkstemp(path);
    volatile char *page;
    if (fd < 0) _exit(95);
    unlink(path);
    page = (volatile char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    page[0] = 1; /* the file has no such page */
}

static int mode_crash(int argc, char **argv) {
    const char *how = word(argc, argv, 0, "null");
    volatile int *volatile nowhere = NULL;
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "illegal") == 0) illegal_instruction();
    if (strcmp(how, "bus") == 0) bus_error();
    if (strcmp(how, "divide") == 0) {
        int volatile answer = 1 / zero;
        (void)answer;
        raise(SIGFPE); /* not every processor minds */
    }
    *nowhere = 1;
    return 94;
}

static int mode_raise(int argc, char **argv) {
    int which = (int)number(argc, argv, 0, SIGKILL);
    raise(which);
    return 94;
}

static int mode_open_many(int argc, char **argv) {
    long long wanted = number(argc, argv, 0, 1000), opened = 0;
    char text[64];
    while (opened < wanted && open("/dev/null", O_RDONLY) >= 0) opened++;
    snprintf(text, sizeof text, "%lld%s\n", opened,
             opened < wanted && errno == EMFILE ? " EMFILE" : "");
    say(text);
    return 0;
}

static int mode_fill_file(int argc, char **argv) {
    long long size = number(argc, argv, 1, 0), done = 0;
    const char *how = word(argc, argv, 2, "default");
    int fd = open(argv[0], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    char chunk[1000];
    memset(chunk, 'x', sizeof chunk);
    if (fd < 0) return 95;
    if (strcmp(how, "default") != 0) signal(SIGXFSZ, SIG_IGN);
    while (done < size) {
        ssize_t n = write(fd, chunk, size - done < 1000 ? (size_t)(size - done) : sizeof chunk);
        if (n < 0) {
            if (strcmp(how, "quiet") != 0) perror("child: write");
            return 1;
        }
        done += n;
    }
    return 0;
}

static int mode_limits(int argc, char **argv) {
    static const struct {
        int which;
        const char *name;
    } all[] = {{RLIMIT_CORE, "core"},   {RLIMIT_CPU, "cpu"},     {RLIMIT_FSIZE, "file"},
               {RLIMIT_STACK, "stack"}, {RLIMIT_NOFILE, "open"}, {RLIMIT_AS, "space"},
#ifdef RLIMIT_NPROC
               {RLIMIT_NPROC, "processes"}
#endif
    };
    size_t i;
    (void)argc, (void)argv;
    for (i = 0; i < sizeof all / sizeof *all; i++) {
        struct rlimit limit;
        getrlimit((unsigned)all[i].which, &limit);
        printf("%s %lld %lld\n", all[i].name,
               limit.rlim_cur == RLIM_INFINITY ? -1LL : (long long)limit.rlim_cur,
               limit.rlim_max == RLIM_INFINITY ? -1LL : (long long)limit.rlim_max);
    }
    return 0;
}

/* kill(-1) only where it can hurt nobody: in another PID namespace than the one that is named. */
static int mode_signal(int argc, char **argv) {
    const char *whom = word(argc, argv, 0, "");
    int which = (int)number(argc, argv, 1, SIGTERM), got = -1;
    char space[64];
    ssize_t size = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    space[size < 0 ? 0 : size] = 0;
    if (strcmp(whom, "group") == 0) got = kill(0, which);
    if (strcmp(whom, "all") == 0) {
        if (size <= 0 || argc < 3 || strcmp(argv[2], space) == 0) return 97;
        got = kill(-1, which);
    }
    if (strcmp(whom, "host") == 0) {
        if (number(argc, argv, 2, 0) <= 1) return 97;
        got = kill((pid_t)number(argc, argv, 2, 0), which);
    }
    sleep_ms(50);
    return got < 0 ? 1 : 0;
}

static int mode_fds(int argc, char **argv) {
    long max = sysconf(_SC_OPEN_MAX);
    int fd;
    (void)argc, (void)argv;
    if (max < 0 || max > 65536) max = 65536;
    for (fd = 0; fd < max; fd++)
        if (fcntl(fd, F_GETFD) >= 0) printf("%d ", fd);
    return 0;
}

/* Anything that could be taken for a report, to anything that could lead to the host. */
static int mode_forge(int argc, char **argv) {
    int record[64], taken = 0, fd;
    struct stat about;
    unsigned i;
    char text[32];
    for (fd = 0; fd < 4096; fd++) {
        if (fd == 1 || fd == 2) continue;
        for (i = 0; i < 64; i++) record[i] = (int)number(argc, argv, 1, 2);
        if (fd == 0 && (fstat(0, &about) < 0 || S_ISCHR(about.st_mode))) continue; /* /dev/null */
        for (i = 1; i <= 64; i *= 2)
            if (write(fd, record, i * sizeof *record) > 0) taken++;
    }
    snprintf(text, sizeof text, "%d taken\n", taken);
    say(text);
    return (int)number(argc, argv, 0, 0);
}

static int mode_binary(int argc, char **argv) {
    unsigned char all[256 * 16];
    int i;
    (void)argc, (void)argv;
    for (i = 0; i < (int)sizeof all; i++) all[i] = (unsigned char)(i * 37 + i / 256);
    write_all(1, all, sizeof all);
    for (i = 0; i < (int)sizeof all; i++) all[i] = (unsigned char)~all[i];
    write_all(2, all, sizeof all);
    return 0;
}

/* One line per way to reach a terminal: "0 yes", "1 no", ... */
static int mode_tiocsti(int argc, char **argv) {
    int fd;
    (void)argc, (void)argv;
#ifdef TIOCSTI
    for (fd = 0; fd < 3; fd++)
        printf("%d %s\n", fd, ioctl(fd, TIOCSTI, "!") == 0 ? "yes" : "no");
#endif
    fd = open("/dev/tty", O_RDWR);
    printf("tty %s\n", fd >= 0 ? "yes" : "no");
    return 0;
}

static int mode_ids(int argc, char **argv) {
    (void)argc, (void)argv;
    printf("%ld %ld %ld %ld\n", (long)getpid(), (long)getppid(), (long)getpgrp(), (long)getsid(0));
    return 0;
}

static void *outlive_main(void *how) {
    char *const argv[] = {"child", "exit", "6", NULL};
    sleep_ms(40);
    say("thread\n");
    if (strcmp((const char *)how, "exec") == 0) execv(program, argv);
    exit(5);
}

/* The process is not over when its first thread is; and exec moves into the first one's place. */
static int mode_thread(int argc, char **argv) {
    const char *how = word(argc, argv, 0, "exit");
    pthread_t thread;
    if (pthread_create(&thread, NULL, outlive_main, (void *)(size_t)how) != 0) return 91;
    if (argc > 1) return sleep_out_life();
    pthread_exit(NULL);
}

/* The environment of the host, as far as the system shows it to its user. */
static int mode_parent_env(int argc, char **argv) {
    char path[64], chunk[4096];
    ssize_t size;
    int fd;
    (void)argc, (void)argv;
    snprintf(path, sizeof path, "/proc/%ld/environ", (long)getppid());
    fd = open(path, O_RDONLY);
    while (fd >= 0 && (size = read(fd, chunk, sizeof chunk)) > 0) write_all(1, chunk, (size_t)size);
    return fd < 0;
}

/* ==== Ordinary ways, exactly told ============================================================= */

static int mode_touch(int argc, char **argv) {
    int fd = open(word(argc, argv, 0, ""), O_WRONLY | O_CREAT, 0600);
    if (fd < 0) return 95;
    close(fd);
    return 0;
}

/* What stdin is, and how many bytes come out of it. */
static int mode_stdin(int argc, char **argv) {
    struct stat own, null;
    const char *kind = "other";
    char chunk[65536];
    long long size = 0;
    ssize_t n;
    (void)argc, (void)argv;
    if (fstat(0, &own) < 0) {
        say("closed 0\n");
        return 0;
    }
    if (S_ISFIFO(own.st_mode) || S_ISSOCK(own.st_mode)) kind = "pipe";
    if (S_ISREG(own.st_mode)) kind = "file";
    if (S_ISCHR(own.st_mode) && stat("/dev/null", &null) == 0 && own.st_rdev == null.st_rdev)
        kind = "null";
    if (isatty(0)) kind = "terminal";
    while ((n = read(0, chunk, sizeof chunk)) > 0) size += n;
    printf("%s %lld\n", kind, size);
    return n < 0 ? 93 : 0;
}

/* The signals it found blocked or ignored. */
static int mode_signals(int argc, char **argv) {
    struct sigaction action;
    sigset_t blocked;
    int i;
    (void)argc, (void)argv;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (i = 1; i < 65; i++) {
        if (sigismember(&blocked, i) == 1) printf("blocked %d\n", i);
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            printf("ignored %d\n", i);
    }
    say("seen\n");
    return 0;
}

/* COUNT grandchildren in its own group, which hold its streams and the tether. */
static int mode_family(int argc, char **argv) {
    long long count = number(argc, argv, 1, 1), i;
    const char *then = word(argc, argv, 2, "0"), *how = word(argc, argv, 3, "");
    int ready[2];
    char byte;
    if (count > 50 || pipe(ready) < 0) return 96;
    for (i = 0; i < count; i++)
        if (spawn() == 0) {
            int signal_number;
            for (signal_number = 1; *how && signal_number < 65; signal_number++)
                signal(signal_number, SIG_IGN);
            tether(argv[0]);
            close(ready[0]);
            close(ready[1]);
            _exit(linger());
        }
    close(ready[1]);
    while (read(ready[0], &byte, 1) > 0) { /* until all have said who they are */
    }
    say("family\n");
    return strcmp(then, "stay") == 0 ? sleep_out_life() : atoi(then);
}

static volatile sig_atomic_t last_words_code;
static void last_words(int number_of_signal) {
    (void)number_of_signal;
    say("TERM\n");
    if (last_words_code >= 0) _exit(last_words_code);
}

static int mode_last_words(int argc, char **argv) {
    const char *how = word(argc, argv, 1, "run");
    long long end = now_ms() + LIFE_SECONDS * 1000;
    char byte;
    last_words_code = (int)number(argc, argv, 0, 0);
    signal(SIGTERM, last_words);
    say("ready\n");
    if (strcmp(how, "stop") == 0) {
        die_with_parent();
        raise(SIGSTOP);
    }
    if (strcmp(how, "read") == 0) {
        while (read(0, &byte, 1) != 0 && now_ms() < end) {
        }
        return 0;
    }
    return sleep_out_life();
}

/* Lines that tell their place, to stdout and stderr in turn. */
static int mode_lines(int argc, char **argv) {
    long long count = number(argc, argv, 0, 10), i;
    char line[32];
    for (i = 0; i < count && i < 100000; i++) {
        int size = snprintf(line, sizeof line, "%lld\n", i);
        write_all(i % 2 ? 2 : 1, line, (size_t)size);
    }
    return 0;
}

/* Both streams in blocks that fill a pipe, the other one first each time. */
static int mode_interleave(int argc, char **argv) {
    long long rounds = number(argc, argv, 0, 4), i;
    for (i = 0; i < rounds && i < 64; i++) {
        write_pattern(i % 2 ? 1 : 2, 200000);
        write_pattern(i % 2 ? 2 : 1, 200000);
    }
    return 0;
}

static int mode_drip(int argc, char **argv) {
    long long count = number(argc, argv, 0, 1000), i;
    for (i = 0; i < count; i++) {
        char byte = pattern((size_t)i);
        write_all(argc > 1 ? 1 + (int)(i % 2) : 1, &byte, 1);
    }
    return 0;
}

/* Writes first and reads then. */
static int mode_write_first(int argc, char **argv) {
    char chunk[65536], text[32];
    long long size = 0;
    ssize_t n;
    write_pattern(1, (size_t)number(argc, argv, 0, 0));
    while ((n = read(0, chunk, sizeof chunk)) > 0) size += n;
    snprintf(text, sizeof text, "%lld", size);
    write_all(2, text, strlen(text));
    return 0;
}

/* As node, Go and Java do: far more reserved than used. */
static int mode_reserve(int argc, char **argv) {
    size_t reserved = (size_t)number(argc, argv, 0, 1) << 20;
    size_t used = (size_t)number(argc, argv, 1, 1) << 20;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *block;
#ifdef MAP_NORESERVE
    flags |= MAP_NORESERVE;
#endif
    if (used > ((size_t)512 << 20) || used > reserved) return 96;
    block = (char *)mmap(NULL, reserved, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (block == (char *)MAP_FAILED) return out_of_memory();
    memset(block, 1, used);
    sleep_ms(number(argc, argv, 2, 100));
    return (int)number(argc, argv, 3, 0);
}

static void tell_read(const char *name, int fd) {
    char text[64];
    ssize_t n = fd < 0 ? -2 : read(fd, text, sizeof text);
    printf("%s %ld\n", name, (long)n);
    fflush(stdout);
}

/* What it gets from its terminal: -2 none, -1 error, 0 end, else bytes. */
static int mode_terminal(int argc, char **argv) {
    (void)argc, (void)argv;
    tell_read("stdin", 0);
    tell_read("tty", open("/dev/tty", O_RDWR));
    return 0;
}

/* How many processes beside itself it can have at once. */
static int mode_processes(int argc, char **argv) {
    long long wanted = number(argc, argv, 0, 10), made = 0;
    int hold[2];
    char byte;
    if (wanted > 300 || pipe(hold) < 0) return 96;
    while (made < wanted) {
        pid_t pid = fork();
        if (pid < 0) break;
        if (pid == 0) {
            alarm(LIFE_SECONDS);
            close(hold[1]);
            _exit(read(hold[0], &byte, 1) != 0);
        }
        made++;
    }
    printf("%lld%s\n", made, made < wanted && errno == EAGAIN ? " EAGAIN" : "");
    close(hold[1]);
    while (wait(NULL) > 0) {
    }
    return 0;
}

/* ==== Whole trees ============================================================================= */

static long *shared_counts; /* visible to all of a bomb: [0] = made so far, [1] = one per starter */

static pid_t bomb_fork(const char *how) {
    pid_t pid;
#ifdef __linux__
    if (strstr(how, "parent"))
        pid = (pid_t)syscall(SYS_clone, (long)(CLONE_PARENT | SIGCHLD), 0L, 0L, 0L, 0L);
    else
#endif
        pid = fork();
    if (pid != 0) return pid;
    __sync_add_and_fetch(&shared_counts[0], 1);
    alarm(LIFE_SECONDS);
    if (strstr(how, "setsid")) setsid();
    return 0;
}

/* Hands over to a new process again and again, or burns, or just stays. */
static void bomb_member(const char *how, long most) {
    long long end = now_ms() + LIFE_SECONDS * 1000;
    static volatile unsigned sink;
    int i;
    for (i = 1; i < 65 && strstr(how, "stubborn"); i++) signal(i, SIG_IGN);
    __sync_add_and_fetch(&shared_counts[1], 1);
    while (now_ms() < end && access(tether_path, F_OK) == 0) {
        if (strstr(how, "spin")) {
            for (i = 0; i < 1000000; i++) sink = sink + 1;
        } else if (strstr(how, "relay") && shared_counts[0] < most) {
            if (bomb_fork(how) > 0) _exit(0);
        } else {
            sleep_ms(5);
        }
    }
    _exit(0);
}

/* LIVE processes at a time beside the first one, which says "full" when all are there. The relays
   among them end as a whole after MOST forks. */
static int mode_tree_bomb(int argc, char **argv) {
    const char *how = word(argc, argv, 0, "relay");
    long long live = number(argc, argv, 2, 100), most = number(argc, argv, 3, 20000), i;
    if (argc < 2 || live > 500 || most > 50000) return 96;
    shared_counts = (long *)map(4096, MAP_SHARED);
    if (!shared_counts) return 91;
    signal(SIGCHLD, SIG_IGN);
    tether(argv[1]);
    for (i = 0; i < live; i++) {
        pid_t pid = bomb_fork(how);
        if (pid < 0) return 91;
        if (pid == 0) bomb_member(how, (long)most);
    }
    for (i = 0; i < LIFE_SECONDS * 1000 && shared_counts[1] < live; i++) sleep_ms(1);
    say("full\n");
    return linger();
}

#ifdef __linux__
static void hold_fds_of(const char *dir) {
    static const int how[] = {O_WRONLY, O_RDWR, O_RDONLY};
    char path[128], link[64];
    int fd, i, held = 0;
    for (fd = 0; fd < 64; fd++) {
        ssize_t size;
        snprintf(path, sizeof path, "%s/fd/%d", dir, fd);
        size = readlink(path, link, sizeof link - 1);
        if (size <= 0) continue;
        link[size] = 0;
        if (strncmp(link, "pipe:", 5) != 0 && strncmp(link, "socket:", 7) != 0) continue;
        for (i = 0; i < 3; i++) held += open(path, how[i] | O_NONBLOCK) >= 0;
    }
    fprintf(stderr, "%s: %d held\n", dir, held);
}

static void steal_fds_of(int pid) {
    int pidfd = (int)syscall(434, pid, 0), fd, held = 0; /* pidfd_open */
    for (fd = 0; fd < 64; fd++) held += syscall(438, pidfd, fd, 0) >= 0; /* pidfd_getfd */
    fprintf(stderr, "%d stolen\n", held);
}

static void tell(const char *what, long got) {
    fprintf(stderr, "%s: %s\n", what, got < 0 ? strerror(errno) : "done");
}

static int ready_fd = -1; /* closed by the one that has done its trick */

static void nest_namespaces(int levels) {
    int own = geteuid() == 0 ? CLONE_NEWPID | CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWPID;
    while (levels-- > 0) {
        long got = syscall(SYS_unshare, (long)own);
        tell("nested namespace", got);
        if (got < 0) return;
        if (spawn() > 0) {
            close(ready_fd);
            while (wait(NULL) > 0) {
            }
            _exit(0);
        }
    }
}

/* The host's own /proc lies below the one of the tree: with privileges it can be laid bare. */
static void reach_host(int host) {
    char path[64];
    int i, fd;
    tell("umount", umount2("/proc", MNT_DETACH));
    snprintf(path, sizeof path, "/proc/%d/ns/pid", host);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    tell("namespace of the host", fd);
    if (fd >= 0) tell("setns", syscall(SYS_setns, (long)fd, (long)CLONE_NEWPID));
    if (fd >= 0) close(fd);
    snprintf(path, sizeof path, "/proc/%d", host);
    hold_fds_of(path);
    for (i = 0; i < 2; i++)
        if (spawn() > 0) _exit(0);
}

/* What a descendant tries so that pid 1, and with it the tree, may live on. */
static void meddle(const char *how, int host) {
    int i;
    if (strcmp(how, "fds") == 0) hold_fds_of("/proc/1");
    if (strcmp(how, "steal") == 0) steal_fds_of(1);
    if (strcmp(how, "seize") == 0) {
        tell("seize", ptrace(PTRACE_SEIZE, 1, NULL, NULL));
        tell("interrupt", ptrace(PTRACE_INTERRUPT, 1, NULL, NULL));
    }
    if (strcmp(how, "attach") == 0) tell("attach", ptrace(PTRACE_ATTACH, 1, NULL, NULL));
    if (strcmp(how, "stop") == 0)
        for (i = 1; i < 65; i++) kill(1, i == SIGSTOP ? SIGKILL : i);
    if (strcmp(how, "stop") == 0) tell("stop", kill(1, SIGSTOP));
    if (strcmp(how, "memory") == 0) tell("memory", open("/proc/1/mem", O_RDWR));
    if (strcmp(how, "idle") == 0) {
        struct sched_param zero_priority;
        memset(&zero_priority, 0, sizeof zero_priority);
        tell("idle", syscall(SYS_sched_setscheduler, 1L, 5L, &zero_priority)); /* SCHED_IDLE */
        tell("nice", setpriority(PRIO_PROCESS, 1, 19));
    }
    if (strcmp(how, "nested") == 0) nest_namespaces(3);
    if (strcmp(how, "host") == 0) reach_host(host);
}

/* Only inside another PID namespace than the one that is named: there it reaches the tree alone. */
static int kill_all_but_me(const char *space_of_host) {
    char space[64];
    ssize_t size = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    space[size < 0 ? 0 : size] = 0;
    if (size <= 0 || !*space_of_host || strcmp(space, space_of_host) == 0) return -1;
    return kill(-1, SIGKILL);
}

static int mode_tree_hostile(int argc, char **argv) {
    const char *how = word(argc, argv, 0, ""), *more = word(argc, argv, 3, "");
    int ready[2], i;
    char byte;
    if (argc < 3 || pipe(ready) < 0) return 96;
    if (spawn() == 0) {
        close(ready[0]);
        ready_fd = ready[1];
        setsid();
        tether(argv[1]);
        meddle(how, atoi(more));
        for (i = 0; i < 20 && strcmp(how, "idle") == 0; i++)
            if (spawn() == 0) {
                setsid();
                close(ready[1]);
                while (access(tether_path, F_OK) == 0) {
                }
                _exit(0);
            }
        close(ready[1]);
        if (strcmp(how, "all") == 0 && kill_all_but_me(more) < 0) say("not here\n");
        _exit(linger());
    }
    close(ready[1]);
    while (read(ready[0], &byte, 1) > 0) {
    }
    say("away\n");
    if (strcmp(argv[2], "stay") == 0) return linger();
    return atoi(argv[2]);
}

static int put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY);
    ssize_t size = fd < 0 ? -1 : write(fd, text, strlen(text));
    if (fd >= 0) close(fd);
    return size == (ssize_t)strlen(text);
}

/* Mounts of its own: as an ordinary user in a user namespace where it keeps its number. */
static int own_mounts(void) {
    long uid = (long)geteuid(), gid = (long)getegid();
    char map_of_ids[64];
    if (syscall(SYS_unshare, (long)(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0))) < 0) return 0;
    if (uid) {
        put("/proc/self/setgroups", "deny");
        snprintf(map_of_ids, sizeof map_of_ids, "%ld %ld 1", uid, uid);
        if (!put("/proc/self/uid_map", map_of_ids)) return 0;
        snprintf(map_of_ids, sizeof map_of_ids, "%ld %ld 1", gid, gid);
        if (!put("/proc/self/gid_map", map_of_ids)) return 0;
    }
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Hides from whoever looks through this process's own root: HOW = tmpfs|fifo|fake|chroot. */
static int hide(const char *how) {
    const char *file[] = {"stat", "status", "smaps_rollup", "statm"};
    char path[64];
    int pid, i;
    if (!own_mounts()) return 0;
    if (strcmp(how, "chroot") == 0)
        return mount("none", "/tmp", "tmpfs", 0, NULL) == 0 && chroot("/tmp") == 0;
    if (mount("none", "/proc", "tmpfs", 0, NULL) < 0) return 0;
    for (pid = 1; pid < 4 && strcmp(how, "tmpfs") != 0; pid++) {
        snprintf(path, sizeof path, "/proc/%d", pid);
        mkdir(path, 0755);
        for (i = 0; i < 4; i++) {
            snprintf(path, sizeof path, "/proc/%d/%s", pid, file[i]);
            if (strcmp(how, "fifo") == 0) {
                if (mkfifo(path, 0644) < 0) return 0;
            } else {
                FILE *to = fopen(path, "w");
                if (!to) return 0;
                fprintf(to, i ? "VmRSS: %d kB\n" : "%d (x) S 0 2 2 0 -1 0 0 0 0 0 0 0 0 0\n", pid);
                fclose(to);
            }
        }
    }
    return 1;
}
#else
static int kill_all_but_me(const char *space_of_host) { return space_of_host ? -1 : 0; }
static int hide(const char *how) { return how == NULL; }
static int mode_tree_hostile(int argc, char **argv) { return argc && argv && kill_all_but_me(""); }
#endif

/* Hides, says so, and goes over the limits that it is told. */
static int mode_tree_hide(int argc, char **argv) {
    long long mb = number(argc, argv, 1, 100), hold = number(argc, argv, 2, 5000);
    if (mb > 512) return 96;
    if (!hide(word(argc, argv, 0, "tmpfs"))) {
        say("cannot hide\n");
        return 0;
    }
    sleep_ms(50); /* long enough for a look at the empty place */
    say("hidden\n");
    if (touch_memory(mb, MAP_PRIVATE) != 0) return 1;
    sleep_ms(hold);
    return 0;
}

/* One without parents and in a session of its own. 1 = that one. */
static int orphan(void) {
    pid_t pid = spawn();
    if (pid > 0) {
        waitpid(pid, NULL, 0);
        return 0;
    }
    if (spawn() > 0) _exit(0);
    setsid();
    return 1;
}

static void burn_slices(long long slice, const char *path) {
    long long end = now_ms() + LIFE_SECONDS * 1000;
    while (now_ms() < end && access(path, F_OK) == 0) {
        burn("user", slice);
        if (spawn() > 0) _exit(0);
    }
    _exit(0);
}

/* PROCESSES orphans that burn; with a SLICE each hands over to the next one after so many ms. */
static int mode_tree_burn(int argc, char **argv) {
    long long processes = number(argc, argv, 1, 1), slice = number(argc, argv, 2, 0), i;
    if (argc < 1 || processes > 16) return 96;
    tether(argv[0]);
    for (i = 0; i < processes; i++)
        if (orphan()) {
            if (slice) burn_slices(slice, argv[0]);
            while (access(tether_path, F_OK) == 0) burn("user", 5000);
            _exit(0);
        }
    say("away\n");
    return linger();
}

/* MB in each of so many orphans, and none in the program itself. */
static int mode_tree_memory(int argc, char **argv) {
    long long mb = number(argc, argv, 1, 1), processes = number(argc, argv, 2, 1), i;
    if (argc < 1 || mb * processes > 512) return 96;
    tether(argv[0]);
    for (i = 0; i < processes; i++)
        if (orphan()) _exit(touch_memory(mb, MAP_PRIVATE) || linger());
    say("away\n");
    return linger();
}

/* Touches up to MB as fast as it goes and notes in FILE how far it came. */
static int mode_tree_grow(int argc, char **argv) {
    long long mb = number(argc, argv, 1, 256), i;
    int fd = open(word(argc, argv, 0, ""), O_RDWR);
    volatile long long *note;
    char *block;
    size_t page = 4096, size;
    if (fd < 0 || mb > 1024) return 96;
    size = (size_t)mb << 20;
    note = (volatile long long *)mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    block = (char *)map(size, MAP_PRIVATE);
    if (note == (volatile long long *)MAP_FAILED || !block) return 91;
    if (strcmp(word(argc, argv, 2, ""), "orphan") == 0 && !orphan()) return linger();
    for (i = 0; i < (long long)size; i += (long long)page) {
        block[i] = 1;
        *note = i + (long long)page;
    }
    sleep_ms(number(argc, argv, 3, 2000));
    return 0;
}

static long memory_kb(const char *label) {
    char line[128];
    long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, label, strlen(label)) == 0) kb = atol(line + strlen(label));
    if (file) fclose(file);
    return kb;
}

/* MB for MS; with barriers, from the time when all processes have theirs. Returns what it uses:
   with others what is its own, since libraries are in memory once. */
static long have_peak(size_t size, long long ms, const int *touched, const int *hold) {
    char *block = (char *)map(size, MAP_PRIVATE), byte = 1;
    long kb;
    if (!block) _exit(91);
    memset(block, 1, size);
    kb = memory_kb(touched ? "RssAnon:" : "VmHWM:");
    if (touched) {
        close(hold[1]);
        if (write(touched[1], &byte, 1) != 1 || read(hold[0], &byte, 1) != 0) _exit(93);
    }
    sleep_ms(ms);
    munmap(block, size);
    return kb;
}

/* After BEFORE ms each of PROCESSES has MB for MS; prints their sum in KB, and leaves AFTER ms. */
static int mode_tree_peak(int argc, char **argv) {
    size_t size = (size_t)number(argc, argv, 1, 1) << 20;
    long long ms = number(argc, argv, 2, 20), processes = number(argc, argv, 3, 1), i;
    int touched[2], hold[2], sum[2];
    long kb, all = 0;
    char byte;
    if (size * (size_t)processes > (size_t)512 << 20) return 96;
    if (pipe(touched) < 0 || pipe(hold) < 0 || pipe(sum) < 0) return 91;
    sleep_ms(number(argc, argv, 4, 0));
    if (strcmp(word(argc, argv, 0, "self"), "self") == 0) {
        all = have_peak(size, ms, NULL, NULL);
    } else {
        for (i = 0; i < processes; i++)
            if (spawn() == 0) {
                kb = have_peak(size, ms, touched, hold);
                _exit(write(sum[1], &kb, sizeof kb) != sizeof kb);
            }
        for (i = 0; i < processes; i++)
            if (read(touched[0], &byte, 1) != 1) return 93;
        close(hold[1]);
        for (i = 0; i < processes; i++)
            if (read(sum[0], &kb, sizeof kb) == sizeof kb) all += kb;
        all += memory_kb("VmHWM:");
    }
    printf("%ld\n", all);
    fflush(stdout);
    sleep_ms(number(argc, argv, 5, 0));
    return 0;
}

static void tell_link(const char *name) {
    char path[64], to[PATH_MAX];
    ssize_t size;
    snprintf(path, sizeof path, "/proc/self/%s", name);
    size = readlink(path, to, sizeof to - 1);
    to[size < 0 ? 0 : size] = 0;
    printf("%s %s\n", name, to);
}

static void tell_status(const char *const *labels) {
    char line[512];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *const *label;
        for (label = labels; *label; label++)
            if (strncmp(line, *label, strlen(*label)) == 0) printf("%s", line);
    }
    if (file) fclose(file);
}

/* All that an ordinary program can see of its surroundings and that no box should change. */
static int mode_tree_facts(int argc, char **argv) {
    static const char *const labels[] = {"Uid:", "Gid:", "CapInh:", "CapPrm:", "CapEff:", "CapAmb:",
                                         "NoNewPrivs:", "Seccomp:", "SigBlk:",
                                         "Cpus_allowed:", "Umask:", NULL};
    char path[PATH_MAX], name[64] = "";
    struct rlimit limit;
    struct stat root;
    char **at;
    int i;
    (void)argc, (void)argv;
    printf("ids %ld %ld %ld %ld\n", (long)getuid(), (long)geteuid(), (long)getgid(),
           (long)getegid());
    printf("cwd %s\n", getcwd(path, sizeof path) ? path : "?");
    printf("nice %d\n", getpriority(PRIO_PROCESS, 0));
    for (i = 0; i < 16; i++)
        if (i != RLIMIT_CORE && getrlimit((unsigned)i, &limit) == 0)
            printf("limit %d %llu %llu\n", i, (unsigned long long)limit.rlim_cur,
                   (unsigned long long)limit.rlim_max);
    if (stat("/", &root) == 0)
        printf("root %lld %lld\n", (long long)root.st_dev, (long long)root.st_ino);
    gethostname(name, sizeof name - 1);
    printf("host %s\n", name);
    for (i = 0; i < 3; i++) printf("terminal %d %d\n", i, isatty(i));
    for (at = environ; *at; at++) printf("env %s\n", *at);
#ifdef __linux__
    printf("dumpable %d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    printf("policy %d\n", sched_getscheduler(0));
    printf("slack %d\n", prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0));
    tell_link("exe");
    tell_link("cwd");
    tell_link("root");
    tell_link("ns/net");
    tell_link("ns/ipc");
    tell_link("ns/uts");
    tell_status(labels);
#endif
    return 0;
}

/* How it stands in its tree: pid, parent, what /proc says of itself, and who else is there. */
static int mode_tree_place(int argc, char **argv) {
    char self[64] = "", path[64], line[256] = "";
    ssize_t size = readlink("/proc/self", self, sizeof self - 1);
    FILE *file;
    int pid, others = 0;
    self[size < 0 ? 0 : size] = 0;
    (void)argc, (void)argv;
    printf("pid %ld parent %ld self %s\n", (long)getpid(), (long)getppid(), self);
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)getpid());
    file = fopen(path, "r");
    if (file && !fgets(line, sizeof line, file)) line[0] = 0;
    if (file) fclose(file);
    printf("stat %d\n", atoi(line));
    for (pid = 1; pid < 40000; pid++) { /* by number, so that kill's view is checked as well */
        if (pid != getpid() && (kill(pid, 0) == 0 || errno == EPERM)) others++;
    }
    printf("others %d\n", others);
#ifdef __linux__
    tell_link("ns/pid");
    tell_link("ns/user");
    tell_link("ns/mnt");
#endif
    return 0;
}

static void *sleep_in_thread(void *arg) {
    (void)arg;
    sleep_out_life();
    return NULL;
}

/* How many threads it can have beside its first; `nested`: from inside a new user namespace. */
static int mode_tree_threads(int argc, char **argv) {
    long long wanted = number(argc, argv, 0, 10), made = 0;
    pthread_attr_t small;
    pthread_t thread;
#ifdef __linux__
    if (argc > 1 && syscall(SYS_unshare, (long)CLONE_NEWUSER) < 0) return 95;
#endif
    if (wanted > 300 || pthread_attr_init(&small) || pthread_attr_setstacksize(&small, 65536))
        return 96;
    while (made < wanted && pthread_create(&thread, &small, sleep_in_thread, NULL) == 0) made++;
    printf("%lld\n", made);
    fflush(stdout);
    _exit(0);
}

/* 4 KiB of tables for every 2 MiB of the zero page that is looked at. */
static int mode_page_tables(int argc, char **argv) {
    size_t all = sizeof(void *) > 4 ? (size_t)1 << 36 : 0, at;
    volatile char sum = 0;
    const char *p = MAP_FAILED;
    (void)argc, (void)argv;
#ifdef MAP_NORESERVE
    if (all) p = mmap(NULL, all, PROT_READ, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
#endif
    if (p == MAP_FAILED) return 7;
#ifdef MADV_NOHUGEPAGE
    madvise((void *)(size_t)p, all, MADV_NOHUGEPAGE);
#endif
    for (at = 0; at < all; at += 2 << 20) sum = (char)(sum + p[at]);
    sleep(3);
    return 0;
}

/* ==== Attacks on a policy: `child policy SET ...` ============================================= */

#include "policy_child.c"

/* ==== Acts that a net of small tests needs: `child net ACT ...` =============================== */

#include "net_child.c"
#include "grace_child.c"

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
    /* misbehaviour */
    {"escape", mode_escape, "HOW TETHER [CODE|stay|crash [hold|close|flood]]: one gets away"},
    {"fork_bomb", mode_fork_bomb, "TETHER [LIVE [stay|leave [scatter]]]: forks all the time"},
    {"ignore", mode_ignore, "ignore|catch|block|leave [TETHER]: no signal ends it"},
    {"term", mode_term, "CODE: exits with it on SIGTERM"},
    {"tidy", mode_tidy, "[plain|setsid|stopped]: works for a moment on SIGTERM, then exits"},
    {"packets", mode_packets, "COUNT SIZE [BEFORE]: writes in packets"},
    {"held", mode_held, "CODE [setsid]: exits, but is held by a tracer"},
    {"stop", mode_stop, "self|again|children [TETHER [stay]]: stops itself or its children"},
    {"close_out", mode_close_out, "[MS [CODE]]: closes stdout and stderr and sleeps"},
    {"read_some", mode_read_some, "BYTES CODE|kill|close|stay [MS]: reads so much of stdin"},
    {"flood", mode_flood, "out|err|both [CHUNK [stubborn]]: writes without end"},
    {"burn", mode_burn, "user|system|chain PROCESSES MS [ignore]: spends CPU time"},
    {"memory", mode_memory,
     "own|shared|once|churn|relay|late|leaderless|mapped MB [PROCESSES [MS]]"},
    {"malloc", mode_malloc, "handled|quiet|unchecked [MB]: until malloc fails"},
    {"recurse", mode_recurse, "without end"},
    {"crash", mode_crash, "null|divide|abort|illegal|bus"},
    {"raise", mode_raise, "SIGNAL: sends it to itself"},
    {"open_many", mode_open_many, "COUNT: tells how many it could open"},
    {"fill_file", mode_fill_file, "PATH BYTES [default|ignore|quiet]: SIGXFSZ or not"},
    {"limits", mode_limits, "its rlimits: name, soft, hard"},
    {"signal", mode_signal, "group|host|all SIGNAL [PID|NAMESPACE]: 0 if somebody got it"},
    {"fds", mode_fds, "its open descriptors"},
    {"forge", mode_forge, "CODE [VALUE]: fake records into every descriptor but 1 and 2"},
    {"binary", mode_binary, "every byte value, on both streams"},
    {"tiocsti", mode_tiocsti, "types into the terminals it can reach"},
    {"thread", mode_thread, "exit|exec [stay]: its first thread ends, another one goes on"},
    {"ids", mode_ids, "pid, parent, group, session"},
    {"parent_env", mode_parent_env, "reads the environment of its parent"},
    /* ordinary ways, exactly told */
    {"touch", mode_touch, "PATH: makes the file"},
    {"stdin", mode_stdin, "null|pipe|file|terminal|closed, and the number of bytes to its end"},
    {"signals", mode_signals, "the signals it finds blocked or ignored"},
    {"family", mode_family, "TETHER COUNT CODE|stay [stubborn]: grandchildren hold its streams"},
    {"last_words", mode_last_words, "CODE [run|stop|read]: says TERM on SIGTERM; -1 = stays"},
    {"lines", mode_lines, "COUNT: numbered lines, to stdout and stderr in turn"},
    {"interleave", mode_interleave, "ROUNDS: 200,000 bytes to each stream, crosswise"},
    {"drip", mode_drip, "COUNT [both]: one-byte writes"},
    {"write_first", mode_write_first, "BYTES: writes them, then reads stdin and counts on stderr"},
    {"reserve", mode_reserve, "MB USED [MS [CODE]]: reserves much, uses little"},
    {"terminal", mode_terminal, "what it can read from stdin and /dev/tty"},
    {"processes", mode_processes, "COUNT: tells how many it could have at once"},
    /* whole trees: test_tree.c, test_watch.c, treesoak.c, test_cgroup.c */
    {"tree_bomb", mode_tree_bomb, "relay|spin|stay[+setsid+parent+stubborn] TETHER LIVE [MOST]"},
    {"tree_hostile", mode_tree_hostile, "HOW TETHER CODE|stay [HOST]: a descendant meddles"},
    {"tree_hide", mode_tree_hide, "tmpfs|fifo|fake|chroot MB [MS]: covers its /proc, uses memory"},
    {"tree_burn", mode_tree_burn, "TETHER PROCESSES [SLICE]: orphans that burn"},
    {"tree_memory", mode_tree_memory, "TETHER MB PROCESSES: orphans that use memory"},
    {"tree_grow", mode_tree_grow, "FILE MB [orphan [MS]]: touches memory at full speed"},
    {"tree_peak", mode_tree_peak, "self|children MB MS PROCESSES [BEFORE [AFTER]]"},
    {"tree_facts", mode_tree_facts, "what it can see of its surroundings"},
    {"tree_place", mode_tree_place, "its place in the tree"},
    {"tree_threads", mode_tree_threads, "COUNT [nested]: tells how many it could have"},
    {"page_tables", mode_page_tables, "much memory in page tables, and little in pages"},
    /* test_policy.c */
    {"policy", mode_policy, "SET ...: attacks on a policy (policy_child.c)"},
    {"net", mode_net, "ACT ...: see net_child.c"},
    {NULL, NULL, NULL},
};

static int mode_list(int argc, char **argv) {
    const struct mode *mode;
    (void)argc, (void)argv;
    for (mode = modes; mode->name; mode++) printf("%-16s %s\n", mode->name, mode->what);
    return 0;
}

static int run_mode(int argc, char **argv) {
    const struct mode *mode;
    for (mode = modes; argc > 0 && mode->name; mode++)
        if (strcmp(mode->name, argv[0]) == 0) return mode->run(argc - 1, argv + 1);
    fprintf(stderr, "usage: child MODE [arguments]; `child list` names the modes\n");
    return 99;
}

int main(int argc, char **argv) {
    program = argv[0];
    alarm(LIFE_SECONDS);
    return run_mode(argc - 1, argv + 1);
}
