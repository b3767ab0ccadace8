/* 10_call: run a C function in a child of its own: a crash there is a verdict here.
   Compile: cc -o 10_call 10_call.c
   Prints a struct that a function returned, the words of one that gave up, and the end of one that
   wrote through a null pointer. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>

typedef struct {
    int lines, words;
} counts;

/* The argument is the host's memory as it was at the call; what ret holds is copied back when the
   function returns 0. Nothing else it does reaches the host, unless by memory that both share. */
static int count(void *arg, void *ret, size_t ret_size) {
    counts *c = ret;
    const char *s = arg;

    (void)ret_size; /* sizeof(counts), all of it zero */

    if (*s == '\0') sbx_fail("there is nothing to count"); /* does not return */
    for (; *s; s++) {
        c->lines += *s == '\n';
        c->words += *s > ' ' && s[1] <= ' ';
    }
    return 0;
}

static int crash(void *arg, void *ret, size_t ret_size) {
    (void)ret, (void)ret_size;
    *(volatile int *)arg = 1; /* arg is NULL */
    return 0;
}

static void show(const char *name, sbx_fn function, void *arg) {
    sbx_config config = {.timeout_ms = 5000};
    sbx_result result;
    counts c;

    if (sbx_call(&config, function, arg, &c, sizeof c, &result) == SBX_OK)
        printf("%s: %d lines, %d words\n", name, c.lines, c.words);
    else
        printf("%s: %s: %s\n", name, sbx_verdict_name(result.verdict), result.message);
    sbx_free(&result);
}

int main(void) {
    show("count", count, "to be\nor not to be\n");
    show("empty", count, "");
    show("crash", crash, NULL);
    return 0;
}
