import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InterceptorSilence } from '../../../../../src/agent/drain/self/interceptor-silence.ts';
import { PodSteps } from '../../../../../src/agent/drain/self/pod-steps.ts';
import { CONTROLLER_NAMESPACE } from '../../../../../src/api/names.ts';
import type { EvictionRequest, EvictionRequestStatus } from '../../../../../src/api/eviction-request.ts';
import type { NodeMaintenance } from '../../../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../../../src/api/pod.ts';
import { DEFAULT_EVICTION_SETTINGS, type EvictionSettings } from '../../../../../src/decide/eviction/settings.ts';
import { decideNode, type NodePlan } from '../../../../../src/decide/node/plan.ts';
import { ownMaintenanceOf } from '../../../../support/maintenance/objects.ts';
import { SILENT_LOG } from '../../../../support/silent-log.ts';
import { createObjectServer } from '../../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const always = (): Promise<boolean> => Promise.resolve(true);
const MAINTENANCE: NodeMaintenance = {
  metadata: { name: 'm', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {
    stage: 'Drain',
    nodeSelector: { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }] },
  },
};
const CAUSE = { reason: 'DisruptionBudget', message: 'The disruption budget web needs 1 healthy pods and has 1.' };
const EVICT_WEB = 'POST /api/v1/namespaces/default/pods/web/eviction';
const DAEMON_SET_OWNER = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logs', uid: 'ds', controller: true };

function podOf(name: string, metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
    },
    spec: { nodeName: 'n1' },
  };
}

/** One pass over the pods of the node, with the targets of its drain recorded. */
function open(
  pods: readonly Pod[],
  requests: readonly EvictionRequest[] = [],
  settings: EvictionSettings = DEFAULT_EVICTION_SETTINGS,
  maintenance = MAINTENANCE,
) {
  const server = createObjectServer();
  const clock = createSteppingClock();
  const dependencies = { client: server.client, clock, log: SILENT_LOG, nodeName: 'n1', onChange: () => undefined };
  const own = new PodSteps(dependencies, () => settings, SIGNAL);
  const silence = new InterceptorSilence(clock);
  const plan = (node?: Node): NodePlan =>
    decideNode({
      nodeName: 'n1',
      node,
      pods,
      staticPods: [],
      maintenances: [maintenance],
      requests,
      attempts: own.attempts(pods),
      volumes: { names: [], since: undefined, maxWaitMs: 0 },
      silentUntil: (pod, request) => silence.until(pod, request),
      why: 'x',
      now: clock.now(),
    });
  const pass = async (mayAct = always, notAsked?: string) => {
    const { drains, steps, awaiting } = plan();
    const recorded = drains.map(({ resolution }) => ({
      maintenance: 'm',
      reason: '',
      drainTargets: resolution.nodes[0]?.drainTargets ?? [],
    }));
    return { awaiting, waiting: await own.take(steps, { recorded, mayAct, whyNotAsked: notAsked }, SIGNAL) };
  };
  return { server, clock, pass, blocking: (node?: Node) => plan(node).blocking };
}

