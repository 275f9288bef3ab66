import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLoopRig } from '../../support/agent/loop-rig.ts';
import { DRAINING, YES } from '../../support/agent/phase-facts.ts';

describe('the shutdown of a machine whose Node object is deleted', () => {
  it('the drain goes on offline after half a minute, and with the cluster when the Node is registered again', async () => {
    const rig = createLoopRig({ phase: DRAINING, offlineTargets: [] });
    rig.world.goingDown = YES;
    rig.world.maintenance = 'open';
    rig.world.hasPod = true;
    const modeAfter = async (iterations: number): Promise<string> => {
      await rig.iterations(iterations);
      const { phase } = rig.agent.status();
      return phase.kind === 'draining' ? phase.mode : phase.kind;
    };
    assert.equal(await modeAfter(60), 'cluster');
    rig.world.nodeGoneAt = rig.clock.monotonic();
    assert.equal(await modeAfter(29), 'cluster', 'a kubelet may register it again');
    assert.equal(await modeAfter(30), 'offline', 'no controller drains a node that is not there');
    assert.equal(await modeAfter(600), 'offline');
    rig.world.nodeGoneAt = undefined;
    assert.equal(await modeAfter(30), 'cluster');
  });
});
