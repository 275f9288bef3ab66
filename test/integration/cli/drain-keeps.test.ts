import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node } from '../../../src/api/pod.ts';
import { type CommandEnd, type CommandRun, runCommand, startCommand } from '../../support/commands/command.ts';
import { buildEvictionRig, type EvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('the consent of a person to a drain, on a real API server with the real controller', () => {
  let rig: EvictionRig;

  const run = (...args: string[]): Promise<CommandEnd> =>
    runCommand([...args, '--kubeconfig', rig.controlPlane.adminKubeconfig]);
  const start = (...args: string[]): CommandRun =>
    startCommand([...args, '--kubeconfig', rig.controlPlane.adminKubeconfig]);
  const get = async <T>(...what: string[]): Promise<T> =>
    JSON.parse(await rig.controlPlane.kubectl(['get', ...what, '-o', 'json'])) as T;
  const maintenances = async (): Promise<readonly NodeMaintenance[]> =>
    (await get<{ items: NodeMaintenance[] }>('nm')).items;

  before(async () => {
    rig = await buildEvictionRig();
    await rig.startController();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  it('a drain leaves alone what it is told to, refuses what would be lost, and says at its end what stays', async () => {
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logger', uid: 'logger', controller: true };
    await rig.createPod('logger');
    const owned = JSON.stringify({ metadata: { ownerReferences: [owner] } });
    await rig.controlPlane.kubectl(['patch', 'pod', 'logger', '-p', owned]);
    await rig.createPod('naked');
    const refused = await run('drain', NODE, '--keep', 'daemonsets', '--timeout', '5s');
    assert.deepEqual([refused.code, refused.stdout], [1, '']);
    assert.match(
      refused.stderr,
      /would create them again: default\/naked; use --delete-unmanaged, .*; nothing was done/,
    );
    assert.deepEqual(await maintenances(), []);
    await run('cordon', NODE);
    await using drain = start('drain', NODE, '--keep', 'daemonsets,unmanaged', '--timeout', '60s');
    await drain.line(/^node\/node-z drained, 2 pods kept: default\/logger, default\/naked$/);
    assert.equal((await drain.end()).code, 0);
    const [maintenance] = await maintenances();
    assert.deepEqual(maintenance?.spec.keepPods, ['DaemonSet', 'Unmanaged', 'EmptyDir']);
    const condition = maintenance.status?.conditions?.find(({ type }) => type === 'Drained');
    assert.match(condition?.message ?? '', /What stays: kept by the maintenance.*: default\/logger, default\/naked\.$/);
    await waitFor('the node says that it is drained', async () => {
      const { status } = await get<Node>('node', NODE);
      return status?.conditions?.some((each) => each.type === 'Drained' && each.status === 'True') === true;
    });
    assert.ok((await rig.getPod('naked')) !== undefined && (await rig.getPod('logger')) !== undefined);
    const other = await run('drain', NODE, '--delete-unmanaged', '--timeout', '5s');
    assert.match(other.stderr, /drains already and keeps other pods \(keepPods: DaemonSet, Unmanaged, EmptyDir\)/);
    const later = ['patch', 'nm', 'maintenance-node-z', '--type=merge', '-p', '{"spec":{"keepPods":[]}}'];
    await assert.rejects(rig.controlPlane.kubectl(later), /keepPods is immutable from the stage Drain on/);
    assert.equal((await run('complete', NODE, '--delete')).code, 0);
    for (const name of ['naked', 'logger']) await rig.endPod(name);
  });
});
