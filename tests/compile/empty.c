/* Does a set of flags build and run here at all, with headers? */
#include <errno.h>
#include <stdio.h>

int main(void) {
    return 0;
}
