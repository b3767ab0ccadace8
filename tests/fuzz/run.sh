#!/bin/sh
# libFuzzer on what takes bytes from outside: run.sh [SECONDS for each target], 60 if not said.
# What it found worth keeping is in tests/fuzz/corpus/TARGET; what it learns stays in build/fuzz.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
seconds=${SECONDS_EACH:-${1:-60}}
out=$BUILD/fuzz
mkdir -p "$out" || exit 1

if ! command -v clang >/dev/null 2>&1; then
    echo "skipped: fuzzing (clang is not installed)"
    exit 0
fi
flags="-std=gnu99 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined"
printf 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d && n > 99; }\n' \
    >"$out/try.c"
# shellcheck disable=SC2086
if ! clang $flags -w -o "$out/try" "$out/try.c" 2>/dev/null; then
    echo "skipped: fuzzing (this clang has no libFuzzer)"
    exit 0
fi

failed=0
for source in tests/fuzz/*.c; do
    name=$(basename "$source" .c)
    [ -z "${TARGET:-}" ] || [ "$TARGET" = "$name" ] || continue
    mkdir -p "$out/$name"
    # shellcheck disable=SC2086
    if ! clang $flags -pthread -o "$out/fuzz-$name" "$source" >"$out/$name.log" 2>&1; then
        echo "FAILED  fuzz: $name does not compile"
        sed 's/^/    /' "$out/$name.log" | head -n 20
        failed=1
        continue
    fi
    kept=tests/fuzz/corpus/$name
    [ -d "$kept" ] || kept=""
    # shellcheck disable=SC2086
    (ASAN_OPTIONS=allocator_may_return_null=1 timeout $((seconds + 60)) "$out/fuzz-$name" -max_total_time="$seconds" -timeout=25 -max_len=600 \
        -rss_limit_mb=1024 -artifact_prefix="$out/$name-" -print_final_stats=1 -print_funcs=0 \
        "$out/$name" $kept) >"$out/$name.log" 2>&1 </dev/null
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$name.log")
    if [ $status -eq 0 ] && [ -n "$runs" ]; then
        echo "ok      fuzz: $name, $runs inputs in $seconds s"
    else
        echo "FAILED  fuzz: $name (status $status)"
        grep -v '^#' "$out/$name.log" | tail -n 40 | sed 's/^/    /'
        failed=1
    fi
done
exit $failed
