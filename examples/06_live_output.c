/* 06_live_output: see output while the child runs, and stop it when you have seen enough.
   Compile: cc -o 06_live_output 06_live_output.c
   Prints each line as it comes, with its stream; the line "enough" ends the child early. */
#define SBX_IMPLEMENTATION
#include "../sbx.h"

#include <stdio.h>
#include <string.h>

/* Called with what was just read: some bytes, no NUL at the end, not always whole lines. */
static int on_output(void *user, sbx_stream stream, const char *data, size_t size) {
    int *lines = user;
    const char *line = data, *end = data + size;

    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        int length = (int)((newline ? newline : end) - line);
        printf("%s: %.*s\n", stream == SBX_STDERR ? "stderr" : "stdout", length, line);
        ++*lines;
        if (length == 6 && memcmp(line, "enough", 6) == 0) return 1; /* anything but 0 cancels */
        line += length + 1;
    }
    return 0;
}

int main(void) {
    int lines = 0;
    sbx_config config = {
        .command = "echo one; sleep 0.2; echo two >&2; sleep 0.2; echo enough; sleep 60",
        .on_output = on_output,
        .user = &lines, /* handed to on_output, and found again in result.user */
    };
    sbx_result result;

    sbx_run(&config, &result);
    printf("lines:   %d\n", lines);
    printf("verdict: %s\n", sbx_verdict_name(result.verdict));
    printf("message: %s\n", result.message);
    sbx_free(&result); /* result.out and result.err hold all of it as well */
    return 0;
}
