/**
 * What the node agent does with the manifests of its static pods: park them when their pods are to leave, prove that
 * the pods ended, keep them parked, give them back. Never lets a manifest be in no place.
 */
import { type ControlPlaneComponent, leaveRank } from './control-plane-pod.ts';

/** A manifest, wherever it lies. */
export interface StaticPod {
  readonly file: string;
  readonly namespace: string;
  /** With the node's name at the end, as the API server and the runtime have it. */
  readonly podName: string;
  readonly graceSec: number;
  readonly component?: ControlPlaneComponent;
}

/** A manifest that was moved out of the static pod directory. */
export interface ParkedPod extends StaticPod {
  /** The maintenance it was parked for; empty where that is not known any more. */
  readonly maintenance: string;
  /** Milliseconds since the epoch. */
  readonly parkedAt: number;
  /** Whether it was parked in this boot: containers do not survive one. */
  readonly thisBoot: boolean;
}

/** Why a static pod is to leave, by pod key. */
export interface Leave {
  readonly maintenance: string;
  readonly reason: string;
}

/** What the agent sees at one moment. */
export interface StaticPodFacts {
  readonly now: number;
  readonly inPlace: readonly StaticPod[];
  /** Pods that were ended although their manifests are in place. */
  readonly ended?: readonly StaticPod[];
  readonly parked: readonly ParkedPod[];
  /** Sandboxes with life in them, by pod key; undefined while the container runtime does not answer or was not asked. */
  readonly live: ReadonlyMap<string, readonly string[]> | undefined;
  /** Pods that are to leave now: targeted, and with this agent as their active interceptor. */
  readonly leave: ReadonlyMap<string, Leave>;
  /** Pods that are targeted, whoever is asked about them now. */
  readonly targeted: ReadonlySet<string>;
  /** Since when the kubelet has not answered, in milliseconds since the epoch; absent where it does. */
  readonly kubeletDownSince?: number;
  /** Mirror pods that the API server has, by pod key; undefined where that is not known. */
  readonly mirrors: ReadonlySet<string> | undefined;
  /** Since when each parked manifest may go back, by file, in milliseconds since the epoch. */
  readonly freeSince: ReadonlyMap<string, number>;
  /** Grace periods in seconds that a deadline made shorter, by file. */
  readonly graces?: ReadonlyMap<string, number>;
  /** Manifests in place that could not be moved when that was tried, by file; absent where none is. */
  readonly stuck?: ReadonlyMap<string, StuckManifest>;
  /** Whether the agent itself has stopped the kubelet for the drain. */
  readonly kubeletStopped?: boolean;
  /** Whether parked manifests stay where they are. */
  readonly keepParked: (pod: ParkedPod) => boolean;
}

/** A manifest that the disk does not let go. */
export interface StuckManifest {
  /** What the disk says. */
  readonly reason: string;
  /** Whether that has lasted: then a shutdown ends its pod without moving it. */
  readonly isLasting: boolean;
}

export type StaticPodAction =
  | { readonly kind: 'park'; readonly file: string; readonly leave: Leave }
  | { readonly kind: 'stop'; readonly file: string; readonly sandboxId: string; readonly graceSec: number }
  | { readonly kind: 'restore'; readonly file: string };

/** How far one static pod is on its way out, for its EvictionRequest, the status and the next tier. */
export interface StaticPodProgress {
  readonly key: string;
  readonly file: string;
  readonly state: 'terminating' | 'ended';
  /** When it should have ended, in milliseconds since the epoch. */
  readonly expectedFinishAt: number;
  /** What it waits for, where that is not the end of its containers. */
  readonly message?: string;
}

export interface StaticPodDecision {
  readonly actions: readonly StaticPodAction[];
  readonly progress: readonly StaticPodProgress[];
}

/** The kubelet looks at its directory at least every 20 s; twice that and the grace period is its time to act. */
const KUBELET_TIME_MS = 40_000;
/** A restart of the kubelet takes seconds; one that is away for so long is not waited for any longer. */
const KUBELET_WAIT_MS = 30_000;

