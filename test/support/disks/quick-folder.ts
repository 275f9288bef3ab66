import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

const SHARED_MEMORY = '/dev/shm';

/** A new folder in memory, where the machine has such a place: for tests of very many small files. */
export async function createQuickFolder(name: string): Promise<string> {
  return await mkdtemp(path.join(existsSync(SHARED_MEMORY) ? SHARED_MEMORY : tmpdir(), `nodemaint-${name}-`));
}
