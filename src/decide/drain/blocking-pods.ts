import { CANCELED, type EvictionRequest, PROGRESSING } from '../../api/eviction-request.ts';
import { HEARTBEAT_DEADLINE_MS } from '../eviction/heartbeat-deadline.ts';
import { DAEMON_SET_INTERCEPTOR, IMPERATIVE_INTERCEPTOR, KUBELET_INTERCEPTOR } from '../../api/names.ts';
import type { BlockingPod } from '../../api/node-maintenance.ts';
import type { Node, Pod } from '../../api/pod.ts';
import { refusedBy } from '../interceptor/message.ts';
import { hasCondition } from '../eviction/request.ts';
import { interceptorEntry } from '../eviction/heartbeat.ts';
import { isFromUrl, URL_POD_STAYS } from '../static-pod/url-pods.ts';
import { endOf, graceSecOf, isInPodGroup, podTypeOf, readyConditionOf } from '../pod.ts';
import { whyReturning } from '../staying-pod/returning-pod.ts';
import { rfc3339, timeOf } from '../time.ts';
import { describeVolumes, type NodeVolumes, waitsForVolumes } from '../volume/wait.ts';

/** A pod is named when its grace period, or its end, is this long ago, because the kubelet needs some time too. */
const LATE_MS = 15_000;
/** A pod with a longer grace period is named at once, because the whole drain waits for it. */
const LONG_MS = 60 * 60_000;
/** A pod is named when this time is over and nobody has begun to evict it: most are gone before. */
const UNBEGUN_MS = 10_000;
/** A heartbeat older than this makes an interceptor silent; they are due every three minutes. */
const SILENT_MS = 7 * 60_000;

/** The kubelet reports its volumes every ten seconds: a pod that stays for them for less than this time is not named. */
const ORDINARY_WAIT_MS = 30_000;

const REFUSALS = { budget: 'PodDisruptionBudget', failure: 'EvictionFailed', other: 'EvictionRefused' } as const;

type Why = Pick<BlockingPod, 'reason' | 'message' | 'since'>;

function whyNotEnding(pod: Pod, node: Node | undefined, now: number): Why | undefined {
  const { finalizers = [] } = pod.metadata;
  const { toldAt, endsAt } = endOf(pod) ?? { toldAt: now, endsAt: now };
  if (now < endsAt + LATE_MS) {
    if (endsAt - toldAt <= LONG_MS) return undefined;
    const message = `it was given ${Math.round((endsAt - toldAt) / 1000)} s to end, until ${rfc3339(endsAt)}`;
    return { reason: 'NotEnding', message, since: rfc3339(toldAt) };
  }
  const since = rfc3339(endsAt);
  const ready = readyConditionOf(node)?.status;
  if (ready !== undefined && ready !== 'True') {
    const message = `its node ${node?.metadata.name} is not Ready, so that it is unknown whether it has ended`;
    return { reason: 'NodeUnreachable', message, since };
  }
  if (finalizers.length > 0)
    return { reason: 'Finalizer', message: `it has the finalizers ${finalizers.join(', ')}`, since };
  const message = `its grace period of ${graceSecOf(pod)} s is over, and it has not ended`;
  return { reason: 'NotEnding', message, since };
}

function whyInterceptor(request: EvictionRequest, active: string, sinceAt: number, now: number): Why | undefined {
  const entry = interceptorEntry(request, active);
  const since = rfc3339(sinceAt);
  const heardAt = timeOf(entry?.heartbeatTime) ?? sinceAt;
  if (now - heardAt > SILENT_MS) {
    const message = `${active} gives no sign of life; control passes on after ${HEARTBEAT_DEADLINE_MS / 60_000} minutes of it`;
    return { reason: 'InterceptorSilent', message, since: rfc3339(heardAt) };
  }
  if (active === KUBELET_INTERCEPTOR || active === DAEMON_SET_INTERCEPTOR) return undefined;
  const said = entry?.message === undefined || entry.message === '' ? 'it has not said anything yet' : entry.message;
  return { reason: 'Interceptor', message: `${active}: ${said}`, since };
}

/** Whether the kubelet has said a moment ago that the static pod has ended: it takes the mirror pod away some seconds later. */
function hasJustEnded(request: EvictionRequest, now: number): boolean {
  const endedAt = timeOf(interceptorEntry(request, KUBELET_INTERCEPTOR)?.completionTime);
  return endedAt !== undefined && now < endedAt + LATE_MS;
}

