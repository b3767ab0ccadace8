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
    NEED_CALL();
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
    NEED_CALL();
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
    NEED_CALL();
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
    NEED_CALL();
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
    NEED_CALL();
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
    NEED_CALL();
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
    NEED_CALL();
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
    NEED_CALL();
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
    NEED_CALL();
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
    NEED_CALL();
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
    NEED_CALL();
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
    test_sleep_ms(15000); /* until somebody looks */
    return 0;
}

UTEST(seed, C11_crash_and_overflow_spare_the_host) {
    sbx_config config = {0};
    sbx_result result;
    char mine[4] = "abc", ret[4] = "def";
    test_host before;
    NEED_CALL();
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
    if (test_has_watch() || !test_is_asan()) /* there RLIMIT_AS stops the sanitizer itself */
        EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    EXPECT_STREQ("def", ret);
    sbx_free(&result);
    EXPECT_STREQ("", test_host_diff(&before));
    result = RUN_CHILD(&config, "memory", "own", "300");
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    EXPECT_EQ(test_has_watch() ? 1 : 0, result.certain);
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
    NEED_CALL();
    EXPECT_EQ(SBX_OK, (int)sbx_call(&config, fn_tells_its_environment, NULL, text, 32, &result));
    EXPECT_STREQ("none path", text); /* PATH, and nothing else */
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

/* Neither reads the number that the libc keeps of the thread; call.first_thread_... does. */
UTEST(host, call_locks_and_raises) {
    sbx_config config = {0};
    sbx_result result;
    int number = SIGUSR1, codes[2] = {-1, -1};
    NEED_CALL();
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
    NEED_CALL();
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
    NEED_CALL();
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
    NEED_CALL();
    for (i = 0; i < 4; i++) ASSERT_EQ(0, pthread_create(&threads[i], NULL, call_often, &wrong[i]));
    for (i = 0; i < 4; i++) {
        ASSERT_EQ(0, pthread_join(threads[i], NULL));
        EXPECT_EQ(0, wrong[i]);
    }
}

/* ==== The stack =============================================================================== */

#ifdef __linux__

static int recurse(long bytes) {
    volatile char frame[8192];
    frame[0] = (char)bytes;
    if (bytes <= 0) return frame[0];
    return recurse(bytes - (long)sizeof frame) + frame[0];
}

static int fn_recurses(void *arg, void *ret, size_t size) {
    (void)size;
    *(int *)ret = recurse(*(long *)arg);
    return 0;
}

/* In a tree the stack is one that was made for it: as large as stack_bytes says, and no larger. */
UTEST(call, stack_bytes_binds_a_function_in_a_tree) {
    sbx_config config = {0};
    sbx_result result;
    long bytes = 256 * 1024;
    int ret;
    NEED_CALL();
    NEED_TREE();
    config.contain = SBX_CONTAIN_TREE;
    config.stack_bytes = MB;
    EXPECT_EQ(SBX_OK, (int)sbx_call(&config, fn_recurses, &bytes, &ret, sizeof ret, &result));
    sbx_free(&result);
    bytes = 2 * MB;
    EXPECT_EQ(SBX_CRASHED, (int)sbx_call(&config, fn_recurses, &bytes, &ret, sizeof ret, &result));
    EXPECT_EQ(SIGSEGV, result.signal);
    sbx_free(&result);
    config.stack_bytes = 16 * MB;
    bytes = 12 * MB;
    EXPECT_EQ(SBX_OK, (int)sbx_call(&config, fn_recurses, &bytes, &ret, sizeof ret, &result));
    sbx_free(&result);
}

/* The mapping that ends where the one of this stack begins; "" = there is none. */
static int fn_looks_below_its_stack(void *arg, void *ret, size_t size) {
    unsigned long here = (unsigned long)(size_t)__builtin_frame_address(0), from, to, last = 0;
    char line[512], access[8], below[8] = "";
    FILE *maps = fopen("/proc/self/maps", "r");
    (void)arg;
    if (!maps) return 1;
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &from, &to, access) != 3) continue;
        if (from <= here && here < to) {
            snprintf((char *)ret, size, "%s", last == from ? below : "");
            fclose(maps);
            return 0;
        }
        last = to;
        snprintf(below, sizeof below, "%s", access);
    }
    fclose(maps);
    return 2;
}

UTEST(call, stack_ends_at_a_guard_page) {
    sbx_config config = {0};
    sbx_result result;
    char below[16] = "?";
    NEED_CALL();
    NEED_TREE();
    config.contain = SBX_CONTAIN_TREE;
    EXPECT_EQ(SBX_OK,
              (int)sbx_call(&config, fn_looks_below_its_stack, NULL, below, sizeof below, &result));
    EXPECT_STREQ("---p", below);
    sbx_free(&result);
}
#endif

/* ==== Threads ================================================================================= */

static volatile sig_atomic_t signalled;
static void note_signal(int number) { signalled = number; }

static void *signal_the_first(void *thread) {
    pthread_kill(*(pthread_t *)thread, SIGUSR1);
    return NULL;
}

static int fn_is_signalled_by_a_thread(void *arg, void *ret, size_t size) {
    pthread_t first = pthread_self(), second;
    int waited;
    (void)arg, (void)size;
    signal(SIGUSR1, note_signal);
    if (pthread_create(&second, NULL, signal_the_first, &first) != 0) return 1;
    pthread_join(second, NULL);
    for (waited = 0; !signalled && waited < 5000; waited += 5) test_sleep_ms(5);
    *(int *)ret = signalled;
    return 0;
}

/* The C library keeps the number of each thread, and in a tree the first one's is another. What it
   keeps is used when one thread signals another. */
