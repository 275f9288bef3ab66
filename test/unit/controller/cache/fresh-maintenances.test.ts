import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSharedRead } from '../../../../src/controller/cache/fresh-maintenances.ts';

describe('a shared read', () => {
  it('a shared read never answers with what was read before the question, and reads once for all who ask meanwhile', async () => {
    let reads = 0;
    let finish: () => void = () => undefined;
    const read = createSharedRead(async () => {
      reads += 1;
      const own = reads;
      await new Promise<void>((resolve) => (finish = resolve));
      return own;
    });
    const { signal } = new AbortController();
    const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const first = read(signal);
    await tick();
    const [second, third] = [read(signal), read(signal)];
    finish();
    await tick();
    finish();
    assert.deepEqual(await Promise.all([first, second, third]), [1, 2, 2]);
  });
});
