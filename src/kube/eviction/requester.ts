import type { EvictionRequest } from '../../api/eviction-request.ts';
import { EVICTION_REQUEST_API_VERSION, EVICTION_REQUEST_GROUP } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import type { KubeClient, KubeRequest, KubeResponse } from '../client.ts';
import { missingName, notInstalled, refusal } from '../refusal.ts';
import { EVICTION_REQUESTS, objectPath, PODS, type Resource } from '../resource.ts';
import { answeredStatus } from '../request.ts';

/** Who asks for evictions, and where. */
interface RequesterScope {
  readonly namespace: string;
  /** The name of the requester entry, which is the field manager too. */
  readonly requester: string;
  /** Whether the server is to check everything and change nothing. */
  readonly dryRun: boolean;
}

/**
 * A requester of evictions (KEP-4563, "Eviction Requester"). Everything throws API_REFUSED with the server's own words
 * and the permission that is missing, or what to install; API_UNREACHABLE where no server answers.
 */
export interface RequesterClient {
  /** The pod of the name, if there is one. */
  findPod(name: string, signal: AbortSignal): Promise<Pod | undefined>;
  /** The request of the pod, if there is one. */
  findRequest(pod: Pod, signal: AbortSignal): Promise<EvictionRequest | undefined>;
  /** Sets the own entry, and makes the request where there is none; undefined where it changed in the meantime. */
  request(pod: Pod, known: EvictionRequest | undefined, signal: AbortSignal): Promise<EvictionRequest | undefined>;
  /** Takes the own entry back; undefined where the request is gone. */
  withdraw(known: EvictionRequest, signal: AbortSignal): Promise<EvictionRequest | undefined>;
  /** Deletes this very request; whether it did. With `unchanged`, only if nobody has written to it since it was read. */
  remove(known: EvictionRequest, unchanged: boolean, signal: AbortSignal): Promise<boolean>;
}

/** The body of an answer that brings an object; undefined where there is no such object. */
function bodyOf(response: KubeResponse, resource: Resource, name: string): unknown {
  if (response.status >= 200 && response.status < 300) return response.body;
  if (response.status !== 404) throw refusal(response);
  if (missingName(response) === name || resource === PODS) return undefined;
  throw notInstalled(resource, EVICTION_REQUEST_GROUP);
}

export function createRequesterClient(client: KubeClient, scope: RequesterScope): RequesterClient {
  const { namespace, requester } = scope;
  const dry = scope.dryRun ? '?dryRun=All' : '';

  const send = async <T>(
    resource: Resource,
    name: string,
    request: Omit<KubeRequest, 'path'>,
    signal: AbortSignal,
  ): Promise<T | 'conflict' | undefined> => {
    const query = request.method === 'GET' ? '' : dry;
    const response = await client.send({ ...request, path: objectPath(resource, { name, namespace }) + query }, signal);
    return answeredStatus(response) === 409 ? 'conflict' : (bodyOf(response, resource, name) as T | undefined);
  };

  const apply = async (
    metadata: object,
    target: EvictionRequest['spec']['target'],
    requesters: EvictionRequest['spec']['requesters'],
    signal: AbortSignal,
  ): Promise<EvictionRequest | undefined> => {
    const kind = { apiVersion: EVICTION_REQUEST_API_VERSION, kind: 'EvictionRequest' };
    const name = target.pod.uid;
    const body = { ...kind, metadata: { name, namespace, ...metadata }, spec: { target, requesters } };
    const patch = { kind: 'apply', manager: requester } as const;
    const done = await send<EvictionRequest>(EVICTION_REQUESTS, name, { method: 'PATCH', body, patch }, signal);
    return done === 'conflict' ? undefined : done;
  };

  const get = async <T>(resource: Resource, name: string, signal: AbortSignal): Promise<T | undefined> => {
    const found = await send<T>(resource, name, { method: 'GET' }, signal);
    return found === 'conflict' ? undefined : found;
  };

  return {
    findPod: (name, signal) => get<Pod>(PODS, name, signal),
    findRequest: ({ metadata: { uid = '' } }, signal) => get<EvictionRequest>(EVICTION_REQUESTS, uid, signal),
    request: ({ metadata: { name, uid = '' } }, known, signal) =>
      // The UID makes the write fail where the request was replaced since it was read.
      apply(
        known === undefined ? {} : { uid: known.metadata.uid },
        { pod: { name, uid } },
        [{ name: requester }],
        signal,
      ),
    withdraw: ({ metadata: { uid }, spec: { target } }, signal) => apply({ uid }, target, [], signal),
    remove: async ({ metadata: { name, uid, resourceVersion } }, unchanged, signal) => {
      const preconditions = unchanged ? { uid, resourceVersion } : { uid };
      // Where a DELETE has a body, the server does not look at the query.
      const dryRun = scope.dryRun ? { dryRun: ['All'] } : {};
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions, ...dryRun };
      const done = await send(EVICTION_REQUESTS, name, { method: 'DELETE', body }, signal);
      return done !== 'conflict' && done !== undefined;
    },
  };
}
