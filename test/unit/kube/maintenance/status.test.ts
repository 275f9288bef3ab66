import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DrainPlanEntry, NodeMaintenance, NodeMaintenanceStatus } from '../../../../src/api/node-maintenance.ts';
import { createMaintenanceStatusWriter } from '../../../../src/kube/maintenance/status.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const PATCH = 'PATCH /apis/nodemaintenance.x-k8s.io/v1alpha1/nodemaintenances/m/status';

function statusOf(position: number, podsEvacuating: number): NodeMaintenanceStatus {
  return { drainPlanPosition: position, nodeStatuses: [{ nodeRef: { name: 'n1' }, podsEvacuating }] };
}

function maintenanceOf(status?: NodeMaintenanceStatus): NodeMaintenance {
  return {
    metadata: { name: 'm', resourceVersion: '7' },
    spec: { nodeSelector: { nodeSelectorTerms: [] } },
    ...(status === undefined ? {} : { status }),
  };
}

describe('the writer of the status of a maintenance', () => {
  it('the writer writes with the version that was decided on, and nothing where nothing differs', async () => {
    const { client, asked, requests } = createObjectServer();
    const writer = createMaintenanceStatusWriter(client, createSteppingClock(), 5_000);
    assert.equal((await writer.write(maintenanceOf(), statusOf(1, 3), SIGNAL)).kind, 'recorded');
    assert.deepEqual(requests[0]?.body, { metadata: { resourceVersion: '7' }, status: statusOf(1, 3) });
    assert.equal((await writer.write(maintenanceOf(statusOf(1, 3)), statusOf(1, 3), SIGNAL)).kind, 'recorded');
    assert.deepEqual(asked, [PATCH]);
  });

  it('the writer puts counts off for longer where many drains are under way', async () => {
    for (const [drains, againMs] of [
      [5, 5_000],
      [20, 20_000],
      [10_000, 600_000],
    ] as const) {
      const { client } = createObjectServer();
      const writer = createMaintenanceStatusWriter(client, createSteppingClock(), 5_000, () => drains);
      await writer.write(maintenanceOf(), statusOf(1, 3), SIGNAL);
      const count = await writer.write(maintenanceOf(statusOf(1, 3)), statusOf(1, 2), SIGNAL);
      assert.deepEqual(count, { kind: 'postponed', againMs });
    }
  });

  it('the writer does not put a pod that begins to block off for longer where many drains are under way', async () => {
    const { client } = createObjectServer();
    const writer = createMaintenanceStatusWriter(client, createSteppingClock(), 5_000, () => 100);
    await writer.write(maintenanceOf(), statusOf(1, 3), SIGNAL);
    const pod = {
      namespace: 'n',
      name: 'p',
      reason: 'PodDisruptionBudget',
      message: '',
      since: '2026-01-01T00:00:00Z',
    };
    const blocked = { ...statusOf(1, 3), nodeStatuses: [{ nodeRef: { name: 'n1' }, podsBlocking: [pod] }] };
    const answer = await writer.write(maintenanceOf(statusOf(1, 3)), blocked as NodeMaintenanceStatus, SIGNAL);
    assert.deepEqual(answer, { kind: 'postponed', againMs: 5_000 });
  });

  it('the writer puts off a count that follows another write too soon, but no target', async () => {
    const { client, asked } = createObjectServer();
    const clock = createSteppingClock();
    const writer = createMaintenanceStatusWriter(client, clock, 5_000);
    await writer.write(maintenanceOf(), statusOf(1, 3), SIGNAL);
    clock.pass(1_000);
    const count = await writer.write(maintenanceOf(statusOf(1, 3)), statusOf(1, 2), SIGNAL);
    assert.deepEqual(count, { kind: 'postponed', againMs: 4_000 });
    const target = await writer.write(maintenanceOf(statusOf(1, 3)), statusOf(2, 2), SIGNAL);
    assert.equal(target.kind, 'recorded');
    clock.pass(5_000);
    const later = await writer.write(maintenanceOf(statusOf(2, 2)), statusOf(2, 1), SIGNAL);
    assert.equal(later.kind, 'recorded');
    assert.equal(asked.length, 3);
  });

  it('the writer puts off for three minutes what only repeats itself in other words', async () => {
    const { client, asked } = createObjectServer();
    const clock = createSteppingClock();
    const writer = createMaintenanceStatusWriter(client, clock, 5_000);
    const retried = (times: number, reason = 'PodDisruptionBudget'): NodeMaintenanceStatus => {
      const pod = { namespace: 'n', name: 'p', reason, message: `retries: ${times}`, since: '2026-01-01T00:00:00Z' };
      return { nodeStatuses: [{ nodeRef: { name: 'n1' }, podsBlocking: [pod] }] } as NodeMaintenanceStatus;
    };
    await writer.write(maintenanceOf(), retried(1), SIGNAL);
    clock.pass(60_000);
    const early = await writer.write(maintenanceOf(retried(1)), retried(2), SIGNAL);
    assert.deepEqual(early, { kind: 'postponed', againMs: 120_000 });
    const other = await writer.write(maintenanceOf(retried(1)), retried(2, 'Finalizer'), SIGNAL);
    assert.equal(other.kind, 'recorded', 'another reason is written');
    clock.pass(180_000);
    const later = await writer.write(maintenanceOf(retried(2, 'Finalizer')), retried(3, 'Finalizer'), SIGNAL);
    assert.equal(later.kind, 'recorded');
    assert.equal(asked.length, 3);
  });

  it('the writer puts off a count also where the API server orders the fields otherwise', async () => {
    const { client } = createObjectServer();
    const writer = createMaintenanceStatusWriter(client, createSteppingClock(), 5_000);
    const statusWith = (podsEvacuating: number, target: DrainPlanEntry): NodeMaintenanceStatus => ({
      drainPlanPosition: 1,
      nodeStatuses: [{ nodeRef: { name: 'n1' }, drainTargets: [target], podsEvacuating }],
    });
    const stored = statusWith(3, { podPriority: 5, podType: 'Default' });
    await writer.write(maintenanceOf(), stored, SIGNAL);
    const count = await writer.write(
      maintenanceOf(stored),
      statusWith(2, { podType: 'Default', podPriority: 5 }),
      SIGNAL,
    );
    assert.deepEqual(count, { kind: 'postponed', againMs: 5_000 });
  });

  it('the writer puts off the counts of many nodes for longer', async () => {
    const { client } = createObjectServer();
    const writer = createMaintenanceStatusWriter(client, createSteppingClock(), 1_000);
    const manyNodes = (podsEvacuating: number): NodeMaintenanceStatus => ({
      nodeStatuses: Array.from({ length: 1_000 }, (_, at) => ({ nodeRef: { name: `n${at}` }, podsEvacuating })),
    });
    await writer.write(maintenanceOf(), manyNodes(3), SIGNAL);
    const count = await writer.write(maintenanceOf(manyNodes(3)), manyNodes(2), SIGNAL);
    assert.deepEqual(count, { kind: 'postponed', againMs: 5_000 });
  });

  it('the writer leaves details out of a status that would be too large, and says what it has written', async () => {
    const { client, requests } = createObjectServer();
    const writer = createMaintenanceStatusWriter(client, createSteppingClock(), 1_000);
    const whole: NodeMaintenanceStatus = {
      nodeStatuses: Array.from({ length: 5_000 }, (_, at) => ({
        nodeRef: { name: `n${at}` },
        drainPlanPosition: 1,
        drainMessage: 'm'.repeat(1_000),
      })),
    };
    const outcome = await writer.write(maintenanceOf(), whole, SIGNAL);
    assert.ok(JSON.stringify(requests[0]?.body).length < 1_000_000);
    assert.ok(outcome.kind === 'recorded' && outcome.status.summary?.leftOut !== undefined);
  });

  it('the writer says that a status is not recorded after a conflict, and where no write is allowed', async () => {
    const { client, asked, refused } = createObjectServer();
    const writer = createMaintenanceStatusWriter(client, createSteppingClock(), 5_000);
    const never = (): Promise<boolean> => Promise.resolve(false);
    assert.equal((await writer.write(maintenanceOf(), statusOf(1, 3), SIGNAL, never)).kind, 'not-recorded');
    assert.deepEqual(asked, []);
    refused.set(PATCH, 409);
    assert.equal((await writer.write(maintenanceOf(), statusOf(1, 3), SIGNAL)).kind, 'not-recorded');
    refused.clear();
    assert.equal((await writer.write(maintenanceOf(), statusOf(1, 3), SIGNAL)).kind, 'recorded', 'not throttled');
  });

  it('the writer goes by its own write until the cache shows another version', async () => {
    const { client } = createObjectServer();
    const writer = createMaintenanceStatusWriter(client, createSteppingClock(), 5_000);
    const copy = maintenanceOf();
    await writer.write(writer.latest(copy), statusOf(1, 3), SIGNAL);
    assert.deepEqual(writer.latest(copy).status, statusOf(1, 3));
    const newer = { ...copy, metadata: { ...copy.metadata, resourceVersion: '9' } };
    assert.equal(writer.latest(newer), newer);
  });
});
