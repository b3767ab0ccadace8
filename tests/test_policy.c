/* Policies: attacks 48 to 65, what has to work under them, and how they fail closed.
 *
 * The attacks themselves are sets of attempts in policy_child.c. Most are run twice: without a
 * policy, where every attempt has to work (or it would prove nothing), and under one, where none
 * may. After each the host, its files and its mounts are as they were. */
#include "test.h"

#ifdef __linux__

#include <dirent.h>
#include <grp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

/* ==== Can it be tried here? =================================================================== */

static int put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC), ok = fd >= 0 && write(fd, text, strlen(text)) > 0;
    if (fd >= 0) close(fd);
    return ok;
}

/* A user namespace around this process, with its own ids in it. */
static int enter_user_namespace(int more) {
    unsigned uid = (unsigned)geteuid(), gid = (unsigned)getegid();
    if (unshare(CLONE_NEWUSER | more) < 0) return 0;
    put("/proc/self/setgroups", "deny");
    return put("/proc/self/uid_map", test_text("%u %u 1", uid, uid)) &&
           put("/proc/self/gid_map", test_text("%u %u 1", gid, gid));
}

/* All that a policy is made of, tried without sbx.h. */
static const char *kernel_has_it_all(void *arg) {
    pid_t pid;
    int status = 1;
    (void)arg;
    if (syscall(444, NULL, 0, 1) < 1) return "no Landlock";
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0) return "no filters";
    if (geteuid() != 0 && !enter_user_namespace(CLONE_NEWNS | CLONE_NEWPID)) return "no namespaces";
    if (geteuid() == 0 && unshare(CLONE_NEWNS | CLONE_NEWPID) < 0) return "no namespaces";
    pid = fork();
    if (pid == 0)
        _exit(mount("none", "/", "none", MS_REC | MS_PRIVATE, "") < 0 ||
              mount("proc", "/proc", "proc", 0, "") < 0);
    waitpid(pid, &status, 0);
    return status == 0 ? "" : "no mounts";
}

/* "" = it can, or it should. Where it does not although the kernel could, the tests fail. */
static const char *no_policy_here(void) {
    static char why[256];
    static int known;
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    if (known) return why;
    known = 1;
    config.command = "exit 0";
    config.policy = &policy;
    if (sbx_run(&config, &result) == SBX_NOT_STARTED && *test_in_copy(kernel_has_it_all, NULL))
        snprintf(why, sizeof why, "%s", result.message);
    sbx_free(&result);
    return why;
}

#define NEEDS_POLICY()                                                                             \
    do {                                                                                           \
        if (!test_has_policy()) UTEST_SKIP("built without policies");                              \
        if (*no_policy_here()) UTEST_SKIP(no_policy_here());                                       \
    } while (0)

/* On other processors the host itself listens for forbidden calls, as well as it can. */
#if defined(__x86_64__) || defined(__aarch64__)
#define NEEDS_EAR() NEEDS_POLICY()
#else
#define NEEDS_EAR() UTEST_SKIP("nobody listens in the box here")
#endif

#define NEEDS_GROUP_POLICY()                                                                       \
    do {                                                                                           \
        if (!test_has_policy()) UTEST_SKIP("built without policies");                              \
        if (syscall(444, NULL, 0, 1) < 1) UTEST_SKIP("no Landlock");                               \
    } while (0)

/* ==== A world to attack ======================================================================= */

/* base/outside: not to be touched. base/readable: read, not changed. base/writable: free.
   All of it belongs to this user, so that only the policy stands in the way. */
typedef struct world {
    char base[PATH_MAX], outside[PATH_MAX + 16], readable[PATH_MAX + 16], writable[PATH_MAX + 16];
    const char *read[2], *write[2];
    unsigned long before; /* sum over outside and readable */
} world;

static void fill_dir(const char *dir, char kind, int files) {
    char name[16];
    int i;
    for (i = 0; i < files; i++) {
        snprintf(name, sizeof name, "%c%02d", kind, i);
        test_write_file(dir, name, "content", 7, 0644);
    }
    for (i = 0; i < 8 && kind == 'f'; i++) {
        snprintf(name, sizeof name, "d%02d", i);
        mkdir(test_text("%s/%s", dir, name), 0755);
    }
}

static void copy_file(const char *from, const char *dir, const char *name) {
    static char data[1 << 20];
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, data, sizeof data) : -1;
    if (fd >= 0) close(fd);
    if (size > 0) test_write_file(dir, name, data, (size_t)size, 0755);
}

/* Everything about a tree but when it was read. Any change of an inode moves its ctime. */
static unsigned long sum_tree(const char *path) {
    char inner[PATH_MAX];
    struct stat st;
    struct dirent *entry;
    unsigned long sum;
    const char *c;
    DIR *dir;
    if (lstat(path, &st) < 0) return 1;
    sum = (unsigned long)st.st_mode * 31 + (unsigned long)st.st_uid * 37 + (unsigned long)st.st_gid;
    sum = sum * 41 + (unsigned long)st.st_size + (unsigned long)st.st_nlink * 43;
    sum = sum * 47 + (unsigned long)st.st_mtim.tv_nsec + (unsigned long)st.st_ctim.tv_nsec * 53;
    sum += (unsigned long)st.st_mtim.tv_sec * 59 + (unsigned long)st.st_ctim.tv_sec * 61;
    for (c = path; *c; c++) sum = sum * 67 + (unsigned char)*c;
    dir = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    while (dir && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < (int)sizeof inner)
            sum += sum_tree(inner); /* in whatever order */
    if (dir) closedir(dir);
    return sum;
}

static void world_open(world *w) {
    memset(w, 0, sizeof *w);
    test_tmpdir(w->base);
    snprintf(w->outside, sizeof w->outside, "%s/outside", w->base);
    snprintf(w->readable, sizeof w->readable, "%s/readable", w->base);
    snprintf(w->writable, sizeof w->writable, "%s/writable", w->base);
    mkdir(w->outside, 0755);
    mkdir(w->readable, 0755);
    mkdir(w->writable, 0755);
    fill_dir(w->outside, 'f', 70);
    fill_dir(w->readable, 'f', 70);
    fill_dir(w->writable, 'w', 10);
    test_write_file(w->outside, "secret", "secret", 6, 0644);
    test_write_file(w->readable, "secret", "secret", 6, 0644);
    test_write_file(w->outside, "script", "#!/bin/sh\nexit 42\n", 18, 0755);
    mkdir(test_text("%s/dir", w->outside), 0755);
    test_write_file(test_text("%s/dir", w->outside), "inner", "secret", 6, 0644);
    mkdir(test_text("%s/sub", w->readable), 0755);
    mkfifo(test_text("%s/fifo", w->outside), 0600);
    mkfifo(test_text("%s/fifo", w->readable), 0600);
    copy_file(test_child(), w->outside, "prog");
    if (symlink(test_text("%s/secret", w->outside), test_text("%s/to_secret", w->readable)) < 0 ||
        symlink("../outside/secret", test_text("%s/to_secret_relative", w->readable)) < 0 ||
        symlink(w->outside, test_text("%s/to_outside", w->readable)) < 0 ||
        symlink("secret", test_text("%s/to_secret", w->outside)) < 0) {
        perror("symlink");
        exit(1);
    }
    w->read[0] = w->readable;
    w->write[0] = w->writable;
    w->before = sum_tree(w->outside) + sum_tree(w->readable);
}

static const char *world_close(world *w) { /* "" = what is not writable is as it was */
    unsigned long after = sum_tree(w->outside) + sum_tree(w->readable);
    test_remove_tree(w->base);
    return after == w->before ? "" : "files outside were changed";
}

/* The host's mounts, as a text that must not change. */
static unsigned long host_mounts(void) {
    char text[4096];
    unsigned long sum = 5381;
    ssize_t n, i;
    int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (n = read(fd, text, sizeof text)) > 0)
        for (i = 0; i < n; i++) sum = sum * 33 + (unsigned char)text[i];
    if (fd >= 0) close(fd);
    return sum;
}

/* ==== Attempts ================================================================================ */

enum { WORKED, FAILED };

/* The names of attempts that worked, or of those that failed although they had to work; those in
   `but` are left out. */
static const char *attempts(const sbx_result *r, int which, const char *but) {
    static char list[2048];
    const char *line = r->out.data;
    size_t used = 0;
    list[0] = 0;
    if (r->verdict != SBX_OK || r->out.size < 4 || strcmp(line + r->out.size - 4, "end\n") != 0)
        return test_text("%.300s; its last words: %.300s %.300s", r->message,
                         line + (r->out.size > 300 ? r->out.size - 300 : 0), r->err.data);
    for (; strncmp(line, "end\n", 4) != 0; line = strchr(line, '\n') + 1) {
        size_t name = strcspn(line, " "), all = strcspn(line, "\n");
        int worked = strncmp(line + name, " worked\n", 8) == 0;
        char word[80];
        snprintf(word, sizeof word, " %.*s ", (int)name, line);
        if (worked != (which == WORKED) || strstr(but, word)) continue;
        if (which == FAILED && *line == '?') continue;
        if (used + all + 3 < sizeof list)
            used += (size_t)sprintf(list + used, "%s%.*s", used ? ", " : "", (int)all, line);
    }
    return list;
}

static const char *run_set(sbx_config *config, int which, const char *but) {
    sbx_result result;
    unsigned long mounts = host_mounts();
    const char *flaw = test_run(config, &result), *list = attempts(&result, which, but);
    sbx_free(&result);
    if (*flaw) return flaw;
    return mounts == host_mounts() ? list : "the host's mounts changed";
}

/* Under the policy none of them works. */
#define EXPECT_BLOCKED(config) EXPECT_STREQ("", run_set(config, WORKED, ""))
#define EXPECT_BLOCKED_BUT(but, config) EXPECT_STREQ("", run_set(config, WORKED, " " but " "))
/* All of them work: without a policy, or because they are harmless. */
#define EXPECT_ALL_WORK(config) EXPECT_STREQ("", run_set(config, FAILED, ""))
#define EXPECT_ALL_WORK_BUT(but, config) EXPECT_STREQ("", run_set(config, FAILED, " " but " "))

static sbx_config boxed(const sbx_policy *policy) {
    sbx_config config;
    memset(&config, 0, sizeof config);
    config.policy = policy;
    config.grace_ms = SBX_UNLIMITED;
    config.timeout_ms = 20000;
    return config;
}

static sbx_config unboxed(sbx_contain contain) {
    sbx_config config = boxed(NULL);
    config.contain = contain;
    return config;
}

static sbx_policy world_policy(const world *w) {
    sbx_policy policy;
    memset(&policy, 0, sizeof policy);
    policy.read = w->read;
    policy.write = w->write;
    return policy;
}

#define set_argv(...) test_child_argv("policy", __VA_ARGS__)

/* ==== 48: reading ============================================================================= */

UTEST(policy, a48_reads_nothing_outside) {
    world w;
    sbx_policy policy;
    sbx_config config;
    NEEDS_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    config = boxed(&policy);
    config.cwd = w.readable;
    config.argv = set_argv("read", w.outside, w.readable, w.writable);
    EXPECT_BLOCKED(&config);
    EXPECT_STREQ("", world_close(&w));
    world_open(&w); /* and without a policy all of that works */
    config.policy = NULL;
    config.contain = SBX_CONTAIN_GROUP;
    config.cwd = w.readable;
    config.argv = set_argv("read", w.outside, w.readable, w.writable);
    EXPECT_ALL_WORK(&config);
    world_close(&w);
}

UTEST(policy, a48_zero_policy_reads_only_the_system) {
    static const char *const secrets[] = {"/etc/shadow", "/etc/hostname", "/etc/fstab", "/root",
                                          "/home",       "/var",          "/run",       "/boot",
                                          "/mnt",        "/srv",          "/dev/shm/*", "/tmp/*",
                                          "/sys/class",  "/sys/fs",       "/dev/tty",   NULL};
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    int i;
    NEEDS_POLICY();
    for (i = 0; secrets[i]; i++) {
        config.command = test_text("ls -ld %s >/dev/null 2>&1 && echo there", secrets[i]);
        TEST_RUN(&config, &result);
        EXPECT_STREQ_MSG("", result.out.data, secrets[i]);
        sbx_free(&result);
    }
}

/* What is not in the box does not exist: stat does not find it either. */
UTEST(policy, a48_what_is_outside_does_not_exist) {
    world w;
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    NEEDS_POLICY();
    world_open(&w);
    config.argv = set_argv("metadata", w.outside);
    TEST_RUN(&config, &result);
    EXPECT_STREQ("stat ENOENT\naccess ENOENT\nreadlink ENOENT\nchange_dir ENOENT\n"
                 "path_fd ENOENT\nend\n",
                 result.out.data);
    sbx_free(&result);
    config.policy = NULL;
    EXPECT_ALL_WORK(&config);
    EXPECT_STREQ("", world_close(&w));
}

/* Names are content of a directory: events would tell them without its being read. */
UTEST(policy, a48_events_outside_are_not_told) {
    world w;
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    NEEDS_POLICY();
    world_open(&w);
    config.argv = set_argv("notify", w.outside);
    EXPECT_BLOCKED(&config);
    config.policy = NULL;
    EXPECT_ALL_WORK(&config);
    world_close(&w);
}

UTEST(policy, a48_no_system_reads_only_what_is_named) {
    static const char *const libraries[] = {"/usr", "/lib", "/lib64", "/bin", NULL};
    const char *some[5] = {NULL}; /* those that exist here */
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    int i, n = 0;
    NEEDS_POLICY();
    for (i = 0; libraries[i]; i++)
        if (access(libraries[i], F_OK) == 0) some[n++] = libraries[i];
    policy.no_system = 1;
    config.command = "echo ran"; /* /bin/sh itself may be run, but not its loader */
    EXPECT_STREQ("", test_run(&config, &result));
    EXPECT_STREQ("", result.out.data);
    EXPECT_NE(SBX_OK, (int)result.verdict);
    sbx_free(&result);
    policy.read = some;
    config.command =
        "echo ran; for f in /etc/passwd /dev/null /dev/zero /proc/self/status /proc; do "
        "[ -d $f ] && ls $f || head -c 1 $f && echo open $f; done";
    TEST_RUN(&config, &result);
    EXPECT_STREQ("ran\n", result.out.data);
    sbx_free(&result);
    policy.no_system = 0;
    config.command = "for f in /etc/passwd /dev/null /dev/zero /proc/self/status; do "
                     "head -c 1 $f >/dev/null && echo open $f; done";
    TEST_RUN(&config, &result);
    EXPECT_STREQ("open /etc/passwd\nopen /dev/null\nopen /dev/zero\nopen /proc/self/status\n",
                 result.out.data);
    sbx_free(&result);
}

/* ==== 49, 51: writing, modes, owners, times =================================================== */

UTEST(policy, a49_a51_read_only_trees_stay_as_they_are) {
    world w;
    sbx_policy policy;
    sbx_config config;
    NEEDS_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    config = boxed(&policy);
    config.argv = set_argv("write", w.readable, w.writable);
    /* Documented: in a directory under its /tmp a pipe with a name can be opened. */
    EXPECT_BLOCKED_BUT("fifo", &config);
    EXPECT_STREQ("", world_close(&w));
    world_open(&w);
    config.policy = NULL;
    config.contain = SBX_CONTAIN_GROUP;
    config.argv = set_argv("write", w.readable, w.writable);
    EXPECT_ALL_WORK(&config);
    EXPECT_STRNE("", world_close(&w)); /* and the check of the files sees it */
}

UTEST(policy, a49_a51_outside_stays_as_it_is) {
    world w;
    sbx_policy policy;
    sbx_config config;
    NEEDS_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    config = boxed(&policy);
    config.argv = set_argv("write", w.outside, w.writable);
    EXPECT_BLOCKED(&config);
    policy.write = NULL; /* nothing at all may be written */
    policy.read = NULL;
    config.argv = set_argv("write", w.outside, w.writable);
    EXPECT_BLOCKED(&config);
    EXPECT_STREQ("", world_close(&w));
}

UTEST(policy, a49_own_tree_is_free) {
    world w;
    sbx_policy policy;
    sbx_config config;
    NEEDS_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    config = boxed(&policy);
    config.argv = set_argv("own", w.writable);
    EXPECT_ALL_WORK(&config);
    EXPECT_STREQ("", world_close(&w));
}

UTEST(policy, a49_devices_are_not_made) {
    world w;
    sbx_policy policy;
    sbx_config config;
    NEEDS_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    config = boxed(&policy);
    config.argv = set_argv("nodes", w.writable);
    EXPECT_BLOCKED(&config);
    EXPECT_STREQ("", world_close(&w));
}

/* A file that lends its owner's rights would be a way back in for whoever can reach the tree. */
UTEST(policy, a59_no_set_user_id_file_is_left) {
    world w;
    sbx_policy policy;
    sbx_config config;
    NEEDS_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    config = boxed(&policy);
    config.argv = set_argv("set_id", w.writable);
    EXPECT_BLOCKED(&config);
    world_close(&w);
    world_open(&w);
    config = unboxed(SBX_CONTAIN_GROUP);
    config.argv = set_argv("set_id", w.writable);
    EXPECT_ALL_WORK(&config);
    world_close(&w);
}

/* What the host mounts while the box runs is read-only there, too, or not there at all. */
static const char *mount_later(void *arg) {
    world *w = (world *)arg;
    char where[PATH_MAX + 32], go[PATH_MAX + 32];
    sbx_policy policy = world_policy(w);
    sbx_config config = boxed(&policy);
    sbx_result result;
    sbx *box;
    struct stat st;
    snprintf(where, sizeof where, "%s/sub", w->readable);
    snprintf(go, sizeof go, "%s/go", w->readable);
    if (unshare(CLONE_NEWNS) < 0) return "skip: no mounts of its own";
    TEST_MUST(mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL) == 0);
    config.command = test_text("until [ -e %s ]; do sleep 0.02; done; chmod 700 %s/file; "
                               "touch %s/new; echo tried",
                               go, where, where);
    box = sbx_start(&config, &result);
    if (!box) return test_text("%s", result.message);
    TEST_MUST(mount("none", where, "tmpfs", 0, NULL) == 0);
    test_write_file(where, "file", "x", 1, 0644);
    test_write_file(w->readable, "go", "x", 1, 0644);
    sbx_finish(box, &result);
    TEST_MUST(strcmp(result.out.data, "tried\n") == 0);
    TEST_MUST(stat(test_text("%s/file", where), &st) == 0 && (st.st_mode & 0777) == 0644);
    TEST_MUST(access(test_text("%s/new", where), F_OK) < 0);
    umount2(where, MNT_DETACH);
    sbx_free(&result);
    return "";
}

/* A copy of this process that mounts something in a world. */
static const char *in_world(const char *(*test)(void *world)) {
    static char got[512];
    world w;
    if (geteuid() != 0) return "skip: only root can mount";
    world_open(&w);
    snprintf(got, sizeof got, "%s", test_in_copy(test, &w));
    world_close(&w);
    return got;
}

UTEST(policy, a51_later_mounts_are_read_only) {
    const char *got;
    NEEDS_POLICY();
    got = in_world(mount_later);
    if (strncmp(got, "skip: ", 6) == 0) UTEST_SKIP("no mounts of one's own can be had");
    EXPECT_STREQ("", got);
}

/* The copies of the host's mounts under the root do not show: of every path that something is
   mounted at, each is one that the box has. */
