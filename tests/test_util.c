/* The helpers that test.h declares. */
#include "test.h"

#include <dirent.h>
#include <grp.h>
#include <sys/utsname.h>
#ifdef __linux__
#include <sys/prctl.h>
#ifndef PR_GET_NO_NEW_PRIVS
#define PR_GET_NO_NEW_PRIVS 39
#endif
#endif

extern char **environ;

#define HANG_SECONDS 30

/* ==== Text ==================================================================================== */

const char *test_text(const char *format, ...) {
    static char ring[16][2048];
    static unsigned next;
    char *text = ring[next++ % 16];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof ring[0], format, args);
    va_end(args);
    return text;
}

const char *test_lacks(const char *text, const char *part) {
    const char *bar = part ? strchr(part, '|') : NULL;
    if (!part || strstr(text, part)) return "";
    if (bar && (strstr(text, bar + 1) || strstr(text, test_text("%.*s", (int)(bar - part), part))))
        return "";
    return test_text("'%s' is not in: %s", part, text);
}

/* ==== Which machine, which program ============================================================ */

int test_kernel_keeps_status(void) {
    struct utsname name;
    int major = 0, minor = 0;
    if (test_is_portable() || uname(&name) < 0) return 0;
    if (sscanf(name.release, "%d.%d", &major, &minor) != 2) return 0;
    return major > 6 || (major == 6 && minor >= 15); /* PIDFD_GET_INFO tells the exit status */
}

static const char *program_path; /* argv[0] of the test program, if test_init was called */

void test_init(const char *argv0) { program_path = argv0; }

const char *test_child(void) {
    static char path[PATH_MAX];
    char own[PATH_MAX];
    const char *from_env = getenv("SBX_TEST_CHILD");
    char *slash;
    ssize_t size;
    if (path[0]) return path;
    if (from_env && *from_env) {
        if (!realpath(from_env, path)) snprintf(path, sizeof path, "%s", from_env);
        return path;
    }
    size = readlink("/proc/self/exe", own, sizeof own - 1);
    if (size > 0)
        own[size] = 0;
    else if (!program_path || !realpath(program_path, own))
        snprintf(own, sizeof own, "./x");
    slash = strrchr(own, '/');
    snprintf(path, sizeof path, "%.*s/child", (int)(slash ? slash - own : 0), own);
    return path;
}

/* ==== The host ================================================================================ */

static int read_fd(int fd, test_fd *to) {
    struct stat about;
    memset(to, 0, sizeof *to);
    to->fd = fd;
    to->fd_flags = fcntl(fd, F_GETFD);
    if (to->fd_flags < 0) return 0;
    to->file_flags = fcntl(fd, F_GETFL);
    if (fstat(fd, &about) == 0) to->device = about.st_dev, to->inode = about.st_ino;
    return 1;
}

static int list_fds(test_fd *list, int max) {
    DIR *dir = opendir("/proc/self/fd");
    test_fd one;
    int count = 0, fd;
    if (dir) {
        struct dirent *entry;
        while ((entry = readdir(dir)) != NULL) {
            fd = atoi(entry->d_name);
            if (entry->d_name[0] == '.' || fd == dirfd(dir) || !read_fd(fd, &one)) continue;
            if (count++ < max) list[count - 1] = one;
        }
        closedir(dir);
    } else { /* no /proc, or no descriptor left to read it */
        long limit = sysconf(_SC_OPEN_MAX);
        if (limit < 0 || limit > 65536) limit = 65536;
        for (fd = 0; fd < limit; fd++)
            if (read_fd(fd, &one) && count++ < max) list[count - 1] = one;
    }
    return count;
}

int test_count_fds(void) { return list_fds(NULL, 0); }

int test_has_children(void) {
    siginfo_t info;
    int options = WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT;
    return !(waitid(P_ALL, 0, &info, options) < 0 && errno == ECHILD);
}

static unsigned long hash_env(void) {
    unsigned long hash = 5381;
    char **at;
    const char *c;
    for (at = environ; at && *at; at++) {
        for (c = *at; *c; c++) hash = hash * 33 + (unsigned char)*c;
        hash = hash * 33 + (unsigned long)(size_t)*at;
    }
    return hash;
}

