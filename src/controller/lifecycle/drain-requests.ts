/** The requests that drains have made in `lifecycle.k8s.io`, beside those of the older dialect. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { DRAIN_REQUESTER, type Eviction, type LifecycleRequest } from '../../api/lifecycle.ts';
import type { ObjectMeta } from '../../api/meta.ts';
import type { Dialect } from '../../decide/lifecycle/dialect.ts';
import { requestView, isOfDrain, underWay } from '../../decide/lifecycle/drain-view.ts';
import { relevantEviction } from '../../decide/lifecycle/request.ts';
import { requestNodeOf } from '../../decide/node-label.ts';
import type { DrainPod } from '../../decide/pod.ts';
import type { Pod } from '../../api/pod.ts';
import { askedSince, isAskedFor } from '../../decide/lifecycle/asked.ts';
import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import {
  applyLifecycleRequest,
  deleteLifecycleRequest,
  withdrawLifecycleRequest,
} from '../../kube/lifecycle/requests.ts';
import { createGrouping } from '../../kube/copy/grouping.ts';
import type { Log } from '../../telemetry/log.ts';
import type { AskedPod, RequestIndex } from '../cache/requests.ts';
import { createAttention } from './attention.ts';
import { type LifecycleObjects, targetKey } from '../../kube/lifecycle/objects.ts';

/** What drains do in the newer dialect. The key of a request is NAMESPACE/UID of the pod, as in the older one. */
export interface DrainRequests {
  /** The dialect of new requests; undefined while that is not known yet. */
  preferred(): Dialect | undefined;
  /** Whether there may be any. */
  mayHaveAny(): boolean;
  /** The drains' own request as the engine sees it. */
  get(key: string): EvictionRequest | undefined;
  /**
   * In how many milliseconds it is clear that nobody works on the request of the key, unless somebody acts; 0 where it is
   * clear, Infinity where there is nothing to do.
   */
  unattendedInMs(key: string): number;
  /** Whether a request of somebody else has the name. */
  isNameTaken(key: string): boolean;
  list(): readonly EvictionRequest[];
  /** The keys of those that have the label of the node. */
  onNode(nodeName: string): Iterable<string>;
  /** Whether anybody, a drain or not, asks for the eviction of the pod in this dialect; undefined where that is not known yet. */
  isAsked(pod: Pod): boolean | undefined;
  /** The pods whose eviction anybody, a drain or not, asks for in this dialect. */
  asked(): readonly AskedPod[];
  nodesOf(key: string): readonly string[];
  /** Makes the request, or lets it ask again; writes nothing where it asks already. Returns whether it wrote. */
  ask(pod: DrainPod, mark: DrainMark, signal: AbortSignal): Promise<boolean>;
  /** Withdraws the request where it asks. Returns whether it wrote. */
  withdraw(request: EvictionRequest, signal: AbortSignal): Promise<boolean>;
  remove(request: EvictionRequest, signal: AbortSignal): Promise<void>;
}

/** What a new request says of its drain. */
interface DrainMark extends Required<Pick<ObjectMeta, 'labels' | 'annotations'>> {
  /** Whether it is the first pod of its node. */
  readonly leads: boolean;
}

/** What the requests of drains are made from. */
interface DrainRequestsParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly objects: LifecycleObjects;
  readonly preferred: DrainRequests['preferred'];
}

/** Those of one term; each change of a request has to be noted. */
interface NotedDrainRequests extends DrainRequests {
  /** Notes that the request of the key came, changed or went. */
  note(key: string): void;
  /** The keys of those of the target, NAMESPACE/POD. */
  under(target: string): readonly string[];
}

interface Memo {
  readonly request: LifecycleRequest;
  readonly eviction: Eviction | undefined;
  readonly view: EvictionRequest | undefined;
}

/** Whether anybody asks for the eviction of this very pod. */
function isAsked({ requests, evictions }: LifecycleObjects, { metadata }: Pod): boolean {
  const isOfPod = ({ spec }: LifecycleRequest | Eviction): boolean => spec.target.pod?.uid === metadata.uid;
  const target = `${metadata.namespace}/${metadata.name}`;
  return isAskedFor(requests.under(target).filter(isOfPod), evictions.under(target).filter(isOfPod));
}

