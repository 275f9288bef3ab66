import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SelfStatus } from '../../../../../src/agent/drain/self/maintenance-status.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../../../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../../../src/api/pod.ts';
import { drainPodsOfNode, resolveSelfDrains } from '../../../../../src/decide/drain/self-drain.ts';
import { planOf } from '../../../../../src/decide/maintenance/drain-plan.ts';
import { SILENT_LOG } from '../../../../support/silent-log.ts';
import { createObjectServer } from '../../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const STATUS = '/apis/nodemaintenance.x-k8s.io/v1alpha1/nodemaintenances/m/status';
const MAINTENANCE: NodeMaintenance = {
  metadata: { name: 'm', uid: 'u', resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {
    stage: 'Drain',
    nodeSelector: { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }] },
  },
};
const POD: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'uid-web' },
  spec: { nodeName: 'n1', terminationGracePeriodSeconds: 30 },
};
const BLOCKING = {
  namespace: 'default',
  name: 'web',
  reason: 'PodDisruptionBudget',
  message: 'no',
  since: '2026-01-01T00:00:00Z',
} as const;

function open({ isBeside = false, maintenance = MAINTENANCE } = {}) {
  const server = createObjectServer();
  const clock = createSteppingClock();
  const dependencies = { client: server.client, clock, log: SILENT_LOG, nodeName: 'n1', onChange: () => undefined };
  const status = new SelfStatus(dependencies, {
    whyAway: () => 'no controller is alive',
    isBesideController: () => isBeside,
  });
  const drains = resolveSelfDrains(
    [maintenance],
    { name: 'n1', uid: 'u-n1' },
    drainPodsOfNode([POD], [], { since: undefined, now: 0 }),
  );
  const pods = { list: [POD], blocking: [BLOCKING], requests: [] };
  const write = (mayWrite: boolean): Promise<boolean> =>
    status.write(drains, pods, () => Promise.resolve(mayWrite), SIGNAL);
  return { server, write };
}

describe('the status that an agent writes of its own drain', () => {
  it('the status has the targets, what blocks, and who drains, for the version that was read', async () => {
    const { server, write } = open();
    assert.equal(await write(true), true);
    assert.deepEqual(server.asked, [`PATCH ${STATUS}`]);
    const body = server.requests[0]?.body as { metadata: object; status: NodeMaintenanceStatus };
    assert.deepEqual(body.metadata, { resourceVersion: '7' });
    const [node] = body.status.nodeStatuses ?? [];
    assert.equal(node?.drainTargets?.[0]?.podType, 'Default');
    assert.deepEqual(node?.podsBlocking, [BLOCKING]);
    assert.deepEqual(node?.nodeRef, { name: 'n1', uid: 'u-n1' });
    assert.equal(node.drainPlanPosition, 1);
    assert.equal(node.podsEvacuating, 1);
    assert.equal(node?.expectedFinishTime, '2026-01-01T00:00:30Z');
    assert.match(node?.drainMessage ?? '', / \(by the agent of the node: no controller is alive\)$/);
  });

  it('the status is not written by an agent that is no longer alone, which then has no targets to go by', async () => {
    const { server, write } = open();
    assert.equal(await write(false), false);
    assert.deepEqual(server.asked, []);
  });

  it('beside a controller the status is written where the targets move on, and not for other words', async () => {
    const drainTargets = planOf(MAINTENANCE).slice(0, 1);
    const node = { nodeRef: { name: 'n1' }, drainTargets, drainMessage: 'in the words of the controller' };
    for (const [isBeside, drainStartTime, writes] of [
      [true, '2026-01-01T00:00:00Z', 0],
      [true, undefined, 1],
      [false, '2026-01-01T00:00:00Z', 1],
    ] as const) {
      const nodeStatuses = [{ ...node, ...(drainStartTime === undefined ? {} : { drainStartTime }) }];
      const { server, write } = open({ isBeside, maintenance: { ...MAINTENANCE, status: { nodeStatuses } } });
      assert.equal(await write(true), true);
      assert.equal(server.asked.length, writes);
    }
  });

  it('the status that another has changed meanwhile gives no targets to go by', async () => {
    const { server, write } = open();
    server.refused.set(`PATCH ${STATUS}`, 409);
    assert.equal(await write(true), false);
  });
});
