import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { MaintenanceCounts } from '../show/counts/maintenances.ts';
import type { NodeCounts } from '../show/counts/nodes.ts';
import type { MetricsText } from './http-server.ts';
import { setCounts } from './labelled-counts.ts';
import { registerBuildInfo, registerProcess } from './process-metrics.ts';
import { createQueueMetrics } from './queue-metrics.ts';

const MAINTENANCES = 'nodemaintenance_controller';
const EVICTIONS = 'evictionrequest_controller';
/** So many drains have an age of their own: the oldest. */
const MAX_DRAINS = 100;
/** From a minute to a week. */
const DRAIN_SECONDS = [60, 300, 900, 3_600, 14_400, 86_400, 604_800];
/** From a second to a day. */
const EVICTION_SECONDS = [1, 5, 15, 30, 60, 300, 1_800, 7_200, 86_400];

/** Whoever reads the metrics again and again does not keep the controller counting. */
const COUNT_EVERY_MS = 5_000;

type ByLabel = ReadonlyMap<string, number>;

/** Numbers that are counted when the metrics are read. */
interface ControllerCounts {
  /** Requests by their active interceptor. */
  readonly active: ByLabel;
  /** Requests by each interceptor that has finished. */
  readonly processed: ByLabel;
  /** Unfinished requests by requester. */
  readonly requesters: ByLabel;
  /** Pods by each interceptor they name. */
  readonly podInterceptors: ByLabel;
  /** Evictions in the background that are promised or under way (KEP-1397). */
  readonly inBackground: number;
  readonly maintenances: MaintenanceCounts;
  readonly nodes: NodeCounts;
}

/** The largest values: a label whose values others choose has a bounded number of them. */
function longest(counts: ByLabel): ByLabel {
  return new Map([...counts].toSorted(([, a], [, b]) => b - a).slice(0, MAX_DRAINS));
}

const DRAIN_STATES = 'Maintenances in the stage Drain: waiting, draining or drained.';
const BLOCKED = 'For how long the pod that blocks longest has blocked a drain.';
const PROCESSED = 'Eviction requests by each interceptor that has finished.';
const NODE_STATES = 'Nodes by state: guarded, unguarded, outdated, going-down, back, or exempt.';
const SHUT_DOWN = 'Nodes whose last shutdown ended within the past hour: drained, forced, undrained, or canceled.';

/** The gauges of these numbers: the name, the help, the label, and what they show. */
const GAUGES: readonly (readonly [string, string, string, (counts: ControllerCounts) => ByLabel])[] = [
  [`${MAINTENANCES}_maintenances`, 'Maintenances by stage.', 'stage', (counts) => counts.maintenances.stages],
  [`${MAINTENANCES}_drains`, DRAIN_STATES, 'state', (counts) => counts.maintenances.drains],
  [`${MAINTENANCES}_pods`, 'Pods of drains: pending, or evacuating.', 'state', (counts) => counts.maintenances.pods],
  [
    `${MAINTENANCES}_blocking_pods`,
    'Pods that block drains by reason.',
    'reason',
    (counts) => counts.maintenances.blocking,
  ],
  [
    `${MAINTENANCES}_drain_age_seconds`,
    'Seconds since a drain began that is not through.',
    'maintenance',
    (counts) => longest(counts.maintenances.ageSec),
  ],
  [`${MAINTENANCES}_blocked_seconds`, BLOCKED, 'maintenance', (counts) => longest(counts.maintenances.blockedSec)],
  // It is served also where no agent serves metrics of its own.
  ['nodemaint_nodes', NODE_STATES, 'state', (counts) => counts.nodes.states],
  ['nodemaint_nodes_shut_down', SHUT_DOWN, 'result', (counts) => counts.nodes.shutDown],
  [
    `${EVICTIONS}_active_interceptor`,
    'Eviction requests by active interceptor.',
    'interceptor',
    (counts) => counts.active,
  ],
  [`${EVICTIONS}_processed_interceptor`, PROCESSED, 'interceptor', (counts) => counts.processed],
  [
    `${EVICTIONS}_active_requester`,
    'Unfinished eviction requests by requester.',
    'requester',
    (counts) => counts.requesters,
  ],
  [
    `${EVICTIONS}_pod_interceptors`,
    'Pods by each interceptor they name.',
    'interceptor',
    (counts) => counts.podInterceptors,
  ],
];

