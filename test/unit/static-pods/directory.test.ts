import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { NodemaintError } from '../../../src/errors.ts';
import { readManifests } from '../../../src/static-pods/directory.ts';
import { MAX_MANIFEST_BYTES } from '../../../src/static-pods/manifest/manifest.ts';
import { temporaryFolder } from '../../support/folder.ts';

const HEAD = 'apiVersion: v1\nkind: Pod\n';
const NAMED = `${HEAD}metadata: {name: web}\n`;

describe('a static pod directory', () => {
  const { signal } = new AbortController();

  it('the directory gives every regular file and link to one, and skips what the kubelet skips', async (t) => {
    const folder = await temporaryFolder(t, 'manifests');
    const outside = await temporaryFolder(t, 'manifests');
    await writeFile(path.join(outside, 'linked'), `${HEAD}metadata: {name: linked}`);
    await writeFile(path.join(folder, 'b'), NAMED);
    await writeFile(path.join(folder, 'list.yaml'), 'apiVersion: v1\nkind: List');
    await writeFile(path.join(folder, '.hidden.yaml'), NAMED);
    await symlink(path.join(outside, 'linked'), path.join(folder, 'a.yaml'));
    await symlink(path.join(outside, 'gone'), path.join(folder, 'dangling.yaml'));
    await symlink('/dev/zero', path.join(folder, 'device.yaml'));
    await mkdir(path.join(folder, 'folder.yaml'));
    execFileSync('mkfifo', [path.join(folder, 'pipe.yaml')]);
    await symlink('loop.yaml', path.join(folder, 'loop.yaml'));

    const { manifests, invalid } = await readManifests(folder, 'node-1', signal);

    assert.deepEqual(
      manifests.map(({ file, name }) => [file, name]),
      [
        ['a.yaml', 'linked'],
        ['b', 'web'],
      ],
    );
    assert.equal(invalid.length, 2);
    assert.match(invalid[1]?.reason ?? '', /loop\.yaml: cannot be read: ELOOP/);
    assert.ok(invalid[0]?.reason.startsWith(`${folder}/list.yaml: not a v1 Pod (kind is List)`), invalid[0]?.reason);
  });

  it('the directory names a file whose name is not UTF-8', async (t) => {
    const folder = await temporaryFolder(t, 'manifests');
    await writeFile(Buffer.concat([Buffer.from(`${folder}/x`), Buffer.from([0xff])]), NAMED);
    const { manifests, invalid } = await readManifests(`${folder}/`, 'node-1', signal);
    assert.equal(manifests.length, 0);
    assert.match(invalid[0]?.reason ?? '', /name is not UTF-8; rename it/);
  });

  it('the directory does not read more of a file than the kubelet takes', async (t) => {
    const folder = await temporaryFolder(t, 'manifests');
    await writeFile(path.join(folder, 'large'), Buffer.alloc(MAX_MANIFEST_BYTES + 1, ' '));
    const { invalid } = await readManifests(folder, 'node-1', signal);
    assert.match(invalid[0]?.reason ?? '', /large: 10 MiB or larger/);
  });

  it('the directory says what to do when the directory is missing or is neither a directory nor a file', async (t) => {
    const folder = await temporaryFolder(t, 'manifests');
    execFileSync('mkfifo', [path.join(folder, 'pipe')]);
    for (const [name, problem] of [
      ['missing', /missing does not exist: create it, or set/],
      ['pipe', /pipe is neither a directory nor a file: make it one, or set/],
    ] as const) {
      await assert.rejects(readManifests(path.join(folder, name), 'node-1', signal), (error) => {
        assert.ok(error instanceof NodemaintError);
        assert.equal(error.code, 'STATIC_POD_DIRECTORY_MISSING');
        assert.match(error.message, problem);
        return true;
      });
    }
  });

  it('the directory may be one file, as for the kubelet, and then nothing beside it counts', async (t) => {
    const folder = await temporaryFolder(t, 'manifests');
    await writeFile(path.join(folder, '.one'), NAMED);
    await writeFile(path.join(folder, 'other'), NAMED);
    const { manifests } = await readManifests(path.join(folder, '.one'), 'node-1', signal);
    const files = manifests.map(({ file }) => file);
    assert.deepEqual(files, ['.one']);
  });

  it('the directory stops when it is told to', async (t) => {
    const folder = await temporaryFolder(t, 'manifests');
    await assert.rejects(readManifests(folder, 'node-1', AbortSignal.abort()), { name: 'AbortError' });
  });
});
