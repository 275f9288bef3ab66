import { CANCELED, EVICTED, type EvictionRequest, PROGRESSING } from '../../api/eviction-request.ts';
import { EVICTION_REQUEST_API_VERSION } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { decideLabels } from '../../decide/eviction/metadata.ts';
import { isMarked, isTakenOver } from '../../decide/eviction/imperative.ts';
import { decideEvictionRequest, type EvictionDecision, finishedAt, isFinished } from '../../decide/eviction/request.ts';
import { writeMark } from '../../kube/eviction/evict-mark.ts';
import { deleteRequest } from '../../kube/eviction/requester-entry.ts';
import { timeOf } from '../../decide/time.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { createRecentWrites, type RecentWrites } from '../../kube/read-your-writes.ts';
import { EVICTION_REQUESTS, objectPath, PODS, keyOf } from '../../kube/resource.ts';
import { sendForObject } from '../../kube/request.ts';
import type { ControllerContext } from '../context.ts';
import { requestKeyOf } from '../cache/pods.ts';
import { actsWhileInactive } from '../spent-requests.ts';

/** The field manager of the labels that are copied from the pod, so that a label which the pod loses is removed again. */
const LABEL_MANAGER = 'evictionrequest-labels';

/** The request as the subject of an Event; the objects of a list lack their kind. */
export function subjectOf(request: EvictionRequest): EvictionRequest & { apiVersion: string; kind: string } {
  return { ...request, apiVersion: EVICTION_REQUEST_API_VERSION, kind: 'EvictionRequest' };
}

/** The UIDs of the requests whose target our copy has shown, by their keys: its absence there means that it is gone. */
type SeenTargets = Map<string, string | undefined>;

/**
 * The target: from our copy, or read from the API server while the copy has never shown it. The copy may be late, and a
 * new pod must not be taken for one that is gone.
 */
async function findPod(
  context: ControllerContext,
  seen: SeenTargets,
  request: EvictionRequest,
  signal: AbortSignal,
): Promise<Pod | undefined> {
  const { name, uid } = request.spec.target.pod;
  const { namespace } = request.metadata;
  const known = context.pods.get(`${namespace}/${name}`);
  const key = keyOf(request);
  if (known?.metadata.uid === uid) seen.set(key, request.metadata.uid);
  // Nothing is known of a namesake that took the place of the request.
  if (seen.has(key) && seen.get(key) === request.metadata.uid) return known;
  const path = objectPath(PODS, { name, namespace: namespace ?? '' });
  return await sendForObject<Pod>(context.client, { method: 'GET', path }, [404], signal);
}

/**
 * Label synchronization (KEP-4563); returns the request as it is then. Which of the other labels the pod has lost is what the API
 * server knows: with labels of a user's own, an apply may change nothing.
 */
async function synchronizeLabels(
  { client }: ControllerContext,
  request: EvictionRequest,
  pod: Pod,
  signal: AbortSignal,
): Promise<EvictionRequest> {
  const { wanted, annotations, differs, hasOthers } = decideLabels(request, pod);
  const { name, namespace, uid = '' } = request.metadata;
  if (!differs && !hasOthers) return request;
  const body = {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name, namespace, uid, labels: wanted, annotations },
  };
  const path = objectPath(EVICTION_REQUESTS, request.metadata);
  const patch = { kind: 'apply', manager: LABEL_MANAGER } as const;
  const change = { method: 'PATCH', path, body, patch } as const;
  return (await sendForObject<EvictionRequest>(client, change, [404, 409], signal)) ?? request;
}

/** How the request ends with this status; undefined where it goes on. */
function outcomeOf({ conditions = [] }: NonNullable<EvictionDecision['status']>): 'evicted' | 'canceled' | undefined {
  const isTrue = (wanted: string): boolean =>
    conditions.some(({ type, status }) => type === wanted && status === 'True');
  return isTrue(EVICTED) ? 'evicted' : isTrue(CANCELED) ? 'canceled' : undefined;
}

