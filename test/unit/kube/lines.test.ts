import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { linesOf } from '../../../src/kube/lines.ts';

describe('the lines of a watch', () => {
  async function* chunksOf(text: string, size: number): AsyncGenerator<string> {
    for (let at = 0; at < text.length; at += size) yield await Promise.resolve(text.slice(at, at + size));
  }

  it('the lines of a watch come whole, however they are cut', async () => {
    for (const size of [1, 2, 3, 5, 100]) {
      const lines: string[] = [];
      const chunks = chunksOf('one\n\ntwo\nthree\nrest', size);
      for await (const line of linesOf(chunks, 10, () => new Error('long'))) lines.push(line);
      assert.deepEqual(lines, ['one', 'two', 'three']);
    }
  });

  it('the lines of a watch are refused where one is too long, after those before it, by its beginning', async () => {
    for (const size of [1, 4, 100]) {
      const seen: string[] = [];
      const reading = async (): Promise<void> => {
        const lines = linesOf(chunksOf('one\ntwo-is-long\nthree\n', size), 5, (beginning) => new Error(beginning));
        for await (const line of lines) seen.push(line);
      };
      await assert.rejects(reading(), /^Error: two-i$/);
      assert.deepEqual(seen, ['one']);
    }
  });
});
