/** The account of surges. */
import type { Account } from '../account.ts';

const REQUESTS = 'coordination.x-k8s.io';

/** `nodemaint surge`. */
export const SURGE: Account = {
  subject: 'system:serviceaccount:nodemaint-system:nodemaint-surge',
  title: 'Surges, an add-on: `nodemaint-surge`',
  introduction: 'Only with [`manifests/surge`](../usage/surge.md); ClusterRole `nodemaint-surge`.',
  rights: [
    {
      group: REQUESTS,
      resources: ['evictionrequests'],
      verbs: ['get', 'list', 'watch'],
      why: 'which pods are to leave, and whether one still is',
      usedBy: ['src/kube/eviction/interceptor-loop.ts', 'src/addons/surge/left-overs.ts'],
      fence: { alone: 'reading' },
    },
    {
      group: REQUESTS,
      resources: ['evictionrequests/status'],
      verbs: ['patch'],
      why: 'its report as an interceptor',
      usedBy: ['src/kube/eviction/interceptor-status.ts'],
      fence: {
        policies: ['nodemaint-surge-eviction-requests', 'nodemaint-eviction-request-status'],
        leaves: 'the entry `surge.nodemaintenance.x-k8s.io`',
      },
    },
    {
      group: '',
      resources: ['pods'],
      verbs: ['get'],
      why: 'the pod that is to leave',
      usedBy: ['src/kube/eviction/interceptor-loop.ts', 'src/addons/surge/interceptor.ts'],
      fence: { alone: 'reading' },
    },
    {
      group: '',
      resources: ['pods'],
      verbs: ['patch'],
      why: 'its ReplicaSet deletes this pod first',
      usedBy: ['src/addons/surge/interceptor.ts'],
      fence: {
        policies: ['nodemaint-surge-pods'],
        leaves: 'one deletion cost, of a pod that names the interceptor and has none',
      },
    },
    {
      group: 'apps',
      resources: ['replicasets'],
      verbs: ['get'],
      why: 'the Deployment of a pod',
      usedBy: ['src/addons/surge/interceptor.ts'],
      fence: { alone: 'reading' },
    },
    {
      group: 'apps',
      resources: ['deployments'],
      verbs: ['get', 'list', 'watch'],
      why: 'its replicas, and those that have to be scaled back',
      usedBy: ['src/addons/surge/interceptor.ts', 'src/addons/surge/left-overs.ts'],
      fence: { alone: 'reading' },
    },
    {
      group: 'apps',
      resources: ['deployments'],
      verbs: ['patch'],
      why: 'another pod, the record of it, and back',
      usedBy: ['src/addons/surge/interceptor.ts'],
      fence: {
        policies: ['nodemaint-surge-deployments'],
        leaves:
          'Deployments whose template names the interceptor; up by the pods in its record, which are at most `maxSurge`; back to the replicas before; never below one',
      },
    },
  ],
  thief:
    'An attacker with the token can read Deployments, pods by name and EvictionRequests, can add `maxSurge` pods to the Deployments that ask for it, or let their ReplicaSets delete one pod rather than another. Its Deployment prefers control plane nodes.',
};
