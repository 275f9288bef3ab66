import type { DrainPlanEntry } from '../api/node-maintenance.ts';
import { targetsCover } from './drain-plan.ts';
import { entriesReached, isWithin, leastPowerful, mostPowerful, targetsAfter } from './drain-targets.ts';
import type { DrainPod } from './pod.ts';

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

/** What a drain does on one of its nodes. */
export interface NodeResolution {
  readonly name: string;
  readonly drainTargets: Targets;
  /** Targeted pods that are still there. */
  readonly evicting: readonly DrainPod[];
  /** Pods that are not targeted yet. */
  readonly pending: readonly DrainPod[];
  readonly message: string;
  /** The older maintenance whose progress this one had to take over (KEP-4212, "fast-forwarded"). */
  readonly fastForwardedBy?: string;
}

/** What a drain does now. */
export interface DrainResolution {
  readonly position: number;
  readonly nodes: readonly NodeResolution[];
  /** Whether nothing is left on any node. */
  readonly drained: boolean;
}

/** The drains as they stand at one moment. */
interface Field {
  readonly drains: readonly Drain[];
  readonly own: ReadonlyMap<string, Targets>;
}

function drainsOn({ drains }: Field, node: string): readonly Drain[] {
  return drains.filter(({ nodes }) => nodes.some(({ name }) => name === node));
}

/** The targets of a node: the least powerful of its drains, never behind what was recorded (no backtracking). */
function targetsOf(field: Field, node: string): Targets {
  const drains = drainsOn(field, node);
  const resolved = leastPowerful(drains.map(({ name }) => field.own.get(name) ?? []));
  const recorded = drains.flatMap(({ nodes }) =>
    nodes.filter(({ name }) => name === node).map((each) => each.recorded),
  );
  return mostPowerful([resolved, ...recorded]);
}

function evictingOn(field: Field, node: DrainNode): readonly DrainPod[] {
  const targets = targetsOf(field, node.name);
  return node.pods.filter((pod) => targetsCover(targets, pod));
}

/** The other drains that share a node with this one. */
function intersecting({ drains }: Field, drain: Drain): readonly Drain[] {
  const names = new Set(drain.nodes.map(({ name }) => name));
  return drains.filter((other) => other.name !== drain.name && other.nodes.some(({ name }) => names.has(name)));
}

function at(drains: readonly Drain[], positions: ReadonlyMap<string, number>): Field {
  const own = drains.map(({ name, plan }) => [name, targetsAfter(plan, positions.get(name) ?? 1)] as const);
  return { drains, own: new Map(own) };
}

/**
 * Whether a drain may go on to the next entry of its plan (KEP-4212, "Pod Selection"): nothing that its own entries target
 * is left on its nodes, and all the nodes of the drains that it intersects with have finished with their targets.
 */
function mayGoOn(field: Field, drain: Drain): boolean {
  const own = field.own.get(drain.name) ?? [];
  if (drain.nodes.some(({ pods }) => pods.some((pod) => targetsCover(own, pod)))) return false;
  const around = [drain, ...intersecting(field, drain)];
  return around.every(({ nodes }) => nodes.every((node) => evictingOn(field, node).length === 0));
}

/** Positions that are reached when each drain goes on as far as it may. */
function advance(drains: readonly Drain[]): ReadonlyMap<string, number> {
  const positions = new Map(
    drains.map(({ name, plan, position, nodes }) => {
      // A status of an older version has no position: the targets that it records tell it.
      const recorded = position > 0 ? position : Math.min(...nodes.map((node) => entriesReached(plan, node.recorded)));
      return [name, Math.min(plan.length, Math.max(1, Number.isFinite(recorded) ? recorded : 1))] as const;
    }),
  );
  for (;;) {
    const field = at(drains, positions);
    const behind = drains.filter(({ name, plan }) => (positions.get(name) ?? 0) < plan.length);
    let movers = behind.filter((drain) => mayGoOn(field, drain));
    if (movers.length === 0) {
      // Selectors of two plans can keep a pod from both. Where nothing moves at all, the drain that is furthest behind does.
      const stuck = behind.filter((drain) => {
        const around = [drain, ...intersecting(field, drain)];
        const hasPods = drain.nodes.some(({ pods }) => pods.length > 0);
        return hasPods && around.every(({ nodes }) => nodes.every((node) => evictingOn(field, node).length === 0));
      });
      movers = stuck.toSorted((a, b) => (positions.get(a.name) ?? 0) - (positions.get(b.name) ?? 0)).slice(0, 1);
    }
    if (movers.length === 0) return positions;
    for (const { name } of movers) positions.set(name, (positions.get(name) ?? 0) + 1);
  }
}

