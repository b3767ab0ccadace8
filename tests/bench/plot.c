/* Draws what bench has measured: plot RESULTS.jsonl DIRECTORY writes DIRECTORY/spawn.svg (a start,
   by the size of the host) and DIRECTORY/levels.svg (what each level costs). Both say on which
   machine and when that was. What was not measured is not drawn.

   plot RESULTS.jsonl DIRECTORY README.md draws spawn.svg only, and writes the same figures as a
   table into the file, between the two lines that begin with "<!-- costs" and "<!-- end of costs". */
#define _GNU_SOURCE 1
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct result {
    char group[32], name[64];
    double value, ratio; /* microseconds; against the loop written by hand */
} result;

enum { RESULTS = 400 };
static result results[RESULTS];
static int count;
static char machine[256];

/* Copies the text behind "key":" up to the next quote. */
static int text_of(const char *line, const char *key, char *to, size_t room) {
    char label[32];
    const char *at;
    size_t n;

    snprintf(label, sizeof label, "\"%s\":\"", key);
    at = strstr(line, label);
    if (at == NULL) return 0;
    at += strlen(label);
    n = strcspn(at, "\"");
    snprintf(to, room, "%.*s", (int)n, at);
    return 1;
}

static double number_of(const char *line, const char *key) {
    char label[32];
    const char *at;

    snprintf(label, sizeof label, "\"%s\":", key);
    at = strstr(line, label);
    return at != NULL ? atof(at + strlen(label)) : 0;
}

static int load(const char *path) {
    FILE *from = fopen(path, "r");
    char line[1024];

    if (from == NULL) return 0;
    while (fgets(line, sizeof line, from) != NULL) {
        result *r = &results[count];
        text_of(line, "machine", machine, sizeof machine);
        if (count == RESULTS || !text_of(line, "group", r->group, sizeof r->group)) continue;
        text_of(line, "name", r->name, sizeof r->name);
        r->value = number_of(line, "value");
        r->ratio = number_of(line, "ratio");
        count++;
    }
    fclose(from);
    return count > 0;
}

static const result *find(const char *group, const char *name) {
    int i;
    for (i = 0; i < count; i++)
        if (strcmp(results[i].group, group) == 0 && strcmp(results[i].name, name) == 0)
            return &results[i];
    return NULL;
}

static FILE *begin(const char *directory, const char *name, int high, const char *title) {
    char path[600];
    FILE *to;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    to = fopen(path, "w");
    if (to == NULL) return NULL;
    fprintf(
        to,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 %d\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"720\" height=\"%d\" fill=\"#fff\"/>\n"
        "<text x=\"20\" y=\"26\" font-size=\"15\">%s</text>\n"
        "<text x=\"20\" y=\"%d\" font-size=\"10\" fill=\"#666\">%s; made by make bench</text>\n",
        high, high, title, high - 10, machine);
    printf("  drawn in %s\n", path);
    return to;
}

/* ---- a start, by the size of the host --------------------------------------------------------- */

static const char *const sizes[] = {"10MB", "64MB", "256MB", "1GB"};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static const struct {
    const char *name, *colour;
} series[] = {
    {"sbx_run, group", "#1b7f3b"}, {"sbx_run, tree", "#4a7dbd"},
    {"posix_spawn", "#999"},       {"Rust Command", "#c77c11"},
    {"Go os/exec", "#00a0b0"},     {"Python subprocess.run", "#7a6a00"},
    {"GSubprocess", "#8a5fb0"},    {"popen, through sh", "#555"},
    {"libuv", "#d6459f"},          {"node spawnSync", "#444ad6"},
    {"fork + exec", "#b3261e"},
};

static double x_of(int size) { return 70 + 420.0 * size / (SIZES - 1); }

static double y_of(double us) { /* 0.3 to 300 ms, each line ten times the one below */
    return 300 - 240 * (log10(us < 300 ? 300 : us) - log10(300)) / 3;
}

static void draw_spawn(const char *directory) {
    FILE *to = begin(directory, "spawn.svg", 360,
                     "Starting a tiny program, by the memory that the host has in use");
    char group[32];
    double tick;
    size_t s;
    int i, shown = 0;

    if (to == NULL) return;
    for (tick = 1000; tick < 2e5; tick *= 10)
        fprintf(to,
                "<path d=\"M70 %.1fh420\" stroke=\"#ddd\"/><text x=\"62\" y=\"%.1f\" "
                "text-anchor=\"end\">%g ms</text>\n",
                y_of(tick), y_of(tick) + 4, tick / 1000);
    for (i = 0; i < SIZES; i++)
        fprintf(to, "<text x=\"%.0f\" y=\"322\" text-anchor=\"middle\">%s</text>\n", x_of(i),
                sizes[i]);
    for (s = 0; s < sizeof series / sizeof series[0]; s++) {
        int pen = 0;
        for (i = 0; i < SIZES; i++) {
            const result *r;
            snprintf(group, sizeof group, "peers-%s", sizes[i]);
            r = find(group, series[s].name);
            if (r == NULL) continue;
            if (pen == 0)
                fprintf(to, "<path fill=\"none\" stroke-width=\"2\" stroke=\"%s\" d=\"",
                        series[s].colour);
            fprintf(to, "%c%.1f %.1f", pen++ ? 'L' : 'M', x_of(i), y_of(r->value));
        }
        if (pen == 0) continue;
        fprintf(to,
                "\"/><path d=\"M520 %dh16\" stroke-width=\"3\" stroke=\"%s\"/>"
                "<text x=\"542\" y=\"%d\">%s</text>\n",
                64 + 20 * shown, series[s].colour, 68 + 20 * shown, series[s].name);
        shown++;
    }
    fprintf(to, "</svg>\n");
    fclose(to);
}

