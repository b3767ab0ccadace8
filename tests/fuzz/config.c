/* Bytes -> config -> run: it is refused by name, or it runs; the host stays as it was. Whatever the
 * bytes ask for, the program is a harmless one and its time is short. */
#include "fuzz.h"

#include <dirent.h>

static int count_descriptors(void) {
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir)) count++;
    if (dir) closedir(dir);
    return count;
}

static int nobody_is_left(void) {
    int status = 0;
    pid_t pid = waitpid(-1, &status, WNOHANG | SBX__WALL);
    if (pid < 0 && errno == ECHILD) return 1;
    fprintf(stderr, "child %d, status %x\n", (int)pid, (unsigned)status);
    return 0;
}

static long long pick(bytes *b) {
    static const long long values[] = {0,
                                       1,
                                       -1,
                                       -2,
                                       100,
                                       4096,
                                       1 << 20,
                                       1 << 26,
                                       1 << 30,
                                       1LL << 40,
                                       1LL << 62,
                                       0x7FFFFFFFFFFFFFFFLL,
                                       -0x7FFFFFFFFFFFFFFFLL};
    unsigned k = take(b, 40);
    if (k < sizeof values / sizeof *values) return values[k];
    return k < 30 ? 0 : (long long)take(b, 1000000);
}

static int keep_going(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)user;
    PROMISE(stream == SBX_STDOUT || stream == SBX_STDERR);
    PROMISE(data && size);
    return 0;
}

static const char *const programs[][4] = {
    {"true", NULL}, {"echo", "hello", NULL}, {"cat", NULL}, {"/nowhere", NULL},
    {"", NULL},     {"false", NULL},         {"/", NULL},   {"head", "-c", "70000", "/dev/zero"},
};

static void fill(sbx_config *c, sbx_policy *p, bytes *b, char *text, size_t room) {
    static const char *const envs[][3] = {
        {NULL}, {"A=1", NULL}, {"A", "B=", NULL}, {"=", NULL}, {"", "A=1", NULL}};
    static const char *const trees[][2] = {
        {NULL}, {"/tmp", NULL}, {"/nowhere", NULL}, {"relative", NULL}, {"", NULL}};
    static const char *args[5];
    unsigned k = take(b, 12);
    memset(c, 0, sizeof *c);
    memset(p, 0, sizeof *p);
    if (k < 8) {
        memcpy(args, programs[k], sizeof programs[k]);
        args[4] = NULL;
        c->argv = args;
    } else if (k < 10) c->command = k == 8 ? "exit 3" : "echo a; echo b >&2; sleep 5 & exit 0";
    k = take(b, 16);
    if (k == 1) c->cwd = "/";
    if (k == 2) c->cwd = "/nowhere";
    if (k == 3) c->cwd = "";
    if (k > 10) c->env = envs[k - 11];
    c->inherit_env = (int)take(b, 3);
    k = take(b, 8);
    if (k == 1) c->input = text, c->input_size = room;
    if (k == 2) c->input = text;
    if (k == 3) c->input_size = 5;
    c->in = (sbx_io)(take(b, 24) % 9);
    if (c->in == SBX_INHERIT) c->in = SBX_DISCARD; /* the fuzzer's own is not to be read */
    c->out = (sbx_io)(take(b, 24) % 9);
    c->err = (sbx_io)(take(b, 24) % 9);
    if (c->out == SBX_INHERIT) c->out = SBX_DISCARD;
    if (c->err == SBX_INHERIT) c->err = SBX_DISCARD;
    c->in_fd = (int)take(b, 300) - 2;
    c->out_fd = c->err_fd = 999;
    if (take(b, 4) == 1) c->on_output = keep_going;
    c->timeout_ms = (long long)take(b, 80) - 2; /* bounded: see below */
    c->grace_ms = (long long)take(b, 40) - 2;
    c->output_bytes = pick(b);
    c->truncate_output = (int)take(b, 6) - 1;
    c->cpu_ms = pick(b);
    c->memory_bytes = pick(b);
    c->address_space_bytes = pick(b);
    c->file_bytes = pick(b);
    c->open_files = pick(b);
    c->processes = pick(b);
    c->stack_bytes = pick(b);
    c->contain = (sbx_contain)take(b, 5);
    if (take(b, 4) == 1) {
        c->policy = p;
        k = take(b, 10);
        if (k < 5) p->read = trees[k];
        k = take(b, 10);
        if (k < 5) p->write = trees[k];
        p->no_system = (int)take(b, 3);
        p->allow_network = (int)take(b, 3);
        p->deny_spawn = (int)take(b, 3);
        p->kill_on_denied = (int)take(b, 3);
    }
    if (take(b, 16) == 1) c->cgroup = "/nowhere";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char text[5000];
    bytes b;
    sbx_config c, ceiling;
    sbx_policy p;
    sbx_result r;
    sbx_verdict verdict;
    int before = count_descriptors();
    b.data = data;
    b.size = size;
    fill(&c, &p, &b, text, take(&b, sizeof text));
    memset(&ceiling, 0, sizeof ceiling);
    if (c.timeout_ms == -1 || c.timeout_ms == 0) { /* no limit, or half a minute: not here */
        ceiling.timeout_ms = 500;
        sbx_clamp(&c, &ceiling);
        PROMISE(c.timeout_ms <= 500);
    }
    memset(&r, 0xAA, sizeof r);
    verdict = sbx_run(&c, &r);

    PROMISE(verdict == r.verdict && (int)verdict >= 0 && verdict <= SBX_LOST);
    PROMISE(r.certain == 0 || r.certain == 1);
    PROMISE(r.message[0] && memchr(r.message, 0, sizeof r.message));
    PROMISE(r.out.data && r.err.data && !r.out.data[r.out.size] && !r.err.data[r.err.size]);
    PROMISE(r.out.size <= r.out.total && r.err.size <= r.err.total);
    PROMISE((verdict == SBX_NOT_STARTED) == (r.step != SBX_STEP_NONE));
    if (verdict == SBX_OK) PROMISE(r.exit_code == 0 && r.signal == 0);
    if (verdict == SBX_EXITED) PROMISE(r.exit_code > 0 && r.signal == 0);
    if (verdict == SBX_CRASHED) PROMISE(r.exit_code == -1 && r.signal > 0);
    if (r.wall_us >= 0 && verdict != SBX_NOT_STARTED) PROMISE(r.wall_us < 20000000);
    sbx_free(&r);
    sbx_free(&r);
    PROMISE(count_descriptors() == before);
    PROMISE(nobody_is_left());
    return 0;
}