static const struct {
    int which;
    const char *name;
} limits[] = {
    {RLIMIT_CORE, "RLIMIT_CORE"},     {RLIMIT_CPU, "RLIMIT_CPU"},
    {RLIMIT_DATA, "RLIMIT_DATA"},     {RLIMIT_FSIZE, "RLIMIT_FSIZE"},
    {RLIMIT_STACK, "RLIMIT_STACK"},   {RLIMIT_NOFILE, "RLIMIT_NOFILE"},
    {RLIMIT_AS, "RLIMIT_AS"},
#ifdef RLIMIT_NPROC
    {RLIMIT_NPROC, "RLIMIT_NPROC"},
#endif
};
#define LIMITS (int)(sizeof limits / sizeof *limits)

void test_host_save(test_host *host) {
    int i;
    memset(host, 0, sizeof *host);
    sigprocmask(SIG_BLOCK, NULL, &host->mask);
    sigpending(&host->pending);
    for (i = 1; i < TEST_SIGNALS; i++) sigaction(i, NULL, &host->actions[i]);
    host->fd_count = list_fds(host->fds, TEST_FDS);
    if (!getcwd(host->cwd, sizeof host->cwd)) host->cwd[0] = 0;
    host->env = environ;
    host->env_hash = hash_env();
    host->umask_bits = umask(0);
    umask(host->umask_bits);
    host->group = getpgrp();
    host->session = getsid(0);
    host->uid = geteuid();
    host->gid = getegid();
#ifdef __linux__
    host->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_GET_CHILD_SUBREAPER, &host->subreaper, 0, 0, 0);
    prctl(PR_GET_PDEATHSIG, &host->parent_death, 0, 0, 0);
    host->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
#endif
    for (i = 0; i < LIMITS; i++) getrlimit((unsigned)limits[i].which, &host->limits[i]);
    host->has_children = test_has_children();
}

static const char *signals_diff(const test_host *a, const test_host *b) {
    int i;
    for (i = 1; i < TEST_SIGNALS; i++) {
        if (sigismember(&a->mask, i) != sigismember(&b->mask, i))
            return test_text("signal %d: blocked %d, was %d", i, sigismember(&b->mask, i),
                             sigismember(&a->mask, i));
        if (i != SIGCHLD && sigismember(&a->pending, i) != sigismember(&b->pending, i))
            return test_text("signal %d: pending %d, was %d", i, sigismember(&b->pending, i),
                             sigismember(&a->pending, i));
        if (a->actions[i].sa_handler != b->actions[i].sa_handler ||
            a->actions[i].sa_flags != b->actions[i].sa_flags)
            return test_text("signal %d has another disposition", i);
    }
    return "";
}

static const char *fds_diff(const test_host *a, const test_host *b) {
    int i, n = a->fd_count < b->fd_count ? a->fd_count : b->fd_count;
    for (i = 0; i < n && i < TEST_FDS; i++) {
        const test_fd *x = &a->fds[i], *y = &b->fds[i];
        if (x->fd != y->fd)
            return test_text("descriptor %d is %s (%d open, %d before)",
                             x->fd < y->fd ? x->fd : y->fd, x->fd < y->fd ? "closed" : "new",
                             b->fd_count, a->fd_count);
        if (x->fd_flags != y->fd_flags || x->file_flags != y->file_flags)
            return test_text("descriptor %d: flags %x/%x, were %x/%x", x->fd,
                             (unsigned)y->fd_flags, (unsigned)y->file_flags,
                             (unsigned)x->fd_flags, (unsigned)x->file_flags);
        if (x->device != y->device || x->inode != y->inode)
            return test_text("descriptor %d is another file", x->fd);
    }
    if (a->fd_count != b->fd_count)
        return test_text("%d descriptors open, %d before", b->fd_count, a->fd_count);
    return "";
}

