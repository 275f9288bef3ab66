import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { watchScheduledFile } from '../../../../src/host/systemd/scheduled-file.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { waitFor } from '../../../support/wait-for.ts';

describe('the watch on a scheduled shutdown', () => {
  it('the watch tells of a file in a folder that is there, and of its removal', async (t) => {
    const folder = path.join(await temporaryFolder(t, 'scheduled'), 'shutdown');
    await mkdir(folder);
    const file = path.join(folder, 'scheduled');
    const stop = new AbortController();
    let changes = 0;
    watchScheduledFile(file, () => (changes += 1), SILENT_LOG, stop.signal);
    try {
      await writeFile(file, 'USEC=1\n');
      await waitFor('the file is noticed', () => Promise.resolve(changes > 0));
      const before = changes;
      await rm(file);
      await waitFor('its removal is noticed', () => Promise.resolve(changes > before));
    } finally {
      stop.abort();
    }
  });

  it('the watch tells of the first schedule, with which logind makes the folder', async (t) => {
    const folder = path.join(await temporaryFolder(t, 'scheduled'), 'shutdown');
    const file = path.join(folder, 'scheduled');
    const stop = new AbortController();
    let changes = 0;
    watchScheduledFile(file, () => (changes += 1), SILENT_LOG, stop.signal);
    try {
      assert.equal(changes, 0);
      await mkdir(folder);
      await waitFor('the folder is noticed', () => Promise.resolve(changes > 0));
      const before = changes;
      await writeFile(file, 'USEC=1\n');
      await waitFor('the file is noticed', () => Promise.resolve(changes > before));
    } finally {
      stop.abort();
    }
  });

  it('the watch tells nothing after its end, and is no error where nothing can be watched', async (t) => {
    const folder = await temporaryFolder(t, 'scheduled');
    const file = path.join(folder, 'scheduled');
    const stop = new AbortController();
    const told: string[] = [];
    watchScheduledFile(path.join(folder, 'a', 'b', 'scheduled'), () => told.push('none'), SILENT_LOG, stop.signal);
    watchScheduledFile(file, () => told.push('aborted'), SILENT_LOG, AbortSignal.abort());
    watchScheduledFile(file, () => told.push('watching'), SILENT_LOG, stop.signal);
    try {
      await writeFile(file, 'x');
      await waitFor('the file is noticed', () => Promise.resolve(told.length > 0));
      assert.deepEqual([...new Set(told)], ['watching']);
    } finally {
      stop.abort();
    }
  });
});
