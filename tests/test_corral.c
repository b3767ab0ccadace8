/* What test_tree.c and test_watch.c do a few times and treesoak.c hundreds of times: a corral that
   nobody gets out of unnoticed, the attacks on a tree, and hosts in odd places. */
#include "test.h"

#ifdef __linux__

#include <dirent.h>
#include <grp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <linux/filter.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* ==== The corral ============================================================================== */

static int corral_list(char *names, size_t room, int and_kill) {
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    int count = 0;
    size_t at = 0;
    if (room) names[0] = 0;
    while (dir && (entry = readdir(dir)) != NULL) {
        char path[300], line[512], *end;
        int pid = atoi(entry->d_name), parent = 0;
        FILE *file;
        if (pid <= 1) continue;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        if ((file = fopen(path, "r")) == NULL) continue;
        end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
        fclose(file);
        if (!end || sscanf(end + 1, " %*c %d", &parent) != 1 || parent != (int)getpid()) continue;
        count++;
        end[3] = 0;
        if (at + strlen(line) + 3 < room)
            at += (size_t)snprintf(names + at, room - at, " [%s]", line);
        if (and_kill) kill(pid, SIGKILL);
    }
    if (dir) closedir(dir);
    return count;
}

/* 1 = no child, no orphan and no zombie is left. */
static int corral_empty(void) {
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
    }
    return pid < 0 && errno == ECHILD;
}

static const char *corral_run_host(corral *c, int answer) {
    const char *text;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    text = c->host(c->arg);
    if (write(answer, text, strlen(text) + 1) < 0) _exit(98);
    _exit(0);
}

