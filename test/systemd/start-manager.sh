#!/bin/sh
# Run by manager.ts in namespaces of its own: a real systemd as the manager of a user, with units of a test. It is not
# process 1 and has a /run of its own, so nothing that it does reaches the machine.
# Arguments: the folder with the units, the control groups to live in.
set -eu
folder=$1
shift
for group; do echo $$ >"$group/cgroup.procs"; done
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/systemd/system /run/user
env -i "PATH=$PATH" HOME="$folder" XDG_RUNTIME_DIR=/run/user DBUS_SESSION_BUS_ADDRESS="unix:path=$folder/bus" \
  SYSTEMD_UNIT_PATH="$folder:/usr/lib/systemd/user" /usr/lib/systemd/systemd --user --log-target=console
