import { stageOf } from '../../decide/maintenance/maintenance.ts';
import type { Interceptor } from '../../kube/eviction/interceptor.ts';
import { createInterceptorLoop } from '../../kube/eviction/interceptor-loop.ts';
import { createWorkQueue, type QueueDependencies, type Reconcile, type WorkQueue } from '../../kube/queue.ts';
import { keyOf } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';
import { createDaemonSetInterceptor } from '../daemon-set/interceptor.ts';
import { createDaemonSetGate } from '../daemon-set/gate.ts';
import { createDaemonSetRollout } from '../daemon-set/rollout.ts';
import { createEvictionRequestReconciler } from '../eviction/reconciler.ts';
import { createImperativeEviction } from '../eviction/imperative.ts';
import { type EvictionConcurrency, createEvictionConcurrency } from '../../kube/eviction/concurrency.ts';
import { createMarkReconciler } from '../eviction/evict-mark-removal.ts';
import { createEvictionIntents, type EvictionIntents } from '../maintenance/wanted-evictions.ts';
import { createNodeReconciler } from '../maintenance/nodes.ts';
import { createMaintenanceReconciler, type DrainEffects } from '../maintenance/reconciler.ts';
import { createRefusals, type Refusals } from '../maintenance/refusals.ts';
import { createRequestReconciler, type GroupedPods } from '../maintenance/requests.ts';
import { createGroupEvictions } from '../pod-group/evictions.ts';
import { createGroupReconciler } from '../pod-group/reconciler.ts';
import { byResource } from '../cache/copies.ts';
import type { CurrentCopy } from '../../kube/leader/sight.ts';
import { createCurrencyCheck } from '../../kube/copy/currency.ts';
import { type Changes, createChanges, type Queues } from './event-routing.ts';
import { createTargets } from '../cache/targets.ts';
import { type DrainRequests, inBothDialects, OLDER_ONLY } from '../lifecycle/drain-requests.ts';

const PARALLEL_REQUESTS = 16;
const PARALLEL_LOOKS = 32;
/** More than there are connections for what nobody waits for: its requests wait for one and keep no other step from running. */
const PARALLEL_REPORTS = 64;
/** Webhooks of one namespace can hold up as many evictions as one namespace may have under way, and no others. */
const PARALLEL_EVICTIONS = 64;
/** For how long a maintenance rests after a look, at least, and longer with each other drain; two seconds at most. */
const LEAST_REST_MS = 100;
const REST_MS_PER_DRAIN = 10;
/** After this time the runs under way are cut short when the leader is to stop. */
const FINISH_MS = 5_000;

/** What the leader does. Each term has its own: nothing that one has in memory is of use in the next. */
export interface Work extends Changes {
  /** The keys of the requests whose eviction is promised to be carried out in the background (KEP-1397). */
  promised(): readonly string[];
  /**
   * Works on all objects, and then on those that change, until `stop` is aborted; the runs under way then have a few
   * seconds to end. `signal` cuts them short.
   */
  run(stop: AbortSignal, signal: AbortSignal): Promise<void>;
}

type QueueOf = (
  name: string,
  reconcile: Reconcile,
  parallel: number,
  order?: Pick<QueueDependencies, 'isUrgent' | 'hasToWait' | 'restMs'>,
) => WorkQueue;

/** The queue of the pods of groups, which have no requests, and by which other queues add to it. */
function createGroupQueue(
  context: ControllerContext,
  parts: { readonly intents: EvictionIntents; readonly refusals: Refusals; readonly underWay: EvictionConcurrency },
  queueOf: QueueOf,
): Pick<Queues, 'grouped' | 'groups'> & { readonly wanted: GroupedPods } {
  const add = (key: string): void => {
    grouped.add(key);
  };
  const groups = createGroupEvictions(context, parts.underWay, add);
  const step = createGroupReconciler(context, parts.intents, parts.refusals, groups);
  const grouped = queueOf('pod-groups', step, PARALLEL_EVICTIONS);
  return { grouped, groups, wanted: { has: (key) => groups.has(key), add } };
}

