import { counted } from '../counted.ts';
import { type GuardedDrain, guardControlPlane, inAdmissionOrder, type WaitingDrain } from './control-plane-guard.ts';
import type { ControlPlaneMember } from './control-plane-members.ts';
import { firstNames } from '../name-list.ts';

/** A drain that may have to wait for others. */
export interface ThrottledDrain extends GuardedDrain {
  /** Whether the agent of its node made it: the machine goes down in any case. */
  readonly isShutdown: boolean;
}

/** A drain that waits names so many of those that have the places. */
const MAX_NAMED = 3;
/** A node has a few: its shutdown, a notice, a person's. Each more of them is compared with all others in each pass. */
const MAX_SOLE = 20;

/**
 * The maintenances that have to wait because too many drain their one node: of those that select it alone, `max` are looked
 * at, in that order. One that selects several nodes never waits for that.
 */
function crowdedDrains(drains: readonly WaitingDrain[], max: number): ReadonlySet<string> {
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

/**
 * The drains that may not begin now, by name, and why: those that are too many for one node, then those that would take
 * the control plane, then those beyond `maxParallelNodes` nodes at once; undefined for no such limit.
 */
export function throttleDrains(
  members: readonly ControlPlaneMember[],
  drains: readonly ThrottledDrain[],
  maxParallelNodes: number | undefined,
): ReadonlyMap<string, string> {
  // A machine goes down in any case, however many others drain it; the names of its own drains are few.
  const crowded = crowdedDrains(
    drains.filter(({ isShutdown }) => !isShutdown),
    MAX_SOLE,
  );
  const others = drains.filter(({ name }) => !crowded.has(name));
  const throttled = new Map(guardControlPlane(members, others));
  const crowd = `Waiting for other maintenances of the node: at most ${MAX_SOLE} drain it at once.`;
  for (const name of crowded) throttled.set(name, crowd);
  if (maxParallelNodes === undefined) return throttled;
  // A shutdown takes no place of others: its node could keep that for ever.
  const candidates = others.filter(({ name, isShutdown }) => !throttled.has(name) && !isShutdown);
  const admitted = admitDrains(candidates, maxParallelNodes);
  const most = counted(maxParallelNodes, 'node is', 'nodes are');
  const holders = firstNames([...admitted], MAX_NAMED);
  const message = `Waiting for other maintenances, ${holders}: at most ${most} drained at once.`;
  for (const { name } of candidates) if (!admitted.has(name)) throttled.set(name, message);
  return throttled;
}
