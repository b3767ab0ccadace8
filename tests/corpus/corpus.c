/* Runs the labelled corpus of cases.h and says how often sbx.h's verdict is the true one.

     corpus [WORD]    all cases, or those whose language and name contain WORD; in the directory
                      that holds ccases, cppcases, Corpus.class, gocases and rustcases (run.sh
                      makes them)
     corpus --java, --go, --rust    the source of the cases in that language

   Environment: CORPUS_PYTHON, CORPUS_PERL, CORPUS_NODE, CORPUS_JAVA, CORPUS_GO, CORPUS_RUST,
   CORPUS_CPP (empty = skip), CORPUS_LIST (a file for one line per case), CORPUS_UID (run as that
   user).
   Exit status: 0 if no certain verdict is wrong, all plain cases and at least 80 % of the traps
   are right, and no result contradicts itself. */
#define SBX_IMPLEMENTATION
#include "../../sbx.h"

#include "acts.h"
#include <grp.h>
#include <stdarg.h>
#include <sys/stat.h>

#define BAR 80 /* per cent of the verdicts on traps that must be right */
#define VERDICTS (SBX_LOST + 1)
#define PATIENCE 120000 /* ms for a case without a time limit of its own */

/* ==== The table =============================================================================== */

typedef enum language { IN_C, IN_CPP, IN_PYTHON, IN_PERL, IN_NODE, IN_JAVA, IN_GO, IN_RUST, IN_SH,
                        IN_CALL, IN_EXEC, LANGUAGES } language;
typedef enum driver { RUN, SLOW_READER, CALLBACK_SAYS_NO, CANCEL, CANCEL_AFTER_END, LATE_LOOK } driver;
/* TREE: contained; USER: not root; PERF: the CPU time of children that nobody waits for is known */
typedef enum need { NOTHING, TREE, USER, POLICY, PERF, INSTALLED, REASONS } need;

typedef struct labelled {
    language in;
    const char *name;
    sbx_verdict truth;
    const char *text;   /* source, script or path; of C, C++, Java and Go the name says it all */
    sbx_fn fn;
    sbx_config config;
    const char *option; /* for the interpreter, words separated by blanks */
    driver by;
    need needs;
    const char *tool; /* a program it runs */
    int trap;
} labelled;

#define NONE .option = NULL
#define LIMITS(...) .config = {__VA_ARGS__}
#define WITH(words, ...) .option = words, .config = {__VA_ARGS__}
#define BY(driver, ...) .by = driver, .config = {__VA_ARGS__}
#define NEEDS(what, ...) .needs = what, .config = {__VA_ARGS__}
#define TOOL(name, ...) .tool = name, .config = {__VA_ARGS__}
#define TRAP(...) .trap = 1, .config = {__VA_ARGS__}
#define TRAP_WITH(words, ...) .trap = 1, .option = words, .config = {__VA_ARGS__}
#define TRAP_TOOL(name, ...) .trap = 1, .tool = name, .config = {__VA_ARGS__}
#define TRAP_BY(driver, ...) .trap = 1, .by = driver, .config = {__VA_ARGS__}

static const char *const here[] = {".", NULL};
static const sbx_policy polite = {.read = here}, deadly = {.read = here, .kill_on_denied = 1};

#define CALL(label, verdict, setup, ...)                             \
    static int label##_call(void *arg, void *ret, size_t ret_size) { \
        (void)arg, (void)ret, (void)ret_size;                        \
        alarm(LIFE);                                                 \
        __VA_ARGS__                                                  \
    }
#include "cases.h"

