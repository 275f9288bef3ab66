#!/bin/sh
# Installs node-maintenance-agent on a machine, upgrades it, or removes it. Run it as root from an unpacked release, or from a
# checkout in which "npm ci && npm run build" was run. The packages and the installer's image bring a release, and run it too.
#
# usage: install.sh [install|rollback|uninstall] [options]
#
#   install              install or upgrade the agent and start it (default); goes back by itself if the agent does not start
#     --kubeconfig FILE    kubeconfig of the agent (default: that of the running kubelet, else one of the usual files)
#     --standalone         without a cluster: hold shutdowns only for the static pods of this machine
#     --drop-in FILE       a drop-in of the configuration, which becomes config.d/50-installer.yaml; an empty FILE takes it away
#     --unless-current     do nothing if exactly this program is installed, runs, and holds the lock
#     --disable-kubelet-graceful-shutdown  switch the kubelet's own graceful shutdown off by a drop-in; restarts the kubelet
#     --no-start           install, but do not start
#     --when-idle          exit code 75 while the agent drains, or manifests are parked
#   rollback             go back to the previous installation
#   uninstall            stop the agent and remove it; exit code 75 while the agent drains, or manifests are parked
#     --purge              remove the configuration and the state too
#   --package            with any of them, for the packages: their own files are the commands in /usr/bin; nothing is started
#                        where systemd does not run, as in a chroot, or where the machine has no kubeconfig yet

# Each installation is a folder below /usr/lib/nodemaint/versions: program, Node.js, lock holder, units, and the drop-in of the
# configuration. systemd and people reach them through links that go through /usr/lib/nodemaint/current. One rename switches
# that link, so an interrupted installation leaves either the old or the new one, complete; going back is the same rename.
# Where /usr cannot be written, all of it lies below /opt/nodemaint, and the units are copies in /etc/systemd/system: /opt may
# be mounted after systemd has read its units.
#
# The shell ends at the first command that fails ("set -e"), and on_exit goes back. It does not see failures in conditions and
# on the left side of a pipe: nothing that changes something stands there.
set -eu
umask 022
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

usage() { sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; }
warn() { echo "install.sh: $*" >&2; }
fail() {
  warn "$*"
  exit 1
}

here=$(CDPATH='' cd -- "$(dirname "$0")" && pwd)
wanted=/etc/systemd/system/multi-user.target.wants/nodemaint.service
polkit=/etc/polkit-1/rules.d/10-nodemaint.rules
etc=/etc/nodemaint config=/etc/nodemaint/config.yaml
# A link to the drop-in of the current installation. Administrators' drop-ins have other names.
dropped=$etc/config.d/50-installer.yaml
head='apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1
kind: AgentConfiguration'
up_sec=180

action=install package=no named=no kubeconfig='' drop_in='' start=yes when_idle=no unless_current=no disable_kubelet=no purge=no
while [ $# -gt 0 ]; do
  case $1 in
    install | rollback | uninstall) action=$1 ;;
    --kubeconfig) [ $# -ge 2 ] || fail "$1 needs a file"; named=yes kubeconfig=$(realpath -ms -- "$2"); shift ;;
    --standalone) named=yes kubeconfig='' ;;
    --disable-kubelet-graceful-shutdown) disable_kubelet=yes ;;
    --drop-in) [ -f "${2:-}" ] || fail "$1 needs a file"; drop_in=$2; shift ;;
    --no-start) start=no ;;
    --when-idle) when_idle=yes ;;
    --unless-current) unless_current=yes ;;
    --purge) purge=yes ;;
    --package) package=yes ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; fail "unknown option $1" ;;
  esac
  shift
done

[ "$(id -u)" = 0 ] || fail "run it as root"
[ -d /run/systemd/system ] || [ "$package" = yes ] || fail "systemd does not run on this machine"
[ -d /run/systemd/system ] || start=no
exec 9> /run/nodemaint-install.lock
flock -n 9 || fail "another install.sh runs on this machine"

# Whether files can be made in DIR, which may not exist yet.
is_writable() {
  dir=$1
  while [ ! -e "$dir" ]; do dir=$(dirname "$dir"); done
  [ -w "$dir" ]
}

