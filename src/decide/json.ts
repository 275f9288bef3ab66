/** JSON that came from outside, before anything is known of it. */

type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object in a text of at most `max` characters; undefined where the text is longer, no JSON, or something else. */
export function parseObject(text: string, max: number): JsonObject | undefined {
  if (text.length > max) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The value as JSON in which the fields of each object are sorted: an API server and this program order them differently. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    isObject(each) ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1))) : each,
  );
}

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
