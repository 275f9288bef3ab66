import type { EvictionRequest } from '../api/eviction-request.ts';
import { DEADLINE_ANNOTATION, INTERCEPTOR_DEADLINE_ANNOTATION } from '../api/names.ts';
import type { NodeMaintenance } from '../api/node-maintenance.ts';
import type { Pod } from '../api/pod.ts';
import { selectsNode } from '../decide/maintenance/maintenance.ts';
import { earliestDeadline, endOptionsOf, interceptorsUntil } from '../decide/deadline/maintenance.ts';
import { preciseRfc3339 } from '../decide/time.ts';
import type { ControllerContext } from './context.ts';

function drainsOf(context: ControllerContext, nodeName: string): readonly NodeMaintenance[] {
  const node = context.nodes.get(nodeName);
  return node === undefined ? [] : context.maintenances.on(nodeName).filter((each) => selectsNode(each, node));
}

/** The part of DeleteOptions that a deadline of the pod's node makes; empty where the pod has its own grace period. */
export function graceOptions(context: ControllerContext, pod: Pod): { readonly gracePeriodSeconds?: number } {
  const { nodeName = '' } = pod.spec;
  const drains = drainsOf(context, nodeName);
  if (earliestDeadline(drains) === undefined) return {};
  return endOptionsOf(pod, context.pods.on(nodeName), drains, context.clock.now());
}

/** Whether a drain of the pod's node has a deadline. */
export function hasDeadline(context: ControllerContext, { spec: { nodeName = '' } }: Pod): boolean {
  return earliestDeadline(drainsOf(context, nodeName)) !== undefined;
}

/**
 * The annotations by which interceptors learn of the deadline of a pod's node, and of their own; empty where there is none.
 * A request that has them for that deadline keeps them: what interceptors were promised is not taken back.
 */
export function deadlineAnnotations(
  context: ControllerContext,
  pod: Pod,
  request: EvictionRequest | undefined,
): Readonly<Record<string, string>> {
  const { nodeName = '' } = pod.spec;
  const drains = drainsOf(context, nodeName);
  const earliest = earliestDeadline(drains);
  if (earliest === undefined) return {};
  const { [DEADLINE_ANNOTATION]: told, [INTERCEPTOR_DEADLINE_ANNOTATION]: own } = request?.metadata.annotations ?? {};
  const deadline = preciseRfc3339(earliest.deadline.at);
  if (told === deadline && own !== undefined) {
    return { [DEADLINE_ANNOTATION]: told, [INTERCEPTOR_DEADLINE_ANNOTATION]: own };
  }
  const until = interceptorsUntil(pod, context.pods.on(nodeName), drains);
  return {
    [DEADLINE_ANNOTATION]: deadline,
    ...(until === undefined ? {} : { [INTERCEPTOR_DEADLINE_ANNOTATION]: preciseRfc3339(until) }),
  };
}
