# Every line that examples/README.md shows under an example has to be in what that example prints.
# awk -f lessons.awk README.md, in the top directory.
/^### / {
    count = split($0, word, " ")
    files = 0
    for (i = 1; i <= count; i++)
        if (word[i] ~ /^[0-9][0-9]_.*\.c/) {
            name = word[i]
            sub(/\.c.*/, "", name)
            file[++files] = "tests/expected/" name ".txt"
            shown[name] = 1
        }
}
/^## / { files = 0 }
/^    / && files {
    line = substr($0, 5)
    found = 0
    for (i = 1; i <= files; i++) {
        while ((getline text <file[i]) > 0) if (text == line) found = 1
        close(file[i])
    }
    if (!found) print FILENAME ":" FNR ": not printed: " line
    lines++
}
END {
    while (("ls examples" | getline name) > 0)
        if (name ~ /^[0-9][0-9]_.*\.c$/ && sub(/\.c$/, "", name) && !(name in shown))
            print "no lesson for " name
    if (lines < 20) print "only " lines + 0 " lines were looked at"
}
