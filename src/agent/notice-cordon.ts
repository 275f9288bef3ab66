import { describeError } from '../errors.ts';
import type { AgentContext } from './context.ts';

/** The name of the maintenance that only cordons this node. */
export function cordonName(nodeName: string): string {
  return `notice-${nodeName.slice(0, 240)}`;
}

/** Cordons the node while a notice wants that and no more, and gives it back when the notice is gone. */
export async function keepNoticeCordon(context: AgentContext, signal: AbortSignal): Promise<void> {
  const { cluster, log, nodeName } = context;
  if (cluster?.synced() !== true) return;
  const reason = context.notices.cordon();
  const name = cordonName(nodeName);
  const known = cluster.maintenance(name);
  try {
    if (reason !== undefined && !cluster.exists(name)) {
      await cluster.create({ name, reason, stage: 'Cordon', drainPlan: [] }, signal);
    } else if (reason === undefined && known !== undefined && known.metadata.deletionTimestamp === undefined) {
      await cluster.remove(known, signal);
    }
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ maintenance: name, reason: describeError(error) }, 'cannot cordon for a notice yet, or uncordon');
  }
}
