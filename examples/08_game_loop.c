/* 08_game_loop: 60 frames a second while a child works: sbx_poll(box, 0) never waits.
   Compile: cc -o 08_game_loop 08_game_loop.c
   Prints in which frame the answer came and the longest time one frame needed. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>
#include <time.h>

#define FRAME_US 16667 /* 60 a second */

static long long now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int main(void) {
    sbx_config config = {.command = "sleep 0.5; echo 42", .timeout_ms = 5000};
    sbx_result result;
    long long frame_start = now_us(), worst = 0;
    int frame = 0, ended = 0;

    sbx *box = sbx_start(&config, &result);
    if (box == NULL) { /* the result says why */
        printf("%s\n", result.message);
        sbx_free(&result);
        return 1;
    }
    while (!ended) {
        ended = sbx_poll(box, 0); /* reads, checks limits, returns at once */
        /* ... the game would move and draw here ... */

        long long work = now_us() - frame_start;
        worst = work > worst ? work : worst;
        if (work < FRAME_US) {
            struct timespec rest = {0, (long)(FRAME_US - work) * 1000};
            nanosleep(&rest, NULL);
        }
        frame_start = now_us();
        frame++;
    }
    sbx_finish(box, &result); /* it has ended, so this does not wait either */
    printf("the answer came in frame %d: %s", frame, result.out.data);
    printf("message: %s\n", result.message);
    printf("worst frame: %.2f ms of %.2f ms\n", (double)worst / 1000, FRAME_US / 1000.0);
    sbx_free(&result);
    return 0;
}
