/**
 * Keeps one of equal values, so that the copies of many objects take little memory: the pods of one ReplicaSet have the same
 * labels, those of one node have its name. What it returns is shared, and must not be changed.
 */
export interface SharedValues {
  /** An equal value that was given before, or this one; undefined for undefined. */
  of<T>(value: T): T;
}

/** Values of the younger and of the older half; a value that was not asked for in the time of both is forgotten. */
const HALF = 2_000;

/** Creates it without any value. It remembers some thousand values, so that objects that have nothing in common cost little. */
export function createSharedValues(): SharedValues {
  let young = new Map<string, unknown>();
  let old = new Map<string, unknown>();
  return {
    of: <T>(value: T): T => {
      if (value === undefined) return value;
      const text = JSON.stringify(value);
      const known = young.get(text) ?? old.get(text) ?? value;
      if (!young.has(text)) young.set(text, known);
      if (young.size >= HALF) {
        old = young;
        young = new Map();
      }
      return known as T;
    },
  };
}

/** For copies of a few objects: shares nothing. */
export const NOT_SHARED: SharedValues = { of: (value) => value };
