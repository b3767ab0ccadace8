/* The host that is measured: sbx.h and, beside it, the same work written by hand.
   Usage: host MB CPUS TINY BARE (MB to grow by, CPUS to use: 0 = all; the programs to start) */
#define SBX_IMPLEMENTATION
#include "../../sbx.h"

#include "worker.h"

#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLOOD_MB    "256"
#define FLOOD_BYTES (256LL << 20)
#define MANY        1000
#define MORE        4000
#define TRIPS       1000

static char *tiny;
static char *tiny_argv[4], *bare_argv[2];
static char *const no_env[] = {NULL};

static char *const *tiny_with(const char *mode, const char *value) {
    tiny_argv[0] = tiny;
    tiny_argv[1] = (char *)mode;
    tiny_argv[2] = (char *)value;
    return tiny_argv;
}

/* ---- by hand: the least that runs a program and collects two streams ------------------------- */

typedef struct hand {
    char *const *argv;
    int out[2], err[2], pidfd;
    int in; /* 0 = the host's */
    int session; /* 1 = one of its own */
    pid_t pid;
} hand;

static int hand_child(void *arg) {
    hand *h = arg;
    if (h->in > 0) dup2(h->in, 0);
    if (h->session) setsid();
    if (h->out[1] >= 0) dup2(h->out[1], 1);
    if (h->err[1] >= 0) dup2(h->err[1], 2);
    execve(h->argv[0], h->argv, no_env);
    _exit(127);
}

static int hand_start(hand *h, int pipe_bytes) {
    static char stack[64 * 1024] __attribute__((aligned(16)));

    h->out[1] = h->err[1] = -1;
    if (pipe_bytes >= 0 && (pipe2(h->out, O_CLOEXEC) != 0 || pipe2(h->err, O_CLOEXEC) != 0))
        return -1;
    if (pipe_bytes > 0) fcntl(h->out[0], F_SETPIPE_SZ, pipe_bytes);
    h->pid = clone(hand_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD,
                   h, &h->pidfd);
    if (pipe_bytes >= 0) {
        close(h->out[1]);
        close(h->err[1]);
    }
    if (h->pid > 0) return 0;
    perror("clone");
    if (pipe_bytes >= 0) {
        close(h->out[0]);
        close(h->err[0]);
    }
    return -1;
}

static int hand_wait(hand *h) {
    struct rusage usage;
    int status;

    close(h->pidfd);
    return wait4(h->pid, &status, 0, &usage) == h->pid && status == 0 ? 0 : -1;
}

static double hand_collect(char *const *argv) {
    double start = worker_now();
    char out[4096], err[4096];
    int out_open = 1, err_open = 1, ended = 0, bytes = 0;
    hand h;

    h.in = h.session = 0;
    h.argv = argv;
    if (hand_start(&h, 0) != 0) return -1;
    while (out_open || err_open || !ended) {
        fd_set set;
        int max = h.pidfd;
        FD_ZERO(&set);
        if (out_open) FD_SET(h.out[0], &set);
        if (err_open) FD_SET(h.err[0], &set);
        if (!ended) FD_SET(h.pidfd, &set);
        if (select(max + 1, &set, NULL, NULL, NULL) < 0) return -1;
        if (out_open && FD_ISSET(h.out[0], &set)) {
            ssize_t n = read(h.out[0], out, sizeof out);
            bytes += n > 0 ? (int)n : 0;
            out_open = n > 0;
        }
        if (err_open && FD_ISSET(h.err[0], &set)) err_open = read(h.err[0], err, sizeof err) > 0;
        if (!ended && FD_ISSET(h.pidfd, &set)) ended = 1;
    }
    close(h.out[0]);
    close(h.err[0]);
    return hand_wait(&h) == 0 && bytes == 3 ? worker_now() - start : -1;
}

static double hand_tiny(void) {
    return hand_collect(tiny_with(NULL, NULL));
}

static double hand_bare(void) {
    return hand_collect(bare_argv);
}

/* Like most programs: linked with a shared C library. */
static char *const echo_argv[] = {(char *)"/bin/echo", (char *)"ok", NULL};

static double hand_echo(void) {
    return hand_collect(echo_argv);
}

