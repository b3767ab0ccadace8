/* What a config may say: what to run, with which arguments, environment, directory and limits; and
   that everything else is refused before anything runs, by the name of the field. */
#include "test.h"

#include <pthread.h>

/* ==== What to run ============================================================================= */

static char marker[PATH_MAX + 16];

/* Is this the result of a start that was refused at the step? value may be NULL. */
static const char *refusal_flaw(const sbx_config *config, const sbx_result *r, sbx_step step,
                                const char *field, const char *value) {
    const char *text;
    if (r->verdict != SBX_NOT_STARTED)
        return test_text("verdict %d: %s", (int)r->verdict, r->message);
    if (r->step != step) return test_text("step %d: %s", (int)r->step, r->message);
    if (*(text = test_lacks(r->message, field)) || *(text = test_lacks(r->message, value)))
        return text;
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

UTEST(config, null_config) {
    sbx_result result;
    long blocks = test_live_blocks();
    EXPECT_STREQ("", test_run(NULL, &result));
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)result.verdict);
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    EXPECT_STREQ("", test_lacks(result.message, "config"));
    EXPECT_STREQ("", result.out.data);
    EXPECT_STREQ("", result.err.data);
    EXPECT_TRUE(result.user == NULL);
    sbx_free(&result);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_run(NULL, NULL));
    EXPECT_STREQ("", start_flaw(NULL, SBX_STEP_CONFIG, "config", NULL));
    EXPECT_EQ(blocks, test_live_blocks());
}

static char marker_dir[PATH_MAX]; /* the program of every refused config would make a file here */

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

#define EXPECT_REFUSED(config, field, value)                                                       \
    EXPECT_STREQ("", refused((config), SBX_STEP_CONFIG, (field), (value)))

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

#define EXPECT_ACCEPTED(config) EXPECT_STREQ("", accepted(config))

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

UTEST(seed, J2_no_function_and_no_program) {
    sbx_config config = {0};
    sbx_result result;
    test_host before;
    test_host_save(&before);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_call(&config, NULL, NULL, NULL, 0, &result));
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    sbx_free(&result);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_call(NULL, test_fn_nothing, NULL, NULL, 0, &result));
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    sbx_free(&result);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_run(&config, &result));
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    sbx_free(&result);
    config.command = "exit 0"; /* a function and a program at once */
    EXPECT_EQ((int)SBX_NOT_STARTED,
              (int)sbx_call(&config, test_fn_nothing, NULL, NULL, 0, &result));
    EXPECT_STREQ("", test_lacks(result.message, test_has_call() ? "command" : "SBX_NO_CALL"));
    sbx_free(&result);
    EXPECT_STREQ("", test_host_diff(&before));
}

UTEST(seed, J10_bad_config_detected_before_spawn) {
    static const char *const bad_env[] = {"=value", NULL};
    sbx_config good = {0}, config;
    sbx_result result;
    config = good;
    config.env = bad_env;
    result = RUN_CHILD(&config, "say", "ran");
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    sbx_free(&result);
    config = good;
    config.input_size = 10;
    result = RUN_CHILD(&config, "say", "ran");
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    sbx_free(&result);
    config = good;
    config.out = SBX_MERGE;
    result = RUN_CHILD(&config, "say", "ran");
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    EXPECT_EQ(0ULL, result.out.total);
    sbx_free(&result);
}

UTEST(seed, A5_command_goes_through_the_shell) {
    static const char *const env[] = {"X=a  b", NULL};
    sbx_config config = {0};
    sbx_result result;
    config.command = "echo $((6 * 7)) | tr 2 3 && printf '%s|' \"$X\" $X; exit 6";
    config.env = env;
    config.inherit_env = 1; /* tr has to be found */
    TEST_RUN(&config, &result);
    EXPECT_STREQ("43\na  b|a|b|", result.out.data);
    EXPECT_EQ(6, result.exit_code);
    EXPECT_STREQ("'echo $((6 * 7)) | tr 2 3 && printf '%s|' \"$X\" $X; ex...' exited with code 6",
                 result.message);
    sbx_free(&result);
    config.command = "nonsense-that-is-no-command"; /* the shell ran: its code, its words */
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_EXITED, (int)result.verdict);
    EXPECT_EQ(127, result.exit_code);
    EXPECT_TRUE(result.err.size > 0);
    sbx_free(&result);
    config.command = "";
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    sbx_free(&result);
    config.command = "if then fi (";
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_EXITED, (int)result.verdict);
    sbx_free(&result);
}

UTEST(seed, A1_code_with_stdin_timeout_memory_and_environment) {
    static const char *const env[] = {"WHO=world", NULL};
    sbx_config config = {0};
    sbx_result result;
    config.command = "read line; echo \"$line, $WHO\"; echo done >&2; exit 4";
    config.input = "hello\n";
    config.input_size = 6;
    config.timeout_ms = 15000;
    config.memory_bytes = 256 << 20;
    config.env = env;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_EXITED, (int)result.verdict);
    EXPECT_EQ(4, result.exit_code);
    EXPECT_STREQ("hello, world\n", result.out.data);
    EXPECT_STREQ("done\n", result.err.data);
    sbx_free(&result);
}

/* ==== Where the program is found ============================================================== */

static const char *found_on_the_hosts_path(void *arg) {
    static const char *const argv[] = {"sbx-seed-program", NULL};
    const char *dir = (const char *)arg;
    const char *env[] = {NULL, NULL};
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    TEST_MUST(mkdir(test_text("%s/first", dir), 0700) == 0);
    TEST_MUST(mkdir(test_text("%s/second", dir), 0700) == 0);
    TEST_MUST(mkdir(test_text("%s/decoy", dir), 0700) == 0);
    TEST_MUST(mkdir(test_text("%s/dirs", dir), 0700) == 0);
    TEST_MUST(mkdir(test_text("%s/dirs/sbx-seed-program", dir), 0700) == 0);
    test_write_file(test_text("%s/first", dir), argv[0], "#!/bin/sh\necho first\n", 21, 0600);
    test_write_file(test_text("%s/second", dir), argv[0], "#!/bin/sh\necho second $PATH\n", 28,
                    0700);
    test_write_file(test_text("%s/decoy", dir), argv[0], "#!/bin/sh\necho decoy\n", 21, 0700);
    /* not there, a directory of that name, not executable, and then the right one */
    setenv("PATH", test_text("%s/none:%s/dirs:%s/first:%s/second", dir, dir, dir, dir), 1);
    config.argv = argv;
    env[0] = test_text("PATH=%s/decoy", dir); /* what the child sees is not where it is sought */
    config.env = env;
    config.cwd = test_text("%s/decoy", dir);
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (result.verdict != SBX_OK) return test_text("verdict: %s", result.message);
    if (strcmp(result.out.data, test_text("second %s/decoy\n", dir)))
        return test_text("out: %s", result.out.data);
    sbx_free(&result);
    config.env = NULL;
    config.cwd = NULL;
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_OK && strncmp(result.out.data, "second", 6) == 0);
    sbx_free(&result);
    setenv("PATH", test_text("%s/none:%s/first", dir, dir), 1); /* only one that may not run */
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    if (geteuid() != 0) TEST_MUST(result.sys_errno == EACCES);
    sbx_free(&result);
    unsetenv("PATH"); /* some default has to do */
    config.argv = (const char *const[]){"sh", "-c", "exit 7", NULL};
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_EXITED && result.exit_code == 7);
    sbx_free(&result);
    setenv("PATH", "", 1); /* empty: nothing to be found, and no crash */
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    sbx_free(&result);
    return "";
}

UTEST(seed, A22_program_is_found_on_the_hosts_path) {
    char dir[PATH_MAX];
    test_tmpdir(dir);
    EXPECT_STREQ("", test_in_copy(found_on_the_hosts_path, dir));
    test_remove_tree(dir);
}

