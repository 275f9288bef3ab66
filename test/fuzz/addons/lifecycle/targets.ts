/** Objects of `lifecycle.k8s.io`, as any server and any participant may write them, through the reader and every rule that takes them. */
import type { Eviction, LifecycleRequest } from '../../../../src/api/lifecycle.ts';
import type { KubeObject } from '../../../../src/api/meta.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { decideEviction } from '../../../../src/addons/lifecycle/decide/eviction.ts';
import {
  decideNewEviction,
  decideRequestStatus,
  superfluous,
} from '../../../../src/addons/lifecycle/decide/request.ts';
import { participantsOf } from '../../../../src/addons/lifecycle/decide/requesters.ts';
import { isAskedFor, askedSince } from '../../../../src/decide/lifecycle/asked.ts';
import { askedFor } from '../../../../src/decide/lifecycle/dialect.ts';
import { countedView, drainRequests, requestView } from '../../../../src/decide/lifecycle/drain-view.ts';
import { engineView } from '../../../../src/decide/lifecycle/translation.ts';
import { activeEviction, numberOf } from '../../../../src/decide/lifecycle/request.ts';
import { respondersOf } from '../../../../src/decide/lifecycle/responders.ts';
import { awaitedBy, unattendedInMs } from '../../../../src/decide/lifecycle/missing-controllers.ts';
import { readEviction, readLifecycleRequest } from '../../../../src/kube/lifecycle/parse.ts';
import { mutatedJson } from '../../mutate.ts';
import { assertFinite, type FuzzTarget, objectIn, textTarget } from '../../target.ts';

const NOW = Date.UTC(2026, 6, 1, 12);
const TIME = '2026-07-01T12:00:00Z';
const CONDITIONS = [{ type: 'Failed', status: 'False', reason: 'x', message: '', lastTransitionTime: TIME }];
const RESPONDERS = [
  { name: 'a.example.com/x', priority: 10_000 },
  { name: 'n2.static.nodemaintenance.x-k8s.io/kubelet', priority: 1_000 },
];
const META = { namespace: 'shop', uid: 'e', generation: 1, creationTimestamp: TIME };
const EVICTION = {
  metadata: { name: 'pod-1-web', ...META, labels: { 'a.example.com/x': 'responder' } },
  spec: { target: { pod: { name: 'web', uid: 'u' } } },
  status: {
    conditions: CONDITIONS,
    observedGeneration: 1,
    requesters: [{ name: 'foo.example.com/1', intent: 'Eviction' }],
    targetResponders: RESPONDERS.map((each, index) => ({ ...each, state: index === 0 ? 'Active' : 'Inactive' })),
    responders: [
      { name: 'a.example.com/x', startTime: TIME, heartbeatTime: TIME, message: 'x', expectedCompletionTime: TIME },
      { name: 'n2.static.nodemaintenance.x-k8s.io/kubelet' },
    ],
  },
};
const REQUEST = {
  metadata: { name: 'wish', ...META },
  spec: { target: { pod: { name: 'web', uid: 'u' } }, requester: 'nodemaintenance.x-k8s.io/drain', intent: 'Eviction' },
  status: { conditions: CONDITIONS, observedGeneration: 1 },
};
const POD: Pod = {
  metadata: { name: 'web', namespace: 'shop', uid: 'u' },
  spec: { nodeName: 'n1', evictionResponders: RESPONDERS },
  status: { phase: 'Running' },
};

/** The object with the metadata that every API server checks, whatever else it has. */
function objectOf(value: unknown, metadata: object): KubeObject {
  const object = typeof value === 'object' && value !== null ? value : {};
  return { ...object, metadata } as KubeObject;
}

/** The steps of the add-on and what a drain makes of the objects. */
function rules(evictions: readonly Eviction[], requests: readonly LifecycleRequest[]): unknown {
  const facts = { target: { name: 'web', uid: 'u' }, pod: POD, requests, evictions };
  const newest = activeEviction(evictions);
  return [
    evictions.map((eviction) => [
      decideEviction({ eviction, requests, pod: POD, isSecond: false, endedMs: 0 }, NOW),
      decideEviction({ eviction, requests, pod: undefined, isSecond: newest !== eviction, endedMs: 60_000 }, NOW),
      participantsOf(eviction, requests, eviction.status?.targetResponders?.map(({ name }) => name) ?? []),
      engineView(eviction),
      countedView(eviction),
      numberOf(eviction.metadata.name),
    ]),
    requests.map((request) => [
      decideRequestStatus(request, facts, NOW),
      decideRequestStatus(request, undefined, NOW),
      requestView(request, newest),
      unattendedInMs({ awaited: awaitedBy(request, newest), eviction: newest, waitedMs: 1, now: NOW }) === Infinity,
    ]),
    [
      decideNewEviction(facts, NOW),
      superfluous(evictions),
      isAskedFor(requests, evictions),
      askedSince(requests, evictions),
    ],
    [...drainRequests({ older: [], requests, evictions })],
  ];
}

/** The targets that are objects of `lifecycle.k8s.io`. */
export const TARGETS: readonly FuzzTarget[] = [
  textTarget('lifecycle-objects', mutatedJson({ eviction: EVICTION, request: REQUEST }), (text) => {
    const { eviction, request } = (objectIn(text) ?? {}) as { eviction?: unknown; request?: unknown };
    const read = readEviction(objectOf(eviction, EVICTION.metadata)).read;
    const wish = readLifecycleRequest(objectOf(request, REQUEST.metadata)).read;
    assertFinite(rules(read === undefined ? [] : [read], wish === undefined ? [] : [wish]), 'lifecycle');
  }),
  textTarget('lifecycle-responders', mutatedJson(RESPONDERS), (text) => {
    const named = objectIn(text);
    // What a schema of the API server lets pass: a list of names and numbers.
    const list = (Array.isArray(named) ? (named as unknown[]) : []).flatMap((each) => {
      const { name, priority } = (each ?? {}) as Record<string, unknown>;
      return typeof name === 'string' && typeof priority === 'number' ? [{ name, priority }] : [];
    });
    const pod = { ...POD, spec: { ...POD.spec, evictionResponders: list } };
    const found = respondersOf(pod);
    if (found.length > 11) throw new Error(`${found.length} responders`);
    if (found.some(({ name }) => name.endsWith('.static.nodemaintenance.x-k8s.io/kubelet')))
      throw new Error('the agent of another node is asked');
    assertFinite([found, askedFor(pod)], 'responders');
  }),
];
