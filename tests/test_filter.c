/* The filter of a policy against the table it is made from: the compiled program is run here, as
 * the kernel would, for every number and many arguments. This unit has a static copy of the header,
 * since it looks at what nobody else needs to see. */
#define SBX_STATIC
#define SBX_IMPLEMENTATION
#include "test.h"

#if SBX__HAS_POLICY

/* Does a row matter to this policy? */
static int matters(const sbx__rule *rule, const sbx__plan *p, long landlock) {
    int group = p->cfg.contain == SBX_CONTAIN_GROUP;
    switch (rule->when) {
    case SBX__NETWORK: return p->cfg.policy->allow_network;
    case SBX__NO_NETWORK: return !p->cfg.policy->allow_network;
    case SBX__NO_SPAWN: return p->cfg.policy->deny_spawn;
    case SBX__IN_GROUP: return group;
    case SBX__IN_GROUP_2: return group && landlock < 3;
    default: return 1;
    }
}

/* What the table says, row by row. */
static unsigned wanted(const sbx__plan *p, long landlock, unsigned number,
                       const unsigned long long *args) {
    int i, k;
    if (number > SBX__LAST_CALL) return SBX__RET_ERRNO | ENOSYS;
#ifdef __x86_64__
    if (number >= 337 && number < 424) return SBX__RET_ERRNO | ENOSYS;
#endif
    for (i = 0; i < SBX__RULES; i++) {
        const sbx__rule *rule = &sbx__rules[i];
        unsigned value = (unsigned)args[rule->arg] & (rule->mask ? rule->mask : ~0u);
        int is_one = 0;
        if ((unsigned)rule->number != number || !matters(rule, p, landlock)) continue;
        for (k = 0; k < 4; k++) is_one |= value == rule->value[k];
        if (rule->check == SBX__IF && !(value & rule->value[0])) return SBX__RET_ALLOW;
        if (rule->check == SBX__OURS && p->policy.password &&
            args[rule->arg] >> 32 == p->policy.password)
            return SBX__RET_ALLOW;
        if (rule->check == SBX__FORBIDDEN || rule->check == SBX__HIDDEN ||
            (rule->check == SBX__ONLY && !is_one) || (rule->check == SBX__NOT && is_one) ||
            (rule->check == SBX__WITH && !(value & rule->value[0])) ||
            (rule->check == SBX__WITHOUT && value & rule->value[0])) {
            if (rule->kill && p->cfg.policy->kill_on_denied) return SBX__RET_NOTIFY;
            return SBX__RET_ERRNO | (rule->check == SBX__HIDDEN ? ENOSYS : EPERM);
        }
    }
    return SBX__RET_ALLOW;
}

/* What the program says; 0 = it leaves the path. */
static unsigned decided(const sbx__plan *p, unsigned arch, unsigned number,
                        const unsigned long long *args) {
    unsigned long long data[8]; /* struct seccomp_data: number and arch, address, six arguments */
    unsigned a = 0;
    int at;
    data[0] = number | (unsigned long long)arch << 32;
    data[1] = 0;
    memcpy(data + 2, args, 6 * sizeof *args);
    for (at = 0; at >= 0 && at < p->policy.filter_size; at++) {
        const sbx__insn *i = &p->policy.filter[at];
        int yes;
        switch (i->code) {
        case SBX__RET: return i->k;
        case SBX__LOAD:
            if (i->k > 60 || i->k % 4) return 0;
            memcpy(&a, (char *)data + i->k, 4);
            continue;
        case SBX__AND: a &= i->k; continue;
        case SBX__JEQ: yes = a == i->k; break;
        case SBX__JGE: yes = a >= i->k; break;
        case SBX__JSET: yes = (a & i->k) != 0; break;
        default: return 0;
        }
        at += yes ? i->yes : i->no;
    }
    return 0;
}

