/* Talking to a running box: read, write, steer, measure; what is kept of an output; many boxes. */
#include "test.h"

#include <pthread.h>

static sbx *talk(sbx_config *config, const char *const *argv) {
    static sbx_result ignored;
    config->argv = argv;
    config->in = SBX_PIPE;
    if (!config->timeout_ms) config->timeout_ms = LONG_MS;
    return sbx_start(config, &ignored);
}

#define TALK(config, ...) talk((config), test_child_argv(__VA_ARGS__))

/* Sends a line to a `cat` and waits until all of it has come back. "" = so it did. */
static const char *ping(sbx *box, const char *line) {
    size_t size = strlen(line), got = 0;
    char back[4096];
    TEST_MUST(sbx_write(box, line, size) == (long long)size);
    while (got < size) {
        long long n = sbx_read(box, SBX_STDOUT, back + got, sizeof back - got);
        TEST_MUST(n >= 0);
        got += (size_t)n;
        if (n == 0) TEST_MUST(sbx_poll(box, LONG_MS) == 0);
    }
    TEST_MUST(got == size && memcmp(back, line, size) == 0);
    return "";
}

/* Sends a line to one that has written so much, and that so far has been read. "" = so it was. */
static const char *go_on_after(sbx *box, long long bytes) {
    sbx_usage usage;
    for (;;) {
        sbx_get_usage(box, &usage);
        if (usage.output_bytes >= bytes) break;
        TEST_MUST(sbx_poll(box, 10) == 0);
    }
    TEST_MUST(sbx_write(box, "x\n", 2) == 2);
    return "";
}

/* ==== sbx_read ================================================================================ */

UTEST(talk, read_nothing_yet_then_bytes_then_the_end) {
    sbx_config config = {0};
    sbx_result result;
    char bytes[16];
    long long n;
    test_host before;
    sbx *box;
    test_host_save(&before);
    box = TALK(&config, "cat");
    ASSERT_TRUE(box != NULL);
    EXPECT_EQ(0LL, sbx_read(box, SBX_STDOUT, bytes, sizeof bytes));
    EXPECT_EQ(6LL, sbx_write(box, "abcdef", 6));
    while ((n = sbx_read(box, SBX_STDOUT, bytes, 4)) == 0 && !sbx_poll(box, LONG_MS)) {
    }
    EXPECT_EQ(4LL, n);
    EXPECT_EQ(0, memcmp("abcd", bytes, 4));
    EXPECT_EQ(0LL, sbx_read(box, SBX_STDOUT, bytes, 0));
    EXPECT_EQ(0LL, sbx_read(box, SBX_STDOUT, NULL, 4));
    EXPECT_EQ(2LL, sbx_read(box, SBX_STDOUT, bytes, sizeof bytes));
    EXPECT_EQ(0, memcmp("ef", bytes, 2));
    EXPECT_EQ(0LL, sbx_read(box, SBX_STDERR, bytes, sizeof bytes));
    sbx_close_input(box);
    while (!sbx_poll(box, LONG_MS)) {
    }
    EXPECT_EQ(-1LL, sbx_read(box, SBX_STDOUT, bytes, sizeof bytes));
    EXPECT_EQ(-1LL, sbx_read(box, SBX_STDERR, bytes, sizeof bytes));
    EXPECT_EQ(-1LL, sbx_read(box, SBX_STDOUT, bytes, 0));
    EXPECT_EQ(-1LL, sbx_read(box, (sbx_stream)0, bytes, sizeof bytes));
    EXPECT_EQ(-1LL, sbx_read(NULL, SBX_STDOUT, bytes, sizeof bytes));
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    EXPECT_EQ((size_t)0, result.out.size);
    EXPECT_EQ(6ULL, result.out.total);
    EXPECT_EQ(0, result.out.truncated);
    sbx_free(&result);
    EXPECT_STREQ("", test_host_diff(&before));
}

/* A poll that would wait for the end returns for bytes, and for the end of a stream. */
UTEST(talk, poll_wakes_for_what_a_read_waits_for) {
    sbx_config config = {0};
    char byte;
    long long start = test_now_ms();
    sbx *box = TALK(&config, "cat");
    ASSERT_TRUE(box != NULL);
    EXPECT_EQ(0LL, sbx_read(box, SBX_STDOUT, &byte, 1));
    EXPECT_EQ(1LL, sbx_write(box, "x", 1));
    EXPECT_EQ(0, sbx_poll(box, -1));
    EXPECT_EQ(1LL, sbx_read(box, SBX_STDOUT, &byte, 1));
    sbx_kill(box);
    sbx_finish(box, NULL);

    box = TALK(&config, "close_out", "12000");
    ASSERT_TRUE(box != NULL);
    if (sbx_read(box, SBX_STDERR, &byte, 1) == 0) { /* else it was quicker than the start */
        EXPECT_EQ(0, sbx_poll(box, -1));
        EXPECT_EQ(-1LL, sbx_read(box, SBX_STDERR, &byte, 1));
    }
    EXPECT_TRUE(sbx_pid(box) > 0);
    sbx_kill(box);
    sbx_finish(box, NULL);
    EXPECT_TRUE(test_now_ms() - start < 10000);
}

UTEST(talk, taken_bytes_do_not_count) {
    sbx_config config = {0};
    sbx_result result;
    char line[601];
    int i;
    sbx *box;
    memset(line, 'x', 600);
    line[600] = 0;
    config.output_bytes = 1000;
    box = TALK(&config, "cat");
    ASSERT_TRUE(box != NULL);
    for (i = 0; i < 20; i++) EXPECT_STREQ("", ping(box, line));
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    EXPECT_EQ(12000ULL, result.out.total);
    sbx_free(&result);
}

UTEST(talk, flood_between_two_reads_meets_the_cap) {
    sbx_config config = {0};
    sbx_result result;
    char ten[10];
    sbx *box;
    config.output_bytes = 100000;
    config.grace_ms = -1;
    box = TALK(&config, "flood", "out");
    ASSERT_TRUE(box != NULL);
    while (sbx_read(box, SBX_STDOUT, ten, 1) == 0) EXPECT_EQ(0, sbx_poll(box, LONG_MS));
    EXPECT_EQ((int)SBX_OUTPUT_LIMIT, (int)sbx_finish(box, &result));
    EXPECT_TRUE(result.out.size == 99999 || result.out.size == 100000); /* met before, or after */
    EXPECT_TRUE(result.out.total > 100000 && result.out.truncated);
    EXPECT_STREQ("", test_lacks(result.message, "output"));
    sbx_free(&result);
}

/* A host that takes all there is and then polls gets everything, however small the cap, although a
 * pipe holds more than that; at the end, too. */
UTEST(talk, prompt_reader_never_meets_the_cap) {
    static const long long caps[] = {4096, 5000, 100000, 600000};
    static char bytes[70000];
    int c, mode;
    for (c = 0; c < 4; c++)
        for (mode = 0; mode < 3; mode++) {
            sbx_config config = {0};
            sbx_result result;
            size_t at[2] = {0, 0}, flaws = 0;
            long long n, most = 0;
            int i, open_now = 3;
            sbx *box;
            config.output_bytes = caps[c];
            if (mode == 1) config.error_bytes = 5000;
            if (mode == 2) config.truncate_output = 1;
            box = TALK(&config, "write", "1500000", "200000");
            ASSERT_TRUE(box != NULL);
            while (open_now) {
                for (i = 0; i < 2; i++) {
                    long long took = 0, k;
                    sbx_stream stream = i ? SBX_STDERR : SBX_STDOUT;
                    while ((n = sbx_read(box, stream, bytes, sizeof bytes)) > 0) {
                        for (k = 0; k < n; k++)
                            flaws += bytes[k] != test_pattern(at[i] + (size_t)k);
                        at[i] += (size_t)n;
                        took += n;
                    }
                    if (n < 0) open_now &= ~(1 << i);
                    if (took > most) most = took;
                }
                if (open_now) sbx_poll(box, LONG_MS);
            }
            EXPECT_EQ((size_t)0, flaws);
            EXPECT_EQ((size_t)1500000, at[0]);
            EXPECT_EQ((size_t)200000, at[1]);
            EXPECT_TRUE(most <= caps[c] || (mode == 1 && most <= 5000));
            EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
            EXPECT_EQ(0, result.out.truncated || result.err.truncated);
            sbx_free(&result);
        }
}

/* One that asks and polls, and does not read, meets it. */
UTEST(talk, who_polls_without_reading_meets_the_cap) {
    static const char *const streams[] = {"out", "err"};
    char ten[10];
    int i;
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        long long total;
        sbx *box;
        config.output_bytes = 100000;
        config.grace_ms = -1;
        box = TALK(&config, "flood", streams[i]);
        ASSERT_TRUE(box != NULL);
        total = sbx_read(box, SBX_STDOUT, ten, sizeof ten); /* a slow start has some already */
        total += sbx_read(box, SBX_STDERR, ten, sizeof ten);
        EXPECT_TRUE(total == 0 || total == 10);
        while (!sbx_poll(box, LONG_MS)) {
        }
        EXPECT_EQ((int)SBX_OUTPUT_LIMIT, (int)sbx_finish(box, &result));
        EXPECT_EQ((size_t)100000, result.out.size + result.err.size);
        sbx_free(&result);
    }
}

