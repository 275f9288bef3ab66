/** What the leader does for `lifecycle.k8s.io`, where the cluster serves it and nobody else does it. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { countedView } from '../../decide/lifecycle/drain-view.ts';
import { standBackMs } from '../../decide/lifecycle/upstream.ts';
import { hasDrainRequests, isLifecycleServed } from '../../kube/lifecycle/discovery.ts';
import { createWorkQueue, type Reconcile, type WorkQueue } from '../../kube/queue.ts';
import { keyOf } from '../../kube/resource.ts';
import type { ObjectCache } from '../../kube/watch.ts';
import { createWatchGroup } from '../../kube/watch-group.ts';
import type { CurrentCopy } from '../../kube/leader/sight.ts';
import { createCurrencyCheck } from '../cache/currency.ts';
import { untilSynced } from '../cache/copies.ts';
import type { ControllerContext } from '../context.ts';
import { createDaemonSetResponder } from './daemon-set.ts';
import { createDrainRequests, type DrainRequests, lateDrains, OLDER_ONLY } from './drain-requests.ts';
import { createEvictor, type Evictor } from './evictor.ts';
import { createLifecycleObjects, type LifecycleObjects } from './objects.ts';
import { createTargetReconciler } from './reconciler.ts';
import { createTargetNotes, type TargetNotes } from './target-notes.ts';

const PARALLEL_TARGETS = 16;
const PARALLEL_EVICTIONS = 64;
/** How often it is asked whether the cluster serves the group: only a restart of the API server changes it. */
const ASK_EVERY_MS = 10 * 60_000;
const ASK_AGAIN_MS = 5_000;
/** For so long drains wait for an answer on what the cluster serves. */
const MAX_UNKNOWN_MS = 30_000;

/** The part of a leader that speaks the second dialect. */
export interface LifecycleWork {
  /** What the drains of the term ask for in this dialect. */
  readonly drains: DrainRequests;
  /** Notes that the pod, NAMESPACE/NAME, came, changed or went. */
  onPod(key: string): void;
  /** Notes that the PodDisruptionBudget changed. */
  onBudget(key: string): void;
  /** The copies that have had their first list, by the names of their resources. */
  copies(): Readonly<Record<string, CurrentCopy>>;
  /** All Evictions as the metrics count them. */
  counted(): readonly EvictionRequest[];
  /** The pods whose end is promised, NAMESPACE/UID. */
  promised(): readonly string[];
  /** Works until the signal is aborted; rests while the cluster does not serve the group. */
  run(signal: AbortSignal): Promise<void>;
}

/** Who is told of changes in this dialect. */
export interface LifecycleListener {
  /** A request of a drain of this key, or its Eviction. */
  onDrainRequest(key: string): void;
  /** A request or an Eviction, whoever made it, for the pod of this key. */
  onTarget(pod: string): void;
}

interface Served extends Pick<LifecycleWork, 'counted' | 'promised'> {
  readonly objects: LifecycleObjects;
  readonly drains: DrainRequests;
  readonly queues: readonly WorkQueue[];
  onPod(key: string): void;
  onBudget(key: string): void;
}

/** Whether this program acts: its copies are right, and Kubernetes' own controller has not acted lately. */
function createPermission(context: ControllerContext, known: LifecycleObjects): () => boolean {
  const { clock, log, pods, budgets } = context;
  let isCurrent: (() => boolean) | undefined;
  let standsBack = false;
  return () => {
    isCurrent ??= createCurrencyCheck({ ...copiesOf(known), pods, poddisruptionbudgets: budgets }, { clock, log });
    const isLeft = standBackMs(known.upstreamWroteAt(), clock.now()) > 0;
    if (isLeft !== standsBack) {
      standsBack = isLeft;
      const who = 'the evictionrequest-controller of Kubernetes has not written for 30 minutes: this controller acts';
      if (isLeft)
        log.warn({}, 'Evictions are left to the evictionrequest-controller of Kubernetes, which acts on them');
      else log.warn({}, who);
    }
    return !isLeft && isCurrent();
  };
}

