#ifndef MEDIAN_H
#define MEDIAN_H

#include <stdlib.h>

static int median_order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof(double), median_order);
    return values[count / 2];
}

#endif
