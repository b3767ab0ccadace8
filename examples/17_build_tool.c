/* 17_build_tool: many jobs, four at a time; the first failure, or Ctrl-C, stops them all.
   Compile: cc -o 17_build_tool 17_build_tool.c
   Prints what 30 jobs say, each line behind the name of its job; then a build in which job 3 fails
   while others still work. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <signal.h>
#include <stdio.h>

#define JOBS 30
#define AT_ONCE 4

static volatile int stopped; /* by Ctrl-C, or by a job that failed */
static void on_signal(int number) { stopped = number; }

typedef struct {
    char name[16], line[200];
    size_t size;
} job;

/* Whole lines only, so that the words of two jobs never mix. */
static int on_output(void *user, sbx_stream stream, const char *data, size_t size) {
    job *j = user;

    (void)stream;
    for (size_t i = 0; i < size; i++) {
        if (data[i] != '\n') j->line[j->size++] = data[i];
        if (data[i] != '\n' && j->size < sizeof j->line) continue;
        printf("%-6s | %.*s\n", j->name, (int)j->size, j->line);
        j->size = 0;
    }
    return 0;
}

static sbx *start(job *j, int number, const char *command, sbx_result *result) {
    char variable[32];
    const char *env[] = {"PATH", variable, NULL}; /* PATH as the host has it */
    sbx_config config = {
        .command = command,
        .name = j->name,
        .env = env,
        .out = SBX_STREAM, /* shown live, not kept: a log may be as long as it likes */
        .err = SBX_MERGE,
        .output_bytes = SBX_UNLIMITED,
        .on_output = on_output,
        .user = j,
        .stop = &stopped, /* not 0: every job is cancelled */
    };

    snprintf(j->name, sizeof j->name, "job %d", number);
    snprintf(variable, sizeof variable, "JOB=%d", number);
    return sbx_start(&config, result);
}

static void build(const char *command) {
    job jobs[JOBS] = {{"", "", 0}};
    sbx *boxes[AT_ONCE] = {NULL};
    int next = 0, running = 0, ends[SBX_LOST + 1] = {0}; /* by verdict */
    sbx_result result;

    while (running > 0 || (next < JOBS && !stopped)) {
        int i = 0;
        if (running < AT_ONCE && next < JOBS && !stopped) {
            while (boxes[i] != NULL) i++; /* a free place */
            boxes[i] = start(&jobs[next], next + 1, command, &result);
            next++;
        } else {
            i = sbx_poll_any(boxes, AT_ONCE, SBX_UNLIMITED);
            sbx_finish(boxes[i], &result);
            boxes[i] = NULL;
            running--;
        }
        if (boxes[i] != NULL && ++running) continue; /* it has begun; there is no result yet */
        if (((job *)result.user)->size) on_output(result.user, SBX_STDOUT, "\n", 1); /* the rest */
        if (!stopped && result.verdict != SBX_OK) printf("%s\n", result.message);
        if (result.verdict != SBX_OK) stopped = 1;
        ends[result.verdict]++;
        sbx_free(&result);
    }
    printf("%d done, %d cancelled, %d never begun\n\n", ends[SBX_OK], ends[SBX_CANCELLED],
           JOBS - next);
}

int main(void) {
    signal(SIGINT, on_signal);
    build("printf 'compiling %d.c ... ' $JOB; sleep 0.02; echo done");
    if (!stopped) build("[ $JOB = 3 ] || exec sleep 60; echo '3.c is not there' >&2; exit 1");
    return 0;
}
