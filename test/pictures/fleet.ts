/**
 * The pictures of a cluster in a rolling drain: real control plane, controller and agents, each agent with a logind of its own.
 * The kubelets are kwok's; a pod takes a random part of its grace period to end.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { parseAllDocuments, stringify } from 'yaml';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { startProgram } from '../control-plane/process.ts';
import { startKwok, STAGES } from '../kwok/kwok.ts';
import { type Logind, startLogind } from '../logind/rig.ts';
import { writeAgentFiles } from '../support/agent/files.ts';
import { installManifests, nodemaintCommand, readAgentStatus, startNodemaint } from '../support/commands/nodemaint.ts';
import { makeTestFolder } from '../support/folder.ts';
import { SLOW, waitFor } from '../support/wait-for.ts';
import { onTerminal, screenOf } from './screen.ts';
import { drawTerminal } from './terminal-svg.ts';

const AGENT = path.join(import.meta.dirname, 'agent.ts');
/** The last node has no agent. */
const NODES = ['worker-1', 'worker-2', 'worker-3', 'worker-4', 'worker-5', 'worker-6'] as const;
const COLUMNS = 104;
/** How long after the beginning of the drain the pictures are made. */
const DRAINING_MS = 9_000;

/** The stages of the tests, in which a pod ends as soon as it is told to; here each takes its time. */
async function slowStages(folder: string): Promise<string> {
  const stages = parseAllDocuments(await readFile(STAGES, 'utf8')).map(
    (document) => document.toJS() as { metadata: { name: string }; spec: object },
  );
  const end = { durationMilliseconds: 4_000, jitterDurationFrom: { expressionFrom: '.metadata.deletionTimestamp' } };
  const slow = stages.map((stage) =>
    stage.metadata.name === 'pod-delete' ? { ...stage, spec: { ...stage.spec, delay: end } } : stage,
  );
  const file = path.join(folder, 'stages.yaml');
  await writeFile(file, slow.map((stage) => stringify(stage)).join('---\n'));
  return file;
}

function workload(kind: 'Deployment' | 'DaemonSet', name: string, replicas: number, node?: string): object {
  const labels = { app: name };
  const spec = {
    terminationGracePeriodSeconds: 30,
    tolerations: kind === 'DaemonSet' ? [{ operator: 'Exists' }] : [],
    containers: [{ name: 'main', image: 'none.invalid/none' }],
    ...(node === undefined ? {} : { nodeSelector: { 'kubernetes.io/hostname': node } }),
  };
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace: 'default' },
    spec: {
      ...(kind === 'Deployment' ? { replicas } : {}),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec },
    },
  };
}

async function fill(controlPlane: ControlPlane): Promise<void> {
  const budget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'db', namespace: 'default' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'db' } } },
  };
  const objects = [
    workload('Deployment', 'web', 18),
    workload('Deployment', 'cache', 6),
    workload('Deployment', 'db', 1, 'worker-1'),
    workload('DaemonSet', 'log-shipper', 1),
    budget,
  ];
  for (const object of objects) await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  const run = async (): Promise<boolean> => {
    const phases = await controlPlane.kubectl(['get', 'pods', '-A', '-o', 'jsonpath={.items[*].status.phase}']);
    return phases.split(' ').filter((phase) => phase === 'Running').length === 25 + NODES.length;
  };
  await waitFor('all pods run', run, SLOW);
}

/** Starts the agent of a node and a logind for it. */
async function startGuard(
  {
    controlPlane,
    folder,
    node,
  }: { readonly controlPlane: ControlPlane; readonly folder: string; readonly node: string },
  stack: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Logind> {
  const logind = stack.use(await startLogind({ inhibitDelayMaxSec: 604_800 }, signal));
  const own = path.join(folder, node);
  await mkdir(path.join(own, 'manifests'), { recursive: true });
  const kubeconfig = await controlPlane.kubeconfigFor(`system:node:${node}`, ['system:nodes']);
  const keys = { kubeconfig, nodeName: node, lock: 'child', cloud: { provider: 'none' } };
  const { configFile, runDirectory } = await writeAgentFiles(own, keys);
  const [file, ...flags] = nodemaintCommand([]).slice(0, -1);
  const command = [file ?? process.execPath, ...flags, AGENT, 'agent', '--config', configFile] as const;
  const env = { DBUS_SYSTEM_BUS_ADDRESS: logind.address };
  const program = stack.use(startProgram(command, path.join(own, 'agent.log'), env));
  const isReady = async (): Promise<boolean> => {
    const { lock, cluster } = await readAgentStatus(runDirectory);
    return lock.held && cluster.heardAt !== undefined;
  };
  await waitFor(`the agent of ${node} holds its lock`, isReady, { ...SLOW, program });
  return logind;
}

/** The pictures of `nodemaint nodes` and of `nodemaint status --watch`. */
export async function fleetPictures(signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
  await using stack = new AsyncDisposableStack();
  const folder = await makeTestFolder('pictures');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const options = { controllerManagerFlags: ['--node-monitor-grace-period=12h'] };
  const controlPlane = stack.use(await startControlPlane(options, signal));
  const controllerConfig = await installManifests(controlPlane);
  const kwokLog = path.join(folder, 'kwok.log');
  stack.use(await startKwok(controlPlane.adminKubeconfig, kwokLog, signal, await slowStages(folder)));
  for (const [index, name] of NODES.entries()) {
    const labels = { 'kubernetes.io/hostname': name, pool: index < 3 ? 'web' : 'batch' };
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } };
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(node));
  }
  await fill(controlPlane);
  const controller = ['controller', '--kubeconfig', controllerConfig, '--max-parallel-nodes', '1'];
  stack.use(startNodemaint(controller, path.join(folder, 'controller.log')));
  const guards = new Map<string, Logind>();
  for (const node of NODES.slice(0, -1)) {
    guards.set(node, await startGuard({ controlPlane, folder, node }, stack, signal));
  }

  const show = async (file: string, words: string, ms?: number): Promise<string> => {
    const command = nodemaintCommand([...words.split(' '), '--kubeconfig', controlPlane.adminKubeconfig]);
    const place = { columns: COLUMNS, logFile: path.join(folder, `${file}.log`), ...(ms === undefined ? {} : { ms }) };
    return await onTerminal(command, place);
  };
  // One node after the other: each is a maintenance of its own, and the controller lets one drain at a time.
  for (const node of ['worker-1', 'worker-2']) {
    await show(node, `drain ${node} --no-wait --delete-unmanaged --reason=kernel-6.12.58`);
    await delay(1_500, undefined, { signal });
  }
  await guards.get('worker-4')?.reboot();
  const watched = 'status worker-1 --watch';
  const [watch, nodes] = await Promise.all([
    show('watch', watched, DRAINING_MS),
    delay(DRAINING_MS - 3_000, undefined, { signal }).then(() => show('nodes', 'nodes')),
  ]);
  const draw = (command: string, written: string, title: string): string =>
    drawTerminal(`nodemaint ${command}`, screenOf(written), { columns: COLUMNS, title });
  return {
    'nodes.svg': draw('nodes', nodes, 'nodemaint nodes during a rolling drain'),
    'watch.svg': draw(watched, watch, 'nodemaint status --watch during a drain'),
  };
}
