# awk -v number=N -v header=sbx.h -f apply.awk list.txt: the header with the N-th change of the list.
# Exits with 1 if an old text does not stand exactly once in the header; 0 for N looks at all of them.
/^= / { name[++count] = substr($0, 3) }
/^-/ { before[count] = before[count] (has_before[count]++ ? "\n" : "") substr($0, 3) }
/^\+/ { after[count] = after[count] (has_after[count]++ ? "\n" : "") substr($0, 3) }

function is_wrong(i, first) {
    first = index(text, before[i])
    if (before[i] && first && !index(substr(text, first + 1), before[i])) return 0
    printf "%s: its old text is %s\n", name[i], first ? "not the only one" : "gone"
    return 1
}

END {
    RS = "\001" # the whole file at once
    getline text <header
    if (number == 0) {
        for (i = 1; i <= count; i++) wrong += is_wrong(i)
        exit wrong > 0
    }
    if (is_wrong(number)) exit 1
    first = index(text, before[number])
    printf "%s%s%s", substr(text, 1, first - 1), after[number], \
        substr(text, first + length(before[number]))
}
