import { NODE_MAINTENANCE_API_VERSION } from '../../api/names.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../../api/node-maintenance.ts';
import { drainEvents } from '../../decide/node/events.ts';
import type { DrainResolution } from '../../decide/drain/resolution.ts';
import { firstNames } from '../../decide/name-list.ts';
import { timeOf } from '../../decide/time.ts';
import type { EventText } from '../../kube/event/text.ts';
import type { ControllerContext } from '../context.ts';

function record({ events }: ControllerContext, maintenance: NodeMaintenance, text: EventText): void {
  events.record({ ...maintenance, apiVersion: NODE_MAINTENANCE_API_VERSION, kind: 'NodeMaintenance' }, text);
}

/** Reports by Events what a status says that the maintenance had not in its status before. */
export function reportDrain(
  context: ControllerContext,
  maintenance: NodeMaintenance,
  status: NodeMaintenanceStatus,
): void {
  for (const event of drainEvents(maintenance.status, status)) {
    record(context, maintenance, event);
    if (event.reason !== 'Drained') continue;
    const since = timeOf(status.stageStatuses?.find(({ name }) => name === 'Drain')?.startTimestamp);
    if (since !== undefined) context.metrics.drained.observe(Math.max(0, (context.clock.now() - since) / 1000));
  }
}

/** Reports by Events which nodes an older maintenance has drained further than this one. */
export function reportFastForwards(
  context: ControllerContext,
  maintenance: NodeMaintenance,
  { nodes }: DrainResolution,
): void {
  for (const { name, fastForwardedBy } of nodes) {
    if (fastForwardedBy === undefined) continue;
    const message = `The drain of node ${name} is fast-forwarded: the older maintenance ${fastForwardedBy} has gone further there already.`;
    record(context, maintenance, { type: 'Warning', reason: 'FastForwarded', message });
  }
}

/** Nodes that an Event names. */
const MAX_NAMED = 10;
/** Events about what cannot be given back; the first ones show what is wrong. */
const MAX_REFUSED = 5;

/** What is left when a maintenance is complete. */
export interface LeftOver {
  /** What the API server does not let this controller take back, a sentence for each object. */
  readonly refused: readonly string[];
  /** The nodes that stay unschedulable, because the maintenance did not cordon them. */
  readonly cordoned: readonly string[];
}

/** Reports by Events that a maintenance is complete, and what is left. */
export function reportCompletion(
  context: ControllerContext,
  maintenance: NodeMaintenance,
  { refused, cordoned }: LeftOver,
): void {
  for (const message of refused.slice(0, MAX_REFUSED)) {
    record(context, maintenance, { type: 'Warning', reason: 'GiveBackRefused', message });
  }
  const done = 'The maintenance is complete: what it took from its nodes and pods is given back.';
  record(context, maintenance, { type: 'Normal', reason: 'Completed', message: done });
  if (cordoned.length === 0) return;
  const message = `Unschedulable after the maintenance, because it did not cordon them: ${firstNames(cordoned, MAX_NAMED)}. "kubectl uncordon" makes them schedulable.`;
  record(context, maintenance, { type: 'Normal', reason: 'CordonKept', message });
}
