/* The JSON reader of examples/mcp_server.c: what it has to take and what to refuse, and then any
   bytes whatever. Built with sanitizers where there are some. */
#define main server_main
#include "../../examples/mcp_server.c"
#undef main

static json values[MAX_VALUES];
static int failed;

static const char *const good[] = {
    "0", "-0", "-0.5e+10", "1E9", "123456789012345678901234567890", "true", "false", "null", "\"\"",
    " [ ] ", "{}", "[1,[2,[3]],{\"a\":{}}]", "\t{\r\n\"a\" : 1 }\n", "\"\\u0000\"", "\"\\ud83d\\ude00\"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\"", "\"\x7F\"",
    "{\"a\":1,\"a\":2}", "\"\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF\"",
};
static const char *const bad[] = {
    "", " ", "nul", "nulll", "True", "NaN", "Infinity", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+",
    "0x10", "1 2", "[", "]", "[1,]", "[,1]", "[1 2]", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
    "{a:1}", "{'a':1}", "{1:2}", "{\"a\" 1}", "\"", "\"abc", "\"\\\"", "\"\\x41\"", "\"\\u12\"",
    "\"\\u12G4\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\ud800\\ud800\"", "\"\n\"",
    "\"\t\"", "\"\x01\"", "\"\x80\"", "\"\xC3\"", "\"\xC0\xAF\"", "\"\xE0\x80\xAF\"", "\"\xED\xA0\x80\"",
    "\"\xF4\x90\x80\x80\"", "\"\xF8\x88\x80\x80\x80\"", "\"\xFF\"", "\xEF\xBB\xBF{}", "{}x", "// a\n1",
    "/**/1", "[1]\x0B", "'a'", "[1\xA0]",
};

static const json *parse(const char *text, size_t size, char *copy) {
    const char *error;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return read_json(copy, size, values, &error);
}

static void expect(int condition, const char *what) {
    if (condition) return;
    printf("not so: %s\n", what);
    failed = 1;
}

static void check_lists(void) {
    char copy[256];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        expect(parse(good[i], strlen(good[i]), copy) != NULL, good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect(parse(bad[i], strlen(bad[i]), copy) == NULL, bad[i]);
    expect(parse("1\0", 2, copy) == NULL, "a NUL byte behind a value is refused");
}

static void check_values(void) {
    char copy[256];
    const char *text = "{\"t\":\"a\\u00e4\\ud83d\\ude00\\n\",\"n\":-1.5,\"o\":{\"x\":[true]}}";
    const json *v = parse(text, strlen(text), copy);
    const json *t = member(v, "t"), *n = member(v, "n"), *x = member(member(v, "o"), "x");

    expect(is_text(t, "a\xC3\xA4\xF0\x9F\x98\x80\n"), "escapes are decoded");
    expect(n && n->type == J_NUMBER && n->raw_size == 4, "a number");
    expect(x && x->type == J_ARRAY && x->first && x->first->type == J_TRUE && !x->first->next, "[true]");
    expect(member(v, "none") == NULL && member(t, "t") == NULL, "no such member");
}

static void check_bounds(void) {
    static char text[3 * MAX_VALUES], copy[3 * MAX_VALUES];
    int i;

    for (i = 0; i < MAX_DEPTH; i++) text[i] = '[', text[2 * MAX_DEPTH - 1 - i] = ']';
    expect(parse(text, 2 * MAX_DEPTH, copy) != NULL, "as deep as it may be");
    memset(text, '[', sizeof text - 1);
    expect(parse(text, sizeof text - 1, copy) == NULL, "too deep");
    for (i = 0; i < MAX_VALUES; i++) memcpy(text + 2 * i, i ? ",1" : "[1", 2);
    text[2 * MAX_VALUES] = ']';
    expect(parse(text, 2 * MAX_VALUES + 1, copy) == NULL, "too many values");
    text[2 * MAX_VALUES - 2] = ']';
    expect(parse(text, 2 * MAX_VALUES - 1, copy) != NULL, "as many as there may be");
}

static unsigned state = 12345; /* the same bytes every time */
static unsigned dice(unsigned sides) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state % sides;
}

/* Whatever the bytes: no read beside them, and every string that is taken is UTF-8. */
static void check_value(const json *v) {
    for (size_t at = 0; v && v->type == J_STRING && at < v->size;) {
        size_t n = utf8_length((unsigned char *)v->text + at, v->size - at);
        expect(n > 0, "a string that was taken is UTF-8");
        at += n ? n : v->size;
    }
    if (v == NULL || v->type < J_ARRAY) return;
    for (v = v->first; v; v = v->next) check_value(v);
}

static void fuzz(int rounds) {
    static const char pieces[] = "{}[]\":,\\u0d8e9fntbr-+.eE 123truefalsnul\x01\x80\xC3\xA4\xED\xF0\x9F";
    int taken = 0;

    for (int i = 0; i < rounds; i++) {
        const char *seed = good[dice(sizeof good / sizeof *good)];
        size_t size = strlen(seed), k, changes = dice(6);
        char text[64], *copy;
        if (i % 4 == 0) seed = "{\"a\":[1,\"b\\u00e4\\n\"],\"c\":{\"d\":null}}", size = strlen(seed);
        memcpy(text, seed, size);
        for (k = 0; k < changes; k++) {
            size_t at = dice((unsigned)size + 1);
            char c = pieces[dice(sizeof pieces - 1)];
            if (dice(3) == 0 && size < sizeof text - 1) {
                memmove(text + at + 1, text + at, size - at);
                text[at] = c, size++;
            } else if (at < size && dice(2) == 0) {
                memmove(text + at, text + at + 1, size - at - 1), size--;
            } else if (at < size) {
                text[at] = c;
            }
        }
        copy = malloc(size + 1); /* on the heap, so that a sanitizer sees every step beside it */
        const json *v = parse(text, size, copy);
        taken += v != NULL;
        check_value(v);
        free(copy);
    }
    expect(taken > rounds / 20 && taken < rounds, "some are taken and some are not");
}

int main(void) {
    check_lists();
    check_values();
    check_bounds();
    fuzz(300000);
    (void)server_main;
    return failed;
}