UTEST(policy, a48_mounts_of_the_host_do_not_show) {
    static const char *const allowed[] = {"/",     "/usr",  "/opt", "/etc/", "/dev/",
                                          "/proc", "/sys/", "/tmp", "/bin",  "/sbin",
                                          "/lib",  "/nix/", "/gnu/"};
    static const char *const argv[] = {"/bin/cat", "/proc/self/mountinfo", NULL};
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    char *line, *more = NULL, at[256];
    int lines = 0;
    size_t i;
    NEEDS_POLICY();
    config.argv = argv;
    TEST_RUN(&config, &result);
    ASSERT_EQ_MSG(SBX_OK, (int)result.verdict, result.message);
    for (line = strtok_r(result.out.data, "\n", &more); line; line = strtok_r(NULL, "\n", &more)) {
        ASSERT_EQ_MSG(1, sscanf(line, "%*s %*s %*s %*s %255s", at), line);
        for (i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
            if (strcmp(at, allowed[i]) == 0 ||
                (i > 0 && strncmp(at, allowed[i], strlen(allowed[i])) == 0))
                break;
        EXPECT_TRUE_MSG(i < sizeof allowed / sizeof allowed[0], line);
        lines++;
    }
    EXPECT_GT(lines, 3);
    sbx_free(&result);
}

/* ==== 50: running ============================================================================= */

UTEST(policy, a50_runs_nothing_outside) {
    world w;
    sbx_policy policy;
    sbx_config config;
    NEEDS_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    config = boxed(&policy);
    config.argv = set_argv("exec", w.outside, w.readable, w.writable);
    EXPECT_BLOCKED(&config);
    EXPECT_STREQ("", world_close(&w));
    world_open(&w);
    config = unboxed(SBX_CONTAIN_GROUP);
    config.argv = set_argv("exec", w.outside, w.readable, w.writable);
    EXPECT_ALL_WORK(&config);
    world_close(&w);
}

/* The program itself may be anywhere: the host named it. But only itself. */
UTEST(policy, a50_the_program_itself_may_be_outside) {
    world w;
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    const char *argv[] = {NULL, NULL};
    NEEDS_POLICY();
    world_open(&w);
    argv[0] = test_text("%s/script", w.outside);
    config.argv = argv;
    TEST_RUN(&config, &result);
    EXPECT_EQ_MSG(42, result.exit_code, result.message);
    sbx_free(&result);
    test_write_file(w.outside, "reader", "#!/bin/sh\ncat secret && exit 7\nexit 8\n", 38, 0755);
    argv[0] = test_text("%s/reader", w.outside);
    config.cwd = w.outside;
    TEST_RUN(&config, &result);
    EXPECT_EQ_MSG(8, result.exit_code, result.message);
    EXPECT_STREQ("", result.out.data);
    sbx_free(&result);
    world_close(&w);
}

/* ==== 52 to 54: network ======================================================================= */

typedef struct listeners {
    int fd[7]; /* tcp4, tcp6, udp4, unix stream, unix dgram, abstract stream, abstract dgram */
    char name[7][PATH_MAX];
} listeners;

static int bind_unix(listeners *l, int i, int type, const char *name) {
    struct sockaddr_un address;
    size_t size = offsetof(struct sockaddr_un, sun_path) + strlen(name) + (*name != '@');
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    if (*name == '@') address.sun_path[0] = 0;
    snprintf(l->name[i], PATH_MAX, "%s", name);
    l->fd[i] = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    return bind(l->fd[i], (struct sockaddr *)(void *)&address, (socklen_t)size);
}

static int bind_inet(listeners *l, int i, int family, int type) {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } address;
    socklen_t size = family == AF_INET ? sizeof address.four : sizeof address.six;
    int failed;
    memset(&address, 0, sizeof address);
    address.any.sa_family = (sa_family_t)family;
    if (family == AF_INET) address.four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else address.six.sin6_addr = in6addr_loopback;
    l->fd[i] = socket(family, type | SOCK_CLOEXEC, 0);
    failed = bind(l->fd[i], &address.any, size) || getsockname(l->fd[i], &address.any, &size);
    snprintf(l->name[i], PATH_MAX, "%d",
             failed ? 1 : ntohs(family == AF_INET ? address.four.sin_port : address.six.sin6_port));
    return failed;
}

static int listeners_open(listeners *l, const char *dir) {
    int i, failed = bind_inet(l, 0, AF_INET, SOCK_STREAM) | bind_inet(l, 2, AF_INET, SOCK_DGRAM);
    bind_inet(l, 1, AF_INET6, SOCK_STREAM); /* may be off */
    failed |= bind_unix(l, 3, SOCK_STREAM, test_text("%s/stream", dir));
    failed |= bind_unix(l, 4, SOCK_DGRAM, test_text("%s/dgram", dir));
    failed |= bind_unix(l, 5, SOCK_STREAM, test_text("@sbx-test-s-%d", (int)getpid()));
    failed |= bind_unix(l, 6, SOCK_DGRAM, test_text("@sbx-test-d-%d", (int)getpid()));
    for (i = 0; i < 7; i++)
        if (i == 0 || i == 1 || i == 3 || i == 5) listen(l->fd[i], 64);
    return !failed;
}

/* Can anybody reach them? In some places the loopback is down. */
static int loopback_is_up(const listeners *l) {
    struct sockaddr_in to;
    socklen_t size = sizeof to;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), up;
    up = getsockname(l->fd[2], (struct sockaddr *)(void *)&to, &size) == 0 &&
         connect(fd, (struct sockaddr *)(void *)&to, size) == 0;
    close(fd);
    return up;
}

static int listeners_close(listeners *l) { /* how many of them heard something */
    int i, heard = 0;
    for (i = 0; i < 7; i++) {
        struct pollfd one;
        one.fd = l->fd[i];
        one.events = POLLIN;
        one.revents = 0;
        heard += poll(&one, 1, 0) > 0 && one.revents & POLLIN;
        if (l->fd[i] >= 0) close(l->fd[i]);
    }
    return heard;
}

static void use_listeners(sbx_config *config, const char **argv, const listeners *l) {
    int i;
    argv[0] = test_child();
    argv[1] = "policy";
    argv[2] = "net";
    for (i = 0; i < 7; i++) argv[3 + i] = l->name[i];
    argv[10] = NULL;
    config->argv = argv;
}

UTEST(policy, a52_reaches_nobody) {
    world w;
    listeners l;
    const char *argv[12];
    sbx_policy policy;
    sbx_config config;
    NEEDS_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    config = boxed(&policy);
    ASSERT_TRUE(listeners_open(&l, w.writable)); /* not even in its own tree */
    use_listeners(&config, argv, &l);
    EXPECT_BLOCKED(&config);
    EXPECT_EQ(0, listeners_close(&l));
    EXPECT_STREQ("", world_close(&w));
    world_open(&w);
    ASSERT_TRUE(listeners_open(&l, w.base));
    config = unboxed(SBX_CONTAIN_GROUP);
    use_listeners(&config, argv, &l);
    if (loopback_is_up(&l)) {
        EXPECT_ALL_WORK(&config);
        EXPECT_LE(6, listeners_close(&l));
    } else {
        EXPECT_ALL_WORK_BUT("tcp  tcp_flags  udp_connect  udp_send", &config);
        EXPECT_LE(4, listeners_close(&l));
    }
    world_close(&w);
}

/* With the network there are IP sockets, and nothing else: a unix socket is a way to the services
   of this machine, some of which do what root can do. */
UTEST(policy, a52_allow_network_is_the_network) {
    world w;
    listeners l;
    const char *argv[12];
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    NEEDS_POLICY();
    policy.allow_network = 1;
    world_open(&w);
    ASSERT_TRUE(listeners_open(&l, w.base));
    if (!loopback_is_up(&l)) {
        listeners_close(&l);
        world_close(&w);
        UTEST_SKIP("the loopback is down");
    }
    use_listeners(&config, argv, &l);
    EXPECT_ALL_WORK_BUT(
        "unix_path  unix_path_dgram  unix_self_root  unix_abstract  unix_abstract_dgram "
        " unix_send  unix_send_abstract  unix_bind  pair_sendto_dgram "
        " pair_sendmsg_dgram  pair_connect_dgram  pair_sendto_dgram_abstract "
        " pair_sendmsg_dgram_abstract  pair_connect_dgram_abstract  pair_sendto_raw "
        " pair_sendmsg_raw  pair_connect_raw",
        &config);
    EXPECT_BLOCKED_BUT(
        "tcp  tcp_flags  ?tcp6  ?mptcp  udp_connect  udp_send  ?fast_open  bind  listen", &config);
    EXPECT_LE(2, listeners_close(&l));
    EXPECT_STREQ("", world_close(&w));
}

UTEST(policy, a53_no_family_carries_data_out) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    NEEDS_POLICY();
    config.argv = set_argv("families");
    EXPECT_BLOCKED_BUT("pair_1_1  pair_1_5", &config);
    policy.allow_network = 1; /* IP and netlink; raw and packet sockets stay away */
    EXPECT_BLOCKED_BUT("pair_1_1  pair_1_5  socket_2_1  socket_2_2  socket_10_1  socket_10_2 "
                       " socket_16_2  socket_16_3  netlink_0  netlink_1  netlink_2  netlink_3 "
                       " netlink_4  netlink_5  netlink_6  netlink_7  netlink_8  netlink_9 "
                       " netlink_10  netlink_11  netlink_12  netlink_13  netlink_14  netlink_15 "
                       " netlink_16  netlink_18  netlink_19  netlink_20  netlink_21  netlink_22",
                       &config);
}

UTEST(policy, a53_pairs_lead_nowhere) {
    world w;
    listeners l;
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    NEEDS_POLICY();
    world_open(&w);
    ASSERT_TRUE(listeners_open(&l, w.base));
    config.argv = set_argv("pair_out", l.name[4]);
    /* A packet socket drops the address and sends to its other end. */
    EXPECT_BLOCKED_BUT("pair_sendto_packet  pair_sendmsg_packet", &config);
    config.argv = set_argv("pair_out", l.name[6]);
    EXPECT_BLOCKED_BUT("pair_sendto_packet  pair_sendmsg_packet", &config);
    EXPECT_EQ(0, listeners_close(&l));
    EXPECT_STREQ("", world_close(&w));
}

UTEST(policy, a54_pairs_and_pipes_work) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    NEEDS_POLICY();
    config.argv = set_argv("pairs");
    EXPECT_ALL_WORK(&config);
    policy.kill_on_denied = 1;
    EXPECT_ALL_WORK(&config);
}

/* ==== 55 to 58: processes ===================================================================== */

/* A process of this user in a group of its own, as any other program on the machine is one. */
static pid_t victim_start(void) {
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        alarm(60);
        for (;;) pause();
    }
    setpgid(pid, pid);
    return pid;
}

static const char *victim_end(pid_t pid) { /* "" = it lived and was as it was */
    int same = getpriority(PRIO_PROCESS, (id_t)pid) == getpriority(PRIO_PROCESS, 0) &&
               sched_getscheduler(pid) == sched_getscheduler(0);
    int status = 0;
    int alive = waitpid(pid, &status, WNOHANG) == 0;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    if (!alive) return "it was killed";
    return same ? "" : "its priority was changed";
}

UTEST(policy, a55_to_a58_processes_outside_are_out_of_reach) {
    pid_t victim;
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    char number[16];
    NEEDS_POLICY();
    victim = victim_start();
    snprintf(number, sizeof number, "%d", (int)victim);
    config.argv = set_argv("process", number);
    EXPECT_BLOCKED(&config);
    EXPECT_STREQ("", victim_end(victim));
    snprintf(number, sizeof number, "%d", (int)getpid()); /* the host itself */
    config.argv = set_argv("process", number);
    EXPECT_BLOCKED(&config);
    victim = victim_start();
    snprintf(number, sizeof number, "%d", (int)victim);
    config = unboxed(SBX_CONTAIN_GROUP);
    config.argv = set_argv("process", number);
    EXPECT_ALL_WORK(&config);
    EXPECT_STRNE("", victim_end(victim));
}

UTEST(policy, a55_first_process_of_the_box_is_closed) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    NEEDS_POLICY();
    config.argv = set_argv("first");
    EXPECT_BLOCKED(&config);
}

/* Two boxes of one user do not see each other either. */
UTEST(policy, a56_boxes_do_not_see_each_other) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result one, two;
    sbx *box;
    NEEDS_POLICY();
    config.argv = test_child_argv("sleep", "10000");
    box = sbx_start(&config, &one);
    ASSERT_TRUE(box != NULL);
    config.command = "set -- /proc/[0-9]*; echo $#; kill -0 -1 && echo heard";
    config.argv = NULL;
    TEST_RUN(&config, &two);
    EXPECT_STREQ("2\n", two.out.data); /* pid 1, sh */
    sbx_free(&two);
    sbx_cancel(box);
    sbx_finish(box, &one);
    EXPECT_VERDICT(SBX_CANCELLED, one);
    sbx_free(&one);
}

/* ==== 59: privileges ========================================================================== */

#define NO_CAPS "0000000000000000"

UTEST(policy, a59_no_capabilities_and_no_new_ones) {
    static const char *const kinds[] = {"CapPrm:\t", "CapEff:\t", "CapInh:\t", "CapAmb:\t"};
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    size_t i;
    NEEDS_POLICY();
    config.argv = set_argv("rights");
    TEST_RUN(&config, &result);
    for (i = 0; i < 4; i++)
        EXPECT_TRUE_MSG(strstr(result.out.data, test_text("%s" NO_CAPS "\n", kinds[i])) != NULL,
                        result.out.data);
    EXPECT_TRUE(strstr(result.out.data, "NoNewPrivs:\t1\n") != NULL);
    EXPECT_TRUE(strstr(result.out.data,
                       test_text("euid %d egid %d\n", (int)geteuid(), (int)getegid())) != NULL);
    sbx_free(&result);
    config.argv = set_argv("become");
    EXPECT_BLOCKED(&config);
}

/* As root: programs that would change the user or hand out capabilities. */
UTEST(policy, a59_set_user_id_programs_gain_nothing) {
    static const unsigned char all_caps[20] = {
        1, 0, 0,   2, 255, 255, 255, 255, 0, 0,
        0, 0, 255, 1, 0,   0,   0,   0,   0, 0}; /* effective, permitted */
    world w;
    sbx_policy policy;
    sbx_config config;
    sbx_result result;
    const char *prog, *argv[] = {NULL, "policy", "rights", NULL};
    NEEDS_POLICY();
    if (geteuid() != 0) UTEST_SKIP("only root can make such programs; su is tried elsewhere");
    world_open(&w);
    copy_file(test_child(), w.readable, "prog");
    prog = test_text("%s/prog", w.readable);
    chmod(w.base, 0755);
    policy = world_policy(&w);
    ASSERT_EQ(0, chown(prog, 65534, 65534));
    ASSERT_EQ(0, chmod(prog, 06755));
    argv[0] = prog;
    config = unboxed(SBX_CONTAIN_TREE);
    config.argv = argv;
    TEST_RUN(&config, &result); /* without a policy it does become another user */
    EXPECT_TRUE_MSG(strstr(result.out.data, "euid 65534 egid 65534\n") != NULL, result.out.data);
    sbx_free(&result);
    config = boxed(&policy);
    config.argv = argv;
    TEST_RUN(&config, &result);
    EXPECT_TRUE_MSG(strstr(result.out.data, "euid 0 egid 0\n") != NULL, result.out.data);
    EXPECT_TRUE(strstr(result.out.data, "CapEff:\t" NO_CAPS "\n") != NULL);
    sbx_free(&result);
    config.argv = NULL; /* the same from a shell inside */
    config.command = test_text("exec %s policy rights", prog);
    ASSERT_EQ(0, chown(prog, 0, 0));
    ASSERT_EQ(0, chmod(prog, 04755));
    TEST_RUN(&config, &result);
    EXPECT_TRUE_MSG(strstr(result.out.data, "CapPrm:\t" NO_CAPS "\n") != NULL, result.out.data);
    EXPECT_TRUE(strstr(result.out.data, "CapEff:\t" NO_CAPS "\n") != NULL);
    sbx_free(&result);
    if (syscall(SYS_setxattr, prog, "security.capability", all_caps, sizeof all_caps, 0) == 0) {
        TEST_RUN(&config, &result); /* what cannot get its capabilities is not even started */
        EXPECT_TRUE_MSG(result.out.size == 0 || strstr(result.out.data, "CapEff:\t" NO_CAPS "\n"),
                        result.out.data);
        sbx_free(&result);
    }
    world_close(&w);
}

/* As an ordinary user: su. The loader prints what it was told about the privileges, but keeps quiet
   where it knows that it runs with some. */
UTEST(policy, a59_su_gains_nothing) {
    static const char *const env[] = {"LD_SHOW_AUXV=1", NULL};
    static const char *const names[] = {"/usr/bin/su", "/bin/su", "/usr/bin/passwd", NULL};
    const char *argv[] = {NULL, "--help", NULL};
    sbx_policy policy = {0};
    sbx_config config = unboxed(SBX_CONTAIN_GROUP);
    sbx_result result;
    struct stat st;
    int i;
    NEEDS_POLICY();
    if (geteuid() == 0) UTEST_SKIP("root has them already");
    for (i = 0; names[i]; i++)
        if (stat(names[i], &st) == 0 && st.st_mode & S_ISUID && st.st_uid == 0) break;
    if (!names[i]) UTEST_SKIP("no set-user-id program here");
    argv[0] = names[i];
    config.argv = argv;
    config.env = env;
    TEST_RUN(&config, &result);
    if (strstr(result.out.data, "AT_EUID")) {
        sbx_free(&result);
        UTEST_SKIP("set-user-id programs gain nothing here anyway");
    }
    sbx_free(&result);
    config = boxed(&policy);
    config.argv = argv;
    config.env = env;
    TEST_RUN(&config, &result);
    if (!strstr(result.out.data, "AT_")) {
        sbx_free(&result);
        UTEST_SKIP("this loader does not tell");
    }
    EXPECT_TRUE_MSG(
        strstr(result.out.data, test_text("AT_EUID:              %d\n", (int)geteuid())) != NULL,
        result.out.data);
    EXPECT_TRUE(strstr(result.out.data, "AT_SECURE:            0\n") != NULL);
    sbx_free(&result);
}

/* ==== 60: namespaces, mounts, roots =========================================================== */

UTEST(policy, a60_no_namespaces_no_mounts_no_roots) {
    world w;
    sbx_policy policy;
    sbx_config config;
    sbx_result result;
    NEEDS_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    config = boxed(&policy);
    config.argv = set_argv("namespaces");
    EXPECT_BLOCKED(&config);
    config.argv = set_argv("mounts", w.writable);
    EXPECT_BLOCKED(&config);
    config = unboxed(SBX_CONTAIN_TREE); /* has mounts of its own, so that they end with it */
    config.argv = set_argv("namespaces");
    TEST_RUN(&config, &result);
    EXPECT_TRUE_MSG(strstr(result.out.data, "unshare_user worked") != NULL, result.out.data);
    EXPECT_TRUE_MSG(strstr(result.out.data, "clone_both_mount worked") != NULL, result.out.data);
    sbx_free(&result);
    if (geteuid() == 0) {
        config.argv = set_argv("mounts", w.writable);
        TEST_RUN(&config, &result);
        EXPECT_TRUE_MSG(strstr(result.out.data, "?tmpfs worked") != NULL, result.out.data);
        EXPECT_TRUE_MSG(strstr(result.out.data, "?remount worked") != NULL, result.out.data);
        EXPECT_TRUE_MSG(strstr(result.out.data, "?chroot worked") != NULL, result.out.data);
        sbx_free(&result);
    }
    EXPECT_STREQ("", world_close(&w));
}

/* ==== 61, 62: the kernel ====================================================================== */

static const char *after_line(const char *line) {
    const char *end = strchr(line, '\n');
    return end ? end + 1 : "";
}