static const char *corral_guard(void *arg) {
    corral *c = (corral *)arg;
    char text[1500] = "", names[600];
    int fds[2], status = 0, sent = 0, survivors = 0, tries;
    long long end = test_now_ms() + 25000, from;
    ssize_t size;
    pid_t host, got;
    TEST_MUST(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    TEST_MUST(pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0); /* a program may get hold of its end */
    host = fork();
    TEST_MUST(host >= 0);
    if (host == 0) {
        close(fds[0]);
        corral_run_host(c, fds[1]);
    }
    close(fds[1]);
    while ((got = waitpid(host, &status, WNOHANG)) == 0) {
        if (!sent && c->kill_when && c->kill_when(c->arg)) sent = kill(host, SIGKILL) == 0;
        if (test_now_ms() > end) {
            snprintf(text, sizeof text, "the host hung");
            kill(host, SIGKILL);
            end = LLONG_MAX;
        }
        if (c->kill_when && !sent) sched_yield();
        else test_sleep_ms(1);
    }
    from = test_now_ms();
    if (got != host) snprintf(text, sizeof text, "the host is lost");
    size = *text ? 0 : read(fds[0], text, sizeof text - 1);
    text[size > 0 ? (size_t)size : strlen(text)] = 0;
    if (!*text && WIFSIGNALED(status) && !(sent && WTERMSIG(status) == SIGKILL))
        snprintf(text, sizeof text, "the host was killed by signal %d", WTERMSIG(status));
    close(fds[0]);
    for (tries = 0; !corral_empty() && tries < c->patience_ms; tries++)
        test_sleep_ms(
            1); /* counted, not timed: if the whole machine stands still, nobody is late */
    if (c->gone_ms) *c->gone_ms = test_now_ms() - from;
    for (tries = 0; !corral_empty() && tries < 2000; tries++) {
        char later[600]; /* what they were before they got the signal is told */
        int count = corral_list(survivors ? later : names, sizeof names, 1);
        if (survivors == 0 && count > 0) survivors = count;
        test_sleep_ms(5);
    }
    if (survivors)
        return test_text("%d survivors:%s%s%s", survivors, names, *text ? "; and " : "", text);
    return test_text("%s", text);
}

const char *in_corral(corral *c) { return test_in_copy(corral_guard, c); }

/* ==== The attacks ============================================================================= */

/* The numbers are those of tests/README.md. Time-outs are long enough to get under way; if one
   comes too early on a slow machine, the attack is only weaker. */
const tree_attack tree_attacks[] = {
    {"1 setsid", "escape", "setsid", "0", "hold", SBX_OK, 0},
    {"1 setsid, program stays", "escape", "setsid", "stay", "hold", SBX_TIMED_OUT, 60},
    {"1 setsid, program crashes", "escape", "setsid", "crash", "close", SBX_CRASHED, 0},
    {"1 setsid and flood", "escape", "setsid", "0", "flood", SBX_OK, 0},
    {"2 daemon", "escape", "daemon", "0", "close", SBX_OK, 0},
    {"2 daemon, program stays", "escape", "daemon", "stay", "hold", SBX_TIMED_OUT, 60},
    {"3 setpgid", "escape", "setpgid", "3", "hold", SBX_EXITED, 0},
    {"4 forking relay", "tree_bomb", "relay", "40", "4000", SBX_TIMED_OUT, 100},
    {"4 relay with sessions", "tree_bomb", "relay+setsid", "40", "4000", SBX_TIMED_OUT, 100},
    {"4 stubborn sessions", "tree_bomb", "stay+setsid+stubborn", "40", "0", SBX_TIMED_OUT, 100},
    {"5 ignores every signal", "ignore", "ignore", NULL, NULL, SBX_TIMED_OUT, 60},
    {"5 leaves a stubborn one", "ignore", "leave", NULL, NULL, SBX_TIMED_OUT, 60},
    {"6 stops itself", "stop", "self", NULL, NULL, SBX_TIMED_OUT, 60},
    {"7 stops its children", "stop", "children", NULL, NULL, SBX_OK, 0},
    {"7 stops its children, stays", "stop", "children", "stay", NULL, SBX_TIMED_OUT, 60},
    {"8 CLONE_PARENT", "escape", "parent", "0", "hold", SBX_OK, 0},
    {"8 CLONE_PARENT, exits", "escape", "parent_exits", "5", "hold", SBX_EXITED, 0},
    {"8 CLONE_PARENT and setsid", "escape", "parent_setsid", "0", "close", SBX_OK, 0},
    {"8 the same, exits", "escape", "parent_setsid_exits", "0", "close", SBX_OK, 0},
    {"8 the same, program stays", "escape", "parent_setsid", "stay", "hold", SBX_TIMED_OUT, 60},
    {"8 a relay of it", "tree_bomb", "relay+parent+setsid", "20", "400", SBX_TIMED_OUT, 100},
    {"9 closes its streams", "close_out", "", NULL, NULL, SBX_TIMED_OUT, 60},
    {"10 grandchild holds the pipes", "escape", "stay", "0", "hold", SBX_OK, 0},
    {"10 grandchild floods the pipes", "escape", "stay", "7", "flood", SBX_EXITED, 0},
    {"37 namespaces in the namespace", "tree_hostile", "nested", "0", NULL, SBX_OK, 0},
    {"37 holds the pipe of pid 1", "tree_hostile", "fds", "0", NULL, SBX_OK, 0},
    {"37 steals descriptors of pid 1", "tree_hostile", "steal", "0", NULL, SBX_OK, 0},
    {"37 traces pid 1", "tree_hostile", "seize", "0", NULL, SBX_OK, 0},
    {"37 attaches to pid 1", "tree_hostile", "attach", "0", NULL, SBX_OK, 0},
    {"37 stops pid 1", "tree_hostile", "stop", "0", NULL, SBX_OK, 0},
    {"37 starves pid 1", "tree_hostile", "idle", "stay", NULL, SBX_TIMED_OUT, 150},
    {"37 reaches for the host", "tree_hostile", "host", "0", NULL, SBX_OK, 0},
};
const size_t tree_attack_count = sizeof tree_attacks / sizeof *tree_attacks;

/* The arguments of a row; `mode how tether ...`, but for modes that name the tether differently. */
static void tree_argv(const tree_attack *a, const char *tether, const char **argv) {
    int n = 0, stop_self = strcmp(a->mode, "stop") == 0 && strcmp(a->how, "self") == 0;
    int plain = strcmp(a->mode, "ignore") == 0 && strcmp(a->how, "ignore") == 0;
    argv[n++] = test_child();
    argv[n++] = a->mode;
    if (strcmp(a->mode, "close_out") != 0) {
        argv[n++] = a->how;
        if (!plain && !stop_self) argv[n++] = tether;
        if (a->then) argv[n++] = a->then;
        if (a->act) argv[n++] = a->act;
        if (strcmp(a->mode, "tree_hostile") == 0) argv[n++] = test_text("%ld", (long)getpid());
    }
    argv[n] = NULL;
}

/* One run of an attack, as the host sees it: nobody is left when sbx_run returns. */
const char *tree_attack_once(const tree_attack *a) {
    const char *argv[8], *flaw = "";
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    TEST_MUST(test_tether_open(&tether));
    tree_argv(a, tether.path, argv);
    config.argv = argv;
    config.contain = SBX_CONTAIN_TREE;
    config.timeout_ms = a->timeout_ms ? a->timeout_ms : LONG_MS;
    config.grace_ms = -1;
    config.output_bytes = 65536;
    config.truncate_output = 1;
    flaw = test_run(&config, &result);
    if (!*flaw && test_tether_held(&tether)) flaw = "somebody still holds the tether";
    if (!*flaw && result.verdict != a->verdict)
        flaw = test_text("%s: %s", sbx_verdict_name(result.verdict), result.message);
    if (!*flaw && !(result.enforced & SBX_BY_TREE)) flaw = "the tree was not contained";
    if (!*flaw && result.wall_us > 12000000) flaw = test_text("took %lld us", result.wall_us);
    if (!test_tether_close(&tether) && !*flaw) flaw = "somebody holds on to the tether";
    sbx_free(&result);
    return flaw;
}

/* All attacks of one number. */
const char *host_of_attacks(void *number) {
    size_t i;
    int ran = 0;
    for (i = 0; i < tree_attack_count; i++) {
        const tree_attack *a = &tree_attacks[i];
        const char *flaw;
        if (atoi(a->name) != *(const int *)number) continue;
        flaw = tree_attack_once(a);
        if (*flaw) return test_text("%s: %s", a->name, flaw);
        ran++;
    }
    return ran ? "" : "no such attack";
}

/* ==== 37: the host is killed ================================================================== */

/* The program stays until its tree is ended, and says something when its trick is done. */
const tree_attack doomed_attacks[] = {
    {"37 setsid", "escape", "setsid", "stay", "hold", SBX_OK, 0},
    {"37 daemon", "escape", "daemon", "stay", "close", SBX_OK, 0},
    {"37 CLONE_PARENT", "escape", "parent", "stay", "hold", SBX_OK, 0},
    {"37 CLONE_PARENT and setsid", "escape", "parent_setsid", "stay", "close", SBX_OK, 0},
    {"37 stubborn", "tree_bomb", "stay+setsid+stubborn", "20", "0", SBX_OK, 0},
    {"37 forking relay", "tree_bomb", "relay+setsid", "40", "4000", SBX_OK, 0},
    {"37 spinning", "tree_bomb", "spin+setsid", "20", "0", SBX_OK, 0},
    {"37 stopped children", "stop", "children", "stay", NULL, SBX_OK, 0},
    {"37 namespaces in the namespace", "tree_hostile", "nested", "stay", NULL, SBX_OK, 0},
    {"37 holds the pipe of pid 1", "tree_hostile", "fds", "stay", NULL, SBX_OK, 0},
    {"37 steals descriptors of pid 1", "tree_hostile", "steal", "stay", NULL, SBX_OK, 0},
    {"37 traces pid 1", "tree_hostile", "seize", "stay", NULL, SBX_OK, 0},
    {"37 attaches to pid 1", "tree_hostile", "attach", "stay", NULL, SBX_OK, 0},
    {"37 stops pid 1", "tree_hostile", "stop", "stay", NULL, SBX_OK, 0},
    {"37 starves pid 1", "tree_hostile", "idle", "stay", NULL, SBX_OK, 0},
    {"37 reaches for the host", "tree_hostile", "host", "stay", NULL, SBX_OK, 0},
};
const size_t doomed_attack_count = sizeof doomed_attacks / sizeof *doomed_attacks;

typedef struct doomed_page { /* the host, and who kills it, see the same one */
    int away;                /* the attack is on */
    long long begin_us;      /* when the host came to sbx_start */
    long long gone_ms;
} doomed_page;

typedef struct doomed {
    const tree_attack *attack;
    int death;               /* how */
    int kill_after_us;       /* so long after begin_us; -1 = when the attack is on */
    int threads;             /* the box belongs to one of several threads */
    test_tether tether;
    volatile doomed_page *page;
} doomed;

static long long tree_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int doomed_is_due(void *arg) {
    const doomed *d = (const doomed *)arg;
    if (d->death != DIES_BY_KILL) return 0;
    if (d->kill_after_us < 0) return d->page->away;
    return d->page->begin_us && tree_now_us() >= d->page->begin_us + d->kill_after_us;
}

static int doomed_saw_output(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)data, (void)size;
    if (stream == SBX_STDOUT) ((doomed *)user)->page->away = 1; /* "away", "ready" or "full" */
    return 0;
}

