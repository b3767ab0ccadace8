/* 19_nursery: decode untrusted pictures in a large host without missing a frame (Linux).
   Compile: cc -o 19_nursery 19_nursery.c
   Forking a host of 256 MB copies its page tables every time. A nursery is forked early, while the
   host is small, and forks for it later: as cheap as on the first day, and what the host has learned
   since is not in reach. Prints what was decoded, and what both ways took. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    unsigned width, height;
    char bytes[64]; /* no pointers: the nursery gets a copy of this struct */
} picture;

static const char *secret = NULL; /* what the host learns later */

static int decode(void *arg, void *ret, size_t ret_size) {
    const picture *p = arg;
    unsigned sum = 0, i;
    (void)ret_size;
    if (secret) sbx_fail("the secret is in reach");
    if (p->width * p->height > sizeof p->bytes) sbx_fail("%ux%u is a lie", p->width, p->height);
    for (i = 0; i < p->width * p->height; i++) sum += (unsigned char)p->bytes[i];
    *(unsigned *)ret = sum;
    return 0;
}

static double milliseconds(sbx_config *cfg, picture *p, int times) {
    struct timespec from, to;
    sbx_result r;
    unsigned sum;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < times; i++) {
        sbx_call(cfg, decode, p, &sum, sizeof sum, &r);
        sbx_free(&r);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    return ((double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6) /
           times;
}

int main(void) {
    sbx_result r;
    sbx_nursery *nursery = sbx_nursery_open(&r); /* early in main, before the host grows */
    picture good = {4, 2, "abcdefgh"}, bad = {60000, 60000, ""};
    sbx_config cfg = {.contain = SBX_CONTAIN_GROUP, .timeout_ms = 1000};
    size_t size = 256u << 20;
    char *world = malloc(size);
    unsigned sum = 0;
    double from_nursery, by_fork;

    if (!nursery || !world) {
        printf("no nursery: %s\n", r.message);
        return 1;
    }
    memset(world, 1, size); /* the host has grown, and knows more */
    secret = "4711";

    cfg.nursery = nursery;
    cfg.arg_size = sizeof good;
    sbx_call(&cfg, decode, &good, &sum, sizeof sum, &r);
    printf("%s: %u\n", sbx_verdict_name(r.verdict), sum);
    sbx_free(&r);
    sbx_call(&cfg, decode, &bad, &sum, sizeof sum, &r);
    printf("%s: %s\n", sbx_verdict_name(r.verdict), r.message);
    sbx_free(&r);

    from_nursery = milliseconds(&cfg, &good, 20);
    cfg.nursery = NULL;
    by_fork = milliseconds(&cfg, &good, 5);
    printf("a call from the nursery %.2f ms, by fork %.2f ms\n", from_nursery, by_fork);
    sbx_nursery_close(nursery);
    free(world);
    return 0;
}
