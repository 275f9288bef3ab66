import { hostname } from 'node:os';
import { CONTROLLER_LEASE_NAME } from '../api/lease.ts';
import type { EvictionRequest } from '../api/eviction-request.ts';
import type { NodeMaintenance } from '../api/node-maintenance.ts';
import type { Node, Pod, PodDisruptionBudget } from '../api/pod.ts';
import { countEvictions } from '../decide/eviction/counts.ts';
import type { Clock } from '../host/clock.ts';
import type { KubeClient } from '../kube/client.ts';
import { createEventRecorder } from '../kube/events.ts';
import { DISRUPTION_BUDGETS, EVICTION_REQUESTS, NODE_MAINTENANCES, NODES, PODS } from '../kube/resource.ts';
import { createObjectCache } from '../kube/watch.ts';
import type { Log } from '../telemetry/log.ts';
import { serveHttp } from '../telemetry/http.ts';
import { createControllerMetrics } from '../telemetry/metrics.ts';
import { createUngatedDaemonSets } from '../kube/eviction/ungated-daemon-sets.ts';
import { runElection } from './leader/election.ts';
import { createMaintenanceIndex } from './cache/maintenances.ts';
import type { ControllerOptions } from './options.ts';
import { createEndlessTerm, type Term } from './leader/term.ts';
import {
  transformBudget,
  transformMaintenance,
  transformNode,
  transformPod,
  transformRequest,
} from '../kube/transform.ts';
import { runWebhook } from './webhook/server.ts';
import { createWork, type Work } from './work.ts';

const SYNC_POLL_MS = 50;
const COMPONENT = 'nodemaint-controller';

/** What the controller needs from outside. */
export interface ControllerDependencies {
  readonly client: KubeClient;
  /** The client that keeps the Lease; calls of the other one must not hold it up. The same one unless given. */
  readonly leaseClient?: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly options: ControllerOptions;
}

/**
 * Runs the cluster's loops until the signal is aborted. Every replica watches, and serves metrics and the webhook; the
 * leader alone works and writes. Stop order: the queues finish the runs under way, then the Lease is given back; watches and
 * servers end with the signal. Throws LISTEN_FAILED.
 */
export async function runController(dependencies: ControllerDependencies, signal: AbortSignal): Promise<void> {
  const { client, leaseClient = client, clock, log, options } = dependencies;
  let work: Work | undefined;
  const onChange =
    (resource: 'Maintenance' | 'Request' | 'Pod' | 'Node' | 'Budget') =>
    (key: string): void => {
      work?.[`on${resource}`](key);
    };
  const cacheOf = { client, clock, log };
  const maintenances = createObjectCache<NodeMaintenance>(
    { resource: NODE_MAINTENANCES },
    onChange('Maintenance'),
    cacheOf,
    transformMaintenance,
  );
  const requests = createObjectCache<EvictionRequest>(
    { resource: EVICTION_REQUESTS },
    onChange('Request'),
    cacheOf,
    transformRequest,
  );
  const pods = createObjectCache<Pod>({ resource: PODS }, onChange('Pod'), cacheOf, transformPod);
  const nodes = createObjectCache<Node>({ resource: NODES }, onChange('Node'), cacheOf, transformNode);
  const budgets = createObjectCache<PodDisruptionBudget>(
    { resource: DISRUPTION_BUDGETS },
    onChange('Budget'),
    cacheOf,
    transformBudget,
  );
  const metrics = createControllerMetrics(() => {
    const counts = countEvictions(requests.list(), pods.list());
    return { ...counts, inBackground: Math.max(counts.inBackground, work?.promised() ?? 0) };
  });

  // What fails, such as an address that is taken, ends all the rest too.
  const failing = new AbortController();
  const stop = AbortSignal.any([signal, failing.signal]);
  const caches = [maintenances, requests, pods, nodes, budgets];
  const isReady = (): boolean => caches.every((cache) => cache.synced());
  const { metricsAddress, webhookPort, webhookHost, namespace } = options;
  const serving: Promise<void>[] = [];
  if (metricsAddress !== undefined) serving.push(serveHttp(metricsAddress, { metrics, isReady, log }, stop));
  if (webhookPort !== undefined) {
    const webhook = { listenAddress: '::', port: webhookPort, serviceHost: webhookHost, namespace };
    const known = (): readonly Node[] | undefined => (nodes.synced() ? nodes.list() : undefined);
    serving.push(runWebhook(webhook, { ...dependencies, nodes: known }, stop));
  }

  const lead = async (term: Term): Promise<void> => {
    const fenced = { client: term.fence(client), clock, log };
    const events = createEventRecorder(COMPONENT, fenced);
    const copies = { maintenances: createMaintenanceIndex(maintenances, nodes), requests, pods, nodes, budgets };
    work = createWork({ ...fenced, options, metrics, events, ungated: createUngatedDaemonSets(), ...copies });
    try {
      await work.run(stop, term.signal);
    } finally {
      work = undefined;
    }
  };
  const working = async (): Promise<void> => {
    while (!stop.aborted && !isReady()) await clock.sleep(SYNC_POLL_MS, stop).catch(() => undefined);
    if (stop.aborted) return;
    log.info({ maintenances: maintenances.list().length, pods: pods.list().length }, 'controller ready');
    if (!options.leaderElect) {
      metrics.leading(true);
      await lead(createEndlessTerm());
      return;
    }
    const election = {
      place: { namespace, name: CONTROLLER_LEASE_NAME },
      identity: `${hostname()}_${crypto.randomUUID()}`,
      leaseMs: options.leaderElectLeaseDuration,
      renewDeadlineMs: options.leaderElectRenewDeadline,
      retryMs: options.leaderElectRetryPeriod,
    };
    const onLeading = (isLeader: boolean): void => {
      metrics.leading(isLeader);
    };
    await runElection(election, { client: leaseClient, clock, log, onLeading }, lead, stop);
  };
  const parts = [...caches.map((cache) => cache.run(stop)), ...serving, working()];
  const ending = parts.map((part) =>
    part.catch((error: unknown) => {
      failing.abort(error);
    }),
  );
  await Promise.all(ending);
  failing.signal.throwIfAborted();
}
