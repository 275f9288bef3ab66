import { mkdirSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';

/** In a place of root's: as root the agent trusts nothing below /tmp, where everybody may write. */
const OF_ROOT = '/var/lib/nodemaint-test';

/** A folder for the files of tests below which nobody but this user can write. */
export function testRoot(): string {
  if (process.geteuid?.() !== 0) return tmpdir();
  mkdirSync(OF_ROOT, { recursive: true, mode: 0o755 });
  return OF_ROOT;
}

/** Makes a new folder in it; its name begins with `name`. */
export async function makeTestFolder(name: string): Promise<string> {
  return await mkdtemp(path.join(testRoot(), `${name}-`));
}
