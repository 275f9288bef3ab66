import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod, PodDisruptionBudget } from '../../../../src/api/pod.ts';
import { createDaemonSetInterceptor } from '../../../../src/controller/daemon-set/interceptor.ts';
import { createImperativeEviction } from '../../../../src/controller/eviction/imperative.ts';
import { createMarkReconciler, isToldInVain } from '../../../../src/controller/eviction/marks.ts';
import { createEvictionScene, type EvictionScene } from '../../../support/eviction/scene.ts';

const IMPERATIVE = 'imperative-eviction.k8s.io';
const PREFIX = 'nodemaintenance.x-k8s.io/';
const SIGNAL = AbortSignal.timeout(30_000);

function pod(name: string, out = false): Pod {
  const annotations = {
    [`${PREFIX}traffic-drain`]: '15s',
    ...(out ? { [`${PREFIX}traffic-left`]: '2026-01-01T00:00:00Z' } : {}),
  };
  const labels = { app: 'web', [`${PREFIX}traffic`]: out ? 'drain' : 'serve' };
  return { metadata: { name, namespace: 'default', uid: `u-${name}`, labels, annotations }, spec: { nodeName: 'n' } };
}

function request({ metadata }: Pod, active = IMPERATIVE): EvictionRequest {
  return {
    metadata: { name: metadata.uid ?? '', namespace: 'default', uid: `r-${metadata.name}` },
    spec: {
      target: { pod: { name: metadata.name, uid: metadata.uid ?? '' } },
      requesters: [{ name: 'x.example.com' }],
    },
    status: {
      targetInterceptors: [{ name: active }],
      activeInterceptors: [active],
      interceptors: [{ name: active, message: '' }],
    },
  };
}

/** The calls about pods, without the reports. */
function calls(scene: EvictionScene): readonly string[] {
  return scene.calls().filter((call) => !call.endsWith('/status'));
}

const BUDGET: PodDisruptionBudget = {
  metadata: { name: 'web', namespace: 'default' },
  spec: { selector: { matchLabels: { app: 'web' } } },
  status: { disruptionsAllowed: 1 },
};

describe('a pod that leaves its Services before its end', () => {
  it('the eviction is tried, then the pod leaves, and is evicted when its time is over', async () => {
    const scene = createEvictionScene();
    const key = scene.put(request(pod('web')), pod('web'));
    const step = scene.loop(createImperativeEviction(scene.context));
    assert.deepEqual(await step(key), { againMs: 15_000 });
    assert.deepEqual(calls(scene), ['POST web/eviction?dryRun=All', 'PATCH pods/web']);
    assert.deepEqual(scene.sent[1]?.body, {
      metadata: {
        uid: 'u-web',
        labels: { [`${PREFIX}traffic`]: 'drain' },
        annotations: { [`${PREFIX}traffic-left`]: '2026-01-01T00:00:00Z' },
      },
    });
    scene.clock.pass(14_000);
    assert.deepEqual(await step(key), { againMs: 1_000 }, 'our copy of the pod is an old one');
    scene.clock.pass(1_000);
    await step(key);
    assert.deepEqual(calls(scene).slice(2), ['POST web/eviction']);
  });

  it('another controller waits for what is left of the time', async () => {
    const scene = createEvictionScene();
    const key = scene.put(request(pod('web', true)), pod('web', true));
    scene.clock.pass(10_000);
    assert.deepEqual(await scene.loop(createImperativeEviction(scene.context))(key), { againMs: 5_000 });
    assert.deepEqual(calls(scene), []);
  });

  it('a pod whose budget refuses the trial stays in its Services', async () => {
    const scene = createEvictionScene();
    const key = scene.put(request(pod('web')), pod('web'));
    scene.evictionAnswer = () => ({ status: 429, body: { message: "violate the pod's disruption budget" } });
    await scene.loop(createImperativeEviction(scene.context))(key);
    assert.deepEqual(calls(scene), ['POST web/eviction?dryRun=All']);
    assert.deepEqual(scene.attempts, ['blocked']);
  });

  it('a pod whose eviction is refused when it has left is put back', async () => {
    const scene = createEvictionScene();
    const key = scene.put(request(pod('web', true)), pod('web', true));
    scene.clock.pass(60_000);
    scene.evictionAnswer = () => ({ status: 429, body: { message: "violate the pod's disruption budget" } });
    await scene.loop(createImperativeEviction(scene.context))(key);
    assert.deepEqual(calls(scene), ['POST web/eviction', 'PATCH pods/web']);
    assert.match(JSON.stringify(scene.sent[1]?.body), /traffic":"serve"/);
  });

  it('pods of one budget leave one after another, as many as it allows', async () => {
    const scene = createEvictionScene();
    scene.budgets.set('default/web', BUDGET);
    const [one, two] = [scene.put(request(pod('one')), pod('one')), scene.put(request(pod('two')), pod('two'))];
    const step = scene.loop(createImperativeEviction(scene.context));
    await step(one);
    assert.deepEqual(await step(two), { againMs: 1_000 });
    assert.ok(!calls(scene).some((call) => call.includes('two')), 'the second stays in its Services');
    scene.pods.delete('default/one');
    await step(two);
    assert.deepEqual(calls(scene).slice(2), ['POST two/eviction?dryRun=All', 'PATCH pods/two']);
  });

  it('a webhook that takes no trials does not keep the pod from leaving', async () => {
    const scene = createEvictionScene();
    const key = scene.put(request(pod('web')), pod('web'));
    scene.evictionAnswer = () => ({ status: 400, body: { message: 'admission webhook "v" does not support dry run' } });
    await scene.loop(createImperativeEviction(scene.context))(key);
    assert.deepEqual(calls(scene).slice(1), ['PATCH pods/web']);
  });

  it('a DaemonSet pod leaves its Services too', async () => {
    const scene = createEvictionScene();
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'ds', uid: 'd', controller: true };
    const plain = pod('web');
    const target = { ...plain, metadata: { ...plain.metadata, ownerReferences: [owner] } };
    scene.drain([{ podType: 'DaemonSet', podPriority: 1000 }]);
    const key = scene.put(request(target, 'daemonset.apps.k8s.io'), target);
    const step = scene.loop(createDaemonSetInterceptor(scene.context));
    assert.deepEqual(await step(key), { againMs: 15_000 });
    scene.clock.pass(15_000);
    await step(key);
    assert.deepEqual(calls(scene), ['PATCH pods/web', 'DELETE pods/web']);
  });

  it('a pod whose eviction nobody requests any more is put back', async () => {
    const scene = createEvictionScene();
    const out = pod('web', true);
    const key = scene.put(request(out), out);
    assert.equal(isToldInVain(scene.context, out), false, 'it is requested');
    scene.requests.delete(key);
    assert.equal(isToldInVain(scene.context, out), true);
    await createMarkReconciler(scene.context)('default/web', SIGNAL);
    assert.deepEqual(calls(scene), ['PATCH pods/web']);
    const annotations = { [`${PREFIX}traffic-left`]: null };
    const body = { metadata: { uid: 'u-web', labels: { [`${PREFIX}traffic`]: 'serve' }, annotations } };
    assert.deepEqual(scene.sent[0]?.body, body);
  });
});
