import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import { targetKeyOf } from '../../decide/eviction/request.ts';
import type { ObjectCache } from '../../kube/watch.ts';
import type { PodIndex } from './pods.ts';

/** The target of a request in our copy; undefined where it is gone, or another pod has its name. */
export function targetOf(pods: Pick<ObjectCache<Pod>, 'get'>, request: EvictionRequest): Pod | undefined {
  const pod = pods.get(targetKeyOf(request));
  return pod?.metadata.uid === request.spec.target.pod.uid ? pod : undefined;
}

/**
 * Finds the target of an EvictionRequest in our copy: by the name of the pod and, of a request that is deleted but held by
 * finalizers, by the UID. Whoever names another pod in a request, and has it held, must not keep the pod of its UID.
 */
export function heldTargetOf(pods: Pick<PodIndex, 'get' | 'ofRequest'>, request: EvictionRequest): Pod | undefined {
  const known = pods.get(targetKeyOf(request));
  const { uid } = request.spec.target.pod;
  if (known?.metadata.uid === uid || request.metadata.deletionTimestamp === undefined) return known;
  return pods.ofRequest(`${request.metadata.namespace}/${uid}`);
}
