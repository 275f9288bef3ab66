import type { EvictionRequest } from '../api/eviction-request.ts';
import type { NodeMaintenance } from '../api/node-maintenance.ts';
import type { Node, Pod } from '../api/pod.ts';
import type { Clock } from '../host/clock.ts';
import type { KubeClient } from '../kube/client.ts';
import { createWorkQueue } from '../kube/queue.ts';
import { EVICTION_REQUESTS, NODE_MAINTENANCES, NODES, PODS } from '../kube/resource.ts';
import { createObjectCache } from '../kube/watch.ts';
import type { Log } from '../telemetry/log.ts';
import type { ControllerContext } from './context.ts';
import { createDaemonSetReconciler } from './daemon-set.ts';
import { createEvictionRequestReconciler } from './eviction-request.ts';
import { createImperativeEvictionReconciler } from './imperative-eviction.ts';
import { createMaintenanceReconciler } from './node-maintenance.ts';

const SYNC_POLL_MS = 50;
const PARALLEL_REQUESTS = 4;

/** What the controller needs from outside. */
export interface ControllerDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Runs the cluster's loops until the signal is aborted. Stop order: the queues finish the runs under way, then the
 * watches end with the signal.
 */
export async function runController(dependencies: ControllerDependencies, signal: AbortSignal): Promise<void> {
  const { clock, log } = dependencies;
  const requestsOfPod = new Map<string, Set<string>>();
  const reconcilers: { add(key: string): void }[] = [];
  const addRequest = (key: string): void => {
    for (const queue of reconcilers) queue.add(key);
  };
  const addMaintenances = (): void => {
    for (const maintenance of maintenances.list()) maintenanceQueue.add(maintenance.metadata.name);
  };
  const onRequest = (key: string): void => {
    const request = requests.get(key);
    if (request !== undefined) {
      const podKey = `${request.metadata.namespace}/${request.spec.target.pod.name}`;
      const known = requestsOfPod.get(podKey) ?? new Set();
      requestsOfPod.set(podKey, known.add(key));
    }
    addRequest(key);
    addMaintenances();
  };
  const onPod = (key: string): void => {
    const keys = requestsOfPod.get(key) ?? new Set<string>();
    for (const requestKey of keys) {
      if (requests.get(requestKey) === undefined) keys.delete(requestKey);
      else addRequest(requestKey);
    }
    if (keys.size === 0) requestsOfPod.delete(key);
    addMaintenances();
  };
  const onMaintenance = (): void => {
    addMaintenances();
    for (const request of requests.list()) {
      daemonSetQueue.add(`${request.metadata.namespace}/${request.metadata.name}`);
    }
  };

  const maintenances = createObjectCache<NodeMaintenance>({ resource: NODE_MAINTENANCES }, onMaintenance, dependencies);
  const requests = createObjectCache<EvictionRequest>({ resource: EVICTION_REQUESTS }, onRequest, dependencies);
  const pods = createObjectCache<Pod>({ resource: PODS }, onPod, dependencies);
  const nodes = createObjectCache<Node>({ resource: NODES }, addMaintenances, dependencies);
  const context: ControllerContext = { ...dependencies, maintenances, requests, pods, nodes };

  const maintenanceQueue = createWorkQueue('nodemaintenance', createMaintenanceReconciler(context), 1, dependencies);
  const requestQueue = createWorkQueue(
    'evictionrequest',
    createEvictionRequestReconciler(context),
    PARALLEL_REQUESTS,
    dependencies,
  );
  const daemonSetQueue = createWorkQueue(
    'daemonset',
    createDaemonSetReconciler(context),
    PARALLEL_REQUESTS,
    dependencies,
  );
  const imperativeQueue = createWorkQueue(
    'imperative',
    createImperativeEvictionReconciler(context),
    PARALLEL_REQUESTS,
    dependencies,
  );
  reconcilers.push(requestQueue, daemonSetQueue, imperativeQueue);

  const caches = [maintenances, requests, pods, nodes];
  const watching = Promise.all(caches.map((cache) => cache.run(signal)));
  while (!signal.aborted && !caches.every((cache) => cache.synced())) {
    await clock.sleep(SYNC_POLL_MS, signal).catch(() => undefined);
  }
  log.info({ maintenances: maintenances.list().length, pods: pods.list().length }, 'controller ready');
  await Promise.all(
    [maintenanceQueue, requestQueue, daemonSetQueue, imperativeQueue].map((queue) => queue.run(signal)),
  );
  await watching;
}
