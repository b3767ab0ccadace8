/* A small host, one scenario at a time, that knows what its program does and so whether the box
 * tells the truth: host SCENARIO DIRECTORY [OPTION=VALUE...]. inject.c runs it, makes its system
 * calls fail, and looks at what is left of it. It prints a line for each flaw, and nothing else.
 *
 *   alloc=K      the K-th allocation of the header fails
 *   nofile=K, nproc=K, as=BYTES, fsize=BYTES      its limits
 *   storm=1      a timer interrupts it a thousand times a second
 *   filter=K     it stands under a filter such as containers have
 *   short=1      what fails is a shortage: no reason to contain less
 *   taken=1      an exit status is taken away: SBX_LOST is true
 *   learn=1      what the program prints is what it should print from now on
 *
 * Exit codes: 0 no flaw, 1 flaws, 77 the scenario does not exist here. */
#include <stddef.h>

static void *counted_realloc(void *block, size_t size);
static void counted_free(void *block);

#define SBX_REALLOC counted_realloc
#define SBX_FREE counted_free
#define SBX_IMPLEMENTATION
#include "../../sbx.h"

#include "filters.h"
#include "marks.h"

#include <malloc.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static sbx_config config;
static const char *dir; /* marks, expectations, tmp/ */
static char expect[700]; /* what the program of this scenario prints */
static char program[600];
static int option_short, option_taken, option_learn, option_storm;
static int is_limited; /* the host's own limits bind the program, too: it may fail for them */

/* ==== Allocations ============================================================================= */

static long live_blocks, allocations, failing_allocation;

static void *counted_realloc(void *block, size_t size) {
    void *fresh;
    if (++allocations == failing_allocation) return NULL;
    fresh = realloc(block, size);
    if (fresh && !block) live_blocks++;
    return fresh;
}

static void counted_free(void *block) {
    if (block) live_blocks--;
    free(block);
}

/* ==== Judging ================================================================================= */

static int flaws;

static void flaw(const char *what, const sbx_result *r) {
    char line[600];
    int n = snprintf(line, sizeof line, "%s [%s%s, exit %d, signal %d, step %d, errno %d: %s]\n",
                     what, sbx_verdict_name(r->verdict), r->certain ? ", certain" : "",
                     r->exit_code, r->signal, (int)r->step, r->sys_errno, r->message);
    flaws++;
    if (write(1, line, (size_t)n) != n) _exit(2);
}

typedef struct truth {
    sbx_verdict verdict;
    int code; /* of its exit */
    unsigned asked; /* SBX_BY_... bits that must be in force if it ran */
    unsigned either; /* ... and one of these */
    const char *out; /* what it writes; NULL = as learned before */
    size_t out_size, err_size;
    int is_long; /* it does not end soon by itself */
    int text; /* what it writes to stdout counts */
} truth;

static int as_learned(const sbx_result *r) {
    char text[1000];
    ssize_t n = -1;
    int fd = open(expect, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) n = read(fd, text, sizeof text);
    if (fd >= 0) close(fd);
    return n == (ssize_t)r->out.size && memcmp(text, r->out.data, r->out.size) == 0;
}

static void learn(const sbx_result *r) {
    int fd = open(expect, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, r->out.data, r->out.size) != (ssize_t)r->out.size)
        flaw("what it prints cannot be noted", r);
    if (fd >= 0) close(fd);
}

static int said_all(const sbx_result *r, const truth *t) {
    if (config.truncate_output) return r->out.truncated && r->out.size <= t->out_size;
    if (t->out_size || t->err_size) return r->out.size == t->out_size && r->err.size == t->err_size;
    if (t->out) return strcmp(r->out.data, t->out) == 0;
    return !t->text || as_learned(r);
}

static int is_true(const sbx_result *r, const truth *t) {
    /* One that takes long by itself: a busy machine may need longer than the time-out. */
    if (t->is_long && r->verdict == SBX_TIMED_OUT && r->wall_us >= config.timeout_ms * 1000)
        return 1;
    if (r->verdict != t->verdict) return 0;
    return (r->verdict != SBX_EXITED && r->verdict != SBX_OK) || r->exit_code == t->code;
}

