import type { EvictionRequest } from '../api/eviction-request.ts';
import type { NodeMaintenance } from '../api/node-maintenance.ts';
import type { Node, Pod, PodDisruptionBudget } from '../api/pod.ts';
import { countEvictions } from '../decide/eviction-counts.ts';
import { drainsOfNode } from '../decide/maintenance.ts';
import type { Clock } from '../host/clock.ts';
import type { KubeClient } from '../kube/client.ts';
import { createEventRecorder } from '../kube/events.ts';
import { createInterceptorReconciler, type Interceptor } from '../kube/interceptor.ts';
import { createWorkQueue, type Reconcile, type WorkQueue } from '../kube/queue.ts';
import { DISRUPTION_BUDGETS, EVICTION_REQUESTS, NODE_MAINTENANCES, NODES, PODS } from '../kube/resource.ts';
import { createObjectCache, keyOf } from '../kube/watch.ts';
import type { Log } from '../telemetry/log.ts';
import { createControllerMetrics } from '../telemetry/metrics.ts';
import type { ControllerContext } from './context.ts';
import { createDaemonSetInterceptor } from './daemon-set.ts';
import { createDaemonSetEscapes } from './daemon-set-escapes.ts';
import { createDaemonSetGate } from './daemon-set-gate.ts';
import { createDaemonSetRollout } from './daemon-set-rollout.ts';
import { createEvictionRequestReconciler } from './eviction-request.ts';
import { serveHttp } from './http.ts';
import { createImperativeEviction } from './imperative-eviction.ts';
import { createMaintenanceReconciler } from './node-maintenance.ts';
import type { ControllerOptions } from './options.ts';
import { createRequestIndex } from './request-index.ts';
import { trimBudget, trimNode, trimPod, trimRequest } from './trim.ts';
import { runWebhook } from './webhook.ts';

const SYNC_POLL_MS = 50;
const PARALLEL_REQUESTS = 16;
const COMPONENT = 'nodemaint-controller';

/** What the controller needs from outside. */
export interface ControllerDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly options: ControllerOptions;
}

/**
 * Runs the cluster's loops until the signal is aborted. Stop order: the queues finish the runs under way, then the
 * watches, the events and the HTTP server end with the signal.
 */
export async function runController(dependencies: ControllerDependencies, signal: AbortSignal): Promise<void> {
  const { clock, log, options } = dependencies;
  const index = createRequestIndex();
  const requestQueues: WorkQueue[] = [];
  const addRequest = (key: string): void => {
    for (const queue of requestQueues) queue.add(key);
  };
  const addMaintenances = (): void => {
    for (const maintenance of maintenances.list()) maintenanceQueue.add(maintenance.metadata.name);
  };
  const onRequest = (key: string): void => {
    index.note(key, requests.get(key));
    addRequest(key);
    addMaintenances();
  };
  const onPod = (key: string): void => {
    for (const request of index.requestsOf(key)) addRequest(request);
    if (gate.podChanged(key)) gateQueue.add(key);
    const rollout = gate.rolloutOf(key);
    if (rollout !== undefined) rolloutQueue.add(rollout);
    addMaintenances();
  };
  const onMaintenance = (): void => {
    addMaintenances();
    for (const request of requests.list()) daemonSetQueue.add(keyOf(request));
    for (const pod of gate.unbound()) gateQueue.add(pod);
    context.escapes.forget((node) => drainsOfNode(maintenances.list(), node).length > 0);
  };
  const onBudget = (key: string): void => {
    for (const request of imperative.budgetChanged(key)) imperativeQueue.add(request);
  };

  const maintenances = createObjectCache<NodeMaintenance>({ resource: NODE_MAINTENANCES }, onMaintenance, dependencies);
  const requests = createObjectCache<EvictionRequest>(
    { resource: EVICTION_REQUESTS },
    onRequest,
    dependencies,
    trimRequest,
  );
  const pods = createObjectCache<Pod>({ resource: PODS }, onPod, dependencies, trimPod);
  const nodes = createObjectCache<Node>({ resource: NODES }, addMaintenances, dependencies, trimNode);
  const budgets = createObjectCache<PodDisruptionBudget>(
    { resource: DISRUPTION_BUDGETS },
    onBudget,
    dependencies,
    trimBudget,
  );
  const metrics = createControllerMetrics(() => {
    const counts = countEvictions(requests.list(), pods.list());
    return { ...counts, inBackground: Math.max(counts.inBackground, imperative.promised()) };
  });
  const events = createEventRecorder(COMPONENT, dependencies);
  const context: ControllerContext = {
    ...dependencies,
    metrics,
    events,
    escapes: createDaemonSetEscapes(),
    maintenances,
    requests,
    pods,
    nodes,
    budgets,
  };

  const queueOf = (name: string, reconcile: Reconcile, parallel: number): WorkQueue =>
    createWorkQueue(name, reconcile, parallel, { clock, log, observer: metrics.queue(name) });
  const interceptorQueue = (name: string, interceptor: Interceptor): WorkQueue => {
    const reconcile = createInterceptorReconciler(interceptor, {
      ...dependencies,
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

  const caches = [maintenances, requests, pods, nodes, budgets];
  const isReady = (): boolean => caches.every((cache) => cache.synced());
  const { metricsAddress, webhookPort, webhookHost, namespace } = options;
  const serving: Promise<void>[] = [];
  if (metricsAddress !== undefined) serving.push(serveHttp(metricsAddress, { metrics, isReady, log }, signal));
  if (webhookPort !== undefined) {
    const webhook = { listenAddress: '::', port: webhookPort, serviceHost: webhookHost, namespace };
    serving.push(runWebhook(webhook, dependencies, signal));
  }
  const watching = Promise.all([...caches.map((cache) => cache.run(signal)), ...serving, events.run(signal)]);
  const working = async (): Promise<void> => {
    while (!signal.aborted && !isReady()) await clock.sleep(SYNC_POLL_MS, signal).catch(() => undefined);
    log.info({ maintenances: maintenances.list().length, pods: pods.list().length }, 'controller ready');
    await Promise.all([maintenanceQueue, gateQueue, rolloutQueue, ...requestQueues].map((queue) => queue.run(signal)));
  };
  await Promise.all([watching, working()]);
}
