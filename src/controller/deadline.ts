import { DEADLINE_ANNOTATION, NOTIFY_ANNOTATION } from '../api/names.ts';
import type { NodeMaintenance } from '../api/node-maintenance.ts';
import type { Pod } from '../api/pod.ts';
import { selectsNode } from '../decide/maintenance.ts';
import { deadlineOf, earliestDeadline, endOptionsOf } from '../decide/maintenance-deadline.ts';
import { isTerminal } from '../decide/pod.ts';
import { preciseRfc3339, rfc3339 } from '../decide/time.ts';
import type { ControllerContext } from './context.ts';

function drainsOf(context: ControllerContext, nodeName: string): readonly NodeMaintenance[] {
  const node = context.nodes.get(nodeName);
  return node === undefined ? [] : context.maintenances.list().filter((each) => selectsNode(each, node));
}

/** The part of DeleteOptions that a deadline of the pod's node makes; empty where the pod has its own grace period. */
export function graceOptions(context: ControllerContext, pod: Pod): { readonly gracePeriodSeconds?: number } {
  const { nodeName = '' } = pod.spec;
  const drains = drainsOf(context, nodeName);
  // Nearly always there is no deadline, and then nobody looks through all the pods of the cluster.
  if (earliestDeadline(drains) === undefined) return {};
  const pods = context.pods.list().filter(({ spec }) => spec.nodeName === nodeName);
  return endOptionsOf(pod, pods, drains, context.clock.now());
}

/** The annotation by which interceptors learn of the deadline of a node; empty where there is none. */
export function deadlineAnnotations(context: ControllerContext, nodeName: string): Readonly<Record<string, string>> {
  const earliest = earliestDeadline(drainsOf(context, nodeName));
  return earliest === undefined ? {} : { [DEADLINE_ANNOTATION]: preciseRfc3339(earliest.deadline.at) };
}

/** Tells pods that asked for it that their node is to be drained, and by when; each once for each deadline. */
export interface PodNotifier {
  tell(maintenance: NodeMaintenance, nodes: ReadonlySet<string>): void;
  forget(maintenance: string): void;
}

/** Makes the notifier. */
export function createPodNotifier(context: ControllerContext): PodNotifier {
  const told = new Map<string, Set<string>>();
  return {
    tell: (maintenance, nodes) => {
      const { name } = maintenance.metadata;
      const known = told.get(name) ?? new Set();
      told.set(name, known);
      const deadline = deadlineOf(maintenance);
      const by = deadline === undefined ? '' : ` by ${rfc3339(deadline.at)}`;
      const { reason = '' } = maintenance.spec;
      for (const pod of context.pods.list()) {
        const { annotations, uid = '' } = pod.metadata;
        const { nodeName = '' } = pod.spec;
        if (annotations?.[NOTIFY_ANNOTATION] === undefined || !nodes.has(nodeName) || isTerminal(pod)) continue;
        const key = `${uid} ${by}`;
        if (known.has(key)) continue;
        known.add(key);
        const message = `Node ${nodeName} is to be drained${by}${reason === '' ? '' : `: ${reason}`}`;
        const subject = { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata };
        context.events.tell(subject, { type: 'Warning', reason: 'NodeMaintenance', message });
      }
    },
    forget: (maintenance) => {
      told.delete(maintenance);
    },
  };
}
