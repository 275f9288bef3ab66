#!/bin/sh
# Installs node-maintenance-agent on a Debian machine, or takes it off again. Run it as root from a checkout in which
# "npm ci && npm run build" was run. It can be run again at any time: it upgrades, and never overwrites a configuration.
set -eu

usage() {
  cat <<'TEXT'
usage: install.sh [install|uninstall] [options]

  install              install or upgrade the agent and start it (default)
    --kubeconfig FILE    kubeconfig of the agent (default: the kubelet's, /etc/kubernetes/kubelet.conf)
    --standalone         no cluster: hold shutdowns for the static pods of this machine only
    --static-pods DIR    the kubelet's staticPodPath (default: as the running kubelet has it)
    --runtime SOCKET     CRI socket (default: /run/containerd/containerd.sock)
    --disable-kubelet-graceful-shutdown
                         switch the kubelet's own graceful shutdown off by a drop-in, and restart the kubelet
    --no-start           install, but do not start
  uninstall            stop the agent and remove it; refuses while manifests are parked
    --purge              remove the configuration and the state too
TEXT
}

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
lib=/usr/lib/nodemaint
units=/etc/systemd/system
logind=/etc/systemd/logind.conf.d/zz-nodemaint.conf
# Units of systemd, or the beginnings of their names, that get a drop-in: the targets of a shutdown, and what pods run in.
tended='poweroff.target reboot.target halt.target kexec.target soft-reboot.target
  kubepods.slice kubepods-.slice cri-containerd-.scope crio-.scope docker-.scope'
config=/etc/nodemaint/config.yaml

action=install
kubeconfig=
standalone=no
static_pods=
runtime=/run/containerd/containerd.sock
start=yes
disable_kubelet_shutdown=no
purge=no

if [ $# -gt 0 ]; then
  case $1 in
    install | uninstall) action=$1; shift ;;
  esac
fi
while [ $# -gt 0 ]; do
  case $1 in
    --kubeconfig) [ $# -ge 2 ] || fail "$1 needs a file"; kubeconfig=$2; shift ;;
    --standalone) standalone=yes ;;
    --static-pods) [ $# -ge 2 ] || fail "$1 needs a folder"; static_pods=$2; shift ;;
    --runtime) [ $# -ge 2 ] || fail "$1 needs a socket"; runtime=$2; shift ;;
    --disable-kubelet-graceful-shutdown) disable_kubelet_shutdown=yes ;;
    --no-start) start=no ;;
    --purge) purge=yes ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; fail "unknown option $1" ;;
  esac
  shift
done

[ "$(id -u)" = 0 ] || fail "run it as root"
[ -d /run/systemd/system ] || fail "systemd does not run on this machine"

# logind reads its drop-ins on SIGHUP only, and takes them over within a second.
reload_logind() {
  systemctl kill --signal=HUP systemd-logind.service || true
}

# The kubelet's own graceful shutdown would kill pods by its own clock, at the same moment as the drain begins. It is
# switched off with consent only.
tend_kubelet_shutdown() {
  if [ "$disable_kubelet_shutdown" = yes ]; then
    said=$("$lib/nodemaint" disable-kubelet-shutdown --config "$config") || return 0
    echo "$said"
    case $said in
      *Wrote*) systemctl try-restart kubelet.service ;;
    esac
  elif "$lib/nodemaint" doctor --config "$config" 2>/dev/null | grep -q '^warn .*graceful shutdown is on'; then
    echo "install.sh: warning: the kubelet's own graceful shutdown is on; it will kill pods beside the agent." >&2
    echo "  Switch it off with: install.sh --disable-kubelet-graceful-shutdown" >&2
  fi
}

find_node() {
  case $(uname -m) in
    x86_64) arch=x64 ;;
    aarch64) arch=arm64 ;;
    *) fail "no Node.js for $(uname -m); the agent runs on x86_64 and aarch64" ;;
  esac
  node=$here/node_modules/node-linux-$arch/bin/node
  [ -x "$node" ] || fail "no $node; run npm ci in $here first"
  [ -f "$here/dist/nodemaint.cjs" ] || fail "no $here/dist/nodemaint.cjs; run npm run build in $here first"
}