/* ... also if it is the other stream that nobody reads. What fits under the cap arrives. */
UTEST(talk, other_stream_that_nobody_reads_fills_the_cap) {
    static const char *const lines[] = {"printf '%4000d' 1; read x; printf '%500d' 2 >&2; read x",
                                        "printf '%5000d' 1; read x; printf '%500d' 2 >&2; read x"};
    char bytes[600];
    int fits;
    for (fits = 0; fits < 2; fits++) {
        sbx_config config = {0};
        sbx_result result;
        long long n = 0;
        sbx *box;
        config.command = lines[!fits];
        config.output_bytes = 5000;
        config.grace_ms = -1;
        box = talk(&config, NULL);
        ASSERT_TRUE(box != NULL);
        EXPECT_EQ(0LL, sbx_read(box, SBX_STDERR, bytes, sizeof bytes));
        EXPECT_STREQ("", go_on_after(box, fits ? 4000 : 5000));
        while ((n = sbx_read(box, SBX_STDERR, bytes, sizeof bytes)) == 0 && !sbx_poll(box, LONG_MS))
            ;
        EXPECT_TRUE(fits ? n == 500 : n <= 0);
        EXPECT_EQ((int)(fits ? SBX_EXITED : SBX_OUTPUT_LIMIT), (int)sbx_finish(box, &result));
        EXPECT_EQ((size_t)(fits ? 4000 : 5000), result.out.size);
        sbx_free(&result);
    }
}

/* ... but what the reader of one stream is about to take does not keep the other out. */
UTEST(talk, reader_of_one_stream_leaves_room_for_the_other) {
    int tries;
    for (tries = 0; tries < 10; tries++) {
        sbx_config config = {0};
        sbx_result result;
        long long n, total = 0;
        char bytes[16384];
        sbx *box;
        config.command = "i=0; while [ $i -lt 40 ]; do printf '%8000d' 1; i=$((i + 1)); done; "
                         "echo end >&2";
        config.output_bytes = 8192;
        box = sbx_start(&config, &result);
        ASSERT_TRUE(box != NULL);
        while ((n = sbx_read(box, SBX_STDOUT, bytes, sizeof bytes)) >= 0) {
            total += n;
            if (n == 0) sbx_poll(box, LONG_MS);
        }
        EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
        EXPECT_EQ(320000LL, total);
        EXPECT_STREQ("end\n", result.err.data);
        sbx_free(&result);
    }
}

/* Once bytes were dropped, sbx_read makes no room for later ones: what was taken, and what is in the
   result, are the first bytes, without a hole that nobody knows of. */
UTEST(talk, nothing_is_kept_behind_a_hole) {
    sbx_config config = {0};
    sbx_result result;
    char bytes[16];
    sbx *box;
    config.command = "printf 0123456789abcde; read x; printf ABCDE; read x";
    config.output_bytes = 10;
    config.truncate_output = SBX_KEEP_FIRST;
    box = talk(&config, NULL);
    ASSERT_TRUE(box != NULL);
    EXPECT_STREQ("", go_on_after(box, 15));
    EXPECT_EQ(7LL, sbx_read(box, SBX_STDOUT, bytes, 7));
    EXPECT_STREQ("", go_on_after(box, 20));
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    EXPECT_STREQ("789", result.out.data);
    EXPECT_TRUE(result.out.total == 20 && result.out.truncated && result.out.gap == 3);
    sbx_free(&result);
}

UTEST(talk, result_has_the_rest_and_the_total) {
    sbx_config config = {0};
    sbx_result result;
    char bytes[300];
    size_t i;
    sbx *box = TALK(&config, "write", "1000", "50");
    ASSERT_TRUE(box != NULL);
    while (!sbx_poll(box, LONG_MS)) {
    }
    EXPECT_EQ(300LL, sbx_read(box, SBX_STDOUT, bytes, 300));
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    ASSERT_EQ((size_t)700, result.out.size);
    for (i = 0; i < 300 && bytes[i] == test_pattern(i); i++) {
    }
    EXPECT_EQ((size_t)300, i);
    for (i = 0; i < 700 && result.out.data[i] == test_pattern(300 + i); i++) {
    }
    EXPECT_EQ((size_t)700, i);
    EXPECT_EQ(0, result.out.data[700]);
    EXPECT_EQ(1000ULL, result.out.total);
    EXPECT_EQ((size_t)50, result.err.size);
    sbx_free(&result);
}

/* Every byte arrives once and in order, whatever the pieces that it is taken in. */
UTEST(talk, read_in_odd_pieces) {
    sbx_config config = {0};
    sbx_result result;
    size_t at = 0, flaws = 0, room = 1;
    static char bytes[70000];
    sbx *box;
    config.output_bytes = 4 * MB;
    box = TALK(&config, "write", "3000000", "0");
    ASSERT_TRUE(box != NULL);
    for (;;) {
        long long n = sbx_read(box, SBX_STDOUT, bytes, room), i;
        if (n < 0) break;
        for (i = 0; i < n; i++) flaws += bytes[i] != test_pattern(at + (size_t)i);
        at += (size_t)n;
        room = (room * 7 + 13) % 69999 + 1;
        if (n == 0) sbx_poll(box, LONG_MS);
    }
    EXPECT_EQ((size_t)3000000, at);
    EXPECT_EQ((size_t)0, flaws);
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    EXPECT_EQ((size_t)0, result.out.size);
    EXPECT_EQ(3000000ULL, result.out.total);
    sbx_free(&result);
}

/* ==== SBX_STREAM, SBX_KEEP_..., error_bytes =================================================== */

static int count_bytes(void *user, sbx_stream stream, const char *data, size_t size) {
    size_t *at = (size_t *)user + (stream == SBX_STDERR), i;
    for (i = 0; i < size; i++)
        if (data[i] != test_pattern(at[0] + i)) return 1;
    at[0] += size;
    return 0;
}

static int add_sizes(void *user, sbx_stream stream, const char *data, size_t size) {
    ((size_t *)user)[stream == SBX_STDERR] += size;
    return data == NULL;
}

UTEST(talk, stream_keeps_nothing_and_counts) {
    sbx_config config = {0};
    sbx_result result;
    size_t told[2] = {0, 0};
    config.out = SBX_STREAM;
    config.on_output = count_bytes;
    config.user = told;
    test_fail_allocation(0);
    result = RUN_CHILD(&config, "write", "500000", "3000");
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_TRUE(told[0] == 500000 && told[1] == 3000);
    EXPECT_TRUE(result.out.size == 0 && result.out.total == 500000 && !result.out.truncated);
    EXPECT_EQ((size_t)3000, result.err.size);
    sbx_free(&result);
    EXPECT_TRUE(test_largest_block() < 400000);

    told[0] = told[1] = 0;
    config.output_bytes = 1000;
    result = RUN_CHILD(&config, "write", "500000", "0");
    EXPECT_VERDICT(SBX_OUTPUT_LIMIT, result);
    EXPECT_EQ((size_t)1000, told[0]);
    EXPECT_EQ((size_t)0, result.out.size);
    sbx_free(&result);
}

/* A stream that is told, beside one of which the last bytes stay: on_output gets no more of both
   than the cap allows, and what is kept of the other is what the first leaves over, at least half. */
UTEST(talk, stream_beside_last_bytes) {
    static const struct {
        const char *line;
        int written[3];
        size_t last, ends;
    } cases[] = {
        {"printf '%100d' 1 >&2; read x; printf '%60d' 1; read x; printf '%50d' 1 >&2; read x",
         {100, 160, 210},
         100,
         100},
        {"printf '%20d' 1; read x; printf '%150d' 1 >&2; read x; printf '%10d' 1; read x",
         {20, 170, 180},
         80,
         80},
        {"printf '%200d' 1; read x; printf '%150d' 1 >&2; read x; printf 1; read x",
         {200, 350, 351},
         50,
         25}};
    int i, k, mode;
    for (i = 0; i < 3; i++)
        for (mode = SBX_KEEP_LAST; mode <= SBX_KEEP_ENDS; mode++) {
            sbx_config config = {0};
            sbx_result result;
            size_t told[2] = {0, 0};
            sbx *box;
            config.command = cases[i].line;
            config.out = SBX_STREAM;
            config.output_bytes = 100;
            config.truncate_output = mode;
            config.on_output = add_sizes;
            config.user = told;
            box = talk(&config, NULL);
            ASSERT_TRUE(box != NULL);
            for (k = 0; k < 3; k++) EXPECT_STREQ("", go_on_after(box, cases[i].written[k]));
            EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
            EXPECT_EQ((size_t)100, told[0] + told[1]);
            EXPECT_TRUE((told[0] < result.out.total) == (result.out.truncated != 0));
            EXPECT_EQ(mode == SBX_KEEP_LAST ? cases[i].last : cases[i].ends, result.err.size);
            sbx_free(&result);
        }
}

/* Is the output the first `head` and the last bytes of `total` patterned ones? */
static const char *ends_flaw(const sbx_output *o, size_t head, size_t size, size_t total) {
    size_t i;
    if (o->size != size) return test_text("%zu bytes, not %zu", o->size, size);
    if (o->total != total) return test_text("total %llu", o->total);
    if (o->data[size] != 0) return "no NUL";
    if (o->truncated != (size < total)) return "truncated";
    if (o->gap != (size < total ? head : 0)) return test_text("gap %zu", o->gap);
    for (i = 0; i < size; i++) {
        size_t at = i < head ? i : total - size + i;
        if (o->data[i] != test_pattern(at)) return test_text("byte %zu of %zu", i, size);
    }
    return "";
}

