/** A machine that is a node of a cluster whose control plane runs on the host, with pods of every tier on it. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { daemonSet, deployment } from '../../node/pods.ts';
import { installManifests, startNodemaint } from '../../support/commands/nodemaint.ts';
import { machineImage } from './image.ts';
import { AGENT_WATCHES, installAgent } from './install.ts';
import { API_ADDRESS, API_PORT, joinNode } from './kube-node.ts';
import { bootMachine, type Machine } from './machine.ts';
import { MANIFESTS, writeStaticPods } from './standalone-node.ts';
import { startWitness, WITNESS, waitOnMachine, witnessedIn } from './witness.ts';
import { waitFor } from '../../support/wait-for.ts';

const NODE = 'node-a';
/** In which they leave. */
const ORDER = ['web', 'logger', 'low', 'high'];

export interface ClusterNode {
  readonly controlPlane: ControlPlane;
  readonly machine: Machine;
  /** What MANIFESTS printed at first. */
  readonly manifests: string;
}

/** A line of a test's log, with its time. */
export function say(text: string): void {
  console.log(`${new Date().toISOString()} ${text}`);
}

async function runningPods(controlPlane: ControlPlane): Promise<readonly string[]> {
  const { items } = JSON.parse(await controlPlane.kubectl(['get', 'pods', '-A', '-o', 'json'])) as {
    items: { metadata: { name: string }; status: { phase: string; containerStatuses?: { ready: boolean }[] } }[];
  };
  const running = items.filter(
    ({ status }) => status.phase === 'Running' && status.containerStatuses?.[0]?.ready === true,
  );
  return running.map(({ metadata }) => metadata.name);
}

/** Waits until all four pods run. */
export async function allRunning(controlPlane: ControlPlane): Promise<void> {
  const four = async (): Promise<boolean> => (await runningPods(controlPlane)).length === ORDER.length;
  await waitFor('all four pods run', four, { timeoutMs: 480_000 }).catch(async (error: unknown) => {
    say(await controlPlane.kubectl(['get', 'pods', '-A', '-o', 'wide']));
    throw error;
  });
}

/** Puts it all up; the DaemonSet's pod takes `loggerSec` to end, the others 4 s. Resolves when everything runs. */
export async function startClusterNode(stack: AsyncDisposableStack, loggerSec: number): Promise<ClusterNode> {
  const signal = AbortSignal.timeout(2_900_000);
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-e2e-'));
  stack.defer(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const image = await machineImage(signal);
  const controlPlane = stack.use(await startControlPlane({ extraSans: [API_ADDRESS] }, signal));
  const controllerConfig = await installManifests(controlPlane);
  say('control plane up');
  const forward = { guest: `${API_ADDRESS}:${API_PORT}`, hostPort: controlPlane.port };
  const machine = stack.use(await bootMachine(image, { forwards: [forward] }, signal));
  say('machine up');
  await joinNode(machine, controlPlane, NODE);
  say('node ready');
  await startWitness(machine);
  for (const object of [
    deployment('web', { stopSec: 4, witness: WITNESS }),
    daemonSet('logger', { stopSec: loggerSec, graceSec: loggerSec + 30, witness: WITNESS }),
  ]) {
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  }
  stack.use(startNodemaint(['controller', '--kubeconfig', controllerConfig], path.join(folder, 'controller.log')));
  await writeStaticPods(machine, 4);
  const manifests = await machine.must(MANIFESTS);
  await installAgent(machine);
  await waitOnMachine(machine, AGENT_WATCHES, 480_000);
  await allRunning(controlPlane);
  return { controlPlane, machine, manifests };
}

/** What the journal of the boot before this one says, in order: who ended when, and when the machine went down. */
export async function journalOfShutdown(machine: Machine): Promise<readonly string[]> {
  const text = await machine.must('journalctl -b -1 -o short-iso-precise --no-pager', { timeoutMs: 120_000 });
  const told =
    /witness\[|node\[|nodemaint|System is rebooting|systemd\[1\]: (Reached target .*shutdown|Stopp\w+ kubelet)/;
  return text.split('\n').filter((line) => told.test(line));
}

/** Asserts that each pod ended before the next was told to, and the machine went down last. */
export function assertOrder(journal: readonly string[]): void {
  assert.deepEqual(
    witnessedIn(journal),
    ORDER.flatMap((name) => [`${name} TERM`, `${name} END`]),
  );
  const lastEnd = journal.findIndex((line) => line.endsWith(': high END'));
  const down = journal.findIndex((line) => /System is rebooting|Reached target .*shutdown/.test(line));
  assert.ok(down > lastEnd, `the last pod ended at line ${lastEnd}, the machine goes down at ${down}`);
}

/**
 * Waits until the maintenance is completed and everything runs again, and asserts that nothing was left or changed.
 * `madeMaintenance` is false where the whole shutdown went by without an API server.
 */
export async function assertBack(
  { controlPlane, machine, manifests }: ClusterNode,
  madeMaintenance = true,
): Promise<void> {
  const completed = async (): Promise<boolean> => {
    const { items } = JSON.parse(await controlPlane.kubectl(['get', 'nm', '-o', 'json'])) as {
      items: NodeMaintenance[];
    };
    const isDone = ({ spec, status }: NodeMaintenance): boolean =>
      spec.stage === 'Complete' && status?.stageStatuses?.some(({ name }) => name === 'Complete') === true;
    return (items.length > 0 || !madeMaintenance) && items.every(isDone);
  };
  // First, for what the API server says of a node that is just booting is what it last heard.
  await waitOnMachine(machine, AGENT_WATCHES, 480_000);
  await waitFor('the maintenance is completed', completed, { timeoutMs: 360_000 });
  await allRunning(controlPlane);
  assert.equal(await machine.must(MANIFESTS), manifests);
  const cordoned = await controlPlane.kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}']);
  assert.equal(cordoned, '');
  const again = (await machine.must('journalctl -b -o short --no-pager')).split('\n');
  assert.deepEqual(witnessedIn(again), [], 'no pod that has come back is taken away again');
}
