import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { replaceFile } from '../../../../src/host/files/durable-file.ts';
import { createDisk } from '../../../../src/static-pods/disk/disk.ts';
import { createJournal } from '../../../../src/static-pods/journal/journal.ts';

const { signal } = new AbortController();

describe('the replacement of a file by root', () => {
  let folder: string;
  const at = (...names: string[]): string => path.join(folder, ...names);

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-file-'));
    await mkdir(at('theirs'));
    await writeFile(at('passwd'), 'root:x:0:0\n');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('the replacement overwrites nothing through a link that was planted under the name of its temporary file', async () => {
    await symlink(at('passwd'), at('theirs', '.drop-in.conf.new'));
    await replaceFile(at('theirs', 'drop-in.conf'), 'ours', 0o644);
    assert.equal(await readFile(at('passwd'), 'utf8'), 'root:x:0:0\n');
    assert.equal(await readFile(at('theirs', 'drop-in.conf'), 'utf8'), 'ours');
  });

  it('the replacement replaces a link by a file, and leaves alone what it led to', async () => {
    await symlink(at('passwd'), at('theirs', 'drop-in.conf'));
    await replaceFile(at('theirs', 'drop-in.conf'), 'ours', 0o644);
    assert.equal(await readFile(at('passwd'), 'utf8'), 'root:x:0:0\n');
    assert.equal(await readFile(at('theirs', 'drop-in.conf'), 'utf8'), 'ours');
  });

  it('the replacement leaves nothing behind where it fails', async () => {
    await mkdir(at('theirs', 'taken', 'full'), { recursive: true });
    await assert.rejects(replaceFile(at('theirs', 'taken'), 'ours', 0o600), { code: 'EISDIR' });
    assert.deepEqual(await readdir(at('theirs')), ['taken']);
  });

  it('the replacement has a temporary file of another name each time', async () => {
    const names = new Set<string>();
    const watching = new AbortController();
    const { watch } = await import('node:fs');
    watch(at('theirs'), { signal: AbortSignal.any([signal, watching.signal]) }, (_, name) => names.add(name ?? ''));
    for (const text of ['one', 'two']) await replaceFile(at('theirs', 'file'), text, 0o600);
    await new Promise((resolve) => setTimeout(resolve, 100));
    watching.abort();
    assert.equal([...names].filter((name) => /^\.file\.[0-9a-f]{16}\.new$/.test(name)).length, 2, [...names].join());
  });

  it('the journal of moves is replaced so too: neither its temporary file nor itself is written through a link', async () => {
    const journal = createJournal({ file: at('theirs', 'journal') }, createDisk(), []);
    await symlink(at('passwd'), at('theirs', 'journal.new'));
    await journal.compact(new Set());
    assert.equal(await readFile(at('passwd'), 'utf8'), 'root:x:0:0\n');
    await rm(at('theirs', 'journal'));
    await symlink(at('passwd'), at('theirs', 'journal'));
    await assert.rejects(journal.append({ op: 'restore', file: 'web.yaml' }), { code: 'ELOOP' });
    assert.equal(await readFile(at('passwd'), 'utf8'), 'root:x:0:0\n');
  });
});
