/**
 * What systemd-logind knows about the machine's shutdown: whether one is being prepared, is scheduled, who asked for it,
 * and which locks hold it. Only reads and listens. No signal is relied upon: PreparingForShutdown has no change signal,
 * and the signal for a shutdown that was called off is not always sent, so callers read again after each.
 */
import { readFile } from 'node:fs/promises';
import type { BusCall } from './dbus-connection.ts';
import type { SystemBus } from './dbus.ts';

const SERVICE = { destination: 'org.freedesktop.login1', path: '/org/freedesktop/login1' };
const MANAGER = 'org.freedesktop.login1.Manager';
const SCHEDULED_FILE = '/run/systemd/shutdown/scheduled';
/** What logind shows for "no time". */
const USEC_INFINITY = 2n ** 64n - 1n;
/** A shutdown scheduled for later than this is not the one that is under way. */
const DUE_MS = 60_000;
const KINDS = ['poweroff', 'reboot', 'halt', 'kexec', 'soft-reboot'] as const;
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** An inhibitor lock as logind lists it; `what` is a list with colons, `pid` the process that asked for it. */
export interface Inhibitor {
  readonly what: string;
  readonly who: string;
  readonly why: string;
  readonly mode: string;
  readonly uid: number;
  readonly pid: number;
}

/** A shutdown that logind has in mind; `at` is in milliseconds since the epoch, null where it has begun. */
export interface ScheduledShutdown {
  /** For example poweroff or reboot; with the prefix `dry-` nothing will happen. */
  readonly kind: string;
  readonly at: number | null;
}

/** Who asked for a shutdown, as far as logind knows. */
export interface ShutdownRequester {
  readonly kind?: 'poweroff' | 'reboot' | 'halt' | 'kexec' | 'soft-reboot';
  readonly uid?: number;
  readonly tty?: string;
  /** The message to all users that came with it. */
  readonly wall?: string;
}

/** Errors of all that read: DBUS_UNAVAILABLE, DBUS_CALL_FAILED. */
export interface Login1 {
  /**
   * Calls `listener` on PrepareForShutdown and, with the kind of shutdown, on PrepareForShutdownWithMetadata. One event
   * may come as both.
   */
  onPrepareForShutdown(listener: (active: boolean, metadata?: { readonly type?: string }) => void): void;
  preparingForShutdown(signal: AbortSignal): Promise<boolean>;
  scheduledShutdown(signal: AbortSignal): Promise<ScheduledShutdown | null>;
  /** The longest time for which logind lets locks delay a shutdown, in milliseconds. */
  inhibitDelayMaxMs(signal: AbortSignal): Promise<number>;
  listInhibitors(signal: AbortSignal): Promise<readonly Inhibitor[]>;
  /** Who asked for the present shutdown and which kind it is, as far as logind tells; never fails for lack of it. */
  shutdownRequester(signal: AbortSignal): Promise<ShutdownRequester>;
}

/** The kind of shutdown that `text` names, if it names one that will happen. */
function shutdownKind(text: string | undefined): ShutdownRequester['kind'] {
  return KINDS.find((kind) => kind === text);
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
  if (typeof metadata !== 'object' || metadata === null || !('type' in metadata)) return undefined;
  return typeof metadata.type === 'string' ? metadata.type : undefined;
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
    (await read('PreparingForShutdown', signal)) === true;

  const scheduledShutdown: Login1['scheduledShutdown'] = async (signal) => {
    const value = await read('ScheduledShutdown', signal);
    const [kind, usec] = Array.isArray(value) ? value : [];
    if (typeof kind !== 'string' || kind === '' || typeof usec !== 'bigint') return null;
    // While one is prepared the number is 0 or, from systemd 257 on, a monotonic time: no date in either case.
    const isDate = usec > 0n && usec < USEC_INFINITY && !(await preparingForShutdown(signal));
    return { kind, at: isDate ? Number(usec / 1000n) : null };
  };

  /** The kind, as the newest source that knows it tells. */
  const readKind = async (signal: AbortSignal): Promise<ShutdownRequester['kind']> => {
    const sources = [
      async () => typeOf(await read('PreparingForShutdownWithMetadata', signal)),
      () => Promise.resolve(announcedType),
      async () => (await scheduledShutdown(signal))?.kind,
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
        if (active !== true) announcedType = undefined;
        listener(active === true);
      });
      bus.subscribe({ ...signal, member: 'PrepareForShutdownWithMetadata' }, ([active, metadata]) => {
        const type = typeOf(metadata);
        announcedType = active === true ? type : undefined;
        listener(active === true, type === undefined ? {} : { type });
      });
    },
    preparingForShutdown,
    scheduledShutdown,
    inhibitDelayMaxMs: async (signal) => Number(await read('InhibitDelayMaxUSec', signal)) / 1000,
    listInhibitors: async (signal) => {
      const call: BusCall = { ...SERVICE, interface: MANAGER, member: 'ListInhibitors' };
      const [rows] = (await bus.call(call, signal)) as [[string, string, string, string, number, number][]];
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
