#!/bin/sh
# sbx.h with one mistake in it, again and again: the tests have to notice each. run.sh [quick]
#   quick      a sample, and only the test that is known to notice
#   ONLY=7     that one alone; ONLY='text' those with that text in their names
# Which test noticed what is also in build/mutants/killers.txt.
# The list is list.txt; a change that does not fit the header any more is a failure of the list.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
CC=${CC:-cc}
JOBS=${JOBS:-2}
list=tests/mutants/list.txt
out=$BUILD/mutants
mkdir -p "$out" || exit 1

make -s -j"$JOBS" "$BUILD/plain/tests" "$BUILD/child" >"$out/make.log" 2>&1 || {
    echo "FAILED  mutants: the tests do not build"
    tail -n 20 "$out/make.log"
    exit 1
}

tmp=$(mktemp -d "${TMPDIR:-/tmp}/mutants-of-sbx.XXXXXX") || exit 1
chmod 755 "$tmp"
lanes=""
trap '[ -z "$lanes" ] || kill $lanes 2>/dev/null; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
units=$(grep -l 'define SBX_IMPLEMENTATION' tests/*.c | sed 's|tests/||; s|\.c$||' | grep -E '^(impl|test_)')
others=""
for object in "$BUILD"/plain/*.o; do
    unit=$(basename "$object" .o)
    echo "$units" | grep -qx "$unit" || others="$others $object"
done

# field NUMBER LETTER: what stands behind "= ", "! " or "? " for that change.
field() {
    awk -v number="$1" -v letter="$2" '
        /^= / { at++ }
        at == number && substr($0, 1, 2) == letter " " { print substr($0, 3); exit }' "$list"
}

# build NUMBER DIR: 0 = a test program with that mistake is in DIR.
build() {
    mkdir -p "$2/tests" && cp tests/*.c tests/*.h "$2/tests" || return 1
    awk -v number="$1" -v header=sbx.h -f tests/mutants/apply.awk "$list" >"$2/sbx.h" || {
        cp "$2/sbx.h" "$2/log"
        return 1
    }
    objects=""
    for unit in $units; do # the tests of the filter have one of their own
        case "$unit $hint" in
        impl* | *policy* | *filter*) ;;
        *)
            objects="$objects $BUILD/plain/$unit.o"
            continue
            ;;
        esac
        $CC -std=c99 -O0 -w -pthread -c -o "$2/$unit.o" "$2/tests/$unit.c" >"$2/log" 2>&1 || return 1
        objects="$objects $2/$unit.o"
    done
    # shellcheck disable=SC2086
    $CC -pthread -o "$2/program" $others $objects >"$2/log" 2>&1 || return 1
    mkdir -p "$2/run" && cp "$2/program" "$2/run/tests" && cp "$BUILD/child" "$2/run/child"
}

# failing DIR UID PATTERN: the tests that fail there, the first one alone if FIRST is set, without
# those that fail in an unchanged header too.
failing() {
    [ "$2" = "$(id -u)" ] || chown -R "$2:$2" "$1/run"
    (
        cd "$1/run" || exit 1
        [ "$2" = "$(id -u)" ] || export SBX_TEST_AS_UID="$2"
        timeout -s KILL 400 ./tests --filter="$3" 2>&1 </dev/null
        echo "[ STATUS ] $?"
    ) | awk -v first="${FIRST:-}" -v known="$tmp/known" '
        BEGIN { while ((getline line <known) > 0) ignored[line] = 1 }
        /^\[ *FAILED *\] [a-z_0-9]*\./ {
            sub(/^\[ *FAILED *\] */, ""); sub(/ .*/, "")
            if ($0 in ignored || $0 in told) next
            print; told[$0] = 1
            if (first) exit
        }
        /^\[ STATUS \]/ && $4 > 1 { print "status-" $4 }'
}

# confirmed DIR UID TEST: it fails there again, and without the change it does not: a busy machine may
# make any test fail once.
confirmed() {
    case $3 in status-*) return ;; esac
    [ -n "$(failing "$1" "$2" "$3")" ] || return 1
    mkdir -p "$tmp/plain-$user/run" && cp "$BUILD/plain/tests" "$BUILD/child" "$tmp/plain-$user/run" || return 1
    [ -z "$(failing "$tmp/plain-$user" "$2" "$3")" ]
}

