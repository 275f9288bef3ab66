import type { KubeObject } from '../api/meta.ts';
import { EVICTION_REQUEST_API_VERSION, NODE_MAINTENANCE_API_VERSION } from '../api/names.ts';

/** A resource of the API: where its objects live. */
export interface Resource {
  readonly root: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

export const NODE_MAINTENANCES: Resource = {
  root: `/apis/${NODE_MAINTENANCE_API_VERSION}`,
  plural: 'nodemaintenances',
  namespaced: false,
};
export const EVICTION_REQUESTS: Resource = {
  root: `/apis/${EVICTION_REQUEST_API_VERSION}`,
  plural: 'evictionrequests',
  namespaced: true,
};
export const PODS: Resource = { root: '/api/v1', plural: 'pods', namespaced: true };
export const DAEMON_SETS: Resource = { root: '/apis/apps/v1', plural: 'daemonsets', namespaced: true };
export const CONTROLLER_REVISIONS: Resource = {
  root: '/apis/apps/v1',
  plural: 'controllerrevisions',
  namespaced: true,
};
export const EVENTS: Resource = { root: '/api/v1', plural: 'events', namespaced: true };
export const DISRUPTION_BUDGETS: Resource = {
  root: '/apis/policy/v1',
  plural: 'poddisruptionbudgets',
  namespaced: true,
};
export const LEASES: Resource = { root: '/apis/coordination.k8s.io/v1', plural: 'leases', namespaced: true };
export const NODES: Resource = { root: '/api/v1', plural: 'nodes', namespaced: false };

/** The key of an object in a cache and in a queue: NAMESPACE/NAME, or NAME. */
export function keyOf({ metadata: { namespace, name } }: KubeObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** The field selector of the pods of a node. */
export function onNode(nodeName: string): string {
  return `spec.nodeName=${nodeName}`;
}

/** The path of a whole resource over all namespaces, or of one namespace. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const middle = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${resource.root}${middle}/${resource.plural}`;
}

/** The path of one object, with a subresource where one is named. */
export function objectPath(resource: Resource, meta: KubeObject['metadata'], subresource?: string): string {
  const collection = collectionPath(resource, resource.namespaced ? (meta.namespace ?? 'default') : undefined);
  const tail = subresource === undefined ? '' : `/${subresource}`;
  return `${collection}/${encodeURIComponent(meta.name)}${tail}`;
}
