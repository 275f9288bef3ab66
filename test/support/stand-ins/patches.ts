/** What an API server makes of the kinds of patches that this program sends. */

export type Json = Record<string, unknown>;

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a JSON merge patch makes of the target. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Json = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

/** Merges lists of entries by this key, as the server does for conditions and requesters. */
function mergeEntries(old: unknown, fresh: unknown, key: string): unknown {
  if (!Array.isArray(fresh)) return old;
  const merged = new Map((Array.isArray(old) ? (old as Json[]) : []).map((entry) => [entry[key], entry]));
  for (const entry of fresh as Json[]) merged.set(entry[key], { ...merged.get(entry[key]), ...entry });
  return [...merged.values()];
}

/** One map of the metadata after an apply: what it set before and leaves out now is taken away. */
function appliedMap(name: string, merged: Json, body: Json, before: Json | undefined): Json {
  const of = (object: Json | undefined): Json => {
    const metadata = object?.['metadata'];
    const map = isObject(metadata) ? metadata[name] : undefined;
    return isObject(map) ? map : {};
  };
  const kept = of(body);
  const owned = Object.keys(of(before));
  const all = Object.entries(isObject(merged[name]) ? merged[name] : {});
  return Object.fromEntries(all.filter(([key]) => !owned.includes(key) || kept[key] !== undefined));
}

/** Applies a body as a field manager; labels and annotations that it applied before and leaves out now are taken away. */
export function applied(old: Json | undefined, body: Json, before: Json | undefined): Json {
  const merged = mergePatch(old?.['metadata'], body['metadata']) as Json;
  const maps = ['labels', 'annotations'].map((name) => [name, appliedMap(name, merged, body, before)] as const);
  const metadata = { ...merged, ...Object.fromEntries(maps) };
  const oldSpec = isObject(old?.['spec']) ? old['spec'] : {};
  const newSpec = isObject(body['spec']) ? body['spec'] : {};
  const requesters = mergeEntries(oldSpec['requesters'], newSpec['requesters'], 'name');
  const spec = { ...oldSpec, ...newSpec, ...(requesters === undefined ? {} : { requesters }) };
  const oldStatus = isObject(old?.['status']) ? old['status'] : {};
  const newStatus = isObject(body['status']) ? body['status'] : {};
  const interceptors = mergeEntries(oldStatus['interceptors'], newStatus['interceptors'], 'name');
  const status = { ...oldStatus, ...newStatus, ...(interceptors === undefined ? {} : { interceptors }) };
  // An object without a status stays so.
  const isWithout = old?.['status'] === undefined && body['status'] === undefined;
  return { ...old, ...body, metadata, spec, ...(isWithout ? {} : { status }) };
}

/** What a strategic merge patch makes of an object, as far as the conditions of a Node need it. */
export function strategic(old: Json | undefined, body: Json): Json {
  const merged = mergePatch(old, body) as Json;
  const was = isObject(old?.['status']) ? old['status']['conditions'] : undefined;
  const is = isObject(body['status']) ? body['status']['conditions'] : undefined;
  if (is === undefined) return merged;
  const conditions = (mergeEntries(was, is, 'type') as Json[]).map(({ message, ...condition }) => {
    // The server leaves empty texts of a node's conditions out.
    return message === undefined || message === '' ? condition : { ...condition, message };
  });
  return { ...merged, status: { ...(merged['status'] as Json), conditions } };
}
