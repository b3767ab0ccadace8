#!/bin/sh
# The longer checks, one by name: analyzer, soak-mixed, copied, mcp-client, browser, format, tidy, cppcheck, soak,
# valgrind, threads, slow, languages, honest, treesoak, qemu.
# One line per case: ok, FAILED, or skipped with the reason; a tool that is not installed is
# skipped, never passed.
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
CC=${CC:-cc}
out=$BUILD/check
log=$out/$1.log
failed=0
mkdir -p "$out" || exit 1

verdict() { # NAME STATUS: ok if 0, else FAILED with the log
    if [ "$2" -eq 0 ]; then
        echo "ok      $1"
    else
        echo "FAILED  $1"
        sed 's/^/    /' "$log" | head -n 60
        failed=1
    fi
}

missing() { # TOOL
    command -v "$1" >/dev/null 2>&1 && return 1
    echo "skipped: $1 (not installed)"
}

modes="-DSBX_LINUX_TOO -DSBX_NO_LINUX" # the first changes nothing; an empty word would get lost

# What .clang-format says, as the version it was written for reads it; 100 columns in any case.
format() {
    awk 'length > 100 { print FILENAME ":" FNR; bad = 1 } END { exit bad }' sbx.h >"$log"
    verdict "sbx.h: no line longer than 100 columns" $?
    missing clang-format && return
    case $(clang-format --version) in
    *"version 14."*)
        clang-format --dry-run -Werror sbx.h >"$log" 2>&1
        verdict "sbx.h is formatted" $?
        ;;
    *) echo "skipped: format ($(clang-format --version), not 14)" ;;
    esac
}

# Left out: arrays of pointers to structs, what is a matter of taste, what C99 and C++11 in common do not allow, and three parts of
# the analyser that cannot know an invariant: that only a call has a result area, that a descriptor
# which is waited for is open, that output of no bytes is not on the heap.
tidy() {
    missing clang-tidy && return
    checks='-*,clang-analyzer-*,bugprone-*,cert-*,concurrency-*,misc-*,performance-*,portability-*'
    for no in bugprone-easily-swappable-parameters bugprone-assignment-in-if-condition \
        bugprone-implicit-widening-of-multiplication-result bugprone-misplaced-widening-cast \
        bugprone-narrowing-conversions bugprone-reserved-identifier cert-dcl37-c cert-dcl51-cpp \
        bugprone-branch-clone bugprone-sizeof-expression cert-err33-c cert-err34-c concurrency-mt-unsafe misc-no-recursion \
        performance-no-int-to-ptr \
        clang-analyzer-core.NonNullParamChecker clang-analyzer-core.UndefinedBinaryOperatorResult \
        clang-analyzer-unix.Malloc clang-analyzer-security.insecureAPI.strcpy \
        clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling; do
        checks="$checks,-$no"
    done
    for mode in $modes; do
        # The header as the main file: the analyser does not follow functions of included ones.
        clang-tidy --quiet "--checks=$checks" sbx.h -- -x c -std=c99 -DSBX_IMPLEMENTATION "$mode" \
            >"$out/tidy.all" 2>/dev/null
        status=$?
        grep -A 2 'warning:\|error:' "$out/tidy.all" >"$log" && status=1
        verdict "clang-tidy $mode" $status
    done
}

# uninitvar mistakes handing out the address of a buffer for reading it; valgrind knows better.
cppcheck_header() {
    missing cppcheck && return
    for mode in $modes; do
        cppcheck --quiet --std=c99 --enable=warning,performance,portability --inline-suppr \
            --suppress=uninitvar --suppress=legacyUninitvar --error-exitcode=1 \
            -D__linux__ -D__x86_64__ -D__GNUC__=12 "$mode" -I. \
            tests/compile/impl.c >"$log" 2>&1
        verdict "cppcheck $mode" $?
    done
}

soak_program() { # MODE: builds $out/soak
    $CC -std=c99 -O1 -g -Wall -Wextra -pthread "$1" -o "$out/soak" tests/soak.c >"$log" 2>&1 && return
    verdict "soak.c compiles $1" 1
    return 1
}

# Thousands of runs of every kind; tests/soak.c counts for itself.
soak() {
    for mode in $modes; do
        soak_program "$mode" || continue
        "$out/soak" >"$log" 2>&1
        verdict "10,000 runs, 10,000 failed starts, calls and drops leave nothing $mode" $?
    done
}

# The same, shorter, for reads of what was never written. Valgrind refuses newer system calls, makes
# a copy where the header asks for shared memory, and ends a host that enters a tree: so this also
# tries the ways around those, and that AUTO is the group there.
valgrind_soak() {
    missing valgrind || missing timeout && return
    for mode in $modes; do
        soak_program "$mode" || continue
        for kind in runs failures calls drops; do
            (ulimit -c 0 && exec timeout 120 valgrind -q --error-exitcode=9 "$out/soak" $kind 20) \
                >"$out/valgrind.all" 2>&1
            status=$?
            grep -v '^--[0-9]*-- ' "$out/valgrind.all" >"$log" # what valgrind says about itself
            verdict "valgrind, $kind $mode" $status
        done
    done
}