/* A command that starts the program, found on PATH and started by the same loop. */
static double hand_through(const char *const *words) {
    static const char *const places[] = {"/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/",
                                         "/usr/local/bin/"};
    char path[64], *argv[12];
    size_t i, n = 0;

    for (i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s%s", places[i], words[0]);
        if (access(path, X_OK) == 0) break;
    }
    if (i == sizeof places / sizeof places[0]) return -2;
    argv[n++] = path;
    while (words[n] != NULL) {
        argv[n] = (char *)words[n];
        n++;
    }
    argv[n++] = tiny;
    argv[n] = NULL;
    return hand_collect(argv);
}

static double hand_bwrap(void) {
    static const char *const words[] = {"bwrap", "--unshare-pid", "--bind", "/", "/", NULL};
    return hand_through(words);
}

static double hand_bwrap_all(void) {
    static const char *const words[] = {"bwrap", "--unshare-all", "--ro-bind", "/", "/", NULL};
    return hand_through(words);
}

static double hand_timeout(void) {
    static const char *const words[] = {"timeout", "10", NULL};
    return hand_through(words);
}

static double hand_prlimit(void) {
    static const char *const words[] = {"prlimit", "--core=0", "--nofile=64", NULL};
    return hand_through(words);
}

static double hand_firejail(void) {
    static const char *const words[] = {"firejail", "--quiet", "--noprofile", NULL};
    return hand_through(words);
}

static double hand_minijail(void) {
    static const char *const words[] = {"minijail0", "-p", "-v", "-n", NULL};
    return hand_through(words);
}

/* Nothing but the program: no pipes, nothing collected. */
static double hand_quiet(void) {
    double start = worker_now();
    hand h;

    h.in = h.session = 0;
    h.argv = tiny_with("quiet", NULL);
    if (hand_start(&h, -1) != 0 || hand_wait(&h) != 0) return -1;
    return worker_now() - start;
}

static double hand_drain(void) {
    static char buffer[64 * 1024];
    double start = worker_now();
    long long total = 0;
    ssize_t n;
    hand h;

    h.in = h.session = 0;
    h.argv = tiny_with("flood", FLOOD_MB);
    if (hand_start(&h, 1 << 20) != 0) return -1;
    while ((n = read(h.out[0], buffer, sizeof buffer)) > 0) total += n;
    close(h.out[0]);
    close(h.err[0]);
    return hand_wait(&h) == 0 && total == FLOOD_BYTES ? worker_now() - start : -1;
}

/* Reads straight into a buffer that doubles. */
static double hand_capture_of(const char *megabytes, size_t expected) {
    double start = worker_now();
    size_t room = 1 << 20, size = 0;
    char *data = malloc(room);
    ssize_t n;
    hand h;

    h.in = h.session = 0;
    h.argv = tiny_with("flood", megabytes);
    if (data == NULL || hand_start(&h, 1 << 20) != 0) return -1;
    while ((n = read(h.out[0], data + size, room - size)) > 0) {
        size += (size_t)n;
        if (size == room) {
            room *= 2;
            data = realloc(data, room);
            if (data == NULL) return -1;
        }
    }
    free(data);
    close(h.out[0]);
    close(h.err[0]);
    return hand_wait(&h) == 0 && size == expected ? worker_now() - start : -1;
}

static double hand_capture(void) {
    return hand_capture_of(FLOOD_MB, FLOOD_BYTES);
}

static double hand_capture_1g(void) {
    return hand_capture_of("1024", 1u << 30);
}

/* ---- the ways of the C library --------------------------------------------------------------- */

static int collect(int out, int err) {
    struct pollfd fds[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
    char buffer[4096];
    int bytes = 0, open = 2, i;

    while (open > 0 && poll(fds, 2, -1) > 0)
        for (i = 0; i < 2; i++)
            if (fds[i].revents) {
                ssize_t n = read(fds[i].fd, buffer, sizeof buffer);
                if (n > 0) {
                    bytes += (int)n;
                } else {
                    fds[i].fd = -1;
                    open--;
                }
            }
    close(out);
    close(err);
    return bytes;
}

static double fork_exec(void) {
    double start = worker_now();
    int out[2], err[2], status, bytes;
    char *const *argv = tiny_with(NULL, NULL);
    pid_t pid;

    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) return -1;
    pid = fork();
    if (pid == 0) {
        dup2(out[1], 1);
        dup2(err[1], 2);
        execve(argv[0], argv, no_env);
        _exit(127);
    }
    close(out[1]);
    close(err[1]);
    bytes = collect(out[0], err[0]);
    return pid > 0 && waitpid(pid, &status, 0) == pid && bytes == 3 ? worker_now() - start : -1;
}

