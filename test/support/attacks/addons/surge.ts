/** What a thief of the token of `nodemaint surge` tries. */
import { EVICTION_REQUESTS, objectPath, PODS, type Resource } from '../../../../src/kube/resource.ts';
import { conditionWith, firstStatus } from '../../rigs/admission.ts';
import {
  allowed,
  type Attack,
  type Call,
  type Family,
  policy,
  RBAC,
  refused,
  type Refuser,
  schema,
} from '../attack.ts';
import { evicted } from '../node-cluster.ts';
import { dry, patched, patchedStatus, requestOf, type Scene, TEAM } from '../scene.ts';
import { ASKS_FOR_SURGE, recordOf, SURGE_INTERCEPTOR, SURGE_RECORD } from './objects.ts';

const DEPLOYMENTS: Resource = { root: '/apis/apps/v1', plural: 'deployments', namespaced: true };
const TIME = '2026-01-01T10:00:00Z';
const COST = 'controller.kubernetes.io/pod-deletion-cost';

const tries = (name: string, refuser: Refuser, call: Call): Attack => refused('surge', name, refuser, call);
const onDeployment = (words: RegExp): Refuser => policy('nodemaint-surge-deployments', words);
const onPod = (words: RegExp): Refuser => policy('nodemaint-surge-pods', words);
const onRequest = (words: RegExp): Refuser => policy('nodemaint-surge-eviction-requests', words);

function changed(name: string, body: object): Call {
  return () => patched(DEPLOYMENTS, { name, namespace: TEAM }, body);
}
/** With this record; null: without one. */
function scaled(name: string, replicas: number, record: string | null): Call {
  return changed(name, { metadata: { annotations: { [SURGE_RECORD]: record } }, spec: { replicas } });
}
const NOT_ASKED = onDeployment(/only Deployments whose template names it/u);
const FIELDS = onDeployment(/may change only the replicas in the spec/u);

const ON_DEPLOYMENTS: Family = {
  attacker: 'surge',
  title: 'Deployments',
  control: allowed('surge', 'adds one pod to a Deployment that asks for it', scaled('asks', 3, recordOf(2, 'a'))),
  attacks: [
    tries('scales a Deployment that does not ask for surges to none', NOT_ASKED, scaled('plain', 0, null)),
    tries('adds a pod to a Deployment that does not ask for it', NOT_ASKED, scaled('plain', 4, recordOf(3, 'a'))),
    tries(
      'lets a Deployment ask for surges',
      NOT_ASKED,
      changed('plain', { spec: { template: { metadata: { annotations: ASKS_FOR_SURGE } } } }),
    ),
    tries(
      'scales a Deployment that asks to none',
      onDeployment(/only back to the replicas that it had/u),
      scaled('asks', 0, null),
    ),
    tries(
      'scales a Deployment that asks up without a record',
      onDeployment(/may scale a Deployment only/u),
      changed('asks', { spec: { replicas: 9 } }),
    ),
    tries(
      'adds more pods than maxSurge allows',
      onDeployment(/only as many pods to a Deployment as its maxSurge allows/u),
      scaled('asks', 4, recordOf(2, 'a', 'b')),
    ),
    tries(
      'scales a Deployment down below its record',
      onDeployment(/only back to the replicas that it had/u),
      scaled('surged', 1, null),
    ),
    tries(
      'writes a record of fewer replicas, to scale the Deployment back to them',
      onDeployment(/only back to the replicas that it had/u),
      scaled('surged', 2, recordOf(1, 'a')),
    ),
    tries(
      'writes something else into the record',
      onDeployment(/only a record of replicas and pods/u),
      scaled('asks', 2, 'x'),
    ),
    tries(
      'changes the image of the template',
      FIELDS,
      changed('asks', { spec: { template: { spec: { containers: [{ name: 'main', image: 'evil.invalid/x' }] } } } }),
    ),
    tries('lets a roll-out that is paused go on', FIELDS, changed('asks', { spec: { paused: false } })),
    tries(
      'changes another label of a Deployment',
      onDeployment(/only its own label/u),
      changed('asks', { metadata: { labels: { team: 'x' } } }),
    ),
    tries(
      'gives a Deployment an owner that does not exist, so that it is collected',
      onDeployment(/may change nothing else/u),
      changed('asks', {
        metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }] },
      }),
    ),
    tries('scales a Deployment by its scale', RBAC, () =>
      dry('PATCH', objectPath(DEPLOYMENTS, { name: 'asks', namespace: TEAM }, 'scale'), {
        body: { spec: { replicas: 0 } },
        patch: { kind: 'merge' },
      }),
    ),
    tries('deletes a Deployment', RBAC, () =>
      dry('DELETE', objectPath(DEPLOYMENTS, { name: 'asks', namespace: TEAM })),
    ),
  ],
};

