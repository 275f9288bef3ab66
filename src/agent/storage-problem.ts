import { storageEvent } from '../decide/shutdown/events.ts';
import type { AgentParts } from './open.ts';

type StorageParts = Pick<AgentParts, 'journal' | 'nodeName' | 'announce'> & {
  readonly state: Pick<AgentParts['state'], 'problem' | 'retry'>;
  readonly clock: Pick<AgentParts['clock'], 'monotonic'>;
};

const RETRY_MS = 10_000;

/** What of the agent's state the disk does not take or give. No part of the agent waits for the disk. */
export class Storage {
  readonly #parts: StorageParts;
  #announced: string | undefined;
  #triedAt: number | undefined;

  /** A problem that there is already is announced by the first `retry`. */
  constructor(parts: StorageParts) {
    this.#parts = parts;
  }

  /** A sentence for people; undefined while the disk takes everything. */
  problem(): string | undefined {
    return this.#parts.state.problem() ?? this.#parts.journal.problem();
  }

  /** Writes again, every 10 s, what could not be written, and announces when a problem begins, changes or ends. */
  async retry(): Promise<void> {
    const { state, journal, nodeName, announce, clock } = this.#parts;
    const now = clock.monotonic();
    if (this.#triedAt === undefined || now - this.#triedAt >= RETRY_MS) {
      this.#triedAt = now;
      await state.retry();
      await journal.retry();
    }
    const found = this.problem();
    if (found === this.#announced) return;
    this.#announced = found;
    announce(storageEvent(nodeName, found));
  }
}
