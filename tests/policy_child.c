/* The part of child.c that attacks a policy: `child policy SET [arguments]`.
 *
 * A set tries every way it knows and prints one line for each: the name of the attempt, and
 * "worked" or the error it got; the last line is "end". So that a test can see that an attempt is
 * worth something, the same set is also run without a policy, where it has to work. Names that
 * begin with '?' depend on the kernel, the file system or the user: those may fail there, too.
 *
 * Nothing here hurts the machine if it works: files and processes are the test's own, mounts are
 * made in a mount namespace of the box, and what is global is asked for with arguments that the
 * kernel refuses after the question whether it may be asked at all. */
#ifdef __linux__

#include <dirent.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>

#define TRY(name, call)                                                                            \
    do {                                                                                           \
        errno = 0;                                                                                 \
        tell_try((name), (long)(call));                                                            \
    } while (0)

static const char *error_text(int error) {
    static char number[16];
    static const struct {
        int error;
        const char *name;
    } names[] = {{EPERM, "EPERM"},   {EACCES, "EACCES"}, {EROFS, "EROFS"},   {ENOSYS, "ENOSYS"},
                 {EXDEV, "EXDEV"},   {ESRCH, "ESRCH"},   {ENOENT, "ENOENT"}, {EINVAL, "EINVAL"},
                 {EFAULT, "EFAULT"}, {EBADF, "EBADF"},   {ELOOP, "ELOOP"},   {EAGAIN, "EAGAIN"}};
    size_t i;
    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].error == error) return names[i].name;
    snprintf(number, sizeof number, "E%d", error);
    return number;
}

static void tell_try(const char *name, long result) {
    int error = errno;
    printf("%s %s\n", name, result >= 0 ? "worked" : error_text(error));
    fflush(stdout);
}

/* A path in a buffer that lives until the 32nd call after this one. */
static const char *at(const char *dir, const char *name) {
    static char room[32][PATH_MAX];
    static int next;
    char *path = room[next++ % 32];
    snprintf(path, PATH_MAX, "%s%s%s", dir, *dir && *name ? "/" : "", name);
    return path;
}

/* Every attempt that changes something gets a file or a directory of its own. */
static const char *fresh(const char *dir, char kind) {
    static int next[256];
    char name[16];
    snprintf(name, sizeof name, "%c%02d", kind, next[(unsigned char)kind]++);
    return at(dir, name);
}

static long read_fd(int fd) {
    char byte;
    return fd < 0 ? -1 : (long)read(fd, &byte, 1);
}

static long read_path(const char *path) { return read_fd(open(path, O_RDONLY | O_NONBLOCK)); }

static long list_path(const char *path) {
    DIR *dir = opendir(path);
    return dir && readdir(dir) ? 0 : -1;
}

static const char *fd_path(int fd) {
    char name[32];
    snprintf(name, sizeof name, "%d", fd);
    return at("/proc/self/fd", name);
}

/* ==== 48: reading outside ===================================================================== */

/* OUTSIDE READABLE WRITABLE: the first holds `secret`, the second links to it and is the cwd. */
static void set_read(char **arg) {
    const char *outside = arg[0], *readable = arg[1], *writable = arg[2];
    const char *secret = at(outside, "secret"), *link_path;
    struct {
        unsigned long long flags, mode, resolve;
    } how = {O_RDONLY, 0, 0};
    int dir, fd, moved;
    TRY("open", read_path(secret));
    TRY("list", list_path(outside));
    TRY("openat2", read_fd((int)syscall(437, AT_FDCWD, secret, &how, sizeof how)));
    TRY("relative", read_path("../outside/secret"));
    TRY("dot_dot", read_path(at(readable, "../outside/secret")));
    TRY("dot_dot_deep", read_path(at(readable, "sub/../../outside/./secret")));
    TRY("symlink", read_path(at(readable, "to_secret")));
    TRY("symlink_relative", read_path(at(readable, "to_secret_relative")));
    TRY("symlink_to_dir", read_path(at(readable, "to_outside/secret")));
    TRY("symlink_list", list_path(at(readable, "to_outside")));
    link_path = at(writable, "my_link");
    TRY("own_symlink", symlink(secret, link_path) < 0 ? -1 : read_path(link_path));
    TRY("self_root", read_path(at("/proc/self/root", secret)));
    TRY("thread_root", read_path(at("/proc/thread-self/root", secret)));
    TRY("self_cwd", read_path("/proc/self/cwd/../outside/secret"));
    {
        char root[64];
        snprintf(root, sizeof root, "/proc/%ld/root", (long)getpid());
        TRY("pid_root", read_path(at(root, secret)));
        snprintf(root, sizeof root, "/proc/self/task/%ld/root", (long)getpid());
        TRY("task_root", read_path(at(root, secret)));
    }
    TRY("above_root", read_path(at("/..", secret)));
    TRY("far_above_root", read_path(at("/../../..", secret)));
    TRY("above_self_root", read_path(at("/proc/self/root/..", secret)));
    dir = open("/..", O_PATH | O_DIRECTORY);
    TRY("fd_above_root", read_fd(openat(dir, secret + 1, O_RDONLY)));
    TRY("cwd_above_root", chdir("/") < 0 || chdir("..") < 0 ? -1 : read_path(secret + 1));
    (void)!chdir(readable);
    TRY("?first_root", read_path(at("/proc/1/root", secret)));
    TRY("?first_cwd", read_path(at("/proc/1/cwd", secret)));
    TRY("?parent_root", list_path("/proc/1/root"));
    dir = open(outside, O_PATH | O_DIRECTORY);
    TRY("path_fd", read_fd(openat(dir, "secret", O_RDONLY)));
    TRY("path_fd_list", list_path(fd_path(dir)));
    TRY("path_fd_change_dir", fchdir(dir) < 0 ? -1 : read_path("secret"));
    fd = open(secret, O_PATH);
    TRY("path_fd_reopened", read_path(fd_path(fd)));
    TRY("?path_fd_dev", read_path(at("/dev/fd", fd_path(fd) + strlen("/proc/self/fd/"))));
    moved = chdir(outside) == 0;
    TRY("change_dir", moved ? read_path("secret") : -1);
    TRY("?path_fd_proc", moved ? read_path("/proc/self/cwd/secret") : -1);
    TRY("hard_link",
        link(fresh(outside, 'f'), at(writable, "hard")) < 0 ? -1 : read_path(at(writable, "hard")));
    TRY("hard_link_fd",
        linkat(AT_FDCWD, fd_path(fd), AT_FDCWD, at(writable, "hard_fd"), AT_SYMLINK_FOLLOW) < 0
            ? -1
            : read_path(at(writable, "hard_fd")));
    TRY("rename_in", rename(fresh(outside, 'f'), at(writable, "moved")) < 0
                         ? -1
                         : read_path(at(writable, "moved")));
    TRY("dir_renamed_in", rename(at(outside, "dir"), at(writable, "dir")) < 0
                              ? -1
                              : read_path(at(writable, "dir/inner")));
    TRY("?handle",
        syscall(SYS_name_to_handle_at, AT_FDCWD, secret, NULL, NULL, 0) < 0 && errno == EFAULT
            ? 0
            : -1);
    TRY("fifo", open(at(outside, "fifo"), O_RDONLY | O_NONBLOCK));
    (void)chdir(readable);
}

/* What no policy hides, and the header says so: that a file is there, and what stat tells of it. */
static void set_metadata(char **arg) {
    const char *secret = at(arg[0], "secret");
    char text[PATH_MAX];
    struct stat st;
    TRY("stat", stat(secret, &st));
    TRY("access", access(secret, R_OK));
    TRY("readlink", readlink(at(arg[0], "to_secret"), text, sizeof text));
    TRY("change_dir", chdir(arg[0]));
    TRY("path_fd", open(secret, O_PATH));
}

/* Events tell the names of files that are made, and that somebody reads them. */
static void set_notify(char **arg) {
    int fd = inotify_init1(IN_NONBLOCK);
    TRY("inotify", fd < 0 ? -1 : inotify_add_watch(fd, arg[0], IN_ALL_EVENTS));
}

/* ==== 49, 51: changing what is read-only or outside =========================================== */

static long open_wr(const char *path, int flags) {
    int fd = open(path, flags, 0600);
    if (fd >= 0) close(fd);
    return fd;
}

