/** Pods that a drain asks to leave like all others, and does not wait for, because they would never be gone. */
import type { Node, Pod } from '../../api/pod.ts';
import { CARRIES_WAY, type DrainPod, drainPodOf, endOf, podName, podTypeOf, readyConditionOf } from '../pod.ts';
import { LONGEST_UNSEEN_MS } from '../shutdown/unseen-pods.ts';
import { timeOf } from '../time.ts';
import { isFromUrl, URL_PODS_LEFT } from '../static-pod/url-pods.ts';
import { carriersOn } from '../presence/presence.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { identityOf } from '../maintenance/recorded-node.ts';
import { CAME_TOO_LATE, comesTooLate, goesDownSince } from './returning-pod.ts';

/** A pod whose grace period is over has ended by then, or its kubelet cannot end it, or somebody's finalizer holds it. */
export const AFTER_END_MS = 7 * 60_000;
/** Why a machine goes down with such pods; their names follow. */
export const NOT_ENDED = 'pods whose grace period has been over for minutes, and that have not ended';

/** What is known of a node that may go down; times are in milliseconds since the epoch. */
export interface GoingDown {
  /** Undefined for one that stays up. */
  readonly since: number | undefined;
  readonly now: number;
  /** Since when its kubelet has been Ready; absent where that is not known. */
  readonly readySince?: number | 'not-ready' | undefined;
  /** The node, whose agent says which static pods carry its way to the API server; absent where nothing says it. */
  readonly node?: Node | undefined;
}

/** Since when the kubelet of the node has been Ready, in milliseconds since the epoch; undefined where nothing says it. */
export function readySinceOf(node: Pick<Node, 'status'> | undefined): GoingDown['readySince'] {
  const ready = readyConditionOf(node);
  return ready?.status === 'True' ? timeOf(ready.lastTransitionTime ?? undefined) : ready && 'not-ready';
}

/** What is known of the node for its drains; undefined where the API server has none of the name. */
export function goingOf(
  maintenances: readonly NodeMaintenance[],
  name: string,
  node: Node | undefined,
  now: number,
): GoingDown {
  const since = goesDownSince(maintenances, identityOf(node?.metadata ?? { name }), node);
  return { since, now, readySince: readySinceOf(node), node };
}

/**
 * Until when a machine that goes down waits for a pod whose grace period ends, or ended, then; in milliseconds since the epoch. A
 * kubelet that is not Ready, because its runtime or itself is away, ends none: where the agent has not ended it over the runtime
 * within the time that a silent runtime has, nobody does.
 */
export function waitedUntil(endsAt: number | undefined, { readySince }: Pick<GoingDown, 'readySince'>): number {
  return (endsAt ?? Infinity) + (readySince === 'not-ready' ? LONGEST_UNSEEN_MS : AFTER_END_MS);
}

/**
 * When the grace period of a pod ends on a node that goes down, in milliseconds since the epoch; undefined for one that was not
 * told to end. A kubelet that was away when the pod was told to end tells it when it is back, with its whole grace period; where
 * the kubelet is away, the agent does so over the container runtime, at the earliest when the node goes down.
 */
export function endsOnNode(pod: Pod, { since, readySince }: Omit<GoingDown, 'now'>): number | undefined {
  const end = endOf(pod);
  if (end === undefined) return undefined;
  const from = typeof readySince === 'number' ? readySince : since;
  return Math.max(end.toldAt, from ?? -Infinity) + end.endsAt - end.toldAt;
}

/** Whether the pod is a static one that carries its node's way to the API server. */
export function carries(pod: Pod, node: Node | undefined): boolean {
  return podTypeOf(pod) === 'Static' && carriersOn(node).includes(podName(pod.metadata));
}

/** Why a drain of the pod's node does not wait for it; undefined where it does. */
function whyNotWaitedFor(pod: Pod, going: GoingDown): string | undefined {
  const { since, now, node } = going;
  if (isFromUrl(pod)) return URL_PODS_LEFT;
  if (carries(pod, node)) return CARRIES_WAY;
  if (comesTooLate(pod, since)) return CAME_TOO_LATE;
  return since !== undefined && waitedUntil(endsOnNode(pod, going), going) <= now ? NOT_ENDED : undefined;
}

/** The pod for the rules of the drain of its node. */
export function drainPodOn(pod: Pod, going: GoingDown): DrainPod {
  const stays = whyNotWaitedFor(pod, going);
  return stays === undefined ? drainPodOf(pod) : { ...drainPodOf(pod), stays };
}

/** The pods that a drain waits for. */
export function waitedFor(pods: readonly DrainPod[]): readonly DrainPod[] {
  return pods.some(({ stays }) => stays !== undefined) ? pods.filter(({ stays }) => stays === undefined) : pods;
}

/** A pod or a volume that is left on a node. */
export interface Left {
  /** Of a pod NAMESPACE/NAME. */
  readonly what: string;
  /** Why nobody here can make it leave before the machine goes down; absent where it can leave, or is leaving. */
  readonly stays?: string;
}

/** The pod as it is left on its node. */
export function leftPod(pod: Pick<DrainPod, 'namespace' | 'name' | 'stays'>): Left {
  return { what: podName(pod), ...(pod.stays === undefined ? {} : { stays: pod.stays }) };
}

/** What stays and why, as a sentence without its end; undefined where nothing does. */
export function describeLeft(all: readonly Left[]): string | undefined {
  const byReason = Map.groupBy(
    all.filter(({ stays }) => stays !== undefined),
    ({ stays }) => stays ?? '',
  );
  const texts = [...byReason].map(
    ([why, own]) =>
      `${why}: ${own
        .map(({ what }) => what)
        .toSorted()
        .join(', ')}`,
  );
  return texts.length === 0 ? undefined : texts.join('; ');
}

/** The same of pods. */
export function describeStaying(pods: readonly DrainPod[]): string | undefined {
  return describeLeft(pods.map(leftPod));
}
