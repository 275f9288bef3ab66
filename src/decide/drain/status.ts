import {
  type BlockingPod,
  DRAINED,
  type DrainPlanEntry,
  type NodeMaintenance,
  type NodeMaintenanceStatus,
  type NodeStatus,
  type Stage,
  type WaitReason,
} from '../../api/node-maintenance.ts';
import { nodeStatusesOf, identityOf, type NodeIdentity, recordedNodes } from '../maintenance/recorded-node.ts';
import { drainedCondition, drainOutcome } from './drained-condition.ts';
import { summaryOf } from './summary.ts';
import type { DrainResolution, NodeResolution } from './resolution.ts';
import { COMMAND_PREFIX, isAgentsName } from '../maintenance/agent-names.ts';
import { STAGES } from '../maintenance/maintenance.ts';
import { rfc3339, timeOf } from '../time.ts';
import { volumesStatus } from '../volume/wait.ts';

/** The CRD takes no more. */
const MAX_BLOCKING = 20;

/** The stage statuses with one for `stage`; stages that were never started get none (KEP-4212, "Status"). */
function startedStages(maintenance: NodeMaintenance, stage: Stage, now: number): NodeMaintenanceStatus {
  const known = maintenance.status?.stageStatuses ?? [];
  if (known.some(({ name }) => name === stage)) return { stageStatuses: known };
  const added = [...known, { name: stage, startTimestamp: rfc3339(now) }];
  return { stageStatuses: added.toSorted((a, b) => STAGES.indexOf(a.name) - STAGES.indexOf(b.name)) };
}

/** What is known of a node beside the resolution of its drain. */
export interface NodeObservation {
  readonly blocking: readonly BlockingPod[];
  /** Milliseconds since the epoch; absent where nothing is left. */
  readonly expectedFinishAt?: number;
  /** Targeted pods whose eviction has started: it is requested, or they are terminating. */
  readonly evacuating: number;
  /** Pods that wait for room within the limits of evictions in flight. */
  readonly overLimit: number;
  /** DaemonSets, NAMESPACE/NAME, whose pods come back in spite of the gate. */
  readonly ungatedDaemonSets: readonly string[];
  /** Whether the machine goes down and no other node stays, so that budgets are not asked; absent where they are. */
  readonly budgetsNotAsked?: boolean;
  /** Why the API server does not let the node be cordoned, or its conditions be set; absent where it does. */
  readonly refusal?: string;
}

/** The message of a node with the reason why it cannot be cordoned, or its conditions cannot be set. */
function withRefusal(message: string, refusal: string | undefined): string {
  if (refusal === undefined) return message;
  return `${message === '' ? '' : `${message}; `}the node cannot be changed: ${refusal}`;
}

/** An estimate is written again only when it has moved by this much; otherwise each observation would be a write. */
const ESTIMATE_STEP_MS = 10_000;

function estimate(old: NodeStatus | undefined, expectedFinishAt: number | undefined): string | undefined {
  if (expectedFinishAt === undefined) return undefined;
  const before = timeOf(old?.expectedFinishTime) ?? Infinity;
  return Math.abs(before - expectedFinishAt) < ESTIMATE_STEP_MS ? old?.expectedFinishTime : rfc3339(expectedFinishAt);
}

