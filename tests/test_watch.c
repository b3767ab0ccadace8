/* Limits on all processes of a run together, which the host watches: memory, CPU time, peak. */
#include "test.h"

#include <sys/mman.h>
#ifdef __linux__
#include <grp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

/* ==== Memory of all processes together ======================================================== */

/* In portable mode the limit is RLIMIT_AS: asking fails, and the child says so. */
static void expect_memory(int *utest_result, const char *how, const char *mb, const char *processes,
                          long long limit_mb, sbx_verdict verdict) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("memory", how, mb, processes, verdict == SBX_OK ? "200" : "5000");
    config.memory_bytes = limit_mb * MB;
    config.timeout_ms = LONG_MS;
    config.grace_ms = -1;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(verdict, result);
    EXPECT_TRUE(result.enforced & (test_has_watch() ? SBX_BY_WATCH : SBX_BY_RLIMIT_AS));
    if (verdict == SBX_MEMORY_LIMIT) {
        EXPECT_EQ(test_has_watch() ? 1 : 0, result.certain);
        if (test_has_watch()) EXPECT_TRUE(result.evidence & SBX_SAW_MEMORY_SUM);
        if (test_has_watch()) EXPECT_EQ(SIGKILL, result.signal); /* at once, not afterwards */
        EXPECT_NE((char *)NULL, strstr(result.message, "memory"));
    }
    if (result.peak_bytes >= 0 && test_has_watch()) {
        if (verdict == SBX_MEMORY_LIMIT) EXPECT_GT(result.peak_bytes, limit_mb * MB);
        if (verdict == SBX_OK) EXPECT_LT(result.peak_bytes, limit_mb * MB);
        EXPECT_LT(result.peak_bytes, 512 * MB); /* all that the child ever uses */
    }
    sbx_free(&result);
}

UTEST(attack, a18_memory_in_one_process) {
    expect_memory(utest_result, "own", "200", "1", 64, SBX_MEMORY_LIMIT);
    expect_memory(utest_result, "shared", "200", "1", 64, SBX_MEMORY_LIMIT);
}

UTEST(attack, a18_memory_in_eight_processes) {
    if (!test_has_watch()) /* each is far from the limit, and only that is seen */
        expect_memory(utest_result, "own", "20", "8", 64, SBX_OK);
    else expect_memory(utest_result, "own", "20", "8", 64, SBX_MEMORY_LIMIT);
}

UTEST(attack, a18_memory_inside_the_limit) {
    expect_memory(utest_result, "own", "15", "4", 128, SBX_OK);
}

/* Eight processes that share 30 MB use 30 MB, not 240; also while they come and go. */
UTEST(attack, a18_shared_pages_count_once) {
    expect_memory(utest_result, "once", "30", "8", 96, SBX_OK);
    expect_memory(utest_result, "churn", "30", "8", 96, SBX_OK);
    expect_memory(utest_result, "relay", "60", "1", 80, SBX_OK);
}

/* What the sizes in /proc do not show: a process whose first thread has ended, one that came while
   all looked too large anyway, and pages that are there once, but at three addresses. */
UTEST(attack, a18_sizes_that_mislead) {
    NEED_WATCH();
    expect_memory(utest_result, "leaderless", "200", "1", 64, SBX_MEMORY_LIMIT);
    expect_memory(utest_result, "late", "40", "1", 64, SBX_MEMORY_LIMIT);
    expect_memory(utest_result, "mapped", "30", "1", 64, SBX_OK);
}

/* Where nobody sums up, the limit is each process's own: three of them are not proven to be inside,
   one that has hardly any memory is. */
UTEST(watch, memory_that_nobody_sums_up_is_not_certain) {
    sbx_config config = {0};
    sbx_result result;
    if (test_has_watch()) UTEST_SKIP("here it is summed up");
    config.memory_bytes = 200 << 20;
    config.argv = test_child_argv("memory", "own", "80", "3", "100");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ(0, result.certain);
    sbx_free(&result);
    config.argv = test_child_argv("sleep", "100");
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ(1, result.certain);
    sbx_free(&result);
}

/* In use, not reserved: what node, Go, Java and sanitizers do is fine under memory_bytes. */
UTEST(pitfall, P29_reserved_memory_is_not_used_memory) {
    sbx_config config = {0};
    sbx_result result;
    config.memory_bytes = 100 << 20;
    config.argv = test_child_argv("reserve", "4000", "20", "60");
    if (test_has_watch()) TEST_RUN_WEIGHED(&config, &result);
    else TEST_RUN(&config, &result);
    if (!test_has_watch()) { /* documented there: each process's address space */
        EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
        EXPECT_TRUE(result.enforced & SBX_BY_RLIMIT_AS);
        EXPECT_EQ(0, result.certain);
    } else {
        EXPECT_EQ((int)SBX_OK, (int)result.verdict);
        EXPECT_LT(result.peak_bytes, (100LL << 20));
        EXPECT_GE(result.peak_bytes, (20LL << 20));
    }
    sbx_free(&result);
    if (!test_has_watch()) return;
    result = RUN_CHILD(&config, "reserve", "4000", "300", "2000");
    EXPECT_EQ((int)SBX_MEMORY_LIMIT, (int)result.verdict);
    EXPECT_EQ(1, result.certain);
    EXPECT_GT(result.peak_bytes, (100LL << 20));
    sbx_free(&result);
}

#ifdef __linux__
UTEST(tree, a18_memory_of_orphans) {
    NEED_WATCH();
    NEED_TREE();
    EXPECT_WELL(memory_holds(SBX_CONTAIN_TREE));
}

static int fn_grows(void *arg, void *ret, size_t size) {
    size_t i, most = 512u << 20;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *block = (char *)mmap(NULL, most, PROT_READ | PROT_WRITE, flags, -1, 0);
    (void)arg, (void)ret, (void)size;
    if (block == (char *)MAP_FAILED) return 1;
    for (i = 0; i < most; i += 4096) block[i] = 1;
    test_sleep_ms(3000);
    return 0;
}

/* Each fork keeps what there is so far: none of it is private any more. */
static int fn_shares(void *arg, void *ret, size_t size) {
    int i;
    (void)arg, (void)ret, (void)size;
    for (i = 0; i < 6; i++) {
        void *block =
            mmap(NULL, 30 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED) return 1;
        memset(block, 1, 30 * MB);
        if (fork() == 0) test_sleep_ms(3000), _exit(0);
    }
    test_sleep_ms(3000);
    return 0;
}

