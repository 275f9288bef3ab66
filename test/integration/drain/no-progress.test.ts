/** Reboots with an API server that takes the NodeMaintenance and is of no use after that. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readAgentStatus } from '../../support/commands/nodemaint.ts';
import { buildRig, ORDER, startHolding } from '../../support/rigs/offline-reboot.ts';
import { assertOrder, lines, phaseIs, startController } from '../../support/rigs/pod-node.ts';
import { startEvictionWebhook } from '../../support/stand-ins/eviction-webhook.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

/** In place of five minutes. */
const KEYS = { progressWaitSec: 15 };
const MAINTENANCES = {
  apiGroups: ['nodemaintenance.x-k8s.io'],
  apiVersions: ['*'],
  operations: ['*'],
  resources: ['nodemaintenances', 'nodemaintenances/status'],
};
/** A controller that has begun is given six times the time, and the agent the same once more. */
const LONG = { timeoutMs: 240_000 };

describe('a reboot with an API server that is of no use, with a real logind, kubelet and containerd', () => {
  it('a webhook of somebody else that left with the first tier holds the machine no longer than some minutes', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 2, KEYS);
    const webhook = stack.use(await startEvictionWebhook(rig.controlPlane, rig.folder, MAINTENANCES));
    startController(stack, rig.folder, rig.controllerKubeconfig);
    const agent = await startHolding(stack, rig);
    await rig.logind.reboot();
    const hasEnded = async (): Promise<boolean> => (await lines(rig)).includes('web END');
    await waitFor('the first tier has ended', hasEnded, { ...SLOW, program: agent });
    webhook.leave();
    const names = async (): Promise<boolean> => {
      const { waitingFor } = await readAgentStatus(rig.runDirectory);
      return waitingFor.some(({ on, message }) => on === 'API server' && message.includes('failed calling webhook'));
    };
    await waitFor('the status names the webhook', names, { ...LONG, program: agent });
    const isReleased = (): Promise<boolean> => phaseIs(rig, 'released', 'offline');
    await waitFor('the agent releases the machine', isReleased, { ...LONG, program: agent });
    const { phase } = await readAgentStatus(rig.runDirectory);
    assert.match((phase.kind === 'released' && phase.refusal) || '', /failed calling webhook/);
    assert.equal(phase.kind === 'released' && phase.forced, undefined, 'all pods have ended');
    await assertOrder(rig, ORDER);
    assert.deepEqual(await rig.runtime.livePods(AbortSignal.timeout(10_000)), []);
  });

  it('an API server that goes away right after it has taken the NodeMaintenance is given up', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 2, KEYS);
    const agent = await startHolding(stack, rig);
    // The watch shows nothing of what is made now, and the API server is gone before it does.
    const isOurs = (path_: string): boolean => path_.includes('nodemaintenances');
    let taken = 0;
    rig.api.hooks = {
      before: (_n, { path: where, method }) => {
        if (method === 'POST' && isOurs(where)) rig.api.holdWatches('nodemaintenances');
        return 'pass';
      },
      after: (_n, { path: where, method, status }) => {
        if (method !== 'POST' || !isOurs(where) || status !== 201) return 'pass';
        taken += 1;
        rig.api.goAway();
        return 'pass';
      },
    };
    await rig.logind.reboot();
    const isReleased = (): Promise<boolean> => phaseIs(rig, 'released', 'offline');
    await waitFor('the agent releases the machine', isReleased, { ...SLOW, program: agent });
    assert.equal(taken, 1);
    await assertOrder(rig, ORDER);
    assert.deepEqual(await rig.runtime.livePods(AbortSignal.timeout(10_000)), []);
  });
});
