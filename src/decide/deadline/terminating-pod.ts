/** Pods that are terminating already when a deadline appears or comes closer. */
import type { Pod } from '../../api/pod.ts';
import { endOf, podTypeOf } from '../pod.ts';

/** An end that would come earlier by less is not worth another order. */
const SLACK_MS = 2_000;
/** Expected delay between the end of the grace period and the pod's removal: deletionTimestamp has whole seconds, and the kubelet rounds 1 s up to 2 s. */
const KUBELET_MS = 2_000;

/**
 * The gracePeriodSeconds with which a terminating pod has to be deleted again, for it would end too late; undefined where
 * it need not. They count from the first order, so that deletionTimestamp is the new end; the API server takes only
 * less than before (apiserver pkg/registry/rest/delete.go, BeforeDelete). `budgetSec` is what a pod told `now`,
 * milliseconds since the epoch, would get; undefined for its own.
 */
export function decideShorterEnd(pod: Pod, budgetSec: number | undefined, now: number): number | undefined {
  const end = endOf(pod);
  if (end === undefined || budgetSec === undefined) return undefined;
  const { toldAt, endsAt } = end;
  if (now + budgetSec * 1000 + SLACK_MS >= endsAt) return undefined;
  return Math.max(1, Math.floor((now - toldAt) / 1000) + budgetSec);
}

/**
 * Pods whose time is over and that the kubelet lets live on. One that was told to end keeps the time that it was told: a
 * shorter one is ignored until then (kubernetes/kubernetes#83916; pkg/kubelet/kubelet.go, SyncTerminatingPod).
 */
export function overduePods(pods: readonly Pod[], now: number): readonly Pod[] {
  return pods.filter((pod) => {
    const end = endOf(pod);
    return end !== undefined && podTypeOf(pod) !== 'Static' && end.endsAt + KUBELET_MS <= now;
  });
}
