/** The calls by which the model of the API server is compared with a real one: drawn by a seed, the same for both. */
import type { KubeObject } from '../../../src/api/meta.ts';
import { EVICTION_REQUEST_API_VERSION, NODE_MAINTENANCE_API_VERSION } from '../../../src/api/names.ts';
import type { KubeRequest } from '../../../src/kube/client.ts';
import {
  collectionPath,
  DISRUPTION_BUDGETS,
  EVICTION_REQUESTS,
  LEASES,
  NODE_MAINTENANCES,
  NODES,
  objectPath,
  PODS,
} from '../../../src/kube/resource.ts';
import type { Random } from '../../chaos/random.ts';
import { byName } from '../../support/maintenance/objects.ts';

export const NAMESPACE = 'contract';
const MANAGERS = ['one.example.com', 'two.example.com'] as const;
const FINALIZER = 'contract.example.com/hold';

/** What the server that is called has said last of an object, by its path. */
export type Seen = ReadonlyMap<string, KubeObject>;

/** A call; UIDs and revisions in it are those of the server that it goes to. */
export interface Call {
  readonly what: string;
  request(seen: Seen): KubeRequest;
}

const pod = (name: string): string => objectPath(PODS, { name, namespace: NAMESPACE });
const uidOf = (seen: Seen, name: string): string => seen.get(pod(name))?.metadata.uid ?? 'no-uid';
const requestOf = (seen: Seen, name: string): string =>
  objectPath(EVICTION_REQUESTS, { name: uidOf(seen, name), namespace: NAMESPACE });
const merge = (path: string, body: object): KubeRequest => ({ method: 'PATCH', path, body, patch: { kind: 'merge' } });

const TIME = '2026-01-01T00:00:00Z';
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

/** A resourceVersion to expect: none, that of the last answer, or one that never was. */
function guardOf(random: Random): (seen: Seen, path: string) => object {
  const which = random.pick(['none', 'none', 'last', 'wrong']);
  return (seen, path) => {
    if (which === 'none') return {};
    return { resourceVersion: which === 'last' ? (seen.get(path)?.metadata.resourceVersion ?? '1') : '1' };
  };
}