static void judge(const sbx_result *r, const truth *t, int marks) {
    int by_itself = r->verdict == SBX_OK || r->verdict == SBX_EXITED;
    int excused = is_limited && r->verdict != SBX_OK; /* the program met the host's own limits */
    if (option_learn && t->text) learn(r);
    if (!r->message[0]) flaw("no message", r);
    if (marks > 1) flaw("it ran more than once", r);
    if (r->verdict == SBX_NOT_STARTED) {
        if (marks > 0) flaw("it ran, though the box says that nothing ran", r);
        if (r->step == SBX_STEP_NONE) flaw("no step tells where the start failed", r);
        return;
    }
    if ((r->enforced & t->asked) != t->asked || (t->either && !(r->enforced & t->either)))
        flaw("less was in force than was asked for", r);
    if (r->verdict == SBX_LOST && option_taken) return;
    if (!r->certain) {
        if (r->verdict == SBX_OK && marks == 0) flaw("ok, but it never ran", r);
        return;
    }
    if (marks == 0 && (by_itself || r->verdict == SBX_DENIED) && !excused) flaw("it never ran", r);
    if (!is_true(r, t) && !excused) flaw("a certain verdict that is not true", r);
    else if (by_itself && !excused && !said_all(r, t))
        flaw("certain, but output is missing or wrong", r);
}

/* ==== Scenarios =============================================================================== */

static long marker(long kind, long a, long b, long c, unsigned long d) {
    return syscall(MARKER, kind, a, b, c, d);
}

static const char *argv[5];
static sbx_policy policy;
static const char *writable[2];

static void use(const char *mode, const char *code) {
    argv[0] = program;
    argv[1] = mode;
    argv[2] = dir;
    argv[3] = code;
    config.argv = argv;
}

static truth plain(sbx_verdict verdict, int code) {
    truth t;
    memset(&t, 0, sizeof t);
    t.verdict = verdict;
    t.code = code;
    t.asked = SBX_BY_SESSION | SBX_BY_RLIMIT_CORE;
    t.text = verdict == SBX_OK || verdict == SBX_EXITED;
    return t;
}

/* Between the two markers is nothing but the header. */
static void end_of_run(const sbx_result *r, const truth *t) {
    sbx_result copy = *r;
    marker(MARK_END, copy.verdict, copy.certain, allocations, copy.enforced);
    judge(&copy, t, take_marks(dir));
    sbx_free(&copy);
    if (live_blocks) flaw("allocations are left", r);
}

static void run(const truth *t) {
    sbx_result r;
    marker(MARK_BEGIN, 0, 0, 0, 0);
    sbx_run(&config, &r);
    end_of_run(&r, t);
}

static void group(void) {
    truth t = plain(SBX_EXITED, 3);
    use("state", "3");
    config.contain = SBX_CONTAIN_GROUP;
    run(&t);
}

static void limits(void) {
    truth t = plain(SBX_OK, 0);
    use("limits", "0");
    config.contain = SBX_CONTAIN_GROUP;
    config.cwd = "/";
    config.cpu_ms = 20000;
    config.address_space_bytes = 1LL << 30;
    config.file_bytes = 1 << 20;
    config.open_files = 40;
    config.stack_bytes = 4 << 20;
    if (geteuid() != 0) config.processes = 1000;
    t.asked |= SBX_BY_RLIMIT_AS | SBX_BY_RLIMIT_FSIZE | SBX_BY_RLIMIT_NOFILE | SBX_BY_RLIMIT_STACK;
    t.either = SBX_BY_WATCH | SBX_BY_RLIMIT_CPU;
    run(&t);
}

static void shell(void) {
    static char line[700];
    truth t = plain(SBX_EXITED, 3);
    snprintf(line, sizeof line, "'%s' state '%s' 3", program, dir);
    config.command = line;
    config.contain = SBX_CONTAIN_GROUP;
    run(&t);
}

static void tree(void) {
    truth t = plain(SBX_EXITED, 3);
    use("daemon", "3");
    config.contain = SBX_CONTAIN_TREE;
    t.asked |= SBX_BY_TREE;
    run(&t);
}

static void automatic(void) {
    truth t = plain(SBX_OK, 0);
    use("state", "0");
    config.memory_bytes = 1LL << 30;
    if (option_short) t.asked |= SBX_BY_TREE;
    run(&t);
}

static void use_policy(truth *t) {
    writable[0] = dir;
    policy.write = writable;
    config.policy = &policy;
    t->asked |= SBX_BY_TREE | SBX_BY_SECCOMP | SBX_BY_NO_NEW_PRIVS;
}

