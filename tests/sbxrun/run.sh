#!/bin/sh
# examples/sbxrun.c as a person or a script uses it: one line per case, ok or FAILED.

# Signals that were ignored when this began (nohup, a job in the background) stay so for good in a
# shell; the tests need them.
if [ -z "${SBX_SIGNALS-}" ] && env --default-signal true 2>/dev/null; then
    exec env --default-signal SBX_SIGNALS=1 sh "$0" "$@"
fi

set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/sbxrun.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
cp "$BUILD/examples/sbxrun" "$tmp/sbxrun" || exit 1
PATH=$tmp:$PATH
failed=0

verdict() { # NAME STATUS
    if [ "$2" -eq 0 ]; then
        echo "ok      sbxrun: $1"
    else
        echo "FAILED  sbxrun: $1"
        sed 's/^/    /' "$tmp/out" "$tmp/err" | head -n 20
        failed=1
    fi
}

# case NAME STATUS OUT ERR ARGUMENTS...: exit status, a pattern for all of stdout, one for stderr.
try() {
    name=$1 status=$2 out=$3 err=$4
    shift 4
    sbxrun "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    good=1
    case $(cat "$tmp/out") in $out) ;; *) good=0 ;; esac
    case $(cat "$tmp/err") in $err) ;; *) good=0 ;; esac
    [ $got -eq "$status" ] || good=0
    [ $good = 1 ] || echo "exit status $got, and not $status, '$out', '$err'" >>"$tmp/err"
    verdict "$name" $((1 - good))
}

try 'output passes through' 0 'hello' '' -- echo hello
try 'stdout and stderr stay apart' 0 'out' 'err' -- sh -c 'echo out; echo err >&2'
try 'the exit code is its own, without a word' 3 '' '' -- sh -c 'exit 3'
try 'a time-out is 124' 124 '' "sbxrun: timed-out: 'sleep' *" --timeout 200ms -- sleep 60
try 'what it wrote before stays' 124 'first' '*timed-out*' --timeout 0.5 -- sh -c 'echo first; sleep 60'
try 'memory is 124' 124 '' 'sbxrun: memory-limit: *32 MiB*' \
    --memory 32M --timeout 60s -- awk 'BEGIN { for (;;) keep[n++] = "text " n }'
try 'CPU time is 124' 124 '' 'sbxrun: cpu-limit: *' --cpu 0.2s --timeout 1m -- sh -c 'while :; do :; done'
try 'output is 124, to the byte' 124 'y?y?y' 'sbxrun: output-limit: *' --output 5 -- yes
try 'a file that grows is 124' 124 '' 'sbxrun: file-limit: *' --file-size 1K --cwd "$tmp" -- \
    sh -c 'exec yes >big'
try 'a signal is 128 + its number' 139 '' 'sbxrun: crashed: *SIGSEGV*' -- sh -c 'kill -SEGV $$'
try 'a wrong option is 125' 125 '' 'sbxrun: there is no option --bogus*' --bogus -- true
try 'a wrong time is 125' 125 '' 'sbxrun: --timeout 5x: *' --timeout 5x -- true
try 'no time at all is 125' 125 '' 'sbxrun: --timeout 0: *' --timeout 0 -- true
try 'a time of -5 is 125' 125 '' 'sbxrun: --timeout -5: *' --timeout=-5 -- true
try 'half a second, written shortly' 124 '' '*500 ms*' --timeout .5 -- sleep 60
try 'units in any case' 0 '' '' --memory 64m --output 10kb --file-size 1mib -- true
try 'a terabyte' 0 '' '' --memory 1T --file-size 1.5tib -- true
try 'a dot is no time' 125 '' 'sbxrun: --timeout .: *' --timeout . -- true
try 'a size of 1e9 is 125' 125 '' 'sbxrun: --memory 1e9: *' --memory 1e9 -- true
try 'half a process is 125' 125 '' 'sbxrun: --processes 1.5: *' --processes 1.5 -- true
try 'a missing value is 125' 125 '' '*missing after --timeout*' --timeout
try 'a missing program name is 125' 125 '' 'sbxrun: which program*'
try 'a missing directory is 125' 125 '' 'sbxrun: not-started: *' --cwd "$tmp/none" -- true
try 'a file that is no program is 126' 126 '' 'sbxrun: not-started: *' -- /etc/passwd
try 'a program that is not there is 127' 127 '' 'sbxrun: not-started: *' -- no-such-program
try '--quiet says nothing' 124 '' '' --quiet --timeout 100ms -- sleep 60
try '... but a wrong option is told' 125 '' 'sbxrun: --timeout abc: *' --quiet --timeout abc -- true
try '--grace 0 kills at once' 124 '' '*timed-out*' --grace 0 --timeout 200ms -- \
    sh -c 'trap "echo polite" TERM; sleep 60 & wait'
