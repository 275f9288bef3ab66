/** The calls by which the objects of `lifecycle.k8s.io` are attacked. */
import assert from 'node:assert/strict';
import { DRAIN_REQUESTER, type Eviction } from '../../../../src/api/lifecycle.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import type { KubeRequest } from '../../../../src/kube/client.ts';
import { EVICTIONS, LIFECYCLE_REQUESTS } from '../../../../src/kube/lifecycle/resources.ts';
import { collectionPath, objectPath, statusMessage } from '../../../../src/kube/resource.ts';
import {
  type Attack,
  apiServer,
  assertRefusedBy,
  type Control,
  policy,
  RBAC,
  type Refuser,
  sendAs,
} from '../attack.ts';
import {
  entries,
  type EvictionName,
  type LifecycleActor,
  type LifecycleScene,
  patched,
  patchedStatus,
  staticPodsOf,
} from './scene.ts';

export type LifecycleAttacker = Exclude<LifecycleActor, 'admin'>;
export type LifecycleAttack = Attack<LifecycleScene>;
export type Call = (scene: LifecycleScene) => KubeRequest;
export const NOT_AS_OTHER = policy('nodemaint-lifecycle-eviction-status', /may not report as/u);
const MANAGED = policy('nodemaint-lifecycle-eviction-status', /only the controller of Evictions/u);
export const REQUEST_STATUS = policy('nodemaint-lifecycle-request-status', /only the controller of Evictions/u);
export const OWN_REQUESTER = policy('nodemaint-lifecycle-requesters', /only the requester itself/u);
export const OWN = staticPodsOf('n1');

/** The present, as each call has it: the API server takes no other time. */
const now = (): string => rfc3339(Date.now());
const ended = (type: 'TargetEvicted' | 'Failed'): object => ({
  type,
  status: 'True',
  reason: 'X',
  message: '',
  lastTransitionTime: now(),
});

export function refused(attacker: LifecycleAttacker, name: string, refuser: Refuser, call: Call): LifecycleAttack {
  return {
    name,
    refusedBy: refuser.by,
    attempt: async (scene) => {
      assertRefusedBy(await sendAs(scene.clients[attacker], call(scene)), refuser);
    },
  };
}

export function allowed(actor: LifecycleActor, name: string, call: Call): Control<LifecycleScene> {
  return {
    name,
    attempt: async (scene) => {
      const response = await sendAs(scene.clients[actor], call(scene));
      assert.ok(response.status >= 200 && response.status < 300, `${response.status}: ${statusMessage(response)}`);
    },
  };
}

/** A write into the entry of a responder. */
export const reporting =
  (eviction: EvictionName, responder: string, change: () => object): Call =>
  ({ evictions }) =>
    patchedStatus(EVICTIONS, evictions[eviction], entries(evictions[eviction], responder, change()));

/** A write into the status that is not of an entry. */
export const writing =
  (eviction: EvictionName, status: (known: Eviction) => object): Call =>
  ({ evictions }) =>
    patchedStatus(EVICTIONS, evictions[eviction], status(evictions[eviction]));

export const alive = (): object => ({ heartbeatTime: now(), message: 'all is well' });
export const done = (): object => ({ heartbeatTime: now(), completionTime: now() });

/** The Eviction ends in this write: the active responder has to leave its state with it. */
export const over =
  (type: 'TargetEvicted' | 'Failed') =>
  ({ status }: Eviction): object => ({
    conditions: [ended(type)],
    targetResponders: (status?.targetResponders ?? []).map((each) => {
      return each.state === 'Active' ? { ...each, state: 'Canceled' } : each;
    }),
  });

/** What only the controller of Evictions may write, tried by somebody who may report on the Eviction. */
export function managed(attacker: 'n1' | 'responder', eviction: EvictionName): readonly LifecycleAttack[] {
  const attack = (name: string, refuser: Refuser, status: (known: Eviction) => object): LifecycleAttack =>
    refused(attacker, name, refuser, writing(eviction, status));
  const first = ({ status }: Eviction): string => status?.responders?.[0]?.name ?? '';
  return [
    attack('says that its pod is evicted', MANAGED, over('TargetEvicted')),
    attack('says that the Eviction has failed', MANAGED, over('Failed')),
    attack('names a requester', MANAGED, () => ({
      requesters: [
        { name: 'foo.example.com/1', intent: 'Eviction' },
        { name: 'x.example.com/y', intent: 'Eviction' },
      ],
    })),
    attack('withdraws for a requester', MANAGED, () => ({
      requesters: [{ name: 'foo.example.com/1', intent: 'Withdrawn' }],
    })),
    attack('takes the requesters away', MANAGED, () => ({ requesters: null })),
    attack('sets the observed generation', MANAGED, () => ({ observedGeneration: 2 })),
    attack('adds a condition of its own', MANAGED, () => ({ conditions: [{ ...ended('Failed'), type: 'Mine' }] })),
    attack('lets its turn begin later', apiServer(/startTime: Invalid value: .*immutable|cannot be/u), (known) =>
      entries(known, first(known), { startTime: rfc3339(Date.now() + 20_000) }),
    ),
    attack('takes its entry away', apiServer(/same length|same keys|has to be tracked/u), () => ({ responders: [] })),
    attack('adds another responder', apiServer(/same length|same keys/u), ({ status }) => ({
      targetResponders: [
        ...(status?.targetResponders ?? []),
        { name: 'new.example.com/x', priority: 1000, state: 'Inactive' },
      ],
      responders: [...(status?.responders ?? []), { name: 'new.example.com/x' }],
    })),
    attack('reports of tomorrow', apiServer(/present time/u), (known) =>
      entries(known, first(known), { heartbeatTime: rfc3339(Date.now() + 86_400_000) }),
    ),
    attack('promises an end in twenty years', apiServer(/within 10 years/u), (known) =>
      entries(known, first(known), { expectedCompletionTime: rfc3339(Date.now() + 20 * 366 * 86_400_000) }),
    ),
    attack('writes a message of 5,000 characters', apiServer(/Too long|4000/u), (known) =>
      entries(known, first(known), { message: 'x'.repeat(5_000) }),
    ),
  ];
}

