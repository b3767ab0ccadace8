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
rm -f "$tmp/p/submissions/"* "$tmp/p/limits"

# What a limits file says is taken as it stands, or refused with its place.
echo 'echo 2' >"$tmp/p/submissions/right.sh"
printf '# limits\n\n  time_ms 100000 # slow\r\nmemory_mb 99\n' >"$tmp/p/limits"
"$judge" $options --html "$tmp/page.html" "$tmp/p" >"$tmp/out" 2>&1 &&
    grep -q '100000 ms of CPU time, 99 MB of memory, 64 KB' "$tmp/page.html"
verdict 'limits: comments and empty lines' $?
for line in 'time_ms 2s' 'memory_mb 16MB' 'time_ms 0' 'time_ms -5' 'time_ms' 'time_ms 1 2' 'time 5' \
    'output_kb 99999999' 'time_ms 1.5'; do
    printf '# limits\n%s\n' "$line" >"$tmp/p/limits"
    "$judge" $options "$tmp/p" >"$tmp/out" 2>&1
    [ $? = 2 ] && grep -q '/p/limits, line 2: ' "$tmp/out"
    verdict "limits: '$line' is refused" $?
done
rm -f "$tmp/p/limits"

# What cannot be judged says why; what can has a note that helps.
told() { # NAME PATTERN: a line of the table
    grep -q "$2" "$tmp/out"
    verdict "$1" $?
}
echo 'int main() { return 0; }' >"$tmp/p/submissions/wrong.cc"
printf 'package main\nfunc main() { errors() }\n' >"$tmp/p/submissions/undefined.go"
echo hello >"$tmp/p/submissions/README"
mkdir "$tmp/p/submissions/folder.c"
"$judge" $options "$tmp/p" >"$tmp/out" 2>&1
command -v c++ >/dev/null && told '.cc is C++' '^WA  *wrong.cc '
command -v go >/dev/null && told 'go: the first line that tells something' '^CE .*main.go:2:.*undefined: errors'
told 'a file without an ending is not passed over' '^--  README .*no ending'
told 'nor is a folder' '^--  folder.c .*directory'
rm -rf "$tmp/p/submissions/"*
echo 'echo 2' >"$tmp/p/submissions/right.sh"
mv "$tmp/p/tests/a.out" "$tmp/p/tests/b.out"
"$judge" $options "$tmp/p" >"$tmp/out" 2>&1
told 'an answer that is missing is named' '^-- .*tests/a.out: No such file'
mv "$tmp/p/tests/b.out" "$tmp/p/tests/a.out"

# A compiler and an interpreter as rustup and pyenv make them: on PATH, the rest of them in a home. It
# has to be one that the system has not, for that would come first.
mkdir "$tmp/tools" "$tmp/home"
hide() { # TOOL FILE CODE: a tool of which only the first step is on PATH, and a submission
    printf '#!/bin/sh\n. "%s" || exit 1\n' "$tmp/home/$1" >"$tmp/tools/$1"
    chmod 755 "$tmp/tools/$1"
    echo "$3" >"$tmp/p/submissions/$2"
}
printf 'grep -q right main.rs || exit 1\nprintf "#!/bin/sh\\necho 2\\n" >"$4"; chmod 755 "$4"\n' >"$tmp/home/rustc"
printf '. "$1"\n' | tee "$tmp/home/lua" >"$tmp/home/ruby"
rm -f "$tmp/p/submissions/"*
hide rustc right.rs 'fn main() {} // right'
hide lua right.lua 'echo 2'
hide ruby right.rb 'echo 2'
[ -n "$options" ] || PATH=$tmp/tools:$PATH "$judge" "$tmp/p" >"$tmp/out" 2>&1
[ -n "$options" ] || PATH=$tmp/tools:$PATH "$judge" --read "$tmp/home" "$tmp/p" >"$tmp/out2" 2>&1
for tool in rustc.rs lua.lua ruby.rb; do
    if [ -n "$options" ] || command -v "${tool%.*}" >/dev/null; then
        echo "skipped: ${tool%.*} in a home (no policy here, or the system has one)"
        continue
    fi
    told "${tool%.*} that the policy does not show: not judged" \
        "^--  right.${tool#*.} .*not even an empty program"
    grep -q "^AC  right.${tool#*.} " "$tmp/out2"
    verdict "... --read shows it" $?
done
"$judge" "$tmp/none" >"$tmp/out" 2>&1
[ $? = 2 ] && grep -q '^judge: ' "$tmp/out"
verdict 'a folder that is not there' $?
exit $failed
