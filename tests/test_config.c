/* Wrong configs, and the functions that only compute.
 *
 * A wrong config is refused before anything starts, the message names the field and the value, and
 * nothing is left of the attempt, whichever of the entry points it was given to. */
#include "test.h"

#include <sys/mman.h>

/* ==== A refusal and all that belongs to it ==================================================== */

static char marker_dir[PATH_MAX]; /* the program of every refused config would make a file here */
static char marker[PATH_MAX + 16];

static sbx_config marked_config(void) {
    static const char *argv[4];
    sbx_config config = {0};
    if (!marker_dir[0]) {
        test_tmpdir(marker_dir);
        snprintf(marker, sizeof marker, "%s/started", marker_dir);
    }
    argv[0] = test_child();
    argv[1] = "touch";
    argv[2] = marker;
    config.argv = argv;
    config.user = marker;
    return config;
}

static void forget_marker(void) {
    if (marker_dir[0]) test_remove_tree(marker_dir);
    marker_dir[0] = 0;
}

/* "" = the part is in the text; "a|b" = one of the two is. */
static const char *lacks(const char *text, const char *part) {
    const char *bar = part ? strchr(part, '|') : NULL;
    if (!part || strstr(text, part)) return "";
    if (bar && (strstr(text, bar + 1) || strstr(text, test_text("%.*s", (int)(bar - part), part))))
        return "";
    return test_text("'%s' is not in: %s", part, text);
}

/* Is this the result of a start that was refused at the step? value may be NULL. */
static const char *refusal_flaw(const sbx_config *config, const sbx_result *r, sbx_step step,
                                const char *field, const char *value) {
    const char *text;
    if (r->verdict != SBX_NOT_STARTED)
        return test_text("verdict %d: %s", (int)r->verdict, r->message);
    if (r->step != step) return test_text("step %d: %s", (int)r->step, r->message);
    if (*(text = lacks(r->message, field)) || *(text = lacks(r->message, value))) return text;
    if (r->exit_code != -1 || r->signal != 0) return "an exit code or a signal of nothing";
    if (r->out.total || r->err.total) return "output of nothing";
    if (r->certain != 1) return "a refusal is certain";
    if (!(r->evidence & SBX_SAW_START_FAILED)) return "evidence lacks SBX_SAW_START_FAILED";
    if (r->enforced) return "enforced, though nothing ran";
    if (access(marker, F_OK) == 0) return "the program was started";
    return test_result_flaw(config, r);
}

/* The same through sbx_start, with and without a result. */
static const char *start_flaw(const sbx_config *config, sbx_step step, const char *field,
                              const char *value) {
    const char *text;
    sbx_result result;
    test_host before;
    sbx *box;
    test_host_save(&before);
    memset(&result, 0x55, sizeof result); /* what was in it must not matter */
    box = sbx_start(config, &result);
    if (box) {
        sbx_cancel(box);
        sbx_finish(box, &result);
        sbx_free(&result);
        return "sbx_start gave a box";
    }
    text = refusal_flaw(config, &result, step, field, value);
    sbx_free(&result);
    if (*text) return test_text("sbx_start: %s", text);
    box = sbx_start(config, NULL);
    if (box) {
        sbx_cancel(box);
        sbx_finish(box, NULL);
        return "sbx_start without a result gave a box";
    }
    return test_host_diff(&before);
}

/* "" = all entry points refuse it at this step, naming field and value. */
static const char *refused(const sbx_config *config, sbx_step step, const char *field,
                           const char *value) {
    long blocks = test_live_blocks();
    const char *text;
    sbx_result result;
    memset(&result, 0x55, sizeof result);
    if (*(text = test_run(config, &result))) return text;
    text = refusal_flaw(config, &result, step, field, value);
    sbx_free(&result);
    if (*text) return text;
    if (sbx_run(config, NULL) != SBX_NOT_STARTED) return "another verdict without a result";
    if (*(text = start_flaw(config, step, field, value))) return text;
    if (test_live_blocks() != blocks) return "memory is left";
    return "";
}

/* "" = it runs to its end. */
static const char *accepted(const sbx_config *config) {
    const char *text;
    sbx_result result;
    int ran;
    if (*(text = test_run(config, &result))) return text;
    ran = result.verdict == SBX_OK && access(marker, F_OK) == 0;
    text = ran ? "" : test_text("verdict %d: %s", (int)result.verdict, result.message);
    unlink(marker);
    sbx_free(&result);
    return text;
}

#define EXPECT_REFUSED(config, field, value)                                                       \
    EXPECT_STREQ("", refused((config), SBX_STEP_CONFIG, (field), (value)))
#define EXPECT_ACCEPTED(config) EXPECT_STREQ("", accepted(config))

/* ==== What to run ============================================================================= */

UTEST(config, null_config) {
    sbx_result result;
    long blocks = test_live_blocks();
    EXPECT_STREQ("", test_run(NULL, &result));
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)result.verdict);
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    EXPECT_STREQ("", lacks(result.message, "config"));
    EXPECT_STREQ("", result.out.data);
    EXPECT_STREQ("", result.err.data);
    EXPECT_TRUE(result.user == NULL);
    sbx_free(&result);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_run(NULL, NULL));
    EXPECT_STREQ("", start_flaw(NULL, SBX_STEP_CONFIG, "config", NULL));
    EXPECT_EQ(blocks, test_live_blocks());
}

UTEST(config, nothing_to_run) {
    static const char *const none[] = {NULL}, *const nameless[] = {"", "x", NULL};
    sbx_config config = marked_config();
    const char *const *argv = config.argv;
    config.argv = NULL;
    EXPECT_REFUSED(&config, "argv", "command"); /* neither: it has to say what would do */
    config.argv = none;
    EXPECT_REFUSED(&config, "argv", NULL);
    config.argv = nameless;
    EXPECT_REFUSED(&config, "argv", NULL);
    config.argv = argv;
    config.command = "exit 0";
    EXPECT_REFUSED(&config, "argv", "command"); /* both */
    config.argv = none;
    EXPECT_REFUSED(&config, "argv", NULL);
    config.argv = argv;
    config.command = NULL;
    EXPECT_ACCEPTED(&config);
    forget_marker();
}

/* ==== Limits ================================================================================== */

static const struct {
    const char *name;
    size_t offset;
} limits[] = {
#define LIMIT(field) {#field, offsetof(sbx_config, field)}
    LIMIT(timeout_ms),   LIMIT(grace_ms),            LIMIT(output_bytes), LIMIT(cpu_ms),
    LIMIT(memory_bytes), LIMIT(address_space_bytes), LIMIT(file_bytes),   LIMIT(open_files),
    LIMIT(processes),    LIMIT(stack_bytes),
#undef LIMIT
};
#define LIMITS ((int)(sizeof limits / sizeof *limits))

