import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StepRunner, forEachApart, type Step, type Iteration } from '../../../../src/agent/iteration/step.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';

const ITERATION: Iteration = { phase: { kind: 'watching' }, transition: undefined };
const SIGNAL = new AbortController().signal;

describe('the runner of steps', () => {
  const reasons: (string | undefined)[] = ['no disk', 'no disk', 'no room', undefined, undefined, 'no disk'];

  it('logs a failure when it begins and when its reason changes, and once when it is over', async () => {
    const log = createRecordingLog();
    const runner = new StepRunner(log);
    for (const reason of reasons) {
      const run = (): Promise<void> => (reason === undefined ? Promise.resolve() : Promise.reject(new Error(reason)));
      assert.equal(await runner.runAll([{ name: 'save', run }], ITERATION, SIGNAL), reason === undefined);
    }
    assert.deepEqual(
      log.lines.map((line) => /no disk|no room|succeeds again/.exec(line)?.[0]),
      ['no disk', 'no room', 'succeeds again', 'no disk'],
    );
    assert.ok(log.lines.every((line) => line.includes('"step":"save"')));
  });

  it('runs every step in its order, and also those after one that throws at once', async () => {
    const ran: string[] = [];
    const step = (name: string): Step => ({
      name,
      run: (iteration) => {
        ran.push(`${name} ${iteration.phase.kind}`);
        if (name === 'b') throw new Error('broken');
        return Promise.resolve();
      },
    });
    assert.equal(
      await new StepRunner(createRecordingLog()).runAll(['a', 'b', 'c'].map(step), ITERATION, SIGNAL),
      false,
    );
    assert.deepEqual(ran, ['a watching', 'b watching', 'c watching']);
  });

  it('ends with the signal, and does not take its reason for a failure', async () => {
    const log = createRecordingLog();
    const end = new AbortController();
    const steps = ['a', 'b'].map((name) => ({
      name,
      run: (): Promise<void> => {
        assert.equal(name, 'a');
        end.abort(new Error('the end'));
        return Promise.reject(new Error('aborted'));
      },
    }));
    await assert.rejects(new StepRunner(log).runAll(steps, ITERATION, end.signal), /the end/);
    assert.deepEqual(log.lines, []);
  });

  it('runs lists of steps beside each other, and the next step when all of them have ended', async () => {
    const ran: string[] = [];
    const ended = Promise.withResolvers<undefined>();
    const step = (name: string, run: () => Promise<void> = () => Promise.resolve()): Step => ({
      name,
      run: async () => {
        await run();
        ran.push(name);
      },
    });
    const steps = [
      {
        concurrent: [
          [step('a', () => ended.promise), step('b')],
          [step('c', () => Promise.reject(new Error('no'))), step('d')],
          [],
        ],
      },
      step('e'),
    ];
    const all = new StepRunner(createRecordingLog()).runAll(steps, ITERATION, SIGNAL);
    await new Promise(setImmediate);
    assert.deepEqual(ran, ['d']);
    ended.resolve(undefined);
    assert.equal(await all, false);
    assert.deepEqual(ran, ['d', 'a', 'b', 'e']);
  });

  it('ends with the signal only when no step runs any more', async () => {
    const end = new AbortController();
    const ran: string[] = [];
    const slow = async (): Promise<void> => {
      await new Promise(setImmediate);
      ran.push('slow');
    };
    const steps = [
      {
        concurrent: [
          [{ name: 'slow', run: slow }],
          [{ name: 'abort', run: () => Promise.resolve(end.abort(new Error('the end'))) }],
        ],
      },
    ];
    await assert.rejects(new StepRunner(createRecordingLog()).runAll(steps, ITERATION, end.signal), /the end/);
    assert.deepEqual(ran, ['slow']);
  });

  it('returns what an attempt came to', async () => {
    const runner = new StepRunner(createRecordingLog());
    assert.deepEqual(await runner.attempt('a', () => Promise.resolve(undefined), SIGNAL), { value: undefined });
    assert.equal(await runner.attempt('a', () => Promise.reject(new Error('no')), SIGNAL), undefined);
  });
});

describe('work on each item', () => {
  it('goes on after a failure, and throws the first one at the end', async () => {
    const done: number[] = [];
    const run = (item: number): Promise<void> => {
      done.push(item);
      return item % 2 === 1 ? Promise.reject(new Error(`no ${item}`)) : Promise.resolve();
    };
    await assert.rejects(forEachApart([1, 2, 3, 4], run), /no 1/);
    assert.deepEqual(done, [1, 2, 3, 4]);
    await forEachApart([2, 4], run);
  });
});
