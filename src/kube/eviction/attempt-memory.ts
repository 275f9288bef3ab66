import { type EvictionMemory, movedMemory } from '../../decide/eviction/imperative.ts';
import { asOfNow, type Clock, type Moment, momentOf } from '../../host/clock.ts';

/** What is remembered of evictions, by a key; a clock that is set makes nothing due earlier or later. */
export interface EvictionAttempts {
  get(key: string): EvictionMemory | undefined;
  set(key: string, memory: EvictionMemory): void;
  delete(key: string): void;
  /** All of them. */
  list(): readonly (readonly [string, EvictionMemory])[];
  clear(): void;
}

interface Noted {
  readonly memory: EvictionMemory;
  readonly at: Moment;
}

export function createEvictionAttempts(clock: Clock): EvictionAttempts {
  const noted = new Map<string, Noted>();
  const current = ({ memory, at }: Noted): EvictionMemory =>
    movedMemory(memory, asOfNow(at, momentOf(clock)) - at.wall);
  return {
    get: (key) => {
      const known = noted.get(key);
      return known === undefined ? undefined : current(known);
    },
    set: (key, memory) => {
      noted.set(key, { memory, at: momentOf(clock) });
    },
    delete: (key) => {
      noted.delete(key);
    },
    list: () => [...noted].map(([key, known]) => [key, current(known)] as const),
    clear: () => {
      noted.clear();
    },
  };
}
