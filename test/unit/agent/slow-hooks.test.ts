import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTurnRig, type TurnRig } from '../../support/agent/turn-rig.ts';
import { YES } from '../../support/agent/phase-facts.ts';

function transitions(rig: TurnRig): readonly string[] {
  return rig.log.lines.flatMap((line) => /"transition":"(\w+)"/.exec(line)?.[1] ?? []);
}

/** An agent whose hooks take a minute, four times as long as the API server may be silent. */
function createSlowRig(): TurnRig {
  const rig = createTurnRig({ phase: { kind: 'watching' }, offlineTargets: [] });
  Object.assign(rig.world, { goingDown: YES, hookMs: 60_000, hasPod: true });
  return rig;
}

describe('a shutdown whose hooks take longer than the API server may be silent', () => {
  it('the shutdown gives an API server that fails once its whole time', async () => {
    const rig = createSlowRig();
    rig.world.broken.add('create the maintenance');
    await rig.turns(10);
    rig.world.broken.clear();
    await rig.turns(10);
    assert.deepEqual(transitions(rig), ['begin']);
  });

  it('the shutdown goes on offline where the API server stays silent for its time', async () => {
    const rig = createSlowRig();
    rig.world.maintenance = undefined;
    await rig.turns(14);
    assert.deepEqual(transitions(rig), ['begin']);
    await rig.turns(6);
    assert.deepEqual(transitions(rig), ['begin', 'loseCluster']);
  });
});
