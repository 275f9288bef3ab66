import type { Eviction, LifecycleRequest } from '../../api/lifecycle.ts';
import type { KubeObject } from '../../api/meta.ts';
import { isAnswered, isEvictionOver } from './conditions.ts';
import { timeOf } from '../time.ts';

/** Whether the request asks for the eviction now. */
export function wantsEviction({ metadata, spec }: LifecycleRequest): boolean {
  return metadata.deletionTimestamp === undefined && spec.intent === 'Eviction';
}

/**
 * Whether anybody asks for the eviction of a pod, of which all requests and Evictions are given: an Eviction is under way, or a
 * request wants one that is still to come, also where earlier ones have failed.
 */
export function isAskedFor(requests: readonly LifecycleRequest[], evictions: readonly Eviction[]): boolean {
  return askingObjects(requests, evictions).length > 0;
}

/** Since when anybody asks for it, in milliseconds since the epoch; undefined where nobody does. */
export function askedSince(requests: readonly LifecycleRequest[], evictions: readonly Eviction[]): number | undefined {
  const asking = askingObjects(requests, evictions);
  if (asking.length === 0) return undefined;
  return Math.min(...asking.map(({ metadata }) => timeOf(metadata.creationTimestamp) ?? Infinity));
}

function askingObjects(requests: readonly LifecycleRequest[], evictions: readonly Eviction[]): readonly KubeObject[] {
  return [
    ...evictions.filter((each) => !isEvictionOver(each)),
    ...requests.filter((each) => wantsEviction(each) && !isAnswered(each)),
  ];
}
