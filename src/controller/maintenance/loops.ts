/** The loops over NodeMaintenances and over the requests of their drains, and what the loops of drains share. */
import { stageOf } from '../../decide/maintenance/maintenance.ts';
import { hasBegun } from '../../decide/maintenance/recorded-node.ts';
import { type DueKey, type Loop, type Tell } from '../../kube/loop/loops.ts';
import type { Changes } from '../changes.ts';
import type { ControllerContext } from '../context.ts';
import { createEvictionIntents, type EvictionIntents } from './wanted-evictions.ts';
import { createMaintenanceReconciler } from './reconciler.ts';
import { createRefusals, type Refusals } from './refusals.ts';
import type { GroupedEvictions } from '../eviction/grouped-pods.ts';
import { createRequestReconciler } from './requests.ts';

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
  readonly intents: EvictionIntents;
  readonly refused: { readonly nodes: Refusals; readonly requests: Refusals };
  readonly tell: Tell<Changes>;
}

export function createDrains({ clock }: ControllerContext, tell: Tell<Changes>): Drains {
  const refusedNode = (node: string): void => {
    tell('RefusedNode', node);
  };
  const refusedRequest = (key: string): void => {
    tell('RefusedRequest', key);
  };
  const refused = { nodes: createRefusals(clock, refusedNode), requests: createRefusals(clock, refusedRequest) };
  return { intents: createEvictionIntents(), refused, tell };
}

/** Those of a node are not looked at where they are complete. */
function concernsOf(
  { maintenances, requests, pods }: ControllerContext,
  { intents }: Drains,
): Loop<Changes>['concerns'] {
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
  const nodesOfPod = (pod: string): readonly string[] => {
    const { nodeName } = pods.get(pod)?.spec ?? {};
    return nodeName === undefined ? [] : [nodeName];
  };
  return {
    // Drains that share nodes go by what each of them has reached. Of one that asks for pods most changes are our own writes.
    Maintenance: (name) => [...(intents.isAsking(name) ? [] : [name]), ...soon(maintenances.groups.of(name).members)],
    Node: ({ name, maintenances: others, isOtherwiseCordoned }) => [
      ...others,
      ...(isOtherwiseCordoned ? nowOn(name) : soonOn(name)),
    ],
    Pod: ({ nodes, turned }) => nodes.flatMap((node) => (turned.includes(node) ? nowOn(node) : soonOn(node))),
    Request: (change) => soonOn(...change.nodes, ...change.pods.flatMap(nodesOfPod)),
    Reach: (node) => soonOn(node),
    DrainOrder: (node) => soonOn(node),
    RefusedNode: on,
    RefusedRequest: (key) => [...intents.of(key).keys(), ...requests.nodesOf(key).flatMap(on)],
  };
}

function orderOf({ maintenances, options }: ControllerContext, { intents }: Drains): Required<Loop<Changes>>['order'] {
  /** Where the number of nodes is limited, drains begin one by one, each after what the one before it has written. */
  const isBeginning = (name: string): boolean => {
    const known = maintenances.get(name);
    if (options.maxParallelNodes === undefined || known === undefined) return false;
    return stageOf(known) === 'Drain' && !hasBegun(known.status);
  };
  return {
    // Many drains begin before the counts of those that are under way are brought up to date.
    isUrgent: (name) => maintenances.isUrgent(name) || (maintenances.drains.names.has(name) && !intents.isAsking(name)),
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
  const { intents, refused, tell } = drains;
  const reconcile = createMaintenanceReconciler(context, {
    refused,
    want: (...wanted) => {
      tell('Wanted', intents.replace(...wanted));
    },
  });
  const concerns = concernsOf(context, drains);
  return { name: 'nodemaintenances', parallel: PARALLEL_STEPS, reconcile, order: orderOf(context, drains), concerns };
}

/** The loop over the requests of drains, by their keys; `grouped` evicts pods that have none. */
export function requesterLoop(
  context: ControllerContext,
  { intents, refused }: Drains,
  grouped: GroupedEvictions,
): Loop<Changes> {
  const { requests } = context;
  const onNode = (node: string): readonly string[] => [...requests.onNode(node)];
  const isUntouched = (node: string): boolean => onNode(node).length === 0;
  return {
    name: 'requester',
    parallel: PARALLEL_REQUESTS,
    reconcile: createRequestReconciler(context, intents, refused.requests, grouped),
    // With its first request the drain of a node begins.
    order: { isUrgent: (key) => [...intents.of(key).values()].some(({ node }) => isUntouched(node)) },
    concerns: {
      Wanted: (keys) => keys,
      Request: ({ key }) => [key],
      Pod: ({ key }) => requests.ofPod(key),
      Node: ({ name, isOtherForRequests }) => (isOtherForRequests ? onNode(name) : []),
      Reach: onNode,
    },
  };
}
