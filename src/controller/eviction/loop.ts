/** The loop over EvictionRequests: one look decides whose turn it is and acts where that is the controller's own interceptor. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import type { EvictionEngine } from '../../kube/eviction/imperative.ts';
import type { Interceptor } from '../../kube/eviction/interceptor.ts';
import { InterceptorLoop } from '../../kube/eviction/interceptor-loop.ts';
import type { Loop } from '../../kube/loop/loops.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { createRecentWrites } from '../../kube/read-your-writes.ts';
import { requestKeyOf } from '../cache/pods.ts';
import { heldTargetOf } from '../cache/targets.ts';
import type { Changes } from '../changes.ts';
import type { ControllerContext } from '../context.ts';
import { createEvictionRequestReconciler, isMarkObsolete } from './reconciler.ts';

/**
 * Twice as many as webhooks of one namespace can hold up, and then more than there are connections for what nobody waits for,
 * whose writes wait for one.
 */
const PARALLEL = 192;

/** Takes one step after the other. What the API server refuses of one of them keeps the others from nothing. */
function inTurn(steps: readonly Reconcile[]): Reconcile {
  return async (key, signal) => {
    let againMs = Infinity;
    const failures: unknown[] = [];
    for (const step of steps) {
      try {
        againMs = Math.min(againMs, (await step(key, signal)).againMs ?? Infinity);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    return againMs === Infinity ? {} : { againMs };
  };
}

/** The loop, by the keys of requests; `engine` and `daemonSets` are the controller's own interceptors. */
export function evictionRequestLoop(
  context: ControllerContext,
  engine: EvictionEngine,
  daemonSets: Interceptor,
): Loop<Changes> {
  const { requests, pods } = context;
  const writes = createRecentWrites<EvictionRequest>();
  const request = (key: string): EvictionRequest | undefined => requests.get(key);
  const pod = (of: EvictionRequest): Promise<Pod | undefined> => Promise.resolve(heldTargetOf(pods, of));
  const acting = [engine, daemonSets].map(
    (interceptor) => new InterceptorLoop(interceptor, { ...context, request, pod, writes }).reconcile,
  );
  const marked = (key: string): readonly string[] => {
    const pod = pods.get(key);
    return pod !== undefined && isMarkObsolete(context, pod) ? [requestKeyOf(pod)] : [];
  };
  return {
    name: 'evictionrequests',
    parallel: PARALLEL,
    reconcile: inTurn([createEvictionRequestReconciler(context, writes), ...acting]),
    // Where many nodes are drained at once, no node waits for all pods of those that were begun before it.
    order: { isUrgent: (key) => requests.isFirstOfNode(key) },
    concerns: {
      Request: ({ key }) => [key],
      Pod: ({ key }) => [...requests.ofPod(key), ...marked(key)],
      Node: ({ name, isOtherForRequests }) => (isOtherForRequests ? requests.onNode(name) : []),
      Budget: (key) => engine.budgetChanged(key),
    },
  };
}
