/* The program that the benches start: linked statically, so that the cost of starting it is small
   and the cost of whoever starts it shows.

       tiny            writes "ok"
       tiny flood N    writes N MiB in pieces of 64 KiB
       tiny byte       waits for one byte on stdin (or its end)
       tiny quiet      does nothing
       tiny idle N     becomes N processes that wait for the end of stdin
       tiny grow N     becomes N processes that together touch 1 GiB as fast as they can, and count
                       what they have touched in the file that descriptor 3 is */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char piece[64 * 1024];

static void become(int count) {
    while (--count > 0 && fork() != 0) {
    }
}

static int grow(int count) {
    const size_t step = 64 * 1024;
    long long each = (1LL << 30) / count, done;
    long long *total = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);

    if (total == MAP_FAILED) return 1;
    become(count);
    for (done = 0; done < each; done += (long long)step) {
        char *memory = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
        if (memory == MAP_FAILED) return 1;
        memset(memory, 1, step);
        __atomic_add_fetch(total, (long long)step, __ATOMIC_RELAXED);
    }
    sleep(10);
    return 0;
}

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
    if (argc == 3 && strcmp(argv[1], "grow") == 0) return grow(atoi(argv[2]));
    if (argc == 3 && strcmp(argv[1], "idle") == 0) {
        become(atoi(argv[2]));
        return read(0, piece, 1) >= 0 ? 0 : 1;
    }
    return write(1, "ok\n", 3) == 3 ? 0 : 1;
}
