/**
 * Decides what the agent does with the manifests of its static pods: park them when the pods must leave, check that the
 * pods have ended, keep the manifests parked, restore them. A manifest is always in at least one directory.
 */
import { type ControlPlaneComponent, leaveRank } from './control-plane-pod.ts';
import type { MemberHold } from './control-plane-waits.ts';
import { LONGEST_UNSEEN_MS } from '../shutdown/unseen-pods.ts';

/** A manifest, in place or parked. */
export interface StaticPod {
  readonly file: string;
  readonly namespace: string;
  /** Ends with the node's name, as in the API server and the container runtime. */
  readonly podName: string;
  readonly graceSec: number;
  readonly component?: ControlPlaneComponent;
}

/** A manifest that was moved out of the static pod directory. */
export interface ParkedPod extends StaticPod {
  /** The maintenance for which it was parked; empty if that is not known any more. */
  readonly maintenance: string;
  /** Milliseconds since the epoch. */
  readonly parkedAt: number;
  /** Whether it was parked since the last boot: containers do not survive a boot. */
  readonly thisBoot: boolean;
}

/** Why a static pod must leave. */
export interface Leave {
  readonly maintenance: string;
  readonly reason: string;
}

/** What the agent observes at one moment. */
export interface StaticPodFacts {
  readonly now: number;
  readonly inPlace: readonly StaticPod[];
  /** Pods that were stopped although their manifests are in place. */
  readonly ended?: readonly StaticPod[];
  readonly parked: readonly ParkedPod[];
  /** Running sandboxes by pod key; undefined if the container runtime does not answer or was not asked. */
  readonly live: ReadonlyMap<string, readonly string[]> | undefined;
  /** Pods that must leave now, by pod key: they are targeted, and this agent is their active interceptor. */
  readonly leave: ReadonlyMap<string, Leave>;
  /** Keys of targeted pods, whichever interceptor is active. */
  readonly targeted: ReadonlySet<string>;
  /** Since when the kubelet has not answered, in milliseconds since the epoch; absent while it answers. */
  readonly kubeletDownSince?: number;
  /** Keys of the mirror pods that the API server has; undefined if that is not known. */
  readonly mirrors: ReadonlySet<string> | undefined;
  /** Since when each parked manifest may be restored, by file, in milliseconds since the epoch. */
  readonly freeSince: ReadonlyMap<string, number>;
  /** Grace periods in seconds that a deadline has shortened, by file. */
  readonly graces?: ReadonlyMap<string, number>;
  /** Manifests in place whose move has failed, by file; absent if there are none. */
  readonly stuck?: ReadonlyMap<string, StuckManifest>;
  /** Whether the agent itself has stopped the kubelet for the drain. */
  readonly kubeletStopped?: boolean;
  /** Why programs of the control plane neither leave nor come back yet, by file; absent where none waits. */
  readonly holds?: ReadonlyMap<string, MemberHold>;
  /** Whether a parked manifest stays parked. */
  readonly keepParked: (pod: ParkedPod) => boolean;
}

/** A manifest that cannot be moved because of the disk. */
interface StuckManifest {
  /** The error of the disk. */
  readonly reason: string;
  /** Whether the error has lasted so long that a shutdown stops the pod without moving its manifest. */
  readonly isLasting: boolean;
}

export type StaticPodAction =
  | { readonly kind: 'park'; readonly file: string; readonly leave: Leave }
  | { readonly kind: 'stop'; readonly file: string; readonly sandboxId: string; readonly graceSec: number }
  | { readonly kind: 'restore'; readonly file: string };

/** The progress of one static pod that leaves, for its EvictionRequest, the status and the next entry of the drain plan. */
export interface StaticPodProgress {
  /** What it waits for, if that is neither its containers nor the kubelet. */
  readonly wait?: MemberHold['wait'] | 'other-pods' | 'unseen-pods';
  readonly key: string;
  readonly file: string;
  readonly state: 'terminating' | 'ended';
  /** When it should have ended, in milliseconds since the epoch. */
  readonly expectedFinishAt: number;
  /** What it waits for, if that is not the end of its containers. */
  readonly message?: string;
}

export interface StaticPodDecision {
  readonly actions: readonly StaticPodAction[];
  readonly progress: readonly StaticPodProgress[];
}

/**
 * A pod whose containers still run this long after its grace period is stopped over the container runtime; a parked manifest
 * waits at most this long for its mirror pod. The kubelet reads its directory at least every 20 s.
 */
const KUBELET_TIME_MS = 40_000;
/** After this time without the kubelet the container runtime stops the pods; a restart of the kubelet takes seconds. */
export const KUBELET_WAIT_MS = 30_000;

