import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { MaintenanceCounts } from '../show/counts/maintenances.ts';
import type { NodeCounts } from '../show/counts/nodes.ts';
import type { MetricsText } from './http.ts';
import { setCounts } from './labelled-counts.ts';
import { registerBuildInfo, registerProcess } from './process-metrics.ts';
import { createQueueMetrics, type QueueObserver } from './queue-metrics.ts';

/** The metrics of NodeMaintenances. */
interface MaintenanceMetrics {
  /** Sets the gauges. */
  show(counts: MaintenanceCounts): void;
  /** Counts a drain whose last pod has left, this many seconds after its Drain stage began. */
  drained(seconds: number): void;
}

const MAINTENANCE_PREFIX = 'nodemaintenance_controller';
/** So many drains have an age of their own: the oldest. */
const MAX_DRAINS = 100;
/** From a minute to a week. */
const DURATIONS = [60, 300, 900, 3_600, 14_400, 86_400, 604_800];

/** The largest values: a label whose values others choose has a bounded number of them. */
function longest(counts: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map([...counts].toSorted(([, a], [, b]) => b - a).slice(0, MAX_DRAINS));
}

/** Registers the metrics. A label whose values others choose has a bounded number of them. */
function createMaintenanceMetrics(registry: Registry): MaintenanceMetrics {
  const gauge = (name: string, help: string, label: string): Gauge =>
    new Gauge({ name: `${MAINTENANCE_PREFIX}_${name}`, help, labelNames: [label], registers: [registry] });
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
    name: `${MAINTENANCE_PREFIX}_drain_duration_seconds`,
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

/** Registers what the controller counts of nodes: it is served also where no agent serves metrics of its own. */
function createNodeMetrics(registry: Registry): (counts: NodeCounts) => void {
  const registers = [registry];
  const states = new Gauge({
    name: 'nodemaint_nodes',
    help: 'Nodes by state: guarded, unguarded, outdated, going-down, back, or exempt.',
    labelNames: ['state'],
    registers,
  });
  const shutDown = new Gauge({
    name: 'nodemaint_nodes_shut_down',
    help: 'Nodes whose last shutdown ended within the past hour: drained, forced, undrained, or canceled.',
    labelNames: ['result'],
    registers,
  });
  return (counts) => {
    setCounts(states, 'state', counts.states);
    setCounts(shutDown, 'result', counts.shutDown);
  };
}

/** Numbers that are counted when the metrics are read. */
interface ControllerCounts {
  /** Requests by their active interceptor. */
  readonly active: ReadonlyMap<string, number>;
  /** Requests by each interceptor that has finished. */
  readonly processed: ReadonlyMap<string, number>;
  /** Unfinished requests by requester. */
  readonly requesters: ReadonlyMap<string, number>;
  /** Pods by each interceptor they name. */
  readonly podInterceptors: ReadonlyMap<string, number>;
  /** Evictions in the background that are promised or under way (KEP-1397). */
  readonly inBackground: number;
  readonly maintenances: MaintenanceCounts;
  readonly nodes: NodeCounts;
}

/** The metrics of the controller. */
export interface ControllerMetrics extends MetricsText, Pick<MaintenanceMetrics, 'drained'> {
  /** Counts one attempt at the Eviction API by its outcome. */
  evictionAttempted(outcome: string): void;
  /** Counts a request whose first interceptor becomes active. */
  evictionBegun(): void;
  /** Counts a request that has ended, so many seconds after it was made. */
  evictionEnded(outcome: 'evicted' | 'canceled', seconds: number): void;
  /** Sets whether this replica leads. */
  leading(isLeader: boolean): void;
  /** Sets until when the certificate is valid with which the webhook serves, in milliseconds since the epoch. */
  webhookCertificate(until: number): void;
  /** Creates the observer of the work queue of this name. */
  queue(name: string): QueueObserver;
}

const PREFIX = 'evictionrequest_controller';
/** From a second to a day. */
const EVICTION_SECONDS = [1, 5, 15, 30, 60, 300, 1_800, 7_200, 86_400];

/**
 * The metrics of KEP-4563 ("Monitoring Requirements") and KEP-1397 ("Metrics") and of maintenances, with labels whose number does not grow with
 * the cluster, and those of the work queues as in controller-runtime. `count` walks through all pods: it is called when the
 * metrics are read, at most every `countEveryMs` of the monotonic clock.
 */
export function createControllerMetrics(count: () => ControllerCounts, countEveryMs = 5_000): ControllerMetrics {
  const registry = new Registry();
  const registers = [registry];
  registerBuildInfo(registry);
  registerProcess(registry);
  const evictions = createEvictionCounters(registry);
  const master = new Gauge({
    name: 'leader_election_master_status',
    help: 'Whether this replica leads: 1, or 0.',
    labelNames: ['name'],
    registers,
  });
  const certificate = new Gauge({
    name: 'nodemaint_webhook_certificate_expiry_timestamp_seconds',
    help: 'Until when the certificate of the webhook is valid; 0 where this replica serves none.',
    registers,
  });
  const show = createCountGauges(registry);
  const maintenances = createMaintenanceMetrics(registry);
  const showNodes = createNodeMetrics(registry);
  const queue = createQueueMetrics(registry);
  let countedAt: number | undefined;

  return {
    contentType: registry.contentType,
    text: () => {
      const now = performance.now();
      if (countedAt === undefined || now - countedAt >= countEveryMs) {
        countedAt = now;
        const counts = count();
        show(counts);
        maintenances.show(counts.maintenances);
        showNodes(counts.nodes);
      }
      return registry.metrics();
    },
    ...evictions,
    leading: (isLeader) => {
      master.set({ name: 'nodemaint-controller' }, isLeader ? 1 : 0);
    },
    webhookCertificate: (until) => {
      certificate.set(until / 1000);
    },
    queue,
    drained: (seconds) => {
      maintenances.drained(seconds);
    },
  };
}

/** Registers what is counted of evictions, each as it happens. */
function createEvictionCounters(
  registry: Registry,
): Pick<ControllerMetrics, 'evictionAttempted' | 'evictionBegun' | 'evictionEnded'> {
  const registers = [registry];
  const evictions = new Counter({
    name: `${PREFIX}_imperative_evictions_total`,
    help: 'Attempts at the Eviction API by outcome; "blocked" is a failed one.',
    labelNames: ['outcome'],
    registers,
  });
  const evacuations = new Counter({
    name: 'pod_evacuations_total',
    help: 'Pods whose eviction was requested, each once.',
    registers,
  });
  const durations = new Histogram({
    name: `${PREFIX}_eviction_duration_seconds`,
    help: 'Seconds from the creation of an eviction request to its end, by outcome: evicted or canceled.',
    labelNames: ['outcome'],
    buckets: EVICTION_SECONDS,
    registers,
  });
  return {
    evictionAttempted: (outcome) => {
      evictions.inc({ outcome });
    },
    evictionBegun: () => {
      evacuations.inc();
    },
    evictionEnded: (outcome, seconds) => {
      durations.observe({ outcome }, seconds);
    },
  };
}

/** Registers the gauges of the counts; the returned function sets them. */
function createCountGauges(registry: Registry): (counts: ControllerCounts) => void {
  const registers = [registry];
  const gauge = (name: string, help: string, label: string): Gauge =>
    new Gauge({ name, help, labelNames: [label], registers });
  const active = gauge(`${PREFIX}_active_interceptor`, 'Eviction requests by active interceptor.', 'interceptor');
  const processed = gauge(
    `${PREFIX}_processed_interceptor`,
    'Eviction requests by each interceptor that has finished.',
    'interceptor',
  );
  const requesters = gauge(`${PREFIX}_active_requester`, 'Unfinished eviction requests by requester.', 'requester');
  const podInterceptors = gauge(`${PREFIX}_pod_interceptors`, 'Pods by each interceptor they name.', 'interceptor');
  const inBackground = new Gauge({
    name: 'pod_evacuations_in_progress',
    help: 'Evictions that are promised or under way in the background.',
    registers,
  });
  return (counts) => {
    setCounts(active, 'interceptor', counts.active);
    setCounts(processed, 'interceptor', counts.processed);
    setCounts(requesters, 'requester', counts.requesters);
    setCounts(podInterceptors, 'interceptor', counts.podInterceptors);
    inBackground.set(counts.inBackground);
  };
}
