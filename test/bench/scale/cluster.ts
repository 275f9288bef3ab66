import { copyFile, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import type { Pod } from '../../../src/api/pod.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { createKubeClient, type KubeClient, type KubeRequest } from '../../../src/kube/client.ts';
import { collectionPath, NODES, objectPath, PODS } from '../../../src/kube/resource.ts';
import { sendForObject } from '../../../src/kube/request.ts';
import { createObjectCache } from '../../../src/kube/watch.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { startKwok } from '../../kwok/kwok.ts';
import { installManifests } from '../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type AuditLog, createAuditLog } from '../audit-log.ts';
import { inParallel, pause } from '../parallel.ts';

/** Who asks the API server for something in a bench, as its audit log has them. */
export const USERS = {
  drainer: 'kubectl-drain',
  deleter: 'plain-delete',
  person: 'person',
  controller: 'system:serviceaccount:nodemaint-system:nodemaint-controller',
} as const;

const PARALLEL = 16;
const READY_MS = 600_000;

/** A control plane whose nodes and pods are kwok's, with the manifests installed and no controller yet. */
export interface ScaleCluster extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  /** The administrator's. */
  readonly client: KubeClient;
  readonly audit: AuditLog;
  readonly folder: string;
  readonly controllerKubeconfig: string;
  readonly signal: AbortSignal;
  /** The pods of the benched nodes as they are now. */
  pods(): readonly Pod[];
  /** The client of the person, or of the one who deletes pods. */
  clientOf(user: typeof USERS.deleter | typeof USERS.person): KubeClient;
  makeNodes(names: readonly string[]): Promise<void>;
  /** Makes the pods of the nodes, named after them, and waits until all run. */
  addPods(nodes: readonly string[], perNode: number): Promise<void>;
  /** Takes the cordons of all nodes off. */
  uncordon(nodes: readonly string[]): Promise<void>;
  /** Resolves when no pod is left; returns the moment, by performance.now(). */
  untilGone(): Promise<number>;
}

/** Sends a request that has to succeed. */
export async function send<T>(client: KubeClient, request: KubeRequest, signal: AbortSignal): Promise<T> {
  return (await sendForObject<T>(client, request, [], signal)) as T;
}

function podOf(node: string, index: number): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${node}.${index}`, labels: { bench: 'scale' } },
    spec: {
      nodeName: node,
      tolerations: [{ operator: 'Exists' }],
      automountServiceAccountToken: false,
      containers: [{ name: 'main', image: 'none.invalid/none' }],
    },
  };
}

/** What the calls of the bench itself need. */
interface Hands {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly pods: () => readonly Pod[];
}

async function makeNodes({ client, signal }: Hands, names: readonly string[]): Promise<void> {
  await inParallel(names, PARALLEL, async (name) => {
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { 'kubernetes.io/hostname': name } } };
    await send(client, { method: 'POST', path: collectionPath(NODES), body }, signal);
  });
}

async function addPods({ client, signal, pods }: Hands, nodes: readonly string[], perNode: number): Promise<void> {
  const wanted = nodes.flatMap((node) => Array.from({ length: perNode }, (_, index) => [node, index] as const));
  await inParallel(wanted, PARALLEL, async ([node, index]) => {
    const body = podOf(node, index);
    await send(client, { method: 'POST', path: collectionPath(PODS, 'default'), body }, signal);
  });
  const run = (): boolean => {
    const all = pods();
    return all.length >= wanted.length && all.every(({ status }) => status?.phase === 'Running');
  };
  await waitFor('all pods run', run, { timeoutMs: READY_MS, signal });
}

async function uncordon({ client, signal }: Hands, nodes: readonly string[]): Promise<void> {
  await inParallel(nodes, PARALLEL, async (name) => {
    const body = { spec: { unschedulable: null } };
    const path = objectPath(NODES, { name });
    await send(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, signal);
  });
}

/** Keeps the pods of the bench until the stack ends. */
function watchPods(client: KubeClient, stack: AsyncDisposableStack): () => readonly Pod[] {
  const stop = new AbortController();
  const dependencies = { client, clock: createSystemClock(), log: SILENT_LOG };
  const cache = createObjectCache<Pod>({ resource: PODS, labelSelector: 'bench=scale' }, () => undefined, dependencies);
  const watching = cache.run(stop.signal);
  stack.defer(async () => {
    stop.abort();
    await watching;
  });
  return () => cache.list();
}

/** Deletes the folder; the logs in it are kept in the folder that NODEMAINT_BENCH_PROFILE names. */
async function endFolder(folder: string): Promise<void> {
  const to = process.env['NODEMAINT_BENCH_PROFILE'];
  for (const name of to === undefined ? [] : ['audit.log', 'controller.log'])
    await copyFile(path.join(folder, name), path.join(to ?? '', name)).catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
}

/** Starts the cluster. Its nodes need no heartbeats: they stay ready for as long as the bench runs. */
export async function startScaleCluster(signal: AbortSignal): Promise<ScaleCluster> {
  await using stack = new AsyncDisposableStack();
  const folder = await makeTestFolder('scale');
  stack.defer(() => endFolder(folder));
  const audit = await createAuditLog(folder, Object.values(USERS));
  const controllerManagerFlags = ['--node-monitor-grace-period=12h'];
  const options = { apiServerFlags: audit.flags, controllerManagerFlags };
  const controlPlane = stack.use(await startControlPlane(options, signal));
  const controllerKubeconfig = await installManifests(controlPlane);
  stack.use(await startKwok(controlPlane.adminKubeconfig, path.join(folder, 'kwok.log'), signal));
  const clientFor = async (kubeconfig: string): Promise<KubeClient> => {
    const client = createKubeClient(await loadClusterAccess(kubeconfig), 'bench');
    stack.defer(() => client.close());
    return client;
  };
  const client = await clientFor(controlPlane.adminKubeconfig);
  const pods = watchPods(client, stack);
  const clients = new Map<string, KubeClient>();
  for (const user of [USERS.deleter, USERS.person]) {
    clients.set(user, await clientFor(await controlPlane.kubeconfigFor(user, ['system:masters'])));
  }
  const hands = { client, signal, pods };
  const owned = stack.move();
  return {
    controlPlane,
    client,
    audit,
    folder,
    controllerKubeconfig,
    signal,
    pods,
    clientOf: (user) => clients.get(user) ?? client,
    makeNodes: (names) => makeNodes(hands, names),
    addPods: (nodes, perNode) => addPods(hands, nodes, perNode),
    uncordon: (nodes) => uncordon(hands, nodes),
    untilGone: async () => {
      while (pods().length > 0) await pause(20, signal);
      return performance.now();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
