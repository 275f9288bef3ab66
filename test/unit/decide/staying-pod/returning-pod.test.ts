import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AGENT_LABEL, MIRROR_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { selectorOfNodes } from '../../../../src/decide/maintenance/new-maintenance.ts';
import {
  comesTooLate,
  drainBegan,
  evictionPausedUntil,
  goesDownSince,
  whyReturning,
} from '../../../../src/decide/staying-pod/returning-pod.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';

const BEGAN = Date.parse('2026-01-01T10:00:00Z');

function podMade(afterSec: number, metadata: object = {}): Pod {
  const creationTimestamp = rfc3339(BEGAN + afterSec * 1000);
  return { metadata: { name: 'web-1', namespace: 'shop', creationTimestamp, ...metadata }, spec: {} };
}

function drain(metadata: object, startedAt?: number): NodeMaintenance {
  const stageStatuses = startedAt === undefined ? [] : [{ name: 'Drain' as const, startTimestamp: rfc3339(startedAt) }];
  return {
    metadata: { name: 'm', creationTimestamp: rfc3339(BEGAN), ...metadata },
    spec: { stage: 'Drain', nodeSelector: selectorOfNodes(['n1']) },
    status: { stageStatuses },
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

  it('the drain of a machine began when the API server took it, and that of a person with its stage Drain', () => {
    const own = { labels: { [AGENT_LABEL]: 'n1' } };
    assert.equal(drainBegan(drain(own, BEGAN - 3_600_000)), BEGAN);
    assert.equal(drainBegan(drain({})), undefined);
    assert.equal(drainBegan(drain({}, BEGAN + 5_000)), BEGAN + 5_000);
    assert.equal(goesDownSince([drain({}, BEGAN), drain(own)], 'n1'), BEGAN);
    assert.equal(goesDownSince([drain({}, BEGAN), drain(own)], 'n2'), undefined);
  });
});
