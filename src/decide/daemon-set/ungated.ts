/** A DaemonSet pod that was taken off a node because a drain targeted it. */
export interface Removal {
  /** NAMESPACE/NAME. */
  readonly daemonSet: string;
  readonly node: string;
  /** The pod's UID. */
  readonly uid: string;
  /** When it was removed, on the monotonic clock of this process. */
  readonly at: number;
}

/**
 * After this many recreated pods the DaemonSet is considered to ignore the gate. The policy's copy of a maintenance may lag,
 * so one or two are no proof; a pod that waits at the gate takes everything back (`forgetGated`).
 */
const UNGATED_RETURNS = 3;
const FIRST_DELAY_MS = 2_000;
const MAX_DELAY_MS = 15_000;

function isAt(removal: Removal, daemonSet: string, node: string): boolean {
  return removal.daemonSet === daemonSet && removal.node === node;
}

/** Adds a removal; the same pod counts once. */
export function noteRemoval(removals: readonly Removal[], removal: Removal): readonly Removal[] {
  const known = removals.some((other) => other.uid === removal.uid && isAt(other, removal.daemonSet, removal.node));
  return known ? removals : [...removals, removal];
}

/** What is left when a pod of the DaemonSet waits at the gate of the node: the gate works there. */
export function forgetGated(removals: readonly Removal[], daemonSet: string, node: string): readonly Removal[] {
  return removals.filter((removal) => !isAt(removal, daemonSet, node));
}

/** What is left of the nodes that are still drained. */
export function forgetNodes(removals: readonly Removal[], isDrained: (node: string) => boolean): readonly Removal[] {
  return removals.every(({ node }) => isDrained(node)) ? removals : removals.filter(({ node }) => isDrained(node));
}

/** How many pods of a DaemonSet came back to a node. */
function returnsOf(removals: readonly Removal[], daemonSet: string, node: string): number {
  return Math.max(0, removals.filter((removal) => isAt(removal, daemonSet, node)).length - 1);
}

/** The DaemonSets, NAMESPACE/NAME, whose pods come back to the node however often they are removed. */
export function ungatedDaemonSets(removals: readonly Removal[], node: string): readonly string[] {
  const names = new Set(removals.filter((removal) => removal.node === node).map(({ daemonSet }) => daemonSet));
  return [...names].filter((name) => returnsOf(removals, name, node) >= UNGATED_RETURNS).toSorted();
}

/**
 * How long after the last removal a pod that came back is removed, in milliseconds: at once for the first two, then ever
 * later, so that a gate that does not work does not make pods come and go as fast as they can.
 */
function removalDelayMs(returns: number): number {
  return returns < UNGATED_RETURNS ? 0 : Math.min(FIRST_DELAY_MS * 2 ** (returns - UNGATED_RETURNS), MAX_DELAY_MS);
}

/**
 * How long the removal of a pod is still put off, in milliseconds; `next` is that removal, as if it were now. All times are of the
 * monotonic clock of this process: a wall clock that is behind the API server's would put it off again at each look.
 */
export function removalWaitMs(
  removals: readonly Removal[],
  next: Removal,
): { readonly inMs: number; readonly returns: number } {
  const { daemonSet, node, at: now } = next;
  const returns = returnsOf(noteRemoval(removals, next), daemonSet, node);
  const last = removals.findLast((removal) => isAt(removal, daemonSet, node))?.at ?? -Infinity;
  return { inMs: Math.max(0, last + removalDelayMs(returns) - now), returns };
}
