/* 13_policy: files, network, processes and the kernel taken away, without privileges.
   Compile: cc -o 13_policy 13_policy.c
   Prints what a shell under a policy can do and what it cannot, and how a forbidden system call
   ends one that is to be killed for it. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void show(const sbx_policy *policy, const char *command) {
    sbx_config config = {.command = command, .policy = policy};
    sbx_result result;

    sbx_run(&config, &result);
    printf("%s%s: %s\n", result.out.data, sbx_verdict_name(result.verdict), result.message);
    sbx_free(&result);
}

int main(void) {
    char tree[] = "/tmp/sbx-example-XXXXXX", note[sizeof tree + 8], command[1024];
    const char *write[] = {tree, NULL};
    sbx_policy policy = {.write = write}; /* the system can be read, one tree can be written */

    if (mkdtemp(tree) == NULL) return 1;
    snprintf(note, sizeof note, "%s/note", tree);
    snprintf(command, sizeof command,
             "exec 2>/dev/null\n"
             "sort /etc/passwd >/dev/null && echo 'can read the system and run its programs'\n"
             "echo hello >\"$TMPDIR/note\"   && echo 'can write in its tree'\n"
             "echo hello >%s.too           || echo 'cannot write beside it'\n"
             "chmod 1777 /tmp              || echo 'cannot change modes'\n"
             "ls /home                     || echo 'cannot list other directories'\n"
             "kill -0 %d                   || echo 'cannot even see this process'\n"
             "unshare --user true          || echo 'cannot make namespaces'\n",
             tree, (int)getpid());
    show(&policy, command);

    policy.kill_on_denied = 1;
    show(&policy, "unshare --user true; echo 'never said'");

    policy.deny_spawn = 1;
    show(&policy, "echo 'a shell without processes'; sort /etc/passwd");

    policy.read = (const char *const[]){"/no/such/tree", NULL};
    show(&policy, "echo 'never said'");

    remove(note);
    rmdir(tree);
    return 0;
}
