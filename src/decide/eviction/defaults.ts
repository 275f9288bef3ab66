import type { EvictionPatience } from './imperative.ts';

/** The patience of the controller where its flags say nothing else, and that of an agent which drains its own node. */
export const DEFAULT_PATIENCE = { takeOverMs: 60_000, promiseMs: 600_000 } as const satisfies EvictionPatience;

/** The words in a 429 by which a promised eviction differs from a refused one (KEP-1397), where no flag says others. */
export const DEFAULT_PROMISE_WORDS: readonly string[] = ['Eviction triggered'];
