/**
 * A real service manager for units of a test: systemd as the manager of a user, with a bus of its own. Jobs, their order
 * and what a shutdown does to them are those of process 1; `exit.target` is its way down. Needs root.
 */
import { access, mkdir, mkdtemp, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { childOf, startProgram, waitUntil } from '../control-plane/process.ts';

const START = new URL('start-manager.sh', import.meta.url).pathname;
const CONTROL_GROUPS = '/sys/fs/cgroup';
const READY_MS = 20_000;
const GONE_MS = 5_000;

/** A running manager. */
export interface ServiceManager extends AsyncDisposable {
  /** The address of its bus, for DBUS_SYSTEM_BUS_ADDRESS: there it is org.freedesktop.systemd1. */
  readonly address: string;
  /** The folder of its units. */
  readonly folder: string;
}

async function succeeds(attempt: Promise<void>): Promise<boolean> {
  return await attempt.then(
    () => true,
    () => false,
  );
}

async function exists(place: string): Promise<boolean> {
  return await succeeds(access(place));
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

/** The control groups in which this process is, in the hierarchies where systemd keeps its units: one, or two (hybrid). */
async function ownControlGroups(): Promise<readonly string[]> {
  const lines = (await readFile('/proc/self/cgroup', 'utf8')).trim().split('\n');
  const unified = (await exists(`${CONTROL_GROUPS}/unified`)) ? 'unified' : '';
  const roots = new Map([
    ['', unified],
    ['name=systemd', 'systemd'],
  ]);
  return lines.flatMap((line) => {
    const [, controllers = '', own = '/'] = line.split(':');
    const root = roots.get(controllers);
    return root === undefined ? [] : [path.join(CONTROL_GROUPS, root, own)];
  });
}

/** Takes a control group away with all below it, which are empty. */
async function removeControlGroup(group: string): Promise<void> {
  for (const entry of await readdir(group, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeControlGroup(path.join(group, entry.name));
  }
  await rmdir(group);
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
  // It moves all processes of the control group in which it begins, so that has to be its own.
  const groups = (await ownControlGroups()).map((own) => path.join(own, path.basename(folder)));
  for (const group of groups) {
    await mkdir(group);
    stack.defer(async () => {
      const isGone = (): Promise<boolean> => succeeds(removeControlGroup(group));
      await waitUntil('the control group is empty', isGone, { timeoutMs: GONE_MS }, AbortSignal.timeout(GONE_MS));
    });
  }
  const unshare = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--'] as const;
  const program = startProgram([...unshare, START, folder, ...groups], path.join(folder, 'log'));
  stack.defer(async () => {
    // The end of the first process ends all others; unshare, which ignores SIGTERM, waits for that.
    const first = childOf(program.pid);
    if (first !== undefined) process.kill(first, 'SIGKILL');
    await program.stop();
  });
  await waitUntil('systemd has a bus', () => exists(socket), { timeoutMs: READY_MS, program }, signal);
  const owned = stack.move();
  return { address: `unix:path=${socket}`, folder, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
