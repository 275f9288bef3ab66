import process from 'node:process';
import type { Node } from '../../api/pod.ts';
import { countMaintenances } from '../../show/counts/maintenances.ts';
import { countEvictions } from '../../show/counts/evictions.ts';
import { countNodes } from '../../show/counts/nodes.ts';
import { settingsAnnotations } from '../../decide/eviction/settings.ts';
import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { createEventRecorder } from '../../kube/event/recorder.ts';
import type { ObjectCache } from '../../kube/watch.ts';
import { createServerClock } from '../../kube/server-clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { serveHttp } from '../../telemetry/http-server.ts';
import { type ControllerMetrics, createControllerMetrics } from '../../telemetry/controller-metrics.ts';
import { buildVersion } from '../../version.ts';
import { UngatedDaemonSets } from '../../kube/eviction/ungated-daemon-sets.ts';
import { CONTROLLER_LEASE } from '../../kube/lease.ts';
import { runElection } from '../../kube/leader/election.ts';
import { byResource, type Copies, createCopies } from '../cache/copies.ts';
import { createMaintenanceRead } from '../cache/fresh-maintenances.ts';
import { createIndexes } from '../cache/indexes.ts';
import type { ControllerOptions } from '../options.ts';
import { createLeaderReadiness, type CurrentCopy, type LeaderReadiness } from '../../kube/leader/readiness.ts';
import { createEndlessTerm, type Term } from '../../kube/leader/term.ts';
import { runWebhook } from '../webhook/server.ts';
import { electionIdentity } from './identity.ts';
import { createLeader, type Leader } from './leader-loops.ts';

const SYNC_POLL_MS = 50;

/** Waits until every copy has had its first list, or the signal is aborted. */
async function untilSynced(
  copies: readonly Pick<ObjectCache<never>, 'synced'>[],
  clock: Pick<Clock, 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && !copies.every((copy) => copy.synced())) {
    await clock.sleep(SYNC_POLL_MS, signal).catch(() => undefined);
  }
}

const COMPONENT = 'nodemaint-controller';

/** What the controller needs from outside. */
interface ControllerDependencies {
  readonly client: KubeClient;
  /** The client that keeps the Lease; calls of the other one must not hold it up. The same one unless given. */
  readonly leaseClient?: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly options: ControllerOptions;
}

/** What each replica has, whether it leads or not. */
interface Replica {
  readonly copies: Copies;
  readonly metrics: ControllerMetrics;
  readonly readiness: LeaderReadiness;
  /** Why this replica is not ready; undefined where it is. */
  readonly notReady: () => string | undefined;
}

/** Why a replica is not ready: a copy had no list yet, or does not follow the API server for so long that it does not lead. */
function reasonNotReady(copies: Copies, readiness: LeaderReadiness): string | undefined {
  const all = byResource<Pick<ObjectCache<never>, 'synced'>>(copies);
  const unlisted = Object.keys(all).filter((name) => all[name]?.synced() === false);
  if (unlisted.length > 0) return `not synchronized yet: ${unlisted.join(', ')}`;
  const notReadyFor = readiness.notReadyFor();
  if (notReadyFor === undefined) return undefined;
  return `does not lead: these watches did not follow the API server: ${notReadyFor.join(', ')}`;
}

/** Starts the servers that the options ask for; each ends with `stop`. */
function startServers(dependencies: ControllerDependencies, replica: Replica, stop: AbortSignal): Promise<void>[] {
  const { log, options } = dependencies;
  const { metricsAddress, webhookPort, webhookHost: serviceHost, webhookCertificate: certificate } = options;
  const { nodes } = replica.copies;
  const { metrics, notReady } = replica;
  const serving: Promise<void>[] = [];
  if (metricsAddress !== undefined) serving.push(serveHttp(metricsAddress, { metrics, notReady, log }, stop));
  if (webhookPort !== undefined) {
    const webhook = { listenAddress: '::', port: webhookPort, serviceHost, certificate };
    const known = (): readonly Node[] | undefined => (nodes.synced() ? nodes.list() : undefined);
    const onCertificate = (until: number): void => {
      metrics.certificate.set(until / 1000);
    };
    serving.push(runWebhook(webhook, { ...dependencies, nodes: known, onCertificate }, stop));
  }
  return serving;
}

