import type { EvictionRequest } from '../api/eviction-request.ts';
import { DEADLINE_ANNOTATION, INTERCEPTOR_DEADLINE_ANNOTATION, NOTIFY_ANNOTATION } from '../api/names.ts';
import type { NodeMaintenance } from '../api/node-maintenance.ts';
import type { Pod } from '../api/pod.ts';
import { selectsNode } from '../decide/maintenance/maintenance.ts';
import { deadlineOf, earliestDeadline, endOptionsOf, interceptorsUntil } from '../decide/deadline/maintenance.ts';
import { preciseRfc3339, rfc3339 } from '../decide/time.ts';
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

/** Whether a drain of the node has a deadline. */
export function hasDeadline(context: ControllerContext, nodeName: string): boolean {
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

/** Notifies pods that asked for it by an Event that their node is drained, and by when; each once for each deadline. */
export interface PodNotifier {
  notify(maintenance: NodeMaintenance, nodes: ReadonlySet<string>): void;
  forget(maintenance: string): void;
}

export function createPodNotifier(context: ControllerContext): PodNotifier {
  const notified = new Map<string, Set<string>>();
  return {
    notify: (maintenance, nodes) => {
      const { name } = maintenance.metadata;
      const known = notified.get(name) ?? new Set();
      notified.set(name, known);
      const deadline = deadlineOf(maintenance);
      const by = deadline === undefined ? '' : ` by ${rfc3339(deadline.at)}`;
      const { reason = '' } = maintenance.spec;
      for (const nodeName of nodes) {
        for (const pod of context.pods.on(nodeName)) {
          const { annotations, uid = '' } = pod.metadata;
          if (annotations?.[NOTIFY_ANNOTATION] === undefined) continue;
          const key = `${uid} ${by}`;
          if (known.has(key)) continue;
          known.add(key);
          const message = `Node ${nodeName} is to be drained${by}${reason === '' ? '' : `: ${reason}`}`;
          const subject = { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata };
          context.events.record(subject, { type: 'Warning', reason: 'NodeMaintenance', message });
        }
      }
    },
    forget: (maintenance) => {
      notified.delete(maintenance);
    },
  };
}