const char *test_host_diff(const test_host *a) {
    test_host b;
    const char *text;
    int i;
    test_host_save(&b);
    if (*(text = signals_diff(a, &b)) || *(text = fds_diff(a, &b))) return text;
    if (strcmp(a->cwd, b.cwd)) return test_text("directory %s, was %s", b.cwd, a->cwd);
    if (a->env != b.env || a->env_hash != b.env_hash) return "the environment changed";
    if (a->umask_bits != b.umask_bits) return "the umask changed";
    if (a->group != b.group || a->session != b.session) return "the host's group changed";
    if (a->uid != b.uid || a->gid != b.gid) return "the host's user changed";
    if (a->dumpable != b.dumpable) return test_text("dumpable %d, was %d", b.dumpable, a->dumpable);
    if (a->subreaper != b.subreaper) return "the host became a subreaper";
    if (a->parent_death != b.parent_death) return "the host got a parent-death signal";
    if (a->no_new_privs != b.no_new_privs) return "the host got no_new_privs";
    for (i = 0; i < LIMITS; i++)
        if (a->limits[i].rlim_cur != b.limits[i].rlim_cur ||
            a->limits[i].rlim_max != b.limits[i].rlim_max)
            return test_text("the host's %s changed", limits[i].name);
    if (!a->has_children && b.has_children) return "a child (or zombie) of the host is left";
    return "";
}

/* ==== Running ================================================================================= */

static const char *output_flaw(const char *name, const sbx_output *o, int streamed) {
    if (!o->data) return test_text("%s.data is NULL", name);
    if (o->data[o->size] != 0) return test_text("%s.data is not followed by a NUL", name);
    if (o->size > o->total) return test_text("%s.size is past %s.total", name, name);
    if (streamed && o->size > 0) return test_text("%s was kept", name);
    if (o->truncated && o->gap > o->size) return test_text("%s.gap is past its end", name);
    if (!streamed && !o->truncated != (o->size == o->total))
        return test_text("%s.truncated is %d: %llu bytes kept of %llu", name, o->truncated,
                         (unsigned long long)o->size, o->total);
    return "";
}

const char *test_result_flaw(const sbx_config *config, const sbx_result *r) {
    const char *text;
    long long cap = config ? config->output_bytes : 0;
    if (*(text = output_flaw("out", &r->out, config && config->out == SBX_STREAM)) ||
        *(text = output_flaw("err", &r->err, config && config->err == SBX_STREAM)))
        return text;
    if (cap == 0) cap = 1024 * 1024;
    if (cap > 0 && config && config->error_bytes > 0 && config->error_bytes <= SBX_MAX_BYTES)
        cap += config->error_bytes;
    if (cap > 0 && r->out.size + r->err.size > (unsigned long long)cap)
        return test_text("%llu bytes kept, the cap is %lld",
                         (unsigned long long)(r->out.size + r->err.size), cap);
    if (!memchr(r->message, 0, sizeof r->message)) return "message has no end";
    if (!r->message[0] || strchr(r->message, '\n')) return "message is empty or not one line";
    if ((r->verdict == SBX_NOT_STARTED) != (r->step != SBX_STEP_NONE) && r->step != SBX_STEP_BUILD)
        return test_text("verdict %d with step %d", (int)r->verdict, (int)r->step);
    if (r->exit_code < -1 || r->exit_code > 255) return test_text("exit code %d", r->exit_code);
    if (r->signal < 0) return test_text("signal %d", r->signal);
    if (r->exit_code >= 0 && r->signal) return "both exit code and signal";
    if (r->verdict == SBX_OK && (r->exit_code != 0 || r->signal)) return "ok, but not exit 0";
    if (r->verdict == SBX_EXITED && r->exit_code <= 0) return "exited, but without a code";
    if (r->verdict == SBX_CRASHED && !r->signal) return "crashed, but without a signal";
    if (r->certain != 0 && r->certain != 1) return test_text("certain = %d", r->certain);
    if (r->wall_us < 0 || r->user_us < 0 || r->system_us < 0) return "a time is negative";
    if (r->peak_bytes < -1 || r->peak_bytes == 0) return "peak_bytes is neither known nor -1";
    if (config && r->user != config->user) return "user did not come back";
    return "";
}

static long long late_ms;

long long test_late_ms(void) { return late_ms; }

