import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMaintenanceTransform } from '../../../../../src/agent/cluster/copy-trimming.ts';
import { createNodePods } from '../../../../../src/agent/cluster/on-demand-watch.ts';
import { createOwnNode } from '../../../../../src/agent/cluster/own-node.ts';
import { type DrainerFacts, EMPTY_PASS } from '../../../../../src/agent/drain/drainer.ts';
import { SelfDrainer } from '../../../../../src/agent/drain/self/self-drain.ts';
import { AGENT_LABEL } from '../../../../../src/api/names.ts';
import type { NodeMaintenance, NodeStatus, WaitReason } from '../../../../../src/api/node-maintenance.ts';
import { DEFAULT_EVICTION_SETTINGS } from '../../../../../src/decide/eviction/settings.ts';
import { DEFAULT_DRAIN_PLAN } from '../../../../../src/decide/maintenance/drain-plan.ts';
import { type LeaseLife, WHY_SELF } from '../../../../../src/decide/shutdown/drainer.ts';
import { NodemaintError } from '../../../../../src/errors.ts';
import type { KubeClient } from '../../../../../src/kube/client.ts';
import { createRecordingLog } from '../../../../support/agent/recording-log.ts';
import { drainOf, ownMaintenanceOf } from '../../../../support/maintenance/objects.ts';
import { createObjectServer, withOpenWatches } from '../../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const keep = createMaintenanceTransform('n1');
const NODE = '/api/v1/nodes/n1';
const PODS = '/api/v1/pods';
const STATUS = '/apis/nodemaintenance.x-k8s.io/v1alpha1/nodemaintenances/shutdown-n1-0/status';
const EVICTION = '/api/v1/namespaces/default/pods/web/eviction';
const STEPS = [`GET ${PODS}`, `GET ${NODE}`, `PATCH ${NODE}`, `PATCH ${STATUS}`, `POST ${EVICTION}`];
const isLook = (asked: string): boolean => asked === `GET ${NODE}`;
const MAINTENANCE: NodeMaintenance = {
  metadata: { name: 'shutdown-n1-0', uid: 'u', resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {
    stage: 'Drain',
    nodeSelector: { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }] },
  },
};

function factsOf(maintenances: readonly NodeMaintenance[]): DrainerFacts {
  return {
    record: { phase: { kind: 'watching' }, offlineTargets: [] },
    view: { inPlace: [], ended: [], parked: [], live: undefined },
    retention: {} as never,
    keepParked: () => true,
    saveTargets: () => Promise.resolve(),
    maintenances,
  };
}

/** The drainer of a node with one pod; `lives` are the answers to whether a controller is alive, the last one for good. */
function open(
  lives: readonly LeaseLife[],
  {
    maxVolumeWaitMs = 60_000,
    lostWatches = 0,
    isIdle = false,
    others = [] as readonly NodeMaintenance[],
    labels = {},
  } = {},
) {
  const pod = { metadata: { name: 'web', namespace: 'default', uid: 'uid-web' }, spec: { nodeName: 'n1' } };
  const server = createObjectServer({
    [NODE]: { metadata: { name: 'n1', labels } },
    [PODS]: { metadata: { resourceVersion: '1' }, items: [pod] },
  });
  server.answers.set(`PATCH ${STATUS}`, { status: 200, body: MAINTENANCE });
  const log = createRecordingLog();
  const gaveBack: boolean[] = [];
  const left = [...lives];
  const kindNow = (): LeaseLife => (left.length > 1 ? left.shift() : left[0]) ?? 'dead';
  const lifetime = new AbortController();
  const opened = withOpenWatches(server.client);
  let lost = 0;
  /** The first watches are lost at once, the later ones stay open. */
  const watch: KubeClient['watch'] = (path, signal) => {
    lost += 1;
    if (lost > lostWatches) return opened.watch(path, signal);
    throw new NodemaintError('API_UNREACHABLE', 'the connection is lost');
  };
  const dependencies = {
    client: { ...opened, watch },
    clock: createSteppingClock(),
    log,
    nodeName: 'n1',
    onChange: () => undefined,
  };
  const drainer = new SelfDrainer(
    {
      pods: createNodePods(dependencies, lifetime.signal),
      requests: { list: () => [], synced: () => true, watch: () => undefined },
      controller: {
        isAway: () => Promise.resolve(isIdle || kindNow() === 'dead'),
        whyAway: () => WHY_SELF[isIdle ? 'idle' : 'dead'],
        isBesideController: () => isIdle,
        settings: () => DEFAULT_EVICTION_SETTINGS,
      },
      giveBack: {
        pass: async (mayAct) => {
          gaveBack.push(await mayAct());
        },
      },
      maintenances: { list: () => others },
      ownNode: createOwnNode(dependencies),
      byController: { pass: () => Promise.resolve(EMPTY_PASS) },
      maxVolumeWaitMs,
    },
    dependencies,
    lifetime.signal,
  );
  /** A pass that begins the watch on the pods, and one after its list has arrived. */
  const passes = async (facts = factsOf([MAINTENANCE])) => {
    await drainer.pass(facts, lifetime.signal);
    await new Promise((resolve) => setImmediate(resolve));
    const pass = await drainer.pass(facts, lifetime.signal);
    lifetime.abort();
    return pass;
  };
  return { server, log, gaveBack, drainer, lifetime, passes };
}

