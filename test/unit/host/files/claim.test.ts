import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { claimDirectory } from '../../../../src/host/files/claim.ts';
import { temporaryFolder } from '../../../support/folder.ts';

const CLAIMER = path.join(import.meta.dirname, 'claimer.ts');
const FLAGS = ['--disable-warning=ExperimentalWarning'];

/** A process that tries to claim the folder, and whether it could. */
async function startClaimer(t: TestContext, folder: string): Promise<{ child: ChildProcess; says: string }> {
  const child = spawn(process.execPath, [...FLAGS, CLAIMER, folder], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, says: chunk.toString().trim() };
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

describe('the claim on a folder', () => {
  it('a process that stands still keeps the claim, and one that is killed loses it', async (t) => {
    const folder = await temporaryFolder(t, 'claim');
    const first = await startClaimer(t, folder);
    assert.equal(first.says, 'claimed');
    first.child.kill('SIGSTOP');
    assert.equal((await startClaimer(t, folder)).says, 'taken');
    // More tries than the kernel keeps for a process that does not accept them.
    const tries = await Promise.all(Array.from({ length: 600 }, () => claimDirectory(folder)));
    assert.ok(tries.every((claim) => claim === undefined));
    await kill(first.child);
    assert.equal((await startClaimer(t, folder)).says, 'claimed');
    assert.deepEqual(await readdir(folder), ['claim.2']);
  });

  it('the claim goes to one of twenty processes that want it at the same time, after one that was killed', async (t) => {
    const folder = await temporaryFolder(t, 'claim');
    await kill((await startClaimer(t, folder)).child);
    const all = await Promise.all(Array.from({ length: 20 }, () => startClaimer(t, folder)));
    assert.equal(all.filter(({ says }) => says === 'claimed').length, 1);
    assert.equal(all.filter(({ says }) => says === 'taken').length, 19);
  });

  it('the claim belongs to one process at most at any time, and some process always gets it, in the worst turmoil', async (t) => {
    const folder = await temporaryFolder(t, 'claim');
    let holders = 0;
    let claims = 0;
    const compete = async (): Promise<void> => {
      while (claims < 300) {
        const claim = await claimDirectory(folder);
        if (claim === undefined) continue;
        holders += 1;
        claims += 1;
        assert.equal(holders, 1);
        await new Promise(setImmediate);
        holders -= 1;
        await claim[Symbol.asyncDispose]();
      }
    };
    await Promise.all(Array.from({ length: 20 }, compete));
    t.diagnostic(`${claims} claims`);
    assert.equal((await readdir(folder)).length, 1);
  });

  it('the claim is given back when it is disposed of', async (t) => {
    const folder = await temporaryFolder(t, 'claim');
    const claim = await claimDirectory(folder);
    assert.equal(await claimDirectory(folder), undefined);
    await claim?.[Symbol.asyncDispose]();
    const next = await claimDirectory(folder);
    assert.notEqual(next, undefined);
    await next?.[Symbol.asyncDispose]();
  });
});
