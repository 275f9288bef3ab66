import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { COMPLETION_FINALIZER } from '../../../../src/api/names.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { changeMaintenance } from '../../../support/maintenance/change.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { createMemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';
import { waitFor } from '../../../support/wait-for.ts';

const QUICK = { timeoutMs: 4_000 };

describe('the finalizers of a maintenance', () => {
  it('the finalizer of somebody else that comes between survives both changes of ours', async () => {
    const cluster = createMemoryCluster();
    cluster.put('Node', { metadata: { name: 'one' } });
    const theirs = 'gitops.example.com/keep';
    const addTheirs = (): void => {
      const known = cluster.get('Maintenance', 'm');
      const finalizers = [...(known?.metadata.finalizers ?? []).filter((name) => name !== theirs), theirs];
      changeMaintenance(cluster, 'm', {}, { finalizers });
    };
    const finalizers = (): readonly string[] => cluster.get('Maintenance', 'm')?.metadata.finalizers ?? [];
    /** Somebody writes right before our change of the finalizers reaches the server. */
    const interfere = (): void => {
      cluster.answer = ({ path, body }) => {
        const metadata = (body as { metadata?: { finalizers?: unknown } } | undefined)?.metadata;
        if (!path.endsWith('/nodemaintenances/m') || metadata?.finalizers === undefined) return undefined;
        cluster.answer = () => undefined;
        addTheirs();
        return undefined;
      };
    };
    interfere();
    cluster.put('Maintenance', drainOf('m', ['one']));
    await using _ = cluster.lead();
    await waitFor('ours', () => finalizers().includes(COMPLETION_FINALIZER), QUICK);
    assert.ok(finalizers().includes(theirs));
    changeMaintenance(cluster, 'm', {}, { finalizers: [COMPLETION_FINALIZER] });
    interfere();
    changeMaintenance(cluster, 'm', { stage: 'Complete' });
    await waitFor('the completion', () => !finalizers().includes(COMPLETION_FINALIZER), QUICK);
    assert.deepEqual(finalizers(), [theirs]);
  });
});

describe('a maintenance that is finished', () => {
  it('one that nodemaint named is deleted a week after its completion, and no other one', async () => {
    const cluster = createMemoryCluster();
    const finished = (name: string, days: number, metadata: object = {}): void => {
      const startTimestamp = rfc3339(Date.now() - days * 86_400_000 - 1_000);
      const status = { stageStatuses: [{ name: 'Complete', startTimestamp }] } as const;
      const { metadata: own, ...rest } = drainOf(name, ['one'], { stage: 'Complete' });
      const object: NodeMaintenance = { ...rest, metadata: { ...own, ...metadata }, status };
      cluster.put('Maintenance', object);
    };
    finished('maintenance-one-2', 6);
    finished('maintenance-one-3', 7, { finalizers: ['gitops.example.com/keep'] });
    finished('disk-swap', 7);
    cluster.put('Maintenance', drainOf('maintenance-one-4', ['one']));
    finished('maintenance-one', 7);
    await using _ = cluster.lead();
    await waitFor('it is gone', () => cluster.get('Maintenance', 'maintenance-one') === undefined, QUICK);
    for (const name of ['maintenance-one-2', 'maintenance-one-3', 'disk-swap', 'maintenance-one-4'])
      assert.ok(cluster.get('Maintenance', name) !== undefined, name);
  });
});

describe('the targets of a drain', () => {
  it('no pod is asked to leave by targets that the status does not have', async () => {
    const cluster = createMemoryCluster();
    cluster.put('Node', { metadata: { name: 'one' } });
    const pod = { metadata: { name: 'web', namespace: 'n', uid: 'u-web' }, spec: { nodeName: 'one', priority: 0 } };
    cluster.put('Pod', pod);
    let conflicts = 0;
    cluster.answer = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodemaintenances/m/status')) return undefined;
      conflicts += 1;
      changeMaintenance(cluster, 'm', {}, { annotations: { touched: `${conflicts}` } });
      return { status: 409, message: 'the object has been modified' };
    };
    await using _ = cluster.lead();
    cluster.put('Maintenance', drainOf('m', ['one']));
    await waitFor('some conflicts', () => conflicts > 3, QUICK);
    // Long enough for the request, which is one write of the same loops.
    await delay(500);
    assert.equal(cluster.get('Request', 'n/u-web'), undefined);
    cluster.answer = () => undefined;
    await waitFor('the request', () => cluster.get('Request', 'n/u-web') !== undefined, QUICK);
  });
});
