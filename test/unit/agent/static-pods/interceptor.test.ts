import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMirrorPodReader, KubeletInterceptor } from '../../../../src/agent/static-pods/interceptor.ts';
import type { StaticPodView } from '../../../../src/agent/static-pods/view.ts';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import { KUBELET_INTERCEPTOR } from '../../../../src/api/names.ts';
import type { InterceptorStep } from '../../../../src/kube/eviction/interceptor.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

describe('the reader of the mirror pods', () => {
  it('the reader tells which pods are mirror pods, and asks for those of its node alone', async () => {
    const annotations = { 'kubernetes.io/config.mirror': 'x' };
    const items = [
      { metadata: { name: 'static-n', namespace: 'default', annotations }, spec: {} },
      { metadata: { name: 'ordinary', namespace: 'default' }, spec: {} },
    ];
    const server = createObjectServer({ '/api/v1/pods': { metadata: { resourceVersion: '1' }, items } });
    const read = createMirrorPodReader({ client: server.client, log: createRecordingLog(), nodeName: 'n' });
    const told = await read(new AbortController().signal);
    assert.deepEqual([...(told?.keys() ?? [])], ['default/static-n']);
    assert.match(decodeURIComponent(server.requests[0]?.path ?? ''), /fieldSelector=spec\.nodeName=n/);
  });
});

const SIGNAL = new AbortController().signal;
const POD = { file: 'web.yaml', namespace: 'default', podName: 'web-n', priority: 0, labels: {} } as never;
const VIEW: StaticPodView = { inPlace: [POD], ended: [], parked: [], live: undefined };
const DRAIN = { maintenance: 'm', reason: 'update', drainTargets: [{ podType: 'Static' }] } as never;
const KEY = 'default/web-n';
const MIRROR = {
  metadata: {
    name: 'web-n',
    namespace: 'default',
    uid: 'u-1',
    annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.hash': 'x' },
  },
  spec: { nodeName: 'n' },
};

function requestFor(uid: string, active: string = KUBELET_INTERCEPTOR): EvictionRequest {
  return {
    metadata: { name: uid, namespace: 'default', uid: `r-${uid}` },
    spec: { target: { pod: { name: 'web-n', uid } } },
    status: { activeInterceptors: [active] },
  };
}

function open(requests: readonly EvictionRequest[]) {
  const server = createObjectServer({ '/api/v1/pods': { metadata: { resourceVersion: '1' }, items: [MIRROR] } });
  const reports: InterceptorStep[] = [];
  const clock = createSteppingClock();
  const log = createRecordingLog();
  const report = async (_request: EvictionRequest, step: InterceptorStep): Promise<void> => void reports.push(step);
  const cluster = { maintenances: { get: () => undefined }, requests: { list: () => requests, report } };
  const interceptor = new KubeletInterceptor({ client: server.client, clock, log, nodeName: 'n' }, cluster);
  return { server, interceptor, reports, clock, log };
}