UTEST(talk, keep_first_last_ends_to_the_byte) {
    static const size_t caps[] = {1, 2, 7, 1000, 65536, 200001};
    int c, mode, k;
    for (c = 0; c < 6; c++)
        for (mode = SBX_KEEP_FIRST; mode <= SBX_KEEP_ENDS; mode++)
            for (k = 0; k < 4; k++) {
                size_t cap = caps[c], total = k < 3 ? cap + (size_t)k - 1 : 5 * cap + 70001;
                size_t size = total < cap ? total : cap, head = size;
                char text[32];
                sbx_config config = {0};
                sbx_result result;
                if (mode == SBX_KEEP_LAST) head = 0;
                if (mode == SBX_KEEP_ENDS) head = cap / 2;
                if (size == total) head = size;
                snprintf(text, sizeof text, "%zu", total);
                config.output_bytes = (long long)cap;
                config.truncate_output = mode;
                config.contain = SBX_CONTAIN_GROUP;
                result = RUN_CHILD(&config, "write", text, "0");
                EXPECT_VERDICT(SBX_OK, result);
                EXPECT_STREQ_MSG("", ends_flaw(&result.out, head, size, total),
                                 test_text("mode %d, cap %zu, total %zu", mode, cap, total));
                sbx_free(&result);
            }
}

/* Bytes that come in known pieces, for every length from before the ring's end to far behind it. */
UTEST(talk, keep_last_across_the_rings_end) {
    enum { PIECE = 20000, CAP = 100000 };
    static char bytes[30 * PIECE];
    size_t i;
    int pieces;
    for (i = 0; i < sizeof bytes; i++) bytes[i] = test_pattern(i);
    for (pieces = 10; pieces <= 30; pieces++) {
        sbx_config config = {0};
        sbx_result result;
        sbx_usage usage;
        sbx *box;
        config.output_bytes = CAP;
        config.truncate_output = SBX_KEEP_LAST;
        config.contain = SBX_CONTAIN_GROUP;
        box = TALK(&config, "cat");
        ASSERT_TRUE(box != NULL);
        for (i = 0; i < (size_t)pieces; i++) {
            ASSERT_EQ((long long)PIECE, sbx_write(box, bytes + i * PIECE, PIECE));
            do {
                ASSERT_EQ(0, sbx_poll(box, 10));
                sbx_get_usage(box, &usage);
            } while (usage.output_bytes < (long long)((i + 1) * PIECE));
        }
        sbx_close_input(box);
        EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
        EXPECT_STREQ_MSG("", ends_flaw(&result.out, 0, CAP, (size_t)pieces * PIECE),
                         test_text("%d pieces", pieces));
        sbx_free(&result);
    }
}

/* Both streams share the cap, or stderr has its own. */
UTEST(talk, keep_ends_of_both_streams) {
    sbx_config config = {0};
    sbx_result result;
    config.output_bytes = 10000;
    config.truncate_output = SBX_KEEP_LAST;
    result = RUN_CHILD(&config, "write", "50000", "50000");
    EXPECT_STREQ("", ends_flaw(&result.out, 0, 5000, 50000));
    EXPECT_STREQ("", ends_flaw(&result.err, 0, 5000, 50000));
    sbx_free(&result);
    result =
        RUN_CHILD(&config, "write", "50000", "1000"); /* what one does not need, the other has */
    EXPECT_STREQ("", ends_flaw(&result.out, 0, 9000, 50000));
    EXPECT_STREQ("", ends_flaw(&result.err, 1000, 1000, 1000));
    sbx_free(&result);
    config.output_bytes = 10001; /* no byte of an odd cap is lost */
    result = RUN_CHILD(&config, "write", "50000", "50000");
    EXPECT_STREQ("", ends_flaw(&result.out, 0, 5001, 50000));
    EXPECT_STREQ("", ends_flaw(&result.err, 0, 5000, 50000));
    sbx_free(&result);
    config.output_bytes = 10000;
    config.truncate_output = SBX_KEEP_ENDS;
    config.error_bytes = 301;
    result = RUN_CHILD(&config, "write", "50000", "20000");
    EXPECT_STREQ("", ends_flaw(&result.out, 5000, 10000, 50000));
    EXPECT_STREQ("", ends_flaw(&result.err, 150, 301, 20000));
    sbx_free(&result);
}

/* A gigabyte goes by between two patterned ends; the header never holds more than the cap and a
   mebibyte. */
static const char *keeps_ends_of(const char *zeros) {
    int mode;
    for (mode = SBX_KEEP_FIRST; mode <= SBX_KEEP_ENDS; mode++) {
        size_t cap = 3 << 20, ends = 4000000, total = 2 * ends + (size_t)atol(zeros), i;
        size_t head = mode == SBX_KEEP_FIRST ? cap : mode == SBX_KEEP_LAST ? 0 : cap / 2;
        sbx_config config = {0};
        sbx_result result;
        config.command =
            test_text("'%s' write 4000000 0; head -c %s /dev/zero; '%s' write 4000000 0",
                      test_child(), zeros, test_child());
        config.output_bytes = (long long)cap;
        config.timeout_ms = 120000;
        config.truncate_output = mode;
        test_fail_allocation(0);
        sbx_run(&config, &result);
        TEST_MUST(result.verdict == SBX_OK && result.out.size == cap && result.out.total == total);
        TEST_MUST(result.out.truncated && result.out.gap == head);
        for (i = 0; i < cap; i++) {
            size_t at = i < head ? i : ends - cap + i;
            if (result.out.data[i] != test_pattern(at)) return test_text("mode %d: %zu", mode, i);
        }
        TEST_MUST(test_largest_block() <= cap + (size_t)MB);
        sbx_free(&result);
    }
    return "";
}

UTEST(talk, keep_ends_holds_cap_and_a_mebibyte) { EXPECT_STREQ("", keeps_ends_of("33554432")); }

UTEST(talk, slow_keep_ends_of_a_gigabyte) {
    if (!getenv("SBX_TEST_SLOW")) UTEST_SKIP("moves 3 GB: make check");
    EXPECT_STREQ("", keeps_ends_of("1073741824"));
}

/* The head is read while the program runs; what comes later keeps its order. */
UTEST(talk, keep_ends_and_read) {
    sbx_config config = {0};
    sbx_result result;
    char bytes[600];
    int i, total = 0;
    sbx *box;
    config.output_bytes = 1000;
    config.truncate_output = SBX_KEEP_ENDS;
    box = TALK(&config, "cat");
    ASSERT_TRUE(box != NULL);
    for (i = 0; i < 9; i++) { /* 900 bytes: 500 are the head, 400 the tail */
        memset(bytes, 'a' + i, 100);
        EXPECT_EQ(100LL, sbx_write(box, bytes, 100));
    }
    while (total < 500) {
        long long n = sbx_read(box, SBX_STDOUT, bytes, sizeof bytes);
        ASSERT_TRUE(n >= 0);
        total += (int)n;
        if (n == 0) sbx_poll(box, LONG_MS);
    }
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    EXPECT_EQ(900ULL, result.out.total);
    EXPECT_EQ((size_t)(900 - total), result.out.size);
    EXPECT_TRUE(result.out.data[0] == 'a' + total / 100 &&
                result.out.data[result.out.size - 1] == 'i');
    EXPECT_EQ(0, result.out.truncated);
    sbx_free(&result);
}

/* on_output may take what it is told of: the first bytes behind the head do not move. */
static sbx *told_box;
static int take_all(void *user, sbx_stream stream, const char *data, size_t size) {
    static char bytes[8192];
    long long n = sbx_read(told_box, stream, bytes, sizeof bytes);
    if (n > 0) *(size_t *)user += (size_t)n;
    return data == NULL || size == 0;
}

UTEST(talk, keep_ends_and_read_when_told) {
    sbx_config config = {0};
    sbx_result result;
    size_t taken = 0, i, flaws = 0;
    char bytes[8000];
    config.output_bytes = 5000;
    config.truncate_output = SBX_KEEP_ENDS;
    config.on_output = take_all;
    config.user = &taken;
    for (i = 0; i < sizeof bytes; i++) bytes[i] = test_pattern(i);
    told_box = TALK(&config, "cat");
    ASSERT_TRUE(told_box != NULL);
    EXPECT_EQ(100LL, sbx_write(told_box, bytes, 100));
    while (taken < 100) EXPECT_EQ(0, sbx_poll(told_box, 10));
    EXPECT_EQ(4000LL, sbx_write(told_box, bytes + 100, 4000));
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(told_box, &result));
    EXPECT_EQ((size_t)4100, taken + result.out.size);
    EXPECT_EQ(0, result.out.truncated);
    for (i = 0; i < result.out.size; i++) flaws += result.out.data[i] != bytes[taken + i];
    EXPECT_EQ((size_t)0, flaws);
    sbx_free(&result);
}

