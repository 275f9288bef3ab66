/** The mark by which the controller of a pod learns that it should evict the pod (Pod Evict Policy). */
import { EVICT_WANTED_ANNOTATION, IMPERATIVE_INTERCEPTOR } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { isMarked, isTakenOver } from '../../decide/eviction/imperative.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { isInPodGroup } from '../../decide/pod.ts';
import { groupNameOf } from '../../decide/pod-group/pod-group.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { keyOf, objectPath, PODS, sendForObject } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';
import { actsOutOfTurn, drainOfPod } from './out-of-turn.ts';

/** Until it is asked again whether the requests of the newer dialect are known. */
const UNKNOWN_AGAIN_MS = 5_000;

/** Sets or removes the mark. A mark that another writer has set stays: server-side apply removes only what it wrote. */
export async function applyMark(
  client: KubeClient,
  pod: Pod,
  what: 'set' | 'remove',
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace, uid } = pod.metadata;
  const annotations = what === 'set' ? { [EVICT_WANTED_ANNOTATION]: 'true' } : {};
  // The UID makes the patch fail on a namesake, and where the pod is gone.
  const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, uid, annotations } };
  const path = objectPath(PODS, pod.metadata);
  const patch = { kind: 'apply', manager: IMPERATIVE_INTERCEPTOR } as const;
  await sendForObject(client, { method: 'PATCH', path, body, patch }, [404, 409], signal);
}

/** Sets or removes the mark, and logs it. */
export async function writeMark(
  { client, log }: ControllerContext,
  pod: Pod,
  what: 'set' | 'remove',
  signal: AbortSignal,
): Promise<void> {
  await applyMark(client, pod, what, signal);
  log.info({ pod: keyOf(pod), mark: what }, 'told the controller of a pod about its eviction');
}

/** Whether a drain targets a pod of the group that the pod is of: pods of groups have no requests. */
function isGroupDrained(context: ControllerContext, pod: Pod): boolean {
  const members = context.pods.inGroup(`${pod.metadata.namespace}/${groupNameOf(pod)}`);
  return [pod, ...members].some((each) => drainOfPod(context, each) !== undefined);
}

/** What is known of the requests for pods in the newer dialect, whoever made them. */
export interface NewerRequests {
  /** Whether anybody asks for the eviction of the pod; undefined where that is not known yet. */
  isAsked(pod: Pod): boolean | undefined;
}

/**
 * Whether the pod has a mark although nobody requests its eviction any more, in either dialect; undefined where that is not
 * known yet. It goes by the pod and by the requests for its UID, so that it does not matter which process set the mark.
 */
export function isMarkedInVain(context: ControllerContext, newer: NewerRequests, pod: Pod): boolean | undefined {
  // A pod without the policy was marked by somebody else.
  if (!isMarked(pod) || !isTakenOver(pod) || pod.metadata.deletionTimestamp !== undefined) return false;
  if (isInPodGroup(pod)) return !isGroupDrained(context, pod);
  const request = context.requests.get(`${pod.metadata.namespace}/${pod.metadata.uid}`);
  if (request !== undefined && (!isFinished(request) || actsOutOfTurn(context, 'Default', { request, pod }))) {
    return false;
  }
  const isAsked = newer.isAsked(pod);
  return isAsked === undefined ? undefined : !isAsked;
}

/** The loop over marked pods, by their keys. */
export function createMarkReconciler(context: ControllerContext, newer: NewerRequests): Reconcile {
  return async (key, signal) => {
    const pod = context.pods.get(key);
    if (pod === undefined) return {};
    const isInVain = isMarkedInVain(context, newer, pod);
    if (isInVain === true) await writeMark(context, pod, 'remove', signal);
    return isInVain === undefined ? { againMs: UNKNOWN_AGAIN_MS } : {};
  };
}
