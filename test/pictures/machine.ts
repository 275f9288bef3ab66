/** The picture of a report: a reboot of a real machine, a node of a real cluster, with a pod that a budget keeps. */
import { setTimeout as delay } from 'node:timers/promises';
import { startClusterNode } from '../e2e/machine/cluster-node.ts';
import { AGENT_WATCHES } from '../e2e/machine/install.ts';
import { waitOnMachine, witnessed } from '../e2e/machine/witness.ts';
import { deployment } from '../node/pods.ts';

const LOGGER_SEC = 6;
/** How long the budget keeps its pod; then a person deletes the budget. */
const BLOCKED_MS = 30_000;
const DRAIN_MS = 120_000;
const REBOOT_MS = 420_000;
const BACK_MS = 240_000;
const BUDGET = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'db', namespace: 'default' },
  spec: { minAvailable: 1, selector: { matchLabels: { app: 'db' } } },
};

/** The picture of a shutdown of a machine, as `nodemaint report -o svg` draws it there. */
export async function machinePicture(): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const { controlPlane, machine } = await startClusterNode(stack, LOGGER_SEC);
  const objects = [BUDGET, deployment('db', { stopSec: 5 }), deployment('api', { stopSec: 12 })];
  for (const object of objects) await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  for (const name of ['db', 'api']) {
    await controlPlane.kubectl(['rollout', 'status', `deployment/${name}`, '--timeout=300s']);
  }
  const bootId = await machine.bootId();
  await machine.must('systemctl reboot');
  await witnessed(machine, 'web TERM', DRAIN_MS);
  await delay(BLOCKED_MS);
  await controlPlane.kubectl(['delete', 'poddisruptionbudget', 'db']);
  await machine.waitForReboot(bootId, REBOOT_MS);
  await machine.waitForSsh();
  await waitOnMachine(machine, AGENT_WATCHES, BACK_MS);
  // A busy host makes an emulated machine slow.
  return await machine.must('nodemaint report -o svg', { timeoutMs: BACK_MS });
}
