import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeObject } from '../../../src/api/meta.ts';
import { NodemaintError } from '../../../src/errors.ts';
import { type AskPage, type ObjectPage, readPages } from '../../../src/kube/list.ts';

interface Asked {
  readonly objects: number;
  readonly bytes: number;
  readonly namesOnly: boolean;
}

/** A server whose objects have these sizes, and a reader that reads no more than `maxBytes` of an answer. */
function serverOf(sizes: readonly number[], maxBytes: number): { ask: AskPage<KubeObject>; asked: Asked[] } {
  const asked: Asked[] = [];
  const ask: AskPage<KubeObject> = (query, namesOnly) => {
    const first = Number(query['continue'] ?? 0);
    const page = sizes.slice(first, first + Number(query['limit']));
    const bytes = page.reduce((sum, size) => sum + (namesOnly ? 1 : size), 0);
    asked.push({ objects: page.length, bytes, namesOnly });
    if (bytes > maxBytes) return Promise.reject(new NodemaintError('API_ANSWER_TOO_LARGE', 'too large'));
    const items = page.map((_, index) => ({ metadata: { name: `o-${first + index}` } }));
    const next = first + page.length;
    const metadata = { resourceVersion: '7', ...(next < sizes.length ? { continue: String(next) } : {}) };
    return Promise.resolve({ metadata, items });
  };
  return { ask, asked };
}

const sizesOf = (count: number, size: number): number[] => Array.from({ length: count }, () => size);

const nameOf = ({ metadata }: KubeObject): string => metadata.name;

const namesTo = (count: number): string[] => Array.from({ length: count }, (_, index) => `o-${index}`);

describe('a list that is read in pages', () => {
  it('a list takes few calls where the objects are small', async () => {
    const { ask, asked } = serverOf(sizesOf(5_000, 10), 1_000_000);
    assert.deepEqual(await readPages(ask, nameOf), { items: namesTo(5_000), resourceVersion: '7', tooLarge: [] });
    assert.ok(asked.length <= 14, `${asked.length} calls`);
  });

  it('a list is read as a whole where the objects are large, with little that is asked for in vain', async () => {
    const { ask, asked } = serverOf(sizesOf(450, 1_300_000), 16 * 1024 * 1024);
    assert.deepEqual((await readPages(ask, nameOf)).items, namesTo(450));
    const inVain = asked.filter(({ bytes }) => bytes > 16 * 1024 * 1024);
    assert.equal(inVain.length, 1);
  });

  it('a list whose answer has no objects, or no version, was not answered', async () => {
    const strange = [{}, { metadata: { resourceVersion: '7' } }, { items: [] }, { metadata: {}, items: [] }];
    for (const page of strange) {
      await assert.rejects(
        readPages(() => Promise.resolve(page), nameOf),
        { code: 'API_UNREACHABLE' },
      );
    }
    const nothing = { metadata: { resourceVersion: '7' }, items: null } as unknown as ObjectPage<KubeObject>;
    assert.deepEqual((await readPages(() => Promise.resolve(nothing), nameOf)).items, []);
  });

  it('a list leaves out an object that is too large alone, names it, and has all the others', async () => {
    const sizes = [1, 1, 500, 1, 99, 500, 1];
    for (const [index] of sizes.entries()) {
      const rotated = [...sizes.slice(index), ...sizes.slice(0, index)];
      const { ask } = serverOf(rotated, 100);
      const { items, tooLarge } = await readPages(ask, nameOf);
      assert.deepEqual(
        tooLarge,
        namesTo(7).filter((_, at) => rotated[at] === 500),
      );
      assert.deepEqual(
        items,
        namesTo(7).filter((_, at) => rotated[at] !== 500),
      );
    }
  });

  it('a list of nothing is empty, and other failures are thrown', async () => {
    assert.deepEqual((await readPages(serverOf([], 10).ask, nameOf)).items, []);
    assert.deepEqual((await readPages(() => Promise.resolve(undefined), nameOf)).items, []);
    await assert.rejects(
      readPages(() => Promise.reject(new Error('gone')), nameOf),
      /gone/,
    );
  });
});
