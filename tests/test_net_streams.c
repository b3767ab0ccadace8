/* Descriptors and bytes: what goes in, what comes out, and who else could see it. */
#include "test.h"

#include <pthread.h>

/* ==== Input =================================================================================== */

/* The caller's bytes may go as soon as sbx_start has returned. */
UTEST(streams, input_of_a_handle_is_a_copy) {
    size_t size = 4 << 20, i, wrong = 0;
    char *input = (char *)malloc(size);
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    ASSERT_TRUE(input != NULL);
    memset(input, 'a', size);
    config.argv = test_child_argv("cat");
    config.input = input;
    config.input_size = size;
    config.output_bytes = 8 << 20;
    box = sbx_start(&config, &result);
    memset(input, 'b', size);
    free(input);
    ASSERT_TRUE(box != NULL);
    EXPECT_EQ(SBX_OK, (int)sbx_finish(box, &result));
    EXPECT_EQ(size, result.out.size);
    for (i = 0; i < result.out.size; i++) wrong += result.out.data[i] != 'a';
    EXPECT_EQ((size_t)0, wrong);
    sbx_free(&result);
}

/* How many of the descriptors are to be written; each must be of its kind. -1 = one is not. */
static int writable_ones(const sbx *box) {
    sbx_watch watch;
    int i, count = 0;
    sbx_get_watch(box, &watch);
    for (i = 0; i < watch.count; i++) {
        int mode = fcntl(watch.fd[i], F_GETFL);
        if (mode < 0 || watch.writable[i] != ((mode & O_ACCMODE) == O_WRONLY)) return -1;
        count += watch.writable[i];
    }
    return count;
}

/* A full input is to be waited for until it can be written, and only a full one. */
UTEST(streams, watch_tells_what_is_to_be_written) {
    static char chunk[65536];
    sbx_config config = {0};
    sbx_result result;
    long long n;
    sbx *box;
    config.argv = test_child_argv("sleep", "10000");
    config.in = SBX_PIPE;
    config.contain = SBX_CONTAIN_GROUP;
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    EXPECT_EQ(0, writable_ones(box));
    while ((n = sbx_write(box, chunk, sizeof chunk)) == (long long)sizeof chunk) {
    }
    EXPECT_EQ(0LL, n);
    EXPECT_EQ(1, writable_ones(box));
    sbx_close_input(box);
    EXPECT_EQ(0, writable_ones(box));
    sbx_cancel(box);
    sbx_finish(box, &result);
    sbx_free(&result);
}

/* ==== Output ================================================================================== */

/* A stream that the child inherits is open in it, whatever the host does with its own programs. */
static const char *inherited_and_close_on_exec(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    char text[64];
    ssize_t size;
    int fds[2], i;
    (void)arg;
    TEST_MUST(pipe(fds) == 0);
    for (i = 1; i < 3; i++) {
        TEST_MUST(dup2(fds[1], i) == i && fcntl(i, F_SETFD, FD_CLOEXEC) == 0);
    }
    config.argv = test_child_argv("say", "out ", "err ");
    config.out = config.err = SBX_INHERIT;
    TEST_MUST(sbx_run(&config, &result) == SBX_OK);
    sbx_free(&result);
    size = read(fds[0], text, sizeof text - 1);
    TEST_MUST(size > 0);
    text[size] = 0;
    TEST_MUST(strcmp(text, "out err ") == 0);
    TEST_MUST(fcntl(1, F_GETFD) == FD_CLOEXEC && fcntl(2, F_GETFD) == FD_CLOEXEC);
    return "";
}

UTEST(streams, inherited_stream_is_open_in_the_child) {
    EXPECT_STREQ("", test_in_copy(inherited_and_close_on_exec, NULL));
}

