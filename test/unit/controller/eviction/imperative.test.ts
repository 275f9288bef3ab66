import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest, EvictionRequestStatus } from '../../../../src/api/eviction-request.ts';
import { EVICT_ONLY_ANNOTATION, EVICTION_IN_PROGRESS_ANNOTATION } from '../../../../src/api/names.ts';
import type { Pod, PodDisruptionBudget } from '../../../../src/api/pod.ts';
import { createImperativeEviction } from '../../../../src/controller/eviction/imperative.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { type Answer, createEvictionScene } from '../../../support/eviction/scene.ts';

const IMPERATIVE = 'imperative-eviction.k8s.io';
const TAKE_OVER = { 'coordination.x-k8s.io/evict-policy': 'ControllerTakeOver' };
const MARK = { 'kubernetes.io/pod-evict-wanted': 'true' };

function pod(annotations: Readonly<Record<string, string>> = {}, metadata: object = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'u', annotations, ...metadata },
    spec: { nodeName: 'n' },
  };
}

function request(uid = 'r-1', status: EvictionRequestStatus = {}, entry: object = {}): EvictionRequest {
  return {
    metadata: { name: 'u', namespace: 'default', uid, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { target: { pod: { name: 'web', uid: 'u' } }, requesters: [{ name: 'x.example.com' }] },
    status: {
      targetInterceptors: [{ name: IMPERATIVE }],
      activeInterceptors: [IMPERATIVE],
      processedInterceptors: [],
      interceptors: [{ name: IMPERATIVE, message: '', ...entry }],
      ...status,
    },
  };
}

const REFUSED: Answer = { status: 429, body: { message: 'Cannot evict pod: disruption budget' } };

describe('imperative eviction', () => {
  it('imperative eviction starts again with a request that took the name of a deleted one', async () => {
    const scene = createEvictionScene();
    const key = scene.put(request('r-1'), pod());
    const step = scene.loop(createImperativeEviction(scene.context));
    scene.evictionAnswer = () => REFUSED;
    for (let attempt = 0; attempt < 12; attempt += 1) {
      await step(key);
      scene.clock.pass(15 * 60_000);
    }
    await step(key);
    const before = scene.attempts.length;
    await step(key);
    assert.equal(scene.attempts.length, before, 'a quarter of an hour is to be waited for');
    scene.put(request('r-2'));
    const { againMs } = await step(key);
    assert.deepEqual([scene.attempts.length, againMs], [before + 1, 2_000]);
  });
});

describe('a new leader', () => {
  it('a new leader asks for a pod that a budget without room has kept when that changes, and not at once', async () => {
    const scene = createEvictionScene();
    const ready = { status: { conditions: [{ type: 'Ready', status: 'True' as const }] } };
    const message = 'Could not evict a pod due to failing eviction requests, number of retries: 9. x';
    const key = scene.put(request('r-1', {}, { message }), { ...pod(), ...ready });
    const budget = (disruptionsAllowed: number): PodDisruptionBudget => ({
      metadata: { name: 'web', namespace: 'default' },
      spec: { selector: {} },
      status: { disruptionsAllowed },
    });
    scene.budgets.set('default/web', budget(0));
    const engine = createImperativeEviction(scene.context);
    const step = scene.loop(engine);
    await step(key);
    assert.equal(scene.attempts.length, 0);
    scene.budgets.set('default/web', budget(1));
    assert.deepEqual(engine.budgetChanged('default/web'), [key]);
    await step(key);
    assert.equal(scene.attempts.length, 1);
  });
});

describe('the report of an eviction', () => {
  const ending = (graceSec: number): Pod => {
    const deletionTimestamp = new Date(Date.UTC(2026, 0, 1) + graceSec * 1000).toISOString();
    const gone = pod({}, { deletionTimestamp, deletionGracePeriodSeconds: graceSec });
    return { ...gone, spec: { ...gone.spec, terminationGracePeriodSeconds: graceSec } };
  };
  const cases: readonly (readonly [string, number, number])[] = [
    ['15 s after its grace period', 20, 35_000],
    ['15 s after its kubelet has deleted it for good', 0, 15_000],
    ['after a minute of a longer grace period', 600, 60_000],
  ];
  for (const [when, graceSec, quietMs] of cases) {
    it(`the report of a pod that does not end comes ${when}`, async () => {
      const scene = createEvictionScene();
      const { spec } = ending(graceSec);
      const key = scene.put(request(), { ...pod(), spec });
      const step = scene.loop(createImperativeEviction(scene.context));
      assert.deepEqual(await step(key), { againMs: Math.min(quietMs, 30_000) });
      scene.put(request(), ending(graceSec));
      scene.clock.pass(5_000);
      assert.deepEqual(await step(key), { againMs: quietMs - 5_000 });
      assert.deepEqual(scene.calls(), ['POST web/eviction'], 'the pod itself shows that it ends');
      scene.clock.pass(quietMs - 5_000);
      await step(key);
      assert.deepEqual(scene.calls().slice(1), ['PATCH u/status']);
      assert.match(JSON.stringify(scene.sent[1]?.body), /"message":"Pod web is terminating\."/);
    });
  }

  it('the report replaces at once what was said of a blocked eviction', async () => {
    const scene = createEvictionScene();
    const message = 'Could not evict a pod due to failing eviction requests, number of retries: 3. x';
    const key = scene.put(request('r-1', {}, { message }), ending(20));
    await scene.loop(createImperativeEviction(scene.context))(key);
    assert.match(JSON.stringify(scene.sent[0]?.body), /"message":"Pod web is terminating\."/);
  });
});

describe('the evictions of a namespace whose webhook does not answer', () => {
  it('the evictions wait for each other, and those of another namespace do not', async () => {
    const scene = createEvictionScene();
    const { promise, resolve } = Promise.withResolvers<never>();
    scene.evictionAnswer = () => promise;
    const step = scene.loop(createImperativeEviction(scene.context));
    const keyOf = (number: number, namespace: string): string => {
      const meta = { name: `u-${number}`, namespace, uid: `r-${number}` };
      const target = { pod: { name: `web-${number}`, uid: `u-${number}` } };
      const spec = { target, requesters: [{ name: 'x.example.com' }] };
      const web = pod({}, { name: `web-${number}`, namespace, uid: `u-${number}` });
      return scene.put({ ...request(), metadata: meta, spec }, web);
    };
    for (let number = 0; number < 64; number += 1) void step(keyOf(number, 'slow'));
    await new Promise(setImmediate);
    assert.deepEqual(await step(keyOf(64, 'slow')), { againMs: 100 });
    scene.clock.pass(30_000);
    assert.deepEqual(await step(keyOf(65, 'slow')), { againMs: 1_000 }, 'the longer it takes, the longer they wait');
    assert.equal(scene.calls().length, 64);
    void step(keyOf(66, 'quick'));
    await new Promise(setImmediate);
    assert.equal(scene.calls().length, 65);
    resolve({ status: 201, body: {} } as never);
    await new Promise(setImmediate);
    await step(keyOf(67, 'slow'));
    assert.equal(scene.calls().length, 66, 'an answer makes room');
  });
});

describe('an answer that there is no such pod', () => {
  it('an answer of a webhook is a refusal, which is reported', async () => {
    const scene = createEvictionScene();
    const key = scene.put(request(), pod());
    scene.evictionAnswer = () => ({ status: 404, body: { message: 'admission webhook "v" denied the request: no' } });
    const { againMs } = await scene.loop(createImperativeEviction(scene.context))(key);
    assert.deepEqual([scene.attempts, scene.events, againMs], [['blocked'], ['EvictionBlocked'], 2_000]);
  });

  it('an answer of the API server is proved by a read of the pod before the next attempt', async () => {
    const scene = createEvictionScene();
    const key = scene.put(request(), pod());
    const step = scene.loop(createImperativeEviction(scene.context));
    scene.evictionAnswer = () => ({ status: 404, body: { message: 'pods "web" not found' } });
    const { againMs = 0 } = await step(key);
    assert.equal(againMs, 30_000, 'it is not the last look');
    scene.clock.pass(againMs);
    await step(key);
    assert.deepEqual(scene.calls(), ['POST web/eviction', 'GET pods/web']);
    assert.deepEqual(scene.attempts, ['gone']);
  });
});

describe('a pod that is left to its controller', () => {
  it('a pod that is left to its controller waits for the time-out once, where the estimate is of a clock that is ahead', async () => {
    const scene = createEvictionScene();
    const marked = pod({ ...TAKE_OVER, ...MARK });
    const expectedFinishTime = rfc3339(scene.clock.now() + 24 * 3_600_000);
    const known = request('r-1', {}, { expectedFinishTime });
    scene.put(known, marked);
    const interceptor = createImperativeEviction(scene.context);
    const waits = async (): Promise<number> => {
      const step = await interceptor.act(known, marked, AbortSignal.timeout(10_000));
      return step.kind === 'completed' ? 0 : (step.againMs ?? 0);
    };
    const timeOut = scene.context.options.takeOverTimeout;
    assert.equal(await waits(), timeOut);
    scene.clock.pass(timeOut - 1_000);
    assert.equal(await waits(), 1_000, 'looking again does not put it off');
  });
});

describe('the mark of a pod that is left to its controller', () => {
  it('the mark is written again where our copy of the pod does not show it: it was taken back for an older request', async () => {
    const scene = createEvictionScene();
    const key = scene.put(request(), pod(TAKE_OVER));
    const step = scene.loop(createImperativeEviction(scene.context));
    const marks = (): number => scene.sent.filter(({ path }) => path.endsWith('/pods/web')).length;
    await step(key);
    scene.clock.pass(1_000);
    const { againMs = Infinity } = await step(key);
    assert.equal(marks(), 1, 'our copy may not show it yet');
    assert.ok(againMs <= 2_000, `${againMs}`);
    scene.clock.pass(1_000);
    await step(key);
    assert.equal(marks(), 2);
    assert.deepEqual(scene.attempts, [], 'it is still left to its controller');
  });
});

describe('the room of a budget', () => {
  it('is for pods that would be tried now, and not for one that is terminating or evicted in the background', async () => {
    const scene = createEvictionScene();
    const interceptor = createImperativeEviction(scene.context);
    const step = scene.loop(interceptor);
    const budget = { metadata: { name: 'pdb', namespace: 'default' }, spec: { selector: {} } };
    scene.budgets.set('default/pdb', { ...budget, status: { disruptionsAllowed: 0 } });
    scene.evictionAnswer = () => ({ status: 429, body: { message: "would violate the pod's disruption budget" } });
    const blocked = async (name: string): Promise<string> => {
      const spec = { target: { pod: { name, uid: `u-${name}` } }, requesters: [{ name: 'x.example.com' }] };
      const metadata = { ...request().metadata, name: `u-${name}`, uid: `r-${name}` };
      const key = scene.put({ ...request(), metadata, spec }, pod({}, { name, uid: `u-${name}` }));
      await step(key);
      return key;
    };
    await blocked('x');
    await blocked('y');
    const last = await blocked('z');
    const deletionTimestamp = rfc3339(scene.clock.now() + 600_000);
    scene.pods.set('default/x', pod({}, { name: 'x', uid: 'u-x', deletionTimestamp }));
    const others = { [EVICT_ONLY_ANNOTATION]: '', [EVICTION_IN_PROGRESS_ANNOTATION]: '' };
    scene.pods.set('default/y', pod(others, { name: 'y', uid: 'u-y' }));
    scene.budgets.set('default/pdb', { ...budget, status: { disruptionsAllowed: 1 } });
    assert.deepEqual(interceptor.budgetChanged('default/pdb'), [last]);
  });
});