/* ---- what each level costs -------------------------------------------------------------------- */

static void draw_levels(const char *directory) {
    int i, row = 0, rows = 0;
    double most = 1;
    FILE *to;

    for (i = 0; i < count; i++)
        if (strcmp(results[i].group, "levels") == 0) {
            rows++;
            if (results[i].ratio > most) most = results[i].ratio;
        }
    if (rows == 0) return;
    to = begin(directory, "levels.svg", 80 + 24 * rows,
               "Running a tiny program, times a loop written by hand");
    if (to == NULL) return;
    for (i = 0; i < count; i++) {
        const result *r = &results[i];
        int y = 44 + 24 * row;
        if (strcmp(r->group, "levels") != 0) continue;
        fprintf(to,
                "<text x=\"190\" y=\"%d\" text-anchor=\"end\">%s</text>"
                "<rect x=\"200\" y=\"%d\" width=\"%.1f\" height=\"16\" fill=\"%s\"/>"
                "<text x=\"%.1f\" y=\"%d\">%.2f (%.2f ms)</text>\n",
                y + 13, r->name, y, 380 * r->ratio / most,
                strncmp(r->name, "sbx", 3) == 0 ? "#1b7f3b" : "#999", 208 + 380 * r->ratio / most,
                y + 13, r->ratio, r->value / 1000);
        row++;
    }
    fprintf(to, "</svg>\n");
    fclose(to);
}

/* ---- a table for the README ------------------------------------------------------------------- */

static const struct {
    const char *label, *group, *name; /* in a host of 10 MB; NULL = a line between */
    const char *large; /* the group for a host of 1 GB; NULL = not measured */
} rows[] = {
    {"`sbx_run`, process group", "peers-10MB", "sbx_run, group", "peers-1GB"},
    {"`sbx_run`, whole tree (the default)", "peers-10MB", "sbx_run, tree", "peers-1GB"},
    {"`sbx_run`, policy", "levels", "sbx_run, policy", NULL},
    {"posix_spawn", "peers-10MB", "posix_spawn", "peers-1GB"},
    {"fork and exec", "peers-10MB", "fork + exec", "peers-1GB"},
    {"popen", "peers-10MB", "popen, through sh", "peers-1GB"},
    {"GLib's GSubprocess", "peers-10MB", "GSubprocess", "peers-1GB"},
    {"libuv", "peers-10MB", "libuv", "peers-1GB"},
    {"Rust's Command", "peers-10MB", "Rust Command", "peers-1GB"},
    {"Go's os/exec", "peers-10MB", "Go os/exec", "peers-1GB"},
    {"Python's subprocess.run", "peers-10MB", "Python subprocess.run", "peers-1GB"},
    {"node's spawnSync", "peers-10MB", "node spawnSync", "peers-1GB"},
    {"timeout(1)", "levels", "timeout", NULL},
    {"bwrap --unshare-pid", "levels", "bwrap --unshare-pid", NULL},
    {"bwrap --unshare-all", "levels", "bwrap --unshare-all", NULL},
    {"firejail", "levels", "firejail", NULL},
};

static void print_cell(FILE *to, const result *r) {
    if (r == NULL) fprintf(to, " |");
    else fprintf(to, " %.*f (%.2f ms) |", r->ratio < 10 ? 2 : 0, r->ratio, r->value / 1000);
}

static void print_table(FILE *to) {
    size_t i;

    fprintf(to, "| a tiny program, started, read and reaped | host of 10 MB | host of 1 GB |\n");
    fprintf(to, "|---|---|---|\n");
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const result *small = find(rows[i].group, rows[i].name);
        const result *large = rows[i].large ? find(rows[i].large, rows[i].name) : NULL;
        if (small == NULL) continue;
        fprintf(to, "| %s |", rows[i].label);
        print_cell(to, small);
        print_cell(to, large);
        fprintf(to, "\n");
    }
    fprintf(to,
            "\nTimes what a loop written by hand takes in the same host, and milliseconds: %s.\n\n"
            "![What a start costs, by the memory that the host has in use](.github/spawn.svg)\n",
            machine);
}

/* Everything but what is between the two lines stays as it is. */
static int fill_in(const char *path) {
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    char *from = strstr(text, "<!-- costs"), *end = strstr(text, "<!-- end of costs");

    if (file) fclose(file);
    if (size == 0 || size == sizeof text - 1 || !from || !end || end < from) return 0;
    file = fopen(path, "w");
    if (file == NULL) return 0;
    from = strchr(from, '\n') + 1;
    fwrite(text, 1, (size_t)(from - text), file);
    print_table(file);
    fputs(end, file);
    return fclose(file) == 0;
}

int main(int argc, char **argv) {
    int measured;

    if (argc < 3 || argc > 4 || !load(argv[1])) return 1;
    measured = find("peers-10MB", series[0].name) != NULL;
    if (measured) draw_spawn(argv[2]);
    if (argc == 3) draw_levels(argv[2]);
    else if (!measured || !fill_in(argv[3])) return 1;
    return 0;
}
