import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  DEADLINE_ANNOTATION,
  DEADLINE_SINCE_ANNOTATION,
  INTERCEPTOR_DEADLINE_ANNOTATION,
} from '../../../src/api/names.ts';
import { createActor, entryOf, isActive } from '../../support/eviction/actors.ts';
import { buildEvictionRig, conditionOf, type EvictionRig, intercepts, NODE } from '../../support/rigs/eviction.ts';
import { madeMaintenance, patchMaintenance } from '../../support/maintenance/calls.ts';
import { byName } from '../../support/maintenance/objects.ts';
import { waitFor } from '../../support/wait-for.ts';

const A = 'actor-a.example.com';
const B = 'actor-b.example.com';
const IMPERATIVE = 'imperative-eviction.k8s.io';

describe('interceptors and the deadline of a node, on a real API server', () => {
  let rig: EvictionRig;
  before(async () => {
    rig = await buildEvictionRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  it('an interceptor loses its turn when the pod needs the time that is left, although its heartbeats continue', async () => {
    const [a, b] = [createActor(A), createActor(B)];
    for (const each of [a, b]) await rig.startInterceptor(each);
    await rig.startController();
    const pod = await rig.createPod('slow', intercepts(A, 20_000), { terminationGracePeriodSeconds: 600 });
    const other = await rig.createPod('slow-2', { ...intercepts(A, 20_000), ...intercepts(B, 10_000) });
    const since = Date.now();
    const at = since + 600_000;
    const annotations = {
      [DEADLINE_SINCE_ANNOTATION]: new Date(since).toISOString(),
      [DEADLINE_ANNOTATION]: new Date(at).toISOString(),
    };
    const name = await madeMaintenance(
      rig.client,
      { stage: 'Drain', nodeSelector: byName(NODE), reason: 'spot' },
      { annotations },
    );
    const begun = await rig.waitFor(pod, 'the interceptor works', (request) => {
      return entryOf(request, A)?.heartbeatTime !== undefined;
    });
    const seen = begun.metadata.annotations ?? {};
    assert.equal(seen[DEADLINE_ANNOTATION], annotations[DEADLINE_ANNOTATION]);
    // The pod wants 600 s of 590: the first half is the interceptor's.
    const until = Date.parse(seen[INTERCEPTOR_DEADLINE_ANNOTATION] ?? '');
    assert.ok(Math.abs(until - since - 295_000) < 5_000, `${(until - since) / 1000} s`);
    assert.equal((await rig.getPod('slow'))?.metadata.deletionTimestamp, undefined);

    // The deadline comes closer: 30 s from now.
    const closer = new Date(Date.now() + 30_000).toISOString();
    const sooner = { [DEADLINE_ANNOTATION]: closer, [DEADLINE_SINCE_ANNOTATION]: new Date().toISOString() };
    await patchMaintenance(rig.client, name, { metadata: { annotations: sooner } });
    const told = await rig.waitFor(pod, 'the Eviction API takes over', isActive(IMPERATIVE), 20_000);
    assert.equal(told.metadata.annotations?.[DEADLINE_ANNOTATION], closer);
    assert.match(
      conditionOf(told, 'Progressing') ?? '',
      new RegExp(`${A} has no more time before the deadline of the node`),
    );
    await rig.waitFor(other, 'the second interceptor is passed over too', isActive(IMPERATIVE), 10_000);
    const isTold = async (): Promise<boolean> => (await rig.getPod('slow'))?.metadata.deletionTimestamp !== undefined;
    await waitFor('the pod is told to end', isTold, { timeoutMs: 15_000 });
    const { deletionGracePeriodSeconds = 600, deletionTimestamp = '' } = (await rig.getPod('slow'))?.metadata ?? {};
    assert.ok(deletionGracePeriodSeconds >= 1 && deletionGracePeriodSeconds < 30, `${deletionGracePeriodSeconds} s`);
    assert.ok(Date.parse(deletionTimestamp) <= Date.parse(closer), 'it ends before the deadline');
    const isWarned = async (): Promise<boolean> => {
      const events = await rig.controlPlane.kubectl(['get', 'events', '-o', 'json']);
      const { items } = JSON.parse(events) as { items: { reason: string; type: string }[] };
      return items.some(({ reason, type }) => reason === 'InterceptorDeadline' && type === 'Warning');
    };
    await waitFor('an Event warns of it', isWarned);
    await rig.endPod('slow');
    await rig.endPod('slow-2');
  });
});
