/** A node with pods of all kinds, a logind that is shut down, and the agent, which ends its pods over the container runtime. */
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { type ContainerRuntime, createContainerRuntime } from '../../../src/host/cri/runtime.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import type { Program } from '../../control-plane/process.ts';
import { holdLockFor, type Logind, startLogind } from '../../logind/rig.ts';
import { type CgroupRoot, makeCgroupRoot } from '../../node/containerd.ts';
import { startNode, type TestNode } from '../../node/node.ts';
import { daemonSet, type PodShape, podSpec, staticPod } from '../../node/pods.ts';
import { keysOfNode, writeAgentFiles } from '../agent/files.ts';
import { startInstalledCluster } from '../commands/installed-cluster.ts';
import { readAgentStatus, startNodemaint } from '../commands/nodemaint.ts';
import { makeTestFolder } from '../folder.ts';
import { type ApiProxy, startApiProxy } from '../stand-ins/api-proxy.ts';
import { type SocketProxy, startSocketProxy } from '../stand-ins/socket-proxy.ts';
import { SLOW, waitFor } from '../wait-for.ts';

const NODE = `local-drain-${process.pid}`;
/** Low to high by what only the API server tells of the pods, DaemonSets after all others, static pods last. */
export const ORDER = ['web', 'vip', 'logger', 'low', 'high'];

export interface OfflineRig {
  readonly folder: string;
  readonly controlPlane: ControlPlane;
  readonly controllerKubeconfig: string;
  /** Between the agent and the API server. */
  readonly api: ApiProxy;
  readonly node: TestNode;
  /** With the control groups of its pods. */
  readonly podGroups: CgroupRoot;
  readonly runtime: ContainerRuntime;
  /** Between the agent and containerd; the kubelet and this test reach it without. */
  readonly proxy: SocketProxy;
  readonly logind: Logind;
  readonly configFile: string;
  readonly runDirectory: string;
  readonly bootIdPath: string;
  readonly witness: string;
}

export async function runningPods(controlPlane: ControlPlane): Promise<number> {
  const text = await controlPlane.kubectl(['get', 'pods', '-A', '-o', 'json']);
  const { items } = JSON.parse(text) as { items: { status: { phase: string } }[] };
  return items.filter(({ status }) => status.phase === 'Running').length;
}

/** A pod of its own: a scheduler that was cut off as well may put a replacement on the node before it sees the cordon. */
export function barePod(name: string, shape: PodShape): object {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec: podSpec(name, shape) };
}

/** A node with five pods on a control plane without a controller, and a logind beside which systemd has its kubelet. */
export async function buildRig(stack: AsyncDisposableStack, loggerSec: number, keys: object = {}): Promise<OfflineRig> {
  const signal = AbortSignal.timeout(270_000);
  const folder = await makeTestFolder('local-drain');
  stack.defer(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const { controlPlane, controllerKubeconfig } = stack.use(await startInstalledCluster({}, signal));
  const podGroups = stack.use(await makeCgroupRoot(path.basename(folder)));
  const node = stack.use(await startNode(controlPlane, NODE, signal, podGroups.name));
  const api = stack.use(await startApiProxy(controlPlane, node.kubeconfig));
  const witness = path.join(folder, 'witness');
  await mkdir(witness);
  await writeFile(path.join(witness, 'log'), '');
  const shape = { stopSec: 2, witness };
  const web = barePod('web', { ...shape, stopSec: 4 });
  const vip = barePod('vip', { stopSec: 3, witness, priorityClassName: 'system-cluster-critical' });
  for (const object of [web, vip, daemonSet('logger', { ...shape, stopSec: loggerSec, graceSec: 60 })]) {
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  }
  const high = staticPod('high', { ...shape, priorityClassName: 'system-node-critical' });
  await writeFile(path.join(node.staticPodPath, 'low.yaml'), JSON.stringify(staticPod('low', shape)));
  await writeFile(path.join(node.staticPodPath, 'high.yaml'), JSON.stringify(high));
  await waitFor('all pods run', async () => (await runningPods(controlPlane)) === ORDER.length, SLOW);

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
  return {
    folder,
    controlPlane,
    controllerKubeconfig,
    api,
    node,
    podGroups,
    runtime,
    proxy,
    logind,
    ...files,
    witness,
  };
}

/** Starts the agent, and waits until it holds its lock and has noted as many pods as the API server knows. */
export async function startAgent(stack: AsyncDisposableStack, rig: OfflineRig, known = ORDER.length): Promise<Program> {
  const environment = { DBUS_SYSTEM_BUS_ADDRESS: rig.logind.address };
  const log = path.join(rig.folder, 'agent.log');
  const agent = stack.use(startNodemaint(['agent', '--config', rig.configFile], log, environment));
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
  const log = path.join(rig.folder, 'controller.log');
  stack.use(startNodemaint(['controller', '--kubeconfig', rig.controllerKubeconfig], log));
  const program = await startAgent(stack, rig, await runningPods(rig.controlPlane));
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

export async function phaseIs(rig: OfflineRig, kind: string, mode: string): Promise<boolean> {
  const { phase } = await readAgentStatus(rig.runDirectory);
  return phase.kind === kind && 'mode' in phase && phase.mode === mode;
}

export async function lines(rig: OfflineRig): Promise<readonly string[]> {
  return (await readFile(path.join(rig.witness, 'log'), 'utf8')).trim().split('\n').filter(Boolean);
}

export async function assertOrder(rig: OfflineRig, order = ORDER): Promise<void> {
  assert.deepEqual(
    await lines(rig),
    order.flatMap((name) => [`${name} TERM`, `${name} END`]),
  );
}
