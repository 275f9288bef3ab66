/** The schemas of the CustomResourceDefinitions: values that fit them, and what the API server would say of a value. */
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { parse } from 'yaml';
import type { FuzzInput } from './target.ts';

/** The parts of an OpenAPI schema that these definitions use. */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly FuzzInput[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

interface Definition {
  readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[] };
}

/** The schema of a CustomResourceDefinition of manifests/crds. */
export function schemaOf(kind: 'nodemaintenance' | 'evictionrequest'): Schema {
  const file = new URL(`../../manifests/crds/${kind}.yaml`, import.meta.url);
  const { spec } = parse(readFileSync(file, 'utf8')) as Definition;
  return spec.versions[0]?.schema.openAPIV3Schema ?? {};
}

/** A part of a schema. */
export function part(schema: Schema, ...path: readonly string[]): Schema {
  return path.reduce((at, name) => (name === '[]' ? at.items : at.properties?.[name]) ?? {}, schema);
}

/** Without the year 0, which metav1.Time has for no time. */
const DATE_TIME = /^(?!0000)\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

/** Times that a date-time may be, as far from the present as the API server takes. */
const TIMES = fc.oneof(
  fc.constantFrom(
    '9999-12-31T23:59:59-12:00',
    '0001-01-01T00:00:00+14:00',
    '1754-08-30T22:43:41Z',
    '9999-12-31T23:59:59Z',
  ),
  fc.integer({ min: -3_600, max: 3_600 }).map((sec) => new Date(Date.UTC(2026, 6, 1, 12) + sec * 1000).toISOString()),
  fc
    .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
    .map((date) => date.toISOString()),
);

/** Words that the patterns of the definitions take. */
const NAMES = ['a', 'a.example.com', 'kubelet.k8s.io', 'imperative-eviction.k8s.io', 'example.com/key', 'Reason'];

function text({ format, pattern, maxLength = 40, minLength = 0 }: Schema): fc.Arbitrary<string> {
  if (format === 'date-time') return TIMES;
  if (pattern !== undefined) {
    const known = NAMES.filter((name) => new RegExp(pattern).test(name));
    return known.length > 0 ? fc.constantFrom(...known) : fc.stringMatching(new RegExp(pattern), { maxLength });
  }
  return fc
    .oneof(
      fc.constantFrom('', 'n1', 'n2', 'app', 'p', 'x'),
      fc.string({ unit: 'binary', maxLength: Math.min(30, maxLength) }),
    )
    .filter((value) => value.length >= minLength);
}

function number({ type, format, minimum, maximum }: Schema): fc.Arbitrary<number> {
  const bound = format === 'int32' ? 2 ** 31 : 2 ** 53;
  const [min, max] = [minimum ?? -bound, maximum ?? bound - 1];
  const any = fc.oneof(
    fc.integer({ min: Math.max(min, -10), max: Math.min(max, 2_000_000_000) }),
    fc.constantFrom(min, max),
  );
  return type === 'number' ? fc.oneof(any, fc.double({ noNaN: true, min, max })) : any;
}

/** The fields in which the entries of a list differ; none for a list of values that differ, undefined for any list. */
function mapKeys(schema: Schema): readonly string[] | undefined {
  return schema['x-kubernetes-list-type'] === 'set' ? [] : schema['x-kubernetes-list-map-keys'];
}

function keyOf(item: unknown, keys: readonly string[]): string {
  if (keys.length === 0) return JSON.stringify(item);
  return JSON.stringify(keys.map((key) => (item as Record<string, unknown>)[key] ?? null));
}

/** Values that fit a schema, small ones mostly. */
export function fitting(schema: Schema): fc.Arbitrary<FuzzInput> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (schema.type ?? 'object') {
    case 'string':
      return text(schema);
    case 'integer':
    case 'number':
      return number(schema);
    case 'boolean':
      return fc.boolean();
    case 'array': {
      const items = fitting(schema.items ?? {});
      const size = { minLength: schema.minItems ?? 0, maxLength: Math.min(4, schema.maxItems ?? 4) };
      const keys = mapKeys(schema);
      if (keys === undefined) return fc.array(items, size);
      return fc.uniqueArray(items, { ...size, selector: (item) => keyOf(item, keys) });
    }
    default: {
      if (schema.additionalProperties !== undefined)
        return fc.dictionary(fc.constantFrom('app', 'tier', 'a/b'), fitting(schema.additionalProperties), {
          maxKeys: 2,
        });
      const fields = Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, inner]) => [name, fitting(inner)]),
      );
      return fc.record(fields, { requiredKeys: [...(schema.required ?? [])] });
    }
  }
}

/** What the API server would refuse of a value, by the schema alone; `place` begins each sentence. */
export function violations(schema: Schema, value: unknown, place: string): readonly string[] {
  const found: string[] = [];
  const say = (wrong: boolean, what: string): void => {
    if (wrong) found.push(`${place} ${what}`);
  };
  if (schema.enum !== undefined) say(!schema.enum.includes(value as FuzzInput), `is ${String(value)}`);
  if (typeof value === 'string') {
    say(schema.type !== 'string', 'is a string');
    say(
      schema.format === 'date-time' && (!DATE_TIME.test(value) || Number.isNaN(Date.parse(value))),
      `is no date-time: ${value}`,
    );
    say(Array.from(value).length > (schema.maxLength ?? Infinity), `is longer than ${schema.maxLength}`);
    say(Array.from(value).length < (schema.minLength ?? 0), 'is too short');
    say(schema.pattern !== undefined && !new RegExp(schema.pattern).test(value), `is ${value}`);
  } else if (typeof value === 'number') {
    say(schema.type !== 'integer' && schema.type !== 'number', 'is a number');
    say(schema.type === 'integer' && !Number.isSafeInteger(value), `is ${value}`);
    say(schema.format === 'int32' && Math.abs(value) > 2 ** 31, `is ${value}`);
    say(value < (schema.minimum ?? -Infinity) || value > (schema.maximum ?? Infinity), `is ${value}`);
  } else if (Array.isArray(value)) {
    say(schema.type !== 'array', 'is a list');
    say(value.length > (schema.maxItems ?? Infinity), `has ${value.length} entries`);
    say(value.length < (schema.minItems ?? 0), `has ${value.length} entries`);
    const keys = mapKeys(schema);
    const differing = new Set(value.map((item) => keyOf(item, keys ?? [])));
    say(keys !== undefined && differing.size < value.length, 'has entries of the same key');
    for (const [index, inner] of value.entries())
      found.push(...violations(schema.items ?? {}, inner, `${place}[${index}]`));
  } else if (typeof value === 'object' && value !== null) {
    for (const name of schema.required ?? []) say(!(name in value), `lacks ${name}`);
    for (const [name, inner] of Object.entries(value)) {
      const own = schema.properties?.[name] ?? schema.additionalProperties;
      if (own !== undefined && inner !== undefined) found.push(...violations(own, inner, `${place}.${name}`));
    }
  } else say(value === null, 'is null');
  return found;
}
