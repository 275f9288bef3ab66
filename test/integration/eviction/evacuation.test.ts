import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { entryOf } from '../../support/eviction/actors.ts';
import { buildEvictionRig, type EvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { type EvictionWebhook, startEvictionWebhook } from '../../support/stand-ins/eviction-webhook.ts';
import { waitFor } from '../../support/wait-for.ts';
import { drainOf } from '../../support/maintenance/objects.ts';

const IMPERATIVE = 'imperative-eviction.k8s.io';
const DRAINER = 'drainer.example.com';
const EVICT_ONLY = { 'descheduler.alpha.kubernetes.io/request-evict-only': '' };
const IN_PROGRESS = { ...EVICT_ONLY, 'descheduler.alpha.kubernetes.io/eviction-in-progress': '' };
/** What virt-api of KubeVirt says to the first request, and then while it migrates the virtual machine. */
const PROMISE = { code: 429, message: 'Eviction triggered evacuation of VMI "default/vm"' };
const MIGRATING = { code: 429, message: 'Evacuation in progress: VMI "default/vm"' };

describe('evictions in the background (KEP-1397) on a real API server', () => {
  let rig: EvictionRig;
  let webhook: EvictionWebhook;
  before(async () => {
    rig = await buildEvictionRig();
    webhook = await startEvictionWebhook(rig.controlPlane, rig.folder);
    // The API server takes a moment to know it.
    const probe = await rig.createPod('probe');
    await rig.request(probe, DRAINER);
    const controller = await rig.startController();
    await waitFor('the webhook is called', () => Promise.resolve(webhook.asked.includes('probe')));
    await controller.stop();
  });
  after(async () => {
    await webhook[Symbol.asyncDispose]();
    await rig[Symbol.asyncDispose]();
  });

  const timesAsked = (name: string): number => webhook.asked.filter((each) => each === name).length;

  it('EvacuationInBackground', async () => {
    const T = 2_000;
    let triggeredAt = 0;
    webhook.decide = (name) => {
      if (name !== 'vm') return undefined;
      triggeredAt = Date.now();
      setTimeout(() => void rig.endPod('vm'), T);
      return PROMISE;
    };
    const controller = await rig.startController();
    const pod = await rig.createPod('vm', EVICT_ONLY);
    await rig.request(pod, DRAINER);
    const promised = await rig.waitFor(pod, 'promised', (request) => {
      return entryOf(request, IMPERATIVE)?.message?.includes('in the background is promised') === true;
    });
    assert.doesNotMatch(entryOf(promised, IMPERATIVE)?.message ?? '', /number of retries/, 'a promise is no failure');
    assert.equal((await rig.getPod('vm'))?.metadata.deletionTimestamp, undefined, 'not removed right away');
    await waitFor('removed', async () => (await rig.getPod('vm')) === undefined);
    assert.ok(Date.now() - triggeredAt >= T, 'not before its time');
    assert.equal(timesAsked('vm'), 1);
    await controller.stop();
  });

  it('the drain of a node waits for the migration of a virtual machine of KubeVirt, and goes on after it', async () => {
    let answers = 0;
    webhook.decide = (name) => {
      if (name !== 'virt-launcher-vm') return undefined;
      answers += 1;
      return answers === 1 ? PROMISE : MIGRATING;
    };
    const controller = await rig.startController({ promiseTimeout: '1s' });
    const { kubectl } = rig.controlPlane;
    const pod = await rig.createPod('virt-launcher-vm', EVICT_ONLY);
    await kubectl(['apply', '-f', '-'], JSON.stringify(drainOf('vms', [NODE])));
    await waitFor('it is asked for again while it is migrated', () => Promise.resolve(answers >= 3));
    const entry = entryOf(await rig.waitFor(pod, 'promised', () => true), IMPERATIVE);
    assert.match(entry?.message ?? '', /in the background is promised/, 'neither answer is a failure');
    const key = 'descheduler.alpha.kubernetes.io/eviction-in-progress';
    await kubectl(['annotate', 'pod', 'virt-launcher-vm', `${key}=kubevirt`]);
    await rig.waitFor(pod, 'in progress', (request) => {
      return entryOf(request, IMPERATIVE)?.message?.includes('in the background is in progress') === true;
    });
    const drained = async (): Promise<string> =>
      await kubectl(['get', 'nm', 'vms', '-o', 'jsonpath={.status.conditions[?(@.type=="Drained")].status}']);
    assert.notEqual(await drained(), 'True');
    assert.equal((await rig.getPod('virt-launcher-vm'))?.metadata.deletionTimestamp, undefined);
    await rig.endPod('virt-launcher-vm');
    for (const left of ['probe', 'vm']) await rig.endPod(left);
    await waitFor('the node is drained', async () => (await drained()) === 'True');
    await kubectl(['patch', 'nm', 'vms', '--type=merge', '-p', '{"spec":{"stage":"Complete"}}']);
    await waitFor('the node is given back', async () => {
      return !(await kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec}'])).includes('unschedulable');
    });
    await controller.stop();
  });

  it('EvacuationTTL', async () => {
    webhook.decide = () => PROMISE;
    const controller = await rig.startController({ promiseTimeout: '3s' });
    const pod = await rig.createPod('broken-promise', EVICT_ONLY);
    await rig.request(pod, DRAINER);
    await waitFor('promised', () => Promise.resolve(timesAsked('broken-promise') === 1));
    await new Promise((resolve) => {
      setTimeout(resolve, 2_000);
    });
    assert.equal(timesAsked('broken-promise'), 1, 'nobody asks twice while the promise is believed');
    await waitFor('asked again after the TTL', () => Promise.resolve(timesAsked('broken-promise') === 2));
    webhook.decide = () => undefined;
    await waitFor('evicted in the end', async () => {
      return (await rig.getPod('broken-promise'))?.metadata.deletionTimestamp !== undefined;
    });
    await controller.stop();
  });

  it('the controller does not repeat an eviction that it finds in progress after a restart', async () => {
    webhook.decide = () => PROMISE;
    const pod = await rig.createPod('migrating', IN_PROGRESS);
    await rig.request(pod, DRAINER);
    const controller = await rig.startController();
    await rig.waitFor(pod, 'in progress', (request) => {
      return entryOf(request, IMPERATIVE)?.message?.includes('in the background is in progress') === true;
    });
    assert.equal(timesAsked('migrating'), 0);
    await controller.stop();
  });

  it('EvacuationLimitReached', async () => {
    webhook.decide = () => PROMISE;
    await rig.controlPlane.kubectl(['delete', 'pods', '--all', '--force', '--grace-period=0']);
    await rig.controlPlane.kubectl(['delete', 'evreq', '--all']);
    for (const name of ['one', 'two', 'three']) await rig.createPod(name, EVICT_ONLY);
    await rig.createPod('zero', IN_PROGRESS);
    const maintenance = drainOf('limited', [NODE]);
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(maintenance));
    const requested = async (): Promise<string[]> => {
      const format = ['-o', 'jsonpath={.items[*].spec.target.pod.name}'];
      return (await rig.controlPlane.kubectl(['get', 'evreq', ...format])).split(' ').filter((name) => name !== '');
    };
    const controller = await rig.startController({ maxEvictionsPerNode: '2' });
    await waitFor('two requests', async () => (await requested()).length === 2);
    await new Promise((resolve) => {
      setTimeout(resolve, 1_500);
    });
    const names = await requested();
    assert.equal(names.length, 2);
    assert.ok(names.includes('zero'), 'the one in progress comes first');
    // Room is made by an end.
    await rig.endPod('zero');
    await waitFor('the next one', async () => (await requested()).filter((name) => name !== 'zero').length === 2);
    await controller.stop();
  });
});
