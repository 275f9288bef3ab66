/** What a stolen identity of node n1 tries on EvictionRequests. */
import { NODE_LABEL } from '../../../src/api/names.ts';
import type { KubeRequest } from '../../../src/kube/client.ts';
import { collectionPath, EVICTION_REQUESTS, objectPath } from '../../../src/kube/resource.ts';
import { conditionWith, firstStatus, requestFor } from '../rigs/admission.ts';
import { allowed, type Attack, type Family, policy, RBAC, refused, type Refuser, schema } from './attack.ts';
import { dry, patched, patchedStatus, type PodName, requestOf, type Scene, TEAM } from './scene.ts';

const TIME = '2026-01-01T10:00:00Z';
const KUBELET = 'kubelet.k8s.io';
const LAST = 'imperative-eviction.k8s.io';
const ENTRY = { startTime: TIME, heartbeatTime: TIME, message: '' };
const STATUS = 'nodemaint-eviction-request-status';
const ON_ITSELF = policy(STATUS, /only report on EvictionRequests of pods on itself/u);
const AS_KUBELET = policy(STATUS, /only report as the interceptor kubelet.k8s.io/u);
const MANAGED = policy(STATUS, /may not change what the EvictionRequest controller manages/u);
/** What the controller writes when a request is over, in one of the two ways. */
const over = (type: 'Evicted' | 'Canceled'): object => ({
  conditions: [conditionWith('Progressing', 'False'), conditionWith(type, 'True')],
  activeInterceptors: [],
  processedInterceptors: [KUBELET],
});

/** The entries of a request's first status with one of them changed. */
function entries(first: string, name: string, entry: object): object {
  const all = firstStatus([first, LAST]).interceptors ?? [];
  return { interceptors: all.map((each) => (each.name === name ? { ...each, ...entry } : each)) };
}

const saying = (name: string, refuser: Refuser, pod: PodName, status: object): Attack =>
  refused('n1', name, refuser, (scene) => patchedStatus(EVICTION_REQUESTS, requestOf(scene, pod), status));

const changing = (name: string, pod: PodName, body: object): Attack =>
  refused('n1', name, RBAC, (scene) => patched(EVICTION_REQUESTS, requestOf(scene, pod), body));

function made(pod: PodName): (scene: Scene) => KubeRequest {
  return (scene) => {
    const { namespace } = requestOf(scene, pod);
    // Another pod of that name: the scene has a request for this one already.
    const body = requestFor(pod, crypto.randomUUID(), {}, { namespace });
    return dry('POST', collectionPath(EVICTION_REQUESTS, namespace), { body });
  };
}

export const NODE_EVICTION_ATTACKS: readonly Family[] = [
  {
    attacker: 'n1',
    title: 'EvictionRequests, spec',
    control: allowed('controller', 'the controller changes the requesters', (scene) =>
      patched(EVICTION_REQUESTS, requestOf(scene, 'web-2'), { spec: { requesters: [] } }),
    ),
    attacks: [
      refused('n1', 'makes one for a pod on n2', RBAC, made('web-2')),
      refused('n1', 'makes one for a pod on itself', RBAC, made('web-1')),
      changing('withdraws the wish that a pod on n2 leaves', 'web-2', { spec: { requesters: [] } }),
      changing('withdraws the wish that a pod on itself leaves', 'web-1', { spec: { requesters: [] } }),
      changing('takes a request of n2 to itself by the label', 'static-n2', {
        metadata: { labels: { [NODE_LABEL]: 'n1' } },
      }),
      refused('n1', 'deletes that of a pod on n2', RBAC, (scene) =>
        dry('DELETE', objectPath(EVICTION_REQUESTS, requestOf(scene, 'web-2'))),
      ),
      refused('n1', 'deletes all of a namespace', RBAC, () => dry('DELETE', collectionPath(EVICTION_REQUESTS, TEAM))),
    ],
  },
  {
    attacker: 'n1',
    title: 'EvictionRequests, status',
    control: allowed('n1', 'reports on its own static pod', (scene) =>
      patchedStatus(EVICTION_REQUESTS, requestOf(scene, 'static-n1'), entries(KUBELET, KUBELET, ENTRY)),
    ),
    attacks: [
      saying(
        'says that the static pod of n2 has ended',
        ON_ITSELF,
        'static-n2',
        entries(KUBELET, KUBELET, { completionTime: TIME }),
      ),
      saying(
        'plays the interceptor of a pod on n2',
        ON_ITSELF,
        'web-2',
        entries('actor.example.com', 'actor.example.com', ENTRY),
      ),
      saying(
        'plays the interceptor of a pod on itself',
        AS_KUBELET,
        'web-1',
        entries('actor.example.com', 'actor.example.com', ENTRY),
      ),
      saying(
        'plays the Eviction API',
        schema(/only the entry of the interceptor in activeInterceptors/u),
        'static-n1',
        entries(KUBELET, LAST, ENTRY),
      ),
      saying(
        'plays kubelet.k8s.io where it is not its turn',
        schema(/interceptors must have the names of targetInterceptors/u),
        'web-1',
        { interceptors: [{ name: KUBELET, ...ENTRY }] },
      ),
      saying('says that its pod is evicted', MANAGED, 'static-n1', over('Evicted')),
      saying('says that the request is canceled', MANAGED, 'static-n1', over('Canceled')),
      saying('passes the turn on', MANAGED, 'static-n1', {
        activeInterceptors: [LAST],
        processedInterceptors: [KUBELET],
      }),
      saying('takes the turn of another one', schema(/processedInterceptors/u), 'web-1', {
        activeInterceptors: [LAST],
      }),
      saying('marks interceptors as passed', schema(/can be added to processedInterceptors/u), 'static-n1', {
        processedInterceptors: [LAST],
      }),
      saying('changes the interceptors', schema(/targetInterceptors is immutable/u), 'static-n1', {
        targetInterceptors: [{ name: LAST }],
      }),
      saying('is ahead of the generation', MANAGED, 'static-n1', { observedGeneration: 99 }),
      saying('fills it with conditions', MANAGED, 'static-n1', {
        conditions: [
          conditionWith('Progressing', 'True'),
          ...Array.from({ length: 29 }, (_, at) => ({
            ...conditionWith('Progressing', 'True'),
            type: `X-${at}`,
            message: 'x'.repeat(32_000),
          })),
        ],
      }),
      saying(
        'writes a message of 5,000 characters',
        schema(/message.*may not be more than 4096/u),
        'static-n1',
        entries(KUBELET, KUBELET, { ...ENTRY, message: 'x'.repeat(5_000) }),
      ),
      saying(
        'writes a message of 4,000 characters',
        policy(STATUS, /a message of at most 1024/u),
        'static-n1',
        entries(KUBELET, KUBELET, { ...ENTRY, message: 'x'.repeat(4_000) }),
      ),
    ],
  },
];
