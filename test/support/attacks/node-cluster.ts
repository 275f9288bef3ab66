/** What a stolen identity of node n1 tries on everything else: pods, other nodes, Leases, Secrets, other identities. */
import assert from 'node:assert/strict';
import type { KubeRequest } from '../../../src/kube/client.ts';
import { collectionPath, DAEMON_SETS, EVENTS, LEASES, NODES, objectPath, PODS } from '../../../src/kube/resource.ts';
import {
  allowed,
  type Attack,
  type Call,
  type Family,
  NODE_AUTHORIZER,
  nodeRestriction,
  policy,
  RBAC,
  refused,
  type Refuser,
  sendAs,
} from './attack.ts';
import { dry, mirrorBody, patched, podBody, type PodName, RELEASE, type Scene, SYSTEM, TEAM } from './scene.ts';

const LEASE = { name: 'nodemaint-controller', namespace: SYSTEM };
const CONTROLLER = `system:serviceaccount:${SYSTEM}:nodemaint-controller`;
const ACCOUNTS = `/api/v1/namespaces/${SYSTEM}/serviceaccounts`;
const SECRETS = `/api/v1/namespaces/${SYSTEM}/secrets`;
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';

const trying = (name: string, refuser: Refuser, call: Call): Attack => refused('n1', name, refuser, call);

/** Asks the Eviction API for a pod. */
export function evicted(pod: keyof Scene['pods']): Call {
  return ({ pods }) => {
    const { name, namespace = '' } = pods[pod].metadata;
    const body = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name, namespace },
      deleteOptions: { dryRun: ['All'] },
    };
    return { method: 'POST', path: `${objectPath(PODS, { name, namespace }, 'eviction')}?dryRun=All`, body };
  };
}

function pathOf({ pods }: Scene, pod: PodName, subresource?: string): string {
  return objectPath(PODS, pods[pod].metadata, subresource);
}

const released = (query: string, method: KubeRequest['method'] = 'DELETE'): KubeRequest => ({
  ...dry(method, `${collectionPath(PODS, TEAM)}${query}`),
  as: RELEASE,
});
const named = (name: string): string => `?fieldSelector=metadata.name%3D${name}`;

function mirror(name: string, node: 'n1' | 'n2', metadata: object = {}, spec: object = {}): Call {
  return ({ pods }) => {
    const uid = (pods[`static-${node}`].metadata.ownerReferences ?? [])[0]?.uid ?? '';
    return dry('POST', collectionPath(PODS, TEAM), { body: mirrorBody(name, node, uid, metadata, spec) });
  };
}

