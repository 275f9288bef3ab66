#!/bin/sh
# Installs node-maintenance-agent on a machine, upgrades it, or removes it. Run it as root from an unpacked release, or from a
# checkout in which "npm ci && npm run build" was run. It never overwrites a configuration. The packages run it too: they
# bring a release, in /usr/libexec/nodemaint, and this script does the rest. So does the container image for the installer.
#
# Each installation is a separate folder below /usr/lib/nodemaint/versions: program, Node.js, lock holder and units.
# systemd and people reach it through links that go through /usr/lib/nodemaint/current. One rename switches that link. So an
# interrupted installation leaves either the old or the new one, complete; and going back is the same rename.
#
# Where /usr cannot be written, all of it lies below /opt/nodemaint, and the units are copies in /etc/systemd/system: /opt may
# be mounted after systemd has read its units, and links into it would lead nowhere then.
set -eu
umask 022

usage() {
  cat <<'TEXT'
usage: install.sh [install|rollback|uninstall] [options]

  install              install or upgrade the agent and start it (default); goes back by itself if the agent does not start
    --kubeconfig FILE    kubeconfig of the agent (default: that of the running kubelet, else one of the usual files)
    --standalone         without a cluster: hold shutdowns only for the static pods of this machine
    --static-pods DIR    the kubelet's staticPodPath (default: as the running kubelet has it)
    --runtime SOCKET     CRI socket (default: that of the running kubelet, else one of the usual sockets)
    --drop-in FILE       the node gets this drop-in of the configuration, as config.d/50-installer.yaml; an empty FILE takes it
                         away. If the agent would not start with it, nothing is changed
    --prefix DIR         the program lies in DIR/nodemaint (default: /usr/lib; /opt if /usr cannot be written)
    --unless-current     do nothing if exactly this program is installed, runs, and holds the lock
    --disable-kubelet-graceful-shutdown
                         switch the kubelet's own graceful shutdown off by a drop-in; restarts the kubelet
    --no-start           install, but do not start
    --when-idle          change nothing while the machine goes down, the agent drains, or manifests are parked; exit code 75
  rollback             go back to the previous installation
  uninstall            stop the agent and remove it; refuses while manifests are parked
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

here=$(cd "$(dirname "$0")" && pwd)
usual_lib=/usr/lib/nodemaint
usual_units=/usr/lib/systemd/system
# Earlier versions of this script put the units here; administrators put theirs here.
admin_units=/etc/systemd/system
wanted=$admin_units/multi-user.target.wants/nodemaint.service
logind=/etc/systemd/logind.conf.d/zz-nodemaint.conf
polkit=/etc/polkit-1/rules.d/10-nodemaint.rules
paths_drop_in=$admin_units/nodemaint.service.d/50-paths.conf
config=/etc/nodemaint/config.yaml
state=/var/lib/nodemaint
# The drop-in that --drop-in brings. Its name is the installer's own; administrators' drop-ins have others.
dropped=/etc/nodemaint/config.d/50-installer.yaml
# Here lies what was in that file until the new installation was seen to work.
dropped_before=/etc/nodemaint/config.d/.50-installer.before
# The places that purge needs when the program is gone; only an uninstallation by a package leaves it.
places_file=/etc/nodemaint/.places
# The files that the agent writes into its state directory.
state_files='record.json journal running notices.json pods.json static-pods.json kubelet-drop-in kubelet-stopped node-name'
up_sec=180

package=no
action=install
kubeconfig=
standalone=no
static_pods=
runtime=
drop_in=
prefix=
start=yes
when_idle=no
unless_current=no
disable_kubelet_shutdown=no
restart_kubelet=no
purge=no

if [ $# -gt 0 ]; then
  case $1 in
    install | rollback | uninstall) action=$1; shift ;;
  esac
fi
while [ $# -gt 0 ]; do
  case $1 in
    --kubeconfig) [ $# -ge 2 ] || fail "$1 needs a file"; kubeconfig=$2; shift ;;
    --standalone) standalone=yes ;;
    --static-pods) [ $# -ge 2 ] || fail "$1 needs a folder"; static_pods=$2; shift ;;
    --runtime) [ $# -ge 2 ] || fail "$1 needs a socket"; runtime=$2; shift ;;
    --disable-kubelet-graceful-shutdown) disable_kubelet_shutdown=yes ;;
    --drop-in) [ -f "${2:-}" ] || fail "$1 needs a file"; drop_in=$2; shift ;;
    --prefix) [ $# -ge 2 ] || fail "$1 needs a folder"; prefix=$2; shift ;;
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

# Where the program of the installed unit lies; nothing if none is installed. All of that folder is removed in the end, so
# its name is always nodemaint, and it must have what this script puts there.
installed_lib() {
  for unit in "$admin_units/nodemaint.service" "$usual_units/nodemaint.service"; do
    [ ! -e "$unit" ] || sed -n 's,^ExecStart=\(/.*/nodemaint\)/node .*,\1,p' "$unit"
  done | while read -r found; do
    if [ -d "$found/versions" ] || [ -f "$found/nodemaint.cjs" ]; then echo "$found"; break; fi
  done
}

# Whether files can be made in DIR, which may not exist yet.
is_writable() {
  dir=$1
  while [ ! -e "$dir" ]; do dir=$(dirname "$dir"); done
  [ -w "$dir" ]
}

choose_places() {
  lib=$(installed_lib)
  case ${prefix:-/} in
    *[!A-Za-z0-9/._-]* | [!/]*) fail "--prefix $prefix is not an absolute path of letters, digits and ./_-" ;;
  esac
  # The packages have links to the usual place.
  [ "$package" = no ] || prefix=/usr/lib
  [ -z "$prefix" ] || prefix=${prefix%/}/nodemaint
  if [ -n "$prefix" ] && [ -n "$lib" ] && [ "$prefix" != "$lib" ]; then
    fail "the agent is installed in $lib; uninstall it before you install it in $prefix"
  fi
  lib=${prefix:-$lib}
  if [ -z "$lib" ]; then
    lib=$usual_lib
    is_writable "$lib" && is_writable "$usual_units" || lib=/opt/nodemaint
  fi
  units=$admin_units
  [ "$lib" != "$usual_lib" ] || units=$usual_units
  bin=/usr/local/bin
  is_writable "$bin" || bin=/opt/bin
  versions=$lib/versions
  current=$lib/current
  previous=$lib/previous
  # This file exists from the switch to an installation until that installation was seen to work.
  unproven=$lib/unproven
}

