import type { Condition } from '../api/meta.ts';
import { DRAINED, type NodeMaintenance, type NodeMaintenanceStatus, type Stage } from '../api/node-maintenance.ts';
import type { DrainDecision } from './drain-targets.ts';

/** The order of the stages (KEP-4212, NodeMaintenanceSpec.Stage). */
const STAGES: readonly Stage[] = ['Idle', 'Cordon', 'Drain', 'Complete'];

/** The stage statuses with one for `stage`; stages that were never started get none (KEP-4212, "Status"). */
export function startedStages(maintenance: NodeMaintenance, stage: Stage, now: number): NodeMaintenanceStatus {
  const known = maintenance.status?.stageStatuses ?? [];
  if (known.some(({ name }) => name === stage)) return { stageStatuses: known };
  const added = [...known, { name: stage, startTimestamp: new Date(now).toISOString() }];
  return { stageStatuses: added.toSorted((a, b) => STAGES.indexOf(a.name) - STAGES.indexOf(b.name)) };
}

/** A Drained condition that keeps the time of its last change. */
export function drainedCondition(
  maintenance: NodeMaintenance,
  drained: boolean,
  reason: string,
  message: string,
  now: number,
): readonly Condition[] {
  const conditions = maintenance.status?.conditions ?? [];
  const status = drained ? 'True' : 'False';
  const old = conditions.find(({ type }) => type === DRAINED);
  const lastTransitionTime = old?.status === status ? old.lastTransitionTime : new Date(now).toISOString();
  const fresh: Condition = { type: DRAINED, status, reason, message, lastTransitionTime };
  return [...conditions.filter(({ type }) => type !== DRAINED), fresh];
}

/** The message of one node of the drain (KEP-4212, "Pod Selection and DrainTargets Example"). */
function drainMessage(node: string, { evicting, pending }: DrainDecision): string {
  if ((evicting[node] ?? []).length > 0) return 'Evacuating';
  if ((pending[node] ?? []).length === 0) return 'Drained';
  const others = Object.keys(evicting).filter((other) => (evicting[other] ?? []).length > 0);
  return others.length === 0 ? 'Evacuating' : `Waiting for node ${others.join(', ')}.`;
}

/** The whole status of a maintenance in the Drain stage. */
export function drainStatus(maintenance: NodeMaintenance, decision: DrainDecision, now: number): NodeMaintenanceStatus {
  const nodes = Object.keys(decision.evicting);
  const left = nodes.reduce(
    (sum, node) => sum + (decision.evicting[node] ?? []).length + (decision.pending[node] ?? []).length,
    0,
  );
  const drained = decision.drained && nodes.length > 0;
  const message =
    nodes.length === 0
      ? 'The node selector selects no node.'
      : drained
        ? 'All pods are gone.'
        : `${left} pods are left.`;
  const reason = nodes.length === 0 ? 'NoNodes' : drained ? 'DrainCompleted' : 'Draining';
  return {
    ...startedStages(maintenance, 'Drain', now),
    nodeStatuses: nodes.map((name) => ({
      nodeRef: { name },
      drainTargets: decision.drainTargets,
      drainMessage: drainMessage(name, decision),
      podsPendingEvacuation: (decision.pending[name] ?? []).length,
      podsEvacuating: (decision.evicting[name] ?? []).length,
    })),
    conditions: drainedCondition(maintenance, drained, reason, message, now),
  };
}
