/* Functions in a child: what surrounds them, and what they leave. */
#include "test.h"

#include <pthread.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#define MB (1024LL * 1024)

static int has_tree(void) {
    sbx_config config = {0};
    sbx_result result;
    int tree;
    config.argv = test_child_argv("exit", "0");
    sbx_run(&config, &result);
    tree = (result.enforced & SBX_BY_TREE) != 0;
    sbx_free(&result);
    return tree;
}

#define NEED_TREE()                                                                                \
    do {                                                                                           \
        if (!has_tree()) UTEST_SKIP("no PID namespace can be had here");                           \
    } while (0)

/* ==== The stack =============================================================================== */

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
    NEED_TREE();
    config.contain = SBX_CONTAIN_TREE;
    EXPECT_EQ(SBX_OK, (int)sbx_call(&config, fn_looks_below_its_stack, NULL, below, sizeof below,
                                    &result));
    EXPECT_STREQ("---p", below);
    sbx_free(&result);
}

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
    const char *word = "out of memory";
    (void)arg, (void)size;
    memset(page, 'A', (size_t)((char *)ret - page));
    record += 8 + 4 + 256; /* a token, a flag, the text */
    memcpy(record - strlen(word) + 1, word, strlen(word));
    _exit(1);
}

UTEST(call, text_of_a_failure_ends_where_its_room_ends) {
    sbx_config config = {0};
    sbx_result result;
    int ret;
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
    EXPECT_STREQ("", test_in_copy(host_with_unread_text, NULL));
}

/* ==== Memory ================================================================================== */

static int fn_waits_for_a_look(void *arg, void *ret, size_t size) {
    (void)arg, (void)ret, (void)size;
    test_sleep_ms(150);
    return 0;
}

/* A function begins with a copy of the host; only what it makes of it is its own. */
static const char *call_of_a_large_host(void *arg) {
    static const sbx_contain contain[] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};
    size_t size = 300 * MB;
    char *block = (char *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int i;
    (void)arg;
    TEST_MUST(block != (char *)MAP_FAILED);
    memset(block, 1, size);
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.contain = contain[i];
        config.memory_bytes = i ? 100 * MB : 0;
        TEST_MUST(sbx_call(&config, fn_waits_for_a_look, NULL, NULL, 0, &result) == SBX_OK);
        if (result.peak_bytes > 60 * MB)
            return test_text("peak_bytes = %lld of contain = %d", result.peak_bytes, (int)contain[i]);
        TEST_MUST(result.peak_bytes > 0); /* it was looked at */
        sbx_free(&result);
    }
    return "";
}

UTEST(call, peak_of_a_function_is_without_the_host) {
    if (test_is_portable()) UTEST_SKIP("nobody looks at memory there");
    EXPECT_STREQ("", test_in_copy(call_of_a_large_host, NULL));
}
