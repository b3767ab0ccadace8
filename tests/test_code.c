/* Source text instead of a program: sbx_run_code, sbx_build, sbx_discard, cfg.program and
   cfg.languages. Recipes of the tests' own stand in for compilers where only the order of things
   matters; they are shell lines. Which real languages are tried says SBX_TEST_LANGUAGES ("sh c" by
   default, `make check` names them all); a language that is named has to be there. Tools are taken
   from SBX_TEST_TOOLS first, if that is a directory.
   Every test has a TMPDIR of its own, which has to be empty at its end. */
#include "test.h"

#include <dirent.h>
#include <pthread.h>
#ifdef __linux__
#include <sched.h>
#include <sys/mount.h>
#endif

#ifdef SBX_NO_CODE

UTEST(code, without_the_wing_it_is_refused_by_name) {
    sbx_program program = {"x", NULL};
    sbx_config config = {0};
    sbx_result result;
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_run_code(&config, "sh", "exit 0", 6, &result));
    EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
    EXPECT_TRUE_MSG(strstr(result.message, "SBX_NO_CODE") != NULL, result.message);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_build(&config, "sh", "", 0, &program, &result));
    EXPECT_TRUE_MSG(strstr(result.message, "SBX_NO_CODE") != NULL, result.message);
    EXPECT_TRUE(program.dir == NULL);
    sbx_discard(&program);
}

#else

/* ==== A place for a test ====================================================================== */

typedef struct place {
    char dir[PATH_MAX], path[PATH_MAX];
    char *old_path, *old_tmpdir;
} place;

static char *copied(const char *text) { return text ? strdup(text) : NULL; }

static void set_or_clear(const char *name, char *value) {
    if (value) setenv(name, value, 1);
    else unsetenv(name);
    free(value);
}

/* The system's own tools first: others may be wrappers below somebody's home directory. */
static void enter(place *p) {
    const char *tools = getenv("SBX_TEST_TOOLS");
    p->old_path = copied(getenv("PATH"));
    p->old_tmpdir = copied(getenv("TMPDIR"));
    test_tmpdir(p->dir);
    snprintf(p->path, sizeof p->path, "%.500s%s/usr/bin:/bin:%.3000s", tools ? tools : "",
             tools ? ":" : "", p->old_path ? p->old_path : "");
    setenv("PATH", p->path, 1);
    setenv("TMPDIR", p->dir, 1);
}

/* What is in the directory, the number of it and one name; "" = nothing. */
static const char *left_in(const char *path) {
    const char *name = "";
    struct dirent *entry;
    DIR *dir = opendir(path);
    int count = 0;
    while (dir && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && ++count)
            name = test_text("%d left: %s", count, entry->d_name);
    if (dir) closedir(dir);
    return dir ? name : "the directory is gone";
}

static const char *leave(place *p) {
    const char *left = left_in(p->dir);
    set_or_clear("PATH", p->old_path);
    set_or_clear("TMPDIR", p->old_tmpdir);
    test_remove_tree(p->dir);
    return left;
}

/* sbx_run_code under the checks of test_run; "" = all is well. */
static const char *run_text(const sbx_config *config, const char *language, const char *code,
                            size_t size, sbx_result *result) {
    long blocks = test_live_blocks();
    sbx_verdict verdict;
    test_host before;
    const char *text;
    test_host_save(&before);
    alarm(400);
    verdict = sbx_run_code(config, language, code, size, result);
    alarm(0);
    if (*(text = test_host_diff(&before))) return text;
    if (verdict != result->verdict) return "another verdict is returned than stands in the result";
    if (test_live_blocks() > blocks + (result->out.size > 0) + (result->err.size > 0))
        return "blocks are still allocated";
    return test_result_flaw(config, result);
}

#define RUN_TEXT(config, language, code, result)                                                   \
    EXPECT_STREQ("", run_text((config), (language), (code), strlen(code), (result)))

static int has(const char *text, const char *part) { return strstr(text, part) != NULL; }
#define EXPECT_HAS(part, text) EXPECT_TRUE_MSG(has((text), (part)), (text))

/* ==== Recipes: the text is a shell script, and so is the compiler ============================= */

#define SCRIPT(lines)                                                                              \
    { "sh", "-c", lines, NULL }

static const char *const run_script[] = {"sh", "{program}", NULL};
static const char *const build_copy[] = {"cp", "{file}", "{program}", NULL};
static const char *const build_never[] = SCRIPT("echo reading; sleep 600");
static const char *const build_slow[] = SCRIPT("sleep 0.4; cp {file} {program}");
static const char *const build_wordy[] =
    SCRIPT("printf %600s x; printf %50s y >&2; cp {file} {program}");
static const char *const build_broken[] = SCRIPT("echo 'main.scr:1: no' >&2; echo seen; exit 7");
static const char *const build_nothing[] = {"true", NULL};
static const char *const run_made[] = {"{program}", NULL};
static const char *const build_limits[] =
    SCRIPT("(echo built; ulimit -v; ulimit -n; ulimit -f; env) >limits; cp {file} {program}");
static const char *const build_asks[] = SCRIPT("unshare -m true 2>/dev/null; cp {file} {program}");
static const char *const build_whose[] = SCRIPT("(id -u; id -g) >who; cp {file} {program}");
static const char *const build_outside[] =
    SCRIPT("echo x >inside || exit 11; echo x >\"$(sed -n s/^#//p {file})/mark\" && exit 12; "
           "cp {file} {program}");

static const sbx_language recipes[] = {{"copy cp", "main.scr", build_copy, run_script},
                                       {"never", "main.scr", build_never, run_script},
                                       {"slow", "main.scr", build_slow, run_script},
                                       {"wordy", "main.scr", build_wordy, run_script},
                                       {"broken", "main.scr", build_broken, run_script},
                                       {"nothing", "main.scr", build_nothing, run_made},
                                       {"limits", "main.scr", build_limits, run_script},
                                       {"outside", "main.scr", build_outside, run_script},
                                       {"asks", "main.scr", build_asks, run_script},
                                       {"whose", "main.scr", build_whose, run_script},
                                       {NULL, NULL, NULL, NULL}};

/* ==== What the older systems did ============================================================== */

