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

/** A writer, the API server that it writes to, and what becomes of a write after `before` was written. */
function open(everyMs = 5_000, drains?: () => number) {
  const server = createObjectServer();
  const clock = createSteppingClock();
  const writer = createMaintenanceStatusWriter(server.client, clock, everyMs, drains);
  const after = async (before: NodeMaintenanceStatus | undefined, status: NodeMaintenanceStatus) => {
    return await writer.write(maintenanceOf(before), status, SIGNAL);
  };
  return { ...server, clock, writer, after };
}

describe('the writer of the status of a maintenance', () => {
  it('the writer writes with the version that was decided on, and nothing where nothing differs', async () => {
    const { after, asked, requests } = open();
    assert.equal((await after(undefined, statusOf(1, 3))).kind, 'recorded');
    assert.deepEqual(requests[0]?.body, { metadata: { resourceVersion: '7' }, status: statusOf(1, 3) });
    assert.equal((await after(statusOf(1, 3), statusOf(1, 3))).kind, 'recorded');
    assert.deepEqual(asked, [PATCH]);
  });

  it('the writer puts counts off for longer where many drains are under way', async () => {
    for (const [drains, againMs] of [
      [5, 5_000],
      [20, 20_000],
      [10_000, 600_000],
    ] as const) {
      const { after } = open(5_000, () => drains);
      await after(undefined, statusOf(1, 3));
      const count = await after(statusOf(1, 3), statusOf(1, 2));
      assert.deepEqual(count, { kind: 'postponed', againMs });
    }
  });

  it('the writer does not put a pod that begins to block off for longer where many drains are under way', async () => {
    const { after } = open(5_000, () => 100);
    await after(undefined, statusOf(1, 3));
    const pod = {
      namespace: 'n',
      name: 'p',
      reason: 'PodDisruptionBudget',
      message: '',
      since: '2026-01-01T00:00:00Z',
    };
    const blocked = { ...statusOf(1, 3), nodeStatuses: [{ nodeRef: { name: 'n1' }, podsBlocking: [pod] }] };
    const answer = await after(statusOf(1, 3), blocked as NodeMaintenanceStatus);
    assert.deepEqual(answer, { kind: 'postponed', againMs: 5_000 });
  });

  it('the writer puts off a count that follows another write too soon, but no target', async () => {
    const { after, clock, asked } = open();
    await after(undefined, statusOf(1, 3));
    clock.pass(1_000);
    const count = await after(statusOf(1, 3), statusOf(1, 2));
    assert.deepEqual(count, { kind: 'postponed', againMs: 4_000 });
    const target = await after(statusOf(1, 3), statusOf(2, 2));
    assert.equal(target.kind, 'recorded');
    clock.pass(5_000);
    const later = await after(statusOf(2, 2), statusOf(2, 1));
    assert.equal(later.kind, 'recorded');
    assert.equal(asked.length, 3);
  });

  it('the writer puts off for three minutes what only repeats itself in other words', async () => {
    const { after, clock, asked } = open();
    const retried = (times: number, reason = 'PodDisruptionBudget'): NodeMaintenanceStatus => {
      const pod = { namespace: 'n', name: 'p', reason, message: `retries: ${times}`, since: '2026-01-01T00:00:00Z' };
      return { nodeStatuses: [{ nodeRef: { name: 'n1' }, podsBlocking: [pod] }] } as NodeMaintenanceStatus;
    };
    await after(undefined, retried(1));
    clock.pass(60_000);
    const early = await after(retried(1), retried(2));
    assert.deepEqual(early, { kind: 'postponed', againMs: 120_000 });
    const other = await after(retried(1), retried(2, 'Finalizer'));
    assert.equal(other.kind, 'recorded', 'another reason is written');
    clock.pass(180_000);
    const later = await after(retried(2, 'Finalizer'), retried(3, 'Finalizer'));
    assert.equal(later.kind, 'recorded');
    assert.equal(asked.length, 3);
  });

  it('the writer puts off a count also where the API server orders the fields otherwise', async () => {
    const { after } = open();
    const statusWith = (podsEvacuating: number, target: DrainPlanEntry): NodeMaintenanceStatus => ({
      drainPlanPosition: 1,
      nodeStatuses: [{ nodeRef: { name: 'n1' }, drainTargets: [target], podsEvacuating }],
    });
    const stored = statusWith(3, { podPriority: 5, podType: 'Default' });
    await after(undefined, stored);
    const count = await after(stored, statusWith(2, { podType: 'Default', podPriority: 5 }));
    assert.deepEqual(count, { kind: 'postponed', againMs: 5_000 });
  });

  it('the writer puts off the counts of many nodes for longer', async () => {
    const { after } = open(1_000);
    const manyNodes = (podsEvacuating: number): NodeMaintenanceStatus => ({
      nodeStatuses: Array.from({ length: 1_000 }, (_, at) => ({ nodeRef: { name: `n${at}` }, podsEvacuating })),
    });
    await after(undefined, manyNodes(3));
    const count = await after(manyNodes(3), manyNodes(2));
    assert.deepEqual(count, { kind: 'postponed', againMs: 5_000 });
  });

  it('the writer leaves details out of a status that would be too large, and says what it has written', async () => {
    const { after, requests } = open(1_000);
    const whole: NodeMaintenanceStatus = {
      nodeStatuses: Array.from({ length: 5_000 }, (_, at) => ({
        nodeRef: { name: `n${at}` },
        drainPlanPosition: 1,
        drainMessage: 'm'.repeat(1_000),
      })),
    };
    const outcome = await after(undefined, whole);
    assert.ok(JSON.stringify(requests[0]?.body).length < 1_000_000);
    assert.ok(outcome.kind === 'recorded' && outcome.status.summary?.leftOut !== undefined);
  });

  it('the writer says that a status is not recorded after a conflict, and where no write is allowed', async () => {
    const { after, writer, asked, refused } = open();
    const never = (): Promise<boolean> => Promise.resolve(false);
    assert.equal((await writer.write(maintenanceOf(), statusOf(1, 3), SIGNAL, never)).kind, 'not-recorded');
    assert.deepEqual(asked, []);
    refused.set(PATCH, 409);
    assert.equal((await after(undefined, statusOf(1, 3))).kind, 'not-recorded');
    refused.clear();
    assert.equal((await after(undefined, statusOf(1, 3))).kind, 'recorded', 'not throttled');
  });

  it('the writer goes by its own write until the cache shows another version', async () => {
    const { writer } = open();
    const copy = maintenanceOf();
    await writer.write(writer.latest(copy), statusOf(1, 3), SIGNAL);
    assert.deepEqual(writer.latest(copy).status, statusOf(1, 3));
    const newer = { ...copy, metadata: { ...copy.metadata, resourceVersion: '9' } };
    assert.equal(writer.latest(newer), newer);
  });
});
