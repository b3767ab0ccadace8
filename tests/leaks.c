/* Many runs and many failed starts must leave the host as it was: descriptors, allocations, mappings,
 * timers and children. Usage: leaks [COUNT]; prints one ok or FAILED line per kind of run. */
#include <stddef.h>

static void *counted_realloc(void *block, size_t size);
static void counted_free(void *block);

#define SBX_REALLOC counted_realloc
#define SBX_FREE counted_free
#define SBX_IMPLEMENTATION
#include "../sbx.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long live_blocks;

static void *counted_realloc(void *block, size_t size) {
    void *moved = realloc(block, size);
    if (block == NULL && moved != NULL) live_blocks++;
    return moved;
}

static void counted_free(void *block) {
    if (block != NULL) live_blocks--;
    free(block);
}

/* ==== What must not grow ==== */

typedef struct census {
    long descriptors, blocks, mappings, timers, children;
} census;

static long entries_of(const char *path) {
    DIR *dir = opendir(path);
    long count = 0;
    if (dir == NULL) return 0;
    while (readdir(dir) != NULL) count++;
    closedir(dir);
    return count;
}

static long lines_of(const char *path) {
    FILE *file = fopen(path, "r");
    long count = 0;
    int c;
    if (file == NULL) return 0;
    while ((c = getc(file)) != EOF) count += c == '\n';
    fclose(file);
    return count;
}

static census take_census(void) {
    census now;
    int status;
    now.descriptors = entries_of("/dev/fd/.");
    now.blocks = live_blocks;
    now.mappings = lines_of("/proc/self/maps");
    now.timers = lines_of("/proc/self/timers");
    now.children = waitpid(-1, &status, WNOHANG) < 0 ? 0 : 1;
    return now;
}

/* ==== What is done many times; 1 = went as it should ==== */

static int good_run(long i) {
    static const char *const argv[] = {"sh", "-c", "echo text; echo more >&2", NULL};
    sbx_config config = {0};
    sbx_result result;
    int ok;
    config.argv = argv;
    config.input = i % 2 ? "input" : NULL;
    config.input_size = i % 2 ? 5 : 0;
    if (i % 4 == 3) config.memory_bytes = 1LL << 32;
    if (i % 4 == 2) config.cpu_ms = 20000;
    ok = sbx_run(&config, &result) == SBX_OK && result.out.size == 5 && result.err.size == 5;
    if (!ok) printf("    %s\n", result.message);
    sbx_free(&result);
    return ok;
}

static int failed_start(long i) {
    static const char *const missing[] = {"/nonexistent/program", NULL};
    static const char *const directory[] = {"/", NULL};
    static const char *const fine[] = {"sh", NULL};
    sbx_config config = {0};
    sbx_result result;
    int ok;
    config.argv = i % 4 == 0 ? missing : i % 4 == 1 ? directory : fine;
    if (i % 4 == 2) config.cwd = "/nonexistent";
    if (i % 4 == 3) config.timeout_ms = -7;
    ok = sbx_run(&config, &result) == SBX_NOT_STARTED;
    if (!ok) printf("    %s\n", result.message);
    sbx_free(&result);
    return ok;
}

/* A box that is cancelled and finished at once, after a poll, after a write, or after its end. */
static int dropped_box(long i) {
    static const char *const argv[] = {"cat", NULL};
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    int ok;
    config.argv = argv;
    config.in = SBX_PIPE;
    config.grace_ms = SBX_UNLIMITED; /* -1: kill at once */
    box = sbx_start(&config, &result);
    if (box == NULL) {
        printf("    %s\n", result.message);
        sbx_free(&result);
        return 0;
    }
    if (i % 4 == 1) sbx_poll(box, 0);
    if (i % 4 == 2) sbx_write(box, "text", 4);
    if (i % 4 == 3) {
        sbx_close_input(box);
        sbx_poll(box, 20000);
    }
    sbx_cancel(box);
    ok = sbx_finish(box, &result) == (i % 4 == 3 ? SBX_OK : SBX_CANCELLED);
    if (!ok) printf("    %s\n", result.message);
    sbx_free(&result);
    return ok;
}

static int function(void *arg, void *ret, size_t size) {
    if (*(long *)arg % 4 == 3) _exit(3);
    memset(ret, 7, size);
    return 0;
}

static int call(long i) {
    static const sbx_config config; /* all defaults */
    char ret[64] = {0};
    sbx_result result;
    sbx_verdict wanted = i % 4 == 3 ? SBX_NO_RESULT : SBX_OK;
    int ok = sbx_call(&config, function, &i, ret, sizeof ret, &result) == wanted &&
             ret[63] == (wanted == SBX_OK ? 7 : 0);
    if (!ok) printf("    %s\n", result.message);
    sbx_free(&result);
    return ok;
}

static int many(const char *what, int (*once)(long), long count) {
    census before, after;
    long i, wrong = 0;
    int same;
    for (i = 0; i < 8; i++) wrong += !once(i); /* first uses may load things for good */
    before = take_census();
    for (i = 0; i < count && wrong < 5; i++) wrong += !once(i);
    after = take_census();
    same = before.descriptors == after.descriptors && before.blocks == after.blocks &&
           before.timers == after.timers && before.children == after.children &&
           after.mappings <= before.mappings + 2; /* the libc's own heap may grow a little */
    printf("%s %ld %s: ", same && !wrong ? "ok     " : "FAILED ", count, what);
    printf("descriptors %ld -> %ld, blocks %ld -> %ld, mappings %ld -> %ld, timers %ld -> %ld, ",
           before.descriptors, after.descriptors, before.blocks, after.blocks, before.mappings,
           after.mappings, before.timers, after.timers);
    printf("children %ld, wrong verdicts %ld\n", after.children, wrong);
    fflush(stdout);
    return same && !wrong;
}

int main(int argc, char **argv) {
    long count = argc > 1 ? atol(argv[1]) : 10000;
    int ok;
    alarm(60 + (unsigned)count / 20); /* a hang ends this program */
    ok = many("runs", good_run, count);
    ok &= many("failed starts", failed_start, count);
    ok &= many("dropped boxes", dropped_box, count / 10);
    ok &= many("calls", call, count / 10);
    return !ok;
}
