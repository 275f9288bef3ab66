import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AGENT_LABEL, REQUESTED_BY_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { shutdownNames } from '../../../../src/decide/maintenance/agent-names.ts';
import { agentNodeOf, isUsable } from '../../../../src/decide/maintenance/maintenance.ts';
import { hasDrained } from '../../../../src/decide/maintenance/recorded-node.ts';
import { byName, ownMaintenanceOf } from '../../../support/maintenance/objects.ts';

const NODE = 'node-a';

const NAME = 'shutdown-node-a-1';

function ownOf(metadata: object = {}, spec: object = {}): NodeMaintenance {
  return ownMaintenanceOf(NODE, { name: NAME, uid: 'u-1', ...metadata }, spec);
}

/** Names that look like those of a node's agent, and belong to a person or to another node. */
function namesOfOthers(node: string): readonly string[] {
  const [shutdown = ''] = shutdownNames(node);
  return [
    'kernel',
    'shutdown',
    shutdown.slice(0, -2),
    shutdown.slice(0, -1),
    `${shutdown}0`,
    `${shutdown.slice(0, -1)}A`,
    `x${shutdown}`,
    shutdown.replace('shutdown', 'reboot'),
    // The name of a node whose name goes on.
    `${shutdown}-0`,
    ...shutdownNames('node-b'),
  ];
}

describe("the names of an agent's maintenances", () => {
  it("the names of an agent's maintenances are few, fit, and belong to one node", () => {
    const nodes = ['a', 'a-b', 'a-b-c', 'a.b', 'n'.repeat(242), 'n'.repeat(253), '0'];
    for (const node of nodes) {
      assert.equal(shutdownNames(node).length, 36);
      for (const name of shutdownNames(node)) assert.ok(name.length <= 253, name);
    }
    const all = nodes.flatMap((node) => shutdownNames(node));
    assert.equal(new Set(all).size, all.length);
  });
});

const GONE = { podsPendingEvacuation: 0, podsEvacuating: 0 };

const condition = (status: 'True' | 'False'): object => {
  return { type: 'Drained', status, reason: 'X', message: '', lastTransitionTime: '' };
};

/** A status whose condition and node say this. */
const said = (status: 'True' | 'False', node: object = {}): object => {
  return { conditions: [condition(status)], nodeStatuses: [{ nodeRef: { name: NODE }, ...node }] };
};

/** What a status says, and whether the node is drained by it. */
const drained: [string, object | undefined, boolean][] = [
  ['nothing', undefined, false],
  ['a condition alone', { conditions: [condition('True')] }, false],
  ['another node', { conditions: [condition('True')], nodeStatuses: [{ nodeRef: { name: 'b' }, ...GONE }] }, false],
  ['the node without counts', said('True'), false],
  ['pods that are left', said('True', { ...GONE, podsEvacuating: 1 }), false],
  ['that it goes on', said('False', { ...GONE }), false],
  ['that no pod is left', said('True', { ...GONE }), true],
];

describe('a maintenance', () => {
  for (const [what, status, expected] of drained) {
    it(`a maintenance has ${expected ? '' : 'not '}drained a node when its status says ${what}`, () => {
      assert.equal(hasDrained({ ...ownOf(), status } as NodeMaintenance, NODE), expected);
    });
  }

  for (const node of [NODE, 'n'.repeat(100), 'n'.repeat(253)]) {
    it(`a maintenance is of a node's agent where the node could have written it: a name of ${node.length} characters`, () => {
      const believed = (metadata: object = {}, spec: object = {}): string | undefined =>
        agentNodeOf(ownMaintenanceOf(node, metadata, spec));
      for (const name of shutdownNames(node)) assert.equal(believed({ name }), node, name);
      for (const name of namesOfOthers(node)) assert.equal(believed({ name }), undefined, name);
      assert.equal(believed({ labels: {} }), undefined);
      assert.equal(believed({ labels: { [AGENT_LABEL]: 'node-b' } }), undefined);
      assert.equal(believed({}, { nodeSelector: byName('node-b') }), undefined);
      assert.equal(believed({}, { nodeSelector: byName(node, 'node-b') }), undefined);
      // Admission writes it for everybody but nodes, with any value; some of such objects are older than the policy for labels.
      assert.equal(believed({ annotations: { [REQUESTED_BY_ANNOTATION]: 'alice' } }), undefined);
      assert.equal(believed({ annotations: { [REQUESTED_BY_ANNOTATION]: '' } }), undefined);
    });
  }

  it('an agent takes a maintenance for its own only where it is that, open, and has not drained anything yet', () => {
    assert.equal(isUsable(ownOf(), 'Drain', NODE), true);
    assert.equal(isUsable(ownOf({}, { nodeSelector: byName('node-b') }), 'Drain', NODE), false);
    assert.equal(isUsable(ownOf({ labels: { [AGENT_LABEL]: 'node-b' } }), 'Drain', NODE), false);
    assert.equal(isUsable(ownOf({}, { stage: 'Complete' }), 'Drain', NODE), false);
    assert.equal(isUsable(ownOf({}, { stage: 'Cordon' }), 'Drain', NODE), false);
    assert.equal(isUsable(ownOf({ deletionTimestamp: '2026-01-01T00:00:00Z' }), 'Drain', NODE), false);
    const status = said('True', GONE);
    assert.equal(isUsable({ ...ownOf(), status }, 'Drain', NODE), false);
  });
});
