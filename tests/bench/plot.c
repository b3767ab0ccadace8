/* What a start costs, by the size of the host: plot TINY SVG. Prints a table, and draws it. */
#define SBX_IMPLEMENTATION
#include "../../sbx.h"

#include "median.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 31
enum { FORK, GROUP, TREE, POLICY, WAYS };
static const char *const names[] = {"fork, exec, wait by hand", "sbx_run, process group",
                                    "sbx_run, whole tree", "sbx_run, policy"};
static const char *const colours[] = {"#b3261e", "#1b7f3b", "#4a7dbd", "#8a5fb0"};
static const int sizes[] = {10, 64, 256, 1024, 2048}; /* MB */
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Microseconds for one start, from call to end; -1 = it does not work here. */
static double start(int way, const char *tiny) {
    static const sbx_policy nothing = {0};
    const char *argv[] = {tiny, "quiet", NULL};
    sbx_config cfg = {.argv = argv};
    double before = now_us();
    int status = 0;

    if (way == FORK) {
        pid_t pid = fork();
        if (pid == 0) {
            execv(tiny, (char *const *)(size_t)argv);
            _exit(127);
        }
        return waitpid(pid, &status, 0) == pid && status == 0 ? now_us() - before : -1;
    }
    cfg.contain = way == GROUP ? SBX_CONTAIN_GROUP : SBX_CONTAIN_TREE;
    if (way == POLICY) cfg.policy = &nothing;
    return sbx_run(&cfg, NULL) == SBX_OK ? now_us() - before : -1;
}

static void measure(const char *tiny, double us[SIZES][WAYS]) {
    double took[WAYS][ROUNDS];
    size_t used = 0;

    for (int s = 0; s < SIZES; s++) { /* the host grows from one to the next */
        size_t more = ((size_t)sizes[s] << 20) - used;
        char *memory = mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        used += more;
        if (memory != MAP_FAILED) {
            madvise(memory, more, MADV_NOHUGEPAGE);
            memset(memory, 1, more);
        }
        for (int round = 0; round < ROUNDS;
             round++) /* interleaved: all of them have the same noise */
            for (int way = 0; way < WAYS; way++) took[way][round] = start(way, tiny);
        printf("  host of %4d MB", sizes[s]);
        for (int way = 0; way < WAYS; way++) {
            us[s][way] = memory == MAP_FAILED ? -1 : median(took[way], ROUNDS);
            if (us[s][way] < 0) printf("  %10s", "-");
            else printf("  %7.0f us", us[s][way]);
        }
        printf("\n");
    }
}

#define LEFT 60.0
#define TOP 50.0
#define WIDE 420.0
#define HIGH 240.0
static double x_of(int s) { return LEFT + WIDE * s / (SIZES - 1); }
static double y_of(double us) { /* 0.1 ms to 1 s, each step ten times the one below */
    double up = (log10(us < 100 ? 100 : us) - 2) / 4;
    return TOP + HIGH - HIGH * (up > 1 ? 1 : up);
}

static void draw(FILE *to, double us[SIZES][WAYS]) {
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 700 340\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"700\" height=\"340\" fill=\"#fff\"/>\n"
            "<text x=\"60\" y=\"28\" font-size=\"15\">Starting a program, by the memory that the "
            "host has in use (median of %d)</text>\n",
            ROUNDS);
    for (double tick = 100; tick < 2e6; tick *= 10)
        fprintf(to,
                "<path d=\"M%.0f %.1fh%.0f\" stroke=\"#ddd\"/><text x=\"52\" y=\"%.1f\" "
                "text-anchor=\"end\">%g ms</text>\n",
                LEFT, y_of(tick), WIDE, y_of(tick) + 4, tick / 1000);
    for (int s = 0; s < SIZES; s++)
        fprintf(to, "<text x=\"%.0f\" y=\"312\" text-anchor=\"middle\">%d MB</text>\n", x_of(s),
                sizes[s]);
    for (int way = 0; way < WAYS; way++) {
        fprintf(to, "<path fill=\"none\" stroke-width=\"2\" stroke=\"%s\" d=\"", colours[way]);
        for (int s = 0, pen = 0; s < SIZES; s++)
            if (us[s][way] >= 0)
                fprintf(to, "%c%.1f %.1f", pen++ ? 'L' : 'M', x_of(s), y_of(us[s][way]));
        fprintf(to,
                "\"/><path d=\"M500 %dh16\" stroke-width=\"3\" stroke=\"%s\"/>"
                "<text x=\"522\" y=\"%d\">%s</text>\n",
                70 + 22 * way, colours[way], 74 + 22 * way, names[way]);
    }
    fprintf(to, "</svg>\n");
}

int main(int argc, char **argv) {
    double us[SIZES][WAYS];
    FILE *to;

    if (argc != 3) return 2;
    printf("\nplot: a start, by the size of the host: fork; process group; tree; policy\n");
    measure(argv[1], us);
    to = fopen(argv[2], "w");
    if (to == NULL) return 1;
    draw(to, us);
    printf("  drawn in %s\n", argv[2]);
    return fclose(to) != 0;
}
