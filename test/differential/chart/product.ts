/** The chart, rendered by helm, and an API server that says what it takes of it. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import type { Helm } from '../../helm/helm.ts';
import { type Json, type Schema, withoutReferences } from '../schema/schema.ts';

/** An object as the chart renders it. */
export interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly items?: readonly Rendered[];
}

/** What the sequences of values need. */
export interface ChartProduct {
  readonly schema: Schema;
  /** The rendered objects by their kinds and names. Throws with the words of helm. */
  render(values: Json): Promise<ReadonlyMap<string, Rendered>>;
  /** Why the API server refuses these objects; empty where it accepts them. */
  refusal(objects: readonly Rendered[]): Promise<string>;
}

/** Kinds of other projects, which a cluster without them has not. */
const NOT_SERVED = ['PodMonitor', 'PrometheusRule'];
const NAMESPACES = ['nodemaint-system', 'nodemaint-installer'];

/** Opens the chart of a checkout. */
export async function openChart(
  root: string,
  { helm, folder, controlPlane }: { readonly helm: Helm; readonly folder: string; readonly controlPlane: ControlPlane },
): Promise<ChartProduct> {
  const chart = path.join(root, 'manifests', 'chart');
  const text = await readFile(path.join(chart, 'values.schema.json'), 'utf8');
  const schema = withoutReferences(JSON.parse(text)) as Schema;
  for (const name of NAMESPACES) {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(namespace));
  }
  let count = 0;
  return {
    schema,
    render: async (values) => {
      count += 1;
      const file = path.join(folder, `values-${count}.json`);
      await writeFile(file, JSON.stringify(values));
      try {
        const flags = ['--namespace', 'nodemaint-system', '--kube-version', '1.36.0', '--values', file];
        const text = await helm(['template', 'nodemaint', chart, ...flags]);
        const documents = parseAllDocuments(text).map((document) => document.toJS() as Rendered | null);
        const objects = documents.flatMap((object) => (object === null ? [] : (object.items ?? [object])));
        return new Map(
          objects.map((object) => [
            `${object.kind} ${object.metadata.namespace ?? ''}/${object.metadata.name}`,
            object,
          ]),
        );
      } finally {
        await rm(file);
      }
    },
    refusal: async (objects) => {
      const served = objects.filter(({ kind }) => !NOT_SERVED.includes(kind));
      if (served.length === 0) return '';
      const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: served });
      return await controlPlane.kubectl(['apply', '--dry-run=server', '-f', '-'], list).then(
        () => '',
        (error: unknown) => String(error),
      );
    },
  };
}
