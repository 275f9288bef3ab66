import { noticeNames } from '../../decide/maintenance/shutdown-maintenance.ts';
import type { Cluster } from '../cluster/cluster.ts';

/** What the cordon of a notice needs from the cluster. */
export type CordonCluster = Pick<
  Cluster,
  'synced' | 'ownCordons' | 'remove' | 'state' | 'confirm' | 'isFree' | 'create'
>;

/**
 * Cordons the node, by a NodeMaintenance in the stage Cordon, while a notice asks for a cordon and not for a drain; removes
 * the NodeMaintenance when the notice is gone. `reason` is the notice's; undefined where none asks for a cordon.
 */
export async function keepNoticeCordon(
  cluster: CordonCluster,
  nodeName: string,
  reason: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (!cluster.synced()) return;
  if (reason === undefined) {
    for (const cordon of cluster.ownCordons()) await cluster.remove(cordon, signal);
    return;
  }
  if (cluster.ownCordons().length > 0) return;
  const names = noticeNames(nodeName);
  const created = names.find((each) => cluster.state(each) === 'open');
  if (created !== undefined) {
    await cluster.confirm(created, signal);
    return;
  }
  const name = names.find((each) => cluster.isFree(each));
  if (name !== undefined) await cluster.create({ name, reason, stage: 'Cordon', drainPlan: [] }, signal);
}
