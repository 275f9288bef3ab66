import { drainsOfNode, isSettled } from '../decide/maintenance/maintenance.ts';
import type { Interceptor } from '../kube/eviction/interceptor.ts';
import { createInterceptorLoop } from '../kube/eviction/interceptor-loop.ts';
import { createWorkQueue, type Reconcile, type WorkQueue } from '../kube/queue.ts';
import { keyOf } from '../kube/resource.ts';
import type { ControllerContext } from './context.ts';
import { createDaemonSetInterceptor } from './daemon-set/interceptor.ts';
import { createDaemonSetGate, type DaemonSetGate } from './daemon-set/gate.ts';
import { createDaemonSetRollout } from './daemon-set/rollout.ts';
import { createEvictionRequestReconciler } from './eviction/reconciler.ts';
import { createImperativeEviction, type ImperativeEviction } from './eviction/imperative.ts';
import { createMarkReconciler, isMarkedInVain } from './eviction/marks.ts';
import { createEvictionIntents } from './maintenance/intents.ts';
import { createNodeReconciler } from './maintenance/nodes.ts';
import { createMaintenanceReconciler, type DrainEffects } from './maintenance/reconciler.ts';
import { createRefusals } from './maintenance/refusals.ts';
import { createRequestReconciler } from './maintenance/requests.ts';
import { selectedNodes } from './maintenance/selected-nodes.ts';
import { createCurrencyCheck } from './cache/currency.ts';
import { createMaintenanceReach, type MaintenanceReach } from './cache/maintenance-reach.ts';
import { createPodIndex, type PodIndex } from './cache/pods-by-node.ts';
import { createTargets } from './cache/targets.ts';
import { createRequestIndex, type RequestIndex } from './cache/request-index.ts';

const PARALLEL_REQUESTS = 16;
/** Webhooks of one namespace can hold up as many evictions as one namespace may have under way, and no others. */
const PARALLEL_EVICTIONS = 64;
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
  /** The keys of the requests whose eviction is promised to be carried out in the background (KEP-1397). */
  promised(): readonly string[];
  /**
   * Works on all objects, and then on those that change, until `stop` is aborted; the runs under way then have a few
   * seconds to end. `signal` cuts them short.
   */
  run(stop: AbortSignal, signal: AbortSignal): Promise<void>;
}

/** What the queues of a leader find objects by. */
interface Indexes {
  readonly requests: RequestIndex;
  readonly pods: PodIndex;
  readonly reach: MaintenanceReach;
}

/** The queues of a leader, and what decides which of their keys a change concerns. */
interface Queues {
  readonly imperative: ImperativeEviction;
  readonly gate: DaemonSetGate;
  readonly maintenance: WorkQueue;
  readonly node: WorkQueue;
  readonly requester: WorkQueue;
  readonly request: WorkQueue;
  readonly daemonSet: WorkQueue;
  readonly gated: WorkQueue;
  readonly rollout: WorkQueue;
  readonly eviction: WorkQueue;
  readonly marks: WorkQueue;
}

type QueueOf = (name: string, reconcile: Reconcile, parallel: number) => WorkQueue;

/** Completed maintenances stay for people to look at; a change of a pod or a node does not concern them. */
function addUnsettled({ maintenances }: ControllerContext, queue: WorkQueue): void {
  for (const maintenance of maintenances.list()) {
    if (!isSettled(maintenance)) queue.add(maintenance.metadata.name);
  }
}

/** The queues of the maintenances, and of the nodes and EvictionRequests that belong to them: none of these delays another. */
function createMaintenanceQueues(
  context: ControllerContext,
  indexes: Indexes,
  queueOf: QueueOf,
): Pick<Queues, 'maintenance' | 'node' | 'requester'> {
  const onRefusal = (): void => {
    addUnsettled(context, maintenance);
  };
  const refused = {
    nodes: createRefusals(context.clock, onRefusal),
    requests: createRefusals(context.clock, onRefusal),
  };
  const intents = createEvictionIntents();
  const nodeStep = createNodeReconciler(context, indexes.pods, refused.nodes);
  const node = queueOf('nodes', nodeStep, PARALLEL_REQUESTS);
  const requestStep = createRequestReconciler(context, intents, refused.requests);
  const requester = queueOf('requester', requestStep, PARALLEL_REQUESTS);
  const want: DrainEffects['want'] = (...wanted) => {
    for (const key of intents.replace(...wanted)) requester.add(key);
  };
  const step = createMaintenanceReconciler(context, { refused, requests: indexes.requests, want });
  const maintenance = queueOf('nodemaintenances', step, 1);
  return { maintenance, node, requester };
}

