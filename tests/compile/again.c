/* The API was already included, as by another header: asking for the implementation afterwards
 * must still give it. */
#include "sbx.h"
#define SBX_IMPLEMENTATION
#include "sbx.h"

int main(void) {
    return sbx_run(NULL, NULL) == SBX_NOT_STARTED ? 0 : 1;
}
