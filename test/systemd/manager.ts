/**
 * A real service manager for units of a test: systemd as the manager of a user, with a bus of its own. Jobs, their order
 * and what a shutdown does to them are those of process 1; `exit.target` is its way down. Needs root.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { childOf, startProgram } from '../control-plane/process.ts';
import { makeControlGroups } from './control-groups.ts';
import { waitFor } from '../support/wait-for.ts';

const START = new URL('start-manager.sh', import.meta.url).pathname;
const READY_MS = 90_000;

/** A running manager. */
export interface ServiceManager extends AsyncDisposable {
  /** The address of its bus, for DBUS_SYSTEM_BUS_ADDRESS: there it is org.freedesktop.systemd1. */
  readonly address: string;
  /** The folder of its units. */
  readonly folder: string;
  /** The command that runs another one among its processes. */
  enter(): readonly [string, ...string[]];
}

function busUnits(socket: string): Readonly<Record<string, string>> {
  return {
    'dbus.socket': `[Socket]\nListenStream=${socket}\n`,
    'dbus.service': `[Unit]
Requires=dbus.socket
[Service]
ExecStart=/usr/bin/dbus-daemon --session --address=systemd: --nofork --nopidfile --systemd-activation
`,
    'default.target': '[Unit]\nRequires=basic.target dbus.service\nAfter=basic.target dbus.service\nAllowIsolate=yes\n',
  };
}

/** Starts a manager with these units, by their names. */
export async function startManager(
  units: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ServiceManager> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-systemd-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const socket = path.join(folder, 'bus');
  for (const [name, text] of Object.entries({ ...busUnits(socket), ...units })) {
    await writeFile(path.join(folder, name), text);
  }
  const groups = await makeControlGroups(path.basename(folder), stack);
  const unshare = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--'] as const;
  const program = startProgram([...unshare, START, folder, ...groups], path.join(folder, 'log'));
  stack.defer(async () => {
    // The end of the first process ends all others; unshare, which ignores SIGTERM, waits for that.
    const first = childOf(program.pid);
    if (first !== undefined) process.kill(first, 'SIGKILL');
    await program.stop();
  });
  await waitFor('systemd has a bus', () => existsSync(socket), { timeoutMs: READY_MS, program, signal });
  const owned = stack.move();
  const enter = (): readonly [string, ...string[]] => [
    'nsenter',
    `--target=${childOf(program.pid) ?? 0}`,
    '--mount',
    // Without it the command would see the root of the whole machine where the tests run in a chroot.
    '--root',
    '--pid',
    '--',
  ];
  return { address: `unix:path=${socket}`, folder, enter, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
