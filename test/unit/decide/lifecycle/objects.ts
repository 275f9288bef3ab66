import type { Eviction, EvictionStatus, LifecycleRequest, ResponderState } from '../../../../src/api/lifecycle.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';

export const NOW = Date.UTC(2026, 10, 23, 1);
export const UID = '3d7fdff1-3fe5-48b9-b106-1ee24b0277f6';
export const EVICTOR = 'imperative-eviction.k8s.io/evictor';
export const A = 'a.example.com/foo';

/** A pod whose first responder is A. */
export function pod(metadata: Partial<Pod['metadata']> = {}, spec: Partial<Pod['spec']> = {}): Pod {
  const evictionResponders = [{ name: A, priority: 1001 }];
  return {
    metadata: { name: 'web', namespace: 'shop', uid: UID, ...metadata },
    spec: { evictionResponders, ...spec },
    status: { phase: 'Running' },
  };
}

/** The wish of a requester for that pod. */
export function request(
  requester = 'foo.example.com/1',
  more: Partial<LifecycleRequest['spec']> = {},
): LifecycleRequest {
  return {
    metadata: {
      name: `of-${requester.replace('/', '-')}`,
      namespace: 'shop',
      uid: `uid-of-${requester}`,
      generation: 1,
      creationTimestamp: rfc3339(NOW),
    },
    spec: { target: { pod: { name: 'web', uid: UID } }, requester, intent: 'Eviction', ...more },
  };
}

/** An Eviction of that pod. */
export function eviction(status: EvictionStatus = {}, name = 'pod-1-web'): Eviction {
  return {
    metadata: { name, namespace: 'shop', uid: `uid-of-${name}`, generation: 1, creationTimestamp: rfc3339(NOW) },
    spec: { target: { pod: { name: 'web', uid: UID } } },
    status,
  };
}

/** The Eviction after its end, for this reason and at this time. */
export function ended(known: Eviction, reason: string, at = NOW): Eviction {
  const isEvicted = reason === 'PodDeleted' || reason === 'PodTerminal';
  const condition = { status: 'True', message: '', lastTransitionTime: rfc3339(at), reason } as const;
  const conditions = [{ type: isEvicted ? 'TargetEvicted' : 'Failed', ...condition }];
  return { ...known, status: { ...known.status, conditions } };
}

/** The status of an Eviction whose two responders are in these states; what the first one says is given. */
export function turns(a: ResponderState, b: ResponderState, entry: object = {}): EvictionStatus {
  const startTime = rfc3339(NOW);
  return {
    observedGeneration: 1,
    targetResponders: [
      { name: A, priority: 1001, state: a },
      { name: EVICTOR, priority: 100, state: b },
    ],
    responders: [{ name: A, startTime, ...entry }, b === 'Active' ? { name: EVICTOR, startTime } : { name: EVICTOR }],
  };
}