static const char *relative_program(void *arg) {
    const char *dir = (const char *)arg;
    static const char *const names[] = {"./prog", "sub/prog", "../host/prog", "prog"};
    static const char *const says[] = {"there", "there", "host", "host"}; /* the last by PATH */
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    unsigned i;
    TEST_MUST(mkdir(test_text("%s/host", dir), 0700) == 0);
    TEST_MUST(mkdir(test_text("%s/host/sub", dir), 0700) == 0);
    TEST_MUST(mkdir(test_text("%s/there", dir), 0700) == 0);
    TEST_MUST(mkdir(test_text("%s/there/sub", dir), 0700) == 0);
    test_write_file(test_text("%s/host", dir), "prog", "#!/bin/sh\necho host; pwd\n", 25, 0700);
    test_write_file(test_text("%s/host/sub", dir), "prog", "#!/bin/sh\necho host; pwd\n", 25, 0700);
    test_write_file(test_text("%s/there", dir), "prog", "#!/bin/sh\necho there; pwd\n", 26, 0700);
    test_write_file(test_text("%s/there/sub", dir), "prog", "#!/bin/sh\necho there; pwd\n", 26,
                    0700);
    TEST_MUST(chdir(test_text("%s/host", dir)) == 0);
    setenv("PATH", ".:/usr/bin:/bin", 1); /* a relative entry: the host's directory as well */
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        const char *argv[] = {names[i], NULL};
        config.argv = argv;
        config.cwd = test_text("%s/there", dir);
        if (*(flaw = test_run(&config, &result))) return flaw;
        if (strcmp(result.out.data, test_text("%s\n%s/there\n", says[i], dir)))
            return test_text("%s: %s %s", names[i], result.message, result.out.data);
        sbx_free(&result);
        config.cwd = "../there"; /* relative to the host, too */
        if (*(flaw = test_run(&config, &result))) return flaw;
        if (strcmp(result.out.data, test_text("%s\n%s/there\n", says[i], dir)))
            return test_text("%s: %s %s", names[i], result.message, result.out.data);
        sbx_free(&result);
    }
    TEST_MUST(unlink("../there/prog") == 0); /* it is only in the host's directory: not found */
    config.argv = (const char *const[]){"./prog", NULL};
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    sbx_free(&result);
    return "";
}

UTEST(pitfall, P34_relative_program_counts_from_cwd) {
    char dir[PATH_MAX];
    test_tmpdir(dir);
    EXPECT_STREQ("", test_in_copy(relative_program, dir));
    test_remove_tree(dir);
}

UTEST(pitfall, P35_missing_program_and_missing_directory_differ) {
    static const char *const missing[] = {"/nowhere/program", NULL};
    static const char *const unknown[] = {"no-such-program-anywhere", NULL};
    sbx_config config = {0};
    sbx_result result;
    config.argv = missing;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
    EXPECT_EQ(ENOENT, result.sys_errno);
    EXPECT_STREQ("", test_lacks(result.message, "/nowhere/program"));
    EXPECT_TRUE(strstr(result.message, "cwd") == NULL);
    sbx_free(&result);
    config.argv = unknown;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
    EXPECT_STREQ("", test_lacks(result.message, "no-such-program-anywhere"));
    EXPECT_STREQ("", test_lacks(result.message, "PATH"));
    sbx_free(&result);
    config.cwd = "/nowhere/directory";
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_EQ((int)SBX_STEP_CWD, (int)result.step);
    EXPECT_EQ(ENOENT, result.sys_errno);
    EXPECT_STREQ("", test_lacks(result.message, "/nowhere/directory"));
    EXPECT_STREQ("", test_lacks(result.message, "cwd"));
    sbx_free(&result);
}

UTEST(pitfall, P35_missing_interpreter_and_missing_program_differ) {
    char dir[PATH_MAX];
    const char *argv[] = {NULL, NULL};
    sbx_config config = {0};
    sbx_result result;
    test_tmpdir(dir);
    argv[0] = test_write_file(dir, "script", "#!/nowhere/interpreter\n", 23, 0700);
    config.argv = argv;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)result.verdict);
    EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
    EXPECT_STREQ("", test_lacks(result.message, "interpreter"));
    sbx_free(&result);
    argv[0] = test_write_file(dir, "plain", "x", 1, 0600);
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
    EXPECT_EQ(EACCES, result.sys_errno);
    EXPECT_STREQ("", test_lacks(result.message, "no permission to execute"));
    sbx_free(&result);
    argv[0] = dir;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
    EXPECT_STREQ("", test_lacks(result.message, "directory"));
    sbx_free(&result);
    test_remove_tree(dir);
}

/* A directory on PATH that may not be searched says nothing about a program nobody has. */
static const char *path_that_cannot_be_searched(void *arg) {
    const char *dir = (const char *)arg, *flaw;
    static const char *const unknown[] = {"no-such-program-anywhere", NULL};
    sbx_config config = {0};
    sbx_result result;
    TEST_MUST(mkdir(test_text("%s/locked", dir), 0) == 0);
    setenv("PATH", test_text("%s/locked:/usr/bin:/bin", dir), 1);
    MUST_RUN(&config, SBX_OK, "exit", "0");
    config.argv = (const char *const[]){"sh", "-c", "exit 5", NULL}; /* found further on */
    if (*(flaw = test_run(&config, &result))) return flaw;
    TEST_MUST(result.verdict == SBX_EXITED && result.exit_code == 5);
    sbx_free(&result);
    config.argv = unknown;
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (result.step != SBX_STEP_EXEC || result.sys_errno != ENOENT)
        return test_text("errno %d: %s", result.sys_errno, result.message);
    return test_lacks(result.message, "not found");
}

UTEST(pitfall, P35_unsearchable_path_is_not_a_program) {
    char dir[PATH_MAX];
    test_tmpdir(dir);
    EXPECT_STREQ("", test_in_copy(path_that_cannot_be_searched, dir));
    test_remove_tree(dir);
}

static const char *script_without_a_first_line(void *arg) {
    const char *dir = (const char *)arg;
    const char *text = test_text("touch %s/ran\n", dir);
    const char *path = test_write_file(dir, "script", text, strlen(text), 0700);
    const char *ways[3];
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    int i;
    ways[0] = path;
    ways[1] = "script"; /* found on PATH */
    ways[2] = test_write_file(dir, "empty", "", 0, 0700);
    setenv("PATH", test_text("%s:/usr/bin:/bin", dir), 1);
    for (i = 0; i < 3; i++) {
        const char *argv[] = {ways[i], NULL};
        config.argv = argv;
        if (*(flaw = test_run(&config, &result))) return flaw;
        TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
        TEST_MUST(result.sys_errno == ENOEXEC);
        if (*(flaw = test_lacks(result.message, "#!"))) return flaw;
        sbx_free(&result);
        TEST_MUST(access(test_text("%s/ran", dir), F_OK) != 0);
    }
    return "";
}

UTEST(pitfall, P36_script_without_interpreter_line_is_an_error) {
    char dir[PATH_MAX];
    test_tmpdir(dir);
    EXPECT_STREQ("", test_in_copy(script_without_a_first_line, dir));
    test_remove_tree(dir);
}

typedef struct writer {
    int fd, ms;
} writer;

static void *close_later(void *arg) {
    writer *w = (writer *)arg;
    test_sleep_ms(w->ms);
    close(w->fd);
    return NULL;
}

static void busy_program(int *utest_result, const char *program, sbx_contain contain) {
    sbx_config config = {0};
    sbx_result result;
    const char *argv[] = {NULL, "exit", "3", NULL};
    writer w;
    pthread_t thread;
    long long before;
    argv[0] = program;
    config.argv = argv;
    config.contain = contain;
    w.ms = 30;
    w.fd = open(program, O_WRONLY | O_APPEND | O_CLOEXEC);
    ASSERT_TRUE(w.fd >= 0);
    ASSERT_EQ(0, pthread_create(&thread, NULL, close_later, &w)); /* the writer soon ends */
    sbx_run(&config, &result);
    pthread_join(thread, NULL);
    EXPECT_STREQ("'child' exited with code 3", result.message);
    sbx_free(&result);
    w.fd = open(program, O_WRONLY | O_APPEND | O_CLOEXEC);
    before = test_now_ms();
    TEST_RUN(&config, &result); /* it never does */
    if (result.verdict == SBX_EXITED) { /* newer kernels let a program that is written to run */
        EXPECT_EQ(3, result.exit_code);
    } else {
        EXPECT_EQ((int)SBX_NOT_STARTED, (int)result.verdict);
        EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
        EXPECT_EQ(ETXTBSY, result.sys_errno);
        EXPECT_STREQ("", test_lacks(result.message, program));
        EXPECT_STREQ("", test_lacks(result.message, "writ"));
        EXPECT_LT(test_now_ms() - before, 15000LL);
    }
    sbx_free(&result);
    config.timeout_ms = 20; /* the retries end with the deadline */
    TEST_RUN(&config, &result);
    EXPECT_NE((int)SBX_OK, (int)result.verdict);
    sbx_free(&result);
    close(w.fd);
}

UTEST(pitfall, P21_text_file_busy) {
    char dir[PATH_MAX];
    const char *program;
    int i;
    test_tmpdir(dir);
    program = test_copy_of_child(dir, "child");
    for (i = 0; i < 2; i++) busy_program(utest_result, program, test_both[i]);
    test_remove_tree(dir);
}

static void expect_no_exec(int *utest_result, const char *path, const char *name, int error,
                           int other_error) {
    const char *argv[2];
    sbx_config config = {0};
    sbx_result result;
    argv[0] = path;
    argv[1] = NULL;
    config.argv = argv;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
    if (result.sys_errno != other_error) EXPECT_EQ(error, result.sys_errno);
    EXPECT_NE_MSG((char *)NULL, strstr(result.message, name), result.message);
    EXPECT_EQ(0, (int)result.out.size);
    EXPECT_EQ(-1, result.exit_code);
    sbx_free(&result);
}

