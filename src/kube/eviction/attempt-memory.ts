import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import { type BlockedEviction, budgetCovers } from '../../decide/disruption-budget/covers.ts';
import {
  decideEvictionStep,
  type EvictionMemory,
  type EvictionPatience,
  movedMemory,
} from '../../decide/eviction/imperative.ts';
import { asOfNow, type Clock, type Moment, momentOf } from '../../host/clock.ts';
import type { ObjectCache } from '../watch.ts';

interface Noted {
  readonly memory: EvictionMemory;
  readonly at: Moment;
}

/** What is remembered of evictions, by a key; a clock that is set makes nothing due earlier or later. */
export class EvictionAttempts {
  readonly #clock: Clock;
  readonly #noted = new Map<string, Noted>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(key: string): EvictionMemory | undefined {
    const known = this.#noted.get(key);
    return known === undefined ? undefined : this.#current(known);
  }

  set(key: string, memory: EvictionMemory): void {
    this.#noted.set(key, { memory, at: momentOf(this.#clock) });
  }

  delete(key: string): void {
    this.#noted.delete(key);
  }

  /** All of them. */
  list(): readonly (readonly [string, EvictionMemory])[] {
    return [...this.#noted].map(([key, known]) => [key, this.#current(known)] as const);
  }

  clear(): void {
    this.#noted.clear();
  }

  #current({ memory, at }: Noted): EvictionMemory {
    return movedMemory(memory, asOfNow(at, momentOf(this.#clock)) - at.wall);
  }
}

/** What budgets keep is found by these. */
interface BlockedParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly request: (key: string) => EvictionRequest | undefined;
  readonly pods: { get(key: string): Pod | undefined };
  readonly budgets: Pick<ObjectCache<PodDisruptionBudget>, 'get'>;
  readonly patienceOf: (request: EvictionRequest) => EvictionPatience;
}

/**
 * The memory without its budgets where none of them covers the pod any more, for instance because of new labels; where several
 * of them were in the way of each other, as soon as one does not.
 */
export function unblocked(parts: Pick<BlockedParts, 'budgets'>, memory: EvictionMemory, pod: Pod): EvictionMemory {
  const { namespace } = pod.metadata;
  const budgets = memory.blockedBy.map((name) => parts.budgets.get(`${namespace}/${name}`));
  const left = budgets.filter((budget) => budget === undefined || budgetCovers(budget, pod)).length;
  const free = memory.untilChange === true ? left < budgets.length : budgets.length > 0 && left === 0;
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
    const { blockedBy, untilChange = false } = memory;
    if (blockedBy.length === 0 || !key.startsWith(`${namespace}/`)) return [];
    const request = parts.request(key);
    const pod = parts.pods.get(`${namespace}/${request?.spec.target.pod.name ?? ''}`);
    if (request === undefined || pod === undefined) return [];
    const patience = parts.patienceOf(request);
    const step = decideEvictionStep({ request, pod }, { ...memory, nextAt: 0 }, patience, parts.clock.now());
    return step.kind === 'evict' ? [{ key, pod, blockedBy, untilChange }] : [];
  });
}