# Changes nothing where a part of the installation could not be written.
check_places() {
  for place in "$lib" "$units" "$wanted" "$logind" "$paths_drop_in" "$config" "$state" "$bin"; do
    is_writable "$place" || fail "$place cannot be written, because $dir is read-only; nothing was changed. Choose another place for the program with --prefix, or use the image or package that your system takes"
  done
}

# --- files

# Points the link NAME to TARGET, in one step.
link() {
  [ "$(readlink "$2" || true)" != "$1" ] || return 0
  ln -sfn "$1" "$2.new" && mv -fT "$2.new" "$2"
}

# Copies FROM to TO, in one step: after a power cut TO is old or new, never half written.
put() {
  cmp -s "$1" "$2" && return 0
  install -D -m 0644 "$1" "$2.new" && sync "$2.new" && mv -fT "$2.new" "$2" && sync "$(dirname "$2")"
}

# The names of the files below DIR.
files_in() {
  (cd "$1" && find . -type f | sed 's,^\./,,')
}

version_of() {
  basename "$(readlink "$1" || true)"
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
}

check_build() {
  [ -f "$node" ] || fail "no $node; run npm ci in $here first"
  [ -x "$node" ] || fail "$node cannot be executed, as on a file system that is mounted with noexec; put $here elsewhere, such as below /var/tmp"
  [ -f "$here/dist/nodemaint.cjs" ] || fail "no $here/dist/nodemaint.cjs; run npm run build in $here first"
  check_pinned
}

# A checkout has the Node.js of an npm package, and its hash in a file. What a release brings is covered by its signature.
check_pinned() {
  pins=$here/.ci/pins/node.sha256
  [ "$node" != "$here/node" ] && [ -f "$pins" ] || return 0
  (cd "$here/node_modules" && grep " node-linux-$arch/bin/node\$" "$pins" | sha256sum --check --status) ||
    fail "$node is not the Node.js that $pins names; run npm ci in $here, and look at what it brings; nothing was changed"
}

