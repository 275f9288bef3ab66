import { storageEvent } from '../decide/shutdown/events.ts';
import type { AgentContext } from './context.ts';

/** What of the agent's memory the disk does not take or give. Nothing waits for it. */
export interface Storage {
  /** For people; undefined while all is well. */
  problem(): string | undefined;
  /** Tries again, now and then, what could not be written, and tells a change; returns whether there was one. */
  retry(): Promise<boolean>;
}

const RETRY_MS = 10_000;

/** Makes it; a problem that there is already is told by the first `tend`. */
export function createStorage({
  state,
  journal,
  nodeName,
  announce,
  clock,
}: Pick<AgentContext, 'state' | 'journal' | 'nodeName' | 'announce' | 'clock'>): Storage {
  let told: string | undefined;
  let triedAt = Number.NEGATIVE_INFINITY;
  const problem = (): string | undefined => state.problem() ?? journal.problem();
  return {
    problem,
    retry: async () => {
      if (clock.monotonic() - triedAt >= RETRY_MS) {
        triedAt = clock.monotonic();
        await state.retry();
        await journal.retry();
      }
      const found = problem();
      if (found === told) return false;
      told = found;
      announce(storageEvent(nodeName, found));
      return true;
    },
  };
}
