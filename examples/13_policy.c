/* 13_policy: a world of its own: files, network, processes and the kernel taken away, without
   privileges.
   Compile: cc -o 13_policy 13_policy.c
   Prints what a shell under a policy can do and what it cannot, and how a forbidden system call
   ends one that is to be killed for it. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void show(const sbx_policy *policy, const char *name, const char *command) {
    sbx_config config = {.command = command, .policy = policy, .name = name};
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
             "echo hello >\"$HOME/note\"     && echo 'can write in its tree, which is its home'\n"
             "echo hello >\"$(mktemp)\"      && echo 'has a /tmp of its own, gone with it'\n"
             "test -e /home -o -e /root    || echo 'sees no other files: they do not exist'\n"
             "touch /usr/bin/sort          || echo 'cannot change the system'\n"
             "kill -0 %d                   || echo 'cannot even see this process'\n"
             "unshare --user true          || echo 'cannot make namespaces'\n",
             (int)getpid());
    show(&policy, "a shell", command);

    policy.kill_on_denied = 1; /* for what no honest program does by accident */
    show(&policy, "an honest one", "ls -l / >/dev/null; echo 'done'");
    show(&policy, "another one", "unshare --user true; echo 'never said'");

    policy.deny_spawn = 1;
    show(&policy, "a lonely one", "echo 'a shell without processes'; sort /etc/passwd");

    policy.read = (const char *const[]){"/no/such/tree", NULL};
    show(&policy, "a wrong one", "echo 'never said'");

    remove(note);
    rmdir(tree);
    return 0;
}
