import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import { EVICTION_REQUEST_API_VERSION } from '../../../src/api/names.ts';
import { EVICTION_REQUESTS, objectPath } from '../../../src/kube/resource.ts';
import type { ClusterPart } from '../world.ts';

/** The time in so many milliseconds, in whole seconds as RFC 3339 has it. */
export function nowText(aheadMs = 0): string {
  return new Date(Date.now() + aheadMs).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Writes the entry of an interceptor, with a heartbeat at its start unless it tells another one. */
export async function reportProgress(
  world: Pick<ClusterPart, 'send'>,
  request: EvictionRequest,
  name: string,
  entry: {
    readonly message: string;
    readonly completionTime?: string;
    readonly heartbeatTime?: string;
    readonly expectedFinishTime?: string;
  },
): Promise<number> {
  const old = request.status?.interceptors?.find((each) => each.name === name);
  const startTime = old?.startTime ?? nowText();
  const body = {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name: request.metadata.name, namespace: request.metadata.namespace, uid: request.metadata.uid },
    status: { interceptors: [{ name, startTime, heartbeatTime: old?.heartbeatTime ?? startTime, ...entry }] },
  };
  const path = objectPath(EVICTION_REQUESTS, request.metadata, 'status');
  return await world.send({ method: 'PATCH', path, body, patch: { kind: 'apply', manager: name } });
}
