import type { NoticeSource } from '../../cloud/notice-source.ts';
import { sourcePauseMs } from '../../decide/notice/source-pause.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { createWakeup, type Wakeup } from '../iteration/wakeup.ts';

/** How long it waits where nothing is to be told; `show` ends the wait. */
const IDLE_MS = 3_600_000;
/** After so long a provider that did not take it for the first time is told again; then less and less often. */
const AGAIN_MS = 5_000;
const SENTENCE = 'cannot tell the provider that the node is drained';

type Answer =
  | { readonly kind: 'taken' }
  | { readonly kind: 'refused'; readonly problem: string; readonly failures: number; readonly againAt: number };

/** Tells the providers that wait for it that the node is drained, beside the iterations of the agent: no iteration waits for a provider. */
export class NoticeAnswers {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #wakeup: Wakeup;
  #ready: readonly string[] = [];
  /** By source and notice. */
  readonly #answers = new Map<string, Answer>();

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
    this.#wakeup = createWakeup(clock);
  }

  /** Takes the notices that the machine is ready for; none while it drains. Never waits, never throws. */
  show(ready: readonly string[]): void {
    if (ready.join('\n') === this.#ready.join('\n')) return;
    this.#ready = ready;
    if (ready.length === 0) this.#answers.clear();
    this.#wakeup.notify();
  }

  /** What providers have not taken, for people. */
  problems(): readonly string[] {
    return [...this.#answers.values()].flatMap((answer) => (answer.kind === 'refused' ? answer.problem : []));
  }

  /** Tells these sources until `signal` is aborted; never rejects. */
  async run(sources: readonly NoticeSource[], signal: AbortSignal): Promise<void> {
    const hearing = sources.filter((source) => source.acknowledge !== undefined);
    if (hearing.length === 0) return;
    while (!signal.aborted) {
      let dueMs = IDLE_MS;
      for (const source of hearing) {
        for (const id of this.#ready) dueMs = Math.min(dueMs, await this.#tell(source, id, signal));
      }
      if (!signal.aborted) await this.#wakeup.wait(dueMs, signal);
    }
  }

  /** Tells the source now where it is time for that; returns in how many milliseconds it is to be told next. */
  async #tell(source: NoticeSource, id: string, signal: AbortSignal): Promise<number> {
    if (signal.aborted || !this.#ready.includes(id)) return IDLE_MS;
    const key = `${source.name} ${id}`;
    const before = this.#answers.get(key);
    if (before?.kind === 'taken') return IDLE_MS;
    const waitMs = (before?.againAt ?? 0) - this.#clock.monotonic();
    if (before !== undefined && waitMs > 0) return waitMs;
    try {
      await source.acknowledge?.(id, signal);
      this.#answers.set(key, { kind: 'taken' });
      return IDLE_MS;
    } catch (error) {
      if (signal.aborted) return IDLE_MS;
      const problem = `${SENTENCE} (${source.name}): ${describeError(error)}`;
      if (problem !== before?.problem) this.#log.warn({ notice: id, reason: problem }, SENTENCE);
      const failures = (before?.failures ?? 0) + 1;
      const pauseMs = sourcePauseMs(AGAIN_MS, failures - 1);
      this.#answers.set(key, { kind: 'refused', problem, failures, againAt: this.#clock.monotonic() + pauseMs });
      return pauseMs;
    }
  }
}
