/** The loops of a program: each says which changes concern which of its keys, and is told of them. */
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { QueueObserver } from '../../telemetry/queue-metrics.ts';
import { type QueueDependencies, type Reconcile, WorkQueue } from '../queue.ts';

/** A key that is looked at at once, or after so many milliseconds. */
export type DueKey = string | { readonly key: string; readonly afterMs: number };

/** Keys that are looked at after so many milliseconds. */
export function after(ms: number, keys: Iterable<string>): readonly DueKey[] {
  return [...keys].map((key) => ({ key, afterMs: ms }));
}

/** One loop; `C` has the changes that there are, by their kinds. */
export interface Loop<C> {
  /** In log lines and in metrics. */
  readonly name: string;
  /** At most this many keys are reconciled at a time. */
  readonly parallel: number;
  readonly reconcile: Reconcile;
  readonly order?: Pick<QueueDependencies, 'isUrgent' | 'hasToWait'>;
  /** By the kind of a change: the keys that are looked at for it. */
  readonly concerns: { readonly [K in keyof C]?: (change: C[K]) => Iterable<DueKey> };
}

/** Tells all loops of a change. */
export type Tell<C> = <K extends keyof C>(kind: K, change: C[K]) => void;

/** The loops of a program. */
interface Loops<C> {
  readonly tell: Tell<C>;
  /** Adds a loop, which is told of what changes from then on. */
  add(loop: Loop<C>, dependencies: SharedByLoops): void;
  /**
   * Reconciles until `stop` is aborted, then waits for the runs under way; `signal`, the same one unless given, aborts these.
   */
  run(stop: AbortSignal, signal?: AbortSignal): Promise<void>;
}

/** What all loops of a program share. */
interface SharedByLoops {
  readonly clock: Clock;
  readonly log: Log;
  /** Asked before each run: copies that do not follow the API server show a world that never was. */
  readonly mayRun: () => boolean;
  /** What counts the runs of the loop of this name. */
  readonly observer?: (name: string) => QueueObserver;
}

/** Creates them, none at first: what a loop is made from may tell the others. */
export function createLoops<C>(): Loops<C> {
  const all: { readonly concerns: Loop<C>['concerns']; readonly queue: WorkQueue }[] = [];
  return {
    tell: (kind, change) => {
      for (const { concerns, queue } of all)
        for (const at of concerns[kind]?.(change) ?? []) {
          if (typeof at === 'string') queue.add(at);
          else queue.addAfter(at.key, at.afterMs);
        }
    },
    add: ({ name, parallel, reconcile, order, concerns }, { clock, log, mayRun, observer }) => {
      const queue = new WorkQueue(name, reconcile, parallel, {
        clock,
        log,
        mayRun,
        ...(observer === undefined ? {} : { observer: observer(name) }),
        ...order,
      });
      all.push({ concerns, queue });
    },
    run: async (stop, signal) => {
      await Promise.all(all.map(({ queue }) => queue.run(stop, signal)));
    },
  };
}
