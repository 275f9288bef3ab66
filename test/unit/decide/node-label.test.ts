import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NODE_LABEL } from '../../../src/api/names.ts';
import { nodeAnnotation, nodeLabel, requestNodeOf } from '../../../src/decide/node-label.ts';

describe('the label of a node', () => {
  it('the label of a node is its name, as long as that fits', () => {
    assert.equal(nodeLabel('node-a'), 'node-a');
    assert.equal(nodeLabel('n'.repeat(63)), 'n'.repeat(63));
  });

  it('the label of a node is a valid label that tells nodes with the same beginning and end apart', () => {
    const names = Array.from({ length: 1_000 }, (_, at) => `${'pool-'.repeat(12)}${at}.${'a.b-'.repeat(40)}internal`);
    const labels = new Set(names.map(nodeLabel));
    assert.equal(labels.size, names.length);
    for (const label of labels) assert.match(label, /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])$/);
  });
});

describe('the node of an EvictionRequest', () => {
  const long = 'n'.repeat(100);
  const of = (node: string): string =>
    requestNodeOf({ name: 'u', labels: { [NODE_LABEL]: nodeLabel(node) }, annotations: nodeAnnotation(node) });

  it('the node of an EvictionRequest is named by its label, and where that is too short by an annotation that agrees with it', () => {
    assert.equal(of('node-a'), 'node-a');
    assert.equal(of(long), long);
    assert.equal(requestNodeOf({ name: 'u' }), '');
    const lies = { labels: { [NODE_LABEL]: 'node-a' }, annotations: { [NODE_LABEL]: 'node-b' } };
    assert.equal(requestNodeOf({ name: 'u', ...lies }), 'node-a');
  });
});
