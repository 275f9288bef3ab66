import { setTimeout as delay } from 'node:timers/promises';
import type { KubeObject } from '../api/meta.ts';
import { EVICTION_REQUEST_API_VERSION, NODE_MAINTENANCE_API_VERSION } from '../api/names.ts';
import { NodemaintError } from '../errors.ts';
import { printable } from '../printable.ts';
import type { KubeClient, KubeRequest, KubeResponse } from './client.ts';

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

/** Longer answers of a server are cut to this many characters. */
const MAX_MESSAGE = 4_096;

/** The message of a metav1.Status on one line, bounded, or the HTTP status where there is none. */
export function statusMessage(response: KubeResponse): string {
  const body = response.body as { message?: unknown } | null;
  return typeof body?.message === 'string' ? printable(body.message.slice(0, MAX_MESSAGE)) : `HTTP ${response.status}`;
}

/** One of details.causes of a metav1.Status. */
interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** The causes of a metav1.Status; none where it has none. */
export function statusCauses(response: KubeResponse): readonly StatusCause[] {
  const body = response.body as { details?: { causes?: unknown } } | null;
  const causes = body?.details?.causes;
  return Array.isArray(causes) ? (causes as StatusCause[]) : [];
}

/**
 * The HTTP status of an answer, and 409 where a patch names the UID of an object that was replaced since: the API server calls
 * such a patch invalid (422), because a UID may not change.
 */
export function answeredStatus(response: KubeResponse): number {
  const isReplaced = response.status === 422 && statusCauses(response).some(({ field }) => field === 'metadata.uid');
  return isReplaced ? 409 : response.status;
}

/** How long the API server asks its client to wait, in milliseconds; undefined where it does not say. */
export function retryAfterMs({ headers }: KubeResponse): number | undefined {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** A request that the API server has no time for is sent so many times, with pauses of at most so long. */
const BUSY = { tries: 4, pauseMs: 5_000 };

/** The answer to a request, which is sent again as the API server asks where it is busy (as client-go does for Retry-After). */
async function answerOf(client: KubeClient, request: KubeRequest, signal: AbortSignal): Promise<KubeResponse> {
  for (let tries = 1; ; tries += 1) {
    const response = await client.send(request, signal);
    const pauseMs = response.status === 429 || response.status === 503 ? retryAfterMs(response) : undefined;
    if (pauseMs === undefined || tries === BUSY.tries) return response;
    await delay(Math.min(pauseMs, BUSY.pauseMs), undefined, { signal });
  }
}

/**
 * Sends a request that is expected to succeed, and returns the object. Returns undefined for the statuses in `absent`
 * (typically 404, 409); throws API_REFUSED with the server's own words for every other failure.
 */
export async function sendForObject<T>(
  client: KubeClient,
  request: KubeRequest,
  absent: readonly number[],
  signal: AbortSignal,
): Promise<T | undefined> {
  const response = await answerOf(client, request, signal);
  if (absent.includes(answeredStatus(response))) return undefined;
  if (response.status >= 200 && response.status < 300) return response.body as T;
  throw new NodemaintError(
    'API_REFUSED',
    `the API server refused ${request.method} ${request.path}: ${statusMessage(response)}`,
    { status: response.status },
  );
}
