/* judge: a contest judge. Builds what contestants sent in, runs it on every test, says AC or why not.
   Compile: cc -pthread -o run_judge judge.c
   Usage:   run_judge [--jobs N] [--html FILE] [--read DIR] [--no-policy] FOLDER
            (try it with the folder judge)
   Prints a table, which lives while the judge works if stdout is a terminal, and writes a page for
   a browser if FILE is given. What runs is under a policy, and finds the programs of the system; for
   compilers elsewhere (~/.cargo and ~/.rustup, say) there is --read, as often as need be.

   FOLDER/limits        lines "time_ms 1000", "memory_mb 128", "output_kb 64", "# a comment"; all of
                        them optional
   FOLDER/tests         NAME.in, and the right answer in NAME.out
   FOLDER/submissions   source text; the name's ending tells the language: c cpp py sh js rs go ...

   AC accepted; WA wrong answer; TLE, MLE, OLE too much time, memory, output; RE ended with an error;
   CE does not compile; -- not judged: no compiler for this language, say, or one that does not even
   build an empty program here. */
#define SBX_IMPLEMENTATION
#include "sbx.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    char name[256], input_path[1200], answer_path[1200];
} test;

typedef struct {
    char file[128], path[1024], language[16];
    const char *verdict; /* NULL = not yet */
    const char *doing; /* what goes on now */
    int passed; /* tests */
    long long time_us, memory; /* the most that a test took */
    char note[256]; /* why it is not AC */
} submission;

typedef struct {
    char name[16];
    int works;
    char why[256]; /* if it does not */
} language;

