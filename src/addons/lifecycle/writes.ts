/** The writes of the controller of Evictions. A status is written only into the object as it was judged. */
import {
  type Eviction,
  type EvictionStatus,
  LIFECYCLE_API_VERSION,
  type LifecycleRequest,
  type PodReference,
} from '../../api/lifecycle.ts';
import type { KubeObject, ObjectMeta } from '../../api/meta.ts';
import type { KubeClient } from '../../kube/client.ts';
import { readEviction, readLifecycleRequest } from '../../kube/lifecycle/parse.ts';
import { EVICTIONS, LIFECYCLE_REQUESTS } from '../../kube/lifecycle/resources.ts';
import { collectionPath, objectPath, type Resource, sendForObject } from '../../kube/resource.ts';
import type { Participants } from './decide/requesters.ts';

/** Not the name that Kubernetes' own controller has: a person sees who wrote what. */
const MANAGER = 'nodemaint-lifecycle';

interface Change {
  readonly resource: Resource;
  readonly metadata: ObjectMeta;
  readonly subresource?: 'status';
  readonly body: object;
}

/** Undefined where the object is gone, or has changed since it was judged. */
async function change(
  client: KubeClient,
  { resource, metadata, subresource, body }: Change,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const path = `${objectPath(resource, metadata, subresource)}?fieldManager=${MANAGER}`;
  const patch = { kind: 'merge' } as const;
  return await sendForObject<KubeObject>(client, { method: 'PATCH', path, body, patch }, [404, 409], signal);
}

/** Writes fields of the status of an Eviction. Returns the Eviction after it, or undefined. */
export async function writeEvictionStatus(
  client: KubeClient,
  { metadata }: Eviction,
  status: EvictionStatus,
  signal: AbortSignal,
): Promise<Eviction | undefined> {
  const body = { metadata: { resourceVersion: metadata.resourceVersion }, status };
  const fresh = await change(client, { resource: EVICTIONS, metadata, subresource: 'status', body }, signal);
  return fresh === undefined ? undefined : readEviction(fresh).read;
}

/** Writes the labels and owners of an Eviction; labels that it has and that are not among them are taken away. Returns the Eviction after it, or undefined. */
export async function writeParticipants(
  client: KubeClient,
  { metadata }: Eviction,
  participants: Participants,
  signal: AbortSignal,
): Promise<Eviction | undefined> {
  const taken = Object.fromEntries(Object.keys(metadata.labels ?? {}).map((name) => [name, null]));
  const labels = { ...taken, ...participants.labels };
  const body = { metadata: { resourceVersion: metadata.resourceVersion, ...participants, labels } };
  const fresh = await change(client, { resource: EVICTIONS, metadata, body }, signal);
  return fresh === undefined ? undefined : readEviction(fresh).read;
}

/** Writes fields of the status of an EvictionRequest. Returns the request after it, or undefined. */
export async function writeRequestStatus(
  client: KubeClient,
  { metadata }: LifecycleRequest,
  status: NonNullable<LifecycleRequest['status']>,
  signal: AbortSignal,
): Promise<LifecycleRequest | undefined> {
  const body = { metadata: { resourceVersion: metadata.resourceVersion }, status };
  const fresh = await change(client, { resource: LIFECYCLE_REQUESTS, metadata, subresource: 'status', body }, signal);
  return fresh === undefined ? undefined : readLifecycleRequest(fresh).read;
}

/** An Eviction to be created. */
interface EvictionDraft {
  readonly name: string;
  readonly namespace: string;
  readonly target: PodReference;
  readonly participants: Participants;
}

/**
 * Creates an Eviction. Where its name is taken, the Eviction that has it is returned, whose target may be another one;
 * undefined where it is gone again.
 */
export async function createEviction(
  client: KubeClient,
  { name, namespace, target, participants }: EvictionDraft,
  signal: AbortSignal,
): Promise<Eviction | undefined> {
  const metadata = { name, namespace, ...participants };
  const body = { apiVersion: LIFECYCLE_API_VERSION, kind: 'Eviction', metadata, spec: { target: { pod: target } } };
  const path = `${collectionPath(EVICTIONS, namespace)}?fieldManager=${MANAGER}`;
  const made = await sendForObject<KubeObject>(client, { method: 'POST', path, body }, [409], signal);
  if (made !== undefined) return readEviction(made).read;
  const get = { method: 'GET', path: objectPath(EVICTIONS, metadata) } as const;
  const found = await sendForObject<KubeObject>(client, get, [404], signal);
  return found === undefined ? undefined : readEviction(found).read;
}

/** Deletes this very Eviction. */
export async function deleteEviction(client: KubeClient, { metadata }: Eviction, signal: AbortSignal): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: metadata.uid } };
  const path = objectPath(EVICTIONS, metadata);
  await sendForObject(client, { method: 'DELETE', path, body }, [404, 409], signal);
}