/* The next line of "name number"; 0 = there is none. */
static int next_call(const char **at, char *name, long *number) {
    if (sscanf(*at, "%63s %ld", name, number) != 2) return 0;
    *at = after_line(*at);
    return 1;
}

static const char hidden[] = " io_uring_setup io_uring_enter io_uring_register clone3 memfd_create "
                             "memfd_secret openat2 inotify_init1 inotify_init ";
/* Of those and of the others these are refused, but end nobody: the libc and tools try them. */
static const char soft[] = " clone3 memfd_create memfd_secret openat2 inotify_init1 inotify_init "
                           "fchmod fchmodat fchmodat2 chmod mknodat mknod openat open creat "
                           "personality setpriority ioprio_set ";

UTEST(policy, a61_every_forbidden_call_is_refused) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    const char *line;
    NEEDS_POLICY();
    config.argv = set_argv("kernel");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    for (line = result.out.data; *line && strncmp(line, "end\n", 4) != 0; line = after_line(line)) {
        size_t name = strcspn(line, " ");
        const char *want =
            strstr(hidden, test_text(" %.*s ", (int)name, line)) ? " ENOSYS\n" : " EPERM\n";
        EXPECT_TRUE_MSG(strncmp(line + name, want, strlen(want)) == 0,
                        test_text("%.*s", (int)strcspn(line, "\n"), line));
    }
    sbx_free(&result);
    if (geteuid() != 0) return; /* without the policy root is asked what it means, not who it is */
    config = unboxed(SBX_CONTAIN_TREE);
    config.argv = set_argv("kernel");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    for (line = result.out.data; *line && strncmp(line, "end\n", 4) != 0; line = after_line(line))
        EXPECT_TRUE_MSG(strncmp(line + strcspn(line, " "), " EPERM\n", 7) != 0,
                        test_text("%.*s", (int)strcspn(line, "\n"), line));
    sbx_free(&result);
}

UTEST(policy, a61_every_forbidden_call_is_named_when_it_kills) {
    sbx_policy policy = {0};
    sbx_config config = boxed(NULL);
    sbx_result list, result;
    const char *at;
    char name[64], index[16];
    long number;
    int i;
    NEEDS_POLICY();
    config.argv = set_argv("calls");
    TEST_RUN(&config, &list);
    config = boxed(&policy);
    policy.kill_on_denied = 1;
    for (i = 0, at = list.out.data; next_call(&at, name, &number); i++) {
        snprintf(index, sizeof index, "%d", i);
        config.argv = set_argv("kernel", index);
        EXPECT_STREQ("", test_run(&config, &result));
        if (strstr(soft, test_text(" %s ", name))) {
            EXPECT_VERDICT(SBX_OK, result);
        } else {
            EXPECT_VERDICT(SBX_DENIED, result);
            EXPECT_EQ_MSG(1, result.certain, name);
            EXPECT_TRUE(result.evidence & SBX_SAW_DENIED);
            EXPECT_TRUE_MSG(strstr(result.message, test_text("%s (number %ld)", name, number)) !=
                                NULL,
                            result.message);
        }
        sbx_free(&result);
    }
    EXPECT_LT(60, i);
    sbx_free(&list);
}

UTEST(policy, a62_other_tables_of_calls_are_closed) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    NEEDS_POLICY();
    config.argv = set_argv("foreign");
    EXPECT_BLOCKED(&config);
#ifdef __x86_64__
    TEST_RUN(&config, &result);
    EXPECT_TRUE_MSG(strstr(result.out.data, "?i386_getpid ENOSYS\n") != NULL, result.out.data);
    EXPECT_TRUE_MSG(strstr(result.out.data, "?x32_getpid ENOSYS\n") != NULL, result.out.data);
    sbx_free(&result);
    config = unboxed(SBX_CONTAIN_GROUP);
    config.argv = set_argv("foreign");
    TEST_RUN(&config, &result);
    if (result.verdict == SBX_OK && !strstr(result.out.data, "?i386_getpid worked\n"))
        printf("   Note    : this kernel has no 32-bit calls at all\n");
#else
    (void)result;
    memset(&result, 0, sizeof result);
#endif
    sbx_free(&result);
}

UTEST(policy, a61_own_filter_allows_nothing) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    NEEDS_POLICY();
    config.argv = set_argv("own_filter");
    EXPECT_BLOCKED(&config);
    policy.kill_on_denied = 1;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_DENIED, result);
    sbx_free(&result);
}

/* ==== 63, 64: memory, messages ================================================================ */

UTEST(policy, a63_a64_no_objects_that_outlive_it) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    NEEDS_POLICY();
    config.argv = set_argv("memory_objects");
    EXPECT_BLOCKED_BUT("shm_file", &config); /* in a /dev/shm of its own */
    EXPECT_EQ(-1, access("/dev/shm/sbx-test-left", F_OK));
    config = unboxed(SBX_CONTAIN_GROUP);
    config.argv = set_argv("memory_objects");
    EXPECT_ALL_WORK(&config);
}

/* Documented: pages of shared memory that nobody has mapped in are in no process's count; a cgroup
   counts them. 48 MB under a limit of 16. */
UTEST(policy, a63_unmapped_shared_pages_are_not_counted) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    NEED_WATCH();
    NEEDS_POLICY();
    config.argv = set_argv("hidden_memory", "48");
    config.memory_bytes = 16 << 20;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_TRUE_MSG(strstr(result.out.data, "held 48\n") != NULL, result.out.data);
    sbx_free(&result);
}

#ifdef SYS_shmget
/* Objects of the host are reached by their number: neither name nor key is needed. */
UTEST(policy, a64_host_objects_are_out_of_reach) {
    struct {
        long type;
        char text[8];
    } message = {1, "host"};
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    char shm[16], queue[16], sem[16];
    int shm_id, queue_id, sem_id;
    NEEDS_POLICY();
    shm_id = shmget(IPC_PRIVATE, 4096, 0600);
    queue_id = msgget(IPC_PRIVATE, 0600);
    sem_id = semget(IPC_PRIVATE, 1, 0600);
    snprintf(shm, sizeof shm, "%d", shm_id);
    snprintf(queue, sizeof queue, "%d", queue_id);
    snprintf(sem, sizeof sem, "%d", sem_id);
    if (shm_id >= 0 && queue_id >= 0 && sem_id >= 0) {
        msgsnd(queue_id, &message, 5, 0);
        config.argv = set_argv("ipc", shm, queue, sem);
        EXPECT_BLOCKED(&config);
        EXPECT_EQ(5, (int)msgrcv(queue_id, &message, sizeof message.text, 0, IPC_NOWAIT));
        EXPECT_STREQ("host", message.text);
        EXPECT_EQ(-1, (int)msgrcv(queue_id, &message, sizeof message.text, 0, IPC_NOWAIT));
        EXPECT_EQ(0, semctl(sem_id, 0, GETVAL));
        config = unboxed(SBX_CONTAIN_GROUP);
        config.argv = set_argv("ipc", shm, queue, sem);
        EXPECT_ALL_WORK(&config);
    }
    shmctl(shm_id, IPC_RMID, NULL);
    msgctl(queue_id, IPC_RMID, NULL);
    semctl(sem_id, 0, IPC_RMID);
}
#endif

/* ==== 65: the paths of a policy =============================================================== */

UTEST(policy, a65_a_path_that_cannot_be_had_is_named) {
    world w;
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    const char *list[3] = {NULL, NULL, NULL};
    char marker[PATH_MAX + 32], long_name[PATH_MAX + 16], shown[64];
    const char *bad[4];
    int i, write;
    NEEDS_POLICY();
    world_open(&w);
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    snprintf(marker, sizeof marker, "%s/marker", w.writable);
    bad[0] = test_text("%s/missing", w.outside);
    bad[1] = test_text("%s/dangling", w.outside);
    bad[2] = "";
    bad[3] = long_name;
    ASSERT_EQ(0, symlink("missing", bad[1]));
    config.argv = test_child_argv("touch", marker);
    list[0] = w.writable;
    for (i = 0; i < 4; i++)
        for (write = 0; write < 2; write++) {
            list[1] = bad[i];
            policy.read = write ? NULL : list;
            policy.write = write ? list : NULL;
            TEST_RUN(&config, &result);
            EXPECT_VERDICT(SBX_NOT_STARTED, result);
            EXPECT_EQ(SBX_STEP_POLICY, (int)result.step);
            EXPECT_NE(0, result.sys_errno);
            snprintf(shown, sizeof shown, "policy.%s[1] = \"%.12s", write ? "write" : "read",
                     bad[i]);
            EXPECT_TRUE_MSG(strstr(result.message, shown) != NULL, result.message);
            sbx_free(&result);
        }
    EXPECT_EQ(-1, access(marker, F_OK));
    world_close(&w);
}

UTEST(policy, a65_a_symlink_means_what_it_points_to) {
    world w;
    const char *list[2] = {NULL, NULL};
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    NEEDS_POLICY();
    world_open(&w);
    list[0] = test_text("%s/link", w.base);
    ASSERT_EQ(0, symlink("writable", list[0]));
    policy.write = list;
    config.command = test_text("echo x >%s/through && echo x >%s/direct && cat %s/secret; echo x "
                               ">%s/other; rm -f %s; echo $TMPDIR",
                               list[0], w.writable, w.outside, w.base, list[0]);
    TEST_RUN(&config, &result);
    EXPECT_EQ(0, access(test_text("%s/through", w.writable), F_OK));
    EXPECT_EQ(0, access(test_text("%s/direct", w.writable), F_OK));
    EXPECT_EQ(-1, access(test_text("%s/other", w.base), F_OK));
    EXPECT_EQ(0, access(list[0], F_OK)); /* the link itself is outside */
    sbx_free(&result);
    EXPECT_STREQ("", world_close(&w));
}

UTEST(policy, a65_a_file_is_that_file_only) {
    world w;
    const char *read[2] = {NULL, NULL}, *write[2] = {NULL, NULL};
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    NEEDS_POLICY();
    world_open(&w);
    read[0] = test_text("%s/secret", w.readable);
    write[0] = test_text("%s/w00", w.writable);
    policy.read = read;
    policy.write = write;
    config.command =
        test_text("cat %s/secret; cat %s/f00; echo more >>%s/w00; echo more >>%s/w01; "
                  "echo new >%s/new; chmod 640 %s/w00",
                  w.readable, w.readable, w.writable, w.writable, w.writable, w.writable);
    TEST_RUN(&config, &result);
    EXPECT_STREQ("secret", result.out.data);
    EXPECT_EQ(-1, access(test_text("%s/new", w.writable), F_OK));
    {
        struct stat st;
        EXPECT_EQ(0, stat(write[0], &st));
        EXPECT_EQ(12, (int)st.st_size);
        EXPECT_EQ(0640, (int)(st.st_mode & 0777));
        EXPECT_EQ(0, stat(test_text("%s/w01", w.writable), &st));
        EXPECT_EQ(7, (int)st.st_size);
    }
    sbx_free(&result);
    EXPECT_STREQ("", world_close(&w));
}

static const char *relative_paths(void *arg) {
    const world *w = (const world *)arg;
    const char *read[] = {"readable", NULL}, *write[] = {"./writable/", NULL};
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    policy.read = read;
    policy.write = write;
    TEST_MUST(chdir(w->base) == 0);
    config.cwd = "readable"; /* the box runs elsewhere, but the paths are the host's */
    config.command = "cat secret ../outside/secret; echo x >../writable/made; echo; "
                     "(cd \"$HOME\" && pwd -P); pwd";
    sbx_run(&config, &result);
    TEST_MUST(access("writable/made", F_OK) == 0);
    if (strcmp(result.out.data,
               test_text("secret\n%s/writable\n%s/readable\n", w->base, w->base)) != 0)
        return test_text("%s %s %s", result.message, result.out.data, result.err.data);
    sbx_free(&result);
    return "";
}

UTEST(policy, a65_relative_paths_are_the_hosts) {
    world w;
    NEEDS_POLICY();
    world_open(&w);
    EXPECT_STREQ("", test_in_copy(relative_paths, &w));
    EXPECT_STREQ("", world_close(&w));
}

/* A link that somebody swaps all the time: the box has the one tree or the other, never both, and
   never a third; or it does not start. */
static void *swap_all_the_time(void *arg) {
    const world *w = (const world *)arg;
    char link_path[PATH_MAX + 32], next[PATH_MAX + 32];
    int i;
    snprintf(link_path, sizeof link_path, "%s/swapped", w->base);
    snprintf(next, sizeof next, "%s/swapped.next", w->base);
    for (i = 0; access(test_text("%s/stop", w->base), F_OK) != 0; i++)
        if (symlink(i % 2 ? "a" : "b", next) != 0 || rename(next, link_path) != 0) break;
    return NULL;
}

UTEST(policy, a65_a_path_that_changes_is_one_or_the_other) {
    world w;
    const char *list[2] = {NULL, NULL};
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    int i, started = 0;
    char base[PATH_MAX], swapped[PATH_MAX + 16], command[8 * PATH_MAX];
    pid_t swapper;
    NEEDS_POLICY();
    world_open(&w);
    snprintf(base, sizeof base, "%s", w.base);
    snprintf(swapped, sizeof swapped, "%s/swapped", base);
    mkdir(test_text("%s/a", base), 0755);
    mkdir(test_text("%s/b", base), 0755);
    ASSERT_EQ(0, symlink("a", swapped));
    swapper = fork();
    if (swapper == 0) {
        alarm(30);
        swap_all_the_time(&w);
        _exit(0);
    }
    list[0] = swapped;
    policy.write = list;
    snprintf(command, sizeof command,
             "n=0; echo x >%s/a/x && n=$((n+1)); echo x >%s/b/x && n=$((n+1)); "
             "chmod 711 %s/a && n=$((n+10)); chmod 711 %s/b && n=$((n+10)); echo x >%s/c; echo $n",
             base, base, base, base, base);
    config.command = command;
    for (i = 0; i < 25; i++) {
        EXPECT_STREQ("", test_run(&config, &result) + 0);
        if (result.verdict == SBX_NOT_STARTED) EXPECT_EQ(SBX_STEP_POLICY, (int)result.step);
        else {
            started++;
            EXPECT_STREQ_MSG("11\n", result.out.data, result.err.data);
        }
        sbx_free(&result);
    }
    kill(swapper, SIGKILL);
    waitpid(swapper, NULL, 0);
    EXPECT_LT(0, started);
    EXPECT_EQ(-1, access(test_text("%s/c", base), F_OK));
    EXPECT_STREQ("", world_close(&w));
}

/* The whole machine as a writable tree: then only the rest of the policy is left. Settings of the
   kernel are not files, and for root they would be a way out. */
UTEST(policy, a65_the_root_can_be_a_tree) {
    world w;
    const char *list[] = {"/", NULL};
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    NEEDS_POLICY();
    world_open(&w);
    policy.write = list;
    config.command = /* opened only, never written */
        test_text("echo x >%s/made && chmod 600 %s/made && echo done; "
                  "(exec 3>>/proc/sys/kernel/core_pattern) && echo 'a way out'; "
                  "(exec 3>>/sys/kernel/mm/ksm/run) && echo 'a way out'; :",
                  w.outside, w.outside);
    TEST_RUN(&config, &result);
    if (result.verdict != SBX_NOT_STARTED)
        EXPECT_STREQ_MSG("done\n", result.out.data, result.err.data);
    else EXPECT_EQ(SBX_STEP_POLICY, (int)result.step); /* or it says that it cannot */
    sbx_free(&result);
    world_close(&w);
}

UTEST(policy, a65_trees_inside_trees) {
    world w;
    const char *write[4] = {NULL, NULL, NULL, NULL}, *read[2] = {NULL, NULL};
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    int order;
    NEEDS_POLICY();
    world_open(&w);
    mkdir(test_text("%s/in", w.writable), 0755);
    read[0] = w.base; /* all of it can be read, two trees of it can be written */
    policy.read = read;
    policy.write = write;
    for (order = 0; order < 2; order++) {
        write[order] = w.writable;
        write[!order] = test_text("%s/in", w.writable);
        write[2] = w.writable; /* twice */
        config.command =
            test_text("cat %s/secret; echo x >%s/one%d && echo x >%s/in/two && echo ok; "
                      "echo x >%s/three; chmod 700 %s/f00",
                      w.outside, w.writable, order, w.writable, w.outside, w.readable);
        TEST_RUN(&config, &result);
        EXPECT_STREQ("secretok\n", result.out.data);
        sbx_free(&result);
    }
    EXPECT_STREQ("", world_close(&w));
}

/* ==== What has to work ======================================================================== */

UTEST(policy, devices_work) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    NEEDS_POLICY();
    config.argv = set_argv("devices");
    EXPECT_ALL_WORK(&config);
    policy.kill_on_denied = 1;
    EXPECT_ALL_WORK(&config);
}

/* TMPDIR is the private /tmp, HOME the first tree that can be written. The config's own win. */
UTEST(policy, home_and_tmpdir) {
    static const char *const set[] = {"TMPDIR=/of/the/caller", "HOME=/too", NULL};
    world w;
    sbx_policy policy;
    sbx_config config;
    sbx_result result;
    int inherit;
    NEEDS_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    for (inherit = 0; inherit < 2; inherit++) {
        config = boxed(&policy);
        config.inherit_env = inherit;
        policy.write = w.write;
        config.command = "f=$(mktemp) && echo x >$f && echo $TMPDIR $HOME; cd && pwd";
        TEST_RUN(&config, &result);
        EXPECT_STREQ(test_text("/tmp %s\n%s\n", w.writable, w.writable), result.out.data);
        sbx_free(&result);
        config.command = "echo $TMPDIR $HOME";
        config.env = set;
        TEST_RUN(&config, &result);
        EXPECT_STREQ("/of/the/caller /too\n", result.out.data);
        sbx_free(&result);
        config.env = NULL;
        policy.write = NULL;
        TEST_RUN(&config, &result);
        EXPECT_STREQ("/tmp /tmp\n", result.out.data);
        sbx_free(&result);
    }
    EXPECT_STREQ("", world_close(&w));
}

/* ==== A root of its own ======================================================================= */

/* Runs a shell command under the policy; what it printed, with its errors. */
static const char *in_box(const sbx_policy *policy, const char *cwd, const char *command) {
    static char text[4096];
    sbx_config config = boxed(policy);
    sbx_result result;
    unsigned long mounts = host_mounts();
    const char *flaw;
    config.cwd = cwd;
    config.err = SBX_MERGE;
    config.command = command;
    flaw = test_run(&config, &result);
    snprintf(text, sizeof text, "%s%s", result.verdict == SBX_OK ? "" : result.message,
             result.out.data);
    sbx_free(&result);
    if (*flaw) return flaw;
    return mounts == host_mounts() ? text : "the host's mounts changed";
}

UTEST(policy, root_holds_what_the_manual_says) {
    sbx_policy policy = {0};
    const char *got;
    NEEDS_POLICY();
    got = in_box(&policy, NULL,
                 "ls /dev; echo; ls -A /tmp /dev/shm; echo /proc/[0-9]*; "
                 "(echo x >/x) 2>/dev/null || echo fixed; "
                 "(echo x >/etc/x) 2>/dev/null || echo fixed; pwd");
    EXPECT_STREQ("fd\nfull\nnull\nrandom\nshm\nstderr\nstdin\nstdout\nurandom\nzero\n\n"
                 "/dev/shm:\n\n/tmp:\n/proc/1 /proc/2\nfixed\nfixed\n/tmp\n",
                 got);
    policy.no_system = 1; /* and so there is nothing at all, not even a directory to look at */
    policy.read = NULL;
    got = in_box(&policy, NULL, "exit 0");
    EXPECT_TRUE_MSG(strstr(got, "cannot be run") != NULL, got);
}

