import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import path from 'node:path';

/** Flags that create a new file; opening fails if a file or a link of that name exists. */
export const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Makes the entries of a directory durable; otherwise a power cut may undo a rename. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Writes the data, and returns when it is durable. */
async function writeAndSync(handle: FileHandle, data: string | Uint8Array): Promise<void> {
  await handle.writeFile(data);
  await handle.sync();
}

/**
 * Replaces a file in one step: a reader, or a boot after a power cut, finds the old content or the new one, never a part. The
 * temporary file is in the same directory, with a random name that begins with a dot; it is removed if a step fails.
 */
export async function replaceFile(file: string, data: string | Uint8Array, mode: number): Promise<void> {
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
