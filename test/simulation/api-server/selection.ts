/** Which objects a list or a watch has: its namespace, its label selector, its field selector. */
import type { KubeObject } from '../../../src/api/meta.ts';
import type { Place } from './kinds.ts';

type Test = (object: KubeObject) => boolean;

function valueAt(object: unknown, path: string): string {
  const value = path
    .split('.')
    .reduce<unknown>((each, name) => (each as Record<string, unknown> | undefined)?.[name], object);
  return typeof value === 'string' ? value : '';
}

/** One requirement on labels: `a=b`, `a`, `a in (b,c)`. */
function labelTest(text: string): Test {
  const [, key = '', values = ''] = /^([^ =]+)(?: in \(([^)]*)\))?$/.exec(text) ?? [];
  if (text.includes('=')) {
    const [name = '', value] = text.split('=');
    return ({ metadata }) => metadata.labels?.[name] === value;
  }
  if (values === '') return ({ metadata }) => metadata.labels?.[key] !== undefined;
  return ({ metadata }) => values.split(',').includes(metadata.labels?.[key] ?? '');
}

function testsOf(query: URLSearchParams): readonly Test[] {
  const labels = query.get('labelSelector')?.split(/,(?![^(]*\))/u) ?? [];
  const fields = query.get('fieldSelector')?.split(',') ?? [];
  const fieldTests = fields.map((text): Test => {
    const [path = '', value = ''] = text.split('=');
    return (object) => valueAt(object, path) === value;
  });
  return [...labels.map(labelTest), ...fieldTests];
}

/** Whether an object belongs to the place and fits the selectors of the query. */
export function selectionOf({ namespace }: Place, query: URLSearchParams): Test {
  const tests = testsOf(query);
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) && tests.every((test) => test(object));
}
