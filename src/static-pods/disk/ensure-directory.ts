import path from 'node:path';
import type { Disk } from './disk.ts';

/** Creates a directory with mode 0700, and missing directories above it, all durable. */
export async function ensureDirectory(disk: Disk, directory: string): Promise<void> {
  if ((await disk.identify(directory)) !== undefined) return;
  const parent = path.dirname(directory);
  await ensureDirectory(disk, parent);
  await disk.makeDirectory(directory, 0o700);
  await disk.syncDirectory(parent);
}