describe('the interceptor of static pods', () => {
  it('a pod leaves whose request is for its mirror pod, which is asked for once', async () => {
    const { interceptor, server } = open([requestFor('u-1')]);
    const { leave, targeted } = await interceptor.observe(VIEW, [DRAIN], false, SIGNAL);
    assert.deepEqual([[...leave.keys()], [...targeted]], [[KEY], [KEY]]);
    await interceptor.observe(VIEW, [DRAIN], false, SIGNAL);
    assert.equal(server.asked.length, 1);
  });

  it('a pod stays while another interceptor is active, and where no drain targets it', async () => {
    const other = open([requestFor('u-1', 'other.example.com')]);
    const { leave, targeted } = await other.interceptor.observe(VIEW, [DRAIN], false, SIGNAL);
    assert.deepEqual([leave.size, [...targeted]], [0, [KEY]]);
    const { leave: none } = await open([requestFor('u-1')]).interceptor.observe(VIEW, [], false, SIGNAL);
    assert.equal(none.size, 0);
  });

  const passedBy: EvictionRequest = {
    ...requestFor('u-1', 'imperative-eviction.k8s.io'),
    status: {
      targetInterceptors: [{ name: KUBELET_INTERCEPTOR }, { name: 'imperative-eviction.k8s.io' }],
      activeInterceptors: ['imperative-eviction.k8s.io'],
      processedInterceptors: [KUBELET_INTERCEPTOR],
    },
  };
  const canceled = { type: 'Canceled', status: 'True', reason: 'x', message: '', lastTransitionTime: '' } as const;
  const held: EvictionRequest = {
    ...requestFor('u-1'),
    metadata: { ...requestFor('u-1').metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/x'] },
    status: { activeInterceptors: [], conditions: [canceled] },
  };
  const spent: [string, EvictionRequest][] = [
    ['has passed this interceptor by', passedBy],
    ['is canceled and held by a finalizer', held],
  ];
  for (const [what, request] of spent) {
    it(`a pod leaves whose request ${what} while a drain targets it, without a report`, async () => {
      const { interceptor, reports } = open([request]);
      const { leave: none } = await interceptor.observe(VIEW, [], false, SIGNAL);
      assert.equal(none.size, 0);
      const { leave, targeted } = await interceptor.observe(VIEW, [DRAIN], false, SIGNAL);
      assert.deepEqual([[...leave.keys()], [...targeted]], [[KEY], [KEY]]);
      await interceptor.report(
        VIEW,
        [{ key: KEY, file: 'web.yaml', state: 'terminating', expectedFinishAt: 0 }],
        SIGNAL,
      );
      assert.deepEqual(reports, []);
    });
  }

  it('a request for an earlier mirror pod is logged once, checked again after 30 seconds, and gets no report', async () => {
    const { interceptor, server, reports, clock, log } = open([requestFor('u-0')]);
    for (const passMs of [0, 29_999, 1]) {
      clock.pass(passMs);
      const { leave } = await interceptor.observe(VIEW, [DRAIN], false, SIGNAL);
      assert.equal(leave.size, 0);
    }
    assert.deepEqual([server.asked.length, log.lines.length], [2, 1]);
    await interceptor.report(VIEW, [{ key: KEY, file: 'web.yaml', state: 'ended', expectedFinishAt: 0 }], SIGNAL);
    assert.deepEqual(reports, []);
  });

  it('a request waits, and one warning is logged, while the API server refuses the mirror pods', async () => {
    const { interceptor, server, log } = open([requestFor('u-1')]);
    server.refused.set('GET /api/v1/pods', 500);
    for (let iteration = 0; iteration < 2; iteration += 1) {
      const { leave, mirrors } = await interceptor.observe(VIEW, [DRAIN], false, SIGNAL);
      assert.deepEqual([leave.size, mirrors], [0, undefined]);
    }
    assert.equal(log.lines.length, 1);
  });

  it('pods that the API server does not know leave after a while, by the priority of their manifests', async () => {
    const { interceptor, server, clock, log } = open([]);
    const pod = (podName: string, priority: number): never =>
      ({ file: `${podName}.yaml`, namespace: 'kube-system', podName, priority, labels: {} }) as never;
    const [first, second] = [pod('proxy-n', 5), pod('etcd-n', 9)];
    const reached = { ...(DRAIN as object), drainTargets: [{ podType: 'Static', podPriority: 100 }] } as never;
    const leaves = async (view: Partial<StaticPodView>): Promise<readonly string[]> => {
      const { leave, unasked } = await interceptor.observe({ ...VIEW, ...view }, [reached], false, SIGNAL);
      assert.equal(unasked.length, view.inPlace?.length);
      return [...leave.keys()];
    };
    assert.deepEqual(await leaves({ inPlace: [POD, second, first] }), []);
    assert.equal(server.asked.length, 0);
    clock.pass(15_000);
    assert.deepEqual(await leaves({ inPlace: [POD, second, first] }), ['kube-system/proxy-n']);
    assert.match(log.lines.join('\n'), /does not know.*etcd-n.*proxy-n|does not know.*proxy-n.*etcd-n/);
    const parked = [{ ...(first as object), thisBoot: true }] as never;
    const live = new Map([['kube-system/proxy-n', ['s']]]);
    assert.deepEqual(await leaves({ inPlace: [POD, second], parked, live }), [], 'the other still ends');
    assert.deepEqual(await leaves({ inPlace: [POD, second], parked, live: new Map() }), ['kube-system/etcd-n']);
    assert.equal(server.asked.length, 1);
  });

  it('a report says that the pod terminates, that it has ended, or that its manifest cannot be moved', async () => {
    const { interceptor, reports } = open([requestFor('u-1')]);
    await interceptor.observe(VIEW, [DRAIN], false, SIGNAL);
    const progress = { key: KEY, file: 'web.yaml', expectedFinishAt: 5 };
    await interceptor.report(VIEW, [{ ...progress, state: 'terminating' }], SIGNAL);
    await interceptor.report(VIEW, [{ ...progress, state: 'ended' }], SIGNAL);
    await interceptor.report(VIEW, [], SIGNAL);
    await interceptor.report({ ...VIEW, refusal: 'not trusted' }, [], SIGNAL);
    assert.deepEqual(
      reports.map(({ kind }) => kind),
      ['working', 'completed', 'working'],
    );
    assert.match((reports[2] as { message: string }).message, /cannot be moved/);
  });
});