/* A page here and there, of zeros: hardly any memory, but for the tables that tell where it is. */
static int fn_tables(void *arg, void *ret, size_t size) {
    size_t step = 2u << 20, most = 64 * 1024 * step, i;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    volatile char *block = (volatile char *)mmap(NULL, most, PROT_READ, flags, -1, 0);
    (void)arg, (void)ret, (void)size;
    if (block == (volatile char *)MAP_FAILED) return 7;
    for (i = 0; i < most; i += step) (void)block[i];
    test_sleep_ms(3000);
    return 0;
}

static void call_with_64_mb(sbx_fn fn, sbx_result *result) {
    sbx_config config = {0};
    config.contain = SBX_CONTAIN_TREE;
    config.memory_bytes = 64 * MB;
    config.timeout_ms = LONG_MS;
    sbx_call(&config, fn, NULL, NULL, 0, result);
}

UTEST(tree, call_that_uses_memory) {
    static const sbx_fn fn[] = {fn_grows, fn_shares, fn_tables};
    sbx_result result;
    int i;
    NEED_WATCH();
    NEED_CALL();
    NEED_TREE();
    for (i = 0; i < 3; i++) {
        call_with_64_mb(fn[i], &result);
        if (result.exit_code != 7) { /* no 128 GB of addresses */
            EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
            EXPECT_EQ(1, result.certain);
        }
        EXPECT_FALSE(test_has_children());
        sbx_free(&result);
    }
}
#endif

#if defined(__linux__) && !defined(SBX_NO_LINUX)
UTEST(tree, page_tables_are_memory) {
    sbx_config config = {0};
    sbx_result result;
    NEED_WATCH();
    NEED_TREE();
    config.argv = test_child_argv("page_tables");
    config.contain = SBX_CONTAIN_TREE;
    config.memory_bytes = 64 * MB;
    TEST_RUN(&config, &result);
    if (result.exit_code == 7) UTEST_SKIP("no 64 GB of addresses");
    EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
    sbx_free(&result);
}
#endif

/* ==== How fast, how exact ===================================================================== */

#ifdef __linux__
/* 16 MB or 10 % too much, the larger of the two. The best of a few tries, since other programs may
   keep the host from looking. */
static void expect_small_overshoot(int *utest_result, long long limit, const char *how) {
    long long best = LLONG_MAX, most = limit / 10 > 16 * MB ? limit / 10 : 16 * MB, over;
    int i;
    for (i = 0; i < 6 && best > most; i++) {
        EXPECT_WELL(tree_overshoot(limit, how, &over));
        if (over < best) best = over;
    }
    EXPECT_LE(best, most);
}

UTEST(tree, memory_overshoot_is_small) {
    NEED_WATCH();
    NEED_TREE();
    expect_small_overshoot(utest_result, 64 * MB, "self");
    expect_small_overshoot(utest_result, 256 * MB, "self");
    expect_small_overshoot(utest_result, 64 * MB, "orphan");
}

/* Within 5 % of what the processes themselves say; the best of a few tries. */
static void expect_peak(int *utest_result, const char *who, const char *mb, const char *processes,
                        const char *before, long long limit) {
    double best = 1e9, off;
    int i;
    for (i = 0; i < 6 && best > 0.05; i++) {
        EXPECT_WELL(tree_peak_error(who, mb, processes, before, limit, &off));
        if (off < best) best = off;
    }
    EXPECT_LE(best, 0.05);
}

UTEST(tree, peak_of_20_ms_is_seen) {
    NEED_WATCH();
    NEED_TREE();
    expect_peak(utest_result, "self", "100", "1", "0", 400 * MB);
    expect_peak(utest_result, "self", "100", "1", "300", 400 * MB);
    expect_peak(utest_result, "children", "40", "4", "300", 400 * MB);
    expect_peak(utest_result, "self", "100", "1", "0", 0);
    expect_peak(utest_result, "self", "100", "1", "400", 0);
}

/* Nobody asked for a limit, so nobody needs to look closely; the peak is wanted all the same. */
UTEST(tree, peak_of_a_child_without_a_limit) {
    NEED_WATCH();
    NEED_TREE();
    expect_peak(utest_result, "children", "60", "1", "200", 0);
}
#endif

/* ==== CPU time of all processes together ====================================================== */

#ifdef __linux__
static void expect_cpu_limit(int *utest_result, const char *processes, const char *slice,
                             long long cpu_ms) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    ASSERT_TRUE(test_tether_open(&tether));
    config.argv = test_child_argv("tree_burn", tether.path, processes, slice);
    config.contain = SBX_CONTAIN_TREE;
    config.cpu_ms = cpu_ms;
    config.timeout_ms = LONG_MS;
    config.grace_ms = -1;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CPU_LIMIT, result);
    EXPECT_EQ(1, result.certain);
    EXPECT_TRUE(result.evidence & SBX_SAW_CPU_SUM);
    EXPECT_GE(result.wall_us * sysconf(_SC_NPROCESSORS_ONLN), 900 * cpu_ms); /* not too early */
    EXPECT_FALSE(test_tether_held(&tether));
    EXPECT_TRUE(test_tether_close(&tether));
    sbx_free(&result);
}

UTEST(tree, a16_four_burning_orphans) {
    NEED_WATCH();
    NEED_TREE();
    expect_cpu_limit(utest_result, "4", "0", 1000);
}

/* Each of them is gone before it has spent much. */
UTEST(tree, a16_burning_relay) {
    NEED_WATCH();
    NEED_TREE();
    expect_cpu_limit(utest_result, "4", "40", 400);
}

/* Stopped where there is a clock of the kernel's own. Elsewhere lives shorter than a clock tick that
   nobody waits for leave no trace between two looks, and the deadline ends them at the latest. */
UTEST(tree, a16_relay_of_short_lives_ends_at_the_deadline_at_the_latest) {
    sbx_config config = {0};
    sbx_result result;
    test_tether tether;
    NEED_WATCH();
    NEED_TREE();
    ASSERT_TRUE(test_tether_open(&tether));
    config.argv = test_child_argv("tree_burn", tether.path, "4", "4");
    config.contain = SBX_CONTAIN_TREE;
    config.cpu_ms = 400;
    config.timeout_ms = 1500;
    config.grace_ms = -1;
    TEST_RUN(&config, &result);
    EXPECT_TRUE(result.verdict == SBX_TIMED_OUT || result.verdict == SBX_CPU_LIMIT);
    EXPECT_FALSE(test_tether_held(&tether));
    EXPECT_TRUE(test_tether_close(&tether));
    sbx_free(&result);
}
#endif

