import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { MaintenanceCounts } from '../decide/drain/counts.ts';
import type { Notice } from '../decide/notice/notices.ts';
import type { MetricsText } from './http.ts';
import { setCounts } from './labelled-counts.ts';
import { createMaintenanceMetrics, type MaintenanceMetrics } from './maintenance-metrics.ts';

/** Numbers that are counted when the metrics are read. */
export interface ControllerCounts {
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
}

/** The metrics of the controller. */
export interface ControllerMetrics extends MetricsText, Pick<MaintenanceMetrics, 'drained'> {
  /** Counts one attempt at the Eviction API by its outcome. */
  evictionAttempted(outcome: string): void;
  /** Counts a request whose first interceptor becomes active. */
  evictionBegun(): void;
  /** Sets whether this replica leads. */
  leading(isLeader: boolean): void;
  /** Creates the observer of the work queue of this name. */
  queue(name: string): QueueObserver;
}

const PREFIX = 'evictionrequest_controller';
const SECONDS = [0.001, 0.01, 0.1, 1, 10];

/**
 * The metrics of KEP-4563 ("Monitoring Requirements") and KEP-1397 ("Metrics") and of maintenances, with labels whose number does not grow with
 * the cluster, and those of the work queues as in controller-runtime. `count` walks through all pods: it is called when the
 * metrics are read, at most every `countEveryMs` of the monotonic clock.
 */
export function createControllerMetrics(count: () => ControllerCounts, countEveryMs = 5_000): ControllerMetrics {
  const registry = new Registry();
  const registers = [registry];
  const evictions = new Counter({
    name: `${PREFIX}_imperative_evictions`,
    help: 'Attempts at the Eviction API by outcome; "blocked" is a failed one.',
    labelNames: ['outcome'],
    registers,
  });
  const evacuations = new Counter({
    name: 'pod_evacuations',
    help: 'Pods whose eviction was requested, each once.',
    registers,
  });
  const master = new Gauge({
    name: 'leader_election_master_status',
    help: 'Whether this replica leads: 1, or 0.',
    labelNames: ['name'],
    registers,
  });
  const show = createCountGauges(registry);
  const maintenances = createMaintenanceMetrics(registry);
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
      }
      return registry.metrics();
    },
    evictionAttempted: (outcome) => {
      evictions.inc({ outcome });
    },
    evictionBegun: () => {
      evacuations.inc();
    },
    leading: (isLeader) => {
      master.set({ name: 'nodemaint-controller' }, isLeader ? 1 : 0);
    },
    queue,
    drained: (seconds) => {
      maintenances.drained(seconds);
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

/** Registers the metrics of work queues; the returned function creates the observer of one queue. */
function createQueueMetrics(registry: Registry): (name: string) => QueueObserver {
  const registers = [registry];
  const ofQueue = { labelNames: ['name'], registers } as const;
  const depth = new Gauge({ name: 'workqueue_depth', help: 'Keys that wait.', ...ofQueue });
  const adds = new Counter({ name: 'workqueue_adds_total', help: 'Keys added.', ...ofQueue });
  const retriesHelp = 'Keys added again after an error.';
  const retries = new Counter({ name: 'workqueue_retries_total', help: retriesHelp, ...ofQueue });
  const histogram = (name: string, help: string): Histogram<'name'> =>
    new Histogram({ name, help, buckets: SECONDS, ...ofQueue });
  const waited = histogram('workqueue_queue_duration_seconds', 'How long a key waited.');
  const worked = histogram('workqueue_work_duration_seconds', 'How long a key was worked on.');
  const underWay = new Map<string, () => number>();
  const unfinished = new Gauge({
    name: 'workqueue_unfinished_work_seconds',
    help: 'Seconds of work under way that is not counted as work yet.',
    ...ofQueue,
    collect: () => {
      for (const [name, seconds] of underWay) unfinished.set({ name }, seconds());
    },
  });
  return (name) => ({
    depth: (keys) => {
      depth.set({ name }, keys);
    },
    added: () => {
      adds.inc({ name });
    },
    retried: () => {
      retries.inc({ name });
    },
    started: (waitedMs) => {
      waited.observe({ name }, waitedMs / 1000);
    },
    finished: (workedMs) => {
      worked.observe({ name }, workedMs / 1000);
    },
    unfinished: (seconds) => {
      underWay.set(name, seconds);
    },
  });
}

/** Observes the sources of notices, for metrics. */
export interface NoticeObserver {
  /** A new notice appeared. */
  appeared(notice: Notice): void;
  /** A source answered at `now`, in milliseconds since the epoch. */
  answered(source: string, now: number): void;
  /** A source did not answer, or its answer was invalid. */
  failed(source: string): void;
}

/** The metrics of notices. Label values are words of this program, never texts of a metadata service. */
export function createNoticeMetrics(): NoticeObserver & MetricsText {
  const registry = new Registry();
  const registers = [registry];
  const notices = new Counter({
    name: 'nodemaint_notices_total',
    help: 'Notices of termination and maintenance that appeared.',
    labelNames: ['provider', 'kind'],
    registers,
  });
  const errors = new Counter({
    name: 'nodemaint_notice_source_errors_total',
    help: 'Failed reads of a source of notices.',
    labelNames: ['source'],
    registers,
  });
  const success = new Gauge({
    name: 'nodemaint_notice_source_last_success_timestamp_seconds',
    help: 'When a source of notices answered last.',
    labelNames: ['source'],
    registers,
  });
  return {
    appeared: ({ provider, kind }) => {
      notices.inc({ provider, kind });
    },
    answered: (source, now) => {
      // A source without failures is shown with the value 0.
      errors.inc({ source }, 0);
      success.set({ source }, now / 1000);
    },
    failed: (source) => {
      errors.inc({ source });
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** Observes a work queue, for metrics. */
export interface QueueObserver {
  depth(keys: number): void;
  added(): void;
  retried(): void;
  started(waitedMs: number): void;
  finished(workedMs: number): void;
  /** Registers a function that returns the seconds of all work under way. */
  unfinished(seconds: () => number): void;
}
