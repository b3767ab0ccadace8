/* System headers before sbx.h: fine where they declare POSIX by default; under a strict -std= the
 * feature macros come too late, and the header has to say so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <time.h>
#ifdef MANY_HEADERS /* what a real host includes; strict standards lack some of it */
#include <assert.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#endif
#define SBX_IMPLEMENTATION
#include "sbx.h"

int main(void) {
    return sbx_run(NULL, NULL) == SBX_NOT_STARTED ? 0 : 1;
}
