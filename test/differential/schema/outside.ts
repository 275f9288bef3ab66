/** Draws values that a schema refuses: just outside each bound, of another type, with unknown or missing keys. */
import type { Random } from '../../chaos/random.ts';
import { drawFitting, isText } from './fitting.ts';
import { isJson, type Json, type Path, type Schema, typesOf } from './schema.ts';

/** A bad value of one place. */
export interface Outside {
  /** Where the bad value is, or the key that is missing or unknown. */
  readonly path: Path;
  /** The keyword of the schema that refuses it. */
  readonly rule: string;
  readonly value: unknown;
}

/** A way to break one place of a value that fits otherwise. */
type Breaker = (value: unknown, random: Random) => Outside;

/** Which keywords count: what an unknown key means differs, because an API server drops it. */
export interface OutsideOptions {
  readonly unknownKeys: boolean;
  /** Places that are left alone, such as those that say what a file is. */
  readonly isLeft?: (path: Path) => boolean;
}

/** A list of more entries would only make the run slow. */
const LARGEST_LIST = 1_000;
const OTHER_TYPES: Readonly<Record<string, unknown>> = {
  string: 7,
  integer: 'seven',
  number: 'seven',
  boolean: 'maybe',
  array: 'one',
  object: 'one',
};
const STRANGE = ['', ' ', '-', '!', 'No Such', 'yesterday', 'a\nb', '/\u0007'];

/** What breaks a value by itself, not by what is in it. */
function ownBreakers(schema: Schema, path: Path): readonly Breaker[] {
  const found: Breaker[] = [];
  const add = (rule: string, value: unknown): void => {
    found.push(() => ({ path, rule, value }));
  };
  const types = typesOf(schema);
  const [type = ''] = types;
  if (types.length === 1) add('type', OTHER_TYPES[type]);
  if (schema.enum !== undefined) add('enum', 'NoSuchWord');
  if (type === 'integer') {
    add('type', 1.5);
    if (schema.minimum !== undefined) add('minimum', schema.minimum - 1);
    if (schema.maximum !== undefined) add('maximum', schema.maximum + 1);
  }
  if (types.includes('string') && schema.enum === undefined && schema.const === undefined) {
    for (const text of STRANGE.filter((each) => !isText(schema, each))) add('pattern', text);
    if (schema.maxLength !== undefined) add('maxLength', 'a'.repeat(schema.maxLength + 1));
  }
  const { minItems = 0, maxItems = Infinity } = schema;
  if (type === 'array' && minItems > 0) add('minItems', []);
  if (type === 'array' && maxItems < LARGEST_LIST) {
    found.push((_, random) => {
      const item = drawFitting(schema.items ?? {}, random);
      return { path, rule: 'maxItems', value: Array.from({ length: maxItems + 1 }, () => item) };
    });
  }
  if (schema['x-kubernetes-list-type'] === 'set') {
    found.push((_, random) => {
      const item = drawFitting(schema.items ?? {}, random);
      return { path, rule: 'set', value: [item, item] };
    });
  }
  return found;
}

function keyBreakers(schema: Schema, path: Path, { unknownKeys }: OutsideOptions): readonly Breaker[] {
  const objectOf = (value: unknown, random: Random): Json =>
    isJson(value) ? value : (drawFitting(schema, random) as Json);
  const missing = (schema.required ?? []).map(
    (key): Breaker =>
      (value, random) => {
        const { [key]: _, ...rest } = objectOf(value, random);
        return { path: [...path, key], rule: 'required', value: rest };
      },
  );
  const bad = STRANGE.find((text) => schema.propertyNames !== undefined && !isText(schema.propertyNames, text));
  if (bad !== undefined) {
    missing.push((value, random) => {
      const names = { ...objectOf(value, random), [bad]: 'x' };
      return { path, rule: 'propertyNames', value: names };
    });
  }
  if (!unknownKeys || schema.additionalProperties !== false) return missing;
  return [
    ...missing,
    (value, random) => {
      const others = objectOf(value, random);
      return { path: [...path, 'noSuchKey'], rule: 'additionalProperties', value: { ...others, noSuchKey: 1 } };
    },
  ];
}

/** What breaks something inside of a value. */
function innerBreakers(schema: Schema, path: Path, options: OutsideOptions): readonly Breaker[] {
  const inner = Object.entries(schema.properties ?? {}).flatMap(([key, each]) =>
    breakersOf(each, [...path, key], options).map(
      (broken): Breaker =>
        (value, random) => {
          const whole = isJson(value) ? value : (drawFitting(schema, random) as Json);
          const bad = broken(whole[key], random);
          return { ...bad, value: { ...whole, [key]: bad.value } };
        },
    ),
  );
  if (schema.items === undefined) return inner;
  const items = breakersOf(schema.items, [...path, 0], options);
  return [
    ...inner,
    ...items.map(
      (broken): Breaker =>
        (value, random) => {
          const bad = broken(Array.isArray(value) ? value[0] : undefined, random);
          return { ...bad, value: [bad.value] };
        },
    ),
  ];
}

/** All ways to break a value of the schema. */
export function breakersOf(schema: Schema, path: Path, options: OutsideOptions): readonly Breaker[] {
  if (options.isLeft?.(path) === true) return [];
  return [...ownBreakers(schema, path), ...keyBreakers(schema, path, options), ...innerBreakers(schema, path, options)];
}

/** Breaks one place of a value that fits. */
export function drawOutside(schema: Schema, value: unknown, options: OutsideOptions, random: Random): Outside {
  const ways = breakersOf(schema, [], options);
  const way = ways[random.whole(ways.length)];
  if (way === undefined) throw new Error('the schema refuses nothing');
  return way(value, random);
}
