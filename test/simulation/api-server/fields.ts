/** The fields of an object, as server-side apply counts them: who has set which, and what goes when its owner leaves it out. */
import { mergePatch } from '../../../src/decide/json.ts';

export type Json = Record<string, unknown>;
type KeyedLists = Readonly<Record<string, string>>;

/** One field: the names and list keys on the way to it. */
type Path = readonly string[];

const SEPARATOR = '\n';
/** What the API server keeps of each object by itself; nobody owns it. */
const NOT_OWNED = new Set(
  ['name', 'namespace', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'deletionTimestamp'].map(
    (name) => `metadata${SEPARATOR}${name}`,
  ),
).add(`metadata${SEPARATOR}deletionGracePeriodSeconds`);

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The path of a list among the keyed lists, which have no list keys in their paths. */
function listName(path: Path): string {
  return path.join('.');
}

/** Calls `visit` with each field that a value sets: leaves, whole atomic lists, and the entries of keyed lists. */
function visitFields(value: unknown, lists: KeyedLists, path: Path, visit: (path: Path, value: unknown) => void): void {
  if (Array.isArray(value)) {
    const key = lists[listName(path)];
    if (key === undefined) visit(path, value);
    // A keyed list without entries is no field of its own.
    else for (const entry of value as Json[]) visit([...path, `[${String(entry[key])}]`], entry);
  } else if (isObject(value) && Object.keys(value).length > 0) {
    for (const [name, each] of Object.entries(value)) visitFields(each, lists, [...path, name], visit);
  } else visit(path, value);
}

/** The fields of objects that were asked for: an object of the model is never changed in place. */
const known = new WeakMap<Json, ReadonlyMap<string, string>>();

/** The fields of an object that somebody may own, with their values as text. */
export function fieldsOf(object: Json, lists: KeyedLists): ReadonlyMap<string, string> {
  const before = Object.isFrozen(object) ? known.get(object) : undefined;
  if (before !== undefined) return before;
  const found = readFields(object, lists);
  if (Object.isFrozen(object)) known.set(object, found);
  return found;
}

function readFields(object: Json, lists: KeyedLists): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const part of ['metadata', 'spec', 'status']) {
    if (object[part] === undefined) continue;
    visitFields(object[part], lists, [part], (path, value) => {
      const field = path.join(SEPARATOR);
      if (!NOT_OWNED.has(field)) found.set(field, JSON.stringify(value));
    });
  }
  return found;
}

/** Whether a field is this one or a part of it: a map that was set while it was empty is no leaf any more when it has entries. */
export function isWithin(field: string, whole: string): boolean {
  return field === whole || field.startsWith(`${whole}${SEPARATOR}`);
}

/** Merges entries of a keyed list: those that are there are replaced in their place, new ones come after them. */
function mergeEntries(old: unknown, fresh: readonly Json[], key: string): readonly Json[] {
  const merged = new Map((Array.isArray(old) ? (old as Json[]) : []).map((entry) => [entry[key], entry]));
  for (const entry of fresh) merged.set(entry[key], mergePatch(merged.get(entry[key]), entry) as Json);
  return [...merged.values()];
}

/** What a body makes of an object whose keyed lists are merged by their keys (strategic merge patch, server-side apply). */
export function mergeByKeys(old: unknown, body: unknown, lists: KeyedLists, path: Path = []): unknown {
  const key = lists[listName(path)];
  if (Array.isArray(body) && key !== undefined) return mergeEntries(old, body as Json[], key);
  if (!isObject(body)) return body;
  const result: Json = isObject(old) ? { ...old } : {};
  for (const [name, value] of Object.entries(body)) {
    if (value === null) delete result[name];
    else result[name] = mergeByKeys(result[name], value, lists, [...path, name]);
  }
  return result;
}

/** The object without one field. */
export function withoutField(object: Json, field: string, lists: KeyedLists): Json {
  const remove = (value: unknown, path: Path, done: Path): unknown => {
    const [name = '', ...rest] = path;
    if (Array.isArray(value)) {
      const key = lists[listName(done)] ?? '';
      return (value as Json[]).filter((entry) => `[${String(entry[key])}]` !== name);
    }
    if (!isObject(value)) return value;
    const copy = { ...value };
    if (rest.length === 0) delete copy[name];
    else if (name in copy) copy[name] = remove(copy[name], rest, [...done, name]);
    // A keyed list goes with its last entry.
    if (Array.isArray(copy[name]) && copy[name].length === 0) delete copy[name];
    return copy;
  };
  return remove(object, field.split(SEPARATOR), []) as Json;
}

/** The fields that each manager has set last. */
export type Owners = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * The owners after a write: what it changed belongs to its author alone; with an apply, also what the author sets as it is. An
 * empty map that somebody else has applied is not there, and its owner is forgotten by the next apply.
 */
export function ownersAfter(
  owners: Owners,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
  author: { readonly manager: string; readonly sets?: ReadonlySet<string> },
): Owners {
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (field) => before.get(field) !== after.get(field),
  );
  const result = new Map<string, ReadonlySet<string>>();
  for (const [manager, fields] of owners) {
    const isForgetting = author.sets !== undefined && manager !== author.manager;
    const isThere = (field: string): boolean => !isForgetting || before.has(field);
    const left = new Set([...fields].filter((field) => !changed.includes(field) && isThere(field)));
    if (left.size > 0) result.set(manager, left);
  }
  const own =
    author.sets ?? new Set([...(result.get(author.manager) ?? []), ...changed.filter((each) => after.has(each))]);
  if (own.size > 0) result.set(author.manager, own);
  else result.delete(author.manager);
  return result;
}
