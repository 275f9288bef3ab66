/**
 * One connection to a message bus, over dbus-next: this is the only file that imports it. Calls and signals are
 * matched here, over the message event, because the library's own matching never forgets a call and its events leave
 * out the end of the connection. It never reconnects; host/dbus.ts does.
 */
import type { Duplex } from 'node:stream';
import type { Message, MessageBus } from 'dbus-next';
import { dropUninvited } from './filter.ts';

/** A method call. Values of the body are plain data that fit the signature; variants cannot be sent. */
export interface BusCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly unknown[];
}

/** What came back: 64-bit integers are bigint, variants are replaced by their values. */
export type BusReply =
  | { readonly kind: 'return'; readonly body: readonly unknown[] }
  | { readonly kind: 'error'; readonly name: string; readonly text: string }
  | { readonly kind: 'closed'; readonly reason: Error };

/** A signal as it came off the wire; `sender` is a unique name that the bus vouches for. */
export interface BusSignal {
  readonly sender: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly body: readonly unknown[];
}

/** What a connection tells its owner, synchronously and in the order of the wire. */
export interface ConnectionEvents {
  onSignal(event: BusSignal): void;
  /** Once, after which no other event comes. */
  onClosed(reason: Error): void;
}

/** An open connection. */
export interface BusConnection {
  /** Sends a call; `onReply` runs once, in the order of the wire. Returns a function that forgets the call. */
  send(call: BusCall, onReply: (reply: BusReply) => void): () => void;
  close(reason: Error): void;
}

/** Replaces every variant inside `value` by what it holds. */
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

/** The bus forwards nothing that is longer (D-Bus specification, "Message Format"). */
const MAX_MESSAGE_BYTES = 2 ** 27;

/**
 * Hands `close` what goes wrong while messages are read: dbus-next does that in a listener of the socket, where an error
 * would end the process, and asks the socket for as much as the head of a message claims.
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
  // With two arguments dbus-next asks for all of a message behind its head; the stream itself may ask for nothing.
  socket.read = (...asked: readonly [size?: number, rest?: unknown]): unknown => {
    const [size] = asked;
    const isSound = asked.length < 2 || (size !== undefined && size > 0 && size <= MAX_MESSAGE_BYTES);
    if (isSound) return read(size) as unknown;
    throw new Error(`the bus announced a message of ${size} bytes`);
  };
}

/**
 * Connects and says Hello. Rejects with the socket's or the bus's error, or with the signal's reason; the signal counts
 * only until the connection is open.
 */
export async function openBusConnection(
  address: string,
  events: ConnectionEvents,
  signal: AbortSignal,
): Promise<BusConnection> {
  const dbus = await import('dbus-next');
  signal.throwIfAborted();
  const bus = dbus.sessionBus({ busAddress: address });
  const socket = socketOf(bus);
  dropUninvited(socket);
  const isVariant = (value: unknown): value is { readonly value: unknown } => value instanceof dbus.Variant;
  const opened = Promise.withResolvers<void>();
  const pending = new Map<number, (reply: BusReply) => void>();
  let state: 'connecting' | 'open' | 'closed' = 'connecting';

  const close = (reason: Error): void => {
    if (state === 'closed') return;
    const wasOpen = state === 'open';
    state = 'closed';
    socket.destroy();
    opened.reject(reason);
    for (const answer of pending.values()) answer({ kind: 'closed', reason });
    pending.clear();
    if (wasOpen) events.onClosed(reason);
  };
  guardReading(socket, close);
  const onMessage = (message: Message): void => {
    const body = plain(message.body, isVariant) as readonly unknown[];
    if (message.type === dbus.MessageType.SIGNAL) {
      const { sender, path, interface: name, member } = message;
      if (state === 'open') events.onSignal({ sender, path, interface: name, member, body });
      return;
    }
    const serial = Number(message.replySerial);
    const answer = pending.get(serial);
    pending.delete(serial);
    if (message.type === dbus.MessageType.METHOD_RETURN) answer?.({ kind: 'return', body });
    if (message.type !== dbus.MessageType.ERROR) return;
    const text = typeof body[0] === 'string' ? body[0] : '';
    answer?.({ kind: 'error', name: message.errorName, text });
    if (state !== 'connecting') return;
    // NOTE: dbus-next answers a refused Hello with an unhandled rejection, which would end the process. Without its
    // serial the library does not find the call that this is the answer to.
    message.replySerial = '0';
    close(new Error(`the bus refused the connection: ${message.errorName} ${text}`));
  };
  bus.on('message', (message) => {
    try {
      onMessage(message);
    } catch (error) {
      close(asError(error));
    }
  });
  bus.on('connect', () => {
    if (state === 'connecting') state = 'open';
    opened.resolve();
  });
  bus.on('error', (error: unknown) => {
    close(asError(error));
  });
  socket.on('close', () => {
    close(new Error('the bus closed the connection'));
  });
  const onAbort = (): void => {
    close(asError(signal.reason));
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await opened.promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }

  return {
    close,
    send: (call, onReply) => {
      const serial = bus.newSerial();
      if (state === 'closed') {
        onReply({ kind: 'closed', reason: new Error('the connection is closed') });
        return () => undefined;
      }
      pending.set(serial, onReply);
      try {
        // send(), not call(): the library would keep the handler of a call that is never answered for ever.
        bus.send(new dbus.Message({ ...call, serial, body: [...(call.body ?? [])] }));
      } catch (error) {
        pending.delete(serial);
        throw error;
      }
      return () => {
        pending.delete(serial);
      };
    },
  };
}