UTEST(attack, a34_programs_that_cannot_run) {
    static const char elf[] = "\177ELF\2\1\1\0 and nothing of what should follow";
    char dir[PATH_MAX], long_name[600];
    const char *path;
    test_tmpdir(dir);
    expect_no_exec(utest_result, dir, "sbx-test-", EACCES, EISDIR);
    path = test_text("%s/missing", dir);
    expect_no_exec(utest_result, path, "missing", ENOENT, ENOENT);
    path = test_write_file(dir, "plain", "#!/bin/sh\n", 10, 0644);
    expect_no_exec(utest_result, path, "plain", EACCES, EACCES);
    path = test_write_file(dir, "lost", "#!/no/such/interpreter\n", 23, 0755);
    expect_no_exec(utest_result, path, "lost", ENOENT, ENOENT);
    path = test_write_file(dir, "dirint", "#!/\n", 4, 0755);
    expect_no_exec(utest_result, path, "dirint", EACCES, EISDIR);
    path = test_write_file(dir, "empty", "", 0, 0755);
    expect_no_exec(utest_result, path, "empty", ENOEXEC, ENOEXEC);
    path = test_write_file(dir, "nobang", "echo hello\n", 11, 0755);
    expect_no_exec(utest_result, path, "nobang", ENOEXEC, ENOEXEC);
    path = test_write_file(dir, "broken", elf, sizeof elf, 0755);
    expect_no_exec(utest_result, path, "broken", ENOEXEC, ENOEXEC);
    path = test_write_file(dir, "binary", "\0\1\2\3\377\376", 6, 0755);
    expect_no_exec(utest_result, path, "binary", ENOEXEC, ENOEXEC);
    path = test_text("%s/plain/inside", dir);
    expect_no_exec(utest_result, path, "inside", ENOTDIR, ENOTDIR);
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[0] = '/';
    long_name[sizeof long_name - 1] = 0;
    expect_no_exec(utest_result, long_name, "nnnn", ENAMETOOLONG, ENAMETOOLONG);
    test_remove_tree(dir);
}

/* A loop of links, and a link to nowhere. */
UTEST(attack, a34_links_that_lead_nowhere) {
    char dir[PATH_MAX];
    const char *loop, *gone;
    test_tmpdir(dir);
    loop = test_text("%s/loop", dir);
    gone = test_text("%s/gone", dir);
    EXPECT_EQ(0, symlink("loop", loop));
    EXPECT_EQ(0, symlink("nowhere", gone));
    expect_no_exec(utest_result, loop, "loop", ELOOP, ELOOP);
    expect_no_exec(utest_result, gone, "gone", ENOENT, ENOENT);
    test_remove_tree(dir);
}

/* On the PATH, a directory or a plain file of that name does not hide the program behind it. */
static const char *run_with_path(void *arg) {
    const char *dir = (const char *)arg, *flaw;
    const char *const argv[] = {"prog", NULL};
    sbx_config config = {0};
    sbx_result result;
    config.argv = argv;
    setenv("PATH", test_text("%s/none:%s", dir, dir), 1);
    flaw = test_run(&config, &result);
    if (*flaw) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    TEST_MUST(result.sys_errno == ENOENT && strstr(result.message, "prog") != NULL);
    sbx_free(&result);
    TEST_MUST(mkdir(test_text("%s/a", dir), 0755) == 0);
    TEST_MUST(mkdir(test_text("%s/b", dir), 0755) == 0);
    TEST_MUST(mkdir(test_text("%s/c", dir), 0755) == 0);
    TEST_MUST(mkdir(test_text("%s/a/prog", dir), 0755) == 0);
    test_write_file(test_text("%s/b", dir), "prog", "#!/bin/sh\necho b\n", 17, 0644);
    setenv("PATH", test_text("%s/none:%s/a:%s/b:%s/c", dir, dir, dir, dir), 1);
    flaw = test_run(&config, &result);
    if (*flaw) return flaw;
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    TEST_MUST(strstr(result.message, "prog") != NULL);
    sbx_free(&result);
    test_write_file(test_text("%s/c", dir), "prog", "#!/bin/sh\necho c\n", 17, 0755);
    flaw = test_run(&config, &result);
    if (*flaw) return flaw;
    if (result.verdict != SBX_OK || strcmp(result.out.data, "c\n") != 0)
        return test_text("%s: %s", result.message, result.out.data);
    sbx_free(&result);
    return "";
}

UTEST(attack, a34_wrong_files_on_the_path) {
    char dir[PATH_MAX];
    EXPECT_STREQ("", test_in_copy(run_with_path, (void *)(size_t)test_tmpdir(dir)));
    test_remove_tree(dir);
}

/* ==== Arguments =============================================================================== */

UTEST(pitfall, P37_arguments_arrive_unchanged) {
    static const char *const odd[] = {
        "",   " ",    "a b", "\"",   "'",    "\\",           "\n",       "$HOME", "`id`", "*", "-c",
        "--", "a\tb", ";",   "&& x", "%s%n", "\xc3\xa9\xff", "\x01\x7f", "#!",    "=",    ""};
    enum { ODD = sizeof odd / sizeof *odd, MANY = 2000 };
    static const char *argv[MANY + 3];
    static char expected[ODD * 20], longest[100001];
    sbx_config config = {0};
    sbx_result result;
    int i;
    argv[0] = test_child();
    argv[1] = "args";
    for (i = 0; i < ODD; i++) {
        argv[i + 2] = odd[i];
        strcat(strcat(strcat(expected, "["), odd[i]), "]\n");
    }
    argv[ODD + 2] = NULL;
    config.argv = argv;
    TEST_RUN(&config, &result);
    EXPECT_STREQ(expected, result.out.data);
    sbx_free(&result);
    memset(longest, 'l', sizeof longest - 1);
    for (i = 0; i < MANY; i++) argv[i + 2] = "many";
    argv[2] = longest;
    argv[MANY + 2] = NULL;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_EQ((size_t)(100003 + (MANY - 1) * 7), result.out.size);
    sbx_free(&result);
}

/* More than the kernel takes: an error that says so, not a truncated list. */
UTEST(pitfall, P37_too_many_arguments) {
    static char longest[1 << 20];
    static const char *argv[40];
    sbx_config config = {0};
    sbx_result result;
    int i;
    memset(longest, 'l', sizeof longest - 1);
    argv[0] = test_child();
    argv[1] = "args";
    for (i = 2; i < 39; i++) argv[i] = longest;
    config.argv = argv;
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)result.verdict);
    EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
    EXPECT_EQ(E2BIG, result.sys_errno);
    sbx_free(&result);
}

/* ==== Environment ============================================================================= */

UTEST(config, environment) {
    static const char *const wrong[] = {"", "=", "=value", "=\n"};
    static const char *const right[] = {"A=", "B==", "C=a=b", "_=x", "with space=1", "1=2", NULL};
    sbx_config config = marked_config();
    const char *env[4] = {"A=1", NULL, "B=2", NULL};
    int i, inherit;
    for (inherit = 0; inherit < 2; inherit++)
        for (i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
            config.inherit_env = inherit;
            env[1] = wrong[i];
            config.env = env;
            EXPECT_REFUSED(&config, "env", strcmp(wrong[i], "=\n") ? wrong[i] : NULL);
            config.env = env + 1; /* the first */
            EXPECT_REFUSED(&config, "env", NULL);
        }
    env[1] = "C=3", env[2] = "=last"; /* the last */
    config.env = env;
    EXPECT_REFUSED(&config, "env", "=last");
    config.env = right;
    EXPECT_ACCEPTED(&config);
    config.env = right + 6; /* none at all */
    EXPECT_ACCEPTED(&config);
    forget_marker();
}

UTEST(seed, C4_environment_is_exactly_what_was_asked_for) {
    static const char *const env[] = {"B=2", "A=1", "EMPTY=", "LONG=a=b c\td", NULL};
    static const char *const over[] = {"SBX_SEED=mine", "SBX_NEW=1", NULL};
    static const char *const none[] = {NULL};
    sbx_config config = {0};
    sbx_result result;
    setenv("SBX_SEED", "secret", 1);
    setenv("SBX_SEED_2", "kept", 1);
    result = RUN_CHILD(&config, "env");
    EXPECT_STREQ(test_text("PATH=%s\n", getenv("PATH")), result.out.data); /* that alone */
    sbx_free(&result);
    config.env = none;
    result = RUN_CHILD(&config, "env");
    EXPECT_STREQ("", result.out.data);
    sbx_free(&result);
    config.env = env;
    result = RUN_CHILD(&config, "env");
    EXPECT_STREQ("B=2\nA=1\nEMPTY=\nLONG=a=b c\td\n", result.out.data);
    sbx_free(&result);
    config.inherit_env = 1;
    config.env = over;
    result = RUN_CHILD(&config, "env");
    EXPECT_STREQ("", test_lacks(result.out.data, "SBX_SEED=mine\n"));
    EXPECT_STREQ("", test_lacks(result.out.data, "SBX_NEW=1\n"));
    EXPECT_STREQ("", test_lacks(result.out.data, "SBX_SEED_2=kept\n"));
    EXPECT_TRUE(strstr(result.out.data, "secret") == NULL); /* not there twice */
    sbx_free(&result);
    config.env = NULL;
    result = RUN_CHILD(&config, "env");
    EXPECT_STREQ("", test_lacks(result.out.data, "SBX_SEED=secret\n"));
    sbx_free(&result);
    unsetenv("SBX_SEED");
    unsetenv("SBX_SEED_2");
}

