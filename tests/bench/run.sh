#!/bin/sh
# Builds the benches into build/bench and runs them; arguments name groups (default: all), the
# first may be --check. Peers that are not installed are skipped, and the table says so.
set -eu
cd "$(dirname "$0")/../.."
from=tests/bench to=$(pwd)/build/bench
CC=${CC:-cc}
mkdir -p "$to"

if [ "$(uname -s)" != Linux ]; then
    echo "bench: skipped, it compares with Linux system calls"
    exit 0
fi

flags="-std=c99 -O2 -Wall -Wextra"
$CC $flags -D_GNU_SOURCE -static -o "$to/tiny" "$from/tiny.c"
rm -f "$to/bare"
$CC $flags -static -nostdlib -fno-stack-protector -o "$to/bare" "$from/bare.c" 2>"$to/bare.log" ||
    echo "bench: no program without libc on this machine, its lines are skipped"
$CC $flags -o "$to/host" "$from/host.c"
$CC $flags -o "$to/bench" "$from/bench.c"
cp "$from/peer_python.py" "$from/peer_node.js" "$to/"

build_peer() { # NAME PACKAGE
    rm -f "$to/$1"
    if pkg-config --exists "$2" 2>/dev/null; then
        $CC $flags -o "$to/$1" "$from/$1.c" $(pkg-config --cflags --libs "$2") ||
            echo "bench: $1 does not build, skipped"
    fi
}
build_peer peer_uv libuv
build_peer peer_glib gio-2.0
rm -f "$to/peer_go" "$to/peer_rust"
if command -v go 2>&1 >/dev/null; then
    GOFLAGS= GO111MODULE=off GOCACHE="$to/go" go build -o "$to/peer_go" "$from/peer_go.go" || true
fi
if command -v rustc 2>&1 >/dev/null; then
    rustc -O -o "$to/peer_rust" "$from/peer_rust.rs" || true
fi

$CC $flags -o "$to/plot" "$from/plot.c" -lm

status=0
case " $* " in
"  " | *" cost "*) BUILD=build CC="$CC" sh tests/cost/run.sh --print && echo ;; # calls by kind
esac
[ "$*" = cost ] && exit
"$to/bench" "$to" "$@" || status=$?
"$to/plot" "$to/results.jsonl" "$to" || status=1
exit $status