static long long *limit_of(sbx_config *config, int i) {
    return (long long *)(void *)((char *)config + limits[i].offset);
}

static const char *limit_refused(int i, long long value) {
    sbx_config config = marked_config();
    const char *text;
    *limit_of(&config, i) = value;
    text = refused(&config, SBX_STEP_CONFIG, limits[i].name, test_text("%lld", value));
    return *text ? test_text("%s = %lld: %s", limits[i].name, value, text) : "";
}

UTEST(config, negative_limits) {
    static const long long wrong[] = {-2, -3, -1000, -4096, -(1LL << 31), -(1LL << 32),
                                      -(1LL << 62), LLONG_MIN + 1, LLONG_MIN};
    int i, j;
    for (i = 0; i < LIMITS; i++)
        for (j = 0; j < (int)(sizeof wrong / sizeof *wrong); j++)
            EXPECT_STREQ("", limit_refused(i, wrong[j]));
    forget_marker();
}

UTEST(config, absurd_limits) {
    int i;
    for (i = 0; i < LIMITS; i++) {
        EXPECT_STREQ("", limit_refused(i, 1LL << 62));
        EXPECT_STREQ("", limit_refused(i, (1LL << 62) + 1));
        EXPECT_STREQ("", limit_refused(i, LLONG_MAX - 1));
        EXPECT_STREQ("", limit_refused(i, LLONG_MAX));
    }
    forget_marker();
}

/* One wrong value among right ones, whichever field it is: the right ones must not hide it. */
UTEST(config, one_wrong_limit_among_many) {
    int i, j;
    for (i = 0; i < LIMITS; i++) {
        sbx_config config = marked_config();
        for (j = 0; j < LIMITS; j++) *limit_of(&config, j) = SBX_UNLIMITED;
        *limit_of(&config, i) = -7;
        EXPECT_REFUSED(&config, limits[i].name, "-7");
    }
    forget_marker();
}

UTEST(config, minus_one_is_unlimited) {
    sbx_config config = marked_config();
    int i;
    for (i = 0; i < LIMITS; i++) {
        config = marked_config();
        *limit_of(&config, i) = SBX_UNLIMITED;
        EXPECT_ACCEPTED(&config);
    }
    for (i = 0; i < LIMITS; i++) *limit_of(&config, i) = SBX_UNLIMITED;
    EXPECT_ACCEPTED(&config);
    forget_marker();
}

/* Generous is not absurd: a week, and a tebibyte where the machine has such numbers. */
UTEST(config, generous_limits_are_fine) {
    sbx_config config = marked_config();
    config.timeout_ms = 7LL * 24 * 3600 * 1000;
    config.grace_ms = 3600 * 1000;
    config.cpu_ms = 7LL * 24 * 3600 * 1000;
    if (sizeof(size_t) > 4) {
        config.output_bytes = 1LL << 40;
        config.memory_bytes = 1LL << 40;
        config.address_space_bytes = 1LL << 40;
        config.file_bytes = 1LL << 40;
    }
    EXPECT_ACCEPTED(&config);
    forget_marker();
}

/* sbx_call has the same gate. */
static int never_called(void *arg, void *ret, size_t ret_size) {
    (void)ret, (void)ret_size;
    close(open((const char *)arg, O_WRONLY | O_CREAT, 0600));
    return 0;
}

static const char *call_refused(const sbx_config *config, sbx_fn fn, void *ret, size_t ret_size,
                                const char *field, const char *value) {
    long blocks = test_live_blocks();
    sbx_result result;
    test_host before;
    sbx_verdict verdict;
    const char *text;
    test_host_save(&before);
    memset(&result, 0x55, sizeof result);
    verdict = sbx_call(config, fn, marker, ret, ret_size, &result);
    if (verdict != result.verdict) return "two verdicts";
    text = refusal_flaw(config, &result, SBX_STEP_CONFIG, field, value);
    sbx_free(&result);
    if (*text) return text;
    if (test_live_blocks() != blocks) return "memory is left";
    return test_host_diff(&before);
}

UTEST(config, calls_are_refused_too) {
    sbx_config config = marked_config();
    char answer[64];
    int i;
    config.argv = NULL;
    for (i = 0; i < LIMITS; i++) {
        *limit_of(&config, i) = -2;
        EXPECT_STREQ("", call_refused(&config, never_called, answer, sizeof answer,
                                      limits[i].name, "-2"));
        *limit_of(&config, i) = 1LL << 62;
        EXPECT_STREQ("", call_refused(&config, never_called, answer, sizeof answer,
                                      limits[i].name, "4611686018427387904"));
        *limit_of(&config, i) = 0;
    }
    EXPECT_STREQ("", call_refused(&config, NULL, answer, sizeof answer, "function", NULL));
    EXPECT_STREQ("", call_refused(&config, never_called, NULL, 64, "ret", NULL));
    EXPECT_STREQ("", call_refused(&config, never_called, answer, ((size_t)-1) / 2, "ret_size",
                                  test_text("%zu", ((size_t)-1) / 2)));
    EXPECT_STREQ("", call_refused(&config, never_called, answer, (size_t)-1, "ret_size", NULL));
    config.env = (const char *const[]){"nonsense", NULL};
    EXPECT_STREQ("", call_refused(&config, never_called, answer, sizeof answer, "env",
                                  "nonsense"));
    forget_marker();
}

/* ==== Input, environment, directory =========================================================== */

UTEST(config, input) {
    sbx_config config = marked_config();
    char bytes[4] = "abc";
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    config.input = NULL;
    config.input_size = 1;
    EXPECT_REFUSED(&config, "input", "1");
    config.input_size = (size_t)-1;
    EXPECT_REFUSED(&config, "input", NULL);
    config.input = bytes;
    EXPECT_REFUSED(&config, "input_size", test_text("%zu", (size_t)-1));
    config.input_size = ((size_t)-1) / 2 + 1;
    EXPECT_REFUSED(&config, "input_size", test_text("%zu", ((size_t)-1) / 2 + 1));
    if (sizeof(size_t) > 4) {
        config.input_size = (size_t)(1ULL << 62);
        EXPECT_REFUSED(&config, "input_size", "4611686018427387904");
    }
    config.input_size = 3;
    config.in = SBX_FD;
    config.in_fd = null;
    EXPECT_REFUSED(&config, "input", NULL);
    config.in = SBX_DISCARD;
    EXPECT_REFUSED(&config, "input", NULL);
    config.in = SBX_INHERIT;
    EXPECT_REFUSED(&config, "input", NULL);
    config.in = SBX_PIPE;
    EXPECT_REFUSED(&config, "in", NULL);
    config.in = SBX_DEFAULT;
    EXPECT_ACCEPTED(&config);
    config.input_size = 0; /* zero bytes are an input */
    EXPECT_ACCEPTED(&config);
    close(null);
    forget_marker();
}

