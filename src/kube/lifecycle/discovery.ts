import { LIFECYCLE_API_VERSION } from '../../api/lifecycle.ts';
import { NODE_LABEL } from '../../api/names.ts';
import type { KubeClient } from '../client.ts';
import { refusal } from '../refusal.ts';
import { collectionPath } from '../resource.ts';
import { EVICTIONS, LIFECYCLE_REQUESTS } from './resources.ts';

/**
 * Whether the API server serves `lifecycle.k8s.io/v1alpha1` with both of its resources, which needs its feature gate and its
 * --runtime-config. Throws API_UNREACHABLE and API_REFUSED.
 */
export async function isLifecycleServed(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  const response = await client.send({ method: 'GET', path: `/apis/${LIFECYCLE_API_VERSION}` }, signal);
  if (response.status === 404) return false;
  if (response.status !== 200) throw refusal(response);
  const { resources } = response.body as { readonly resources?: unknown };
  const names = Array.isArray(resources) ? resources.map((each: { name?: unknown } | null) => each?.name) : [];
  return [LIFECYCLE_REQUESTS, EVICTIONS].every(({ plural }) => names.includes(plural));
}

/**
 * Whether there are EvictionRequests of `lifecycle.k8s.io` that drains have made; false too where this account may not list
 * them. Throws API_UNREACHABLE and API_REFUSED.
 */
export async function hasDrainRequests(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  if (!(await isLifecycleServed(client, signal))) return false;
  const path = `${collectionPath(LIFECYCLE_REQUESTS)}?labelSelector=${encodeURIComponent(NODE_LABEL)}&limit=1`;
  const response = await client.send({ method: 'GET', path }, signal);
  if (response.status === 403 || response.status === 404) return false;
  if (response.status !== 200) throw refusal(response);
  const { items } = response.body as { readonly items?: unknown };
  return Array.isArray(items) && items.length > 0;
}
