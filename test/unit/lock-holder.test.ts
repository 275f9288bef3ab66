import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

const SCRIPT = new URL('../../systemd/libexec/lock-holder', import.meta.url).pathname;
const YEAR_SEC = 365 * 24 * 3600;

interface Run {
  readonly child: ChildProcess;
  readonly alive: string;
  readonly ended: Promise<{ readonly code: number | null; readonly afterMs: number }>;
  said(): string;
  touch(offsetSec: number): Promise<void>;
}

async function startScript(
  t: TestContext,
  { deadManSec, exists }: { deadManSec: number; exists: boolean },
): Promise<Run> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-holder-'));
  const alive = path.join(folder, 'alive');
  const touch = async (offsetSec: number): Promise<void> => {
    const time = Date.now() / 1000 + offsetSec;
    await utimes(alive, time, time);
  };
  if (exists) await writeFile(alive, '');
  const begunAt = performance.now();
  const child = spawn(SCRIPT, [], {
    env: {
      ...process.env,
      NODEMAINT_ALIVE_FILE: alive,
      NODEMAINT_DEAD_MAN_SEC: String(deadManSec),
      NODEMAINT_CHECK_SEC: '1',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const ended = once(child, 'exit').then(([code]) => ({
    code: code as number | null,
    afterMs: performance.now() - begunAt,
  }));
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), 'SIGTERM');
    await ended;
    await rm(folder, { recursive: true });
  });
  return { child, alive, ended, said: () => text, touch };
}

describe('the script that holds the lock', { concurrency: true }, () => {
  it('ends when the file was not touched for the time allowed, and says why', async (t: TestContext) => {
    const run = await startScript(t, { deadManSec: 2, exists: true });
    const { code, afterMs } = await run.ended;
    assert.equal(code, 0);
    assert.ok(afterMs > 1900 && afterMs < 6000, `${afterMs} ms`);
    assert.match(run.said(), /no sign of life from the agent for 2 s/);
  });

  it('ends when there never was a file', async (t: TestContext) => {
    const run = await startScript(t, { deadManSec: 1, exists: false });
    assert.equal((await run.ended).code, 0);
  });

  it('goes on while the file is touched, whatever the clock says', async (t: TestContext) => {
    const run = await startScript(t, { deadManSec: 2, exists: true });
    for (const offsetSec of [0, -YEAR_SEC, YEAR_SEC, 0, -60, 60, 1, 0]) {
      await run.touch(offsetSec);
      await delay(500);
    }
    assert.equal(run.child.exitCode, null);
    assert.ok((await run.ended).afterMs > 5000);
  });

  it('ends at once on SIGTERM, as part of its control group', async (t: TestContext) => {
    const run = await startScript(t, { deadManSec: 60, exists: true });
    await delay(200);
    process.kill(-(run.child.pid ?? 0), 'SIGTERM');
    assert.ok((await run.ended).afterMs < 1000);
  });
});
