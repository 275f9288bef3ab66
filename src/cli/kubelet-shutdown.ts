/** `nodemaint disable-kubelet-shutdown`: switches the kubelet's own graceful shutdown off, and back on. */
import { appendFile, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import {
  judgeKubeletShutdown,
  KUBELET_DROP_IN,
  KUBELET_DROP_IN_TEXT,
  type KubeletShutdown,
} from '../decide/kubelet-graceful-shutdown.ts';
import { NodemaintError } from '../errors.ts';
import { replaceFile } from '../host/durable-file.ts';
import { EXIT } from './cluster-flags.ts';
import type { Terminal } from './program.ts';
import { openLocalNode } from './static-pods.ts';

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

/**
 * Writes the drop-in, which counts from the kubelet's next start. Returns the exit code: 1 where it has to be done by hand.
 * Throws CONFIG_INVALID; USAGE where no kubelet runs.
 */
export async function kubeletShutdownCommand(flags: KubeletShutdownFlags, terminal: Terminal): Promise<number> {
  const { config, find } = await openLocalNode(flags.config, terminal);
  const kubelet = await find(terminal.stop);
  if (kubelet === undefined) throw new NodemaintError('USAGE', 'no kubelet of this node runs; start it first');
  const { dropInDirectory } = kubelet;
  const file = path.join(dropInDirectory ?? '/', KUBELET_DROP_IN);
  if (flags.undo === true) {
    if (dropInDirectory !== undefined) await rm(file, { force: true });
    return EXIT.done;
  }
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
  await keepOrder(found, flags, config.drainPlan.length > 0, terminal);
  await mkdir(dropInDirectory, { recursive: true });
  await replaceFile(file, KUBELET_DROP_IN_TEXT, 0o644);
  terminal.write(`Wrote ${file}; it counts when the kubelet is started anew: systemctl restart kubelet\n`);
  return EXIT.done;
}
