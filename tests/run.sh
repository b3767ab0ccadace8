#!/bin/sh
# Runs what make has built and sums it up: run.sh JOB...
#
#   plain, asan, ...  build/JOB/tests, as this user and, if that is root, also without privileges;
#                     JOB@root and JOB@user only one of the two
#   utest             the self-test of utest.h
#   examples          what each example prints against tests/expected/NAME.txt
#   compile, matrix   tests/compile/run.sh quick, full
#   anything else     tests/JOB/run.sh, or tests/check.sh JOB
#
# The users and the rest go side by side. One line per run, the full text of what failed, and at the
# end the totals alone on a line. A crash, or a program that ends without a summary, is a failure.
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
CC=${CC:-cc}
UNPRIVILEGED="65534 65533 65532" # one for each lane
export BUILD CC

tmp=$(mktemp -d "${TMPDIR:-/tmp}/sbx-tests.XXXXXX") || exit 1
chmod 755 "$tmp"
mkdir "$tmp/pids"
trap 'rm -rf "$tmp"' EXIT
trap 'stop_all; exit 130' INT TERM HUP

lanes=""
stop_all() {
    [ -z "$lanes" ] || kill $lanes 2>/dev/null
    for file in "$tmp"/pids/*; do
        [ -f "$file" ] && kill "$(cat "$file")" 2>/dev/null
    done
}

# bounded SECONDS COMMAND...: its exit status; killed when the time is over or run.sh is stopped.
bounded() {
    limit=$1
    shift
    "$@" &
    pid=$!
    file=$tmp/pids/$pid
    echo $pid >"$file"
    (
        while [ "$limit" -gt 0 ] && kill -0 $pid; do
            sleep 1
            limit=$((limit - 1))
        done
        [ "$limit" -gt 0 ] || kill -KILL $pid
    ) >/dev/null 2>&1 &
    wait $pid
    status=$?
    rm -f "$file"
    return $status
}

# report LABEL PASSED FAILED SKIPPED START: one line, and the numbers for the totals.
report() {
    printf '%-28s %4d passed, %d failed, %d skipped  %4d s\n' "$1" "$2" "$3" "$4" \
        $(($(date +%s) - $5))
    echo "$2 $3 $4" >>"$tmp/counts"
}

# number TAG FILE: N of the line "[ TAG ] N tests".
number() {
    n=$(sed -n "s/^\[ *$1 *\] \([0-9][0-9]*\) tests.*/\1/p" "$2" | tail -n 1)
    echo "${n:-0}"
}

# Only the blocks of tests that failed or never ended, and what else a crash printed.
failing_blocks() {
    awk '
        /^\[ RUN / { block = ""; open = 1 }
        open { block = block $0 "\n" }
        !open && !/^\[/ { printf "%s\n", $0 }
        /^\[ *(OK|SKIPPED) *\]/ { open = 0 }
        /^\[ *FAILED *\]/ { if (open) printf "%s", block; open = 0 }
        END { if (open) printf "%s", block }
    ' "$1" | sed 's/^/    /'
}

# suites VARIANT: their names, those that take longest first.
suites() {
    first="policy tree watch host pitfall attack seed code"
    all=$("$BUILD/$1/tests" --list-tests | sed -n 's/^\([a-z_]*\)\..*/\1/p' | sort -u)
    for suite in $first; do
        case " $(echo $all) " in *" $suite "*) echo "$suite" ;; esac
    done
    for suite in $all; do
        case " $first " in *" $suite "*) ;; *) echo "$suite" ;; esac
    done
}

