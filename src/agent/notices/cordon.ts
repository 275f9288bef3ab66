import { maintenanceReason, noticeNames } from '../../decide/maintenance/agent-names.ts';
import type { NodeMaintenances } from '../cluster/maintenance-watch.ts';
import type { OwnMaintenances } from '../cluster/own-maintenances.ts';

/** What the cordon of a notice needs from the cluster. */
export interface CordonCluster {
  readonly maintenances: Pick<NodeMaintenances, 'synced'>;
  readonly own: Pick<OwnMaintenances, 'ownCordons' | 'remove' | 'state' | 'confirm' | 'isFree' | 'create'>;
}

/**
 * Cordons the node, by a NodeMaintenance in the stage Cordon, while a notice asks for a cordon and not for a drain; removes
 * the NodeMaintenance when the notice is gone. `reason` is the notice's; undefined where none asks for a cordon.
 */
export async function keepNoticeCordon(
  { maintenances, own }: CordonCluster,
  nodeName: string,
  reason: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (!maintenances.synced()) return;
  if (reason === undefined) {
    for (const cordon of own.ownCordons()) await own.remove(cordon, signal);
    return;
  }
  if (own.ownCordons().length > 0) return;
  const names = noticeNames(nodeName);
  const created = names.find((each) => own.state(each) === 'open');
  if (created !== undefined) {
    await own.confirm(created, signal);
    return;
  }
  const name = names.find((each) => own.isFree(each));
  const wanted = { reason: maintenanceReason(reason), stage: 'Cordon', drainPlan: [] } as const;
  if (name !== undefined) await own.create({ name, ...wanted }, signal);
}
