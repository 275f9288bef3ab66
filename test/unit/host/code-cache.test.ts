import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { loadWithCode } from '../../../src/host/code-cache.ts';
import { temporaryFolder } from '../../support/folder.ts';

const STARTED_MS = 50;
const noRequire = (): never => {
  throw new Error('required');
};

interface Files {
  readonly program: string;
  readonly cache: string;
  /** The names in the cache. */
  readonly names: () => Promise<readonly string[]>;
  readonly load: () => unknown;
}

async function files(t: TestContext): Promise<Files> {
  const folder = await temporaryFolder(t, 'code');
  const [program, cache] = [path.join(folder, 'program.cjs'), path.join(folder, 'cache')];
  await mkdir(cache);
  await writeFile(program, 'exports.answer = () => 41; exports.place = __dirname;');
  const load = (): unknown => (loadWithCode(program, cache, noRequire, STARTED_MS) as { answer(): number }).answer();
  return { program, cache, names: () => readdir(cache), load };
}

/** Waits until the code of a start is kept. */
async function kept(cache: string): Promise<number> {
  for (;;) {
    const found = await stat(path.join(cache, 'agent.code')).catch(() => undefined);
    if (found !== undefined) return found.ino;
    await delay(10);
  }
}

describe('the code of a program', { timeout: 60_000 }, () => {
  it('without a folder the program is loaded as any module', () => {
    assert.equal(
      loadWithCode('/x/y.cjs', undefined, (file) => `required ${file}`),
      'required /x/y.cjs',
    );
  });

  it('the first start keeps its code for one user, and the next start uses it and gives it back', async (t) => {
    const { cache, names, load } = await files(t);
    assert.equal(load(), 41);
    const first = await kept(cache);
    assert.equal((await stat(path.join(cache, 'agent.code'))).mode & 0o777, 0o600);
    assert.equal(load(), 41);
    assert.deepEqual(await names(), ['agent.code.tried']);
    assert.equal(await kept(cache), first);
    assert.deepEqual(await names(), ['agent.code']);
  });

  it('the code of another content is not used, even of one with the same length and time', async (t) => {
    const { program, cache, load } = await files(t);
    load();
    await kept(cache);
    const { atime, mtime } = await stat(program);
    await writeFile(program, 'exports.answer = () => 42; exports.place = __dirname;');
    await utimes(program, atime, mtime);
    assert.equal(load(), 42);
    await delay(STARTED_MS);
    await kept(cache);
    assert.equal(load(), 42);
  });

  it('code that another user can write is not used', async (t) => {
    const { cache, load } = await files(t);
    load();
    const first = await kept(cache);
    await chmod(path.join(cache, 'agent.code'), 0o620);
    assert.equal(load(), 41);
    await delay(STARTED_MS);
    assert.notEqual(await kept(cache), first);
  });

  it('a file of code that is cut off or empty is not used', async (t) => {
    const { cache, load } = await files(t);
    for (const content of ['', 'x'.repeat(300)]) {
      await writeFile(path.join(cache, 'agent.code'), content);
      assert.equal(load(), 41);
      await delay(STARTED_MS);
      await kept(cache);
    }
  });

  it('code that does not match its hash is not kept', async (t) => {
    const { cache, names, load } = await files(t);
    load();
    await kept(cache);
    const file = path.join(cache, 'agent.code');
    const bytes = await readFile(file);
    // The end of the hash: a change in the code could crash this process.
    bytes.write('-', bytes.length - 1, 'latin1');
    await writeFile(file, bytes);
    assert.equal(load(), 41);
    await delay(4 * STARTED_MS);
    assert.deepEqual(await names(), ['agent.code.tried']);
    assert.equal(load(), 41);
    await kept(cache);
  });

  it('a start that crashes leaves no code behind', async (t) => {
    const { program, cache, names, load } = await files(t);
    load();
    await kept(cache);
    const module = JSON.stringify(path.join(import.meta.dirname, '../../../src/host/code-cache.ts'));
    const text = `require(${module}).loadWithCode(${JSON.stringify(program)}, ${JSON.stringify(cache)}, require).answer(); process.kill(process.pid, 'SIGKILL');`;
    spawnSync(process.execPath, ['--input-type=commonjs', '-e', text]);
    assert.deepEqual(await names(), ['agent.code.tried']);
    assert.equal(load(), 41);
    await kept(cache);
  });

  it('a folder that is not there does not matter', async (t) => {
    const { program, load } = await files(t);
    assert.equal(load(), 41);
    const { place } = loadWithCode(program, '/nonexistent', noRequire, STARTED_MS) as { place: string };
    assert.equal(place, path.dirname(program));
    await delay(2 * STARTED_MS);
  });
});
