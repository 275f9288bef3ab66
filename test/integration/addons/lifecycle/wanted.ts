/** What the cases of kubernetes/kubernetes#137133 compare of an Eviction. */
import { isDeepStrictEqual } from 'node:util';
import type { Eviction, EvictionRequester, LifecycleRequest, ResponderState } from '../../../../src/api/lifecycle.ts';
import type { ObjectMeta } from '../../../../src/api/meta.ts';
import { A, B, EVICTOR, hasStates, type Said, says } from '../../lifecycle/scene.ts';

/** What upstream's cases compare of an Eviction; what is left out is not compared. */
export interface Wanted {
  readonly states: readonly ResponderState[];
  readonly said?: Said;
  readonly spec?: Eviction['spec'];
  readonly labels?: Readonly<Record<string, string>>;
  readonly owners?: readonly LifecycleRequest[];
  readonly requesters?: readonly EvictionRequester[];
  readonly generation?: number;
  /** The responder whose turn has a beginning. */
  readonly started?: string;
}

function byUid(owners: ObjectMeta['ownerReferences'] = []): typeof owners {
  return owners.toSorted((a, b) => (a.uid < b.uid ? -1 : 1));
}

function ownersOf(requests: readonly LifecycleRequest[]): ReturnType<typeof byUid> {
  const kind = { apiVersion: 'lifecycle.k8s.io/v1alpha1', kind: 'EvictionRequest' };
  return byUid(requests.map(({ metadata: { name, uid = '' } }) => ({ ...kind, name, uid })));
}

/** Whether each responder has an entry, and the one that has begun has a start. */
function hasStarted({ status }: Eviction, name: string): boolean {
  const entries = status?.responders ?? [];
  const hasAll = [A, B, EVICTOR].every((each) => entries.some((entry) => entry.name === each));
  return hasAll && entries.find((entry) => entry.name === name)?.startTime !== undefined;
}

/** Whether the Eviction is as wanted in everything that is given. */
export function isAs(eviction: Eviction, wanted: Wanted): boolean {
  const { metadata, spec, status } = eviction;
  const { states, said, owners, generation, started } = wanted;
  if (!hasStates(eviction, states) || (said !== undefined && !says(eviction, said))) return false;
  if (owners !== undefined && !isDeepStrictEqual(byUid(metadata.ownerReferences), ownersOf(owners))) return false;
  if (generation !== undefined && status?.observedGeneration !== generation) return false;
  if (started !== undefined && !hasStarted(eviction, started)) return false;
  const pairs = [
    [wanted.spec, spec],
    [wanted.labels, metadata.labels],
    [wanted.requesters, status?.requesters],
  ];
  return pairs.every(([want, is]) => want === undefined || isDeepStrictEqual(is, want));
}

/** The labels of an Eviction of the pod of these cases. */
export function labelsOf(...requesters: readonly string[]): Readonly<Record<string, string>> {
  const responders = { [A]: 'responder', [B]: 'responder', [EVICTOR]: 'responder' };
  return { ...responders, ...Object.fromEntries(requesters.map((name) => [name, 'requester'])) };
}

export const FIRST_REQUESTER = 'foo.example.com/1';
export const SECOND_REQUESTER = 'foo.example.com/2';
export const REQUESTERS: readonly EvictionRequester[] = [{ name: FIRST_REQUESTER, intent: 'Eviction' }];
