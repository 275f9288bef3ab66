/** The conditions of both kinds of the group `lifecycle.k8s.io`. */
import { AWAITING_EVICTION, EVICTION_INVALID, FAILED, TARGET_EVICTED } from '../../api/lifecycle.ts';
import type { Condition, KubeObject } from '../../api/meta.ts';
import { rfc3339, timeOf } from '../time.ts';

/** An object of the group, as far as its conditions go. */
export interface Conditioned extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[]; readonly observedGeneration?: number };
}

type Said = Pick<Condition, 'status' | 'reason' | 'message'>;

/** What the two conditions say. */
export interface Outcome {
  readonly [TARGET_EVICTED]: Said;
  readonly [FAILED]: Said;
}

/** How an eviction, or the wish for one, ends. */
export type End =
  | { readonly kind: 'evicted'; readonly reason: 'PodDeleted' | 'PodTerminal' }
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string };

const EVICTED_MESSAGES = {
  PodDeleted: 'Target pod has been deleted',
  PodTerminal: 'Pod has reached terminal state',
} as const;

/** The two conditions at an end. */
export function outcomeOf(end: End): Outcome {
  if (end.kind === 'evicted') {
    const message = EVICTED_MESSAGES[end.reason];
    return {
      [TARGET_EVICTED]: { status: 'True', reason: end.reason, message },
      [FAILED]: { status: 'False', reason: 'Succeeded', message },
    };
  }
  const { reason, message } = end;
  return {
    [TARGET_EVICTED]: { status: 'False', reason: 'EvictionFailed', message },
    [FAILED]: { status: 'True', reason, message },
  };
}

/** The two conditions while an end is waited for. */
export function awaiting(message: string): Outcome {
  const said = { status: 'False', reason: AWAITING_EVICTION, message } as const;
  return { [TARGET_EVICTED]: said, [FAILED]: said };
}

/** What an object says already; undefined where it lacks one of the two. */
export function saidOf({ status }: Conditioned): Outcome | undefined {
  const [evicted, failed] = [TARGET_EVICTED, FAILED].map((type) => {
    const found = status?.conditions?.find((each) => each.type === type);
    return found === undefined ? undefined : { status: found.status, reason: found.reason, message: found.message };
  });
  return evicted === undefined || failed === undefined ? undefined : { [TARGET_EVICTED]: evicted, [FAILED]: failed };
}

function conditionOf({ status }: Conditioned, type: string): Condition | undefined {
  return status?.conditions?.find((each) => each.type === type && each.status === 'True');
}

/** Whether the target has left. */
export function isEvicted(object: Conditioned): boolean {
  return conditionOf(object, TARGET_EVICTED) !== undefined;
}

/** Why it failed; undefined where it did not. */
export function failureOf(object: Conditioned): string | undefined {
  return conditionOf(object, FAILED)?.reason;
}

/** When it failed, in milliseconds since the epoch; undefined where it did not. */
export function failedAt(object: Conditioned): number | undefined {
  return timeOf(conditionOf(object, FAILED)?.lastTransitionTime);
}

/** Whether an Eviction is over. */
export function isOver(object: Conditioned): boolean {
  return isEvicted(object) || failureOf(object) !== undefined;
}

/** Whether a request is over: a failure that another Eviction can make good is no end of it. */
export function isAnswered(object: Conditioned): boolean {
  return isEvicted(object) || failureOf(object) === EVICTION_INVALID;
}

/**
 * All conditions of the object as they have to be; the time of one whose status stays is kept. Undefined where nothing changes.
 * `now` is in milliseconds since the epoch.
 */
export function withOutcome(object: Conditioned, outcome: Outcome, now: number): readonly Condition[] | undefined {
  const old = object.status?.conditions ?? [];
  const generation = object.metadata.generation ?? 1;
  let changes = false;
  const fresh = [TARGET_EVICTED, FAILED].map((type): Condition => {
    const said = outcome[type as keyof Outcome];
    const before = old.find((each) => each.type === type);
    const stays = before?.status === said.status && before.reason === said.reason && before.message === said.message;
    if (stays) return before;
    changes = true;
    const lastTransitionTime = before?.status === said.status ? before.lastTransitionTime : rfc3339(now);
    return { type, ...said, lastTransitionTime, observedGeneration: generation };
  });
  if (!changes) return undefined;
  return [...fresh, ...old.filter(({ type }) => type !== TARGET_EVICTED && type !== FAILED)];
}
