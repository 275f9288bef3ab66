import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../src/api/meta.ts';
import { COMPLETION_FINALIZER } from '../../src/api/names.ts';
import type { Pod } from '../../src/api/pod.ts';
import { selectsNode, stageOf } from '../../src/decide/maintenance/maintenance.ts';
import { podTypeOf } from '../../src/decide/pod.ts';
import {
  collectionPath,
  DISRUPTION_BUDGETS,
  EVICTION_REQUESTS,
  NODE_MAINTENANCES,
  NODES,
  objectPath,
  PODS,
  type Resource,
} from '../../src/kube/resource.ts';
import { checkGivenBack, checkLeftOvers } from './invariants/given-back.ts';
import { checkKeptAway } from './invariants/manifests.ts';
import { checkStatus, livePods } from './invariants/status.ts';
import type { Violation } from './invariants/violation.ts';
import { FOREIGN_FINALIZER, isDrained, nodeObject, REFUSED_LABEL } from './objects.ts';
import { type ClusterPart, disturbedAt, type World } from './world.ts';

/**
 * The world rests when nothing has changed for so long, and one replica has led. Counts are written once a second where at
 * most five drains are under way, and each five more take another second: histories beside this one count too.
 */
const QUIET_MS = 4_000;
const REST_MS = 10_000;
const SETTLE_MS = 20_000;
/** How long drains may take in which nothing blocks, and how long what they took may stay. */
const BOUND_MS = 20_000;
const LOOK_MS = 100;

const NO_GRACE = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 };

/** Makes what a history begins with: its namespaces and its nodes. */
export async function layOut(world: World): Promise<void> {
  for (const name of world.namespaces) {
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    await world.send({ method: 'POST', path: '/api/v1/namespaces', body });
  }
  for (const name of world.nodeNames) {
    await world.send({ method: 'POST', path: '/api/v1/nodes', body: nodeObject(world, name) });
  }
  const deadline = Date.now() + SETTLE_MS;
  for (const namespace of world.namespaces) {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
    while ((await world.send({ method: 'GET', path })) !== 200 && Date.now() < deadline) await sleep(LOOK_MS);
  }
}

function lastChangeAt(world: World): number {
  return world.changes.at(-1)?.at ?? 0;
}

/** Waits until nothing moves under one leader; returns whether that came to pass. */
async function untilRest(world: World): Promise<boolean> {
  const { replicas } = world.cluster;
  if (!(await replicas.settle(0, SETTLE_MS))) return false;
  const deadline = Date.now() + REST_MS;
  let losses = await replicas.losses();
  let ledSince = Date.now();
  while (Date.now() < deadline) {
    const since = Math.max(lastChangeAt(world), disturbedAt(world), ledSince);
    if (Date.now() - since > QUIET_MS) {
      // A leader that has lost the Lease and taken it again begins anew.
      const now = await replicas.losses();
      if (now === losses && (await replicas.settle(0, LOOK_MS))) return true;
      losses = now;
      ledSince = Date.now();
    }
    await sleep(LOOK_MS);
  }
  return false;
}

/** The manifests that the agent keeps away although it could bring them back. */
export async function keptAway(world: World): Promise<readonly Violation[]> {
  const { machine } = world;
  const nodes = world.nodes();
  const isRegistered = nodes.some(({ metadata }) => metadata.name === machine.nodeName);
  if (!machine.isAgentUp() || machine.mayGoDown() || !isRegistered) return [];
  if (await machine.waitsForItsEnd()) return [];
  return checkKeptAway(
    { nodes, pods: world.pods(), maintenances: world.maintenances() },
    machine.moves,
    machine.nodeName,
  );
}

/** Waits for rest, and judges what is told then; undefined where the world does not come to rest in time. */
export async function judgeAtRest(world: World): Promise<readonly Violation[] | undefined> {
  return await world.cluster.inPeace(async () => {
    if (!(await untilRest(world))) return undefined;
    return [...checkStatus(world), ...checkGivenBack(world), ...(await keptAway(world))];
  });
}

async function patch(world: ClusterPart, resource: Resource, object: KubeObject, body: object): Promise<void> {
  await world.send({ method: 'PATCH', path: objectPath(resource, object.metadata), body, patch: { kind: 'merge' } });
}

async function releaseFinalizers(
  world: ClusterPart,
  resource: Resource,
  objects: readonly KubeObject[],
): Promise<void> {
  for (const object of objects.filter(({ metadata }) => metadata.finalizers?.includes(FOREIGN_FINALIZER) === true)) {
    const finalizers = object.metadata.finalizers?.filter((each) => each !== FOREIGN_FINALIZER);
    await patch(world, resource, object, {
      metadata: { finalizers, resourceVersion: object.metadata.resourceVersion },
    });
  }
}

