import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEADLINE_ANNOTATION, NODE_LABEL } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { createMaintenanceReach } from '../../../../src/controller/cache/maintenance-reach.ts';
import { createPodIndex } from '../../../../src/controller/cache/pods-by-node.ts';
import { createRequestIndex } from '../../../../src/controller/cache/request-index.ts';
import { nodeAnnotation, nodeLabel } from '../../../../src/decide/node-label.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';

describe('what a change of a maintenance concerns', () => {
  const targets = [{ podType: 'Default', podPriority: 0 }] as const;
  const drain: NodeMaintenance = {
    ...drainOf('m', ['one', 'two']),
    status: {
      nodeStatuses: [
        { nodeRef: { name: 'one' }, drainTargets: targets, podsEvacuating: 5 },
        { nodeRef: { name: 'two' }, drainTargets: targets },
      ],
    },
  };
  const [first, second] = drain.status?.nodeStatuses ?? [];
  assert.ok(first !== undefined && second !== undefined);
  const changes = [
    [
      'nothing where only a count changes',
      { ...drain, status: { nodeStatuses: [{ ...first, podsEvacuating: 4 }, second] } },
      [],
    ],
    [
      'the node whose targets change',
      { ...drain, status: { nodeStatuses: [{ ...first, drainTargets: [] }, second] } },
      ['one'],
    ],
    ['all nodes where its stage changes', { ...drain, spec: { ...drain.spec, stage: 'Complete' } }, ['one', 'two']],
    [
      'all nodes where its deadline changes',
      { ...drain, metadata: { ...drain.metadata, annotations: { [DEADLINE_ANNOTATION]: 'x' } } },
      ['one', 'two'],
    ],
    ['all nodes where it is deleted', undefined, ['one', 'two']],
  ] as const;
  for (const [what, change, nodes] of changes) {
    it(`a change of a maintenance concerns ${what}`, () => {
      const reach = createMaintenanceReach();
      assert.deepEqual(reach.note('m', drain, ['one', 'two']), ['one', 'two']);
      assert.deepEqual(reach.note('m', drain, ['one', 'two']), []);
      const selected = change === undefined ? [] : ['one', 'two'];
      assert.deepEqual(reach.note('m', change as NodeMaintenance | undefined, selected), nodes);
    });
  }
});

describe('the index of pods', () => {
  const podOn = (nodeName: string | undefined, phase = 'Running'): Pod => ({
    metadata: { name: 'p', namespace: 'n' },
    spec: nodeName === undefined ? {} : { nodeName },
    status: { phase },
  });

  it('the index of pods names the nodes that become empty, or are empty no longer', () => {
    const index = createPodIndex();
    assert.deepEqual(index.note('n/a', podOn('one')), ['one']);
    assert.deepEqual(index.note('n/a', podOn('one')), []);
    assert.deepEqual(index.note('n/b', podOn('one')), []);
    assert.deepEqual(index.note('n/unbound', podOn(undefined)), []);
    assert.deepEqual(index.note('n/a', podOn('one', 'Succeeded')), []);
    assert.equal(index.isEmpty('one'), false);
    assert.deepEqual(index.note('n/b', podOn('two')), ['one', 'two']);
    assert.deepEqual([index.isEmpty('one'), index.isEmpty('two')], [true, false]);
    assert.deepEqual(index.note('n/b', undefined), ['two']);
    assert.equal(index.isEmpty('two'), true);
  });
});

describe('the index of EvictionRequests', () => {
  it('the index of EvictionRequests finds those of a node whose name is longer than a label may be', () => {
    const node = `${'n'.repeat(200)}.${'x'.repeat(52)}`;
    const labels = { [NODE_LABEL]: nodeLabel(node) };
    assert.ok(nodeLabel(node).length <= 63);
    const spec = { target: { pod: { name: 'web', uid: 'u' } } };
    const index = createRequestIndex();
    index.note('n/u', { metadata: { name: 'u', namespace: 'n', labels, annotations: nodeAnnotation(node) }, spec });
    assert.deepEqual([index.onNode(node), index.ofPod('n/web'), index.podOf('n/u')], [['n/u'], ['n/u'], 'n/web']);
    index.note('n/u', undefined);
    assert.deepEqual([index.onNode(node), index.ofPod('n/web'), index.podOf('n/u')], [[], [], undefined]);
  });
});
