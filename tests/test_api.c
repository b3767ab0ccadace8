/* The small public functions. */
#include "test.h"

#include <sys/mman.h>

/* ==== Frees, and boxes that are NULL ========================================================== */

UTEST(config, free_is_patient) {
    long blocks = test_live_blocks();
    sbx_result result;
    sbx_config config = {0};
    memset(&result, 0, sizeof result);
    sbx_free(&result); /* never filled */
    sbx_free(&result);
    sbx_free(NULL);
    result = RUN_CHILD(&config, "exit", "0");
    sbx_free(&result);
    sbx_free(&result);
    EXPECT_TRUE(result.out.size == 0 && result.err.size == 0);
    result = RUN_CHILD(&config, "say", "both", "streams");
    EXPECT_EQ(blocks + 2, test_live_blocks());
    sbx_free(&result);
    EXPECT_EQ(blocks, test_live_blocks());
    EXPECT_STREQ("", result.out.data); /* what is freed is empty, and no trap */
    EXPECT_STREQ("", result.err.data);
    sbx_free(&result);
    EXPECT_EQ(blocks, test_live_blocks());
}

UTEST(config, null_boxes_are_harmless) {
    sbx_result result;
    sbx_watch watch;
    int certain = 1;
    test_host before;
    test_host_save(&before);
    sbx_cancel(NULL);
    sbx_close_input(NULL);
    EXPECT_EQ(-1LL, sbx_write(NULL, "x", 1));
    EXPECT_EQ(1, sbx_poll(NULL, 0)); /* there is nobody to wait for */
    sbx_poll_any(NULL, 0, 0);
    EXPECT_EQ(-1, sbx_poll_any(NULL, 3, -1));
    sbx_get_watch(NULL, &watch);
    EXPECT_EQ(0, watch.count);
    sbx_get_watch(NULL, NULL);
    sbx_probe(NULL);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_classify(NULL, &certain));
    EXPECT_EQ(0, certain);
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

/* ==== What belongs to the caller comes back =================================================== */

UTEST(seed, J4_user_comes_back_always) {
    int id;
    sbx_config config = {0};
    sbx_result result;
    config.user = &id;
    config.timeout_ms = 100;
    config.grace_ms = -1;
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_TRUE(result.user == &id);
    sbx_free(&result);
    result = RUN_CHILD(&config, "crash", "abort");
    EXPECT_TRUE(result.user == &id);
    sbx_free(&result);
    result = RUN_CHILD(&config, "sleep");
    EXPECT_TRUE(result.verdict == SBX_TIMED_OUT && result.user == &id);
    sbx_free(&result);
    config.timeout_ms = -7;
    result = RUN_CHILD(&config, "exit", "0");
    EXPECT_TRUE(result.verdict == SBX_NOT_STARTED && result.user == &id);
    sbx_free(&result);
    config.timeout_ms = 0;
    config.argv = (const char *const[]){"/nowhere/at/all", NULL};
    TEST_RUN(&config, &result);
    EXPECT_TRUE(result.verdict == SBX_NOT_STARTED && result.user == &id);
    sbx_free(&result);
    EXPECT_TRUE(sbx_start(&config, &result) == NULL && result.user == &id);
    sbx_free(&result);
    config.argv = NULL;
    sbx_call(&config, test_fn_nothing, NULL, NULL, 0, &result);
    EXPECT_EQ((int)(test_has_call() ? SBX_OK : SBX_NOT_STARTED), (int)result.verdict);
    EXPECT_TRUE(result.user == &id);
    sbx_free(&result);
    sbx_call(&config, NULL, NULL, NULL, 0, &result);
    EXPECT_TRUE(result.verdict == SBX_NOT_STARTED && result.user == &id);
    sbx_free(&result);
}

/* ==== sbx_utf8_prefix ========================================================================= */

/* The longest prefix of valid text that fits and does not end inside a character. */
static size_t valid_prefix(const char *text, size_t size, size_t max) {
    size_t end = size < max ? size : max;
    while (end > 0 && end < size && ((unsigned char)text[end] & 0xC0) == 0x80) end--;
    return end;
}

