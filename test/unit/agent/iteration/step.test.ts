import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { beside, StepRunner } from '../../../../src/agent/iteration/step.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';

const SIGNAL = new AbortController().signal;

describe('the runner of steps', () => {
  const reasons: (string | undefined)[] = ['no disk', 'no disk', 'no room', undefined, undefined, 'no disk'];

  it('logs a failure when it begins and when its reason changes, and once when it is over', async () => {
    const log = createRecordingLog();
    const step = new StepRunner(log).until(SIGNAL);
    for (const reason of reasons) {
      const run = (): Promise<void> => (reason === undefined ? Promise.resolve() : Promise.reject(new Error(reason)));
      assert.equal((await step('save', run)) !== undefined, reason === undefined);
    }
    assert.deepEqual(
      log.lines.map((line) => /no disk|no room|succeeds again/.exec(line)?.[0]),
      ['no disk', 'no room', 'succeeds again', 'no disk'],
    );
    assert.ok(log.lines.every((line) => line.includes('"step":"save"')));
  });

  it('returns what a step came to, and undefined for one that fails, also where it throws at once', async () => {
    const step = new StepRunner(createRecordingLog()).until(SIGNAL);
    assert.deepEqual(await step('a', () => Promise.resolve(undefined)), { value: undefined });
    assert.deepEqual(await step('b', () => 5), { value: 5 });
    assert.equal(await step('c', () => Promise.reject(new Error('no'))), undefined);
    const broken = (): never => {
      throw new Error('broken');
    };
    assert.equal(await step('d', broken), undefined);
  });

  it('ends with the signal, and does not take its reason for a failure', async () => {
    const log = createRecordingLog();
    const end = new AbortController();
    const step = new StepRunner(log).until(end.signal);
    const aborted = step('a', () => {
      end.abort(new Error('the end'));
      return Promise.reject(new Error('aborted'));
    });
    await assert.rejects(aborted, /the end/);
    await assert.rejects(step('b', assert.fail), /the end/);
    assert.deepEqual(log.lines, []);
  });
});

describe('steps beside each other', () => {
  it('end with the signal only when no step runs any more', async () => {
    const end = new AbortController();
    const ran: string[] = [];
    const step = new StepRunner(createRecordingLog()).until(end.signal);
    const slow = async (): Promise<void> => {
      await step('slow', () => new Promise(setImmediate));
      ran.push('slow');
    };
    const abort = async (): Promise<void> => {
      await step('abort', () => {
        end.abort(new Error('the end'));
      });
      ran.push('abort');
    };
    await assert.rejects(beside([slow(), abort()], end.signal), /the end/);
    assert.deepEqual(ran, ['abort', 'slow']);
  });
});