try 'a time to clean up that is too short' 125 '' 'sbxrun: --grace 0.1ms: *0 is *' --grace 0.1ms -- true
try '--stats tells in any case' 0 '' "sbxrun: ok: 'true' exited with code 0 (* s, CPU * s, memory *)" \
    --stats -- true
try '--env sets, and PATH stays' 0 '*A=1*' '' --env A=1 -- sh -c 'echo "A=$A"; ls / >/dev/null'
try 'nothing else is there' 0 'A=,' '' -- sh -c 'echo "A=$A,$HOME"'
A=2 try '--env NAME copies' 0 'A=2' '' --env A -- sh -c 'echo "A=$A"'
try '--env twice: the last one, once' 0 'A=2?PATH=*' '' --env A=1 --env A=2 -- env
A=4 try '... also if that is a copy' 0 'A=4?PATH=*' '' --env A=1 --env A -- env
A=3 sbxrun --inherit-env --env PATH --env A=1 --env A=2 -- env >"$tmp/out" 2>"$tmp/err"
[ "$(grep '^A=' "$tmp/out")" = A=2 ] && [ "$(grep -c '^PATH=' "$tmp/out")" = 1 ]
verdict '... with --inherit-env too' $?
A=3 try '--inherit-env' 0 'A=3' '' --inherit-env -- sh -c 'echo "A=$A"'
try '--json' 0 '{"verdict":"ok",*"stdout":"hi?n",*}' '' --json -- echo hi
try '--json: more than fits is no limit' 0 '{"verdict":"ok",*"stdout_truncated":true*}' '' --json -- \
    sh -c 'yes | head -c 3000000; echo last'
grep -q 'last.n"' "$tmp/out"
verdict '... and how it ended is kept' $?
try '--json --output is a limit' 124 '{"verdict":"output-limit",*}' '*' --json --output 5 -- echo 'more than 5'
try '--json=FILE' 0 'hi' '' "--json=$tmp/json" -- echo hi
try '--json=FILE that cannot be written is 125, and nothing runs' 125 '' 'sbxrun: --json *' \
    "--json=$tmp/none/json" -- echo hi
grep -q '^{"verdict":"ok"' "$tmp/json"
verdict '--json=FILE is in the file' $?
sbxrun "--json=$tmp/json" -- echo hi >&- 2>"$tmp/err"
grep -q '^{"verdict":"ok"' "$tmp/json" && [ "$(grep -c . "$tmp/json")" = 1 ]
verdict '... and nothing else is, where stdout is closed' $?
try '--direct' 0 'hi' '' --direct -- echo hi
TERM=xyz try '--direct: TERM is there' 0 'xyz' '' --direct -- sh -c 'echo $TERM'
TERM=xyz try '... and can be set' 0 'abc' '' --direct --env TERM=abc -- sh -c 'echo $TERM'
try '--env PATH' 0 '/bin' '' --env PATH=/bin -- /bin/sh -c 'echo $PATH'
try '--direct with --output is refused' 125 '' '*--direct*' --direct --output 5 -- echo hi
try 'a program named like an option' 127 '' '*not found*' -- --timeout
try '-h' 0 'sbxrun *Usage: *' '' -h
try '--version' 0 'sbxrun 1.*' '' --version
try '--files' 0 '16' '' --files 16 -- sh -c 'ulimit -n'

