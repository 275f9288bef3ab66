import { isObject } from './json.ts';

/** Applies a drop-in to a configuration: maps are merged, null removes a key, all other values are replaced (RFC 7386). */
export function mergePatch(base: unknown, dropIn: unknown): unknown {
  if (!isObject(dropIn)) return dropIn;
  const merged = new Map(Object.entries(isObject(base) ? base : {}));
  for (const [key, value] of Object.entries(dropIn)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}
