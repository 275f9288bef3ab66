import type { Condition } from '../../api/meta.ts';
import {
  type BlockingPod,
  DRAINED,
  type NodeMaintenance,
  type NodeMaintenanceStatus,
  type NodeStatus,
  type Stage,
} from '../../api/node-maintenance.ts';
import { type NodeIdentity, recordedNodes } from './recorded-node.ts';
import { summaryOf } from './summary.ts';
import type { DrainResolution, NodeResolution } from './resolution.ts';
import { STAGES } from '../maintenance/maintenance.ts';
import { rfc3339, timeOf } from '../time.ts';

/** The CRD takes no more. */
const MAX_BLOCKING = 20;

/** The stage statuses with one for `stage`; stages that were never started get none (KEP-4212, "Status"). */
export function startedStages(maintenance: NodeMaintenance, stage: Stage, now: number): NodeMaintenanceStatus {
  const known = maintenance.status?.stageStatuses ?? [];
  if (known.some(({ name }) => name === stage)) return { stageStatuses: known };
  const added = [...known, { name: stage, startTimestamp: rfc3339(now) }];
  return { stageStatuses: added.toSorted((a, b) => STAGES.indexOf(a.name) - STAGES.indexOf(b.name)) };
}

/** A Drained condition that keeps the time of its last change. */
export function drainedCondition(
  maintenance: NodeMaintenance,
  { drained, reason, message }: { readonly drained: boolean; readonly reason: string; readonly message: string },
  now: number,
): readonly Condition[] {
  const conditions = maintenance.status?.conditions ?? [];
  const status = drained ? 'True' : 'False';
  const old = conditions.find(({ type }) => type === DRAINED);
  const lastTransitionTime = old?.status === status ? old.lastTransitionTime : rfc3339(now);
  const fresh: Condition = { type: DRAINED, status, reason, message, lastTransitionTime };
  return [...conditions.filter(({ type }) => type !== DRAINED), fresh];
}

/** What is known of a node beside the resolution of its drain. */
export interface NodeObservation {
  readonly blocking: readonly BlockingPod[];
  /** Milliseconds since the epoch; absent where nothing is left. */
  readonly expectedFinishAt?: number;
  /** Pods that wait for room within the limits of evictions in flight. */
  readonly overLimit: number;
  /** DaemonSets, NAMESPACE/NAME, whose pods come back in spite of the gate. */
  readonly ungatedDaemonSets: readonly string[];
}

/** An estimate is written anew only when it moved by so much, for otherwise each look would be a write. */
const ESTIMATE_STEP_MS = 10_000;

function estimate(old: NodeStatus | undefined, expectedFinishAt: number | undefined): string | undefined {
  if (expectedFinishAt === undefined) return undefined;
  const before = timeOf(old?.expectedFinishTime) ?? Infinity;
  return Math.abs(before - expectedFinishAt) < ESTIMATE_STEP_MS ? old?.expectedFinishTime : rfc3339(expectedFinishAt);
}

function nodeRefOf({ name, uid }: NodeIdentity): NodeStatus['nodeRef'] {
  return { name, ...(uid === undefined ? {} : { uid }) };
}

function nodeStatus(old: NodeStatus | undefined, node: NodeResolution, seen: NodeObservation): NodeStatus {
  const left = node.evicting.length + node.pending.length;
  const atStart = Math.max(old?.podsAtStart ?? 0, left);
  const waiting =
    seen.overLimit === 0 ? '' : `; ${seen.overLimit} of them wait for others, by the limits of evictions in flight`;
  const expectedFinishTime = left === 0 ? undefined : estimate(old, seen.expectedFinishAt);
  return {
    nodeRef: nodeRefOf(node),
    drainTargets: node.drainTargets,
    drainPlanPosition: node.position,
    drainMessage: `${node.message}${waiting}`,
    podsPendingEvacuation: node.pending.length,
    podsEvacuating: node.evicting.length,
    podsAtStart: atStart,
    progressPercent: atStart === 0 ? 100 : Math.floor((100 * (atStart - left)) / atStart),
    ...(expectedFinishTime === undefined ? {} : { expectedFinishTime }),
    ...(seen.blocking.length === 0 ? {} : { podsBlocking: seen.blocking.slice(0, MAX_BLOCKING) }),
    ...(seen.ungatedDaemonSets.length === 0
      ? {}
      : { escapedDaemonSets: seen.ungatedDaemonSets.slice(0, MAX_BLOCKING) }),
  };
}

/** The whole status of a maintenance in the Drain stage (KEP-4212, "Status"). */
export function drainStatus(
  maintenance: NodeMaintenance,
  resolution: DrainResolution,
  observe: (node: NodeResolution) => NodeObservation,
  now: number,
): NodeMaintenanceStatus {
  const { nodes, position } = resolution;
  const left = nodes.reduce((sum, { evicting, pending }) => sum + evicting.length + pending.length, 0);
  const drained = resolution.drained && nodes.length > 0;
  const message =
    nodes.length === 0
      ? 'The node selector selects no node.'
      : drained
        ? 'All pods are gone.'
        : `${left} ${left === 1 ? 'pod is' : 'pods are'} left.`;
  const reason = nodes.length === 0 ? 'NoNodes' : drained ? 'DrainCompleted' : 'Draining';
  const recordedOf = recordedNodes(maintenance.status);
  const nodeStatuses = nodes.map((node) => nodeStatus(recordedOf(node), node, observe(node)));
  return {
    ...startedStages(maintenance, 'Drain', now),
    nodeStatuses,
    summary: summaryOf(nodeStatuses),
    drainPlanPosition: position,
    conditions: drainedCondition(maintenance, { drained, reason, message }, now),
  };
}

/** The status of a maintenance that waits until fewer nodes are under maintenance. */
export function waitingStatus(
  maintenance: NodeMaintenance,
  nodeNames: readonly string[],
  message: string,
  now: number,
): NodeMaintenanceStatus {
  const nodeStatuses = nodeNames.map((name) => ({ nodeRef: { name }, drainMessage: message }));
  return {
    ...startedStages(maintenance, 'Drain', now),
    nodeStatuses,
    summary: summaryOf(nodeStatuses),
    conditions: drainedCondition(maintenance, { drained: false, reason: 'Waiting', message }, now),
  };
}

/** The parts of a status by which others act; the counts and texts beside them are for people. */
function essence({ nodeStatuses = [], ...status }: NodeMaintenanceStatus): object {
  return {
    ...status,
    summary: undefined,
    nodeStatuses: nodeStatuses.map(({ nodeRef, drainTargets, drainPlanPosition }) => {
      return { nodeRef, drainTargets, drainPlanPosition };
    }),
  };
}

/** Whether a status says something new that others act by: targets, stages, conditions, not only a count. */
export function isSignificantChange(before: NodeMaintenanceStatus | undefined, after: NodeMaintenanceStatus): boolean {
  const conditions = (status: NodeMaintenanceStatus): object =>
    (status.conditions ?? []).map(({ type, status: is, reason }) => ({ type, is, reason }));
  const of = (status: NodeMaintenanceStatus): string =>
    JSON.stringify({ ...essence(status), conditions: conditions(status) });
  return before === undefined || of({ ...before, ...after }) !== of(before);
}