/** The kubelet has so long to see that a manifest is gone, before the runtime is asked beside it. */
const HEAD_START_MS = 400;

/** The key of a pod: NAMESPACE/NAME. */
export function podKey(pod: { readonly namespace: string; readonly podName: string }): string {
  return `${pod.namespace}/${pod.podName}`;
}

/** Whether containers of the pod may run; where the runtime does not tell, they may. */
function mayRun(pod: StaticPod, { live }: StaticPodFacts): boolean {
  return live === undefined || (live.get(podKey(pod)) ?? []).length > 0;
}

function hasEnded(pod: ParkedPod, facts: StaticPodFacts): boolean {
  return !pod.thisBoot || !mayRun(pod, facts);
}

function decideParked(pod: ParkedPod, facts: StaticPodFacts): StaticPodAction | undefined {
  if (!facts.keepParked(pod)) {
    // A manifest goes back only when its old containers are gone: the kubelet mixes up the two otherwise.
    if (!hasEnded(pod, facts)) return undefined;
    // The mirror pod goes last of all. One that stays, as a dead kubelet's does, must not keep the pod away for ever.
    const waitsForMirror = pod.thisBoot && facts.mirrors?.has(podKey(pod)) === true;
    const freeSince = facts.freeSince.get(pod.file) ?? facts.now;
    if (waitsForMirror && facts.now < freeSince + KUBELET_TIME_MS) return undefined;
    return { kind: 'restore', file: pod.file };
  }
  const graceSec = facts.graces?.get(pod.file) ?? pod.graceSec;
  const sandbox = pod.thisBoot ? facts.live?.get(podKey(pod))?.[0] : undefined;
  // The kubelet gives a static pod its own grace period and no other: only the runtime can end it earlier.
  if (graceSec < pod.graceSec && sandbox !== undefined && facts.now >= pod.parkedAt + HEAD_START_MS) {
    const left = Math.ceil((pod.parkedAt + graceSec * 1000 - facts.now) / 1000);
    return { kind: 'stop', file: pod.file, sandboxId: sandbox, graceSec: Math.max(1, left) };
  }
  const overdue = facts.now > pod.parkedAt + pod.graceSec * 1000 + KUBELET_TIME_MS;
  // A kubelet that was restarted without an API server ignores removals, so the runtime is asked directly.
  if (overdue && sandbox !== undefined) {
    return { kind: 'stop', file: pod.file, sandboxId: sandbox, graceSec: pod.graceSec };
  }
  return undefined;
}

/** What keeps a pod that is to leave from being parked now: in words, and with what to do about it. */
interface Hold {
  readonly message: string;
  readonly action?: StaticPodAction;
}

/**
 * A manifest that is moved while the kubelet is down gives its containers one second when it comes back: to it they are
 * orphans (kubernetes pkg/kubelet/kubelet_pods.go, HandlePodCleanups). So the kubelet is waited for, as its restarts take
 * seconds; one that stays away cannot start them again either, and the runtime ends them with their whole grace period first.
 */
function holdForKubelet(pod: StaticPod, facts: StaticPodFacts): Hold | undefined {
  const { kubeletDownSince, live, now } = facts;
  if (kubeletDownSince === undefined || !mayRun(pod, facts)) return undefined;
  const sandboxId = live?.get(podKey(pod))?.[0];
  if (now < kubeletDownSince + KUBELET_WAIT_MS || sandboxId === undefined) {
    const what = live === undefined ? 'neither the kubelet nor the container runtime answers' : 'the kubelet is down';
    return { message: `${what}; waiting before the manifest ${pod.file} is moved` };
  }
  return {
    message: 'the kubelet is down; the container runtime ends the containers before the manifest is moved',
    action: { kind: 'stop', file: pod.file, sandboxId, graceSec: facts.graces?.get(pod.file) ?? pod.graceSec },
  };
}

/**
 * A manifest that cannot be moved stays, and its pod is ended over the runtime once the kubelet is out of the way, which
 * would start it again. Until then the move is tried again.
 */
