/** `nodemaint disable-kubelet-shutdown`: switches the kubelet's own graceful shutdown off, and back on. */
import { appendFile, mkdir, readFile, rm, unlink } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import {
  judgeKubeletShutdown,
  KUBELET_DROP_IN,
  KUBELET_DROP_IN_TEXT,
  type KubeletShutdown,
} from '../../decide/machine/kubelet-graceful-shutdown.ts';
import { errorCodeOf, NodemaintError } from '../../errors.ts';
import { replaceFile, syncDirectory } from '../../host/files/durable-file.ts';
import { requireTrustedPath } from '../../host/files/trusted-path.ts';
import { EXIT } from '../terminal/exit-code.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { type LocalNode, openLocalNode } from '../machine/local-node.ts';

export interface KubeletShutdownFlags {
  readonly config: string;
  /** Removes the drop-in again. */
  readonly undo?: boolean;
}

/** Copies the kubelet's order into the agent's drain plan, unless the configuration already has one. */
async function keepOrder(
  found: Extract<KubeletShutdown, { kind: 'on' }>,
  flags: KubeletShutdownFlags,
  hasPlan: boolean,
  terminal: Terminal,
): Promise<void> {
  if (found.plan.length === 0) return;
  const text = stringify({ drainPlan: found.plan });
  if (hasPlan) {
    terminal.write(`${flags.config} already has a drainPlan; the one of the kubelet would be:\n${text}`);
    return;
  }
  await appendFile(flags.config, text);
  terminal.write(`The kubelet's order is now the drainPlan in ${flags.config}.\n`);
}

/** The file that records the path of the drop-in, for `--undo` while no kubelet runs. */
function notePath(stateDirectory: string): string {
  return path.join(stateDirectory, 'kubelet-drop-in');
}

/** The recorded drop-in; undefined where none is recorded, or its name is not the one that this program uses. */
async function notedDropIn(stateDirectory: string): Promise<string | undefined> {
  const text = (await readFile(notePath(stateDirectory), 'utf8').catch(() => '')).trim();
  return path.isAbsolute(text) && path.basename(text) === KUBELET_DROP_IN ? text : undefined;
}

/** Removes a file; returns whether it was there. */
async function unlinkIfThere(file: string): Promise<boolean> {
  try {
    await unlink(file);
    return true;
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT' || errorCodeOf(error) === 'ENOTDIR') return false;
    throw error;
  }
}

/** Removes the drop-in: the recorded one, else the one of the running kubelet. */
async function undo({ config, find }: Pick<LocalNode, 'config' | 'find'>, terminal: Terminal): Promise<number> {
  const noted = await notedDropIn(config.stateDirectory);
  const kubelet = noted === undefined ? await find(terminal.stop) : undefined;
  if (noted === undefined && kubelet === undefined) {
    const message =
      'no kubelet of this node is running, and no drop-in of nodemaint is recorded; start the kubelet first';
    throw new NodemaintError('USAGE', message);
  }
  const directory = kubelet?.dropInDirectory;
  const file = noted ?? (directory === undefined ? undefined : path.join(directory, KUBELET_DROP_IN));
  const isThere = file !== undefined && (await unlinkIfThere(file));
  await rm(notePath(config.stateDirectory), { force: true });
  if (!isThere) {
    terminal.write('The kubelet has no drop-in of nodemaint.\n');
    return EXIT.done;
  }
  await syncDirectory(path.dirname(file));
  terminal.write(`Removed ${file}. It takes effect when the kubelet restarts: systemctl restart kubelet\n`);
  return EXIT.done;
}

/**
 * Writes the drop-in, which takes effect when the kubelet restarts. Returns the exit code: 1 where a person has to change the
 * kubelet's configuration. Throws CONFIG_INVALID; PATH_NOT_TRUSTED where another user may write to the kubelet's drop-in
 * directory; USAGE where no kubelet is running.
 */
export async function kubeletShutdownCommand(flags: KubeletShutdownFlags, terminal: Terminal): Promise<number> {
  const node = await openLocalNode(flags.config, terminal);
  if (flags.undo === true) return await undo(node, terminal);
  const { config, find } = node;
  const kubelet = await find(terminal.stop);
  if (kubelet === undefined) throw new NodemaintError('USAGE', 'no kubelet of this node is running; start it first');
  const { dropInDirectory } = kubelet;
  const found = judgeKubeletShutdown(kubelet);
  if (found.kind === 'off') {
    terminal.write("The kubelet's own graceful shutdown is off.\n");
    return EXIT.done;
  }
  if (dropInDirectory === undefined) {
    terminal.warn(
      `nodemaint: the kubelet has no --config-dir; in ${kubelet.configFile ?? 'its configuration'} set shutdownGracePeriod and shutdownGracePeriodCriticalPods to 0s, remove shutdownGracePeriodByPodPriority, and restart it\n`,
    );
    return EXIT.failed;
  }
  await requireTrustedPath(dropInDirectory, { kind: 'directory', lastLink: 'follow' });
  await keepOrder(found, flags, config.drainPlan.length > 0, terminal);
  const file = path.join(dropInDirectory, KUBELET_DROP_IN);
  await mkdir(config.stateDirectory, { recursive: true, mode: 0o700 });
  await replaceFile(notePath(config.stateDirectory), `${file}\n`, 0o600);
  await mkdir(dropInDirectory, { recursive: true });
  await replaceFile(file, KUBELET_DROP_IN_TEXT, 0o644);
  terminal.write(`Wrote ${file}. It takes effect when the kubelet restarts: systemctl restart kubelet\n`);
  return EXIT.done;
}
