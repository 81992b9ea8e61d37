# What a node runs first: it finds the binary, or asks for it and stores it, and becomes the agent.
# The launcher sends it, or tells of a node that gives it and must give the right bytes.
# $1 digest, $2 bytes, $3 the path to use or -, $4 a path that may be shared or -, $5 its length and
# time, $6 digests of what else may be at $3 or -; then the arguments of the agent. It is sent as one
# line without these comments, and passes through whatever login shell there is: no single quote,
# backslash or exclamation mark.
k=$1; n=$2; p=$3; s=$4; z=$5; a=$6; shift 6;
echo "AT ${SLURMD_NODENAME:--} ${SSH_CONNECTION:--}";
# A file is opened, what is open is checked, and what was checked runs, whatever has its name by then:
# it is of this user (or of root, where the user names it), nobody else may write to it, and it has
# the digest. $2: other digests that the user allows.
good() {
  if [ -f "$1" ] && [ -r "$1" ]; then exec 9<"$1"; else r="it cannot be read"; return 1; fi;
  o=$(stat -L -c %u:%a /proc/self/fd/0 <&9 2>/dev/null);
  case $o in
    *:*[2367] | *:*[2367]?) r="others may write to it (mode ${o#*:})"; return 1;;
    *:*) ;;
    *) r="there is no stat that tells its mode"; return 1;;
  esac;
  if [ -O /proc/self/fd/9 ] || [ "$2${o%%:*}" = "${2:--}0" ]; then :; else
    r="it belongs to user ${o%%:*}"; return 1;
  fi;
  # OpenSSL uses what the processor has for it, and takes a third of the time.
  o=$({ openssl dgst -sha256 -r || sha256sum; } <&9 2>/dev/null); o=${o%% *};
  case ${o:--},,$k,${2:--}, in
    -,*) r="there is no sha256sum to check it with";;
    "$o,"*",$o,"*) return 0;;
    *) r="it is another program, with the SHA-256 $o";;
  esac;
  return 1;
};
become() {
  # One task of several is not missed by srun; and of an only one, which may have written the bytes
  # of a copy, it loses what it has not read when the task ends.
  if [ "$SLURMD_NODENAME" ]; then
    /proc/self/fd/9 "$@"; echo "ENDED $?";
    if [ "${SLURM_STEP_NUM_TASKS:-1}" -eq 1 ]; then sleep 0.3; fi;
    exit;
  fi;
  exec /proc/self/fd/9 "$@";
};
mine() { [ -d "$1" ] && [ -O "$1" ]; };
private() {
  mkdir -p "$1" 2>/dev/null;
  if [ -h "$1" ]; then return 1; fi;
  mine "$1" && chmod 700 "$1" && [ -w "$1" ];
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
m=$(uname -m); v=$(umask); umask 077; t=; f=;
tidy() { if [ "$t" ]; then rm -f "$t"; fi; };
trap tidy 0;
trap "exit 1" 1 2 13 15;
# What is lacking here to fetch it from another node.
l=; for o in bash timeout sha256sum; do command -v "$o" >/dev/null || l=$l,$o; done; l=${l#,};
# From the path that the head runs it from, as the head sends it: without what only debuggers read.
shared() {
  [ -f "$s" ] && [ "$(stat -L -c %s.%Y "$s")" = "$z" ] &&
  head -c "$n" "$s" >"$t" &&
  dd if=/dev/zero of="$t" bs=4 seek=10 count=2 conv=notrunc &&
  dd if=/dev/zero of="$t" bs=4 seek=15 count=1 conv=notrunc && good "$t";
};
asked() {
  echo "NEED $m ${l:--}";
  while read -r w q || exit 1; do
    if [ "$w" = SEND ]; then
      head -c "$n" | { cat >"$t"; cat >/dev/null; };
      g=$(wc -c <"$t");
      if [ "$g" -ne "$n" ]; then r="only $g of $n bytes could be written"; return 1; fi;
      good "$t"; return;
    fi;
    # PEER, the seconds it may take; then what bash does there, and the ticket, which only its input
    # may have.
    read -r x && read -r y || exit 1;
    echo "$y" | timeout "$q" bash -c "$x" | head -c "$n" >"$t";
    if good "$t"; then return 0; fi;
    g=$(wc -c <"$t"); o="other bytes came";
    if [ "$g" -ne "$n" ]; then o="$g of $n bytes came"; fi;
    echo "UNSERVED $o";
  done;
};
fetch() {
  t=$1/.new.$k.$$; if [ -e "$t" ] || [ -h "$t" ]; then rm -f "$t"; fi;
  # Never through a name that somebody else has put there.
  set -C; true 2>/dev/null >"$t"; o=$?; set +C;
  if [ $o -ne 0 ]; then f="$f; $1: nothing can be written there"; t=; return 1; fi;
  if shared 2>/dev/null || asked; then
    chmod 700 /proc/self/fd/0 <&9;
    if r=$(/proc/self/fd/9 --version 2>&1); then mv -f "$t" "$b" && t= && return 0; fi;
  fi;
  f="$f; $1: ${r##*: }"; tidy; t=; return 1;
};
go() { umask "$v"; trap - 0 1 2 13 15; become "$@"; };
if [ "$p" = - ]; then
  for c in "$home" "/dev/shm/garland-$u" "${TMPDIR:-/tmp}/garland-$u"; do
    d=$c/$h-$i; b=$d/$k;
    if private "$c" && private "$d"; then :; else f="$f; $c: not a folder of this user alone"; continue; fi;
    find "$d" -type f -name ".new.*" -mmin +60 -exec rm -f {} + 2>/dev/null;
    if fetch "$d"; then
      for o in "$c/$h"-[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]; do
        if [ "$o" = "$d" ]; then :; else rm -rf "$o"; fi;
      done;
      ls -t "$d" | tail -n +4 | while read -r o; do rm -f "$d/$o"; done;
      if [ "$f" ]; then echo "the binary is in $d${f}" >&2; fi;
      go "$@";
    fi;
  done;
else
  b=$p; d=$(dirname "$p"); mkdir -p "$d";
  if fetch "$d"; then go "$@"; fi;
fi;
echo "REFUSED ${f#; }"; exit 1;