const OTHERS: Family = {
  attacker: 'n1',
  title: 'pods and other nodes',
  control: allowed('n1', 'evicts a pod of its own', evicted('web-1')),
  attacks: [
    trying(
      'evicts a pod of n2',
      nodeRestriction(/can only evict pods with spec.nodeName set to itself/u),
      evicted('web-2'),
    ),
    trying('deletes a pod of n2', nodeRestriction(/can only delete pods with spec.nodeName set to itself/u), (scene) =>
      dry('DELETE', pathOf(scene, 'web-2')),
    ),
    trying('deletes the pods of a namespace', RBAC, () => dry('DELETE', collectionPath(PODS, TEAM))),
    trying(
      'writes the status of a pod of n2',
      nodeRestriction(/can only update pod status for pods with spec.nodeName set to itself/u),
      (scene) =>
        dry('PATCH', pathOf(scene, 'web-2', 'status'), {
          body: { status: { phase: 'Succeeded' } },
          patch: { kind: 'merge' },
        }),
    ),
    trying('annotates a pod of its own', RBAC, (scene) =>
      patched(PODS, { ...scene.pods['web-1'].metadata, namespace: TEAM }, { metadata: { annotations: { a: 'b' } } }),
    ),
    trying('takes the gate of a pod that is held for n1', RBAC, (scene) =>
      patched(PODS, { ...scene.pods['held-n1'].metadata, namespace: TEAM }, { spec: { schedulingGates: [] } }),
    ),
    trying(
      'makes a mirror pod of n2',
      nodeRestriction(/can only create pods with spec.nodeName set to itself/u),
      mirror('evil', 'n2'),
    ),
    trying('makes a pod that is no mirror pod', nodeRestriction(/can only create mirror pods/u), () =>
      dry('POST', collectionPath(PODS, TEAM), { body: podBody('evil', {}, { nodeName: 'n1' }) }),
    ),
    trying('binds a pod to itself', RBAC, (scene) =>
      dry('POST', pathOf(scene, 'held-n1', 'binding'), {
        body: {
          apiVersion: 'v1',
          kind: 'Binding',
          metadata: { name: 'held-n1' },
          target: { kind: 'Node', name: 'n1' },
        },
      }),
    ),
    trying('reads a pod of n2', NODE_AUTHORIZER, (scene) => ({ method: 'GET', path: pathOf(scene, 'web-2') })),
    trying('lists the pods of the cluster', NODE_AUTHORIZER, () => ({ method: 'GET', path: collectionPath(PODS) })),
    trying('cordons n2', nodeRestriction(/is not allowed to modify node "n2"/u), () =>
      patched(NODES, { name: 'n2' }, { spec: { unschedulable: true } }),
    ),
    trying('says that n2 is not ready', nodeRestriction(/is not allowed to modify node "n2"/u), () =>
      dry('PATCH', objectPath(NODES, { name: 'n2' }, 'status'), {
        body: { status: { conditions: [{ type: 'Ready', status: 'False', reason: 'X', message: '' }] } },
        patch: { kind: 'merge' },
      }),
    ),
    trying('says that n2 was booted', nodeRestriction(/is not allowed to modify node "n2"/u), () =>
      dry('PATCH', objectPath(NODES, { name: 'n2' }, 'status'), {
        body: { status: { nodeInfo: { bootID: 'x' } } },
        patch: { kind: 'merge' },
      }),
    ),
    trying('takes the mark of its cordon from n2', nodeRestriction(/is not allowed to modify node "n2"/u), () =>
      patched(NODES, { name: 'n2' }, { metadata: { annotations: { 'nodemaintenance.x-k8s.io/cordoned': null } } }),
    ),
    trying('deletes n2', RBAC, () => dry('DELETE', objectPath(NODES, { name: 'n2' }))),
    trying('reads n2', NODE_AUTHORIZER, () => ({ method: 'GET', path: objectPath(NODES, { name: 'n2' }) })),
  ],
};

const HELD = policy('nodemaint-held-pods', /only delete pods that the gate of a maintenance keeps from starting/u);
/** Of several pods that are refused, the API server names any one. */
const ANY_HELD = policy('nodemaint-held-pods', /an agent may only delete pods/u);
const OF_DAEMON_SET = policy('nodemaint-held-pods', /only delete pods of DaemonSets/u);
const FOR_NODE = policy('nodemaint-held-pods', /only delete pods that are for the node of their label/u);
const RELEASES: Family = {
  attacker: 'n1',
  title: 'the account nodemaint-agent-release, which agents may act as',
  control: allowed('n1', 'lets go of a pod that is held for it', () => released(named('held-n1'))),
  attacks: [
    trying('deletes a running pod as it', HELD, () => released(named('web-2'))),
    trying('deletes a pod as it that is gated and of no DaemonSet', OF_DAEMON_SET, () => released(named('gated-n1'))),
    trying('deletes a pod as it that is gated for n2, by the label of n1', FOR_NODE, () =>
      released(named('mislabelled')),
    ),
    trying('deletes all pods of a namespace as it', ANY_HELD, () => released('')),
    trying('deletes one pod by its name as it', RBAC, (scene) => ({
      ...dry('DELETE', pathOf(scene, 'held-n1')),
      as: RELEASE,
    })),
    trying('lists pods as it', RBAC, () => ({ method: 'GET', path: collectionPath(PODS, TEAM), as: RELEASE })),
    trying('puts the label held-for on a running pod as it', RBAC, (scene) => ({
      ...patched(
        PODS,
        { ...scene.pods['web-2'].metadata, namespace: TEAM },
        { metadata: { labels: { 'nodemaintenance.x-k8s.io/held-for': 'n1' } } },
      ),
      as: RELEASE,
    })),
    trying('reads Secrets as it', RBAC, () => ({ method: 'GET', path: SECRETS, as: RELEASE })),
    trying("acts as the controller's account", NODE_AUTHORIZER, () => ({
      method: 'GET',
      path: collectionPath(PODS),
      as: CONTROLLER,
    })),
    trying('acts as node n2', RBAC, () => ({ method: 'GET', path: collectionPath(NODES), as: 'system:node:n2' })),
    trying('acts as an administrator', RBAC, () => ({ method: 'GET', path: collectionPath(NODES), as: 'admin' })),
  ],
};

