import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { createSystemClock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { transformNode } from '../../kube/cache/transform.ts';
import { NODE_MAINTENANCES, NODES } from '../../kube/resource.ts';
import { Follower, type FollowStop } from '../follow/follower.ts';

/** Nodes and a maintenance as observed; those that do not exist are absent. */
export interface AwaitedNode {
  readonly maintenance: NodeMaintenance | undefined;
  readonly nodes: readonly Node[];
}

/** How waiting ended. */
interface NodeWaitResult {
  readonly ending: 'done' | FollowStop;
  readonly observed: AwaitedNode;
}

/** What to wait for. */
interface AwaitedNodes {
  readonly maintenance: string;
  readonly nodes: readonly string[];
  readonly isDone: (observed: AwaitedNode) => boolean;
  /** Milliseconds; undefined for no limit. */
  readonly timeoutMs: number | undefined;
}

/** Up to this many nodes are watched one by one; beyond it, all nodes of the cluster are. */
const MAX_WATCHES = 8;

/**
 * Watches a maintenance and its nodes, without a word, until they are as awaited, the time is over, or the signal is aborted.
 * Throws API_REFUSED where the server denies it from the beginning.
 */
export async function waitForNodes(
  { maintenance, nodes, isDone, timeoutMs }: AwaitedNodes,
  client: KubeClient,
  signal: AbortSignal,
): Promise<NodeWaitResult> {
  const follower = new Follower({ client, clock: createSystemClock(), say: () => undefined });
  const own = follower.copy<NodeMaintenance>({
    resource: NODE_MAINTENANCES,
    fieldSelector: `metadata.name=${maintenance}`,
  });
  const scopes = nodes.length <= MAX_WATCHES ? nodes.map((name) => ({ fieldSelector: `metadata.name=${name}` })) : [{}];
  const copies = scopes.map((scope) => follower.copy<Node>({ resource: NODES, ...scope }, transformNode));
  const observed = (): AwaitedNode => ({
    maintenance: own.get(maintenance),
    nodes: copies.flatMap((copy) => copy.list()).filter(({ metadata }) => nodes.includes(metadata.name)),
  });
  const look = (): 'done' | undefined => (follower.synced() && isDone(observed()) ? 'done' : undefined);
  const ending = await follower.run({ look, timeoutMs }, signal);
  return { ending, observed: observed() };
}
