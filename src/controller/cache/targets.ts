import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import { targetKeyOf } from '../../decide/eviction/request.ts';
import type { Clock } from '../../host/clock.ts';
import { keyOf } from '../../kube/resource.ts';
import type { ObjectCache } from '../../kube/watch.ts';

/** The target of a request in our copy; undefined where it is gone, or another pod has its name. */
export function targetOf(pods: Pick<ObjectCache<Pod>, 'get'>, request: EvictionRequest): Pod | undefined {
  const pod = pods.get(targetKeyOf(request));
  return pod?.metadata.uid === request.spec.target.pod.uid ? pod : undefined;
}

/** Who makes requests must not make the controller walk through all pods for each of them. */
const EVERY_MS = 30_000;

/**
 * Finds the targets of EvictionRequests in our copy: by the name of the pod and, of a request that is deleted but held by
 * finalizers, by the UID. Whoever names another pod in a request, and has it held, must not keep the pod of its UID.
 */
export function createTargets(
  pods: Pick<ObjectCache<Pod>, 'get' | 'list'>,
  clock: Pick<Clock, 'monotonic'>,
): (request: EvictionRequest) => Pod | undefined {
  let keys: ReadonlyMap<string | undefined, string> = new Map();
  let readAt = -Infinity;
  return (request) => {
    const known = pods.get(targetKeyOf(request));
    const { uid } = request.spec.target.pod;
    if (known?.metadata.uid === uid || request.metadata.deletionTimestamp === undefined) return known;
    if (clock.monotonic() - readAt >= EVERY_MS) {
      keys = new Map(pods.list().map((pod) => [pod.metadata.uid, keyOf(pod)]));
      readAt = clock.monotonic();
    }
    const pod = pods.get(keys.get(uid) ?? '');
    return pod?.metadata.uid === uid && pod.metadata.namespace === request.metadata.namespace ? pod : undefined;
  };
}
