/* What test_tree.c (a few times) and treesoak.c (hundreds of times) have in common: a corral from
   which no process gets away unseen, and the attacks on the tree. */
#ifndef SBX_TEST_TREE_H
#define SBX_TEST_TREE_H

#include "test.h"

#ifdef __linux__

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define MB (1024LL * 1024)
#define LONG_MS 15000 /* longer than anything here takes, shorter than the child's own 20 s */

/* ==== The corral ============================================================================== */

/* A process in between becomes the parent of every orphan below it, whatever session, group or
   namespace that one is in. It runs the host, kills it if it is told to, and afterwards waits until
   nobody is left. Whoever is left after that is a survivor: killed by its number, and reported. */
typedef struct corral {
    const char *(*host)(void *arg); /* runs boxes; answers "" or what is wrong */
    void *arg;
    int (*kill_when)(void *arg);    /* NULL = the host ends by itself */
    int patience_ms;                /* how long orphans may take to be gone; 0 = not at all */
    volatile long long *gone_ms;    /* out: how long it took; in shared memory */
} corral;

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
    int fds[2], status = 0, sent = 0, survivors = 0;
    long long end = test_now_ms() + 30000, from;
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
    while (!corral_empty() && test_now_ms() < from + c->patience_ms) test_sleep_ms(1);
    if (c->gone_ms) *c->gone_ms = test_now_ms() - from;
    while (!corral_empty() && test_now_ms() < from + c->patience_ms + 10000) {
        int count = corral_list(names, sizeof names, 1);
        if (survivors == 0 && count > 0) survivors = count;
        test_sleep_ms(5);
    }
    if (survivors)
        return test_text("%d survivors:%s%s%s", survivors, names, *text ? "; and " : "", text);
    return test_text("%s", text);
}

static const char *in_corral(corral *c) { return test_in_copy(corral_guard, c); }

/* ==== The attacks ============================================================================= */

typedef struct tree_attack {
    const char *name;
    const char *mode, *how;     /* child MODE HOW TETHER THEN ACT, or MODE TETHER for how = NULL */
    const char *then, *act;
    sbx_verdict verdict;
    int timeout_ms;             /* 0 = it ends by itself */
} tree_attack;

/* The numbers are those of the list of attacks. Time-outs are long enough to get under way; if one
   comes too early on a slow machine, the attack is only weaker. */
static const tree_attack tree_attacks[] = {
    {"1 setsid", "escape", "setsid", "0", "hold", SBX_OK, 0},
    {"1 setsid, program stays", "escape", "setsid", "stay", "hold", SBX_TIMED_OUT, 60},
    {"1 setsid, program crashes", "escape", "setsid", "crash", "close", SBX_CRASHED, 0},
    {"1 setsid and flood", "escape", "setsid", "0", "flood", SBX_OK, 0},
    {"2 daemon", "escape", "daemon", "0", "close", SBX_OK, 0},
    {"2 daemon, program stays", "escape", "daemon", "stay", "hold", SBX_TIMED_OUT, 60},
    {"3 setpgid", "escape", "setpgid", "3", "hold", SBX_EXITED, 0},
    {"4 forking relay", "tree_bomb", "relay", "60", "4000", SBX_TIMED_OUT, 120},
    {"4 relay with sessions", "tree_bomb", "relay+setsid", "60", "4000", SBX_TIMED_OUT, 120},
    {"4 stubborn sessions", "tree_bomb", "stay+setsid+stubborn", "60", "0", SBX_TIMED_OUT, 120},
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
    {"8 a relay of it", "tree_bomb", "relay+parent+setsid", "20", "400", SBX_TIMED_OUT, 120},
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
#define TREE_ATTACKS (sizeof tree_attacks / sizeof *tree_attacks)

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
static const char *tree_attack_once(const tree_attack *a) {
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

/* ==== 37: the host is killed ================================================================== */

enum { DIES_BY_KILL, DIES_BY_ABORT, DIES_BY_FAULT, DIES_BY_EXIT, DIES_BY_EXEC };

/* The program stays until its tree is ended, and says something when its trick is done. */
static const tree_attack doomed_attacks[] = {
    {"37 setsid", "escape", "setsid", "stay", "hold", SBX_OK, 0},
    {"37 daemon", "escape", "daemon", "stay", "close", SBX_OK, 0},
    {"37 CLONE_PARENT", "escape", "parent", "stay", "hold", SBX_OK, 0},
    {"37 CLONE_PARENT and setsid", "escape", "parent_setsid", "stay", "close", SBX_OK, 0},
    {"37 stubborn", "tree_bomb", "stay+setsid+stubborn", "20", "0", SBX_OK, 0},
    {"37 forking relay", "tree_bomb", "relay+setsid", "60", "4000", SBX_OK, 0},
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
#define DOOMED_ATTACKS (sizeof doomed_attacks / sizeof *doomed_attacks)

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
static const char *tree_host_dies(const tree_attack *a, int death, int kill_after_us, int threads,
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
    c.patience_ms = 8000;
    c.gone_ms = &d.page->gone_ms;
    flaw = in_corral(&c);
    if (death == DIES_BY_ABORT && strcmp(flaw, "the host was killed by signal 6") == 0) flaw = "";
    if (death == DIES_BY_FAULT && strcmp(flaw, "the host was killed by signal 11") == 0) flaw = "";
    if (!*flaw && test_tether_held(&d.tether)) flaw = "somebody still holds the tether";
    if (!test_tether_close(&d.tether) && !*flaw) flaw = "somebody holds on to the tether";
    if (gone_ms) *gone_ms = d.page->gone_ms;
    return flaw;
}

#endif /* __linux__ */
#endif /* SBX_TEST_TREE_H */