UTEST(talk, error_bytes_is_a_cap_of_its_own) {
    sbx_config config = {0}, ceiling = {0};
    sbx_result result;
    config.output_bytes = 1000;
    config.error_bytes = 200;
    result = RUN_CHILD(&config, "write", "1000", "200");
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_TRUE(result.out.size == 1000 && result.err.size == 200);
    sbx_free(&result);
    result = RUN_CHILD(&config, "write", "0", "201");
    EXPECT_VERDICT(SBX_OUTPUT_LIMIT, result);
    EXPECT_TRUE(result.err.size == 200 && result.err.truncated);
    EXPECT_STREQ("", test_lacks(result.message, "more than its 200 bytes of stderr"));
    sbx_free(&result);
    result = RUN_CHILD(&config, "write", "1001", "0");
    EXPECT_STREQ("", test_lacks(result.message, "more than its 1000 bytes of output"));
    sbx_free(&result);
    config.truncate_output = SBX_KEEP_FIRST;
    result = RUN_CHILD(&config, "write", "5000", "201");
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_TRUE(result.out.size == 1000 && result.err.size == 200);
    sbx_free(&result);

    ceiling.error_bytes = 100;
    sbx_clamp(&config, &ceiling);
    EXPECT_EQ(100LL, config.error_bytes);
    config.error_bytes = -7;
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_STREQ("", test_lacks(result.message, "error_bytes"));
    sbx_free(&result);
}

/* ==== Steering ================================================================================ */

UTEST(talk, timeout_for_each_move) {
    sbx_config config = {0};
    sbx_result result;
    int i;
    sbx *box;
    config.timeout_ms = 60000;
    config.grace_ms = -1;
    box = TALK(&config, "cat");
    ASSERT_TRUE(box != NULL);
    for (i = 0; i < 5; i++) {
        EXPECT_EQ(1, sbx_set_timeout(box, LONG_MS));
        EXPECT_STREQ("", ping(box, "move\n"));
    }
    EXPECT_EQ(1, sbx_set_timeout(box, SBX_UNLIMITED));
    EXPECT_EQ(0, sbx_poll(box, 10));
    EXPECT_EQ(1, sbx_set_timeout(box, 77));
    EXPECT_EQ(1, sbx_poll(box, LONG_MS));
    EXPECT_EQ(0, sbx_set_timeout(box, 1000));
    EXPECT_EQ((int)SBX_TIMED_OUT, (int)sbx_finish(box, &result));
    EXPECT_EQ(1, result.certain);
    EXPECT_STREQ("", test_lacks(result.message, "77 ms"));
    sbx_free(&result);
    EXPECT_EQ(0, sbx_set_timeout(NULL, 1));
}

#if TEST_HAS_TREE
/* Seconds until the clock of pid 1 ends the tree, if the host is not there to do it: it is a
   descriptor of the host's. 0 = it stands still; -1 = there is none. */
static long long clock_of_pid_1(void) {
    char path[64], text[512], *at;
    int fd;
    for (fd = 0; fd < 1024; fd++) {
        long long seconds = -1;
        FILE *info;
        size_t n;
        snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
        info = fopen(path, "r");
        if (!info) continue;
        n = fread(text, 1, sizeof text - 1, info);
        fclose(info);
        text[n] = 0;
        at = strstr(text, "it_value: (");
        if (at && sscanf(at, "it_value: (%lld,", &seconds) == 1) return seconds;
    }
    return -1;
}

/* Else it would end who was given more time, and not end who was given less. */
UTEST(talk, timeout_is_told_to_pid_1) {
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    NEED_TREE();
    config.contain = SBX_CONTAIN_TREE;
    config.timeout_ms = 100000;
    config.grace_ms = -1;
    box = TALK(&config, "cat");
    ASSERT_TRUE(box != NULL);
    if (clock_of_pid_1() < 0) {
        sbx_finish(box, NULL);
        UTEST_SKIP("pid 1 has no clock here");
    }
    EXPECT_TRUE(clock_of_pid_1() > 50 && clock_of_pid_1() < 110);
    EXPECT_EQ(1, sbx_set_timeout(box, 1000000));
    EXPECT_TRUE(clock_of_pid_1() > 950 && clock_of_pid_1() < 1010);
    EXPECT_EQ(1, sbx_set_timeout(box, 300000));
    EXPECT_TRUE(clock_of_pid_1() > 250 && clock_of_pid_1() < 310);
    EXPECT_EQ(1, sbx_set_timeout(box, SBX_UNLIMITED));
    EXPECT_EQ(0LL, clock_of_pid_1());
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    sbx_free(&result);
}
#endif

/* What is no time, and who is about to end anyway. */
UTEST(talk, timeout_that_cannot_be_set) {
    sbx_config config = {0};
    sbx_result result;
    char word[8];
    sbx *box;
    config.grace_ms = LONG_MS;
    box = TALK(&config, "ignore", "ignore");
    ASSERT_TRUE(box != NULL);
    while (sbx_read(box, SBX_STDOUT, word, 1) == 0) sbx_poll(box, 100);
    EXPECT_EQ(0, sbx_set_timeout(box, -2));
    EXPECT_EQ(0, sbx_set_timeout(box, SBX_MAX_MS + 1));
    EXPECT_EQ(0, sbx_set_timeout(box, LLONG_MAX));
    EXPECT_EQ(1, sbx_set_timeout(box, SBX_MAX_MS));
    EXPECT_EQ(0, sbx_poll(box, 1));
    sbx_cancel(box);
    EXPECT_EQ(0, sbx_poll(box, 1));
    EXPECT_EQ(0, sbx_set_timeout(box, LONG_MS)); /* it has its grace, and no more */
    sbx_kill(box);
    EXPECT_EQ((int)SBX_CANCELLED, (int)sbx_finish(box, &result));
    sbx_free(&result);
}

/* The longest wait there is ends with the program, and not before. */
UTEST(talk, poll_can_wait_as_long_as_a_number_can_say) {
    sbx_config config = {0};
    sbx_result result;
    sbx *box = TALK(&config, "sleep", "50", "3");
    ASSERT_TRUE(box != NULL);
    EXPECT_EQ(1, sbx_poll(box, LLONG_MAX));
    EXPECT_EQ((int)SBX_EXITED, (int)sbx_finish(box, &result));
    sbx_free(&result);
}

/* A full input: poll returns as soon as there is room, and not at the end of the program. */
UTEST(talk, poll_wakes_when_a_full_input_has_room) {
    static char bytes[65536];
    sbx_config config = {0};
    sbx_result result;
    long long n = 1;
    sbx *box;
    config.out = SBX_DISCARD;
    config.timeout_ms = 6000;
    config.grace_ms = -1;
    box = TALK(&config, "cat");
    ASSERT_TRUE(box != NULL);
    EXPECT_EQ(1, sbx_signal(box, SIGSTOP)); /* so that it is full for sure */
    while (n > 0) n = sbx_write(box, bytes, sizeof bytes);
    EXPECT_EQ(0LL, n);
    EXPECT_EQ(1, sbx_signal(box, SIGCONT));
    EXPECT_EQ(0, sbx_poll(box, LONG_MS));
    EXPECT_GT(sbx_write(box, bytes, sizeof bytes), 0LL);
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    sbx_free(&result);
}

/* The program has obeyed, but not who it left behind: they have the rest of the grace, until
   somebody takes it away. */
UTEST(talk, kill_ends_the_grace_of_those_left_behind) {
    int both;
    for (both = 0; both < 2; both++) {
        sbx_config config = {0};
        sbx_result result;
        char word[8];
        sbx *box;
        config.contain = test_both[both];
        config.grace_ms = 20000;
        config.timeout_ms = LONG_MS;
        config.in = SBX_DISCARD;
        config.command = "(trap '' TERM; echo r; sleep 4; echo late) & wait";
        box = sbx_start(&config, &result);
        ASSERT_TRUE(box != NULL);
        while (sbx_read(box, SBX_STDOUT, word, 2) == 0) sbx_poll(box, 100);
        sbx_cancel(box);
        while (sbx_pid(box) != 0 && !sbx_poll(box, 1)) {
        }
        EXPECT_EQ(0, sbx_poll(box, 1));
        sbx_kill(box);
        EXPECT_EQ((int)SBX_CANCELLED, (int)sbx_finish(box, &result));
        EXPECT_EQ(SIGTERM, result.signal);
        EXPECT_STREQ("", result.out.data); /* and not "late" */
        sbx_free(&result);
    }
}

static void *kill_in_thread(void *box) {
    test_sleep_ms(20);
    sbx_kill((sbx *)box);
    return NULL;
}

static sbx *volatile killed_by_handler;
static void kill_in_handler(int number) {
    (void)number;
    sbx_kill(killed_by_handler);
}

/* At once, although it has all the grace and ignores SIGTERM. */
UTEST(talk, kill_from_a_thread_a_handler_and_in_the_grace) {
    int way, both;
    for (both = 0; both < 2; both++)
        for (way = 0; way < 4; way++) {
            sbx_config config = {0};
            sbx_result result;
            pthread_t thread;
            long long start;
            char word[8];
            sbx *box;
            config.contain = test_both[both];
            config.grace_ms = 20000;
            box = TALK(&config, "ignore", "ignore");
            ASSERT_TRUE(box != NULL);
            while (sbx_read(box, SBX_STDOUT, word, 1) == 0) sbx_poll(box, 100);
            start = test_now_ms();
            if (way == 1) ASSERT_EQ(0, pthread_create(&thread, NULL, kill_in_thread, box));
            if (way == 2 && test_is_tsan()) sbx_kill(box); /* it holds signals back */
            else if (way == 2) {
                struct sigaction action, old;
                memset(&action, 0, sizeof action);
                action.sa_handler = kill_in_handler;
                killed_by_handler = box;
                sigaction(SIGUSR2, &action, &old);
                raise(SIGUSR2);
                sigaction(SIGUSR2, &old, NULL);
            }
            if (way == 3) {
                sbx_cancel(box);
                EXPECT_EQ(0, sbx_poll(box, 50));
            }
            if (way == 0 || way == 3) sbx_kill(box);
            while (!sbx_poll(box, LONG_MS)) {
            }
            if (way == 1) pthread_join(thread, NULL);
            EXPECT_EQ((int)SBX_CANCELLED, (int)sbx_finish(box, &result));
            EXPECT_EQ(SIGKILL, result.signal);
            EXPECT_TRUE(test_now_ms() - start < 10000);
            sbx_free(&result);
        }
}

