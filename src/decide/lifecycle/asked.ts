import type { Eviction, LifecycleRequest } from '../../api/lifecycle.ts';
import { isAnswered, isOver } from './conditions.ts';
import { wantsEviction } from './requesters.ts';

/**
 * Whether anybody asks for the eviction of a pod, of which all requests and Evictions are given: an Eviction is under way, or a
 * request wants one that is still to come, also where earlier ones have failed.
 */
export function isAskedFor(requests: readonly LifecycleRequest[], evictions: readonly Eviction[]): boolean {
  return evictions.some((each) => !isOver(each)) || requests.some((each) => wantsEviction(each) && !isAnswered(each));
}
