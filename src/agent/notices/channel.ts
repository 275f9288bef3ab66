import type { NoticeSource } from '../../cloud/notice-source.ts';
import type { Notice } from '../../decide/notice/notices.ts';
import { sourcePauseMs } from '../../decide/notice/source-pause.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { NoticeObserver } from '../../telemetry/notice-metrics.ts';

/** A source of notices and what it announced last. */
export interface Channel {
  readonly source: NoticeSource;
  /** Undefined until it was read once. A failure changes nothing: what was announced stays announced. */
  notices: readonly Notice[] | undefined;
}

interface ChannelDependencies {
  readonly clock: Clock;
  readonly log: Log;
  /** Absent where no metrics are served. */
  readonly observer?: NoticeObserver | undefined;
  /** Called when what the source announces differs from `before`, after the channel has it. */
  readonly onChange: (before: readonly Notice[], after: readonly Notice[]) => void;
}

/** Reads the source of a channel again and again until the signal is aborted; never rejects. */
export async function watchChannel(
  channel: Channel,
  { clock, log, observer, onChange }: ChannelDependencies,
  signal: AbortSignal,
): Promise<void> {
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
      if (!same) onChange(before ?? [], channel.notices);
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
