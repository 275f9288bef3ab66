/**
 * The objects of the model of the API server as values: a state keeps them, and a step makes other ones of them. A version is the
 * number of the object's content, so that states with the same objects are the same state, whichever way led there.
 */
import type { KubeObject } from '../../src/api/meta.ts';
import { sortedJson } from '../../src/decide/json.ts';
import { keyOf } from '../../src/kube/resource.ts';
import { type ModelKind, placeOf } from '../simulation/api-server/kinds.ts';
import { type ModelChange, Objects, type Stored } from '../simulation/api-server/objects.ts';
import type { KubeRequest } from '../../src/kube/client.ts';
import { Numbers, Values } from './intern.ts';

export const KINDS = ['Node', 'NodeMaintenance', 'EvictionRequest', 'Pod', 'PodDisruptionBudget'] as const;
export type WorldKind = (typeof KINDS)[number];

/** All objects of one kind, by their keys. There is one value for equal contents. */
export interface KindObjects {
  readonly id: number;
  readonly stored: ReadonlyMap<string, Stored>;
  readonly list: readonly KubeObject[];
}

export type WorldObjects = Readonly<Record<WorldKind, KindObjects>>;

/** How often an object of a kind and name was created, so that a new one of the name has another UID. */
export type Born = Readonly<Record<string, number>>;

/** A name that is made again and again has one of so many UIDs. */
const UIDS = 4;
/** Versions are decimal numbers without leading zeros. */
const FIRST_VERSION = 1_000;

const contents = new Numbers();
const kinds = new Values<KindObjects>();
const storedIds = new WeakMap<Stored, number>();

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const each of Object.values(value)) frozen(each);
  return Object.freeze(value);
}

function versioned({ object, owners }: Stored): Stored {
  const { resourceVersion: _, ...metadata } = object.metadata;
  const held = Object.fromEntries([...owners].map(([manager, fields]) => [manager, [...fields].toSorted()]));
  const id = contents.of(sortedJson([{ ...object, metadata }, held]));
  const whole = { ...object, metadata: { ...metadata, resourceVersion: String(FIRST_VERSION + id) } };
  const stored = { object: frozen(whole), owners };
  storedIds.set(stored, id);
  return stored;
}

function kindOf(stored: ReadonlyMap<string, Stored>): KindObjects {
  const entries = [...stored].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const text = entries.map(([key, value]) => `${key}=${storedIds.get(value)}`).join(' ');
  return kinds.of(text, (id) => ({ id, stored: new Map(entries), list: entries.map(([, { object }]) => object) }));
}

/** These objects with those that differ between two other states of the kind, as they are in the later one. */
export function withChanges(known: KindObjects, before: KindObjects, after: KindObjects): KindObjects {
  const stored = new Map(known.stored);
  for (const key of before.stored.keys()) if (!after.stored.has(key)) stored.delete(key);
  const versionOf = (objects: KindObjects, key: string): string | undefined =>
    objects.stored.get(key)?.object.metadata.resourceVersion;
  for (const [key, value] of after.stored) {
    if (versionOf(before, key) !== versionOf(after, key)) stored.set(key, value);
  }
  return kindOf(stored);
}

export const NO_OBJECTS: WorldObjects = Object.fromEntries(
  KINDS.map((kind) => [kind, kindOf(new Map())]),
) as unknown as WorldObjects;

/** The objects of a state while the model of the API server answers a request. */
export class StateObjects extends Objects {
  readonly #kinds: Map<WorldKind, Map<string, Stored>>;
  readonly #touched = new Set<WorldKind>();
  readonly #before: WorldObjects;
  #born: Born;
  #naming = '';

  constructor(before: WorldObjects, born: Born, now: () => number) {
    super(now);
    this.#before = before;
    this.#born = born;
    this.#kinds = new Map();
  }

  /** Says which request is answered next: a new object has a UID by its kind and name. */
  expect({ path, body }: KubeRequest): void {
    const place = placeOf(path.split('?')[0] ?? '');
    const { name = place?.name ?? '' } = (body as Partial<KubeObject> | undefined)?.metadata ?? {};
    this.#naming = `${place?.kind ?? ''}/${name}`;
  }

  /** The objects after the requests, and how often each was made. */
  result(): { readonly objects: WorldObjects; readonly born: Born } {
    if (this.#touched.size === 0) return { objects: this.#before, born: this.#born };
    const touched = [...this.#touched].map((kind) => [kind, kindOf(this.#kinds.get(kind) ?? new Map())]);
    return { objects: { ...this.#before, ...(Object.fromEntries(touched) as WorldObjects) }, born: this.#born };
  }

  #of(kind: ModelKind): Map<string, Stored> {
    const known = this.#kinds.get(kind as WorldKind);
    if (known !== undefined) return known;
    const copy = new Map(this.#before[kind as WorldKind]?.stored ?? []);
    this.#kinds.set(kind as WorldKind, copy);
    return copy;
  }

  override get(kind: ModelKind, key: string): Stored | undefined {
    return this.#of(kind).get(key);
  }

  override list(kind: ModelKind): readonly KubeObject[] {
    if (!this.#touched.has(kind as WorldKind)) return this.#before[kind as WorldKind]?.list ?? [];
    const entries = [...this.#of(kind)].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return entries.map(([, { object }]) => object);
  }

  override newUid(): string {
    const count = ((this.#born[this.#naming] ?? 0) + 1) % UIDS;
    this.#born = { ...this.#born, [this.#naming]: count };
    return `${this.#naming.replace('/', '-').toLowerCase()}-${count}`;
  }

  override put(kind: ModelKind, object: KubeObject, owners: Stored['owners']): KubeObject {
    const stored = versioned({ object, owners });
    this.#change(kind, stored.object, false);
    this.#of(kind).set(keyOf(object), stored);
    return stored.object;
  }

  override remove(kind: ModelKind, object: KubeObject): KubeObject {
    this.#change(kind, object, true);
    this.#of(kind).delete(keyOf(object));
    return object;
  }

  #change(kind: ModelKind, object: KubeObject, deleted: boolean): void {
    this.#touched.add(kind as WorldKind);
    this.revision += 1;
    const key = keyOf(object);
    const before = this.get(kind, key)?.object;
    const change: ModelChange = { revision: this.revision, at: 0, kind, key, before, object, deleted };
    this.changes.push(change);
  }
}