static void under_policy(void) {
    truth t = plain(SBX_OK, 0);
    use("world", "0");
    use_policy(&t);
    run(&t);
}

static void denied(void) {
    truth t = plain(SBX_DENIED, 0);
    use("denied", "0");
    use_policy(&t);
    policy.kill_on_denied = 1;
    run(&t);
}

static void timeout(void) {
    truth t = plain(SBX_TIMED_OUT, 0);
    use("stubborn", "0");
#ifdef SBX_NO_LINUX
    use("echo", "0");
    config.in = SBX_INHERIT;
#endif
    config.timeout_ms = 80;
    config.grace_ms = 20;
#ifndef SBX_NO_LINUX
    if (option_short) t.asked |= SBX_BY_TREE;
#endif
    run(&t);
}

static void cap(void) {
    truth t = plain(SBX_OUTPUT_LIMIT, 0);
    use("flood", "0");
    config.contain = SBX_CONTAIN_GROUP;
    config.output_bytes = 100000;
    run(&t);
}

static void truncated(void) {
    truth t = plain(SBX_OK, 0);
    use("loud", "0");
    config.contain = SBX_CONTAIN_GROUP;
    config.err = SBX_MERGE;
    config.output_bytes = 1000;
    config.truncate_output = 1;
    t.out_size = 1000;
    run(&t);
}

static void loud(void) {
    truth t = plain(SBX_OK, 0);
    use("loud", "0");
    config.contain = SBX_CONTAIN_GROUP;
    t.out_size = 200000;
    t.err_size = 100000;
    run(&t);
}

static char bytes[300000];

static void input(void) {
    truth t = plain(SBX_OK, 0);
    size_t i;
    for (i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 7 + i / 1000);
    use("count", "0");
    config.contain = SBX_CONTAIN_GROUP;
    config.input = bytes;
    config.input_size = sizeof bytes;
    run(&t);
}

static void memory(void) {
    truth t = plain(SBX_MEMORY_LIMIT, 0);
    use("hog", "0");
    config.memory_bytes = 16 << 20;
    config.grace_ms = -1;
    t.either = SBX_BY_WATCH | SBX_BY_RLIMIT_AS;
    t.is_long = 1;
    run(&t);
}

static void processor(void) {
    truth t = plain(SBX_CPU_LIMIT, 0);
    use("burn", "0");
    config.cpu_ms = 60;
    config.grace_ms = -1;
    t.is_long = 1;
    t.either = SBX_BY_WATCH | SBX_BY_RLIMIT_CPU;
    run(&t);
}

static void in_cgroup(void) {
    truth t = plain(SBX_OK, 0);
    const char *delegated = getenv("SBX_TEST_CGROUP");
    if (!delegated || !*delegated) _exit(77);
    use("state", "0");
    config.cgroup = delegated;
    config.memory_bytes = 1LL << 30;
    t.asked |= SBX_BY_CGROUP;
    run(&t);
}

/* A box beside the host: a line goes in, comes back, and then it is cancelled. */
static void handle(void) {
    truth t = plain(SBX_CANCELLED, 0);
    sbx_result r;
    sbx *box;
    use("echo", "0");
    config.in = SBX_PIPE;
    config.contain = SBX_CONTAIN_GROUP;
    config.grace_ms = 100;
    t.out = "hello\n";

    marker(MARK_BEGIN, 0, 0, 0, 0);
    box = sbx_start(&config, &r);
    if (box) {
        int i;
        for (i = 0; i < 100 && sbx_write(box, "hello\n", 6) == 0; i++) sbx_poll(box, 10);
        sbx_poll(box, 50);
        sbx_cancel(box);
        sbx_finish(box, &r);
    }
    end_of_run(&r, &t);
}

