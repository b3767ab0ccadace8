/* Which system calls are made to fail, and with what: errors that the call can really give to a
 * correct caller. A call that is not listed cannot fail, or only for a caller's mistake. */
#ifndef ERRORS_H
#define ERRORS_H

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

/* Numbers that the headers of older systems lack; the same on every machine. */
enum {
    CALL_open_tree = 428,
    CALL_move_mount,
    CALL_fsopen,
    CALL_fsconfig,
    CALL_fsmount,
    CALL_fspick,
    CALL_pidfd_open,
    CALL_clone3,
    CALL_close_range,
    CALL_openat2,
    CALL_pidfd_getfd,
    CALL_faccessat2,
    CALL_mount_setattr = 442,
    CALL_landlock_create_ruleset = 444,
    CALL_landlock_add_rule,
    CALL_landlock_restrict_self
};

static const struct {
    int number;
    const char *name;
    int errors[6]; /* ends with 0 */
} calls[] = {
/* clang-format off */
#define ROW(call, ...) {SYS_##call, #call, {__VA_ARGS__, 0}}
#define NEW(call, ...) {CALL_##call, #call, {__VA_ARGS__, 0}}
    /* Bytes. EAGAIN and EINTR only where they can be: see is_possible(). */
    ROW(read, EINTR, EIO, ENOMEM),
    ROW(write, EINTR, EIO, ENOMEM, EAGAIN),
    ROW(pread64, EINTR, EIO, ENOMEM),
    ROW(pwrite64, EINTR, EIO, ENOSPC),
    ROW(readv, EINTR, EIO),
    ROW(writev, EINTR, EIO),
    ROW(sendmsg, EINTR, ENOMEM, ENOBUFS, ETOOMANYREFS),
    ROW(recvmsg, EINTR, ENOMEM),
    ROW(sendto, EINTR, ENOMEM, ENOBUFS),
    ROW(recvfrom, EINTR, ENOMEM),
    ROW(splice, EINTR, ENOMEM),
    ROW(sendfile, EINTR, EIO, ENOMEM),
    ROW(copy_file_range, EIO, ENOMEM, ENOSPC),

    /* Descriptors. A close that fails has closed all the same. */
    ROW(open, EMFILE, ENFILE, EACCES, ENOENT, ENOMEM),
    ROW(openat, EMFILE, ENFILE, EACCES, ENOENT, ENOMEM),
    NEW(openat2, EMFILE, ENFILE, EACCES, ENOENT, ENOSYS),
    ROW(close, EINTR, EIO),
    ROW(pipe, EMFILE, ENFILE),
    ROW(pipe2, EMFILE, ENFILE, ENOMEM),
    ROW(socketpair, EMFILE, ENFILE, ENOMEM, EACCES),
    ROW(eventfd2, EMFILE, ENFILE, ENOMEM),
    ROW(memfd_create, EMFILE, ENFILE, ENOMEM, ENOSYS),
    ROW(epoll_create1, EMFILE, ENFILE, ENOMEM),
    ROW(epoll_ctl, ENOMEM, ENOSPC),
    ROW(timerfd_create, EMFILE, ENFILE, ENOMEM),
    ROW(dup, EMFILE),
    ROW(dup2, EBUSY, EMFILE),
    ROW(dup3, EBUSY, EMFILE),
    ROW(fcntl, EMFILE, EPERM, EBUSY),
    ROW(ioctl, ENOMEM, EPERM, EINTR, ENOENT),
    NEW(close_range, ENOSYS, ENOMEM, EPERM),
    ROW(ftruncate, EINTR, EFBIG, EIO),
    ROW(fallocate, EINTR, ENOSPC, EIO),

    /* Waiting. */
    ROW(select, EINTR, ENOMEM),
    ROW(pselect6, EINTR, ENOMEM),
    ROW(poll, EINTR, ENOMEM),
    ROW(ppoll, EINTR, ENOMEM),
    ROW(epoll_wait, EINTR),
    ROW(epoll_pwait, EINTR),
    ROW(nanosleep, EINTR),
    ROW(clock_nanosleep, EINTR),
    ROW(rt_sigtimedwait, EINTR, EAGAIN),
    ROW(wait4, EINTR, ECHILD),
    ROW(waitid, EINTR, ECHILD),

    /* Processes. */
    ROW(clone, EAGAIN, ENOMEM, EPERM, ENOSPC),
    NEW(clone3, EAGAIN, ENOMEM, EPERM, ENOSYS),
    ROW(fork, EAGAIN, ENOMEM),
    ROW(vfork, EAGAIN, ENOMEM),
    ROW(execve, ENOMEM, EACCES, EAGAIN, ETXTBSY, EIO),
    ROW(execveat, ENOMEM, EACCES, EAGAIN, ENOSYS),
    ROW(kill, EPERM),
    ROW(pidfd_send_signal, EPERM, ENOSYS),
    NEW(pidfd_open, EMFILE, ENFILE, ENOMEM, ENOSYS, EPERM),
    NEW(pidfd_getfd, EMFILE, EPERM, ENOSYS),
    ROW(setsid, EPERM),
    ROW(setpgid, EPERM, EACCES),
    ROW(prlimit64, EPERM, EINVAL),
    ROW(setrlimit, EPERM, EINVAL),
    ROW(prctl, EINVAL, EPERM),
    ROW(unshare, EPERM, ENOMEM, ENOSPC, EINVAL),
    ROW(setns, EPERM, ENOMEM, EINVAL),
    ROW(capset, EPERM),
    ROW(setgroups, EPERM, ENOMEM),
    ROW(setresuid, EPERM, EAGAIN),
    ROW(setresgid, EPERM),
    ROW(setuid, EPERM, EAGAIN),
    ROW(setgid, EPERM),
    ROW(sched_setscheduler, EPERM),
    ROW(setpriority, EPERM, EACCES),
    ROW(perf_event_open, EACCES, ENOSYS, EMFILE, ENOMEM),
    ROW(timer_create, EAGAIN, ENOMEM),
    ROW(setitimer, EINVAL),

    /* Memory. */
    ROW(mmap, ENOMEM),
    ROW(mremap, ENOMEM),
    ROW(mprotect, ENOMEM),
    ROW(madvise, ENOMEM, EINVAL),

    /* Files and directories. */
    ROW(chdir, ENOENT, EACCES, ENOMEM),
    ROW(fchdir, EACCES),
    ROW(getcwd, ENOENT, EACCES),
    ROW(getdents64, EIO, ENOMEM),
    ROW(stat, EACCES, ENOENT, ENOMEM),
    ROW(lstat, EACCES, ENOENT, ENOMEM),
    ROW(fstat, ENOMEM, EIO),
    ROW(newfstatat, EACCES, ENOENT, ENOMEM),
    ROW(statx, EACCES, ENOENT, ENOSYS),
    ROW(access, EACCES, ENOENT, ENOMEM),
    ROW(faccessat, EACCES, ENOENT),
    NEW(faccessat2, EACCES, ENOENT, ENOSYS),
    ROW(readlink, EACCES, ENOENT, ENOMEM),
    ROW(readlinkat, EACCES, ENOENT, ENOMEM),
    ROW(statfs, EACCES, ENOSYS),
    ROW(fstatfs, EIO, ENOSYS),
    ROW(mkdir, EACCES, ENOSPC, EROFS),
    ROW(mkdirat, EACCES, ENOSPC, EROFS),
    ROW(symlink, EACCES, ENOSPC),
    ROW(symlinkat, EACCES, ENOSPC),
    ROW(mknod, EPERM, ENOSPC),
    ROW(mknodat, EPERM, ENOSPC),
    ROW(chmod, EPERM),
    ROW(fchmod, EPERM),
    ROW(fchmodat, EPERM),
    ROW(chown, EPERM),
    ROW(fchown, EPERM),
    ROW(fchownat, EPERM),
    ROW(rename, EIO, ENOSPC),

    /* Mounts, Landlock, filters. */
    ROW(mount, EPERM, ENOMEM, EBUSY, ENODEV),
    ROW(umount2, EPERM, EBUSY),
    ROW(pivot_root, EPERM, EBUSY, EINVAL),
    ROW(chroot, EPERM),
    NEW(open_tree, EPERM, ENOSYS, EMFILE),
    NEW(move_mount, EPERM, ENOSYS, ENOMEM),
    NEW(mount_setattr, EPERM, ENOSYS, ENOMEM),
    NEW(fsopen, EPERM, ENOSYS, EMFILE),
    NEW(fsconfig, EPERM, ENOMEM, EINVAL),
    NEW(fsmount, EPERM, EMFILE, ENOMEM),
    NEW(landlock_create_ruleset, ENOSYS, EOPNOTSUPP, ENOMEM, EMFILE),
    NEW(landlock_add_rule, ENOMEM),
    NEW(landlock_restrict_self, ENOMEM, EPERM, E2BIG),
    ROW(seccomp, ENOSYS, ENOMEM, EINVAL, EBUSY),
#undef ROW
#undef NEW
    /* clang-format on */
};
enum { CALLS = sizeof calls / sizeof *calls };

