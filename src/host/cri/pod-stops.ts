import { describeError } from '../../errors.ts';
import type { Clock } from '../clock.ts';
import type { ContainerRuntime } from './runtime.ts';
import type { Log } from '../../telemetry/log.ts';

/** A stop that is under way; times in milliseconds since the epoch. */
export interface SandboxStop {
  /** When the pod was first told to end. */
  readonly since: number;
  /** When it will have, after the shortest grace period that it was told. */
  readonly endsAt: number;
  /** The same on the monotonic clock, by which stops are compared. */
  readonly endsMonotonic: number;
}

/** What is said of a stop. */
export interface StopEvent {
  begun(): void;
  failed(reason: string): void;
}

/** Stops of pods that are under way: the loop goes on meanwhile. */
export interface SandboxStops {
  /**
   * Begins to stop a pod within its grace period, unless that is done already and will not take longer. The runtime sends
   * no second SIGTERM; of several calls for a pod the one that ends first counts, and is returned.
   */
  begin(sandboxId: string, graceSec: number, news: StopEvent, signal: AbortSignal): SandboxStop;
}

/** A stop that would end earlier by less is not worth another call. */
const SLACK_MS = 1_500;

/** Makes the stops; one that fails is begun again by who still sees the pod. `onEnd` is called after each call's end. */
export function createSandboxStops(
  runtime: ContainerRuntime,
  clock: Clock,
  onEnd: () => void = () => undefined,
): SandboxStops {
  const underWay = new Map<string, SandboxStop>();
  return {
    begin: (sandboxId, graceSec, news, signal) => {
      const now = clock.now();
      const before = underWay.get(sandboxId);
      const graceMs = graceSec * 1000;
      const endsMonotonic = clock.monotonic() + graceMs;
      if (before !== undefined && endsMonotonic > before.endsMonotonic - SLACK_MS) return before;
      const stop: SandboxStop = { since: before?.since ?? now, endsAt: now + graceMs, endsMonotonic };
      underWay.set(sandboxId, stop);
      news.begun();
      runtime
        .stopPod(sandboxId, graceSec, signal)
        .catch((error: unknown) => {
          if (!signal.aborted) news.failed(describeError(error));
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

/** News for the log of a stop that the kubelet should have made; `subject` is what the log calls the pod. */
export function stopInPlaceOfKubelet(
  log: Log,
  subject: Readonly<Record<string, string>>,
  sandbox: string,
  graceSec: number,
): StopEvent {
  return {
    begun: () => {
      log.warn({ ...subject, sandbox, graceSec }, 'asking the runtime to stop the pod');
    },
    failed: (reason) => {
      log.error({ sandbox, reason }, 'cannot stop the pod');
    },
  };
}
