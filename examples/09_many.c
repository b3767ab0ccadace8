/* 09_many: two hundred children at once, watched by one thread.
   Compile: cc -o 09_many 09_many.c
   Prints how many ended well and the sum of their answers. Each box needs a few descriptors: raise
   RLIMIT_NOFILE for thousands. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT 200

int main(void) {
    sbx *boxes[COUNT];
    sbx_result result;
    int running = 0, good = 0, sum = 0;

    for (int i = 1; i <= COUNT; i++) {
        char number[16];
        const char *argv[] = {"sh", "-c", "echo $(($0 * 2))", number, NULL};
        sbx_config config = {.argv = argv}; /* copied: it need not outlive sbx_start */

        snprintf(number, sizeof number, "%d", i);
        boxes[running] = sbx_start(&config, &result);
        if (boxes[running] != NULL) {
            running++;
        } else {
            printf("number %d: %s\n", i, result.message);
            sbx_free(&result);
        }
    }
    printf("%d boxes started\n", running);
    while (running > 0) {
        int i = sbx_poll_any(boxes, running, SBX_UNLIMITED);
        if (i < 0) continue;
        if (sbx_finish(boxes[i], &result) == SBX_OK) {
            good++;
            sum += atoi(result.out.data);
        } else {
            printf("%s\n", result.message);
        }
        sbx_free(&result);
        boxes[i] = boxes[--running];
    }
    printf("%d ended well, their answers add up to %d\n", good, sum);
    return 0;
}