UTEST(config, environment) {
    static const char *const wrong[] = {"NAME", "", "=", "=value", "no equals sign", "\n"};
    static const char *const right[] = {"A=", "B==", "C=a=b", "_=x", "with space=1", "1=2", NULL};
    sbx_config config = marked_config();
    const char *env[4] = {"A=1", NULL, "B=2", NULL};
    int i, inherit;
    for (inherit = 0; inherit < 2; inherit++)
        for (i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
            config.inherit_env = inherit;
            env[1] = wrong[i];
            config.env = env;
            EXPECT_REFUSED(&config, "env", strcmp(wrong[i], "\n") ? wrong[i] : NULL);
            config.env = env + 1; /* the first */
            EXPECT_REFUSED(&config, "env", NULL);
        }
    env[1] = "C=3", env[2] = "last"; /* the last */
    config.env = env;
    EXPECT_REFUSED(&config, "env", "last");
    config.env = right;
    EXPECT_ACCEPTED(&config);
    config.env = right + 6; /* none at all */
    EXPECT_ACCEPTED(&config);
    forget_marker();
}

/* A long value must not push the name of the field out of the message, nor break it. */
UTEST(config, long_values_stay_readable) {
    static char text[10000];
    sbx_config config = marked_config();
    const char *env[2] = {text, NULL}, *argv[2] = {text, NULL};
    memset(text, 'x', sizeof text - 1);
    config.env = env;
    EXPECT_REFUSED(&config, "env", "xxxxxxxxxx");
    config.env = NULL;
    config.cwd = text;
    EXPECT_STREQ("", refused(&config, SBX_STEP_CWD, "xxxxxxxxxx", NULL));
    config.cwd = NULL;
    config.argv = argv;
    EXPECT_STREQ("", refused(&config, SBX_STEP_EXEC, "xxxxxxxxxx", NULL));
    memset(text, '%', sizeof text - 1); /* not a format */
    text[200] = 'n';
    EXPECT_STREQ("", refused(&config, SBX_STEP_EXEC, "%%%%", NULL));
    memset(text, '\n', 200); /* the message is one line */
    text[200] = 0;
    EXPECT_STREQ("", refused(&config, SBX_STEP_EXEC, NULL, NULL));
    config = marked_config();
    config.cwd = "/nowhere/a\nb";
    EXPECT_STREQ("", refused(&config, SBX_STEP_CWD, "/nowhere", NULL));
    config.cwd = NULL;
    env[0] = "a\nb";
    config.env = env;
    EXPECT_REFUSED(&config, "env", NULL);
    forget_marker();
}

/* Is it all whole UTF-8 characters? Long ones and surrogates are not told from right ones. */
static int is_utf8(const char *text) {
    while (*text) {
        unsigned char c = (unsigned char)*text++;
        int more = c < 0x80 ? 0 : c < 0xc2 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : -1;
        if (more < 0) return 0;
        for (; more > 0; more--)
            if (((unsigned char)*text++ & 0xc0) != 0x80) return 0;
    }
    return 1;
}

/* Whatever has to be cut to fit is cut between characters. */
UTEST(config, messages_stay_utf8) {
    static char text[4][1000];
    const char *letters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x99\x82", "x"};
    int i, shift;
    for (i = 0; i < 4; i++)
        for (shift = 0; shift < 4; shift++) {
            sbx_config config = marked_config();
            const char *argv[] = {NULL, NULL}, *env[] = {NULL, NULL};
            sbx_result result;
            size_t at = (size_t)shift, step = strlen(letters[i]);
            memset(text[i], 'a', at);
            for (; at + step < 900; at += step) memcpy(text[i] + at, letters[i], step);
            text[i][at] = 0;
            argv[0] = env[0] = text[i];
            config.argv = argv;
            TEST_RUN(&config, &result);
            EXPECT_TRUE(result.step == SBX_STEP_EXEC && is_utf8(result.message));
            sbx_free(&result);
            argv[0] = test_text("/nowhere/%s", text[i]); /* by another way */
            TEST_RUN(&config, &result);
            EXPECT_TRUE(result.step == SBX_STEP_EXEC && is_utf8(result.message));
            sbx_free(&result);
            config = marked_config();
            config.cwd = text[i];
            TEST_RUN(&config, &result);
            EXPECT_TRUE(result.step == SBX_STEP_CWD && is_utf8(result.message));
            sbx_free(&result);
            config.cwd = NULL;
            config.env = env;
            TEST_RUN(&config, &result);
            EXPECT_TRUE(result.step == SBX_STEP_CONFIG && is_utf8(result.message));
            sbx_free(&result);
        }
    forget_marker();
}

UTEST(config, directory) {
    sbx_config config = marked_config();
    const char *file = test_write_file(marker_dir, "file", "x", 1, 0600), *locked;
    const char *missing = test_text("%s/missing", marker_dir);
    sbx_result result;
    config.cwd = file;
    EXPECT_STREQ("", refused(&config, SBX_STEP_CWD, file, NULL));
    EXPECT_STREQ("", test_run(&config, &result));
    EXPECT_EQ(ENOTDIR, result.sys_errno);
    sbx_free(&result);
    config.cwd = missing;
    EXPECT_STREQ("", refused(&config, SBX_STEP_CWD, missing, NULL));
    EXPECT_STREQ("", test_run(&config, &result));
    EXPECT_EQ(ENOENT, result.sys_errno);
    sbx_free(&result);
    config.cwd = "";
    EXPECT_STREQ("", test_run(&config, &result));
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)result.verdict);
    EXPECT_TRUE(result.step == SBX_STEP_CWD || result.step == SBX_STEP_CONFIG);
    EXPECT_STREQ("", lacks(result.message, "cwd"));
    sbx_free(&result);
    EXPECT_NE(0, access(marker, F_OK));
    locked = test_text("%s/locked", marker_dir);
    if (geteuid() != 0 && mkdir(locked, 0) == 0) {
        config.cwd = locked;
        EXPECT_STREQ("", refused(&config, SBX_STEP_CWD, locked, NULL));
    }
    config.cwd = marker_dir;
    EXPECT_ACCEPTED(&config);
    forget_marker();
}

