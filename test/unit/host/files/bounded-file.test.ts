import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { readBoundedFile, readChangedFile } from '../../../../src/host/files/bounded-file.ts';
import { temporaryFolder } from '../../../support/folder.ts';

describe('a file that is read within a bound', () => {
  it('a file of the bound is read, and a larger one is refused', async (t) => {
    const file = path.join(await temporaryFolder(t, 'bounded'), 'f');
    await writeFile(file, 'x'.repeat(2_048));
    assert.equal((await readBoundedFile(file, 2_048)).length, 2_048);
    await assert.rejects(readBoundedFile(file, 1_024), /larger than 1 KiB/);
    await writeFile(file, '');
    assert.equal(await readBoundedFile(file, 1_024), '');
  });

  it('a folder is refused, and so is a pipe, for which nothing waits', async (t) => {
    const folder = await temporaryFolder(t, 'bounded');
    await mkdir(path.join(folder, 'd'));
    execFileSync('mkfifo', [path.join(folder, 'p')]);
    await assert.rejects(readBoundedFile(path.join(folder, 'd'), 1_024), /it is no file/);
    await assert.rejects(readBoundedFile(path.join(folder, 'p'), 1_024), /it is no file/);
    await assert.rejects(readBoundedFile(path.join(folder, 'none'), 1_024), { code: 'ENOENT' });
  });

  it('a file is read again only when it was written or replaced', async (t) => {
    const folder = await temporaryFolder(t, 'bounded');
    const file = path.join(folder, 'f');
    await writeFile(file, 'one');
    const first = await readChangedFile(file, 1_024, undefined);
    assert.ok(first !== 'unchanged');
    assert.equal(await readChangedFile(file, 1_024, first.version), 'unchanged');
    await writeFile(path.join(folder, 'g'), 'two');
    await rename(path.join(folder, 'g'), file);
    const second = await readChangedFile(file, 1_024, first.version);
    assert.ok(second !== 'unchanged' && second.text === 'two');
    await writeFile(file, 'longer');
    const third = await readChangedFile(file, 1_024, second.version);
    assert.ok(third !== 'unchanged' && third.text === 'longer');
  });
});
