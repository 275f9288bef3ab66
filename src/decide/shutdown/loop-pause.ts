import type { Phase } from './phase.ts';

/** What decides how long the agent waits for an event before its next iteration. */
export interface PauseFacts {
  readonly phase: Phase;
  /** Whether requests, moves or ending pods are followed, of which no event tells everything. */
  readonly isBusy: boolean;
  /** Milliseconds until a notice becomes due; Infinity where none will. */
  readonly noticeDueInMs: number;
  /** Milliseconds until a scheduled shutdown begins to count; Infinity where none is scheduled. */
  readonly shutdownBeginsInMs: number;
}

/** During a drain with a deadline every look counts. */
const DEADLINE_MS = 250;
const BUSY_MS = 1_000;
const IDLE_MS = 60_000;

/** For how many milliseconds the agent waits for an event before its next iteration. */
export function loopPauseMs({ phase, isBusy, noticeDueInMs, shutdownBeginsInMs }: PauseFacts): number {
  const deadline = phase.kind === 'draining' ? phase.deadline : undefined;
  if (deadline !== undefined && deadline.isHold !== true) return DEADLINE_MS;
  const longest = phase.kind !== 'watching' || isBusy ? BUSY_MS : Math.min(IDLE_MS, noticeDueInMs);
  return Math.min(longest, shutdownBeginsInMs);
}
