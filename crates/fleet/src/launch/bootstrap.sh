# Runs on a node: finds the program, or requests and stores it, and then becomes the agent. The launcher
# sends the program, or names a node that serves it; its digest is checked in both cases.
# $1 digest of the program, $2 the number of bytes that are sent, $3 the path to use or -, $4 a path that may be shared with
# the head or -, $5 the length and time of that file, $6 digests of other programs that are accepted at
# $3 or -; then the arguments of the agent. The script is sent as one line without these comments. It
# contains no single quote, backslash or exclamation mark, so that every login shell passes it on.
k=$1; n=$2; p=$3; s=$4; z=$5; a=$6; shift 6;
echo "AT ${SLURMD_NODENAME:--} ${SSH_CONNECTION:--}";
# Opens the file $1 as descriptor 9 and checks the open file; later steps run the descriptor, so it does
# not matter if the file is replaced. It must belong to this user (or to root, with $2), must not be
# writable by others, and must have the digest. $2: other digests that the user accepts.
good() {
  if [ -f "$1" ] && [ -r "$1" ]; then exec 9<"$1"; else r="it cannot be read"; return 1; fi;
  o=$(stat -L -c %u:%a /proc/self/fd/0 <&9 2>/dev/null);
  case $o in
    *:*[2367] | *:*[2367]?) r="others may write to it (mode ${o#*:})"; return 1;;
    *:*) ;;
    *) r="its mode cannot be read: stat is missing"; return 1;;
  esac;
  if [ -O /proc/self/fd/9 ] || [ "$2${o%%:*}" = "${2:--}0" ]; then :; else
    r="it belongs to user ${o%%:*}"; return 1;
  fi;
  # OpenSSL uses the SHA instructions of the CPU, and takes a third of the time of sha256sum.
  o=$(openssl dgst -sha256 -r <&9 2>/dev/null) || o=$(sha256sum <&9 2>/dev/null); o=${o%% *};
  case ${o:--},,$k,${2:--}, in
    -,*) r="it cannot be checked: sha256sum is missing";;
    "$o,"*",$o,"*) return 0;;
    *) r="it is another program, with the SHA-256 $o";;
  esac;
  return 1;
};
become() {
  # In a Slurm step: srun continues when one of several tasks ends. When an only task ends, srun drops
  # output that it has not read, which may be bytes of a copy: so wait a little.
  if [ "$SLURMD_NODENAME" ]; then
    /proc/self/fd/9 "$@"; echo "ENDED $?";
    if [ "${SLURM_STEP_NUM_TASKS:-1}" -eq 1 ]; then sleep 0.3; fi;
    exit;
  fi;
  exec /proc/self/fd/9 "$@";
};
mine() { [ -d "$1" ] && [ -O "$1" ]; };
# A directory that this user has just created has the mode of the umask below. What is checked and changed
# is the directory that was entered: the name $1 may mean a link, before or by now. It does not if it has
# the inode of that directory, and if so at last, no other user can give the name away, as in /tmp: in
# a directory without its sticky bit, to which others may write, nothing is stored.
entered() { [ "$(stat -c %d:%i . 2>/dev/null)" = "$(stat -c %d:%i "$1" 2>/dev/null)" ]; };
kept() {
  w=$(stat -c %a .. 2>/dev/null);
  case $w in
    [1357]???) ;;
    *[2367]) return 1;;
    # The user's own group has nobody else in it on most machines, whose umask is then 002.
    *[2367]?) [ "$(stat -c %g .. 2>/dev/null)" = "$(id -g)" ];;
  esac;
};
private() {
  o=; if [ -d "$1" ]; then o=old; else mkdir -p "$1" 2>/dev/null; fi;
  ( cd "$1" 2>/dev/null && mine . && entered "$1" && kept && { [ -z "$o" ] || chmod 700 .; } && [ -w . ] &&
    entered "$1" );
};
h=host; read -r h </proc/sys/kernel/hostname;
i=boot; read -r i </proc/sys/kernel/random/boot_id; i=${i%%-*};
u=${LOGNAME:-${USER:-$(id -u)}};
home=${XDG_CACHE_HOME:-$HOME/.cache}/garland;
if [ "$p" = - ]; then
  for c in "$home" "/dev/shm/garland-$u" "${TMPDIR:-/tmp}/garland-$u"; do
    d=$c/$h-$i; b=$d/$k;
    if mine "$c" && mine "$d" && [ -x "$b" ] && good "$b"; then become "$@"; fi;
  done;
elif [ -x "$p" ]; then
  if good "$p" "$a"; then become "$@"; fi;
  echo "REFUSED $p: $r"; exit 1;
