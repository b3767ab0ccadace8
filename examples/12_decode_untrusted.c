/* 12_decode_untrusted: a decoder that may be exploited gets the file, and nothing else.
   Compile: cc -o 12_decode_untrusted 12_decode_untrusted.c
   Prints the picture in a good file, and how files end that crash the decoder or take it over. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>
#include <sys/socket.h>

typedef struct {
    int width, height;
    char pixel[256];
} image;

/* A file is width, height, and runs: a digit and the pixel that is repeated so often. The bug: 0
   is taken for 4294967296. What '!' and '?' do is what others would do who found a better one. */
static int decode(void *arg, void *ret, size_t ret_size) {
    const char *in = arg;
    image *out = ret;
    char *at = out->pixel;

    (void)ret_size;
    out->width = *in++ - '0';
    out->height = *in++ - '0';
    for (; *in; in += 2) {
        unsigned run = (unsigned)(in[0] - '0');
        if (in[1] == '!' && !fopen("/etc/passwd", "r")) sbx_fail("/etc/passwd stays closed");
        if (in[1] == '?') socket(AF_INET, SOCK_STREAM, 0);
        do *at++ = in[1];
        while (--run);
    }
    return 0;
}

static void show(const char *name, char *file) {
    sbx_policy nothing = {.no_system = 1, .deny_spawn = 1, .kill_on_denied = 1};
    sbx_config config = {.policy = &nothing, .timeout_ms = 5000, .memory_bytes = 64 << 20};
    sbx_result result;
    image got;

    if (sbx_call(&config, decode, file, &got, sizeof got, &result) != SBX_OK) {
        printf("%s: %s: %s\n", name, sbx_verdict_name(result.verdict), result.message);
    } else if (got.width < 0 || got.width > 16 || got.height < 0 || got.height > 16) {
        printf("%s: a strange picture\n", name); /* doubt what comes back like the file */
    } else {
        printf("%s: %d x %d\n", name, got.width, got.height);
        for (int y = 0; y < got.height; y++)
            printf("  |%.*s|\n", got.width, got.pixel + y * got.width);
    }
    sbx_free(&result);
}

int main(void) {
    show("good", "731 5o1 1o2 1#2 1o1 5o1 ");
    show("long", "730o");
    show("spy", "731!");
    show("worm", "731?");
    return 0;
}