/** Registers the gauges of the counts; the returned function sets them. */
function createGauges(registers: Registry[]): (counts: ControllerCounts) => void {
  const gauges = GAUGES.map(([name, help, label, of]) => {
    return { gauge: new Gauge({ name, help, labelNames: [label], registers }), label, of };
  });
  const inBackground = new Gauge({
    name: 'pod_evacuations_in_progress',
    help: 'Evictions that are promised or under way in the background.',
    registers,
  });
  return (counts) => {
    for (const { gauge, label, of } of gauges) setCounts(gauge, label, of(counts));
    inBackground.set(counts.inBackground);
  };
}

/** Registers what is noted as it happens. */
function createInstruments(registers: Registry[]) {
  return {
    /** Whether this replica leads: 1, or 0. */
    leading: new Gauge({
      name: 'leader_election_master_status',
      help: 'Whether this replica leads: 1, or 0.',
      labelNames: ['name'],
      registers,
    }),
    /** Until when the certificate is valid with which the webhook serves, in seconds since the epoch. */
    certificate: new Gauge({
      name: 'nodemaint_webhook_certificate_expiry_timestamp_seconds',
      help: 'Until when the certificate of the webhook is valid; 0 where this replica serves none.',
      registers,
    }),
    /** Drains whose last pod has left, by the seconds since their Drain stage began. */
    drained: new Histogram({
      name: `${MAINTENANCES}_drain_duration_seconds`,
      help: 'Seconds from the beginning of the stage Drain until the last pod has left.',
      buckets: DRAIN_SECONDS,
      registers,
    }),
    /** Attempts at the Eviction API. */
    attempts: new Counter({
      name: `${EVICTIONS}_imperative_evictions_total`,
      help: 'Attempts at the Eviction API by outcome; "blocked": a budget or a webhook refuses.',
      labelNames: ['outcome'],
      registers,
    }),
    /** Requests whose first interceptor becomes active. */
    begun: new Counter({
      name: 'pod_evacuations_total',
      help: 'Pods whose eviction was requested, each once.',
      registers,
    }),
    /** Requests that have ended, by the seconds since they were made. */
    ended: new Histogram({
      name: `${EVICTIONS}_eviction_duration_seconds`,
      help: 'Seconds from the creation of an eviction request to its end, by outcome: evicted or canceled.',
      labelNames: ['outcome'],
      buckets: EVICTION_SECONDS,
      registers,
    }),
  };
}

/** The metrics of the controller. */
export interface ControllerMetrics extends MetricsText, ReturnType<typeof createInstruments> {
  /** Creates the observer of the work queue of this name. */
  readonly queue: ReturnType<typeof createQueueMetrics>;
}

/**
 * The metrics of KEP-4563 ("Monitoring Requirements") and KEP-1397 ("Metrics") and of maintenances, with labels whose number does not grow with
 * the cluster, and those of the work queues as in controller-runtime. `count` walks through all pods: it is called when the
 * metrics are read, and not again at once.
 */
export function createControllerMetrics(count: () => ControllerCounts): ControllerMetrics {
  const registry = new Registry();
  registerBuildInfo(registry);
  registerProcess(registry);
  const show = createGauges([registry]);
  let countedAt: number | undefined;
  return {
    ...createInstruments([registry]),
    queue: createQueueMetrics(registry),
    contentType: registry.contentType,
    text: () => {
      const now = performance.now();
      if (countedAt === undefined || now - countedAt >= COUNT_EVERY_MS) {
        countedAt = now;
        show(count());
      }
      return registry.metrics();
    },
  };
}
