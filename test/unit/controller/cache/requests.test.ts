import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NODE_LABEL } from '../../../../src/api/names.ts';
import { createRequestIndex } from '../../../../src/controller/cache/requests.ts';
import { nodeAnnotation, nodeLabel } from '../../../../src/decide/node-label.ts';
import { cacheOfMap } from '../../../support/maintenance/indexes.ts';

describe('the index of EvictionRequests', () => {
  it('the index of EvictionRequests finds those of a node whose name is longer than a label may be', () => {
    const node = `${'n'.repeat(200)}.${'x'.repeat(52)}`;
    const labels = { [NODE_LABEL]: nodeLabel(node) };
    assert.ok(nodeLabel(node).length <= 63);
    const spec = { target: { pod: { name: 'web', uid: 'u' } } };
    const metadata = { name: 'u', namespace: 'n', labels, annotations: nodeAnnotation(node) };
    const requests = new Map([['n/u', { metadata, spec }]]);
    const index = createRequestIndex(cacheOfMap(requests));
    assert.deepEqual(index.note('n/u'), { pods: ['n/web'], nodes: [node] });
    assert.deepEqual([[...index.onNode(node)], [...index.ofPod('n/web')]], [['n/u'], ['n/u']]);
    requests.delete('n/u');
    assert.deepEqual(index.note('n/u'), { pods: ['n/web'], nodes: [node] });
    assert.deepEqual([[...index.onNode(node)], [...index.ofPod('n/web')]], [[], []]);
  });
});
