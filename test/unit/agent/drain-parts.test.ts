import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ControllerLease } from '../../../src/agent/drain/controller-lease.ts';
import type { PassFacts } from '../../../src/agent/drain/drainer.ts';
import { type ClusterScope, createDrainParts } from '../../../src/agent/drain-parts.ts';
import type { Phase } from '../../../src/decide/shutdown/phase.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';
import { createObjectServer } from '../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const SHUTDOWN = { maintenance: 'm', origin: 'logind', reason: 'r', since: 1, bootId: 'b' } as const;
const NO_CLUSTER: ClusterScope = {
  cluster: undefined,
  lease: undefined,
  interceptor: undefined,
  dependencies: undefined,
  ownNode: undefined,
  maxVolumeWaitMs: 0,
  maxIdleMs: 300_000,
  announce: () => undefined,
};

function factsOf(mode: 'cluster' | 'offline'): PassFacts {
  const phase: Phase = { kind: 'draining', mode, ...SHUTDOWN };
  const pod = { file: 'web.yaml', namespace: 'default', podName: 'web-n1', priority: 0, labels: {}, graceSec: 30 };
  return {
    record: { phase, offlineTargets: [] },
    view: { inPlace: [pod as never], ended: [], parked: [], live: undefined },
    retention: {} as never,
    keepParked: () => true,
    saveTargets: () => Promise.resolve(),
  };
}

/** The parts with a cluster whose watches are not synced, or without a cluster. */
function open(hasCluster: boolean) {
  const clock = createSteppingClock();
  const server = createObjectServer();
  const dependencies = { client: server.client, clock, log: SILENT_LOG, nodeName: 'n1', onChange: () => undefined };
  const cluster = {
    own: { own: () => [] },
    maintenances: { synced: () => false, list: () => [] },
    requests: { list: () => [], synced: () => false, watch: () => undefined },
  };
  const lease = new ControllerLease(dependencies);
  const scope = { cluster, lease, interceptor: {}, dependencies, ownNode: {} } as unknown as ClusterScope;
  const runtime = { livePods: () => Promise.resolve([]) };
  const pods = {
    observe: () => Promise.resolve({ kind: 'seen', pods: [], staticPods: [] } as const),
    stop: () => Promise.resolve([]),
    whyNone: () => 'the key "kubeletUnit" is ""',
  };
  const staticPods = { stuck: () => new Set<string>() };
  const offline = { pods, staticPods, drainPlan: [], runtime, clock, log: SILENT_LOG };
  return { server, parts: createDrainParts(offline, hasCluster ? scope : NO_CLUSTER, SIGNAL) };
}

describe('the drain of a node', () => {
  for (const hasCluster of [true, false]) {
    const where = hasCluster ? 'with' : 'without';
    it(`the drain ${where} a cluster lets static pods leave while no API server answers`, async () => {
      const { server, parts } = open(hasCluster);
      const { leave } = await parts.step.pass(factsOf('offline'), SIGNAL);
      assert.deepEqual([...leave.keys()], ['default/web-n1']);
      assert.deepEqual(server.asked, []);
    });
  }

  it('the drain without a cluster observes no controller, and lets nothing leave for one', async () => {
    const { parts } = open(false);
    assert.equal(parts.observer, undefined);
    const pass = await parts.step.pass(factsOf('cluster'), SIGNAL);
    assert.deepEqual([pass.leave.size, pass.drained], [0, false]);
  });

  it('the drain with a cluster has a controller to observe, of which nothing is known at first', () => {
    const { parts } = open(true);
    assert.equal(parts.observer?.state(), undefined);
    assert.equal(parts.observer?.isBusy(), false);
  });
});
