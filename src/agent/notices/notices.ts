/**
 * What clouds and files announce to this machine: each source is looked at in a loop of its own, and what all of them say
 * together is put into the facts from which the phase is decided.
 */
import type { NoticeSource } from '../../cloud/notice-source.ts';
import {
  decideNotices,
  type Notice,
  type NoticeDecision,
  type NoticeOptions,
  withNotices,
} from '../../decide/notice/notices.ts';
import type { Phase, PhaseFacts } from '../../decide/shutdown/phase.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { NoticeObserver } from '../../telemetry/metrics.ts';
import type { NoticeMemory } from './memory.ts';

/** The notices of this machine. */
export interface Notices {
  /** What the machine says, with what was announced. */
  addTo(machine: PhaseFacts['goingDown'], phase: Phase): PhaseFacts['goingDown'];
  /** The deadline that somebody gave with a trigger, in milliseconds since the epoch; undefined takes it back. */
  limit(deadline: number | undefined): void;
  /** Why the node is to be cordoned, by a notice that wants no more than that. */
  cordon(): string | undefined;
  /** In how many milliseconds something becomes due that nobody will tell; Infinity for never. */
  dueInMs(): number;
  /** Remembers what this boot is drained for, and tells providers when the machine is ready. */
  reconcile(phase: Phase, signal: AbortSignal): Promise<void>;
  /** Looks at all sources until the signal is aborted; never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

export interface NoticeDependencies {
  /** Finds the sources: only then is it known which cloud this is. */
  readonly sources: (signal: AbortSignal) => Promise<readonly NoticeSource[]>;
  readonly options: NoticeOptions;
  readonly memory: NoticeMemory;
  readonly clock: Clock;
  readonly log: Log;
  /** Absent where nobody counts. */
  readonly observer?: NoticeObserver | undefined;
  /** Called when what is announced changed. */
  readonly onChange: () => void;
}

/** A provider that does not take the answer is told again after so long. */
const TELL_EVERY_MS = 5_000;
/** The pause doubles with each failure up to this, which still leaves half of a two minutes' notice. */
const MAX_PAUSE_MS = 60_000;

interface Channel {
  readonly source: NoticeSource;
  /** Undefined until it was read once. A failure changes nothing: what was announced stays announced. */
  notices: readonly Notice[] | undefined;
}

/** Makes the notices; nothing is asked of anybody before `run`. */
export function createNotices(dependencies: NoticeDependencies): Notices {
  const { options, memory, clock, log, observer, onChange } = dependencies;
  let channels: readonly Channel[] | undefined;
  let limited: number | undefined;
  const told = new Set<string>();
  const acknowledged = new Set<string>();
  let toldAt = Number.NEGATIVE_INFINITY;

  const all = (): readonly Notice[] => (channels ?? []).flatMap(({ notices }) => notices ?? []);
  const isComplete = (): boolean => channels?.every(({ notices }) => notices !== undefined) === true;

  const decide = (): NoticeDecision => {
    const now = clock.now();
    const seen = all().map((notice) => ({
      notice,
      seenAt: memory.seenAt(notice.id, now),
      served: memory.isServed(notice.id),
    }));
    return decideNotices(seen, options, now);
  };

  const changed = (before: readonly Notice[], after: readonly Notice[]): void => {
    for (const notice of after.filter(({ id }) => !before.some((each) => each.id === id))) {
      log.info({ notice }, 'notice');
      observer?.appeared(notice);
    }
    for (const { id } of before.filter((each) => !after.some((other) => other.id === each.id))) {
      log.info({ notice: id }, 'notice is gone');
    }
    for (const { id, message } of decide().refused) {
      if (told.has(id)) continue;
      told.add(id);
      log.warn({ notice: id, reason: message }, 'notice ignored');
    }
    const ids = new Set(all().map(({ id }) => id));
    for (const id of told) if (!ids.has(id)) told.delete(id);
    if (isComplete()) memory.keep(ids);
    onChange();
  };

  const watch = async (channel: Channel, signal: AbortSignal): Promise<void> => {
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
        if (!same) changed(before ?? [], channel.notices);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        observer?.failed(source.name);
        if (failures === 1) {
          log.warn({ source: source.name, reason: describeError(error) }, 'source of notices failed, trying again');
        }
      }
      const pause = failures === 0 ? source.everyMs : Math.max(1_000, source.everyMs) * 2 ** Math.min(failures, 16);
      const most = Math.max(MAX_PAUSE_MS, source.everyMs);
      await clock.sleep(Math.min(pause, most), signal).catch(() => undefined);
    }
  };

  return {
    addTo: (machine, phase) => {
      const limit = machine.kind === 'yes' && limited !== undefined ? { deadline: limited } : {};
      const known = { ...machine, ...limit };
      const { demand } = decide();
      if (demand !== undefined) return withNotices(known, { kind: 'demand', demand });
      // A restarted agent does not take a notice for gone before it has looked.
      const mayBe = phase.kind !== 'watching' && phase.origin === 'notice' && !isComplete();
      return withNotices(known, { kind: mayBe ? 'unknown' : 'none' });
    },
    limit: (deadline) => {
      limited = deadline;
    },
    cordon: () => decide().cordon,
    dueInMs: () => Math.max(0, (decide().dueAt ?? Infinity) - clock.now()),
    reconcile: async (phase, signal) => {
      const { demand } = decide();
      const isServing = phase.kind === 'draining' || phase.kind === 'released';
      if (demand !== undefined && isServing) memory.serve(demand.ids);
      await memory.save();
      if (demand === undefined || phase.kind !== 'released') return;
      const untold = demand.ids.filter((each) => !acknowledged.has(each));
      if (untold.length === 0 || clock.monotonic() - toldAt < TELL_EVERY_MS) return;
      toldAt = clock.monotonic();
      for (const id of untold) {
        try {
          for (const { source } of channels ?? []) await source.acknowledge?.(id, signal);
          acknowledged.add(id);
        } catch (error) {
          signal.throwIfAborted();
          log.warn({ notice: id, reason: describeError(error) }, 'cannot tell the provider that the node is drained');
        }
      }
    },
    run: async (signal) => {
      try {
        const sources = await dependencies.sources(signal);
        channels = sources.map((source) => ({ source, notices: undefined }));
        if (sources.length > 0) log.info({ sources: sources.map(({ name }) => name) }, 'watching for notices');
        await Promise.all(channels.map((channel) => watch(channel, signal)));
      } catch (error) {
        if (!signal.aborted) log.error({ reason: describeError(error) }, 'notices are not watched');
        channels ??= [];
      }
    },
  };
}