/* A box that is dropped while it floods, and one that ends by itself, both in trees. */
static void two(void) {
    truth t = plain(SBX_EXITED, 3);
    sbx_result r, second;
    sbx *box[2];
    int i, ended = 0;
    use("state", "3");
    config.in = SBX_PIPE;
#ifndef SBX_NO_LINUX
    config.contain = SBX_CONTAIN_TREE;
    t.asked |= SBX_BY_TREE;
#endif

    marker(MARK_BEGIN, 0, 0, 0, 0);
    box[0] = sbx_start(&config, &r);
    config.command = "while :; do echo x; done";
    config.argv = NULL;
    config.grace_ms = -1;
    box[1] = sbx_start(&config, &second);
    for (i = 0; i < 1000 && box[0] && !ended; i++) ended = sbx_poll_any(box, 2, 20) == 0;
    if (box[1]) {
        sbx_cancel(box[1]);
        sbx_finish(box[1], &second);
    }
    if (box[0]) sbx_finish(box[0], &r);
    if (box[1] && second.certain && second.verdict != SBX_CANCELLED &&
        second.verdict != SBX_OUTPUT_LIMIT && !is_limited)
        flaw("the second box: a certain verdict that is not true", &second);
    sbx_free(&second);
    end_of_run(&r, &t);
}

/* A dialogue: what comes back is taken out of the box, and then it is killed. */
static void dialogue(void) {
    truth t = plain(SBX_CANCELLED, 0);
    char line[20];
    long long written = 0;
    size_t size = 0;
    sbx_usage usage;
    sbx_result r;
    sbx *box;
    int i, died = 0;
    use("echo", "0");
    config.in = SBX_PIPE;
    config.contain = SBX_CONTAIN_GROUP;
    config.timeout_ms = 9000;

    marker(MARK_BEGIN, 0, 0, 0, 0);
    box = sbx_start(&config, &r);
    if (box) {
        for (i = 0; i < 100 && written >= 0 && written < 6; i++) {
            long long n = sbx_write(box, "hello\n" + written, 6 - (size_t)written);
            written = n < 0 ? -1 : written + n;
            if (n == 0) sbx_poll(box, 10);
        }
        for (i = 0; i < 400 && size < 6 && written == 6 && !died; i++) {
            long long n = sbx_read(box, SBX_STDOUT, line + size, sizeof line - size);
            if (n > 0) size += (size_t)n;
            else died = n < 0 || sbx_poll(box, 20);
        }
        sbx_get_usage(box, &usage);
        sbx_set_timeout(box, 4000);
        sbx_signal(box, 0);
        sbx_kill(box);
        sbx_finish(box, &r);
        if (written == 6 && size < 6 && r.sys_errno == 0 &&
            !strstr(r.message, "not all of its output") && !is_limited)
            flaw("what was written did not come back", &r);
    }
    end_of_run(&r, &t);
}

static size_t streamed;

static int count_bytes(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)user, (void)stream, (void)data;
    streamed += size;
    return 0;
}

static void stream(void) {
    truth t = plain(SBX_OK, 0);
    sbx_result r;
    use("loud", "0");
    config.contain = SBX_CONTAIN_GROUP;
    config.out = config.err = SBX_STREAM;
    config.on_output = count_bytes;
    t.text = 0;

    marker(MARK_BEGIN, 0, 0, 0, 0);
    sbx_run(&config, &r);
    if (r.verdict == SBX_OK && r.certain && streamed != 300000)
        flaw("ok, but bytes are missing", &r);
    end_of_run(&r, &t);
}

static void ends(void) {
    truth t = plain(SBX_OK, 0);
    use("loud", "0");
    config.contain = SBX_CONTAIN_GROUP;
    config.output_bytes = 50000;
    config.error_bytes = 300;
    config.truncate_output = SBX_KEEP_ENDS;
    t.out_size = 50000;
    run(&t);
}

static void group_policy(void) {
    truth t = plain(SBX_OK, 0);
    use("world", "0");
    use_policy(&t);
    t.asked = (t.asked & ~SBX_BY_TREE) | SBX_BY_LANDLOCK;
    config.contain = SBX_CONTAIN_GROUP;
    run(&t);
}

static int function(void *arg, void *ret, size_t size) {
    int fails;
    marker(MARK_FUNCTION, 0, 0, 0, 0);
    fails = *(int *)arg;
    leave_mark(dir);
    memset(ret, 42, size);
    marker(MARK_FUNCTION_END, 0, 0, 0, 0);
    if (fails) sbx_fail("it says so");
    return 0;
}

static char answer[5000];

static void call(int fails, truth *t) {
    sbx_result r;
    size_t i, right = 0;
    marker(MARK_BEGIN, 0, 0, 0, 0);
    sbx_call(&config, function, &fails, answer, sizeof answer, &r);
    for (i = 0; i < sizeof answer; i++) right += answer[i] == 42;
    if (r.verdict == SBX_OK && right != sizeof answer) flaw("ok, but without the result", &r);
    if (r.verdict != SBX_OK && right) flaw("a result without ok", &r);
    t->text = 0;
    end_of_run(&r, t);
}