function podCall(random: Random): Call {
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

function requestCall(random: Random): Call {
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

function maintenanceCall(random: Random): Call {
  const name = random.pick(['m0', 'm1']);
  const path = objectPath(NODE_MAINTENANCES, { name });
  const what = random.pick(['create', 'stage', 'stage', 'status', 'hold', 'free', 'annotate', 'delete']);
  const guard = guardOf(random);
  const [stage, count] = [random.pick(['Idle', 'Cordon', 'Drain', 'Complete']), random.whole(3)];
  const requests: Readonly<Record<string, (seen: Seen) => KubeRequest>> = {
    create: () => ({
      method: 'POST',
      path: collectionPath(NODE_MAINTENANCES),
      body: {
        apiVersion: NODE_MAINTENANCE_API_VERSION,
        kind: 'NodeMaintenance',
        metadata: { name },
        spec: { nodeSelector: byName('n0'), ...(count === 0 ? {} : { stage }), reason: 'contract' },
        status: { drainPlanPosition: 1 },
      },
    }),
    stage: (seen) => merge(path, { metadata: guard(seen, path), spec: { stage } }),
    status: (seen) => {
      const conditions = [
        {
          type: 'Drained',
          status: count === 0 ? 'True' : 'False',
          reason: 'R',
          message: '',
          lastTransitionTime: TIME,
        },
      ];
      return merge(`${path}/status`, { metadata: guard(seen, path), status: { drainPlanPosition: count, conditions } });
    },
    hold: (seen) => merge(path, { metadata: { ...guard(seen, path), finalizers: [FINALIZER] } }),
    free: (seen) => merge(path, { metadata: { ...guard(seen, path), finalizers: [] } }),
    annotate: () =>
      merge(path, { metadata: { annotations: { 'contract.example.com/a': count === 0 ? null : String(count) } } }),
    delete: () => ({ method: 'DELETE', path }),
  };
  return { what: `${what} maintenance ${name}`, request: requests[what] ?? (() => ({ method: 'GET', path })) };
}

function nodeCall(random: Random): Call {
  const path = objectPath(NODES, { name: 'n0' });
  const guard = guardOf(random);
  const [unschedulable, text] = [random.pick([true, null]), random.pick(['', 'x', null])];
  const [type, status] = [random.pick(['Drained', 'DrainInProgress']), random.pick(['True', 'False'])];
  if (random.whole(2) === 0) {
    const annotations = { 'contract.example.com/note': text };
    const request = (seen: Seen): KubeRequest =>
      merge(path, { metadata: { ...guard(seen, path), annotations }, spec: { unschedulable } });
    return { what: 'cordon node', request };
  }
  const conditions = [{ type, status, reason: 'R', message: text ?? '', lastHeartbeatTime: TIME }];
  const request = (seen: Seen): KubeRequest => {
    const body = {
      metadata: { ...guard(seen, path), annotations: { 'contract.example.com/told': text } },
      status: { conditions },
    };
    return { method: 'PATCH', path: `${path}/status`, body, patch: { kind: 'strategic' } };
  };
  return { what: 'conditions of node', request };
}

function budgetCall(random: Random): Call {
  const path = objectPath(DISRUPTION_BUDGETS, { name: 'b', namespace: NAMESPACE });
  const [what, allowed, isCurrent] = [
    random.pick(['create', 'status', 'status', 'delete']),
    random.whole(2),
    random.whole(5) > 0,
  ];
  const requests: Readonly<Record<string, (seen: Seen) => KubeRequest>> = {
    create: () => ({
      method: 'POST',
      path: collectionPath(DISRUPTION_BUDGETS, NAMESPACE),
      body: {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'b', namespace: NAMESPACE },
        spec: { minAvailable: 1, selector: { matchLabels: { app: 'a' } } },
      },
    }),
    status: (seen) => {
      const { generation = 1 } = seen.get(path)?.metadata ?? {};
      const counts = { disruptionsAllowed: allowed, currentHealthy: 1 + allowed, desiredHealthy: 1, expectedPods: 2 };
      const status = { observedGeneration: isCurrent ? generation : generation - 1, ...counts, disruptedPods: null };
      return merge(`${path}/status`, { status });
    },
    delete: () => ({ method: 'DELETE', path }),
  };
  return { what: `${what} budget`, request: requests[what] ?? (() => ({ method: 'GET', path })) };
}

function leaseCall(random: Random): Call {
  const path = objectPath(LEASES, { name: 'l', namespace: NAMESPACE });
  const [what, holder] = [random.pick(['create', 'replace', 'replace', 'get']), random.pick(['x', 'y'])];
  const kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };
  const metadata = { name: 'l', namespace: NAMESPACE };
  const [guard, spec] = [guardOf(random), { holderIdentity: holder, leaseDurationSeconds: 15 }];
  const requests: Readonly<Record<string, (seen: Seen) => KubeRequest>> = {
    create: () => ({ method: 'POST', path: collectionPath(LEASES, NAMESPACE), body: { ...kind, metadata, spec } }),
    replace: (seen) => {
      const old = seen.get(path)?.metadata ?? {};
      return { method: 'PUT', path, body: { ...kind, metadata: { ...old, ...metadata, ...guard(seen, path) }, spec } };
    },
  };
  return { what: `${what} lease`, request: requests[what] ?? (() => ({ method: 'GET', path })) };
}

/** Draws the next call. */
export function drawCall(random: Random): Call {
  const draw = random.pick([
    podCall,
    podCall,
    podCall,
    requestCall,
    requestCall,
    requestCall,
    maintenanceCall,
    maintenanceCall,
    nodeCall,
    budgetCall,
    leaseCall,
  ]);
  return draw(random);
}
