import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLoopRig, type LoopRig, transitions } from '../../support/agent/loop-rig.ts';
import { YES } from '../../support/agent/phase-facts.ts';

/** An agent whose hooks take a minute, four times as long as the API server may be silent. */
function createSlowRig(): LoopRig {
  const rig = createLoopRig({ phase: { kind: 'watching' }, offlineTargets: [] });
  Object.assign(rig.world, { goingDown: YES, hookMs: 60_000, hasPod: true });
  return rig;
}

describe('a shutdown whose hooks take longer than the API server may be silent', () => {
  it('the shutdown gives an API server that fails once its whole time', async () => {
    const rig = createSlowRig();
    rig.world.broken.add('create the maintenance');
    await rig.iterations(10);
    rig.world.broken.clear();
    await rig.iterations(10);
    assert.deepEqual(transitions(rig), ['begin']);
  });

  it('the shutdown goes on offline where the API server stays silent for its time', async () => {
    const rig = createSlowRig();
    rig.world.maintenance = undefined;
    await rig.iterations(14);
    assert.deepEqual(transitions(rig), ['begin']);
    await rig.iterations(6);
    assert.deepEqual(transitions(rig), ['begin', 'loseCluster']);
  });
});