/* ==== Streams ================================================================================= */

UTEST(config, unknown_modes) {
    static const int wrong[] = {6, 7, 99, 1000000, INT_MAX};
    sbx_config config = marked_config();
    int i;
    for (i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        const char *value = test_text("%d", wrong[i]);
        config.in = (sbx_io)wrong[i];
        EXPECT_REFUSED(&config, "in", value);
        config.in = SBX_DEFAULT;
        config.out = (sbx_io)wrong[i];
        EXPECT_REFUSED(&config, "out", value);
        config.out = SBX_DEFAULT;
        config.err = (sbx_io)wrong[i];
        EXPECT_REFUSED(&config, "err", value);
        config.err = SBX_DEFAULT;
        config.contain = (sbx_contain)wrong[i];
        EXPECT_REFUSED(&config, "contain", value);
        config.contain = SBX_CONTAIN_AUTO;
    }
    config.in = (sbx_io)-1;
    EXPECT_REFUSED(&config, "in", NULL);
    config.in = SBX_DEFAULT;
    config.out = (sbx_io)-1;
    EXPECT_REFUSED(&config, "out", NULL);
    config.out = SBX_DEFAULT;
    config.err = (sbx_io)INT_MIN;
    EXPECT_REFUSED(&config, "err", NULL);
    config.err = SBX_DEFAULT;
    config.contain = (sbx_contain)-1;
    EXPECT_REFUSED(&config, "contain", NULL);
    config.contain = (sbx_contain)3;
    EXPECT_REFUSED(&config, "contain", "3");
    forget_marker();
}

UTEST(config, modes_of_the_wrong_stream) {
    sbx_config config = marked_config();
    config.in = SBX_MERGE;
    EXPECT_REFUSED(&config, "in", "SBX_MERGE|3");
    config.in = SBX_DEFAULT;
    config.out = SBX_MERGE;
    EXPECT_REFUSED(&config, "out", "SBX_MERGE|3");
    config.out = SBX_PIPE;
    EXPECT_REFUSED(&config, "out", "SBX_PIPE|5");
    config.out = SBX_DEFAULT;
    config.err = SBX_PIPE;
    EXPECT_REFUSED(&config, "err", "SBX_PIPE|5");
    forget_marker();
}

/* Nobody can write into it there: refused, or an input that is at its end; never a wait. */
UTEST(config, pipe_without_a_handle) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("stdin");
    config.in = SBX_PIPE;
    config.timeout_ms = 10000;
    TEST_RUN(&config, &result);
    if (result.verdict == SBX_NOT_STARTED)
        EXPECT_STREQ("", refusal_flaw(&config, &result, SBX_STEP_CONFIG, "in", "SBX_PIPE|5"));
    else
        EXPECT_STREQ("pipe 0\n", result.out.data);
    sbx_free(&result);
}

static int closed_fd(void) {
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(fd);
    return fd;
}

UTEST(config, descriptors) {
    static const int wrong[] = {-1, -2, INT_MIN, INT_MAX, 999983};
    sbx_config config = marked_config();
    int i, gone = closed_fd();
    for (i = 0; i < (int)(sizeof wrong / sizeof *wrong) + 1; i++) {
        int fd = i ? wrong[i - 1] : gone;
        const char *value = test_text("%d", fd);
        config.in_fd = config.out_fd = config.err_fd = fd; /* not read in other modes */
        EXPECT_ACCEPTED(&config);
        config.in = SBX_FD;
        EXPECT_REFUSED(&config, "in_fd", value);
        config.in = SBX_DEFAULT;
        config.out = SBX_FD;
        EXPECT_REFUSED(&config, "out_fd", value);
        config.out = SBX_DEFAULT;
        config.err = SBX_FD;
        EXPECT_REFUSED(&config, "err_fd", value);
        config.err = SBX_DEFAULT;
    }
    forget_marker();
}

static const char *inherit_closed(void *arg) {
    sbx_config config = marked_config();
    int fd = *(int *)arg;
    close(fd);
    if (fd == 0) config.in = SBX_INHERIT;
    if (fd == 1) config.out = SBX_INHERIT;
    if (fd == 2) config.err = SBX_INHERIT;
    return refused(&config, SBX_STEP_CONFIG, fd == 0 ? "in" : fd == 1 ? "out" : "err", NULL);
}

UTEST(config, inherit_what_is_closed) {
    int fd;
    for (fd = 0; fd < 3; fd++) {
        marked_config();
        EXPECT_STREQ("", test_in_copy(inherit_closed, &fd));
    }
    forget_marker();
}

/* Asked for is in force, or nothing runs: true today and when these are built. */
UTEST(config, protections_that_may_be_missing) {
    static const sbx_policy policy;
    sbx_config config = marked_config();
    sbx_result result;
    config.policy = &policy;
    TEST_RUN(&config, &result);
    if (result.verdict == SBX_NOT_STARTED)
        EXPECT_STREQ("", refused(&config, SBX_STEP_POLICY, "policy", NULL));
    else
        EXPECT_TRUE(result.enforced & SBX_BY_SECCOMP);
    sbx_free(&result);
    config.policy = NULL;
    config.contain = SBX_CONTAIN_TREE;
    TEST_RUN(&config, &result);
    if (result.verdict == SBX_NOT_STARTED)
        EXPECT_STREQ("", refused(&config, SBX_STEP_CONTAIN, "SBX_CONTAIN_TREE", NULL));
    else
        EXPECT_TRUE(result.enforced & SBX_BY_TREE);
    sbx_free(&result);
    unlink(marker);
    config.contain = SBX_CONTAIN_AUTO;
    config.cgroup = "/nowhere/at/all";
    EXPECT_STREQ("", refused(&config, SBX_STEP_CGROUP, "cgroup", NULL));
    config.cgroup = "";
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)result.verdict);
    EXPECT_STREQ("", lacks(result.message, "cgroup"));
    sbx_free(&result);
    forget_marker();
}

/* ==== Frees and other small calls ============================================================= */

UTEST(config, free_is_patient) {
    sbx_result result;
    sbx_config config = marked_config();
    memset(&result, 0, sizeof result);
    sbx_free(&result); /* never filled */
    sbx_free(&result);
    sbx_free(NULL);
    TEST_RUN(&config, &result);
    sbx_free(&result);
    sbx_free(&result);
    EXPECT_TRUE(result.out.size == 0 && result.err.size == 0);
    forget_marker();
}

