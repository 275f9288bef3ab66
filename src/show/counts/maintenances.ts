import {
  DRAINED,
  type MaintenanceSummary,
  type NodeMaintenance,
  type NodeMaintenanceStatus,
  type Stage,
  WAIT_REASONS,
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
  /** The seconds since the Drain stage began, of each maintenance that drains and is not through, by its name. One that waits has none. */
  readonly ageSec: Counts;
  /** For how many seconds the pod has blocked that has done so longest, of each maintenance with such pods, by its name. */
  readonly blockedSec: Counts;
}

/** The summary counts also those that the statuses of the nodes leave out. */
function blockingOf({
  nodeStatuses = [],
  summary,
}: NodeMaintenanceStatus = {}): NonNullable<MaintenanceSummary['podsBlocking']> {
  const named = nodeStatuses.flatMap(({ podsBlocking = [] }) => podsBlocking);
  return summary?.podsBlocking ?? named.map(({ reason }) => ({ reason, pods: 1 }));
}

/** Since when the pod blocks that has done so longest, in milliseconds since the epoch; undefined where none does. */
function blockedSinceOf({ nodeStatuses = [] }: NodeMaintenanceStatus = {}): number | undefined {
  const times = nodeStatuses.flatMap(({ podsBlocking = [] }) =>
    podsBlocking.flatMap(({ since }) => timeOf(since) ?? []),
  );
  return times.length === 0 ? undefined : times.reduce((first, at) => Math.min(first, at));
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
  const blockedSec = new Map<string, number>();
  const add = <K>(counts: Map<K, number>, key: K, count: number): void => {
    counts.set(key, (counts.get(key) ?? 0) + count);
  };
  for (const maintenance of maintenances) {
    const stage = stageOf(maintenance);
    add(stages, stage, 1);
    if (stage !== 'Drain') continue;
    const { conditions = [], stageStatuses = [], summary } = maintenance.status ?? {};
    const drained = conditions.find(({ type }) => type === DRAINED);
    const isWaiting = WAIT_REASONS.some((reason) => reason === drained?.reason);
    const state = drained?.status === 'True' ? 'drained' : isWaiting ? 'waiting' : 'draining';
    add(drains, state, 1);
    const since = timeOf(stageStatuses.find(({ name }) => name === 'Drain')?.startTimestamp);
    const { name } = maintenance.metadata;
    if (state === 'draining' && since !== undefined) ageSec.set(name, Math.max(0, (now - since) / 1000));
    const blockedSince = blockedSinceOf(maintenance.status);
    if (blockedSince !== undefined) blockedSec.set(name, Math.max(0, (now - blockedSince) / 1000));
    add(pods, 'pending', summary?.podsPendingEvacuation ?? 0);
    add(pods, 'evacuating', summary?.podsEvacuating ?? 0);
    for (const { reason, pods: many } of blockingOf(maintenance.status)) add(blocking, reason, many);
  }
  return { stages, drains, pods, blocking, ageSec, blockedSec };
}
