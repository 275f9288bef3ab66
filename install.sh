#!/bin/sh
# Installs node-maintenance-agent on a machine, upgrades it, or removes it. Run it as root from an unpacked release, or from a
# checkout in which "npm ci && npm run build" was run. The packages and the installer's image bring a release, and run it too.
#
# Each installation is a folder below /usr/lib/nodemaint/versions: program, Node.js, lock holder, units, and the drop-in of the
# configuration. systemd and people reach them through links that go through /usr/lib/nodemaint/current. One rename switches
# that link, so an interrupted installation leaves either the old or the new one, complete; going back is the same rename.
#
# Where /usr cannot be written, all of it lies below /opt/nodemaint, and the units are copies in /etc/systemd/system: /opt may
# be mounted after systemd has read its units.
#
# The shell ends at the first command that fails ("set -e"), and on_exit goes back. It does not see failures in conditions and
# on the left side of a pipe: nothing that changes something stands there.
set -eu
umask 022
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH

usage() {
  cat << 'TEXT'
usage: install.sh [install|rollback|uninstall] [options]

  install              install or upgrade the agent and start it (default); goes back by itself if the agent does not start.
                       It writes /etc/nodemaint/config.yaml only where there is none
    --kubeconfig FILE    kubeconfig of the agent (default: that of the running kubelet, else one of the usual files)
    --standalone         without a cluster: hold shutdowns only for the static pods of this machine
    --drop-in FILE       a drop-in of the configuration, which becomes config.d/50-installer.yaml; an empty FILE takes it away
    --unless-current     do nothing if exactly this program is installed, runs, and holds the lock
    --disable-kubelet-graceful-shutdown
                         switch the kubelet's own graceful shutdown off by a drop-in; restarts the kubelet
    --no-start           install, but do not start
    --when-idle          exit code 75 while the machine goes down, the agent drains, or manifests are parked
  rollback             go back to the previous installation
  uninstall            stop the agent and remove it; refuses while the agent drains or manifests are parked
    --restart-kubelet    restart the kubelet if its drop-in was removed
    --when-idle          as for install
    --purge              remove the configuration and the state too
  --package            with any of them, for the packages: their own files are the commands in /usr/bin; nothing is started
                       where systemd does not run, as in a chroot, or where the machine has no kubeconfig yet
TEXT
}

warn() {
  echo "install.sh: $*" >&2
}

fail() {
  warn "$*"
  exit 1
}

here=$(CDPATH='' cd -- "$(dirname "$0")" && pwd)
admin_units=/etc/systemd/system
wanted=$admin_units/multi-user.target.wants/nodemaint.service
logind=/etc/systemd/logind.conf.d/zz-nodemaint.conf
polkit=/etc/polkit-1/rules.d/10-nodemaint.rules
etc=/etc/nodemaint
config=$etc/config.yaml
# A link to the drop-in of the current installation, where that has one. Administrators' drop-ins have other names.
dropped=$etc/config.d/50-installer.yaml
head='apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1
kind: AgentConfiguration'
up_sec=180

package=no action=install kubeconfig='' standalone=no drop_in='' start=yes when_idle=no unless_current=no
disable_kubelet_shutdown=no restart_kubelet=no purge=no
case ${1:-} in
  install | rollback | uninstall) action=$1; shift ;;
esac
while [ $# -gt 0 ]; do
  case $1 in
    --kubeconfig) [ $# -ge 2 ] || fail "$1 needs a file"; kubeconfig=$(realpath -ms -- "$2"); shift ;;
    --standalone) standalone=yes ;;
    --disable-kubelet-graceful-shutdown) disable_kubelet_shutdown=yes ;;
    --drop-in) [ -f "${2:-}" ] || fail "$1 needs a file"; drop_in=$2; shift ;;
    --no-start) start=no ;;
    --when-idle) when_idle=yes ;;
    --unless-current) unless_current=yes ;;
    --restart-kubelet) restart_kubelet=yes ;;
    --purge) purge=yes ;;
    --package) package=yes ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; fail "unknown option $1" ;;
  esac
  shift
done

[ "$(id -u)" = 0 ] || fail "run it as root"
systemd=yes
if [ ! -d /run/systemd/system ]; then
  [ "$package" = yes ] || fail "systemd does not run on this machine"
  systemd=no
  start=no
