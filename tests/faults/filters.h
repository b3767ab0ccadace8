/* Filters such as containers put their programs under. Each has its own idea of what a call that it
 * does not like answers. */
#ifndef FILTERS_H
#define FILTERS_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static const struct {
    int answer;
    int calls[12]; /* ends with -1 */
} filters[] = {
    /* Namespaces are not for you. */
    {EPERM, {SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, -1}},
    /* Written before these calls existed; the answer should be ENOSYS, and is not. */
    {EPERM, {SYS_pidfd_open, SYS_pidfd_send_signal, SYS_close_range, SYS_clone3, 439, -1}},
    {ENOSYS, {SYS_pidfd_open, SYS_pidfd_send_signal, SYS_close_range, SYS_clone3, 439, -1}},
    /* No filter inside a filter, no Landlock. */
    {EPERM, {SYS_seccomp, SYS_landlock_create_ruleset, 445, 446, -1}},
    {ENOSYS, {SYS_seccomp, SYS_landlock_create_ruleset, 445, 446, -1}},
    /* Nothing is made in memory. */
    {EPERM, {SYS_memfd_create, SYS_execveat, SYS_eventfd2, SYS_socketpair, -1}},
    {ENOSYS, {SYS_memfd_create, SYS_execveat, SYS_eventfd2, SYS_socketpair, -1}},
    /* Nothing is changed that belongs to the administrator. */
    {EPERM,
     {SYS_capset, SYS_sched_setscheduler, SYS_setpriority, SYS_perf_event_open, SYS_ptrace, -1}},
    {EPERM,
     {SYS_mount, SYS_open_tree, SYS_move_mount, SYS_mount_setattr, SYS_fsopen, SYS_fsmount, -1}},
};
enum { FILTERS = sizeof filters / sizeof *filters };

static __attribute__((unused)) int set_filter(int number) {
    struct sock_filter code[40];
    struct sock_fprog all;
    unsigned short n = 0;
    int i;
    struct sock_filter load = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    if (number < 0 || number >= FILTERS) return 0;
    code[n++] = load;
    for (i = 0; filters[number].calls[i] >= 0; i++) {
        struct sock_filter same =
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)filters[number].calls[i], 0, 1);
        struct sock_filter answer =
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)filters[number].answer);
        code[n++] = same;
        code[n++] = answer;
    }
    code[n++] = allow;
    all.len = n;
    all.filter = code;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 0;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

#endif
