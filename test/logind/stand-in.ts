/**
 * A stand-in for process 1 on a private bus. logind never switches a machine off by itself: it asks systemd to start a
 * target. This one writes that down and does nothing, except for the unit that holds the lock, which it really runs.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import type { Message, MessageBus } from 'dbus-next';

const MANAGER = 'org.freedesktop.systemd1.Manager';
const HOLDER_UNIT = 'nodemaint-inhibitor.service';
const UNIT_FILE = new URL(`../../systemd/system/${HOLDER_UNIT}`, import.meta.url);
const LOCK_HOLDER = new URL('../../systemd/libexec/lock-holder', import.meta.url);

/** A target that somebody asked to start; `at` in milliseconds since the epoch. */
export interface StartedTarget {
  readonly unit: string;
  readonly at: number;
}

/** A unit that a test brings along. */
export interface StandInUnit {
  active: boolean;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface StandIn {
  readonly started: readonly StartedTarget[];
  systemState: string;
  /** Whether the unit that holds the lock is installed. */
  holderInstalled: boolean;
  /** Other units that it really starts and stops, by their names. */
  readonly units: Map<string, StandInUnit>;
  /** Environment of the unit that holds the lock. */
  holderEnvironment: NodeJS.ProcessEnv;
  /** Answers on this bus from now on, in place of an earlier one. */
  serve(bus: MessageBus): Promise<void>;
  /** Ends the job of the target that was started last, as if the shutdown had failed. */
  finishJob(): void;
  stop(): void;
}

/** The command of the unit file, with the script of this repository. */
async function holderCommand(): Promise<readonly string[]> {
  const text = await readFile(UNIT_FILE, 'utf8');
  const line = /^ExecStart=(.*)$/m.exec(text)?.[1] ?? '';
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
  return words.map((word) => (word === '/usr/lib/nodemaint/lock-holder' ? LOCK_HOLDER.pathname : word));
}

export async function createStandIn(): Promise<StandIn> {
  const { Message, MessageFlag, Variant } = await import('dbus-next');
  const [program = '', ...words] = await holderCommand();
  const started: StartedTarget[] = [];
  let bus: MessageBus | undefined;
  let holder: ChildProcess | undefined;
  let stopping = false;
  let job = 0;

  const holderState = (): string => {
    if (holder?.exitCode !== null || holder.signalCode !== null) return 'inactive';
    return stopping ? 'deactivating' : 'active';
  };
  const startHolder = (): void => {
    if (holderState() === 'active') return;
    stopping = false;
    // A group of its own, so that stopping ends all of it, as systemd does with a unit's control group.
    holder = spawn(program, words, {
      env: { ...process.env, ...standIn.holderEnvironment },
      detached: true,
      stdio: 'ignore',
    });
  };
  const stopHolder = (): void => {
    if (holderState() !== 'active' || holder?.pid === undefined) return;
    stopping = true;
    process.kill(-holder.pid, 'SIGTERM');
  };
  const units = new Map<string, StandInUnit>();
  const moving = new Set<string>();
  const moveUnit = (name: string, unit: StandInUnit, active: boolean): void => {
    moving.add(name);
    (active ? unit.start() : unit.stop())
      .then(() => (unit.active = active))
      .catch(() => undefined)
      .finally(() => moving.delete(name));
  };
  const property = (name: string): string => {
    if (name === 'LoadState') return 'loaded';
    return name === 'SystemState' ? standIn.systemState : 'inactive';
  };
  const unitRow = (name: string): unknown[] => {
    const queued = ['shutdown.target', started.at(-1)?.unit];
    const shuttingDown = queued.includes(name) && standIn.systemState === 'stopping';
    const own = units.get(name)?.active === true ? 'active' : 'inactive';
    const state = name === HOLDER_UNIT ? holderState() : own;
    return [name, '', 'loaded', state, 'dead', '', '/unit', shuttingDown || moving.has(name) ? 1 : 0, '', '/'];
  };
  const reply = (call: Message): Message | undefined => {
    const [first, second] = call.body as [unknown, unknown];
    switch (call.member) {
      case 'Subscribe':
        return Message.newMethodReturn(call);
      case 'Get':
        return Message.newMethodReturn(call, 'v', [new Variant('s', property(String(second)))]);
      case 'ListUnitsByNames':
        return Message.newMethodReturn(call, 'a(ssssssouso)', [(first as string[]).map(unitRow)]);
      case 'ListUnitsByPatterns':
        // It has no processes of theirs.
        return Message.newMethodReturn(call, 'a(ssssssouso)', [[]]);
      case 'KillUnit': {
        const killed = units.get(String(first));
        if (killed !== undefined) moveUnit(String(first), killed, false);
        return Message.newMethodReturn(call);
      }
      case 'RestartUnit':
      case 'StartUnit':
      case 'StopUnit': {
        const unit = String(first);
        if (unit === HOLDER_UNIT && !standIn.holderInstalled) {
          // The library's types take the call for a string.
          return Message.newError(call as never, 'org.freedesktop.systemd1.NoSuchUnit', `Unit ${unit} not found.`);
        }
        const brought = units.get(unit);
        if (brought !== undefined) {
          // A stop waits then for that of the agent's unit, which it does not know.
          if (standIn.systemState === 'running') moveUnit(unit, brought, call.member !== 'StopUnit');
        } else if (unit === HOLDER_UNIT) (call.member === 'StartUnit' ? startHolder : stopHolder)();
        else if (!unit.startsWith('user')) {
          started.push({ unit, at: Date.now() });
          standIn.systemState = 'stopping';
        }
        job += 1;
        return Message.newMethodReturn(call, 'o', [`/org/freedesktop/systemd1/job/${job}`]);
      }
      default:
        return undefined;
    }
  };

  const standIn: StandIn = {
    started,
    systemState: 'running',
    holderInstalled: true,
    units,
    holderEnvironment: {},
    serve: async (fresh) => {
      bus = fresh;
      fresh.addMethodHandler((call: Message) => {
        const answer = reply(call);
        const wanted = ((call.flags as number) & (MessageFlag.NO_REPLY_EXPECTED as number)) === 0;
        if (answer !== undefined && wanted) fresh.send(answer);
        return answer !== undefined;
      });
      await fresh.requestName('org.freedesktop.systemd1', 0);
    },
    finishJob: () => {
      standIn.systemState = 'running';
      const unit = started.at(-1)?.unit ?? '';
      const body = [job, `/org/freedesktop/systemd1/job/${job}`, unit, 'failed'];
      bus?.send(Message.newSignal('/org/freedesktop/systemd1', MANAGER, 'JobRemoved', 'uoss', body));
    },
    stop: stopHolder,
  };
  return standIn;
}
