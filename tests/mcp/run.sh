#!/bin/sh
# examples/mcp_server.c: its JSON reader, and clients that are hostile. The official client talks with
# it in `make check` (client.mjs). One line per case: ok, FAILED, or skipped with the reason.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
CC=${CC:-cc}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/sbx-mcp.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/work"
failed=0

verdict() { # NAME STATUS
    if [ "$2" -eq 0 ]; then
        echo "ok      mcp: $1"
    else
        echo "FAILED  mcp: $1"
        cut -c 1-300 "$tmp/out" | sed 's/^/    /' | tail -n 12
        failed=1
    fi
}

sanitize='-fsanitize=address,undefined -fno-sanitize-recover=undefined'
echo 'int main(void) { return 0; }' >"$tmp/try.c"
$CC $sanitize -o "$tmp/try" "$tmp/try.c" 2>/dev/null && "$tmp/try" || sanitize=
less='-DSBX_NO_LINUX -DSBX_NO_CALL -DSBX_NO_CODE' # which compiles faster
$CC -std=gnu99 -g -O0 $less $sanitize -pthread -o "$tmp/json" tests/mcp/json.c >"$tmp/out" 2>&1 &&
    "$tmp/json" >"$tmp/out" 2>&1
verdict "JSON: what to take, what to refuse, 300,000 texts ${sanitize:+under a sanitizer}" $?

options=
"$BUILD/examples/probe" | grep -q '^policy *yes' || options=--no-policy
start='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}'

