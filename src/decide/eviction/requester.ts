import { CANCELED, EVICTED, type EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import { hasCondition, isFinished } from './request.ts';
import { isInPodGroup, isTerminal, podTypeOf } from '../pod.ts';

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
