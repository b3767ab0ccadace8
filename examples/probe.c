/* probe: what sbx.h can enforce here and now, and what would have to change for the rest.
   Compile: cc -o probe probe.c
   Prints a table; each line was tried in a child. Exits with 0 if policies work. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>
#include <unistd.h>

static void line(const char *name, int works, const char *gives, const char *why,
                 const char *advice) {
    printf("%-15s %-4s %s\n", name, works ? "yes" : "no", gives);
    if (works) return;
    if (*why) printf("%20s why:  %s\n", "", why);
    printf("%20s then: %s\n", "", advice);
}

int main(void) {
    sbx_caps caps;
    char landlock[32];

    sbx_probe(&caps);
    snprintf(landlock, sizeof landlock, "Landlock %d", caps.landlock);
    printf("As %s, sbx.h %s:\n", getuid() == 0 ? "root" : "an ordinary user", SBX_VERSION);
    line("tree", caps.tree, "no process of a box can escape, and all die with the host",
         caps.tree_why,
         "allow user namespaces: user.max_user_namespaces, on some systems also\n"
         "                           kernel.unprivileged_userns_clone = 1 or\n"
         "                           kernel.apparmor_restrict_unprivileged_userns = 0;\n"
         "                           or run as root. Without: the process group");
    line("watch", caps.watch, "memory_bytes and cpu_ms count the whole tree", "",
         "mount /proc. Without: limits of each process (RLIMIT_AS, RLIMIT_CPU)");
    line("address space", caps.address_space, "address_space_bytes", "",
         "this system has no RLIMIT_AS that works; use memory_bytes");
    line("processes", caps.processes, "`processes` without a cgroup", caps.processes_why,
         "run as an ordinary user, or give every box a cgroup (cfg.cgroup)");
    line("policy", caps.policy, "files, network, processes and kernel can be denied",
         caps.policy_why,
         "a policy needs `tree`, a /proc that is not masked, seccomp, and Linux 5.13\n"
         "                           with landlock in its list of modules (lsm=).\n"
         "                           Without: what asks for a policy is not run");
    line(landlock, caps.landlock >= 3, "truncate is guarded by itself (version 3, Linux 6.2)", "",
         caps.landlock ? "nothing to do: under a policy the filter refuses truncate() instead"
                       : "add landlock to the kernel's lsm= list");
    return caps.policy ? 0 : 1;
}