# A sum over all files that an installation is made of.
sum_of_build() {
  {
    (cd "$(dirname "$node")" && sha256sum node)
    (cd "$here/dist" && sha256sum ./*.cjs)
    (cd "$here/systemd" && find . -type f | sort | xargs sha256sum)
  } | sha256sum | cut -d ' ' -f 1
}

is_current() {
  drop_in_is_current && [ "$(cat "$current/build.sum" 2> /dev/null || true)" = "$(sum_of_build)" ] && [ ! -e "$unproven" ] && is_up
}

# Writes the command nodemaint of the folder DIR. It keeps using the Node.js of that folder after an upgrade, and says by which
# name it was called: its help for "kubectl nodemaint" is about that.
write_wrapper() {
  # shellcheck disable=SC2016  # the wrapper expands it
  printf '#!/bin/sh\nNODEMAINT_CALLED_AS=$0\nexport NODEMAINT_CALLED_AS\nexec "%s/node" "%s/nodemaint.cjs" "$@"\n' "$2" "$2" > "$1/nodemaint"
  chmod 0755 "$1/nodemaint"
}

stage() {
  find "$versions" -mindepth 1 -maxdepth 1 -name '.*' -exec rm -rf {} +
  staged=$versions/.staged
  install -d -m 0755 "$staged"
  # The 120 MB of a package are on the disk once: the package manager replaces its files, and never writes into them.
  if [ "$package" = no ] || ! ln "$node" "$staged/node" 2> /dev/null; then install -m 0755 "$node" "$staged/node"; fi
  install -m 0644 "$here"/dist/*.cjs "$staged"
  rm -f "$staged/interceptor.cjs"
  for file in LICENSE NOTICE NODE_LICENSE dist/THIRD_PARTY_NOTICES; do
    [ ! -f "$here/$file" ] || install -m 0644 "$here/$file" "$staged"
  done
  install -m 0755 "$here/systemd/libexec/lock-holder" "$staged/lock-holder"
  files_in "$here/systemd" | while read -r file; do
    install -D -m 0644 "$here/systemd/$file" "$staged/systemd/$file"
    sed -i "s,$usual_lib/,$lib/,g" "$staged/systemd/$file"
  done
  sum_of_build > "$staged/build.sum"
  label_staged
  try_staged
  new=$version-$(date -u +%Y%m%dT%H%M%SZ)-$$
  write_wrapper "$staged" "$versions/$new"
  # Everything is on the disk before the folder gets its name.
  sync -f "$staged"
  mv -T "$staged" "$versions/$new"
  sync "$versions"
}

# SELinux lets systemd start programs with this label; what lies below /usr/lib or /opt would get another one.
label_staged() {
  command -v selinuxenabled > /dev/null && selinuxenabled || return 0
  write_wrapper "$staged" "$staged"
  chcon -t bin_t "$staged/node" "$staged/nodemaint" "$staged/lock-holder" ||
    fail "the programs cannot get the SELinux label bin_t, without which systemd would not start them; nothing was changed"
  pattern="$versions/[^/]+/(node|nodemaint|lock-holder)"
  semanage fcontext -a -t bin_t "$pattern" 2> /dev/null || semanage fcontext -m -t bin_t "$pattern" 2> /dev/null ||
    warn "warning: SELinux does not record the label bin_t of $pattern: there is no semanage. A relabeling of the file system would take it away, and then the agent would not start"
}

try_staged() {
  version=$("$staged/node" "$staged/nodemaint.cjs" --version) ||
    fail "the new program does not run on this machine; nothing was changed"
  NODEMAINT_ALIVE_FILE=/dev/null NODEMAINT_DEAD_MAN_SEC=0 "$staged/lock-holder" 2> /dev/null ||
    fail "the new lock holder does not run on this machine; nothing was changed (it needs: $(head -n 1 "$staged/lock-holder"))"
}

# --- the configuration

absolute() {
  realpath -ms -- "$1"
}

# A text as a YAML string in single quotes.
quoted() {
  printf "'%s'" "$(printf '%s' "$1" | sed "s/'/''/g")"
}

write_config() {
  case ${runtime#unix://} in
    /* | '') ;;
    *) fail "--runtime $runtime is not a socket; name an absolute path, such as /run/containerd/containerd.sock" ;;
  esac
  echo "apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1"
  echo "kind: AgentConfiguration"
  if [ "$standalone" = yes ]; then
    echo "kubeconfig: ''"
  elif [ -n "$kubeconfig" ]; then
    echo "kubeconfig: $(quoted "$(absolute "$kubeconfig")")"
  else
    detected kubeconfig || [ "$package" = yes ] ||
      fail "no kubelet runs here that names its kubeconfig, and none of the usual files exists; name the kubelet's kubeconfig with --kubeconfig, or use --standalone; nothing was changed"
  fi
  if [ -n "$runtime" ]; then
    echo "containerRuntimeEndpoint: $(quoted "unix://${runtime#unix://}")"
  else
    detected containerRuntimeEndpoint || true
  fi
  [ -z "$static_pods" ] || echo "staticPodPath: $(quoted "$(absolute "$static_pods")")"
}

# The line of the configuration for this key, as the running kubelet and the files of this machine have it.
detected() {
  "${program:-$lib/nodemaint}" config detect | grep "^$1: "
}

drop_in_is_current() {
  if [ -z "$drop_in" ]; then
    return 0
  elif [ -s "$drop_in" ]; then
    cmp -s "$drop_in" "$dropped"
  else
    [ ! -e "$dropped" ]
  fi
}

# Checks this configuration with the new program, with the new drop-in in place of the existing one.
check_candidate() {
  if [ -z "$drop_in" ]; then
    "$versions/$new/nodemaint" config "$@" --config "$candidate"
    return
  fi
  trial=$(dirname "$config")/.new
  rm -rf "$trial"
  install -d -m 0700 "$trial" && install -d -m 0755 "$trial/config.d"
  cp "$candidate" "$trial/config.yaml"
  [ ! -d "$(dirname "$dropped")" ] || cp -a "$(dirname "$dropped")/." "$trial/config.d"
  rm -f "$trial/config.d/${dropped##*/}"
  [ ! -s "$drop_in" ] || install -m 0644 "$drop_in" "$trial/config.d/${dropped##*/}"
  checked=0
  "$versions/$new/nodemaint" config "$@" --config "$trial/config.yaml" > "$trial/said" 2>&1 || checked=$?
  sed "s,$trial/,$(dirname "$config")/,g" "$trial/said"
  rm -rf "$trial"
  return "$checked"
}

put_drop_in() {
  ! drop_in_is_current || return 0
  rm -f "$dropped_before"
  [ ! -e "$dropped" ] || cp -p "$dropped" "$dropped_before"
  drop_in_changed=yes
  if [ -s "$drop_in" ]; then put "$drop_in" "$dropped"; else rm -f "$dropped"; fi
}

take_drop_in_back() {
  [ "$drop_in_changed" = yes ] || return 0
  drop_in_changed=no
  if [ -e "$dropped_before" ]; then mv -fT "$dropped_before" "$dropped"; else rm -f "$dropped"; fi
  rmdir "$(dirname "$dropped")" 2> /dev/null || true
  [ -z "$good" ] || write_paths "$good"
}

# Checks the configuration, new or existing, with the new program.
prepare_config() {
  candidate=$config
  if [ -e "$config" ]; then
    echo "keeping $config"
  else
    install -d -m 0755 "$(dirname "$config")"
    candidate=$config.new
    program=$versions/$new/nodemaint
    write_config > "$candidate"
  fi
  rm -f "$places_file"
  code=0
  answer=$(check_candidate check 2>&1) || code=$?
  kubeconfig=
  [ "$code" = 2 ] || kubeconfig=$(check_candidate show kubeconfig)
  if [ "$code" != 0 ] && [ "$package" = yes ] && never_ran && [ -n "$kubeconfig" ] && [ ! -e "$kubeconfig" ]; then
    # The package was installed or upgraded before the node has joined its cluster, or in the image of a machine.
    echo "no $kubeconfig yet; the agent starts at the next boot, or with: systemctl start nodemaint"
    start=no
  elif [ "$code" != 0 ]; then
    echo "$answer" >&2
    [ "$candidate" = "$config" ] || rm -f "$candidate"
    fail "the agent would not start with this configuration; nothing was changed"
  fi
  case $kubeconfig in
    /root/* | /home/* | /run/user/*) fail "the agent's unit cannot read $kubeconfig, because it sees no home directories; put the kubeconfig elsewhere" ;;
  esac
  [ "$candidate" = "$config" ] || put_config
  put_drop_in
}

# Whether no installation on this machine was ever seen to work.
never_ran() {
  [ ! -e "$current" ] || { [ -e "$unproven" ] && [ ! -e "$previous" ]; }
}

put_config() {
  sync "$candidate"
  mv -T "$candidate" "$config"
  sync "$(dirname "$config")"
}

# The agent's unit may write to the usual locations of manifests. This adds the other locations of this machine.
write_paths() {
  "$versions/$1/nodemaint" config show staticPodPath parkedPath stateDirectory runDirectory --config "$config" > "$lib/places"
  {
    read -r static
    read -r parked
    read -r state
    read -r run
  } < "$lib/places"
  rm -f "$lib/places"
  [ -d "$state" ] || install -d -m 0700 "$state"
  beside=$(dirname "$static")
  if [ "$beside" = / ]; then set -- "$static" "$parked"; else set -- "$beside" "$(dirname "$parked")"; fi
  lines=$(for place in "$@" "$state" "$run"; do writable_line "$place"; done | sort -u)
  if [ -z "$lines" ]; then
    rm -f "$paths_drop_in"
    return 0
  fi
  printf '%s\n' "# Written by install.sh: places of this machine that the agent writes, in addition to those of nodemaint.service." \
    '[Service]' "$lines" > "$lib/paths.conf"
  put "$lib/paths.conf" "$paths_drop_in"
  rm -f "$lib/paths.conf"
}

writable_line() {
  case $1/ in
    / | /etc/kubernetes/* | /var/lib/kubelet/* | /var/lib/rancher/* | /var/lib/nodemaint/* | /run/nodemaint/*) return 0 ;;
  esac
  printf 'ReadWritePaths="-%s"\n' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g; s/%/%%/g')"
}

# --- the switch from one installation to another

# Earlier versions of this script put files directly into $lib. This makes an installation of them, to which one can go back.
adopt_flat_layout() {
  [ -f "$lib/node" ] && [ ! -L "$lib/node" ] || return 0
  flat=$versions/.flat
  rm -rf "$flat"
  install -d -m 0755 "$flat"
  cp -p "$lib/node" "$lib"/*.cjs "$lib/lock-holder" "$flat"
  files_in "$here/systemd" | while read -r file; do
    old=$admin_units/${file#system/}
    [ "$file" != logind.conf.d/zz-nodemaint.conf ] || old=$logind
    [ ! -f "$old" ] || [ -L "$old" ] || install -D -m 0644 "$old" "$flat/systemd/$file"
  done
  adopted=before-$(date -u +%Y%m%dT%H%M%SZ)-$$
  write_wrapper "$flat" "$versions/$adopted"
  sync -f "$flat"
  mv -T "$flat" "$versions/$adopted"
  switch_to "$adopted"
  files_in "$versions/$adopted/systemd/system" | while read -r file; do
    rm -f "$admin_units/$file"
    rmdir --ignore-fail-on-non-empty "$(dirname "$admin_units/$file")"
  done
  switch_to "$adopted"
}

# Finds the installation to go back to: the current one, unless it was never seen to work.
find_good() {
  good=$(version_of "$current")
  if [ -e "$unproven" ] && ! is_up; then good=$(version_of "$previous"); fi
  [ -n "$good" ] && [ -d "$versions/$good" ] || good=
}

# Makes systemd and people use an installation. The running agent continues until it is restarted.
switch_to() {
  link "versions/$1" "$current" && sync "$lib" || return 1
  for name in node nodemaint.cjs lock-holder nodemaint; do
    link "current/$name" "$lib/$name" || return 1
  done
  for name in nodemaint kubectl-nodemaint; do
    [ "$package" = yes ] || { install -d -m 0755 "$bin" && link "$lib/nodemaint" "$bin/$name"; } || return 1
  done
  put_units || return 1
  put "$current/systemd/logind.conf.d/zz-nodemaint.conf" "$logind" || return 1
  put_polkit || return 1
  sync -f "$lib" && sync -f "$units" && sync -f "$(dirname "$logind")" || return 1
  enable_unit
  reload_logind
  reload_units
}

put_units() {
  if [ "$units" = "$usual_units" ]; then
    remove_unit_links -xtype l
    files_in "$current/systemd/system" | while read -r file; do
      install -d -m 0755 "$(dirname "$units/$file")" && link "$current/systemd/system/$file" "$units/$file" || exit 1
    done
  else
    remove_unit_copies "$current"
    files_in "$current/systemd/system" | while read -r file; do
      put "$current/systemd/system/$file" "$units/$file" || exit 1
    done
  fi
}

# Removes the copies of units of all installations except those that the installation KEPT has.
remove_unit_copies() {
  for installation in "$versions"/*; do
    [ -d "$installation/systemd/system" ] || continue
    files_in "$installation/systemd/system" | while read -r file; do
      [ ! -e "$1/systemd/system/$file" ] || continue
      rm -f "$admin_units/$file"
      rmdir "$(dirname "$admin_units/$file")" 2> /dev/null || true
    done
  done
}

# Does what "systemctl enable" does, which itself would follow all links to the unit of this one installation.
enable_unit() {
  case $(readlink "$admin_units/nodemaint.service" || true) in
    "$versions"/*) rm -f "$admin_units/nodemaint.service" ;;
  esac
  install -d -m 0755 "$(dirname "$wanted")"
  link "$units/nodemaint.service" "$wanted"
}

# Removes our links to units that match this condition of find(1).
remove_unit_links() {
  find "$units" -mindepth 1 -maxdepth 2 -lname "$current/systemd/system/*" "$@" -delete
  find "$units" -mindepth 1 -maxdepth 1 -type d -name '*.d' -empty -delete
}

put_polkit() {
  rules=$current/systemd/polkit-1/rules.d/10-nodemaint.rules
  [ -f "$rules" ] && [ -d /usr/share/polkit-1 ] || return 0
  put "$rules" "$polkit"
}

# logind reads its drop-ins only on SIGHUP, and applies them within a second.
reload_logind() {
  [ "$systemd" = no ] || systemctl kill --signal=HUP systemd-logind.service || true
}

reload_units() {
  [ "$systemd" = no ] || systemctl daemon-reload
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

uptime_sec() {
  sed 's/\..*//' /proc/uptime
}

# The agent sends READY=1 before it has read anything, so this asks the agent itself. It asks again some seconds later, when
# the process must be the same: an agent that crashes and restarts again and again also answers now and then.
wait_until_up() {
  until_sec=$(($(uptime_sec) + up_sec))
  until is_up; do
    if [ "$(uptime_sec)" -ge "$until_sec" ]; then
      why="the agent does not hold the lock after $up_sec s (its phase, kind of lock, and whether it is held: $answer)"
      return 1
    fi
    sleep 1
  done
  process=$(systemctl show -P InvocationID nodemaint.service)
  sleep 3
  if ! is_up || [ "$(systemctl show -P InvocationID nodemaint.service)" != "$process" ]; then
    why='the agent, or the holder of its lock, ended again after its start'
    return 1
  fi
}

bring_up() {
  [ "$start" = yes ] || return 0
  hold_meanwhile
  timeout 180 systemctl restart nodemaint.service || { why='systemd cannot start the agent'; return 1; }
  wait_until_up
}

# An agent that is not draining releases its lock when it is stopped. Meanwhile this script holds a lock, until it ends.
hold_meanwhile() {
  [ -z "$meanwhile" ] || return 0
  systemd-inhibit --what=shutdown --mode=delay --who=install.sh '--why=The agent is being restarted' \
    sleep "$((3 * up_sec))" 9>&- > /dev/null 2>&1 &
  meanwhile=$!
}

# --- activation and rollback

# Switches to an installation and checks that it starts. After the switch every end of this script except success goes
# back.
activate() {
  [ -z "$good" ] || link "versions/$good" "$previous"
  : > "$unproven"
  sync "$lib" "$unproven"
  step=switched
  why='it could not be installed'
  switch_to "$1" || exit 1
  bring_up || exit 1
  [ "$start" = no ] || rm -f "$unproven"
  rm -f "$dropped_before"
  sync -f "$lib"
  step=finished
}

# Runs whenever this script ends.
on_exit() {
  code=$?
  trap '' INT TERM HUP
  [ "$step" != switched ] || go_back "$code"
  [ "$step" = finished ] || take_drop_in_back
  rm -rf "$versions/.staged" "$config.new" "$(dirname "$config")/.new"
  # The current program is not removed.
  [ -z "$new" ] || [ "$(version_of "$current")" = "$new" ] || rm -rf "${versions:?}/$new"
  # Where nothing is installed, no folder of ours stays.
  [ "$step" = finished ] || rmdir "$versions" "$lib" "$(dirname "$config")" 2> /dev/null || true
  [ -z "$meanwhile" ] || kill "$meanwhile" 2> /dev/null || true
  exit "$code"
}

go_back() {
  [ "$1" -lt 128 ] || why='this script was interrupted'
  warn "the new installation $(version_of "$current") did not start: $why. The last lines of its log:"
  # What the program said last may be on its way to the journal still.
  timeout 10 journalctl --sync 2> /dev/null || true
  journalctl --no-pager --lines=20 --unit=nodemaint.service --unit=nodemaint-inhibitor.service >&2 || true
  if [ -z "$good" ]; then
    warn "there is no earlier installation to go back to; systemd continues to try to start this one"
    return 0
  fi
  warn "going back to $good"
  take_drop_in_back
  if switch_to "$good" && bring_up; then
    rm -f "$unproven"
    sync -f "$lib"
    warn "the upgrade FAILED; the earlier installation $good runs again"
  else
    warn "the upgrade FAILED, and the earlier installation $good did not start either: $why. THIS NODE IS NOT PROTECTED; see: journalctl -u nodemaint"
  fi
}

# Keeps only the current and the previous installation.
remove_older() {
  for dir in "$versions"/*; do
    case ${dir##*/} in
      "$(version_of "$current")" | "$(version_of "$previous")") ;;
      *) rm -rf "$dir" ;;
    esac
  done
}

