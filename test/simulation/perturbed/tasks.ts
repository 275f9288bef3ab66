/** What threads that play plans are told, and what they answer. */
import type { Find } from '../../perturbation/judge.ts';

/** A plan, as `planText` writes it, and the seed that draws how long everything is under way. */
export interface ToPlay {
  readonly text: string;
  readonly seed: number;
}

/** What came of a plan. */
export interface Played extends ToPlay {
  /** Whether all of its moments have come. */
  readonly reached: boolean;
  readonly finds: readonly Find[];
  /** What the programs have logged, where something was found. */
  readonly log: readonly string[];
  /** How long it took on this machine. */
  readonly ms: number;
}

/** What threads that play plans exchange with the one that shares the plans out. */
export interface PlanExchange {
  readonly input: ToPlay;
  readonly output: Played;
}
