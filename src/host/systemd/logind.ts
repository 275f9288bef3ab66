/**
 * systemd-logind over D-Bus: whether a shutdown is being prepared or is scheduled, who requested it, and which locks hold
 * it. Signals are hints only: PreparingForShutdown has no change signal, and the signal for a canceled shutdown is not
 * always sent. So callers read again after each signal.
 */
import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import type { ScheduledShutdown, ShutdownRequester } from '../../decide/shutdown/detection.ts';
import { type ShutdownKind, shutdownKind } from '../../decide/shutdown/kind.ts';
import type { DelayLock } from '../../decide/shutdown/other-locks.ts';
import { NodemaintError } from '../../errors.ts';
import type { BusCall } from '../dbus/connection.ts';
import { BusCallError, type SystemBus } from '../dbus/bus.ts';
import { DUE_MS, parseScheduledFile, SCHEDULED_FILE } from './scheduled-file.ts';

const SERVICE = { destination: 'org.freedesktop.login1', path: '/org/freedesktop/login1' };
const MANAGER = 'org.freedesktop.login1.Manager';
/** The value of logind for "no time". */
const USEC_INFINITY = 2n ** 64n - 1n;
const DBUS = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };
const NO_OWNER = 'org.freedesktop.DBus.Error.NameHasNoOwner';
/** The calls that request a shutdown (org.freedesktop.login1(5)); the numbers are SD_LOGIND_KEXEC_REBOOT and SD_LOGIND_SOFT_REBOOT. */
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

/** An inhibitor lock as logind lists it. */
export type Inhibitor = DelayLock;

function typeOf(metadata: unknown): string | undefined {
  return metadataValue.safeParse(metadata).data?.type;
}

/** Parses an answer of logind. Throws DBUS_CALL_FAILED if it does not fit the schema. */
function parseAnswer<T>(schema: z.ZodType<T>, what: string, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new NodemaintError(
    'DBUS_CALL_FAILED',
    `${what} of logind has an unexpected form: ${z.prettifyError(result.error)}`,
  );
}

/** logind. Errors of all methods that call it: DBUS_UNAVAILABLE; DBUS_CALL_FAILED, also for an answer of an unexpected form. */
export class Login1 {
  readonly #bus: SystemBus;
  readonly #scheduledFile: string;
  /** The kind of the present shutdown, as logind announced it; undefined if it did not. */
  #announcedType: string | undefined;

  /** `scheduledFile` is the file in which logind keeps a scheduled shutdown. */
  constructor(bus: SystemBus, scheduledFile = SCHEDULED_FILE) {
    this.#bus = bus;
    this.#scheduledFile = scheduledFile;
  }

