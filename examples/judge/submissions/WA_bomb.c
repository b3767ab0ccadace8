/* Starts processes until it cannot; with a policy it cannot. Ends by itself in any case. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
    int i, started = 0;
    alarm(5);
    signal(SIGCHLD, SIG_IGN);
    for (i = 0; i < 50; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(5);
            for (;;) pause();
        }
        started += pid > 0;
    }
    printf("%d processes\n", started);
    return 0;
}