# suite VARIANT UID SUITE DIR: the binary in a directory of this lane's own, which that user can read
# and write. Its log goes to DIR.
suite() {
    variant=$1 uid=$2
    dir=$tmp/lane$lane-$variant
    log=$4/$3.log
    if ! [ -d "$dir" ]; then
        mkdir "$dir" && cp "$BUILD/$variant/tests" "$BUILD/$variant/child" "$dir"
        [ "$uid" = "$me" ] || chown -R "$uid:$uid" "$dir"
    fi
    (
        cd "$dir" || exit 1
        [ "$uid" = "$me" ] || export SBX_TEST_AS_UID="$uid"
        export ASAN_OPTIONS="allocator_may_return_null=1:${ASAN_OPTIONS:-}"
        export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}"
        bounded 1000 ./tests --enable-mixed-units --filter="$3.*" ${TEST_ARGS:-} </dev/null
    ) >"$log" 2>&1
    status=$?
    passed=$(number PASSED "$log") failed=$(number FAILED "$log") skipped=$(number SKIPPED "$log")
    if ! grep -q '^\[ *PASSED *\]' "$log"; then # no summary: count what was still reported
        passed=$(grep -c '^\[ *OK *\]' "$log") skipped=$(grep -c '^\[ *SKIPPED *\]' "$log")
        failed=$(($(grep -c '^\[ *FAILED *\]' "$log") + 1))
        echo "the suite $3 ended with status $status and no summary" >>"$log"
    elif [ $status -ne 0 ] && [ "$failed" -eq 0 ]; then
        failed=1
        echo "the suite $3 ended with status $status" >>"$log"
    fi
    echo "$passed $failed $skipped" >"$4/$3.counts"
}

