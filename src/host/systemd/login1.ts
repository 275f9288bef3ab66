/**
 * What systemd-logind knows about the machine's shutdown: whether one is being prepared, is scheduled, who asked for it,
 * and which locks hold it. Only reads and listens. No signal is relied upon: PreparingForShutdown has no change signal,
 * and the signal for a shutdown that was called off is not always sent, so callers read again after each.
 */
import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { type ScheduledShutdown, type ShutdownKind, shutdownKind } from '../../decide/shutdown/detection.ts';
import type { DelayLock } from '../../decide/shutdown/other-locks.ts';
import { NodemaintError } from '../../errors.ts';
import type { BusCall } from '../dbus/connection.ts';
import { BusCallError, type SystemBus } from '../dbus/bus.ts';
import { SCHEDULED_FILE } from './scheduled-file.ts';

const SERVICE = { destination: 'org.freedesktop.login1', path: '/org/freedesktop/login1' };
const MANAGER = 'org.freedesktop.login1.Manager';
/** What logind shows for "no time". */
const USEC_INFINITY = 2n ** 64n - 1n;
/** A shutdown scheduled for later than this is not the one that is under way. */
const DUE_MS = 60_000;
const DBUS = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };
const NO_OWNER = 'org.freedesktop.DBus.Error.NameHasNoOwner';
/** The calls of org.freedesktop.login1(5); the numbers are SD_LOGIND_KEXEC_REBOOT and SD_LOGIND_SOFT_REBOOT. */
const REQUESTS: Readonly<Record<ShutdownKind, Pick<BusCall, 'member' | 'signature' | 'body'>>> = {
  poweroff: { member: 'PowerOff', signature: 'b', body: [false] },
  reboot: { member: 'Reboot', signature: 'b', body: [false] },
  halt: { member: 'Halt', signature: 'b', body: [false] },
  kexec: { member: 'RebootWithFlags', signature: 't', body: [2n] },
  'soft-reboot': { member: 'RebootWithFlags', signature: 't', body: [4n] },
};
const SCHEDULE_PROPERTIES = ['ScheduledShutdown', 'PreparingForShutdownWithMetadata'];
const words = z.string().max(4096);
const inhibitorRows = z.array(z.tuple([words, words, words, words, z.uint32(), z.uint32()]));
const scheduledValue = z.tuple([words, z.bigint().nonnegative()]);
const metadataValue = z.object({ type: words });
const changedBody = z.tuple([z.literal(MANAGER), z.record(z.string(), z.unknown()), z.array(z.string())]);
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** An inhibitor lock as logind lists it. */
export type Inhibitor = DelayLock;

/** Who asked for a shutdown, as far as logind knows. */
export interface ShutdownRequester {
  readonly kind?: ShutdownKind;
  readonly uid?: number;
  readonly tty?: string;
  /** The message to all users that came with it. */
  readonly wall?: string;
}

/** Errors of all that read: DBUS_UNAVAILABLE; DBUS_CALL_FAILED, also for an answer that is not what logind says. */
export interface Login1 {
  /**
   * Calls `listener` on PrepareForShutdown and, with the kind of shutdown, on PrepareForShutdownWithMetadata. One event
   * may come as both.
   */
  onPrepareForShutdown(listener: (active: boolean, metadata?: { readonly type?: string }) => void): void;
  /** Calls `listener` when the scheduled shutdown may have changed; systemd before 257 never tells over the bus. */
  onScheduleChange(listener: () => void): void;
  /**
   * The process that is logind, another one after each restart; undefined where it is not on the bus. Its name on the bus
   * does not tell them apart: a bus that was restarted with it gives the same names again. Under systemd 257 logind may run
   * and not be on the bus: after a restart of D-Bus a shutdown then passes all locks by, unannounced.
   */
  processId(signal: AbortSignal): Promise<number | undefined>;
  /** Asks for a shutdown as systemctl does, for one that logind forgot when it was restarted. */
  request(kind: ShutdownKind, signal: AbortSignal): Promise<void>;
  preparingForShutdown(signal: AbortSignal): Promise<boolean>;
  scheduledShutdown(signal: AbortSignal): Promise<ScheduledShutdown | null>;
  /** The longest time for which logind lets locks delay a shutdown, in milliseconds. */
  inhibitDelayMaxMs(signal: AbortSignal): Promise<number>;
  listInhibitors(signal: AbortSignal): Promise<readonly Inhibitor[]>;
  /** Who asked for the present shutdown and which kind it is, as far as logind tells; never fails for lack of it. */
  shutdownRequester(signal: AbortSignal): Promise<ShutdownRequester>;
}

/** Undoes systemd's C-style escapes, which write each byte beyond ASCII in octal. */
function unescape(text: string): string {
  const bytes = text.replaceAll(/\\(?:([0-7]{3})|x([0-9a-f]{2})|(.))/g, (_match, octal, hex, char: string) => {
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal as string, 8));
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex as string, 16));
    return SHORT_ESCAPES[char] ?? char;
  });
  return bytes === text ? text : Buffer.from(bytes, 'latin1').toString('utf8');
}

/**
 * Reads the lines KEY=VALUE of the file in which logind keeps a scheduled shutdown; what is missing or of no use is left
 * out. A shutdown that is not due at `now`, in milliseconds since the epoch, tells nothing.
 */