/** Takes away everything outside the product that may hold up a drain. */
export async function unblock(world: World): Promise<void> {
  world.stuck.clear();
  world.interceptors = 'declines';
  await world.machine.startAgent();
  for (const namespace of world.namespaces) {
    // An open one may still block: its status is written by kube-controller-manager, late on a busy machine.
    await world.send({ method: 'DELETE', path: objectPath(DISRUPTION_BUDGETS, { name: 'chaos', namespace }) });
  }
  for (const node of world.nodes()) {
    if (node.metadata.labels?.[REFUSED_LABEL] === undefined) continue;
    await patch(world, NODES, node, { metadata: { labels: { [REFUSED_LABEL]: null } } });
  }
  await releaseFinalizers(world, PODS, world.pods());
}

/** Why a pod may still be there, without names. */
function stateOf(world: World, pod: Pod): string {
  const request = world.requests().find(({ metadata }) => metadata.name === pod.metadata.uid);
  const ended = request?.status?.conditions?.find(({ type, status }) => type !== 'Progressing' && status === 'True');
  const active = request?.status?.activeInterceptors?.[0];
  const parts = [
    pod.metadata.deletionTimestamp === undefined ? '' : 'terminating',
    request === undefined ? 'no request' : ended === undefined ? `active ${active ?? 'nobody'}` : ended.type,
    request?.metadata.deletionTimestamp === undefined ? '' : 'request held by a finalizer',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

/** The drains that are not over, and why. */
export function unfinished(world: World): Violation[] {
  return world.maintenances().flatMap((maintenance): Violation[] => {
    const nodes = world.nodes().filter((node) => selectsNode(maintenance, node));
    if (stageOf(maintenance) !== 'Drain' || nodes.length === 0) return [];
    const { name } = maintenance.metadata;
    const left = nodes.flatMap((node) => livePods(world, node.metadata.name));
    if (left.length === 0 && isDrained(maintenance)) return [];
    const [pod] = left;
    const what = pod === undefined ? 'Drained does not come' : `a ${podTypeOf(pod)} pod stays (${stateOf(world, pod)})`;
    const detail = `${name}: ${pod?.metadata.name ?? ''} ${JSON.stringify(maintenance.status)}`;
    return [{ invariant: 'drained', what, detail }];
  });
}

/** Looks until nothing is found, or the bound is over since the last disturbance. */
async function untilNone(
  world: World,
  look: () => readonly Violation[] | Promise<readonly Violation[]>,
): Promise<readonly Violation[]> {
  const begun = Date.now();
  for (;;) {
    const found = await look();
    if (found.length === 0) return found;
    const isLed = await world.cluster.replicas.settle(0, SETTLE_MS);
    if (isLed && Date.now() > Math.max(begun, disturbedAt(world)) + BOUND_MS) return await look();
    await sleep(LOOK_MS);
  }
}

/** Unblocks the world, and waits for the ends of all drains. */
export async function judgeDrained(world: World): Promise<readonly Violation[]> {
  await unblock(world);
  const late = await untilNone(world, () => unfinished(world));
  return [...late, ...((await judgeAtRest(world)) ?? [])];
}

/** Ends all maintenances, some by the stage and some by deletion. */
export async function endMaintenances(world: World): Promise<void> {
  await world.machine.callOffShutdown();
  await releaseFinalizers(world, EVICTION_REQUESTS, world.requests());
  for (const [index, maintenance] of world.maintenances().entries()) {
    if (index % 2 === 0) await patch(world, NODE_MAINTENANCES, maintenance, { spec: { stage: 'Complete' } });
    else await world.send({ method: 'DELETE', path: objectPath(NODE_MAINTENANCES, maintenance.metadata) });
  }
}

/** Ends all maintenances and looks for what is left of them. */
export async function judgeLeftOvers(world: World, cordonedByPerson: boolean): Promise<readonly Violation[]> {
  await endMaintenances(world);
  return await untilNone(world, async () => [...checkLeftOvers(world, cordonedByPerson), ...(await keptAway(world))]);
}

/** Takes everything of a history off the cluster. */
export async function clean(world: ClusterPart): Promise<void> {
  for (const maintenance of world.maintenances()) {
    const { name, finalizers = [] } = maintenance.metadata;
    await world.send({ method: 'DELETE', path: objectPath(NODE_MAINTENANCES, { name }) });
    if (finalizers.some((each) => each !== COMPLETION_FINALIZER)) {
      await patch(world, NODE_MAINTENANCES, maintenance, { metadata: { finalizers: null } });
    }
  }
  for (const request of world.requests()) {
    await patch(world, EVICTION_REQUESTS, request, { metadata: { finalizers: null } });
  }
  for (const pod of world.pods()) await patch(world, PODS, pod, { metadata: { finalizers: null } });
  for (const namespace of world.namespaces) {
    await world.send({ method: 'DELETE', path: collectionPath(PODS, namespace), body: NO_GRACE });
    await world.send({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` });
  }
  for (const node of world.nodes()) {
    await world.send({ method: 'DELETE', path: objectPath(NODES, node.metadata) });
  }
}