const char *test_run(const sbx_config *config, sbx_result *result) {
    test_host before;
    long long start;
    sbx_verdict verdict;
    const char *text;
    struct itimerval timer;
    long blocks = test_live_blocks();
    int guard;
    test_host_save(&before);
    getitimer(ITIMER_REAL, &timer); /* a test with a timer of its own keeps it */
    guard = !timer.it_value.tv_sec && !timer.it_value.tv_usec;
    if (guard) alarm(HANG_SECONDS);
    start = test_now_ms();
    verdict = sbx_run(config, result);
    late_ms = test_now_ms() - start - result->wall_us / 1000;
    if (guard) alarm(0);
    if (*(text = test_host_diff(&before))) return text;
    if (late_ms < -2 && test_clock_skew_ms == 0)
        return test_text("wall_us = %lld is %lld ms more than it took", result->wall_us, -late_ms);
    if (verdict != result->verdict)
        return test_text("returned %d, but result.verdict is %d", (int)verdict,
                         (int)result->verdict);
    if (test_live_blocks() > blocks + (result->out.size > 0) + (result->err.size > 0))
        return test_text("%ld blocks are still allocated", test_live_blocks() - blocks);
    return test_result_flaw(config, result);
}

const char *test_run_in_sight(const sbx_config *config, sbx_result *result, int weighed) {
    const char *flaw = test_run(config, result);
    int tries;
    for (tries = 0; tries < 20 && !*flaw; tries++) {
        if (!(result->evidence & SBX_SAW_BLIND) && (!weighed || result->peak_bytes >= 0)) break;
        sbx_free(result);
        test_sleep_ms(50 * tries); /* others may be filling huge pages, which blurs all peaks */
        flaw = test_run(config, result);
    }
    return flaw;
}

const char *test_run_ready(sbx_config *config, const char *word, sbx_result *result) {
    for (;;) {
        const char *flaw = test_run(config, result);
        if (*flaw || config->timeout_ms > 5000) return flaw;
        if (result->out.size > 0 && strncmp(result->out.data, word, strlen(word)) == 0) return "";
        sbx_free(result);
        config->timeout_ms *= 3;
    }
}

/* In functions that return a value there can be no EXPECT: the macros may contain `return;`. */
static void expect_no_flaw(int *utest_result, const char *flaw) { EXPECT_STREQ("", flaw); }

static void expect_timed_out(int *utest_result, const sbx_result *result) {
    EXPECT_EQ((int)SBX_TIMED_OUT, (int)result->verdict);
}

sbx_result test_run_child(int *utest_result, sbx_config *config, const char *const *argv) {
    sbx_result result;
    const char *flaw;
    config->argv = argv;
    flaw = test_run(config, &result);
    expect_no_flaw(utest_result, flaw);
    return result;
}

sbx_result test_run_child_late(int *utest_result, sbx_config *config, const char *said,
                               const char *const *argv) {
    sbx_result result;
    const char *flaw;
    config->argv = argv;
    flaw = test_run_late(config, said, &result);
    expect_no_flaw(utest_result, flaw);
    expect_timed_out(utest_result, &result);
    return result;
}

const char *test_runs_as(sbx_config *config, const char *const *argv, sbx_verdict verdict) {
    sbx_result result;
    const char *flaw;
    config->argv = argv;
    if (*(flaw = test_run(config, &result))) return flaw;
    if (result.verdict != verdict)
        flaw = test_text("%s %s: %s", argv[0], argv[1] ? argv[1] : "", result.message);
    sbx_free(&result);
    return flaw;
}

const sbx_contain test_both[2] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};

char test_pattern(size_t n) { return (char)('a' + (n * 7 + n / 251) % 26); }

const char *test_pattern_flaw(const sbx_output *output, size_t size, size_t period) {
    size_t i;
    if (output->size != size) return test_text("%zu bytes, not %zu", output->size, size);
    for (i = 0; i < size; i++)
        if (output->data[i] != test_pattern(i % period)) return test_text("byte %zu is wrong", i);
    return "";
}

int test_fn_nothing(void *arg, void *ret, size_t ret_size) {
    (void)arg, (void)ret;
    return ret_size == 0 ? 0 : 1;
}

int test_fn_seven(void *arg, void *ret, size_t size) {
    (void)arg, (void)size;
    *(int *)ret = 7;
    return 0;
}

int test_fn_sevens(void *arg, void *ret, size_t size) {
    (void)arg;
    memset(ret, 7, size);
    return 0;
}

