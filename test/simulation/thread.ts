/** A thread that plays histories, one at a time. */
import { playFleet } from './fleet/play.ts';
import type { FleetFinding } from './fleet/judge.ts';
import type { Finding } from './judge.ts';
import { playHistory } from './play.ts';
import { answerInputs } from './threads.ts';

/** What histories find, of either world. */
export type AnyFinding = Finding | FleetFinding;

/** What threads that play histories exchange with the one that shares the seeds out. */
export interface HistoryExchange {
  readonly input: { readonly seed: number; readonly world: WorldName; readonly hasAgent: boolean };
  readonly output: {
    readonly input: HistoryExchange['input'];
    readonly violations: readonly AnyFinding[];
    readonly writes: number;
  };
}

/** What a history is about: one cluster in which everything happens, or a fleet of machines that go down. */
export type WorldName = 'cluster' | 'fleet';

answerInputs<HistoryExchange>(async (input) => {
  const { seed, world, hasAgent } = input;
  const { violations, writes } = world === 'fleet' ? await playFleet(seed) : await playHistory(seed, { hasAgent });
  return { input, violations, writes };
});
