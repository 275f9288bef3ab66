import type { Pod } from '../../api/pod.ts';
import { EvictionCounts, type EvictionPlace, type Flight, flightOf } from '../../decide/eviction/limits.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { requestNodeOf } from '../../decide/node-label.ts';
import { keyOf } from '../../kube/resource.ts';
import { requestKeyOf } from '../cache/pods.ts';
import { targetOf } from '../cache/targets.ts';
import type { ControllerContext } from '../context.ts';

/** Evictions of other nodes, which make room within the limits when they end, are not told to each pod or drain that waits. */
export const LIMITED_AGAIN_MS = 1_000;

/** So long a count is good: pods that wait for a place ask one after the other. */
const COUNTED_MS = 100;

/** The room for evictions within the limits of those that are in flight, whoever asked for these (KEP-1397). */
export class EvictionRoom {
  readonly #context: Pick<ControllerContext, 'pods' | 'requests' | 'options' | 'clock'>;
  /** Those that have a place although no request of them is in our copies, by the keys of their requests. */
  readonly #begun = new Set<string>();
  #counted: { readonly at: number; readonly counts: EvictionCounts } | undefined;

  constructor(context: ControllerContext) {
    this.#context = context;
  }

  /** Whether the eviction of the pod may begin; it has a place from then on, until its request takes it or it is released. */
  take(pod: Pod): boolean {
    if (!this.#isLimited()) return true;
    if (this.isWaiting(pod)) return false;
    const key = requestKeyOf(pod);
    if (this.#isRequested(pod) || this.#begun.has(key)) return true;
    this.#begun.add(key);
    if (this.#flightOf(pod) !== 'overdue') this.#counts().count(this.#placeOf(pod));
    return true;
  }

  /** Whether nobody has begun its eviction, and there is no place for it. */
  isWaiting(pod: Pod): boolean {
    if (!this.#isLimited() || this.#begun.has(requestKeyOf(pod))) return false;
    return this.#flightOf(pod) === 'not-begun' && !this.#counts().hasRoom(this.#placeOf(pod), this.#context.options);
  }

  /** Gives the place of a pod back that no drain wants any more, by the key of its request. */
  release(key: string): void {
    this.#begun.delete(key);
  }

  #isLimited(): boolean {
    const { maxEvictionsPerNode, maxEvictionsPerNamespace } = this.#context.options;
    return maxEvictionsPerNode !== undefined || maxEvictionsPerNamespace !== undefined;
  }

  #isRequested(pod: Pod): boolean {
    const request = this.#context.requests.get(requestKeyOf(pod));
    return request !== undefined && !isFinished(request);
  }

  #placeOf(pod: Pod): EvictionPlace {
    return { node: pod.spec.nodeName ?? '', namespace: pod.metadata.namespace ?? 'default' };
  }

  /** How far the eviction of the pod is, by all that is known now. */
  #flightOf(pod: Pod | undefined, key = pod === undefined ? '' : requestKeyOf(pod)): Flight {
    const { pods, requests, options, clock } = this.#context;
    const overdueBefore = options.maxEvictionTime === 0 ? -Infinity : clock.now() - options.maxEvictionTime;
    const inBackgroundSince = pod && pods.inBackground.sinceOf(keyOf(pod));
    return flightOf({ pod, request: requests.get(key), inBackgroundSince }, overdueBefore);
  }

  /** Counts what is in flight and not overdue, each pod once. */
  #counts(): EvictionCounts {
    const { pods, requests, clock } = this.#context;
    const at = clock.monotonic();
    if (this.#counted !== undefined && at - this.#counted.at < COUNTED_MS) return this.#counted.counts;
    const places = new Map<string, EvictionPlace>();
    for (const request of requests.list()) {
      const { namespace = 'default' } = request.metadata;
      const pod = targetOf(pods, request);
      if (isFinished(request) || this.#flightOf(pod, keyOf(request)) !== 'in-flight') continue;
      places.set(request.spec.target.pod.uid, {
        node: pod?.spec.nodeName ?? requestNodeOf(request.metadata),
        namespace,
      });
    }
    const others = pods.inBackground.keys().flatMap((key) => pods.get(key) ?? []);
    // A pod that somebody else has deleted is nobody's eviction.
    for (const pod of others.filter(({ metadata }) => metadata.deletionTimestamp === undefined))
      if (this.#flightOf(pod) === 'in-flight') places.set(pod.metadata.uid ?? '', this.#placeOf(pod));
    for (const key of this.#begun) {
      const pod = pods.ofRequest(key);
      if (pod === undefined || this.#isRequested(pod)) this.#begun.delete(key);
      else if (this.#flightOf(pod) !== 'overdue') places.set(pod.metadata.uid ?? '', this.#placeOf(pod));
    }
    const counts = new EvictionCounts();
    for (const place of places.values()) counts.count(place);
    this.#counted = { at, counts };
    return counts;
  }
}
