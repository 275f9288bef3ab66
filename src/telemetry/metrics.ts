import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Notice } from '../decide/notice/notices.ts';
import type { MetricsText } from './http.ts';

/** The numbers of one moment that are counted when they are asked for. */
export interface EvictionCounts {
  /** Requests by their active interceptor. */
  readonly active: ReadonlyMap<string, number>;
  /** Requests by each interceptor that has had its turn. */
  readonly processed: ReadonlyMap<string, number>;
  /** Requests that are not over, by requester. */
  readonly requesters: ReadonlyMap<string, number>;
  /** Pods by each interceptor that they name. */
  readonly podInterceptors: ReadonlyMap<string, number>;
  /** Evictions in the background that are promised or under way (KEP-1397). */
  readonly inBackground: number;
}

/** What the controller counts. */
export interface ControllerMetrics extends MetricsText {
  /** One attempt at the Eviction API, by what became of it. */
  evictionAttempted(outcome: string): void;
  /** Whether this replica leads. */
  leading(isLeader: boolean): void;
  queue(name: string): QueueObserver;
}

/** Names come from pods, which anybody may make: beyond so many the rest is counted as one. */
const MAX_LABEL_VALUES = 100;
const OTHERS = 'other';
const SECONDS = [0.001, 0.01, 0.1, 1, 10];

function setAll(gauge: Gauge, label: string, counts: ReadonlyMap<string, number>): void {
  gauge.reset();
  const ranked = [...counts].toSorted(([, a], [, b]) => b - a);
  for (const [value, count] of ranked.slice(0, MAX_LABEL_VALUES)) gauge.set({ [label]: value }, count);
  const rest = ranked.slice(MAX_LABEL_VALUES).reduce((sum, [, count]) => sum + count, 0);
  if (rest > 0) gauge.set({ [label]: OTHERS }, rest);
}

/**
 * Makes the metrics of KEP-4563 ("Monitoring Requirements") and KEP-1397 ("Metrics"), by their names, with labels that do
 * not grow with the cluster, and those of the work queues as in controller-runtime. `count` looks through all pods: it is
 * called at a reading, at most every `countEveryMs` of the monotonic clock.
 */
export function createControllerMetrics(count: () => EvictionCounts, countEveryMs = 5_000): ControllerMetrics {
  const registry = new Registry();
  const registers = [registry];
  const prefix = 'evictionrequest_controller';
  const gauge = (name: string, help: string, label: string): Gauge =>
    new Gauge({ name, help, labelNames: [label], registers });

  const evictions = new Counter({
    name: `${prefix}_imperative_evictions`,
    help: 'Attempts at the Eviction API by outcome; "blocked" is a failed one.',
    labelNames: ['outcome'],
    registers,
  });
  const evacuations = new Counter({
    name: 'pod_evacuations',
    help: 'Pods whose eviction was requested: accepted, or promised by somebody who does it in the background.',
    registers,
  });
  const active = gauge(`${prefix}_active_interceptor`, 'Eviction requests by active interceptor.', 'interceptor');
  const processed = gauge(
    `${prefix}_processed_interceptor`,
    'Eviction requests by each interceptor that has had its turn.',
    'interceptor',
  );
  const requesters = gauge(`${prefix}_active_requester`, 'Unfinished eviction requests by requester.', 'requester');
  const podInterceptors = gauge(`${prefix}_pod_interceptors`, 'Pods by each interceptor they name.', 'interceptor');
  const inBackground = new Gauge({
    name: 'pod_evacuations_in_progress',
    help: 'Evictions that are promised or under way in the background.',
    registers,
  });
  let countedAt = -Infinity;
  const refresh = (): void => {
    const now = performance.now();
    if (now - countedAt < countEveryMs) return;
    countedAt = now;
    const counts = count();
    setAll(active, 'interceptor', counts.active);
    setAll(processed, 'interceptor', counts.processed);
    setAll(requesters, 'requester', counts.requesters);
    setAll(podInterceptors, 'interceptor', counts.podInterceptors);
    inBackground.set(counts.inBackground);
  };

  const master = new Gauge({
    name: 'leader_election_master_status',
    help: 'Whether this replica leads: 1, or 0.',
    labelNames: ['name'],
    registers,
  });

  const ofQueue = { labelNames: ['name'], registers } as const;
  const depth = new Gauge({ name: 'workqueue_depth', help: 'Keys that wait.', ...ofQueue });
  const adds = new Counter({ name: 'workqueue_adds_total', help: 'Keys added.', ...ofQueue });
  const retries = new Counter({
    name: 'workqueue_retries_total',
    help: 'Keys added again after an error.',
    ...ofQueue,
  });
  const waited = new Histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'How long a key waited.',
    buckets: SECONDS,
    ...ofQueue,
  });
  const worked = new Histogram({
    name: 'workqueue_work_duration_seconds',
    help: 'How long a key was worked on.',
    buckets: SECONDS,
    ...ofQueue,
  });
  const unfinished = new Gauge({
    name: 'workqueue_unfinished_work_seconds',
    help: 'Seconds of work under way that is not counted as work yet.',
    ...ofQueue,
    collect: () => {
      for (const [name, seconds] of underWay) unfinished.set({ name }, seconds());
    },
  });
  const underWay = new Map<string, () => number>();

  return {
    contentType: registry.contentType,
    text: () => {
      refresh();
      return registry.metrics();
    },
    evictionAttempted: (outcome) => {
      evictions.inc({ outcome });
      if (outcome === 'accepted' || outcome === 'promised') evacuations.inc();
    },
    leading: (isLeader) => {
      master.set({ name: 'nodemaint-controller' }, isLeader ? 1 : 0);
    },
    queue: (name) => ({
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
    }),
  };
}

/** Hears what the sources of notices say. */
export interface NoticeObserver {
  /** A notice that was not there before. */
  appeared(notice: Notice): void;
  /** A look at a source that was answered, at a time in milliseconds since the epoch. */
  answered(source: string, now: number): void;
  /** One that failed. */
  failed(source: string): void;
}

/** Makes the metrics of notices; their labels are words of this program, never of a metadata service. */
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
    help: 'Looks at a source of notices that failed.',
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
      // So that a source without failures shows as one, and not as none.
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

/** Hears what a queue does, for its metrics. */
export interface QueueObserver {
  depth(keys: number): void;
  added(): void;
  retried(): void;
  started(waitedMs: number): void;
  finished(workedMs: number): void;
  /** Hands over a function that tells the seconds of all the work under way. */
  unfinished(seconds: () => number): void;
}
