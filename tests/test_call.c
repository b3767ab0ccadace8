/* Functions in a child: sbx_call. */
#include "test.h"

#include <pthread.h>
#include <sys/mman.h>

/* ==== Arguments and results =================================================================== */

typedef struct item {
    int value;
    const struct item *next;
} item;

typedef struct answer {
    long long sum;
    double half;
    int count;
    char text[16];
} answer;

/* Its argument is full of pointers: nothing has to be packed, it is all there in the copy. */
static int add_up(void *arg, void *ret, size_t ret_size) {
    const item *at;
    answer *a = (answer *)ret;
    if (ret_size != sizeof *a) return 1;
    for (at = (const item *)arg; at; at = at->next) a->sum += at->value, a->count++;
    a->half = (double)a->sum / 2;
    snprintf(a->text, sizeof a->text, "%d", a->count);
    return 0;
}

UTEST(seed, C1_function_with_arguments_returns_its_value) {
    item third = {39, NULL}, second = {2, &third}, first = {1, &second};
    sbx_config config = {0};
    sbx_result result;
    answer got;
    test_host before;
    test_host_save(&before);
    memset(&got, 0x55, sizeof got);
    EXPECT_EQ((int)SBX_OK, (int)sbx_call(&config, add_up, &first, &got, sizeof got, &result));
    EXPECT_STREQ("", test_result_flaw(&config, &result));
    EXPECT_EQ(42LL, got.sum);
    EXPECT_EQ(3, got.count);
    EXPECT_TRUE(got.half > 20.9 && got.half < 21.1);
    EXPECT_STREQ("3", got.text);
    EXPECT_EQ(1, result.certain);
    sbx_free(&result);
    EXPECT_EQ((int)SBX_OK, (int)sbx_call(&config, add_up, NULL, &got, sizeof got, NULL));
    EXPECT_EQ(0LL, got.sum); /* the place for the answer starts out as zeros, not as the last one */
    EXPECT_EQ((int)SBX_OK, (int)sbx_call(&config, test_fn_nothing, NULL, NULL, 0, &result));
    sbx_free(&result);
    EXPECT_STREQ("", test_host_diff(&before));
}

static int leaves_early(void *arg, void *ret, size_t ret_size) {
    memset(ret, 'x', ret_size / 2);
    switch (*(int *)arg) {
    case 0: _exit(0);
    case 1: _exit(7);
    case 2: return 5;
    case 3: exit(9);
    case 4: return -1;
    case 5: return 256; /* a code of which nothing is left in a byte */
    case 6: raise(SIGKILL); return 0;
    case 7: abort();
    default: break;
    }
    return 0;
}

UTEST(seed, C7_incomplete_result_is_no_result) {
    static const int codes[] = {0, 7, 5, 9, -2, -2}; /* -2 = some code that is not 0 */
    sbx_config config = {0};
    sbx_result result;
    char ret[64];
    int how;
    for (how = 0; how < 6; how++) {
        memset(ret, 0x55, sizeof ret);
        EXPECT_EQ((int)SBX_NO_RESULT,
                  (int)sbx_call(&config, leaves_early, &how, ret, sizeof ret, &result));
        EXPECT_STREQ("", test_result_flaw(&config, &result));
        if (codes[how] >= 0) EXPECT_EQ(codes[how], result.exit_code);
        if (codes[how] == -2) EXPECT_GT(result.exit_code, 0);
        EXPECT_EQ(0, result.signal);
        EXPECT_EQ(0x55, (int)ret[0]); /* half an answer never arrives */
        EXPECT_EQ(0x55, (int)ret[63]);
        sbx_free(&result);
    }
    for (; how < 8; how++) {
        memset(ret, 0x55, sizeof ret);
        EXPECT_EQ((int)SBX_CRASHED,
                  (int)sbx_call(&config, leaves_early, &how, ret, sizeof ret, &result));
        EXPECT_EQ(how == 6 ? SIGKILL : SIGABRT, result.signal);
        EXPECT_EQ(0x55, (int)ret[0]);
        sbx_free(&result);
    }
}

