/** The checks of `nodemaint doctor`: from the facts of a node to results and fixes. */
import { SHUTDOWN_KINDS, type ShutdownKind } from '../../decide/shutdown/kind.ts';
import { judgeKubeletShutdown } from '../../decide/machine/kubelet-graceful-shutdown.ts';
import type { KubeletFacts } from '../../decide/machine/kubelet-config.ts';
import type { RefusedKubelet } from '../../decide/machine/kubelet-trust.ts';
import { chooseKubeletUnit, type KubeletHome } from '../../decide/machine/kubelet-unit.ts';
import { type DelayLock, describeLock, isKubeletsLock, refusesShutdown } from '../../decide/shutdown/other-locks.ts';
import type { ControlPlaneProgram } from '../../decide/static-pod/control-plane-pod.ts';
import { type LeavingFacts, leavingStep, shortDelay } from '../../decide/static-pod/control-plane-waits.ts';
import { staticPodUrlWarning } from '../../decide/static-pod/url-pods.ts';
import { type DelaySetting, delayProblem, WANTED_DELAY_MS } from '../../decide/machine/logind-delay.ts';

export interface Check {
  readonly name: string;
  readonly result: 'ok' | 'warn' | 'fail';
  readonly message: string;
  /** The command or change that fixes it; '' where nothing is to be done. */
  readonly fix: string;
}

/** The paths that the agent's unit may write, and those that the agent needs to write. */
interface UnitPaths {
  /** ProtectSystem= of the unit. */
  readonly protectSystem: string;
  /** ReadWritePaths= of the unit, as systemd shows them. */
  readonly writable: readonly string[];
  readonly needed: readonly string[];
}

/** The facts of a node; a text in place of a value says why it could not be read. */
export interface DoctorFacts {
  readonly lock: { readonly kind: string; readonly held: boolean; readonly message: string } | string;
  /** Whether the bus cannot be reached, of which logind and systemd are asked. */
  readonly isBusAway: boolean;
  readonly delay: { readonly effectiveMs: number; readonly winner: DelaySetting | undefined } | string;
  /** The inhibitor locks of others that delay a shutdown. */
  readonly otherLocks: readonly DelayLock[] | string;
  readonly unitPaths: UnitPaths;
  /** Files that the agent acts on and another user than root could change, each with its fix. */
  readonly distrusted: readonly string[];
  /** JobTimeoutSec of the targets, in milliseconds. */
  readonly targetTimeoutsMs: Readonly<Partial<Record<ShutdownKind, number>>> | string;
  /** The units after which nodemaint.service starts, and so before which it stops. */
  readonly startsAfter: readonly string[] | string;
  /** Whether pods run in systemd's slices, which it stops at a shutdown. */
  readonly hasPodSlices: boolean;
  readonly kubelet: KubeletFacts | undefined | string;
  /** Processes that call themselves kubelet and are not trusted. */
  readonly refusedKubelets: readonly RefusedKubelet[];
  /** The service that the kubelet runs in; absent while it does not run. */
  readonly kubeletHome: KubeletHome | undefined;
  /** The key "kubeletUnit". */
  readonly kubeletUnit: string | undefined;
  /**
   * The directory in use and whether it exists; `warning` where the kubelet uses another; `distrust` says why the agent must
   * not move files there.
   */
  readonly staticPods: {
    readonly path: string;
    readonly isThere: boolean;
    readonly warning?: string;
    readonly distrust?: string;
  };
  /** The agent's state directory; `problem` says why it cannot be written, `isMissing` that it is not there. */
  readonly storage: { readonly directory: string; readonly problem?: string; readonly isMissing?: boolean };
  /** The runtime's name and version. */
  readonly runtime: { readonly version: string } | string;
  readonly api:
    | { readonly kind: 'standalone' }
    | {
        readonly kind: 'ok' | 'failed';
        readonly server: string;
        readonly message: string;
        /** Static pods of this node that it does not know, as NAMESPACE/NAME; absent where it was not asked. */
        readonly unknown?: readonly string[];
      };
  /** Whether the API server's address is this machine's. */
  readonly serverIsLocal: boolean;
  /** The manifests of static pods that carry the way to it then. */
  readonly carriers: readonly string[];
  /** The programs of the control plane among this node's static pods, and what its etcd tells. */
  readonly member: { readonly programs: readonly ControlPlaneProgram[]; readonly etcd: LeavingFacts['etcd'] };
}

const OK = { result: 'ok', fix: '' } as const;
const MAX_REFUSED = 3;
const RUNTIMES = ['containerd.service', 'crio.service', 'docker.service'];
/** The slice of all pods, where the kubelet's cgroup driver is systemd. */
export const POD_SLICE = 'kubepods.slice';
const BEFORE_US = ['dbus.service', 'systemd-logind.service'];

