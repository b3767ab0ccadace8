/* The C cases of the corpus: `ccases NAME` does what the row NAME of cases.h says. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "acts.h"

#define C(name, truth, setup, ...)  \
    static int name##_case(void) {  \
        __VA_ARGS__ return 0;       \
    }
#include "cases.h"

static const struct {
    const char *name;
    int (*act)(void);
} acts[] = {
#define C(name, truth, setup, ...) {#name, name##_case},
#include "cases.h"
};

int main(int argc, char **argv) {
    size_t i;
    alarm(LIFE);
    for (i = 0; argc == 2 && i < sizeof acts / sizeof acts[0]; i++)
        if (strcmp(argv[1], acts[i].name) == 0) return acts[i].act();
    fputs("usage: ccases NAME\n", stderr);
    return 99;
}
