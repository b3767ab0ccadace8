/* 19_nursery: decode untrusted pictures in a large host without missing a frame (Linux).
   Compile: cc -o 19_nursery 19_nursery.c
   A fork of a large host is slow, and copies all that it knows. A nursery is forked early, while the
   host is small, and forks for it later. Prints what was decoded, and how long both ways took. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    unsigned width, height;
    char bytes[64]; /* no pointers: the nursery gets a copy of this struct */
} picture;

static const char *secret = NULL; /* what the host learns later */

static int decode(void *arg, void *ret, size_t ret_size) {
    const picture *p = arg;
    unsigned sum = 0, i;
    (void)ret_size;
    if (p->width * p->height > sizeof p->bytes) sbx_fail("%ux%u is a lie", p->width, p->height);
    for (i = 0; i < p->width * p->height; i++) sum += (unsigned char)p->bytes[i];
    *(unsigned *)ret = secret ? 4711 : sum; /* a thief would take it */
    return 0;
}

static double show(sbx_config *config, picture *p) {
    sbx_result r;
    unsigned sum = 0;
    double ms;
    if (sbx_call(config, decode, p, &sum, sizeof sum, &r) == SBX_OK) printf("the sum is %u\n", sum);
    else printf("%s: %s\n", sbx_verdict_name(r.verdict), r.message);
    ms = (double)r.wall_us / 1000;
    sbx_free(&r);
    return ms;
}

int main(void) {
    sbx_result r;
    sbx_nursery *nursery = sbx_nursery_open(&r); /* early in main, before the host grows */
    sbx_config config = {.nursery = nursery, .arg_size = sizeof(picture), .timeout_ms = 1000};
    picture good = {4, 2, "abcdefgh"}, bad = {60000, 60000, ""};
    size_t size = 256u << 20;
    char *world = malloc(size);
    double small, large;
    if (!nursery || !world) return printf("no nursery: %s\n", r.message), 1;
    memset(world, 1, size); /* the host has grown, and knows more */
    secret = "the password";

    small = show(&config, &good);
    show(&config, &bad);
    config.nursery = NULL;
    large = show(&config, &good);
    printf("from the nursery %.2f ms, by fork %.2f ms\n", small, large);
    sbx_nursery_close(nursery);
    free(world);
    return 0;
}