printf 'echo "hello $1"; exit 5\n' >"$tmp/text"
try '--code runs a file with arguments' 5 'hello you' '' --code sh "$tmp/text" -- you
try '--code with a language that nobody knows is 125' 125 '' '*klingon*' --code klingon "$tmp/text"
printf 'int main(void) { return nothing; }\n' >"$tmp/text"
try '--code that does not compile is 126' 126 '' '*nothing*sbxrun: *' --code c "$tmp/text"
try '--code: no such file is 125' 125 '' 'sbxrun: --code *none: *' --code c "$tmp/none"
# A compiler that takes its time: limits and signals hold for the build too.
mkdir "$tmp/slow" && printf '#!/bin/sh\necho >"%s"\nexec sleep 300\n' "$tmp/begun" >"$tmp/slow/cc"
chmod 755 "$tmp/slow/cc"
printf 'int main(void) { for (;;) {} }\n' >"$tmp/text"
PATH=$tmp/slow:$PATH try '--code: a build that takes too long is 124' 124 '' '*timed-out: the build failed*' \
    --timeout 300ms --code c "$tmp/text"
rm -f "$tmp/begun"
PATH=$tmp/slow:$PATH sbxrun --grace none --code c "$tmp/text" >"$tmp/out" 2>"$tmp/err" &
pid=$! tries=0
until [ -f "$tmp/begun" ] || [ $tries -ge 200 ]; do sleep 0.05; tries=$((tries + 1)); done
kill -TERM $pid
wait $pid
[ $? = 143 ] && grep -q 'cancelled' "$tmp/err"
verdict '--code: a signal while it is built is 128 + its number' $?
printf '#!/bin/sh\nsleep 0.4\nPATH=${PATH#*:} exec cc "$@"\n' >"$tmp/slow/cc"
PATH=$tmp/slow:$PATH sbxrun --timeout 2s --code c "$tmp/text" >"$tmp/out" 2>"$tmp/err"
[ $? = 124 ] && [ "$(sed -n 's/.*ran past its \([0-9]*\) ms.*the build before it took.*/\1/p' "$tmp/err")" -lt 1700 ]
verdict '--code: what the build took the program does not get again' $?
echo 'cat; echo end' | sbxrun --code sh - >"$tmp/out" 2>"$tmp/err"
[ "$(cat "$tmp/out")" = end ]
verdict '--code -' $?

echo hello | sbxrun -- cat >"$tmp/out" 2>"$tmp/err" && [ "$(cat "$tmp/out")" = hello ]
verdict 'stdin is handed on' $?
sbxrun -- sh -c 'for i in 1 2 3 4 5; do echo $i; echo $i >&2; done' >"$tmp/out" 2>&1
[ "$(tr -d '\n' <"$tmp/out")" = 1122334455 ]
verdict 'stdout and stderr into one file: in the order written' $?
sbxrun -- yes 2>"$tmp/err" | head -n 1 >"$tmp/out"
[ "$(cat "$tmp/out")" = y ] && [ ! -s "$tmp/err" ]
verdict 'nobody reads any more: it ends, without a word' $?
if [ -c /dev/full ]; then
    sbxrun -- echo hi >/dev/full 2>"$tmp/err"
    [ $? = 125 ] && grep -q '^sbxrun: stdout cannot be written: No space' "$tmp/err"
    verdict 'a full disk is told' $?
    sbxrun --json -- echo hi >/dev/full 2>"$tmp/err"
    [ $? = 125 ] && grep -q '^sbxrun: --json .*No space' "$tmp/err"
    verdict '... also of the JSON' $?
    sbxrun --help >/dev/full 2>"$tmp/err"
    [ $? = 125 ] && grep -q 'No space' "$tmp/err"
    verdict '... and of --help' $?
else
    echo 'skipped: a full disk (no /dev/full)'
fi
sbxrun --timeout 300ms -- yes 2>"$tmp/err" | (sleep 3; cat >/dev/null)
grep -q timed-out "$tmp/err"
verdict 'a reader who does not read keeps no deadline from coming' $?

try '--user: nobody knows this one' 125 '' 'sbxrun: --user no-such-user: *' --user no-such-user -- true
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
    try '--user' 0 "$(id -u nobody) $(id -g nobody) $(id -g nobody)" '' --user nobody -- \
        sh -c 'echo $(id -u) $(id -g) $(id -G)'
    try '--user, a number that nobody has' 0 '471147 471147 471147' '' --user 471147 -- \
        sh -c 'echo $(id -u) $(id -g) $(id -G)'
    try '--user, two numbers' 0 '471147 4711' '' --user 471147:4711 -- sh -c 'echo $(id -u) $(id -g)'
else
    try '--user for who is not root' 125 '' 'sbxrun: *' --user root -- true
fi

