import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../../src/api/pod.ts';
import { nodesThatStay } from '../../../../src/decide/disruption-budget/staying-node.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');

function node(name: string, ready: string | undefined, sinceMin = 60, spec: Node['spec'] = {}): Node {
  const lastTransitionTime = rfc3339(NOW - sinceMin * 60_000);
  const conditions = ready === undefined ? [] : [{ type: 'Ready', status: ready, lastTransitionTime }];
  return { metadata: { name, creationTimestamp: lastTransitionTime }, spec, status: { conditions } } as Node;
}

describe('the nodes that stay while a machine goes down', () => {
  const cases: readonly [string, Node, boolean][] = [
    ['one that is Ready', node('n', 'True'), true],
    ['one that is cordoned', node('n', 'True', 60, { unschedulable: true }), true],
    ['one that is tainted for others', node('n', 'True', 60, { taints: [{ key: 'gpu', effect: 'NoSchedule' }] }), true],
    ['one whose kubelet has just fallen silent, as while the API server was away', node('n', 'Unknown', 4), true],
    ['one whose kubelet has been silent for long', node('n', 'Unknown', 5), false],
    ['one that has not been Ready for long', node('n', 'False', 60), false],
    ['one that has just joined', node('n', undefined, 1), true],
    ['one that joined long ago and never said anything', node('n', undefined, 60), false],
  ];
  for (const [what, each, stays] of cases) {
    it(`${what} ${stays ? 'stays' : 'does not stay'}`, () => {
      assert.deepEqual(nodesThatStay([each], new Set(), NOW), stays ? ['n'] : []);
    });
  }

  it('one whose machine goes down for good does not stay', () => {
    assert.deepEqual(nodesThatStay([node('a', 'True'), node('b', 'True')], new Set(['a']), NOW), ['b']);
  });
});