# The folder of the program, that of systemd, and how a file comes from the one into the other.
lib=/usr/lib/nodemaint units=/usr/lib/systemd bring=link
if [ -L /opt/nodemaint/current ] || { [ ! -L "$lib/current" ] && ! { is_writable "$lib" && is_writable "$units"; }; }; then
  [ "$package" = no ] || fail "the packages need /usr/lib/nodemaint, and no agent in /opt/nodemaint"
  lib=/opt/nodemaint units=/etc/systemd bring=put
fi
bin=/usr/local/bin
[ "$package" = no ] || bin=/usr/bin
is_writable "$bin" || bin=/opt/bin
current=$lib/current previous=$lib/previous versions=$lib/versions
# The new installation, and the configuration as it is going to be.
staged=$versions/.staged trial=$versions/.trial
# This file exists from the switch to an installation until that installation was seen to work.
unproven=$lib/unproven
programs="$versions/[^/]+/(node|nodemaint|lock-holder)"

# Points the link $2 to $1, in one step.
link() {
  [ "$(readlink "$2" || true)" != "$1" ] || return 0
  mkdir -p "$(dirname "$2")"
  ln -sfn "$1" "$2.new"
  mv -fT "$2.new" "$2"
}

# Copies $1 to $2, in one step: after a power cut $2 is old or new, never half written.
put() {
  ! cmp -s "$1" "$2" || return 0
  install -D -m 0644 "$1" "$2.new"
  sync "$2.new"
  mv -fT "$2.new" "$2"
  sync "$(dirname "$2")"
}

version_of() { basename "$(readlink "$1" || true)"; }
uptime_sec() { cut -d . -f 1 /proc/uptime; }

# The text of the drop-in in the file $1: one that says nothing where the file is empty, or not there.
drop_in_of() { if [ -s "$1" ]; then cat "$1"; else echo "$head"; fi; }

# The files that the current installation has for systemd, as names below a folder of systemd. They have no spaces.
units_of_current() { (cd "$current/systemd" && find system logind.conf.d -type f -printf '%p '); }

# Finds the program that this script brings.
find_build() {
  node=$here/node
  [ -f "$node" ] || node=$(echo "$here"/node_modules/node-linux-*/bin/node)
  [ -f "$node" ] || fail "no $node; run npm ci in $here first"
  [ -f "$here/dist/nodemaint.cjs" ] || fail "no $here/dist/nodemaint.cjs; run npm run build in $here first"
  [ -x "$node" ] || fail "$node cannot be executed, as on a file system that is mounted with noexec; put $here elsewhere, such as below /var/tmp"
  # A checkout has the Node.js of an npm package, and its hash in a file. What a release brings is covered by its signature.
  pins=$here/.ci/pins/node.sha256
  [ ! -f "$pins" ] || (cd "$here/node_modules" && sha256sum --check --ignore-missing --status "$pins") ||
    fail "$node is not the Node.js that $pins names; run npm ci in $here, and look at what it brings; nothing was changed"
}