UTEST(seed, A1_language_code_stdin_limits_and_environment) {
    const char *env[] = {"ONE=1", "PATH=/usr/bin:/bin", NULL}, *args[] = {"a b", "c", NULL};
    sbx_config config = {0};
    sbx_result result;
    place p;
    enter(&p);
    config.env = env;
    config.argv = args;
    config.input = "line\n";
    config.input_size = 5;
    config.user = &p;
    RUN_TEXT(&config, "sh", "read x; echo \"$x $ONE $# $1 $HOME\"; echo e >&2; exit 3", &result);
    EXPECT_VERDICT(SBX_EXITED, result);
    EXPECT_EQ(3, result.exit_code);
    EXPECT_STREQ("line 1 2 a b \n", result.out.data);
    EXPECT_STREQ("e\n", result.err.data);
    EXPECT_EQ((int)SBX_STEP_NONE, (int)result.step);
    sbx_free(&result);

    config.timeout_ms = SHORT_MS;
    RUN_TEXT(&config, "Shell", "while :; do :; done", &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_HAS("50 ms", result.message);
    sbx_free(&result);
    EXPECT_STREQ("", leave(&p));
}

UTEST(seed, A3_compiled_and_run_and_diagnostics_if_not) {
    sbx_config config = {0};
    sbx_result result;
    place p;
    enter(&p);
    config.timeout_ms = 60000;
    RUN_TEXT(&config, "c", "#include <stdio.h>\nint main(void) { puts(\"made\"); return 4; }",
             &result);
    EXPECT_VERDICT(SBX_EXITED, result);
    EXPECT_EQ(4, result.exit_code);
    EXPECT_STREQ("made\n", result.out.data);
    EXPECT_GT(result.user_us + result.system_us, 1000LL); /* the compiler's, too */
    sbx_free(&result);

    RUN_TEXT(&config, "c", "int main(void) { return nowhere; }", &result);
    EXPECT_VERDICT(SBX_EXITED, result);
    EXPECT_EQ((int)SBX_STEP_BUILD, (int)result.step);
    EXPECT_EQ(1, result.exit_code);
    EXPECT_HAS("build", result.message);
    EXPECT_HAS("main.c:1:", result.err.data);
    EXPECT_HAS("nowhere", result.err.data);
    EXPECT_FALSE(has(result.err.data, p.dir)); /* the file has a name that people know */
    sbx_free(&result);
    EXPECT_STREQ("", leave(&p));
}

UTEST(seed, A3_one_deadline_over_build_and_run) {
    sbx_config config = {0};
    sbx_result result;
    const char *limit;
    place p;
    enter(&p);
    config.languages = recipes;
    config.timeout_ms = 1000;
    config.grace_ms = SBX_UNLIMITED;
    do { /* until the build ends in time */
        RUN_TEXT(&config, "slow", "echo ready; sleep 600", &result);
        EXPECT_VERDICT(SBX_TIMED_OUT, result);
        if (result.step == SBX_STEP_NONE || config.timeout_ms > 60000) break;
        config.timeout_ms *= 2;
        sbx_free(&result);
    } while (1);
    EXPECT_EQ((int)SBX_STEP_NONE, (int)result.step);
    limit = strstr(result.message, "past its ");
    ASSERT_TRUE_MSG(limit != NULL, result.message);
    EXPECT_LE(atoll(limit + 9), config.timeout_ms - 400); /* what the build has left */
    EXPECT_HAS(test_text("of %lld ms", config.timeout_ms), result.message);
    EXPECT_GE(result.wall_us, config.timeout_ms * 1000);
    sbx_free(&result);

    config.timeout_ms = 200;
    RUN_TEXT(&config, "never", "echo never", &result);
    EXPECT_VERDICT(SBX_TIMED_OUT, result);
    EXPECT_EQ((int)SBX_STEP_BUILD, (int)result.step);
    EXPECT_HAS("build", result.message);
    EXPECT_HAS("200 ms", result.message);
    sbx_free(&result);
    EXPECT_STREQ("", leave(&p));
}

UTEST(seed, A3_output_and_cpu_time_are_not_given_twice) {
    static const char *const burn[] =
        SCRIPT("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; cp {file} {program}");
    const sbx_language own[] = {{"burn", "main.scr", burn, run_script}, {NULL, NULL, NULL, NULL}};
    sbx_config config = {0};
    sbx_result result;
    sbx_program program;
    long long cpu;
    place p;
    enter(&p);
    config.languages = recipes;
    config.output_bytes = 1000;
    RUN_TEXT(&config, "wordy", "printf %350s z", &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ(350u, result.out.size);
    sbx_free(&result);
    RUN_TEXT(&config, "wordy", "printf %351s z", &result);
    EXPECT_VERDICT(SBX_OUTPUT_LIMIT, result);
    EXPECT_EQ(350u, result.out.size);
    sbx_free(&result);
    config.output_bytes = 640;
    RUN_TEXT(&config, "wordy", "exit 0", &result);
    EXPECT_VERDICT(SBX_OUTPUT_LIMIT, result);
    EXPECT_EQ((int)SBX_STEP_BUILD, (int)result.step);
    sbx_free(&result);

    config.output_bytes = 0;
    config.languages = own;
    EXPECT_EQ((int)SBX_OK, (int)sbx_build(&config, "burn", "exit 0", 6, &program, &result));
    cpu = result.user_us + result.system_us;
    sbx_free(&result);
    sbx_discard(&program);
    RUN_TEXT(&config, "burn", "exit 0", &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_GT(result.user_us + result.system_us, cpu / 3); /* the build's is in it */
    sbx_free(&result);
    config.cpu_ms = cpu / 3 / 1000 + 1;
    config.timeout_ms = 60000;
    RUN_TEXT(&config, "burn", "while :; do :; done", &result);
    EXPECT_TRUE_MSG(result.verdict == SBX_CPU_LIMIT, result.message);
    sbx_free(&result);
    EXPECT_STREQ("", leave(&p));
}

UTEST(seed, A4_javascript_and_python_run_as_what_they_are) {
    static const struct {
        const char *tool, *language, *code, *out;
    } rows[] = {{"/usr/bin/python3", "py", "print(6 * 7)", "42\n"},
                {"/usr/bin/node", "js", "console.log([6 * 7].map(x => x + 1))", "[ 43 ]\n"}};
    sbx_config config = {0};
    sbx_result result;
    size_t i, tried = 0;
    place p;
    enter(&p);
    config.timeout_ms = 60000;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (access(rows[i].tool, X_OK) != 0) continue;
        tried++;
        RUN_TEXT(&config, rows[i].language, rows[i].code, &result);
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_STREQ(rows[i].out, result.out.data);
        sbx_free(&result);
    }
    EXPECT_STREQ("", leave(&p));
    if (!tried) UTEST_SKIP("neither python3 nor node in /usr/bin");
}

/* Stand-ins: each says who it is and what it was told. */
static void put_tool(const char *dir, const char *name, const char *lines) {
    const char *text = test_text("#!/bin/sh\n%s\necho \"%s $*\"\n", lines, name);
    test_write_file(dir, name, text, strlen(text), 0755);
}

UTEST(seed, A4_typescript_is_never_run_as_javascript) {
    static const char code[] = "let x: number = 1";
    char tools[PATH_MAX];
    sbx_config config = {0};
    sbx_result result;
    place p;
    test_tmpdir(tools);
    enter(&p);
    setenv("PATH", tools, 1);
    RUN_TEXT(&config, "typescript", code, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
    EXPECT_HAS("'node' was not found on PATH: install Node.js 22.6", result.message);
    EXPECT_HAS("deno", result.message);
    sbx_free(&result);

    put_tool(tools, "node", "case \"$*\" in *strip*) exit 9 ;; esac");
    RUN_TEXT(&config, "ts", code, &result); /* too old */
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_HAS("Node.js 22.6", result.message);
    sbx_free(&result);

    put_tool(tools, "tsx", "");
    RUN_TEXT(&config, "ts", code, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_HAS("tsx /", result.out.data);
    EXPECT_HAS("/main.ts\n", result.out.data);
    sbx_free(&result);
    put_tool(tools, "deno", "");
    RUN_TEXT(&config, "ts", code, &result);
    EXPECT_HAS("deno run", result.out.data);
    sbx_free(&result);

    put_tool(tools, "node", "case \"$*\" in *--experimental*) exit 9 ;; esac");
    RUN_TEXT(&config, "ts", code, &result); /* one that does it by itself */
    EXPECT_HAS("node /", result.out.data);
    sbx_free(&result);
    put_tool(tools, "node", "");
    RUN_TEXT(&config, "ts", code, &result);
    EXPECT_HAS("node --experimental-strip-types", result.out.data);
    sbx_free(&result);
    EXPECT_STREQ("", leave(&p));
    test_remove_tree(tools);
}

/* ==== The recipes, word by word ============================================================== */

/* Stand-ins that note how they were called, in one file beside them: paths by their last part, the
   directory of the text as DIR. Who is told -o makes a program. */
static void put_noting_tool(const char *dir, const char *name) {
    static const char lines[] = "#!/bin/sh\nline=${0##*/} out=\nwhile [ $# -gt 0 ]; do\n"
                                "word=${1##*/}; case $word in sbx-*) word=DIR ;; esac\n"
                                "[ \"$1\" = -o ] && out=$2\nline=\"$line $word\"; shift\ndone\n"
                                "echo \"$line\" >>\"${0%/*}/log\"\n[ -z \"$out\" ] || {\n"
                                "echo '#!/bin/sh' >\"$out\"; /bin/chmod 755 \"$out\"; }\n";
    test_write_file(dir, name, lines, sizeof lines - 1, 0755);
}

/* What they noted when only these tools were there. */
static const char *noted(const char *tools, const char *language, const char *code) {
    char names[80], *name, *next = names, dir[PATH_MAX], *old_path = copied(getenv("PATH"));
    static char text[1000];
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    ssize_t n;
    int fd;
    test_tmpdir(dir);
    snprintf(names, sizeof names, "%s", tools);
    for (name = strtok_r(next, " ", &next); name; name = strtok_r(NULL, " ", &next))
        put_noting_tool(dir, name);
    setenv("PATH", dir, 1);
    flaw = run_text(&config, language, code, strlen(code), &result);
    set_or_clear("PATH", old_path);
    fd = open(test_text("%s/log", dir), O_RDONLY);
    n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    text[n > 0 ? n : 0] = 0;
    if (fd >= 0) close(fd);
    if (!*flaw && result.verdict != SBX_OK) flaw = test_text("%s", result.message);
    if (*flaw) snprintf(text, sizeof text, "%s", flaw);
    sbx_free(&result);
    test_remove_tree(dir);
    return text;
}

UTEST(code, recipes_call_their_tools_by_these_words) {
    static const char c_rest[] = "-w -o program main.c -lm -pthread";
    static const char cpp_rest[] = "-w -o program main.cpp -lm -pthread";
    static const struct {
        const char *names, *tools, *line, *rest;
    } rows[] = {
        {"python py python3", "python3", "python3 -u", "main.py"},
        {"javascript js node", "node", "node", "main.js"},
        {"typescript ts", "deno bun tsx", "deno run --quiet --no-prompt --no-config --no-lock",
         "--allow-all main.ts"},
        {"typescript ts", "bun tsx", "bun run", "main.ts"},
        {"typescript ts", "tsx", "tsx", "main.ts"},
        {"rust rs", "rustc", "rustc --edition=2021 --cap-lints=allow", "-o program main.rs"},
        {"c", "cc gcc clang", "cc", c_rest},
        {"c", "gcc clang", "gcc", c_rest},
        {"c", "clang", "clang", c_rest},
        {"c++ cpp cxx", "c++ g++ clang++", "c++", cpp_rest},
        {"c++ cpp cxx", "g++ clang++", "g++", cpp_rest},
        {"c++ cpp cxx", "clang++", "clang++", cpp_rest},
        {"go golang", "go", "go build", "-o program main.go"},
        {"sh shell", "sh bash", "sh", "main.sh"},
        {"bash", "sh bash", "bash", "main.sh"},
        {"perl pl", "perl", "perl", "main.pl"},
        {"ruby rb", "ruby", "ruby -EUTF-8", "main.rb"},
        {"lua", "lua", "lua", "main.lua"},
        {"java", "javac java",
         "javac -J-XX:-UsePerfData -J-Xmx512m -encoding UTF-8 -nowarn -proc:none -d DIR Main.java\n"
         "java -XX:-UsePerfData -XX:+UseSerialGC -Dfile.encoding=UTF-8",
         "-Dstdout.encoding=UTF-8 -Dstderr.encoding=UTF-8 -cp DIR Main"}};
    size_t i;
    place p;
    enter(&p);
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char names[40], *name, *next = names;
        snprintf(names, sizeof names, "%s", rows[i].names);
        for (name = strtok_r(next, " ", &next); name; name = strtok_r(NULL, " ", &next))
            EXPECT_STREQ_MSG(test_text("%s %s\n", rows[i].line, rows[i].rest),
                             noted(rows[i].tools, name, ""), name);
    }
    EXPECT_STREQ("", leave(&p));
}

/* A name on PATH is no tool yet: of the compilers the first is taken that can be run. */
UTEST(code, a_tool_that_cannot_be_run_is_passed_over) {
    char dir[PATH_MAX], text[200] = "";
    sbx_config config = {0};
    sbx_result result;
    int fd;
    place p;
    enter(&p);
    test_tmpdir(dir);
    test_write_file(dir, "cc", "x", 1, 0644);
    ASSERT_EQ(0, mkdir(test_text("%s/gcc", dir), 0755));
    put_noting_tool(dir, "clang");
    setenv("PATH", dir, 1);
    RUN_TEXT(&config, "c", "", &result);
    EXPECT_VERDICT(SBX_OK, result);
    sbx_free(&result);
    fd = open(test_text("%s/log", dir), O_RDONLY);
    EXPECT_TRUE(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    if (fd >= 0) close(fd);
    EXPECT_STREQ("clang -w -o program main.c -lm -pthread\n", text);
    test_remove_tree(dir);
    EXPECT_STREQ("", leave(&p));
}

/* A host without PATH, and one whose TMPDIR says nothing. */
UTEST(code, path_and_tmpdir_have_defaults) {
    sbx_config config = {0};
    sbx_result result;
    place p;
    enter(&p);
    unsetenv("PATH");
    RUN_TEXT(&config, "sh", "exit 4", &result);
    EXPECT_EQ_MSG(4, result.exit_code, result.message);
    sbx_free(&result);
    setenv("TMPDIR", "", 1);
    RUN_TEXT(&config, "sh", "echo \"$0\"; exit 5", &result);
    EXPECT_EQ_MSG(5, result.exit_code, result.message);
    EXPECT_HAS("/sbx-", result.out.data);
    EXPECT_EQ(
        -1, access(test_text("%.*s", (int)strcspn(result.out.data, "\n"), result.out.data), F_OK));
    sbx_free(&result);
    EXPECT_STREQ("", leave(&p));
}

/* Which file a Java text is saved as, and which class is run: see also java_names. */
static const struct java_text {
    const char *file, *type, *code;
} java_texts[] = {
    {"A", "A", "class A { static public void main(String[] a) { System.out.println(\"yes\"); } }"},
    {"B", "B",
     "class A {}\nclass B { public static void main(String[] a) { System.out.println(\"yes\"); "
     "} }"
     "\nclass C {}"},
    {"A", "B",
     "public class A { int main; void f() { Object o = A.class; } }\n"
     "class B { public static void main(String[] a) { System.out.println(\"yes\"); } }"},
    {"Yes$1_x", "a.b.c.Yes$1_x",
     "// public class No\n/* public class No */ package a.b . c;\nimport java.util.*;\n"
     "@Deprecated(since = \"public class No {\")\npublic strictfp class Yes$1_x {\n"
     "static String s = \"\\\"} public class No {\"; static char c = '{', d = '\\'';\n"
     "static class No { void main(int x) {} }\n"
     "public static void main(String[] a) { System.out.println(\"yes\"); } }"},
    {"E", "E",
     "interface I { default void f() {} }\n"
     "public enum E { X { public String toString() { return \"yes\"; } };\n"
     "public static void main(final String[] a) { System.out.println(X); } }"},
    {"R", "R",
     "record P(int x, int y) {}\npublic record R(String s) {\n"
     "String t() { return \"\"\"\n} public class \"No\" { \\\"\"\"\n\"\"\"; }\n"
     "public static void main(String[] a) { System.out.println(\"yes\"); } }"},
    {"I", "I",
     "public interface I { static void main(String[] a) { System.out.println(\"yes\"); } }"}};

UTEST(code, java_is_saved_and_run_under_its_own_names) {
    static const struct java_text more[] = {
        {"Main", "Main", ""},
        {"Main", "Main", "void main() {}"},
        {"First", "First", "class First {} class Second {}"},
        {"Yes", "Yes",
         "public class Yes { public static void main(String[] a) {} }\n"
         "/* public class No { void main() {} } */\n// public class No {}\n"},
        {"Yes", "Yes",
         "public class Yes { String s = \"}\"; char c = '}';\n"
         "public static void main(String[] a) {} }\nclass No { void main() {} }"}};
    size_t i, count = sizeof java_texts / sizeof java_texts[0];
    place p;
    enter(&p);
    for (i = 0; i < count + sizeof more / sizeof more[0]; i++) {
        const struct java_text *it = i < count ? &java_texts[i] : &more[i - count];
        const char *got = noted("javac java", "java", it->code);
        EXPECT_STREQ_MSG("", test_lacks(got, test_text(" -d DIR %s.java\n", it->file)), it->code);
        EXPECT_STREQ_MSG("", test_lacks(got, test_text(" -cp DIR %s\n", it->type)), it->code);
    }
    EXPECT_STREQ("", leave(&p));
}

UTEST(seed, A6_an_unknown_language_lists_the_known_ones) {
    static const char *const known[] = {"copy", "python", "javascript", "typescript", "rust",
                                        "c,",   "c++",    "go",         "java",       "sh",
                                        "bash", "perl",   "ruby",       "lua"};
    static const char *const wrong[] = {"wasm", "", "pytho", "python ", "py,", "c c++", " "};
    sbx_config config = {0};
    sbx_result result;
    size_t i;
    place p;
    enter(&p);
    config.languages = recipes;
    for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        RUN_TEXT(&config, wrong[i], "x", &result);
        EXPECT_VERDICT(SBX_NOT_STARTED, result);
        EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
        EXPECT_HAS(test_text("\"%s\"", wrong[i]), result.message);
        sbx_free(&result);
    }
    config.languages = NULL;
    RUN_TEXT(&config, "wasm", "x", &result);
    for (i = 1; i < sizeof known / sizeof known[0]; i++) EXPECT_HAS(known[i], result.message);
    sbx_free(&result);
    EXPECT_STREQ("", leave(&p));
}

UTEST(seed, A7_recipes_of_the_caller) {
    static const char *const missing[] = {"no-such-tool-here", "{file}", NULL};
    static const char *const told[] = {"echo", "{dir}|{file}|{program}|x{file}{nothing}{", NULL};
    const sbx_language own[] = {
        {"python py", "own.txt", NULL, told}, {"go", "main.go", missing, run_made},
        {"ruby", "main.rb", NULL, missing},   {"bad", "a/b", NULL, told},
        {"worse", NULL, NULL, told},          {"worst", "x", NULL, NULL},
        {"hidden", ".x", NULL, told},         {"option", "-x", NULL, told},
        {"above", "..", NULL, told},          {NULL, NULL, NULL, NULL}};
    static const char *const bad[] = {"bad", "worse", "worst", "hidden", "option", "above"};
    sbx_config config = {0};
    sbx_result result;
    char dir[PATH_MAX] = "";
    size_t i;
    place p;
    enter(&p);
    config.languages = own;
    RUN_TEXT(&config, "PY", "", &result);
    EXPECT_VERDICT(SBX_OK, result);
    sscanf(result.out.data, "%[^|]", dir);
    EXPECT_STREQ(test_text("%s|%s/own.txt|%s/program|x%s/own.txt{nothing}{\n", dir, dir, dir, dir),
                 result.out.data);
    EXPECT_EQ(0, strncmp(dir, p.dir, strlen(p.dir)));
    sbx_free(&result);
    for (i = 0; i < 2; i++) { /* the built-in ones do not step in */
        RUN_TEXT(&config, i ? "go" : "ruby", "", &result);
        EXPECT_VERDICT(SBX_NOT_STARTED, result);
        EXPECT_HAS("'no-such-tool-here'", result.message);
        sbx_free(&result);
    }
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        RUN_TEXT(&config, bad[i], "", &result);
        EXPECT_VERDICT(SBX_NOT_STARTED, result);
        EXPECT_EQ((int)SBX_STEP_CONFIG, (int)result.step);
        EXPECT_HAS(test_text("languages[%d].", (int)i + 3), result.message);
        sbx_free(&result);
    }
    EXPECT_STREQ("", leave(&p));
}

static int cancel_at_once(void *user, sbx_stream stream, const char *data, size_t size) {
    (void)user, (void)stream, (void)data, (void)size;
    return 1;
}

UTEST(seed, A21_the_directory_is_gone_on_every_path) {
    static const struct {
        const char *language, *code;
        sbx_verdict verdict;
    } rows[] = {{"sh", "exit 0", SBX_OK},
                {"sh", "exit 5", SBX_EXITED},
                {"sh", "kill -9 $$", SBX_CRASHED},
                {"sh", "while :; do :; done", SBX_TIMED_OUT},
                {"sh", "echo now; sleep 600", SBX_CANCELLED},
                {"sh", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxx; done", SBX_OUTPUT_LIMIT},
                {"never", "", SBX_TIMED_OUT},
                {"broken", "", SBX_EXITED},
                {"nothing", "", SBX_NOT_STARTED},
                {"copy", "exit 6", SBX_EXITED}};
    sbx_result result;
    long n = 0, count, blocks = test_live_blocks();
    size_t i;
    place p;
    enter(&p);
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sbx_config config = {0};
        config.languages = recipes;
        config.grace_ms = SBX_UNLIMITED;
        if (rows[i].verdict == SBX_TIMED_OUT) config.timeout_ms = SHORT_MS;
        if (rows[i].verdict == SBX_CANCELLED) config.on_output = cancel_at_once;
        RUN_TEXT(&config, rows[i].language, rows[i].code, &result);
        EXPECT_VERDICT(rows[i].verdict, result);
        EXPECT_STREQ("", left_in(p.dir));
        sbx_free(&result);
    }
    do { /* no memory, at every place */
        sbx_config config = {0};
        config.languages = recipes;
        test_fail_allocation(++n);
        sbx_run_code(&config, "wordy", "echo hello", 10, &result);
        count = test_allocations();
        test_fail_allocation(0);
        sbx_free(&result);
        EXPECT_STREQ("", left_in(p.dir));
    } while (count >= n && n < 1000);
    EXPECT_GT(n, 8L);
    EXPECT_EQ(blocks, test_live_blocks());
    EXPECT_STREQ("", leave(&p));
}

/* ==== Attack 36: what cannot be removed easily ================================================ */

UTEST(attack, a36_a_directory_that_is_hard_to_remove) {
    static const char code[] =
        "d=$(dirname \"$0\"); cd \"$d\" || exit 1\n"
        "mkdir -p locked/in/side && echo x >locked/in/side/file\n"
        "ln -s ../../../../.. locked/up; ln -s \"$1\" out; ln -s out .out\n"
        "mkdir sbx-1 sbx-2 && echo x >sbx-1/x && echo x >sbx-2/y\n"
        "p=deep-deep; i=0; while [ $i -lt 300 ]; do p=$p/deep; i=$((i+1)); done\n"
        "mkdir -p $p && ln -s \"$1\" $p/out && echo x >$p/file || exit 1\n"
        "mkdir many && cd many\n"
        "i=0; while [ $i -lt $2 ]; do : >file-$i; i=$((i+1)); done; cd ..\n"
        "mkfifo pipe; echo x >'a\n\"name'; echo x >-rf; mkdir '*'\n"
        "chmod 000 locked/in/side locked/in locked many $p deep-deep\n"
        "chmod 000 . ; echo done\n";
    const char *many = getenv("SBX_TEST_LANGUAGES") ? "100000" : "500";
    char precious[PATH_MAX];
    const char *args[] = {precious, many, NULL};
    sbx_config config = {0};
    sbx_result result;
    struct stat before, after;
    place p;
    enter(&p);
    test_tmpdir(precious);
    test_write_file(precious, "file", "x", 1, 0640);
    stat(precious, &before);
    config.argv = args;
    config.timeout_ms = 300000;
    RUN_TEXT(&config, "sh", code, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_STREQ("done\n", result.out.data);
    EXPECT_FALSE_MSG(has(result.message, "removed"), result.message);
    sbx_free(&result);
    stat(precious, &after);
    EXPECT_EQ((int)before.st_mode, (int)after.st_mode);
    EXPECT_STREQ("1 left: file", left_in(precious));
    test_remove_tree(precious);
    EXPECT_STREQ("", leave(&p));
}

/* A process that got away goes on writing; the group does not hold it. */
UTEST(attack, a36_a_survivor_goes_on_writing) {
    static const char code[] = "cd \"$(dirname \"$0\")\" || exit 1; export T=\"$1\"; mkdir sub\n"
                               "setsid sh -c 'exec 4>\"$T\"; echo here >&4; n=0\n"
                               "while [ -e \"$T\" ] && [ $n -lt 300000 ]; do n=$((n+1))\n"
                               "echo x >>file; echo x >sub/$n; done' >/dev/null 2>&1 &\n"
                               "until [ -s sub/9 ]; do sleep 0.01; done; echo ready";
    const char *args[] = {NULL, NULL};
    test_tether tether;
    sbx_config config = {0};
    sbx_result result;
    place p;
    if (access("/usr/bin/setsid", X_OK) != 0) UTEST_SKIP("no setsid here");
    ASSERT_TRUE(test_tether_open(&tether));
    enter(&p);
    args[0] = tether.path;
    config.argv = args;
    config.contain = SBX_CONTAIN_GROUP;
    config.timeout_ms = 20000;
    sbx_run_code(&config, "sh", code, strlen(code), &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_STREQ("ready\n", result.out.data);
    EXPECT_FALSE_MSG(has(result.message, "removed"), result.message);
    EXPECT_STREQ("", left_in(p.dir));
    EXPECT_TRUE(test_tether_held(&tether));
    sbx_free(&result);
    EXPECT_TRUE(test_tether_close(&tether));
    EXPECT_STREQ("", leave(&p));
}

/* Something else has taken its place: that is not touched, and the message says what stays. */
UTEST(attack, a36_what_stays_is_named) {
    static const char *const codes[] = {
        "d=$(dirname \"$0\"); mv \"$d\" \"$d.old\" && ln -s \"$1\" \"$d\"",
        "d=$(dirname \"$0\"); mv \"$d\" \"$d.old\" && mv \"$1\" \"$d\""};
    size_t i;
    for (i = 0; i < 2; i++) {
        char precious[PATH_MAX];
        const char *args[] = {precious, NULL};
        sbx_config config = {0};
        sbx_result result;
        place p;
        test_tmpdir(precious);
        test_write_file(precious, "file", "x", 1, 0640);
        enter(&p);
        config.argv = args;
        sbx_run_code(&config, "sh", codes[i], strlen(codes[i]), &result);
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_HAS(test_text("; its directory %s/sbx-", p.dir), result.message);
        EXPECT_HAS("could not be removed", result.message);
        EXPECT_HAS("2 left: ", left_in(p.dir));
        if (i == 0) EXPECT_STREQ("1 left: file", left_in(precious));
        sbx_free(&result);
        test_remove_tree(precious);
        leave(&p);
    }
}

/* In a group the policy denies chmod, which a linker needs to make a program of what it wrote. */
UTEST(code, c_is_built_under_a_policy_in_a_group) {
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    sbx_caps caps;
    place p;
    if (!test_has_policy()) UTEST_SKIP("no policy there");
    sbx_probe(&caps);
    if (!caps.group_policy) UTEST_SKIP("no policy in a group here");
    enter(&p);
    config.policy = &policy;
    config.contain = SBX_CONTAIN_GROUP;
    config.timeout_ms = 60000;
    EXPECT_STREQ("", run_text(&config, "c", "int main(void) { return 7; }\n", 29, &result));
    if (result.sys_errno == ENOENT) UTEST_SKIP("no compiler here");
    EXPECT_VERDICT(SBX_EXITED, result);
    EXPECT_EQ(7, result.exit_code);
    sbx_free(&result);
    leave(&p);
}

/* ==== The text ================================================================================ */

UTEST(code, bytes_are_saved_as_they_are) {
    static const char *const size_of[] = {"sh", "-c", "wc -c <{file}; cksum <{file}", NULL};
    const sbx_language own[] = {{"size", "text", NULL, size_of}, {NULL, NULL, NULL, NULL}};
    size_t big = 10 * 1024 * 1024 + 1, i;
    char *text = (char *)malloc(big);
    sbx_config config = {0};
    sbx_result result;
    place p;
    enter(&p);
    config.languages = own;
    ASSERT_TRUE(text != NULL);
    for (i = 0; i < big; i++) text[i] = test_pattern(i);

    EXPECT_STREQ("", run_text(&config, "size", NULL, 0, &result));
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_EQ(0, atoi(result.out.data));
    sbx_free(&result);
    EXPECT_STREQ("", run_text(&config, "size", "a\0b\n\0\xff", 6, &result));
    EXPECT_STREQ("6\n1786284139 6\n", result.out.data);
    sbx_free(&result);
    EXPECT_STREQ("", run_text(&config, "size", text, big, &result));
    EXPECT_EQ((long long)big, atoll(result.out.data));
    sbx_free(&result);

    EXPECT_STREQ("", run_text(&config, "sh", "", 0, &result));
    EXPECT_VERDICT(SBX_OK, result);
    sbx_free(&result);
    EXPECT_STREQ("", run_text(&config, "c", "", 0, &result)); /* it has no main */
    EXPECT_VERDICT(SBX_EXITED, result);
    EXPECT_EQ((int)SBX_STEP_BUILD, (int)result.step);
    sbx_free(&result);
    memset(text, '#', big);
    EXPECT_STREQ("", run_text(&config, "sh", text, big, &result));
    EXPECT_VERDICT(SBX_OK, result);
    sbx_free(&result);
    free(text);
    EXPECT_STREQ("", leave(&p));
}

static const char *past_the_hosts_file_limit(void *arg) {
    struct rlimit limit = {1000, 1000};
    sbx_config config = {0};
    sbx_result result;
    static char text[2000];
    place p;
    (void)arg;
    enter(&p);
    memset(text, '#', sizeof text);
    setrlimit(RLIMIT_FSIZE, &limit);
    sbx_run_code(&config, "sh", text, sizeof text, &result);
    TEST_MUST(result.verdict == SBX_NOT_STARTED);
    TEST_MUST(result.step == SBX_STEP_IO && result.sys_errno == EFBIG);
    sbx_free(&result);
    return leave(&p);
}

UTEST(code, a_text_past_the_hosts_own_file_limit_is_refused) {
    EXPECT_STREQ("", test_in_copy(past_the_hosts_file_limit, NULL));
}

/* ==== What is refused ========================================================================= */

UTEST(code, wrong_arguments_are_refused_before_anything_is_built) {
    static const char *const marks[] = SCRIPT("echo x >../mark; cp {file} {program}");
    const sbx_language own[] = {{"mark", "x", marks, run_script}, {NULL, NULL, NULL, NULL}};
    sbx_program program = {0};
    sbx_config config = {0};
    sbx_result result;
    int i;
    place p;
    enter(&p);
    for (i = 0; i < 9; i++) {
        const char *language = "mark", *code = "exit 0", *want = "";
        memset(&config, 0, sizeof config);
        config.languages = own;
        switch (i) {
        case 0: config.command = want = "command"; break;
        case 1: config.program = &program, want = "program"; break;
        case 2: language = NULL, want = "language"; break;
        case 3: code = NULL, want = "code"; break;
        case 4: config.timeout_ms = -5, want = "timeout_ms = -5"; break;
        case 5: config.memory_bytes = -7, want = "memory_bytes = -7"; break;
        case 6: config.cwd = "/no/such", want = "/no/such"; break;
        case 7: config.in = SBX_FD, config.in_fd = 999, want = "in_fd = 999"; break;
        default: config.in = SBX_PIPE, want = "SBX_PIPE"; break;
        }
        EXPECT_STREQ("", run_text(&config, language, code, 6, &result));
        EXPECT_VERDICT(SBX_NOT_STARTED, result);
        EXPECT_HAS(want, result.message);
        sbx_free(&result);
    }
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_run_code(NULL, "sh", "", 0, &result));
    config.user = &config;
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_build(&config, "sh", "", 0, NULL, &result));
    EXPECT_HAS("program = NULL", result.message);
    EXPECT_TRUE(result.user == &config);
    memset(&config, 0, sizeof config);
    EXPECT_EQ((int)SBX_EXITED, (int)sbx_run_code(&config, "sh", "exit 3", 6, NULL));
    config.program = &program;
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_run(&config, &result)); /* discarded, or never made */
    EXPECT_HAS("program", result.message);
    EXPECT_STREQ("", leave(&p));
}

UTEST(code, a_missing_tool_is_named_with_what_to_install) {
    static const struct {
        const char *language, *tool, *install;
    } rows[] = {{"python", "'python3'", "Python 3"}, {"js", "'node'", "Node.js"},
                {"rust", "'rustc'", "Rust"},         {"c", "'cc'", "C compiler"},
                {"c++", "'c++'", "C++ compiler"},    {"go", "'go'", "Go"},
                {"java", "'javac'", "JDK"},          {"perl", "'perl'", "Perl"},
                {"ruby", "'ruby'", "Ruby"},          {"lua", "'lua'", "Lua"},
                {"bash", "'bash'", "bash"}};
    sbx_config config = {0};
    sbx_result result;
    size_t i;
    place p;
    enter(&p);
    setenv("PATH", p.dir, 1);
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        RUN_TEXT(&config, rows[i].language, "x", &result);
        EXPECT_VERDICT(SBX_NOT_STARTED, result);
        EXPECT_EQ((int)SBX_STEP_EXEC, (int)result.step);
        EXPECT_EQ(ENOENT, result.sys_errno);
        EXPECT_HAS(rows[i].tool, result.message);
        EXPECT_HAS(test_text("install %s", rows[i].install[0] == 'C' ? "a C" : ""), result.message);
        EXPECT_HAS(rows[i].install, result.message);
        sbx_free(&result);
    }
    EXPECT_STREQ("", leave(&p));
}

