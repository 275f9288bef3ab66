import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node, NodeCondition } from '../../../../src/api/pod.ts';
import { decideNodeConditions, NODE_CONDITIONS } from '../../../../src/decide/maintenance/node-conditions.ts';

describe('the conditions of a node', () => {
  it('the conditions of a node are written when they change, and never on a node that was never under maintenance', () => {
    const node: Node = { metadata: { name: 'one' } };
    assert.deepEqual(decideNodeConditions(node, { maintenances: [], draining: [], drained: false }), []);
    const begun = decideNodeConditions(node, { maintenances: ['m'], draining: ['m'], drained: false });
    assert.deepEqual(
      begun.map(({ type, status }) => `${type}=${status}`),
      ['MaintenanceInProgress=True', 'DrainInProgress=True'],
    );
    const during: Node = { ...node, status: { conditions: begun } };
    assert.deepEqual(decideNodeConditions(during, { maintenances: ['m'], draining: ['m'], drained: false }), []);
    const done = decideNodeConditions(during, { maintenances: ['m'], draining: ['m'], drained: true });
    assert.deepEqual(
      done.map(({ type, status }) => `${type}=${status}`),
      ['DrainInProgress=False', 'Drained=True'],
    );
    const over = decideNodeConditions(during, { maintenances: [], draining: [], drained: false });
    assert.ok(over.every(({ status }) => status === 'False'));
  });

  const states = {
    Cordon: { maintenances: ['m'], draining: [], drained: false },
    Drain: { maintenances: ['m'], draining: ['m'], drained: false },
    'Drain, drained': { maintenances: ['m'], draining: ['m'], drained: true },
    Complete: { maintenances: [], draining: [], drained: false },
  } as const;
  /** A node with a condition of each of the types, as somebody else has set them. */
  const nodeWith = (status: NodeCondition['status'], reason: string): Node => {
    const conditions = NODE_CONDITIONS.map((type) => ({ type, status, reason, message: 'by somebody' }));
    return { metadata: { name: 'one' }, status: { conditions } };
  };

  for (const [stage, state] of Object.entries(states)) {
    it(`the conditions of a node that somebody else has set to True stay as they are in the stage ${stage}`, () => {
      for (const reason of ['NodeShutdown', 'AdminRequested', '']) {
        assert.deepEqual(decideNodeConditions(nodeWith('True', reason), state), []);
      }
    });

    it(`the conditions of a node that somebody else has set to False are taken over only to be True in the stage ${stage}`, () => {
      const changes = decideNodeConditions(nodeWith('False', 'KubeletReady'), state);
      assert.ok(changes.every(({ status }) => status === 'True'));
      assert.equal(changes.length > 0, stage !== 'Complete');
    });
  }

  it('the conditions of a node are not written again because the server leaves their empty message out', () => {
    const begun = decideNodeConditions({ metadata: { name: 'one' } }, states.Drain);
    const during: Node = { metadata: { name: 'one' }, status: { conditions: begun } };
    const over = decideNodeConditions(during, states.Complete).map(({ type, status, reason }): NodeCondition => {
      return { type, status, ...(reason === undefined ? {} : { reason }) };
    });
    const kept = { metadata: { name: 'one' }, status: { conditions: over } };
    assert.deepEqual(decideNodeConditions(kept, states.Complete), []);
  });
});
