/**
 * What systemd, process 1, knows and does: whether the machine is going down, and starting and stopping the unit that
 * holds the lock. Also tells systemd the state of this unit. What is not ours it starts, stops or restarts only where a
 * shutdown could not come to its end without that: the target of a shutdown that logind prepares, the kubelet, logind.
 */
import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';
import * as z from 'zod';
import { SHUTDOWN_KINDS, type ShutdownKind } from '../../decide/shutdown/detection.ts';
import type { KubeletService } from '../../decide/machine/kubelet-trust.ts';
import { NodemaintError } from '../../errors.ts';
import { BusCallError, type SystemBus } from '../dbus/bus.ts';

const SERVICE = { destination: 'org.freedesktop.systemd1', path: '/org/freedesktop/systemd1' };
const MANAGER = 'org.freedesktop.systemd1.Manager';
const SHUTDOWN_TARGET = 'shutdown.target';
const JOB_TIMEOUT_MS = 20_000;
/** So long a main process has for SIGTERM, before SIGKILL. */
const TERM_MS = 10_000;
const SIGTERM = 15;
const SIGKILL = 9;
const ENDED = ['inactive', 'failed'];
const FIRST_LOOK_MS = 20;
const MAX_LOOK_MS = 500;
const NOTIFY_TIMEOUT_MS = 5_000;
const MAX_SERVICES = 32;
/** As ListUnitsByPatterns gives them: the name first, the object's path seventh. */
const UNIT_ROWS = z.tuple([z.array(z.array(z.unknown()))]);

/** Errors of all: DBUS_UNAVAILABLE; DBUS_CALL_FAILED where systemd refuses, or a unit does not get where it should. */
export interface Systemd {
  /** The manager's SystemState: initializing, starting, running, degraded, maintenance, stopping. */
  systemState(signal: AbortSignal): Promise<string>;
  /** Whether systemd is stopping all units, or has it as a job; false while logind still delays a shutdown. */
  isGoingDown(signal: AbortSignal): Promise<boolean>;
  /** The kind of shutdown that is queued as a job: reboot.target and its like; undefined where none is. */
  queuedShutdown(signal: AbortSignal): Promise<ShutdownKind | undefined>;
  /** How often the machine was soft-rebooted since its boot; undefined where systemd does not count (before 256). */
  softReboots(signal: AbortSignal): Promise<number | undefined>;
  /** A property of a unit, of the interface Unit or Service, drop-ins included; undefined where there is none. */
  unitProperty(unit: string, kind: 'Unit' | 'Service', name: string, signal: AbortSignal): Promise<unknown>;
  /** The loaded services of these names or shell patterns that have processes. `timeoutMs` is for each call. */
  services(patterns: readonly string[], timeoutMs: number, signal: AbortSignal): Promise<readonly KubeletService[]>;
  /** Starts a unit and waits until it is active. Idempotent. */
  startUnit(name: string, signal: AbortSignal): Promise<void>;
  /** Starts a unit anew and waits until it is active. */
  restartUnit(name: string, signal: AbortSignal): Promise<void>;
  /** Stops a unit and waits until it is not active any more. Idempotent; a unit that is not installed is stopped. */
  stopUnit(name: string, signal: AbortSignal): Promise<void>;
  /**
   * Ends the main process of a unit whose stop job waits, and leaves the job to systemd. Only for a unit that has such a
   * job: it is what keeps Restart= from starting the unit again (systemd, service.c, service_enter_dead). Idempotent.
   */
  endUnit(name: string, signal: AbortSignal): Promise<void>;
  /** Begins a shutdown that logind prepares, as logind does when it has waited long enough; passes all locks by. */
  goDown(kind: ShutdownKind, signal: AbortSignal): Promise<void>;
  /** active, inactive, failed, activating, deactivating, …; inactive for a unit that is not installed. */
  unitActiveState(name: string, signal: AbortSignal): Promise<string>;
}