UTEST(code, a_directory_that_cannot_be_made_is_named) {
    sbx_config config = {0};
    sbx_result result;
    place p;
    enter(&p);
    setenv("TMPDIR", "/no/such/place", 1);
    RUN_TEXT(&config, "sh", "exit 0", &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_EQ((int)SBX_STEP_IO, (int)result.step);
    EXPECT_HAS("TMPDIR = \"/no/such/place\"", result.message);
    sbx_free(&result);
    setenv("TMPDIR", "/dev/null", 1);
    RUN_TEXT(&config, "sh", "exit 0", &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    sbx_free(&result);
    EXPECT_STREQ("", leave(&p));
}

/* ==== Built once, run often =================================================================== */

UTEST(code, a_program_is_run_as_often_as_you_like) {
    const char *args[] = {"one", NULL};
    sbx_program program, gone;
    sbx_config config = {0};
    sbx_result result;
    struct stat st;
    sbx *box;
    int i;
    place p;
    enter(&p);
    config.languages = recipes;
    EXPECT_EQ((int)SBX_OK, (int)sbx_build(&config, "cp", "echo $1; exit 3", 15, &program, &result));
    EXPECT_VERDICT(SBX_OK, result);
    sbx_free(&result);
    ASSERT_TRUE(program.dir != NULL);
    ASSERT_TRUE(stat(program.dir, &st) == 0);
    EXPECT_EQ(0700, (int)(st.st_mode & 07777));
    EXPECT_EQ((int)geteuid(), (int)st.st_uid);
    EXPECT_STREQ("sh", program.argv[0]);
    config.program = &program;
    config.argv = args;
    for (i = 0; i < 3; i++) {
        TEST_RUN(&config, &result);
        EXPECT_VERDICT(SBX_EXITED, result);
        EXPECT_STREQ("one\n", result.out.data);
        sbx_free(&result);
    }
    box = sbx_start(&config, &result);
    EXPECT_TRUE_MSG(box != NULL, result.message);
    EXPECT_EQ((int)SBX_EXITED, (int)sbx_finish(box, &result));
    sbx_free(&result);
    config.command = "exit 0";
    TEST_RUN(&config, &result);
    EXPECT_VERDICT(SBX_NOT_STARTED, result);
    EXPECT_HAS("program and command", result.message);
    config.command = NULL;
    gone = program;
    sbx_discard(&program);
    EXPECT_TRUE(program.dir == NULL && program.argv == NULL);
    sbx_discard(&program);
    sbx_discard(NULL);
    EXPECT_STREQ("", left_in(p.dir));
    (void)gone;

    config.program = NULL;
    EXPECT_EQ((int)SBX_EXITED, (int)sbx_build(&config, "broken", "", 0, &program, &result));
    EXPECT_EQ((int)SBX_STEP_BUILD, (int)result.step);
    EXPECT_EQ(7, result.exit_code);
    EXPECT_STREQ("main.scr:1: no\n", result.err.data);
    EXPECT_STREQ("seen\n", result.out.data);
    EXPECT_TRUE(program.dir == NULL);
    sbx_free(&result);
    EXPECT_EQ((int)SBX_NOT_STARTED, (int)sbx_build(&config, "nothing", "", 0, &program, &result));
    EXPECT_EQ((int)SBX_STEP_BUILD, (int)result.step);
    EXPECT_HAS("no program", result.message);
    sbx_free(&result);
    EXPECT_EQ((int)SBX_OK, (int)sbx_build(&config, "sh", "exit 3", 6, &program, &result));
    EXPECT_EQ(0, result.exit_code); /* nothing had to be built, and that went well */
    sbx_free(&result);
    sbx_discard(&program);
    EXPECT_STREQ("", leave(&p));
}

/* ==== Limits, environment and policy: the build's and the run's =============================== */

UTEST(code, the_build_has_limits_and_an_environment_of_its_own) {
    static const char code[] =
        "cat \"$(dirname \"$0\")/limits\"; echo run; ulimit -v; ulimit -n; ulimit -f; env; exit 0";
    static const char *const settings[] = {/* nothing is fetched, and nobody's settings count */
                                           "LC_ALL=C.UTF-8",  "GOENV=off",
                                           "GO111MODULE=off", "GOTOOLCHAIN=local",
                                           "CGO_ENABLED=0",   "RUSTUP_HOME=/home/of/tests/.rustup"};
    const char *env[] = {"PATH=/usr/bin:/bin", "SECRET=of-the-run", NULL};
    char *old_home = copied(getenv("HOME")), *old_rustup = copied(getenv("RUSTUP_HOME"));
    sbx_config config = {0};
    sbx_result result;
    size_t i;
    char *run;
    place p;
    enter(&p);
    setenv("SBX_TEST_SECRET", "of-the-host", 1);
    setenv("HOME", "/home/of/tests", 1); /* where rustup has its compilers */
    unsetenv("RUSTUP_HOME");
    config.languages = recipes;
    config.env = env;
    config.address_space_bytes = 512 * MB;
    config.open_files = 50;
    config.file_bytes = 2 * MB;
    RUN_TEXT(&config, "limits", code, &result);
    EXPECT_VERDICT(SBX_OK, result);
    run = strstr(result.out.data, "\nrun\n");
    ASSERT_TRUE_MSG(run != NULL, result.out.data);
    *run++ = 0;
    EXPECT_HAS("built\n", result.out.data);
    EXPECT_FALSE(has(result.out.data, "\n524288\n")); /* kB: not the run's address space */
    EXPECT_FALSE(has(result.out.data, "\n50\n"));
    EXPECT_HAS("\n2097152\n", result.out.data); /* blocks: files of 1 GiB */
    EXPECT_HAS("\nPATH=/usr/bin:/bin", result.out.data);
    EXPECT_HAS(test_text("\nHOME=%s/sbx-", p.dir), result.out.data);
    EXPECT_HAS(test_text("\nTMPDIR=%s/sbx-", p.dir), result.out.data);
    EXPECT_HAS(test_text("\nGOCACHE=%s/sbx-", p.dir), result.out.data);
    for (i = 0; i < sizeof settings / sizeof settings[0]; i++)
        EXPECT_HAS(test_text("\n%s\n", settings[i]), test_text("%s\n", result.out.data));
    EXPECT_FALSE(has(result.out.data, "SECRET"));
    EXPECT_HAS("\n524288\n50\n4096\n", run);
    EXPECT_HAS("SECRET=of-the-run", run);
    EXPECT_FALSE(has(run, "HOME="));
    unsetenv("SBX_TEST_SECRET");
    set_or_clear("HOME", old_home);
    set_or_clear("RUSTUP_HOME", old_rustup);
    sbx_free(&result);
    EXPECT_STREQ("", leave(&p));
}

static const char *no_policy(void) {
    static char why[256];
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    config.command = "exit 0";
    config.policy = &policy;
    *why = 0;
    if (sbx_run(&config, &result) != SBX_OK) snprintf(why, sizeof why, "%s", result.message);
    sbx_free(&result);
    return why;
}

UTEST(code, under_a_policy_the_build_writes_its_directory_and_the_run_reads_it) {
    char tree[PATH_MAX], code[2 * PATH_MAX + 300];
    const char *write[] = {tree, NULL};
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    place p;
    if (test_is_portable()) UTEST_SKIP("built without Linux: no policies");
    if (*no_policy()) UTEST_SKIP(no_policy());
    test_tmpdir(tree);
    enter(&p);
    policy.write = write;
    config.policy = &policy;
    config.languages = recipes;
    snprintf(code, sizeof code,
             "#%s\ncd \"$(dirname \"$0\")\" || exit 1\ncat inside main.scr >/dev/null || exit 2\n"
             "(echo x >inside) 2>/dev/null && exit 3\n(echo x >new) 2>/dev/null && exit 4\n"
             "rm -f main.scr 2>/dev/null && exit 5\necho x >%s/run && exit 42",
             tree, tree);
    RUN_TEXT(&config, "outside", code, &result);
    EXPECT_VERDICT(SBX_EXITED, result);
    EXPECT_EQ_MSG(42, result.exit_code, result.message);
    EXPECT_EQ((int)SBX_STEP_NONE, (int)result.step);
    EXPECT_TRUE(result.enforced & SBX_BY_LANDLOCK);
    EXPECT_STREQ("1 left: run", left_in(tree));
    sbx_free(&result);

    policy.write = NULL; /* without spawn: the run, not the build */
    policy.deny_spawn = 1;
    RUN_TEXT(&config, "limits", "echo alone; /bin/true; echo $?", &result);
    EXPECT_EQ((int)SBX_STEP_NONE, (int)result.step);
    EXPECT_HAS("alone\n", result.out.data);
    EXPECT_FALSE_MSG(has(result.out.data, "alone\n0\n"), result.out.data);
    sbx_free(&result);

    policy.deny_spawn = 0; /* nor is a compiler killed for what it can do without */
    policy.kill_on_denied = 1;
    RUN_TEXT(&config, "asks", "echo built", &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_STREQ("built\n", result.out.data);
    sbx_free(&result);
    RUN_TEXT(&config, "asks", "unshare -m true || exit 3", &result);
    EXPECT_TRUE_MSG(result.verdict == SBX_DENIED || result.exit_code == 3, result.message);
    sbx_free(&result);
    test_remove_tree(tree);
    EXPECT_STREQ("", leave(&p));
}

/* A host that is root, a program that is not: the directory is the other user's. */
UTEST(code, another_user_builds_and_runs_it) {
    static const char code[] = "#include <stdio.h>\n#include <unistd.h>\n"
                               "int main(void) { printf(\"%d %d\\n\", getuid(), getgid()); }";
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    place p;
    int i;
    if (geteuid() != 0) UTEST_SKIP("only root can be another user");
    enter(&p);
    chmod(p.dir, 0755);
    config.uid = 65534;
    config.gid = 65533;
    config.languages = recipes;
    for (i = 0; i < 2; i++) {
        RUN_TEXT(&config, i ? "copy" : "sh", "id -u; id -g; cat <\"$0\" >/dev/null; exit 3",
                 &result);
        EXPECT_VERDICT(SBX_EXITED, result);
        EXPECT_EQ(3, result.exit_code);
        EXPECT_STREQ("65534\n65533\n", result.out.data);
        sbx_free(&result);
    }
    RUN_TEXT(&config, "whose", "cat \"$(dirname \"$0\")/who\"", &result); /* the compiler's user */
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_STREQ("65534\n65533\n", result.out.data);
    sbx_free(&result);
    RUN_TEXT(&config, "c", code, &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_STREQ("65534 65533\n", result.out.data);
    sbx_free(&result);
    if (!test_is_portable() && !*no_policy()) {
        config.policy = &policy;
        RUN_TEXT(&config, "c", code, &result);
        EXPECT_VERDICT(SBX_OK, result);
        EXPECT_STREQ("65534 65533\n", result.out.data);
        sbx_free(&result);
    }
    EXPECT_STREQ("", leave(&p));
}

/* What the caller says of the run holds for the build as well. */
UTEST(code, the_build_is_cancelled_contained_and_cut_like_the_run) {
    volatile int stop = 1;
    sbx_config config = {0};
    sbx_program program;
    sbx_result result;
    sbx_caps caps;
    place p;
    enter(&p);
    config.languages = recipes;
    config.stop = &stop;
    config.timeout_ms = 5000;
    RUN_TEXT(&config, "never", "", &result);
    EXPECT_VERDICT(SBX_CANCELLED, result);
    EXPECT_EQ((int)SBX_STEP_BUILD, (int)result.step);
    sbx_free(&result);
    config.stop = NULL;
    config.timeout_ms = 60000;

    config.output_bytes = 100; /* of its 650 bytes */
    config.truncate_output = 1;
    RUN_TEXT(&config, "wordy", "exit 0", &result);
    EXPECT_VERDICT(SBX_OK, result);
    sbx_free(&result);
    config.output_bytes = 0;

    config.contain = SBX_CONTAIN_GROUP;
    EXPECT_EQ((int)SBX_OK, (int)sbx_build(&config, "copy", "exit 0", 6, &program, &result));
    EXPECT_FALSE(result.enforced & SBX_BY_TREE);
    sbx_free(&result);
    sbx_discard(&program);
    sbx_probe(&caps);
    if (caps.tree) {
        config.contain = SBX_CONTAIN_TREE;
        EXPECT_EQ((int)SBX_OK, (int)sbx_build(&config, "copy", "exit 0", 6, &program, &result));
        EXPECT_TRUE(result.enforced & SBX_BY_TREE);
        sbx_free(&result);
        sbx_discard(&program);
    }
    EXPECT_STREQ("", leave(&p));
}

/* Compilers need more than most programs: the run's limit is not theirs. */
UTEST(code, the_build_has_more_memory_than_the_run) {
    const char *build[] = {"sh", "-c", NULL, NULL};
    const sbx_language own[] = {{"large", "main.scr", build, run_script}, {NULL, NULL, NULL, NULL}};
    sbx_config config = {0};
    sbx_result result;
    place p;
    if (!test_has_watch()) UTEST_SKIP("nobody sums up in this build");
    enter(&p);
    build[2] = test_text("%s memory own 90 1 200 && cp {file} {program}", test_child());
    config.languages = own;
    config.memory_bytes = 40 * MB;
    config.timeout_ms = 60000;
    RUN_TEXT(&config, "large", "echo small", &result);
    EXPECT_VERDICT(SBX_OK, result);
    EXPECT_STREQ("small\n", result.out.data);
    sbx_free(&result);
    RUN_TEXT(&config, "large", test_text("exec %s memory own 90", test_child()), &result);
    EXPECT_VERDICT(SBX_MEMORY_LIMIT, result);
    EXPECT_EQ((int)SBX_STEP_NONE, (int)result.step);
    sbx_free(&result);
    EXPECT_STREQ("", leave(&p));
}

/* Where a policy keeps the linker from setting the mode, the host does: of the program, not of what
   that leads to. And the build can read what the run can, also where only the run can write. */
UTEST(code, under_a_policy_the_host_changes_no_mode_but_the_programs) {
    char tree[PATH_MAX], line[PATH_MAX + 200];
    const char *trees[] = {tree, NULL}, *build[] = {"sh", "-c", line, NULL};
    const sbx_language own[] = {{"link", "main.scr", build, run_made},
                                {"reads", "main.scr", build, run_script},
                                {NULL, NULL, NULL, NULL}};
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    struct stat st;
    sbx_caps caps;
    place p;
    int contain;
    if (!test_has_policy()) UTEST_SKIP("no policy there");
    sbx_probe(&caps);
    test_tmpdir(tree);
    enter(&p);
    test_write_file(tree, "other", "\177ELF is how it begins", 22, 0644);
    policy.write = trees;
    config.policy = &policy;
    config.languages = own;
    config.timeout_ms = 60000;
    for (contain = SBX_CONTAIN_AUTO; contain <= SBX_CONTAIN_GROUP; contain++) {
        if (contain == SBX_CONTAIN_GROUP ? !caps.group_policy : !caps.policy) continue;
        config.contain = (sbx_contain)contain;
        snprintf(line, sizeof line, "ln -s %s/other {program}", tree);
        RUN_TEXT(&config, "link", "", &result);
        EXPECT_VERDICT(SBX_NOT_STARTED, result);
        EXPECT_EQ((int)SBX_STEP_BUILD, (int)result.step);
        sbx_free(&result);
        EXPECT_EQ(0, stat(test_text("%s/other", tree), &st));
        EXPECT_EQ(0644, (int)(st.st_mode & 07777));
        snprintf(line, sizeof line, "cat %s/other >/dev/null && cp {file} {program}", tree);
        RUN_TEXT(&config, "reads", "exit 6", &result);
        EXPECT_EQ_MSG(6, result.exit_code, result.err.data);
        sbx_free(&result);
    }
    test_remove_tree(tree);
    EXPECT_STREQ("", leave(&p));
}

#ifdef __linux__
/* A TMPDIR that no program can be run from is the likely reason, and is named. */
static const char *build_without_exec(void *arg) {
    static const char *const makes[] = SCRIPT("echo '#!/bin/sh' >{program}; chmod 755 {program}");
    const sbx_language own[] = {{"made", "main.scr", makes, run_made}, {NULL, NULL, NULL, NULL}};
    sbx_config config = {0};
    sbx_result result;
    place p;
    (void)arg;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return "skip: no mounts of its own";
    enter(&p);
    TEST_MUST(mount("none", p.dir, "tmpfs", MS_NOEXEC, NULL) == 0);
    config.languages = own;
    sbx_run_code(&config, "made", "", 0, &result);
    TEST_MUST(result.verdict == SBX_NOT_STARTED && result.step == SBX_STEP_EXEC);
    if (!has(result.message, "noexec")) return test_text("%s", result.message);
    sbx_free(&result);
    if (*left_in(p.dir)) return test_text("%s", left_in(p.dir));
    umount2(p.dir, MNT_DETACH);
    leave(&p);
    return "";
}

UTEST(code, a_directory_without_exec_is_named) {
    if (geteuid() != 0) UTEST_SKIP("only root can mount");
    EXPECT_WELL(test_in_copy(build_without_exec, NULL));
}
#endif

/* ==== Eight threads =========================================================================== */

static void *twenty_five_runs(void *arg) {
    int *failed = (int *)arg, i;
    for (i = 0; i < 25; i++) {
        sbx_config config = {0};
        sbx_result result;
        const char *language = i % 2 ? "sh" : "cp";
        config.languages = recipes;
        config.timeout_ms = 60000;
        sbx_run_code(&config, language, "echo hello; exit 9", 18, &result);
        if (result.verdict != SBX_EXITED || result.exit_code != 9 ||
            strcmp(result.out.data, "hello\n") != 0)
            ++*failed;
        sbx_free(&result);
    }
    return NULL;
}

UTEST(code, two_hundred_runs_from_eight_threads_leave_nothing) {
    int failed[8] = {0}, i;
    pthread_t threads[8];
    test_host before;
    place p;
    enter(&p);
    test_host_save(&before);
    for (i = 0; i < 8; i++) pthread_create(&threads[i], NULL, twenty_five_runs, &failed[i]);
    for (i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    for (i = 0; i < 8; i++) EXPECT_EQ(0, failed[i]);
    EXPECT_STREQ("", test_host_diff(&before));
    EXPECT_STREQ("", leave(&p));
}

/* ==== The languages =========================================================================== */

/* Each reads a word and does as it says: exit (3), crash, loop (after "ready"), flood; or says it.*/
typedef struct language {
    const char *name, *tool, *code;
    const char *wrong; /* the compiler refuses it; NULL = there is none */
} language;

/* clang-format off */
static const language languages[] = {
    {"sh", "sh",
     "read w; case $w in exit) exit 3 ;; crash) kill -9 $$ ;; loop) echo ready; while :; do :; done ;;\n"
     "flood) while :; do echo xxxxxxxxxxxxxxxxxxxx; done ;; esac; echo \"said $w\"\n", NULL},
    {"bash", "bash",
     "read w; case $w in exit) exit 3 ;; crash) kill -SEGV $$ ;; loop) echo ready; while :; do :; done\n"
     ";; flood) while :; do echo xxxxxxxxxxxxxxxxxxxx; done ;; esac; echo \"said ${w:0:9}\"\n", NULL},
    {"python", "python3",
     "import os, sys\nw = sys.stdin.readline().strip()\nif w == 'exit': sys.exit(3)\n"
     "if w == 'crash': os.abort()\nif w == 'loop':\n    print('ready')\n    while True: pass\n"
     "while w == 'flood': print('x' * 50)\nprint('said', w)\n", NULL},
    {"javascript", "node",
     "const w = require('fs').readFileSync(0, 'utf8').trim();\nif (w == 'exit') process.exit(3);\n"
     "if (w == 'crash') process.kill(process.pid, 'SIGKILL');\n"
     "if (w == 'loop') { require('fs').writeSync(1, 'ready\\n'); for (;;); }\n"
     "while (w == 'flood') require('fs').writeSync(1, 'x'.repeat(50));\nconsole.log('said', w);\n", NULL},
    {"typescript", "node",
     "import * as fs from 'node:fs';\nconst w: string = fs.readFileSync(0, 'utf8').trim();\n"
     "if (w == 'exit') process.exit(3);\nif (w == 'crash') process.kill(process.pid, 'SIGKILL');\n"
     "if (w == 'loop') { fs.writeSync(1, 'ready\\n'); for (;;); }\n"
     "while (w == 'flood') fs.writeSync(1, 'x'.repeat(50));\nconsole.log('said', w as string);\n", NULL},
    {"c", "cc",
     "#include <stdio.h>\n#include <string.h>\nint main(void) {\n    char w[20] = \"\";\n"
     "    scanf(\"%19s\", w);\n    if (!strcmp(w, \"exit\")) return 3;\n"
     "    if (!strcmp(w, \"crash\")) *(volatile int *)0 = 1;\n"
     "    if (!strcmp(w, \"loop\")) { puts(\"ready\"); fflush(stdout); for (;;); }\n"
     "    while (!strcmp(w, \"flood\")) puts(\"xxxxxxxxxxxxxxxxxxxxxx\");\n"
     "    printf(\"said %s\\n\", w);\n    int unused; char *p = 5;\n    return 0;\n}\n",
     "int main(void) { return 1 +; }"},
    {"c++", "c++",
     "#include <iostream>\n#include <string>\n#include <cstdlib>\nint main() {\n    std::string w;\n"
     "    std::cin >> w;\n    if (w == \"exit\") return 3;\n    if (w == \"crash\") std::abort();\n"
     "    if (w == \"loop\") { std::cout << \"ready\" << std::endl; for (volatile int i = 0;; i++); }\n"
     "    while (w == \"flood\") std::cout << \"xxxxxxxxxxxxxxxxxxxxxx\\n\";\n"
     "    int unused;\n    std::cout << \"said \" << w << std::endl;\n}\n",
     "int main() { return std::nothing; }"},
    {"rust", "rustc",
     "use std::io::Write;\nfn main() {\n    let mut s = String::new();\n"
     "    std::io::stdin().read_line(&mut s).unwrap();\n    let w = s.trim();\n    let unused = 1;\n"
     "    if w == \"exit\" { std::process::exit(3); }\n    if w == \"crash\" { std::process::abort(); }\n"
     "    if w == \"loop\" { println!(\"ready\"); loop {} }\n"
     "    while w == \"flood\" { let _ = writeln!(std::io::stdout(), \"xxxxxxxxxxxxxxxxx\"); }\n"
     "    println!(\"said {}\", w);\n}\n",
     "fn main() { let x: i32 = \"text\"; }"},
    {"go", "go",
     "package main\nimport (\n    \"fmt\"\n    \"os\"\n    \"syscall\"\n)\nfunc main() {\n    var w string\n"
     "    fmt.Scan(&w)\n    if w == \"exit\" { os.Exit(3) }\n"
     "    if w == \"crash\" { syscall.Kill(os.Getpid(), 9) }\n"
     "    if w == \"loop\" { fmt.Println(\"ready\"); for { } }\n"
     "    for w == \"flood\" { fmt.Println(\"xxxxxxxxxxxxxxxxxxxxx\") }\n    fmt.Println(\"said\", w)\n}\n",
     "package main\nfunc main() { nothing() }\n"},
    {"java", "javac",
     "import java.util.*;\n/** public class Wrong { */\nclass Helper { static String s = \"} public class X {\"; }\n"
     "@SuppressWarnings({\"unchecked\"})\npublic final class Talker {\n"
     "    public static void main(String... args) throws Exception {\n"
     "        String w = new Scanner(System.in).next(); char c = '\"', d = '\\'';\n"
     "        if (w.equals(\"exit\")) System.exit(3);\n        if (w.equals(\"crash\")) {\n"
     "            new ProcessBuilder(\"sh\", \"-c\", \"kill -9 $PPID\").start(); Thread.sleep(60000); }\n"
     "        if (w.equals(\"loop\")) { System.out.println(\"ready\"); for (;;); }\n"
     "        while (w.equals(\"flood\")) System.out.println(\"xxxxxxxxxxxxxxxxxx\");\n"
     "        System.out.println(\"said \" + w);\n    }\n}\n",
     "public class Bad { public static void main(String[] a) { int x = \"text\"; } }"},
    {"perl", "perl",
     "$| = 1; $w = <STDIN>; chomp $w; exit 3 if $w eq 'exit'; kill 9, $$ if $w eq 'crash';\n"
     "if ($w eq 'loop') { print \"ready\\n\"; 1 while 1; }\n"
     "while ($w eq 'flood') { print 'x' x 50; }\nprint \"said $w\\n\";\n", NULL},
    {"ruby", "ruby",
     "$stdout.sync = true\nw = gets.encode('UTF-8').strip\nexit 3 if w == 'exit'\nProcess.kill(:KILL, $$) if w == 'crash'\n"
     "if w == 'loop' then puts 'ready'; loop {} end\nwhile w == 'flood' do puts 'x' * 50 end\n"
     "puts \"said #{w}\"\n", NULL},
    {"lua", "lua",
     "io.stdout:setvbuf('no')\nlocal w = io.read()\nif w == 'exit' then os.exit(3) end\n"
     "if w == 'crash' then os.execute('kill -9 $PPID') end\n"
     "if w == 'loop' then print('ready') while true do end end\n"
     "while w == 'flood' do io.write(('x'):rep(50)) end\nprint('said ' .. w)\n", NULL}};
/* clang-format on */

/* What a policy has to show of tools that are not the system's: where they are, and rustup's. */
typedef struct tool_trees {
    char dir[PATH_MAX], rustup[PATH_MAX];
    const char *read[3];
} tool_trees;

static void find_trees(const char *tool, tool_trees *t) {
    char path[PATH_MAX], search[PATH_MAX];
    const char *home = getenv("HOME"), *rustup = getenv("RUSTUP_HOME"), *at;
    int n = 0;
    memset(t, 0, sizeof *t);
    snprintf(search, sizeof search, "%s", getenv("PATH"));
    for (at = strtok(search, ":"); at; at = strtok(NULL, ":")) {
        snprintf(path, sizeof path, "%.3000s/%s", at, tool);
        if (access(path, X_OK) == 0) break;
    }
    if (at && strncmp(at, "/usr", 4) != 0 && strncmp(at, "/bin", 4) != 0 && realpath(at, t->dir))
        t->read[n++] = t->dir;
    snprintf(t->rustup, sizeof t->rustup, "%s%s",
             rustup ? rustup
             : home ? home
                    : "",
             rustup ? "" : "/.rustup");
    if (n && access(t->rustup, R_OK) == 0) t->read[n++] = t->rustup;
}

/* All that it can be told, in one program that is built once. "" = all is well. */
static const char *talk(const language *l, const sbx_config *base) {
    static const struct {
        const char *word, *out;
        sbx_verdict verdict;
        int code;
    } talks[] = {{"hello\n", "said hello\n", SBX_OK, 0},
                 {"h\303\266hle\n", "said h\303\266hle\n", SBX_OK, 0}, /* UTF-8 */
                 {"exit\n", "", SBX_EXITED, 3},
                 {"crash\n", "", SBX_CRASHED, -1},
                 {"loop\n", "ready\n", SBX_TIMED_OUT, -1},
                 {"flood\n", NULL, SBX_OUTPUT_LIMIT, -1}};
    sbx_program program;
    sbx_config config = *base;
    sbx_result result;
    const char *flaw = "";
    size_t i;
    config.timeout_ms = 120000;
    alarm(150);
    if (sbx_build(&config, l->name, l->code, strlen(l->code), &program, &result) != SBX_OK)
        flaw = test_text("%s: %.100s", result.message, result.err.data);
    alarm(0);
    sbx_free(&result);
    config.program = &program;
    for (i = 0; !*flaw && i < sizeof talks / sizeof talks[0]; i++) {
        config.input = talks[i].word;
        config.input_size = strlen(talks[i].word);
        config.grace_ms = SBX_UNLIMITED;
        config.timeout_ms = talks[i].verdict == SBX_TIMED_OUT ? 200 : 25000;
        config.output_bytes = talks[i].verdict == SBX_OUTPUT_LIMIT ? 100000 : 0;
        flaw = talks[i].verdict == SBX_TIMED_OUT ? test_run_ready(&config, "ready\n", &result)
                                                 : test_run(&config, &result);
        if (!*flaw && (result.verdict != talks[i].verdict || result.exit_code != talks[i].code ||
                       (talks[i].out && strcmp(result.out.data, talks[i].out) != 0)))
            flaw = test_text("told to %.5s: %s (said \"%.60s\", \"%.100s\")", talks[i].word,
                             result.message, result.out.data, result.err.data);
        sbx_free(&result);
    }
    sbx_discard(&program);
    return flaw;
}

/* In one step, and what the compiler does not like. */
static const char *talk_once(const language *l, const sbx_config *base) {
    sbx_config config = *base;
    sbx_result result;
    const char *flaw;
    config.timeout_ms = 120000;
    config.input = "you";
    config.input_size = 3;
    flaw = run_text(&config, l->name, l->code, strlen(l->code), &result);
    if (!*flaw && (result.verdict != SBX_OK || strcmp(result.out.data, "said you\n") != 0))
        flaw = test_text("%s (said \"%.60s\", \"%.100s\")", result.message, result.out.data,
                         result.err.data);
    sbx_free(&result);
    if (*flaw || !l->wrong) return flaw;
    flaw = run_text(&config, l->name, l->wrong, strlen(l->wrong), &result);
    if (!*flaw && (result.verdict != SBX_EXITED || result.step != SBX_STEP_BUILD ||
                   result.err.size == 0 || !has(result.message, "build")))
        flaw = test_text("wrong text: %s (said \"%.100s\")", result.message, result.err.data);
    sbx_free(&result);
    return flaw;
}

static const language *find_language(const char *name) {
    size_t i;
    for (i = 0; i < sizeof languages / sizeof languages[0]; i++)
        if (strcmp(languages[i].name, name) == 0) return &languages[i];
    return NULL;
}

/* The name of the file and the class to run, read from the text. */
static const char *java_names(void) {
    sbx_config config = {0};
    sbx_result result;
    const char *flaw = "";
    size_t i;
    config.timeout_ms = 60000;
    for (i = 0; !*flaw && i < sizeof java_texts / sizeof java_texts[0]; i++) {
        const char *code = java_texts[i].code;
        flaw = run_text(&config, "java", code, strlen(code), &result);
        if (!*flaw && strcmp(result.out.data, "yes\n") != 0)
            flaw = test_text("%d: %s: %.200s", (int)i, result.message, result.err.data);
        sbx_free(&result);
    }
    return flaw;
}

UTEST(code, each_language_talks_exits_crashes_loops_and_floods) {
    const char *named = getenv("SBX_TEST_LANGUAGES"), *empty[] = {NULL};
    const char *path[] = {"PATH=/usr/bin:/bin", NULL};
    char names[300], *name, *next = names;
    int with_policy = !test_is_portable() && !*no_policy();
    place p;
    enter(&p);
    snprintf(names, sizeof names, "%s", named ? named : "sh c");
    for (name = strtok_r(next, " ", &next); name; name = strtok_r(NULL, " ", &next)) {
        const language *l = find_language(name);
        sbx_config config = {0};
        sbx_policy policy = {0};
        tool_trees trees;
        EXPECT_TRUE_MSG(l != NULL, name);
        if (!l) continue;
        config.env = empty;
        EXPECT_STREQ_MSG("", talk(l, &config), name);
        config.env = path;
        EXPECT_STREQ_MSG("", talk_once(l, &config), name);
        if (strcmp(name, "java") == 0) EXPECT_STREQ("", java_names());
        if (!with_policy) continue;
        find_trees(l->tool, &trees);
        policy.read = trees.read;
        config.policy = &policy;
        EXPECT_STREQ_MSG("", talk_once(l, &config), name);
        config.env = empty;
        EXPECT_STREQ_MSG("", talk(l, &config), name);
    }
    EXPECT_STREQ("", leave(&p));
}

#endif /* the wing is there */