int test_fn_length(void *arg, void *ret, size_t ret_size) {
    char text[8];
    (void)arg, (void)ret_size;
    *(int *)ret = (int)read(0, text, sizeof text);
    return write(1, "out", 3) == 3 && write(2, "err", 3) == 3 ? 0 : 1;
}

static void wait_in_copy(pid_t pid, int *status, int *hung) {
    long long end = test_now_ms() + HANG_SECONDS * 1000;
    pid_t got;
    *hung = 0;
    while ((got = waitpid(pid, status, WNOHANG)) != pid) {
        if (got < 0 && errno != EINTR) return;
        if (test_now_ms() > end) {
            *hung = 1;
            kill(-pid, SIGKILL);
            kill(pid, SIGKILL);
            waitpid(pid, status, 0);
            return;
        }
        test_sleep_ms(1);
    }
}

const char *test_in_copy(const char *(*function)(void *arg), void *arg) {
    char text[2048];
    int fds[2], status = 0, hung, high;
    ssize_t size;
    pid_t pid;
    fflush(NULL);
    if (pipe(fds) < 0) return test_text("pipe: %s", strerror(errno));
    high = fcntl(fds[1], F_DUPFD, 10); /* out of the way of functions that close 0 to 2 */
    close(fds[1]);
    fcntl(fds[0], F_SETFD, FD_CLOEXEC);
    fcntl(high, F_SETFD, FD_CLOEXEC);
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    pid = fork();
    if (pid == 0) {
        const char *answer;
        setpgid(0, 0);
        close(fds[0]);
        answer = function(arg);
        if (write(high, answer, strlen(answer) + 1) < 0) _exit(98);
        _exit(0);
    }
    close(high);
    if (pid < 0) {
        close(fds[0]);
        return test_text("fork: %s", strerror(errno));
    }
    wait_in_copy(pid, &status, &hung);
    size = read(fds[0], text, sizeof text - 1);
    close(fds[0]);
    if (hung) return "hung";
    if (WIFSIGNALED(status)) return test_text("killed by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) || size <= 0) return test_text("exited with %d", WEXITSTATUS(status));
    text[size] = 0;
    return test_text("%s", text);
}

typedef struct user_copy {
    const char *(*function)(void *arg);
    void *arg;
} user_copy;

static const char *as_user(void *arg) {
    const user_copy *copy = (const user_copy *)arg;
    if (geteuid() == 0) {
        uid_t id = 100000 + (uid_t)getpid() % 100000;
        if (setgroups(0, NULL) < 0 || setgid((gid_t)id) < 0 || setuid(id) < 0)
            return "skip: root cannot become an ordinary user here";
#ifdef __linux__
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* else /proc/self is root's */
#endif
        if (access(test_child(), X_OK) < 0) return "skip: the child is out of reach of others";
    }
    return copy->function(copy->arg);
}

const char *test_as_user(const char *(*function)(void *arg), void *arg) {
    user_copy copy;
    copy.function = function;
    copy.arg = arg;
    return test_in_copy(as_user, &copy);
}

/* ==== Waiting, time, files ==================================================================== */

long long test_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

long long test_host_cpu_us(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (long long)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

void test_sleep_ms(long long ms) {
    struct timespec time;
    time.tv_sec = (time_t)(ms / 1000);
    time.tv_nsec = (long)(ms % 1000) * 1000000;
    while (nanosleep(&time, &time) < 0 && errno == EINTR) {
    }
}

int test_wait_until(int (*condition)(void *arg), void *arg, long long ms) {
    long long end = test_now_ms() + (ms ? ms : 20000);
    while (!condition(arg)) {
        if (test_now_ms() > end) return 0;
        test_sleep_ms(2);
    }
    return 1;
}

int test_flag(int *f) { return __sync_add_and_fetch(f, 0); }
void test_raise_flag(int *f) { __sync_add_and_fetch(f, 1); }

int test_alive(pid_t pid) {
    char path[64], line[512];
    const char *state;
    FILE *file;
    if (kill(pid, 0) < 0 && errno == ESRCH) return 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    file = fopen(path, "r");
    if (!file) return kill(pid, 0) == 0 || errno != ESRCH;
    if (!fgets(line, sizeof line, file)) line[0] = 0;
    fclose(file);
    state = strrchr(line, ')');
    return state && state[1] && state[2] != 'Z' && state[2] != 'X';
}

const char *test_tmpdir(char *path) {
    const char *base = getenv("TMPDIR");
    char real[PATH_MAX];
    if (!base || !*base || access(base, W_OK | X_OK) < 0 || !realpath(base, real) ||
        strlen(real) > 200)
        snprintf(real, sizeof real, "/tmp");
    snprintf(path, PATH_MAX, "%.200s/sbx-test-XXXXXX", real);
    if (!mkdtemp(path)) {
        perror(path);
        exit(1);
    }
    return path;
}

void test_remove_tree(const char *path) {
    char inner[PATH_MAX];
    struct dirent *entry;
    DIR *dir;
    if (unlink(path) == 0 || errno == ENOENT) return;
    chmod(path, 0700);
    dir = opendir(path);
    while (dir && (entry = readdir(dir)) != NULL) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < (int)sizeof inner)
            test_remove_tree(inner);
    }
    if (dir) closedir(dir);
    rmdir(path);
}