/* What it leaves there is gone with it, and nobody else sees it. */
UTEST(policy, root_scratch_is_private_and_bounded) {
    sbx_policy policy = {0};
    char name[64];
    NEEDS_POLICY();
    snprintf(name, sizeof name, "sbx-scratch-%d", (int)getpid());
    EXPECT_STREQ("two\n",
                 in_box(&policy, NULL,
                        test_text("echo one >/tmp/%s; echo two >/dev/shm/%s; cat /dev/shm/%s", name,
                                  name, name)));
    EXPECT_EQ(-1, access(test_text("/tmp/%s", name), F_OK));
    EXPECT_EQ(-1, access(test_text("/dev/shm/%s", name), F_OK));
    policy.scratch_bytes = 1 << 20; /* of both together */
    EXPECT_STREQ("600\nfull\n",
                 in_box(&policy, NULL,
                        "head -c 614400 /dev/zero >/tmp/a && echo $(($(wc -c </tmp/a) / 1024)); "
                        "head -c 614400 /dev/zero 2>/dev/null >/dev/shm/b || echo full"));
    policy.scratch_bytes = -2;
    EXPECT_TRUE(strstr(in_box(&policy, NULL, "exit 0"), "policy.scratch_bytes = -2") != NULL);
}

/* A file in the private /tmp can be run, and is not lent more rights. */
UTEST(policy, root_cwd_has_to_be_in_the_box) {
    world w;
    sbx_policy policy;
    sbx_config config;
    sbx_result result;
    NEEDS_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    EXPECT_STREQ(test_text("%s/sub\n", w.readable),
                 in_box(&policy, test_text("%s/sub", w.readable), "pwd"));
    EXPECT_STREQ("/usr\n", in_box(&policy, "/usr", "pwd"));
    EXPECT_STREQ("/tmp\n", in_box(&policy, "/tmp", "pwd"));
    config = boxed(&policy);
    config.command = "exit 0";
    config.cwd = w.outside;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ(SBX_STEP_CWD, (int)result.step);
    EXPECT_TRUE_MSG(strstr(result.message, "the policy does not show it") != NULL, result.message);
    sbx_free(&result);
    EXPECT_STREQ("", world_close(&w));
}

/* Links on the way to a tree are there as well, and lead to the same place. */
UTEST(policy, root_has_the_links_on_the_way) {
    world w;
    char base[PATH_MAX], path[PATH_MAX + 64];
    const char *list[3] = {NULL, NULL, NULL};
    sbx_policy policy = {0};
    NEEDS_POLICY();
    world_open(&w);
    snprintf(base, sizeof base, "%s", w.base);
    ASSERT_EQ(0, mkdir(test_text("%s/var", base), 0755));
    ASSERT_EQ(0, mkdir(test_text("%s/var/home", base), 0755));
    ASSERT_EQ(0, mkdir(test_text("%s/var/home/a user", base), 0755));
    ASSERT_EQ(0, symlink("var/home", test_text("%s/home", base)));
    ASSERT_EQ(0, symlink(test_text("%s/home/a user", base), test_text("%s/me", base)));
    snprintf(path, sizeof path, "%s/me", base);
    list[0] = path;
    policy.write = list;
    EXPECT_STREQ(test_text("x\nx\n%s/var/home/a user\n", base),
                 in_box(&policy, NULL,
                        test_text("cd %s/me && echo x >f; cat '%s/home/a user/f' "
                                  "'%s/var/home/a user/f'; cd; pwd; ls %s/outside 2>/dev/null; :",
                                  base, base, base, base)));
    EXPECT_EQ(0, access(test_text("%s/var/home/a user/f", base), F_OK));
    /* A loop is an error that names the path. */
    ASSERT_EQ(0, symlink("loop", test_text("%s/loop", base)));
    snprintf(path, sizeof path, "%s/loop", base);
    EXPECT_TRUE(strstr(in_box(&policy, NULL, "exit 0"), "policy.write[0]") != NULL);
    EXPECT_STREQ("", world_close(&w));
}

/* The innermost of the named trees decides. */
UTEST(policy, root_trees_in_trees) {
    world w;
    char inner[PATH_MAX + 64], deeper[PATH_MAX + 80];
    const char *write[3] = {NULL, NULL, NULL}, *read[2] = {NULL, NULL};
    sbx_policy policy = {0};
    NEEDS_POLICY();
    world_open(&w);
    snprintf(inner, sizeof inner, "%s/inner", w.writable);
    snprintf(deeper, sizeof deeper, "%s/inner/deeper", w.writable);
    ASSERT_EQ(0, mkdir(inner, 0755));
    ASSERT_EQ(0, mkdir(deeper, 0755));
    write[0] = w.writable;
    write[1] = deeper;
    read[0] = inner;
    policy.write = write;
    policy.read = read;
    EXPECT_STREQ("a\nc\n", in_box(&policy, NULL,
                                  test_text("exec 2>/dev/null; cd %s; echo >x && echo a; "
                                            "(echo >inner/x) && echo b; echo >inner/deeper/x && "
                                            "echo c; mv inner elsewhere && echo d; :",
                                            w.writable)));
    EXPECT_STREQ("", world_close(&w));
}

UTEST(policy, root_takes_64_paths) {
    world w;
    char base[PATH_MAX], paths[64][PATH_MAX + 16];
    const char *read[65] = {NULL}, *write[65] = {NULL};
    sbx_policy policy = {0};
    int i;
    NEEDS_POLICY();
    world_open(&w);
    snprintf(base, sizeof base, "%s", w.base);
    for (i = 0; i < 64; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/d%02d", base, i);
        ASSERT_EQ(0, mkdir(paths[i], 0755));
        if (i % 2) write[i / 2] = paths[i];
        else read[i / 2] = paths[i];
    }
    policy.read = read;
    policy.write = write;
    EXPECT_STREQ("32\n", in_box(&policy, NULL,
                                test_text("exec 2>/dev/null; n=0; for d in %s/d??; do "
                                          "(echo x >$d/x) && n=$((n+1)); done; echo $n",
                                          base)));
    EXPECT_EQ(0, access(test_text("%s/x", paths[63]), F_OK));
    EXPECT_EQ(-1, access(test_text("%s/x", paths[62]), F_OK));
    EXPECT_STREQ("", world_close(&w));
}

/* With "/" to read all of it can be read, and nothing of it written. */
UTEST(policy, root_can_be_the_hosts_to_read) {
    world w;
    const char *list[] = {"/", NULL}, *write[] = {NULL, NULL};
    sbx_policy policy = {0};
    NEEDS_POLICY();
    world_open(&w);
    policy.read = list;
    write[0] = w.writable;
    policy.write = write;
    EXPECT_STREQ("secretok\nfixed\nfine\n/proc/1 /proc/2\n",
                 in_box(&policy, w.outside,
                        test_text("exec 2>/dev/null; cat secret; echo x >%s/x && echo ok; "
                                  "(echo x >x) || echo fixed; f=$(mktemp) && echo >$f && "
                                  "echo x >/dev/null && echo fine; echo /proc/[0-9]*",
                                  w.writable)));
    EXPECT_STREQ("", world_close(&w));
}

/* Figures that are for root. In a group there is nothing to put over them: that is documented. */
UTEST(policy, root_of_its_own_hides_the_kernels_figures) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    NEEDS_POLICY();
    config.command = "cd /proc; cat kpagecount kpageflags kpagecgroup slabinfo vmallocinfo "
                     "timer_list pagetypeinfo sys/net/ipv4/tcp_fastopen_key 2>/dev/null | "
                     "head -c 30 | wc -c";
    EXPECT_STREQ("0\n", in_box(&policy, NULL, config.command));
    if (geteuid() == 0)
        EXPECT_STREQ("", in_box(&policy, NULL, "cd /proc/sys/net/ipv6/conf && ls || true"));
    if (geteuid() != 0 || syscall(444, NULL, 0, 1) < 1) return;
    config.contain = SBX_CONTAIN_GROUP;
    TEST_RUN(&config, &result);
    EXPECT_STREQ("30\n", result.out.data);
    sbx_free(&result);
}

/* Documented: who can read a file can lock it, and so can anybody who may not write it. */
UTEST(policy, a_readable_file_can_be_locked) {
    world w;
    sbx_policy policy;
    sbx_config config;
    int contain;
    NEEDS_POLICY();
    NEEDS_GROUP_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    config = boxed(&policy);
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_GROUP; contain++) {
        config.contain = (sbx_contain)contain;
        config.argv = set_argv("lock", w.readable);
        EXPECT_ALL_WORK(&config);
        config.argv = set_argv("lock", w.outside);
        EXPECT_BLOCKED(&config);
    }
    EXPECT_STREQ("", world_close(&w));
}

/* Documented: with the network it can take a name among the abstract sockets, but nobody can be
   reached by it, and it reaches nobody. */
UTEST(policy, a_name_can_be_taken_with_the_network) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    char own[32]; /* the names are the machine's: other tests may run beside this one */
    NEEDS_POLICY();
    snprintf(own, sizeof own, "%ld", (long)getpid());
    policy.allow_network = 1;
    config.argv = set_argv("name", own);
    EXPECT_BLOCKED_BUT("take", &config);
    EXPECT_ALL_WORK_BUT("listen  connect", &config);
    policy.allow_network = 0;
    EXPECT_BLOCKED(&config);
}

UTEST(policy, deny_spawn_stops_processes_only) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    NEEDS_POLICY();
    policy.deny_spawn = 1;
    config.argv = set_argv("spawn");
    EXPECT_BLOCKED(&config);
    config.argv = set_argv("thread");
    EXPECT_ALL_WORK(&config);
    config.argv = NULL;
    config.command = "echo shell; exec echo another"; /* one program may become another */
    TEST_RUN(&config, &result);
    EXPECT_STREQ("shell\nanother\n", result.out.data);
    sbx_free(&result);
    config.command = "/bin/true; echo after $?";
    TEST_RUN(&config, &result);
    EXPECT_TRUE_MSG(strstr(result.out.data, "after 0") == NULL, result.out.data);
    sbx_free(&result);
    policy.deny_spawn = 0;
    config.command = NULL;
    config.argv = set_argv("spawn");
    EXPECT_ALL_WORK(&config);
    config.argv = set_argv("thread");
    EXPECT_ALL_WORK(&config);
}

UTEST(policy, kill_on_denied_tells_the_call) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    NEEDS_POLICY();
    policy.kill_on_denied = 1;
    config.command = "echo before; unshare -U true; echo after";
    if (access("/usr/bin/unshare", X_OK) == 0) { /* a descendant's call counts, too */
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_DENIED, result);
        EXPECT_EQ(1, result.certain);
        EXPECT_EQ(-1, result.exit_code);
        EXPECT_STREQ("before\n", result.out.data);
        EXPECT_STREQ(test_text("'%s' was killed for a forbidden system call: unshare (number %ld)",
                               config.command, (long)SYS_unshare),
                     result.message);
        sbx_free(&result);
    }
    policy.deny_spawn = 1;
    config.command = "echo before; /bin/true; echo after";
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_DENIED, result);
    EXPECT_STREQ("before\n", result.out.data);
    sbx_free(&result);
    policy.kill_on_denied = 0;
    policy.deny_spawn = 0;
    config.command = "unshare -U true; echo after";
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_STREQ("after\n", result.out.data);
    sbx_free(&result);
}

/* What it needs is missing: that is a reason not to start, and no forbidden call of a program that
   never ran. Linux before 5.9 has no close_range, to part from the host's descriptors. */
static const char *denied_without(void *arg) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    const char *flaw;
    if (!test_forbid((const int *)arg, 1, ENOSYS)) return "no filter";
    policy.kill_on_denied = 1;
    config.command = "true";
    if (*(flaw = test_run(&config, &result))) return flaw;
    if (result.verdict != SBX_NOT_STARTED)
        flaw = test_text("without %d: %s", *(int *)arg, result.message);
    sbx_free(&result);
    return flaw;
}

UTEST(policy, kill_on_denied_is_no_verdict_on_who_never_ran) {
    int calls[] = {436, SYS_execveat}, i; /* close_range has one number everywhere */
    NEEDS_POLICY();
    for (i = 0; i < 2; i++) {
        const char *flaw = test_in_copy(denied_without, &calls[i]);
        if (strcmp(flaw, "no filter") == 0) UTEST_SKIP("no seccomp here");
        EXPECT_STREQ("", flaw);
    }
}

static int file_is_there(void *path) { return access((const char *)path, F_OK) == 0; }

/* The host looks too late: who asked for something forbidden is gone. It goes on listening. */
UTEST(policy, kill_on_denied_cannot_be_switched_off) {
    world w;
    sbx_policy policy;
    sbx_config config;
    sbx_result result;
    sbx *box;
    char path[PATH_MAX + 32];
    NEEDS_POLICY();
    world_open(&w);
    snprintf(path, sizeof path, "%s/asked", w.writable);
    policy = world_policy(&w);
    policy.kill_on_denied = 1;
    config = boxed(&policy);
    config.argv = set_argv("flicker", path);
    box = sbx_start(&config, &result);
    ASSERT_TRUE_MSG(box != NULL, result.message);
    EXPECT_TRUE(test_wait_until(file_is_there, path, 10000));
    sbx_finish(box, &result);
    EXPECT_VERDICT(SBX_DENIED, result);
    sbx_free(&result);
    world_close(&w);
}

/* A notice that a signal takes back before anybody has read it is an attempt all the same. */
UTEST(policy, kill_on_denied_is_not_dodged_by_signals) {
    static const char *const times[] = {"1", "6", "12", "25", "50", "100"};
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    int i, contain, landlock = syscall(444, NULL, 0, 1) > 0;
    int last = landlock ? SBX_CONTAIN_GROUP : SBX_CONTAIN_AUTO;
    NEEDS_EAR();
    policy.kill_on_denied = 1;
    for (contain = SBX_CONTAIN_AUTO; contain <= last; contain++)
        for (i = 0; i < 12; i++) {
            config.contain = (sbx_contain)contain;
            config.argv = set_argv("dodge", times[i % 6], i % 4 ? "itself" : "child");
            TEST_RUN(&config, &result);
            EXPECT_VERDICT(SBX_DENIED, result);
            EXPECT_EQ(1, result.certain);
            sbx_free(&result);
        }
}

/* Who listens for forbidden calls is in the box, too: to end or to stop it does not help. */
static const char *deafen(void *arg) {
    static const int numbers[] = {SIGKILL, SIGSTOP, SIGTERM};
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    int i, *error = (int *)arg;
    if (error && !test_forbid((const int[]){444}, 1, *error)) return "no filter for the test";
    policy.kill_on_denied = 1;
    for (i = 0; i < 6; i++) {
        config.contain = i < 3 ? SBX_CONTAIN_AUTO : SBX_CONTAIN_GROUP;
        if (error && i >= 3) break; /* without Landlock there is no policy in a group */
        config.argv = set_argv("deafen", test_text("%d", numbers[i % 3]));
        MUST_BE_WELL(test_run(&config, &result));
        if (result.verdict != SBX_DENIED)
            return test_text("signal %d: %s", numbers[i % 3], result.message);
        sbx_free(&result);
    }
    return "";
}

UTEST(policy, kill_on_denied_cannot_be_made_deaf) {
    int error = ENOSYS;
    NEEDS_EAR();
    if (syscall(444, NULL, 0, 1) > 0) EXPECT_STREQ("", deafen(NULL));
    EXPECT_STREQ("", test_in_copy(deafen, &error)); /* where Landlock does not guard signals */
}

/* ... and nobody can look over its shoulder, or take the word out of its mouth. */
static const char *eavesdrop(void *arg) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    int *error = (int *)arg;
    if (error && !test_forbid((const int[]){444}, 1, *error)) return "no filter for the test";
    policy.kill_on_denied = 1;
    config.argv = set_argv("eavesdrop");
    MUST_BE_WELL(run_set(&config, WORKED, ""));
    if (error) return "";
    config.contain = SBX_CONTAIN_GROUP;
    return run_set(&config, WORKED, "");
}

UTEST(policy, kill_on_denied_has_nothing_to_take) {
    int error = ENOSYS;
    NEEDS_EAR();
    if (syscall(444, NULL, 0, 1) > 0) EXPECT_STREQ("", eavesdrop(NULL));
    EXPECT_STREQ("", test_in_copy(eavesdrop, &error));
}

/* A host that is pid 1 of a container, or adopts orphans: who listened is no zombie of its own. */
static const char *adopt_and_kill_on_denied(void *arg) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    int i;
    (void)arg;
    TEST_MUST(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    policy.kill_on_denied = 1;
    for (i = 0; i < 4; i++) {
        config.contain = i % 2 ? SBX_CONTAIN_AUTO : SBX_CONTAIN_GROUP;
        config.command = i < 2 ? "exit 0" : "unshare -U true";
        MUST_BE_WELL(test_run(&config, &result));
        sbx_free(&result);
        TEST_MUST(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD);
    }
    return "";
}

UTEST(policy, kill_on_denied_leaves_no_orphan) {
    NEEDS_POLICY();
    NEEDS_GROUP_POLICY();
    EXPECT_STREQ("", test_in_copy(adopt_and_kill_on_denied, NULL));
}

/* ... and when the host is killed, who listened for it does not stay either. */
static const char *killed_while_it_listens(void *arg) {
    pid_t host;
    int i, tries;
    (void)arg;
    TEST_MUST(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    for (i = 0; i < 4; i++) {
        host = fork();
        if (host == 0) {
            sbx_policy policy = {0};
            sbx_config config = boxed(&policy);
            policy.kill_on_denied = 1;
            config.contain = i % 2 ? SBX_CONTAIN_AUTO : SBX_CONTAIN_GROUP;
            config.command = "exec sleep 1";
            sbx_start(&config, NULL);
            kill(getpid(), SIGKILL);
        }
        for (tries = 0; tries < 2000 && (waitpid(-1, NULL, WNOHANG | __WALL) >= 0); tries++)
            test_sleep_ms(5);
        TEST_MUST(errno == ECHILD && tries < 2000);
    }
    return "";
}

UTEST(policy, kill_on_denied_ends_with_the_host) {
    NEEDS_POLICY();
    NEEDS_GROUP_POLICY();
    EXPECT_STREQ("", test_in_copy(killed_while_it_listens, NULL));
}

/* What the child opens for itself has a number of its own, which in the host is somebody else's. */
UTEST(policy, group_closes_nothing_of_the_host) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    sbx_watch watch;
    sbx *box;
    int i;
    NEEDS_GROUP_POLICY();
    config.contain = SBX_CONTAIN_GROUP;
    config.command = "exec sleep 0.2";
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    sbx_get_watch(box, &watch);
    EXPECT_GE(watch.count, 3); /* two streams, the end, and who cancels */
    for (i = 0; i < watch.count; i++) EXPECT_GE(fcntl(watch.fd[i], F_GETFD), 0);
    EXPECT_EQ((int)SBX_OK, (int)sbx_finish(box, &result));
    sbx_free(&result);
}

/* It is nobody's child, is not waited for, and does not keep a box alive. */
UTEST(policy, kill_on_denied_is_not_noticed) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    NEEDS_POLICY();
    policy.kill_on_denied = 1;
    config.command = "sleep 0.01 & wait; echo waited; set -- /proc/[0-9]*; echo $# >&2; "
                     "trap '' TERM; kill -TERM -1; echo alive";
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_STREQ("waited\nalive\n", result.out.data);
    sbx_free(&result);
    policy.deny_spawn = 1;
    config.command = "echo alone; wait; echo waited";
    TEST_RUN(&config, &result);
    EXPECT_STREQ("alone\nwaited\n", result.out.data);
    sbx_free(&result);
}

