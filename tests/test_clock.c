/* A clock that can be moved: see test.h. The program's own clock functions stand before those of
 * the C library, so the header under test, which is compiled in, gets its time from here. */
#include "test.h"

#ifdef __linux__
#include <sys/syscall.h>
#endif

long long test_clock_skew_ms;

#if defined(__linux__) && defined(__LP64__) && defined(SYS_clock_gettime)

static long long jump_s, jumped_s, cpu_jump_s, cpu_jumped_s;

int clock_gettime(clockid_t id, struct timespec *time) {
    int got = (int)syscall(SYS_clock_gettime, id, time);
    if (got == 0 && id == CLOCK_MONOTONIC && test_clock_skew_ms) {
        long long ns = time->tv_nsec + test_clock_skew_ms % 1000 * 1000000;
        time->tv_sec += (time_t)(test_clock_skew_ms / 1000 + ns / 1000000000);
        time->tv_nsec = (long)(ns % 1000000000);
    }
    if (got == 0 && id == CLOCK_REALTIME && jump_s)
        time->tv_sec += (time_t)__sync_add_and_fetch(&jumped_s, jump_s);
    if (got == 0 && id == CLOCK_THREAD_CPUTIME_ID && cpu_jump_s)
        time->tv_sec += (time_t)__sync_add_and_fetch(&cpu_jumped_s, cpu_jump_s);
    return got;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) < 0) return -1;
    time->tv_sec = now.tv_sec;
    time->tv_usec = (suseconds_t)(now.tv_nsec / 1000);
    return 0;
}

time_t time(time_t *where) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (where) *where = now.tv_sec;
    return now.tv_sec;
}

void test_wall_clock_jump(long long seconds) { jump_s = seconds; }
void test_cpu_clock_jump(long long seconds) { cpu_jump_s = seconds; }
int test_clock_can_move(void) { return 1; }

#else /* other systems have other clocks, and 32-bit ones two kinds of time_t */

void test_wall_clock_jump(long long seconds) { (void)seconds; }
void test_cpu_clock_jump(long long seconds) { (void)seconds; }
int test_clock_can_move(void) { return 0; }

#endif

/* ==== A run that times out at the right moment ================================================ */

typedef struct listener {
    char heard[256];
    size_t size;
} listener;

static int listen_for(void *user, sbx_stream stream, const char *data, size_t size) {
    listener *l = (listener *)user;
    if (stream != SBX_STDOUT) return 0;
    if (size > sizeof l->heard - 1 - l->size) size = sizeof l->heard - 1 - l->size;
    memcpy(l->heard + l->size, data, size);
    l->size += size;
    return 0;
}

const char *test_run_late(const sbx_config *config, const char *said, sbx_result *result) {
    long blocks = test_live_blocks();
    sbx_config late = *config;
    test_host before;
    const char *flaw;
    listener l;
    sbx *box;
    memset(&l, 0, sizeof l);
    test_host_save(&before);
    late.on_output = listen_for;
    late.user = &l;
    late.timeout_ms = test_clock_can_move() ? 15000 : 600;
    alarm(60);
    box = sbx_start(&late, result);
    if (!box) return test_text("not started: %s", result->message);
    while (!strstr(l.heard, said) && !sbx_poll(box, 2)) {
    }
    if (test_clock_can_move()) test_clock_skew_ms = late.timeout_ms;
    sbx_finish(box, result);
    test_clock_skew_ms = 0;
    alarm(0);
    if (!strstr(l.heard, said)) return test_text("it never said '%s'", said);
    if (*(flaw = test_host_diff(&before))) return flaw;
    if (test_live_blocks() > blocks + (result->out.size > 0) + (result->err.size > 0))
        return "too many blocks are still allocated";
    flaw = test_result_flaw(&late, result);
    result->user = config->user;
    return flaw;
}