export function parseScheduledFile(text: string, now: number): ShutdownRequester {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const at = line.indexOf('=');
    if (at > 0) fields.set(line.slice(0, at), unescape(line.slice(at + 1)).trim());
  }
  if (Number(fields.get('USEC')) / 1000 > now + DUE_MS) return {};
  const kind = shutdownKind(fields.get('MODE'));
  const uid = /^\d{1,10}$/.test(fields.get('UID') ?? '') ? Number(fields.get('UID')) : undefined;
  const tty = fields.get('TTY');
  const wall = fields.get('WALL_MESSAGE');
  return {
    ...(kind === undefined ? {} : { kind }),
    ...(uid === undefined ? {} : { uid }),
    ...(tty === undefined || tty === '' ? {} : { tty }),
    ...(wall === undefined || wall === '' ? {} : { wall }),
  };
}

function typeOf(metadata: unknown): string | undefined {
  return metadataValue.safeParse(metadata).data?.type;
}

/** What `schema` makes of an answer that need not be one; throws DBUS_CALL_FAILED. */
function parseAnswer<T>(schema: z.ZodType<T>, what: string, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new NodemaintError(
    'DBUS_CALL_FAILED',
    `${what} of logind is of another kind: ${z.prettifyError(result.error)}`,
  );
}

/** Makes the reader of logind on `bus`; `scheduledFile` is where logind keeps the scheduled shutdown. */
export function createLogin1(
  bus: SystemBus,
  { scheduledFile = SCHEDULED_FILE }: { readonly scheduledFile?: string } = {},
): Login1 {
  let announcedType: string | undefined;

  const read = (name: string, signal: AbortSignal): Promise<unknown> =>
    bus.getProperty({ ...SERVICE, interface: MANAGER, name }, signal);
  const preparingForShutdown = async (signal: AbortSignal): Promise<boolean> =>
    parseAnswer(z.boolean(), 'PreparingForShutdown', await read('PreparingForShutdown', signal));

  const scheduledShutdown: Login1['scheduledShutdown'] = async (signal) => {
    const value = await read('ScheduledShutdown', signal);
    const [kind, usec] = parseAnswer(scheduledValue, 'ScheduledShutdown', value);
    if (kind === '') return null;
    // While one is prepared the number is 0 or, from systemd 257 on, a monotonic time: no date in either case.
    const isDate = usec > 0n && usec < USEC_INFINITY && !(await preparingForShutdown(signal));
    return { kind, at: isDate ? Number(usec / 1000n) : null };
  };

  /** The kind, as the newest source that knows it tells. */
  const readKind = async (signal: AbortSignal): Promise<ShutdownRequester['kind']> => {
    const sources = [
      async () => typeOf(await read('PreparingForShutdownWithMetadata', signal)),
      () => Promise.resolve(announcedType),
      async () => {
        // One for later tells nothing about the one that is under way.
        const scheduled = await scheduledShutdown(signal);
        return (scheduled?.at ?? 0) <= bus.clock.now() + DUE_MS ? scheduled?.kind : undefined;
      },
    ];
    for (const source of sources) {
      // A property that this version lacks, or a bus that is away: the next source may know.
      const kind = shutdownKind(await source().catch(() => undefined));
      signal.throwIfAborted();
      if (kind !== undefined) return kind;
    }
    return undefined;
  };

  return {
    onPrepareForShutdown: (listener) => {
      const signal = { sender: SERVICE.destination, path: SERVICE.path, interface: MANAGER };
      bus.subscribe({ ...signal, member: 'PrepareForShutdown' }, ([active]) => {
        if (typeof active !== 'boolean') return;
        if (!active) announcedType = undefined;
        listener(active);
      });
      bus.subscribe({ ...signal, member: 'PrepareForShutdownWithMetadata' }, ([active, metadata]) => {
        if (typeof active !== 'boolean') return;
        const type = typeOf(metadata);
        announcedType = active ? type : undefined;
        listener(active, type === undefined ? {} : { type });
      });
    },
    onScheduleChange: (listener) => {
      const match = { sender: SERVICE.destination, path: SERVICE.path, interface: 'org.freedesktop.DBus.Properties' };
      bus.subscribe({ ...match, member: 'PropertiesChanged' }, (body) => {
        const { data } = changedBody.safeParse(body);
        if (data === undefined) return;
        const names = [...Object.keys(data[1]), ...data[2]];
        if (names.some((name) => SCHEDULE_PROPERTIES.includes(name))) listener();
      });
    },
    processId: async (signal) => {
      const call = { ...DBUS, member: 'GetConnectionUnixProcessID', signature: 's', body: [SERVICE.destination] };
      try {
        return parseAnswer(z.uint32(), 'process', (await bus.call(call, signal))[0]);
      } catch (error) {
        if (error instanceof BusCallError && error.errorName === NO_OWNER) return undefined;
        throw error;
      }
    },
    request: async (kind, signal) => {
      await bus.call({ ...SERVICE, interface: MANAGER, ...REQUESTS[kind] }, signal);
    },
    preparingForShutdown,
    scheduledShutdown,
    inhibitDelayMaxMs: async (signal) => {
      const value = await read('InhibitDelayMaxUSec', signal);
      return Number(parseAnswer(z.bigint().nonnegative(), 'InhibitDelayMaxUSec', value)) / 1000;
    },
    listInhibitors: async (signal) => {
      const call: BusCall = { ...SERVICE, interface: MANAGER, member: 'ListInhibitors' };
      const [answer] = await bus.call(call, signal);
      const rows = parseAnswer(inhibitorRows, 'ListInhibitors', answer);
      return rows.map(([what, who, why, mode, uid, pid]) => ({ what, who, why, mode, uid, pid }));
    },
    shutdownRequester: async (signal) => {
      const kind = await readKind(signal);
      const text = await readFile(scheduledFile, { encoding: 'utf8', signal }).catch(() => '');
      signal.throwIfAborted();
      return { ...parseScheduledFile(text, bus.clock.now()), ...(kind === undefined ? {} : { kind }) };
    },
  };
}