/* The ear is nobody's child: who waits for all its children is done when they are. */
UTEST(policy, kill_on_denied_leaves_nobody_to_wait_for) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    int i;
    NEEDS_POLICY();
    policy.kill_on_denied = 1;
    config.argv = set_argv("wait");
    for (i = 0; i < 2; i++) {
        if (i == 1 && syscall(444, NULL, 0, 1) < 1) continue;
        if (i == 1) config.contain = SBX_CONTAIN_GROUP;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_STREQ("2 waited for\nend\n", result.out.data);
        sbx_free(&result);
    }
}

/* The machine has only so many contexts for its own files. */
UTEST(policy, contexts_of_the_machine_are_not_to_be_had) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    NEEDS_POLICY();
    config.argv = set_argv("contexts");
    EXPECT_BLOCKED(&config);
}

/* In a group no mount is read-only: what changes an inode through a readable descriptor is denied
   by the filter, whatever the file system would say. */
UTEST(policy, group_changes_no_inode) {
    sbx_policy policy;
    sbx_config config;
    sbx_result result;
    world w;
    NEEDS_GROUP_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    config = boxed(&policy);
    config.contain = SBX_CONTAIN_GROUP;
    config.argv = set_argv("inode", test_text("%s/secret", w.readable));
    TEST_RUN(&config, &result);
    EXPECT_STREQ("setversion EPERM\nverity EPERM\nend\n", result.out.data);
    sbx_free(&result);
    EXPECT_STREQ("", world_close(&w));
}

/* Where the kernel's settings are mounted in a tree that can be written. */
static const char *settings_in_a_tree(void *arg) {
    world *w = (world *)arg;
    char where[PATH_MAX + 32];
    sbx_policy policy = world_policy(w);
    sbx_config config = boxed(&policy);
    const char *const sys[] = {"/sys", NULL};
    sbx_result result;
    int i;
    snprintf(where, sizeof where, "%s/a b", w->writable);
    if (unshare(CLONE_NEWNS) < 0) return "skip: no mounts of its own";
    TEST_MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    TEST_MUST(mkdir(where, 0755) == 0 && mount("proc", where, "proc", 0, NULL) == 0);
    config.command = "exit 0";
    for (i = 0; i < 4; i++) {
        if (i == 2) policy.write = sys;
        config.contain = i % 2 ? SBX_CONTAIN_GROUP : SBX_CONTAIN_TREE;
        TEST_MUST(sbx_run(&config, &result) == SBX_NOT_STARTED);
        TEST_MUST(result.step == SBX_STEP_POLICY && strstr(result.message, "kernel's settings"));
        TEST_MUST(i > 1 || strstr(result.message, where + 1));
        sbx_free(&result);
    }
    config.uid = config.gid = 65534; /* who is not root cannot change them */
    config.contain = SBX_CONTAIN_TREE;
    TEST_MUST(sbx_run(&config, &result) == SBX_OK);
    sbx_free(&result);
    umount2(where, MNT_DETACH);
    return "";
}

UTEST(policy, root_writes_no_settings_of_the_kernel) {
    const char *got;
    NEEDS_POLICY();
    got = in_world(settings_in_a_tree);
    if (strncmp(got, "skip: ", 6) == 0) UTEST_SKIP("no mounts of one's own can be had");
    EXPECT_STREQ("", got);
}

/* Other tables of calls, and ways round the filter, are no accident. */
UTEST(policy, kill_on_denied_ends_foreign_calls) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    NEEDS_POLICY();
    policy.kill_on_denied = 1;
#ifdef __x86_64__
    config.argv = set_argv("foreign_one", "x32");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_DENIED, result);
    EXPECT_TRUE_MSG(strstr(result.message, "x32") != NULL, result.message);
    sbx_free(&result);
    config.argv = set_argv("foreign_one", "i386");
    TEST_RUN(&config, &result);
    if (result.verdict != SBX_CRASHED) { /* a kernel without them */
        EXPECT_VERDICT(SBX_DENIED, result);
        EXPECT_TRUE_MSG(strstr(result.message, "another kind") != NULL, result.message);
    }
    sbx_free(&result);
#endif
    config.argv = set_argv("unknown"); /* but what does not exist does not exist */
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_TRUE_MSG(strstr(result.out.data, "?call_470 ENOSYS\n") != NULL, result.out.data);
    EXPECT_TRUE_MSG(strstr(result.out.data, "worked") == NULL, result.out.data);
    sbx_free(&result);
}

/* Who hardly gets the CPU could keep a pipe's lock, and with it the host. */
UTEST(policy, a58_makes_nobody_slower_than_he_is) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    NEEDS_POLICY();
    config.argv = set_argv("nice");
    EXPECT_BLOCKED(&config);
    config.policy = NULL;
    EXPECT_ALL_WORK(&config);
}

/* What the libc and tools try by themselves does not end them. */
UTEST(policy, kill_on_denied_spares_honest_programs) {
    static const char *const commands[] = {
        "ls -l / /usr >/dev/null",
        "id >/dev/null",
        "tar cf - /etc/passwd 2>/dev/null | tar tf - >/dev/null",
        "git init -q r && cd r && git -c user.name=N -c user.email=e commit -q --allow-empty -m x "
        "&& "
        "git log --oneline >/dev/null && git clone -q . ../c",
        "java -version 2>/dev/null",
        "sqlite3 x.db 'create table t(a); insert into t values(1)'",
        "/usr/bin/python3 -c ''",
        "nice true 2>/dev/null",
        "perl -e 1",
        "df >/dev/null",
        "mktemp >/dev/null",
        NULL};
    world w;
    sbx_policy policy;
    sbx_config config;
    sbx_result result;
    char name[64];
    int i;
    NEEDS_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    policy.kill_on_denied = 1;
    for (i = 0; commands[i]; i++) {
        size_t size = strcspn(commands[i], " ");
        snprintf(name, sizeof name, "%s%.*s", *commands[i] == '/' ? "" : "/usr/bin/", (int)size,
                 commands[i]);
        if (access(name, X_OK) < 0) continue;
        config = boxed(&policy);
        config.command = commands[i];
        config.cwd = w.writable;
        config.timeout_ms = 60000;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_OK, result);
        sbx_free(&result);
    }
    world_close(&w);
}

UTEST(policy, kill_on_denied_spares_what_the_libc_asks) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    int contain;
    NEEDS_POLICY();
    NEEDS_GROUP_POLICY();
    policy.kill_on_denied = 1;
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_GROUP; contain++) {
        config.contain = (sbx_contain)contain;
        config.argv = set_argv("names");
        EXPECT_ALL_WORK(&config);
    }
}

/* A host that ignores SIGCHLD: nobody is left to ask, and it must not wait for a question. */
static const char *end_unnoticed(void *arg) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    int i;
    (void)arg;
    signal(SIGCHLD, SIG_IGN);
    policy.kill_on_denied = 1;
    config.timeout_ms = 5000;
    for (i = 0; i < 10; i++) {
        config.command = i % 2 ? "exit 0" : "sleep 0.05 & exit 0";
        sbx_run(&config, &result);
        if (result.verdict != SBX_OK && result.verdict != SBX_LOST)
            return test_text("%s", result.message);
        sbx_free(&result);
    }
    return "";
}

UTEST(policy, kill_on_denied_does_not_wait_for_the_dead) {
    NEEDS_POLICY();
    EXPECT_STREQ("", test_in_copy(end_unnoticed, NULL));
}

UTEST(policy, a_sigsys_of_its_own_is_a_crash) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    NEEDS_POLICY();
    for (policy.kill_on_denied = 0; policy.kill_on_denied < 2; policy.kill_on_denied++) {
        config.argv = test_child_argv("raise", test_text("%d", SIGSYS));
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_CRASHED, result);
        EXPECT_EQ(SIGSYS, result.signal);
        EXPECT_EQ(1, result.certain);
        sbx_free(&result);
    }
}

UTEST(policy, enforced_tells_what_was_in_force) {
    unsigned all = SBX_BY_TREE | SBX_BY_ROOT | SBX_BY_SECCOMP | SBX_BY_NO_NEW_PRIVS;
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    NEEDS_POLICY();
    if (syscall(444, NULL, 0, 1) > 0) all |= SBX_BY_LANDLOCK;
    config.argv = test_child_argv("exit", "3");
    TEST_RUN(&config, &result);
    EXPECT_EQ(3, result.exit_code);
    EXPECT_EQ(all, (result.enforced & all));
    sbx_free(&result);
    config.policy = NULL;
    TEST_RUN(&config, &result);
    EXPECT_EQ(0u, (result.enforced & (all & ~SBX_BY_TREE)));
    sbx_free(&result);
}

/* Limits and a policy do not get into each other's way. */
UTEST(policy, limits_hold_under_a_policy) {
    static const long long few[] = {3, 4, 5, 6, 16};
    world w;
    sbx_policy policy;
    sbx_config config;
    sbx_result result;
    size_t i;
    NEEDS_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    for (policy.kill_on_denied = 0; policy.kill_on_denied < 2; policy.kill_on_denied++)
        for (i = 0; i < sizeof few / sizeof few[0]; i++) { /* descriptors that the set-up needs */
            config = boxed(&policy);
            config.command = "echo ran";
            config.open_files = few[i];
            TEST_RUN(&config, &result);
            if (few[i] > 10) EXPECT_STREQ_MSG("ran\n", result.out.data, result.message);
            EXPECT_NE_MSG(SBX_STEP_POLICY, (int)result.step, result.message);
            sbx_free(&result);
        }
    policy.kill_on_denied = 0;
    config = boxed(&policy);
    config.argv = test_child_argv("sleep", "10000");
    config.timeout_ms = 200;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    sbx_free(&result);
    config = boxed(&policy);
    config.argv = test_child_argv("memory", "own", "64");
    config.memory_bytes = 24 << 20;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
    sbx_free(&result);
    config = boxed(&policy);
    config.argv = test_child_argv("fill_file", test_text("%s/big", w.writable), "100000");
    config.file_bytes = 5000;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_FILE_LIMIT, result);
    sbx_free(&result);
    config = boxed(&policy);
    config.argv = test_child_argv("flood", "out");
    config.output_bytes = 10000;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OUTPUT_LIMIT, result);
    EXPECT_EQ((size_t)10000, result.out.size);
    sbx_free(&result);
    EXPECT_STREQ("", world_close(&w));
}

UTEST(policy, handles_work_under_a_policy) {
    test_host before;
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    sbx *box[4];
    int i;
    NEEDS_POLICY();
    test_host_save(&before);
    config.in = SBX_PIPE;
    for (i = 0; i < 4; i++) {
        policy.kill_on_denied = i % 2;
        config.argv = i < 2 ? test_child_argv("cat") : test_child_argv("sleep", "15000");
        config.argv = NULL;
        config.command = i < 2 ? "cat" : "sleep 15";
        box[i] = sbx_start(&config, &result);
        ASSERT_TRUE_MSG(box[i] != NULL, result.message);
    }
    memset(&policy, 0xFF, sizeof policy); /* it was the host's, and is needed no longer */
    for (i = 0; i < 2; i++) {
        EXPECT_EQ(5LL, sbx_write(box[i], "hello", 5));
        sbx_close_input(box[i]);
        sbx_finish(box[i], &result);
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_STREQ("hello", result.out.data);
        sbx_free(&result);
    }
    for (i = 2; i < 4; i++) {
        EXPECT_EQ(0, sbx_poll(box[i], 0));
        sbx_cancel(box[i]);
        sbx_finish(box[i], &result);
        EXPECT_VERDICT(SBX_CANCELLED, result);
        sbx_free(&result);
    }
    EXPECT_STREQ("", test_host_diff(&before));
}

/* ==== Functions under a policy ================================================================ */

/* sbx_call, and afterwards the host is as it was; "" = so it is. */
static const char *call(const sbx_config *config, sbx_fn fn, void *arg, void *ret, size_t size,
                        sbx_result *result) {
    static test_host before;
    unsigned long mounts = host_mounts();
    const char *flaw;
    test_host_save(&before);
    sbx_call(config, fn, arg, ret, size, result);
    flaw = test_host_diff(&before);
    if (!*flaw) flaw = test_result_flaw(config, result);
    return *flaw || mounts == host_mounts() ? flaw : "the host's mounts changed";
}

typedef struct tried {
    int opened, listed, wrote, network, pair, spawned, signalled, memory, descriptors, threads, sum;
    unsigned caps[6];
} tried;

static void *nothing(void *arg) { return arg; }

/* As much as a decoder that was taken over could try. arg: the host's pid. */
static int try_everything(void *arg, void *ret, size_t size) {
    static const char *const files[] = {"/etc/passwd", "/",         "/usr",    "/proc/self/status",
                                        "/dev/null",   "/dev/zero", "/bin/sh", ".",
                                        "..",          "/tmp",      "/lib"};
    unsigned head[2] = {0x20080522u, 0};
    tried *t = (tried *)ret;
    pthread_t thread;
    size_t i;
    int pair[2], pid = *(const int *)arg;
    long clone;
    if (size != sizeof *t) return 1;
    for (i = 3; i < 512; i++) t->descriptors += fcntl((int)i, F_GETFD) >= 0;
    for (i = 0; i < sizeof files / sizeof files[0]; i++) {
        t->opened += open(files[i], O_RDONLY) >= 0;
        t->wrote += open(files[i], O_WRONLY) >= 0;
        t->listed += opendir(files[i]) != NULL;
    }
    t->wrote += open("/tmp", O_TMPFILE | O_RDWR, 0600) >= 0;
    for (i = 0; i < 46; i++)
        t->network += socket((int)i, SOCK_STREAM, 0) >= 0 || socket((int)i, SOCK_DGRAM, 0) >= 0;
    t->network += socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0;
    t->pair = socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;
    clone = syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
    if (clone == 0) syscall(SYS_exit_group, 0);
    t->spawned = clone > 0;
    t->signalled = kill(pid, 0) == 0 || kill(-1, 0) == 0;
    t->memory = syscall(SYS_memfd_create, "x", 0) >= 0;
    t->threads =
        pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0;
    syscall(SYS_capget, head, t->caps);
    for (i = 1; i <= 100; i++) t->sum += (int)i;
    return 0;
}

UTEST(policy, call_can_only_compute) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    tried t;
    int host = (int)getpid();
    int bare = syscall(444, NULL, 0, 1) > 0 ? 0 : 3; /* an empty "/", ".", ".." */
    NEED_CALL();
    NEEDS_POLICY();
    policy.no_system = 1;
    policy.deny_spawn = 1;
    memset(&t, 0xFF, sizeof t);
    EXPECT_STREQ("", call(&config, try_everything, &host, &t, sizeof t, &result));
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ(bare, t.opened);
    EXPECT_EQ(bare, t.listed);
    EXPECT_EQ(0, t.wrote);
    EXPECT_EQ(0, t.network);
    EXPECT_EQ(1, t.pair);
    EXPECT_EQ(0, t.spawned);
    EXPECT_EQ(0, t.signalled);
    EXPECT_EQ(0, t.memory);
    EXPECT_EQ(0, t.descriptors);
    EXPECT_EQ(1, t.threads);
    EXPECT_EQ(5050, t.sum);
    EXPECT_EQ(0u, (t.caps[0] | t.caps[1] | t.caps[2] | t.caps[3] | t.caps[4] | t.caps[5]));
    sbx_free(&result);
    config = unboxed(SBX_CONTAIN_GROUP); /* and it would have worked */
    EXPECT_STREQ("", call(&config, try_everything, &host, &t, sizeof t, &result));
    EXPECT_LT(5, t.opened);
    EXPECT_LT(2, t.listed);
    EXPECT_LT(1, t.network);
    EXPECT_EQ(1, t.signalled);
    EXPECT_EQ(1, t.spawned);
    sbx_free(&result);
}

static int open_passwd(void *arg, void *ret, size_t size) {
    (void)ret, (void)size;
    if (open("/etc/passwd", O_RDONLY) >= 0) return 0;
    sbx_fail("%s: errno %d", (const char *)arg, errno);
    return 1;
}

static int make_socket(void *arg, void *ret, size_t size) {
    (void)arg, (void)ret, (void)size;
    printf("before\n");
    fflush(stdout);
    socket(AF_INET, SOCK_STREAM, 0);
    return 0;
}

UTEST(policy, call_obeys_the_same_policy) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    char word[] = "no file";
    NEED_CALL();
    NEEDS_POLICY();
    EXPECT_STREQ("", call(&config, open_passwd, word, NULL, 0, &result));
    EXPECT_VERDICT(SBX_OK, result); /* the system can be read */
    sbx_free(&result);
    policy.no_system = 1;
    EXPECT_STREQ("", call(&config, open_passwd, word, NULL, 0, &result));
    EXPECT_VERDICT(SBX_NO_RESULT, result);
    EXPECT_STREQ(test_text("no file: errno %d", ENOENT), result.message);
    sbx_free(&result);
    policy.kill_on_denied = 1;
    EXPECT_STREQ("", call(&config, make_socket, NULL, NULL, 0, &result));
    EXPECT_VERDICT(SBX_DENIED, result);
    EXPECT_EQ(1, result.certain);
    EXPECT_STREQ("before\n", result.out.data);
    EXPECT_TRUE_MSG(strstr(result.message, "socket (number ") != NULL, result.message);
    sbx_free(&result);
}

/* The function may write wherever it can reach, and must not mislead the host about which process
   to wait for or to kill. It fills the page around its result with another's number. */
static int scribble(void *arg, void *ret, size_t size) {
    int *page = (int *)(void *)((char *)ret - ((size_t)ret & 4095));
    (void)size;
    while ((void *)page < ret) *page++ = *(const int *)arg;
    return 0;
}

UTEST(policy, call_cannot_point_the_host_at_others) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    int i, number, misled = 0;
    long long until;
    pid_t victim;
    char word[16];
    NEED_CALL();
    NEEDS_POLICY();
    policy.no_system = 1;
    config.timeout_ms = 3000;
    victim = victim_start();
    number = (int)victim;
    until = test_now_ms() + 400;
    for (i = 0; test_now_ms() < until && !misled; i++) { /* it is a race: often lost */
        sbx_call(&config, scribble, &number, word, sizeof word, &result);
        misled = result.verdict != SBX_OK && result.verdict != SBX_NO_RESULT;
        if (misled) printf("   Round %d : %s\n", i, result.message);
        sbx_free(&result);
    }
    EXPECT_EQ(0, misled);
    EXPECT_STREQ("", victim_end(victim));
}

/* While a function starts it shares its memory with the process that made it. Whatever it changes
   there must not be run by that one, which no policy holds. */
