import { describeError } from '../../errors.ts';
import type { Clock } from '../clock.ts';
import type { ContainerRuntime } from './runtime.ts';
import type { Log } from '../../telemetry/log.ts';

/** A stop that is under way. Times are in milliseconds since the epoch. */
interface SandboxStop {
  /** When the first stop of the pod began. */
  readonly toldAt: number;
  /** When the shortest of its grace periods ends. */
  readonly endsAt: number;
  /** The same on the monotonic clock; used to compare stops. */
  readonly endsMonotonic: number;
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
 * Stops pods in the background, while the loop continues. A failed stop is not repeated here: the caller starts it again while the
 * pod runs, with its whole grace period.
 */
export class SandboxStops {
  readonly #runtime: ContainerRuntime;
  readonly #clock: Clock;
  readonly #log: Pick<Log, 'info' | 'warn'>;
  readonly #onEnd: () => void;
  readonly #underWay = new Map<string, SandboxStop>();
  readonly #failed = new Map<string, Failures>();

  /** `onEnd` is called after each stop. */
  constructor(
    runtime: ContainerRuntime,
    { clock, log }: { readonly clock: Clock; readonly log: Pick<Log, 'info' | 'warn'> },
    onEnd: () => void = () => undefined,
  ) {
    this.#runtime = runtime;
    this.#clock = clock;
    this.#log = log;
    this.#onEnd = onEnd;
  }

  /**
   * Starts to stop a pod with a grace period, unless an earlier stop of it ends at the same time or before. Returns the stop
   * that ends first. The runtime sends no second SIGTERM. `subject` is what the pod is called in the log.
   */
  begin(
    sandbox: string,
    graceSec: number,
    subject: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): SandboxStop {
    const before = this.#underWay.get(sandbox);
    const graceMs = graceSec * 1000;
    const begunAt = this.#clock.monotonic();
    const endsMonotonic = begunAt + graceMs;
    if (before !== undefined && endsMonotonic > before.endsMonotonic - SLACK_MS) return before;
    const now = this.#clock.now();
    const stop: SandboxStop = { toldAt: before?.toldAt ?? now, endsAt: now + graceMs, endsMonotonic };
    this.#underWay.set(sandbox, stop);
    this.#log.info({ ...subject, sandbox, graceSec }, 'asking the runtime to stop the pod');
    const byForce = isSpent(this.#failed.get(sandbox), graceMs, begunAt);
    void this.#stop(sandbox, { graceSec, byForce }, signal)
      .catch((error: unknown) => {
        if (signal.aborted) return;
        this.#noteFailure(sandbox, begunAt);
        this.#log.warn({ ...subject, sandbox, reason: describeError(error) }, 'cannot stop the pod, trying again');
      })
      .finally(() => {
        if (this.#underWay.get(sandbox) === stop) this.#underWay.delete(sandbox);
        this.#onEnd();
      });
    return stop;
  }

  async #stop(
    sandbox: string,
    { graceSec, byForce }: { readonly graceSec: number; readonly byForce: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#runtime[byForce ? 'stopPodByForce' : 'stopPod'](sandbox, graceSec, signal);
    this.#failed.delete(sandbox);
  }

  #noteFailure(sandbox: string, since: number): void {
    const lastAt = this.#clock.monotonic();
    const before = this.#failed.get(sandbox);
    const isNew = before === undefined || since - before.lastAt >= SAME_MS;
    this.#failed.set(sandbox, { since: isNew ? since : before.since, lastAt });
  }
}