static void *doomed_box(void *arg) {
    doomed *d = (doomed *)arg;
    const char *argv[8];
    sbx_config config = {0};
    sbx_result result;
    sbx *box;
    tree_argv(d->attack, d->tether.path, argv);
    config.argv = argv;
    config.contain = SBX_CONTAIN_TREE;
    config.timeout_ms = LONG_MS;
    config.output_bytes = 65536;
    config.truncate_output = 1;
    config.on_output = doomed_saw_output;
    config.user = d;
    d->page->begin_us = tree_now_us();
    box = sbx_start(&config, &result);
    if (!box) return (void *)(size_t)test_text("%s", result.message);
    while (!d->page->away)
        if (sbx_poll(box, 5)) return (void *)(size_t)"the program ended too early";
    if (d->death == DIES_BY_ABORT) abort();
    if (d->death == DIES_BY_FAULT) raise(SIGSEGV);
    if (d->death == DIES_BY_EXIT) _exit(0);
    if (d->death == DIES_BY_EXEC) execl("/bin/true", "true", (char *)NULL);
    sbx_poll(box, LONG_MS);
    return (void *)(size_t)"the host was not killed";
}

static void *doomed_idle(void *arg) {
    while (arg) test_sleep_ms(50);
    return NULL;
}

static const char *doomed_host(void *arg) {
    doomed *d = (doomed *)arg;
    pthread_t idle, worker;
    void *answer = NULL;
    int i;
    signal(SIGSEGV, SIG_DFL); /* a sanitizer would catch it */
    signal(SIGABRT, SIG_DFL);
    if (!d->threads) return (const char *)doomed_box(d);
    for (i = 0; i < d->threads; i++) TEST_MUST(pthread_create(&idle, NULL, doomed_idle, d) == 0);
    TEST_MUST(pthread_create(&worker, NULL, doomed_box, d) == 0);
    pthread_join(worker, &answer);
    return (const char *)answer;
}

/* A host that dies with a box in it: nothing of the tree is left shortly afterwards. */
const char *tree_host_dies(const tree_attack *a, int death, int kill_after_us, int threads,
                           long long *gone_ms) {
    static void *page;
    const char *flaw;
    corral c;
    doomed d;
    if (!page) page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    TEST_MUST(page != MAP_FAILED);
    memset(page, 0, 4096);
    memset(&c, 0, sizeof c);
    memset(&d, 0, sizeof d);
    TEST_MUST(test_tether_open(&d.tether));
    d.attack = a;
    d.page = (volatile doomed_page *)page;
    d.kill_after_us = kill_after_us;
    d.death = death;
    d.threads = threads;
    c.host = doomed_host;
    c.arg = &d;
    c.kill_when = doomed_is_due;
    c.patience_ms = 12000; /* the tree may have starved pid 1 */
    c.gone_ms = &d.page->gone_ms;
    flaw = in_corral(&c);
    if (death == DIES_BY_ABORT && strcmp(flaw, "the host was killed by signal 6") == 0) flaw = "";
    if (death == DIES_BY_FAULT && strcmp(flaw, "the host was killed by signal 11") == 0) flaw = "";
    if (!*flaw && test_tether_held(&d.tether)) flaw = "somebody still holds the tether";
    if (!test_tether_close(&d.tether) && !*flaw) flaw = "somebody holds on to the tether";
    if (gone_ms) *gone_ms = d.page->gone_ms;
    return flaw;
}

