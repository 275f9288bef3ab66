import { describeError } from '../../errors.ts';
import type { Clock } from '../clock.ts';
import type { ContainerRuntime } from './runtime.ts';
import type { Log } from '../../telemetry/log.ts';

/** A stop that is under way. Times are in milliseconds since the epoch. */
export interface SandboxStop {
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
export interface SandboxStops {
  /**
   * Starts to stop a pod with a grace period, unless an earlier stop of it ends at the same time or before. Returns the stop
   * that ends first. The runtime sends no second SIGTERM.
   */
  begin(sandboxId: string, graceSec: number, events: StopEvents, signal: AbortSignal): SandboxStop;
}

/** A new stop that would end less than this earlier is not started. */
const SLACK_MS = 1_500;

/** `onEnd` is called after each stop. A failed stop is not repeated here: the caller starts it again while the pod runs. */
export function createSandboxStops(
  runtime: ContainerRuntime,
  clock: Clock,
  onEnd: () => void = () => undefined,
): SandboxStops {
  const underWay = new Map<string, SandboxStop>();
  return {
    begin: (sandboxId, graceSec, events, signal) => {
      const now = clock.now();
      const before = underWay.get(sandboxId);
      const graceMs = graceSec * 1000;
      const endsMonotonic = clock.monotonic() + graceMs;
      if (before !== undefined && endsMonotonic > before.endsMonotonic - SLACK_MS) return before;
      const stop: SandboxStop = { since: before?.since ?? now, endsAt: now + graceMs, endsMonotonic };
      underWay.set(sandboxId, stop);
      events.begun();
      runtime
        .stopPod(sandboxId, graceSec, signal)
        .catch((error: unknown) => {
          if (!signal.aborted) events.failed(describeError(error));
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
