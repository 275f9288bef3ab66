import type { EvictionRequest } from '../../api/eviction-request.ts';
import { keyOf } from '../../kube/resource.ts';

/** What a loop remembers of each EvictionRequest, and of no namesake that took its place. */
export interface RequestNotes<T> {
  /** The notes of the request, empty at first. */
  of(request: EvictionRequest): T;
  /** Forgets the request of the key, NAMESPACE/NAME, that is over or gone. */
  forget(key: string): void;
  size(): number;
}

/** Makes them; `begin` makes the empty notes of one request. */
export function createRequestNotes<T>(begin: () => T): RequestNotes<T> {
  const notes = new Map<string, { readonly uid: string | undefined; readonly notes: T }>();
  return {
    of: (request) => {
      const key = keyOf(request);
      const { uid } = request.metadata;
      const known = notes.get(key);
      if (known !== undefined && known.uid === uid) return known.notes;
      const fresh = begin();
      notes.set(key, { uid, notes: fresh });
      return fresh;
    },
    forget: (key) => {
      notes.delete(key);
    },
    size: () => notes.size,
  };
}