/* ==== Can there be a tree here at all? Asked without the header under test. ================== */

int put_text(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : write(fd, text, strlen(text));
    if (fd >= 0) close(fd);
    return size == (ssize_t)strlen(text);
}

/* A user namespace for this process. inner = its number in there; -1 = none is mapped. */
int own_users(long inner_uid, long inner_gid, int more) {
    long uid = (long)geteuid(), gid = (long)getegid();
    if (syscall(SYS_unshare, (long)(CLONE_NEWUSER | more)) < 0) return 0;
    if (inner_uid < 0) return 1;
    put_text("/proc/self/setgroups", "deny");
    return put_text("/proc/self/uid_map", test_text("%ld %ld 1", inner_uid, uid)) &&
           put_text("/proc/self/gid_map", test_text("%ld %ld 1", inner_gid, gid));
}

/* A mount namespace of its own; as an ordinary user inside a user namespace with the same ids. */
int own_mounts(void) {
    if (geteuid() == 0 ? syscall(SYS_unshare, (long)CLONE_NEWNS) < 0
                       : !own_users((long)geteuid(), (long)getegid(), CLONE_NEWNS)) return 0;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void drop_capabilities(void) {
    unsigned caps[8] = {0x20080522u, 0, 0, 0, 0, 0, 0, 0};
    syscall(SYS_capset, caps, caps + 2);
}

static const char *try_a_namespace(void *arg) {
    pid_t pid;
    int status;
    (void)arg;
    TEST_MUST(geteuid() == 0 ? syscall(SYS_unshare, (long)CLONE_NEWPID) == 0
                             : own_users((long)geteuid(), (long)getegid(), CLONE_NEWPID));
    pid = fork();
    if (pid == 0) _exit(getpid() == 1 ? 0 : 1);
    TEST_MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    return "";
}

int test_tree_is_possible(void) {
    static int known = -1;
    if (known < 0) known = test_has_tree() && !*test_in_copy(try_a_namespace, NULL);
    return known;
}

/* ==== 47: hosts in odd places ================================================================= */

enum { TREE_NO, TREE_YES, TREE_MAY };

/* What is promised is kept, and what is not there is said: by `enforced`, or by a refusal. */
static const char *escape_attempt(const char *how, sbx_contain contain, int *tree) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    const char *flaw;
    TEST_MUST(test_tether_open(&tether));
    config.argv = test_child_argv("escape", how, tether.path, "0", "close");
    config.contain = contain;
    config.timeout_ms = LONG_MS;
    flaw = test_run(&config, &result);
    *tree = (result.enforced & SBX_BY_TREE) != 0;
    if (!*flaw && contain == SBX_CONTAIN_TREE && !*tree && result.verdict != SBX_NOT_STARTED)
        flaw = "a tree was asked for, and it ran in a mere group";
    if (*tree || result.verdict == SBX_NOT_STARTED) {
        if (test_tether_held(&tether)) flaw = "somebody got away";
    } else if (strstr(flaw, "child (or zombie)") &&
               (strncmp(how, "parent", 6) == 0 || getpid() == 1)) {
        flaw = ""; /* the group does not hold that one, and nobody said it would */
    }
    if (!*flaw && result.verdict == SBX_NOT_STARTED &&
        (result.step != SBX_STEP_CONTAIN || contain == SBX_CONTAIN_AUTO ||
         test_tether_lines(&tether)))
        flaw = test_text("not refused as it should be: %s", result.message);
    if (!*flaw && result.verdict != SBX_NOT_STARTED && result.verdict != SBX_OK)
        flaw = test_text("%s: %s", sbx_verdict_name(result.verdict), result.message);
    if (!*flaw && result.wall_us > 10000000) flaw = "took too long";
    if (!test_tether_close(&tether) && !*flaw) flaw = "somebody holds on to the tether";
    while (waitpid(-1, NULL, WNOHANG | __WALL) > 0) {
    }
    sbx_free(&result);
    return *flaw ? test_text("escape %s: %s", how, flaw) : "";
}

int tree_pid_1(void) {
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    int found = 0;
    while (dir && !found && (entry = readdir(dir)) != NULL) {
        int pid = atoi(entry->d_name), parent = 0, inner = 0, levels = 0;
        char line[512], *at;
        FILE *file;
        if (pid <= 1) continue;
        if ((file = fopen(test_text("/proc/%d/status", pid), "r")) == NULL) continue;
        while (fgets(line, sizeof line, file)) {
            if (strncmp(line, "PPid:", 5) == 0) parent = atoi(line + 5);
            if (strncmp(line, "NSpid:", 6) != 0) continue;
            for (at = line + 6; *at == '\t'; levels++) inner = (int)strtol(at, &at, 10);
        }
        fclose(file);
        if (parent == (int)getpid() && levels > 1 && inner == 1) found = pid;
    }
    if (dir) closedir(dir);
    return found;
}

