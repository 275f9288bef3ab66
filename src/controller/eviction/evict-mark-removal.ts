/** Takes the marks of pods for their controllers back (Pod Evict Policy). */
import type { Pod } from '../../api/pod.ts';
import { isMarked, isTakenOver } from '../../decide/eviction/imperative.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { isInPodGroup } from '../../decide/pod.ts';
import { groupNameOf } from '../../decide/pod-group/pod-group.ts';
import { writeMark } from '../../kube/eviction/evict-mark.ts';
import { readIsAsked } from '../../kube/lifecycle/asked.ts';
import type { Loop } from '../../kube/loop/loops.ts';
import type { Reconcile } from '../../kube/queue.ts';
import type { Changes } from '../changes.ts';
import type { ControllerContext } from '../context.ts';
import { actsWhileInactive, drainOfPod } from '../spent-requests.ts';

/** Until it is asked again whether the requests of the newer dialect are known. */
const UNKNOWN_AGAIN_MS = 5_000;
/** Where the newer dialect is not watched, nothing tells that its eviction of the pod is over. */
const UNWATCHED_AGAIN_MS = 15_000;

/** Whether a drain targets a pod of the group that the pod is of: pods of groups have no requests. */
function isGroupDrained(context: ControllerContext, pod: Pod): boolean {
  const members = context.pods.inGroup(`${pod.metadata.namespace}/${groupNameOf(pod)}`);
  return [pod, ...members].some((each) => drainOfPod(context, each) !== undefined);
}

/** What is known of the requests for pods in the newer dialect, whoever made them. */
export interface NewerRequests {
  /** Whether anybody asks for the eviction of the pod; undefined where that is not known yet. */
  isAsked(pod: Pod): boolean | undefined;
  /** Whether they are watched: with `--lifecycle-api=off` others may ask all the same. */
  mayHaveAny(): boolean;
}

/**
 * Whether the pod has a mark although nobody requests its eviction any more, in either dialect; undefined where that is not
 * known yet. It goes by the pod and by the requests for its UID, so that it does not matter which process set the mark.
 */
export function isMarkObsolete(context: ControllerContext, newer: NewerRequests, pod: Pod): boolean | undefined {
  // A pod without the policy was marked by somebody else.
  if (!isMarked(pod) || !isTakenOver(pod) || pod.metadata.deletionTimestamp !== undefined) return false;
  if (isInPodGroup(pod)) return !isGroupDrained(context, pod);
  const request = context.requests.get(`${pod.metadata.namespace}/${pod.metadata.uid}`);
  if (request !== undefined && (!isFinished(request) || actsWhileInactive(context, 'Default', { request, pod }))) {
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
    const isObsolete = isMarkObsolete(context, newer, pod);
    if (isObsolete === undefined) return { againMs: UNKNOWN_AGAIN_MS };
    if (!isObsolete) return {};
    if (!newer.mayHaveAny() && (await readIsAsked(context.client, pod, signal))) return { againMs: UNWATCHED_AGAIN_MS };
    // While that was read, somebody may have asked again.
    if (isMarkObsolete(context, newer, context.pods.get(key) ?? pod) !== true) return {};
    await writeMark(context, pod, 'remove', signal);
    return {};
  };
}

/** The loop over marked pods, by their keys: it looks only at those whose mark may be obsolete. */
export function markLoop(context: ControllerContext, newer: NewerRequests): Loop<Changes> {
  const obsolete = (key: string): readonly string[] => {
    const pod = context.pods.get(key);
    return pod !== undefined && isMarkObsolete(context, newer, pod) !== false ? [key] : [];
  };
  return {
    name: 'pod-marks',
    parallel: 1,
    reconcile: createMarkReconciler(context, newer),
    concerns: { Pod: ({ key }) => obsolete(key), Request: ({ pods }) => pods.flatMap(obsolete), Target: obsolete },
  };
}