/** The suffix of an evacuating node's message (KEP-4212, "Pod Selection and DrainTargets Example"). */
function explain(
  field: Field,
  drain: Drain,
  node: string,
  targets: Targets,
): { text: string; fastForwardedBy?: string } {
  const own = field.own.get(drain.name) ?? [];
  const others = drainsOn(field, node).filter(({ name }) => name !== drain.name);
  if (!isWithin(targets, own)) {
    const older = others.filter(({ createdAt, name }) => {
      return createdAt < drain.createdAt || (createdAt === drain.createdAt && name < drain.name);
    });
    const by = older.toSorted((a, b) => weight(field, a) - weight(field, b))[0]?.name;
    if (by !== undefined) return { text: `Evacuating (fast-forwarded by older ${by})`, fastForwardedBy: by };
  } else if (!isWithin(own, targets)) {
    const by = others.toSorted((a, b) => weight(field, a) - weight(field, b))[0]?.name;
    if (by !== undefined) return { text: `Evacuating (limited by ${by})` };
  }
  return { text: 'Evacuating' };
}

/** A number that grows with how much a drain targets, to find the least powerful. */
function weight(field: Field, { name }: Drain): number {
  const targets = field.own.get(name) ?? [];
  const types = new Set(targets.map(({ podType }) => podType)).size;
  return types * 2 ** 33 + (targets.at(-1)?.podPriority ?? 0);
}

function busyNodes(field: Field, drain: Drain): readonly string[] {
  return drain.nodes.filter((node) => evictingOn(field, node).length > 0).map(({ name }) => name);
}

/** For whom a node waits that has nothing to evict now. */
function waiting(field: Field, drain: Drain): string {
  const own = busyNodes(field, drain);
  if (own.length > 0) return `Waiting for node ${own.join(', ')}.`;
  for (const other of intersecting(field, drain)) {
    const nodes = busyNodes(field, other);
    if (nodes.length > 0) return `Waiting for node ${nodes.join(', ')} (${other.name}).`;
  }
  return 'Evacuating';
}

/**
 * Moves all drains of a cluster on (KEP-4212, "Pod Selection" and its example) and returns what each does now. Each
 * drain's position only grows, and so do the targets of every node.
 */
export function resolveDrains(drains: readonly Drain[]): ReadonlyMap<string, DrainResolution> {
  const positions = advance(drains);
  const field = at(drains, positions);
  const resolutions = drains.map((drain): readonly [string, DrainResolution] => {
    const nodes = drain.nodes.map((node): NodeResolution => {
      const drainTargets = targetsOf(field, node.name);
      const evicting = evictingOn(field, node);
      const pending = node.pods.filter((pod) => !evicting.includes(pod));
      const { text, ...explained } = explain(field, drain, node.name, drainTargets);
      const message = node.pods.length === 0 ? 'Drained' : evicting.length > 0 ? text : waiting(field, drain);
      return { name: node.name, drainTargets, evicting, pending, message, ...explained };
    });
    const drained = drain.nodes.every(({ pods }) => pods.length === 0);
    return [drain.name, { position: positions.get(drain.name) ?? 1, nodes, drained }];
  });
  return new Map(resolutions);
}

/**
 * Moves the drain of one node on that nobody else drains, as an agent does without a cluster; `position` is how many entries
 * of the plan are reached at the least.
 */
export function resolveDrain(
  plan: Targets,
  pods: readonly DrainPod[],
  recorded: Targets,
  position = 0,
): NodeResolution & { readonly drained: boolean } {
  const reached = Math.max(position, entriesReached(plan, recorded));
  const drain: Drain = { name: '', createdAt: 0, plan, position: reached, nodes: [{ name: '', pods, recorded }] };
  const resolution = resolveDrains([drain]).get('');
  const [node] = resolution?.nodes ?? [];
  const nothing = { name: '', drainTargets: recorded, evicting: pods, pending: [], message: '' };
  return { ...(node ?? nothing), drained: resolution?.drained === true };
}
