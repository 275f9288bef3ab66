import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryFolder } from '../../../support/folder.ts';
import { NEEDS_ROOT } from '../../../support/root.ts';

const SCRIPT = new URL('../../../../systemd/libexec/lock-holder', import.meta.url).pathname;
const YEAR_SEC = 365 * 24 * 3600;

interface Run {
  readonly child: ChildProcess;
  readonly alive: string;
  readonly ended: Promise<{ readonly code: number | null; readonly afterMs: number }>;
  said(): string;
  /** Gives a sign of life; the file's time is set so far from now. */
  beat(offsetSec: number): Promise<void>;
}

async function startScript(
  t: TestContext,
  { deadManSec, exists, command = [SCRIPT] }: { deadManSec: number; exists: boolean; command?: readonly string[] },
): Promise<Run> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-holder-'));
  const alive = path.join(folder, 'alive');
  let beats = 0;
  const beat = async (offsetSec: number): Promise<void> => {
    const time = Date.now() / 1000 + offsetSec;
    beats += 1;
    await writeFile(alive, `${beats}\n`);
    await utimes(alive, time, time);
  };
  if (exists) await beat(0);
  const begunAt = performance.now();
  const limits = { NODEMAINT_DEAD_MAN_SEC: String(deadManSec), NODEMAINT_CHECK_SEC: '1' };
  const child = spawn(command[0] ?? '', command.slice(1), {
    env: { ...process.env, ...limits, NODEMAINT_ALIVE_FILE: alive },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const ended = once(child, 'exit').then(([code]) => {
    return { code: code as number | null, afterMs: performance.now() - begunAt };
  });
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), 'SIGTERM');
    await ended;
    await rm(folder, { recursive: true });
  });
  return { child, alive, ended, said: () => text, beat };
}

describe('the script that holds the lock', { concurrency: true }, () => {
  it('the script ends when the agent gave no sign of life for the time allowed, and says why', async (t: TestContext) => {
    const run = await startScript(t, { deadManSec: 2, exists: true });
    const { code, afterMs } = await run.ended;
    assert.equal(code, 0);
    assert.ok(afterMs > 1900, `${afterMs} ms`);
    assert.match(run.said(), /no sign of life from the agent for 2 s/);
  });

  it('the script ends when there never was a file', async (t: TestContext) => {
    const run = await startScript(t, { deadManSec: 1, exists: false });
    assert.equal((await run.ended).code, 0);
  });

  it('the script goes on while the agent gives signs of life, whatever the clock says', async (t: TestContext) => {
    const run = await startScript(t, { deadManSec: 2, exists: true });
    for (const offsetSec of [0, -YEAR_SEC, YEAR_SEC, 0, -60, 60, 1, 0]) {
      await run.beat(offsetSec);
      await delay(500);
    }
    assert.equal(run.child.exitCode, null);
    assert.ok((await run.ended).afterMs > 5000);
  });

  it('the script ends at once on SIGTERM, as part of its control group', async (t: TestContext) => {
    const run = await startScript(t, { deadManSec: 600, exists: true });
    await delay(200);
    process.kill(-(run.child.pid ?? 0), 'SIGTERM');
    await run.ended;
    assert.doesNotMatch(run.said(), /no sign of life/);
  });

  it('the script holds the lock, and lets it go in time, when no process can be made', {
    skip: NEEDS_ROOT,
  }, async (t: TestContext) => {
    // A user of its own, who may have two processes: the script and one more.
    const as = ['setpriv', '--reuid=60123', '--regid=60123', '--clear-groups'] as const;
    const folder = await temporaryFolder(t, 'holder');
    const copy = path.join(folder, 'lock-holder');
    await chmod(folder, 0o755);
    await copyFile(SCRIPT, copy);
    const limited = [...as, 'bash', '-c', `ulimit -u 2; exec ${copy}`];
    const run = await startScript(t, { deadManSec: 3, exists: true, command: limited });
    await chmod(path.dirname(run.alive), 0o755);
    await chmod(run.alive, 0o644);
    await delay(500);
    const others = [1, 2].map(() => spawn(as[0], [...as.slice(1), 'sleep', '60'], { stdio: 'ignore' }));
    t.after(() => others.map((other) => other.kill()));
    await delay(2_000);
    assert.equal(run.child.exitCode, null);
    await run.beat(0);
    const beatAt = performance.now();
    assert.equal((await run.ended).code, 0);
    const afterMs = performance.now() - beatAt;
    assert.ok(afterMs > 2_900, `${afterMs} ms`);
    assert.match(run.said(), /no sign of life/);
    assert.doesNotMatch(run.said(), /fork/);
  });
});
