import {
  DEFAULT_EVICTION_SETTINGS,
  type EvictionSettings,
  evictionSettingsOf,
} from '../../decide/eviction/settings.ts';
import { controllerAlive, type LeaseObservation, observeLease } from '../../decide/controller-lease.ts';
import type { LeaseLife } from '../../decide/shutdown/drainer.ts';
import { describeError } from '../../errors.ts';
import { monotonicNow } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { CONTROLLER_LEASE, readLease } from '../../kube/lease.ts';
import type { Log } from '../../telemetry/log.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';

/** Whether a controller is alive, as far as this agent has observed. */
export interface LeaseState {
  readonly kind: LeaseLife;
  /** For how long its Lease has been observed without a change, in milliseconds. */
  readonly silentMs: number;
}

/** Observes the controller's Lease. Reads nothing before the first `observe`. */
export interface ControllerLiveness {
  /** Reads the Lease unless it was read less than `maxAgeMs` ago. Never throws for a server that is away. */
  observe(maxAgeMs: number, signal: AbortSignal): Promise<LeaseState>;
  /** The last observation; undefined where there is none since `forget`. */
  last(): LeaseState | undefined;
  /** The options of the controller that this agent goes by, as the Lease had them when it was read last. */
  settings(): EvictionSettings;
  /** For how long the API server has not answered, in milliseconds; 0 where it has, or was not asked. */
  apiSilentMs(): number;
  forget(): void;
}

/** A read that takes longer, or fails, is a gap: what happened to the Lease meanwhile is no sign of death. */
const READ_MS = 5_000;

/** The Lease as it was read last, and when that began, on the monotonic clock. */
interface Reading {
  readonly lease: LeaseObservation;
  readonly at: number;
}

export function createControllerLiveness(client: KubeClient, log: Log): ControllerLiveness {
  /** Undefined before the first read and after a gap. */
  let reading: Reading | undefined;
  let last: LeaseState | undefined;
  let settings = DEFAULT_EVICTION_SETTINGS;
  let failingSince: number | undefined;
  const warnOnce = createLogOnce((reason) => {
    log.warn({ reason }, "cannot read the controller's lease");
  });

  const judge = (now: number): LeaseState => ({
    kind: controllerAlive(reading?.lease, now),
    silentMs: reading === undefined ? 0 : now - reading.lease.since,
  });

  const read = async (begun: number, signal: AbortSignal): Promise<void> => {
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(READ_MS)]);
      const lease = await readLease(client, CONTROLLER_LEASE, limited);
      const at = monotonicNow();
      const before = reading !== undefined && begun - reading.at <= 2 * READ_MS ? reading.lease : undefined;
      reading = { lease: observeLease(before, lease, at), at };
      settings = evictionSettingsOf(lease);
      failingSince = undefined;
      warnOnce(undefined);
    } catch (error) {
      signal.throwIfAborted();
      // While the API server is away a controller cannot renew either.
      reading = undefined;
      failingSince ??= begun;
      warnOnce(describeError(error));
    }
  };

  return {
    last: () => last,
    settings: () => settings,
    apiSilentMs: () => (failingSince === undefined ? 0 : monotonicNow() - failingSince),
    forget: () => {
      reading = undefined;
      last = undefined;
      failingSince = undefined;
    },
    observe: async (maxAgeMs, signal) => {
      const begun = monotonicNow();
      if (reading !== undefined && begun - reading.at < maxAgeMs && last !== undefined) return last;
      const before = last?.kind;
      await read(begun, signal);
      last = judge(monotonicNow());
      if (last.kind !== before && last.kind !== 'unknown') {
        log.info(
          { controller: last.kind, silentMs: Math.round(last.silentMs) },
          'observed whether a controller is alive',
        );
      }
      return last;
    },
  };
}
