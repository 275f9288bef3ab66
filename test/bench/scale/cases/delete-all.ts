import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { collectionPath, NODE_MAINTENANCES, objectPath } from '../../../../src/kube/resource.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { inParallel, pause } from '../../parallel.ts';
import { type Bench, type Case, nodeNames } from '../case.ts';
import { type ScaleCluster, send, startScaleCluster, USERS } from '../cluster.ts';
import { drainWithMaintenances, maintenancesOf } from '../drains.ts';
import { type BenchedController, startController, untilQuiet } from '../program.ts';
import { type Finding, inFigures, type Row } from '../table.ts';

const PODS_PER_NODE = 2;
const PARALLEL = 16;
const COLLECTION = collectionPath(NODE_MAINTENANCES);

/** What is deleted: maintenances that never began, that are drained, or that a person has completed after that. */
type State = 'Idle' | 'Drain' | 'Complete';

/** What the deletion took. */
interface Deleted {
  readonly seconds: number;
  /** Milliseconds from the creation of a new maintenance in the middle of it to the first eviction of its pods. */
  readonly newMs: number;
  readonly cpuMs: number;
}

async function names({ client, signal }: ScaleCluster): Promise<readonly string[]> {
  const list = await send<{ items: readonly NodeMaintenance[] }>(client, { method: 'GET', path: COLLECTION }, signal);
  return list.items.map(({ metadata }) => metadata.name);
}

/** Makes a maintenance of a new node as soon as a third of the others is gone; returns when, since the epoch. */
async function beginInTheMiddle(cluster: ScaleCluster, node: string, count: number): Promise<number> {
  while ((await names(cluster)).length > (count * 2) / 3) await pause(20, cluster.signal);
  const body = drainOf(node, [node]);
  await send(cluster.clientOf(USERS.person), { method: 'POST', path: COLLECTION, body }, cluster.signal);
  return Date.now();
}

/** Makes as many maintenances as there are nodes, and brings them into the state. */
async function make(cluster: ScaleCluster, nodes: readonly string[], state: State): Promise<void> {
  const maintenances = maintenancesOf('many', nodes).map((each) =>
    state === 'Idle' ? { ...each, spec: { ...each.spec, stage: state } } : each,
  );
  const client = cluster.client;
  if (state === 'Idle') {
    await inParallel(maintenances, PARALLEL, async (body) => {
      await send(client, { method: 'POST', path: COLLECTION, body }, cluster.signal);
    });
    return;
  }
  await cluster.uncordon(nodes);
  await cluster.addPods(nodes, { perNode: PODS_PER_NODE });
  await drainWithMaintenances(cluster, maintenances);
  if (state === 'Drain') return;
  await inParallel(maintenances, PARALLEL, async ({ metadata }) => {
    const path = objectPath(NODE_MAINTENANCES, metadata);
    const body = { spec: { stage: state } };
    await send(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, cluster.signal);
  });
}

/** Deletes all maintenances by kubectl, which does not wait for their end: it looks at five a second when it does. */
async function deleteAll(
  cluster: ScaleCluster,
  controller: BenchedController,
  count: number,
  newNode: string,
): Promise<Deleted> {
  await cluster.addPods([newNode], { perNode: PODS_PER_NODE });
  await untilQuiet(controller, cluster.signal);
  const [used, at, began] = [await controller.cpuMs(), Date.now(), performance.now()];
  const beginning = beginInTheMiddle(cluster, newNode, count);
  await cluster.controlPlane.kubectl(['delete', 'nm', '--all', '--wait=false']);
  const madeAt = await beginning;
  while ((await names(cluster)).some((name) => name !== newNode)) await pause(20, cluster.signal);
  const seconds = (performance.now() - began) / 1_000;
  await cluster.untilGone();
  await pause(1_500, cluster.signal);
  const evictions = (await cluster.audit.callsSince(at)).filter(({ resource }) => resource === 'pods/eviction');
  const newMs = Math.min(...evictions.map(({ at }) => at)) - madeAt;
  const cpuMs = (await controller.cpuMs()) - used;
  await cluster.controlPlane.kubectl(['delete', 'nm', '--all', '--timeout=300s']);
  return { seconds, newMs, cpuMs };
}

async function run({ program, signal }: Bench, count: number): Promise<Finding> {
  await using cluster = await startScaleCluster(signal);
  const nodes = nodeNames(count);
  const states: readonly State[] = ['Idle', 'Drain', 'Complete'];
  await cluster.makeNodes([...nodes, ...states.map((state) => `new-${state.toLowerCase()}`)]);
  await using controller = await startController(program, cluster);
  const found: Deleted[] = [];
  for (const state of states) {
    await make(cluster, nodes, state);
    found.push(await deleteAll(cluster, controller, count, `new-${state.toLowerCase()}`));
  }
  const row = (name: string, aim: string, of: (deleted: Deleted) => number): Row => {
    return { name, aim, values: found.map((each) => inFigures(of(each))) };
  };
  const drained = found[1]?.seconds ?? Number.NaN;
  return {
    title: `kubectl delete nm --all --wait=false of ${count} maintenances of one node each`,
    columns: ['never begun', 'drained', 'completed'],
    rows: [
      row('until none is left, s', '≤ 10 at 300', ({ seconds }) => seconds),
      row('a new one in the middle: eviction after, ms', '≤ 2000', ({ newMs }) => newMs),
      row('controller processor per maintenance, ms', '', ({ cpuMs }) => cpuMs / count),
    ],
    growing: {
      'seconds per maintenance': drained / count,
      'controller processor per maintenance': (found[1]?.cpuMs ?? Number.NaN) / count,
    },
    nodes: count,
  };
}

/** The deletion of many maintenances at once. */
export const DELETE_ALL: Case = {
  what: 'kubectl delete nm --all of many maintenances, with a new one in the middle of it',
  quick: 60,
  full: [100, 300],
  run,
};
