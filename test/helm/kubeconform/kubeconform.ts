/** kubeconform, a linter of rendered objects, with the schemas that a real API server publishes. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { goProgram } from '../../support/go-program.ts';

/** The path of the kubeconform that go.mod pins, built once. */
export async function kubeconformBinary(signal: AbortSignal): Promise<string> {
  return await goProgram('kubeconform', import.meta.dirname, signal);
}

interface Schema {
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly properties?: object;
  readonly additionalProperties?: unknown;
}

interface OpenApi {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

/** The schema in which a field that nobody knows is a fault, as for an API server that validates strictly. */
function strict(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strict);
  if (typeof value !== 'object' || value === null) return value;
  const schema = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, strict(each)])) as Schema;
  const isOpen = schema.additionalProperties !== undefined || schema['x-kubernetes-preserve-unknown-fields'] === true;
  return typeof schema.properties === 'object' && !isOpen ? { ...schema, additionalProperties: false } : schema;
}

/** The file of a kind: to kubeconform the group of "v1" is "v1". */
function fileOf(group: string, version: string, kind: string): string {
  return `${kind}_${group === '' ? version : group}_${version}.json`.toLowerCase();
}

/** Writes a file for each kind of the API server, its custom resources too. Returns what kubeconform is to be told of them. */
export async function writeSchemas({ kubectl }: ControlPlane, folder: string): Promise<string> {
  await mkdir(folder);
  const index = JSON.parse(await kubectl(['get', '--raw', '/openapi/v3'])) as { paths: Record<string, unknown> };
  for (const name of Object.keys(index.paths)) {
    if (!/^apis?\/.*v\d/.test(name)) continue;
    const { components } = JSON.parse(await kubectl(['get', '--raw', `/openapi/v3/${name}`])) as OpenApi;
    const all = strict(components);
    for (const [key, schema] of Object.entries(components.schemas)) {
      const text = JSON.stringify({ $ref: `#/components/schemas/${key}`, components: all });
      for (const { group, version, kind } of schema['x-kubernetes-group-version-kind'] ?? [])
        await writeFile(path.join(folder, fileOf(group, version, kind)), text);
    }
  }
  // What is published of custom resources comes later, one kind after another; they have their schemas themselves.
  const crds = JSON.parse(await kubectl(['get', 'crd', '-o', 'json'])) as { items: readonly Definition[] };
  for (const { spec } of crds.items)
    for (const { name, schema } of spec.versions)
      await writeFile(
        path.join(folder, fileOf(spec.group, name, spec.names.kind)),
        JSON.stringify(strict(schema.openAPIV3Schema)),
      );
  return path.join(folder, '{{ .ResourceKind }}_{{ .Group }}_{{ .ResourceAPIVersion }}.json');
}

/** Checks these objects; rejects with kubeconform's words where one does not fit, or has no schema. Resolves to how many there were. */
export async function conform(text: string, schemas: string, signal: AbortSignal): Promise<number> {
  const args = ['-strict', '-summary', '-output', 'json', '-schema-location', schemas, '-'];
  const running = promisify(execFile)(await kubeconformBinary(signal), args, { signal, maxBuffer: 64 * 1024 * 1024 });
  running.child.stdin?.end(text);
  const { stdout } = await running.catch((error: unknown) => {
    throw new Error((error as { stdout?: string }).stdout ?? 'kubeconform', { cause: error });
  });
  return (JSON.parse(stdout) as { summary: { valid: number } }).summary.valid;
}
