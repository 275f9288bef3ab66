import { LIFECYCLE_API_VERSION } from '../../api/lifecycle.ts';
import type { KubeClient } from '../client.ts';
import { refusal } from '../refusal.ts';
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
