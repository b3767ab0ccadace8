/* utest.h - unit tests in one header.
 *
 * Our own code behind the macro names of the well-known utest.h, so that a suite written here also
 * builds with that file in its place. One unit holds UTEST_STATE() or UTEST_MAIN(); every other
 * unit only includes this and writes tests:
 *
 *     UTEST(set, name) { ASSERT_EQ(4, 2 + 2); }
 *
 * ASSERT_... ends the test, EXPECT_... lets it go on; both make it fail. A function that uses them
 * outside a test takes the test's `int *utest_result`.
 *
 * Tests register themselves before main() in static nodes, and nothing is allocated or kept open
 * while a test runs: the suites count descriptors, heap and children.
 */
#ifndef UTEST_H_INCLUDED
#define UTEST_H_INCLUDED

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__GNUC__) || defined(__clang__)
#define UTEST_UNUSED __attribute__((unused))
#define UTEST__BEFORE_MAIN __attribute__((constructor))
#else
#error "utest.h needs gcc or clang: tests register themselves by __attribute__((constructor))"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ==== State ==== */

enum { UTEST_TEST_PASSED = 0, UTEST_TEST_FAILURE = 1, UTEST_TEST_SKIPPED = 2 };

typedef struct utest__node { /* one UTEST, UTEST_F or UTEST_I */
    const char *name;        /* "set.name" */
    void (*run)(int *utest_result, size_t utest_index);
    size_t count;            /* runs: 1, or the bound of UTEST_I */
    int indexed;
    struct utest__node *next;
} utest__node;

struct utest_state_s {
    utest__node *first, *last;
    const char *failed_file; /* first failure of the running test, for the xunit file */
    int failed_line;
};

extern struct utest_state_s utest_state;

#ifdef __cplusplus
}
#endif

#define UTEST_STATE() struct utest_state_s utest_state = {NULL, NULL, NULL, 0}

static inline void utest__register(utest__node *node, size_t count) {
    node->count = count;
    if (utest_state.last != NULL)
        utest_state.last->next = node;
    else
        utest_state.first = node;
    utest_state.last = node;
}

/* ==== Defining tests ==== */

#define UTEST__NODE(id, text, is_indexed, bound)                                                 \
    static void utest__run_##id(int *utest_result, size_t utest_index);                          \
    UTEST__BEFORE_MAIN static void utest__add_##id(void) {                                       \
        static utest__node node = {text, utest__run_##id, 1, is_indexed, NULL};                  \
        utest__register(&node, (size_t)(bound));                                                 \
    }

#define UTEST(SET, NAME)                                                                         \
    static void utest__body_##SET##_##NAME(int *utest_result);                                   \
    UTEST__NODE(SET##_##NAME, #SET "." #NAME, 0, 1)                                              \
    static void utest__run_##SET##_##NAME(int *utest_result, size_t utest_index) {               \
        (void)utest_index;                                                                       \
        utest__body_##SET##_##NAME(utest_result);                                                \
    }                                                                                            \
    static void utest__body_##SET##_##NAME(UTEST_UNUSED int *utest_result)

/* A failed set-up leaves out the test and the tear-down; a failed test does not. */
#define UTEST_F_SETUP(FIXTURE)                                                                   \
    static void utest__setup_##FIXTURE(UTEST_UNUSED int *utest_result,                           \
                                       UTEST_UNUSED struct FIXTURE *utest_fixture)
#define UTEST_F_TEARDOWN(FIXTURE)                                                                \
    static void utest__teardown_##FIXTURE(UTEST_UNUSED int *utest_result,                        \
                                          UTEST_UNUSED struct FIXTURE *utest_fixture)
