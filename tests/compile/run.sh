#!/bin/sh
# Compile tests: run.sh quick|wings|full. Every case builds real programs from sbx.h without one line of
# output from the compiler, and runs them. "quick" needs only $CC, as C99; "full" tries every compiler
# and standard that is installed. One line per case: ok, FAILED, or skipped with the reason.
set -u
cd "$(dirname "$0")/../.." || exit 1
here=tests/compile
out=${BUILD:-build}/compile
CC=${CC:-cc}
warn="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
failed=0
mkdir -p "$out" || exit 1
log=$out/log

passed() { printf 'ok      compile: %s\n' "$1"; }
skipped() { printf 'skipped: compile: %s (%s)\n' "$1" "$2"; }
failed() {
    printf 'FAILED  compile: %s\n' "$1"
    sed 's/^/    /' "$log" | head -n 40
    failed=1
}

# quiet COMMAND...: succeeds, and says nothing.
quiet() {
    "$@" >"$log" 2>&1 && [ ! -s "$log" ] && return 0
    printf '%s\n' "by: $*" >>"$log"
    return 1
}

# case_clean NAME COMMAND...
case_clean() {
    name=$1
    shift
    if quiet "$@"; then passed "$name"; else failed "$name"; fi
}

# case_refused NAME WORD COMMAND...: fails, and all it says is our own #error with that word.
case_refused() {
    name=$1 word=$2
    shift 2
    if "$@" >"$log" 2>&1; then
        echo "compiled, but should be refused" >>"$log"
        failed "$name"
    elif ! grep -i 'error' "$log" | grep -q "sbx\.h:.*$word"; then
        echo "no clear #error with '$word'" >>"$log"
        failed "$name"
    elif grep 'error:' "$log" | grep -qv 'error: .*sbx\.h:'; then
        echo "errors besides the clear one" >>"$log"
        failed "$name"
    else
        passed "$name"
    fi
}

# build COMPILER-AND-FLAGS [-x c++]: two units with the API and one with the implementation; two
# units with their own static one; the implementation after the API. Linked and run.
build() {
    o=$out/u
    cc=$1
    x=$2 # only for compiling, since objects are no source
    for unit in unit_a unit_b impl; do
        quiet $cc $x -I. -c -o "$o-$unit.o" "$here/$unit.c" || return 1
    done
    quiet $cc -o "$o-units" "$o-unit_a.o" "$o-unit_b.o" "$o-impl.o" && quiet "$o-units" || return 1
    for unit in unit_a unit_b; do
        quiet $cc $x -I. -DSBX_STATIC -DSBX_IMPLEMENTATION -c -o "$o-$unit.o" "$here/$unit.c" ||
            return 1
    done
    quiet $cc -o "$o-static" "$o-unit_a.o" "$o-unit_b.o" && quiet "$o-static" || return 1
    quiet $cc $x -I. -c -o "$o-again.o" "$here/again.c" && quiet $cc -o "$o-again" "$o-again.o" &&
        quiet "$o-again"
}

# available COMPILER-AND-FLAGS [-x c++]: can it build and run an ordinary program here?
available() {
    command -v "${1%% *}" >/dev/null 2>&1 || { why="not installed"; return 1; }
    printf '#include <errno.h>\n#include <stdio.h>\nint main(void) { return printf("%%s", "") != 0; }\n' >"$out/try.c"
    why="does not build an ordinary program here"
    $1 ${2:-} -c -o "$out/try.o" "$out/try.c" >/dev/null 2>&1 &&
        $1 -o "$out/try" "$out/try.o" >/dev/null 2>&1 && "$out/try" >/dev/null 2>&1
}

# standards COMPILER FLAGS "-x c++"-or-"" STANDARD...: each standard, Linux and portable paths.
standards() {
    compiler=$1 flags=$2 lang=$3
    shift 3
    for std in "$@"; do
        name="$compiler -std=$std"
        case $flags in *-m32*) name="$name -m32" ;; *-static*) name="$name -static" ;; esac
        if ! available "$compiler -std=$std $flags" "$lang"; then
            skipped "$name" "$why"
            continue
        fi
        for mode in "" -DSBX_NO_LINUX; do
            if build "$compiler -std=$std $flags $mode" "$lang"; then
                passed "$name${mode:+ $mode}"
            else
                failed "$name${mode:+ $mode}"
            fi
        done
    done
}

no_tree=-DSBX_NO_TREE no_watch=-DSBX_NO_WATCH no_cgroup=-DSBX_NO_CGROUP
no_policy=-DSBX_NO_POLICY no_call=-DSBX_NO_CALL no_code=-DSBX_NO_CODE
no_wings="$no_tree $no_watch $no_cgroup $no_policy $no_call $no_code"

