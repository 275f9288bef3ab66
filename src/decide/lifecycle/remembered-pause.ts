import type { EvictionRequest } from '../../api/eviction-request.ts';
import { IMPERATIVE_INTERCEPTOR } from '../../api/names.ts';
import { pauseAfterMs } from '../eviction/back-off.ts';
import { interceptorEntry } from '../eviction/heartbeat.ts';
import { type EvictionMemory, rememberedAttempts } from '../eviction/imperative.ts';
import { timeOf } from '../time.ts';

/**
 * What is known of the attempts at an eviction when a process starts: their count, and the pause after the last one, which was
 * made at the last heartbeat or up to 20 s after it. `now` is in milliseconds since the epoch.
 */
export function rememberedPause(request: EvictionRequest, now: number): EvictionMemory {
  const memory = rememberedAttempts(request);
  const heardAt = timeOf(interceptorEntry(request, IMPERATIVE_INTERCEPTOR)?.heartbeatTime);
  if (memory.count === 0 || heardAt === undefined) return memory;
  return { ...memory, nextAt: Math.min(heardAt, now) + pauseAfterMs(memory.count) };
}
