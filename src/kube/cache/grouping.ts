/** Keys under values, such as requests under their node. A key that is under no value is not kept. */
interface Grouping {
  /** Puts the key under these values and no others. */
  set(key: string, values: readonly string[]): void;
  /** The values of the key as they were set; the same array as long as they stay the same. */
  valuesOf(key: string): readonly string[];
  under(value: string): ReadonlySet<string>;
}

const NO_KEYS: ReadonlySet<string> = new Set();
const NO_VALUES: readonly string[] = [];

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((value, index) => value === b[index]));
}

export function createGrouping(): Grouping {
  const keysOf = new Map<string, Set<string>>();
  const valuesOf = new Map<string, readonly string[]>();
  const leave = (key: string, value: string): void => {
    const keys = keysOf.get(value);
    keys?.delete(key);
    if (keys?.size === 0) keysOf.delete(value);
  };
  return {
    set: (key, values) => {
      const before = valuesOf.get(key) ?? NO_VALUES;
      if (isSame(before, values)) return;
      const after = new Set(values);
      for (const value of before) if (!after.has(value)) leave(key, value);
      for (const value of after) {
        const keys = keysOf.get(value);
        if (keys === undefined) keysOf.set(value, new Set([key]));
        else keys.add(key);
      }
      if (values.length === 0) valuesOf.delete(key);
      else valuesOf.set(key, values);
    },
    valuesOf: (key) => valuesOf.get(key) ?? NO_VALUES,
    under: (value) => keysOf.get(value) ?? NO_KEYS,
  };
}