UTEST(config, null_boxes_are_harmless) {
    sbx_result result;
    sbx_watch watch;
    test_host before;
    test_host_save(&before);
    sbx_cancel(NULL);
    sbx_close_input(NULL);
    EXPECT_EQ(-1LL, sbx_write(NULL, "x", 1));
    sbx_poll(NULL, 0);
    sbx_poll_any(NULL, 0, 0);
    sbx_get_watch(NULL, &watch);
    EXPECT_EQ(0, watch.count);
    memset(&result, 0x55, sizeof result);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_finish(NULL, &result));
    EXPECT_STREQ("", test_result_flaw(NULL, &result));
    sbx_free(&result);
    sbx_finish(NULL, NULL);
    EXPECT_STREQ("", test_host_diff(&before));
}

/* A host that keeps a table of boxes has empty places in it. */
static const char *polls_a_table_with_gaps(void *arg) {
    sbx *table[4] = {NULL, NULL, NULL, NULL};
    sbx_config config = {0};
    sbx_result result;
    (void)arg;
    alarm(20);
    sbx_poll_any(table, 4, 0);
    config.argv = test_child_argv("exit", "3");
    table[2] = sbx_start(&config, &result);
    TEST_MUST(table[2] != NULL);
    while (sbx_poll_any(table, 4, 1000) != 2) {
    }
    TEST_MUST(sbx_finish(table[2], &result) == SBX_EXITED && result.exit_code == 3);
    sbx_free(&result);
    return "";
}

UTEST(config, null_boxes_in_a_table) {
    EXPECT_STREQ("", test_in_copy(polls_a_table_with_gaps, NULL));
}

/* ==== sbx_verdict_name ======================================================================== */

UTEST(config, verdict_names) {
    static const char *const names[] = {"ok",           "exited",       "crashed",    "timed-out",
                                        "cpu-limit",    "memory-limit", "output-limit",
                                        "file-limit",   "denied",       "cancelled",  "no-result",
                                        "not-started",  "lost"};
    static const int outside[] = {13, 14, 99, 1 << 20, INT_MAX, -1, INT_MIN};
    int i, j;
    EXPECT_EQ(13, (int)(sizeof names / sizeof *names));
    EXPECT_EQ(12, (int)SBX_LOST);
    for (i = 0; i < 13; i++) EXPECT_STREQ(names[i], sbx_verdict_name((sbx_verdict)i));
    for (i = 0; i < (int)(sizeof outside / sizeof *outside); i++) {
        const char *name = sbx_verdict_name((sbx_verdict)outside[i]);
        ASSERT_TRUE(name != NULL);
        EXPECT_NE(0, (int)name[0]);
        for (j = 0; j < 13; j++) EXPECT_STRNE(names[j], name);
    }
}

/* ==== sbx_clamp =============================================================================== */

#define NONE LLONG_MAX /* how a limit that is not there compares */

/* What a field of a config means, as a number that can be compared. */
static long long meaning(int i, long long value) {
    const char *name = limits[i].name;
    if (strcmp(name, "timeout_ms") == 0 && value == 0) return 30000;
    if (strcmp(name, "output_bytes") == 0 && value == 0) return 1048576;
    if (strcmp(name, "grace_ms") == 0) return value == 0 ? 3000 : value == -1 ? 0 : value;
    return value <= 0 ? NONE : value;
}

static const char *clamp_flaw(int i, long long own, long long most) {
    sbx_config config = {0}, ceiling = {0}, again;
    long long want, got;
    int j;
    *limit_of(&config, i) = own;
    *limit_of(&ceiling, i) = most;
    for (j = 0; j < LIMITS; j++) /* grace_ms has no "unlimited": one that does not bind */
        if (j != i) *limit_of(&ceiling, j) = strcmp(limits[j].name, "grace_ms") ? -1 : 1LL << 40;
    sbx_clamp(&config, &ceiling);
    want = meaning(i, own) < meaning(i, most) ? meaning(i, own) : meaning(i, most);
    got = meaning(i, *limit_of(&config, i));
    if (got != want)
        return test_text("%s %lld under %lld becomes %lld", limits[i].name, own, most,
                         *limit_of(&config, i));
    for (j = 0; j < LIMITS; j++)
        if (j != i && meaning(j, *limit_of(&config, j)) != meaning(j, 0))
            return test_text("%s became %lld", limits[j].name, *limit_of(&config, j));
    again = config;
    sbx_clamp(&again, &ceiling);
    for (j = 0; j < LIMITS; j++)
        if (*limit_of(&again, j) != *limit_of(&config, j)) return "twice is not the same as once";
    return "";
}

UTEST(config, clamp_takes_the_lower) {
    static const long long values[] = {0,     -1,      1,       2,       100,     2999,
                                       3000,  3001,    29999,   30000,   30001,   1048575,
                                       1048576, 1048577, 1 << 30, 1LL << 40};
    int count = (int)(sizeof values / sizeof *values), i, j, k;
    for (i = 0; i < LIMITS; i++)
        for (j = 0; j < count; j++)
            for (k = 0; k < count; k++) {
                /* a ceiling of 0 where 0 stands for a default could be read either way */
                if (values[k] == 0 && meaning(i, 0) != NONE) continue;
                EXPECT_STREQ("", clamp_flaw(i, values[j], values[k]));
            }
}

/* The ceiling must not make a wrong value right, nor a wrong value lift the ceiling. */
UTEST(config, clamp_and_wrong_values) {
    int i;
    for (i = 0; i < LIMITS; i++) {
        sbx_config config = marked_config(), ceiling = {0};
        long long got;
        *limit_of(&config, i) = -5;
        *limit_of(&ceiling, i) = 1000;
        sbx_clamp(&config, &ceiling);
        got = *limit_of(&config, i);
        EXPECT_TRUE(got < -1 || (got >= 1 && got <= 1000));
    }
    forget_marker();
}

