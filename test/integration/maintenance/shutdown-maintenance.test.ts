/** The maintenance that an agent makes for a shutdown, on a real API server; the test is the controller, and others. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from '../../../src/agent/cluster.ts';
import { createWakeup } from '../../../src/agent/iteration/wakeup.ts';
import { shutdownNames } from '../../../src/decide/maintenance/agent-names.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { createKubeClient } from '../../../src/kube/client.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { type AdmissionRig, assertAllowed, buildAdmissionRig } from '../../support/rigs/admission.ts';
import { startTestAgent, type TestAgent } from '../../support/rigs/test-agent.ts';
import { playLivingController } from '../../support/stand-ins/living-controller.ts';
import {
  createMaintenance,
  deleteMaintenance,
  madeMaintenance,
  patchMaintenance,
} from '../../support/maintenance/calls.ts';
import { byName, maintenanceOf } from '../../support/maintenance/objects.ts';
import { patchMaintenanceStatus } from '../../support/maintenance/node-writes.ts';
import { waitFor } from '../../support/wait-for.ts';

const DRAINED = {
  conditions: [
    { type: 'Drained', status: 'True', reason: 'X', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
  ],
};

let rig: AdmissionRig;
const stop = new AbortController();
let controller: Promise<void>;
before(async () => {
  rig = await buildAdmissionRig();
  controller = playLivingController(rig.admin, stop.signal);
});
after(async () => {
  stop.abort();
  await controller;
  await rig[Symbol.asyncDispose]();
});

const startAgent = (node: string): Promise<TestAgent> => startTestAgent(rig, node);

/** Says of a maintenance that no pod of the node is left, as a controller does. */
async function drain(name: string, node: string): Promise<void> {
  const nodeStatuses = [{ nodeRef: { name: node }, podsPendingEvacuation: 0, podsEvacuating: 0 }];
  assertAllowed(await patchMaintenanceStatus(rig.admin, name, { ...DRAINED, nodeStatuses }));
}