# --- the three actions

# The kubelet's own graceful shutdown would kill pods by its own clock when the drain begins. This switches it off only if
# the user asked for it, and is an error where it could not: the node would not be guarded.
handle_kubelet_shutdown() {
  if [ "$disable_kubelet_shutdown" = yes ]; then
    said=$("$lib/nodemaint" disable-kubelet-shutdown --config "$config") ||
      fail "node-maintenance-agent $version is installed, but the kubelet's own graceful shutdown could NOT be switched off, and would kill pods during a drain"
    echo "$said"
    case $said in
      *Wrote*) systemctl try-restart kubelet.service ;;
    esac
    # The agent takes over the kubelet's order.
    case $said in
      *'is now the drainPlan'*) systemctl try-restart nodemaint.service ;;
    esac
  elif "$lib/nodemaint" doctor --config "$config" 2> /dev/null | grep -q '^fail .*graceful shutdown is on'; then
    warn "warning: the kubelet's own graceful shutdown is on; it will kill pods during a drain."
    echo "  Switch it off with: install.sh --disable-kubelet-graceful-shutdown" >&2
  fi
}

do_install() {
  check_build
  check_places
  refuse_while_busy
  if [ "$unless_current" = yes ] && is_current; then
    step=finished
    echo "exactly this node-maintenance-agent is installed, runs, and holds the lock"
    [ "$disable_kubelet_shutdown" = no ] || handle_kubelet_shutdown
    return 0
  fi
  install -d -m 0755 "$versions"
  stage
  step=staged
  # Again, because the copying takes some seconds.
  refuse_while_busy
  prepare_config
  write_paths "$new"
  adopt_flat_layout
  find_good
  activate "$new"
  remove_older
  handle_kubelet_shutdown
  if [ "$start" = yes ]; then
    # Few machines have /opt/bin in the PATH.
    found=nodemaint
    command -v nodemaint > /dev/null || found=$bin/nodemaint
    echo "node-maintenance-agent $version is installed, runs, and holds the lock; see: $found status"
  else
    echo "node-maintenance-agent $version is installed; start it with: systemctl start nodemaint"
  fi
}