#if defined(__linux__) && !defined(SBX_NO_LINUX)
/* The CPU time of orphans is in the books, too. */
UTEST(tree, times_are_of_the_whole_tree) {
    sbx_config config = {0};
    sbx_result result;
    NEED_WATCH();
    NEED_TREE();
    config.command = "(while :; do :; done) & wait";
    config.contain = SBX_CONTAIN_TREE;
    config.cpu_ms = 300;
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_CPU_LIMIT, result);
    EXPECT_GE(result.user_us + result.system_us, 290000);
    sbx_free(&result);
}
#endif

/* ==== Hiding from the watch =================================================================== */

#ifdef __linux__
/* The program covers its own /proc, or leaves it by chroot: the host must not look there, much less
   wait there. */
static const char *hide_from_the_watch(void *how) {
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    config.argv = test_child_argv("tree_hide", (const char *)how, "200", "4000");
    config.contain = SBX_CONTAIN_TREE;
    config.memory_bytes = 64 * MB;
    config.timeout_ms = LONG_MS;
    flaw = test_run(&config, &result);
    if (!*flaw && strcmp(result.out.data, "cannot hide\n") != 0 &&
        result.verdict != SBX_MEMORY_LIMIT)
        flaw = test_text("%s", result.message);
    sbx_free(&result);
    return flaw;
}

#define HIDES(name)                                                                                \
    UTEST(tree, a18_hides_behind_##name) {                                                         \
        NEED_WATCH();                                                                              \
        NEED_TREE();                                                                               \
        EXPECT_WELL(in_place(hide_from_the_watch, (void *)(size_t) #name));                        \
    }

HIDES(tmpfs)
HIDES(fake)
HIDES(fifo)
HIDES(chroot)
#endif

/* ==== Programs that reserve much and use little =============================================== */

#ifdef __linux__
static int installed(const char *name) {
    sbx_config config = {0};
    config.argv = (const char *const[]){"sh", "-c", "command -v \"$0\" >/dev/null", name, NULL};
    config.inherit_env = 1;
    return sbx_run(&config, NULL) == SBX_OK;
}

static void expect_runs_in_512_mb(int *utest_result, const char *const *argv, const char *out) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = argv;
    config.inherit_env = 1;
    config.contain = SBX_CONTAIN_TREE;
    config.memory_bytes = 512 * MB;
    config.timeout_ms = 50000; /* their start is slow beside other tests */
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_NE((char *)NULL, strstr(result.out.data, out));
    EXPECT_FALSE(result.enforced & SBX_BY_RLIMIT_AS);
    sbx_free(&result);
}

UTEST(tree, node_in_512_mb) {
    NEED_WATCH();
    NEED_TREE();
    if (!installed("node")) UTEST_SKIP("node is not installed");
    expect_runs_in_512_mb(utest_result,
                          (const char *const[]){"node", "-e", "console.log(6 * 7)", NULL}, "42");
}

UTEST(tree, java_in_512_mb) {
    NEED_WATCH();
    NEED_TREE();
    if (!installed("java")) UTEST_SKIP("java is not installed");
    expect_runs_in_512_mb(utest_result, (const char *const[]){"java", "--version", NULL}, "");
}

UTEST(tree, address_sanitizer_in_512_mb) {
    char own[PATH_MAX];
    ssize_t size;
    NEED_WATCH();
    NEED_TREE();
    if (!test_is_asan()) UTEST_SKIP("this is no such build");
    size = readlink("/proc/self/exe", own, sizeof own - 1);
    ASSERT_GT(size, 0);
    own[size] = 0;
    expect_runs_in_512_mb(utest_result, (const char *const[]){own, "--list-tests", NULL}, "tree.");
}
#endif

#if defined(__linux__) && !defined(SBX_NO_LINUX)

/* ==== What the sums are made of =============================================================== */

static long long cpu_of(const sbx_result *r) { return r->user_us + r->system_us; }

/* The kernel may have a clock for all descendants (perf's), and may refuse it: then the sum is made
   from /proc. Both have to hold. */
static int refuse_the_clock(void) {
    static const int number = SYS_perf_event_open;
    return test_forbid(&number, 1, EACCES);
}

/* Each would go on for 4 s and more; the kernel's own limit, where it helps at all, is 2 s. */
static const char *stopped_in_time(void *without_clock) {
    static const char *const ways[][6] = {
        {"net", "named", "5000", NULL}, /* a name that breaks a line of stat in two */
        {"burn", "system", "1", "5000"}, /* in system calls alone */
        {"net", "burners", "1400", "3", NULL}, /* children that are too short to be seen */
        {"net", "burners", "50", "80", "ignored"}, /* children that nobody waits for */
    };
    size_t i;
    if (*(int *)without_clock && !refuse_the_clock()) return "skip: no filter";
    for (i = 0; i < sizeof ways / sizeof *ways; i++) {
        const char *const *way = ways[i];
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv(way[0], way[1], way[2], way[3], way[4]);
        config.contain = test_both[i % 2];
        config.cpu_ms = 100;
        config.grace_ms = -1;
        MUST_BE_WELL(test_run(&config, &result));
        if (result.verdict != SBX_CPU_LIMIT || !result.certain || result.signal != SIGKILL ||
            cpu_of(&result) < 100000 || cpu_of(&result) > 1500000)
            return test_text("%s %s: %lld us, %s", way[1], way[2], cpu_of(&result), result.message);
        sbx_free(&result);
    }
    return "";
}

UTEST(watch, cpu_time_is_stopped_soon_after_the_limit_however_it_is_spent) {
    int without;
    NEED_WATCH();
    for (without = 0; without < 2; without++) EXPECT_WELL(test_in_copy(stopped_in_time, &without));
}

/* Children that were waited for are in the books of their parent, and not once more in ours. */
static const char *counted_once(void *without_clock) {
    int without = *(int *)without_clock;
    sbx_config config = {0};
    sbx_result result;
    long long said;
    if (without && !refuse_the_clock()) return "skip: no filter";
    config.argv = test_child_argv("net", "burners", "5", "60");
    config.contain = test_both[without];
    config.cpu_ms = 500;
    MUST_BE_WELL(test_run(&config, &result));
    said = atoll(result.out.data);
    if (result.verdict != SBX_OK || said < 300000 || cpu_of(&result) > said + 100000)
        return test_text("%lld us of %lld, %s", cpu_of(&result), said, result.message);
    sbx_free(&result);
    return "";
}

UTEST(watch, cpu_time_is_counted_once) {
    int without;
    NEED_WATCH();
    for (without = 0; without < 2; without++) EXPECT_WELL(test_in_copy(counted_once, &without));
}

/* The kernel's own clock of a process and its descendants: perf's, if this user may have it. */
static int has_clock(void) {
    unsigned long long attr[8] = {1ull | 64ull << 32, 1, 0, 0, 0, 1ull << 5 | 1ull << 6, 0, 0};
    int fd = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, 0);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

/* Of children that nobody waits for, or only pid 1 does, no parent's books tell. */
static const char *short_lives(sbx_contain contain, const char *how, long long *said,
                               long long *counted) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("net", "burners", "100", "2", how);
    config.contain = contain;
    config.cpu_ms = 100000;
    MUST_BE_WELL(test_run(&config, &result));
    TEST_MUST(result.verdict == SBX_OK);
    *said = atoll(result.out.data);
    *counted = cpu_of(&result);
    sbx_free(&result);
    return "";
}

