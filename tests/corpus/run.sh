#!/bin/sh
# Builds the labelled corpus and runs it, as this user and, if that is root, also as uid 65534:
#
#   run.sh [WORD]    all cases, or those whose language and name contain WORD ("python", "cpu")
#
# Languages that are not installed are skipped, and that is said. One line for every case goes to
# build/log/corpus-UID.txt. Exit status 0 = no certain verdict is wrong, every plain case and 80 % of
# the traps are right.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
CC=${CC:-cc}
CXX=${CXX:-c++}
UNPRIVILEGED=65534
here=tests/corpus
to=$BUILD/corpus
flags='-g -Wall -Wextra -Wpedantic -Wshadow -pthread'

tmp=$(mktemp -d "${TMPDIR:-/tmp}/sbx-corpus.XXXXXX") || exit 1
chmod 755 "$tmp"
lanes=""
stop() {
    [ -z "$lanes" ] || kill $lanes 2>/dev/null
    wait
    rm -rf "$tmp"
}
trap stop EXIT
trap 'exit 130' INT TERM HUP

# first NAME...: the path of the first that exists; a version manager's shim comes last.
first() {
    for name in "$@"; do
        command -v "$name" && return
    done
}

fail() {
    echo "$*" >&2
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
}

rm -rf "$to" && mkdir -p "$to" "$BUILD/log" || exit 1
$CC -std=c99 -O1 $flags ${HOST_FLAGS:-} -o "$to/corpus" $here/corpus.c || fail "$here/corpus.c does not compile"
$CC -std=c99 -O0 $flags -o "$to/ccases" $here/ccases.c || fail "$here/ccases.c does not compile"

CORPUS_CPP="" CORPUS_JAVA="" CORPUS_GO="" CORPUS_RUST=""
CORPUS_PERL=$(first /usr/bin/perl perl)
CORPUS_PYTHON=$(first /usr/bin/python3 python3)
CORPUS_NODE=$(first /usr/bin/node node)
if [ -n "$(first "$CXX")" ]; then
    $CXX -std=c++11 -O0 $flags -o "$to/cppcases" $here/cppcases.cpp ||
        fail "$here/cppcases.cpp does not compile"
    CORPUS_CPP=$CXX
fi
java=$(first /usr/bin/java java) javac=$(first /usr/bin/javac javac)
if [ -n "$java" ] && [ -n "$javac" ]; then
    "$to/corpus" --java >"$to/Corpus.java"
    "$javac" -nowarn -d "$to" "$to/Corpus.java" || fail "the Java cases do not compile"
    CORPUS_JAVA=$java
fi
go=$(first go)
if [ -n "$go" ]; then
    "$to/corpus" --go >"$to/gocases.go"
    GOCACHE=$tmp/gocache HOME=$tmp "$go" build -o "$to/gocases" "$to/gocases.go" ||
        fail "the Go cases do not compile"
    CORPUS_GO=$go
fi
rust=$(first rustc)
if [ -n "$rust" ] && "$rust" --version >/dev/null 2>&1; then # a shim may have nothing behind it
    "$to/corpus" --rust >"$to/rustcases.rs"
    "$rust" -O -A warnings -o "$to/rustcases" "$to/rustcases.rs" ||
        fail "the Rust cases do not compile"
    CORPUS_RUST=$rust
fi
export CORPUS_CPP CORPUS_PYTHON CORPUS_PERL CORPUS_NODE CORPUS_JAVA CORPUS_GO CORPUS_RUST

# Each user in a directory of its own; side by side, as the cases mostly wait.
me=$(id -u)
users=$me
[ "$me" != 0 ] || users="0 $UNPRIVILEGED"
for uid in $users; do
    cp -r "$to" "$tmp/$uid"
    [ "$uid" = "$me" ] || chown -R "$uid:$uid" "$tmp/$uid"
    (cd "$tmp/$uid" && CORPUS_UID=$uid CORPUS_LIST=list exec ./corpus "$@") \
        >"$tmp/$uid.txt" 2>&1 </dev/null &
    lanes="$lanes $!"
done
status=0
for lane in $lanes; do
    wait "$lane" || status=1
done
lanes=""
for uid in $users; do
    cp "$tmp/$uid/list" "$BUILD/log/corpus-$uid.txt" 2>/dev/null
    cat "$tmp/$uid.txt"
    echo
    tail -n 1 "$tmp/$uid.txt" >>"$tmp/totals"
done
awk -v status=$status -v users="$users" '
    / passed, .* failed, / { passed += $1; failed += $3; skipped += $5; lines++ }
    END {
        if (lines < split(users, list, " ")) { print "a run gave no summary"; failed++ }
        if (status && !failed) failed++
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed > 0 || passed == 0
    }' "$tmp/totals"
