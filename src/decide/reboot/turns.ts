/**
 * Machines that are asked to reboot at once take turns. They come back, so none of them has to break a PodDisruptionBudget for
 * it: one that waits stays schedulable and gives the pods of the others a place. A reboot waits only for others that are older
 * or have begun, and for none of them without end, so that each gets its turn.
 */
import { firstNames } from '../name-list.ts';
import { rfc3339 } from '../time.ts';

/** A machine that reboots or is to, as the NodeMaintenance says that its agent made. */
export interface Reboot {
  /** The name of the NodeMaintenance. */
  readonly name: string;
  readonly node: string;
  /** Milliseconds since the epoch; Infinity where the API server has not told. */
  readonly createdAt: number;
  /** Whether it has its turn: what has begun is not stopped. */
  readonly begun: boolean;
  /** Whether nothing has changed about it for so long that others no longer wait for it. */
  readonly stalled: boolean;
  /** Whether the node is a member of the control plane. */
  readonly isMember: boolean;
  /** How many Default pods it still has to take from each PodDisruptionBudget, by NAMESPACE/NAME. */
  readonly needs: ReadonlyMap<string, number>;
}

/** What turns are decided by. */
export interface RebootFacts {
  /** Those whose machine is not back yet. */
  readonly reboots: readonly Reboot[];
  /** How many disruptions the PodDisruptionBudget allows now, by NAMESPACE/NAME. */
  readonly allowed: (budget: string) => number;
  /** Members of the control plane that are not at work and that others wait for. */
  readonly membersAway: readonly string[];
  /** How many machines may reboot at once; undefined for as many as budgets allow. */
  readonly maxParallel: number | undefined;
}

/** For whom a reboot waits, and why. */
interface TurnWait {
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly nodes: readonly string[];
  readonly cause: string;
}

/** The reboots in the order of their turns. */
function inOrder<T extends Pick<Reboot, 'name' | 'createdAt'>>(reboots: readonly T[]): readonly T[] {
  return reboots.toSorted((a, b) => {
    const byTime = a.createdAt === b.createdAt ? 0 : a.createdAt - b.createdAt;
    return byTime || (a.name < b.name ? -1 : 1);
  });
}

const MAX_NAMED = 5;
const START = 'Waiting for its turn to reboot since';

/** The wait as a sentence for people. */
export function describeTurnWait({ since, nodes, cause }: TurnWait): string {
  const time = Number.isFinite(since) ? ` ${rfc3339(since)}` : ' now';
  const verb = nodes.length === 1 ? 'goes' : 'go';
  return `${START}${time}: ${firstNames(nodes, MAX_NAMED)} ${verb} first, because of ${cause}.`;
}

/** The reboots that have their turn, and those that were looked at before and wait. */
interface Others {
  /** Those that others wait for: stalled ones are not among them. */
  readonly holders: Reboot[];
  readonly olderWaiting: Reboot[];
}

function needOf({ needs }: Reboot, budget: string): number {
  return needs.get(budget) ?? 0;
}

function sumOf(reboots: readonly Reboot[], budget: string): number {
  return reboots.reduce((sum, each) => sum + needOf(each, budget), 0);
}

function waitOf(reboot: Reboot, others: readonly Reboot[], cause: string): TurnWait | undefined {
  if (others.length === 0) return undefined;
  return { since: reboot.createdAt, nodes: inOrder(others).map(({ node }) => node), cause };
}

/** A member of the control plane waits for every other one that is not at work: etcd may lose its quorum with the next. */
function waitForMembers(reboot: Reboot, { membersAway }: RebootFacts, { holders }: Others): TurnWait | undefined {
  if (!reboot.isMember) return undefined;
  const rebooting = holders.filter(({ isMember }) => isMember).map(({ node }) => node);
  const nodes = [...new Set([...rebooting, ...membersAway])].filter((node) => node !== reboot.node);
  if (nodes.length === 0) return undefined;
  return { since: reboot.createdAt, nodes, cause: 'the control plane, whose members reboot one at a time' };
}

/**
 * A reboot waits where a budget does not allow all pods that it takes, beside those that others before it still have to take.
 * Others that began later took nothing from this budget when they began: those do not count, or there might always be one.
 */
function waitForBudgets(reboot: Reboot, facts: RebootFacts, { holders, olderWaiting }: Others): TurnWait | undefined {
  for (const [budget, need] of [...reboot.needs].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const left = facts.allowed(budget) - sumOf(holders, budget) - sumOf(olderWaiting, budget);
    if (need === 0 || need <= left) continue;
    const isBefore = (other: Reboot): boolean => inOrder([reboot, other])[0] === other;
    const before = holders.filter((each) => isBefore(each) || needOf(each, budget) > 0);
    const queued = olderWaiting.filter((each) => needOf(each, budget) > 0);
    const wait = waitOf(reboot, [...before, ...queued], `the PodDisruptionBudget ${budget}`);
    if (wait !== undefined) return wait;
  }
  return undefined;
}

function waitForPlace(reboot: Reboot, { maxParallel }: RebootFacts, { holders }: Others): TurnWait | undefined {
  if (maxParallel === undefined || holders.length < maxParallel) return undefined;
  const many = maxParallel === 1 ? 'one node reboots' : `${maxParallel} nodes reboot`;
  return waitOf(reboot, holders, `the limit: at most ${many} at once`);
}

/**
 * The reboots that wait for their turn, by the names of their NodeMaintenances. All others have it. The oldest always has its
 * turn when none that counts has it, whatever budgets allow: they are asked for each of its pods.
 */
export function decideTurns(facts: RebootFacts): ReadonlyMap<string, TurnWait> {
  const ordered = inOrder(facts.reboots);
  const others: Others = { holders: ordered.filter(({ begun, stalled }) => begun && !stalled), olderWaiting: [] };
  const waiting = new Map<string, TurnWait>();
  for (const reboot of ordered) {
    if (reboot.begun) continue;
    const wait =
      waitForMembers(reboot, facts, others) ??
      waitForBudgets(reboot, facts, others) ??
      waitForPlace(reboot, facts, others);
    if (wait === undefined) others.holders.push(reboot);
    else {
      waiting.set(reboot.name, wait);
      others.olderWaiting.push(reboot);
    }
  }
  return waiting;
}
