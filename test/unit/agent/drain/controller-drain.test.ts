import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ControllerDrainer } from '../../../../src/agent/drain/controller-drain.ts';
import type { DrainerFacts } from '../../../../src/agent/drain/drainer.ts';
import { CONTROLLER_NAMESPACE, SHUTDOWN_KIND_ANNOTATION } from '../../../../src/api/names.ts';
import type { BlockingPod, NodeMaintenance, NodeStatus } from '../../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import type { RetentionFacts } from '../../../../src/decide/static-pod/parked.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { byName, ownMaintenanceOf } from '../../../support/maintenance/objects.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';
import { drainingPhase } from '../../../support/agent/phase-facts.ts';

const PATH = '/api/v1/namespaces/shop/pods/web';

function shutdown(reason: BlockingPod['reason'], status: Partial<NodeStatus>, agent = 'n1'): NodeMaintenance {
  const annotations = { [SHUTDOWN_KIND_ANNOTATION]: 'poweroff' };
  const podsBlocking = [{ namespace: 'shop', name: 'web', reason, message: '', since: '' }];
  return {
    ...ownMaintenanceOf(agent, { annotations }, { nodeSelector: byName('n1') }),
    status: {
      nodeStatuses: [
        {
          nodeRef: { name: 'n1' },
          drainStartTime: '2026-01-01T00:00:00Z',
          budgetsNotAsked: true,
          podsBlocking,
          ...status,
        },
      ],
    },
  };
}

/** The requests of a pass where the node has this pod. */
async function asked(maintenance: NodeMaintenance, pod: Partial<Pod> = {}, status = 200) {
  const metadata = { name: 'web', namespace: 'shop', uid: 'u', ...pod.metadata };
  const path = PATH.replace('shop', metadata.namespace);
  const server = createObjectServer({ [path]: { metadata, spec: { nodeName: 'n1', ...pod.spec } } });
  if (status !== 200) for (const call of [`PATCH ${PATH}/status`, `DELETE ${PATH}`]) server.refused.set(call, status);
  const log = createRecordingLog();
  const clock = createSteppingClock();
  const drainer = new ControllerDrainer({ client: server.client, clock, log, nodeName: 'n1' }, partsOf({}));
  const { stalled } = await drainer.pass({ ...factsOf({ kind: 'watching' }), maintenances: [maintenance] }, SIGNAL);
  return { server, log, refusal: stalled };
}

describe('the pods that only budgets keep on a machine that goes down', () => {
  for (const reason of ['PodDisruptionBudget', 'EvictionFailed'] as const)
    it(`the agent ends them (${reason}) with their own grace period where the controller says that budgets are not asked`, async () => {
      const { server } = await asked(shutdown(reason, {}));
      assert.deepEqual(server.asked, [`GET ${PATH}`, `PATCH ${PATH}/status`, `DELETE ${PATH}`]);
      const marked = server.requests.at(-2)?.body as Pod | undefined;
      assert.equal(marked?.status?.conditions?.[0]?.type, 'DisruptionTarget', 'a Job does not count it as failed');
      assert.deepEqual(server.requests.at(-1)?.body, {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        preconditions: { uid: 'u' },
      });
    });

  it('the agent ends a replica of the controller although its budget is asked, and no other pod of its namespace', async () => {
    const path = `/api/v1/namespaces/${CONTROLLER_NAMESPACE}/pods/web`;
    for (const [name, deletes] of [
      ['nodemaint-controller', [`PATCH ${path}/status`, `DELETE ${path}`]],
      ['another', []],
    ] as const) {
      const metadata = { name: 'web', namespace: CONTROLLER_NAMESPACE, labels: { 'app.kubernetes.io/name': name } };
      const podsBlocking = [{ ...metadata, reason: 'PodDisruptionBudget', message: '', since: '' }] as const;
      const maintenance = shutdown('PodDisruptionBudget', { budgetsNotAsked: undefined, podsBlocking } as never);
      const { server } = await asked(maintenance, { metadata });
      assert.deepEqual(server.asked, [`GET ${path}`, ...deletes]);
    }
  });

  const left: readonly [string, NodeMaintenance][] = [
    ['where budgets are asked', shutdown('PodDisruptionBudget', { budgetsNotAsked: undefined } as never)],
    ['where the pod waits for something else', shutdown('Interceptor', {})],
    ['where a webhook denies it', shutdown('EvictionRefused', {})],
    ['where the machine stays up', shutdown('PodDisruptionBudget', {}, 'another')],
  ];
  for (const [where, maintenance] of left) {
    it(`the agent ends none ${where}`, async () => {
      assert.deepEqual((await asked(maintenance)).server.asked, []);
    });
  }

  it('the agent ends none of another node, and none twice', async () => {
    const elsewhere = await asked(shutdown('PodDisruptionBudget', {}), { spec: { nodeName: 'n2' } });
    assert.deepEqual(elsewhere.server.asked, [`GET ${PATH}`]);
    const metadata = { name: 'web', deletionTimestamp: '2026-01-01T00:00:00Z' };
    const ending = await asked(shutdown('PodDisruptionBudget', {}), { metadata });
    assert.deepEqual(ending.server.asked, [`GET ${PATH}`]);
  });

  it('the agent goes on where one is refused, and says so', async () => {
    const { log, refusal } = await asked(shutdown('PodDisruptionBudget', {}), {}, 403);
    assert.equal(log.lines.length, 1);
    assert.match(refusal ?? '', /refused (PATCH|DELETE) .*web/);
  });
});

