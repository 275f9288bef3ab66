import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { entryCovers, targetsCover } from '../maintenance/drain-plan.ts';
import { type Drain, type DrainNode, type OverlappingDrains, overlapAt, indexDrains } from './overlapping-drains.ts';
import { nodesGoingDown, separateDrains } from './going-down.ts';
import { identityOf, type NodeIdentity } from '../maintenance/recorded-node.ts';
import { namesText } from './summary.ts';
import { entriesReached, isWithin } from '../maintenance/drain-targets.ts';
import type { DrainPod } from '../pod.ts';
import { shortened } from '../../printable.ts';
import { describeStaying, waitedFor } from '../staying-pod/staying-pods.ts';
import { describeVolumes, type NodeVolumes, waitsForVolumes } from '../volume/wait.ts';

type Targets = readonly DrainPlanEntry[];

/** A message of a node has room for the names of some pods beside the rest, in characters. */
const MAX_STAYING = 500;

/** What a drain does on one of its nodes. */
export interface NodeResolution extends NodeIdentity {
  readonly drainTargets: Targets;
  /** How many entries of the drain's own plan it has reached. */
  readonly position: number;
  /** Targeted pods that are still there. */
  readonly evicting: readonly DrainPod[];
  /** The UIDs of those that others need, and that are not asked to leave yet. */
  readonly staying: ReadonlySet<string>;
  /** Pods that are not targeted yet. */
  readonly pending: readonly DrainPod[];
  readonly message: string;
  /** As in DrainNode. */
  readonly kept?: readonly DrainPod[];
  /** As in DrainNode. */
  readonly volumes?: NodeVolumes;
  /** As in DrainNode; absent too where other pods have to leave before. */
  readonly guard?: string;
  /** The older maintenance whose progress this one had to take over (KEP-4212, "fast-forwarded"). */
  readonly fastForwardedBy?: string;
}

/** What a drain does now. */
export interface DrainResolution {
  /** How many entries of its plan all of its nodes have reached; 0 where it has none. */
  readonly position: number;
  readonly nodes: readonly NodeResolution[];
  /** Whether no pod and no volume that is waited for is left on any node. */
  readonly drained: boolean;
}

/**
 * Whether all the nodes of the drains that it intersects with have finished with their targets, and its own too. What is
 * still evicted on a node that is ahead belongs to a later entry, so that those that catch up do not wait for it.
 */
function isQuietAround(overlap: OverlappingDrains, drain: Drain, position: number): boolean {
  const moving = drain.nodes.filter((node) => node.position <= position);
  return !overlap.isBusy(drain) && moving.every(({ name }) => overlap.firstBusyOn(name) === undefined);
}

/**
 * Whether a drain may go on to the next entry of its plan (KEP-4212, "Pod Selection"): nothing that its own entries target
 * is left on its nodes, and all the nodes of the drains that it intersects with have finished with their targets.
 */
function mayGoOn(overlap: OverlappingDrains, drain: Drain, position: number): boolean {
  const own = overlap.ownOf(drain);
  return (
    isQuietAround(overlap, drain, position) &&
    !drain.nodes.some(({ pods }) => waitedFor(pods).some((pod) => targetsCover(own, pod)))
  );
}

/**
 * Whether static pods have to stay on a node: for the control plane, which has lost another member since the drain began; or for
 * volumes, which nobody could detach later on a control plane, and of which nobody could see it without an API server.
 */
function keepsStaticPods({ plan, nodes }: Drain, position: number): boolean {
  const keeps = ({ volumes, guard }: DrainNode): boolean => guard !== undefined || waitsForVolumes(volumes);
  return plan[position]?.podType === 'Static' && nodes.some(keeps);
}

/** The first entry is targeted at once, and none beyond the last. */
function within({ plan }: Drain, position: number): number {
  return Math.min(plan.length, Math.max(1, position));
}

/** What all nodes of a drain have reached before: those that are furthest behind. */
function reachedBefore(drain: Drain): number {
  return within(drain, Math.min(...drain.nodes.map(({ position }) => position)));
}