/* Not even PATH, HOME or what the dynamic loader reads. */
UTEST(seed, A8_environment_is_cleared) {
    static const char *const env[] = {"ONLY=this", NULL};
    sbx_config config = {0};
    sbx_result result;
    config.env = env;
    result = RUN_CHILD(&config, "env");
    EXPECT_STREQ("ONLY=this\n", result.out.data);
    sbx_free(&result);
    config.argv = NULL;
    config.env = NULL;
    config.command = "echo \"[$HOME][$USER][$LD_PRELOAD]\"";
    TEST_RUN(&config, &result);
    EXPECT_STREQ("[][][]\n", result.out.data);
    sbx_free(&result);
}

static const char *run_with_secrets(void *arg) {
    static const char *const some[] = {"A=1", "B=", "C=x=y", NULL};
    static const char *const none[] = {NULL};
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    int i;
    (void)arg;
    setenv("SBX_TEST_SECRET", "hunter2", 1);
    config.argv = test_child_argv("env");
    for (i = 0; i < 3; i++) {
        config.env = i == 0 ? NULL : i == 1 ? none : some;
        flaw = test_run(&config, &result);
        if (*flaw) return flaw;
        TEST_MUST(result.verdict == SBX_OK);
        if (strcmp(result.out.data, i == 2   ? "A=1\nB=\nC=x=y\n"
                                    : i == 1 ? ""
                                             : test_text("PATH=%s\n", getenv("PATH"))) != 0)
            return test_text("environment of the child: %s", result.out.data);
        sbx_free(&result);
    }
    config.inherit_env = 1; /* the test can see what it looks for */
    flaw = test_run(&config, &result);
    if (*flaw) return flaw;
    TEST_MUST(strstr(result.out.data, "SBX_TEST_SECRET=hunter2\n") != NULL);
    sbx_free(&result);
    return "";
}

UTEST(attack, a30_reads_secrets_from_its_environment) {
    EXPECT_STREQ("", test_in_copy(run_with_secrets, NULL));
}

#ifdef __linux__
/* Documented: without a policy, what the user may read the child may read, and /proc shows a
   user the environment his processes started with. */
UTEST(attack, a30_reads_the_hosts_environment_from_proc) {
    sbx_config config = {0};
    sbx_result result;
    char bytes[16];
    int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
    if (fd >= 0) close(fd);
    if (size < (ssize_t)sizeof bytes) UTEST_SKIP("/proc does not show the environment");
    config.argv = test_child_argv("parent_env");
    config.contain = SBX_CONTAIN_GROUP;
    config.truncate_output = 1;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ(0, memcmp(bytes, result.out.data, sizeof bytes));
    sbx_free(&result);
}
#endif

/* ==== Directory, input, messages ============================================================== */

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
    EXPECT_STREQ("", test_lacks(result.message, "cwd"));
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
    EXPECT_REFUSED(&config, "input", "SBX_FD");
    config.in = SBX_DISCARD;
    EXPECT_REFUSED(&config, "input", "SBX_DISCARD");
    config.in = SBX_INHERIT;
    EXPECT_REFUSED(&config, "input", "SBX_INHERIT");
    config.in = SBX_PIPE;
    EXPECT_REFUSED(&config, "in", NULL);
    config.in = SBX_DEFAULT;
    EXPECT_ACCEPTED(&config);
    config.input_size = 0; /* zero bytes are an input */
    EXPECT_ACCEPTED(&config);
    close(null);
    forget_marker();
}

/* A long value must not push the name of the field out of the message, nor break it. */
UTEST(config, long_values_stay_readable) {
    static char text[10000];
    sbx_config config = marked_config();
    const char *env[2] = {text, NULL}, *argv[2] = {text, NULL};
    memset(text, 'x', sizeof text - 1);
    text[0] = '=';
    config.env = env;
    EXPECT_REFUSED(&config, "env", "xxxxxxxxxx");
    config.env = NULL;
    text[0] = 'x';
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
    env[0] = "=a\nb";
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
            env[0] = test_text("=%s", text[i]);
            config.env = env;
            TEST_RUN(&config, &result);
            EXPECT_TRUE(result.step == SBX_STEP_CONFIG && is_utf8(result.message));
            sbx_free(&result);
        }
    forget_marker();
}

/* ==== Limits: which numbers are taken ========================================================= */

static const struct {
    const char *name;
    size_t offset;
} limits[] = {
#define LIMIT(field)                                                                               \
    { #field, offsetof(sbx_config, field) }
    LIMIT(timeout_ms),  LIMIT(grace_ms),     LIMIT(output_bytes),
    LIMIT(cpu_ms),      LIMIT(memory_bytes), LIMIT(address_space_bytes),
    LIMIT(file_bytes),  LIMIT(open_files),   LIMIT(processes),
    LIMIT(stack_bytes), LIMIT(error_bytes),
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
    static const long long wrong[] = {
        -2, -3, -1000, -4096, -(1LL << 31), -(1LL << 32), -(1LL << 62), LLONG_MIN + 1, LLONG_MIN};
    int i, j;
    for (i = 0; i < LIMITS; i++)
        for (j = 0; j < (int)(sizeof wrong / sizeof *wrong); j++)
            EXPECT_STREQ("", limit_refused(i, wrong[j]));
    forget_marker();
}

/* What may be set instead is told as for people. */
UTEST(config, range_of_a_limit_is_told) {
    sbx_config config = marked_config();
    config.memory_bytes = -2;
    EXPECT_REFUSED(&config, "memory_bytes", "-1 is none, 1024 TiB is the most");
    config.memory_bytes = 0;
    config.grace_ms = -2;
    EXPECT_REFUSED(&config, "grace_ms", "-1 is to kill at once, 1000000000000 is the most");
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
    NEED_CALL();
    config.argv = NULL;
    for (i = 0; i < LIMITS; i++) {
        *limit_of(&config, i) = -2;
        EXPECT_STREQ(
            "", call_refused(&config, never_called, answer, sizeof answer, limits[i].name, "-2"));
        *limit_of(&config, i) = 1LL << 62;
        EXPECT_STREQ("", call_refused(&config, never_called, answer, sizeof answer, limits[i].name,
                                      "4611686018427387904"));
        *limit_of(&config, i) = 0;
    }
    EXPECT_STREQ("", call_refused(&config, NULL, answer, sizeof answer, "function", NULL));
    EXPECT_STREQ("", call_refused(&config, never_called, NULL, 64, "ret", NULL));
    EXPECT_STREQ("", call_refused(&config, never_called, answer, ((size_t)-1) / 2, "ret_size",
                                  test_text("%zu", ((size_t)-1) / 2)));
    EXPECT_STREQ("", call_refused(&config, never_called, answer, (size_t)-1, "ret_size", NULL));
    config.env = (const char *const[]){"=nonsense", NULL};
    EXPECT_STREQ("",
                 call_refused(&config, never_called, answer, sizeof answer, "env", "=nonsense"));
    forget_marker();
}

UTEST(seed, J1_timeout_values) {
    static const long long wrong[] = {-2, -1000, LLONG_MIN, 1LL << 62};
    sbx_config config = {0};
    sbx_result result;
    unsigned i;
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        config.timeout_ms = wrong[i];
        result = RUN_CHILD(&config, "say", "ran");
        EXPECT_EQ((int)SBX_NOT_STARTED, (int)result.verdict);
        EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
        EXPECT_STREQ("", test_lacks(result.message, "timeout_ms"));
        EXPECT_STREQ("", test_lacks(result.message, test_text("%lld", wrong[i])));
        EXPECT_EQ(0ULL, result.out.total);
        sbx_free(&result);
    }
    config.timeout_ms = SBX_UNLIMITED;
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    sbx_free(&result);
    config.timeout_ms = 0;
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    sbx_free(&result);
    config.timeout_ms = 1; /* too short for anything, but a limit like any other */
    config.grace_ms = -1;
    result = RUN_CHILD(&config, "sleep");
    EXPECT_EQ((int)SBX_TIMED_OUT, (int)result.verdict);
    EXPECT_STREQ("", test_lacks(result.message, "1 ms"));
    sbx_free(&result);
}

