/* 04_memory: a limit on the memory a child really uses, and how much it used.
   Compile: cc -o 04_memory 04_memory.c
   Prints a modest child with its peak, and a greedy one that is killed near 64 MB. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>

static void show(const char *command) {
    sbx_config config = {
        .command = command,
        .memory_bytes = 64LL * 1024 * 1024, /* summed over the child and its children */
        .grace_ms = SBX_UNLIMITED,          /* kill at once: a polite request lets it grow on */
    };
    sbx_result result;

    sbx_run(&config, &result);
    printf("verdict: %s\n", sbx_verdict_name(result.verdict));
    printf("message: %s\n", result.message);
    if (result.peak_bytes < 0) /* it ended before anyone could look */
        printf("peak:    not known\n");
    else
        printf("peak:    %lld MB\n", result.peak_bytes / (1024 * 1024));
    sbx_free(&result);
}

int main(void) {
    show("awk 'BEGIN { while (n < 100000) keep[n++] = \"a line of text\" }'");
    show("awk 'BEGIN { for (;;) keep[n++] = \"another line of text: \" n }'");
    return 0;
}
