/**
 * One connection to a message bus over dbus-next; no other file imports that library. Calls are matched with answers
 * here, over the message event, because the library never forgets a call and does not report the end of a connection. A
 * connection never reconnects; bus.ts opens the next one.
 */
import type { Duplex } from 'node:stream';
import type { Message, MessageBus } from 'dbus-next';
import { dropUnwanted } from './filter.ts';

/** A method call. The body is plain data that fits the signature; variants cannot be sent. */
export interface BusCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly unknown[];
}

/** The answer: 64-bit integers are bigint, variants are replaced by their values. */
export type BusReply =
  | { readonly kind: 'return'; readonly body: readonly unknown[] }
  | { readonly kind: 'error'; readonly name: string; readonly text: string }
  | { readonly kind: 'closed'; readonly reason: Error };

/** A received signal; `sender` is a unique name, which the bus guarantees. */
export interface BusSignal {
  readonly sender: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly body: readonly unknown[];
}

/** The events of a connection, delivered synchronously and in the order in which they were received. */
interface ConnectionEvents {
  onSignal(event: BusSignal): void;
  /** Called once; no other event follows. */
  onClosed(reason: Error): void;
}

/** Replaces every variant inside `value` by its value. */
function plain(value: unknown, isVariant: (value: unknown) => value is { readonly value: unknown }): unknown {
  if (isVariant(value)) return plain(value.value, isVariant);
  if (Array.isArray(value)) return value.map((item) => plain(item, isVariant));
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item, isVariant)]));
}

/** The socket of a bus. dbus-next has no public event for its end. */
function socketOf(bus: MessageBus): Duplex {
  return (bus as unknown as { readonly _connection: { readonly stream: Duplex } })._connection.stream;
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The maximum length of a message (D-Bus specification, "Message Format"). A longer one closes the connection. */
const MAX_MESSAGE_BYTES = 2 ** 27;

/**
 * Calls `close` with errors that occur while messages are read. dbus-next reads in a listener of the socket, where an
 * error would end the process, and asks the socket for as many bytes as the header of a message announces.
 */
function guardReading(socket: Duplex, close: (reason: Error) => void): void {
  const [emit, read] = [socket.emit.bind(socket), socket.read.bind(socket)];
  socket.emit = (event: string | symbol, ...rest: unknown[]): boolean => {
    try {
      return emit(event, ...rest);
    } catch (error) {
      if (event !== 'readable') throw error;
      close(asError(error));
      return true;
    }
  };
  // dbus-next passes two arguments when it asks for the rest of a message; the stream itself may ask for no size.
  socket.read = (...asked: readonly [size?: number, rest?: unknown]): unknown => {
    const [size] = asked;
    const isSound = asked.length < 2 || (size !== undefined && size > 0 && size <= MAX_MESSAGE_BYTES);
    if (isSound) return read(size) as unknown;
    throw new Error(`the bus announced a message of ${size} bytes`);
  };
}

/**
 * Connects and says Hello. Rejects with the error of the socket or of the bus, or with the signal's reason; the signal is
 * ignored once the connection is open.
 */
export async function openBusConnection(
  address: string,
  events: ConnectionEvents,
  signal: AbortSignal,
): Promise<BusConnection> {
  const dbus = await import('dbus-next');
  signal.throwIfAborted();
  const connection = new BusConnection(dbus, address, events);
  const onAbort = (): void => {
    connection.close(asError(signal.reason));
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await connection.opened;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
  return connection;
}

/** An open connection. */
export class BusConnection {
  readonly #dbus: typeof import('dbus-next');
  readonly #bus: MessageBus;
  readonly #socket: Duplex;
  readonly #events: ConnectionEvents;
  readonly #opened = Promise.withResolvers<void>();
  readonly #pending = new Map<number, (reply: BusReply) => void>();
  #state: 'connecting' | 'open' | 'closed' = 'connecting';

  constructor(dbus: typeof import('dbus-next'), address: string, events: ConnectionEvents) {
    this.#dbus = dbus;
    this.#events = events;
    this.#bus = dbus.sessionBus({ busAddress: address });
    this.#socket = socketOf(this.#bus);
    dropUnwanted(this.#socket);
    guardReading(this.#socket, (reason) => {
      this.close(reason);
    });
    this.#bus.on('message', (message) => {
      try {
        this.#onMessage(message);
      } catch (error) {
        this.close(asError(error));
      }
    });
    this.#bus.on('connect', () => {
      if (this.#state === 'connecting') this.#state = 'open';
      this.#opened.resolve();
    });
    this.#bus.on('error', (error: unknown) => {
      this.close(asError(error));
    });
    this.#socket.on('close', () => {
      this.close(new Error('the bus closed the connection'));
    });
  }

  /** Resolves when the bus has accepted the connection; rejects if it ends before. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  close(reason: Error): void {
    if (this.#state === 'closed') return;
    const wasOpen = this.#state === 'open';
    this.#state = 'closed';
    this.#socket.destroy();
    this.#opened.reject(reason);
    for (const answer of this.#pending.values()) answer({ kind: 'closed', reason });
    this.#pending.clear();
    if (wasOpen) this.#events.onClosed(reason);
  }

  /** Sends a call; `onReply` is called once, with the answer. Returns a function that forgets the call. */
  send(call: BusCall, onReply: (reply: BusReply) => void): () => void {
    const serial = this.#bus.newSerial();
    if (this.#state === 'closed') {
      onReply({ kind: 'closed', reason: new Error('the connection is closed') });
      return () => undefined;
    }
    this.#pending.set(serial, onReply);
    try {
      // send(), not call(): the library never removes the handler of a call without an answer.
      this.#bus.send(new this.#dbus.Message({ ...call, serial, body: [...(call.body ?? [])] }));
    } catch (error) {
      this.#pending.delete(serial);
      throw error;
    }
    return () => {
      this.#pending.delete(serial);
    };
  }

  #onMessage(message: Message): void {
    const { MessageType, Variant } = this.#dbus;
    const isVariant = (value: unknown): value is { readonly value: unknown } => value instanceof Variant;
    const body = plain(message.body, isVariant) as readonly unknown[];
    if (message.type === MessageType.SIGNAL) {
      const { sender, path, interface: name, member } = message;
      if (this.#state === 'open') this.#events.onSignal({ sender, path, interface: name, member, body });
      return;
    }
    const serial = Number(message.replySerial);
    const answer = this.#pending.get(serial);
    this.#pending.delete(serial);
    if (message.type === MessageType.METHOD_RETURN) answer?.({ kind: 'return', body });
    if (message.type === MessageType.ERROR) this.#onError(message, body, answer);
  }

  #onError(message: Message, body: readonly unknown[], answer: ((reply: BusReply) => void) | undefined): void {
    const text = typeof body[0] === 'string' ? body[0] : '';
    answer?.({ kind: 'error', name: message.errorName, text });
    if (this.#state !== 'connecting') return;
    // NOTE: dbus-next reacts to a refused Hello with an unhandled rejection, which would end the process. Without the
    // serial the library does not find the call that this message answers.
    message.replySerial = '0';
    this.close(new Error(`the bus refused the connection: ${message.errorName} ${text}`));
  }
}
