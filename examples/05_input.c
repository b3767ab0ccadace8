/* 05_input: bytes for the child's stdin, as many as you like.
   Compile: cc -o 05_input 05_input.c
   Prints three words sorted by a child, then sends 4 MiB through `cat` and back: input is written
   while output is read, so neither side can block the other. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    const char *words = "pear\napple\nfig\n";
    const char *sort[] = {"sort", NULL};
    const char *cat[] = {"cat", NULL};
    size_t size = (size_t)4 * 1024 * 1024;
    char *big = malloc(size);
    sbx_result result;

    sbx_config sorted = {.argv = sort, .input = words, .input_size = strlen(words)};
    sbx_run(&sorted, &result);
    printf("%s", result.out.data);
    printf("message: %s\n", result.message);
    sbx_free(&result);

    if (big == NULL) return 1;
    memset(big, 'x', size);
    sbx_config echoed = {
        .argv = cat,
        .input = big, /* NULL would be /dev/null */
        .input_size = size,
        .output_bytes = (long long)size,
    };
    sbx_run(&echoed, &result);
    printf("sent %lu bytes, got %lu back: %s\n", (unsigned long)size,
           (unsigned long)result.out.size,
           result.out.size == size && memcmp(result.out.data, big, size) == 0 ? "the same"
                                                                              : "NOT the same");
    printf("message: %s\n", result.message);
    sbx_free(&result);
    free(big);
    return 0;
}
