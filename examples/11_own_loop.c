/* 11_own_loop: a box inside a poll() loop that the host already has.
   Compile: cc -o 11_own_loop 11_own_loop.c
   Prints the child's output and how often the host's own timer ticked meanwhile. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <poll.h>
#include <stdio.h>
#include <time.h>

#define TICK_MS 100

static long long now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(void) {
    sbx_config config = {.command = "sleep 0.5; echo done"};
    sbx_result result;
    long long next_tick = now_ms() + TICK_MS;
    int ticks = 0, ended = 0;
    sbx *box = sbx_start(&config, &result);

    while (box != NULL && !ended) {
        struct pollfd fds[8];
        sbx_watch watch;
        long long wait = next_tick - now_ms();

        sbx_get_watch(box, &watch); /* ask again each time: descriptors come and go */
        for (int i = 0; i < watch.count; i++) {
            fds[i].fd = watch.fd[i];
            fds[i].events = watch.writable[i] ? POLLOUT : POLLIN;
        }
        if (watch.wait_ms >= 0 && watch.wait_ms < wait) wait = watch.wait_ms;
        poll(fds, (nfds_t)watch.count, wait > 0 ? (int)wait : 0);

        ended = sbx_poll(box, 0); /* cheap: call it whenever the loop wakes up */
        if (now_ms() >= next_tick) {
            ticks++; /* ... the host's own work ... */
            next_tick += TICK_MS;
        }
    }
    if (box != NULL) sbx_finish(box, &result);
    printf("child: %s", result.out.data);
    printf("message: %s\n", result.message);
    printf("the host ticked %d times meanwhile\n", ticks);
    sbx_free(&result);
    return 0;
}