static int change_code(void *arg, void *ret, size_t size) {
#ifdef __x86_64__
    /* syscall() becomes: open("...", O_CREAT); exit_group(0) */
    static unsigned char code[] = {
        0x48, 0xBF, 0,    0, 0, 0, 0, 0,    0,    0,    0xBE, 0x41, 0,    0, 0, 0xBA, 0xA4, 1,
        0,    0,    0xB8, 2, 0, 0, 0, 0x0F, 0x05, 0x31, 0xFF, 0xB8, 0xE7, 0, 0, 0,    0x0F, 0x05};
    char *at;
    long (*call_it)(long, ...) = syscall;
    volatile int i;
    memcpy(&at, &call_it, sizeof at);
    memcpy(code + 2, &arg, 8);
    if (mprotect(at - ((size_t)at & 4095), 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return 1;
    memcpy(at, code, sizeof code);
    for (i = 0; i < 30000; i++) continue;
#else
    (void)arg;
#endif
    (void)ret, (void)size;
    return 0;
}

/* Is it in a namespace below ours? Then it has more than one number. */
static int is_inside(int pid) {
    char text[4096], *line;
    int fd = open(test_text("/proc/%d/status", pid), O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
    line = strstr(text, "\nNSpid:\t");
    return line && strcspn(line + 8, "\t\n") < strcspn(line + 8, "\n");
}

/* Outside the box, sends of the calling thread and of all that it starts take 60 ms: what is a
   matter of luck becomes a matter of course. */
static void *let_them_wait(void *arg) {
    int listener = *(const int *)arg;
    for (;;) {
        unsigned long long request[10], answer[3]; /* struct seccomp_notif, seccomp_notif_resp */
        memset(request, 0, sizeof request);
        if (ioctl(listener, 0xC0502100ul, request) < 0) {
            if (errno == EINTR || errno == ENOENT) continue;
            return NULL;
        }
        if (!is_inside((int)(unsigned)request[1])) test_sleep_ms(60);
        answer[0] = request[0];
        answer[1] = 0;
        answer[2] = 1ULL << 32; /* no error; SECCOMP_USER_NOTIF_FLAG_CONTINUE */
        ioctl(listener, 0xC0182101ul, answer);
    }
}

static int slow_down_sends(void) {
    static int listener;
    struct {
        unsigned short code;
        unsigned char yes, no;
        unsigned k;
    } code[] = {{0x20, 0, 0, 0},
                {0x15, 0, 1, SYS_sendmsg},
                {0x06, 0, 0, 0x7FC00000u},
                {0x06, 0, 0, 0x7FFF0000u}};
    struct {
        unsigned short size;
        void *at;
    } filter = {4, code};
    pthread_t thread;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 0;
    listener = (int)syscall(SYS_seccomp, 1, 8, &filter); /* this thread only */
    return listener >= 0 && pthread_create(&thread, NULL, let_them_wait, &listener) == 0;
}

static const char *call_and_escape(void *arg) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    int i;
    policy.no_system = 1;
    if (!slow_down_sends()) return "nothing can be slowed down here";
    for (i = 0; i < 3; i++) {
        sbx_call(&config, change_code, arg, NULL, 0, &result);
        TEST_MUST(result.verdict != SBX_NOT_STARTED);
        sbx_free(&result);
        if (access((const char *)arg, F_OK) == 0) return "its code ran outside";
    }
    return "";
}

UTEST(policy, call_cannot_change_what_runs_outside) {
    world w;
    char path[PATH_MAX + 32], got[512];
    NEED_CALL();
    NEEDS_POLICY();
#ifndef __x86_64__
    UTEST_SKIP("the code is for another machine");
#endif
    if (test_is_asan()) UTEST_SKIP("under the sanitizer syscall() is not where it seems");
    world_open(&w);
    snprintf(path, sizeof path, "%s/escaped", w.base);
    snprintf(got, sizeof got, "%s", test_in_copy(call_and_escape, path));
    EXPECT_STREQ("", world_close(&w));
    if (strstr(got, "slowed down")) UTEST_SKIP(got);
    EXPECT_STREQ("", got);
}

/* Two calls at once: one writes into every shared page it finds that is not its own. */
static int slow_result(void *arg, void *ret, size_t size) {
    volatile int *flag = (volatile int *)arg;
    int i;
    (void)size;
    *(int *)ret = 1234;
    for (i = 0; i < 4000 && *flag < 2; i++) {
        if (*flag == 0) *flag = 1;
        test_sleep_ms(1);
    }
    return 0;
}

static int spoil_pages(void *arg, void *ret, size_t size) {
    static char text[1 << 16];
    char *own = (char *)ret - ((size_t)ret & 4095), *keep = (char *)arg;
    int fd = open("/proc/self/maps", O_RDONLY), n = 0;
    size_t used = 0;
    ssize_t got;
    char *line;
    (void)size;
    while (fd >= 0 && used < sizeof text - 1 &&
           (got = read(fd, text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = 0;
    for (line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        unsigned long from, to;
        char kind[5];
        if (sscanf(line, "%lx-%lx %4s", &from, &to, kind) != 3 || strcmp(kind, "rw-s") != 0)
            continue;
        if ((char *)from <= own && own < (char *)to) continue;
        if ((char *)from <= keep && keep < (char *)to) continue;
        memset((char *)from, 0x41, to - from);
        n++;
    }
    *(int *)ret = n;
    return 0;
}

typedef struct slow {
    int *flag, value;
    sbx_verdict verdict;
    sbx_policy policy;
} slow;

static void *slow_call(void *arg) {
    slow *s = (slow *)arg;
    sbx_config config = boxed(&s->policy);
    sbx_result result;
    s->verdict = sbx_call(&config, slow_result, s->flag, &s->value, sizeof s->value, &result);
    sbx_free(&result);
    return NULL;
}

static int flag_is_up(void *flag) { return *(volatile int *)flag != 0; }

UTEST(policy, call_cannot_spoil_anothers_result) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    slow s;
    pthread_t thread;
    int spoiled = -1;
    int *flag;
    NEED_CALL();
    NEEDS_POLICY();
    flag = (int *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE(flag != MAP_FAILED);
    *flag = 0;
    memset(&s, 0, sizeof s);
    s.flag = flag;
    s.policy.no_system = 1;
    ASSERT_EQ(0, pthread_create(&thread, NULL, slow_call, &s));
    EXPECT_TRUE(test_wait_until(flag_is_up, flag, 0));
    sbx_call(&config, spoil_pages, flag, &spoiled, sizeof spoiled, &result);
    EXPECT_VERDICT(SBX_OK, result);
    sbx_free(&result);
    *(volatile int *)flag = 2;
    pthread_join(thread, NULL);
    EXPECT_EQ(SBX_OK, (int)s.verdict);
    EXPECT_EQ(1234, s.value);
    munmap(flag, 4096);
}

/* ==== Fail closed ============================================================================= */

#if defined(__x86_64__)
#define ARCH 0xC000003Eu
#elif defined(__aarch64__)
#define ARCH 0xC00000B7u
#elif defined(__i386__)
#define ARCH 0x40000003u
#elif defined(__arm__)
#define ARCH 0x40000028u
#else
#define ARCH 0u
#endif

/* A kernel that has not got a call, or does not allow it: only if the argument has the bits, or is
   the value; `bits` 0 = always. */
typedef struct broken {
    const char *what;
    long number;
    int error, arg;
    unsigned bits, value;
    int only_write; /* matters only where the policy has a writable tree */
    int only_root;
    const char *needle; /* of the message */
} broken;

static int break_call(const broken *b) {
    struct {
        unsigned short code;
        unsigned char yes, no;
        unsigned k;
    } code[] = {{0x20, 0, 0, 0}, /* the number */
                {0x15, 0, 4, (unsigned)b->number},
                {0x20, 0, 0, 16u + 8u * (unsigned)b->arg}, /* the argument */
                {0x54, 0, 0, b->bits},
                {0x15, 0, 1, b->value & b->bits},
                {0x06, 0, 0, 0x00050000u | (unsigned)b->error},
                {0x06, 0, 0, 0x7FFF0000u}};
    struct {
        unsigned short size;
        void *at;
    } filter = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, 2, &filter) == 0;
}

static int leave_mark(void *arg, void *ret, size_t size) {
    (void)ret, (void)size;
    *(volatile int *)arg = 1;
    return 0;
}

/* Nothing runs under this policy, neither a program nor a function, and the message says why. */
static const char *nothing_runs(sbx_policy *policy, const char *dir, const char *needle) {
    static test_host before;
    const char *marker = test_text("%s/marker", dir);
    sbx_config config = boxed(policy);
    sbx_result result;
    int *ran = (int *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int round;
    TEST_MUST(ran != MAP_FAILED);
    for (round = 0; round < 4; round++) {
        if (round % 2 && !test_has_call()) continue;
        policy->kill_on_denied = round / 2;
        config.argv = round % 2 ? NULL : test_child_argv("touch", marker);
        test_host_save(&before);
        if (round % 2) sbx_call(&config, leave_mark, ran, NULL, 0, &result);
        else {
            const char *const argv[] = {test_child(), "touch", marker, NULL};
            config.argv = argv;
            sbx_run(&config, &result);
        }
        if (*test_host_diff(&before)) return test_host_diff(&before);
        if (access(marker, F_OK) == 0 || *ran) return test_text("it ran: %s", result.message);
        if (result.verdict != SBX_NOT_STARTED || result.step != SBX_STEP_POLICY)
            return test_text("%s at step %d: %s", sbx_verdict_name(result.verdict),
                             (int)result.step, result.message);
        if (!strstr(result.message, needle))
            return test_text("'%s' does not speak of '%s'", result.message, needle);
        TEST_MUST(result.sys_errno != 0);
        sbx_free(&result);
    }
    policy->kill_on_denied = 0;
    munmap(ran, 4096);
    return "";
}

static const char *program_is_refused(sbx_policy *policy, const char *dir, const char *needle) {
    const char *marker = test_text("%s/marker", dir);
    const char *const argv[] = {test_child(), "touch", marker, NULL};
    sbx_config config = boxed(policy);
    sbx_result result;
    config.argv = argv;
    sbx_run(&config, &result);
    TEST_MUST(access(marker, F_OK) < 0);
    if (result.verdict != SBX_NOT_STARTED || result.step != SBX_STEP_POLICY ||
        !strstr(result.message, needle))
        return test_text("%s: %s", sbx_verdict_name(result.verdict), result.message);
    sbx_free(&result);
    return "";
}

static const char *probe_says_no(const char *needle) {
    sbx_caps caps;
    sbx_probe(&caps);
    if (caps.policy) return "sbx_probe says that policies work";
    return strstr(caps.policy_why, needle) ? "" : test_text("sbx_probe: '%s'", caps.policy_why);
}

static const char *refused_when_broken(void *arg) {
    const broken *b = (const broken *)arg;
    char dir[PATH_MAX];
    const char *write[] = {dir, NULL}, *flaw;
    sbx_policy policy = {0};
    policy.write = write;
    test_tmpdir(dir);
    if (!break_call(b)) flaw = "no filter for the test";
    else flaw = nothing_runs(&policy, dir, b->needle);
    if (!*flaw && !b->only_write) flaw = probe_says_no(b->needle);
    test_remove_tree(dir);
    return *flaw ? test_text("%s: %s", b->what, flaw) : "";
}

UTEST(policy, a_missing_piece_is_named_and_nothing_runs) {
    static const broken cases[] = {
        {"no rules", 445, EINVAL, 0, 0, 0, 0, 0, "Landlock"},
        {"no restriction", 446, EPERM, 0, 0, 0, 0, 0, "Landlock"},
        {"no filters", SYS_seccomp, ENOSYS, 0, 0, 0, 0, 0, "filter"},
        {"no mount_setattr", 442, ENOSYS, 0, 0, 0, 0, 0, "mounts"},
        {"no open_tree", 428, ENOSYS, 0, 0, 0, 1, 0, "mounts"},
        {"no move_mount", 429, EPERM, 0, 0, 0, 1, 0, "mounts"},
        {"no mount", SYS_mount, EPERM, 0, 0, 0, 0, 0, "mounts"},
        {"no new root", SYS_chroot, EPERM, 0, 0, 0, 0, 0, "mounts"},
        {"no mount namespace", SYS_unshare, EPERM, 0, CLONE_NEWNS, CLONE_NEWNS, 0, 0, "mounts"},
        {"no namespaces", SYS_unshare, EPERM, 0, 0, 0, 0, 0, "namespace"},
        {"no PID namespace", SYS_unshare, EPERM, 0, CLONE_NEWPID, CLONE_NEWPID, 0, 0, "namespace"},
        {"no capset", SYS_capset, EPERM, 0, 0, 0, 0, 0, "policy"},
        {"no securebits", SYS_prctl, EPERM, 0, 0xFF, PR_SET_SECUREBITS, 0, 1, "privileges"},
    };
    size_t i;
    NEEDS_POLICY();
    if (!ARCH) UTEST_SKIP("the test's own filter is not for this architecture");
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if ((!cases[i].only_root || geteuid() == 0) &&
            (strcmp(cases[i].needle, "Landlock") != 0 || syscall(444, NULL, 0, 1) > 0))
            EXPECT_STREQ("", test_in_copy(refused_when_broken, (void *)(size_t)&cases[i]));
}

static void drop_caps(void) {
    unsigned head[2] = {0x20080522u, 0}, none[6] = {0};
    syscall(SYS_capset, head, none);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static const char *without_user_namespaces(void *arg) {
    char dir[PATH_MAX];
    sbx_policy policy = {0};
    sbx_config config = unboxed(SBX_CONTAIN_TREE);
    sbx_result result;
    sbx_caps caps;
    const char *flaw;
    (void)arg;
    if (!enter_user_namespace(0)) return "no namespace to begin with";
    if (!put("/proc/sys/user/max_user_namespaces", "0")) return "they cannot be switched off";
    drop_caps();
    test_tmpdir(dir);
    flaw = nothing_runs(&policy, dir, "namespace");
    test_remove_tree(dir);
    if (!*flaw) flaw = probe_says_no("namespace");
    if (*flaw) return flaw;
    sbx_probe(&caps);
    config.command = "exit 0";
    sbx_run(&config, &result);
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_CONTAIN && !caps.tree);
    sbx_free(&result);
    config.contain = SBX_CONTAIN_AUTO;
    sbx_run(&config, &result);
    TEST_MUST(result.verdict == SBX_OK && !(result.enforced & SBX_BY_TREE));
    sbx_free(&result);
    return "";
}

UTEST(policy, without_user_namespaces_nothing_runs) {
    const char *got;
    NEEDS_POLICY();
    got = test_in_copy(without_user_namespaces, NULL);
    if (strstr(got, "to begin with") || strstr(got, "switched off")) UTEST_SKIP(got);
    EXPECT_STREQ("", got);
}

/* Other limits on namespaces, by their names; and the way out is told. */
static const char *without_some_namespaces(void *arg) {
    static const char *const settings[] = {"max_user_namespaces", "max_pid_namespaces",
                                           "max_mnt_namespaces"};
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    sbx_caps caps;
    int which = *(int *)arg;
    if (!enter_user_namespace(0)) return "no namespace to begin with";
    if (!put(test_text("/proc/sys/user/%s", settings[which]), "0"))
        return "they cannot be switched off";
    if (which == 0) drop_caps(); /* so that root needs one, too */
    config.command = "exit 0";
    sbx_run(&config, &result);
    TEST_MUST(result.verdict == SBX_NOT_STARTED);
    MUST_BE_WELL(test_lacks(result.message, "contain = SBX_CONTAIN_GROUP needs none"));
    MUST_BE_WELL(test_lacks(result.message, settings[which]));
    sbx_probe(&caps);
    TEST_MUST(!caps.policy && caps.group_policy);
    sbx_free(&result);
    config.contain = SBX_CONTAIN_GROUP;
    config.command = "grep CapPrm /proc/self/status";
    sbx_run(&config, &result);
    if (strcmp(result.out.data, "CapPrm:\t0000000000000000\n") != 0)
        return test_text("%s: %s", result.message, result.out.data);
    sbx_free(&result);
    return "";
}

UTEST(policy, the_setting_in_the_way_is_named) {
    int which;
    NEEDS_POLICY();
    NEEDS_GROUP_POLICY();
    for (which = 0; which < 3; which++) {
        const char *got = test_in_copy(without_some_namespaces, &which);
        if (strstr(got, "to begin with") || strstr(got, "switched off")) UTEST_SKIP(got);
        EXPECT_STREQ("", got);
    }
}

typedef struct seen {
    int host_process, system;
} seen;

static int look_around(void *arg, void *ret, size_t size) {
    seen *s = (seen *)ret;
    (void)size;
    s->host_process = access((const char *)arg, F_OK) == 0;
    s->system = open("/etc/passwd", O_RDONLY) >= 0;
    return 0;
}

/* A container hides parts of /proc, and the kernel then refuses a fresh one. */
static const char *with_masked_proc(void *arg) {
    char dir[PATH_MAX];
    char host[32];
    sbx_policy policy = {0};
    sbx_config config = unboxed(SBX_CONTAIN_TREE);
    sbx_result result;
    seen s = {1, 1};
    const char *flaw;
    (void)arg;
    if (!enter_user_namespace(CLONE_NEWNS)) return "no namespace to begin with";
    if (mount("none", "/proc/sys", "tmpfs", 0, NULL) < 0) return "it cannot be switched off";
    if (!enter_user_namespace(CLONE_NEWNS)) return "no namespace to begin with"; /* locks it */
    test_tmpdir(dir);
    flaw = program_is_refused(&policy, dir, "mounts of its own (/proc)");
    if (!*flaw) flaw = program_is_refused(&policy, dir, "hidden, as in containers; contain = SBX_");
    test_remove_tree(dir);
    if (!*flaw) flaw = probe_says_no("/proc");
    if (*flaw) return flaw;
    config.command = "exit 3"; /* the tree needs no /proc of its own */
    sbx_run(&config, &result);
    TEST_MUST(result.exit_code == 3 && result.enforced & SBX_BY_TREE);
    sbx_free(&result);
    for (policy.no_system = 0; policy.no_system < 2; policy.no_system++) {
        config = boxed(&policy); /* a function sees no /proc anyway; but not the host's */
        snprintf(host, sizeof host, "/proc/%d", (int)getpid());
        if (!test_has_call()) return "";
        sbx_call(&config, look_around, host, &s, sizeof s, &result);
        if (result.verdict != SBX_OK) return test_text("%s", result.message);
        TEST_MUST(s.system == !policy.no_system);
        TEST_MUST(!s.host_process);
        sbx_free(&result);
    }
    return "";
}

UTEST(policy, with_a_masked_proc_no_program_runs) {
    const char *got;
    NEEDS_POLICY();
    got = test_in_copy(with_masked_proc, NULL);
    if (strstr(got, "to begin with") || strstr(got, "switched off")) UTEST_SKIP(got);
    EXPECT_STREQ("", got);
}

/* Landlock is the second lock: where it is missing, root and filter are the policy. */
static const char *without_landlock(void *arg) {
    const unsigned all = SBX_BY_TREE | SBX_BY_ROOT | SBX_BY_SECCOMP | SBX_BY_NO_NEW_PRIVS;
    const broken *b = (const broken *)arg;
    world w;
    sbx_policy policy;
    sbx_config config;
    sbx_result result;
    sbx_caps caps;
    if (!break_call(b)) return "no filter for the test";
    world_open(&w);
    policy = world_policy(&w);
    config = boxed(&policy);
    config.argv = set_argv("read", w.outside, w.readable, w.writable);
    config.cwd = w.readable;
    if (*run_set(&config, WORKED, "")) return "it reads what is outside";
    config.argv = set_argv("write", w.outside, w.writable);
    if (*run_set(&config, WORKED, "")) return "it changes what is outside";
    config.argv = test_child_argv("exit", "3");
    sbx_run(&config, &result);
    TEST_MUST(result.exit_code == 3 && (result.enforced & all) == all);
    TEST_MUST(!(result.enforced & SBX_BY_LANDLOCK));
    sbx_free(&result);
    config.argv = NULL; /* the root itself, and what stands in it, cannot be changed */
    config.command = "exec 2>/dev/null; (echo x >/x) || (echo x >/etc/x) || (chmod 700 /usr) || "
                     "(echo x >/etc/passwd) || (mkdir /dev/x) || echo fixed";
    sbx_run(&config, &result);
    if (strcmp(result.out.data, "fixed\n") != 0) return "its root can be changed";
    sbx_free(&result);
    config.command = NULL;
    config.argv = test_child_argv("exit", "3");
    config.contain = SBX_CONTAIN_GROUP; /* but in a group there is nothing else */
    sbx_run(&config, &result);
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_POLICY);
    TEST_MUST(strstr(result.message, "Landlock") != NULL);
    sbx_free(&result);
    sbx_probe(&caps);
    TEST_MUST(caps.policy && !caps.landlock && !caps.group_policy);
    return world_close(&w);
}

UTEST(policy, without_landlock_the_rest_holds) {
    static const broken cases[] = {{"no Landlock", 444, ENOSYS, 0, 0, 0, 0, 0, ""},
                                   {"Landlock off", 444, EOPNOTSUPP, 0, 0, 0, 0, 0, ""}};
    size_t i;
    NEEDS_POLICY();
    if (!ARCH) UTEST_SKIP("the test's own filter is not for this architecture");
    for (i = 0; i < 2; i++)
        EXPECT_STREQ("", test_in_copy(without_landlock, (void *)(size_t)&cases[i]));
}

/* ==== In a group: Landlock and the filter alone =============================================== */

UTEST(policy, group_files) {
    world w;
    sbx_policy policy;
    sbx_config config;
    NEEDS_GROUP_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    config = boxed(&policy);
    config.contain = SBX_CONTAIN_GROUP;
    config.cwd = w.readable;
    config.argv = set_argv("read", w.outside, w.readable, w.writable);
    EXPECT_BLOCKED(&config);
    config.cwd = NULL;
    config.argv = set_argv("write", w.readable, w.writable);
    EXPECT_BLOCKED(&config);
    config.argv = set_argv("exec", w.outside, w.readable, w.writable);
    EXPECT_BLOCKED(&config);
    config.argv = set_argv("set_id", w.writable);
    EXPECT_BLOCKED(&config);
    config.argv = set_argv("nodes", w.writable);
    EXPECT_BLOCKED(&config);
    EXPECT_STREQ("", world_close(&w));
    world_open(&w); /* every file is tried once */
    config.argv = set_argv("write", w.outside, w.writable);
    EXPECT_BLOCKED(&config);
    config.argv = set_argv("own", w.writable); /* modes, times and owners stay, also here */
    if (syscall(444, NULL, 0, 1) < 3)
        EXPECT_ALL_WORK_BUT("chmod  utime  chown  read_truncate", &config);
    else EXPECT_ALL_WORK_BUT("chmod  utime  chown", &config);
    config.argv = set_argv("metadata", w.outside); /* and stat shows what exists */
    EXPECT_ALL_WORK(&config);
    EXPECT_STREQ("", world_close(&w));
}

UTEST(policy, group_network_and_kernel) {
    world w;
    listeners l;
    const char *argv[12];
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    NEEDS_GROUP_POLICY();
    world_open(&w);
    config.contain = SBX_CONTAIN_GROUP;
    ASSERT_TRUE(listeners_open(&l, w.writable));
    use_listeners(&config, argv, &l);
    EXPECT_BLOCKED(&config);
    EXPECT_EQ(0, listeners_close(&l));
    config.argv = set_argv("families");
    EXPECT_BLOCKED_BUT("pair_1_1  pair_1_5", &config);
    config.argv = set_argv("kernel");
    EXPECT_BLOCKED(&config);
    config.argv = set_argv("foreign");
    EXPECT_BLOCKED(&config);
    config.argv = set_argv("namespaces");
    EXPECT_BLOCKED(&config);
    config.argv = set_argv("mounts", w.writable);
    EXPECT_BLOCKED(&config);
    config.argv = set_argv("become");
    EXPECT_BLOCKED(&config);
    config.argv = set_argv("pairs");
    EXPECT_ALL_WORK(&config);
    config.argv = set_argv("devices");
    EXPECT_ALL_WORK(&config);
    EXPECT_STREQ("", world_close(&w));
}

UTEST(policy, group_processes) {
    pid_t victim;
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    char number[16];
    NEEDS_GROUP_POLICY();
    if (syscall(444, NULL, 0, 1) < 6) UTEST_SKIP("before version 6 Landlock lets signals out");
    config.contain = SBX_CONTAIN_GROUP;
    victim = victim_start();
    snprintf(number, sizeof number, "%d", (int)victim);
    config.argv = set_argv("process", number);
    /* They can be seen. kill(-1) says so whoever hears it, and nobody does. */
    EXPECT_BLOCKED_BUT("kill_all  ?pidfd_open  see  stat  command  ?descriptors  get_affinity "
                       " group  session  own_signals_to",
                       &config);
    EXPECT_STREQ("", victim_end(victim));
}

UTEST(policy, group_is_said_to_be_one) {
    const unsigned all = SBX_BY_LANDLOCK | SBX_BY_SECCOMP | SBX_BY_NO_NEW_PRIVS;
    world w;
    const char *list[2] = {NULL, NULL};
    sbx_policy policy;
    sbx_config config;
    sbx_result result;
    NEEDS_GROUP_POLICY();
    world_open(&w);
    policy = world_policy(&w);
    config = boxed(&policy);
    config.contain = SBX_CONTAIN_GROUP;
    config.command = "echo $HOME $TMPDIR; echo x >$TMPDIR/x && cat $HOME/x";
    TEST_RUN(&config, &result);
    EXPECT_STREQ(test_text("%s %s\nx\n", w.writable, w.writable), result.out.data);
    EXPECT_EQ(all, (result.enforced & (all | SBX_BY_TREE | SBX_BY_ROOT)));
    sbx_free(&result);
    /* What Landlock cannot express is not silently less. */
    list[0] = test_text("%s/inner", w.writable);
    ASSERT_EQ(0, mkdir(list[0], 0755));
    policy.read = list;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_TRUE_MSG(strstr(result.message, "policy.read") != NULL, result.message);
    sbx_free(&result);
    policy.read = NULL;
    policy.write = list;
    list[0] = "/";
    if (geteuid() == 0) {
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_NOT_STARTED, result);
        EXPECT_TRUE_MSG(strstr(result.message, "policy.write") != NULL, result.message);
        sbx_free(&result);
    }
    EXPECT_STREQ("", world_close(&w));
}

UTEST(policy, group_kills_on_denied) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    NEEDS_GROUP_POLICY();
    config.contain = SBX_CONTAIN_GROUP;
    policy.kill_on_denied = 1;
    config.argv = set_argv("own_filter");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_DENIED, result);
    EXPECT_TRUE_MSG(strstr(result.message, "socket (number ") != NULL, result.message);
    sbx_free(&result);
    config.argv = test_child_argv("exit", "3");
    TEST_RUN(&config, &result);
    EXPECT_EQ(3, result.exit_code);
    sbx_free(&result);
}

/* ==== The probe =============================================================================== */

UTEST(policy, probe_agrees_with_what_works) {
    static test_host before;
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    sbx_caps caps;
    long version = syscall(444, NULL, 0, 1);
    test_host_save(&before);
    sbx_probe(&caps);
    EXPECT_STREQ("", test_host_diff(&before));
    EXPECT_EQ(version > 0 && test_has_policy() ? (int)version : 0, caps.landlock);
    config.command = "exit 0";
    sbx_run(&config, &result);
    EXPECT_EQ(result.verdict == SBX_OK, caps.policy);
    if (!caps.policy) EXPECT_STREQ(result.message, caps.policy_why);
    sbx_free(&result);
    config = unboxed(SBX_CONTAIN_TREE);
    config.command = "exit 0";
    sbx_run(&config, &result);
    EXPECT_EQ(result.verdict == SBX_OK, caps.tree);
    EXPECT_EQ(caps.tree != 0, caps.tree_why[0] == 0);
    EXPECT_EQ(caps.policy != 0, caps.policy_why[0] == 0);
    EXPECT_EQ(caps.processes != 0, caps.processes_why[0] == 0);
    sbx_free(&result);
    config = unboxed(SBX_CONTAIN_AUTO);
    config.command = "exit 0";
    config.processes = 10;
    sbx_run(&config, &result);
    EXPECT_EQ(result.verdict == SBX_OK, caps.processes);
    sbx_free(&result);
    config.processes = 0;
    config.memory_bytes = 1LL << 32;
    sbx_run(&config, &result);
    EXPECT_EQ((result.enforced & SBX_BY_WATCH) != 0, caps.watch);
    sbx_free(&result);
}

/* ==== Real programs =========================================================================== */

/* A shell script under a policy with one writable tree; "" = it printed what it had to. */
static const char *real_once(const sbx_config *more, int kill, const char *script,
                             const char *wanted) {
    world w;
    sbx_policy policy;
    sbx_config config = *more;
    sbx_result result;
    const char *got;
    world_open(&w);
    policy = world_policy(&w);
    policy.kill_on_denied = kill;
    config.policy = &policy;
    config.cwd = w.writable;
    config.command = script;
    config.timeout_ms = 120000;
    got = test_run(&config, &result);
    if (!*got && (result.verdict != SBX_OK || strcmp(result.out.data, wanted) != 0))
        got = test_text("%s; out: %.500s; err: %.800s", result.message, result.out.data,
                        result.err.data);
    sbx_free(&result);
    if (!*got) got = world_close(&w);
    else world_close(&w);
    return got;
}

/* Once with nothing but a PATH, and once with all that the host has in its environment. */
static const char *real(const char *tool, int kill, const char *script, const char *wanted) {
    static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
    sbx_config config = boxed(NULL);
    const char *got;
    if (access(tool, X_OK) < 0) return "not installed";
    config.env = env;
    got = real_once(&config, 0, script, wanted);
    if (*got) return test_text("PATH only: %s", got);
    config.inherit_env = 1;
    got = real_once(&config, kill, script, wanted);
    return *got ? test_text("inherited%s: %s", kill ? ", kill_on_denied" : "", got) : "";
}

#define REAL_SOME(tool, kill, script, wanted)                                                      \
    do {                                                                                           \
        const char *real_;                                                                         \
        NEEDS_POLICY();                                                                            \
        if (test_is_asan()) UTEST_SKIP("the program is the same without the sanitizer");           \
        real_ = real((tool), (kill), (script), (wanted));                                          \
        if (strcmp(real_, "not installed") == 0) UTEST_SKIP(tool " is not installed");             \
        EXPECT_STREQ("", real_);                                                                   \
    } while (0)
#define REAL(tool, script, wanted) REAL_SOME(tool, 1, script, wanted)
/* These make calls that kill_on_denied is for: a connection is tried. */
#define REAL_SOFT(tool, script, wanted) REAL_SOME(tool, 0, script, wanted)

UTEST(policy, real_sh) {
    REAL("/bin/tar",
         "set -e; mkdir d; for i in 3 1 2; do echo $i; done | sort >d/list; cat d/list | tr '\\n' "
         "' '; "
         "tar cf d.tar d; rm -r d; tar xf d.tar; cp d/list copy; mv copy d/; ln -s d/copy link; "
         "find . -name 'c*'; wc -l <link; id -u >/dev/null; date >/dev/null; ls -l / >/dev/null || "
         ":",
         "1 2 3 ./d/copy\n3\n");
}

UTEST(policy, real_bash) {
    REAL("/bin/bash",
         "exec bash -c 'set -e; a=(x y z); echo ${#a[@]} ${a[@]^^}; diff <(echo a) <(echo a) && "
         "echo same; "
         "cat <<<here; trap \"echo bye\" EXIT; sleep 0.01 & wait $!'",
         "3 X Y Z\nsame\nhere\nbye\n");
}

UTEST(policy, real_python3) {
    REAL_SOFT(
        "/usr/bin/python3",
        "exec /usr/bin/python3 -c 'import "
        "json,os,subprocess,tempfile,threading,hashlib,sqlite3,socket\n"
        "r=[]\n"
        "t=[threading.Thread(target=lambda i=i:r.append(i*i)) for i in range(8)]\n"
        "[x.start() for x in t];[x.join() for x in t]\n"
        "print(sorted(r))\n"
        "f=tempfile.NamedTemporaryFile(\"w+\");json.dump({\"a\":1},f);f.flush();f.seek(0);print("
        "json.load(f))\n"
        "print(subprocess.run([\"echo\",\"sub\"],capture_output=True,text=True).stdout.strip())\n"
        "c=sqlite3.connect(\"x.db\");c.execute(\"create table t(a)\");c.execute(\"insert into t "
        "values(7)\")\n"
        "print(c.execute(\"select a from t\").fetchone()[0], "
        "hashlib.sha256(b\"x\").hexdigest()[:8])\n"
        "try: socket.create_connection((\"127.0.0.1\",1))\n"
        "except OSError as e: print(type(e).__name__)'",
        "[0, 1, 4, 9, 16, 25, 36, 49]\n{'a': 1}\nsub\n7 2d711642\nPermissionError\n");
}

UTEST(policy, real_python3_multiprocessing) {
    REAL("/usr/bin/python3",
         "cat >m.py <<'END'\n"
         "import multiprocessing as m, tempfile, os\n"
         "from multiprocessing import shared_memory as s\n"
         "def f(x): return x * x\n"
         "if __name__ == '__main__':\n"
         "    p = m.Pool(2); print(p.map(f, range(4))); p.close(); p.join()\n"
         "    l = m.Lock(); l.acquire(); l.release()\n"
         "    b = s.SharedMemory(create=True, size=100); b.buf[0] = 7; print(b.buf[0])\n"
         "    b.close(); b.unlink()\n"
         "    print(tempfile.gettempdir(), os.path.exists(tempfile.mkdtemp()))\n"
         "END\n"
         "/usr/bin/python3 m.py && /usr/bin/python3 -m venv --without-pip v && "
         "v/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'",
         "[0, 1, 4, 9]\n7\n/tmp True\nTrue\n");
}

UTEST(policy, real_cxx_and_cmake) {
    REAL("/usr/bin/cmake",
         "set -e; printf 'cmake_minimum_required(VERSION 3.10)\\nproject(x CXX)\\n"
         "add_executable(x x.cc)\\n' >CMakeLists.txt; printf '#include <iostream>\\n"
         "int main() { std::cout << 42 << std::endl; }\\n' >x.cc; cmake -S . -B b >log; "
         "cmake --build b >>log; b/x",
         "42\n");
}

UTEST(policy, real_go) {
    REAL("/usr/bin/go",
         "set -e; mkdir m; cd m; printf 'module m\\ngo 1.18\\n' >go.mod; printf 'package main\\n"
         "import \"fmt\"\\nfunc main() { fmt.Println(42) }\\n' >m.go; go build -o x . && ./x",
         "42\n");
}

UTEST(policy, real_small_tools) {
    REAL("/usr/bin/perl",
         "set -e; perl -e 'print 6*7, \"\\n\"'; ls / | grep -c usr; ls -l / >/dev/null; "
         "id >/dev/null; df >/dev/null; f=$(mktemp); echo x >$f; cat $f; "
         "seq 1 300000 | awk '{print (7919*$1)%1000003}' | sort -n | tail -1 | wc -l",
         "42\n1\nx\n1\n");
}

UTEST(policy, real_sqlite3) {
    REAL("/usr/bin/sqlite3",
         "sqlite3 x.db 'create table t(a); insert into t values(42); select a from t'", "42\n");
}

UTEST(policy, real_npm_and_javac) {
    REAL_SOFT("/usr/bin/javac",
              "set -e; printf 'class A { public static void main(String[] a) { "
              "System.out.println(42); } }' >A.java; javac A.java; java A; "
              "if [ -x /usr/bin/npm ]; then npm --version >/dev/null; fi; echo fine",
              "42\nfine\n");
}

/* More than a pipe or a buffer holds. */
UTEST(policy, real_sort) {
    REAL("/usr/bin/sort",
         "head -c 7400000 /dev/urandom | base64 >big && sort big >sorted && wc -l <sorted && "
         "sort -c sorted && echo sorted",
         "129825\nsorted\n");
}

UTEST(policy, real_node) {
    REAL("/usr/bin/node",
         "exec node -e 'const fs=require(\"fs\"),{Worker}=require(\"worker_threads\"),cp=require("
         "\"child_process\");fs.writeFileSync(\"x.json\",JSON.stringify({a:[1,2]}));"
         "console.log(JSON.parse(fs.readFileSync(\"x.json\")).a.length,cp.execSync(\"echo "
         "sub\")+\"\");"
         "new Worker(\"require(\\\"worker_threads\\\").parentPort.postMessage(21*2)\",{eval:true})"
         ".on(\"message\",m=>{console.log(m);setTimeout(()=>console.log(\"later\"),5)})'",
         "2 sub\n\n42\nlater\n");
}

UTEST(policy, real_gcc_and_make) {
    REAL("/usr/bin/gcc",
         "set -e; printf '#include <stdio.h>\\n#include <math.h>\\nint "
         "main(void){printf(\"%%.3f\\\\n\","
         "sqrt(2.0));return 0;}\\n' >a.c; printf 'a: a.c\\n\\tgcc -O2 -o a a.c "
         "-lm\\nclean:\\n\\trm a\\n' >"
         "Makefile; make -s -j2 a; ./a; make -s clean; test ! -e a; echo clean",
         "1.414\nclean\n");
}

UTEST(policy, real_git) {
    REAL("/usr/bin/git",
         "set -e; git init -q -b main r; cd r; git config user.name N; git config user.email n@x; "
         "echo a >f; "
         "git add f; git commit -q -m one; echo b >>f; git commit -q -a -m two; git checkout -q -b "
         "side HEAD~1; "
         "cat f; git merge -q main; git log --oneline | wc -l; git gc -q; git clone -q . ../c; cat "
         "../c/f; "
         "git status --short | wc -l",
         "a\n2\na\nb\n0\n");
}

UTEST(policy, real_java) {
    REAL_SOFT(
        "/usr/bin/java",
        "set -e; printf 'public class A { public static void main(String[] a) throws Exception { "
        "Thread t = new Thread(() -> System.out.println(6 * 7)); t.start(); t.join(); "
        "java.nio.file.Files.writeString(java.nio.file.Path.of(\"o\"), \"x\"); } }' >A.java; "
        "java -XX:TieredStopAtLevel=1 A.java; cat o",
        "42\nx");
}

#else /* not Linux */

UTEST(policy, elsewhere_a_policy_is_refused) {
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    config.command = "exit 0";
    config.policy = &policy;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ(SBX_STEP_POLICY, (int)result.step);
    sbx_free(&result);
}

#endif

/* The portable part cannot enforce one, whatever the kernel could. */
UTEST(policy, portable_build_refuses_a_policy) {
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    if (test_has_policy()) UTEST_SKIP("this is the other build");
    config.command = "exit 0";
    config.policy = &policy;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ(SBX_STEP_POLICY, (int)result.step);
    EXPECT_TRUE_MSG(strstr(result.message, "policy") != NULL, result.message);
    sbx_free(&result);
}

/* ==== What is not behind a path =============================================================== */

#if defined(__linux__) && !defined(SBX_NO_LINUX)
/* The names of what went through. */
static int fn_reaches_round_paths(void *arg, void *ret, size_t size) {
    struct timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
    char *text = (char *)ret;
    int ends[2], fd = open("/etc/passwd", O_RDONLY);
    (void)arg;
    if (fd < 0 || pipe(ends) != 0) return 1;
    text[0] = 0;
#define TRIED(call, name)                                                                          \
    if ((call) != -1) strncat(text, name " ", size - strlen(text) - 1)
    TRIED(fchmod(0, 0666), "mode-of-stdin");
    TRIED(futimens(0, now), "times-of-stdin");
    TRIED(chmod("/proc/self/fd/0", 0666), "mode-through-proc");
    TRIED(chmod("/proc/self/exe", 0755), "mode-of-the-host");
    TRIED(utimensat(AT_FDCWD, "/proc/self/exe", now, 0), "times-of-the-host");
    TRIED(fcntl(fd, F_SETLEASE, F_RDLCK), "lease");
    TRIED(fcntl(fd, F_NOTIFY, DN_ACCESS), "notify");
    TRIED(splice(fd, NULL, ends[1], NULL, 1, 0), "splice");
    TRIED(tee(ends[0], ends[1], 1, SPLICE_F_NONBLOCK), "tee");
    TRIED(sendfile(ends[1], fd, NULL, 1), "sendfile");
#undef TRIED
    return 0;
}

UTEST(policy, nothing_outside_is_changed_without_a_path) {
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    char reached[300] = "?";
    NEED_CALL();
    NEEDS_POLICY();
    config.policy = &policy;
    EXPECT_EQ(SBX_OK, (int)sbx_call(&config, fn_reaches_round_paths, NULL, reached, 300, &result));
    EXPECT_STREQ("", reached);
    sbx_free(&result);
}

/* ==== Rows of the filter and of the rules, one by one ========================================= */

/* "" = the set prints exactly these lines. */
static const char *edges(const sbx_policy *policy, const char *dir, const char *wanted) {
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    config.argv = test_child_argv("net", "edges", dir);
    config.policy = policy;
    flaw = test_run(&config, &result);
    if (!*flaw && strcmp(result.out.data, wanted))
        flaw = test_text("%s%s", result.out.data, result.message);
    sbx_free(&result);
    return flaw;
}

/* Each attempt works without a policy, and under one gets its own answer. */
UTEST(policy, each_row_has_its_own_answer) {
    static const char *const worked = "chmod worked\nfchmod worked\nfchmodat worked\n"
                                      "openat worked\nO_TMPFILE worked\nmknodat worked\n"
                                      "plain worked\nF_NOTIFY worked\nF_GETFL worked\n"
                                      "tee worked\nnetlink worked\nhosts worked\n";
    static const char *const guarded = "chmod EPERM\nfchmod EPERM\nfchmodat EPERM\n"
                                       "openat EPERM\nO_TMPFILE EPERM\nmknodat EPERM\n"
                                       "plain worked\nF_NOTIFY EPERM\nF_GETFL worked\n"
                                       "tee ENOSYS\n";
    const char *write[2] = {NULL, NULL};
    sbx_policy policy = {0};
    char dir[PATH_MAX];
    NEEDS_POLICY();
    if (access("/etc/hosts", R_OK) != 0) UTEST_SKIP("no /etc/hosts here");
    write[0] = test_tmpdir(dir);
    policy.write = write;
    EXPECT_STREQ("", edges(NULL, dir, worked));
    EXPECT_STREQ("", edges(&policy, dir, test_text("%snetlink EPERM\nhosts none\n", guarded)));
    policy.allow_network = 1;
    EXPECT_STREQ("", edges(&policy, dir, test_text("%snetlink worked\nhosts worked\n", guarded)));
    test_remove_tree(dir);
}

/* What the rules were made of does not stay open in the program. */
UTEST(policy, program_has_three_descriptors) {
    int kill;
    NEEDS_POLICY();
    for (kill = 0; kill < 2; kill++) {
        sbx_policy policy = {0};
        sbx_config config = {0};
        sbx_result result;
        policy.kill_on_denied = kill;
        config.argv = test_child_argv("fds");
        config.policy = &policy;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_STREQ("0 1 2 ", result.out.data);
        sbx_free(&result);
    }
}
/* ==== Mounts, the system, settings: what no attack above asks for ============================= */

static int has_option(const char *options, const char *name) {
    size_t size = strlen(name);
    for (; *options; options += strcspn(options, ","), options += *options == ',')
        if (strncmp(options, name, size) == 0 && strchr(",", options[size])) return 1;
    return 0;
}

/* "" = this mount of a box gives away nothing: what is read cannot be changed, and nowhere are
   there devices or set-user-id programs, but for the devices of its own. */
static const char *mount_flaw(const char *at, const char *options, const char *writable) {
    int scratch = strcmp(at, "/tmp") == 0 || strcmp(at, "/dev/shm") == 0;
    int device = strncmp(at, "/dev/", 5) == 0 && !scratch;
    if (!has_option(options, "ro") && !scratch && strcmp(at, writable) != 0) return "not read-only";
    if (strncmp(at, "/proc/", 6) == 0) return ""; /* an empty cover */
    if (!has_option(options, "nosuid")) return "not nosuid";
    if (!has_option(options, "nodev") && !device && strcmp(at, "/") != 0) return "not nodev";
    return "";
}

UTEST(policy, root_mounts_give_nothing_away) {
    static const char *const argv[] = {"/bin/cat", "/proc/self/mountinfo", NULL};
    const char *all[] = {"/", NULL};
    int whole;
    NEEDS_POLICY();
    for (whole = 0; whole < 2; whole++) { /* or "/" to read: then the host's root is the box's */
        world w;
        sbx_policy policy;
        sbx_config config;
        sbx_result result;
        char *line, *more = NULL, at[512], options[512];
        int named = 0, proc = 0; /* proc: the last one is above the host's */
        world_open(&w);
        policy = world_policy(&w);
        if (whole) policy.read = all;
        config = boxed(&policy);
        config.argv = argv;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_OK, result);
        line = strtok_r(result.out.data, "\n", &more);
        for (; line; line = strtok_r(NULL, "\n", &more)) {
            ASSERT_EQ_MSG(2, sscanf(line, "%*s %*s %*s %*s %511s %511s", at, options), line);
            EXPECT_STREQ_MSG("", mount_flaw(at, options, w.writable), line);
            named += strcmp(at, w.writable) == 0 || strcmp(at, w.readable) == 0;
            if (strcmp(at, "/proc") == 0) proc = has_option(options, "noexec");
        }
        EXPECT_EQ(whole ? 1 : 2, named); /* they were seen at all */
        EXPECT_TRUE(proc);
        sbx_free(&result);
        EXPECT_STREQ("", world_close(&w));
    }
}