/** Time given to the kubelet to notice a removed manifest before the containers are stopped over the container runtime too. */
const HEAD_START_MS = 400;

/** The key of a pod: NAMESPACE/NAME. */
export function podKey(pod: { readonly namespace: string; readonly podName: string }): string {
  return `${pod.namespace}/${pod.podName}`;
}

/** Whether containers of the pod may run. They may if the container runtime does not answer. */
function mayRun(pod: StaticPod, { live }: StaticPodFacts): boolean {
  return live === undefined || (live.get(podKey(pod)) ?? []).length > 0;
}

function hasEnded(pod: ParkedPod, facts: StaticPodFacts): boolean {
  return !pod.thisBoot || !mayRun(pod, facts);
}

function decideFree(pod: ParkedPod, facts: StaticPodFacts): StaticPodAction | undefined {
  const freeSince = facts.freeSince.get(pod.file) ?? facts.now;
  // The kubelet would take the old containers for the new pod's: they must have ended, or had the time to where nobody sees them.
  const unseenUntil = Math.max(freeSince, pod.parkedAt + pod.graceSec * 1000) + LONGEST_UNSEEN_MS;
  const isGone = hasEnded(pod, facts) || (facts.live === undefined && facts.now >= unseenUntil);
  if (!isGone || facts.holds?.has(pod.file) === true) return undefined;
  // The mirror pod is removed last. If it stays, as that of a dead kubelet does, the manifest is restored all the same.
  const waitsForMirror = pod.thisBoot && facts.mirrors?.has(podKey(pod)) === true;
  return waitsForMirror && facts.now < freeSince + KUBELET_TIME_MS ? undefined : { kind: 'restore', file: pod.file };
}

function decideParked(pod: ParkedPod, facts: StaticPodFacts): StaticPodAction | undefined {
  if (!facts.keepParked(pod)) return decideFree(pod, facts);
  const graceSec = facts.graces?.get(pod.file) ?? pod.graceSec;
  const sandbox = pod.thisBoot ? facts.live?.get(podKey(pod))?.[0] : undefined;
  // The kubelet always gives a static pod its full grace period: only the container runtime can stop it earlier.
  if (graceSec < pod.graceSec && sandbox !== undefined && facts.now >= pod.parkedAt + HEAD_START_MS) {
    const left = Math.ceil((pod.parkedAt + graceSec * 1000 - facts.now) / 1000);
    return { kind: 'stop', file: pod.file, sandboxId: sandbox, graceSec: Math.max(1, left) };
  }
  // A kubelet that was restarted without an API server ignores removed manifests, so the runtime stops the pod.
  if (sandbox === undefined || facts.now <= pod.parkedAt + pod.graceSec * 1000 + KUBELET_TIME_MS) return undefined;
  return { kind: 'stop', file: pod.file, sandboxId: sandbox, graceSec: pod.graceSec };
}

/** Why a pod that must leave cannot be parked yet: for people, and with the action that is needed first. */
type ParkDelay = Pick<StaticPodProgress, 'wait'> & { readonly message: string; readonly action?: StaticPodAction };

/**
 * If a manifest is moved while the kubelet is down, the kubelet takes the containers for orphans when it comes back, and
 * gives them one second (kubernetes pkg/kubelet/kubelet_pods.go, HandlePodCleanups). So the agent waits for the kubelet,
 * whose restarts take seconds. A kubelet that stays away cannot restart containers either; then the container runtime stops
 * them with their full grace period before the manifest is moved.
 */
function delayForKubelet(pod: StaticPod, facts: StaticPodFacts): ParkDelay | undefined {
  const { kubeletDownSince, live, now } = facts;
  if (kubeletDownSince === undefined || !mayRun(pod, facts)) return undefined;
  const sandboxId = live?.get(podKey(pod))?.[0];
  if (now < kubeletDownSince + KUBELET_WAIT_MS || sandboxId === undefined) {
    const what = live === undefined ? 'neither the kubelet nor the container runtime answers' : 'the kubelet is down';
    const wait = live === undefined ? ({ wait: 'unseen-pods' } as const) : {};
    return { ...wait, message: `${what}; waiting before the manifest ${pod.file} is moved` };
  }
  return {
    message: 'the kubelet is down; the container runtime ends the containers before the manifest is moved',
    action: { kind: 'stop', file: pod.file, sandboxId, graceSec: facts.graces?.get(pod.file) ?? pod.graceSec },
  };
}

/**
 * A manifest that cannot be moved stays in place. Its pod is stopped over the container runtime once the kubelet is stopped,
 * which would restart it. Until then the move is tried again.
 */
