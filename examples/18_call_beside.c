/* 18_call_beside: C functions in children of their own, several at once, while the host goes on.
   Compile: cc -o 18_call_beside 18_call_beside.c
   Prints what each function found: three counts of prime numbers, and why the fourth one gave up;
   then how often the host ticked meanwhile. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>

#define COUNT 4

typedef struct {
    int from, to;
} range;

/* arg is a copy of the host's memory, taken at sbx_start_call; ret comes back with sbx_finish. */
static int count_primes(void *arg, void *ret, size_t ret_size) {
    const range *r = arg;
    int found = 0;

    (void)ret_size;
    if (r->from > r->to) sbx_fail("%d to %d is no range", r->from, r->to);
    for (int n = r->from; n <= r->to; n++) {
        int d = 2;
        while (d * d <= n && n % d) d++;
        found += d * d > n;
    }
    *(int *)ret = found;
    return 0;
}

int main(void) {
    range ranges[COUNT] = {{2, 100}, {101, 1000}, {1001, 2000000}, {9, 1}};
    int found[COUNT] = {0}, left = 0, ticks = 0;
    sbx *boxes[COUNT];
    sbx_result results[COUNT];
    sbx_config config = {.timeout_ms = 20000, .memory_bytes = 64 << 20};

    for (int i = 0; i < COUNT; i++) {
        boxes[i] = sbx_start_call(&config, count_primes, &ranges[i], &found[i], sizeof found[i],
                                  &results[i]);
        left += boxes[i] != NULL; /* else the result says why */
    }
    while (left > 0) {
        int i = sbx_poll_any(boxes, COUNT, 10);
        ticks++; /* ... the host's own work ... */
        if (i < 0) continue;
        sbx_finish(boxes[i], &results[i]);
        boxes[i] = NULL; /* sbx_poll_any skips it from now on */
        left--;
    }
    for (int i = 0; i < COUNT; i++) {
        printf("%d to %d: ", ranges[i].from, ranges[i].to);
        if (results[i].verdict == SBX_OK) printf("%d prime numbers\n", found[i]);
        else printf("%s: %s\n", sbx_verdict_name(results[i].verdict), results[i].message);
        sbx_free(&results[i]);
    }
    printf("the host ticked %d times meanwhile\n", ticks);
    return 0;
}
