import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** The text of a file, and a version that changes whenever the file is written or replaced. */
interface BoundedFile {
  readonly text: string;
  readonly version: string;
}

/**
 * Reads a regular file of at most `maxBytes`, unless it still has the version `known`. Never waits for a pipe. Throws the
 * errors of Node.js, and an Error if it is not a regular file or is too large.
 */
export async function readChangedFile(
  file: string,
  maxBytes: number,
  known: string | undefined,
): Promise<BoundedFile | 'unchanged'> {
  await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await handle.stat({ bigint: true });
  if (!stats.isFile()) throw new Error('it is no file');
  const version = [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ');
  if (version === known) return 'unchanged';
  const buffer = Buffer.alloc(maxBytes + 1);
  let size = 0;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, size, buffer.length - size, size);
    size += bytesRead;
    if (size > maxBytes) throw new Error(`larger than ${maxBytes / 1024} KiB`);
    if (bytesRead === 0) return { text: buffer.toString('utf8', 0, size), version };
  }
}

/** Reads a regular file of at most `maxBytes`. Errors as of `readChangedFile`. */
export async function readBoundedFile(file: string, maxBytes: number): Promise<string> {
  const found = await readChangedFile(file, maxBytes, undefined);
  return found === 'unchanged' ? '' : found.text;
}
