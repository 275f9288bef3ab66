/** What an EvictionRequest of `lifecycle.k8s.io` says, and when its target gets another Eviction. */
import {
  type Eviction,
  EVICTION_INVALID,
  type LifecycleRequest,
  NO_FURTHER_RESPONDER,
  type PodReference,
} from '../../../api/lifecycle.ts';
import type { Pod } from '../../../api/pod.ts';
import { wantsEviction } from '../../../decide/lifecycle/asked.ts';
import { failedAt, failureOf, isAnswered, isEvicted, isEvictionOver } from '../../../decide/lifecycle/conditions.ts';
import { byAge, relevantEviction } from '../../../decide/lifecycle/request.ts';
import { LONGEST_PAUSE_MS } from '../../../decide/lifecycle/missing-controllers.ts';
import { isInPodGroup } from '../../../decide/pod.ts';
import { timeOf } from '../../../decide/time.ts';
import { GROUP_MESSAGE } from './eviction.ts';
import { AWAITING, type End, outcomeOf, saidOf, withOutcome } from './outcome.ts';

/** What is known of the pod of the target's name. */
export interface TargetFacts {
  readonly target: PodReference;
  /** The pod of the name, which may have another UID. */
  readonly pod: Pod | undefined;
  readonly requests: readonly LifecycleRequest[];
  /** The Evictions of this very target. */
  readonly evictions: readonly Eviction[];
}

/** The pause after two failures in a row, which doubles with each further one. */
const FIRST_PAUSE_MS = 30_000;
/** So many Evictions of one target are kept that have failed. */
const KEPT_FAILURES = 10;
const MAX_NAME = 253;

/** The name of the Eviction of this number. Names are informative only: the target is in the spec. */
export function evictionName(number: number, podName: string): string {
  return `pod-${number}-${podName}`.slice(0, MAX_NAME).replace(/[-.]+$/, '');
}

/** Why nobody may evict the target of these requests; undefined where somebody may. */
function invalidEnd({ target, pod, evictions }: TargetFacts): End | undefined {
  const invalid = (message: string): End => ({ kind: 'failed', reason: EVICTION_INVALID, message });
  if (pod?.metadata.uid === target.uid) return isInPodGroup(pod) ? invalid(GROUP_MESSAGE) : undefined;
  if (evictions.length > 0) return undefined;
  if (pod === undefined) return invalid('Target pod not found.');
  return invalid(`Target pod UID mismatch: expected ${target.uid}, got ${pod.metadata.uid}.`);
}

/** The fields of the status of a request that change; undefined where none does. `now` is in milliseconds since the epoch. */
export function decideRequestStatus(
  request: LifecycleRequest,
  facts: TargetFacts | undefined,
  now: number,
): NonNullable<LifecycleRequest['status']> | undefined {
  const { generation = 1 } = request.metadata;
  const seen = request.status?.observedGeneration === generation ? {} : { observedGeneration: generation };
  const outcome = isAnswered(request) ? undefined : requestOutcome(facts);
  const conditions = outcome === undefined ? undefined : withOutcome(request, outcome, now);
  const status = { ...seen, ...(conditions === undefined ? {} : { conditions }) };
  return Object.keys(status).length === 0 ? undefined : status;
}

function requestOutcome(facts: TargetFacts | undefined): ReturnType<typeof outcomeOf> {
  if (facts === undefined) {
    return outcomeOf({ kind: 'failed', reason: EVICTION_INVALID, message: 'Unsupported target type.' });
  }
  const invalid = invalidEnd(facts);
  if (invalid !== undefined) return outcomeOf(invalid);
  const relevant = relevantEviction(facts.evictions);
  const said = relevant === undefined ? undefined : saidOf(relevant);
  return said ?? AWAITING;
}

/** Whether the request asks anew since a failure: a drain does not wait for what others have asked for in vain. */
function isNewWish(request: LifecycleRequest, since: number): boolean {
  const { generation = 1, creationTimestamp } = request.metadata;
  if (!wantsEviction(request) || isAnswered(request)) return false;
  return request.status?.observedGeneration !== generation || (timeOf(creationTimestamp) ?? 0) > since;
}

/**
 * How long the target has to wait for another Eviction after those that nobody could carry out, in milliseconds. The second one
 * begins at once, as an API server that ends pods slowly deserves it; the others after longer and longer pauses, unless somebody
 * asks anew.
 */
function pauseLeftMs({ requests, evictions }: TargetFacts, now: number): number {
  const failures = evictions.toSorted(byAge).filter((each) => failureOf(each) === NO_FURTHER_RESPONDER);
  const last = failures.at(-1);
  if (last === undefined || failures.length < 2) return 0;
  const at = failedAt(last) ?? 0;
  if (requests.some((request) => isNewWish(request, at))) return 0;
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures.length - 2), LONGEST_PAUSE_MS);
  return Math.min(pauseMs, at + pauseMs - now);
}

/** Whether the target gets another Eviction: at once, in so many milliseconds, or not. */
type NewEviction =
  | { readonly kind: 'none' }
  | { readonly kind: 'create' }
  | { readonly kind: 'wait'; readonly ms: number };

/** Decides whether the target needs another Eviction now; `now` is in milliseconds since the epoch. */
export function decideNewEviction(facts: TargetFacts, now: number): NewEviction {
  const { requests, evictions, pod, target } = facts;
  const isWanted = requests.some((request) => wantsEviction(request) && !isAnswered(request));
  const isUnderWay = evictions.some((each) => isEvicted(each) || !isEvictionOver(each));
  if (!isWanted || isUnderWay || invalidEnd(facts) !== undefined) return { kind: 'none' };
  const isThere = pod?.metadata.uid === target.uid;
  const ms = isThere ? pauseLeftMs(facts, now) : 0;
  return ms > 0 ? { kind: 'wait', ms } : { kind: 'create' };
}

/** The oldest of the failed Evictions that are more than enough: each attempt leaves one. */
export function superfluous(evictions: readonly Eviction[]): readonly Eviction[] {
  const failures = evictions.toSorted(byAge).filter((each) => failureOf(each) !== undefined);
  return failures.slice(0, Math.max(0, failures.length - KEPT_FAILURES));
}
