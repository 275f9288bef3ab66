/** The objects of the model with their revisions, and every change since the beginning, from which watches read. */
import type { KubeObject } from '../../../src/api/meta.ts';
import { keyOf } from '../../../src/kube/resource.ts';
import type { Owners } from './fields.ts';
import type { ModelKind } from './kinds.ts';

/** An object, and who has set which of its fields. */
export interface Stored {
  readonly object: KubeObject;
  readonly owners: Owners;
}

/** One change of one object. */
export interface ModelChange {
  readonly revision: number;
  /** In milliseconds since the epoch. */
  readonly at: number;
  readonly kind: ModelKind;
  readonly key: string;
  /** The object before; undefined where it was created. */
  readonly before: KubeObject | undefined;
  /** The object after, or as it was last where it is deleted. */
  readonly object: KubeObject;
  readonly deleted: boolean;
}

/** Nobody changes an object of the model by changing an answer or an event. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const each of Object.values(value)) frozen(each);
  return Object.freeze(value);
}

/** All objects. Each change takes the next revision, as in etcd; an object is never changed in place. */
export class Objects {
  readonly #kinds = new Map<ModelKind, Map<string, Stored>>();
  readonly #lists = new Map<ModelKind, readonly KubeObject[]>();
  readonly #now: () => number;
  readonly changes: ModelChange[] = [];
  readonly #listeners = new Set<(change: ModelChange) => void>();
  /** The first revisions are the API server's own objects'. */
  revision = 100;
  #uids = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  #of(kind: ModelKind): Map<string, Stored> {
    const found = this.#kinds.get(kind) ?? new Map<string, Stored>();
    this.#kinds.set(kind, found);
    return found;
  }

  get(kind: ModelKind, key: string): Stored | undefined {
    return this.#of(kind).get(key);
  }

  /** The objects of a kind, in the order of their keys. */
  list(kind: ModelKind): readonly KubeObject[] {
    const known = this.#lists.get(kind);
    if (known !== undefined) return known;
    const entries = [...this.#of(kind).entries()].sort(([a], [b]) => (a < b ? -1 : 1));
    const list = entries.map(([, { object }]) => object);
    this.#lists.set(kind, list);
    return list;
  }

  /** Calls `tell` with each change from now on; returns how to call that off. */
  onChange(tell: (change: ModelChange) => void): () => void {
    this.#listeners.add(tell);
    return () => void this.#listeners.delete(tell);
  }

  newUid(): string {
    this.#uids += 1;
    return `00000000-0000-4000-8000-${String(this.#uids).padStart(12, '0')}`;
  }

  put(kind: ModelKind, object: KubeObject, owners: Owners): KubeObject {
    const stored = this.#versioned(object);
    this.#note(kind, stored, false);
    this.#of(kind).set(keyOf(stored), { object: stored, owners });
    return stored;
  }

  /** Takes an object away; `object` is as it was last. */
  remove(kind: ModelKind, object: KubeObject): KubeObject {
    const last = this.#versioned(object);
    this.#note(kind, last, true);
    this.#of(kind).delete(keyOf(last));
    return last;
  }

  #versioned(object: KubeObject): KubeObject {
    this.revision += 1;
    return frozen({ ...object, metadata: { ...object.metadata, resourceVersion: String(this.revision) } });
  }

  #note(kind: ModelKind, object: KubeObject, deleted: boolean): void {
    this.#lists.delete(kind);
    const key = keyOf(object);
    const before = this.get(kind, key)?.object;
    const change = { revision: this.revision, at: this.#now(), kind, key, before, object, deleted };
    this.changes.push(change);
    for (const tell of this.#listeners) tell(change);
  }
}
