import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { EvictionCounts, type Flight, flightOf } from '../../../../src/decide/eviction/limits.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const HOUR = 3_600_000;
const at = (ms: number): string => new Date(ms).toISOString();

function podOf(metadata: Partial<Pod['metadata']> = {}): Pod {
  return { metadata: { name: 'p', namespace: 'n', uid: 'u', ...metadata }, spec: { nodeName: 'one' } };
}

function requestOf(requesters: readonly string[], createdAt: number, canceled = false): EvictionRequest {
  const condition = { type: 'Canceled', status: 'True', reason: 'x', message: '', lastTransitionTime: '' } as const;
  return {
    metadata: { name: 'u', namespace: 'n', creationTimestamp: at(createdAt) },
    spec: { target: { pod: { name: 'p', uid: 'u' } }, requesters: requesters.map((name) => ({ name })) },
    status: { conditions: canceled ? [condition] : [] },
  };
}

describe('the eviction of a pod', () => {
  const descheduler = ['descheduler.sigs.k8s.io'];
  const annotated = podOf({ annotations: { 'descheduler.alpha.kubernetes.io/eviction-in-progress': '' } });
  const cases: readonly [string, Pod | undefined, EvictionRequest | undefined, Flight, number?][] = [
    ['that nobody asked for', podOf(), undefined, 'not-begun'],
    ['that somebody else asked for', podOf(), requestOf(descheduler, NOW - 1_000), 'in-flight'],
    ['whose requesters have all left', podOf(), requestOf([], NOW - 1_000), 'not-begun'],
    ['that was canceled', podOf(), requestOf(descheduler, NOW - 1_000, true), 'not-begun'],
    ['in the background, with one annotation alone', annotated, undefined, 'in-flight', NOW],
    ['in the background since long ago', annotated, undefined, 'overdue', NOW - HOUR],
    ['in the background after a request that was canceled', annotated, requestOf([], NOW - HOUR), 'in-flight', NOW],
    [
      'in the background since long ago, which is terminating now',
      { ...annotated, metadata: { ...annotated.metadata, deletionTimestamp: at(NOW) } },
      undefined,
      'overdue',
      NOW - HOUR,
    ],
    ['that is terminating', podOf({ deletionTimestamp: at(NOW) }), undefined, 'in-flight'],
    ['that was asked for long ago', podOf(), requestOf(descheduler, NOW - HOUR), 'overdue'],
    ['that is terminating since long ago', podOf({ deletionTimestamp: at(NOW - HOUR) }), undefined, 'overdue'],
    ['of a pod that is not in the copy', undefined, requestOf(descheduler, NOW - 1_000), 'in-flight'],
  ];
  for (const [what, pod, request, expected, inBackgroundSince] of cases) {
    it(`${what} is ${expected}`, () => {
      assert.equal(flightOf({ pod, request, inBackgroundSince }, NOW - HOUR), expected);
    });
  }
});

describe('the limits of evictions in flight', () => {
  it('the limits hold per node and per namespace', () => {
    const counts = new EvictionCounts();
    counts.count({ node: 'n', namespace: 'a' });
    const hasRoom = (node: string, namespace: string, limits: object): boolean =>
      counts.hasRoom({ node, namespace }, limits);
    const found = [['n', 'b'] as const, ['m', 'a'] as const, ['m', 'b'] as const].map(([node, namespace]) => [
      hasRoom(node, namespace, { maxEvictionsPerNode: 1 }),
      hasRoom(node, namespace, { maxEvictionsPerNamespace: 1 }),
      hasRoom(node, namespace, {}),
    ]);
    assert.deepEqual(found, [
      [false, true, true],
      [true, false, true],
      [true, true, true],
    ]);
  });
});