UTEST(config, clamp_touches_limits_only) {
    static const char *const argv[] = {"a", NULL}, *const env[] = {"A=1", NULL};
    sbx_config config = {0}, ceiling = {0}, before;
    config.argv = argv, config.env = env, config.cwd = "/", config.inherit_env = 1;
    config.input = "x", config.input_size = 1, config.user = &config;
    config.in = SBX_DEFAULT, config.out = SBX_DISCARD, config.err = SBX_MERGE;
    config.in_fd = 7, config.out_fd = 8, config.err_fd = 9;
    before = config;
    ceiling.command = "other", ceiling.cwd = "/other", ceiling.user = &ceiling;
    ceiling.in = SBX_FD, ceiling.in_fd = 3, ceiling.input = "other", ceiling.input_size = 5;
    ceiling.memory_bytes = 1000;
    sbx_clamp(&config, &ceiling);
    EXPECT_TRUE(config.argv == before.argv && config.command == before.command);
    EXPECT_TRUE(config.env == before.env && config.inherit_env == before.inherit_env);
    EXPECT_TRUE(config.cwd == before.cwd && config.user == before.user);
    EXPECT_TRUE(config.input == before.input && config.input_size == before.input_size);
    EXPECT_TRUE(config.in == before.in && config.out == before.out && config.err == before.err);
    EXPECT_TRUE(config.in_fd == 7 && config.out_fd == 8 && config.err_fd == 9);
    EXPECT_EQ(1000LL, config.memory_bytes);
    EXPECT_EQ(1000LL, ceiling.memory_bytes);
    sbx_clamp(&config, &config);
    EXPECT_EQ(1000LL, config.memory_bytes);
}

static const char *clamps_nothing(void *arg) {
    sbx_config config = {0}, before;
    (void)arg;
    config.memory_bytes = 7;
    before = config;
    sbx_clamp(NULL, &config);
    sbx_clamp(&config, NULL);
    sbx_clamp(NULL, NULL);
    TEST_MUST(memcmp(&before, &config, sizeof config) == 0);
    return "";
}

UTEST(config, clamp_of_null_is_harmless) {
    EXPECT_STREQ("", test_in_copy(clamps_nothing, NULL));
}

/* ==== sbx_classify ============================================================================ */

typedef struct classified {
    unsigned saw;
    int exit_code, signal;
    sbx_verdict verdict;
    int certain; /* -1 = either */
} classified;

static const char *classify_flaw(const classified *row) {
    sbx_evidence evidence, copy;
    int certain = 77;
    sbx_verdict verdict;
    memset(&evidence, 0, sizeof evidence);
    evidence.saw = row->saw;
    evidence.exit_code = row->exit_code;
    evidence.signal = row->signal;
    copy = evidence;
    verdict = sbx_classify(&evidence, &certain);
    if (memcmp(&copy, &evidence, sizeof copy)) return "the evidence was changed";
    if (sbx_classify(&evidence, NULL) != verdict) return "another verdict without certain";
    if (verdict != row->verdict || (row->certain >= 0 && certain != row->certain))
        return test_text("saw %x, exit %d, signal %d: %s, certain %d", row->saw, row->exit_code,
                         row->signal, sbx_verdict_name(verdict), certain);
    return "";
}

UTEST(config, classify_table) {
    static const classified rows[] = {
        {0, 0, 0, SBX_OK, 1},
        {0, 1, 0, SBX_EXITED, 1},
        {0, 124, 0, SBX_EXITED, 1},
        {0, 137, 0, SBX_EXITED, 1}, /* codes that look like signals are codes */
        {0, 139, 0, SBX_EXITED, 1},
        {0, 255, 0, SBX_EXITED, 1},
        {0, -1, SIGSEGV, SBX_CRASHED, 1},
        {0, -1, SIGABRT, SBX_CRASHED, 1},
        {0, -1, SIGKILL, SBX_CRASHED, 1}, /* not ours, no limit: somebody else's */
        {0, -1, SIGTERM, SBX_CRASHED, 1},
        {0, -1, SIGXCPU, SBX_CRASHED, -1}, /* raised by itself: no cpu_ms was in force */
        {0, -1, SIGXFSZ, SBX_CRASHED, -1},
        {0, -1, SIGSYS, SBX_CRASHED, -1},
        /* stopped by the host: however it ended then */
        {SBX_SAW_DEADLINE, -1, SIGKILL, SBX_TIMED_OUT, 1},
        {SBX_SAW_DEADLINE, -1, SIGTERM, SBX_TIMED_OUT, 1},
        {SBX_SAW_DEADLINE, 0, 0, SBX_TIMED_OUT, 1},
        {SBX_SAW_DEADLINE, 3, 0, SBX_TIMED_OUT, 1},
        {SBX_SAW_DEADLINE | SBX_SAW_GRACE_OVER, -1, SIGKILL, SBX_TIMED_OUT, 1},
        {SBX_SAW_DEADLINE | SBX_SAW_NO_STATUS, -1, 0, SBX_TIMED_OUT, -1},
        {SBX_SAW_CPU_SUM, -1, SIGKILL, SBX_CPU_LIMIT, 1},
        {SBX_SAW_CPU_SUM, 0, 0, SBX_CPU_LIMIT, 1},
        {SBX_SAW_MEMORY_SUM, -1, SIGKILL, SBX_MEMORY_LIMIT, 1},
        {SBX_SAW_MEMORY_SUM, 1, 0, SBX_MEMORY_LIMIT, 1},
        {SBX_SAW_OUTPUT_CAP, -1, SIGTERM, SBX_OUTPUT_LIMIT, 1},
        {SBX_SAW_OUTPUT_CAP, 0, 0, SBX_OUTPUT_LIMIT, 1},
        {SBX_SAW_CANCEL, -1, SIGTERM, SBX_CANCELLED, 1},
        {SBX_SAW_CANCEL, 0, 0, SBX_CANCELLED, 1},
        {SBX_SAW_START_FAILED, -1, 0, SBX_NOT_STARTED, 1},
        {SBX_SAW_NO_STATUS, -1, 0, SBX_LOST, -1},
        {SBX_SAW_OOM_KILL, -1, SIGKILL, SBX_MEMORY_LIMIT, 1},
        {SBX_SAW_DENIED, -1, SIGSYS, SBX_DENIED, 1},
        {SBX_SAW_NO_RESULT, 0, 0, SBX_NO_RESULT, 1},
        {SBX_SAW_NO_RESULT, 1, 0, SBX_NO_RESULT, 1},
        {SBX_SAW_NO_RESULT, -1, SIGSEGV, SBX_CRASHED, 1},
        {SBX_SAW_NO_RESULT | SBX_SAW_DEADLINE, -1, SIGKILL, SBX_TIMED_OUT, 1},
        /* the kernel's own limits: likely, not proven */
        {SBX_SAW_CPU_SPENT, -1, SIGXCPU, SBX_CPU_LIMIT, -1},
        {SBX_SAW_CPU_SPENT, -1, SIGKILL, SBX_CPU_LIMIT, -1}, /* soft = hard, or SIGXCPU ignored */
        {SBX_SAW_CPU_SPENT, 0, 0, SBX_OK, 1}, /* close to the limit and done */
        {SBX_SAW_CPU_SPENT, 3, 0, SBX_EXITED, -1},
        {SBX_SAW_CPU_SPENT, -1, SIGSEGV, SBX_CRASHED, -1},
        {SBX_SAW_FILE_LIMIT, -1, SIGXFSZ, SBX_FILE_LIMIT, 0},
        {SBX_SAW_FILE_LIMIT | SBX_SAW_FILE_TEXT, 1, 0, SBX_FILE_LIMIT, 0},
        {SBX_SAW_FILE_LIMIT | SBX_SAW_FILE_TEXT, 0, 0, SBX_OK, 1},
        {SBX_SAW_FILE_LIMIT, 1, 0, SBX_EXITED, -1},
        {SBX_SAW_FILE_LIMIT, -1, SIGSEGV, SBX_CRASHED, -1},
        {SBX_SAW_FILE_TEXT, 1, 0, SBX_EXITED, 1}, /* speaks of it, but there was no such limit */
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_TEXT, 1, 0, SBX_MEMORY_LIMIT, 0},
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_TEXT, -1, SIGABRT, SBX_MEMORY_LIMIT, 0},
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_TEXT, 0, 0, SBX_OK, -1},
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_PEAK, -1, SIGSEGV, SBX_MEMORY_LIMIT, 0},
        {SBX_SAW_MEMORY_LIMIT | SBX_SAW_MEMORY_PEAK, 0, 0, SBX_OK, 1},
        {SBX_SAW_MEMORY_LIMIT, 0, 0, SBX_OK, 1},
        {SBX_SAW_MEMORY_LIMIT, 1, 0, SBX_EXITED, -1},
        {SBX_SAW_MEMORY_TEXT, 1, 0, SBX_EXITED, 1},
        {SBX_SAW_MEMORY_TEXT, -1, SIGSEGV, SBX_CRASHED, 1},
    };
    int i;
    for (i = 0; i < (int)(sizeof rows / sizeof *rows); i++)
        EXPECT_STREQ("", classify_flaw(&rows[i]));
}