/* ==== Limits: sbx_clamp ======================================================================= */

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
    static const long long values[] = {0,       -1,      1,       2,        100,   2999,
                                       3000,    3001,    29999,   30000,    30001, 1048575,
                                       1048576, 1048577, 1 << 30, 1LL << 40};
    int count = (int)(sizeof values / sizeof *values), i, j, k;
    for (i = 0; i < LIMITS; i++)
        for (j = 0; j < count; j++)
            for (k = 0; k < count; k++) {
                /* a ceiling of 0 where 0 stands for a default could be read either way */
                if (values[k] == 0 && meaning(i, 0) != NONE) continue;
                if (values[k] == 0 && strcmp(limits[i].name, "error_bytes") == 0) continue;
                if (values[j] == 0 && values[k] >= 1 << 20 && /* its share is less than that */
                    strcmp(limits[i].name, "error_bytes") == 0)
                    continue;
                EXPECT_STREQ("", clamp_flaw(i, values[j], values[k]));
            }
}

/* Under a ceiling where both streams share one cap, a cap of stderr's own would come on top. */
UTEST(config, clamp_lets_stderr_have_no_more) {
    sbx_config config = {0}, ceiling = {0};
    config.error_bytes = 1000;
    ceiling.output_bytes = 5000;
    sbx_clamp(&config, &ceiling);
    EXPECT_EQ(4000LL, config.output_bytes);
    EXPECT_EQ(1000LL, config.error_bytes);
}

static long long least(long long a, long long b) { return a < b ? a : b; }

/* What stdout, stderr and both together may have at most. */
static void caps_of(const sbx_config *config, long long caps[3]) {
    long long most = 1LL << 60, out = config->output_bytes, err = config->error_bytes;
    if (out == 0) out = 1 << 20;
    if (out < 0) out = most;
    if (err < 0) err = most;
    caps[0] = out;
    caps[1] = err ? err : out;
    caps[2] = err ? least(out + err, most) : out;
}

/* For all of these, nothing is looser than before, nor than the ceiling. */
UTEST(config, clamp_of_both_streams_loosens_neither) {
    static const long long values[] = {0, -1, 1, 2, 50, 100, 101, 400, 500, 900, 1000, 1 << 20};
    int count = (int)(sizeof values / sizeof *values), i, k;
    for (i = 0; i < count * count * count * count; i++) {
        sbx_config config = {0}, before = {0}, ceiling = {0};
        long long is[3], was[3], top[3];
        before.output_bytes = values[i % count];
        before.error_bytes = values[i / count % count];
        ceiling.output_bytes = values[i / count / count % count];
        ceiling.error_bytes = values[i / count / count / count];
        config = before;
        sbx_clamp(&config, &ceiling);
        caps_of(&config, is);
        caps_of(&before, was);
        caps_of(&ceiling, top);
        for (k = 0; k < 3; k++)
            EXPECT_LE_MSG(is[k], k < 2 ? least(was[k], top[k]) : top[k],
                          test_text("%lld, %lld under %lld, %lld: %lld, %lld", before.output_bytes,
                                    before.error_bytes, ceiling.output_bytes, ceiling.error_bytes,
                                    config.output_bytes, config.error_bytes));
    }
}

/* A limit above the hard one of the host is lowered, and the message says to what. */
static const char *names_the_limit(void *arg) {
    struct rlimit low = {8192, 8192};
    sbx_config config = {0};
    sbx_result result;
    char dir[PATH_MAX];
    (void)arg;
    test_tmpdir(dir);
    TEST_MUST(setrlimit(RLIMIT_FSIZE, &low) == 0);
    config.command = "head -c 100000 /dev/zero >file";
    config.cwd = dir;
    config.file_bytes = 1 << 20;
    sbx_run(&config, &result);
    test_remove_tree(dir);
    if (result.verdict != SBX_FILE_LIMIT || !strstr(result.message, "8 KiB"))
        return test_text("%s", result.message);
    sbx_free(&result);
    return "";
}

UTEST(config, messages_name_the_limit_in_force) {
    EXPECT_STREQ("", test_in_copy(names_the_limit, NULL));
}

/* The host's own limit of CPU time is each process's, in seconds: it changes nothing of cpu_ms. */
static const char *cpu_beside_a_hard_limit(void *arg) {
    struct rlimit hard = {1, 1};
    sbx_config config = {0};
    sbx_result result;
    (void)arg;
    TEST_MUST(setrlimit(RLIMIT_CPU, &hard) == 0);
    config.argv = test_child_argv("burn", "user", "1", "600");
    config.contain = SBX_CONTAIN_GROUP;
    config.cpu_ms = 200;
    sbx_run(&config, &result);
    if (result.verdict != SBX_CPU_LIMIT) return test_text("%s", result.message);
    sbx_free(&result);
    return "";
}

