import { HELD_FOR_LABEL, MAINTENANCE_GATE, NODE_LABEL } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { createKubeClient, type KubeClient, type KubeRequest, type Method } from '../../../src/kube/client.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import {
  collectionPath,
  EVICTION_REQUESTS,
  LEASES,
  NODE_MAINTENANCES,
  NODES,
  objectPath,
  PODS,
  type Resource,
  sendForObject,
} from '../../../src/kube/resource.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { firstStatus, requestFor } from '../rigs/admission.ts';
import { byName, maintenanceOf } from '../maintenance/objects.ts';
import { makeMarked, replicaKubeconfig } from './controller/replica.ts';
import { makeShared } from './shared-pod.ts';
import { startInstalledCluster } from '../commands/installed-cluster.ts';

/** Who is on the scene. */
export type Actor =
  | 'admin'
  | 'controller'
  | 'replica'
  | 'n1'
  | 'n2'
  | 'keeper'
  | 'editor'
  | 'anybody'
  | 'requester'
  | 'interceptor';
/** The pods: web-1 and static-n1 are on node n1, the others on n2 or nowhere. */
export type PodName = 'web-1' | 'web-2' | 'db' | 'static-n1' | 'static-n2' | 'held-n1' | 'held-n2';

/** A real API server with the product's manifests, two nodes, pods, maintenances, and everybody's identity. */
export interface Scene extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  /** Of node n2, for its agent. */
  readonly n2Kubeconfig: string;
  readonly clients: Readonly<Record<Actor, KubeClient>>;
  readonly pods: Readonly<Record<PodName | 'shared', Pod>>;
}

export const SYSTEM = 'nodemaint-system';
export const RELEASE = `system:serviceaccount:${SYSTEM}:nodemaint-agent-release`;
export const TEAM = 'team-a';
export const OTHER_TEAM = 'team-b';
const WHERE: Readonly<Record<PodName, { readonly namespace: string; readonly node?: string }>> = {
  'web-1': { namespace: TEAM, node: 'n1' },
  'web-2': { namespace: TEAM, node: 'n2' },
  db: { namespace: OTHER_TEAM, node: 'n2' },
  'static-n1': { namespace: 'kube-system', node: 'n1' },
  'static-n2': { namespace: 'kube-system', node: 'n2' },
  'held-n1': { namespace: TEAM },
  'held-n2': { namespace: TEAM },
};

/** A call that is judged and not carried out, so that no attack gets in the way of another one. */
export function dry(method: Method, path: string, more: Partial<KubeRequest> = {}): KubeRequest {
  return { method, path: `${path}${path.includes('?') ? '&' : '?'}dryRun=All`, ...more };
}

/** A merge patch that is judged and not carried out. */
export function patched(resource: Resource, meta: { name: string; namespace?: string }, body: object): KubeRequest {
  return dry('PATCH', objectPath(resource, meta), { body, patch: { kind: 'merge' } });
}

/** The same of the status. */
export function patchedStatus(
  resource: Resource,
  meta: { name: string; namespace?: string },
  status: object,
): KubeRequest {
  return dry('PATCH', objectPath(resource, meta, 'status'), { body: { status }, patch: { kind: 'merge' } });
}

/** The name and namespace of the EvictionRequest of a pod. */
export function requestOf(scene: Scene, pod: PodName | 'shared'): { name: string; namespace: string } {
  const { uid = '', namespace = '' } = scene.pods[pod].metadata;
  return { name: uid, namespace };
}

/** A pod that stays where it is put. */
export function podBody(name: string, metadata: object = {}, spec: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { containers: [{ name: 'main', image: 'none.invalid/none' }], ...spec },
  };
}