# Signals: the program ignores the polite one, and has a child that left its group.
alive() { # MARK: is there a process whose arguments have it?
    cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep -qx "[4]${1#4}" # not grep itself
}
for signal in INT TERM HUP; do
    default=env # a script's background processes ignore SIGINT, and so would sbxrun
    case $signal in
    INT)
        code=130 default='env --default-signal=INT'
        $default true 2>/dev/null || { echo 'skipped: SIGINT (an older env)' && continue; }
        ;;
    TERM) code=143 ;;
    *) code=129 ;;
    esac
    mark=4000$code.$$
    : >"$tmp/out"
    $default sbxrun --grace 300ms -- sh -c "trap '' INT TERM HUP
        setsid sleep $mark & echo up; sleep $mark; sleep $mark" >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    tries=0
    until [ -s "$tmp/out" ] || [ $tries -ge 200 ]; do sleep 0.05; tries=$((tries + 1)); done
    kill -$signal $pid
    wait $pid 2>/dev/null
    got=$?
    echo "exit status $got, not $code" >>"$tmp/err"
    grep -q 'sbxrun: cancelled' "$tmp/err" && [ $got = $code ] && ! alive $mark
    verdict "SIG$signal ends it all" $?
done

# Beside others.
seq 20 | xargs -P 8 -I '{}' sbxrun --timeout 60s -- sh -c 'echo $(({} * 2))' >"$tmp/out" 2>"$tmp/err"
[ "$(sort -n "$tmp/out" | tr '\n' ' ')" = "$(seq 2 2 40 | tr '\n' ' ')" ]
verdict 'xargs -P 8' $?
printf '0\n0\n3\n' | xargs -P 3 -n 1 sbxrun --quiet -- sh -c 'exit $0' >"$tmp/out" 2>"$tmp/err"
[ $? = 123 ]
verdict 'xargs sees the exit codes' $?
if command -v parallel >/dev/null 2>&1 && parallel --version 2>/dev/null | grep -q GNU; then
    seq 20 | parallel -j 8 "sbxrun --timeout 60s -- expr {} '*' 2" >"$tmp/out" 2>"$tmp/err"
    [ "$(sort -n "$tmp/out" | tr '\n' ' ')" = "$(seq 2 2 40 | tr '\n' ' ')" ]
    verdict 'GNU parallel' $?
else
    echo 'skipped: sbxrun under GNU parallel (not installed)'
fi

# until_file NAME: it is there and not empty.
until_file() {
    tries=0
    until [ -s "$tmp/$1" ] || [ $tries -ge 200 ]; do sleep 0.05; tries=$((tries + 1)); done
}

# on_terminal SCRIPT: a shell with job control on a terminal; what is typed comes from stdin.
on_terminal() {
    printf '%s\n' "$1" >"$tmp/script"
    script -qec "sh -m $tmp/script" /dev/null >"$tmp/out" 2>"$tmp/err"
}

# Stopped; continued in the background, where it has to stop again; and in the foreground.
ctrl_z() {
    rm -f "$tmp/first" "$tmp/second" "$tmp/third" "$tmp/end" "$tmp/up" "$tmp/pid" "$tmp/got"
    rm -f "$tmp/stolen"
    {
        until_file first && echo one
        until_file second && echo two
        until_file third && echo three
        until_file stolen && printf '\004'
        until_file end
    } | on_terminal "cd $tmp; (until [ -s up ]; do sleep 0.05; done; sleep 0.2; kill -TSTP \$(cat pid)) &
        sh -c 'echo \$\$ >pid; exec sbxrun -- sh -c \"echo >up; exec cat >stolen\"'
        echo >first; read line; echo \"\$line\" >got
        kill -CONT \$(cat pid); sleep 0.5; echo >second; read line; echo \"\$line\" >>got
        echo >third; fg; echo >end"
    [ "$(cat "$tmp/got")" = "$(printf 'one\ntwo')" ] && [ "$(cat "$tmp/stolen")" = three ]
}

