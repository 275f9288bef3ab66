/**
 * Pods of a PodGroup (scheduling.k8s.io). An EvictionRequest does not support them, and a group may say that its pods can
 * only be disrupted together. A drain evicts them directly: one by one, or all pods of the group, on whatever node.
 */
import { counted } from '../counted.ts';
import type { KubeObject } from '../../api/meta.ts';
import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import { budgetCovers } from '../disruption-budget/covers.ts';

/** How the pods of a group can be disrupted: independently from each other, or only all together. */
export type DisruptionMode = 'single' | 'all';

/** The parts of a PodGroup that the rules look at. */
export interface PodGroup extends KubeObject {
  readonly spec?: { readonly disruptionMode?: unknown };
}

/** The name of the pod's PodGroup in its own namespace; undefined for a pod of none. */
export function groupNameOf({ spec }: Pick<Pod, 'spec'>): string | undefined {
  return spec.schedulingGroup?.podGroupName;
}

/** The disruption mode of a PodGroup as the API server has it: a union from v1beta1 on, a word in v1alpha2 (Kubernetes 1.36). */
export function disruptionModeOf(group: PodGroup): DisruptionMode {
  const mode = group.spec?.disruptionMode;
  if (mode === 'PodGroup') return 'all';
  return typeof mode === 'object' && mode !== null && 'all' in mode ? 'all' : 'single';
}

/** A budget that does not let all pods of a group go at the same time, and why, as a sentence. */
interface SmallBudget {
  readonly name: string;
  readonly why: string;
}

/** The first budget that does not let all of the pods go at the same time; undefined where there is none. */
export function budgetTooSmall(
  group: string,
  members: readonly Pod[],
  budgets: readonly PodDisruptionBudget[],
): SmallBudget | undefined {
  for (const budget of budgets) {
    const covered = members.filter((pod) => budgetCovers(budget, pod)).length;
    const allowed = Math.max(0, budget.status?.disruptionsAllowed ?? 0);
    if (covered <= allowed) continue;
    const disruptions = counted(allowed, 'disruption', 'disruptions');
    const { name } = budget.metadata;
    const why = `The ${members.length} pods of PodGroup ${group} leave together, and PodDisruptionBudget ${name} allows ${disruptions} for ${covered} of them.`;
    return { name, why };
  }
  return undefined;
}

/** What a drain does with a pod of a group, for a preview; `mode` is undefined where the group cannot be read. */
export function describeGroup(group: string, mode: DisruptionMode | undefined): string {
  const start = `it is of the PodGroup ${group}`;
  if (mode === 'single') return `${start}: its interceptors are not asked before its eviction`;
  const all = `all pods of the group are evicted together, also those on other nodes`;
  return mode === 'all' ? `${start}, whose pods leave only together: ${all}` : `${start}: if that says so, ${all}`;
}
