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

#endif
