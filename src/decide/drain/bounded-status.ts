/** Keeps a NodeMaintenance below what the API server and etcd take, however many nodes it has and pods block. */
import type { NodeGroup, NodeMaintenance, NodeMaintenanceStatus, NodeStatus } from '../../api/node-maintenance.ts';
import { nodeStatusesOf } from '../maintenance/recorded-node.ts';

/** A status is not larger than this, unless the names of its nodes and what they have reached are. */
const ENOUGH_BYTES = 600_000;
/** For the details of the nodes that matter most, where the names alone are nearly that much. */
const DETAIL_BYTES = 100_000;
/** The whole object, so that it stays below 1 MB with its managedFields; etcd refuses 1.5 MiB. */
const OBJECT_BYTES = 950_000;
/** What a status says beside its nodes: conditions, stages, the summary. */
const FRAME_BYTES = 5_000;

/** Where a status is too large, no text of a node is longer, and no more blocking pods and DaemonSets of it are named. */
const SHORT_CHARACTERS = 200;
const SHORT_LIST = 3;

/** The size of the value as JSON in UTF-8, in bytes. */
function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

/** Whether the values are not larger than that together; what is much larger is not measured to its end. */
function fits(values: readonly unknown[], bytes: number): boolean {
  let left = bytes;
  return values.every((value) => {
    left -= bytesOf(value) + 1;
    return left >= 0;
  });
}

function withShortTexts({
  drainMessage,
  podsBlocking,
  volumesInUse,
  escapedDaemonSets,
  ...node
}: NodeStatus): NodeStatus {
  const blocking = podsBlocking?.slice(0, SHORT_LIST).map((pod) => {
    return { ...pod, message: pod.message.slice(0, SHORT_CHARACTERS) };
  });
  return {
    ...node,
    ...(drainMessage === undefined ? {} : { drainMessage: drainMessage.slice(0, SHORT_CHARACTERS) }),
    ...(blocking === undefined ? {} : { podsBlocking: blocking }),
    ...(volumesInUse === undefined
      ? {}
      : { volumesInUse: { ...volumesInUse, names: volumesInUse.names.slice(0, SHORT_LIST) } }),
    ...(escapedDaemonSets === undefined ? {} : { escapedDaemonSets: escapedDaemonSets.slice(0, SHORT_LIST) }),
  };
}

/** The nodes whose details are read first: those with pods that block, then those with pods. */
function interestOf({
  podsBlocking,
  volumesInUse,
  escapedDaemonSets,
  podsEvacuating = 0,
  podsPendingEvacuation = 0,
}: NodeStatus): number {
  if ([podsBlocking, volumesInUse, escapedDaemonSets].some((each) => each !== undefined)) return 2;
  return podsEvacuating + podsPendingEvacuation > 0 ? 1 : 0;
}

function groupsOf(nodes: readonly NodeStatus[]): readonly NodeGroup[] {
  const groups = new Map<string, NodeStatus[]>();
  for (const node of nodes) {
    const key = JSON.stringify([node.drainTargets, node.drainPlanPosition]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [node]);
    else group.push(node);
  }
  return [...groups.values()].map((group): NodeGroup => {
    const { drainTargets, drainPlanPosition } = group[0] ?? {};
    return {
      ...(drainTargets === undefined ? {} : { drainTargets }),
      ...(drainPlanPosition === undefined ? {} : { drainPlanPosition }),
      nodes: group.map(({ nodeRef, drainStartTime }) => {
        return { ...nodeRef, ...(drainStartTime === undefined ? {} : { drainStartTime }) };
      }),
    };
  });
}

/** Those of the nodes that keep their details, by their names; all others go into groups. */
function detailed(nodes: readonly NodeStatus[], room: number): ReadonlySet<string> {
  const base = bytesOf(groupsOf(nodes));
  let left = Math.min(room, Math.max(ENOUGH_BYTES, base + DETAIL_BYTES)) - base;
  const kept = new Set<string>();
  for (const node of nodes.toSorted((a, b) => interestOf(b) - interestOf(a))) {
    left -= bytesOf(node) - bytesOf([node.nodeRef, node.drainStartTime]);
    if (left < 0) break;
    kept.add(node.nodeRef.name);
  }
  return kept;
}

/** The pods that block, by reason, in the order of their code units: a collation would load 3 MiB of Unicode tables into an agent. */
function blockingByReason(nodes: readonly NodeStatus[]): readonly { readonly reason: string; readonly pods: number }[] {
  const counts = new Map<string, number>();
  for (const { reason } of nodes.flatMap(({ podsBlocking = [] }) => podsBlocking)) {
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].map(([reason, pods]) => ({ reason, pods })).toSorted((a, b) => (a.reason < b.reason ? -1 : 1));
}

function leftOutOf(nodes: number, withoutDetails: number): string {
  const texts = `texts are cut after ${SHORT_CHARACTERS} characters, and at most ${SHORT_LIST} blocking pods of a node are named`;
  const some = withoutDetails === 0 ? '' : `details of ${withoutDetails} of ${nodes} nodes are left out; `;
  return `The status has no room for everything: ${some}${texts}.`;
}

/**
 * A status that leaves room for the spec of the maintenance and is below 1 MB with it, for 5,000 nodes with names of 63
 * characters. What others act by is never cut: the nodes, their targets, positions and begins, the sums in the summary. Where all
 * would be too large, texts are shortened; where that is not enough, nodes go into `nodeGroups`, first those on which
 * nothing blocks. The summary says what is left out.
 */
export function boundedStatus(maintenance: NodeMaintenance, status: NodeMaintenanceStatus): NodeMaintenanceStatus {
  if (status.nodeStatuses === undefined) return status;
  const hadGroups = (maintenance.status?.nodeGroups ?? []).length > 0;
  const nodes = nodeStatusesOf(status);
  const { status: _, ...rest } = maintenance;
  const room = OBJECT_BYTES - FRAME_BYTES - bytesOf(rest);
  const enough = Math.min(room, ENOUGH_BYTES);
  const ungrouped = { ...status, nodeStatuses: nodes };
  if (fits(nodes, enough)) {
    if (hadGroups) return { ...ungrouped, nodeGroups: [] };
    return status.nodeGroups === undefined ? status : ungrouped;
  }
  const short = nodes.map(withShortTexts);
  const kept = fits(short, enough) ? new Set(short.map(({ nodeRef }) => nodeRef.name)) : detailed(short, room);
  const nodeStatuses = short.filter(({ nodeRef }) => kept.has(nodeRef.name));
  const nodeGroups = groupsOf(short.filter(({ nodeRef }) => !kept.has(nodeRef.name)));
  const leftOut = leftOutOf(nodes.length, nodes.length - nodeStatuses.length);
  const summary = { nodes: '', ...status.summary, leftOut, podsBlocking: blockingByReason(nodes) };
  return { ...status, nodeStatuses, ...(nodeGroups.length > 0 || hadGroups ? { nodeGroups } : {}), summary };
}
