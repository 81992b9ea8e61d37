# A machine on its first day: clean_root.sh DIRECTORY INSTALL PROGRAM... The root is a file system in memory, with
# libraries, an empty home, a network of its own, PROGRAM... and what the command INSTALL puts into "$root".
# It runs the commands DIRECTORY/said/*.sh in DIRECTORY/work, one after the other, until one fails, and keeps what
# each prints, its exit code, and the time in seconds. DIRECTORY/left is what they leave running.
set -eu
root=$1/root install=$2 said=$1/said work=$1/work
shift 2
mkdir "$root"
mount -t tmpfs none "$root"
for place in dev proc sys tmp root etc run var usr/bin usr/lib said work old; do
    mkdir -p "$root/$place"
done
for place in bin sbin usr/sbin; do
    ln -s /usr/bin "$root/$place"
done
for place in lib lib64; do
    if [ -L /$place ]; then ln -s usr/$place "$root/"; else mkdir "$root/$place"; mount --bind /$place "$root/$place"; fi
done
mount --bind /usr/lib "$root/usr/lib"
[ ! -d /usr/lib64 ] || { mkdir "$root/usr/lib64"; mount --bind /usr/lib64 "$root/usr/lib64"; }
for program; do
    cp -L "$(command -v "$program")" "$root/usr/bin/$program"
done
eval "$install"
echo 'root:x:0:0:root:/root:/bin/bash' > "$root/etc/passwd"
echo 'root:x:0:' > "$root/etc/group"
mount --rbind /dev "$root/dev"
mount -t tmpfs none "$root/dev/shm"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
mount --bind "$said" "$root/said"
mount --bind "$work" "$root/work"
cd "$root"
pivot_root . old
exec 2> /said/trouble
umount -l /old
rmdir /old
ip link set lo up
cd /work
read -r start _ < /proc/uptime
for command in /said/*.sh; do
    timeout -k 5 120 bash "$command" > "$command.out" 2> "$command.err" < /dev/null && code=0 || code=$?
    read -r now _ < /proc/uptime
    echo "$code $start $now" > "$command.end"
    [ "$code" = 0 ] || exit 0
done
for _ in $(seq 100); do
    left=
    for process in /proc/[0-9]*; do
        [ "$process" = /proc/$$ ] || left="$left $(tr '\0' ' ' 2> /dev/null < "$process/cmdline" || true)"
    done
    case "$left" in *[!\ ]*) sleep 0.1 ;; *) break ;; esac
done
echo "$left" > /said/left
