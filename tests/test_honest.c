/* Honest programs, which must not notice a policy: each does a real task under a zero policy with
 * one writable tree, in every way there is: with nothing but a PATH in the environment and with all
 * that the host has; with kill_on_denied; in a root of its own and, where it changes no modes and
 * needs no private /tmp, in a group. The host has a ~/.gitconfig that the box must not stumble
 * over. They take minutes: only where SBX_TEST_SLOW is set, as `make check` does, as root and as an
 * ordinary user. What is not installed is skipped by name. */
#include "test.h"

#ifdef __linux__

enum { IN_GROUP = 1, LIVES = 2, ONCE = 4 }; /* LIVES: also under kill_on_denied */

typedef struct task {
    const char *tool;   /* looked for on PATH; or a command that names the tree of one that is not a
                           part of the system, which the script knows as $TREE */
    int ways;
    const char *script; /* its last line of output is "fine" */
} task;

static const char *const system_path = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/* What a command says without a policy, up to the end of its first line; "" = it fails. */
static const char *answer_of(const char *command) {
    static char text[PATH_MAX];
    sbx_config config = {0};
    sbx_result result;
    config.command = command;
    config.inherit_env = 1;
    text[0] = 0;
    if (sbx_run(&config, &result) == SBX_OK)
        snprintf(text, sizeof text, "%.*s", (int)strcspn(result.out.data, "\n"), result.out.data);
    sbx_free(&result);
    return text;
}

static const char *in_one_way(const task *t, const char *tree, int inherit, int kill,
                              sbx_contain contain) {
    char dir[PATH_MAX];
    const char *read[2] = {NULL, NULL}, *write[2] = {NULL, NULL}, *env[3] = {NULL, NULL, NULL};
    sbx_policy policy = {0};
    sbx_config config = {0};
    sbx_result result;
    const char *flaw;
    int fine;
    env[0] = system_path;
    if (*tree) {
        env[1] = test_text("TREE=%s", tree);
        read[0] = tree;
        policy.read = read;
    }
    write[0] = test_tmpdir(dir);
    policy.write = write;
    policy.kill_on_denied = kill;
    config.policy = &policy;
    config.contain = contain;
    config.command = t->script;
    config.cwd = dir;
    config.env = env;
    config.inherit_env = inherit;
    config.timeout_ms = 300000;
    config.grace_ms = -1;
    config.truncate_output = SBX_KEEP_LAST;
    flaw = test_run(&config, &result);
    fine = result.out.size >= 5 && strcmp(result.out.data + result.out.size - 5, "fine\n") == 0;
    if (!*flaw && (result.verdict != SBX_OK || !fine))
        flaw = test_text("%s; out: %.300s; err: %.900s", result.message, result.out.data,
                         result.err.data);
    if (*flaw)
        flaw = test_text("%s%s%s: %s", contain == SBX_CONTAIN_GROUP ? "in a group, " : "",
                         inherit ? "all of the environment" : "PATH only",
                         kill ? ", kill_on_denied" : "", flaw);
    sbx_free(&result);
    test_remove_tree(dir);
    return flaw;
}

static const char *in_every_way(void *arg) {
    const task *t = (const task *)arg;
    char home[PATH_MAX], old[PATH_MAX], tree[PATH_MAX] = "";
    const char *flaw = "";
    int way;
    snprintf(old, sizeof old, "%s", getenv("HOME") ? getenv("HOME") : "/");
    if (strchr(t->tool, ' ')) snprintf(tree, sizeof tree, "%s", answer_of(t->tool));
    if (strchr(t->tool, ' ') ? !*tree
                             : !*answer_of(test_text("%s command -v %s", system_path, t->tool)))
        return test_text("skip: %s is not installed", t->tool);
    test_tmpdir(home);
    test_write_file(home, ".gitconfig", "[core]\n\tpager = false\n", 22, 0600);
    setenv("HOME", home, 1);
    for (way = 0; way < 8 && !*flaw; way++) {
        if (way & 2 && !(t->ways & LIVES)) continue;
        if (way & 4 && !(t->ways & IN_GROUP)) continue;
        if (t->ways & ONCE && way != 3) continue;
        flaw = in_one_way(t, tree, way & 1, way >> 1 & 1,
                          way & 4 ? SBX_CONTAIN_GROUP : SBX_CONTAIN_AUTO);
    }
    setenv("HOME", old, 1);
    test_remove_tree(home);
    return flaw;
}

static const char *no_policy_here(void) {
    static char why[300];
    sbx_caps caps;
    sbx_probe(&caps);
    if (caps.policy && caps.group_policy) return "";
    snprintf(why, sizeof why, "no policy can be had here: %.200s", caps.policy_why);
    return why;
}

#define HONEST(name, tool, ways, script)                                                           \
    UTEST(honest, name) {                                                                          \
        static const task t = {tool, ways, "set -e\n" script "\necho fine"};                       \
        if (!getenv("SBX_TEST_SLOW")) UTEST_SKIP("takes seconds: make check");                     \
        if (*no_policy_here()) UTEST_SKIP(no_policy_here());                                       \
        EXPECT_WELL(in_every_way((void *)(size_t)&t));                                             \
    }

HONEST(git, "git", LIVES,
       "git init -q -b main r; cd r; git config user.name N; git config user.email n@x\n"
       "echo a >f; git add f; git commit -q -m one; echo b >>f; git commit -q -a -m two\n"
       "test $(git log --oneline | wc -l) = 2; cd ..; git clone -q r c; diff r/f c/f; "
       "git -C c gc -q")
HONEST(gcc, "gcc", LIVES,
       "printf '#include <stdio.h>\\nint main(void) { return printf(\"x\\\\n\") != 2; }' >a.c\n"
       "gcc -O2 -o a a.c; ./a")
