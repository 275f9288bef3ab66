import type { AuditedCall } from '../../audit-log.ts';
import type { Bench, Case } from '../case.ts';
import { nodeNames } from '../case.ts';
import { startScaleCluster } from '../cluster.ts';
import {
  deleteMaintenances,
  deletePods,
  type Drained,
  drainWithKubectl,
  drainWithMaintenances,
  maintenancesOf,
  type Shape,
} from '../drains.ts';
import { startController, untilQuiet } from '../program.ts';
import { type Finding, inFigures, type Row } from '../table.ts';

const PODS_PER_NODE = 5;
const SHOWN_CALLS = 12;
/** Drained first by each way: the first drain compiles policies and code. */
const WARM_UP = ['warm-up'];

/** Whether the call belongs to the drain: the Lease and the watches cost the same without one. */
function isOfDrain({ resource, verb }: AuditedCall): boolean {
  return resource !== 'leases' && verb !== 'watch';
}

/** The calls by verb and resource, the most frequent ones first, for each pod. */
function callRows(calls: readonly AuditedCall[], pods: number): readonly Row[] {
  const name = ({ applied, verb, resource, code }: AuditedCall): string =>
    `  ${applied ? 'apply' : verb} ${resource}${code < 400 ? '' : `, answered ${code}`}`;
  const ranked = [...Map.groupBy(calls, name)].toSorted(([, a], [, b]) => b.length - a.length).slice(0, SHOWN_CALLS);
  return ranked.map(([what, some]) => ({ name: what, values: ['', '', inFigures(some.length / pods)] }));
}

/** The rows that the three ways have in common. */
export function ratioRows(deleted: Drained, kubectl: Drained, ours: Drained, pods: number): readonly Row[] {
  const row = (name: string, aim: string, of: (drained: Drained) => number): Row => {
    const values = [deleted, kubectl, ours].map(of);
    return { name, aim, values: [...values, of(ours) / of(kubectl)].map(inFigures) };
  };
  const requests = ({ calls }: Drained): number => calls.filter(isOfDrain).length / pods;
  return [
    row('all pods gone, s', '', ({ gone }) => gone),
    row('told that all is done, s', 'ratio ≤ 1.0', ({ told }) => told),
    row('API server processor per pod, ms', 'ratio ≤ 1.4', ({ apiServerMs }) => apiServerMs / pods),
    row('requests per pod', 'ours ≤ 4.0', requests),
  ];
}

async function compare({ program, signal }: Bench, shape: Shape, count: number): Promise<Finding> {
  await using cluster = await startScaleCluster(signal);
  const nodes = nodeNames(count);
  const pods = count * PODS_PER_NODE;
  await cluster.makeNodes([...nodes, ...WARM_UP]);
  await cluster.addPods(WARM_UP, PODS_PER_NODE);
  await drainWithKubectl(cluster, WARM_UP);
  await cluster.addPods(nodes, PODS_PER_NODE);
  const deleted = await deletePods(cluster, nodes);
  await cluster.addPods(nodes, PODS_PER_NODE);
  const kubectl = await drainWithKubectl(cluster, nodes);
  await cluster.uncordon(nodes);
  await using controller = await startController(program, cluster);
  await cluster.addPods(WARM_UP, PODS_PER_NODE);
  await drainWithMaintenances(cluster, maintenancesOf('many', WARM_UP));
  await deleteMaintenances(cluster);
  await cluster.addPods(nodes, PODS_PER_NODE);
  await untilQuiet(controller, signal);
  const [used, looks, from] = [await controller.cpuMs(), await controller.looks(), Date.now()];
  const ours = await drainWithMaintenances(cluster, maintenancesOf(shape, nodes));
  const perPod = ((await controller.cpuMs()) - used) / pods;
  const looksPerPod = ((await controller.looks()) - looks) / pods;
  const seconds = (await controller.seconds()).filter(({ at }) => at > from);
  const most = (of: 'lateMs' | 'busyMs'): string => inFigures(Math.max(...seconds.map((each) => each[of])));
  const only = (name: string, value: string, aim = ''): Row => ({ name, aim, values: ['', '', value] });
  return {
    title: `${count} nodes × ${PODS_PER_NODE} pods, ${shape === 'one' ? 'one maintenance' : 'a maintenance for each node'}`,
    columns: ['plain DELETE', 'kubectl drain', 'ours', 'ours ÷ kubectl'],
    rows: [
      ...ratioRows(deleted, kubectl, ours, pods),
      only('controller processor per pod, ms', inFigures(perPod)),
      only('looks at maintenances per pod', inFigures(looksPerPod)),
      only('event loop late at most, ms', most('lateMs')),
      only('event loop busy at most, ms', most('busyMs'), '≤ 250'),
      only('Lease lost, times', String(await controller.lostLeases()), '0'),
      only('largest maintenance, kB', inFigures(ours.largestBytes / 1_000)),
      only('requests of ours, per pod:', ''),
      ...callRows(ours.calls.filter(isOfDrain), pods),
    ],
    growing: {
      'controller processor per pod': perPod,
      'looks per pod': looksPerPod,
      'API server processor per pod': ours.apiServerMs / pods,
      'seconds per pod until all is told': ours.told / pods,
    },
    nodes: count,
  };
}

/** One maintenance over all nodes, beside `kubectl drain` and plain deletion. */
export const ONE: Case = {
  what: 'one maintenance over all nodes, beside kubectl drain and plain deletion',
  quick: 30,
  full: [10, 100, 300, 1_000],
  run: (bench, count) => compare(bench, 'one', count),
};

/** A maintenance for each node, all at once, beside `kubectl drain` and plain deletion. */
export const MANY: Case = {
  what: 'a maintenance for each node, all at once, beside kubectl drain and plain deletion',
  quick: 30,
  full: [10, 100, 300, 1_000],
  run: (bench, count) => compare(bench, 'many', count),
};
