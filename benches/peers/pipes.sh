#!/bin/bash
# The chain of 2005 (`pdist_file`), written anew: named pipes, tee and netcat.
#
#   pipes.sh head FILE NEXT PORT     sends FILE to NEXT
#   pipes.sh node FILE NEXT PORT     receives on PORT, keeps FILE, sends on to NEXT ("-" for the last)
#
# Every node must listen before the one ahead of it starts to send.
set -eu -o pipefail
role=$1 file=$2 next=$3 port=$4
if [ "$role" = head ]; then
    exec nc -N "$next" "$port" <"$file"
fi
if [ "$next" = - ]; then
    exec nc -d -l "$port" >"$file"
fi
pipe=$file.pipe
rm -f "$pipe"
mkfifo "$pipe"
nc -N "$next" "$port" <"$pipe" &
nc -d -l "$port" | tee "$pipe" >"$file"
wait $!
rm -f "$pipe"
