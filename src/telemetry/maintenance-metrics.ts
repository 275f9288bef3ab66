import { Gauge, Histogram, type Registry } from 'prom-client';
import type { MaintenanceCounts } from '../show/counts/maintenances.ts';
import { setCounts } from './labelled-counts.ts';

/** The metrics of NodeMaintenances. */
export interface MaintenanceMetrics {
  /** Sets the gauges. */
  show(counts: MaintenanceCounts): void;
  /** Counts a drain whose last pod has left, this many seconds after its Drain stage began. */
  drained(seconds: number): void;
}

const PREFIX = 'nodemaintenance_controller';
/** So many drains have an age of their own: the oldest. */
const MAX_DRAINS = 100;
/** From a minute to a week. */
const DURATIONS = [60, 300, 900, 3_600, 14_400, 86_400, 604_800];

/** The largest values: a label whose values others choose has a bounded number of them. */
function longest(counts: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map([...counts].toSorted(([, a], [, b]) => b - a).slice(0, MAX_DRAINS));
}

/** Registers the metrics. A label whose values others choose has a bounded number of them. */
export function createMaintenanceMetrics(registry: Registry): MaintenanceMetrics {
  const gauge = (name: string, help: string, label: string): Gauge =>
    new Gauge({ name: `${PREFIX}_${name}`, help, labelNames: [label], registers: [registry] });
  const stages = gauge('maintenances', 'Maintenances by stage.', 'stage');
  const drains = gauge('drains', 'Maintenances in the stage Drain: waiting, draining or drained.', 'state');
  const pods = gauge('pods', 'Pods of drains: pending, or evacuating.', 'state');
  const blocking = gauge('blocking_pods', 'Pods that block drains by reason.', 'reason');
  const age = gauge('drain_age_seconds', 'Seconds since a drain began that is not through.', 'maintenance');
  const blocked = gauge(
    'blocked_seconds',
    'For how long the pod that blocks longest has blocked a drain.',
    'maintenance',
  );
  const duration = new Histogram({
    name: `${PREFIX}_drain_duration_seconds`,
    help: 'Seconds from the beginning of the stage Drain until the last pod has left.',
    buckets: DURATIONS,
    registers: [registry],
  });
  return {
    show: (counts) => {
      setCounts(stages, 'stage', counts.stages);
      setCounts(drains, 'state', counts.drains);
      setCounts(pods, 'state', counts.pods);
      setCounts(blocking, 'reason', counts.blocking);
      setCounts(age, 'maintenance', longest(counts.ageSec));
      setCounts(blocked, 'maintenance', longest(counts.blockedSec));
    },
    drained: (seconds) => {
      duration.observe(seconds);
    },
  };
}
