/** The signature of a release: made with a new key, and verified by the commands of the page for users with the real minisign. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { before, describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import packageJson from '../../../package.json' with { type: 'json' };
import { temporaryFolder } from '../../support/folder.ts';

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const FILES = ['nodemaint-image.tar', 'nodemaint.tgz'];

/** Signs as `npm run sign` does. */
async function sign(folder: string, key: string): Promise<void> {
  await run(process.execPath, [path.join(ROOT, '.ci', 'sign.ts'), key, '--folder', folder]);
}

/** A folder with files, their list, and a new key without a password. */
async function releaseIn(t: TestContext): Promise<string> {
  const folder = await temporaryFolder(t, 'signature');
  for (const name of FILES) await writeFile(path.join(folder, name), `content of ${name}`);
  const { stdout } = await run('sha256sum', FILES, { cwd: folder });
  await writeFile(path.join(folder, 'SHA256SUMS'), stdout);
  const keys = await temporaryFolder(t, 'keys');
  await run('minisign', ['-G', '-W', '-p', 'nodemaint.pub', '-s', 'nodemaint.key'], { cwd: keys });
  await sign(folder, path.join(keys, 'nodemaint.key'));
  await copyFile(path.join(keys, 'nodemaint.pub'), path.join(folder, 'nodemaint.pub'));
  return folder;
}

describe('the signature of a release', () => {
  let commands: string;
  before(async () => {
    const page = await readFile(path.join(ROOT, 'docs', 'usage', 'install.md'), 'utf8');
    commands = /```sh\n(minisign [^]*?)```/.exec(page)?.[1] ?? '';
    assert.match(commands, /^minisign .*\nsha256sum .*\n$/);
  });
  const verify = async (folder: string): Promise<string> =>
    (await run('bash', ['-ec', commands], { cwd: folder })).stdout;

  it('the signature of a release is verified by the commands of the page, and its comment has the version', async (t) => {
    const said = await verify(await releaseIn(t));
    assert.match(said, /^Signature and comment signature verified$/m);
    assert.ok(said.includes(`Trusted comment: ${packageJson.name} ${packageJson.version}\n`), said);
    for (const name of FILES) assert.ok(said.includes(`${name}: OK\n`), said);
  });

  it('the signature of a release does not hold for a changed file, a changed list, or another key', async (t) => {
    const folder = await releaseIn(t);
    const [file, list] = [path.join(folder, 'nodemaint.tgz'), path.join(folder, 'SHA256SUMS')];
    await writeFile(file, 'other content');
    await assert.rejects(verify(folder), { stdout: /nodemaint\.tgz: FAILED/ });
    const { stdout } = await run('sha256sum', FILES, { cwd: folder });
    await writeFile(list, stdout);
    await assert.rejects(verify(folder), /Signature verification failed/);
    const other = await releaseIn(t);
    await copyFile(path.join(folder, 'nodemaint.pub'), path.join(other, 'nodemaint.pub'));
    await assert.rejects(verify(other), /key id/i);
  });

  it('the signature of a release is not made where a file is not what the list says, is missing, or is not in it', async (t) => {
    const folder = await temporaryFolder(t, 'unsigned');
    const file = path.join(folder, 'a');
    await writeFile(file, 'a');
    await writeFile(path.join(folder, 'SHA256SUMS'), `${'0'.repeat(64)}  a\n`);
    await assert.rejects(sign(folder, '/nonexistent'), /sign: a is not what SHA256SUMS says/);
    await writeFile(path.join(folder, 'NODE_UNCHECKED'), '');
    await assert.rejects(sign(folder, '/nonexistent'), /sign: it has the file NODE_UNCHECKED: make it again where/);
    await rm(path.join(folder, 'NODE_UNCHECKED'));
    await writeFile(path.join(folder, 'SHA256SUMS'), '');
    await assert.rejects(sign(folder, '/nonexistent'), /sign: SHA256SUMS does not name a/);
    await writeFile(
      path.join(folder, 'SHA256SUMS'),
      `${'0'.repeat(64)}  b\n${(await run('sha256sum', ['a'], { cwd: folder })).stdout}`,
    );
    await assert.rejects(sign(folder, '/nonexistent'), /sign: b of SHA256SUMS is not in /);
  });
});
