import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node, Pod } from '../../../../src/api/pod.ts';
import { couldTake } from '../../../../src/decide/disruption-budget/placement.ts';

const GPU = { key: 'gpu', value: 'true', effect: 'NoSchedule' };

function affinity(operator: string, values: readonly string[], place = 'matchExpressions'): Pod['spec'] {
  const key = place === 'matchFields' ? 'metadata.name' : 'zone';
  const nodeSelectorTerms = [{ [place]: [{ key, operator, values }] }];
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } };
}

interface Parts {
  readonly taints?: NonNullable<Node['spec']>['taints'];
  readonly labels?: Record<string, string>;
  readonly spec?: Pod['spec'];
}

function tolerates(toleration: NonNullable<Pod['spec']['tolerations']>[number]): Pod['spec'] {
  return { tolerations: [toleration] };
}

const CASES: readonly [title: string, takes: boolean, parts: Parts][] = [
  ['a node without taints takes a pod without demands', true, {}],
  ['a taint that is not tolerated keeps the pod away', false, { taints: [GPU] }],
  ['a taint with the effect NoExecute does so too', false, { taints: [{ ...GPU, effect: 'NoExecute' }] }],
  ['PreferNoSchedule does not', true, { taints: [{ ...GPU, effect: 'PreferNoSchedule' }] }],
  [
    'a node that is only cordoned takes pods later',
    true,
    { taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] },
  ],
  ['pressure passes', true, { taints: [{ key: 'node.kubernetes.io/disk-pressure', effect: 'NoSchedule' }] }],
  [
    'a cloud provider initializes its node',
    true,
    { taints: [{ key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' }] },
  ],
  [
    'a toleration of the value accepts the taint',
    true,
    { taints: [GPU], spec: tolerates({ key: 'gpu', value: 'true' }) },
  ],
  [
    'a toleration of another value does not',
    false,
    { taints: [GPU], spec: tolerates({ key: 'gpu', operator: 'Equal', value: 'false' }) },
  ],
  [
    'a toleration of the key accepts each value',
    true,
    { taints: [GPU], spec: tolerates({ key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }) },
  ],
  [
    'a toleration of another effect does not',
    false,
    { taints: [GPU], spec: tolerates({ key: 'gpu', operator: 'Exists', effect: 'NoExecute' }) },
  ],
  ['a toleration of everything accepts it', true, { taints: [GPU], spec: tolerates({ operator: 'Exists' }) }],
  [
    'an operator of a later Kubernetes may accept it',
    true,
    { taints: [GPU], spec: tolerates({ key: 'gpu', operator: 'Gt', value: '1' }) },
  ],
  [
    'each taint needs a toleration',
    false,
    {
      taints: [GPU, { key: 'team', value: 'a', effect: 'NoSchedule' }],
      spec: tolerates({ key: 'gpu', operator: 'Exists' }),
    },
  ],
  [
    'a node selector that matches is no obstacle',
    true,
    { labels: { disk: 'ssd' }, spec: { nodeSelector: { disk: 'ssd' } } },
  ],
  ['a node selector that does not match is one', false, { spec: { nodeSelector: { disk: 'ssd' } } }],
  ['a required affinity that matches', true, { labels: { zone: 'a' }, spec: affinity('In', ['a']) }],
  ['a required affinity that does not match', false, { labels: { zone: 'b' }, spec: affinity('In', ['a']) }],
  ['an affinity for the node by name', true, { spec: affinity('In', ['n1'], 'matchFields') }],
  ['an affinity for another node by name', false, { spec: affinity('In', ['n2'], 'matchFields') }],
  ['an operator that is not known may match', true, { spec: affinity('Near', ['a']) }],
];

describe('whether a node could take a pod', () => {
  for (const [title, takes, { taints = [], labels = {}, spec = {} }] of CASES) {
    it(title, () => {
      const node: Node = { metadata: { name: 'n1', labels }, spec: { taints, unschedulable: true } };
      assert.equal(couldTake(node, { metadata: { name: 'web' }, spec }), takes);
    });
  }
});
