/** The agent of a node, which has the identity of its kubelet, and the account as which it releases gated pods. */
import type { Account } from '../account.ts';

const [MAINTENANCES, REQUESTS] = ['nodemaintenance.x-k8s.io', 'coordination.x-k8s.io'];
const OWN = ['nodemaint-node-maintenances'] as const;

/** The group of all nodes. */
export const AGENT: Account = {
  subject: 'system:nodes',
  title: 'Agents: the group `system:nodes`',
  introduction: [
    'An agent has the identity of the kubelet of its node, `system:node:NAME`: no new secret is on the node, and it rotates. ClusterRole and Roles `nodemaint-agent`.',
    'Beside the table an agent uses what Kubernetes gives every kubelet, within the Node authorizer and NodeRestriction: it reads, evicts and deletes the pods of its node, reads and changes its own Node and its status, and writes Events.',
  ].join('\n\n'),
  rights: [
    {
      group: MAINTENANCES,
      resources: ['nodemaintenances'],
      verbs: ['get', 'list', 'watch'],
      why: 'which maintenances its node has; its own by name, at a start and when a drain begins',
      usedBy: ['src/agent/cluster/maintenances-by-note.ts', 'src/agent/cluster/maintenance-writer.ts'],
      fence: {
        alone:
          'reading; RBAC knows no selectors, and the Node authorizer no custom resources. Every node reads the names of all nodes under maintenance, and why',
      },
    },
    {
      group: MAINTENANCES,
      resources: ['nodemaintenances'],
      verbs: ['create'],
      why: 'the maintenance of a shutdown or a notice',
      usedBy: ['src/agent/cluster/maintenance-writer.ts'],
      fence: { policies: OWN, leaves: '46 names, for its own node alone' },
    },
    {
      group: MAINTENANCES,
      resources: ['nodemaintenances'],
      verbs: ['patch', 'delete'],
      why: 'its stage, its deadline and its end',
      usedBy: ['src/agent/cluster/maintenance-writer.ts'],
      fence: { policies: OWN, leaves: 'those that have its label and select its node alone' },
    },
    {
      group: MAINTENANCES,
      resources: ['nodemaintenances/status'],
      verbs: ['patch'],
      why: 'the progress of a drain of its node while no controller is alive',
      usedBy: ['src/agent/drain/self/status.ts', 'src/agent/drain/offline/hand-over.ts'],
      fence: { policies: OWN, leaves: 'those that select its node alone; the status of its node, and `Drained`' },
    },
    {
      group: REQUESTS,
      resources: ['evictionrequests'],
      verbs: ['list', 'watch'],
      why: 'whether a static pod of its node is to leave',
      usedBy: ['src/agent/cluster/eviction-requests.ts'],
      fence: { alone: 'reading, as above: names and UIDs of pods that leave' },
    },
    {
      group: REQUESTS,
      resources: ['evictionrequests/status'],
      verbs: ['patch'],
      why: 'its report as the interceptor of its static pods',
      usedBy: ['src/kube/eviction/interceptor-status.ts'],
      fence: {
        policies: ['nodemaint-eviction-request-status'],
        leaves: 'the entry `kubelet.k8s.io`, for pods of its own node',
      },
    },
    {
      group: REQUESTS,
      resources: ['interceptors'],
      names: ['kubelet.k8s.io'],
      verbs: ['intercept'],
      why: 'to report under this reserved name',
      usedBy: ['manifests/policies/eviction-request-status.yaml'],
      fence: { alone: 'the name' },
    },
    {
      group: 'coordination.k8s.io',
      resources: ['leases'],
      names: ['nodemaint-controller'],
      namespace: 'nodemaint-system',
      verbs: ['get'],
      why: 'whether a controller is alive',
      usedBy: ['src/agent/drain/controller-lease.ts'],
      fence: { alone: 'reading, one object' },
    },
    {
      group: 'coordination.k8s.io',
      resources: ['leases'],
      namespace: 'kube-node-lease',
      verbs: ['list'],
      why: 'whether any other node stays, while no controller is alive',
      usedBy: ['src/agent/drain/self/other-nodes.ts'],
      fence: { alone: 'reading: the names of all nodes, and when their kubelets were last alive' },
    },
    {
      group: '',
      resources: ['serviceaccounts'],
      names: ['nodemaint-agent-release'],
      namespace: 'nodemaint-system',
      verbs: ['impersonate'],
      why: 'to release gated DaemonSet pods while no controller is alive',
      usedBy: ['src/agent/drain/gates.ts'],
      fence: { alone: 'the name; what that account may do is below' },
    },
  ],
  thief:
    'A thief of the identity of one node reads the names of nodes, maintenances and pods that leave, says of its own node that it is drained or is not, and releases gated pods of other nodes as the account below.',
};

/** The account as which every agent may act. */
export const RELEASE: Account = {
  subject: 'system:serviceaccount:nodemaint-system:nodemaint-agent-release',
  title: 'Agents that release gated pods: `nodemaint-agent-release`',
  introduction:
    'No pod has this account: agents act as it, by impersonation, while no controller is alive. The network of the node may be among its gated pods, and NodeRestriction gives a node no right to pods that are not bound to it ([ADR 9](../adr/0009-release-account.md)).',
  rights: [
    {
      group: 'apps',
      resources: ['daemonsets'],
      verbs: ['list'],
      why: 'the namespaces in which pods can be gated',
      usedBy: ['src/agent/drain/gates.ts'],
      fence: { alone: 'reading: agents ask for the names only, a thief reads the pod templates too' },
    },
    {
      group: '',
      resources: ['pods'],
      verbs: ['deletecollection'],
      why: 'the DaemonSet controller makes a gated pod again, without a gate',
      usedBy: ['src/agent/drain/gates.ts'],
      fence: {
        policies: ['nodemaint-held-pods', 'nodemaint-held-pods-in-time'],
        leaves: 'pods that the gate keeps from starting, for nodes whose DaemonSet pods no maintenance drains',
      },
    },
  ],
  thief: '',
};