UTEST(config, utf8_every_cut_of_valid_text) {
    static const char *const texts[] = {"",
                                        "a",
                                        "plain ascii",
                                        "caf\xc3\xa9",
                                        "\xc3\xa9",
                                        "\xe2\x82\xac",
                                        "\xf0\x9f\x99\x82",
                                        "a\xc3\xa9"
                                        "b\xe2\x82\xac"
                                        "c\xf0\x9f\x99\x82"
                                        "d",
                                        "\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf",
                                        "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
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
    EXPECT_EQ((size_t)3, sbx_utf8_prefix("ab\x80"
                                         "c",
                                         4, 3));
    EXPECT_EQ((size_t)2, sbx_utf8_prefix("a\xff"
                                         "b",
                                         3, 2));
    EXPECT_EQ((size_t)2, sbx_utf8_prefix("a\xfe", 2, 2));
    EXPECT_EQ((size_t)5, sbx_utf8_prefix("\xc3\xa9\x80\x80\x80", 5, 5));
}

/* All strings of up to four bytes over one byte of every kind. */
UTEST(config, utf8_any_bytes) {
    static const unsigned char kinds[] = {0x00, 'a',  0x7f, 0x80, 0xbf, 0xc0, 0xc2, 0xdf,
                                          0xe0, 0xef, 0xf0, 0xf4, 0xf5, 0xf8, 0xfe, 0xff};
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
                if (got > end || got + 3 < end ||
                    (end && (unsigned char)text[end - 1] < 128 && got != end))
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

UTEST(seed, A10_text_is_cut_between_characters) {
    EXPECT_EQ((size_t)3, sbx_utf8_prefix("caf\xc3\xa9", 5, 4));
    EXPECT_EQ((size_t)5, sbx_utf8_prefix("caf\xc3\xa9", 5, 5));
}

/* ==== Names, the version, JSON ================================================================ */

UTEST(api, step_names) {
    static const char *const names[] = {"none",    "config", "memory", "io",   "spawn",
                                        "session", "limits", "cwd",    "exec", "contain",
                                        "cgroup",  "policy", "build"};
    int i;
    EXPECT_EQ(12, (int)SBX_STEP_BUILD);
    for (i = 0; i <= (int)SBX_STEP_BUILD; i++) EXPECT_STREQ(names[i], sbx_step_name((sbx_step)i));
    EXPECT_TRUE(sbx_step_name((sbx_step)99) != NULL && sbx_step_name((sbx_step)-1) != NULL);
}

UTEST(api, version_number) {
    int major = 0, minor = 0, patch = 0;
    EXPECT_EQ(3, sscanf(SBX_VERSION, "%d.%d.%d", &major, &minor, &patch));
    EXPECT_EQ(major * 10000 + minor * 100 + patch, SBX_VERSION_NUMBER);
}

/* A strict reader of JSON: where the value ends, or NULL. */
static const char *json_value(const char *c);

static const char *json_string(const char *c) {
    if (*c++ != '"') return NULL;
    for (; *c != '"'; c++) {
        size_t n = 0;
        if ((unsigned char)*c < 32) return NULL; /* the end of the text, too */
        if (*c == '\\' && c[1] == 'u') {
            for (n = 2; n < 6; n++)
                if (!c[n] || !strchr("0123456789abcdefABCDEF", c[n])) return NULL;
            c += 5;
        } else if (*c == '\\') {
            if (!c[1] || !strchr("\"\\/bfnrt", c[1])) return NULL;
            c++;
        } else if ((unsigned char)*c >= 0x80) { /* a whole character of UTF-8 */
            unsigned char first = (unsigned char)*c;
            size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
            if (first < 0xC2 || first > 0xF4) return NULL;
            for (n = 1; n <= more; n++)
                if (((unsigned char)c[n] & 0xC0) != 0x80) return NULL;
            c += more;
        }
    }
    return c + 1;
}

static const char *json_object(const char *c) {
    do {
        c = json_string(c + 1);
        if (!c || *c != ':') return NULL;
        c = json_value(c + 1);
    } while (c && *c == ',');
    return c && *c == '}' ? c + 1 : NULL;
}

static const char *json_value(const char *c) {
    size_t digits;
    if (*c == '{') return json_object(c);
    if (*c == '"') return json_string(c);
    if (strncmp(c, "true", 4) == 0) return c + 4;
    if (strncmp(c, "false", 5) == 0) return c + 5;
    if (*c == '-') c++;
    digits = strspn(c, "0123456789");
    return digits == 0 || (digits > 1 && *c == '0') ? NULL : c + digits;
}

/* Is it one line of JSON, as long as it says, and cut as snprintf cuts? */
static const char *json_flaw(const sbx_result *result) {
    size_t size = sbx_json(result, NULL, 0), room;
    char *text = (char *)malloc(size + 1), *part = (char *)malloc(size + 1);
    const char *flaw = "", *end;
    if (sbx_json(result, text, size + 1) != size || strlen(text) != size) flaw = "length";
    end = *flaw ? NULL : json_value(text);
    if (!*flaw && (!end || *end)) flaw = test_text("no JSON: %.150s", text);
    for (room = 1; room <= size && !*flaw; room += room < 40 ? 1 : size / 7 + 1) {
        memset(part, '#', size + 1);
        if (sbx_json(result, part, room) != size) flaw = "length of a part";
        if (strlen(part) != room - 1 || memcmp(part, text, room - 1) != 0) flaw = "part";
        if (room <= size && part[room] != '#') flaw = "written past the room";
    }
    if (!*flaw && !strstr(text, sbx_verdict_name(result->verdict))) flaw = "no verdict";
    free(text);
    free(part);
    return flaw;
}

UTEST(api, json_is_valid_whatever_the_bytes) {
    sbx_config config = {0};
    sbx_result result;
    unsigned seed = 1;
    int round, i;
    result = RUN_CHILD(&config, "binary");
    EXPECT_STREQ("", json_flaw(&result));
    sbx_free(&result);
    config.argv = test_child_argv("say", "say \"hi\"\\\n", "\xc3\xa9\xf0\x9f\x99\x82");
    TEST_RUN(&config, &result);
    EXPECT_STREQ("", json_flaw(&result));
    sbx_free(&result);
    config.cwd = "/no\"where\\\xff\xc3";
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_STREQ("", json_flaw(&result));
    for (round = 0; round < 300; round++) { /* random bytes, many of them on the edge of UTF-8 */
        static const unsigned char odd[] = {0,    9,    31,   '"',  '\\', 127,  0x80, 0xBF, 0xC0,
                                            0xC2, 0xE0, 0xA0, 0xED, 0x9F, 0xF0, 0x90, 0xF4, 0x8F};
        char bytes[33];
        for (i = 0; i < 32; i++) {
            seed = seed * 1103515245u + 12345u;
            bytes[i] = (char)(seed >> 28 < 3 ? seed >> 16 : odd[(seed >> 16) % sizeof odd]);
        }
        bytes[32] = 0;
        result.out.data = bytes;
        result.out.size = (seed >> 20) % 33;
        memcpy(result.message, bytes, sizeof bytes);
        EXPECT_STREQ("", json_flaw(&result));
    }
    result.out.size = 0;
}

UTEST(api, json_says_where_bytes_are_missing) {
    static char text[4096];
    sbx_config config = {0};
    sbx_result result;
    config.command = "echo 0123456789";
    config.output_bytes = 6;
    config.truncate_output = SBX_KEEP_ENDS;
    TEST_RUN(&config, &result);
    sbx_json(&result, text, sizeof text);
    EXPECT_TRUE_MSG(strstr(text, "\"stdout\":\"01289\\n\"") != NULL, text);
    EXPECT_TRUE_MSG(strstr(text, "\"stdout_truncated\":true,\"stdout_gap\":3") != NULL, text);
    EXPECT_TRUE_MSG(strstr(text, "\"stderr_gap\":0") != NULL, text);
    sbx_free(&result);
    EXPECT_GT((int)sbx_json(NULL, text, sizeof text), 0); /* of nothing, too */
    EXPECT_TRUE_MSG(strstr(text, "NULL") != NULL, text);
}

/* Every field of the result, each with a number of its own. */
UTEST(api, json_has_every_field_in_its_place) {
    static char text[2048];
    static const char more[] =
        "\"message\":\"m\\t\\u0001\\u007f\",\"exit_code\":-1,\"signal\":9,\"wall_us\":11,\"user_"
        "us\":12,\"system_us\":13,\"peak_bytes\":14,"
        "\"evidence\":15,\"enforced\":16,\"step\":\"cwd\",\"errno\":17,"
        "\"stdout\":\"ou\\r\",\"stdout_total\":18,\"stdout_truncated\":true,\"stdout_gap\":2,"
        "\"stderr\":\"\",\"stderr_total\":0,\"stderr_truncated\":false,\"stderr_gap\":0}";
    sbx_result result;
    int certain;
    for (certain = 0; certain < 2; certain++) {
        memset(&result, 0, sizeof result); /* err.data stays NULL */
        result.verdict = SBX_CRASHED, result.certain = certain;
        result.exit_code = -1, result.signal = 9;
        result.wall_us = 11, result.user_us = 12, result.system_us = 13, result.peak_bytes = 14;
        result.evidence = 15, result.enforced = 16, result.step = SBX_STEP_CWD;
        result.sys_errno = 17;
        result.out.data = (char *)(size_t) "ou\r", result.out.size = 3, result.out.total = 18;
        result.out.truncated = 1, result.out.gap = 2;
        strcpy(result.message, "m\t\001\177");
        sbx_json(&result, text, sizeof text);
        EXPECT_STREQ(test_text("{\"verdict\":\"crashed\",\"certain\":%s,%s",
                               certain ? "true" : "false", more),
                     text);
    }
}

/* What looks like UTF-8 and is none, which a strict reader refuses; and the last before it. */
UTEST(api, json_takes_no_bytes_that_only_look_like_text) {
    static const struct {
        const char *bytes, *json;
    } rows[] = {
        {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"}, /* half of a pair */
        {"\xed\x9f\xbf", "\xed\x9f\xbf"},
        {"\xe0\x9f\xbf", "\\ufffd\\ufffd\\ufffd"}, /* too long for what it says */
        {"\xe0\xa0\x80", "\xe0\xa0\x80"},
        {"\xc1\xbf", "\\ufffd\\ufffd"},
        {"\xc2\x80", "\xc2\x80"},
        {"\xf0\x8f\xbf\xbf", "\\ufffd\\ufffd\\ufffd\\ufffd"},
        {"\xf0\x90\x80\x80", "\xf0\x90\x80\x80"},
        {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"}, /* past the last one */
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
        {"\xf5\x80\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"},
        {"\xe2\x82", "\\ufffd\\ufffd"}, /* cut off */
    };
    static char text[2048];
    size_t i;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        sbx_result result;
        memset(&result, 0, sizeof result);
        result.out.data = (char *)(size_t)rows[i].bytes;
        result.out.size = strlen(rows[i].bytes);
        sbx_json(&result, text, sizeof text);
        EXPECT_STREQ("", test_lacks(text, test_text("\"stdout\":\"%s\",", rows[i].json)));
    }
}

/* What Python reads back is what was there. */
UTEST(api, json_as_python_reads_it) {
    static const char script[] =
        "import json,sys; r=json.load(sys.stdin); o=r['stdout'];"
        "b=bytes((i*37+i//256)%256 for i in range(4096));"
        "sys.exit(0 if o.replace(chr(0xfffd),'')==b.decode('utf-8','ignore')"
        " and r['exit_code']==0 and r['stdout_total']==4096 else 1)";
    sbx_config config = {0}, reader = {0};
    sbx_result result, answer;
    static char text[65536];
    reader.argv = (const char *const[]){"python3", "-c", script, NULL};
    reader.inherit_env = 1;
    result = RUN_CHILD(&config, "binary");
    EXPECT_TRUE(sbx_json(&result, text, sizeof text) < sizeof text);
    EXPECT_EQ(4096ULL, result.out.total);
    reader.input = text;
    reader.input_size = strlen(text);
    sbx_run(&reader, &answer);
    sbx_free(&result);
    if (answer.step == SBX_STEP_EXEC) UTEST_SKIP("no python3 here");
    EXPECT_STREQ_MSG("ok", sbx_verdict_name(answer.verdict), answer.err.data);
    sbx_free(&answer);
}