function createQueues(context: ControllerContext, indexes: Indexes): Queues {
  const { client, clock, log, metrics, requests, pods } = context;
  const { maintenances: nodemaintenances, budgets: poddisruptionbudgets, nodes } = context;
  const copies = { nodemaintenances, evictionrequests: requests, pods, nodes, poddisruptionbudgets };
  // From copies of different ages, as after a restart of the API server, a drain would seem to have come to its end.
  const mayRun = createCurrencyCheck(copies, context);
  const queueOf: QueueOf = (name, reconcile, parallel) =>
    createWorkQueue(name, reconcile, parallel, { clock, log, observer: metrics.queue(name), mayRun });
  const targets = createTargets(pods, clock);
  const interceptorQueue = (name: string, interceptor: Interceptor, parallel: number): WorkQueue => {
    const { reconcile } = createInterceptorLoop(interceptor, {
      client,
      clock,
      log,
      request: (key) => requests.get(key),
      pod: (request) => Promise.resolve(targets(request)),
    });
    return queueOf(name, reconcile, parallel);
  };
  const imperative = createImperativeEviction(context);
  const request = queueOf('evictionrequests', createEvictionRequestReconciler(context), PARALLEL_REQUESTS);
  const daemonSet = interceptorQueue('daemonset', createDaemonSetInterceptor(context), PARALLEL_REQUESTS);
  const gate = createDaemonSetGate(context);
  const gated = queueOf('daemonset-gate', gate.reconcile, PARALLEL_REQUESTS);
  const rollout = queueOf('daemonset-rollout', createDaemonSetRollout(context, gate), 1);
  const eviction = interceptorQueue('imperative', imperative, PARALLEL_EVICTIONS);
  const marks = queueOf('pod-marks', createMarkReconciler(context), 1);
  const own = createMaintenanceQueues(context, indexes, queueOf);
  return { ...own, imperative, gate, request, daemonSet, gated, rollout, eviction, marks };
}

type Changes = Pick<Work, 'onMaintenance' | 'onRequest' | 'onPod' | 'onNode' | 'onBudget'>;

/** Adds the keys that a change concerns to the queues. */
function createChanges(context: ControllerContext, indexes: Indexes, queues: Queues): Changes {
  const { maintenances, requests, pods, ungated } = context;
  const { gate, imperative } = queues;
  const addRequest = (key: string): void => {
    for (const queue of [queues.requester, queues.request, queues.daemonSet, queues.eviction]) queue.add(key);
  };
  const addNode = (name: string): void => {
    queues.node.add(name);
    for (const key of indexes.requests.onNode(name)) {
      queues.requester.add(key);
      queues.daemonSet.add(key);
      queues.eviction.add(key);
    }
  };
  const addMark = (key: string): void => {
    const pod = pods.get(key);
    if (pod !== undefined && isMarkedInVain(context, pod)) queues.marks.add(key);
  };
  return {
    onRequest: (key) => {
      const podKey = indexes.requests.podOf(key);
      indexes.requests.note(key, requests.get(key));
      addMark(podKey ?? indexes.requests.podOf(key) ?? '');
      addRequest(key);
      addUnsettled(context, queues.maintenance);
    },
    onPod: (key) => {
      for (const node of indexes.pods.note(key, pods.get(key))) queues.node.add(node);
      for (const request of indexes.requests.ofPod(key)) addRequest(request);
      addMark(key);
      if (gate.podChanged(key)) queues.gated.add(key);
      const rollout = gate.rolloutOf(key);
      if (rollout !== undefined) queues.rollout.add(rollout);
      addUnsettled(context, queues.maintenance);
    },
    onMaintenance: (key) => {
      const maintenance = maintenances.get(key);
      const selected = maintenance === undefined ? [] : selectedNodes(context, maintenance);
      const names = selected.map(({ metadata }) => metadata.name);
      queues.maintenance.add(key);
      // It may share nodes with each other one that is in progress.
      addUnsettled(context, queues.maintenance);
      for (const node of indexes.reach.note(key, maintenance, names)) addNode(node);
      for (const pod of gate.unbound()) queues.gated.add(pod);
      ungated.forget((node) => drainsOfNode(maintenances.list(), node).length > 0);
    },
    onNode: (name) => {
      addNode(name);
      addUnsettled(context, queues.maintenance);
    },
    onBudget: (key) => {
      for (const request of imperative.budgetChanged(key)) queues.eviction.add(request);
    },
  };
}

/** Runs the queues until `stop`, with at most FINISH_MS after it, and writes Events until they have ended. */
async function runQueues(
  { events }: ControllerContext,
  { maintenance, node, requester, gated, rollout, request, daemonSet, eviction, marks }: Queues,
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
    const queues = [maintenance, node, requester, gated, rollout, request, daemonSet, eviction, marks];
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
  const { requests, pods, maintenances, nodes } = context;
  const indexes = { requests: createRequestIndex(), pods: createPodIndex(), reach: createMaintenanceReach() };
  const queues = createQueues(context, indexes);
  const changes = createChanges(context, indexes, queues);
  return {
    ...changes,
    promised: () => queues.imperative.promised(),
    run: async (stop, signal) => {
      // Requests first: pods are found by them.
      for (const request of requests.list()) changes.onRequest(keyOf(request));
      for (const pod of pods.list()) changes.onPod(keyOf(pod));
      for (const maintenance of maintenances.list()) changes.onMaintenance(maintenance.metadata.name);
      // Each node and each request, also those of no maintenance: what a former term left behind is given back.
      for (const node of nodes.list()) changes.onNode(node.metadata.name);
      await runQueues(context, queues, stop, signal);
    },
  };
}
