/**
 * What the EvictionRequest controller makes of 5,000 requests, beside what the API server needs for the same writes when a
 * bare client makes them, in one run. The pods name an interceptor that never answers, so that nothing is evicted.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { EvictionRequest } from '../../src/api/eviction-request.ts';
import { EVICTION_REQUEST_API_VERSION } from '../../src/api/names.ts';
import type { Pod } from '../../src/api/pod.ts';
import { decideLabels } from '../../src/decide/eviction/labels.ts';
import { decideEvictionRequest } from '../../src/decide/eviction/request.ts';
import { createKubeClient, type KubeClient, type KubeRequest } from '../../src/kube/client.ts';
import { loadClusterAccess } from '../../src/kube/access/cluster.ts';
import { collectionPath, EVICTION_REQUESTS, objectPath, PODS, sendForObject } from '../../src/kube/resource.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { freePort } from '../control-plane/port.ts';
import { type Program, startProgram } from '../control-plane/process.ts';
import { intercepts } from '../support/rigs/eviction.ts';
import { installManifests } from '../support/commands/nodemaint.ts';
import { type AuditLog, createAuditLog } from './audit-log.ts';
import { reportOf } from './eviction-report.ts';
import { inspectorOptions, measureProcess, type ProcessFigures } from './process-figures.ts';
import { waitFor } from '../support/wait-for.ts';

const COUNT = 5_000;
const HALF = COUNT / 2;
const PARALLEL = 32;
/** A client of ours has 16 connections. */
const CLIENTS = PARALLEL / 16;
const NODES = 50;
const QUIET_MS = 3_000;
const CONTROLLER = 'system:serviceaccount:nodemaint-system:nodemaint-controller';
const COLLECTION = collectionPath(EVICTION_REQUESTS, 'default');

const never = new AbortController().signal;

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Does tasks 0 to count - 1, PARALLEL at a time, spread over the clients. */
async function inParallel(
  clients: readonly KubeClient[],
  count: number,
  task: (client: KubeClient, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const work = async (client: KubeClient): Promise<void> => {
    while (next < count) {
      next += 1;
      await task(client, next - 1);
    }
  };
  await Promise.all(
    Array.from({ length: PARALLEL }, (_, worker) => work(clients[worker % clients.length] as KubeClient)),
  );
}

async function send<T>(client: KubeClient, request: KubeRequest): Promise<T> {
  return (await sendForObject<T>(client, request, [], never)) as T;
}

function podBody(index: number): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `p-${index}`, labels: { app: 'bench' }, annotations: intercepts('bench.example.com', 10_000) },
    spec: {
      nodeName: `node-${index % NODES}`,
      tolerations: [{ operator: 'Exists' }],
      containers: [{ name: 'main', image: 'none.invalid/none' }],
    },
  };
}

function requestBody(pod: Pod, uid: string): object {
  return {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name: uid },
    spec: { target: { pod: { name: pod.metadata.name, uid } }, requesters: [{ name: 'bench.example.com' }] },
  };
}

/** Resolves once so many requests that came after this version of the collection have an active interceptor. */
async function watchActive(client: KubeClient, count: number, from: string, signal: AbortSignal): Promise<void> {
  const made = new Set<string>();
  const active = new Set<string>();
  let version: string | undefined = from;
  // The API server cuts off a watcher that is too busy to read; it goes on where it was.
  while (active.size < count) {
    for await (const each of client.watch(`${COLLECTION}?watch=1&resourceVersion=${version}`, signal)) {
      const { type, object } = each as { type: string; object: EvictionRequest };
      if (type === 'ERROR') throw new Error(`the watch was refused: ${JSON.stringify(object)}`);
      const { name, resourceVersion } = object.metadata;
      version = resourceVersion;
      if (type === 'ADDED') made.add(name);
      if (made.has(name) && object.status?.activeInterceptors?.[0] !== undefined) active.add(name);
      if (active.size === count) return;
    }
  }
}

/** Seconds from the first write to the last request that is seen with an active interceptor, and to the last create. */
async function timeActive(
  clients: readonly KubeClient[],
  count: number,
  write: (client: KubeClient, index: number) => Promise<void>,
  signal: AbortSignal,
): Promise<{ readonly all: number; readonly writes: number }> {
  const [client] = clients as [KubeClient];
  const { metadata } = await send<{ metadata: { resourceVersion: string } }>(client, {
    method: 'GET',
    path: `${COLLECTION}?limit=1`,
  });
  await using stack = new AsyncDisposableStack();
  const stop = new AbortController();
  stack.defer(() => {
    stop.abort();
  });
  const active = watchActive(client, count, metadata.resourceVersion, AbortSignal.any([signal, stop.signal]));
  active.catch(() => undefined);
  const began = performance.now();
  await inParallel(clients, count, write);
  const writes = (performance.now() - began) / 1000;
  await active;
  return { all: (performance.now() - began) / 1000, writes };
}

