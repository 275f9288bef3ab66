import path from 'node:path';
import type { Disk } from './disk.ts';

/** Makes a directory, private to its owner, and what is missing above it, so that all of it outlives a power cut. */
export async function ensureDirectory(disk: Disk, directory: string): Promise<void> {
  if ((await disk.identify(directory)) !== undefined) return;
  const parent = path.dirname(directory);
  await ensureDirectory(disk, parent);
  await disk.makeDirectory(directory, 0o700);
  await disk.syncDirectory(parent);
}