/* Arguments that make a difference to some row, and some that make none. */
static const unsigned long long values[] = {0,
                                            1,
                                            2,
                                            3,
                                            5,
                                            10,
                                            16,
                                            17,
                                            0x5412,
                                            0x541C,
                                            0x5413,
                                            0x10000,
                                            0x8000,
                                            0x20000,
                                            0x10000000,
                                            0x40000000,
                                            0x80000,
                                            0x80001,
                                            0x80002,
                                            0x805,
                                            0x200,
                                            0x202,
                                            0x203,
                                            0x240,
                                            04000,
                                            02000,
                                            06755,
                                            0644,
                                            0xFFFFFFFF,
                                            0xFFFFFFFF00000001ULL,
                                            0xFFFFFFFF00005412ULL,
                                            0xFFFFFFFFFFFFFFFFULL,
                                            0x100000000ULL};

static int is_in_table(unsigned number) {
    int i;
    for (i = 0; i < SBX__RULES; i++)
        if ((unsigned)sbx__rules[i].number == number) return sbx__rules[i].check > SBX__HIDDEN;
    return 0;
}

static const char *check_filter(const sbx_policy *policy, sbx_contain contain, long landlock) {
    static sbx__insn room[16 + 9 * sizeof sbx__rules / sizeof sbx__rules[0]];
    static const unsigned odd[] = {0x40000000u, 0x40000029u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu};
    unsigned foreign = policy->kill_on_denied ? SBX__RET_NOTIFY : SBX__RET_ERRNO | ENOSYS;
    sbx__plan p;
    unsigned number;
    size_t i, k;
    memset(&p, 0, sizeof p);
    p.cfg.policy = policy;
    p.cfg.contain = contain;
    p.policy.password = policy->kill_on_denied ? 0xFFFFFFFFu : 0;
    p.policy.filter = room;
    sbx__build_filter(&p, landlock);
    TEST_MUST(p.policy.filter_size > 0 &&
              p.policy.filter_size <= (int)(sizeof room / sizeof room[0]));
    TEST_MUST(!p.policy.too_far);
    for (number = 0; number < 600; number++)
        for (i = 0; i < (is_in_table(number) ? sizeof values / sizeof values[0] : 1); i++)
            for (k = 0; k < 6; k++) { /* all alike, or one of them another */
                unsigned long long args[6];
                size_t n;
                for (n = 0; n < 6; n++) args[n] = values[i];
                if (k < 5) args[k] = values[(i + k + 1) % (sizeof values / sizeof values[0])];
                if (decided(&p, SBX__ARCH, number, args) != wanted(&p, landlock, number, args))
                    return test_text("call %u with %llx and the like: %x, not %x", number,
                                     values[i], decided(&p, SBX__ARCH, number, args),
                                     wanted(&p, landlock, number, args));
                if (decided(&p, SBX__ARCH ^ 0x80000000u, number, args) != foreign)
                    return test_text("call %u of another architecture passes", number);
            }
#ifdef __x86_64__
    for (i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        unsigned long long none[6] = {0, 0, 0, 0, 0, 0};
        if (decided(&p, SBX__ARCH, odd[i], none) !=
            (odd[i] < 0x80000000u ? foreign : SBX__RET_ERRNO | ENOSYS))
            return test_text("call %x passes", odd[i]);
    }
#endif
    (void)odd;
    return "";
}

UTEST(policy, filter_does_what_the_table_says) {
    sbx_policy policy;
    int bits;
    if (!SBX__ARCH) UTEST_SKIP("no filter for this architecture");
    for (bits = 0; bits < 32; bits++) {
        memset(&policy, 0, sizeof policy);
        policy.allow_network = bits & 1;
        policy.deny_spawn = bits >> 1 & 1;
        policy.kill_on_denied = bits >> 2 & 1;
        EXPECT_STREQ("", check_filter(&policy, bits & 16 ? SBX_CONTAIN_GROUP : SBX_CONTAIN_TREE,
                                      bits & 8 ? 2 : 7));
    }
}

/* What is denied outright has no row behind it that could matter as well. */
UTEST(policy, filter_table_does_not_contradict_itself) {
    int i, k;
    for (i = 0; i < SBX__RULES; i++)
        for (k = 0; k < i; k++)
            if (sbx__rules[i].number == sbx__rules[k].number &&
                (sbx__rules[i].when == sbx__rules[k].when || sbx__rules[k].when == SBX__ALWAYS))
                EXPECT_TRUE_MSG(sbx__rules[k].check > SBX__HIDDEN, sbx__rules[i].name);
}

