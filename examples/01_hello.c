/* 01_hello: run a program, get its output and a verdict.
   Compile: cc -o 01_hello 01_hello.c
   Prints what the child wrote, the verdict "ok" and a sentence about how it went. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>

int main(void) {
    const char *argv[] = {"echo", "hello from a child", NULL};
    sbx_config config = {.argv = argv}; /* every other field 0: the defaults */
    sbx_result result;

    sbx_verdict verdict = sbx_run(&config, &result);

    printf("output:  %s", result.out.data);
    printf("verdict: %s\n", sbx_verdict_name(verdict));
    printf("message: %s\n", result.message);
    sbx_free(&result);
    return verdict == SBX_OK ? 0 : 1;
}
