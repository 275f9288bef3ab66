/** The adapter of drains: their request of `lifecycle.k8s.io` for a pod, with its Eviction, as the engine knows a request. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { DRAIN_REQUESTER, type Eviction, type LifecycleRequest } from '../../api/lifecycle.ts';
import { MAINTENANCE_REQUESTER } from '../../api/names.ts';
import { endsOf, engineView } from './engine-view.ts';
import { wantsEviction } from './requesters.ts';

/** Whether a drain made the request: its name is the UID of the pod, as that of the older dialect. */
export function isOfDrain({ metadata, spec }: LifecycleRequest): boolean {
  return spec.requester === DRAIN_REQUESTER && spec.target.pod?.uid === metadata.name;
}

/** The request of a drain as the engine sees it; `eviction` is the one whose outcome it shows, if there is one yet. */
export function drainView(request: LifecycleRequest, eviction: Eviction | undefined): EvictionRequest | undefined {
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
