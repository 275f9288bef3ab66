import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLockReconciler, type LockReconciler } from '../../../../src/agent/shutdown/lock.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import type { LockOutcome, ShutdownLock } from '../../../../src/host/systemd/inhibitor.ts';
import { createRecordingLog, type RecordingLog } from '../../../support/agent/recording-log.ts';
import { SHUTDOWN } from '../../../support/agent/phase-facts.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const WATCHING: Phase = { kind: 'watching' };
const RELEASED: Phase = { kind: 'released', releasedAt: 0, ...SHUTDOWN };

function rigOf(outcome: () => LockOutcome): { lock: LockReconciler; log: RecordingLog; calls: string[] } {
  const calls: string[] = [];
  const log = createRecordingLog();
  const lock: ShutdownLock = {
    acquire: async () => {
      calls.push('acquire');
      return outcome();
    },
    held: () => Promise.resolve(true),
    release: async () => void calls.push('release'),
    heartbeat: async () => void calls.push('heartbeat'),
  };
  const clock = createSteppingClock();
  return { lock: createLockReconciler({ kind: 'unit', lock, host: undefined, clock, log }), log, calls };
}

describe('the lock of the agent', () => {
  const outcomes: [string, LockOutcome, boolean, string][] = [
    ['is held', { kind: 'held' }, true, 'held'],
    ['stays held while a shutdown is under way', { kind: 'shutdown-under-way', held: true }, true, 'held'],
    [
      'is refused while a shutdown is under way',
      { kind: 'shutdown-under-way', held: false },
      false,
      'a shutdown is under way, no new lock is granted',
    ],
  ];
  for (const [what, outcome, held, message] of outcomes) {
    it(`${what}, and its holder gets a heartbeat`, async () => {
      const { lock, calls } = rigOf(() => outcome);
      assert.deepEqual(lock.status(WATCHING), { kind: 'unit', held: false, message: '' }, 'before the first iteration');
      await lock.reconcile(WATCHING, SIGNAL);
      assert.deepEqual(lock.status(WATCHING), { kind: 'unit', held, message });
      assert.deepEqual(calls, ['acquire', 'heartbeat']);
    });
  }

  it('is given back when the machine is released', async () => {
    const { lock, calls } = rigOf(() => ({ kind: 'held' }));
    await lock.reconcile(WATCHING, SIGNAL);
    await lock.reconcile(RELEASED, SIGNAL);
    assert.equal(calls.at(-1), 'release');
    assert.deepEqual(lock.status(RELEASED), { kind: 'unit', held: false, message: 'released' });
  });

  it('is not held by a sentence: a failure with that message is a failure', async () => {
    const { lock, log } = rigOf(() => {
      throw new Error('held');
    });
    await lock.reconcile(WATCHING, SIGNAL);
    await lock.reconcile(WATCHING, SIGNAL);
    assert.deepEqual(lock.status(WATCHING), { kind: 'unit', held: false, message: 'held' });
    assert.equal(log.lines.length, 1, 'the reason is logged once');
    assert.match(log.lines[0] ?? '', /^error shutdown lock not held/);
  });

  it('is not taken for lost where the agent ends in the middle', async () => {
    const end = new AbortController();
    const { lock, log } = rigOf(() => {
      end.abort(new Error('the end'));
      throw new Error('aborted');
    });
    await assert.rejects(lock.reconcile(WATCHING, end.signal), /the end/);
    assert.deepEqual(log.lines, []);
  });

  it('is taken at the start by one attempt, and the first iteration waits for that', async () => {
    const { lock, calls } = rigOf(() => ({ kind: 'held' }));
    const taking = lock.take(SIGNAL);
    await lock.reconcile(RELEASED, SIGNAL);
    assert.deepEqual(calls, ['acquire', 'heartbeat', 'release']);
    await taking;
  });
});
