import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { stageOf } from '../../decide/maintenance/maintenance.ts';
import { isNamed, type Phase, type Shutdown } from '../../decide/shutdown/phase.ts';
import type { OwnMaintenances } from '../cluster/own-maintenances.ts';

/**
 * Creates the NodeMaintenance of a shutdown that is drained with the cluster, and deletes those of earlier shutdowns that
 * are over. `drainPlan` is the configured one.
 */
export async function ensureMaintenance(
  own: Pick<OwnMaintenances, 'state' | 'confirm' | 'create' | 'own' | 'remove'>,
  drainPlan: readonly DrainPlanEntry[],
  phase: Shutdown,
  signal: AbortSignal,
): Promise<void> {
  const { maintenance: name } = phase;
  if (own.state(name) === 'open') await own.confirm(name, signal);
  if (own.state(name) !== 'absent') return;
  await own.create(phase, drainPlan, signal);
  for (const old of own.own()) {
    if (old.metadata.name !== name && stageOf(old) === 'Complete') await own.remove(old, signal);
  }
}

/**
 * Completes the maintenances that this node's agent created and whose shutdown is over: after a boot where `onBoot` says so,
 * after a cancellation always. The controller then undoes their cordon, EvictionRequests and gates, and another machine may reboot:
 * so a member of the control plane that is still on its way back (`isReturning`) waits with it.
 */
export async function completeOwn(
  own: Pick<OwnMaintenances, 'own' | 'complete'>,
  { onBoot, isReturning }: { readonly onBoot: 'complete' | 'wait'; readonly isReturning: boolean },
  phase: Phase,
  signal: AbortSignal,
): Promise<void> {
  if (phase.kind === 'draining' || phase.kind === 'released' || isReturning) return;
  const due = own.own().filter((each) => {
    const canceled = phase.kind === 'recovering' && phase.cause === 'canceled' && isNamed(phase, each.metadata.name);
    return stageOf(each) !== 'Complete' && (onBoot === 'complete' || canceled);
  });
  // Each whatever becomes of the others.
  const outcomes = await Promise.allSettled(due.map((each) => own.complete(each, signal)));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}
