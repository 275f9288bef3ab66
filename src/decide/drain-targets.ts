import type { DrainPlanEntry } from '../api/node-maintenance.ts';
import { POD_TYPES, selectorKey } from './drain-plan.ts';

type Targets = readonly DrainPlanEntry[];

/**
 * The drain targets when the first `count` entries of the plan are reached (KEP-4212, "PodTypes and Label Selectors
 * Progression"): for each pod type one plain target and one for each selector of the plan, a selector's target being
 * at least as powerful as the plain one.
 */
export function targetsAfter(plan: Targets, count: number): Targets {
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

/** How far targets go for pods of a type with a selector: as far as its own entry, else as the plain one. */
function reach(targets: Targets, { podType, podSelector }: DrainPlanEntry): number {
  const ofType = targets.filter((target) => target.podType === podType);
  const key = selectorKey(podSelector);
  const own = ofType.find((target) => selectorKey(target.podSelector) === key);
  const plain = ofType.find((target) => target.podSelector === undefined);
  return Math.max(own?.podPriority ?? -Infinity, plain?.podPriority ?? -Infinity);
}

/** One entry for each pod type and selector that any of the targets has, as far as `choose` says, in their order. */
function combine(all: readonly Targets[], choose: (reaches: readonly number[]) => number): Targets {
  const keys = new Map<string, DrainPlanEntry>();
  for (const entry of all.flat()) {
    const key = `${entry.podType} ${selectorKey(entry.podSelector)}`;
    if (!keys.has(key)) keys.set(key, entry);
  }
  return POD_TYPES.flatMap((podType) => {
    const entries = [...keys.values()].filter((entry) => entry.podType === podType);
    const ordered = entries.toSorted(
      (a, b) => Number(a.podSelector !== undefined) - Number(b.podSelector !== undefined),
    );
    return ordered.flatMap((entry) => {
      const podPriority = choose(all.map((targets) => reach(targets, entry)));
      return podPriority > -Infinity ? [{ ...entry, podPriority }] : [];
    });
  });
}

/** The least powerful of several maintenances' targets: what all of them target (KEP-4212, DrainTargets). */
export function leastPowerful(all: readonly Targets[]): Targets {
  return combine(all, (reaches) => Math.min(...reaches));
}

/** What any of the targets target: how a drain does not go back behind what it has reached. */
export function mostPowerful(all: readonly Targets[]): Targets {
  return combine(all, (reaches) => Math.max(...reaches));
}

/** Whether the one targets go nowhere beyond the others. */
export function isWithin(targets: Targets, others: Targets): boolean {
  return targets.every((entry) => reach(others, entry) >= entry.podPriority);
}

/** How many entries of the plan the targets have reached. */
export function entriesReached(plan: Targets, targets: Targets): number {
  let count = 0;
  while (count < plan.length && isWithin(targetsAfter(plan, count + 1), targets)) count += 1;
  return count;
}