/** The leader of one term, whose client stops writing when the term is over. */
function createLeaderOf(dependencies: ControllerDependencies, { copies, metrics }: Replica, term: Term): Leader {
  const { client, clock, log, options } = dependencies;
  const fenced = { client: term.fence(client), clock, log };
  const events = createEventRecorder(COMPONENT, fenced);
  const ungated = new UngatedDaemonSets(clock);
  const indexes = { ...createIndexes(copies, clock), budgets: copies.budgets };
  const readMaintenances = createMaintenanceRead(fenced.client, indexes.maintenances);
  return createLeader({ ...fenced, options, metrics, events, ungated, readMaintenances, ...indexes });
}

/** Waits until the copies are there, then calls `lead` for each term that this replica leads. */
async function leadWhenReady(
  dependencies: ControllerDependencies,
  { copies, metrics, readiness }: Replica,
  lead: (term: Term) => Promise<void>,
  stop: AbortSignal,
): Promise<void> {
  const { client, leaseClient = client, clock, log, options } = dependencies;
  const { maintenances, pods } = copies;
  await untilSynced(Object.values(copies), clock, stop);
  if (stop.aborted) return;
  log.info({ maintenances: maintenances.list().length, pods: pods.list().length }, 'controller ready');
  const onLeading = (isLeader: boolean): void => {
    metrics.leading.set({ name: 'nodemaint-controller' }, Number(isLeader));
  };
  if (!options.leaderElect) {
    onLeading(true);
    await lead(createEndlessTerm());
    return;
  }
  const { takeOverTimeout, promiseTimeout, promiseWords } = options;
  const election = {
    place: CONTROLLER_LEASE,
    identity: electionIdentity(process.env),
    leaseMs: options.leaderElectLeaseDuration,
    renewDeadlineMs: options.leaderElectRenewDeadline,
    retryMs: options.leaderElectRetryPeriod,
    // Agents go by these when they drain their own nodes.
    annotations: settingsAnnotations({ takeOverMs: takeOverTimeout, promiseMs: promiseTimeout, promiseWords }),
  };
  await runElection(election, { client: leaseClient, clock, log, readiness, onLeading }, lead, stop);
}

/**
 * Runs the cluster's loops until the signal is aborted. Every replica watches, and serves metrics and the webhook; only the
 * leader works and writes. Stop order: the queues finish the runs under way, then the Lease is given back; watches and
 * servers end with the signal. Throws LISTEN_FAILED.
 */
export async function runController(given: ControllerDependencies, signal: AbortSignal): Promise<void> {
  const server = createServerClock(given.clock);
  const client = server.noting(given.client);
  // The Lease's client answers every few seconds, also on a replica that does nothing else.
  const leaseClient = given.leaseClient === undefined ? client : server.noting(given.leaseClient);
  const dependencies: ControllerDependencies = { ...given, client, leaseClient, clock: server.clock };
  const { clock, log } = dependencies;
  let leading: Leader | undefined;
  const copies = createCopies({ client, clock, log }, (resource, key) => {
    leading?.notes[resource](key);
  });
  const { maintenances, requests, pods, nodes } = copies;
  const metrics = createControllerMetrics(() => {
    const counts = countEvictions(requests.list(), pods.list(), leading?.promised() ?? []);
    const now = clock.now();
    const counted = countMaintenances(maintenances.list(), now);
    return { ...counts, maintenances: counted, nodes: countNodes(nodes.list(), buildVersion(), now) };
  });

  // A failure, such as an address that is in use, ends all other parts too.
  const failing = new AbortController();
  const stop = AbortSignal.any([signal, failing.signal]);
  const readiness = createLeaderReadiness(() => byResource<CurrentCopy>(copies), given);
  const replica: Replica = { copies, metrics, readiness, notReady: () => reasonNotReady(copies, readiness) };
  const serving = startServers(dependencies, replica, stop);
  const lead = async (term: Term): Promise<void> => {
    leading = createLeaderOf(dependencies, replica, term);
    try {
      await leading.run(stop, term.signal);
    } finally {
      leading = undefined;
    }
  };
  // The term is measured by the clock of this machine, whose wall time goes on while it sleeps.
  const leads = (): Promise<void> => leadWhenReady({ ...dependencies, clock: given.clock }, replica, lead, stop);
  const parts = [...Object.values(copies).map((cache) => cache.run(stop)), ...serving, leads()];
  const ending = parts.map((part) =>
    part.catch((error: unknown) => {
      failing.abort(error);
    }),
  );
  await Promise.all(ending);
  failing.signal.throwIfAborted();
}
