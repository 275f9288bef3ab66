/** What the leader does for `lifecycle.k8s.io`, where the cluster serves it and nobody else does it. */
import { standBackMs } from '../../decide/lifecycle/upstream.ts';
import { isLifecycleServed } from '../../kube/lifecycle/discovery.ts';
import { withServerClock } from '../../kube/lifecycle/server-clock.ts';
import { createWorkQueue, type WorkQueue } from '../../kube/queue.ts';
import { keyOf } from '../../kube/resource.ts';
import { createWatchGroup } from '../../kube/watch-group.ts';
import { createCurrencyCheck } from '../cache/currency.ts';
import type { ControllerContext } from '../context.ts';
import { createEvictor } from './evictor.ts';
import { createLifecycleObjects, type LifecycleObjects } from './objects.ts';
import { createTargetReconciler } from './reconciler.ts';
import { createTargetNotes } from './target-notes.ts';

const PARALLEL_TARGETS = 16;
const PARALLEL_EVICTIONS = 64;
/** How often it is asked whether the cluster serves the group: only a restart of the API server changes it. */
const ASK_EVERY_MS = 10 * 60_000;
const ASK_AGAIN_MS = 5_000;
const SYNC_POLL_MS = 50;

/** The part of a leader that speaks the second dialect. */
export interface LifecycleWork {
  /** Notes that the pod, NAMESPACE/NAME, came, changed or went. */
  onPod(key: string): void;
  /** Notes that the PodDisruptionBudget changed. */
  onBudget(key: string): void;
  /** Works until the signal is aborted; rests while the cluster does not serve the group. */
  run(signal: AbortSignal): Promise<void>;
}

interface Served {
  readonly objects: LifecycleObjects;
  readonly queues: readonly WorkQueue[];
  onPod(key: string): void;
  onBudget(key: string): void;
}

/** Whether this program acts: its copies are right, and Kubernetes' own controller has not acted lately. */
function createPermission(context: ControllerContext, objects: () => LifecycleObjects): () => boolean {
  const { clock, log, pods, budgets } = context;
  let isCurrent: (() => boolean) | undefined;
  let standsBack = false;
  return () => {
    const known = objects();
    const { requests, evictions } = known;
    isCurrent ??= createCurrencyCheck(
      {
        'evictionrequests.lifecycle.k8s.io': requests.cache,
        evictions: evictions.cache,
        pods,
        poddisruptionbudgets: budgets,
      },
      { clock, log },
    );
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

function createServed(context: ControllerContext): Served {
  const { clock, log, metrics, options } = context;
  const mayRun = createPermission(context, () => objects);
  const queueOf = (name: string, reconcile: Parameters<typeof createWorkQueue>[1], parallel: number): WorkQueue =>
    createWorkQueue(name, reconcile, parallel, { clock, log, observer: metrics.queue(name), mayRun });
  const notes = createTargetNotes(clock);
  const objects = createLifecycleObjects({ ...context, group: createWatchGroup(clock) }, (kind, target, key) => {
    if (objects.requests.under(target).length + objects.evictions.under(target).length === 0) notes.keep(target, []);
    targets?.add(target);
    if (kind === 'eviction') evicting?.add(key);
  });
  const reconcile = createTargetReconciler(context, objects, notes);
  const targets =
    options.lifecycleApi === 'evictor' ? undefined : queueOf('lifecycle-targets', reconcile, PARALLEL_TARGETS);
  const evictor = createEvictor(context, objects.evictions, notes);
  const evicting =
    options.lifecycleApi === 'evictions'
      ? undefined
      : queueOf('lifecycle-evictor', evictor.reconcile, PARALLEL_EVICTIONS);
  return {
    objects,
    queues: [targets, evicting].filter((queue) => queue !== undefined),
    onPod: (key) => {
      const evictions = objects.evictions.under(key);
      for (const eviction of evictions) evicting?.add(keyOf(eviction));
      if (evictions.length + objects.requests.under(key).length > 0) targets?.add(key);
    },
    onBudget: (key) => {
      for (const eviction of evictor.budgetChanged(key)) evicting?.add(eviction);
    },
  };
}

async function runServed(
  { objects, queues }: Served,
  { clock }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const caches = [objects.requests.cache, objects.evictions.cache];
  const working = async (): Promise<void> => {
    while (!signal.aborted && !caches.every((cache) => cache.synced())) {
      await clock.sleep(SYNC_POLL_MS, signal).catch(() => undefined);
    }
    await Promise.all(queues.map((queue) => queue.run(signal)));
  };
  await Promise.all([...caches.map((cache) => cache.run(signal)), working()]);
}

/** Creates the part of a leader for `lifecycle.k8s.io`; `context.client` stops writing when the term is over. */
export function createLifecycleWork(context: ControllerContext): LifecycleWork {
  let served: Served | undefined;
  return {
    onPod: (key) => {
      served?.onPod(key);
    },
    onBudget: (key) => {
      served?.onBudget(key);
    },
    run: async (signal) => {
      if (context.options.lifecycleApi === 'off') return;
      const { clock, log } = context;
      let isLogged = false;
      while (!signal.aborted) {
        const { client, clock: serverClock } = withServerClock(context.client, clock);
        const isServed = await isLifecycleServed(client, signal).catch(() => undefined);
        if (isServed === true) {
          log.info({}, 'the cluster serves lifecycle.k8s.io/v1alpha1: this controller acts on its Evictions');
          const own = { ...context, client, clock: serverClock };
          served = createServed(own);
          await runServed(served, own, signal);
          return;
        }
        if (isServed === false && !isLogged) {
          isLogged = true;
          log.info({}, 'the cluster does not serve lifecycle.k8s.io/v1alpha1, which --lifecycle-api asks for');
        }
        const pauseMs = isServed === undefined ? ASK_AGAIN_MS : ASK_EVERY_MS;
        await clock.sleep(pauseMs, signal).catch(() => undefined);
      }
    },
  };
}