UTEST(watch, cpu_time_of_short_lives_that_nobody_waits_for) {
    static const char *const how[] = {"ignored", "orphaned"};
    long long said = 0, counted = 0;
    int i;
    NEED_WATCH();
    if (!has_clock()) UTEST_SKIP("the kernel lets this user have no clock");
    for (i = 0; i < 4; i++) {
        int tries = 0;
        do { /* a busy machine blurs both clocks */
            EXPECT_WELL(short_lives(test_both[i % 2], how[i / 2], &said, &counted));
        } while (counted < said / 100 * 95 && ++tries < 3);
        EXPECT_GE(said, 200000LL);
        EXPECT_GE_MSG(counted, said / 100 * 95, how[i / 2]);
        EXPECT_LE_MSG(counted, said + 200000, how[i / 2]); /* with the price of 100 forks */
    }
}

/* Without that clock, too: pid 1 waits for orphans. */
UTEST(tree, cpu_time_of_orphans_is_in_the_books_of_pid_1) {
    sbx_config config = {0};
    sbx_result result;
    NEED_WATCH();
    NEED_TREE();
    config.argv = test_child_argv("net", "burners", "100", "2", "orphaned");
    config.contain = SBX_CONTAIN_TREE; /* and no cpu_ms, so no clock */
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_GE(atoll(result.out.data), 200000LL);
    EXPECT_GE(cpu_of(&result), atoll(result.out.data) / 100 * 95);
    EXPECT_LE(cpu_of(&result), atoll(result.out.data) + 300000);
    sbx_free(&result);
}

#if TEST_HAS_CALL
static int fn_burns(void *arg, void *ret, size_t size) {
    int i;
    (void)arg, (void)ret, (void)size;
    signal(SIGCHLD, SIG_IGN);
    for (i = 0; i < 100; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            clock_t end = clock() + CLOCKS_PER_SEC / 500;
            while (clock() < end) {
            }
            _exit(0);
        }
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    return 0;
}

UTEST(watch, cpu_time_of_a_function_that_forks) {
    int i;
    NEED_WATCH();
    if (!has_clock()) UTEST_SKIP("the kernel lets this user have no clock");
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.contain = test_both[i];
        config.cpu_ms = 100000;
        sbx_call(&config, fn_burns, NULL, NULL, 0, &result);
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_GE(cpu_of(&result), 190000LL);
        sbx_free(&result);
    }
}
#endif

/* On a machine that lets the host look in time, the limit is passed by a few looks only. */
UTEST(watch, cpu_limit_is_exact) {
    long long least = LLONG_MAX;
    int tries;
    NEED_WATCH();
    for (tries = 0; tries < 6 && least > 345000; tries++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("burn", "user", "1", "5000");
        config.contain = SBX_CONTAIN_GROUP;
        config.cpu_ms = 300;
        config.grace_ms = -1;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_CPU_LIMIT, result);
        EXPECT_GE(cpu_of(&result), 300000LL);
        if (cpu_of(&result) < least) least = cpu_of(&result);
        sbx_free(&result);
    }
    EXPECT_LE(least, 345000LL);
}

/* 102 % is too much, 98 % is not; what 100 % is, the same program without a limit tells. */
UTEST(watch, memory_limit_is_exact) {
    int i;
    NEED_WATCH();
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        long long all;
        config.argv = test_child_argv("net", "use", "40", "100");
        config.contain = test_both[i];
        config.memory_bytes = 1LL << 40; /* looked at closely */
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_OK, result);
        all = result.peak_bytes;
        EXPECT_GE(all, 40 * MB);
        sbx_free(&result);
        config.memory_bytes = all / 98 * 100;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_OK, result);
        sbx_free(&result);
        config.argv = test_child_argv("net", "use", "40", "5000");
        config.memory_bytes = all / 102 * 100;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
        EXPECT_EQ(SIGKILL, result.signal); /* by a look, not in the books when all was over */
        sbx_free(&result);
    }
}

static int note_output(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)stream, (void)data;
    *(size_t *)user += size;
    return 0;
}

/* The host looks again at once where little is left, and rarely where much is. */
static const char *usual_wait(long long limit, long long *usual) {
    long long waits[11];
    sbx_config config = {0};
    sbx_result result;
    size_t said = 0;
    int i, k;
    sbx *box;
    config.argv = test_child_argv("net", "use", "40", "15000");
    config.on_output = note_output;
    config.user = &said;
    config.contain = SBX_CONTAIN_GROUP;
    config.memory_bytes = limit;
    box = sbx_start(&config, &result);
    TEST_MUST(box != NULL);
    while (!said && !sbx_poll(box, 5)) {
    }
    sbx_poll(box, 60);
    for (i = 0; i < 11; i++) {
        sbx_watch watch;
        sbx_get_watch(box, &watch);
        test_sleep_ms(watch.wait_ms);
        TEST_MUST(sbx_poll(box, 0) == 0);
        sbx_get_watch(box, &watch);
        for (k = i; k > 0 && waits[k - 1] > watch.wait_ms; k--) waits[k] = waits[k - 1];
        waits[k] = watch.wait_ms;
    }
    *usual = waits[5];
    sbx_cancel(box);
    TEST_MUST(sbx_finish(box, &result) == SBX_CANCELLED);
    TEST_MUST(strcmp(result.out.data, "ready\n") == 0);
    sbx_free(&result);
    return "";
}

UTEST(watch, looks_sooner_near_the_limit) {
    long long near = -1, far = -1;
    int tries;
    NEED_WATCH();
    EXPECT_STREQ("", usual_wait(46 * MB, &near));
    for (tries = 0; tries < 5 && far <= 0; tries++) /* 0: the machine was too busy, it is late */
        EXPECT_STREQ("", usual_wait(1024 * MB, &far));
    EXPECT_LE(near, 4LL);
    EXPECT_GE(far, 5LL);
}