const char *tree_name_of_pid_1(void) {
    sbx_config config = {0};
    sbx_result result;
    char name[64] = "?";
    FILE *file;
    sbx *box;
    config.argv = test_child_argv("sleep", "10000");
    config.contain = SBX_CONTAIN_TREE;
    box = sbx_start(&config, &result);
    if (!box) return test_text("not started: %s", result.message);
    file = fopen(test_text("/proc/%d/comm", tree_pid_1()), "r");
    if (file && fgets(name, sizeof name, file)) name[strcspn(name, "\n")] = 0;
    if (file) fclose(file);
    sbx_cancel(box);
    sbx_finish(box, &result);
    sbx_free(&result);
    return test_text("%s", name);
}

/* Orphans in sessions of their own, 8 x 40 MB under 64 MB. */
const char *memory_holds(sbx_contain contain) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    const char *flaw;
    TEST_MUST(test_tether_open(&tether));
    config.argv = test_child_argv("tree_memory", tether.path, "40", "8");
    config.contain = contain;
    config.timeout_ms = LONG_MS;
    config.memory_bytes = 64 * MB;
    flaw = test_run(&config, &result);
    if (!*flaw && result.enforced & SBX_BY_WATCH &&
        (result.verdict != SBX_MEMORY_LIMIT || !result.certain ||
         !(result.evidence & SBX_SAW_MEMORY_SUM)))
        flaw = test_text("memory: %s: %s", sbx_verdict_name(result.verdict), result.message);
    if (!*flaw && !(result.enforced & (SBX_BY_WATCH | SBX_BY_RLIMIT_AS)))
        flaw = "memory_bytes is in force by nothing";
    if (!*flaw && result.wall_us > 10000000) flaw = "memory: took too long";
    if (!*flaw && test_tether_held(&tether)) flaw = "memory: somebody is left";
    if (!test_tether_close(&tether) && !*flaw) flaw = "memory: somebody holds the tether";
    sbx_free(&result);
    return flaw;
}

static int places_lightly; /* 1 = the escapes only */

static const char *place_holds(int expected) {
    static const char *const how[] = {"setsid", "daemon", "parent_setsid_exits", "parent_setsid"};
    sbx_config config = {0};
    sbx_result result;
    int tree = 0, by_auto = 0, ret = 0;
    size_t i;
    config.argv = test_child_argv("exit", "3");
    MUST_BE_WELL(test_run(&config, &result));
    TEST_MUST(result.verdict == SBX_EXITED && result.exit_code == 3);
    by_auto = (result.enforced & SBX_BY_TREE) != 0;
    if (expected != TREE_MAY && by_auto != expected)
        return test_text("AUTO is %s here", by_auto ? "a tree" : "no tree");
    sbx_free(&result);
    for (i = 0; i < 4; i++) {
        MUST_BE_WELL(escape_attempt(how[i], SBX_CONTAIN_AUTO, &tree));
        TEST_MUST(tree == by_auto);
        MUST_BE_WELL(escape_attempt(how[i], SBX_CONTAIN_TREE, &tree));
        TEST_MUST(tree == by_auto);
    }
    if (places_lightly) return "";
    if (by_auto && test_has_watch()) MUST_BE_WELL(memory_holds(SBX_CONTAIN_AUTO));
    config.argv = (const char *const[]){"/no/such/program", NULL};
    MUST_BE_WELL(test_run(&config, &result));
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    sbx_free(&result);
    config.argv = NULL;
    if (!test_has_call()) return "";
    TEST_MUST(sbx_call(&config, test_fn_seven, NULL, &ret, sizeof ret, &result) == SBX_OK &&
              ret == 7);
    TEST_MUST(((result.enforced & SBX_BY_TREE) != 0) == by_auto);
    TEST_MUST(!test_has_children());
    sbx_free(&result);
    return "";
}

/* Each of these makes the place, as far as this user may, and then looks whether it holds there. */
static const char *place_plain(void *arg) {
    (void)arg;
    return place_holds(TREE_YES);
}

static const char *place_root_in_user_namespace(void *arg) {
    (void)arg;
    if (!own_users(0, 0, 0)) return "skip: no user namespace";
    return place_holds(TREE_YES);
}

static const char *place_user_in_user_namespace(void *arg) {
    (void)arg;
    if (!own_users(1000, 1000, 0)) return "skip: no user namespace";
    drop_capabilities();
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return place_holds(TREE_YES);
}

static const char *place_nobody_in_user_namespace(void *arg) { /* no ids are mapped */
    (void)arg;
    if (!own_users(-1, -1, 0)) return "skip: no user namespace";
    drop_capabilities();
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return place_holds(TREE_NO);
}

static const char *place_without_user_namespaces(void *arg) {
    (void)arg;
    if (!own_users(1000, 1000, 0)) return "skip: no user namespace";
    if (!put_text("/proc/sys/user/max_user_namespaces", "0")) return "skip: no such setting";
    drop_capabilities();
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return place_holds(TREE_NO);
}

