import type { KubeObject } from '../../src/api/meta.ts';

/** What a program sees of a cluster that many plans share: the objects of its own plan. */
export interface Scope {
  readonly namespace: string;
  /** A label selector of the plan's objects that have no namespace; none for a program that limits these itself. */
  readonly selector?: string;
  /** Whether an object that has no namespace is of the plan, where no selector tells. */
  owns(object: KubeObject): boolean;
}

const COLLECTION = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)\/([a-z]+)(?:\?(.*))?$/;
const WITHOUT_NAMESPACE = new Set(['nodes', 'nodemaintenances', 'volumeattachments']);

/** The resource of a list or watch over all namespaces; undefined where the path is another one. */
export function collectionOf(path: string): string | undefined {
  return COLLECTION.exec(path)?.[2];
}

/** The path of a list or watch over the whole cluster, limited to the plan; other paths stay as they are. */
export function scopedPath(path: string, { namespace, selector }: Pick<Scope, 'namespace' | 'selector'>): string {
  const [, root, resource, query] = COLLECTION.exec(path) ?? [];
  if (root === undefined || resource === undefined) return path;
  const search = new URLSearchParams(query);
  const place = WITHOUT_NAMESPACE.has(resource) ? resource : `namespaces/${namespace}/${resource}`;
  if (WITHOUT_NAMESPACE.has(resource) && selector !== undefined) {
    const own = search.get('labelSelector');
    search.set('labelSelector', own === null ? selector : `${own},${selector}`);
  }
  return `${root}/${place}${search.size === 0 ? '' : `?${search.toString()}`}`;
}

/** What a list and the watch that follows it have in common: the resource and the selectors. */
export function copyOf(path: string): string {
  const search = new URLSearchParams(path.split('?')[1]);
  const selectors = ['labelSelector', 'fieldSelector'].map((name) => search.get(name) ?? '');
  return [path.split('?')[0], ...selectors].join(' ');
}
