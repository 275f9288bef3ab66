import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import {
  decideTraffic,
  drainsUntil,
  ignoredTrafficDrain,
  isOutOfService,
  leftAtOf,
} from '../../../../src/decide/traffic/traffic.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';

const PREFIX = 'nodemaintenance.x-k8s.io/';
const NOW = Date.UTC(2026, 0, 1);

function pod(drain: string | undefined, label: string | undefined, more: { left?: string; ready?: boolean } = {}): Pod {
  const { left, ready } = more;
  const annotations = {
    ...(drain === undefined ? {} : { [`${PREFIX}traffic-drain`]: drain }),
    ...(left === undefined ? {} : { [`${PREFIX}traffic-left`]: left }),
  };
  const labels: Record<string, string> = label === undefined ? {} : { [`${PREFIX}traffic`]: label };
  const conditions = ready === false ? [{ type: 'Ready', status: 'False' } as const] : [];
  return { metadata: { name: 'web', namespace: 'x', uid: 'u', labels, annotations }, spec: {}, status: { conditions } };
}

describe('the way of a pod out of its Services', () => {
  const cases: readonly (readonly [string, Pod, number | undefined, number | undefined, object])[] = [
    ['leaves first where it opts in', pod('15s', 'serve'), undefined, undefined, { kind: 'leave', drainMs: 15_000 }],
    ['is bounded by ten minutes', pod('3h', 'serve'), undefined, undefined, { kind: 'leave', drainMs: 600_000 }],
    ['ends at once without the annotation', pod(undefined, 'serve'), undefined, undefined, { kind: 'none' }],
    ['ends at once with a duration of nothing', pod('0', 'serve'), undefined, undefined, { kind: 'none' }],
    ['ends at once with a text that is no duration', pod('soon', 'serve'), undefined, undefined, { kind: 'none' }],
    ['ends at once without the label', pod('15s', undefined), undefined, undefined, { kind: 'none' }],
    [
      'ends at once where it is not ready',
      pod('15s', 'serve', { ready: false }),
      undefined,
      undefined,
      { kind: 'none' },
    ],
    ['waits when it has left', pod('15s', 'drain'), NOW - 5_000, undefined, { kind: 'wait', until: NOW + 10_000 }],
    ['ends when its time is over', pod('15s', 'drain'), NOW - 15_000, undefined, { kind: 'none' }],
    [
      'waits no longer than a deadline lets it',
      pod('15s', 'drain'),
      NOW,
      NOW + 3_000,
      { kind: 'wait', until: NOW + 3_000 },
    ],
    ['ends at once where a deadline presses', pod('15s', 'serve'), undefined, NOW, { kind: 'none' }],
  ];
  for (const [what, target, leftAt, trustUntil, expected] of cases) {
    it(`the pod ${what}`, () => {
      assert.deepEqual(decideTraffic(target, { leftAt, trustUntil }, NOW), expected);
    });
  }

  it('the pod itself says since when it is out, and a clock that is ahead does not put its end off', () => {
    assert.equal(leftAtOf(pod('15s', 'drain', { left: rfc3339(NOW - 5_000) }), NOW), NOW - 5_000);
    assert.equal(leftAtOf(pod('15s', 'drain', { left: rfc3339(NOW + 86_400_000) }), NOW), NOW);
    assert.equal(leftAtOf(pod('15s', 'drain', { left: 'nonsense' }), NOW), NOW);
    assert.equal(leftAtOf(pod('15s', 'serve', { left: rfc3339(NOW) }), NOW), undefined);
  });

  it('a label that somebody else has set is not ours', () => {
    assert.equal(isOutOfService(pod('15s', 'drain')), false);
    assert.equal(isOutOfService(pod('15s', 'drain', { left: rfc3339(NOW) })), true);
  });

  it('a wish that has no effect is named', () => {
    assert.match(ignoredTrafficDrain(pod('soon', 'serve')) ?? '', /has no valid duration/);
    assert.match(ignoredTrafficDrain(pod('15s', undefined)) ?? '', /has no effect without the label .*traffic=serve/);
    assert.equal(ignoredTrafficDrain(pod('15s', 'serve')), undefined);
    assert.equal(ignoredTrafficDrain(pod(undefined, undefined)), undefined);
  });

  it('an agent waits for the rest of the time, within the deadline, and believes no time that is to come', () => {
    const left = (ms: number, label = 'drain'): Pod => pod('15s', label, { left: rfc3339(NOW + ms) });
    assert.equal(drainsUntil(left(-5_000), undefined, NOW), NOW + 10_000);
    assert.equal(drainsUntil(left(-5_000), NOW + 2_000, NOW), NOW + 2_000);
    assert.equal(drainsUntil(left(-5_000), NOW, NOW), undefined);
    assert.equal(drainsUntil(left(-15_000), undefined, NOW), undefined);
    assert.equal(drainsUntil(left(1_000), undefined, NOW), undefined);
    assert.equal(drainsUntil(left(-5_000, 'serve'), undefined, NOW), undefined);
    assert.equal(drainsUntil(pod('15s', 'drain', { left: 'nonsense' }), undefined, NOW), undefined);
  });
});
