/** Does to the disk what its parent asks for, with the capabilities that it was started with. */
import process from 'node:process';
import { describeError, errorCodeOf } from '../../../src/errors.ts';
import { createDisk } from '../../../src/static-pods/disk/disk.ts';
import type { DiskAnswer, DiskCall } from './confined-disk.ts';

const disk = createDisk();

async function answer({ id, method, args }: DiskCall): Promise<DiskAnswer> {
  try {
    const call = disk[method] as (...all: readonly unknown[]) => Promise<unknown>;
    return { id, value: await call(...args) };
  } catch (error) {
    return { id, error: { message: describeError(error), code: errorCodeOf(error) } };
  }
}

process.on('message', (call: DiskCall) => {
  void answer(call).then((said) => process.send?.(said));
});