# Who gets what is typed: the shell in front, never a program behind it.
jobs_of_a_shell() {
    { until_file begun; echo for the shell; until_file end; } |
        on_terminal "cd $tmp; sbxrun --timeout 9s -- sh -c 'echo >begun; cat >stolen; echo >>stolen' & sleep 0.5
            read line; echo \"\$line\" >got; wait; echo >end"
    [ "$(cat "$tmp/got")" = 'for the shell' ] && ! grep -q . "$tmp/stolen"
    verdict 'in the background the terminal is not read' $?
    on_terminal "sbxrun --timeout 60s -- sleep 1.6 & wait" </dev/null
    ! grep -q "$status" "$tmp/out"
    verdict '... and there is no status line' $?

    ctrl_z || ctrl_z # once more: a busy machine may type before the shell is ready
    verdict 'after Ctrl-Z it reads nothing until it is in the foreground again' $?

    # A program that made the terminal raw, and had to be killed for its time.
    on_terminal "sbxrun --direct --timeout 500ms -- sh -c 'stty raw -echo; sleep 60'; stty -a" </dev/null
    grep -q '[^-]icanon' "$tmp/out" && grep -q ' echo ' "$tmp/out"
    verdict 'a terminal that was made raw is put right' $?
    on_terminal "sbxrun --direct -- stty -echo; stty -a" </dev/null
    grep -q ' -echo ' "$tmp/out"
    verdict '... not if the program ended by itself: it wanted that' $?
}

# On a terminal there is a status line, in a pipe never.
status='\[[0-9]* s, [0-9]* s left\]  CPU'
if command -v script >/dev/null 2>&1 && script --version 2>/dev/null | grep -q util-linux; then
    script -qec "sbxrun --timeout 60s -- sleep 1.6" /dev/null >"$tmp/out" 2>"$tmp/err" </dev/null
    grep -q "$status" "$tmp/out"
    verdict 'a status line on a terminal' $?
    script -qec "sbxrun --quiet --timeout 60s -- sleep 1.6" /dev/null >"$tmp/out" </dev/null
    [ ! -s "$tmp/out" ]
    verdict '--quiet: none' $?
    script -qec "seq 3 | xargs -P 3 -I{} sbxrun --timeout 60s -- sleep 1.{}6" /dev/null >"$tmp/out" </dev/null
    [ ! -s "$tmp/out" ]
    verdict 'none under xargs -P, where several would share the line' $?
    jobs_of_a_shell
else
    echo 'skipped: sbxrun on a terminal (no script of util-linux)'
fi
sbxrun --timeout 60s -- sleep 1.6 >"$tmp/out" 2>&1
[ ! -s "$tmp/out" ]
verdict 'no status line in a pipe' $?

# Each example of --help works.
sbxrun --help | awk 'length > 80' >"$tmp/out"
[ ! -s "$tmp/out" ]
verdict '--help fits 80 columns' $?
sbxrun --help | sed -n '/^Examples/,$s/^  //p' >"$tmp/examples"
example() { # N EXIT WORDS: the Nth line, its status, and what it prints somewhere
    sh -c "$(sed -n "$1p" "$tmp/examples")" >"$tmp/out" 2>&1
    [ $? = "$2" ] && grep -q "$3" "$tmp/out"
    verdict "example $1 of --help" $?
}
example 1 124 timed-out
example 2 0 '^sbxrun: ok: .* memory'
example 3 124 output-limit
example 5 0 '^{"verdict":"ok"'
if command -v python3 >/dev/null; then example 6 0 '^42$'; else echo 'skipped: no python3'; fi
example 7 0 '^16$'
[ "$(awk 'END { print NR }' "$tmp/examples")" = 7 ]
verdict '--help has 7 examples' $?

# What only Linux with namespaces and Landlock can do.
if "$BUILD/examples/probe" | grep -q 'policy *yes' 2>/dev/null; then
    try '--policy' 0 'no' '*' --policy -- sh -c 'echo hi >/etc/sbxrun-was-here || echo no'
    mkdir "$tmp/tree"
    try '--write' 0 '' '' --write "$tmp/tree" -- sh -c "echo hi >$tmp/tree/file"
    grep -q hi "$tmp/tree/file"
    verdict '--write has written' $?
    example 4 2 /etc/motd
    mkdir "$tmp/home" # a tool of the user's own, as pyenv and nvm make them: not there in a policy
    printf '#!/bin/sh\nexec "$0.real" "$@"\n' >"$tmp/home/sh"
    cp /bin/sh "$tmp/home/sh.real" && chmod 755 "$tmp/home/sh"
    printf 'echo hello\n' >"$tmp/text"
    PATH=$tmp/home:$PATH try '--code under a policy takes the tools of the system' 0 hello '' \
        --policy --code sh "$tmp/text"
else
    echo 'skipped: --policy (not available here)'
fi
exit $failed
