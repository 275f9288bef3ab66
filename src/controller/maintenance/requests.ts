import type { EvictionRequest } from '../../api/eviction-request.ts';
import {
  DEADLINE_ANNOTATION,
  EVICTION_REQUEST_API_VERSION,
  INTERCEPTOR_DEADLINE_ANNOTATION,
  MAINTENANCE_REQUESTER,
  MAINTENANCE_UID_LABEL,
  NODE_LABEL,
} from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { copiedLabels, decideLabels, labelsText } from '../../decide/eviction/labels.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { isRequestedBy } from '../../decide/eviction/requester.ts';
import { isReplaceable } from '../../decide/eviction/spent-request.ts';
import { stageOf } from '../../decide/maintenance/maintenance.ts';
import { nodeAnnotation, nodeLabel } from '../../decide/node-label.ts';
import { type DrainPod, isInPodGroup } from '../../decide/pod.ts';
import { shortenEnd } from '../../kube/eviction/evictor.ts';
import { deleteRequest } from '../../kube/eviction/requester-entry.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { EVICTION_REQUESTS, keyOf, objectPath, sendForObject } from '../../kube/resource.ts';
import { podByUid } from '../cache/pods.ts';
import { createRequestNotes, type RequestNotes } from '../cache/request-notes.ts';
import type { ControllerContext } from '../context.ts';
import { deadlineAnnotations, graceOptions, hasDeadline } from '../deadline.ts';
import { createUndoneWrites, type UndoneWrites } from '../undone-writes.ts';
import { createRequestCleanup } from './request-cleanup.ts';
import type { GroupedEvictions } from '../eviction/grouped-pods.ts';
import type { EvictionIntent, EvictionIntents } from './wanted-evictions.ts';
import type { Refusals } from './refusals.ts';

/** For what no change tells: an end that a deadline shortens, a pod that lives on, a request deleted while the watch was away. */
const AGAIN_MS = 15_000;
/** In this time after a request was written its absence from our copy says nothing. */
const COPY_LATE_MS = 1_000;

/** What is remembered of a request: the labels that were applied with it last. */
interface Applied {
  labels?: string;
}

/** An intent, and the maintenance that has it. */
interface DrainIntent extends EvictionIntent {
  readonly maintenanceUid: string | undefined;
}

/** What the steps of a request share. */
interface Scope {
  readonly context: ControllerContext;
  readonly applied: RequestNotes<Applied>;
  readonly undone: UndoneWrites;
  /** When each request was written last, by its key, in milliseconds of the monotonic clock; none that we have deleted. */
  readonly written: Map<string, number>;
}

/**
 * Makes or keeps the EvictionRequest of a pod, with this controller's requester entry (KEP-4212, "Drain"). A new one has the
 * labels of its pod from the first, which would cost another write.
 */
async function requestEviction(
  { context, applied, written }: Scope,
  { node, pod, maintenanceUid }: DrainIntent,
  known: EvictionRequest | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (known !== undefined && (isFinished(known) || known.metadata.deletionTimestamp !== undefined)) {
    const target = podByUid(context.pods, pod);
    // It is over although its pod lives on, or names another pod: the pod is to leave by a new one.
    if (target === undefined || !isReplaceable(known, target, context.clock.now())) return;
    written.delete(keyOf(known));
    await deleteRequest(context.client, known, signal);
    return;
  }
  const { namespace, uid } = pod;
  const annotations = { ...deadlineAnnotations(context, pod, node, known), ...nodeAnnotation(node) };
  const present: Readonly<Record<string, string>> = known?.metadata.annotations ?? {};
  // A deadline that is gone must not cut interceptors short: the apply without it takes its annotations away.
  const isCurrent = [DEADLINE_ANNOTATION, INTERCEPTOR_DEADLINE_ANNOTATION, ...Object.keys(annotations)].every(
    (key) => present[key] === (annotations as typeof present)[key],
  );
  const target = podByUid(context.pods, pod);
  // That of the maintenance that asked first.
  const asker = known?.metadata.labels?.[MAINTENANCE_UID_LABEL] ?? maintenanceUid;
  const own = { [NODE_LABEL]: nodeLabel(node), ...(asker === undefined ? {} : { [MAINTENANCE_UID_LABEL]: asker }) };
  const labels = { ...(target === undefined ? {} : copiedLabels(target)), ...own };
  const text = labelsText(labels);
  if (known !== undefined && isCurrent && isRequestedBy(known, MAINTENANCE_REQUESTER)) {
    // The apply takes away labels that it set before and that the pod no longer has.
    const mayHaveOld = target !== undefined && decideLabels(known, target).hasOthers;
    if (!mayHaveOld || applied.of(known).labels === text) return;
  }
  const body: EvictionRequest = {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name: uid, namespace, labels, annotations },
    spec: { target: { pod: { name: pod.name, uid } }, requesters: [{ name: MAINTENANCE_REQUESTER }] },
  };
  const path = objectPath(EVICTION_REQUESTS, body.metadata);
  const patch = { kind: 'apply', manager: MAINTENANCE_REQUESTER } as const;
  const change = { method: 'PATCH', path, body, patch } as const;
  const fresh = await sendForObject<EvictionRequest>(context.client, change, [404], signal);
  if (fresh !== undefined) {
    applied.of(fresh).labels = text;
    written.set(keyOf(fresh), context.clock.monotonic());
  }
  context.log.info({ pod: `${namespace}/${pod.name}`, node, podType: pod.podType }, 'requested eviction');
}

