# Runs on a node: looks for the processes of a standing agent, and ends them if $1 is end. The first
# line of the input is the word that they have among their arguments: it is in no argument of this
# script. Prints ENDED and the numbers of those that were ended, and PROCESSES and the numbers of those
# that run. The script is sent as one line without these comments. It contains no single quote,
# backslash or exclamation mark, so that every login shell passes it on.
read -r w || exit 1;
if [ ${#w} -ne 16 ]; then echo "UNKNOWN no word came"; exit 1; fi;
u=$(id -u);
# A process that hides its memory does not count as one of the user there.
if [ "$u" -ne 0 ]; then
  case $(grep " /proc proc " /proc/mounts) in
    *hidepid=0* | *hidepid=off*) ;;
    *hidepid=*) echo "UNKNOWN /proc does not show them (it is mounted with hidepid)"; exit;;
  esac;
fi;
look() {
  p=;
  # Only those of this user, which their status tells: the files of a process that hides its memory belong
  # to root. The arguments of another user may have no end. 2 if a process has ended meanwhile; more if
  # grep cannot be run, or there are too many processes.
  l=$(grep -lsE "^Uid:[[:space:]]+$u[[:space:]]" /proc/[0-9]*/status);
  if [ $? -gt 2 ] || [ -z "$l" ]; then echo "UNKNOWN grep cannot be run on the processes there"; exit 1; fi;
  c=; for f in $l; do c="$c ${f%status}cmdline"; done;
  l=$(echo "$w" | grep -lsF -f - $c);
  if [ $? -gt 2 ]; then echo "UNKNOWN grep cannot be run on the processes there"; exit 1; fi;
  for f in $l; do f=${f%/cmdline}; p="$p ${f#/proc/}"; done;
};
look;
if [ "$1" = end ] && [ "$p" ]; then
  echo "ENDED$p"; kill $p 2>/dev/null; n=0;
  while look; [ "$p" ] && [ $n -lt 30 ]; do
    n=$((n + 1)); if [ $n -eq 20 ]; then kill -KILL $p 2>/dev/null; fi; sleep 0.1;
  done;
fi;
echo "PROCESSES$p";
