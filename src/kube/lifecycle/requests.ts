/** The writes of a requester of `lifecycle.k8s.io`: each has an EvictionRequest of its own for each pod. */
import { LIFECYCLE_API_VERSION, type LifecycleRequest, type PodReference } from '../../api/lifecycle.ts';
import type { KubeObject, ObjectMeta } from '../../api/meta.ts';
import { NodemaintError } from '../../errors.ts';
import type { KubeClient } from '../client.ts';
import { missingName, refusal } from '../refusal.ts';
import { objectPath, sendForObject } from '../resource.ts';
import { readLifecycleRequest } from './parse.ts';
import { LIFECYCLE_REQUESTS } from './resources.ts';

/** The wish of one requester for one pod. */
interface LifecycleRequestSpec {
  readonly metadata: ObjectMeta;
  readonly target: PodReference;
  readonly requester: string;
}

/**
 * Makes the request, or lets one of this name and target ask again. Returns it; undefined where its namespace is gone. Throws
 * API_REFUSED, also where another request has the name or the group is not served, and API_UNREACHABLE.
 */
export async function applyLifecycleRequest(
  client: KubeClient,
  { metadata, target, requester }: LifecycleRequestSpec,
  order: { readonly leads?: true },
  signal: AbortSignal,
): Promise<LifecycleRequest | undefined> {
  const spec = { target: { pod: target }, requester, intent: 'Eviction' };
  const body = { apiVersion: LIFECYCLE_API_VERSION, kind: 'EvictionRequest', metadata, spec };
  const path = objectPath(LIFECYCLE_REQUESTS, metadata);
  const patch = { kind: 'apply', manager: requester } as const;
  const response = await client.send({ method: 'PATCH', path, body, patch, ...order }, signal);
  if (response.status === 404) {
    if (missingName(response) !== undefined) return undefined;
    throw new NodemaintError('API_REFUSED', `this cluster does not serve ${LIFECYCLE_API_VERSION} any more`);
  }
  if (response.status !== 200 && response.status !== 201) throw refusal(response);
  return readLifecycleRequest(response.body as KubeObject).read;
}

/** Withdraws the wish. Returns the request; undefined where it is gone, or has changed since it was judged. */
export async function withdrawLifecycleRequest(
  client: KubeClient,
  metadata: ObjectMeta,
  signal: AbortSignal,
): Promise<LifecycleRequest | undefined> {
  const body = { metadata: { resourceVersion: metadata.resourceVersion }, spec: { intent: 'Withdrawn' } };
  const path = objectPath(LIFECYCLE_REQUESTS, metadata);
  const patch = { kind: 'merge' } as const;
  const fresh = await sendForObject<KubeObject>(client, { method: 'PATCH', path, body, patch }, [404, 409], signal);
  return fresh === undefined ? undefined : readLifecycleRequest(fresh).read;
}

/** Deletes this very request as it was judged. */
export async function deleteLifecycleRequest(
  client: KubeClient,
  metadata: ObjectMeta,
  signal: AbortSignal,
): Promise<void> {
  const { uid, resourceVersion } = metadata;
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } };
  const path = objectPath(LIFECYCLE_REQUESTS, metadata);
  await sendForObject(client, { method: 'DELETE', path, body }, [404, 409], signal);
}
