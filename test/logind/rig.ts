/**
 * A real systemd-logind on a private dbus-daemon, in a mount namespace with a /run of its own, beside a stand-in for
 * process 1. Needs root. It cannot switch the machine off: logind runs without CAP_SYS_BOOT and does not start otherwise,
 * and what it would ask systemd to do, the stand-in only writes down.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import type { MessageBus } from 'dbus-next';
import { createStandIn, type StandIn, type StartedTarget } from './stand-in.ts';
import { makeTestFolder } from '../support/folder.ts';

const NAMESPACE = new URL('namespace.sh', import.meta.url).pathname;
const START_LOGIND = new URL('start-logind.sh', import.meta.url).pathname;
const READY_MS = 60_000;
const LOOK_MS = 10;

/** A running logind. */
export interface Logind extends AsyncDisposable {
  /** For DBUS_SYSTEM_BUS_ADDRESS: all that talks to this logind needs, systemd-inhibit included. */
  readonly address: string;
  /** Where this logind keeps a scheduled shutdown, as seen from outside its mount namespace. */
  readonly scheduledFile: string;
  readonly standIn: StandIn;
  readonly dbusPid: () => number;
  readonly logindPid: () => number;
  /** Asks logind for a shutdown, as `systemctl poweroff` does; resolves when it has agreed. */
  powerOff(): Promise<void>;
  reboot(): Promise<void>;
  /** Calls any other method of logind's manager. */
  call(
    member: string,
    signature: string,
    body: readonly unknown[],
    destination?: 'login1' | 'systemd1',
  ): Promise<readonly unknown[]>;
  /** What logind asked systemd to start. */
  startedTargets(): readonly StartedTarget[];
  /** Ends logind and leaves its name on the bus without an owner, as systemd 257 may after a restart of D-Bus. */
  stopLogind(): Promise<void>;
  restartLogind(killedBy: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Kills the bus and starts it anew at the same address, and logind with it. */
  restartDbus(): Promise<void>;
}

interface Running {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
}

/** Starts a program that ends with this process, however that ends. */
function run(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  log: (text: string) => void,
): Running {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...words], {
    env: { ...process.env, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      log(`${path.basename(words.at(-1) ?? '')}: ${chunk.toString()}`);
    });
  }
  return { child, exited };
}

async function end(running: Running | undefined, killedBy: NodeJS.Signals): Promise<void> {
  if (running === undefined || running.child.exitCode !== null || running.child.signalCode !== null) return;
  running.child.kill(killedBy);
  await running.exited;
}

/** Tries until it succeeds; rejects with its last error when that takes too long. */
async function eventually<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const until = Date.now() + READY_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > until) throw error;
    }
    await delay(LOOK_MS, undefined, { signal });
  }
}