/* ==== Who belongs to it ======================================================================= */

/* In a group there is no list of members: the session and the line of descent tell. */
UTEST(watch, group_counts_orphans_of_the_session_and_descendants_of_others) {
    static const char *const who[] = {"orphan", "setsid"};
    int i;
    NEED_WATCH();
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("net", "relative", who[i], "60", "14000");
        config.contain = SBX_CONTAIN_GROUP;
        config.memory_bytes = 30 * MB;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
        EXPECT_EQ(SIGKILL, result.signal);
        sbx_free(&result);
    }
}

/* Until it execs, a child of vfork lives in its parent's memory. That is there once. */
UTEST(watch, memory_that_a_vfork_borrows_counts_once) {
    int i;
    NEED_WATCH();
    if (syscall(SYS_kcmp, getpid(), getpid(), 1, 0, 0) != 0) UTEST_SKIP("no kcmp here");
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("net", "vfork", "40", "150");
        config.contain = test_both[i];
        config.memory_bytes = 65 * MB;
        TEST_RUN_WEIGHED(&config, &result);
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_STREQ("vforked\n", result.out.data);
        EXPECT_LT(result.peak_bytes, 65 * MB);
        if (result.peak_bytes >= 0) EXPECT_GE(result.peak_bytes, 40 * MB);
        sbx_free(&result);
    }
}

/* But a child that has become a program of its own has memory of its own, whatever it shared. */
UTEST(watch, memory_of_one_that_was_vforked_counts_after_exec) {
    int i;
    NEED_WATCH();
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("net", "vfork", "40", "150", "200");
        config.contain = test_both[i];
        config.memory_bytes = 65 * MB;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
        EXPECT_EQ(SIGKILL, result.signal); /* at once, not in the books when all was over */
        sbx_free(&result);
    }
}

/* ==== Neither too much nor too little ========================================================= */

/* Memory that is there once must not end a program, however often it shows: read by workers that
   come and go, mapped ten times, lived in by orphans. */
UTEST(watch, memory_that_is_there_once_ends_nobody) {
    static const char *const ways[][6] = {
        {"net", "pool", "shared", "60", "6", "600"},
        {"net", "map_file", "40", "10", "300", NULL},
        {"net", "vm_orphans", "60", "400", NULL, NULL},
    };
    int i;
    NEED_WATCH();
    for (i = 0; i < 6; i++) {
        const char *const *way = ways[i / 2];
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv(way[0], way[1], way[2], way[3], way[4], way[5]);
        config.contain = test_both[i % 2];
        config.memory_bytes = 90 * MB;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_LE_MSG(result.peak_bytes, 70 * MB, way[1]);
        sbx_free(&result);
    }
}

/* Pages that forked workers copy change no size of theirs. Four copies of 40 MB and the original:
   where that is reported it is right, and a machine that is not too busy lets the host see it. */
static void expect_copies(int *utest_result, sbx_contain contain, long long limit) {
    long long peak = -1;
    int tries;
    for (tries = 0; tries < 6 && peak < 0; tries++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("net", "pool", "cow", "40", "4", tries ? "600" : "100");
        config.contain = contain;
        config.memory_bytes = limit;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_OK, result);
        peak = result.peak_bytes;
        if (peak >= 0) EXPECT_GE(peak, 190 * MB);
        EXPECT_LE(peak, 215 * MB);
        sbx_free(&result);
    }
    EXPECT_GE(peak, 0LL);
}

UTEST(watch, copies_of_pages_count) {
    int i;
    NEED_WATCH();
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        expect_copies(utest_result, test_both[i], 0); /* a group needs no limit for it */
        expect_copies(utest_result, test_both[i], 400 * MB);
        config.argv = test_child_argv("net", "pool", "cow", "40", "4", "5000");
        config.contain = test_both[i];
        config.memory_bytes = 150 * MB;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
        EXPECT_EQ(1, result.certain);
        sbx_free(&result);
    }
}

/* Whether two tasks have one memory the kernel need not tell (containers forbid kcmp): the answer
   must be the same, also for workers that are as like as twins. */
static const char *memory_without_kcmp(void *arg) {
    static const int number = SYS_kcmp;
    int i;
    (void)arg;
    if (!test_forbid(&number, 1, EPERM)) return "skip: no filter";
    for (i = 0; i < 4; i++) {
        sbx_config config = {0};
        sbx_result result;
        int copies = i / 2;
        config.argv = copies ? test_child_argv("net", "pool", "cow", "40", "4", "3000")
                             : test_child_argv("net", "vfork", "40", "150");
        config.contain = test_both[i % 2];
        config.memory_bytes = (copies ? 150 : 65) * MB;
        MUST_BE_WELL(test_run(&config, &result));
        if (result.verdict != (copies ? SBX_MEMORY_LIMIT : SBX_OK) ||
            (copies && result.signal != SIGKILL))
            return test_text("%s: %s", copies ? "copies" : "vfork", result.message);
        sbx_free(&result);
    }
    return "";
}

UTEST(watch, twins_are_told_from_copies_without_kcmp) {
    NEED_WATCH();
    EXPECT_WELL(test_in_copy(memory_without_kcmp, NULL));
    EXPECT_WELL(test_as_user(memory_without_kcmp, NULL));
}

/* The line with the memory stands behind that of the groups, which may be long. */
static const char *hog_of_many_groups(void *arg) {
    gid_t groups[3000];
    sbx_config config = {0};
    sbx_result result;
    int i;
    for (i = 0; i < 3000; i++) groups[i] = (gid_t)(100000 + i);
    TEST_MUST(setgroups(3000, groups) == 0);
    config.argv = test_child_argv("net", "use", "100", "5000");
    config.contain = *(sbx_contain *)arg;
    config.memory_bytes = 50 * MB;
    MUST_BE_WELL(test_run(&config, &result));
    if (result.verdict != SBX_MEMORY_LIMIT || result.signal != SIGKILL) /* not in the books only */
        return test_text("%s", result.message);
    sbx_free(&result);
    return "";
}

UTEST(watch, memory_of_a_user_of_many_groups) {
    sbx_contain contain[2];
    int i;
    NEED_WATCH();
    if (geteuid() != 0) UTEST_SKIP("only root can have so many groups");
    for (i = 0; i < 2; i++) {
        contain[i] = test_both[i];
        EXPECT_WELL(in_place(hog_of_many_groups, &contain[i]));
    }
}

