#!/bin/sh
# The test program for other machines and another libc, and some of its suites there: run.sh [NAME...]
# i386 runs natively, aarch64, arm, riscv64 and s390x (big-endian) under qemu-user, which has no
# namespaces, no Landlock, no filters and no limits on memory: so these are about bytes, numbers and the
# ways around what is missing. One line for each, ok, FAILED or skipped with the reason.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
CC=${CC:-cc}
JOBS=${JOBS:-2}
out=$BUILD/platforms
failed=0
mkdir -p "$out" || exit 1

# What cannot be expected: a limit or a user that the emulator does not pass on; under i386, programs of
# the 64-bit system, whose calls its filters do not know.
known="config.generous_limits_are_fine config.largest_values_are_exact config.uid_and_gid
    config.a_hard_limit_of_cpu_time_loosens_nothing
    verdict.image_larger_than_the_address_space_is_a_memory_limit"

# works COMPILER RUNNER: does it build something that runs here?
works() {
    # shellcheck disable=SC2086
    $1 -std=c99 -pthread -o "$out/try" tests/compile/empty.c >/dev/null 2>&1 && $2 "$out/try" >/dev/null 2>&1
}

# platform NAME "COMPILER AND FLAGS" RUNNER: the header has to compile without a word.
platform() {
    name=$1 compiler=$2 runner=$3
    [ -z "$chosen" ] || case " $chosen " in *" $name "*) ;; *) return ;; esac
    dir=$out/$name
    rm -rf "$dir" && mkdir -p "$dir" || exit 1
    if ! works "$compiler" "$runner"; then
        echo "skipped: platform $name (no compiler with its libc, or no ${runner:-way to run it})"
        return
    fi
    # shellcheck disable=SC2086
    if ! $compiler -std=c99 -O1 -Wall -Wextra -Werror -pthread -c -o "$dir/impl.o" tests/impl.c >"$dir/log" 2>&1; then
        echo "FAILED  platform $name: sbx.h does not compile cleanly"
        head -n 20 "$dir/log" | sed 's/^/    /'
        failed=1
        return
    fi
    # shellcheck disable=SC2016
    ls tests/test_*.c tests/main.c | xargs -P "$JOBS" -I{} sh -c \
        "$compiler"' -std=c99 -O0 -w -pthread -c -o '"$dir"'/$(basename {} .c).o {}' >"$dir/log" 2>&1
    # shellcheck disable=SC2086
    $compiler -pthread -o "$dir/tests" "$dir"/*.o >>"$dir/log" 2>&1 || {
        echo "FAILED  platform $name: the tests do not build"
        grep -v warning "$dir/log" | head -n 20 | sed 's/^/    /'
        failed=1
        return
    }
    rm -f "$dir"/*.o
    cp "$BUILD/child" "$dir/child" || exit 1
    for suite in config verdict streams; do
        (cd "$dir" && timeout -k 5 300 $runner ./tests --filter="$suite.*" 2>&1 </dev/null)
        echo "[ STATUS ] $?"
    done >"$dir/log"
    judge
}

# The log of a platform: what failed without being known, and how much was well.
judge() {
    awk -v name="$name" -v known="$known" '
        BEGIN { n = split(known, list, " "); for (i = 1; i <= n; i++) ignored[list[i]] = 1 }
        /^\[ *OK *\]/ { well++ }
        /^\[ *SKIPPED *\] .*\(/ { skipped++ }
        /^\[ *FAILED *\] .*\(/ { if ($4 in ignored) left++; else bad = bad " " $4 }
        /^\[ STATUS \]/ && $4 > 1 { bad = bad " status-" $4 }
        END {
            if (bad || !well) printf "FAILED  platform %s:%s\n", name, bad ? bad : " no test ran"
            else printf "ok      platform %s: %d tests of config, verdict and streams\n", name, well
            if (left + skipped) printf "skipped: platform %s: %d tests that cannot be there\n", name, left + skipped
            exit bad || !well
        }' "$dir/log" || failed=1
}

# cross MACHINE TRIPLE: its own gcc, else clang with the libraries of the cross compiler.
cross() {
    if command -v "$2-gcc" >/dev/null 2>&1; then
        platform "$1" "$2-gcc -static" "qemu-$1"
    else
        platform "$1" "clang --target=$2 -static" "qemu-$1"
    fi
}

chosen="$*"
[ -x "$BUILD/child" ] || make -s BUILD="$BUILD" "$BUILD/child" >/dev/null || exit 1
platform i386 "gcc -m32" ""
cross aarch64 aarch64-linux-gnu
cross arm arm-linux-gnueabihf
cross riscv64 riscv64-linux-gnu
cross s390x s390x-linux-gnu
exit $failed
