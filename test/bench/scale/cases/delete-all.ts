import { collectionPath, NODE_MAINTENANCES, objectPath } from '../../../../src/kube/resource.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { inParallel, pause } from '../../parallel.ts';
import { type Bench, type Case, nodeNames } from '../case.ts';
import { type ScaleCluster, send, startScaleCluster, USERS } from '../cluster.ts';
import { drainWithMaintenances, maintenancesOf } from '../drains.ts';
import { startController, untilQuiet } from '../program.ts';
import { type Finding, inFigures, type Row } from '../table.ts';

const PODS_PER_NODE = 2;
const PARALLEL = 16;
const NEW = 'new';
const COLLECTION = collectionPath(NODE_MAINTENANCES);

async function names({ client, signal }: ScaleCluster): Promise<readonly string[]> {
  const list = await send<{ items: readonly NodeMaintenance[] }>(client, { method: 'GET', path: COLLECTION }, signal);
  return list.items.map(({ metadata }) => metadata.name);
}

/** Makes a maintenance as soon as a third of the finished ones is gone; returns when, since the epoch. */
async function beginInTheMiddle(cluster: ScaleCluster, count: number): Promise<number> {
  while ((await names(cluster)).length > (count * 2) / 3) await pause(20, cluster.signal);
  const body = drainOf('bench-new', [NEW]);
  await send(cluster.clientOf(USERS.person), { method: 'POST', path: COLLECTION, body }, cluster.signal);
  return Date.now();
}

async function run({ program, signal }: Bench, count: number): Promise<Finding> {
  await using cluster = await startScaleCluster(signal);
  const nodes = nodeNames(count);
  await cluster.makeNodes([...nodes, NEW]);
  await using controller = await startController(program, cluster);
  await cluster.addPods(nodes, { perNode: PODS_PER_NODE });
  const maintenances = maintenancesOf('many', nodes);
  await drainWithMaintenances(cluster, maintenances);
  await inParallel(maintenances, PARALLEL, async ({ metadata }) => {
    const path = objectPath(NODE_MAINTENANCES, metadata);
    const body = { spec: { stage: 'Complete' } };
    await send(cluster.client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, signal);
  });
  await cluster.addPods([NEW], { perNode: PODS_PER_NODE });
  await untilQuiet(controller, signal);
  const [used, at, began] = [await controller.cpuMs(), Date.now(), performance.now()];
  const beginning = beginInTheMiddle(cluster, count);
  await cluster.controlPlane.kubectl(['delete', 'nm', '--all', '--timeout=110s']);
  const took = (performance.now() - began) / 1_000;
  const madeAt = await beginning;
  await cluster.untilGone();
  await pause(1_500, signal);
  const evictions = (await cluster.audit.callsSince(at)).filter(({ resource }) => resource === 'pods/eviction');
  const first = Math.min(...evictions.map(({ at }) => at)) - madeAt;
  const row = (name: string, value: number, aim = ''): Row => ({ name, aim, values: [inFigures(value)] });
  const perMaintenance = ((await controller.cpuMs()) - used) / count;
  return {
    title: `kubectl delete nm --all of ${count} finished maintenances of one node each`,
    columns: ['ours'],
    rows: [
      row('until none is left, s', took, '≤ 10 at 300'),
      row('a new one in the middle: first eviction after, ms', first, '≤ 2000'),
      row('controller processor per maintenance, ms', perMaintenance),
    ],
    growing: { 'seconds per maintenance': took / count, 'controller processor per maintenance': perMaintenance },
    nodes: count,
  };
}

/** The deletion of many finished maintenances at once. */
export const DELETE_ALL: Case = {
  what: 'kubectl delete nm --all of many finished maintenances, with a new one in the middle of it',
  quick: 60,
  full: [100, 300],
  run,
};
