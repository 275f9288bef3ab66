import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEADLINE_ANNOTATION, NODE_LABEL } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../../src/api/pod.ts';
import { createAffectedNodes } from '../../../../src/controller/cache/affected-nodes.ts';
import { createNodeIndex } from '../../../../src/controller/cache/nodes.ts';
import { createPodIndex } from '../../../../src/controller/cache/pods.ts';
import { createRecordedStatuses } from '../../../../src/controller/cache/recorded-statuses.ts';
import { createRequestIndex } from '../../../../src/controller/cache/requests.ts';
import { begunNode } from '../../../../src/decide/maintenance/recorded-node.ts';
import { drainsOfNode } from '../../../../src/decide/maintenance/maintenance.ts';
import { nodeAnnotation, nodeLabel } from '../../../../src/decide/node-label.ts';
import { cacheOfMap } from '../../../support/maintenance/indexes.ts';
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
    ['all nodes where it is gone', undefined, ['one', 'two']],
  ] as const;
  for (const [what, change, nodes] of changes) {
    it(`a change of a maintenance concerns ${what}`, () => {
      const reach = createAffectedNodes();
      assert.deepEqual(reach.note('m', drain, ['one', 'two']), ['one', 'two']);
      assert.deepEqual(reach.note('m', drain, ['one', 'two']), []);
      const selected = change === undefined ? [] : ['one', 'two'];
      assert.deepEqual(reach.note('m', change as NodeMaintenance | undefined, selected), nodes);
    });
  }
});

describe('what the deletion of a maintenance that has not begun concerns', () => {
  it('the deletion concerns all nodes although a finalizer keeps it: it plans them no longer', () => {
    const reach = createAffectedNodes();
    const idle: NodeMaintenance = { ...drainOf('m', ['one']) };
    const spec = { ...idle.spec, stage: 'Idle' as const };
    reach.note('m', { ...idle, spec }, ['one']);
    const metadata = { ...idle.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['example.com/hold'] };
    assert.deepEqual(reach.note('m', { ...idle, spec, metadata }, ['one']), ['one']);
  });
});

describe('the index of nodes', () => {
  const node: Node = {
    metadata: { name: 'one', uid: 'u', labels: { zone: 'a' } },
    status: { nodeInfo: { bootID: 'b' }, conditions: [] },
  };
  const ready = { type: 'Ready', status: 'True', reason: '', message: '' } as const;
  const changes: readonly (readonly [string, Node | undefined, boolean])[] = [
    ['its conditions', { ...node, status: { ...node.status, conditions: [ready] } }, false],
    ['its annotations', { ...node, metadata: { ...node.metadata, annotations: { a: 'b' } } }, false],
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

describe('the index of pods', () => {
  const podOn = (nodeName: string | undefined, phase = 'Running'): Pod => ({
    metadata: { name: 'p', namespace: 'n' },
    spec: nodeName === undefined ? {} : { nodeName },
    status: { phase },
  });

  it('the index of pods names the nodes that become empty, or are empty no longer', () => {
    const pods = new Map<string, Pod>();
    const index = createPodIndex(cacheOfMap(pods), Date);
    const turned = (key: string, pod: Pod | undefined): readonly string[] => {
      if (pod === undefined) pods.delete(key);
      else pods.set(key, pod);
      return index.note(key).turned;
    };
    assert.deepEqual(turned('n/a', podOn('one')), ['one']);
    assert.deepEqual(turned('n/a', podOn('one')), []);
    assert.deepEqual(turned('n/b', podOn('one')), []);
    assert.deepEqual(turned('n/unbound', podOn(undefined)), []);
    assert.equal(index.on('one').length, 2);
    assert.deepEqual(turned('n/a', podOn('one', 'Succeeded')), []);
    assert.equal(index.isEmpty('one'), false);
    assert.deepEqual(turned('n/b', podOn('two')), ['one', 'two']);
    assert.deepEqual([index.isEmpty('one'), index.isEmpty('two')], [true, false]);
    assert.deepEqual(turned('n/b', undefined), ['two']);
    assert.equal(index.isEmpty('two'), true);
  });

  it('the index of pods finds those that wait for one node, until they are bound', () => {
    const requirement = { key: 'metadata.name', operator: 'In', values: ['one'] };
    const nodeSelectorTerms = [{ matchFields: [requirement] }];
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
    const pod: Pod = { metadata: { name: 'p', namespace: 'n' }, spec: { affinity: { nodeAffinity } } };
    const pods = new Map([['n/p', pod]]);
    const index = createPodIndex(cacheOfMap(pods), Date);
    assert.deepEqual(index.note('n/p').nodes, ['one']);
    assert.deepEqual(index.meantFor('one'), [pod]);
    pods.set('n/p', podOn('one'));
    assert.deepEqual(index.note('n/p').turned, ['one']);
    assert.deepEqual([index.meantFor('one').length, index.on('one').length], [0, 1]);
  });
});

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

describe('what the status of a large maintenance has of one node', () => {
  const names = Array.from({ length: 10 }, (_, index) => `n-${index}`);
  const drainTargets = [{ podType: 'Default', podPriority: 0 }] as const;
  const statusOf = (position: number | undefined): NonNullable<NodeMaintenance['status']> => ({
    drainPlanPosition: 3,
    nodeStatuses: names.map((name, index) => {
      const drainPlanPosition = index === 0 ? {} : position === undefined ? {} : { drainPlanPosition: position };
      return { nodeRef: { name }, drainTargets, ...drainPlanPosition };
    }),
  });

  it('the node is recorded and has begun where it is so in the whole status, and nowhere else', () => {
    for (const position of [undefined, 3]) {
      const whole: NodeMaintenance = { ...drainOf('m', names), status: statusOf(position) };
      const recorded = createRecordedStatuses();
      recorded.note('m', whole);
      assert.deepEqual([...recorded.by('n-5')], ['m']);
      for (const name of [...names, 'other']) {
        const seen = recorded.asSeenFrom(name, whole);
        assert.ok((seen.status?.nodeStatuses?.length ?? 0) <= 2);
        assert.deepEqual(drainsOfNode([seen], name), drainsOfNode([whole], name));
        assert.deepEqual(begunNode(seen.status, { name }), begunNode(whole.status, { name }));
      }
    }
  });
});
