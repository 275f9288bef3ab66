import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import type { EvictProgress } from '../../../../src/show/progress/eviction-progress.ts';
import { decideRequesterStep, evictionWarning } from '../../../../src/decide/eviction/requester.ts';
import {
  A,
  at,
  ended,
  IMPERATIVE,
  look,
  MINUTE,
  pod,
  request,
  T0,
  underWay,
} from '../../../support/eviction/fixtures.ts';

describe('the progress of an eviction', () => {
  it('before its first heartbeat an interceptor has 20 minutes from its activation, then from the heartbeat', () => {
    const silent = look(underWay(), pod(), 21 * MINUTE).active;
    assert.equal(silent?.since, T0 + 20 * MINUTE);
    assert.equal(silent?.heartbeatAt, undefined);
    assert.deepEqual([silent?.passesTo, silent?.passesOnAt], [IMPERATIVE, T0 + 40 * MINUTE]);
    const beating = look(underWay({ heartbeatTime: at(25 * MINUTE) }), pod(), 26 * MINUTE).active;
    assert.equal(beating?.passesOnAt, T0 + 45 * MINUTE);
    assert.deepEqual([beating?.place, beating?.count], [2, 3]);
  });

  it('a heartbeat in the future does not count', () => {
    const active = look(underWay({ heartbeatTime: at(300 * MINUTE) }), pod(), 21 * MINUTE).active;
    assert.equal(active?.heartbeatAt, undefined);
    assert.equal(active?.passesOnAt, T0 + 40 * MINUTE);
  });

  it('interceptors are told apart by how they ended', () => {
    const states = look(underWay(), pod(), 0).interceptors.map(({ state }) => state);
    assert.deepEqual(states, ['silent', 'active', 'next']);
  });

  const words = 'Could not evict a pod due to failing eviction requests, number of retries: 2. Blocked by x';
  const cases: readonly [string, EvictionRequest | undefined, Pod | undefined, number, EvictProgress['state']][] = [
    ['is requested as long as no controller has taken it up', request(), pod(), 0, 'requested'],
    ['is active while one of its interceptors is', underWay({ message: words }), pod(), 0, 'active'],
    [
      'is abandoned when the last interceptor has completed in vain',
      request({ targetInterceptors: [{ name: A }], activeInterceptors: [] }),
      pod(),
      0,
      'abandoned',
    ],
    ['is evicted when its condition says so', ended('Evicted', 'x'), undefined, 0, 'evicted'],
    ['is canceled when its condition says so', ended('Canceled', 'x'), pod(), 0, 'canceled'],
    ['is canceled when somebody has deleted the request', undefined, pod(), 0, 'canceled'],
    ['is over when the pod is gone, whatever the request says', ended('Canceled', 'not found'), undefined, 0, 'gone'],
    ['is over when another pod has the name', request(), pod({ uid: 'u-2' }), 0, 'gone'],
    ['is over when the pod has failed', request(), { ...pod(), status: { phase: 'Failed' } }, 0, 'gone'],
  ];
  for (const [what, theRequest, thePod, ms, state] of cases) {
    it(`an eviction ${what}`, () => {
      assert.equal(look(theRequest, thePod, ms).state, state);
    });
  }

  it('a request that no controller takes up is remarked on after a while', () => {
    assert.equal(look(request(), pod(), 14_000).message, 'No controller has taken it up yet.');
    const said = look(request(), pod(), 16_000).message;
    assert.equal(said, 'No controller has taken it up; is nodemaint controller running?');
  });

  it('an interceptor that is refused the eviction is blocked', () => {
    const progress = look(underWay({ message: words }), pod(), 21 * MINUTE);
    assert.equal(progress.active?.blocked, true);
    assert.equal(look(underWay(), pod(), 21 * MINUTE).active?.blocked, false);
  });
});

describe('the step of a requester', () => {
  const own = 'cli.nodemaintenance.x-k8s.io';

  it('pods of a workload are refused before anything is asked for', () => {
    const member = { ...pod(), spec: { schedulingGroup: {} } };
    assert.equal(decideRequesterStep(member, undefined, own).kind, 'refused');
  });

  it('a request that is held by its finalizers is not written to', () => {
    const held = { ...request(), metadata: { name: 'u-1', deletionTimestamp: at(0), finalizers: ['x.example.com/y'] } };
    const step = decideRequesterStep(pod(), held, own);
    assert.equal(step.kind, 'refused');
    assert.match(step.kind === 'refused' ? step.message : '', /x\.example\.com\/y/);
  });

  it('an evicted request means done, a canceled one is replaced, another is joined', () => {
    assert.equal(decideRequesterStep(pod(), ended('Evicted', 'x'), own).kind, 'ended');
    assert.equal(decideRequesterStep(pod(), ended('Canceled', 'x'), own).kind, 'replace');
    assert.deepEqual(decideRequesterStep(pod(), request(undefined, ['a.example.com']), own), {
      kind: 'apply',
      already: false,
    });
    assert.deepEqual(decideRequesterStep(pod(), request(), own), { kind: 'apply', already: true });
  });

  it('static and DaemonSet pods come with a warning', () => {
    assert.equal(evictionWarning(pod()), undefined);
    assert.match(evictionWarning(pod({ annotations: { 'kubernetes.io/config.mirror': 'x' } })) ?? '', /is static/);
  });
});
