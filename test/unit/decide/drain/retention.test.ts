import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CANCELED, EVICTED, type EvictionRequest } from '../../../../src/api/eviction-request.ts';
import { MAINTENANCE_REQUESTER, MAINTENANCE_UID_LABEL } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../../src/api/pod.ts';
import { decideRetention, drainsOn, nodeStateOf, type RetentionStep } from '../../../../src/decide/drain/retention.ts';
import type { NodeDrain } from '../../../../src/decide/maintenance/maintenance.ts';
import { maintenanceOf } from '../../../support/maintenance/objects.ts';

const OTHER = 'descheduler.sigs.k8s.io';
const POD: Pod = { metadata: { name: 'web', namespace: 'n', uid: 'u' }, spec: { nodeName: 'node-a', priority: 5 } };

function requestOf(
  requesters: readonly string[],
  over?: typeof CANCELED | typeof EVICTED,
  metadata: object = {},
): EvictionRequest {
  const conditions = over === undefined ? [] : [{ type: over, status: 'True', reason: '', message: '' }];
  return {
    metadata: { name: 'u', namespace: 'n', ...metadata },
    spec: { target: { pod: { name: 'web', uid: 'u' } }, requesters: requesters.map((name) => ({ name })) },
    status: { conditions: conditions as NonNullable<EvictionRequest['status']>['conditions'] & object },
  };
}

function drainUpTo(podPriority: number): NodeDrain {
  return { maintenance: 'm', reason: '', drainTargets: [{ podType: 'Default', podPriority }] };
}

describe('the retention of an EvictionRequest', () => {
  const OURS = [MAINTENANCE_REQUESTER];
  const BOTH = [OTHER, MAINTENANCE_REQUESTER];
  const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' };
  const ASKED = { labels: { [MAINTENANCE_UID_LABEL]: '' } };
  const cases: readonly (readonly [string, RetentionStep, EvictionRequest, (Pod | undefined)?, NodeDrain[]?])[] = [
    ['keeps the entry while the targets of a drain cover the pod', 'keep', requestOf(OURS), POD, [drainUpTo(5)]],
    ['withdraws where no drain is left', 'withdraw', requestOf(OURS), POD],
    ['withdraws where the targets end below the pod', 'withdraw', requestOf(OURS), POD, [drainUpTo(4)]],
    ['keeps it where one of several drains covers the pod', 'keep', requestOf(OURS), POD, [drainUpTo(4), drainUpTo(9)]],
    ['withdraws beside others', 'withdraw', requestOf(BOTH), POD],
    ['keeps the entries of others', 'keep', requestOf([OTHER]), POD],
    ['keeps the entry of a pod that is gone while the node drains', 'keep', requestOf(OURS), undefined, [drainUpTo(0)]],
    ['withdraws for a pod that is gone with its node', 'withdraw', requestOf(OURS)],
    ['keeps a request that is over while the node drains', 'keep', requestOf(OURS, EVICTED), undefined, [drainUpTo(0)]],
    ['deletes a request of ours alone that is over', 'delete', requestOf(OURS, EVICTED)],
    ['withdraws from one that is over and that others ask for', 'withdraw', requestOf(BOTH, EVICTED)],
    ['deletes the request that it withdrew from when it is canceled', 'delete', requestOf([], CANCELED, ASKED), POD],
    ['keeps a canceled request that was never ours', 'keep', requestOf([], CANCELED), POD],
    ['keeps a request that waits to be canceled', 'keep', requestOf([], undefined, ASKED), POD],
    ['withdraws from a held request that is over', 'withdraw', requestOf(OURS, CANCELED, DELETED), POD],
    ['keeps a request that is being deleted already', 'keep', requestOf([], CANCELED, { ...ASKED, ...DELETED }), POD],
    ['withdraws from one that is being deleted and is not over', 'withdraw', requestOf(OURS, undefined, DELETED), POD],
  ];
  for (const [what, expected, request, pod, drains = []] of cases) {
    it(`the retention ${what}`, () => {
      assert.equal(decideRetention(request, pod, drains), expected);
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

  it('a drain counts on a node that it selects and has targets for', () => {
    const maintenances = drainsOn([drain], node).map(({ maintenance }) => maintenance);
    assert.deepEqual(maintenances, ['m']);
  });

  it('a drain that is throttled does not count, though it keeps the targets that others have reached', () => {
    const [status] = drain.status?.nodeStatuses ?? [];
    const { drainStartTime: _, ...throttled } = status ?? { nodeRef: { name: 'node-a' } };
    assert.deepEqual(drainsOn([{ ...drain, status: { nodeStatuses: [throttled] } }], node), []);
  });

  it('a drain does not count on a node that has left its selector, or is gone, though the status still names it', () => {
    assert.deepEqual(drainsOn([drain], { metadata: { name: 'node-a' } }), []);
    assert.deepEqual(drainsOn([drain], undefined), []);
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
    const stateOf = (maintenance: NodeMaintenance): ReturnType<typeof nodeStateOf> =>
      nodeStateOf([maintenance], node, true);
    const nothing = { maintenances: [], planned: [], draining: [], drained: false };
    assert.deepEqual(stateOf(inStage('Idle')), { ...nothing, planned: ['m'] });
    assert.deepEqual(stateOf(inStage('Idle', { deletionTimestamp: '2026-05-01T12:00:00Z' })), nothing);
    assert.deepEqual(stateOf(inStage('Cordon')), { ...nothing, maintenances: ['m'], planned: ['m'] });
    assert.deepEqual(stateOf(inStage('Drain')), nothing, 'it may begin at once');
    const waits = { ...inStage('Drain'), status: { nodeStatuses: [{ nodeRef: { name: node.metadata.name } }] } };
    assert.deepEqual(stateOf(waits as NodeMaintenance), { ...nothing, planned: ['m'] }, 'it is not cordoned');
    const cordonedBefore = { ...waits, status: { ...waits.status, stageStatuses: [{ name: 'Cordon' }] } };
    const recorded = (more: object) => ({ nodeStatuses: [{ nodeRef: { name: node.metadata.name }, ...more }] });
    const reached = { ...waits, status: recorded({ drainTargets }) };
    const handedOver = { ...waits, status: recorded({ drainTargets: [], drainStartTime: '2026-05-01T12:00:00Z' }) };
    for (const cordoned of [cordonedBefore, reached, handedOver])
      assert.deepEqual(stateOf(cordoned as NodeMaintenance).maintenances, ['m'], 'what is cordoned stays so');
    assert.deepEqual(stateOf(inStage('Complete')), nothing);
  });
});
