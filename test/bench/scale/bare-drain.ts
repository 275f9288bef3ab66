/** The writes of a drain by a client that does nothing else: what they cost the API server at least. */
import type { EvictionRequest, EvictionRequestStatus } from '../../../src/api/eviction-request.ts';
import {
  CORDONED_ANNOTATION,
  EVICTION_REQUEST_API_VERSION,
  MAINTENANCE_REQUESTER,
  MAINTENANCE_UID_LABEL,
  NODE_LABEL,
  NODE_NOTE_ANNOTATION,
} from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { DEFAULT_DRAIN_PLAN } from '../../../src/decide/maintenance/drain-plan.ts';
import { decideEvictionRequest } from '../../../src/decide/eviction/request.ts';
import { rfc3339 } from '../../../src/decide/time.ts';
import type { KubeClient, Patch } from '../../../src/kube/client.ts';
import {
  collectionPath,
  EVICTION_REQUESTS,
  NODE_MAINTENANCES,
  NODES,
  objectPath,
  PODS,
} from '../../../src/kube/resource.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { inParallel } from '../parallel.ts';
import { type ScaleCluster, send, USERS } from './cluster.ts';
import { type Drained, measure } from './drains.ts';

const PARALLEL = 16;

function requestFor({ metadata: { name, namespace = '', uid = '' }, spec }: Pod): EvictionRequest {
  const labels = { bench: 'scale', [NODE_LABEL]: spec.nodeName ?? '', [MAINTENANCE_UID_LABEL]: `of-${spec.nodeName}` };
  return {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name: uid, namespace, labels },
    spec: { target: { pod: { name, uid } }, requesters: [{ name: MAINTENANCE_REQUESTER }] },
  };
}

/** The only status of a request whose pod is gone soon. */
function endOf(request: EvictionRequest, pod: Pod): EvictionRequestStatus {
  const first = decideEvictionRequest(request, pod, Date.now()).status;
  const begun = { ...request, ...(first === undefined ? {} : { status: first }) };
  return { ...first, ...decideEvictionRequest(begun, undefined, Date.now()).status, processedInterceptors: [] };
}

/** The status of the maintenance of one node with so many of its pods left. */
function statusOf(node: string, pods: number, left: number): object {
  const [is, message] = left === 0 ? ['True', 'All pods are gone.'] : ['False', `${left} pods are left.`];
  const at = rfc3339(Date.now());
  const drainTargets = left === 0 ? DEFAULT_DRAIN_PLAN : DEFAULT_DRAIN_PLAN.slice(0, 1);
  return {
    stageStatuses: [{ name: 'Drain', startTimestamp: at }],
    nodeStatuses: [
      {
        nodeRef: { name: node },
        drainTargets,
        drainPlanPosition: drainTargets.length,
        drainMessage: left === 0 ? 'All pods are gone' : 'Evacuating',
        podsPendingEvacuation: left,
        podsEvacuating: 0,
        podsAtStart: pods,
        progressPercent: left === 0 ? 100 : 0,
      },
    ],
    drainPlanPosition: drainTargets.length,
    conditions: [{ type: 'Drained', status: is, reason: 'Draining', message, lastTransitionTime: at }],
  };
}

function conditionsOf(node: string, isDrained: boolean): object {
  const at = rfc3339(Date.now());
  const times = { lastHeartbeatTime: at, lastTransitionTime: at };
  const message = `under maintenance by bench-${node}`;
  const begun = ['MaintenanceInProgress', 'DrainInProgress'].map((type) => {
    return { type, status: 'True', reason: 'NodeMaintenance', message, ...times };
  });
  const ended = { type: 'Drained', status: 'True', reason: 'DrainCompleted', message, ...times };
  return { status: { conditions: isDrained ? [ended] : begun } };
}

/** Who writes, and for what. */
interface Scope {
  readonly cluster: ScaleCluster;
  readonly controller: KubeClient;
}

