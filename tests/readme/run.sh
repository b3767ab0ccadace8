#!/bin/sh
# What a newcomer touches first: every program and command of README.md, extracted, built, run, and
# compared with what stands below it; the lessons; the demo. One line per case: ok or FAILED.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
CC=${CC:-cc}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/sbx-readme.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

verdict() { # NAME STATUS
    if [ "$2" -eq 0 ]; then
        echo "ok      readme: $1"
    else
        echo "FAILED  readme: $1"
        sed 's/^/    /' "$tmp/log" | tail -n 20
        failed=1
    fi
}

# Blocks become 1.c, 2.sh, ...; a block of text behind one becomes its .text.
awk -v dir="$tmp" '
    /^```(c|sh)$/ { n++; on = 1; file = dir "/" n "." substr($0, 4); next }
    /^```text$/ { on = 1; file = dir "/" n ".text"; next }
    /^```/ { on = 0; close(file); next }
    on { print >file }
    END { print n + 0 }' README.md >"$tmp/count"
count=$(cat "$tmp/count")

# The first program stands there in full, and is compiled as a newcomer would. The others share the
# implementation, which is compiled once.
mkdir "$tmp/new" && cp sbx.h "$tmp/new" && mv "$tmp/1.c" "$tmp/new/main.c"
(cd "$tmp/new" && $CC main.c) >"$tmp/log" 2>&1
verdict 'the first program compiles' $?
mv "$tmp/new/a.out" "$tmp/1" 2>/dev/null
printf '#define SBX_IMPLEMENTATION\n#include "sbx.h"\n' >"$tmp/new/impl.c"
(cd "$tmp/new" && $CC -c impl.c) >"$tmp/log" 2>&1
verdict 'the implementation compiles' $?

mkdir "$tmp/bin" && cp "$BUILD/examples/sbxrun" "$tmp/bin"
policy=no
"$BUILD/examples/probe" | grep -q '^policy *yes' && policy=yes
n=0
while [ $n -lt "$count" ]; do
    n=$((n + 1))
    [ -f "$tmp/$n.text" ] || : >"$tmp/$n.text"
    if [ $policy = no ] && grep -q policy "$tmp/$n".[cs]*; then
        echo "skipped: readme, block $n (no policy here)"
        continue
    fi
    if [ -f "$tmp/$n.c" ]; then
        { printf '#include "sbx.h"\n#include <stdio.h>\n#include <string.h>\n' && cat "$tmp/$n.c"; } >"$tmp/new/$n.c"
        (cd "$tmp/new" && $CC -Wall -Wextra -o "../$n" "$n.c" impl.o) >"$tmp/log" 2>&1 && [ ! -s "$tmp/log" ]
        verdict "program $n compiles without a warning" $?
    fi
    if [ -f "$tmp/$n.sh" ]; then
        (cd "$tmp" && PATH=$PWD/bin:$PATH && sh "$n.sh") >"$tmp/log" 2>&1 </dev/null
    else
        timeout 60 "$tmp/$n" >"$tmp/log" 2>&1 </dev/null
    fi
    cmp -s "$tmp/log" "$tmp/$n.text"
    verdict "block $n does what stands below it" $?
done
[ "$count" -ge 12 ]
verdict "README.md has $count blocks that were tried" $?

# Every field of the config, every verdict and every function for people is spoken of.
sed -n '/^typedef struct sbx_config {/,/^} sbx_config;/p' sbx.h |
    sed -e '/^    [a-z]/!d' -e 's|/\*.*||' -e '/;/!d' -e 's/;.*//' -e 's/,/ /g' | awk '{
        for (i = NF; i > 0 && $i !~ /^(int|long|unsigned|size_t|sbx_io|char)$/; i--) {
            gsub(/[*]/, "", $i); if ($i ~ /^[a-z_]+$/ && $i !~ /^(sbx_|const|volatile|void|struct)/) print $i } }' |
    sort -u >"$tmp/fields"
sed -n '/^typedef enum sbx_verdict {/,/^}/s/^ *\(SBX_[A-Z_]*\).*/\1/p' sbx.h >>"$tmp/fields"
while read -r field; do grep -q "\`$field\`" README.md || echo "not in README.md: $field"; done \
    <"$tmp/fields" >"$tmp/log"
[ ! -s "$tmp/log" ] && [ "$(grep -c . "$tmp/fields")" -gt 45 ]
verdict "README.md has all of $(grep -c . "$tmp/fields") fields and verdicts" $?

awk -f tests/readme/lessons.awk examples/README.md >"$tmp/log" 2>&1 && [ ! -s "$tmp/log" ]
verdict 'the lessons show what the examples print' $?
for source in examples/*.c; do
    case $source in */1[5678]_*) most=90 ;; */[01]*) most=60 ;; *) most=1000 ;; esac
    lines=$(awk 'END { print NR }' "$source")
    [ "$lines" -le $most ] || echo "$source has $lines lines, and not $most at most"
    name=$(sed -n 's/^ *Compile: cc .*-o \([^ ]*\) .*/\1/p' "$source")
    if ! grep -q "^ *Compile: cc .*$(basename "$source")" "$source" || [ -d "examples/$name" ]; then
        echo "$source does not say how to compile it where it stands"
    fi
done >"$tmp/log"
[ ! -s "$tmp/log" ]
verdict 'the lessons are short, and every example says how to compile it' $?
# A last line without a newline is shown too: the lessons that read lines, with other commands in them.
last_line() { # LESSON SED-SCRIPT
    sed -e '/SBX_IMPLEMENTATION/d' -e "$2" "examples/$1.c" >"$tmp/new/lesson.c"
    (cd "$tmp/new" && $CC -o lesson lesson.c impl.o && timeout 60 ./lesson) >"$tmp/log" 2>&1
    [ $? = 0 ] && grep -q ' unfinished$' "$tmp/log"
    verdict "$1: a last line without a newline" $?
}
last_line 06_live_output "/printf 'three/s/enough/more/; s/; sleep 60/; printf unfinished/"
last_line 17_build_tool 's/echo done/printf unfinished/'
$CC -DSBX_NO_LINUX -o "$tmp/probe" examples/probe.c >"$tmp/log" 2>&1 && "$tmp/probe" >"$tmp/log"
! grep -q 'namespaces:\|mount /proc\|run as root\|lsm=' "$tmp/log" && grep -q 'only on Linux' "$tmp/log"
verdict 'probe gives no advice for Linux elsewhere' $?
start=$(date +%s)
"$BUILD/examples/demo" >"$tmp/demo" 2>&1 </dev/null
[ $? = 0 ] && awk 'length > 80' "$tmp/demo" >"$tmp/log" && [ ! -s "$tmp/log" ] &&
    grep -q '^C source text  *ok' "$tmp/demo" && grep -q '^C function.*no-result' "$tmp/demo" &&
    grep -q '^policy: ' "$tmp/demo"
verdict "the demo, in 80 columns, $(($(date +%s) - start)) s" $?
exit $failed
