#!/bin/sh
# Becomes logind, but only without the capability to reboot: bit 22, CAP_SYS_BOOT, has to be absent from every set that
# counts. A bounding set without it cannot be left by exec.
set -eu
while IFS=':' read -r field value; do
  case $field in
  CapBnd | CapEff | CapPrm)
    value=$(printf '%s' "$value" | tr -d '[:space:]')
    if [ $(((0x$value >> 22) & 1)) -ne 0 ]; then
      echo "refusing to start logind: $field still has CAP_SYS_BOOT ($value)" >&2
      exit 77
    fi
    checked=${checked:-}x
    ;;
  esac
done </proc/self/status
if [ "${checked:-}" != xxx ]; then
  echo "refusing to start logind: cannot read the capabilities" >&2
  exit 77
fi
exec /usr/lib/systemd/systemd-logind
