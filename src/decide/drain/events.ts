import { type BlockingPod, DRAINED, type NodeMaintenanceStatus, type NodeStatus } from '../../api/node-maintenance.ts';
import { nodeStatusesOf } from './recorded-node.ts';
import { namesText } from './summary.ts';

/** What an Event of a NodeMaintenance says. */
export interface DrainEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'DrainBegun' | 'DrainWaiting' | 'DrainBlocked' | 'Drained';
  readonly message: string;
}

/** So many blocking pods are reported by one write of a status; the status itself has more. */
const MAX_BLOCKED = 10;

function drainedOf({ conditions = [] }: NodeMaintenanceStatus): { readonly is: string; readonly message: string } {
  const condition = conditions.find(({ type }) => type === DRAINED);
  return { is: `${condition?.status} ${condition?.reason}`, message: condition?.message ?? '' };
}

function blockingKey(node: NodeStatus, { namespace, name, reason }: BlockingPod): string {
  return `${node.nodeRef.name} ${namespace}/${name} ${reason}`;
}

/** The pods that have begun to block, each once for each reason. */
function newlyBlocked(before: NodeMaintenanceStatus, after: NodeMaintenanceStatus): readonly DrainEvent[] {
  const known = new Set(
    before.nodeStatuses?.flatMap((node) => (node.podsBlocking ?? []).map((pod) => blockingKey(node, pod))),
  );
  const fresh = (after.nodeStatuses ?? []).flatMap((node) =>
    (node.podsBlocking ?? []).filter((pod) => !known.has(blockingKey(node, pod))).map((pod) => ({ node, pod })),
  );
  // Without the message of the pod, which changes with every attempt: the same Event is counted, and not written again.
  return fresh.slice(0, MAX_BLOCKED).map(({ node: { nodeRef }, pod: { namespace, name, reason } }) => ({
    type: 'Warning',
    reason: 'DrainBlocked',
    message: `The drain of node ${nodeRef.name} waits for pod ${namespace}/${name}: ${reason}.`,
  }));
}

/** What is reported when the status of a drain has changed from `before` to `after`, in the order in which it happened. */
export function drainEvents(
  before: NodeMaintenanceStatus | undefined,
  after: NodeMaintenanceStatus,
): readonly DrainEvent[] {
  const events: DrainEvent[] = [];
  const { is, message } = drainedOf(after);
  const wasSo = drainedOf(before ?? {}).is === is;
  if (!wasSo && is === 'False Waiting') events.push({ type: 'Normal', reason: 'DrainWaiting', message });
  if ((before?.drainPlanPosition ?? 0) === 0 && (after.drainPlanPosition ?? 0) > 0) {
    const nodes = namesText(
      nodeStatusesOf(after)
        .map(({ nodeRef }) => nodeRef.name)
        .toSorted(),
    );
    events.push({ type: 'Normal', reason: 'DrainBegun', message: `The drain has begun: ${nodes}.` });
  }
  events.push(...newlyBlocked(before ?? {}, after));
  if (!wasSo && is === 'True DrainCompleted') events.push({ type: 'Normal', reason: 'Drained', message });
  return events;
}