/** The pods of the target, NAMESPACE/POD, whose eviction anybody asks for: a pod and its successor may have the name. */
function askedPods({ requests, evictions }: LifecycleObjects, target: string): readonly AskedPod[] {
  const found = { requests: requests.under(target), evictions: evictions.under(target) };
  const [namespace = ''] = target.split('/');
  const uidOf = ({ spec }: LifecycleRequest | Eviction): string | undefined => spec.target.pod?.uid;
  const pods = new Map([...found.requests, ...found.evictions].map((each) => [uidOf(each), each.spec.target.pod]));
  return [...pods.values()].flatMap((pod) => {
    if (pod === undefined) return [];
    const isOfPod = (each: LifecycleRequest | Eviction): boolean => uidOf(each) === pod.uid;
    const since = askedSince(found.requests.filter(isOfPod), found.evictions.filter(isOfPod));
    return since === undefined ? [] : [{ namespace, name: pod.name, uid: pod.uid, since }];
  });
}

function allAsked(objects: LifecycleObjects): readonly AskedPod[] {
  const all = [...objects.requests.cache.list(), ...objects.evictions.cache.list()];
  const targets = new Set(all.flatMap(({ read }) => (read === undefined ? [] : [targetKey(read)])));
  return [...targets].flatMap((target) => askedPods(objects, target));
}

/** The writes of drains; `mine` is the request of a drain of a key, and `note` is called where one was made. */
function createWrites(
  { client, objects: { requests } }: DrainRequestsParts,
  mine: (key: string) => LifecycleRequest | undefined,
  note: (key: string) => void,
): Pick<DrainRequests, 'ask' | 'withdraw' | 'remove'> {
  return {
    ask: async ({ namespace, name, uid }, { labels, annotations, leads }, signal) => {
      const key = `${namespace}/${uid}`;
      if (mine(key)?.spec.intent === 'Eviction') return false;
      const metadata = { name: uid, namespace, labels, annotations };
      const wish = { metadata, target: { name, uid }, requester: DRAIN_REQUESTER };
      const fresh = await applyLifecycleRequest(client, wish, leads ? { leads: true } : {}, signal);
      if (fresh === undefined) return false;
      requests.note(fresh);
      note(key);
      return true;
    },
    withdraw: async ({ metadata }, signal) => {
      const known = mine(`${metadata.namespace}/${metadata.name}`);
      if (known?.spec.intent !== 'Eviction') return false;
      const fresh = await withdrawLifecycleRequest(client, known.metadata, signal);
      if (fresh !== undefined) requests.note(fresh);
      return fresh !== undefined;
    },
    remove: async ({ metadata }, signal) => {
      await deleteLifecycleRequest(client, metadata, signal);
    },
  };
}

