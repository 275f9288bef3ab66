/**
 * Makes the picture of the documentation from a real shutdown, with a pod that a budget keeps, on a node with all its real
 * parts: `npm run pictures`, as root, in a minute. Look at it before you commit it.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runNodemaint } from '../support/commands/nodemaint.ts';
import { type NodeLoad, startWholeNode, untilPhase } from '../support/rigs/whole-node.ts';

const PICTURE = path.join(import.meta.dirname, '..', '..', 'docs', 'pictures', 'report.svg');
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
const LIMIT_MS = 600_000;

const signal = AbortSignal.timeout(LIMIT_MS);
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
await writeFile(PICTURE, stdout);
