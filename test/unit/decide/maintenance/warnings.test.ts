import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeSelector } from '../../../../src/api/meta.ts';
import type { Node } from '../../../../src/api/pod.ts';
import { maintenanceWarnings } from '../../../../src/decide/maintenance/warnings.ts';
import { byName } from '../../../support/maintenance/objects.ts';

const CONTROL_PLANE = { 'node-role.kubernetes.io/control-plane': '' };

const DANGER = 'the cluster may get into a degraded and unrecoverable state';

function node(name: string, labels: Readonly<Record<string, string>> = {}): Node {
  return { metadata: { name, labels } };
}

const NODES = [node('cp-1', CONTROL_PLANE), node('cp-2', CONTROL_PLANE), node('w-1', { zone: 'a' }), node('w-2')];

function labels(key: string, operator: string): NodeSelector {
  return { nodeSelectorTerms: [{ matchExpressions: [{ key, operator }] }] };
}

const selects = (what: string): readonly string[] => [`the nodeSelector selects ${what}: ${DANGER}`];
const LAST_MEMBER = selects('the only control plane node of the cluster');

describe('the warnings about a maintenance', () => {
  const cases: readonly [string, NodeSelector, readonly Node[], readonly string[]][] = [
    ['of one node of several', byName('w-1'), NODES, []],
    ['of some control plane nodes', byName('cp-1', 'w-1', 'w-2'), NODES, []],
    ['of all nodes', labels('none', 'DoesNotExist'), NODES, selects('all 4 nodes of the cluster')],
    [
      'of all control plane nodes',
      labels('node-role.kubernetes.io/control-plane', 'Exists'),
      NODES,
      selects('all 2 control plane nodes of the cluster'),
    ],
    ['of the only control plane node and another', byName('cp-2', 'w-1'), NODES.slice(1), LAST_MEMBER],
    [
      'of a control plane node by its older label',
      byName('old'),
      [node('old', { 'node-role.kubernetes.io/master': '' }), node('w-1')],
      LAST_MEMBER,
    ],
    [
      'of the only node of etcd, which the control plane needs as well',
      byName('etcd'),
      [node('etcd', { 'node-role.kubernetes.io/etcd': '' }), node('w-1')],
      LAST_MEMBER,
    ],
    ['of the only node', byName('w-1'), [node('w-1')], selects('the only node of the cluster')],
    [
      'of no node',
      byName('w-3'),
      NODES,
      [
        'the nodeSelector does not select any of the 4 nodes that the cluster has now: nothing will be done until it does',
      ],
    ],
    [
      'of no node where there is one',
      byName('w-3'),
      [node('w-1')],
      ['the nodeSelector does not select the one node that the cluster has now: nothing will be done until it does'],
    ],
  ];
  for (const [what, selector, nodes, warnings] of cases) {
    it(`the warnings are right for one ${what}`, () => {
      assert.deepEqual(maintenanceWarnings(selector, nodes), warnings);
      for (const warning of warnings) assert.ok(warning.length <= 256);
    });
  }
});
