/* What the fuzz targets share: the header, private to the target, and a way to take values from the
 * bytes that the fuzzer makes up. A broken promise is an abort. */
#ifndef FUZZ_H
#define FUZZ_H

#define SBX_STATIC
#define SBX_IMPLEMENTATION
#include "../../sbx.h"

#include <stdint.h>

#define PROMISE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

typedef struct bytes {
    const uint8_t *data;
    size_t size;
} bytes;

static __attribute__((unused)) unsigned take(bytes *b, unsigned range) {
    unsigned value = 0, i;
    for (i = 0; i < (range > 256 ? 4u : 1u) && b->size; i++, b->data++, b->size--)
        value = value << 8 | *b->data;
    return range ? value % range : value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
