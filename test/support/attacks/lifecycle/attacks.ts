/** What identities without the right to it try on the objects of `lifecycle.k8s.io`. */
import { apiServer, type Family, RBAC } from '../attack.ts';
import {
  alive,
  allowed,
  answered,
  BY_ADMIN,
  changing,
  deletedOfDrain,
  done,
  heldOfDrain,
  type LifecycleAttacker,
  managed,
  newRequest,
  NOT_AS_OTHER,
  over,
  OWN,
  OWN_REQUESTER,
  refused,
  reporting,
  REQUEST_STATUS,
  requestOfDrain,
  wishing,
  withdrawnOfDrain,
  WISH_BY_ADMIN,
  writing,
} from './calls.ts';
import { PRODUCT_ATTACKS } from './product.ts';
import { type LifecycleScene, MINE, OTHERS, staticPodsOf } from './scene.ts';

/** Attacks on the objects of `lifecycle.k8s.io`. */
export type LifecycleFamily = Family<LifecycleScene, LifecycleAttacker>;

/** Who the attackers are, for the documentation. */
export const LIFECYCLE_ATTACKERS: Readonly<Record<LifecycleAttacker, string>> = {
  n1: 'a stolen identity of node n1, where lifecycle.k8s.io is served',
  pod: 'a pod on node n1, where lifecycle.k8s.io is served',
  editor: 'a user with the ClusterRole edit, where lifecycle.k8s.io is served',
  responder: 'a responder of lifecycle.k8s.io',
  lifecycle: 'a thief of the token of nodemaint-lifecycle',
  controller: 'a thief of the token of nodemaint-controller, where lifecycle.k8s.io is served',
};

/** Every attack on the objects of `lifecycle.k8s.io`. */
export const LIFECYCLE_ATTACKS: readonly LifecycleFamily[] = [
  {
    attacker: 'n1',
    title: 'Evictions, status',
    control: allowed('n1', 'reports on its own static pod', reporting('static-n1', OWN, alive)),
    attacks: [
      refused(
        'n1',
        'says that the static pod of n2 has ended',
        NOT_AS_OTHER,
        reporting('static-n2', staticPodsOf('n2'), done),
      ),
      refused(
        'n1',
        'speaks for a node whose name ends with its own',
        NOT_AS_OTHER,
        reporting('static-x.n1', staticPodsOf('x.n1'), done),
      ),
      refused(
        'n1',
        'speaks for a node whose name begins with its own',
        NOT_AS_OTHER,
        reporting('static-n1-x', staticPodsOf('n1-x'), done),
      ),
      refused('n1', 'plays the responder of a pod', NOT_AS_OTHER, reporting('mine', MINE, done)),
      refused(
        'n1',
        'plays the Eviction API',
        NOT_AS_OTHER,
        reporting('evictor', 'imperative-eviction.k8s.io/evictor', done),
      ),
      refused(
        'n1',
        'plays the responder of DaemonSet pods',
        NOT_AS_OTHER,
        reporting('daemon-set', 'daemonset.nodemaintenance.x-k8s.io/controller', done),
      ),
      refused('n1', 'plays the responder before it', NOT_AS_OTHER, reporting('others-then-n1', OTHERS, done)),
      refused(
        'n1',
        'reports where it is not its turn',
        apiServer(/immutable/u),
        reporting('others-then-n1', OWN, alive),
      ),
      ...managed('n1', 'static-n1'),
    ],
  },
  { attacker: 'n1', title: 'Evictions', control: BY_ADMIN, attacks: changing('n1') },
  {
    attacker: 'n1',
    title: 'EvictionRequests',
    control: WISH_BY_ADMIN,
    attacks: [...wishing('n1'), refused('n1', 'answers the wish of a requester', RBAC, answered)],
  },
  {
    attacker: 'pod',
    title: 'Evictions, status',
    control: allowed('admin', 'an administrator reports', reporting('static-n1', OWN, alive)),
    attacks: [
      refused('pod', 'reports on the static pod of its node', RBAC, reporting('static-n1', OWN, alive)),
      refused('pod', 'plays a responder', RBAC, reporting('mine', MINE, done)),
      refused('pod', 'says that a pod is evicted', RBAC, writing('mine', over('TargetEvicted'))),
    ],
  },
  { attacker: 'pod', title: 'Evictions', control: BY_ADMIN, attacks: changing('pod') },
  {
    attacker: 'pod',
    title: 'EvictionRequests',
    control: WISH_BY_ADMIN,
    attacks: [...wishing('pod'), refused('pod', 'answers the wish of a requester', RBAC, answered)],
  },
  {
    attacker: 'editor',
    title: 'Evictions and statuses',
    control: allowed('editor', 'asks for an eviction in the namespace', newRequest),
    attacks: [
      ...changing('editor'),
      refused('editor', 'plays a responder', RBAC, reporting('mine', MINE, done)),
      refused('editor', 'says that a pod is evicted', RBAC, writing('mine', over('TargetEvicted'))),
      refused('editor', 'answers the wish of a requester', RBAC, answered),
      refused('editor', 'asks in the name of Kubernetes', apiServer(/reserved/u), (scene) => ({
        ...newRequest(scene),
        body: {
          metadata: { name: 'forged' },
          spec: {
            target: { pod: { name: 'p', uid: crypto.randomUUID() } },
            requester: 'drain.k8s.io/x',
            intent: 'Eviction',
          },
        },
      })),
      refused('editor', 'asks in the name of a drain', OWN_REQUESTER, requestOfDrain),
      refused('editor', 'withdraws the request of a drain', OWN_REQUESTER, withdrawnOfDrain),
      refused('editor', 'holds the request of a drain with a finalizer', OWN_REQUESTER, heldOfDrain),
      refused('editor', 'deletes the request of a drain', OWN_REQUESTER, deletedOfDrain),
    ],
  },
  {
    attacker: 'responder',
    title: 'Evictions, status',
    control: allowed('responder', 'reports on a pod that names it', reporting('mine', MINE, alive)),
    attacks: [
      refused('responder', 'completes the turn of another responder', NOT_AS_OTHER, reporting('others', OTHERS, done)),
      refused('responder', 'speaks for another responder', NOT_AS_OTHER, reporting('others', OTHERS, alive)),
      refused('responder', 'speaks for a node', NOT_AS_OTHER, reporting('static-n1', OWN, done)),
      refused(
        'responder',
        'plays the Eviction API',
        NOT_AS_OTHER,
        reporting('evictor', 'imperative-eviction.k8s.io/evictor', done),
      ),
      refused(
        'responder',
        'reports where it is not its turn',
        apiServer(/immutable/u),
        reporting('others', MINE, alive),
      ),
      ...managed('responder', 'mine'),
    ],
  },
  { attacker: 'responder', title: 'Evictions', control: BY_ADMIN, attacks: changing('responder') },
  {
    attacker: 'responder',
    title: 'EvictionRequests',
    control: allowed('admin', 'an administrator answers the wish of a requester', answered),
    attacks: [
      ...wishing('responder'),
      refused('responder', 'answers the wish of a requester', REQUEST_STATUS, answered),
    ],
  },
  ...PRODUCT_ATTACKS,
];
