/**
 * What an agent does for pods of its node that were told to end and that the kubelet does not end: where a deadline has made their
 * time shorter, which it ignores, and where the machine goes down and the kubelet is away, or cannot take away what has ended.
 */
import type { Pod } from '../../api/pod.ts';
import { endOf, graceSecOf, isTerminal, podTypeOf } from '../pod.ts';
import type { LiveSandbox } from '../shutdown/runtime-pods.ts';
import { KUBELET_WAIT_MS } from '../static-pod/moves.ts';

/** Expected delay between the end of the grace period and the pod's removal: deletionTimestamp has whole seconds, and the kubelet rounds 1 s up to 2 s. */
const KUBELET_MS = 2_000;
/** A kubelet that runs takes away what has ended within this time, unless it cannot unmount a volume or take a network down. */
const REMOVAL_MS = 60_000;

/** What is seen of the node at one moment. */
export interface ToldScope {
  readonly now: number;
  /** Whether its machine goes down. */
  readonly goesDown: boolean;
  /** Whether one of its drains has a deadline. */
  readonly hasDeadline: boolean;
  /** For how long its kubelet has been down, in milliseconds; 0 where it is up. */
  readonly kubeletDownMs: number;
  /** What lives in the container runtime. */
  readonly live: readonly (LiveSandbox & { readonly runningContainers: number })[];
  /** The static pods that have ended, with their manifests parked, as NAMESPACE/NAME. */
  readonly ended: ReadonlySet<string>;
}

/** What is done in place of the kubelet. */
export type ToldStep =
  | { readonly kind: 'stop'; readonly pod: Pod; readonly sandboxId: string; readonly graceSec: number }
  /** The API server's object of a pod of which nothing runs. */
  | { readonly kind: 'remove'; readonly pod: Pod };

/** Whether the pod has had the time that it was told, and a moment for the kubelet. */
export function isOverdue(pod: Pod, now: number): boolean {
  const end = endOf(pod);
  return end !== undefined && podTypeOf(pod) !== 'Static' && end.endsAt + KUBELET_MS <= now;
}

/** What is done about one pod; one that was told to end keeps its time, and has all of it from a runtime where its kubelet is away. */
function stepsOf(pod: Pod, { now, goesDown, hasDeadline, kubeletDownMs, live, ended }: ToldScope): readonly ToldStep[] {
  const end = endOf(pod);
  const { namespace = 'default', name, uid, deletionGracePeriodSeconds } = pod.metadata;
  const isAway = goesDown && kubeletDownMs >= KUBELET_WAIT_MS;
  if (podTypeOf(pod) === 'Static') return isAway && ended.has(`${namespace}/${name}`) ? [{ kind: 'remove', pod }] : [];
  if (end === undefined) return [];
  const own = live.filter(({ podUid }) => podUid === uid);
  const isLate = isOverdue(pod, now);
  const stop = (graceSec: number): readonly ToldStep[] =>
    own.map(({ id }) => ({ kind: 'stop', pod, sandboxId: id, graceSec }));
  if (hasDeadline && isLate && own.length > 0) return stop(0);
  if (isAway) return own.length > 0 ? stop(deletionGracePeriodSeconds ?? graceSecOf(pod)) : [{ kind: 'remove', pod }];
  const hasEnded = own.every(({ runningContainers }) => runningContainers === 0);
  return goesDown && hasEnded && end.endsAt + REMOVAL_MS <= now ? [{ kind: 'remove', pod }] : [];
}

/** What is done about the pods of the node. */
export function decideToldPods(pods: readonly Pod[], scope: ToldScope): readonly ToldStep[] {
  return pods.filter((pod) => !isTerminal(pod)).flatMap((pod) => stepsOf(pod, scope));
}
