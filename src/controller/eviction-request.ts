import { decideEvictionRequest } from '../decide/eviction-request.ts';
import type { Reconcile } from '../kube/queue.ts';
import { EVICTION_REQUESTS, objectPath, sendForObject } from '../kube/resource.ts';
import type { ControllerContext } from './context.ts';

/** The EvictionRequest controller (KEP-4563, "Eviction Request Controller"): one step of one request. */
export function createEvictionRequestReconciler(context: ControllerContext): Reconcile {
  return async (key, signal) => {
    const request = context.requests.get(key);
    if (request === undefined || request.metadata.deletionTimestamp !== undefined) return {};
    const pod = context.pods.get(`${request.metadata.namespace}/${request.spec.target.pod.name}`);
    const { status, lookAgainMs } = decideEvictionRequest(request, pod, context.clock.now());
    if (status !== undefined) {
      // The version guards against a decision from an old copy: a conflict is answered by a newer event.
      const body = { metadata: { resourceVersion: request.metadata.resourceVersion }, status };
      const path = objectPath(EVICTION_REQUESTS, request.metadata, 'status');
      await sendForObject(
        context.client,
        { method: 'PATCH', path, body, patch: { kind: 'merge' } },
        [404, 409],
        signal,
      );
      const conditions = status.conditions?.map(({ type, reason }) => `${type}: ${reason}`);
      context.log.info({ request: key, active: status.activeInterceptors, conditions }, 'eviction request moved on');
    }
    return lookAgainMs === undefined ? {} : { againMs: lookAgainMs };
  };
}