/* Without grace means that it is not told, either. */
UTEST(talk, kill_is_not_told) {
    int both;
    for (both = 0; both < 2; both++) {
        sbx_config config = {0};
        sbx_result result;
        char words[16] = "";
        sbx *box;
        config.contain = test_both[both];
        box = TALK(&config, "last_words", "-1");
        ASSERT_TRUE(box != NULL);
        while (sbx_read(box, SBX_STDOUT, words, 6) == 0) sbx_poll(box, 100);
        EXPECT_STREQ("ready\n", words);
        sbx_kill(box);
        EXPECT_EQ((int)SBX_CANCELLED, (int)sbx_finish(box, &result));
        EXPECT_STREQ("", result.out.data); /* not "TERM" */
        EXPECT_STREQ("'child' was cancelled and was killed", result.message);
        EXPECT_EQ(SIGKILL, result.signal);
        sbx_free(&result);
    }
}

UTEST(talk, signal_pid_and_usage) {
    int both;
    for (both = 0; both < 2; both++) {
        sbx_config config = {0};
        sbx_result result;
        sbx_usage first, now;
        char line[1001];
        sbx *box;
        config.contain = test_both[both];
        box = TALK(&config, "cat");
        ASSERT_TRUE(box != NULL);
        EXPECT_TRUE(sbx_pid(box) > 0 && sbx_pid(box) != getpid() && kill(sbx_pid(box), 0) == 0);
        sbx_get_usage(box, &first);
        EXPECT_TRUE(first.wall_us >= 0 && first.output_bytes == 0);
        EXPECT_EQ(test_has_watch(), first.cpu_us >= 0); /* -1: nobody knows */
        memset(line, 'y', 1000);
        line[1000] = 0;
        EXPECT_STREQ("", ping(box, line));
        sbx_get_usage(box, &now);
        EXPECT_TRUE(now.wall_us > first.wall_us && now.cpu_us >= first.cpu_us);
        EXPECT_EQ(1000LL, now.output_bytes); /* taken or not */
        if (test_has_watch()) {
            EXPECT_TRUE(now.memory_bytes > 0 && now.peak_bytes >= now.memory_bytes);
            EXPECT_EQ(1, now.processes);
        }
        EXPECT_EQ(0, sbx_signal(box, 0));
        EXPECT_EQ(1, sbx_signal(box, SIGUSR1));
        EXPECT_EQ(1, sbx_poll(box, LONG_MS));
        EXPECT_EQ(0, sbx_signal(box, SIGUSR1));
        EXPECT_EQ(0, sbx_pid(box));
        sbx_get_usage(box, &now);
        EXPECT_EQ(1000LL, now.output_bytes);
        EXPECT_EQ((int)SBX_CRASHED, (int)sbx_finish(box, &result));
        EXPECT_EQ(SIGUSR1, result.signal);
        sbx_free(&result);
    }
    EXPECT_EQ(0, sbx_pid(NULL));
    EXPECT_EQ(0, sbx_signal(NULL, SIGTERM));
}

/* Where there is no limit nobody keeps books, and the figures are there all the same. */
UTEST(talk, usage_of_one_that_burns) {
    int both;
    for (both = 0; both < 2; both++) {
        sbx_config config = {0};
        sbx_usage now;
        sbx *box;
        config.contain = test_both[both];
        box = TALK(&config, "burn", "user", "1", "9000");
        ASSERT_TRUE(box != NULL);
        do {
            ASSERT_EQ(0, sbx_poll(box, 20));
            sbx_get_usage(box, &now);
        } while (test_has_watch() && now.cpu_us < 100000);
        EXPECT_EQ(test_has_watch(), now.cpu_us > 0);
        sbx_kill(box);
        sbx_finish(box, NULL);
    }
}

/* After the end the numbers are those of the result, and stay. */
UTEST(talk, usage_after_the_end_and_of_nothing) {
    sbx_config config = {0};
    sbx_usage once, again;
    sbx_result result;
    int both;
    for (both = 0; both < 2; both++) {
        sbx *box;
        config.contain = test_both[both];
        box = TALK(&config, "burn", "user", "1", "60");
        ASSERT_TRUE(box != NULL);
        EXPECT_EQ(1, sbx_poll(box, LONG_MS));
        sbx_get_usage(box, &once);
        test_sleep_ms(5);
        sbx_get_usage(box, &again);
        EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
        EXPECT_EQ(once.wall_us, again.wall_us);
        EXPECT_EQ(result.wall_us, once.wall_us);
        EXPECT_TRUE_MSG(once.cpu_us > 40000, test_text("%lld us", once.cpu_us));
        sbx_free(&result);
    }
    memset(&once, 7, sizeof once);
    sbx_get_usage(NULL, &once);
    EXPECT_TRUE(once.wall_us == 0 && once.output_bytes == 0);
    EXPECT_TRUE(once.memory_bytes == -1 && once.peak_bytes == -1 && once.processes == -1);
    sbx_get_usage(NULL, NULL);
}

/* Of what the config feeds nobody else writes a byte, and nobody cuts it short. */
UTEST(talk, input_of_the_config_is_not_written_to) {
    static char bytes[3000000]; /* more than any pipe takes at once */
    sbx_config config = {0};
    sbx_result result;
    size_t i;
    sbx *box;
    config.output_bytes = sizeof bytes;
    for (i = 0; i < sizeof bytes; i++) bytes[i] = test_pattern(i);
    config.argv = test_child_argv("cat");
    config.timeout_ms = LONG_MS;
    config.input = bytes;
    config.input_size = sizeof bytes;
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    EXPECT_EQ(-1LL, sbx_write(box, "x", 1));
    sbx_close_input(box);
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    EXPECT_STREQ("", test_pattern_flaw(&result.out, sizeof bytes, sizeof bytes));
    sbx_free(&result);
}

/* No such stream, nowhere to put it, no room: nothing is taken, and the end is not told early. */
UTEST(talk, read_that_takes_nothing) {
    sbx_config config = {0};
    sbx_result result;
    char bytes[8];
    sbx *box = TALK(&config, "say", "abc");
    ASSERT_TRUE(box != NULL);
    EXPECT_EQ(1, sbx_poll(box, LONG_MS));
    EXPECT_EQ(-1LL, sbx_read(box, (sbx_stream)0, bytes, sizeof bytes));
    EXPECT_EQ(-1LL, sbx_read(box, (sbx_stream)3, bytes, sizeof bytes));
    EXPECT_EQ(0LL, sbx_read(box, SBX_STDOUT, NULL, 8));
    EXPECT_EQ(0LL, sbx_read(box, SBX_STDOUT, bytes, 0));
    EXPECT_EQ(2LL, sbx_read(box, SBX_STDOUT, bytes, 2));
    EXPECT_EQ(0LL, sbx_read(box, SBX_STDOUT, bytes, 0));
    EXPECT_EQ(1LL, sbx_read(box, SBX_STDOUT, bytes, sizeof bytes));
    EXPECT_EQ(-1LL, sbx_read(box, SBX_STDOUT, bytes, 0));
    EXPECT_EQ(-1LL, sbx_read(box, SBX_STDERR, bytes, sizeof bytes));
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    EXPECT_EQ(3ULL, result.out.total);
    sbx_free(&result);
}

UTEST(talk, start_call_many_at_once) {
    enum { CALLS = 20 };
    sbx *box[CALLS];
    char ret[CALLS][64];
    sbx_config config = {0};
    sbx_result result;
    int i;
    NEED_CALL();
    memset(ret, 0, sizeof ret);
    config.timeout_ms = LONG_MS;
    for (i = 0; i < CALLS; i++) {
        config.contain = test_both[i % 2];
        box[i] = sbx_start_call(&config, test_fn_sevens, NULL, ret[i], sizeof ret[i], &result);
        ASSERT_TRUE(box[i] != NULL);
    }
    for (i = 0; i < CALLS; i++) {
        EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box[i], &result));
        EXPECT_TRUE(ret[i][0] == 7 && ret[i][63] == 7);
        sbx_free(&result);
    }
    EXPECT_TRUE(sbx_start_call(&config, NULL, NULL, NULL, 0, &result) == NULL);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    config.cwd = "/nowhere/at/all";
    EXPECT_TRUE(sbx_start_call(&config, test_fn_seven, NULL, ret[0], 4, &result) == NULL);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ((int)SBX_STEP_CWD, (int)result.step);
}

/* ==== Starting ================================================================================ */

/* Until there is a verdict the result tells that, and nothing else. */
UTEST(talk, start_says_that_it_has_started) {
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    memset(&result, 0x55, sizeof result);
    config.argv = test_child_argv("cat");
    config.in = SBX_PIPE;
    config.timeout_ms = LONG_MS;
    config.user = &config;
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    EXPECT_STREQ("'child' has started", result.message);
    EXPECT_TRUE(result.user == &config && result.step == SBX_STEP_NONE && result.sys_errno == 0);
    EXPECT_TRUE(result.exit_code == -1 && result.signal == 0 && result.peak_bytes == -1);
    EXPECT_TRUE(result.out.size == 0 && result.out.data[0] == 0);
    sbx_free(&result);
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    sbx_free(&result);
}

