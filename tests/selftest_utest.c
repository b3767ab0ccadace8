/* Tests utest.h itself: runs a suite with known outcomes and reads its report. No check here uses
 * utest.h's own macros, since a broken macro would pass itself. Exit status 0 and one "ok" line per
 * check, "FAILED" otherwise. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "utest.h"

#ifdef __cplusplus
#include <stdexcept>
#endif

#include <fcntl.h>
#include <sys/stat.h>

UTEST_STATE();

/* ==== The suite that is watched ==== */

static int calls_after_expect, calls_after_assert, calls_after_skip, evaluations;
static int setups, teardowns, bodies;
static unsigned seen_indices;

UTEST(plain, passes) {
    char text[4] = {'a', 'b', 'c', 0};
    const char *nothing = NULL;
    const int *nowhere = NULL;
    unsigned char byte = 200;
    ASSERT_TRUE(1);
    ASSERT_TRUE(strchr(text, 'b'));
    ASSERT_FALSE(0);
    ASSERT_EQ(3, 3);
    ASSERT_EQ(200, byte);
    ASSERT_EQ(nowhere, (const int *)NULL);
    ASSERT_EQ(&text[0], text);
    ASSERT_NE(3, 4);
    ASSERT_LT(3, 4);
    ASSERT_LE(4, 4);
    ASSERT_GT(4.5, 4.0);
    ASSERT_GE((size_t)4, sizeof text);
    ASSERT_STREQ("abc", text);
    ASSERT_STREQ(nothing, nothing);
    ASSERT_STRNE("abd", text);
    ASSERT_STRNE("abcd", text);
    ASSERT_STRNE(nothing, text);
    ASSERT_STRNEQ("abX", text, 2);
    ASSERT_STRNEQ("abc", text, sizeof text + 9);
    ASSERT_STRNNE("abX", text, 3);
    ASSERT_NEAR(1.0, 1.05, 0.1);
    ASSERT_NEAR(1.05f, 1.0f, 0.1f);
}

UTEST(plain, messages_pass) {
    EXPECT_TRUE_MSG(1, "m");
    EXPECT_FALSE_MSG(0, "m");
    EXPECT_EQ_MSG(1, 1, "m");
    EXPECT_NE_MSG(1, 2, "m");
    EXPECT_LT_MSG(1, 2, "m");
    EXPECT_LE_MSG(1, 1, "m");
    EXPECT_GT_MSG(2, 1, "m");
    EXPECT_GE_MSG(2, 2, "m");
    EXPECT_STREQ_MSG("a", "a", "m");
    EXPECT_STRNE_MSG("a", "b", "m");
    EXPECT_STRNEQ_MSG("ab", "ac", 1, "m");
    EXPECT_STRNNE_MSG("ab", "ac", 2, "m");
    EXPECT_NEAR_MSG(1.0, 1.0, 0.0, "m");
    ASSERT_TRUE_MSG(1, "m");
    ASSERT_FALSE_MSG(0, "m");
    ASSERT_EQ_MSG(1, 1, "m");
    ASSERT_NE_MSG(1, 2, "m");
    ASSERT_LT_MSG(1, 2, "m");
    ASSERT_LE_MSG(1, 1, "m");
    ASSERT_GT_MSG(2, 1, "m");
    ASSERT_GE_MSG(2, 2, "m");
    ASSERT_STREQ_MSG("a", "a", "m");
    ASSERT_STRNE_MSG("a", "b", "m");
    ASSERT_STRNEQ_MSG("ab", "ac", 1, "m");
    ASSERT_STRNNE_MSG("ab", "ac", 2, "m");
    ASSERT_NEAR_MSG(1.0, 1.0, 0.0, "m");
}

/* One test per check that must be able to fail; each report is looked for below. */
UTEST(red, expect_goes_on) {
    EXPECT_EQ(3, 4);
    calls_after_expect++;
}
UTEST(red, assert_stops) {
    ASSERT_EQ_MSG(5u, 6u, "the reason");
    calls_after_assert++;
}
UTEST(red, failed_stays_failed) {
    EXPECT_TRUE(0);
    UTEST_SKIP("too late");
}
UTEST(red, truth) { ASSERT_TRUE(0); }
UTEST(red, falsehood) { ASSERT_FALSE(1); }
UTEST(red, ne) { ASSERT_NE(-7, -7); }
UTEST(red, lt) { ASSERT_LT(2, 2); }
UTEST(red, le) { ASSERT_LE(3, 2); }
UTEST(red, gt) { ASSERT_GT(2.5, 2.5); }
UTEST(red, ge) { ASSERT_GE(1ull, 2ull); }
UTEST(red, pointer) {
    int here = 0;
    const int *null = NULL;
    ASSERT_EQ(null, &here);
}
UTEST(red, letter) {
    char letter = 'x';
    ASSERT_EQ(letter, 'y');
}
UTEST(red, streq) { ASSERT_STREQ("one\n", "two"); }
UTEST(red, streq_null) {
    const char *nothing = NULL;
    ASSERT_STREQ(nothing, "two");
}
UTEST(red, strne) { ASSERT_STRNE("same", "same"); }
UTEST(red, strneq) { ASSERT_STRNEQ("abc", "abd", 3); }
UTEST(red, strnne) { ASSERT_STRNNE("abc", "abd", 2); }
UTEST(red, near_far) { ASSERT_NEAR(1.0, 2.0, 0.5); }
UTEST(red, near_nan) {
    double zero = 0.0;
    ASSERT_NEAR(zero / zero, 1.0, 1e9);
}
UTEST(red, evaluated_once) { EXPECT_EQ(evaluations++, 99); }

