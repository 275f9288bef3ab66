import { type FileHandle, open, rename } from 'node:fs/promises';
import path from 'node:path';

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
 * Replaces a file as one step: a reader, or a boot after a power cut, sees the old content or the new, never a part.
 * The temporary file lies beside it under a dot name.
 */
export async function replaceFile(file: string, data: string, mode: number): Promise<void> {
  const directory = path.dirname(file);
  const temporary = path.join(directory, `.${path.basename(file)}.new`);
  const handle = await open(temporary, 'w', mode);
  try {
    await writeAndSync(handle, data);
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  await syncDirectory(directory);
}
