import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { isInBackground } from '../../decide/eviction/imperative.ts';
import { interceptorsOf } from '../../decide/eviction/interceptors.ts';

type Counts = ReadonlyMap<string, number>;

function tally(names: Iterable<string>): Counts {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/**
 * What the metrics of KEP-4563 count in the objects of one moment. `promised` are the keys, NAMESPACE/NAME, of the requests
 * whose eviction somebody has promised, with or without the annotation of the pod (KEP-1397).
 */
export function countEvictions(
  requests: readonly EvictionRequest[],
  pods: readonly Pod[],
  promised: readonly string[],
): {
  readonly active: Counts;
  readonly processed: Counts;
  readonly requesters: Counts;
  readonly podInterceptors: Counts;
  readonly inBackground: number;
} {
  const annotated = pods.filter(isInBackground).map(({ metadata }) => `${metadata.namespace}/${metadata.uid}`);
  const unfinished = requests.filter((request) => !isFinished(request));
  return {
    active: tally(unfinished.flatMap(({ status }) => status?.activeInterceptors ?? [])),
    processed: tally(requests.flatMap(({ status }) => status?.processedInterceptors ?? [])),
    requesters: tally(unfinished.flatMap(({ spec }) => (spec.requesters ?? []).map(({ name }) => name))),
    podInterceptors: tally(pods.flatMap((pod) => interceptorsOf(pod).names)),
    inBackground: new Set([...promised, ...annotated]).size,
  };
}
