/**
 * systemd, process 1, over D-Bus: it tells whether the machine is going down, and it starts and stops the unit that holds
 * the lock. Other units are started, stopped or restarted only if a shutdown could not finish otherwise: the target of a
 * shutdown that logind prepares, the kubelet, logind.
 */
import * as z from 'zod';
import { SHUTDOWN_KINDS, type ShutdownKind } from '../../decide/shutdown/kind.ts';
import type { KubeletService } from '../../decide/machine/kubelet-trust.ts';
import { NodemaintError } from '../../errors.ts';
import { BusCallError, type SystemBus } from '../dbus/bus.ts';

const SERVICE = { destination: 'org.freedesktop.systemd1', path: '/org/freedesktop/systemd1' };
const MANAGER = 'org.freedesktop.systemd1.Manager';
const SHUTDOWN_TARGET = 'shutdown.target';
const JOB_TIMEOUT_MS = 20_000;
/** A main process that has not ended this long after SIGTERM gets SIGKILL. */
const TERM_MS = 10_000;
const SIGTERM = 15;
const SIGKILL = 9;
const ENDED = ['inactive', 'failed'];
const FIRST_POLL_MS = 20;
const MAX_POLL_MS = 500;
const MAX_SERVICES = 32;
const PID = z.int().min(0);
/** The answer of ListUnitsByPatterns: a row per unit, with its name first and its object path seventh. */
const UNIT_ROWS = z.tuple([z.array(z.array(z.unknown()))]);

/** Parses an answer of systemd. Throws DBUS_CALL_FAILED if it does not fit the schema. */
function parseAnswer<T>(schema: z.ZodType<T>, what: string, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const why = z.prettifyError(result.error);
  throw new NodemaintError('DBUS_CALL_FAILED', `the answer of systemd to ${what} has an unexpected form: ${why}`);
}

const SYSTEMD_MANAGER = { ...SERVICE, interface: MANAGER };

/** The result of `call`; undefined if systemd answers with an error, for instance because it has no such property. */
async function unlessRefused<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof BusCallError) return undefined;
    throw error;
  }
}

interface UnitView {
  readonly name: string;
  readonly activeState: string;
  readonly hasJob: boolean;
}

/** Process 1. Errors of all methods: DBUS_UNAVAILABLE; DBUS_CALL_FAILED if systemd refuses, or a unit does not reach its state. */
export class Systemd {
  readonly #bus: SystemBus;

  constructor(bus: SystemBus) {
    this.#bus = bus;
  }