static double spawn_call(void) {
    double start = worker_now();
    posix_spawn_file_actions_t actions;
    int out[2], err[2], status, bytes, error;
    pid_t pid = -1;

    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    error = posix_spawn(&pid, tiny, &actions, NULL, tiny_with(NULL, NULL), no_env);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    close(err[1]);
    bytes = collect(out[0], err[0]);
    return error == 0 && waitpid(pid, &status, 0) == pid && bytes == 3 ? worker_now() - start : -1;
}

static double popen_call(void) {
    double start = worker_now();
    FILE *stream = popen(tiny, "r");
    char buffer[64];
    size_t n;

    if (stream == NULL) return -1;
    n = fread(buffer, 1, sizeof buffer, stream);
    return pclose(stream) == 0 && n == 3 ? worker_now() - start : -1;
}

/* ---- sbx.h ----------------------------------------------------------------------------------- */

static sbx_config plain(const char *mode, const char *value) {
    sbx_config config;
    memset(&config, 0, sizeof config);
    config.argv = (const char *const *)tiny_with(mode, value);
    config.contain = SBX_CONTAIN_GROUP;
    return config;
}

static double timed_run(const sbx_config *config, unsigned long long expected) {
    double start = worker_now();
    sbx_result result;
    int good;

    sbx_run(config, &result);
    good = result.verdict == SBX_OK && result.out.total == expected;
    if (!good) fprintf(stderr, "%s (%llu bytes)\n", result.message, result.out.total);
    sbx_free(&result);
    return good ? worker_now() - start : -1;
}

static double run_group(void) {
    sbx_config config = plain(NULL, NULL);
    return timed_run(&config, 3);
}

static double run_bare(void) {
    sbx_config config = plain(NULL, NULL);
    config.argv = (const char *const *)bare_argv;
    return timed_run(&config, 3);
}

static double run_echo(void) {
    sbx_config config = plain(NULL, NULL);
    config.argv = (const char *const *)echo_argv;
    return timed_run(&config, 3);
}

static double run_auto(void) {
    sbx_config config = plain(NULL, NULL);
    config.contain = SBX_CONTAIN_AUTO;
    return timed_run(&config, 3);
}

static double run_auto_bare(void) {
    sbx_config config = plain(NULL, NULL);
    config.argv = (const char *const *)bare_argv;
    config.contain = SBX_CONTAIN_AUTO;
    return timed_run(&config, 3);
}

static double run_policy(void) {
    sbx_config config = plain(NULL, NULL);
    sbx_policy policy;
    memset(&policy, 0, sizeof policy);
    config.contain = SBX_CONTAIN_TREE;
    config.policy = &policy;
    return timed_run(&config, 3);
}

static double run_policy_bare(void) {
    sbx_config config = plain(NULL, NULL);
    sbx_policy policy;
    memset(&policy, 0, sizeof policy);
    config.argv = (const char *const *)bare_argv;
    config.contain = SBX_CONTAIN_TREE;
    config.policy = &policy;
    return timed_run(&config, 3);
}

static double run_limits(void) {
    sbx_config config = plain(NULL, NULL);
    config.cpu_ms = 10000;
    config.memory_bytes = 256 << 20;
    config.file_bytes = 1 << 20;
    config.open_files = 64;
    config.stack_bytes = 8 << 20;
    return timed_run(&config, 3);
}

static double run_drain(void) {
    sbx_config config = plain("flood", FLOOD_MB);
    config.truncate_output = 1;
    return timed_run(&config, FLOOD_BYTES);
}

static double run_keep(int mode) {
    sbx_config config = plain("flood", "1024");
    config.truncate_output = mode;
    return timed_run(&config, 1LL << 30);
}

static double keep_ends(void) {
    return run_keep(SBX_KEEP_ENDS);
}

static double keep_first(void) {
    return run_keep(SBX_KEEP_FIRST);
}

static double run_capture_of(const char *megabytes, unsigned long long bytes) {
    sbx_config config = plain("flood", megabytes);
    config.output_bytes = 2 * (long long)bytes;
    return timed_run(&config, bytes);
}

static double run_capture(void) {
    return run_capture_of(FLOOD_MB, FLOOD_BYTES);
}