write_config() {
  [ ! -e "$config" ] || { echo "keeping $config"; return 0; }
  if [ "$standalone" = yes ]; then
    kubeconfig=
  elif [ -z "$kubeconfig" ]; then
    kubeconfig=/etc/kubernetes/kubelet.conf
    [ -f "$kubeconfig" ] || fail "no $kubeconfig; name the kubelet's kubeconfig with --kubeconfig, or use --standalone"
  elif [ ! -f "$kubeconfig" ]; then
    fail "no kubeconfig $kubeconfig"
  fi
  [ -z "$static_pods" ] || [ -d "$static_pods" ] || fail "no static pod directory $static_pods; name the kubelet's staticPodPath with --static-pods"
  install -d -m 0755 /etc/nodemaint
  cat > "$config.new" <<TEXT
apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1
kind: AgentConfiguration
kubeconfig: "$kubeconfig"
containerRuntimeEndpoint: unix://$runtime
TEXT
  [ -z "$static_pods" ] || echo "staticPodPath: $static_pods" >> "$config.new"
  chmod 0644 "$config.new"
  mv "$config.new" "$config"
}

do_install() {
  find_node
  write_config
  install -d -m 0755 "$lib" /etc/systemd/logind.conf.d
  # A program that runs cannot be written over; a new file under its name can take its place.
  install -m 0755 "$node" "$lib/node.new"
  mv "$lib/node.new" "$lib/node"
  install -m 0644 "$here/dist/nodemaint.cjs" "$lib/nodemaint.cjs.new"
  mv "$lib/nodemaint.cjs.new" "$lib/nodemaint.cjs"
  install -m 0755 "$here/systemd/libexec/lock-holder" "$lib/lock-holder"
  printf '#!/bin/sh\nexec %s/node %s/nodemaint.cjs "$@"\n' "$lib" "$lib" > "$lib/nodemaint"
  chmod 0755 "$lib/nodemaint"
  ln -sf "$lib/nodemaint" /usr/local/bin/nodemaint
  ln -sf "$lib/nodemaint" /usr/local/bin/kubectl-nodemaint
  for unit in nodemaint.service nodemaint-inhibitor.service; do
    install -m 0644 "$here/systemd/system/$unit" "$units/$unit"
  done
  for unit in $tended; do
    install -d -m 0755 "$units/$unit.d"
    install -m 0644 "$here/systemd/system/$unit.d/zz-nodemaint.conf" "$units/$unit.d/zz-nodemaint.conf"
  done
  install -m 0644 "$here/systemd/logind.conf.d/zz-nodemaint.conf" "$logind"
  reload_logind
  systemctl daemon-reload
  tend_kubelet_shutdown
  systemctl enable --quiet nodemaint.service
  if [ "$start" = yes ]; then
    systemctl restart nodemaint.service
    echo "node-maintenance-agent is installed and runs; see: nodemaint status"
  else
    echo "node-maintenance-agent is installed; start it with: systemctl start nodemaint"
  fi
}

# Manifests that are parked would be forgotten, and their pods never come back. The agent has written down where they lie.
refuse_while_parked() {
  place=/var/lib/nodemaint/static-pods.json
  noted=$(sed -n 's/.*"parkedPath":"\([^"]*\)".*/\1/p' "$place" 2>/dev/null || true)
  for dir in "$noted" "$(sed -n 's/^parkedPath: *//p' "$config" 2>/dev/null)" /etc/kubernetes/nodemaint-parked; do
    [ -n "$dir" ] && [ -d "$dir" ] || continue
    parked=$(find "$dir" -maxdepth 1 ! -type d ! -name '.*' | sort)
    [ -z "$parked" ] || fail "these manifests are parked: $(echo $parked)
  end the maintenance first (nodemaint cancel, or complete its NodeMaintenance), or give them back: nodemaint restore --all"
  done
}

do_uninstall() {
  refuse_while_parked
  "$lib/nodemaint" disable-kubelet-shutdown --undo --config "$config" >/dev/null 2>&1 || true
  systemctl disable --quiet --now nodemaint.service nodemaint-inhibitor.service 2>/dev/null || true
  systemctl stop nodemaint.service nodemaint-inhibitor.service 2>/dev/null || true
  rm -f "$units/nodemaint.service" "$units/nodemaint-inhibitor.service" "$logind"
  for unit in $tended; do
    rm -f "$units/$unit.d/zz-nodemaint.conf"
    rmdir --ignore-fail-on-non-empty "$units/$unit.d" 2>/dev/null || true
  done
  rm -f /usr/local/bin/nodemaint /usr/local/bin/kubectl-nodemaint
  rm -rf "$lib"
  systemctl daemon-reload
  reload_logind
  if [ "$purge" = yes ]; then
    rm -rf /etc/nodemaint /var/lib/nodemaint /var/cache/nodemaint /run/nodemaint
  fi
  echo "node-maintenance-agent is removed from this machine; for the cluster's part see docs/daemonsets.md, Uninstall"
}

case $action in
  install) do_install ;;
  uninstall) do_uninstall ;;
esac