/** The drains when each has gone on as far as it may, and the positions that they have reached. One without nodes is left out. */
function advance(drains: readonly Drain[]): {
  readonly overlap: OverlappingDrains;
  readonly positions: ReadonlyMap<Drain, number>;
} {
  const index = indexDrains(drains);
  const some = drains.filter(({ nodes }) => nodes.length > 0);
  const positions = new Map(some.map((drain) => [drain, reachedBefore(drain)]));
  const positionOf = (drain: Drain): number => positions.get(drain) ?? 0;
  for (;;) {
    const overlap = overlapAt(index, positions);
    const behind = some.filter((drain) => {
      return positionOf(drain) < drain.plan.length && !keepsStaticPods(drain, positionOf(drain));
    });
    let movers = behind.filter((drain) => mayGoOn(overlap, drain, positionOf(drain)));
    if (movers.length === 0) {
      // Selectors of two plans can keep a pod from both. Where nothing moves at all, the drain that is furthest behind does.
      const stuck = behind.filter((drain) => {
        return (
          drain.nodes.some(({ pods }) => waitedFor(pods).length > 0) && isQuietAround(overlap, drain, positionOf(drain))
        );
      });
      movers = stuck.toSorted((a, b) => positionOf(a) - positionOf(b)).slice(0, 1);
    }
    if (movers.length === 0) return { overlap, positions };
    for (const drain of movers) positions.set(drain, positionOf(drain) + 1);
  }
}

/** The suffix of an evacuating node's message (KEP-4212, "Pod Selection and DrainTargets Example"). */
function explain(overlap: OverlappingDrains, drain: Drain, node: string): { text: string; fastForwardedBy?: string } {
  const own = overlap.ownOn(drain, node);
  const targets = overlap.targetsFor(drain, node);
  const isOlder = ({ startedAt, name }: Drain): boolean =>
    startedAt < drain.startedAt || (startedAt === drain.startedAt && name < drain.name);
  if (!isWithin(targets, own)) {
    const by = overlap.byWeightOn(node).find(isOlder)?.name;
    if (by !== undefined) return { text: `Evacuating (fast-forwarded by older ${by})`, fastForwardedBy: by };
  } else if (!isWithin(own, targets)) {
    const by = overlap.byWeightOn(node).find(({ name }) => name !== drain.name)?.name;
    if (by !== undefined) return { text: `Evacuating (limited by ${by})` };
  }
  return { text: 'Evacuating' };
}

/** For whom a node waits that has nothing to evict now. */
function waiting(overlap: OverlappingDrains, drain: Drain): string {
  if (overlap.isBusy(drain)) return `Waiting for node ${namesText(overlap.busyNodesOf(drain))}.`;
  const busy = new Set(drain.nodes.map(({ name }) => overlap.firstBusyOn(name)));
  const other = busy.size === 1 ? [...busy][0] : overlap.drains.find((each) => busy.has(each));
  return other === undefined
    ? 'Evacuating'
    : `Waiting for node ${namesText(overlap.busyNodesOf(other))} (${other.name}).`;
}

function seenOn({ volumes, kept }: DrainNode): Pick<NodeResolution, 'volumes' | 'kept'> {
  return { ...(volumes === undefined ? {} : { volumes }), ...(kept === undefined ? {} : { kept }) };
}

function isNodeDrained({ pods, volumes }: DrainNode): boolean {
  return waitedFor(pods).length === 0 && !waitsForVolumes(volumes);
}

/** That the node is drained, and which pods stay there all the same. */
function drainedMessage({ pods, kept = [] }: DrainNode): string {
  const staying = describeStaying([...pods, ...kept]);
  return staying === undefined ? 'Drained' : `Drained; what stays: ${shortened(staying, MAX_STAYING)}`;
}

/** What the node waits for where nothing else is to be done there now: what is targeted stays for its volumes. */
function volumesMessage({ volumes }: DrainNode, evicting: readonly DrainPod[]): string | undefined {
  if (!waitsForVolumes(volumes) || evicting.some(({ order }) => order === undefined)) return undefined;
  return `Waiting for ${describeVolumes([volumes])}`;
}