# Makes the folder of a new installation, and tries its programs. The folder has no name yet by which anything finds it.
stage() {
  rm -rf "$staged"
  install -d -m 0755 "$staged"
  # The 120 MB of a package are on the disk once: the package manager replaces its files, and never writes into them.
  if [ "$package" = no ] || ! ln "$node" "$staged/node" 2> /dev/null; then cp "$node" "$staged/node"; fi
  find "$here/dist" -maxdepth 1 \( -name '*.cjs' -o -name THIRD_PARTY_NOTICES \) -exec cp -t "$staged" {} +
  cp -R "$here/systemd" "$here"/systemd/libexec/* "$staged"
  chmod -R u=rwX,go=rX "$staged"
  find "$staged/systemd" -type f -exec sed -i "s,/usr/lib/nodemaint/,$lib/,g" {} +
  drop_in_of "${drop_in:-$dropped}" > "$staged/drop-in.yaml"
  version=$("$staged/nodemaint" --version) || fail "the new program does not run on this machine; nothing was changed"
  NODEMAINT_ALIVE_FILE=/dev/null NODEMAINT_DEAD_MAN_SEC=0 "$staged/lock-holder" 2> /dev/null ||
    fail "the new lock holder does not run on this machine; nothing was changed (it needs: $(head -n 1 "$staged/lock-holder"))"
  new=$version-$(date -u +%Y%m%dT%H%M%SZ)-$$
  # SELinux lets systemd start programs with this label; what lies below /usr/lib or /opt would get another one.
  command -v selinuxenabled > /dev/null && selinuxenabled || return 0
  chcon -t bin_t "$staged/node" "$staged/nodemaint" "$staged/lock-holder"
  semanage fcontext -a -t bin_t "$programs" 2> /dev/null || semanage fcontext -m -t bin_t "$programs" 2> /dev/null ||
    warn "warning: SELinux does not record the label bin_t of $programs: there is no semanage. A relabeling of the file system would take it away, and then the agent would not start"
}

# The kubeconfig that was named, else what the running kubelet and the files of this machine tell.
write_config() {
  detected=$("$staged/nodemaint" config detect) || detected=''
  if [ "$named" = yes ]; then
    quoted=$(printf '%s' "$kubeconfig" | sed "s/'/''/g")
    detected="kubeconfig: '$quoted'
$(printf '%s\n' "$detected" | sed '/^kubeconfig: /d')"
  fi
  case $package$detected in
    yes* | *kubeconfig:*) printf '%s\n' "$head" "$detected" ;;
    *) fail "no kubelet runs here that names its kubeconfig, and none of the usual files exists; name the kubelet's kubeconfig with --kubeconfig, or use --standalone; nothing was changed" ;;
  esac
}

# Checks the configuration as it is going to be, with the program in the folder $1 and the drop-in that lies there.
check_config() {
  rm -rf "$trial"
  install -d -m 0755 "$trial/config.d"
  # Installations of 0.2.0 had their drop-in in the file itself.
  drop_in_of "$dropped" > "$trial/own.yaml"
  for dir in "$current" "$previous"; do [ -e "$dir/drop-in.yaml" ] || [ ! -d "$dir" ] || put "$trial/own.yaml" "$dir/drop-in.yaml"; done
  [ ! -d "$etc/config.d" ] || cp -a "$etc/config.d/." "$trial/config.d"
  cp --remove-destination "$1/drop-in.yaml" "$trial/config.d/${dropped##*/}"
  [ -e "$config" ] || write_config > "$trial/config.yaml"
  [ ! -e "$config" ] || cp -p "$config" "$trial/config.yaml"
  read_places "$1" "$trial/config.yaml" 2> /dev/null || used=''
  [ ! -e "$used" ] || case $used in /root/* | /home/* | /run/user/*) fail "the agent's unit cannot read $used, because it sees no home directories; put the kubeconfig elsewhere" ;; esac
  answer=$("$1/nodemaint" config check --config "$trial/config.yaml" 2>&1) && return 0
  if [ "$package" = yes ] && [ -n "$used" ] && [ ! -e "$used" ] && ! is_up; then
    # The package was installed or upgraded before the node has joined its cluster, or in the image of a machine.
    echo "no $used yet; the agent starts at the next boot, or with: systemctl start nodemaint"
    start=no
  else
    printf '%s\n' "$answer" | sed "s,$trial/,$etc/,g" >&2
    fail "the agent would not start with this configuration; nothing was changed"
  fi
}

# Reads where kubeconfig, manifests and state of this machine are, as the program in the folder $1 says of the configuration $2.
read_places() {
  places=$("$1/nodemaint" config show kubeconfig staticPodPath parkedPath stateDirectory runDirectory --config "$2") || return 1
  { read -r used; read -r static; read -r parked; read -r state; read -r run; } << TEXT
$places
TEXT
}

# The agent's unit may write to the usual locations of manifests. This adds those of this machine, which may be the same.
stage_paths() {
  [ -d "$state" ] || install -d -m 0700 "$state"
  beside=$(dirname "$static")
  if [ "$beside" = / ]; then set -- "$static" "$parked"; else set -- "$beside" "$(dirname "$parked")"; fi
  quoted=$(printf '%s\n' "$@" "$state" "$run" | sed 's/[\\"]/\\&/g; s/%/%%/g; s/.*/ReadWritePaths="-&"/')
  install -d -m 0755 "$staged/systemd/system/nodemaint.service.d"
  printf '%s\n' '[Service]' "$quoted" > "$staged/systemd/system/nodemaint.service.d/zz-nodemaint.conf"
}