UTEST(config, a_hard_limit_of_cpu_time_loosens_nothing) {
    if (!test_has_watch()) UTEST_SKIP("there it is a limit of each process anyway");
    EXPECT_STREQ("", test_in_copy(cpu_beside_a_hard_limit, NULL));
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
        *limit_of(&config, i) = 500; /* a ceiling that makes no sense is none to run under */
        *limit_of(&ceiling, i) = -5;
        sbx_clamp(&config, &ceiling);
        EXPECT_STREQ("", refused(&config, SBX_STEP_CONFIG, limits[i].name, "= -5 "));
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

UTEST(config, clamp_hands_on_the_user) {
    sbx_config config = {0}, ceiling = {0};
    config.uid = 7, ceiling.gid = 65534;
    sbx_clamp(&config, &ceiling);
    EXPECT_TRUE(config.uid == 7 && config.gid == 65534);
    ceiling.uid = 65533;
    sbx_clamp(&config, &ceiling);
    EXPECT_TRUE(config.uid == 65533 && config.gid == 65534);
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

UTEST(config, clamp_of_null_is_harmless) { EXPECT_STREQ("", test_in_copy(clamps_nothing, NULL)); }

UTEST(seed, S3_a_caller_may_shorten_but_never_exceed) {
    static const long long wishes[] = {SBX_UNLIMITED, 0, 60000, 80};
    sbx_config ceiling = {0};
    unsigned i;
    ceiling.timeout_ms = 80;
    ceiling.grace_ms = -1;
    for (i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.timeout_ms = wishes[i];
        sbx_clamp(&config, &ceiling);
        result = RUN_CHILD(&config, "sleep");
        EXPECT_EQ((int)SBX_TIMED_OUT, (int)result.verdict);
        EXPECT_STREQ("", test_lacks(result.message, " 80 ms"));
        sbx_free(&result);
    }
    {
        sbx_config config = {0};
        sbx_result result;
        config.timeout_ms = 50;
        sbx_clamp(&config, &ceiling);
        result = RUN_CHILD(&config, "sleep");
        EXPECT_STREQ("", test_lacks(result.message, " 50 ms"));
        sbx_free(&result);
    }
}

/* ==== Streams: which modes are taken ========================================================== */

UTEST(config, truncate_output_is_one_of_three) {
    static const int wrong[] = {-1, 4, 5, INT_MAX, INT_MIN};
    sbx_config config = marked_config();
    int i;
    for (i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        config.truncate_output = wrong[i];
        EXPECT_STREQ(
            "", refused(&config, SBX_STEP_CONFIG, "truncate_output", test_text("= %d ", wrong[i])));
    }
    forget_marker();
}

UTEST(config, unknown_modes) {
    static const int wrong[] = {7, 8, 99, 1000000, INT_MAX};
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
    config.in = SBX_STREAM;
    EXPECT_REFUSED(&config, "in", "SBX_STREAM|6");
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
    else EXPECT_STREQ("pipe 0\n", result.out.data);
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

/* ==== Defaults, copies, all settings at once ================================================== */

/* Defaults: 30 s, 1 MiB, no other limit; and a config that says nothing else runs everywhere. */
UTEST(seed, C2_defaults) {
    static const char *const names[] = {"cpu", "file", "stack", "open", "space", "processes"};
    static const int which[] = {RLIMIT_CPU,    RLIMIT_FSIZE, RLIMIT_STACK,
                                RLIMIT_NOFILE, RLIMIT_AS,    RLIMIT_NPROC};
    sbx_config config = {0};
    sbx_result result = RUN_CHILD(&config, "limits");
    unsigned i;
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    for (i = 0; i < sizeof which / sizeof *which; i++) { /* none but the host's own */
        struct rlimit own;
        long long soft, hard;
        getrlimit((unsigned)which[i], &own);
        soft = own.rlim_cur == RLIM_INFINITY ? -1 : (long long)own.rlim_cur;
        hard = own.rlim_max == RLIM_INFINITY ? -1 : (long long)own.rlim_max;
        EXPECT_STREQ(
            "", test_lacks(result.out.data, test_text("%s %lld %lld\n", names[i], soft, hard)));
    }
    EXPECT_STREQ("", test_lacks(result.out.data, "core 1 1\n"));
    EXPECT_EQ((SBX_BY_SESSION | SBX_BY_RLIMIT_CORE), (result.enforced & ~SBX_BY_TREE));
    sbx_free(&result);
    result = RUN_CHILD(&config, "write", "1048576", "0");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_EQ((size_t)1048576, result.out.size);
    sbx_free(&result);
    result = RUN_CHILD(&config, "write", "1048576", "1");
    EXPECT_EQ((int)SBX_OUTPUT_LIMIT, (int)result.verdict);
    EXPECT_STREQ("", test_lacks(result.message, "1 MiB"));
    sbx_free(&result);
    config.cwd = NULL;
    result = RUN_CHILD(&config, "pwd");
    {
        char own[PATH_MAX];
        EXPECT_STREQ(getcwd(own, sizeof own), result.out.data);
    }
    sbx_free(&result);
}

UTEST(seed, S1_all_settings_at_once) {
    sbx_config config = {0};
    sbx_result result;
    config.timeout_ms = 20000;
    config.grace_ms = 1000;
    config.output_bytes = 100000;
    config.cpu_ms = 10000;
    config.memory_bytes = 1LL << 30;
    config.address_space_bytes = 2LL << 30;
    config.file_bytes = 1 << 20;
    config.open_files = 64;
    config.stack_bytes = 4 << 20;
    if (geteuid() != 0) config.processes = 500;
    config.input = "some input";
    config.input_size = 10;
    config.contain = SBX_CONTAIN_GROUP;
    result = RUN_CHILD(&config, "cat");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_STREQ("some input", result.out.data);
    sbx_free(&result);
}

UTEST(seed, S2_overrides_are_a_struct_copy) {
    sbx_config global = {0}, own;
    sbx_result result;
    global.output_bytes = 10;
    global.truncate_output = 1;
    own = global;
    own.output_bytes = 4;
    result = RUN_CHILD(&own, "say", "0123456789abcdef");
    EXPECT_STREQ("0123", result.out.data);
    sbx_free(&result);
    result = RUN_CHILD(&global, "say", "0123456789abcdef");
    EXPECT_STREQ("0123456789", result.out.data);
    sbx_free(&result);
}

/* ==== What cannot be had is refused =========================================================== */

/* Asked for is in force, or nothing runs: true today and when these are built. */
UTEST(config, protections_that_may_be_missing) {
    static const sbx_policy policy;
    sbx_config config = marked_config();
    sbx_result result;
    config.policy = &policy;
    TEST_RUN(&config, &result);
    if (result.verdict == SBX_NOT_STARTED)
        EXPECT_STREQ("", refused(&config, SBX_STEP_POLICY, "policy", NULL));
    else EXPECT_TRUE(result.enforced & SBX_BY_SECCOMP);
    sbx_free(&result);
    config.policy = NULL;
    config.contain = SBX_CONTAIN_TREE;
    TEST_RUN(&config, &result);
    if (result.verdict == SBX_NOT_STARTED)
        EXPECT_STREQ("", refused(&config, SBX_STEP_CONTAIN, "SBX_CONTAIN_TREE", NULL));
    else EXPECT_TRUE(result.enforced & SBX_BY_TREE);
    sbx_free(&result);
    unlink(marker);
    config.contain = SBX_CONTAIN_AUTO;
    config.cgroup = "/nowhere/at/all";
    EXPECT_STREQ("", refused(&config, SBX_STEP_CGROUP, "cgroup", NULL));
    config.cgroup = "";
    TEST_RUN(&config, &result);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)result.verdict);
    EXPECT_STREQ("", test_lacks(result.message, "cgroup"));
    sbx_free(&result);
    forget_marker();
}

/* Asked for is in force, or nothing runs; never the next best thing. */
UTEST(seed, C13_nothing_falls_back_to_less) {
    static const sbx_policy policy;
    sbx_config config = {0};
    sbx_result result;
    config.contain = SBX_CONTAIN_TREE;
    result = RUN_CHILD(&config, "say", "ran");
    EXPECT_TRUE(result.verdict == SBX_NOT_STARTED ? result.out.total == 0
                                                  : (result.enforced & SBX_BY_TREE) != 0);
    sbx_free(&result);
    config.contain = SBX_CONTAIN_AUTO;
    config.policy = &policy;
    result = RUN_CHILD(&config, "say", "ran");
    EXPECT_TRUE(result.verdict == SBX_NOT_STARTED ? result.out.total == 0
                                                  : (result.enforced & SBX_BY_SECCOMP) != 0);
    sbx_free(&result);
    config.policy = NULL;
    config.cgroup = "/nowhere";
    result = RUN_CHILD(&config, "say", "ran");
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)result.verdict);
    EXPECT_EQ((int)SBX_STEP_CGROUP, (int)result.step);
    sbx_free(&result);
    config.cgroup = NULL; /* a limit that cannot be watched is in force in another way, and said */
    config.memory_bytes = 1 << 30;
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_EQ((int)SBX_OK, (int)result.verdict);
    EXPECT_EQ(test_has_watch() ? SBX_BY_WATCH : SBX_BY_RLIMIT_AS,
              (result.enforced & (SBX_BY_RLIMIT_AS | SBX_BY_WATCH)));
    sbx_free(&result);
}

/* ==== Messages ================================================================================ */

UTEST(config, control_characters_do_not_reach_a_message) {
    static const char *const argv[] = {"no\x7Fsuch\x1Bprogram\n", NULL};
    sbx_config config = {0};
    sbx_result result;
    config.argv = argv;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_TRUE_MSG(strstr(result.message, "no such program") != NULL, result.message);
    sbx_free(&result);
}

/* Each of them, at both ends of its range, and that their neighbours stay. */
UTEST(config, no_control_character_reaches_a_message) {
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"\x01", " "},
        {"\x1f", " "},
        {"\x7f", " "},
        {"~", "~"},
        {"\xc2\x80", "  "},
        {"\xc2\x9f", "  "},
        {"\xc2\xa0", "\xc2\xa0"},
        {"\xd8\x9b", "\xd8\x9b"},
        {"\xd8\x9c", "  "},
        {"\xd8\x9d", "\xd8\x9d"}, /* the Arabic letter mark */
        {"\xe2\x80\x8d", "\xe2\x80\x8d"},
        {"\xe2\x80\x8e", "   "},
        {"\xe2\x80\x8f", "   "}, /* left to right, and the reverse */
        {"\xe2\x80\x90", "\xe2\x80\x90"},
        {"\xe2\x80\xa7", "\xe2\x80\xa7"},
        {"\xe2\x80\xa8", "   "},
        {"\xe2\x80\xae", "   "}, /* line breaks, overrides */
        {"\xe2\x80\xaf", "\xe2\x80\xaf"},
        {"\xe2\x81\xa5", "\xe2\x81\xa5"},
        {"\xe2\x81\xa6", "   "},
        {"\xe2\x81\xa9", "   "}, /* isolates */
        {"\xe2\x81\xaa", "\xe2\x81\xaa"},
        {"\xff", "?"},
        {"\xed\xa0\x80", "???"}, /* no text at all */
    };
    size_t i;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *argv[] = {NULL, NULL};
        sbx_config config = {0};
        sbx_result result;
        argv[0] = test_text("no%ssuch", rows[i].text);
        config.argv = argv;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_NOT_STARTED, result);
        EXPECT_STREQ("", test_lacks(result.message, test_text("'no%ssuch'", rows[i].shown)));
        sbx_free(&result);
    }
}

/* A name of 55 bytes is told whole; of a longer one it is seen that something is missing. */
UTEST(config, long_names_are_cut_and_that_shows) {
    static const char long_name[] = "0123456789012345678901234567890123456789012345678901234!!!";
    size_t n;
    for (n = 54; n < 58; n++) {
        sbx_config config = {0};
        sbx_result result;
        config.name = test_text("%.*s", (int)n, long_name);
        result = RUN_CHILD(&config, "exit", "3");
        EXPECT_STREQ(test_text("'%.*s%s' exited with code 3", n > 55 ? 52 : (int)n, long_name,
                               n > 55 ? "..." : ""),
                     result.message);
        sbx_free(&result);
    }
}

/* ==== The largest value of every limit ======================================================== */

static const struct {
    const char *name;
    size_t offset;
    long long most;
} largest[] = {
    {"timeout_ms", offsetof(sbx_config, timeout_ms), 1000000000000LL},
    {"grace_ms", offsetof(sbx_config, grace_ms), 1000000000000LL},
    {"cpu_ms", offsetof(sbx_config, cpu_ms), 1000000000000LL},
    {"output_bytes", offsetof(sbx_config, output_bytes), 1LL << 50},
    {"memory_bytes", offsetof(sbx_config, memory_bytes), 1LL << 50},
    {"address_space_bytes", offsetof(sbx_config, address_space_bytes), 1LL << 50},
    {"file_bytes", offsetof(sbx_config, file_bytes), 1LL << 50},
    {"stack_bytes", offsetof(sbx_config, stack_bytes), 1LL << 50},
    {"open_files", offsetof(sbx_config, open_files), 1LL << 30},
    {"processes", offsetof(sbx_config, processes), 1LL << 30},
};

