/** Which Eviction of a target counts. */
import type { Eviction } from '../../api/lifecycle.ts';
import { isEvicted, isEvictionOver } from './conditions.ts';

/** The number in the name of an Eviction, which a controller has given it; 0 for other names. */
export function numberOf(name: string): number {
  return Number(/^pod-(\d{1,9})-/.exec(name)?.[1] ?? 0);
}

/** Sorts Evictions of one target: the oldest first. */
export function byAge(a: Eviction, b: Eviction): number {
  const [mine = '', other = ''] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (mine !== other) return mine < other ? -1 : 1;
  return numberOf(a.metadata.name) - numberOf(b.metadata.name);
}

/** The oldest Eviction that is not over: the one that counts. */
export function activeEviction(evictions: readonly Eviction[]): Eviction | undefined {
  return evictions.filter((each) => !isEvictionOver(each)).toSorted(byAge)[0];
}

/** The Eviction whose outcome the requests of the target show. */
export function relevantEviction(evictions: readonly Eviction[]): Eviction | undefined {
  const sorted = evictions.toSorted(byAge);
  return sorted.findLast(isEvicted) ?? activeEviction(sorted) ?? sorted.at(-1);
}