fi;
m=$(uname -m);
# The kernel tells the umask without a process, if it is new enough.
v=; while read -r x y; do if [ "$x" = Umask: ]; then v=$y; break; fi; done </proc/self/status;
v=${v:-$(umask)}; umask 077; t=; e=; f=;
tidy() { if [ "$t" ]; then rm -f "$t" "$e"; fi; };
trap tidy 0;
trap "exit 1" 1 2 13 15;
# The commands that this node lacks for unpacking the program, and for fetching it from another node.
l=; for o in gzip bash timeout sha256sum; do command -v "$o" >/dev/null || l=$l,$o; done; l=${l#,};
# The new program is $t, open as descriptor 8, and its compressed form $e, open as 7. Both are
# written and read by the descriptors of this shell: in a directory to which others may write, a
# name may mean a link or another file by now.
w8=/proc/$$/fd/8; w7=/proc/$$/fd/7;
# Creates the file $2 as descriptor $1, and fails if the name is taken. "command" keeps a failed
# "exec" from ending the shell.
create() {
  if [ -e "$2" ] || [ -h "$2" ]; then rm -f "$2"; fi;
  # With noclobber set, a file or link that another user has created is not written through.
  set -C;
  if [ "$1" = 8 ]; then { command exec 8>"$2"; } 2>/dev/null; else { command exec 7>"$2"; } 2>/dev/null; fi;
  o=$?; set +C; return $o;
};
# Copies the program from the path that is shared with the head. Zeroes the same header fields as the
# head does, which refer to sections that only debuggers read.
shared() {
  [ -f "$s" ] && [ "$(stat -L -c %s.%Y "$s")" = "$z" ] &&
  head -c "$n" "$s" >$w8 &&
  dd if=/dev/zero of=$w8 bs=4 seek=10 count=2 conv=notrunc &&
  dd if=/dev/zero of=$w8 bs=4 seek=15 count=1 conv=notrunc && good $w8;
};
# Unpacks the program $e if it was sent compressed. The compressed form stays for other nodes. What
# another node sends may be packed a thousand times smaller, and is not checked yet: a program is not.
unpack() {
  g=$(wc -c <$w7);
  gzip -dc <$w7 2>/dev/null | head -c $((16 * n)) >$w8;
  if [ -s $w8 ]; then :; else cat <$w7 >$w8; rm -f "$e"; e=; fi;
};
asked() {
  echo "NEED $m ${l:--}";
  while read -r w q || exit 1; do
    e=$t.gz; create 7 "$e" || { r="no file can be created there"; e=; return 1; };
    if [ "$w" = SEND ]; then
      head -c "$n" | { cat >$w7 || cat >/dev/null; };
      unpack; if good $w8; then return 0; fi;
      if [ "$g" -ne "$n" ]; then r="only $g of $n bytes could be written"; fi;
      return 1;
    fi;
    # PEER and the timeout in seconds; then a line with the program for bash, and one with the ticket,
    # which must only be in the input of bash.
    read -r x && read -r y || exit 1;
    # What it leaves running for some seconds must not keep the program open for writing.
    echo "$y" | timeout "$q" bash -c "$x" 7>&- 8>&- | { head -c "$n" >$w7; };
    unpack; if good $w8; then return 0; fi;
    o="other bytes came"; if [ "$g" -ne "$n" ]; then o="$g of $n bytes came"; fi;
    echo "UNSERVED $o";
  done;
};
fetch() {
  t=$1/.new.$k.$$;
  if create 8 "$t"; then :; else f="$f; $1: no file can be created there"; t=; return 1; fi;
  if shared 2>/dev/null || asked; then
    chmod 700 /proc/self/fd/0 <&9;
    # A file that is open for writing cannot be executed.
    exec 8>&- 7>&-;
    if r=$(/proc/self/fd/9 --version 2>&1); then
      if [ "$e" ]; then mv -f "$e" "$b.gz"; fi;
      mv -f "$t" "$b" && t= && return 0;
    fi;
  fi;
  f="$f; $1: ${r##*: }"; tidy; t=; return 1;
};
go() { umask "$v"; trap - 0 1 2 13 15; become "$@"; };
if [ "$p" = - ]; then
  for c in "$home" "/dev/shm/garland-$u" "${TMPDIR:-/tmp}/garland-$u"; do
    d=$c/$h-$i; b=$d/$k;
    if private "$c" && private "$d"; then :; else f="$f; $c: not a private directory of this user"; continue; fi;
    for o in "$d"/.new.*; do
      if [ -f "$o" ]; then find "$o" -type f -mmin +60 -exec rm -f {} + 2>/dev/null; fi;
    done;
    if fetch "$d"; then
      for o in "$c/$h"-[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]; do
        if [ "$o" = "$d" ]; then :; else rm -rf "$o"; fi;
      done;
      q=; for o in "$d"/*; do case $o in *.gz) ;; *) q=$q.;; esac; done;
      if [ ${#q} -gt 3 ]; then
        ls -t "$d" | grep -v "[.]gz" | tail -n +4 | while read -r o; do rm -f "$d/$o" "$d/$o.gz"; done;
      fi;
      if [ "$f" ]; then echo "the program is stored in $d${f}" >&2; fi;
      go "$@";
    fi;
  done;
else
  b=$p; d=$(dirname "$p"); mkdir -p "$d";
  if fetch "$d"; then go "$@"; fi;
fi;
echo "REFUSED ${f#; }"; exit 1;