HONEST(gxx, "g++", LIVES,
       "printf '#include <iostream>\\nint main() { std::cout << 1; }' >a.cc\n"
       "g++ -o a a.cc; test $(./a) = 1")
HONEST(make, "make", LIVES | IN_GROUP,
       "printf 'all: a b\\na b:\\n\\techo $@ >$@\\n' >Makefile; make -s -j2; cat a b")
HONEST(cmake, "cmake", LIVES,
       "printf 'cmake_minimum_required(VERSION 3.10)\\nproject(x C)\\nadd_executable(x x.c)\\n' "
       ">CMakeLists.txt; echo 'int main(void) { return 0; }' >x.c; cmake -S . -B b >log\n"
       "cmake --build b >>log; b/x")
HONEST(python_nothing, "/usr/bin/python3", LIVES | IN_GROUP, "/usr/bin/python3 -c ''")
HONEST(python_tempfile, "/usr/bin/python3", LIVES | IN_GROUP,
       "/usr/bin/python3 -c 'import tempfile, os\n"
       "f = tempfile.NamedTemporaryFile(); f.write(b\"x\"); f.flush(); os.stat(f.name)\n"
       "with tempfile.TemporaryDirectory() as d: open(os.path.join(d, \"a\"), \"w\").write(\"x\")'")
HONEST(python_multiprocessing, "/usr/bin/python3", LIVES,
       "cat >m.py <<END\nimport multiprocessing as m\n"
       "from multiprocessing import shared_memory as s\ndef f(x): return x * x\n"
       "if __name__ == '__main__':\n"
       "    p = m.Pool(2); assert p.map(f, range(4)) == [0, 1, 4, 9]; p.close(); p.join()\n"
       "    l = m.Lock(); l.acquire(); l.release(); q = m.Queue(); q.put(1); q.get()\n"
       "    b = s.SharedMemory(create=True, size=100); b.buf[0] = 7; b.close(); b.unlink()\n"
       "END\n/usr/bin/python3 m.py")
HONEST(python_venv, "/usr/bin/python3", LIVES,
       "/usr/bin/python3 -m venv --without-pip v; v/bin/python -c 'import sys\n"
       "assert sys.prefix != sys.base_prefix'")
HONEST(node, "node", LIVES | IN_GROUP,
       "node -e 'const f = require(\"fs\"), c = require(\"child_process\");\n"
       "f.writeFileSync(\"x\", c.execSync(\"echo sub\"));\n"
       "new (require(\"worker_threads\").Worker)(\"1\", {eval: true})'; test $(cat x) = sub")
HONEST(npm, "npm", LIVES, "npm --version") /* lists the directories above its own */
HONEST(java, "java", LIVES | IN_GROUP, "java -version")
HONEST(javac, "javac", IN_GROUP, /* looks whether there is IPv6 */
       "echo 'class A { public static void main(String[] a) { System.out.println(42); } }' "
       ">A.java; javac A.java; test $(java A) = 42")
HONEST(go, "go", LIVES,
       "mkdir m; cd m; printf 'module m\\ngo 1.18\\n' >go.mod; printf 'package main\\n"
       "import \"fmt\"\\nfunc main() { fmt.Println(42) }\\n' >m.go; go build -o x .; "
       "test $(./x) = 42")
HONEST(rustc, "rustc --print sysroot", LIVES,
       "echo 'fn main() { println!(\"{}\", 6 * 7); }' >a.rs; $TREE/bin/rustc -o a a.rs\n"
       "test $(./a) = 42")
HONEST(perl, "perl", LIVES | IN_GROUP,
       "perl -MFile::Temp=tempfile -MPOSIX -e '($f, $n) = tempfile(); print $f 42; `ls`'")
HONEST(ruby, "ruby", LIVES | IN_GROUP, "ruby -e 'require \"tempfile\"; Tempfile.create { |f| f }'")
HONEST(sqlite3, "sqlite3", LIVES | IN_GROUP,
       "sqlite3 x.db 'create table t(a); insert into t values(42); vacuum'\n"
       "test $(sqlite3 x.db 'pragma journal_mode = wal; select a from t' | tail -1) = 42")
HONEST(tar, "tar", LIVES,
       "mkdir d; echo 1 >d/x; ln -s x d/y; tar czf d.tgz d; rm -r d; tar xzf d.tgz; cat d/y")
HONEST(bash, "bash", LIVES | IN_GROUP,
       "bash -ec 'cat <<<here; cat <<END\ndocument $PATH\nEND\ndiff <(echo a) <(echo a)\n"
       "coproc cat; exec {COPROC[1]}>&-; wait'")
HONEST(sort, "sort", LIVES | ONCE,
       "head -c 75000000 /dev/urandom | base64 >big; sort big >sorted; sort -c sorted\n"
       "test $(wc -c <sorted) -gt 100000000")
HONEST(ls_root, "ls", LIVES, "ls /; ls -l /; ls -lR /dev")
HONEST(small_tools, "ls", LIVES | IN_GROUP,
       "ls -l; ls -l /usr; id; df .; f=$(mktemp); echo x >$f; date; uname -a; nproc; whoami; ps; "
       "stat .; du -s .; find . -type f | xargs wc -l; seq 100 | tail -1 | cat >a; mv a b; "
       "ln -s b c; ln b d; rm b c; expr 6 '*' 7; printf 'b\\na\\n' | sort | uniq | head -1 | tee e")
HONEST(df_and_mktemp, "df", LIVES, "df; f=$(mktemp); test ${f%/*} = /tmp; mktemp -d; cp -a $f x")

#endif