  /** The manager's SystemState: initializing, starting, running, degraded, maintenance, stopping. */
  async systemState(signal: AbortSignal): Promise<string> {
    return String(await this.#bus.getProperty({ ...SYSTEMD_MANAGER, name: 'SystemState' }, signal));
  }

  /** Whether systemd stops all units now, or has that as a queued job; false while logind still delays a shutdown. */
  async isGoingDown(signal: AbortSignal): Promise<boolean> {
    if ((await this.systemState(signal)) === 'stopping') return true;
    const { activeState, hasJob } = await this.#read(SHUTDOWN_TARGET, signal);
    return hasJob || activeState === 'active';
  }

  /** The kind of shutdown that is queued as a job (reboot.target, …); undefined if none is. */
  async queuedShutdown(signal: AbortSignal): Promise<ShutdownKind | undefined> {
    const names = SHUTDOWN_KINDS.map((kind) => `${kind}.target`);
    const targets = await this.#readAll(names, signal);
    return SHUTDOWN_KINDS.find((kind) => targets.some(({ name, hasJob }) => hasJob && name === `${kind}.target`));
  }

  /** The number of soft reboots since the boot; undefined if systemd does not count them (before 256). */
  softReboots(signal: AbortSignal): Promise<number | undefined> {
    return unlessRefused(async () => {
      const count = await this.#bus.getProperty({ ...SYSTEMD_MANAGER, name: 'SoftRebootsCount' }, signal);
      return z.uint32().safeParse(count).data;
    });
  }

  /** A property of a unit, with its drop-ins applied, from the interface Unit or Service; undefined if there is none. */
  unitProperty(unit: string, kind: 'Unit' | 'Service', name: string, signal: AbortSignal): Promise<unknown> {
    return unlessRefused(async () => {
      const load = { ...SYSTEMD_MANAGER, member: 'LoadUnit', signature: 's', body: [unit] };
      const [objectPath] = await this.#bus.call(load, signal);
      const object = { destination: SERVICE.destination, path: String(objectPath) };
      return await this.#bus.getProperty({ ...object, interface: `org.freedesktop.systemd1.${kind}`, name }, signal);
    });
  }

  /** The loaded services with processes whose names match one of the shell patterns. `timeoutMs` applies to each call. */
  async services(
    patterns: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<readonly KubeletService[]> {
    const body = [[], patterns];
    const list = { ...SYSTEMD_MANAGER, member: 'ListUnitsByPatterns', signature: 'asas', body, timeoutMs };
    const [rows] = parseAnswer(UNIT_ROWS, list.member, await this.#bus.call(list, signal));
    const services: KubeletService[] = [];
    for (const [unit, , , , , , objectPath] of rows.slice(0, MAX_SERVICES)) {
      const object = { destination: SERVICE.destination, path: String(objectPath) };
      const read = async (name: string): Promise<unknown> => {
        const get = { interface: 'org.freedesktop.DBus.Properties', member: 'Get', signature: 'ss', timeoutMs };
        const asked = { ...object, ...get, body: ['org.freedesktop.systemd1.Service', name] };
        return (await this.#bus.call(asked, signal))[0];
      };
      const mainPid = PID.safeParse(await read('MainPID')).data ?? 0;
      const controlGroup = z.string().safeParse(await read('ControlGroup')).data ?? '';
      if (mainPid !== 0 || controlGroup !== '') services.push({ unit: String(unit), mainPid, controlGroup });
    }
    return services;
  }

  /** The ActiveState: active, inactive, failed, activating, deactivating, …; inactive if the unit is not installed. */
  async unitActiveState(name: string, signal: AbortSignal): Promise<string> {
    return (await this.#read(name, signal)).activeState;
  }

  /** Starts a shutdown that logind prepares, as logind does when its delay is over; ignores all locks. */
  async goDown(kind: ShutdownKind, signal: AbortSignal): Promise<void> {
    const body = [`${kind}.target`, 'replace-irreversibly'];
    await this.#bus.call({ ...SYSTEMD_MANAGER, member: 'StartUnit', signature: 'ss', body }, signal);
  }

  /** Starts a unit and waits until it is active. Idempotent. */
  async startUnit(name: string, signal: AbortSignal): Promise<void> {
    await this.#start('StartUnit', name, signal);
  }

  /** Restarts a unit and waits until it is active. */
  async restartUnit(name: string, signal: AbortSignal): Promise<void> {
    await this.#start('RestartUnit', name, signal);
  }

  /** Stops a unit and waits until it has ended. Idempotent; a unit that is not installed counts as stopped. */
  async stopUnit(name: string, signal: AbortSignal): Promise<void> {
    if ((await this.#read(name, signal)).activeState === 'inactive') return;
    const body = [name, 'replace'];
    await this.#bus.call({ ...SYSTEMD_MANAGER, member: 'StopUnit', signature: 'ss', body }, signal);
    await this.#settle(name, ENDED, signal);
  }

  /**
   * Ends the main process of a unit that has a waiting stop job, and leaves the job to systemd. Only for such a unit:
   * without the job, Restart= would start the unit again (systemd, service.c, service_enter_dead). Idempotent.
   */
  async endUnit(name: string, signal: AbortSignal): Promise<void> {
    const hasEnded = ({ activeState }: UnitView): boolean => ENDED.includes(activeState);
    for (const { number, withinMs } of [
      { number: SIGTERM, withinMs: TERM_MS },
      { number: SIGKILL, withinMs: JOB_TIMEOUT_MS },
    ]) {
      if (hasEnded(await this.#read(name, signal))) return;
      const body = [name, 'main', number];
      await this.#bus.call({ ...SYSTEMD_MANAGER, member: 'KillUnit', signature: 'ssi', body }, signal);
      const { holds, activeState } = await this.#watch(name, hasEnded, withinMs, signal);
      if (holds) return;
      if (number === SIGKILL) throw unexpectedState(name, activeState, ENDED);
    }
  }

  /** Reads units in one call; systemd also lists units that are not loaded or do not exist. */
  async #readAll(names: readonly string[], signal: AbortSignal): Promise<readonly UnitView[]> {
    const list = { ...SYSTEMD_MANAGER, member: 'ListUnitsByNames', signature: 'as', body: [names] };
    const [rows] = parseAnswer(UNIT_ROWS, list.member, await this.#bus.call(list, signal));
    return rows.map((row) => ({ name: String(row[0]), activeState: String(row[3]), hasJob: row[7] !== 0 }));
  }

  async #read(name: string, signal: AbortSignal): Promise<UnitView> {
    return (await this.#readAll([name], signal))[0] ?? { name, activeState: 'inactive', hasJob: false };
  }

  async #start(member: 'StartUnit' | 'RestartUnit', name: string, signal: AbortSignal): Promise<void> {
    await this.#bus.call({ ...SYSTEMD_MANAGER, member, signature: 'ss', body: [name, 'replace'] }, signal);
    await this.#settle(name, ['active', 'reloading'], signal);
  }

  /** Waits for the end of the unit's job; throws if the unit is in none of `states` then. */
  async #settle(name: string, states: readonly string[], signal: AbortSignal): Promise<void> {
    const isSettled = ({ activeState, hasJob }: UnitView): boolean => states.includes(activeState) && !hasJob;
    const { holds, activeState } = await this.#watch(name, isSettled, JOB_TIMEOUT_MS, signal);
    if (!holds) throw unexpectedState(name, activeState, states);
  }

  /** Polls a unit until `claim` holds, or the unit has come to rest without it, or the time is over. */
  async #watch(
    name: string,
    claim: (unit: UnitView) => boolean,
    withinMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly holds: boolean; readonly activeState: string }> {
    const { clock } = this.#bus;
    const until = clock.monotonic() + withinMs;
    for (let waitMs = FIRST_POLL_MS; ; waitMs = Math.min(waitMs * 2, MAX_POLL_MS)) {
      const unit = await this.#read(name, signal);
      const { activeState, hasJob } = unit;
      if (claim(unit)) return { holds: true, activeState };
      const isChanging = hasJob || activeState.endsWith('activating');
      if (!isChanging || clock.monotonic() >= until) return { holds: false, activeState };
      await clock.sleep(waitMs, signal);
    }
  }
}

function unexpectedState(name: string, activeState: string, states: readonly string[]): NodemaintError {
  const message = `unit ${name} is ${activeState} and did not become ${states.join(' or ')}`;
  return new NodemaintError('DBUS_CALL_FAILED', message);
}
