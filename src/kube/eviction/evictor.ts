import type { Pod } from '../../api/pod.ts';
import type { EvictionAnswer } from '../../decide/eviction/api-answer.ts';
import { decideShorterEnd } from '../../decide/deadline/shorter-grace.ts';
import { rfc3339 } from '../../decide/time.ts';
import type { KubeClient } from '../client.ts';
import { objectPath, PODS } from '../resource.ts';
import { retryAfterMs, sendForObject, statusCauses, statusMessage } from '../request.ts';

/** What may be asked beside the end of the pod (DeleteOptions). */
export interface EndOptions {
  /** Seconds; the pod's own where absent. */
  readonly gracePeriodSeconds?: number;
}

/** The same for an eviction, which can also be tried: everything is checked, and nothing happens. */
interface EvictionOptions extends EndOptions {
  readonly dryRun?: readonly ['All'];
}

/**
 * Asks the Eviction API once for the end of this pod, and of no namesake (004, "How API-initiated eviction works").
 * Throws API_UNREACHABLE; every answer is an outcome.
 */
export async function postEviction(
  client: KubeClient,
  pod: Pod,
  { dryRun, ...options }: EvictionOptions,
  signal: AbortSignal,
): Promise<EvictionAnswer> {
  const { name, namespace, uid } = pod.metadata;
  const body = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace },
    // So that a namesake is never evicted.
    deleteOptions: { preconditions: { uid }, ...options },
  };
  // In the path, so that webhooks learn of it.
  const path = `${objectPath(PODS, pod.metadata, 'eviction')}${dryRun === undefined ? '' : '?dryRun=All'}`;
  const response = await client.send({ method: 'POST', path, body, behindWebhooks: true }, signal);
  const pauseMs = retryAfterMs(response);
  return {
    status: response.status,
    message: statusMessage(response),
    causes: statusCauses(response),
    ...(pauseMs === undefined ? {} : { retryAfterMs: pauseMs }),
  };
}

/** Deletes this pod, and no namesake. Returns whether it was there. Throws API_UNREACHABLE and API_REFUSED. */
export async function deletePod(
  client: KubeClient,
  pod: Pod,
  options: EndOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const preconditions = { uid: pod.metadata.uid };
  const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions, ...options };
  const request = { method: 'DELETE', path: objectPath(PODS, pod.metadata), body, behindWebhooks: true } as const;
  return (await sendForObject(client, request, [404, 409], signal)) !== undefined;
}

/**
 * Deletes a pod that its node had to end in spite of budgets, or without the API server: it has the condition that an eviction
 * sets, by which a Job does not count it as failed (upstream pkg/registry/core/pod/storage/eviction.go,
 * addConditionAndDeletePod). A server that refuses the condition does not keep the pod. `now` is in milliseconds since the epoch.
 * Returns whether it was there. Throws API_UNREACHABLE and API_REFUSED.
 */
export async function deleteDisrupted(
  client: KubeClient,
  pod: Pod,
  { now, ...options }: EndOptions & { readonly now: number },
  signal: AbortSignal,
): Promise<boolean> {
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'NodeMaintenance',
    message: 'The node goes down.',
    lastTransitionTime: rfc3339(now),
  };
  // The UID is a precondition: a namesake is left alone.
  const body = { metadata: { uid: pod.metadata.uid }, status: { conditions: [condition] } };
  const path = objectPath(PODS, pod.metadata, 'status');
  await client.send({ method: 'PATCH', path, body, patch: { kind: 'strategic' }, behindWebhooks: true }, signal);
  return await deletePod(client, pod, options, signal);
}

/**
 * Deletes a terminating pod again where it would end later than `options` allow; `now` is in milliseconds since the epoch.
 * Returns whether it did. Throws API_UNREACHABLE and API_REFUSED.
 */
export async function shortenEnd(
  client: KubeClient,
  pod: Pod,
  { options, now }: { readonly options: EndOptions; readonly now: number },
  signal: AbortSignal,
): Promise<boolean> {
  const gracePeriodSeconds = decideShorterEnd(pod, options.gracePeriodSeconds, now);
  if (gracePeriodSeconds === undefined) return false;
  await deletePod(client, pod, { gracePeriodSeconds }, signal);
  return true;
}
