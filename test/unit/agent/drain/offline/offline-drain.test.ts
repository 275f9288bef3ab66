import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DrainFacts } from '../../../../../src/agent/drain/drainer.ts';
import { createOfflineDrainer } from '../../../../../src/agent/drain/offline/offline-drain.ts';
import { createOfflinePods, type OfflineStop } from '../../../../../src/agent/drain/offline/offline-pods.ts';
import type { DrainPlanEntry } from '../../../../../src/api/node-maintenance.ts';
import type { Phase } from '../../../../../src/decide/shutdown/phase.ts';
import { NodemaintError } from '../../../../../src/errors.ts';
import type { ContainerRuntime, PodSandbox } from '../../../../../src/host/cri/runtime.ts';
import { SILENT_LOG } from '../../../../support/silent-log.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const PHASE: Phase = {
  kind: 'draining',
  mode: 'offline',
  maintenance: 'm',
  origin: 'logind',
  reason: 'r',
  since: 1,
  bootId: 'b',
};
const STATIC_POD = { file: 'web.yaml', namespace: 'default', podName: 'web-n1', priority: 0, labels: {}, graceSec: 30 };
const RUNTIME_POD = {
  uid: 'u1',
  namespace: 'default',
  name: 'app',
  podType: 'Default',
  priority: 0,
  labels: {},
  graceSec: 30,
  sandboxIds: ['s1'],
} as const;

function factsOf(saved: DrainPlanEntry[][]): DrainFacts {
  return {
    record: { phase: PHASE, offlineTargets: [] },
    view: { inPlace: [STATIC_POD as never], ended: [], parked: [], live: undefined },
    retention: {} as never,
    keepParked: () => true,
    saveTargets: (targets) => {
      saved.push([...targets]);
      return Promise.resolve();
    },
    maintenances: [],
  };
}

function open(pods: readonly (typeof RUNTIME_POD)[] | undefined, stuck: readonly string[] = [], givenUp = false) {
  const stops: OfflineStop[] = [];
  const drainer = createOfflineDrainer({
    pods:
      pods === undefined
        ? undefined
        : {
            observe: () => Promise.resolve({ seen: true, pods, staticPods: [] }),
            stop: (_, stop) => {
              stops.push(stop);
              return Promise.resolve([]);
            },
            hasGivenUp: () => givenUp,
          },
    staticPods: { stuck: () => new Set(stuck) },
    drainPlan: [],
    clock: createSteppingClock(),
  });
  return { drainer, stops };
}

describe('the drain without an API server', () => {
  it('the drain without an API server saves its targets before it stops pods by them, and keeps static pods to the end', async () => {
    const saved: DrainPlanEntry[][] = [];
    const { drainer, stops } = open([RUNTIME_POD]);
    const pass = await drainer.pass(factsOf(saved), SIGNAL);
    assert.equal(saved.length, 1);
    assert.deepEqual(
      stops.flatMap(({ evicting }) => evicting.map(({ name }) => name)),
      ['app'],
    );
    assert.deepEqual([pass.leave.size, pass.drained], [0, false]);
  });

  it('the drain without an API server lets static pods leave when no other pod is left', async () => {
    const pass = await open([]).drainer.pass(factsOf([]), SIGNAL);
    assert.deepEqual([...pass.leave.keys()], ['default/web-n1']);
  });

  it('the drain without an API server is over with a reason where a manifest does not move and the kubelet cannot be stopped', async () => {
    const pass = await open([], ['web.yaml'], true).drainer.pass(factsOf([]), SIGNAL);
    assert.equal(pass.drained, true);
    assert.match(pass.left ?? '', /default\/web-n1 cannot be moved/);
  });
});

/** Pods over a runtime with these sandboxes, under a kubelet that stops or does not. */
function openPods(kubeletStops: boolean) {
  const stopped: string[] = [];
  const sandbox: PodSandbox = {
    id: 's1',
    namespace: 'default',
    podName: 'app',
    podUid: 'u1',
    ready: true,
    createdAt: 0,
    annotations: { 'kubernetes.io/config.source': 'api' },
    labels: {},
    runningContainers: 1,
    graceSec: 30,
  };
  const runtime = {
    livePods: () => Promise.resolve([sandbox]),
    stopPod: (id: string, graceSec: number) => {
      stopped.push(`${id} within ${graceSec} s`);
      return Promise.resolve();
    },
  } as unknown as ContainerRuntime;
  const kubelet = {
    stop: () => (kubeletStops ? Promise.resolve() : Promise.reject(new NodemaintError('API_REFUSED', 'no'))),
    isStopped: () => Promise.resolve(kubeletStops),
    giveBack: () => Promise.resolve(true),
  };
  const pods = createOfflinePods(
    {
      runtime,
      kubelet,
      knownPods: { read: () => Promise.resolve(new Map()), refresh: () => Promise.resolve() },
      clock: createSteppingClock(),
      log: SILENT_LOG,
      onChange: () => undefined,
    },
    SIGNAL,
  );
  const stopAll = async (): Promise<number> => {
    const view = await pods.observe(SIGNAL);
    const stop = { evicting: view.pods, parked: new Set<string>(), graces: new Map([['u1', 5]]), hasStuck: false };
    return (await pods.stop(view, stop, SIGNAL)).length;
  };
  return { pods, stopped, stopAll };
}

describe('pods that end over the container runtime', () => {
  it('pods end within the shorter of their grace period and what the deadline leaves', async () => {
    const { stopped, stopAll } = openPods(true);
    assert.equal(await stopAll(), 1);
    assert.deepEqual(stopped, ['s1 within 5 s']);
  });

  it('pods stay while the kubelet runs, and are given up after three attempts to stop it', async () => {
    const { pods, stopped, stopAll } = openPods(false);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      assert.equal(pods.hasGivenUp(), false);
      await stopAll();
    }
    assert.equal(pods.hasGivenUp(), true);
    assert.deepEqual((await pods.observe(SIGNAL)).pods, []);
    assert.deepEqual(stopped, []);
  });
});
