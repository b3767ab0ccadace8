#!/bin/sh
# Which lines and branches of sbx.h are reached by the tests, the quick sweep of faults and the corpus:
#
#   run.sh [PART...]    parts: tests faults corpus qemu; all of them if none is named
#
# The counters are in a file that every process maps, so a child's are not lost when it is killed or
# runs another program. Needs clang with its profile tools. A line that nobody reaches has to be
# explained in unreached.txt; whatever is not explained there, or explained but reached or gone, is a
# failure. build/coverage/lines.txt and branches.txt have what was not reached.
set -u
umask 022
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
JOBS=${JOBS:-2}
LEAST=${LEAST:-88} # percent of the branches: what was reached once is not lost again
here=tests/coverage
out=$BUILD/coverage
parts=${*:-tests faults corpus qemu}
mkdir -p "$out" || exit 1

for tool in clang llvm-profdata llvm-cov; do
    command -v $tool >/dev/null 2>&1 || {
        echo "skipped: coverage ($tool is not installed)"
        exit 0
    }
done

# Where an ordinary user can reach it, too.
work=$(mktemp -d "${TMPDIR:-/tmp}/coverage-of-sbx.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
chmod 755 "$work"
mkdir -p "$work/build/profile" && chmod 755 "$work/build" && chmod 1777 "$work/build/profile" || exit 1
counted="-fprofile-instr-generate=$work/build/profile/%m%c -fcoverage-mapping"
counted="$counted -mllvm -runtime-counter-relocation -Wno-unused-command-line-argument"

objects=""
told() { sed "s/^/        $1: /" "$2" | tail -n 1; } # whether a test fails is for make test and check to say

# counting PROGRAM [ARGUMENT...]: an object of the report; its file of counters is for everybody.
counting() {
    objects="$objects $1"
    "$@" >/dev/null 2>&1 </dev/null
    chmod 666 "$work"/build/profile/* 2>/dev/null
}

has() { case " $parts " in *" $1 "*) ;; *) return 1 ;; esac; }

tests_part() {
    make -s -j"$JOBS" BUILD="$work/build" "$work/build/counted/tests" \
        "$work/build/counted-portable/tests" >"$out/make.log" 2>&1 || {
        echo "FAILED  coverage: the tests do not build"
        tail -n 20 "$out/make.log"
        exit 1
    }
    counting "$work/build/counted/tests" --list-tests
    counting "$work/build/counted-portable/tests" --list-tests
    SBX_TEST_LANGUAGES="sh c java" BUILD=$work/build CC=clang sh tests/run.sh counted counted-portable \
        >"$out/tests.log" 2>&1 </dev/null
    told tests "$out/tests.log"
}

faults_part() {
    # The hosts are built first, so that their counters are there before an ordinary user counts.
    BUILD=$work/build CC=clang HOST_FLAGS=$counted ONE='probe plain 0' sh tests/faults/run.sh \
        >"$out/faults.log" 2>&1
    if grep -q '^skipped' "$out/faults.log"; then
        cat "$out/faults.log"
        return
    fi
    counting "$work/build/faults/host-plain" list x
    counting "$work/build/faults/host-portable" list x
    BUILD=$work/build CC=clang HOST_FLAGS=$counted sh tests/faults/run.sh >"$out/faults.log" 2>&1 </dev/null
    told faults "$out/faults.log"
}

corpus_part() {
    BUILD=$work/build CC="clang -fno-builtin" HOST_FLAGS=$counted sh tests/corpus/run.sh \
        >"$out/corpus.log" 2>&1 </dev/null # no builtins: clang knows better than to call malloc
    objects="$objects $work/build/corpus/corpus"
    told corpus "$out/corpus.log"
}

# The cgroup wing needs a kernel whose memory controller can be delegated.
qemu_part() {
    [ -x "$work/build/counted/tests" ] || return
    SBX_QEMU_TESTS=$work/build/counted SBX_QEMU_PROFILE=$work/build/profile BUILD=$BUILD \
        sh tests/qemu/run.sh 'cgroup.*' >"$out/qemu.log" 2>&1 </dev/null
    grep '^skipped: qemu' "$out/qemu.log" || told qemu "$out/qemu.log"
}

for part in tests faults corpus qemu; do
    if has $part; then ${part}_part; fi
done

llvm-profdata merge -o "$out/profile" "$work"/build/profile/* 2>"$out/merge.log" || {
    echo "FAILED  coverage: no counters"
    exit 1
}

# One row for each line, and for each branch and its two outcomes: kind, line, column, outcome, count.
header=$(pwd)/sbx.h
: >"$out/counts"
for object in $objects; do
    llvm-cov export "$object" -instr-profile="$out/profile" -format=lcov "$header" 2>/dev/null |
        sed -n 's/^DA:\([0-9]*\),\([0-9]*\).*/line \1 0 0 \2/p'
    llvm-cov export "$object" -instr-profile="$out/profile" -skip-functions -skip-expansions "$header" \
        2>/dev/null | sed 's/"segments".*//; s/.*"branches"://' | tr -d ']' | tr '[' '\n' |
        awk -F, 'NF >= 6 { print "branch", $1, $2, 1, $5; print "branch", $1, $2, 0, $6 }'
done >"$out/counts"

awk -v least="$LEAST" -v lines_to="$out/lines.txt" -v branches_to="$out/branches.txt" \
    -f $here/report.awk "$out/counts" $here/unreached.txt sbx.h
