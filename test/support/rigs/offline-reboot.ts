/** A node with pods of all kinds, a logind that is shut down, and the agent, which ends its pods over the container runtime. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { type ContainerRuntime, createContainerRuntime } from '../../../src/host/cri/runtime.ts';
import type { Program } from '../../control-plane/process.ts';
import { holdLockFor, type Logind, startLogind } from '../../logind/rig.ts';
import { type CgroupRoot, makeCgroupRoot } from '../../node/containerd.ts';
import { daemonSet, type PodShape, podSpec } from '../../node/pods.ts';
import { type AgentFiles, keysOfNode, writeAgentFiles } from '../agent/files.ts';
import { readAgentStatus } from '../commands/nodemaint.ts';
import { type ApiProxy, startApiProxy } from '../stand-ins/api-proxy.ts';
import { type SocketProxy, startSocketProxy } from '../stand-ins/socket-proxy.ts';
import { SLOW, waitFor } from '../wait-for.ts';
import {
  addStaticPods,
  apply,
  type PodNode,
  runningPods,
  startAgent,
  startController,
  startPodNode,
} from './pod-node.ts';

const NODE = `local-drain-${process.pid}`;
/** Low to high by what only the API server tells of the pods, DaemonSets after all others, static pods last. */
export const ORDER = ['web', 'vip', 'logger', 'low', 'high'];

export interface OfflineRig extends PodNode, AgentFiles {
  /** Between the agent and the API server. */
  readonly api: ApiProxy;
  /** With the control groups of its pods. */
  readonly podGroups: CgroupRoot;
  readonly runtime: ContainerRuntime;
  /** Between the agent and containerd; the kubelet and this test reach it without. */
  readonly proxy: SocketProxy;
  readonly logind: Logind;
}

/** A pod of its own: a scheduler that was cut off as well may put a replacement on the node before it sees the cordon. */
export function barePod(name: string, shape: PodShape): object {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec: podSpec(name, shape) };
}

/**
 * A node with five pods on a control plane without a controller, and a logind beside which systemd has its kubelet. All of them
 * end as `all` says.
 */
export async function buildRig(
  stack: AsyncDisposableStack,
  loggerSec: number,
  keys: object = {},
  all: PodShape = {},
): Promise<OfflineRig> {
  const signal = AbortSignal.timeout(270_000);
  const podGroups = stack.use(await makeCgroupRoot(`local-drain-${crypto.randomUUID()}`));
  const podNode = await startPodNode(stack, NODE, podGroups.name);
  const { folder, controlPlane, node, witness } = podNode;
  const api = stack.use(await startApiProxy(controlPlane, node.kubeconfig));
  const shape = { stopSec: 2, witness, ...all };
  const web = barePod('web', { witness, stopSec: 4, ...all });
  const vip = barePod('vip', { stopSec: 3, witness, priorityClassName: 'system-cluster-critical', ...all });
  await apply(podNode, [web, vip, daemonSet('logger', { witness, stopSec: loggerSec, graceSec: 60, ...all })]);
  await addStaticPods(podNode, shape, ORDER.length);

  const logind = stack.use(await startLogind({ inhibitDelayMaxSec: 600 }, signal));
  const kubelet = { active: true, start: () => node.startKubelet({ untilReady: false }), stop: node.stopKubelet };
  logind.standIn.units.set('kubelet.service', kubelet);
  const runtime = createContainerRuntime(node.runtimeEndpoint);
  stack.defer(() => {
    runtime.close();
  });
  const proxySocket = path.join(folder, 'proxy.sock');
  const proxy = stack.use(await startSocketProxy(proxySocket, node.criSocket));
  const files = await writeAgentFiles(folder, {
    ...keysOfNode(node),
    nodeName: NODE,
    kubeconfig: api.kubeconfig,
    containerRuntimeEndpoint: `unix://${proxySocket}`,
    lock: 'unit',
    apiWaitSec: 3,
    kubeletUnit: 'kubelet.service',
    ...keys,
  });
  holdLockFor(logind, files.runDirectory);
  return { ...podNode, api, podGroups, runtime, proxy, logind, ...files };
}

/** Starts the agent, and waits until it holds its lock and has noted as many pods as the API server knows. */
export async function startHolding(
  stack: AsyncDisposableStack,
  rig: OfflineRig,
  known = ORDER.length,
): Promise<Program> {
  const agent = await startAgent(stack, rig, { DBUS_SYSTEM_BUS_ADDRESS: rig.logind.address });
  const isHeld = async (): Promise<boolean> => (await readAgentStatus(rig.runDirectory)).lock.held;
  await waitFor('the agent holds its lock', isHeld, { ...SLOW, program: agent });
  const file = path.join(rig.folder, 'state', 'pods.json');
  const knowsPods = async (): Promise<boolean> => {
    const { pods } = JSON.parse(await readFile(file, 'utf8')) as { pods: unknown[] };
    return pods.length === known;
  };
  await waitFor('the agent has noted the priorities of the pods', knowsPods, { ...SLOW, program: agent });
  return agent;
}

/** Starts a controller and an agent that drains with it, lets `fault` happen, and asks for a reboot; the phase is told as JSON. */
export async function askForReboot(
  stack: AsyncDisposableStack,
  rig: OfflineRig,
  fault?: () => Promise<unknown>,
): Promise<(timeoutMs: number) => Promise<{ readonly phase: string; readonly tookSec: number }>> {
  startController(stack, rig.folder, rig.controllerKubeconfig);
  const program = await startHolding(stack, rig, (await runningPods(rig.controlPlane)).length);
  const read = () => readAgentStatus(rig.runDirectory);
  await waitFor('the agent has heard the API server', async () => (await read()).cluster.heardAt !== undefined, SLOW);
  await fault?.();
  const began = Date.now();
  await rig.logind.reboot();
  return async (timeoutMs) => {
    const isReleased = async (): Promise<boolean> => (await read()).phase.kind === 'released';
    await waitFor('the machine is released', isReleased, { timeoutMs, program });
    return { phase: JSON.stringify((await read()).phase), tookSec: (Date.now() - began) / 1000 };
  };
}
