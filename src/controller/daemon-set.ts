import { DAEMON_SET_INTERCEPTOR } from '../api/names.ts';
import { targetsCover } from '../decide/drain-plan.ts';
import { isFinished } from '../decide/eviction-request.ts';
import { decideHeartbeat, HEARTBEAT_EVERY_MS } from '../decide/heartbeat.ts';
import { drainsOfNode } from '../decide/maintenance.ts';
import { drainPodOf, graceSecOf } from '../decide/pod.ts';
import { applyInterceptorStatus } from '../kube/interceptor-status.ts';
import type { Reconcile } from '../kube/queue.ts';
import { objectPath, PODS, sendForObject } from '../kube/resource.ts';
import type { ControllerContext } from './context.ts';

/**
 * The interceptor `daemonset.apps.k8s.io` (KEP-4212, "DaemonSet Controller"): deletes a DaemonSet pod when a maintenance
 * of its node targets it; otherwise it neither completes nor gives a sign of life.
 */
export function createDaemonSetReconciler(context: ControllerContext): Reconcile {
  return async (key, signal) => {
    const request = context.requests.get(key);
    if (request === undefined || isFinished(request)) return {};
    if (request.status?.activeInterceptors?.[0] !== DAEMON_SET_INTERCEPTOR) return {};
    const pod = context.pods.get(`${request.metadata.namespace}/${request.spec.target.pod.name}`);
    if (pod === undefined || pod.metadata.uid !== request.spec.target.pod.uid) return {};
    const drains = drainsOfNode(context.maintenances.list(), pod.spec.nodeName ?? '');
    const drain = drains.find(({ drainTargets }) => targetsCover(drainTargets, drainPodOf(pod)));
    if (drain === undefined) return {};
    const now = context.clock.now();
    const why = drain.reason === '' ? drain.maintenance : drain.reason;
    const message = `${pod.metadata.name} is terminating the pod due to node maintenance (${why}).`;
    const entry = decideHeartbeat(
      request,
      DAEMON_SET_INTERCEPTOR,
      { message, expectedFinishAt: now + graceSecOf(pod) * 1000 },
      now,
    );
    if (entry !== undefined) await applyInterceptorStatus(context.client, request, entry, signal);
    if (pod.metadata.deletionTimestamp === undefined) {
      const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: pod.metadata.uid } };
      const path = objectPath(PODS, pod.metadata);
      await sendForObject(context.client, { method: 'DELETE', path, body }, [404, 409], signal);
      context.log.info({ pod: key, maintenance: drain.maintenance }, 'deleted DaemonSet pod');
    }
    return { againMs: HEARTBEAT_EVERY_MS };
  };
}