/** The queues of what the options ask for. */
interface Parts {
  readonly targets: WorkQueue | undefined;
  /** One for each responder of this controller. */
  readonly responders: readonly WorkQueue[];
  readonly evictor: Evictor;
}

function createParts(context: ControllerContext, objects: LifecycleObjects, notes: TargetNotes): Parts {
  const { clock, log, metrics, options } = context;
  const mayRun = createPermission(context, objects);
  const queueOf = (name: string, reconcile: Reconcile, parallel: number): WorkQueue =>
    createWorkQueue(name, reconcile, parallel, { clock, log, observer: metrics.queue(name), mayRun });
  const { lifecycleApi } = options;
  const evictor = createEvictor(context, objects.evictions, notes);
  const targets = (): WorkQueue =>
    queueOf('lifecycle-targets', createTargetReconciler(context, objects, notes), PARALLEL_TARGETS);
  const evicting = (): WorkQueue => queueOf('lifecycle-evictor', evictor.reconcile, PARALLEL_EVICTIONS);
  const daemonSet = (): WorkQueue => {
    const reconcile = createDaemonSetResponder(context, objects.evictions, notes);
    return queueOf('lifecycle-daemonset', reconcile, PARALLEL_TARGETS);
  };
  switch (lifecycleApi) {
    case 'evictions':
      return { targets: targets(), responders: [], evictor };
    case 'evictor':
      return { targets: undefined, responders: [evicting()], evictor };
    case 'off':
    case 'on':
      return { targets: targets(), responders: [evicting(), daemonSet()], evictor };
  }
}

function createServed(
  context: ControllerContext,
  preferred: DrainRequests['preferred'],
  listener: LifecycleListener,
): Served {
  const { clock } = context;
  const notes = createTargetNotes(clock);
  const objects: LifecycleObjects = createLifecycleObjects(
    { ...context, group: createWatchGroup(clock) },
    (kind, target, key) => {
      if (objects.requests.under(target).length + objects.evictions.under(target).length === 0) notes.keep(target, []);
      const concerned = new Set(drains.under(target));
      if (kind === 'request') {
        drains.note(key);
        concerned.add(key);
      }
      for (const each of concerned) listener.onDrainRequest(each);
      listener.onTarget(target);
      targets?.add(target);
      if (kind === 'eviction') for (const queue of responders) queue.add(key);
    },
  );
  const drains = createDrainRequests({ client: context.client, objects, preferred });
  const { targets, responders, evictor } = createParts(context, objects, notes);
  return {
    objects,
    drains,
    queues: targets === undefined ? responders : [targets, ...responders],
    onPod: (key) => {
      const evictions = objects.evictions.under(key);
      for (const eviction of evictions) for (const queue of responders) queue.add(keyOf(eviction));
      if (evictions.length + objects.requests.under(key).length > 0) targets?.add(key);
    },
    onBudget: (key) => {
      for (const eviction of evictor.budgetChanged(key)) for (const queue of responders) queue.add(eviction);
    },
    counted: () => objects.evictions.cache.list().flatMap(({ read }) => (read && countedView(read)) ?? []),
    promised: () =>
      evictor.promised().flatMap((key) => {
        const uid = objects.evictions.get(key)?.spec.target.pod?.uid;
        return uid === undefined ? [] : [`${key.split('/')[0]}/${uid}`];
      }),
  };
}

function copiesOf({ requests, evictions }: LifecycleObjects): Readonly<Record<string, CurrentCopy>> {
  return { 'evictionrequests.lifecycle.k8s.io': requests.cache, evictions: evictions.cache };
}

function cachesOf({
  requests,
  evictions,
}: LifecycleObjects): readonly Pick<ObjectCache<never>, 'synced' | 'current' | 'run'>[] {
  return [requests.cache, evictions.cache];
}

async function runServed(
  { objects, queues }: Served,
  { clock }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const caches = cachesOf(objects);
  const working = async (): Promise<void> => {
    await untilSynced(caches, clock, signal);
    await Promise.all(queues.map((queue) => queue.run(signal)));
  };
  await Promise.all([...caches.map((cache) => cache.run(signal)), working()]);
}

/**
 * Works until the signal is aborted, or the cluster does not serve the group any more: then its watches fail, and discovery
 * says so.
 */
