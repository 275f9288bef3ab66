import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import {
  admitEvictions,
  type EvictionCandidate,
  type EvictionPlace,
  flightOf,
  type KnownEviction,
} from '../../decide/eviction/limits.ts';
import { isFinished, targetKeyOf } from '../../decide/eviction/request.ts';
import { requestNodeOf } from '../../decide/node-label.ts';
import { targetOf } from '../cache/targets.ts';
import { samePod } from '../cache/pods.ts';
import type { ControllerContext } from '../context.ts';
import type { EvictionIntent } from './intents.ts';

/** What is known of the eviction of a pod of this key, NAMESPACE/NAME. */
function knownEviction(
  { inBackground }: ControllerContext['pods'],
  key: string,
  pod: Pod | undefined,
  request: EvictionRequest | undefined,
): KnownEviction {
  return { pod, request, inBackgroundSince: pod === undefined ? undefined : inBackground.sinceOf(key) };
}

/** What is in flight for pods that are not among those that are wanted, whoever asked for it, and is not overdue. */
function placesElsewhere(
  { pods, requests }: ControllerContext,
  own: ReadonlySet<string>,
  overdueBefore: number,
): readonly EvictionPlace[] {
  const requested = requests.list().flatMap((request): readonly EvictionPlace[] => {
    const { name, namespace = 'default' } = request.metadata;
    if (own.has(name) || isFinished(request)) return [];
    const pod = targetOf(pods, request);
    if (flightOf(knownEviction(pods, targetKeyOf(request), pod, request), overdueBefore) !== 'in-flight') return [];
    return [{ node: pod?.spec.nodeName ?? requestNodeOf(request.metadata), namespace }];
  });
  const annotated = pods.inBackground.keys().flatMap((key): readonly EvictionPlace[] => {
    const pod = pods.get(key);
    // A pod that somebody else has deleted is nobody's eviction.
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return [];
    const { uid = '', namespace = 'default' } = pod.metadata;
    if (own.has(uid) || requests.get(`${namespace}/${uid}`) !== undefined) return [];
    if (flightOf(knownEviction(pods, key, pod, undefined), overdueBefore) !== 'in-flight') return [];
    return [{ node: pod.spec.nodeName ?? '', namespace }];
  });
  return [...requested, ...annotated];
}

/** Splits the evictions that a resolution asks for by the limits of evictions in flight at `now`. */
export function limitEvictions(
  context: ControllerContext,
  intents: readonly EvictionIntent[],
  now: number,
): ReturnType<typeof admitEvictions<EvictionIntent & EvictionCandidate>> {
  const { maxEvictionsPerNode, maxEvictionsPerNamespace, maxEvictionTime } = context.options;
  if (maxEvictionsPerNode === undefined && maxEvictionsPerNamespace === undefined) {
    const free = intents.map(({ node, pod }) => ({
      node,
      pod,
      namespace: pod.namespace,
      flight: 'not-begun' as const,
    }));
    return { admitted: free, overLimit: [] };
  }
  const overdueBefore = maxEvictionTime === 0 ? -Infinity : now - maxEvictionTime;
  const candidates = intents.map(({ node, pod }) => {
    const { namespace, name, uid } = pod;
    const request = context.requests.get(`${namespace}/${uid}`);
    const known = knownEviction(context.pods, `${namespace}/${name}`, samePod(context.pods, pod), request);
    const flight = flightOf(known, overdueBefore);
    return { node, pod, namespace, flight };
  });
  const elsewhere = placesElsewhere(context, new Set(intents.map(({ pod }) => pod.uid)), overdueBefore);
  return admitEvictions(candidates, context.options, elsewhere);
}