fi
exec 9> /run/nodemaint-install.lock
flock -n 9 || fail "another install.sh runs on this machine"

# --- places

# Whether files can be made in DIR, which may not exist yet.
is_writable() {
  dir=$1
  while [ ! -e "$dir" ]; do dir=$(dirname "$dir"); done
  [ -w "$dir" ]
}

lib=/usr/lib/nodemaint
units=/usr/lib/systemd/system
if [ -L /opt/nodemaint/current ] || { [ ! -L "$lib/current" ] && ! { is_writable "$lib" && is_writable "$units"; }; }; then
  [ "$package" = no ] || fail "the packages need /usr/lib/nodemaint, and no agent in /opt/nodemaint"
  lib=/opt/nodemaint
  units=$admin_units
fi
bin=/usr/local/bin
is_writable "$bin" || bin=/opt/bin
versions=$lib/versions
staged=$versions/.staged
# The configuration as it is going to be.
trial=$versions/.trial
current=$lib/current
previous=$lib/previous
# This file exists from the switch to an installation until that installation was seen to work.
unproven=$lib/unproven

# --- files

# Points the link $2 to $1, in one step.
link() {
  [ "$(readlink "$2" || true)" != "$1" ] || return 0
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

version_of() {
  basename "$(readlink "$1" || true)"
}

# The units of the installation in DIR, as names below a folder of systemd. They have no spaces.
units_of() {
  [ ! -d "$1/systemd/system" ] || find "$1/systemd/system" -type f -printf '%P '
}

# --- a new installation, which is tried before anything else is changed

find_build() {
  case $(uname -m) in
    x86_64) arch=x64 ;;
    aarch64) arch=arm64 ;;
    *) fail "no Node.js for $(uname -m); the agent runs on x86_64 and aarch64" ;;
  esac
  node=$here/node
  [ -f "$node" ] || node=$here/node_modules/node-linux-$arch/bin/node
  [ -f "$node" ] || fail "no $node; run npm ci in $here first"
  [ -x "$node" ] || fail "$node cannot be executed, as on a file system that is mounted with noexec; put $here elsewhere, such as below /var/tmp"
  [ -f "$here/dist/nodemaint.cjs" ] || fail "no $here/dist/nodemaint.cjs; run npm run build in $here first"
  # A checkout has the Node.js of an npm package, and its hash in a file. What a release brings is covered by its signature.
  pins=$here/.ci/pins/node.sha256
  [ "$node" != "$here/node" ] && [ -f "$pins" ] || return 0
  (cd "$here/node_modules" && grep " node-linux-$arch/bin/node\$" "$pins" | sha256sum --check --status) ||
    fail "$node is not the Node.js that $pins names; run npm ci in $here, and look at what it brings; nothing was changed"
}

