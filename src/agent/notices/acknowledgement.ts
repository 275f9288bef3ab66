import type { NoticeSource } from '../../cloud/notice-source.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';

/** Tells the providers that this machine is ready for what they announced. */
export interface Acknowledgement {
  /** Tells each notice that no provider has confirmed yet, at most every five seconds. A failure is logged only. */
  acknowledge(ids: readonly string[], sources: readonly NoticeSource[], signal: AbortSignal): Promise<void>;
}

/** After so long a provider that did not take the answer is told again. */
const TELL_EVERY_MS = 5_000;

/** Nothing is asked of a provider before `acknowledge`. */
export function createAcknowledgement(clock: Pick<Clock, 'monotonic'>, log: Log): Acknowledgement {
  const acknowledged = new Set<string>();
  let triedAt: number | undefined;
  const tell = async (id: string, sources: readonly NoticeSource[], signal: AbortSignal): Promise<void> => {
    try {
      for (const source of sources) await source.acknowledge?.(id, signal);
      acknowledged.add(id);
    } catch (error) {
      signal.throwIfAborted();
      log.warn({ notice: id, reason: describeError(error) }, 'cannot tell the provider that the node is drained');
    }
  };
  return {
    acknowledge: async (ids, sources, signal) => {
      const open = ids.filter((id) => !acknowledged.has(id));
      const isTooSoon = triedAt !== undefined && clock.monotonic() - triedAt < TELL_EVERY_MS;
      if (open.length === 0 || isTooSoon) return;
      triedAt = clock.monotonic();
      for (const id of open) await tell(id, sources, signal);
    },
  };
}
