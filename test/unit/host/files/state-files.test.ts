import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { StateFiles } from '../../../../src/host/files/state-files.ts';
import { openTestState } from '../../../support/agent/state.ts';
import { temporaryFolder } from '../../../support/folder.ts';

/** The agent's memory, with a file that becomes a directory, which cannot be read as a file. */
async function open(t: TestContext): Promise<{ state: StateFiles; file: string; breakFile(): Promise<void> }> {
  const folder = await temporaryFolder(t, 'state-files');
  const file = path.join(folder, 'record');
  const breakFile = async (): Promise<void> => {
    await rm(file, { force: true });
    await mkdir(file);
  };
  return { state: await openTestState(folder), file, breakFile };
}

describe('a file of the agent that can be read no longer', () => {
  it('the file has what was read last', async (t) => {
    const { state, file, breakFile } = await open(t);
    await writeFile(file, 'before');
    assert.equal(await state.read('record'), 'before');
    await breakFile();
    assert.equal(await state.read('record'), 'before');
    assert.match(state.problem() ?? '', /cannot read .*record/);
  });

  it('the file has what was written last', async (t) => {
    const { state, breakFile } = await open(t);
    await state.write('record', 'written');
    await breakFile();
    assert.equal(await state.read('record'), 'written');
  });

  it('the file has nothing where it was removed, by this agent or by others, or never read', async (t) => {
    const { state, file, breakFile } = await open(t);
    await state.write('record', 'written');
    await rm(file);
    assert.equal(await state.read('record'), undefined);
    await breakFile();
    assert.equal(await state.read('record'), undefined);
    await rm(file, { recursive: true });
    await state.write('record', 'again');
    await state.remove('record');
    await breakFile();
    assert.equal(await state.read('record'), undefined);
  });
});
