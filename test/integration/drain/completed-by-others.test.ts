import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readAgentStatus } from '../../support/commands/nodemaint.ts';
import { assertOrder, buildRig, lines, phaseIs, startAgent } from '../../support/rigs/offline-reboot.ts';
import { startFalseLeader } from '../../support/stand-ins/false-leader.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

describe('a reboot whose NodeMaintenance somebody with the rights of the controller completes', () => {
  it('the agent drains the node alone: all pods end in order, each with its grace period', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 2);
    const thief = stack.use(await startFalseLeader(rig.controlPlane));
    const agent = await startAgent(stack, rig);
    await rig.logind.reboot();
    const made = ['get', 'nm', '-o', 'jsonpath={.items[*].metadata.name}'];
    await waitFor('the shutdown has its maintenance', async () => (await rig.controlPlane.kubectl(made)) !== '', {
      ...SLOW,
      program: agent,
    });
    assert.deepEqual(await lines(rig), []);
    await thief.complete(await rig.controlPlane.kubectl(made));
    await waitFor('the agent releases the machine', () => phaseIs(rig, 'released', 'offline'), {
      ...SLOW,
      program: agent,
    });
    await assertOrder(rig);
    const { phase } = await readAgentStatus(rig.runDirectory);
    assert.equal(phase.kind === 'released' && phase.forced, undefined);
    assert.deepEqual(await rig.runtime.livePods(AbortSignal.timeout(10_000)), []);
    const events = ['get', 'events', '-A', '--field-selector', 'reason=MaintenanceCompleted', '-o', 'name'];
    await waitFor('an Event tells of it', async () => (await rig.controlPlane.kubectl(events)) !== '', SLOW);
  });
});
