/** The release as a whole: made twice, in two checkouts, by its one command. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { makeTestFolder } from '../../support/folder.ts';

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const MINUTES = 60_000;

/** Makes a release of a commit in a new checkout; resolves to the hashes of its files. */
async function release(commit: string, folder: string, signal: AbortSignal): Promise<string> {
  await run('git', ['clone', '--quiet', ROOT, folder], { signal });
  await run('git', ['checkout', '--quiet', commit], { cwd: folder, signal });
  await run('cp', ['-a', path.join(ROOT, 'node_modules'), folder], { signal });
  await run('npm', ['run', 'release', '--', '--node-unchecked'], { cwd: folder, signal, maxBuffer: 64 * 1024 * 1024 });
  const made = path.join(folder, 'dist', 'release');
  await run('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: made, signal });
  return await readFile(path.join(made, 'SHA256SUMS'), 'utf8');
}

describe('a release', () => {
  it('a release of one commit has the same bytes in two checkouts', { timeout: 30 * MINUTES }, async (t) => {
    const folder = await makeTestFolder('release');
    t.after(() => rm(folder, { recursive: true, force: true }));
    const signal = AbortSignal.timeout(29 * MINUTES);
    // Somebody may commit meanwhile.
    const commit = (await run('git', ['rev-parse', 'HEAD'], { cwd: ROOT, signal })).stdout.trim();
    const first = await release(commit, path.join(folder, 'first'), signal);
    assert.equal(await release(commit, path.join(folder, 'second'), signal), first);
    assert.equal(first.trim().split('\n').length, 16);
  });
});