# notice DIR PATTERN...: the first test that notices, as this user or without privileges.
notice() {
    where=$1
    shift
    for pattern in "$@"; do
        for uid in $(id -u) $([ "$(id -u)" != 0 ] || echo $user); do
            found=$(FIRST=1 failing "$where" "$uid" "$pattern" | head -n 1)
            if [ -n "$found" ] && confirmed "$where" "$uid" "$found"; then echo "$found" && return; fi
        done
    done
}

# judge NUMBER LANE: one line about it.
judge() {
    name=$(field "$1" '=') hint=$(field "$1" '!') reason=$(field "$1" '?')
    dir=$tmp/$2.$1 user=$((65100 + $2))
    if ! build "$1" "$dir"; then
        echo "FAILED  mutant $1: $name: $(head -n 3 "$dir/log" | tr '\n' ' ')"
        rm -rf "$dir"
        return
    fi
    set -f
    # shellcheck disable=SC2086
    for try in 1 2 3; do # a race may hide a mistake for once
        by=$(notice "$dir" $hint)
        [ -z "$by" ] && [ -n "$hint" ] || break
    done
    # shellcheck disable=SC2086
    [ -n "$by$quick" ] || by=$(notice "$dir" $suites)
    set +f
    rm -rf "$dir"
    if [ -n "$by" ]; then
        echo "ok      mutant $1: $name ($by)"
        printf '%s\t%s\n' "$by" "$name" >>"$out/killers.txt"
    elif [ -n "$reason" ]; then
        echo "skipped: mutant $1: $name ($reason)"
    else
        echo "FAILED  mutant $1: $name: no test notices"
    fi
}

quick=${1:-}
total=$(grep -c '^= ' "$list")
chosen=""
n=0
while [ $n -lt "$total" ]; do
    n=$((n + 1))
    if [ -n "${ONLY:-}" ]; then
        case $ONLY in
        *[!0-9]*) field $n '=' | grep -qF "$ONLY" || continue ;;
        *) [ "$ONLY" = $n ] || continue ;;
        esac
    elif [ -n "$quick" ]; then # with a hint, and one in so many
        [ -n "$(field $n '!')" ] || continue
        [ $((n % ${SAMPLE:-9})) -eq 0 ] || continue
    fi
    chosen="$chosen $n"
done
# Every change has to fit, also those that are not run.
awk -v number=0 -v header=sbx.h -f tests/mutants/apply.awk "$list" | sed 's/^/FAILED  mutants: list.txt: /'
[ -n "$chosen" ] || exit 0

# The fast suites first. What fails in the header as it is proves nothing about a change.
suites=""
for suite in config verdict streams call stop seed pitfall attack host watch policy tree \
    $("$BUILD/plain/tests" --list-tests | sed -n 's/^\([a-z_0-9]*\)\..*/\1/p' | sort -u); do
    case " $suites " in
    *" $suite.* "*) ;;
    *) suites="$suites $suite.*" ;;
    esac
done
set -f
: >"$tmp/known"
mkdir -p "$tmp/plain/run" && cp "$BUILD/plain/tests" "$BUILD/child" "$tmp/plain/run" || exit 1
if [ -n "$quick" ]; then
    for n in $chosen; do field "$n" '!' | tr ' ' '\n'; done | sort -u |
        while read -r pattern; do failing "$tmp/plain" "$(id -u)" "$pattern"; done >"$tmp/broken"
    cp "$tmp/broken" "$tmp/known"
else
    [ "$out/known" -nt "$BUILD/plain/tests" ] ||
        for pattern in $suites; do failing "$tmp/plain" "$(id -u)" "$pattern"; done >"$out/known"
    cp "$out/known" "$tmp/known"
fi
sort -u "$tmp/known" | sed 's/^/FAILED  mutants: without a change: /'
set +f
rm -f "$out/killers.txt"

lane=0
while [ $lane -lt "$JOBS" ]; do
    for n in $chosen; do
        if mkdir "$tmp/taken-$n" 2>/dev/null; then judge "$n" $lane; fi
    done &
    lanes="$lanes $!"
    lane=$((lane + 1))
done
wait $lanes
lanes=""
