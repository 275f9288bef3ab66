import { describeError } from '../../errors.ts';
import type { Clock } from '../clock.ts';
import type { ContainerRuntime } from './runtime.ts';
import type { Log } from '../../telemetry/log.ts';

/** A stop that is under way. Times are in milliseconds since the epoch. */
interface SandboxStop {
  /** When the first stop of the pod began. */
  readonly since: number;
  /** When the shortest of its grace periods ends. */
  readonly endsAt: number;
  /** The same on the monotonic clock; used to compare stops. */
  readonly endsMonotonic: number;
}

/** Receives the events of a stop. */
export interface StopEvents {
  begun(): void;
  failed(reason: string): void;
}

/** Stops pods in the background, while the loop continues. */
interface SandboxStops {
  /**
   * Starts to stop a pod with a grace period, unless an earlier stop of it ends at the same time or before. Returns the stop
   * that ends first. The runtime sends no second SIGTERM.
   */
  begin(sandboxId: string, graceSec: number, events: StopEvents, signal: AbortSignal): SandboxStop;
}

/** A new stop that would end less than this earlier is not started. */
const SLACK_MS = 1_500;
/** A stop that is begun so long after the one that failed is a new one: its pod, or the runtime, was away for a while. */
const SAME_MS = 15_000;

/** Stops of a sandbox that failed one after another; times on the monotonic clock. */
interface Failures {
  readonly since: number;
  readonly lastAt: number;
}

/**
 * Whether containers that could not be stopped are killed with their sandbox: where at least one stop has failed, and a
 * whole grace period has passed since it began. An earlier one may have failed before the container got its SIGTERM.
 */
function isSpent(failures: Failures | undefined, graceMs: number, now: number): boolean {
  return failures !== undefined && now - failures.lastAt < SAME_MS && now - failures.since >= graceMs;
}

/**
 * `onEnd` is called after each stop. A failed stop is not repeated here: the caller starts it again while the pod runs, with
 * its whole grace period.
 */
export function createSandboxStops(
  runtime: ContainerRuntime,
  clock: Clock,
  onEnd: () => void = () => undefined,
): SandboxStops {
  const underWay = new Map<string, SandboxStop>();
  const failed = new Map<string, Failures>();
  const noteFailure = (sandboxId: string, since: number): void => {
    const lastAt = clock.monotonic();
    const before = failed.get(sandboxId);
    const isNew = before === undefined || since - before.lastAt >= SAME_MS;
    failed.set(sandboxId, { since: isNew ? since : before.since, lastAt });
  };
  return {
    begin: (sandboxId, graceSec, events, signal) => {
      const now = clock.now();
      const before = underWay.get(sandboxId);
      const graceMs = graceSec * 1000;
      const endsMonotonic = clock.monotonic() + graceMs;
      if (before !== undefined && endsMonotonic > before.endsMonotonic - SLACK_MS) return before;
      const stop: SandboxStop = { since: before?.since ?? now, endsAt: now + graceMs, endsMonotonic };
      underWay.set(sandboxId, stop);
      const begunAt = clock.monotonic();
      const byForce = isSpent(failed.get(sandboxId), graceMs, begunAt);
      events.begun();
      (byForce ? runtime.stopPodByForce(sandboxId, graceSec, signal) : runtime.stopPod(sandboxId, graceSec, signal))
        .then(() => failed.delete(sandboxId))
        .catch((error: unknown) => {
          if (signal.aborted) return;
          noteFailure(sandboxId, begunAt);
          events.failed(describeError(error));
        })
        .finally(() => {
          if (underWay.get(sandboxId) === stop) underWay.delete(sandboxId);
          onEnd();
        })
        .catch(() => undefined);
      return stop;
    },
  };
}

/** Logs a stop that replaces one by the kubelet; `subject` identifies the pod in the log. */
export function stopInPlaceOfKubelet(
  log: Log,
  subject: Readonly<Record<string, string>>,
  sandbox: string,
  graceSec: number,
): StopEvents {
  return {
    begun: () => {
      log.warn({ ...subject, sandbox, graceSec }, 'asking the runtime to stop the pod');
    },
    failed: (reason) => {
      log.error({ sandbox, reason }, 'cannot stop the pod');
    },
  };
}
