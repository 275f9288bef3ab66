/** Whether a person may delete a pod in spite of its PodDisruptionBudgets, and what that means. */
import { counted } from '../counted.ts';
import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import { graceSecOf, isTerminal, podTypeOf } from '../pod.ts';
import { budgetCovers, whyUncountable } from './covers.ts';

/** What is to be done about a pod that is to leave in spite of its budgets. */
type Override =
  /** Nothing: the pod has ended, or ends. */
  | { readonly kind: 'nothing'; readonly message: string }
  /** Another way is the right one. */
  | { readonly kind: 'refused'; readonly message: string }
  /** Budgets hold the pod; `explanation` has a sentence for each of them. */
  | { readonly kind: 'held'; readonly budgets: readonly string[]; readonly explanation: readonly string[] };

function describeBudget(budget: PodDisruptionBudget): string {
  const { metadata, status = {} } = budget;
  const uncountable = whyUncountable(budget);
  if (uncountable !== undefined) return `PodDisruptionBudget ${metadata.name} ${uncountable}.`;
  const { currentHealthy, desiredHealthy } = status;
  if (currentHealthy === undefined || desiredHealthy === undefined) {
    return `PodDisruptionBudget ${metadata.name} covers it, and has no status yet.`;
  }
  const needed = counted(desiredHealthy, 'healthy pod', 'healthy pods');
  return `PodDisruptionBudget ${metadata.name} needs ${needed} and has ${currentHealthy}.`;
}

/** Judges a pod by the budgets of its namespace (policy/v1, and the Eviction API, which evicts no pod with two budgets). */
export function decideOverride(pod: Pod, budgets: readonly PodDisruptionBudget[]): Override {
  const { name, deletionTimestamp } = pod.metadata;
  if (isTerminal(pod)) return { kind: 'nothing', message: `pod/${name} has ended already` };
  if (deletionTimestamp !== undefined) return { kind: 'nothing', message: `pod/${name} is terminating already` };
  const type = podTypeOf(pod);
  if (type === 'Static') {
    const message = `pod "${name}" is static: deleting its mirror pod ends nothing; drain its node, or move its manifest away on the machine`;
    return { kind: 'refused', message };
  }
  if (type === 'DaemonSet') {
    const message = `pod "${name}" belongs to a DaemonSet: no budget holds it in a drain, and a deleted one comes back at once; drain its node`;
    return { kind: 'refused', message };
  }
  const covering = budgets.filter((budget) => budgetCovers(budget, pod));
  const isHeld = covering.length > 1 || covering.some(({ status }) => (status?.disruptionsAllowed ?? 0) <= 0);
  if (!isHeld) {
    const message = `pod "${name}" is held by no PodDisruptionBudget now: evict it without --in-spite-of-budget`;
    return { kind: 'refused', message };
  }
  const two = covering.length > 1 ? ['The Eviction API evicts no pod that two budgets cover.'] : [];
  return {
    kind: 'held',
    budgets: covering.map(({ metadata }) => metadata.name),
    explanation: [...covering.map(describeBudget), ...two],
  };
}

/** What a person is asked before the pod is deleted. */
export function overrideQuestion(pod: Pod, explanation: readonly string[]): string {
  const { name, namespace = 'default' } = pod.metadata;
  const lines = [
    `pod/${name} in namespace ${namespace} is protected:`,
    ...explanation.map((line) => `  ${line}`),
    `It is deleted all the same: its interceptors are not asked, and it has ${graceSecOf(pod)} s to end.`,
  ];
  return `${lines.join('\n')}\n`;
}