#define UTEST_F(FIXTURE, NAME)                                                                   \
    static void utest__setup_##FIXTURE(int *, struct FIXTURE *);                                 \
    static void utest__teardown_##FIXTURE(int *, struct FIXTURE *);                              \
    static void utest__body_##FIXTURE##_##NAME(int *, struct FIXTURE *);                         \
    UTEST__NODE(FIXTURE##_##NAME, #FIXTURE "." #NAME, 0, 1)                                      \
    static void utest__run_##FIXTURE##_##NAME(int *utest_result, size_t utest_index) {           \
        struct FIXTURE fixture;                                                                  \
        (void)utest_index;                                                                       \
        memset(&fixture, 0, sizeof fixture);                                                     \
        utest__setup_##FIXTURE(utest_result, &fixture);                                          \
        if (*utest_result != UTEST_TEST_PASSED) return;                                          \
        utest__body_##FIXTURE##_##NAME(utest_result, &fixture);                                  \
        utest__teardown_##FIXTURE(utest_result, &fixture);                                       \
    }                                                                                            \
    static void utest__body_##FIXTURE##_##NAME(UTEST_UNUSED int *utest_result,                   \
                                               UTEST_UNUSED struct FIXTURE *utest_fixture)

/* The body does not see the index: the set-up keeps it in the fixture. */
#define UTEST_I_SETUP(FIXTURE)                                                                   \
    static void utest__setup_i_##FIXTURE(UTEST_UNUSED int *utest_result,                         \
                                         UTEST_UNUSED struct FIXTURE *utest_fixture,             \
                                         UTEST_UNUSED size_t utest_index)
#define UTEST_I_TEARDOWN(FIXTURE)                                                                \
    static void utest__teardown_i_##FIXTURE(UTEST_UNUSED int *utest_result,                      \
                                            UTEST_UNUSED struct FIXTURE *utest_fixture,          \
                                            UTEST_UNUSED size_t utest_index)
#define UTEST_I(FIXTURE, NAME, INDEX)                                                            \
    static void utest__setup_i_##FIXTURE(int *, struct FIXTURE *, size_t);                       \
    static void utest__teardown_i_##FIXTURE(int *, struct FIXTURE *, size_t);                    \
    static void utest__body_##FIXTURE##_##NAME##_##INDEX(int *, struct FIXTURE *);               \
    UTEST__NODE(FIXTURE##_##NAME##_##INDEX, #FIXTURE "." #NAME, 1, INDEX)                        \
    static void utest__run_##FIXTURE##_##NAME##_##INDEX(int *utest_result, size_t utest_index) { \
        struct FIXTURE fixture;                                                                  \
        memset(&fixture, 0, sizeof fixture);                                                     \
        utest__setup_i_##FIXTURE(utest_result, &fixture, utest_index);                           \
        if (*utest_result != UTEST_TEST_PASSED) return;                                          \
        utest__body_##FIXTURE##_##NAME##_##INDEX(utest_result, &fixture);                        \
        utest__teardown_i_##FIXTURE(utest_result, &fixture, utest_index);                        \
    }                                                                                            \
    static void utest__body_##FIXTURE##_##NAME##_##INDEX(                                        \
        UTEST_UNUSED int *utest_result, UTEST_UNUSED struct FIXTURE *utest_fixture)

/* ==== Reporting a failure ==== */

/* Flushed each time: a test that forks must not copy pending text into its children. */
#define UTEST_PRINTF(...) ((void)printf(__VA_ARGS__), (void)fflush(stdout))

static inline void utest__failed(int *utest_result, const char *file, int line) {
    if (*utest_result != UTEST_TEST_FAILURE) {
        utest_state.failed_file = file;
        utest_state.failed_line = line;
    }
    *utest_result = UTEST_TEST_FAILURE;
    printf("%s:%d: Failure\n", file, line);
}

static inline void utest__failed_end(const char *message) {
    if (message != NULL) printf("   Message : %s\n", message);
    fflush(stdout);
}

static inline void utest__show_text(const char *text, size_t max) {
    if (text == NULL) {
        printf("(null)");
        return;
    }
    putchar('"');
    for (; *text != '\0' && max > 0; text++, max--) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '\n')
            printf("\\n");
        else if (byte < 32 || byte == 127)
            printf("\\x%02x", byte);
        else
            putchar(byte);
    }
    putchar('"');
}

static inline void utest__show_char(int value) {
    printf(value > 31 && value < 127 ? "%d '%c'" : "%d", value, value);
}
static inline void utest__show_signed(long long value) {
    printf("%lld", value);
}
static inline void utest__show_unsigned(unsigned long long value) {
    printf("%llu", value);
}
static inline void utest__show_real(long double value) {
    printf("%.17Lg", value);
}
static inline void utest__show_pointer(const volatile void *value) {
    printf("%p", (void *)(size_t)value);
}