do_rollback() {
  target=$(version_of "$previous")
  good=$(version_of "$current")
  if [ -z "$target" ] || [ ! -d "$versions/$target" ] || [ "$target" = "$good" ]; then
    fail "there is no earlier installation"
  fi
  activate "$target"
  echo "node-maintenance-agent is back at $target; \"install.sh rollback\" goes to $good again"
}

ask_places() {
  PATH=$lib:$here:$PATH "$@" config show staticPodPath parkedPath stateDirectory --config "$asked"
}

# Asks the program where this machine's manifests and state are. If an older program cannot tell, asks the one of this checkout.
find_places() {
  static=/etc/kubernetes/manifests
  parked=/etc/kubernetes/nodemaint-parked
  [ -e "$lib/nodemaint" ] || return 0
  asked=$config
  if [ ! -e "$config" ]; then
    asked=$(mktemp)
    standalone=yes
    runtime=${runtime:-/run/containerd/containerd.sock}
    write_config > "$asked"
  fi
  places=$(ask_places "$lib/nodemaint" || ask_places node "$here/dist/nodemaint.cjs") ||
    fail "the program cannot tell where manifests may be parked; repair $config, or install a working program first"
  [ "$asked" = "$config" ] || rm -f "$asked"
  { read -r static; read -r parked; read -r state; } <<TEXT
$places
TEXT
}

