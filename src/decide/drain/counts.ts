import { DRAINED, type NodeMaintenance, type Stage } from '../../api/node-maintenance.ts';
import { stageOf } from '../maintenance/maintenance.ts';
import { timeOf } from '../time.ts';

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
    const { conditions = [], stageStatuses = [], nodeStatuses = [] } = maintenance.status ?? {};
    const drained = conditions.find(({ type }) => type === DRAINED);
    const isDrained = drained?.status === 'True';
    add(drains, isDrained ? 'drained' : drained?.reason === 'Waiting' ? 'waiting' : 'draining', 1);
    const since = timeOf(stageStatuses.find(({ name }) => name === 'Drain')?.startTimestamp);
    if (!isDrained && since !== undefined) ageSec.set(maintenance.metadata.name, Math.max(0, (now - since) / 1000));
    for (const { podsPendingEvacuation = 0, podsEvacuating = 0, podsBlocking = [] } of nodeStatuses) {
      add(pods, 'pending', podsPendingEvacuation);
      add(pods, 'evacuating', podsEvacuating);
      for (const { reason } of podsBlocking) add(blocking, reason, 1);
    }
  }
  return { stages, drains, pods, blocking, ageSec };
}
