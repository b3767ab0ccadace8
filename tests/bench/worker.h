/* A worker is a process of some size that repeats one operation when it is told to. The conductor
   (bench.c) asks its workers in turn, so that what else the machine does hits all of them alike.

       asked:   "OPERATION MILLISECONDS\n" on stdin
       answers: the median duration in microseconds on stdout, or -1 or -2

   An operation is a function that does one unit of work and returns how long that took, or -1 if
   it failed, or -2 if something it needs is not installed. */
#ifndef WORKER_H
#define WORKER_H

#include "median.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

typedef struct operation {
    const char *name;
    double (*once)(void);
} operation;

#define WORKER_SAMPLES 4096

static double worker_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double worker_repeat(double (*once)(void), double budget_us) {
    static double samples[WORKER_SAMPLES];
    double end = worker_now() + budget_us;
    int n = 0;

    do {
        samples[n] = once();
        if (samples[n] < 0) return samples[n];
        n++;
    } while (n < WORKER_SAMPLES && worker_now() < end);
    return median(samples, n);
}

/* Grows the process by so many MB, all of it touched, in small pages: what a fork has to copy. */
static int worker_grow(long megabytes) {
    size_t size = (size_t)megabytes << 20, i;
    char *memory;

    if (megabytes <= 0) return 0;
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return -1;
    madvise(memory, size, MADV_NOHUGEPAGE);
    for (i = 0; i < size; i += 4096) memory[i] = 1;
    return 0;
}

static int worker_main(const operation *operations, size_t count) {
    char name[64];
    double ms;
    size_t i;

    setvbuf(stdout, NULL, _IOLBF, 0);
    while (scanf("%63s %lf", name, &ms) == 2) {
        double us = -1;
        for (i = 0; i < count; i++)
            if (strcmp(operations[i].name, name) == 0)
                us = worker_repeat(operations[i].once, ms * 1e3);
        printf("%.4f\n", us);
    }
    return 0;
}

#endif
