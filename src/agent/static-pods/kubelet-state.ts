import { asOfNow, type Clock, type Moment, momentOf } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';

/** The kubelet as whoever ends pods has to see it. */
export type KubeletState =
  | { readonly kind: 'up' }
  /** It does not answer since then, in milliseconds since the epoch. */
  | { readonly kind: 'down'; readonly since: number }
  /** The agent itself has stopped it. */
  | { readonly kind: 'stopped' };

interface KubeletStateDependencies {
  readonly kubeletUp: (signal: AbortSignal) => Promise<boolean>;
  /** Whether the agent itself stopped the kubelet, for a drain without an API server. */
  readonly kubeletStopped: () => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/** A kubelet that nobody has asked for this long may have been up meanwhile. */
const UNASKED_MS = 60_000;

/** Creates the observer of the kubelet, which asks it each time. That it does not answer is logged once. */
export function createKubeletObserver({
  kubeletUp,
  kubeletStopped,
  clock,
  log,
}: KubeletStateDependencies): (signal: AbortSignal) => Promise<KubeletState> {
  let down: { readonly since: Moment; readonly askedAt: number } | undefined;
  return async (signal) => {
    // A kubelet that the agent has stopped does not come back before the drain is over: nothing may wait for it.
    if (await kubeletStopped()) return { kind: 'stopped' };
    if (await kubeletUp(signal)) {
      down = undefined;
      return { kind: 'up' };
    }
    const now = momentOf(clock);
    const since = down !== undefined && now.monotonic - down.askedAt < UNASKED_MS ? down.since : now;
    if (since === now) log.warn({}, 'the kubelet does not answer at its /healthz; nothing waits for it for long');
    down = { since, askedAt: now.monotonic };
    return { kind: 'down', since: asOfNow(since, now) };
  };
}
