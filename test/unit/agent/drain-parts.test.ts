import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Cluster } from '../../../src/agent/cluster.ts';
import { openDrain } from '../../../src/agent/drain-parts.ts';
import { ControllerLease } from '../../../src/agent/drain/controller-lease.ts';
import type { PassFacts } from '../../../src/agent/drain/drainer.ts';
import type { ContainerRuntime } from '../../../src/host/cri/runtime.ts';
import { DRAINING } from '../../support/agent/phase-facts.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';
import { createObjectServer } from '../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;

function factsOf(mode: 'cluster' | 'offline'): PassFacts {
  const pod = { file: 'web.yaml', namespace: 'default', podName: 'web-n', priority: 0, labels: {}, graceSec: 30 };
  return {
    record: { phase: { ...DRAINING, mode }, offlineTargets: [] },
    view: { inPlace: [pod as never], ended: [], parked: [], live: undefined },
    retention: {} as never,
    keepParked: () => true,
    saveTargets: () => Promise.resolve(),
  };
}

/** A drain with a cluster whose watches are not synced, or without a cluster. */
function open(hasCluster: boolean) {
  const clock = createSteppingClock();
  const server = createObjectServer();
  const dependencies = { client: server.client, clock, log: SILENT_LOG, nodeName: 'n', onChange: () => undefined };
  const cluster = {
    own: { own: () => [] },
    maintenances: { synced: () => false, list: () => [] },
    requests: { list: () => [], synced: () => false, watch: () => undefined },
    lease: new ControllerLease(dependencies),
    interceptor: {},
    ownNode: {},
    dependencies,
  } as unknown as Cluster;
  const offlinePods = {
    observe: () => Promise.resolve({ kind: 'seen', pods: [], staticPods: [] } as const),
    stop: () => Promise.resolve([]),
    whyNone: () => 'the key "kubeletUnit" is ""',
  };
  const parts = {
    config: { drainPlan: [], maxVolumeWaitSec: 0, progressWaitSec: 300 },
    staticPods: { stuck: () => new Set<string>(), kubelet: () => Promise.resolve({ kind: 'up' } as const) },
    runtime: { livePods: () => Promise.resolve([]) } as unknown as ContainerRuntime,
    announce: () => undefined,
    offlinePods,
    clock,
    log: SILENT_LOG,
    cluster: hasCluster ? cluster : undefined,
  };
  return { server, drain: openDrain(parts, SIGNAL) };
}

describe('the drain of a node with its hands', () => {
  for (const hasCluster of [true, false]) {
    const where = hasCluster ? 'with' : 'without';
    it(`the drain ${where} a cluster lets static pods leave while no API server answers`, async () => {
      const { server, drain } = open(hasCluster);
      const { leave } = await drain.pass(factsOf('offline'), SIGNAL);
      assert.deepEqual([...leave.keys()], ['default/web-n']);
      assert.deepEqual(server.asked, []);
    });
  }

  it('the drain without a cluster observes no controller, and lets nothing leave for one', async () => {
    const { drain } = open(false);
    assert.equal(drain.observer, undefined);
    const pass = await drain.pass(factsOf('cluster'), SIGNAL);
    assert.deepEqual([pass.leave.size, pass.drained], [0, false]);
  });

  it('the drain with a cluster has a controller to observe, of which nothing is known at first', () => {
    const { drain } = open(true);
    assert.equal(drain.observer?.state(), undefined);
    assert.equal(drain.observer?.isBusy(), false);
  });
});