#if TEST_HAS_CALL
static int fn_uses(void *arg, void *ret, size_t size) {
    size_t mb = *(const size_t *)arg;
    char *block = (char *)mmap(NULL, mb * (size_t)MB, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)ret, (void)size;
    if (block == (char *)MAP_FAILED) return 1;
    memset(block, 1, mb * (size_t)MB);
    test_sleep_ms(150);
    return 0;
}

/* One file at two addresses: none of its pages is private, and the host has none of them. */
static int fn_maps_twice(void *arg, void *ret, size_t size) {
    char path[] = "/tmp/sbx-test-XXXXXX";
    int fd = mkstemp(path), i;
    size_t at, length = 50 * (size_t)MB;
    char *block[2];
    volatile char sum = 0;
    (void)arg, (void)ret, (void)size;
    if (fd < 0 || unlink(path) != 0 || ftruncate(fd, (off_t)length) != 0) return 1;
    for (i = 0; i < 2; i++) {
        block[i] = (char *)mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (block[i] == (char *)MAP_FAILED) return 1;
    }
    for (at = 0; at < length; at += 4096) sum = (char)(sum + ++block[0][at] + block[1][at]);
    test_sleep_ms(4000);
    return 0;
}

/* Never the host's: neither its 80 MB, nor more or less of the function's own. */
UTEST(watch, memory_of_functions_in_a_large_host) {
    size_t mb = 40;
    char *ballast = (char *)malloc(80 * (size_t)MB);
    int i;
    NEED_WATCH();
    ASSERT_TRUE(ballast != NULL);
    memset(ballast, 1, 80 * (size_t)MB);
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        int tries = 0;
        config.contain = test_both[i];
        config.memory_bytes = 60 * MB;
        while (sbx_call(&config, fn_uses, &mb, NULL, 0, &result) == SBX_OK &&
               result.peak_bytes < 0 && ++tries < 10) /* the machine is busy: once more */
            sbx_free(&result);
        EXPECT_VERDICT(SBX_OK, result);
        if (!test_is_asan()) {
            EXPECT_GE(result.peak_bytes, 38 * MB);
            EXPECT_LE(result.peak_bytes, 43 * MB);
        }
        sbx_free(&result);
        config.memory_bytes = 40 * MB;
        sbx_call(&config, fn_maps_twice, NULL, NULL, 0, &result);
        EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
        EXPECT_EQ(1, result.certain);
        sbx_free(&result);
    }
    free(ballast);
}
#endif

/* In a host that is larger than the program, the kernel's books tell nothing of its peak. What is
   reported all the same is right, and what nobody saw is not certain. */
UTEST(watch, short_lives_in_a_large_host) {
    char *ballast = (char *)malloc(80 * (size_t)MB);
    int i;
    NEED_WATCH();
    ASSERT_TRUE(ballast != NULL);
    memset(ballast, 1, 80 * (size_t)MB);
    for (i = 0; i < 16; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("net", "use", "20", i % 4 ? "0" : "1");
        config.contain = test_both[i % 2];
        config.memory_bytes = i < 8 ? 0 : 10 * MB;
        TEST_RUN(&config, &result);
        if (i < 8) {
            EXPECT_VERDICT(SBX_OK, result);
            if (result.peak_bytes >= 0) EXPECT_GE(result.peak_bytes, 20 * MB);
            EXPECT_LE(result.peak_bytes, 23 * MB);
        } else { /* it had twice the limit */
            EXPECT_TRUE(result.verdict == SBX_MEMORY_LIMIT || !result.certain);
        }
        sbx_free(&result);
    }
    free(ballast);
}

/* Hardly a program is smaller than 1 MB. */
UTEST(watch, nobody_is_certain_of_a_limit_that_nobody_saw_kept) {
    int i;
    NEED_WATCH();
    for (i = 0; i < 10; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("exit", "0");
        config.contain = test_both[i % 2];
        config.memory_bytes = MB;
        TEST_RUN(&config, &result);
        EXPECT_TRUE(result.verdict == (result.certain ? SBX_MEMORY_LIMIT : SBX_OK));
        EXPECT_TRUE(result.certain || result.evidence & SBX_SAW_BLIND);
        sbx_free(&result);
        config.memory_bytes = 1 << 30;
        TEST_RUN_IN_SIGHT(&config, &result);
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_EQ(1, result.certain);
        sbx_free(&result);
    }
}

static int is_over(void *arg) {
    siginfo_t info;
    (void)arg;
    memset(&info, 0, sizeof info);
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

/* It runs while nobody looks. */
static const char *run_unwatched(const sbx_config *config, sbx_result *result) {
    sbx *box = sbx_start(config, result);
    TEST_MUST(box != NULL);
    TEST_MUST(test_wait_until(is_over, NULL, 0));
    sbx_finish(box, result);
    return "";
}

/* Children that came and went while nobody looked are in nobody's books, or one by one. All had
   more than the limit at some moment: whoever did not see it cannot be certain, nor know the peak. */
UTEST(watch, children_that_nobody_saw_leave_doubt) {
    static const char *const ways[][6] = {
        {"net", "unseen", "ignored", "40", "2", NULL},
        {"net", "unseen", "orphaned", "40", "2", NULL},
        {"net", "unseen", "beside", "5", "12", "30"},
    };
    int i;
    NEED_WATCH();
    for (i = 0; i < 6; i++) {
        const char *const *way = ways[i / 2];
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv(way[0], way[1], way[2], way[3], way[4], way[5]);
        config.contain = test_both[i % 2];
        config.memory_bytes = 20 * MB;
        ASSERT_STREQ("", run_unwatched(&config, &result));
        EXPECT_TRUE_MSG(result.verdict == SBX_MEMORY_LIMIT || !result.certain, way[2]);
        if (result.peak_bytes >= 0) EXPECT_GT_MSG(result.peak_bytes, 20 * MB, way[2]);
        sbx_free(&result);
        if (strcmp(way[2], "beside") != 0) continue;
        config.memory_bytes = 0; /* nor is the largest of them the peak */
        ASSERT_STREQ("", run_unwatched(&config, &result));
        if (result.peak_bytes >= 0) EXPECT_GT_MSG(result.peak_bytes, 40 * MB, way[2]);
        sbx_free(&result);
    }
}

#ifdef __linux__
/* The kernel's clock of a tree belongs to who opened it, and that one could stop it. */
UTEST(watch, clock_cannot_be_stopped) {
    int i;
    NEED_WATCH();
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("net", "stop_clock", "1500");
        config.contain = test_both[i];
        config.cpu_ms = 300;
        config.timeout_ms = 19000;
        TEST_RUN(&config, &result);
        EXPECT_TRUE(result.verdict == SBX_CPU_LIMIT || !result.certain);
        if (has_clock()) EXPECT_VERDICT(SBX_CPU_LIMIT, result);
        sbx_free(&result);
    }
}