function checkLock({ lock }: DoctorFacts): Check {
  const name = 'lock';
  if (typeof lock === 'string') {
    return { name, result: 'fail', message: lock, fix: 'systemctl start nodemaint; then journalctl -u nodemaint' };
  }
  if (lock.kind === 'none') {
    const fix = 'to hold shutdowns: set the key "lock" to unit; then systemctl restart nodemaint';
    return { name, result: 'warn', message: 'the agent is configured to hold no shutdown lock', fix };
  }
  if (lock.held) return { name, ...OK, message: 'the agent runs and holds the shutdown lock' };
  const fix = 'journalctl -u nodemaint -u nodemaint-inhibitor says why';
  return { name, result: 'fail', message: lock.message, fix };
}

function checkDelay({ delay }: DoctorFacts): Check {
  const name = 'lock delay';
  if (typeof delay === 'string')
    return { name, result: 'fail', message: delay, fix: 'systemctl restart systemd-logind' };
  const problem = delayProblem(delay.effectiveMs, delay.winner);
  if (problem !== undefined) return { name, result: 'fail', ...problem };
  return { name, ...OK, message: `${delay.effectiveMs / 1000} s, from ${delay.winner?.path ?? 'logind itself'}` };
}

function checkOtherLocks({ otherLocks }: DoctorFacts): Check {
  const name = 'other locks';
  if (typeof otherLocks === 'string')
    return { name, result: 'warn', message: otherLocks, fix: 'systemd-inhibit --list' };
  if (otherLocks.length === 0) return { name, ...OK, message: 'no other lock delays a shutdown' };
  const blocking = otherLocks.filter(refusesShutdown);
  if (blocking.length > 0) {
    const fix = 'end the program or the session that holds it, or systemctl reboot --check-inhibitors=no';
    const message = `logind refuses to reboot or power off because of ${blocking.map(describeLock).join(', ')}`;
    return { name, result: 'warn', message, fix };
  }
  const message = `other locks delay a shutdown too, up to the lock delay: ${otherLocks.map(describeLock).join(', ')}`;
  const isKubelets = otherLocks.every(isKubeletsLock);
  const fix = isKubelets
    ? 'nodemaint disable-kubelet-shutdown: the kubelet holds its lock for its own graceful shutdown'
    : 'stop the programs that you do not want; the polkit rule of install.sh lets only root take such locks';
  return { name, result: 'warn', message, fix };
}

/** The agent's own directories, which systemd lets it write. */
const OWN_FOLDERS = ['/var/lib/nodemaint', '/var/cache/nodemaint', '/run/nodemaint'];

function checkUnitPaths({ unitPaths: { protectSystem, writable, needed } }: DoctorFacts): Check {
  const name = 'unit paths';
  const open = [...OWN_FOLDERS, ...writable.map((place) => place.replace(/^[-+]+/, ''))];
  const isIn = (place: string): boolean => open.some((top) => place === top || place.startsWith(`${top}/`));
  const missing = [...new Set(needed.filter((place) => !isIn(place)))];
  if (protectSystem !== 'strict' || missing.length === 0)
    return { name, ...OK, message: 'the agent can write all its paths' };
  const lines = missing.map((place) => `ReadWritePaths="-${place.replaceAll('%', '%%')}"`).join(' and ');
  const fix = `systemctl edit nodemaint, [Service] ${lines}; systemctl restart nodemaint`;
  return { name, result: 'fail', message: `the agent's unit cannot write ${missing.join(', ')}`, fix };
}

function checkTrust({ distrusted }: DoctorFacts): Check {
  const name = 'trust';
  if (distrusted.length === 0) return { name, ...OK, message: 'only root can change what the agent acts on' };
  return { name, result: 'warn', message: [...new Set(distrusted)].join('; '), fix: 'do what the message says' };
}

function checkTargets({ targetTimeoutsMs }: DoctorFacts): Check {
  const name = 'target time-outs';
  const fix = 'run install.sh of the release as root';
  if (typeof targetTimeoutsMs === 'string') return { name, result: 'fail', message: targetTimeoutsMs, fix };
  const short = SHUTDOWN_KINDS.filter((kind) => (targetTimeoutsMs[kind] ?? Infinity) < WANTED_DELAY_MS);
  if (short.length === 0) return { name, ...OK, message: 'no target forces the shutdown before the drain can end' };
  const list = short.map((kind) => `${kind}.target after ${(targetTimeoutsMs[kind] ?? 0) / 1000} s`).join(', ');
  return { name, result: 'fail', message: `systemd forces the shutdown: ${list}`, fix };
}

