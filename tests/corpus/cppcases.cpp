// The C++ cases of the corpus: `cppcases NAME` does what the row NAME of cases.h says.
#include "acts.h"

#include <exception>
#include <fstream>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct hanging {
    ~hanging() { nap(100000); }
};

#define CPP(name, truth, setup, ...) \
    int name##_case() {              \
        __VA_ARGS__ return 0;        \
    }
#include "cases.h"

const struct {
    const char *name;
    int (*act)();
} acts[] = {
#define CPP(name, truth, setup, ...) {#name, name##_case},
#include "cases.h"
};

} // namespace

int main(int argc, char **argv) {
    alarm(LIFE);
    for (size_t i = 0; argc == 2 && i < sizeof acts / sizeof acts[0]; i++)
        if (strcmp(argv[1], acts[i].name) == 0) return acts[i].act();
    fputs("usage: cppcases NAME\n", stderr);
    return 99;
}
