/** What a thief of a token of the product tries on the objects of `lifecycle.k8s.io`. */
import { EVICTIONS, LIFECYCLE_REQUESTS } from '../../../../src/kube/lifecycle/resources.ts';
import { collectionPath, EVENTS, objectPath, PODS } from '../../../../src/kube/resource.ts';
import { type Family, policy, RBAC, type Refuser } from '../attack.ts';
import {
  allowed,
  type Call,
  deletedEviction,
  deletedEvictions,
  deletedRequest,
  heldRequest,
  type LifecycleAttack,
  type LifecycleAttacker,
  newEviction,
  newRequest,
  refused,
  requestOfDrain,
  wishing,
  withdrawn,
} from './calls.ts';
import { type LifecycleScene, patched } from './scene.ts';

type LifecycleFamily = Family<LifecycleScene, LifecycleAttacker>;

const onEviction = (words: RegExp): Refuser => policy('nodemaint-lifecycle-controllers-own-evictions', words);
const FAILED_ONLY = onEviction(/may delete only Evictions that have failed/u);
const KEEPS = onEviction(/may not change the finalizers and annotations/u);

const tries = (name: string, refuser: Refuser, call: Call): LifecycleAttack =>
  refused('lifecycle', name, refuser, call);
const changed =
  (metadata: object): Call =>
  ({ evictions }) =>
    patched(EVICTIONS, evictions.mine, { metadata });

const event = (reporter: string): Call => {
  const body = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'forged' },
    reason: 'Killing',
    reportingComponent: reporter,
  };
  return ({ namespace }) => ({
    method: 'POST',
    path: `${collectionPath(EVENTS, namespace)}?dryRun=All`,
    body: { ...body, involvedObject: { kind: 'Pod', namespace, name: 'mine' } },
  });
};

const OF_ADDON: readonly LifecycleFamily[] = [
  {
    attacker: 'lifecycle',
    title: 'Evictions',
    control: allowed('lifecycle', 'makes an Eviction', newEviction),
    attacks: [
      tries('deletes an Eviction that is under way', FAILED_ONLY, deletedEviction),
      tries('deletes all Evictions of a namespace', RBAC, deletedEvictions),
      tries('holds an Eviction with a finalizer', KEEPS, changed({ finalizers: ['evil.example.com/x'] })),
      tries('annotates an Eviction', KEEPS, changed({ annotations: { 'example.com/x': 'y' } })),
      tries(
        'gives an Eviction a label that is none of a participant',
        onEviction(/only add the labels of participants/u),
        changed({ labels: { app: 'db' } }),
      ),
      tries(
        'gives an Eviction an owner that does not exist, so that it is collected',
        onEviction(/only add EvictionRequests to the owners/u),
        changed({ ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }] }),
      ),
    ],
  },
  {
    attacker: 'lifecycle',
    title: 'EvictionRequests, pods and Events',
    control: allowed('lifecycle', 'makes an Event of its own', event('nodemaint-lifecycle')),
    attacks: [
      ...wishing('lifecycle'),
      tries('asks in the name of a drain', RBAC, requestOfDrain),
      tries('deletes a pod', RBAC, ({ namespace }) => ({
        method: 'DELETE',
        path: `${objectPath(PODS, { name: 'mine', namespace })}?dryRun=All`,
      })),
      tries(
        'makes an Event in the name of a kubelet',
        policy('nodemaint-lifecycle-controllers-events', /only Events that name them as their reporter/u),
        event('kubelet'),
      ),
    ],
  },
];

const OF_DRAINS = policy('nodemaint-lifecycle-own-requests', /only the EvictionRequests of drains/u);
const byController = (name: string, refuser: Refuser, call: Call): LifecycleAttack =>
  refused('controller', name, refuser, call);

const OF_CONTROLLER: readonly LifecycleFamily[] = [
  {
    attacker: 'controller',
    title: 'EvictionRequests',
    control: allowed('controller', 'asks for an eviction in the name of a drain', requestOfDrain),
    attacks: [
      byController('asks in the name of another requester', OF_DRAINS, newRequest),
      byController('withdraws the wish of another requester', OF_DRAINS, withdrawn),
      byController('deletes the wish of another requester', OF_DRAINS, deletedRequest),
      byController('holds the wish of another requester with a finalizer', OF_DRAINS, heldRequest),
      byController(
        'gives the request of a drain an owner that does not exist, so that it is collected',
        policy('nodemaint-lifecycle-own-requests', /may not change the finalizers and ownerReferences/u),
        ({ drainRequest }) =>
          patched(LIFECYCLE_REQUESTS, drainRequest, {
            metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }] },
          }),
      ),
    ],
  },
  {
    attacker: 'controller',
    title: 'Evictions',
    control: allowed('lifecycle', 'the add-on makes an Eviction', newEviction),
    attacks: [
      byController('makes an Eviction', RBAC, newEviction),
      byController('deletes an Eviction', RBAC, deletedEviction),
    ],
  },
];

/** Those of the add-on's token and of the controller's. */
export const PRODUCT_ATTACKS: readonly LifecycleFamily[] = [...OF_ADDON, ...OF_CONTROLLER];