/* Memory that a child touches in its parent's own is there once. */
UTEST(watch, memory_of_twins_ends_nobody) {
    int i;
    NEED_WATCH();
    for (i = 0; i < 24; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("net", "twin", "50", "30");
        config.contain = test_both[i % 2];
        config.memory_bytes = 64 * MB;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_LT(result.peak_bytes, 64 * MB);
        sbx_free(&result);
    }
}

/* Shared memory behind so many page tables that a walk through them takes longer than a look. */
UTEST(watch, shared_memory_behind_many_tables_counts) {
    int i;
    NEED_WATCH();
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("net", "tables", "300", "10500", "14000");
        config.contain = test_both[i];
        config.memory_bytes = 128 * MB;
        config.timeout_ms = LONG_MS;
        TEST_RUN(&config, &result);
        if (result.exit_code == 96) UTEST_SKIP("no address space for it");
        EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
        sbx_free(&result);
    }
}

static int fn_huge(void *arg, void *ret, size_t size) {
    size_t huge = 2u << 20, all = 200 * MB;
    char *block = (char *)mmap(NULL, all + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    (void)arg, (void)ret, (void)size;
    if (block == (char *)MAP_FAILED) return 1;
    block += (huge - (size_t)block % huge) % huge;
    madvise(block, all, 14); /* MADV_HUGEPAGE */
    memset(block, 1, all);
    test_sleep_ms(10000);
    return 0;
}

/* Huge pages take hardly any page faults. */
UTEST(watch, huge_pages_of_a_function_count) {
    int i;
    NEED_WATCH();
    NEED_CALL();
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.contain = test_both[i];
        config.memory_bytes = 50 * MB;
        config.timeout_ms = LONG_MS;
        sbx_call(&config, fn_huge, NULL, NULL, 0, &result);
        EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
        sbx_free(&result);
    }
}

UTEST(watch, huge_pages_over_the_limit_are_not_certainly_inside) {
    int i;
    NEED_WATCH();
    for (i = 0; i < 20; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("net", "huge", "150", "0");
        config.contain = test_both[i % 2];
        config.memory_bytes = 140 * MB;
        TEST_RUN(&config, &result);
        EXPECT_TRUE_MSG(result.verdict == SBX_MEMORY_LIMIT || !result.certain,
                        test_text("%s; peak %lld", result.message, result.peak_bytes));
        sbx_free(&result);
    }
}

/* With hidepid an ordinary host does not see a process that has made itself undumpable. */
static int hide_memory(void *arg, void *ret, size_t ret_size) {
    int line[2], status;
    char c;
    pid_t pid;
    (void)arg, (void)ret, (void)ret_size;
    if (pipe(line) != 0) return 1;
    pid = fork();
    if (pid == 0) {
        if (fork() != 0) _exit(0);
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        close(line[0]);
        memset(mmap(NULL, 60 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0), 1, 60 * MB);
        usleep(60000);
        _exit(0);
    }
    close(line[1]);
    return waitpid(pid, &status, 0) == pid && read(line[0], &c, 1) == 0 ? 0 : 2;
}

static const char *run_hidden(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    (void)arg;
    if (geteuid() != 0) return "skip: only root can mount such a /proc";
    if (!own_mounts()) return "skip: no mount namespace";
    if (mount("proc", "/proc", "proc", 0, "hidepid=2") != 0) return "skip: no such /proc";
    TEST_MUST(setgroups(0, NULL) == 0 && setgid(65533) == 0 && setuid(65533) == 0);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    TEST_MUST(access("/proc/1", F_OK) != 0 && access("/proc/self/status", F_OK) == 0);
    config.contain = SBX_CONTAIN_GROUP;
    config.memory_bytes = 20 * MB;
    config.timeout_ms = LONG_MS;
    sbx_call(&config, hide_memory, NULL, NULL, 0, &result);
    if (result.verdict != SBX_MEMORY_LIMIT && (result.verdict != SBX_OK || result.certain))
        return test_text("%s, certain %d: %s", sbx_verdict_name(result.verdict), result.certain,
                         result.message);
    sbx_free(&result);
    return "";
}

UTEST(watch, who_is_hidden_from_the_host_leaves_doubt) {
    NEED_WATCH();
    NEED_CALL();
    EXPECT_WELL(test_in_copy(run_hidden, NULL));
}
#endif

/* A huge page takes one page fault, as a small one does. */
UTEST(watch, huge_pages_leave_doubt_where_nobody_saw_them) {
    int i;
    NEED_WATCH();
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("net", "huge", "24");
        config.contain = test_both[i];
        config.memory_bytes = 8 * MB;
        ASSERT_STREQ("", run_unwatched(&config, &result));
        EXPECT_TRUE(result.verdict == SBX_MEMORY_LIMIT || !result.certain);
        sbx_free(&result);
    }
}

/* Where the kernel has no clock for all of them: children that nobody waits for. */
static const char *unheard_cpu_time(void *arg) {
    int i;
    (void)arg;
    if (!refuse_the_clock()) return "skip: no filter";
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("net", "burners", "50", "3", "ignored");
        config.contain = test_both[i];
        config.cpu_ms = 60;
        MUST_BE_WELL(run_unwatched(&config, &result));
        if (result.verdict != SBX_CPU_LIMIT && result.certain)
            return test_text("%lld us, %s", cpu_of(&result), result.message);
        sbx_free(&result);
    }
    return "";
}

UTEST(watch, cpu_time_that_nobody_heard_of_leaves_doubt) {
    NEED_WATCH();
    EXPECT_WELL(test_in_copy(unheard_cpu_time, NULL));
}

/* The host does not want to hear of its children, and the kernel throws their books away. */
static const char *without_books(void *arg) {
    int i;
    (void)arg;
    if (!refuse_the_clock()) return "skip: no filter";
    signal(SIGCHLD, SIG_IGN);
    for (i = 0; i < 4; i++) {
        sbx_config config = {0};
        sbx_result result;
        sbx *box;
        config.argv = i / 2 ? test_child_argv("net", "use", "40", "0")
                            : test_child_argv("burn", "user", "1", "300");
        config.contain = test_both[i % 2];
        config.memory_bytes = i / 2 ? 20 * MB : 0;
        config.cpu_ms = i / 2 ? 0 : 100;
        box = sbx_start(&config, &result);
        TEST_MUST(box != NULL);
        while (sbx_pid(box) != 0) test_sleep_ms(5);
        sbx_finish(box, &result);
        if (result.verdict == SBX_OK && result.certain)
            return test_text("%d: %lld us, %s", i, cpu_of(&result), result.message);
        sbx_free(&result);
    }
    return "";
}

