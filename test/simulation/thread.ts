/** A thread that plays histories, one at a time. */
import { playHistory, type SimulatedOutcome } from './play.ts';
import { answerInputs } from './threads.ts';

/** What threads that play histories exchange with the one that shares the seeds out. */
export interface HistoryExchange {
  readonly input: { readonly seed: number; readonly hasAgent: boolean };
  readonly output: Pick<SimulatedOutcome, 'violations' | 'writes'> & { readonly seed: number };
}

answerInputs<HistoryExchange>(async ({ seed, hasAgent }) => {
  const { violations, writes } = await playHistory(seed, { hasAgent });
  return { seed, violations, writes };
});
