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
import { type LocalNode, openLocalNode } from '../local-node.ts';

export interface KubeletShutdownFlags {
  readonly config: string;
  /** Take the drop-in away again. */
  readonly undo?: boolean;
}

/** The kubelet's order goes into the agent's drain plan, where that has none yet. */
async function keepOrder(
  found: Extract<KubeletShutdown, { kind: 'on' }>,
  flags: KubeletShutdownFlags,
  hasPlan: boolean,
  terminal: Terminal,
): Promise<void> {
  if (found.plan.length === 0) return;
  const text = stringify({ drainPlan: found.plan });
  if (hasPlan) {
    terminal.write(`${flags.config} has a drainPlan already; that of the kubelet would be:\n${text}`);
    return;
  }
  await appendFile(flags.config, text);
  terminal.write(`The kubelet's order is now the drainPlan in ${flags.config}.\n`);
}

/** Where it is written down which file was made, for a time at which no kubelet runs to be asked. */
function notePath(stateDirectory: string): string {
  return path.join(stateDirectory, 'kubelet-drop-in');
}

/** The drop-in that is written down; undefined where none is, and for a name that this program never gives one. */
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

/** Takes the drop-in away: the one that is written down, else that of the kubelet that runs. */
async function undo({ config, find }: Pick<LocalNode, 'config' | 'find'>, terminal: Terminal): Promise<number> {
  const noted = await notedDropIn(config.stateDirectory);
  const kubelet = noted === undefined ? await find(terminal.stop) : undefined;
  if (noted === undefined && kubelet === undefined) {
    const message =
      'no kubelet of this node runs, and no drop-in of nodemaint is written down; start the kubelet first';
    throw new NodemaintError('USAGE', message);
  }
  const directory = kubelet?.dropInDirectory;
  const file = noted ?? (directory === undefined ? undefined : path.join(directory, KUBELET_DROP_IN));
  const isThere = file !== undefined && (await unlinkIfThere(file));
  await rm(notePath(config.stateDirectory), { force: true });
  if (!isThere) {
    terminal.write('There is no drop-in of nodemaint for the kubelet.\n');
    return EXIT.done;
  }
  await syncDirectory(path.dirname(file));
  terminal.write(`Removed ${file}; it counts when the kubelet is started anew: systemctl restart kubelet\n`);
  return EXIT.done;
}

/**
 * Writes the drop-in, which counts from the kubelet's next start. Returns the exit code: 1 where it has to be done by hand.
 * Throws CONFIG_INVALID; PATH_NOT_TRUSTED where somebody else may write to the kubelet's folder of drop-ins; USAGE where no kubelet runs and it has to be asked.
 */
export async function kubeletShutdownCommand(flags: KubeletShutdownFlags, terminal: Terminal): Promise<number> {
  const node = await openLocalNode(flags.config, terminal);
  if (flags.undo === true) return await undo(node, terminal);
  const { config, find } = node;
  const kubelet = await find(terminal.stop);
  if (kubelet === undefined) throw new NodemaintError('USAGE', 'no kubelet of this node runs; start it first');
  const { dropInDirectory } = kubelet;
  const found = judgeKubeletShutdown(kubelet);
  if (found.kind === 'off') {
    terminal.write("The kubelet's own graceful shutdown is off.\n");
    return EXIT.done;
  }
  if (dropInDirectory === undefined) {
    terminal.warn(
      `nodemaint: the kubelet has no --config-dir; in ${kubelet.configFile ?? 'its configuration'} set shutdownGracePeriod and shutdownGracePeriodCriticalPods to 0s, take shutdownGracePeriodByPodPriority out, and restart it\n`,
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
  terminal.write(`Wrote ${file}; it counts when the kubelet is started anew: systemctl restart kubelet\n`);
  return EXIT.done;
}
