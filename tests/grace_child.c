/* For test_stop.c: workers that clean up when they are told to stop; a writer in packets. Included
 * by child.c. */

static void tidy_up(int number) {
    (void)number;
    usleep(300 * 1000);
    if (write(1, "tidied\n", 7) != 7) _exit(1);
    _exit(0);
}

/* plain|setsid|stopped: on SIGTERM it works for a moment, says so, and exits. */
static int mode_tidy(int argc, char **argv) {
    const char *how = argc > 0 ? argv[0] : "plain";
    if (strcmp(how, "setsid") == 0) {
        if (fork() > 0) { /* the leader dies at once; the worker has a session of its own */
            pause();
            return 0;
        }
        setsid();
    }
    signal(SIGTERM, tidy_up);
    if (write(1, "ready\n", 6) != 6) return 1;
    if (strcmp(how, "stopped") == 0) raise(SIGSTOP);
    for (;;) pause();
}

/* PACKETS SIZE [BEFORE]: stdout becomes a pipe of packets (O_DIRECT); each is written whole. So many
   bytes are written before it does. */
static int mode_packets(int argc, char **argv) {
    int count = argc > 0 ? atoi(argv[0]) : 1, size = argc > 1 ? atoi(argv[1]) : 4096, i;
    size_t before = argc > 2 ? (size_t)atoi(argv[2]) : 0;
    static char block[4096];
    if (before > sizeof block || write(1, block, before) != (ssize_t)before) return 7;
#ifdef O_DIRECT
    if (fcntl(1, F_SETFL, O_DIRECT) < 0) return 9;
#endif
    memset(block, 'p', sizeof block);
    for (i = 0; i < count; i++)
        if (write(1, block, (size_t)size) != size) return 8;
    return 0;
}

#ifdef __linux__
#include <sys/prctl.h>
#include <sys/ptrace.h>
#endif

/* CODE [setsid]: exits at once, but a child of it, in its group or not, holds it as a tracer. */
static int mode_held(int argc, char **argv) {
#ifdef __linux__
    pid_t self = getpid();
    int ready[2];
    char word;
    if (pipe(ready) < 0) return 90;
    prctl(PR_SET_PTRACER, -1, 0, 0, 0);
    if (fork() == 0) {
        if (argc > 1) setsid();
        if (ptrace(PTRACE_SEIZE, self, 0, 0) != 0) _exit(91); /* closes the pipe */
        if (write(ready[1], "x", 1) != 1) _exit(92);
        sleep(20);
        _exit(0);
    }
    close(ready[1]);
    if (read(ready[0], &word, 1) != 1) return 93; /* not allowed here */
#endif
    return argc > 0 ? atoi(argv[0]) : 0;
}
