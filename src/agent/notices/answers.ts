import type { NoticeSource } from '../../cloud/notice-source.ts';
import { type Told, type Word, wordDueMs } from '../../decide/notice/answer.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { createWakeup, type Wakeup } from '../iteration/wakeup.ts';

/** The notices that this node is drained for, and how far the drain is. */
interface Served {
  readonly ids: readonly string[];
  readonly word: Word;
}

/** Tells the providers how far the drain is that they wait for, beside the iterations of the agent: no iteration waits for a provider. */
export interface NoticeAnswers {
  /** Takes what is to be told; undefined where nothing is. Never waits, never throws. */
  show(served: Served | undefined): void;
  /** What providers have not taken, for people. */
  problems(): readonly string[];
  /** Tells these sources until `signal` is aborted; never rejects. */
  run(sources: readonly NoticeSource[], signal: AbortSignal): Promise<void>;
}

/** How long it waits where nothing is to be told; `show` ends the wait. */
const IDLE_MS = 3_600_000;

const SENTENCES: Readonly<Record<Word, string>> = {
  draining: 'cannot tell the provider that the node still drains',
  ready: 'cannot tell the provider that the node is drained',
};

type Answer = { readonly told: Told; readonly problem?: string };

class Answers implements NoticeAnswers {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #wakeup: Wakeup;
  #served: Served | undefined;
  /** By source and notice. */
  readonly #answers = new Map<string, Answer>();

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
    this.#wakeup = createWakeup(clock);
  }

  show(served: Served | undefined): void {
    if (JSON.stringify(served) === JSON.stringify(this.#served)) return;
    this.#served = served;
    if (served === undefined) this.#answers.clear();
    this.#wakeup.notify();
  }

  problems(): readonly string[] {
    return [...this.#answers.values()].flatMap(({ problem }) => problem ?? []);
  }

  async run(sources: readonly NoticeSource[], signal: AbortSignal): Promise<void> {
    const hearing = sources.filter((source) => source.acknowledge !== undefined || source.moreTime !== undefined);
    if (hearing.length === 0) return;
    while (!signal.aborted) {
      let dueMs = IDLE_MS;
      for (const source of hearing) {
        for (const id of this.#served?.ids ?? []) dueMs = Math.min(dueMs, await this.#tell(source, id, signal));
      }
      if (!signal.aborted) await this.#wakeup.wait(dueMs, signal);
    }
  }

  /** Tells the source now where it is time for that; returns in how many milliseconds it is to be told next. */
  async #tell(source: NoticeSource, id: string, signal: AbortSignal): Promise<number> {
    const word = this.#served?.word;
    if (word === undefined || signal.aborted) return IDLE_MS;
    const { moreTime } = source;
    const send =
      word === 'ready'
        ? source.acknowledge && (() => source.acknowledge?.(id, signal))
        : moreTime && (() => moreTime.ask(id, signal));
    if (send === undefined) return IDLE_MS;
    const everyMs = moreTime?.everyMs ?? IDLE_MS;
    const key = `${source.name} ${id}`;
    const before = this.#answers.get(key);
    const dueMs = wordDueMs(word, everyMs, before?.told, this.#clock.monotonic());
    if (dueMs > 0) return dueMs;
    const failures = before?.told.word === word ? before.told.failures : 0;
    const problem = await this.#attempt(word, source, send, signal);
    const told: Told = { word, at: this.#clock.monotonic(), failures: problem === undefined ? 0 : failures + 1 };
    if (problem !== undefined && problem !== before?.problem)
      this.#log.warn({ notice: id, reason: problem }, SENTENCES[word]);
    this.#answers.set(key, { told, ...(problem === undefined ? {} : { problem }) });
    return wordDueMs(word, everyMs, told, this.#clock.monotonic());
  }

  /** What is wrong, in a sentence; undefined where the provider has taken it. */
  async #attempt(
    word: Word,
    { name }: NoticeSource,
    send: () => Promise<void> | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      await send();
      return undefined;
    } catch (error) {
      return signal.aborted ? undefined : `${SENTENCES[word]} (${name}): ${describeError(error)}`;
    }
  }
}

/** Nothing is told before `run`. */
export function createNoticeAnswers(clock: Clock, log: Log): NoticeAnswers {
  return new Answers(clock, log);
}