async function evict({ cluster, controller }: Scope, pod: Pod): Promise<void> {
  const { signal } = cluster;
  const request = requestFor(pod);
  const path = objectPath(EVICTION_REQUESTS, request.metadata);
  const patch: Patch = { kind: 'apply', manager: MAINTENANCE_REQUESTER };
  await send(controller, { method: 'PATCH', path, body: request, patch }, signal);
  const { name, namespace, uid } = pod.metadata;
  const deleteOptions = { preconditions: { uid } };
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace }, deleteOptions };
  await send(controller, { method: 'POST', path: objectPath(PODS, pod.metadata, 'eviction'), body }, signal);
  const end = { metadata: {}, status: endOf(request, pod) };
  await send(controller, { method: 'PATCH', path: `${path}/status`, body: end, patch: { kind: 'merge' } }, signal);
}

async function drainNode(
  scope: Scope,
  maintenance: NodeMaintenance,
  node: string,
  pods: readonly Pod[],
): Promise<void> {
  const { cluster, controller } = scope;
  const patch = async (path: string, body: object, kind: 'merge' | 'strategic' = 'merge'): Promise<void> => {
    await send(controller, { method: 'PATCH', path, body, patch: { kind } }, cluster.signal);
  };
  const person = cluster.clientOf(USERS.person);
  await send(person, { method: 'POST', path: collectionPath(NODE_MAINTENANCES), body: maintenance }, cluster.signal);
  const [own, nodePath] = [objectPath(NODE_MAINTENANCES, maintenance.metadata), objectPath(NODES, { name: node })];
  await patch(own, { metadata: { finalizers: ['nodemaintenance.k8s.io/maintenance-completion'] } });
  const annotations = { [CORDONED_ANNOTATION]: 'bench', [NODE_NOTE_ANNOTATION]: '{"maintenances":[]}' };
  await patch(nodePath, { metadata: { annotations }, spec: { unschedulable: true } });
  await patch(`${own}/status`, { status: statusOf(node, pods.length, pods.length) });
  await patch(`${nodePath}/status`, conditionsOf(node, false), 'strategic');
  await Promise.all(pods.map((pod) => evict(scope, pod)));
  await patch(`${own}/status`, { status: statusOf(node, pods.length, 0) });
  await patch(`${nodePath}/status`, conditionsOf(node, true), 'strategic');
}

/** Drains each of the nodes by the writes of the controller, which does not run, and waits until all pods are gone. */
export async function drainBare(
  cluster: ScaleCluster,
  controller: KubeClient,
  nodes: readonly string[],
): Promise<Drained> {
  const byNode = Map.groupBy(cluster.pods(), ({ spec }) => spec.nodeName ?? '');
  return await measure(cluster, [USERS.person, USERS.controller], async () => {
    await inParallel(nodes, PARALLEL, async (node) => {
      await drainNode({ cluster, controller }, drainOf(`bench-${node}`, [node]), node, byNode.get(node) ?? []);
    });
    const gone = await cluster.untilGone();
    return { gone, told: gone };
  });
}

/** Takes back what such a drain leaves behind. */
export async function takeBack(cluster: ScaleCluster, nodes: readonly string[]): Promise<void> {
  const { client, signal } = cluster;
  await send(client, { method: 'DELETE', path: collectionPath(EVICTION_REQUESTS, 'default') }, signal);
  await inParallel(nodes, PARALLEL, async (node) => {
    const path = objectPath(NODE_MAINTENANCES, { name: `bench-${node}` });
    const body = { metadata: { finalizers: null } };
    await send(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, signal);
    await send(client, { method: 'DELETE', path }, signal);
    const annotations = { [CORDONED_ANNOTATION]: null, [NODE_NOTE_ANNOTATION]: null };
    const free = { metadata: { annotations }, spec: { unschedulable: null } };
    const nodePath = objectPath(NODES, { name: node });
    await send(client, { method: 'PATCH', path: nodePath, body: free, patch: { kind: 'merge' } }, signal);
    const none = ['MaintenanceInProgress', 'DrainInProgress', 'Drained'].map((type) => ({ $patch: 'delete', type }));
    const status = { status: { conditions: none } };
    await send(
      client,
      { method: 'PATCH', path: `${nodePath}/status`, body: status, patch: { kind: 'strategic' } },
      signal,
    );
  });
}
