/* 02_timeout: no child runs longer than it may, and what it had written is not lost.
   Compile: cc -o 02_timeout 02_timeout.c
   Prints two children that would sleep for a minute and are stopped after a second; the second one
   ignores the polite signal and is killed when its grace is over. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>

static void show(const char *command) {
    sbx_config config = {
        .command = command, /* one line for /bin/sh */
        .timeout_ms = 1000, /* the default is 30 seconds; SBX_UNLIMITED for none */
        .grace_ms = 200,    /* from SIGTERM to SIGKILL; SBX_UNLIMITED kills at once */
    };
    sbx_result result;

    sbx_run(&config, &result);
    printf("verdict: %s, signal %d, after %lld ms\n", sbx_verdict_name(result.verdict),
           result.signal, result.wall_us / 1000);
    printf("message: %s\n", result.message);
    printf("output:  %s", result.out.data);
    sbx_free(&result);
}

int main(void) {
    show("echo half of the work is done; sleep 60");
    show("trap '' TERM; echo you cannot make me stop; sleep 60");
    return 0;
}
