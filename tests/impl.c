/* The one unit of the test binary that holds the implementation. Its allocations go through the
 * hooks of test.h, which count them and can make one fail; declared by hand, because test.h
 * includes system headers and sbx.h is to be the first to do so here. */
#include <stddef.h>

void *test_realloc(void *block, size_t size);
void test_free(void *block);

#define SBX_REALLOC test_realloc
#define SBX_FREE test_free
#define SBX_IMPLEMENTATION
#include "../sbx.h"
