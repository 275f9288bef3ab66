import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NoticeAnswers } from '../../../../src/agent/notices/answers.ts';
import type { NoticeSource } from '../../../../src/cloud/notice-source.ts';
import type { Clock } from '../../../../src/host/clock.ts';
import { createRecordingLog, type RecordingLog } from '../../../support/agent/recording-log.ts';

/** A source that notes what it is told, and refuses while `refuses` says so. */
function createSource(told: string[], refuses: (id: string) => boolean = () => false): NoticeSource {
  return {
    name: 'cloud events',
    everyMs: 1_000,
    read: () => Promise.resolve([]),
    acknowledge: (id) => {
      told.push(id);
      return refuses(id) ? Promise.reject(new Error('HTTP 500')) : Promise.resolve();
    },
  };
}

interface Rig {
  readonly answers: NoticeAnswers;
  readonly log: RecordingLog;
  /** Runs for so many milliseconds, in which waiting takes no time. */
  runFor(ms: number, sources: readonly NoticeSource[]): Promise<void>;
}

function createRig(): Rig {
  let now = 0;
  let endAt = 0;
  let end = new AbortController();
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    sleep: async (ms, signal) => {
      signal.throwIfAborted();
      now = Math.min(now + ms, endAt);
      if (now >= endAt) end.abort();
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    },
  };
  const log = createRecordingLog();
  const answers = new NoticeAnswers(clock, log);
  return {
    answers,
    log,
    runFor: (ms, sources) => {
      endAt = now + ms;
      end = new AbortController();
      return answers.run(sources, end.signal);
    },
  };
}

describe('the answers to notices', () => {
  it('a provider hears nothing while the node drains, and once that it is ready', async () => {
    const told: string[] = [];
    const rig = createRig();
    const sources = [createSource(told)];
    rig.answers.show([]);
    await rig.runFor(70_000, sources);
    assert.deepEqual(told, []);
    rig.answers.show(['a']);
    await rig.runFor(600_000, sources);
    rig.answers.show(['a']);
    await rig.runFor(600_000, sources);
    assert.deepEqual(told, ['a']);
    assert.deepEqual(rig.answers.problems(), []);
  });

  it('a refused notice is named, is told again, and keeps no other from being told', async () => {
    const told: string[] = [];
    const rig = createRig();
    let isOut = true;
    const sources = [createSource(told, (id) => isOut && id === 'a')];
    rig.answers.show(['a', 'b']);
    await rig.runFor(12_000, sources);
    assert.deepEqual(told, ['a', 'b', 'a']);
    const sentence = 'cannot tell the provider that the node is drained';
    assert.deepEqual(rig.answers.problems(), [`${sentence} (cloud events): HTTP 500`]);
    assert.equal(rig.log.lines.filter((line) => line.includes(sentence)).length, 1, 'logged once');
    isOut = false;
    await rig.runFor(600_000, sources);
    assert.deepEqual(told.slice(3), ['a']);
    assert.deepEqual(rig.answers.problems(), []);
  });

  it('a drain that is over is told nobody, and leaves no problem', async () => {
    const told: string[] = [];
    const rig = createRig();
    const sources = [createSource(told, () => true)];
    rig.answers.show(['a']);
    await rig.runFor(1_000, sources);
    rig.answers.show([]);
    await rig.runFor(600_000, sources);
    assert.deepEqual(told, ['a']);
    assert.deepEqual(rig.answers.problems(), []);
  });

  it('the end of the agent is no failure of the provider', async () => {
    const rig = createRig();
    const end = new AbortController();
    const source: NoticeSource = {
      ...createSource([]),
      acknowledge: () => {
        end.abort(new Error('the agent ends'));
        return Promise.reject(new Error('aborted'));
      },
    };
    rig.answers.show(['a']);
    await rig.answers.run([source], end.signal);
    assert.deepEqual(rig.log.lines, []);
    assert.deepEqual(rig.answers.problems(), []);
  });

  it('sources that want to hear nothing end the run at once', async () => {
    const rig = createRig();
    const { name, everyMs, read } = createSource([]);
    await rig.answers.run([{ name, everyMs, read }], new AbortController().signal);
  });
});