UTEST(call, first_thread_can_be_signalled_by_another) {
    static const sbx_contain contain[] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};
    int i, got;
    NEED_CALL();
    if (test_is_tsan()) UTEST_SKIP("after any fork ThreadSanitizer loses some such signals");
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.contain = contain[i];
        got = -1;
        EXPECT_EQ(SBX_OK, (int)sbx_call(&config, fn_is_signalled_by_a_thread, NULL, &got,
                                        sizeof got, &result));
        EXPECT_EQ(SIGUSR1, got);
        sbx_free(&result);
    }
}

/* ==== What it leaves ========================================================================== */

/* Everything on the page before ret, which is where the record of its end is kept. */
static int fn_scribbles_and_exits(void *arg, void *ret, size_t size) {
    char *page = (char *)((size_t)ret & ~(size_t)4095);
    (void)size;
    memset(page, *(int *)arg, (size_t)((char *)ret - page));
    _exit(0);
}

UTEST(call, scribbling_over_the_record_is_no_result) {
    int bytes[] = {0, 1, 'A', 255}, i, ret;
    NEED_CALL();
    for (i = 0; i < 4; i++) {
        sbx_config config = {0};
        sbx_result result;
        sbx_call(&config, fn_scribbles_and_exits, &bytes[i], &ret, sizeof ret, &result);
        EXPECT_VERDICT(SBX_NO_RESULT, result);
        EXPECT_STREQ("", test_result_flaw(&config, &result));
        sbx_free(&result);
    }
}

/* As sbx_fail leaves it, but its text has no end; behind it stands the rest of a word that would
   mean something. Only what fits a message is its text. */
static int fn_leaves_text_without_end(void *arg, void *ret, size_t size) {
    char *page = (char *)((size_t)ret & ~(size_t)4095), *record = page;
    const char *word = "\na table: out of memory\n";
    (void)arg, (void)size;
    memset(page, 'A', (size_t)((char *)ret - page));
    record += 8 + 4 + 256; /* a token, a flag, the text */
    memcpy(record - strlen(word) + 2, word, strlen(word)); /* the y is behind the text */
    _exit(1);
}

UTEST(call, text_of_a_failure_ends_where_its_room_ends) {
    sbx_config config = {0};
    sbx_result result;
    int ret;
    NEED_CALL();
    config.contain = SBX_CONTAIN_GROUP;
    config.address_space_bytes = 1LL << 48; /* more than it has: a sanitizer reserves much */
    sbx_call(&config, fn_leaves_text_without_end, NULL, &ret, sizeof ret, &result);
    EXPECT_VERDICT(SBX_NO_RESULT, result);
    EXPECT_STREQ("", test_result_flaw(&config, &result));
    EXPECT_EQ('A', result.message[0]);
    sbx_free(&result);
}

static int fn_fails_for_memory(void *arg, void *ret, size_t size) {
    (void)arg, (void)ret, (void)size;
    sbx_fail("a table: out of memory");
    return 0;
}

/* What it said by sbx_fail is heard like what it says on stderr. */
UTEST(call, failure_that_speaks_of_memory_under_a_limit) {
    sbx_config config = {0};
    sbx_result result;
    NEED_CALL();
    config.contain = SBX_CONTAIN_GROUP;
    sbx_call(&config, fn_fails_for_memory, NULL, NULL, 0, &result);
    EXPECT_VERDICT(SBX_NO_RESULT, result);
    EXPECT_STREQ("a table: out of memory", result.message);
    sbx_free(&result);
    config.address_space_bytes = 1LL << 48;
    sbx_call(&config, fn_fails_for_memory, NULL, NULL, 0, &result);
    EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
    EXPECT_EQ(0, result.certain);
    EXPECT_TRUE(result.evidence & SBX_SAW_MEMORY_TEXT);
    sbx_free(&result);
}

#ifdef __linux__
/* With privileges a mapped file can be opened again, and made shorter. */
static int fn_cuts_its_result(void *arg, void *ret, size_t size) {
    unsigned long at = (unsigned long)(size_t)ret, from, to;
    char line[512];
    struct stat about;
    int fd = -1;
    FILE *maps = fopen("/proc/self/maps", "r");
    (void)arg;
    memset(ret, 7, size);
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from <= at && at < to) {
            snprintf(line, sizeof line, "/proc/self/map_files/%lx-%lx", from, to);
            fd = open(line, O_RDWR);
            break;
        }
    if (maps) fclose(maps);
    if (fd < 0 || fstat(fd, &about) < 0) return 3;
    return ftruncate(fd, about.st_size - 1) == 0 ? 0 : 4;
}

UTEST(call, result_that_was_destroyed_is_none) {
    sbx_config config = {0};
    sbx_result result;
    char ret[100];
    NEED_CALL();
    memset(ret, 1, sizeof ret);
    sbx_call(&config, fn_cuts_its_result, NULL, ret, sizeof ret, &result);
    if (test_is_portable() || result.exit_code == 3)
        UTEST_SKIP("the memory of the result is no file that can be reached");
    EXPECT_VERDICT(SBX_NO_RESULT, result);
    EXPECT_STREQ("", test_result_flaw(&config, &result));
    sbx_free(&result);
}
#endif

/* ==== Streams of stdio ======================================================================== */

static int fn_prints(void *arg, void *ret, size_t size) {
    (void)arg, (void)ret, (void)size;
    printf("function");
    fprintf(stderr, "error");
    return 0;
}