UTEST(seed, J9_ended_without_a_result) {
    sbx_config config = {0};
    sbx_result result;
    char ret[8];
    int how = 0;
    sbx_call(&config, leaves_early, &how, ret, sizeof ret, &result);
    EXPECT_EQ((int)SBX_NO_RESULT, (int)result.verdict); /* although it exited with 0 */
    EXPECT_EQ(0, result.exit_code);
    EXPECT_EQ(1, result.certain);
    EXPECT_TRUE(result.evidence & SBX_SAW_NO_RESULT);
    EXPECT_STREQ("", test_lacks(result.message, "result"));
    sbx_free(&result);
    how = 1;
    sbx_call(&config, leaves_early, &how, ret, sizeof ret, &result);
    EXPECT_EQ((int)SBX_NO_RESULT, (int)result.verdict);
    EXPECT_STREQ("", test_lacks(result.message, "7"));
    sbx_free(&result);
    how = 6;
    sbx_call(&config, leaves_early, &how, ret, sizeof ret, &result);
    EXPECT_EQ(SIGKILL, result.signal);
    sbx_free(&result);
}

/* The result does not travel through anything the function can print to, and is never decoded. */
static int prints_a_lot(void *arg, void *ret, size_t ret_size) {
    char forged[256];
    size_t i;
    (void)arg;
    memset(forged, 0x41, sizeof forged);
    printf("a print in the tool\n");
    fprintf(stderr, "and a warning\n");
    fflush(stdout);
    for (i = 0; i < 20; i++)
        if (write(1, forged, sizeof forged) < 0) return 1;
    memset(ret, 0x17, ret_size);
    return 0;
}

UTEST(seed, fails_result_mixed_with_output) {
    sbx_config config = {0};
    sbx_result result;
    char ret[32];
    EXPECT_EQ((int)SBX_OK, (int)sbx_call(&config, prints_a_lot, NULL, ret, sizeof ret, &result));
    EXPECT_EQ(0x17, (int)ret[0]);
    EXPECT_EQ(0x17, (int)ret[31]);
    EXPECT_EQ(20ULL + 20 * 256, result.out.total);
    EXPECT_EQ(0, strncmp(result.out.data, "a print in the tool\n", 20));
    EXPECT_STREQ("and a warning\n", result.err.data);
    sbx_free(&result);
}

static int big_result(void *arg, void *ret, size_t ret_size) {
    memset(ret, *(const char *)arg, ret_size);
    return 0;
}

UTEST(seed, fails_large_result_times_out) {
    static const size_t sizes[] = {1, 4095, 4096, 4097, 1 << 20, 16 << 20};
    sbx_config config = {0};
    unsigned i;
    config.timeout_ms = 20000;
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *ret = (char *)malloc(sizes[i] + 1), fill = (char)(i + 1);
        size_t at, wrong = 0;
        memset(ret, 0x55, sizes[i] + 1);
        EXPECT_EQ((int)SBX_OK, (int)sbx_call(&config, big_result, &fill, ret, sizes[i], NULL));
        for (at = 0; at < sizes[i]; at++) wrong += ret[at] != fill;
        EXPECT_EQ((size_t)0, wrong);
        EXPECT_EQ(0x55, (int)ret[sizes[i]]); /* and not a byte more */
        free(ret);
    }
}

/* The function runs in a copy of the host: it may find descriptors there, but no way to lie. */
static int forge_in_call(void *arg, void *ret, size_t ret_size) {
    int record[64], fd, i;
    (void)ret, (void)ret_size;
    for (i = 0; i < 64; i++) record[i] = 0;
    signal(SIGPIPE, SIG_IGN);
    for (fd = 0; fd < 256; fd++)
        if (fd != 1 && fd != 2 && fcntl(fd, F_GETFD) >= 0) {
            fcntl(fd, F_SETFL, O_NONBLOCK);
            for (i = 1; i <= 64; i *= 2)
                if (write(fd, record, (size_t)i * sizeof *record) < 0) break;
        }
    _exit(*(int *)arg);
}

UTEST(attack, a35_forges_a_result_in_a_call) {
    int code;
    for (code = 0; code < 4; code += 3) {
        sbx_config config = {0};
        sbx_result result;
        int value = 12345;
        sbx_call(&config, forge_in_call, &code, &value, sizeof value, &result);
        EXPECT_VERDICT(SBX_NO_RESULT, result);
        EXPECT_EQ(code, result.exit_code);
        EXPECT_EQ(12345, value);
        EXPECT_STREQ("", test_result_flaw(&config, &result));
        sbx_free(&result);
    }
}