/* Modes, owners, times, attributes: by path, and by descriptors that cannot write. */
static void change_attributes(const char *dir) {
    const struct timespec times[2] = {{1, 0}, {2, 0}};
    const char *path;
    char name[64];
    int fd, flags = 0x40; /* FS_NODUMP_FL */
    uid_t uid = getuid();
    gid_t gid = getgid();
    unsigned long long xattr[2] = {0, 1};
    TRY("chmod", chmod(fresh(dir, 'f'), 0700));
    TRY("chmod_dir", chmod(fresh(dir, 'd'), 0711));
    TRY("chmod_self_root", chmod(at("/proc/self/root", fresh(dir, 'f')), 0700));
    TRY("fchmodat", fchmodat(AT_FDCWD, fresh(dir, 'f'), 0700, 0));
    TRY("?fchmodat2", syscall(452, AT_FDCWD, fresh(dir, 'f'), 0700, 0));
    TRY("chmod_path_fd", chmod(fd_path(open(fresh(dir, 'f'), O_PATH)), 0700));
    TRY("?chmod_by_fd", fchmod(open(fresh(dir, 'f'), O_RDONLY), 0700));
    TRY("chown", chown(fresh(dir, 'f'), uid, gid));
    TRY("lchown", lchown(fresh(dir, 'f'), uid, gid));
    TRY("fchownat", fchownat(open(fresh(dir, 'f'), O_PATH), "", uid, gid, AT_EMPTY_PATH));
    TRY("?chown_by_fd", fchown(open(fresh(dir, 'f'), O_RDONLY), uid, gid));
    TRY("utime", utimensat(AT_FDCWD, fresh(dir, 'f'), times, 0));
    TRY("utime_now", utimensat(AT_FDCWD, fresh(dir, 'f'), NULL, 0));
    TRY("utime_link", utimensat(AT_FDCWD, fresh(dir, 'f'), times, AT_SYMLINK_NOFOLLOW));
    TRY("?utime_by_fd", futimens(open(fresh(dir, 'f'), O_RDONLY), times));
    TRY("utime_path_fd", utimensat(AT_FDCWD, fd_path(open(fresh(dir, 'f'), O_PATH)), times, 0));
    TRY("?setxattr", setxattr(fresh(dir, 'f'), "user.sbx", "x", 1, 0));
    TRY("?lsetxattr", lsetxattr(fresh(dir, 'f'), "user.sbx", "x", 1, 0));
    TRY("?fsetxattr", fsetxattr(open(fresh(dir, 'f'), O_RDONLY), "user.sbx", "x", 1, 0));
    TRY("?setxattrat", syscall(463, AT_FDCWD, fresh(dir, 'f'), 0, "user.sbx", xattr, sizeof xattr));
    TRY("?removexattr", removexattr(at(dir, "secret"), "user.sbx"));
    TRY("?set_flags", ioctl(open(fresh(dir, 'f'), O_RDONLY), 0x40086602, &flags));
    TRY("?file_setattr", syscall(469, AT_FDCWD, fresh(dir, 'f'), xattr, sizeof xattr, 0));
    path = fresh(dir, 'f');
    snprintf(name, sizeof name, "%s", strrchr(path, '/') + 1);
    fd = open(dir, O_PATH | O_DIRECTORY);
    TRY("chmod_at_path_fd", fchmodat(fd, name, 0640, 0));
    TRY("chmod_in_dir", chdir(dir) < 0 ? -1 : chmod(name, 0600));
    TRY("chmod_by_cwd", chmod(at("/proc/self/cwd", name), 0640));
    TRY("?chmod_by_first", chmod(at("/proc/1/root", path), 0640));
}

/* DIR WRITABLE: DIR is what must not change; the second argument may. */
static void set_write(char **arg) {
    const char *dir = arg[0], *own = arg[1], *path;
    struct {
        unsigned long long flags, mode, resolve;
    } how = {O_WRONLY, 0, 0};
    int fd, moved;
    TRY("open", open_wr(fresh(dir, 'f'), O_WRONLY));
    TRY("open_both", open_wr(fresh(dir, 'f'), O_RDWR));
    TRY("open_append", open_wr(fresh(dir, 'f'), O_WRONLY | O_APPEND));
    TRY("open_truncate", open_wr(fresh(dir, 'f'), O_WRONLY | O_TRUNC));
    TRY("read_truncate", open_wr(fresh(dir, 'f'), O_RDONLY | O_TRUNC)); /* needs no write access */
    TRY("create", open_wr(at(dir, "new"), O_WRONLY | O_CREAT | O_EXCL));
    TRY("create_read", open_wr(at(dir, "new_read"), O_RDONLY | O_CREAT));
    TRY("?unnamed", open_wr(dir, O_TMPFILE | O_WRONLY));
    TRY("openat2", syscall(437, AT_FDCWD, fresh(dir, 'f'), &how, sizeof how));
    TRY("truncate", truncate(fresh(dir, 'f'), 1));
    TRY("unlink", unlink(fresh(dir, 'f')));
    TRY("unlink_self_root", unlink(at("/proc/self/root", fresh(dir, 'f'))));
    TRY("rmdir", rmdir(fresh(dir, 'd')));
    TRY("mkdir", mkdir(at(dir, "new_dir"), 0700));
    TRY("mkfifo", mkfifo(at(dir, "new_fifo"), 0600));
    TRY("mknod", mknod(at(dir, "new_file"), S_IFREG | 0600, 0));
    TRY("mknod_socket", mknod(at(dir, "new_socket"), S_IFSOCK | 0600, 0));
    TRY("symlink", symlink("/", at(dir, "new_symlink")));
    TRY("link_inside", link(fresh(dir, 'f'), at(dir, "new_link")));
    TRY("link_in", link(fresh(own, 'w'), at(dir, "linked_in")));
    TRY("link_out", link(fresh(dir, 'f'), at(own, "linked_out")));
    TRY("link_out_fd", linkat(AT_FDCWD, fd_path(open(fresh(dir, 'f'), O_PATH)), AT_FDCWD,
                              at(own, "linked_out_fd"), AT_SYMLINK_FOLLOW));
    TRY("rename", rename(fresh(dir, 'f'), at(dir, "renamed")));
    TRY("rename_out", rename(fresh(dir, 'f'), at(own, "renamed_out")));
    TRY("rename_dir_out", rename(fresh(dir, 'd'), at(own, "renamed_dir_out")));
    TRY("rename_in", rename(fresh(own, 'w'), at(dir, "renamed_in")));
    TRY("rename_over", rename(fresh(own, 'w'), fresh(dir, 'f')));
    TRY("exchange",
        syscall(SYS_renameat2, AT_FDCWD, fresh(own, 'w'), AT_FDCWD, fresh(dir, 'f'), 2));
    TRY("open_self_root", open_wr(at("/proc/self/root", fresh(dir, 'f')), O_WRONLY));
    moved = chdir(dir) == 0;
    TRY("open_cwd", moved ? open_wr(at("/proc/self/cwd", "f60"), O_WRONLY) : -1);
    TRY("open_in_dir", moved ? open_wr("f61", O_WRONLY) : -1);
    TRY("create_in_dir", moved ? open_wr("new_in_dir", O_WRONLY | O_CREAT) : -1);
    path = at(own, "link_to_dir");
    TRY("own_symlink", symlink(dir, path) < 0 ? -1 : open_wr(at(path, "f62"), O_WRONLY));
    TRY("dangling_symlink", symlink(at(dir, "new_dangling"), at(own, "dangling")) < 0
                                ? -1
                                : open_wr(at(own, "dangling"), O_WRONLY | O_CREAT));
    fd = open(at(dir, "f63"), O_PATH);
    TRY("path_fd_reopened", open_wr(fd_path(fd), O_RDWR));
    TRY("?read_fd_reopened", open_wr(fd_path(open(at(dir, "f64"), O_RDONLY)), O_RDWR));
    TRY("?ftruncate", truncate(fd_path(open(at(dir, "f65"), O_RDONLY)), 1));
    TRY("?fallocate", fallocate(open(at(dir, "f66"), O_RDWR), 0, 0, 100));
    TRY("fifo", open_wr(at(dir, "fifo"), O_RDWR | O_NONBLOCK));
    change_attributes(dir);
}