UTEST(talk, name_in_messages_without_control_characters) {
    sbx_config config = {0};
    sbx_result result;
    const unsigned char *c;
    config.name = "bot\n\x1b[31m\xc2\x9b\xe2\x80\xae\x7f\xd8\x9c\x9b 7";
    result = RUN_CHILD(&config, "exit", "3");
    EXPECT_STREQ("", test_lacks(result.message, "bot"));
    EXPECT_TRUE(strstr(result.message, "child") == NULL);
    for (c = (const unsigned char *)result.message; *c; c++)
        EXPECT_TRUE(*c >= 32 && *c < 127); /* of these, none is left */
    sbx_free(&result);
}

static const char *passes_descriptors(void *arg) {
    static const int at[3][3] = {{5, 4, 3}, {4, 5, 3}, {700, 3, 900}};
    int row, i, many[61], both = *(int *)arg;
    sbx_config config = {0};
    sbx_result result;
    for (row = 0; row < 3; row++) {
        int list[4] = {0, 0, 0, -1};
        for (i = 0; i < 3; i++) { /* a pipe with one letter in it, at a number of our choice */
            int ends[2], up;
            TEST_MUST(pipe(ends) == 0 && write(ends[1], &"abc"[i], 1) == 1);
            up = fcntl(ends[0], F_DUPFD, 1000);
            close(ends[0]);
            close(ends[1]);
            list[i] = up;
        }
        for (i = 0; i < 3; i++) {
            TEST_MUST(dup2(list[i], at[row][i]) == at[row][i]);
            close(list[i]);
            list[i] = at[row][i];
        }
        config.contain = test_both[both];
        config.command = "cat <&3; cat <&4; cat <&5; (: <&6) 2>/dev/null || echo .";
        config.pass_fds = list;
        TEST_MUST(sbx_run(&config, &result) == SBX_OK);
        if (strcmp(result.out.data, "abc.\n") != 0) return test_text("'%s'", result.out.data);
        sbx_free(&result);
        for (i = 0; i < 3; i++) TEST_MUST(close(list[i]) == 0); /* they are still the host's */
    }

    for (i = 0; i < 60; i++) many[i] = open("/dev/null", O_RDONLY);
    many[60] = -1;
    config.pass_fds = many;
    config.command = "test -e /dev/fd/62 && test -e /dev/fd/3 && ! test -e /dev/fd/63";
    TEST_MUST(sbx_run(&config, &result) == SBX_OK);
    sbx_free(&result);
    many[1] = 5000; /* not open */
    TEST_MUST(sbx_run(&config, &result) == SBX_NOT_STARTED);
    if (!strstr(result.message, "pass_fds")) return test_text("%s", result.message);
    return "";
}

/* 64 are the most, and 65 a list that may have no end. */
static const char *passes_64(void *arg) {
    int list[66], i;
    sbx_config config = {0};
    sbx_result result;
    (void)arg;
    for (i = 0; i < 65; i++) list[i] = 0;
    list[64] = list[65] = -1;
    config.in = SBX_DISCARD;
    config.pass_fds = list;
    config.command = "test -e /dev/fd/66 && ! test -e /dev/fd/67";
    MUST_BE_WELL(test_run(&config, &result)); /* nothing of the list is left, either */
    if (result.verdict != SBX_OK) return test_text("64: %s", result.message);
    sbx_free(&result);
    list[64] = 0;
    TEST_MUST(sbx_run(&config, &result) == SBX_NOT_STARTED && result.step == SBX_STEP_CONFIG);
    sbx_free(&result);
    MUST_BE_WELL(test_lacks(result.message, "more than 64"));
    return "";
}

/* No descriptor is left for a copy: that is said, and not that the list is wrong. */
static const char *passes_without_a_free_one(void *arg) {
    static const int list[] = {0, -1};
    int many[31], i;
    struct rlimit limit;
    sbx_config config = {0};
    sbx_result result;
    (void)arg;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 64;
    TEST_MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (dup(0) >= 0) {
    }
    config.command = "true";
    config.pass_fds = list;
    TEST_MUST(sbx_run(&config, &result) == SBX_NOT_STARTED && result.step == SBX_STEP_IO);
    TEST_MUST(result.sys_errno == EMFILE);
    MUST_BE_WELL(test_lacks(result.message, "pass_fds"));
    for (i = 0; i < 30; i++) many[i] = 0; /* they would go up to 32, and their copies lie above */
    many[30] = -1;
    config.pass_fds = many;
    limit.rlim_cur = 20;
    TEST_MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    TEST_MUST(sbx_run(&config, &result) == SBX_NOT_STARTED && result.sys_errno == EMFILE);
    return "";
}

UTEST(talk, pass_fds_without_a_free_descriptor) {
    EXPECT_STREQ("", test_in_copy(passes_without_a_free_one, NULL));
}

UTEST(talk, pass_fds_64_are_the_most) { EXPECT_STREQ("", test_in_copy(passes_64, NULL)); }

UTEST(talk, pass_fds_in_order_whatever_their_numbers) {
    int both;
    for (both = 0; both < 2; both++) EXPECT_STREQ("", test_in_copy(passes_descriptors, &both));
}

static const char *copies_variables(void *arg) {
    const char *list[] = {"SBX_TALK_BARE", "SBX_TALK_NOT_THERE", "SBX_TALK_SET=1", NULL};
    sbx_config config = {0};
    sbx_result result;
    (void)arg;
    setenv("SBX_TALK_BARE", "from the host", 1);
    setenv("SBX_TALK_SECRET", "of the host", 1);
    setenv("PATH", "/usr/bin:/bin", 1);
    config.argv = test_child_argv("env");
    config.env = list;
    TEST_MUST(sbx_run(&config, &result) == SBX_OK);
    if (strcmp(result.out.data, "SBX_TALK_BARE=from the host\nSBX_TALK_SET=1\n") != 0)
        return test_text("'%s'", result.out.data);
    sbx_free(&result);
    config.env = NULL;
    TEST_MUST(sbx_run(&config, &result) == SBX_OK);
    if (strcmp(result.out.data, "PATH=/usr/bin:/bin\n") != 0)
        return test_text("'%s'", result.out.data);
    return "";
}

UTEST(talk, env_bare_names_and_null) { EXPECT_STREQ("", test_in_copy(copies_variables, NULL)); }

static volatile int stop_now;
static void set_stop(int number) {
    (void)number;
    stop_now = 1;
}

/* Wherever in sbx_run the handler comes, the run ends. One that gets lost is timed out. */
static const char *stops_from_a_handler(void *arg) {
    struct sigaction action;
    int i;
    (void)arg;
    memset(&action, 0, sizeof action);
    action.sa_handler = set_stop;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    for (i = 0; i < 60; i++) {
        struct itimerval soon = {{0, 0}, {0, 0}};
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("sleep");
        config.contain = test_both[i % 2];
        config.grace_ms = -1;
        config.timeout_ms = LONG_MS;
        config.stop = &stop_now;
        stop_now = 0;
        soon.it_value.tv_usec = 100 + 211 * i;
        setitimer(ITIMER_REAL, &soon, NULL);
        sbx_run(&config, &result);
        if (result.verdict != SBX_CANCELLED) return test_text("%d: %s", i, result.message);
        sbx_free(&result);
    }
    return "";
}

UTEST(talk, stop_from_a_handler_is_never_missed) {
    EXPECT_STREQ("", test_in_copy(stops_from_a_handler, NULL));
}

