/**
 * Requests that are lost while a node is drained, with and without the `preStop` hook of docs/usage/evict-pods.md. The pods
 * are real; in place of kube-proxy and clients a loop here sends requests to the ready endpoints, which it asks for once a
 * second, as kube-proxy writes its rules once a second at most.
 */
import { rm } from 'node:fs/promises';
import { get } from 'node:http';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { startProgram } from '../control-plane/process.ts';
import { TEST_IMAGE } from '../node/images.ts';
import { startNode } from '../node/node.ts';
import { installManifests } from '../support/commands/nodemaint.ts';
import { makeTestFolder } from '../support/folder.ts';
import { drainOf } from '../support/maintenance/objects.ts';
import { SLOW, waitFor } from '../support/wait-for.ts';
import { pause } from './parallel.ts';

const NODES = ['n1', 'n2'] as const;
const REPLICAS = 4;
const PORT = 8080;
const SYNC_MS = 1_000;
const EVERY_MS = 10;
const REQUEST_MS = 2_000;
/** After the drain, so that proxies have followed. */
const AFTER_MS = 5_000;
/** A web server whose program ends at once when it is told to. */
const SERVER = `mkdir -p /tmp/www && echo ok > /tmp/www/index.html && { httpd -f -p ${PORT} -h /tmp/www & trap 'exit 0' TERM; wait; }`;

/** How the pods end. */
interface Variant {
  readonly name: string;
  readonly title: string;
  readonly lifecycle?: object;
}

const VARIANTS: readonly Variant[] = [
  { name: 'plain', title: 'no hook' },
  { name: 'sleep', title: 'preStop: {sleep: {seconds: 5}}', lifecycle: { preStop: { sleep: { seconds: 5 } } } },
];

function objectsOf({ name, lifecycle }: Variant): readonly object[] {
  const labels = { app: name };
  const container = {
    name: 'web',
    image: TEST_IMAGE,
    imagePullPolicy: 'Never',
    command: ['/bin/sh', '-c', SERVER],
    readinessProbe: { httpGet: { port: PORT, path: '/' }, periodSeconds: 1 },
    ...(lifecycle === undefined ? {} : { lifecycle }),
  };
  const spread = {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: labels },
  };
  const spec = { containers: [container], topologySpreadConstraints: [spread] };
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: 'default' },
      spec: { replicas: REPLICAS, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: 'default' },
      spec: { selector: labels, ports: [{ port: PORT }] },
    },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name, namespace: 'default' },
      spec: { minAvailable: REPLICAS - 1, selector: { matchLabels: labels } },
    },
  ];
}

interface Slices {
  readonly items: readonly {
    readonly endpoints?: readonly { addresses: readonly string[]; conditions?: { ready?: boolean } }[];
  }[];
}

async function readyAddresses(controlPlane: ControlPlane, service: string): Promise<readonly string[]> {
  const selector = `kubernetes.io/service-name=${service}`;
  const slices = JSON.parse(
    await controlPlane.kubectl(['get', 'endpointslices', '-l', selector, '-o', 'json']),
  ) as Slices;
  const endpoints = slices.items.flatMap((slice) => slice.endpoints ?? []);
  return endpoints.filter(({ conditions }) => conditions?.ready === true).flatMap(({ addresses }) => addresses);
}

/** Whether a request, on a connection of its own, has an answer. */
async function isAnswered(host: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const request = get({ host, port: PORT, agent: false, timeout: REQUEST_MS }, (response) => {
      response.resume();
      response.on('end', () => {
        resolve(response.statusCode === 200);
      });
      response.on('error', () => {
        resolve(false);
      });
    });
    request.on('timeout', () => {
      request.destroy();
    });
    request.on('error', () => {
      resolve(false);
    });
  });
}

/** Counts of requests. */
interface Requests {
  sent: number;
  lost: number;
}

/** Sends requests to the ready endpoints, one after another, until the signal; resolves when all have ended. */
async function sendRequests(controlPlane: ControlPlane, service: string, signal: AbortSignal): Promise<Requests> {
  const count: Requests = { sent: 0, lost: 0 };
  let addresses = await readyAddresses(controlPlane, service);
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      addresses = await readyAddresses(controlPlane, service).catch(() => addresses);
      await delay(SYNC_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  const send = async (): Promise<void> => {
    const open: Promise<void>[] = [];
    for (let index = 0; !signal.aborted; index += 1) {
      const host = addresses[index % addresses.length];
      const ask = async (): Promise<void> => {
        count.sent += 1;
        if (host === undefined || !(await isAnswered(host))) count.lost += 1;
      };
      open.push(ask());
      await delay(EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
    await Promise.all(open);
  };
  await Promise.all([follow(), send()]);
  return count;
}

async function drainUnderLoad(controlPlane: ControlPlane, variant: Variant, signal: AbortSignal): Promise<void> {
  const { name, title } = variant;
  for (const object of objectsOf(variant)) await controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(object));
  const allReady = async (): Promise<boolean> => (await readyAddresses(controlPlane, name)).length === REPLICAS;
  await waitFor('all replicas are ready', allReady, { ...SLOW, signal });
  const stop = new AbortController();
  const requests = sendRequests(controlPlane, name, AbortSignal.any([signal, stop.signal]));
  const began = performance.now();
  await controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(drainOf(name, [NODES[0]])));
  await controlPlane.kubectl(['wait', '--for=condition=Drained', `nm/${name}`, '--timeout=300s']);
  const seconds = (performance.now() - began) / 1_000;
  await pause(AFTER_MS, signal);
  stop.abort();
  const { sent, lost } = await requests;
  console.log(
    `  ${title}: ${lost} of ${sent} requests lost (${((100 * lost) / sent).toFixed(2)} %); drained in ${seconds.toFixed(0)} s`,
  );
  await controlPlane.kubectl(['patch', 'nm', name, '--type=merge', '-p', '{"spec":{"stage":"Complete"}}']);
  await controlPlane.kubectl(['delete', `deployment/${name}`, `pdb/${name}`, `service/${name}`]);
  await controlPlane.kubectl(['uncordon', NODES[0]]);
}

/** Runs the bench with the program `command` on a control plane and two nodes of its own and prints the figures. */
export async function benchLostRequests(command: readonly [string, ...string[]], signal: AbortSignal): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const folder = await makeTestFolder('bench');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const controlPlane = stack.use(await startControlPlane({}, signal));
  const controllerConfig = await installManifests(controlPlane);
  const log = path.join(folder, 'log');
  stack.use(startProgram([...command, 'controller', '--kubeconfig', controllerConfig], log));
  for (const name of NODES) stack.use(await startNode(controlPlane, name, signal));
  console.log(
    `drain of one of two nodes, ${REPLICAS} replicas, a request each ${EVERY_MS} ms, endpoints read each ${SYNC_MS} ms`,
  );
  for (const variant of VARIANTS) await drainUnderLoad(controlPlane, variant, signal);
}
