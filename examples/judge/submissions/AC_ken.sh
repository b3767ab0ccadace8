read -r n
sum=0 most=
while read -r line; do
    for x in $line; do
        sum=$((sum + x))
        if [ -z "$most" ] || [ "$x" -gt "$most" ]; then most=$x; fi
    done
done
echo "$sum $most"