/* WRITABLE: here all of it has to work. */
static void set_own(char **arg) {
    const char *own = arg[0];
    const struct timespec times[2] = {{1, 0}, {2, 0}};
    int fd = open(at(own, "made"), O_RDWR | O_CREAT | O_EXCL, 0600);
    TRY("create", fd);
    TRY("write", write(fd, "text", 4));
    TRY("ftruncate", ftruncate(fd, 2));
    TRY("read_truncate", open_wr(at(own, "made"), O_RDONLY | O_TRUNC));
    TRY("mkdir", mkdir(at(own, "made_dir"), 0700));
    TRY("rename", rename(at(own, "made"), at(own, "made2")));
    TRY("rename_across", rename(at(own, "made2"), at(own, "made_dir/made")));
    TRY("link", link(at(own, "made_dir/made"), at(own, "linked")));
    TRY("symlink", symlink("linked", at(own, "symlinked")));
    TRY("read_symlink", read_path(at(own, "symlinked")));
    TRY("chmod", chmod(at(own, "linked"), 0755));
    TRY("utime", utimensat(AT_FDCWD, at(own, "linked"), times, 0));
    TRY("chown", chown(at(own, "linked"), getuid(), getgid()));
    TRY("mkfifo", mkfifo(at(own, "made_fifo"), 0600));
    TRY("open_fifo", open(at(own, "made_fifo"), O_RDWR | O_NONBLOCK));
    TRY("list", list_path(own));
    TRY("map", mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
    TRY("unlink", unlink(at(own, "linked")));
    TRY("rmdir", unlink(at(own, "made_dir/made")) < 0 ? -1 : rmdir(at(own, "made_dir")));
    /* a mode that means nothing, since nothing is made */
    TRY("any_mode", syscall(SYS_openat, AT_FDCWD, own, O_RDONLY | O_DIRECTORY, ~0L));
}

/* WRITABLE: nodes that are doors to the machine, and files that lend their owner's rights. */
static void set_nodes(char **arg) {
    const char *own = arg[0];
    TRY("?char_device", mknod(at(own, "null"), S_IFCHR | 0600, makedev(1, 3)));
    TRY("?block_device", mknod(at(own, "disk"), S_IFBLK | 0600, makedev(7, 200)));
}

static long has_set_id(const char *path) {
    struct stat st;
    if (stat(path, &st) < 0) return -1;
    errno = EPERM;
    return st.st_mode & (S_ISUID | S_ISGID) ? 0 : -1;
}

static void set_set_id(char **arg) {
    const char *own = arg[0], *path = at(own, "by_chmod");
    unsigned long long how[3] = {O_CREAT | O_WRONLY, 06755, 0}; /* struct open_how */
    int fd = open(path, O_CREAT | O_WRONLY, 0700);
    TRY("chmod", chmod(path, 06755) < 0 ? -1 : has_set_id(path));
    chmod(path, 0700);
    TRY("fchmod", fchmod(fd, 04755) < 0 ? -1 : has_set_id(path));
    chmod(path, 0700);
    TRY("fchmodat", fchmodat(AT_FDCWD, path, 02755, 0) < 0 ? -1 : has_set_id(path));
    chmod(path, 0700);
    TRY("?fchmodat2", syscall(452, AT_FDCWD, path, 04755, 0) < 0 ? -1 : has_set_id(path));
    path = at(own, "by_open");
    TRY("open", open(path, O_CREAT | O_WRONLY, 06755) < 0 ? -1 : has_set_id(path));
    path = at(own, "by_openat2");
    TRY("?openat2", syscall(437, AT_FDCWD, path, how, sizeof how) < 0 ? -1 : has_set_id(path));
    path = at(own, "by_creat");
    TRY("creat", creat(path, 06755) < 0 ? -1 : has_set_id(path));
    path = at(own, "by_mknod");
    TRY("mknod", mknod(path, S_IFREG | 06755, 0) < 0 ? -1 : has_set_id(path));
}

/* ==== 50: running outside ===================================================================== */

/* Runs it in a child with "exit 42": 0 = it did. */
static long runs(const char *path, const char *const *argv, int fd, const char *variable) {
    const char *standard[] = {"child", "exit", "42", NULL};
    const char *env[] = {variable, NULL};
    int status;
    pid_t pid = spawn();
    if (pid == 0) {
        if (!argv) argv = standard;
        if (fd >= 0) syscall(SYS_execveat, fd, path, argv, env, AT_EMPTY_PATH);
        else execve(path, (char *const *)argv, (char *const *)env);
        _exit(100 + errno);
    }
    if (waitpid(pid, &status, 0) < 0) return -1;
    errno = WIFEXITED(status) && WEXITSTATUS(status) >= 100 ? WEXITSTATUS(status) - 100 : EACCES;
    return WIFEXITED(status) && WEXITSTATUS(status) == 42 ? 0 : -1;
}

static const char *loader(void) {
    static const char *const names[] = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1",
                                        "/lib/ld-linux-armhf.so.3", "/lib/ld-linux.so.2",
                                        "/lib/ld-linux-riscv64-lp64d.so.1"};
    size_t i;
    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        if (access(names[i], X_OK) == 0) return names[i];
    return "/no/loader";
}

/* OUTSIDE READABLE WRITABLE: OUTSIDE has `prog`, a copy of this program, and `script`. */
static void set_exec(char **arg) {
    const char *outside = arg[0], *own = arg[2], *path, *prog;
    const char *by_loader[] = {loader(), NULL, "exit", "42", NULL};
    const char *by_shell[] = {"sh", NULL, NULL}, *by_source[] = {"sh", "-c", NULL, NULL};
    char text[PATH_MAX + 32];
    int fd;
    prog = at(outside, "prog");
    TRY("exec", runs(prog, NULL, -1, NULL));
    TRY("self_root", runs(at("/proc/self/root", prog), NULL, -1, NULL));
    TRY("symlink", runs(at(arg[1], "to_outside/prog"), NULL, -1, NULL));
    path = at(own, "my_prog");
    TRY("own_symlink", symlink(prog, path) < 0 ? -1 : runs(path, NULL, -1, NULL));
    TRY("path_fd", runs("", NULL, open(prog, O_PATH), NULL));
    TRY("path_fd_proc", runs(fd_path(open(prog, O_PATH)), NULL, -1, NULL));
    TRY("dir_fd", runs("prog", NULL, open(outside, O_PATH | O_DIRECTORY), NULL));
    TRY("in_dir", chdir(outside) < 0 ? -1 : runs("./prog", NULL, -1, NULL));
    by_loader[1] = prog;
    TRY("?loader", runs(by_loader[0], by_loader, -1, NULL));
    TRY("script", runs(at(outside, "script"), NULL, -1, NULL));
    by_shell[1] = at(outside, "script");
    TRY("shell", runs("/bin/sh", by_shell, -1, NULL));
    snprintf(text, sizeof text, ". %s", at(outside, "script"));
    by_source[2] = text;
    TRY("shell_source", runs("/bin/sh", by_source, -1, NULL));
    path = at(own, "my_script"); /* a script of its own, but an interpreter from outside */
    fd = open(path, O_WRONLY | O_CREAT, 0700);
    snprintf(text, sizeof text, "#!%s exit\n", prog);
    write_all(fd, text, strlen(text));
    close(fd);
    {
        const char *words[] = {path, NULL};
        pid_t pid = spawn();
        int status = 0;
        if (pid == 0) {
            execve(path, (char *const *)words, environ);
            _exit(100 + errno);
        }
        waitpid(pid, &status, 0);
        errno = WEXITSTATUS(status) >= 100 ? WEXITSTATUS(status) - 100 : EACCES;
        TRY("interpreter", WEXITSTATUS(status) >= 100 ? -1 : 0); /* what it exits with is a path */
    }
    TRY("hard_link", link(prog, at(own, "hard")) < 0 ? -1 : runs(at(own, "hard"), NULL, -1, NULL));
    snprintf(text, sizeof text, "cp %s %s/copy", prog, own);
    TRY("copy", system(text) != 0 ? -1 : runs(at(own, "copy"), NULL, -1, NULL));
    TRY("rename", rename(prog, at(own, "moved")) < 0 ? -1 : runs(at(own, "moved"), NULL, -1, NULL));
}

/* ==== 52, 53, 54: network ===================================================================== */

static int unix_address(struct sockaddr_un *address, const char *name) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    snprintf(address->sun_path, sizeof address->sun_path, "%s", name);
    if (*name == '@') address->sun_path[0] = 0;
    return (int)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + (*name != '@'));
}

static socklen_t inet_address(struct sockaddr_storage *address, int family, int port) {
    memset(address, 0, sizeof *address);
    if (family == AF_INET6) {
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)address;
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((unsigned short)port);
        six->sin6_addr = in6addr_loopback;
        return sizeof *six;
    } else {
        struct sockaddr_in *four = (struct sockaddr_in *)(void *)address;
        four->sin_family = AF_INET;
        four->sin_port = htons((unsigned short)port);
        four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return sizeof *four;
    }
}

static long dial(int family, int type, int protocol, int port) {
    struct sockaddr_storage to;
    socklen_t size = inet_address(&to, family, port);
    int fd = socket(family, type, protocol);
    return fd < 0 ? -1 : connect(fd, (struct sockaddr *)(void *)&to, size);
}

static long throw_at(int fd, const void *to, socklen_t size, int flags) {
    return fd < 0
               ? -1
               : (long)sendto(fd, "x", 1, flags | MSG_NOSIGNAL, (const struct sockaddr *)to, size);
}

static long dial_unix(int type, const char *name) {
    struct sockaddr_un to;
    int size = unix_address(&to, name), fd = socket(AF_UNIX, type, 0);
    return fd < 0 ? -1 : connect(fd, (struct sockaddr *)(void *)&to, (socklen_t)size);
}

/* From one end of a pair to an address outside: by sendto, sendmsg and connect. */
static void pair_out(const char *kind, int type, const char *name) {
    struct sockaddr_un to;
    int pair[2] = {-1, -1}, size = unix_address(&to, name), made;
    struct iovec data = {(void *)(size_t) "x", 1};
    struct msghdr message;
    char label[64];
    made = socketpair(AF_UNIX, type, 0, pair);
    memset(&message, 0, sizeof message);
    message.msg_name = &to;
    message.msg_namelen = (socklen_t)size;
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    snprintf(label, sizeof label, "pair_sendto_%s", kind);
    TRY(label, made < 0 ? -1 : throw_at(pair[0], &to, (socklen_t)size, 0));
    snprintf(label, sizeof label, "pair_sendmsg_%s", kind);
    TRY(label, made < 0 ? -1 : sendmsg(pair[0], &message, MSG_NOSIGNAL));
    snprintf(label, sizeof label, "pair_connect_%s", kind);
    TRY(label, made < 0 ? -1 : connect(pair[0], (struct sockaddr *)(void *)&to, (socklen_t)size));
}