export function createDrainRequests(parts: DrainRequestsParts): NotedDrainRequests {
  const { objects } = parts;
  const { requests, evictions } = objects;
  const attention = createAttention(parts);
  const byNode = createGrouping();
  const memos = new Map<string, Memo>();
  const mine = (key: string): LifecycleRequest | undefined => {
    const known = requests.get(key);
    return known !== undefined && isOfDrain(known) ? known : undefined;
  };
  const evictionOf = (request: LifecycleRequest): Eviction | undefined => {
    const { pod } = request.spec.target;
    const own = evictions.under(targetKey(request)).filter(({ spec }) => spec.target.pod?.uid === pod?.uid);
    return relevantEviction(own);
  };
  const get: DrainRequests['get'] = (key) => {
    const request = mine(key);
    if (request === undefined) return undefined;
    const eviction = evictionOf(request);
    const memo = memos.get(key);
    if (memo?.request === request && memo.eviction === eviction) return memo.view;
    const view = requestView(request, eviction);
    memos.set(key, { request, eviction, view });
    return view;
  };
  const note = (key: string): void => {
    const request = mine(key);
    byNode.set(key, request === undefined ? [] : [requestNodeOf(request.metadata)]);
    if (request !== undefined) return;
    memos.delete(key);
    attention.forget(key);
  };
  return {
    preferred: () => {
      const preferred = parts.preferred();
      return preferred === 'newer' && attention.isMissing() ? 'older' : preferred;
    },
    unattendedInMs: (key) => {
      const request = mine(key);
      return request === undefined ? Infinity : attention.inMs(key, request, evictionOf(request));
    },
    mayHaveAny: () => true,
    get,
    isNameTaken: (key) => requests.get(key) !== undefined && mine(key) === undefined,
    note,
    list: () => requests.cache.list().flatMap(({ metadata }) => get(`${metadata.namespace}/${metadata.name}`) ?? []),
    onNode: (nodeName) => byNode.under(nodeName),
    nodesOf: (key) => byNode.valuesOf(key),
    isAsked: (pod) => isAsked(objects, pod),
    asked: () => allAsked(objects),
    under: (target) => requests.under(target).flatMap((each) => (isOfDrain(each) ? [keyOfDrain(each)] : [])),
    ...createWrites(parts, mine, note),
  };
}

function keyOfDrain({ metadata }: LifecycleRequest): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Drains of a controller that speaks the older dialect only. */
export const OLDER_ONLY: DrainRequests = {
  preferred: () => 'older',
  mayHaveAny: () => false,
  get: () => undefined,
  unattendedInMs: () => Infinity,
  isNameTaken: () => false,
  list: () => [],
  onNode: () => [],
  nodesOf: () => [],
  isAsked: () => false,
  asked: () => [],
  ask: () => Promise.resolve(false),
  withdraw: () => Promise.resolve(false),
  remove: () => Promise.resolve(),
};

/**
 * Those of a controller that learns later whether the cluster serves the newer dialect; `isKnown` is true once it has, and has
 * copies of what there is.
 */
export function lateDrains(
  { preferred, isKnown }: { readonly preferred: DrainRequests['preferred']; readonly isKnown: () => boolean },
  served: () => DrainRequests | undefined,
): DrainRequests {
  const now = (): DrainRequests => served() ?? OLDER_ONLY;
  return {
    preferred: () => (isKnown() ? (served()?.preferred() ?? preferred()) : preferred()),
    mayHaveAny: () => now().mayHaveAny(),
    get: (key) => now().get(key),
    unattendedInMs: (key) => now().unattendedInMs(key),
    isNameTaken: (key) => now().isNameTaken(key),
    list: () => now().list(),
    onNode: (nodeName) => now().onNode(nodeName),
    nodesOf: (key) => now().nodesOf(key),
    isAsked: (pod) => (isKnown() ? now().isAsked(pod) : undefined),
    asked: () => now().asked(),
    ask: (pod, mark, signal) => now().ask(pod, mark, signal),
    withdraw: (request, signal) => now().withdraw(request, signal),
    remove: (request, signal) => now().remove(request, signal),
  };
}

/** The requests of both dialects for the loops of drains: of two for one pod, the one that is under way. */
export function inBothDialects(older: RequestIndex, newer: DrainRequests): RequestIndex {
  const get = (key: string): EvictionRequest | undefined => underWay(older.get(key), newer.get(key));
  const both = (a: Iterable<string>, b: Iterable<string>): string[] => [...new Set([...a, ...b])];
  return {
    ...older,
    get,
    asked: () => newer.asked(),
    list: () => {
      if (!newer.mayHaveAny()) return older.list();
      const others = newer
        .list()
        .filter((each) => older.get(`${each.metadata.namespace}/${each.metadata.name}`) === undefined);
      return [...older.list(), ...others];
    },
    onNode: (nodeName) =>
      newer.mayHaveAny() ? both(older.onNode(nodeName), newer.onNode(nodeName)) : older.onNode(nodeName),
    nodesOf: (key) => (newer.mayHaveAny() ? both(older.nodesOf(key), newer.nodesOf(key)) : older.nodesOf(key)),
  };
}