/** Writes what was decided of the request, and an Event for each step that people should know of; returns the request as it is then. */
async function write(
  { client, clock, events, log, metrics }: ControllerContext,
  request: EvictionRequest,
  decision: EvictionDecision,
  signal: AbortSignal,
): Promise<EvictionRequest | undefined> {
  const { status } = decision;
  if (status === undefined) return undefined;
  // The version guards against a decision from an old copy: a conflict is answered by a newer event.
  const body = { metadata: { resourceVersion: request.metadata.resourceVersion }, status };
  const path = objectPath(EVICTION_REQUESTS, request.metadata, 'status');
  // Where an interceptor becomes active, it waits for this write.
  const isBeginning = (status.activeInterceptors ?? []).length > 0;
  const patience = isBeginning ? {} : ({ patient: true } as const);
  const change = { method: 'PATCH', path, body, patch: { kind: 'merge' }, ...patience } as const;
  const done = await sendForObject<EvictionRequest>(client, change, [404, 409], signal);
  if (done === undefined) return undefined;
  if (status.targetInterceptors !== undefined) metrics.begun.inc();
  const outcome = finishedAt(request) === undefined ? outcomeOf(status) : undefined;
  const since = timeOf(request.metadata.creationTimestamp);
  if (outcome !== undefined && since !== undefined) {
    metrics.ended.observe({ outcome }, Math.max(0, (clock.now() - since) / 1000));
  }
  const progress = status.conditions?.find(({ type }) => type === PROGRESSING);
  const pod = request.spec.target.pod.name;
  log.info({ request: keyOf(request), pod, progress: progress?.message }, 'eviction request moved on');
  for (const text of decision.events) events.record(subjectOf(request), text);
  return done;
}

/** Deletes a finished request that its requesters leave behind, `requestTtl` after its end. Returns when to call this again, in milliseconds. */
async function collect(
  { client, clock, log, options }: ControllerContext,
  request: EvictionRequest,
  endedAt: number,
  signal: AbortSignal,
): Promise<number> {
  const leftMs = endedAt + options.requestTtl - clock.now();
  if (leftMs > 0) return leftMs;
  await deleteRequest(client, request, signal);
  log.info({ request: keyOf(request) }, 'deleted finished request');
  return options.requestTtl;
}

/**
 * Whether the pod has a mark for its controller although nobody requests its eviction any more (Pod Evict Policy). It goes by the
 * pod and by the requests for its UID, so that it does not matter which process set the mark.
 */
export function isMarkObsolete(context: ControllerContext, pod: Pod): boolean {
  // A pod without the policy was marked by somebody else.
  if (!isMarked(pod) || !isTakenOver(pod) || pod.metadata.deletionTimestamp !== undefined) return false;
  const request = context.requests.get(requestKeyOf(pod));
  if (request === undefined) return true;
  return isFinished(request) && !actsWhileInactive(context, 'Default', { request, pod });
}

/**
 * The EvictionRequest controller (KEP-4563, "Eviction Request Controller"): one step of one request, and of the mark of its pod.
 * `writes` are those that our copies do not show yet.
 */
export function createEvictionRequestReconciler(
  context: ControllerContext,
  writes: RecentWrites<EvictionRequest> = createRecentWrites(),
  seen: SeenTargets = new Map(),
): Reconcile {
  const step: Reconcile = async (key, signal) => {
    const copy = context.requests.get(key);
    if (copy === undefined || isFinished(copy)) writes.forget(key);
    let request = writes.latest(key, copy);
    if (request === undefined) seen.delete(key);
    if (request === undefined) return {};
    const endedAt = finishedAt(request);
    const pod = endedAt === undefined ? await findPod(context, seen, request, signal) : undefined;
    if (pod !== undefined && pod.metadata.uid === request.spec.target.pod.uid) {
      request = await synchronizeLabels(context, request, pod, signal);
    }
    const decision = decideEvictionRequest(request, pod, context.clock.now());
    const written = await write(context, request, decision, signal);
    if (written !== undefined) writes.note(key, copy, written);
    if (endedAt !== undefined) {
      seen.delete(key);
      if (request.metadata.deletionTimestamp !== undefined) return {};
      return { againMs: await collect(context, request, endedAt, signal) };
    }
    return decision.againMs === undefined ? {} : { againMs: decision.againMs };
  };
  return async (key, signal) => {
    const again = await step(key, signal);
    const pod = context.pods.ofRequest(key);
    if (pod !== undefined && isMarkObsolete(context, pod)) await writeMark(context, pod, 'remove', signal);
    return again;
  };
}
