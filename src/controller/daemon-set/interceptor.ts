import { DAEMON_SET_INTERCEPTOR } from '../../api/names.ts';
import { daemonSetOf } from '../../decide/daemon-set/gate.ts';
import { HEARTBEAT_EVERY_MS } from '../../decide/eviction/heartbeat.ts';
import { endOf, graceSecOf } from '../../decide/pod.ts';
import { rfc3339 } from '../../decide/time.ts';
import { deletePod } from '../../kube/eviction/evictor.ts';
import type { Interceptor } from '../../kube/eviction/interceptor.ts';
import { keyOf } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';
import { graceOptions } from '../deadline.ts';
import { actsWhileInactive, drainOfPod } from '../spent-requests.ts';
import { endingForMessage } from '../../decide/interceptor/message.ts';

/**
 * The interceptor `daemonset.apps.k8s.io` (KEP-4212, "DaemonSet Controller"): deletes a DaemonSet pod when a maintenance
 * of its node targets it; otherwise it neither completes nor gives a sign of life. A pod of a DaemonSet that keeps
 * coming back is deleted ever later.
 */
export function createDaemonSetInterceptor(context: ControllerContext): Interceptor {
  const { client, clock, ungated, log } = context;
  return {
    name: DAEMON_SET_INTERCEPTOR,
    actsWhileInactive: (request, pod) => actsWhileInactive(context, 'DaemonSet', { request, pod }),
    act: async (_request, pod, signal) => {
      // Any pod may name any interceptor, and a deletion does not ask for budgets.
      const daemonSet = daemonSetOf(pod);
      if (daemonSet === undefined) {
        return { kind: 'completed', message: `Pod ${pod.metadata.name} belongs to no DaemonSet.` };
      }
      const drain = drainOfPod(context, pod);
      if (drain === undefined) return { kind: 'silent' };
      const why = drain.spec.reason || drain.metadata.name;
      const name = daemonSet.replace(/^.*\//, '');
      const now = clock.now();
      if (pod.metadata.deletionTimestamp === undefined && !ungated.hasRemoved(pod)) {
        const { inMs, returns } = ungated.due(pod);
        if (inMs > 0) {
          const message = `${name} has come back ${returns} times in spite of the node maintenance (${why}): its pods cannot be held. It is deleted again at ${rfc3339(now + inMs)}.`;
          return { kind: 'working', message, againMs: inMs };
        }
        await deletePod(client, pod, graceOptions(context, pod), signal);
        ungated.removed(pod);
        log.info({ pod: keyOf(pod), maintenance: drain.metadata.name, returns }, 'deleted DaemonSet pod');
      }
      return {
        kind: 'working',
        message: endingForMessage(name, why),
        expectedFinishAt: endOf(pod)?.endsAt ?? now + graceSecOf(pod) * 1000,
        againMs: HEARTBEAT_EVERY_MS,
      };
    },
  };
}