/**
 * Gives a pod that is terminating less time where a deadline asks for it. Returns whether the pod needs no EvictionRequest:
 * it leaves already. A static pod does not, whatever becomes of its mirror pod.
 */
async function isLeaving(
  context: ControllerContext,
  { namespace, name, uid, podType }: DrainPod,
  signal: AbortSignal,
): Promise<boolean> {
  // The grace period of a static pod is not the API server's to change: its agent ends it in time.
  const pod = podType === 'Static' ? undefined : podByUid(context.pods, { namespace, name, uid });
  if (pod?.metadata.deletionTimestamp === undefined) return false;
  const { client, clock, log } = context;
  const isShorter = await shortenEnd(client, pod, { options: graceOptions(context, pod), now: clock.now() }, signal);
  if (isShorter) log.info({ pod: `${namespace}/${name}` }, 'shortened the end of a terminating pod for a deadline');
  return true;
}

/**
 * What somebody does against the request: takes our entry out of it, which anybody may who may delete the pod and which cancels
 * it without another requester, or deletes it.
 */
function undoing({ context, applied, written }: Scope, key: string, pod: DrainPod): string | undefined {
  const known = context.requests.get(key);
  if (known === undefined)
    return written.has(key) && podByUid(context.pods, pod) !== undefined ? 'somebody deletes it' : undefined;
  const isOurs = applied.of(known).labels === undefined || isRequestedBy(known, MAINTENANCE_REQUESTER);
  if (isOurs || known.metadata.deletionTimestamp !== undefined) return undefined;
  return `somebody takes the entry ${MAINTENANCE_REQUESTER} of this drain out of its requesters`;
}

/** Asks for the pod. Returns when to look again, and what somebody does against it. */
async function askFor(
  scope: Scope,
  key: string,
  intent: DrainIntent,
  signal: AbortSignal,
): Promise<{ readonly againMs?: number; readonly refused?: string }> {
  const { context, undone, written } = scope;
  const known = context.requests.get(key);
  const lateMs = (written.get(key) ?? -Infinity) + COPY_LATE_MS - context.clock.monotonic();
  if (known === undefined && lateMs > 0) return { againMs: lateMs };
  const what = undoing(scope, key, intent.pod);
  if (what !== undefined) {
    const restMs = undone.restMs(key);
    if (restMs > 0) return { againMs: restMs, refused: `${what}; to end the drain, complete the maintenance` };
    undone.rewritten(key);
  }
  const leaving = await isLeaving(context, intent.pod, signal);
  const isTimed = leaving ? hasDeadline(context, intent.node) : known === undefined || isFinished(known);
  const again = isTimed ? { againMs: AGAIN_MS } : {};
  // The loop of the maintenance may not have run since the pod is gone.
  if (known === undefined && (leaving || podByUid(context.pods, intent.pod) === undefined)) return again;
  await requestEviction(scope, intent, known, signal);
  return again;
}

/** The pod where it is one of a group that has not been told to end: an EvictionRequest of it would only be canceled. */
function groupedPod({ pods }: ControllerContext, wanted: DrainPod): Pod | undefined {
  const pod = wanted.podType === 'Default' ? podByUid(pods, wanted) : undefined;
  if (pod === undefined || !isInPodGroup(pod)) return undefined;
  return pod.metadata.deletionTimestamp === undefined ? pod : undefined;
}

/** The intent of a maintenance that still drains in our copies: its loop may not have run since. */
function drainIntentOf(
  { maintenances }: Pick<ControllerContext, 'maintenances'>,
  intents: EvictionIntents,
  key: string,
): DrainIntent | undefined {
  for (const [name, intent] of intents.of(key)) {
    const maintenance = maintenances.get(name);
    if (maintenance === undefined || stageOf(maintenance) !== 'Drain') continue;
    return { ...intent, maintenanceUid: maintenance.metadata.uid };
  }
  return undefined;
}

/**
 * One step of one EvictionRequest, by its key: it has this controller's requester entry while a drain wants the pod to leave,
 * and not longer. A pod that can have none is evicted.
 */
export function createRequestReconciler(
  context: ControllerContext,
  intents: EvictionIntents,
  refusals: Refusals,
  grouped: GroupedEvictions,
): Reconcile {
  const cleanup = createRequestCleanup(context);
  const applied = createRequestNotes<Applied>(() => ({}));
  const scope = { context, applied, undone: createUndoneWrites(context.clock), written: new Map<string, number>() };
  return async (key, signal) => {
    const intent = drainIntentOf(context, intents, key);
    const member = intent === undefined ? undefined : groupedPod(context, intent.pod);
    return await refusals.during(key, signal, async () => {
      if (member !== undefined) return await grouped.evict(key, member, signal);
      grouped.forget(key);
      const known = context.requests.get(key);
      if (known === undefined) cleanup.forget(key);
      if (known === undefined || (isFinished(known) && intent === undefined)) scope.applied.forget(key);
      if (intent !== undefined) return await askFor(scope, key, intent, signal);
      scope.undone.forget(key);
      scope.written.delete(key);
      if (known !== undefined) await cleanup.act(known, signal);
      return {};
    });
  };
}
