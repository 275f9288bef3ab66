/** The picture of a report: a real shutdown with a pod that a budget keeps, on a node with all its real parts. */
import { setTimeout as delay } from 'node:timers/promises';
import { runNodemaint } from '../support/commands/nodemaint.ts';
import { type NodeLoad, startWholeNode, untilPhase } from '../support/rigs/whole-node.ts';

const LOAD: NodeLoad = {
  deployments: { web: { stopSec: 4 }, api: { stopSec: 9 }, queue: { stopSec: 14 }, db: { stopSec: 5 } },
  daemonSets: { 'log-shipper': { stopSec: 3 } },
  staticPods: {
    'registry-cache': { stopSec: 3 },
    'kube-vip': { stopSec: 2, priorityClassName: 'system-node-critical' },
  },
  blocked: 'db',
};
/** How long the budget keeps its pod; then a person deletes it. */
const BLOCKED_MS = 25_000;
const DOWN_MS = 12_000;

/** The picture of a shutdown, as `nodemaint report -o svg` draws it. */
export async function shutdownPicture(signal: AbortSignal): Promise<string> {
  await using node = await startWholeNode('worker-3', LOAD, signal);
  await node.logind.reboot();
  await delay(BLOCKED_MS, undefined, { signal });
  await node.unblock();
  await untilPhase(node, 'released');
  // The machine goes down and comes back.
  await delay(DOWN_MS, undefined, { signal });
  await node.boot();
  await untilPhase(node, 'watching');
  const { stdout, stderr, code } = await runNodemaint(['report', '-o', 'svg', '--config', node.files.configFile]);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}
