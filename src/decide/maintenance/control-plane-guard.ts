import type { KeptPods } from '../../api/node-maintenance.ts';
import { FORCE_ANNOTATION } from '../../api/names.ts';
import type { ControlPlaneMember } from './control-plane-members.ts';

/** Whether a drain leaves the control plane at work. */
type ControlPlaneVerdict = { readonly kind: 'safe' } | { readonly kind: 'unsafe'; readonly message: string };

/**
 * Of the nodes of a drain those whose part of the control plane leaves: not those whose part is static pods, where the
 * drain leaves static pods alone.
 */
export function nodesTaken(
  members: readonly ControlPlaneMember[],
  nodes: readonly string[],
  keep: readonly KeptPods[],
): ReadonlySet<string> {
  if (!keep.includes('Static')) return new Set(nodes);
  const staying = new Set(members.filter(({ isStatic }) => isStatic).map(({ name }) => name));
  return new Set(nodes.filter((node) => !staying.has(node)));
}

/**
 * Judges a drain of the `leaving` nodes: it must not take the last healthy member of the control plane, nor so many that
 * etcd loses its quorum of more than half of its members. `away` are nodes that other maintenances drain already: to
 * drain one of them again takes nothing more. `comesBack` says that the machine reboots.
 */
export function judgeControlPlane(
  members: readonly ControlPlaneMember[],
  leaving: ReadonlySet<string>,
  away: ReadonlySet<string>,
  comesBack = false,
): ControlPlaneVerdict {
  const taken = members.filter(({ name }) => leaving.has(name) && !away.has(name));
  if (taken.length === 0) return { kind: 'safe' };
  const staying = members.filter(({ name }) => !leaving.has(name) && !away.has(name));
  const left = staying.filter(({ fault }) => fault === undefined);
  const quorum = Math.floor(members.length / 2) + 1;
  // Of one or two members none could ever reboot: that all others are at work is the most that waiting can bring.
  const needed = comesBack ? Math.min(quorum, members.length - 1) : quorum;
  if (left.length >= needed) return { kind: 'safe' };
  const names = taken.map(({ name }) => name).join(', ');
  const harm =
    left.length === 0
      ? `draining ${names} takes the last healthy member of the control plane`
      : `draining ${names} leaves ${left.length} of ${members.length} members of the control plane at work, and etcd needs ${quorum}`;
  const faults = staying.flatMap(({ name, fault }) => (fault === undefined ? [] : [`${name}: ${fault}`]));
  return { kind: 'unsafe', message: faults.length === 0 ? harm : `${harm} (${faults.join('; ')})` };
}

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

/** A drain as the guard sees it. */
export interface GuardedDrain extends WaitingDrain {
  /** Whether it may take the control plane: a person said so, or the machine goes down in any case. */
  readonly forced: boolean;
  /** The kinds of pods that it leaves alone. */
  readonly keep: readonly KeptPods[];
  /** Those of its nodes that it has not begun to drain, though it has begun: they joined later. */
  readonly joining: readonly string[];
  /** Whether its machine reboots. */
  readonly comesBack: boolean;
}

function throttledBy(message: string): string {
  const fix = `put a member back, or annotate the maintenance with ${FORCE_ANNOTATION}=true`;
  return `Throttled: ${message}; ${fix}.`;
}

/**
 * The drains that are throttled because they would take the last healthy member of the control plane or the quorum of
 * etcd, each with the reason. What has begun or is forced goes on, and counts against the others.
 */
export function guardControlPlane(
  members: readonly ControlPlaneMember[],
  drains: readonly GuardedDrain[],
): ReadonlyMap<string, string> {
  const throttled = new Map<string, string>();
  const away = new Set<string>();
  const rebooting = new Set<string>();
  for (const drain of inAdmissionOrder(drains)) {
    const free = drain.begun || drain.forced;
    const taken = nodesTaken(members, drain.nodes, drain.keep);
    // A drain that goes on when the machine is back takes it although it is away now.
    const isAway = (node: string): boolean => drain.comesBack || !taken.has(node) || !rebooting.has(node);
    const others = new Set([...away].filter(isAway));
    const verdict = free ? undefined : judgeControlPlane(members, taken, others, drain.comesBack);
    if (verdict?.kind === 'unsafe') {
      throttled.set(drain.name, throttledBy(verdict.message));
      continue;
    }
    for (const node of taken) {
      if (!drain.comesBack) rebooting.delete(node);
      else if (!away.has(node)) rebooting.add(node);
      away.add(node);
    }
  }
  return throttled;
}

/** The nodes that a drain takes now, without those that joined it later. */
function takenByNow(
  members: readonly ControlPlaneMember[],
  { nodes, joining, keep }: GuardedDrain,
): ReadonlySet<string> {
  const begun = nodes.filter((node) => !joining.includes(node));
  return nodesTaken(members, begun, keep);
}

/**
 * The nodes whose static pods stay although their drain has begun: other members of the control plane have fallen away since, and
 * without these it would not be at work. By name, each with the reason. `drains` are those that are not throttled; one that is
 * forced goes on, and counts against the others.
 */
export function guardStaticPods(
  members: readonly ControlPlaneMember[],
  drains: readonly GuardedDrain[],
): ReadonlyMap<string, string> {
  const away = new Set(drains.filter(({ forced }) => forced).flatMap((drain) => [...takenByNow(members, drain)]));
  const held = new Map<string, string>();
  for (const drain of inAdmissionOrder(drains)) {
    if (drain.forced) continue;
    const taken = takenByNow(members, drain);
    const verdict = judgeControlPlane(members, taken, away, drain.comesBack);
    for (const node of taken) {
      if (verdict.kind === 'unsafe') held.set(node, throttledBy(verdict.message));
      else away.add(node);
    }
  }
  return held;
}

/**
 * The nodes that wait although their drain has begun: they joined it later, and would take the last healthy member of the
 * control plane or the quorum of etcd. By the name of the drain and the node, each with the reason. `drains` are those that
 * are not throttled.
 */
export function guardJoiningNodes(
  members: readonly ControlPlaneMember[],
  drains: readonly GuardedDrain[],
): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const away = new Set(drains.flatMap((drain) => [...takenByNow(members, drain)]));
  const waiting = new Map<string, ReadonlyMap<string, string>>();
  for (const { name, joining, forced, keep } of inAdmissionOrder(drains)) {
    const unsafe = new Map<string, string>();
    for (const node of [...nodesTaken(members, joining, keep)].toSorted()) {
      const verdict = forced ? undefined : judgeControlPlane(members, new Set([node]), away);
      if (verdict?.kind === 'unsafe') unsafe.set(node, throttledBy(verdict.message));
      else away.add(node);
    }
    if (unsafe.size > 0) waiting.set(name, unsafe);
  }
  return waiting;
}
