/** The loops of the controller's own interceptors. */
import type { Interceptor } from '../kube/eviction/interceptor.ts';
import { InterceptorLoop } from '../kube/eviction/interceptor-loop.ts';
import type { Loop } from '../kube/loop/loops.ts';
import { heldTargetOf } from './cache/targets.ts';
import type { Changes } from './changes.ts';
import type { ControllerContext } from './context.ts';

/** A loop over EvictionRequests, by their keys; those of which `mayConcern` says no are none of the interceptor's own. */
export function interceptorLoop(
  { client, clock, log, requests, pods }: ControllerContext,
  interceptor: Interceptor,
  { name, parallel }: Pick<Loop<Changes>, 'name' | 'parallel'>,
  mayConcern: (key: string) => boolean = () => true,
): Loop<Changes> {
  const { reconcile } = new InterceptorLoop(interceptor, {
    client,
    clock,
    log,
    request: (key) => requests.get(key),
    pod: (request) => Promise.resolve(heldTargetOf(pods, request)),
  });
  const onNode = (node: string): readonly string[] => [...requests.onNode(node)].filter(mayConcern);
  return {
    name,
    parallel,
    reconcile,
    // Where many nodes are drained at once, no node waits for all pods of those that were begun before it.
    order: { isUrgent: (key) => requests.isFirstOfNode(key) },
    concerns: {
      Request: ({ key }) => [key].filter(mayConcern),
      Pod: ({ key }) => [...requests.ofPod(key)].filter(mayConcern),
      Node: ({ name: node, isOtherForRequests }) => (isOtherForRequests ? onNode(node) : []),
      Reach: onNode,
    },
  };
}
