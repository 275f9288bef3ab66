import { asOfNow, type Clock, type Moment, momentOf } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';

/** The kubelet as a move of manifests has to see it. */
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

const UP: KubeletState = { kind: 'up' };

/**
 * Creates the observer of the kubelet. It asks the kubelet only where a manifest `isToMove`, and otherwise takes it for up.
 * That the kubelet does not answer is logged once.
 */
export function createKubeletObserver({
  kubeletUp,
  kubeletStopped,
  clock,
  log,
}: KubeletStateDependencies): (isToMove: boolean, signal: AbortSignal) => Promise<KubeletState> {
  let downSince: Moment | undefined;
  return async (isToMove, signal) => {
    if (!isToMove) {
      downSince = undefined;
      return UP;
    }
    // A kubelet that the agent has stopped does not come back before the drain is over: no move may wait for it.
    if (await kubeletStopped()) return { kind: 'stopped' };
    if (await kubeletUp(signal)) {
      downSince = undefined;
      return UP;
    }
    if (downSince === undefined) {
      log.warn({}, 'the kubelet does not answer at its /healthz; no manifest is moved from under its containers');
    }
    downSince ??= momentOf(clock);
    return { kind: 'down', since: asOfNow(downSince, momentOf(clock)) };
  };
}