# A hash of all files that an installation is made of.
sum_of_build() {
  # shellcheck disable=SC2086  # names without spaces
  files=$(cd "$here" && find systemd -type f) && sums=$(cd "$here" && sha256sum dist/*.cjs $files) && own=$(sha256sum < "$node") || return 1
  printf '%s\n' "$own" "$sums" | sort | sha256sum
}

is_current() {
  sum=$(sum_of_build) && [ "$(cat "$current/build.sum" 2> /dev/null)" = "$sum" ] && [ ! -e "$unproven" ] || return 1
  [ -z "$drop_in" ] || { [ -s "$drop_in" ] && cmp -s "$drop_in" "$dropped"; } || { [ ! -s "$drop_in" ] && [ ! -e "$dropped" ]; } || return 1
  is_installed && is_up
}

stage() {
  find "$versions" -mindepth 1 -maxdepth 1 -name '.*' -exec rm -rf {} +
  install -d -m 0755 "$staged"
  # The 120 MB of a package are on the disk once: the package manager replaces its files, and never writes into them.
  if [ "$package" = no ] || ! ln "$node" "$staged/node" 2> /dev/null; then install -m 0755 "$node" "$staged/node"; fi
  install -m 0644 "$here"/dist/*.cjs "$staged"
  rm -f "$staged/interceptor.cjs"
  for file in LICENSE NOTICE NODE_LICENSE dist/THIRD_PARTY_NOTICES; do
    [ ! -f "$here/$file" ] || install -m 0644 "$here/$file" "$staged"
  done
  install -m 0755 "$here/systemd/libexec/lock-holder" "$staged/lock-holder"
  cp -R "$here/systemd" "$staged"
  chmod -R u=rwX,go=rX "$staged/systemd"
  find "$staged/systemd" -type f -exec sed -i "s,/usr/lib/nodemaint/,$lib/,g" {} +
  sum_of_build > "$staged/build.sum"
  version=$("$staged/node" "$staged/nodemaint.cjs" --version) ||
    fail "the new program does not run on this machine; nothing was changed"
  NODEMAINT_ALIVE_FILE=/dev/null NODEMAINT_DEAD_MAN_SEC=0 "$staged/lock-holder" 2> /dev/null ||
    fail "the new lock holder does not run on this machine; nothing was changed (it needs: $(head -n 1 "$staged/lock-holder"))"
  new=$version-$(date -u +%Y%m%dT%H%M%SZ)-$$
  # It keeps using the Node.js of its folder after an upgrade. "kubectl nodemaint" has another help.
  # shellcheck disable=SC2016  # the wrapper expands it
  printf '#!/bin/sh\nNODEMAINT_CALLED_AS=$0\nexport NODEMAINT_CALLED_AS\nexec "%s/node" "%s/nodemaint.cjs" "$@"\n' "$versions/$new" "$versions/$new" > "$staged/nodemaint"
  chmod 0755 "$staged/nodemaint"
  label_staged
}

# SELinux lets systemd start programs with this label; what lies below /usr/lib or /opt would get another one.
label_staged() {
  command -v selinuxenabled > /dev/null && selinuxenabled || return 0
  chcon -t bin_t "$staged/node" "$staged/nodemaint" "$staged/lock-holder" ||
    fail "the programs cannot get the SELinux label bin_t, without which systemd would not start them; nothing was changed"
  pattern="$versions/[^/]+/(node|nodemaint|lock-holder)"
  semanage fcontext -a -t bin_t "$pattern" 2> /dev/null || semanage fcontext -m -t bin_t "$pattern" 2> /dev/null ||
    warn "warning: SELinux does not record the label bin_t of $pattern: there is no semanage. A relabeling of the file system would take it away, and then the agent would not start"
}

# --- the configuration

write_config() {
  echo "$head"
  if [ "$standalone" = yes ]; then
    echo "kubeconfig: ''"
  elif [ -n "$kubeconfig" ]; then
    echo "kubeconfig: '$(printf '%s' "$kubeconfig" | sed "s/'/''/g")'"
  else
    detected kubeconfig || [ "$package" = yes ] ||
      fail "no kubelet runs here that names its kubeconfig, and none of the usual files exists; name the kubelet's kubeconfig with --kubeconfig, or use --standalone; nothing was changed"
  fi
  detected containerRuntimeEndpoint || true
}

# The line of the configuration for this key, as the running kubelet and the files of this machine have it.
detected() {
  "$staged/node" "$staged/nodemaint.cjs" config detect | grep "^$1: "
}

# Asks the program in $1 about the configuration as it is going to be.
ask_config() {
  asked=$1
  shift
  "$asked/node" "$asked/nodemaint.cjs" config "$@" --config "$trial/config.yaml"
}

# Checks the configuration, new or existing, with the program in the folder $1 and the drop-in that lies there.
check_config() {
  rm -rf "$trial"
  install -d -m 0755 "$trial/config.d"
  [ ! -d "$etc/config.d" ] || cp -a "$etc/config.d/." "$trial/config.d"
  rm -f "$trial/config.d/${dropped##*/}"
  [ ! -e "$1/drop-in.yaml" ] || cp "$1/drop-in.yaml" "$trial/config.d/${dropped##*/}"
  if [ -e "$config" ]; then
    echo "keeping $config"
    cp -p "$config" "$trial/config.yaml"
  else
    write_config > "$trial/config.yaml"
  fi
  code=0
  answer=$(ask_config "$1" check 2>&1) || code=$?
  kubeconfig=''
  [ "$code" = 2 ] || kubeconfig=$(ask_config "$1" show kubeconfig)
  if [ "$code" != 0 ] && [ "$package" = yes ] && never_ran && [ -n "$kubeconfig" ] && [ ! -e "$kubeconfig" ]; then
    # The package was installed or upgraded before the node has joined its cluster, or in the image of a machine.
    echo "no $kubeconfig yet; the agent starts at the next boot, or with: systemctl start nodemaint"
    start=no
  elif [ "$code" != 0 ]; then
    printf '%s\n' "$answer" | sed "s,$trial/,$etc/,g" >&2
    fail "the agent would not start with this configuration; nothing was changed"
  fi
  case $kubeconfig in
    /root/* | /home/* | /run/user/*) fail "the agent's unit cannot read $kubeconfig, because it sees no home directories; put the kubeconfig elsewhere" ;;
  esac
}

# Whether no installation on this machine was ever seen to work.
never_ran() {
  [ ! -e "$current" ] || { [ -e "$unproven" ] && [ ! -e "$previous" ]; }
}

# The drop-in of the staged installation: the given one, else that of the current one. Each installation has one.
stage_drop_in() {
  from=${drop_in:-$dropped}
  echo "$head" > "$staged/drop-in.yaml"
  [ ! -s "$from" ] || install -m 0644 "$from" "$staged/drop-in.yaml"
}

# Gives an installation of an earlier version of this script its drop-in, which was in the file itself.
adopt_drop_in() {
  [ ! -e "$versions/$1/drop-in.yaml" ] || return 0
  echo "$head" > "$versions/.drop-in"
  [ ! -e "$dropped" ] || cp "$dropped" "$versions/.drop-in"
  put "$versions/.drop-in" "$versions/$1/drop-in.yaml"
}

# Where the current installation has the same drop-in, or none, this changes nothing that a program reads.
link_drop_in() {
  [ -e "$dropped" ] || [ "$(cat "$versions/$1/drop-in.yaml")" != "$head" ] || return 0
  install -d -m 0755 "$etc/config.d"
  link "$current/drop-in.yaml" "$dropped"
  sync "$etc/config.d"
}

# Removes the link where it leads to a drop-in that says nothing, or nowhere.
tidy_drop_in() {
  [ -L "$dropped" ] && [ "$(cat "$dropped" 2> /dev/null || echo "$head")" = "$head" ] || return 0
  rm -f "$dropped"
  rmdir "$etc/config.d" 2> /dev/null || true
}

# The agent's unit may write to the usual locations of manifests. This adds the other locations of this machine.
stage_paths() {
  places=$(ask_config "$staged" show staticPodPath parkedPath stateDirectory runDirectory)
  { read -r static; read -r parked; read -r state; read -r run; } << TEXT
$places
TEXT
  [ -d "$state" ] || install -d -m 0700 "$state"
  beside=$(dirname "$static")
  if [ "$beside" = / ]; then set -- "$static" "$parked"; else set -- "$beside" "$(dirname "$parked")"; fi
  lines=''
  for place in "$@" "$state" "$run"; do
    case $place/ in
      / | /etc/kubernetes/* | /var/lib/kubelet/* | /var/lib/rancher/* | /var/lib/nodemaint/* | /run/nodemaint/*) ;;
      *) line="ReadWritePaths=\"-$(printf '%s' "$place" | sed 's/[\\"]/\\&/g; s/%/%%/g')\"
"
        case $lines in *"$line"*) ;; *) lines=$lines$line ;; esac ;;
    esac
  done
  [ -n "$lines" ] || return 0
  install -d -m 0755 "$staged/systemd/system/nodemaint.service.d"
  printf '[Service]\n%s' "$lines" > "$staged/systemd/system/nodemaint.service.d/50-paths.conf"
}

# --- the switch from one installation to another

# Finds the installation to go back to: the current one, unless it was never seen to work.
find_good() {
  good=$(version_of "$current")
  if [ -e "$unproven" ] && ! is_up; then good=$(version_of "$previous"); fi
  [ -n "$good" ] && [ -d "$versions/$good" ] || good=''
}

# Makes systemd and people use an installation. The running agent continues until it is restarted.
switch_to() {
  link "versions/$1" "$current"
  sync "$lib"
  for name in node nodemaint.cjs lock-holder nodemaint; do link "current/$name" "$lib/$name"; done
  if [ "$package" = no ]; then
    install -d -m 0755 "$bin"
    for name in nodemaint kubectl-nodemaint; do link "$lib/nodemaint" "$bin/$name"; done
  fi
  own=$(units_of "$current")
  for file in $own; do
    install -d -m 0755 "$(dirname "$units/$file")"
    if [ "$units" = "$admin_units" ]; then
      put "$current/systemd/system/$file" "$units/$file"
    else
      link "$current/systemd/system/$file" "$units/$file"
    fi
  done
  remove_units "$own"
  put "$current/systemd/logind.conf.d/zz-nodemaint.conf" "$logind"
  rules=$current/systemd/polkit-1/rules.d/10-nodemaint.rules
  [ ! -f "$rules" ] || [ ! -d /usr/share/polkit-1 ] || put "$rules" "$polkit"
  # What "systemctl enable" does, which itself would follow all links to the unit of this one installation.
  install -d -m 0755 "$(dirname "$wanted")"
  link "$units/nodemaint.service" "$wanted"
  sync -f "$lib" "$units" "$wanted"
  reload
  is_installed
}

# Removes the units of all installations but those named in $1. "systemctl enable" by a person makes a link to the unit of one
# installation, which would go before ours.
remove_units() {
  case $(readlink "$admin_units/nodemaint.service" || true) in "$versions"/*) rm -f "$admin_units/nodemaint.service" ;; esac
  for dir in "$versions"/*; do
    others=$(units_of "$dir")
    for file in $others; do
      case " $1" in *" $file "*) continue ;; esac
      rm -f "$units/$file"
      rmdir "$(dirname "$units/$file")" 2> /dev/null || true
    done
  done
}

# logind reads its drop-ins only on SIGHUP, and applies them within a second.
reload() {
  [ "$systemd" = yes ] || return 0
  systemctl kill --signal=HUP systemd-logind.service || true
  systemctl daemon-reload
}

# Whether the next boot starts the current installation, whatever was said before.
is_installed() {
  own=$(units_of "$current") && [ -n "$own" ] && [ "$(readlink "$wanted")" = "$units/nodemaint.service" ] || return 1
  for file in $own; do cmp -s "$current/systemd/system/$file" "$units/$file" || return 1; done
}

# --- whether the agent that runs is up

# Asks the agent for its phase, the kind of its lock, and whether the lock is held.
ask_agent() {
  "$lib/nodemaint" status -o json 2> /dev/null | "$lib/node" -e '
    const { phase, lock } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
    console.log(phase.kind, lock.kind, lock.held);' 2> /dev/null
}

# Whether the agent answers and holds the lock, or needs no lock. The agent checks the lock holder once a minute.
is_up() {
  answer=$(ask_agent) || answer='no answer'
  case $answer in
    *' unit true') systemctl is-active --quiet nodemaint-inhibitor.service ;;
    *' true' | *' none '* | 'released '*) return 0 ;;
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
  timeout 180 systemctl restart nodemaint.service || return 1
  left=$up_sec
  until is_up; do
    why="the agent does not hold the lock after $up_sec s (its phase, kind of lock, and whether it is held: $answer)"
    [ "$left" -gt 0 ] || return 1
    left=$((left - 1))
    sleep 1
  done
  why='the agent, or the holder of its lock, ended again after its start'
  process=$(systemctl show -P InvocationID nodemaint.service)
  sleep 3
  is_up && [ "$(systemctl show -P InvocationID nodemaint.service)" = "$process" ]
}

# --- activation and rollback

# Switches to an installation and checks that it starts. After the switch every end of this script except success goes back.
activate() {
  [ -z "$good" ] || link "versions/$good" "$previous"
  if [ -e "$current" ]; then
    for name in "$(version_of "$current")" $good; do adopt_drop_in "$name"; done
    link_drop_in "$1"
  fi
  : > "$unproven"
  sync "$lib" "$unproven"
  step=switched
  why='it could not be installed'
  switch_to "$1"
  link_drop_in "$1"
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
  rm -rf "$staged" "$trial" "$versions/.drop-in" "$config.new"
  # The current program is not removed.
  [ -z "$new" ] || [ "$(version_of "$current")" = "$new" ] || rm -rf "${versions:?}/$new"
  tidy_drop_in
  # Where nothing is installed, no folder of ours stays.
  [ "$step" = finished ] || rmdir "$versions" "$lib" "$etc" 2> /dev/null
  exit "$code"
}

go_back() {
  [ "$1" -lt 128 ] || why='this script was interrupted'
  warn "the new installation $(version_of "$current") did not start: $why. The last lines of its log:"
  # What the program said last may be on its way to the journal still.
  timeout 10 journalctl --sync 2> /dev/null
  journalctl --no-pager --lines=20 --unit=nodemaint.service --unit=nodemaint-inhibitor.service >&2
  if [ -z "$good" ]; then
    warn "there is no earlier installation to go back to; systemd continues to try to start this one"
    return
  fi
  warn "going back to $good"
  # In a subshell that is no condition, for "set -e".
  (set -e; switch_to "$good"; bring_up; rm -f "$unproven"; sync -f "$lib")
  back=$?
  if [ "$back" = 0 ]; then
    warn "the upgrade FAILED; the earlier installation $good runs again"
  else
    warn "the upgrade FAILED, and the earlier installation $good did not start either. THIS NODE IS NOT PROTECTED; see: journalctl -u nodemaint"
  fi
}

# --- the three actions

# The kubelet's own graceful shutdown would kill pods by its own clock when the drain begins. This switches it off only if
# the user asked for it, and is an error where it could not: the node would not be guarded.
handle_kubelet_shutdown() {
  if [ "$disable_kubelet_shutdown" = yes ]; then
    said=$("$lib/nodemaint" disable-kubelet-shutdown --config "$config") ||
      fail "node-maintenance-agent is installed, but the kubelet's own graceful shutdown could NOT be switched off, and would kill pods during a drain"
    echo "$said"
    case $said in *Wrote*) systemctl try-restart kubelet.service ;; esac
    # The agent takes over the kubelet's order.
    case $said in *'is now the drainPlan'*) systemctl try-restart nodemaint.service ;; esac
  elif "$lib/nodemaint" doctor --config "$config" 2> /dev/null | grep -q '^fail .*graceful shutdown is on'; then
    warn "warning: the kubelet's own graceful shutdown is on; it will kill pods during a drain. Switch it off with: install.sh --disable-kubelet-graceful-shutdown"
  fi
}

do_install() {
  find_build
  for place in "$lib" "$units" "$wanted" "$logind" "$config" /var/lib/nodemaint "$bin"; do
    is_writable "$place" || fail "$place cannot be written, because $dir is read-only; nothing was changed. Use the image or package that your system takes"
  done
  [ "$when_idle" = no ] || refuse_while_busy
  if [ "$unless_current" = yes ] && is_current; then
    step=finished
    echo "exactly this node-maintenance-agent is installed, runs, and holds the lock"
    [ "$disable_kubelet_shutdown" = no ] || handle_kubelet_shutdown
    return 0
  fi
  install -d -m 0755 "$versions"
  stage
  stage_drop_in
  check_config "$staged"
  stage_paths
  # Again, because the copying takes some seconds.
  [ "$when_idle" = no ] || refuse_while_busy
  find_good
  # Everything is on the disk before the folder gets its name.
  sync -f "$staged"
  mv -T "$staged" "$versions/$new"
  sync "$versions"
  install -d -m 0755 "$etc"
  [ -e "$config" ] || put "$trial/config.yaml" "$config"
  activate "$new"
  for dir in "$versions"/*; do
    case ${dir##*/} in "$(version_of "$current")" | "$(version_of "$previous")") ;; *) rm -rf "$dir" ;; esac
  done
  handle_kubelet_shutdown
  if [ "$start" = yes ]; then
    # Few machines have /opt/bin in the PATH.
    case $package$bin in yes* | no/usr/*) bin='' ;; *) bin=$bin/ ;; esac
    echo "node-maintenance-agent $version is installed, runs, and holds the lock; see: ${bin}nodemaint status"
  else
    echo "node-maintenance-agent $version is installed; start it with: systemctl start nodemaint"
  fi
}

do_rollback() {
  target=$(version_of "$previous")
  good=$(version_of "$current")
  case $target in '' | "$good") fail "there is no earlier installation" ;; esac
  adopt_drop_in "$target"
  check_config "$versions/$target"
  activate "$target"
  echo "node-maintenance-agent is back at $target; \"install.sh rollback\" goes to $good again"
}

# Asks the program where this machine's manifests and state are.
find_places() {
  static=/etc/kubernetes/manifests parked=/etc/kubernetes/nodemaint-parked state=/var/lib/nodemaint
  [ -e "$lib/nodemaint" ] || return 0
  asked=$config
  if [ ! -e "$config" ]; then
    asked=$(mktemp)
    printf '%s\n' "$head" "kubeconfig: ''" > "$asked"
  fi
  places=$("$lib/nodemaint" config show staticPodPath parkedPath stateDirectory --config "$asked") ||
    fail "the program cannot tell where manifests may be parked; repair $config, or install a working program first"
  [ "$asked" = "$config" ] || rm -f "$asked"
  { read -r static; read -r parked; read -r state; } << TEXT
$places
TEXT
}

# Why this is no time to change anything; nothing if it is one. An agent that does not answer is no reason.
busy_reason() {
  beside=$static
  [ -d "$beside" ] || beside=$(dirname "$beside")
  found=$(find "$parked" -maxdepth 1 ! -type d ! -name '.*' 2> /dev/null; find "$beside/.nodemaint-leaving" ! -type d 2> /dev/null) || true
  if [ -n "$found" ]; then
    echo "manifests are parked:
$found
  end the maintenance first (nodemaint cancel, or complete its NodeMaintenance), or put them back: nodemaint restore --all"
  elif [ "$systemd" = yes ]; then
    preparing=$(busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager PreparingForShutdown) || preparing=''
    phase=$(ask_agent) || phase=watching
    if [ "$preparing" = 'b true' ]; then
      echo 'the machine goes down'
    elif [ -z "$preparing" ]; then
      echo 'logind does not say whether the machine goes down'
    elif [ "${phase%% *}" != watching ]; then
      echo "the agent is in the phase ${phase%% *}"
    fi
  fi
}

# Without the agent, nothing would hold the machine for its pods, and parked manifests would never be put back. Exit code 75
# means: try again later (EX_TEMPFAIL of sysexits.h).
refuse_while_busy() {
  find_places
  busy=$(busy_reason)
  [ -n "$busy" ] || return 0
  warn "nothing was changed, because $busy"
  [ "$when_idle" = no ] || exit 75
  exit 1
}

undo_kubelet_drop_in() {
  [ -e "$lib/nodemaint" ] && [ -f "$state/kubelet-drop-in" ] || return 0
  said=$("$lib/nodemaint" disable-kubelet-shutdown --undo --config "$config" 2>&1) || { warn "$said"; return 0; }
  echo "$said"
  case $said in *Removed*) [ "$restart_kubelet" = no ] || systemctl try-restart kubelet.service ;; esac
}

do_uninstall() {
  refuse_while_busy
  undo_kubelet_drop_in
  [ "$systemd" = no ] || systemctl stop nodemaint.service nodemaint-inhibitor.service 2> /dev/null || true
  # The drop-in stays with the configuration.
  if [ -L "$dropped" ] && [ -e "$dropped" ]; then
    cp "$dropped" "$dropped.new"
    mv -fT "$dropped.new" "$dropped"
  fi
  rm -f "$wanted" "$logind" "$polkit" "$bin/nodemaint" "$bin/kubectl-nodemaint"
  remove_units ''
  rmdir "$(dirname "$logind")" 2> /dev/null || true
  # Where polkit is installed, this folder is polkit's.
  command -v pkaction > /dev/null || rmdir -p "$(dirname "$polkit")" 2> /dev/null || true
  semanage fcontext -d "$versions/[^/]+/(node|nodemaint|lock-holder)" 2> /dev/null || true
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
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
trap on_exit EXIT
case $action in
  install) do_install ;;
  rollback) do_rollback ;;
  uninstall) do_uninstall ;;
esac
