import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import { begunNode, hasDrained, nodeStatusOf } from '../../../decide/maintenance/recorded-node.ts';
import { isBeforeItsTurn, rebootNodeOf, takesTurns } from '../../../decide/shutdown/machine-going-down.ts';
import { stageOf } from '../../../decide/maintenance/maintenance.ts';
import { DEFAULT_REBOOT_MS, isStalled, noteProgress, type RebootProgress } from '../../../decide/reboot/progress.ts';
import { decideTurns, describeTurnWait, type Reboot } from '../../../decide/reboot/turns.ts';
import { MISSING_CONTROLLER } from '../../../decide/shutdown/drainer.ts';
import { timeOf } from '../../../decide/time.ts';
import { hasCode } from '../../../kube/connection-loss.ts';
import type { Clock } from '../../../host/clock.ts';
import type { SelfStatus } from './status.ts';

/** The turns of machines that reboot while no controller is alive: one at a time, in the order in which they were asked to. */
export interface SelfTurns {
  /** Why this maintenance of the node waits for its turn; undefined where it has it, or takes none. */
  waitOf(maintenance: NodeMaintenance): string | undefined;
}

interface SelfTurnsDependencies {
  readonly nodeName: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** All NodeMaintenances of the cluster. */
  readonly list: () => readonly NodeMaintenance[];
  /** After how long others no longer wait for a machine that gets no further. */
  readonly maxRebootMs?: number;
}

/** How many pods the status of the maintenance has left on the node; as many as no node has where it does not say. */
function podsLeft({ status }: NodeMaintenance, node: string): number {
  const { podsPendingEvacuation: pending, podsEvacuating: evacuating } = nodeStatusOf(status, node) ?? {};
  return pending === undefined || evacuating === undefined ? Infinity : pending + evacuating;
}

/** Creates the turns. Of other nodes an agent knows nothing but what their maintenances say, so budgets do not count. */
export function createSelfTurns({
  nodeName,
  clock,
  list,
  maxRebootMs = DEFAULT_REBOOT_MS,
}: SelfTurnsDependencies): SelfTurns {
  let known = new Map<string, RebootProgress>();
  const open = (own: NodeMaintenance): readonly Reboot[] => {
    const now = clock.monotonic();
    const before = known;
    known = new Map();
    return [...list().filter(({ metadata }) => metadata.name !== own.metadata.name), own].flatMap((each): Reboot[] => {
      const node = rebootNodeOf(each);
      if (node === undefined || stageOf(each) !== 'Drain') return [];
      const { name, uid = name, creationTimestamp } = each.metadata;
      const sight = { podsLeft: podsLeft(each, node), isDrained: hasDrained(each, node), isReady: true, isOver: false };
      const begun = !takesTurns(each) || begunNode(each.status, { name: node }) !== undefined;
      const progress = noteProgress(before.get(uid), sight, now);
      if (begun) known.set(uid, progress);
      const stalled = begun && isStalled(progress, maxRebootMs, now);
      const createdAt = timeOf(creationTimestamp) ?? Infinity;
      return [{ name, node, createdAt, begun, stalled, isMember: false, needs: new Map() }];
    });
  };
  return {
    waitOf: (maintenance) => {
      if (!isBeforeItsTurn(maintenance, { name: nodeName })) return undefined;
      const sight = { reboots: open(maintenance), allowed: () => 0, membersAway: [], maxParallel: 1 };
      const wait = decideTurns(sight).get(maintenance.metadata.name);
      return (
        wait && describeTurnWait({ ...wait, cause: `${MISSING_CONTROLLER}, without which nodes reboot one at a time` })
      );
    },
  };
}

/** Those of the maintenances that may begin; the others say on themselves for whom they wait. */
export async function thoseInTurn(
  { turns, status }: { readonly turns: SelfTurns; readonly status: Pick<SelfStatus, 'latest' | 'wait'> },
  maintenances: readonly NodeMaintenance[],
  mayWrite: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<readonly NodeMaintenance[]> {
  const due: NodeMaintenance[] = [];
  for (const each of status.latest(maintenances)) {
    const why = turns.waitOf(each);
    if (why === undefined) due.push(each);
    else
      await status.wait(each, why, mayWrite, signal).catch((error: unknown) => {
        // It is told to people: a machine that may not say so waits all the same.
        if (!hasCode(error, 'API_REFUSED')) throw error;
      });
  }
  return due;
}
