import { controllerAlive, type LeaseObservation, observeLease } from '../../../decide/lease.ts';
import { describeError } from '../../../errors.ts';
import { monotonicNow } from '../../../host/clock.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { CONTROLLER_LEASE, readLease } from '../../../kube/lease.ts';
import type { Log } from '../../../telemetry/log.ts';

/** Whether a controller lives, as far as this agent has seen. */
export interface ControllerState {
  readonly kind: 'alive' | 'dead' | 'unknown';
  /** For how long its Lease has not changed before our eyes, in milliseconds. */
  readonly silentMs: number;
}

/** Looks at the controller's Lease, only while somebody wants to know. */
export interface ControllerLiveness {
  /** Reads the Lease unless it was read less than `maxAgeMs` ago. Never throws for a server that is away. */
  look(maxAgeMs: number, signal: AbortSignal): Promise<ControllerState>;
  /** What was seen last; undefined while nobody wants to know. */
  last(): ControllerState | undefined;
  /** For how long the API server has not answered, in milliseconds; 0 where it has, or was not asked. */
  apiSilentMs(): number;
  forget(): void;
}

/** A look that takes longer, or fails, is a gap: what happened to the Lease meanwhile is no sign of death. */
const LOOK_MS = 5_000;

/** Makes the eye; reads nothing yet. */
export function createControllerLiveness(client: KubeClient, log: Log): ControllerLiveness {
  let sight: LeaseObservation | undefined;
  let readAt = -Infinity;
  let last: ControllerState | undefined;
  let complained = '';
  let failingSince: number | undefined;

  const gap = (): void => {
    sight = undefined;
    readAt = -Infinity;
  };
  const forget = (): void => {
    gap();
    last = undefined;
    failingSince = undefined;
  };
  const judge = (): ControllerState => {
    const now = monotonicNow();
    return { kind: controllerAlive(sight, now), silentMs: sight === undefined ? 0 : now - sight.since };
  };

  return {
    last: () => last,
    apiSilentMs: () => (failingSince === undefined ? 0 : monotonicNow() - failingSince),
    forget,
    look: async (maxAgeMs, signal) => {
      const begun = monotonicNow();
      if (begun - readAt < maxAgeMs && last !== undefined) return last;
      const before = last?.kind;
      try {
        const limited = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
        const lease = await readLease(client, CONTROLLER_LEASE, limited);
        const now = monotonicNow();
        const isGap = begun - readAt > 2 * LOOK_MS;
        sight = observeLease(isGap ? undefined : sight, lease, now);
        readAt = now;
        complained = '';
        failingSince = undefined;
      } catch (error) {
        signal.throwIfAborted();
        // While the API server is away a controller cannot renew either.
        gap();
        failingSince ??= begun;
        const reason = describeError(error);
        if (reason !== complained) log.warn({ reason }, "cannot read the controller's lease");
        complained = reason;
      }
      last = judge();
      if (last.kind !== before && last.kind !== 'unknown') {
        log.info({ controller: last.kind, silentMs: Math.round(last.silentMs) }, 'looked for a living controller');
      }
      return last;
    },
  };
}
