import type { AuditedCall } from '../../audit-log.ts';
import { pause } from '../../parallel.ts';
import { percentile } from '../../quantile.ts';
import { type Bench, type Case, nodeNames } from '../case.ts';
import { startScaleCluster, USERS } from '../cluster.ts';
import { deletePods, drainWithMaintenances, maintenancesOf } from '../drains.ts';
import { startController, untilQuiet } from '../program.ts';
import { type Finding, inFigures, type Row } from '../table.ts';

const PODS_PER_NODE = 5;
/** 1,000 nodes begin within a minute; fewer nodes begin at the same rate. */
const PACE_MS = 60;

/** Waits until it is the turn of the node with this index. */
function createPace(signal: AbortSignal): (index: number) => Promise<void> {
  let began: number | undefined;
  return async (index) => {
    began ??= performance.now();
    await pause(Math.max(0, began + index * PACE_MS - performance.now()), signal);
  };
}

const EVICTION = 'create pods/eviction';

/**
 * By verb and resource, milliseconds from the creation of each node's maintenance to the first call of the controller that is
 * for this node; `nodeOf` says which node an EvictionRequest is for.
 */
function firstCalls(
  calls: readonly AuditedCall[],
  nodeOf: ReadonlyMap<string, string>,
): ReadonlyMap<string, readonly number[]> {
  const created = new Map<string, number>();
  const firsts = new Map<string, Map<string, number>>();
  for (const { user, verb, resource, name, at } of calls) {
    const node = nodeOf.get(name) ?? name.replace(/^bench-/, '').split('.')[0] ?? '';
    if (user === USERS.person) created.set(node, at);
    const what = `${verb} ${resource}`;
    const byNode = firsts.get(what) ?? new Map<string, number>();
    byNode.set(node, Math.min(at, byNode.get(node) ?? Infinity));
    if (user === USERS.controller) firsts.set(what, byNode);
  }
  const since = ([node, at]: readonly [string, number]): number[] => {
    const from = created.get(node);
    return from === undefined ? [] : [at - from];
  };
  return new Map([...firsts].map(([what, byNode]) => [what, [...byNode].flatMap(since)]));
}

/** Milliseconds from the turn of each node to the moment at which its first DELETE came. */
function firstDeletions(calls: readonly AuditedCall[], nodes: readonly string[]): readonly number[] {
  const deleted = new Map<string, number>();
  for (const { name, at } of calls) {
    const node = name.split('.')[0] ?? '';
    deleted.set(node, Math.min(at, deleted.get(node) ?? Infinity));
  }
  const began = Math.min(...deleted.values());
  return nodes.map((node, index) => (deleted.get(node) ?? Infinity) - began - index * PACE_MS);
}

async function run({ program, signal }: Bench, count: number): Promise<Finding> {
  await using cluster = await startScaleCluster(signal);
  const nodes = nodeNames(count);
  const pods = count * PODS_PER_NODE;
  await cluster.makeNodes(nodes);
  await cluster.addPods(nodes, PODS_PER_NODE);
  const deleted = await deletePods(cluster, nodes, createPace(signal));
  await using controller = await startController(program, cluster);
  await cluster.addPods(nodes, PODS_PER_NODE);
  const nodeOf = new Map(cluster.pods().map(({ metadata, spec }) => [metadata.uid ?? '', spec.nodeName ?? '']));
  await untilQuiet(controller, signal);
  const [used, looks, from] = [await controller.cpuMs(), await controller.looks(), Date.now()];
  const ours = await drainWithMaintenances(cluster, maintenancesOf('many', nodes), createPace(signal));
  const perPod = ((await controller.cpuMs()) - used) / pods;
  const looksPerPod = ((await controller.looks()) - looks) / pods;
  const seconds = (await controller.seconds()).filter(({ at }) => at > from);
  const worst = (of: 'lateMs' | 'busyMs' | 'residentMiB'): string =>
    inFigures(Math.max(...seconds.map((each) => each[of])));
  const both = (name: string, a: string, b: string, aim = ''): Row => ({ name, aim, values: [a, b] });
  const firsts = firstCalls(ours.calls, nodeOf);
  const waits = firsts.get(EVICTION) ?? [];
  const chain = [...firsts]
    .filter(([, all]) => all.length === count)
    .map(([what, all]) => both(`  ${what}, p50 / p99`, '', `${percentile(all, 0.5)} / ${percentile(all, 0.99)}`));
  const bare = firstDeletions(deleted.calls, nodes);
  return {
    title: `${count} maintenances of one node each, one every ${PACE_MS} ms, ${PODS_PER_NODE} pods each`,
    columns: ['plain DELETE', 'ours'],
    rows: [
      both('all pods gone, s', inFigures(deleted.gone), inFigures(ours.gone)),
      both('all maintenances Drained, s', '', inFigures(ours.told)),
      both('first eviction of a node, p50, ms', inFigures(percentile(bare, 0.5)), inFigures(percentile(waits, 0.5))),
      both(
        'first eviction of a node, p99, ms',
        inFigures(percentile(bare, 0.99)),
        inFigures(percentile(waits, 0.99)),
        '≤ 2000',
      ),
      both('first call for a node, ms:', '', ''),
      ...chain,
      both(
        'API server processor per pod, ms',
        inFigures(deleted.apiServerMs / pods),
        inFigures(ours.apiServerMs / pods),
      ),
      both('controller processor per pod, ms', '', inFigures(perPod), 'at 1000 nodes ≤ 1.3 times that at 100'),
      both('looks at maintenances per pod', '', inFigures(looksPerPod)),
      both('event loop late at most, ms', '', worst('lateMs')),
      both('event loop busy at most, ms', '', worst('busyMs'), '≤ 250'),
      both('resident memory at most, MiB', '', worst('residentMiB')),
      both('Lease lost, times', '', String(await controller.lostLeases()), '0'),
    ],
    growing: {
      'controller processor per pod': perPod,
      'looks per pod': looksPerPod,
      'API server processor per pod': ours.apiServerMs / pods,
    },
    nodes: count,
  };
}

/** Very many nodes that go down within a minute, each with its own maintenance. */
export const STORM: Case = {
  what: 'a maintenance for each node, 1,000 a minute: processor time, the Lease, the first eviction of each node',
  quick: 100,
  full: [100, 300, 1_000],
  run,
};