/** The queues of the maintenances, and of the nodes and EvictionRequests that belong to them: none of these delays another. */
function createMaintenanceQueues(
  own: ControllerContext,
  { newer, underWay }: { readonly newer: DrainRequests; readonly underWay: EvictionConcurrency },
  queueOf: QueueOf,
): Pick<Queues, 'maintenance' | 'node' | 'requester' | 'grouped' | 'groups'> {
  const context = { ...own, requests: inBothDialects(own.requests, newer) };
  const { maintenances, nodes, requests, clock } = context;
  const intents = createEvictionIntents();
  const lookOn = (nodeName: string): void => {
    for (const name of maintenances.unsettledOn(nodeName)) maintenance.add(name);
  };
  const lookFor = (key: string): void => {
    for (const name of intents.of(key).keys()) maintenance.add(name);
    for (const nodeName of requests.nodesOf(key)) lookOn(nodeName);
  };
  const isUntouched = (nodeName: string): boolean => {
    for (const _ of requests.onNode(nodeName)) return false;
    return true;
  };
  const refused = { nodes: createRefusals(clock, lookOn), requests: createRefusals(clock, lookFor) };
  const node = queueOf('nodes', createNodeReconciler(context, refused.nodes), PARALLEL_REPORTS, {
    // Evictions wait for the cordon, and nothing for the conditions of other nodes.
    isUrgent: (name) => nodes.get(name)?.spec?.unschedulable !== true && maintenances.unsettledOn(name).length > 0,
  });
  const pods = createGroupQueue(own, { intents, refusals: refused.requests, underWay }, queueOf);
  const requestStep = createRequestReconciler(own, intents, refused.requests, { newer, groups: pods.wanted });
  const requester = queueOf('requester', requestStep, PARALLEL_REQUESTS, {
    isUrgent: (key) => intents.leads(key) && [...intents.of(key).values()].some(({ node }) => isUntouched(node)),
  });
  const want: DrainEffects['want'] = (...wanted) => {
    for (const key of intents.replace(...wanted)) requester.add(key);
  };
  const onChange: DrainEffects['onChange'] = (name) => {
    maintenance.add(name);
  };
  const step = createMaintenanceReconciler(context, { refused, onChange, want });
  /** Where the number of nodes is limited, drains begin one by one, each after what the one before it has written. */
  const isBeginning = (name: string): boolean => {
    const known = maintenances.get(name);
    if (context.options.maxParallelNodes === undefined || known === undefined) return false;
    return stageOf(known) === 'Drain' && (known.status?.drainPlanPosition ?? 0) === 0;
  };
  const maintenance = queueOf('nodemaintenances', step, PARALLEL_LOOKS, {
    // Each pod of a node is some changes, and where very many drain they are looked at together.
    restMs: () => Math.max(LEAST_REST_MS, maintenances.drains.names.size * REST_MS_PER_DRAIN),
    // Many drains begin before the counts of those that are under way are brought up to date.
    isUrgent: (name) => maintenances.isUrgent(name) || (maintenances.drains.names.has(name) && !intents.isAsking(name)),
    // What drains that share nodes have reached is decided one by one, each from what the one before it has written.
    hasToWait: (name, running) => {
      for (const other of running) {
        if (maintenances.areDecidedTogether(name, other) || (isBeginning(name) && isBeginning(other))) return true;
      }
      return false;
    },
  });
  return { maintenance, node, requester, grouped: pods.grouped, groups: pods.groups };
}

function createQueues(context: ControllerContext, newer: DrainRequests): Queues {
  const { client, clock, log, metrics, requests, pods } = context;
  // From copies of different ages, as after a restart of the API server, a drain would seem to have come to its end.
  const mayRun = createCurrencyCheck(byResource<CurrentCopy>(context), context);
  const queueOf: QueueOf = (name, reconcile, parallel, order = {}) =>
    createWorkQueue(name, reconcile, parallel, { clock, log, observer: metrics.queue(name), mayRun, ...order });
  const targets = createTargets(pods, clock);
  /** Where many nodes are drained at once, no node waits for all pods of those that were begun before it. */
  const firstOfNode = { isUrgent: (key: string) => requests.isFirstOfNode(key) };
  const interceptorQueue = (name: string, interceptor: Interceptor, parallel: number): WorkQueue => {
    const { reconcile } = createInterceptorLoop(interceptor, {
      client,
      clock,
      log,
      request: (key) => requests.get(key),
      pod: (request) => Promise.resolve(targets(request)),
    });
    return queueOf(name, reconcile, parallel, firstOfNode);
  };
  const underWay = createEvictionConcurrency(clock);
  const imperative = createImperativeEviction(context, undefined, underWay);
  const requestStep = createEvictionRequestReconciler(context);
  const request = queueOf('evictionrequests', requestStep, PARALLEL_REPORTS, firstOfNode);
  const daemonSet = interceptorQueue('daemonset', createDaemonSetInterceptor(context), PARALLEL_REQUESTS);
  const gate = createDaemonSetGate(context);
  const gated = queueOf('daemonset-gate', gate.reconcile, PARALLEL_REQUESTS);
  const rollout = queueOf('daemonset-rollout', createDaemonSetRollout(context, gate), 1);
  const eviction = interceptorQueue('imperative', imperative, PARALLEL_EVICTIONS);
  const marks = queueOf('pod-marks', createMarkReconciler(context, newer), 1);
  const own = createMaintenanceQueues(context, { newer, underWay }, queueOf);
  return { ...own, imperative, gate, request, daemonSet, gated, rollout, eviction, marks };
}

/** Runs the queues until `stop`, with at most FINISH_MS after it, and writes Events until they have ended. */
async function runQueues(
  { events, budgetRule }: ControllerContext,
  { maintenance, node, requester, grouped, gated, rollout, request, daemonSet, eviction, marks }: Queues,
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
    const queues = [maintenance, node, requester, grouped, gated, rollout, request, daemonSet, eviction, marks];
    await Promise.all([...queues.map((queue) => queue.run(ending, cut)), budgetRule.run(ending)]);
  } finally {
    stop.removeEventListener('abort', onStop);
    clearTimeout(timer);
    finished.abort();
    await writingEvents;
  }
}

/**
 * Creates the queues of a leader; `context.client` is the one that stops writing when the term is over, and `newer` what its
 * drains ask for in the second dialect.
 */
export function createWork(context: ControllerContext, newer: DrainRequests = OLDER_ONLY): Work {
  const { requests, pods, maintenances, nodes, attachments } = context;
  const queues = createQueues(context, newer);
  const changes = createChanges(context, queues, newer);
  return {
    ...changes,
    promised: () => [...queues.imperative.promised(), ...queues.groups.promised()],
    run: async (stop, signal) => {
      // All are noted before the first is looked at.
      for (const node of nodes.list()) changes.onNode(node.metadata.name);
      for (const attachment of attachments.list()) changes.onAttachment(attachment.metadata.name);
      for (const maintenance of maintenances.list()) changes.onMaintenance(maintenance.metadata.name);
      // Each node and each request, also those of no maintenance: what a former term left behind is given back.
      for (const request of requests.list()) changes.onRequest(keyOf(request));
      for (const pod of pods.list()) changes.onPod(keyOf(pod));
      await runQueues(context, queues, stop, signal);
    },
  };
}
