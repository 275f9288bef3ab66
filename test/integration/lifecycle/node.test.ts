import assert from 'node:assert/strict';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { Eviction } from '../../../src/api/lifecycle.ts';
import { runNodemaint, startNodemaint } from '../../support/commands/nodemaint.ts';
import {
  assertOrder,
  assertRestored,
  buildDrainNode,
  type DrainNode,
  manifestsOf,
  NODE,
  phaseIs,
  reboot,
  startAgent,
} from '../../support/rigs/drain-node.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { type AuditLog, createAuditLog } from '../../support/rigs/lifecycle-audit.ts';
import { installControllers, installLifecycle, LIFECYCLE_FLAGS } from '../../support/rigs/lifecycle.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

/** A node, and what its API server says of the writes of the product. */
interface Scene {
  readonly rig: DrainNode;
  readonly audit: AuditLog;
}

async function build(stack: AsyncDisposableStack, stopSec: number): Promise<Scene> {
  const folder = await makeTestFolder('lifecycle-node');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const audit = await createAuditLog(folder);
  let lifecycleKubeconfig = '';
  const rig = await buildDrainNode(stack, {
    stopSec,
    controlPlane: { apiServerFlags: [...LIFECYCLE_FLAGS, ...audit.flags] },
    prepare: async (controlPlane) => {
      await installLifecycle(controlPlane);
      lifecycleKubeconfig = await installControllers(controlPlane);
    },
    controllerFlags: ['--lifecycle-api', 'on'],
  });
  const flags = ['lifecycle', '--kubeconfig', lifecycleKubeconfig];
  stack.use(startNodemaint(flags, path.join(folder, 'lifecycle.log')));
  return { rig, audit };
}

/**
 * The API server has refused no write, neither of the controller nor of the agent. One that has been started again does not
 * know for a moment who has which rights.
 */
async function assertNoneRefused({ audit }: Scene, server: 'same' | 'restarted'): Promise<void> {
  const { count, refused } = await audit.writes();
  const meant = refused.filter(({ lacksRight }) => server === 'same' || !lacksRight);
  assert.deepEqual(meant, []);
  assert.ok(count > 10, `only ${count} writes were seen`);
}

async function trigger(rig: DrainNode): Promise<void> {
  const { code } = await runNodemaint(['trigger', '--reason', 'kernel update', '--run-directory', rig.runDirectory]);
  assert.equal(code, 0);
}

async function untilSeen(rig: DrainNode, line: string): Promise<void> {
  const isSeen = async (): Promise<boolean> => (await readFile(path.join(rig.witness, 'log'), 'utf8')).includes(line);
  await waitFor(`${line} is seen`, isSeen, SLOW);
}

/** Who evicted each pod, as the Evictions tell. */
async function evictionsOf({ controlPlane }: DrainNode): Promise<readonly string[]> {
  const { items } = JSON.parse(await controlPlane.kubectl(['get', 'evictions', '-A', '-o', 'json'])) as {
    items: Eviction[];
  };
  const told = items.map(({ spec, status }) => {
    const name = spec.target.pod?.name.replace(/^(web|logger)-.*/, '$1');
    // A turn is interrupted where the pod was gone for 5 s before the responder had said so.
    const turns = status?.targetResponders
      ?.map((each) => `${each.name} ${each.state.replace('Interrupted', 'Completed')}`)
      .join(', ');
    const isEvicted = status?.conditions?.some(({ type, status: is }) => type === 'TargetEvicted' && is === 'True');
    return `${name}: ${turns}${isEvicted === true ? '' : ' (not evicted)'}`;
  });
  return told.toSorted();
}

/** Each pod left by an Eviction, by the responder that ends pods of its type, and nobody asked in the other dialect. */
async function assertByLifecycle(rig: DrainNode): Promise<void> {
  // The machine may go down when the pods are gone; the controller sees that some seconds later.
  const isOver = async (): Promise<boolean> => (await evictionsOf(rig)).every((each) => !each.includes('not evicted'));
  await waitFor('all Evictions are over', isOver, SLOW).catch(() => undefined);
  assert.deepEqual(await evictionsOf(rig), [
    `high-${NODE}: ${NODE}.static.nodemaintenance.x-k8s.io/kubelet Completed`,
    'logger: daemonset.nodemaintenance.x-k8s.io/controller Completed',
    `low-${NODE}: ${NODE}.static.nodemaintenance.x-k8s.io/kubelet Completed`,
    'web: imperative-eviction.k8s.io/evictor Completed',
  ]);
  assert.equal(
    await rig.controlPlane.kubectl(['get', 'evictionrequests.coordination.x-k8s.io', '-A', '-o', 'name']),
    '',
  );
}

describe('a node whose pods leave by lifecycle.k8s.io alone, on a real kubelet', () => {
  it('the node drains in order, also when the agent is killed, and gets everything back', async () => {
    await using stack = new AsyncDisposableStack();
    const scene = await build(stack, 3);
    const { rig } = scene;
    const before = await manifestsOf(rig.node);
    let agent = await startAgent(stack, rig);
    await trigger(rig);
    for (const line of ['web TERM', 'low TERM']) {
      await untilSeen(rig, line);
      agent.kill('SIGKILL');
      await waitFor('the agent is dead', () => agent.exited(), SLOW);
      agent = await startAgent(stack, rig);
    }
    await waitFor('the agent releases the machine', () => phaseIs(rig, 'released'), { ...SLOW, program: agent });
    await assertOrder(rig);
    await assertByLifecycle(rig);
    await reboot(rig, agent);
    await startAgent(stack, rig);
    await assertRestored(rig, before);
    const isClean = async (): Promise<boolean> =>
      (await rig.controlPlane.kubectl(['get', 'evictionrequests.lifecycle.k8s.io', '-A', '-o', 'name'])) === '';
    await waitFor('the requests are given back', isClean, SLOW);
    await assertNoneRefused(scene, 'same');
  });

  it('the node drains in order when the controller is killed, and then the API server goes away, in mid-drain', async () => {
    await using stack = new AsyncDisposableStack();
    const scene = await build(stack, 3);
    const { rig } = scene;
    const agent = await startAgent(stack, rig);
    await trigger(rig);
    await untilSeen(rig, 'web TERM');
    rig.controller.kill('SIGKILL');
    await waitFor('the controller is dead', () => rig.controller.exited(), SLOW);
    // Until the Lease of the dead one is over, the agent drains by itself.
    rig.controller = rig.startController();
    await untilSeen(rig, 'low TERM');
    await rig.controlPlane.stopApiServer();
    await untilSeen(rig, 'low END');
    await rig.controlPlane.startApiServer();
    await waitFor('the agent releases the machine', () => phaseIs(rig, 'released'), { ...SLOW, program: agent });
    await assertOrder(rig);
    assert.deepEqual(await manifestsOf(rig.node), {});
    await assertNoneRefused(scene, 'restarted');
  });
});
