/** The roles for people. */
import type { Account } from '../account.ts';

const [MAINTENANCES, REQUESTS] = ['nodemaintenance.x-k8s.io', 'coordination.x-k8s.io'];

export const PEOPLE: readonly Account[] = [
  {
    subject: 'ClusterRole nodemaint-view',
    title: 'People with `view`, `edit` or `admin`',
    introduction:
      'ClusterRole `nodemaint-view`, part of the three roles of Kubernetes. NodeMaintenances have no namespace: only a ClusterRoleBinding gives the rights to them.',
    rights: [
      {
        group: REQUESTS,
        resources: ['evictionrequests'],
        verbs: ['get', 'list', 'watch'],
        why: 'which of their pods are to leave',
        usedBy: ['src/cli/evict/watch.ts'],
        fence: { alone: 'reading, in the namespaces of the role' },
      },
      {
        group: REQUESTS,
        resources: ['evictionrequests/status'],
        verbs: ['get'],
        why: '`kubectl get --subresource=status`',
        usedBy: [],
        fence: { alone: 'reading' },
      },
      {
        group: MAINTENANCES,
        resources: ['nodemaintenances'],
        verbs: ['get', 'list', 'watch'],
        why: 'which nodes are under maintenance',
        usedBy: ['src/kube/maintenance/client.ts'],
        fence: { alone: 'reading' },
      },
      {
        group: MAINTENANCES,
        resources: ['nodemaintenances/status'],
        verbs: ['get'],
        why: '`kubectl get --subresource=status`',
        usedBy: [],
        fence: { alone: 'reading' },
      },
    ],
    thief: '',
  },
  {
    subject: 'ClusterRole nodemaint-evictionrequests-edit',
    title: 'People with `edit` or `admin`: EvictionRequests',
    introduction: 'ClusterRole `nodemaint-evictionrequests-edit`, part of these two roles of Kubernetes.',
    rights: [
      {
        group: REQUESTS,
        resources: ['evictionrequests'],
        verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'],
        why: '`nodemaint evict`, and what people do with kubectl',
        usedBy: ['src/kube/eviction/requester.ts'],
        fence: {
          policies: ['nodemaint-eviction-requests'],
          leaves: 'those of pods that the person may delete; the status is in no role for people',
        },
      },
    ],
    thief: '',
  },
  {
    subject: 'ClusterRole nodemaint-interceptor',
    title: 'Interceptors of others: `nodemaint-interceptor`',
    introduction: 'Bound to nobody by the manifests: an administrator gives it to the identity of an interceptor.',
    rights: [
      {
        group: REQUESTS,
        resources: ['evictionrequests'],
        verbs: ['get', 'list', 'watch'],
        why: 'whose turn it is',
        usedBy: ['src/kube/eviction/interceptor-loop.ts'],
        fence: { alone: 'reading' },
      },
      {
        group: REQUESTS,
        resources: ['evictionrequests/status'],
        verbs: ['patch'],
        why: 'its report',
        usedBy: ['src/kube/eviction/interceptor-status.ts'],
        fence: {
          policies: ['nodemaint-eviction-request-status'],
          leaves: 'the entry of the interceptor whose turn it is, unless its name is reserved',
        },
      },
      {
        group: '',
        resources: ['pods'],
        verbs: ['get'],
        why: 'the pod that is to leave',
        usedBy: ['src/kube/eviction/interceptor-loop.ts'],
        fence: { alone: 'reading' },
      },
    ],
    thief: '',
  },
  {
    subject: 'ClusterRole nodemaint-operator',
    title: 'People who take nodes out of use: `nodemaint-operator`',
    introduction: 'Bound to nobody by the manifests: an administrator gives it to people, cluster-wide.',
    rights: [
      {
        group: MAINTENANCES,
        resources: ['nodemaintenances'],
        verbs: ['get', 'list', 'watch'],
        why: 'which nodes are under maintenance',
        usedBy: ['src/kube/maintenance/client.ts'],
        fence: { alone: 'reading' },
      },
      {
        group: MAINTENANCES,
        resources: ['nodemaintenances'],
        verbs: ['create', 'patch', 'delete'],
        why: '`nodemaint drain`, `cordon`, `uncordon`',
        usedBy: ['src/kube/maintenance/client.ts'],
        fence: {
          policies: ['nodemaint-node-maintenances'],
          leaves:
            'those of nodes that the person may drain or delete, under names that agents do not use, with no name of another as who asked, and without letting the machine go',
        },
      },
      {
        group: REQUESTS,
        resources: ['evictionrequests'],
        verbs: ['get', 'list', 'watch'],
        why: 'the progress of a drain',
        usedBy: ['src/cli/follow/maintenance/requests.ts'],
        fence: { alone: 'reading' },
      },
      {
        group: '',
        resources: ['nodes'],
        verbs: ['get', 'list', 'watch'],
        why: 'which nodes there are, and whether they are drained',
        usedBy: ['src/kube/maintenance/client.ts', 'src/cli/cluster/wait-for-nodes.ts'],
        fence: { alone: 'reading' },
      },
      {
        group: '',
        resources: ['nodes'],
        verbs: ['drain'],
        why: 'the policy asks for it, and nothing else knows the verb',
        usedBy: ['manifests/policies/node-maintenance.yaml'],
        fence: { alone: 'a role with `resourceNames` restricts it to some nodes' },
      },
      {
        group: '',
        resources: ['pods'],
        verbs: ['get', 'list', 'watch'],
        why: 'what a drain waits for; one by name for `nodemaint evict`',
        usedBy: ['src/cli/follow/maintenance/watch.ts', 'src/kube/eviction/requester.ts'],
        fence: { alone: 'reading' },
      },
      {
        group: 'policy',
        resources: ['poddisruptionbudgets'],
        verbs: ['list'],
        why: '`nodemaint preview`',
        usedBy: ['src/cli/maintenance/preview.ts'],
        fence: { alone: 'reading' },
      },
      {
        group: 'apps',
        resources: ['daemonsets'],
        verbs: ['get'],
        why: '`nodemaint preview`',
        usedBy: ['src/cli/maintenance/preview.ts'],
        fence: { alone: 'reading' },
      },
      {
        group: 'admissionregistration.k8s.io',
        resources: ['mutatingadmissionpolicybindings', 'validatingadmissionpolicybindings'],
        verbs: ['get'],
        why: '`nodemaint preview`: whether DaemonSet pods are gated',
        usedBy: ['src/cli/maintenance/preview.ts'],
        fence: { alone: 'reading' },
      },
    ],
    thief: '',
  },
  {
    subject: 'ClusterRole nodemaint-releaser',
    title: 'People who let a held machine go: `nodemaint-releaser`',
    introduction:
      'Bound to nobody by the manifests: an administrator gives it to people who have `nodemaint-operator`, cluster-wide.',
    rights: [
      {
        group: '',
        resources: ['nodes'],
        verbs: ['release'],
        why: '`nodemaint release NODE`: the policy asks for it, and nothing else knows the verb',
        usedBy: ['manifests/policies/node-maintenance.yaml'],
        fence: { alone: 'a role with `resourceNames` restricts it to some nodes' },
      },
    ],
    thief: '',
  },
];
