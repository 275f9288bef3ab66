import { drainsOfNode, isSettled } from '../decide/maintenance/maintenance.ts';
import { createInterceptorReconciler, type Interceptor } from '../kube/eviction/interceptor.ts';
import { createWorkQueue, type Reconcile, type WorkQueue } from '../kube/queue.ts';
import { keyOf } from '../kube/resource.ts';
import type { ControllerContext } from './context.ts';
import { createDaemonSetInterceptor } from './daemon-set/interceptor.ts';
import { createDaemonSetGate } from './daemon-set/gate.ts';
import { createDaemonSetRollout } from './daemon-set/rollout.ts';
import { createEvictionRequestReconciler } from './eviction/reconciler.ts';
import { createImperativeEviction } from './eviction/imperative.ts';
import { createMaintenanceReconciler } from './maintenance/reconciler.ts';
import { createRequestIndex } from './cache/requests-by-pod.ts';

const PARALLEL_REQUESTS = 16;
/** What runs under way have to end when the leader is to stop. */
const FINISH_MS = 5_000;

/** What the leader does. Each term has its own: nothing that one has in memory is of use in the next. */
export interface Work {
  /** Called with the keys of objects that came, changed or went. */
  onMaintenance(key: string): void;
  onRequest(key: string): void;
  onPod(key: string): void;
  onNode(key: string): void;
  onBudget(key: string): void;
  /** Evictions that somebody promised to carry out in the background (KEP-1397). */
  promised(): number;
  /**
   * Works on all there is, and then on what changes, until `stop` is aborted; what is under way then has a few seconds to
   * end. `signal` cuts it short.
   */
  run(stop: AbortSignal, signal: AbortSignal): Promise<void>;
}

/** Makes the queues of a leader; `context.client` is the one that stops writing when the term is over. */
export function createWork(context: ControllerContext): Work {
  const { client, clock, log, metrics, maintenances, requests, pods } = context;
  const index = createRequestIndex();
  const requestQueues: WorkQueue[] = [];
  const addRequest = (key: string): void => {
    for (const queue of requestQueues) queue.add(key);
  };
  const addMaintenances = (): void => {
    for (const maintenance of maintenances.list()) maintenanceQueue.add(maintenance.metadata.name);
  };
  // Completed maintenances stay for people to look at, and every pod of the cluster comes by here.
  const addUnsettled = (): void => {
    for (const maintenance of maintenances.list()) {
      if (!isSettled(maintenance)) maintenanceQueue.add(maintenance.metadata.name);
    }
  };
  const onRequest = (key: string): void => {
    index.note(key, requests.get(key));
    addRequest(key);
    addUnsettled();
  };
  const onPod = (key: string): void => {
    for (const request of index.requestsOf(key)) addRequest(request);
    if (gate.podChanged(key)) gateQueue.add(key);
    const rollout = gate.rolloutOf(key);
    if (rollout !== undefined) rolloutQueue.add(rollout);
    addUnsettled();
  };
  const onMaintenance = (): void => {
    addMaintenances();
    for (const request of requests.list()) daemonSetQueue.add(keyOf(request));
    for (const pod of gate.unbound()) gateQueue.add(pod);
    context.ungated.forget((node) => drainsOfNode(maintenances.list(), node).length > 0);
  };
  const onBudget = (key: string): void => {
    for (const request of imperative.budgetChanged(key)) imperativeQueue.add(request);
  };

  const queueOf = (name: string, reconcile: Reconcile, parallel: number): WorkQueue =>
    createWorkQueue(name, reconcile, parallel, { clock, log, observer: metrics.queue(name) });
  const interceptorQueue = (name: string, interceptor: Interceptor): WorkQueue => {
    const reconcile = createInterceptorReconciler(interceptor, {
      client,
      clock,
      request: (key) => requests.get(key),
      pod: (request) => Promise.resolve(pods.get(`${request.metadata.namespace}/${request.spec.target.pod.name}`)),
    });
    return queueOf(name, reconcile, PARALLEL_REQUESTS);
  };
  const imperative = createImperativeEviction(context);
  const maintenanceQueue = queueOf('nodemaintenances', createMaintenanceReconciler(context), 1);
  const requestQueue = queueOf('evictionrequests', createEvictionRequestReconciler(context), PARALLEL_REQUESTS);
  const daemonSetQueue = interceptorQueue('daemonset', createDaemonSetInterceptor(context));
  const gate = createDaemonSetGate(context);
  const gateQueue = queueOf('daemonset-gate', gate.reconcile, PARALLEL_REQUESTS);
  const rolloutQueue = queueOf('daemonset-rollout', createDaemonSetRollout(context, gate), 1);
  const imperativeQueue = interceptorQueue('imperative', imperative);
  requestQueues.push(requestQueue, daemonSetQueue, imperativeQueue);

  const run = async (stop: AbortSignal, signal: AbortSignal): Promise<void> => {
    // Requests first: pods are found by them.
    for (const request of requests.list()) onRequest(keyOf(request));
    for (const pod of pods.list()) onPod(keyOf(pod));
    onMaintenance();
    const late = new AbortController();
    const cut = AbortSignal.any([signal, late.signal]);
    const onStop = (): void => {
      timer = setTimeout(() => {
        late.abort();
      }, FINISH_MS);
    };
    let timer: NodeJS.Timeout | undefined;
    if (stop.aborted) onStop();
    else stop.addEventListener('abort', onStop, { once: true });
    const finished = new AbortController();
    const writingEvents = context.events.run(AbortSignal.any([finished.signal, cut]));
    try {
      const queues = [maintenanceQueue, gateQueue, rolloutQueue, ...requestQueues];
      const ending = AbortSignal.any([stop, signal]);
      await Promise.all(queues.map((queue) => queue.run(ending, cut)));
    } finally {
      stop.removeEventListener('abort', onStop);
      clearTimeout(timer);
      finished.abort();
      await writingEvents;
    }
  };

  return {
    onMaintenance,
    onRequest,
    onPod,
    onNode: addMaintenances,
    onBudget,
    promised: () => imperative.promised(),
    run,
  };
}
