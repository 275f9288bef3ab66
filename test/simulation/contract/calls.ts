/** The calls by which the model of the API server is compared with a real one: drawn by a seed, the same for both. */
import { NODE_MAINTENANCE_API_VERSION } from '../../../src/api/names.ts';
import type { KubeRequest } from '../../../src/kube/client.ts';
import {
  collectionPath,
  DISRUPTION_BUDGETS,
  LEASES,
  NODE_MAINTENANCES,
  NODES,
  objectPath,
} from '../../../src/kube/resource.ts';
import type { Random } from '../../chaos/random.ts';
import { byName } from '../../support/maintenance/objects.ts';
import { type Call, FINALIZER, guardOf, merge, NAMESPACE, type Seen, TIME } from './call.ts';
import { podCall, requestCall } from './eviction-calls.ts';

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
        { type: 'Drained', status: count === 0 ? 'True' : 'False', reason: 'R', message: '', lastTransitionTime: TIME },
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