/* With nothing seen, the status alone decides, for every code and every signal. */
UTEST(config, classify_every_status) {
    classified row = {0, 0, 0, SBX_OK, 1};
    EXPECT_STREQ("", classify_flaw(&row));
    row.verdict = SBX_EXITED;
    for (row.exit_code = 1; row.exit_code < 256; row.exit_code++)
        EXPECT_STREQ("", classify_flaw(&row));
    row.verdict = SBX_CRASHED;
    row.exit_code = row.certain = -1;
    for (row.signal = 1; row.signal < 65; row.signal++) EXPECT_STREQ("", classify_flaw(&row));
}

/* Every combination of what can be seen: some verdict, never a success that it was not, and never
   a limit that nothing speaks for. */
static const char *combination_flaw(unsigned saw, int exit_code, int signal_number) {
    const unsigned stops = SBX_SAW_DEADLINE | SBX_SAW_CPU_SUM | SBX_SAW_MEMORY_SUM |
                           SBX_SAW_OUTPUT_CAP | SBX_SAW_CANCEL;
    const unsigned memory = SBX_SAW_MEMORY_SUM | SBX_SAW_MEMORY_LIMIT | SBX_SAW_OOM_KILL;
    sbx_evidence evidence;
    sbx_verdict verdict;
    int certain = 77, bad = 0;
    memset(&evidence, 0, sizeof evidence);
    evidence.saw = saw;
    evidence.exit_code = exit_code;
    evidence.signal = signal_number;
    verdict = sbx_classify(&evidence, &certain);
    if (certain != 0 && certain != 1) bad = 1;
    if ((int)verdict < 0 || (int)verdict > (int)SBX_LOST) bad = 2;
    if (verdict == SBX_OK && (exit_code != 0 || signal_number != 0)) bad = 3;
    if (verdict == SBX_OK && (saw & (stops | SBX_SAW_START_FAILED | SBX_SAW_NO_STATUS |
                                     SBX_SAW_NO_RESULT)))
        bad = 4;
    if (verdict == SBX_EXITED && exit_code <= 0) bad = 5;
    if (verdict == SBX_CRASHED && signal_number == 0) bad = 6;
    if ((saw & SBX_SAW_START_FAILED) && verdict != SBX_NOT_STARTED) bad = 7;
    if (!(saw & SBX_SAW_START_FAILED) && verdict == SBX_NOT_STARTED) bad = 8;
    if (verdict == SBX_TIMED_OUT && !(saw & SBX_SAW_DEADLINE)) bad = 9;
    if (verdict == SBX_OUTPUT_LIMIT && !(saw & SBX_SAW_OUTPUT_CAP)) bad = 10;
    if (verdict == SBX_CANCELLED && !(saw & SBX_SAW_CANCEL)) bad = 11;
    if (verdict == SBX_MEMORY_LIMIT && !(saw & memory)) bad = 12;
    if (verdict == SBX_CPU_LIMIT && !(saw & (SBX_SAW_CPU_SUM | SBX_SAW_CPU_SPENT))) bad = 13;
    if (verdict == SBX_FILE_LIMIT && !(saw & SBX_SAW_FILE_LIMIT)) bad = 14;
    if (verdict == SBX_LOST && !(saw & SBX_SAW_NO_STATUS)) bad = 15;
    if (verdict == SBX_DENIED && !(saw & SBX_SAW_DENIED)) bad = 16;
    if (verdict == SBX_NO_RESULT && !(saw & SBX_SAW_NO_RESULT)) bad = 17;
    if (!bad) return "";
    return test_text("rule %d: saw %x, exit %d, signal %d: %s, certain %d", bad, saw, exit_code,
                     signal_number, sbx_verdict_name(verdict), certain);
}

UTEST(config, classify_combinations) {
    static const int status[][2] = {{0, 0},        {1, 0},        {137, 0},      {-1, SIGKILL},
                                    {-1, SIGSEGV}, {-1, SIGXCPU}, {-1, SIGXFSZ}, {-1, SIGSYS}};
    unsigned saw;
    int i, flaws = 0;
    for (saw = 0; saw < 0x20000u && flaws < 5; saw++)
        for (i = 0; i < (int)(sizeof status / sizeof *status); i++) {
            const char *text = combination_flaw(saw, status[i][0], status[i][1]);
            if (*text) flaws++;
            if (*text) EXPECT_STREQ("", text);
        }
    EXPECT_EQ(0, flaws);
}

