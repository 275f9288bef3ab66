import { MAINTENANCE_REQUESTER } from '../api/names.ts';
import type { NodeMaintenance, PodType } from '../api/node-maintenance.ts';
import type { Pod } from '../api/pod.ts';
import type { EvictionTarget } from '../decide/eviction/imperative.ts';
import { otherRequesters } from '../decide/eviction/requester.ts';
import { isSpent } from '../decide/eviction/spent-request.ts';
import { drainsTargeting } from '../decide/node/leaving.ts';
import { podTypeOf } from '../decide/pod.ts';
import type { ControllerContext } from './context.ts';

/**
 * The drain that targets the pod now, if any. The status of a maintenance may still name a node that has just left its selector,
 * or whose Node was deleted: that drain does not count.
 */
export function drainOfPod({ maintenances, nodes }: ControllerContext, pod: Pod): NodeMaintenance | undefined {
  const { nodeName = '' } = pod.spec;
  return drainsTargeting(pod, nodes.get(nodeName), maintenances.on(nodeName))[0];
}

/** Whether nobody but a drain asked for the eviction, and none targets the pod now: the request is being taken back. */
export function isRequestObsolete(context: ControllerContext, { request, pod }: EvictionTarget): boolean {
  return otherRequesters(request, MAINTENANCE_REQUESTER).length === 0 && drainOfPod(context, pod) === undefined;
}

/** Whether the interceptor that ends pods of the type ends this one although its request does not ask it to. */
export function actsWhileInactive(
  context: ControllerContext,
  podType: PodType,
  { request, pod }: EvictionTarget,
): boolean {
  if (podTypeOf(pod) !== podType || !isSpent(request, pod, context.clock.now())) return false;
  return drainOfPod(context, pod) !== undefined;
}
