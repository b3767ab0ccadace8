/* 06_live_output: see output line by line while the child runs, and stop it when you have enough.
   Compile: cc -o 06_live_output 06_live_output.c
   Prints each line as soon as it is whole, with its stream; the line "enough" ends the child. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    char text[80];
    size_t size;
} line;

typedef struct {
    line of[3]; /* by stream: SBX_STDOUT is 1, SBX_STDERR is 2 */
    int count;
} reader;

/* Called with what was just read: any number of bytes, no NUL at the end. A line may come in
   pieces and several lines at once, so what has no newline yet waits for the next call. */
static int on_output(void *user, sbx_stream stream, const char *data, size_t size) {
    reader *r = user;
    line *l = &r->of[stream];

    for (size_t i = 0; i < size; i++) {
        if (data[i] != '\n' && l->size < sizeof l->text - 1) {
            l->text[l->size++] = data[i];
            continue;
        }
        l->text[l->size] = '\0'; /* at a newline, or because the line is too long for us */
        l->size = 0;
        r->count++;
        printf("%s: %s\n", stream == SBX_STDERR ? "stderr" : "stdout", l->text);
        if (strcmp(l->text, "enough") == 0) return 1; /* anything but 0 cancels */
    }
    return 0;
}

int main(void) {
    reader r = {.count = 0};
    sbx_config config = {
        .command = "printf 'one li'; sleep 0.2; echo ne; echo two >&2; sleep 0.2;"
                   "printf 'three\\nenough\\nnever seen\\n'; sleep 60",
        .name = "the child", /* for messages; else they show the command */
        .out = SBX_STREAM, /* to on_output only; SBX_DEFAULT would keep it all as well */
        .on_output = on_output,
        .user = &r, /* handed to on_output, and found again in result.user */
    };
    sbx_result result;

    sbx_run(&config, &result);
    for (int i = SBX_STDOUT; i <= SBX_STDERR; i++) /* a last line may lack its newline */
        if (r.of[i].size > 0) on_output(&r, (sbx_stream)i, "\n", 1);
    printf("lines:   %d\n", r.count);
    printf("verdict: %s\n", sbx_verdict_name(result.verdict));
    printf("message: %s\n", result.message);
    sbx_free(&result);
    return 0;
}
