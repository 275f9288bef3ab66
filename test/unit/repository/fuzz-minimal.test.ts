import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { minimalInput } from '../../fuzz/minimal.ts';
import { type FuzzInput, textOf } from '../../fuzz/target.ts';

describe('the minimal input of a find', () => {
  it('only what makes it fail is left of a text', async () => {
    const text = `${'x'.repeat(500)}<${'y'.repeat(300)}>${'z'.repeat(200)}`;
    const fails = (input: FuzzInput): Promise<boolean> => Promise.resolve(/<.*>/.test(textOf(input)));
    assert.equal(await minimalInput(text, fails, 10_000), '<>');
  });

  it('only what makes it fail is left of an object', async () => {
    const value = { a: [1, { b: 'long and bad words' }, 3], c: { d: 'e' } };
    const fails = (input: FuzzInput): Promise<boolean> => Promise.resolve(JSON.stringify(input).includes('bad'));
    assert.deepEqual(await minimalInput(value, fails, 10_000), { a: [{ b: 'bad' }] });
  });

  it('it is looked for with so many tries and no more', async () => {
    let tries = 0;
    const fails = (input: FuzzInput): Promise<boolean> => {
      tries += 1;
      return Promise.resolve(textOf(input).includes('b'));
    };
    await minimalInput(`${'a'.repeat(10_000)}b`, fails, 7);
    assert.equal(tries, 7);
  });
});
