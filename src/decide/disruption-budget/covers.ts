import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import { labelSelectorMatches } from '../selector.ts';

/** Whether a budget is over the pod (policy/v1: an empty selector selects all pods of the namespace, none selects none). */
export function budgetCovers(budget: PodDisruptionBudget, pod: Pod): boolean {
  const selector = budget.spec?.selector;
  if (selector === undefined || budget.metadata.namespace !== pod.metadata.namespace) return false;
  return labelSelectorMatches(selector, pod.metadata.labels ?? {});
}

/** An eviction that waits for a budget. */
export interface BlockedEviction {
  readonly key: string;
  readonly pod: Pod;
  /** The budgets that blocked it, by name. */
  readonly blockedBy: readonly string[];
}

/**
 * Which blocked evictions are worth another try at once because a budget changed: all where it is gone, as many as it
 * allows disruptions where it lets some through, all that it no longer covers. `budget` is the present one, if there is one.
 */
export function decideWakeUps(
  name: string,
  budget: PodDisruptionBudget | undefined,
  blocked: readonly BlockedEviction[],
): readonly string[] {
  const concerned = blocked.filter(({ blockedBy }) => blockedBy.includes(name));
  if (budget === undefined) return concerned.map(({ key }) => key);
  const free = concerned.filter(({ pod }) => !budgetCovers(budget, pod));
  const allowed = Math.max(0, budget.status?.disruptionsAllowed ?? 0);
  const covered = concerned.filter(({ pod }) => budgetCovers(budget, pod)).slice(0, allowed);
  return [...free, ...covered].map(({ key }) => key);
}
