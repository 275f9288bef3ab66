/**
 * Drops messages that other programs send to the agent's connection without being asked, before they are parsed: the
 * policy of the system bus lets every user send a signal of 32 MiB to any connection, and parsing one takes seconds. The
 * agent wants three kinds of messages: answers to its calls, broadcast signals (the bus forwards those that the agent has
 * subscribed to), and signals of the bus itself.
 */
import type { Duplex } from 'node:stream';

/** The fixed part of each message (D-Bus Specification, "Message Format"); header fields and body follow it. */
const HEADER_BYTES = 16;
/** A message with more header fields is dropped; the services that the agent asks send a few hundred bytes. */
const MAX_FIELDS_BYTES = 64 * 1024;
/** A longer message is dropped; no answer that the agent needs is that long. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
const LITTLE_ENDIAN = 0x6c;
const METHOD_CALL = 1;
const SIGNAL = 4;
const DESTINATION = 6;
const SENDER = 7;
const BUS = 'org.freedesktop.DBus';

/** The type and the length of a message. */
interface MessageHead {
  readonly type: number;
  readonly isLittle: boolean;
  /** Includes the padding after the fields. */
  readonly fieldsBytes: number;
  readonly bodyBytes: number;
}

/** Reads the first 16 bytes of a message. */
function headOf(header: Buffer): MessageHead {
  const isLittle = header[0] === LITTLE_ENDIAN;
  const numberAt = (at: number): number => (isLittle ? header.readUInt32LE(at) : header.readUInt32BE(at));
  const fieldsBytes = Math.ceil(numberAt(12) / 8) * 8;
  return { type: header[1] ?? 0, isLittle, fieldsBytes, bodyBytes: numberAt(4) };
}

/** The header fields that are texts, by field code; undefined for fields that no bus would forward. */
function textsOf(fields: Buffer, isLittle: boolean): ReadonlyMap<number, string> | undefined {
  const texts = new Map<number, string>();
  const numberAt = (at: number): number => (isLittle ? fields.readUInt32LE(at) : fields.readUInt32BE(at));
  let at = 0;
  try {
    // A field has at least a code, a signature of one letter, and a value; fewer bytes are padding.
    while (fields.length - at >= 8) {
      const code = fields.readUInt8(at);
      const signature = fields.toString('latin1', at + 2, at + 2 + fields.readUInt8(at + 1));
      at += signature.length + 3;
      if (signature === 'g') at += fields.readUInt8(at) + 2;
      else if (signature === 'u') at = Math.ceil(at / 4) * 4 + 4;
      else if (signature === 's' || signature === 'o') {
        const from = Math.ceil(at / 4) * 4 + 4;
        const to = from + numberAt(from - 4);
        texts.set(code, fields.toString('latin1', from, to));
        at = to + 1;
      } else return undefined;
      at = Math.ceil(at / 8) * 8;
    }
    return texts;
  } catch {
    return undefined;
  }
}

/** Whether a message with these header fields is one that the agent wants. */
function isWanted({ type, isLittle }: MessageHead, fields: Buffer): boolean {
  if (type !== SIGNAL) return type !== METHOD_CALL;
  const texts = textsOf(fields, isLittle);
  return texts !== undefined && (!texts.has(DESTINATION) || texts.get(SENDER) === BUS);
}

/** Whether a message is dropped without a look at its header fields: a method call, or too long. */
function isRefused({ type, fieldsBytes, bodyBytes }: MessageHead): boolean {
  return type === METHOD_CALL || fieldsBytes > MAX_FIELDS_BYTES || fieldsBytes + bodyBytes > MAX_MESSAGE_BYTES;
}

/**
 * Hides unwanted messages from dbus-next, which reads single bytes while it logs in, then of each message 16 bytes and the
 * rest of it.
 */
export function dropUnwanted(socket: Duplex): void {
  const filter = new MessageFilter(socket.read.bind(socket) as RawRead, () => socket.readableLength);
  socket.read = (size?: number): Buffer | null => filter.read(size);
}

type RawRead = (size?: number) => Buffer | null;

class MessageFilter {
  readonly #read: RawRead;
  readonly #available: () => number;
  /** Bytes of an unwanted message that are still to be read and dropped. */
  #skipBytes = 0;
  #header: Buffer | null = null;
  /** The fields of a wanted message whose header dbus-next has read; undefined between messages. */
  #fields: Buffer | undefined;

  constructor(read: RawRead, available: () => number) {
    this.#read = read;
    this.#available = available;
  }

  read(size: number | undefined): Buffer | null {
    // The stream itself calls read() without a size to start reading.
    if (size === undefined || size <= 1) return this.#read(size);
    return this.#fields === undefined ? this.#nextHeader() : this.#rest(size, this.#fields);
  }

  /** Reads on to the header of the next wanted message; null if more bytes have to arrive first. */
  #nextHeader(): Buffer | null {
    while (this.#skip()) {
      const header = this.#header ?? this.#read(HEADER_BYTES);
      this.#header = header;
      if (header === null) return null;
      // The connection ended in the middle of a header.
      if (header.length < HEADER_BYTES) return (this.#header = null);
      const head = headOf(header);
      if (isRefused(head)) this.#skipBytes = head.fieldsBytes + head.bodyBytes;
      else {
        const fields = head.fieldsBytes === 0 ? Buffer.alloc(0) : this.#read(head.fieldsBytes);
        if (fields === null) return null;
        if (isWanted(head, fields)) {
          this.#fields = fields;
          this.#header = null;
          return header;
        }
        this.#skipBytes = head.bodyBytes;
      }
      this.#header = null;
    }
    return null;
  }

  /** Drops what is left of an unwanted message. Returns whether all of it is gone. */
  #skip(): boolean {
    while (this.#skipBytes > 0) {
      const chunk = this.#read(this.#available() >= this.#skipBytes ? this.#skipBytes : undefined);
      if (chunk === null) return false;
      this.#skipBytes -= chunk.length;
    }
    return true;
  }

  /** The rest of a message, which begins with its fields; null if more bytes have to arrive first. */
  #rest(size: number, fields: Buffer): Buffer | null {
    const body = size === fields.length ? Buffer.alloc(0) : this.#read(size - fields.length);
    if (body === null) return null;
    this.#fields = undefined;
    return Buffer.concat([fields, body]);
  }
}