function nodeStatus(old: NodeStatus | undefined, node: NodeResolution, seen: NodeObservation, now: number): NodeStatus {
  const left = node.evicting.length + node.pending.length;
  // Of a node whose details were left out meanwhile, nobody knows any more how many it had.
  const isForgotten = old?.drainPlanPosition !== undefined && old.podsAtStart === undefined;
  const atStart = Math.max(old?.podsAtStart ?? 0, left);
  const waiting =
    seen.overLimit === 0 ? '' : `; ${seen.overLimit} of them wait for others, by the limits of evictions in flight`;
  const volumesInUse = node.volumes === undefined ? undefined : volumesStatus(node.volumes);
  const expectedFinishTime = left === 0 ? undefined : estimate(old, seen.expectedFinishAt);
  return {
    nodeRef: identityOf(node),
    drainTargets: node.drainTargets,
    drainPlanPosition: node.position,
    drainStartTime: old?.drainStartTime ?? rfc3339(now),
    drainMessage: withRefusal(`${node.message}${waiting}`, seen.refusal),
    podsPendingEvacuation: left - seen.evacuating,
    podsEvacuating: seen.evacuating,
    ...(isForgotten
      ? {}
      : {
          podsAtStart: atStart,
          progressPercent: atStart === 0 ? 100 : Math.floor((100 * (atStart - left)) / atStart),
        }),
    ...(expectedFinishTime === undefined ? {} : { expectedFinishTime }),
    ...(seen.budgetsNotAsked === true ? { budgetsNotAsked: true } : {}),
    ...(seen.blocking.length === 0 ? {} : { podsBlocking: seen.blocking.slice(0, MAX_BLOCKING) }),
    ...(volumesInUse === undefined ? {} : { volumesInUse }),
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
  const recordedOf = recordedNodes(maintenance.status);
  const nodeStatuses = nodes.map((node) => nodeStatus(recordedOf(node), node, observe(node), now));
  return {
    ...startedStages(maintenance, 'Drain', now),
    nodeStatuses,
    summary: summaryOf(nodeStatuses),
    drainPlanPosition: position,
    conditions: drainedCondition(maintenance, drainOutcome(maintenance, resolution), now),
  };
}

/** A node that is throttled. */
export interface WaitingNode extends NodeIdentity {
  /** Why it waits. */
  readonly message: string;
  /** What other drains have reached there: when they end, it is not taken back. */
  readonly drainTargets: readonly DrainPlanEntry[];
  /** The number of its pods. */
  readonly pods: number;
  /** Those of them whose eviction has started, for other drains. */
  readonly evacuating: number;
  /** As in NodeObservation. */
  readonly refusal?: string | undefined;
}

function waitingNodeStatus({ message, drainTargets, pods, evacuating, refusal, ...node }: WaitingNode): NodeStatus {
  return {
    nodeRef: identityOf(node),
    ...(drainTargets.length === 0 ? {} : { drainTargets }),
    drainMessage: withRefusal(message, refusal),
    podsPendingEvacuation: pods - evacuating,
    podsEvacuating: evacuating,
  };
}

/** The status of a drain that goes on while some of its nodes, which joined it later, are throttled. */
export function withWaiting(
  maintenance: NodeMaintenance,
  status: NodeMaintenanceStatus,
  waiting: readonly WaitingNode[],
  now: number,
): NodeMaintenanceStatus {
  const [first] = waiting;
  if (first === undefined) return status;
  const nodeStatuses = [...(status.nodeStatuses ?? []), ...waiting.map(waitingNodeStatus)];
  const isDraining = status.conditions?.some(({ type, reason }) => type === DRAINED && reason === 'Draining') === true;
  const outcome = { drained: false, reason: 'Waiting', message: first.message };
  const conditions = isDraining ? (status.conditions ?? []) : drainedCondition(maintenance, outcome, now);
  return { ...status, nodeStatuses, summary: summaryOf(nodeStatuses), conditions };
}

/** The status of a maintenance that may not begin yet. */
export function waitingStatus(
  maintenance: NodeMaintenance,
  nodes: readonly WaitingNode[],
  wait: { readonly reason: WaitReason; readonly message: string },
  now: number,
): NodeMaintenanceStatus {
  const nodeStatuses = nodes.map(waitingNodeStatus);
  return {
    ...startedStages(maintenance, 'Drain', now),
    nodeStatuses,
    summary: summaryOf(nodeStatuses),
    conditions: drainedCondition(maintenance, { drained: false, ...wait }, now),
  };
}

/** The status of a maintenance in the Cordon stage: the nodes that it selects. */
export function cordonStatus(
  maintenance: NodeMaintenance,
  nodes: readonly (NodeIdentity & Pick<WaitingNode, 'refusal'>)[],
  now: number,
): NodeMaintenanceStatus {
  const nodeStatuses = nodes.map((node) => ({
    nodeRef: identityOf(node),
    ...(node.refusal === undefined ? {} : { drainMessage: withRefusal('', node.refusal) }),
  }));
  const { nodes: names } = summaryOf(nodeStatuses);
  return { ...startedStages(maintenance, 'Cordon', now), nodeStatuses, summary: { nodes: names } };
}

/** The status of a maintenance in the Complete stage: what it had reached, and that it waits for no pod any more. */
export function completedStatus(maintenance: NodeMaintenance, now: number): NodeMaintenanceStatus {
  const stages = startedStages(maintenance, 'Complete', now);
  if (maintenance.status?.nodeStatuses === undefined) return stages;
  const nodeStatuses = nodeStatusesOf(maintenance.status).map(
    ({ nodeRef, drainTargets, drainPlanPosition, drainStartTime, podsAtStart, progressPercent }) => ({
      nodeRef,
      ...(drainTargets === undefined ? {} : { drainTargets }),
      ...(drainPlanPosition === undefined ? {} : { drainPlanPosition }),
      ...(drainStartTime === undefined ? {} : { drainStartTime }),
      drainMessage: 'Completed',
      podsPendingEvacuation: 0,
      podsEvacuating: 0,
      ...(podsAtStart === undefined ? {} : { podsAtStart }),
      ...(progressPercent === undefined ? {} : { progressPercent }),
    }),
  );
  return { ...stages, nodeStatuses, summary: summaryOf(nodeStatuses) };
}

/** For how long a finished maintenance can be read, in milliseconds: a week. */
const FINISHED_MS = 7 * 86_400_000;

/**
 * Until when a maintenance that is finished is kept, in milliseconds since the epoch; undefined where it is not finished or
 * nobody knows since when. One whose name a person chose is kept for ever: a program that made it might make it anew, and drain.
 */
export function finishedUntil({ metadata, spec, status }: NodeMaintenance): number | undefined {
  const { name, finalizers = [], deletionTimestamp } = metadata;
  const isOurs = isAgentsName(name) || name.startsWith(COMMAND_PREFIX);
  if (!isOurs || spec.stage !== 'Complete' || finalizers.length > 0 || deletionTimestamp !== undefined)
    return undefined;
  const since = timeOf(status?.stageStatuses?.find((each) => each.name === 'Complete')?.startTimestamp);
  return since === undefined ? undefined : since + FINISHED_MS;
}
