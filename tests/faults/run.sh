#!/bin/sh
# Injected faults: tests/faults/run.sh, or FAULTS=all for the whole sweep.
# Prints counts by kind and outcome, the faults that were mishandled, and the totals.
#   SCENARIO=tree      only that one
#   ONE='tree plain 0 host.0:pipe2:2:EMFILE'    that fault alone, as it is printed for a mishandled
#                      one; without a fault, the calls of that scenario
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
CC=${CC:-cc}
JOBS=${JOBS:-2}
mode=${FAULTS:-quick}
out=$BUILD/faults
mkdir -p "$out" || exit 1

compile() { # OUTPUT SOURCE FLAG...
    output=$1 source=$2
    shift 2
    $CC -std=c99 -O1 -g -Wall -Wextra -Wshadow -pthread "$@" -o "$out/$output" "tests/faults/$source.c"
}

compile inject inject && compile host-plain host ${HOST_FLAGS:-} && compile host-portable host -DSBX_NO_LINUX ${HOST_FLAGS:-} &&
    { compile program program -static 2>/dev/null || compile program program; } || {
    echo "FAILED  faults: they do not compile"
    echo "0 passed, 1 failed"
    exit 1
}
case $(uname -m) in
x86_64) ;;
*)
    echo "skipped: faults are injected on x86_64 only"
    exit 0
    ;;
esac

# A directory that an ordinary user can reach as well.
tmp=$(mktemp -d "${TMPDIR:-/tmp}/faults-of-sbx.XXXXXX") || exit 1
workers=""
trap '[ -z "$workers" ] || kill $workers 2>/dev/null; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
chmod 755 "$tmp"
cp "$out/host-plain" "$out/host-portable" "$out/program" "$tmp" && echo secret >"$tmp/secret" || exit 1

if [ -n "${ONE:-}" ]; then
    # shellcheck disable=SC2086
    "$out/inject" "$tmp" one $ONE
    exit
fi
rm -f "$out"/log.*
start=$(date +%s)
k=0
while [ $k -lt "$JOBS" ]; do
    "$out/inject" "$tmp" "$mode" $k "$JOBS" >"$out/log.$k" 2>&1 </dev/null &
    workers="$workers $!"
    k=$((k + 1))
done
ended=0
for worker in $workers; do
    wait "$worker" || ended=1
done
workers=""
cat "$out"/log.[0-9]* >"$out/log.txt"

awk -F'\t' -v ended=$ended -v seconds=$(($(date +%s) - start)) '
    NF < 5 { print "FAILED  " $0; failed++; next }
    $1 == "none" && $2 == "same" { settings++; next }
    $1 == "none" && $2 == "again" { again++; next }
    $1 == "none" && $2 == "skipped" { print "skipped: " $3 ": " $6; skipped++; next }
    $2 == "missed" { missed++; next }
    {
        count[$1, $2]++; kinds[$1] = 1; total++
        if ($5 > longest) { longest = $5; longest_is = $3 ": " $4 }
    }
    $2 != "FAILED" { passed++; next }
    {
        failed++
        what = $6; sub(/ \[.*/, "", what); sub(/;.*/, "", what)
        site = $4; sub(/\.[0-9]+:/, " ", site); gsub(/:[0-9]+:/, " ", site)
        if (site ~ /=/) sub(/=.*/, "", site)
        key = site ": " what
        if (!(key in seen)) { order[++keys] = key; example[key] = $3 " " $4 "\n            " $6 }
        seen[key]++
    }
    END {
        printf "        %d runs of %d settings, %d calls were not met again, %d s\n", total, settings, missed, seconds
        printf "        %-8s %8s %8s %10s %8s %10s\n", "fault", "same", "refused", "uncertain", "other", "mishandled"
        for (kind in kinds)
            printf "        %-8s %8d %8d %10d %8d %10d\n", kind, count[kind, "same"], count[kind, "refused"],
                count[kind, "uncertain"], count[kind, "other"], count[kind, "FAILED"]
        if (again) printf "        %d took over 4 s, with a flaw, and were repeated\n", again
        printf "        the longest took %d ms (%s)\n", longest, longest_is
        for (i = 1; i <= keys; i++)
            printf "FAILED  %s (%d times)\n            %s\n", order[i], seen[order[i]], example[order[i]]
        if (ended) { print "FAILED  a worker ended early"; failed++ }
        printf "%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : ""
        exit failed > 0 || passed == 0
    }' "$out/log.txt"