async function runWhileServed(served: Served, context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, clock } = context;
  const ended = new AbortController();
  const ending = AbortSignal.any([signal, ended.signal]);
  const looking = async (): Promise<void> => {
    while (!ending.aborted) {
      await clock.sleep(ASK_AGAIN_MS, ending).catch(() => undefined);
      if (ending.aborted || cachesOf(served.objects).every((cache) => cache.current())) continue;
      if ((await isLifecycleServed(client, ending).catch(() => undefined)) === false) ended.abort();
    }
  };
  await Promise.all([runServed(served, context, ending), looking()]);
}

/** Which dialect drains speak; not known until it was asked what the cluster serves, and the copies are there. */
function createPreference(
  { clock, options }: ControllerContext,
  found: () => 'unknown' | 'absent' | 'served',
  isSynced: () => boolean,
): DrainRequests['preferred'] {
  const begunAt = clock.monotonic();
  return () => {
    const isKnown = found() === 'served' && isSynced();
    if (isKnown) return options.lifecycleApi === 'on' ? 'newer' : 'older';
    // Drains do not wait for an API that gives no answer.
    return found() === 'absent' || clock.monotonic() - begunAt > MAX_UNKNOWN_MS ? 'older' : undefined;
  };
}

/** What drains do where the options say this, and `late` is what they do in the newer dialect. */
function drainsOf(lifecycleApi: ControllerContext['options']['lifecycleApi'], late: DrainRequests): DrainRequests {
  const speaks = lifecycleApi === 'on' || lifecycleApi === 'off';
  // The evictor sets marks also where drains speak the older dialect.
  return speaks ? late : { ...OLDER_ONLY, isAsked: (pod) => late.isAsked(pod), asked: () => late.asked() };
}

/**
 * Creates the part of a leader for `lifecycle.k8s.io`; `context.client` stops writing when the term is over.
 */
export function createLifecycleWork(context: ControllerContext, listener: LifecycleListener): LifecycleWork {
  const { clock, log, options } = context;
  let served: Served | undefined;
  let found: 'unknown' | 'absent' | 'served' = 'unknown';
  const isSynced = (): boolean => served !== undefined && cachesOf(served.objects).every((cache) => cache.synced());
  const preferred = createPreference(context, () => found, isSynced);
  const isKnown = (): boolean => found === 'absent' || isSynced();
  return {
    drains: drainsOf(
      options.lifecycleApi,
      lateDrains({ preferred, isKnown }, () => served?.drains),
    ),
    onPod: (key) => {
      served?.onPod(key);
    },
    onBudget: (key) => {
      served?.onBudget(key);
    },
    copies: () => (served !== undefined && isSynced() ? copiesOf(served.objects) : {}),
    counted: () => served?.counted() ?? [],
    promised: () => served?.promised() ?? [],
    run: async (signal) => {
      const isOff = options.lifecycleApi === 'off';
      const isWanted = isOff ? hasDrainRequests : isLifecycleServed;
      while (!signal.aborted) {
        const isServed = await isWanted(context.client, signal).catch(() => undefined);
        if (isServed === true) {
          log.info({}, 'the cluster serves lifecycle.k8s.io/v1alpha1: this controller acts on its Evictions');
          served = createServed(context, preferred, listener);
          found = 'served';
          await runWhileServed(served, context, signal);
          if (signal.aborted) return;
          log.warn(
            {},
            'the cluster does not serve lifecycle.k8s.io/v1alpha1 any more: drains ask in the older dialect',
          );
          const asked = served.drains.list().map(keyOf);
          served = undefined;
          found = 'absent';
          for (const key of asked) listener.onDrainRequest(key);
          continue;
        }
        if (isServed === false && isOff) {
          found = 'absent';
          return;
        }
        if (isServed === false && found === 'unknown') {
          found = 'absent';
          log.info({}, 'the cluster does not serve lifecycle.k8s.io/v1alpha1, which --lifecycle-api asks for');
        }
        const pauseMs = isServed === undefined ? ASK_AGAIN_MS : ASK_EVERY_MS;
        await clock.sleep(pauseMs, signal).catch(() => undefined);
      }
    },
  };
}