# All kinds at random from eight threads.
soak_mixed() {
    soak_program -DSBX_LINUX_TOO || return
    "$out/soak" mixed "${MINUTES:-1}" >"$log" 2>&1
    verdict "eight threads, ${MINUTES:-1} minutes: $(tail -n 1 "$log")" $?
}

# What gcc finds on all ways through a function; clang's analyser is a part of tidy.
analyzer() {
    for mode in $modes; do
        if ! gcc -fanalyzer -c -o /dev/null tests/compile/empty.c >/dev/null 2>&1; then
            echo "skipped: gcc -fanalyzer (not in this gcc)"
            continue
        fi
        timeout 200 gcc -std=c99 -O1 -fanalyzer -Werror "$mode" -I. -c -o /dev/null tests/compile/impl.c \
            >"$log" 2>&1
        status=$?
        if [ $status -eq 124 ]; then
            echo "skipped: gcc -fanalyzer $mode (not done after 200 s)"
        else
            verdict "gcc -fanalyzer $mode" $status
        fi
    done
}

# Tests that wait for seconds in real time.
slow() {
    SBX_TEST_SLOW=1 "$BUILD/plain/tests" '--filter=*slow*' >"$log" 2>&1 &&
        grep -q '^\[       OK \]' "$log"
    verdict "tests that take seconds" $?
}

# Every test with "thread" in its name, under ThreadSanitizer. Some of them fork a copy of the host
# first, which it calls unsupported by default.
threads() {
    if [ -f "$BUILD/tsan/unavailable" ]; then
        echo "skipped: threads ($(cat "$BUILD/tsan/unavailable"))"
        return
    fi
    TSAN_OPTIONS=die_after_fork=0 "$BUILD/tsan/tests" '--filter=*thread*' >"$log" 2>&1 &&
        grep -q '^\[       OK \]' "$log"
    verdict "ThreadSanitizer" $?
    options=
    "$BUILD/examples/probe" | grep -q '^policy *yes' || options=--no-policy
    $CC -g -O1 -fsanitize=thread -pthread -o "$out/judge" examples/judge.c >"$log" 2>&1 &&
        "$out/judge" $options --jobs 4 examples/judge >"$log" 2>&1
    verdict "ThreadSanitizer, the judge with four workers" $?
}