/** The mirror pod of a static pod, as its kubelet makes it. */
export function mirrorBody(
  name: string,
  node: string,
  nodeUid: string,
  metadata: object = {},
  spec: object = {},
): object {
  const owner = { apiVersion: 'v1', kind: 'Node', name: node, uid: nodeUid, controller: true };
  const annotations = { 'kubernetes.io/config.mirror': 'a'.repeat(32), 'kubernetes.io/config.hash': 'a'.repeat(32) };
  return podBody(name, { annotations, ownerReferences: [owner], ...metadata }, { nodeName: node, ...spec });
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

async function makeObjects(controlPlane: ControlPlane, clients: Scene['clients']): Promise<Record<PodName, Pod>> {
  const never = AbortSignal.timeout(60_000);
  const make = async <T>(client: KubeClient, path: string, body: object): Promise<T> => {
    const made = await sendForObject<T>(client, { method: 'POST', path, body }, [], never);
    if (made === undefined) throw new Error(path);
    return made;
  };
  const { admin, n1, n2, controller } = clients;
  const uids = new Map<string, string>();
  for (const name of ['n1', 'n2', 'n3']) {
    const node = await make<{ metadata: { uid: string } }>(admin, collectionPath(NODES), {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name },
    });
    uids.set(name, node.metadata.uid);
  }
  for (const namespace of [TEAM, OTHER_TEAM]) await controlPlane.kubectl(['create', 'namespace', namespace]);
  const bindings = [
    ['rolebinding', 'edit', '--clusterrole=edit', '--user=editor', '-n', TEAM],
    ['clusterrole', 'requests', '--verb=*', '--resource=evictionrequests.coordination.x-k8s.io'],
    ['clusterrolebinding', 'requests', '--clusterrole=requests', '--user=requester'],
    [
      'clusterrole',
      'drains',
      '--verb=get,list,watch,create,update,patch,delete',
      '--resource=nodemaintenances.nodemaintenance.x-k8s.io',
    ],
    ['clusterrolebinding', 'drains', '--clusterrole=drains', '--user=keeper'],
    ['clusterrole', 'keeps-n1', '--verb=delete', '--resource=nodes', '--resource-name=n1'],
    ['clusterrolebinding', 'keeps-n1', '--clusterrole=keeps-n1', '--user=keeper'],
    ['clusterrolebinding', 'interceptors', '--clusterrole=nodemaint-interceptor', '--user=interceptor'],
  ];
  for (const binding of bindings) await controlPlane.kubectl(['create', ...binding]);
  const pods: Partial<Record<PodName, Pod>> = {};
  for (const [name, { namespace, node }] of Object.entries(WHERE) as [PodName, (typeof WHERE)[PodName]][]) {
    const path = collectionPath(PODS, namespace);
    if (name.startsWith('static-') && node !== undefined) {
      pods[name] = await make(node === 'n1' ? n1 : n2, path, mirrorBody(name, node, uids.get(node) ?? ''));
    } else if (name.startsWith('held-')) {
      pods[name] = await make(admin, path, heldBody(name, name.slice(-2)));
    } else pods[name] = await make(admin, path, podBody(name, {}, { nodeName: node }));
  }
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
  const ofNone = { labels: { [HELD_FOR_LABEL]: 'n1' } };
  const gated = { schedulingGates: [{ name: MAINTENANCE_GATE }] };
  await make(admin, collectionPath(PODS, TEAM), podBody('gated-n1', ofNone, gated));
  await make(admin, collectionPath(PODS, TEAM), heldBody('mislabelled', 'n2', ofNone));
  await makeMarked(admin, never);
  const made = pods as Record<PodName, Pod>;
  for (const [name, interceptors] of [
    ['web-1', ['actor.example.com', 'imperative-eviction.k8s.io']],
    ['web-2', ['actor.example.com', 'imperative-eviction.k8s.io']],
    ['static-n1', ['kubelet.k8s.io', 'imperative-eviction.k8s.io']],
    ['static-n2', ['kubelet.k8s.io', 'imperative-eviction.k8s.io']],
  ] as const) {
    const { uid = '', namespace = '' } = made[name].metadata;
    const labels = { [NODE_LABEL]: WHERE[name].node ?? '' };
    const body = requestFor(name, uid, { requesters: [{ name: 'nodemaintenance.k8s.io' }] }, { namespace, labels });
    await make(admin, collectionPath(EVICTION_REQUESTS, namespace), body);
    const path = objectPath(EVICTION_REQUESTS, { name: uid, namespace }, 'status');
    const status = firstStatus(interceptors);
    await sendForObject(controller, { method: 'PATCH', path, body: { status }, patch: { kind: 'merge' } }, [], never);
  }
  await make(controller, collectionPath(LEASES, SYSTEM), {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'nodemaint-controller' },
    spec: { holderIdentity: 'somebody', leaseDurationSeconds: 1 },
  });
  return made;
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
  const user = async (name: string, ...groups: readonly string[]): Promise<KubeClient> =>
    await clientOf(await controlPlane.kubeconfigFor(name, groups));
  const n2Kubeconfig = await controlPlane.kubeconfigFor('system:node:n2', ['system:nodes']);
  const clients: Scene['clients'] = {
    admin: await clientOf(controlPlane.adminKubeconfig),
    controller: await clientOf(controllerKubeconfig),
    replica: await clientOf(await replicaKubeconfig(controlPlane)),
    n1: await user('system:node:n1', 'system:nodes'),
    n2: await clientOf(n2Kubeconfig),
    keeper: await user('keeper'),
    editor: await user('editor'),
    anybody: await user('anybody'),
    requester: await user('requester'),
    interceptor: await user('interceptor'),
  };
  const own = await makeObjects(controlPlane, clients);
  const pods = { ...own, shared: await makeShared(clients, TEAM) };
  const owned = stack.move();
  return { controlPlane, n2Kubeconfig, clients, pods, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