# wings COMPILER-AND-FLAGS "-x c++"-or-"": the header with one wing less, each, with none of them, and
# with nothing of Linux besides; the implementation alone and with most functions unused.
wings() {
    if ! available "$1" "$2"; then
        skipped "${1%% -W*}, wings" "$why"
        return
    fi
    for off in $no_wings "$no_wings" "-DSBX_NO_LINUX $no_wings"; do
        name="${1%% -W*} $off"
        if quiet $1 $2 $off -I. -c -o "$out/w.o" "$here/impl.c" &&
            quiet $1 $2 $off -O2 -I. -DSBX_STATIC -DSBX_IMPLEMENTATION -c -o "$out/w.o" \
                "$here/unit_b.c"; then
            passed "$name"
        else
            failed "$name"
        fi
    done
}

# scissors COMPILER-AND-FLAGS: a wing cut out of the file leaves a header that compiles, and the
# core alone is left when all of them are.
scissors() {
    if ! command -v unifdef >/dev/null 2>&1; then
        skipped "wings cut out of the file" "no unifdef"
        return
    fi
    all=""
    for wing in TREE WATCH CGROUP POLICY CALL CODE; do
        all="$all -DSBX__HAS_$wing=0"
        cut_out "$1" "$wing" "-DSBX__HAS_$wing=0" "-DSBX_NO_$wing"
    done
    cut_out "$1" "all wings and Linux" "-DSBX__LINUX=0 $all" "-DSBX_NO_LINUX $no_wings"
}

cut_out() { # COMPILER-AND-FLAGS NAME WHAT-IS-CUT OFF
    mkdir -p "$out/cut"
    unifdef $3 -o "$out/cut/sbx.h" sbx.h
    case_clean "${1%% -W*}, cut out: $2" $1 $4 -I"$out/cut" -c -o "$out/w.o" "$here/impl.c"
}

# What one C compiler must accept and refuse besides; $1 = compiler.
specials() {
    c="$1 $warn -Wstrict-prototypes -I. -c -o $out/s.o"
    for mode in "" -DSBX_NO_LINUX; do
        m=${mode:+ $mode}
        case_clean "$1 system headers first, default standard$m" $c $mode -DMANY_HEADERS \
            "$here/stdio_first.c"
        case_clean "$1 system headers first, -std=gnu17$m" $c $mode -std=gnu17 -DMANY_HEADERS \
            "$here/stdio_first.c"
        case_refused "$1 <stdio.h> first, -std=c99$m" "_GNU_SOURCE\|before\|first" \
            $1 $mode -std=c99 -I. -c -o "$out/s.o" "$here/stdio_first.c"
        case_refused "$1 -D_WIN32$m" "Windows" $1 $mode -D_WIN32 -I. -c -o "$out/s.o" \
            "$here/unit_a.c"
        case_refused "$1 -D_WIN32, implementation$m" "Windows" $1 $mode -D_WIN32 -I. -c \
            -o "$out/s.o" "$here/impl.c"
    done
    case_refused "$1 SBX_REALLOC without SBX_FREE" "SBX_FREE" $1 -DSBX_REALLOC=realloc -I. -c \
        -o "$out/s.o" "$here/impl.c"
    case_refused "$1 SBX_FREE without SBX_REALLOC" "SBX_REALLOC" $1 -DSBX_FREE=free -I. -c \
        -o "$out/s.o" "$here/impl.c"
    case_clean "$1 SBX_API of the user's" $c -std=c99 "-DSBX_API=__attribute__((used)) extern" \
        "$here/impl.c"
    if quiet $c -std=c99 "$here/twice.c"; then
        passed "$1 implementation twice in one unit"
    else
        case_refused "$1 implementation twice in one unit" "twice\|second\|again\|already" \
            $1 -std=c99 -I. -c -o "$out/s.o" "$here/twice.c"
    fi
    public_face "$1"
}

# optimised COMPILER: what only shows when the compiler thinks for a while.
optimised() {
    c="$1 $warn -Wstrict-prototypes -I. -c -o $out/s.o"
    for mode in "" -DSBX_NO_LINUX; do
        m=${mode:+ $mode}
        case_clean "$1 -D_FORTIFY_SOURCE=2 -O2$m" $c $mode -std=c99 -O2 -U_FORTIFY_SOURCE \
            -D_FORTIFY_SOURCE=2 "$here/impl.c"
        case_clean "$1 -O3$m" $c $mode -std=c99 -O3 "$here/impl.c"
        case_clean "$1 -Os$m" $c $mode -std=c99 -Os "$here/impl.c"
        case_clean "$1 -O2, SBX_STATIC$m" $c $mode -std=c99 -O2 -DSBX_STATIC -DSBX_IMPLEMENTATION \
            "$here/unit_b.c"
    done
}

