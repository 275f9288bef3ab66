import type { DrainPlanEntry } from '../api/node-maintenance.ts';
import { POD_TYPES, selectorKey, targetsCover } from './drain-plan.ts';
import type { DrainPod } from './pod.ts';

/** A node of a maintenance with the pods that are still on it. */
export interface DrainNode {
  readonly name: string;
  readonly pods: readonly DrainPod[];
}

/** What the plan targets now, and what each node still waits for. */
export interface DrainDecision {
  readonly drainTargets: readonly DrainPlanEntry[];
  /** Targeted pods that are still there, by node name. */
  readonly evicting: Readonly<Record<string, readonly DrainPod[]>>;
  /** Pods that are not targeted yet, by node name. */
  readonly pending: Readonly<Record<string, readonly DrainPod[]>>;
  /** Whether the whole plan is targeted and nothing is left on any node. */
  readonly drained: boolean;
}

/**
 * The drain targets when the first `count` entries of the plan are reached (KEP-4212, "PodTypes and Label Selectors
 * Progression"): for each pod type one plain target and one for each selector of the plan, a selector's target being
 * at least as powerful as the plain one.
 */
export function targetsAfter(plan: readonly DrainPlanEntry[], count: number): readonly DrainPlanEntry[] {
  const reached = plan.slice(0, count);
  return POD_TYPES.flatMap((podType) => {
    const ofType = reached.filter((entry) => entry.podType === podType);
    if (ofType.length === 0) return [];
    const plain = ofType.filter(({ podSelector }) => podSelector === undefined).at(-1);
    const selected = new Map<string, DrainPlanEntry>();
    for (const entry of plan.filter((entry) => entry.podType === podType && entry.podSelector !== undefined)) {
      const key = selectorKey(entry.podSelector);
      const own = ofType.filter(({ podSelector }) => selectorKey(podSelector) === key).at(-1)?.podPriority;
      const podPriority = Math.max(own ?? -Infinity, plain?.podPriority ?? -Infinity);
      if (podPriority > -Infinity) selected.set(key, { ...entry, podPriority });
    }
    return [...(plain === undefined ? [] : [plain]), ...selected.values()];
  });
}

function targetIncludes(targets: readonly DrainPlanEntry[], entry: DrainPlanEntry): boolean {
  return targets.some(
    (target) =>
      target.podType === entry.podType &&
      target.podPriority >= entry.podPriority &&
      selectorKey(target.podSelector) === selectorKey(entry.podSelector),
  );
}

/** How many entries of the plan the current targets have reached already; the drain never goes back behind them. */
function entriesReached(plan: readonly DrainPlanEntry[], current: readonly DrainPlanEntry[]): number {
  let count = 0;
  while (count < plan.length) {
    const next = targetsAfter(plan, count + 1);
    if (!next.every((entry) => targetIncludes(current, entry))) break;
    count += 1;
  }
  return count;
}

/**
 * Moves a drain on (KEP-4212, "Pod Selection"): the targets stay at the first entry that still has pods on any node,
 * never go back, and pass over entries without pods at once. A pod that appears behind the targets is targeted too.
 */
export function decideDrainTargets(
  plan: readonly DrainPlanEntry[],
  nodes: readonly DrainNode[],
  current: readonly DrainPlanEntry[],
): DrainDecision {
  const pods = nodes.flatMap((node) => node.pods);
  let count = Math.max(1, entriesReached(plan, current));
  while (count < plan.length && !pods.some((pod) => targetsCover(targetsAfter(plan, count), pod))) count += 1;
  const drainTargets = targetsAfter(plan, count);
  const split = (covered: boolean): Record<string, readonly DrainPod[]> =>
    Object.fromEntries(
      nodes.map((node) => [node.name, node.pods.filter((pod) => targetsCover(drainTargets, pod) === covered)]),
    );
  return { drainTargets, evicting: split(true), pending: split(false), drained: pods.length === 0 };
}
