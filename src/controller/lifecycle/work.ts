/** What the leader does for `lifecycle.k8s.io`, where the cluster serves it: it asks for its drains, and is a responder. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { countedView } from '../../decide/lifecycle/drain-view.ts';
import { createCurrencyCheck } from '../../kube/copy/currency.ts';
import type { CurrentCopy } from '../../kube/leader/sight.ts';
import { hasDrainRequests, isLifecycleServed } from '../../kube/lifecycle/discovery.ts';
import { copiesOf, createLifecycleObjects, type LifecycleObjects } from '../../kube/lifecycle/objects.ts';
import { createTargetNotes } from '../../kube/lifecycle/target-notes.ts';
import { cachesOf, workWhileServed } from '../../kube/lifecycle/while-served.ts';
import { createWorkQueue, type WorkQueue } from '../../kube/queue.ts';
import { keyOf } from '../../kube/resource.ts';
import { createWatchGroup } from '../../kube/watch-group.ts';
import type { ControllerContext } from '../context.ts';
import { createDaemonSetResponder } from './daemon-set.ts';
import { createDrainRequests, type DrainRequests, lateDrains } from './drain-requests.ts';

const PARALLEL_DAEMON_SETS = 16;
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
  /** The copies that have had their first list, by the names of their resources. */
  copies(): Readonly<Record<string, CurrentCopy>>;
  /** All Evictions as the metrics count them. */
  counted(): readonly EvictionRequest[];
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

interface Served extends Pick<LifecycleWork, 'counted' | 'onPod'> {
  readonly objects: LifecycleObjects;
  readonly drains: DrainRequests;
  /** The queue of the responder of DaemonSet pods. */
  readonly daemonSets: WorkQueue;
}

function createServed(
  context: ControllerContext,
  preferred: DrainRequests['preferred'],
  listener: LifecycleListener,
): Served {
  const { clock, log, metrics, pods } = context;
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
      if (kind === 'eviction') daemonSets.add(key);
    },
  );
  const drains = createDrainRequests({ ...context, objects, preferred });
  const reconcile = createDaemonSetResponder(context, objects.evictions, notes);
  const daemonSets = createWorkQueue('lifecycle-daemonset', reconcile, PARALLEL_DAEMON_SETS, {
    clock,
    log,
    observer: metrics.queue('lifecycle-daemonset'),
    mayRun: createCurrencyCheck({ ...copiesOf(objects), pods }, { clock, log }),
  });
  return {
    objects,
    drains,
    daemonSets,
    onPod: (key) => {
      for (const eviction of objects.evictions.under(key)) daemonSets.add(keyOf(eviction));
    },
    counted: () => objects.evictions.cache.list().flatMap(({ read }) => (read && countedView(read)) ?? []),
  };
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
    drains: lateDrains({ preferred, isKnown }, () => served?.drains),
    onPod: (key) => {
      served?.onPod(key);
    },
    copies: () => (served !== undefined && isSynced() ? copiesOf(served.objects) : {}),
    counted: () => served?.counted() ?? [],
    run: async (signal) => {
      const isOff = options.lifecycleApi === 'off';
      const isWanted = isOff ? hasDrainRequests : isLifecycleServed;
      while (!signal.aborted) {
        const isServed = await isWanted(context.client, signal).catch(() => undefined);
        if (isServed === true) {
          log.info({}, 'the cluster serves lifecycle.k8s.io/v1alpha1');
          served = createServed(context, preferred, listener);
          found = 'served';
          const { daemonSets } = served;
          await workWhileServed(served, (ending) => daemonSets.run(ending), context, signal);
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