# Each language that sbx_run_code knows and that is installed here, as this user and, if that is
# root, as one without privileges. Tools of the system come first, as in the tests.
languages() {
    dir=$(mktemp -d "${TMPDIR:-/tmp}/sbx-languages.XXXXXX") && chmod 755 "$dir" || return
    cp "$BUILD/plain/tests" "$BUILD/plain/child" "$dir" || return
    for pair in sh:sh bash:bash python:python3 javascript:node typescript:node c:cc c++:c++ \
        rust:rustc go:go java:javac perl:perl ruby:ruby lua:lua; do
        name=${pair%%:*} tool=${pair##*:}
        where=$(PATH="/usr/bin:/bin:$PATH" command -v "$tool") || {
            echo "skipped: $name ($tool is not installed)"
            continue
        }
        if [ $name = typescript ] && ! "$where" --version --experimental-strip-types \
            >/dev/null 2>&1; then
            echo "skipped: $name (this node cannot run it)"
            continue
        fi
        language_as "$(id -u)"
        [ "$(id -u)" = 0 ] || continue
        case $where in
        /usr/* | /bin/*) language_as 65534 ;;
        *) echo "skipped: $name for other users ($where is not theirs)" ;;
        esac
    done
    (cd "$dir" && SBX_TEST_LANGUAGES=all ./tests '--filter=attack.a36_*') >"$log" 2>&1
    verdict "100,000 files of a program are removed" $?
    rm -rf "$dir"
}

# Honest programs under a policy, as this user and, if that is root, as one without privileges.
honest() {
    dir=$(mktemp -d "${TMPDIR:-/tmp}/sbx-honest.XXXXXX") && chmod 755 "$dir" || return
    cp "$BUILD/plain/tests" "$BUILD/plain/child" "$dir" || return
    users=$(id -u)
    [ "$users" != 0 ] || users="0 65534"
    for uid in $users; do
        for name in $("$dir/tests" --list-tests | sed -n 's/^honest\.//p'); do
            (
                cd "$dir" || exit 1
                export SBX_TEST_SLOW=1
                [ "$uid" = "$(id -u)" ] || export SBX_TEST_AS_UID="$uid"
                ./tests "--filter=honest.$name"
            ) >"$log" 2>&1
            status=$?
            if grep -q '^ *Skipped : ' "$log"; then
                echo "skipped: $name, uid $uid ($(sed -n 's/^ *Skipped : //p' "$log"))"
            else
                grep -q '^\[       OK \]' "$log" || status=1
                verdict "$name, uid $uid" $status
            fi
        done
    done
    rm -rf "$dir"
}

language_as() { # UID: the language $name
    (
        cd "$dir" || exit 1
        export SBX_TEST_LANGUAGES="$name"
        [ "$1" = "$(id -u)" ] || export SBX_TEST_AS_UID="$1"
        ./tests '--filter=code.each_language*'
    ) >"$log" 2>&1 && grep -q '^\[       OK \]' "$log"
    verdict "$name, uid $1" $?
}

# The attacks on the whole tree, 200 times each, as root and as an ordinary user who can reach them.
treesoak() {
    dir=$(mktemp -d "${TMPDIR:-/tmp}/sbx-soak.XXXXXX") && chmod 755 "$dir" || return
    if $CC -std=c99 -O1 -g -Wall -Wextra -pthread -o "$dir/treesoak" tests/treesoak.c \
        tests/test_corral.c tests/test_trace.c tests/test_util.c tests/test_clock.c \
        tests/impl.c >"$log" 2>&1 && cp "$BUILD/child" "$dir"; then
        "$dir/treesoak" "${REPETITIONS:-200}" || failed=1 # prints its own lines
    else
        verdict "treesoak.c compiles" 1
    fi
    rm -rf "$dir"
}

# An example that somebody copied, with sbx.h beside it.
copied() {
    mkdir -p "$out/copied" && cp sbx.h examples/*.c "$out/copied" || return
    for source in "$out"/copied/*.c; do
        $CC -Wall -Wextra -Wpedantic -Werror -fsyntax-only "$source" >"$log" 2>&1
        verdict "$(basename "$source") compiles beside a copied sbx.h" $?
    done
    rm -rf "$out/copied"
}

# examples/mcp_server.c with the official TypeScript SDK, if npm can get it.
mcp_client() {
    missing node || missing npm && return
    mkdir -p "$out/npm" && cp tests/mcp/client.mjs "$out/npm" || return
    if ! [ -d "$out/npm/node_modules/@modelcontextprotocol/sdk" ] &&
        ! (cd "$out/npm" && timeout 120 npm install --no-audit --no-fund --no-save \
            @modelcontextprotocol/sdk@1) >"$log" 2>&1; then
        echo "skipped: mcp-client (npm could not install the SDK)"
        return
    fi
    options=
    "$BUILD/examples/probe" | grep -q '^policy *yes' || options=--no-policy
    timeout 120 node "$out/npm/client.mjs" "$BUILD/examples/mcp_server" $options || failed=1
}

# The judge's page in a browser: a picture of it, with as many colours as verdicts need.
browser() {
    chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
    if [ -z "$chromium" ]; then
        echo "skipped: browser (no Chromium)"
        return
    fi
    options=
    "$BUILD/examples/probe" | grep -q '^policy *yes' || options=--no-policy
    PATH=/usr/local/bin:/usr/bin:/bin "$BUILD/examples/judge" $options --html "$out/judge.html" \
        examples/judge >"$log" 2>&1
    verdict "judge writes a page" $?
    timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --window-size=1000,900 \
        "--screenshot=$out/judge.png" "file://$(cd "$out" && pwd)/judge.html" >"$log" 2>&1
    [ -s "$out/judge.png" ] && [ "$(wc -c <"$out/judge.png")" -gt 20000 ]
    verdict "a browser shows it: $out/judge.png" $?
    timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --dump-dom \
        "file://$(cd "$out" && pwd)/judge.html" >"$out/judge.dom" 2>"$log"
    [ "$(grep -o '<svg' "$out/judge.dom" | grep -c .)" = $((2 * $(ls examples/judge/submissions | grep -c .))) ]
    verdict "with two bars for each submission" $?
}

case $1 in
browser) browser ;;
mcp-client) mcp_client ;;
copied) copied ;;
format) format ;;
tidy) tidy ;;
treesoak) treesoak ;;
slow) slow ;;
soak-mixed) soak_mixed ;;
analyzer) analyzer ;;
qemu) # a sample; QEMU=all is the whole
    [ "${QEMU:-}" != all ] || exec sh "$0" qemu-all
    sh tests/qemu/run.sh 'cgroup.*' 'tree.e*' 'watch.m*' 'policy.a4*' || failed=1
    echo "-- the same kernel without Landlock"
    SBX_QEMU_APPEND=lsm=capability sh tests/qemu/run.sh 'policy.root*' 'policy.probe*' || failed=1
    ;;
qemu-all)
    sh tests/qemu/run.sh 'policy.*' 'cgroup.*' 'tree.*' 'watch.*' || failed=1
    echo "-- the same kernel without Landlock"
    SBX_QEMU_APPEND=lsm=capability sh tests/qemu/run.sh 'policy.root*' 'policy.a48*' 'policy.a50*' \
        'policy.enf*' 'policy.probe*' || failed=1
    ;;
cppcheck) cppcheck_header ;;
soak) soak ;;
valgrind) valgrind_soak ;;
threads) threads ;;
languages) languages ;;
honest) honest ;;
*)
    echo "FAILED  no such check: $1"
    exit 2
    ;;
esac
exit $failed
