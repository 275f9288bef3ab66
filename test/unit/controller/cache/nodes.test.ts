import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AGENT_STATUS_ANNOTATION } from '../../../../src/api/names.ts';
import type { Node } from '../../../../src/api/pod.ts';
import { createNodeIndex } from '../../../../src/controller/cache/nodes.ts';
import { cacheOfMap } from '../../../support/maintenance/indexes.ts';
import { AGENT } from '../../../support/views/cluster.ts';

describe('the index of nodes', () => {
  const node: Node = {
    metadata: { name: 'one', uid: 'u', labels: { zone: 'a' } },
    status: { nodeInfo: { bootID: 'b' }, conditions: [] },
  };
  const ready = { type: 'Ready', status: 'True', reason: '', message: '' } as const;
  const carriers = { [AGENT_STATUS_ANNOTATION]: JSON.stringify({ ...AGENT, carriers: ['n/proxy'] }) };
  const changes: readonly (readonly [string, Node | undefined, boolean])[] = [
    ['its conditions', { ...node, status: { ...node.status, conditions: [ready] } }, false],
    ['its annotations', { ...node, metadata: { ...node.metadata, annotations: { a: 'b' } } }, false],
    ['what carries the way of its agent', { ...node, metadata: { ...node.metadata, annotations: carriers } }, true],
    ['its labels', { ...node, metadata: { ...node.metadata, labels: {} } }, true],
    ['its boot', { ...node, status: { nodeInfo: { bootID: 'c' } } }, true],
    ['its cordon', { ...node, spec: { unschedulable: true } }, true],
    ['that it is another one', { ...node, metadata: { ...node.metadata, uid: 'v' } }, true],
    ['that it is gone', undefined, true],
  ];
  for (const [what, change, isOther] of changes) {
    it(`the index says ${isOther ? 'that' : 'not that'} requests have to be looked at where a node has changed in ${what}`, () => {
      const nodes = new Map([['one', node]]);
      const index = createNodeIndex(cacheOfMap(nodes));
      assert.ok(index.note('one').isOtherForRequests);
      assert.ok(!index.note('one').isOtherForRequests);
      if (change === undefined) nodes.delete('one');
      else nodes.set('one', change);
      assert.equal(index.note('one').isOtherForRequests, isOther);
    });
  }
});
