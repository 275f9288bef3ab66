import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CANCELED, EVICTED, type EvictionRequest } from '../../../../src/api/eviction-request.ts';
import { MAINTENANCE_REQUESTER, MAINTENANCE_UID_LABEL } from '../../../../src/api/names.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { decideRetention, type RetentionStep } from '../../../../src/decide/eviction/requester.ts';
import type { NodeDrain } from '../../../../src/decide/maintenance/maintenance.ts';

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
