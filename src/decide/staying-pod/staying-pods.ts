/** Pods that a drain asks to leave like all others, and does not wait for, because they would never be gone. */
import type { Pod } from '../../api/pod.ts';
import { type DrainPod, drainPodOf } from '../pod.ts';
import { isFromUrl, URL_PODS_LEFT } from '../static-pod/url-pods.ts';
import { CAME_TOO_LATE, comesTooLate } from './returning-pod.ts';

/** Why a drain of the pod's node does not wait for it; undefined where it does. `since` is when the machine began to go down. */
function whyNotWaitedFor(pod: Pod, since: number | undefined): string | undefined {
  if (isFromUrl(pod)) return URL_PODS_LEFT;
  return comesTooLate(pod, since) ? CAME_TOO_LATE : undefined;
}

/** The pod for the rules of the drain of a node that goes down since then; undefined for a node that stays up. */
export function drainPodOn(pod: Pod, since: number | undefined): DrainPod {
  const stays = whyNotWaitedFor(pod, since);
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
