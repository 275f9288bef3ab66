import assert from 'node:assert/strict';
import { readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { StaticPods, type StaticPodIntent } from '../../../../src/agent/static-pods/static-pods.ts';
import { drainPodsOf, leaveByTargets } from '../../../../src/agent/static-pods/view.ts';
import { Mover } from '../../../../src/static-pods/mover.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { createQuickDisk } from '../../../support/disks/quick-disk.ts';
import { createQuickFolder } from '../../../support/disks/quick-folder.ts';
import { SimulatedNode } from '../../../support/stand-ins/simulated-node.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const LEAVE = { maintenance: 'm', reason: 'update' };

/** The static pods of a simulated node; `world` says what its kubelet does. */
async function open(t: TestContext, disk = createQuickDisk()) {
  const root = await createQuickFolder('static-pods');
  t.after(() => rm(root, { recursive: true }));
  const node = new SimulatedNode(root);
  await node.prepare();
  const mover = new Mover(node.paths, disk);
  await mover.recover();
  const world = {
    kubeletUp: true,
    kubeletStopped: false,
    refusal: undefined as string | undefined,
    authorities: ['a'],
  };
  const clock = createSteppingClock();
  const log = createRecordingLog();
  const pods = new StaticPods({
    store: () => ({
      paths: node.paths,
      disk,
      mover,
      check: () => Promise.resolve(world.refusal),
      refusal: () => world.refusal,
    }),
    nodeName: 'n',
    bootId: node.bootId,
    runtime: node.runtime,
    authorities: () => world.authorities,
    kubeletUp: () => Promise.resolve(world.kubeletUp),
    kubelet: { isStopped: () => Promise.resolve(world.kubeletStopped) },
    clock,
    log,
  });
  /** One iteration in which all pods leave, or none, and parked ones are kept while they leave. */
  const iteration = async (isLeaving: boolean, shutdown?: string) => {
    const view = await pods.observe(SIGNAL);
    const leave = isLeaving ? leaveByTargets(view, [{ podType: 'Static' } as never], LEAVE) : new Map();
    const intent: StaticPodIntent = { leave, targeted: new Set(), mirrors: undefined, keepParked: () => isLeaving };
    const decision = await pods.decide(view, { ...intent, shutdown }, SIGNAL);
    const isDone = await pods.act(view, decision, shutdown, SIGNAL);
    await node.sync();
    return { view, decision, isDone };
  };
  return { node, world, clock, log, pods, iteration };
}

describe('the static pods of a node', () => {
  it('copies that were parked in another cluster stay away, and nothing that has their names is touched', async (t) => {
    const { node, world, log, iteration } = await open(t);
    const files = (await readdir(node.paths.staticPodPath)).toSorted();
    const [first = ''] = files;
    await iteration(true);
    world.authorities = ['b'];
    await writeFile(path.join(node.paths.staticPodPath, first), 'kind: Pod\nmetadata: {name: new}\n');
    const { view } = await iteration(false);
    assert.deepEqual([view.parked, view.ofOthers?.toSorted()], [[], files]);
    assert.deepEqual(await readdir(node.paths.staticPodPath), [first]);
    assert.match(log.lines.join('\n'), /warn .*parked in another cluster/);
    await rm(path.join(node.paths.staticPodPath, first));
    world.authorities = ['b', 'a'];
    await node.sync();
    await iteration(false);
    assert.deepEqual(
      (await readdir(node.paths.staticPodPath)).toSorted(),
      files,
      'a certificate that is rotated is in both',
    );
  });

  it('static pods leave by the move of their manifests, and come back by it', async (t) => {
    const { node, iteration } = await open(t);
    assert.equal((await iteration(true)).isDone, true);
    assert.deepEqual([node.running, await readdir(node.paths.staticPodPath)], [[], []]);
    const { view } = await iteration(true);
    assert.deepEqual(
      view.parked.map(({ file, maintenance, thisBoot }) => [file, maintenance, thisBoot]),
      [
        ['a-low.yaml', 'm', true],
        ['b-high.yaml', 'm', true],
      ],
    );
    assert.deepEqual(drainPodsOf(view), []);
    await iteration(false);
    assert.deepEqual(node.running, ['a-low.yaml', 'b-high.yaml']);
  });

  it('a static pod directory that could not be read yet is not an empty one, for two minutes', async (t) => {
    const { node, clock, pods } = await open(t);
    const aside = `${node.paths.staticPodPath}-aside`;
    await rename(node.paths.staticPodPath, aside);
    // Too many links: an error of the disk that is no missing directory.
    await symlink(node.paths.staticPodPath, node.paths.staticPodPath);
    await assert.rejects(pods.observe(SIGNAL), /cannot list the static pod directory/);
    clock.pass(120_000);
    assert.deepEqual((await pods.observe(SIGNAL)).inPlace, [], 'it holds no machine for ever');
    await rm(node.paths.staticPodPath);
    await rename(aside, node.paths.staticPodPath);
    const names = async (): Promise<readonly string[]> => (await pods.observe(SIGNAL)).inPlace.map(({ file }) => file);
    assert.deepEqual(await names(), ['a-low.yaml', 'b-high.yaml']);
    await rename(node.paths.staticPodPath, aside);
    await symlink(node.paths.staticPodPath, node.paths.staticPodPath);
    assert.deepEqual(await names(), ['a-low.yaml', 'b-high.yaml'], 'the kubelet goes on with these too');
  });

  it('no manifest is moved while the kubelet does not answer, until the runtime has ended the pods', async (t) => {
    const { node, world, clock, log, iteration } = await open(t);
    world.kubeletUp = false;
    await iteration(true);
    await iteration(true);
    assert.deepEqual(node.ended, []);
    assert.equal(log.lines.filter((line) => line.includes('/healthz')).length, 1);
    clock.pass(30_000);
    const { decision } = await iteration(true);
    assert.deepEqual(
      decision.actions.map(({ kind }) => kind),
      ['stop', 'stop'],
    );
    assert.equal((await readdir(node.paths.staticPodPath)).length, 2);
  });

  it('no wait for the kubelet is made where the agent has stopped it', async (t) => {
    const { world, iteration } = await open(t);
    Object.assign(world, { kubeletUp: false, kubeletStopped: true });
    const { decision } = await iteration(true);
    assert.deepEqual(
      decision.actions.map(({ kind }) => kind),
      ['stop', 'stop'],
    );
  });

  it('a move that fails is logged once, is stuck after five seconds, and keeps no other manifest', async (t) => {
    let isBroken = true;
    const quick = createQuickDisk();
    const rename: typeof quick.rename = (from, to) =>
      isBroken && from.endsWith('a-low.yaml') ? Promise.reject(new Error('EROFS: read-only')) : quick.rename(from, to);
    const { node, clock, log, pods, iteration } = await open(t, { ...quick, rename });
    assert.equal((await iteration(true, 'm')).isDone, false);
    await iteration(true, 'm');
    assert.deepEqual(node.running, ['a-low.yaml']);
    assert.equal(log.lines.filter((line) => line.includes('static pod action failed')).length, 1);
    assert.deepEqual([...pods.stuck()], []);
    clock.pass(5_000);
    assert.deepEqual([...pods.stuck()], ['a-low.yaml']);
    isBroken = false;
    await iteration(true, 'm');
    assert.deepEqual([...pods.stuck()], []);
  });

  it('a kubelet is down since its first failure, and since a later one when nobody has asked for a while', async (t) => {
    const { clock, log, pods, world } = await open(t);
    world.kubeletUp = false;
    const since = clock.now();
    assert.deepEqual(await pods.kubelet(SIGNAL), { kind: 'down', since });
    clock.pass(9_000);
    assert.deepEqual(await pods.kubelet(SIGNAL), { kind: 'down', since });
    assert.equal(log.lines.length, 1);
    clock.pass(60_000);
    assert.deepEqual(await pods.kubelet(SIGNAL), { kind: 'down', since: since + 69_000 });
    world.kubeletUp = true;
    assert.deepEqual(await pods.kubelet(SIGNAL), { kind: 'up' });
    world.kubeletStopped = true;
    assert.deepEqual(await pods.kubelet(SIGNAL), { kind: 'stopped' });
  });

  it('no manifest is read where the directories are refused', async (t) => {
    const { world, pods } = await open(t);
    world.refusal = 'not trusted';
    const view = await pods.observe(SIGNAL);
    assert.deepEqual([view.inPlace, view.parked, view.refusal], [[], [], 'not trusted']);
  });
});
