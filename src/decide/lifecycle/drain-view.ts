/** The adapter of drains: their request of `lifecycle.k8s.io` for a pod, with its Eviction, as the engine knows a request. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { DRAIN_REQUESTER, type Eviction, type LifecycleRequest } from '../../api/lifecycle.ts';
import { MAINTENANCE_REQUESTER } from '../../api/names.ts';
import { isFinished } from '../eviction/request.ts';
import { endsOf, engineView } from './translation.ts';
import { relevantEviction } from './request.ts';
import { wantsEviction } from './asked.ts';

/** Whether a drain made the request: its name is the UID of the pod, as that of the older dialect. */
export function isOfDrain({ metadata, spec }: LifecycleRequest): boolean {
  return spec.requester === DRAIN_REQUESTER && spec.target.pod?.uid === metadata.name;
}

/** The request of a drain as the engine sees it; `eviction` is the one whose outcome it shows, if there is one yet. */
export function requestView(request: LifecycleRequest, eviction: Eviction | undefined): EvictionRequest | undefined {
  const { metadata, spec } = request;
  const { pod } = spec.target;
  if (pod === undefined) return undefined;
  const others = (eviction?.status?.requesters ?? []).filter((each) => {
    return each.name !== DRAIN_REQUESTER && each.intent === 'Eviction';
  });
  const own = wantsEviction(request) ? [{ name: MAINTENANCE_REQUESTER }] : [];
  const status = eviction === undefined ? undefined : engineView(eviction)?.status;
  return {
    metadata,
    spec: { target: { pod }, requesters: [...own, ...others.map(({ name }) => ({ name }))] },
    status: status ?? { conditions: endsOf(request) },
  };
}

/** Of two requests for one pod, one of each dialect, the one that is under way; the older one where both are. */
export function underWay(
  older: EvictionRequest | undefined,
  newer: EvictionRequest | undefined,
): EvictionRequest | undefined {
  return older === undefined || (isFinished(older) && newer !== undefined) ? (newer ?? older) : older;
}

/** What there is of drains in both dialects. */
interface BothDialects {
  readonly older: readonly EvictionRequest[];
  readonly requests: readonly LifecycleRequest[];
  readonly evictions: readonly Eviction[];
}

/** The requests of drains by the UID of the pod, as the engine sees them, whatever their dialect is. */
export function drainRequests({ older, requests, evictions }: BothDialects): ReadonlyMap<string, EvictionRequest> {
  const found = new Map(older.map((request) => [request.metadata.name, request]));
  const byUid = Map.groupBy(evictions, ({ spec }) => spec.target.pod?.uid ?? '');
  for (const request of requests.filter(isOfDrain)) {
    const { name: uid } = request.metadata;
    const both = underWay(found.get(uid), requestView(request, relevantEviction(byUid.get(uid) ?? [])));
    if (both !== undefined) found.set(uid, both);
  }
  return found;
}

/** An Eviction as the metrics count it: under the names of the engine, with those who ask for it. */
export function countedView(eviction: Eviction): EvictionRequest | undefined {
  const view = engineView(eviction);
  if (view === undefined) return undefined;
  const asking = (eviction.status?.requesters ?? []).filter(({ intent }) => intent === 'Eviction');
  const requesters = asking.map(({ name }) => ({ name: name === DRAIN_REQUESTER ? MAINTENANCE_REQUESTER : name }));
  return { ...view, spec: { ...view.spec, requesters } };
}
