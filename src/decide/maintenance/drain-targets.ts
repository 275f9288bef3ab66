import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
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

/** How far each of several targets goes for pods of one type, by their index. */
interface Reaches {
  /** Of pods that no selector of theirs selects; -Infinity where they go nowhere. */
  readonly plain: readonly number[];
  /** The entries with a selector, by its key in the order in which they come, and how far each of the targets has it. */
  readonly selected: ReadonlyMap<string, { readonly entry: DrainPlanEntry; readonly reach: Map<number, number> }>;
  readonly plainEntry: DrainPlanEntry | undefined;
}

function reachesOf(all: readonly Targets[], podType: DrainPlanEntry['podType']): Reaches {
  const plain = all.map(() => -Infinity);
  const selected = new Map<string, { entry: DrainPlanEntry; reach: Map<number, number> }>();
  let plainEntry: DrainPlanEntry | undefined;
  for (const [index, targets] of all.entries()) {
    for (const entry of targets) {
      if (entry.podType !== podType) continue;
      if (entry.podSelector === undefined) {
        plainEntry ??= entry;
        if (plain[index] === -Infinity) plain[index] = entry.podPriority;
        continue;
      }
      const key = selectorKey(entry.podSelector);
      const known = selected.get(key) ?? { entry, reach: new Map<number, number>() };
      selected.set(key, known);
      if (!known.reach.has(index)) known.reach.set(index, entry.podPriority);
    }
  }
  return { plain, selected, plainEntry };
}

/**
 * One entry for each pod type and selector that any of the targets has, as far as the one goes that goes least or, where
 * `most` says so, furthest. The work grows with the number of entries alone, however many targets there are.
 */
function combine(all: readonly Targets[], most: boolean): Targets {
  const better = (a: number, b: number): number => (most ? Math.max(a, b) : Math.min(a, b));
  return POD_TYPES.flatMap((podType) => {
    const { plain, selected, plainEntry } = reachesOf(all, podType);
    const ranked = [...plain.entries()].toSorted(([, a], [, b]) => (most ? b - a : a - b));
    const entries = plainEntry === undefined ? [] : [{ entry: plainEntry, podPriority: ranked[0]?.[1] ?? -Infinity }];
    for (const { entry, reach } of selected.values()) {
      // Those that have not this selector go as far as they go without one.
      const other = ranked.find(([index]) => !reach.has(index))?.[1];
      const own = [...reach].map(([index, priority]) => Math.max(priority, plain[index] ?? -Infinity));
      const podPriority = own.reduce(better, other ?? (most ? -Infinity : Infinity));
      entries.push({ entry, podPriority });
    }
    return entries.flatMap(({ entry, podPriority }) => (podPriority > -Infinity ? [{ ...entry, podPriority }] : []));
  });
}

/** The least powerful of several maintenances' targets: what all of them target (KEP-4212, DrainTargets). */
export function leastPowerful(all: readonly Targets[]): Targets {
  return combine(all, false);
}

/** What any of the targets target: how a drain does not go back behind what it has reached. */
export function mostPowerful(all: readonly Targets[]): Targets {
  return combine(all, true);
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