parked_manifests() {
  [ -d "$static" ] || static=$(dirname "$static")
  find "$parked" -maxdepth 1 ! -type d ! -name '.*' 2> /dev/null | sort
  find "$static/.nodemaint-leaving" ! -type d 2> /dev/null | sort
}

# Why this is no time to change anything; nothing if it is one. An agent that does not answer is no reason.
busy_reason() {
  preparing=$(busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager PreparingForShutdown) ||
    { echo 'logind does not say whether the machine goes down'; return 0; }
  [ "$preparing" = 'b false' ] || { echo 'the machine goes down'; return 0; }
  [ -e "$lib/nodemaint" ] || return 0
  phase=$(ask_agent) || phase=watching
  [ "${phase%% *}" = watching ] || { echo "the agent is in the phase ${phase%% *}"; return 0; }
  find_places
  [ -z "$(parked_manifests)" ] || echo 'manifests are parked'
}

# Exit code 75 means: try again later (EX_TEMPFAIL of sysexits.h).
refuse_while_busy() {
  [ "$when_idle" = yes ] || return 0
  busy=$(busy_reason) || exit 1
  [ -z "$busy" ] || { warn "nothing was changed, because $busy"; exit 75; }
}

# Without the agent, parked manifests would never be put back.
refuse_while_parked() {
  found=$(parked_manifests)
  [ -z "$found" ] || fail "these manifests are parked:
$found
  end the maintenance first (nodemaint cancel, or complete its NodeMaintenance), or put them back: nodemaint restore --all"
}

