/* The program that the benches start: linked statically, so that the cost of starting it is small
   and the cost of whoever starts it shows.

       tiny            writes "ok"
       tiny flood N    writes N MiB in pieces of 64 KiB
       tiny byte       waits for one byte on stdin (or its end)
       tiny quiet      does nothing */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char piece[64 * 1024];

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "flood") == 0) {
        long long left = atoll(argv[2]) * 1024 * 1024;
        while (left > 0) {
            ssize_t n = write(1, piece, sizeof piece);
            if (n <= 0) return 1;
            left -= n;
        }
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "byte") == 0) return read(0, piece, 1) >= 0 ? 0 : 1;
    if (argc == 2 && strcmp(argv[1], "quiet") == 0) return 0;
    return write(1, "ok\n", 3) == 3 ? 0 : 1;
}
