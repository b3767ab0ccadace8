#!/bin/sh
# How a reader who follows a run goes through sbx.h: walk.sh [group|auto|policy|call...].
#
# The functions of the header in the order of their first call, in the host and in its children, for
# a run of `true` in a group, with defaults (AUTO), under a policy that is all zero, and for a
# function in a group. How often a run looks at /proc depends on the machine, so each is run five
# times, and the shortest walk counts. Functions of the sections platform, data, helpers and linux
# base are left out: they are called from everywhere, and a reader learns them once. A section is
# what stands below a line "/* ==== name: ... ==== */". From each function to the next, it is counted
#   - whether the section is another one, and
#   - whether the next function begins more than 500 lines away, up or down.
# VERBOSE=1 lists the walk; * = another section, > = a long jump.
set -u
cd "$(dirname "$0")/.." || exit 1
out=${BUILD:-build}/walk
CC=${CC:-cc}
mkdir -p "$out" || exit 1

for tool in addr2line awk; do
    command -v $tool >/dev/null && continue
    echo "skipped: walk ($tool is not installed)"
    exit 0
done
if ! $CC -std=gnu99 -O0 -g -gdwarf-4 -no-pie -finstrument-functions -o "$out/walk" tests/walk.c \
    >"$out/log" 2>&1; then
    echo "skipped: walk ($CC does not build it: see $out/log)"
    exit 0
fi

# count FORMAT FILE: reads the sections of the header, then the walk; prints three numbers.
count() {
    awk -v format="$1" -v verbose="${VERBOSE:-}" '
        FNR == NR {
            if (/^\/\* ==== /) {
                name = $0
                sub(/^\/\* ==== /, "", name)
                sub(/ *=* *\*\/.*$/, "", name)
                if (name !~ /^wing:/) sub(/:.*$/, "", name)
                sub(/\..*$/, "", name)
                begin[++sections] = FNR
                title[sections] = name
            }
            next
        }
        {
            section = 0
            while (section < sections && begin[section + 1] <= $1) section++
            if (title[section] ~ /platform|data|helpers|linux base/) next
            functions++
            other = functions > 1 && section != last
            far = functions > 1 && ($1 - line > 500 || line - $1 > 500)
            changes += other
            jumps += far
            marks = (other ? "*" : " ") (far ? ">" : " ")
            if (verbose) printf "%5d %s %-28s %s\n", $1, marks, $2, title[section]
            last = section
            line = $1
        }
        END { printf format, functions, changes, jumps }' sbx.h "$2"
}

# walk WHICH: first visits as "line function", as far as they lie in sbx.h; of five the shortest, and
# of equal ones the straightest, since a host and its child run side by side.
walk() {
    least=""
    for try in 1 2 3 4 5; do
        "$out/walk" "$1" >"$out/visits" || {
            why=$(cat "$out/visits")
            return 1
        }
        xargs addr2line -f -e "$out/walk" <"$out/visits" |
            awk 'NR % 2 { name = $0; next }
                 /sbx\.h:/ { sub(/.*sbx\.h:/, ""); print $1 + 0, name }' >"$out/try"
        this=$(VERBOSE="" count "%03d%03d%03d" "$out/try")
        if [ -z "$least" ] || expr "$this" \< "$least" >/dev/null; then
            least=$this
            mv "$out/try" "$out/$1"
        fi
    done
    [ "$least" != 000000000 ] && return
    why="no function was seen"
    return 1
}

for which in ${*:-group auto policy call}; do
    if walk "$which"; then
        printf '%-8s' "$which"
        [ -z "${VERBOSE:-}" ] || echo
        count '%3d functions, %2d changes of section, %2d jumps of more than 500 lines\n' "$out/$which"
    else
        echo "skipped: walk, $which ($why)"
    fi
done
