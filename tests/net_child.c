/* The part of child.c for behaviours that are small and easily lost: `child net ACT ...`. */

/* Burns under a name that looks like the rest of a line of /proc/PID/stat. */
static int net_named(int argc, char **argv) {
#ifdef __linux__
    prctl(PR_SET_NAME, "x) R 1 1", 0, 0, 0);
#endif
    burn("user", number(argc, argv, 0, 5000));
    return 0;
}

/* COUNT children, one after the other, that burn MS each; they are waited for, or nobody collects
   what they used. Prints what all have used in us. */
static int net_burners(int argc, char **argv) {
    long long count = number(argc, argv, 0, 10), ms = number(argc, argv, 1, 10), i;
    int ignored = strcmp(word(argc, argv, 2, "waited"), "ignored") == 0;
    struct rusage self, children;
    if (count > 2000 || count * ms > 6000) return 96;
    if (ignored) signal(SIGCHLD, SIG_IGN);
    for (i = 0; i < count; i++) {
        pid_t pid = spawn();
        if (pid == 0) {
            burn("user", ms);
            _exit(0);
        }
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    printf("%lld\n", (self.ru_utime.tv_sec + self.ru_stime.tv_sec + children.ru_utime.tv_sec +
                      children.ru_stime.tv_sec) *
                             1000000LL +
                         self.ru_utime.tv_usec + self.ru_stime.tv_usec + children.ru_utime.tv_usec +
                         children.ru_stime.tv_usec);
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

/* Uses MB, and has a child for MS that lives in the same memory. */
static int net_vfork(int argc, char **argv) {
    long long mb = number(argc, argv, 0, 1), ms = number(argc, argv, 1, 100);
    struct timespec time;
    pid_t pid;
    if (mb > 512) return 96;
    if (touch_memory(mb, MAP_PRIVATE) != 0) return 1;
    time.tv_sec = 0;
    time.tv_nsec = (long)ms * 1000000;
    pid = vfork();
    if (pid == 0) {
        nanosleep(&time, NULL);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, NULL, 0) != pid) return 91;
    say("vforked\n");
    return 0;
}

static int run_mode(int argc, char **argv);

/* What follows is a mode, by a process whose memory only root may look into. */
static int net_undumpable(int argc, char **argv) {
#ifdef __linux__
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return 95;
#endif
    return run_mode(argc, argv);
}

static const struct net_act {
    const char *name;
    int (*run)(int argc, char **argv);
} net_acts[] = {
    {"named", net_named},
    {"burners", net_burners},
    {"burn_and_raise", net_burn_and_raise},
    {"use", net_use},
    {"grow", net_grow},
    {"forbidden", net_forbidden},
    {"flood_and_burn", net_flood_and_burn},
    {"relative", net_relative},
    {"vfork", net_vfork},
    {"undumpable", net_undumpable},
};

static int mode_net(int argc, char **argv) {
    size_t i;
    for (i = 0; argc > 0 && i < sizeof net_acts / sizeof *net_acts; i++)
        if (strcmp(net_acts[i].name, argv[0]) == 0) return net_acts[i].run(argc - 1, argv + 1);
    return 98;
}
