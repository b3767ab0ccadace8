/* sbx_utf8_prefix, against the slow and obvious way. */
#include "fuzz.h"

/* Length of the well-formed character at the beginning; 0 = there is none. */
static size_t character(const uint8_t *p, size_t size) {
    size_t length = p[0] < 0x80 ? 1 : p[0] >= 0xC2 && p[0] < 0xE0 ? 2 : 0, i;
    if (p[0] >= 0xE0 && p[0] < 0xF0) length = 3;
    if (p[0] >= 0xF0 && p[0] < 0xF5) length = 4;
    if (!length || length > size) return 0;
    for (i = 1; i < length; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t max, got, at = 0, best = 0, length = 1, cut;
    char *copy;
    if (size < 2) return 0;
    max = data[0] | (size_t)(data[1] & 3) << 8;
    data += 2;
    size -= 2;
    copy = (char *)malloc(size + 1); /* to the byte, so that a read behind it is seen */
    memcpy(copy, data, size);
    got = sbx_utf8_prefix(copy, size, max);
    PROMISE(got <= size && got <= max);
    cut = size < max ? size : max;
    PROMISE(cut - got <= 3);

    while (at < size && (length = character(data + at, size - at)) != 0) {
        at += length;
        if (at <= cut) best = at;
    }
    if (at == size) PROMISE(got == best); /* all of it is text: the longest prefix that is */
    free(copy);
    return 0;
}
