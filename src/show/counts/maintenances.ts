import {
  DRAINED,
  type MaintenanceSummary,
  type NodeMaintenance,
  type NodeMaintenanceStatus,
  type Stage,
} from '../../api/node-maintenance.ts';
import { stageOf } from '../../decide/maintenance/maintenance.ts';
import { timeOf } from '../../decide/time.ts';

type Counts = ReadonlyMap<string, number>;

/** What is counted of all maintenances at one moment. */
export interface MaintenanceCounts {
  /** Maintenances by stage. */
  readonly stages: ReadonlyMap<Stage, number>;
  /** Maintenances in Drain: waiting, draining or drained. */
  readonly drains: Counts;
  /** Pods of drains: pending or evacuating. */
  readonly pods: Counts;
  /** Pods that block drains, by reason. */
  readonly blocking: Counts;
  /** The seconds since the Drain stage began, of each maintenance that is not drained, by its name. */
  readonly ageSec: Counts;
}

/** The summary counts also those that the statuses of the nodes leave out. */
function blockingOf({
  nodeStatuses = [],
  summary,
}: NodeMaintenanceStatus = {}): NonNullable<MaintenanceSummary['podsBlocking']> {
  const named = nodeStatuses.flatMap(({ podsBlocking = [] }) => podsBlocking);
  return summary?.podsBlocking ?? named.map(({ reason }) => ({ reason, pods: 1 }));
}

/** Adds up what the statuses of the maintenances say at `now`, in milliseconds since the epoch. */
export function countMaintenances(maintenances: readonly NodeMaintenance[], now: number): MaintenanceCounts {
  // A value that was there before and is not any more is 0, and does not vanish.
  const stages = new Map<Stage, number>([
    ['Idle', 0],
    ['Cordon', 0],
    ['Drain', 0],
    ['Complete', 0],
  ]);
  const drains = new Map([
    ['waiting', 0],
    ['draining', 0],
    ['drained', 0],
  ]);
  const pods = new Map([
    ['pending', 0],
    ['evacuating', 0],
  ]);
  const blocking = new Map<string, number>();
  const ageSec = new Map<string, number>();
  const add = <K>(counts: Map<K, number>, key: K, count: number): void => {
    counts.set(key, (counts.get(key) ?? 0) + count);
  };
  for (const maintenance of maintenances) {
    const stage = stageOf(maintenance);
    add(stages, stage, 1);
    if (stage !== 'Drain') continue;
    const { conditions = [], stageStatuses = [], summary } = maintenance.status ?? {};
    const drained = conditions.find(({ type }) => type === DRAINED);
    const isDrained = drained?.status === 'True';
    add(drains, isDrained ? 'drained' : drained?.reason === 'Waiting' ? 'waiting' : 'draining', 1);
    const since = timeOf(stageStatuses.find(({ name }) => name === 'Drain')?.startTimestamp);
    if (!isDrained && since !== undefined) ageSec.set(maintenance.metadata.name, Math.max(0, (now - since) / 1000));
    add(pods, 'pending', summary?.podsPendingEvacuation ?? 0);
    add(pods, 'evacuating', summary?.podsEvacuating ?? 0);
    for (const { reason, pods: many } of blockingOf(maintenance.status)) add(blocking, reason, many);
  }
  return { stages, drains, pods, blocking, ageSec };
}