#if defined(__linux__) && !defined(SBX_NO_LINUX)
/* Other pages of the file that the result lies in, and records of a failed start there: as long as
   it has no descriptor, the file does not get longer. */
static int forge_in_memory(void *arg, void *ret, size_t ret_size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), i, k;
    char *start = (char *)((size_t)ret / page * page);
    (void)ret_size;
    for (k = 0; k < 3; k++) {
        if (remap_file_pages(start, page, 0, k, 0) != 0) break;
        signal(SIGBUS, _exit); /* behind the end */
        for (i = 0; i < page; i += sizeof(int)) *(volatile int *)(void *)(start + i) = 5;
    }
    _exit(*(int *)arg);
}

UTEST(attack, a35_forges_a_failed_start_in_a_call) {
    int code = 3, contain;
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_GROUP; contain++) {
        sbx_config config = {0};
        sbx_result result;
        int value = 12345;
        config.contain = (sbx_contain)contain;
        sbx_call(&config, forge_in_memory, &code, &value, sizeof value, &result);
        EXPECT_VERDICT(SBX_NO_RESULT, result);
        EXPECT_EQ(12345, value);
        sbx_free(&result);
    }
}
#endif

/* ==== Failures: the text arrives, nothing is printed ========================================== */

static int fails_with_text(void *arg, void *ret, size_t ret_size) {
    memset(ret, 'x', ret_size);
    sbx_fail("%s", (const char *)arg);
    return 0;
}

static int fails_with_numbers(void *arg, void *ret, size_t ret_size) {
    (void)arg, (void)ret, (void)ret_size;
    sbx_fail("ValueError: %d of %lld is %s (%c, 100%%)", 7, 1LL << 40, "odd", 'x');
    return 0;
}

UTEST(seed, C8_failure_text_arrives_in_the_message) {
    sbx_config config = {0};
    sbx_result result;
    char ret[8];
    memset(ret, 0x55, sizeof ret);
    EXPECT_EQ((int)SBX_NO_RESULT,
              (int)sbx_call(&config, fails_with_numbers, NULL, ret, sizeof ret, &result));
    EXPECT_STREQ("", test_result_flaw(&config, &result));
    EXPECT_STREQ("", test_lacks(result.message, "ValueError: 7 of 1099511627776 is odd (x, 100%)"));
    EXPECT_EQ(0x55, (int)ret[0]);
    sbx_free(&result);
    sbx_call(&config, fails_with_text, (void *)(size_t) "no such key", ret, sizeof ret, &result);
    EXPECT_EQ((int)SBX_NO_RESULT, (int)result.verdict);
    EXPECT_STREQ("", test_lacks(result.message, "no such key"));
    EXPECT_EQ(0x55, (int)ret[0]);
    sbx_free(&result);
}

/* Whatever text a function fails with: it arrives as one line that fits, or as a fair beginning. */
UTEST(seed, J7_any_failure_text_arrives) {
    static char longest[100000];
    static const char *const texts[] = {"", "x", "%s%n%d", "caf\xc3\xa9", "tab\tbell\a"};
    sbx_config config = {0};
    sbx_result result;
    char ret[4];
    size_t i;
    for (i = 0; i < sizeof texts / sizeof *texts; i++) {
        sbx_call(&config, fails_with_text, (void *)(size_t)texts[i], ret, sizeof ret, &result);
        EXPECT_EQ((int)SBX_NO_RESULT, (int)result.verdict);
        EXPECT_STREQ("", test_result_flaw(&config, &result));
        if (i < 4) EXPECT_STREQ("", test_lacks(result.message, texts[i]));
        sbx_free(&result);
    }
    sbx_call(&config, fails_with_text, (void *)(size_t) "first\nsecond\r\nthird", ret, sizeof ret,
             &result);
    EXPECT_STREQ("", test_result_flaw(&config, &result)); /* one line */
    EXPECT_STREQ("", test_lacks(result.message, "first"));
    EXPECT_STREQ("", test_lacks(result.message, "third"));
    sbx_free(&result);
    for (i = 0; i + 3 < sizeof longest; i += 2) memcpy(longest + i, "\xc3\xa9", 2);
    sbx_call(&config, fails_with_text, longest, ret, sizeof ret, &result);
    EXPECT_EQ((int)SBX_NO_RESULT, (int)result.verdict);
    EXPECT_STREQ("", test_result_flaw(&config, &result));
    EXPECT_GE(strlen(result.message), (size_t)100);
    EXPECT_EQ(strlen(result.message),
              sbx_utf8_prefix(result.message, strlen(result.message), (size_t)-1));
    sbx_free(&result);
}

