/** The rights of the controller to the product's own kinds. */
import type { Right } from '../account.ts';

const [MAINTENANCES, REQUESTS] = ['nodemaintenance.x-k8s.io', 'coordination.x-k8s.io'];
const COURSE = ['nodemaint-node-maintenances'] as const;

/** Its rights to the product's own kinds. */
export const OWN_KINDS: readonly Right[] = [
  {
    group: MAINTENANCES,
    resources: ['nodemaintenances'],
    verbs: ['list', 'watch'],
    why: 'what is planned and drained',
    usedBy: ['src/controller/cache/copies.ts'],
    fence: { alone: 'reading' },
  },
  {
    group: MAINTENANCES,
    resources: ['nodemaintenances'],
    verbs: ['patch'],
    why: 'its finalizer, and the stage Complete',
    usedBy: ['src/controller/maintenance/reconciler.ts'],
    fence: {
      policies: COURSE,
      leaves:
        'of the metadata its finalizer; of the spec the stage Complete of one that is deleted, or of an agent whose boot is noted',
    },
  },
  {
    group: MAINTENANCES,
    resources: ['nodemaintenances/status'],
    verbs: ['patch'],
    why: 'the progress of drains',
    usedBy: ['src/kube/maintenance/status.ts'],
    fence: {
      policies: ['nodemaint-node-maintenances'],
      leaves:
        'nodes that the maintenance names (where it names at most 100), the condition Drained, and the present stage; a false status lets no machine go: its agent asks the container runtime before',
    },
  },
  {
    group: MAINTENANCES,
    resources: ['nodemaintenances'],
    verbs: ['coordinate'],
    why: 'to write them without the right to delete nodes',
    usedBy: ['manifests/policies/node-maintenance.yaml'],
    fence: { alone: 'the policy that asks for it says what it allows' },
  },
  {
    group: REQUESTS,
    resources: ['evictionrequests'],
    verbs: ['list', 'watch'],
    why: 'which pods are to leave',
    usedBy: ['src/controller/cache/copies.ts'],
    fence: { alone: 'reading' },
  },
  {
    group: REQUESTS,
    resources: ['evictionrequests'],
    verbs: ['create', 'patch', 'delete'],
    why: 'the requests of drains, and the labels of all; those that are over are deleted',
    usedBy: ['src/controller/maintenance/requests.ts', 'src/kube/eviction/requester-entry.ts'],
    fence: {
      policies: ['nodemaint-eviction-requests'],
      leaves: 'the requester of drains, labels, and its own annotations; deletes those that are over',
    },
  },
  {
    group: REQUESTS,
    resources: ['evictionrequests'],
    verbs: ['deletecollection'],
    why: 'the requests of a node that are over, by one call',
    usedBy: ['src/controller/maintenance/request-cleanup.ts'],
    fence: {
      policies: ['nodemaint-eviction-requests'],
      leaves: 'the same: each object is judged',
    },
  },
  {
    group: REQUESTS,
    resources: ['evictionrequests/status'],
    verbs: ['patch'],
    why: 'active interceptors, ends, and the report of the Eviction API',
    usedBy: ['src/controller/eviction/reconciler.ts', 'src/kube/eviction/interceptor-status.ts'],
    fence: {
      policies: ['nodemaint-eviction-request-status'],
      leaves: 'what its verbs below allow, and no reserved interceptor but its two',
    },
  },
  {
    group: REQUESTS,
    resources: ['evictionrequests'],
    verbs: ['coordinate'],
    why: 'to make interceptors active and to end requests',
    usedBy: ['manifests/policies/eviction-request-status.yaml'],
    fence: { alone: 'nobody else manages them' },
  },
  {
    group: REQUESTS,
    resources: ['interceptors'],
    names: ['imperative-eviction.k8s.io', 'daemonset.apps.k8s.io'],
    verbs: ['intercept'],
    why: 'to report under these reserved names',
    usedBy: ['manifests/policies/eviction-request-status.yaml'],
    fence: { alone: 'the names' },
  },
];
