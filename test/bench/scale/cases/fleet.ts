import { connect, createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { createPresence } from '../../../../src/agent/cluster/presence.ts';
import { AGENT_STATUS_ANNOTATION } from '../../../../src/api/names.ts';
import { PRESENCE_EVERY_MS, presenceText } from '../../../../src/decide/presence/presence.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { VERSION } from '../../../../src/version.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import { loadClusterAccess } from '../../../../src/kube/access/cluster.ts';
import { createKubeClient, type KubeClient } from '../../../../src/kube/client.ts';
import { collectionPath, NODES, objectPath } from '../../../../src/kube/resource.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { inParallel } from '../../parallel.ts';
import { type Bench, type Case, nodeNames } from '../case.ts';
import { type ScaleCluster, send, startScaleCluster } from '../cluster.ts';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Finding, inFigures } from '../table.ts';

const RUNS = 3;
const IMAGES = 50;
const HOURS_MS = 3_600_000;

/** A proxy that counts what an API server sends through it, before TLS is taken off. */
async function startMeter(
  to: number,
  stack: AsyncDisposableStack,
): Promise<{ readonly port: number; bytes(): number }> {
  let bytes = 0;
  const server = createServer((near) => {
    const far = connect({ port: to, host: '127.0.0.1' });
    far.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    near.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    near.on('error', () => far.destroy());
    far.on('error', () => near.destroy());
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  stack.defer(() => {
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, bytes: () => bytes };
}

/** Gives the nodes the size of real ones: most of a Node are the images that it has. */
async function fillNodes({ client, signal }: ScaleCluster, names: readonly string[]): Promise<void> {
  const images = Array.from({ length: IMAGES }, (_, index) => ({
    names: [
      `registry.example/team/image-${index}@sha256:${'0123456789abcdef'.repeat(4)}`,
      `registry.example/team/image-${index}:v1.2.3`,
    ],
    sizeBytes: 100_000_000 + index,
  }));
  await inParallel(names, 16, async (name) => {
    const path = objectPath(NODES, { name }, 'status');
    await send(client, { method: 'PATCH', path, body: { status: { images } }, patch: { kind: 'merge' } }, signal);
  });
}

/** Lets the agent of one node report once, with the agent's own code; returns the bytes of the request and its answer. */
async function reportOnce({ client, signal }: ScaleCluster, nodeName: string): Promise<number> {
  const end = new AbortController();
  let bytes = 0;
  const counted: KubeClient = {
    ...client,
    send: async (request, until) => {
      const answer = await client.send(request, until);
      bytes += JSON.stringify(request.body).length + JSON.stringify(answer.body).length;
      end.abort();
      return answer;
    },
  };
  const dependencies = {
    client: counted,
    clock: createSystemClock(),
    log: SILENT_LOG,
    nodeName,
    onChange: () => undefined,
  };
  const presence = createPresence(dependencies, {
    readDoctor: () => Promise.resolve({ doctor: 'ok', checks: [] }),
    config: 'b0',
  });
  // Not watching: at its end such an agent writes nothing more.
  presence.show({ phase: 'draining', lock: 'held', reason: 'bench' });
  await presence.run(AbortSignal.any([signal, end.signal]));
  return bytes;
}

/** Gives each node the report of an agent that guards it. */
async function reportAll({ client, signal }: ScaleCluster, names: readonly string[]): Promise<void> {
  const at = rfc3339(Date.now());
  const presence = { version: VERSION, phase: 'watching', phaseSince: at, lock: 'held', lockSince: at } as const;
  const text = presenceText({ ...presence, doctor: 'ok', checks: [], config: '', reason: '' }, at);
  await inParallel(names, 16, async (name) => {
    const body = { metadata: { annotations: { [AGENT_STATUS_ANNOTATION]: text } } };
    await send(client, { method: 'PATCH', path: objectPath(NODES, { name }), body, patch: { kind: 'merge' } }, signal);
  });
}

async function run({ program, signal }: Bench, count: number): Promise<Finding> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startScaleCluster(signal));
  const names = nodeNames(count);
  await cluster.makeNodes(names);
  await fillNodes(cluster, names);
  const reportBytes = await reportOnce(cluster, names[0] ?? '');
  await reportAll(cluster, names);
  const meter = await startMeter(cluster.controlPlane.port, stack);
  const person = await cluster.controlPlane.kubeconfigFor(
    'person',
    ['system:masters'],
    `https://127.0.0.1:${meter.port}`,
  );
  const [node, ...args] = program;
  const times: number[] = [];
  let listed = 0;
  const before = meter.bytes();
  for (let index = 0; index < RUNS; index += 1) {
    const began = performance.now();
    const { stdout } = await promisify(execFile)(node, [...args, 'nodes', '-o', 'json', '--kubeconfig', person], {
      signal,
      maxBuffer: 64 * 1024 * 1024,
    });
    times.push(performance.now() - began);
    listed = (JSON.parse(stdout) as { items: readonly { state: string }[] }).items.filter(
      ({ state }) => state === 'guarded',
    ).length;
  }
  const tableBytes = (meter.bytes() - before) / RUNS;
  const client = createKubeClient(await loadClusterAccess(person), 'whole', 1024 * 1024 * 1024);
  const beforeWhole = meter.bytes();
  await client.send({ method: 'GET', path: collectionPath(NODES) }, signal);
  const wholeBytes = meter.bytes() - beforeWhole;
  client.close();
  const best = Math.min(...times);
  const rows = [
    { name: 'nodes listed as guarded', values: [String(listed)], aim: `${count}` },
    { name: 'nodemaint nodes, s', values: [inFigures(best / 1_000)], aim: '< 3 at 1,000' },
    { name: 'bytes of nodemaint nodes, for each node', values: [inFigures(tableBytes / count)] },
    { name: 'bytes of a list of whole Nodes, for each node', values: [inFigures(wholeBytes / count)] },
    {
      name: 'requests of an idle agent for its report, per hour',
      values: [inFigures(HOURS_MS / PRESENCE_EVERY_MS)],
      aim: 'about 1',
    },
    { name: 'bytes of a report, both directions', values: [inFigures(reportBytes)] },
  ];
  const title = `the fleet view of ${count} nodes (${path.basename(import.meta.filename)})`;
  return { title, columns: [''], rows, growing: { 'nodemaint nodes': best }, nodes: count };
}

/** How long `nodemaint nodes` takes, and what the reports of the agents cost. */
export const FLEET: Case = { what: 'the fleet view, and the reports of agents', quick: 100, full: [100, 1_000], run };