function checkOrder({ startsAfter, hasPodSlices, kubeletHome }: DoctorFacts): Check {
  const name = 'unit order';
  const kubelet = kubeletHome?.unit ?? 'kubelet.service';
  const fix = `run install.sh of the release as root; for another unit: systemctl edit nodemaint, [Unit] After=${kubelet}`;
  if (typeof startsAfter === 'string') return { name, result: 'fail', message: startsAfter, fix };
  const missing = [kubelet, ...BEFORE_US].filter((unit) => !startsAfter.includes(unit));
  if (!RUNTIMES.some((unit) => startsAfter.includes(unit))) missing.push('the container runtime');
  if (hasPodSlices && !startsAfter.includes(POD_SLICE)) missing.push(`${POD_SLICE} (the pods)`);
  if (missing.length === 0)
    return { name, ...OK, message: 'pods, kubelet, runtime, D-Bus and logind stop after the drain' };
  const message = `nodemaint.service is not ordered after ${missing.join(', ')}: a shutdown may stop them before the drain ends`;
  return { name, result: 'fail', message, fix };
}

function checkKubelet({ kubelet, refusedKubelets }: DoctorFacts): Check {
  const name = 'kubelet shutdown';
  if (typeof kubelet === 'string')
    return { name, result: 'warn', message: kubelet, fix: "correct the kubelet's file that the message names" };
  if (kubelet === undefined) {
    const refused = refusedKubelets.slice(0, MAX_REFUSED).map(({ pid, reason }) => `process ${pid}: ${reason}`);
    const but = refused.length === 0 ? '' : `; not trusted: ${refused.join('; ')}`;
    const fix = 'systemctl start kubelet; if its unit has another name, set the key "kubeletUnit"';
    return { name, result: 'warn', message: `no kubelet of this node is running${but}`, fix };
  }
  const found = judgeKubeletShutdown(kubelet);
  if (found.kind === 'off') return { name, ...OK, message: "the kubelet's own graceful shutdown is off" };
  const message = `the kubelet's own graceful shutdown is on (${found.totalMs / 1000} s): it ends pods while the agent drains the node`;
  return { name, result: 'fail', message, fix: 'nodemaint disable-kubelet-shutdown' };
}

function checkKubeletUnit({ kubeletHome, kubeletUnit }: DoctorFacts): Check {
  const name = 'kubelet unit';
  const choice = chooseKubeletUnit(kubeletUnit, kubeletHome);
  if (choice.kind === 'none') {
    const message = `${choice.reason}: a drain without an API server ends only static pods`;
    if (kubeletUnit === '') return { name, ...OK, message };
    return {
      name,
      result: 'warn',
      message,
      fix: 'see "k3s, RKE2, k0s" in docs/internals/drain-without-a-controller-or-api-server.md; to accept it: kubeletUnit: ""',
    };
  }
  const seen = kubeletHome?.unit;
  if (kubeletHome === undefined || seen === choice.unit) return { name, ...OK, message: choice.unit };
  const where = seen === undefined ? 'outside of any systemd service' : `in ${seen}`;
  const message = `a drain without an API server stops ${choice.unit}, but the kubelet runs ${where} and would restart pods`;
  if (seen === undefined) {
    const fix = 'run the kubelet in a systemd service; to accept it: kubeletUnit: ""';
    return { name, result: 'warn', message, fix };
  }
  const fix = 'correct the key "kubeletUnit", or remove it; then systemctl restart nodemaint';
  return { name, result: 'warn', message, fix };
}

function checkStaticPods({ kubelet, api, staticPods: { path, isThere, warning, distrust } }: DoctorFacts): Check {
  const name = 'static pods';
  if (distrust !== undefined) {
    const message = `manifests are not moved: ${distrust}`;
    return { name, result: 'fail', message, fix: 'do what the message says; the agent notices it without a restart' };
  }
  if (warning !== undefined) {
    const fix = 'correct the key "staticPodPath"; then systemctl restart nodemaint';
    return { name, result: 'fail', message: warning, fix };
  }
  const fromUrl = typeof kubelet === 'object' ? staticPodUrlWarning(kubelet) : undefined;
  if (fromUrl !== undefined) {
    const fix =
      "serve these pods from files: move them to the static pod directory, and remove the kubelet's staticPodURL";
    return { name, result: 'warn', message: fromUrl, fix };
  }
  const { unknown = [] } = api.kind === 'standalone' ? {} : api;
  if (unknown.length > 0) {
    const message = `not known to the API server, so that no drain waits for others before they leave: ${unknown.join(', ')}`;
    const fix =
      'find what refuses their mirror pods (a webhook, a quota, a missing namespace) in the log of the kubelet';
    return { name, result: 'warn', message, fix };
  }
  if (isThere) return { name, ...OK, message: path };
  return {
    name,
    result: 'warn',
    message: `${path} does not exist`,
    fix: `mkdir ${path}, or set the key "staticPodPath"`,
  };
}

