import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import { decideStaticDeadline } from '../../../../src/decide/deadline/static-pods.ts';
import { decideShorterEnd } from '../../../../src/decide/deadline/shorter-grace.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');

/** A pod that was told to end some seconds ago. */
function terminating(agoSec: number, graceSec: number): Pod {
  const deletionTimestamp = new Date(NOW + (graceSec - agoSec) * 1000).toISOString();
  const deletion = { deletionTimestamp, deletionGracePeriodSeconds: graceSec };
  return { metadata: { name: 'p', uid: 'u', ...deletion }, spec: { terminationGracePeriodSeconds: graceSec } };
}

describe('the end of a pod that is terminating already', () => {
  it('the end of a terminating pod is shortened where it would come after the time that a deadline leaves', () => {
    // It counts from the first order: 10 s are over, 20 are left.
    assert.equal(decideShorterEnd(terminating(10, 600), 20, NOW), 30);
    assert.equal(decideShorterEnd(terminating(30, 50), 10, NOW), 40);
    assert.equal(decideShorterEnd(terminating(-40, 600), 20, NOW), 1, 'the clock of the API server is ahead');
  });

  it('the end of a terminating pod stays where it comes in time, and where no deadline shortens it', () => {
    assert.equal(decideShorterEnd(terminating(590, 600), 20, NOW), undefined);
    assert.equal(decideShorterEnd(terminating(10, 600), undefined, NOW), undefined);
    const alive: Pod = { metadata: { name: 'p', uid: 'u' }, spec: {} };
    assert.equal(decideShorterEnd(alive, 20, NOW), undefined);
  });

  it('the end of a terminating pod is never made later, nor written again for a second', () => {
    assert.equal(decideShorterEnd(terminating(0, 20), 20, NOW), undefined);
    assert.equal(decideShorterEnd(terminating(0, 20), 18, NOW), undefined);
    assert.equal(decideShorterEnd(terminating(0, 20), 17, NOW), 17);
    assert.equal(decideShorterEnd(terminating(30, 20), 1, NOW), undefined);
  });
});

describe('the end of a static pod that is parked already', () => {
  it('the end of a parked static pod is shortened by a deadline that comes later, and again by one that is earlier', () => {
    const pod = { uid: 'db.yaml', podType: 'Static', priority: 0, labels: {}, graceSec: 600, parkedAt: NOW } as const;
    const graceBy = (since: number, at: number): number | undefined =>
      decideStaticDeadline({ since: NOW + since, at: NOW + at }, [pod], [], NOW + since).graces.get('db.yaml');
    const [far = Number.NaN, near = Number.NaN] = [graceBy(10_000, 200_000), graceBy(20_000, 60_000)];
    assert.ok(far > 100 && far < 200, `${far} s`);
    assert.ok(near >= 50 && near < 60, `${near} s, which ends before the deadline`);
  });

  it('static pods that the runtime ends before their manifests are moved, because the kubelet is down, share the time too', () => {
    const low = { uid: 'low.yaml', podType: 'Static', priority: 0, labels: {}, graceSec: 600 } as const;
    const pods = [low, { ...low, uid: 'high.yaml', priority: 2_000_001_000 }];
    const { graces } = decideStaticDeadline({ since: NOW - 36_000, at: NOW + 24_000 }, pods, [], NOW);
    const [first = Number.NaN, second = Number.NaN] = pods.map(({ uid }) => graces.get(uid));
    assert.ok(first + second < 20, `${first} s and ${second} s`);
  });
});