static double run_capture_1g(void) {
    return run_capture_of("1024", 1u << 30);
}

static double fail(const char *what, const sbx_result *result) {
    fprintf(stderr, "%s: %s\n", what, result->message);
    return -1;
}

static sbx *boxes[MORE];

static int start_boxes(const sbx_config *config, int count) {
    sbx_result result;
    int i;

    for (i = 0; i < count; i++) {
        boxes[i] = sbx_start(config, &result);
        if (boxes[i] == NULL) {
            fail("start", &result);
            sbx_free(&result);
            while (i-- > 0) {
                sbx_cancel(boxes[i]);
                sbx_finish(boxes[i], NULL);
            }
            return -1;
        }
    }
    return 0;
}

/* Waits for any one box of those that are left, and finishes it. */
static int finish_any(int *left) {
    sbx_result result;
    int i, good;

    do i = sbx_poll_any(boxes, *left, SBX_UNLIMITED);
    while (i < 0);
    good = sbx_finish(boxes[i], &result) == SBX_OK;
    if (!good) fail("finish", &result);
    sbx_free(&result);
    boxes[i] = boxes[--*left];
    return good ? 0 : -1;
}

/* All are started in a burst, then collected: the time per box. */
static double many_burst(int count) {
    double start = worker_now();
    sbx_config config = plain(NULL, NULL);
    int left = count, good = 1;

    if (start_boxes(&config, count) != 0) return -1;
    while (left > 0)
        if (finish_any(&left) != 0) good = 0;
    return good ? (worker_now() - start) / count : -1;
}

static double many_1000(void) {
    return many_burst(MANY);
}

/* One after the other, as many as take a while: the time per box. */
static double many_one(void) {
    double start = worker_now();
    sbx_config config = plain(NULL, NULL);
    int i;

    for (i = 0; i < 100; i++)
        if (timed_run(&config, 3) < 0) return -1;
    return (worker_now() - start) / i;
}

/* All wait for one byte from the same pipe; each byte written lets one go. The time from byte to
   finished box, the worst case for whoever looks at all boxes each time. */
static double many_in_turn(int count) {
    sbx_config config = plain("byte", NULL);
    int left = count, good = 1, gate[2];
    double start;

    if (pipe2(gate, O_CLOEXEC) != 0) return -1;
    config.in = SBX_FD;
    config.in_fd = gate[0];
    if (start_boxes(&config, count) != 0) return -1;
    sbx_poll_any(boxes, count, 300); /* each is looked at for the first time */
    start = worker_now();
    while (left > 0)
        if (write(gate[1], "x", 1) != 1 || finish_any(&left) != 0) good = 0;
    close(gate[0]);
    close(gate[1]);
    return good ? (worker_now() - start) / count : -1;
}

/* The same by hand: every child's pipes and pidfd in one epoll. */
static double hand_in_turn(int count) {
    static hand h[MORE];
    char *const *argv = tiny_with("byte", NULL);
    int left = count, gate[2], set = epoll_create1(EPOLL_CLOEXEC), i, k;
    struct epoll_event event;
    char buffer[4096];
    double start;

    if (set < 0 || pipe2(gate, O_CLOEXEC) != 0) return -1;
    for (i = 0; i < count; i++) {
        h[i].argv = argv;
        h[i].in = gate[0];
        h[i].session = 1;
        if (hand_start(&h[i], 0) != 0) return -1;
        event.events = EPOLLIN;
        for (k = 0; k < 3; k++) {
            event.data.u64 = (unsigned long long)i * 4 + (unsigned)k;
            epoll_ctl(set, EPOLL_CTL_ADD, k == 0 ? h[i].out[0] : k == 1 ? h[i].err[0] : h[i].pidfd,
                      &event);
        }
    }

    start = worker_now();
    while (left > 0) {
        int pieces = 3; /* of the one that ends: two streams and itself */
        if (write(gate[1], "x", 1) != 1) return -1;
        while (pieces > 0) {
            if (epoll_wait(set, &event, 1, -1) != 1) return -1;
            i = (int)(event.data.u64 / 4);
            k = (int)(event.data.u64 % 4);
            if (k < 2 && read(k ? h[i].err[0] : h[i].out[0], buffer, sizeof buffer) > 0) continue;
            if (k == 2 && hand_wait(&h[i]) != 0) return -1;
            if (k < 2) close(k ? h[i].err[0] : h[i].out[0]);
            pieces--;
        }
        left--;
    }
    start = (worker_now() - start) / count;
    close(gate[0]);
    close(gate[1]);
    close(set);
    return start;
}

