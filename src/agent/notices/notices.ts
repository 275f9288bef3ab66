/**
 * What clouds announce to this machine. Each source is read in a loop of its own; what all of them announce
 * together is added to the facts from which the phase is decided.
 */
import type { NoticeMemory } from './memory.ts';
import type { NoticeSource } from '../../cloud/notice-source.ts';
import {
  decideNotices,
  type Notice,
  type NoticeDecision,
  type NoticeOptions,
  withNotices,
} from '../../decide/notice/notices.ts';
import { sourcePauseMs } from '../../decide/notice/source-pause.ts';
import type { Phase, PhaseFacts } from '../../decide/shutdown/phase.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { NoticeObserver } from '../../telemetry/notice-metrics.ts';

/** A source of notices and what it announced last. */
interface Channel {
  readonly source: NoticeSource;
  /** Undefined until it was read once. A failure changes nothing: what was announced stays announced. */
  notices: readonly Notice[] | undefined;
}

interface NoticeDependencies {
  /** Finds the sources: only then is it known which cloud this is. */
  readonly sources: (signal: AbortSignal) => Promise<readonly NoticeSource[]>;
  readonly options: NoticeOptions;
  readonly memory: NoticeMemory;
  readonly clock: Clock;
  /** How far the cluster's clock is ahead of this machine's; 0 where it is not known. */
  readonly aheadMs: () => number;
  readonly log: Log;
  /** Absent where no metrics are served. */
  readonly observer?: NoticeObserver | undefined;
  /** Called when what is announced changed. */
  readonly onChange: () => void;
}

/** The notices of this machine, and what is to be done about them. */
export class Notices {
  /** Undefined until the sources are known. */
  #channels: readonly Channel[] | undefined;
  readonly #loggedRefusals = new Set<string>();
  readonly #dependencies: NoticeDependencies;

  /** No source is read before `run`. */
  constructor(dependencies: NoticeDependencies) {
    this.#dependencies = dependencies;
  }

  /** What the machine says, together with what was announced. */
  addTo(machine: PhaseFacts['goingDown'], phase: Phase): PhaseFacts['goingDown'] {
    const { demand } = this.#decide();
    if (demand !== undefined) return withNotices(machine, { kind: 'demand', demand });
    // For a restarted agent, a notice is not gone before every source has been read.
    const mayBe = phase.kind !== 'watching' && phase.origin === 'notice' && !this.#isComplete();
    return withNotices(machine, { kind: mayBe ? 'unknown' : 'none' });
  }

  /** In how many milliseconds a notice becomes due, of which no event tells; Infinity for never. */
  dueInMs(): number {
    return Math.max(0, (this.#decide().dueAt ?? Infinity) - this.#dependencies.clock.now());
  }

  /** Remembers what this boot is drained for. */
  async reconcile(phase: Phase): Promise<void> {
    const { memory } = this.#dependencies;
    const { demand } = this.#decide();
    const isServing = phase.kind === 'draining' || phase.kind === 'released';
    if (demand !== undefined && isServing) memory.serve(demand.ids);
    await memory.save();
  }

  /** Whether every source has been read once. */
  #isComplete(): boolean {
    return this.#channels?.every(({ notices }) => notices !== undefined) === true;
  }

  #decide(): NoticeDecision {
    const { memory, clock, options, aheadMs } = this.#dependencies;
    const now = clock.now();
    const seen = this.#notices().map((notice) => ({
      notice,
      seenAt: memory.seenAt(notice.id, now),
      served: memory.isServed(notice.id),
    }));
    return decideNotices(seen, options, now, aheadMs());
  }

  /** Reads all sources again and again until the signal is aborted; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { log } = this.#dependencies;
    try {
      const sources = await this.#dependencies.sources(signal);
      const channels = sources.map((source): Channel => ({ source, notices: undefined }));
      this.#channels = channels;
      if (sources.length > 0) log.info({ sources: sources.map(({ name }) => name) }, 'watching for notices');
      await Promise.all(channels.map((channel) => this.#watch(channel, signal)));
    } catch (error) {
      if (!signal.aborted) log.error({ reason: describeError(error) }, 'notices are not watched');
      this.#channels ??= [];
    }
  }

  /** Reads the source of a channel again and again until the signal is aborted; never rejects. */
  async #watch(channel: Channel, signal: AbortSignal): Promise<void> {
    const { clock, log, observer } = this.#dependencies;
    const { source } = channel;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const before = channel.notices;
        channel.notices = await source.read(signal);
        observer?.answered(source.name, clock.now());
        if (failures > 0) log.info({ source: source.name, failures }, 'source of notices answers again');
        failures = 0;
        const same = JSON.stringify(before) === JSON.stringify(channel.notices);
        if (!same) this.#noteChange(before ?? [], channel.notices);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        observer?.failed(source.name);
        if (failures === 1) {
          log.warn({ source: source.name, reason: describeError(error) }, 'source of notices failed, trying again');
        }
      }
      await clock.sleep(sourcePauseMs(source.everyMs, failures), signal).catch(() => undefined);
    }
  }

  #notices(): readonly Notice[] {
    return (this.#channels ?? []).flatMap(({ notices }) => notices ?? []);
  }

  #noteChange(before: readonly Notice[], after: readonly Notice[]): void {
    const { memory, log, observer, onChange } = this.#dependencies;
    for (const notice of after.filter(({ id }) => !before.some((each) => each.id === id))) {
      log.info({ notice }, 'notice');
      observer?.appeared(notice);
    }
    for (const { id } of before.filter((each) => !after.some((other) => other.id === each.id))) {
      log.info({ notice: id }, 'notice is gone');
    }
    this.#logRefusals();
    const ids = new Set(this.#notices().map(({ id }) => id));
    for (const id of this.#loggedRefusals) if (!ids.has(id)) this.#loggedRefusals.delete(id);
    if (this.#isComplete()) memory.keep(ids);
    onChange();
  }

  /** Logs each notice that is ignored, once while it is there. */
  #logRefusals(): void {
    for (const { id, message } of this.#decide().refused) {
      if (this.#loggedRefusals.has(id)) continue;
      this.#loggedRefusals.add(id);
      this.#dependencies.log.warn({ notice: id, reason: message }, 'notice ignored');
    }
  }
}
