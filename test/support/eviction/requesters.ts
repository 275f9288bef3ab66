import { EVICTION_REQUEST_API_VERSION } from '../../../src/api/names.ts';
import type { KubeRequest } from '../../../src/kube/client.ts';
import { EVICTION_REQUESTS, objectPath } from '../../../src/kube/resource.ts';

/** The pod that is to leave. */
export interface RequestedPod {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/** The write by which a manager has these entries in the EvictionRequest of the pod, and no others: server-side apply. */
export function requestersPatch(pod: RequestedPod, manager: string, names: readonly string[]): KubeRequest {
  const { name, namespace, uid } = pod;
  const body = {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name: uid, namespace },
    spec: { target: { pod: { name, uid } }, requesters: names.map((each) => ({ name: each })) },
  };
  const path = objectPath(EVICTION_REQUESTS, { name: uid, namespace });
  return { method: 'PATCH', path, body, patch: { kind: 'apply', manager } };
}
