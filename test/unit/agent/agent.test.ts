import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Agent } from '../../../src/agent/agent.ts';
import type { AgentRecord } from '../../../src/agent/phase/record.ts';
import { DRAINING, YES } from '../../support/agent/phase-facts.ts';
import { createLoopRig } from '../../support/agent/loop-rig.ts';

const WATCHING: AgentRecord = { phase: { kind: 'watching' }, offlineTargets: [] };
const STOPPED = AbortSignal.abort();

/** The phase that the agent shows, and whether it shows a cluster. */
function shown(agent: Agent): readonly [phase: string, clusterConfigured: boolean] {
  const { phase, cluster } = agent.status();
  return [phase.kind, cluster.configured];
}

describe('the agent', () => {
  it('the agent shows its phase to systemd before the first iteration, which may wait for an API server', async () => {
    const rig = createLoopRig(WATCHING);
    const [first, second] = await rig.iterations();
    assert.equal(first, 'notify waiting for a shutdown');
    assert.equal(second, 'detect');
  });

  it('the agent begins with the recorded phase, and its status follows the phase', async () => {
    const rig = createLoopRig({ phase: DRAINING, offlineTargets: [] }, false);
    assert.deepEqual(shown(rig.agent), ['draining', false]);
    rig.world.goingDown = { kind: 'no' };
    await rig.iterations(3);
    assert.deepEqual(shown(rig.agent), ['watching', false]);
  });

  it('the agent refuses a release where no shutdown is held', () => {
    const { agent } = createLoopRig(WATCHING);
    assert.throws(
      () => {
        agent.release('in a hurry');
      },
      { code: 'USAGE' },
    );
  });

  it('a release ends the drain although pods are left', async () => {
    const rig = createLoopRig(WATCHING);
    Object.assign(rig.world, { goingDown: YES, maintenance: 'open' });
    await rig.iterations();
    assert.deepEqual(shown(rig.agent), ['draining', true]);
    rig.agent.release('in a hurry');
    const calls = await rig.iterations();
    assert.deepEqual(shown(rig.agent), ['released', true]);
    assert.ok(calls.includes('release the lock'));
  });

  it('an agent that is stopped makes one iteration and gives the lock back, in mid-drain it keeps the lock', async () => {
    const signal = AbortSignal.timeout(60_000);
    const calm = createLoopRig(WATCHING);
    await calm.agent.run(STOPPED, signal);
    assert.equal(calm.world.calls.at(-1), 'end the lock');
    assert.equal(calm.world.calls.filter((call) => call === 'detect').length, 1);
    const draining = createLoopRig({ phase: DRAINING, offlineTargets: [] });
    Object.assign(draining.world, { goingDown: YES, maintenance: 'open' });
    await draining.agent.run(STOPPED, signal);
    assert.ok(draining.world.calls.includes('hold the lock'));
    assert.ok(!draining.world.calls.includes('end the lock'));
  });
});
