#!/bin/sh
# Run by container.ts in namespaces of its own: a real systemd as process 1, over a copy-on-write view of this machine's
# file system that is gone with the namespaces. Nothing that it does reaches the machine: it has no other process, no
# network, no devices, a /sys that is read-only, and a shutdown in it ends the namespaces.
# What is written below its root folder is in /written, too. Arguments: a folder for the mounts; the repository, which is /checkout there; the root of its system, / for that of this
# machine; a folder of this machine that is /share there, if not empty; a folder that keeps what the system writes, if not empty.
set -eu
folder=$1
checkout=$2
system=$3
share=$4
disk=${5:-$folder}

mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$folder"
mkdir -p "$disk/changes" "$disk/work" "$folder/root"
mount -t overlay -o "lowerdir=$system,upperdir=$disk/changes,workdir=$disk/work" overlay "$folder/root"
cd "$folder/root"

mkdir -p written
mount --bind "$disk/changes" written
mount -o remount,bind,ro written

mkdir -p checkout
mount --bind "$checkout" checkout
mount -o remount,bind,ro checkout
if [ -n "$share" ]; then
  mkdir -p share
  mount --bind "$share" share
fi
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
# systemd 258 and later end where they find control groups of version 1.
if [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ] || [ -e "$system/usr/lib/systemd/systemd-executor" ] && [ "$system" != / ]; then
  mount -t cgroup2 cgroup2 sys/fs/cgroup
else
  mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
  mkdir sys/fs/cgroup/unified sys/fs/cgroup/systemd
  mount -t cgroup2 cgroup2 sys/fs/cgroup/unified
  mount -t cgroup -o none,name=systemd,xattr cgroup sys/fs/cgroup/systemd
fi
mount -t tmpfs -o mode=755 tmpfs run
# Each boot has an ID of its own.
cat /proc/sys/kernel/random/uuid >run/boot-id
mount --bind run/boot-id proc/sys/kernel/random/boot_id
mount -t tmpfs tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
  : >"dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd

# Only what a node has whatever runs on it; none of this machine's own services.
mkdir -p etc/systemd/system
cat >etc/systemd/system/rig.target <<'TEXT'
[Unit]
Requires=sysinit.target dbus.service systemd-logind.service
After=sysinit.target dbus.service systemd-logind.service
AllowIsolate=yes
TEXT
rm -f etc/fstab
# The index of the manual pages takes long to make, at each installation of a package.
rm -f var/lib/man-db/auto-update

mkdir -p root/.before
pivot_root . root/.before
umount -l /root/.before
exec env -i "PATH=$PATH" container=nodemaint-test /usr/lib/systemd/systemd --system --unit=rig.target