UTEST(config, largest_values_are_exact) {
    size_t i;
    for (i = 0; i < sizeof largest / sizeof *largest; i++) {
        sbx_config config = {0};
        sbx_result result;
        long long *value = (long long *)(void *)((char *)&config + largest[i].offset);
        config.argv = test_child_argv("exit", "0");
        *value = largest[i].most;
        TEST_RUN(&config, &result);
        /* What this system cannot limit, or not for this user, is another refusal. */
        if (result.verdict != SBX_OK)
            EXPECT_EQ_MSG((int)SBX_STEP_LIMITS, (int)result.step, result.message);
        sbx_free(&result);
        ++*value;
        TEST_RUN(&config, &result);
        EXPECT_EQ_MSG((int)SBX_STEP_CONFIG, (int)result.step, largest[i].name);
        EXPECT_TRUE_MSG(strstr(result.message, largest[i].name) != NULL, result.message);
        sbx_free(&result);
    }
}

/* ==== Environment and PATH ==================================================================== */

static const char *names_that_begin_alike(void *arg) {
    const char *env[] = {"SBX_NETX=child", NULL};
    sbx_config config = {0};
    sbx_result result;
    (void)arg;
    setenv("SBX_NET", "host", 1);
    setenv("SBX_NETXY", "host", 1);
    config.argv = test_child_argv("env");
    config.inherit_env = 1;
    config.env = env;
    TEST_MUST(sbx_run(&config, &result) == SBX_OK);
    TEST_MUST(strstr(result.out.data, "SBX_NET=host\n") != NULL);
    TEST_MUST(strstr(result.out.data, "SBX_NETXY=host\n") != NULL);
    TEST_MUST(strstr(result.out.data, "SBX_NETX=child\n") != NULL);
    sbx_free(&result);
    return "";
}

UTEST(config, names_of_variables_match_as_a_whole) {
    EXPECT_STREQ("", test_in_copy(names_that_begin_alike, NULL));
}

/* An empty element of PATH is the current directory, at the beginning, at the end and alone. */
static const char *program_here(void *arg) {
    static const char *const paths[] = {"", ":/bin:/usr/bin", "/bin:/usr/bin:", "/nowhere::/bin"};
    static const char text[] = "#!/bin/sh\necho here\n";
    static const char *const argv[] = {"sbx-net-here", NULL};
    char dir[PATH_MAX];
    size_t i;
    (void)arg;
    test_write_file(test_tmpdir(dir), argv[0], text, sizeof text - 1, 0755);
    TEST_MUST(chdir(dir) == 0);
    for (i = 0; i < sizeof paths / sizeof *paths; i++) {
        sbx_config config = {0};
        sbx_result result;
        int found;
        setenv("PATH", paths[i], 1);
        config.argv = argv;
        sbx_run(&config, &result);
        found = result.verdict == SBX_OK && strcmp(result.out.data, "here\n") == 0;
        if (!found) test_remove_tree(dir);
        if (!found) return test_text("PATH=%s: %s", paths[i], result.message);
        sbx_free(&result);
    }
    test_remove_tree(dir);
    return "";
}

UTEST(config, empty_element_of_path_is_the_current_directory) {
    EXPECT_STREQ("", test_in_copy(program_here, NULL));
}

/* A relative name cannot be found from a directory that is gone. */
static const char *program_of_nowhere(void *arg) {
    static const char *const argv[] = {"./x", NULL};
    sbx_config config = {0};
    sbx_result result;
    char dir[PATH_MAX];
    (void)arg;
    TEST_MUST(chdir(test_tmpdir(dir)) == 0 && rmdir(dir) == 0);
    config.argv = argv;
    TEST_MUST(sbx_run(&config, &result) == SBX_NOT_STARTED);
    TEST_MUST(result.sys_errno == ENOENT && !test_has_children());
    sbx_free(&result);
    setenv("PATH", "", 1);
    config.argv = (const char *const[]){"x", NULL};
    TEST_MUST(sbx_run(&config, &result) == SBX_NOT_STARTED);
    sbx_free(&result);
    return "";
}

UTEST(config, relative_program_in_a_directory_that_is_gone) {
    EXPECT_STREQ("", test_in_copy(program_of_nowhere, NULL));
}

/* ==== sbx_clamp =============================================================================== */

UTEST(config, clamp_raises_the_containment) {
    static const struct {
        sbx_contain own, ceiling, wanted;
    } rows[] = {
        {SBX_CONTAIN_AUTO, SBX_CONTAIN_AUTO, SBX_CONTAIN_AUTO},
        {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO, SBX_CONTAIN_AUTO},
        {SBX_CONTAIN_TREE, SBX_CONTAIN_AUTO, SBX_CONTAIN_TREE},
        {SBX_CONTAIN_AUTO, SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO},
        {SBX_CONTAIN_GROUP, SBX_CONTAIN_GROUP, SBX_CONTAIN_GROUP},
        {SBX_CONTAIN_TREE, SBX_CONTAIN_GROUP, SBX_CONTAIN_TREE},
        {SBX_CONTAIN_AUTO, SBX_CONTAIN_TREE, SBX_CONTAIN_TREE},
        {SBX_CONTAIN_GROUP, SBX_CONTAIN_TREE, SBX_CONTAIN_TREE},
        {SBX_CONTAIN_TREE, SBX_CONTAIN_TREE, SBX_CONTAIN_TREE},
    };
    size_t i;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        sbx_config config = {0}, ceiling = {0};
        config.contain = rows[i].own;
        ceiling.contain = rows[i].ceiling;
        sbx_clamp(&config, &ceiling);
        EXPECT_EQ_MSG((int)rows[i].wanted, (int)config.contain,
                      test_text("%d under %d", (int)rows[i].own, (int)rows[i].ceiling));
    }
}

UTEST(config, clamp_puts_the_policy_and_the_cgroup_of_the_ceiling) {
    sbx_policy own = {0}, wanted = {0};
    sbx_config config = {0}, ceiling = {0};
    config.policy = &own;
    config.cgroup = "own";
    sbx_clamp(&config, &ceiling); /* it has none: the config keeps its own */
    EXPECT_TRUE(config.policy == &own);
    EXPECT_STREQ("own", config.cgroup);
    ceiling.policy = &wanted;
    ceiling.cgroup = "ceiling";
    sbx_clamp(&config, &ceiling);
    EXPECT_TRUE(config.policy == &wanted);
    EXPECT_STREQ("ceiling", config.cgroup);
    config.policy = NULL;
    config.cgroup = NULL;
    sbx_clamp(&config, &ceiling);
    EXPECT_TRUE(config.policy == &wanted);
    EXPECT_STREQ("ceiling", config.cgroup);
}

/* ==== Another user ============================================================================ */

#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>

static int tell_user(void *arg, void *ret, size_t size) {
    unsigned *ids = (unsigned *)ret;
    (void)arg, (void)size;
    ids[0] = (unsigned)geteuid();
    ids[1] = (unsigned)getegid();
    ids[2] = (unsigned)getgroups(0, NULL);
    return 0;
}

/* A session's keys are the old user's. */
static const char *keep_keys(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    long key;
    (void)arg;
    if (syscall(SYS_keyctl, 1L, "sbx-test") < 0) return "skip: no session of keys here";
    key = syscall(SYS_add_key, "user", "sbx-test-key", "x", (size_t)1, -3L);
    if (key < 0) return "skip: no keys here";
    TEST_MUST(syscall(SYS_keyctl, 5L, key, 0x3f3f3f3fL) == 0); /* for everybody who can find it */
    config.argv = test_child_argv("net", "keys", "sbx-test-key");
    MUST_BE_WELL(test_run(&config, &result));
    if (strcmp(result.out.data, "found\n") != 0) return "skip: an emulator has no keys";
    sbx_free(&result);
    config.uid = 4242;
    MUST_BE_WELL(test_run(&config, &result));
    TEST_MUST(strcmp(result.out.data, "none\n") == 0);
    sbx_free(&result);
    return "";
}

UTEST(config, uid_leaves_the_keys_behind) {
    if (geteuid() != 0 || test_is_portable()) UTEST_SKIP("only root on Linux can do that");
    EXPECT_WELL(test_in_copy(keep_keys, NULL));
}

/* With and without a tree, with and without a policy: the ids, no other groups, no capabilities;
   what it makes is its own; and the host is dumpable as before. */
