import { HELD_FOR_LABEL, MAINTENANCE_GATE, MAINTENANCE_REQUESTER, NODE_LABEL } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { createKubeClient, type KubeClient, type KubeRequest, type Method } from '../../../src/kube/client.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import {
  collectionPath,
  EVENTS,
  EVICTION_REQUESTS,
  LEASES,
  NODE_MAINTENANCES,
  NODES,
  objectPath,
  PODS,
  type Resource,
} from '../../../src/kube/resource.ts';
import { sendForObject } from '../../../src/kube/request.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { startInstalledCluster } from '../commands/installed-cluster.ts';
import { byName, maintenanceOf } from '../maintenance/objects.ts';
import { firstStatus, requestFor } from '../rigs/admission.ts';
import { makeMarked, replicaKubeconfig } from './controller/replica.ts';

/** Who is on the scene. */
export type Actor = 'admin' | 'controller' | 'replica' | 'n1' | 'n2';
/** The pods whose eviction is asked for: by a maintenance, and by a maintenance and somebody else. */
type PodName = 'web-2' | 'shared';

/** A real API server with the product's manifests, two nodes, pods, maintenances, and everybody's identity. */
export interface Scene extends AsyncDisposable {
  readonly clients: Readonly<Record<Actor, KubeClient>>;
  readonly pods: Readonly<Record<PodName, Pod>>;
}

export const SYSTEM = 'nodemaint-system';
export const RELEASE = `system:serviceaccount:${SYSTEM}:nodemaint-agent-release`;
export const TEAM = 'team-a';
export const OTHER_TEAM = 'team-b';

/** A call that is judged and not carried out, so that no attack gets in the way of another one. */
export function dry(method: Method, path: string, more: Partial<KubeRequest> = {}): KubeRequest {
  return { method, path: `${path}${path.includes('?') ? '&' : '?'}dryRun=All`, ...more };
}

/** A merge patch that is judged and not carried out. */
export function patched(resource: Resource, meta: { name: string; namespace?: string }, body: object): KubeRequest {
  return dry('PATCH', objectPath(resource, meta), { body, patch: { kind: 'merge' } });
}

/** The same of the status. */
export function patchedStatus(resource: Resource, meta: { name: string }, status: object): KubeRequest {
  return dry('PATCH', objectPath(resource, meta, 'status'), { body: { status }, patch: { kind: 'merge' } });
}

/** The name and namespace of the EvictionRequest of a pod. */
export function requestOf(scene: Scene, pod: PodName): { name: string; namespace: string } {
  return { name: scene.pods[pod].metadata.uid ?? '', namespace: TEAM };
}

function podBody(name: string, metadata: object = {}, spec: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { containers: [{ name: 'main', image: 'none.invalid/none' }], ...spec },
  };
}

/**
 * A pod of a DaemonSet that the gate keeps from the node. Its DaemonSet is of a version that is not served, so that no
 * controller of the cluster deletes the pod.
 */
export function heldBody(name: string, node: string, metadata: object = {}): object {
  const owner = { apiVersion: 'apps/v0', kind: 'DaemonSet', name: 'network', uid: 'u', controller: true };
  const labels = { [HELD_FOR_LABEL]: node };
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: byName(node) };
  const spec = { affinity: { nodeAffinity }, schedulingGates: [{ name: MAINTENANCE_GATE }] };
  return podBody(name, { labels, ownerReferences: [owner], ...metadata }, spec);
}

async function make<T>(client: KubeClient, path: string, body: object): Promise<T> {
  const made = await sendForObject<T>(client, { method: 'POST', path, body }, [], AbortSignal.timeout(60_000));
  if (made === undefined) throw new Error(path);
  return made;
}

