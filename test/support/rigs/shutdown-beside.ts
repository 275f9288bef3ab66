/**
 * A real node that is shut down again and again beside what happens on another node. The other node is a Node object without a
 * kubelet: its only pod never ends, and a PodDisruptionBudget keeps it.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { CONFIG_API_VERSION } from '../../../src/api/names.ts';
import type { NodeMaintenance, NodeStatus } from '../../../src/api/node-maintenance.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import type { Program } from '../../control-plane/process.ts';
import { startNode, type TestNode } from '../../node/node.ts';
import { daemonSet, type PodShape, podSpec, staticPod } from '../../node/pods.ts';
import { type AgentFiles, keysOfNode, writeAgentFiles } from '../agent/files.ts';
import { startInstalledCluster } from '../commands/installed-cluster.ts';
import { readAgentStatus, runNodemaint, startNodemaint } from '../commands/nodemaint.ts';
import { makeTestFolder } from '../folder.ts';
import { drainOf } from '../maintenance/objects.ts';
import { SLOW, waitFor } from '../wait-for.ts';

export const NODE = `beside-${process.pid}`;
export const OTHER = `other-${process.pid}`;
/** The pods of the node that each shutdown ends, in the order in which they have to. */
export const ORDER = ['web', 'dns', 'logger', 'low', 'high'] as const;
const STOP_SEC = 1;

/** The cluster, its node, and the programs that run beside it now. */
export interface ShutdownBeside extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly node: TestNode;
  readonly files: AgentFiles;
  apply(...objects: readonly object[]): Promise<void>;
  /** Starts a Default pod of the node, and waits until it runs. */
  startPod(name: string, shape?: PodShape): Promise<void>;
  /** Makes a person's drain. */
  drain(name: string, nodes: readonly string[], spec?: object, annotations?: object): Promise<void>;
  maintenance(name: string): Promise<NodeMaintenance | undefined>;
  /** What a maintenance says of the node, or of another one. */
  statusOf(name: string, node?: string): Promise<NodeStatus | undefined>;
  /** The maintenance of the shutdown that goes on. */
  shutdown(): Promise<NodeMaintenance | undefined>;
  /** What the pods have said: NAME TERM, NAME END. */
  lines(): Promise<readonly string[]>;
  seen(line: string): Promise<void>;
  phase(): Promise<Awaited<ReturnType<typeof readAgentStatus>>['phase']>;
  startController(...flags: readonly string[]): Promise<Program>;
  /** `keys` are more of its configuration. */
  startAgent(keys?: object): Promise<Program>;
  trigger(...flags: readonly string[]): Promise<void>;
  /** Boots the machine: what was parked comes back, and the node is as it was. */
  reset(): Promise<void>;
}

function bare(name: string, spec: object): object {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', labels: { app: name } }, spec };
}

/** The node without a kubelet, its pod, and the budget that never lets it go. */
async function addOther({ kubectl }: ControlPlane, apply: ShutdownBeside['apply']): Promise<void> {
  const taints = [{ key: 'dedicated', value: 'other', effect: 'NoSchedule' }];
  const held = { ...podSpec('held', {}), nodeName: OTHER, tolerations: [{ operator: 'Exists' }] };
  await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: OTHER }, spec: { taints } }, bare('held', held), {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'held', namespace: 'default' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'held' } } },
  });
  const ready = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
  await kubectl(['patch', 'pod', 'held', '--subresource=status', '--type=merge', '-p', JSON.stringify(ready)]);
}

async function isRunning({ kubectl }: ControlPlane, namespace: string, name: string): Promise<boolean> {
  const text = await kubectl(['get', 'pods', '-n', namespace, '-l', `app=${name}`, '-o', 'json']);
  const { items } = JSON.parse(text) as {
    items: { metadata: { deletionTimestamp?: string }; status: { phase: string } }[];
  };
  return items.some(({ metadata, status }) => metadata.deletionTimestamp === undefined && status.phase === 'Running');
}

async function untilFixedPodsRun(controlPlane: ControlPlane): Promise<void> {
  for (const [namespace, name] of [
    ['default', 'logger'],
    ['kube-system', 'low'],
    ['kube-system', 'high'],
  ] as const) {
    await waitFor(`${name} runs`, () => isRunning(controlPlane, namespace, name), SLOW);
  }
}

