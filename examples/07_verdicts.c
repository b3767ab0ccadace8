/* 07_verdicts: one word that says how a child ended, and one sentence that says why.
   Compile: cc -o 07_verdicts 07_verdicts.c
   Prints a line or two for each way to end that a plain run knows. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>

static int stop(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)user, (void)stream, (void)data, (void)size;
    return 1;
}

int main(void) {
    FILE *file = tmpfile();
    const char *missing[] = {"no-such-program", NULL};
    const char *yes[] = {"yes", NULL};
    if (file == NULL) return 1;
    sbx_config runs[] = {
        {.command = "exit 0"},
        {.command = "exit 3"},
        {.command = "kill -SEGV $$"},
        {.command = "sleep 60", .timeout_ms = 200},
        {.command = "while :; do :; done", .cpu_ms = 200},
        {.command = "awk 'BEGIN { for (;;) keep[n++] = \"text\" n }'", .memory_bytes = 32 << 20},
        {.argv = yes, .output_bytes = 4096},
        {.argv = yes, .out = SBX_FD, .out_fd = fileno(file), .file_bytes = 4096},
        {.argv = yes, .on_output = stop},
        {.argv = missing},
        {.command = "exit 0", .timeout_ms = -5},
    };

    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        sbx_result result;
        sbx_run(&runs[i], &result);
        printf("%-13s %s  %s\n", sbx_verdict_name(result.verdict),
               result.certain ? "certain" : "likely ", result.message);
        sbx_free(&result);
    }
    fclose(file);
    return 0;
}