/** The controller's writes, made by a bare client: create, label apply and first status of requests for no pod. */
async function timeBaseline(
  clients: readonly KubeClient[],
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<number> {
  const { all } = await timeActive(
    clients,
    HALF,
    async (client, index) => {
      const pod = pods[index] as Pod;
      const uid = crypto.randomUUID();
      const made = await send<EvictionRequest>(client, {
        method: 'POST',
        path: COLLECTION,
        body: requestBody(pod, uid),
      });
      const at = objectPath(EVICTION_REQUESTS, made.metadata);
      const { wanted } = decideLabels(made, pod);
      const labels = {
        ...requestBody(pod, uid),
        spec: undefined,
        metadata: { name: uid, uid: made.metadata.uid, labels: wanted },
      };
      const patch = { kind: 'apply', manager: 'evictionrequest-labels' } as const;
      const labelled = await send<EvictionRequest>(client, { method: 'PATCH', path: at, body: labels, patch });
      const target = { ...pod, metadata: { ...pod.metadata, uid } };
      const { status } = decideEvictionRequest(labelled, target, Date.now());
      const { resourceVersion } = labelled.metadata;
      const first = { metadata: { resourceVersion }, status };
      await send(client, { method: 'PATCH', path: `${at}/status`, body: first, patch: { kind: 'merge' } });
    },
    signal,
  );
  return all;
}

interface Controller extends AsyncDisposable {
  /** Waits until it asks nothing of the API server any more, then measures it. */
  settle(): Promise<ProcessFigures>;
}

async function startController(
  command: readonly [string, ...string[]],
  kubeconfig: string,
  audit: AuditLog,
  signal: AbortSignal,
): Promise<Controller> {
  const [metricsPort, inspectPort] = [await freePort(), await freePort()];
  const flags = ['controller', '--kubeconfig', kubeconfig, '--metrics-address', `127.0.0.1:${metricsPort}`];
  // Renewals of the Lease would never let the audit log rest.
  flags.push('--leader-elect=false');
  const log = path.join(path.dirname(kubeconfig), `controller-${metricsPort}.log`);
  const program: Program = startProgram([...command, ...flags], log, { NODE_OPTIONS: inspectorOptions(inspectPort) });
  const isReady = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).ok;
  await waitFor('the controller is ready', isReady, { timeoutMs: 60_000, program, signal });
  return {
    settle: async () => {
      for (let size = -1; size !== (await audit.size()); await pause(QUIET_MS)) size = await audit.size();
      return await measureProcess(program.pid, inspectPort);
    },
    [Symbol.asyncDispose]: () => program.stop(),
  };
}

/** Runs the bench with the program `command` on a control plane of its own and prints the figures. */
export async function benchEvictionRequests(
  command: readonly [string, ...string[]],
  signal: AbortSignal,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-bench-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const audit = await createAuditLog(folder, [CONTROLLER]);
  const controlPlane = stack.use(await startControlPlane({ apiServerFlags: audit.flags }, signal));
  const kubeconfig = await installManifests(controlPlane);
  const access = await loadClusterAccess(controlPlane.adminKubeconfig);
  const clients = Array.from({ length: CLIENTS }, () => createKubeClient(access, 'bench'));
  stack.defer(() => {
    for (const client of clients) client.close();
  });
  const measureStart = async (): Promise<ProcessFigures> => {
    await using controller = await startController(command, kubeconfig, audit, signal);
    return await controller.settle();
  };

  const empty = await measureStart();
  await inParallel(clients, NODES, async (client, index) => {
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: `node-${index}` } };
    await send(client, { method: 'POST', path: '/api/v1/nodes', body });
  });
  const pods: Pod[] = [];
  await inParallel(clients, COUNT, async (client, index) => {
    pods.push(await send(client, { method: 'POST', path: collectionPath(PODS, 'default'), body: podBody(index) }));
  });

  const firstBare = await timeBaseline(clients, pods, signal);
  await send(clients[0] as KubeClient, { method: 'DELETE', path: COLLECTION });
  await pause(QUIET_MS);
  const controller = await startController(command, kubeconfig, audit, signal);
  stack.use(controller);
  const none = await controller.settle();
  const readyAt = Date.now();
  const ask = (from: number) => (client: KubeClient, index: number) => {
    const pod = pods[from + index] as Pod;
    return send<void>(client, { method: 'POST', path: COLLECTION, body: requestBody(pod, pod.metadata.uid ?? '') });
  };
  const first = await timeActive(clients, HALF, ask(0), signal);
  const half = await controller.settle();
  const second = await timeActive(clients, HALF, ask(HALF), signal);
  const all = await controller.settle();
  const calls = await audit.callsSince(readyAt);
  await controller[Symbol.asyncDispose]();
  const secondBare = await timeBaseline(clients, pods, signal);
  console.log(
    reportOf({
      count: COUNT,
      parallel: PARALLEL,
      ours: [first.all, second.all],
      creates: [first.writes, second.writes],
      bare: [firstBare, secondBare],
      figures: { empty, none, half, all },
      calls,
    }),
  );
}
