import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  kernelBootIdOf,
  learnSoftReboots,
  markSoftReboot,
  readBootId,
} from '../../../../src/agent/shutdown/boot-id.ts';
import { markRunning, unmarkRunning } from '../../../../src/agent/shutdown/unclean.ts';
import { type AgentRecord, readRecord, RECORD_FILE, writeRecord } from '../../../../src/agent/shutdown/record.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { isLeftOfShutdown } from '../../../../src/decide/shutdown/failed-pods.ts';
import type { ShutdownKind } from '../../../../src/decide/shutdown/detection.ts';
import type { NodemaintError } from '../../../../src/errors.ts';
import type { Systemd } from '../../../../src/host/systemd/systemd1.ts';
import { openTestState } from '../../../support/agent/state.ts';

const RECORD: AgentRecord = {
  phase: {
    kind: 'released',
    releasedAt: 2,
    forced: 'in a hurry',
    maintenance: 'shutdown-node-a-rs',
    mode: 'offline',
    origin: 'schedule',
    reason: 'node reboot',
    since: 1,
    sinceBootMs: 3,
    bootId: 'boot-1',
  },
  offlineTargets: [],
};

async function temporary(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-state-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

describe('the record of the phase', () => {
  const broken: [string, (whole: string) => string, RegExp, string][] = [
    ['cut in half', (whole) => whole.slice(0, whole.length / 2), /is damaged/, 'record.json.damaged'],
    ['empty', () => '', /is damaged/, 'record.json.damaged'],
    ['of another kind', () => '{"version":2,"phase":{"kind":"asleep"}}', /is damaged/, 'record.json.damaged'],
    [
      'of a newer version',
      (whole) => whole.replace('"version": 2', '"version": 3'),
      /was written by a newer nodemaint \(version 3, this one knows 2\)/,
      'record.json.version-3',
    ],
  ];
  for (const [name, change, message, aside] of broken) {
    it(`is refused and kept aside when it is ${name}`, async (t) => {
      const folder = await temporary(t);
      const state = await openTestState(folder);
      await writeRecord(state, RECORD);
      const file = path.join(folder, RECORD_FILE);
      const text = change(await readFile(file, 'utf8'));
      await writeFile(file, text);
      const said: NodemaintError[] = [];
      const record = await readRecord(state, (error) => said.push(error));
      assert.deepEqual(record.phase, { kind: 'watching' });
      assert.equal(said[0]?.code, 'RECORD_CORRUPT');
      assert.match(said[0]?.message ?? '', message);
      assert.deepEqual(await readdir(folder), [aside]);
      assert.equal(await readFile(path.join(folder, aside), 'utf8'), text);
    });
  }

  it('keeps why a machine was let go with pods still there', async (t) => {
    const folder = await temporary(t);
    const state = await openTestState(folder);
    await writeRecord(state, RECORD);
    const { phase } = await readRecord(state, assert.fail);
    assert.deepEqual(phase, RECORD.phase);
  });
});

describe('a record of version 1', () => {
  const { phase } = RECORD;
  const targets = [{ podPriority: 1, podType: 'Default' }];
  const readOld = async (t: TestContext, old: object): Promise<AgentRecord> => {
    const folder = await temporary(t);
    await writeFile(path.join(folder, RECORD_FILE), JSON.stringify({ version: 1, ...old }));
    return await readRecord(await openTestState(folder), assert.fail);
  };

  it('is read with its words for an offline drain', async (t) => {
    const record = await readOld(t, { phase: { ...phase, mode: 'local' }, localTargets: targets });
    assert.deepEqual(record.phase, phase);
    assert.deepEqual(record.offlineTargets, targets);
  });

  it('is read where the cluster drained, and where nothing was going on', async (t) => {
    const drained = await readOld(t, { phase: { ...phase, mode: 'cluster' }, localTargets: [] });
    assert.deepEqual(drained.phase, { ...phase, mode: 'cluster' });
    const idle = await readOld(t, { phase: { kind: 'watching' }, localTargets: [] });
    assert.deepEqual([idle.phase, idle.offlineTargets], [{ kind: 'watching' }, []]);
  });
});

describe('the identity of a boot', () => {
  const systemdWith = (count: number | undefined, queued?: ShutdownKind): Systemd =>
    ({
      softReboots: () => Promise.resolve(count),
      queuedShutdown: () => Promise.resolve(queued),
    }) as Partial<Systemd> as Systemd;
  const { signal } = new AbortController();
  async function paths(t: TestContext): Promise<{ bootIdPath: string; runDirectory: string }> {
    const folder = await temporary(t);
    const bootIdPath = path.join(folder, 'boot_id');
    await writeFile(bootIdPath, 'boot-1\n');
    return { bootIdPath, runDirectory: path.join(folder, 'run') };
  }

  it('changes with each soft-reboot that systemd counts, and stays while systemd cannot be asked', async (t) => {
    const place = await paths(t);
    await learnSoftReboots(systemdWith(0), place.runDirectory, signal);
    assert.equal(await readBootId(place), 'boot-1');
    await learnSoftReboots(systemdWith(1), place.runDirectory, signal);
    assert.equal(await readBootId(place), 'boot-1+1');
    const mute = { softReboots: () => Promise.reject(new Error('no bus')) } as Partial<Systemd> as Systemd;
    await learnSoftReboots(mute, place.runDirectory, signal);
    assert.equal(await readBootId(place), 'boot-1+1');
    assert.equal(kernelBootIdOf(await readBootId(place)), 'boot-1', 'what the kubelet says');
  });

  it('is refused where it is empty: all boots would be the same', async (t) => {
    const place = await paths(t);
    await writeFile(place.bootIdPath, '\n');
    await assert.rejects(readBootId(place), /cannot read the boot id .*boot_id: it is empty \(key "bootIdPath"\)/);
  });

  it('changes by a mark where systemd does not count, and only for a soft-reboot', async (t) => {
    const place = await paths(t);
    for (const queued of ['reboot', undefined] as const) {
      await markSoftReboot(systemdWith(undefined, queued), place.runDirectory, signal);
    }
    assert.equal(await readBootId(place), 'boot-1');
    await markSoftReboot(systemdWith(undefined, 'soft-reboot'), place.runDirectory, signal);
    await learnSoftReboots(systemdWith(undefined), place.runDirectory, signal);
    assert.equal(await readBootId(place), 'boot-1+1');
    await markSoftReboot(systemdWith(1, 'soft-reboot'), place.runDirectory, signal);
    assert.equal(await readBootId(place), 'boot-1+1');
  });
});

describe('what a shutdown left behind', () => {
  it('is failed pods that the kubelet ended for it, and nothing else', () => {
    const pod = (phase: string, reason?: string): Pod =>
      ({ metadata: { name: 'p' }, spec: {}, status: { phase, reason } }) as Pod;
    for (const reason of ['Terminated', 'NodeShutdown', 'Shutdown']) assert.ok(isLeftOfShutdown(pod('Failed', reason)));
    for (const other of [pod('Failed', 'Evicted'), pod('Failed'), pod('Running', 'Terminated'), pod('Succeeded')]) {
      assert.equal(isLeftOfShutdown(other), false);
    }
  });
});

describe('the mark of a running agent', () => {
  it('tells that a boot ended under the agent, and not that the agent was restarted or ended', async (t) => {
    const folder = await temporary(t);
    const state = await openTestState(folder);
    assert.equal(await markRunning(state, 'boot-1'), false, 'the first start of all');
    assert.equal(await markRunning(state, 'boot-1'), false, 'killed and started again');
    assert.equal(await markRunning(state, 'boot-2'), true, 'the machine went down under it');
    await unmarkRunning(state);
    assert.equal(await markRunning(state, 'boot-3'), false, 'it was ended before the machine went down');
  });
});
