import type { KubeObject } from '../api/meta.ts';

/** The results of this process's own writes that a cache does not contain yet, so that no decision uses an older state. */
export interface RecentWrites<T> {
  /** The object as it is known best: as our last write left it, as long as the cache still has the copy from before. */
  latest(key: string, copy: T | undefined): T | undefined;
  /** Notes what a write made of the object, and the copy that the cache had when it was decided on. */
  note(key: string, copy: T | undefined, written: T): void;
  forget(key: string): void;
}

export function createRecentWrites<T extends KubeObject>(): RecentWrites<T> {
  const writes = new Map<string, { readonly version: string | undefined; readonly written: T }>();
  return {
    latest: (key, copy) => {
      const last = writes.get(key);
      return last !== undefined && last.version === copy?.metadata.resourceVersion ? last.written : copy;
    },
    note: (key, copy, written) => {
      writes.set(key, { version: copy?.metadata.resourceVersion, written });
    },
    forget: (key) => {
      writes.delete(key);
    },
  };
}
