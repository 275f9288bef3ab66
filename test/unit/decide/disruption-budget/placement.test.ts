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

interface Case {
  readonly title: string;
  readonly taints?: NonNullable<Node['spec']>['taints'];
  readonly labels?: Record<string, string>;
  readonly spec?: Pod['spec'];
  readonly takes: boolean;
}

const CASES: readonly Case[] = [
  { title: 'a node without taints takes a pod without demands', takes: true },
  { title: 'a taint that is not tolerated keeps the pod away', taints: [GPU], takes: false },
  { title: 'a taint with the effect NoExecute does so too', taints: [{ ...GPU, effect: 'NoExecute' }], takes: false },
  { title: 'PreferNoSchedule does not', taints: [{ ...GPU, effect: 'PreferNoSchedule' }], takes: true },
  {
    title: 'a node that is only cordoned takes pods later',
    taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }],
    takes: true,
  },
  {
    title: 'pressure passes',
    taints: [{ key: 'node.kubernetes.io/disk-pressure', effect: 'NoSchedule' }],
    takes: true,
  },
  {
    title: 'a cloud provider initializes its node',
    taints: [{ key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' }],
    takes: true,
  },
  {
    title: 'a toleration of the value accepts the taint',
    taints: [GPU],
    spec: { tolerations: [{ key: 'gpu', value: 'true' }] },
    takes: true,
  },
  {
    title: 'a toleration of another value does not',
    taints: [GPU],
    spec: { tolerations: [{ key: 'gpu', operator: 'Equal', value: 'false' }] },
    takes: false,
  },
  {
    title: 'a toleration of the key accepts each value',
    taints: [GPU],
    spec: { tolerations: [{ key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }] },
    takes: true,
  },
  {
    title: 'a toleration of another effect does not',
    taints: [GPU],
    spec: { tolerations: [{ key: 'gpu', operator: 'Exists', effect: 'NoExecute' }] },
    takes: false,
  },
  {
    title: 'a toleration of everything accepts it',
    taints: [GPU],
    spec: { tolerations: [{ operator: 'Exists' }] },
    takes: true,
  },
  {
    title: 'an operator of a later Kubernetes may accept it',
    taints: [GPU],
    spec: { tolerations: [{ key: 'gpu', operator: 'Gt', value: '1' }] },
    takes: true,
  },
  {
    title: 'each taint needs a toleration',
    taints: [GPU, { key: 'team', value: 'a', effect: 'NoSchedule' }],
    spec: { tolerations: [{ key: 'gpu', operator: 'Exists' }] },
    takes: false,
  },
  {
    title: 'a node selector that matches is no obstacle',
    labels: { disk: 'ssd' },
    spec: { nodeSelector: { disk: 'ssd' } },
    takes: true,
  },
  { title: 'a node selector that does not match is one', spec: { nodeSelector: { disk: 'ssd' } }, takes: false },
  { title: 'a required affinity that matches', labels: { zone: 'a' }, spec: affinity('In', ['a']), takes: true },
  {
    title: 'a required affinity that does not match',
    labels: { zone: 'b' },
    spec: affinity('In', ['a']),
    takes: false,
  },
  { title: 'an affinity for the node by name', spec: affinity('In', ['n1'], 'matchFields'), takes: true },
  {
    title: 'an affinity for another node by name',
    spec: affinity('In', ['n2'], 'matchFields'),
    takes: false,
  },
  { title: 'an operator that is not known may match', spec: affinity('Near', ['a']), takes: true },
];

describe('whether a node could take a pod', () => {
  for (const { title, taints = [], labels = {}, spec = {}, takes } of CASES) {
    it(title, () => {
      const node: Node = { metadata: { name: 'n1', labels }, spec: { taints, unschedulable: true } };
      assert.equal(couldTake(node, { metadata: { name: 'web' }, spec }), takes);
    });
  }
});
