/* What a program wrote, read for words about memory and files: any bytes, none behind the end. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static sbx box;
    sbx_result r;
    sbx_output *out = &r.out, *err = &r.err;
    size_t half = size ? data[0] % (size + 1) : 0;
    memset(&box, 0, sizeof box);
    memset(&r, 0, sizeof r);
    box.seen.saw = SBX_SAW_MEMORY_LIMIT | SBX_SAW_FILE_LIMIT;
    box.cfg.processes = -1;
    out->data = (char *)malloc(half + 1); /* to the byte, so that a read behind it is seen */
    err->data = (char *)malloc(size - half + 1);
    memcpy(out->data, data, half);
    memcpy(err->data, data + half, size - half);
    out->data[half] = err->data[size - half] = 0;
    out->size = half;
    err->size = size - half;

    sbx__observe_words(&box, &r);
    if (size == 0) PROMISE(box.seen.saw == (SBX_SAW_MEMORY_LIMIT | SBX_SAW_FILE_LIMIT));
    free(out->data);
    free(err->data);
    return 0;
}
