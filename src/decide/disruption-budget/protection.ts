import type { Pod } from '../../api/pod.ts';
import { podTypeOf } from '../pod.ts';
import { couldTake } from './placement.ts';
import type { NodeOutlook } from './staying-nodes.ts';

/** Whether a budget protects its application from the end of machines. */
type Protection =
  /** The node runs a pod of the budget, or could take one, now or as far as is known. */
  | { readonly kind: 'protects'; readonly node: string }
  /** No node that stays runs a pod of it, and none could take one. */
  | { readonly kind: 'protects-nothing' };

/** Judges a budget by `pods`, those that it covers and that have not ended, and the nodes that stay or may. */
export function judgeProtection(pods: readonly Pod[], staying: readonly NodeOutlook[]): Protection {
  const running = new Set(pods.flatMap(({ spec }) => spec.nodeName ?? []));
  // Pods of one workload have the same demands, which are judged once. Those of DaemonSets and static ones stay where they are.
  const alike = new Map(pods.filter((pod) => podTypeOf(pod) === 'Default').map((pod) => [demandsOf(pod), pod]));
  const found = staying.find(
    (each) =>
      each.kind === 'unknown' || running.has(each.name) || [...alike.values()].some((pod) => couldTake(each.node, pod)),
  );
  return found === undefined ? { kind: 'protects-nothing' } : { kind: 'protects', node: found.name };
}

function demandsOf({ spec }: Pod): string {
  return JSON.stringify([spec.tolerations, spec.nodeSelector, spec.affinity?.nodeAffinity]);
}

/** Why budgets are not asked for the pods of a machine that goes down, for people. */
export function whyNotAsked(budgets: readonly string[], node: string): string {
  const which =
    budgets.length === 1 ? `PodDisruptionBudget ${budgets[0]} is` : `PodDisruptionBudgets ${budgets.join(', ')} are`;
  return `${which} not asked: node ${node} goes down, and no node that stays (Ready, not going down) runs a pod of the budget or could take one.`;
}
