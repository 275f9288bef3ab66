import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { estimateDrain } from '../../../../src/decide/drain/estimate.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { DEFAULT_DRAIN_PLAN } from '../../../../src/decide/maintenance/drain-plan.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');

function pod(extra: Partial<Pod['metadata']> = {}, spec: Partial<Pod['spec']> = {}): Pod {
  return { metadata: { name: 'p', namespace: 'n', uid: 'u', ...extra }, spec: { nodeName: 'one', ...spec } };
}

function request(active: string, entry: object): EvictionRequest {
  return {
    metadata: { name: 'u', namespace: 'n' },
    spec: { target: { pod: { name: 'p', uid: 'u' } } },
    status: { activeInterceptors: [active], interceptors: [{ name: active, message: '', ...entry }] },
  };
}

const OWNED = {
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true }],
};

describe('the estimate of a drain', () => {
  it('the estimate is the last of the leaving pods, then the longest of each later tier', () => {
    const finish = new Date(NOW + 120_000).toISOString();
    const leaving = pod();
    const later = [
      pod({ ...OWNED, uid: '1' }, { terminationGracePeriodSeconds: 10 }),
      pod({ ...OWNED, uid: '2' }, { terminationGracePeriodSeconds: 40 }),
      pod({ annotations: { 'kubernetes.io/config.mirror': 'x' }, uid: '3' }, { terminationGracePeriodSeconds: 5 }),
    ];
    const of = (target: Pod): EvictionRequest | undefined =>
      target === leaving ? request('a.example.com', { expectedFinishTime: finish }) : undefined;
    const estimate = (pods: Parameters<typeof estimateDrain>[1]): number =>
      estimateDrain(DEFAULT_DRAIN_PLAN, pods, { began: NOW, now: NOW }) - NOW;
    assert.equal(estimate({ evicting: [leaving], pending: later, requestOf: of }), 165_000);
    assert.equal(estimate({ evicting: [pod()], pending: [], requestOf: () => undefined }), 30_000);
  });

  it('while nothing happens to a pod that stays, the estimate moves seldom and never lies behind', () => {
    const blocked = request('a.example.com', {});
    const overdue = pod({ deletionTimestamp: rfc3339(NOW), deletionGracePeriodSeconds: 0 });
    for (const [evicting, pending] of [
      [[pod()], []],
      [[overdue], []],
      [[], [pod()]],
    ] as const) {
      const seen = new Set<number>();
      for (let now = NOW; now < NOW + 3_600_000; now += 15_000) {
        const pods = { evicting, pending, requestOf: () => blocked };
        const at = estimateDrain(DEFAULT_DRAIN_PLAN, pods, { began: NOW, now });
        assert.ok(at > now, `${at - now}`);
        seen.add(at);
      }
      assert.ok(seen.size <= 12, `${seen.size} different estimates in an hour`);
    }
  });
});
