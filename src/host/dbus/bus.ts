/**
 * A client of the system bus: calls with a time-out, and signals whose sender is verified. It connects at the first use,
 * detects a dead bus, closes that connection and opens a new one. It sends nothing while it is idle. A process that does
 * not own a name on the bus must not be able to send signals in that name.
 */
import process from 'node:process';
import { describeError, NodemaintError } from '../../errors.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Clock } from '../clock.ts';
import { type BusCall, type BusConnection, type BusReply, type BusSignal, openBusConnection } from './connection.ts';
import { BusSubscriptions, type SignalMatch } from './subscriptions.ts';
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
class BusSupervisor {
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
    subscriptions.attach(undefined);
    this.#connection = undefined;
    this.#next = Promise.withResolvers();
    return reason;
  }

  async #open(onClosed: (reason: Error) => void): Promise<BusConnection> {
    const { address, clock, subscriptions } = this.#options;
    const opening = new AbortController();
    const onSignal = (event: BusSignal): void => {
      subscriptions.dispatch(event);
    };
    const work = openBusConnection(address, { onSignal, onClosed }, opening.signal);
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

const DEFAULT_ADDRESS = 'unix:path=/run/dbus/system_bus_socket';
const CALL_TIMEOUT_MS = 10_000;
const PING_TIMEOUT_MS = 2_000;
const PING: BusCall = {
  destination: 'org.freedesktop.DBus',
  path: '/',
  interface: 'org.freedesktop.DBus.Peer',
  member: 'Ping',
};

/** The called service answered with an error; `errorName` is its D-Bus name. */
export class BusCallError extends NodemaintError {
  readonly errorName: string;

  constructor(errorName: string, message: string) {
    super('DBUS_CALL_FAILED', message);
    this.errorName = errorName;
  }
}

/** A reconnecting client of one bus. */
export interface SystemBus {
  /** The clock of its time-outs. */
  readonly clock: Clock;
  /**
   * Calls a method and returns the body of the reply as plain data (64-bit integers are bigint, variants are unwrapped).
   * Errors: DBUS_UNAVAILABLE without a connection; DBUS_CALL_FAILED if no answer comes within `timeoutMs` (default 10 s)
   * and, as a BusCallError, if the answer is an error.
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
  /** From now on calls `listener` with the body of each matching signal, if the owner of the name `sender` sent it. */
  subscribe(match: SignalMatch, listener: (body: readonly unknown[]) => void): void;
  /**
   * Calls `listener` when signals may have been missed: the bus was lost and is back, or a service with a subscription
   * has ended or restarted. Subscriptions work again by then; the listener must read again what the signals report.
   */
  onReconnect(listener: () => void): void;
}

/** Creates a client of the bus at `address` (default: the system bus); it lives until `lifetime` aborts. */
export function createSystemBus(
  { address, log, clock }: { readonly address?: string; readonly log: Log; readonly clock: Clock },
  lifetime: AbortSignal,
): SystemBus {
  const busAddress = address ?? process.env['DBUS_SYSTEM_BUS_ADDRESS'] ?? DEFAULT_ADDRESS;
  const reconnectListeners: (() => void)[] = [];
  const onReconnected = (): void => {
    runAll(reconnectListeners, log);
  };
  const subscriptions = new BusSubscriptions(log, onReconnected);
  const supervisor = new BusSupervisor({ address: busAddress, log, clock, subscriptions, onReconnected }, lifetime);
  const probe = createProbe(clock, lifetime);

  const call: SystemBus['call'] = async ({ timeoutMs = CALL_TIMEOUT_MS, ...message }, signal) => {
    signal.throwIfAborted();
    const connection = await supervisor.connect(timeoutMs, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw unavailable(busAddress, message, error);
    });
    const reply = await ask(connection, message, { clock, timeoutMs }, signal).catch((error: unknown) => {
      // The probe runs in the background: it closes a silent connection or does nothing, and never rejects.
      if (!signal.aborted) void probe(connection);
      throw error;
    });
    switch (reply.kind) {
      case 'return':
        return reply.body;
      case 'error': {
        const text = `${message.destination} refused ${message.member}: ${reply.text} (${reply.name})`;
        throw new BusCallError(reply.name, text);
      }
      case 'closed':
        throw unavailable(busAddress, message, reply.reason);
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
      supervisor.start();
    },
    onReconnect: (listener) => {
      reconnectListeners.push(listener);
    },
  };
}

function runAll(listeners: readonly (() => void)[], log: Log): void {
  for (const listener of listeners) {
    try {
      listener();
    } catch (error) {
      log.error({ reason: describeError(error) }, 'listener of a reconnection failed');
    }
  }
}

function unavailable(address: string, call: BusCall, cause: unknown): NodemaintError {
  const what = `cannot call ${call.member} of ${call.destination}`;
  const message = `${what}: no connection to the bus ${address}: ${describeError(cause)}`;
  return new NodemaintError('DBUS_UNAVAILABLE', message, { cause });
}

/** Sends one call over a connection and waits for its answer, without a retry. */
async function ask(
  connection: BusConnection,
  call: BusCall,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
  signal: AbortSignal,
): Promise<BusReply> {
  const reply = Promise.withResolvers<BusReply>();
  const forget = connection.send(call, reply.resolve);
  const seconds = timeoutMs / 1000;
  const late = (): Error =>
    new NodemaintError('DBUS_CALL_FAILED', `${call.destination} did not answer ${call.member} within ${seconds} s`);
  try {
    return await within(clock, { ms: timeoutMs, work: reply.promise, late }, signal);
  } finally {
    forget();
  }
}

/**
 * A function for use after a call without an answer: it asks the bus itself, and closes the connection if the bus is
 * silent too. It never rejects, and one probe runs at a time.
 */
function createProbe(clock: Clock, lifetime: AbortSignal): (connection: BusConnection) => Promise<void> {
  let isRunning = false;
  return async (connection) => {
    if (isRunning) return;
    isRunning = true;
    try {
      await ask(connection, PING, { clock, timeoutMs: PING_TIMEOUT_MS }, lifetime);
    } catch (error) {
      connection.close(new Error('the bus is silent', { cause: error }));
    } finally {
      isRunning = false;
    }
  };
}