static const char *host_with_unwritten_text(void *arg) {
    static char room[2][4096];
    sbx_config config = {0};
    sbx_result result;
    int null = open("/dev/null", O_WRONLY);
    (void)arg;
    TEST_MUST(dup2(null, 1) == 1 && dup2(null, 2) == 2);
    setvbuf(stdout, room[0], _IOFBF, sizeof room[0]);
    setvbuf(stderr, room[1], _IOFBF, sizeof room[1]);
    printf("the host's");
    fprintf(stderr, "the host's");
    TEST_MUST(sbx_call(&config, fn_prints, NULL, NULL, 0, &result) == SBX_OK);
    if (strcmp(result.out.data, "function") || strcmp(result.err.data, "error"))
        return test_text("'%s' and '%s'", result.out.data, result.err.data);
    sbx_free(&result);
    return "";
}

UTEST(call, unwritten_text_of_the_host_stays_the_hosts) {
    NEED_CALL();
    EXPECT_STREQ("", test_in_copy(host_with_unwritten_text, NULL));
}

static int fn_reads_stdin(void *arg, void *ret, size_t size) {
    (void)arg;
    memset(ret, 0, size);
    return fread(ret, 1, size - 1, stdin) > size; /* what it finds is the result */
}

/* The host has read one line, and the C library more: the function has an input of its own. */
static const char *host_with_unread_text(void *arg) {
    static const char text[] = "first\nsecond\nthird\n";
    sbx_config config = {0};
    sbx_result result;
    char line[64], ret[64];
    int fds[2];
    (void)arg;
    TEST_MUST(pipe(fds) == 0 && write(fds[1], text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    close(fds[1]);
    TEST_MUST(dup2(fds[0], 0) == 0);
    clearerr(stdin);
    TEST_MUST(fgets(line, sizeof line, stdin) && strcmp(line, "first\n") == 0);
    TEST_MUST(sbx_call(&config, fn_reads_stdin, NULL, ret, sizeof ret, &result) == SBX_OK);
    if (*ret) return test_text("the function read '%s'", ret);
    sbx_free(&result);
    config.input = "own";
    config.input_size = 3;
    TEST_MUST(sbx_call(&config, fn_reads_stdin, NULL, ret, sizeof ret, &result) == SBX_OK);
    if (strcmp(ret, "own")) return test_text("the function read '%s'", ret);
    sbx_free(&result);
    TEST_MUST(fgets(line, sizeof line, stdin) && strcmp(line, "second\n") == 0);
    return "";
}

UTEST(call, unread_text_of_the_host_stays_the_hosts) {
    NEED_CALL();
    EXPECT_STREQ("", test_in_copy(host_with_unread_text, NULL));
}

/* ==== Memory ================================================================================== */

static int fn_waits_for_a_look(void *arg, void *ret, size_t size) {
    (void)arg, (void)ret, (void)size;
    test_sleep_ms(100);
    return 0;
}

/* A function begins with a copy of the host; only what it makes of it is its own. */
static const char *call_of_a_large_host(void *arg) {
    static const sbx_contain contain[] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};
    size_t size = 120 * MB;
    char *block =
        (char *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int i, tries = 0;
    (void)arg;
    TEST_MUST(block != (char *)MAP_FAILED);
    memset(block, 1, size);
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.contain = contain[i];
        config.memory_bytes = i ? 60 * MB : 0;
        do { /* until the machine is not too busy */
            TEST_MUST(sbx_call(&config, fn_waits_for_a_look, NULL, NULL, 0, &result) == SBX_OK);
            sbx_free(&result);
        } while (result.peak_bytes < 0 && ++tries < 20);
        if (result.peak_bytes > 40 * MB)
            return test_text("peak_bytes = %lld of contain = %d", result.peak_bytes,
                             (int)contain[i]);
        if (!test_is_asan()) TEST_MUST(result.peak_bytes > 0); /* it was looked at */
    }
    return "";
}

UTEST(call, peak_of_a_function_is_without_the_host) {
    NEED_CALL();
    if (!test_has_watch()) UTEST_SKIP("nobody looks at memory there");
    EXPECT_STREQ("", test_in_copy(call_of_a_large_host, NULL));
}

/* ==== Memory that the function must not see =================================================== */

static unsigned char in_data[3 * 4096];

typedef struct found {
    unsigned long secrets, others;
} found;

typedef struct places {
    const unsigned char *heap, *shared;
    size_t size;
} places;

static unsigned long sum_bytes(const unsigned char *at, size_t size) {
    unsigned long sum = 0;
    while (size-- > 0) sum += at[size];
    return sum;
}

/* Of each place the bytes from 100 to size - 100 are secret. */
static int look_for_secrets(void *arg, void *ret, size_t ret_size) {
    const places *p = (const places *)arg;
    const unsigned char *each[3];
    found *f = (found *)ret;
    int i;
    (void)ret_size;
    each[0] = p->heap;
    each[1] = p->shared;
    each[2] = in_data;
    for (i = 0; i < 3; i++) {
        f->secrets += sum_bytes(each[i] + 100, p->size - 200);
        f->others += sum_bytes(each[i], 100) + sum_bytes(each[i] + p->size - 100, 100);
    }
    memset((char *)(size_t)p->shared + 200, 7, 100); /* and cannot be reached by writing either */
    return 0;
}

UTEST(call, secrets_are_not_in_the_copy) {
    size_t size = sizeof in_data, i;
    unsigned char on_stack[64], *heap, *shared;
    sbx_range secrets[5];
    places where;
    found got;
    sbx_config config = {0};
    sbx_result result;
    int contain;
    NEED_CALL();
    if (test_is_asan()) UTEST_SKIP("a sanitizer keeps its own things in these pages");
    heap = (unsigned char *)malloc(size);
    shared = (unsigned char *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                   -1, 0);
    ASSERT_TRUE(heap != NULL && shared != MAP_FAILED);
    memset(heap, 1, size);
    memset(shared, 1, size);
    memset(in_data, 1, size);
    memset(on_stack, 1, sizeof on_stack);
    secrets[0].at = heap + 100;
    secrets[1].at = shared + 100;
    secrets[2].at = in_data + 100;
    for (i = 0; i < 3; i++) secrets[i].size = size - 200;
    secrets[3].at = on_stack;
    secrets[3].size = sizeof on_stack;
    secrets[4].at = NULL;
    where.heap = heap;
    where.shared = shared;
    where.size = size;
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_GROUP; contain++) {
        config.contain = (sbx_contain)contain;
        config.secrets = NULL;
        EXPECT_EQ(SBX_OK,
                  (int)sbx_call(&config, look_for_secrets, &where, &got, sizeof got, &result));
        EXPECT_TRUE(got.secrets >= 3 * (size - 200)); /* without the list it sees all */
        sbx_free(&result);
        memset(shared, 1, size);
        config.secrets = secrets;
        EXPECT_EQ(SBX_OK,
                  (int)sbx_call(&config, look_for_secrets, &where, &got, sizeof got, &result));
        EXPECT_EQ_MSG(0ul, got.secrets, result.message);
        EXPECT_EQ(600ul, got.others);
        sbx_free(&result);
        EXPECT_EQ((unsigned long)size,
                  sum_bytes(shared, size)); /* the host's own are as they were */
        EXPECT_EQ((unsigned long)size, sum_bytes(heap, size));
        EXPECT_EQ(64ul, sum_bytes(on_stack, sizeof on_stack));
    }
    free(heap);
    munmap(shared, size);
}

