import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { CORDONED_ANNOTATION, MARKED_ANNOTATION } from '../../../src/api/names.ts';
import type { Node } from '../../../src/api/pod.ts';
import { MARK_NAMES, MARKS } from '../../../src/decide/node-mark/marks.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { buildEvictionRig, type EvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { waitFor } from '../../support/wait-for.ts';

const LABEL = MARKS['load-balancers'].key;
const SCALE_DOWN = MARKS['cluster-autoscaler'].key;
const KARPENTER = MARKS.karpenter.key;

/** What a person and other programs see of the node. */
interface Seen {
  readonly label: string | undefined;
  readonly scaleDown: string | undefined;
  readonly karpenter: string | undefined;
  readonly cordoned: boolean;
}

const FREE: Seen = { label: undefined, scaleDown: undefined, karpenter: undefined, cordoned: false };
const HELD: Seen = { label: 'nodemaint', scaleDown: 'true', karpenter: 'true', cordoned: true };

describe('the marks of a node for other programs, under the policies of the controller, with the real kubectl', () => {
  let rig: EvictionRig;
  const stack = new AsyncDisposableStack();
  before(async () => {
    rig = stack.use(await buildEvictionRig());
    const controller = await rig.startController({ nodeMarks: MARK_NAMES });
    stack.defer(async () => {
      await controller.stop();
    });
  });
  after(async () => {
    await stack.disposeAsync();
  });

  const kubectl = (...args: readonly string[]): Promise<string> => rig.controlPlane.kubectl(args);
  const see = async (): Promise<Seen> => {
    const { metadata, spec } = JSON.parse(await kubectl('get', 'node', NODE, '-o', 'json')) as Node;
    const { labels, annotations } = metadata;
    return {
      label: labels?.[LABEL],
      scaleDown: annotations?.[SCALE_DOWN],
      karpenter: annotations?.[KARPENTER],
      cordoned: spec?.unschedulable === true,
    };
  };
  const untilSeen = async (expected: Seen): Promise<void> => {
    let seen: Seen | undefined;
    const isSo = async (): Promise<boolean> => {
      seen = await see();
      return JSON.stringify(seen) === JSON.stringify(expected);
    };
    await waitFor('the node', isSo, { timeoutMs: 10_000 }).catch(() => {
      assert.deepEqual(seen, expected);
    });
  };
  const begin = async (name: string): Promise<void> => {
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(drainOf(name, [NODE])));
  };
  const complete = async (name: string): Promise<void> => {
    await kubectl('patch', 'nodemaintenance', name, '--type=merge', '-p', '{"spec":{"stage":"Complete"}}');
  };

  it('a drain has the marks before its first pod leaves, and gives them back', async () => {
    const pod = await rig.createPod('web');
    await begin('own');
    const isTold = async (): Promise<boolean> => (await rig.getPod('web'))?.metadata.deletionTimestamp !== undefined;
    await waitFor('the eviction', isTold, { timeoutMs: 15_000 });
    assert.deepEqual(await see(), HELD);
    await rig.endPod(pod.metadata.name);
    await complete('own');
    await untilSeen(FREE);
    const node = JSON.parse(await kubectl('get', 'node', NODE, '-o', 'json')) as Node;
    assert.equal(node.metadata.annotations?.[MARKED_ANNOTATION], undefined);
  });

  it('what others have set before stays theirs', async () => {
    await kubectl('label', 'node', NODE, `${LABEL}=`);
    await kubectl('annotate', 'node', NODE, `${SCALE_DOWN}=true`, `${KARPENTER}=true`);
    await kubectl('cordon', NODE);
    await begin('theirs');
    const theirs = { label: '', scaleDown: 'true', karpenter: 'true', cordoned: true };
    await waitFor('the drain', async () =>
      (await kubectl('get', 'nm', 'theirs', '-o', 'json')).includes('DrainCompleted'),
    );
    assert.deepEqual(await see(), theirs);
    await complete('theirs');
    await waitFor('the end', async () => !(await kubectl('get', 'nm', 'theirs', '-o', 'json')).includes('finalizers'));
    assert.deepEqual(await see(), theirs);
    await kubectl('label', 'node', NODE, `${LABEL}-`);
    await kubectl('annotate', 'node', NODE, `${SCALE_DOWN}-`, `${KARPENTER}-`);
    await kubectl('uncordon', NODE);
    assert.deepEqual(await see(), FREE);
  });

  it('kubectl drain and uncordon in the middle change nothing that is ours', async () => {
    await begin('middle');
    await untilSeen(HELD);
    await kubectl('drain', NODE, '--ignore-daemonsets', '--timeout=20s');
    assert.deepEqual(await see(), HELD);
    await kubectl('uncordon', NODE);
    await untilSeen(HELD);
    await complete('middle');
    await untilSeen(FREE);
  });

  it('the cordon of kubectl before a maintenance stays afterwards', async () => {
    await kubectl('cordon', NODE);
    await begin('after');
    await untilSeen(HELD);
    await complete('after');
    await untilSeen({ ...FREE, cordoned: true });
    await kubectl('uncordon', NODE);
  });

  it('kubectl cordon, drain and uncordon after a maintenance that is complete are the business of kubectl alone', async () => {
    await begin('done');
    await untilSeen(HELD);
    await complete('done');
    await untilSeen(FREE);
    const isComplete = async (): Promise<boolean> =>
      !(await kubectl('get', 'nm', 'done', '-o', 'json')).includes('finalizers');
    await waitFor('the end', isComplete);
    const pod = await rig.createPod('later');
    await kubectl('cordon', NODE);
    const drain = kubectl('drain', NODE, '--ignore-daemonsets', '--force', '--timeout=300s');
    const isTold = async (): Promise<boolean> => (await rig.getPod('later'))?.metadata.deletionTimestamp !== undefined;
    await waitFor('the eviction by kubectl', isTold, { timeoutMs: 15_000 });
    await rig.endPod(pod.metadata.name);
    await drain;
    assert.equal(await kubectl('get', 'evreq', '-o', 'name'), '', 'no request was made for it');
    // Longer than the controller needs to look at a node that has changed.
    await delay(3_000);
    assert.deepEqual(await see(), { ...FREE, cordoned: true });
    const node = JSON.parse(await kubectl('get', 'node', NODE, '-o', 'json')) as Node;
    assert.equal(node.metadata.annotations?.[CORDONED_ANNOTATION], undefined, 'the cordon is not taken over');
    await kubectl('uncordon', NODE);
    await delay(3_000);
    assert.deepEqual(await see(), FREE, 'and does not come back');
    await begin('again');
    await untilSeen(HELD);
    await complete('again');
    await untilSeen(FREE);
  });
});