static const labelled cases[] = {
#define C(label, verdict, setup, ...) {.in = IN_C, .name = #label, .truth = verdict, setup},
#define CPP(label, verdict, setup, ...) {.in = IN_CPP, .name = #label, .truth = verdict, setup},
#define PYTHON(label, verdict, setup, ...) \
    {.in = IN_PYTHON, .name = #label, .truth = verdict, .text = __VA_ARGS__, setup},
#define PERL(label, verdict, setup, ...) \
    {.in = IN_PERL, .name = #label, .truth = verdict, .text = __VA_ARGS__, setup},
#define RUST(label, verdict, setup, ...) \
    {.in = IN_RUST, .name = #label, .truth = verdict, .text = #__VA_ARGS__, setup},
#define NODE(label, verdict, setup, ...) \
    {.in = IN_NODE, .name = #label, .truth = verdict, .text = #__VA_ARGS__, setup},
#define JAVA(label, verdict, setup, ...) \
    {.in = IN_JAVA, .name = #label, .truth = verdict, .text = #__VA_ARGS__, setup},
#define GO(label, verdict, setup, ...) \
    {.in = IN_GO, .name = #label, .truth = verdict, .text = #__VA_ARGS__, setup},
#define SH(label, verdict, setup, ...) \
    {.in = IN_SH, .name = #label, .truth = verdict, .text = __VA_ARGS__, setup},
#define CALL(label, verdict, setup, ...) \
    {.in = IN_CALL, .name = #label, .truth = verdict, .fn = label##_call, setup},
#define EXEC(label, verdict, setup, ...) \
    {.in = IN_EXEC, .name = #label, .truth = verdict, .text = __VA_ARGS__, setup},
#include "cases.h"
};

static const char *const language_names[LANGUAGES] = {"c", "c++", "python", "perl", "node", "java",
                                                      "go", "rust", "sh", "call", "exec"};

/* ==== The sources of the languages that are compiled at once ================================== */

static void print_java(void) {
    size_t i;
    puts("public class Corpus {\n"
         "    static final java.util.List<Object> keep = new java.util.ArrayList<>();\n"
         "    static void nap(long ms) {\n"
         "        try { Thread.sleep(ms); } catch (InterruptedException e) { }\n"
         "    }\n"
         "    static void spin() {\n"
         "        long end = System.nanoTime() + 100_000_000_000L;\n"
         "        while (System.nanoTime() < end) { }\n"
         "    }\n"
         "    static void use(int mb) {\n"
         "        while (mb-- > 0) {\n"
         "            byte[] b = new byte[1 << 20];\n"
         "            java.util.Arrays.fill(b, (byte) 1);\n"
         "            keep.add(b);\n"
         "        }\n"
         "    }\n"
         "    static int recurse() { return recurse() + 1; }\n"
         "    static void threads(int count) {\n"
         "        while (count-- > 0) {\n"
         "            Thread t = new Thread(() -> nap(100000));\n"
         "            t.setDaemon(true);\n"
         "            t.start();\n"
         "        }\n"
         "    }\n"
         "    public static void main(String[] args) throws Throwable {\n"
         "        switch (args[0]) {");
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (cases[i].in == IN_JAVA)
            printf("        case \"%s\": %s_case(); break;\n", cases[i].name, cases[i].name);
    puts("        default: System.exit(99);\n        }\n    }");
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (cases[i].in == IN_JAVA)
            printf("    static void %s_case() throws Throwable {\n        %s\n    }\n",
                   cases[i].name, cases[i].text);
    puts("}");
}

static void print_go(void) {
    size_t i;
    puts("package main\n"
         "import (\n\t\"fmt\"\n\t\"os\"\n\t\"runtime/debug\"\n\t\"time\"\n)\n"
         "var keep [][]byte\n"
         "func nap(ms int) { time.Sleep(time.Duration(ms) * time.Millisecond) }\n"
         "func spin() {\n"
         "\tend := time.Now().Add(100 * time.Second)\n"
         "\tfor time.Now().Before(end) {\n\t}\n"
         "}\n"
         "func use(mb int) {\n"
         "\tfor ; mb > 0; mb-- {\n"
         "\t\tb := make([]byte, 1<<20)\n"
         "\t\tfor i := range b {\n\t\t\tb[i] = 1\n\t\t}\n"
         "\t\tkeep = append(keep, b)\n"
         "\t}\n"
         "}\n"
         "func recurse(n int) int {\n"
         "\tvar frame [512]byte\n"
         "\tframe[n%512] = 1\n"
         "\treturn recurse(n+1) + int(frame[(n+1)%512])\n"
         "}\n"
         "func openMany() {\n"
         "\tvar files []*os.File\n"
         "\tfor i := 0; i < 100; i++ {\n"
         "\t\tf, e := os.Open(\"/dev/null\")\n"
         "\t\tif e != nil {\n\t\t\tpanic(e)\n\t\t}\n"
         "\t\tfiles = append(files, f)\n"
         "\t}\n"
         "\tfmt.Println(len(files))\n"
         "}\n"
         "func main() {\n"
         "\tdebug.SetGCPercent(100)\n"
         "\tswitch os.Args[1] {");
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (cases[i].in == IN_GO)
            printf("\tcase \"%s\":\n\t\t%s\n", cases[i].name, cases[i].text);
    puts("\tdefault:\n\t\tos.Exit(99)\n\t}\n}");
}

static void print_rust(void) {
    size_t i;
    puts("#![allow(unreachable_code, dead_code, unconditional_panic, deref_nullptr)]\n"
         "fn nap(ms: u64) { std::thread::sleep(std::time::Duration::from_millis(ms)); }\n"
         "fn spin() {\n"
         "    let t = std::time::Instant::now();\n"
         "    while t.elapsed().as_secs() < 100 {}\n"
         "}\n"
         "fn hold(mb: usize) {\n"
         "    let mut all = Vec::new();\n"
         "    for _ in 0..mb { all.push(vec![1u8; 1 << 20]); }\n"
         "    std::mem::forget(all);\n"
         "}\n"
         "fn threads(count: usize) {\n"
         "    for _ in 0..count { std::thread::spawn(|| nap(100000)); }\n"
         "}\n"
         "fn main() {\n"
         "    match std::env::args().nth(1).unwrap().as_str() {");
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (cases[i].in == IN_RUST)
            printf("        \"%s\" => { %s }\n", cases[i].name, cases[i].text);
    puts("        _ => std::process::exit(99),\n    }\n}");
}

/* ==== Running one case ======================================================================== */

static const char *tool_of(language in) {
    static const char *const variables[LANGUAGES] = {
        NULL, "CORPUS_CPP", "CORPUS_PYTHON", "CORPUS_PERL", "CORPUS_NODE", "CORPUS_JAVA",
        "CORPUS_GO", "CORPUS_RUST", NULL, NULL, NULL};
    const char *tool = variables[in] ? getenv(variables[in]) : "built in";
    return tool && *tool ? tool : NULL;
}

/* What starts the case, as an argument list in words[], which stays valid until the next call. */
static void command_of(const labelled *c, const char **words) {
    static const char *const compiled[LANGUAGES] = {
        [IN_C] = "./ccases", [IN_CPP] = "./cppcases", [IN_GO] = "./gocases",
        [IN_RUST] = "./rustcases"};
    static char options[200];
    int n = 0;
    char *word;
    snprintf(options, sizeof options, "%s", c->option ? c->option : "");
    words[n++] = c->in == IN_EXEC ? c->text : compiled[c->in] ? compiled[c->in] : tool_of(c->in);
    if (c->in == IN_JAVA) words[n++] = "-XX:-UsePerfData"; /* leaves a file in /tmp */
    for (word = strtok(options, " "); word; word = strtok(NULL, " ")) words[n++] = word;
    if (c->in == IN_JAVA) words[n++] = "-cp", words[n++] = ".", words[n++] = "Corpus";
    if (c->in == IN_PYTHON) words[n++] = "-c", words[n++] = c->text;
    else if (c->in == IN_NODE || c->in == IN_PERL) words[n++] = "-e", words[n++] = c->text;
    else if (c->in != IN_EXEC) words[n++] = c->name;
    words[n] = NULL;
}

static int slow_reader(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)user, (void)stream, (void)data, (void)size;
    nap(4000); /* longer than the time limit; the program has long ended when this returns */
    return 0;
}

static int say_no(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)user, (void)stream, (void)data, (void)size;
    return 1;
}

/* The program's end is seen by the end of its stdout; a moment later it is over altogether. */
static void cancel_after_end(sbx_config *cfg, sbx_result *r) {
    int ends[2];
    char byte;
    sbx *box;
    if (pipe(ends) != 0) exit(2);
    cfg->out = SBX_FD;
    cfg->out_fd = ends[1];
    box = sbx_start(cfg, r);
    close(ends[1]);
    if (!box) {
        close(ends[0]);
        return;
    }
    while (read(ends[0], &byte, 1) > 0) {
    }
    close(ends[0]);
    nap(300);
    sbx_cancel(box);
    sbx_finish(box, r);
}

static void run_case(const labelled *c, sbx_result *r) {
    static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C",
                                      "C=./ccases", NULL};
    const char *words[16];
    sbx_config cfg = c->config;
    int value;
    sbx *box;
    cfg.env = env;
    if (cfg.timeout_ms == 0) cfg.timeout_ms = PATIENCE;
    if (c->in == IN_CALL) {
        sbx_call(&cfg, c->fn, NULL, &value, sizeof value, r);
        return;
    }
    command_of(c, words);
    if (c->in == IN_SH) cfg.command = c->text;
    else cfg.argv = words;
    if (c->by == SLOW_READER) cfg.on_output = slow_reader;
    if (c->by == CALLBACK_SAYS_NO) cfg.on_output = say_no;
    if (c->by == CANCEL) {
        if (!(box = sbx_start(&cfg, r))) return;
        sbx_cancel(box);
        sbx_finish(box, r);
    } else if (c->by == LATE_LOOK) {
        if (!(box = sbx_start(&cfg, r))) return;
        nap(1000);
        sbx_finish(box, r);
    } else if (c->by == CANCEL_AFTER_END) {
        cancel_after_end(&cfg, r);
    } else {
        sbx_run(&cfg, r);
    }
}

/* ==== The simple rule ========================================================================= */

static int contains(const sbx_output *o, const char *word) {
    size_t i, k;
    for (i = 0; i < o->size; i++) {
        for (k = 0; word[k] && i + k < o->size && (o->data[i + k] | 32) == word[k]; k++) {
        }
        if (!word[k]) return 1;
    }
    return 0;
}

/* What the older systems say of the same run: signal 11 or code 139, the word "memory" in the
   error text, or a peak of 95 % of the limit is memory. What the host stopped by itself they know
   as well as we do, and they are given the reading of SIGXCPU and SIGXFSZ for free. */
static sbx_verdict simple_rule(const labelled *c, const sbx_result *r) {
    const sbx_config *cfg = &c->config;
    long long limit = cfg->memory_bytes > 0 ? cfg->memory_bytes : cfg->address_space_bytes;
    const unsigned own = SBX_SAW_DEADLINE | SBX_SAW_CPU_SUM | SBX_SAW_MEMORY_SUM |
                         SBX_SAW_OUTPUT_CAP | SBX_SAW_CANCEL | SBX_SAW_DENIED;
    if (r->verdict == SBX_NOT_STARTED || r->verdict == SBX_LOST) return r->verdict;
    if (r->evidence & own) return r->verdict;
    if (r->signal == SIGSEGV || r->exit_code == 128 + SIGSEGV) return SBX_MEMORY_LIMIT;
    if (contains(&r->err, "memory")) return SBX_MEMORY_LIMIT;
    if (limit > 0 && r->peak_bytes >= limit / 100 * 95) return SBX_MEMORY_LIMIT;
    if (r->signal == SIGXCPU) return SBX_CPU_LIMIT;
    if (r->signal == SIGXFSZ) return SBX_FILE_LIMIT;
    if (r->signal) return SBX_CRASHED;
    if (c->in == IN_CALL && r->verdict != SBX_OK) return SBX_NO_RESULT;
    return r->exit_code ? SBX_EXITED : SBX_OK;
}

/* ==== Counting ================================================================================ */

typedef struct tally {
    int matrix[VERDICTS][VERDICTS];
    int all[2][2], right[2][2]; /* [trap][certain] */
    int simple_right, simple_matrix[VERDICTS][VERDICTS];
    int contradictions;
    int skipped[LANGUAGES][REASONS]; /* [language][what was missing] */
} tally;

static const char *evidence_text(unsigned saw, char *to, size_t room) {
    static const char *const bits[] = {
        "start-failed", "deadline", "cpu-sum", "memory-sum", "output-cap", "cancel", "grace-over",
        "no-status", "no-result", "cpu-spent", "file-limit", "file-text", "memory-limit",
        "memory-text", "memory-peak", "oom-kill", "denied", "stuck", "blind", "memory-near",
        "memory-words", "file-words"};
    size_t i, n = 0;
    *to = 0;
    for (i = 0; i < sizeof bits / sizeof bits[0]; i++)
        if (saw & 1u << i && n + 20 < room)
            n += (size_t)snprintf(to + n, room - n, "%s%s", n ? " " : "", bits[i]);
    return *to ? to : "none";
}

/* The last line the program wrote to stderr, made printable. */
static const char *last_line(const sbx_output *o, char *to, size_t room) {
    size_t end = o->size, start, n = 0;
    while (end > 0 && o->data[end - 1] == '\n') end--;
    for (start = end; start > 0 && o->data[start - 1] != '\n'; start--) {
    }
    for (; start < end && n + 1 < room; start++)
        to[n++] = o->data[start] >= ' ' && o->data[start] < 127 ? o->data[start] : '.';
    to[n] = 0;
    return to;
}

static void explain(FILE *to, const sbx_result *r) {
    char saw[300], said[120];
    fprintf(to, "    exit %d, signal %d, %lld ms, peak %lld KB, evidence: %s\n", r->exit_code,
            r->signal, r->wall_us / 1000, r->peak_bytes / 1024,
            evidence_text(r->evidence, saw, sizeof saw));
    fprintf(to, "    \"%s\"", r->message);
    if (r->err.size) fprintf(to, "; stderr ends: %s", last_line(&r->err, said, sizeof said));
    fprintf(to, "\n");
}

/* A result that contradicts itself is a bug, whichever of its parts is wrong. */
static int contradicts(const labelled *c, const sbx_result *r) {
    int by_itself = r->verdict == SBX_OK || r->verdict == SBX_EXITED || r->verdict == SBX_CRASHED ||
                    r->verdict == SBX_NO_RESULT;
    return by_itself && c->config.memory_bytes > 0 && r->peak_bytes > c->config.memory_bytes;
}

static void count(tally *t, const labelled *c, const sbx_result *r, FILE *list) {
    int right = r->verdict == c->truth, certain = r->certain != 0;
    sbx_verdict simple = simple_rule(c, r);
    t->matrix[c->truth][r->verdict]++;
    t->simple_matrix[c->truth][simple]++;
    t->all[c->trap][certain]++;
    t->right[c->trap][certain] += right;
    t->simple_right += simple == c->truth;
    if (list)
        fprintf(list, "%s %-7s %-5s %-7s %-32s %-12s %-12s simple: %s\n", right ? "right" : "WRONG",
                certain ? "certain" : "likely", c->trap ? "trap" : "plain", language_names[c->in],
                c->name,
                sbx_verdict_name(c->truth), sbx_verdict_name(r->verdict), sbx_verdict_name(simple));
    if (list) explain(list, r);
    if (contradicts(c, r)) {
        t->contradictions++;
        printf("contradiction: %s %s: %s, but its peak was %lld MB of %lld\n",
               language_names[c->in], c->name, sbx_verdict_name(r->verdict), r->peak_bytes / MB,
               c->config.memory_bytes / MB);
    }
    if (right) return;
    printf("wrong%s: %s %s: truly %s, given %s (%s)\n", c->trap ? ", a trap" : "",
           language_names[c->in], c->name, sbx_verdict_name(c->truth),
           sbx_verdict_name(r->verdict), certain ? "CERTAIN" : "likely");
    explain(stdout, r);
}

static void print_matrix(int matrix[VERDICTS][VERDICTS]) {
    static const char *const heads[VERDICTS] = {"ok", "exit", "crash", "time", "cpu", "mem", "out",
                                                "file", "deny", "canc", "nores", "nstart", "lost"};
    int t, g, used[VERDICTS] = {0};
    for (t = 0; t < VERDICTS; t++)
        for (g = 0; g < VERDICTS; g++)
            if (matrix[t][g]) used[t] = used[g] = 1;
    printf("  %-14s", "true \\ given");
    for (g = 0; g < VERDICTS; g++)
        if (used[g]) printf(" %6s", heads[g]);
    printf("\n");
    for (t = 0; t < VERDICTS; t++) {
        if (!used[t]) continue;
        printf("  %-14s", sbx_verdict_name((sbx_verdict)t));
        for (g = 0; g < VERDICTS; g++)
            if (used[g] && matrix[t][g]) printf(" %6d", matrix[t][g]);
            else if (used[g]) printf(" %6s", ".");
        printf("\n");
    }
}

static void rate(const char *what, int right, int all) {
    printf("  %-34s %4d of %4d right", what, right, all);
    if (all) printf("  %5.1f %%", 100.0 * right / all);
    printf("\n");
}

/* One line for every reason and language; returns how many cases that were. */
static int print_skipped(const tally *t) {
    static const char *const reasons[] = {
        "its compiler or interpreter is not installed", "the whole tree cannot be contained here",
        "the number of processes does not bind root", "no policy can be enforced here",
        "the kernel does not count children that nobody waits for (perf_event_paranoid)",
        "a program they run is not installed"};
    int in, why, all = 0;
    for (in = 0; in < LANGUAGES; in++)
        for (why = 0; why < REASONS; why++) {
            if (t->skipped[in][why] == 0) continue;
            printf("skipped: %d %s cases: %s\n", t->skipped[in][why], language_names[in],
                   reasons[why]);
            all += t->skipped[in][why];
        }
    return all;
}

static int summarise(tally *t) {
    int(*all)[2] = t->all, (*right)[2] = t->right;
    int certain = all[0][1] + all[1][1], certain_right = right[0][1] + right[1][1];
    int plain = all[0][0] + all[0][1], plain_right = right[0][0] + right[0][1];
    int traps = all[1][0] + all[1][1], traps_right = right[1][0] + right[1][1];
    int lies = certain - certain_right, fell = traps - traps_right;
    int too_many = traps_right * 100 < traps * BAR;
    int failed = plain - plain_right + (all[1][1] - right[1][1]) + t->contradictions;
    int skipped = print_skipped(t);
    if (too_many) failed += all[1][0] - right[1][0];
    printf("\nverdicts of sbx.h\n");
    print_matrix(t->matrix);
    printf("\nverdicts of the simple rule (signal 11, code 139, \"memory\" said, 95 %% used)\n");
    print_matrix(t->simple_matrix);
    printf("\n");
    rate("sbx.h, verdicts called certain", certain_right, certain);
    rate("sbx.h, verdicts called likely", right[0][0] + right[1][0], all[0][0] + all[1][0]);
    rate("sbx.h, plain cases", plain_right, plain);
    rate("sbx.h, traps", traps_right, traps);
    rate("simple rule, all", t->simple_right, plain + traps);
    if (lies) printf("FAILED: %d verdicts called certain are wrong\n", lies);
    if (plain > plain_right) printf("FAILED: %d plain cases are wrong\n", plain - plain_right);
    if (too_many) printf("FAILED: less than %d %% of the traps are right\n", BAR);
    if (t->contradictions) printf("FAILED: %d results contradict themselves\n", t->contradictions);
    if (fell && !too_many) printf("traps it fell into, within the %d %%: %d\n", 100 - BAR, fell);
    printf("%d passed, %d failed, %d skipped\n", plain_right + traps_right, failed, skipped);
    return failed == 0 && plain + traps > 0 ? 0 : 1;
}

/* ==== The run ================================================================================= */

static void write_file(const char *path, const char *text, mode_t mode) {
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0 || chmod(path, mode) != 0) {
        perror(path);
        exit(2);
    }
}

/* Then starts anew: a process that changed its user may not look into its own /proc. */
static void become_user(char **argv) {
    const char *uid = getenv("CORPUS_UID");
    uid_t id = uid ? (uid_t)atoi(uid) : 0;
    if (!uid || id == getuid()) return;
    if (setgroups(0, NULL) != 0 || setgid(id) != 0 || setuid(id) != 0) {
        perror("CORPUS_UID");
        exit(2);
    }
    execv(argv[0], argv);
    perror(argv[0]);
    exit(2);
}

/* What a harmless run gets under this policy: the verdict, and in *enforced what held it. */
static sbx_verdict try_run(const sbx_policy *policy, unsigned *enforced) {
    const char *const words[] = {"./ccases", "exit_0", NULL};
    sbx_config cfg = {.argv = words, .policy = policy};
    sbx_result r;
    sbx_verdict verdict = sbx_run(&cfg, &r);
    *enforced = r.enforced;
    sbx_free(&r);
    return verdict;
}

static int installed(const char *name) {
    char line[100];
    snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", name);
    return system(line) == 0;
}

static int counts_everybody(void) {
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
    int level = 9;
    if (f && fscanf(f, "%d", &level) != 1) level = 9;
    if (f) fclose(f);
    return level <= 2 || (f && geteuid() == 0);
}

/* Index of the reason in print_skipped, or -1: the case can be run. */
static int why_skipped(const labelled *c, const int *has) {
    if (!tool_of(c->in)) return NOTHING;
    if (c->tool && !installed(c->tool)) return INSTALLED;
    return has[c->needs] ? -1 : (int)c->needs;
}

int main(int argc, char **argv) {
    static tally t;
    const char *word = argc > 1 ? argv[1] : "", *path = getenv("CORPUS_LIST");
    FILE *list = NULL;
    char title[80];
    int has[REASONS] = {1};
    unsigned enforced;
    size_t i;
    if (strcmp(word, "--java") == 0) return print_java(), 0;
    if (strcmp(word, "--go") == 0) return print_go(), 0;
    if (strcmp(word, "--rust") == 0) return print_rust(), 0;
    become_user(argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(1800); /* whatever hangs */
    write_file("not_executable", "#!/bin/sh\n", 0644);
    write_file("no_interpreter", "#!/no/such/interpreter\n", 0755);
    write_file("no_format", "neither program nor script\n", 0755);
    if (path) list = fopen(path, "w");
    has[POLICY] = try_run(&deadly, &enforced) != SBX_NOT_STARTED;
    try_run(NULL, &enforced);
    has[TREE] = (enforced & SBX_BY_TREE) != 0;
    has[USER] = geteuid() != 0;
    has[PERF] = counts_everybody();
    printf("corpus: %d cases, user %d, %s\n", (int)(sizeof cases / sizeof cases[0]), (int)geteuid(),
           has[TREE] ? "whole tree contained" : "process group only");
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const labelled *c = &cases[i];
        int skip = why_skipped(c, has);
        sbx_result r;
        snprintf(title, sizeof title, "%s %s", language_names[c->in], c->name);
        if (!strstr(title, word)) continue;
        if (skip >= 0) {
            t.skipped[c->in][skip]++;
            continue;
        }
        run_case(c, &r);
        count(&t, c, &r, list);
        sbx_free(&r);
    }
    if (list) fclose(list);
    return summarise(&t);
}
