#!/bin/sh
# Prints a manual page, made from the text that is there anyway, so that it cannot differ from it:
#   man.sh sbx.3            from the comments and declarations of sbx.h
#   man.sh sbxrun.1 PROGRAM from what PROGRAM --help prints
set -u
cd "$(dirname "$0")/.." || exit 1
version=$(sed -n 's/^#define SBX_VERSION "\(.*\)".*/\1/p' sbx.h)

escaped() { # a backslash, a hyphen, a dot or an apostrophe in front mean nothing
    sed -e 's/\\/\\e/g' -e "s/^\([.']\)/\\\\\&\1/" -e 's/-/\\-/g'
}

verbatim() { # set as it stands, as far to the left as there is room
    printf '.nf\n.in 2\n'
    escaped
    printf '.fi\n.in\n'
}

# The manual: headings, lists and sentences become those of a page; tables and programs, whose lines
# have gaps in them or are far to the right, stay as they are.
manual() {
    escaped | awk '
        function fill(on) {
            if (on == filled) return
            print on ? ".fi\n.in" : ".nf\n.in 2"
            filled = on
        }
        BEGIN { filled = 1 }
        /^[A-Z][A-Z\\-]+( [A-Z]+|,|$)/ { fill(1); print ".SH " $0; fresh = 1; listed = 0; next }
        /^ *$/ { if (filled) print ".PP"; else print ""; next }
        /[^ ]   *[^ ]/ || /^    / { fill(0); print; fresh = 0; next }
        {
            if (!filled) { fill(1); if (!fresh) print ".PP" }
            fresh = 0
            item = 1
            if (sub(/^\\- /, "")) print ".IP \\(bu 2"
            else if ($0 ~ /^[0-9]\. /) { print ".IP " $1 " 3"; sub(/^[0-9]\. /, "") }
            else if (sub(/^ +/, "")) item = listed
            else { if (listed) print ".PP"; item = 0 }
            listed = item
            if ($0 ~ /^[.\x27]/) $0 = "\\&" $0
            print
        }
        END { fill(1) }'
}

library() {
    cat <<END
.TH SBX 3 "" "sbx.h $version" "Library Functions Manual"
.SH NAME
sbx \- run a program, or a C function, under limits, and learn why it ended
.SH SYNOPSIS
.nf
#define SBX_IMPLEMENTATION
#include <sbx.h>
.PP
END
    # Declarations: from SBX_API to the semicolon, without comments.
    sed -n '/^typedef enum sbx_verdict/,/^\/\* End of the API/p' sbx.h |
        awk '/^SBX_API/ { on = 1 }
             on { if (!sub(/^SBX_API /, "")) sub(/^        /, ""); sub(/ *\/\*.*/, ""); print }
             on && /;/ { on = 0 }' | escaped
    printf '.fi\n'
    sed -n '4,/\*\/$/p' sbx.h | sed -e 's/ *\*\/$//' -e 's/^   //' | manual
    printf '.SH TYPES\n'
    sed -n '/^#define SBX_VERSION/p; /^#define SBX_UNLIMITED/,/^SBX_API sbx_verdict sbx_run(/p' sbx.h |
        sed '$d' | verbatim
    printf '.SH FUNCTIONS\n'
    sed -n '/^\/\* Runs it, waits for its end/,/^\/\* clang-format on/p' sbx.h | sed '$d' | verbatim
    printf '.SH SEE ALSO\n.BR sbxrun (1),\n.BR timeout (1),\n.BR prlimit (1)\n'
}

# "  --option VALUE   words" becomes an item, lines that are far to the right go on with it.
command() { # PROGRAM
    cat <<END
.TH SBXRUN 1 "" "sbxrun $version" "User Commands"
.SH NAME
sbxrun \- run a program under limits, and say why it ended
.SH SYNOPSIS
.nf
END
    "$1" --help | sed -n 's/^Usage: *//p; s/^       sbxrun/sbxrun/p' | escaped
    printf '.fi\n.SH DESCRIPTION\n'
    "$1" --help | sed -e '1,/^ *sbxrun .*--code/d' | escaped | awk '
        /^Exit status/ { sub(/,.*/, "") }
        /^[A-Z][A-Za-z ]*( \(.*)?:?$/ && !inside {
            heading = $0
            note = ""
            if (match(heading, / \(.*\)$/)) {
                note = substr(heading, RSTART + 2, RLENGTH - 3)
                heading = substr(heading, 1, RSTART - 1)
            }
            sub(/:$/, "", heading)
            print ".SS " heading
            if (note) print toupper(substr(note, 1, 1)) substr(note, 2) "."
            examples = heading == "Examples"
            if (examples) print ".nf"
            next
        }
        /^$/ { inside = 0; next }
        examples { sub(/^  /, ""); print; next }
        /^  [^ ]/ {
            sub(/^  /, "")
            at = match($0, /  +/)
            print ".TP"
            print ".B " (at ? substr($0, 1, at - 1) : $0)
            if (at) print substr($0, at + RLENGTH)
            next
        }
        /^ / { sub(/^ +/, ""); print; next }
        { if (!inside) print ".PP"; inside = 1; print }'
    printf '.fi\n.SH SEE ALSO\n.BR sbx (3),\n.BR timeout (1),\n.BR xargs (1)\n'
}

case ${1-} in
sbx.3) library ;;
sbxrun.1) command "$2" ;;
*)
    sed -n '2,4s/^# //p' "$0"
    exit 2
    ;;
esac