/* TCP4 TCP6 UDP4 STREAM-PATH DGRAM-PATH STREAM-ABSTRACT DGRAM-ABSTRACT: where the test listens. */
static void set_net(char **arg) {
    struct sockaddr_storage to;
    struct sockaddr_un local;
    socklen_t size;
    int port = atoi(arg[0]);
    TRY("tcp", dial(AF_INET, SOCK_STREAM, 0, port));
    TRY("tcp_flags", dial(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 1) < 0 &&
                             errno != EINPROGRESS && errno != ECONNREFUSED
                         ? -1
                         : 0);
    TRY("?tcp6", dial(AF_INET6, SOCK_STREAM, 0, atoi(arg[1])));
    TRY("?mptcp", dial(AF_INET, SOCK_STREAM, 262, port));
    TRY("udp_connect", dial(AF_INET, SOCK_DGRAM, 0, atoi(arg[2])));
    size = inet_address(&to, AF_INET, atoi(arg[2]));
    TRY("udp_send", throw_at(socket(AF_INET, SOCK_DGRAM, 0), &to, size, 0));
    size = inet_address(&to, AF_INET, port);
    TRY("?fast_open", throw_at(socket(AF_INET, SOCK_STREAM, 0), &to, size, MSG_FASTOPEN));
    size = inet_address(&to, AF_INET, 0);
    TRY("bind", bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)(void *)&to, size));
    TRY("listen", listen(socket(AF_INET, SOCK_STREAM, 0), 1));
    TRY("unix_path", dial_unix(SOCK_STREAM, arg[3]));
    TRY("unix_path_dgram", dial_unix(SOCK_DGRAM, arg[4]));
    TRY("unix_self_root", dial_unix(SOCK_STREAM, at("/proc/self/root", arg[3])));
    TRY("unix_abstract", dial_unix(SOCK_STREAM, arg[5]));
    TRY("unix_abstract_dgram", dial_unix(SOCK_DGRAM, arg[6]));
    size = (socklen_t)unix_address(&local, arg[4]);
    TRY("unix_send", throw_at(socket(AF_UNIX, SOCK_DGRAM, 0), &local, size, 0));
    size = (socklen_t)unix_address(&local, arg[6]);
    TRY("unix_send_abstract", throw_at(socket(AF_UNIX, SOCK_DGRAM, 0), &local, size, 0));
    size = (socklen_t)unix_address(&local, "@sbx-test-bound");
    TRY("unix_bind",
        bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)(void *)&local, size));
    pair_out("dgram", SOCK_DGRAM, arg[4]);
    pair_out("dgram_abstract", SOCK_DGRAM | SOCK_CLOEXEC, arg[6]);
    pair_out("raw", SOCK_RAW, arg[4]); /* the kernel makes datagrams of it */
}

/* Stream and packet pairs may be had; to an address they lead nowhere, policy or not. */
static void set_pair_out(char **arg) {
    pair_out("stream", SOCK_STREAM, arg[0]);
    pair_out("packet", SOCK_SEQPACKET, arg[0]);
}

/* Every family and type there is; the names of those that could be had. */
static void set_families(char **arg) {
    static const int types[] = {1, 2, 3, 4, 5, 6, 10};
    char name[64];
    int family, fd, pair[2];
    size_t i;
    (void)arg;
    for (family = 0; family < 64; family++)
        for (i = 0; i < sizeof types / sizeof types[0]; i++) {
            fd = socket(family, types[i], 0);
            if (fd >= 0) close(fd);
            snprintf(name, sizeof name, "socket_%d_%d", family, types[i]);
            if (fd >= 0) TRY(name, 0);
            if (socketpair(family, types[i], 0, pair) < 0) continue;
            close(pair[0]);
            close(pair[1]);
            snprintf(name, sizeof name, "pair_%d_%d", family, types[i]);
            TRY(name, 0);
        }
    for (i = 0; i < 32; i++) {
        fd = socket(AF_NETLINK, SOCK_RAW, (int)i);
        snprintf(name, sizeof name, "netlink_%d", (int)i);
        if (fd >= 0) TRY(name, 0);
        if (fd >= 0) close(fd);
    }
}

/* A descriptor through a pair, and a byte through what arrives. */
static long pass_fd(int via_in, int via_out) {
    union {
        size_t align;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message;
    struct cmsghdr *head;
    char byte = 'x';
    struct iovec data = {&byte, 1};
    int pipe_fd[2], got;
    memset(&message, 0, sizeof message);
    memset(&control, 0, sizeof control);
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.room;
    message.msg_controllen = sizeof control.room;
    head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    if (pipe(pipe_fd) < 0) return -1;
    memcpy(CMSG_DATA(head), &pipe_fd[0], sizeof(int));
    if (sendmsg(via_in, &message, 0) < 0 || recvmsg(via_out, &message, 0) < 0) return -1;
    memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    return write(pipe_fd[1], "y", 1) == 1 && read(got, &byte, 1) == 1 && byte == 'y' ? 0 : -1;
}

static void set_pairs(char **arg) {
    int pair[2], packets[2], ends[2];
    char byte;
    pid_t pid;
    (void)arg;
    TRY("stream", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    TRY("stream_flags", socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
    TRY("packet", socketpair(AF_UNIX, SOCK_SEQPACKET, 0, packets));
    pid = spawn();
    if (pid == 0) _exit(write(pair[1], "a", 1) == 1 && write(packets[1], "b", 1) == 1 ? 0 : 1);
    TRY("stream_read", read(pair[0], &byte, 1) == 1 && byte == 'a' ? 0 : -1);
    TRY("packet_read", read(packets[0], &byte, 1) == 1 && byte == 'b' ? 0 : -1);
    TRY("pass_fd", pass_fd(pair[0], pair[1]));
    TRY("pipe",
        pipe(ends) < 0 || write(ends[1], "c", 1) != 1 || read(ends[0], &byte, 1) != 1 ? -1 : 0);
    TRY("wait", waitpid(pid, NULL, 0));
}

/* ==== 55 to 58: processes outside ============================================================= */

static long open_proc(int pid, const char *file) {
    char dir[32];
    snprintf(dir, sizeof dir, "/proc/%d", pid);
    return read_path(at(dir, file));
}

/* PID: one of the test's, with the same user. What it could do is done in a way that changes
   nothing there. */
static void set_process(char **arg) {
    int pid = atoi(arg[0]), fd;
    char byte, dir[32];
    struct iovec data = {&byte, 1};
    struct rlimit limit;
    struct sched_param idle;
    siginfo_t info;
    cpu_set_t cpus;
    void *nowhere = NULL;
    memset(&idle, 0, sizeof idle);
    memset(&info, 0, sizeof info);
    info.si_code = SI_QUEUE;
    TRY("kill", kill(pid, SIGCONT));
    TRY("kill_0", kill(pid, 0));
    TRY("kill_group", kill(-pid, 0));
    TRY("kill_all", kill(-1, 0));
    TRY("tgkill", syscall(SYS_tgkill, pid, pid, SIGCONT));
    TRY("tkill", syscall(SYS_tkill, pid, SIGCONT));
    TRY("queue", syscall(SYS_rt_sigqueueinfo, pid, SIGCONT, &info));
    fd = (int)syscall(434, pid, 0);
    TRY("?pidfd_open", fd);
    TRY("?pidfd_signal", syscall(424, fd, SIGCONT, NULL, 0));
    TRY("?pidfd_getfd", syscall(438, fd, 0, 0));
    snprintf(dir, sizeof dir, "/proc/%d", pid);
    TRY("?pidfd_by_proc", syscall(424, open(dir, O_RDONLY | O_DIRECTORY), 0, NULL, 0));
    TRY("?read_memory", syscall(SYS_process_vm_readv, pid, &data, 1, &data, 1, 0));
    TRY("?trace", ptrace(PTRACE_SEIZE, pid, NULL, NULL));
    TRY("?mem", open_proc(pid, "mem") >= 0 || errno == EIO ? 0 : -1);
    TRY("see", list_path(dir));
    TRY("stat", open_proc(pid, "stat"));
    TRY("command", open_proc(pid, "cmdline"));
    TRY("?environment", open_proc(pid, "environ"));
    TRY("?maps", open_proc(pid, "maps"));
    TRY("?root", list_path(at(dir, "root")));
    TRY("?directory", list_path(at(dir, "cwd")));
    TRY("?descriptors", list_path(at(dir, "fd")));
    TRY("?stdin", read_path(at(dir, "fd/0")));
    TRY("?namespace", open(at(dir, "ns/user"), O_RDONLY));
    TRY("get_limit", syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, NULL, &limit));
    TRY("set_limit", syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, &limit, NULL)); /* to what it is */
    TRY("nice", setpriority(PRIO_PROCESS, (id_t)pid, 19));
    TRY("nice_group", setpriority(PRIO_PGRP, (id_t)pid, 19));
    TRY("io_priority", syscall(SYS_ioprio_set, 1, pid, 2 << 13 | 7));
    TRY("get_affinity", sched_getaffinity(pid, sizeof cpus, &cpus));
    TRY("affinity", sched_setaffinity(pid, sizeof cpus, &cpus));
    TRY("scheduler", sched_setscheduler(pid, SCHED_BATCH, &idle));
    TRY("group", getpgid(pid));
    TRY("session", getsid(pid));
    TRY("?move_pages", syscall(SYS_move_pages, pid, 1, &nowhere, NULL, &fd, 0));
    TRY("?compare", syscall(SYS_kcmp, getpid(), pid, 1, 0, 0));
    TRY("?robust_list", syscall(SYS_get_robust_list, pid, &nowhere, &(size_t){0}));
    TRY("own_signals_to", fcntl(open("/dev/null", O_RDONLY), F_SETOWN, pid));
}

/* The first process of the box: it may be seen, but not looked into, and not be harmed. */
static void set_first(char **arg) {
    char byte;
    struct iovec data = {&byte, 1};
    (void)arg;
    TRY("memory", open_proc(1, "mem"));
    TRY("environment", open_proc(1, "environ"));
    TRY("maps", open_proc(1, "maps"));
    TRY("root", list_path("/proc/1/root"));
    TRY("root_link", readlink("/proc/1/root", &byte, 1));
    TRY("cwd", list_path("/proc/1/cwd"));
    TRY("stdin", read_path("/proc/1/fd/0"));
    TRY("stdin_write", open_wr("/proc/1/fd/0", O_WRONLY | O_NONBLOCK));
    TRY("namespace", open("/proc/1/ns/mnt", O_RDONLY));
    TRY("trace", ptrace(PTRACE_SEIZE, 1, NULL, NULL));
    TRY("read_memory", syscall(SYS_process_vm_readv, 1, &data, 1, &data, 1, 0));
    TRY("getfd", syscall(438, syscall(434, 1, 0), 0, 0));
    TRY("nice", setpriority(PRIO_PROCESS, 1, 19));
    TRY("scheduler", sched_setscheduler(1, SCHED_BATCH, &(struct sched_param){0}));
    kill(1, SIGKILL); /* goes through, and is ignored: the box lives on */
    kill(1, SIGTERM);
    kill(1, SIGSTOP);
    errno = ESRCH;
    TRY("killed", read_path("/proc/1/stat") >= 0 ? -1 : 0);
}

/* ==== 59: privileges ========================================================================== */

/* What this process may do, in one line: for a program that is run by others. */
static void set_rights(char **arg) {
    static const char *const labels[] = {
        "Uid:", "Gid:", "CapPrm:", "CapEff:", "CapInh:", "CapAmb:", "NoNewPrivs:", NULL};
    (void)arg;
    printf("euid %ld egid %ld\n", (long)geteuid(), (long)getegid());
    tell_status(labels);
}

static void set_become(char **arg) {
    uid_t other = getuid() == 4242 ? 4243 : 4242;
    (void)arg;
    TRY("?uid", setuid(other));
    TRY("?gid", setgid(4242));
    TRY("?groups", syscall(SYS_setgroups, 0, NULL));
    TRY("?root", getuid() == 0 ? -1 : setuid(0));
    TRY("?new_privileges", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0)); /* cannot be taken back */
}

