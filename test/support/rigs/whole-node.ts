import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import type { Program } from '../../control-plane/process.ts';
import { holdLockFor, type Logind, startLogind } from '../../logind/rig.ts';
import { startNode, type TestNode } from '../../node/node.ts';
import { daemonSet, deployment, type PodShape, staticPod } from '../../node/pods.ts';
import { type AgentFiles, keysOfNode, writeAgentFiles } from '../agent/files.ts';
import { startInstalledCluster } from '../commands/installed-cluster.ts';
import { readAgentStatus, startNodemaint } from '../commands/nodemaint.ts';
import { makeTestFolder } from '../folder.ts';
import { SLOW, waitFor } from '../wait-for.ts';

/** What the pods of a node are, by their names, and how long each takes to end. */
export interface NodeLoad {
  readonly deployments: Readonly<Record<string, PodShape>>;
  readonly daemonSets: Readonly<Record<string, PodShape>>;
  readonly staticPods: Readonly<Record<string, PodShape>>;
  /** The Deployment that a PodDisruptionBudget of the same name keeps. */
  readonly blocked: string;
}

/** A node with all that takes part in its shutdown, and all of it real: API server, kubelet, containerd, logind, controller, agent. */
export interface WholeNode extends AsyncDisposable {
  readonly name: string;
  readonly folder: string;
  readonly controlPlane: ControlPlane;
  readonly node: TestNode;
  readonly logind: Logind;
  readonly files: AgentFiles;
  /** What the agent has printed, as the journal of its unit has it. */
  readonly logFile: string;
  agent(): Program;
  /** Takes away what blocks. */
  unblock(): Promise<void>;
  /** Ends the agent and logind's shutdown, and starts the agent in another boot. */
  boot(): Promise<void>;
}

async function phaseOf(files: AgentFiles): Promise<string> {
  return (await readAgentStatus(files.runDirectory)).phase.kind;
}

/** Waits until the agent is in a phase. */
export async function untilPhase({ files, agent }: WholeNode, phase: string, timeoutMs = 90_000): Promise<void> {
  const isThere = async (): Promise<boolean> => (await phaseOf(files)) === phase;
  await waitFor(`the agent is ${phase}`, isThere, { timeoutMs, program: agent() });
}

async function addLoad(controlPlane: ControlPlane, node: TestNode, load: NodeLoad): Promise<void> {
  const budget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: load.blocked, namespace: 'default' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: load.blocked } } },
  };
  // A node that stays: without one no budget is asked. No pod may come to it.
  const spec = { taints: [{ key: 'test', effect: 'NoSchedule' }] };
  const stays = { apiVersion: 'v1', kind: 'Node', metadata: { name: `${node.name}-stays` }, spec };
  for (const object of [stays, budget]) await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  const objects = [
    ...Object.entries(load.deployments).map(([name, shape]) => deployment(name, shape)),
    ...Object.entries(load.daemonSets).map(([name, shape]) => daemonSet(name, shape)),
  ];
  for (const object of objects) await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  for (const [name, shape] of Object.entries(load.staticPods)) {
    await writeFile(path.join(node.staticPodPath, `${name}.yaml`), JSON.stringify(staticPod(name, shape)));
  }
  const wanted = objects.length + Object.keys(load.staticPods).length;
  const run = async (): Promise<boolean> => {
    const phases = await controlPlane.kubectl(['get', 'pods', '-A', '-o', 'jsonpath={.items[*].status.phase}']);
    return phases.split(' ').filter((phase) => phase === 'Running').length === wanted;
  };
  await waitFor('all pods run', run, SLOW);
}

/** Starts a node with its pods, and an agent that holds logind's lock. */
export async function startWholeNode(name: string, load: NodeLoad, signal: AbortSignal): Promise<WholeNode> {
  await using stack = new AsyncDisposableStack();
  const folder = await makeTestFolder('whole-node');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const { controlPlane, controllerKubeconfig: controllerConfig } = stack.use(await startInstalledCluster({}, signal));
  const node = stack.use(await startNode(controlPlane, name, signal));
  await addLoad(controlPlane, node, load);
  const logind = stack.use(await startLogind({ inhibitDelayMaxSec: 600 }, signal));
  stack.use(startNodemaint(['controller', '--kubeconfig', controllerConfig], path.join(folder, 'controller.log')));
  const keys = { ...keysOfNode(node), lock: 'unit', cloud: { provider: 'none' } };
  const files = await writeAgentFiles(folder, keys);
  await mkdir(files.runDirectory, { recursive: true });
  holdLockFor(logind, files.runDirectory);
  const logFile = path.join(folder, 'agent.log');
  const start = async (): Promise<Program> => {
    const program = startNodemaint(['agent', '--config', files.configFile], logFile, {
      DBUS_SYSTEM_BUS_ADDRESS: logind.address,
    });
    const isReady = async (): Promise<boolean> => {
      const { lock, cluster } = await readAgentStatus(files.runDirectory);
      return lock.held && cluster.heardAt !== undefined;
    };
    await waitFor('the agent holds the lock', isReady, { ...SLOW, program });
    return program;
  };
  let program = await start();
  stack.defer(() => program.stop());
  const owned = stack.move();
  return {
    name,
    folder,
    controlPlane,
    node,
    logind,
    files,
    logFile,
    agent: () => program,
    unblock: async () => {
      await controlPlane.kubectl(['delete', 'pdb', load.blocked]);
    },
    boot: async () => {
      await program.stop();
      logind.standIn.finishJob();
      await writeFile(files.bootIdPath, 'boot-2');
      program = await start();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
