import { CANCELED, EVICTED, type EvictionRequest, PROGRESSING } from '../../api/eviction-request.ts';
import { EVICTION_REQUEST_API_VERSION } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { decideLabels, labelsText } from '../../decide/eviction/labels.ts';
import { isMarked, isTakenOver } from '../../decide/eviction/imperative.ts';
import { decideEvictionRequest, type EvictionDecision, finishedAt, isFinished } from '../../decide/eviction/request.ts';
import { writeMark } from '../../kube/eviction/evict-mark.ts';
import { deleteRequest } from '../../kube/eviction/requester-entry.ts';
import { timeOf } from '../../decide/time.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { createRecentWrites, type RecentWrites } from '../../kube/read-your-writes.ts';
import { EVICTION_REQUESTS, objectPath, PODS, sendForObject, keyOf } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';
import { requestKeyOf } from '../cache/pods.ts';
import { actsWhileInactive } from '../spent-requests.ts';

/** The field manager of the labels that are copied from the pod, so that a label which the pod loses is removed again. */
const LABEL_MANAGER = 'evictionrequest-labels';

/** The request as the subject of an Event; the objects of a list lack their kind. */
export function subjectOf(request: EvictionRequest): EvictionRequest & { apiVersion: string; kind: string } {
  return { ...request, apiVersion: EVICTION_REQUEST_API_VERSION, kind: 'EvictionRequest' };
}

/** What the controller knows of the target of a request. */
interface TargetNote {
  /** The UID of the request: of a namesake that took its place nothing is known. */
  readonly of: string | undefined;
  /** The labels that were applied last. */
  applied?: string;
  /** Whether our copy has shown the target, so that its absence there means that it is gone. */
  seen: boolean;
}

/** The notes, by the keys of the requests. */
type TargetNotes = Map<string, TargetNote>;

/** What the steps of a request share. */
interface Scope {
  readonly context: ControllerContext;
  readonly notes: TargetNotes;
}

/** The note of the request, empty at first. */
export function noteOf(notes: TargetNotes, request: EvictionRequest): TargetNote {
  const key = keyOf(request);
  const known = notes.get(key);
  if (known !== undefined && known.of === request.metadata.uid) return known;
  const fresh = { of: request.metadata.uid, seen: false };
  notes.set(key, fresh);
  return fresh;
}

/**
 * The target: from our copy, or read from the API server while the copy has never shown it. The copy may be late, and a
 * new pod must not be taken for one that is gone.
 */
async function findPod(scope: Scope, request: EvictionRequest, signal: AbortSignal): Promise<Pod | undefined> {
  const { context } = scope;
  const { name, uid } = request.spec.target.pod;
  const { namespace } = request.metadata;
  const known = context.pods.get(`${namespace}/${name}`);
  const noted = noteOf(scope.notes, request);
  if (known?.metadata.uid === uid) noted.seen = true;
  if (noted.seen) return known;
  const path = objectPath(PODS, { name, namespace: namespace ?? '' });
  return await sendForObject<Pod>(context.client, { method: 'GET', path }, [404], signal);
}

/** Label synchronization (KEP-4563); returns the request as it is then. */
async function synchronizeLabels(
  scope: Scope,
  request: EvictionRequest,
  pod: Pod,
  signal: AbortSignal,
): Promise<EvictionRequest> {
  const { wanted, annotations, differs, hasOthers } = decideLabels(request, pod);
  const { name, namespace, uid = '' } = request.metadata;
  const text = labelsText(wanted);
  const noted = noteOf(scope.notes, request);
  if (!differs && (!hasOthers || noted.applied === text)) return request;
  const body = {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name, namespace, uid, labels: wanted, annotations },
  };
  const path = objectPath(EVICTION_REQUESTS, request.metadata);
  const patch = { kind: 'apply', manager: LABEL_MANAGER } as const;
  const change = { method: 'PATCH', path, body, patch } as const;
  const fresh = await sendForObject<EvictionRequest>(scope.context.client, change, [404, 409], signal);
  if (fresh !== undefined) noted.applied = text;
  return fresh ?? request;
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
  notes: TargetNotes = new Map(),
): Reconcile {
  const scope = { context, notes };
  const step: Reconcile = async (key, signal) => {
    const copy = context.requests.get(key);
    if (copy === undefined || isFinished(copy)) writes.forget(key);
    let request = writes.latest(key, copy);
    if (request === undefined) notes.delete(key);
    if (request === undefined) return {};
    const endedAt = finishedAt(request);
    const pod = endedAt === undefined ? await findPod(scope, request, signal) : undefined;
    if (pod !== undefined && pod.metadata.uid === request.spec.target.pod.uid) {
      request = await synchronizeLabels(scope, request, pod, signal);
    }
    const decision = decideEvictionRequest(request, pod, context.clock.now());
    const written = await write(context, request, decision, signal);
    if (written !== undefined) writes.note(key, copy, written);
    if (endedAt !== undefined) {
      notes.delete(key);
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
