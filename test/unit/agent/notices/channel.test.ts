import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Channel, watchChannel } from '../../../../src/agent/notices/channel.ts';
import type { Notice } from '../../../../src/decide/notice/notices.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SPOT: Notice = { id: 'aws/spot', kind: 'preempt', reason: 'spot', provider: 'aws' };

describe('the channel of a source of notices', () => {
  it('the channel reports each change once, and a failed reading changes nothing', async () => {
    const end = new AbortController();
    const answers: (readonly Notice[] | Error)[] = [[SPOT], [SPOT], new Error('HTTP 500'), [SPOT], []];
    const read = (): Promise<readonly Notice[]> => {
      const next = answers.shift();
      if (answers.length === 0) end.abort();
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next ?? []);
    };
    const channel: Channel = { source: { name: 'aws spot', everyMs: 5_000, read }, notices: undefined };
    const changes: string[] = [];
    const onChange = (before: readonly Notice[], after: readonly Notice[]): void => {
      assert.equal(channel.notices, after, 'the channel has the new notices already');
      changes.push(`${before.length} ${after.length}`);
    };
    const counts: string[] = [];
    const observer = {
      appeared: () => assert.fail('the notices count what appeared'),
      answered: (source: string) => counts.push(`${source} answered`),
      failed: (source: string) => counts.push(`${source} failed`),
    };
    const dependencies = { clock: createSteppingClock(), log: createRecordingLog(), observer, onChange };
    await watchChannel(channel, dependencies, end.signal);
    assert.deepEqual(changes, ['0 1', '1 0']);
    const answered = 'aws spot answered';
    assert.deepEqual(counts, [answered, answered, 'aws spot failed', answered, answered]);
  });

  it('the channel reads after the pause of its source, and later after failures', async () => {
    const end = new AbortController();
    const clock = createSteppingClock();
    const start = clock.now();
    const reads: number[] = [];
    const read = (): Promise<readonly Notice[]> => {
      reads.push(clock.now() - start);
      if (reads.length === 4) end.abort();
      return reads.length === 1 ? Promise.resolve([]) : Promise.reject(new Error('HTTP 500'));
    };
    const channel: Channel = { source: { name: 'aws spot', everyMs: 5_000, read }, notices: undefined };
    await watchChannel(channel, { clock, log: createRecordingLog(), onChange: () => undefined }, end.signal);
    assert.deepEqual(reads, [0, 5_000, 15_000, 35_000]);
  });
});
