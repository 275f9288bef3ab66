/** What a thief of the controller's token tries on EvictionRequests and Events of others. */
import { collectionPath, EVENTS, EVICTION_REQUESTS, objectPath } from '../../../../src/kube/resource.ts';
import { requestFor } from '../../rigs/admission.ts';
import { allowed, type Attack, type Call, type Family, policy, refused, type Refuser } from '../attack.ts';
import { dry, patched, requestOf, TEAM } from '../scene.ts';

const OTHER = { name: 'requester.example.com' };
const OWN = { name: 'nodemaintenance.k8s.io' };

const tries = (name: string, refuser: Refuser, call: Call): Attack => refused('controller', name, refuser, call);
const onRequest = (words: RegExp): Refuser => policy('nodemaint-eviction-requests', words);
const OF_OTHERS = onRequest(/may not change the requesters of others/u);
const KEEPS = onRequest(/may not change the finalizers and ownerReferences/u);
const UNDER_WAY = onRequest(/may delete only EvictionRequests that are over/u);

/** A change of the request for web-2, which a maintenance has made. */
const changed =
  (body: object): Call =>
  (scene) =>
    patched(EVICTION_REQUESTS, requestOf(scene, 'web-2'), body);
const made =
  (spec: object, metadata: object = {}): Call =>
  () =>
    dry('POST', collectionPath(EVICTION_REQUESTS, TEAM), {
      body: requestFor('web-2', crypto.randomUUID(), spec, { namespace: TEAM, ...metadata }),
    });

const REQUESTS: Family = {
  title: 'a thief of the token of nodemaint-controller: EvictionRequests of others',
  control: allowed('controller', 'asks for the eviction of a pod', made({ requesters: [OWN] })),
  attacks: [
    tries('asks in the name of another requester', OF_OTHERS, made({ requesters: [OWN, OTHER] })),
    tries('withdraws the wish of another requester', OF_OTHERS, (scene) =>
      patched(EVICTION_REQUESTS, requestOf(scene, 'shared'), { spec: { requesters: [OWN] } }),
    ),
    tries('deletes a request that is under way', UNDER_WAY, (scene) =>
      dry('DELETE', objectPath(EVICTION_REQUESTS, requestOf(scene, 'web-2'))),
    ),
    tries('holds a request with a finalizer', KEEPS, changed({ metadata: { finalizers: ['evil.example.com/x'] } })),
    tries(
      'gives a request an owner that does not exist, so that it is collected',
      KEEPS,
      changed({ metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }] } }),
    ),
    tries(
      'annotates a request in the name of others',
      onRequest(/only its own annotations/u),
      changed({ metadata: { annotations: { 'example.com/x': 'y' } } }),
    ),
  ],
};

const event = (reporter: string): object => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'forged' },
  involvedObject: { kind: 'Pod', namespace: TEAM, name: 'web-1' },
  reason: 'Killing',
  message: 'x',
  type: 'Normal',
  source: { component: reporter },
  reportingComponent: reporter,
});
const REPORTER = policy('nodemaint-controller-own-objects', /only Events that name it as their reporter/u);

const ON_EVENTS: Family = {
  title: 'a thief of the token of nodemaint-controller: Events',
  control: allowed('controller', 'makes an Event of its own', () =>
    dry('POST', collectionPath(EVENTS, TEAM), { body: event('nodemaint-controller') }),
  ),
  attacks: [
    tries('makes an Event in the name of a kubelet', REPORTER, () =>
      dry('POST', collectionPath(EVENTS, TEAM), { body: event('kubelet') }),
    ),
    tries('changes an Event of others', REPORTER, () =>
      patched(EVENTS, { name: 'of-others', namespace: TEAM }, { message: 'all is well' }),
    ),
  ],
};

export const CONTROLLER_REQUEST_ATTACKS: readonly Family[] = [REQUESTS, ON_EVENTS];
