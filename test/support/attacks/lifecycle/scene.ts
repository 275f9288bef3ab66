/** The Evictions of `lifecycle.k8s.io` that are attacked, and everybody's identity, on an API server of Kubernetes 1.37. */
import {
  DRAIN_REQUESTER,
  type Eviction,
  type LifecycleRequest,
  type TargetResponder,
} from '../../../../src/api/lifecycle.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { loadClusterAccess } from '../../../../src/kube/access/cluster.ts';
import { createKubeClient, type KubeClient, type KubeRequest } from '../../../../src/kube/client.ts';
import { objectPath, type Resource } from '../../../../src/kube/resource.ts';
import { ACCOUNT_GROUPS } from '../addons/objects.ts';
import { EVICTIONS, LIFECYCLE_REQUESTS, type LifecycleRig } from '../../rigs/lifecycle.ts';

/**
 * Who is on the scene: `pod` has the identity of a pod on node n1, `responder` is that of `MINE`, `lifecycle` is the add-on, and
 * `controller` the controller of the product.
 */
export type LifecycleActor = 'admin' | 'n1' | 'pod' | 'editor' | 'responder' | 'lifecycle' | 'controller';

export const MINE = 'mine.example.com/x';
export const OTHERS = 'others.example.com/x';
const EVICTOR = 'imperative-eviction.k8s.io/evictor';
const DAEMON_SET = 'daemonset.nodemaintenance.x-k8s.io/controller';

/** The responder of the static pods of a node. */
export function staticPodsOf(node: string): string {
  return `${node}.static.nodemaintenance.x-k8s.io/kubelet`;
}

/** The responders of each Eviction; it is the turn of the first one. */
const RESPONDERS = {
  'static-n1': [staticPodsOf('n1')],
  'static-n2': [staticPodsOf('n2')],
  'static-x.n1': [staticPodsOf('x.n1')],
  'static-n1-x': [staticPodsOf('n1-x')],
  mine: [MINE, OTHERS],
  others: [OTHERS, MINE],
  'others-then-n1': [OTHERS, staticPodsOf('n1')],
  'daemon-set': [DAEMON_SET],
  evictor: [EVICTOR],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type EvictionName = keyof typeof RESPONDERS;

export interface LifecycleScene {
  readonly namespace: string;
  readonly clients: Readonly<Record<LifecycleActor, KubeClient>>;
  readonly evictions: Readonly<Record<EvictionName, Eviction>>;
  readonly request: LifecycleRequest;
  /** That of a drain. */
  readonly drainRequest: LifecycleRequest;
}

/** A patch that is judged and not carried out. */
export function patched(resource: Resource, { metadata }: Eviction | LifecycleRequest, body: object): KubeRequest {
  const path = `${objectPath(resource, metadata)}?dryRun=All`;
  return { method: 'PATCH', path, body, patch: { kind: 'merge' } };
}

/** The same of the status. */
export function patchedStatus(
  resource: Resource,
  { metadata }: Eviction | LifecycleRequest,
  status: object,
): KubeRequest {
  const path = `${objectPath(resource, metadata, 'status')}?dryRun=All`;
  return { method: 'PATCH', path, body: { status }, patch: { kind: 'merge' } };
}

/** The entries of an Eviction, with that of a responder changed. */
export function entries({ status }: Eviction, name: string, change: object): object {
  return { responders: (status?.responders ?? []).map((each) => (each.name === name ? { ...each, ...change } : each)) };
}

function statusOf(names: readonly string[], now: string): object {
  const prioritised = names.map((name, index): TargetResponder => {
    const priority = name === EVICTOR ? 100 : 10_000 - index;
    return { name, priority, state: index === 0 ? 'Active' : 'Inactive' };
  });
  const responders = names.map((name, index) => (index === 0 ? { name, startTime: now } : { name }));
  const requesters = [{ name: 'foo.example.com/1', intent: 'Eviction' }];
  return { observedGeneration: 1, requesters, targetResponders: prioritised, responders };
}

/** Gives a user the rights of a responder, and those to the statuses that the policies restrict. */
export async function allowToRespond({ controlPlane }: LifecycleRig, user: string, responder: string): Promise<void> {
  const kind = { apiVersion: 'rbac.authorization.k8s.io/v1' };
  const group = ['lifecycle.k8s.io'];
  const rules = [
    { apiGroups: group, resources: ['evictions'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: group, resources: ['evictions/status', 'evictionrequests/status'], verbs: ['patch', 'get'] },
    { apiGroups: group, resources: ['responders'], resourceNames: [responder], verbs: ['respond'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
  ];
  const role = { ...kind, kind: 'ClusterRole', metadata: { name: user }, rules };
  const subjects = [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user };
  const binding = { ...kind, kind: 'ClusterRoleBinding', metadata: { name: user }, roleRef, subjects };
  for (const object of [role, binding]) await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
}

/** Makes the objects in a namespace, and the identities; the policies may not be in force yet. */
export async function buildLifecycleScene(rig: LifecycleRig, namespace: string): Promise<LifecycleScene> {
  const { kubectl, kubeconfigFor } = rig.controlPlane;
  const clientOf = async (user: string, groups: readonly string[]): Promise<KubeClient> =>
    createKubeClient(await loadClusterAccess(await kubeconfigFor(user, groups)), user);
  const account = `system:serviceaccount:${namespace}:default`;
  const product = async (name: string): Promise<KubeClient> =>
    await clientOf(`system:serviceaccount:nodemaint-system:${name}`, ACCOUNT_GROUPS);
  await kubectl(['create', 'rolebinding', 'editor', '--clusterrole=edit', '--user=editor', '-n', namespace]);
  await allowToRespond(rig, 'responder-of-mine', MINE);
  const now = rfc3339(Date.now());
  const made = Object.entries(RESPONDERS).map(async ([name, names]) => {
    const target = { pod: { name, uid: crypto.randomUUID() } };
    const eviction = await rig.create<Eviction>(EVICTIONS, namespace, { metadata: { name }, spec: { target } });
    return [name, await rig.patch<Eviction>(EVICTIONS, eviction, { status: statusOf(names, now) }, 'status')] as const;
  });
  const target = { pod: { name: 'mine', uid: crypto.randomUUID() } };
  const spec = { target, requester: 'foo.example.com/1', intent: 'Eviction' };
  const ofDrain = { ...spec, requester: DRAIN_REQUESTER };
  return {
    namespace,
    clients: {
      admin: rig.client,
      n1: await clientOf('system:node:n1', ['system:nodes']),
      pod: await clientOf(account, ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]),
      editor: await clientOf('editor', []),
      responder: await clientOf('responder-of-mine', []),
      lifecycle: await product('nodemaint-lifecycle'),
      controller: await product('nodemaint-controller'),
    },
    evictions: Object.fromEntries(await Promise.all(made)) as LifecycleScene['evictions'],
    request: await rig.create(LIFECYCLE_REQUESTS, namespace, { metadata: { name: 'wish' }, spec }),
    drainRequest: await rig.create(LIFECYCLE_REQUESTS, namespace, {
      metadata: { name: target.pod.uid },
      spec: ofDrain,
    }),
  };
}
