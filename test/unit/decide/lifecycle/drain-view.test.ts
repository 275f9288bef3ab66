import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import { DRAIN_REQUESTER, type EvictionStatus } from '../../../../src/api/lifecycle.ts';
import { MAINTENANCE_REQUESTER } from '../../../../src/api/names.ts';
import { whyBlocking } from '../../../../src/decide/drain/blocking-pods.ts';
import { failedAttempts } from '../../../../src/decide/eviction/api-answer.ts';
import { countEvictions } from '../../../../src/show/counts/evictions.ts';
import { askedFor } from '../../../../src/decide/lifecycle/dialect.ts';
import { countedView, drainRequests } from '../../../../src/decide/lifecycle/drain-view.ts';
import { evictorMessage } from '../../../../src/decide/lifecycle/translation.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { evictProgress } from '../../../../src/show/progress/eviction-progress.ts';
import { A, eviction, EVICTOR, NOW, pod, request, turns, UID } from './objects.ts';

const IMPERATIVE = 'imperative-eviction.k8s.io';
const TARGET = { name: 'web', uid: UID };
const SAID = failedAttempts(3, 'Blocked by PodDisruptionBudget db.');

/** The request of a drain in the newer dialect, with an Eviction of this status. */
function newer(status: EvictionStatus): EvictionRequest | undefined {
  const wish = request(DRAIN_REQUESTER);
  const requests = [{ ...wish, metadata: { ...wish.metadata, name: UID } }, request('foo.example.com/1')];
  return drainRequests({ older: [], requests, evictions: [eviction(status)] }).get(UID);
}

/** The same drain in the older dialect: A has completed, and the Eviction API refuses. */
function older(): EvictionRequest {
  const times = { startTime: rfc3339(NOW), heartbeatTime: rfc3339(NOW) };
  const condition = { type: 'Progressing', status: 'True', reason: 'InterceptorActive', message: '' } as const;
  return {
    metadata: { name: UID, namespace: 'shop', creationTimestamp: rfc3339(NOW - 60_000) },
    spec: { target: { pod: TARGET }, requesters: [{ name: MAINTENANCE_REQUESTER }] },
    status: {
      conditions: [{ ...condition, lastTransitionTime: rfc3339(NOW) }],
      targetInterceptors: [{ name: A }, { name: IMPERATIVE }],
      activeInterceptors: [IMPERATIVE],
      processedInterceptors: [A],
      interceptors: [
        { name: A, ...times, completionTime: rfc3339(NOW), message: 'done' },
        { name: IMPERATIVE, ...times, message: SAID },
      ],
    },
  };
}

function blocked(): EvictionStatus {
  const { targetResponders = [], ...rest } = turns('Completed', 'Active');
  const times = { startTime: rfc3339(NOW), heartbeatTime: rfc3339(NOW) };
  return {
    ...rest,
    targetResponders,
    responders: [
      { name: A, ...times, completionTime: rfc3339(NOW), message: 'done' },
      { name: EVICTOR, ...times, message: evictorMessage('web', SAID, false) },
    ],
  };
}

describe('a drain in two dialects', () => {
  it('its progress looks the same in both', () => {
    const [mine, other] = [newer(blocked()), older()].map((each) => evictProgress(TARGET, each, pod(), NOW + 1000));
    assert.deepEqual(mine, other);
    assert.equal(mine?.active?.blocked, true);
    assert.equal(mine.active.since, NOW);
  });

  it('it is blocked for the same reason in both', () => {
    const [mine, other] = [newer(blocked()), older()].map((each) => whyBlocking(pod(), each, undefined, NOW + 1000));
    assert.deepEqual(mine, other);
    assert.equal(mine?.reason, 'PodDisruptionBudget');
  });

  it('it is blocked by the lack of an interceptor when all responders have failed', () => {
    const message = 'All responders have completed without evicting the target';
    const end = { type: 'Failed', status: 'True', reason: 'NoFurtherResponder', message } as const;
    const conditions = [{ ...end, lastTransitionTime: rfc3339(NOW) }];
    const failed = newer({ ...turns('Completed', 'Completed'), conditions });
    assert.equal(whyBlocking(pod(), failed, undefined, NOW)?.reason, 'NoInterceptor');
    assert.equal(evictProgress(TARGET, failed, pod(), NOW).state, 'abandoned');
  });

  it('the metrics count both alike', () => {
    const view = countedView(eviction({ ...blocked(), requesters: [{ name: DRAIN_REQUESTER, intent: 'Eviction' }] }));
    const [mine, other] = [view ? [view] : [], [older()]].map((requests) => countEvictions(requests, [], []));
    assert.deepEqual(mine, other);
    assert.deepEqual(mine?.requesters, new Map([[MAINTENANCE_REQUESTER, 1]]));
  });

  it('a withdrawn requester is not counted', () => {
    const requesters = [{ name: 'foo.example.com/1', intent: 'Withdrawn' } as const];
    assert.deepEqual(countedView(eviction({ ...blocked(), requesters }))?.spec.requesters, []);
  });

  it('the request that is under way is shown where a pod has one in each', () => {
    const wish = request(DRAIN_REQUESTER);
    const requests = [{ ...wish, metadata: { ...wish.metadata, name: UID } }];
    const ended = { type: 'Canceled', status: 'True', reason: 'X', message: '', lastTransitionTime: '' } as const;
    const over = { ...older(), status: { conditions: [ended] } };
    const evictions = [eviction(turns('Active', 'Inactive'))];
    const active = (each: EvictionRequest): unknown =>
      drainRequests({ older: [each], requests, evictions }).get(UID)?.status?.activeInterceptors;
    assert.deepEqual(active(over), [A]);
    assert.deepEqual(active(older()), [IMPERATIVE]);
  });

  it('a preview names the responders of a pod', () => {
    assert.deepEqual(askedFor(pod()).names, [A, IMPERATIVE]);
    assert.deepEqual(askedFor(pod({}, { evictionResponders: [] })).names, [IMPERATIVE]);
  });
});
