/* The part of child.c for behaviours that are small and easily lost: `child net ACT ...`. */

/* Burns under a name that looks like the rest of a line of /proc/PID/stat. */
static int net_named(int argc, char **argv) {
#ifdef __linux__
    prctl(PR_SET_NAME, "x) R 1 1", 0, 0, 0);
#endif
    burn("user", number(argc, argv, 0, 5000));
    return 0;
}

static long long cpu_us(int who) {
    struct rusage used;
    getrusage(who, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000LL + used.ru_utime.tv_usec +
           used.ru_stime.tv_usec;
}

/* COUNT children, one after the other, that burn MS each. They are waited for, or nobody collects
   what they used, or they are orphans. Prints what all have used in us, as they say themselves. */
static int net_burners(int argc, char **argv) {
    long long count = number(argc, argv, 0, 10), ms = number(argc, argv, 1, 10), i, all = 0;
    const char *how = word(argc, argv, 2, "waited");
    int orphaned = strcmp(how, "orphaned") == 0, said[2];
    if (count > 2000 || count * ms > 6000 || pipe(said) < 0) return 96;
    if (strcmp(how, "ignored") == 0) signal(SIGCHLD, SIG_IGN);
    for (i = 0; i < count; i++) {
        long long used = 0;
        pid_t pid = spawn();
        if (pid == 0) {
            if (orphaned && (setsid() < 0 || spawn() > 0)) _exit(0);
            burn("user", ms);
            used = cpu_us(RUSAGE_SELF);
            _exit(write(said[1], &used, sizeof used) != (ssize_t)sizeof used);
        }
        if (read(said[0], &used, sizeof used) == (ssize_t)sizeof used) all += used;
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (strcmp(how, "waited") == 0) all = cpu_us(RUSAGE_CHILDREN);
    printf("%lld\n", cpu_us(RUSAGE_SELF) + all);
    return 0;
}

/* Burns MS, then sends itself the signal. */
static int net_burn_and_raise(int argc, char **argv) {
    burn("user", number(argc, argv, 0, 100));
    raise((int)number(argc, argv, 1, SIGKILL));
    return 94;
}

/* Uses MB for MS, then aborts or exits with the code. */
static int net_use(int argc, char **argv) {
    const char *then = word(argc, argv, 2, "0");
    if (number(argc, argv, 0, 1) > 512) return 96;
    if (touch_memory(number(argc, argv, 0, 1), MAP_PRIVATE) != 0) return 1;
    say("ready\n");
    sleep_ms(number(argc, argv, 1, 0));
    if (strcmp(then, "abort") == 0) abort();
    return atoi(then);
}

static void say_term(int number_of_signal) {
    (void)number_of_signal;
    say("TERM\n");
}

/* Touches STEP more MB every MS up to MB, and says so when it gets SIGTERM. */
static int net_grow(int argc, char **argv) {
    long long mb = number(argc, argv, 0, 100), step = number(argc, argv, 1, 1), have;
    if (mb > 512 || step < 1) return 96;
    signal(SIGTERM, say_term);
    say("ready\n");
    for (have = 0; have < mb; have += step) {
        if (touch_memory(step, MAP_PRIVATE) != 0) return 1;
        sleep_ms(number(argc, argv, 2, 5));
    }
    return 0;
}

/* A system call that no policy allows. */
static int net_forbidden(int argc, char **argv) {
    (void)argc, (void)argv;
    signal(SIGTERM, say_term);
    say("ready\n");
#ifdef __linux__
    say(ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 ? "refused\n" : "done\n");
#endif
    return 0;
}

/* More output than it may write, then CPU time, whatever signals come. */
static int net_flood_and_burn(int argc, char **argv) {
    signal(SIGTERM, SIG_IGN);
    signal(SIGXCPU, SIG_IGN);
    write_pattern(1, 20000);
    burn("user", number(argc, argv, 0, 1000));
    return 0;
}

/* One that uses MB for MS: an orphan in the program's session, or a child in another one. */
static int net_relative(int argc, char **argv) {
    int orphaned = strcmp(word(argc, argv, 0, "orphan"), "orphan") == 0;
    long long mb = number(argc, argv, 1, 1), ms = number(argc, argv, 2, 1000);
    pid_t pid;
    if (mb > 512) return 96;
    pid = spawn();
    if (pid == 0) {
        if (orphaned && spawn() > 0) _exit(0);
        if (!orphaned) {
            setsid();
            die_with_parent(); /* nobody else ends it */
        }
        if (touch_memory(mb, MAP_PRIVATE) == 0) sleep_ms(ms);
        _exit(0);
    }
    if (orphaned) waitpid(pid, NULL, 0);
    sleep_ms(ms);
    return 0;
}

/* COUNT children of MB each who leave no trace: nobody waits for them ("ignored"), or only pid 1
   does ("orphaned"); or they live side by side for MS and are waited for ("beside"). */
static int net_unseen(int argc, char **argv) {
    const char *how = word(argc, argv, 0, "ignored");
    long long mb = number(argc, argv, 1, 1), count = number(argc, argv, 2, 1), i;
    int orphaned = strcmp(how, "orphaned") == 0, beside = strcmp(how, "beside") == 0;
    if (mb * (beside ? count : 1) > 512 || count > 100) return 96;
    if (strcmp(how, "ignored") == 0) signal(SIGCHLD, SIG_IGN);
    for (i = 0; i < count; i++) {
        pid_t pid = spawn();
        if (pid == 0) {
            if (orphaned && spawn() > 0) _exit(0);
            if (touch_memory(mb, MAP_PRIVATE) == 0 && beside) sleep_ms(number(argc, argv, 3, 50));
            _exit(0);
        }
        while (!beside && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    while (wait(NULL) > 0 || errno == EINTR) {
    }
    if (orphaned) sleep_ms(300); /* they would be killed with it */
    return 0;
}

/* Uses MB in huge pages, each of which takes one page fault. */
static int net_huge(int argc, char **argv) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    size_t size = (size_t)number(argc, argv, 0, 1) << 20, huge = 2u << 20, i;
    char *block;
    if (size > 512u << 20) return 96;
    block = (char *)mmap(NULL, size + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                         0);
    if (block == (char *)MAP_FAILED) return 95;
    block += (huge - (size_t)block % huge) % huge;
    madvise(block, size, MADV_HUGEPAGE);
    for (i = 0; i < size; i += huge) block[i] = 1;
#endif
    sleep_ms(number(argc, argv, 1, 0));
    return 0;
}

/* Uses MB, and has a child for MS that lives in the same memory; then, with HOG, the child becomes
   a program of that many MB. */
static int net_vfork(int argc, char **argv) {
    long long mb = number(argc, argv, 0, 1), ms = number(argc, argv, 1, 100);
    const char *hog = word(argc, argv, 2, NULL);
    struct timespec time;
    pid_t pid;
    if (mb > 512) return 96;
    if (touch_memory(mb, MAP_PRIVATE) != 0) return 1;
    time.tv_sec = 0;
    time.tv_nsec = (long)ms * 1000000;
    pid = vfork();
    if (pid == 0) {
        nanosleep(&time, NULL);
        if (hog) execl("/proc/self/exe", "child", "net", "use", hog, "5000", (char *)NULL);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, NULL, 0) != pid) return 91;
    say("vforked\n");
    return 0;
}

/* WORKERS that all have MB of the program's, for MS: they only read it (shared), or change it (cow),
   so that each has a copy. With readers others come and go meanwhile. */
static int net_pool(int argc, char **argv) {
    int cow = strcmp(word(argc, argv, 0, "cow"), "cow") == 0;
    long long mb = number(argc, argv, 1, 1), workers = number(argc, argv, 2, 1), i;
    long long ms = number(argc, argv, 3, 100), end;
    size_t size = (size_t)mb << 20, at;
    volatile char sum = 0;
    int touched[2], hold[2];
    char byte = 1, *block = (char *)map(size, cow ? MAP_PRIVATE : MAP_SHARED);
    if (mb * (cow ? workers + 1 : 1) > 512 || workers > 16 || !block) return 96;
    if (pipe(touched) < 0 || pipe(hold) < 0) return 91;
    memset(block, 1, size);
    end = now_ms() + ms;
    do {
        for (i = 0; i < workers; i++)
            if (spawn() == 0) {
                if (cow) memset(block, 2, size);
                for (at = 0; !cow && at < size; at += 4096) sum = (char)(sum + block[at]);
                if (cow) { /* until all have theirs */
                    close(hold[1]);
                    _exit(write(touched[1], &byte, 1) != 1 || read(hold[0], &byte, 1) != 0);
                }
                sleep_ms(5);
                _exit(0);
            }
        for (i = 0; cow && i < workers; i++)
            if (read(touched[0], &byte, 1) != 1) return 93;
        if (cow) sleep_ms(ms);
        if (cow) close(hold[1]);
        while (wait(NULL) > 0) {
        }
    } while (!cow && now_ms() < end);
    return 0;
}

/* One file of MB, mapped and read TIMES, for MS. */
static int net_map_file(int argc, char **argv) {
    long long mb = number(argc, argv, 0, 1), times = number(argc, argv, 1, 1), i;
    char path[] = "/tmp/sbx-test-XXXXXX", chunk[4096];
    size_t size = (size_t)mb << 20, at;
    volatile char sum = 0;
    int fd = mkstemp(path);
    if (fd < 0 || mb > 256) return 96;
    unlink(path);
    memset(chunk, 1, sizeof chunk);
    for (at = 0; at < size; at += sizeof chunk)
        if (write(fd, chunk, sizeof chunk) != (ssize_t)sizeof chunk) return 95;
    for (i = 0; i < times; i++) {
        const char *block = (const char *)mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
        if (block == (const char *)MAP_FAILED) return 95;
        for (at = 0; at < size; at += sizeof chunk) sum = (char)(sum + block[at]);
    }
    say("ready\n");
    sleep_ms(number(argc, argv, 2, 100));
    return 0;
}

#ifdef __linux__
static struct timespec vm_time;
static char vm_stacks[3][16384];

static int vm_sleeper(void *arg) {
    (void)arg;
    nanosleep(&vm_time, NULL);
    syscall(SYS_exit, 0);
    return 0;
}

/* Its two children are orphans when it ends. */
static int vm_parent(void *arg) {
    (void)arg;
    clone(vm_sleeper, vm_stacks[1] + sizeof vm_stacks[1], CLONE_VM, NULL);
    clone(vm_sleeper, vm_stacks[2] + sizeof vm_stacks[2], CLONE_VM, NULL);
    syscall(SYS_exit, 0);
    return 0;
}
#endif

/* Uses MB, and has two orphans for MS that live in the same memory. Then, with "stay", it goes. */
static int net_vm_orphans(int argc, char **argv) {
#ifdef __linux__
    long long mb = number(argc, argv, 0, 1), ms = number(argc, argv, 1, 100);
    pid_t pid;
    if (mb > 512 || touch_memory(mb, MAP_PRIVATE) != 0) return 96;
    vm_time.tv_sec = (time_t)(ms / 1000);
    vm_time.tv_nsec = (long)(ms % 1000) * 1000000;
    pid = clone(vm_parent, vm_stacks[0] + sizeof vm_stacks[0], CLONE_VM | SIGCHLD, NULL);
    if (pid < 0 || waitpid(pid, NULL, 0) != pid) return 91;
    say("orphans\n");
    sleep_ms(ms);
#endif
    return argv == NULL && argc;
}

/* As page_tables, but beside a second process. */
static int net_sparse(int argc, char **argv) {
    pid_t pid = spawn();
    if (pid == 0) {
        sleep_ms(4000);
        _exit(0);
    }
    return mode_page_tables(argc, argv);
}

/* COUNT orphans that end at once; tells how many are zombies when none should be left. */
static int net_orphans(int argc, char **argv) {
    long long count = number(argc, argv, 0, 100), end = now_ms() + 5000, i;
    int zombies = 0;
#ifdef __linux__
    char path[300], line[512], self[16] = "";
    if (count > 1000) return 96;
    if (readlink("/proc/self", self, sizeof self - 1) < 0 || atoi(self) != (int)getpid()) {
        say("no /proc\n");
        return 0;
    }
    for (i = 0; i < count; i++) {
        pid_t pid = spawn();
        if (pid == 0) _exit(spawn() < 0);
        waitpid(pid, NULL, 0);
    }
    do {
        DIR *dir = opendir("/proc");
        struct dirent *entry;
        for (zombies = 0; dir && (entry = readdir(dir)) != NULL;) {
            FILE *file;
            const char *state;
            if (atoi(entry->d_name) <= 0) continue;
            snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
            if (!(file = fopen(path, "r"))) continue;
            state = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
            zombies += state && strncmp(state, ") Z", 3) == 0;
            fclose(file);
        }
        if (dir) closedir(dir);
        sleep_ms(5);
    } while (zombies > 0 && now_ms() < end);
#else
    (void)count, (void)end, (void)i;
#endif
    printf("%d zombies\n", zombies);
    return 0;
}

static volatile sig_atomic_t terminated;
static void note_term(int number_of_signal) { terminated = number_of_signal; }

/* On SIGTERM it needs MS to clean up. */
static int net_clean_up(int argc, char **argv) {
    long long end = now_ms() + LIFE_SECONDS * 1000;
    signal(SIGTERM, note_term);
    say("ready\n");
    while (!terminated && now_ms() < end) sleep_ms(5);
    sleep_ms(number(argc, argv, 0, 100));
    say("cleaned up\n");
    return 0;
}

/* Attempts that differ from an allowed one in one argument only. */
static int net_edges(int argc, char **argv) {
#ifdef __linux__
    const char *dir = word(argc, argv, 0, "."), *file = at(dir, "file");
    int fd = open(file, O_CREAT | O_RDWR, 0644), in = open(dir, O_RDONLY), from[2], to[2];
    if (fd < 0 || in < 0 || pipe(from) < 0 || pipe(to) < 0 || write(from[1], "x", 1) != 1)
        return 95;
    TRY("chmod", chmod(file, 02755));
    TRY("fchmod", fchmod(fd, 02755));
    TRY("fchmodat", fchmodat(AT_FDCWD, file, 04755, 0));
    TRY("openat", openat(AT_FDCWD, at(dir, "made"), O_CREAT | O_RDWR, 02755));
    TRY("O_TMPFILE", openat(AT_FDCWD, dir, O_TMPFILE | O_RDWR, 06755));
    TRY("mknodat", mknodat(AT_FDCWD, at(dir, "node"), S_IFREG | 02755, 0));
    TRY("plain", chmod(file, 0755));
    TRY("F_NOTIFY", fcntl(in, F_NOTIFY, DN_ACCESS));
    TRY("F_GETFL", fcntl(in, F_GETFL));
    TRY("tee", tee(from[0], to[1], 1, 0));
    TRY("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
    printf("hosts %s\n", open("/etc/hosts", O_RDONLY) >= 0 ? "worked" : "none");
    unlink(at(dir, "made"));
    unlink(at(dir, "node"));
#endif
    return argv == NULL && argc;
}

static int run_mode(int argc, char **argv);

/* What follows is a mode, by a process whose memory only root may look into. */
static int net_undumpable(int argc, char **argv) {
#ifdef __linux__
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return 95;
#endif
    return run_mode(argc, argv);
}

#ifdef __linux__
/* Takes pid 1 of its tree the right to watch descriptors, then stays. */
static int net_blind(int argc, char **argv) {
    struct rlimit none = {0, 0};
    (void)argc, (void)argv;
    if (syscall(SYS_prlimit64, 1, RLIMIT_NOFILE, &none, NULL) != 0) return 90;
    if (orphan()) _exit(0); /* its end makes pid 1 look up */
    sleep_ms(14000);
    return 0;
}

/* Stops the clocks that it owns, and burns MS in children of 6 ms that nobody waits for. */
static int net_stop_clock(int argc, char **argv) {
    long long ms = number(argc, argv, 0, 1000), done;
    char byte;
    int line[2];
    prctl(31, 0, 0, 0, 0); /* PR_TASK_PERF_EVENTS_DISABLE */
    signal(SIGCHLD, SIG_IGN);
    for (done = 0; done < ms; done += 6) {
        if (pipe(line) != 0) return 91;
        if (spawn() == 0) {
            burn("user", 6);
            _exit(0);
        }
        close(line[1]);
        if (read(line[0], &byte, 1) != 0) return 92;
        close(line[0]);
    }
    return 0;
}

static int touch_as_twin(void *arg) {
    const long long *much = (const long long *)arg;
    touch_memory(much[0], MAP_PRIVATE);
    sleep_ms(much[1]);
    return 0;
}

/* MB that a child touches for MS in its parent's own memory. */
static int net_twin(int argc, char **argv) {
    static char stack[65536];
    long long much[2];
    pid_t pid;
    much[0] = number(argc, argv, 0, 1);
    much[1] = number(argc, argv, 1, 30);
    if (much[0] > 512) return 96;
    pid = clone(touch_as_twin, stack + sizeof stack, CLONE_VM | SIGCHLD, much);
    return pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : 91;
}

/* MB one after the other, with a pause of MS behind each. */
static void touch_slowly(long long mb, long long ms) {
    while (mb-- > 0 && touch_memory(1, MAP_PRIVATE) == 0) sleep_ms(ms);
}

/* In its parent's memory: many page faults of its own, then what is left of LIMIT, then MORE. */
static int grow_as_twin(void *arg) {
    const long long *much = (const long long *)arg;
    char *block = (char *)map(1 << 20, MAP_PRIVATE);
    long long i;
    sleep_ms(150); /* until they were taken for one */
    for (i = 0; block && i < much[0] * 3 / 2; i++) {
        memset(block, 1, 1 << 20);
        madvise(block, 1 << 20, MADV_DONTNEED);
    }
    sleep_ms(50);
    touch_slowly(much[0] * 37 / 100, 6);
    sleep_ms(100);
    touch_slowly(much[1], 1);
    sleep_ms(500);
    _exit(0);
}

/* LIMIT and MORE, in MB: 60 % of LIMIT in a child, then the rest and MORE in a child of that, which
   has its memory. */
static int net_mutual(int argc, char **argv) {
    static char stack[65536];
    long long much[2], mb;
    pid_t pid, twin;
    much[0] = number(argc, argv, 0, 60);
    much[1] = number(argc, argv, 1, 100);
    mb = much[0] * 80 / 100;
    if (much[0] > 512 || much[1] > 512) return 96;
    pid = spawn();
    if (pid == 0) {
        char *block = (char *)map((size_t)mb << 20, MAP_PRIVATE);
        long long i;
        for (i = 0; block && i < mb; i++) {
            memset(block + (i << 20), 1, 1 << 20);
            sleep_ms(3);
        }
        sleep_ms(60);
        if (block) munmap(block, (size_t)(much[0] * 20 / 100) << 20);
        sleep_ms(60);
        twin = clone(grow_as_twin, stack + sizeof stack, CLONE_VM | SIGCHLD, much);
        _exit(block && twin > 0 && waitpid(twin, NULL, 0) == twin ? 0 : 91);
    }
    return pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : 91;
}

static volatile int *thread_word; /* shared: its number, that it may end, that it was traced */

static void *thread_that_ends(void *arg) {
    thread_word[0] = (int)syscall(SYS_gettid);
    while (!thread_word[1]) sleep_ms(1);
    syscall(SYS_exit, 0);
    return arg;
}

static void *thread_that_grows(void *arg) {
    const long long *much = (const long long *)arg;
    while (!thread_word[2]) sleep_ms(1);
    sleep_ms(100);
    touch_slowly(much[0], 2);
    sleep_ms(much[1]);
    _exit(0);
}

/* MB for MS in a process of which two threads have ended. */
static int net_dead_thread(int argc, char **argv) {
    static long long much[2];
    pthread_t thread;
    pid_t pid;
    much[0] = number(argc, argv, 0, 1);
    much[1] = number(argc, argv, 1, 1000);
    thread_word = (volatile int *)map(4096, MAP_SHARED);
    if (!thread_word || much[0] > 512) return 96;
    pid = spawn();
    if (pid == 0) {
        if (pthread_create(&thread, NULL, thread_that_ends, NULL) != 0) _exit(91);
        while (!thread_word[0]) sleep_ms(1);
        if (pthread_create(&thread, NULL, thread_that_grows, much) != 0) _exit(92);
        syscall(SYS_exit, 0);
    }
    while (pid > 0 && !thread_word[0]) sleep_ms(1);
    if (ptrace(PTRACE_SEIZE, thread_word[0], NULL, NULL) != 0) {
        say("untraced\n");
        kill(pid, SIGKILL);
        return 0;
    }
    thread_word[1] = 1;
    sleep_ms(50);
    thread_word[2] = 1;
    waitpid(pid, NULL, 0);
    return 0;
}

static int twin_of_a_twin(void *arg) {
    static char stack[65536];
    long long *much = (long long *)arg;
    pid_t pid;
    if (much[0]-- <= 0) {
        sleep_ms(much[1]);
        return 0;
    }
    pid = clone(twin_of_a_twin, stack + sizeof stack / 3 * (size_t)(much[0] + 1),
                CLONE_VM | SIGCHLD, much);
    return pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : 91;
}

/* MB for MS in a process, its child and its grandchild, which all have one memory. */
static int net_triplets(int argc, char **argv) {
    long long much[2];
    much[0] = 2;
    much[1] = number(argc, argv, 1, 300);
    if (number(argc, argv, 0, 1) > 512 || touch_memory(number(argc, argv, 0, 1), MAP_PRIVATE) != 0)
        return 96;
    return twin_of_a_twin(much);
}

static void *thread_with_a_child(void *arg) {
    pid_t pid = spawn();
    if (pid == 0) {
        char byte;
        _exit(read(0, &byte, 1) != 0); /* until the input ends */
    }
    waitpid(pid, NULL, 0);
    return arg;
}

/* Another thread than the first one has a child; both stay until the input ends. */
static int net_thread_child(int argc, char **argv) {
    pthread_t thread;
    (void)argc, (void)argv;
    if (pthread_create(&thread, NULL, thread_with_a_child, NULL) != 0) return 91;
    return pthread_join(thread, NULL) != 0;
}

/* MB of shared memory for MS, beside so many TABLES of pages that hold nothing. */
static int net_tables(int argc, char **argv) {
    size_t tables = (size_t)number(argc, argv, 1, 1), space = tables << 21, at;
    char *sparse = (char *)mmap(NULL, space, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                                -1, 0);
    volatile char sum = 0;
    if (tables > 20000 || number(argc, argv, 0, 1) > 512 || sparse == (char *)MAP_FAILED) return 96;
    madvise(sparse, space, 15); /* MADV_NOHUGEPAGE */
    for (at = 0; at < space; at += 2u << 20) sum = (char)(sum + sparse[at]);
    if (touch_memory(number(argc, argv, 0, 1), MAP_SHARED) != 0) return 1;
    sleep_ms(number(argc, argv, 2, 1000));
    return 0;
}

/* Can it find a key in the session of who started it? */
static int net_keys(int argc, char **argv) {
    const char *name = word(argc, argv, 0, "none");
    say(syscall(SYS_keyctl, 10L, -3L, "user", name, 0L) >= 0 ? "found\n" : "none\n");
    return 0;
}
#endif

static const struct net_act {
    const char *name;
    int (*run)(int argc, char **argv);
} net_acts[] = {
    {"named", net_named},
#ifdef __linux__
    {"blind", net_blind},
    {"stop_clock", net_stop_clock},
    {"twin", net_twin},
    {"mutual", net_mutual},
    {"triplets", net_triplets},
    {"dead_thread", net_dead_thread},
    {"thread_child", net_thread_child},
    {"tables", net_tables},
    {"keys", net_keys},
#endif
    {"burners", net_burners},
    {"burn_and_raise", net_burn_and_raise},
    {"use", net_use},
    {"grow", net_grow},
    {"forbidden", net_forbidden},
    {"flood_and_burn", net_flood_and_burn},
    {"relative", net_relative},
    {"unseen", net_unseen},
    {"huge", net_huge},
    {"vfork", net_vfork},
    {"undumpable", net_undumpable},
    {"pool", net_pool},
    {"map_file", net_map_file},
    {"vm_orphans", net_vm_orphans},
    {"sparse", net_sparse},
    {"orphans", net_orphans},
    {"clean_up", net_clean_up},
    {"edges", net_edges},
};

static int mode_net(int argc, char **argv) {
    size_t i;
    for (i = 0; argc > 0 && i < sizeof net_acts / sizeof *net_acts; i++)
        if (strcmp(net_acts[i].name, argv[0]) == 0) return net_acts[i].run(argc - 1, argv + 1);
    return 98;
}
