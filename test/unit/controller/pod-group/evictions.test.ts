import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  EVICT_ONLY_ANNOTATION,
  EVICT_POLICY_ANNOTATION,
  EVICT_WANTED_ANNOTATION,
  EVICTION_IN_PROGRESS_ANNOTATION,
} from '../../../../src/api/names.ts';
import { createEvictionConcurrency } from '../../../../src/kube/eviction/concurrency.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';
import { asked, groupPod, groupScene } from '../../../support/eviction/group-scene.ts';

const BUDGET = 'The disruption budget pdb needs 1 healthy pods and has 1 currently';
const BLOCKED = {
  status: 429,
  body: {
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    details: { causes: [{ reason: 'DisruptionBudget', message: BUDGET }] },
  },
};
const PROMISED = { status: 429, body: { message: 'admission webhook "w" denied the request: Eviction triggered' } };
const PDB = { metadata: { name: 'pdb', namespace: 'default' }, spec: { selector: {} } };

describe('the eviction of pods of a group whose pods leave together', () => {
  it('they are tried first, and then evicted together, on all nodes', async () => {
    const scene = groupScene({ all: {} });
    await scene.evict('b');
    await scene.leave();
    assert.deepEqual(asked(scene, true), ['a', 'b', 'c']);
    assert.deepEqual(asked(scene, false), ['b', 'c', 'a'].toSorted());
    const lastTrial = scene.calls().findLastIndex((call) => call.endsWith('?dryRun=All'));
    const first = scene.calls().findIndex((call) => call.endsWith('/eviction'));
    assert.ok(lastTrial < first);
  });

  it('no pod leaves where one of them may not; the pause before the next trial grows, and a budget ends it', async () => {
    const scene = groupScene({ all: {} });
    scene.budgets.set('default/pdb', { ...PDB, status: { disruptionsAllowed: 3 } });
    scene.evictionAnswer = () => BLOCKED;
    const pauses: (number | undefined)[] = [];
    for (let trial = 0; trial < 4; trial += 1) {
      const { againMs = 0, refused } = await scene.evict('a');
      assert.match(refused ?? '', /^Pod a: .*Blocked by PodDisruptionBudget pdb/);
      pauses.push(againMs);
      scene.clock.pass(againMs);
    }
    assert.deepEqual(pauses, [2_000, 4_000, 8_000, 16_000]);
    await scene.evict('a');
    const { length } = scene.calls();
    assert.match((await scene.evict('b')).refused ?? '', /^Pod a: /, 'the others say the same');
    assert.equal(asked({ ...scene, calls: () => scene.calls().slice(length) }, true).length, 0);
    assert.deepEqual(scene.budgetChanged(), ['default/u-a', 'default/u-b']);
    scene.evictionAnswer = () => ({});
    await scene.evict('b');
    assert.deepEqual(asked(scene, false), ['b']);
  });

  it('a pod that others evict in the background is not asked for, also not for a trial', async () => {
    const scene = groupScene({ all: {} });
    scene.annotate('c', { [EVICT_ONLY_ANNOTATION]: '', [EVICTION_IN_PROGRESS_ANNOTATION]: '' });
    await scene.evict('a');
    await scene.leave();
    assert.deepEqual(
      [asked(scene, true), asked(scene, false)],
      [
        ['a', 'b'],
        ['a', 'b'],
      ],
    );
  });

  it('the pods leave where a webhook cannot be asked for a trial', async () => {
    const scene = groupScene({ all: {} });
    const { evictionAnswer } = scene;
    scene.evictionAnswer = (request) =>
      request.path.endsWith('?dryRun=All')
        ? { status: 400, body: { message: 'admission webhook "w" does not support dry run' } }
        : evictionAnswer(request);
    await scene.evict('a');
    await scene.leave();
    assert.deepEqual(asked(scene, false), ['a', 'b', 'c']);
  });

  it('no pod is asked for where a budget allows fewer disruptions than it covers pods', async () => {
    const scene = groupScene({ all: {} });
    scene.budgets.set('default/pdb', { ...PDB, status: { disruptionsAllowed: 2 } });
    const { refused = '' } = await scene.evict('a');
    assert.match(refused, /PodDisruptionBudget pdb allows 2 disruptions for 3 of them/);
    assert.deepEqual([asked(scene, true), asked(scene, false)], [[], []]);
  });

  it('another pod of a group looks again soon while the first one is being asked for', async () => {
    const scene = groupScene({ all: {} });
    const [, second] = await Promise.all([scene.evict('a'), scene.evict('b')]);
    assert.deepEqual([second.againMs, second.refused], [1_000, undefined]);
  });

  it('pods on other nodes stay where the drain is called off before they were asked for', async () => {
    const scene = groupScene({ all: {} });
    scene.annotate('c', { [EVICT_POLICY_ANNOTATION]: 'ControllerTakeOver' });
    await scene.evict('a');
    await scene.release('a');
    await scene.leave();
    assert.deepEqual(asked(scene, false), ['a']);
    assert.ok(scene.attempts.includes('canceled after 0 s'));
  });

  it('a group that may not be read is left alone', async () => {
    const scene = groupScene({ all: {} }, 403);
    await assert.rejects(scene.evict('a'), /refused GET .*podgroups\/train/);
    assert.deepEqual([asked(scene, true), asked(scene, false)], [[], []]);
  });
});

