import { mkdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import type { TestContext } from 'node:test';

/** In a place of root's: as root the agent trusts nothing below /tmp, where everybody may write. */
const OF_ROOT = '/var/lib/nodemaint-test';

/** A folder for the files of tests below which no other user can write. */
export function testRoot(): string {
  if (process.geteuid?.() !== 0) return tmpdir();
  mkdirSync(OF_ROOT, { recursive: true, mode: 0o755 });
  return OF_ROOT;
}

/** Makes a new folder in it; its name begins with `name`. */
export async function makeTestFolder(name: string): Promise<string> {
  return await mkdtemp(path.join(testRoot(), `${name}-`));
}

/** Makes a new folder in the system's temporary directory, which is removed after the test. */
export async function temporaryFolder(t: TestContext, name: string): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), `nodemaint-${name}-`));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}
