/** The parts of a schema that the four subjects use: OpenAPI of the custom resources, JSON Schema of the configuration and of the chart. */

/** A schema of one value. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly propertyNames?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

/** The keys, and the positions in lists, that lead to a value. */
export type Path = readonly (string | number)[];

/** An object as JSON has it. */
export type Json = Readonly<Record<string, unknown>>;

/** Whether a value is an object with keys. */
export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The types that a value of the schema may have. */
export function typesOf({ type, properties, items }: Schema): readonly string[] {
  if (type !== undefined) return typeof type === 'string' ? [type] : type;
  if (properties !== undefined) return ['object'];
  return items === undefined ? [] : ['array'];
}

/** The schema of the values of a free key; undefined where there may be none. */
export function freeKeys({ additionalProperties, properties }: Schema): Schema | undefined {
  if (typeof additionalProperties === 'object') return additionalProperties;
  return additionalProperties === false || properties !== undefined ? undefined : {};
}

/** The schema at a path, positions in lists included. */
export function schemaAt(schema: Schema, path: Path): Schema {
  return path.reduce<Schema>((at, key) => {
    if (typeof key === 'number') return at.items ?? {};
    return at.properties?.[key] ?? freeKeys(at) ?? {};
  }, schema);
}

/** The schema with what its references refer to in their places. */
export function withoutReferences(schema: unknown, definitions: Json = {}): unknown {
  if (Array.isArray(schema)) return schema.map((each) => withoutReferences(each, definitions));
  if (!isJson(schema)) return schema;
  const { $ref, $defs, ...rest } = schema;
  const known = isJson($defs) ? $defs : definitions;
  const inner = Object.entries(rest).map(([key, value]) => [key, withoutReferences(value, known)] as const);
  if (typeof $ref !== 'string') return Object.fromEntries(inner);
  const referred = withoutReferences(known[$ref.replace('#/$defs/', '')], known) as Json;
  return { ...referred, ...Object.fromEntries(inner) };
}