static struct { /* what all workers share, under the lock */
    pthread_mutex_t lock;
    test *tests;
    submission *subs;
    int test_count, sub_count, next, done;
    sbx_config limits; /* of a run */
    const char *read[17]; /* --read, for build and run */
    language tried[32]; /* those that were looked at more closely */
    int tried_count;
    int version; /* changes with everything that the table shows */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static volatile int stopped;
static void on_signal(int number) { stopped = number; }

static const char usage[] =
    "usage: judge [--jobs N] [--html FILE] [--read DIR] [--no-policy] FOLDER";

static void die(const char *what, const char *why) {
    fprintf(stderr, "judge: %s: %s\n", what, why);
    exit(2);
}

/* What others wrote is shown on a terminal and on a page: not their control characters, and not what
   is no UTF-8. */
static void make_plain(char *text) {
    for (unsigned char *c = (unsigned char *)text; *c;) {
        int n = *c < 0x80                 ? 1
                : *c >= 0xC2 && *c < 0xE0 ? 2
                : *c >= 0xE0 && *c < 0xF0 ? 3
                                          : 4,
            i = 1;
        int control = *c < ' ' || *c == 127 || (*c == 0xC2 && c[1] < 0xA0);

        while (i < n && (c[i] & 0xC0) == 0x80) i++;
        if (control || i < n || (n == 4 && (*c < 0xF0 || *c > 0xF4))) *c++ = '?';
        else c += n;
    }
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* All of a file, followed by a NUL byte; NULL if it cannot be read. */
static char *slurp(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0, n = 1;

    if (file == NULL) return NULL;
    for (*size = 0; n > 0; *size += n) {
        if (room - *size < 2 && (text = realloc(text, room = 2 * room + 4096)) == NULL)
            die(path, "no memory");
        n = fread(text + *size, 1, room - *size - 1, file);
    }
    text[*size] = '\0';
    if (ferror(file)) { /* a directory, say */
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static int is_input(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    return is_visible(entry) && dot != NULL && strcmp(dot, ".in") == 0;
}

static void read_tests(const char *folder) {
    char path[900];
    struct dirent **entry;
    int i, count;

    snprintf(path, sizeof path, "%s/tests", folder);
    count = scandir(path, &entry, is_input, alphasort);
    if (count <= 0) die(path, count < 0 ? strerror(errno) : "there is no test");
    all.tests = calloc((size_t)count, sizeof *all.tests);
    if (all.tests == NULL) die(path, "no memory");
    for (i = 0; i < count; i++) {
        test *t = &all.tests[i];
        int n = (int)strlen(entry[i]->d_name) - 3;
        snprintf(t->name, sizeof t->name, "%.*s", n, entry[i]->d_name);
        snprintf(t->input_path, sizeof t->input_path, "%s/%s.in", path, t->name);
        snprintf(t->answer_path, sizeof t->answer_path, "%s/%s.out", path, t->name);
        free(entry[i]);
    }
    free(entry);
    all.test_count = count;
}

/* What stands behind the last dot, as sbx_build knows it. "" = nothing does. */
static const char *language_of(const char *name) {
    const char *dot = strrchr(name, '.');
    if (dot == NULL) return "";
    return strcmp(dot, ".cc") == 0 ? "c++" : dot + 1;
}

static void read_submissions(const char *folder) {
    char path[760];
    struct dirent **entry;
    int i, count;

    snprintf(path, sizeof path, "%s/submissions", folder);
    count = scandir(path, &entry, is_visible, alphasort);
    if (count <= 0) die(path, count < 0 ? strerror(errno) : "there is no submission");
    all.subs = calloc((size_t)count, sizeof *all.subs);
    if (all.subs == NULL) die(path, "no memory");
    for (i = 0; i < count; i++) {
        submission *s = &all.subs[i];
        const char *name = entry[i]->d_name;
        snprintf(s->file, sizeof s->file, "%.120s", name);
        make_plain(s->file);
        snprintf(s->path, sizeof s->path, "%s/%s", path, name);
        snprintf(s->language, sizeof s->language, "%.15s", language_of(name));
        s->doing = "waits";
        free(entry[i]);
    }
    free(entry);
    all.sub_count = count;
}

/* A number from 1 to 9999999, and nothing behind it; 0 = it is something else. */
static long long whole_number(const char *text) {
    size_t n = strspn(text, "0123456789");
    return n > 0 && n < 8 && text[n] == '\0' ? atoll(text) : 0;
}

/* One line of the file: a name and a number, or nothing. NULL, or what is wrong with it. */
static const char *take_limit(char *line, long long *time_ms, long long *memory_mb,
                              long long *output_kb) {
    static const char space[] = " \t\r\n";
    const char *name, *number, *more;
    long long *to;

    line[strcspn(line, "#")] = '\0';
    name = strtok(line, space);
    if (name == NULL) return NULL;
    number = strtok(NULL, space);
    more = strtok(NULL, space);
    to = strcmp(name, "time_ms") == 0     ? time_ms
         : strcmp(name, "memory_mb") == 0 ? memory_mb
         : strcmp(name, "output_kb") == 0 ? output_kb
                                          : NULL;
    if (to == NULL) return "only time_ms, memory_mb and output_kb are known";
    if (number == NULL || more != NULL || (*to = whole_number(number)) == 0)
        return "one whole number is wanted, from 1 to 9999999, without a unit";
    return NULL;
}

static void read_limits(const char *folder, int policy) {
    static sbx_policy nothing = {.deny_spawn = 1}; /* reads the system, starts nobody */
    long long time_ms = 1000, memory_mb = 128, output_kb = 64;
    char path[900], where[960], line[512];
    const char *wrong;
    FILE *file;
    int number = 0;

    snprintf(path, sizeof path, "%s/limits", folder);
    file = fopen(path, "r");
    if (file == NULL && errno != ENOENT) die(path, strerror(errno));
    while (file && fgets(line, sizeof line, file)) {
        snprintf(where, sizeof where, "%s, line %d", path, ++number);
        if (strlen(line) == sizeof line - 1) die(where, "is too long");
        wrong = take_limit(line, &time_ms, &memory_mb, &output_kb);
        if (wrong) die(where, wrong);
    }
    if (file) fclose(file);
    all.limits.cpu_ms = time_ms; /* what counts is CPU time, for others run too, ... */
    all.limits.timeout_ms = 5 * time_ms + 2000; /* ... but nobody sleeps for ever */
    all.limits.grace_ms = SBX_UNLIMITED;
    all.limits.memory_bytes = memory_mb * 1024 * 1024;
    all.limits.output_bytes = output_kb * 1024;
    all.limits.stop = &stopped;
    nothing.read = all.read;
    if (policy) all.limits.policy = &nothing;
}

/* ---- judging, in the workers ----------------------------------------------------------------- */

static void tell(submission *s, const char *doing) {
    pthread_mutex_lock(&all.lock);
    s->doing = doing;
    all.version++;
    pthread_mutex_unlock(&all.lock);
}

static void judged(submission *s, const char *verdict, const char *note) {
    pthread_mutex_lock(&all.lock);
    s->verdict = verdict;
    snprintf(s->note, sizeof s->note, "%s", note);
    s->note[sbx_utf8_prefix(s->note, strlen(s->note), sizeof s->note)] = '\0';
    make_plain(s->note);
    all.done++;
    all.version++;
    pthread_mutex_unlock(&all.lock);
}

/* Are these the same words? Spaces and newlines only part them. */
static int same_words(const char *a, const char *b) {
    static const char space[] = " \t\r\n";
    for (;;) {
        size_t n;
        a += strspn(a, space);
        b += strspn(b, space);
        n = strcspn(a, space);
        if (n != strcspn(b, space) || memcmp(a, b, n) != 0) return 0;
        if (n == 0) return *a == *b;
        a += n;
        b += n;
    }
}

static const char *verdict_of(const sbx_result *r, const char *answer) {
    switch (r->verdict) {
    case SBX_OK:
        return same_words(r->out.data, answer) && !memchr(r->out.data, 0, r->out.size) ? "AC"
                                                                                       : "WA";
    case SBX_TIMED_OUT:
    case SBX_CPU_LIMIT: return "TLE";
    case SBX_MEMORY_LIMIT: return "MLE";
    case SBX_OUTPUT_LIMIT:
    case SBX_FILE_LIMIT: return "OLE";
    case SBX_NOT_STARTED:
    case SBX_CANCELLED:
    case SBX_LOST: return "--";
    default: return "RE"; /* exited with a code, crashed, denied */
    }
}

/* Why a run was not right, in a few words: the table has 80 columns. */
static void describe(char *to, size_t room, const sbx_result *r) {
    const sbx_config *limit = &all.limits;
    const char *why = r->message;

    switch (r->verdict) {
    case SBX_OK: snprintf(to, room, "not the right answer"); break;
    case SBX_CPU_LIMIT: snprintf(to, room, "over %lld ms of CPU time", limit->cpu_ms); break;
    case SBX_TIMED_OUT: snprintf(to, room, "over %lld ms on the clock", limit->timeout_ms); break;
    case SBX_MEMORY_LIMIT:
        snprintf(to, room, "over %lld MB of memory", limit->memory_bytes >> 20);
        break;
    case SBX_OUTPUT_LIMIT:
        snprintf(to, room, "over %lld KB of output", limit->output_bytes >> 10);
        break;
    case SBX_EXITED: snprintf(to, room, "exit code %d", r->exit_code); break;
    default:
        if (strncmp(why, "'it' was ended by ", 18) == 0) why += 18; /* "signal 11 (SIGSEGV)" */
        snprintf(to, room, "%.150s", why);
    }
}

/* "test 2: exit code 1: IndexError: list index out of range" */
static void explain(char *note, size_t room, const char *name, const sbx_result *r) {
    char why[160];
    const char *last = r->err.data; /* the last line of stderr often tells more */
    int n = 0;

    describe(why, sizeof why, r);
    for (const char *c = last; *c; c++)
        if (*c == '\n' && c[1] > ' ') last = c + 1;
    if (r->verdict == SBX_EXITED || r->verdict == SBX_CRASHED) n = (int)strcspn(last, "\n");
    snprintf(note, room, "test %.40s: %s%s%.*s", name, why, n ? ": " : "", n < 90 ? n : 90, last);
}

/* One run on one test. Returns the verdict; the note says which test, and why. */
static const char *run_test(submission *s, const sbx_program *program, const test *t, char *note,
                            size_t room) {
    sbx_config config = all.limits;
    sbx_result result;
    size_t input_size = 0, answer_size;
    char *input = slurp(t->input_path, &input_size);
    char *answer = input ? slurp(t->answer_path, &answer_size) : NULL;
    const char *verdict = "--";

    snprintf(note, room, "tests/%.150s.%s: %s", t->name, input ? "out" : "in", strerror(errno));
    if (input != NULL && answer != NULL) {
        config.program = program;
        config.name = "it";
        config.input = input;
        config.input_size = input_size;
        sbx_run(&config, &result);
        verdict = verdict_of(&result, answer);
        explain(note, room, t->name, &result);
        pthread_mutex_lock(&all.lock);
        if (result.user_us + result.system_us > s->time_us)
            s->time_us = result.user_us + result.system_us;
        if (result.peak_bytes > s->memory) s->memory = result.peak_bytes;
        if (strcmp(verdict, "AC") == 0) s->passed++;
        pthread_mutex_unlock(&all.lock);
        sbx_free(&result);
    }
    free(input);
    free(answer);
    return verdict;
}

/* Where the compiler's complaint begins: at its first "error:", or at the first line that is not a
   heading, as go writes it. */
static const char *first_error(const char *text) {
    const char *error = strstr(text, "error");

    while (error && error[5] != ':' && error[5] != '[') error = strstr(error + 1, "error");
    if (error) return error;
    while ((*text == '#' || *text == '\n') && strchr(text, '\n')) text = strchr(text, '\n') + 1;
    return text;
}

static sbx_verdict build(const char *name, const char *code, size_t size, sbx_program *program,
                         sbx_result *result) {
    sbx_config config = {.timeout_ms = 60000,
                         .memory_bytes = 2LL << 30, /* which sbx_build takes for 4 GiB */
                         .stop = &stopped};
    sbx_policy compiling = {.read = all.read}; /* a compiler starts others */

    if (all.limits.policy) config.policy = &compiling;
    return sbx_build(&config, name, code, size, program, result);
}

/* A program that does nothing. In most languages that is no text at all. */
static const char *empty_program(const char *name) {
    if (strcmp(name, "rs") == 0 || strcmp(name, "rust") == 0) return "fn main() {}\n";
    if (strcmp(name, "go") == 0) return "package main\nfunc main() {}\n";
    if (strcmp(name, "java") == 0)
        return "public class Main { public static void main(String[] a) {} }\n";
    return *name == 'c' || *name == 'C' ? "int main(void) { return 0; }\n" : ""; /* c, c++, cpp */
}

/* Does an empty program work in this language? A compiler in somebody's home may be on PATH and yet
   lack its parts under the policy, which is no fault of the submission. */
static void try_language(language *l) {
    const char *code = empty_program(l->name);
    sbx_config config = all.limits;
    sbx_program program;
    sbx_result result;

    if (build(l->name, code, strlen(code), &program, &result) == SBX_OK) {
        sbx_free(&result);
        config.program = &program;
        config.name = "it";
        sbx_run(&config, &result);
        sbx_discard(&program);
    }
    l->works = result.verdict == SBX_OK || result.verdict == SBX_CANCELLED;
    snprintf(l->why, sizeof l->why, "not even an empty program works here: %.200s", result.message);
    sbx_free(&result);
}

/* The same, once for each language. If two workers ask at the same time, both try. */
static int language_works(const char *name, char *why, size_t room) {
    language l = {"", 0, ""};
    int i;

    pthread_mutex_lock(&all.lock);
    for (i = 0; i < all.tried_count && strcmp(all.tried[i].name, name) != 0; i++) continue;
    if (i < all.tried_count) l = all.tried[i];
    pthread_mutex_unlock(&all.lock);
    if (l.name[0] == '\0') {
        snprintf(l.name, sizeof l.name, "%s", name);
        try_language(&l);
        pthread_mutex_lock(&all.lock);
        if (all.tried_count < 32) all.tried[all.tried_count++] = l;
        pthread_mutex_unlock(&all.lock);
    }
    if (!l.works) snprintf(why, room, "%s", l.why);
    return l.works;
}

/* What a build that failed means for the submission. */
static const char *verdict_of_build(const submission *s, const sbx_result *r, char *note,
                                    size_t room) {
    const char *error = first_error(r->err.data);

    snprintf(note, room, "%s", r->message);
    if (r->step != SBX_STEP_BUILD || r->verdict == SBX_CANCELLED) return "--";
    if (!language_works(s->language, note, room)) return "--";
    if (*error) snprintf(note, room, "%.*s", (int)strcspn(error, "\n"), error);
    return "CE";
}

static void judge(submission *s) {
    sbx_program program;
    sbx_result result;
    char note[256] = "";
    const char *verdict = "AC";
    size_t size;
    char *code = slurp(s->path, &size);

    if (code == NULL || s->language[0] == '\0') {
        judged(s, "--", code ? "the name has no ending that tells the language" : strerror(errno));
        free(code);
        return;
    }
    tell(s, "builds");
    build(s->language, code, size, &program, &result);
    free(code);
    if (result.verdict != SBX_OK) {
        verdict = verdict_of_build(s, &result, note, sizeof note);
        sbx_free(&result);
        judged(s, verdict, note);
        return;
    }
    sbx_free(&result);
    tell(s, "runs");
    for (int i = 0; i < all.test_count && strcmp(verdict, "AC") == 0; i++) {
        verdict = run_test(s, &program, &all.tests[i], note, sizeof note);
        tell(s, "runs");
    }
    sbx_discard(&program);
    if (strcmp(verdict, "RE") == 0 && s->passed == 0 &&
        !language_works(s->language, note, sizeof note))
        verdict = "--"; /* an interpreter that does not work */
    judged(s, verdict, strcmp(verdict, "AC") == 0 ? "" : note);
}

static void *worker(void *unused) {
    for (;;) {
        int mine;
        pthread_mutex_lock(&all.lock);
        mine = all.next < all.sub_count && !stopped ? all.next++ : -1;
        pthread_mutex_unlock(&all.lock);
        if (mine < 0) return unused;
        judge(&all.subs[mine]);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

static int live; /* stdout is a terminal that all of the table fits on */
static size_t columns = 500;

static const char *colour(const char *verdict) {
    if (!live) return "";
    if (verdict == NULL) return "\033[2m";
    if (strcmp(verdict, "AC") == 0) return "\033[32m";
    return strcmp(verdict, "--") == 0 ? "\033[36m" : "\033[31m";
}

/* At most so many columns of it; what is cut ends in two dots. */
static void print_cut(const char *text, size_t room) {
    size_t used = 0, cut = 0, i;

    for (i = 0; text[i]; i++) {
        if ((text[i] & 0xC0) == 0x80) continue; /* not the first byte of a character */
        if (used++ == room - 2) cut = i;
    }
    if (used <= room) printf("%s", text);
    else printf("%.*s..", (int)cut, text);
}

static void print_row(const submission *s) {
    char row[512], time[16] = "-", memory[16] = "-";

    if (s->time_us) snprintf(time, sizeof time, "%.0f ms", (double)s->time_us / 1e3);
    if (s->memory) snprintf(memory, sizeof memory, "%.1f MB", (double)s->memory / 1048576);
    snprintf(row, sizeof row, "%-16.16s %d/%-2d %8s %9s  %s", s->file, s->passed, all.test_count,
             time, memory, s->verdict ? s->note : s->doing);
    printf("%s%-3s%s ", colour(s->verdict), s->verdict ? s->verdict : "..", live ? "\033[0m" : "");
    print_cut(row, columns - 5);
    printf("%s\n", live ? "\033[K" : "");
}

static void print_table(void) {
    static int printed;
    int i;

    if (printed && live) printf("\033[%dA", all.sub_count + 2); /* up again, over the old one */
    printf("%s    %-16s %-4s %8s %9s%s\n", live ? "\033[1m" : "", "submission", "tests", "CPU time",
           "memory", live ? "\033[0m" : "");
    for (i = 0; i < all.sub_count; i++) print_row(&all.subs[i]);
    printf("%d of %d judged%s\n", all.done, all.sub_count, live ? "\033[K" : "");
    fflush(stdout);
    printed = 1;
}

static void look_at_terminal(void) {
    struct winsize size;
    if (!isatty(1) || ioctl(1, TIOCGWINSZ, &size) != 0) return;
    live = size.ws_row > all.sub_count + 3;
    if (size.ws_col > 20) columns = size.ws_col;
}

static void watch(void) {
    struct timespec pause = {0, 50000000};
    int shown = -1, left = all.sub_count;

    while (left > 0 && !stopped) {
        pthread_mutex_lock(&all.lock);
        left = all.sub_count - all.done;
        if (live && all.version != shown) print_table();
        shown = all.version;
        pthread_mutex_unlock(&all.lock);
        if (left > 0) nanosleep(&pause, NULL);
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

static const char page_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Judge</title>\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
    "body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 62em;"
    " padding: 0 1em; color: #222; background: #fff }\n"
    "table { border-collapse: collapse; width: 100% }\n"
    "td, th { padding: .35em .7em; text-align: left; border-bottom: 1px solid #ddd }\n"
    "td.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }\n"
    "td.note { color: #666; font-size: 13px; min-width: 16em }\n"
    "b { display: inline-block; min-width: 3em; text-align: center; border-radius: 4px;"
    " color: #fff; background: #b3261e }\n"
    "b.AC { background: #1b7f3b } b.no { background: #777 }\n"
    "svg { vertical-align: middle } rect { fill: #4a7dbd } rect.room { fill: #e4e9f0 }\n"
    "rect.full { fill: #b3261e }\n"
    "p.key { color: #666; font-size: 13px }\n"
    "</style></head><body>\n";

static const char page_foot[] =
    "</table>\n<p class=\"key\">AC accepted &#183; WA wrong answer &#183; TLE, MLE, OLE over the "
    "limit of time, memory, output &#183; RE ended with an error &#183; CE does not compile "
    "&#183; -- not judged</p>\n</body></html>\n";

static void html_text(FILE *to, const char *text) {
    for (; *text; text++) {
        if (*text == '<') fputs("&lt;", to);
        else if (*text == '>') fputs("&gt;", to);
        else if (*text == '&') fputs("&amp;", to);
        else if (*text == '"') fputs("&quot;", to);
        else fputc(*text, to);
    }
}

static void html_bar(FILE *to, double value, double most, const char *text) {
    double width = most > 0 ? 120 * value / most : 0;
    int full = width >= 120;
    fprintf(to,
            "<td class=\"n\">%s <svg width=\"120\" height=\"10\" aria-hidden=\"true\">"
            "<rect class=\"room\" width=\"120\" height=\"10\"/>"
            "<rect%s width=\"%.1f\" height=\"10\"/></svg></td>",
            text, full ? " class=\"full\"" : "", full ? 120 : width);
}

static void write_page(const char *path) {
    FILE *to = fopen(path, "w");
    char text[48];
    int i, accepted = 0;

    if (to == NULL) die(path, strerror(errno));
    for (i = 0; i < all.sub_count; i++)
        accepted += all.subs[i].verdict && strcmp(all.subs[i].verdict, "AC") == 0;
    fputs(page_head, to);
    fprintf(to,
            "<h1>%d of %d submissions accepted</h1>\n"
            "<p>%d tests. Limits: %lld ms of CPU time, %lld MB of memory,"
            " %lld KB of output; the bars show how much of it was used.</p>\n"
            "<table><tr><th></th><th>Submission</th><th>Tests</th><th>CPU time</th><th>Memory</th>"
            "<th></th></tr>\n",
            accepted, all.sub_count, all.test_count, all.limits.cpu_ms,
            all.limits.memory_bytes >> 20, all.limits.output_bytes >> 10);
    for (i = 0; i < all.sub_count; i++) {
        const submission *s = &all.subs[i];
        const char *verdict = s->verdict ? s->verdict : "--";
        fprintf(to, "<tr><td><b class=\"%s\">%s</b></td><td>",
                strcmp(verdict, "--") == 0 ? "no" : verdict, verdict);
        html_text(to, s->file);
        fprintf(to, "</td><td>%d/%d</td>", s->passed, all.test_count);
        snprintf(text, sizeof text, "%.0f ms", (double)s->time_us / 1e3);
        if (s->time_us == 0) text[0] = '\0';
        html_bar(to, (double)s->time_us, (double)all.limits.cpu_ms * 1e3, text);
        snprintf(text, sizeof text, "%.1f MB", (double)s->memory / 1048576);
        if (s->memory == 0) text[0] = '\0';
        html_bar(to, (double)s->memory, (double)all.limits.memory_bytes, text);
        fputs("<td class=\"note\">", to);
        html_text(to, s->note);
        fputs("</td></tr>\n", to);
    }
    fputs(page_foot, to);
    if (fclose(to) != 0) die(path, strerror(errno));
}

/* Under a policy a compiler or interpreter in somebody's home (pyenv, nvm, rustup) is not there, so
   that of the system is taken, if there is one. */
static void system_tools_first(void) {
    const char *path = getenv("PATH");
    char *longer = malloc((path ? strlen(path) : 0) + 40);

    if (longer == NULL) return;
    sprintf(longer, "/usr/local/bin:/usr/bin:/bin%s%s", path ? ":" : "", path ? path : "");
    setenv("PATH", longer, 1);
    free(longer);
}

int main(int argc, char **argv) {
    const char *folder = NULL, *page = NULL;
    long jobs = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t threads[64];
    int policy = 1, started = 0, trees = 0, i;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--jobs") == 0 && argv[i + 1] && whole_number(argv[i + 1]))
            jobs = (long)whole_number(argv[++i]);
        else if (strcmp(argv[i], "--read") == 0 && argv[i + 1] && trees < 16)
            all.read[trees++] = argv[++i];
        else if (strcmp(argv[i], "--html") == 0 && argv[i + 1]) page = argv[++i];
        else if (strcmp(argv[i], "--no-policy") == 0) policy = 0;
        else if (argv[i][0] != '-' && folder == NULL) folder = argv[i];
        else die(argv[i], usage);
    }
    if (folder == NULL) die("which folder?", usage);
    if (policy) system_tools_first();
    read_limits(folder, policy);
    read_tests(folder);
    read_submissions(folder);
    look_at_terminal();
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    while (started < jobs && started < 64 && started < all.sub_count &&
           pthread_create(&threads[started], NULL, worker, NULL) == 0)
        started++;
    if (started == 0) worker(NULL);
    watch();
    for (i = 0; i < started; i++) pthread_join(threads[i], NULL);
    print_table();
    if (page) write_page(page);
    free(all.tests);
    free(all.subs);
    return stopped ? 128 + stopped : 0;
}