static int has_files(int count) {
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur > (rlim_t)count;
}

static double hand_turn_1000(void) {
    return hand_in_turn(MANY);
}

static double hand_turn_4000(void) {
    return has_files(5 * MORE - 1000) ? hand_in_turn(MORE) : -2;
}

static double turn_1000(void) {
    return many_in_turn(MANY);
}

/* It needs four descriptors for each. */
static double turn_4000(void) {
    return has_files(5 * MORE - 1000) ? many_in_turn(MORE) : -2;
}

static double turn_10(void) {
    return many_in_turn(10);
}

/* What one sbx_poll(box, 0) costs a host that asks `count` times, `pause_us` apart. */
static double poll_box(sbx_contain contain, long long memory_bytes, int count,
                       useconds_t pause_us) {
    sbx_config config = plain("byte", NULL);
    sbx_result result;
    double us = 0;
    int i, ended = 0, gate[2];
    sbx *box;

    if (pipe2(gate, O_CLOEXEC) != 0) return -1;
    config.in = SBX_FD;
    config.in_fd = gate[0];
    config.contain = contain;
    config.memory_bytes = memory_bytes;
    box = sbx_start(&config, &result);
    if (box == NULL) return fail("start", &result);
    sbx_poll(box, 20);
    for (i = 0; i < count; i++) {
        double start = worker_now();
        ended |= sbx_poll(box, 0);
        us += worker_now() - start;
        if (pause_us > 0) usleep(pause_us);
    }
    close(gate[0]);
    close(gate[1]);
    return sbx_finish(box, NULL) == SBX_OK && !ended ? us / count : -1;
}

static double poll_quiet(void) {
    return poll_box(SBX_CONTAIN_AUTO, 0, 1000, 0);
}

static double poll_frames(void) {
    return poll_box(SBX_CONTAIN_AUTO, 1 << 30, 10, 16667);
}

static double poll_frames_group(void) {
    return poll_box(SBX_CONTAIN_GROUP, 1 << 30, 10, 16667);
}

/* ---- watching -------------------------------------------------------------------------------- */

/* By how many MB `count` processes, which grow as fast as they can, get past their common limit. */
static double overshoot(const char *count) {
    sbx_config config = plain("grow", count);
    int pass[2] = {-1, -1};
    sbx_result result;
    long long total = 0;

    pass[0] = (int)syscall(SYS_memfd_create, "total", SBX__MFD_CLOEXEC);
    if (pass[0] < 0 || ftruncate(pass[0], 4096) != 0) return -1;
    config.contain = SBX_CONTAIN_AUTO;
    config.pass_fds = pass;
    config.memory_bytes = 256 << 20;
    sbx_run(&config, &result);
    if (pread(pass[0], &total, sizeof total, 0) != (ssize_t)sizeof total) return -1;
    close(pass[0]);
    if (result.verdict != SBX_MEMORY_LIMIT) return fail("grow", &result);
    sbx_free(&result);
    total -= config.memory_bytes;
    return total > 0 ? (double)total / (1 << 20) : 0;
}

static double overshoot_20(void) {
    return overshoot("20");
}

static double overshoot_200(void) {
    return overshoot("200");
}

static double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Per cent of a CPU that the host needs to watch 200 processes which do nothing. */
static double watch_crowd(sbx_contain contain) {
    sbx_config config = plain("idle", "200");
    sbx_usage usage;
    double cpu, wall;
    int gate[2], i;
    sbx *box;

    if (pipe2(gate, O_CLOEXEC) != 0) return -1;
    config.in = SBX_FD;
    config.in_fd = gate[0];
    config.contain = contain;
    config.memory_bytes = 1LL << 30;
    config.timeout_ms = 60000;
    box = sbx_start(&config, NULL);
    if (box == NULL) return -1;
    usage.processes = 0;
    for (i = 0; i < 100 && usage.processes < 200; i++) {
        sbx_poll(box, 50);
        sbx_get_usage(box, &usage);
    }
    sbx_poll(box, 500); /* they have come to rest */
    wall = worker_now();
    cpu = cpu_now();
    sbx_poll(box, 1000);
    cpu = cpu_now() - cpu;
    wall = worker_now() - wall;
    close(gate[0]);
    close(gate[1]);
    return sbx_finish(box, NULL) == SBX_OK && i < 100 ? 100 * cpu / wall : -1;
}

