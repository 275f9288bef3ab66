import { type PhaseEvent, storageEvent } from '../decide/shutdown/events.ts';
import type { Clock } from '../host/clock.ts';
import type { StateFiles } from '../host/files/state-files.ts';
import type { Mover } from '../static-pods/mover.ts';

/** What of the agent's state the disk does not take or give. No part of the agent waits for the disk. */
export interface Storage {
  /** A sentence for people; undefined while the disk takes everything. */
  readonly problem: () => string | undefined;
  /** Writes again, every 10 s, what could not be written, and announces when a problem begins, changes or ends. */
  readonly retry: () => Promise<void>;
}

interface StorageDependencies {
  readonly state: Pick<StateFiles, 'problem' | 'retry'>;
  readonly journal: Pick<Mover, 'problem' | 'retry'>;
  readonly nodeName: string;
  readonly announce: (event: PhaseEvent) => void;
  readonly clock: Pick<Clock, 'monotonic'>;
}

const RETRY_MS = 10_000;

/** A problem that there is already is announced by the first `retry`. */
export function createStorage({ state, journal, nodeName, announce, clock }: StorageDependencies): Storage {
  let announced: string | undefined;
  let triedAt: number | undefined;
  const problem = (): string | undefined => state.problem() ?? journal.problem();
  return {
    problem,
    retry: async () => {
      if (triedAt === undefined || clock.monotonic() - triedAt >= RETRY_MS) {
        triedAt = clock.monotonic();
        await state.retry();
        await journal.retry();
      }
      const found = problem();
      if (found === announced) return;
      announced = found;
      announce(storageEvent(nodeName, found));
    },
  };
}