/* ==== sbx_utf8_prefix ========================================================================= */

/* The longest prefix of valid text that fits and does not end inside a character. */
static size_t valid_prefix(const char *text, size_t size, size_t max) {
    size_t end = size < max ? size : max;
    while (end > 0 && end < size && ((unsigned char)text[end] & 0xC0) == 0x80) end--;
    return end;
}

UTEST(config, utf8_every_cut_of_valid_text) {
    static const char *const texts[] = {
        "", "a", "plain ascii", "caf\xc3\xa9", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x99\x82",
        "a\xc3\xa9" "b\xe2\x82\xac" "c\xf0\x9f\x99\x82" "d",
        "\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
        "\xf0\x9f\x99\x82\xf0\x9f\x99\x82\xf0\x9f\x99\x82"};
    int i;
    for (i = 0; i < (int)(sizeof texts / sizeof *texts); i++) {
        size_t size = strlen(texts[i]), max;
        for (max = 0; max <= size + 5; max++) {
            size_t want = valid_prefix(texts[i], size, max), got;
            char *exact = (char *)malloc(size + 1); /* a read past the end shows under ASan */
            memcpy(exact, texts[i], size);
            exact = (char *)realloc(exact, size ? size : 1);
            got = sbx_utf8_prefix(exact, size, max);
            EXPECT_EQ(want, got);
            EXPECT_EQ(got, sbx_utf8_prefix(exact, got, got)); /* what is left is whole */
            free(exact);
        }
        EXPECT_EQ(size, sbx_utf8_prefix(texts[i], size, (size_t)-1));
    }
}

UTEST(config, utf8_text_that_was_cut_before) {
    EXPECT_EQ((size_t)3, sbx_utf8_prefix("caf\xc3", 4, 4));
    EXPECT_EQ((size_t)3, sbx_utf8_prefix("caf\xc3", 4, 100));
    EXPECT_EQ((size_t)3, sbx_utf8_prefix("caf\xc3\xa9", 5, 4));
    EXPECT_EQ((size_t)5, sbx_utf8_prefix("caf\xc3\xa9", 5, 5));
    EXPECT_EQ((size_t)1, sbx_utf8_prefix("x\xe2", 2, 2));
    EXPECT_EQ((size_t)1, sbx_utf8_prefix("x\xe2\x82", 3, 3));
    EXPECT_EQ((size_t)4, sbx_utf8_prefix("x\xe2\x82\xac", 4, 4));
    EXPECT_EQ((size_t)1, sbx_utf8_prefix("x\xf0", 2, 9));
    EXPECT_EQ((size_t)1, sbx_utf8_prefix("x\xf0\x9f", 3, 9));
    EXPECT_EQ((size_t)1, sbx_utf8_prefix("x\xf0\x9f\x99", 4, 9));
    EXPECT_EQ((size_t)5, sbx_utf8_prefix("x\xf0\x9f\x99\x82", 5, 9));
    EXPECT_EQ((size_t)0, sbx_utf8_prefix("\xc3", 1, 1));
    EXPECT_EQ((size_t)0, sbx_utf8_prefix("\xc3", 0, 1));
    EXPECT_EQ((size_t)0, sbx_utf8_prefix(NULL, 0, 0));
    EXPECT_EQ((size_t)0, sbx_utf8_prefix(NULL, 0, 10));
    EXPECT_EQ((size_t)2, sbx_utf8_prefix("a\0", 2, 2)); /* a NUL byte is a character */
}

/* Bytes that no text has are kept: only a character that could have gone on is cut off. */
UTEST(config, utf8_bad_bytes_are_data) {
    EXPECT_EQ((size_t)5, sbx_utf8_prefix("\x80\x80\x80\x80\x80\x80", 6, 5));
    EXPECT_EQ((size_t)6, sbx_utf8_prefix("\x80\x80\x80\x80\x80\x80", 6, 6));
    EXPECT_EQ((size_t)3, sbx_utf8_prefix("ab\x80" "c", 4, 3));
    EXPECT_EQ((size_t)2, sbx_utf8_prefix("a\xff" "b", 3, 2));
    EXPECT_EQ((size_t)2, sbx_utf8_prefix("a\xfe", 2, 2));
    EXPECT_EQ((size_t)5, sbx_utf8_prefix("\xc3\xa9\x80\x80\x80", 5, 5));
}

/* All strings of up to four bytes over one byte of every kind. */
UTEST(config, utf8_any_bytes) {
    static const unsigned char kinds[] = {0x00, 'a',  0x7f, 0x80, 0xbf, 0xc0, 0xc2, 0xdf, 0xe0,
                                          0xef, 0xf0, 0xf4, 0xf5, 0xf8, 0xfe, 0xff};
    int flaws = 0;
    size_t size, max;
    for (size = 0; size <= 4; size++) {
        unsigned long code, codes = 1UL << (4 * size);
        char *text = (char *)malloc(size ? size : 1);
        for (code = 0; code < codes && flaws < 5; code++) {
            size_t i;
            for (i = 0; i < size; i++) text[i] = (char)kinds[(code >> (4 * i)) & 15];
            for (max = 0; max <= size + 1; max++) {
                size_t end = size < max ? size : max, got = sbx_utf8_prefix(text, size, max);
                if (got > end || got + 3 < end || (end && (unsigned char)text[end - 1] < 128 &&
                                                   got != end))
                    flaws++;
            }
        }
        free(text);
    }
    EXPECT_EQ(0, flaws);
}

/* O(1): of 64 MiB only the last page exists, so whoever looks further back than that dies. */
static const char *looks_at_the_end_only(void *arg) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 64 << 20;
    char *text = (char *)mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *last;
    const char fill = *(const char *)arg;
    TEST_MUST(text != (char *)MAP_FAILED);
    last = text + size - page;
    TEST_MUST(mprotect(last, page, PROT_READ | PROT_WRITE) == 0);
    memset(last, fill, page);
    TEST_MUST(sbx_utf8_prefix(text, size, size) + 3 >= size);
    TEST_MUST(sbx_utf8_prefix(text, size, size - 1) + 4 >= size);
    TEST_MUST(sbx_utf8_prefix(text, size, size - page / 2) + page / 2 + 3 >= size);
    return "";
}

UTEST(config, utf8_is_constant_time) {
    static const char fills[] = {'a', '\x80', '\xc3', '\xf0', '\xff'};
    int i;
    for (i = 0; i < (int)sizeof fills; i++)
        EXPECT_STREQ("", test_in_copy(looks_at_the_end_only, (void *)(size_t)&fills[i]));
}