/** A change of the pod, which names the interceptor or does not. */
const podChanged =
  (pod: 'surge-1' | 'web-1', body: object): Call =>
  ({ pods }) => {
    const { name, namespace = '' } = pods[pod].metadata;
    return patched(PODS, { name, namespace }, body);
  };
const costing = (pod: 'surge-1' | 'web-1', cost: string): Call =>
  podChanged(pod, { metadata: { annotations: { [COST]: cost } } });

const ON_PODS: Family = {
  attacker: 'surge',
  title: 'pods',
  control: allowed('surge', 'gives a pod that asks for it the deletion cost', costing('surge-1', '-2147483600')),
  attacks: [
    tries(
      'lets a ReplicaSet delete a pod that does not ask for surges',
      onPod(/only give a pod that names it the deletion cost/u),
      costing('web-1', '-2147483600'),
    ),
    tries('gives a pod another deletion cost', onPod(/only give a pod that names it/u), costing('surge-1', '7')),
    tries(
      'gives a pod a label that a Service selects',
      onPod(/neither the spec nor the labels/u),
      podChanged('surge-1', { metadata: { labels: { app: 'db' } } }),
    ),
    tries('evicts a pod', RBAC, evicted('surge-1')),
    tries('deletes a pod', RBAC, ({ pods }) => dry('DELETE', objectPath(PODS, pods['surge-1'].metadata))),
  ],
};

/** A report as the interceptor whose turn it is. */
const reporting =
  (pod: 'surge-1' | 'web-1', interceptor: string): Call =>
  (scene: Scene) => {
    const { interceptors = [] } = firstStatus([interceptor, 'imperative-eviction.k8s.io']);
    const report = interceptors.map((each) =>
      each.name === interceptor ? { ...each, startTime: TIME, heartbeatTime: TIME, completionTime: TIME } : each,
    );
    return patchedStatus(EVICTION_REQUESTS, requestOf(scene, pod), { interceptors: report });
  };

const ON_REQUESTS: Family = {
  attacker: 'surge',
  title: 'EvictionRequests',
  control: allowed('surge', 'completes its own turn', reporting('surge-1', SURGE_INTERCEPTOR)),
  attacks: [
    tries(
      'completes the turn of an interceptor that is not its own',
      onRequest(/may change only its own entry/u),
      reporting('web-1', 'actor.example.com'),
    ),
    tries('plays the Eviction API', schema(/only the entry of the interceptor in activeInterceptors/u), (scene) => {
      const { interceptors = [] } = firstStatus([SURGE_INTERCEPTOR, 'imperative-eviction.k8s.io']);
      const entries = interceptors.map((each) =>
        each.name === SURGE_INTERCEPTOR ? each : { ...each, startTime: TIME, heartbeatTime: TIME },
      );
      return patchedStatus(EVICTION_REQUESTS, requestOf(scene, 'surge-1'), { interceptors: entries });
    }),
    tries(
      'says that a pod is evicted',
      policy('nodemaint-eviction-request-status', /denied request/u, 'nodemaint-surge-eviction-requests'),
      (scene) =>
        patchedStatus(EVICTION_REQUESTS, requestOf(scene, 'surge-1'), {
          conditions: [conditionWith('Progressing', 'False'), conditionWith('Evicted', 'True')],
          activeInterceptors: [],
          processedInterceptors: [SURGE_INTERCEPTOR],
        }),
    ),
    tries('withdraws the wish of a maintenance', RBAC, (scene) =>
      patched(EVICTION_REQUESTS, requestOf(scene, 'surge-1'), { spec: { requesters: [] } }),
    ),
  ],
};

export const SURGE_ATTACKS: readonly Family[] = [ON_DEPLOYMENTS, ON_PODS, ON_REQUESTS];
