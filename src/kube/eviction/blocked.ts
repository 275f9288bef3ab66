/** What budgets keep, for the engine of evictions by the Eviction API. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import { type BlockedEviction, budgetCovers } from '../../decide/disruption-budget/covers.ts';
import { decideEvictionStep, type EvictionMemory, type EvictionPatience } from '../../decide/eviction/imperative.ts';
import type { Clock } from '../../host/clock.ts';
import type { ObjectCache } from '../watch.ts';
import type { EvictionAttempts } from './attempt-memory.ts';

/** What is looked at. */
interface BlockedParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly request: (key: string) => EvictionRequest | undefined;
  readonly pods: { get(key: string): Pod | undefined };
  readonly budgets: Pick<ObjectCache<PodDisruptionBudget>, 'get'>;
  readonly patienceOf: (request: EvictionRequest) => EvictionPatience;
}

/** The memory without its budgets where none of them covers the pod any more, for instance because of new labels. */
export function unblocked(parts: Pick<BlockedParts, 'budgets'>, memory: EvictionMemory, pod: Pod): EvictionMemory {
  const { namespace } = pod.metadata;
  const budgets = memory.blockedBy.map((name) => parts.budgets.get(`${namespace}/${name}`));
  const free = budgets.length > 0 && budgets.every((budget) => budget !== undefined && !budgetCovers(budget, pod));
  return free ? { ...memory, nextAt: 0, blockedBy: [] } : memory;
}

/**
 * The evictions of the namespace that a budget has blocked and that would be tried now but for their pause. Others need no
 * room: their pod is terminating, or it is left to its controller or to an eviction in the background.
 */
export function blockedIn(
  parts: BlockedParts,
  memories: EvictionAttempts,
  namespace: string,
): readonly BlockedEviction[] {
  return memories.list().flatMap(([key, memory]) => {
    const { blockedBy } = memory;
    if (blockedBy.length === 0 || !key.startsWith(`${namespace}/`)) return [];
    const request = parts.request(key);
    const pod = parts.pods.get(`${namespace}/${request?.spec.target.pod.name ?? ''}`);
    if (request === undefined || pod === undefined) return [];
    const patience = parts.patienceOf(request);
    const step = decideEvictionStep({ request, pod }, { ...memory, nextAt: 0 }, patience, parts.clock.now());
    return step.kind === 'evict' ? [{ key, pod, blockedBy }] : [];
  });
}
