import type { Eviction, LifecycleRequest } from '../../api/lifecycle.ts';
import type { KubeObject } from '../../api/meta.ts';
import type { Pod } from '../../api/pod.ts';
import { isAskedFor } from '../../decide/lifecycle/asked.ts';
import type { KubeClient } from '../client.ts';
import { refusal } from '../refusal.ts';
import { collectionPath, type Resource } from '../resource.ts';
import { type Read, readEviction, readLifecycleRequest } from './parse.ts';
import { EVICTIONS, LIFECYCLE_REQUESTS } from './resources.ts';

/** The objects of the pod's namespace; none where the group is not served, or this account may not list them. */
async function listInNamespaceOf(
  client: KubeClient,
  resource: Resource,
  { metadata }: Pod,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const response = await client.send({ method: 'GET', path: collectionPath(resource, metadata.namespace) }, signal);
  if (response.status === 403 || response.status === 404) return [];
  if (response.status !== 200) throw refusal(response);
  const { items } = response.body as { readonly items?: unknown };
  return Array.isArray(items) ? (items as readonly KubeObject[]) : [];
}

/** Those that can be read and name this very pod. */
function ofPod<T extends Eviction | LifecycleRequest>(found: readonly Read<T>[], { metadata }: Pod): readonly T[] {
  return found.flatMap(({ read }) => (read?.spec.target.pod?.uid === metadata.uid ? read : [])) as readonly T[];
}

/**
 * Reads whether anybody asks for the eviction of the pod by `lifecycle.k8s.io`, for whoever has no copies of its objects. Throws
 * API_UNREACHABLE and API_REFUSED.
 */
export async function readIsAsked(client: KubeClient, pod: Pod, signal: AbortSignal): Promise<boolean> {
  const evictions = await listInNamespaceOf(client, EVICTIONS, pod, signal);
  const requests = await listInNamespaceOf(client, LIFECYCLE_REQUESTS, pod, signal);
  return isAskedFor(ofPod(requests.map(readLifecycleRequest), pod), ofPod(evictions.map(readEviction), pod));
}
