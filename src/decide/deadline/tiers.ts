/**
 * How the time until a deadline is shared: worked backwards from it over the tiers of a drain. The end belongs to volumes, the
 * part before it to static pods, the rest to the other tiers. Grace periods are shortened where they must be, to 1 s at the
 * least, and never made longer. All times are milliseconds since the epoch unless their names say otherwise.
 */
import type { DrainPlanEntry, PodType } from '../../api/node-maintenance.ts';
import { effectiveDrainPlan, entryCovers } from '../maintenance/drain-plan.ts';
import type { DrainPod } from '../pod.ts';

/** A deadline, and when it became known. */
export interface Deadline {
  readonly since: number;
  readonly at: number;
}

/** Pods that leave together. */
export interface BudgetTier {
  readonly podType: PodType;
  /** The longest grace period of its pods, in seconds. */
  readonly graceSec: number;
}

/** A pod with its own grace period in seconds. */
export type GracefulPod = Pick<DrainPod, 'podType' | 'priority' | 'labels'> & {
  readonly graceSec: number;
  /** Whether the pod is terminating; absent if that is not known. */
  readonly isTold?: boolean;
};

/** Reserve for unmounting volumes after the last container exits: a share of the notice, with an upper bound. */
const VOLUME_SHARE = 0.1;
const MAX_VOLUME_MS = 10_000;
/** Share of the notice reserved for static pods, if they need it. */
const STATIC_SHARE = 0.3;
/** What a tier costs beside its grace periods: the order to end, and the news that it ended. */
const TIER_COST_MS = 2_000;
const MAX_TIER_COST_SHARE = 0.25;
/** The least that a tier needs from the order to its last SIGKILL: the kubelet makes 2 s of any shorter grace period. */
const LEAST_TIER_MS = 2_500;
/** Upper bound of that share when the notice is very short: other pods must be signalled first. */
const MAX_STATIC_SHARE = 0.6;
const LEAST_SEC = 1;
/** A tier that is due waits at most this long for earlier pods to be signalled. Pods that cannot be signalled are not waited for. */
const TELLING_MS = 500;

/** What is kept for unmounting volumes, in milliseconds. */
function volumeReserveMs({ since, at }: Deadline): number {
  return Math.min(MAX_VOLUME_MS, Math.max(0, at - since) * VOLUME_SHARE);
}

/** What a tier takes where nothing presses. */
function wantedMs({ graceSec }: Pick<BudgetTier, 'graceSec'>): number {
  return graceSec * 1000 + TIER_COST_MS;
}

/** What static pods are sure of, in milliseconds. */
function staticReserveMs({ since, at }: Deadline, tiers: readonly BudgetTier[]): number {
  const own = tiers.filter(({ podType }) => podType === 'Static');
  const wanted = own.reduce((sum, tier) => sum + wantedMs(tier), 0);
  const total = Math.max(0, at - since);
  const sure = Math.max(Math.min(own.length * LEAST_TIER_MS, total * MAX_STATIC_SHARE), total * STATIC_SHARE);
  return Math.min(wanted, sure);
}

/** Shares out `total` so that nobody gets more than wanted, and who gets less gets as much as the others who do. */
function shareOut(wanted: readonly number[], total: number): readonly number[] {
  let left = Math.max(0, total);
  const shares = wanted.map(() => 0);
  const order = wanted.map((_, index) => index).toSorted((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0));
  order.forEach((index, done) => {
    const share = Math.min(wanted[index] ?? 0, left / (order.length - done));
    shares[index] = share;
    left -= share;
  });
  return shares;
}

function graceOf(tiers: readonly BudgetTier[], leftMs: number): readonly number[] {
  const costs = Math.min(tiers.length * TIER_COST_MS, Math.max(0, leftMs) * MAX_TIER_COST_SHARE);
  const shares = shareOut(
    tiers.map(({ graceSec }) => graceSec * 1000),
    leftMs - costs,
  );
  return tiers.map(({ graceSec }, index) =>
    Math.min(graceSec, Math.max(LEAST_SEC, Math.floor((shares[index] ?? 0) / 1000))),
  );
}

/** The longest grace period, in seconds, of each of the tiers that are left, in their order. */
export function budgetTiers(deadline: Deadline, tiers: readonly BudgetTier[], now: number): readonly number[] {
  const left = deadline.at - now - volumeReserveMs(deadline);
  const statics = tiers.filter(({ podType }) => podType === 'Static');
  const others = tiers.filter(({ podType }) => podType !== 'Static');
  const graces = graceOf(others, left - staticReserveMs(deadline, tiers));
  // What the others will have used by then is gone.
  const used = graces.reduce((sum, graceSec) => sum + graceSec * 1000 + TIER_COST_MS, 0);
  const forStatics = Math.max(left - used, Math.min(left, staticReserveMs(deadline, tiers)));
  return [...graces, ...graceOf(statics, forStatics)];
}

/** When each of some tiers has to begin so that the last is through by `to`, none before `from`. */
function beginsOf(tiers: readonly BudgetTier[], from: number, to: number): readonly number[] {
  const costs = shareOut(tiers.map(wantedMs), to - from);
  return costs.map((_, index) => Math.max(from, to - costs.slice(index).reduce((sum, cost) => sum + cost, 0)));
}

