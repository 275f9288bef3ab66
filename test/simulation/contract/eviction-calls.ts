/** Calls on pods and on EvictionRequests. */
import { EVICTION_REQUEST_API_VERSION } from '../../../src/api/names.ts';
import type { KubeRequest } from '../../../src/kube/client.ts';
import { collectionPath, PODS } from '../../../src/kube/resource.ts';
import type { Random } from '../../chaos/random.ts';
import {
  type Call,
  FINALIZER,
  guardOf,
  MANAGERS,
  merge,
  NAMESPACE,
  pod,
  requestOf,
  type Seen,
  TIME,
  uidOf,
} from './call.ts';

const TARGETS = [{ name: MANAGERS[0] }, { name: 'imperative-eviction.k8s.io' }];
/** The first status of an EvictionRequest, which the rules of its CRD allow. */
const FIRST_STATUS = {
  targetInterceptors: TARGETS,
  interceptors: TARGETS.map(({ name }) => ({ name, message: '' })),
  activeInterceptors: [MANAGERS[0]],
};

function statusOf(seen: Seen, path: string): unknown {
  return (seen.get(path) as { status?: unknown } | undefined)?.status;
}

export function podCall(random: Random): Call {
  const name = random.pick(['p0', 'p1', 'p2']);
  const path = pod(name);
  const what = random.pick([
    'create',
    'create',
    'run',
    'hold',
    'free',
    'delete',
    'delete now',
    'mark',
    'evict',
    'evict',
  ]);
  const [manager, isMarked, isRightUid] = [random.pick(MANAGERS), random.whole(2) === 0, random.whole(4) > 0];
  const [isBound, graceSec] = [random.whole(4) > 0, random.pick([0, 5, 30])];
  const requests: Readonly<Record<string, (seen: Seen) => KubeRequest>> = {
    create: () => ({
      method: 'POST',
      path: collectionPath(PODS, NAMESPACE),
      body: {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace: NAMESPACE, labels: { app: 'a' } },
        spec: {
          ...(isBound ? { nodeName: 'n0' } : {}),
          schedulerName: 'nobody',
          terminationGracePeriodSeconds: graceSec,
          containers: [{ name: 'c', image: 'none.invalid/none' }],
        },
      },
    }),
    run: () => {
      const conditions = [{ type: 'Ready', status: isMarked ? 'True' : 'False' }];
      const body = { status: { phase: 'Running', conditions } };
      return { method: 'PATCH', path: `${path}/status`, body, patch: { kind: 'strategic' } };
    },
    hold: () => merge(path, { metadata: { finalizers: [FINALIZER] } }),
    free: () => merge(path, { metadata: { finalizers: null } }),
    delete: (seen) => {
      const preconditions = isRightUid ? { uid: uidOf(seen, name) } : { uid: 'another' };
      return { method: 'DELETE', path, body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions } };
    },
    'delete now': () => ({
      method: 'DELETE',
      path,
      body: { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 },
    }),
    mark: (seen) => {
      const annotations = isMarked ? { 'contract.example.com/mark': 'true' } : {};
      const uid = isRightUid ? uidOf(seen, name) : 'another';
      const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: NAMESPACE, uid, annotations } };
      return { method: 'PATCH', path, body, patch: { kind: 'apply', manager } };
    },
    evict: (seen) => {
      const uid = isRightUid ? uidOf(seen, name) : 'another';
      const deleteOptions = { preconditions: { uid } };
      const body = {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name, namespace: NAMESPACE },
        deleteOptions,
      };
      return { method: 'POST', path: `${path}/eviction`, body };
    },
  };
  return { what: `${what} ${name}`, request: requests[what] ?? (() => ({ method: 'GET', path })) };
}

export function requestCall(random: Random): Call {
  const name = random.pick(['p0', 'p1', 'p2']);
  const what = random.pick(['ask', 'ask', 'ask', 'withdraw', 'label', 'report', 'status', 'delete', 'hold', 'free']);
  const guard = guardOf(random);
  const manager = random.pick(MANAGERS);
  const [hasUid, message] = [random.whole(2) === 0, random.pick(['x', 'y'])];
  const labels = random.pick<object>([{ app: 'a' }, { app: 'b', more: 'c' }, {}]);
  const isReplaced = random.whole(8) === 0;
  const apply = (seen: Seen, more: object, by: string, subresource = ''): KubeRequest => {
    const uid = isReplaced ? 'another' : seen.get(requestOf(seen, name))?.metadata.uid;
    const metadata = { name: uidOf(seen, name), namespace: NAMESPACE, ...(hasUid && uid !== undefined ? { uid } : {}) };
    const path = `${requestOf(seen, name)}${subresource}`;
    const body = { apiVersion: EVICTION_REQUEST_API_VERSION, kind: 'EvictionRequest', metadata, ...more };
    return { method: 'PATCH', path, body, patch: { kind: 'apply', manager: by } };
  };
  const target = (seen: Seen): object => ({ pod: { name, uid: uidOf(seen, name) } });
  const requests: Readonly<Record<string, (seen: Seen) => KubeRequest>> = {
    ask: (seen) => apply(seen, { spec: { target: target(seen), requesters: [{ name: manager }] } }, manager),
    withdraw: (seen) => apply(seen, { spec: { target: target(seen), requesters: [] } }, manager),
    label: (seen) => {
      const plain = apply(seen, {}, 'labels.example.com');
      const body = plain.body as { metadata: object };
      // An apply without the spec would make no request: it goes to one that is there only.
      const uid = seen.get(requestOf(seen, name))?.metadata.uid ?? 'no-uid';
      return { ...plain, body: { ...body, metadata: { ...body.metadata, uid, labels } } };
    },
    report: (seen) => {
      const path = requestOf(seen, name);
      if (statusOf(seen, path) === undefined) return { method: 'GET', path };
      const entry = { name: MANAGERS[0], startTime: TIME, heartbeatTime: TIME, message };
      return apply(seen, { status: { interceptors: [entry] } }, MANAGERS[0], '/status');
    },
    status: (seen) => {
      const path = requestOf(seen, name);
      const progress = { type: 'Progressing', status: hasUid ? 'True' : 'False', reason: 'R', message };
      const conditions = [{ ...progress, lastTransitionTime: TIME }];
      const status = statusOf(seen, path) === undefined ? { ...FIRST_STATUS, conditions } : { conditions };
      return merge(`${path}/status`, { metadata: { ...guard(seen, path), labels }, status });
    },
    delete: (seen) => {
      const path = requestOf(seen, name);
      const preconditions = { uid: seen.get(path)?.metadata.uid ?? 'none', ...guard(seen, path) };
      return { method: 'DELETE', path, body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions } };
    },
    hold: (seen) => merge(requestOf(seen, name), { metadata: { finalizers: [FINALIZER] } }),
    free: (seen) => merge(requestOf(seen, name), { metadata: { finalizers: null } }),
  };
  return {
    what: `${what} request of ${name}`,
    request: requests[what] ?? requests['ask'] ?? (() => ({ method: 'GET', path: '/' })),
  };
}
