import { type EvictionSettings, evictionSettingsOf } from '../../decide/eviction/settings.ts';
import { controllerAlive, type LeaseObservation, observeLease, writesNotes } from '../../decide/controller-lease.ts';
import type { LeaseLife } from '../../decide/shutdown/drainer.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import { CONTROLLER_LEASE, readLease } from '../../kube/lease.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import type { ClusterDependencies } from '../cluster/dependencies.ts';
import type { LeaseReader } from '../cluster/maintenance-watch.ts';

/** Whether a controller is alive, as far as this agent has observed. */
export interface LeaseState {
  readonly kind: LeaseLife;
  /** For how long its Lease has been observed without a change, in milliseconds. */
  readonly silentMs: number;
}

/**
 * Observes the controller's Lease; nothing else in the agent reads it. Reads nothing before the first question. Each question
 * has its own rule for a time in which the Lease was not read: for `observe`, after which pods may leave without a controller,
 * it begins anew; for `look`, by which only a watch is chosen, what was seen before counts too.
 */
export interface ControllerLiveness extends LeaseReader {
  /** Reads the Lease unless it was read less than `maxAgeMs` ago. Never throws for a server that is away. */
  observe(maxAgeMs: number, signal: AbortSignal): Promise<LeaseState>;
  /** What `observe` returned last; undefined where there is nothing since `forget`. */
  last(): LeaseState | undefined;
  /** The options of the controller that this agent goes by, as the Lease had them when it was read last. */
  settings(): EvictionSettings;
  /** For how long the API server has not answered, in milliseconds; 0 where it has, or was not asked. */
  apiSilentMs(): number;
  /** Begins the observation anew; `look` goes on with what it has seen. */
  forget(): void;
}

/** A read that takes longer, or fails, is a gap: what happened to the Lease meanwhile is no sign of death. */
const READ_MS = 5_000;

/** The Lease as this process has observed it. */
class ObservedLease {
  readonly #dependencies: Pick<ClusterDependencies, 'client' | 'clock'>;
  /** When it was read last, on the monotonic clock; undefined before the first read and after a gap. */
  #readAt: number | undefined;
  /** What was seen without a gap. */
  steady: LeaseObservation | undefined;
  /** Whatever was seen. */
  known: LeaseObservation | undefined;
  /** Since when reads have failed, on the monotonic clock; undefined where the last one did not. */
  failingSince: number | undefined;

  constructor(dependencies: Pick<ClusterDependencies, 'client' | 'clock'>) {
    this.#dependencies = dependencies;
  }

  /** Whether a drain goes by a Lease that was read less than `ms` ago. */
  isYounger(ms: number): boolean {
    return this.#readAt !== undefined && this.#dependencies.clock.monotonic() - this.#readAt < ms;
  }

  /** Reads it; returns the error of a read that fails. */
  async read(signal: AbortSignal): Promise<unknown> {
    const { client, clock } = this.#dependencies;
    const begun = clock.monotonic();
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(READ_MS)]);
      const lease = await readLease(client, CONTROLLER_LEASE, limited);
      const at = clock.monotonic();
      const isSteady = this.#readAt !== undefined && begun - this.#readAt <= 2 * READ_MS;
      this.steady = observeLease(isSteady ? this.steady : undefined, lease, at);
      this.known = observeLease(this.known, lease, at);
      this.#readAt = at;
      this.failingSince = undefined;
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      // While the API server is away a controller cannot renew either.
      this.#beginAnew();
      this.failingSince ??= begun;
      return error;
    }
  }

  /** What a drain goes by, as of the last read. */
  state(): LeaseState {
    const now = this.#readAt ?? this.#dependencies.clock.monotonic();
    return {
      kind: controllerAlive(this.steady, now),
      silentMs: this.steady === undefined ? 0 : now - this.steady.since,
    };
  }

  forget(): void {
    this.#beginAnew();
    this.failingSince = undefined;
  }

  #beginAnew(): void {
    this.#readAt = undefined;
    this.steady = undefined;
  }
}

export function createControllerLiveness({
  client,
  clock,
  log,
}: Pick<ClusterDependencies, 'client' | 'clock' | 'log'>): ControllerLiveness {
  const observed = new ObservedLease({ client, clock });
  let last: LeaseState | undefined;
  const warnOnce = createLogOnce((reason) => {
    log.warn({ reason }, "cannot read the controller's lease");
  });

  return {
    last: () => last,
    settings: () => evictionSettingsOf(observed.known?.lease),
    apiSilentMs: () => (observed.failingSince === undefined ? 0 : clock.monotonic() - observed.failingSince),
    forget: () => {
      observed.forget();
      last = undefined;
    },
    observe: async (maxAgeMs, signal) => {
      const before = last?.kind;
      if (!observed.isYounger(maxAgeMs)) {
        const error = await observed.read(signal);
        warnOnce(error === undefined ? undefined : describeError(error));
      }
      last = observed.state();
      if (last.kind !== before && last.kind !== 'unknown') {
        log.info(
          { controller: last.kind, silentMs: Math.round(last.silentMs) },
          'observed whether a controller is alive',
        );
      }
      return last;
    },
    look: async (maxAgeMs, signal) => {
      const error = observed.isYounger(maxAgeMs) ? undefined : await observed.read(signal);
      if (error === undefined) {
        const life = controllerAlive(observed.known, clock.monotonic());
        return { kind: 'read', writesNotes: writesNotes(observed.known?.lease), life };
      }
      log.debug({ reason: describeError(error) }, "cannot read the controller's lease");
      const isRefused = error instanceof NodemaintError && error.code === 'API_REFUSED';
      return isRefused ? { kind: 'refused' } : { kind: 'unanswered' };
    },
  };
}
