import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { targetsCover } from './plan.ts';
import { leastPowerful, mostPowerful } from './targets.ts';
import type { DrainPod } from '../pod.ts';

type Targets = readonly DrainPlanEntry[];

/** A maintenance in the Drain stage, as the resolution sees it. */
export interface Drain {
  readonly name: string;
  /** Milliseconds since the epoch; the older one wins where progress is not to be taken back. */
  readonly createdAt: number;
  /** The effective drain plan. */
  readonly plan: Targets;
  /** How many entries of the plan are reached; 0 for none yet. */
  readonly position: number;
  readonly nodes: readonly DrainNode[];
}

/** A node of a drain. */
export interface DrainNode {
  readonly name: string;
  /** The pods that are still on it. */
  readonly pods: readonly DrainPod[];
  /** The drain targets that the maintenance's status has for it; none yet where it has just begun. */
  readonly recorded: Targets;
}

/** The drains as they stand at one moment. Each answer is found once: nodes and drains may be many. */
export interface DrainsAtOnce {
  readonly drains: readonly Drain[];
  /** What the drain itself targets, by its position. */
  ownOf(drain: Drain): Targets;
  /** The drains of a node, in their order. */
  drainsOn(node: string): readonly Drain[];
  /** Those of them, the one that targets least first. */
  byWeightOn(node: string): readonly Drain[];
  /** The targets of a node: the least powerful of its drains, never behind what was recorded (no backtracking). */
  targetsOf(node: string): Targets;
  /** The pods of a drain's node that are targeted. */
  evictingOn(node: DrainNode): readonly DrainPod[];
  /** Whether anything is evicted on any node of the drain. */
  isBusy(drain: Drain): boolean;
  /** The first of the drains of the node that is busy; undefined where none is. */
  firstBusyOn(node: string): Drain | undefined;
}

/** A number that grows with how much is targeted, to find the least powerful. */
function weightOf(targets: Targets): number {
  const types = new Set(targets.map(({ podType }) => podType)).size;
  return types * 2 ** 33 + (targets.at(-1)?.podPriority ?? 0);
}

/** Answers each question once. */
function once<K, V>(find: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>();
  return (key) => {
    if (known.has(key)) return known.get(key) as V;
    const value = find(key);
    known.set(key, value);
    return value;
  };
}

/** What stays as it is while drains move on. */
export interface DrainIndex {
  readonly drains: readonly Drain[];
  drainsOn(node: string): readonly Drain[];
  recordedOn(node: string): readonly Targets[];
}

/** Finds the drains of each node once. */
export function indexDrains(drains: readonly Drain[]): DrainIndex {
  const byNode = new Map<string, { readonly drains: Drain[]; readonly recorded: Targets[] }>();
  for (const drain of drains) {
    for (const { name, recorded } of drain.nodes) {
      const known = byNode.get(name) ?? { drains: [], recorded: [] };
      byNode.set(name, known);
      known.drains.push(drain);
      if (recorded.length > 0) known.recorded.push(recorded);
    }
  }
  return {
    drains,
    drainsOn: (node) => byNode.get(node)?.drains ?? [],
    recordedOn: (node) => byNode.get(node)?.recorded ?? [],
  };
}

/** The drains where each has reached the targets that `own` has for its name. */
export function fieldOf(index: DrainIndex, own: ReadonlyMap<string, Targets>): DrainsAtOnce {
  const { drains } = index;
  const drainsOn = (node: string): readonly Drain[] => index.drainsOn(node);
  const ownOf = ({ name }: Drain): Targets => own.get(name) ?? [];
  const order = once(() => new Map(drains.map((drain, at) => [drain, at])));
  const weight = once((drain: Drain) => weightOf(ownOf(drain)));
  const targetsOf = once((node: string): Targets => {
    return mostPowerful([leastPowerful(drainsOn(node).map(ownOf)), ...index.recordedOn(node)]);
  });
  // Several drains of a node have the same list of its pods.
  const evicting = new Map<readonly DrainPod[], Map<string, readonly DrainPod[]>>();
  const evictingOn = ({ name, pods }: DrainNode): readonly DrainPod[] => {
    const known = evicting.get(pods) ?? new Map<string, readonly DrainPod[]>();
    evicting.set(pods, known);
    const found = known.get(name) ?? pods.filter((pod) => targetsCover(targetsOf(name), pod));
    known.set(name, found);
    return found;
  };
  const isBusy = once((drain: Drain) => drain.nodes.some((node) => evictingOn(node).length > 0));
  return {
    drains,
    ownOf,
    drainsOn,
    byWeightOn: once((node) => {
      const at = order(undefined);
      return drainsOn(node).toSorted((a, b) => weight(a) - weight(b) || (at.get(a) ?? 0) - (at.get(b) ?? 0));
    }),
    targetsOf,
    evictingOn,
    isBusy,
    firstBusyOn: once((node) => drainsOn(node).find(isBusy)),
  };
}

/**
 * The drains that can have anything to do with the one of this name: those that share a node with it, those that share
 * one with them, and so on; in their order. What the others do changes nothing for it.
 */
export function drainsAround<T extends { readonly name: string; readonly nodes: readonly string[] }>(
  drains: readonly T[],
  name: string,
): readonly T[] {
  const byNode = new Map<string, T[]>();
  for (const drain of drains) {
    for (const node of drain.nodes) {
      const known = byNode.get(node);
      if (known === undefined) byNode.set(node, [drain]);
      else known.push(drain);
    }
  }
  const found = new Set(drains.filter((drain) => drain.name === name));
  // A set that grows while it is walked through.
  for (const drain of found) {
    for (const node of drain.nodes) {
      for (const other of byNode.get(node) ?? []) found.add(other);
      byNode.delete(node);
    }
  }
  return drains.filter((drain) => found.has(drain));
}