/* Errors are returned: nothing on the host's streams, no abort, no exit. */
static const char *nothing_on_the_streams(void *arg) {
    static const char *const missing[] = {"/nowhere/at/all", NULL};
    char ret[4];
    sbx_config config = {0};
    sbx_result result;
    struct stat about;
    const char *path = test_write_file((const char *)arg, "streams", "", 0, 0600);
    int fd = open(path, O_RDWR | O_APPEND), how;
    TEST_MUST(fd >= 0 && dup2(fd, 1) == 1 && dup2(fd, 2) == 2);
    setvbuf(stdout, NULL, _IONBF, 0);
    config.grace_ms = -1;
    sbx_run(NULL, NULL);
    sbx_run(&config, NULL);
    config.argv = missing;
    sbx_run(&config, NULL);
    config.argv = test_child_argv("say", "out", "err", "3");
    TEST_MUST(sbx_run(&config, &result) == SBX_EXITED);
    sbx_free(&result);
    config.cwd = "/nowhere";
    TEST_MUST(sbx_run(&config, NULL) == SBX_NOT_STARTED);
    config.cwd = NULL;
    config.argv = test_child_argv("crash", "null");
    TEST_MUST(sbx_run(&config, NULL) == SBX_CRASHED);
    config.argv = test_child_argv("flood", "both");
    TEST_MUST(sbx_run(&config, NULL) == SBX_OUTPUT_LIMIT);
    config.argv = test_child_argv("ignore", "ignore");
    config.timeout_ms = 60;
    TEST_MUST(sbx_run(&config, NULL) == SBX_TIMED_OUT);
    config.timeout_ms = 0;
    config.out = SBX_DISCARD;
    config.err = SBX_DISCARD;
    config.argv = test_child_argv("say", "out", "err", "0");
    TEST_MUST(sbx_run(&config, NULL) == SBX_OK);
    config.out = SBX_DEFAULT;
    config.err = SBX_DEFAULT;
    config.argv = NULL;
    for (how = 0; how < 8; how++) sbx_call(&config, leaves_early, &how, ret, sizeof ret, NULL);
    sbx_call(&config, fails_with_numbers, NULL, NULL, 0, NULL);
    sbx_fail("outside of a call %d", 1); /* harmless there */
    TEST_MUST(fstat(fd, &about) == 0);
    if (about.st_size) {
        char text[500];
        ssize_t size = pread(fd, text, sizeof text - 1, 0);
        text[size > 0 ? size : 0] = 0;
        return test_text("on the host's streams: %s", text);
    }
    return "";
}

UTEST(seed, J5_errors_are_returned_and_nothing_is_printed) {
    char dir[PATH_MAX];
    test_tmpdir(dir);
    EXPECT_STREQ("", test_in_copy(nothing_on_the_streams, dir));
    test_remove_tree(dir);
}

/* ==== A world of its own ====================================================================== */

static int counter;
static char *heap_text;

static int counts(void *arg, void *ret, size_t ret_size) {
    (void)arg, (void)ret_size;
    *(int *)ret = ++counter;
    strcpy(heap_text, "changed");
    free(heap_text);
    return 0;
}

UTEST(seed, J11_every_call_has_a_heap_of_its_own) {
    sbx_config config = {0};
    int i, seen;
    heap_text = (char *)malloc(16);
    strcpy(heap_text, "host's");
    counter = 10;
    for (i = 0; i < 3; i++) {
        seen = 0;
        EXPECT_EQ((int)SBX_OK, (int)sbx_call(&config, counts, NULL, &seen, sizeof seen, NULL));
        EXPECT_EQ(11, seen); /* nobody sees what the one before did */
        EXPECT_EQ(10, counter);
        EXPECT_STREQ("host's", heap_text);
    }
    free(heap_text);
}

/* Crash and overflow of the child spare the host: a program and a function. */
static long long host_data[4] = {1, 2, 3, 4};

