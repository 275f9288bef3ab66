import type { EvictionRequest } from '../../api/eviction-request.ts';
import {
  DEADLINE_ANNOTATION,
  EVICTION_REQUEST_API_VERSION,
  INTERCEPTOR_DEADLINE_ANNOTATION,
  MAINTENANCE_REQUESTER,
  MAINTENANCE_UID_LABEL,
  NODE_LABEL,
} from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { copiedLabels, decideLabels, labelsText } from '../../decide/eviction/labels.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { isRequestedBy } from '../../decide/eviction/requester.ts';
import { isReplaceable } from '../../decide/eviction/spent-request.ts';
import { nodeAnnotation, nodeLabel } from '../../decide/node-label.ts';
import { decideLeaving, type Leaving } from '../../decide/node/leaving.ts';
import { isInPodGroup, isTerminal, podTypeOf } from '../../decide/pod.ts';
import { shortenEnd } from '../../kube/eviction/evictor.ts';
import { deleteRequest } from '../../kube/eviction/requester-entry.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { EVICTION_REQUESTS, keyOf, objectPath, sendForObject } from '../../kube/resource.ts';
import { requestKeyOf } from '../cache/pods.ts';
import { createRequestNotes, type RequestNotes } from '../cache/request-notes.ts';
import type { ControllerContext } from '../context.ts';
import { deadlineAnnotations, graceOptions, hasDeadline } from '../deadline.ts';
import { createUndoneWrites, type UndoneWrites } from '../undone-writes.ts';
import { createRequestCleanup } from './request-cleanup.ts';
import type { GroupedEvictions } from '../eviction/grouped-pods.ts';
import { type EvictionRoom, LIMITED_AGAIN_MS } from '../eviction/room.ts';
import type { Refusals } from './refusals.ts';

/** For what no change tells: an end that a deadline shortens, a pod that lives on, a request deleted while the watch was away. */
const AGAIN_MS = 15_000;
/** In this time after a request was written its absence from our copy says nothing. */
const COPY_LATE_MS = 1_000;

/** What is remembered of a request: the labels that were applied with it last. */
interface Applied {
  labels?: string;
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
  pod: Pod,
  by: NodeMaintenance,
  signal: AbortSignal,
): Promise<void> {
  const known = context.requests.get(requestKeyOf(pod));
  if (known !== undefined && (isFinished(known) || known.metadata.deletionTimestamp !== undefined)) {
    // It is over although its pod lives on, or names another pod: the pod is to leave by a new one.
    if (!isReplaceable(known, pod, context.clock.now())) return;
    written.delete(keyOf(known));
    await deleteRequest(context.client, known, signal);
    return;
  }
  const { namespace = 'default', name, uid = '' } = pod.metadata;
  const { nodeName: node = '' } = pod.spec;
  const annotations = { ...deadlineAnnotations(context, pod, known), ...nodeAnnotation(node) };
  const present: Readonly<Record<string, string>> = known?.metadata.annotations ?? {};
  // A deadline that is gone must not cut interceptors short: the apply without it takes its annotations away.
  const isCurrent = [DEADLINE_ANNOTATION, INTERCEPTOR_DEADLINE_ANNOTATION, ...Object.keys(annotations)].every(
    (key) => present[key] === (annotations as typeof present)[key],
  );
  // That of the maintenance that asked first.
  const asker = known?.metadata.labels?.[MAINTENANCE_UID_LABEL] ?? by.metadata.uid;
  const own = { [NODE_LABEL]: nodeLabel(node), ...(asker === undefined ? {} : { [MAINTENANCE_UID_LABEL]: asker }) };
  const labels = { ...copiedLabels(pod), ...own };
  const text = labelsText(labels);
  if (known !== undefined && isCurrent && isRequestedBy(known, MAINTENANCE_REQUESTER)) {
    // The apply takes away labels that it set before and that the pod no longer has.
    if (!decideLabels(known, pod).hasOthers || applied.of(known).labels === text) return;
  }
  const body: EvictionRequest = {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name: uid, namespace, labels, annotations },
    spec: { target: { pod: { name, uid } }, requesters: [{ name: MAINTENANCE_REQUESTER }] },
  };
  const path = objectPath(EVICTION_REQUESTS, body.metadata);
  const patch = { kind: 'apply', manager: MAINTENANCE_REQUESTER } as const;
  const change = { method: 'PATCH', path, body, patch } as const;
  const fresh = await sendForObject<EvictionRequest>(context.client, change, [404], signal);
  if (fresh !== undefined) {
    applied.of(fresh).labels = text;
    written.set(keyOf(fresh), context.clock.monotonic());
  }
  context.log.info({ pod: keyOf(pod), node, podType: podTypeOf(pod) }, 'requested eviction');
}

/**
 * Gives a pod that is terminating less time where a deadline asks for it. Returns whether the pod needs no EvictionRequest:
 * it leaves already. A static pod does not, whatever becomes of its mirror pod.
 */
