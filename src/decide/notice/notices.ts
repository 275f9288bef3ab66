/**
 * What is done about what a cloud announces. One look over all notices there are now: which of them want a drain, by when, and
 * which are left alone and why.
 */
import type { ShutdownKind } from '../shutdown/kind.ts';
import type { PhaseFacts } from '../shutdown/phase.ts';
import { preciseRfc3339 } from '../time.ts';

/** What is going to happen to the machine. */
export type NoticeKind =
  /** It is taken away within minutes: spot interruption, preemption. */
  | 'preempt'
  /** It is stopped or deleted, and somebody waits for it: scale-in, a stop with a grace period. */
  | 'terminate'
  /** It goes down at a time that may be days ahead: reboot, redeployment, retirement. */
  | 'reboot';

/** One announcement, as long as the provider shows it; one that is canceled is not there any more. */
export interface Notice {
  /** The same at every look and after a restart, however the provider's times move. */
  readonly id: string;
  readonly kind: NoticeKind;
  readonly reason: string;
  readonly provider: string;
  /** When it happens at the earliest, in milliseconds since the epoch; absent where the provider names no time. */
  readonly notBefore?: number;
  /** The provider's own words where it names a time that cannot be read. */
  readonly unreadableTime?: string;
  /** What the provider promises, counted from when it tells, where it names no time; in milliseconds. */
  readonly leastMs?: number;
}

/** A notice with what the agent knows beside it. */
interface SeenNotice {
  readonly notice: Notice;
  /** When this machine saw it first, in milliseconds since the epoch. */
  readonly seenAt: number;
  /** Whether an earlier boot of this machine was drained for it. */
  readonly served: boolean;
}

/** The configured part of the rules. */
export interface NoticeOptions {
  /** How long before a reboot that is announced for later its drain begins, in milliseconds. */
  readonly leadMs: number;
}

/** A drain that notices want. */
interface NoticeDemand {
  readonly ids: readonly string[];
  /** Of the notice with the earliest deadline. */
  readonly reason: string;
  /** What becomes of the machine, as that notice says; absent where it does not. */
  readonly shutdownKind?: ShutdownKind;
  /** Milliseconds since the epoch; absent where none of the notices has one. */
  readonly deadline?: number;
}

export interface NoticeDecision {
  readonly demand?: NoticeDemand;
  /** When another notice becomes due, in milliseconds since the epoch. */
  readonly dueAt?: number;
  /** Notices that are left alone although they want something, each with the reason. */
  readonly refused: readonly { readonly id: string; readonly message: string }[];
}

/** What any cloud gives at least before it takes a machine away (GCP and Azure: 30 s). */
const LEAST_PREEMPT_MS = 30_000;

type Verdict =
  | { readonly kind: 'drain'; readonly deadline?: number }
  | { readonly kind: 'later'; readonly at: number }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'nothing' };

/** What an announced time comes to. It is past only if it was past when it was seen first: a drain outlasts its deadline. */
function readTime({ notice, seenAt }: SeenNotice, at: number | undefined): { deadline?: number; complaint?: string } {
  const { notBefore, unreadableTime, leastMs } = notice;
  if (unreadableTime !== undefined) return { complaint: `its time "${unreadableTime}" cannot be read` };
  if (notBefore === undefined || at === undefined) return leastMs === undefined ? {} : { deadline: seenAt + leastMs };
  if (at <= seenAt) return { complaint: `its time ${preciseRfc3339(notBefore)} was over when it was seen first` };
  return { deadline: at };
}

/** A machine that its cloud takes away does not start again by itself. */
function kindOf({ kind }: Notice): { readonly shutdownKind?: ShutdownKind } {
  return kind === 'preempt' || kind === 'terminate' ? { shutdownKind: 'poweroff' } : {};
}

/** `at` is the time of the notice by this machine's clock. */
function judge(seen: SeenNotice, at: number | undefined, options: NoticeOptions, now: number): Verdict {
  const { notice } = seen;
  // What this machine has been drained and rebooted for is over, unless it is yet to come.
  if (seen.served && (at === undefined || at <= now)) return { kind: 'nothing' };
  const { deadline, complaint } = readTime(seen, at);
  if (notice.kind === 'preempt') {
    return { kind: 'drain', deadline: deadline ?? seen.seenAt + (notice.leastMs ?? LEAST_PREEMPT_MS) };
  }
  if (complaint !== undefined) return { kind: 'refused', message: complaint };
  const begin = notice.kind === 'reboot' && deadline !== undefined ? deadline - options.leadMs : now;
  if (begin > now) return { kind: 'later', at: begin };
  return deadline === undefined ? { kind: 'drain' } : { kind: 'drain', deadline };
}

/**
 * Decides about all notices there are `now`, in milliseconds since the epoch. docs/usage/reboots-and-power.md has the table.
 * All times of the decision are of this machine's clock. The cluster's clock is ahead of it by `aheadMs`: a time that a cloud
 * names is one of that clock.
 */
export function decideNotices(
  notices: readonly SeenNotice[],
  options: NoticeOptions,
  now: number,
  aheadMs = 0,
): NoticeDecision {
  const drains: { seen: SeenNotice; deadline: number }[] = [];
  const refused: { id: string; message: string }[] = [];
  let dueAt: number | undefined;
  for (const seen of notices) {
    const { notBefore } = seen.notice;
    const verdict = judge(seen, notBefore === undefined ? undefined : notBefore - aheadMs, options, now);
    if (verdict.kind === 'drain') drains.push({ seen, deadline: verdict.deadline ?? Infinity });
    else if (verdict.kind === 'refused') refused.push({ id: seen.notice.id, message: verdict.message });
    else if (verdict.kind === 'later') dueAt = Math.min(dueAt ?? Infinity, verdict.at);
  }
  const [first] = drains.toSorted((a, b) => (a.deadline < b.deadline ? -1 : Number(a.deadline > b.deadline)));
  const demand: NoticeDemand | undefined =
    first === undefined
      ? undefined
      : {
          ids: drains.map(({ seen }) => seen.notice.id),
          reason: first.seen.notice.reason,
          ...kindOf(first.seen.notice),
          ...(Number.isFinite(first.deadline) ? { deadline: first.deadline } : {}),
        };
  return { ...(demand === undefined ? {} : { demand }), ...(dueAt === undefined ? {} : { dueAt }), refused };
}

/** What the notices say to the phases; 'unknown' from the start until every source has been read once. */
type NoticeAnswer =
  | { readonly kind: 'demand'; readonly demand: NoticeDemand }
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown' };

/**
 * Whether the node is to be drained, from what the machine says and what was announced: either is enough, the machine's word
 * names the origin, and the earlier deadline counts.
 */
export function withNotices(machine: PhaseFacts['goingDown'], notices: NoticeAnswer): PhaseFacts['goingDown'] {
  if (notices.kind === 'none') return machine;
  if (notices.kind === 'unknown') return machine.kind === 'no' ? { kind: 'unknown' } : machine;
  const { ids: _, deadline, ...demand } = notices.demand;
  if (machine.kind !== 'yes') {
    return { kind: 'yes', origin: 'notice', ...demand, ...(deadline === undefined ? {} : { deadline }) };
  }
  const earliest = Math.min(machine.deadline ?? Infinity, deadline ?? Infinity);
  return Number.isFinite(earliest) ? { ...machine, deadline: earliest } : machine;
}
