import assert from 'node:assert/strict';
import { appendFile, mkdir, open, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createDisk } from '../../../src/static-pods/disk/disk.ts';
import { readParked } from '../../../src/static-pods/inventory.ts';
import { readJournal } from '../../../src/static-pods/journal/journal.ts';
import { Mover } from '../../../src/static-pods/mover.ts';
import { type MoverPaths } from '../../../src/static-pods/places.ts';
import { temporaryFolder } from '../../support/folder.ts';

const STEP = { op: 'park', sha256: '', maintenance: 'm', at: 1, bootId: 'b' } as const;
const NAMES = { namespace: 'default', name: 'a', podName: 'a-n', labels: {} };
const POD = { ...NAMES, priority: 5, priorityKnown: true, graceSec: 9 };

interface Rig {
  readonly paths: MoverPaths;
  readonly mover: Mover;
  readonly inPlace: (file: string) => string;
  readonly parked: (file: string) => string;
}

async function createRig(
  t: TestContext,
  files: Readonly<Record<string, string>> = { 'a.yaml': 'first' },
): Promise<Rig> {
  const root = await temporaryFolder(t, 'mover');
  const paths = {
    staticPodPath: path.join(root, 'manifests'),
    parkedPath: path.join(root, 'parked'),
    journalPath: path.join(root, 'state', 'journal'),
  };
  await mkdir(paths.staticPodPath);
  const inPlace = (file: string): string => path.join(paths.staticPodPath, file);
  for (const [file, content] of Object.entries(files)) await writeFile(inPlace(file), content);
  const mover = new Mover(paths, createDisk());
  await mover.recover();
  return { paths, mover, inPlace, parked: (file) => path.join(paths.parkedPath, file) };
}

describe('a manifest that is written while it is parked', () => {
  it('a manifest is parked again with the newest content, and every older one is kept in order', async (t) => {
    const { mover, inPlace, parked } = await createRig(t);
    for (const content of ['second', 'third']) {
      await mover.park({ ...STEP, file: 'a.yaml' });
      await writeFile(inPlace('a.yaml'), content);
    }
    await mover.park({ ...STEP, file: 'a.yaml' });
    assert.equal(await readFile(parked('a.yaml'), 'utf8'), 'third');
    assert.equal(await readFile(parked('.superseded/1/a.yaml'), 'utf8'), 'first');
    assert.equal(await readFile(parked('.superseded/2/a.yaml'), 'utf8'), 'second');
    assert.equal(await mover.restore('a.yaml'), 'restored');
    assert.equal(await readFile(inPlace('a.yaml'), 'utf8'), 'third');
  });

  it('a manifest is not overwritten by a restore, and the parked one is kept', async (t) => {
    const { mover, inPlace, parked } = await createRig(t);
    await mover.park({ ...STEP, file: 'a.yaml' });
    await writeFile(inPlace('a.yaml'), 'theirs');
    assert.equal(await mover.restore('a.yaml'), 'kept-newer');
    assert.equal(await readFile(inPlace('a.yaml'), 'utf8'), 'theirs');
    assert.equal(await readFile(parked('.superseded/1/a.yaml'), 'utf8'), 'first');
    assert.deepEqual(await readdir(parked('.')), ['.superseded']);
  });

  it('a manifest comes back with what a slow writer has finished in the parked file, and that is said', async (t) => {
    const { paths, mover, inPlace, parked } = await createRig(t);
    const writer = await open(inPlace('a.yaml'), 'w');
    await writer.write('apiVersion: v1\n');
    await mover.park({ ...STEP, file: 'a.yaml', pod: POD });
    const { signal } = new AbortController();
    const [pod] = await readParked({ ...paths, nodeName: 'n' }, mover.parkSteps(), createDisk(), signal);
    assert.partialDeepStrictEqual(pod, { file: 'a.yaml', ...POD }, 'half a manifest is still the pod that runs');
    await writer.write('kind: Pod\n');
    await writer.close();
    assert.equal(await readFile(parked('a.yaml'), 'utf8'), 'apiVersion: v1\nkind: Pod\n');
    assert.equal(await mover.restore('a.yaml'), 'restored-changed');
    assert.equal(await readFile(inPlace('a.yaml'), 'utf8'), 'apiVersion: v1\nkind: Pod\n');
  });
});