/* Room is doubled, but not far past a cap that stands just above a power of two. */
UTEST(streams, memory_for_output_is_bounded_by_the_cap) {
    static const long long caps[] = {(1 << 20) + 1, (1 << 20) + 70000, (2 << 20) + 1};
    int i, truncate;
    for (truncate = 0; truncate < 2; truncate++)
        for (i = 0; i < 3; i++) {
            sbx_config config = {0};
            sbx_result result;
            config.argv = test_child_argv("write", "4000000");
            config.contain = SBX_CONTAIN_GROUP;
            config.output_bytes = caps[i];
            config.truncate_output = truncate;
            test_fail_allocation(0);
            TEST_RUN(&config, &result);
            EXPECT_EQ((size_t)caps[i], result.out.size);
            EXPECT_LE(test_largest_block(), (size_t)caps[i] + 65536 + 4096);
            sbx_free(&result);
        }
}

/* ==== The host sleeps while nothing happens =================================================== */

/* The CPU time of this thread while it waits for MS, the least of three tries. */
UTEST(streams, idle_input_costs_the_host_nothing) {
    long long least = LLONG_MAX;
    int tries;
    for (tries = 0; tries < 3 && least > 50000; tries++) {
        sbx_config config = {0};
        sbx_result result;
        long long used;
        sbx *box;
        config.argv = test_child_argv("cat");
        config.in = SBX_PIPE;
        config.contain = SBX_CONTAIN_GROUP;
        box = sbx_start(&config, &result);
        ASSERT_TRUE(box != NULL);
        used = test_host_cpu_us();
        EXPECT_EQ(0, sbx_poll(box, 500));
        used = test_host_cpu_us() - used;
        if (used < least) least = used;
        EXPECT_EQ(SBX_OK, (int)sbx_finish(box, &result));
        sbx_free(&result);
    }
    EXPECT_LE(least, 50000LL); /* of 500,000 */
}

/* ==== Other children of the host ============================================================== */

/* What a child that the host itself forks and execs has open: "0 1 2 " if all is well. */
static const char *fds_of_another_child(void) {
    static char text[400];
    size_t size = 0;
    int fds[2];
    ssize_t n;
    pid_t pid;
    if (pipe(fds) < 0) return "no pipe";
    fcntl(fds[0], F_SETFD, FD_CLOEXEC);
    fcntl(fds[1], F_SETFD, FD_CLOEXEC);
    pid = fork();
    if (pid == 0) {
        dup2(fds[1], 1);
        execl(test_child(), "child", "fds", (char *)NULL);
        _exit(99);
    }
    close(fds[1]);
    while (size < sizeof text - 1 && (n = read(fds[0], text + size, sizeof text - 1 - size)) > 0)
        size += (size_t)n;
    text[size] = 0;
    close(fds[0]);
    waitpid(pid, NULL, 0);
    return text;
}

/* A program that the host starts by itself, while a box runs, has nothing of it: pipes that it held
   open would never end. */
static const char *beside_running_boxes(void *arg) {
    static const sbx_contain contain[] = {SBX_CONTAIN_GROUP, SBX_CONTAIN_AUTO};
    const char *seen;
    int i, fd, null;
    (void)arg;
    for (fd = 3; fd < 4096; fd++) fcntl(fd, F_SETFD, FD_CLOEXEC); /* what the copy itself has */
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (i = 0; i < 6; i++) {
        sbx_config config = {0};
        sbx_result result;
        sbx *box;
        config.argv = test_child_argv("sleep", "10000");
        config.contain = contain[i % 2];
        config.in = i / 2 == 0 ? SBX_PIPE : i / 2 == 1 ? SBX_DEFAULT : SBX_FD;
        config.in_fd = config.out_fd = null;
        if (i / 2 == 2) config.out = SBX_FD;
        if (i / 2 == 1) config.memory_bytes = 1LL << 40;
        box = sbx_start(&config, &result);
        TEST_MUST(box != NULL);
        sbx_poll(box, 30); /* it has looked at /proc */
        seen = fds_of_another_child();
        sbx_cancel(box);
        sbx_finish(box, &result);
        sbx_free(&result);
        if (strcmp(seen, "0 1 2 ")) return test_text("box %d: another child has %s", i, seen);
    }
    return "";
}

UTEST(streams, other_programs_of_the_host_have_nothing_of_a_box) {
    EXPECT_STREQ("", test_in_copy(beside_running_boxes, NULL));
}
