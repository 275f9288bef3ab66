/** The requesters of an Eviction, and the labels and owners by which they and the responders are found. */
import {
  type Eviction,
  type EvictionRequester,
  type LifecycleRequest,
  LIFECYCLE_API_VERSION,
  MAX_REQUESTERS,
} from '../../../api/lifecycle.ts';
import type { ObjectMeta, OwnerReference } from '../../../api/meta.ts';
import { wantsEviction } from '../../../decide/lifecycle/asked.ts';

/** Those that want the eviction first, then the oldest. */
function byRank(a: LifecycleRequest, b: LifecycleRequest): number {
  const rank = Number(wantsEviction(b)) - Number(wantsEviction(a));
  if (rank !== 0) return rank;
  const [mine = '', other = ''] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (mine !== other) return mine < other ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

/**
 * The requesters to write into the Eviction: each name once, those that want the eviction first, and those of requests that are
 * gone as withdrawn, as far as there is room.
 */
export function requestersOf(eviction: Eviction, requests: readonly LifecycleRequest[]): readonly EvictionRequester[] {
  const found = new Map<string, EvictionRequester>();
  for (const request of requests.toSorted(byRank)) {
    const { requester: name } = request.spec;
    if (!found.has(name)) found.set(name, { name, intent: wantsEviction(request) ? 'Eviction' : 'Withdrawn' });
  }
  for (const { name } of eviction.status?.requesters ?? []) {
    if (!found.has(name)) found.set(name, { name, intent: 'Withdrawn' });
  }
  return [...found.values()].slice(0, MAX_REQUESTERS);
}

type Role = 'requester' | 'responder' | 'requester-responder';

/** The label of each participant: its name, and its role as the value. */
function rolesOf(requests: readonly LifecycleRequest[], responders: readonly string[]): Readonly<Record<string, Role>> {
  const roles = new Map<string, Role>();
  for (const { spec } of requests.slice(0, MAX_REQUESTERS)) roles.set(spec.requester, 'requester');
  for (const name of responders) roles.set(name, roles.has(name) ? 'requester-responder' : 'responder');
  return Object.fromEntries(roles);
}

function ownerOf({ metadata: { name, uid = '' } }: LifecycleRequest): OwnerReference {
  return { apiVersion: LIFECYCLE_API_VERSION, kind: 'EvictionRequest', name, uid };
}

/** The labels and owners of an Eviction. */
export type Participants = Required<Pick<ObjectMeta, 'labels' | 'ownerReferences'>>;

/**
 * The labels and owners that the Eviction, where there is one yet, has to have. Those of the participants are added; a requester
 * that has no request any more loses its label, and other labels stay. Owners stay: when all of its requests are gone, the
 * garbage collector of Kubernetes deletes the Eviction.
 */
export function participantsOf(
  eviction: Pick<Eviction, 'metadata' | 'status'> | undefined,
  requests: readonly LifecycleRequest[],
  responders: readonly string[],
): Participants {
  const there = requests.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const asking = new Set(there.map(({ spec }) => spec.requester));
  const gone = new Set((eviction?.status?.requesters ?? []).flatMap(({ name }) => (asking.has(name) ? [] : [name])));
  const kept = Object.entries(eviction?.metadata.labels ?? {}).filter(([name]) => !gone.has(name));
  const owners = eviction?.metadata.ownerReferences ?? [];
  const further = there.map(ownerOf).filter(({ uid }) => !owners.some((owner) => owner.uid === uid));
  return {
    labels: { ...Object.fromEntries(kept), ...rolesOf(there, responders) },
    ownerReferences: [...owners, ...further.slice(0, MAX_REQUESTERS)],
  };
}
