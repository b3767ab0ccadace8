/* 03_output_cap: a child cannot fill the host's memory with output.
   Compile: cc -o 03_output_cap 03_output_cap.c
   Prints a child that floods its stdout and is stopped at the cap, to the byte; then one whose
   output is merely cut, because truncate_output lets it finish. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>

static void show(const sbx_config *config) {
    sbx_result result;

    sbx_run(config, &result);
    printf("verdict: %s\n", sbx_verdict_name(result.verdict));
    printf("message: %s\n", result.message);
    printf("kept %lu bytes%s\n", (unsigned long)result.out.size,
           result.out.truncated ? ", there were more" : "");
    if (result.verdict == SBX_OK) printf("the child wrote %llu bytes in all\n", result.out.total);
    sbx_free(&result);
}

int main(void) {
    sbx_config flood = {
        .command = "yes",     /* writes for ever */
        .output_bytes = 1000, /* stdout and stderr together; the default is 1 MiB */
    };
    sbx_config chatty = {
        .command = "awk 'BEGIN { for (i = 1; i <= 1000; i++) print i }'",
        .output_bytes = 1000,
        .truncate_output = 1, /* keep the first bytes, drop the rest, let it run */
    };

    show(&flood);
    show(&chatty);
    return 0;
}