/* ==== 60: namespaces and mounts =============================================================== */

static long raw_clone(unsigned long flags) {
    long pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0) _exit(0);
    if (pid > 0) waitpid((pid_t)pid, NULL, 0);
    return pid;
}

static int end_at_once(void *unused) {
    (void)unused;
    return 0;
}

/* A filter that allows all, but could ask somebody else: SECCOMP_FILTER_FLAG_NEW_LISTENER. */
static long filter_that_asks(void) {
    struct {
        unsigned short code;
        unsigned char yes, no;
        unsigned value;
    } allow = {6, 0, 0, 0x7FFF0000u};
    struct {
        unsigned short count;
        void *filter;
    } list;
    list.count = 1;
    list.filter = &allow;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return syscall(SYS_seccomp, 1L, 8L, &list);
}

/* One that shares the memory needs a stack of its own, so the C library has to start it. */
static long clone_in_same_memory(void) {
    static char stack[65536];
    pid_t pid = clone(end_at_once, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    if (pid > 0) waitpid(pid, NULL, 0);
    return pid;
}

static long raw_clone3(unsigned long long flags) {
    unsigned long long arg[11] = {0};
    long pid;
    arg[0] = flags;
    arg[4] = SIGCHLD;
    pid = syscall(435, arg, sizeof arg);
    if (pid == 0) _exit(0);
    if (pid > 0) waitpid((pid_t)pid, NULL, 0);
    return pid;
}

static long in_child(int (*function)(const char *arg), const char *arg) {
    pid_t pid = spawn();
    int status = 0;
    if (pid == 0) _exit(function(arg) == 0 ? 0 : errno);
    waitpid(pid, &status, 0);
    errno = WEXITSTATUS(status);
    return errno ? -1 : 0;
}

static int chroot_child(const char *dir) { return chroot(dir); }

static int pivot_child(const char *dir) {
    return syscall(SYS_pivot_root, dir, dir) == 0 || errno == EINVAL ? 0 : -1;
}

static int unshare_child(const char *flag) {
    unsigned long bits = strtoul(flag, NULL, 16);
    return syscall(SYS_unshare, bits) == 0 || syscall(SYS_unshare, bits | CLONE_NEWUSER) == 0 ? 0
                                                                                              : -1;
}

static void set_namespaces(char **arg) {
    static const struct {
        const char *name, *hex;
    } spaces[] = {{"user", "10000000"},  {"mount", "20000"}, {"pid", "20000000"},
                  {"net", "40000000"},   {"ipc", "8000000"}, {"uts", "4000000"},
                  {"cgroup", "2000000"}, {"time", "80"}}; /* CLONE_NEW... */
    char name[64];
    size_t i;
    (void)arg;
    for (i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        unsigned long flag = strtoul(spaces[i].hex, NULL, 16);
        if (flag != 0x80) { /* that is part of the signal's number here */
            snprintf(name, sizeof name, "?clone_%s", spaces[i].name);
            TRY(name, raw_clone(flag));
            snprintf(name, sizeof name, "?clone_both_%s", spaces[i].name);
            TRY(name, raw_clone(flag | CLONE_NEWUSER));
        }
        snprintf(name, sizeof name, "?clone3_%s", spaces[i].name);
        TRY(name, raw_clone3(flag | CLONE_NEWUSER));
        snprintf(name, sizeof name, "?unshare_%s", spaces[i].name);
        TRY(name, in_child(unshare_child, spaces[i].hex));
    }
    TRY("?clone_parent", raw_clone(CLONE_PARENT));
    TRY("?setns_self", setns(open("/proc/self/ns/mnt", O_RDONLY), 0));
    TRY("?setns_user",
        setns(open("/proc/self/ns/user", O_RDONLY), 0) == 0 || errno == EINVAL ? 0 : -1);
    TRY("?setns_pidfd", setns((int)syscall(434, getpid(), 0), CLONE_NEWNS));
    TRY("?listener", filter_that_asks());
}

/* DIR: only ever run where the box has mounts of its own, which vanish with it. */
static void set_mounts(char **arg) {
    const char *dir = arg[0];
    TRY("?tmpfs", mount("none", dir, "tmpfs", 0, NULL));
    TRY("?bind", mount("/usr", dir, NULL, MS_BIND, NULL));
    TRY("?remount", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
    TRY("?remount_proc", mount(NULL, "/proc", NULL, MS_REMOUNT | MS_BIND, NULL));
    TRY("?propagation", mount(NULL, "/", NULL, MS_PRIVATE, NULL));
    TRY("?proc", mount("proc", dir, "proc", 0, NULL));
    TRY("?overlay", mount("overlay", dir, "overlay", 0, "lowerdir=/usr:/opt"));
    TRY("?umount", umount2(dir, MNT_DETACH));
    TRY("?umount_proc", umount2("/proc", MNT_DETACH));
    TRY("?fsopen", syscall(430, "tmpfs", 0));
    TRY("?open_tree", syscall(428, AT_FDCWD, dir, 1));
    TRY("?fspick", syscall(433, AT_FDCWD, "/", 0));
    TRY("?chroot", in_child(chroot_child, dir)); /* afterwards nothing is to be found */
    TRY("?pivot", in_child(pivot_child, dir));
}

/* ==== 61: the kernel: every call of the filter, with arguments that lead nowhere ============== */

#define BAD ((long)-1) /* a descriptor, a pointer, a size, a set of flags that does not exist */
#define NOBODY 0x7FFFFFFFL

static const struct call {
    const char *name;
    long number, arg[6];
} calls[] = {
    /* to the program they do not exist */
    {"io_uring_setup", 425, {0, 0, 0, 0, 0, 0}},
    {"io_uring_enter", 426, {BAD, 0, 0, 0, 0, 0}},
    {"io_uring_register", 427, {BAD, 0, 0, 0, 0, 0}},
    {"clone3", 435, {0, 0, 0, 0, 0, 0}},
    {"memfd_create", SYS_memfd_create, {0, 0, 0, 0, 0, 0}},
    {"memfd_secret", 447, {BAD, 0, 0, 0, 0, 0}},
    {"openat2", 437, {BAD, 0, 0, 0, 0, 0}},
    {"inotify_init1", SYS_inotify_init1, {BAD, 0, 0, 0, 0, 0}},
#ifdef SYS_inotify_init
    {"inotify_init", SYS_inotify_init, {0, 0, 0, 0, 0, 0}},
#endif
    /* the rest is refused; first the modes that lend the owner's rights */
    {"fchmod", SYS_fchmod, {BAD, 04000, 0, 0, 0, 0}},
    {"fchmodat", SYS_fchmodat, {BAD, 0, 02000, 0, 0, 0}},
    {"fchmodat2", 452, {BAD, 0, 04000, BAD, 0, 0}},
    {"mknodat", SYS_mknodat, {BAD, 0, S_IFREG | 04000, 0, 0, 0}},
    {"openat", SYS_openat, {BAD, 0, O_CREAT, 06000, 0, 0}},
#ifdef SYS_chmod
    {"chmod", SYS_chmod, {0, 04000, 0, 0, 0, 0}},
    {"mknod", SYS_mknod, {0, S_IFREG | 02000, 0, 0, 0, 0}},
    {"creat", SYS_creat, {0, 04000, 0, 0, 0, 0}},
    {"open", SYS_open, {0, O_CREAT, 02000, 0, 0, 0}},
#endif
    {"ptrace", SYS_ptrace, {2, NOBODY, 0, 0, 0, 0}},
    {"process_vm_readv", SYS_process_vm_readv, {NOBODY, 0, 0, 0, 0, BAD}},
    {"process_vm_writev", SYS_process_vm_writev, {NOBODY, 0, 0, 0, 0, BAD}},
    {"kcmp", SYS_kcmp, {NOBODY, NOBODY, 0, 0, 0, 0}},
    {"pidfd_getfd", 438, {BAD, 0, BAD, 0, 0, 0}},
    {"process_madvise", 440, {BAD, 0, 0, 0, BAD, 0}},
    {"userfaultfd", SYS_userfaultfd, {BAD, 0, 0, 0, 0, 0}},
    {"name_to_handle_at", SYS_name_to_handle_at, {BAD, 0, 0, 0, BAD, 0}},
    {"open_by_handle_at", SYS_open_by_handle_at, {BAD, 0, 0, 0, 0, 0}},
    {"fanotify_init", SYS_fanotify_init, {BAD, BAD, 0, 0, 0, 0}},
    {"unshare", SYS_unshare, {0, 0, 0, 0, 0, 0}},
    {"setns", SYS_setns, {BAD, 0, 0, 0, 0, 0}},
    {"mount", SYS_mount, {0, 0, 0, 0, 0, 0}},
    {"umount2", SYS_umount2, {0, BAD, 0, 0, 0, 0}},
    {"pivot_root", SYS_pivot_root, {0, 0, 0, 0, 0, 0}},
    {"chroot", SYS_chroot, {0, 0, 0, 0, 0, 0}},
    {"open_tree", 428, {BAD, 0, BAD, 0, 0, 0}},
    {"move_mount", 429, {BAD, 0, BAD, 0, BAD, 0}},
    {"fsopen", 430, {0, BAD, 0, 0, 0, 0}},
    {"fsconfig", 431, {BAD, BAD, 0, 0, 0, 0}},
    {"fsmount", 432, {BAD, BAD, BAD, 0, 0, 0}},
    {"fspick", 433, {BAD, 0, BAD, 0, 0, 0}},
    {"mount_setattr", 442, {BAD, 0, BAD, 0, 0, 0}},
    {"open_tree_attr", 467, {BAD, 0, BAD, 0, 0, 0}},
    {"clone",
     SYS_clone,
     {CLONE_NEWUSER | CLONE_FS, 0, 0, 0, 0, 0}}, /* the two exclude each other */
    {"bpf", SYS_bpf, {BAD, 0, 0, 0, 0, 0}},
    {"perf_event_open", SYS_perf_event_open, {0, 0, 0, 0, BAD, 0}},
    {"add_key", SYS_add_key, {0, 0, 0, 0, 0, 0}},
    {"request_key", SYS_request_key, {0, 0, 0, 0, 0, 0}},
    {"keyctl", SYS_keyctl, {0x7FFF, 0, 0, 0, 0, 0}},
    {"personality", SYS_personality, {0x0040000, 0, 0, 0, 0, 0}},
    {"init_module", SYS_init_module, {0, 0, 0, 0, 0, 0}},
    {"finit_module", SYS_finit_module, {BAD, 0, BAD, 0, 0, 0}},
    {"delete_module", SYS_delete_module, {0, 0, 0, 0, 0, 0}},
    {"kexec_load", SYS_kexec_load, {0, 0, 0, BAD, 0, 0}},
    {"reboot", SYS_reboot, {0, 0, 0, 0, 0, 0}}, /* without the magic numbers */
    {"swapon", SYS_swapon, {BAD, BAD, 0, 0, 0, 0}},
    {"swapoff", SYS_swapoff, {BAD, 0, 0, 0, 0, 0}},
    {"acct", SYS_acct, {BAD, 0, 0, 0, 0, 0}},
    {"quotactl", SYS_quotactl, {BAD, 0, 0, 0, 0, 0}},
    {"quotactl_fd", 443, {BAD, BAD, 0, 0, 0, 0}},
    {"settimeofday", SYS_settimeofday, {BAD, BAD, 0, 0, 0, 0}},
    {"clock_settime", SYS_clock_settime, {NOBODY, 0, 0, 0, 0, 0}},
    {"clock_adjtime", SYS_clock_adjtime, {NOBODY, BAD, 0, 0, 0, 0}},
    {"adjtimex", SYS_adjtimex, {BAD, 0, 0, 0, 0, 0}},
    {"sethostname", SYS_sethostname, {0, BAD, 0, 0, 0, 0}},
    {"setdomainname", SYS_setdomainname, {0, BAD, 0, 0, 0, 0}},
    {"syslog", SYS_syslog, {0x7FFF, 0, 0, 0, 0, 0}},
    {"vhangup", SYS_vhangup, {0, 0, 0, 0, 0, 0}}, /* it has no terminal to hang up */
    {"ioctl", SYS_ioctl, {BAD, 0x5412, 0, 0, 0, 0}}, /* TIOCSTI */
    {"ioctl", SYS_ioctl, {BAD, 0x541C, 0, 0, 0, 0}}, /* TIOCLINUX */
    {"ioctl", SYS_ioctl, {BAD, (long)0xFFFFFFFF00005412ULL, 0, 0, 0, 0}}, /* the same */
    {"mq_open", SYS_mq_open, {0, 0, 0, 0, 0, 0}},
    {"mq_unlink", SYS_mq_unlink, {0, 0, 0, 0, 0, 0}},
    {"setpriority", SYS_setpriority, {PRIO_USER, 4242424, 0, 0, 0, 0}}, /* nobody has that id */
    {"ioprio_set", SYS_ioprio_set, {3, 4242424, 0, 0, 0, 0}},
#ifdef SYS_shmget
    {"shmget", SYS_shmget, {IPC_PRIVATE, 0, 0, 0, 0, 0}},
    {"shmat", SYS_shmat, {BAD, 0, 0, 0, 0, 0}},
    {"shmctl", SYS_shmctl, {BAD, 0x7FFF, 0, 0, 0, 0}},
    {"msgget", SYS_msgget, {0x5B8D80, 0, 0, 0, 0, 0}},
    {"msgctl", SYS_msgctl, {BAD, 0x7FFF, 0, 0, 0, 0}},
    {"msgsnd", SYS_msgsnd, {BAD, 0, 0, 0, 0, 0}},
    {"msgrcv", SYS_msgrcv, {BAD, 0, 0, 0, 0, 0}},
    {"semget", SYS_semget, {0x5B8D80, 0, 0, 0, 0, 0}},
    {"semctl", SYS_semctl, {BAD, 0, 0x7FFF, 0, 0, 0}},
#ifdef SYS_semop
    {"semop", SYS_semop, {BAD, 0, 0, 0, 0, 0}},
#endif
#ifdef SYS_semtimedop
    {"semtimedop", SYS_semtimedop, {BAD, 0, 0, 0, 0, 0}},
#endif
#endif
#ifdef SYS_kexec_file_load
    {"kexec_file_load", SYS_kexec_file_load, {BAD, BAD, 0, 0, BAD, 0}},
#endif
#ifdef SYS_iopl
    {"iopl", SYS_iopl, {NOBODY, 0, 0, 0, 0, 0}},
    {"ioperm", SYS_ioperm, {BAD, BAD, 0, 0, 0, 0}},
    {"modify_ldt", SYS_modify_ldt, {NOBODY, 0, 0, 0, 0, 0}},
    /* mostly gone from today's kernels */
    {"uselib", SYS_uselib, {0, 0, 0, 0, 0, 0}},
    {"ustat", SYS_ustat, {0, 0, 0, 0, 0, 0}},
    {"sysfs", SYS_sysfs, {NOBODY, 0, 0, 0, 0, 0}},
    {"_sysctl", SYS__sysctl, {0, 0, 0, 0, 0, 0}},
    {"nfsservctl", SYS_nfsservctl, {0, 0, 0, 0, 0, 0}},
    {"create_module", SYS_create_module, {0, 0, 0, 0, 0, 0}},
    {"lookup_dcookie", SYS_lookup_dcookie, {0, 0, 0, 0, 0, 0}},
#endif
    /* network: all of it */
    {"socket", SYS_socket, {AF_INET, SOCK_STREAM, 0, 0, 0, 0}},
    {"connect", SYS_connect, {BAD, 0, 0, 0, 0, 0}},
    {"bind", SYS_bind, {BAD, 0, 0, 0, 0, 0}},
    {"listen", SYS_listen, {BAD, 0, 0, 0, 0, 0}},
    {"socketpair", SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0, 0, 0, 0}},
    {"socketpair", SYS_socketpair, {AF_INET, SOCK_STREAM, 0, 0, 0, 0}},
    {NULL, 0, {0, 0, 0, 0, 0, 0}},
};

static long make_call(const struct call *c) {
    long result =
        syscall(c->number, c->arg[0], c->arg[1], c->arg[2], c->arg[3], c->arg[4], c->arg[5]);
    if (c->number == SYS_clone && result == 0) _exit(0);
    return result;
}

/* [INDEX]: one of them, or all. */
static void set_kernel(char **arg) {
    const struct call *c;
    for (c = calls; c->name; c++)
        if (!arg[0] || atoi(arg[0]) == (int)(c - calls)) TRY(c->name, make_call(c));
}

/* Their names and numbers, one a line, for the test. */
static void set_calls(char **arg) {
    const struct call *c;
    (void)arg;
    for (c = calls; c->name; c++) printf("%s %ld\n", c->name, c->number);
}

/* ==== 62: other system-call tables ============================================================ */

static void set_foreign(char **arg) {
    (void)arg;
#ifdef __x86_64__
    {
        long result;
        __asm__ volatile("int $0x80"
                         : "=a"(result)
                         : "a"(20L)
                         : "memory", "r8", "r9", "r10", "r11");
        errno = (int)-result;
        tell_try("?i386_getpid", result); /* 20 is getpid there, and writev here */
        __asm__ volatile("int $0x80"
                         : "=a"(result)
                         : "a"(359L), "b"(AF_INET), "c"(SOCK_STREAM), "d"(0L)
                         : "memory", "r8", "r9", "r10", "r11");
        errno = (int)-result;
        tell_try("?i386_socket", result);
    }
    TRY("?x32_getpid", syscall(0x40000000L | SYS_getpid));
    TRY("?x32_socket", syscall(0x40000000L | SYS_socket, AF_INET, SOCK_STREAM, 0));
#endif
    TRY("?negative", syscall(-1L));
}

/* ==== 63, 64: memory and messages that outlive ================================================ */

/* MB: shared pages that are in no process's count, because nobody has them mapped in. */
static void set_hidden_memory(char **arg) {
    size_t mb = (size_t)atoi(arg[0]), i, held = 0, size = mb << 20;
    char *block = (char *)map(size > (256u << 20) ? 0 : size, MAP_SHARED);
    if (!block) _exit(96);
    for (i = 0; i < mb; i++) {
        memset(block + (i << 20), 1, 1 << 20);
        madvise(block + (i << 20), 1 << 20, MADV_DONTNEED);
        sleep_ms(1);
    }
    for (i = 0; i < mb; i++) held += block[i << 20] == 1;
    printf("held %d\n", (int)held);
}

static void set_memory_objects(char **arg) {
    (void)arg;
    TRY("memfd", syscall(SYS_memfd_create, "x", 0));
    TRY("?memfd_secret", syscall(447, 0));
    TRY("shm_file", open_wr(at("/dev/shm", "sbx-test-left"), O_RDWR | O_CREAT));
    if (access("/dev/shm/sbx-test-left", F_OK) == 0) unlink("/dev/shm/sbx-test-left");
#ifdef SYS_shmget
    {
        int id = shmget(IPC_PRIVATE, 4096, 0600);
        TRY("shm", id);
        if (id >= 0) shmctl(id, IPC_RMID, NULL);
        id = msgget(IPC_PRIVATE, 0600);
        TRY("queue", id);
        if (id >= 0) msgctl(id, IPC_RMID, NULL);
        id = semget(IPC_PRIVATE, 1, 0600);
        TRY("semaphore", id);
        if (id >= 0) semctl(id, 0, IPC_RMID);
    }
    {
        long id = syscall(SYS_mq_open, "sbx-test-left", O_RDWR | O_CREAT, 0600, NULL);
        TRY("?posix_queue", id);
        if (id >= 0) syscall(SYS_mq_unlink, "sbx-test-left");
    }
    TRY("?queue_file", list_path("/dev/mqueue"));
#endif
}

/* SHM QUEUE SEMAPHORE: ids of objects of the test; they need no key and no opening. */
static void set_ipc(char **arg) {
#ifdef SYS_shmget
    int shm = atoi(arg[0]), queue = atoi(arg[1]), sem = atoi(arg[2]);
    struct {
        long type;
        char text[8];
    } message = {1, "x"};
    struct sembuf up = {0, 1, IPC_NOWAIT};
    const struct timespec soon = {0, 0};
    struct msqid_ds state;
    void *block = shmat(shm, NULL, SHM_RDONLY);
    TRY("shm_attach", block == (void *)-1 ? -1 : 0);
    TRY("queue_send", msgsnd(queue, &message, 1, IPC_NOWAIT));
    TRY("queue_receive", msgrcv(queue, &message, sizeof message.text, 0, IPC_NOWAIT));
    TRY("queue_state", msgctl(queue, IPC_STAT, &state));
    TRY("semaphore_value", semctl(sem, 0, GETVAL));
    TRY("semaphore", semop(sem, &up, 1));
    TRY("semaphore_timed", semtimedop(sem, &up, 1, &soon));
#else
    (void)arg;
#endif
}

/* ==== What has to work ======================================================================== */

static void set_devices(char **arg) {
    char text[64];
    int null = open("/dev/null", O_RDWR), zeros = open("/dev/zero", O_RDWR);
    int full = open("/dev/full", O_WRONLY);
    (void)arg;
    TRY("null_write", write(null, "x", 1));
    TRY("null_read", read(null, text, 1) == 0 ? 0 : -1);
    TRY("null_truncate", open_wr("/dev/null", O_WRONLY | O_TRUNC | O_CREAT));
    TRY("zero", read(zeros, text, sizeof text) == sizeof text && text[7] == 0 ? 0 : -1);
    TRY("zero_map",
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, zeros, 0) == MAP_FAILED ? -1 : 0);
    TRY("full", write(full, "x", 1) < 0 && errno == ENOSPC ? 0 : -1);
    TRY("urandom", read_path("/dev/urandom") == 1 ? 0 : -1);
    TRY("random", open("/dev/random", O_RDONLY));
    TRY("proc_self", read_path("/proc/self/status"));
    TRY("passwd", read_path("/etc/passwd"));
    TRY("programs", list_path("/usr/bin"));
}

