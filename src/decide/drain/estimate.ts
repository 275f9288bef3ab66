import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { entryCovers } from '../maintenance/drain-plan.ts';
import { drainPodOf, endOf, graceSecOf } from '../pod.ts';
import { timeOf } from '../time.ts';

/** A guess that was wrong is moved by at least a second, and by ten minutes at most. */
const MIN_STEP_MS = 1_000;
const MAX_STEP_MS = 10 * 60_000;

/**
 * When a wait that began at `since` may be over, where nobody tells: after `ms`, and where that was too early, after twice as
 * long each time. Between two guesses the time stands still, so that a status with it is not written anew at each look.
 */
function guessedEnd(since: number, ms: number, now: number): number {
  let step = Math.max(ms, MIN_STEP_MS);
  let at = Math.min(since, now) + step;
  while (at <= now && step < MAX_STEP_MS) {
    at += step;
    step *= 2;
  }
  return at > now ? at : at + (Math.floor((now - at) / MAX_STEP_MS) + 1) * MAX_STEP_MS;
}

/** When the drain has begun, and the present; in milliseconds since the epoch. */
interface DrainTimes {
  readonly began: number;
  readonly now: number;
}

/** When a pod will be gone, as its interceptor or its deletion says; undefined where that has passed, or nobody says it. */
function toldEnd(pod: Pod, request: EvictionRequest | undefined, now: number): number | undefined {
  const [active] = request?.status?.activeInterceptors ?? [];
  const entry = request?.status?.interceptors?.find(({ name }) => name === active);
  const at = timeOf(entry?.expectedFinishTime) ?? endOf(pod)?.endsAt;
  return at !== undefined && at > now ? at : undefined;
}

/** Since when a pod of which nobody says when it will be gone is waited for. */
function waitedSince(pod: Pod, request: EvictionRequest | undefined, began: number): number {
  return endOf(pod)?.endsAt ?? Math.max(timeOf(request?.metadata.creationTimestamp) ?? began, began);
}

/** The pods that are left on a node, and their requests. */
interface PodsLeft {
  readonly evicting: readonly Pod[];
  readonly pending: readonly Pod[];
  readonly requestOf: (pod: Pod) => EvictionRequest | undefined;
}

/**
 * When a node is expected to be drained, in milliseconds since the epoch: the last of the pods that are leaving, then for
 * each later entry of the plan the longest grace period of its pods. Budgets and interceptors may make it later.
 */
export function estimateDrain(
  plan: readonly DrainPlanEntry[],
  { evicting, pending, requestOf }: PodsLeft,
  times: DrainTimes,
): number {
  const tiers = new Map<number, number>();
  for (const pod of pending) {
    const tier = plan.findIndex((entry) => entryCovers(entry, drainPodOf(pod)));
    tiers.set(tier, Math.max(tiers.get(tier) ?? 0, graceSecOf(pod) * 1000));
  }
  const later = [...tiers.values()].reduce((sum, ms) => sum + ms, 0);
  if (evicting.length === 0) return guessedEnd(times.began, later, times.now);
  const ends = evicting.map((pod) => toldEnd(pod, requestOf(pod), times.now));
  const untold = evicting.filter((_, index) => ends[index] === undefined);
  // One guess for all of them: each would move at another time.
  const since = Math.max(...untold.map((pod) => waitedSince(pod, requestOf(pod), times.began)));
  const graceMs = Math.max(...untold.map((pod) => graceSecOf(pod) * 1000));
  const guesses = untold.length === 0 ? [] : [guessedEnd(since, graceMs, times.now)];
  return Math.max(...ends.filter((end) => end !== undefined), ...guesses) + later;
}
