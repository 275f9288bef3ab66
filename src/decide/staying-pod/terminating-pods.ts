/**
 * What an agent does for pods of its node that were told to end and that the kubelet does not end: where a deadline has made their
 * time shorter, which it ignores, and where the machine goes down and the kubelet is away, or cannot take away what has ended.
 */
import type { Pod } from '../../api/pod.ts';
import { endOf, graceSecOf, isTerminal, podName, podTypeOf } from '../pod.ts';
import type { LiveSandbox } from '../shutdown/running-pods.ts';
import { staticUidOf } from '../static-pod/mirror-pod.ts';
import { KUBELET_WAIT_MS } from '../static-pod/moves.ts';

/** Expected delay between the end of the grace period and the pod's removal: deletionTimestamp has whole seconds, and the kubelet rounds 1 s up to 2 s. */
const KUBELET_MS = 2_000;
/** A kubelet that runs takes away what has ended within this time, unless it cannot unmount a volume or take a network down. */
const REMOVAL_MS = 60_000;
/** Most pods have ended so long after they were told to. */
const LOOK_MS = 10_000;

/** What is seen of the node at one moment. */
export interface ToldScope {
  readonly now: number;
  /** Whether its machine goes down. */
  readonly goesDown: boolean;
  /** Whether one of its drains has a deadline. */
  readonly hasDeadline: boolean;
  /** For how long its kubelet has been down, in milliseconds; 0 where it is up. */
  readonly kubeletDownMs: number;
  /** What lives in the container runtime; where that is silent, the UIDs of the pods that have processes. */
  readonly live: readonly (LiveSandbox & { readonly runningContainers: number })[] | Set<string>;
  /** The static pods that have ended, with their manifests parked, as NAMESPACE/NAME; all parked ones where the runtime is silent. */
  readonly ended: ReadonlySet<string>;
}

/** What is done in place of the kubelet. */
type ToldStep =
  | { readonly kind: 'stop'; readonly pod: Pod; readonly sandboxId: string; readonly graceSec: number }
  /** The API server's object of a pod of which nothing runs. */
  | { readonly kind: 'remove'; readonly pod: Pod };

/** Whether the runtime is asked about the pod: the kubelet, or a runtime, that is away ends none of those that were told to end. */
export function isLookDue(pod: Pod, now: number): boolean {
  const end = endOf(pod);
  return end !== undefined && (isOverdue(pod, now) || end.toldAt + LOOK_MS <= now);
}

/** Whether the pod has had the time that it was told, and a moment for the kubelet. */
function isOverdue(pod: Pod, now: number): boolean {
  const end = endOf(pod);
  return end !== undefined && podTypeOf(pod) !== 'Static' && end.endsAt + KUBELET_MS <= now;
}

/** Whether the pod is to end: it was told to, or its manifest is one of those. */
function isToEnd(pod: Pod, { ended }: Pick<ToldScope, 'ended'>): boolean {
  if (podTypeOf(pod) !== 'Static') return endOf(pod) !== undefined;
  return ended.has(podName(pod.metadata));
}

/** What is done about one pod; one that was told to end keeps its time, and has all of it from a runtime where its kubelet is away. */
function stepsOf(pod: Pod, scope: ToldScope, live: Exclude<ToldScope['live'], Set<string>>): readonly ToldStep[] {
  const { now, goesDown, hasDeadline, kubeletDownMs } = scope;
  const end = endOf(pod);
  const { uid, deletionGracePeriodSeconds } = pod.metadata;
  const isAway = goesDown && kubeletDownMs >= KUBELET_WAIT_MS;
  const remove: readonly ToldStep[] = [{ kind: 'remove', pod }];
  if (podTypeOf(pod) === 'Static') return isAway && isToEnd(pod, scope) ? remove : [];
  if (end === undefined) return [];
  const own = live.filter(({ podUid }) => podUid === uid);
  const isLate = isOverdue(pod, now);
  const stop = (graceSec: number): readonly ToldStep[] =>
    own.map(({ id }) => ({ kind: 'stop', pod, sandboxId: id, graceSec }));
  if (hasDeadline && isLate && own.length > 0) return stop(0);
  if (isAway) return own.length > 0 ? stop(deletionGracePeriodSeconds ?? graceSecOf(pod)) : remove;
  const hasEnded = own.every(({ runningContainers }) => runningContainers === 0);
  return goesDown && hasEnded && end.endsAt + REMOVAL_MS <= now ? remove : [];
}

/** What is done about the pods of the node. */
export function decideToldPods(pods: readonly Pod[], scope: ToldScope): readonly ToldStep[] {
  const { live, goesDown } = scope;
  const left = pods.filter((pod) => !isTerminal(pod));
  if (!(live instanceof Set)) return left.flatMap((pod) => stepsOf(pod, scope, live));
  // Nobody ends a pod over a silent runtime, but one without a process has ended.
  const hasEnded = (pod: Pod): boolean => isToEnd(pod, scope) && !live.has(staticUidOf(pod) ?? pod.metadata.uid ?? '');
  return goesDown ? left.filter(hasEnded).map((pod) => ({ kind: 'remove', pod })) : [];
}