static double watch_200(void) {
    return watch_crowd(SBX_CONTAIN_AUTO);
}

static double watch_200_group(void) {
    return watch_crowd(SBX_CONTAIN_GROUP);
}

/* ---- a conversation: a byte to cat and back, time per round trip ----------------------------- */

static double ping_by_hand(int session) {
    char *argv[] = {(char *)"/bin/cat", NULL};
    int in[2], i, status;
    double start, us = -1;
    char byte = 'x';
    hand h;

    if (pipe2(in, O_CLOEXEC) != 0) return -1;
    h.argv = argv;
    h.in = in[0];
    h.session = session;
    if (hand_start(&h, 0) != 0) return -1;
    close(in[0]);
    start = worker_now();
    for (i = 0; i < TRIPS; i++) {
        struct pollfd fds[2] = {{h.out[0], POLLIN, 0}, {h.err[0], POLLIN, 0}};
        if (write(in[1], &byte, 1) != 1 || poll(fds, 2, -1) <= 0) break;
        if (read(h.out[0], &byte, 1) != 1) break;
    }
    if (i == TRIPS) us = (worker_now() - start) / TRIPS;
    close(in[1]);
    close(h.out[0]);
    close(h.err[0]);
    close(h.pidfd);
    return waitpid(h.pid, &status, 0) == h.pid ? us : -1;
}

static double ping_hand(void) {
    return ping_by_hand(0);
}

static double ping_session(void) {
    return ping_by_hand(1);
}

static double ping_sbx(void) {
    static const char *const argv[] = {"/bin/cat", NULL};
    sbx_config config = plain(NULL, NULL);
    double start, us = -1;
    long long n = 0;
    char byte = 'x';
    int i;
    sbx *box;

    config.argv = argv;
    config.in = SBX_PIPE;
    box = sbx_start(&config, NULL);
    if (box == NULL) return -1;
    start = worker_now();
    for (i = 0; i < TRIPS && n >= 0; i++) {
        if (sbx_write(box, &byte, 1) != 1) break;
        while ((n = sbx_read(box, SBX_STDOUT, &byte, 1)) == 0) sbx_poll(box, SBX_UNLIMITED);
    }
    if (i == TRIPS && n == 1) us = (worker_now() - start) / TRIPS;
    return sbx_finish(box, NULL) == SBX_OK ? us : -1;
}

/* ---- a function in a child ------------------------------------------------------------------- */

static int fill(void *arg, void *ret, size_t ret_size) {
    memset(ret, *(int *)arg, ret_size);
    return 0;
}

static sbx_nursery *nursery; /* opened before this process grows */

static double call_from(sbx_nursery *from) {
    double start = worker_now();
    sbx_config config;
    sbx_result result;
    char ret[64];
    int value = 7, good;

    memset(&config, 0, sizeof config);
    config.contain = SBX_CONTAIN_GROUP;
    config.nursery = from;
    config.arg_size = from != NULL ? sizeof value : 0;
    good = sbx_call(&config, fill, &value, ret, sizeof ret, &result) == SBX_OK && ret[63] == 7;
    if (!good) fail("call", &result);
    sbx_free(&result);
    return good ? worker_now() - start : -1;
}

static double call_sbx(void) {
    return call_from(NULL);
}

static double call_nursery(void) {
    return nursery != NULL ? call_from(nursery) : -2;
}

static double call_floor(void) {
    char ret[64] = "";
    int value = 7;
    double us = floor_call(fill, &value, ret, sizeof ret);
    return ret[63] == 7 ? us : -1;
}

static double call_zygote(void) {
    char ret[64] = "";
    int value = 7;
    double us = floor_zygote_call(&value, sizeof value, ret, sizeof ret);
    return ret[63] == 7 ? us : -1;
}

static double call_hand(void) {
    double start = worker_now();
    char ret[64];
    int value = 7, status, result[2];
    ssize_t n;
    pid_t pid;

    if (pipe2(result, O_CLOEXEC) != 0) return -1;
    pid = fork();
    if (pid == 0) {
        fill(&value, ret, sizeof ret);
        _exit(write(result[1], ret, sizeof ret) == sizeof ret ? 0 : 1);
    }
    close(result[1]);
    n = read(result[0], ret, sizeof ret);
    close(result[0]);
    return pid > 0 && waitpid(pid, &status, 0) == pid && n == sizeof ret && ret[63] == 7
               ? worker_now() - start
               : -1;
}