const SIGNAL = new AbortController().signal;
const { name: NAME } = ownMaintenanceOf('n1').metadata;
const STATIC = [{ podType: 'Static', podPriority: 2_147_483_647 }] as const;
const PHASE = drainingPhase('cluster', { maintenance: NAME });

function factsOf(phase: Phase): DrainerFacts {
  const retention: RetentionFacts = {
    phase,
    onBoot: 'complete',
    clusterConfigured: true,
    own: [NAME],
    drains: [{ maintenance: NAME, reason: '', drainTargets: STATIC }],
    apiSilent: false,
  };
  return {
    record: { phase, offlineTargets: [] },
    view: { inPlace: [], ended: [], parked: [], live: undefined },
    retention,
    keepParked: () => true,
    saveTargets: () => Promise.resolve(),
    maintenances: [],
  };
}

interface Told {
  readonly isDrained?: boolean;
  readonly isCordoned?: boolean;
  readonly unasked?: readonly string[];
}

/** What the cluster tells of the drain. */
function partsOf({ isDrained = false, isCordoned = true, unasked = [] }: Told) {
  const leave = new Map([['default/web-n1', { maintenance: NAME, reason: '' }]]);
  const node = { metadata: { name: 'n1' }, spec: { unschedulable: isCordoned }, status: {} };
  const intent = { leave, targeted: new Set(['default/web-n1']), mirrors: undefined, unasked };
  return {
    own: { isDrained: () => isDrained, awaitsVolumes: () => false },
    ownNode: { observe: () => Promise.resolve({ kind: 'present', node } as const) },
    interceptor: { observe: () => Promise.resolve(intent) },
  };
}

function open(told: Told) {
  const { client } = createObjectServer();
  const dependencies = { client, clock: createSteppingClock(), log: createRecordingLog(), nodeName: 'n1' };
  const drainer = new ControllerDrainer(dependencies, partsOf(told));
  return { pass: (facts: DrainerFacts) => drainer.pass(facts, SIGNAL) };
}

describe('the drain by the controller', () => {
  it('the drain by the controller lets the static pods leave whose requests ask for it', async () => {
    const pass = await open({}).pass(factsOf(PHASE));
    assert.deepEqual([...pass.leave.keys()], ['default/web-n1']);
    assert.equal(pass.drained, false);
  });

  it('the drain by the controller is over when the maintenance of the shutdown says so', async () => {
    assert.equal((await open({ isDrained: true }).pass(factsOf(PHASE))).drained, true);
    assert.equal((await open({ isDrained: true }).pass(factsOf({ kind: 'watching' }))).drained, false);
    const untold = await open({ isDrained: true, unasked: ['d/p'] }).pass(factsOf(PHASE));
    assert.deepEqual([untold.drained, untold.stalled], [false, 'the API server does not tell of the static pods d/p']);
    const facts = factsOf(PHASE);
    const parked = [{ namespace: 'd', podName: 'p', thisBoot: true }] as never;
    const ending = { ...facts, view: { ...facts.view, parked, live: new Map([['d/p', ['s']]]) } };
    assert.equal((await open({ isDrained: true }).pass(ending)).drained, false, 'its containers run on');
  });

  it('the machine goes down since its drain began, or later on a node that cannot be cordoned', async () => {
    const drainStartTime = '2026-01-01T00:00:00Z';
    const nodeStatuses = [{ nodeRef: { name: 'n1' }, drainStartTime, drainTargets: STATIC }];
    const maintenances = [{ ...ownMaintenanceOf('n1'), status: { nodeStatuses } }];
    for (const isCordoned of [true, false]) {
      const { downSince } = await open({ isCordoned }).pass({ ...factsOf(PHASE), maintenances });
      assert.equal(downSince, Date.parse(drainStartTime) + (isCordoned ? 0 : 900_000));
    }
  });
});