interface UnitView {
  readonly name: string;
  readonly activeState: string;
  readonly hasJob: boolean;
}

/** What `schema` makes of an answer that need not be one; throws DBUS_CALL_FAILED. */
function parseAnswer<T>(schema: z.ZodType<T>, what: string, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const why = z.prettifyError(result.error);
  throw new NodemaintError('DBUS_CALL_FAILED', `the answer of systemd to ${what} is of another kind: ${why}`);
}

/** Makes the client of process 1 on `bus`. */
export function createSystemd(bus: SystemBus): Systemd {
  const manager = { ...SERVICE, interface: MANAGER };
  const readUnits = async (names: readonly string[], signal: AbortSignal): Promise<readonly UnitView[]> => {
    // One call; a unit that is not loaded or does not exist is listed all the same.
    const list = { ...manager, member: 'ListUnitsByNames', signature: 'as', body: [names] };
    const [rows] = parseAnswer(UNIT_ROWS, list.member, await bus.call(list, signal));
    return rows.map((row) => ({ name: String(row[0]), activeState: String(row[3]), hasJob: row[7] !== 0 }));
  };
  const readUnit = async (name: string, signal: AbortSignal): Promise<UnitView> =>
    (await readUnits([name], signal))[0] ?? { name, activeState: 'inactive', hasJob: false };
  const systemState = async (signal: AbortSignal): Promise<string> =>
    String(await bus.getProperty({ ...manager, name: 'SystemState' }, signal));

  /** Waits until `claim` holds or can never hold any more; returns the state in which that was. */
  const watchUnit = async (
    name: string,
    claim: (unit: UnitView) => boolean,
    withinMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly holds: boolean; readonly activeState: string }> => {
    const until = bus.clock.monotonic() + withinMs;
    for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(waitMs * 2, MAX_LOOK_MS)) {
      const unit = await readUnit(name, signal);
      const { activeState, hasJob } = unit;
      if (claim(unit)) return { holds: true, activeState };
      const moving = hasJob || activeState.endsWith('activating');
      if (!moving || bus.clock.monotonic() >= until) return { holds: false, activeState };
      await bus.clock.sleep(waitMs, signal);
    }
  };
  const refuse = (name: string, activeState: string, states: readonly string[]): never => {
    const message = `unit ${name} is ${activeState} and did not become ${states.join(' or ')}`;
    throw new NodemaintError('DBUS_CALL_FAILED', message);
  };
  /** Waits for the end of the unit's job, and that it ended in one of `states`. */
  const settle = async (name: string, states: readonly string[], signal: AbortSignal): Promise<void> => {
    const isThere = ({ activeState, hasJob }: UnitView): boolean => states.includes(activeState) && !hasJob;
    const { holds, activeState } = await watchUnit(name, isThere, JOB_TIMEOUT_MS, signal);
    if (!holds) refuse(name, activeState, states);
  };
  const bringUp =
    (member: 'StartUnit' | 'RestartUnit'): Systemd['startUnit'] =>
    async (name, signal) => {
      await bus.call({ ...manager, member, signature: 'ss', body: [name, 'replace'] }, signal);
      await settle(name, ['active', 'reloading'], signal);
    };

  return {
    systemState,
    isGoingDown: async (signal) => {
      if ((await systemState(signal)) === 'stopping') return true;
      const { activeState, hasJob } = await readUnit(SHUTDOWN_TARGET, signal);
      return hasJob || activeState === 'active';
    },
    queuedShutdown: async (signal) => {
      const targets = await readUnits(
        SHUTDOWN_KINDS.map((kind) => `${kind}.target`),
        signal,
      );
      return SHUTDOWN_KINDS.find((kind) => targets.some(({ name, hasJob }) => hasJob && name === `${kind}.target`));
    },
    softReboots: async (signal) => {
      try {
        return z.uint32().safeParse(await bus.getProperty({ ...manager, name: 'SoftRebootsCount' }, signal)).data;
      } catch (error) {
        if (error instanceof BusCallError) return undefined;
        throw error;
      }
    },
    unitProperty: async (unit, kind, name, signal) => {
      try {
        const [place] = await bus.call({ ...manager, member: 'LoadUnit', signature: 's', body: [unit] }, signal);
        const at = { destination: SERVICE.destination, path: String(place) };
        return await bus.getProperty({ ...at, interface: `org.freedesktop.systemd1.${kind}`, name }, signal);
      } catch (error) {
        if (error instanceof BusCallError) return undefined;
        throw error;
      }
    },
    services: async (patterns, timeoutMs, signal) => {
      const list = { ...manager, member: 'ListUnitsByPatterns', signature: 'asas', body: [[], patterns], timeoutMs };
      const [rows] = parseAnswer(UNIT_ROWS, list.member, await bus.call(list, signal));
      const views: KubeletService[] = [];
      for (const [unit, , , , , , place] of rows.slice(0, MAX_SERVICES)) {
        const of = {
          destination: SERVICE.destination,
          path: String(place),
          interface: 'org.freedesktop.DBus.Properties',
        };
        const read = async (name: string): Promise<unknown> => {
          const body = ['org.freedesktop.systemd1.Service', name];
          return (await bus.call({ ...of, member: 'Get', signature: 'ss', body, timeoutMs }, signal))[0];
        };
        const mainPid =
          z
            .int()
            .min(0)
            .safeParse(await read('MainPID')).data ?? 0;
        const controlGroup = z.string().safeParse(await read('ControlGroup')).data ?? '';
        if (mainPid !== 0 || controlGroup !== '') views.push({ unit: String(unit), mainPid, controlGroup });
      }
      return views;
    },
    unitActiveState: async (name, signal) => (await readUnit(name, signal)).activeState,
    goDown: async (kind, signal) => {
      const body = [`${kind}.target`, 'replace-irreversibly'];
      await bus.call({ ...manager, member: 'StartUnit', signature: 'ss', body }, signal);
    },
    startUnit: bringUp('StartUnit'),
    restartUnit: bringUp('RestartUnit'),
    stopUnit: async (name, signal) => {
      if ((await readUnit(name, signal)).activeState === 'inactive') return;
      await bus.call({ ...manager, member: 'StopUnit', signature: 'ss', body: [name, 'replace'] }, signal);
      await settle(name, ENDED, signal);
    },
    endUnit: async (name, signal) => {
      const hasEnded = ({ activeState }: UnitView): boolean => ENDED.includes(activeState);
      for (const [number, withinMs] of [
        [SIGTERM, TERM_MS],
        [SIGKILL, JOB_TIMEOUT_MS],
      ] as const) {
        if (hasEnded(await readUnit(name, signal))) return;
        await bus.call({ ...manager, member: 'KillUnit', signature: 'ssi', body: [name, 'main', number] }, signal);
        const { holds, activeState } = await watchUnit(name, hasEnded, withinMs, signal);
        if (holds) return;
        if (number === SIGKILL) refuse(name, activeState, ENDED);
      }
    },
  };
}

/**
 * Tells systemd this unit's state, for example `{READY: '1', STATUS: '…'}`, through systemd-notify, because Node.js has no
 * datagram sockets in the file system. Does nothing outside of a unit; a failure is not an error.
 */
export async function notifySystemd(state: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
  if ((process.env['NOTIFY_SOCKET'] ?? '') === '') return;
  // A line break would begin another assignment.
  const assignments = Object.entries(state).map(([key, value]) => `${key}=${value.replaceAll(/[\r\n]+/g, ' ')}`);
  try {
    await promisify(execFile)('systemd-notify', assignments, { signal, timeout: NOTIFY_TIMEOUT_MS });
  } catch {
    signal.throwIfAborted();
  }
}