export const newEviction: Call = ({ namespace }) => ({
  method: 'POST',
  path: `${collectionPath(EVICTIONS, namespace)}?dryRun=All`,
  body: { metadata: { name: 'forged' }, spec: { target: { pod: { name: 'p', uid: crypto.randomUUID() } } } },
});
export const newRequest: Call = ({ namespace }) => ({
  method: 'POST',
  path: `${collectionPath(LIFECYCLE_REQUESTS, namespace)}?dryRun=All`,
  body: {
    metadata: { name: 'forged' },
    spec: {
      target: { pod: { name: 'p', uid: crypto.randomUUID() } },
      requester: 'mine.example.com/x',
      intent: 'Eviction',
    },
  },
});
export const requestOfDrain: Call = (scene) => ({
  ...newRequest(scene),
  body: {
    metadata: { name: 'forged' },
    spec: { target: { pod: { name: 'p', uid: crypto.randomUUID() } }, requester: DRAIN_REQUESTER, intent: 'Eviction' },
  },
});
export const withdrawnOfDrain: Call = ({ drainRequest }) =>
  patched(LIFECYCLE_REQUESTS, drainRequest, { spec: { intent: 'Withdrawn' } });
export const heldOfDrain: Call = ({ drainRequest }) =>
  patched(LIFECYCLE_REQUESTS, drainRequest, { metadata: { finalizers: ['hold.example.com/x'] } });
export const deletedOfDrain: Call = ({ drainRequest }) => ({
  method: 'DELETE',
  path: `${objectPath(LIFECYCLE_REQUESTS, drainRequest.metadata)}?dryRun=All`,
});
const relabelled: Call = ({ evictions }) =>
  patched(EVICTIONS, evictions['static-n2'], { metadata: { labels: { [OWN]: 'responder' } } });
export const deletedEviction: Call = ({ evictions }) => ({
  method: 'DELETE',
  path: `${objectPath(EVICTIONS, evictions['static-n1'].metadata)}?dryRun=All`,
});
export const deletedEvictions: Call = ({ namespace }) => ({
  method: 'DELETE',
  path: `${collectionPath(EVICTIONS, namespace)}?dryRun=All`,
});
export const withdrawn: Call = ({ request }) => patched(LIFECYCLE_REQUESTS, request, { spec: { intent: 'Withdrawn' } });
export const deletedRequest: Call = ({ request }) => ({
  method: 'DELETE',
  path: `${objectPath(LIFECYCLE_REQUESTS, request.metadata)}?dryRun=All`,
});
/** The wish of another requester, held. */
export const heldRequest: Call = ({ request }) =>
  patched(LIFECYCLE_REQUESTS, request, { metadata: { finalizers: ['hold.example.com/x'] } });
export const answered: Call = ({ request }) =>
  patchedStatus(LIFECYCLE_REQUESTS, request, { conditions: [ended('TargetEvicted')] });

/** What RBAC alone refuses to those who have no right to change the objects. */
export function changing(attacker: LifecycleAttacker): readonly LifecycleAttack[] {
  return [
    refused(attacker, 'makes an Eviction', RBAC, newEviction),
    refused(attacker, 'gives an Eviction the label of a responder', RBAC, relabelled),
    refused(attacker, 'deletes an Eviction', RBAC, deletedEviction),
    refused(attacker, 'deletes all Evictions of a namespace', RBAC, deletedEvictions),
  ];
}

export function wishing(attacker: LifecycleAttacker): readonly LifecycleAttack[] {
  return [
    refused(attacker, 'asks for an eviction', RBAC, newRequest),
    refused(attacker, 'withdraws the wish of another requester', RBAC, withdrawn),
    refused(attacker, 'deletes the wish of another requester', RBAC, deletedRequest),
  ];
}

export const BY_ADMIN = allowed('admin', 'an administrator makes an Eviction', newEviction);
export const WISH_BY_ADMIN = allowed('admin', 'an administrator asks for an eviction', newRequest);
