/**
 * The system bus as the rest of the agent sees it: calls with a time-out, and signals from a sender that is verified.
 * It connects at the first use, notices a dead bus, throws the connection away and makes a new one. While nothing
 * happens it sends nothing. It must never let a process that is not the owner of a name speak for that name.
 */
import process from 'node:process';
import { describeError, NodemaintError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Clock } from '../clock.ts';
import { type BusCall, type BusConnection, type BusReply, openBusConnection } from './connection.ts';
import { createBusSubscriptions, type SignalMatch } from './subscriptions.ts';

const DEFAULT_ADDRESS = 'unix:path=/run/dbus/system_bus_socket';
const CALL_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;
const PING_TIMEOUT_MS = 2_000;
const FIRST_BACKOFF_MS = 20;
const MAX_BACKOFF_MS = 1_000;
/** A connection that lived so long was a good one: the next loss starts with a short wait again. */
const GOOD_MS = 10_000;

/** An error that the called service answered with; `errorName` is its D-Bus name. */
export class BusCallError extends NodemaintError {
  readonly errorName: string;

  constructor(errorName: string, message: string) {
    super('DBUS_CALL_FAILED', message);
    this.errorName = errorName;
  }
}

/** A reconnecting client of one bus. */
export interface SystemBus {
  /** The time that its time-outs run on. */
  readonly clock: Clock;
  /**
   * Calls a method and returns the reply's body as plain data (64-bit integers are bigint, variants are unwrapped).
   * Errors: DBUS_UNAVAILABLE without a connection, DBUS_CALL_FAILED for no answer within `timeoutMs` (10 s unless told)
   * and, as a BusCallError, for an answer that is an error.
   */
  call(call: BusCall & { readonly timeoutMs?: number }, signal: AbortSignal): Promise<readonly unknown[]>;
  /** Reads a property, unwrapped. Errors as for `call`. */
  getProperty(
    property: {
      readonly destination: string;
      readonly path: string;
      readonly interface: string;
      readonly name: string;
    },
    signal: AbortSignal,
  ): Promise<unknown>;
  /** Calls `listener` with the body of each such signal that the owner of the name `sender` sent, from now on. */
  subscribe(match: SignalMatch, listener: (body: readonly unknown[]) => void): void;
  /**
   * Calls `listener` when signals may have been missed: the bus was lost and is back, or a service that is subscribed
   * to has ended or started anew. Subscriptions work again by then; what they tell of is to be read anew.
   */
  onReconnect(listener: () => void): void;
}

