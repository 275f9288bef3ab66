/** What the rigs of whole drains have in common: a real control plane with the manifests, a real node, and pods that are witnesses. */
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Program } from '../../control-plane/process.ts';
import { startNode, type TestNode } from '../../node/node.ts';
import { type PodShape, staticPod } from '../../node/pods.ts';
import type { AgentFiles } from '../agent/files.ts';
import { type InstalledCluster, startInstalledCluster } from '../commands/installed-cluster.ts';
import { readAgentStatus, startNodemaint } from '../commands/nodemaint.ts';
import { makeTestFolder } from '../folder.ts';
import { SLOW, waitFor } from '../wait-for.ts';

export interface PodNode extends InstalledCluster {
  readonly folder: string;
  readonly node: TestNode;
  /** The folder in which the pods write when they are told to end, and when they have ended. */
  readonly witness: string;
}

/** Starts them, with no controller and no agent. */
export async function startPodNode(stack: AsyncDisposableStack, name: string, cgroupRoot?: string): Promise<PodNode> {
  const signal = AbortSignal.timeout(300_000);
  const folder = await makeTestFolder('pod-node');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const { controlPlane, controllerKubeconfig } = stack.use(await startInstalledCluster({}, signal));
  const node = stack.use(await startNode(controlPlane, name, signal, cgroupRoot));
  const witness = path.join(folder, 'witness');
  await mkdir(witness);
  await writeFile(path.join(witness, 'log'), '');
  return { folder, controlPlane, controllerKubeconfig, node, witness };
}

export async function apply(
  { controlPlane }: Pick<PodNode, 'controlPlane'>,
  objects: readonly object[],
): Promise<void> {
  for (const object of objects) await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
}

/** Gives the node the static pods `low` and `high`, and waits until so many pods run. */
export async function addStaticPods({ controlPlane, node }: PodNode, shape: PodShape, count: number): Promise<void> {
  const high = staticPod('high', { ...shape, priorityClassName: 'system-node-critical' });
  for (const [name, pod] of Object.entries({ low: staticPod('low', shape), high }))
    await writeFile(path.join(node.staticPodPath, `${name}.yaml`), JSON.stringify(pod));
  await waitFor('all pods run', async () => (await runningPods(controlPlane)).length === count, SLOW);
}

export async function runningPods({ kubectl }: PodNode['controlPlane']): Promise<readonly string[]> {
  const { items } = JSON.parse(await kubectl(['get', 'pods', '-A', '-o', 'json'])) as {
    items: { metadata: { name: string }; status: { phase: string } }[];
  };
  return items.filter(({ status }) => status.phase === 'Running').map(({ metadata }) => metadata.name);
}

export function startController(stack: AsyncDisposableStack, folder: string, kubeconfig: string): Program {
  return stack.use(startNodemaint(['controller', '--kubeconfig', kubeconfig], path.join(folder, 'controller.log')));
}

/** Starts the agent of such a rig, and waits until it answers. */
export async function startAgent(
  stack: AsyncDisposableStack,
  { folder, configFile, runDirectory, node }: PodNode & AgentFiles,
  environment?: NodeJS.ProcessEnv,
): Promise<Program> {
  const log = path.join(folder, 'agent.log');
  const agent = stack.use(startNodemaint(['agent', '--config', configFile], log, environment));
  const answers = async (): Promise<boolean> => (await readAgentStatus(runDirectory)).node === node.name;
  await waitFor('the agent answers', answers, { ...SLOW, program: agent });
  return agent;
}

/** Whether the agent is in this phase, and drains in this mode where one is named. */
export async function phaseIs(
  { runDirectory }: Pick<AgentFiles, 'runDirectory'>,
  kind: string,
  mode?: string,
): Promise<boolean> {
  const { phase } = await readAgentStatus(runDirectory);
  return phase.kind === kind && (mode === undefined || ('mode' in phase && phase.mode === mode));
}

/** What the pods have told. */
export async function lines({ witness }: Pick<PodNode, 'witness'>): Promise<readonly string[]> {
  return (await readFile(path.join(witness, 'log'), 'utf8')).trim().split('\n').filter(Boolean);
}

export async function assertOrder(rig: Pick<PodNode, 'witness'>, order: readonly string[]): Promise<void> {
  assert.deepEqual(
    await lines(rig),
    order.flatMap((name) => [`${name} TERM`, `${name} END`]),
  );
}
