import { sourcePauseMs } from './source-pause.ts';

/** What is told to a provider about a notice of its own: that the node drains, or that the machine may go. */
export type Word = 'draining' | 'ready';

/** What a provider was told last about a notice. */
export interface Told {
  readonly word: Word;
  /** By a clock that never goes back, in milliseconds. */
  readonly at: number;
  /** How often in succession the provider has not taken it. */
  readonly failures: number;
}

/** After so long a provider that did not take the word for the first time is told again; then less and less often. */
const AGAIN_MS = 5_000;

/**
 * In how many milliseconds from `now` a provider is to be told the word; Infinity for never again. `everyMs` is how often one
 * wants to hear that the node still drains; that the machine may go, it hears once.
 */
export function wordDueMs(word: Word, everyMs: number, told: Told | undefined, now: number): number {
  if (told?.word !== word) return 0;
  const isTaken = told.failures === 0;
  if (isTaken && word === 'ready') return Infinity;
  const pauseMs = isTaken ? everyMs : sourcePauseMs(AGAIN_MS, told.failures - 1);
  return Math.max(0, told.at + pauseMs - now);
}