describe('the end of pods on a node that its agent drains', () => {
  it('a pod is evicted, and asked once while it ends', async () => {
    const { server, pass } = open([podOf('web')]);
    const { waiting } = await pass();
    await pass();
    assert.deepEqual(server.asked, ['POST /api/v1/namespaces/default/pods/web/eviction']);
    assert.equal(waiting[0]?.message, 'Pod web is terminating.');
  });

  it('a replica of the controller is ended in spite of its budget on a machine that goes down, and in no drain of a person', async () => {
    const namespace = CONTROLLER_NAMESPACE;
    const replica = podOf('c', { namespace, labels: { 'app.kubernetes.io/name': 'nodemaint-controller' } });
    const path = `/api/v1/namespaces/${namespace}/pods/c`;
    for (const [maintenance, isEnded] of [
      [MAINTENANCE, false],
      [ownMaintenanceOf('n1'), true],
    ] as const) {
      const { server, pass } = open([replica], [], DEFAULT_EVICTION_SETTINGS, maintenance);
      server.answers.set(`POST ${path}/eviction`, {
        status: 429,
        body: { message: 'Cannot evict pod.', details: { causes: [CAUSE] } },
      });
      await pass();
      assert.equal(server.asked.includes(`DELETE ${path}`), isEnded, server.asked.join());
    }
  });

  it('a pod of a DaemonSet is deleted, and no pod of the same name', async () => {
    const { server, pass } = open([podOf('logs-1', { ownerReferences: [DAEMON_SET_OWNER] })]);
    const { waiting } = await pass();
    assert.deepEqual(server.asked, ['DELETE /api/v1/namespaces/default/pods/logs-1']);
    const body = server.requests[0]?.body as { preconditions?: object };
    assert.deepEqual(body.preconditions, { uid: 'uid-logs-1' });
    assert.equal(waiting[0]?.message, 'is being deleted');
  });

  it('a pod whose eviction fails waits for the API server, also between two attempts', async () => {
    const { server, clock, pass } = open([podOf('web')]);
    server.answers.set(EVICT_WEB, { status: 500, body: { message: 'failed calling webhook "a.b.c"' } });
    for (const asked of [1, 1, 2]) {
      const { waiting } = await pass();
      assert.deepEqual([waiting[0]?.on, server.asked.length], ['API server', asked]);
      clock.pass(1_500);
    }
    server.answers.delete(EVICT_WEB);
    clock.pass(60_000);
    assert.equal((await pass()).waiting[0]?.on, 'imperative-eviction.k8s.io');
  });

  for (const [message, isEnded] of [
    ['failed calling webhook "a.b.c"', true],
    ['admission webhook "a.b.c" denied the request: no', false],
  ] as const)
    it(`a pod is ${isEnded ? 'deleted' : 'left'} where no other node stays, and its eviction is answered: ${message}`, async () => {
      const { server, pass } = open([podOf('web')]);
      server.answers.set(EVICT_WEB, { status: 500, body: { message } });
      await pass(undefined, 'no other node stays');
      assert.equal(server.asked.includes('DELETE /api/v1/namespaces/default/pods/web'), isEnded);
    });

  it('a pod is left to a controller that is alive again', async () => {
    const { server, pass } = open([podOf('web')]);
    await pass(() => Promise.resolve(false));
    assert.deepEqual(server.asked, []);
  });

  it('a pod waits for the interceptor that its request has come to', async () => {
    const request: EvictionRequest = {
      metadata: { name: 'uid-web', namespace: 'default' },
      spec: { target: { pod: { name: 'web', uid: 'uid-web' } } },
      status: { activeInterceptors: ['database.example.com'] },
    };
    const { server, pass } = open([podOf('web')], [request]);
    const { waiting } = await pass();
    assert.deepEqual(server.asked, []);
    assert.equal(waiting[0]?.on, 'database.example.com');
  });

  const MINUTE = 60_000;
  const NAMES_ONE = {
    annotations: { 'interceptor.evictionrequest.coordination.k8s.io/priority_x.example.com': '1/x' },
  };
  const requestWith = (heartbeatTime: string): EvictionRequest => ({
    metadata: { name: 'uid-web', namespace: 'default' },
    spec: { target: { pod: { name: 'web', uid: 'uid-web' } } },
    status: { activeInterceptors: ['x.example.com'], interceptors: [{ name: 'x.example.com', heartbeatTime }] },
  });

  it('a pod whose interceptor has been silent for 20 minutes is evicted, as a controller would have it', async () => {
    for (const requests of [[], [requestWith('2026-01-01T00:00:00Z')]]) {
      const { server, clock, pass } = open([podOf('web', NAMES_ONE)], requests);
      const { waiting } = await pass();
      assert.deepEqual([waiting[0]?.on, waiting[0]?.expectedAt], ['x.example.com', clock.now() + 20 * MINUTE]);
      clock.pass(20 * MINUTE - 1);
      await pass();
      assert.deepEqual(server.asked, []);
      clock.pass(1);
      await pass();
      assert.deepEqual(server.asked, [EVICT_WEB]);
    }
  });

  const spent: [string, Pod, EvictionRequestStatus, string][] = [
    [
      'a DaemonSet whose request has passed the interceptor of DaemonSets by',
      podOf('web', { ownerReferences: [DAEMON_SET_OWNER] }),
      {
        activeInterceptors: ['imperative-eviction.k8s.io'],
        processedInterceptors: ['daemonset.apps.k8s.io'],
        targetInterceptors: [{ name: 'daemonset.apps.k8s.io' }, { name: 'imperative-eviction.k8s.io' }],
      },
      'DELETE /api/v1/namespaces/default/pods/web',
    ],
    [
      'no other owner whose last interceptor was completed by somebody',
      podOf('web', {
        annotations: { 'interceptor.evictionrequest.coordination.k8s.io/priority_x.example.com': '1/x' },
      }),
      {
        activeInterceptors: [],
        processedInterceptors: ['x.example.com', 'imperative-eviction.k8s.io'],
        targetInterceptors: [{ name: 'x.example.com' }, { name: 'imperative-eviction.k8s.io' }],
      },
      EVICT_WEB,
    ],
  ];
  for (const [what, pod, status, expected] of spent) {
    it(`a pod leaves of ${what}`, async () => {
      const target = { pod: { name: 'web', uid: 'uid-web' } };
      const request: EvictionRequest = {
        metadata: { name: 'uid-web', namespace: 'default' },
        spec: { target },
        status,
      };
      const { server, pass } = open([pod], [request]);
      await pass();
      assert.deepEqual(server.asked, [expected]);
    });
  }

  const refusals: [string, number, object, string][] = [
    ['a budget blocks', 429, { message: 'Cannot evict pod.', details: { causes: [CAUSE] } }, 'PodDisruptionBudget'],
    ['a webhook refuses to evict', 403, { message: 'denied the request: no' }, 'EvictionRefused'],
    ['a webhook cannot be asked about', 500, { message: 'failed calling webhook' }, 'EvictionFailed'],
  ];
  for (const [title, status, body, reason] of refusals) {
    it(`the agent names a pod that ${title} since its first attempt`, async () => {
      const pod = podOf('web');
      const { server, clock, pass, blocking } = open([pod]);
      server.answers.set(EVICT_WEB, { status, body });
      await pass();
      clock.pass(60_000);
      await pass();
      assert.deepEqual(
        blocking().map((each) => [each.name, each.reason, each.since]),
        [['web', reason, '2026-01-01T00:00:00Z']],
      );
    });
  }

  const LEFT = { annotations: { 'coordination.x-k8s.io/evict-policy': 'ControllerTakeOver' } };
  const MARKED = { annotations: { ...LEFT.annotations, 'kubernetes.io/pod-evict-wanted': 'true' } };
  for (const [what, metadata] of [
    ['nobody could mark for its controller', LEFT],
    ['a controller had marked that is dead', MARKED],
  ] as const) {
    it(`a pod that ${what} is left to its own controller for a minute, and then evicted`, async () => {
      const { server, clock, pass } = open([podOf('web', metadata)]);
      for (const passMs of [0, 1_000, 58_999]) {
        clock.pass(passMs);
        const { waiting } = await pass();
        assert.match(waiting[0]?.message ?? '', /left to its controller \(ControllerTakeOver\)/);
        assert.deepEqual(server.asked, []);
      }
      clock.pass(1);
      await pass();
      assert.deepEqual(server.asked, [EVICT_WEB]);
    });
  }

  it('a pod is left to its own controller, or to one that promises its end, as the options of the controller say', async () => {
    const settings = { takeOverMs: 5_000, promiseMs: 7_000, promiseWords: ['Migration started'] };
    const annotations = { 'descheduler.alpha.kubernetes.io/request-evict-only': '' };
    const { server, clock, pass } = open([podOf('web', LEFT), podOf('vm', { annotations })], [], settings);
    const evictVm = EVICT_WEB.replace('web', 'vm');
    server.answers.set(evictVm, { status: 429, body: { message: 'denied the request: Migration started' } });
    for (let second = 0; second < 7; second += 1) {
      await pass();
      assert.deepEqual(server.asked, second < 5 ? [evictVm] : [evictVm, EVICT_WEB]);
      clock.pass(1_000);
    }
    await pass();
    assert.deepEqual(server.asked, [evictVm, EVICT_WEB, evictVm]);
  });

  const TWO = {
    message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
  };
  const BLOCKED = { message: 'Cannot evict pod.', details: { causes: [CAUSE] } };
  for (const [what, status, body] of [
    ['one budget', 429, BLOCKED],
    ['two budgets', 500, TWO],
  ] as const) {
    it(`a pod that ${what} blocked for an hour is evicted a minute after that is over`, async () => {
      const { server, clock, pass } = open([podOf('web')]);
      server.answers.set(EVICT_WEB, { status, body });
      for (let second = 0; second < 3_600; second += 1) {
        clock.pass(1_000);
        await pass();
      }
      const asked = server.asked.length;
      assert.ok(asked >= 60 && asked <= 70, `${asked} attempts in an hour`);
      server.answers.set(EVICT_WEB, { status: 201, body: {} });
      clock.pass(60_000);
      const { waiting } = await pass();
      assert.deepEqual([server.asked.length, waiting[0]?.message], [asked + 1, 'Pod web is terminating.']);
    });
  }

  it('the agent names no pod whose eviction the API server only postpones', async () => {
    const pod = podOf('web');
    const { server, clock, pass, blocking } = open([pod]);
    const busy = { status: 429, body: { message: 'too many requests' } };
    server.answers.set(EVICT_WEB, busy);
    await pass();
    assert.deepEqual(blocking(), []);
    server.answers.set(EVICT_WEB, { status: 403, body: { message: 'no' } });
    clock.pass(60_000);
    await pass();
    server.answers.set(EVICT_WEB, busy);
    clock.pass(60_000);
    await pass();
    assert.equal(blocking().length, 1, 'it was refused before');
  });

  const AWAY = { metadata: { name: 'n1' }, status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } } as const;
  const ENDED = { deletionTimestamp: '2025-12-31T23:00:00Z', deletionGracePeriodSeconds: 30 };
  const late: [string, Partial<Pod['metadata']>, Node | undefined, string][] = [
    ['has a finalizer', { ...ENDED, finalizers: ['example.com/keep'] }, undefined, 'Finalizer'],
    ['is on a node that is not Ready', { ...ENDED, finalizers: ['example.com/keep'] }, AWAY, 'NodeUnreachable'],
    ['has not ended in its grace period', ENDED, undefined, 'NotEnding'],
  ];
  for (const [title, metadata, node, reason] of late) {
    it(`the agent names a terminating pod that ${title}`, () => {
      const pod = podOf('web', metadata);
      assert.equal(open([pod]).blocking(node)[0]?.reason, reason);
    });
  }
});
