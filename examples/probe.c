/* probe: what sbx.h can enforce here and now, and what would have to change for the rest.
   Compile: cc -o probe probe.c
   Prints a table; each line was tried in a child. Exits with 0 if policies work. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <stdio.h>
#include <unistd.h>

/* What to do about it; elsewhere nothing can be done. */
#if defined(__linux__) && !defined(SBX_NO_LINUX)
#define ON_LINUX(advice) advice
#else
#define ON_LINUX(advice) "only on Linux"
#endif

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
         ON_LINUX("allow user namespaces: user.max_user_namespaces, on some systems also\n"
                  "                           kernel.unprivileged_userns_clone = 1 or\n"
                  "                           kernel.apparmor_restrict_unprivileged_userns = 0;\n"
                  "                           or run as root") ". Without: the process group");
    line("watch", caps.watch, "memory_bytes and cpu_ms count the whole tree", "",
         ON_LINUX("mount /proc") ". Without: limits of each process (RLIMIT_AS, RLIMIT_CPU)");
    line("address space", caps.address_space, "address_space_bytes", "",
         "this system has no RLIMIT_AS that works; use memory_bytes");
    line("processes", caps.processes, "`processes` without a cgroup", caps.processes_why,
         "run as an ordinary user; on Linux also: give every box a cgroup (cfg.cgroup)");
    line("policy", caps.policy, "a root of its own; files, network, processes, kernel denied",
         caps.policy_why,
         ON_LINUX(
             "change what is named there (a policy needs namespaces, mounts, a /proc of\n"
             "                           which nothing is masked, seccomp, Linux 5.12), or set\n"
             "                           contain = SBX_CONTAIN_GROUP if the next line says yes"));
    line("  in a group", caps.group_policy, "the same without a root and a tree: for containers",
         caps.group_policy_why,
         ON_LINUX("Linux 5.13 with landlock in its list of modules (lsm=), and seccomp.\n"
                  "                           Without: what asks for a policy is not run"));
    line(landlock, caps.landlock >= 6, "guards files, TCP and, from version 6 on, signals", "",
         caps.landlock
             ? "nothing to do: in a tree the rest of the policy guards the same; in a\n"
               "                           group signals to other processes get through"
             : ON_LINUX(
                   "add landlock to the kernel's lsm= list: it is the second lock of a policy"));
    return caps.policy ? 0 : 1;
}
