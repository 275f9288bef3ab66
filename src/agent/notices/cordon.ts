import { noticeNames } from '../../decide/maintenance/shutdown-maintenance.ts';
import { describeError } from '../../errors.ts';
import type { AgentContext } from '../context.ts';

/** Cordons the node while a notice wants that and no more, and gives it back when the notice is gone. */
export async function keepNoticeCordon(context: AgentContext, signal: AbortSignal): Promise<void> {
  const { cluster, log, nodeName } = context;
  if (cluster?.synced() !== true) return;
  const reason = context.notices.cordon();
  try {
    if (reason === undefined) {
      for (const cordon of cluster.ownCordons()) await cluster.remove(cordon, signal);
      return;
    }
    if (cluster.ownCordons().length > 0) return;
    const names = noticeNames(nodeName);
    const made = names.find((each) => cluster.state(each) === 'open');
    if (made !== undefined) {
      await cluster.confirm(made, signal);
      return;
    }
    const name = names.find((each) => cluster.isFree(each));
    if (name !== undefined) await cluster.create({ name, reason, stage: 'Cordon', drainPlan: [] }, signal);
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ reason: describeError(error) }, 'cannot cordon for a notice yet, or uncordon');
  }
}