# unit VARIANT CLASS UID: those of its suites that no other lane has taken. Who ends the last one
# reports on all.
unit() {
    label="$1, $2"
    to=$tmp/$1-$2
    if take "start-$1-$2"; then
        date +%s >"$to.start"
        mkdir "$to"
    fi
    while ! [ -d "$to" ]; do sleep 0.1; done
    if [ -f "$BUILD/$1/unavailable" ]; then
        take "report-$1-$2" || return
        report "$label" 0 0 1 "$(cat "$to.start")"
        echo "    skipped: $(cat "$BUILD/$1/unavailable")"
        return
    fi
    names=$(suites "$1")
    for name in $names; do
        if take "$1-$2-$name"; then suite "$1" "$3" "$name" "$to"; fi
    done
    for name in $names; do [ -f "$to/$name.counts" ] || return; done
    take "report-$1-$2" || return
    cat "$to"/*.log >"$to.log"
    set -- "$1" "$2" $(awk '{ p += $1; f += $2; s += $3 } END { print p, f, s }' "$to"/*.counts)
    {
        report "$label" "$3" "$4" "$5" "$(cat "$to.start")"
        [ "$4" -eq 0 ] || failing_blocks "$to.log"
    } >"$to.out"
    cat "$to.out" # in one piece: other lanes print too
    mkdir -p "$BUILD/log" && cp "$to.log" "$BUILD/log/$1-$2.txt"
}

# counted LABEL COMMAND...: a command that prints ok, FAILED and skipped lines, or its own totals.
counted() {
    label=$1
    shift
    start=$(date +%s)
    log=$tmp/$label.log
    bounded 800 "$@" >"$log" 2>&1 </dev/null
    status=$?
    passed=$(grep -c '^ok ' "$log") failed=$(grep -c '^FAILED ' "$log")
    skipped=$(grep -c '^skipped:' "$log")
    total=$(tail -n 1 "$log" | grep -Ex '[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?')
    if [ -n "$total" ]; then
        passed=$(echo "$total" | awk '{ print $1 }') failed=$(echo "$total" | awk '{ print $3 }')
        skipped=$(echo "$total" | awk '{ print $5 + 0 }')
    fi
    if [ $((passed + failed + skipped)) -eq 0 ] || { [ $status -ne 0 ] && [ "$failed" -eq 0 ]; }
    then
        failed=$((failed + 1))
        echo "FAILED  $label ended with status $status" >>"$log"
    fi
    {
        report "$label" "$passed" "$failed" "$skipped" "$start"
        grep -v '^ok ' "$log" | sed 's/^/    /'
    } >"$log.out"
    cat "$log.out"
    mkdir -p "$BUILD/log" && cp "$log" "$BUILD/log/$label.txt"
}

# same_text ACTUAL EXPECTED: line by line; in an expected line * stands for anything.
same_text() {
    sed 's/[][?\\]/\\&/g' "$2" >"$tmp/pattern"
    [ "$(awk 'END { print NR }' "$1")" = "$(awk 'END { print NR }' "$2")" ] || return 1
    while IFS= read -r pattern <&3; do
        IFS= read -r line <&4 || [ -n "$line" ] || return 1
        case $line in
        $pattern) ;;
        *) return 1 ;;
        esac
    done 3<"$tmp/pattern" 4<"$1"
}

examples() {
    for source in examples/*.c; do
        name=$(basename "$source" .c)
        expected=tests/expected/$name.txt
        case $name in
        [0-9]*) [ -f "$expected" ] || echo "FAILED  example: $name has no $expected" ;;
        esac
        [ -f "$expected" ] || continue
        bounded 60 "$BUILD/examples/$name" >"$tmp/$name.txt" 2>&1 </dev/null
        status=$?
        if [ $status -eq 0 ] && same_text "$tmp/$name.txt" "$expected"; then
            echo "ok      example: $name"
        else
            echo "FAILED  example: $name (status $status); expected, then printed:"
            sed 's/^/    | /' "$expected"
            sed 's/^/    > /' "$tmp/$name.txt"
        fi
    done
}

me=$(id -u)
variants="" others=""
due=0 # reports that have to come, so that none can get lost
for job in "$@"; do
    due=$((due + 1))
    variant=${job%@*}
    if [ ! -e "$BUILD/$variant/tests" ] && [ ! -e "$BUILD/$variant/unavailable" ]; then
        others="$others $job"
    elif [ "$me" != 0 ] && [ "$job" = "$variant@root" ]; then
        report "$job" 0 0 1 "$(date +%s)"
        echo "    skipped: not root"
    else
        variants="$variants $job"
        if [ "$me" = 0 ] && [ "$job" = "$variant" ]; then due=$((due + 1)); fi # as two users
    fi
done

# job NAME: one that does not depend on the user.
job() {
    case $1 in
    utest) counted utest "$BUILD/selftest_utest" ;;
    examples) counted examples examples ;;
    compile) counted compile sh tests/compile/run.sh quick ;;
    matrix) counted matrix sh tests/compile/run.sh full ;;
    fuzz) counted fuzz sh tests/fuzz/run.sh 5 ;;
    mutants) counted mutants sh tests/mutants/run.sh quick ;;
    *)
        if [ -f "tests/$1/run.sh" ]; then
            counted "$1" sh "tests/$1/run.sh"
        else
            counted "$1" sh tests/check.sh "$1"
        fi
        ;;
    esac
}

# take WHAT: 1 lane gets it, the others do not.
take() { mkdir "$tmp/taken-$1" 2>/dev/null; }

# Lanes side by side, each taking what no other has taken: mostly the tests wait.
users="$me $me $me"
[ "$me" != 0 ] || users="0 0 $UNPRIVILEGED"
lane=0
for uid in $users; do
    lane=$((lane + 1))
    class=root
    [ "$uid" = 0 ] || class=user
    for job in $variants; do
        variant=${job%@*}
        [ "$job" = "$variant" ] || [ "$job" = "$variant@$class" ] || continue
        unit "$variant" "$class" "$uid"
    done &
    lanes="$lanes $!"
done
for more in 1 2; do
    for name in $others; do
        if take "$name"; then job "$name"; fi
    done &
    lanes="$lanes $!"
    if [ -n "$variants" ] && [ "$more" -ge "${LANES:-1}" ]; then break; fi
done
wait $lanes

touch "$tmp/counts"
awk -v due="$due" '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        if (NR < due) printf "%d of %d jobs gave no report\n", due - NR, due
        failed += due - NR
        printf "%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : ""
        exit failed > 0 || passed == 0
    }' "$tmp/counts"