UTEST(config, uid_and_gid) {
    static const char command[] = "echo $(id -u) $(id -g) $(id -G); grep CapEff /proc/self/status; "
                                  "echo x >made";
    char dir[PATH_MAX];
    const char *write[2] = {dir, NULL};
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    struct stat st;
    unsigned ids[3];
    int round;
    if (geteuid() != 0) UTEST_SKIP("only root can become another user");
    test_tmpdir(dir);
    ASSERT_EQ(0, chmod(dir, 0777));
    policy.write = write;
    config.cwd = dir;
    config.uid = 4242;
    config.gid = 4343;
    for (round = 0; round < 4; round++) {
        config.contain = round % 2 ? SBX_CONTAIN_GROUP : SBX_CONTAIN_AUTO;
        config.policy = round / 2 && test_has_policy() ? &policy : NULL;
        config.command = command;
        unlink(test_text("%s/made", dir));
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_STREQ_MSG("4242 4343 4343\nCapEff:\t0000000000000000\n", result.out.data,
                         result.message);
        EXPECT_EQ(0, stat(test_text("%s/made", dir), &st));
        EXPECT_EQ(4242, (int)st.st_uid);
        EXPECT_EQ(4343, (int)st.st_gid);
        sbx_free(&result);
        EXPECT_EQ(1, prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
        EXPECT_EQ(0, (int)geteuid());
        config.command = NULL;
        if (!test_has_call()) continue;
        EXPECT_EQ(SBX_OK, (int)sbx_call(&config, tell_user, NULL, ids, sizeof ids, &result));
        EXPECT_EQ(4242u, ids[0]);
        EXPECT_EQ(4343u, ids[1]);
        EXPECT_EQ(0u, ids[2]);
        sbx_free(&result);
        EXPECT_EQ(1, prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    }
    test_remove_tree(dir);
}

/* A host with other groups, and with capabilities that it keeps when it changes its user. */
static const char *become_user(void *arg) {
    static const gid_t groups[] = {0, 4, 4747};
    static const char *const want[] = {"Uid:\t4242\t4242\t4242\t4242\n",
                                       "Gid:\t4343\t4343\t4343\t4343\n",
                                       "Groups:\t \n",
                                       "CapPrm:\t0000000000000000\n",
                                       "CapEff:\t0000000000000000\n",
                                       "CapAmb:\t0000000000000000\n"};
    sbx_config config = {0};
    sbx_result result;
    size_t i;
    config.contain = test_both[*(int *)arg];
    config.uid = 4242;
    config.gid = 4343;
    config.command = "cat /proc/self/status";
    if (syscall(SYS_setgroups, 3L, groups) != 0) return "skip: groups cannot be set here";
    MUST_BE_WELL(test_run(&config, &result));
    TEST_MUST(result.verdict == SBX_OK);
    for (i = 0; i < sizeof want / sizeof *want; i++)
        MUST_BE_WELL(test_lacks(result.out.data, want[i]));
    sbx_free(&result);
    config.uid = 0; /* the group alone: root's other ones are gone, too */
    MUST_BE_WELL(test_run(&config, &result));
    MUST_BE_WELL(test_lacks(result.out.data, want[1]));
    MUST_BE_WELL(test_lacks(result.out.data, want[2]));
    sbx_free(&result);
    return "";
}

/* Six words of capabilities, and the real, effective and saved ids. No exec has tidied up here. */
static int tell_credentials(void *arg, void *ret, size_t size) {
    unsigned head[2] = {0x20080522u, 0}, *told = (unsigned *)ret;
    uid_t u[3];
    gid_t g[3];
    int i;
    (void)arg;
    if (size != 12 * sizeof *told || syscall(SYS_capget, head, told) != 0) return 1;
    if (getresuid(&u[0], &u[1], &u[2]) != 0 || getresgid(&g[0], &g[1], &g[2]) != 0) return 2;
    for (i = 0; i < 3; i++) told[6 + i] = (unsigned)u[i], told[9 + i] = (unsigned)g[i];
    return 0;
}

static const char *become_user_in_a_call(void *arg) {
    unsigned told[12], i;
    sbx_config config = {0};
    sbx_result result;
    config.contain = test_both[*(int *)arg];
    config.uid = 4242;
    config.gid = 4343;
    TEST_MUST(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0);
    sbx_call(&config, tell_credentials, NULL, told, sizeof told, &result);
    if (result.verdict != SBX_OK) return test_text("%s", result.message);
    for (i = 0; i < 6; i++) TEST_MUST(told[i] == 0);
    for (i = 6; i < 9; i++) TEST_MUST(told[i] == 4242);
    for (i = 9; i < 12; i++) TEST_MUST(told[i] == 4343);
    sbx_free(&result);
    return "";
}

UTEST(config, uid_leaves_nothing_of_root) {
    int both;
    if (geteuid() != 0) UTEST_SKIP("only root can become another user");
    for (both = 0; both < 2; both++) {
        EXPECT_WELL(test_in_copy(become_user, &both));
        if (!test_is_portable() && test_has_call())
            EXPECT_STREQ("", test_in_copy(become_user_in_a_call, &both));
    }
}

/* In a user namespace without that user; root is the only one there. */
static const char *become_nobody(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    config.contain = SBX_CONTAIN_GROUP;
    config.command = "echo ran";
    if (*(int *)arg) config.uid = 4242;
    else config.gid = 4343;
    if (!own_users(0, 0, 0)) return "skip: no user namespace can be had here";
    MUST_BE_WELL(test_run(&config, &result));
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_SESSION);
    TEST_MUST(result.sys_errno == EPERM || result.sys_errno == EINVAL);
    MUST_BE_WELL(test_lacks(result.message, "its user could not be set up"));
    sbx_free(&result);
    return "";
}

UTEST(config, uid_that_cannot_be_had_runs_nothing) {
    int uid;
    for (uid = 0; uid < 2; uid++) EXPECT_WELL(test_in_copy(become_nobody, &uid));
}

UTEST(config, uid_makes_processes_bind_root) {
    sbx_config config = {0};
    sbx_result result;
    if (test_is_portable()) UTEST_SKIP("nobody counts there");
    if (geteuid() != 0) UTEST_SKIP("only root can become another user");
    config.uid = 4244;
    config.processes = 5;
    config.command = "i=0; while [ $i -lt 12 ]; do sleep 1 & i=$((i+1)); done; echo all";
    TEST_RUN(&config, &result);
    EXPECT_TRUE_MSG(strstr(result.out.data, "all") == NULL, result.out.data);
    EXPECT_TRUE(result.enforced & SBX_BY_RLIMIT_NPROC);
    sbx_free(&result);
    config.command = "sleep 0.01 & sleep 0.01 & wait; echo all";
    TEST_RUN(&config, &result);
    EXPECT_STREQ_MSG("all\n", result.out.data, result.err.data);
    sbx_free(&result);
    config.uid = 0;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    sbx_free(&result);
}

UTEST(config, uid_needs_a_host_that_is_root) {
    sbx_config config = {0};
    sbx_result result;
    config.command = "exit 0";
    config.uid = geteuid() == 0 ? ~0u : (unsigned)geteuid() + 1;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ(SBX_STEP_CONFIG, (int)result.step);
    EXPECT_TRUE_MSG(strstr(result.message, "uid = ") != NULL, result.message);
    sbx_free(&result);
    config.uid = 0;
    config.gid = geteuid() == 0 ? ~0u : (unsigned)getegid() + 1;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ(geteuid() == 0 ? EINVAL : EPERM, result.sys_errno);
    EXPECT_TRUE_MSG(strstr(result.message, "gid = ") != NULL, result.message);
    sbx_free(&result);
    config.uid = (unsigned)geteuid(); /* who it is already it may be */
    config.gid = (unsigned)getegid();
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    sbx_free(&result);
}

/* A program that the user may not run, a directory that it may not enter. */
UTEST(config, uid_failures_are_told) {
    char dir[PATH_MAX];
    sbx_config config = {0};
    sbx_result result;
    if (geteuid() != 0) UTEST_SKIP("only root can become another user");
    test_tmpdir(dir); /* mode 0700 */
    config.uid = 4242;
    config.command = "exit 0";
    config.cwd = dir;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ_MSG(SBX_STEP_CWD, (int)result.step, result.message);
    sbx_free(&result);
    test_remove_tree(dir);
}
#endif

UTEST(config, empty_path_of_a_policy_is_no_path) {
    static const char *const none[] = {"", NULL};
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    int i;
    if (!test_has_policy()) UTEST_SKIP("no policy there");
    for (i = 0; i < 2; i++) {
        if (i) policy.write = none;
        else policy.read = none;
        config.policy = &policy;
        config.command = "true";
        errno = ESRCH;
        EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_run(&config, &result));
        if (result.sys_errno == ENOSYS) UTEST_SKIP("no policy on this machine");
        EXPECT_EQ(ENOENT, result.sys_errno);
        policy.read = policy.write = NULL;
    }
}

UTEST(config, watch_of_many_needs_no_place_for_the_time) {
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    config.argv = test_child_argv("exit", "0");
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    sbx_get_watch_any(&box, 1, NULL);
    sbx_get_watch_any(NULL, 3, NULL);
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
}
