import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const SECONDS = [0.001, 0.01, 0.1, 1, 10];

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

/** Registers the metrics of work queues; the returned function creates the observer of one queue. */
export function createQueueMetrics(registry: Registry): (name: string) => QueueObserver {
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
