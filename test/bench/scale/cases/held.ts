import { type Bench, type Case, nodeNames } from '../case.ts';
import { isHeld, startScaleCluster, USERS } from '../cluster.ts';
import { drainWithMaintenances, maintenancesOf } from '../drains.ts';
import { startController, untilQuiet } from '../program.ts';
import { type Finding, inFigures, type Row } from '../table.ts';

const PODS_PER_NODE = 5;
const NAME_LENGTH = 63;
/** A third of the pods. */
const HELD_EVERY = 3;
/** The controller goes on for so long after the last free pod has gone: the status then names all that are held. */
const AFTER_MS = 10_000;

async function run({ program, signal }: Bench, count: number): Promise<Finding> {
  await using cluster = await startScaleCluster(signal);
  const nodes = nodeNames(count, NAME_LENGTH);
  await cluster.makeNodes(nodes);
  await using controller = await startController(program, cluster);
  await cluster.addPods(nodes, { perNode: PODS_PER_NODE, heldEvery: HELD_EVERY });
  await untilQuiet(controller, signal);
  const from = Date.now();
  const [used, held] = [await controller.cpuMs(), cluster.pods().filter(isHeld).length];
  const ours = await drainWithMaintenances(cluster, maintenancesOf('one', nodes), undefined, AFTER_MS);
  const calls = await cluster.audit.callsSince(from);
  const statuses = calls.filter(
    ({ user, resource }) => user === USERS.controller && resource === 'nodemaintenances/status',
  );
  const refused = statuses.filter(({ code }) => code >= 400 && code !== 409);
  const retried = calls.filter(({ resource, code }) => resource === 'pods/eviction' && code === 429).length;
  const seconds = (await controller.seconds()).filter(({ at }) => at > from);
  const busy = Math.max(...seconds.map(({ busyMs }) => busyMs));
  const row = (name: string, value: string, aim = ''): Row => ({ name, aim, values: [value] });
  const perPod = ((await controller.cpuMs()) - used) / (count * PODS_PER_NODE);
  return {
    title: `one maintenance over ${count} nodes with names of ${NAME_LENGTH} characters, ${PODS_PER_NODE} pods each, a third held by a budget`,
    columns: ['ours'],
    rows: [
      row('all pods gone that nothing holds, s', inFigures(ours.gone)),
      row('pods that are held, and still there', `${held}, ${cluster.pods().length}`, 'the same'),
      row('largest maintenance, kB', inFigures(ours.largestBytes / 1_000), '≤ 1000, also at 5,000 nodes'),
      row('largest maintenance, bytes per node', inFigures(ours.largestBytes / count)),
      row('writes of its status', String(statuses.length)),
      row('writes of its status that were refused', String(refused.length), '0'),
      row('evictions refused by the budget, per held pod', inFigures(retried / held)),
      row('controller processor per pod, ms', inFigures(perPod)),
      row('event loop busy at most, ms', inFigures(busy), '≤ 250'),
      row('Lease lost, times', String(await controller.lostLeases()), '0'),
    ],
    growing: { 'controller processor per pod': perPod, 'largest maintenance, bytes': ours.largestBytes },
    nodes: count,
  };
}

/** Long names and blocked pods: the largest status. */
export const HELD: Case = {
  what: 'one maintenance over nodes with long names, a third of the pods held by a budget: the size of its status',
  quick: 60,
  full: [100, 300, 1_000],
  run,
};
