import { targetKeyOf } from '../decide/eviction/request.ts';
import { drainsOfNode, isSettled } from '../decide/maintenance/maintenance.ts';
import { createInterceptorLoop, type Interceptor } from '../kube/eviction/interceptor.ts';
import { createWorkQueue, type Reconcile, type WorkQueue } from '../kube/queue.ts';
import { keyOf } from '../kube/resource.ts';
import type { ControllerContext } from './context.ts';
import { createDaemonSetInterceptor } from './daemon-set/interceptor.ts';
import { createDaemonSetGate, type DaemonSetGate } from './daemon-set/gate.ts';
import { createDaemonSetRollout } from './daemon-set/rollout.ts';
import { createEvictionRequestReconciler } from './eviction/reconciler.ts';
import { createImperativeEviction, type ImperativeEviction } from './eviction/imperative.ts';
import { createMarkReconciler, isMarkedInVain } from './eviction/marks.ts';
import { createMaintenanceReconciler } from './maintenance/reconciler.ts';
import { createRequestIndex } from './cache/requests-by-pod.ts';

const PARALLEL_REQUESTS = 16;
/** After this time the runs under way are cut short when the leader is to stop. */
const FINISH_MS = 5_000;

/** What the leader does. Each term has its own: nothing that one has in memory is of use in the next. */
export interface Work {
  /** Called with the keys of objects that were added, changed or deleted. */
  onMaintenance(key: string): void;
  onRequest(key: string): void;
  onPod(key: string): void;
  onNode(key: string): void;
  onBudget(key: string): void;
  /** The number of evictions that are promised to be carried out in the background (KEP-1397). */
  promised(): number;
  /**
   * Works on all objects, and then on those that change, until `stop` is aborted; the runs under way then have a few
   * seconds to end. `signal` cuts them short.
   */
  run(stop: AbortSignal, signal: AbortSignal): Promise<void>;
}

/** The queues of a leader, and what decides which of their keys a change concerns. */
interface Queues {
  readonly imperative: ImperativeEviction;
  readonly gate: DaemonSetGate;
  readonly maintenance: WorkQueue;
  readonly request: WorkQueue;
  readonly daemonSet: WorkQueue;
  readonly gated: WorkQueue;
  readonly rollout: WorkQueue;
  readonly eviction: WorkQueue;
  readonly marks: WorkQueue;
}

function createQueues(context: ControllerContext): Queues {
  const { client, clock, log, metrics, requests, pods } = context;
  const queueOf = (name: string, reconcile: Reconcile, parallel: number): WorkQueue =>
    createWorkQueue(name, reconcile, parallel, { clock, log, observer: metrics.queue(name) });
  const interceptorQueue = (name: string, interceptor: Interceptor): WorkQueue => {
    const { reconcile } = createInterceptorLoop(interceptor, {
      client,
      clock,
      log,
      request: (key) => requests.get(key),
      pod: (request) => Promise.resolve(pods.get(targetKeyOf(request))),
    });
    return queueOf(name, reconcile, PARALLEL_REQUESTS);
  };
  const imperative = createImperativeEviction(context);
  const maintenance = queueOf('nodemaintenances', createMaintenanceReconciler(context), 1);
  const request = queueOf('evictionrequests', createEvictionRequestReconciler(context), PARALLEL_REQUESTS);
  const daemonSet = interceptorQueue('daemonset', createDaemonSetInterceptor(context));
  const gate = createDaemonSetGate(context);
  const gated = queueOf('daemonset-gate', gate.reconcile, PARALLEL_REQUESTS);
  const rollout = queueOf('daemonset-rollout', createDaemonSetRollout(context, gate), 1);
  const eviction = interceptorQueue('imperative', imperative);
  const marks = queueOf('pod-marks', createMarkReconciler(context), 1);
  return { imperative, gate, maintenance, request, daemonSet, gated, rollout, eviction, marks };
}

interface Changes extends Pick<Work, 'onRequest' | 'onPod' | 'onNode' | 'onBudget'> {
  /** Which maintenance has changed is of no account: each may concern every other one. */
  onMaintenance(): void;
}

/** Adds the keys that a change concerns to the queues. */
function createChanges(context: ControllerContext, queues: Queues): Changes {
  const { maintenances, requests, pods, ungated } = context;
  const { gate, imperative } = queues;
  const index = createRequestIndex();
  const addRequest = (key: string): void => {
    for (const queue of [queues.request, queues.daemonSet, queues.eviction]) queue.add(key);
  };
  const addMaintenances = (): void => {
    for (const maintenance of maintenances.list()) queues.maintenance.add(maintenance.metadata.name);
  };
  // Completed maintenances stay for people to look at, and this is called for every pod of the cluster.
  const addUnsettled = (): void => {
    for (const maintenance of maintenances.list()) {
      if (!isSettled(maintenance)) queues.maintenance.add(maintenance.metadata.name);
    }
  };
  const addMark = (key: string): void => {
    const pod = pods.get(key);
    if (pod !== undefined && isMarkedInVain(context, pod)) queues.marks.add(key);
  };
  return {
    onRequest: (key) => {
      const podKey = index.podOf(key);
      index.note(key, requests.get(key));
      addMark(podKey ?? index.podOf(key) ?? '');
      addRequest(key);
      addUnsettled();
    },
    onPod: (key) => {
      for (const request of index.requestsOf(key)) addRequest(request);
      addMark(key);
      if (gate.podChanged(key)) queues.gated.add(key);
      const rollout = gate.rolloutOf(key);
      if (rollout !== undefined) queues.rollout.add(rollout);
      addUnsettled();
    },
    onMaintenance: () => {
      addMaintenances();
      for (const request of requests.list()) {
        queues.daemonSet.add(keyOf(request));
        queues.eviction.add(keyOf(request));
      }
      for (const pod of gate.unbound()) queues.gated.add(pod);
      ungated.forget((node) => drainsOfNode(maintenances.list(), node).length > 0);
    },
    onNode: addMaintenances,
    onBudget: (key) => {
      for (const request of imperative.budgetChanged(key)) queues.eviction.add(request);
    },
  };
}

/** Runs the queues until `stop`, with at most FINISH_MS after it, and writes Events until they have ended. */
async function runQueues(
  { events }: ControllerContext,
  { maintenance, gated, rollout, request, daemonSet, eviction, marks }: Queues,
  stop: AbortSignal,
  signal: AbortSignal,
): Promise<void> {
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
  const writingEvents = events.run(AbortSignal.any([finished.signal, cut]));
  try {
    const ending = AbortSignal.any([stop, signal]);
    const queues = [maintenance, gated, rollout, request, daemonSet, eviction, marks];
    await Promise.all(queues.map((queue) => queue.run(ending, cut)));
  } finally {
    stop.removeEventListener('abort', onStop);
    clearTimeout(timer);
    finished.abort();
    await writingEvents;
  }
}

/** Creates the queues of a leader; `context.client` is the one that stops writing when the term is over. */
export function createWork(context: ControllerContext): Work {
  const { requests, pods } = context;
  const queues = createQueues(context);
  const changes = createChanges(context, queues);
  return {
    ...changes,
    promised: () => queues.imperative.promised(),
    run: async (stop, signal) => {
      // Requests first: pods are found by them.
      for (const request of requests.list()) changes.onRequest(keyOf(request));
      for (const pod of pods.list()) changes.onPod(keyOf(pod));
      changes.onMaintenance();
      await runQueues(context, queues, stop, signal);
    },
  };
}