/* What was mishandled once is in every sweep. */
static const struct {
    const char *scenario;
    int number, error;
} once_wrong[] = {
    {"denied", CALL_close_range, ENOSYS}, /* the ear's stack was too small; unshare was denied */
    {"timeout", SYS_readlink, ENOMEM}, /* no memory was taken for no /proc */
    {"auto", SYS_readlink, ENOMEM},
    {"denied", SYS_execveat, ENOMEM}, /* an ear that could not begin was taken for a killed one */
    {"denied", SYS_chdir, ENOMEM},
};

static const struct {
    int number;
    const char *name;
} error_names[] = {
#define E(name)                                                                                    \
    { name, #name }
    E(EPERM),  E(ENOENT),     E(EINTR),   E(EIO),          E(E2BIG),  E(ECHILD),
    E(EAGAIN), E(ENOMEM),     E(EACCES),  E(EBUSY),        E(ENODEV), E(EINVAL),
    E(ENFILE), E(EMFILE),     E(ETXTBSY), E(EFBIG),        E(ENOSPC), E(EROFS),
    E(ENOSYS), E(EOPNOTSUPP), E(ENOBUFS), E(ETOOMANYREFS),
#undef E
};

static const char *error_name(int number) {
    size_t i;
    for (i = 0; i < sizeof error_names / sizeof *error_names; i++)
        if (error_names[i].number == number) return error_names[i].name;
    return "?";
}

static int row_of(long number) {
    int i;
    for (i = 0; i < CALLS; i++)
        if (calls[i].number == number) return i;
    return -1;
}

#endif
