import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import {
  type DrainEnd,
  drainEnd,
  type KnownManifests,
  type Left,
  leftOf,
} from '../../../../src/decide/staying-pod/left-pods.ts';

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
const NONE: KnownManifests = { keys: new Set() };
const REFUSED: KnownManifests = { keys: new Set(), refusal: 'it is not trusted' };

describe('what is left of the pods of a machine', () => {
  const cases: readonly [string, Pod, KnownManifests, readonly Left[]][] = [
    ['a Default pod can leave', pod('p'), REFUSED, [{ what: 'd/p' }]],
    ['one that ends is left until it has', pod('p', ENDING), REFUSED, [{ what: 'd/p' }]],
    ['one that has ended is not left', pod('p', {}, { phase: 'Succeeded' }), REFUSED, []],
    ['a static pod with a manifest can leave', pod('p', MIRROR), { keys: new Set(['d/p']) }, [{ what: 'd/p' }]],
    [
      'one that ends can leave though no manifest may be moved',
      pod('p', { ...MIRROR, ...ENDING }),
      REFUSED,
      [{ what: 'd/p' }],
    ],
  ];
  for (const [title, one, manifests, left] of cases) {
    it(title, () => {
      assert.deepEqual(leftOf([one], manifests), left);
    });
  }

  it('a static pod without a manifest stays, and so does one whose manifest may not be moved', () => {
    assert.match(leftOf([pod('p', MIRROR)], NONE)[0]?.stays ?? '', /staticPodURL/);
    assert.match(leftOf([pod('p', MIRROR)], REFUSED)[0]?.stays ?? '', /because it is not trusted$/);
  });
});
