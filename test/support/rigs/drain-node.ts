/** A node with one pod of each kind, a controller, and agents that are started and killed, on a real control plane and kubelet. */
import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import type { Program } from '../../control-plane/process.ts';
import type { TestNode } from '../../node/node.ts';
import { daemonSet, deployment } from '../../node/pods.ts';
import { type AgentFiles, keysOfNode, writeAgentFiles } from '../agent/files.ts';
import { SLOW, waitFor } from '../wait-for.ts';
import { addStaticPods, apply, type PodNode, runningPods, startController, startPodNode } from './pod-node.ts';

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

export type DrainNode = PodNode & AgentFiles;

/** A control plane with the controller's rights, a node with one pod of each kind, and an agent's configuration. */
export async function buildDrainNode(
  stack: AsyncDisposableStack,
  { stopSec, agent = {} }: DrainNodeOptions,
): Promise<DrainNode> {
  const podNode = await startPodNode(stack, NODE);
  const shape = { stopSec, witness: podNode.witness };
  await apply(podNode, [deployment('web', shape), daemonSet('logger', shape)]);
  await addStaticPods(podNode, shape, ORDER.length);
  startController(stack, podNode.folder, podNode.controllerKubeconfig);
  const files = await writeAgentFiles(podNode.folder, { ...keysOfNode(podNode.node), ...agent });
  await writeFile(files.bootIdPath, await readFile(KERNEL_BOOT_ID));
  return { ...podNode, ...files };
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

export const ORDER = ['web', 'logger', 'low', 'high'];

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
