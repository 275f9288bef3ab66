/** A drain as people see it half way: nodes, pods, requests and the status of the controller, for the views of the command line. */
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import { IMPERATIVE_INTERCEPTOR } from '../../../src/api/names.ts';
import type { BlockingPod, NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { selectorOfNodes } from '../../../src/decide/maintenance/new-maintenance.ts';
import { type DrainFacts, type DrainView, drainView, withSeen } from '../../../src/show/progress/drain-progress.ts';
import { rfc3339 } from '../../../src/decide/time.ts';

/** The present of every view. */
export const NOW = Date.UTC(2026, 10, 23, 4, 0, 0);
/** A node with a name as clouds give it. */
export const NODE = 'ip-10-0-123-45.eu-central-1.compute.internal';
const TRIES = 'Could not evict a pod due to failing eviction requests, number of retries: 7. ';
const BUDGET = `${TRIES}Blocked by PodDisruptionBudget checkout, which needs 100 healthy pods and has 4.`;

function ago(sec: number): string {
  return rfc3339(NOW - sec * 1000);
}

function podOf(name: string, spec: object = {}, metadata: object = {}): Pod {
  const own = { name, namespace: 'shop', uid: `uid-${name}`, ...metadata };
  return { metadata: own, spec: { nodeName: NODE, ...spec }, status: { phase: 'Running' } };
}

/** A request whose last interceptor, or the second of two, acts. */
function requestOf({ metadata: { name, namespace, uid = '' } }: Pod, message: string, first?: string): EvictionRequest {
  const names = [...(first === undefined ? [] : [first]), IMPERATIVE_INTERCEPTOR];
  const active = names[0] ?? '';
  const entry = { name: active, startTime: ago(90), heartbeatTime: ago(10), expectedFinishTime: ago(-45), message };
  return {
    metadata: { name: uid, ...(namespace === undefined ? {} : { namespace }), creationTimestamp: ago(95) },
    spec: { target: { pod: { name, uid } }, requesters: [{ name: 'nodemaintenance.k8s.io' }] },
    status: {
      targetInterceptors: names.map((each) => ({ name: each })),
      activeInterceptors: [active],
      processedInterceptors: [],
      interceptors: [entry],
    },
  };
}

function blockingOf(pod: Pod, reason: BlockingPod['reason'], message: string): BlockingPod {
  const { namespace = '', name } = pod.metadata;
  return { namespace, name, reason, message, since: ago(134) };
}

/** A drain of one node, of which `left` pods have not left yet and as many have. */
export interface DrainScene {
  readonly facts: DrainFacts;
  /** The same before the first pod left. */
  readonly before: DrainFacts;
}

/** Some pods wait for a budget, one for its interceptor, one ends, one cannot be evicted; the others were just asked. */
export function drainScene(left: number): DrainScene {
  const budget = Array.from({ length: Math.max(1, Math.floor(left / 2)) }, (_, index) =>
    podOf(`checkout-service-7d9f8b6c5d-${String(index).padStart(5, 'x')}`),
  );
  const moving = podOf('orders-database-0');
  const ending = podOf('cart-6f7c9d5b4-abcde', {}, { deletionTimestamp: ago(-20), deletionGracePeriodSeconds: 60 });
  const held = podOf('legacy-batch-1', {}, { namespace: 'batch', finalizers: ['example.com/cleanup'] });
  const rest = Array.from({ length: Math.max(0, left - budget.length - 3) }, (_, index) =>
    podOf(`web-${String(index).padStart(3, '0')}`),
  );
  const shipper = podOf(
    'log-shipper-x7k2p',
    { priority: 2_000_001_000 },
    {
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'log-shipper', uid: 'ds', controller: true }],
    },
  );
  const pods = [...budget, ...(left > 3 ? [held] : []), moving, ending, ...rest, shipper];
  const gone = Array.from({ length: left }, (_, index) => podOf(`gone-${index}`));
  const requests = new Map(
    [
      ...budget.map((pod) => requestOf(pod, BUDGET)),
      requestOf(
        moving,
        'Moving the primary to orders-database-1, 40% of 12 GiB copied',
        'postgres-operator.example.com',
      ),
      requestOf(ending, 'Pod cart-6f7c9d5b4-abcde is terminating.'),
      requestOf(held, 'Pod legacy-batch-1 is terminating.'),
      ...rest.map((pod) => requestOf(pod, '')),
    ].map((request) => [request.metadata.name, request]),
  );
  const podsBlocking = [
    ...budget.map((pod) => blockingOf(pod, 'PodDisruptionBudget', BUDGET)),
    ...(left > 3 ? [blockingOf(held, 'Finalizer', 'it has the finalizer example.com/cleanup')] : []),
  ];
  const nodeStatus = {
    nodeRef: { name: NODE },
    drainTargets: [{ podType: 'Default', podPriority: 1_000_000_000 }],
    drainMessage: 'Evacuating',
    drainPlanPosition: 1,
    podsAtStart: pods.length + gone.length,
    expectedFinishTime: ago(-45),
    podsBlocking,
  };
  const maintenance = {
    metadata: { name: 'kernel-update-ip-10-0-123-45', uid: 'uid-m', creationTimestamp: ago(200) },
    spec: { stage: 'Drain', nodeSelector: selectorOfNodes([NODE]), reason: 'kernel 6.12.58 for CVE-2026-12345' },
    status: {
      stageStatuses: [{ name: 'Drain', startTimestamp: ago(180) }],
      nodeStatuses: [nodeStatus],
      conditions: [{ type: 'Drained', status: 'False', reason: 'Draining', message: '', lastTransitionTime: ago(180) }],
    },
  } as unknown as NodeMaintenance;
  const request = (pod: Pod): EvictionRequest | undefined => requests.get(pod.metadata.uid ?? '');
  const facts = { maintenance, nodes: [NODE], requestOf: request };
  const before = { ...facts, pods: [...gone, ...pods], seen: new Map() };
  return { before, facts: { ...facts, pods, seen: withSeen(new Map(), before.pods) } };
}

/** The view of a scene. */
export function viewOf(facts: DrainFacts): DrainView {
  return drainView(facts, NOW);
}
