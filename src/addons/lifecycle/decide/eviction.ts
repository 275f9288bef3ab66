/** One step of an Eviction: which responder is active, and its end. Every status follows the rules that the API server checks. */
import { HEARTBEAT_DEADLINE_MS } from '../../../api/eviction-request.ts';
import {
  type Eviction,
  EVICTION_INVALID,
  type EvictionStatus,
  type LifecycleRequest,
  NO_FURTHER_RESPONDER,
  NO_INTENT,
  type ResponderState,
  type ResponderStatus,
  type TargetResponder,
} from '../../../api/lifecycle.ts';
import type { Pod } from '../../../api/pod.ts';
import { wantsEviction } from '../../../decide/lifecycle/asked.ts';
import { isEvictionOver } from '../../../decide/lifecycle/conditions.ts';
import { compareResponders, respondersOf } from '../../../decide/lifecycle/responders.ts';
import { isInPodGroup, isTerminal } from '../../../decide/pod.ts';
import { rfc3339, timeOf } from '../../../decide/time.ts';
import { AWAITING, type End, type Outcome, outcomeOf, withOutcome } from './outcome.ts';
import { requestersOf } from './requesters.ts';

/** What is known when an Eviction is judged. */
export interface EvictionFacts {
  readonly eviction: Eviction;
  /** The requests of the same target. */
  readonly requests: readonly LifecycleRequest[];
  /** The target; undefined where it is gone. */
  readonly pod: Pod | undefined;
  /** Whether an older Eviction of the same target is not over. */
  readonly isSecond: boolean;
  /** For how many milliseconds the target is known to be gone, or to have ended. */
  readonly endedMs?: number;
}

/** What is to be written, if anything, and when to judge again. */
interface EvictionStep {
  /** The fields of the status that change. */
  readonly status?: EvictionStatus;
  /** In milliseconds. */
  readonly againMs?: number;
}

/** A responder may report within this time after the end of the pod that it has completed. */
const COMPLETION_DELAY_MS = 5_000;

const UNSUPPORTED_TARGET = 'Unsupported target type.';
export const GROUP_MESSAGE = 'Target pod references a SchedulingGroup. Eviction is currently not supported.';
const SECOND_MESSAGE = 'Active Eviction already exists for the same target.';
const NO_INTENT_MESSAGE = 'No active requesters with eviction intent.';
const NO_RESPONDER_MESSAGE = 'All responders have completed without evicting the target.';
const NOBODY_MESSAGE = 'The target pod has no responder: mirror and DaemonSet pods do not end by the Eviction API.';

function failed(reason: string, message: string): End {
  return { kind: 'failed', reason, message };
}

/** Why nobody may evict this target. */
function invalidEnd({ eviction, pod, isSecond }: EvictionFacts): End | undefined {
  if (eviction.spec.target.pod === undefined) return failed(EVICTION_INVALID, UNSUPPORTED_TARGET);
  if (isSecond) return failed(EVICTION_INVALID, SECOND_MESSAGE);
  return pod !== undefined && isInPodGroup(pod) ? failed(EVICTION_INVALID, GROUP_MESSAGE) : undefined;
}

/** The active responder, and what it says. */
interface ActiveResponder {
  readonly active: TargetResponder;
  readonly entry: ResponderStatus | undefined;
}

function activeResponderOf({ status }: Eviction): ActiveResponder | undefined {
  const active = status?.targetResponders?.find(({ state }) => state === 'Active');
  return active && { active, entry: status?.responders?.find(({ name }) => name === active.name) };
}

/** The list with another state for one responder. */
function withState({ status }: Eviction, name: string, state: ResponderState): readonly TargetResponder[] {
  return (status?.targetResponders ?? []).map((each) => (each.name === name ? { ...each, state } : each));
}

function withStart(responders: readonly ResponderStatus[], name: string, now: number): readonly ResponderStatus[] {
  return responders.map((each) => (each.name === name ? { ...each, startTime: rfc3339(now) } : each));
}

type Lists = Pick<EvictionStatus, 'targetResponders' | 'responders'>;

/** Adds the conditions, the requesters and the generation to what changes in the lists. */
function complete({ eviction, requests }: EvictionFacts, lists: Lists, outcome: Outcome, now: number): EvictionStatus {
  const requesters = requestersOf(eviction, requests);
  const conditions = withOutcome(eviction, outcome, now);
  const { generation = 1 } = eviction.metadata;
  const isSame = JSON.stringify(requesters) === JSON.stringify(eviction.status?.requesters ?? []);
  return {
    ...lists,
    ...(isSame ? {} : { requesters }),
    ...(conditions === undefined ? {} : { conditions }),
    ...(eviction.status?.observedGeneration === generation ? {} : { observedGeneration: generation }),
  };
}

