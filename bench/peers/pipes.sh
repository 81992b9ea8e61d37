#!/bin/bash
# The chain of 2005 (`pdist_file`), written anew: named pipes, tee and netcat.
#
#   pipes.sh head FILE NEXT PORT [BLOCK]     sends FILE to NEXT
#   pipes.sh node FILE NEXT PORT [BLOCK]     receives on PORT, keeps FILE, sends on to NEXT ("-" for the last)
#
# With BLOCK, rsh's part is played by perl instead of netcat: it reads and writes BLOCK bytes at once, and the
# receiving program reads the connection itself. A named pipe FILE.pipe that exists is used as it is.
# Every node must listen before the one ahead of it starts to send.
set -eu -o pipefail
role=$1 file=$2 next=$3 port=$4 block=${5:-}

# Sends what it reads to NEXT, and waits until that has ended.
sending='use Socket; my ($host, $port, $block) = @ARGV; my ($data, $count);
socket(S, PF_INET, SOCK_STREAM, 6) && connect(S, pack_sockaddr_in($port, inet_aton($host))) or die "connect: $!\n";
while ($count = sysread(STDIN, $data, $block)) {
    for (my $done = 0; $done < $count;) { $done += syswrite(S, $data, $count - $done, $done) // die "write: $!\n"; }
}
shutdown(S, 1); 1 while sysread(S, $data, 1);'
# Accepts a connection, and becomes a program that reads it.
receiving='use Socket; my $port = shift; socket(L, PF_INET, SOCK_STREAM, 6); setsockopt(L, SOL_SOCKET, SO_REUSEADDR, 1);
bind(L, pack_sockaddr_in($port, INADDR_ANY)) && listen(L, 1) && accept(S, L) or die "listen: $!\n";
close(L); open(STDIN, "<&", \*S); close(S); exec @ARGV or die "exec: $!\n";'

send() {
    if [ -n "$block" ]; then exec perl -e "$sending" "$next" "$port" "$block"; else exec nc -N "$next" "$port"; fi
}
receive() {
    if [ -n "$block" ]; then perl -e "$receiving" "$port" "$@"; else nc -d -l "$port" | "$@"; fi
}

if [ "$role" = head ]; then
    send <"$file"
fi
if [ "$next" = - ]; then
    if [ -z "$block" ]; then exec nc -d -l "$port" >"$file"; fi
    exec perl -e "$receiving" "$port" cat >"$file"
fi
pipe=$file.pipe
[ -p "$pipe" ] || mkfifo "$pipe"
# Both ends are open before a program uses one, so that no end is missed.
exec 3<>"$pipe"
exec 4>"$pipe" 5<"$pipe" 3>&-
send <&5 4>&- 5<&- &
receive tee "$pipe" >"$file" 5<&-
exec 4>&- 5<&-
wait $!
rm -f "$pipe"
