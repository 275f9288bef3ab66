import type { EvictionRequest } from '../../../api/eviction-request.ts';
import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import type { Pod } from '../../../api/pod.ts';
import { nodeStatusesOf } from '../../../decide/maintenance/recorded-node.ts';
import { drainView, type DrainView, type ShownPods, withSeen } from '../../../show/progress/drain-progress.ts';
import { NODE_MAINTENANCES, PODS, EVICTION_REQUESTS } from '../../../kube/resource.ts';
import { transformPod, withoutManagers } from '../../../kube/cache/transform.ts';
import type { ObjectCache } from '../../../kube/watch.ts';
import { type FollowContext, Follower, type FollowStop } from '../follower.ts';
import { NODE_LABEL } from '../../../api/names.ts';
import { nodeLabel } from '../../../decide/node-label.ts';
import { NOT_TAKEN_UP } from './drain-text.ts';
import { UNNOTICED_MS } from '../../../show/progress/eviction-progress.ts';
import type { MaintenanceClient } from '../../../kube/maintenance/client.ts';

/** The requests of the moment, by the UID of the pod. */
type RequestsByPod = ReadonlyMap<string, EvictionRequest>;

function onNodes(nodes: readonly string[]): string {
  return `${NODE_LABEL} in (${nodes.map(nodeLabel).join(',')})`;
}

function byPod(requests: readonly EvictionRequest[]): RequestsByPod {
  return new Map(requests.map((request) => [request.spec.target.pod.uid, request]));
}

/** Reads the requests of drains on the nodes, by the UID of the pod. Throws API_REFUSED and API_UNREACHABLE. */
export async function readDrainRequests(
  client: MaintenanceClient,
  nodes: readonly string[],
  signal: AbortSignal,
): Promise<RequestsByPod> {
  if (nodes.length === 0) return new Map();
  const query = new URLSearchParams({ labelSelector: onNodes(nodes) }).toString();
  return byPod(await client.list<EvictionRequest>(EVICTION_REQUESTS, query, signal));
}

/** Follows the requests of drains on the nodes, or on all nodes unless given. */
function followDrainRequests(follower: Follower, nodes: readonly string[] | undefined): () => RequestsByPod {
  const some = nodes === undefined ? {} : { labelSelector: onNodes(nodes) };
  const requests = follower.copy<EvictionRequest>({ resource: EVICTION_REQUESTS, ...some }, withoutManagers);
  return () => byPod(requests.list());
}

/** A maintenance to watch, and its nodes as far as they are known before the controller names them. */
export interface DrainWatchTarget {
  readonly maintenance: NodeMaintenance;
  readonly nodes: readonly string[];
}

/** What watching needs from outside. */
interface DrainWatchContext extends FollowContext {
  /** Shows what is new in a view. */
  readonly show: (view: DrainView) => void;
}

/** How watching ended; `deleted` also where the maintenance was replaced by another of its name. */
export interface DrainWatchResult extends Pick<DrainWatchTarget, 'maintenance'> {
  readonly ending: 'drained' | 'completed' | 'deleted' | FollowStop;
  readonly view?: DrainView;
}

/** The copies of what is watched. */
interface Copies {
  readonly maintenances: ObjectCache<NodeMaintenance>;
  readonly requests: () => RequestsByPod;
  readonly pods: readonly ObjectCache<Pod>[];
}

/** The pods of up to this many nodes are watched node by node; of more, the pods of the whole cluster are. */
const MAX_WATCHES = 16;