const NOBODY: ReadonlySet<string> = new Set();

/**
 * Those of the targeted pods that stay for others: for each one that leaves before it, and for volumes. A deadline ends that, as
 * it ends every wait.
 */
export function stayingOn(
  { plan }: Pick<Drain, 'plan'>,
  { volumes, due = 0 }: Pick<DrainNode, 'volumes' | 'due'>,
  evicting: readonly DrainPod[],
): ReadonlySet<string> {
  if (evicting.every(({ order }) => order === undefined)) return NOBODY;
  const others = waitedFor(evicting).filter(({ podType }) => podType !== 'Static');
  const reached = plan.slice(0, due);
  const staying = evicting.filter((pod) => {
    const { order } = pod;
    if (order === undefined || reached.some((entry) => entryCovers(entry, pod))) return false;
    return waitsForVolumes(volumes) || others.some((other) => (other.order ?? 0) < order);
  });
  return new Set(staying.map(({ uid }) => uid));
}

/** What a drain, or the part of one that moves on by itself, does on each of its nodes. */
function resolveNodes(overlap: OverlappingDrains, drain: Drain, reached: number): readonly NodeResolution[] {
  // The same for each of its nodes.
  let wait: string | undefined;
  return drain.nodes.map((node): NodeResolution => {
    const evicting = overlap.evictingOn(node);
    const leaving = new Set(evicting);
    const pending = node.pods.filter((pod) => !leaving.has(pod));
    const { text, ...explained } = explain(overlap, drain, node.name);
    const isQuiet = waitedFor(evicting).length === 0;
    if (isQuiet) wait ??= waiting(overlap, drain);
    const own = isQuiet ? (wait ?? '') : text;
    const position = Math.max(reached, within(drain, node.position));
    const guard = isQuiet && drain.plan[position]?.podType === 'Static' ? node.guard : undefined;
    const message = isNodeDrained(node) ? drainedMessage(node) : (volumesMessage(node, evicting) ?? guard ?? own);
    return {
      ...identityOf(node),
      drainTargets: overlap.targetsFor(drain, node.name),
      position,
      evicting,
      staying: stayingOn(drain, node, evicting),
      pending,
      message,
      ...(guard === undefined ? {} : { guard }),
      ...seenOn(node),
      ...explained,
    };
  });
}

/**
 * Moves all drains of a cluster on (KEP-4212, "Pod Selection" and its example) and returns what each does now. The
 * position of a drain on a node only grows, and so do the node's targets. The nodes of a drain go on together; one that
 * joined later goes through the plan from its first entry, while those that are ahead keep what they have reached and
 * wait for it. One that goes down goes on by itself.
 */
export function resolveDrains(drains: readonly Drain[]): ReadonlyMap<string, DrainResolution> {
  const goingDown = nodesGoingDown(drains);
  const parts = new Map(drains.map((drain) => [drain, separateDrains(drain, goingDown)]));
  const { overlap, positions } = advance([...parts.values()].flat());
  const resolutions = drains.map((drain): readonly [string, DrainResolution] => {
    const own = parts.get(drain) ?? [];
    const byName = new Map(
      own
        .flatMap((part) => resolveNodes(overlap, part, positions.get(part) ?? 0))
        .map((node): readonly [string, NodeResolution] => [node.name, node]),
    );
    const nodes = drain.nodes.flatMap(({ name }) => byName.get(name) ?? []);
    const position = Math.min(...own.map((part) => positions.get(part) ?? 0));
    return [drain.name, { position, nodes, drained: drain.nodes.every(isNodeDrained) }];
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
  const drain: Drain = {
    name: '',
    startedAt: 0,
    plan,
    nodes: [{ name: '', pods, recorded, position: reached, due: position }],
  };
  const resolution = resolveDrains([drain]).get('');
  const [node] = resolution?.nodes ?? [];
  const nothing = {
    name: '',
    drainTargets: recorded,
    position: reached,
    evicting: pods,
    staying: NOBODY,
    pending: [],
    message: '',
  };
  return { ...(node ?? nothing), drained: resolution?.drained === true };
}