UTEST(call, secrets_that_cannot_be_forgotten_are_refused) {
    sbx_range list[3];
    sbx_config config = {0};
    sbx_result result;
    char data[100];
    int i;
    NEED_CALL();
    config.secrets = list;
    for (i = 0; i < 3; i++) {
        list[0].at = data;
        list[0].size = sizeof data;
        list[1].at = i == 1 ? (char *)&list[2] : data;
        list[1].size = i == 0 ? (size_t)-1 : 1;
        if (i == 2) list[0].at = (char *)list - 10;
        list[2].at = NULL;
        EXPECT_EQ((int)SBX_NOT_STARTED,
                  (int)sbx_call(&config, look_for_secrets, NULL, NULL, 0, &result));
        EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
        EXPECT_STREQ("", test_lacks(result.message, i == 2 ? "secrets[0]" : "secrets[1]"));
        EXPECT_STREQ("", test_lacks(result.message, i == 0 ? "end of memory" : "list"));
    }
}

static int returns_0(void *arg, void *ret, size_t size) {
    (void)arg, (void)ret, (void)size;
    return 0;
}

/* Memory that nobody may read is forgotten as well, and what is none is refused: in neither case
   does the function end by a signal before it begins. */
UTEST(call, secrets_in_closed_pages_and_in_none) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *closed = (char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                -1, 0);
    sbx_range list[2];
    sbx_config config = {0};
    sbx_result result;
    int i;
    NEED_CALL();
    ASSERT_TRUE(closed != (char *)MAP_FAILED);
    memset(closed, 1, 2 * page);
    memset(list, 0, sizeof list);
    config.contain = SBX_CONTAIN_GROUP;
    config.secrets = list;
    list[0].size = 10;
    for (i = 0; i < 3; i++) {
        static const int rights[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE};
        ASSERT_EQ(0, mprotect(closed, page, rights[i]));
        list[0].at = closed + 20;
        sbx_call(&config, returns_0, NULL, NULL, 0, &result);
        EXPECT_VERDICT(SBX_OK, result);
        sbx_free(&result);
    }
    list[0].at = (char *)NULL + page + 20; /* nothing ever stands there */
    sbx_call(&config, returns_0, NULL, NULL, 0, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ((int)SBX_STEP_MEMORY, (int)result.step);
    EXPECT_EQ(EFAULT, result.sys_errno);
    munmap(closed, 2 * page);
}

/* The process that was started has to return from the function, not a copy of it. */
static int fn_leaves_it_to_a_copy(void *arg, void *ret, size_t size) {
    (void)arg, (void)size;
    if (fork() > 0) {
        wait(NULL);
        _exit(0);
    }
    *(int *)ret = 1;
    return 0;
}

/* Sleeps for so many milliseconds. */
static int sleeps(void *arg, void *ret, size_t size) {
    test_sleep_ms(*(long long *)arg);
    return size == sizeof(int) ? (*(int *)ret = 7, 0) : 1;
}

/* A function that was given more time is not ended by a clock of its own. */
UTEST(call, more_time_is_more_time) {
    long long timeout = 250, ms;
    int both;
    NEED_CALL();
    for (both = 0; both < 2; both++)
        for (; timeout < LONG_MS; timeout *= 3) { /* longer, if it could not start in that time */
            sbx_config config = {0};
            sbx_result result;
            int value = 0, set;
            sbx *box;
            config.contain = test_both[both];
            config.timeout_ms = timeout;
            ms = timeout + 150;
            box = sbx_start_call(&config, sleeps, &ms, &value, sizeof value, &result);
            set = sbx_set_timeout(box, 2 * LONG_MS);
            sbx_finish(box, &result);
            sbx_free(&result);
            if (!set) continue;
            EXPECT_VERDICT(SBX_OK, result);
            EXPECT_EQ(7, value);
            break;
        }
}

UTEST(call, a_copy_of_the_function_has_no_result) {
    sbx_config config = {0};
    sbx_result result;
    int ret = 0;
    NEED_CALL();
    sbx_call(&config, fn_leaves_it_to_a_copy, NULL, &ret, sizeof ret, &result);
    EXPECT_VERDICT(SBX_NO_RESULT, result);
    EXPECT_EQ(0, ret);
    sbx_free(&result);
}