static void *touch_flag(void *flag) {
    *(int *)flag = 1;
    return NULL;
}

static void set_spawn(char **arg) {
    pid_t pid;
    (void)arg;
    pid = fork();
    if (pid == 0) _exit(0);
    TRY("fork", pid);
    pid = vfork();
    if (pid == 0) _exit(0);
    TRY("vfork", pid);
#ifdef SYS_fork /* the C library has other ways */
    pid = (pid_t)syscall(SYS_fork);
    if (pid == 0) _exit(0);
    TRY("raw_fork", pid);
#endif
    TRY("clone", raw_clone(0));
    TRY("clone_vm", clone_in_same_memory());
    TRY("?clone3", raw_clone3(0));
    TRY("system", system("exit 0") == 0 ? 0 : -1);
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
}

static void set_thread(char **arg) {
    pthread_t thread;
    int flag = 0;
    (void)arg;
    TRY("thread", pthread_create(&thread, NULL, touch_flag, &flag) ? -1 : 0);
    TRY("join", pthread_join(thread, NULL) || !flag ? -1 : 0);
}

/* A filter of its own cannot allow what the box's forbids, and cannot hide from it either. */
static void set_own_filter(char **arg) {
    struct {
        unsigned short code;
        unsigned char yes, no;
        unsigned k;
    } allow[] = {{0x06, 0, 0, 0x7FFF0000u}};
    struct {
        unsigned short size;
        void *at;
    } filter = {1, allow};
    (void)arg;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter)) _exit(97);
    TRY("socket", socket(AF_INET, SOCK_STREAM, 0));
}

