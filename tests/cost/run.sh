#!/bin/sh
# System calls and allocations of a run, against their budgets: ok, FAILED or skipped for each level.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
CC=${CC:-cc}
mkdir -p "$BUILD" || exit 1
if [ "$(uname -s)" != Linux ]; then
    echo "skipped: cost (counted with Linux's ptrace)"
    exit 0
fi
$CC -std=c99 -O1 -Wall -Wextra -Wshadow -pthread -o "$BUILD/cost" tests/cost/cost.c || {
    echo "FAILED  cost: it does not compile"
    exit 1
}
exec "$BUILD/cost" "${1:---check}"
