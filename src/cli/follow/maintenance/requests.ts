/** The requests of drains, for people who look at a drain. */
import type { EvictionRequest } from '../../../api/eviction-request.ts';
import { NODE_LABEL } from '../../../api/names.ts';
import { nodeLabel } from '../../../decide/node-label.ts';
import { transformRequest } from '../../../kube/copy/transform.ts';
import type { MaintenanceClient } from '../../../kube/maintenance/client.ts';
import { EVICTION_REQUESTS } from '../../../kube/resource.ts';
import type { Follower } from '../follower.ts';

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

export type FollowedRequests = () => RequestsByPod;

/** Follows the requests of drains on the nodes, or on all nodes unless given. */
export function followDrainRequests(follower: Follower, nodes: readonly string[] | undefined): FollowedRequests {
  const some = nodes === undefined ? {} : { labelSelector: onNodes(nodes) };
  const requests = follower.copy({ resource: EVICTION_REQUESTS, ...some }, transformRequest);
  return () => byPod(requests.list());
}
