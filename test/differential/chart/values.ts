/** Random changes of the values of the chart. */
import type { Random } from '../../chaos/random.ts';
import { drawFitting } from '../schema/fitting.ts';
import { drawOutside, type Outside } from '../schema/outside.ts';
import { isJson, type Json, type Path, type Schema, schemaAt } from '../schema/schema.ts';

/** One change of the values. */
export interface Change {
  readonly values: Json;
  /** The value that is changed. */
  readonly path: Path;
  /** What is bad by the schema alone; absent where nothing is. */
  readonly outside?: Outside;
}

/** Values of parent charts are none of the chart's. */
const NOT_OURS = ['global'];

/** The paths of the single values, and of the objects that hold them, with these keys left out. */
function pathsOf(schema: Schema, path: Path = []): readonly Path[] {
  const own = Object.entries(schema.properties ?? {}).filter(([key]) => !NOT_OURS.includes(key));
  return own.flatMap(([key, inner]) => [[...path, key], ...pathsOf(inner, [...path, key])]);
}

/** The object with another value at the path; without one where it is undefined. */
export function withValue(object: unknown, path: Path, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const { [key]: inner, ...others } = isJson(object) ? object : {};
  const next = withValue(inner, rest, value);
  return next === undefined ? others : { ...others, [key]: next };
}

/** What the values have at the path. */
export function valueAt(object: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, key) => (isJson(at) ? at[key] : undefined), object);
}

/** Draws a change: mostly of a single value, some of which are bad; null takes the default of the chart away. */
export function drawChange(schema: Schema, values: Json, random: Random): Change {
  const all = pathsOf(schema);
  const path = all[random.whole(all.length)] ?? [];
  const at = schemaAt(schema, path);
  const changed = (value: unknown): Json => withValue(values, path, value) as Json;
  switch (random.whole(8)) {
    case 0:
      return { path, values: changed(undefined) };
    case 1:
      return { path, values: changed(null) };
    case 2:
    case 3: {
      const broken = drawOutside(at, valueAt(values, path), { unknownKeys: true }, random);
      // The default of the chart takes the place of a key that is missing, but not in an entry of a list.
      const isDefault = broken.rule === 'required' && !broken.path.some((key) => typeof key === 'number');
      const bad = isDefault ? {} : { outside: { ...broken, path: [...path, ...broken.path] } };
      return { path, values: changed(broken.value), ...bad };
    }
    default:
      return { path, values: changed(drawFitting(at, random)) };
  }
}
