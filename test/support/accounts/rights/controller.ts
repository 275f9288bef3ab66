/** The account of the controller. */
import type { Account, Right } from '../account.ts';
import { OWN_KINDS } from './controller-kinds.ts';

const EVENTS = { group: '', resources: ['events'], usedBy: ['src/kube/events.ts'] } as const;

/** Its rights to pods, nodes, and what they need. */
const CLUSTER: readonly Right[] = [
  {
    group: '',
    resources: ['pods'],
    verbs: ['get', 'list', 'watch'],
    why: 'what is to leave',
    usedBy: ['src/controller/cache/copies.ts', 'src/controller/eviction/reconciler.ts'],
    fence: { alone: 'reading' },
  },
  {
    group: '',
    resources: ['pods'],
    verbs: ['patch'],
    why: 'the mark `kubernetes.io/pod-evict-wanted`; of a gated pod, the gate and the label `held-for` go',
    usedBy: ['src/kube/eviction/evict-mark.ts', 'src/controller/daemon-set/gate.ts'],
    fence: { policies: ['nodemaint-controller-pods'], leaves: 'that; no label can be set or changed' },
  },
  {
    group: '',
    resources: ['pods'],
    verbs: ['delete'],
    why: 'DaemonSet pods, which the Eviction API does not evict; a shorter end before a deadline',
    usedBy: ['src/kube/eviction/evictor.ts'],
    fence: {
      policies: ['nodemaint-controller-pods'],
      leaves: 'pods of a DaemonSet and terminating ones, by UID and with a grace period',
    },
  },
  {
    group: '',
    resources: ['pods/eviction'],
    verbs: ['create'],
    why: 'the last interceptor of every pod',
    usedBy: ['src/kube/eviction/evictor.ts'],
    fence: {
      policies: ['nodemaint-controller-pods'],
      leaves: 'with a grace period, and within PodDisruptionBudgets',
    },
  },
  {
    group: '',
    resources: ['nodes'],
    verbs: ['list', 'watch'],
    why: 'which nodes a maintenance selects',
    usedBy: ['src/controller/cache/copies.ts'],
    fence: { alone: 'reading' },
  },
  {
    group: '',
    resources: ['nodes'],
    verbs: ['patch'],
    why: 'cordon and uncordon',
    usedBy: ['src/kube/maintenance/cordon.ts'],
    fence: {
      policies: ['nodemaint-controller-nodes'],
      leaves: '`unschedulable`, two annotations, one value of one label',
    },
  },
  {
    group: '',
    resources: ['nodes/status'],
    verbs: ['patch'],
    why: 'conditions that people see, and the note that the agent reads',
    usedBy: ['src/kube/maintenance/conditions.ts'],
    fence: { policies: ['nodemaint-controller-nodes'], leaves: 'four conditions, one annotation' },
  },
  {
    group: 'policy',
    resources: ['poddisruptionbudgets'],
    verbs: ['list', 'watch'],
    why: 'why a pod is blocked, and when to try again',
    usedBy: ['src/controller/cache/copies.ts'],
    fence: { alone: 'reading' },
  },
  {
    group: 'apps',
    resources: ['daemonsets'],
    verbs: ['get'],
    why: 'rolling updates of gated pods',
    usedBy: ['src/controller/daemon-set/rollout.ts'],
    fence: { alone: 'reading' },
  },
  {
    group: 'apps',
    resources: ['controllerrevisions'],
    verbs: ['list'],
    why: 'rolling updates of gated pods',
    usedBy: ['src/controller/daemon-set/rollout.ts'],
    fence: { alone: 'reading; the objects hold pod templates' },
  },
];

