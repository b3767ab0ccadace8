#include <stdlib.h>
#include <string.h>

int main(void) {
    int i;
    for (i = 0; i < 1024; i++) {
        char *piece = malloc(1 << 20);
        if (piece) memset(piece, 1, 1 << 20);
    }
    return 0;
}
