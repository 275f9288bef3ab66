import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance, NodeMaintenanceStatus, NodeStatus } from '../../../../src/api/node-maintenance.ts';
import { boundedStatus } from '../../../../src/decide/drain/bounded-status.ts';
import { countMaintenances } from '../../../../src/show/counts/maintenances.ts';
import { nodeStatusesOf, nodeStatusOf } from '../../../../src/decide/maintenance/recorded-node.ts';
import { DEFAULT_DRAIN_PLAN } from '../../../../src/decide/maintenance/drain-plan.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { summaryOf } from '../../../../src/decide/drain/summary.ts';

const MEGABYTE = 1_000_000;

function nodeName(at: number): string {
  return `node-${at}-`.padEnd(63, 'x');
}

/** A node with 20 pods; `blocked` of them block, each with the longest message. */
function nodeStatus(at: number, blocked: number): NodeStatus {
  const blocking = Array.from({ length: blocked }, (_, pod) => ({
    namespace: 'n'.repeat(63),
    name: `${at}-${pod}-`.padEnd(253, 'p'),
    reason: 'PodDisruptionBudget' as const,
    message: 'ü'.repeat(1024),
    since: '2026-01-01T00:00:00Z',
  }));
  return {
    nodeRef: { name: nodeName(at), uid: '00000000-0000-0000-0000-000000000000' },
    drainTargets: DEFAULT_DRAIN_PLAN.slice(0, at % 3 === 0 ? 4 : 12),
    drainPlanPosition: at % 3 === 0 ? 4 : 12,
    drainStartTime: rfc3339(at * 1_000),
    drainMessage: 'Evacuating',
    podsPendingEvacuation: 0,
    podsEvacuating: blocked,
    podsAtStart: 20,
    progressPercent: 100 - 5 * blocked,
    ...(blocking.length === 0 ? {} : { podsBlocking: blocking }),
  };
}

function maintenanceOf(status?: NodeMaintenanceStatus): NodeMaintenance {
  return {
    metadata: { name: 'm' },
    spec: { nodeSelector: { nodeSelectorTerms: [] }, stage: 'Drain' },
    ...(status === undefined ? {} : { status }),
  };
}

function statusOf(nodes: number, blocked: (at: number) => number): NodeMaintenanceStatus {
  const nodeStatuses = Array.from({ length: nodes }, (_, at) => nodeStatus(at, blocked(at)));
  return { nodeStatuses, summary: summaryOf(nodeStatuses), drainPlanPosition: 4 };
}

/** What others act by, by the name of the node. */
function essence(status: NodeMaintenanceStatus): ReadonlyMap<string, object> {
  const essential = nodeStatusesOf(status).map(({ nodeRef, drainTargets, drainPlanPosition, drainStartTime }) => {
    return [nodeRef.name, { nodeRef, drainTargets, drainPlanPosition, drainStartTime }] as const;
  });
  return new Map(essential.toSorted(([a], [b]) => a.localeCompare(b)));
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

describe('a status of bounded size', () => {
  it('the status of a few nodes stays as it is', () => {
    const status = statusOf(10, () => 20);
    assert.equal(boundedStatus(maintenanceOf(), status), status);
  });

  for (const nodes of [50, 300, 1_000, 5_000]) {
    for (const [what, blocked] of [
      ['none', (): number => 0],
      ['a third', (at: number): number => (at % 3 === 0 ? 20 : 0)],
      ['each', (): number => 20],
    ] as const) {
      it(`the status of ${nodes} nodes of which ${what} is blocked is below 1 MB and has all that others act by`, () => {
        const whole = statusOf(nodes, blocked);
        const bounded = boundedStatus(maintenanceOf(), whole);
        assert.ok(bytesOf(bounded) < MEGABYTE, `${bytesOf(bounded)} bytes`);
        assert.deepEqual(essence(bounded), essence(whole));
        assert.equal(nodeStatusOf(bounded, nodeName(nodes - 1))?.drainPlanPosition, (nodes - 1) % 3 === 0 ? 4 : 12);
        assert.deepEqual(bounded.summary?.podsEvacuating, whole.summary?.podsEvacuating);
        const count = ({ status }: NodeMaintenance): object => {
          const { pods, blocking } = countMaintenances([maintenanceOf(status)], 0);
          return { pods, blocking };
        };
        assert.deepEqual(count(maintenanceOf(bounded)), count(maintenanceOf(whole)), 'the metrics stay true');
        if (bytesOf(whole) >= MEGABYTE) assert.notEqual(bounded.summary?.leftOut, undefined);
      });
    }
  }

  it('the status says what is left out, and shows nodes with pods that block before others', () => {
    const bounded = boundedStatus(
      maintenanceOf(),
      statusOf(1_000, (at) => (at >= 900 ? 20 : 0)),
    );
    const shown = bounded.nodeStatuses ?? [];
    assert.ok(
      shown.filter(({ podsBlocking }) => podsBlocking !== undefined).length === 100,
      'all nodes that are blocked',
    );
    assert.match(
      bounded.summary?.leftOut ?? '',
      new RegExp(`^The status has no room for everything: details of ${1_000 - shown.length} of 1000 nodes`),
    );
    assert.deepEqual(bounded.summary?.podsBlocking, [{ reason: 'PodDisruptionBudget', pods: 2_000 }]);
  });

  it('the status leaves room for a large spec', () => {
    const values = Array.from({ length: 4_000 }, (_, at) => nodeName(at));
    const large = maintenanceOf();
    const spec = {
      ...large.spec,
      nodeSelector: {
        nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In' as const, values }] }],
      },
    };
    const maintenance = { ...large, spec };
    const bounded = boundedStatus(
      maintenance,
      statusOf(4_000, (at) => (at % 3 === 0 ? 20 : 0)),
    );
    assert.ok(bytesOf({ ...maintenance, status: bounded }) < MEGABYTE);
  });

  it('the status takes groups back that are not needed any more', () => {
    const before = boundedStatus(
      maintenanceOf(),
      statusOf(5_000, () => 0),
    );
    assert.notDeepEqual(before.nodeGroups, []);
    const after = statusOf(3, () => 0);
    assert.deepEqual(boundedStatus(maintenanceOf(before), after), { ...after, nodeGroups: [] });
  });
});