# Makes systemd and people use an installation. The running agent continues until it is restarted.
switch_to() {
  link "versions/$1" "$current"
  sync "$lib"
  for name in node nodemaint.cjs lock-holder nodemaint; do link "current/$name" "$lib/$name"; done
  for name in nodemaint kubectl-nodemaint; do [ "$package" = yes ] || link "$lib/nodemaint" "$bin/$name"; done
  own=$(units_of_current)
  for file in $own; do "$bring" "$current/systemd/$file" "$units/$file"; done
  remove_units "$own"
  [ ! -d /usr/share/polkit-1 ] || put "$current/systemd/polkit-1/rules.d/10-nodemaint.rules" "$polkit"
  # What "systemctl enable" does, which itself would follow all links to the unit of this one installation.
  link "$units/system/nodemaint.service" "$wanted"
  sync -f "$lib" "$units" "$wanted"
  reload
  is_installed
}

# Removes what is ours in the folders of systemd, but for the files named in $1. All have one of these names.
remove_units() {
  found=$(cd "$units" && find . -maxdepth 3 ! -type d \( -name 'nodemaint*.service*' -o -name 'zz-nodemaint.conf*' \) ! -path '*.wants/*' -printf '%P ')
  for file in $found; do
    case " $1" in *" $file "*) continue ;; esac
    rm -f "$units/$file"
    rmdir "$(dirname "$units/$file")" 2> /dev/null || true
  done
  # These would go before ours: a file of 0.2.0, and what "systemctl enable" by a person makes, a link to one installation.
  [ "$units" = /etc/systemd ] || rm -f /etc/systemd/logind.conf.d/zz-nodemaint.conf
  case $(readlink /etc/systemd/system/nodemaint.service || true) in "$versions"/*) rm -f /etc/systemd/system/nodemaint.service ;; esac
}

# logind reads its drop-ins only on SIGHUP, and applies them within a second.
reload() {
  systemctl kill --signal=HUP systemd-logind.service 2> /dev/null || true
  [ ! -d /run/systemd/system ] || systemctl daemon-reload
}

# Whether the next boot starts the current installation, whatever was said before.
is_installed() {
  own=$(units_of_current) && systemctl is-enabled --quiet nodemaint.service || return 1
  for file in $own; do cmp -s "$current/systemd/$file" "$units/$file" || return 1; done
}

# Asks the agent for its phase, the kind of its lock, and whether the lock is held.
ask_agent() {
  "$lib/nodemaint" status -o json 2> /dev/null |
    "$lib/node" -p 'const { phase, lock } = JSON.parse(fs.readFileSync(0)); [phase.kind, lock.kind, lock.held].join(" ")' 2> /dev/null
}

# Whether the agent answers and holds the lock, or needs no lock. The agent checks the lock holder once a minute.
is_up() {
  answer=$(ask_agent) || answer='no answer'
  case $answer in
    *' true') systemctl is-active --quiet nodemaint-inhibitor.service ;;
    *' none '* | 'released '*) ;;
    *) return 1 ;;
  esac
}

# Restarts the agent, and waits until it holds the lock: it sends READY=1 before it has read anything, so this asks the agent
# itself. It asks again some seconds later, when the process must be the same: an agent that crashes and restarts again and
# again also answers now and then. An agent that is not draining releases its lock when it is stopped, so this script holds one.
bring_up() {
  [ "$start" = yes ] || return 0
  systemd-inhibit --what=shutdown --mode=delay --who=install.sh '--why=The agent is being restarted' \
    timeout "$((3 * up_sec))" tail --pid=$$ -f /dev/null 9>&- > /dev/null 2>&1 &
  why='systemd cannot start the agent'
  timeout 180 systemctl restart nodemaint.service
  end=$(($(uptime_sec) + up_sec))
  until is_up; do
    why="the agent does not hold the lock after $up_sec s (its phase, kind of lock, and whether it is held: $answer)"
    [ "$(uptime_sec)" -lt "$end" ]
    sleep 1
  done
  why='the agent, or the holder of its lock, ended again after its start'
  process=$(systemctl show -P InvocationID nodemaint.service)
  sleep 3
  is_up && [ "$(systemctl show -P InvocationID nodemaint.service)" = "$process" ]
}

# Switches to an installation and checks that it starts. After the switch every end of this script except success goes back.
activate() {
  [ -z "$good" ] || link "versions/$good" "$previous"
  # Until the switch this leads to the drop-in that the current program has already.
  link "$current/drop-in.yaml" "$dropped"
  : > "$unproven"
  sync -f "$lib" "$etc"
  step=switched
  why='it could not be installed'
  switch_to "$1"
  bring_up
  [ "$start" = no ] || rm -f "$unproven"
  sync -f "$lib"
  step=finished
}

# Runs whenever this script ends.
on_exit() {
  code=$?
  trap '' INT TERM HUP
  set +e
  [ "$step" != switched ] || go_back "$code"
  rm -rf "$staged" "$trial" "$config.new"
  # The new installation is removed where it is surely not the current one.
  case $step in begun | back) rm -rf "$versions/${new:-.staged}" ;; esac
  # Where nothing is installed, no folder of ours stays.
  [ "$step" = finished ] || rmdir "$versions" "$lib" "$etc/config.d" "$etc" 2> /dev/null
  exit "$code"
}

# Goes back to the installation before, and says why.
go_back() {
  [ "$1" -lt 128 ] || why='this script was interrupted'
  warn "the new installation $(version_of "$current") did not start: $why. The last lines of its log:"
  # What the program said last may be on its way to the journal still.
  timeout 10 journalctl --sync 2> /dev/null
  journalctl --no-pager --lines=20 --unit=nodemaint.service --unit=nodemaint-inhibitor.service >&2
  [ -n "$good" ] || warn "there is no earlier installation to go back to; systemd continues to try to start this one"
  [ -n "$good" ] || return
  warn "going back to $good"
  # In a subshell that is no condition, for "set -e".
  (set -e; switch_to "$good"; bring_up; rm -f "$unproven"; sync -f "$lib")
  back=$?
  how='runs again'
  [ "$back" != 0 ] || step=back
  [ "$step" = back ] || how='did not start either. THIS NODE IS NOT PROTECTED; see: journalctl -u nodemaint'
  warn "the upgrade FAILED; the earlier installation $good $how"
}

do_install() {
  find_build
  for place in "$lib" "$units" "$wanted" "$config" /var/lib/nodemaint "$bin"; do
    is_writable "$place" || fail "$place cannot be written, because $dir is read-only; nothing was changed. Use the image or package that your system takes"
  done
  [ "$when_idle" = no ] || refuse_while_busy
  stage
  check_config "$staged"
  stage_paths
  if [ "$unless_current" = yes ] && diff -r "$staged" "$(readlink -f "$current")" > /dev/null && [ ! -e "$unproven" ] && is_installed && is_up; then
    step=finished
    echo "exactly this node-maintenance-agent is installed, runs, and holds the lock"
  else
    # The installation to go back to: the current one, unless it was never seen to work.
    good=$(version_of "$current")
    if [ -e "$unproven" ] && ! is_up; then good=$(version_of "$previous"); fi
    [ -d "$versions/${good:-none}" ] || good=''
    # Everything is on the disk before the folder gets its name.
    sync -f "$staged"
    mv -T "$staged" "$versions/$new"
    [ -e "$config" ] || put "$trial/config.yaml" "$config"
    activate "$new"
    for dir in "$versions"/*; do
      case ${dir##*/} in "$new" | "$good") ;; *) rm -rf "$dir" ;; esac
    done
    told="is installed, runs, and holds the lock; see: $bin/nodemaint status"
    [ "$start" = yes ] || told='is installed; start it with: systemctl start nodemaint'
    echo "node-maintenance-agent $version $told"
  fi
  # The kubelet's own graceful shutdown would kill pods by its own clock when the drain begins. The agent takes over its order.
  if [ "$disable_kubelet" = yes ]; then
    said=$("$lib/nodemaint" disable-kubelet-shutdown --config "$config") ||
      fail "node-maintenance-agent is installed, but the kubelet's own graceful shutdown could NOT be switched off, and would kill pods during a drain"
    echo "$said"
    case $said in *Wrote*) systemctl try-restart kubelet.service nodemaint.service ;; esac
  fi
  # What else would keep a shutdown from waiting for the pods.
  [ "$start" = no ] || timeout 30 "$lib/nodemaint" doctor --config "$config" 2> /dev/null | grep '^fail' >&2 || true
}