static void *set_stop_later(void *arg) {
    (void)arg;
    test_sleep_ms(50);
    __atomic_store_n(&stop_now, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* No signal wakes the thread that waits. */
UTEST(talk, stop_from_another_thread_is_seen) {
    pthread_t thread;
    int i;
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("sleep");
        config.contain = test_both[i];
        config.grace_ms = -1;
        config.timeout_ms = LONG_MS;
        config.stop = &stop_now;
        stop_now = 0;
        ASSERT_EQ(0, pthread_create(&thread, NULL, set_stop_later, NULL));
        sbx_run(&config, &result);
        pthread_join(thread, NULL);
        EXPECT_VERDICT(SBX_CANCELLED, result);
        EXPECT_LT(result.wall_us, LONG_MS / 2 * 1000);
        sbx_free(&result);
    }
}

/* ==== Bots ==================================================================================== */

/* One that answers, one that floods, one that never answers; a new one when its game is over. */
static const char *plays(long moves) {
    static const char *const kinds[3][4] = {
        {NULL, "cat", NULL}, {NULL, "flood", "out", NULL}, {NULL, "sleep", NULL}};
    static const sbx_verdict ends[3] = {SBX_OK, SBX_OUTPUT_LIMIT, SBX_TIMED_OUT};
    sbx *bots[3] = {NULL, NULL, NULL};
    long blocks = test_live_blocks(), move;
    int fds = test_count_fds(), k, over[3] = {0, 0, 0};
    for (move = 0; move < moves; move++)
        for (k = 0; k < 3; k++) {
            sbx_result result;
            if (!bots[k] && (k == 0 || move % 20 == 0)) {
                const char *argv[4];
                sbx_config config = {0};
                memcpy(argv, kinds[k], sizeof argv);
                argv[0] = test_child();
                config.output_bytes = 50000;
                config.grace_ms = -1;
                config.contain = test_both[move % 2];
                bots[k] = talk(&config, argv);
                TEST_MUST(bots[k] != NULL);
            }
            if (!bots[k]) continue;
            if (k == 0) MUST_BE_WELL(ping(bots[k], "your move\n"));
            if (k != 0) sbx_write(bots[k], "your move\n", 10);
            if (k == 2) sbx_set_timeout(bots[k], 5);
            while (k != 0 && !sbx_poll(bots[k], LONG_MS)) {
            }
            if (k == 0 && move % 100 != 99 && move != moves - 1) continue;
            sbx_finish(bots[k], &result);
            if (result.verdict != ends[k]) return test_text("%d: %s", k, result.message);
            sbx_free(&result);
            bots[k] = NULL;
            over[k]++;
        }
    TEST_MUST(over[0] > 0 && over[1] > 0 && over[2] > 0);
    TEST_MUST(test_live_blocks() == blocks && test_count_fds() == fds);
    return "";
}

UTEST(talk, bots_of_three_kinds) { EXPECT_STREQ("", plays(300)); }

UTEST(talk, slow_bots_of_three_kinds_for_10000_moves) {
    if (!getenv("SBX_TEST_SLOW")) UTEST_SKIP("takes a while: make check");
    EXPECT_STREQ("", plays(10000));
}

/* ==== Many boxes ============================================================================== */

enum { MANY = 40 };

/* So many cats, the system's own: they live until their input ends, or for a minute. */
static const char *start_many(sbx **boxes, int count, sbx_contain contain) {
    static const char *const cat[] = {"cat", NULL};
    int i;
    for (i = 0; i < count; i++) {
        sbx_config config = {0};
        config.contain = contain;
        config.timeout_ms = 60000;
        boxes[i] = talk(&config, cat);
        TEST_MUST(boxes[i] != NULL);
    }
    return "";
}

/* Whichever ends is found where it stands, however the host keeps its table; in between the boxes
   are polled alone, and in two halves. */
static const char *ends_in_turn(int way) {
    sbx *boxes[MANY];
    int left = MANY, i, fds = test_count_fds();
    long blocks = test_live_blocks();
    char byte;
    MUST_BE_WELL(start_many(boxes, MANY, test_both[way % 2]));
    while (left > 0) {
        sbx_result result;
        int which = (7 * left + 3) % left, found;
        sbx *wanted = boxes[which];
        TEST_MUST(sbx_poll_any(boxes, left, 0) == -1);
        if (left % 5 == 0) sbx_poll(boxes[left - 1], 0);
        if (left % 7 == 0) sbx_poll_any(boxes, left / 2, 0);
        TEST_MUST(sbx_read(wanted, SBX_STDOUT, &byte, 1) == 0);
        TEST_MUST(sbx_write(wanted, "z", 1) == 1);
        TEST_MUST(sbx_poll_any(boxes, left, -1) == -1); /* for what is to be read */
        TEST_MUST(sbx_read(wanted, SBX_STDOUT, &byte, 1) == 1 && byte == 'z');
        sbx_close_input(wanted);
        while ((found = sbx_poll_any(boxes, left, LONG_MS)) < 0) {
        }
        TEST_MUST(found == which);
        TEST_MUST(sbx_finish(wanted, &result) == SBX_OK && result.out.total == 1);
        sbx_free(&result);
        left--;
        if (way < 2) boxes[which] = boxes[left];
        else
            for (i = which; i < left; i++) boxes[i] = boxes[i + 1];
    }
    TEST_MUST(test_count_fds() == fds && test_live_blocks() == blocks);
    return "";
}

UTEST(talk, many_end_in_turn) {
    int way;
    for (way = 0; way < 4; way++) EXPECT_STREQ("", ends_in_turn(way));
}

/* One that floods, one that is timed out, one whose output is full, among many that are quiet. */
UTEST(talk, many_and_their_limits) {
    sbx *boxes[MANY];
    sbx_config config = {0};
    sbx_result result;
    int i, found;
    test_host before;
    test_host_save(&before);
    EXPECT_STREQ("", start_many(boxes, MANY - 3, SBX_CONTAIN_GROUP));
    config.grace_ms = -1;
    config.timeout_ms = 300;
    boxes[MANY - 3] = TALK(&config, "sleep");
    config.timeout_ms = LONG_MS;
    boxes[MANY - 2] = TALK(&config, "flood", "err");
    boxes[MANY - 1] = TALK(&config, "sleep");
    for (i = 0; i < MANY; i++) ASSERT_TRUE(boxes[i] != NULL);
    EXPECT_EQ(-1, sbx_poll_any(boxes, MANY, 0));
    sbx_cancel(boxes[MANY - 1]);
    for (i = 0; i < 3; i++) {
        while ((found = sbx_poll_any(boxes, MANY, LONG_MS)) < 0) {
        }
        EXPECT_TRUE(found >= MANY - 3);
        sbx_finish(boxes[found], &result);
        EXPECT_VERDICT(found == MANY - 3   ? SBX_TIMED_OUT
                       : found == MANY - 2 ? SBX_OUTPUT_LIMIT
                                           : SBX_CANCELLED,
                       result);
        sbx_free(&result);
        boxes[found] = NULL;
    }
    for (i = 0; i < MANY - 3; i++) EXPECT_EQ((int)SBX_OK, (int)sbx_finish(boxes[i], NULL));
    EXPECT_STREQ("", test_host_diff(&before));
}

static int readable(int fd, int ms) {
    struct pollfd one;
    one.fd = fd;
    one.events = POLLIN;
    return poll(&one, 1, ms) == 1;
}

/* One descriptor for a loop of the host's own, for few boxes and for many. */
UTEST(talk, many_watched_with_one_descriptor) {
    int count;
    test_host before;
    test_host_save(&before);
    for (count = 1; count <= MANY; count += MANY - 1) {
        sbx *boxes[MANY];
        long long wait_ms = -5;
        int fd, i, found = -1;
        EXPECT_STREQ("", start_many(boxes, count, SBX_CONTAIN_GROUP));
        EXPECT_EQ(-1, sbx_poll_any(boxes, count, 0));
        fd = sbx_get_watch_any(boxes, count, &wait_ms);
        EXPECT_TRUE(wait_ms >= 0 && wait_ms <= LONG_MS);
        if (test_is_portable()) EXPECT_EQ(-1, fd);
        else {
            ASSERT_TRUE(fd > 2);
            EXPECT_EQ(0, readable(fd, 0));
            EXPECT_EQ(1LL, sbx_write(boxes[count - 1], "x", 1));
            EXPECT_TRUE(readable(fd, LONG_MS));
            EXPECT_EQ(-1, sbx_poll_any(boxes, count, 0));
            EXPECT_EQ(0, readable(fd, 0)); /* it has been read, if by nobody but the box */
        }
        sbx_close_input(boxes[0]);
        while (found < 0) {
            fd = sbx_get_watch_any(boxes, count, &wait_ms);
            if (fd >= 0) EXPECT_TRUE(readable(fd, (int)wait_ms) || wait_ms < LONG_MS);
            found = sbx_poll_any(boxes, count, 0);
            if (fd < 0) test_sleep_ms(1);
        }
        EXPECT_EQ(0, found);
        sbx_get_watch_any(boxes, count, &wait_ms);
        EXPECT_EQ(0LL, wait_ms);
        for (i = 0; i < count; i++) EXPECT_EQ((int)SBX_OK, (int)sbx_finish(boxes[i], NULL));
    }
    EXPECT_STREQ("", test_host_diff(&before));
}

/* No descriptor is left for what the many would share: it goes on without. */
static const char *has_no_descriptor_left(void *arg) {
    sbx *boxes[MANY];
    struct rlimit files;
    int i, left = MANY, extra[1024], used = 0;
    (void)arg;
    MUST_BE_WELL(start_many(boxes, MANY, SBX_CONTAIN_GROUP));
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = 512;
    setrlimit(RLIMIT_NOFILE, &files);
    while (used < 1024 && (extra[used] = open("/dev/null", O_RDONLY)) >= 0) used++;
    TEST_MUST(used > 0 && errno == EMFILE);
    for (i = 0; i < MANY; i++) sbx_close_input(boxes[i]);
    while (left > 0) {
        i = sbx_poll_any(boxes, MANY, LONG_MS);
        if (i < 0) continue;
        TEST_MUST(sbx_finish(boxes[i], NULL) == SBX_OK);
        boxes[i] = NULL;
        left--;
    }
    return "";
}

UTEST(talk, many_without_a_descriptor_left) {
    EXPECT_STREQ("", test_in_copy(has_no_descriptor_left, NULL));
}

/* One has ended and stays in the table: the others are timed out all the same. */
static void expect_turns_beside_an_ended_one(int *utest_result, int count) {
    sbx *boxes[MANY] = {NULL};
    sbx_config config = {0};
    sbx_result result;
    long long begun;
    int i;
    config.argv = test_child_argv("exit", "0");
    ASSERT_TRUE((boxes[0] = sbx_start(&config, NULL)) != NULL);
    ASSERT_EQ(1, sbx_poll(boxes[0], LONG_MS));
    config.argv = test_child_argv("sleep");
    config.timeout_ms = SHORT_MS;
    for (i = 1; i < count; i++) ASSERT_TRUE((boxes[i] = sbx_start(&config, NULL)) != NULL);

    begun = test_now_ms();
    for (i = 1; i < count; i++)
        while (sbx_pid(boxes[i]) && test_now_ms() < begun + LONG_MS)
            ASSERT_GE(sbx_poll_any(boxes, count, 100), 0);
    for (i = 1; i < count; i++) {
        EXPECT_EQ(0, sbx_pid(boxes[i]));
        sbx_kill(boxes[i]);
        sbx_finish(boxes[i], &result);
        EXPECT_VERDICT(SBX_TIMED_OUT, result);
        sbx_free(&result);
    }
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(boxes[0], NULL));
}

