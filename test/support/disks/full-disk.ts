import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { errorCodeOf } from '../../../src/errors.ts';

const BLOCK = Buffer.alloc(4096, 1);

/** Fills the file system at `directory` to the last byte by its file `.filler`. */
export function fillUp(directory: string): void {
  const file = path.join(directory, '.filler');
  writeFileSync(file, '');
  const handle = openSync(file, 'a');
  try {
    for (;;) writeSync(handle, BLOCK);
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOSPC') throw error;
  } finally {
    closeSync(handle);
  }
}