/* ==== Rows that no machine shows by itself ==================================================== */

/* What the manual promises, written down a second time: the table above cannot vouch for itself,
   and much of this fails here for other reasons, too, or only on kernels that are gone. */
enum { ANYWHERE, IN_GROUP, IN_OLD_GROUP, WITHOUT_NETWORK }; /* else it is allowed */
enum { REFUSED = SBX__RET_ERRNO | EPERM, MISSING = SBX__RET_ERRNO | ENOSYS };
enum { SOFT, KILLS };

static const struct promise {
    const char *name;
    long number;
    unsigned long long arg[4];
    int where;
    unsigned answer;
    int kills; /* under kill_on_denied */
} promises[] = {
    {"splice", SYS_splice, {0, 0, 0, 0}, ANYWHERE, MISSING, SOFT},
    {"tee", SYS_tee, {0, 0, 0, 0}, ANYWHERE, MISSING, SOFT},
    {"vmsplice", SYS_vmsplice, {0, 0, 0, 0}, ANYWHERE, MISSING, SOFT},
    {"sendfile", SYS_sendfile, {0, 0, 0, 0}, ANYWHERE, MISSING, SOFT},
    {"io_setup", SYS_io_setup, {1, 0, 0, 0}, ANYWHERE, MISSING, SOFT},
    {"setpriority", SYS_setpriority, {0, 0, 19, 0}, ANYWHERE, REFUSED, SOFT},
    {"ioprio_set", SYS_ioprio_set, {1, 0, 3 << 13, 0}, ANYWHERE, REFUSED, SOFT},
    {"sched_setattr", SYS_sched_setattr, {0, 0, 0, 0}, ANYWHERE, REFUSED, SOFT},
    {"SCHED_IDLE", SYS_sched_setscheduler, {0, 5, 0, 0}, ANYWHERE, REFUSED, SOFT},
    {"SCHED_FIFO", SYS_sched_setscheduler, {0, 1, 0, 0}, ANYWHERE, REFUSED, SOFT},
    {"F_SETLEASE", SYS_fcntl, {3, 1024, 0, 0}, ANYWHERE, REFUSED, SOFT},
    {"F_NOTIFY", SYS_fcntl, {3, 1026, 0, 0}, ANYWHERE, REFUSED, SOFT},
    {"a later call", 470, {0, 0, 0, 0}, ANYWHERE, MISSING, SOFT},
    {"the next one", 471, {0, 0, 0, 0}, ANYWHERE, MISSING, SOFT},
    {"openat, O_TMPFILE", SYS_openat, {3, 0, 0x410002, 04700}, ANYWHERE, REFUSED, SOFT},
    {"socketpair, datagrams", SYS_socketpair, {1, 2, 0, 0}, ANYWHERE, REFUSED, KILLS},
    /* the network */
    {"unix socket", SYS_socket, {1, 1, 0, 0}, ANYWHERE, REFUSED, SOFT},
    {"packet socket", SYS_socket, {17, 3, 0, 0}, ANYWHERE, REFUSED, KILLS},
    {"netlink", SYS_socket, {16, 3, 0, 0}, WITHOUT_NETWORK, REFUSED, SOFT},
    {"to a name server", SYS_socket, {2, 0x802, 0, 0}, WITHOUT_NETWORK, REFUSED, SOFT},
    {"to another one", SYS_socket, {10, 0x80002, 0, 0}, WITHOUT_NETWORK, REFUSED, SOFT},
    {"TCP", SYS_socket, {2, 0x80001, 0, 0}, WITHOUT_NETWORK, REFUSED, KILLS},
    {"connect", SYS_connect, {3, 0, 0, 0}, WITHOUT_NETWORK, REFUSED, KILLS},
    {"bind", SYS_bind, {3, 0, 0, 0}, WITHOUT_NETWORK, REFUSED, KILLS},
    {"listen", SYS_listen, {3, 0, 0, 0}, WITHOUT_NETWORK, REFUSED, KILLS},
    /* in a group: inodes, and who is outside */
    {"fchmod", SYS_fchmod, {3, 0644, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"fchmodat", SYS_fchmodat, {3, 0, 0644, 0}, IN_GROUP, REFUSED, SOFT},
    {"fchmodat2", 452, {3, 0, 0644, 0}, IN_GROUP, REFUSED, SOFT},
    {"fchown", SYS_fchown, {3, 1, 1, 0}, IN_GROUP, REFUSED, SOFT},
    {"fchownat", SYS_fchownat, {3, 0, 1, 1}, IN_GROUP, REFUSED, SOFT},
    {"utimensat", SYS_utimensat, {3, 0, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"setxattr", SYS_setxattr, {0, 0, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"lsetxattr", SYS_lsetxattr, {0, 0, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"fsetxattr", SYS_fsetxattr, {3, 0, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"removexattr", SYS_removexattr, {0, 0, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"lremovexattr", SYS_lremovexattr, {0, 0, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"fremovexattr", SYS_fremovexattr, {3, 0, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"setxattrat", 463, {3, 0, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"removexattrat", 466, {3, 0, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"file_setattr", 469, {3, 0, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"FS_IOC_SETFLAGS", SYS_ioctl, {3, 0x40086602, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"FS_IOC32_SETFLAGS", SYS_ioctl, {3, 0x40046602, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"FS_IOC_FSSETXATTR", SYS_ioctl, {3, 0x401C5820, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"FS_IOC_SETVERSION", SYS_ioctl, {3, 0x40087602, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"FS_IOC32_SETVERSION", SYS_ioctl, {3, 0x40047602, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"EXT4_IOC_SETVERSION", SYS_ioctl, {3, 0x40086604, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"FS_IOC_ENABLE_VERITY", SYS_ioctl, {3, 0x40806685, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"FAT_IOCTL_SET_ATTRIBUTES", SYS_ioctl, {3, 0x40047211, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"encryption", SYS_ioctl, {3, 0x800C6613, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"a volume of btrfs", SYS_ioctl, {3, 0x5000940E, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"another limit", SYS_prlimit64, {5, 7, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"sched_setscheduler", SYS_sched_setscheduler, {5, 0, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"sched_setparam", SYS_sched_setparam, {5, 0, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"sched_setaffinity", SYS_sched_setaffinity, {5, 8, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"truncate", SYS_truncate, {0, 0, 0, 0}, IN_OLD_GROUP, REFUSED, SOFT},
    {"openat, O_TRUNC", SYS_openat, {3, 0, 0x200, 0}, IN_OLD_GROUP, REFUSED, SOFT},
    {"openat, 3 | O_TRUNC", SYS_openat, {3, 0, 0x80203, 0}, IN_OLD_GROUP, REFUSED, SOFT},
#ifdef SYS_utimes
    {"open, O_TMPFILE", SYS_open, {0, 0x410002, 04700, 0}, ANYWHERE, REFUSED, SOFT},
    {"open, O_TRUNC", SYS_open, {0, 0x200, 0, 0}, IN_OLD_GROUP, REFUSED, SOFT},
    {"chmod", SYS_chmod, {0, 0644, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"chown", SYS_chown, {0, 1, 1, 0}, IN_GROUP, REFUSED, SOFT},
    {"lchown", SYS_lchown, {0, 1, 1, 0}, IN_GROUP, REFUSED, SOFT},
    {"utimes", SYS_utimes, {0, 0, 0, 0}, IN_GROUP, REFUSED, SOFT},
    {"futimesat", SYS_futimesat, {3, 0, 0, 0}, IN_GROUP, REFUSED, SOFT},
#endif
#ifdef SYS_utime
    {"utime", SYS_utime, {0, 0, 0, 0}, IN_GROUP, REFUSED, SOFT},
#endif
    /* and what stays allowed everywhere */
    {"read", SYS_read, {0, 0, 0, 0}, ANYWHERE, SBX__RET_ALLOW, SOFT},
    {"SCHED_OTHER", SYS_sched_setscheduler, {0, 0, 0, 0}, ANYWHERE, SBX__RET_ALLOW, SOFT},
    {"F_SETLK", SYS_fcntl, {3, 6, 0, 0}, ANYWHERE, SBX__RET_ALLOW, SOFT},
    {"its own limit", SYS_prlimit64, {0, 7, 0, 0}, ANYWHERE, SBX__RET_ALLOW, SOFT},
    {"openat, O_WRONLY | O_TRUNC", SYS_openat, {3, 0, 0x201, 0}, ANYWHERE, SBX__RET_ALLOW, SOFT},
    {"openat, O_CREAT", SYS_openat, {3, 0, 0x41, 0644}, ANYWHERE, SBX__RET_ALLOW, SOFT},
    {"a pair", SYS_socketpair, {1, 0x80001, 0, 0}, ANYWHERE, SBX__RET_ALLOW, SOFT},
    {"FIONREAD", SYS_ioctl, {3, 0x541B, 0, 0}, ANYWHERE, SBX__RET_ALLOW, SOFT},
};

static int holds_here(int where, int network, int group, int old) {
    switch (where) {
    case IN_GROUP: return group;
    case IN_OLD_GROUP: return group && old;
    case WITHOUT_NETWORK: return !network;
    default: return 1;
    }
}

UTEST(policy, filter_keeps_what_is_promised) {
    static sbx__insn room[16 + 9 * sizeof sbx__rules / sizeof sbx__rules[0]];
    int bits;
    size_t i;
    if (!SBX__ARCH) UTEST_SKIP("no filter for this architecture");
    for (bits = 0; bits < 16; bits++) {
        int network = bits & 1, kills = bits >> 1 & 1, group = bits >> 2 & 1, old = bits >> 3 & 1;
        sbx_policy policy;
        sbx__plan p;
        memset(&policy, 0, sizeof policy);
        memset(&p, 0, sizeof p);
        policy.allow_network = network;
        policy.kill_on_denied = kills;
        p.cfg.policy = &policy;
        p.cfg.contain = group ? SBX_CONTAIN_GROUP : SBX_CONTAIN_TREE;
        p.policy.filter = room;
        sbx__build_filter(&p, old ? 2 : 7);
        for (i = 0; i < sizeof promises / sizeof promises[0]; i++) {
            const struct promise *it = &promises[i];
            unsigned long long args[6] = {0, 0, 0, 0, 0, 0};
            unsigned want = it->answer;
            memcpy(args, it->arg, sizeof it->arg);
            if (kills && it->kills == KILLS) want = SBX__RET_NOTIFY;
            if (!holds_here(it->where, network, group, old)) want = SBX__RET_ALLOW;
            EXPECT_EQ_MSG(want, decided(&p, SBX__ARCH, (unsigned)it->number, args),
                          test_text("%s, network %d, kill %d, group %d, old %d", it->name, network,
                                    kills, group, old));
        }
    }
}

#endif

/* ==== Lines of /proc ========================================================================== */

#if SBX__LINUX && SBX__HAS_WATCH
/* A program chooses the paths that it maps, and so what stands in its smaps: what is behind the end
   of the room for a line is not taken for another line. */
UTEST(watch, lines_that_do_not_fit_are_filtered_out) {
    static const char *const labels[] = {"Rss:", "Pss:"};
    sbx__lines *l = NULL;
    char dir[PATH_MAX], text[3 * sizeof l->text];
    size_t room = sizeof l->text, longer;
    long long numbers[2];
    int proc;
    test_tmpdir(dir);
    ASSERT_EQ(0, mkdir(test_text("%s/7", dir), 0755));
    proc = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (longer = room - 4; longer < room + 4; longer++) {
        int size = sprintf(text, "Rss: 7 kB\n");
        memset(text + size, 'x', longer);
        size += (int)longer;
        size += sprintf(text + size, "Rss: 999999999 kB\nPss: 8 kB\n");
        test_write_file(test_text("%s/7", dir), "smaps", text, (size_t)size, 0644);
        EXPECT_TRUE(sbx__proc_numbers(proc, 7, "smaps", labels, numbers, 2));
        EXPECT_EQ(7LL, numbers[0]);
        EXPECT_EQ(8LL, numbers[1]); /* and what follows is read again */
    }
    close(proc);
    test_remove_tree(dir);
}
#endif