/* ==== Functions from a nursery ================================================================ */

static int late_secret; /* set in the host after the nursery was opened */

static int fn_tells_what_it_sees(void *arg, void *ret, size_t size) {
    const char *x = getenv("X");
    int *numbers = (int *)arg, *to = (int *)ret;
    if (size != 3 * sizeof *to) return 9;
    to[0] = numbers[3] + 1;
    to[1] = late_secret;
    to[2] = x ? atoi(x) : -1;
    numbers[3] = 0; /* a copy: the host keeps its own */
    printf("from the nursery\n");
    return 0;
}

static int fn_crashes(void *arg, void *ret, size_t size) {
    (void)arg, (void)ret, (void)size;
    abort();
}

static int fn_counts_descriptors(void *arg, void *ret, size_t size) {
    int fd, count = 0;
    (void)arg, (void)size;
    for (fd = 0; fd < 1000; fd++) count += fcntl(fd, F_GETFD) >= 0;
    *(int *)ret = count;
    return 0;
}

static const char *with_a_nursery(void *arg) {
    static const char *const env[] = {"X=7", NULL};
    sbx_policy policy;
    sbx_result result;
    sbx_nursery *nursery;
    test_host before;
    int i, at = *(const int *)arg;
    long blocks = test_live_blocks();
    late_secret = 0;
    nursery = sbx_nursery_open(&result);
    if (!nursery) return test_text("no nursery: %s", result.message);
    late_secret = 1234;
    memset(&policy, 0, sizeof policy);
    test_host_save(&before);
    for (i = 0; i < 3; i++) {
        int numbers[4] = {1, 2, 3, 41}, ret[3] = {0, 0, 0}, count = 0;
        sbx_config config = {0};
        config.contain = (sbx_contain)(at % 3);
        if (at >= 3) config.policy = &policy;
        config.nursery = nursery;
        config.arg_size = sizeof numbers;
        config.env = env;
        sbx_call(&config, fn_tells_what_it_sees, numbers, ret, sizeof ret, &result);
        if (result.verdict != SBX_OK) return test_text("%s", result.message);
        if (ret[0] != 42 || ret[1] != 0 || ret[2] != 7 || numbers[3] != 41)
            return test_text("it saw %d %d %d, left %d", ret[0], ret[1], ret[2], numbers[3]);
        if (strcmp(result.out.data, "from the nursery\n")) return "its output is lost";
        sbx_free(&result);
        sbx_call(&config, fn_crashes, numbers, NULL, 0, &result);
        if (result.verdict != SBX_CRASHED || result.signal != SIGABRT)
            return test_text("a crash: %s", result.message);
        sbx_free(&result);
        sbx_call(&config, fn_counts_descriptors, numbers, &count, sizeof count, &result);
        if (result.verdict != SBX_OK || count != 3) return test_text("%d descriptors", count);
        sbx_free(&result);
    }
    if (*test_host_diff(&before)) return test_text("%s", test_host_diff(&before));
    sbx_nursery_close(nursery);
    if (test_has_children()) return "a child is left";
    return blocks == test_live_blocks() ? "" : "memory is left";
}

UTEST(call, nursery) {
    sbx_result result;
    sbx_caps caps;
    int at;
    if (test_is_portable() || !test_has_call()) {
        EXPECT_TRUE(sbx_nursery_open(&result) == NULL);
        EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
        return;
    }
    sbx_probe(&caps);
    for (at = 0; at < 6; at++)
        if ((at != 2 || caps.tree) && (at < 3 || caps.policy))
            EXPECT_STREQ("", test_in_copy(with_a_nursery, &at));
}

/* The process that lists this one as its parent; 0 = none. */
static pid_t only_child(void) {
    char text[64] = "";
    FILE *file = fopen(test_text("/proc/self/task/%d/children", (int)getpid()), "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[n] = 0;
    return (pid_t)atoi(text);
}

static const char *nursery_is_killed(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    sbx_nursery *nursery = sbx_nursery_open(&result);
    int i, number = 5;
    pid_t pid = only_child();
    (void)arg;
    TEST_MUST(nursery != NULL);
    TEST_MUST(pid > 0 && kill(pid, SIGKILL) == 0);
    config.nursery = nursery;
    config.arg_size = sizeof number;
    for (i = 0; i < 2 + test_has_tree(); i++) {
        config.contain = (sbx_contain)i;
        sbx_call(&config, fn_crashes, &number, NULL, 0, &result);
        TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_SPAWN);
        TEST_MUST(strstr(result.message, "nursery") != NULL);
        sbx_free(&result);
    }
    sbx_nursery_close(nursery);
    return test_has_children() ? "a child is left" : "";
}

UTEST(call, nursery_that_was_killed_refuses) {
    if (test_is_portable() || !test_has_call()) UTEST_SKIP("needs Linux");
    EXPECT_STREQ("", test_in_copy(nursery_is_killed, NULL));
}

UTEST(call, nursery_needs_to_know_the_size_of_arg) {
    sbx_config config = {0};
    sbx_result result;
    sbx_nursery *nursery;
    int number = 1;
    if (test_is_portable() || !test_has_call()) UTEST_SKIP("needs Linux");
    nursery = sbx_nursery_open(&result);
    ASSERT_TRUE(nursery != NULL);
    config.nursery = nursery;
    sbx_call(&config, fn_crashes, &number, NULL, 0, &result);
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    EXPECT_STREQ("", test_lacks(result.message, "arg_size"));
    config.command = "exit 0";
    sbx_run(&config, &result);
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    sbx_nursery_close(nursery);
}

