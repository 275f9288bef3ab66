import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Lease } from '../../../../src/api/lease.ts';
import { nodeThatStays, observeLeases, type SeenLeases } from '../../../../src/decide/disruption-budget/other-nodes.ts';

const T0 = Date.parse('2026-11-23T18:00:00Z');
const MINUTE = 60_000;
const LOOK_MS = 10_000;

/** The Lease of a node whose kubelet has renewed it until `untilMs` after T0. */
function lease(name: string, ms: number, untilMs = Infinity): Lease {
  const renewTime = new Date(T0 + Math.min(ms, untilMs)).toISOString();
  return { metadata: { name, creationTimestamp: '2025-01-01T00:00:00Z' }, spec: { renewTime } };
}

/** When no other node stays any more, in seconds from the first look; undefined where one does for half an hour. */
function aloneAfter(
  leasesAt: (ms: number) => readonly Lease[],
  downAt: (ms: number) => readonly string[],
): number | undefined {
  let seen: SeenLeases | undefined;
  for (let ms = 0; ms <= 30 * MINUTE; ms += LOOK_MS) {
    seen = observeLeases(seen, leasesAt(ms), new Set(downAt(ms)), ms);
    if (nodeThatStays(seen, ms, T0 + ms) === undefined) return ms / 1000;
  }
  return undefined;
}

describe('what an agent without a controller sees of other nodes', () => {
  const own = (ms: number): Lease => lease('n1', ms);
  const cases: readonly [
    string,
    (ms: number) => readonly Lease[],
    (ms: number) => readonly string[],
    number | undefined,
  ][] = [
    ['the only node', (ms) => [own(ms)], () => ['n1'], 60],
    ['another node is alive', (ms) => [own(ms), lease('n2', ms)], () => ['n1'], undefined],
    [
      'the agent of the other node speaks two minutes later',
      (ms) => [own(ms), lease('n2', ms)],
      (ms) => (ms < 2 * MINUTE ? ['n1'] : ['n1', 'n2']),
      180,
    ],
    [
      'the other kubelet was silent for an hour already',
      (ms) => [own(ms), lease('n2', ms, -60 * MINUTE)],
      () => ['n1'],
      120,
    ],
    ['the other kubelet becomes silent now', (ms) => [own(ms), lease('n2', ms, 0)], () => ['n1'], 300],
    ['the other node is deleted', (ms) => [own(ms), ...(ms < MINUTE ? [lease('n2', ms)] : [])], () => ['n1'], 120],
  ];
  for (const [title, leases, down, sec] of cases) {
    it(`${title}: it is ${sec === undefined ? 'never alone' : `alone after ${sec} s`}`, () => {
      assert.equal(aloneAfter(leases, down), sec);
    });
  }
});