describe('the drain of a node by its agent', () => {
  it('the drain cordons the node, then writes the targets, then evicts', async () => {
    const { server, passes } = open(['dead']);
    const { waiting } = await passes();
    assert.deepEqual(server.asked, STEPS);
    assert.deepEqual(
      waiting.map(({ what }) => what),
      ['default/web'],
    );
  });

  it('no pod leaves a node that the API server does not let be cordoned', async () => {
    const { server, passes } = open(['dead']);
    server.refused.set(`PATCH ${NODE}`, 403);
    assert.match((await passes()).stalled ?? '', /PATCH/);
    assert.ok(!server.asked.includes(`POST ${EVICTION}`));
  });

  it('the drain goes on beside a controller that keeps its Lease and is idle, and says so in the maintenance', async () => {
    const { server, passes } = open(['alive'], { isIdle: true });
    await passes();
    assert.deepEqual(server.asked, STEPS);
    const written = JSON.stringify(server.requests);
    assert.match(written, /by the agent of the node: the controller does nothing for the shutdown of this node/);
  });

  it('the pod of a driver stays while a volume needs it, unless volumes are not waited for', async () => {
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'csi', uid: 'd', controller: true };
    const dirs = ['plugins_registry', 'plugins/d.example.com'].map((dir) => ({
      hostPath: { path: `/var/lib/kubelet/${dir}` },
    }));
    const driver = {
      metadata: { name: 'csi', namespace: 'default', uid: 'uid-csi', ownerReferences: [owner] },
      spec: { nodeName: 'n1', volumes: dirs },
    };
    const status = { volumesInUse: ['kubernetes.io/csi/d.example.com^vol-1'] };
    const said = async (maxVolumeWaitMs: number): Promise<readonly string[]> => {
      const { server, passes } = open(['dead'], { maxVolumeWaitMs });
      server.objects.set(NODE, { metadata: { name: 'n1' }, spec: { unschedulable: true }, status });
      server.objects.set(PODS, { metadata: { resourceVersion: '1' }, items: [driver] });
      return (await passes()).waiting.map(({ message }) => message);
    };
    assert.match((await said(60_000)).join(), /stays for the volumes \S+vol-1 to be unmounted/);
    assert.doesNotMatch((await said(0)).join(), /volume/);
  });

  it('the drain decides nothing by pods that it does not follow any more, and reads them anew', async () => {
    const { server, drainer, lifetime } = open(['dead'], { lostWatches: 1 });
    const pass = async (): Promise<void> => {
      await drainer.pass(factsOf([MAINTENANCE]), lifetime.signal);
      await new Promise((resolve) => setTimeout(resolve, 20));
    };
    await pass();
    await pass();
    assert.deepEqual(server.asked, [`GET ${PODS}`, `GET ${PODS}`]);
    await pass();
    lifetime.abort();
    assert.deepEqual(server.asked, [`GET ${PODS}`, ...STEPS]);
  });

  const phase = {
    kind: 'draining',
    mode: 'cluster',
    maintenance: 'shutdown-n1-0',
    origin: 'logind',
    reason: 'r',
  } as const;
  const record = { phase: { ...phase, since: 1, bootId: 'b' }, offlineTargets: [] };
  const refusal = 'others may write it';
  const pod = (name: string, fields: object = {}): object => {
    return { metadata: { name, namespace: 'default', uid: name, ...fields }, spec: { nodeName: 'n1' } };
  };
  const ending = pod('web', { deletionTimestamp: '2026-01-01T00:00:00Z' });
  const mirror = pod('etcd-n1', { annotations: { 'kubernetes.io/config.mirror': 'x' } });
  const ends: [string, readonly object[], string | undefined, boolean, RegExp | undefined][] = [
    ['is over when no pod is left', [], undefined, true, undefined],
    ['goes on while a pod ends, though no manifest may be moved', [ending, mirror], refusal, false, undefined],
    ['is over when static pods of a refused directory stay', [mirror], refusal, true, /write it: default\/etcd-n1$/],
    ['is over when static pods of a URL are left', [mirror], undefined, true, /staticPodURL .*: default\/etcd-n1$/],
  ];
  for (const [title, items, why, drained, left] of ends) {
    it(`the drain of a shutdown ${title}`, async () => {
      const { server, passes } = open(['dead']);
      server.objects.set(PODS, { metadata: { resourceVersion: '1' }, items });
      const facts = factsOf([MAINTENANCE]);
      const view = { ...facts.view, ...(why === undefined ? {} : { refusal: why }) };
      const pass = await passes({ ...facts, view, record });
      assert.equal(pass.drained, drained);
      if (left === undefined) assert.equal(pass.left, undefined);
      else assert.match(pass.left ?? '', left);
    });
  }

  const waits: readonly [WaitReason, boolean][] = [
    ['WaitingForControlPlane', true],
    ['WaitingForTurn', false],
  ];
  for (const [reason, holds] of waits) {
    it(`a machine that a controller told to wait (${reason}) ${holds ? 'waits on' : 'waits no longer'} when none is alive`, async () => {
      const { server, passes } = open(['dead']);
      const drained = { type: 'Drained', status: 'False', reason, message: '', lastTransitionTime: '' } as const;
      const labels = { [AGENT_LABEL]: 'n1' };
      const own = {
        ...MAINTENANCE,
        metadata: { ...MAINTENANCE.metadata, labels },
        status: { conditions: [drained], nodeStatuses: [{ nodeRef: { name: 'n1' } }] },
      };
      await passes(factsOf([own]));
      assert.equal(server.asked.every(isLook), holds, server.asked.join());
    });
  }

  const evictions: [string, number, string, boolean][] = [
    ['a webhook that cannot be called', 500, 'failed calling webhook "a.b.c": no endpoints available', true],
    ['missing rights', 403, 'User "system:node:n1" cannot create resource "pods/eviction"', true],
    ['a webhook that denies it', 403, 'admission webhook "a.b.c" denied the request: not now', false],
    ['a budget', 429, 'Cannot evict pod as it would violate the disruption budget of the pod.', false],
  ];
  for (const [what, status, message, isStalled] of evictions) {
    it(`the drain ${isStalled ? 'gets no further' : 'waits for an owner'} where an eviction is refused by ${what}`, async () => {
      const { server, passes } = open(['dead']);
      server.answers.set(`POST ${EVICTION}`, { status, body: { message } });
      const { stalled } = await passes();
      assert.equal(stalled?.includes(message) === true, isStalled);
    });
  }

  const begun = { drainStartTime: '2026-01-01T00:00:00Z' };
  const reboots: readonly [string, Partial<NodeStatus>, string | undefined, boolean][] = [
    ['waits for a machine that goes down', begun, 'reboot', true],
    ['waits where a person drains static pods', { ...begun, drainTargets: DEFAULT_DRAIN_PLAN }, undefined, true],
    [
      'waits for no drain of others by a person',
      { ...begun, drainTargets: DEFAULT_DRAIN_PLAN.slice(0, 1) },
      undefined,
      false,
    ],
    ['waits for none that was asked later', {}, 'reboot', false],
    ['waits for none that is switched off', begun, 'poweroff', false],
  ];
  for (const isMember of [true, false])
    for (const [what, status, kind, holds] of reboots) {
      it(`the machine of a ${isMember ? `member of the control plane ${what}` : `worker goes down where a member ${what}`}`, async () => {
        const annotations = { 'nodemaintenance.x-k8s.io/shutdown-kind': kind };
        const created = { creationTimestamp: '2026-01-01T00:01:00Z' };
        const other = kind === undefined ? drainOf('m2', ['n2']) : ownMaintenanceOf('n2', { annotations, ...created });
        const others = [keep({ ...other, status: { nodeStatuses: [{ nodeRef: { name: 'n2' }, ...status }] } })];
        const labels = isMember ? { 'node-role.kubernetes.io/control-plane': '' } : {};
        const { server, passes } = open(['dead'], { others, labels });
        const own = { ...MAINTENANCE, metadata: { ...MAINTENANCE.metadata, labels: { [AGENT_LABEL]: 'n1' } } };
        const { waiting } = await passes(factsOf([own]));
        const isHeld = isMember && holds;
        assert.equal(server.asked.every(isLook), isHeld, server.asked.join());
        const turn = waiting.find(({ what: each }) => each === 'its turn to reboot');
        assert.equal(turn?.message.includes(`NodeMaintenance ${other.metadata.name}`) === true, isHeld);
      });
    }

  it('the drain says that a status which is not taken keeps it from going on', async () => {
    const { server, passes } = open(['dead']);
    server.answers.set(`PATCH ${STATUS}`, { status: 403, body: { message: 'no' } });
    assert.match((await passes()).stalled ?? '', /refused PATCH .*status/);
  });

  const alive: [string, readonly LeaseLife[], readonly string[]][] = [
    ['cordon', ['alive'], STEPS.slice(0, 2)],
    ['status', ['dead', 'alive'], STEPS.slice(0, 3)],
    ['eviction', ['dead', 'dead', 'alive'], STEPS.slice(0, 4)],
  ];
  for (const [step, lives, asked] of alive) {
    it(`the drain stops before the ${step} when a controller is alive again`, async () => {
      const { server, passes } = open(lives);
      await passes();
      assert.deepEqual(server.asked, asked);
    });
  }

  it('the drain evicts no pod while the node cannot be cordoned, and tries again', async () => {
    const { server, log, passes } = open(['dead']);
    server.refused.set(`PATCH ${NODE}`, 403);
    const { stalled, isBegun, waiting } = await passes({ ...factsOf([MAINTENANCE]), record });
    assert.match(stalled ?? '', /refused PATCH .*nodes.n1/);
    assert.equal(isBegun, true, 'it waits for no turn');
    assert.deepEqual([waiting[0]?.on, waiting[0]?.message], ['API server', stalled], 'the status says so');
    assert.deepEqual(server.asked, STEPS.slice(0, 3));
    assert.equal(log.lines.filter((line) => line.includes('cannot go on with the drain')).length, 1);
  });

  it('static pods leave by the priorities of their mirror pods, which only the API server has resolved', async () => {
    const { server, passes } = open(['dead']);
    const mirrorOf = (name: string, priority: number): object => ({
      metadata: { name, namespace: 'default', uid: name, annotations: { 'kubernetes.io/config.mirror': 'x' } },
      spec: { nodeName: 'n1', priority },
    });
    server.objects.set(PODS, { metadata: { resourceVersion: '1' }, items: [mirrorOf('web', 0), mirrorOf('db', 500)] });
    const drainPlan = [{ podType: 'Static', podPriority: 100 } as const];
    const facts = factsOf([{ ...MAINTENANCE, spec: { ...MAINTENANCE.spec, drainPlan } }]);
    const inPlace = ['web', 'db'].map((podName) => ({
      file: `${podName}.yaml`,
      namespace: 'default',
      podName,
      priority: 0,
      labels: {},
    })) as unknown as DrainerFacts['view']['inPlace'];
    const { leave } = await passes({ ...facts, view: { ...facts.view, inPlace } });
    assert.deepEqual([...leave.keys()], ['default/web']);
  });

  it('the drain gives back what it took when no maintenance is left', async () => {
    const { server, gaveBack, drainer } = open(['dead']);
    await drainer.pass(factsOf([]), new AbortController().signal);
    assert.deepEqual([gaveBack, server.asked], [[true], []]);
  });
});
