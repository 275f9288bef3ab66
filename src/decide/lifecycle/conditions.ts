/** The conditions of both kinds of the group `lifecycle.k8s.io`. */
import { EVICTION_INVALID, FAILED, TARGET_EVICTED } from '../../api/lifecycle.ts';
import type { Condition, KubeObject } from '../../api/meta.ts';
import { timeOf } from '../time.ts';

/** An object of the group, as far as its conditions go. */
export interface Conditioned extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[]; readonly observedGeneration?: number };
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
export function isEvictionOver(object: Conditioned): boolean {
  return isEvicted(object) || failureOf(object) !== undefined;
}

/** Whether a request is over: a failure that another Eviction can make good is no end of it. */
export function isAnswered(object: Conditioned): boolean {
  return isEvicted(object) || failureOf(object) === EVICTION_INVALID;
}
