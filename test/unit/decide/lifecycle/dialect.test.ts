import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import { DAEMON_SET_RESPONDER, DRAIN_REQUESTER, type LifecycleRequest } from '../../../../src/api/lifecycle.ts';
import { MAINTENANCE_REQUESTER } from '../../../../src/api/names.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { isFinished } from '../../../../src/decide/eviction/request.ts';
import { isRequestedBy, otherRequesters } from '../../../../src/decide/eviction/requester.ts';
import { type Dialect, dialectOf } from '../../../../src/decide/lifecycle/dialect.ts';
import { requestView, isOfDrain } from '../../../../src/decide/lifecycle/drain-view.ts';
import { staticPodResponder } from '../../../../src/decide/lifecycle/names.ts';
import { A, ended, eviction, pod, request, turns, UID } from './objects.ts';

const ANNOTATED = {
  annotations: { 'interceptor.evictionrequest.coordination.k8s.io/priority_a.example.com': '20000/x' },
};
const MIRROR = { annotations: { 'kubernetes.io/config.mirror': 'x' } };
const DAEMON = {
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true }],
};
const NOBODY = { evictionResponders: [] };

function dialect(of: Pod, more: Partial<Parameters<typeof dialectOf>[0]> = {}): Dialect {
  const nothing = { older: undefined, newer: undefined, isNameTaken: false, isUnattended: false } as const;
  return dialectOf({ pod: of, ...nothing, preferred: 'newer', isOurs: false, isLate: false, ...more });
}

function registered(name: string | undefined): Partial<Pod['spec']> {
  return { nodeName: 'n', evictionResponders: [{ name: name ?? '', priority: 10_000 }] };
}

/** The request of a drain. */
function asked(more: Partial<LifecycleRequest['spec']> = {}): LifecycleRequest {
  const known = request(DRAIN_REQUESTER, more);
  return { ...known, metadata: { ...known.metadata, name: UID } };
}

function viewOf(status = turns('Active', 'Inactive'), more: Partial<LifecycleRequest['spec']> = {}): EvictionRequest {
  const view = requestView(asked(more), eviction(status));
  assert.ok(view);
  return view;
}

describe('the dialect in which a drain asks a pod to leave', () => {
  it('a pod is asked in the preferred dialect where whoever can end it is registered there', () => {
    assert.equal(dialect(pod()), 'newer');
    assert.equal(dialect(pod({}, NOBODY)), 'newer');
    assert.equal(dialect(pod(), { preferred: 'older' }), 'older');
    assert.equal(dialect(pod(MIRROR)), 'older');
    assert.equal(dialect(pod(MIRROR, registered(staticPodResponder('n')))), 'newer');
    assert.equal(dialect(pod(MIRROR, registered(staticPodResponder('another')))), 'older');
    assert.equal(dialect(pod(DAEMON)), 'older');
    assert.equal(dialect(pod(DAEMON, registered(DAEMON_SET_RESPONDER))), 'newer');
    assert.equal(dialect(pod({}, { schedulingGroup: { podGroupName: 'g' } })), 'older');
  });

  it('a pod that names its interceptors by annotation alone is asked where these are heard', () => {
    assert.equal(dialect(pod(ANNOTATED, NOBODY)), 'older');
    assert.equal(dialect(pod(ANNOTATED)), 'newer');
    assert.equal(dialect(pod({ ...DAEMON, ...ANNOTATED }, registered(DAEMON_SET_RESPONDER))), 'older');
  });

  it('an eviction that is under way goes on in its dialect, whichever is preferred', () => {
    const older: EvictionRequest = {
      metadata: { name: UID, namespace: 'shop' },
      spec: { target: { pod: { name: 'web', uid: UID } }, requesters: [{ name: MAINTENANCE_REQUESTER }] },
    };
    assert.equal(dialect(pod(), { older }), 'older');
    const canceled = { type: 'Canceled', status: 'True', reason: 'X', message: '', lastTransitionTime: '' } as const;
    assert.equal(dialect(pod(), { older: { ...older, status: { conditions: [canceled] } } }), 'newer');
    assert.equal(dialect(pod(), { newer: viewOf(), preferred: 'older' }), 'newer');
    const withdrawn = viewOf(turns('Active', 'Inactive'), { intent: 'Withdrawn' });
    assert.equal(dialect(pod(), { newer: withdrawn, preferred: 'older' }), 'older');
  });

  it('a request that is being deleted, or whose name another one has, leaves the pod to the older dialect', () => {
    const view = viewOf();
    const deleted = { ...view, metadata: { ...view.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    assert.equal(dialect(pod(), { newer: deleted }), 'older');
    assert.equal(dialect(pod(), { isNameTaken: true }), 'older');
  });

  it('a request on which nobody works leaves the pod to the older dialect', () => {
    assert.equal(dialect(pod(), { newer: viewOf(), isUnattended: true }), 'older');
    assert.equal(dialect(pod(), { newer: viewOf(turns('Completed', 'Active')), isUnattended: true }), 'older');
  });

  it('a pod that only this program may end is asked in the older dialect, after those whose turn it is', () => {
    assert.equal(dialect(pod(), { isOurs: true }), 'older');
    assert.equal(dialect(pod(), { newer: viewOf(), isOurs: true }), 'newer');
    assert.equal(dialect(pod(), { newer: viewOf(turns('Completed', 'Active')), isOurs: true }), 'older');
  });

  it('a deadline ends the turns of others by the older dialect, and leaves the Eviction API its turn', () => {
    assert.equal(dialect(pod(), { newer: viewOf(), isLate: true }), 'older');
    assert.equal(dialect(pod(), { newer: viewOf(turns('Completed', 'Active')), isLate: true }), 'newer');
  });
});

describe('the request of a drain as the engine sees it', () => {
  it('only a request of drains that is named by its pod is theirs', () => {
    assert.ok(isOfDrain(asked()));
    assert.ok(!isOfDrain(request(DRAIN_REQUESTER)));
    assert.ok(!isOfDrain({ ...request(), metadata: asked().metadata }));
  });

  it('the engine sees who asks, whose turn it is, and the end of the Eviction', () => {
    const requesters = [
      { name: DRAIN_REQUESTER, intent: 'Eviction' },
      { name: 'x.example.com/y', intent: 'Eviction' },
      { name: 'x.example.com/z', intent: 'Withdrawn' },
    ] as const;
    const view = viewOf({ ...turns('Active', 'Inactive'), requesters });
    assert.ok(isRequestedBy(view, MAINTENANCE_REQUESTER));
    assert.deepEqual(otherRequesters(view, MAINTENANCE_REQUESTER), ['x.example.com/y']);
    assert.deepEqual(view.status?.activeInterceptors, [A]);
    assert.equal(isFinished(view), false);
    const { status } = ended(eviction(turns('Interrupted', 'Inactive')), 'PodDeleted');
    assert.equal(isFinished(viewOf(status)), true);
    assert.equal(isRequestedBy(viewOf(undefined, { intent: 'Withdrawn' }), MAINTENANCE_REQUESTER), false);
  });
});
