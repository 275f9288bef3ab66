import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { KnownPods } from '../../../../../src/agent/drain/offline/known-pods.ts';
import type { Pod } from '../../../../../src/api/pod.ts';
import type { KubeClient } from '../../../../../src/kube/client.ts';
import { openTestState } from '../../../../support/agent/state.ts';
import { temporaryFolder } from '../../../../support/folder.ts';
import { SILENT_LOG } from '../../../../support/silent-log.ts';
import { createSteppingClock, type SteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = AbortSignal.timeout(30_000);

function pod(uid: string, priority: number): Pod {
  return { metadata: { name: uid, namespace: 'default', uid }, spec: { nodeName: 'n1', priority } };
}

interface Scene {
  readonly known: KnownPods;
  /** What an agent knows that is started now. */
  readonly restart: () => KnownPods;
  readonly clock: SteppingClock;
  /** Who was asked, in order. */
  readonly asked: string[];
  api: readonly Pod[] | undefined;
  /** Undefined where it has no such API, an error where it does not answer. */
  kubelet: readonly Pod[] | Error | undefined;
}

/** A node whose API server and kubelet tell of these pods, or do not answer. */
async function open(t: TestContext): Promise<Scene> {
  const state = await openTestState(await temporaryFolder(t, 'known-pods'));
  const clock = createSteppingClock();
  const asked: string[] = [];
  const client = {
    send: () => {
      asked.push('api');
      if (scene.api === undefined) return Promise.reject(new Error('no answer'));
      return Promise.resolve({
        status: 200,
        headers: {},
        body: { metadata: { resourceVersion: '1' }, items: scene.api },
      });
    },
  } as unknown as KubeClient;
  const kubeletPods = (): Promise<readonly Pod[] | undefined> => {
    asked.push('kubelet');
    return scene.kubelet instanceof Error ? Promise.reject(scene.kubelet) : Promise.resolve(scene.kubelet);
  };
  const restart = () => new KnownPods({ state, nodeName: 'n1', client, kubeletPods, clock, log: SILENT_LOG });
  const scene: Scene = { known: restart(), restart, clock, asked, api: undefined, kubelet: undefined };
  return scene;
}

async function priorities(
  { known }: Pick<Scene, 'known'>,
  ...uids: readonly string[]
): Promise<readonly (number | undefined)[]> {
  const { pods: found } = await known.read(uids, SIGNAL);
  return uids.map((uid) => found.get(uid)?.priority);
}

describe('what is known of the pods of the node', () => {
  it('the kubelet is asked for a pod that the record does not have, and what it tells is kept', async (t) => {
    const scene = await open(t);
    scene.api = [pod('old', 5)];
    await scene.known.refresh('up', SIGNAL);
    scene.api = undefined;
    scene.kubelet = [pod('old', 5), pod('young', 2_000_000_000)];
    assert.deepEqual(await priorities(scene, 'old', 'young'), [5, 2_000_000_000]);
    scene.kubelet = undefined;
    assert.deepEqual(
      await priorities(scene, 'old', 'young'),
      [5, 2_000_000_000],
      'the kubelet is stopped for the drain',
    );
    assert.deepEqual(scene.asked, ['api', 'kubelet']);
  });

  it('a reading writes nothing; what the kubelet told is written when it is to be kept, for an agent that is started after', async (t) => {
    const scene = await open(t);
    scene.api = [pod('old', 5)];
    await scene.known.refresh('up', SIGNAL);
    scene.kubelet = [pod('young', 7)];
    assert.deepEqual(await priorities(scene, 'old', 'young'), [5, 7]);
    scene.kubelet = undefined;
    assert.deepEqual(await priorities({ known: scene.restart() }, 'old', 'young'), [5, undefined]);
    await scene.known.save();
    assert.deepEqual(await priorities({ known: scene.restart() }, 'old', 'young'), [5, 7]);
  });

  it('the kubelet is not asked where the record has all pods, and once a minute where it does not tell', async (t) => {
    const scene = await open(t);
    scene.api = [pod('old', 5)];
    await scene.known.refresh('up', SIGNAL);
    await priorities(scene, 'old');
    assert.deepEqual(scene.asked, ['api']);
    for (let pass = 0; pass < 3; pass += 1) assert.deepEqual(await priorities(scene, 'young'), [undefined]);
    assert.deepEqual(scene.asked, ['api', 'kubelet']);
    scene.clock.pass(60_000);
    await priorities(scene, 'young');
    assert.deepEqual(scene.asked, ['api', 'kubelet', 'kubelet']);
  });

  it('the API server is asked once more when the node goes down, and not again until it is up', async (t) => {
    const scene = await open(t);
    scene.api = [pod('old', 5)];
    await scene.known.refresh('up', SIGNAL);
    await scene.known.refresh('up', SIGNAL);
    scene.api = [pod('old', 5), pod('young', 9)];
    for (let pass = 0; pass < 3; pass += 1) await scene.known.refresh('goingDown', SIGNAL);
    assert.deepEqual(scene.asked, ['api', 'api']);
    assert.deepEqual(await priorities(scene, 'old', 'young'), [5, 9]);
  });

  it('a kubelet that does not answer is waited for, for ten seconds', async (t) => {
    const scene = await open(t);
    scene.kubelet = new Error('connection refused');
    const awaited = async (): Promise<string | undefined> => (await scene.known.read(['young'], SIGNAL)).awaited;
    assert.match((await awaited()) ?? '', /the kubelet does not tell of pods that are new: connection refused/);
    scene.clock.pass(9_999);
    assert.notEqual(await awaited(), undefined);
    scene.clock.pass(1);
    assert.equal(await awaited(), undefined, 'the wait is over');
    scene.kubelet = [pod('young', 7)];
    assert.deepEqual(await priorities(scene, 'young'), [undefined], 'and it is asked again a minute later');
    scene.clock.pass(60_000);
    assert.deepEqual(await priorities(scene, 'young'), [7]);
  });

  it('an API server that does not answer when the node goes down is asked again until it has', async (t) => {
    const scene = await open(t);
    scene.api = [pod('old', 5)];
    await scene.known.refresh('up', SIGNAL);
    scene.api = undefined;
    for (let pass = 0; pass < 3; pass += 1) await scene.known.refresh('goingDown', SIGNAL);
    assert.equal(scene.asked.length, 2, 'not in each iteration');
    scene.api = [pod('old', 5), pod('young', 9)];
    scene.clock.pass(15_000);
    await scene.known.refresh('goingDown', SIGNAL);
    assert.deepEqual(await priorities(scene, 'old', 'young'), [5, 9]);
  });

  it('an answer of the API server that is no list takes nothing away', async (t) => {
    const scene = await open(t);
    scene.api = [pod('old', 5)];
    await scene.known.refresh('up', SIGNAL);
    scene.api = 'an empty body' as never;
    await scene.known.refresh('goingDown', SIGNAL);
    assert.deepEqual(await priorities(scene, 'old'), [5]);
  });
});