static int ruins_everything(void *arg, void *ret, size_t ret_size) {
    volatile int *volatile nowhere = NULL;
    (void)ret, (void)ret_size;
    memset(host_data, 0xff, sizeof host_data);
    memset(arg, 0xff, 4);
    close(0), close(1), close(2);
    *nowhere = 1;
    return 0;
}

static char *volatile taken; /* or a compiler finds out that nobody needs the memory */

static int takes_all_memory(void *arg, void *ret, size_t ret_size) {
    int i;
    (void)arg, (void)ret, (void)ret_size;
    alarm(20);
    for (i = 0; i < 300; i++) { /* 300 MB at most */
        char *block = (char *)malloc(1 << 20);
        if (!block) {
            static const char text[] = "out of memory\n";
            if (write(2, text, sizeof text - 1) < 0) _exit(2);
            _exit(1);
        }
        taken = (char *)memset(block, i + 1, 1 << 20);
    }
    test_sleep_ms(1000);
    return 0;
}

UTEST(seed, C11_crash_and_overflow_spare_the_host) {
    sbx_config config = {0};
    sbx_result result;
    char mine[4] = "abc", ret[4] = "def";
    test_host before;
    result = RUN_CHILD(&config, "crash", "null");
    EXPECT_EQ((int)SBX_CRASHED, (int)result.verdict);
    EXPECT_EQ(SIGSEGV, result.signal);
    sbx_free(&result);
    config.argv = NULL;
    test_host_save(&before);
    sbx_call(&config, ruins_everything, mine, ret, sizeof ret, &result);
    if (test_is_asan()) { /* which makes an exit of the signal */
        EXPECT_EQ((int)SBX_NO_RESULT, (int)result.verdict);
    } else {
        EXPECT_EQ((int)SBX_CRASHED, (int)result.verdict);
        EXPECT_EQ(SIGSEGV, result.signal);
    }
    EXPECT_STREQ("abc", mine);
    EXPECT_STREQ("def", ret);
    EXPECT_EQ(4LL, host_data[3]);
    sbx_free(&result);
    config.memory_bytes = 64 << 20;
    EXPECT_NE((int)SBX_OK,
              (int)sbx_call(&config, takes_all_memory, NULL, ret, sizeof ret, &result));
    if (!test_is_portable() || !test_is_asan()) /* there RLIMIT_AS stops the sanitizer itself */
        EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    EXPECT_STREQ("def", ret);
    sbx_free(&result);
    EXPECT_STREQ("", test_host_diff(&before));
    result = RUN_CHILD(&config, "memory", "own", "300");
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    EXPECT_EQ(test_is_portable() ? 0 : 1, result.certain);
    sbx_free(&result);
}

static int fn_tells_its_environment(void *arg, void *ret, size_t size) {
    const char *one = getenv("SBX_ONE"), *path = getenv("PATH");
    (void)arg;
    snprintf((char *)ret, size, "%s %s", one ? one : "none", path ? "path" : "none");
    return 0;
}

UTEST(host, call_sees_the_environment_of_the_config) {
    const char *env[] = {"SBX_ONE=1", NULL};
    sbx_config config = {0};
    sbx_result result;
    char text[32];
    EXPECT_EQ(SBX_OK, (int)sbx_call(&config, fn_tells_its_environment, NULL, text, 32, &result));
    EXPECT_STREQ("none none", text);
    sbx_free(&result);
    config.env = env;
    EXPECT_EQ(SBX_OK, (int)sbx_call(&config, fn_tells_its_environment, NULL, text, 32, &result));
    EXPECT_STREQ("1 none", text);
    sbx_free(&result);
    config.inherit_env = 1;
    EXPECT_EQ(SBX_OK, (int)sbx_call(&config, fn_tells_its_environment, NULL, text, 32, &result));
    EXPECT_STREQ("1 path", text);
    sbx_free(&result);
}

static int fn_locks_twice(void *arg, void *ret, size_t size) {
    pthread_mutexattr_t strict;
    pthread_mutex_t mutex;
    (void)arg, (void)size;
    pthread_mutexattr_init(&strict);
    pthread_mutexattr_settype(&strict, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&mutex, &strict);
    ((int *)ret)[0] = pthread_mutex_lock(&mutex);
    ((int *)ret)[1] = pthread_mutex_lock(&mutex);
    return 0;
}