describe('the maintenance of a shutdown', () => {
  it('the agent takes no maintenance of another owner under its name, drained or not', async () => {
    const [free = '', ...taken] = shutdownNames('node-a').toReversed();
    const rounds = taken.map(async (name, at) => {
      const nodeSelector = byName(at % 2 === 0 ? 'node-b' : 'node-a');
      assertAllowed(await createMaintenance(rig.admin, maintenanceOf({ stage: 'Drain', nodeSelector }, { name })));
      await drain(name, 'node-a');
    });
    await Promise.all(rounds);
    await using agent = await startAgent('node-a');
    await agent.trigger('x');
    assert.equal((await agent.open()).metadata.name, free);
    assertAllowed(await patchMaintenanceStatus(rig.admin, free, DRAINED));
    await delay(2_000);
    assert.equal((await agent.status()).phase.kind, 'draining', 'it goes by what is said of its own node');
    await drain(free, 'node-a');
    await waitFor('it is released', async () => (await agent.status()).phase.kind === 'released');
  });

  it('the node drains offline where all its names are taken, and says why', async () => {
    for (const name of shutdownNames('node-c')) {
      assertAllowed(await createMaintenance(rig.admin, maintenanceOf({ stage: 'Drain' }, { name })));
    }
    await using agent = await startAgent('node-c');
    await agent.trigger('x');
    await waitFor('it is released', async () => (await agent.status()).phase.kind === 'released');
    assert.match(await agent.log(), /draining the node \(offline/);
    assert.deepEqual(await agent.own(), []);
  });

  it('the agent makes the maintenance again when it is deleted, with a printable reason, and says who ended it when it is completed', async () => {
    await using agent = await startAgent('node-d');
    await agent.trigger(`${'x'.repeat(900)}\u001B[2J`);
    const first = await agent.open();
    assert.match(first.spec.reason ?? '', /^x{900} \[2J$/);
    assertAllowed(await deleteMaintenance(rig.admin, first.metadata.name));
    const second = await agent.open([first.metadata.name]);
    // As a controller leaves it until the pods are back.
    assertAllowed(
      await patchMaintenance(rig.admin, second.metadata.name, { metadata: { finalizers: ['x.example.com/x'] } }),
    );
    assertAllowed(await deleteMaintenance(rig.admin, second.metadata.name));
    const third = await agent.open([second.metadata.name]);
    assertAllowed(await patchMaintenance(rig.admin, second.metadata.name, { metadata: { finalizers: null } }));
    assert.equal((await agent.status()).phase.kind, 'draining');
    assertAllowed(await patchMaintenance(rig.admin, third.metadata.name, { spec: { stage: 'Complete' } }));
    await waitFor('it goes on alone', async () => /MaintenanceCompleted/.test(await agent.log()));
    // No container runtime tells what runs here, so that the completion counts after ten seconds.
    await waitFor('it is released', async () => (await agent.status()).phase.kind === 'released');
    const { phase } = await agent.status();
    assert.match(
      JSON.stringify(phase),
      /somebody has completed the NodeMaintenance .*container runtime does not tell what runs/,
    );
    assert.match(
      await agent.log(),
      /Somebody has deleted the NodeMaintenance shutdown-node-d-.*, and its drain goes on with another one/,
    );
  });
});

describe('the maintenances of other nodes', () => {
  it('maintenances of other nodes wake no agent, and many changes of its own maintenance wake it once', async (t) => {
    await madeMaintenance(rig.admin, { stage: 'Drain', nodeSelector: byName('node-y') }, { name: 'of-other' });
    await madeMaintenance(rig.admin, { stage: 'Drain', nodeSelector: byName('node-x') }, { name: 'of-own' });
    await madeMaintenance(rig.admin, { stage: 'Drain', nodeSelector: byName('node-x', 'node-y') }, { name: 'of-both' });
    const kubeconfig = await rig.controlPlane.kubeconfigFor('system:node:node-x', ['system:nodes']);
    const access = await loadClusterAccess(kubeconfig);
    const client = createKubeClient(access, 'test');
    const clock = createSystemClock();
    const waker = createWakeup(clock);
    const ending = new AbortController();
    t.after(() => {
      ending.abort();
      client.close();
    });
    const log = createLog('error', 'test');
    const onChange = (): void => {
      waker.notify();
    };
    const presence = { readDoctor: () => Promise.resolve({ doctor: 'ok' as const, checks: [] }), config: '' };
    const options = { access, endsWithBoot: undefined, presence, living: ending.signal };
    const cluster = new Cluster(options, { client, clock, log, nodeName: 'node-x', onChange });
    let turns = 0;
    const turning = (async () => {
      while (!ending.signal.aborted) {
        await waker.wait(60_000, ending.signal);
        turns += 1;
      }
    })();
    const running = cluster.maintenances.run(ending.signal);
    await waitFor('the list is known', () => Promise.resolve(cluster.maintenances.synced() && turns > 0));
    await delay(1_000);
    const messages = (name: string, node: string, last: string): ((at: number) => Promise<void>) => {
      return async (at) => {
        const nodeStatuses = [
          { nodeRef: { name: node }, drainMessage: at === 99 ? last : `${at}` },
          ...(name === 'of-both' ? [{ nodeRef: { name: 'node-x' }, drainMessage: 'same' }] : []),
        ];
        assertAllowed(await patchMaintenanceStatus(rig.admin, name, { nodeStatuses }));
      };
    };
    const change = async (write: (at: number) => Promise<void>): Promise<number> => {
      const before = turns;
      for (let at = 0; at < 100; at += 1) await write(at);
      await delay(600);
      return turns - before;
    };
    assert.equal(await change(messages('of-other', 'node-y', 'last')), 0);
    const ofBoth = await change(messages('of-both', 'node-y', 'last'));
    assert.ok(ofBoth <= 1, `${ofBoth} turns: the node has joined it, and nothing else changed for it`);
    const started = Date.now();
    const ofOwn = await change(messages('of-own', 'node-x', 'last'));
    // Four times a second, and twelve times ahead.
    const most = Math.ceil((Date.now() - started) / 250) + 1 + 12;
    assert.ok(ofOwn >= 1 && ofOwn <= most, `${ofOwn} turns for 100 changes`);
    const isLast = async (): Promise<boolean> =>
      cluster.maintenances.get('of-own')?.status?.nodeStatuses?.[0]?.drainMessage === 'last';
    await waitFor('the last change is known', isLast);
    assert.equal(cluster.maintenances.get('of-other')?.status, undefined, 'what does not concern the node is not kept');
    ending.abort();
    await Promise.all([running, turning]);
  });
});
