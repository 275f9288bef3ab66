/**
 * How a pod leaves the endpoints of its Services before it is told to end. A pod that opts in has a label that its Services
 * select. The controller changes the value of that label, so that no Service selects the pod any more, and lets some time
 * pass in which all load balancers learn of that, while the pod goes on to answer.
 */
import { TRAFFIC_DRAIN_ANNOTATION, TRAFFIC_LABEL, TRAFFIC_LEFT_ANNOTATION } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { DURATION_HINT, parseDuration } from '../duration.ts';
import { isReady } from '../pod.ts';
import { timeOf } from '../time.ts';

/** The value of the label that Services select. */
export const SERVES = 'serve';
/** The value that we put in its place. */
export const LEAVES = 'drain';
/** A pod cannot hold its own eviction up for longer; in milliseconds. */
const MAX_DRAIN_MS = 10 * 60_000;

/** What is to be done before the pod may be told to end. */
export type TrafficStep =
  | { readonly kind: 'none' }
  /** Its label is changed, and then the time is waited for. */
  | { readonly kind: 'leave'; readonly drainMs: number }
  /** It has left; until `until`, in milliseconds since the epoch, it may still get requests. */
  | { readonly kind: 'wait'; readonly until: number };

/** For how many milliseconds the pod is to go on after it has left its Services; undefined where it does not opt in. */
function drainMsOf({ metadata }: Pod): number | undefined {
  const ms = parseDuration(metadata.annotations?.[TRAFFIC_DRAIN_ANNOTATION] ?? '');
  return ms === undefined || ms === 0 ? undefined : Math.min(ms, MAX_DRAIN_MS);
}

/** Whether we have taken the pod out of its Services. */
export function isOutOfService({ metadata }: Pod): boolean {
  return metadata.labels?.[TRAFFIC_LABEL] === LEAVES && metadata.annotations?.[TRAFFIC_LEFT_ANNOTATION] !== undefined;
}

/** Why the wish of a pod has no effect, as a sentence; undefined where it has one, or where the pod has none. */
export function ignoredTrafficDrain(pod: Pod): string | undefined {
  const wish = pod.metadata.annotations?.[TRAFFIC_DRAIN_ANNOTATION];
  if (wish === undefined) return undefined;
  if (parseDuration(wish) === undefined) {
    return `The annotation ${TRAFFIC_DRAIN_ANNOTATION} has no valid duration: ${DURATION_HINT}.`;
  }
  const value = pod.metadata.labels?.[TRAFFIC_LABEL];
  if (value === SERVES || value === LEAVES) return undefined;
  return `The annotation ${TRAFFIC_DRAIN_ANNOTATION} has no effect without the label ${TRAFFIC_LABEL}=${SERVES}, which the Services of the pod have to select.`;
}

/**
 * Since when a pod that we have taken out of its Services is out of them, in milliseconds since the epoch, as the pod itself
 * says; undefined for another one. A time of a clock that is ahead counts from `now`, so that it must be remembered.
 */
export function leftAtOf(pod: Pod, now: number): number | undefined {
  if (!isOutOfService(pod)) return undefined;
  return Math.min(timeOf(pod.metadata.annotations?.[TRAFFIC_LEFT_ANNOTATION]) ?? now, now);
}

/** When a pod left its Services, and until when its end can be put off, in milliseconds since the epoch. */
export interface TrafficTimes {
  /** Undefined for a pod that has not left. */
  readonly leftAt: number | undefined;
  /** Undefined where no deadline presses. */
  readonly trustUntil: number | undefined;
}

/** The next step for a pod that is to be told to end `now`, in milliseconds since the epoch. */
export function decideTraffic(pod: Pod, { leftAt, trustUntil = Infinity }: TrafficTimes, now: number): TrafficStep {
  const drainMs = drainMsOf(pod);
  if (drainMs === undefined || now >= trustUntil) return { kind: 'none' };
  if (leftAt !== undefined) {
    const until = Math.min(leftAt + drainMs, trustUntil);
    return now >= until ? { kind: 'none' } : { kind: 'wait', until };
  }
  // A pod that is not ready has no requests that could be lost.
  return pod.metadata.labels?.[TRAFFIC_LABEL] === SERVES && isReady(pod)
    ? { kind: 'leave', drainMs }
    : { kind: 'none' };
}

/**
 * Until when a pod that a controller has taken out of its Services may still get requests, in milliseconds since the epoch, for
 * an agent that goes on with its eviction; undefined where it may be told to end. A time that is to come is not believed.
 */
export function drainsUntil(pod: Pod, trustUntil: number | undefined, now: number): number | undefined {
  const leftAt = timeOf(pod.metadata.annotations?.[TRAFFIC_LEFT_ANNOTATION]);
  if (!isOutOfService(pod) || leftAt === undefined || leftAt > now) return undefined;
  const step = decideTraffic(pod, { leftAt, trustUntil }, now);
  return step.kind === 'wait' ? step.until : undefined;
}
