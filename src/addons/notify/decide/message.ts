/** Which message of a drain is due: that it has begun, that it is blocked, and how it ended; each once. */
import type { BlockingPod, NodeMaintenance } from '../../../api/node-maintenance.ts';
import { AGENT_LABEL } from '../../../api/names.ts';
import { timeOf } from '../../../decide/time.ts';
import type { ShutdownReport } from './report.ts';
import { type MessageKind, type Sent, wasSent } from './sent.ts';

/**
 * How far the drain has come. `ended`: its maintenance was completed or deleted with pods left. `canceled`: the shutdown was
 * called off. `unknown`: the node has not said how its shutdown ended.
 */
export type DrainOutcome = 'draining' | 'drained' | 'ended' | 'canceled' | 'forced' | 'undrained' | 'unknown';

/** One message, before it has words. */
export interface DrainMessage {
  readonly kind: MessageKind;
  readonly outcome: DrainOutcome;
  /** The pods that block, the one that has done so longest first; only of `blocked`. */
  readonly blocking: readonly BlockingPod[];
}

/** What is known of a drain. */
export interface MessageFacts {
  /** The maintenance; undefined where it is gone. */
  readonly maintenance: NodeMaintenance | undefined;
  /** What was told of it. */
  readonly told: Sent;
  /** How the last shutdown of its node ended, where the agent of the node made the maintenance. */
  readonly report: ShutdownReport | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** When it was first seen that the maintenance is over, milliseconds since the epoch; undefined where it is not. */
  readonly endedAt: number | undefined;
  readonly blockedAfterMs: number;
}

/** What is to be done for a drain. */
export type MessageDecision =
  | { readonly kind: 'tell'; readonly message: DrainMessage }
  /** Nothing yet; look again after so long, or when something changes. */
  | { readonly kind: 'wait'; readonly againMs?: number }
  /** The maintenance is gone, and everything is told or too old: nothing has to be remembered. */
  | { readonly kind: 'forget' };

/** A drain that was over for longer than this when it was first seen is not told of. */
const NEWS_MS = 60 * 60_000;
/** What nobody takes is not tried any longer than this after the end of the maintenance. */
const GIVE_UP_MS = 24 * 60 * 60_000;
/** For so long after its end a shutdown waits for the report of its node, which has to boot. */
const REPORT_MS = 15 * 60_000;

/** Whether the maintenance was completed, or is being deleted. */
export function hasEnded({ metadata, spec }: NodeMaintenance): boolean {
  return spec.stage !== 'Drain' || metadata.deletionTimestamp !== undefined;
}

function drainedOf({ status }: NodeMaintenance): { readonly status: string; readonly reason: string } | undefined {
  return status?.conditions?.find(({ type }) => type === 'Drained');
}

/** When the drain began, in milliseconds since the epoch; undefined where it has not, or waits for its turn. */
function begunAt(maintenance: NodeMaintenance): number | undefined {
  const drained = drainedOf(maintenance);
  if (drained === undefined || drained.reason === 'Waiting') return undefined;
  const began = maintenance.status?.stageStatuses?.find(({ name }) => name === 'Drain');
  return timeOf(began?.startTimestamp);
}

/** When the drain began that has to be told of though nothing was yet; undefined where it is none, or no news. */
export function isNews(maintenance: NodeMaintenance, now: number): number | undefined {
  const began = begunAt(maintenance);
  if (began === undefined) return undefined;
  const isThrough = hasEnded(maintenance) || drainedOf(maintenance)?.status === 'True';
  return isThrough && now - began > NEWS_MS ? undefined : began;
}

/** The node whose agent made the maintenance for its shutdown; undefined where it is of somebody else. */
export function shutdownNodeOf({ metadata, status }: NodeMaintenance): string | undefined {
  const [node, ...others] = status?.nodeStatuses ?? [];
  return metadata.labels?.[AGENT_LABEL] !== undefined && others.length === 0 ? node?.nodeRef.name : undefined;
}

/** How the drain ended; `againMs` where it is not known yet, undefined where it goes on. */
function outcomeOf(facts: MessageFacts): DrainOutcome | { readonly againMs: number } | undefined {
  const { maintenance, told, report, now, endedAt } = facts;
  const result = report !== undefined && report.at >= told.begunAt ? report.result : undefined;
  if (result === 'forced' || result === 'undrained') return result;
  if (maintenance !== undefined && drainedOf(maintenance)?.status === 'True') return 'drained';
  if (endedAt === undefined) return undefined;
  if (told.node === undefined) return 'ended';
  if (result !== undefined) return result;
  const leftMs = endedAt + REPORT_MS - now;
  return leftMs > 0 ? { againMs: leftMs } : 'unknown';
}

/** The pods that block, the one that has done so longest first. */
function blockingPods({ status }: NodeMaintenance): readonly BlockingPod[] {
  const all = status?.nodeStatuses?.flatMap(({ podsBlocking = [] }) => podsBlocking) ?? [];
  return all.toSorted((a, b) => (timeOf(a.since) ?? 0) - (timeOf(b.since) ?? 0));
}

function tell(kind: MessageKind, outcome: DrainOutcome, blocking: readonly BlockingPod[] = []): MessageDecision {
  return { kind: 'tell', message: { kind, outcome, blocking } };
}

function finalKind(outcome: DrainOutcome): MessageKind {
  return outcome === 'forced' || outcome === 'undrained' || outcome === 'unknown' ? 'forced' : 'done';
}

/** The next message of a drain that has begun. The last one says how it ended: `done` or `forced`, never both. */
export function decideMessage(facts: MessageFacts): MessageDecision {
  const { maintenance, told, now, endedAt, blockedAfterMs } = facts;
  if (maintenance === undefined && endedAt !== undefined && now - endedAt > GIVE_UP_MS) return { kind: 'forget' };
  if (!wasSent(told, 'begun')) return tell('begun', 'draining');
  if (wasSent(told, 'done') || wasSent(told, 'forced')) {
    return { kind: maintenance === undefined ? 'forget' : 'wait' };
  }
  const outcome = outcomeOf(facts);
  if (typeof outcome === 'string') return tell(finalKind(outcome), outcome);
  if (outcome !== undefined) return { kind: 'wait', againMs: outcome.againMs };
  if (maintenance === undefined || wasSent(told, 'blocked')) return { kind: 'wait' };
  const blocking = blockingPods(maintenance);
  const since = timeOf(blocking[0]?.since);
  if (since === undefined) return { kind: 'wait' };
  const leftMs = since + blockedAfterMs - now;
  return leftMs > 0 ? { kind: 'wait', againMs: leftMs } : tell('blocked', 'draining', blocking);
}
