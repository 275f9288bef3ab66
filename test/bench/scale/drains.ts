/** The ways to empty nodes that the bench compares: plain deletion, `kubectl drain`, and maintenances. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { collectionPath, NODE_MAINTENANCES, objectPath, PODS } from '../../../src/kube/resource.ts';
import { sendForObject } from '../../../src/kube/request.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { AuditedCall } from '../audit-log.ts';
import { inParallel, pause } from '../parallel.ts';
import { cpuMs } from '../process-figures.ts';
import { type ScaleCluster, send, USERS } from './cluster.ts';
import { watchMaintenances } from './maintenances.ts';

/** What a way to empty nodes took. */
export interface Drained {
  /** Seconds until the last pod was gone. */
  readonly gone: number;
  /** Seconds until whoever asked for it was told that all is done. */
  readonly told: number;
  readonly apiServerMs: number;
  /** What our side asked of the API server meanwhile. */
  readonly calls: readonly AuditedCall[];
}

const WORKERS = 8;
const PARALLEL = 16;
/** Time for what is left to be written, and for the audit log. */
const AFTER_MS = 1_500;
const DELETED_MS = 600_000;

interface List {
  readonly items: readonly NodeMaintenance[];
}

/** Runs a way to empty nodes and measures it. */
async function measure(
  cluster: ScaleCluster,
  users: readonly string[],
  drain: () => Promise<{ readonly gone: number; readonly told: number }>,
): Promise<Drained> {
  const pid = cluster.controlPlane.apiServerPid() ?? 0;
  const [at, usedBefore, began] = [Date.now(), await cpuMs(pid), performance.now()];
  const { gone, told } = await drain();
  await pause(AFTER_MS, cluster.signal);
  const apiServerMs = (await cpuMs(pid)) - usedBefore;
  const calls = (await cluster.audit.callsSince(at)).filter(({ user }) => users.includes(user));
  return { gone: (gone - began) / 1_000, told: (told - began) / 1_000, apiServerMs, calls };
}

/** Deletes all pods of the nodes with plain DELETEs. */
export async function deletePods(cluster: ScaleCluster, nodes: readonly string[]): Promise<Drained> {
  const client = cluster.clientOf(USERS.deleter);
  const byNode = Map.groupBy(cluster.pods(), ({ spec }) => spec.nodeName ?? '');
  return await measure(cluster, [USERS.deleter], async () => {
    await inParallel(nodes, PARALLEL, async (node) => {
      for (const { metadata } of byNode.get(node) ?? []) {
        await send(client, { method: 'DELETE', path: objectPath(PODS, metadata) }, cluster.signal);
      }
    });
    const gone = await cluster.untilGone();
    return { gone, told: gone };
  });
}

/** Drains the nodes with `kubectl drain`, so many at a time. */
export async function drainWithKubectl(cluster: ScaleCluster, nodes: readonly string[]): Promise<Drained> {
  const { binaries } = cluster.controlPlane;
  const kubeconfig = await cluster.controlPlane.kubeconfigFor(USERS.drainer, ['system:masters']);
  const own = ['--kubeconfig', kubeconfig, '--cache-dir', path.join(cluster.folder, 'kubectl-cache')];
  return await measure(cluster, [USERS.drainer], async () => {
    await inParallel(nodes, WORKERS, async (node) => {
      const args = [...own, 'drain', node, '--force', '--ignore-daemonsets', '--timeout=600s'];
      await promisify(execFile)(binaries.kubectl, args, { signal: cluster.signal });
    });
    const told = performance.now();
    return { gone: await cluster.untilGone().then(() => told), told };
  });
}

/** One maintenance for all nodes, or one for each of them. */
export type Shape = 'one' | 'many';

/** The maintenances of a shape. */
export function maintenancesOf(shape: Shape, nodes: readonly string[]): readonly NodeMaintenance[] {
  return shape === 'one'
    ? [drainOf('bench', nodes)]
    : nodes.map((node) => drainOf(`bench-${node}`.slice(0, 63), [node]));
}

/** What a drain by maintenances took, with the size of the largest one. */
export interface MaintenanceDrained extends Drained {
  /** The largest maintenance that was stored, in bytes of JSON. */
  readonly largestBytes: number;
}

/** Drains by maintenances, until all pods are gone and all maintenances are Drained. */
export async function drainWithMaintenances(
  cluster: ScaleCluster,
  maintenances: readonly NodeMaintenance[],
): Promise<MaintenanceDrained> {
  const client = cluster.clientOf(USERS.person);
  await using watched = watchMaintenances(cluster);
  const drained = await measure(cluster, [USERS.person, USERS.controller], async () => {
    const path = collectionPath(NODE_MAINTENANCES);
    const gone = cluster.untilGone();
    const made = inParallel(maintenances, PARALLEL, async (body) => {
      await send(client, { method: 'POST', path, body }, cluster.signal);
    });
    const [goneAt] = await Promise.all([gone, made]);
    return { gone: goneAt, told: await watched.untilDrained(maintenances.length) };
  });
  return { ...drained, largestBytes: watched.largestBytes() };
}

/** What is left of maintenances goes away: they are deleted, and their requests with them. */
export async function deleteMaintenances({ client, signal }: ScaleCluster): Promise<void> {
  const list = async (): Promise<readonly NodeMaintenance[]> =>
    (await send<List>(client, { method: 'GET', path: collectionPath(NODE_MAINTENANCES) }, signal)).items;
  // kubectl deletes them one after the other: a thousand take it minutes.
  await inParallel(await list(), PARALLEL, async ({ metadata }) => {
    const path = objectPath(NODE_MAINTENANCES, metadata);
    await sendForObject(client, { method: 'DELETE', path }, [404], signal);
  });
  const isEmpty = async (): Promise<boolean> => (await list()).length === 0;
  await waitFor('all maintenances are gone', isEmpty, { timeoutMs: DELETED_MS, signal });
}