/* ==== A nursery and copies of the host ======================================================== */

static int fn_nothing(void *arg, void *ret, size_t size) {
    (void)arg, (void)ret, (void)size;
    return 0;
}

/* The children of a nursery are its opener's: a copy of that one cannot use it, nor end it. */
UTEST(call, nursery_is_its_openers_alone) {
    sbx_nursery *nursery;
    sbx_config config = {0};
    sbx_result result;
    int status = 0;
    pid_t copy;
    NEED_CALL();
    nursery = sbx_nursery_open(&result);
    if (!nursery) UTEST_SKIP("no nursery here");
    config.nursery = nursery;
    copy = fork();
    if (copy == 0) {
        int refused = sbx_call(&config, fn_nothing, NULL, NULL, 0, &result) == SBX_NOT_STARTED &&
                      strstr(result.message, "another process") != NULL;
        sbx_nursery_close(nursery);
        _exit(refused ? 0 : 1);
    }
    EXPECT_EQ(copy, waitpid(copy, &status, 0));
    EXPECT_EQ(0, status);
    EXPECT_EQ((int)SBX_OK, (int)sbx_call(&config, fn_nothing, NULL, NULL, 0, &result));
    sbx_free(&result);
    sbx_nursery_close(nursery);
}

/* ==== What a nursery keeps, and when it ends ================================================== */

#if defined(__linux__) && !defined(SBX_NO_LINUX) && !defined(SBX_NO_CALL)

/* The other side of this pipe is closed everywhere. */
static int is_closed(void *fd) {
    struct pollfd one;
    one.fd = *(int *)fd;
    one.events = 0;
    one.revents = 0;
    return poll(&one, 1, 0) > 0 && one.revents & (POLLHUP | POLLERR);
}

static int count_fds_of(pid_t pid) {
    char path[64];
    int fd, count = 0;
    for (fd = 0; fd < 300; fd++) {
        struct stat st;
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
        count += lstat(path, &st) == 0;
    }
    return count;
}

static int has_four(void *pid) { return count_fds_of(*(pid_t *)pid) == 4; }

/* Who reads from a pipe of the host waits for the host alone. */
static const char *nursery_holds_nothing(void *arg) {
    int line[2], out[2], in[2], null = open("/dev/null", O_RDWR), number = 5, i;
    sbx_config config = {0};
    sbx_nursery *nursery;
    sbx_result result;
    pid_t pid;
    (void)arg;
    TEST_MUST(null >= 0 && pipe(line) == 0 && pipe(out) == 0 && pipe(in) == 0);
    TEST_MUST(dup2(in[0], 0) == 0 && dup2(out[1], 1) == 1 && dup2(out[1], 2) == 2);
    close(in[0]);
    close(out[1]);
    nursery = sbx_nursery_open(&result);
    TEST_MUST(nursery != NULL);
    pid = only_child();
    TEST_MUST(dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2);
    close(line[1]);
    TEST_MUST(test_wait_until(is_closed, &line[0], 0));
    TEST_MUST(test_wait_until(is_closed, &out[0], 0));
    TEST_MUST(test_wait_until(is_closed, &in[1], 0));
    config.nursery = nursery;
    config.arg_size = sizeof number;
    for (i = 0; i < 20; i++) { /* nor does it keep what it passes on to its children */
        TEST_MUST(sbx_call(&config, returns_0, &number, NULL, 0, &result) == SBX_OK);
        sbx_free(&result);
    }
    if (!test_wait_until(has_four, &pid, 0))
        return test_text("%d descriptors in the nursery", count_fds_of(pid));
    sbx_nursery_close(nursery);
    return "";
}

UTEST(call, nursery_holds_nothing_of_the_host) {
    EXPECT_STREQ("", test_in_copy(nursery_holds_nothing, NULL));
}

static int is_gone(void *pid) { return !test_alive(*(pid_t *)pid); }

/* It ends by itself when its host does, however that ends. */
UTEST(call, nursery_ends_with_its_host) {
    int way;
    for (way = 0; way < 2; way++) {
        int fds[2], status;
        pid_t nursery = 0, host;
        ASSERT_EQ(0, pipe(fds));
        host = fork();
        if (host == 0) {
            sbx_nursery *n = sbx_nursery_open(NULL);
            pid_t pid = n ? only_child() : -1;
            if (write(fds[1], &pid, sizeof pid) != (ssize_t)sizeof pid) _exit(1);
            if (way) raise(SIGKILL);
            _exit(0);
        }
        close(fds[1]);
        EXPECT_EQ((ssize_t)sizeof nursery, read(fds[0], &nursery, sizeof nursery));
        close(fds[0]);
        EXPECT_EQ(host, waitpid(host, &status, 0));
        ASSERT_GT((int)nursery, 0);
        EXPECT_TRUE(test_wait_until(is_gone, &nursery, 0));
        if (!is_gone(&nursery)) kill(nursery, SIGKILL);
        waitpid(nursery, NULL, WNOHANG); /* if this process is who adopts orphans */
    }
}

/* A copy of the host has the line to it as well: closing it does not wait for that one. */
static const char *close_while_a_copy_lives(void *arg) {
    sbx_result result;
    sbx_nursery *nursery = sbx_nursery_open(&result);
    pid_t copy;
    (void)arg;
    TEST_MUST(nursery != NULL);
    copy = fork();
    TEST_MUST(copy >= 0);
    if (copy == 0) {
        alarm(40);
        for (;;) pause();
    }
    alarm(20); /* "killed by signal 14" = it waited */
    sbx_nursery_close(nursery);
    alarm(0);
    kill(copy, SIGKILL);
    waitpid(copy, NULL, 0);
    return test_has_children() ? "a child is left" : "";
}