/** Its rights to what it needs itself. */
const ITSELF: readonly Right[] = [
  { ...EVENTS, verbs: ['get'], why: 'whether an Event of this name is its own', fence: { alone: 'reading' } },
  {
    ...EVENTS,
    verbs: ['create', 'patch'],
    why: 'what happened, counted',
    fence: { policies: ['nodemaint-controller-own-objects'], leaves: 'Events that name it as their reporter' },
  },
  {
    group: 'coordination.k8s.io',
    resources: ['leases'],
    namespace: 'nodemaint-system',
    verbs: ['create'],
    why: 'who leads; RBAC cannot restrict the name of an object that is made',
    usedBy: ['src/kube/lease.ts'],
    fence: {
      policies: ['nodemaint-controller-own-objects'],
      leaves: 'the fields of the election, under the name of its own pod',
    },
  },
  {
    group: 'coordination.k8s.io',
    resources: ['leases'],
    names: ['nodemaint-controller'],
    namespace: 'nodemaint-system',
    verbs: ['get'],
    why: 'who leads',
    usedBy: ['src/kube/lease.ts'],
    fence: { alone: 'reading, one object' },
  },
  {
    group: 'coordination.k8s.io',
    resources: ['leases'],
    names: ['nodemaint-controller'],
    namespace: 'nodemaint-system',
    verbs: ['update'],
    why: 'to lead',
    usedBy: ['src/kube/lease.ts'],
    fence: {
      policies: ['nodemaint-controller-own-objects'],
      leaves: 'the name; the fields of the election, under the name of its own pod',
    },
  },
  {
    group: '',
    resources: ['secrets'],
    namespace: 'nodemaint-system',
    verbs: ['create'],
    why: 'the certificate of the webhook',
    usedBy: ['src/controller/webhook/certificate.ts'],
    fence: { policies: ['nodemaint-controller-own-objects'], leaves: 'one name, one type' },
  },
  {
    group: '',
    resources: ['secrets'],
    names: ['nodemaint-webhook'],
    namespace: 'nodemaint-system',
    verbs: ['get'],
    why: 'the certificate that another replica made',
    usedBy: ['src/controller/webhook/certificate.ts'],
    fence: { alone: 'the name' },
  },
  {
    group: '',
    resources: ['secrets'],
    names: ['nodemaint-webhook'],
    namespace: 'nodemaint-system',
    verbs: ['patch'],
    why: 'a new certificate before the old one expires',
    usedBy: ['src/controller/webhook/certificate.ts'],
    fence: { policies: ['nodemaint-controller-own-objects'], leaves: 'one name, one type' },
  },
  {
    group: 'admissionregistration.k8s.io',
    resources: ['validatingwebhookconfigurations'],
    names: ['nodemaint-webhook'],
    verbs: ['get'],
    why: 'whether it has the certificate',
    usedBy: ['src/controller/webhook/certificate.ts'],
    fence: { alone: 'reading, one object' },
  },
  {
    group: 'admissionregistration.k8s.io',
    resources: ['validatingwebhookconfigurations'],
    names: ['nodemaint-webhook'],
    verbs: ['patch'],
    why: 'by which authority the API server knows it',
    usedBy: ['src/controller/webhook/certificate.ts'],
    fence: { policies: ['nodemaint-controller-own-objects'], leaves: '`caBundle`' },
  },
];

/** The controller. */
export const CONTROLLER: Account = {
  subject: 'system:serviceaccount:nodemaint-system:nodemaint-controller',
  title: 'The controller: `nodemaint-controller`',
  introduction:
    'ClusterRoles `nodemaint-controller` and `nodemaint-webhook`, Roles `nodemaint-leader-election` and `nodemaint-webhook`. [controller-rights.test.ts](../../test/integration/controller/rights.test.ts) tries attacks with its own token: images, labels, taints, addresses, tokens, Secrets and webhook rules are refused.',
  rights: [...OWN_KINDS, ...CLUSTER, ...ITSELF],
  thief:
    'An attacker with the token can still read pods and nodes, evict within the budgets, end single pods with their grace period in spite of the budgets, cordon, set our conditions, and drain nodes. The Deployment prefers control plane nodes. If the cluster shows them, require them with the component `manifests/controller/on-control-plane` ([ADR 5](../adr/0005-controller-rights.md)).',
};
