import { objectPath, collectionPath, PODS } from '../../../../src/kube/resource.ts';
import { type Attack, json, merge, strategic } from './attack.ts';

/** The node of all the pods. */
export const NODE = 'node-a';
const GATE = 'nodemaintenance.x-k8s.io/maintenance';
const HELD_FOR = 'nodemaintenance.x-k8s.io/held-for';
/** A running pod of a Deployment. */
export const POD = objectPath(PODS, { name: 'web', namespace: 'default' });
/** A pod that our gate and another one hold. */
export const HELD = objectPath(PODS, { name: 'held', namespace: 'default' });

const IS_POLICY = /ValidatingAdmissionPolicy 'nodemaint-controller-/;
const IS_RBAC = / cannot /;

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

/** What an attacker with the token of the controller tries on pods; a policy or RBAC refuses each. */
export const ATTACKS_ON_PODS: readonly Attack[] = [
  strategic(
    'another image in a running pod',
    POD,
    { spec: { containers: [{ name: 'main', image: 'evil.invalid/x' }] } },
    IS_POLICY,
  ),
  merge('a label that a Service or a NetworkPolicy selects', POD, { metadata: { labels: { app: 'db' } } }, IS_POLICY),
  merge('a new label that a Service selects', POD, { metadata: { labels: { tier: 'web' } } }, IS_POLICY),
  merge('a label is taken away', POD, { metadata: { labels: { app: null } } }, IS_POLICY),
  merge('a pod is made to look held', POD, { metadata: { labels: { [HELD_FOR]: NODE } } }, IS_POLICY),
  merge('another annotation of a pod', POD, { metadata: { annotations: { owner: 'me' } } }, IS_POLICY),
  merge('an annotation of a pod is taken away', POD, { metadata: { annotations: { owner: null } } }, IS_POLICY),
  merge(
    'an owner that does not exist, so that the pod is collected',
    POD,
    { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }] } },
    IS_POLICY,
  ),
  merge('a finalizer that keeps a pod for ever', POD, { metadata: { finalizers: ['evil.example.com/x'] } }, IS_POLICY),
  merge('a shorter life', POD, { spec: { activeDeadlineSeconds: 1 } }, IS_POLICY),
  merge('more tolerations', POD, { spec: { tolerations: [...TOLERATIONS, { operator: 'Exists' }] } }, IS_POLICY),
  merge("another one's scheduling gate", HELD, { spec: { schedulingGates: [{ name: GATE }] } }, IS_POLICY),
  merge('a held pod is sent to another node', HELD, { spec: { nodeSelector: { evil: 'true' } } }, IS_POLICY),
  json('a running pod of a Deployment is deleted, whichever has its name', 'DELETE', POD, undefined, IS_POLICY),
  json(
    'it is deleted without time to end',
    'DELETE',
    POD,
    { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 },
    IS_POLICY,
  ),
  json(
    'a DaemonSet pod is deleted without time to end',
    'DELETE',
    objectPath(PODS, { name: 'agent', namespace: 'default' }),
    { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 },
    IS_POLICY,
  ),
  json(
    'it is evicted without time to end',
    'POST',
    `${POD}/eviction`,
    {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'web', namespace: 'default' },
      deleteOptions: { gracePeriodSeconds: 0 },
    },
    IS_POLICY,
  ),
  json('all pods of a namespace are deleted', 'DELETE', collectionPath(PODS, 'default'), undefined, IS_RBAC),
  json('a pod is made', 'POST', collectionPath(PODS, 'default'), webPod('evil'), IS_RBAC),
  merge(
    'an ephemeral container',
    `${POD}/ephemeralcontainers`,
    { spec: { ephemeralContainers: [{ name: 'x', image: 'x' }] } },
    IS_RBAC,
  ),
  merge('other resources', `${POD}/resize`, { spec: {} }, IS_RBAC),
  merge('the status of a pod', `${POD}/status`, { status: { phase: 'Failed' } }, IS_RBAC),
  json('exec', 'POST', `${POD}/exec?command=sh`, undefined, IS_RBAC),
  json('port-forward', 'POST', `${POD}/portforward`, undefined, IS_RBAC),
  json('logs', 'GET', `${POD}/log`, undefined, IS_RBAC),
  json(
    'a binding',
    'POST',
    `${POD}/binding`,
    { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'web' }, target: { kind: 'Node', name: 'x' } },
    IS_RBAC,
  ),
];