describe('the eviction of pods of a group that are independent of each other', () => {
  it('a pod of a group with the mode single, or of a group that does not exist, leaves alone', async () => {
    for (const scene of [groupScene({ single: {} }), groupScene({}, 404)]) {
      await scene.evict('a');
      assert.deepEqual([asked(scene, true), asked(scene, false)], [[], ['a']]);
    }
  });

  it('one that is blocked says so itself, and holds up no other', async () => {
    const scene = groupScene({ single: {} });
    scene.budgets.set('default/pdb', PDB);
    scene.evictionAnswer = ({ path }) => (path.includes('/pods/a/') ? BLOCKED : {});
    const [blocked, free] = await Promise.all([scene.evict('a'), scene.evict('b')]);
    assert.match(blocked.refused ?? '', /number of retries: 1. Blocked by PodDisruptionBudget pdb/);
    assert.equal(free.refused, undefined);
    assert.deepEqual(asked(scene, false), ['a', 'b']);
  });

  it('the pause after each refusal grows, and the API server may ask for a longer one', async () => {
    const scene = groupScene({ single: {} });
    scene.evictionAnswer = () => BLOCKED;
    const pauses: (number | undefined)[] = [];
    for (let attempt = 0; attempt < 4; attempt += 1) {
      const { againMs = 0 } = await scene.evict('a');
      pauses.push(againMs);
      scene.clock.pass(againMs);
    }
    assert.deepEqual(pauses, [2_000, 4_000, 8_000, 16_000]);
    scene.evictionAnswer = () => ({ status: 429, headers: { 'retry-after': '33' }, body: { message: 'slow down' } });
    assert.equal((await scene.evict('b')).againMs, 33_000);
  });

  it('a promised eviction is not asked for twice', async () => {
    const scene = groupScene({ single: {} });
    scene.annotate('a', { [EVICT_ONLY_ANNOTATION]: '' });
    scene.evictionAnswer = () => PROMISED;
    for (let second = 0; second < 60; second += 1) {
      assert.equal((await scene.evict('a')).refused, undefined);
      scene.clock.pass(1_000);
    }
    assert.deepEqual(asked(scene, false), ['a']);
    assert.deepEqual(scene.promised(), ['default/u-a']);
  });

  it('a pod whose controller takes over is marked and waited for, and the mark is taken back with the drain', async () => {
    const scene = groupScene({ single: {} });
    scene.annotate('a', { [EVICT_POLICY_ANNOTATION]: 'ControllerTakeOver' });
    await scene.evict('a');
    const marks = (): readonly unknown[] =>
      scene.sent.filter(({ method }) => method === 'PATCH').map(({ body }) => body);
    assert.match(JSON.stringify(marks()), /pod-evict-wanted/);
    assert.deepEqual(asked(scene, false), []);
    scene.annotate('a', { [EVICT_POLICY_ANNOTATION]: 'ControllerTakeOver', [EVICT_WANTED_ANNOTATION]: 'true' });
    await scene.release('a');
    assert.match(JSON.stringify(marks()[1]), /"annotations":\{\}/);
  });

  it('a pod whose controller takes over is evicted when that time is over', async () => {
    const scene = groupScene({ single: {} });
    scene.annotate('a', { [EVICT_POLICY_ANNOTATION]: 'ControllerTakeOver' });
    await scene.evict('a');
    scene.annotate('a', { [EVICT_POLICY_ANNOTATION]: 'ControllerTakeOver', [EVICT_WANTED_ANNOTATION]: 'true' });
    const { againMs } = await scene.evict('a');
    assert.equal(againMs, 60_000);
    scene.clock.pass(60_000);
    await scene.evict('a');
    assert.deepEqual(asked(scene, false), ['a']);
  });

  it('the steps of a group within ten seconds share one read of it, also where they are taken at once', async () => {
    const scene = groupScene({ single: {} });
    const reads = (): number => scene.sent.filter(({ path }) => path.includes('/podgroups/')).length;
    scene.evictionAnswer = () => BLOCKED;
    await Promise.all([scene.evict('a'), scene.evict('b')]);
    await scene.evict('c');
    assert.equal(reads(), 1);
    await scene.evict('d');
    assert.equal(reads(), 2, 'another group is read by itself');
    scene.clock.pass(10_000);
    await scene.evict('a');
    assert.equal(reads(), 3);
    await Promise.all(['a', 'b', 'c'].map((name) => scene.release(name)));
    await scene.evict('a');
    assert.equal(reads(), 4, 'a later drain reads it anew');
  });

  it('calls for other pods of the namespace that are under way count too', async () => {
    const others = createEvictionConcurrency(createSteppingClock());
    const answer = Promise.withResolvers<void>();
    const calls = Array.from({ length: 16 }, () => others.during('default', () => answer.promise));
    const scene = groupScene({ single: {} }, 200, others);
    assert.ok(((await scene.evict('a')).againMs ?? 0) > 0);
    assert.deepEqual(asked(scene, false), []);
    answer.resolve();
    await Promise.all(calls);
    await scene.evict('a');
    assert.deepEqual(asked(scene, false), ['a']);
  });

  it('no more calls are under way in a namespace than those of other pods may be', async () => {
    const scene = groupScene({ single: {} });
    const names = Array.from({ length: 200 }, (_, index) => `p${index}`);
    for (const name of names) scene.pods.set(`default/${name}`, groupPod(name, 'n'));
    const answer = Promise.withResolvers<object>();
    scene.evictionAnswer = () => answer.promise;
    const steps = Promise.all(names.map((name) => scene.evict(name)));
    await scene.evict('a');
    assert.equal(asked(scene, false).length, 16);
    answer.resolve({});
    await steps;
  });

  it('attempts, the beginning and the end are counted, and a blocked one is an Event', async () => {
    const scene = groupScene({ single: {} });
    scene.evictionAnswer = () => BLOCKED;
    const { againMs = 0 } = await scene.evict('a');
    assert.deepEqual(scene.events, ['EvictionBlocked']);
    scene.clock.pass(againMs);
    scene.evictionAnswer = () => ({});
    await scene.evict('a');
    scene.pods.delete('default/a');
    await scene.release('a');
    assert.deepEqual(scene.attempts, ['begun', 'blocked', 'accepted', 'evicted after 2 s']);
  });
});
