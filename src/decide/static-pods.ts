/**
 * What the node agent does with the manifests of its static pods: park them when their pods are to leave, prove that
 * the pods ended, keep them parked, give them back. Never lets a manifest be in no place.
 */

/** A manifest, wherever it lies. */
export interface StaticPod {
  readonly file: string;
  readonly namespace: string;
  /** With the node's name at the end, as the API server and the runtime have it. */
  readonly podName: string;
  readonly graceSec: number;
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
  readonly parked: readonly ParkedPod[];
  /** Sandboxes with life in them, by pod key; undefined while the container runtime does not answer. */
  readonly live: ReadonlyMap<string, readonly string[]> | undefined;
  /** Pods that are to leave now: targeted, and with this agent as their active interceptor. */
  readonly leave: ReadonlyMap<string, Leave>;
  /** Grace periods in seconds that a deadline made shorter, by file. */
  readonly graces?: ReadonlyMap<string, number>;
  /** Whether parked manifests stay where they are. */
  readonly keepParked: (pod: ParkedPod) => boolean;
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
}

export interface StaticPodDecision {
  readonly actions: readonly StaticPodAction[];
  readonly progress: readonly StaticPodProgress[];
}

/** The kubelet looks at its directory at least every 20 s; twice that and the grace period is its time to act. */
const KUBELET_TIME_MS = 40_000;

/** The kubelet has so long to see that a manifest is gone, before the runtime is asked beside it. */
const HEAD_START_MS = 400;

/** The key of a pod: NAMESPACE/NAME. */
export function podKey(pod: { readonly namespace: string; readonly podName: string }): string {
  return `${pod.namespace}/${pod.podName}`;
}

function decideParked(pod: ParkedPod, facts: StaticPodFacts): StaticPodAction | undefined {
  const sandboxes = pod.thisBoot ? facts.live?.get(podKey(pod)) : undefined;
  const alive = pod.thisBoot && (facts.live === undefined || (sandboxes ?? []).length > 0);
  if (!facts.keepParked(pod)) {
    // A manifest goes back only when its old containers are gone: the kubelet mixes up the two otherwise.
    return alive ? undefined : { kind: 'restore', file: pod.file };
  }
  const graceSec = facts.graces?.get(pod.file) ?? pod.graceSec;
  const [sandbox] = sandboxes ?? [];
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

/** One look at the static pods: what to do, and how far each parked one is. */
export function decideStaticPods(facts: StaticPodFacts): StaticPodDecision {
  const parkedByFile = new Map(facts.parked.map((pod) => [pod.file, pod]));
  const actions: StaticPodAction[] = [];
  for (const pod of facts.inPlace) {
    const wanted = facts.leave.get(podKey(pod));
    const parked = parkedByFile.get(pod.file);
    // Somebody wrote the file again while it is parked: the newest content is the one that stays parked.
    const again = parked !== undefined && facts.keepParked(parked) ? parked.maintenance : undefined;
    if (wanted !== undefined) actions.push({ kind: 'park', file: pod.file, leave: wanted });
    else if (again !== undefined) {
      actions.push({ kind: 'park', file: pod.file, leave: { maintenance: again, reason: 'written again' } });
    }
  }
  const parkedNow = new Set(actions.map(({ file }) => file));
  const progress: StaticPodProgress[] = [];
  for (const pod of facts.parked) {
    if (parkedNow.has(pod.file)) continue;
    const action = decideParked(pod, facts);
    if (action !== undefined) actions.push(action);
    const key = podKey(pod);
    const ended = !pod.thisBoot || (facts.live !== undefined && (facts.live.get(key) ?? []).length === 0);
    const expectedFinishAt = pod.parkedAt + (facts.graces?.get(pod.file) ?? pod.graceSec) * 1000;
    progress.push({ key, file: pod.file, state: ended ? 'ended' : 'terminating', expectedFinishAt });
  }
  return { actions, progress };
}
