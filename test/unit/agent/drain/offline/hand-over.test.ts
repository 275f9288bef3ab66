import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HandOver } from '../../../../../src/agent/drain/offline/hand-over.ts';
import { createOwnNode } from '../../../../../src/agent/cluster/own-node.ts';
import type { DrainPlanEntry, NodeMaintenanceStatus } from '../../../../../src/api/node-maintenance.ts';
import { effectiveDrainPlan } from '../../../../../src/decide/maintenance/drain-plan.ts';
import { targetsAfter } from '../../../../../src/decide/maintenance/drain-targets.ts';
import { rfc3339 } from '../../../../../src/decide/time.ts';
import { drainOf } from '../../../../support/maintenance/objects.ts';
import { SILENT_LOG } from '../../../../support/silent-log.ts';
import { createObjectServer } from '../../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';
import { drainingPhase } from '../../../../support/agent/phase-facts.ts';

const SIGNAL = new AbortController().signal;
const NODE = '/api/v1/nodes/n1';
const PATH = '/apis/nodemaintenance.x-k8s.io/v1alpha1/nodemaintenances/m';
const PHASE = drainingPhase('offline');
const PLAN = effectiveDrainPlan([]);

/** A hand-over to an API server that has this status of the maintenance. */
function open(status: NodeMaintenanceStatus | undefined, isStuck = false) {
  let isAway = false;
  const made = drainOf('m', ['n1']);
  const metadata = { ...made.metadata, resourceVersion: '7' };
  const server = createObjectServer({
    [NODE]: { metadata: { name: 'n1', uid: 'u1' }, spec: { unschedulable: true } },
    '/api/v1/pods': { metadata: { resourceVersion: '1' }, items: [] },
    [PATH]: { ...made, metadata, ...(status === undefined ? {} : { status }) },
  });
  const clock = createSteppingClock();
  const { client } = server;
  const dependencies = { client, clock, log: SILENT_LOG, nodeName: 'n1', onChange: () => undefined };
  const handOver = new HandOver({
    ...dependencies,
    config: { drainPlan: [] },
    cluster: {
      client,
      own: { state: () => 'open', create: () => Promise.resolve() },
      ownNode: createOwnNode(dependencies),
    },
    offlinePods: {
      observe: () =>
        Promise.resolve(isAway ? { kind: 'unseen', reason: 'away' } : { kind: 'seen', pods: [], staticPods: [] }),
      giveBack: () => Promise.resolve(true),
    },
    staticPods: { stuck: () => new Set(isStuck ? ['a.yaml'] : []) },
  });
  const attempt = (offlineTargets: readonly DrainPlanEntry[]) => {
    return handOver.attempt({ phase: PHASE, offlineTargets }, SIGNAL);
  };
  const written = (): unknown =>
    server.requests.find(({ path, method }) => method === 'PATCH' && path.startsWith(PATH))?.body;
  const setAway = (away: boolean): void => {
    isAway = away;
  };
  return { server, clock, handOver, attempt, written, setAway };
}

function statusOf(count: number): NodeMaintenanceStatus {
  const nodeRef = { name: 'n1', uid: 'u1' };
  const drainTargets = targetsAfter(PLAN, count);
  const counts = { podsPendingEvacuation: 3, podsEvacuating: 1, podsAtStart: 9, progressPercent: 55 };
  const drainStartTime = '2026-01-01T00:00:00Z';
  return { nodeStatuses: [{ nodeRef, drainTargets, drainPlanPosition: count, drainStartTime, ...counts }] };
}

describe('the hand-over of an offline drain', () => {
  it('the targets that were reached offline are added, and what else is known of the node stays', async () => {
    const { attempt, written } = open(statusOf(1));
    assert.equal(await attempt(targetsAfter(PLAN, 5)), false);
    const [known] = statusOf(1).nodeStatuses ?? [];
    const { drainPlanPosition: _, ...kept } = known ?? { nodeRef: { name: '' } };
    assert.deepEqual(written(), {
      metadata: { resourceVersion: '7' },
      status: { nodeStatuses: [{ ...kept, drainTargets: targetsAfter(PLAN, 5) }] },
    });
  });

  it('the targets are written where the maintenance has no status yet', async () => {
    const { attempt, written, clock } = open(undefined);
    await attempt(targetsAfter(PLAN, 5));
    const nodeRef = { name: 'n1', uid: 'u1' };
    const nodeStatuses = [{ nodeRef, drainTargets: targetsAfter(PLAN, 5), drainStartTime: rfc3339(clock.now()) }];
    assert.deepEqual(written(), { metadata: { resourceVersion: '7' }, status: { nodeStatuses } });
  });

  it('a drain that waits for its turn in the cluster has begun with the hand-over, and keeps what others have reached', async () => {
    const [known] = statusOf(9).nodeStatuses ?? [];
    const { drainStartTime: _, drainPlanPosition: __, ...waiting } = known ?? { nodeRef: { name: '' } };
    const { attempt, written, clock } = open({ nodeStatuses: [waiting] });
    await attempt(targetsAfter(PLAN, 5));
    assert.deepEqual(written(), {
      metadata: { resourceVersion: '7' },
      status: { nodeStatuses: [{ ...waiting, drainStartTime: rfc3339(clock.now()) }] },
    });
  });

  it('counts as done by its last attempt alone, and not by one that comes too soon after it', async () => {
    const { clock, handOver, attempt } = open(statusOf(5));
    assert.deepEqual([handOver.isDone(), handOver.isUnderWay()], [false, false]);
    await attempt(targetsAfter(PLAN, 5));
    clock.pass(15_000);
    assert.equal(handOver.isUnderWay(), true);
    assert.equal(await attempt(targetsAfter(PLAN, 5)), true);
    assert.equal(handOver.isDone(), true);
    assert.equal(await attempt(targetsAfter(PLAN, 5)), false);
    assert.equal(handOver.isDone(), false);
    clock.pass(15_000);
    assert.equal(handOver.isUnderWay(), false, 'this has an end');
  });

  it('waits for a runtime that is away only where something was reached, and is tried as soon as that answers', async () => {
    const reached = open(statusOf(5));
    reached.setAway(true);
    await reached.attempt(targetsAfter(PLAN, 5));
    reached.clock.pass(15_000);
    assert.equal(await reached.attempt(targetsAfter(PLAN, 5)), false);
    reached.setAway(false);
    assert.equal(await reached.attempt(targetsAfter(PLAN, 5)), true);
    const nothing = open(statusOf(0));
    nothing.setAway(true);
    await nothing.attempt([]);
    nothing.clock.pass(15_000);
    assert.equal(await nothing.attempt([]), true);
  });

  it('is not tried while manifests are stuck, which only this agent can help', async () => {
    const { server, handOver, attempt } = open(statusOf(5), true);
    assert.equal(await attempt(targetsAfter(PLAN, 5)), false);
    assert.deepEqual([server.asked, handOver.isDone()], [[], false]);
  });

  it('nothing is taken back where a controller has gone further meanwhile', async () => {
    const { server, attempt, written } = open(statusOf(9));
    await attempt(targetsAfter(PLAN, 5));
    assert.equal(written(), undefined);
    assert.ok(server.asked.filter((each) => each === `GET ${NODE}`).length > 1, 'it goes on with the cordon');
  });

  it('nothing else is done where a controller writes at the same time', async () => {
    const { server, attempt } = open(statusOf(1));
    server.refused.set(`PATCH ${PATH}/status`, 409);
    assert.equal(await attempt(targetsAfter(PLAN, 5)), false);
    assert.equal(server.asked.at(-1), `PATCH ${PATH}/status`);
  });
});
