import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import { printable } from '../../printable.ts';
import { labelSelectorMatches } from '../selector.ts';

/** The rest of a longer reason is cut. */
const MAX_WHY = 300;

/** Whether a budget is over the pod (policy/v1: an empty selector selects all pods of the namespace, none selects none). */
export function budgetCovers(budget: PodDisruptionBudget, pod: Pod): boolean {
  const selector = budget.spec?.selector;
  if (selector === undefined || budget.metadata.namespace !== pod.metadata.namespace) return false;
  return labelSelectorMatches(selector, pod.metadata.labels ?? {});
}

/** How many more of its pods the budget allows to be disrupted now. */
export function allowedBy({ status }: PodDisruptionBudget): number {
  return Math.max(0, status?.disruptionsAllowed ?? 0);
}

/**
 * Why the disruption controller cannot count the budget's pods, so that it allows no disruption ever, and what helps; undefined
 * where it can.
 */
export function whyUncountable({ status }: PodDisruptionBudget): string | undefined {
  const failed = status?.conditions?.find(
    ({ type, reason }) => type === 'DisruptionAllowed' && reason === 'SyncFailed',
  );
  if (failed === undefined) return undefined;
  return `cannot be counted (${printable((failed.message ?? '').slice(0, MAX_WHY))}); give it minAvailable as a number`;
}

/** An eviction that waits for a budget. */
export interface BlockedEviction {
  readonly key: string;
  readonly pod: Pod;
  /** The budgets that blocked it, by name. */
  readonly blockedBy: readonly string[];
  /** Whether it has to wait until the budgets that cover the pod are others, such as where there are two of them. */
  readonly untilChange: boolean;
}

/**
 * Which blocked evictions are worth another try at once because a budget changed: all where it is gone, all that it no longer
 * covers, and of the others that need nothing but room as many as it allows disruptions. `budget` is the present one, if any.
 */
export function decideWakeUps(
  name: string,
  budget: PodDisruptionBudget | undefined,
  blocked: readonly BlockedEviction[],
): readonly string[] {
  const concerned = blocked.filter(({ blockedBy }) => blockedBy.includes(name));
  if (budget === undefined) return concerned.map(({ key }) => key);
  const free = concerned.filter(({ pod }) => !budgetCovers(budget, pod));
  const covered = concerned
    .filter(({ pod, untilChange }) => !untilChange && budgetCovers(budget, pod))
    .slice(0, allowedBy(budget));
  return [...free, ...covered].map(({ key }) => key);
}
