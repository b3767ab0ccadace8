/* What a hostile function leaves for sbx_call: it writes where the bytes tell it to, around its
 * result and into every descriptor, and ends as they tell it. The host must not believe it: a
 * result is there only if the function returned 0. */
#include "fuzz.h"

#include <dirent.h>
#include <sys/syscall.h>

static bytes script;

static void scribble(char *ret, size_t size, bytes *b) {
    long at = (long)take(b, 20000) - 10000, length = (long)take(b, 64), i;
    for (i = 0; i < length; i++) {
        long k = at + i;
        if (k >= -64 && k < (long)size) ret[k] = (char)take(b, 0); /* its own page at least */
    }
}

/* Ends by itself in every way but one: with 1 it returns 0. */
static int hostile(void *arg, void *ret, size_t size) {
    bytes b = script;
    (void)arg;
    while (b.size) {
        unsigned what = take(&b, 10), fd = take(&b, 12);
        char text[40];
        memset(text, (int)take(&b, 0), sizeof text);
        if (what < 4) scribble((char *)ret, size, &b);
        if (what == 4 && write((int)fd, text, sizeof text) < 0) continue;
        if (what == 5 && ftruncate((int)fd, (off_t)take(&b, 10000)) != 0) continue;
        if (what == 6) close((int)fd);
        if (what == 7) munmap((void *)((size_t)ret & ~(size_t)4095), 4096);
        if (what == 8) _exit((int)take(&b, 0));
        if (what == 9) raise((int)take(&b, 31) + 1);
    }
    _exit(0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char ret[5000];
    sbx_config c;
    sbx_result r;
    sbx_verdict verdict;
    size_t i;
    memset(&c, 0, sizeof c);
    memset(ret, 0, sizeof ret);
    script.data = data;
    script.size = size;
    c.timeout_ms = 2000;
    c.grace_ms = -1;
    c.contain = SBX_CONTAIN_GROUP;
    if (take(&script, 4) == 1) c.contain = SBX_CONTAIN_AUTO;
    verdict = sbx_call(&c, hostile, NULL, ret, 1 + take(&script, sizeof ret), &r);

    PROMISE(verdict == r.verdict && verdict != SBX_OK);
    PROMISE(r.message[0] && memchr(r.message, 0, sizeof r.message));
    for (i = 0; i < strlen(r.message); i++) PROMISE((unsigned char)r.message[i] >= 32);
    for (i = 0; i < sizeof ret; i++) PROMISE(ret[i] == 0);
    sbx_free(&r);
    return 0;
}