UTEST(call, nursery_is_closed_while_a_copy_of_the_host_lives) {
    EXPECT_STREQ("", test_in_copy(close_while_a_copy_lives, NULL));
}

static long own_pages(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = -1;
    if (file && fscanf(file, "%ld", &pages) != 1) pages = -1;
    if (file) fclose(file);
    return pages;
}

static const char *open_and_close_nurseries(void *arg) {
    long before = 0, page = sysconf(_SC_PAGESIZE);
    int i;
    (void)arg;
    for (i = 0; i < 21; i++) {
        sbx_nursery *nursery = sbx_nursery_open(NULL);
        TEST_MUST(nursery != NULL);
        sbx_nursery_close(nursery);
        if (i == 0) before = own_pages();
    }
    TEST_MUST(before > 0);
    return (own_pages() - before) * page < 8 * MB ? "" : "addresses are left";
}

UTEST(call, nursery_gives_its_addresses_back) {
    if (test_is_asan() || test_is_tsan()) UTEST_SKIP("sanitizers have addresses of their own");
    EXPECT_STREQ("", test_in_copy(open_and_close_nurseries, NULL));
}

/* Past the host's own limit on files it is refused: writing would raise SIGXFSZ in the host. Where
   that begins is not known here, so every limit has its turn. */
static const char *nursery_past_the_file_limit(void *arg) {
    static char large[1 << 20];
    struct rlimit limit;
    sbx_config config = {0};
    sbx_result result;
    sbx_nursery *nursery = sbx_nursery_open(&result);
    int refused = 0, size;
    (void)arg;
    TEST_MUST(nursery != NULL && getrlimit(RLIMIT_FSIZE, &limit) == 0);
    config.contain = SBX_CONTAIN_GROUP;
    config.nursery = nursery;
    config.arg_size = 1000;
    for (size = 0; size < 40000; size += 200) {
        limit.rlim_cur = (rlim_t)size;
        TEST_MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        sbx_call(&config, returns_0, large, NULL, 0, &result);
        refused += result.verdict == SBX_NOT_STARTED;
        if (result.verdict != SBX_NOT_STARTED && result.verdict != SBX_OK)
            return test_text("%d: %s", size, result.message);
        sbx_free(&result);
    }
    TEST_MUST(refused > 0 && result.verdict == SBX_OK);
    config.arg_size = sizeof large;
    sbx_call(&config, returns_0, large, NULL, 0, &result);
    if (result.verdict != SBX_NOT_STARTED) return test_text("%s", result.message);
    TEST_MUST(result.sys_errno == EFBIG);
    sbx_nursery_close(nursery);
    return "";
}

UTEST(call, nursery_past_the_hosts_file_limit_is_refused) {
    EXPECT_STREQ("", test_in_copy(nursery_past_the_file_limit, NULL));
}

/* Each tree of a policy takes a descriptor, and only so many can be sent at once. */
static const char *nursery_with_many_trees(void *arg) {
    enum { TREES = 300 };
    static char paths[TREES][PATH_MAX];
    const char *list[TREES + 1];
    int number = 1, i;
    char dir[PATH_MAX];
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    sbx_nursery *nursery = sbx_nursery_open(&result);
    struct rlimit files = {1000, 1000};
    (void)arg;
    TEST_MUST(nursery != NULL);
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) return "skip: not so many descriptors here";
    test_tmpdir(dir);
    for (i = 0; i < TREES; i++) {
        snprintf(paths[i], sizeof paths[i], "%.4000s/%d", dir, i);
        TEST_MUST(mkdir(paths[i], 0755) == 0);
        list[i] = paths[i];
    }
    config.policy = &policy;
    config.nursery = nursery;
    config.arg_size = sizeof number;
    policy.read = list;
    for (i = 0; i < 2; i++) {
        list[i ? 100 : TREES] = NULL;
        sbx_call(&config, returns_0, &number, NULL, 0, &result);
        if (i == 0 && (result.verdict != SBX_NOT_STARTED || result.sys_errno != EMFILE))
            return test_text("300: %s", result.message);
        if (i == 1 && result.verdict != SBX_OK) return test_text("100: %s", result.message);
        sbx_free(&result);
    }
    sbx_nursery_close(nursery);
    test_remove_tree(dir);
    return "";
}

UTEST(call, nursery_refuses_more_descriptors_than_can_be_sent) {
    sbx_caps caps;
    sbx_probe(&caps);
    if (!caps.policy) UTEST_SKIP("no policy here");
    EXPECT_WELL(test_in_copy(nursery_with_many_trees, NULL));
}

/* Directory, streams and descriptors reach a function from a nursery as they do any other. */
static int fn_uses_its_surroundings(void *arg, void *ret, size_t size) {
    (void)arg;
    if (!getcwd((char *)ret, size)) return 2;
    fprintf(stderr, "inherited");
    if (write(3, "three", 5) != 5 || write(4, "four", 4) != 4) return 3;
    return fcntl(5, F_GETFD) < 0 ? 0 : 4;
}