static const char *place_without_pid_namespaces(void *arg) {
    (void)arg;
    if (!own_users(0, 0, 0)) return "skip: no user namespace";
    if (!put_text("/proc/sys/user/max_pid_namespaces", "0")) return "skip: no such setting";
    return place_holds(TREE_NO);
}

/* No /proc of its own then: what the tree sees is the host's, and the host must count with that. */
static const char *place_without_mount_namespaces(void *arg) {
    (void)arg;
    if (!own_users(1000, 1000, 0)) return "skip: no user namespace";
    if (!put_text("/proc/sys/user/max_mnt_namespaces", "0")) return "skip: no such setting";
    drop_capabilities();
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return place_holds(TREE_YES);
}

static const char *place_without_proc(void *arg) {
    int user = geteuid() != 0;
    (void)arg;
    test_child();
    if (!own_mounts()) return "skip: no mount namespace";
    TEST_MUST(mount("none", "/proc", "tmpfs", 0, NULL) == 0);
    if (user) drop_capabilities();
    return place_holds(user ? TREE_NO : TREE_MAY);
}

/* As containers do it: something of /proc is covered, and the kernel refuses a fresh one then. */
static const char *place_with_masked_proc(void *arg) {
    int user = geteuid() != 0;
    (void)arg;
    if (!own_mounts()) return "skip: no mount namespace";
    TEST_MUST(mount("/dev/null", "/proc/version", NULL, MS_BIND, NULL) == 0);
    if (user) drop_capabilities();
    if (user) prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return place_holds(TREE_YES);
}

/* Who is pid 1? NULL = the built-in image, whatever its name; "" = a copy of the host. */
static const char *pid_1_is(const char *name) {
    char own[64] = "";
    FILE *file = fopen("/proc/self/comm", "r");
    const char *is = "";
    int tries;
    TEST_MUST(file && fgets(own, sizeof own, file));
    fclose(file);
    own[strcspn(own, "\n")] = 0;
    for (tries = 0; tries < 20; tries++) { /* it may not have become what it will be yet */
        is = tree_name_of_pid_1();
        TEST_MUST(strcmp(is, "?") != 0);
        if (name ? strcmp(is, *name ? name : own) == 0 : strcmp(is, "sh") && strcmp(is, own))
            return "";
    }
    return test_text("pid 1 is %s", is);
}

/* Whoever pid 1 is, it passes on what everybody is told: a worker in a session of its own, too. */
static const char *workers_are_told(void) {
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    config.argv = test_child_argv("tidy", "setsid");
    config.contain = SBX_CONTAIN_TREE;
    config.grace_ms = 8000;
    config.timeout_ms = SHORT_MS;
    flaw = test_run_ready(&config, "ready\n", &result);
    if (!*flaw && strcmp(result.out.data, "ready\ntidied\n") != 0)
        flaw = test_text("it was not told: %s%s", result.out.data, result.message);
    sbx_free(&result);
    return flaw;
}

/* The built-in image is refused in one way or the other: then it is a shell. */
static const char *place_without_image(void *arg) {
    int number = *(const int *)arg;
    MUST_BE_WELL(pid_1_is(NULL));
    if (!test_forbid(&number, 1, number == SYS_execveat ? EACCES : ENOSYS))
        return "skip: no filter";
    MUST_BE_WELL(place_holds(TREE_YES));
    MUST_BE_WELL(pid_1_is("sh"));
    return workers_are_told();
}

/* There is neither: pid 1 is a copy of the host. */
static const char *place_without_shell(void *arg) {
    static const int image = SYS_execveat;
    const char *instead = (const char *)arg;
    char dir[PATH_MAX], real[PATH_MAX], file[PATH_MAX + 16];
    int user = geteuid() != 0;
    snprintf(file, sizeof file, "%s/sh", test_tmpdir(dir));
    TEST_MUST(realpath("/bin/sh", real) != NULL);
    if (instead) test_write_file(dir, "sh", instead, strlen(instead), 0755);
    if (!own_mounts()) {
        test_remove_tree(dir);
        return "skip: no mount namespace";
    }
    TEST_MUST(mount(instead ? file : "/dev/null", real, NULL, MS_BIND, NULL) == 0);
    test_remove_tree(dir);
    if (user) drop_capabilities();
    if (user) prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    if (!test_forbid(&image, 1, EACCES)) return "skip: no filter";
    MUST_BE_WELL(place_holds(TREE_YES));
    MUST_BE_WELL(pid_1_is(""));
    MUST_BE_WELL(workers_are_told());
    return places_lightly ? "" : host_of_attacks(&(int){37});
}

static int bind_into(const char *root, const char *path) {
    const char *to = test_text("%s%s", root, path);
    struct stat about;
    char part[PATH_MAX];
    size_t i;
    if (stat(path, &about) < 0) return errno == ENOENT;
    for (i = 1; to[i]; i++)
        if (to[i] == '/') {
            snprintf(part, sizeof part, "%.*s", (int)i, to);
            mkdir(part, 0755);
        }
    mkdir(to, 0755);
    return mount(path, to, NULL, MS_BIND | MS_REC, NULL) == 0;
}