/* The same beside the host. */
static void call_beside(void) {
    truth t = plain(SBX_OK, 0);
    int fails = 0;
    sbx_result r;
    sbx *box;
    config.contain = SBX_CONTAIN_GROUP;
    t.text = 0;

    marker(MARK_BEGIN, 0, 0, 0, 0);
    box = sbx_start_call(&config, function, &fails, answer, sizeof answer, &r);
    if (box) {
        sbx_poll(box, 2);
        sbx_finish(box, &r);
    }
    if (r.verdict == SBX_OK && answer[sizeof answer - 1] != 42)
        flaw("ok, but without the result", &r);
    end_of_run(&r, &t);
}

static void call_tree(void) {
    truth t = plain(SBX_OK, 0);
    config.contain = SBX_CONTAIN_TREE;
    t.asked |= SBX_BY_TREE;
    call(0, &t);
}

static void call_group(void) {
    truth t = plain(SBX_NO_RESULT, 1);
    config.contain = SBX_CONTAIN_GROUP;
    call(1, &t);
}

static void call_policy(void) {
    truth t = plain(SBX_OK, 0);
    use_policy(&t);
    call(0, &t);
}

/* A function that finds zeros in place of a secret, and may not write files. */
static void call_secret(void) {
    static char secret[3 * 4096 + 100];
    static const sbx_range list[] = {{secret, sizeof secret}, {NULL, 0}};
    truth t = plain(SBX_OK, 0);
    config.contain = SBX_CONTAIN_GROUP;
    config.secrets = list;
    config.file_bytes = 1;
    memset(secret, 1, sizeof secret);
    call(0, &t);
}

/* Functions from a process that was forked before. */
static void call_nursery_in(sbx_contain contain) {
    truth t = plain(SBX_OK, 0);
    int fails = 0;
    sbx_result r;
    config.contain = contain;
    config.arg_size = sizeof fails;
    t.text = 0;
    if (contain == SBX_CONTAIN_TREE) t.asked |= SBX_BY_TREE;

    marker(MARK_BEGIN, 0, 0, 0, 0);
    config.nursery = sbx_nursery_open(&r);
    if (config.nursery) {
        sbx_call(&config, function, &fails, answer, sizeof answer, &r);
        sbx_nursery_close(config.nursery);
    }
    if (r.verdict == SBX_OK && answer[sizeof answer - 1] != 42)
        flaw("ok, but without the result", &r);
    end_of_run(&r, &t);
}

static void call_nursery(void) { call_nursery_in(SBX_CONTAIN_GROUP); }
static void nursery_tree(void) { call_nursery_in(SBX_CONTAIN_TREE); }

/* Source text. It is copied once before it is run: that is its build. */
static void source(int built) {
    static const char *const copy[] = {"cp", "{file}", "{program}", NULL};
    static const char *const start[] = {"sh", "{program}", NULL};
    static const sbx_language copied[] = {{"copied", "main.sh", copy, start},
                                          {NULL, NULL, NULL, NULL}};
    static char text[2000];
    truth t = plain(SBX_EXITED, 3);
    sbx_result r;
    snprintf(text, sizeof text,
             "mkdir '%s/mark.0' 2>/dev/null || mkdir '%s/mark.1' || exit 99\nprintf done\nexit 3\n",
             dir, dir);
    t.out = "done";
    config.contain = SBX_CONTAIN_GROUP;
    config.languages = copied;

    marker(MARK_BEGIN, 0, 0, 0, 0);
    sbx_run_code(&config, built ? "copied" : "sh", text, strlen(text), &r);
    end_of_run(&r, &t);
}

static void code(void) { source(0); }
static void build(void) { source(1); }

static void user(void) {
    truth t = plain(SBX_EXITED, 3);
    if (geteuid() != 0) _exit(77);
    if (chmod(dir, 0777) != 0) _exit(77);
    use("user", "3");
    config.uid = config.gid = 64300;
    run(&t);
}

