#!/bin/sh
# Run by rig.ts in a mount namespace of its own: gives logind a /run of its own and puts everything that could switch the
# machine off out of its reach. Says "ready" and keeps the namespace until its standard input ends.
# Arguments: the drop-in for logind, the file to which calls of systemctl and systemd-shutdown are written.
set -eu
drop_in=$1
calls=$2

mount -t tmpfs -o mode=755 tmpfs /run
for folder in seats sessions users inhibit shutdown machines logind.conf.d; do
  mkdir -p "/run/systemd/$folder"
done
mkdir -p /run/udev /run/dbus
cp "$drop_in" /run/systemd/logind.conf.d/zz-rig.conf

printf '#!/bin/sh\necho "$0 $*" >>"%s"\n' "$calls" >/run/logger
chmod 755 /run/logger
for program in /usr/bin/systemctl /usr/lib/systemd/systemd-shutdown; do
  if [ -e "$program" ]; then mount --bind /run/logger "$program"; fi
done
if [ -e /proc/sysrq-trigger ]; then mount --bind /dev/null /proc/sysrq-trigger; fi
if [ -d /sys/power ]; then mount -t tmpfs -o ro,mode=555 tmpfs /sys/power; fi

echo ready
exec cat
