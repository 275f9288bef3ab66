import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../../src/api/pod.ts';
import { otherMaintainers } from '../../../../src/decide/node-mark/maintainers.ts';

function nodeOf(taints: readonly string[], annotations: Readonly<Record<string, string>> = {}): Node {
  return { metadata: { name: 'a', annotations }, spec: { taints: taints.map((key) => ({ key })) } };
}

function withCondition(type: string, reason: string, status: 'True' | 'False' = 'True'): Node {
  return { metadata: { name: 'a' }, status: { conditions: [{ type, status, reason }] } };
}

describe('other programs that take a node out of service', () => {
  const cases: readonly [title: string, node: Node, who: readonly string[]][] = [
    ['nobody', nodeOf(['node.kubernetes.io/unschedulable']), []],
    ['a node without a spec', { metadata: { name: 'a' } }, []],
    ['cluster-autoscaler', nodeOf(['ToBeDeletedByClusterAutoscaler']), ['cluster-autoscaler']],
    ['karpenter', nodeOf(['karpenter.sh/disrupted']), ['karpenter']],
    ['Cluster API', nodeOf(['node.cluster.x-k8s.io/outdated-revision']), ['Cluster']],
    ['a kubelet that shuts down', withCondition('GracefulNodeShutdownInProgress', 'NodeShutdown'), ['the']],
    ['a drain that says so', withCondition('DrainInProgress', 'AdminRequested'), ['somebody']],
    ['a drain that is over', withCondition('DrainInProgress', 'AdminRequested', 'False'), []],
    ['our own drain', withCondition('DrainInProgress', 'NodeMaintenance'), []],
    ['a planned maintenance', withCondition('MaintenancePlanned', 'MaintenanceWindow'), ['a']],
    ['a condition that nobody knows', withCondition('toString', 'X'), []],
    ['kured', nodeOf([], { 'weave.works/kured-reboot-in-progress': '2026-11-23T00:00:00Z' }), ['kured']],
    [
      'two of them',
      nodeOf(['karpenter.sh/disruption', 'DeletionCandidateOfClusterAutoscaler']),
      ['cluster-autoscaler', 'karpenter'],
    ],
  ];
  for (const [title, node, who] of cases) {
    it(`a preview recognises them by what they set: ${title}`, () => {
      assert.deepEqual(
        otherMaintainers(node).map((said) => said.split(' ', 1)[0]),
        who,
      );
    });
  }
});