# talk ANSWERS: stdin goes to the server, which is given time for so many lines, then ends.
talk() {
    mkfifo "$tmp/in"
    : >"$tmp/out"
    TMPDIR=$tmp/work "$BUILD/examples/mcp_server" $options <"$tmp/in" >"$tmp/out" 2>&1 &
    server=$!
    exec 5>"$tmp/in"
    rm "$tmp/in"
    cat >&5 2>/dev/null
    tries=0
    while [ "$(wc -l <"$tmp/out")" -lt "$1" ] && [ $tries -lt 400 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    exec 5>&-
    wait $server
    echo $? >"$tmp/status"
}
ended_well() { [ "$(cat "$tmp/status")" = 0 ]; }

# refused NAME CODE LINE: the answer to it is this error, and the server lives on.
refused() {
    printf '%s\n{"jsonrpc":"2.0","id":"last","method":"ping"}\n' "$3" | talk 2
    ended_well && [ "$(wc -l <"$tmp/out")" = 2 ] &&
        head -n 1 "$tmp/out" | grep -q "\"error\":{\"code\":$2," &&
        tail -n 1 "$tmp/out" | grep -qF '{"jsonrpc":"2.0","id":"last","result":{}}'
    verdict "$1" $?
}

refused 'no JSON' -32700 'hello'
refused 'half a line' -32700 '{"jsonrpc":"2.0","id":1,"method"'
refused 'not UTF-8' -32700 "$(printf '{"jsonrpc":"2.0","id":1,"method":"ping\377"}')"
refused 'too deep' -32700 "$(awk 'BEGIN { while (n++ < 100000) printf "[" }')"
refused 'too long' -32700 "$(awk 'BEGIN { while (n++ < 600000) printf "[1234567" }')"
refused 'a batch' -32600 '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'
refused 'another version' -32600 '{"jsonrpc":"1.0","id":1,"method":"ping"}'
for id in '7' '"seven"'; do
    for rest in '"jsonrpc":"1.0","method":"ping"' '"jsonrpc":"2.0","method":"ping","params":null' \
        '"jsonrpc":"2.0","method":"ping","params":[]' '"jsonrpc":"2.0"'; do
        refused "no request: $rest" -32600 "{\"id\":$id,$rest}"
        head -n 1 "$tmp/out" | grep -qF "\"id\":$id,"
        verdict "... the answer has the id $id" $?
    done
done
refused 'no method' -32600 '{"jsonrpc":"2.0","id":1}'
refused 'a method that is a number' -32600 '{"jsonrpc":"2.0","id":1,"method":7}'
refused 'an id that is null' -32600 '{"jsonrpc":"2.0","id":null,"method":"ping"}'
refused 'an id that is an object' -32600 '{"jsonrpc":"2.0","id":{},"method":"ping"}'
refused 'params that are a list' -32600 '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}'
refused 'a method that there is not' -32601 '{"jsonrpc":"2.0","id":1,"method":"resources/list"}'
refused 'a tool that there is not' -32602 \
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}'
refused 'arguments that are a list' -32602 \
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_command","arguments":[]}}'

call() { # ID ARGUMENTS: a line for run_command
    printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call",' "$1"
    printf '"params":{"name":"run_command","arguments":%s}}\n' "$2"
}
told() { # NAME PATTERN: one line of the answers has it
    grep -q "$2" "$tmp/out"
    verdict "$1" $?
}

{
    echo "$start"
    call '"a\"\\\u0001\u00e4"' '{"command":"echo hello; echo there >&2; exit 3"}'
} | talk 2
told 'initialize' '"id":0,"result":{"protocolVersion":"2025-06-18",'
told 'a strange id comes back' '"id":"a\\u0022\\u005c\\u0001ä",'
told 'a result' '"structuredContent":{"verdict":"exited",.*"exit_code":3,.*"stdout":"hello\\n"'
told 'an error of the program is one of the tool' '"isError":true'

printf '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"%s"}}\n' 2024-11-05 2025-03-26 \
    1999-01-01 2030-01-01 | talk 4
[ "$(sed 's/.*"protocolVersion":"\([^"]*\)".*/\1/' "$tmp/out" | tr '\n' ' ')" = \
    '2024-11-05 2024-11-05 2025-11-25 2025-11-25 ' ]
verdict 'the version of the client, or else one of our own; none that wants batches' $?
echo "$start" | "$BUILD/examples/mcp_server" --no-policy >"$tmp/out" 2>&1
grep -q 'in no sandbox.*all files' "$tmp/out" && ! grep -q 'files are not\|empty /tmp' "$tmp/out"
verdict '--no-policy: the instructions do not promise one' $?
for option in '--timeout 5m' '--timeout 0' '--timeout -1' '--timeout 99999999999999999999' '--timeout 1e3' \
    '--memory 512M' '--memory 9223372036854775807' '--memory '; do
    "$BUILD/examples/mcp_server" --no-policy "${option% *}" "${option#* }" >"$tmp/out" 2>&1 </dev/null
    [ $? = 2 ] && grep -q "mcp_server: $option: is no whole number" "$tmp/out"
    verdict "$option is refused" $?
done
"$BUILD/examples/mcp_server" --workspace "$tmp/none" >"$tmp/out" 2>&1 </dev/null
[ $? = 2 ] && grep -q 'workspace.*No such file' "$tmp/out"
verdict 'a workspace that is not there' $?
"$BUILD/examples/mcp_server" --bogus >"$tmp/out" 2>&1 </dev/null
[ $? = 2 ] && grep -q '^usage: ' "$tmp/out"
verdict 'a wrong option' $?

for arguments in '{}' '{"command":7}' '{"command":"true","x":1}' '{"command":"a\u0000b"}' \
    '{"command":"true","timeout_ms":-1}' '{"command":"true","timeout_ms":1.5}' \
    '{"command":"true","timeout_ms":99999999999999}' '{"command":"true","memory_mb":"1"}'; do
    call 1 "$arguments" | talk 1
    told "arguments $arguments" '"id":1,"result":{"content".*"isError":true'
    name=$(echo "$arguments" | sed -n 's/.*"\(x\|timeout_ms\|memory_mb\)":.*/\1/p')
    told '... the answer names the argument' "\"text\":\"${name:-command}: "
done
call 1 '{"command":"sleep 60","timeout_ms":200}' | talk 1
told 'a limit of the call' '"verdict":"timed-out"'
call 1 '{"command":"echo ok","timeout_ms":999999999,"memory_mb":999999999}' | talk 1
told 'never above the ceiling, and that is no error' '"verdict":"ok"'
if [ -z "$options" ]; then
    call 1 '{"command":"echo hi >/etc/mcp-was-here || echo no"}' | talk 1
    told 'the policy holds' '"stdout":"no\\n"'
else
    echo 'skipped: the policy (not available here)'
fi

# Twelve calls, of which eight fit; one of them is cancelled, another has an id that is in use.
{
    for n in 1 2 3 4 5 6 7 8 9 10 11 12; do call $n '{"command":"sleep 4; echo done"}'; done
    call 1 '{"command":"echo never"}'
    echo '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}'
    echo '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}'
    echo '{"jsonrpc":"2.0","method":"notifications/cancelled"}'
} | talk 12
[ "$(grep -c '"verdict":"ok".*"isError":false' "$tmp/out")" = 7 ] &&
    [ "$(grep -c 'too many calls' "$tmp/out")" = 4 ] && grep -q 'this id is in use' "$tmp/out" &&
    ! grep -q '"id":2,' "$tmp/out"
verdict 'eight at once, one cancelled without an answer, an id in use' $?

# No more requests: what was asked is answered still, even if the last line has no end.
printf '%s' "$(call 1 '{"command":"sleep 1; echo late"}')" |
    TMPDIR=$tmp/work "$BUILD/examples/mcp_server" $options >"$tmp/out" 2>&1
[ $? = 0 ] && grep -q '"id":1,.*"stdout":"late' "$tmp/out"
verdict 'a call before the end of stdin is answered' $?

# The client goes while something runs: nobody is left, nor a file.
{
    {
        call 1 '{"command":"setsid sleep 47113 & sleep 47113"}'
        sleep 1
    } | TMPDIR=$tmp/work "$BUILD/examples/mcp_server" $options
    echo $? >"$tmp/status"
} 2>"$tmp/out" | true
cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep -qx '4711[3]'
[ $? != 0 ] && ended_well && [ -z "$(ls -A "$tmp/work")" ]
verdict 'a client that goes leaves nothing' $?

# A client that asks and asks, and reads no answer: SIGTERM ends the server all the same.
mkfifo "$tmp/unread"
exec 6<>"$tmp/unread"
yes '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' 2>/dev/null |
    TMPDIR=$tmp/work "$BUILD/examples/mcp_server" $options >"$tmp/unread" 2>"$tmp/out" 6>&- &
server=$!
sleep 1
kill -TERM $server
tries=0
while kill -0 $server 2>/dev/null && [ $tries -lt 30 ]; do sleep 0.05; tries=$((tries + 1)); done
kill -KILL $server 2>/dev/null
wait $server
status=$?
echo "status $status after $tries looks" >>"$tmp/out"
exec 6>&-
[ $status = 143 ] && [ $tries -lt 30 ]
verdict 'SIGTERM ends it at once, even if nobody reads' $?

# Lines that were mutilated at random: whatever is answered is one line of JSON each.
call 1 '{"command":"true","stdin":"\u00e4"}' | awk 'BEGIN { srand(7) } {
    for (i = 0; i < 400; i++) {
        at = int(rand() * length($0)) + 1
        print substr($0, 1, at - 1) substr("{}[]\",:\\0x", int(rand() * 10) + 1, 1) substr($0, at + 1)
    }
    print "{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}"
}' | talk 0
grep -q '"id":"last","result":{}' "$tmp/out" && ! grep -qv '^{"jsonrpc":"2.0",.*}$' "$tmp/out"
verdict '400 mutilated lines' $?
exit $failed
