import type { Finding } from './table.ts';

/** What every case gets. */
export interface Bench {
  /** The command that runs nodemaint. */
  readonly program: readonly [string, ...string[]];
  readonly signal: AbortSignal;
}

/** One case of the bench. */
export interface Case {
  readonly what: string;
  /** The number of nodes (or of repetitions) at which the case ends within two minutes. */
  readonly quick: number;
  /** The numbers at which the whole bench runs it. */
  readonly full: readonly number[];
  run(bench: Bench, count: number): Promise<Finding>;
}

/** The names of so many nodes. */
export function nodeNames(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `n-${index}`);
}
