# awk -v least=95 -v lines_to=FILE -v branches_to=FILE -f report.awk counts unreached.txt sbx.h
# counts: kind, line, column, outcome, count. unreached.txt: a reason is a paragraph, and under it
# stand the lines that it is for, as "function: text of the line".
FNR == 1 { file++ }

file == 1 {
    key = $1 " " $2 " " $3 " " $4
    if (!(key in count)) order[++keys] = key
    if ($5 > count[key] + 0) count[key] = $5 + 0
    count[key] += 0
    next
}

file == 2 {
    if ($0 !~ /^(#|$)/ && $0 !~ /^    /) reason = $0
    if ($0 ~ /^    /) {
        sub(/^ +/, "")
        explained[$0] = 1
    }
    next
}

{
    if ($0 ~ /^[A-Za-z].*\(.*/ && $0 !~ /;$/ && $0 !~ /^(typedef|struct|enum|union)/) {
        name = $0
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        inside = name
    }
    line = $0
    gsub(/^ +| +$/, "", line)
    text[FNR] = inside ": " line
}

END {
    printf "" >lines_to
    printf "" >branches_to
    for (i = 1; i <= keys; i++) {
        split(order[i], part, " ")
        n = part[2]
        if (part[1] == "line") {
            lines++
            if (count[order[i]] > 0) reached++
            else if (text[n] in explained) { used[text[n]] = 1; reasons++ }
            else {
                print "sbx.h:" n ": " text[n] >lines_to
                wrong[++wrongs] = "sbx.h:" n ": " text[n]
            }
        } else {
            branches++
            if (count[order[i]] > 0) taken++
            else print "sbx.h:" n ":" part[3] ": never " (part[4] ? "true " : "false") "  " text[n] >branches_to
        }
    }
    for (one in explained)
        if (!(one in used)) wrong[++wrongs] = "explained, but reached or gone: " one
    printf "        lines     %5d of %5d reached, %.2f %%; %d more are explained\n", reached, lines, 100 * reached / lines, reasons
    printf "        branches  %5d of %5d reached, %.2f %%\n", taken, branches, 100 * taken / branches
    for (i = 1; i <= wrongs && i <= 60; i++) print "FAILED  " wrong[i]
    if (wrongs > 60) print "FAILED  ... and " wrongs - 60 " more"
    if (100 * taken / branches < least) {
        printf "FAILED  less than %s %% of the branches\n", least
        wrongs++
    }
    printf "%d passed, %d failed\n", (reached + reasons == lines) + (100 * taken / branches >= least), wrongs
    exit wrongs > 0
}