function checkStorage({ storage: { directory, problem, isMissing = false } }: DoctorFacts): Check {
  const name = 'state directory';
  if (problem === undefined) return { name, ...OK, message: directory };
  const message = `${problem}: the agent still holds a shutdown, but loses its state if it restarts`;
  const fix = isMissing
    ? `systemctl start nodemaint, whose unit makes ${directory}; a directory of your own: mkdir -m 0700 ${directory}`
    : `free space in ${directory}, or repair its file system`;
  return { name, result: 'fail', message, fix };
}

function checkRuntime({ runtime }: DoctorFacts): Check {
  const name = 'runtime';
  if (typeof runtime !== 'string') return { name, ...OK, message: runtime.version };
  const fix = 'correct the key "containerRuntimeEndpoint"; then systemctl restart nodemaint';
  return { name, result: 'fail', message: runtime, fix };
}

function checkApi({ api }: DoctorFacts): Check {
  const name = 'API server';
  if (api.kind === 'standalone') return { name, ...OK, message: 'none configured, standalone' };
  if (api.kind === 'ok') return { name, ...OK, message: `${api.server}, ${api.message}` };
  return {
    name,
    result: 'fail',
    message: api.message,
    fix: 'correct the key "kubeconfig", and systemctl restart nodemaint; where rights are missing: kubectl apply -k manifests',
  };
}

function checkSelf({ api, serverIsLocal, carriers }: DoctorFacts): Check {
  const name = 'own API server';
  if (!serverIsLocal || api.kind === 'standalone') {
    return { name, ...OK, message: 'the agent does not depend on an API server that its own drain ends' };
  }
  const points = `the kubeconfig points at this node (${api.server})`;
  if (carriers.length > 0) {
    const stay = `unless that address moves between machines, these stay in a drain, and leave last in a shutdown: ${carriers.join(', ')}`;
    return { name, ...OK, message: `${points}; ${stay}` };
  }
  const message = `${points}, and no static pod is known to listen there: where a drain ends it, the node hears nothing of its maintenance, and after five minutes the agent puts it back to ask`;
  const fix = 'name the port in "ports" of its manifest, or point the kubeconfig at a load balancer';
  return { name, result: 'warn', message, fix };
}

function checkMember({ member: { programs, etcd } }: DoctorFacts): Check {
  const name = 'control plane';
  const note = shortDelay(programs);
  const ok = (message: string): Check => ({
    name,
    ...OK,
    message: note === undefined ? message : `${message}; ${note}`,
  });
  if (programs.length === 0) return ok('no part of it is a static pod of this node: a reboot hands nothing over');
  if (etcd === undefined) return ok('its etcd is not a static pod of this node: a reboot does not hand its lead over');
  const listens = programs.some(({ flags }) => flags['listen-client-urls'] !== undefined);
  if (!listens) return ok('its etcd has its settings in a file of its own: a reboot does not hand its lead over');
  const fix = 'see the log of etcd, and the paths of certificates in its manifest';
  if (typeof etcd === 'string') {
    return { name, result: 'warn', message: `a reboot does not hand the lead of etcd over: ${etcd}`, fix };
  }
  if (etcd.members.filter(({ isLearner }) => !isLearner).length < 2) {
    return ok('this is the only member of etcd: the API is away while the node is');
  }
  const step = leavingStep({ etcd, isOffline: false }, new Set());
  if (step?.wait === 'etcd-members') return { name, result: 'warn', message: step.message, fix };
  return ok('before a reboot another member leads etcd, and the API server leaves before etcd');
}

/** The checks that ask the bus, in their order. */
const OF_BUS = [checkDelay, checkTargets, checkOrder, checkOtherLocks];

/** What a check finds; a bus that cannot be reached is found once: what the others of it advise is about something else. */
function examine(check: (facts: DoctorFacts) => Check, facts: DoctorFacts): Check {
  const found = check(facts);
  if (!facts.isBusAway || !OF_BUS.includes(check)) return found;
  if (check !== checkDelay) return { ...found, message: 'not known, see "lock delay"', fix: '' };
  return { ...found, fix: 'systemctl status dbus systemd-logind; without them no shutdown can be held' };
}

/** All checks, the most important first. */
export function examineNode(facts: DoctorFacts): readonly Check[] {
  const checks = [checkLock, checkDelay, checkTargets, checkOrder, checkKubelet, checkKubeletUnit];
  const places = [checkUnitPaths, checkTrust, checkOtherLocks];
  const others = [checkStaticPods, checkStorage, checkRuntime, checkApi, checkSelf, checkMember];
  return [...checks, ...places, ...others].map((check) => examine(check, facts));
}
