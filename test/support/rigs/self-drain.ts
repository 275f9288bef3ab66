import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { type Program } from '../../control-plane/process.ts';
import { startNode, type TestNode } from '../../node/node.ts';
import { daemonSet, staticPod } from '../../node/pods.ts';
import { type ApiProxy, startApiProxy } from '../stand-ins/api-proxy.ts';
import { startInstalledCluster } from '../commands/installed-cluster.ts';
import { readAgentStatus, runNodemaint, startNodemaint } from '../commands/nodemaint.ts';
import { makeTestFolder } from '../folder.ts';
import { SLOW, waitFor } from '../wait-for.ts';
import { keysOfNode, writeAgentFiles } from '../agent/files.ts';

export const NODE = `own-drain-${process.pid}`;
export const STOP_SEC = 2;

export interface OwnDrainRig {
  readonly folder: string;
  readonly controlPlane: ControlPlane;
  readonly node: TestNode;
  readonly agentProxy: ApiProxy;
  readonly controllerProxy: ApiProxy;
  readonly configFile: string;
  readonly runDirectory: string;
  readonly bootIdPath: string;
  readonly witness: string;
}

async function apply(controlPlane: ControlPlane, ...objects: readonly object[]): Promise<void> {
  for (const object of objects) await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
}

async function runningPods(controlPlane: ControlPlane): Promise<number> {
  const text = await controlPlane.kubectl(['get', 'pods', '-A', '-o', 'json']);
  const { items } = JSON.parse(text) as { items: { status: { phase: string } }[] };
  return items.filter(({ status }) => status.phase === 'Running').length;
}

/** A control plane without a controller, a node with a DaemonSet pod, two static ones and `pods`, and an agent's configuration. */
export async function buildOwnDrainRig(
  stack: AsyncDisposableStack,
  makePods: (witness: string) => readonly object[],
  count: number,
): Promise<OwnDrainRig> {
  const signal = AbortSignal.timeout(300_000);
  const folder = await makeTestFolder('own-drain');
  stack.defer(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const { controlPlane, controllerKubeconfig } = stack.use(await startInstalledCluster({}, signal));
  const controllerProxy = stack.use(await startApiProxy(controlPlane, controllerKubeconfig));
  const node = stack.use(await startNode(controlPlane, NODE, signal));
  const agentProxy = stack.use(await startApiProxy(controlPlane, node.kubeconfig));
  const witness = path.join(folder, 'witness');
  await mkdir(witness);
  await writeFile(path.join(witness, 'log'), '');
  const shape = { stopSec: STOP_SEC, witness };
  await apply(controlPlane, daemonSet('logger', shape), ...makePods(witness));
  const high = staticPod('high', { ...shape, priorityClassName: 'system-node-critical' });
  await writeFile(path.join(node.staticPodPath, 'low.yaml'), JSON.stringify(staticPod('low', shape)));
  await writeFile(path.join(node.staticPodPath, 'high.yaml'), JSON.stringify(high));
  await waitFor('all pods run', async () => (await runningPods(controlPlane)) === count + 3, SLOW);
  const files = await writeAgentFiles(folder, {
    ...keysOfNode(node),
    nodeName: NODE,
    kubeconfig: agentProxy.kubeconfig,
  });
  return { folder, controlPlane, node, agentProxy, controllerProxy, ...files, witness };
}

export async function startAgent(stack: AsyncDisposableStack, rig: OwnDrainRig): Promise<Program> {
  const agent = stack.use(startNodemaint(['agent', '--config', rig.configFile], path.join(rig.folder, 'agent.log')));
  await waitFor('the agent answers', async () => (await readAgentStatus(rig.runDirectory)).node === NODE, {
    ...SLOW,
    program: agent,
  });
  return agent;
}

export function startController(stack: AsyncDisposableStack, rig: OwnDrainRig): Program {
  const log = path.join(rig.folder, 'controller.log');
  return stack.use(startNodemaint(['controller', '--kubeconfig', rig.controllerProxy.kubeconfig], log));
}

/** Announces a shutdown to the agent; `flags` may have a deadline. */
export async function trigger(rig: OwnDrainRig, ...flags: readonly string[]): Promise<void> {
  const own = ['--reason', 'kernel update', '--run-directory', rig.runDirectory];
  const { code } = await runNodemaint(['trigger', ...own, ...flags]);
  assert.equal(code, 0);
}

export async function phaseIs(rig: OwnDrainRig, kind: string): Promise<boolean> {
  return (await readAgentStatus(rig.runDirectory)).phase.kind === kind;
}

export async function lines(rig: OwnDrainRig): Promise<readonly string[]> {
  return (await readFile(path.join(rig.witness, 'log'), 'utf8')).trim().split('\n').filter(Boolean);
}

export async function seen(rig: OwnDrainRig, line: string, times = 1): Promise<void> {
  await waitFor(
    `"${line}" is seen ${times} times`,
    async () => {
      return (await lines(rig)).filter((each) => each === line).length >= times;
    },
    SLOW,
  );
}

export async function maintenance(rig: OwnDrainRig): Promise<NodeMaintenance | undefined> {
  const text = await rig.controlPlane.kubectl(['get', 'nm', '-o', 'json']);
  return (JSON.parse(text) as { items: NodeMaintenance[] }).items[0];
}
