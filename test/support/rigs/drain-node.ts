/** A node with one pod of each kind, a controller, and agents that are started and killed, on a real control plane and kubelet. */
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import type { Program } from '../../control-plane/process.ts';
import { startNode, type TestNode } from '../../node/node.ts';
import { daemonSet, deployment, staticPod } from '../../node/pods.ts';
import { keysOfNode, writeAgentFiles } from '../agent/files.ts';
import { startInstalledCluster } from '../commands/installed-cluster.ts';
import { readAgentStatus, startNodemaint } from '../commands/nodemaint.ts';
import { makeTestFolder } from '../folder.ts';
import { SLOW, waitFor } from '../wait-for.ts';

export const NODE = `drain-${process.pid}`;
/** What the kubelet says of the Node as well. */
export const KERNEL_BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** What differs from a cluster and a node as they are usually. */
export interface DrainNodeOptions {
  /** How long each pod takes to end. */
  readonly stopSec: number;
  /** More keys of the agent's configuration. */
  readonly agent?: object;
}

/** The node and what belongs to it. */
export interface DrainNode {
  readonly folder: string;
  readonly controlPlane: ControlPlane;
  readonly node: TestNode;
  readonly configFile: string;
  readonly runDirectory: string;
  readonly bootIdPath: string;
  /** The folder in which the pods write when they are told to end, and when they have ended. */
  readonly witness: string;
}

/** A control plane with the controller's rights, a node with one pod of each kind, and an agent's configuration. */
export async function buildDrainNode(
  stack: AsyncDisposableStack,
  { stopSec, agent = {} }: DrainNodeOptions,
): Promise<DrainNode> {
  const signal = AbortSignal.timeout(300_000);
  const folder = await makeTestFolder('drain');
  stack.defer(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const { controlPlane, controllerKubeconfig: controllerConfig } = stack.use(await startInstalledCluster({}, signal));
  const node = stack.use(await startNode(controlPlane, NODE, signal));
  const witness = path.join(folder, 'witness');
  await mkdir(witness);
  await writeFile(path.join(witness, 'log'), '');
  for (const object of [deployment('web', { stopSec, witness }), daemonSet('logger', { stopSec, witness })]) {
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  }
  const low = staticPod('low', { stopSec, witness });
  const high = staticPod('high', { stopSec, witness, priorityClassName: 'system-node-critical' });
  await writeFile(path.join(node.staticPodPath, 'low.yaml'), JSON.stringify(low));
  await writeFile(path.join(node.staticPodPath, 'high.yaml'), JSON.stringify(high, null, 1));
  await waitFor('all four pods run', async () => (await runningPods(controlPlane)).length === 4, SLOW);

  stack.use(startNodemaint(['controller', '--kubeconfig', controllerConfig], path.join(folder, 'controller.log')));
  const files = await writeAgentFiles(folder, { ...keysOfNode(node), ...agent });
  await writeFile(files.bootIdPath, await readFile(KERNEL_BOOT_ID));
  return { folder, controlPlane, node, ...files, witness };
}

export async function runningPods(controlPlane: ControlPlane): Promise<readonly string[]> {
  const text = await controlPlane.kubectl(['get', 'pods', '-A', '-o', 'json']);
  const { items } = JSON.parse(text) as { items: { metadata: { name: string }; status: { phase: string } }[] };
  return items.filter(({ status }) => status.phase === 'Running').map(({ metadata }) => metadata.name);
}

export async function startAgent(stack: AsyncDisposableStack, rig: DrainNode): Promise<Program> {
  const agent = stack.use(startNodemaint(['agent', '--config', rig.configFile], path.join(rig.folder, 'agent.log')));
  await waitFor('the agent answers', async () => (await readAgentStatus(rig.runDirectory)).node === NODE, {
    ...SLOW,
    program: agent,
  });
  return agent;
}

export async function phaseIs(rig: DrainNode, kind: string): Promise<boolean> {
  return (await readAgentStatus(rig.runDirectory)).phase.kind === kind;
}

export async function maintenances(controlPlane: ControlPlane): Promise<readonly NodeMaintenance[]> {
  const text = await controlPlane.kubectl(['get', 'nm', '-o', 'json']);
  return (JSON.parse(text) as { items: NodeMaintenance[] }).items;
}

/** Reboots without a machine: what runs on the node ends, and the boot id changes. */
export async function reboot(rig: DrainNode, agent: Program): Promise<void> {
  await agent.stop();
  await writeFile(rig.bootIdPath, 'boot-2');
}

const ORDER = ['web', 'logger', 'low', 'high'];

export async function assertOrder(rig: DrainNode): Promise<void> {
  const lines = (await readFile(path.join(rig.witness, 'log'), 'utf8')).trim().split('\n');
  assert.deepEqual(
    lines,
    ORDER.flatMap((name) => [`${name} TERM`, `${name} END`]),
  );
}

export async function assertRestored(rig: DrainNode, before: Readonly<Record<string, string>>): Promise<void> {
  const { controlPlane, node } = rig;
  await waitFor(
    'the maintenance is completed',
    async () => {
      const [maintenance] = await maintenances(controlPlane);
      const stages = maintenance?.status?.stageStatuses?.map(({ name }) => name).join(' ');
      return maintenance?.spec.stage === 'Complete' && stages === 'Drain Complete';
    },
    SLOW,
  );
  await waitFor('all pods run again', async () => (await runningPods(controlPlane)).length === 4, SLOW);
  const spec = await controlPlane.kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}']);
  assert.equal(spec, '', 'the node is uncordoned');
  assert.deepEqual(await manifestsOf(node), before, 'the manifests are back, byte for byte');
}

export async function manifestsOf(node: TestNode): Promise<Record<string, string>> {
  const names = await readdir(node.staticPodPath);
  const pairs = names.map(async (name) => [name, await readFile(path.join(node.staticPodPath, name), 'utf8')] as const);
  return Object.fromEntries(await Promise.all(pairs));
}