/* More than the set has room for at first; in a copy, for the worst is that it never returns. */
static const char *polls_a_crowd(void *arg) {
    enum { CROWD = 150 };
    sbx *boxes[CROWD];
    sbx_result result;
    int i;
    (void)arg;
    MUST_BE_WELL(start_many(boxes, CROWD, SBX_CONTAIN_GROUP));
    TEST_MUST(sbx_poll_any(boxes, CROWD, 0) == -1);
    for (i = CROWD - 1; i >= 0; i--) {
        sbx_close_input(boxes[i]);
        if (i % 30 == 0) TEST_MUST(sbx_poll_any(boxes, i + 1, LONG_MS) == i);
        TEST_MUST(sbx_finish(boxes[i], &result) == SBX_OK);
        sbx_free(&result);
        boxes[i] = NULL;
    }
    return "";
}

UTEST(talk, many_may_be_a_crowd) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 1024) UTEST_SKIP("too few descriptors for a crowd");
    EXPECT_STREQ("", test_in_copy(polls_a_crowd, NULL));
}

/* A full input among many: poll returns as soon as there is room there. */
UTEST(talk, many_of_which_one_has_a_full_input) {
    static char bytes[65536];
    sbx_config config = {0};
    sbx *boxes[20];
    long long n = 1;
    int i;
    EXPECT_STREQ("", start_many(boxes, 19, SBX_CONTAIN_GROUP));
    config.out = SBX_DISCARD;
    config.timeout_ms = 6000;
    config.grace_ms = -1;
    config.contain = SBX_CONTAIN_GROUP;
    boxes[19] = TALK(&config, "cat");
    ASSERT_TRUE(boxes[19] != NULL);
    EXPECT_EQ(-1, sbx_poll_any(boxes, 20, 0));
    EXPECT_EQ(1, sbx_signal(boxes[19], SIGSTOP));
    while (n > 0) n = sbx_write(boxes[19], bytes, sizeof bytes);
    EXPECT_EQ(0LL, n);
    EXPECT_EQ(1, sbx_signal(boxes[19], SIGCONT));
    EXPECT_EQ(-1, sbx_poll_any(boxes, 20, LONG_MS)); /* none has ended, not even in time */
    EXPECT_GT(sbx_write(boxes[19], bytes, sizeof bytes), 0LL);
    for (i = 0; i < 20; i++) EXPECT_EQ((int)SBX_OK, (int)sbx_finish(boxes[i], NULL));
}

#ifdef __linux__
/* Where the kernel, or a filter around a container, has no epoll_pwait2: it waits all the same. */
static const char *waits_without_epoll_pwait2(void *arg) {
    static const int epoll_pwait2 = 441;
    sbx *boxes[20];
    long long cpu;
    int i;
    (void)arg;
    if (!test_forbid(&epoll_pwait2, 1, ENOSYS)) return "skip: no filter";
    MUST_BE_WELL(start_many(boxes, 20, SBX_CONTAIN_GROUP));
    TEST_MUST(sbx_poll_any(boxes, 20, 100) == -1);
    cpu = test_host_cpu_us();
    TEST_MUST(sbx_poll_any(boxes, 20, 500) == -1);
    cpu = test_host_cpu_us() - cpu;
    for (i = 0; i < 20; i++) TEST_MUST(sbx_finish(boxes[i], NULL) == SBX_OK);
    return cpu < 100000 ? "" : test_text("%lld us of CPU time in half a second", cpu);
}

UTEST(talk, many_wait_without_epoll_pwait2) {
    EXPECT_WELL(test_in_copy(waits_without_epoll_pwait2, NULL));
}
#endif

/* There is an ended one: that is told at once, whatever the others wait for. */
UTEST(talk, poll_of_many_does_not_wait_beside_an_ended_one) {
    sbx_config config = {0};
    sbx *boxes[2];
    long long start;
    int i;
    config.contain = SBX_CONTAIN_GROUP;
    boxes[0] = TALK(&config, "cat");
    ASSERT_TRUE(boxes[0] != NULL);
    boxes[1] = TALK(&config, "exit", "3");
    ASSERT_TRUE(boxes[1] != NULL);
    EXPECT_EQ(1, sbx_poll(boxes[1], LONG_MS));
    start = test_now_ms();
    for (i = 0; i < 300; i++) EXPECT_EQ(1, sbx_poll_any(boxes, 2, LONG_MS));
    EXPECT_LT(test_now_ms() - start, 2000LL); /* else it is woken every 10 or 20 ms by chance */
    EXPECT_EQ((int)SBX_EXITED, (int)sbx_finish(boxes[1], NULL));
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(boxes[0], NULL));
}

/* What was found empty and is not any more has not to be waited for, until it is read. */
UTEST(talk, watch_of_many_says_that_there_is_something_to_read) {
    sbx_config config = {0};
    sbx_result result;
    long long wait_ms = -7;
    char byte;
    sbx *box = TALK(&config, "cat");
    ASSERT_TRUE(box != NULL);
    EXPECT_EQ(0LL, sbx_read(box, SBX_STDOUT, &byte, 1));
    EXPECT_EQ(1LL, sbx_write(box, "x", 1));
    EXPECT_EQ(0, sbx_poll(box, LONG_MS)); /* it has come */
    sbx_get_watch_any(&box, 1, &wait_ms);
    EXPECT_EQ(0LL, wait_ms);
    EXPECT_EQ(1LL, sbx_read(box, SBX_STDOUT, &byte, 1));
    sbx_close_input(box);
    while (!sbx_poll(box, LONG_MS)) {
    }
    wait_ms = -7;
    EXPECT_EQ(-1, sbx_get_watch_any(&box, 1, &wait_ms)); /* nobody is left to wait for */
    EXPECT_EQ(0LL, wait_ms);
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    sbx_free(&result);
}

UTEST(talk, an_ended_box_holds_up_nobody) {
    expect_turns_beside_an_ended_one(utest_result, 2);
    expect_turns_beside_an_ended_one(utest_result, 20);
}

/* Boxes that were polled together go to two threads, which poll and finish theirs at one time. */
static void *finishes_its_half(void *half) {
    sbx **boxes = (sbx **)half;
    int left = MANY / 2, i;
    for (i = 0; i < MANY / 2; i++) sbx_close_input(boxes[i]);
    while (left > 0) {
        i = sbx_poll_any(boxes, left, LONG_MS);
        if (i < 0) continue;
        if (sbx_finish(boxes[i], NULL) != SBX_OK) return (void *)"not ok";
        boxes[i] = boxes[--left];
    }
    return NULL;
}

UTEST(talk, many_go_to_two_threads) {
    int round;
    test_host before;
    test_host_save(&before);
    for (round = 0; round < 3; round++) {
        sbx *boxes[MANY];
        pthread_t thread;
        void *flaw = NULL;
        EXPECT_STREQ("", start_many(boxes, MANY, SBX_CONTAIN_GROUP));
        EXPECT_EQ(-1, sbx_poll_any(boxes, MANY, 0));
        ASSERT_EQ(0, pthread_create(&thread, NULL, finishes_its_half, boxes));
        EXPECT_TRUE(finishes_its_half(boxes + MANY / 2) == NULL);
        pthread_join(thread, &flaw);
        EXPECT_TRUE(flaw == NULL);
    }
    EXPECT_STREQ("", test_host_diff(&before));
}

/* What SBX_KEEP_LAST and SBX_KEEP_ENDS keep can be read, too, when the stream has ended. */
UTEST(talk, last_bytes_come_at_the_end_of_the_stream) {
    static const int sizes[] = {0, 1, 1000, 4000, 4096, 9000, 70000};
    int keep;
    size_t i, k;
    for (keep = SBX_KEEP_LAST; keep <= SBX_KEEP_ENDS; keep++)
        for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            static char got[80000];
            size_t size = (size_t)sizes[i], n = 0, kept = size < 4096 ? size : 4096, bad = 0;
            sbx_config config = {0};
            sbx_result result;
            long long more;
            sbx *box;
            config.argv = test_child_argv("write", test_text("%d", sizes[i]), "0");
            config.output_bytes = 4096;
            config.truncate_output = keep;
            box = sbx_start(&config, &result);
            ASSERT_TRUE(box != NULL);
            while (!sbx_poll(box, LONG_MS)) {
            }
            while ((more = sbx_read(box, SBX_STDOUT, got + n, 700)) > 0) n += (size_t)more;
            EXPECT_EQ(-1LL, more);
            EXPECT_EQ(kept, n);
            for (k = 0; k < n; k++) {
                size_t at = k < (keep == SBX_KEEP_ENDS ? kept / 2 : 0) ? k : size - kept + k;
                bad += got[k] != test_pattern(at);
            }
            EXPECT_EQ((size_t)0, bad);
            EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
            EXPECT_EQ((size_t)0, result.out.size);
            EXPECT_EQ(size > kept, result.out.truncated != 0);
            EXPECT_EQ((unsigned long long)size, result.out.total);
            sbx_free(&result);
        }
}