/* UTEST__AUTO: a copy of the operand, so that it is evaluated once and can be shown. */
#if defined(__cplusplus)
#define UTEST__AUTO(name, x) auto name = (x)
#define UTEST__SHOW(x) utest__show(x)
template <typename T> static inline void utest__show(T *value) {
    utest__show_pointer((const volatile void *)value);
}
static inline void utest__show(bool v) { utest__show_signed(v); }
static inline void utest__show(char v) { utest__show_char(v); }
static inline void utest__show(signed char v) { utest__show_signed(v); }
static inline void utest__show(unsigned char v) { utest__show_signed(v); }
static inline void utest__show(short v) { utest__show_signed(v); }
static inline void utest__show(unsigned short v) { utest__show_signed(v); }
static inline void utest__show(int v) { utest__show_signed(v); }
static inline void utest__show(unsigned v) { utest__show_unsigned(v); }
static inline void utest__show(long v) { utest__show_signed(v); }
static inline void utest__show(unsigned long v) { utest__show_unsigned(v); }
static inline void utest__show(long long v) { utest__show_signed(v); }
static inline void utest__show(unsigned long long v) { utest__show_unsigned(v); }
static inline void utest__show(float v) { utest__show_real((long double)v); }
static inline void utest__show(double v) { utest__show_real((long double)v); }
static inline void utest__show(long double v) { utest__show_real(v); }
#else
/* The well-known file uses operands as x + 0; what that does not take (a pointer to an incomplete
 * type, an unbraced a & b) is refused here as well. */
#ifdef __clang__ /* warns of NULL + 0 */
#define UTEST__AUTO(name, x) __extension__ __auto_type name = (x)
#else
#define UTEST__AUTO(name, x)                                                                     \
    (void)sizeof(x + 0);                                                                         \
    __extension__ __auto_type name = (x)
#endif
#define UTEST__SHOW(x)                                                                           \
    (__extension__ _Generic((x),                                                                 \
         char: utest__show_char,                                                                 \
         _Bool: utest__show_signed, signed char: utest__show_signed,                             \
         short: utest__show_signed, int: utest__show_signed,                                     \
         long: utest__show_signed, long long: utest__show_signed,                                \
         unsigned char: utest__show_unsigned, unsigned short: utest__show_unsigned,              \
         unsigned: utest__show_unsigned, unsigned long: utest__show_unsigned,                    \
         unsigned long long: utest__show_unsigned,                                               \
         float: utest__show_real, double: utest__show_real, long double: utest__show_real,       \
         default: utest__show_pointer)(x))
#endif

/* ==== Checks. `stop` is `return` in the ASSERT forms and nothing in the EXPECT forms. ==== */

