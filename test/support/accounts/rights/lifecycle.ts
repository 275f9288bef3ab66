/** The account of the controllers of lifecycle.k8s.io, and those that Kubernetes itself is going to have. */
import type { Account } from '../account.ts';
import { budgetRight, eventRights, EVICT_MARK, evictionRight } from './shared.ts';

const LIFECYCLE = 'lifecycle.k8s.io';

/** `nodemaint lifecycle`. */
export const LIFECYCLE_CONTROLLERS: Account = {
  subject: 'system:serviceaccount:nodemaint-system:nodemaint-lifecycle',
  title: 'The controllers of lifecycle.k8s.io, an add-on: `nodemaint-lifecycle`',
  introduction:
    'Only with [`manifests/lifecycle-controllers`](../usage/lifecycle-api.md); ClusterRole `nodemaint-lifecycle-controllers`.',
  rights: [
    {
      group: LIFECYCLE,
      resources: ['evictionrequests'],
      verbs: ['list', 'watch'],
      why: 'what is asked for',
      usedBy: ['src/kube/lifecycle/objects.ts'],
      fence: { alone: 'reading' },
    },
    {
      group: LIFECYCLE,
      resources: ['evictionrequests/status'],
      verbs: ['patch'],
      why: 'the outcome',
      usedBy: ['src/addons/lifecycle/writes.ts'],
      fence: { policies: ['nodemaint-lifecycle-request-status'], leaves: 'all of it, by its verb `coordinate`' },
    },
    {
      group: LIFECYCLE,
      resources: ['evictions'],
      verbs: ['get', 'list', 'watch'],
      why: 'what is under way; one by name where its name is taken',
      usedBy: ['src/kube/lifecycle/objects.ts', 'src/addons/lifecycle/writes.ts'],
      fence: { alone: 'reading' },
    },
    {
      group: LIFECYCLE,
      resources: ['evictions'],
      verbs: ['create', 'patch', 'delete'],
      why: 'one for a pod that is asked to leave, its labels and owners, and the end of the oldest of many failures',
      usedBy: ['src/addons/lifecycle/writes.ts'],
      fence: {
        policies: ['nodemaint-lifecycle-controllers-own-evictions'],
        leaves: 'labels, and EvictionRequests as owners; deletes those that have failed',
      },
    },
    {
      group: LIFECYCLE,
      resources: ['evictions/status'],
      verbs: ['patch'],
      why: 'states of responders, ends, and the report of the default evictor',
      usedBy: ['src/addons/lifecycle/writes.ts', 'src/kube/lifecycle/responder.ts'],
      fence: { policies: ['nodemaint-lifecycle-eviction-status'], leaves: 'all of it, by its verb `coordinate`' },
    },
    {
      group: LIFECYCLE,
      resources: ['evictions', 'evictionrequests'],
      verbs: ['coordinate'],
      why: 'to make responders active and to end Evictions',
      usedBy: ['manifests/lifecycle/status-identity.yaml'],
      fence: { alone: 'nobody else manages them in Kubernetes 1.37' },
    },
    {
      group: LIFECYCLE,
      resources: ['responders'],
      names: ['imperative-eviction.k8s.io/evictor'],
      verbs: ['respond'],
      why: 'to report as the default evictor',
      usedBy: ['manifests/lifecycle/status-identity.yaml'],
      fence: { alone: 'the name' },
    },
    {
      group: '',
      resources: ['pods'],
      verbs: ['get', 'list', 'watch'],
      why: 'what is to leave, and who responds for it',
      usedBy: ['src/addons/lifecycle/lifecycle.ts', 'src/kube/lifecycle/target-notes.ts'],
      fence: { alone: 'reading' },
    },
    {
      group: '',
      resources: ['pods'],
      verbs: ['patch'],
      ...EVICT_MARK,
      fence: { policies: ['nodemaint-lifecycle-controllers-pods'], leaves: 'that annotation' },
    },
    evictionRight(
      'responder',
      'nodemaint-lifecycle-controllers-evictions',
      "with the pod's own grace period, and within PodDisruptionBudgets",
    ),
    budgetRight('src/addons/lifecycle/lifecycle.ts'),
    ...eventRights('nodemaint-lifecycle-controllers-events'),
  ],
  thief:
    'An attacker with the token can read pods, evict within the budgets, and end or invent Evictions of lifecycle.k8s.io. Its Deployment prefers control plane nodes.',
};

const UPSTREAM_RIGHTS: Account['rights'] = [
  {
    group: LIFECYCLE,
    resources: ['evictions', 'evictionrequests'],
    verbs: ['coordinate'],
    why: 'the policies of the product must not stop it',
    usedBy: ['manifests/lifecycle/status-identity.yaml'],
    fence: { alone: 'the verb gives no right of the API server: what it may write, its own role says' },
  },
  {
    group: LIFECYCLE,
    resources: ['responders'],
    names: ['imperative-eviction.k8s.io/evictor'],
    verbs: ['respond'],
    why: 'the same',
    usedBy: ['manifests/lifecycle/status-identity.yaml'],
    fence: { alone: 'the same, and the name' },
  },
];

/** The controllers that Kubernetes is going to have: one table for all of their names. */
export const UPSTREAM: readonly Account[] = [
  'system:kube-controller-manager',
  'system:serviceaccount:kube-system:evictionrequest-controller',
  'system:serviceaccount:kube-system:imperative-eviction-responder-controller',
].map((subject) => ({
  subject,
  title: 'Controllers of Kubernetes itself',
  introduction:
    'Only with `manifests/lifecycle`; ClusterRole `nodemaint-lifecycle-upstream`, for `system:kube-controller-manager` and two accounts of `kube-system` that Kubernetes is going to have.',
  rights: UPSTREAM_RIGHTS,
  thief: '',
}));
