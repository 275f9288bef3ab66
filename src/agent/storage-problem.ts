import { storageEvent } from '../decide/shutdown/events.ts';
import type { AgentParts } from './parts.ts';
import type { StaticPodStore } from './static-pods/view.ts';

type StorageParts = Pick<AgentParts, 'nodeName' | 'announce'> & {
  readonly state: Pick<AgentParts['state'], 'problem' | 'retry'>;
  readonly clock: Pick<AgentParts['clock'], 'monotonic'>;
  /** Its mover keeps the journal. */
  readonly locator: { store(): { readonly mover: Pick<StaticPodStore['mover'], 'problem' | 'retry'> } };
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
    return this.#parts.state.problem() ?? this.#parts.locator.store().mover.problem();
  }

  /** Writes again, every 10 s, what could not be written, and announces when a problem begins, changes or ends. */
  async retry(): Promise<void> {
    const { state, locator, nodeName, announce, clock } = this.#parts;
    const now = clock.monotonic();
    if (this.#triedAt === undefined || now - this.#triedAt >= RETRY_MS) {
      this.#triedAt = now;
      await state.retry();
      await locator.store().mover.retry();
    }
    const found = this.problem();
    if (found === this.#announced) return;
    this.#announced = found;
    announce(storageEvent(nodeName, found));
  }
}