UTEST(skip, is_skipped) {
    UTEST_SKIP("not here");
    calls_after_skip++;
}

struct fixture {
    int value;
};
UTEST_F_SETUP(fixture) {
    setups++;
    ASSERT_EQ(0, utest_fixture->value);
    utest_fixture->value = 41;
}
UTEST_F_TEARDOWN(fixture) {
    teardowns++;
    EXPECT_EQ(42, utest_fixture->value);
}
UTEST_F(fixture, passes) {
    bodies++;
    EXPECT_EQ(41, utest_fixture->value);
    utest_fixture->value++;
}
UTEST_F(fixture, fails_and_is_torn_down) {
    bodies++;
    utest_fixture->value++;
    ASSERT_EQ(1, 2);
}

struct no_setup {
    int unused;
};
UTEST_F_SETUP(no_setup) {
    (void)utest_fixture;
    ASSERT_TRUE_MSG(0, "set-up failed");
}
UTEST_F_TEARDOWN(no_setup) {
    (void)utest_result, (void)utest_fixture;
    teardowns += 100;
}
UTEST_F(no_setup, is_left_out) {
    (void)utest_result, (void)utest_fixture;
    bodies += 100;
}

struct series {
    size_t index, doubled;
};
UTEST_I_SETUP(series) {
    (void)utest_result;
    utest_fixture->index = utest_index;
    utest_fixture->doubled = 2 * utest_index;
}
UTEST_I_TEARDOWN(series) {
    EXPECT_EQ(utest_index, utest_fixture->index);
    seen_indices |= 1u << utest_index;
}
UTEST_I(series, counts, 3) { ASSERT_EQ((2 * utest_fixture->index), utest_fixture->doubled); }

#ifdef __cplusplus
UTEST(cpp, exceptions) {
    ASSERT_EXCEPTION(throw std::runtime_error("boom"), std::runtime_error);
    ASSERT_EXCEPTION_WITH_MESSAGE(throw std::runtime_error("boom"), std::runtime_error, "boom");
}
UTEST(red, no_exception) { ASSERT_EXCEPTION((void)0, std::runtime_error); }
UTEST(red, other_exception) { ASSERT_EXCEPTION(throw 1, std::runtime_error); }
#define MORE_PASSED 1
#define MORE_FAILED 2
#else
#define MORE_PASSED 0
#define MORE_FAILED 0
#endif

#define PASSED (6 + MORE_PASSED)
#define FAILED (22 + MORE_FAILED)

/* ==== The watcher ==== */

static char report[65536];
static int failures;

static void check(int ok, const char *what) {
    printf("%s utest: %s\n", ok ? "ok     " : "FAILED ", what);
    failures += !ok;
}

static void slurp(const char *path) {
    FILE *file = fopen(path, "r");
    size_t size = 0;
    if (file != NULL) {
        size = fread(report, 1, sizeof report - 1, file);
        fclose(file);
    }
    report[size] = '\0';
}

/* utest_main with its standard output in `report`. */
static int run(const char *arg1, const char *arg2) {
    const char *argv[4] = {"selftest", NULL, NULL, NULL};
    char path[] = "/tmp/utest-XXXXXX";
    int file = mkstemp(path), saved, status, argc = 1;
    if (arg1 != NULL) argv[argc++] = arg1;
    if (arg2 != NULL) argv[argc++] = arg2;
    fflush(stdout);
    saved = dup(1);
    if (file < 0 || saved < 0 || dup2(file, 1) < 0) {
        fprintf(stderr, "FAILED  utest: no file for the report\n");
        exit(1);
    }
    status = utest_main(argc, argv);
    fflush(stdout);
    dup2(saved, 1);
    close(saved);
    close(file);
    slurp(path);
    unlink(path);
    return status;
}