static int fn_raises(void *arg, void *ret, size_t size) {
    (void)ret, (void)size;
    raise(*(int *)arg);
    return 0;
}

/* The libc keeps the number of the thread, which is another one in a tree. */
UTEST(host, call_knows_its_own_number) {
    sbx_config config = {0};
    sbx_result result;
    int number = SIGUSR1, codes[2] = {-1, -1};
    EXPECT_EQ(SBX_OK, (int)sbx_call(&config, fn_locks_twice, NULL, codes, sizeof codes, &result));
    EXPECT_EQ(0, codes[0]);
    EXPECT_EQ(EDEADLK, codes[1]);
    sbx_free(&result);
    EXPECT_EQ(SBX_CRASHED, (int)sbx_call(&config, fn_raises, &number, NULL, 0, &result));
    EXPECT_EQ(SIGUSR1, result.signal);
    sbx_free(&result);
}

/* ==== When it cannot begin, or in a hurry ===================================================== */

static int fn_endless(void *arg, void *ret, size_t ret_size) {
    volatile int on = 1;
    (void)arg, (void)ret, (void)ret_size;
    alarm(20);
    while (on) {
    }
    return 0;
}

/* In a large host a function begins late: its time may be over before it has a group of its own. */
static const char *call_in_a_hurry(void *arg) {
    static const size_t size = 200u << 20;
    char *large = (char *)malloc(size);
    int i;
    (void)arg;
    TEST_MUST(large != NULL);
    memset(large, 1, size);
    for (i = 0; i < 20; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.contain = SBX_CONTAIN_GROUP;
        config.timeout_ms = 1 + i % 3;
        config.grace_ms = i % 2 ? -1 : 5;
        if (sbx_call(&config, fn_endless, NULL, NULL, 0, &result) != SBX_TIMED_OUT)
            return test_text("%s", result.message);
        sbx_free(&result);
    }
    free(large);
    return "";
}

UTEST(host, call_whose_time_is_over_at_once) {
    EXPECT_STREQ("", test_in_copy(call_in_a_hurry, NULL));
}

/* The host has room for the result once, the child for a second time not. */
static const char *call_without_room(void *arg) {
    static const size_t size = 256u << 20;
    char *ret = (char *)calloc(1, size);
    struct rlimit room;
    int contain, count;
    (void)arg;
    TEST_MUST(ret != NULL);
    room.rlim_cur = room.rlim_max = size + (128u << 20);
    TEST_MUST(setrlimit(RLIMIT_AS, &room) == 0);
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_GROUP; contain++) {
        sbx_config config = {0};
        sbx_result result;
        config.contain = (sbx_contain)contain;
        count = test_count_fds();
        if (sbx_call(&config, test_fn_sevens, NULL, ret, size, &result) != SBX_NOT_STARTED ||
            result.step != SBX_STEP_MEMORY || result.sys_errno != ENOMEM || *ret)
            return test_text("%d: %s", contain, result.message);
        if (test_count_fds() != count) return "descriptors are left";
        sbx_free(&result);
    }
    free(ret);
    return "";
}

UTEST(host, call_that_cannot_begin) {
    if (test_is_asan()) UTEST_SKIP("sanitizers need much address space");
    EXPECT_STREQ("", test_in_copy(call_without_room, NULL));
}

static void *call_often(void *arg) {
    int i;
    for (i = 0; i < 40; i++) {
        sbx_config config = {0};
        sbx_result result;
        char seven = 0;
        config.timeout_ms = 20000;
        if (sbx_call(&config, test_fn_sevens, NULL, &seven, 1, &result) != SBX_OK || seven != 7)
            ++*(int *)arg;
        sbx_free(&result);
    }
    return NULL;
}

/* Each child is a copy that holds the descriptors of the other threads' calls. ThreadSanitizer does
   not support copies of a host with threads, so its run, which goes by names, leaves them out. */
UTEST(host, calls_side_by_side) {
    pthread_t threads[4];
    int wrong[4] = {0, 0, 0, 0}, i;
    for (i = 0; i < 4; i++) ASSERT_EQ(0, pthread_create(&threads[i], NULL, call_often, &wrong[i]));
    for (i = 0; i < 4; i++) {
        ASSERT_EQ(0, pthread_join(threads[i], NULL));
        EXPECT_EQ(0, wrong[i]);
    }
}
