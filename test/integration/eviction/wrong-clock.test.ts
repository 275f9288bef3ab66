import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { WEBHOOK_PATH } from '../../../src/controller/webhook/server.ts';
import { createActor, entryOf, isActive } from '../../support/eviction/actors.ts';
import { buildEvictionRig, type EvictionRig, intercepts, stopAll } from '../../support/rigs/eviction.ts';
import { freePort } from '../../control-plane/port.ts';
import { waitFor } from '../../support/wait-for.ts';

const IMPERATIVE = 'imperative-eviction.k8s.io';
const HOUR = 3_600_000;
const CONFIGURATION = 'validatingwebhookconfiguration/nodemaint-webhook';

describe('a machine whose clock is wrong, beside a real API server whose clock is right', () => {
  let rig: EvictionRig;
  let webhook: { readonly webhookPort: string; readonly webhookHost: string };
  before(async () => {
    rig = await buildEvictionRig();
    const port = await freePort();
    const url = `https://127.0.0.1:${port}${WEBHOOK_PATH}`;
    const patch = [
      { op: 'remove', path: '/webhooks/0/clientConfig/service' },
      { op: 'add', path: '/webhooks/0/clientConfig/url', value: url },
    ];
    await rig.controlPlane.kubectl(['patch', CONFIGURATION, '--type=json', '-p', JSON.stringify(patch)]);
    webhook = { webhookPort: String(port), webhookHost: '127.0.0.1' };
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const cases = [
    { who: 'the controller', when: 'an hour ago', controller: -HOUR, interceptor: 0 },
    { who: 'the controller', when: 'in an hour', controller: HOUR, interceptor: 0 },
    { who: 'an interceptor', when: 'an hour ago', controller: 0, interceptor: -HOUR },
    { who: 'an interceptor', when: 'in an hour', controller: 0, interceptor: HOUR },
  ];
  for (const [index, { who, when, controller, interceptor }] of cases.entries()) {
    it(`the turn passes on when an interceptor completes, where it is ${when} for ${who}`, async () => {
      const name = `pod-${index}`;
      const actor = createActor(`actor-${index}.example.com`);
      const running = [
        await rig.startController(webhook, { wrongMs: controller }),
        await rig.startInterceptor(actor, { wrongMs: interceptor }),
      ];
      const pod = await rig.createPod(name, intercepts(actor.name, 20_000));
      await rig.request(pod, 'drainer.example.com');
      const begun = await rig.waitFor(pod, 'a heartbeat', (each) => entryOf(each, actor.name)?.startTime !== undefined);
      const startedAt = Date.parse(entryOf(begun, actor.name)?.startTime ?? '');
      assert.ok(Math.abs(startedAt - Date.now()) < 60_000, 'the interceptor writes the time of the API server');
      actor.turn = { kind: 'completed', message: 'Done.' };
      await rig.waitFor(pod, 'the turn passes on', isActive(IMPERATIVE));
      await waitFor('it is evicted', async () => (await rig.getPod(name))?.metadata.deletionTimestamp !== undefined);
      await rig.endPod(name);
      await stopAll(running);
    });
  }
});
