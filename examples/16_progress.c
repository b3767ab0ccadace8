/* 16_progress: what a child uses, while it runs.
   Compile: cc -o 16_progress 16_progress.c
   Prints one line that changes ten times a second: time, CPU, memory, output and processes so far;
   then what the result says. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>

#define MIB (1024.0 * 1024)

/* A figure that the system cannot tell is -1. */
static void show(const sbx_usage *u) {
    printf("\r%.1f s", (double)u->wall_us / 1e6);
    if (u->cpu_us >= 0) printf("  CPU %.1f s", (double)u->cpu_us / 1e6);
    if (u->memory_bytes >= 0) printf("  memory %.0f MiB", (double)u->memory_bytes / MIB);
    printf("  output %lld bytes", u->output_bytes);
    if (u->processes >= 0) printf("  processes %d", u->processes);
    printf("   ");
    fflush(stdout);
}

int main(void) {
    sbx_config config = {
        .command = "awk 'BEGIN { for (i = 1; i <= 1500000; i++) { keep[i] = i;"
                   "             if (i % 150000 == 0) { printf \".\"; fflush() } } }' | cat",
        .name = "awk",
        .memory_bytes = 1LL << 30,
    };
    sbx_result result;
    sbx_usage usage;
    sbx *box = sbx_start(&config, &result);

    while (box != NULL && !sbx_poll(box, 100)) { /* returns earlier when it has ended */
        sbx_get_usage(box, &usage); /* looks now, and is cheap: once a frame is fine */
        show(&usage);
    }
    if (box != NULL) sbx_finish(box, &result);
    printf("\noutput:  %s\n", result.out.data);
    printf("message: %s\n", result.message);
    printf("%.2f s, of which on the CPU %.2f s; at most %.0f MiB\n", (double)result.wall_us / 1e6,
           (double)(result.user_us + result.system_us) / 1e6, (double)result.peak_bytes / MIB);
    sbx_free(&result);
    return 0;
}
