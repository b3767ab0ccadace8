#!/bin/sh
# Prints a manual page, made from the text that is there anyway, so that it cannot differ from it:
#   man.sh sbx.3            from the comments and declarations of sbx.h
#   man.sh sbxrun.1 PROGRAM from what PROGRAM --help prints
set -u
cd "$(dirname "$0")/.." || exit 1
version=$(sed -n 's/^#define SBX_VERSION "\(.*\)".*/\1/p' sbx.h)

verbatim() { # text that is set as it stands: a backslash, a dot or an apostrophe in front mean nothing
    sed -e 's/\\/\\e/g' -e "s/^\([.']\)/\\\\\&\1/" -e 's/-/\\-/g'
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
        awk '/^SBX_API/ { on = 1 } on { sub(/^SBX_API /, ""); sub(/ *\/\*.*/, ""); print }
             on && /;/ { on = 0 }' | verbatim
    printf '.fi\n'
    sed -n '4,/\*\/$/p' sbx.h | sed -e 's/ *\*\/$//' -e 's/^   //' |
        awk '/^[A-Z][A-Z-]+( [A-Z]+|,|$)/ { print "\\\\HEAD " $0; next } { print }' |
        verbatim | sed 's/^\\e\\eHEAD \(.*\)/.fi\n.SH \1\n.nf/'
    printf '.fi\n.SH TYPES\n.nf\n'
    sed -n '/^#define SBX_VERSION/p; /^#define SBX_UNLIMITED/,/^SBX_API sbx_verdict sbx_run(/p' sbx.h | sed '$d' | verbatim
    printf '.fi\n.SH FUNCTIONS\n.nf\n'
    sed -n '/^\/\* Runs it, waits for its end/,/^\/\* clang-format on/p' sbx.h | sed '$d' | verbatim
    printf '.fi\n.SH SEE ALSO\n.BR sbxrun (1),\n.BR timeout (1),\n.BR prlimit (1)\n'
}

command() { # PROGRAM
    cat <<END
.TH SBXRUN 1 "" "sbxrun $version" "User Commands"
.SH NAME
sbxrun \- run a program under limits, and say why it ended
.SH SYNOPSIS
.nf
END
    "$1" --help | sed -n 's/^Usage: *//p; s/^       sbxrun/sbxrun/p' | verbatim
    printf '.fi\n.SH DESCRIPTION\n'
    "$1" --help | sed -e '1,/^ *sbxrun .*--code/d' | verbatim |
        awk '/^[A-Z].*:$|^[A-Z][a-z ]*(\(.*)?$/ { print ".fi\n.SS " $0 "\n.nf"; next }
             /^[A-Z]/ { print ".fi\n.PP"; para = 1 } /^$/ { if (para) print ".nf"; para = 0 } { print }'
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
