/** The requests of drains in both dialects, for people who look at a drain. */
import type { EvictionRequest } from '../../../api/eviction-request.ts';
import { DRAIN_REQUESTER, type Eviction, type LifecycleRequest } from '../../../api/lifecycle.ts';
import type { KubeObject } from '../../../api/meta.ts';
import { NODE_LABEL } from '../../../api/names.ts';
import { drainRequests } from '../../../decide/lifecycle/drain-view.ts';
import { nodeLabel } from '../../../decide/node-label.ts';
import { NodemaintError } from '../../../errors.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { transformRequest } from '../../../kube/copy/transform.ts';
import { type Read, readEviction, readLifecycleRequest } from '../../../kube/lifecycle/parse.ts';
import { EVICTIONS, LIFECYCLE_REQUESTS } from '../../../kube/lifecycle/resources.ts';
import type { MaintenanceClient } from '../../../kube/maintenance/client.ts';
import { collectionPath, EVICTION_REQUESTS, type Resource } from '../../../kube/resource.ts';
import type { Follower } from '../follower.ts';

/** Evictions have each of their requesters as a label. */
const OF_DRAINS = DRAIN_REQUESTER;

function onNodes(nodes: readonly string[]): string {
  return `${NODE_LABEL} in (${nodes.map(nodeLabel).join(',')})`;
}

function known<T extends KubeObject>(objects: readonly Read<T>[]): readonly T[] {
  return objects.flatMap(({ read }) => read ?? []);
}

/**
 * Reads the requests of drains on the nodes, by the UID of the pod. Those of `lifecycle.k8s.io` are left out where the user may
 * not read them: a cluster that does not serve the group refuses them too. Throws API_REFUSED and API_UNREACHABLE.
 */
export async function readDrainRequests(
  client: MaintenanceClient,
  nodes: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, EvictionRequest>> {
  if (nodes.length === 0) return new Map();
  const list = async <T extends KubeObject>(resource: Resource, labelSelector: string): Promise<readonly T[]> =>
    await client.list<T>(resource, new URLSearchParams({ labelSelector }).toString(), signal);
  const newer = async (resource: Resource, labelSelector: string): Promise<readonly KubeObject[]> => {
    return await list(resource, labelSelector).catch((error: unknown) => {
      if (error instanceof NodemaintError && error.code === 'API_REFUSED') return [];
      throw error;
    });
  };
  const older = await list<EvictionRequest>(EVICTION_REQUESTS, onNodes(nodes));
  const requests = known((await newer(LIFECYCLE_REQUESTS, onNodes(nodes))).map(readLifecycleRequest));
  const evictions = requests.length === 0 ? [] : known((await newer(EVICTIONS, OF_DRAINS)).map(readEviction));
  return drainRequests({ older, requests, evictions });
}

/** Whether the cluster serves `lifecycle.k8s.io`, and lets the user read it. */
async function isReadable(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  for (const resource of [LIFECYCLE_REQUESTS, EVICTIONS]) {
    const path = `${collectionPath(resource)}?limit=1`;
    const answer = await client.send({ method: 'GET', path }, signal).catch(() => undefined);
    if (answer?.status !== 200) return false;
  }
  return true;
}

/** The requests of the moment, by the UID of the pod. */
export type FollowedRequests = () => ReadonlyMap<string, EvictionRequest>;

/** Follows the requests of drains on the nodes, or on all nodes unless given. */
export async function followDrainRequests(
  follower: Follower,
  client: KubeClient,
  nodes: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<FollowedRequests> {
  const some = nodes === undefined ? {} : { labelSelector: onNodes(nodes) };
  const older = follower.copy({ resource: EVICTION_REQUESTS, ...some }, transformRequest);
  if (!(await isReadable(client, signal)))
    return () => drainRequests({ older: older.list(), requests: [], evictions: [] });
  const requests = follower.copy<Read<LifecycleRequest>>(
    { resource: LIFECYCLE_REQUESTS, ...some },
    readLifecycleRequest,
  );
  const evictions = follower.copy<Read<Eviction>>({ resource: EVICTIONS, labelSelector: OF_DRAINS }, readEviction);
  return () =>
    drainRequests({ older: older.list(), requests: known(requests.list()), evictions: known(evictions.list()) });
}
