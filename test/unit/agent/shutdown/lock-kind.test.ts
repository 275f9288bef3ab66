import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { createShutdownLock, type Host } from '../../../../src/agent/shutdown/lock-kind.ts';
import { parseAgentConfig } from '../../../support/agent/config.ts';
import type { AgentConfig } from '../../../../src/config/schema.ts';
import { HOLDER_UNIT } from '../../../../src/host/systemd/inhibitor.ts';
import type { Login1 } from '../../../../src/host/systemd/login1.ts';
import type { Systemd } from '../../../../src/host/systemd/systemd1.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { temporaryFolder } from '../../../support/folder.ts';

const SIGNAL = AbortSignal.timeout(60_000);

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
    const lock = createShutdownLock(configOf('unit', runDirectory), createHost(calls), log, () => undefined);
    await lock.release(SIGNAL);
    assert.deepEqual(calls, [HOLDER_UNIT]);
    await lock.heartbeat();
    assert.match(await readFile(path.join(runDirectory, 'alive'), 'utf8'), /^\d+\n$/);
  });

  for (const kind of ['child', 'none'] as const) {
    it(`the lock "${kind}" leaves the unit alone`, async () => {
      const calls: string[] = [];
      const lock = createShutdownLock(configOf(kind), createHost(calls), createRecordingLog(), () => undefined);
      await lock.release(SIGNAL);
      assert.deepEqual(calls, []);
      assert.equal(await lock.held(SIGNAL), false);
    });
  }

  it('a machine without logind has no lock, whatever is configured', async () => {
    const lock = createShutdownLock(configOf('unit'), undefined, createRecordingLog(), () => undefined);
    assert.deepEqual(await lock.acquire(SIGNAL), { kind: 'held' });
    assert.equal(await lock.held(SIGNAL), false);
  });
});
