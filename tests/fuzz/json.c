/* sbx_json: valid JSON whatever the bytes, of the length that it says, cut where it must be. */
#include "fuzz.h"

static const char *at, *end;

static int is_value(int depth);

static int is_text(void) { /* also: valid UTF-8, no bare control characters */
    if (at == end || *at++ != '"') return 0;
    while (at < end && *at != '"') {
        unsigned char c = (unsigned char)*at++;
        int more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : c >= 0xC0 ? 1 : 0, i;
        if (c < 32 || (c >= 0x80 && c < 0xC2) || c > 0xF4) return 0;
        for (i = 0; i < more; i++)
            if (at == end || ((unsigned char)*at++ & 0xC0) != 0x80) return 0;
        if (c != '\\') continue;
        if (at == end) return 0;
        c = (unsigned char)*at++;
        if (c == 'u') {
            for (i = 0; i < 4; i++, at++)
                if (at == end || !strchr("0123456789abcdefABCDEF", *at)) return 0;
        } else if (!strchr("\"\\/bfnrt", c)) return 0;
    }
    return at < end && *at++ == '"';
}

static int is_number(void) {
    const char *from = at;
    if (at < end && *at == '-') at++;
    from = at;
    while (at < end && *at >= '0' && *at <= '9') at++;
    return at > from && (*from != '0' || at == from + 1);
}

static int is_object(int depth) {
    if (at == end || *at++ != '{') return 0;
    if (at < end && *at == '}') return at++ != NULL;
    for (;;) {
        if (!is_text() || at == end || *at++ != ':' || !is_value(depth + 1) || at == end) return 0;
        if (*at == '}') return at++ != NULL;
        if (*at++ != ',') return 0;
    }
}

static int is_value(int depth) {
    if (depth > 8 || at == end) return 0;
    if (*at == '{') return is_object(depth);
    if (*at == '"') return is_text();
    if (end - at >= 4 && memcmp(at, "true", 4) == 0) return (at += 4) != NULL;
    if (end - at >= 4 && memcmp(at, "null", 4) == 0) return (at += 4) != NULL;
    if (end - at >= 5 && memcmp(at, "false", 5) == 0) return (at += 5) != NULL;
    return is_number();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes b;
    sbx_result r;
    size_t length, again, room, half;
    char *text;
    b.data = data;
    b.size = size;
    memset(&r, 0, sizeof r);
    r.verdict = (sbx_verdict)take(&b, 16);
    r.certain = (int)take(&b, 2);
    r.step = (sbx_step)take(&b, 30);
    r.exit_code = (int)take(&b, 0) - 1;
    r.wall_us = (long long)take(&b, 0xFFFFFFFFu) << 20;
    r.peak_bytes = -1;
    half = take(&b, 256);
    if (half > b.size) half = b.size;
    memcpy(r.message, b.data, half < 255 ? half : 255);
    r.out.data = (char *)malloc(half + 1);
    memcpy(r.out.data, b.data, half);
    r.out.data[half] = 0;
    r.out.size = half;
    r.out.total = half + take(&b, 10);
    r.err.size = b.size;
    r.err.data = (char *)malloc(b.size + 1);
    memcpy(r.err.data, b.data, b.size);
    r.err.data[b.size] = 0;

    length = sbx_json(&r, NULL, 0);
    text = (char *)malloc(length + 1);
    again = sbx_json(&r, text, length + 1);
    PROMISE(again == length && strlen(text) == length);
    at = text;
    end = text + length;
    PROMISE(is_value(0) && at == end);

    room = take(&b, 256);
    if (room > length) room = length;
    memset(text, 'x', length + 1);
    PROMISE(sbx_json(&r, text, room) == length);
    if (room) PROMISE(memchr(text, 0, room) != NULL);
    PROMISE(text[room] == 'x');
    free(text);
    free(r.out.data);
    free(r.err.data);
    return 0;
}
