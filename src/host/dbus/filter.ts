/**
 * Throws away what other programs of this machine send to the agent's connection to the bus without having been asked,
 * before anything of it is parsed or kept: the policy of the system's bus lets every user send a signal of 32 MiB to any
 * connection, and reading one takes seconds. What the agent wants comes in three ways only: answers to its calls, signals
 * to nobody in particular, which the bus passes on by the agent's own rules, and what the bus itself says.
 */
import type { Duplex } from 'node:stream';

/** Of every message (D-Bus Specification, "Message Format"); the fields of the header and the body follow. */
const HEADER_BYTES = 16;
/** Of fields; those of the services that the agent asks take some hundred bytes. */
const MAX_FIELDS_BYTES = 64 * 1024;
/** Of a whole message: more than any answer that the agent asks for. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
const LITTLE_ENDIAN = 0x6c;
const METHOD_CALL = 1;
const SIGNAL = 4;
const DESTINATION = 6;
const SENDER = 7;
const BUS = 'org.freedesktop.DBus';

/** The parts of a message that tell how long it is and what it is. */
export interface MessageHead {
  readonly type: number;
  readonly isLittle: boolean;
  /** With the padding after them. */
  readonly fieldsBytes: number;
  readonly bodyBytes: number;
}

/** Reads the first 16 bytes of a message. */
export function headOf(header: Buffer): MessageHead {
  const isLittle = header[0] === LITTLE_ENDIAN;
  const numberAt = (at: number): number => (isLittle ? header.readUInt32LE(at) : header.readUInt32BE(at));
  const fieldsBytes = Math.ceil(numberAt(12) / 8) * 8;
  return { type: header[1] ?? 0, isLittle, fieldsBytes, bodyBytes: numberAt(4) };
}

/** The texts among the fields of a header, by their codes; undefined for what no bus would pass on. */
function textsOf(fields: Buffer, isLittle: boolean): ReadonlyMap<number, string> | undefined {
  const texts = new Map<number, string>();
  const numberAt = (at: number): number => (isLittle ? fields.readUInt32LE(at) : fields.readUInt32BE(at));
  let at = 0;
  try {
    // A field is at least a code, a signature of one letter, and a value; less is padding.
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

/** Whether a message with these fields is one that the agent wants. */
export function isWanted({ type, isLittle }: MessageHead, fields: Buffer): boolean {
  if (type !== SIGNAL) return type !== METHOD_CALL;
  const texts = textsOf(fields, isLittle);
  return texts !== undefined && (!texts.has(DESTINATION) || texts.get(SENDER) === BUS);
}

function isTooLong({ type, fieldsBytes, bodyBytes }: MessageHead): boolean {
  return type === METHOD_CALL || fieldsBytes > MAX_FIELDS_BYTES || fieldsBytes + bodyBytes > MAX_MESSAGE_BYTES;
}

/**
 * Changes what dbus-next reads from its socket: of messages nobody asked for it sees nothing. It reads single bytes while
 * it logs in, then 16 bytes and the rest of each message, in turn.
 */
export function dropUninvited(socket: Duplex): void {
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  let skipBytes = 0;
  let header: Buffer | null = null;
  /** Read already, of a message that is wanted. */
  let fields: Buffer | undefined;

  const skip = (): boolean => {
    while (skipBytes > 0) {
      const chunk = read(socket.readableLength >= skipBytes ? skipBytes : undefined);
      if (chunk === null) return false;
      skipBytes -= chunk.length;
    }
    return true;
  };
  const nextHeader = (): Buffer | null => {
    while (skip()) {
      header ??= read(HEADER_BYTES);
      if (header === null) return null;
      // The bus has ended in the middle of it.
      if (header.length < HEADER_BYTES) return (header = null);
      const head = headOf(header);
      if (isTooLong(head)) skipBytes = head.fieldsBytes + head.bodyBytes;
      else {
        const found = head.fieldsBytes === 0 ? Buffer.alloc(0) : read(head.fieldsBytes);
        if (found === null) return null;
        if (isWanted(head, found)) {
          fields = found;
          break;
        }
        skipBytes = head.bodyBytes;
      }
      header = null;
    }
    const wanted = fields === undefined ? null : header;
    if (wanted !== null) header = null;
    return wanted;
  };
  const rest = (size: number, known: Buffer): Buffer | null => {
    const body = size === known.length ? Buffer.alloc(0) : read(size - known.length);
    if (body === null) return null;
    fields = undefined;
    return Buffer.concat([known, body]);
  };
  socket.read = (size?: number): Buffer | null => {
    // The stream itself asks for nothing, to go on.
    if (size === undefined || size <= 1) return read(size);
    return fields === undefined ? nextHeader() : rest(size, fields);
  };
}
