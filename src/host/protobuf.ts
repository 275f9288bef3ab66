/**
 * Descriptions of protobuf messages and services in the JSON form of their .proto files, which proto-loader's `fromJSON` takes.
 * A message needs only the fields that are read: protobuf skips the others.
 */

type Field = { readonly type: string; readonly id: number; readonly rule?: 'repeated'; readonly keyType?: string };
type Message = { readonly fields: Readonly<Record<string, Field>> };

/** A field with its type and its number in the .proto file. */
export function field(type: string, id: number): Field {
  return { type, id };
}

/** A list of values. */
export function repeated(type: string, id: number): Field {
  return { rule: 'repeated', type, id };
}

/** A map from strings to strings. */
export function stringMap(id: number): Field {
  return { keyType: 'string', type: 'string', id };
}

/** A message with these fields. */
export function message(fields: Readonly<Record<string, Field>>): Message {
  return { fields };
}

/** A method whose messages are named after it, with the endings Request and Response. */
export function method(name: string): { readonly requestType: string; readonly responseType: string } {
  return { requestType: `${name}Request`, responseType: `${name}Response` };
}
