/** What users try: one with the ClusterRole edit in a namespace, one with no rights, a requester and an interceptor. */
import { NODE_LABEL } from '../../../src/api/names.ts';
import {
  collectionPath,
  EVICTION_REQUESTS,
  LEASES,
  NODE_MAINTENANCES,
  NODES,
  objectPath,
  PODS,
} from '../../../src/kube/resource.ts';
import { conditionWith, firstStatus, requestFor } from '../rigs/admission.ts';
import { byName, maintenanceOf } from '../maintenance/objects.ts';
import {
  allowed,
  type Attack,
  type Attacker,
  type Call,
  type Family,
  policy,
  RBAC,
  refused,
  type Refuser,
  schema,
} from './attack.ts';
import { evicted } from './node-cluster.ts';
import { dry, OTHER_TEAM, patched, patchedStatus, RELEASE, requestOf, SYSTEM, TEAM } from './scene.ts';

const TIME = '2026-01-01T10:00:00Z';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const MAY_DELETE = policy('nodemaint-eviction-requests', /because it may not delete pod/u);

const by =
  (attacker: Attacker) =>
  (name: string, refuser: Refuser, call: Call): Attack =>
    refused(attacker, name, refuser, call);

const madeMaintenance: Call = () =>
  dry('POST', collectionPath(NODE_MAINTENANCES), {
    body: maintenanceOf({ stage: 'Drain', nodeSelector: byName('n1') }),
  });
const completed: Call = () => patched(NODE_MAINTENANCES, { name: 'of-a-person' }, { spec: { stage: 'Complete' } });

function madeRequest(
  namespace: string,
  pod: string,
  spec: object = {},
  metadata: object = {},
  uid = crypto.randomUUID(),
): Call {
  return () =>
    dry('POST', collectionPath(EVICTION_REQUESTS, namespace), {
      body: requestFor(pod, uid, spec, { namespace, ...metadata }),
    });
}

/** What neither of them may do, because the objects are not theirs. */
function outside(attacker: 'editor' | 'anybody'): readonly Attack[] {
  const tries = by(attacker);
  return [
    tries('makes a NodeMaintenance', RBAC, madeMaintenance),
    tries('completes a NodeMaintenance', RBAC, completed),
    tries('deletes a NodeMaintenance', RBAC, () => dry('DELETE', objectPath(NODE_MAINTENANCES, { name: 'rack' }))),
    tries('says that a NodeMaintenance is drained', RBAC, () =>
      patchedStatus(
        NODE_MAINTENANCES,
        { name: 'shutdown-n2-0' },
        { conditions: [conditionWith('Progressing', 'True')] },
      ),
    ),
    tries('reads NodeMaintenances', RBAC, () => ({ method: 'GET', path: collectionPath(NODE_MAINTENANCES) })),
    tries('cordons a node', RBAC, () => patched(NODES, { name: 'n2' }, { spec: { unschedulable: true } })),
    tries('makes an EvictionRequest in the namespace of others', RBAC, madeRequest(OTHER_TEAM, 'db')),
    tries('reads EvictionRequests of all namespaces', RBAC, () => ({
      method: 'GET',
      path: collectionPath(EVICTION_REQUESTS),
    })),
    tries('withdraws the wish that a static pod leaves', RBAC, (scene) =>
      patched(EVICTION_REQUESTS, requestOf(scene, 'static-n2'), { spec: { requesters: [] } }),
    ),
    tries('evicts a pod of others', RBAC, evicted('db')),
    tries("takes the controller's Lease, so that no controller lives", RBAC, () =>
      patched(LEASES, { name: 'nodemaint-controller', namespace: SYSTEM }, { spec: { holderIdentity: 'mallory' } }),
    ),
    tries("reads the webhook's key", RBAC, () => ({
      method: 'GET',
      path: `/api/v1/namespaces/${SYSTEM}/secrets/nodemaint-webhook`,
    })),
    tries('acts as the account that releases held pods', RBAC, () => ({
      ...dry('DELETE', collectionPath(PODS, TEAM)),
      as: RELEASE,
    })),
    tries('switches a policy off', RBAC, () =>
      dry('DELETE', `${ADMISSION}/validatingadmissionpolicies/nodemaint-node-maintenances`),
    ),
    tries("asks for a token of the controller's account", RBAC, () =>
      dry('POST', `/api/v1/namespaces/${SYSTEM}/serviceaccounts/nodemaint-controller/token`, {
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['x'] } },
      }),
    ),
  ];
}

const edits = by('editor');
const INSIDE: Family = {
  attacker: 'editor',
  title: 'EvictionRequests of its namespace',
  control: allowed('editor', 'asks for the eviction of a pod of its own', madeRequest(TEAM, 'web-1')),
  attacks: [
    edits('writes the status', RBAC, (scene) =>
      patchedStatus(EVICTION_REQUESTS, requestOf(scene, 'web-1'), { conditions: [conditionWith('Evicted', 'True')] }),
    ),
    edits(
      'makes one whose name is not the UID of the pod',
      schema(/metadata.name must be the UID/u),
      madeRequest(TEAM, 'web-1', {}, { name: 'x' }),
    ),
    edits(
      'makes one under a generated name',
      schema(/generateName is not supported/u),
      madeRequest(TEAM, 'web-1', {}, { generateName: 'x-' }),
    ),
    edits(
      'makes one without a requester',
      schema(/at least one requester is required/u),
      madeRequest(TEAM, 'web-1', { requesters: [] }),
    ),
    edits(
      'makes one with 101 requesters',
      schema(/must have at most 100 items/u),
      madeRequest(TEAM, 'web-1', {
        requesters: Array.from({ length: 101 }, (_, at) => ({ name: `r-${at}.example.com` })),
      }),
    ),
    edits(
      'makes one with a requester that is no domain name',
      schema(/must be a fully qualified domain name/u),
      madeRequest(TEAM, 'web-1', { requesters: [{ name: '\u001B[2J' }] }),
    ),
    edits('turns one on another pod', schema(/target is immutable/u), (scene) =>
      patched(EVICTION_REQUESTS, requestOf(scene, 'web-1'), { spec: { target: { pod: { name: 'web-2' } } } }),
    ),
  ],
};