static const char *place_in_chroot(void *with_proc) {
    static const char *const kept[] = {"/bin", "/lib", "/lib64", "/usr", "/dev", "/tmp"};
    char root[PATH_MAX], child_dir[PATH_MAX];
    int user = geteuid() != 0;
    size_t i;
    snprintf(child_dir, sizeof child_dir, "%s", test_child());
    *strrchr(child_dir, '/') = 0;
    if (!own_mounts()) return "skip: no mount namespace";
    TEST_MUST(mount("none", "/mnt", "tmpfs", 0, NULL) == 0);
    snprintf(root, sizeof root, "/mnt");
    for (i = 0; i < sizeof kept / sizeof *kept; i++) TEST_MUST(bind_into(root, kept[i]));
    TEST_MUST(strncmp(child_dir, "/tmp/", 5) == 0 || bind_into(root, child_dir));
    if (*(const int *)with_proc) TEST_MUST(bind_into(root, "/proc"));
    TEST_MUST(chroot(root) == 0 && chdir("/") == 0);
    if (user) drop_capabilities();
    if (user) prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return place_holds(user ? TREE_NO : TREE_MAY); /* no user namespace can be made in a chroot */
}

/* A host in a PID namespace of its own: as pid 1 or not, with a /proc that fits or an outer one. */
typedef struct inner_place {
    int first, own_proc;
} inner_place;

static const char *place_in_pid_namespace(void *arg) {
    const inner_place *place = (const inner_place *)arg;
    int user = geteuid() != 0, fds[2], status;
    char text[1024] = "";
    pid_t pid;
    test_child();
    if (!own_mounts() || syscall(SYS_unshare, (long)CLONE_NEWPID) < 0) return "skip: no namespace";
    TEST_MUST(pipe2(fds, O_CLOEXEC) == 0);
    pid = fork();
    TEST_MUST(pid >= 0);
    if (pid == 0) {
        const char *answer = "";
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (place->own_proc && mount("proc", "/proc", "proc", 0, NULL) < 0)
            answer = "skip: no /proc";
        if (!*answer && !place->first && (pid = fork()) > 0) { /* the next one is the host */
            while (waitpid(-1, &status, 0) != pid) {
            }
            _exit(0);
        }
        if (user) drop_capabilities();
        if (user) prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        if (!*answer) answer = place_holds(TREE_MAY);
        if (write(fds[1], answer, strlen(answer) + 1) < 0) _exit(98);
        _exit(0);
    }
    close(fds[1]);
    TEST_MUST(waitpid(pid, &status, 0) == pid);
    if (read(fds[0], text, sizeof text - 1) <= 0) return "the host inside gave no answer";
    return test_text("%s", text);
}

static const char *place_undumpable(void *arg) {
    (void)arg;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return place_holds(TREE_MAY);
}

/* As containers do it: a filter refuses some of the calls that a tree is made of. */
typedef struct refused_calls {
    int expected, error, new_spaces; /* new_spaces: clone with a new PID or user namespace */
    long calls[4];                   /* 0 = no more */
} refused_calls;

static const char *place_with_filter(void *arg) {
    const refused_calls *refused = (const refused_calls *)arg;
    struct sock_filter code[24];
    struct sock_fprog program;
    unsigned short n = 0;
    int i;
    const struct sock_filter number = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
    const struct sock_filter flags = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16);
    const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, 0x7fff0000u);
    const struct sock_filter deny = BPF_STMT(BPF_RET | BPF_K, 0x50000u | (unsigned)refused->error);
    code[n++] = number;
    for (i = 0; i < 4 && refused->calls[i]; i++) {
        const struct sock_filter same = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                 (unsigned)refused->calls[i], 0, 1);
        code[n++] = same;
        code[n++] = deny;
    }
    if (refused->new_spaces) {
        const struct sock_filter clones = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3);
        const struct sock_filter spaces = BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
                                                   CLONE_NEWPID | CLONE_NEWUSER, 0, 1);
        code[n++] = clones;
        code[n++] = flags;
        code[n++] = spaces;
        code[n++] = deny;
    }
    code[n++] = allow;
    program.len = n;
    program.filter = code;
    TEST_MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (prctl(PR_SET_SECCOMP, 2, &program, 0, 0) < 0) return "skip: no filter";
    return place_holds(refused->expected);
}

const char *in_place(const char *(*place)(void *), void *arg) {
    corral c;
    memset(&c, 0, sizeof c);
    c.host = place;
    c.arg = arg;
    c.patience_ms = 500; /* namespaces of the place itself end with the host */
    return in_corral(&c);
}

