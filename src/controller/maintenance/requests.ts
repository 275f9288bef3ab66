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
import { type Dialect, dialectOf } from '../../decide/lifecycle/dialect.ts';
import { stageOf } from '../../decide/maintenance/maintenance.ts';
import { nodeAnnotation, nodeLabel } from '../../decide/node-label.ts';
import { isOwnController } from '../../decide/own-controller.ts';
import { type DrainPod, isInPodGroup } from '../../decide/pod.ts';
import { shortenEnd } from '../../kube/eviction/evictor.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { EVICTION_REQUESTS, objectPath, sendForObject } from '../../kube/resource.ts';
import { podByUid } from '../cache/pods.ts';
import { createRequestNotes, type RequestNotes } from '../cache/request-notes.ts';
import type { ControllerContext } from '../context.ts';
import { deadlineAnnotations, graceOptions, hasDeadline, othersActUntil } from '../deadline.ts';
import { type DrainRequests, OLDER_ONLY } from '../lifecycle/drain-requests.ts';
import { createNewerReturn, createOlderReturn, createRequestCleanup } from './request-cleanup.ts';
import type { EvictionIntent, EvictionIntents } from './wanted-evictions.ts';
import type { Refusals } from './refusals.ts';

/** What depends on the time: a deadline shortens the end of a pod, and a pod that was evicted may turn out to live on. */
const AGAIN_MS = 15_000;
/** It is known soon which dialects the cluster serves. */
const DIALECT_AGAIN_MS = 250;

/** Deletes a request that is over although its pod lives on, or that names another pod: the pod is to leave by a new one. */
async function removeReplaceable(
  { client, clock, pods }: ControllerContext,
  known: EvictionRequest,
  pod: DrainPod,
  signal: AbortSignal,
): Promise<void> {
  const target = podByUid(pods, pod);
  if (target === undefined || !isReplaceable(known, target, clock.now())) return;
  const path = objectPath(EVICTION_REQUESTS, known.metadata);
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: known.metadata.uid } };
  await sendForObject(client, { method: 'DELETE', path, body }, [404, 409], signal);
}

/** What is remembered of a request: the labels that were applied with it last. */
interface Applied {
  labels?: string;
}

/** An intent, and the maintenance that has it. */
interface DrainIntent extends EvictionIntent {
  readonly maintenanceUid: string | undefined;
  /** Whether it is the first pod of its node. */
  readonly leads: boolean;
}

/** The label of the maintenance that asked first. */
function maintenanceLabel(
  known: EvictionRequest | undefined,
  uid: string | undefined,
): Readonly<Record<string, string>> {
  const value = known?.metadata.labels?.[MAINTENANCE_UID_LABEL] ?? uid;
  return value === undefined ? {} : { [MAINTENANCE_UID_LABEL]: value };
}

/** What the steps of a request share. */
interface Scope {
  readonly context: ControllerContext;
  /** What is asked for in the newer dialect. */
  readonly newer: DrainRequests;
  readonly applied: RequestNotes<Applied>;
}

/**
 * Makes or keeps the EvictionRequest of a pod, with this controller's requester entry (KEP-4212, "Drain"). A new one has the
 * labels of its pod from the first, which would cost another write.
 */