# The API includes only <stddef.h>; the implementation exports only sbx_ names, and has no state.
public_face() {
    if ! $1 -std=c99 -I. -M "$here/unit_b.c" >"$out/deps" 2>&1; then
        skipped "$1 headers of the API" "no -M"
    elif grep -E '/(stdio|stdlib|stdint|string|unistd|signal|sys/[a-z]*)\.h' "$out/deps" >"$log"
    then
        failed "$1 headers of the API"
    else
        passed "$1 headers of the API"
    fi
    if ! command -v nm >/dev/null 2>&1; then
        skipped "$1 exported names" "no nm"
        return
    fi
    $1 -std=c99 -I. -c -o "$out/s.o" "$here/impl.c" >"$log" 2>&1
    nm -g "$out/s.o" 2>>"$log" | awk '$2 ~ /^[A-Z]$/ && $2 != "U" { print $3 }' >"$out/names"
    if grep -qx 'sbx_run' "$out/names" && ! grep -Ev '^sbx_[a-z]' "$out/names" >"$log"; then
        passed "$1 exported names"
    else
        failed "$1 exported names"
    fi

    # No global state: the one word is that of a function in its own child (sbx_fail).
    if ! $1 -std=c99 -fno-pic -fno-pie -I. -c -o "$out/s.o" "$here/impl.c" >"$log" 2>&1; then
        skipped "$1 global state" "no code without relocations"
    elif nm "$out/s.o" | awk '$2 ~ /^[bBcCdD]$/ && $3 != "sbx__current"' | tee "$log" | grep -q .; then
        failed "$1 global state"
    else
        passed "$1 global state"
    fi
}

# A C++ host and a C implementation, linked together.
mixed() {
    name="$2 host, $1 implementation"
    if ! available "$1" || ! available "$2" "-x c++"; then
        skipped "$name" "$why"
    elif quiet $1 $warn -std=c99 -I. -c -o "$out/c.o" "$here/impl.c" &&
        quiet $2 $warn -std=c++11 -x c++ -I. -c -o "$out/a.o" "$here/unit_a.c" &&
        quiet $2 $warn -std=c++11 -x c++ -I. -c -o "$out/b.o" "$here/unit_b.c" &&
        quiet $2 -o "$out/mixed" "$out/a.o" "$out/b.o" "$out/c.o" && quiet "$out/mixed"; then
        passed "$name"
    else
        failed "$name"
    fi
}

# The programs of the long targets, which no other test builds: some of them look inside sbx.h.
long_targets() {
    for unit in bench/host bench/bench bench/plot treesoak soak walk; do
        case_clean "tests/$unit.c" $1 -std=c99 -Wall -Wextra -I. -Itests -c -o "$out/s.o" "tests/$unit.c"
    done
}

c_warn="$warn -Wstrict-prototypes"
case ${1:-quick} in
quick)
    standards "$CC" "$c_warn" "" c99
    specials "$CC"
    if [ "$(uname -s)" = Linux ]; then long_targets "$CC"; else skipped "long targets" "not Linux"; fi
    ;;
wings)
    wings "$CC -std=c99 $c_warn" ""
    scissors "$CC -std=c99 $c_warn"
    ;;
full)
    for compiler in gcc clang; do
        standards $compiler "$c_warn" "" c99 c11 c17 c2x gnu99
        if available $compiler; then
            specials $compiler
            optimised $compiler
        else
            skipped "$compiler cases" "$why"
        fi
    done
    for compiler in g++ clang++; do
        standards $compiler "$warn" "-x c++" c++11 c++14 c++17 c++20
    done
    standards musl-gcc "$c_warn" "" c99 c17
    standards musl-gcc "$c_warn -static" "" c99
    standards tcc "-Wall -Werror" "" c99
    standards gcc "$c_warn -m32" "" c99 c17
    for compiler in gcc clang; do wings "$compiler -std=c99 $c_warn" ""; done
    scissors "gcc -std=c99 $c_warn"
    for compiler in g++ clang++; do wings "$compiler -std=c++11 $warn" "-x c++"; done
    wings "musl-gcc -std=c99 $c_warn" ""
    mixed gcc g++
    mixed clang clang++
    ;;
*)
    echo "usage: run.sh quick|wings|full" >&2
    exit 2
    ;;
esac
exit $failed