/** Waits for `work`, but at most `ms`; then `late` says what to throw. */
async function within<T>(
  clock: Clock,
  { ms, work, late }: { readonly ms: number; readonly work: Promise<T>; readonly late: () => Error },
  signal: AbortSignal,
): Promise<T> {
  signal.throwIfAborted();
  const timer = new AbortController();
  const onAbort = (): void => {
    timer.abort(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  const sleeping = clock.sleep(ms, timer.signal).then(() => Promise.reject(late()));
  try {
    return await Promise.race([work, sleeping]);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    timer.abort();
    // The timer's own rejection is of no interest any more.
    sleeping.catch(() => undefined);
  }
}

/** Makes a client of the bus at `address`, by default the system's; it lives until `lifetime` is aborted. */
export function createSystemBus(
  { address, log, clock }: { readonly address?: string; readonly log: Log; readonly clock: Clock },
  lifetime: AbortSignal,
): SystemBus {
  const busAddress = address ?? process.env['DBUS_SYSTEM_BUS_ADDRESS'] ?? DEFAULT_ADDRESS;
  const reconnectListeners: (() => void)[] = [];
  const tellReconnected = (): void => {
    for (const listener of reconnectListeners) {
      try {
        listener();
      } catch (error) {
        log.error({ reason: describeError(error) }, 'listener of a reconnection failed');
      }
    }
  };
  const subscriptions = createBusSubscriptions({ log, onServiceChanged: tellReconnected });
  let connection: BusConnection | undefined;
  let attempt = Promise.withResolvers<BusConnection>();
  let started = false;
  let probing = false;

  const failAttempt = (reason: unknown): void => {
    const failed = attempt;
    attempt = Promise.withResolvers();
    // A failed attempt that nobody waits for is logged by the supervisor.
    failed.promise.catch(() => undefined);
    failed.reject(reason);
  };

  /** One connection from its opening to its end; resolves to why it ended, rejects where it could not be opened. */
  const connectOnce = async (missed: boolean): Promise<Error> => {
    const closed = Promise.withResolvers<Error>();
    const events = { onSignal: subscriptions.dispatch, onClosed: closed.resolve };
    const opening = new AbortController();
    const late = (): Error => new Error('the bus does not answer');
    const work = openBusConnection(busAddress, events, opening.signal);
    const opened = await within(clock, { ms: CONNECT_TIMEOUT_MS, work, late }, lifetime).catch((error: unknown) => {
      opening.abort(error);
      // A connection that opened in the very moment of the time-out is of no use.
      work
        .then((tooLate) => {
          tooLate.close(new Error('opened too late'));
        })
        .catch(() => undefined);
      throw error;
    });
    const onAbort = (): void => {
      opened.close(new Error('the agent ends'));
    };
    lifetime.addEventListener('abort', onAbort, { once: true });
    connection = opened;
    subscriptions.attach(opened);
    attempt.resolve(opened);
    if (missed) tellReconnected();
    const reason = await closed.promise;
    lifetime.removeEventListener('abort', onAbort);
    subscriptions.detach();
    connection = undefined;
    attempt = Promise.withResolvers();
    return reason;
  };

  const supervise = async (): Promise<void> => {
    let backoffMs = FIRST_BACKOFF_MS;
    let complained = '';
    let missed = false;
    while (!lifetime.aborted) {
      const begunAt = clock.monotonic();
      try {
        const reason = await connectOnce(missed);
        complained = '';
        if (!lifetime.aborted)
          log.warn({ address: busAddress, reason: reason.message }, 'lost the bus, connecting anew');
      } catch (error) {
        const reason = describeError(error);
        if (reason !== complained && !lifetime.aborted)
          log.warn({ address: busAddress, reason }, 'cannot connect to the bus');
        complained = reason;
        failAttempt(error);
      }
      missed = true;
      if (clock.monotonic() - begunAt > GOOD_MS) backoffMs = FIRST_BACKOFF_MS;
      await clock.sleep(backoffMs, lifetime).catch(() => undefined);
      backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
    }
    failAttempt(lifetime.reason);
  };

  const start = (): void => {
    if (started) return;
    started = true;
    // The supervisor never rejects; it ends with the lifetime.
    void supervise();
  };

  const unavailable = (call: BusCall, cause: unknown): NodemaintError =>
    new NodemaintError(
      'DBUS_UNAVAILABLE',
      `cannot call ${call.member} of ${call.destination}: no connection to the bus ${busAddress}: ${describeError(cause)}`,
      { cause },
    );

  /** A call of its own over one connection, without any retry. */
  const ask = async (open: BusConnection, call: BusCall, ms: number, signal: AbortSignal): Promise<BusReply> => {
    const reply = Promise.withResolvers<BusReply>();
    const forget = open.send(call, reply.resolve);
    const seconds = ms / 1000;
    const late = (): Error =>
      new NodemaintError('DBUS_CALL_FAILED', `${call.destination} did not answer ${call.member} within ${seconds} s`);
    try {
      return await within(clock, { ms, work: reply.promise, late }, signal);
    } finally {
      forget();
    }
  };

  /** After a call without an answer: is it the service that is silent, or the bus? */
  const probe = async (suspect: BusConnection): Promise<void> => {
    if (probing) return;
    probing = true;
    const destination = 'org.freedesktop.DBus';
    const ping = { destination, path: '/', interface: 'org.freedesktop.DBus.Peer', member: 'Ping' };
    try {
      await ask(suspect, ping, PING_TIMEOUT_MS, lifetime);
    } catch (error) {
      suspect.close(new Error('the bus is silent', { cause: error }));
    } finally {
      probing = false;
    }
  };

  const call: SystemBus['call'] = async ({ timeoutMs = CALL_TIMEOUT_MS, ...message }, signal) => {
    signal.throwIfAborted();
    if (lifetime.aborted) throw unavailable(message, lifetime.reason);
    start();
    const late = (): Error => unavailable(message, new Error('the bus does not answer'));
    const open =
      connection ??
      (await within(clock, { ms: timeoutMs, work: attempt.promise, late }, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        throw error instanceof NodemaintError ? error : unavailable(message, error);
      }));
    let reply: BusReply;
    try {
      reply = await ask(open, message, timeoutMs, signal);
    } catch (error) {
      // Nobody waits for the probe: it closes the connection or does nothing, and never rejects.
      if (!signal.aborted) void probe(open);
      throw error;
    }
    switch (reply.kind) {
      case 'return':
        return reply.body;
      case 'error':
        throw new BusCallError(
          reply.name,
          `${message.destination} refused ${message.member}: ${reply.text} (${reply.name})`,
        );
      case 'closed':
        throw unavailable(message, reply.reason);
    }
  };

  return {
    clock,
    call,
    getProperty: async ({ destination, path, interface: owner, name }, signal) => {
      const properties = { interface: 'org.freedesktop.DBus.Properties', member: 'Get' };
      const [value] = await call({ destination, path, ...properties, signature: 'ss', body: [owner, name] }, signal);
      return value;
    },
    subscribe: (match, listener) => {
      subscriptions.add(match, listener);
      start();
    },
    onReconnect: (listener) => {
      reconnectListeners.push(listener);
    },
  };
}
