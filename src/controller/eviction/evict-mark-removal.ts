/** Takes the marks of pods for their controllers back (Pod Evict Policy). */
import type { Pod } from '../../api/pod.ts';
import { isMarked, isTakenOver } from '../../decide/eviction/imperative.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { writeMark } from '../../kube/eviction/evict-mark.ts';
import type { Loop } from '../../kube/loop/loops.ts';
import type { Reconcile } from '../../kube/queue.ts';
import type { Changes } from '../changes.ts';
import type { ControllerContext } from '../context.ts';
import { actsWhileInactive } from '../spent-requests.ts';

/**
 * Whether the pod has a mark although nobody requests its eviction any more. It goes by the pod and by the requests for its
 * UID, so that it does not matter which process set the mark.
 */
export function isMarkObsolete(context: ControllerContext, pod: Pod): boolean {
  // A pod without the policy was marked by somebody else.
  if (!isMarked(pod) || !isTakenOver(pod) || pod.metadata.deletionTimestamp !== undefined) return false;
  const request = context.requests.get(`${pod.metadata.namespace}/${pod.metadata.uid}`);
  if (request === undefined) return true;
  return isFinished(request) && !actsWhileInactive(context, 'Default', { request, pod });
}

/** The loop over marked pods, by their keys. */
export function createMarkReconciler(context: ControllerContext): Reconcile {
  return async (key, signal) => {
    const pod = context.pods.get(key);
    if (pod !== undefined && isMarkObsolete(context, pod)) await writeMark(context, pod, 'remove', signal);
    return {};
  };
}

/** The loop over marked pods, by their keys: it looks only at those whose mark is obsolete. */
export function markLoop(context: ControllerContext): Loop<Changes> {
  const obsolete = (key: string): readonly string[] => {
    const pod = context.pods.get(key);
    return pod !== undefined && isMarkObsolete(context, pod) ? [key] : [];
  };
  return {
    name: 'pod-marks',
    parallel: 1,
    reconcile: createMarkReconciler(context),
    concerns: { Pod: ({ key }) => obsolete(key), Request: ({ pods }) => pods.flatMap(obsolete) },
  };
}