/* A probe may find less than there is when something fails, but says why; never more. */
static void probe(void) {
    sbx_caps caps;
    marker(MARK_BEGIN, 0, 0, 0, 0);
    sbx_probe(&caps);
    marker(MARK_END, SBX_OK, caps.tree && caps.policy, allocations, 0);
    if (live_blocks || (!caps.tree && !caps.tree_why[0]) || (!caps.policy && !caps.policy_why[0])) {
        flaws++;
        if (write(1, "probe: no reason, or memory left\n", 33) != 33) _exit(2);
    }
}

static const struct scenario {
    const char *name;
    void (*run)(void);
    int portable; /* 1 = exists without Linux's own */
} scenarios[] = {
    {"group", group, 1},
    {"limits", limits, 1},
    {"shell", shell, 1},
    {"tree", tree, 0},
    {"auto", automatic, 0},
    {"policy", under_policy, 0},
    {"denied", denied, 0},
    {"timeout", timeout, 1},
    {"cap", cap, 1},
    {"truncate", truncated, 1},
    {"loud", loud, 1},
    {"input", input, 1},
    {"memory", memory, 0},
    {"cpu", processor, 0},
    {"cgroup", in_cgroup, 0},
    {"handle", handle, 1},
    {"two", two, 1},
    {"call-tree", call_tree, 0},
    {"call-group", call_group, 1},
    {"call-policy", call_policy, 0},
    {"call-beside", call_beside, 1},
    {"read", dialogue, 1},
    {"stream", stream, 1},
    {"ends", ends, 1},
    {"group-policy", group_policy, 0},
    {"call-secret", call_secret, 1},
    {"call-nursery", call_nursery, 0},
    {"nursery-tree", nursery_tree, 0},
    {"code", code, 1},
    {"build", build, 1},
    {"user", user, 1},
    {"probe", probe, 1},
};

/* ==== Options ================================================================================= */

static void limit(int which, const char *text) {
    struct rlimit now;
    getrlimit(SBX__RLIMIT(which), &now);
    now.rlim_cur = (rlim_t)strtoul(text, NULL, 10);
    setrlimit(SBX__RLIMIT(which), &now);
    is_limited = 1;
}

static void nothing(int number) { (void)number; }

static void begin_storm(void) {
    struct itimerval often = {{0, 1000}, {0, 1000}};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = nothing;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

static void set_option(const char *text) {
    static const struct {
        const char *name;
        int which;
    } limited[] = {{"nofile", RLIMIT_NOFILE},
                   {"nproc", RLIMIT_NPROC},
                   {"as", RLIMIT_AS},
                   {"fsize", RLIMIT_FSIZE}};
    const char *value = strchr(text, '=');
    size_t i, size = value ? (size_t)(value - text) : 0;
    if (!value) return;
    value++;
    for (i = 0; i < sizeof limited / sizeof *limited; i++)
        if (strncmp(limited[i].name, text, size) == 0) limit(limited[i].which, value);
    if (strncmp("alloc", text, size) == 0) failing_allocation = atol(value);
    if (strncmp("storm", text, size) == 0) option_storm = 1;
    if (strncmp("short", text, size) == 0) option_short = 1;
    if (strncmp("taken", text, size) == 0) option_taken = 1;
    if (strncmp("learn", text, size) == 0) option_learn = 1;
    if (strncmp("filter", text, size) == 0 && !set_filter(atoi(value))) _exit(77);
}

int main(int argc, char **args) {
    static const char *const env[] = {"A=1", "PATH=/usr/bin:/bin", NULL};
    const struct scenario *s = scenarios, *end = s + sizeof scenarios / sizeof *scenarios;
    int i;
    mallopt(M_MMAP_THRESHOLD, 1 << 30); /* what is mapped afterwards was not mapped by malloc */
    free(malloc(100));
    if (argc < 3) return 2;
    dir = args[2];
    snprintf(expect, sizeof expect, "%s/expect", dir);
    snprintf(program, sizeof program, "%s/../program", dir);
    config.env = env;
    config.grace_ms = 500;
    config.timeout_ms = 5000;
    if (strcmp(args[1], "list") == 0) {
        for (; s < end; s++) puts(s->name);
        return 0;
    }
    while (s < end && strcmp(s->name, args[1]) != 0) s++;
    if (s == end) return 2;
#ifdef SBX_NO_LINUX
    if (!s->portable) return 77;
#endif
    for (i = 3; i < argc; i++) set_option(args[i]);
    if (option_storm) begin_storm();
    s->run();
    return flaws ? 1 : 0;
}
