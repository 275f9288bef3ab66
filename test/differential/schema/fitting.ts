/** Draws values that fit a schema: its bounds, its words, present and absent keys. */
import type { Random } from '../../chaos/random.ts';
import { freeKeys, type Json, type Schema, typesOf } from './schema.ts';

/** Texts of which each pattern of the schemas takes some; a unit test holds that. */
const WORDS: readonly string[] = [
  '',
  'Ü ß',
  'x'.repeat(63),
  `sha256:${'0'.repeat(64)}`,
  ...'a web n1 0 5 10% 100% 30s 1m 250ms 2h 512Mi 100m NoExecute v1.2.3'.split(' '),
  ...'/var/lib/one /run/two /srv/three kubelet.service unix:///run/one.sock 127.0.0.1:9465 :8080'.split(' '),
  ...'http://127.0.0.1:10248 http://metadata.example:80 https://one.example http://one.example/healthz'.split(' '),
  ...'one.example.com two.example.com example.com/key registry.example:5000/nodemaint'.split(' '),
  ...'2026-11-24T12:00:00Z 2030-01-01T00:00:00+02:00'.split(' '),
];
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;
/** Lists and maps have so many entries at most. */
const ENTRIES = 3;
/** Keys of maps. */
const KEYS = ['app', 'tier', 'example.com/key'];
const UNBOUNDED = 1_000_000;

/** Whether a text is one of the schema's. */
export function isText(schema: Schema, text: string): boolean {
  const { pattern, format, minLength = 0, maxLength = Infinity } = schema;
  const length = Array.from(text).length;
  if (length < minLength || length > maxLength) return false;
  if (format === 'date-time' && !DATE_TIME.test(text)) return false;
  return pattern === undefined || new RegExp(pattern, 'u').test(text);
}

/** The known texts that the schema takes. */
export function wordsFor(schema: Schema): readonly string[] {
  return WORDS.filter((word) => isText(schema, word));
}

function pickFrom<T>(random: Random, choices: readonly T[]): T | undefined {
  return choices[random.whole(choices.length)];
}

function drawNumber({ minimum, maximum }: Schema, random: Random): number {
  const [least, most] = [minimum ?? -UNBOUNDED, maximum ?? UNBOUNDED];
  const between = least + random.whole(Math.min(most - least + 1, UNBOUNDED));
  return random.pick([least, most, Math.min(most, least + 1), Math.max(least, most - 1), between, between]);
}

/** Whether two entries may not be in one list; entries of other lists may be the same. */
function keyOf(
  { 'x-kubernetes-list-type': type, 'x-kubernetes-list-map-keys': keys = [] }: Schema,
  item: unknown,
): string {
  if (type === 'map') return JSON.stringify(keys.map((key) => (item as Json)[key]));
  return JSON.stringify(item);
}

function drawList(schema: Schema, random: Random): readonly unknown[] {
  const least = schema.minItems ?? 0;
  const count = least + random.whole(Math.min(ENTRIES, schema.maxItems ?? ENTRIES) - least + 1);
  const drawn = Array.from({ length: count }, () => drawFitting(schema.items ?? {}, random));
  return [...new Map(drawn.map((item) => [keyOf(schema, item), item])).values()];
}

function drawObject(schema: Schema, random: Random): Json {
  const { required = [], properties = {}, propertyNames = {} } = schema;
  const names = Object.keys(properties).filter((name) => required.includes(name) || random.whole(3) === 0);
  const known = names.map((name): [string, unknown] => [name, drawFitting(properties[name] ?? {}, random)]);
  const free = freeKeys(schema);
  const others = free === undefined ? [] : KEYS.filter((key) => isText(propertyNames, key) && random.whole(3) === 0);
  return Object.fromEntries([...known, ...others.map((key) => [key, drawFitting(free ?? {}, random)] as const)]);
}

/** Draws a value that fits the schema. */
export function drawFitting(schema: Schema, random: Random): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return pickFrom(random, schema.enum);
  const type = pickFrom(random, typesOf(schema)) ?? 'any';
  switch (type) {
    case 'string': {
      const word = pickFrom(random, wordsFor(schema));
      if (word === undefined) throw new Error(`no known text fits ${JSON.stringify(schema)}`);
      return word;
    }
    case 'integer':
    case 'number':
      return drawNumber(schema, random);
    case 'boolean':
      return random.whole(2) === 0;
    case 'array':
      return drawList(schema, random);
    case 'null':
      return null;
    case 'object':
      return drawObject(schema, random);
    default:
      return pickFrom<unknown>(random, ['text', 5, true, { inner: 'text' }, ['text']]);
  }
}
