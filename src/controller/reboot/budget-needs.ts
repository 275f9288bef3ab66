import type { PodDisruptionBudget } from '../../api/pod.ts';
import { budgetCovers } from '../../decide/disruption-budget/covers.ts';
import { podTypeOf } from '../../decide/pod.ts';
import { keyOf } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';

/** The pods of a node are compared with the budgets this often at most. */
const NEEDS_MS = 1_000;

/** Counts the pods that a drain of a node has still to take from each PodDisruptionBudget, by NAMESPACE/NAME. */
export function createBudgetNeeds({
  pods,
  budgets,
  clock,
}: ControllerContext): (node: string) => ReadonlyMap<string, number> {
  const known = new Map<string, { readonly at: number; readonly needs: ReadonlyMap<string, number> }>();
  let byNamespace = new Map<string, PodDisruptionBudget[]>();
  let groupedAt = -Infinity;
  const budgetsIn = (namespace: string, now: number): readonly PodDisruptionBudget[] => {
    if (now - groupedAt >= NEEDS_MS) {
      byNamespace = Map.groupBy(budgets.list(), ({ metadata }) => metadata.namespace ?? '');
      groupedAt = now;
      known.clear();
    }
    return byNamespace.get(namespace) ?? [];
  };
  const count = (node: string, now: number): ReadonlyMap<string, number> => {
    const needs = new Map<string, number>();
    for (const pod of pods.on(node)) {
      const { namespace = '', deletionTimestamp } = pod.metadata;
      if (deletionTimestamp !== undefined || podTypeOf(pod) !== 'Default') continue;
      for (const budget of budgetsIn(namespace, now)) {
        if (budgetCovers(budget, pod)) needs.set(keyOf(budget), (needs.get(keyOf(budget)) ?? 0) + 1);
      }
    }
    return needs;
  };
  return (node) => {
    const now = clock.monotonic();
    const before = known.get(node);
    if (before !== undefined && now - before.at < NEEDS_MS) return before.needs;
    const needs = count(node, now);
    known.set(node, { at: now, needs });
    return needs;
  };
}