/** Why a pod that is targeted is still there, where something has to be waited for that is not its own end. */
export function whyBlocking(
  pod: Pod,
  request: EvictionRequest | undefined,
  node: Node | undefined,
  now: number,
): BlockingPod | undefined {
  const { name, namespace = 'default' } = pod.metadata;
  const find = (): Why | undefined => {
    if (pod.metadata.deletionTimestamp !== undefined) return whyNotEnding(pod, node, now);
    if (isFromUrl(pod)) {
      const since = request?.metadata.creationTimestamp ?? pod.metadata.creationTimestamp ?? rfc3339(now);
      return { reason: 'NotSupported', message: URL_POD_STAYS, since };
    }
    if (request === undefined) return undefined;
    const progressing = request.status?.conditions?.find(({ type }) => type === PROGRESSING);
    const activatedAt = timeOf(progressing?.lastTransitionTime);
    const sinceAt = activatedAt ?? timeOf(request.metadata.creationTimestamp) ?? now;
    const since = rfc3339(sinceAt);
    if (request.metadata.deletionTimestamp !== undefined) {
      const held = request.metadata.finalizers?.join(', ') ?? '';
      const message = `its EvictionRequest is deleted, but held by the finalizers ${held}`;
      return { reason: 'RequestHeld', message, since: rfc3339(timeOf(request.metadata.deletionTimestamp) ?? now) };
    }
    if (hasCondition(request, CANCELED)) {
      const canceled = request.status?.conditions?.find(({ type }) => type === CANCELED);
      return { reason: 'NotSupported', message: canceled?.message ?? '', since };
    }
    const [active] = request.status?.activeInterceptors ?? [];
    if (active === undefined) {
      if (request.status?.targetInterceptors !== undefined) {
        return { reason: 'NoInterceptor', message: progressing?.message ?? '', since };
      }
      if (now < sinceAt + UNBEGUN_MS) return undefined;
      return { reason: 'NoInterceptor', message: 'no controller has looked at its request yet', since };
    }
    if (active !== IMPERATIVE_INTERCEPTOR) return whyInterceptor(request, active, sinceAt, now);
    const message = interceptorEntry(request, active)?.message ?? '';
    if (podTypeOf(pod) !== 'Default')
      return hasJustEnded(request, now) ? undefined : { reason: 'NoInterceptor', message, since };
    const by = refusedBy(message);
    if (by !== undefined) return { reason: REFUSALS[by], message, since };
    return now < sinceAt + UNBEGUN_MS ? undefined : whyInterceptor(request, active, sinceAt, now);
  };
  const why = find();
  return why === undefined ? undefined : { namespace, name, ...why, message: why.message.slice(0, 1024) };
}

/** Why a pod that others need is still there although it is targeted; undefined as long as that is nothing unusual. */
function whyStaying({ metadata }: Pod, volumes: NodeVolumes | undefined, now: number): BlockingPod | undefined {
  if (!waitsForVolumes(volumes) || now < volumes.since + ORDINARY_WAIT_MS) return undefined;
  const { name, namespace = 'default' } = metadata;
  const message = `it stays for ${describeVolumes([volumes])}`;
  return { namespace, name, reason: 'VolumesInUse', message: message.slice(0, 1024), since: rfc3339(volumes.since) };
}

/**
 * Why a pod cannot leave whose EvictionRequest is refused or, where it is of a group and has none, its eviction; `sinceAt` is in
 * milliseconds since the epoch.
 */
export function whyRefused(
  pod: Pod,
  { message, sinceAt }: { readonly message: string; readonly sinceAt: number },
): BlockingPod {
  const { name, namespace = 'default' } = pod.metadata;
  const isGrouped = isInPodGroup(pod);
  const what = isGrouped ? 'it cannot be evicted' : 'its EvictionRequest cannot be written';
  const why = `${what}: ${message}`.slice(0, 1024);
  const reason = isGrouped && refusedBy(message) === 'budget' ? 'PodDisruptionBudget' : 'EvictionRefused';
  return { namespace, name, reason, message: why, since: rfc3339(sinceAt) };
}

/** What is known of a targeted pod that is still there. */
interface LeftPod {
  /** Whether it stays for others, or for the volumes of its node. */
  readonly stays: boolean;
  readonly volumes: NodeVolumes | undefined;
  /** What whoever drains the node knows by itself: that its request is refused, or whom it stays for. */
  readonly known: BlockingPod | undefined;
  /** Its request, or what its eviction has come to as a request would say it. */
  readonly request: EvictionRequest | undefined;
  readonly node: Node | undefined;
  /** When the drain of its node began, and since when the node goes down, in milliseconds since the epoch. */
  readonly began: number | undefined;
  readonly since: number | undefined;
}

/** Why a targeted pod is still there, for the status of a maintenance; undefined as long as that is nothing unusual. */
export function whyLeft(pod: Pod, left: LeftPod, now: number): BlockingPod | undefined {
  const { stays, volumes, known, request, node, began, since } = left;
  if (stays && pod.metadata.deletionTimestamp === undefined) return whyStaying(pod, volumes, now);
  return known ?? whyBlocking(pod, request, node, now) ?? whyReturning(pod, began, since);
}
