import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CORDONED_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Node, NodeCondition } from '../../../../src/api/pod.ts';
import { drainsOn } from '../../../../src/decide/maintenance/maintenance.ts';
import {
  decideNodeConditions,
  NODE_CONDITIONS,
  type NodeState,
  nodeStateOf,
} from '../../../../src/decide/maintenance/node-conditions.ts';
import { maintenanceOf } from '../../../support/maintenance/objects.ts';

const NOTHING = { maintenances: [], planned: [], draining: [], drained: false };
const DRAINED_BY_M = { ...NOTHING, maintenances: ['m'], draining: ['m'] };

describe('the conditions of a node', () => {
  it('the conditions of a node are written when they change, and never on a node that was never under maintenance', () => {
    const node: Node = { metadata: { name: 'one' } };
    assert.deepEqual(decideNodeConditions(node, NOTHING), []);
    const begun = decideNodeConditions(node, DRAINED_BY_M);
    const found = begun.map(({ type, status }) => `${type}=${status}`);
    assert.deepEqual(found, ['MaintenanceInProgress=True', 'DrainInProgress=True']);
    const during: Node = { ...node, status: { conditions: begun } };
    assert.deepEqual(decideNodeConditions(during, DRAINED_BY_M), []);
    const done = decideNodeConditions(during, { ...DRAINED_BY_M, drained: true });
    const shown = done.map(({ type, status }) => `${type}=${status}`);
    assert.deepEqual(shown, ['DrainInProgress=False', 'Drained=True']);
    const over = decideNodeConditions(during, NOTHING);
    assert.ok(over.every(({ status }) => status === 'False'));
  });

  const states = {
    Idle: { ...NOTHING, planned: ['m'] },
    Cordon: { ...NOTHING, maintenances: ['m'], planned: ['m'] },
    Drain: DRAINED_BY_M,
    'Drain, drained': { ...DRAINED_BY_M, drained: true },
    Complete: NOTHING,
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

  const truthsAfter = (node: Node, state: NodeState): { readonly node: Node; readonly truths: readonly string[] } => {
    const written = decideNodeConditions(node, state);
    const types = new Set(written.map(({ type }) => type));
    const kept = (node.status?.conditions ?? []).filter(({ type }) => !types.has(type));
    const conditions = [...kept, ...written];
    const truths = conditions.filter(({ status }) => status === 'True').map(({ type }) => type);
    return { node: { metadata: node.metadata, status: { conditions } }, truths };
  };

  it('the conditions of a node say that a maintenance is planned until it is over, and that one is in progress only while its pods are asked to leave', () => {
    const steps: readonly [NodeState, readonly string[]][] = [
      [states.Idle, ['MaintenancePlanned']],
      [states.Cordon, ['MaintenancePlanned']],
      [states.Drain, ['MaintenancePlanned', 'MaintenanceInProgress', 'DrainInProgress']],
      [states['Drain, drained'], ['MaintenancePlanned', 'MaintenanceInProgress', 'Drained']],
      [states.Cordon, ['MaintenancePlanned']],
      [states.Complete, []],
    ];
    let node: Node = { metadata: { name: 'one' } };
    for (const [state, expected] of steps) {
      const after = truthsAfter(node, state);
      assert.deepEqual(after.truths.toSorted(), expected.toSorted());
      node = after.node;
    }
    const direct = truthsAfter({ metadata: { name: 'one' } }, states.Drain);
    assert.deepEqual(direct.truths, ['MaintenanceInProgress', 'DrainInProgress'], 'a drain that begins at once');
  });

  // KEP-6249 and KEP-5683: who has written what, and what this program then makes of a node that it drains, or no longer does.
  const GNS = 'GracefulNodeShutdownInProgress';
  const DRAIN = 'DrainInProgress';
  const written = (type: string, status: NodeCondition['status'], reason: string): NodeCondition => {
    return { type, status, reason, message: '' };
  };
  const gns = (status: NodeCondition['status'], reason: string): NodeCondition => written(GNS, status, reason);
  const drain = (status: NodeCondition['status'], reason: string): NodeCondition => written(DRAIN, status, reason);
  const ours: NodeCondition = { ...drain('True', 'NodeMaintenance'), message: 'drained by m' };
  const rules: readonly [rule: string, on: readonly NodeCondition[], draining: string, after: string][] = [
    ['the kubelet begins a shutdown', [gns('True', 'NodeShutdown'), drain('True', 'NodeShutdown')], '-', '-'],
    ['the kubelet leaves a drain that is there', [gns('True', 'NodeShutdown'), ours], '-', '-'],
    ['the kubelet has called its shutdown off', [gns('False', 'X'), drain('False', 'X')], 'True', '-'],
    ['the kubelet has cleared what it found at its start', [drain('False', 'KubeletStarted')], 'True', '-'],
    ['the node lifecycle controller has lost the kubelet', [drain('Unknown', 'KubeletUnreachable')], 'True', '-'],
    ['that, after a shutdown', [gns('Unknown', 'KubeletUnreachable'), ours], '-', 'False'],
    ['kubectl drain says that it drains', [drain('True', 'AdminRequested')], '-', '-'],
    ['the drain is ours alone', [ours], '-', 'False'],
    ['nobody has said anything', [], 'True', '-'],
  ];
  for (const [rule, conditions, draining, after] of rules) {
    it(`the condition DrainInProgress where ${rule}: ${draining} while this program drains, ${after} afterwards`, () => {
      const node: Node = { metadata: { name: 'one' }, status: { conditions } };
      const made = (state: (typeof states)[keyof typeof states]): string => {
        const changes = decideNodeConditions(node, state);
        assert.ok(
          changes.every(({ type }) => type !== GNS),
          'that is for the kubelet to say',
        );
        const change = changes.find(({ type }) => type === DRAIN);
        return change === undefined ? '-' : change.status;
      };
      assert.equal(made(states.Drain), draining);
      assert.equal(made(states.Complete), after);
    });
  }
});

describe('what may stay on a node', () => {
  const node: Node = { metadata: { name: 'node-a', labels: { rack: 'one' } } };
  const byLabel = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'rack', operator: 'Exists' }] }] };
  const drainTargets = [{ podType: 'Default', podPriority: 0 }] as const;
  const drainStartTime = '2026-01-01T00:00:00Z';
  const recorded = { nodeStatuses: [{ nodeRef: { name: 'node-a' }, drainStartTime, drainTargets }] };
  const drain: NodeMaintenance = {
    ...maintenanceOf({ stage: 'Drain', nodeSelector: byLabel }, { name: 'm' }),
    status: recorded,
  };

  it('a drain counts on a node that it selects and has targets for, and not one that is throttled, or whose status names another', () => {
    assert.equal(drainsOn([drain], node)[0]?.maintenance, 'm');
    const throttled = { nodeRef: { name: 'node-a' }, drainTargets };
    assert.deepEqual(drainsOn([{ ...drain, status: { nodeStatuses: [throttled] } }], node), []);
    const hasLeft = { metadata: { name: 'node-a' } };
    for (const other of [hasLeft, undefined]) assert.deepEqual(drainsOn([drain], other), []);
  });

  it('a maintenance keeps nothing on a node that has left its selector', () => {
    const begun = { maintenances: ['m'], planned: [], draining: ['m'], drained: false };
    assert.deepEqual(nodeStateOf([drain], node, false), begun);
    const left = nodeStateOf([drain], { metadata: { name: 'node-a' } }, false);
    assert.deepEqual(left, { maintenances: [], planned: [], draining: [], drained: false });
  });

  it('a maintenance plans something on its node in the stages Idle and Cordon, and until its drain has begun there', () => {
    const inStage = (stage: string, metadata: object = {}): NodeMaintenance => ({
      ...drain,
      metadata: { ...drain.metadata, ...metadata },
      spec: { ...drain.spec, stage: stage as 'Idle' },
      status: {},
    });
    const stateOf = (maintenance: NodeMaintenance, seen: Node = node) => nodeStateOf([maintenance], seen, true);
    const nothing = { maintenances: [], planned: [], draining: [], drained: false };
    assert.deepEqual(stateOf(inStage('Idle')), { ...nothing, planned: ['m'] });
    assert.deepEqual(stateOf(inStage('Idle', { deletionTimestamp: '2026-05-01T12:00:00Z' })), nothing);
    assert.deepEqual(stateOf(inStage('Cordon')), { ...nothing, maintenances: ['m'], planned: ['m'] });
    assert.deepEqual(stateOf(inStage('Drain')), nothing, 'it may begin at once');
    const waits = { ...inStage('Drain'), status: { nodeStatuses: [{ nodeRef: { name: node.metadata.name } }] } };
    assert.deepEqual(stateOf(waits as NodeMaintenance), { ...nothing, planned: ['m'] }, 'it is not cordoned');
    const byAgent = { ...node, metadata: { ...node.metadata, annotations: { [CORDONED_ANNOTATION]: 'm' } } };
    assert.deepEqual(stateOf(waits as NodeMaintenance, byAgent).maintenances, ['m'], 'its agent has begun alone');
    const cordonedBefore = { ...waits, status: { ...waits.status, stageStatuses: [{ name: 'Cordon' }] } };
    const recorded = (more: object) => ({ nodeStatuses: [{ nodeRef: { name: node.metadata.name }, ...more }] });
    const reached = { ...waits, status: recorded({ drainTargets }) };
    const handedOver = { ...waits, status: recorded({ drainTargets: [], drainStartTime: '2026-05-01T12:00:00Z' }) };
    for (const cordoned of [cordonedBefore, reached, handedOver])
      assert.deepEqual(stateOf(cordoned as NodeMaintenance).maintenances, ['m'], 'what is cordoned stays so');
    assert.deepEqual(stateOf(inStage('Complete')), nothing);
  });
});
