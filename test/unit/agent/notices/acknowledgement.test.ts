import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAcknowledgement } from '../../../../src/agent/notices/acknowledgement.ts';
import type { NoticeSource } from '../../../../src/cloud/notice-source.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = AbortSignal.timeout(60_000);

/** A source that notes what it is told, and refuses `refused`. */
function createSource(told: string[], refused: ReadonlySet<string> = new Set()): NoticeSource {
  return {
    name: 'azure events',
    everyMs: 1_000,
    read: () => Promise.resolve([]),
    acknowledge: (id) => {
      told.push(id);
      return refused.has(id) ? Promise.reject(new Error('HTTP 500')) : Promise.resolve();
    },
  };
}

describe('the acknowledgement of notices', () => {
  it('the agent tells a provider of each notice once, and of a new one five seconds later', async () => {
    const told: string[] = [];
    const clock = createSteppingClock();
    const { acknowledge } = createAcknowledgement(clock, createRecordingLog());
    const sources = [createSource(told)];
    await acknowledge(['a'], sources, SIGNAL);
    await acknowledge(['a', 'b'], sources, SIGNAL);
    assert.deepEqual(told, ['a'], 'not before the five seconds are over');
    clock.pass(5_000);
    await acknowledge(['a', 'b'], sources, SIGNAL);
    assert.deepEqual(told, ['a', 'b']);
  });

  it('a refused notice is told again, and does not keep the next one from being told', async () => {
    const told: string[] = [];
    const clock = createSteppingClock();
    const log = createRecordingLog();
    const { acknowledge } = createAcknowledgement(clock, log);
    const refused = new Set(['a']);
    await acknowledge(['a', 'b'], [createSource(told, refused)], SIGNAL);
    assert.deepEqual(told, ['a', 'b']);
    assert.match(log.lines[0] ?? '', /^warn cannot tell the provider .*HTTP 500/);
    refused.clear();
    clock.pass(5_000);
    await acknowledge(['a', 'b'], [createSource(told, refused)], SIGNAL);
    assert.deepEqual(told, ['a', 'b', 'a']);
  });

  it('the end of the agent is no failure of the provider', async () => {
    const log = createRecordingLog();
    const { acknowledge } = createAcknowledgement(createSteppingClock(), log);
    const aborted = AbortSignal.abort(new Error('the agent ends'));
    await assert.rejects(acknowledge(['a'], [createSource([], new Set(['a']))], aborted), /the agent ends/);
    assert.deepEqual(log.lines, []);
  });
});