/** Moves begins closer together, towards `from`, so that the last of them is not after `latest`. */
function compress(begins: readonly number[], from: number, latest: number): readonly number[] {
  const last = begins.at(-1) ?? from;
  if (last <= Math.max(from, latest)) return begins;
  const factor = Math.max(0, latest - from) / (last - from);
  return begins.map((begin) => Math.min(begin, from + (begin - from) * factor));
}

/**
 * When each of the tiers that are left, in the order of the plan, is told to end at the latest, whatever is still there
 * before it: never before an earlier one. Where the time does not even give each tier its least, they begin one soon after
 * another, and the last early enough to be through.
 */
export function tierDues(deadline: Deadline, tiers: readonly BudgetTier[]): readonly number[] {
  const end = deadline.at - volumeReserveMs(deadline);
  const from = Math.min(deadline.since, end);
  const staticsFrom = end - staticReserveMs(deadline, tiers);
  const others = beginsOf(
    tiers.filter(({ podType }) => podType !== 'Static'),
    from,
    staticsFrom,
  );
  const statics = beginsOf(
    tiers.filter(({ podType }) => podType === 'Static'),
    staticsFrom,
    end,
  );
  const latest = end - LEAST_TIER_MS;
  return [
    ...compress(others, from, latest),
    ...compress(statics, Math.min(staticsFrom, Math.max(from, latest)), latest),
  ];
}

/** The grace period of a pod within the budget of its tier, both in seconds: never longer than its own. */
export function graceWithin(ownSec: number, budgetSec: number): number {
  return Math.min(ownSec, Math.max(LEAST_SEC, budgetSec));
}

/** The tiers of the effective plan that have pods, in their order. */
export function tiersOf(
  plan: readonly DrainPlanEntry[],
  pods: readonly GracefulPod[],
): readonly { readonly entry: DrainPlanEntry; readonly tier: BudgetTier }[] {
  const longest = new Map<DrainPlanEntry, number>();
  for (const pod of pods) {
    const entry = plan.find((each) => entryCovers(each, pod));
    if (entry !== undefined) longest.set(entry, Math.max(longest.get(entry) ?? 0, pod.graceSec));
  }
  return plan.flatMap((entry) => {
    const graceSec = longest.get(entry);
    return graceSec === undefined ? [] : [{ entry, tier: { podType: entry.podType, graceSec } }];
  });
}

/**
 * The grace period in seconds of one of the pods that are left; its own where its tier has the time, or no plan entry
 * takes it. `plan` is as configured or specified; the default entries are injected.
 */
export function graceSecFor(
  pod: GracefulPod,
  { pods, plan }: { readonly pods: readonly GracefulPod[]; readonly plan: readonly DrainPlanEntry[] },
  deadline: Deadline,
  now: number,
): number {
  const tiers = tiersOf(effectiveDrainPlan(plan), pods);
  const budgets = budgetTiers(
    deadline,
    tiers.map(({ tier }) => tier),
    now,
  );
  const index = tiers.findIndex(({ entry }) => entryCovers(entry, pod));
  return graceWithin(pod.graceSec, budgets[index] ?? pod.graceSec);
}

/** How far a deadline takes a drain, whatever is still there. */
export interface DueTiers {
  /** How many entries of the plan are reached at the least; 0 for none. */
  readonly position: number;
  /** When the next tier is due, in milliseconds since the epoch; absent where none is left. */
  readonly nextAt?: number;
}

/** Decides it at a moment. `plan` is the effective one; `pods` are those that are left. */
export function dueTiers(
  plan: readonly DrainPlanEntry[],
  pods: readonly GracefulPod[],
  deadline: Deadline,
  now: number,
): DueTiers {
  const tiers = tiersOf(plan, pods);
  const untold = pods.filter(({ isTold }) => isTold === false);
  const firstUntold = tiers.findIndex(({ entry }) => {
    return untold.some((pod) => plan.find((each) => entryCovers(each, pod)) === entry);
  });
  const dues = tierDues(
    deadline,
    tiers.map(({ tier }) => tier),
  ).map((due, index) => (firstUntold >= 0 && index > firstUntold ? due + TELLING_MS : due));
  const reached = tiers.findLast((_, index) => (dues[index] ?? Infinity) <= now);
  const nextAt = dues.find((due) => due > now);
  const position = reached === undefined ? 0 : plan.indexOf(reached.entry) + 1;
  return { position, ...(nextAt === undefined ? {} : { nextAt }) };
}

/**
 * Until when somebody else may try to make a pod leave before it is told to end itself, in milliseconds since the epoch:
 * until it needs its whole grace period; where its tier has less time than that, half of the tier's time. `plan` is as
 * configured or specified; `pods` are those that are left.
 */
export function othersUntil(
  pod: GracefulPod,
  pods: readonly GracefulPod[],
  plan: readonly DrainPlanEntry[],
  deadline: Deadline,
): number {
  const tiers = tiersOf(effectiveDrainPlan(plan), pods);
  const index = tiers.findIndex(({ entry }) => entryCovers(entry, pod));
  const own = tiers[index]?.tier;
  const end = deadline.at - volumeReserveMs(deadline);
  if (own === undefined) return end - wantedMs(pod);
  const dues = tierDues(
    deadline,
    tiers.map(({ tier }) => tier),
  );
  const through = dues[index + 1] ?? end;
  const timeMs = through - (dues[index] ?? through);
  return through - Math.min(wantedMs(pod), timeMs < wantedMs(own) ? timeMs / 2 : timeMs);
}
