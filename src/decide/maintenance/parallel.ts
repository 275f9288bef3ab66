/** A maintenance that wants to drain. */
export interface WaitingDrain {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Whether it has begun: what has begun is not stopped. */
  readonly begun: boolean;
  readonly nodes: readonly string[];
}

/** In the order in which they may begin: those that have begun, then the others by age. */
export function inAdmissionOrder<T extends WaitingDrain>(drains: readonly T[]): readonly T[] {
  return drains.toSorted((a, b) => {
    return Number(b.begun) - Number(a.begun) || a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1);
  });
}

/**
 * The maintenances that have to wait because too many drain their one node: of those that select it alone, `max` are looked
 * at, in that order. One that selects several nodes never waits for that.
 */
export function crowdedDrains(drains: readonly WaitingDrain[], max: number): ReadonlySet<string> {
  const counts = new Map<string, number>();
  const crowded = new Set<string>();
  for (const { name, nodes } of inAdmissionOrder(drains)) {
    const [node, ...others] = nodes;
    if (node === undefined || others.length > 0) continue;
    const count = (counts.get(node) ?? 0) + 1;
    counts.set(node, count);
    if (count > max) crowded.add(name);
  }
  return crowded;
}

/**
 * The maintenances that may drain when no more than `max` nodes are to be under maintenance at once: those that have
 * begun, then the others by age as long as their nodes fit. One that is larger than `max` begins when it is alone, for
 * otherwise it never would.
 */
export function admitDrains(drains: readonly WaitingDrain[], max: number): ReadonlySet<string> {
  const admitted = new Set<string>();
  const busy = new Set<string>();
  for (const { name, begun, nodes } of inAdmissionOrder(drains)) {
    const after = new Set([...busy, ...nodes]);
    if (!begun && after.size > max && busy.size > 0) continue;
    admitted.add(name);
    for (const node of nodes) busy.add(node);
  }
  return admitted;
}
