/**
 * Which nodes stay while others go down. A PodDisruptionBudget protects an application only as long as some node stays that
 * runs it or could. What is seen of a node counts only after it has been so for some time without a break.
 */
import type { Node, NodeCondition } from '../../api/pod.ts';
import { timeOf } from '../time.ts';

/**
 * What is seen of a node counts after it has been the same for so long: the agents of machines that are switched off together
 * speak within some seconds, and a kubelet whose API server was away renews its Lease within 40 s.
 */
export const NODE_HOLD_MS = 60_000;
/** A node whose kubelet is silent keeps its pods for so long (default toleration of node.kubernetes.io/unreachable). */
const NOT_READY_MS = 5 * 60_000;
/** The components of a node that has just joined take their taints away within this time. */
const JOINING_MS = 5 * 60_000;
/** After a longer time without a look nothing is known of what was so meanwhile. */
const MAX_GAP_MS = 30_000;

/** A node at one moment. */
export interface NodeFacts {
  readonly node: Node;
  /** Whether its machine goes down. */
  readonly goesDown: boolean;
}

/** What was seen of a node, on the monotonic clock. */
interface SeenNode extends Partial<NodeFacts> {
  /** What counts of it, to be compared; empty where the API server has no such node. */
  readonly text: string;
  /** Since when all of that has been so. */
  readonly since: number;
}

/** All nodes, as they were seen until `at`. */
export interface SeenNodes {
  /** When they were seen first without a break, on the monotonic clock, in milliseconds. */
  readonly since: number;
  readonly at: number;
  readonly byName: ReadonlyMap<string, SeenNode>;
}

/** What a node can do for the pods of others: it is not known yet, none, or it stays. */
export type NodeOutlook =
  /** It may take any pod, as far as is known. */
  | { readonly kind: 'unknown'; readonly name: string }
  /** It takes pods by its taints and labels. */
  | { readonly kind: 'stays'; readonly name: string; readonly node: Node };

function readyOf({ status }: Node): NodeCondition | undefined {
  return status?.conditions?.find(({ type }) => type === 'Ready');
}

/** Node objects of a copy do not change: each is made a text of once. */
const texts = new WeakMap<Node, string>();

function textOf(node: Node): string {
  const known = texts.get(node);
  if (known !== undefined) return known;
  const { uid, labels } = node.metadata;
  const text = JSON.stringify([uid, labels, node.spec?.taints, readyOf(node)?.status]);
  texts.set(node, text);
  return text;
}

/** The nodes as they are seen now, with since when each has been so; `now` is monotonic. */
export function observeNodes(before: SeenNodes | undefined, facts: readonly NodeFacts[], now: number): SeenNodes {
  const last = before !== undefined && now - before.at <= MAX_GAP_MS ? before : undefined;
  const known = last?.byName ?? new Map<string, SeenNode>();
  const sinceOf = (name: string, text: string): number => {
    const seen = known.get(name);
    return seen?.text === text ? seen.since : now;
  };
  const byName = new Map<string, SeenNode>();
  for (const { node, goesDown } of facts) {
    // Of a machine that goes down nothing else counts: its kubelet falls silent in the end.
    const text = goesDown ? `goes down ${node.metadata.uid ?? ''}` : textOf(node);
    byName.set(node.metadata.name, { node, goesDown, text, since: sinceOf(node.metadata.name, text) });
  }
  // A node that is deleted may register again: its absence has to last, too.
  for (const name of known.keys()) {
    if (byName.has(name)) continue;
    const since = sinceOf(name, '');
    if (now - since < NODE_HOLD_MS) byName.set(name, { text: '', since });
  }
  return { since: last?.since ?? now, at: now, byName };
}

/** Whether the kubelet has been silent for so long that the node counts for nothing. */
function isLost(node: Node, seenForMs: number, wallNow: number): boolean {
  const ready = readyOf(node);
  if (ready?.status === 'True') return false;
  if (seenForMs >= NOT_READY_MS) return true;
  const since = timeOf(ready?.lastTransitionTime ?? node.metadata.creationTimestamp);
  return since !== undefined && wallNow - since >= NOT_READY_MS;
}

function isJoining({ metadata }: Node, wallNow: number): boolean {
  return wallNow - (timeOf(metadata.creationTimestamp) ?? -Infinity) < JOINING_MS;
}

/**
 * The nodes that stay, and those of which it is not known yet; `now` is monotonic, `wallNow` in milliseconds since the epoch.
 * A node that is only cordoned stays.
 */
export function nodesThatStay(
  { since: first, byName }: SeenNodes,
  now: number,
  wallNow: number,
): readonly NodeOutlook[] {
  if (now - first < NODE_HOLD_MS) return [{ kind: 'unknown', name: 'any node' }];
  return [...byName].flatMap(([name, { node, goesDown, since }]): NodeOutlook[] => {
    const seenForMs = now - since;
    if (seenForMs < NODE_HOLD_MS) return [{ kind: 'unknown', name }];
    if (node === undefined || goesDown === true || isLost(node, seenForMs, wallNow)) return [];
    const ready = readyOf(node);
    if (ready?.status !== 'True' || isJoining(node, wallNow)) return [{ kind: 'unknown', name }];
    return [{ kind: 'stays', name, node }];
  });
}