do_rollback() {
  target=$(version_of "$previous")
  good=$(version_of "$current")
  case $target in '' | "$good") fail "there is no earlier installation" ;; esac
  check_config "$versions/$target"
  activate "$target"
  echo "node-maintenance-agent is back at $target; \"install.sh rollback\" goes to $good again"
}

# Without the agent, nothing would hold the machine for its pods, and parked manifests would never be put back. An agent that
# does not answer holds nothing. Exit code 75 means: try again later (EX_TEMPFAIL of sysexits.h).
refuse_while_busy() {
  static=/etc/kubernetes/manifests parked=/etc/kubernetes/nodemaint-parked state=/var/lib/nodemaint
  [ ! -e "$lib/nodemaint" ] || [ ! -e "$config" ] || read_places "$lib" "$config" ||
    fail "the program cannot tell where manifests may be parked; repair $config, or install a working program first"
  [ -d "$static" ] || static=$(dirname "$static")
  found=$(find "$parked" "$static/.nodemaint-leaving" -maxdepth 1 ! -type d ! -name '.*' 2> /dev/null) || true
  phase=$(ask_agent) || phase=watching
  case $phase in watching*) busy='' ;; *) busy="the agent is in the phase ${phase%% *}" ;; esac
  [ -z "$found" ] || busy="manifests are parked:
$found
  end the maintenance first (nodemaint cancel, or complete its NodeMaintenance), or put them back: nodemaint restore --all"
  [ -n "$busy" ] || return 0
  warn "nothing was changed, because $busy"
  exit 75
}

do_uninstall() {
  refuse_while_busy
  [ ! -f "$state/kubelet-drop-in" ] || "$lib/nodemaint" disable-kubelet-shutdown --undo --config "$config" ||
    warn "the kubelet keeps the drop-in that $state/kubelet-drop-in names"
  systemctl stop nodemaint.service nodemaint-inhibitor.service 2> /dev/null || true
  # The drop-in stays with the configuration: this puts a file in place of the link.
  [ ! -e "$dropped" ] || sed -i '' "$dropped"
  rm -f "$wanted" "$polkit"
  [ "$package" = yes ] || rm -f "$bin/nodemaint" "$bin/kubectl-nodemaint"
  remove_units ''
  # The folder, unless it is polkit's.
  command -v pkaction > /dev/null || rmdir -p "$(dirname "$polkit")" 2> /dev/null || true
  semanage fcontext -d "$programs" 2> /dev/null || true
  rm -rf "$lib"
  reload
  if [ "$purge" = yes ]; then
    # In a directory that a configuration has named may be files of others.
    [ "$state" = /var/lib/nodemaint ] || warn "left $state, the stateDirectory of the configuration"
    rm -rf "$etc" /var/lib/nodemaint /var/cache/nodemaint /run/nodemaint
    rmdir "$parked" 2> /dev/null || [ ! -d "$parked" ] || warn "left $parked, in which files are"
  fi
  echo "node-maintenance-agent is removed from this machine; to remove it from the cluster, see docs/usage/install.md (Uninstall)"
}

step=begun new='' good=''
trap 'exit 130' HUP INT TERM
trap on_exit EXIT
"do_$action"
