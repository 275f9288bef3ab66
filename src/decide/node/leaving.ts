/**
 * Whether a pod is asked to leave its node, by what the statuses of the drains have recorded: whoever carries a drain out goes by
 * the targets that were written, and by nothing that only the writer knows.
 */
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node, Pod } from '../../api/pod.ts';
import { earliestDeadline } from '../deadline/maintenance.ts';
import { dueOnNode } from '../drain/observed-drain.ts';
import { stayingOn } from '../drain/resolution.ts';
import { entryCovers, planOf } from '../maintenance/drain-plan.ts';
import { covers, drainingOn, drainsOfNode } from '../maintenance/maintenance.ts';
import { drainBegan, identityOf, recordedNode } from '../maintenance/recorded-node.ts';
import { drainPodOf } from '../pod.ts';
import { evictionPausedUntil } from '../staying-pod/returning-pod.ts';
import { carries, drainPodOn, goingOf } from '../staying-pod/staying-pods.ts';
import { recordedWait, volumesOn } from '../volume/wait.ts';

/** For time alone, as of a deadline, may be what a pod stays for that others need. */
const LOOK_AGAIN_MS = 2_000;

/** A node, and what is known of its drains. */
interface DrainedNode {
  readonly node: Node;
  /** Asked for its pods that have not ended where they matter. */
  readonly pods: () => readonly Pod[];
  /** Those that select it, or name it in their status. */
  readonly maintenances: readonly NodeMaintenance[];
  /** For how long volumes are waited for, in milliseconds. */
  readonly maxWaitMs: number;
}

/** What the drains of a node want of one of its pods. */
export type Leaving =
  | { readonly kind: 'untargeted' }
  /** It is targeted, and stays for others or for a pause; that may be over at this time, in milliseconds since the epoch. */
  | { readonly kind: 'later'; readonly at: number }
  /** It is asked to leave, for this drain first. */
  | { readonly kind: 'asked'; readonly by: NodeMaintenance };

/** Whether the recorded targets of the drain cover the pod, and it does not carry the node's way to the API server. */
function targets(maintenance: NodeMaintenance, node: Node, pod: Pod): boolean {
  return covers(drainsOfNode([maintenance], node.metadata.name), drainPodOf(pod)) && !carries(pod, node);
}

/** The drains whose recorded targets cover the pod; none where its Node does not exist. */
export function drainsTargeting(
  pod: Pod,
  node: Node | undefined,
  all: readonly NodeMaintenance[],
): readonly NodeMaintenance[] {
  return node === undefined ? [] : drainingOn(all, node).filter((each) => targets(each, node, pod));
}

/** Whether a targeted pod stays for others that need it, or for volumes. */
function stays(pod: Pod, drain: NodeMaintenance, seen: DrainedNode, now: number): boolean {
  if (drainPodOf(pod).order === undefined) return false;
  const { node, maintenances, maxWaitMs } = seen;
  const pods = seen.pods();
  const drains = drainingOn(maintenances, node);
  const going = goingOf(drains, node.metadata.name, node, now);
  const deadline = earliestDeadline(drains)?.deadline;
  const known = (): number | undefined => recordedWait(recordedNode(drain.status, identityOf(node.metadata)));
  const seenOfDrain = dueOnNode(drain, { pods, names: volumesOn(node), known, maxWaitMs, deadline }, now);
  const evicting = pods.filter((each) => targets(drain, node, each)).map((each) => drainPodOn(each, going));
  return stayingOn({ plan: planOf(drain) }, seenOfDrain, evicting).has(pod.metadata.uid ?? '');
}

/** What the drains of the node want of the pod `now`. */
export function decideLeaving(pod: Pod, seen: DrainedNode, now: number): Leaving {
  const { node, maintenances } = seen;
  const drains = drainsTargeting(pod, node, maintenances);
  if (drains.length === 0) return { kind: 'untargeted' };
  let at = Infinity;
  for (const by of drains) {
    const paused = evictionPausedUntil(pod, drainBegan(by, identityOf(node.metadata)), now);
    if (paused === undefined && !stays(pod, by, seen, now)) return { kind: 'asked', by };
    at = Math.min(at, paused ?? now + LOOK_AGAIN_MS);
  }
  return { kind: 'later', at };
}

/** The targeted pods of the node, in the order of the plan of its first drain. */
export function targetedPods({ node, pods, maintenances }: Omit<DrainedNode, 'maxWaitMs'>): readonly Pod[] {
  const drains = drainingOn(maintenances, node);
  const [first] = drains;
  if (first === undefined) return [];
  const plan = planOf(first);
  const rank = (pod: Pod): number => plan.findIndex((entry) => entryCovers(entry, drainPodOf(pod)));
  return pods()
    .filter((pod) => drains.some((each) => targets(each, node, pod)))
    .map((pod) => ({ pod, rank: rank(pod) }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ pod }) => pod);
}
