while :; do echo 'the answer is near'; done