function delayForDisk(pod: StaticPod, facts: StaticPodFacts): ParkDelay | undefined {
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

/** Proxies, the API server and etcd leave after all other static pods that leave, even if their priorities are equal. */
function delayForOthers(pod: StaticPod, facts: StaticPodFacts): ParkDelay | undefined {
  const rank = leaveRank(pod.component);
  if (rank === 0) return facts.holds?.get(pod.file);
  const isBefore = (other: StaticPod): boolean => leaveRank(other.component) < rank;
  const before = [
    ...facts.inPlace.filter((other) => isBefore(other) && facts.targeted.has(podKey(other))),
    ...facts.parked.filter((other) => isBefore(other) && facts.keepParked(other) && !hasEnded(other, facts)),
  ];
  const [first] = before;
  if (first === undefined) return facts.holds?.get(pod.file);
  return {
    wait: 'other-pods',
    message: `${pod.component} leaves after the other static pods; waiting for ${podKey(first)}`,
  };
}

/** Why a manifest in place must be parked; undefined if it stays. */
function leaveOf(pod: StaticPod, facts: StaticPodFacts): Leave | undefined {
  const wanted = facts.leave.get(podKey(pod));
  if (wanted !== undefined) return wanted;
  const parked = facts.parked.find(({ file }) => file === pod.file);
  // Another program has written a new file while the old one is parked: the newest content must be the parked one.
  if (parked === undefined || !facts.keepParked(parked)) return undefined;
  return { maintenance: parked.maintenance, reason: 'written again' };
}

/** Decides what to do with the static pods now, and how far each one that leaves has come. */
export function decideStaticPods(facts: StaticPodFacts): StaticPodDecision {
  const leaving = facts.inPlace.flatMap((pod) => {
    const leave = leaveOf(pod, facts);
    return leave === undefined ? [] : [{ file: pod.file, ...decideInPlace(pod, leave, facts) }];
  });
  const ended = (facts.ended ?? []).map(
    (pod): StaticPodProgress => ({ ...idOf(pod), state: 'ended', expectedFinishAt: facts.now }),
  );
  const written = new Set(leaving.map(({ file }) => file));
  const parked = facts.parked
    .filter(({ file }) => !written.has(file))
    .map((pod) => ({ pod, action: decideParked(pod, facts) }));
  return {
    actions: [...leaving.flatMap(({ actions }) => actions), ...parked.flatMap(({ action }) => action ?? [])],
    progress: [
      ...leaving.flatMap(({ progress }) => progress ?? []),
      ...ended,
      ...parked.map(({ pod, action }) => progressOfParked(pod, action, facts)),
    ],
  };
}

function idOf(pod: StaticPod): { readonly key: string; readonly file: string } {
  return { key: podKey(pod), file: pod.file };
}

/** A pod whose manifest is in place and must leave: it is parked now, or the reason for the delay is reported. */
function decideInPlace(
  pod: StaticPod,
  leave: Leave,
  facts: StaticPodFacts,
): { readonly actions: readonly StaticPodAction[]; readonly progress?: StaticPodProgress } {
  const delay = delayForOthers(pod, facts) ?? delayForDisk(pod, facts) ?? delayForKubelet(pod, facts);
  const stuck = facts.stuck?.get(pod.file);
  const message = delay?.message ?? (stuck && `its manifest cannot be moved: ${stuck.reason}; it is tried again`);
  const park: StaticPodAction = { kind: 'park', file: pod.file, leave };
  const actions = delay === undefined ? [park] : [delay.action ?? []].flat();
  if (message === undefined) return { actions };
  const expectedFinishAt = facts.now + pod.graceSec * 1000;
  const wait = delay?.wait && { wait: delay.wait };
  return { actions, progress: { ...idOf(pod), state: 'terminating', expectedFinishAt, message, ...wait } };
}

function progressOfParked(
  pod: ParkedPod,
  action: StaticPodAction | undefined,
  facts: StaticPodFacts,
): StaticPodProgress {
  const ended = hasEnded(pod, facts);
  const expectedFinishAt = pod.parkedAt + (facts.graces?.get(pod.file) ?? pod.graceSec) * 1000;
  const entry = { ...idOf(pod), expectedFinishAt };
  if (ended && action === undefined && !facts.keepParked(pod)) {
    const hold = facts.holds?.get(pod.file) ?? { message: 'waiting for its mirror pod to go' };
    return { ...entry, state: 'terminating', ...hold };
  }
  return { ...entry, state: ended ? 'ended' : 'terminating' };
}
