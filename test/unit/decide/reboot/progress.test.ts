import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  isStalled,
  noteProgress,
  type RebootProgress,
  type RebootSight,
} from '../../../../src/decide/reboot/progress.ts';

const DRAINING: RebootSight = { podsLeft: 3, isDrained: false, isReady: true, isOver: false };

/** Since when nothing has got further, after these sights at the times 0, 1, 2 … */
function sinceAfter(...sights: readonly Partial<RebootSight>[]): number | undefined {
  let known: RebootProgress | undefined;
  for (const [at, sight] of sights.entries()) known = noteProgress(known, { ...DRAINING, ...sight }, at);
  return known?.since;
}

describe('the progress of a machine that reboots', () => {
  it('each pod that leaves, the end of the drain, the way down and the boot are progress', () => {
    assert.equal(sinceAfter({}, { podsLeft: 2 }), 1);
    assert.equal(sinceAfter({ podsLeft: 0 }, { podsLeft: 0, isDrained: true }), 1);
    assert.equal(sinceAfter({ isDrained: true }, { isDrained: true, isReady: false }), 1);
    assert.equal(sinceAfter({ isDrained: true, isReady: false }, { isOver: true, isReady: false }), 1);
  });

  it('pods that come back, and a kubelet that comes and goes, are none', () => {
    assert.equal(sinceAfter({ podsLeft: 2 }, { podsLeft: 3 }, { podsLeft: 2 }), 0);
    const [away, back] = [{ isDrained: true, isReady: false }, { isDrained: true }];
    assert.equal(sinceAfter(away, back, away), 0);
    assert.equal(sinceAfter({ podsLeft: 2 }, { podsLeft: 5 }, { podsLeft: 1 }), 2);
  });

  it('others no longer wait for a machine that has got no further for the given time', () => {
    assert.equal(isStalled({ reached: 0, since: 100 }, 50, 149), false);
    assert.equal(isStalled({ reached: 0, since: 100 }, 50, 150), true);
  });
});
