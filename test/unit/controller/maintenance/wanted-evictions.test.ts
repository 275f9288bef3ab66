import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createEvictionIntents, type EvictionIntent } from '../../../../src/controller/maintenance/wanted-evictions.ts';

function intentOf(uid: string): EvictionIntent {
  const pod = { namespace: 'n', name: uid, uid, podType: 'Default', priority: 0, labels: {} } as const;
  return { node: 'one', pod };
}

describe('the pods that maintenances want evicted', () => {
  it('the pods that a maintenance wants are those that it named last, and each change of them is told', () => {
    const intents = createEvictionIntents();
    assert.deepEqual(intents.replace('m', [intentOf('a'), intentOf('b')]), ['n/a', 'n/b']);
    assert.deepEqual(intents.replace('m', [intentOf('a'), intentOf('b')]), []);
    assert.deepEqual(intents.replace('m', [intentOf('b'), intentOf('c')]), ['n/a', 'n/c']);
    assert.equal(intents.of('n/a').size, 0);
    assert.deepEqual([...intents.of('n/b').keys()], ['m']);
    assert.deepEqual(intents.replace('m', []), ['n/b', 'n/c']);
    assert.equal(intents.of('n/b').size, 0);
  });

  it('the pods that several maintenances want are wanted until the last one lets go', () => {
    const intents = createEvictionIntents();
    intents.replace('m', [intentOf('a')]);
    intents.replace('other', [intentOf('a')]);
    intents.replace('m', []);
    assert.deepEqual([...intents.of('n/a').keys()], ['other']);
  });

  it('the pods that a maintenance wants are all told when its deadline changes', () => {
    const intents = createEvictionIntents();
    intents.replace('m', [intentOf('a')]);
    assert.deepEqual(intents.replace('m', [intentOf('a')], 5_000), ['n/a']);
    assert.deepEqual(intents.replace('m', [intentOf('a')], 5_000), []);
    assert.deepEqual(intents.replace('m', [intentOf('a')]), ['n/a']);
  });
});