undo_kubelet_drop_in() {
  [ -e "$lib/nodemaint" ] && [ -f "$state/kubelet-drop-in" ] || return 0
  said=$("$lib/nodemaint" disable-kubelet-shutdown --undo --config "$config" 2>&1) || { warn "$said"; return 0; }
  echo "$said"
  case $said in *Removed*) [ "$restart_kubelet" = no ] || systemctl try-restart kubelet.service ;; esac
}

remove_program() {
  if [ "$systemd" = yes ]; then
    systemctl disable --quiet --now nodemaint.service nodemaint-inhibitor.service 2> /dev/null || true
    systemctl stop nodemaint.service nodemaint-inhibitor.service 2> /dev/null || true
  fi
  # Units that an earlier version of this script installed.
  files_in "$here/systemd/system" | while read -r file; do
    rm -f "$admin_units/$file"
    rmdir "$(dirname "$admin_units/$file")" 2> /dev/null || true
  done
  rm -f "$logind" "$polkit" "$paths_drop_in" "$wanted" "$bin/nodemaint" "$bin/kubectl-nodemaint"
  [ "$package" = no ] || [ ! -d "$(dirname "$places_file")" ] || printf '%s\n' "$state" "$parked" > "$places_file"
  remove_unit_copies /nonexistent
  rmdir "$(dirname "$paths_drop_in")" "$(dirname "$logind")" 2> /dev/null || true
  # Where polkit is installed, this folder is polkit's.
  command -v pkaction > /dev/null || rmdir -p "$(dirname "$polkit")" 2> /dev/null || true
  remove_unit_links
  semanage fcontext -d "$versions/[^/]+/(node|nodemaint|lock-holder)" 2> /dev/null || true
  rm -rf "$lib"
  reload_units
  reload_logind
}

