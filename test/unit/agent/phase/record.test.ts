import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type AgentRecord, readRecord, RECORD_FILE, writeRecord } from '../../../../src/agent/phase/record.ts';
import type { NodemaintError } from '../../../../src/errors.ts';
import { FACTS, phaseAfter, YES } from '../../../support/agent/phase-facts.ts';
import { openTestState } from '../../../support/agent/state.ts';
import { temporaryFolder } from '../../../support/folder.ts';

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
    shutdownKind: 'soft-reboot',
  },
  offlineTargets: [],
};

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
    it(`the record of the phase is refused and kept aside when it is ${name}`, async (t) => {
      const folder = await temporaryFolder(t, 'state');
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

  it('the record of the phase keeps why a machine was let go with pods still there', async (t) => {
    const folder = await temporaryFolder(t, 'state');
    const state = await openTestState(folder);
    await writeRecord(state, RECORD);
    const { phase } = await readRecord(state, assert.fail);
    assert.deepEqual(phase, RECORD.phase);
  });

  it('the record says nothing of the longest hold that version 0.2.0 refuses, which may be put back in the middle of a drain', async (t) => {
    const folder = await temporaryFolder(t, 'state');
    const state = await openTestState(folder);
    const phase = phaseAfter({ kind: 'watching' }, { ...FACTS, goingDown: YES, maxHoldMs: 60_000 });
    await writeRecord(state, { ...RECORD, phase });
    assert.deepEqual((await readRecord(state, assert.fail)).phase, phase);
    assert.match(await readFile(path.join(folder, RECORD_FILE), 'utf8'), /"at": 1060000(?!.*"of")/s);
  });

  it('the record keeps how the last shutdown ended, and one of an older agent says nothing of it', async (t) => {
    const state = await openTestState(await temporaryFolder(t, 'state'));
    const record: AgentRecord = { ...RECORD, last: { result: 'forced', at: 5 } };
    await writeRecord(state, record);
    assert.deepEqual((await readRecord(state, assert.fail)).last, record.last);
    await writeRecord(state, RECORD);
    assert.equal((await readRecord(state, assert.fail)).last, undefined);
  });
});

describe('who took a shutdown back', () => {
  it('is in the record, so that an agent that starts again still tells it', async (t) => {
    const state = await openTestState(await temporaryFolder(t, 'state'));
    const { phase } = RECORD;
    assert.ok(phase.kind === 'released');
    const { releasedAt: _at, forced: _forced, ...shutdown } = phase;
    const told = { ...shutdown, kind: 'recovering', cause: 'canceled', canceledBy: 'root' } as const;
    await writeRecord(state, { ...RECORD, phase: told });
    assert.deepEqual((await readRecord(state, assert.fail)).phase, told);
  });
});

describe('a record of version 1', () => {
  const { phase } = RECORD;
  const targets = [{ podPriority: 1, podType: 'Default' }];
  const readOld = async (t: TestContext, old: object): Promise<AgentRecord> => {
    const folder = await temporaryFolder(t, 'state');
    await writeFile(path.join(folder, RECORD_FILE), JSON.stringify({ version: 1, ...old }));
    return await readRecord(await openTestState(folder), assert.fail);
  };

  it('a record of version 1 is read with its words for an offline drain', async (t) => {
    const record = await readOld(t, { phase: { ...phase, mode: 'local' }, localTargets: targets });
    assert.deepEqual(record.phase, phase);
    assert.deepEqual(record.offlineTargets, targets);
  });

  it('a record of version 1 is read where the cluster drained, and where nothing was going on', async (t) => {
    const drained = await readOld(t, { phase: { ...phase, mode: 'cluster' }, localTargets: [] });
    assert.deepEqual(drained.phase, { ...phase, mode: 'cluster' });
    const idle = await readOld(t, { phase: { kind: 'watching' }, localTargets: [] });
    assert.deepEqual([idle.phase, idle.offlineTargets], [{ kind: 'watching' }, []]);
  });
});
