import { controllerAlive, type LeaseObservation, observeLease, writesNotes } from '../../decide/leader/lease.ts';
import { type EvictionSettings, evictionSettingsOf } from '../../decide/eviction/settings.ts';
import type { ControllerLife, LeaseLife } from '../../decide/shutdown/drainer.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import { CONTROLLER_LEASE, readLease } from '../../kube/lease.ts';
import { createWarnOnce } from '../../telemetry/log-once.ts';
import type { ClusterDependencies } from '../cluster/dependencies.ts';
import type { LeaseReader } from '../cluster/maintenance-watch.ts';

/** Whether a controller can be counted on, as far as this agent has observed. */
export interface ControllerState {
  readonly kind: ControllerLife;
  /** For how long its Lease has been observed without a change, or it has been idle, in milliseconds. */
  readonly silentMs: number;
}

type LeaseState = ControllerState & { readonly kind: LeaseLife };

/** A read that takes longer, or fails, is a gap: what happened to the Lease meanwhile is no sign of death. */
const READ_MS = 5_000;

/**
 * The controller's Lease as this process has observed it; nothing else in the agent reads it. Each question has its own rule for
 * a time in which it was not read: for `observe`, after which pods may leave without a controller, it begins anew; for `look`,
 * by which only a watch is chosen, what was seen before counts too.
 */
export class ControllerLease implements LeaseReader {
  readonly #dependencies: Pick<ClusterDependencies, 'client' | 'clock' | 'log'>;
  readonly #warnOnce: (reason: string | undefined) => void;
  /** When it was read last, on the monotonic clock; undefined before the first read and after a gap. */
  #readAt: number | undefined;
  /** What was seen without a gap. */
  #steady: LeaseObservation | undefined;
  /** Whatever was seen. */
  #known: LeaseObservation | undefined;
  #last: LeaseState | undefined;
  #error: unknown;

  constructor(dependencies: Pick<ClusterDependencies, 'client' | 'clock' | 'log'>) {
    this.#dependencies = dependencies;
    this.#warnOnce = createWarnOnce(dependencies.log, "cannot read the controller's lease");
  }

  /** Reads it unless it was read less than `maxAgeMs` ago. Throws only the reason of an aborted `signal`. */
  async observe(maxAgeMs: number, signal: AbortSignal): Promise<LeaseState> {
    const { clock, log } = this.#dependencies;
    await this.#read(maxAgeMs, signal);
    this.#warnOnce(this.#error === undefined ? undefined : describeError(this.#error));
    const now = this.#readAt ?? clock.monotonic();
    const before = this.#last?.kind;
    const silentMs = this.#steady === undefined ? 0 : now - this.#steady.since;
    this.#last = { kind: controllerAlive(this.#steady, now), silentMs };
    const { kind } = this.#last;
    if (kind !== before && kind !== 'unknown') {
      log.info({ controller: kind, silentMs: Math.round(silentMs) }, 'observed whether a controller is alive');
    }
    return this.#last;
  }

  async look(maxAgeMs: number, signal: AbortSignal): ReturnType<LeaseReader['look']> {
    await this.#read(maxAgeMs, signal);
    const untold = this.untold();
    if (untold !== undefined) return { kind: untold === '' ? 'unanswered' : 'refused' };
    const life = controllerAlive(this.#known, this.#dependencies.clock.monotonic());
    return { kind: 'read', writesNotes: writesNotes(this.#known?.lease), life };
  }

  /** What `observe` returned last; undefined where there is nothing since `forget`. */
  last(): LeaseState | undefined {
    return this.#last;
  }

  /** The options of the controller that this agent goes by, as the Lease had them when it was read last. */
  settings(): EvictionSettings {
    return evictionSettingsOf(this.#known?.lease);
  }

  /** Why the API server did not tell it when it was asked last, "" where it gave no answer; undefined where it told, or was not asked. */
  untold(): string | undefined {
    const error = this.#error;
    if (error === undefined) return undefined;
    return error instanceof NodemaintError && error.code === 'API_REFUSED' ? describeError(error) : '';
  }

  /** Begins the observation anew; `look` goes on with what it has seen. */
  forget(): void {
    this.#beginAnew();
    this.#error = undefined;
    this.#last = undefined;
  }

  #beginAnew(): void {
    this.#readAt = undefined;
    this.#steady = undefined;
  }

  async #read(maxAgeMs: number, signal: AbortSignal): Promise<void> {
    const { client, clock, log } = this.#dependencies;
    const begun = clock.monotonic();
    if (this.#readAt !== undefined && begun - this.#readAt < maxAgeMs) return;
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(READ_MS)]);
      const lease = await readLease(client, CONTROLLER_LEASE, limited);
      const at = clock.monotonic();
      const isSteady = this.#readAt !== undefined && begun - this.#readAt <= 2 * READ_MS;
      this.#steady = observeLease(isSteady ? this.#steady : undefined, lease, at);
      this.#known = observeLease(this.#known, lease, at);
      this.#readAt = at;
      this.#error = undefined;
    } catch (error) {
      signal.throwIfAborted();
      log.debug({ reason: describeError(error) }, "cannot read the controller's lease");
      // While the API server is away a controller cannot renew either.
      this.#beginAnew();
      this.#error = error;
    }
  }
}
