# awk -v number=N -f apply.awk list.txt sbx.h: the header with the N-th change of the list.
# Exits with 1 if the old text does not stand exactly once in the header.
FNR == NR {
    if (/^= /) { at++; name[at] = substr($0, 3) }
    else if (/^-/) before[at] = before[at] (has_before[at]++ ? "\n" : "") substr($0, 3)
    else if (/^\+/) after[at] = after[at] (has_after[at]++ ? "\n" : "") substr($0, 3)
    next
}
{ text = text $0 "\n" }
END {
    first = index(text, before[number])
    rest = substr(text, first + 1)
    if (!before[number] || !first || index(rest, before[number])) {
        printf "%s: its old text is %s\n", name[number], first ? "not the only one" : "gone" >"/dev/stderr"
        exit 1
    }
    printf "%s%s%s", substr(text, 1, first - 1), after[number], \
        substr(text, first + length(before[number]))
}
