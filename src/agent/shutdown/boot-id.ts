/**
 * What tells one boot from the next. A soft-reboot ends everything but the kernel, so it is a boot too, although the
 * kernel's boot id stays: it is counted by systemd from 256 on, else by a mark that the agent leaves in /run, which both
 * outlive it (systemd-soft-reboot.service(8)).
 */
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describeError, errorCodeOf, NodemaintError } from '../../errors.ts';
import { replaceFile } from '../../host/files/durable-file.ts';
import type { StateFiles } from '../../host/files/state-files.ts';
import type { Systemd } from '../../host/systemd/manager.ts';

interface BootPaths {
  /** The kernel's boot id. */
  readonly bootIdPath: string;
  readonly runDirectory: string;
}

function countPath(runDirectory: string): string {
  return path.join(runDirectory, 'soft-reboots');
}

async function readCount(runDirectory: string): Promise<number> {
  const text = await readFile(countPath(runDirectory), 'utf8').catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT') return '';
    // Taken for none it would be the id of another boot, and what this boot's drain took away would come back.
    throw error;
  });
  return /^\d{1,6}$/.test(text.trim()) ? Number(text) : 0;
}

async function writeCount(runDirectory: string, count: number): Promise<void> {
  await mkdir(runDirectory, { recursive: true, mode: 0o755 });
  await replaceFile(countPath(runDirectory), `${count}\n`, 0o644);
}

/** The identity of this boot as it is known on disk. Throws CONFIG_INVALID where the kernel's id cannot be read. */
export async function readBootId({ bootIdPath, runDirectory }: BootPaths): Promise<string> {
  try {
    const id = (await readFile(bootIdPath, 'utf8')).trim();
    // All boots would be the same one.
    if (id === '') throw new Error('it is empty');
    const count = await readCount(runDirectory);
    return count === 0 ? id : `${id}+${count}`;
  } catch (error) {
    const message = `cannot read the boot id ${bootIdPath}: ${describeError(error)} (key "bootIdPath")`;
    throw new NodemaintError('CONFIG_INVALID', message, { cause: error });
  }
}

/** The kernel's part of it, as the kubelet tells it of the Node. */
export function kernelBootIdOf(bootId: string): string {
  return bootId.replace(/\+\d+$/, '');
}

/** Takes systemd's count of soft-reboots over. Where systemd cannot be asked, the last one that is known counts. */
export async function learnSoftReboots(systemd: Systemd, runDirectory: string, signal: AbortSignal): Promise<void> {
  const count = await systemd.softReboots(signal).catch(() => undefined);
  signal.throwIfAborted();
  if (count !== undefined && count !== (await readCount(runDirectory))) await writeCount(runDirectory, count);
}

/** Leaves the mark at the end of an agent, where a soft-reboot is what ends it and systemd does not count them. */
export async function markSoftReboot(systemd: Systemd, runDirectory: string, signal: AbortSignal): Promise<void> {
  try {
    if ((await systemd.queuedShutdown(signal)) !== 'soft-reboot') return;
    if ((await systemd.softReboots(signal)) === undefined)
      await writeCount(runDirectory, (await readCount(runDirectory)) + 1);
  } catch {
    // Without the mark the shutdown counts as called off a minute later, and everything comes back all the same.
    signal.throwIfAborted();
  }
}

/** The file of the state directory that stays behind where nobody ended the agent: `reboot -ff`, a crash, the power. */
const MARK = 'running';

/** Marks that an agent runs in this boot; returns whether one still did when an earlier boot ended. */
export async function markRunning(state: StateFiles, bootId: string): Promise<boolean> {
  const found = ((await state.read(MARK)) ?? '').trim();
  if (found === bootId) return false;
  await state.write(MARK, `${bootId}\n`);
  return found !== '';
}

/** Takes the mark away: the agent was told to end. */
export async function unmarkRunning(state: StateFiles): Promise<void> {
  await state.remove(MARK);
}
