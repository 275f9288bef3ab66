import type { DrainPlanEntry, KeptPods } from '../../api/node-maintenance.ts';
import { POD_TYPES, targetsCover } from '../maintenance/drain-plan.ts';
import { withoutKept } from '../kept-pods/kept-pods.ts';
import type { NodeIdentity } from '../maintenance/recorded-node.ts';
import { leastPowerful, mostPowerful, targetsAfter } from '../maintenance/drain-targets.ts';
import type { DrainPod } from '../pod.ts';
import { waitedFor } from '../staying-pod/staying-pods.ts';
import type { NodeVolumes } from '../volume/wait.ts';

type Targets = readonly DrainPlanEntry[];

/** A maintenance in the Drain stage, as the resolution sees it. */
export interface Drain {
  readonly name: string;
  /**
   * When its Drain stage began, in milliseconds since the epoch; Infinity where that is not recorded yet. The older one wins
   * where progress is not to be taken back.
   */
  readonly startedAt: number;
  /** The effective drain plan. */
  readonly plan: Targets;
  readonly nodes: readonly DrainNode[];
  /** The kinds of pods that it leaves alone, and whose types its plan does not have; absent for none. */
  readonly keep?: readonly KeptPods[];
  /** The node whose agent made it, which therefore goes down; absent where no agent did. */
  readonly agentNode?: string;
}

/** A node of a drain. */
export interface DrainNode extends NodeIdentity {
  /** The pods that are still on it, without those that the drain keeps. */
  readonly pods: readonly DrainPod[];
  /** Those that the drain keeps, each with the reason why it stays; absent where there are none. */
  readonly kept?: readonly DrainPod[];
  /** How many entries of the plan it has reached; 0 for none yet. */
  readonly position: number;
  /** The drain targets that the maintenance's status has for it; none yet where it has just begun. */
  readonly recorded: Targets;
  /** How many entries of the plan a deadline has reached; absent for none. */
  readonly due?: number;
  /** Absent where nothing is known of its volumes, or nobody waits for them. */
  readonly volumes?: NodeVolumes;
  /** Why its static pods stay for now, as a sentence: the control plane would not be at work without them. */
  readonly guard?: string;
}

