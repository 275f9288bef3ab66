import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import path from 'node:path';

/** Only a file that is made here and now: neither one that is there already, nor what a link of that name leads to. */
export const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Makes the entries of a directory durable: without it a rename may be lost in a power cut. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Writes everything and makes it durable before it returns. */
export async function writeAndSync(handle: FileHandle, data: string): Promise<void> {
  await handle.writeFile(data);
  await handle.sync();
}

/**
 * Replaces a file as one step: a reader, or a boot after a power cut, sees the old content or the new, never a part. The
 * temporary file lies beside it under a dot name that nobody can guess; where anything fails it is removed.
 */
export async function replaceFile(file: string, data: string, mode: number): Promise<void> {
  const directory = path.dirname(file);
  const temporary = path.join(directory, `.${path.basename(file)}.${randomBytes(8).toString('hex')}.new`);
  const handle = await open(temporary, NEW_FILE, mode);
  try {
    try {
      await writeAndSync(handle, data);
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await syncDirectory(directory);
}
