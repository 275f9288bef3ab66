import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MIRROR_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../../src/api/pod.ts';
import { drainBegan } from '../../../../src/decide/maintenance/recorded-node.ts';
import { selectorOfNodes } from '../../../../src/decide/maintenance/new-maintenance.ts';
import {
  comesTooLate,
  evictionPausedUntil,
  goesDownSince,
  whyReturning,
} from '../../../../src/decide/staying-pod/returning-pod.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { ownMaintenanceOf } from '../../../support/maintenance/objects.ts';

const BEGAN = Date.parse('2026-01-01T10:00:00Z');

function podMade(afterSec: number, metadata: object = {}): Pod {
  const creationTimestamp = rfc3339(BEGAN + afterSec * 1000);
  return { metadata: { name: 'web-1', namespace: 'shop', creationTimestamp, ...metadata }, spec: {} };
}

/** A drain of n1; `startTime` is when it began there, in seconds after BEGAN. */
function drain(metadata: object, startSec?: number): NodeMaintenance {
  const start = startSec === undefined ? {} : { drainStartTime: rfc3339(BEGAN + startSec * 1000) };
  return {
    metadata: { name: 'm', creationTimestamp: rfc3339(BEGAN), ...metadata },
    spec: { stage: 'Drain', nodeSelector: selectorOfNodes(['n1']) },
    status: {
      stageStatuses: [{ name: 'Drain', startTimestamp: rfc3339(BEGAN) }],
      nodeStatuses: [{ nodeRef: { name: 'n1', uid: 'u' }, drainTargets: [], ...start }],
    },
  };
}

const OWNED_BY_DAEMON_SET = {
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logger', uid: 'u', controller: true }],
};

/** When the pod was made, in seconds after the drain began; whether it came back; whether a machine waits for it. */
const pods: readonly [string, Pod, boolean, boolean][] = [
  ['one that was there', podMade(-3_600), false, false],
  ['one that may have been bound before the cordon was seen', podMade(10), false, false],
  ['one that came past the cordon', podMade(11), true, false],
  ['one that came within a minute', podMade(60), true, false],
  ['one that came later', podMade(61), true, true],
  ['one that is terminating', podMade(61, { deletionTimestamp: rfc3339(BEGAN + 62_000) }), true, true],
  ['a DaemonSet pod, which the gate keeps from coming back', podMade(61, OWNED_BY_DAEMON_SET), false, false],
  ['a static pod', podMade(61, { annotations: { [MIRROR_ANNOTATION]: 'x' } }), false, false],
  ['one without a time', { metadata: { name: 'p' }, spec: {} }, false, false],
];

describe('a pod on a node that is drained', () => {
  for (const [what, pod, returns, late] of pods) {
    it(`${what} ${returns ? 'came back' : 'did not come back'}, and a machine that goes down ${late ? 'does not wait' : 'waits'} for it`, () => {
      const why = whyReturning(pod, BEGAN, BEGAN);
      assert.equal(why !== undefined, returns);
      assert.equal(comesTooLate(pod, BEGAN), late);
      assert.equal(why?.message.includes('does not wait for it') ?? false, late);
      assert.equal(comesTooLate(pod, undefined), false, 'of a node that stays up');
    });
  }

  it('a pod that came back is evicted after a pause, which no clock makes longer', () => {
    const pod = podMade(20);
    const made = BEGAN + 20_000;
    assert.equal(evictionPausedUntil(pod, BEGAN, made + 1_000), made + 15_000);
    for (const now of [made + 15_000, made - 3_600_000, made + 3_600_000]) {
      assert.equal(evictionPausedUntil(pod, BEGAN, now), undefined);
    }
    assert.equal(evictionPausedUntil(podMade(0), BEGAN, BEGAN), undefined);
  });

  const own = ownMaintenanceOf('n1').metadata;
  const n1 = { name: 'n1' };
  const cordonedAt = (sec: number): Node => {
    const taints = [{ key: 'node.kubernetes.io/unschedulable', timeAdded: rfc3339(BEGAN + sec * 1000) }];
    return { metadata: n1, spec: { unschedulable: true, taints } };
  };
  const CORDONED = cordonedAt(-60);

  it('a drain began when its pods were targeted first, whoever asked for it: not when it was asked for', () => {
    for (const metadata of [own, {}]) {
      assert.equal(drainBegan(drain(metadata), n1), undefined, 'one that waits has begun nothing');
      assert.equal(drainBegan(drain(metadata, 300), n1), BEGAN + 300_000);
      assert.equal(drainBegan(drain(metadata, -3_600), n1), BEGAN, 'a clock that is behind makes it no earlier');
      assert.equal(drainBegan(drain(metadata, 300), { name: 'n1', uid: 'another' }), undefined);
    }
  });

  it('a machine goes down since the drain of its own agent began, the last one where an earlier one is still open', () => {
    assert.equal(goesDownSince([drain({}, 0), drain(own, 300)], n1, CORDONED), BEGAN + 300_000);
    assert.equal(goesDownSince([drain({}, 0), drain(own)], n1, CORDONED), undefined);
    assert.equal(goesDownSince([drain(own, 5), drain(own, 900)], n1, CORDONED), BEGAN + 900_000);
    assert.equal(goesDownSince([drain(own, 5)], { name: 'n2' }, CORDONED), undefined);
  });

  it('a machine waits for the pods that came before its cordon, however late after the beginning of its drain that was set', () => {
    const since = goesDownSince([drain(own, 5)], n1, cordonedAt(140));
    assert.deepEqual([comesTooLate(podMade(139), since), comesTooLate(podMade(201), since)], [false, true]);
  });

  it('a machine whose node is not cordoned waits for what comes in a quarter of an hour', () => {
    const since = goesDownSince([drain(own, 0)], n1, { metadata: n1 });
    assert.equal(comesTooLate(podMade(15 * 60 + 60), since), false);
    assert.equal(comesTooLate(podMade(15 * 60 + 61), since), true);
    assert.equal(goesDownSince([drain(own)], n1, { metadata: n1 }), undefined);
  });

  it('a machine that waited for its turn waits for the pods that came to it meanwhile', () => {
    const tookOver = podMade(120);
    assert.equal(comesTooLate(tookOver, goesDownSince([drain(own)], n1, CORDONED)), false);
    assert.equal(comesTooLate(tookOver, goesDownSince([drain(own, 300)], n1, CORDONED)), false);
    assert.equal(comesTooLate(podMade(361), goesDownSince([drain(own, 300)], n1, CORDONED)), true);
  });
});
