import { turnWaitOf } from '../decide/shutdown/machine-going-down.ts';
import { holdsLock } from '../decide/shutdown/phase.ts';
import { rfc3339 } from '../decide/time.ts';
import type { AgentRecord } from './phase/record.ts';
import type { LockReconciler } from './shutdown/lock.ts';
import type { NodeMaintenances } from './cluster/maintenance-watch.ts';
import type { PresenceFacts } from './cluster/presence.ts';

/** What the agent says of itself on its Node. */
export function presenceFactsOf(
  { phase, last }: Pick<AgentRecord, 'phase' | 'last'>,
  lock: ReturnType<LockReconciler['status']>,
  maintenances: Pick<NodeMaintenances, 'get'>,
): PresenceFacts {
  const isMissing = !lock.held && holdsLock(phase) && lock.kind !== 'none';
  const turn = phase.kind === 'draining' ? turnWaitOf(maintenances.get(phase.maintenance)) : undefined;
  const waits = turn === undefined ? '' : `; ${turn.message}`;
  const shutdown = phase.kind === 'draining' || phase.kind === 'released' ? `${phase.reason}${waits}` : '';
  return {
    phase: turn === undefined ? phase.kind : 'waiting',
    lock: lock.kind === 'none' ? 'none' : lock.held ? 'held' : 'missing',
    reason: isMissing ? lock.message : shutdown,
    ...(last === undefined ? {} : { last: { result: last.result, at: rfc3339(last.at) } }),
  };
}