  /**
   * Calls `listener` on PrepareForShutdown and, with the kind of shutdown, on PrepareForShutdownWithMetadata. logind may
   * send both for one event.
   */
  onPrepareForShutdown(listener: (active: boolean, metadata?: { readonly type?: string }) => void): void {
    const match = { sender: SERVICE.destination, path: SERVICE.path, interface: MANAGER };
    this.#bus.subscribe({ ...match, member: 'PrepareForShutdown' }, ([active]) => {
      if (typeof active !== 'boolean') return;
      if (!active) this.#announcedType = undefined;
      listener(active);
    });
    this.#bus.subscribe({ ...match, member: 'PrepareForShutdownWithMetadata' }, ([active, metadata]) => {
      if (typeof active !== 'boolean') return;
      const type = typeOf(metadata);
      this.#announcedType = active ? type : undefined;
      listener(active, type === undefined ? {} : { type });
    });
  }

  /** Calls `listener` when the scheduled shutdown may have changed; systemd before 257 does not signal that. */
  onScheduleChange(listener: () => void): void {
    const match = { sender: SERVICE.destination, path: SERVICE.path, interface: 'org.freedesktop.DBus.Properties' };
    this.#bus.subscribe({ ...match, member: 'PropertiesChanged' }, (body) => {
      const { data } = changedBody.safeParse(body);
      if (data === undefined) return;
      const names = [...Object.keys(data[1]), ...data[2]];
      if (names.some((name) => SCHEDULE_PROPERTIES.includes(name))) listener();
    });
  }

  /**
   * The process ID of logind, which changes with each restart; undefined if logind is not on the bus. Its unique name on the
   * bus does not show a restart, because a bus that was restarted too assigns the same names again. With systemd 257, after
   * a restart of D-Bus, logind may run without being on the bus; a shutdown then ignores all locks and is not announced.
   */
  async processId(signal: AbortSignal): Promise<number | undefined> {
    const call = { ...DBUS, member: 'GetConnectionUnixProcessID', signature: 's', body: [SERVICE.destination] };
    try {
      return parseAnswer(z.uint32(), 'process', (await this.#bus.call(call, signal))[0]);
    } catch (error) {
      if (error instanceof BusCallError && error.errorName === NO_OWNER) return undefined;
      throw error;
    }
  }

  /** Requests a shutdown, as systemctl does. Used for a shutdown that logind has lost in a restart. */
  async request(kind: ShutdownKind, signal: AbortSignal): Promise<void> {
    await this.#bus.call({ ...SERVICE, interface: MANAGER, ...REQUESTS[kind] }, signal);
  }

  /** Calls off what logind has scheduled, as `shutdown -c` does. What it prepares already goes on (systemd 252). */
  async cancelScheduled(signal: AbortSignal): Promise<void> {
    await this.#bus.call({ ...SERVICE, interface: MANAGER, member: 'CancelScheduledShutdown' }, signal);
  }

  async preparingForShutdown(signal: AbortSignal): Promise<boolean> {
    return parseAnswer(z.boolean(), 'PreparingForShutdown', await this.#read('PreparingForShutdown', signal));
  }

  async scheduledShutdown(signal: AbortSignal): Promise<ScheduledShutdown | null> {
    const value = await this.#read('ScheduledShutdown', signal);
    const [kind, usec] = parseAnswer(scheduledValue, 'ScheduledShutdown', value);
    if (kind === '') return null;
    // While a shutdown is prepared the number is 0 or, from systemd 257 on, a monotonic time; neither is a date.
    const isDate = usec > 0n && usec < USEC_INFINITY && !(await this.preparingForShutdown(signal));
    return { kind, at: isDate ? Number(usec / 1000n) : null };
  }

  /** The longest time for which locks can delay a shutdown, in milliseconds. */
  async inhibitDelayMaxMs(signal: AbortSignal): Promise<number> {
    const value = await this.#read('InhibitDelayMaxUSec', signal);
    return Number(parseAnswer(z.bigint().nonnegative(), 'InhibitDelayMaxUSec', value)) / 1000;
  }

  async listInhibitors(signal: AbortSignal): Promise<readonly Inhibitor[]> {
    const call: BusCall = { ...SERVICE, interface: MANAGER, member: 'ListInhibitors' };
    const [answer] = await this.#bus.call(call, signal);
    const rows = parseAnswer(inhibitorRows, 'ListInhibitors', answer);
    return rows.map(([what, who, why, mode, uid, pid]) => ({ what, who, why, mode, uid, pid }));
  }

  /** Who requested the present shutdown, and its kind. Members that logind does not report are absent; never fails. */
  async shutdownRequester(signal: AbortSignal): Promise<ShutdownRequester> {
    const kind = await this.#readKind(signal);
    const text = await readFile(this.#scheduledFile, { encoding: 'utf8', signal }).catch(() => '');
    signal.throwIfAborted();
    return { ...parseScheduledFile(text, this.#bus.clock.now()), ...(kind === undefined ? {} : { kind }) };
  }

  #read(name: string, signal: AbortSignal): Promise<unknown> {
    return this.#bus.getProperty({ ...SERVICE, interface: MANAGER, name }, signal);
  }

  /** The kind of the present shutdown, from the newest interface that reports it; undefined if none does. */
  async #readKind(signal: AbortSignal): Promise<ShutdownKind | undefined> {
    const sources = [
      async () => typeOf(await this.#read('PreparingForShutdownWithMetadata', signal)),
      () => Promise.resolve(this.#announcedType),
      () => this.#dueKind(signal),
    ];
    for (const source of sources) {
      // This version may not have the property, or the bus may be away: the next source is tried.
      const kind = shutdownKind(await source().catch(() => undefined));
      signal.throwIfAborted();
      if (kind !== undefined) return kind;
    }
    return undefined;
  }

  /** The kind of a scheduled shutdown, unless it is scheduled for later and thus not the present one. */
  async #dueKind(signal: AbortSignal): Promise<string | undefined> {
    const scheduled = await this.scheduledShutdown(signal);
    return (scheduled?.at ?? 0) <= this.#bus.clock.now() + DUE_MS ? scheduled?.kind : undefined;
  }
}
