import { DAEMON_SET_INTERCEPTOR } from '../api/names.ts';
import { targetsCover } from '../decide/drain-plan.ts';
import { HEARTBEAT_EVERY_MS } from '../decide/heartbeat.ts';
import { drainsOfNode } from '../decide/maintenance.ts';
import { drainPodOf, graceSecOf } from '../decide/pod.ts';
import type { Interceptor } from '../kube/interceptor.ts';
import { objectPath, PODS, sendForObject } from '../kube/resource.ts';
import type { ControllerContext } from './context.ts';

/**
 * The interceptor `daemonset.apps.k8s.io` (KEP-4212, "DaemonSet Controller"): deletes a DaemonSet pod when a maintenance
 * of its node targets it; otherwise it neither completes nor gives a sign of life.
 */
export function createDaemonSetInterceptor(context: ControllerContext): Interceptor {
  return {
    name: DAEMON_SET_INTERCEPTOR,
    act: async (_request, pod, signal) => {
      const drains = drainsOfNode(context.maintenances.list(), pod.spec.nodeName ?? '');
      const drain = drains.find(({ drainTargets }) => targetsCover(drainTargets, drainPodOf(pod)));
      if (drain === undefined) return { kind: 'silent' };
      if (pod.metadata.deletionTimestamp === undefined) {
        const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: pod.metadata.uid } };
        const path = objectPath(PODS, pod.metadata);
        await sendForObject(context.client, { method: 'DELETE', path, body }, [404, 409], signal);
        const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
        context.log.info({ pod: name, maintenance: drain.maintenance }, 'deleted DaemonSet pod');
      }
      const why = drain.reason === '' ? drain.maintenance : drain.reason;
      return {
        kind: 'working',
        message: `${pod.metadata.name} is terminating the pod due to node maintenance (${why}).`,
        expectedFinishAt: context.clock.now() + graceSecOf(pod) * 1000,
        againMs: HEARTBEAT_EVERY_MS,
      };
    },
  };
}