/* FILE: a descendant asks for something forbidden and is gone before anybody has heard of it. Then
   the file is made, and later, when somebody listens, this one asks. */
static void set_flicker(char **arg) {
    volatile int *asking = (volatile int *)map(4096, MAP_SHARED);
    pid_t pid;
    if (!asking) _exit(96);
    sleep_ms(200); /* the host is still busy with the start */
    pid = spawn();
    if (pid == 0) {
        *asking = 1;
        socket(AF_INET, SOCK_STREAM, 0);
        _exit(0);
    }
    while (!*asking) sleep_ms(1);
    sleep_ms(50);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    TRY("file", open(arg[0], O_WRONLY | O_CREAT, 0600));
    sleep_ms(300);
    TRY("socket", socket(AF_INET, SOCK_STREAM, 0));
}

static void nothing_happens(int number) { (void)number; }

/* A signal comes after so many microseconds, and takes back whatever is being asked then. */
static void signal_soon(long us) {
    struct sigaction action;
    struct sigevent event;
    struct itimerspec soon;
    timer_t timer;
    memset(&action, 0, sizeof action);
    action.sa_handler = nothing_happens;
    sigaction(SIGALRM, &action, NULL);
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGALRM;
    memset(&soon, 0, sizeof soon);
    soon.it_value.tv_nsec = us * 1000L;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, NULL);
}

