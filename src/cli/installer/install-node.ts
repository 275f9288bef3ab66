/**
 * `nodemaint install-node`, in the pod of the installer: runs install.sh on the machine itself, as a unit of its systemd. The
 * pod has the machine's bus, the folder of its transient units, and a folder of its own there; nothing else of the machine.
 */
import { copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { INSTALL_UNIT, installUnit } from '../../decide/machine/install-unit.ts';
import { NodemaintError } from '../../errors.ts';
import { createSystemClock } from '../../host/clock.ts';
import { createSystemBus } from '../../host/dbus/bus.ts';
import { runOneShot, untilAtRest } from '../../host/systemd/one-shot.ts';
import { SILENT_LOG } from '../machine/local-node.ts';
import { escaped } from '../../printable.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** install.sh ends with this code where it is no time to change anything. */
const BUSY = 75;
const RETRY_MS = 30_000;
const MAX_LOG = 64 * 1024;

/** The flags of the command. */
export interface InstallNodeFlags {
  /** The folder with install.sh, dist/ and systemd/. */
  readonly kit: string;
  /** A folder that is at the same path on the machine. */
  readonly work: string;
  /** The machine's folder of transient units. */
  readonly units: string;
  /** A drop-in of the configuration for the machine; without such a file the machine keeps the one that it has. */
  readonly dropIn: string;
}

/** Copies the kit, with the Node.js of this process, to where the machine sees it. */
async function copyKit(kit: string, target: string): Promise<void> {
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true, mode: 0o700 });
  for (const name of ['install.sh', 'dist', 'systemd']) {
    await cp(path.join(kit, name), path.join(target, name), { recursive: true });
  }
  await cp(process.execPath, path.join(target, 'node'));
}

/** The arguments of install.sh that give it the drop-in, which lies beside it then. */
async function dropInArguments(dropIn: string, target: string): Promise<readonly string[]> {
  const copy = path.join(target, 'drop-in.yaml');
  try {
    await copyFile(dropIn, copy);
    return ['--drop-in', copy];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Runs install.sh with these arguments, and tries again every 30 s while it says that the machine is busy. Throws
 * INSTALL_FAILED if install.sh fails, which has then changed nothing or has gone back; DBUS_UNAVAILABLE without a bus.
 */
export async function installNodeCommand(
  args: readonly string[],
  { kit, work, units, dropIn }: InstallNodeFlags,
  terminal: Terminal,
): Promise<void> {
  const clock = createSystemClock();
  const lifetime = new AbortController();
  const signal = AbortSignal.any([terminal.stop, terminal.signal]);
  const bus = createSystemBus({ log: SILENT_LOG, clock }, AbortSignal.any([signal, lifetime.signal]));
  const [copy, said, unit] = [path.join(work, 'kit'), path.join(work, 'log'), path.join(units, INSTALL_UNIT)];
  try {
    // An installation of an earlier pod may still run, from the same folder.
    await untilAtRest(bus, INSTALL_UNIT, signal);
    await copyKit(kit, copy);
    const all = [...args, ...(await dropInArguments(dropIn, copy))];
    await writeFile(unit, installUnit(path.join(copy, 'install.sh'), all, said));
    for (;;) {
      await rm(said, { force: true });
      const code = await runOneShot(bus, INSTALL_UNIT, signal);
      const text = await readFile(said, 'utf8').catch(() => '');
      terminal.write(escaped(text.slice(-MAX_LOG)));
      if (code === 0) break;
      if (code !== BUSY) throw failed(code, args);
      await clock.sleep(RETRY_MS, signal);
    }
    // After an error the files stay, because the unit may still run; the next run replaces them.
    for (const each of [unit, said, copy]) await rm(each, { recursive: true, force: true });
  } finally {
    lifetime.abort();
  }
}

function failed(code: number, args: readonly string[]): NodemaintError {
  const fix = 'see what it printed, and on the node: journalctl -u nodemaint';
  return new NodemaintError('INSTALL_FAILED', `install.sh ${args.join(' ')} ended with ${code}; ${fix}`);
}
