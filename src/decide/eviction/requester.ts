import { CANCELED, EVICTED, type EvictionRequest } from '../../api/eviction-request.ts';
import { MAINTENANCE_REQUESTER } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { covers, type NodeDrain } from '../maintenance/maintenance.ts';
import { drainPodOf, isInPodGroup, isTerminal, podTypeOf } from '../pod.ts';
import { hasCondition, isFinished, isMadeByDrain } from './request.ts';

/** What a requester does about the request of a pod that it wants evicted. */
type RequesterStep =
  /** The pod has left already: nothing is asked for. */
  | { readonly kind: 'ended'; readonly message: string }
  /** It cannot be asked for. */
  | { readonly kind: 'refused'; readonly message: string }
  /** A canceled request exists: it is deleted and created again. */
  | { readonly kind: 'replace'; readonly message: string }
  /** The requester's entry is applied; `already` where it is there. */
  | { readonly kind: 'apply'; readonly already: boolean };

/** The message of a condition that is True. */
function messageOf(request: EvictionRequest, type: string): string {
  return request.status?.conditions?.find((each) => each.type === type && each.status === 'True')?.message ?? '';
}

/** Everybody but `requester` who asks for the eviction. */
export function otherRequesters(request: EvictionRequest | undefined, requester: string): readonly string[] {
  return (request?.spec.requesters ?? []).map(({ name }) => name).filter((name) => name !== requester);
}

/** Whether `requester` asks for the eviction. */
export function isRequestedBy(request: EvictionRequest | undefined, requester: string): boolean {
  return request?.spec.requesters?.some(({ name }) => name === requester) === true;
}

/**
 * The next step of a requester (KEP-4563, "Eviction Requester") for a pod whose request, named by the pod's UID, may
 * exist: a finished request is not taken up again, and one that another has canceled does not stand in the way.
 */
export function decideRequesterStep(pod: Pod, request: EvictionRequest | undefined, requester: string): RequesterStep {
  const { name } = pod.metadata;
  if (isTerminal(pod)) return { kind: 'ended', message: `Pod ${name} has reached the phase ${pod.status?.phase}.` };
  if (isInPodGroup(pod)) {
    const message = `pod "${name}" is part of a Workload/PodGroup; eviction of such pods is currently not supported`;
    return { kind: 'refused', message };
  }
  if (request?.metadata.deletionTimestamp !== undefined) {
    const held = (request.metadata.finalizers ?? []).join(', ');
    const message = `the former EvictionRequest of pod "${name}" is being deleted and held by its finalizers (${held}); try again when it is gone`;
    return { kind: 'refused', message };
  }
  if (request === undefined || !isFinished(request)) {
    return { kind: 'apply', already: isRequestedBy(request, requester) };
  }
  if (hasCondition(request, EVICTED)) return { kind: 'ended', message: messageOf(request, EVICTED) };
  return { kind: 'replace', message: messageOf(request, CANCELED) };
}

/**
 * What somebody does against the request that a drain wrote last: takes our entry out of it, which anybody may who may delete the
 * pod and which cancels it without another requester, or deletes it. Undefined where nobody does.
 */
export function whatUndoes(
  known: EvictionRequest | undefined,
  written: { readonly uid: string | undefined } | undefined,
): string | undefined {
  if (written === undefined) return undefined;
  if (known === undefined) return 'somebody deletes it';
  const { uid, deletionTimestamp } = known.metadata;
  if (written.uid !== uid || deletionTimestamp !== undefined || isRequestedBy(known, MAINTENANCE_REQUESTER))
    return undefined;
  return `somebody takes the entry ${MAINTENANCE_REQUESTER} of this drain out of its requesters`;
}

/** What a person should know before waiting for such a pod; undefined for a pod that the Eviction API can evict. */
export function evictionWarning(pod: Pod): string | undefined {
  const { name } = pod.metadata;
  switch (podTypeOf(pod)) {
    case 'Default':
      return undefined;
    case 'DaemonSet':
      return `pod "${name}" belongs to a DaemonSet: it leaves only in a maintenance of its node, and comes back after it`;
    case 'Static':
      return `pod "${name}" is static: only the agent of its node can end it, in a maintenance of the node`;
  }
}

/** What the maintenance controller does about an EvictionRequest that it does not want any more. */
export type RetentionStep =
  /** Nothing: the request is still wanted, or is none of ours. */
  | 'keep'
  /** It takes its requester entry back. */
  | 'withdraw'
  /** The request is over, and nobody else asks for it. */
  | 'delete';

/**
 * The requester entry stays only while the targets of a drain cover the pod (KEP-4212, "Drain"); on a request that is over,
 * while its node is being drained. `pod` is the target, where it is still there, and `drains` are those of `drainsOn` its node.
 */
export function decideRetention(
  request: EvictionRequest,
  pod: Pod | undefined,
  drains: readonly NodeDrain[],
): RetentionStep {
  const isOver = isFinished(request);
  const target = pod && drainPodOf(pod);
  const isWanted = target === undefined || isOver ? drains.length > 0 : covers(drains, target);
  if (isWanted) return 'keep';
  const isOurs = isRequestedBy(request, MAINTENANCE_REQUESTER);
  const isWantedByOthers = otherRequesters(request, MAINTENANCE_REQUESTER).length > 0;
  // Finalizers hold a request that is being deleted: it cannot go, but nothing of ours stays on it.
  const isDeleted = request.metadata.deletionTimestamp !== undefined;
  if (isOurs && (isWantedByOthers || !isOver || isDeleted)) return 'withdraw';
  return isOver && !isWantedByOthers && !isDeleted && (isOurs || isMadeByDrain(request)) ? 'delete' : 'keep';
}