async function isLeaving(context: ControllerContext, pod: Pod, signal: AbortSignal): Promise<boolean> {
  // The grace period of a static pod is not the API server's to change: its agent ends it in time.
  if (podTypeOf(pod) === 'Static' || pod.metadata.deletionTimestamp === undefined) return false;
  const { client, clock, log } = context;
  const isShorter = await shortenEnd(client, pod, { options: graceOptions(context, pod), now: clock.now() }, signal);
  if (isShorter) log.info({ pod: keyOf(pod) }, 'shortened the end of a terminating pod for a deadline');
  return true;
}

/**
 * What somebody does against the request: takes our entry out of it, which anybody may who may delete the pod and which cancels
 * it without another requester, or deletes it.
 */
function undoing({ context, applied, written }: Scope, key: string): string | undefined {
  const known = context.requests.get(key);
  if (known === undefined) return written.has(key) ? 'somebody deletes it' : undefined;
  const isOurs = applied.of(known).labels === undefined || isRequestedBy(known, MAINTENANCE_REQUESTER);
  if (isOurs || known.metadata.deletionTimestamp !== undefined) return undefined;
  return `somebody takes the entry ${MAINTENANCE_REQUESTER} of this drain out of its requesters`;
}

/** Asks for the pod. Returns when to look again, and what somebody does against it. */
async function askFor(
  scope: Scope,
  pod: Pod,
  by: NodeMaintenance,
  signal: AbortSignal,
): Promise<{ readonly againMs?: number; readonly refused?: string }> {
  const { context, undone, written } = scope;
  const key = requestKeyOf(pod);
  const known = context.requests.get(key);
  const lateMs = (written.get(key) ?? -Infinity) + COPY_LATE_MS - context.clock.monotonic();
  if (known === undefined && lateMs > 0) return { againMs: lateMs };
  const what = undoing(scope, key);
  if (what !== undefined) {
    const restMs = undone.restMs(key);
    if (restMs > 0) return { againMs: restMs, refused: `${what}; to end the drain, complete the maintenance` };
    undone.rewritten(key);
  }
  const leaving = await isLeaving(context, pod, signal);
  const isTimed = leaving ? hasDeadline(context, pod.spec.nodeName ?? '') : known === undefined || isFinished(known);
  const again = isTimed ? { againMs: AGAIN_MS } : {};
  if (known === undefined && leaving) return again;
  await requestEviction(scope, pod, by, signal);
  return again;
}

/** Whether it is one of a group that has not been told to end: an EvictionRequest of it would only be canceled. */
function isGrouped(pod: Pod): boolean {
  return podTypeOf(pod) === 'Default' && isInPodGroup(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** What a request goes by that is not in the objects. */
interface RequestParts {
  readonly refused: Refusals;
  readonly room: EvictionRoom;
  readonly grouped: GroupedEvictions;
}

/** What the drains of its node want of the pod; nothing of one that is gone. */
function leavingOf(context: ControllerContext, pod: Pod | undefined): Leaving {
  const { pods, nodes, maintenances, options, clock } = context;
  const node = nodes.get(pod?.spec.nodeName ?? '');
  if (pod === undefined || node === undefined || isTerminal(pod)) return { kind: 'untargeted' };
  const { name } = node.metadata;
  const others = (): readonly Pod[] => pods.on(name);
  const seen = { node, pods: others, maintenances: maintenances.on(name), maxWaitMs: options.maxVolumeTime };
  return decideLeaving(pod, seen, clock.now());
}

/**
 * One step of one EvictionRequest, by its key: it has this controller's requester entry while a drain wants the pod to leave,
 * and not longer. A pod that can have none is evicted.
 */
export function createRequestReconciler(context: ControllerContext, parts: RequestParts): Reconcile {
  const { refused, room, grouped } = parts;
  const { pods, nodes, clock } = context;
  const cleanup = createRequestCleanup(context);
  const applied = createRequestNotes<Applied>(() => ({}));
  const scope = { context, applied, undone: createUndoneWrites(clock), written: new Map<string, number>() };
  /** Nothing new comes to a node that is cordoned; one that the API server does not let be cordoned is drained all the same. */
  const isClosed = ({ spec: { nodeName = '' } }: Pod): boolean =>
    nodes.get(nodeName)?.spec?.unschedulable === true || refused.of(nodeName) !== undefined;
  const step = async (key: string, signal: AbortSignal): ReturnType<typeof askFor> => {
    const pod = pods.ofRequest(key);
    const leaving = leavingOf(context, pod);
    const known = context.requests.get(key);
    if (known === undefined) cleanup.forget(key);
    if (pod !== undefined && leaving.kind === 'asked' && isClosed(pod)) {
      if (!room.take(pod)) return { againMs: LIMITED_AGAIN_MS };
      if (isGrouped(pod)) return await grouped.evict(key, pod, signal);
      grouped.forget(key);
      if (known === undefined) applied.forget(key);
      return await askFor(scope, pod, leaving.by, signal);
    }
    room.release(key);
    grouped.forget(key);
    if (known === undefined || isFinished(known)) applied.forget(key);
    scope.undone.forget(key);
    scope.written.delete(key);
    if (known !== undefined) await cleanup.act(known, signal);
    return leaving.kind === 'later' ? { againMs: leaving.at - clock.now() } : {};
  };
  return async (key, signal) => await refused.during(key, signal, () => step(key, signal));
}
