/** The responder of DaemonSet pods: the interceptor `daemonset.apps.k8s.io`, by the adapter. */
import { DAEMON_SET_RESPONDER, type Eviction } from '../../api/lifecycle.ts';
import type { Interceptor } from '../../kube/eviction/interceptor.ts';
import { createResponderLoop } from '../../kube/lifecycle/responder-loop.ts';
import type { Reconcile } from '../../kube/queue.ts';
import type { ControllerContext } from '../context.ts';
import { createDaemonSetInterceptor } from '../daemon-set/interceptor.ts';
import type { TargetedObjects } from '../../kube/lifecycle/objects.ts';
import { findTarget, type TargetNotes } from '../../kube/lifecycle/target-notes.ts';

/** An Eviction that somebody asked for outside of a drain waits for one, whose beginning does not change the Eviction. */
const NO_DRAIN_AGAIN_MS = 15_000;

/** Creates the responder; its client and clock are those of the lifecycle. */
export function createDaemonSetResponder(
  context: ControllerContext,
  evictions: TargetedObjects<Eviction>,
  notes: TargetNotes,
): Reconcile {
  const engine = createDaemonSetInterceptor(context);
  const interceptor: Interceptor = {
    name: engine.name,
    act: async (request, pod, signal) => {
      const step = await engine.act(request, pod, signal);
      return step.kind === 'silent' ? { ...step, againMs: NO_DRAIN_AGAIN_MS } : step;
    },
  };
  const { reconcile } = createResponderLoop(interceptor, DAEMON_SET_RESPONDER, {
    ...context,
    eviction: (key) => evictions.get(key),
    pod: (eviction, signal) => findTarget(context, notes, eviction, signal),
  });
  return reconcile;
}