const SYSTEM_OBJECTS: Family = {
  attacker: 'n1',
  title: 'the Lease, Secrets, accounts and policies of the product',
  control: {
    name: 'the controller renews its Lease',
    attempt: async ({ clients }) => {
      const path = objectPath(LEASES, LEASE);
      const { body } = await sendAs(clients.controller, { method: 'GET', path });
      const answer = await sendAs(clients.controller, dry('PUT', path, { body }));
      assert.equal(answer.status, 200);
    },
  },
  attacks: [
    trying("takes the controller's Lease, so that no controller lives", NODE_AUTHORIZER, () =>
      patched(LEASES, LEASE, { spec: { holderIdentity: 'mallory' } }),
    ),
    trying("deletes the controller's Lease", NODE_AUTHORIZER, () => dry('DELETE', objectPath(LEASES, LEASE))),
    trying("makes another Lease in the controller's namespace", NODE_AUTHORIZER, () =>
      dry('POST', collectionPath(LEASES, SYSTEM), {
        body: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'x' } },
      }),
    ),
    trying("reads the webhook's key", NODE_AUTHORIZER, () => ({ method: 'GET', path: `${SECRETS}/nodemaint-webhook` })),
    trying("replaces the webhook's key", NODE_AUTHORIZER, () =>
      dry('PATCH', `${SECRETS}/nodemaint-webhook`, { body: { data: {} }, patch: { kind: 'merge' } }),
    ),
    trying("asks for a token of the controller's account", NODE_AUTHORIZER, () =>
      dry('POST', `${ACCOUNTS}/nodemaint-controller/token`, {
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['x'] } },
      }),
    ),
    trying('switches a policy off', RBAC, () =>
      dry('DELETE', `${ADMISSION}/validatingadmissionpolicies/nodemaint-node-maintenances`),
    ),
    trying("turns the product's webhook to itself", RBAC, () =>
      dry('PATCH', `${ADMISSION}/validatingwebhookconfigurations/nodemaint-webhook`, {
        body: { webhooks: [] },
        patch: { kind: 'merge' },
      }),
    ),
    trying('gives itself rights', RBAC, () =>
      dry('PATCH', '/apis/rbac.authorization.k8s.io/v1/clusterroles/nodemaint-agent', {
        body: { rules: [] },
        patch: { kind: 'merge' },
      }),
    ),
    trying('changes the CRD', RBAC, () =>
      dry(
        'DELETE',
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodemaintenances.nodemaintenance.x-k8s.io',
      ),
    ),
    trying('makes a DaemonSet', RBAC, () => dry('POST', collectionPath(DAEMON_SETS, TEAM), { body: {} })),
    trying('deletes Events', RBAC, () => dry('DELETE', objectPath(EVENTS, { name: 'x', namespace: 'default' }))),
  ],
};

export const NODE_CLUSTER_ATTACKS: readonly Family[] = [OTHERS, RELEASES, SYSTEM_OBJECTS];