/** Starts the control plane and the node; no controller and no agent runs yet. */
export async function startShutdownBeside(signal: AbortSignal): Promise<ShutdownBeside> {
  await using stack = new AsyncDisposableStack();
  const folder = await makeTestFolder('beside');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const { controlPlane, controllerKubeconfig } = stack.use(await startInstalledCluster({}, signal));
  const { kubectl } = controlPlane;
  const node = stack.use(await startNode(controlPlane, NODE, signal));
  const witness = path.join(folder, 'witness');
  const log = path.join(witness, 'log');
  await mkdir(witness);
  await writeFile(log, '');
  const apply = async (...objects: readonly object[]): Promise<void> => {
    for (const object of objects) await kubectl(['apply', '-f', '-'], JSON.stringify(object));
  };
  await addOther(controlPlane, apply);
  const shape = { stopSec: STOP_SEC, witness };
  const logger = daemonSet('logger', shape) as { spec: { template: { spec: object } } };
  Object.assign(logger.spec.template.spec, { nodeSelector: { 'kubernetes.io/hostname': NODE } });
  await apply(logger);
  const high = staticPod('high', { ...shape, priorityClassName: 'system-node-critical' });
  await writeFile(path.join(node.staticPodPath, 'low.yaml'), JSON.stringify(staticPod('low', shape)));
  await writeFile(path.join(node.staticPodPath, 'high.yaml'), JSON.stringify(high));
  const files = await writeAgentFiles(folder, { ...keysOfNode(node), nodeName: NODE });
  await untilFixedPodsRun(controlPlane);

  const lease = (verb: string): readonly string[] => [verb, 'lease', '-n', 'nodemaint-system', 'nodemaint-controller'];
  let boots = 1;
  let programs: readonly Program[] = [];
  const run = (args: readonly string[], name: string): Program => {
    const program = startNodemaint(args, path.join(folder, `${name}-${boots}.log`));
    programs = [program, ...programs];
    return program;
  };
  const stop = async (): Promise<void> => {
    for (const program of programs) await program.stop();
    programs = [];
  };
  stack.defer(stop);
  const maintenances = async (): Promise<readonly NodeMaintenance[]> =>
    (JSON.parse(await kubectl(['get', 'nm', '-o', 'json'])) as { items: NodeMaintenance[] }).items;
  const rig: Omit<ShutdownBeside, typeof Symbol.asyncDispose> = {
    controlPlane,
    node,
    files,
    apply,
    startPod: async (name, own = {}) => {
      await apply(bare(name, podSpec(name, { ...shape, ...own })));
      await waitFor(`${name} runs`, () => isRunning(controlPlane, 'default', name), SLOW);
    },
    drain: async (name, nodes, spec = {}, annotations = {}) => {
      const made = drainOf(name, nodes, spec);
      await apply({ ...made, metadata: { ...made.metadata, annotations } });
    },
    maintenance: async (name) => (await maintenances()).find(({ metadata }) => metadata.name === name),
    statusOf: async (name, of = NODE) =>
      (await rig.maintenance(name))?.status?.nodeStatuses?.find(({ nodeRef }) => nodeRef.name === of),
    shutdown: async () =>
      (await maintenances()).find(
        ({ metadata, spec }) => metadata.name.startsWith('shutdown-') && spec.stage === 'Drain',
      ),
    lines: async () => (await readFile(log, 'utf8')).trim().split('\n').filter(Boolean),
    seen: (line) => waitFor(`"${line}" is seen`, async () => (await rig.lines()).includes(line), SLOW),
    phase: async () => (await readAgentStatus(files.runDirectory)).phase,
    startController: async (...flags) => {
      // One that was killed holds it still.
      await kubectl([...lease('delete'), '--ignore-not-found']);
      const all = ['controller', '--kubeconfig', controllerKubeconfig, ...flags];
      const program = run(all, 'controller');
      const holder = [...lease('get'), '-o', 'jsonpath={.spec.holderIdentity}'];
      await waitFor('the controller leads', async () => (await kubectl(holder)) !== '', { ...SLOW, program });
      return program;
    },
    startAgent: async (keys = {}) => {
      const own = { apiVersion: CONFIG_API_VERSION, kind: 'AgentConfiguration', ...keys };
      await mkdir(path.join(folder, 'config.d'), { recursive: true });
      await writeFile(path.join(folder, 'config.d', '10-cell.yaml'), JSON.stringify(own));
      const program = run(['agent', '--config', files.configFile], 'agent');
      const hears = async (): Promise<boolean> =>
        (await readAgentStatus(files.runDirectory)).cluster.heardAt !== undefined;
      await waitFor('the agent hears of the cluster', hears, { ...SLOW, program });
      return program;
    },
    trigger: async (...flags) => {
      const { code, stderr } = await runNodemaint(['trigger', '--run-directory', files.runDirectory, ...flags]);
      if (code !== 0) throw new Error(`nodemaint trigger: ${stderr}`);
    },
    reset: async () => {
      await stop();
      boots += 1;
      await writeFile(files.bootIdPath, `boot-${boots}`);
      await rig.startController();
      await kubectl(['delete', 'nm', '--all', '--wait=false']);
      await kubectl(['delete', 'pod', 'web', 'dns', '--force', '--grace-period=0', '--ignore-not-found']);
      await rig.startAgent();
      await waitFor('no maintenance is left', async () => (await maintenances()).length === 0, SLOW);
      await untilFixedPodsRun(controlPlane);
      await waitFor('the agent watches again', async () => (await rig.phase()).kind === 'watching', SLOW);
      await stop();
      await writeFile(log, '');
    },
  };
  const owned = stack.move();
  return Object.assign(rig, { [Symbol.asyncDispose]: () => owned.disposeAsync() });
}
