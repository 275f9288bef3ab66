import assert from 'node:assert/strict';
import process from 'node:process';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { daemonSet } from '../../node/pods.ts';
import { type AgentFiles, keysOfNode, writeAgentFiles } from '../agent/files.ts';
import { runNodemaint } from '../commands/nodemaint.ts';
import { type ApiProxy, startApiProxy } from '../stand-ins/api-proxy.ts';
import { SLOW, waitFor } from '../wait-for.ts';
import { addStaticPods, apply, lines, type PodNode, startPodNode } from './pod-node.ts';

export const NODE = `own-drain-${process.pid}`;
export const STOP_SEC = 2;

export interface OwnDrainRig extends PodNode, AgentFiles {
  readonly agentProxy: ApiProxy;
  readonly controllerProxy: ApiProxy;
}

/** A control plane without a controller, a node with a DaemonSet pod, two static ones and `pods`, and an agent's configuration. */
export async function buildOwnDrainRig(
  stack: AsyncDisposableStack,
  makePods: (witness: string) => readonly object[],
  count: number,
): Promise<OwnDrainRig> {
  const podNode = await startPodNode(stack, NODE);
  const { folder, controlPlane, controllerKubeconfig, node, witness } = podNode;
  const controllerProxy = stack.use(await startApiProxy(controlPlane, controllerKubeconfig));
  const agentProxy = stack.use(await startApiProxy(controlPlane, node.kubeconfig));
  const shape = { stopSec: STOP_SEC, witness };
  await apply(podNode, [daemonSet('logger', shape), ...makePods(witness)]);
  await addStaticPods(podNode, shape, count + 3);
  const keys = { ...keysOfNode(node), nodeName: NODE, kubeconfig: agentProxy.kubeconfig };
  return { ...podNode, agentProxy, controllerProxy, ...(await writeAgentFiles(folder, keys)) };
}

/** Announces a shutdown to the agent; `flags` may have a deadline. */
export async function trigger(rig: OwnDrainRig, ...flags: readonly string[]): Promise<void> {
  const own = ['--reason', 'kernel update', '--run-directory', rig.runDirectory];
  const { code } = await runNodemaint(['trigger', ...own, ...flags]);
  assert.equal(code, 0);
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
