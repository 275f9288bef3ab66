#!/bin/sh
# Lays out the disk of a member of the control plane before its first boot. Arguments: its folder, its name, its address, the
# --shutdown-delay-duration of its API server, the folder of certificates and kubeconfigs, and that of the programs.
set -eu
disk=$1/disk/changes
mkdir -p "$disk/usr/local/bin" "$disk/var/lib/etcd" "$1/share"
chmod 0700 "$disk/var/lib/etcd"
cp -r "$(dirname "$0")/disk/etc" "$disk"
find "$disk/etc" -type f -exec sed -i "s/NAME/$2/; s/ADDRESS/$3/g; s/DELAY/$4/" {} +
cp -r "$5/pki" "$disk/etc/kubernetes"
for each in kubelet scheduler controller-manager; do cp "$5/$each-$2" "$disk/etc/kubernetes/$each.conf"; done
cp "$6"/* "$disk/usr/local/bin"
