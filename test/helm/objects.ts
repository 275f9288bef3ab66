/** The objects that Helm and kustomize print, by kind and name, so that both can be compared. */
import { parseAllDocuments } from 'yaml';

/** What every object has. */
export interface PrintedObject {
  readonly [field: string]: unknown;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** What a List has, and no other object. */
interface PrintedList {
  readonly items?: readonly PrintedObject[];
}

/** kustomize doubles line breaks in some folded texts, which no expression notices. */
function squeeze(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.trim().replaceAll(/\n+/g, '\n') : value;
}

/** Objects by kind, namespace and name, also those of a List. */
export function objectsOf(text: string): ReadonlyMap<string, PrintedObject> {
  const documents = parseAllDocuments(text).map((document) => document.toJS() as (PrintedObject & PrintedList) | null);
  const present = documents.flatMap(
    (object): readonly PrintedObject[] => object?.items ?? (object === null ? [] : [object]),
  );
  return new Map(
    present.map((object) => [
      `${object.kind} ${object.metadata.namespace ?? ''}/${object.metadata.name}`,
      JSON.parse(JSON.stringify(object, squeeze)) as PrintedObject,
    ]),
  );
}

/** The labels that the objects of every chart have; that of kustomize's objects is app.kubernetes.io/part-of. */
export const CHART_LABELS: readonly string[] = [
  'app.kubernetes.io/instance',
  'app.kubernetes.io/managed-by',
  'app.kubernetes.io/version',
  'helm.sh/chart',
];

/** The objects that a chart prints, without the labels that only a chart gives them. */
export function withoutChartLabels(objects: ReadonlyMap<string, PrintedObject>): ReadonlyMap<string, PrintedObject> {
  return new Map(
    [...objects].map(([key, object]): [string, PrintedObject] => {
      const labels = Object.entries(object.metadata.labels ?? {}).filter(([name]) => !CHART_LABELS.includes(name));
      return [key, { ...object, metadata: { ...object.metadata, labels: Object.fromEntries(labels) } }];
    }),
  );
}
