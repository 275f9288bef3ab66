import type { EvictionRequest, InterceptorStatus } from '../../api/eviction-request.ts';
import { EVICTION_REQUEST_API_VERSION } from '../../api/names.ts';
import type { KubeClient } from '../client.ts';
import { EVICTION_REQUESTS, objectPath } from '../resource.ts';
import { sendForObject } from '../request.ts';

/**
 * Writes the status entry of one interceptor by server-side apply, so that no other interceptor's entry is touched
 * (KEP-4563, InterceptorStatus: "only updated by the designated interceptor"). Returns the request as it is then; a
 * request that is gone, or another one by now, is no error.
 */
export async function applyInterceptorStatus(
  client: KubeClient,
  request: EvictionRequest,
  entry: InterceptorStatus,
  signal: AbortSignal,
): Promise<EvictionRequest | undefined> {
  const { name, namespace, uid } = request.metadata;
  const body = {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    // The UID makes the write fail, rather than create or hit another object, where the request was replaced.
    metadata: { name, namespace, uid },
    status: { interceptors: [entry] },
  };
  const path = objectPath(EVICTION_REQUESTS, request.metadata, 'status');
  const patch = { kind: 'apply', manager: entry.name } as const;
  return await sendForObject(client, { method: 'PATCH', path, body, patch }, [404, 409], signal);
}