/* A device that somebody left in a tree is none there. */
UTEST(policy, root_opens_no_device_in_a_tree) {
    const char *command;
    char path[2][PATH_MAX + 32];
    sbx_policy policy;
    world w;
    int i, fd;
    NEEDS_POLICY();
    if (geteuid() != 0) UTEST_SKIP("only root can make devices");
    world_open(&w);
    snprintf(path[0], sizeof path[0], "%s/zero", w.readable);
    snprintf(path[1], sizeof path[1], "%s/zero", w.writable);
    for (i = 0; i < 2; i++) {
        fd = mknod(path[i], S_IFCHR | 0666, makedev(1, 5)) == 0 ? open(path[i], O_RDONLY) : -1;
        if (fd < 0) {
            world_close(&w);
            UTEST_SKIP("devices in the directory of the test cannot be had anyway");
        }
        close(fd);
    }
    policy = world_policy(&w);
    command = test_text("for f in %s %s; do [ -c $f ] && echo there; "
                        "head -c 1 $f >/dev/null 2>&1 && echo open; done; :",
                        path[0], path[1]);
    EXPECT_STREQ("there\nthere\n", in_box(&policy, NULL, command));
    world_close(&w);
}

/* In a group nothing but Landlock keeps a host that is root from its own system. */
UTEST(policy, group_system_is_read_only) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    char *mine = strdup(test_text("/usr/sbx-test-%d", (int)getpid()));
    NEEDS_GROUP_POLICY();
    config.contain = SBX_CONTAIN_GROUP;
    config.command = /* opened only, never written */
        test_text("exec 2>/dev/null; for f in /usr/bin/env /etc/passwd /proc/self/comm "
                  "/proc/sys/kernel/core_pattern; do (exec 3>>$f) && echo wrote $f; done; "
                  "mkdir %s && echo made; for d in /root /home /var /run /srv /mnt /boot; do "
                  "ls $d && echo read $d; done; cat /etc/shadow; cat /etc/fstab; "
                  "(exec 3<>/dev/null) && echo ran",
                  mine);
    TEST_RUN(&config, &result);
    EXPECT_STREQ("ran\n", result.out.data);
    sbx_free(&result);
    rmdir(mine);
    config.policy = NULL; /* and without a policy it could */
    TEST_RUN(&config, &result);
    EXPECT_STREQ("", test_lacks(result.out.data, "wrote /proc/self/comm\n"));
    if (geteuid() == 0) EXPECT_STREQ("", test_lacks(result.out.data, "wrote /etc/passwd\n"));
    sbx_free(&result);
    rmdir(mine);
    free(mine);
}

