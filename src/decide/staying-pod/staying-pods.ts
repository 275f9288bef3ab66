/** Pods that a drain asks to leave like all others, and does not wait for, because they would never be gone. */
import type { Pod } from '../../api/pod.ts';
import { type DrainPod, drainPodOf, endOf } from '../pod.ts';
import { isFromUrl, URL_PODS_LEFT } from '../static-pod/url-pods.ts';
import { CAME_TOO_LATE, comesTooLate } from './returning-pod.ts';

/** A pod whose grace period is over has ended by then, or its kubelet cannot end it, or somebody's finalizer holds it. */
export const AFTER_END_MS = 7 * 60_000;
/** Why a machine goes down with such pods; their names follow. */
export const NOT_ENDED = 'pods whose grace period has been over for 7 minutes, and that have not ended';

/** Until when a machine that goes down waits for a pod whose grace period ends, or ended, then; in milliseconds since the epoch. */
export function waitedUntil(endsAt: number | undefined): number {
  return (endsAt ?? Infinity) + AFTER_END_MS;
}

/** Since when a node goes down, undefined for one that stays up, and the present time, in milliseconds since the epoch. */
export interface GoingDown {
  readonly since: number | undefined;
  readonly now: number;
}

/** Why a drain of the pod's node does not wait for it; undefined where it does. */
function whyNotWaitedFor(pod: Pod, { since, now }: GoingDown): string | undefined {
  if (isFromUrl(pod)) return URL_PODS_LEFT;
  if (comesTooLate(pod, since)) return CAME_TOO_LATE;
  return since !== undefined && waitedUntil(endOf(pod)?.endsAt) <= now ? NOT_ENDED : undefined;
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

/** What stays of the pods and why, as a sentence without its end; undefined where nothing does. */
export function describeStaying(pods: readonly DrainPod[]): string | undefined {
  const byReason = Map.groupBy(
    pods.filter(({ stays }) => stays !== undefined),
    ({ stays }) => stays ?? '',
  );
  if (byReason.size === 0) return undefined;
  return [...byReason]
    .map(
      ([why, own]) =>
        `${why}: ${own
          .map(({ namespace, name }) => `${namespace}/${name}`)
          .toSorted()
          .join(', ')}`,
    )
    .join('; ');
}
