import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { entryOf } from '../../support/eviction/actors.ts';
import { buildEvictionRig, type EvictionRig } from '../../support/rigs/eviction.ts';
import { type EvictionWebhook, startEvictionWebhook } from '../../support/stand-ins/eviction-webhook.ts';
import { waitFor } from '../../support/wait-for.ts';

const IMPERATIVE = 'imperative-eviction.k8s.io';
const REQUESTER = 'drainer.example.com';
/** More than the controller has connections for other requests. */
const SLOW_PODS = 24;

describe('a webhook that does not answer to evictions, on a real API server', () => {
  let rig: EvictionRig;
  let webhook: EvictionWebhook;
  before(async () => {
    rig = await buildEvictionRig();
    webhook = await startEvictionWebhook(rig.controlPlane, rig.folder);
  });
  after(async () => {
    await webhook?.[Symbol.asyncDispose]();
    await rig?.[Symbol.asyncDispose]();
  });

  it('a silent webhook delays its namespace alone, and its silence is no refusal of the pod', async () => {
    webhook.decide = (name) => (name.startsWith('slow') ? 'silence' : undefined);
    await rig.controlPlane.kubectl(['create', 'namespace', 'tenant']);
    const names = Array.from({ length: SLOW_PODS }, (_, index) => `slow-${index}`);
    const slow = await Promise.all(names.map((name) => rig.createPod(name, {}, {}, 'tenant')));
    const quick = await rig.createPod('quick');
    const controller = await rig.startController();
    await Promise.all(slow.map((pod) => rig.request(pod, REQUESTER)));
    const underWay = (): Promise<boolean> => Promise.resolve(new Set(webhook.asked).size >= 16);
    await waitFor('the webhook holds up as many evictions as the namespace may have', underWay);

    await rig.request(quick, REQUESTER);
    const isEvicted = async (): Promise<boolean> =>
      (await rig.getPod('quick'))?.metadata.deletionTimestamp !== undefined;
    await waitFor('the other pod is evicted meanwhile', isEvicted, { timeoutMs: 5_000 });
    await rig.endPod('quick');

    const first = slow.find(({ metadata }) => metadata.name === webhook.asked[0]) ?? assert.fail();
    const told = await rig.waitFor(
      first,
      'the silence is told',
      (request) => entryOf(request, IMPERATIVE)?.message?.includes('failed calling webhook') === true,
      20_000,
    );
    assert.match(entryOf(told, IMPERATIVE)?.message ?? '', /^Nobody could be asked: HTTP 500: /);
    await controller.stop();
  });
});