/** Makes a pod with an EvictionRequest that the controller has begun. */
async function makeRequested(
  { admin, controller }: Scene['clients'],
  name: PodName,
  nodeName: string,
  requesters: readonly string[],
): Promise<Pod> {
  const pod = await make<Pod>(admin, collectionPath(PODS, TEAM), podBody(name, {}, { nodeName }));
  const uid = pod.metadata.uid ?? '';
  const metadata = { namespace: TEAM, labels: { [NODE_LABEL]: nodeName } };
  const spec = { requesters: requesters.map((each) => ({ name: each })) };
  await make(admin, collectionPath(EVICTION_REQUESTS, TEAM), requestFor(name, uid, spec, metadata));
  const path = objectPath(EVICTION_REQUESTS, { name: uid, namespace: TEAM }, 'status');
  const body = { status: firstStatus(['actor.example.com', 'imperative-eviction.k8s.io']) };
  const request: KubeRequest = { method: 'PATCH', path, body, patch: { kind: 'merge' } };
  await sendForObject(controller, request, [], AbortSignal.timeout(60_000));
  return pod;
}

async function makeObjects(controlPlane: ControlPlane, clients: Scene['clients']): Promise<Scene['pods']> {
  const { admin, n1, n2, controller } = clients;
  for (const name of ['n1', 'n2', 'n3'])
    await make(admin, collectionPath(NODES), { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  for (const namespace of [TEAM, OTHER_TEAM]) await controlPlane.kubectl(['create', 'namespace', namespace]);
  for (const [name, by, nodes, stage] of [
    ['shutdown-n1-0', n1, ['n1'], 'Cordon'],
    ['shutdown-n2-0', n2, ['n2'], 'Cordon'],
    ['of-a-person', admin, ['n1'], 'Cordon'],
    ['rack', admin, ['n1', 'n2'], 'Cordon'],
  ] as const) {
    const labels = by === admin ? {} : { 'nodemaintenance.x-k8s.io/agent': nodes[0] };
    const body = maintenanceOf({ stage, nodeSelector: byName(...nodes) }, { name, labels });
    await make(by, collectionPath(NODE_MAINTENANCES), body);
  }
  await makeMarked(admin, AbortSignal.timeout(60_000));
  const ofNone = { labels: { [HELD_FOR_LABEL]: 'n1' } };
  for (const pod of [
    heldBody('held-n1', 'n1'),
    podBody('gated-n1', ofNone, { schedulingGates: [{ name: MAINTENANCE_GATE }] }),
    heldBody('mislabelled', 'n2', ofNone),
  ])
    await make(admin, collectionPath(PODS, TEAM), pod);
  await make(controller, collectionPath(LEASES, SYSTEM), {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'nodemaint-controller' },
    spec: { holderIdentity: 'somebody', leaseDurationSeconds: 1 },
  });
  await make(admin, collectionPath(EVENTS, TEAM), {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'of-others' },
    involvedObject: { kind: 'Pod', namespace: TEAM, name: 'web-2' },
    reportingComponent: 'kubelet',
  });
  return {
    'web-2': await makeRequested(clients, 'web-2', 'n2', [MAINTENANCE_REQUESTER]),
    shared: await makeRequested(clients, 'shared', 'n1', [MAINTENANCE_REQUESTER, 'requester.example.com']),
  };
}

/** Starts the API server and makes everything; the policies may not be in force yet. */
export async function buildScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const { controlPlane, controllerKubeconfig } = stack.use(
    await startInstalledCluster({}, AbortSignal.timeout(120_000)),
  );
  const clientOf = async (kubeconfig: string): Promise<KubeClient> => {
    const client = createKubeClient(await loadClusterAccess(kubeconfig), 'test');
    stack.defer(() => client.close());
    return client;
  };
  const node = async (name: string): Promise<KubeClient> =>
    await clientOf(await controlPlane.kubeconfigFor(`system:node:${name}`, ['system:nodes']));
  const clients: Scene['clients'] = {
    admin: await clientOf(controlPlane.adminKubeconfig),
    controller: await clientOf(controllerKubeconfig),
    replica: await clientOf(await replicaKubeconfig(controlPlane)),
    n1: await node('n1'),
    n2: await node('n2'),
  };
  const pods = await makeObjects(controlPlane, clients);
  const owned = stack.move();
  return { clients, pods, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