const requests = by('requester');
const REQUESTER: Family = {
  attacker: 'requester',
  title: 'EvictionRequests, with all rights to them and none to delete pods',
  control: allowed('admin', 'whoever may delete the pod', (scene) =>
    patched(EVICTION_REQUESTS, requestOf(scene, 'web-2'), { metadata: { labels: { a: 'b' } } }),
  ),
  attacks: [
    requests('makes one', MAY_DELETE, madeRequest(TEAM, 'web-2')),
    requests('makes one for a static pod', MAY_DELETE, madeRequest('kube-system', 'static-n2')),
    requests('withdraws the wish of a maintenance', MAY_DELETE, (scene) =>
      patched(EVICTION_REQUESTS, requestOf(scene, 'web-2'), { spec: { requesters: [] } }),
    ),
    requests('gives one to another node by the label', MAY_DELETE, (scene) =>
      patched(EVICTION_REQUESTS, requestOf(scene, 'static-n2'), { metadata: { labels: { [NODE_LABEL]: 'n1' } } }),
    ),
    requests('sets a deadline for interceptors', MAY_DELETE, (scene) =>
      patched(EVICTION_REQUESTS, requestOf(scene, 'web-2'), {
        metadata: { annotations: { 'nodemaintenance.x-k8s.io/interceptor-deadline': TIME } },
      }),
    ),
    requests('deletes one', MAY_DELETE, (scene) =>
      dry('DELETE', objectPath(EVICTION_REQUESTS, requestOf(scene, 'web-2'))),
    ),
    requests('deletes all of a namespace', MAY_DELETE, () => dry('DELETE', collectionPath(EVICTION_REQUESTS, TEAM))),
  ],
};

const intercepts = by('interceptor');
const entry = (name: string, first = 'actor.example.com'): object => ({
  interceptors: (firstStatus([first, 'imperative-eviction.k8s.io']).interceptors ?? []).map((each) =>
    each.name === name ? { ...each, startTime: TIME, heartbeatTime: TIME } : each,
  ),
});
const INTERCEPTOR: Family = {
  attacker: 'interceptor',
  title: 'EvictionRequests, with the ClusterRole nodemaint-interceptor',
  control: allowed('interceptor', 'reports when it is its turn', (scene) =>
    patchedStatus(EVICTION_REQUESTS, requestOf(scene, 'web-1'), entry('actor.example.com')),
  ),
  attacks: [
    intercepts(
      'plays kubelet.k8s.io',
      policy('nodemaint-eviction-request-status', /may not report as kubelet.k8s.io/u),
      (scene) =>
        patchedStatus(EVICTION_REQUESTS, requestOf(scene, 'static-n1'), entry('kubelet.k8s.io', 'kubelet.k8s.io')),
    ),
    intercepts('plays the next one', schema(/only the entry of the interceptor in activeInterceptors/u), (scene) =>
      patchedStatus(EVICTION_REQUESTS, requestOf(scene, 'web-1'), entry('imperative-eviction.k8s.io')),
    ),
    intercepts(
      'ends the request',
      policy('nodemaint-eviction-request-status', /may not change what the EvictionRequest controller manages/u),
      (scene) =>
        patchedStatus(EVICTION_REQUESTS, requestOf(scene, 'web-1'), {
          conditions: [conditionWith('Progressing', 'False'), conditionWith('Canceled', 'True')],
          activeInterceptors: [],
          processedInterceptors: ['actor.example.com'],
        }),
    ),
    intercepts('asks for an eviction', RBAC, madeRequest(TEAM, 'web-1')),
    intercepts('evicts a pod', RBAC, evicted('web-1')),
  ],
};

const control = (name: string): Family['control'] => allowed('admin', name, completed);
export const USER_ATTACKS: readonly Family[] = [
  {
    attacker: 'editor',
    title: 'what is not in its namespace',
    control: control('an administrator completes the NodeMaintenance'),
    attacks: outside('editor'),
  },
  INSIDE,
  {
    attacker: 'anybody',
    title: 'the cluster',
    control: control('an administrator completes the NodeMaintenance'),
    attacks: [
      ...outside('anybody'),
      by('anybody')('makes an EvictionRequest', RBAC, madeRequest(TEAM, 'web-1')),
      by('anybody')('reports as an interceptor', RBAC, (scene) =>
        patchedStatus(EVICTION_REQUESTS, requestOf(scene, 'web-1'), entry('actor.example.com')),
      ),
    ],
  },
  REQUESTER,
  INTERCEPTOR,
];
