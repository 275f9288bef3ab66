import type { Condition } from '../api/meta.ts';
import { rfc3339 } from './time.ts';

/** Replaces or adds one condition and keeps the order; `at` is its lastTransitionTime, in milliseconds since the epoch. */
export function withCondition(
  conditions: readonly Condition[],
  condition: Omit<Condition, 'lastTransitionTime'>,
  at: number,
): readonly Condition[] {
  const fresh: Condition = { ...condition, lastTransitionTime: rfc3339(at) };
  const known = conditions.some(({ type }) => type === condition.type);
  return known ? conditions.map((old) => (old.type === condition.type ? fresh : old)) : [...conditions, fresh];
}