/* ---- the lower bounds: see floor.h ----------------------------------------------------------- */

static double floor_group_tiny(void) {
    return floor_collect(FLOOR_GROUP, tiny_with(NULL, NULL));
}

static double floor_group_bare(void) {
    return floor_collect(FLOOR_GROUP, bare_argv);
}

static double floor_tree_tiny(void) {
    return floor_collect(FLOOR_TREE, tiny_with(NULL, NULL));
}

static double floor_tree_bare(void) {
    return floor_collect(FLOOR_TREE, bare_argv);
}

static double floor_policy_tiny(void) {
    return floor_collect(FLOOR_POLICY, tiny_with(NULL, NULL));
}

/* ---------------------------------------------------------------------------------------------- */

static const operation operations[] = {
    {"floor-group", floor_group_tiny},
    {"floor-group-bare", floor_group_bare},
    {"floor-tree", floor_tree_tiny},
    {"floor-tree-bare", floor_tree_bare},
    {"floor-policy", floor_policy_tiny},
    {"floor-call", call_floor},
    {"zygote", call_zygote},
    {"overshoot-20", overshoot_20},
    {"overshoot-200", overshoot_200},
    {"watch-200", watch_200},
    {"watch-200-group", watch_200_group},
    {"call-nursery", call_nursery},
    {"hand", hand_tiny},
    {"hand-echo", hand_echo},
    {"run-echo", run_echo},
    {"run-policy-bare", run_policy_bare},
    {"capture-1g", run_capture_1g},
    {"hand-capture-1g", hand_capture_1g},
    {"hand-turn-1000", hand_turn_1000},
    {"hand-turn-4000", hand_turn_4000},
    {"hand-bare", hand_bare},
    {"hand-quiet", hand_quiet},
    {"bwrap", hand_bwrap},
    {"bwrap-all", hand_bwrap_all},
    {"timeout", hand_timeout},
    {"prlimit", hand_prlimit},
    {"firejail", hand_firejail},
    {"minijail0", hand_minijail},
    {"hand-drain", hand_drain},
    {"hand-capture", hand_capture},
    {"hand-call", call_hand},
    {"fork", fork_exec},
    {"posix_spawn", spawn_call},
    {"popen", popen_call},
    {"run", run_group},
    {"run-bare", run_bare},
    {"run-auto", run_auto},
    {"run-auto-bare", run_auto_bare},
    {"run-policy", run_policy},
    {"run-limits", run_limits},
    {"drain", run_drain},
    {"capture", run_capture},
    {"many", many_1000},
    {"one", many_one},
    {"turn-1000", turn_1000},
    {"turn-4000", turn_4000},
    {"turn-10", turn_10},
    {"hand-ping", ping_hand},
    {"hand-ping-session", ping_session},
    {"ping", ping_sbx},
    {"keep-ends", keep_ends},
    {"keep-first", keep_first},
    {"poll", poll_quiet},
    {"poll-frames", poll_frames},
    {"poll-frames-group", poll_frames_group},
    {"call", call_sbx},
};

/* The last so many of the CPUs: the first ones have more of the machine's own work to do. */
static int use_cpus(int count) {
    cpu_set_t all, set;
    int cpu;

    if (count <= 0) return 0;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof all, &all) != 0) return -1;
    for (cpu = CPU_SETSIZE - 1; cpu >= 0 && count > 0; cpu--)
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &set);
            count--;
        }
    return sched_setaffinity(0, sizeof set, &set);
}

int main(int argc, char **argv) {
    struct rlimit files;

    if (argc != 5 || use_cpus(atoi(argv[2])) != 0) return 2;
    nursery = sbx_nursery_open(NULL);
    if (floor_zygote_open(fill, sizeof(int), 64) != 0 || worker_grow(atol(argv[1])) != 0) return 2;
    tiny = argv[3];
    bare_argv[0] = argv[4];
    getrlimit(RLIMIT_NOFILE, &files); /* a thousand boxes need thousands of descriptors */
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    return worker_main(operations, sizeof(operations) / sizeof(operations[0]));
}
