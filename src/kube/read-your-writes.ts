import type { KubeObject } from '../api/meta.ts';

/** The results of this process's own writes that a cache does not contain yet, so that no decision uses an older state. */
export interface RecentWrites<T> {
  /** The object as it is known best: as our last write left it, as long as the cache has a copy from before that write. */
  latest(key: string, copy: T | undefined): T | undefined;
  /**
   * Notes what a write made of the object, and the copy that the cache had when it was decided on, or has now. Of two writes
   * whose answers cross, the later one stays; a copy that is later than the write stays too, because the watch may bring what
   * others made of the object before this process has the answer to its own write.
   */
  note(key: string, copy: T | undefined, written: T): void;
  forget(key: string): void;
}

/**
 * Whether version `a` of an object is older than `b`: the API server counts them in decimal digits without leading zeros
 * (KEP-5504). Undefined where one of them is written otherwise.
 */
function isOlder(a: string, b: string): boolean | undefined {
  if (!/^[1-9]\d*$/.test(a) || !/^[1-9]\d*$/.test(b)) return undefined;
  return a.length === b.length ? a < b : a.length < b.length;
}

/**
 * Whether the copy is from before the write. Writes of others, or earlier ones of our own, may come between the copy that was
 * decided on and the write, and the cache shows them first. A copy that is older than the one which was decided on is of an API
 * server that was restored from a backup, and counts.
 */
function isBefore(copy: KubeObject, decidedOn: string, written: KubeObject): boolean {
  const [version, after] = [copy.metadata.resourceVersion ?? '', written.metadata.resourceVersion ?? ''];
  if (version === decidedOn) return true;
  return (
    copy.metadata.uid === written.metadata.uid &&
    isOlder(decidedOn, version) === true &&
    isOlder(version, after) === true
  );
}

export function createRecentWrites<T extends KubeObject>(): RecentWrites<T> {
  const writes = new Map<string, { readonly version: string | undefined; readonly written: T }>();
  return {
    latest: (key, copy) => {
      const last = writes.get(key);
      if (last === undefined) return copy;
      if (copy === undefined || last.version === undefined)
        return last.version === copy?.metadata.resourceVersion ? last.written : copy;
      return isBefore(copy, last.version, last.written) ? last.written : copy;
    },
    note: (key, copy, written) => {
      const { uid, resourceVersion = '' } = written.metadata;
      const isPast = [writes.get(key)?.written.metadata, copy?.metadata].some(
        (known) => known?.uid === uid && isOlder(resourceVersion, known?.resourceVersion ?? '') === true,
      );
      if (!isPast) writes.set(key, { version: copy?.metadata.resourceVersion, written });
    },
    forget: (key) => {
      writes.delete(key);
    },
  };
}