describe('a manifest that the mover finds', () => {
  it('a manifest may be a relative link, which leads nowhere from the parked directory and is known all the same', async (t) => {
    const { paths, mover, inPlace, parked } = await createRig(t, {});
    await symlink('../a.yaml', inPlace('a.yaml'));
    await mover.park({ ...STEP, file: 'a.yaml', pod: POD });
    await rename(parked('a.yaml'), parked('.away'));
    assert.deepEqual((await new Mover(paths, createDisk()).recover()).missing, ['a.yaml'], 'taken away by somebody');
    await rename(parked('.away'), parked('a.yaml'));
    const next = new Mover(paths, createDisk());
    await next.recover();
    assert.equal(await next.restore('a.yaml'), 'restored');
  });

  it('two files of one pod are each moved for itself', async (t) => {
    const { mover, paths } = await createRig(t, { 'a.yaml': 'one', 'a.yaml.bak': 'two' });
    for (const file of ['a.yaml', 'a.yaml.bak']) await mover.park({ ...STEP, file });
    assert.deepEqual(await readdir(paths.staticPodPath), []);
    for (const file of ['a.yaml', 'a.yaml.bak']) assert.equal(await mover.restore(file), 'restored');
    assert.deepEqual(await readdir(paths.staticPodPath), ['a.yaml', 'a.yaml.bak']);
  });

  it('a manifest that has become a folder or is gone is not moved', async (t) => {
    const { mover, paths, inPlace } = await createRig(t, {});
    await mkdir(inPlace('a.yaml'));
    await assert.rejects(mover.park({ ...STEP, file: 'a.yaml' }), /"a\.yaml".*neither a file nor a symbolic link/);
    await mover.park({ ...STEP, file: 'gone.yaml' });
    assert.deepEqual(await readdir(paths.parkedPath), []);
  });

  it('the content of another directory of the same name counts', async (t) => {
    const { mover, paths, inPlace } = await createRig(t);
    await rename(paths.staticPodPath, `${paths.staticPodPath}.old`);
    await mover.park({ ...STEP, file: 'a.yaml' });
    await mkdir(paths.staticPodPath);
    await writeFile(inPlace('a.yaml'), 'new');
    await mover.park({ ...STEP, file: 'a.yaml' });
    await rm(paths.staticPodPath, { recursive: true });
    await assert.rejects(mover.restore('a.yaml'), /cannot restore the manifest "a\.yaml" .*ENOENT/);
    await mkdir(paths.staticPodPath);
    assert.equal(await mover.restore('a.yaml'), 'restored');
    assert.equal(await readFile(inPlace('a.yaml'), 'utf8'), 'new');
  });

  it('the mover refuses names that lead out of the directory', async (t) => {
    const { mover } = await createRig(t);
    for (const file of ['', '.', '..', '../a', 'a/b', '/etc/passwd', '.a', 'a\0b']) {
      await assert.rejects(mover.park({ ...STEP, file }), /refusing to move a manifest with the name/);
      await assert.rejects(mover.restore(file), /refusing to move a manifest with the name/);
    }
  });
});

describe('the journal of the mover', () => {
  it('the journal has what version 0.2.0 needs, which may be put back in the middle of a drain', async (t) => {
    const { paths, mover } = await createRig(t);
    await mover.park({ ...STEP, file: 'a.yaml' });
    assert.match(await readFile(paths.journalPath, 'utf8'), /"gid":\d+,"mountPoint":false}/);
  });

  it('the journal goes on after a line that was torn', async (t) => {
    const { paths, mover } = await createRig(t);
    await mover.park({ ...STEP, file: 'a.yaml' });
    await appendFile(paths.journalPath, 'deadbeef {"op":"pa');
    const next = new Mover(paths, createDisk());
    await next.recover();
    assert.equal(next.parkSteps().get('a.yaml')?.maintenance, 'm');
    assert.equal(await next.restore('a.yaml'), 'restored');
    assert.equal((await readJournal(paths.journalPath)).length, 2);
  });

  it('the journal does not grow with a writer that fights over a file', async (t) => {
    const { paths, mover, inPlace } = await createRig(t);
    for (let round = 0; round < 300; round += 1) {
      await mover.park({ ...STEP, file: 'a.yaml' });
      await writeFile(inPlace('a.yaml'), String(round));
    }
    assert.ok((await readJournal(paths.journalPath)).length < 270);
    const kept = (await readdir(path.join(paths.parkedPath, '.superseded'))).map(Number).toSorted((a, b) => a - b);
    assert.deepEqual([kept.length, kept[0], kept.at(-1)], [100, 200, 299], 'the newest ones are kept');
  });
});
