#!/bin/sh
# examples/judge.c on its sample problem: every submission gets the verdict that its name begins with.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
judge=$BUILD/examples/judge
tmp=$(mktemp -d "${TMPDIR:-/tmp}/sbx-judge.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/work"
TMPDIR=$tmp/work
PATH=/usr/local/bin:/usr/bin:/bin # a policy does not show what stands in somebody's home
export TMPDIR PATH
failed=0

verdict() { # NAME STATUS
    if [ "$2" -eq 0 ]; then
        echo "ok      judge: $1"
    else
        echo "FAILED  judge: $1"
        sed 's/^/    /' "$tmp/out" | head -n 30
        failed=1
    fi
}

options=
"$BUILD/examples/probe" | grep -q '^policy *yes' || options=--no-policy
"$judge" $options --jobs 2 --html "$tmp/page.html" examples/judge >"$tmp/out" 2>&1 </dev/null
verdict 'ends with 0' $?
[ -z "$options" ] || echo 'skipped: the thief and the bomb (no policy here)'
for path in examples/judge/submissions/*; do
    file=$(basename "$path")
    expected=${file%%_*}
    got=$(awk -v file="$file" '$2 == file { print $1 }' "$tmp/out")
    case $got$options$file in
    --AC_ada.c | --AC_ken.sh) ;; # these need nothing that the tests do not need anyway
    --*) echo "skipped: $file (no tool for this language)" && continue ;;
    *--no-policyWA_thief* | *--no-policyWA_bomb*) continue ;;
    esac
    [ "$got" = "$expected" ]
    verdict "$file: ${got:-nothing}" $?
done
grep -q 'test 2: not the right answer' "$tmp/out"
verdict 'the note says which test' $?
[ "$(grep -c '<svg' "$tmp/page.html")" = "$(ls examples/judge/submissions | grep -c .)" ] &&
    grep -q '^</body></html>$' "$tmp/page.html"
verdict 'a row with bars for each on the page' $?
if command -v python3 >/dev/null 2>&1; then
    sed -e '/^<!DOCTYPE/d' -e 's/<meta \([^>]*\)>/<meta \1\/>/g' "$tmp/page.html" |
        python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.stdin.buffer)' >"$tmp/out" 2>&1
    verdict 'the page is well formed' $?
else
    echo 'skipped: is the page well formed (no python3)'
fi
ls -A "$TMPDIR" >"$tmp/out"
[ ! -s "$tmp/out" ]
verdict 'nothing is left of what was built' $?

# A contest of one submission whose name and words are hostile to a page.
mkdir -p "$tmp/p/tests" "$tmp/p/submissions"
echo 1 >"$tmp/p/tests/a.in" && echo 2 >"$tmp/p/tests/a.out"
echo 'printf "<script>alert(1)</script>\033[31m\302\233 bye" >&2; exit 1' >"$tmp/p/submissions/<img src=x>&.sh"
"$judge" $options --html "$tmp/page.html" "$tmp/p" >"$tmp/out" 2>&1 &&
    grep -q '^RE ' "$tmp/out" && ! grep -q '<script\|<img' "$tmp/page.html"
verdict 'names and words are text on the page' $?
grep -q 'exit code 1: <script>alert(1)</script>?\[31m' "$tmp/out" && ! LC_ALL=C grep -q "$(printf '[\033\302\233]')" "$tmp/out"
verdict 'what a submission writes cannot steer the terminal' $?
if env --default-signal=INT true 2>/dev/null; then
    echo 'while :; do :; done' >"$tmp/p/submissions/loop.sh"
    echo time_ms 600000 >"$tmp/p/limits"
    env --default-signal=INT "$judge" $options --jobs 1 "$tmp/p" >"$tmp/out" 2>&1 &
    pid=$!
    tries=0
    until [ -n "$(ls -A "$TMPDIR")" ] || [ $tries -ge 200 ]; do sleep 0.05; tries=$((tries + 1)); done
    kill -INT $pid
    wait $pid
    [ $? = 130 ] && [ -z "$(ls -A "$TMPDIR")" ]
    verdict 'Ctrl-C ends it all and leaves no file' $?
else
    echo 'skipped: Ctrl-C (an older env)'
fi
"$judge" "$tmp/none" >"$tmp/out" 2>&1
[ $? = 2 ] && grep -q '^judge: ' "$tmp/out"
verdict 'a folder that is not there' $?
exit $failed