/* MICROSECONDS HOW: a signal comes so soon after the question that nobody may have heard it; then
   all is over. By the program itself, or (HOW = "child") by a child. */
static void set_dodge(char **arg) {
    if (strcmp(arg[1], "child") == 0) {
        pid_t pid = fork();
        if (pid > 0) {
            waitpid(pid, NULL, 0);
            return;
        }
    }
    signal_soon(atoi(arg[0]));
    TRY("socket", socket(AF_INET, SOCK_STREAM, 0));
    _exit(0);
}

/* Who listens for forbidden calls: nobody's child, made just after this process. 0 = none */
static int find_ear(void) {
    struct dirent *entry;
    DIR *dir = opendir("/proc");
    int ear = 0;
    while (dir && (entry = readdir(dir)) != NULL) {
        char text[256] = "";
        int pid = atoi(entry->d_name);
        FILE *stat = pid > (int)getpid() ? fopen(at("/proc", at(entry->d_name, "stat")), "r") : NULL;
        if (!stat) continue;
        if (fgets(text, sizeof text, stat) && strstr(text, "sbx-ear") && (!ear || pid < ear))
            ear = pid;
        fclose(stat);
    }
    if (dir) closedir(dir);
    return ear;
}

/* NUMBER: that signal to who listens; then it asks, takes the question back, and is gone. */
static void set_deafen(char **arg) {
    int ear = find_ear();
    if (!ear) return;
    kill(ear, atoi(arg[0]));
    sleep_ms(20);
    signal_soon(20000);
    TRY("socket", socket(AF_INET, SOCK_STREAM, 0));
    _exit(0);
}

/* The libc looks for the daemon that caches such answers, before it reads the file. */
static void set_names(char **arg) {
    (void)arg;
    TRY("user", getpwuid(0) ? 0 : -1);
    TRY("group", getgrgid(0) ? 0 : -1);
}

/* DIR: locks on a file that is open for reading only. */
static void set_lock(char **arg) {
    int fd = open(at(arg[0], "secret"), O_RDONLY);
    struct flock range;
    memset(&range, 0, sizeof range);
    range.l_type = F_RDLCK;
    TRY("flock", flock(fd, LOCK_EX | LOCK_NB));
    TRY("fcntl", fcntl(fd, F_SETLK, &range));
}

/* A socket of a pair, under a name of its own. */
static void set_name(char **arg) {
    struct sockaddr_un name;
    int pair[2];
    memset(&name, 0, sizeof name);
    name.sun_family = AF_UNIX;
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "sbx-test-%s", arg[0]);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) _exit(96);
    TRY("take", bind(pair[0], (struct sockaddr *)&name, sizeof name));
    TRY("listen", listen(pair[0], 1));
    TRY("connect", connect(pair[1], (struct sockaddr *)&name, sizeof name));
}

/* What could be learned of, or taken from, who listens. */
static void set_eavesdrop(char **arg) {
    static const char *const names[] = {"fd/0", "fd/1", "fd/2", "environ", "mem", "maps", "cwd/usr",
                                        "root/usr"};
    char number[16];
    int ear = find_ear();
    size_t i;
    (void)arg;
    snprintf(number, sizeof number, "%d", ear);
    if (!ear) TRY("nobody_found", 0);
    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        TRY(names[i], open(at(at("/proc", number), names[i]), O_RDONLY | O_NONBLOCK));
    TRY("write", open(at(at("/proc", number), "fd/1"), O_WRONLY | O_NONBLOCK));
}

/* Numbers that no kernel has had yet, and the gap. */
static void set_unknown(char **arg) {
    static const long numbers[] = {337, 400, 423, 470, 471, 500, 600, 1000, 0xFFFF};
    char name[32];
    size_t i;
    (void)arg;
    for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        snprintf(name, sizeof name, "?call_%ld", numbers[i]);
        TRY(name, syscall(numbers[i], 0, 0, 0, 0, 0, 0));
    }
}

/* One call of another table: NAME is i386 or x32. */
static void set_foreign_one(char **arg) {
#ifdef __x86_64__
    long result = -1;
    if (strcmp(arg[0], "x32") == 0) result = syscall(0x40000000L | SYS_getpid);
    else
        __asm__ volatile("int $0x80"
                         : "=a"(result)
                         : "a"(20L)
                         : "memory", "r8", "r9", "r10", "r11");
    tell_try("?foreign", result);
#else
    (void)arg;
#endif
}

static void set_nice(char **arg) {
    struct sched_param none;
    (void)arg;
    memset(&none, 0, sizeof none);
    TRY("nice", setpriority(PRIO_PROCESS, 0, 19));
    TRY("batch", sched_setscheduler(0, 3, &none)); /* SCHED_BATCH */
    TRY("idle", sched_setscheduler(0, 5, &none));  /* SCHED_IDLE */
    TRY("io_idle", syscall(SYS_ioprio_set, 1, 0, 3 << 13));
}

/* Two children, and then whoever else there is to be waited for. */
static void set_wait(char **arg) {
    int i;
    (void)arg;
    for (i = 0; i < 2; i++)
        if (fork() == 0) _exit(0);
    for (i = 0; wait(NULL) > 0; i++) {
    }
    printf("%d waited for\n", i);
}

/* What stands in a file's inode, changed through a descriptor that can only read. */
static void set_inode(char **arg) {
    int fd = open(arg[0], O_RDONLY | O_CLOEXEC), number = 7;
    TRY("setversion", ioctl(fd, 0x40086604ul, &number)); /* EXT4_IOC_SETVERSION */
    TRY("verity", ioctl(fd, 0x40806685ul, &number));     /* FS_IOC_ENABLE_VERITY */
    close(fd);
}

static void set_contexts(char **arg) {
    unsigned long context = 0;
    (void)arg;
    TRY("io_setup", syscall(SYS_io_setup, 1, &context));
}

/* NAME: where descriptor 3, a socket of the host's, may lead to. */
static void set_reach(char **arg) {
    struct sockaddr_un to;
    int size = unix_address(&to, arg[0]);
    TRY("reach", connect(3, (struct sockaddr *)(void *)&to, (socklen_t)size));
}

static const struct policy_set {
    const char *name;
    int args;
    void (*run)(char **arg);
} policy_sets[] = {
    {"read", 3, set_read},
    {"metadata", 1, set_metadata},
    {"notify", 1, set_notify},
    {"write", 2, set_write},
    {"own", 1, set_own},
    {"nodes", 1, set_nodes},
    {"set_id", 1, set_set_id},
    {"exec", 3, set_exec},
    {"net", 7, set_net},
    {"pair_out", 1, set_pair_out},
    {"families", 0, set_families},
    {"pairs", 0, set_pairs},
    {"process", 1, set_process},
    {"first", 0, set_first},
    {"rights", 0, set_rights},
    {"become", 0, set_become},
    {"namespaces", 0, set_namespaces},
    {"mounts", 1, set_mounts},
    {"kernel", 0, set_kernel},
    {"calls", 0, set_calls},
    {"foreign", 0, set_foreign},
    {"hidden_memory", 1, set_hidden_memory},
    {"memory_objects", 0, set_memory_objects},
    {"ipc", 3, set_ipc},
    {"devices", 0, set_devices},
    {"spawn", 0, set_spawn},
    {"thread", 0, set_thread},
    {"own_filter", 0, set_own_filter},
    {"flicker", 1, set_flicker},
    {"dodge", 2, set_dodge},
    {"deafen", 1, set_deafen},
    {"eavesdrop", 0, set_eavesdrop},
    {"names", 0, set_names},
    {"lock", 1, set_lock},
    {"name", 1, set_name},
    {"unknown", 0, set_unknown},
    {"foreign_one", 1, set_foreign_one},
    {"nice", 0, set_nice},
    {"wait", 0, set_wait},
    {"inode", 1, set_inode},
    {"contexts", 0, set_contexts},
    {"reach", 1, set_reach},
    {NULL, 0, NULL},
};

static int mode_policy(int argc, char **argv) {
    const struct policy_set *set;
    for (set = policy_sets; argc > 0 && set->name; set++) {
        if (strcmp(set->name, argv[0]) != 0 || argc - 1 < set->args) continue;
        set->run(argv + 1);
        printf("end\n");
        return 0;
    }
    fprintf(stderr, "no such set\n");
    return 99;
}

#else

static int mode_policy(int argc, char **argv) {
    (void)argc, (void)argv;
    fprintf(stderr, "policies are for Linux\n");
    return 99;
}

#endif