function holdForDisk(pod: StaticPod, facts: StaticPodFacts): Hold | undefined {
  const stuck = facts.stuck?.get(pod.file);
  if (stuck === undefined || !stuck.isLasting || facts.kubeletStopped !== true) return undefined;
  const sandboxId = facts.live?.get(podKey(pod))?.[0];
  const message = `its manifest cannot be moved (${stuck.reason}); the container runtime ends it, with the kubelet stopped`;
  if (sandboxId === undefined) return { message };
  return {
    message,
    action: { kind: 'stop', file: pod.file, sandboxId, graceSec: facts.graces?.get(pod.file) ?? pod.graceSec },
  };
}

/** etcd and the API server leave after all other static pods that leave with them, whatever priorities they share. */
function holdForOthers(pod: StaticPod, facts: StaticPodFacts): Hold | undefined {
  const rank = leaveRank(pod.component);
  if (rank === 0) return undefined;
  const isBefore = (other: StaticPod): boolean => leaveRank(other.component) < rank;
  const before = [
    ...facts.inPlace.filter((other) => isBefore(other) && facts.targeted.has(podKey(other))),
    ...facts.parked.filter((other) => isBefore(other) && facts.keepParked(other) && !hasEnded(other, facts)),
  ];
  const [first] = before;
  if (first === undefined) return undefined;
  return { message: `${pod.component} leaves after the other static pods; waiting for ${podKey(first)}` };
}

/** Why a manifest that is in place is to be parked; undefined where it is not. */
function leaveOf(pod: StaticPod, facts: StaticPodFacts): Leave | undefined {
  const wanted = facts.leave.get(podKey(pod));
  if (wanted !== undefined) return wanted;
  const parked = facts.parked.find(({ file }) => file === pod.file);
  // Somebody wrote the file again while it is parked: the newest content is the one that stays parked.
  if (parked === undefined || !facts.keepParked(parked)) return undefined;
  return { maintenance: parked.maintenance, reason: 'written again' };
}

/** One look at the static pods: what to do, and how far each one is that leaves. */
export function decideStaticPods(facts: StaticPodFacts): StaticPodDecision {
  const actions: StaticPodAction[] = [];
  const progress: StaticPodProgress[] = [];
  const leaving = new Set<string>();
  for (const pod of facts.inPlace) {
    const leave = leaveOf(pod, facts);
    if (leave === undefined) continue;
    leaving.add(pod.file);
    const hold = holdForOthers(pod, facts) ?? holdForDisk(pod, facts) ?? holdForKubelet(pod, facts);
    if (hold === undefined) actions.push({ kind: 'park', file: pod.file, leave });
    const stuck = facts.stuck?.get(pod.file);
    const message = hold?.message ?? (stuck && `its manifest cannot be moved: ${stuck.reason}; it is tried again`);
    if (message === undefined) continue;
    if (hold?.action !== undefined) actions.push(hold.action);
    const expectedFinishAt = facts.now + pod.graceSec * 1000;
    progress.push({ key: podKey(pod), file: pod.file, state: 'terminating', expectedFinishAt, message });
  }
  for (const pod of facts.ended ?? []) {
    progress.push({ key: podKey(pod), file: pod.file, state: 'ended', expectedFinishAt: facts.now });
  }
  for (const pod of facts.parked) {
    if (leaving.has(pod.file)) continue;
    const action = decideParked(pod, facts);
    if (action !== undefined) actions.push(action);
    const ended = hasEnded(pod, facts);
    const expectedFinishAt = pod.parkedAt + (facts.graces?.get(pod.file) ?? pod.graceSec) * 1000;
    const entry = { key: podKey(pod), file: pod.file, expectedFinishAt };
    if (ended && action === undefined && !facts.keepParked(pod)) {
      progress.push({ ...entry, state: 'terminating', message: 'waiting for its mirror pod to go' });
    } else progress.push({ ...entry, state: ended ? 'ended' : 'terminating' });
  }
  return { actions, progress };
}
