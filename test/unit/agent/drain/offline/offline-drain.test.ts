import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DrainerFacts } from '../../../../../src/agent/drain/drainer.ts';
import { RuntimeSilence } from '../../../../../src/agent/drain/runtime-silence.ts';
import { createOfflineDrainer } from '../../../../../src/agent/drain/offline/offline-drain.ts';
import { OfflinePods, type OfflineStop } from '../../../../../src/agent/drain/offline/stop-pods.ts';
import type { DrainPlanEntry } from '../../../../../src/api/node-maintenance.ts';
import { NodemaintError } from '../../../../../src/errors.ts';
import type { RuntimePod } from '../../../../../src/decide/shutdown/running-pods.ts';
import { type ContainerRuntime, type PodSandbox, SilentRuntimeError } from '../../../../../src/host/cri/runtime.ts';
import { SILENT_LOG } from '../../../../support/silent-log.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';
import { drainingPhase } from '../../../../support/agent/phase-facts.ts';

const SIGNAL = new AbortController().signal;
const PHASE = drainingPhase('offline');
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

function factsOf(saved: DrainPlanEntry[][]): DrainerFacts {
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

function open(
  pods: readonly RuntimePod[],
  stuck: readonly string[] = [],
  whyNone?: string,
  staticPods: readonly RuntimePod[] = [],
) {
  const stops: OfflineStop[] = [];
  const drainer = createOfflineDrainer({
    pods: {
      observe: () => Promise.resolve({ kind: 'seen', pods, staticPods }),
      stop: (_, stop) => {
        stops.push(stop);
        return Promise.resolve([]);
      },
      whyNone: () => whyNone,
    },
    staticPods: { stuck: () => new Set(stuck) },
    silence: new RuntimeSilence(createSteppingClock()),
    drainPlan: [],
    clock: createSteppingClock(),
  });
  return { drainer, stops };
}

const namesIn = (stops: readonly OfflineStop[]): readonly string[] =>
  stops.flatMap(({ evicting }) => evicting.map(({ name }) => name));

describe('the drain without an API server', () => {
  it('the drain without an API server saves its targets before it stops pods by them, and keeps static pods to the end', async () => {
    const saved: DrainPlanEntry[][] = [];
    const { drainer, stops } = open([RUNTIME_POD]);
    const pass = await drainer.pass(factsOf(saved), SIGNAL);
    assert.equal(saved.length, 1);
    assert.deepEqual(namesIn(stops), ['app']);
    assert.deepEqual([pass.leave.size, pass.drained], [0, false]);
  });

  it('the drain without an API server lets static pods leave when no other pod is left', async () => {
    const pass = await open([]).drainer.pass(factsOf([]), SIGNAL);
    assert.deepEqual([...pass.leave.keys()], ['default/web-n1']);
  });

  it('the drain without an API server goes on from the targets of its record, also where a pod comes late', async () => {
    const saved: DrainPlanEntry[][] = [];
    await open([]).drainer.pass(factsOf(saved), SIGNAL);
    const [offlineTargets = []] = saved;
    const { drainer, stops } = open([RUNTIME_POD]);
    const pass = await drainer.pass({ ...factsOf(saved), record: { phase: PHASE, offlineTargets } }, SIGNAL);
    assert.deepEqual([[...pass.leave.keys()], saved.length], [['default/web-n1'], 1]);
    assert.deepEqual(namesIn(stops), ['app', 'web-n1']);
  });

  it('the drain without an API server is over with a reason where a manifest does not move and the kubelet cannot be stopped', async () => {
    const pass = await open([], ['web.yaml'], 'it is k3s').drainer.pass(factsOf([]), SIGNAL);
    assert.equal(pass.drained, true);
    assert.match(pass.left ?? '', /cannot be moved, and the kubelet cannot be stopped: default\/web-n1$/);
  });
});

describe('the drain without an API server where nobody can end the pods', () => {
  const WHY = 'k3s-agent.service runs the kubelet and the container runtime (containerd) together';
  const facts = { ...factsOf([]), view: { ...factsOf([]).view, inPlace: [] } };

  it('is over with the names of the pods that run, and never without', async () => {
    const pass = await open([RUNTIME_POD, { ...RUNTIME_POD, name: 'db', uid: 'u2' }], [], WHY).drainer.pass(
      facts,
      SIGNAL,
    );
    assert.equal(pass.drained, true);
    assert.match(
      pass.left ?? '',
      /^nobody on this machine can end pods .*, because k3s-agent.service runs .*: default\/app, default\/db$/,
    );
    const none = await open([], [], WHY).drainer.pass(facts, SIGNAL);
    assert.deepEqual([none.drained, none.left], [true, undefined]);
  });

  it('lets static pods leave first, and they do not wait for the others', async () => {
    const pass = await open([RUNTIME_POD], [], WHY).drainer.pass(factsOf([]), SIGNAL);
    assert.deepEqual([[...pass.leave.keys()], pass.drained], [['default/web-n1'], false]);
  });

  it('is over with a reason, too, where the runtime does not tell which pods run', async () => {
    const { drainer, world, pods, clock, stopAll } = openPods(false);
    for (let second = 0; second <= 30; second += 1) {
      await stopAll();
      clock.pass(1_000);
    }
    assert.equal(pods.whyNone(), 'no');
    world.isSilent = true;
    const pass = await drainer.pass(facts, SIGNAL);
    assert.match(pass.left ?? '', /^nobody .* because no: which ones run is not known \(the runtime restarts\)$/);
  });

  it('needs no systemd to say so', async () => {
    const runtime = { livePods: () => Promise.resolve([DB]) } as unknown as ContainerRuntime;
    const clock = createSteppingClock();
    const options = {
      runtime,
      kubelet: undefined,
      knownPods: {} as never,
      clock,
      log: SILENT_LOG,
      onChange: () => undefined,
    };
    const pods = new OfflinePods(options, SIGNAL);
    const drainer = createOfflineDrainer({
      pods,
      staticPods: { stuck: () => new Set() },
      silence: new RuntimeSilence(clock),
      drainPlan: [],
      clock,
    });
    assert.match((await drainer.pass(facts, SIGNAL)).left ?? '', /the key "lock" is "none": d\/db$/);
    assert.equal(await pods.giveBack(SIGNAL), true);
  });
});

describe('the drain without an API server where no manifest may be moved', () => {
  const refused = { ...factsOf([]), view: { ...factsOf([]).view, inPlace: [], refusal: 'others may write it' } };
  const etcd = { ...RUNTIME_POD, name: 'etcd', uid: 'u2', podType: 'Static' } as const;

  it('the drain without an API server goes on while another pod is left', async () => {
    const pass = await open([RUNTIME_POD], [], undefined, [etcd]).drainer.pass(refused, SIGNAL);
    assert.deepEqual([pass.drained, pass.left], [false, undefined]);
  });

  it('the drain without an API server is over, and names them, when only static pods are left', async () => {
    const pass = await open([], [], undefined, [etcd]).drainer.pass(refused, SIGNAL);
    assert.equal(pass.drained, true);
    assert.match(pass.left ?? '', /because others may write it: default\/etcd$/);
  });
});

/** The sandboxes that an ordinary and a DaemonSet pod have. */
function sandboxOf(podName: string, labels: Readonly<Record<string, string>> = {}): PodSandbox {
  return {
    id: `s-${podName}`,
    namespace: 'd',
    podName,
    podUid: `u-${podName}`,
    ready: true,
    createdAt: 0,
    annotations: { 'kubernetes.io/config.source': 'api' },
    labels,
    runningContainers: 1,
    graceSec: 30,
  };
}

const DB = sandboxOf('db');
const CNI = sandboxOf('cni', { 'pod-template-generation': '1' });

/** Pods over a runtime that shows these, and does not answer while it is silent; under a kubelet that stops or does not. */
function openPods(kubeletStops: boolean, live: readonly PodSandbox[] = [DB]) {
  const stopped: string[] = [];
  const world = { live: [...live], isSilent: false, withProcesses: undefined as Set<string> | undefined };
  const runtime = {
    livePods: () =>
      world.isSilent || world.withProcesses !== undefined
        ? Promise.reject(new SilentRuntimeError(new Error('the runtime restarts'), world.withProcesses))
        : Promise.resolve(world.live),
    stopPod: (id: string, graceSec: number) => {
      stopped.push(`${id} within ${graceSec} s`);
      return Promise.resolve();
    },
  } as unknown as ContainerRuntime;
  /** What is done to the kubelet, and with what it told. */
  const order: string[] = [];
  const note = async (done: string): Promise<void> => void order.push(done);
  const kubelet = {
    stop: () =>
      kubeletStops ? note('stop the kubelet') : Promise.reject(new NodemaintError('DBUS_UNAVAILABLE', 'no')),
    isStopped: () => Promise.resolve(kubeletStops),
    giveBack: () => Promise.resolve(true),
  };
  const clock = createSteppingClock();
  const knownPods = {
    read: () => Promise.resolve({ pods: new Map() }),
    refresh: () => Promise.resolve(),
    save: () => note('save what it told'),
  };
  const onChange = (): void => undefined;
  const pods = new OfflinePods({ runtime, kubelet, knownPods, clock, log: SILENT_LOG, onChange }, SIGNAL);
  const staticPods = { stuck: () => new Set<string>() };
  const drainer = createOfflineDrainer({ pods, staticPods, silence: new RuntimeSilence(clock), drainPlan: [], clock });
  const stopAll = async (): Promise<readonly string[]> => {
    const view = await pods.observe(SIGNAL);
    assert.equal(view.kind, 'seen');
    const stop = { evicting: view.pods, parked: new Set<string>(), graces: new Map([['u-db', 5]]), hasStuck: false };
    return (await pods.stop(view, stop, SIGNAL)).map(({ what, message }) => `${what} ${message}`);
  };
  return { pods, drainer, world, clock, stopped, order, stopAll };
}

describe('pods that end over the container runtime', () => {
  it('pods end within the shorter of their grace period and what the deadline leaves', async () => {
    const { stopped, stopAll } = openPods(true);
    assert.deepEqual(await stopAll(), ['d/db is terminating']);
    assert.deepEqual(stopped, ['s-db within 5 s']);
  });

  it('what the kubelet told of pods is written before it is stopped, and not by looking at them', async () => {
    const { pods, order, stopAll } = openPods(true);
    await pods.observe(SIGNAL);
    assert.deepEqual(order, []);
    await stopAll();
    assert.deepEqual(order, ['save what it told', 'stop the kubelet']);
  });

  it('pods stay while the kubelet runs, and are given up when it could not be stopped for half a minute', async () => {
    const { pods, clock, stopped, stopAll } = openPods(false);
    for (let second = 0; second < 30; second += 1) {
      assert.deepEqual(await stopAll(), ['the kubelet cannot be stopped, so no pod ends: no'], `${second} s`);
      clock.pass(1_000);
    }
    assert.deepEqual(await stopAll(), []);
    assert.equal(pods.whyNone(), 'no');
    const view = await pods.observe(SIGNAL);
    assert.deepEqual(view.kind === 'seen' && view.pods.map(({ name }) => name), ['db'], 'they are still there');
    assert.deepEqual(stopped, []);
  });
});

describe('a drain whose container runtime does not answer', () => {
  for (const silences of ['at the first look', 'between two tiers']) {
    it(`a runtime that is silent once, ${silences}, moves no target and ends no pod`, async () => {
      const { drainer, world, stopped } = openPods(true, [DB, CNI]);
      const saved: DrainPlanEntry[][] = [];
      const pass = async () => {
        const facts = factsOf(saved);
        const record = { ...facts.record, offlineTargets: saved.at(-1) ?? [] };
        return await drainer.pass({ ...facts, record }, SIGNAL);
      };
      if (silences === 'between two tiers') {
        await pass();
        world.live = [CNI];
      }
      const before = [saved.length, stopped.length];
      world.isSilent = true;
      const silent = await pass();
      assert.deepEqual([saved.length, stopped.length], before);
      assert.deepEqual([silent.leave.size, silent.drained], [0, false]);
      assert.match(silent.waiting[0]?.message ?? '', /^are not known: the runtime restarts/);
      world.isSilent = false;
      for (const live of [[DB, CNI], [CNI], []].slice(before[0])) {
        world.live = live;
        await pass();
      }
      const types = saved.map((targets) => [...new Set(targets.map(({ podType }) => podType))].join(' '));
      assert.deepEqual(types, ['Default', 'Default DaemonSet', 'Default DaemonSet Static']);
      assert.deepEqual(stopped, ['s-db within 30 s', 's-cni within 30 s']);
    });
  }

  it('a runtime that stays silent holds the machine for two minutes, and then lets it go with the reason and all pods', async () => {
    const { drainer, world, clock, stopped } = openPods(true, [DB, CNI]);
    const saved: DrainPlanEntry[][] = [];
    world.isSilent = true;
    await drainer.pass(factsOf(saved), SIGNAL);
    clock.pass(119_999);
    assert.equal((await drainer.pass(factsOf(saved), SIGNAL)).drained, false);
    clock.pass(1);
    const last = await drainer.pass(factsOf(saved), SIGNAL);
    assert.deepEqual([last.drained, last.leave.size, saved.length, stopped.length], [true, 0, 0, 0]);
    assert.match(last.left ?? '', /^the pods could not be seen for 120 s, .*\(the runtime restarts\)$/);
  });

  it('a runtime that stays silent holds nothing up where no pod has a process', async () => {
    const { pods, world } = openPods(true);
    world.withProcesses = new Set();
    assert.deepEqual(await pods.observe(SIGNAL), { kind: 'seen', pods: [], staticPods: [] });
    world.withProcesses.add('u-db');
    assert.equal((await pods.observe(SIGNAL)).kind, 'unseen');
  });

  it('a runtime that answers now and then does not use up the two minutes', async () => {
    const { drainer, world, clock } = openPods(true, [DB]);
    for (const isSilent of [true, false, true]) {
      world.isSilent = isSilent;
      assert.equal((await drainer.pass(factsOf([]), SIGNAL)).drained, false);
      clock.pass(100_000);
    }
  });

  it('a runtime that does not tell of parked static pods holds the machine for two minutes too where the kubelet stays', async () => {
    const clock = createSteppingClock();
    const staticPods = { stuck: () => new Set<string>() };
    const pods = {
      observe: () => Promise.resolve({ kind: 'seen', pods: [], staticPods: [] } as const),
      stop: () => Promise.resolve([]),
      whyNone: () => 'the key "kubeletUnit" is ""',
    };
    const drainer = createOfflineDrainer({
      pods,
      staticPods,
      silence: new RuntimeSilence(clock),
      drainPlan: [],
      clock,
    });
    const facts = factsOf([]);
    const view = { ...facts.view, inPlace: [], parked: [{ ...STATIC_POD, thisBoot: true } as never] };
    assert.equal((await drainer.pass({ ...facts, view }, SIGNAL)).drained, false);
    clock.pass(120_000);
    const last = await drainer.pass({ ...facts, view }, SIGNAL);
    assert.equal(last.drained, true);
    assert.match(last.left ?? '', /does not tell whether static pods have ended/);
  });
});
