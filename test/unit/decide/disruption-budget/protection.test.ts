import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node, Pod } from '../../../../src/api/pod.ts';
import { judgeProtection, whyNotAsked } from '../../../../src/decide/disruption-budget/protection.ts';
import type { NodeOutlook } from '../../../../src/decide/disruption-budget/staying-nodes.ts';

const pod = (spec: Pod['spec'] = {}): Pod => ({ metadata: { name: 'web' }, spec });
const stays = (name: string, spec: Node['spec'] = {}): NodeOutlook => {
  return { kind: 'stays', name, node: { metadata: { name }, spec } };
};
const TAINTED = { taints: [{ key: 'gpu', effect: 'NoSchedule' }] };
const TOLERATES = { tolerations: [{ key: 'gpu', operator: 'Exists' }] };

const CASES: readonly [title: string, pods: readonly Pod[], staying: readonly NodeOutlook[], node: string][] = [
  ['no node stays', [pod({ nodeName: 'n1' })], [], ''],
  ['a node stays that could take the pod', [pod({ nodeName: 'n1' })], [stays('n2')], 'n2'],
  ['a node stays that is tainted for others', [pod({ nodeName: 'n1' })], [stays('n2', TAINTED)], ''],
  [
    'a node stays that is tainted for others, and runs one of its pods',
    [pod({ nodeName: 'n1' }), pod({ nodeName: 'n2' })],
    [stays('n2', TAINTED)],
    'n2',
  ],
  [
    'a node stays that could take another pod of the budget, which has no place yet',
    [pod({ nodeName: 'n1' }), pod(TOLERATES)],
    [stays('n2', TAINTED)],
    'n2',
  ],
  ['of one node it is not known yet', [pod({ nodeName: 'n1' })], [{ kind: 'unknown', name: 'n3' }], 'n3'],
];

describe('what a PodDisruptionBudget protects when machines go down', () => {
  for (const [title, pods, staying, node] of CASES) {
    it(title, () => {
      const expected = node === '' ? { kind: 'protects-nothing' } : { kind: 'protects', node };
      assert.deepEqual(judgeProtection(pods, staying), expected);
    });
  }

  it('the reason names the budgets and the node', () => {
    const why =
      'node n1 goes down, and no node that stays (Ready, not going down) runs a pod of the budget or could take one.';
    assert.equal(whyNotAsked(['web'], 'n1'), `PodDisruptionBudget web is not asked: ${why}`);
    assert.equal(whyNotAsked(['one', 'two'], 'n1'), `PodDisruptionBudgets one, two are not asked: ${why}`);
  });
});