const char *test_write_file(const char *dir, const char *name, const void *data, size_t size,
                            mode_t mode) {
    const char *path = test_text("%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || fchmod(fd, mode) < 0) {
        perror(path);
        exit(1);
    }
    close(fd);
    return path;
}

const char *test_copy_of_child(const char *dir, const char *name) {
    static char chunk[1 << 16];
    const char *path = test_text("%s/%s", dir, name);
    int from = open(test_child(), O_RDONLY | O_CLOEXEC);
    int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    ssize_t n;
    while ((n = read(from, chunk, sizeof chunk)) > 0)
        if (write(to, chunk, (size_t)n) != n) return "";
    close(from);
    close(to);
    return n == 0 ? path : "";
}

int test_tether_open(test_tether *tether) {
    test_tmpdir(tether->dir);
    snprintf(tether->path, sizeof tether->path, "%s/tether", tether->dir);
    if (mkfifo(tether->path, 0600) < 0) return 0;
    tether->fd = open(tether->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    /* a pipe reports that nobody has it open only after somebody had */
    close(open(tether->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    return tether->fd >= 0 && !test_tether_held(tether);
}

int test_tether_held(const test_tether *tether) {
    struct pollfd one;
    one.fd = tether->fd;
    one.events = POLLIN;
    one.revents = 0;
    poll(&one, 1, 0);
    return !(one.revents & POLLHUP);
}

long test_tether_lines(const test_tether *tether) {
    char chunk[4096];
    long lines = 0;
    ssize_t size, i;
    while ((size = read(tether->fd, chunk, sizeof chunk)) > 0)
        for (i = 0; i < size; i++) lines += chunk[i] == '\n';
    return lines;
}

static int tether_is_free(void *tether) { return !test_tether_held((const test_tether *)tether); }

int test_tether_close(test_tether *tether) {
    int gone;
    unlink(tether->path);
    gone = test_wait_until(tether_is_free, tether, 0);
    close(tether->fd);
    test_remove_tree(tether->dir);
    return gone;
}

/* ==== Allocations of the header =============================================================== */

/* Counted without a lock: a forked child may call these while another thread of the host did. */
static long fail_in, allocations, live_blocks;
static size_t largest_block;

void test_fail_allocation(long nth) {
    allocations = 0;
    largest_block = 0;
    fail_in = nth;
}

long test_allocations(void) { return __sync_add_and_fetch(&allocations, 0); }
long test_live_blocks(void) { return __sync_add_and_fetch(&live_blocks, 0); }
size_t test_largest_block(void) { return __sync_add_and_fetch(&largest_block, 0); }

void *test_realloc(void *block, size_t size) {
    size_t before;
    void *result;
    long nth = __sync_add_and_fetch(&allocations, 1);
    if (fail_in && nth == fail_in) return NULL;
    do before = __sync_add_and_fetch(&largest_block, 0);
    while (size > before && !__sync_bool_compare_and_swap(&largest_block, before, size));
    result = realloc(block, size ? size : 1);
    if (result && !block) __sync_add_and_fetch(&live_blocks, 1);
    return result;
}

void test_free(void *block) {
    if (!block) return;
    __sync_sub_and_fetch(&live_blocks, 1);
    free(block);
}