static const char *surroundings(void *arg) {
    int at = *(const int *)arg, three[2], four[2], two[2], pass[3], number = 1, i, tries;
    char dir[PATH_MAX], cwd[PATH_MAX], text[3][16] = {"", "", ""};
    const char *read_only[] = {dir, NULL};
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    sbx_nursery *nursery = sbx_nursery_open(&result);
    TEST_MUST(nursery != NULL);
    test_tmpdir(cwd);
    TEST_MUST(realpath(cwd, dir) != NULL);
    policy.read = read_only;
    policy.kill_on_denied = at >= 4;
    policy.deny_spawn = at == 5;
    for (tries = 0; tries < 2; tries++) {
        TEST_MUST(pipe(three) == 0 && pipe(four) == 0 && pipe(two) == 0);
        TEST_MUST(dup2(two[1], 2) == 2);
        fcntl(three[0], F_SETFL, O_NONBLOCK); /* at its end all of it is there */
        fcntl(four[0], F_SETFL, O_NONBLOCK);
        fcntl(two[0], F_SETFL, O_NONBLOCK);
        pass[0] = three[1];
        pass[1] = four[1];
        pass[2] = -1;
        config.contain = (sbx_contain)(at % 3);
        if (at >= 3) config.policy = &policy;
        if (at >= 3) config.contain = SBX_CONTAIN_AUTO;
        config.nursery = nursery;
        config.arg_size = sizeof number;
        config.cwd = dir;
        config.err = SBX_INHERIT;
        config.pass_fds = pass;
        memset(cwd, 0, sizeof cwd);
        if (tries) { /* and by a handle */
            sbx *box = sbx_start_call(&config, fn_uses_its_surroundings, &number, cwd, sizeof cwd,
                                      &result);
            if (!box) return test_text("%d: %s", at, result.message);
            sbx_finish(box, &result);
        } else {
            sbx_call(&config, fn_uses_its_surroundings, &number, cwd, sizeof cwd, &result);
        }
        if (result.verdict != SBX_OK) return test_text("%d: %s", at, result.message);
        sbx_free(&result);
        memset(text, 0, sizeof text);
        for (i = 0; i < 3; i++)
            TEST_MUST(read(i == 0 ? three[0] : i == 1 ? four[0] : two[0], text[i], 15) > 0);
        TEST_MUST(strcmp(text[0], "three") == 0 && strcmp(text[1], "four") == 0);
        TEST_MUST(strcmp(text[2], "inherited") == 0);
        if (strcmp(cwd, dir) != 0) return test_text("%d: it is in %s", at, cwd);
        for (i = 0; i < 2; i++) close(three[i]), close(four[i]), close(two[i]);
    }
    sbx_nursery_close(nursery);
    rmdir(dir);
    return test_has_children() ? "a child is left" : "";
}

UTEST(call, nursery_has_directory_streams_and_descriptors) {
    sbx_caps caps;
    int at;
    sbx_probe(&caps);
    for (at = 0; at < 6; at++)
        if ((at != 2 || caps.tree) && (at < 3 || caps.policy))
            EXPECT_STREQ("", test_in_copy(surroundings, &at));
}
#endif

/* ==== What is left of the host in a function ================================================== */

/* The host has read its stdin to the end: the function has another one. */
static const char *host_at_the_end_of_its_input(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    char ret[64] = "";
    int fds[2];
    (void)arg;
    TEST_MUST(pipe(fds) == 0 && dup2(fds[0], 0) == 0);
    close(fds[1]);
    clearerr(stdin);
    TEST_MUST(fgetc(stdin) == EOF && feof(stdin));
    config.input = "own";
    config.input_size = 3;
    TEST_MUST(sbx_call(&config, fn_reads_stdin, NULL, ret, sizeof ret, &result) == SBX_OK);
    if (strcmp(ret, "own") != 0) return test_text("the function read '%s'", ret);
    sbx_free(&result);
    return feof(stdin) ? "" : "the host's own stream changed";
}

UTEST(call, end_of_the_hosts_input_is_not_the_functions) {
    NEED_CALL();
    EXPECT_STREQ("", test_in_copy(host_at_the_end_of_its_input, NULL));
}

static int fn_prints_and_fails(void *arg, void *ret, size_t size) {
    (void)arg, (void)ret, (void)size;
    printf("printed before");
    sbx_fail("no more");
    return 0;
}

UTEST(call, what_was_printed_before_a_failure_is_there) {
    sbx_config config = {0};
    sbx_result result;
    NEED_CALL();
    sbx_call(&config, fn_prints_and_fails, NULL, NULL, 0, &result);
    EXPECT_EQ(1, result.exit_code);
    EXPECT_STREQ("printed before", result.out.data);
    EXPECT_STREQ("", test_lacks(result.message, "no more"));
    sbx_free(&result);
}

/* So much of the stack is used that 8 MiB would not do. */
static int use_stack(int depth) {
    volatile char room[65536];
    room[0] = room[sizeof room - 1] = (char)depth;
    return depth > 0 ? use_stack(depth - 1) + room[0] - room[sizeof room - 1] : room[0];
}

static int fn_uses_a_large_stack(void *arg, void *ret, size_t size) {
    (void)arg, (void)ret, (void)size;
    return use_stack(16 * 24);
}

static const char *host_with_a_large_stack(void *arg) {
    static const sbx_contain contain[] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};
    struct rlimit limit;
    int i;
    (void)arg;
    TEST_MUST(getrlimit(RLIMIT_STACK, &limit) == 0);
    limit.rlim_cur = 64 * MB;
    if (setrlimit(RLIMIT_STACK, &limit) != 0) return "skip: no larger stack can be had";
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.contain = contain[i];
        sbx_call(&config, fn_uses_a_large_stack, NULL, NULL, 0, &result);
        if (result.verdict != SBX_OK) return test_text("%d: %s", i, result.message);
        sbx_free(&result);
    }
    return "";
}

UTEST(call, stack_is_as_large_as_the_hosts) {
    NEED_CALL();
    if (test_is_asan() || test_is_tsan()) UTEST_SKIP("sanitizers take more of it");
    EXPECT_WELL(test_in_copy(host_with_a_large_stack, NULL));
}