const tree_place_row tree_places[] = {
    {"ordinary_host", place_plain, NULL},
    {"root_of_a_user_namespace", place_root_in_user_namespace, NULL},
    {"user_in_a_user_namespace", place_user_in_user_namespace, NULL},
    {"nobody_in_a_user_namespace", place_nobody_in_user_namespace, NULL},
    {"no_user_namespaces", place_without_user_namespaces, NULL},
    {"no_pid_namespaces", place_without_pid_namespaces, NULL},
    {"no_mount_namespaces", place_without_mount_namespaces, NULL},
    {"no_proc", place_without_proc, NULL},
    {"masked_proc", place_with_masked_proc, NULL},
    {"image_refused", place_without_image, &(int){SYS_execveat}},
    {"no_memory_files", place_without_image, &(int){SYS_memfd_create}},
    {"no_shell", place_without_shell, NULL},
    {"shell_that_is_no_program", place_without_shell, (void *)(size_t) "no program"},
    {"chroot_without_proc", place_in_chroot, &(int){0}},
    {"chroot_with_proc", place_in_chroot, &(int){1}},
    {"pid_namespace", place_in_pid_namespace, &(inner_place){0, 1}},
    {"first_of_a_pid_namespace", place_in_pid_namespace, &(inner_place){1, 1}},
    {"outer_proc", place_in_pid_namespace, &(inner_place){0, 0}},
    {"first_with_outer_proc", place_in_pid_namespace, &(inner_place){1, 0}},
    {"undumpable_host", place_undumpable, NULL},
    {"clone_refused", place_with_filter, &(refused_calls){TREE_NO, EPERM, 1, {SYS_unshare, 0}}},
    {"setns_refused", place_with_filter, &(refused_calls){TREE_YES, EPERM, 0, {SYS_setns, 0}}},
    {"setns_missing", place_with_filter, &(refused_calls){TREE_YES, ENOSYS, 0, {SYS_setns, 0}}},
    {"mount_refused", place_with_filter, &(refused_calls){TREE_YES, EPERM, 0, {SYS_mount, 0}}},
    {"pidfds_missing", place_with_filter, /* open, send_signal, getfd */
     &(refused_calls){TREE_MAY, ENOSYS, 0, {434, 424, 438, 0}}},
    {"close_range_missing", place_with_filter, &(refused_calls){TREE_YES, ENOSYS, 0, {436, 0}}},
};
const size_t tree_place_count = sizeof tree_places / sizeof *tree_places;

const char *tree_place(const char *name, int lightly) {
    size_t i;
    places_lightly = lightly;
    for (i = 0; i < tree_place_count; i++)
        if (strcmp(tree_places[i].name, name) == 0)
            return in_place(tree_places[i].host, tree_places[i].arg);
    return "no such place";
}

/* ==== Numbers: how fast, how exact ============================================================ */

int saw_full(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)stream;
    if (size >= 4 && memcmp(data, "full", 4) == 0) *(int *)user = 1;
    return 0;
}

/* From the cancel to the return of sbx_finish, in ms; -1 = it did not come to that. */
long long time_to_kill(const char *how, const char *live) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    long long start, ms = -1;
    int full = 0, ended = 0;
    sbx *box;
    if (!test_tether_open(&tether)) return -1;
    config.argv = test_child_argv("tree_bomb", how, tether.path, live, "20000");
    config.contain = SBX_CONTAIN_TREE;
    config.timeout_ms = LONG_MS;
    config.grace_ms = -1;
    config.on_output = saw_full;
    config.user = &full;
    box = sbx_start(&config, &result);
    while (box && !full && !ended) ended = sbx_poll(box, 10);
    start = test_now_ms();
    if (box) sbx_cancel(box);
    if (box && sbx_finish(box, &result) == SBX_CANCELLED && !test_tether_held(&tether))
        ms = test_now_ms() - start;
    if (!test_tether_close(&tether)) ms = -1;
    sbx_free(&result);
    return ms;
}

/* Memory of a file that this process and a child share, to see how far the child came. */
typedef struct note {
    char dir[PATH_MAX], path[PATH_MAX + 16];
    volatile long long *value;
} note;

static int note_open(note *n) {
    char zero[4096];
    int fd;
    memset(zero, 0, sizeof zero);
    test_tmpdir(n->dir);
    snprintf(n->path, sizeof n->path, "%s",
             test_write_file(n->dir, "note", zero, sizeof zero, 0600));
    fd = open(n->path, O_RDWR | O_CLOEXEC);
    n->value = (volatile long long *)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    return n->value != (volatile long long *)MAP_FAILED;
}

static void note_close(note *n) {
    munmap((void *)(size_t)n->value, 4096);
    test_remove_tree(n->dir);
}

/* How far past its limit a child comes that touches memory at full speed. */
const char *tree_overshoot(long long limit, const char *how, long long *over) {
    sbx_config config = {0};
    sbx_result result;
    note n;
    TEST_MUST(note_open(&n));
    config.argv = test_child_argv("tree_grow", n.path, "600", how);
    config.contain = SBX_CONTAIN_TREE;
    config.memory_bytes = limit;
    config.timeout_ms = LONG_MS;
    MUST_BE_WELL(test_run(&config, &result));
    *over = *n.value - limit;
    note_close(&n);
    if (result.verdict != SBX_MEMORY_LIMIT || !result.certain || result.peak_bytes <= limit)
        return test_text("%s, peak %lld: %s", sbx_verdict_name(result.verdict), result.peak_bytes,
                         result.message);
    sbx_free(&result);
    return "";
}

/* How far peak_bytes is from what the processes themselves say, for a peak of 20 ms. */
const char *tree_peak_error(const char *who, const char *mb, const char *processes,
                            const char *before, long long limit, double *off) {
    sbx_config config = {0};
    sbx_result result;
    double truth;
    config.argv = test_child_argv("tree_peak", who, mb, "20", processes, before, "0");
    config.contain = SBX_CONTAIN_TREE;
    config.memory_bytes = limit;
    config.timeout_ms = LONG_MS;
    MUST_BE_WELL(test_run(&config, &result));
    truth = atof(result.out.data) * 1024;
    if (result.verdict != SBX_OK || truth <= 0)
        return test_text("%s: %s", sbx_verdict_name(result.verdict), result.message);
    *off = ((double)result.peak_bytes - truth) / truth;
    if (*off < 0) *off = -*off;
    sbx_free(&result);
    return "";
}

#endif /* __linux__ */
