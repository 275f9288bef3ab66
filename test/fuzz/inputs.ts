import * as fc from 'fast-check';
import type { FuzzInput, FuzzTarget } from './target.ts';

/** Inputs are made so many at a time. */
export const BATCH = 100;

/** The inputs of a batch: of the same seed always the same. */
export function batchOf(target: FuzzTarget, seed: number, batch: number): readonly FuzzInput[] {
  return fc.sample(target.inputs, { seed: (seed + batch * 7_919) | 0, numRuns: BATCH });
}

/** The input of a number, counted from 0. */
export function inputOf(target: FuzzTarget, seed: number, number: number): FuzzInput {
  return batchOf(target, seed, Math.floor(number / BATCH))[number % BATCH] ?? '';
}
