import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import {
  createLockReconciler,
  createShutdownLock,
  type Host,
  type LockReconciler,
} from '../../../../src/agent/shutdown/inhibitor-lock.ts';
import type { AgentConfig } from '../../../../src/config/schema.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import { HOLDER_UNIT, type ShutdownLock } from '../../../../src/host/systemd/inhibitor-unit.ts';
import type { Login1 } from '../../../../src/host/systemd/logind.ts';
import type { Systemd } from '../../../../src/host/systemd/manager.ts';
import { parseAgentConfig } from '../../../support/agent/config.ts';
import { SHUTDOWN } from '../../../support/agent/phase-facts.ts';
import { createRecordingLog, type RecordingLog } from '../../../support/agent/recording-log.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const WATCHING: Phase = { kind: 'watching' };
const RELEASED: Phase = { kind: 'released', releasedAt: 0, ...SHUTDOWN };

function rigOf(outcome: () => boolean): { lock: LockReconciler; log: RecordingLog; calls: string[] } {
  const calls: string[] = [];
  const log = createRecordingLog();
  const lock: ShutdownLock = {
    acquire: async () => {
      calls.push('acquire');
      return outcome();
    },
    release: async () => void calls.push('release'),
    heartbeat: async () => void calls.push('heartbeat'),
  };
  const clock = createSteppingClock();
  return { lock: createLockReconciler({ kind: 'unit', lock, host: undefined, clock, log }), log, calls };
}

describe('the lock of the agent', () => {
  const outcomes: [string, boolean, string][] = [
    ['is held', true, 'held'],
    ['is refused while a shutdown is under way', false, 'a shutdown is under way, no new lock is granted'],
  ];
  for (const [what, held, message] of outcomes) {
    it(`${what}, and its holder gets a heartbeat`, async () => {
      const { lock, calls } = rigOf(() => held);
      assert.deepEqual(lock.status(WATCHING), { kind: 'unit', held: false, message: '' }, 'before the first iteration');
      await lock.reconcile(WATCHING, SIGNAL);
      assert.deepEqual(lock.status(WATCHING), { kind: 'unit', held, message });
      assert.deepEqual(calls, ['acquire', 'heartbeat']);
    });
  }

  it('is given back when the machine is released', async () => {
    const { lock, calls } = rigOf(() => true);
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
    const { lock, calls } = rigOf(() => true);
    const taking = lock.reconcile({ kind: 'watching' }, SIGNAL);
    await lock.reconcile(RELEASED, SIGNAL);
    assert.deepEqual(calls, ['acquire', 'heartbeat', 'release']);
    await taking;
  });
});

function configOf(lock: AgentConfig['lock'], runDirectory = '/run/nodemaint'): AgentConfig {
  const text = 'apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1\nkind: AgentConfiguration\n';
  return { ...parseAgentConfig(text, 'test'), lock, runDirectory };
}

/** A host on which a lock can be released and nothing else; `calls` has the stopped units. */
function createHost(calls: string[]): Host {
  const login1: Partial<Login1> = { listInhibitors: () => Promise.resolve([]) };
  const systemd: Partial<Systemd> = {
    stopUnit: (name) => {
      calls.push(name);
      return Promise.resolve();
    },
  };
  return { login1: login1 as Login1, systemd: systemd as Systemd };
}

describe('the kind of the shutdown lock', () => {
  it('the unit holds the lock, and its heartbeat is a file of the run directory', async (t) => {
    const runDirectory = await temporaryFolder(t, 'lock-kind');
    const calls: string[] = [];
    const log = createRecordingLog();
    const lock = createShutdownLock(configOf('unit', runDirectory), createHost(calls), log);
    await lock.release(SIGNAL);
    assert.deepEqual(calls, [HOLDER_UNIT]);
    await lock.heartbeat();
    assert.match(await readFile(path.join(runDirectory, 'alive'), 'utf8'), /^\d+\n$/);
  });

  it('the lock "none" leaves the unit alone', async () => {
    const calls: string[] = [];
    const lock = createShutdownLock(configOf('none'), createHost(calls), createRecordingLog());
    await lock.release(SIGNAL);
    assert.deepEqual(calls, []);
  });

  it('a machine without logind has no lock, whatever is configured', async () => {
    const lock = createShutdownLock(configOf('unit'), undefined, createRecordingLog());
    assert.equal(await lock.acquire(SIGNAL), true);
  });
});
