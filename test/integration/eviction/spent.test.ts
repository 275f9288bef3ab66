import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { applyInterceptorStatus } from '../../../src/kube/eviction/interceptor-status.ts';
import { EVICTION_REQUEST_API_VERSION } from '../../../src/api/names.ts';
import { rfc3339 } from '../../../src/decide/time.ts';
import { entryOf, hasEnded } from '../../support/eviction/actors.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { buildEvictionRig, conditionOf, type EvictionRig, NODE, type Running } from '../../support/rigs/eviction.ts';
import { waitFor } from '../../support/wait-for.ts';

const IMPERATIVE = 'imperative-eviction.k8s.io';
const REQUESTER = 'descheduler.example.com';

describe('a drain whose pods have requests that cannot go on, on a real API server', () => {
  let rig: EvictionRig;
  let controller: Running;
  before(async () => {
    rig = await buildEvictionRig();
    controller = await rig.startController();
  });
  after(async () => {
    await controller?.stop();
    await rig[Symbol.asyncDispose]();
  });

  const apply = async (object: object): Promise<string> =>
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  const isTerminating = async (name: string): Promise<boolean> =>
    (await rig.getPod(name))?.metadata.deletionTimestamp !== undefined;

  it('a drain takes the pods away, and nobody else does', async () => {
    // A budget keeps both pods, so that each request is at work when it is made useless.
    const guard = { maxUnavailable: 0, selector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } };
    await apply({ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'guard' }, spec: guard });
    const [held, completed] = [await rig.createPod('held'), await rig.createPod('completed')];
    for (const pod of [held, completed]) {
      const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
      const patch = ['patch', 'pod', pod.metadata.name, '--subresource=status', '-p', JSON.stringify({ status })];
      await rig.controlPlane.kubectl(patch);
      await rig.request(pod, REQUESTER);
      await rig.waitFor(pod, 'blocked', (request) => (entryOf(request, IMPERATIVE)?.message ?? '') !== '');
    }

    const name = held.metadata.uid ?? '';
    const finalizers = JSON.stringify({ metadata: { finalizers: ['example.com/hold'] } });
    await rig.controlPlane.kubectl(['patch', 'evreq', name, '--type=merge', '-p', finalizers]);
    await rig.controlPlane.kubectl(['delete', 'evreq', name, '--wait=false']);
    const canceled = await rig.waitFor(held, 'canceled', hasEnded('Canceled'));
    assert.match(conditionOf(canceled, 'Canceled') ?? '', /^True Deleted: /);

    const request = await rig.get(completed);
    const entry = entryOf(request, IMPERATIVE);
    assert.ok(request !== undefined && entry !== undefined);
    const done = { ...entry, completionTime: rfc3339(Date.now()) };
    await applyInterceptorStatus(rig.client, request, done, AbortSignal.timeout(10_000));
    await rig.waitFor(completed, 'no interceptor is left', ({ status }) => status?.activeInterceptors?.length === 0);

    const misnamed = await rig.createPod('misnamed');
    const uid = misnamed.metadata.uid ?? '';
    const spec = { target: { pod: { name: 'nobody', uid } }, requesters: [{ name: REQUESTER }] };
    const metadata = { name: uid, namespace: 'default', finalizers: ['example.com/hold'] };
    await apply({ apiVersion: EVICTION_REQUEST_API_VERSION, kind: 'EvictionRequest', metadata, spec });
    await rig.waitFor(misnamed, 'canceled', hasEnded('Canceled'));

    await rig.controlPlane.kubectl(['delete', 'pdb', 'guard']);
    await new Promise((resolve) => {
      setTimeout(resolve, 3_000);
    });
    const pods = ['held', 'completed', 'misnamed'];
    const areTerminating = async (): Promise<readonly boolean[]> => await Promise.all(pods.map(isTerminating));
    assert.deepEqual(await areTerminating(), [false, false, false]);

    await apply(drainOf('firmware', [NODE]));
    await waitFor('all are evicted', async () => (await areTerminating()).every(Boolean));
    for (const pod of pods) await rig.endPod(pod);
    await rig.waitFor(completed, 'evicted', hasEnded('Evicted'));
    const drained = ['get', 'nm', 'firmware', '-o', 'jsonpath={.status.conditions[?(@.type=="Drained")].status}'];
    await waitFor('drained', async () => (await rig.controlPlane.kubectl(drained)) === 'True');
    assert.deepEqual((await rig.get(held))?.metadata.finalizers, ['example.com/hold'], 'the finalizer is not ours');
  });
});