/* What any utest.h does. */
static void check_behaviour(void) {
    int status = run(NULL, NULL);
    check(status != 0, "a failure gives a non-zero status");
    check(calls_after_expect == 1, "a failed EXPECT goes on");
    check(calls_after_assert == 0, "a failed ASSERT ends the test");
    check(calls_after_skip == 0, "UTEST_SKIP ends the test");
    check(evaluations == 1, "operands are evaluated once");
    check(setups == 2 && bodies == 2, "fixture: set-up and body ran");
    check(teardowns == 2, "fixture: tear-down ran, also after a failed ASSERT");
    check(seen_indices == 7u, "UTEST_I: every index, with its tear-down");
}

#ifdef UTEST_H_INCLUDED /* ours; another one has another report, and may not be run twice */

static int has(const char *text) {
    return strstr(report, text) != NULL;
}

static size_t count(const char *text) {
    const char *at = report;
    size_t found = 0;
    while ((at = strstr(at, text)) != NULL) {
        at += strlen(text);
        found++;
    }
    return found;
}

static int has_line(const char *format, int number) {
    char line[128];
    snprintf(line, sizeof line, format, number);
    return has(line);
}

static void check_report(void) {
    check(has_line("[==========] Running %d test cases.\n", PASSED + FAILED + 1), "announces all");
    check(has_line("[  PASSED  ] %d tests.\n", PASSED), "counts what passed");
    check(has_line("[  FAILED  ] %d tests, listed below:\n", FAILED), "counts what failed");
    check(has("[  SKIPPED ] 1 tests, listed below:\n"), "counts what was skipped");
    check(count("[ RUN      ] red.") == count("[  FAILED  ] red.") / 2, "every red test is red");
    check(count("[       OK ] ") == PASSED, "one OK line per passed test");
    check(has("[ RUN      ] plain.passes\n[       OK ] plain.passes ("), "RUN, OK, a time");
    check(has("[  SKIPPED ] skip.is_skipped (") && has("not here"), "says why it skipped");
    check(has("[       OK ] series.counts/2 ("), "UTEST_I: the index is in the name");
}

static void check_values(void) {
    run("--filter=red.*", NULL);
    check(has("(3) == (4)") && has("3 vs 4"), "shows ints");
    check(has("5 vs 6") && has("the reason"), "shows unsigned values and the message");
    check(has("-7 vs -7") && has("2.5 vs 2.5"), "shows negative and real values");
    check(has("120 'x' vs "), "shows a char as number and letter");
    check(has("\"one\\n\" vs \"two\"") && has("(null) vs \"two\""), "shows text and NULL");
    check(has("\"abc\" vs \"abd\"") && has("\"ab\" vs \"ab\""), "shows n bytes of text");
    check(has("selftest_utest.c:") && has(": Failure\n"), "names file and line");
}

static void check_options(void) {
    char path[] = "/tmp/utest-XXXXXX", option[64];
    int file = mkstemp(path);
    check(run("--filter=plain.*", NULL) == 0, "a green selection gives status 0");
    check(has("Running 2 test cases.") && !has("red."), "--filter selects");
    run("--filter=*r*s*/1", NULL);
    check(has("Running 1 test cases.") && has("series.counts/1"), "--filter with several stars");
    run("--filter=plain.passe", NULL);
    check(has("Running 0 test cases."), "--filter matches whole names only");
    check(run("--list-tests", NULL) == 0 && has("plain.passes\n") && has("series.counts/0\n") &&
              !has("RUN"), "--list-tests lists and runs nothing");
    check(run("--help", NULL) == 0 && has("--filter="), "--help");
    run("--filter=plain.*", "--random-order=7");
    check(has("seed 7") && has("plain.passes (") && has("plain.messages_pass ("), "--random-order");
    check(run("--filter=plain.*", "--enable-mixed-units") == 0, "--enable-mixed-units");
    if (file >= 0) close(file);
    snprintf(option, sizeof option, "--output=%s", path);
    run(option, NULL);
    slurp(path);
    unlink(path);
    check(has_line("failures=\"%d\"", FAILED) && has("skipped=\"1\"") && has("<skipped/>") &&
              has("<testcase name=\"plain.passes\"") && has("selftest_utest.c:"),
          "--output: xunit");
    if (freopen("/dev/null", "w", stderr) == NULL) check(0, "no /dev/null");
    check(run("--filter=plain.*", "--output=/nonexistent/x") != 0, "--output to nowhere");
    check(run("--bogus", NULL) != 0, "unknown option");
}

#endif

int main(void) {
    check_behaviour();
#ifdef UTEST_H_INCLUDED
    check_report();
    check_values();
    check_options();
#else
    printf("skipped: the report of utest.h, which is not ours\n");
#endif
    return failures != 0;
}