/** Starts bus, stand-in and logind, in about 0.2 s. `inhibitDelayMaxSec` is logind's InhibitDelayMaxSec. */
export async function startLogind(
  { inhibitDelayMaxSec }: { readonly inhibitDelayMaxSec: number },
  signal: AbortSignal,
): Promise<Logind> {
  const { Message, sessionBus } = await import('dbus-next');
  const folder = await makeTestFolder('logind');
  const socket = path.join(folder, 'bus');
  const address = `unix:path=${socket}`;
  const environment = { DBUS_SYSTEM_BUS_ADDRESS: address };
  const output: string[] = [];
  const log = (text: string): void => {
    output.push(text);
    if (process.env['RIG_VERBOSE'] !== undefined) process.stderr.write(text);
  };
  const dropIn = path.join(folder, 'logind.conf');
  await writeFile(
    dropIn,
    `[Login]\nInhibitDelayMaxSec=${inhibitDelayMaxSec}\nNAutoVTs=0\nReserveVT=0\nHandlePowerKey=ignore\n`,
  );
  const busConfig = path.join(folder, 'bus.conf');
  await writeFile(
    busConfig,
    `<busconfig><type>system</type><listen>${address}</listen><auth>EXTERNAL</auth><policy context="default">
<allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/></policy></busconfig>`,
  );
  const standIn = await createStandIn();
  standIn.holderEnvironment = environment;

  let bus: MessageBus | undefined;
  let daemon: Running | undefined;
  let logind: Running | undefined;
  const namespace = run(
    ['unshare', '--mount', '--propagation', 'private', NAMESPACE, dropIn, path.join(folder, 'calls')],
    environment,
    log,
  );

  const invoke = async (member: string, signature: string, body: readonly unknown[], destination = 'login1') => {
    const name = `org.freedesktop.${destination}`;
    const call = new Message({
      destination: name,
      path: `/${name.replaceAll('.', '/')}`,
      interface: destination === 'DBus' ? name : `${name}.Manager`,
      member,
      signature,
      body: [...body],
    });
    return ((await bus?.call(call))?.body ?? []) as readonly unknown[];
  };
  const startBus = async (): Promise<void> => {
    daemon = run(['dbus-daemon', '--nofork', '--nopidfile', '--nosyslog', `--config-file=${busConfig}`], {}, log);
    bus = await eventually(async () => {
      const fresh = sessionBus({ busAddress: address });
      await once(fresh, 'connect');
      return fresh;
    }, signal);
    bus.on('error', () => undefined);
    await standIn.serve(bus);
  };
  const startLogindItself = async (): Promise<void> => {
    // Without --root it would see the root of the whole machine where the tests run in a chroot.
    const inside = ['nsenter', `--target=${namespace.child.pid}`, '--mount', '--root', '--'];
    const harmless = ['setpriv', '--bounding-set=-sys_boot', '--inh-caps=-sys_boot', '--'];
    logind = run([...inside, ...harmless, START_LOGIND], environment, log);
    const refused = logind.exited.then(() => Promise.reject(new Error(`logind ended: ${output.join('')}`)));
    // After the start its end is no error.
    refused.catch(() => undefined);
    await Promise.race([
      refused,
      eventually(() => invoke('GetNameOwner', 's', ['org.freedesktop.login1'], 'DBus'), signal),
    ]);
  };
  const dispose = async (): Promise<void> => {
    standIn.stop();
    await end(logind, 'SIGKILL');
    bus?.disconnect();
    await end(daemon, 'SIGKILL');
    await end(namespace, 'SIGKILL');
    await rm(folder, { recursive: true, force: true });
  };

  try {
    await eventually(
      () => (output.join('').includes('ready') ? Promise.resolve() : Promise.reject(new Error(output.join('')))),
      signal,
    );
    await startBus();
    await startLogindItself();
  } catch (error) {
    await dispose();
    throw error;
  }

  return {
    address,
    dbusPid: () => daemon?.child.pid ?? 0,
    logindPid: () => logind?.child.pid ?? 0,
    scheduledFile: `/proc/${namespace.child.pid}/root/run/systemd/shutdown/scheduled`,
    standIn,
    powerOff: async () => {
      await invoke('PowerOff', 'b', [false]);
    },
    reboot: async () => {
      await invoke('Reboot', 'b', [false]);
    },
    call: invoke,
    startedTargets: () => standIn.started,
    stopLogind: async () => {
      await end(logind, 'SIGTERM');
    },
    restartLogind: async (killedBy) => {
      await end(logind, killedBy);
      await startLogindItself();
    },
    restartDbus: async () => {
      await end(daemon, 'SIGKILL');
      await end(logind, 'SIGKILL');
      await startBus();
      await startLogindItself();
    },
    [Symbol.asyncDispose]: dispose,
  };
}

/** The capability sets of a process; for tests that check the rig itself. */
export async function capabilitiesOf(pid: number): Promise<ReadonlyMap<string, bigint>> {
  const lines = (await readFile(`/proc/${pid}/status`, 'utf8')).split('\n');
  const sets = lines.filter((line) => line.startsWith('Cap')).map((line) => line.split(/:\s*/));
  return new Map(sets.map(([name = '', value = '0']) => [name, BigInt(`0x${value}`)]));
}

/** Has the unit that holds the lock look for the heartbeat of an agent with this run directory. */
export function holdLockFor({ standIn }: Logind, runDirectory: string): void {
  standIn.holderEnvironment = { ...standIn.holderEnvironment, NODEMAINT_ALIVE_FILE: path.join(runDirectory, 'alive') };
}
