import { describeError } from '../../errors.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Clock } from '../clock.ts';
import { type BusConnection, openBusConnection } from './connection.ts';
import type { BusSubscriptions } from './subscriptions.ts';
import { within } from './time-limit.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const FIRST_BACKOFF_MS = 20;
const MAX_BACKOFF_MS = 1_000;
/** After a connection that lived longer than this, the pause before the next one starts at its minimum again. */
const STABLE_MS = 10_000;

interface SupervisorOptions {
  readonly address: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly subscriptions: BusSubscriptions;
  /** Called after each connection but the first: signals may have been missed before it. */
  readonly onReconnected: () => void;
}

/** Keeps a connection to the bus open from the first use until `lifetime` aborts, with growing pauses after failures. */
export class BusSupervisor {
  readonly #options: SupervisorOptions;
  readonly #lifetime: AbortSignal;
  #connection: BusConnection | undefined;
  /** Settles with the next connection, or with the error of the next attempt to open one. */
  #next = Promise.withResolvers<BusConnection>();
  #started = false;

  constructor(options: SupervisorOptions, lifetime: AbortSignal) {
    this.#options = options;
    this.#lifetime = lifetime;
  }

  /** Starts to connect. Idempotent. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    // It never rejects, and ends with the lifetime.
    void this.#supervise();
  }

  /**
   * Returns the open connection, or waits for the attempt that is under way, at most `ms`. Rejects with the error of that
   * attempt.
   */
  async connect(ms: number, signal: AbortSignal): Promise<BusConnection> {
    this.#lifetime.throwIfAborted();
    this.start();
    if (this.#connection !== undefined) return this.#connection;
    const late = (): Error => new Error('the bus does not answer');
    return await within(this.#options.clock, { ms, work: this.#next.promise, late }, signal);
  }

  async #supervise(): Promise<void> {
    const { address, log, clock } = this.#options;
    let backoffMs = FIRST_BACKOFF_MS;
    const warnOnce = createLogOnce((reason) => {
      if (!this.#lifetime.aborted) log.warn({ address, reason }, 'cannot connect to the bus');
    });
    let isFirst = true;
    while (!this.#lifetime.aborted) {
      const begunAt = clock.monotonic();
      try {
        const reason = await this.#connectOnce(isFirst);
        warnOnce(undefined);
        if (!this.#lifetime.aborted) log.warn({ address, reason: reason.message }, 'lost the bus, connecting again');
      } catch (error) {
        warnOnce(describeError(error));
        this.#failAttempt(error);
      }
      isFirst = false;
      if (clock.monotonic() - begunAt > STABLE_MS) backoffMs = FIRST_BACKOFF_MS;
      await clock.sleep(backoffMs, this.#lifetime).catch(() => undefined);
      backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
    }
    this.#failAttempt(this.#lifetime.reason);
  }

  /** Opens one connection and waits for its end. Resolves to why it ended; rejects if it could not be opened. */
  async #connectOnce(isFirst: boolean): Promise<Error> {
    const { subscriptions, onReconnected } = this.#options;
    const closed = Promise.withResolvers<Error>();
    const opened = await this.#open(closed.resolve);
    const onAbort = (): void => {
      opened.close(new Error('the agent ends'));
    };
    this.#lifetime.addEventListener('abort', onAbort, { once: true });
    this.#connection = opened;
    subscriptions.attach(opened);
    this.#next.resolve(opened);
    if (!isFirst) onReconnected();
    const reason = await closed.promise;
    this.#lifetime.removeEventListener('abort', onAbort);
    subscriptions.detach();
    this.#connection = undefined;
    this.#next = Promise.withResolvers();
    return reason;
  }

  async #open(onClosed: (reason: Error) => void): Promise<BusConnection> {
    const { address, clock, subscriptions } = this.#options;
    const opening = new AbortController();
    const work = openBusConnection(address, { onSignal: subscriptions.dispatch, onClosed }, opening.signal);
    const late = (): Error => new Error('the bus does not answer');
    try {
      return await within(clock, { ms: CONNECT_TIMEOUT_MS, work, late }, this.#lifetime);
    } catch (error) {
      opening.abort(error);
      // The connection may have opened at the moment of the time-out: then it is closed again.
      work
        .then((tooLate) => {
          tooLate.close(new Error('opened too late'));
        })
        .catch(() => undefined);
      throw error;
    }
  }

  #failAttempt(reason: unknown): void {
    const failed = this.#next;
    this.#next = Promise.withResolvers();
    // The supervisor has logged this failure, so it needs no other handler.
    failed.promise.catch(() => undefined);
    failed.reject(reason);
  }
}