UTEST(watch, a_host_that_lost_the_books_is_not_certain) {
    NEED_WATCH();
    EXPECT_WELL(test_in_copy(without_books, NULL));
}

/* A virtual machine was paused in the middle of a look: that look seems to have taken hours. */
static const char *hog_after_a_costly_look(void *arg) {
    sbx_config config = {0};
    sbx_result result;
    config.argv = test_child_argv("memory", "own", "200", "1", "6000");
    config.contain = *(sbx_contain *)arg;
    config.memory_bytes = 64 * MB;
    test_cpu_clock_jump(100);
    sbx_run(&config, &result);
    test_cpu_clock_jump(0);
    if (result.verdict != SBX_MEMORY_LIMIT || result.signal != SIGKILL)
        return test_text("signal %d, %s", result.signal, result.message);
    sbx_free(&result);
    return "";
}

UTEST(watch, a_look_that_seems_to_cost_hours_is_not_the_last) {
    sbx_contain contain[2];
    int i;
    NEED_WATCH();
    if (!test_clock_can_move()) UTEST_SKIP("no clock that can be moved");
    for (i = 0; i < 2; i++) {
        contain[i] = test_both[i];
        EXPECT_WELL(test_in_copy(hog_after_a_costly_look, &contain[i]));
    }
}

/* A walk through many page tables would keep the host's thread in the kernel. */
UTEST(watch, no_look_takes_long) {
    sbx_config config = {0};
    sbx_result result;
    long long most = 0, tables = 0;
    sbx *box;
    NEED_WATCH();
    config.argv = test_child_argv("net", "sparse");
    config.memory_bytes = 1 << 30;
    config.timeout_ms = LONG_MS;
    box = sbx_start(&config, &result);
    ASSERT_TRUE(box != NULL);
    while (!sbx_poll(box, 0)) {
        long long begun = test_host_cpu_us(), took;
        sbx_usage usage;
        sbx_poll(box, 0);
        sbx_get_usage(box, &usage);
        took = test_host_cpu_us() - begun;
        if (took > most) most = took;
        if (usage.memory_bytes > tables) tables = usage.memory_bytes;
        test_sleep_ms(2);
    }
    sbx_finish(box, &result);
    if (result.exit_code == 7) UTEST_SKIP("no 64 GB of addresses");
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_GE(tables, 100 * MB);
    EXPECT_LE(most, 30000LL); /* 10 ms, and other programs in the caches */
    sbx_free(&result);
}

/* Processes that hide their pages have a size all the same. */
static const char *hogs_that_hide_their_pages(void *arg) {
    int i;
    (void)arg;
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("net", "undumpable", "memory", "own", "30", "2", "3000");
        config.contain = test_both[i];
        config.memory_bytes = 50 * MB;
        MUST_BE_WELL(test_run(&config, &result));
        if (result.verdict != SBX_MEMORY_LIMIT || result.signal != SIGKILL)
            return test_text("%s", result.message);
        sbx_free(&result);

        /* One vforked child, with the memory of its parent: nobody can tell that from two. */
        config.argv = test_child_argv("net", "undumpable", "net", "vfork", "40", "400");
        config.memory_bytes = 65 * MB;
        MUST_BE_WELL(test_run(&config, &result));
        if (result.verdict == SBX_MEMORY_LIMIT && (result.certain || result.peak_bytes >= 0))
            return test_text("contain = %d: a certain guess, peak %lld", (int)test_both[i],
                             result.peak_bytes);
        sbx_free(&result);
    }
    return "";
}

UTEST(watch, memory_of_processes_that_hide_their_pages) {
    NEED_WATCH();
    EXPECT_WELL(test_as_user(hogs_that_hide_their_pages, NULL));
}

/* Parent and child with one memory: both grow in turn, so that each was taken for the other's. */
UTEST(watch, two_with_one_memory_count_once_and_not_never) {
    int i;
    NEED_WATCH();
    if (test_is_asan()) UTEST_SKIP("a sanitizer's own memory blurs the steps");
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("net", "mutual", "60", "300");
        config.contain = test_both[i];
        config.memory_bytes = 60 * MB;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
        EXPECT_LE(result.peak_bytes, 200 * MB);
        sbx_free(&result);
    }
}

/* Three with one memory have it once. */
UTEST(watch, three_with_one_memory_count_once) {
    int i;
    NEED_WATCH();
    for (i = 0; i < 4; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("net", "triplets", "60", "400");
        config.contain = test_both[i % 2];
        config.memory_bytes = 90 * MB;
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_LT(result.peak_bytes, 90 * MB);
        sbx_free(&result);
    }
}

/* Its first thread has ended, and the next one, too, but is kept by who traces it. */
UTEST(watch, memory_behind_a_dead_thread) {
    int i;
    NEED_WATCH();
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        config.argv = test_child_argv("net", "dead_thread", "120", "4000");
        config.contain = test_both[i];
        config.memory_bytes = 60 * MB;
        TEST_RUN(&config, &result);
        if (strcmp(result.out.data, "untraced\n") == 0) UTEST_SKIP("nobody can be traced here");
        EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
        EXPECT_LT(result.wall_us, 4000000LL);
        sbx_free(&result);
    }
}

/* Without limits nobody lists all processes of the machine: children are asked for, and each thread
   has its own. */
static int has_two_processes(void *box) {
    sbx_usage usage;
    sbx_get_usage((sbx *)box, &usage);
    return usage.processes == 2;
}

UTEST(watch, children_of_every_thread_are_seen) {
    int i;
    NEED_WATCH();
    if (access(test_text("/proc/self/task/%d/children", (int)getpid()), R_OK) != 0)
        UTEST_SKIP("this kernel does not list children");
    for (i = 0; i < 2; i++) {
        sbx_config config = {0};
        sbx_result result;
        sbx *box;
        config.contain = test_both[i];
        config.in = SBX_PIPE;
        config.argv = test_child_argv("net", "thread_child");
        box = sbx_start(&config, &result);
        ASSERT_TRUE_MSG(box != NULL, result.message);
        EXPECT_TRUE(test_wait_until(has_two_processes, box, 10000));
        EXPECT_EQ(SBX_OK, (int)sbx_finish(box, &result));
        sbx_free(&result);
    }
}
#endif