function stepOf(status: EvictionStatus, againMs?: number): EvictionStep {
  return {
    ...(Object.keys(status).length === 0 ? {} : { status }),
    ...(againMs === undefined ? {} : { againMs: Math.max(0, againMs) }),
  };
}

/** The end: the active responder leaves that state in the same write, as the API server wants it. */
function finish(facts: EvictionFacts, end: End, now: number): EvictionStep {
  const responding = activeResponderOf(facts.eviction);
  const unfinished = end.kind === 'evicted' ? 'Interrupted' : 'Canceled';
  const state = responding?.entry?.completionTime === undefined ? unfinished : 'Completed';
  const lists =
    responding === undefined ? {} : { targetResponders: withState(facts.eviction, responding.active.name, state) };
  return stepOf(complete(facts, lists, outcomeOf(end), now));
}

/** Names the responders, and makes the first one active: both lists begin in one write. */
function start(facts: EvictionFacts, pod: Pod, now: number): EvictionStep {
  const named = respondersOf(pod);
  const [first] = named;
  if (first === undefined) return finish(facts, failed(NO_FURTHER_RESPONDER, NOBODY_MESSAGE), now);
  const targetResponders = named.map((each, index): TargetResponder => {
    return { ...each, state: index === 0 ? 'Active' : 'Inactive' };
  });
  const responders = withStart(
    named.map(({ name }) => ({ name })),
    first.name,
    now,
  );
  return stepOf(complete(facts, { targetResponders, responders }, AWAITING, now), HEARTBEAT_DEADLINE_MS);
}

/** Replaces an active responder that has completed or was silent by the next one, in one write. */
function rotate(facts: EvictionFacts, { active, entry }: ActiveResponder, now: number): EvictionStep {
  const { eviction } = facts;
  const order = (eviction.status?.targetResponders ?? []).toSorted(compareResponders);
  const index = order.findIndex(({ name }) => name === active.name);
  const isCompleted = entry?.completionTime !== undefined;
  const heardAt = timeOf(entry?.heartbeatTime) ?? timeOf(entry?.startTime) ?? now;
  const leftMs = heardAt + HEARTBEAT_DEADLINE_MS - now;
  if (!isCompleted && leftMs > 0) {
    return stepOf(complete(facts, {}, AWAITING, now), leftMs);
  }
  const targetResponders = withState(eviction, active.name, isCompleted ? 'Completed' : 'Interrupted');
  const next = order[index + 1];
  if (next === undefined) {
    const outcome = outcomeOf(failed(NO_FURTHER_RESPONDER, NO_RESPONDER_MESSAGE));
    return stepOf(complete(facts, { targetResponders }, outcome, now));
  }
  const lists: Lists = {
    targetResponders: targetResponders.map((each) => (each.name === next.name ? { ...each, state: 'Active' } : each)),
    responders: withStart(eviction.status?.responders ?? [], next.name, now),
  };
  return stepOf(complete(facts, lists, AWAITING, now), HEARTBEAT_DEADLINE_MS);
}

/**
 * One step of an Eviction (KEP-4563, "Eviction Request Controller", as released in Kubernetes 1.37). `now` is in milliseconds
 * since the epoch by the API server's clock.
 */
export function decideEviction(facts: EvictionFacts, now: number): EvictionStep {
  const { eviction, pod, endedMs = 0 } = facts;
  if (isEvictionOver(eviction)) return {};
  const invalid = invalidEnd(facts);
  if (invalid !== undefined) return finish(facts, invalid, now);
  const responding = activeResponderOf(eviction);
  if (pod === undefined || isTerminal(pod)) {
    const isAwaited = responding !== undefined && responding.entry?.completionTime === undefined;
    if (isAwaited && endedMs < COMPLETION_DELAY_MS) return stepOf({}, COMPLETION_DELAY_MS - endedMs);
    return finish(facts, { kind: 'evicted', reason: pod === undefined ? 'PodDeleted' : 'PodTerminal' }, now);
  }
  if (!facts.requests.some(wantsEviction)) return finish(facts, failed(NO_INTENT, NO_INTENT_MESSAGE), now);
  if (responding !== undefined) return rotate(facts, responding, now);
  const isStarted = (eviction.status?.targetResponders ?? []).length > 0;
  return isStarted ? finish(facts, failed(NO_FURTHER_RESPONDER, NO_RESPONDER_MESSAGE), now) : start(facts, pod, now);
}
