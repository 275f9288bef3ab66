import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import { type DrainEnd, drainEnd, type KnownManifests, leftOf } from '../../../../src/decide/staying-pod/left-pods.ts';
import type { Left } from '../../../../src/decide/staying-pod/staying-pods.ts';

describe('the end of the drain of a machine', () => {
  const url = 'from a URL';
  const cases: readonly [string, readonly Left[] | undefined, DrainEnd][] = [
    ['it goes on where nobody sees what is left', undefined, { drained: false }],
    ['it is over where nothing is left', [], { drained: true }],
    ['it goes on where a pod is left that can leave', [{ what: 'd/web' }], { drained: false }],
    ['it goes on where one of several can leave', [{ what: 'd/a', stays: url }, { what: 'd/web' }], { drained: false }],
    [
      'it is over, and names them by reason, where all that is left stays',
      [
        { what: 'd/b', stays: url },
        { what: 'd/c', stays: 'refused' },
        { what: 'd/a', stays: url },
      ],
      { drained: true, left: 'from a URL: d/a, d/b; refused: d/c' },
    ],
  ];
  for (const [title, left, end] of cases) {
    it(title, () => {
      assert.deepEqual(drainEnd(left), end);
    });
  }
});

function pod(name: string, fields: object = {}, status: object = {}): Pod {
  return { metadata: { name, namespace: 'd', ...fields }, spec: {}, status };
}

const MIRROR = { annotations: { 'kubernetes.io/config.mirror': 'x' } };
const ENDING = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const NONE: KnownManifests = { ends: new Map(), running: new Set() };
const REFUSED: KnownManifests = { ...NONE, refusal: 'it is not trusted' };
const NOW = Date.parse('2026-01-01T01:00:00Z');
const STAYS_UP = { since: undefined, now: NOW };

describe('what is left of the pods of a machine', () => {
  const cases: readonly [string, Pod, KnownManifests, readonly Left[]][] = [
    ['a Default pod can leave', pod('p'), REFUSED, [{ what: 'd/p' }]],
    ['one that ends is left until it has', pod('p', ENDING), REFUSED, [{ what: 'd/p' }]],
    ['one that has ended is not left', pod('p', {}, { phase: 'Succeeded' }), REFUSED, []],
    [
      'a static pod with a manifest can leave',
      pod('p', MIRROR),
      { ...NONE, ends: new Map([['d/p', undefined]]) },
      [{ what: 'd/p' }],
    ],
    [
      'one that ends can leave though no manifest may be moved',
      pod('p', { ...MIRROR, ...ENDING }),
      REFUSED,
      [{ what: 'd/p' }],
    ],
  ];
  for (const [title, one, manifests, left] of cases) {
    it(title, () => {
      assert.deepEqual(leftOf([one], manifests, STAYS_UP), left);
    });
  }

  it('a static pod without a manifest stays, and so does one whose manifest may not be moved', () => {
    assert.match(leftOf([pod('p', MIRROR)], NONE, STAYS_UP)[0]?.stays ?? '', /staticPodURL/);
    assert.match(leftOf([pod('p', MIRROR)], REFUSED, STAYS_UP)[0]?.stays ?? '', /because it is not trusted$/);
  });

  const SINCE = NOW - 20 * 60_000;
  const told = (agoMs: number): Pod =>
    pod('p', { deletionTimestamp: new Date(NOW - agoMs).toISOString(), deletionGracePeriodSeconds: 30 });
  const DAEMON_SET = {
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'x', uid: 'x', controller: true }],
  };
  const AWAY = 'the runtime is away';
  const parked = (agoMs: number): KnownManifests => ({
    ends: new Map([['d/p', NOW - agoMs]]),
    running: new Set(['d/p']),
  });
  const IN_PLACE: KnownManifests = { ends: new Map([['d/p', undefined]]), running: new Set(['d/p']) };
  const given: readonly [string, readonly Pod[], KnownManifests, string | undefined, boolean][] = [
    ['its grace period was over seven minutes ago', [told(420_000)], NONE, undefined, true],
    ['its grace period was over a moment ago', [told(400_000)], NONE, undefined, false],
    ['its grace period is over, and no runtime can end it', [told(1_000)], NONE, AWAY, true],
    ['it still has time, though no runtime could end it', [told(-60_000)], NONE, AWAY, false],
    ['it was not told to end, and others are asked', [pod('p')], NONE, AWAY, false],
    ['it is of a DaemonSet, and no runtime can end it', [pod('p', DAEMON_SET)], NONE, AWAY, true],
    ['its manifest was moved long ago', [pod('p', MIRROR)], parked(420_000), undefined, true],
    ['its manifest was moved, and it may run', [pod('p', MIRROR)], parked(1_000), undefined, false],
    ['its manifest was moved, and no runtime tells', [pod('p', MIRROR)], parked(1_000), AWAY, true],
    ['the API server does not know it, and it runs', [], IN_PLACE, undefined, false],
    ['the API server does not know it, and no runtime can end it', [], IN_PLACE, AWAY, true],
  ];
  for (const [when, pods, manifests, nobodyEnds, isGivenUp] of given) {
    it(`a machine that goes down ${isGivenUp ? 'names and does not wait for' : 'waits for'} a pod when ${when}`, () => {
      const left = leftOf(pods, manifests, { since: SINCE, now: NOW, nobodyEnds });
      assert.equal(drainEnd(left).left?.includes('d/p') === true, isGivenUp);
      assert.equal(drainEnd(left).drained, isGivenUp);
      const up = leftOf(pods, manifests, { since: undefined, now: NOW, nobodyEnds });
      assert.equal(drainEnd(up).drained, false, 'a node that stays up waits');
    });
  }
});
