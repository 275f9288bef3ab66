/** The loops over NodeMaintenances and over the requests of their drains, and what the loops of drains share. */
import type { Pod } from '../../api/pod.ts';
import { after, type DueKey, type Loop } from '../../kube/loop/loops.ts';
import { targetedPods } from '../../decide/node/leaving.ts';
import { hasBegun } from '../../decide/maintenance/recorded-node.ts';
import { drainPodOf } from '../../decide/pod.ts';
import { requestKeyOf } from '../cache/pods.ts';
import type { Changes } from '../changes.ts';
import type { ControllerContext } from '../context.ts';
import { MaintenanceReconciler } from './reconciler.ts';
import type { Refusals } from './refusals.ts';
import type { GroupedEvictions } from '../eviction/grouped-pods.ts';
import type { EvictionRoom } from '../eviction/limits.ts';
import { DrainRequests } from './requests.ts';

const PARALLEL_STEPS = 32;
const PARALLEL_REQUESTS = 16;
/**
 * Each pod of a node is some changes, which are looked at together after this time: the more drains there are, and the more nodes
 * the maintenance has, the longer.
 */
const SOON_MS = { least: 100, perDrain: 10, perNode: 0.5, most: 2_000 };
/** A maintenance of more nodes is not looked at for each of them at once. */
const FEW_NODES = 8;

/** What the loops of drains share. */
interface Drains {
  readonly refused: Refusals;
  readonly room: EvictionRoom;
}

/** Whether it is a drain that has begun. */
function isUnderWay(maintenances: ControllerContext['maintenances'], name: string): boolean {
  return maintenances.drains.names.has(name) && hasBegun(maintenances.get(name)?.status);
}

/** Those of a node are not looked at where they are complete. */
function concernsOf({ maintenances, requests, pods }: ControllerContext): Loop<Changes>['concerns'] {
  const on = (node: string): readonly string[] => maintenances.unsettledOn(node);
  const soon = (names: Iterable<string>): readonly DueKey[] =>
    [...names].map((key) => {
      const ms = Math.max(
        maintenances.drains.names.size * SOON_MS.perDrain,
        maintenances.sizeOf(key) * SOON_MS.perNode,
      );
      return { key, afterMs: Math.min(SOON_MS.most, Math.max(SOON_MS.least, ms)) };
    });
  const soonOn = (...nodes: readonly string[]): readonly DueKey[] => soon(nodes.flatMap(on));
  const nowOn = (node: string): readonly DueKey[] => {
    return on(node).flatMap((name) => (maintenances.sizeOf(name) <= FEW_NODES ? [name] : soon([name])));
  };
  const nodesOf = (pod: Pod | undefined): readonly string[] =>
    pod?.spec.nodeName === undefined ? [] : [pod.spec.nodeName];
  return {
    // Drains that share nodes go by what each of them has reached. Of one that has begun most changes are our own writes.
    Maintenance: (name) => [
      ...(isUnderWay(maintenances, name) ? [] : [name]),
      ...soon(maintenances.groups.of(name).members),
    ],
    Node: ({ name, maintenances: others }) => [...others, ...soonOn(name)],
    Pod: ({ nodes, turned }) => nodes.flatMap((node) => (turned.includes(node) ? nowOn(node) : soonOn(node))),
    Request: (change) => soonOn(...change.nodes, ...change.pods.flatMap((key) => nodesOf(pods.get(key)))),
    Refused: (key) => [key, ...nodesOf(pods.ofRequest(key)), ...requests.nodesOf(key)].flatMap(on),
  };
}

function orderOf({ maintenances, options }: ControllerContext): Required<Loop<Changes>>['order'] {
  const isNew = (name: string): boolean => maintenances.drains.names.has(name) && !isUnderWay(maintenances, name);
  /** Where the number of nodes is limited, drains begin one by one, each after what the one before it has written. */
  const isBeginning = (name: string): boolean => {
    return options.maxParallelNodes !== undefined && isNew(name);
  };
  return {
    // Many drains begin before the counts of those that are under way are brought up to date.
    isUrgent: (name) => maintenances.isUrgent(name) || isNew(name),
    // What drains that share nodes have reached is decided one by one, each from what the one before it has written.
    hasToWait: (name, running) => {
      for (const other of running) {
        if (maintenances.areDecidedTogether(name, other) || (isBeginning(name) && isBeginning(other))) return true;
      }
      return false;
    },
  };
}

/** The loop over NodeMaintenances, by their names. */
export function maintenanceLoop(context: ControllerContext, drains: Drains): Loop<Changes> {
  const { reconcile } = new MaintenanceReconciler(context, drains);
  const [order, concerns] = [orderOf(context), concernsOf(context)];
  return { name: 'nodemaintenances', parallel: PARALLEL_STEPS, reconcile, order, concerns };
}

/** The loop over the requests of drains, by their keys; `grouped` evicts pods that have none. */
export function requesterLoop(context: ControllerContext, drains: Drains, grouped: GroupedEvictions): Loop<Changes> {
  const { requests, pods, nodes, maintenances } = context;
  /** By the names of nodes: with this request the drain of the node begins. */
  const firsts = new Map<string, string>();
  /** In the order of the plan: the requests that are to be made, and then those that are there. */
  const onNode = (name: string): readonly string[] => {
    const node = nodes.get(name);
    const seen = { pods: () => pods.on(name), maintenances: maintenances.on(name) };
    const targeted = node === undefined ? [] : targetedPods({ node, ...seen }).map(requestKeyOf);
    const [first] = targeted;
    if (first === undefined) firsts.delete(name);
    else firsts.set(name, first);
    return [...new Set([...targeted, ...requests.onNode(name)])];
  };
  /** Pods that others need leave when these have gone, or the volumes of the node. */
  const needed = (name: string): readonly DueKey[] => {
    if (maintenances.unsettledOn(name).length === 0) return [];
    const staying = pods.on(name).filter((pod) => drainPodOf(pod).order !== undefined);
    return after(SOON_MS.least, staying.map(requestKeyOf));
  };
  const isFirst = (key: string): boolean => {
    const { nodeName = '' } = pods.ofRequest(key)?.spec ?? {};
    return firsts.get(nodeName) === key && [...requests.onNode(nodeName)].length === 0;
  };
  return {
    name: 'requester',
    parallel: PARALLEL_REQUESTS,
    reconcile: new DrainRequests(context, { ...drains, grouped }).reconcile,
    // The first request of each node goes before the others of all nodes.
    order: { isUrgent: isFirst },
    concerns: {
      Request: ({ key }) => [key],
      Pod: ({ key, nodes: on }) => {
        const pod = pods.get(key);
        if (pod === undefined) return [...requests.ofPod(key), ...on.flatMap(needed)];
        const isDrained = on.some((node) => maintenances.unsettledOn(node).length > 0);
        return [...requests.ofPod(key), ...after(SOON_MS.least, isDrained ? [requestKeyOf(pod)] : [])];
      },
      Node: ({ name, isOtherForRequests }) => (isOtherForRequests ? onNode(name) : needed(name)),
      Refused: onNode,
    },
  };
}