# purge: the packages have a copy of this function, which runs when this script is gone already.
# Removes the agent's files. In directories that a configuration may have named, it removes only our own files.
purge() {
  for name in $state_files; do rm -f "$state/$name" "$state/.$name.new"; done
  # The stories of shutdowns, which have the times of their beginnings as names.
  if [ -d "$state/shutdowns" ] && [ ! -L "$state/shutdowns" ]; then
    rm -f "$state"/shutdowns/[0-9]*.json "$state"/shutdowns/.[0-9]*.json.*.new
    rmdir "$state/shutdowns" 2> /dev/null || true
  fi
  rm -rf /etc/nodemaint /var/cache/nodemaint /run/nodemaint
  for dir in "$state" "$parked" /var/lib/nodemaint; do
    [ -d "$dir" ] || continue
    rmdir "$dir" 2> /dev/null || warn "left $dir, in which are: $(find "$dir" -mindepth 1 -maxdepth 1 | head -n 5 | tr '\n' ' ')"
  done
}
# end of purge

do_uninstall() {
  refuse_while_busy
  find_places
  refuse_while_parked
  undo_kubelet_drop_in
  remove_program
  [ "$purge" = no ] || purge
  echo "node-maintenance-agent is removed from this machine; to remove it from the cluster, see docs/usage/install.md (Uninstall)"
}

step=begun
drop_in_changed=no
new=
good=
meanwhile=
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
find_build
choose_places
# It removes what lies in the places that were chosen.
trap on_exit EXIT
case $action in
  install) do_install ;;
  rollback) do_rollback ;;
  uninstall) do_uninstall ;;
esac