function openCopies(targets: readonly DrainWatchTarget[], follower: Follower): Copies {
  const nodes = targets.flatMap((target) => target.nodes);
  const isFew = nodes.length > 0 && nodes.length <= MAX_WATCHES;
  const podCopy = (scope: { readonly fieldSelector?: string }): ObjectCache<Pod> =>
    follower.copy<Pod>({ resource: PODS, ...scope }, transformPod);
  const only = targets.length === 1 ? { fieldSelector: `metadata.name=${targets[0]?.maintenance.metadata.name}` } : {};
  return {
    maintenances: follower.copy({ resource: NODE_MAINTENANCES, ...only }),
    requests: followDrainRequests(follower, isFew ? nodes : undefined),
    pods: isFew ? nodes.map((node) => podCopy({ fieldSelector: `spec.nodeName=${node}` })) : [podCopy({})],
  };
}

/** Pods of the nodes that the maintenance has, or had when watching began. */
function podsAndNodes(
  maintenance: NodeMaintenance,
  target: DrainWatchTarget,
  copies: Copies,
): { readonly nodes: readonly string[]; readonly pods: readonly Pod[] } {
  const named = nodeStatusesOf(maintenance.status).map(({ nodeRef }) => nodeRef.name);
  const nodes = [...new Set([...target.nodes, ...named])].toSorted();
  const pods = copies.pods.flatMap((copy) => copy.list()).filter(({ spec }) => nodes.includes(spec.nodeName ?? ''));
  return { nodes, pods };
}

function endingOf({ stage, drained }: DrainView): 'drained' | 'completed' | undefined {
  if (stage === 'Complete') return 'completed';
  return stage === 'Drain' && drained ? 'drained' : undefined;
}

/**
 * Shows maintenances until the nodes of each are drained, it is complete or gone, `timeoutMs` milliseconds are over (undefined:
 * no limit), or `stop` is aborted. Watches only, one connection a resource, and one for the pods of each of a few nodes. Throws
 * API_REFUSED where the watch is not allowed.
 */
export async function watchDrains(
  targets: readonly DrainWatchTarget[],
  context: DrainWatchContext,
  timeoutMs: number | undefined,
  stop: AbortSignal,
): Promise<readonly DrainWatchResult[]> {
  const { clock, show } = context;
  const startedAt = clock.monotonic();
  const follower = new Follower(context);
  const copies = openCopies(targets, follower);
  let seen: ShownPods = new Map();
  const views = new Map<DrainWatchTarget, DrainView>();
  const endings = new Map<DrainWatchTarget, DrainWatchResult['ending']>();
  const lookAt = (target: DrainWatchTarget): DrainWatchResult['ending'] | undefined => {
    const { name, uid } = target.maintenance.metadata;
    const maintenance = copies.maintenances.get(name);
    if (maintenance === undefined || maintenance.metadata.uid !== uid) return 'deleted';
    const { nodes, pods } = podsAndNodes(maintenance, target, copies);
    const requests = copies.requests();
    const requestOf = ({ metadata: { uid = '' } }: Pod): EvictionRequest | undefined => requests.get(uid);
    seen = withSeen(seen, pods);
    const view = drainView({ maintenance, nodes, pods, requestOf, seen }, clock.now());
    views.set(target, view);
    show(view);
    return endingOf(view);
  };
  const look = (): 'over' | undefined => {
    if (!follower.synced()) return undefined;
    for (const target of targets.filter((each) => !endings.has(each))) {
      const ending = lookAt(target);
      if (ending !== undefined) endings.set(target, ending);
    }
    return endings.size === targets.length ? 'over' : undefined;
  };
  const note = (): string | undefined => {
    // Where the stage was changed, the maintenance is older than what the controller has to take up.
    const isEarly = clock.monotonic() - startedAt < UNNOTICED_MS;
    return !isEarly && [...views.values()].some(({ isTakenUp }) => !isTakenUp) ? NOT_TAKEN_UP : undefined;
  };
  const stopped = await follower.run({ look, note, timeoutMs }, stop);
  return targets.map((target) => {
    const view = views.get(target);
    const ending = endings.get(target) ?? (stopped === 'over' ? 'deleted' : stopped);
    return { maintenance: target.maintenance, ending, ...(view === undefined ? {} : { view }) };
  });
}