async function requestEviction(
  { context, applied }: Pick<Scope, 'context' | 'applied'>,
  { node, pod, maintenanceUid, leads }: DrainIntent,
  known: EvictionRequest | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (known !== undefined && (isFinished(known) || known.metadata.deletionTimestamp !== undefined)) {
    await removeReplaceable(context, known, pod, signal);
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
  const own = { [NODE_LABEL]: nodeLabel(node), ...maintenanceLabel(known, maintenanceUid) };
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
  const order = leads ? ({ leads: true } as const) : {};
  const change = { method: 'PATCH', path, body, patch, ...order } as const;
  const fresh = await sendForObject<EvictionRequest>(context.client, change, [404], signal);
  if (fresh !== undefined) applied.of(fresh).labels = text;
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

/** The request without those who ask beside the drains: in the newer dialect each of them has a request of its own. */
function withoutOthers(request: EvictionRequest): EvictionRequest {
  const requesters = (request.spec.requesters ?? []).filter(({ name }) => name === MAINTENANCE_REQUESTER);
  return { ...request, spec: { ...request.spec, requesters } };
}

/** Asks in the newer dialect, where its responders learn by the Eviction that they are active. */
async function askByLifecycle(
  { context, newer }: Scope,
  { node, pod, maintenanceUid, leads }: DrainIntent,
  signal: AbortSignal,
): Promise<void> {
  const labels = { [NODE_LABEL]: nodeLabel(node), ...maintenanceLabel(undefined, maintenanceUid) };
  if (!(await newer.ask(pod, { labels, annotations: nodeAnnotation(node), leads }, signal))) return;
  const { namespace, name, podType } = pod;
  context.log.info({ pod: `${namespace}/${name}`, node, podType }, 'requested eviction by lifecycle.k8s.io');
}

/** The dialect in which the pod is asked now; undefined while that is not known. */
function dialectFor({ context, newer }: Scope, key: string, { node, pod }: DrainIntent): Dialect | undefined {
  const preferred = newer.preferred();
  const found = podByUid(context.pods, pod);
  if (preferred === undefined) return undefined;
  // For a pod that is gone nothing is asked in another dialect.
  if (found === undefined) return context.requests.get(key) === undefined ? preferred : 'older';
  const until = othersActUntil(context, found, node);
  const isLate = until !== undefined && context.clock.now() >= until;
  const known = newer.get(key);
  const mayBeNewer = preferred === 'newer' || known !== undefined;
  return dialectOf({
    pod: found,
    older: context.requests.get(key),
    newer: known,
    isNameTaken: newer.isNameTaken(key),
    preferred,
    isUnattended: newer.unattendedInMs(key) === 0,
    isOurs: mayBeNewer && (isOwnController(found) || context.budgetRule.whyNotAsked(found) !== undefined),
    isLate,
  });
}

/** Whether a pod that is asked for in the newer dialect may have to be asked for in the older one without an event of it. */
function mayTurnBack(context: ControllerContext, { node, pod }: DrainIntent): boolean {
  const found = podByUid(context.pods, pod);
  return hasDeadline(context, node) || (found !== undefined && context.budgetRule.mayChange(found));
}

/** The earlier one of two times; Infinity is none. */
function sooner({ againMs = Infinity }: { readonly againMs?: number }, ms: number): { readonly againMs?: number } {
  const first = Math.min(againMs, ms);
  return first === Infinity ? {} : { againMs: first };
}

/** Asks for the pod in one dialect, and takes back what was asked for in the other one. Returns when to look again. */
async function askFor(
  scope: Scope,
  key: string,
  intent: DrainIntent,
  signal: AbortSignal,
): Promise<{ readonly againMs?: number }> {
  const { context, newer } = scope;
  const [older, other] = [context.requests.get(key), newer.get(key)];
  const leaving = await isLeaving(context, intent.pod, signal);
  const isTimed = leaving ? hasDeadline(context, intent.node) : older !== undefined && isFinished(older);
  const again = isTimed || (other !== undefined && mayTurnBack(context, intent)) ? { againMs: AGAIN_MS } : {};
  // The loop of the maintenance may not have run since the pod is gone.
  if (older === undefined && other === undefined && (leaving || podByUid(context.pods, intent.pod) === undefined))
    return again;
  const dialect = dialectFor(scope, key, intent);
  if (dialect === undefined) return { againMs: DIALECT_AGAIN_MS };
  if (dialect === 'newer') {
    await askByLifecycle(scope, intent, signal);
    return sooner(again, newer.unattendedInMs(key));
  }
  if (other !== undefined) await newer.withdraw(other, signal);
  await requestEviction(scope, intent, older, signal);
  return again;
}

/** The pod where it is one of a group that has not been told to end: an EvictionRequest of it would only be canceled. */
export function groupedPod({ pods }: ControllerContext, wanted: DrainPod): Pod | undefined {
  const pod = wanted.podType === 'Default' ? podByUid(pods, wanted) : undefined;
  if (pod === undefined || !isInPodGroup(pod)) return undefined;
  return pod.metadata.deletionTimestamp === undefined ? pod : undefined;
}

/** The intent of a maintenance that still drains in our copies: its loop may not have run since. */
export function drainIntentOf(
  { maintenances }: Pick<ControllerContext, 'maintenances'>,
  intents: EvictionIntents,
  key: string,
): DrainIntent | undefined {
  for (const [name, intent] of intents.of(key)) {
    const maintenance = maintenances.get(name);
    if (maintenance === undefined || stageOf(maintenance) !== 'Drain') continue;
    return { ...intent, maintenanceUid: maintenance.metadata.uid, leads: intents.leads(key) };
  }
  return undefined;
}

/** Who evicts the pods that have no request because they are of groups. */
export interface GroupedPods {
  /** Whether it knows of the eviction with this key. */
  has(key: string): boolean;
  /** Tells it that the pod with this key is wanted, or not any more. */
  add(key: string): void;
}

/** For whoever has no pods of groups. */
const NO_GROUPS: GroupedPods = { has: () => false, add: () => undefined };

/**
 * One step of one EvictionRequest, by its key: it has this controller's requester entry while a drain wants the pod to leave,
 * and not longer.
 */
export function createRequestReconciler(
  context: ControllerContext,
  intents: EvictionIntents,
  refusals: Refusals,
  { newer = OLDER_ONLY, groups = NO_GROUPS }: { readonly newer?: DrainRequests; readonly groups?: GroupedPods } = {},
): Reconcile {
  const returns = {
    older: createRequestCleanup(context, createOlderReturn(context)),
    newer: createRequestCleanup(context, createNewerReturn(newer)),
  };
  const scope = { context, newer, applied: createRequestNotes<Applied>(() => ({})) };
  return async (key, signal) => {
    const intent = drainIntentOf(context, intents, key);
    const isGrouped = intent !== undefined && groupedPod(context, intent.pod) !== undefined;
    if (isGrouped || groups.has(key)) groups.add(key);
    if (isGrouped) return {};
    return await refusals.during(key, signal, async () => {
      const known = { older: context.requests.get(key), newer: newer.get(key) };
      if (known.older === undefined) returns.older.forget(key);
      if (known.newer === undefined) returns.newer.forget(key);
      if (known.older === undefined || isFinished(known.older)) scope.applied.forget(key);
      if (intent !== undefined) return await askFor(scope, key, intent, signal);
      if (known.older !== undefined) await returns.older.act(known.older, signal);
      if (known.newer !== undefined) await returns.newer.act(withoutOthers(known.newer), signal);
      return {};
    });
  };
}