/** The drains as they stand at one moment. Each answer is found once: nodes and drains may be many. */
export interface OverlappingDrains {
  readonly drains: readonly Drain[];
  /** What the drain itself targets on all of its nodes: what those target that are furthest behind. */
  ownOf(drain: Drain): Targets;
  /** What the drain itself targets on one of its nodes, which may be ahead of others that joined later. */
  ownOn(drain: Drain, node: string): Targets;
  /** The drains of a node, in their order. */
  drainsOn(node: string): readonly Drain[];
  /** Those of them, the one that targets least first. */
  byWeightOn(node: string): readonly Drain[];
  /** The targets of a node for the drain: those of the node, without the types that the drain keeps. */
  targetsFor(drain: Drain, node: string): Targets;
  /** The targets of a node: the least powerful of its drains, never behind what was recorded (no backtracking). */
  targetsOf(node: string): Targets;
  /** The pods of a drain's node that are targeted, also those that nobody waits for. */
  evictingOn(node: DrainNode): readonly DrainPod[];
  /** The nodes that the next entry of the drain's plan waits for, because they have pods to evict before it. */
  busyNodesOf(drain: Drain): readonly string[];
  /** Whether there are any such nodes. */
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
interface DrainIndex {
  readonly drains: readonly Drain[];
  /** How many entries of its plan a drain has recorded for a node. */
  positionOn(drain: Drain, node: string): number;
  drainsOn(node: string): readonly Drain[];
  recordedOn(node: string): readonly Targets[];
}

/** Finds the drains of each node once. */
export function indexDrains(drains: readonly Drain[]): DrainIndex {
  interface OnNode {
    readonly drains: Drain[];
    readonly recorded: Targets[];
    readonly positions: Map<Drain, number>;
  }
  const byNode = new Map<string, OnNode>();
  for (const drain of drains) {
    for (const { name, recorded, position } of drain.nodes) {
      const known = byNode.get(name) ?? { drains: [], recorded: [], positions: new Map<Drain, number>() };
      byNode.set(name, known);
      known.drains.push(drain);
      known.positions.set(drain, position);
      if (recorded.length > 0) known.recorded.push(recorded);
    }
  }
  return {
    drains,
    drainsOn: (node) => byNode.get(node)?.drains ?? [],
    recordedOn: (node) => byNode.get(node)?.recorded ?? [],
    positionOn: (drain, node) => byNode.get(node)?.positions.get(drain) ?? 0,
  };
}

/** The own targets of drains whose nodes that are furthest behind have reached so many entries. */
function ownTargets(
  index: DrainIndex,
  positions: ReadonlyMap<Drain, number>,
): Pick<OverlappingDrains, 'ownOf' | 'ownOn'> & { readonly isAhead: (drain: Drain, node: string) => boolean } {
  const positionOf = (drain: Drain): number => positions.get(drain) ?? 0;
  const ofDrain = once((drain: Drain) => once((position: number) => targetsAfter(drain.plan, position)));
  const ownOf = (drain: Drain): Targets => ofDrain(drain)(positionOf(drain));
  const isAhead = (drain: Drain, node: string): boolean => index.positionOn(drain, node) > positionOf(drain);
  const ownOn = (drain: Drain, node: string): Targets =>
    isAhead(drain, node) ? ofDrain(drain)(index.positionOn(drain, node)) : ownOf(drain);
  return { ownOf, ownOn, isAhead };
}

/** The least powerful targets of the drains. One that keeps a type of pods has no say in when those leave for the others. */
function leastOf(drains: readonly Drain[], ownOf: (drain: Drain) => Targets): Targets {
  if (drains.every(({ keep }) => keep === undefined)) return leastPowerful(drains.map(ownOf));
  return POD_TYPES.flatMap((podType) => {
    const having = drains.filter(({ keep = [] }) => podType === 'Default' || !keep.includes(podType));
    return leastPowerful(having.map((drain) => ownOf(drain).filter((entry) => entry.podType === podType)));
  });
}

/** The drains where the nodes that are furthest behind have reached as many entries as `positions` has for the drain. */
export function overlapAt(index: DrainIndex, positions: ReadonlyMap<Drain, number>): OverlappingDrains {
  const { drains } = index;
  const drainsOn = (node: string): readonly Drain[] => index.drainsOn(node);
  const { ownOf, ownOn, isAhead } = ownTargets(index, positions);
  const order = new Map(drains.map((drain, at) => [drain, at]));
  const targetsOf = once((node: string): Targets => {
    return mostPowerful([leastOf(drainsOn(node), (drain) => ownOn(drain, node)), ...index.recordedOn(node)]);
  });
  // Several drains of a node have the same list of its pods.
  const evicting = once((pods: readonly DrainPod[]) =>
    once((node: string) => pods.filter((pod) => targetsCover(targetsOf(node), pod))),
  );
  const evictingOn = ({ name, pods }: DrainNode): readonly DrainPod[] => evicting(pods)(name);
  const busyNodesOf = once((drain: Drain) => {
    const own = ownOf(drain);
    const busy = drain.nodes.filter((node) => {
      const leaving = waitedFor(evictingOn(node));
      // Nobody waits for what leaves a node in a later entry than the one that the others have come to.
      return isAhead(drain, node.name) ? leaving.some((pod) => targetsCover(own, pod)) : leaving.length > 0;
    });
    return busy.map(({ name }) => name);
  });
  const isBusy = (drain: Drain): boolean => busyNodesOf(drain).length > 0;
  return {
    drains,
    ownOf,
    ownOn,
    drainsOn,
    byWeightOn: once((node) => {
      const weights = new Map(drainsOn(node).map((drain) => [drain, weightOf(ownOn(drain, node))]));
      const compare = (of: ReadonlyMap<Drain, number>, a: Drain, b: Drain): number =>
        (of.get(a) ?? 0) - (of.get(b) ?? 0);
      return drainsOn(node).toSorted((a, b) => compare(weights, a, b) || compare(order, a, b));
    }),
    targetsOf,
    targetsFor: ({ keep = [] }, node) => withoutKept(targetsOf(node), keep),
    evictingOn,
    busyNodesOf,
    isBusy,
    firstBusyOn: once((node) => drainsOn(node).find(isBusy)),
  };
}