#define UTEST__TRUTH(x, wanted, stop, message)                                                   \
    do {                                                                                         \
        const int utest__x = !!(x);                                                              \
        if (utest__x != wanted) {                                                                \
            utest__failed(utest_result, __FILE__, __LINE__);                                     \
            printf("  Expected : %s\n    Actual : %s\n", wanted ? "true" : "false",              \
                   utest__x ? "true" : "false");                                                 \
            printf("        Of : %s\n", #x);                                                     \
            utest__failed_end(message);                                                          \
            stop;                                                                                \
        }                                                                                        \
    } while (0)

#define UTEST__COMPARE(x, op, y, stop, message)                                                  \
    do {                                                                                         \
        UTEST__AUTO(utest__x, x);                                                                \
        UTEST__AUTO(utest__y, y);                                                                \
        if (!(utest__x op utest__y)) {                                                           \
            utest__failed(utest_result, __FILE__, __LINE__);                                     \
            printf("  Expected : (%s) " #op " (%s)\n    Actual : ", #x, #y);                     \
            UTEST__SHOW(utest__x);                                                               \
            printf(" vs ");                                                                      \
            UTEST__SHOW(utest__y);                                                               \
            printf("\n");                                                                        \
            utest__failed_end(message);                                                          \
            stop;                                                                                \
        }                                                                                        \
    } while (0)

#define UTEST__TEXT(x, y, n, wanted, stop, message)                                              \
    do {                                                                                         \
        const char *utest__x = (x);                                                              \
        const char *utest__y = (y);                                                              \
        const size_t utest__n = (n);                                                             \
        if (utest__same_text(utest__x, utest__y, utest__n) != wanted) {                          \
            utest__failed(utest_result, __FILE__, __LINE__);                                     \
            printf("  Expected : %s %s %s\n    Actual : ", #x, wanted ? "same as" : "other than",\
                   #y);                                                                          \
            utest__show_text(utest__x, utest__n);                                                \
            printf(" vs ");                                                                      \
            utest__show_text(utest__y, utest__n);                                                \
            printf("\n");                                                                        \
            utest__failed_end(message);                                                          \
            stop;                                                                                \
        }                                                                                        \
    } while (0)

#define UTEST__NEAR(x, y, epsilon, stop, message)                                                \
    do {                                                                                         \
        const double utest__x = (double)(x);                                                     \
        const double utest__y = (double)(y);                                                     \
        const double utest__e = (double)(epsilon);                                               \
        const double utest__d = utest__x < utest__y ? utest__y - utest__x : utest__x - utest__y; \
        if (!(utest__d <= utest__e)) { /* negated, so that NaN fails */                          \
            utest__failed(utest_result, __FILE__, __LINE__);                                     \
            printf("  Expected : %s within %g of %s\n    Actual : %.17g vs %.17g\n", #x,         \
                   utest__e, #y, utest__x, utest__y);                                            \
            utest__failed_end(message);                                                          \
            stop;                                                                                \
        }                                                                                        \
    } while (0)

/* A NULL is the same as a NULL and other than any text. */
static inline int utest__same_text(const char *a, const char *b, size_t max) {
    if (a == NULL || b == NULL) return a == b;
    for (; max > 0; a++, b++, max--) {
        if (*a != *b) return 0;
        if (*a == '\0') return 1;
    }
    return 1;
}

#define UTEST__WHOLE ((size_t)-1)
#define UTEST__GO_ON if (0) return /* as in the well-known file: in void functions only */

#define EXPECT_TRUE(x) UTEST__TRUTH(x, 1, UTEST__GO_ON, NULL)
#define EXPECT_TRUE_MSG(x, msg) UTEST__TRUTH(x, 1, UTEST__GO_ON, msg)
#define ASSERT_TRUE(x) UTEST__TRUTH(x, 1, return, NULL)
#define ASSERT_TRUE_MSG(x, msg) UTEST__TRUTH(x, 1, return, msg)
#define EXPECT_FALSE(x) UTEST__TRUTH(x, 0, UTEST__GO_ON, NULL)
#define EXPECT_FALSE_MSG(x, msg) UTEST__TRUTH(x, 0, UTEST__GO_ON, msg)
#define ASSERT_FALSE(x) UTEST__TRUTH(x, 0, return, NULL)
#define ASSERT_FALSE_MSG(x, msg) UTEST__TRUTH(x, 0, return, msg)

#define EXPECT_EQ(x, y) UTEST__COMPARE(x, ==, y, UTEST__GO_ON, NULL)
#define EXPECT_EQ_MSG(x, y, msg) UTEST__COMPARE(x, ==, y, UTEST__GO_ON, msg)
#define ASSERT_EQ(x, y) UTEST__COMPARE(x, ==, y, return, NULL)
#define ASSERT_EQ_MSG(x, y, msg) UTEST__COMPARE(x, ==, y, return, msg)
#define EXPECT_NE(x, y) UTEST__COMPARE(x, !=, y, UTEST__GO_ON, NULL)
#define EXPECT_NE_MSG(x, y, msg) UTEST__COMPARE(x, !=, y, UTEST__GO_ON, msg)
#define ASSERT_NE(x, y) UTEST__COMPARE(x, !=, y, return, NULL)
#define ASSERT_NE_MSG(x, y, msg) UTEST__COMPARE(x, !=, y, return, msg)
#define EXPECT_LT(x, y) UTEST__COMPARE(x, <, y, UTEST__GO_ON, NULL)
#define EXPECT_LT_MSG(x, y, msg) UTEST__COMPARE(x, <, y, UTEST__GO_ON, msg)
#define ASSERT_LT(x, y) UTEST__COMPARE(x, <, y, return, NULL)
#define ASSERT_LT_MSG(x, y, msg) UTEST__COMPARE(x, <, y, return, msg)
#define EXPECT_LE(x, y) UTEST__COMPARE(x, <=, y, UTEST__GO_ON, NULL)
#define EXPECT_LE_MSG(x, y, msg) UTEST__COMPARE(x, <=, y, UTEST__GO_ON, msg)
#define ASSERT_LE(x, y) UTEST__COMPARE(x, <=, y, return, NULL)
#define ASSERT_LE_MSG(x, y, msg) UTEST__COMPARE(x, <=, y, return, msg)
#define EXPECT_GT(x, y) UTEST__COMPARE(x, >, y, UTEST__GO_ON, NULL)
#define EXPECT_GT_MSG(x, y, msg) UTEST__COMPARE(x, >, y, UTEST__GO_ON, msg)
#define ASSERT_GT(x, y) UTEST__COMPARE(x, >, y, return, NULL)
#define ASSERT_GT_MSG(x, y, msg) UTEST__COMPARE(x, >, y, return, msg)
#define EXPECT_GE(x, y) UTEST__COMPARE(x, >=, y, UTEST__GO_ON, NULL)
#define EXPECT_GE_MSG(x, y, msg) UTEST__COMPARE(x, >=, y, UTEST__GO_ON, msg)
#define ASSERT_GE(x, y) UTEST__COMPARE(x, >=, y, return, NULL)
#define ASSERT_GE_MSG(x, y, msg) UTEST__COMPARE(x, >=, y, return, msg)

#define EXPECT_STREQ(x, y) UTEST__TEXT(x, y, UTEST__WHOLE, 1, UTEST__GO_ON, NULL)
#define EXPECT_STREQ_MSG(x, y, msg) UTEST__TEXT(x, y, UTEST__WHOLE, 1, UTEST__GO_ON, msg)
#define ASSERT_STREQ(x, y) UTEST__TEXT(x, y, UTEST__WHOLE, 1, return, NULL)
#define ASSERT_STREQ_MSG(x, y, msg) UTEST__TEXT(x, y, UTEST__WHOLE, 1, return, msg)
#define EXPECT_STRNE(x, y) UTEST__TEXT(x, y, UTEST__WHOLE, 0, UTEST__GO_ON, NULL)
#define EXPECT_STRNE_MSG(x, y, msg) UTEST__TEXT(x, y, UTEST__WHOLE, 0, UTEST__GO_ON, msg)
#define ASSERT_STRNE(x, y) UTEST__TEXT(x, y, UTEST__WHOLE, 0, return, NULL)
#define ASSERT_STRNE_MSG(x, y, msg) UTEST__TEXT(x, y, UTEST__WHOLE, 0, return, msg)
#define EXPECT_STRNEQ(x, y, n) UTEST__TEXT(x, y, n, 1, UTEST__GO_ON, NULL)
#define EXPECT_STRNEQ_MSG(x, y, n, msg) UTEST__TEXT(x, y, n, 1, UTEST__GO_ON, msg)
#define ASSERT_STRNEQ(x, y, n) UTEST__TEXT(x, y, n, 1, return, NULL)
#define ASSERT_STRNEQ_MSG(x, y, n, msg) UTEST__TEXT(x, y, n, 1, return, msg)
#define EXPECT_STRNNE(x, y, n) UTEST__TEXT(x, y, n, 0, UTEST__GO_ON, NULL)
#define EXPECT_STRNNE_MSG(x, y, n, msg) UTEST__TEXT(x, y, n, 0, UTEST__GO_ON, msg)
#define ASSERT_STRNNE(x, y, n) UTEST__TEXT(x, y, n, 0, return, NULL)
#define ASSERT_STRNNE_MSG(x, y, n, msg) UTEST__TEXT(x, y, n, 0, return, msg)

#define EXPECT_NEAR(x, y, epsilon) UTEST__NEAR(x, y, epsilon, UTEST__GO_ON, NULL)
#define EXPECT_NEAR_MSG(x, y, epsilon, msg) UTEST__NEAR(x, y, epsilon, UTEST__GO_ON, msg)
#define ASSERT_NEAR(x, y, epsilon) UTEST__NEAR(x, y, epsilon, return, NULL)
#define ASSERT_NEAR_MSG(x, y, epsilon, msg) UTEST__NEAR(x, y, epsilon, return, msg)

#ifdef __cplusplus
/* `text` NULL: any what() will do. */
#define UTEST__THROWS(x, type, text, stop, message)                                              \
    do {                                                                                         \
        const char *utest__text = (text);                                                        \
        const char *utest__got = "no exception";                                                 \
        int utest__ok = 0;                                                                       \
        try {                                                                                    \
            x;                                                                                   \
        } catch (const type &utest__e) {                                                         \
            utest__ok = utest__text == NULL || strcmp(utest__e.what(), utest__text) == 0;        \
            utest__got = "another text in what()";                                               \
        } catch (...) {                                                                          \
            utest__got = "another type of exception";                                            \
        }                                                                                        \
        if (!utest__ok) {                                                                        \
            utest__failed(utest_result, __FILE__, __LINE__);                                     \
            printf("  Expected : %s\n    Actual : %s\n", #type, utest__got);                     \
            utest__failed_end(message);                                                          \
            stop;                                                                                \
        }                                                                                        \
    } while (0)

#define EXPECT_EXCEPTION(x, type) UTEST__THROWS(x, type, NULL, UTEST__GO_ON, NULL)
#define EXPECT_EXCEPTION_MSG(x, type, msg) UTEST__THROWS(x, type, NULL, UTEST__GO_ON, msg)
#define ASSERT_EXCEPTION(x, type) UTEST__THROWS(x, type, NULL, return, NULL)
#define ASSERT_EXCEPTION_MSG(x, type, msg) UTEST__THROWS(x, type, NULL, return, msg)
#define EXPECT_EXCEPTION_WITH_MESSAGE(x, type, text)                                             \
    UTEST__THROWS(x, type, text, UTEST__GO_ON, NULL)
#define EXPECT_EXCEPTION_WITH_MESSAGE_MSG(x, type, text, msg)                                    \
    UTEST__THROWS(x, type, text, UTEST__GO_ON, msg)
#define ASSERT_EXCEPTION_WITH_MESSAGE(x, type, text) UTEST__THROWS(x, type, text, return, NULL)
#define ASSERT_EXCEPTION_WITH_MESSAGE_MSG(x, type, text, msg)                                    \
    UTEST__THROWS(x, type, text, return, msg)
#endif

/* Ends the test as skipped, unless a check has already failed in it. */
#define UTEST_SKIP(msg)                                                                          \
    do {                                                                                         \
        printf("   Skipped : %s\n", (msg));                                                      \
        fflush(stdout);                                                                          \
        if (*utest_result == UTEST_TEST_PASSED) *utest_result = UTEST_TEST_SKIPPED;              \
        return;                                                                                  \
    } while (0)

/* ==== Running them ==== */

typedef struct utest__case { /* one line of the report: a node, or one index of it */
    const utest__node *node;
    size_t index;
    int result;
    long long ns;
    const char *failed_file;
    int failed_line;
} utest__case;

typedef struct utest__options {
    const char *filter, *output;
    int list, help, mixed_units, random_order;
    unsigned long seed;
    const char *unknown;
} utest__options;

static inline long long utest__now_ns(void) {
#if defined(CLOCK_MONOTONIC)
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
#else /* strict C99 without POSIX: whole seconds are better than nothing */
    return (long long)time(NULL) * 1000000000;
#endif
}

/* '*' stands for any text, also none. */
static inline int utest__matches(const char *pattern, const char *text) {
    const char *star = NULL, *retry = NULL;
    while (*text != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            retry = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++retry;
        } else {
            return 0;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == '\0';
}

static inline void utest__case_name(char *name, size_t size, const utest__case *test) {
    if (test->node->indexed)
        snprintf(name, size, "%s/%lu", test->node->name, (unsigned long)test->index);
    else
        snprintf(name, size, "%s", test->node->name);
}

/* The text after "--name=", or NULL. */
static inline const char *utest__value(const char *arg, const char *name) {
    size_t length = strlen(name);
    return strncmp(arg, name, length) == 0 && arg[length] == '=' ? arg + length + 1 : NULL;
}

static inline void utest__parse(utest__options *options, int argc, const char *const argv[]) {
    const char *value;
    int i;
    memset(options, 0, sizeof *options);
    options->seed = (unsigned long)time(NULL);
    for (i = 1; i < argc; i++) {
        if ((value = utest__value(argv[i], "--filter")) != NULL) {
            options->filter = value;
        } else if ((value = utest__value(argv[i], "--output")) != NULL) {
            options->output = value;
        } else if ((value = utest__value(argv[i], "--random-order")) != NULL) {
            options->random_order = 1;
            options->seed = strtoul(value, NULL, 0);
        } else if (strcmp(argv[i], "--random-order") == 0) {
            options->random_order = 1;
        } else if (strcmp(argv[i], "--list-tests") == 0) {
            options->list = 1;
        } else if (strcmp(argv[i], "--enable-mixed-units") == 0) {
            options->mixed_units = 1;
        } else if (strcmp(argv[i], "--help") == 0) {
            options->help = 1;
        } else {
            options->unknown = argv[i];
        }
    }
}

static inline void utest__usage(FILE *stream, const char *program) {
    fprintf(stream,
            "usage: %s [option]...\n"
            "  --help                  this text\n"
            "  --list-tests            the names, one per line\n"
            "  --filter=PATTERN        only tests whose name matches; * stands for any text\n"
            "  --output=FILE           also write an xunit file\n"
            "  --random-order[=SEED]   shuffle; the seed is printed\n"
            "  --enable-mixed-units    times in us, ms or s instead of ns\n",
            program);
}

static inline void utest__print_time(const utest__options *options, long long ns) {
    if (!options->mixed_units || ns < 1000)
        printf("(%lldns)", ns);
    else if (ns < 1000000)
        printf("(%lldus)", ns / 1000);
    else if (ns < 10000000000LL)
        printf("(%lldms)", ns / 1000000);
    else
        printf("(%llds)", ns / 1000000000);
}

/* Every chosen case, in the order to run; NULL without memory. */
static inline utest__case *utest__choose(const utest__options *options, size_t *count) {
    const utest__node *node;
    utest__case *cases, test;
    char name[256];
    size_t total = 0, used = 0, i;
    for (node = utest_state.first; node != NULL; node = node->next) total += node->count;
    cases = (utest__case *)calloc(total + 1, sizeof *cases);
    if (cases == NULL) return NULL;
    for (node = utest_state.first; node != NULL; node = node->next) {
        for (i = 0; i < node->count; i++) {
            memset(&test, 0, sizeof test);
            test.node = node;
            test.index = i;
            utest__case_name(name, sizeof name, &test);
            if (options->filter == NULL || utest__matches(options->filter, name))
                cases[used++] = test;
        }
    }
    if (options->random_order) {
        unsigned long random = options->seed;
        for (i = used; i > 1; i--) {
            size_t other;
            random = (random * 1103515245UL + 12345UL) & 0x7fffffffUL;
            other = (size_t)(random >> 8) % i;
            test = cases[i - 1];
            cases[i - 1] = cases[other];
            cases[other] = test;
        }
    }
    *count = used;
    return cases;
}

static inline int utest__write_xunit(const char *path, const utest__case *cases, size_t count,
                                     const size_t *sums) {
    FILE *file = fopen(path, "w");
    char name[256];
    size_t i;
    int bad;
    if (file == NULL) return 0;
    fprintf(file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuites tests=\"%lu\" name=\"All\">\n"
            "<testsuite name=\"Tests\" tests=\"%lu\" failures=\"%lu\" skipped=\"%lu\">\n",
            (unsigned long)count, (unsigned long)count,
            (unsigned long)sums[UTEST_TEST_FAILURE], (unsigned long)sums[UTEST_TEST_SKIPPED]);
    for (i = 0; i < count; i++) {
        const utest__case *test = &cases[i];
        utest__case_name(name, sizeof name, test);
        fprintf(file, "<testcase name=\"%s\" time=\"%.6f\">", name, (double)test->ns / 1e9);
        if (test->result == UTEST_TEST_FAILURE)
            fprintf(file, "<failure message=\"%s:%d\"/>",
                    test->failed_file ? test->failed_file : "?", test->failed_line);
        else if (test->result == UTEST_TEST_SKIPPED)
            fprintf(file, "<skipped/>");
        fprintf(file, "</testcase>\n");
    }
    fprintf(file, "</testsuite>\n</testsuites>\n");
    bad = ferror(file);
    return fclose(file) == 0 && !bad;
}

static inline void utest__run_case(utest__case *test) {
    long long start = utest__now_ns();
    utest_state.failed_file = NULL;
    utest_state.failed_line = 0;
    test->node->run(&test->result, test->index);
    test->ns = utest__now_ns() - start;
    test->failed_file = utest_state.failed_file;
    test->failed_line = utest_state.failed_line;
}

static inline void utest__list_result(const utest__case *cases, size_t count, int result,
                                      const char *tag, size_t sum) {
    char name[256];
    size_t i;
    if (sum == 0) return;
    printf("%s %lu tests, listed below:\n", tag, (unsigned long)sum);
    for (i = 0; i < count; i++) {
        if (cases[i].result != result) continue;
        utest__case_name(name, sizeof name, &cases[i]);
        printf("%s %s\n", tag, name);
    }
}

/* The exit status for main: 0 if nothing failed. */
static inline int utest_main(int argc, const char *const argv[]) {
    static const char *const plain[3] = {"[       OK ]", "[  FAILED  ]", "[  SKIPPED ]"};
    static const char *const colour[3] = {"\033[32m[       OK ]\033[0m",
                                          "\033[31m[  FAILED  ]\033[0m",
                                          "\033[33m[  SKIPPED ]\033[0m"};
    const char *const *tag = isatty(1) ? colour : plain;
    utest__options options;
    utest__case *cases;
    size_t count = 0, i, sums[3] = {0, 0, 0};
    char name[256];
    int status;
    utest__parse(&options, argc, argv);
    if (options.help || options.unknown != NULL) {
        if (options.unknown != NULL) fprintf(stderr, "unknown option: %s\n", options.unknown);
        utest__usage(options.unknown ? stderr : stdout, argc > 0 ? argv[0] : "tests");
        return options.unknown != NULL;
    }
    cases = utest__choose(&options, &count);
    if (cases == NULL) {
        fprintf(stderr, "utest: out of memory\n");
        return 1;
    }
    if (options.list) {
        for (i = 0; i < count; i++) {
            utest__case_name(name, sizeof name, &cases[i]);
            printf("%s\n", name);
        }
        free(cases);
        return 0;
    }
    if (options.random_order) printf("Random order, seed %lu\n", options.seed);
    printf("[==========] Running %lu test cases.\n", (unsigned long)count);
    for (i = 0; i < count; i++) {
        utest__case_name(name, sizeof name, &cases[i]);
        UTEST_PRINTF("[ RUN      ] %s\n", name);
        utest__run_case(&cases[i]);
        sums[cases[i].result]++;
        printf("%s %s ", tag[cases[i].result], name);
        utest__print_time(&options, cases[i].ns);
        UTEST_PRINTF("\n");
    }
    printf("[==========] %lu test cases ran.\n", (unsigned long)count);
    printf("[  PASSED  ] %lu tests.\n", (unsigned long)sums[UTEST_TEST_PASSED]);
    utest__list_result(cases, count, UTEST_TEST_SKIPPED, tag[2], sums[UTEST_TEST_SKIPPED]);
    utest__list_result(cases, count, UTEST_TEST_FAILURE, tag[1], sums[UTEST_TEST_FAILURE]);
    status = sums[UTEST_TEST_FAILURE] > 0;
    if (options.output != NULL && !utest__write_xunit(options.output, cases, count, sums)) {
        fprintf(stderr, "utest: cannot write %s\n", options.output);
        status = 1;
    }
    fflush(stdout);
    free(cases);
    return status;
}

#define UTEST_MAIN()                                                                             \
    UTEST_STATE();                                                                               \
    int main(int argc, const char *const argv[]) { return utest_main(argc, argv); }

#endif /* UTEST_H_INCLUDED */
