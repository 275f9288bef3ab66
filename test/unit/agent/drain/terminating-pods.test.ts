import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createNodePods } from '../../../../src/agent/cluster/on-demand-watch.ts';
import { type DrainPass, EMPTY_PASS, type PassFacts } from '../../../../src/agent/drain/drainer.ts';
import { RuntimeSilence } from '../../../../src/agent/drain/runtime-silence.ts';
import { TerminatingPods } from '../../../../src/agent/drain/terminating-pods.ts';
import { DEADLINE_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { type ContainerRuntime, type PodSandbox, SilentRuntimeError } from '../../../../src/host/cri/runtime.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { createObjectServer, withOpenWatches } from '../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const PODS = '/api/v1/pods';
const DEADLINE = { [DEADLINE_ANNOTATION]: '2026-01-01T00:10:00Z' };
const DOWN: DrainPass = { ...EMPTY_PASS, downSince: 0 };
const LIVE = ['late', 'early', 'unknown'].map((name) => ({
  id: `sandbox-${name}`,
  podUid: `uid-${name}`,
  runningContainers: 1,
}));
const live = (): Promise<readonly PodSandbox[]> => Promise.resolve(LIVE as unknown as PodSandbox[]);
const away = (): Promise<never> => Promise.reject(new Error('no socket'));

/** A pod that was told to end with 30 s; `end` is when they are over. */
function terminatingPod(name: string, deletionTimestamp: string): object {
  const deletion = { deletionTimestamp, deletionGracePeriodSeconds: 30 };
  return { metadata: { name, namespace: 'default', uid: `uid-${name}`, ...deletion }, spec: { nodeName: 'n1' } };
}

interface World {
  readonly annotations?: Readonly<Record<string, string>>;
  livePods?: ContainerRuntime['livePods'];
  isKubeletUp?: boolean;
  readonly pods?: readonly object[];
}

/** A node with a pod whose grace period is over and one whose grace period is not, at 2026-01-01. */
function open(world: World) {
  const told = [terminatingPod('late', '2025-12-31T23:59:50Z'), terminatingPod('early', '2026-01-01T00:00:20Z')];
  const items = world.pods ?? told;
  const server = createObjectServer({ [PODS]: { metadata: { resourceVersion: '1' }, items } });
  const [log, clock] = [createRecordingLog(), createSteppingClock()];
  const stopped: [string, number][] = [];
  const runtime = {
    livePods: (signal: AbortSignal) => (world.livePods ?? live)(signal),
    stopPod: (id: string, graceSec: number) => {
      stopped.push([id, graceSec]);
      return new Promise(() => undefined);
    },
  } as unknown as ContainerRuntime;
  const maintenance: NodeMaintenance = {
    metadata: { name: 'm', annotations: world.annotations ?? {} },
    spec: { stage: 'Drain', nodeSelector: { nodeSelectorTerms: [] } },
  };
  const maintenances = { drains: () => [{ maintenance: 'm', reason: '', drainTargets: [] }], get: () => maintenance };
  const lifetime = new AbortController();
  const dependencies = {
    client: withOpenWatches(server.client),
    clock,
    log,
    nodeName: 'n1',
    onChange: () => undefined,
  };
  const [since, silence] = [clock.now(), new RuntimeSilence(clock)];
  const step = new TerminatingPods({
    runtime,
    staticPods: {
      kubelet: () => Promise.resolve(world.isKubeletUp === false ? { kind: 'down', since } : { kind: 'up' }),
    },
    silence,
    maintenances,
    pods: createNodePods(dependencies, lifetime.signal),
    ownNode: { observe: () => Promise.resolve({ kind: 'unknown' }) },
    dependencies,
  });
  /** A pass that begins the watch, and one after its list has arrived. */
  const passes = async (kind: 'draining' | 'watching', pass = DOWN): Promise<DrainPass> => {
    const phase = { kind, mode: 'cluster', maintenance: 'm' };
    const view = { inPlace: [], ended: [], parked: [], live: undefined };
    const facts = { record: { phase, offlineTargets: [] }, view } as unknown as PassFacts;
    await step.after(pass, facts, false, lifetime.signal);
    await new Promise((resolve) => setImmediate(resolve));
    return await step.after(pass, facts, false, lifetime.signal);
  };
  return { server, clock, silence, log, stopped, passes, lifetime };
}

describe('the pods of a node that were told to end', () => {
  it('the one whose shortened time is over is stopped at once over the runtime, and no other pod is', async () => {
    const { stopped, passes, lifetime } = open({ annotations: DEADLINE });
    await passes('watching');
    lifetime.abort();
    assert.deepEqual(stopped, [['sandbox-late', 0]]);
  });

  it('they are not looked for while no drain of the node has a deadline, and no machine goes down', async () => {
    const { server, stopped, passes } = open({});
    await passes('watching');
    await passes('draining', EMPTY_PASS);
    assert.deepEqual([server.asked, stopped], [[], []]);
  });

  it('their kubelet is away: they are ended over the runtime, and then taken away, and the status says so', async () => {
    const world: World = { isKubeletUp: false };
    const { server, clock, stopped, passes, lifetime } = open(world);
    const first = await passes('draining');
    assert.match(first.waiting[0]?.message ?? '', /is down; .* over the container runtime/);
    assert.deepEqual(stopped, []);
    clock.pass(30_000);
    await passes('draining');
    assert.deepEqual(stopped, [
      ['sandbox-late', 30],
      ['sandbox-early', 30],
    ]);
    world.livePods = () => Promise.resolve([]);
    await passes('draining');
    await passes('draining');
    lifetime.abort();
    const removed = server.requests.filter(({ method }) => method === 'DELETE');
    assert.deepEqual(
      removed.map(({ path, body }) => [path, (body as { gracePeriodSeconds: number }).gracePeriodSeconds]),
      [
        ['/api/v1/namespaces/default/pods/late', 0],
        ['/api/v1/namespaces/default/pods/early', 0],
      ],
    );
  });

  it('their runtime is away: the status says since when, and after two minutes the machine goes down with them, named', async () => {
    const { clock, passes, lifetime } = open({ livePods: away });
    const first = await passes('draining');
    assert.match(first.waiting[0]?.message ?? '', /no socket/);
    assert.equal(first.drained, false);
    clock.pass(120_000);
    const last = await passes('draining');
    lifetime.abort();
    assert.equal(last.drained, true);
    assert.match(last.left ?? '', /could not be seen for 120 s.*no socket.*default\/early, default\/late/);
  });

  it('their runtime is away for good: one without a process is taken away at once, and one that has some is waited for', async () => {
    const silent = new SilentRuntimeError(new Error('no socket'), new Set(['uid-early']));
    const { server, passes, lifetime } = open({ livePods: () => Promise.reject(silent) });
    const last = await passes('draining');
    lifetime.abort();
    const removed = server.requests.filter(({ method }) => method === 'DELETE').map(({ path }) => path);
    assert.deepEqual(removed, ['/api/v1/namespaces/default/pods/late']);
    assert.deepEqual([last.drained, last.waiting[0]?.wait], [false, 'unseen-pods']);
  });

  it('their runtime was away before any of them was told to end: a pass that does not ask it does not begin the wait anew', async () => {
    const { clock, silence, passes, lifetime } = open({ pods: [] });
    silence.unseen('no socket');
    clock.pass(120_000);
    await passes('draining');
    lifetime.abort();
    assert.notEqual(silence.unseen('no socket').left, undefined);
  });

  it('volumes have an end of their own', async () => {
    const { clock, passes, lifetime } = open({ livePods: away });
    await passes('draining');
    clock.pass(120_000);
    assert.equal((await passes('draining', { ...DOWN, awaitsVolumes: true })).drained, false);
    lifetime.abort();
  });
});