/* Of /etc a box has what ordinary programs read; with the network also what finds others, and the
   certificates that tell who they are. What is not on this machine cannot be missed. */
UTEST(policy, system_has_what_programs_read) {
    static const char *const names[] = {
        "ld.so.cache",     "alternatives",    "passwd",   "group",     "nsswitch.conf",
        "localtime",       "os-release",      NULL,       "hosts",     "host.conf",
        "resolv.conf",     "gai.conf",        "services", "protocols", "ssl/certs",
        "ca-certificates", "ssl/openssl.cnf", NULL};
    int way;
    NEEDS_POLICY();
    for (way = 0; way < 4; way++) {
        int group = way / 2, network = way % 2, of_network = 0;
        sbx_policy policy = {0};
        size_t i;
        if (group && syscall(444, NULL, 0, 1) < 1) continue;
        policy.allow_network = network;
        for (i = 0; i < sizeof names / sizeof names[0]; i++) {
            sbx_config config = boxed(&policy);
            sbx_result result;
            struct stat st;
            const char *path;
            int there;
            of_network |= !names[i];
            path = test_text("/etc/%s", names[i] ? names[i] : "");
            if (!names[i] || stat(path, &st) != 0 || access(path, R_OK) != 0) continue;
            there = !of_network || network || (group && strstr(path, "openssl.cnf"));
            config.contain = group ? SBX_CONTAIN_GROUP : SBX_CONTAIN_AUTO;
            config.command = S_ISDIR(st.st_mode) ? test_text("ls %s >/dev/null", path)
                                                 : test_text("head -c 1 %s >/dev/null", path);
            TEST_RUN(&config, &result);
            EXPECT_EQ_MSG(
                there, result.verdict == SBX_OK,
                test_text("%s, group %d, network %d: %s", path, group, network, result.err.data));
            sbx_free(&result);
        }
    }
}

/* Files without a byte fill a file system in memory, too. */
UTEST(policy, root_scratch_has_a_bound_for_files) {
    sbx_policy policy = {0};
    NEEDS_POLICY();
    policy.scratch_bytes = 1 << 20;
    EXPECT_STREQ("full\n", in_box(&policy, NULL,
                                  "exec 2>/dev/null; i=0; while [ $i -lt 2500 ] && "
                                  "true >/tmp/$i; do i=$((i+1)); done; "
                                  "[ $i -gt 1000 ] && [ $i -lt 2500 ] && echo full || echo $i"));
}

/* 64 MiB if nothing else is said, or as much as there is. */
UTEST(policy, root_scratch_has_a_default_and_need_not_end) {
    static const char fill[] = "head -c 68000000 /dev/zero 2>/dev/null >/tmp/a && echo fits; :";
    sbx_policy policy = {0};
    NEEDS_POLICY();
    EXPECT_STREQ("", in_box(&policy, NULL, fill));
    policy.scratch_bytes = SBX_UNLIMITED;
    EXPECT_STREQ("fits\n", in_box(&policy, NULL, fill));
}

/* Documented: below /tmp a named pipe of a readable tree can be written. Elsewhere it cannot: no
   mount keeps anybody from that, but Landlock does. */
UTEST(policy, a49_named_pipes_outside_tmp_are_not_written) {
    char dir[] = "/var/tmp/sbx-test-XXXXXX", pipe_path[64];
    const char *list[] = {dir, NULL}, *command;
    sbx_policy policy = {0};
    NEEDS_POLICY();
    if (syscall(444, NULL, 0, 1) < 1) UTEST_SKIP("no Landlock");
    if (!mkdtemp(dir)) UTEST_SKIP("no directory can be made in /var/tmp");
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", dir);
    policy.read = list;
    command = test_text(
        "[ -p %s ] && echo there; (exec 3<>%s) 2>/dev/null && echo open; :", pipe_path, pipe_path);
    EXPECT_EQ(0, mkfifo(pipe_path, 0600));
    EXPECT_STREQ("there\n", in_box(&policy, NULL, command));
    policy.write = list;
    EXPECT_STREQ("there\nopen\n", in_box(&policy, NULL, command));
    unlink(pipe_path);
    rmdir(dir);
}

UTEST(policy, umask_is_the_hosts) {
    sbx_policy policy = {0};
    mode_t before;
    int contain;
    NEEDS_POLICY();
    NEEDS_GROUP_POLICY();
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_GROUP; contain++) {
        sbx_config config = boxed(&policy);
        sbx_result result;
        config.contain = (sbx_contain)contain;
        config.command = "umask";
        before = umask(027);
        TEST_RUN(&config, &result);
        umask(before);
        EXPECT_EQ_MSG(027l, strtol(result.out.data, NULL, 8), result.out.data);
        sbx_free(&result);
    }
}

/* Every file system of the kernel's own that can be mounted here, and a tree inside one. */
static const char *settings_of_each_kind(void *arg) {
    static const char *const types[] = {"proc",     "sysfs",    "cgroup2",    "debugfs",
                                        "tracefs",  "configfs", "securityfs", "bpf",
                                        "efivarfs", "pstore",   "selinuxfs",  "fusectl"};
    world *w = (world *)arg;
    char where[PATH_MAX + 32], inner[PATH_MAX + 64];
    const char *list[] = {NULL, NULL};
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    size_t i;
    int way, runs = 0;
    snprintf(where, sizeof where, "%s/in", w->writable);
    snprintf(inner, sizeof inner, "%s/sys", where); /* of a /proc */
    if (unshare(CLONE_NEWNS) < 0) return "skip: no mounts of its own";
    TEST_MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && mkdir(where, 0755) == 0);
    policy.write = list;
    config.command = "exit 0";
    for (i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (mount("none", where, types[i], 0, NULL) != 0) continue;
        for (way = 0; way < 6; way++) { /* around it, it, inside it; in a tree and in a group */
            list[0] = way < 2 ? w->writable : way < 4 ? where : inner;
            if (way >= 4 && i > 0) continue;
            config.contain = way % 2 ? SBX_CONTAIN_GROUP : SBX_CONTAIN_TREE;
            sbx_run(&config, &result);
            if (result.verdict != SBX_NOT_STARTED || !strstr(result.message, "kernel's settings"))
                return test_text("%s, %s: %s", types[i], list[0], result.message);
            sbx_free(&result);
            runs++;
        }
        umount2(where, MNT_DETACH);
    }
    return runs >= 6 ? "" : "skip: nothing of the kind can be mounted";
}

UTEST(policy, root_writes_no_settings_of_any_kind) {
    const char *got;
    NEEDS_POLICY();
    NEEDS_GROUP_POLICY();
    got = in_world(settings_of_each_kind);
    EXPECT_WELL(got);
}

/* Named in both lists a tree can be written, in whatever order; and in a tree that can be written
   the program is a file like any other. */
UTEST(policy, root_trees_named_twice) {
    static const char script[] = "#!/bin/sh\nexec 2>/dev/null; echo x >>\"$0\" && echo grown; "
                                 "mv \"$0\" \"$0.old\" && echo moved; exit 0\n";
    const char *list[2] = {NULL, NULL}, *argv[2] = {NULL, NULL};
    int contain;
    NEEDS_POLICY();
    NEEDS_GROUP_POLICY();
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_GROUP; contain++) {
        char path[PATH_MAX + 32];
        sbx_policy policy = {0};
        sbx_config config = boxed(&policy);
        sbx_result result;
        world w;
        world_open(&w);
        list[0] = w.writable;
        policy.read = policy.write = list;
        config.contain = (sbx_contain)contain;
        config.command = test_text("echo x >%s/new && echo written", w.writable);
        TEST_RUN(&config, &result);
        EXPECT_STREQ_MSG("written\n", result.out.data, result.message);
        sbx_free(&result);
        test_write_file(w.writable, "prog", script, sizeof script - 1, 0755);
        snprintf(path, sizeof path, "%s/prog", w.writable);
        argv[0] = path;
        config.command = NULL;
        config.argv = argv;
        policy.read = NULL;
        TEST_RUN(&config, &result);
        EXPECT_STREQ_MSG("grown\nmoved\n", result.out.data, result.message);
        sbx_free(&result);
        EXPECT_STREQ("", world_close(&w));
    }
}

/* With "/" to read /tmp is the host's and cannot be written: HOME and TMPDIR are elsewhere. */
UTEST(policy, root_of_the_host_has_a_tmpdir_to_write) {
    const char *all[] = {"/", NULL};
    sbx_policy policy = {0};
    NEEDS_POLICY();
    policy.read = all;
    EXPECT_STREQ(
        "/dev/shm /dev/shm\nmade\n",
        in_box(&policy, NULL, "echo $TMPDIR $HOME; f=$(mktemp) && echo x >$f && echo made"));
}

/* Who listens for forbidden calls is the host's, and not one of the box's processes. */
UTEST(policy, kill_on_denied_counts_only_the_program) {
    sbx_policy policy = {0};
    sbx_config config = boxed(&policy);
    sbx_result result;
    sbx_usage usage;
    sbx *box;
    int i;
    NEED_WATCH();
    NEEDS_EAR();
    policy.kill_on_denied = 1;
    config.in = SBX_PIPE;
    config.argv = test_child_argv("cat");
    box = sbx_start(&config, &result);
    ASSERT_TRUE_MSG(box != NULL, result.message);
    for (i = 0; i < 40; i++) { /* the first looks follow the program's children, others see all */
        sbx_get_usage(box, &usage);
        EXPECT_EQ(1, usage.processes);
        test_sleep_ms(1);
    }
    EXPECT_EQ(SBX_OK, (int)sbx_finish(box, &result));
    sbx_free(&result);
}

/* A socket that the host hands over leads to nobody on this machine, network or not. */
static const char *reach_with(const sbx_policy *policy, sbx_contain contain, const char *name,
                              const char *wanted) {
    sbx_config config = boxed(policy);
    sbx_result result;
    const char *flaw;
    int pass[] = {-1, -1};
    pass[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    config.contain = contain;
    config.pass_fds = pass;
    config.argv = set_argv("reach", name);
    flaw = test_run(&config, &result);
    if (!*flaw && strcmp(result.out.data, wanted) != 0)
        flaw = test_text("%s%s", result.out.data, result.message);
    sbx_free(&result);
    close(pass[0]);
    return flaw;
}

UTEST(policy, a53_a_socket_of_the_host_reaches_nobody) {
    sbx_policy policy = {0};
    listeners l;
    NEEDS_POLICY();
    if (syscall(444, NULL, 0, 1) < 6) UTEST_SKIP("before version 6 Landlock lets it out");
    policy.allow_network = 1;
    memset(&l, 0, sizeof l);
    ASSERT_EQ(0, bind_unix(&l, 5, SOCK_STREAM, test_text("@sbx-test-r-%d", (int)getpid())));
    ASSERT_EQ(0, listen(l.fd[5], 8));
    EXPECT_STREQ("", reach_with(NULL, SBX_CONTAIN_GROUP, l.name[5], "reach worked\nend\n"));
    EXPECT_STREQ("", reach_with(&policy, SBX_CONTAIN_AUTO, l.name[5], "reach EPERM\nend\n"));
    EXPECT_STREQ("", reach_with(&policy, SBX_CONTAIN_GROUP, l.name[5], "reach EPERM\nend\n"));
    close(l.fd[5]);
}
#endif
