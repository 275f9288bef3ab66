/** What the two conditions of an Eviction, and of its requests, have to say. */
import { AWAITING_EVICTION, FAILED, TARGET_EVICTED } from '../../../api/lifecycle.ts';
import type { Condition } from '../../../api/meta.ts';
import type { Conditioned } from '../../../decide/lifecycle/conditions.ts';
import { rfc3339 } from '../../../decide/time.ts';

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

/** The words of the controller of Kubernetes (kubernetes/kubernetes#137133). */
const EVICTED_MESSAGES = {
  PodDeleted: 'Target pod has been deleted.',
  PodTerminal: 'Pod has reached terminal state.',
} as const;

/** The two conditions at an end; only the one that is true has words. */
export function outcomeOf(end: End): Outcome {
  if (end.kind === 'evicted') {
    const message = EVICTED_MESSAGES[end.reason];
    return {
      [TARGET_EVICTED]: { status: 'True', reason: end.reason, message },
      [FAILED]: { status: 'False', reason: 'Succeeded', message: '' },
    };
  }
  const { reason, message } = end;
  return {
    [TARGET_EVICTED]: { status: 'False', reason: 'EvictionFailed', message: '' },
    [FAILED]: { status: 'True', reason, message },
  };
}

const WAITING: Said = { status: 'False', reason: AWAITING_EVICTION, message: '' };

/** The two conditions while an end is waited for: they say nothing of responders, so that another active one changes none of them. */
export const AWAITING: Outcome = { [TARGET_EVICTED]: WAITING, [FAILED]: WAITING };

/** What an object says already; undefined where it lacks one of the two. */
export function saidOf({ status }: Conditioned): Outcome | undefined {
  const [evicted, failed] = [TARGET_EVICTED, FAILED].map((type) => {
    const found = status?.conditions?.find((each) => each.type === type);
    return found === undefined ? undefined : { status: found.status, reason: found.reason, message: found.message };
  });
  return evicted === undefined || failed === undefined ? undefined : { [TARGET_EVICTED]: evicted, [FAILED]: failed };
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
