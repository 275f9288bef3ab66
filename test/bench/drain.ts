/**
 * A node with 100 pods that take 30 s to end, drained by `kubectl drain` and by a NodeMaintenance, on one cluster in one
 * run: wall time, and what each asks of the API server. The nodes have no kubelets; a loop here takes the pods away.
 */
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Pod } from '../../src/api/pod.ts';
import { createSystemClock } from '../../src/host/clock.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts';
import { loadClusterAccess } from '../../src/kube/access/cluster.ts';
import { collectionPath, objectPath, PODS, sendForObject } from '../../src/kube/resource.ts';
import { createObjectCache } from '../../src/kube/watch.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { startProgram } from '../control-plane/process.ts';
import { installManifests } from '../support/commands/nodemaint.ts';
import { type AuditedCall, createAuditLog } from './audit-log.ts';
import { makeTestFolder } from '../support/folder.ts';
import { drainOf } from '../support/maintenance/objects.ts';

const PODS_PER_NODE = 100;
const END_MS = 30_000;
const DRAINER = 'kubectl-drain';
const PERSON = 'person';
const CONTROLLER = 'system:serviceaccount:nodemaint-system:nodemaint-controller';

/** Takes pods away some time after their deletion began, as kubelets do. */
async function playKubelets(client: KubeClient, signal: AbortSignal): Promise<void> {
  const ending = new Set<string>();
  const end = ({ metadata }: Pod): void => {
    const preconditions = { uid: metadata.uid };
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions };
    void sendForObject(client, { method: 'DELETE', path: objectPath(PODS, metadata), body }, [404, 409], signal).catch(
      () => undefined,
    );
  };
  const pods = createObjectCache<Pod>(
    { resource: PODS },
    (key) => {
      const pod = pods.get(key);
      if (pod?.metadata.deletionTimestamp === undefined || ending.has(key)) return;
      ending.add(key);
      setTimeout(end, END_MS, pod).unref();
    },
    { client, clock: createSystemClock(), log: createLog('error', 'kubelets') },
  );
  await pods.run(signal);
}

async function makeNode(client: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name } };
  await sendForObject(client, { method: 'POST', path: '/api/v1/nodes', body: node }, [], signal);
  for (let index = 0; index < PODS_PER_NODE; index += 1) {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `${name}-${index}` },
      spec: {
        nodeName: name,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'main', image: 'none.invalid/none' }],
      },
    };
    await sendForObject(client, { method: 'POST', path: collectionPath(PODS, 'default'), body: pod }, [], signal);
  }
}

/** Runs kubectl to its end; returns the seconds it took. */
async function time(controlPlane: ControlPlane, kubeconfig: string, commands: readonly string[][]): Promise<number> {
  const began = performance.now();
  for (const command of commands) {
    await promisify(execFile)(controlPlane.binaries.kubectl, ['--kubeconfig', kubeconfig, ...command]);
  }
  return (performance.now() - began) / 1000;
}

function table(kubectl: number, ours: number, calls: readonly AuditedCall[]): string {
  const of = (users: readonly string[]): readonly AuditedCall[] => calls.filter(({ user }) => users.includes(user));
  const byVerb = (some: readonly AuditedCall[]): string => {
    const counts = new Map<string, number>();
    for (const { verb, resource } of some) {
      const name = `${verb} ${resource}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const ranked = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, 8);
    return ranked.map(([name, count]) => `    ${(count / PODS_PER_NODE).toFixed(2)} ${name}`).join('\n');
  };
  const [theirs, own] = [of([DRAINER]), of([PERSON, CONTROLLER])];
  return [
    `drain of a node with ${PODS_PER_NODE} pods that take ${END_MS / 1000} s to end`,
    `  wall time: kubectl drain ${kubectl.toFixed(1)} s; NodeMaintenance ${ours.toFixed(1)} s; ratio ${(ours / kubectl).toFixed(2)} (aim: at most 1)`,
    `  requests per pod: kubectl ${(theirs.length / PODS_PER_NODE).toFixed(1)}; person and controller ${(own.length / PODS_PER_NODE).toFixed(1)}; ratio ${(own.length / theirs.length).toFixed(2)} (aim: below 0.5)`,
    '  of kubectl, per pod:',
    byVerb(theirs),
    '  of the person and the controller, per pod:',
    byVerb(own),
  ].join('\n');
}

/** Runs the bench with the program `command` on a control plane of its own and prints the figures. */
export async function benchDrain(command: readonly [string, ...string[]], signal: AbortSignal): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const folder = await makeTestFolder('bench');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const audit = await createAuditLog(folder, [DRAINER, PERSON, CONTROLLER]);
  const controlPlane = stack.use(await startControlPlane({ apiServerFlags: audit.flags }, signal));
  const controllerConfig = await installManifests(controlPlane);
  stack.use(
    startProgram(
      [...command, 'controller', '--kubeconfig', controllerConfig, '--leader-elect=false'],
      path.join(folder, 'log'),
    ),
  );
  const client = createKubeClient(await loadClusterAccess(controlPlane.adminKubeconfig), 'bench');
  const stop = new AbortController();
  const kubelets = playKubelets(client, AbortSignal.any([signal, stop.signal]));
  stack.defer(async () => {
    stop.abort();
    await kubelets;
    client.close();
  });
  for (const name of ['node-k', 'node-n']) await makeNode(client, name, signal);
  const [drainer, person] = await Promise.all(
    [DRAINER, PERSON].map((user) => controlPlane.kubeconfigFor(user, ['system:masters'])),
  );
  const began = Date.now();
  const kubectl = await time(controlPlane, drainer ?? '', [['drain', 'node-k', '--force', '--timeout=300s']]);
  const maintenance = drainOf('bench', ['node-n']);
  const file = path.join(folder, 'maintenance.json');
  await writeFile(file, JSON.stringify(maintenance));
  const ours = await time(controlPlane, person ?? '', [
    ['apply', '-f', file],
    ['wait', '--for=condition=Drained', 'nm/bench', '--timeout=300s'],
  ]);
  console.log(table(kubectl, ours, await audit.callsSince(began)));
}
