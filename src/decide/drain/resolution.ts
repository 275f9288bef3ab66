import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { targetsCover } from './plan.ts';
import { type Drain, type DrainsAtOnce, fieldOf, indexDrains } from './field.ts';
import { entriesReached, isWithin, targetsAfter } from './targets.ts';
import type { DrainPod } from '../pod.ts';

type Targets = readonly DrainPlanEntry[];

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

/** Whether all the nodes of the drains that it intersects with have finished with their targets, and its own too. */
function isQuietAround(field: DrainsAtOnce, drain: Drain): boolean {
  return drain.nodes.every(({ name }) => field.firstBusyOn(name) === undefined);
}

/**
 * Whether a drain may go on to the next entry of its plan (KEP-4212, "Pod Selection"): nothing that its own entries target
 * is left on its nodes, and all the nodes of the drains that it intersects with have finished with their targets.
 */
function mayGoOn(field: DrainsAtOnce, drain: Drain): boolean {
  const own = field.ownOf(drain);
  return isQuietAround(field, drain) && !drain.nodes.some(({ pods }) => pods.some((pod) => targetsCover(own, pod)));
}

/** What was reached before. */
function reachedBefore({ plan, position, nodes }: Drain): number {
  // A status of an older version has no position: the targets that it records tell it.
  const recorded = position > 0 ? position : Math.min(...nodes.map((node) => entriesReached(plan, node.recorded)));
  return Math.min(plan.length, Math.max(1, Number.isFinite(recorded) ? recorded : 1));
}

/** The drains when each has gone on as far as it may, and the positions that they have reached. */
function advance(drains: readonly Drain[]): {
  readonly field: DrainsAtOnce;
  readonly positions: ReadonlyMap<string, number>;
} {
  const index = indexDrains(drains);
  const positions = new Map(drains.map((drain) => [drain.name, reachedBefore(drain)]));
  const positionOf = ({ name }: Drain): number => positions.get(name) ?? 0;
  const own = new Map(drains.map((drain) => [drain.name, targetsAfter(drain.plan, positionOf(drain))]));
  for (;;) {
    const field = fieldOf(index, own);
    const behind = drains.filter((drain) => positionOf(drain) < drain.plan.length);
    let movers = behind.filter((drain) => mayGoOn(field, drain));
    if (movers.length === 0) {
      // Selectors of two plans can keep a pod from both. Where nothing moves at all, the drain that is furthest behind does.
      const stuck = behind.filter((drain) => {
        return drain.nodes.some(({ pods }) => pods.length > 0) && isQuietAround(field, drain);
      });
      movers = stuck.toSorted((a, b) => positionOf(a) - positionOf(b)).slice(0, 1);
    }
    if (movers.length === 0) return { field, positions };
    for (const drain of movers) {
      positions.set(drain.name, positionOf(drain) + 1);
      own.set(drain.name, targetsAfter(drain.plan, positionOf(drain)));
    }
  }
}

/** The suffix of an evacuating node's message (KEP-4212, "Pod Selection and DrainTargets Example"). */
function explain(field: DrainsAtOnce, drain: Drain, node: string): { text: string; fastForwardedBy?: string } {
  const own = field.ownOf(drain);
  const targets = field.targetsOf(node);
  const isOlder = ({ createdAt, name }: Drain): boolean =>
    createdAt < drain.createdAt || (createdAt === drain.createdAt && name < drain.name);
  if (!isWithin(targets, own)) {
    const by = field.byWeightOn(node).find(isOlder)?.name;
    if (by !== undefined) return { text: `Evacuating (fast-forwarded by older ${by})`, fastForwardedBy: by };
  } else if (!isWithin(own, targets)) {
    const by = field.byWeightOn(node).find(({ name }) => name !== drain.name)?.name;
    if (by !== undefined) return { text: `Evacuating (limited by ${by})` };
  }
  return { text: 'Evacuating' };
}

function busyNodes(field: DrainsAtOnce, drain: Drain): readonly string[] {
  return drain.nodes.filter((node) => field.evictingOn(node).length > 0).map(({ name }) => name);
}

/** For whom a node waits that has nothing to evict now. */
function waiting(field: DrainsAtOnce, drain: Drain): string {
  if (field.isBusy(drain)) return `Waiting for node ${busyNodes(field, drain).join(', ')}.`;
  const busy = new Set(drain.nodes.map(({ name }) => field.firstBusyOn(name)));
  const other = busy.size === 1 ? [...busy][0] : field.drains.find((each) => busy.has(each));
  return other === undefined ? 'Evacuating' : `Waiting for node ${busyNodes(field, other).join(', ')} (${other.name}).`;
}

/**
 * Moves all drains of a cluster on (KEP-4212, "Pod Selection" and its example) and returns what each does now. Each
 * drain's position only grows, and so do the targets of every node.
 */
export function resolveDrains(drains: readonly Drain[]): ReadonlyMap<string, DrainResolution> {
  const { field, positions } = advance(drains);
  const resolutions = drains.map((drain): readonly [string, DrainResolution] => {
    // The same for each of its nodes.
    let wait: string | undefined;
    const nodes = drain.nodes.map((node): NodeResolution => {
      const evicting = field.evictingOn(node);
      const leaving = new Set(evicting);
      const pending = node.pods.filter((pod) => !leaving.has(pod));
      const { text, ...explained } = explain(field, drain, node.name);
      if (evicting.length === 0) wait ??= waiting(field, drain);
      const message = node.pods.length === 0 ? 'Drained' : evicting.length > 0 ? text : (wait ?? '');
      const drainTargets = field.targetsOf(node.name);
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
