import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { openNoticeMemory } from '../../../../src/agent/notices/memory.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { openTestState } from '../../../support/agent/state.ts';

describe('the memory of notices', () => {
  it('the memory of notices is written again after a write that failed', async (t) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-memory-'));
    t.after(() => rm(folder, { recursive: true }));
    const state = await openTestState(folder);
    let isBroken = true;
    const write = state.write.bind(state);
    state.write = (file, text) => (isBroken ? Promise.reject(new Error('no room')) : write(file, text));
    const memory = await openNoticeMemory(state, 'boot-1', createRecordingLog());
    assert.equal(memory.seenAt('aws/spot', 5), 5);
    await assert.rejects(memory.save(), /no room/);
    isBroken = false;
    await memory.save();
    const again = await openNoticeMemory(state, 'boot-2', createRecordingLog());
    assert.equal(again.seenAt('aws/spot', 9), 5);
  });

  it('a damaged memory of notices is moved aside, and a new one begins', async (t) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-memory-'));
    t.after(() => rm(folder, { recursive: true }));
    const file = path.join(folder, 'notices.json');
    await writeFile(file, '{"version":1,"seen":[');
    const memory = await openNoticeMemory(await openTestState(folder), 'boot-1', createRecordingLog());
    assert.equal(memory.seenAt('n', 7), 7);
    await memory.save();
    assert.equal(JSON.parse(await readFile(file, 'utf8')).seen.n.at, 7);
    assert.equal(await readFile(`${file}.damaged`, 'utf8'), '{"version":1,"seen":[');
  });
});
