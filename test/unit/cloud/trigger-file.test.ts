import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { triggerFileSource } from '../../../src/cloud/trigger-file.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { makeTestFolder } from '../../support/folder.ts';

describe('the trigger file', () => {
  it('a FIFO in its place is no notice and does not hold the program; a file is one', async (t) => {
    const folder = await makeTestFolder('trigger');
    t.after(() => rm(folder, { recursive: true }));
    const file = path.join(folder, 'trigger');
    execFileSync('mkfifo', [file]);
    const read = async (): Promise<readonly string[]> => {
      const lifetime = new AbortController();
      try {
        const source = triggerFileSource(file, createSystemClock(), lifetime.signal);
        return (await source.read(AbortSignal.timeout(20_000))).map(({ reason }) => reason);
      } finally {
        lifetime.abort();
      }
    };
    assert.deepEqual(await read(), []);
    await rm(file);
    await writeFile(file, 'power failure\n');
    assert.deepEqual(await read(), ['power failure']);
  });
});
