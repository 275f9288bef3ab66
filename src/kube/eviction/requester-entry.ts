import type { EvictionRequest } from '../../api/eviction-request.ts';
import { DEADLINE_ANNOTATION, INTERCEPTOR_DEADLINE_ANNOTATION, MAINTENANCE_REQUESTER } from '../../api/names.ts';
import type { KubeClient } from '../client.ts';
import { EVICTION_REQUESTS, objectPath } from '../resource.ts';
import { sendForObject } from '../request.ts';

/**
 * Takes the requester entry of maintenances and the annotations of a deadline off a request (KEP-4563, "Eviction Requester").
 * Returns false where the request is gone, or has changed since it was judged. Throws API_UNREACHABLE and API_REFUSED.
 */
export async function withdrawEntry(
  client: KubeClient,
  { metadata, spec }: EvictionRequest,
  signal: AbortSignal,
): Promise<boolean> {
  const requesters = (spec.requesters ?? []).filter(({ name }) => name !== MAINTENANCE_REQUESTER);
  const annotations = { [DEADLINE_ANNOTATION]: null, [INTERCEPTOR_DEADLINE_ANNOTATION]: null };
  const body = { metadata: { resourceVersion: metadata.resourceVersion, annotations }, spec: { requesters } };
  const path = objectPath(EVICTION_REQUESTS, metadata);
  const patch = { kind: 'merge' } as const;
  return (await sendForObject(client, { method: 'PATCH', path, body, patch }, [404, 409], signal)) !== undefined;
}

/**
 * Deletes only this very request as it was judged: another one may have taken its name, or somebody may have joined it.
 * Returns whether it did. Throws API_UNREACHABLE and API_REFUSED.
 */
export async function deleteRequest(
  client: KubeClient,
  { metadata }: EvictionRequest,
  signal: AbortSignal,
): Promise<boolean> {
  const { uid, resourceVersion } = metadata;
  const path = objectPath(EVICTION_REQUESTS, metadata);
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } };
  return (await sendForObject(client, { method: 'DELETE', path, body }, [404, 409], signal)) !== undefined;
}
